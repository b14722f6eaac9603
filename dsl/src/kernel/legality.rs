//! Which combinations of modifiers PTX allows, and what they mean once the defaults are filled in.
//!
//! Each illegal combination has its own diagnostic code and names its rule. Operands are checked elsewhere
//! ([`resolve::instruction`](super::resolve)); this module sees the opcode only.

use super::isa::foreign;
use super::opcode::{Modifier, Opcode, PtxType, Window, parse_space, unknown, unsupported};
use super::program::AtomicOp;
use super::suggest::suggest;
use super::target::Target;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Scope, Sem, Space};

pub use super::isa::access::{Access, OPERATIONS, Rmw, check_operation_type};
pub use asynchronous::{
    AsyncOpcode, BulkOpcode, CopySpace, PrefetchOpcode, ReplaceOpcode, StoreOpcode, TensorField,
    TensorOpcode, check_reduction_type,
};

mod asynchronous;
mod proxy;

/// A legal opcode.
#[derive(Clone, Debug)]
pub enum Operation {
    /// `tensormap.cp_fenceproxy`
    TensormapCopy(Scope),
    /// `mov`, of registers that are objects
    Move,
    /// `cp.async`, `st.async` and so on.
    Async(AsyncOpcode),
}

/// Checks an opcode against PTX's rules and the target's floors.
pub fn check(opcode: &Opcode<'_>, target: Target) -> Result<Operation, Diagnostic> {
    if target.spa {
        return Err(foreign::unknown(opcode));
    }
    match opcode.mnemonic {
        "st" | "red" if opcode.has("async") => asynchronous::check_store(opcode, target),
        "cp" => asynchronous::check_copy(opcode, target),
        "tcgen05" => asynchronous::check_tensor(opcode, target),
        "wgmma" => asynchronous::check_matrix(opcode, target),
        "mov" => asynchronous::check_move(opcode),
        "tensormap" if opcode.modifiers.first().is_some_and(|modifier| modifier.text == "replace") => {
            asynchronous::check_replace(opcode, target)
        }
        "tensormap" => proxy::check_tensormap(opcode, target),
        word if foreign::is_known(word) => Err(foreign::foreign(opcode)),
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
