//! `ld`, `st`, `atom` and `red` (MM-12, MM-13, MM-14).

use super::{
    Access, AtomicOp, Diagnostic, Modifier, Opcode, Operation, Proxy, PtxType, Rmw, Scope, Sem, Span, Target,
    Window, check_scope_floor, floor, is_float, parse_space, set_once, unknown_modifier,
    unsupported_modifier,
};

const SEMS: &[&str] = &["weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"];
const KNOWN: &[&str] = &[
    "weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "mmio", "cta", "cluster", "gpu", "sys",
    "global", "shared", "v2", "v4", "u8", "u16", "u32", "u64", "b8", "b16", "b32", "b64", "b128", "s8",
    "s16", "s32", "s64", "ca", "cg", "cs", "cv", "lu", "wb", "wt",
];
/// Operations of `atom` and `red` by name.
pub(super) const OPERATIONS: &[(&str, AtomicOp)] = &[
    ("add", AtomicOp::Add),
    ("inc", AtomicOp::Inc),
    ("dec", AtomicOp::Dec),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("exch", AtomicOp::Exchange),
    ("cas", AtomicOp::CompareAndSwap),
];

/// The modifiers of a memory access by kind.
#[derive(Default)]
struct Parts<'a> {
    sems: Vec<Modifier<'a>>,
    scope: Option<(Scope, Span)>,
    space: Option<(super::Space, Span)>,
    window: Option<Window>,
    ty: Option<(PtxType, Span)>,
    vector: Option<(u8, Span)>,
    cache: Option<((), Span)>,
    op: Option<(Rmw, Span)>,
    /// `.const`
    constant: Option<((), Span)>,
}

fn split<'a>(opcode: &Opcode<'a>) -> Result<Parts<'a>, Diagnostic> {
    let is_atomic = matches!(opcode.mnemonic, "atom" | "red");
    let mut parts = Parts::default();
    for &modifier in &opcode.modifiers {
        let text = modifier.text;
        if SEMS.contains(&text) {
            parts.sems.push(modifier);
        } else if let Some(scope) = Scope::from_name(text) {
            set_once(&mut parts.scope, scope, modifier)?;
        } else if let Some((space, window)) = parse_space(text) {
            set_once(&mut parts.space, space, modifier)?;
            parts.window = window;
        } else if let Some(ty) = PtxType::parse(text) {
            set_once(&mut parts.ty, ty, modifier)?;
        } else if let Some(&(name, op)) = OPERATIONS.iter().find(|(name, _)| is_atomic && *name == text) {
            set_once(&mut parts.op, Rmw { op, name, span: modifier.span }, modifier)?;
        } else if matches!(text, "v2" | "v4" | "v8") && !is_atomic {
            set_once(&mut parts.vector, text.as_bytes()[1] - b'0', modifier)?;
        } else if matches!(text, "ca" | "cg" | "cs" | "cv" | "lu" | "wb" | "wt") && !is_atomic {
            check_cache_operator(opcode, modifier)?;
            set_once(&mut parts.cache, (), modifier)?;
        } else if text.starts_with("L1::") || text.starts_with("L2::") {
            // Eviction and prefetch hints have no meaning to the memory model.
        } else if text == "const" {
            if opcode.mnemonic != "ld" {
                return Err(constant_is_read_only(modifier.span));
            }
            set_once(&mut parts.constant, (), modifier)?;
        } else if is_float(text)
            || text.starts_with("param")
            || text.starts_with("proxy::")
            || matches!(text, "local" | "nc" | "bulk" | "noftz" | "unified" | "async" | "v2" | "v4" | "v8")
        {
            return Err(unsupported_modifier(opcode, modifier));
        } else {
            let operations = if is_atomic { OPERATIONS } else { &[] };
            let known: Vec<&str> = KNOWN.iter().copied().chain(operations.iter().map(|op| op.0)).collect();
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    Ok(parts)
}

fn check_cache_operator(opcode: &Opcode<'_>, modifier: Modifier<'_>) -> Result<(), Diagnostic> {
    let allowed: &[&str] =
        if opcode.mnemonic == "ld" { &["ca", "cg", "cs", "lu", "cv"] } else { &["wb", "cg", "cs", "wt"] };
    let is_strong = opcode.modifiers.iter().any(|m| SEMS.contains(&m.text) && m.text != "weak");
    if is_strong || !allowed.contains(&modifier.text) {
        let message = format!("`.{}` cannot stand on this `{}`", modifier.text, opcode.mnemonic);
        return Err(Diagnostic::new("validate::cache-operator", message, modifier.span, "cache operator")
            .with_help(format!("leave it out: weak `{}` takes `.{}`", opcode.mnemonic, allowed.join("`, `.")))
            .with_rule("MM-14"));
    }
    Ok(())
}

/// The one sem of an access, with `.mmio.relaxed` taken as one.
fn single_sem<'a>(sems: &[Modifier<'a>]) -> Result<Option<Modifier<'a>>, Diagnostic> {
    match *sems {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        [a, b] if a.text == "mmio" && b.text == "relaxed" => Ok(Some(a)),
        [a, b] if b.text == "mmio" && a.text == "relaxed" => Ok(Some(b)),
        [a, b, ..] if a.text == "mmio" || b.text == "mmio" => {
            let message = format!("`.{}.{}` is not checked by this version", a.text, b.text);
            Err(Diagnostic::new("unsupported::modifier", message, b.span, "only `.mmio.relaxed` is"))
        }
        [a, b, ..] => {
            let message = format!("`.{}` and `.{}` exclude each other", a.text, b.text);
            Err(Diagnostic::new("validate::exclusive-modifiers", message, b.span, "the second one")
                .with_label(a.span, "the first one")
                .with_help("keep one of them")
                .with_rule("MM-14"))
        }
    }
}

