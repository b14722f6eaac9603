//! `cp.async.bulk` and `cp.reduce.async.bulk`: directions, completion mechanisms, tensor forms, strength (AS-12 … AS-18).

use super::{
    AsyncOpcode, AtomicOp, Diagnostic, Modifier, ON_MBARRIER, Opcode, PtxType, Rmw, Scope, Sem, Space, Span,
    Target, check_operation_type, check_scope_floor, floor, is_float, misplaced_noinc, parse_space, set_once,
    unknown_modifier, unsupported_modifier,
};
use crate::kernel::legality::OPERATIONS;
use crate::kernel::opcode::Window;

/// A bulk copy's opcode.
#[derive(Clone, Copy, Debug)]
pub struct BulkOpcode {
    /// Where to.
    pub destination: CopySpace,
    /// Where from.
    pub source: CopySpace,
    /// `.1d` … `.5d`, of a tensor form.
    pub rank: Option<(u8, Span)>,
    /// `.multicast::cluster`
    pub multicast: bool,
    /// `cp.reduce`
    pub reduction: Option<Rmw>,
    /// Type of the elements of a reduction, if written.
    pub ty: Option<(PtxType, Span)>,
    /// `Weak` or `Relaxed`.
    pub sem: Sem,
    /// Its scope.
    pub scope: Scope,
    /// A cache policy may follow the operands.
    pub has_hint: bool,
    /// Whether the target knows `.weak`.
    says_weak: bool,
}

/// A prefetch's opcode.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchOpcode {
    /// `.1d` … `.5d`, of the tensor form.
    pub rank: Option<(u8, Span)>,
    /// A cache policy may follow the operands.
    pub has_hint: bool,
}

/// An end of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopySpace {
    /// `.global`
    Global,
    /// `.shared::cta`
    Cta,
    /// `.shared::cluster`
    Cluster,
}

impl CopySpace {
    fn parse(text: &str) -> Option<Self> {
        match parse_space(text)? {
            (Space::Global, _) => Some(Self::Global),
            (Space::Shared, Some(Window::Cluster)) => Some(Self::Cluster),
            (Space::Shared, _) => Some(Self::Cta),
            (Space::Param | Space::Register | Space::Tensor, _) => None,
        }
    }
    /// The state space.
    pub fn space(self) -> Space {
        if self == Self::Global { Space::Global } else { Space::Shared }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Cta => "shared::cta",
            Self::Cluster => "shared::cluster",
        }
    }
}

impl BulkOpcode {
    /// Whether it completes on an mbarrier rather than in a bulk group.
    pub fn on_mbarrier(&self) -> bool {
        self.destination != CopySpace::Global
    }
    /// The full spelling, with the type of a reduction's elements.
    pub fn text(&self, ty: Option<PtxType>) -> String {
        let mut text =
            if self.reduction.is_some() { "cp.reduce.async.bulk" } else { "cp.async.bulk" }.to_owned();
        match (self.rank, self.sem) {
            (Some((rank, _)), _) => text += &format!(".tensor.{rank}d"),
            (None, Sem::Weak) if self.says_weak => text += ".weak",
            (None, Sem::Relaxed) if self.says_weak => text += &format!(".relaxed.{}", self.scope),
            _ => {}
        }
        text += &format!(".{}.{}", self.destination.name(), self.source.name());
        if self.rank.is_some() {
            if let Some(rmw) = self.reduction {
                text += &format!(".{}", rmw.name);
            }
            text += ".tile";
        }
        text += if self.on_mbarrier() { ".mbarrier::complete_tx::bytes" } else { ".bulk_group" };
        if self.multicast {
            text += ".multicast::cluster";
        }
        match (self.rank, self.reduction, ty) {
            (None, Some(rmw), Some(ty)) => text += &format!(".{}.{ty}", rmw.name),
            (None, None, _) if self.sem == Sem::Relaxed => text += ".b128",
            _ => {}
        }
        text
    }
}

