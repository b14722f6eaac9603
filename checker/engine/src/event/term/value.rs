//! What a term's value can be, and what it is for given operands.

use super::{TermKind, TermPool, TermRef, mask};
use crate::event::UnknownId;
use fencepost_dsl::kernel::program::Width;

impl TermPool {
    /// An interval that contains the term's value, from constants and declared ranges only (constant time per node).
    pub fn range(&self, term: TermRef) -> (u128, u128) {
        let width = self.width(term);
        let all = mask(width);
        match *self.kind(term) {
            TermKind::Constant(value) => (value, value),
            TermKind::Unknown(unknown) => (self.unknowns[unknown].min, self.unknowns[unknown].max),
            TermKind::Resize(a) => {
                let (min, max) = self.shallow_range(a);
                if max <= all { (min, max) } else { (0, all) }
            }
            TermKind::Add(a, b) => {
                let ((a_min, a_max), (b_min, b_max)) = (self.shallow_range(a), self.shallow_range(b));
                match a_max.checked_add(b_max) {
                    Some(max) if max <= all => (a_min + b_min, max),
                    _ => (0, all),
                }
            }
            TermKind::BitAnd(a, b) => (0, self.shallow_range(a).1.min(self.shallow_range(b).1)),
            TermKind::Remainder(a, b) => match self.constant_value(b) {
                Some(k) if k > 0 => (0, (k - 1).min(self.shallow_range(a).1)),
                _ => (0, all),
            },
            TermKind::Divide(a, b) => match self.constant_value(b) {
                Some(k) if k > 0 => (self.shallow_range(a).0 / k, self.shallow_range(a).1 / k),
                _ => (0, all),
            },
            TermKind::Multiply(a, b) => {
                let ((a_min, a_max), (b_min, b_max)) = (self.shallow_range(a), self.shallow_range(b));
                match a_max.checked_mul(b_max) {
                    Some(max) if max <= all => (a_min * b_min, max),
                    _ => (0, all),
                }
            }
            TermKind::IfThenElse(_, a, b) => {
                let ((a_min, a_max), (b_min, b_max)) = (self.shallow_range(a), self.shallow_range(b));
                (a_min.min(b_min), a_max.max(b_max))
            }
            _ => (0, all),
        }
    }

    /// Like [`range`](Self::range), looking one level deep, so that deep terms cost constant time each.
    fn shallow_range(&self, term: TermRef) -> (u128, u128) {
        match *self.kind(term) {
            TermKind::Constant(value) => (value, value),
            TermKind::Unknown(unknown) => (self.unknowns[unknown].min, self.unknowns[unknown].max),
            TermKind::Resize(a) if self.width(a) <= self.width(term) => self.shallow_range(a),
            TermKind::Remainder(_, b) => match self.constant_value(b) {
                Some(k) if k > 0 => (0, k - 1),
                _ => (0, mask(self.width(term))),
            },
            TermKind::BitAnd(_, b) => (0, self.constant_value(b).unwrap_or(mask(self.width(term)))),
            _ => (0, mask(self.width(term))),
        }
    }

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