pub(super) fn check_load_store(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let parts = split(opcode)?;
    let sem_modifier = single_sem(&parts.sems)?;
    let is_load = opcode.mnemonic == "ld";
    let sem = match sem_modifier.map_or("weak", |modifier| modifier.text) {
        "weak" => Sem::Weak,
        "relaxed" => Sem::Relaxed,
        "acquire" if is_load => Sem::Acquire,
        "release" if !is_load => Sem::Release,
        "volatile" => Sem::Volatile,
        "mmio" => Sem::Mmio,
        other => {
            let (message, help) = if is_load {
                ("a load cannot release", "write `ld.acquire`, or put a `fence` before it")
            } else {
                ("a store cannot acquire", "write `st.release`, or put a `fence` behind it")
            };
            let span = sem_modifier.map_or(opcode.span, |modifier| modifier.span);
            return Err(Diagnostic::new("validate::illegal-sem", message, span, format!("`.{other}` here"))
                .with_help(help)
                .with_rule("MM-14"));
        }
    };
    if let Some(modifier) = sem_modifier {
        match sem {
            Sem::Mmio => floor(target, ".mmio", (8, 2), 70, modifier.span)?,
            Sem::Volatile => {}
            _ => floor(target, &format!(".{}", modifier.text), (6, 0), 70, modifier.span)?,
        }
    }
    let scope = scope_of(opcode, sem, parts.scope, target)?;
    if let (Sem::Mmio, Some((super::Space::Shared, span))) = (sem, parts.space) {
        return Err(mmio_space(span));
    }
    if let Some((_, span)) = parts.constant {
        if let Some((space, _)) = parts.space {
            let message = format!("`.const` and `.{space}` exclude each other");
            let error =
                Diagnostic::new("validate::exclusive-modifiers", message, span, "a second state space");
            return Err(error.with_help("keep one of them"));
        }
        if sem != Sem::Weak {
            return Err(constant_is_weak(sem, span));
        }
    }
    let proxy = if parts.constant.is_some() { Proxy::Constant } else { Proxy::Generic };
    let (elements, vector_span) = parts.vector.unwrap_or((1, opcode.span));
    if elements == 8 {
        floor(target, ".v8", (8, 8), 100, vector_span)?;
    }
    check_type_floor(parts.ty, target)?;
    check_window_floor(&parts, target)?;
    let access = Access {
        sem,
        scope,
        space: parts.space,
        window: parts.window,
        ty: parts.ty,
        elements,
        vector_span,
        proxy,
    };
    Ok(if is_load { Operation::Load(access) } else { Operation::Store(access) })
}

