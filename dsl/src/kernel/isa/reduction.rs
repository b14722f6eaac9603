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

/// … and those of floating-point numbers.
pub(super) const NUMBERS: &[&str] = &[
    "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16",
    "f32", "f64",
];

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

/// Checks the type of an operation; bulk reductions in global memory have more.
pub(super) fn check_type(rmw: Rmw, ty: PtxType, is_bulk: bool, span: Span) -> Result<(), Diagnostic> {
    if ty.kind == 'f' {
        return check_float(rmw, ty, is_bulk, span);
    }
    check_operation_type(rmw, ty, span)?;
    if !is_bulk && ty.width == 64 && rmw.op != AtomicOp::Add {
        let message = format!("`.{}` has no type `.{ty}` here", rmw.name);
        let help = "an asynchronous reduction of 64 bits is `.add.u64`, or a bulk one in global memory";
        return Err(
            Diagnostic::new("validate::illegal-operation-type", message, span, "64 bits").with_help(help)
        );
    }
    Ok(())
}

/// Floating-point numbers are reduced in global memory.
fn check_float(rmw: Rmw, ty: PtxType, is_global: bool, span: Span) -> Result<(), Diagnostic> {
    let is_half = ty.is_half() && ty.width == 16;
    let is_legal = is_global
        && match rmw.op {
            AtomicOp::Add => is_half || !ty.is_half(),
            AtomicOp::Min | AtomicOp::Max => is_half,
            _ => false,
        };
    if is_legal {
        return Ok(());
    }
    let space = if is_global { "" } else { " in shared memory" };
    let message = format!("`.{}`{space} has no type `.{ty}`", rmw.name);
    Err(Diagnostic::new("validate::illegal-operation-type", message, span, "not a type of this operation").with_help(
        "in global memory there are `.add.f32`, `.add.f64`, and of `.f16` and `.bf16` `.add.noftz`, `.min` and `.max`",
    ))
}

/// The operation at a type: min and max of numbers with sign are others.
pub(super) fn at_type(op: AtomicOp, ty: PtxType) -> AtomicOp {
    match (op, ty.kind) {
        (_, 'f') => AtomicOp::Float,
        (AtomicOp::Min, 's') => AtomicOp::SignedMin,
        (AtomicOp::Max, 's') => AtomicOp::SignedMax,
        _ => op,
    }
}
