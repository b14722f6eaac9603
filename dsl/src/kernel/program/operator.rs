//! What binary operators are called, and what they make of numbers.

use super::{BinaryOp, Width};

impl BinaryOp {
    /// As the kernel language and C write it; of one bit, `&` and `|` are what `&&` and `||` are.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }

    /// What it makes of two values of `width` bits, before that is cut to the width of the result. A division by zero gives all
    /// ones and its remainder the dividend; a shift by the width and more gives 0.
    pub fn apply(self, left: u128, right: u128, width: Width) -> u128 {
        match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Divide => left.checked_div(right).unwrap_or(u128::MAX),
            Self::Remainder => left.checked_rem(right).unwrap_or(left),
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            Self::ShiftLeft if right < u128::from(width) => left << right,
            Self::ShiftRight if right < u128::from(width) => left >> right,
            Self::ShiftLeft | Self::ShiftRight => 0,
            Self::Equal => u128::from(left == right),
            Self::NotEqual => u128::from(left != right),
            Self::Less => u128::from(left < right),
            Self::LessEqual => u128::from(left <= right),
            Self::Greater => u128::from(left > right),
            Self::GreaterEqual => u128::from(left >= right),
        }
    }
}
