//! `st.async` and `red.async`: in a peer's shared memory with an mbarrier, or releasing in global memory (AS-23).

use super::{
    AsyncOpcode, Diagnostic, Modifier, ON_MBARRIER, Opcode, Operation, PtxType, Rmw, Scope, Sem, Space, Span,
    Target, Window, check_scope_floor, floor, is_float, parse_space, set_once, unknown_modifier,
    unsupported_modifier,
};
use crate::kernel::legality::OPERATIONS;
use crate::kernel::program::AtomicOp;

/// The opcode of a `st.async` or `red.async`.
#[derive(Clone, Copy, Debug)]
pub struct StoreOpcode {
    /// Whether it writes global memory (and releases) rather than shared memory.
    pub is_global: bool,
    /// `.mmio`
    pub mmio: bool,
    /// `Weak`, `Relaxed` or `Release`.
    pub sem: Sem,
    /// Its scope.
    pub scope: Scope,
    /// `red.async`
    pub reduction: Option<Rmw>,
    /// Type, if written.
    pub ty: Option<(PtxType, Span)>,
    /// Elements.
    pub elements: u8,
    /// Place of the vector modifier, or of the opcode.
    pub vector_span: Span,
    /// Whether an own CTA's destination is refused: a `red.async`, or any before PTX ISA 9.3 (UB-A4).
    pub needs_peer: bool,
}

impl StoreOpcode {
    /// The full spelling.
    pub fn text(&self, ty: PtxType) -> String {
        let mut text = if self.reduction.is_some() { "red.async" } else { "st.async" }.to_owned();
        if self.mmio {
            text += ".mmio";
        }
        text += &match self.sem {
            Sem::Weak => ".weak".to_owned(),
            sem => format!(".{sem}.{}", self.scope),
        };
        text += if self.is_global { ".global" } else { ".shared::cluster.mbarrier::complete_tx::bytes" };
        if let Some(rmw) = self.reduction {
            text += &format!(".{}", rmw.name);
        }
        if self.elements > 1 {
            text += &format!(".v{}", self.elements);
        }
        text + &format!(".{ty}")
    }
}

#[derive(Default)]
struct Parts<'a> {
    sem: Option<(Modifier<'a>, Span)>,
    scope: Option<(Scope, Span)>,
    is_global: Option<(bool, Span)>,
    completion: Option<((), Span)>,
    mmio: Option<((), Span)>,
    op: Option<(Rmw, Span)>,
    ty: Option<(PtxType, Span)>,
    vector: Option<(u8, Span)>,
}

