//! What expressions and atomics come to with numbers, and the reads that those come from.

use crate::again::place::Thread;
use crate::graph::mask;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    Address, AtomicOp, BinaryOp, Expression, ExpressionKind, Launch, RegisterId, UnaryOp,
};
use std::collections::{BTreeMap, BTreeSet};

/// A value, and the places in the run of the reads that it comes from.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Number {
    pub value: u128,
    pub reads: BTreeSet<usize>,
}

impl Number {
    /// One that comes from no read.
    pub fn known(value: u128) -> Self {
        Self { value, reads: BTreeSet::new() }
    }
}

/// Registers by index.
pub type Registers = BTreeMap<usize, Number>;

/// What an expression is evaluated with.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub registers: &'a Registers,
    pub thread: Thread,
    pub launch: &'a Launch,
    /// What memory, and registers, hold in the end, where that is known.
    pub ends: Option<&'a dyn Ends>,
}

/// What there is in the end.
pub trait Ends {
    fn memory(&self, address: &Address) -> Result<u128, String>;
    fn register(&self, thread: u32, register: RegisterId) -> Result<u128, String>;
}

/// Evaluates an expression.
///
/// # Errors
/// What is not computed here.
pub fn evaluate(expression: &Expression, around: Around<'_>) -> Result<Number, String> {
    let of = |inner: &Expression| evaluate(inner, around);
    let Around { registers, thread, launch, ends } = around;
    let in_the_end = || ends.ok_or_else(|| "what there is in the end, in the middle of a run".to_owned());
    let Number { value, reads } = match &expression.kind {
        ExpressionKind::Constant(value) => Number::known(*value),
        ExpressionKind::Register(register) => {
            let found = registers.get(&register.index()).cloned();
            found.ok_or_else(|| "a register that nobody has set".to_owned())?
        }
        ExpressionKind::Coordinate(which) => Number::known(u128::from(thread.coordinate(*which, launch)?)),
        ExpressionKind::Unary(op, inner) => {
            let inner = of(inner)?;
            let value = match op {
                UnaryOp::Not => !inner.value,
                UnaryOp::Negate => inner.value.wrapping_neg(),
            };
            Number { value, ..inner }
        }
        ExpressionKind::Binary(op, left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            let value = binary(*op, a.value, b.value, u32::from(left.width));
            Number { value, reads: &a.reads | &b.reads }
        }
        ExpressionKind::Select(condition, then, otherwise) => {
            let (condition, then, otherwise) = (of(condition)?, of(then)?, of(otherwise)?);
            let reads = &(&condition.reads | &then.reads) | &otherwise.reads;
            Number { value: if condition.value == 1 { then.value } else { otherwise.value }, reads }
        }
        ExpressionKind::Convert(inner) => of(inner)?,
        ExpressionKind::FinalValue(address) => Number::known(in_the_end()?.memory(address)?),
        ExpressionKind::FinalRegister(thread, register) => {
            Number::known(in_the_end()?.register(*thread, *register)?)
        }
        ExpressionKind::Uncomputed { by, .. } => return Err(format!("what `{by}` comes to")),
    };
    Ok(Number { value: value & mask(u32::from(expression.width)), reads })
}

/// A comparison, or what a C programmer expects; a division by nothing gives all ones and leaves the dividend.
pub fn binary(op: BinaryOp, a: u128, b: u128, width: u32) -> u128 {
    let truth = u128::from;
    let shift = u32::try_from(b).ok().filter(|&by| by < width);
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide => a.checked_div(b).unwrap_or(u128::MAX),
        BinaryOp::Remainder => a.checked_rem(b).unwrap_or(a),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft => shift.map_or(0, |by| a << by),
        BinaryOp::ShiftRight => shift.map_or(0, |by| a >> by),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        BinaryOp::Less => truth(a < b),
        BinaryOp::LessEqual => truth(a <= b),
        BinaryOp::Greater => truth(a > b),
        BinaryOp::GreaterEqual => truth(a >= b),
    }
}

/// What an atomic writes; `None` if a compare-and-swap finds something else.
///
/// # Errors
/// If that is not computed here.
pub fn updated(op: AtomicOp, old: &Number, operands: &[Number], bits: u32) -> Result<Option<Number>, String> {
    let (a, b) = (old.value, operands.first().map_or(0, |own| own.value));
    let signed = |value: u128| ((value << (128 - bits)) as i128) >> (128 - bits);
    let value = match op {
        AtomicOp::Add => a.wrapping_add(b),
        AtomicOp::Inc if a >= b => 0,
        AtomicOp::Inc => a + 1,
        AtomicOp::Dec if a == 0 || a > b => b,
        AtomicOp::Dec => a - 1,
        AtomicOp::Min => a.min(b),
        AtomicOp::Max => a.max(b),
        AtomicOp::SignedMin => {
            if signed(a) < signed(b) {
                a
            } else {
                b
            }
        }
        AtomicOp::SignedMax => {
            if signed(a) > signed(b) {
                a
            } else {
                b
            }
        }
        AtomicOp::And => a & b,
        AtomicOp::Or => a | b,
        AtomicOp::Xor => a ^ b,
        AtomicOp::Exchange => return Ok(operands.first().cloned()),
        AtomicOp::CompareAndSwap => return Ok(operands.get(1).filter(|_| a == b).cloned()),
        AtomicOp::Float => return Err("atomics on floating-point numbers".to_owned()),
    };
    let reads = operands.iter().fold(old.reads.clone(), |all, own| &all | &own.reads);
    Ok(Some(Number { value: value & mask(bits), reads }))
}