/// The modifiers by kind.
#[derive(Default)]
struct Parts<'a> {
    spaces: Vec<(CopySpace, Modifier<'a>)>,
    tensor: Option<((), Span)>,
    rank: Option<(u8, Span)>,
    tile: Option<((), Span)>,
    completion: Option<(bool, Span)>,
    multicast: Option<((), Span)>,
    op: Option<(Rmw, Span)>,
    ty: Option<(PtxType, Span)>,
    sem: Option<(Sem, Span)>,
    scope: Option<(Scope, Span)>,
    level: Option<((), Span)>,
    has_hint: bool,
}

fn split<'a>(opcode: &Opcode<'a>, modifiers: &[Modifier<'a>]) -> Result<Parts<'a>, Diagnostic> {
    let mut parts = Parts::default();
    for &modifier in modifiers {
        let text = modifier.text;
        if let Some(space) = CopySpace::parse(text) {
            parts.spaces.push((space, modifier));
        } else if let Some(scope) = Scope::from_name(text) {
            set_once(&mut parts.scope, scope, modifier)?;
        } else if let Some(ty) = PtxType::parse(text) {
            set_once(&mut parts.ty, ty, modifier)?;
        } else if let Some(&(name, op)) = reductions().find(|(name, _)| *name == text) {
            set_once(&mut parts.op, Rmw { op, name, span: modifier.span }, modifier)?;
        } else if let ("1d" | "2d" | "3d" | "4d" | "5d", [digit, ..]) = (text, text.as_bytes()) {
            set_once(&mut parts.rank, digit - b'0', modifier)?;
        } else {
            match text {
                "tensor" => set_once(&mut parts.tensor, (), modifier)?,
                "tile" => set_once(&mut parts.tile, (), modifier)?,
                "L2" => set_once(&mut parts.level, (), modifier)?,
                "L2::cache_hint" => parts.has_hint = true,
                ON_MBARRIER => set_once(&mut parts.completion, true, modifier)?,
                "bulk_group" => set_once(&mut parts.completion, false, modifier)?,
                "multicast::cluster" => set_once(&mut parts.multicast, (), modifier)?,
                "weak" => set_once(&mut parts.sem, Sem::Weak, modifier)?,
                "relaxed" => set_once(&mut parts.sem, Sem::Relaxed, modifier)?,
                "acquire" | "release" | "acq_rel" | "volatile" | "mmio" => return Err(illegal_sem(modifier)),
                _ => return Err(other(opcode, modifier)),
            }
        }
    }
    Ok(parts)
}

fn reductions() -> impl Iterator<Item = &'static (&'static str, AtomicOp)> {
    OPERATIONS.iter().filter(|(_, op)| !matches!(op, AtomicOp::Exchange | AtomicOp::CompareAndSwap))
}

fn illegal_sem(modifier: Modifier<'_>) -> Diagnostic {
    let message = format!("a bulk copy cannot be `.{}`", modifier.text);
    Diagnostic::new("validate::copy-sem", message, modifier.span, "not a sem of it")
        .with_help("it is `.weak` or `.relaxed`; its completion is what synchronizes")
        .with_rule("AS-16")
}

/// The error for a word that no bulk copy takes, or none that is checked.
fn other(opcode: &Opcode<'_>, modifier: Modifier<'_>) -> Diagnostic {
    const UNMODELLED: [&str; 9] = [
        "im2col",
        "tile::gather4",
        "tile::scatter4",
        "cta_group",
        "multicast::",
        "cp_mask",
        "ignore_oob",
        "noftz",
        "report_mechanism",
    ];
    const KNOWN: [&str; 14] = [
        "shared::cta",
        "shared::cluster",
        "global",
        ON_MBARRIER,
        "bulk_group",
        "multicast::cluster",
        "tensor",
        "tile",
        "weak",
        "relaxed",
        "commit_group",
        "wait_group",
        "prefetch",
        "L2::cache_hint",
    ];
    if UNMODELLED.iter().any(|word| modifier.text.starts_with(word)) || is_float(modifier.text) {
        return unsupported_modifier(opcode, modifier);
    }
    misplaced_noinc(modifier).unwrap_or_else(|| unknown_modifier(opcode, modifier, &KNOWN))
}

