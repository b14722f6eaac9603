//! `multimem`: loads, stores and reductions of all instances of symmetric memory at once (MM-7, MM-14).
//!
//! `multimem.st.async` and `multimem.red.async` release, and complete on nothing, like `st.async` to global memory (AS-23).
//!
//! Cannot: floating-point types, and the vectors, which only those have; `multimem.cp.async.bulk`.

use super::access::OPERATIONS;
use super::{
    Access, Diagnostic, Opcode, Operation, Proxy, PtxType, Rmw, Scope, Sem, Space, Span, Target, Window,
    check_operation_type, check_scope_floor, floor, is_float, parse_space, set_once, unknown_modifier,
    unsupported, unsupported_modifier,
};
use crate::kernel::opcode::Modifier;
use crate::kernel::program::AtomicOp;

const VERBS: &[&str] = &["ld_reduce", "st", "red"];
const SEMS: &[&str] = &["weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"];
const KNOWN: &[&str] = &[
    "weak", "relaxed", "acquire", "release", "cta", "cluster", "gpu", "sys", "global", "add", "min", "max",
    "and", "or", "xor", "b32", "b64", "u32", "u64", "s32", "s64",
];

/// The opcode of a `multimem` instruction.
#[derive(Clone, Copy, Debug)]
pub enum MultimemOpcode {
    /// `ld_reduce`
    LoadReduce(Access, Rmw),
    /// `st`
    Store(Access),
    /// `red`
    Reduction(Access, Rmw),
    /// `st.async`, `red.async`
    Async(Access, Option<Rmw>),
}

#[derive(Default)]
struct Parts<'a> {
    sem: Option<(&'a str, Span)>,
    scope: Option<(Scope, Span)>,
    space: Option<(Space, Span)>,
    ty: Option<(PtxType, Span)>,
    op: Option<(Rmw, Span)>,
}

fn split<'a>(opcode: &Opcode<'a>, modifiers: &[Modifier<'a>]) -> Result<Parts<'a>, Diagnostic> {
    let mut parts = Parts::default();
    for &modifier in modifiers {
        let text = modifier.text;
        if SEMS.contains(&text) {
            set_once(&mut parts.sem, text, modifier)?;
        } else if let Some(scope) = Scope::from_name(text) {
            set_once(&mut parts.scope, scope, modifier)?;
        } else if let Some((space, _)) = parse_space(text) {
            set_once(&mut parts.space, space, modifier)?;
        } else if let Some(ty) = PtxType::parse(text) {
            set_once(&mut parts.ty, ty, modifier)?;
        } else if let Some(&(name, op)) = OPERATIONS.iter().find(|(name, _)| *name == text) {
            set_once(&mut parts.op, Rmw { op, name, span: modifier.span }, modifier)?;
        } else if is_float(text)
            || text.starts_with("acc::")
            || text.starts_with("e4m3")
            || text.starts_with("e5m2")
            || matches!(text, "bf16x2" | "v2" | "v4" | "v8")
        {
            return Err(unsupported_modifier(opcode, modifier));
        } else {
            return Err(unknown_modifier(opcode, modifier, KNOWN));
        }
    }
    Ok(parts)
}

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let Some((verb, rest)) = opcode.modifiers.split_first() else { return Err(unsupported(opcode)) };
    if verb.text == "cp" {
        return Err(unsupported(opcode));
    }
    if !VERBS.contains(&verb.text) {
        return Err(unknown_modifier(opcode, *verb, VERBS));
    }
    let is_async = verb.text != "ld_reduce" && rest.first().is_some_and(|modifier| modifier.text == "async");
    if is_async {
        floor(target, &format!("multimem.{}.async", verb.text), (9, 3), 100, opcode.span)?;
    } else {
        floor(target, "multimem", (8, 1), 90, opcode.span)?;
    }
    let parts = split(opcode, if is_async { &rest[1..] } else { rest })?;
    if let Some((space, span)) = parts.space
        && space != Space::Global
    {
        let message = format!("a multimem address is in global memory, not {space}");
        return Err(Diagnostic::new("validate::multimem-space", message, span, "not `.global`")
            .with_help("write `.global`, or leave the state space out")
            .with_rule("MM-7"));
    }
    if let ("st", Some((rmw, span))) = (verb.text, parts.op) {
        let message = format!("`multimem.st` has no operation, so `.{}` cannot stand here", rmw.name);
        return Err(Diagnostic::new("validate::illegal-operation", message, span, "not on a store")
            .with_help("write `multimem.red` to change every instance, or leave the operation out"));
    }
    let (sem, scope) = if is_async {
        async_sem(opcode, verb.text, &parts)?
    } else {
        let sem = sem(verb.text, parts.sem)?;
        (sem, scope(opcode, verb.text, sem, parts.scope)?)
    };
    if let Some((scope, span)) = parts.scope {
        check_scope_floor(target, scope, span)?;
    }
    if let (Some((ty, span)), false) = (parts.ty, is_async) {
        check_width(ty.width, span)?;
    }
    let access = Access {
        sem,
        scope,
        space: parts.space,
        window: None::<Window>,
        ty: parts.ty,
        elements: 1,
        vector_span: opcode.span,
        proxy: Proxy::Generic,
    };
    if is_async {
        let rmw = (verb.text == "red").then(|| operation(opcode, "red.async", &parts)).transpose()?;
        return Ok(Operation::Multimem(MultimemOpcode::Async(access, rmw)));
    }
    Ok(Operation::Multimem(match verb.text {
        "st" => MultimemOpcode::Store(access),
        "red" => MultimemOpcode::Reduction(access, operation(opcode, verb.text, &parts)?),
        _ => MultimemOpcode::LoadReduce(access, operation(opcode, verb.text, &parts)?),
    }))
}

