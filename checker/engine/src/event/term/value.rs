//! What a term's value is for given operands.

use super::{TermKind, TermPool, TermRef, mask};
use crate::event::UnknownId;
use fencepost_dsl::kernel::program::Width;

impl TermPool {
    /// The value of a node whose operands have the values `operands`; `unknown` for an unknown.
    pub fn apply(&self, term: TermRef, operands: &[u128], unknown: impl FnOnce(UnknownId) -> u128) -> u128 {
        let width = self.width(term);
        let value = match (self.kind(term), operands) {
            (TermKind::Constant(value), _) => *value,
            (TermKind::Unknown(id), _) => unknown(*id),
            (TermKind::Not(_), [a]) => !a,
            (TermKind::And(_), all) => u128::from(all.iter().all(|&v| v == 1)),
            (TermKind::Or(_), all) => u128::from(all.contains(&1)),
            (TermKind::Equal(..), [a, b]) => u128::from(a == b),
            (TermKind::Less(..), [a, b]) => u128::from(a < b),
            (TermKind::SignedLess(a_term, _), [a, b]) => {
                let width = self.width(*a_term);
                u128::from(signed(*a, width) < signed(*b, width))
            }
            (TermKind::IfThenElse(..), [c, a, b]) => {
                if *c == 1 {
                    *a
                } else {
                    *b
                }
            }
            (TermKind::Resize(_), [a]) => *a,
            (TermKind::Extract(_, low), [a]) => a >> low,
            (kind, [a, b]) => fold(kind, *a, *b, width),
            _ => 0,
        };
        value & mask(width)
    }
}

pub(super) fn signed(value: u128, width: Width) -> i128 {
    let shift = 128 - u32::from(width);
    ((value << shift) as i128) >> shift
}

/// The operators that keep their operands' width, on constants; the result is not yet reduced to the width.
pub(super) fn fold(kind: &TermKind, a: u128, b: u128, width: Width) -> u128 {
    match kind {
        TermKind::Add(..) => a.wrapping_add(b),
        TermKind::Subtract(..) => a.wrapping_sub(b),
        TermKind::Multiply(..) => a.wrapping_mul(b),
        TermKind::Divide(..) => a.checked_div(b).unwrap_or(u128::MAX),
        TermKind::Remainder(..) => a.checked_rem(b).unwrap_or(a),
        TermKind::BitAnd(..) => a & b,
        TermKind::BitOr(..) => a | b,
        TermKind::BitXor(..) => a ^ b,
        TermKind::ShiftLeft(..) if b < u128::from(width) => a << b,
        TermKind::ShiftRight(..) if b < u128::from(width) => a >> b,
        _ => 0,
    }
}