pub(super) fn check(opcode: &Opcode<'_>, target: Target) -> Result<AsyncOpcode, Diagnostic> {
    let is_reduction = opcode.modifiers.first().is_some_and(|modifier| modifier.text == "reduce");
    let parts = split(opcode, &opcode.modifiers[if is_reduction { 3 } else { 2 }..])?;
    if let Some((_, span)) = parts.level {
        let message = "`.L2` belongs to `cp.async.bulk.prefetch`";
        return Err(Diagnostic::new("validate::copy-form", message, span, "not allowed here")
            .with_help("leave it out"));
    }
    let rank = check_tensor(opcode, &parts)?;
    let (destination, source) = check_direction(opcode, &parts, is_reduction, rank.is_some())?;
    check_completion(opcode, &parts, destination)?;
    check_multicast(&parts, destination, source)?;
    let reduction = check_reduction(opcode, &parts, is_reduction, destination)?;
    let (sem, scope) = check_sem(opcode, &parts, is_reduction, target)?;
    floor(target, "cp.async.bulk", (8, 0), 90, opcode.span)?;
    if destination == CopySpace::Cta
        && let Some(&(_, modifier)) = parts.spaces.first()
    {
        floor(target, "a bulk copy to `.shared::cta`", (8, 6), 90, modifier.span)?;
    }
    Ok(AsyncOpcode::Bulk(BulkOpcode {
        destination,
        source,
        rank,
        multicast: parts.multicast.is_some(),
        reduction,
        ty: parts.ty.filter(|_| is_reduction),
        sem,
        scope,
        has_hint: parts.has_hint,
        says_weak: target.ptx >= (9, 3),
    }))
}

/// `.tensor` and the number of dimensions stand together.
fn check_tensor(opcode: &Opcode<'_>, parts: &Parts<'_>) -> Result<Option<(u8, Span)>, Diagnostic> {
    let error = |span, message: &str, help: &str| {
        Err(Diagnostic::new("validate::tensor-form", message, span, "here").with_help(help).with_rule("AS-1"))
    };
    match (parts.tensor, parts.rank, parts.tile) {
        (Some(_), Some(rank), _) => Ok(Some(rank)),
        (Some((_, span)), None, _) => error(
            span,
            "a tensor copy needs its number of dimensions",
            "write `.tensor.2d`, with 1 to 5 dimensions",
        ),
        (None, Some((_, span)), _) => {
            error(span, "only a tensor copy has dimensions", "write `.tensor` before it, or leave it out")
        }
        (None, None, Some((_, span))) => error(
            span,
            &format!("`.tile` belongs to a tensor copy; `{}` is none", opcode.text),
            "write `.tensor.2d`, or leave it out",
        ),
        (None, None, None) => Ok(None),
    }
}

fn check_direction(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    is_reduction: bool,
    is_tensor: bool,
) -> Result<(CopySpace, CopySpace), Diagnostic> {
    use CopySpace::{Cluster, Cta, Global};
    let found: Vec<CopySpace> = parts.spaces.iter().map(|&(space, _)| space).collect();
    let legal: &[(CopySpace, CopySpace)] = match (is_reduction, is_tensor) {
        (false, false) => &[(Cta, Global), (Cluster, Global), (Cluster, Cta), (Global, Cta)],
        (false, true) => &[(Cta, Global), (Cluster, Global), (Global, Cta)],
        (true, false) => &[(Cluster, Cta), (Global, Cta)],
        (true, true) => &[(Global, Cta)],
    };
    if let &[destination, source] = found.as_slice()
        && legal.contains(&(destination, source))
    {
        return Ok((destination, source));
    }
    let what = match (is_reduction, is_tensor) {
        (false, false) => "a bulk copy",
        (false, true) => "a tensor copy",
        (true, false) => "a bulk reduction",
        (true, true) => "a tensor reduction",
    };
    let directions: Vec<String> =
        legal.iter().map(|(to, from)| format!("`.{}.{}`", to.name(), from.name())).collect();
    let span = parts.spaces.first().map_or(opcode.span, |(_, modifier)| modifier.span);
    let (message, label) = if found.len() < 2 {
        (format!("{what} names the state spaces of its destination and its source, in this order"), "missing")
    } else {
        (format!("{what} does not go this way"), "destination, then source")
    };
    Err(Diagnostic::new("validate::copy-direction", message, span, label)
        .with_help(format!("write {}", directions.join(" or ")))
        .with_rule("AS-13"))
}

