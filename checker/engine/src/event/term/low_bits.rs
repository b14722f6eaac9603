//! The lowest bits of a term, as far as they are the same in every execution.
//!
//! An element of a row that was chosen at run time is at a multiple of the row's size and a number that is known: so two threads
//! that differ in that number never meet, whatever rows they were given.
//!
//! Sound: the lowest bits of sums, products and the like follow from the lowest bits of their operands, whatever is above.
//!
//! Needs: nothing. It is about numbers.

use super::{TermKind, TermPool, TermRef};

/// Bits that are told apart at most.
const BITS_MAX: u32 = 32;

/// So many of the lowest bits are known, and these are they; the others are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LowBits {
    n: u8,
    value: u32,
}

impl LowBits {
    fn new(n: u32, value: u32) -> Self {
        let n = n.min(BITS_MAX);
        Self { n: u8::try_from(n).unwrap_or(0), value: value & mask(n) }
    }

    fn n(self) -> u32 {
        self.n.into()
    }

    /// The lowest ones, if so many are known.
    pub(super) fn below(self, n: u32) -> Option<u32> {
        (n <= self.n()).then(|| self.value & mask(n))
    }

    /// How many of the known ones are 0, from the lowest on.
    fn zeros(self) -> u32 {
        self.value.trailing_zeros().min(self.n())
    }

    /// Those of which it is known in either that they are set or not.
    fn of_known(known: u32, value: u32) -> Self {
        Self::new(known.trailing_ones(), value)
    }

    /// Whether two numbers differ for certain.
    pub fn differ(self, other: Self) -> bool {
        (self.value ^ other.value) & mask(self.n().min(other.n())) != 0
    }

    /// Whether so many bytes from one number on and so many from another have none in common for certain.
    pub fn are_apart(self, own_bytes: u32, other: Self, other_bytes: u32) -> bool {
        let n = self.n().min(other.n());
        if n == 0 || n >= BITS_MAX {
            return false;
        }
        let (own, others) = (u64::from(self.value & mask(n)), u64::from(other.value & mask(n)));
        let round = 1_u64 << n;
        let distance = (others + round - own) % round;
        distance >= u64::from(own_bytes) && round - distance >= u64::from(other_bytes)
    }
}

fn mask(n: u32) -> u32 {
    if n >= BITS_MAX { u32::MAX } else { (1 << n) - 1 }
}

impl TermPool {
    /// What is known of a term's lowest bits.
    pub fn low_bits(&self, term: TermRef) -> LowBits {
        self.low_bits[term]
    }

