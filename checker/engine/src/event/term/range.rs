//! An interval that a term's value is in, whatever the unknowns are.
//!
//! An index that was masked is inside of its table, and an offset that was added to an address before it was taken away again
//! is what it was: so that a bound is kept is known when it is written down, and neither a guard nor a question is left of it.
//!
//! Sound: each interval follows from those of the operands, which hold for every value of the unknowns.
//!
//! Needs: nothing. It is about numbers.

use super::{TermKind, TermPool, TermRef, mask};
use fencepost_dsl::kernel::program::Width;

/// The least value and the greatest one.
pub type Interval = (u128, u128);

impl TermPool {
    /// An interval that contains the term's value.
    pub fn range(&self, term: TermRef) -> Interval {
        self.ranges[term]
    }

    /// The same of one that is about to be made.
    pub(super) fn range_of(&self, width: Width, kind: &TermKind) -> Interval {
        let all = mask(width);
        let of = |term: TermRef| self.ranges[term];
        let anything = (0, all);
        match *kind {
            TermKind::Constant(value) => (value, value),
            TermKind::Unknown(unknown) => (self.unknowns[unknown].min, self.unknowns[unknown].max),
            TermKind::Not(a) => (all - of(a).1, all - of(a).0),
            TermKind::And(_)
            | TermKind::Or(_)
            | TermKind::Equal(..)
            | TermKind::Less(..)
            | TermKind::SignedLess(..) => anything,
            TermKind::BitAnd(a, b) => (0, of(a).1.min(of(b).1)),
            TermKind::BitOr(a, b) => (of(a).0.max(of(b).0), ones_to(of(a).1 | of(b).1)),
            TermKind::BitXor(a, b) => (0, ones_to(of(a).1 | of(b).1)),
            TermKind::Add(a, b) => match (of(a).0.checked_add(of(b).0), of(a).1.checked_add(of(b).1)) {
                (Some(min), Some(max)) => wrapped(min, max, width),
                _ => anything,
            },
            TermKind::Subtract(a, b) => match (of(a).0.checked_sub(of(b).1), of(a).1.checked_sub(of(b).0)) {
                (Some(min), Some(max)) => (min, max),
                _ => anything,
            },
            TermKind::Multiply(a, b) => match of(a).1.checked_mul(of(b).1) {
                Some(max) if max <= all => (of(a).0 * of(b).0, max),
                _ => anything,
            },
            TermKind::Divide(a, b) if of(b).0 > 0 => (of(a).0 / of(b).1, of(a).1 / of(b).0),
            // All ones, if the divisor is 0.
            TermKind::Divide(..) => anything,
            TermKind::Remainder(a, b) if of(b).0 > 0 => (0, of(a).1.min(of(b).1 - 1)),
            TermKind::Remainder(a, _) => (0, of(a).1),
            TermKind::ShiftLeft(a, by) => match self.constant_value(by).map(u32::try_from) {
                Some(Ok(by)) if by < u32::from(width) && of(a).1 <= all >> by => {
                    (of(a).0 << by, of(a).1 << by)
                }
                _ => anything,
            },
            TermKind::ShiftRight(a, by) => match self.constant_value(by).map(u32::try_from) {
                Some(Ok(by)) if by < u32::from(width) => (of(a).0 >> by, of(a).1 >> by),
                _ => (0, of(a).1),
            },
            TermKind::IfThenElse(_, a, b) => (of(a).0.min(of(b).0), of(a).1.max(of(b).1)),
            TermKind::Resize(a) => wrapped(of(a).0, of(a).1, width),
            TermKind::Extract(a, low) => wrapped(of(a).0 >> low, of(a).1 >> low, width),
        }
    }

    /// That an unknown is in its interval: what is folded takes that for granted, so it is made as it stands.
    pub(in crate::event) fn is_in_range(&mut self, unknown: TermRef) -> TermRef {
        let ((min, max), width) = (self.range(unknown), self.width(unknown));
        let (least, most) = (self.constant(min, width), self.constant(max, width));
        let below = if min == 0 { Self::FALSE } else { self.intern(1, TermKind::Less(unknown, least)) };
        let above =
            if max == mask(width) { Self::FALSE } else { self.intern(1, TermKind::Less(most, unknown)) };
        let (is_least, is_most) = (self.not(below), self.not(above));
        self.and(is_least, is_most)
    }