fn check_completion(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    destination: CopySpace,
) -> Result<(), Diagnostic> {
    let to_global = destination == CopySpace::Global;
    let (needed, whither) = if to_global { ("bulk_group", "global") } else { (ON_MBARRIER, "shared") };
    let (message, span, label) = match parts.completion {
        Some((on_mbarrier, _)) if on_mbarrier != to_global => return Ok(()),
        Some((_, span)) => {
            (format!("a bulk copy to {whither} memory completes by `.{needed}`"), span, "another mechanism")
        }
        None => (format!("`{}` needs `.{needed}`", opcode.text), opcode.span, "no completion mechanism"),
    };
    Err(Diagnostic::new("validate::copy-completion", message, span, label)
        .with_help(if to_global {
            "write `.bulk_group`, then `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group 0`"
        } else {
            "write `.mbarrier::complete_tx::bytes`, with an mbarrier as last operand"
        })
        .with_rule("AS-3"))
}

fn check_multicast(parts: &Parts<'_>, destination: CopySpace, source: CopySpace) -> Result<(), Diagnostic> {
    match parts.multicast {
        Some((_, span)) if (destination, source) != (CopySpace::Cluster, CopySpace::Global) => {
            let message = "`.multicast::cluster` copies from global memory to `.shared::cluster`";
            Err(Diagnostic::new("validate::copy-multicast", message, span, "another direction")
                .with_help("write `.shared::cluster.global`, or leave it out")
                .with_rule("AS-14"))
        }
        _ => Ok(()),
    }
}

/// The operation of a reduction, and its type; tensor forms take the type of the tensor's elements.
fn check_reduction(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    is_reduction: bool,
    destination: CopySpace,
) -> Result<Option<Rmw>, Diagnostic> {
    let Some((rmw, _)) = parts.op.filter(|_| is_reduction) else {
        if is_reduction {
            let message = format!("`{}` needs an operation", opcode.text);
            return Err(Diagnostic::new("validate::missing-operation", message, opcode.span, "no operation")
                .with_help("for example `.add.u32`"));
        }
        if let Some((rmw, span)) = parts.op {
            let message = format!("`cp.async.bulk` copies; `.{}` belongs to a reduction", rmw.name);
            return Err(Diagnostic::new("validate::copy-form", message, span, "an operation")
                .with_help("write `cp.reduce.async.bulk`, or leave it out"));
        }
        return match parts.ty {
            Some((ty, span)) if ty.width != 128 || parts.sem.is_none_or(|(sem, _)| sem != Sem::Relaxed) => {
                let message = format!("a bulk copy has no type `.{ty}`");
                Err(Diagnostic::new("validate::copy-type", message, span, "not allowed here")
                    .with_help("leave it out; only a `.relaxed` copy has one, `.b128`")
                    .with_rule("AS-16"))
            }
            _ => Ok(None),
        };
    };
    if let (Some(_), Some((ty, span))) = (parts.tensor, parts.ty) {
        let message = format!("a tensor reduction has the type of the tensor's elements, not `.{ty}`");
        return Err(Diagnostic::new("validate::copy-type", message, span, "not allowed here")
            .with_help("leave it out"));
    }
    if let Some((ty, span)) = parts.ty {
        check_reduction_type(rmw, ty, destination, span)?;
    }
    Ok(Some(rmw))
}

