//! Which combinations of modifiers PTX allows, and what they mean once the defaults are filled in.
//!
//! Each illegal combination has its own diagnostic code and names its rule. Operands are checked elsewhere
//! ([`resolve::instruction`](super::resolve)); this module sees the opcode only.

use super::opcode::{Modifier, Opcode, PtxType, Window, parse_space, unknown, unsupported};
use super::program::{AsyncSpace, AtomicOp, BarrierReduction};
use super::suggest::suggest;
use super::target::Target;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{FenceSem, Proxy, Scope, Sem, Space, SyncRestrict};

pub use access::{check_operation_type, constant_is_read_only, constant_is_weak, mmio_space};
pub use mbarrier::{MbarrierOpcode, MbarrierVerb, local_name, peer_object};
pub use multimem::{MultimemOpcode, check_width as check_multimem_width};
pub use spa::SpaOpcode;

mod access;
mod barrier;
mod fence;
mod mbarrier;
mod multimem;
mod proxy;
mod spa;
mod texture;

/// A legal opcode.
#[derive(Clone, Debug)]
pub enum Operation {
    /// `ld`, `tex`, `suld`
    Load(Access),
    /// `st`, `sust`
    Store(Access),
    /// `atom`
    Atomic(Access, Rmw),
    /// `red`, `sured`
    Reduction(Access, Rmw),
    /// `multimem`
    Multimem(MultimemOpcode),
    /// `fence`, `membar`
    Fence {
        /// Canonical spelling.
        text: String,
        /// Its sem.
        sem: FenceSem,
        /// Its scope.
        scope: Scope,
        /// `.sync_restrict`
        restrict: Option<SyncRestrict>,
    },
    /// `fence.mbarrier_init`
    MbarrierInitFence,
    /// `fence.proxy`, `membar.proxy`
    ProxyFence {
        /// Canonical spelling.
        text: String,
        /// Which.
        kind: ProxyFenceOpcode,
    },
    /// `bar`, `barrier`
    Barrier {
        /// Canonical spelling.
        text: String,
        /// Its form.
        form: BarrierForm,
        /// `.aligned`
        aligned: bool,
    },
    /// `bar.warp.sync`
    WarpSync,
    /// `mbarrier`
    Mbarrier(MbarrierOpcode),
    /// `MEMBAR`, `CCTL`, `CCTLT` of SPA machines
    Spa(SpaOpcode),
}

/// A proxy fence before its operands are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyFenceOpcode {
    /// `alias`
    Alias,
    /// `texture` and so on, of the formal model
    Formal(Proxy),
    /// `alias.acquire.sys`, `alias.release.sys`
    AliasHalf(Sem),
    /// `async`
    Async(AsyncSpace),
    /// `async::generic`
    AsyncGeneric(Sem, SyncRestrict),
    /// `tensormap::generic.release`
    TensormapRelease(Scope),
    /// `tensormap::generic.acquire`
    TensormapAcquire(Scope),
}

/// The form of a `bar`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierForm {
    /// `sync`
    Sync,
    /// `arrive`
    Arrive,
    /// `red`
    Reduce(BarrierReduction),
}

/// What the opcode of a memory access says.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Its sem.
    pub sem: Sem,
    /// Its scope; `Cta` for weak accesses.
    pub scope: Scope,
    /// State space, if written.
    pub space: Option<(Space, Span)>,
    /// The part of the shared state space, if `.shared` is written.
    pub window: Option<Window>,
    /// Type, if written.
    pub ty: Option<(PtxType, Span)>,
    /// Elements of the vector; 1 for scalars.
    pub elements: u8,
    /// Place of the vector modifier, or of the opcode.
    pub vector_span: Span,
    /// The proxy that the opcode names; `ld` without `.const` says `Generic` and may mean `Constant`.
    pub proxy: Proxy,
}

/// An operation of `atom` or `red`, before min and max are told apart by type.
#[derive(Clone, Copy, Debug)]
pub struct Rmw {
    /// Unsigned flavour.
    pub op: AtomicOp,
    /// As PTX spells it.
    pub name: &'static str,
    /// Where.
    pub span: Span,
}

/// Checks an opcode against PTX's rules and the target's floors.
pub fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    if target.spa {
        return spa::check(opcode);
    }
    match opcode.mnemonic {
        "ld" | "st" => access::check_load_store(opcode, target),
        "atom" | "red" => access::check_atomic(opcode, target),
        "tex" | "suld" | "sust" | "sured" => texture::check(opcode, target),
        "fence" | "membar" => fence::check(opcode, target),
        "bar" | "barrier" => barrier::check(opcode, target),
        "mbarrier" => mbarrier::check(opcode, target),
        "multimem" => multimem::check(opcode, target),
        word if spa::is_known(word) => Err(spa::foreign(opcode)),
        _ => Err(unknown(opcode)),
    }
}

fn floor(target: Target, what: &str, ptx: (u16, u16), sm: u16, span: Span) -> Result<(), Diagnostic> {
    target.check(what, ptx, sm, span).map_or(Ok(()), Err)
}

fn check_scope_floor(target: Target, scope: Scope, span: Span) -> Result<(), Diagnostic> {
    if scope == Scope::Cluster { floor(target, ".cluster", (7, 8), 90, span) } else { Ok(()) }
}

fn set_once<T>(slot: &mut Option<(T, Span)>, value: T, modifier: Modifier<'_>) -> Result<(), Diagnostic> {
    if let Some((_, first)) = slot {
        let message = format!("`.{}` is a second modifier of its kind", modifier.text);
        return Err(Diagnostic::new(
            "validate::duplicate-modifier",
            message,
            modifier.span,
            "the second one",
        )
        .with_label(*first, "the first one")
        .with_help("keep one of them"));
    }
    *slot = Some((value, modifier.span));
    Ok(())
}

fn unknown_modifier(opcode: &Opcode<'_>, modifier: Modifier<'_>, known: &[&str]) -> Diagnostic {
    let message = format!("`.{}` is not a modifier of `{}`", modifier.text, opcode.mnemonic);
    let error = Diagnostic::new("validate::unknown-modifier", message, modifier.span, "unknown modifier");
    match suggest(modifier.text, known.iter().copied()) {
        Some(word) => error.with_help(format!("did you mean `.{word}`?")),
        None => error,
    }
}

fn unsupported_modifier(opcode: &Opcode<'_>, modifier: Modifier<'_>) -> Diagnostic {
    let message = format!("`.{}` on `{}` is not checked by this version", modifier.text, opcode.mnemonic);
    Diagnostic::new("unsupported::modifier", message, modifier.span, "known to PTX, not checked here")
}

fn is_float(text: &str) -> bool {
    matches!(text, "f16" | "f16x2" | "bf16" | "bf16x2" | "f32" | "f64" | "f32x2" | "pred")
}