/// The error for a write to constant memory.
pub fn constant_is_read_only(span: Span) -> Diagnostic {
    Diagnostic::new("validate::proxy-mismatch", "constant memory is only read", span, "constant")
        .with_help("write the global object that it is a view of")
        .with_rule("MM-15")
}

/// The error for a strong load of constant memory.
pub fn constant_is_weak(sem: Sem, span: Span) -> Diagnostic {
    let message = format!("a load of constant memory cannot be `.{sem}`");
    Diagnostic::new("validate::illegal-sem", message, span, "constant")
        .with_help("write `ld.const`, which is weak; strong loads read `.global` and `.shared`")
        .with_rule("MM-14")
}

/// The error for `.mmio` outside global memory.
pub fn mmio_space(span: Span) -> Diagnostic {
    let message = "`.mmio` accesses global memory only";
    Diagnostic::new("validate::mmio-space", message, span, "shared memory")
        .with_help("use `.volatile` or `.relaxed`")
        .with_rule("MM-13")
}

fn check_window_floor(parts: &Parts<'_>, target: Target) -> Result<(), Diagnostic> {
    match (parts.window, parts.space) {
        (Some(Window::Cluster), Some((_, span))) => floor(target, ".shared::cluster", (7, 8), 90, span),
        _ => Ok(()),
    }
}

fn check_type_floor(ty: Option<(PtxType, Span)>, target: Target) -> Result<(), Diagnostic> {
    match ty {
        Some((ty, span)) if ty.width == 128 => floor(target, ".b128", (8, 3), 70, span),
        _ => Ok(()),
    }
}

fn scope_of(
    opcode: &Opcode<'_>,
    sem: Sem,
    scope: Option<(Scope, Span)>,
    target: Target,
) -> Result<Scope, Diagnostic> {
    match (sem, scope) {
        (Sem::Weak, None) => Ok(Scope::Cta),
        (Sem::Volatile, None) => Ok(Scope::Sys),
        (Sem::Mmio, Some((Scope::Sys, _))) => Ok(Scope::Sys),
        (Sem::Mmio, scope) => {
            let span = scope.map_or(opcode.span, |(_, span)| span);
            Err(Diagnostic::new("validate::mmio-scope", "`.mmio` needs the scope `.sys`", span, "not `.sys`")
                .with_help(format!("write `{}.mmio.relaxed.sys.global`", opcode.mnemonic))
                .with_rule("MM-13"))
        }
        (Sem::Weak | Sem::Volatile, Some((scope, span))) => {
            let message = format!("a {sem} access has no scope, so `.{scope}` cannot stand here");
            let help = if sem == Sem::Weak {
                format!("write `{}.relaxed.{scope}`, or leave the scope out", opcode.mnemonic)
            } else {
                "leave the scope out: `.volatile` is always `.sys`".to_owned()
            };
            Err(Diagnostic::new("validate::unexpected-scope", message, span, "no scope here")
                .with_help(help)
                .with_rule(if sem == Sem::Weak { "MM-14" } else { "MM-12" }))
        }
        (_, Some((scope, span))) => {
            check_scope_floor(target, scope, span)?;
            Ok(scope)
        }
        (_, None) => {
            let message = format!("`{}.{sem}` needs a scope", opcode.mnemonic);
            Err(Diagnostic::new("validate::missing-scope", message, opcode.span, "no scope")
                .with_help(format!(
                    "write `{}.{sem}.gpu` (or `.cta`, `.cluster`, `.sys`): the threads it synchronizes with",
                    opcode.mnemonic
                ))
                .with_rule("MM-14"))
        }
    }
}