/// There are 32 and 64 bits; whether the operation has the type is checked with the object's.
pub fn check_width(width: u8, span: Span) -> Result<(), Diagnostic> {
    if matches!(width, 32 | 64) {
        return Ok(());
    }
    let message = format!("`multimem` accesses 32 or 64 bits, not {width}");
    Err(Diagnostic::new("validate::multimem-type", message, span, format!("{width} bits"))
        .with_help("declare the object with elements of `u32` or `u64`"))
}

fn sem(verb: &str, written: Option<(&str, Span)>) -> Result<Sem, Diagnostic> {
    let Some((text, span)) = written else {
        return Ok(if verb == "red" { Sem::Relaxed } else { Sem::Weak });
    };
    match (verb, text) {
        ("ld_reduce" | "st", "weak") => Ok(Sem::Weak),
        (_, "relaxed") => Ok(Sem::Relaxed),
        ("ld_reduce", "acquire") => Ok(Sem::Acquire),
        ("st" | "red", "release") => Ok(Sem::Release),
        _ => {
            let message = format!("`multimem.{verb}` cannot be `.{text}`");
            let help = match verb {
                "ld_reduce" => "use `.weak`, `.relaxed` or `.acquire`",
                "st" => "use `.weak`, `.relaxed` or `.release`",
                _ => "use `.relaxed` or `.release`",
            };
            Err(Diagnostic::new("validate::illegal-sem", message, span, format!("`.{text}` here"))
                .with_help(help)
                .with_rule("MM-14"))
        }
    }
}

/// Asynchronous ones are `.release.gpu` or `.release.sys`.
fn async_sem(opcode: &Opcode<'_>, verb: &str, parts: &Parts<'_>) -> Result<(Sem, Scope), Diagnostic> {
    match (parts.sem, parts.scope) {
        (Some(("release", _)), Some((scope @ (Scope::Gpu | Scope::Sys), _))) => Ok((Sem::Release, scope)),
        (sem, scope) => {
            let span = match sem {
                Some(("release", _)) => scope.map(|(_, span)| span),
                _ => sem.map(|(_, span)| span),
            };
            let message = format!("`multimem.{verb}.async` is `.release.gpu` or `.release.sys`");
            Err(Diagnostic::new(
                "validate::async-sem",
                message,
                span.unwrap_or(opcode.span),
                "not allowed here",
            )
            .with_help(format!("write `multimem.{verb}.async.release.sys`"))
            .with_rule("AS-23"))
        }
    }
}

fn scope(
    opcode: &Opcode<'_>,
    verb: &str,
    sem: Sem,
    written: Option<(Scope, Span)>,
) -> Result<Scope, Diagnostic> {
    match (sem, written) {
        (Sem::Weak, None) => Ok(Scope::Cta),
        (Sem::Weak, Some((scope, span))) => {
            let message = format!("a weak access has no scope, so `.{scope}` cannot stand here");
            Err(Diagnostic::new("validate::unexpected-scope", message, span, "no scope here")
                .with_help(format!("write `multimem.{verb}.relaxed.{scope}`, or leave the scope out"))
                .with_rule("MM-14"))
        }
        (_, Some((scope, _))) => Ok(scope),
        (_, None) if verb == "red" => Ok(Scope::Sys),
        (_, None) => {
            let message = format!("`multimem.{verb}.{sem}` needs a scope");
            Err(Diagnostic::new("validate::missing-scope", message, opcode.span, "no scope")
                .with_help(format!(
                    "write `multimem.{verb}.{sem}.sys` (or `.cta`, `.cluster`, `.gpu`): the threads it synchronizes with"
                ))
                .with_rule("MM-14"))
        }
    }
}

fn operation(opcode: &Opcode<'_>, verb: &str, parts: &Parts<'_>) -> Result<Rmw, Diagnostic> {
    let Some((rmw, span)) = parts.op else {
        let message = format!("`{}` needs an operation", opcode.text);
        return Err(Diagnostic::new("validate::missing-operation", message, opcode.span, "no operation")
            .with_help(format!("for example `{}.add`", opcode.text)));
    };
    let (is_illegal, help) = if verb == "red.async" {
        (rmw.op != AtomicOp::Add, "it has `.add` only")
    } else {
        let is_illegal =
            matches!(rmw.op, AtomicOp::Inc | AtomicOp::Dec | AtomicOp::Exchange | AtomicOp::CompareAndSwap);
        (is_illegal, "it has `.add`, `.min`, `.max`, `.and`, `.or` and `.xor`")
    };
    if is_illegal {
        let message = format!("`multimem.{verb}` has no `.{}`", rmw.name);
        return Err(Diagnostic::new("validate::illegal-operation", message, span, "not an operation of it")
            .with_help(help));
    }
    if let Some((ty, span)) = parts.ty {
        check_operation_type(rmw, ty, span)?;
    }
    Ok(rmw)
}