    /// The number that is extended by its sign, if that is 0 for certain: `x` of `(x ^ sign) + added` that takes the sign away.
    pub(super) fn sign_extended(&mut self, flipped: TermRef, added: u128, width: Width) -> Option<TermRef> {
        let TermKind::Resize(narrow) = *self.kind(flipped) else { return None };
        let sign: u128 = 1 << (self.width(narrow) - 1);
        let takes_away = sign.wrapping_add(added) & mask(width) == 0;
        if takes_away && self.width(narrow) < width { self.unflipped(narrow) } else { None }
    }

    /// The number whose sign was turned over to compare it, if that is 0 for certain.
    pub(super) fn unflipped(&mut self, flipped: TermRef) -> Option<TermRef> {
        let width = self.width(flipped);
        let sign = 1 << (width - 1);
        match *self.kind(flipped) {
            TermKind::BitXor(value, k) => {
                (self.constant_value(k) == Some(sign) && self.range(value).1 < sign).then_some(value)
            }
            TermKind::Constant(value) => {
                let without = value.checked_sub(sign)?;
                Some(self.constant(without, width))
            }
            _ => None,
        }
    }

    /// A remainder, or what a mask leaves of a term, where what is known of the term tells.
    pub(super) fn told_by_bits(&mut self, kind: &TermKind, a: TermRef, constant: u128) -> Option<TermRef> {
        let (max, width) = (self.range(a).1, self.width(a));
        let (mask, is_all) = match kind {
            TermKind::BitAnd(..) => (constant, ones_to(max) & !constant == 0),
            TermKind::Remainder(..) if constant.is_power_of_two() => (constant - 1, max < constant),
            TermKind::Remainder(..) => return (max < constant).then_some(a),
            _ => return None,
        };
        if is_all {
            return Some(a);
        }
        let known = self.low_bits(a).below(128 - mask.leading_zeros())?;
        Some(self.constant(u128::from(known) & mask, width))
    }
}

/// All bits up to the highest one of a number.
fn ones_to(value: u128) -> u128 {
    u128::MAX.checked_shr(value.leading_zeros()).unwrap_or(0)
}

/// An interval of numbers whose upper bits are cut off, if they are the same in all.
fn wrapped(min: u128, max: u128, width: Width) -> Interval {
    let all = mask(width);
    let upper = |value: u128| value.checked_shr(width.into()).unwrap_or(0);
    if upper(min) == upper(max) { (min & all, max & all) } else { (0, all) }
}

#[cfg(test)]
mod tests {
    use super::super::{TermPool, TermRef, UnknownKind, value::signed};
    use fencepost_dsl::kernel::program::BinaryOp;

    const WIDTH: u8 = 6;
    const N: usize = 1 << (2 * WIDTH);

    /// A term, and what it is for all values of two unknowns.
    #[derive(Clone)]
    struct Known {
        term: TermRef,
        values: Vec<u128>,
    }

    fn of(term: TermRef, value: impl Fn(usize) -> u128) -> Known {
        Known { term, values: (0..N).map(value).collect() }
    }

