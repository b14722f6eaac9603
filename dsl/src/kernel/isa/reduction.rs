//! Operations of asynchronous reductions (`red.async`, `cp.reduce.async.bulk`).

use super::words::Words;
use super::{Key, Slot};
use crate::diagnostic::Diagnostic;
use crate::kernel::isa::access::{Rmw, check_operation_type};
use crate::kernel::opcode::PtxType;
use crate::kernel::program::AtomicOp;
use crate::span::Span;

/// Types of floating-point numbers.
pub(super) const FLOATS: Slot = super::unsupported(&["f16", "bf16", "f32", "f64", "noftz"]);

/// Types that numbers and bits have.
pub(super) const TYPES: &[&str] =
    &["b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"];

pub(super) const OPERATIONS: &[&str] = &["add", "inc", "dec", "min", "max", "and", "or", "xor"];

/// The operation that is written.
pub(super) fn operation(words: &Words<'_>) -> Option<Rmw> {
    let (name, span) = words.written(Key::Operation)?;
    let op = match name {
        "inc" => AtomicOp::Inc,
        "dec" => AtomicOp::Dec,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        _ => AtomicOp::Add,
    };
    Some(Rmw { op, name, span })
}

/// What kind of type an operation has if none is written.
pub(super) fn default_kind(op: AtomicOp) -> char {
    if matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor) { 'b' } else { 'u' }
}

/// Checks the type of an operation; shared memory has fewer.
pub(super) fn check_type(rmw: Rmw, ty: PtxType, is_global: bool, span: Span) -> Result<(), Diagnostic> {
    check_operation_type(rmw, ty, span)?;
    if !is_global && ty.width == 64 && rmw.op != AtomicOp::Add {
        let message = format!("`.{}` in shared memory has no type `.{ty}`", rmw.name);
        return Err(Diagnostic::new("validate::illegal-operation-type", message, span, "64 bits")
            .with_help("an asynchronous reduction of 64 bits in shared memory is `.add.u64`"));
    }
    Ok(())
}

/// The operation at a type: min and max of numbers with sign are others.
pub(super) fn at_type(op: AtomicOp, ty: PtxType) -> AtomicOp {
    match (op, ty.kind) {
        (AtomicOp::Min, 's') => AtomicOp::SignedMin,
        (AtomicOp::Max, 's') => AtomicOp::SignedMax,
        _ => op,
    }
}