fn split<'a>(opcode: &Opcode<'a>) -> Result<Parts<'a>, Diagnostic> {
    let is_reduction = opcode.mnemonic == "red";
    let mut parts = Parts::default();
    for &modifier in opcode.modifiers.iter().filter(|modifier| modifier.text != "async") {
        let text = modifier.text;
        if let Some(scope) = Scope::from_name(text) {
            set_once(&mut parts.scope, scope, modifier)?;
        } else if let Some(space) = parse_space(text) {
            match space {
                (Space::Shared, Some(Window::Cluster)) => set_once(&mut parts.is_global, false, modifier)?,
                (Space::Global, _) => set_once(&mut parts.is_global, true, modifier)?,
                _ => {
                    let message = format!("`{}.async` cannot write `.{text}`", opcode.mnemonic);
                    return Err(Diagnostic::new(
                        "validate::async-space",
                        message,
                        modifier.span,
                        "not allowed here",
                    )
                    .with_help("write `.shared::cluster`, or `.release.gpu.global`")
                    .with_rule("AS-23"));
                }
            }
        } else if let Some(ty) = PtxType::parse(text) {
            set_once(&mut parts.ty, ty, modifier)?;
        } else if let Some(&(name, op)) = OPERATIONS.iter().find(|(name, _)| is_reduction && *name == text) {
            set_once(&mut parts.op, Rmw { op, name, span: modifier.span }, modifier)?;
        } else if matches!(text, "v2" | "v4") && !is_reduction {
            set_once(&mut parts.vector, text.as_bytes()[1] - b'0', modifier)?;
        } else if matches!(text, "weak" | "relaxed" | "acquire" | "release" | "acq_rel" | "volatile") {
            set_once(&mut parts.sem, modifier, modifier)?;
        } else if text == "mmio" {
            set_once(&mut parts.mmio, (), modifier)?;
        } else if text == ON_MBARRIER {
            set_once(&mut parts.completion, (), modifier)?;
        } else if text == "bulk_group" {
            let message = format!("`{}.async` completes on an mbarrier", opcode.mnemonic);
            return Err(Diagnostic::new(
                "validate::copy-completion",
                message,
                modifier.span,
                "another mechanism",
            )
            .with_help("write `.mbarrier::complete_tx::bytes`")
            .with_rule("AS-3"));
        } else if is_float(text) || matches!(text, "v8" | "noftz") || text.starts_with("report_mechanism") {
            return Err(unsupported_modifier(opcode, modifier));
        } else {
            let known = [
                "weak",
                "relaxed",
                "release",
                "mmio",
                "cluster",
                "gpu",
                "sys",
                "global",
                "shared::cluster",
                ON_MBARRIER,
                "v2",
                "v4",
                "add",
                "u32",
                "u64",
                "b32",
                "b64",
                "async",
            ];
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    Ok(parts)
}

pub(in crate::kernel::legality) fn check(
    opcode: &Opcode<'_>,
    target: Target,
) -> Result<Operation, Diagnostic> {
    let parts = split(opcode)?;
    let is_reduction = opcode.mnemonic == "red";
    let releases = parts.sem.is_some_and(|(sem, _)| sem.text == "release");
    let is_global = parts.is_global.map_or(releases, |(is_global, _)| is_global);
    let (sem, scope) = if is_global { global_sem(opcode, &parts)? } else { shared_sem(opcode, &parts)? };
    if let (Some((_, span)), true) = (parts.completion, is_global) {
        let message = format!("`{}.async` to global memory completes on no mbarrier", opcode.mnemonic);
        return Err(Diagnostic::new("validate::copy-completion", message, span, "not allowed here")
            .with_help("leave it out: it is a release, which an acquire synchronizes with")
            .with_rule("AS-23"));
    }
    let reduction = operation(opcode, &parts, is_global)?;
    let (elements, vector_span) = parts.vector.unwrap_or((1, opcode.span));
    if elements > 1 && is_global {
        let message = "`st.async` to global memory has no vectors";
        return Err(Diagnostic::new("validate::async-type", message, vector_span, "a vector")
            .with_help("write several of them"));
    }
    if is_global {
        floor(target, &format!("{}.async.release.global", opcode.mnemonic), (8, 7), 100, opcode.span)?;
    } else {
        floor(target, &format!("{}.async", opcode.mnemonic), (8, 1), 90, opcode.span)?;
    }
    if let Some((_, span)) = parts.scope {
        check_scope_floor(target, scope, span)?;
    }
    let found = StoreOpcode {
        is_global,
        mmio: parts.mmio.is_some(),
        sem,
        scope,
        reduction,
        ty: parts.ty,
        elements,
        vector_span,
        needs_peer: !is_global && (is_reduction || target.ptx < (9, 3)),
    };
    Ok(Operation::Async(AsyncOpcode::Store(found)))
}

fn illegal(span: Span, message: String, help: &str) -> Diagnostic {
    Diagnostic::new("validate::async-sem", message, span, "not allowed here")
        .with_help(help)
        .with_rule("AS-23")
}

/// In shared memory: `st.async` is weak, `red.async` is `.relaxed.cluster`.
fn shared_sem(opcode: &Opcode<'_>, parts: &Parts<'_>) -> Result<(Sem, Scope), Diagnostic> {
    let is_reduction = opcode.mnemonic == "red";
    let help = if is_reduction {
        "write `red.async.relaxed.cluster`, or `.release.gpu.global` for global memory"
    } else {
        "leave it out, or write `.release.gpu.global` for global memory"
    };
    if let Some((_, span)) = parts.mmio {
        return Err(illegal(span, "`.mmio` is for global memory only".to_owned(), help));
    }
    let sem = parts.sem.map(|(sem, _)| sem.text);
    let scope = parts.scope.map(|(scope, _)| scope);
    match (is_reduction, sem, scope) {
        (false, None | Some("weak"), None) => Ok((Sem::Weak, Scope::Cta)),
        (true, Some("relaxed"), Some(Scope::Cluster)) | (true, None, None) => {
            Ok((Sem::Relaxed, Scope::Cluster))
        }
        _ => {
            let span = parts.sem.map(|(_, span)| span).or(parts.scope.map(|(_, span)| span));
            let what = if is_reduction { "`.relaxed.cluster`" } else { "`.weak`, without a scope" };
            let message = format!("`{}.async` to shared memory is {what}", opcode.mnemonic);
            Err(illegal(span.unwrap_or(opcode.span), message, help))
        }
    }
}

/// In global memory: `.release.gpu` or `.release.sys`.
fn global_sem(opcode: &Opcode<'_>, parts: &Parts<'_>) -> Result<(Sem, Scope), Diagnostic> {
    let sem = parts.sem.map(|(sem, _)| sem.text);
    match (sem, parts.scope) {
        (Some("release"), Some((scope @ (Scope::Gpu | Scope::Sys), _))) => Ok((Sem::Release, scope)),
        _ => {
            let span = match sem {
                Some("release") => parts.scope.map(|(_, span)| span),
                _ => parts.sem.map(|(_, span)| span),
            };
            let message =
                format!("`{}.async` to global memory is `.release.gpu` or `.release.sys`", opcode.mnemonic);
            Err(illegal(span.unwrap_or(opcode.span), message, "write `.release.gpu.global`"))
        }
    }
}

fn operation(opcode: &Opcode<'_>, parts: &Parts<'_>, is_global: bool) -> Result<Option<Rmw>, Diagnostic> {
    if opcode.mnemonic != "red" {
        return Ok(None);
    }
    let Some((rmw, span)) = parts.op else {
        let message = format!("`{}` needs an operation", opcode.text);
        return Err(Diagnostic::new("validate::missing-operation", message, opcode.span, "no operation")
            .with_help("for example `red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32`"));
    };
    let is_illegal = match rmw.op {
        AtomicOp::Exchange | AtomicOp::CompareAndSwap => true,
        op => is_global && op != AtomicOp::Add,
    };
    if is_illegal {
        let message = format!(
            "`red.async` to {} memory has no `.{}`",
            if is_global { "global" } else { "shared" },
            rmw.name
        );
        return Err(Diagnostic::new("validate::illegal-operation", message, span, "not an operation of it")
            .with_help(if is_global { "it has `.add` only" } else { "use a generic `atom`" })
            .with_rule("AS-23"));
    }
    Ok(Some(rmw))
}