    /// Terms of all kinds, of terms of all kinds: what is folded has the value that it had, and each is in its interval.
    #[test]
    fn terms_are_what_they_were_made_of_and_in_their_intervals() {
        const OPERATORS: [BinaryOp; 10] = [
            BinaryOp::Add,
            BinaryOp::Subtract,
            BinaryOp::Multiply,
            BinaryOp::Divide,
            BinaryOp::Remainder,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::ShiftLeft,
            BinaryOp::ShiftRight,
        ];
        let mut terms = TermPool::new();
        let (_, x) = terms.fresh_in_range(WIDTH, 0, 63, UnknownKind::Parameter);
        let (_, y) = terms.fresh_in_range(WIDTH, 3, 20, UnknownKind::Parameter);
        let y_of = |at: usize| 3 + (at >> WIDTH) as u128 % 18;
        let mut all = vec![of(x, |at| at as u128 & 63), of(y, y_of)];
        all.extend([0, 1, 2, 3, 4, 7, 8, 12, 31, 32, 33, 63].map(|k| of(terms.constant(k, WIDTH), |_| k)));
        let mut state = 1_u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut n_told = 0;
        for round in 0..1_000 {
            let (a, b) = (all[random(all.len())].clone(), all[random(all.len())].clone());
            let both = |op: &dyn Fn(u128, u128) -> u128| {
                a.values.iter().zip(&b.values).map(|(&a, &b)| op(a, b)).collect()
            };
            let flag = |values: Vec<u128>, term: TermRef, terms: &mut TermPool| {
                let of_a = a.values.iter().zip(&values);
                let chosen = of_a.zip(&b.values).map(|((&a, &is), &b)| if is == 1 { a } else { b });
                Known { term: terms.if_then_else(term, a.term, b.term), values: chosen.collect() }
            };
            let made = match random(16) {
                10 => {
                    let (is_less, values) = (terms.less(a.term, b.term), both(&|a, b| u128::from(a < b)));
                    flag(values, is_less, &mut terms)
                }
                11 => {
                    let below = |a, b| u128::from(signed(a, WIDTH) < signed(b, WIDTH));
                    let (is_less, values) = (terms.signed_less(a.term, b.term), both(&below));
                    flag(values, is_less, &mut terms)
                }
                12 => {
                    let (is_same, values) = (terms.equal(a.term, b.term), both(&|a, b| u128::from(a == b)));
                    flag(values, is_same, &mut terms)
                }
                13 => Known { term: terms.not(a.term), values: both(&|a, _| !a & 63) },
                14 => {
                    // Extended by its sign, and shortened again.
                    let sign = terms.constant(1 << (WIDTH - 1), WIDTH);
                    let flipped = terms.binary(BinaryOp::Xor, a.term, sign);
                    let (wide, sign) = (terms.resize(flipped, 12), terms.constant(1 << (WIDTH - 1), 12));
                    let wide = terms.binary(BinaryOp::Subtract, wide, sign);
                    let low = u8::try_from(random(4)).unwrap_or(0);
                    let shifted = |a, _| (signed(a, WIDTH) >> low).cast_unsigned() & 63;
                    Known { term: terms.extract(wide, low, WIDTH), values: both(&shifted) }
                }
                15 => {
                    // Compared as numbers with sign, by turning over theirs.
                    let sign = terms.constant(1 << (WIDTH - 1), WIDTH);
                    let [p, q] = [a.term, b.term].map(|term| terms.binary(BinaryOp::Xor, term, sign));
                    let below = |a, b| u128::from(signed(a, WIDTH) < signed(b, WIDTH));
                    let (is_less, values) = (terms.less(p, q), both(&below));
                    flag(values, is_less, &mut terms)
                }
                which => {
                    let op = OPERATORS[which];
                    Known {
                        term: terms.binary(op, a.term, b.term),
                        values: both(&|a, b| op.apply(a, b, WIDTH) & 63),
                    }
                }
            };
            let (min, max) = terms.range(made.term);
            n_told += usize::from(terms.constant_value(made.term).is_none() && max - min < 63);
            for (at, &value) in made.values.iter().enumerate().step_by(13) {
                assert!((min..=max).contains(&value), "round {round}: {value} is not in {min}..={max}");
                let unknowns = [at as u128 & 63, y_of(at)];
                assert_eq!(terms.value_for(made.term, &unknowns), value, "round {round}, at {at}");
            }
            all.push(made);
        }
        assert!(n_told > 100, "only {n_told} intervals say anything");
    }

    impl TermPool {
        /// A term's value where the unknowns have these, in their order.
        fn value_for(&self, term: TermRef, unknowns: &[u128]) -> u128 {
            let operands: Vec<u128> =
                self.operands(term).into_iter().map(|operand| self.value_for(operand, unknowns)).collect();
            self.apply(term, &operands, |unknown| unknowns[unknown.0 as usize])
        }
    }
}