/// Types of a reduction; shared memory has fewer.
pub fn check_reduction_type(
    rmw: Rmw,
    ty: PtxType,
    destination: CopySpace,
    span: Span,
) -> Result<(), Diagnostic> {
    check_operation_type(rmw, ty, span)?;
    if destination != CopySpace::Global && ty.width == 64 && rmw.op != AtomicOp::Add {
        let message = format!("`.{}` in shared memory has no type `.{ty}`", rmw.name);
        return Err(Diagnostic::new("validate::illegal-operation-type", message, span, "64 bits")
            .with_help("an asynchronous reduction of 64 bits in shared memory is `.add.u64`"));
    }
    Ok(())
}

/// Weak, unless `.relaxed.scope.b128`; a reduction's elements are relaxed, by default at a scope that PTX ISA 9.3
/// widened.
fn check_sem(
    opcode: &Opcode<'_>,
    parts: &Parts<'_>,
    is_reduction: bool,
    target: Target,
) -> Result<(Sem, Scope), Diagnostic> {
    let error = |span, message: String, help: &str| {
        Err(Diagnostic::new("validate::copy-sem", message, span, "not allowed here")
            .with_help(help)
            .with_rule("AS-16"))
    };
    let written = parts.sem.map(|(_, span)| span).or(parts.scope.map(|(_, span)| span));
    if let (Some(_), Some(span)) = (parts.tensor, written) {
        return error(span, "a tensor copy takes neither sem nor scope".to_owned(), "leave it out");
    }
    if let Some(span) = written {
        floor(target, "a sem or scope on a bulk copy", (9, 3), 90, span)?;
    }
    match (parts.sem, parts.scope) {
        (None, None) if is_reduction => {
            let is_wide = parts.tensor.is_none() && target.ptx >= (9, 3);
            Ok((Sem::Relaxed, if is_wide { Scope::Sys } else { Scope::Gpu }))
        }
        (None | Some((Sem::Weak, _)), None) if !is_reduction => Ok((Sem::Weak, Scope::Cta)),
        (Some((Sem::Relaxed, _)), Some((scope, span))) => {
            check_scope_floor(target, scope, span)?;
            if is_reduction || parts.ty.is_some() {
                return Ok((Sem::Relaxed, scope));
            }
            let help = format!("write `.relaxed.{scope}` and `.b128` at the end");
            error(opcode.span, "a `.relaxed` bulk copy needs its type".to_owned(), &help)
        }
        (Some((Sem::Relaxed, span)), None) => {
            error(span, "`.relaxed` on a bulk copy needs a scope".to_owned(), "write `.relaxed.gpu`")
        }
        (Some((_, span)), None) => error(
            span,
            "a reduction's elements are never `.weak`".to_owned(),
            "leave it out, or write `.relaxed.gpu`",
        ),
        (_, Some((scope, span))) => error(
            span,
            format!("`.{scope}` on a bulk copy needs `.relaxed`"),
            "write `.relaxed` before it, or leave it out",
        ),
        (None, None) => Ok((Sem::Weak, Scope::Cta)),
    }
}

/// `cp.async.bulk.prefetch.L2.global`, `cp.async.bulk.prefetch.tensor.2d.L2.global.tile`.
pub(super) fn check_prefetch(opcode: &Opcode<'_>, target: Target) -> Result<AsyncOpcode, Diagnostic> {
    let parts = split(opcode, &opcode.modifiers[3..])?;
    let rank = check_tensor(opcode, &parts)?;
    let is_plain = parts.completion.is_none()
        && parts.multicast.is_none()
        && parts.op.is_none()
        && parts.ty.is_none()
        && parts.sem.is_none()
        && parts.scope.is_none();
    let from_global = matches!(parts.spaces.as_slice(), [(CopySpace::Global, _)]);
    if !is_plain || !from_global || parts.level.is_none() {
        let message = "a prefetch goes from global memory to L2, and takes nothing else";
        return Err(Diagnostic::new("validate::copy-form", message, opcode.span, "not a form of it")
            .with_help(
                "write `cp.async.bulk.prefetch.L2.global` or `cp.async.bulk.prefetch.tensor.2d.L2.global`",
            ));
    }
    floor(target, "cp.async.bulk.prefetch", (8, 0), 90, opcode.span)?;
    Ok(AsyncOpcode::Prefetch(PrefetchOpcode { rank, has_hint: parts.has_hint }))
}