    /// The same of one that is about to be made.
    pub(super) fn low_bits_of(&self, width: u8, kind: &TermKind) -> LowBits {
        let of = |term: TermRef| self.low_bits[term];
        // What is above 32 bits does not matter here.
        #[expect(clippy::cast_possible_truncation, reason = "only the lowest bits are looked at")]
        let lowest = |value: u128| value as u32;
        let found = match *kind {
            TermKind::Constant(value) => LowBits::new(BITS_MAX, lowest(value)),
            TermKind::Not(a) => LowBits::new(of(a).n(), !of(a).value),
            TermKind::BitAnd(a, b) => {
                let (a, b) = (of(a), of(b));
                let (in_a, in_b) = (mask(a.n()), mask(b.n()));
                LowBits::of_known((in_a & in_b) | (in_a & !a.value) | (in_b & !b.value), a.value & b.value)
            }
            TermKind::BitOr(a, b) => {
                let (a, b) = (of(a), of(b));
                let (in_a, in_b) = (mask(a.n()), mask(b.n()));
                LowBits::of_known((in_a & in_b) | a.value | b.value, a.value | b.value)
            }
            TermKind::BitXor(a, b) => LowBits::new(of(a).n().min(of(b).n()), of(a).value ^ of(b).value),
            TermKind::Add(a, b) => {
                LowBits::new(of(a).n().min(of(b).n()), of(a).value.wrapping_add(of(b).value))
            }
            TermKind::Subtract(a, b) => {
                LowBits::new(of(a).n().min(of(b).n()), of(a).value.wrapping_sub(of(b).value))
            }
            TermKind::Multiply(a, b) => {
                let (a, b) = (of(a), of(b));
                let n = (a.n() + b.zeros()).min(b.n() + a.zeros());
                LowBits::new(n, a.value.wrapping_mul(b.value))
            }
            TermKind::ShiftLeft(a, by) => match self.constant_value(by).map(u32::try_from) {
                Some(Ok(by)) if by < BITS_MAX => LowBits::new(of(a).n() + by, of(a).value << by),
                Some(_) => LowBits::new(BITS_MAX, 0),
                None => LowBits::default(),
            },
            TermKind::ShiftRight(a, by) => match self.constant_value(by).map(u32::try_from) {
                Some(Ok(by)) if by < of(a).n() && of(a).n() < BITS_MAX => {
                    LowBits::new(of(a).n() - by, of(a).value >> by)
                }
                _ => LowBits::default(),
            },
            TermKind::IfThenElse(_, a, b) => {
                let (a, b) = (of(a), of(b));
                let same = (a.value ^ b.value).trailing_zeros();
                LowBits::new(a.n().min(b.n()).min(same), a.value)
            }
            TermKind::Resize(a) => LowBits::new(of(a).n(), of(a).value),
            TermKind::Extract(a, low) => {
                let low = u32::from(low);
                match of(a).n().checked_sub(low) {
                    Some(n) if low < BITS_MAX && n > 0 => LowBits::new(n, of(a).value >> low),
                    _ => LowBits::default(),
                }
            }
            TermKind::Unknown(_)
            | TermKind::And(_)
            | TermKind::Or(_)
            | TermKind::Divide(..)
            | TermKind::Remainder(..)
            | TermKind::Equal(..)
            | TermKind::Less(..)
            | TermKind::SignedLess(..) => LowBits::default(),
        };
        LowBits::new(found.n().min(width.into()), found.value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{TermPool, UnknownKind};
    use fencepost_dsl::kernel::program::BinaryOp;

    /// Terms of all kinds on two unknowns, and what is known of them held to what they are for all values.
    #[test]
    fn what_is_known_holds_for_every_value() {
        let mut terms = TermPool::new();
        let (x, of_x) = terms.fresh(6, UnknownKind::Parameter);
        let (y, of_y) = terms.fresh(6, UnknownKind::Parameter);
        let mut all = vec![of_x, of_y];
        all.extend([0, 1, 3, 4, 8, 12, 33, 63].map(|value| terms.constant(value, 6)));
        let operators = [
            BinaryOp::Add,
            BinaryOp::Subtract,
            BinaryOp::Multiply,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::ShiftLeft,
            BinaryOp::ShiftRight,
        ];
        for round in 0..3 {
            let some: Vec<_> = all.iter().copied().step_by(1 + round * 7).take(60).collect();
            for (at, &a) in some.iter().enumerate() {
                for (offset, operator) in operators.into_iter().enumerate() {
                    let b = some[(at * 7 + offset * 3 + round) % some.len()];
                    all.push(terms.binary(operator, a, b));
                }
                let b = some[(at * 5 + 1) % some.len()];
                let is_less = terms.less(a, b);
                all.push(terms.if_then_else(is_less, a, b));
                let half = terms.resize(a, 3);
                all.push(terms.resize(half, 6));
                all.push(terms.not(a));
            }
            all.sort_unstable();
            all.dedup();
        }
        let mut n_known = 0;
        for &term in &all {
            let low = terms.low_bits(term);
            n_known += usize::from(low.n > 0 && terms.constant_value(term).is_none());
            for values in 0..1 << 12 {
                let value = value_of(&terms, term, &|unknown| match unknown {
                    it if it == x => values & 63,
                    it if it == y => values >> 6,
                    _ => 0,
                });
                assert_eq!(
                    value & u128::from(super::mask(low.n())),
                    u128::from(low.value),
                    "{term:?} {low:?}"
                );
            }
        }
        assert!(n_known > 10, "only {n_known} of {} are of any use", all.len());
    }

    fn value_of(
        terms: &TermPool,
        term: super::TermRef,
        unknown: &dyn Fn(crate::event::UnknownId) -> u128,
    ) -> u128 {
        let operands: Vec<u128> =
            terms.operands(term).into_iter().map(|operand| value_of(terms, operand, unknown)).collect();
        terms.apply(term, &operands, unknown)
    }

    #[test]
    fn rows_of_a_power_of_two_are_apart_where_their_elements_are() {
        let mut terms = TermPool::new();
        let (_, row) = terms.fresh(32, UnknownKind::Parameter);
        let size = terms.constant(64, 32);
        let start = terms.binary(BinaryOp::Multiply, row, size);
        let at = |terms: &mut TermPool, byte| {
            let byte = terms.constant(byte, 32);
            let sum = terms.binary(BinaryOp::Add, start, byte);
            terms.low_bits(sum)
        };
        let (first, second, last) = (at(&mut terms, 0), at(&mut terms, 4), at(&mut terms, 60));
        assert!(first.differ(second) && first.are_apart(4, second, 4) && second.are_apart(4, first, 4));
        assert!(!first.are_apart(8, second, 4) && !second.are_apart(4, first, 8));
        assert!(last.are_apart(4, first, 4) && !last.are_apart(8, first, 4) && !first.are_apart(4, first, 4));
    }
}