pub(super) fn check_atomic(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    let parts = split(opcode)?;
    let is_reduction = opcode.mnemonic == "red";
    let Some((op, _)) = parts.op else {
        let message = format!("`{}` needs an operation", opcode.text);
        return Err(Diagnostic::new("validate::missing-operation", message, opcode.span, "no operation")
            .with_help(format!("for example `{}.add`", opcode.text)));
    };
    let sem_modifier = single_sem(&parts.sems)?;
    let sem = match sem_modifier.map_or("relaxed", |modifier| modifier.text) {
        "relaxed" => Sem::Relaxed,
        "release" => Sem::Release,
        "acquire" if !is_reduction => Sem::Acquire,
        "acq_rel" if !is_reduction => Sem::AcqRel,
        other => {
            let span = sem_modifier.map_or(opcode.span, |modifier| modifier.span);
            let message = format!("`{}` cannot be `.{other}`", opcode.mnemonic);
            let help = if is_reduction && matches!(other, "acquire" | "acq_rel") {
                "a reduction returns nothing and so never acquires; use `atom` and bind its result"
            } else if is_reduction {
                "use `.relaxed` or `.release`"
            } else {
                "use `.relaxed`, `.acquire`, `.release` or `.acq_rel`"
            };
            return Err(Diagnostic::new("validate::illegal-sem", message, span, format!("`.{other}` here"))
                .with_help(help)
                .with_rule("MM-14"));
        }
    };
    if let Some(modifier) = sem_modifier {
        floor(target, &format!(".{}", modifier.text), (6, 0), 70, modifier.span)?;
    }
    let scope = match parts.scope {
        Some((scope, span)) => {
            check_scope_floor(target, scope, span)?;
            floor(target, &format!(".{scope}"), (5, 0), 60, span)?;
            scope
        }
        None => Scope::Gpu,
    };
    if is_reduction && matches!(op.op, AtomicOp::Exchange | AtomicOp::CompareAndSwap) {
        let message = format!("`red` has no `.{}`", op.name);
        return Err(Diagnostic::new(
            "validate::illegal-operation",
            message,
            op.span,
            "not an operation of `red`",
        )
        .with_help(format!("write `atom.{} _, …`", op.name)));
    }
    if let Some((ty, span)) = parts.ty {
        check_operation_type(op, ty, span)?;
        check_type_floor(parts.ty, target)?;
    }
    check_window_floor(&parts, target)?;
    let access = Access {
        sem,
        scope,
        space: parts.space,
        window: parts.window,
        ty: parts.ty,
        elements: 1,
        vector_span: opcode.span,
        proxy: Proxy::Generic,
    };
    Ok(if is_reduction { Operation::Reduction(access, op) } else { Operation::Atomic(access, op) })
}

/// Which types an operation of `atom` or `red` has.
pub fn check_operation_type(op: Rmw, ty: PtxType, span: Span) -> Result<(), Diagnostic> {
    use AtomicOp::{Add, And, CompareAndSwap, Dec, Exchange, Inc, Max, Min, Or, SignedMax, SignedMin, Xor};
    let (legal, allowed) = match op.op {
        Inc | Dec => (matches!((ty.kind, ty.width), ('u', 32)), "`.u32`"),
        And | Or | Xor => (matches!((ty.kind, ty.width), ('b', 32 | 64)), "`.b32` and `.b64`"),
        Add => (matches!((ty.kind, ty.width), ('u', 32 | 64) | ('s', 32)), "`.u32`, `.s32` and `.u64`"),
        Min | Max | SignedMin | SignedMax => {
            (matches!((ty.kind, ty.width), ('u' | 's', 32 | 64)), "`.u32`, `.s32`, `.u64` and `.s64`")
        }
        Exchange => (
            matches!((ty.kind, ty.width), ('b', 32 | 64 | 128) | ('u', 32 | 64)),
            "`.b32`, `.b64` and `.b128`",
        ),
        CompareAndSwap => (
            matches!((ty.kind, ty.width), ('b', 16 | 32 | 64 | 128) | ('u', 16 | 32 | 64)),
            "`.b16`, `.b32`, `.b64` and `.b128`",
        ),
    };
    if legal {
        return Ok(());
    }
    let message = format!("`.{}` has no type `.{ty}`", op.name);
    Err(Diagnostic::new("validate::illegal-operation-type", message, span, "not a type of this operation")
        .with_help(format!("`.{}` takes {allowed}", op.name)))
}
