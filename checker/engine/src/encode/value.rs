//! Bit-vector terms to literals, and what is known about values before any literal is spent.

use crate::cnf::{Direction, Formula, Literal};
use crate::event::term::mask;
use crate::event::{TermKind, TermPool, TermRef, UnknownId};
use fencepost_dsl::IndexVec;
use rustc_hash::FxHashMap;

/// A small set of values, or an interval that contains them all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    /// No value yet (before the first candidate write is joined).
    Nothing,
    /// A few values, ascending.
    Set(Vec<u128>),
    /// All values from the first to the second.
    Interval(u128, u128),
    /// All values that have the first's ones, and others among the second's only.
    Bits(u128, u128),
}

/// Sets larger than this become intervals.
const SET_MAX: usize = 12;

impl Known {
    /// Exactly this value.
    pub fn only(value: u128) -> Self {
        Self::Set(vec![value])
    }
    /// All values from one to another, which is not less.
    pub fn between(least: u128, most: u128) -> Self {
        if most - least < SET_MAX as u128 {
            Self::Set((least..=most).collect())
        } else {
            Self::Interval(least, most)
        }
    }
    /// Values of either.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known.clone(),
            (Self::Set(a), Self::Set(b)) => Self::from_values(a.iter().chain(b).copied().collect()),
            (Self::Bits(..), Self::Set(_) | Self::Bits(..)) | (Self::Set(_), Self::Bits(..)) => {
                let (a, b) = (self.ones_and_open(), other.ones_and_open());
                let ones = a.0 & b.0;
                Self::bits(ones, (a.0 | a.1 | b.0 | b.1) & !ones)
            }
            (a, b) => {
                let (a, b) = (a.bounds(), b.bounds());
                Self::Interval(a.0.min(b.0), a.1.max(b.1))
            }
        }
    }
    /// All values that have these ones, and others among `open` only, which has none of them.
    fn bits(ones: u128, open: u128) -> Self {
        if open == 0 { Self::only(ones) } else { Self::Bits(ones, open) }
    }
    /// The ones that all values have, and the bits that are not the same in all.
    fn ones_and_open(&self) -> (u128, u128) {
        let (value, known) = self.common_bits(128);
        (value, !known)
    }
    /// What is known of some bits of a value, from the lowest of them up.
    #[must_use]
    pub fn slice(&self, low: u32, n_bits: u8) -> Self {
        let cut = |value: u128| value.checked_shr(low).unwrap_or(0) & mask(n_bits);
        match self {
            Self::Nothing => Self::Nothing,
            Self::Set(values) => Self::from_values(values.iter().copied().map(cut).collect()),
            Self::Interval(min, max) if low == 0 && *max <= mask(n_bits) => Self::Interval(*min, *max),
            Self::Interval(..) | Self::Bits(..) => {
                let (ones, open) = self.ones_and_open();
                Self::bits(cut(ones), cut(open))
            }
        }
    }
    /// A value that is put together from pieces of so many bits, the lowest first, each by itself: all ways to do so while
    /// there are few, else what is known of each bit.
    #[must_use]
    pub fn together(pieces: &[Self], n_bits: u8) -> Self {
        if let [whole] = pieces {
            return whole.clone();
        }
        let at = |piece: usize| u32::try_from(piece).unwrap_or(0) * u32::from(n_bits);
        let mut sets = Vec::new();
        for piece in pieces {
            match piece {
                Self::Nothing => return Self::Nothing,
                Self::Set(values) => sets.push(values),
                Self::Interval(..) | Self::Bits(..) => {}
            }
        }
        if sets.len() == pieces.len() && sets.iter().map(|set| set.len()).product::<usize>() <= SET_MAX {
            let whole = sets.iter().enumerate().fold(vec![0], |lower, (piece, set)| {
                let higher = set.iter().map(|value| value << at(piece));
                higher.flat_map(|high| lower.iter().map(move |low| high | low)).collect()
            });
            return Self::from_values(whole);
        }
        let bits = pieces.iter().enumerate().map(|(piece, known)| {
            let (ones, open) = known.ones_and_open();
            (ones << at(piece), (open & mask(n_bits)) << at(piece))
        });
        let (ones, open) = bits.fold((0, 0), |all, piece| (all.0 | piece.0, all.1 | piece.1));
        Self::bits(ones, open)
    }
    fn from_values(mut values: Vec<u128>) -> Self {
        values.sort_unstable();
        values.dedup();
        if values.len() <= SET_MAX {
            Self::Set(values)
        } else {
            Self::Interval(values[0], values[values.len() - 1])
        }
    }
    /// Smallest and largest value.
    pub fn bounds(&self) -> (u128, u128) {
        match self {
            Self::Nothing => (0, 0),
            Self::Set(values) => (values[0], values[values.len() - 1]),
            Self::Interval(min, max) => (*min, *max),
            Self::Bits(ones, open) => (*ones, ones | open),
        }
    }
    /// Bits that are the same in all values: (value, mask of the bits known).
    fn common_bits(&self, width: u8) -> (u128, u128) {
        let all = mask(width);
        match self {
            Self::Nothing => (0, all),
            Self::Set(values) => {
                let ones = values.iter().fold(all, |acc, v| acc & v);
                let zeros = values.iter().fold(all, |acc, v| acc & !v);
                (ones, ones | zeros)
            }
            Self::Interval(min, max) => {
                let differing = min ^ max;
                let n_low = 128 - differing.leading_zeros();
                let known =
                    all & !mask(u8::try_from(n_low).unwrap_or(128)) | if n_low == 0 { all } else { 0 };
                (min & known, known)
            }
            Self::Bits(ones, open) => (*ones, all & !open),
        }
    }
}

/// What is known of every unknown and, on demand, of every term.
#[derive(Clone, Debug)]
pub struct KnownValues {
    /// By unknown.
    pub unknowns: IndexVec<UnknownId, Known>,
}

impl KnownValues {
    /// What follows for `term`; `memo` holds what is already computed for the same unknowns.
    pub fn of_term(&self, terms: &TermPool, term: TermRef, memo: &mut FxHashMap<TermRef, Known>) -> Known {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if memo.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = terms.operands(top);
            let missing: Vec<TermRef> = operands.iter().copied().filter(|o| !memo.contains_key(o)).collect();
            if missing.is_empty() {
                let known: Vec<&Known> = operands.iter().map(|o| &memo[o]).collect();
                let result = self.apply(terms, top, &known);
                memo.insert(top, result);
                stack.pop();
            } else {
                stack.extend(missing);
            }
        }
        memo[&term].clone()
    }

    fn apply(&self, terms: &TermPool, term: TermRef, operands: &[&Known]) -> Known {
        let all = mask(terms.width(term));
        match terms.kind(term) {
            TermKind::Constant(value) => return Known::only(*value),
            TermKind::Unknown(unknown) => return self.unknowns[*unknown].clone(),
            // Which branch is taken is not known here: only the branches' values matter.
            TermKind::IfThenElse(..) => {
                return match operands[0] {
                    Known::Set(c) if c == &[1] => operands[1].clone(),
                    Known::Set(c) if c == &[0] => operands[2].clone(),
                    _ => operands[1].join(operands[2]),
                };
            }
            _ => {}
        }
        if operands.contains(&&Known::Nothing) {
            return Known::Nothing;
        }
        if let (TermKind::Extract(_, low), [whole]) = (terms.kind(term), operands) {
            return whole.slice(u32::from(*low), terms.width(term));
        }
        let sizes: Option<Vec<&Vec<u128>>> =
            operands.iter().map(|k| if let Known::Set(values) = k { Some(values) } else { None }).collect();
        if let Some(sets) = sizes
            && sets.iter().map(|s| s.len()).product::<usize>() <= 64
        {
            let mut tuples = vec![Vec::new()];
            for set in sets {
                tuples = tuples
                    .iter()
                    .flat_map(|tuple: &Vec<u128>| set.iter().map(move |&v| [tuple.as_slice(), &[v]].concat()))
                    .collect();
            }
            return Known::from_values(tuples.iter().map(|tuple| terms.apply(term, tuple, |_| 0)).collect());
        }
        let (min, max) = interval(terms.kind(term), operands, all);
        if min == max { Known::only(min) } else { Known::Interval(min, max) }
    }
}

fn interval(kind: &TermKind, operands: &[&Known], all: u128) -> (u128, u128) {
    let bounds: Vec<(u128, u128)> = operands.iter().map(|k| k.bounds()).collect();
    let fits = |low: Option<u128>, high: Option<u128>| match (low, high) {
        (Some(low), Some(high)) if high <= all => (low, high),
        _ => (0, all),
    };
    match (kind, bounds.as_slice()) {
        (TermKind::Add(..), [a, b]) => fits(a.0.checked_add(b.0), a.1.checked_add(b.1)),
        (TermKind::Multiply(..), [a, b]) => fits(a.0.checked_mul(b.0), a.1.checked_mul(b.1)),
        (TermKind::Subtract(..), [a, b]) => fits(a.0.checked_sub(b.1), a.1.checked_sub(b.0)),
        (TermKind::BitAnd(..), [a, b]) => (0, a.1.min(b.1)),
        (TermKind::Resize(_), [a]) if a.1 <= all => *a,
        (TermKind::Divide(..), [a, b]) if b.0 > 0 => (a.0 / b.1, a.1 / b.0),
        (TermKind::Remainder(..), [a, b]) if b.0 > 0 => (0, a.1.min(b.1 - 1)),
        (TermKind::ShiftRight(..), [a, _]) => (0, a.1),
        _ => (0, all),
    }
}

/// Literals of terms, least significant bit first.
#[derive(Clone, Debug)]
pub struct BitBlaster {
    bits: FxHashMap<TermRef, Vec<Literal>>,
    /// The bits of each unknown that some literal stands for.
    pub unknown_bits: FxHashMap<UnknownId, Vec<Literal>>,
}

impl BitBlaster {
    /// No term has literals yet.
    pub fn new() -> Self {
        Self { bits: FxHashMap::default(), unknown_bits: FxHashMap::default() }
    }

    /// The bits of an unknown: constants where `known` says so, fresh variables elsewhere.
    pub fn unknown(
        &mut self,
        formula: &mut Formula,
        unknown: UnknownId,
        width: u8,
        known: &Known,
    ) -> Vec<Literal> {
        self.unknown_bits
            .entry(unknown)
            .or_insert_with(|| {
                let (value, mask) = known.common_bits(width);
                (0..width)
                    .map(|bit| match mask >> bit & 1 {
                        1 => Literal::constant(value >> bit & 1 == 1),
                        _ => formula.fresh(),
                    })
                    .collect()
            })
            .clone()
    }

    /// The bits of a term.
    pub fn bits(
        &mut self,
        formula: &mut Formula,
        terms: &TermPool,
        known: &KnownValues,
        term: TermRef,
    ) -> Vec<Literal> {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.bits.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = terms.operands(top);
            let missing: Vec<TermRef> =
                operands.iter().copied().filter(|o| !self.bits.contains_key(o)).collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let inputs: Vec<Vec<Literal>> = operands.iter().map(|o| self.bits[o].clone()).collect();
            let bits = match terms.kind(top) {
                TermKind::Unknown(unknown) => {
                    self.unknown(formula, *unknown, terms.width(top), &known.unknowns[*unknown])
                }
                _ => blast(formula, terms, top, &inputs),
            };
            self.bits.insert(top, bits);
            stack.pop();
        }
        self.bits[&term].clone()
    }
}

impl Default for BitBlaster {
    fn default() -> Self {
        Self::new()
    }
}

fn blast(formula: &mut Formula, terms: &TermPool, term: TermRef, inputs: &[Vec<Literal>]) -> Vec<Literal> {
    const BOTH: Direction = Direction::Both;
    let width = usize::from(terms.width(term));
    match (terms.kind(term), inputs) {
        (TermKind::Constant(value), _) => {
            (0..width).map(|bit| Literal::constant(value >> bit & 1 == 1)).collect()
        }
        (TermKind::Not(_), [a]) => a.iter().map(|&bit| !bit).collect(),
        (TermKind::And(_), all) => vec![formula.and(BOTH, &all.concat())],
        (TermKind::Or(_), all) => vec![formula.or(BOTH, &all.concat())],
        (TermKind::BitAnd(..), [a, b]) => bitwise(a, b, |x, y| formula.and(BOTH, &[x, y])),
        (TermKind::BitOr(..), [a, b]) => bitwise(a, b, |x, y| formula.or(BOTH, &[x, y])),
        (TermKind::BitXor(..), [a, b]) => bitwise(a, b, |x, y| formula.xor(x, y)),
        (TermKind::Add(..), [a, b]) => add(formula, a, b, Literal::FALSE).0,
        (TermKind::Subtract(..), [a, b]) => subtract(formula, a, b).0,
        (TermKind::Multiply(..), [a, b]) => multiply(formula, a, b),
        (TermKind::Divide(..), [a, b]) => divide(formula, a, b).0,
        (TermKind::Remainder(..), [a, b]) => divide(formula, a, b).1,
        (TermKind::ShiftLeft(..), [a, b]) => shift(formula, a, b, Shift::Left),
        (TermKind::ShiftRight(..), [a, b]) => shift(formula, a, b, Shift::Right),
        (TermKind::Equal(..), [a, b]) => vec![equal(formula, a, b)],
        (TermKind::Less(..), [a, b]) => vec![!subtract(formula, a, b).1],
        (TermKind::SignedLess(..), [a, b]) => {
            let flip = |bits: &[Literal]| -> Vec<Literal> {
                let mut bits = bits.to_vec();
                if let Some(sign) = bits.last_mut() {
                    *sign = !*sign;
                }
                bits
            };
            vec![!subtract(formula, &flip(a), &flip(b)).1]
        }
        (TermKind::IfThenElse(..), [c, a, b]) => bitwise(a, b, |x, y| formula.select(c[0], x, y)),
        (TermKind::Resize(_), [a]) => {
            (0..width).map(|bit| a.get(bit).copied().unwrap_or(Literal::FALSE)).collect()
        }
        (TermKind::Extract(_, low), [a]) => {
            (0..width).map(|bit| a.get(bit + usize::from(*low)).copied().unwrap_or(Literal::FALSE)).collect()
        }
        (kind, _) => unreachable!("operator {kind:?} with {} operands", inputs.len()),
    }
}

fn bitwise(a: &[Literal], b: &[Literal], mut gate: impl FnMut(Literal, Literal) -> Literal) -> Vec<Literal> {
    a.iter().zip(b).map(|(&x, &y)| gate(x, y)).collect()
}

/// Equality of two bit vectors.
pub fn equal(formula: &mut Formula, a: &[Literal], b: &[Literal]) -> Literal {
    let same: Vec<Literal> = a.iter().zip(b).map(|(&x, &y)| !formula.xor(x, y)).collect();
    formula.and(Direction::Both, &same)
}

/// Unsigned `a <= b`.
pub fn at_most(formula: &mut Formula, a: &[Literal], b: &[Literal]) -> Literal {
    subtract(formula, b, a).1
}

/// Sum and carry out.
pub fn add(formula: &mut Formula, a: &[Literal], b: &[Literal], carry: Literal) -> (Vec<Literal>, Literal) {
    let mut carry = carry;
    let mut sum = Vec::with_capacity(a.len());
    for (&x, &y) in a.iter().zip(b) {
        let half = formula.xor(x, y);
        sum.push(formula.xor(half, carry));
        carry = formula.majority(x, y, carry);
    }
    (sum, carry)
}

/// Difference, and whether `a >= b`.
fn subtract(formula: &mut Formula, a: &[Literal], b: &[Literal]) -> (Vec<Literal>, Literal) {
    let complement: Vec<Literal> = b.iter().map(|&bit| !bit).collect();
    add(formula, a, &complement, Literal::TRUE)
}

fn multiply(formula: &mut Formula, a: &[Literal], b: &[Literal]) -> Vec<Literal> {
    let mut sum = vec![Literal::FALSE; a.len()];
    for (at, &bit) in b.iter().enumerate() {
        if bit == Literal::FALSE {
            continue;
        }
        let row: Vec<Literal> = (0..a.len())
            .map(|i| if i < at { Literal::FALSE } else { formula.and(Direction::Both, &[a[i - at], bit]) })
            .collect();
        sum = add(formula, &sum, &row, Literal::FALSE).0;
    }
    sum
}

/// Quotient and remainder by restoring division; by zero: all ones, and the dividend.
fn divide(formula: &mut Formula, a: &[Literal], b: &[Literal]) -> (Vec<Literal>, Vec<Literal>) {
    let width = a.len();
    if let Some(at) = power_of_two(b) {
        let (low, high) = a.split_at(at);
        let fill = |bits: &[Literal]| {
            bits.iter().copied().chain(std::iter::repeat(Literal::FALSE)).take(width).collect()
        };
        return (fill(high), fill(low));
    }
    // One bit wider, so that shifting the remainder never loses a bit.
    let mut divisor = b.to_vec();
    divisor.push(Literal::FALSE);
    let mut remainder = vec![Literal::FALSE; width + 1];
    let mut quotient = vec![Literal::FALSE; width];
    for at in (0..width).rev() {
        remainder.rotate_right(1);
        remainder[0] = a[at];
        let (difference, fits) = subtract(formula, &remainder, &divisor);
        quotient[at] = fits;
        remainder = bitwise(&difference, &remainder, |x, y| formula.select(fits, x, y));
    }
    remainder.truncate(width);
    (quotient, remainder)
}

/// The only bit that is set, where all are known.
fn power_of_two(bits: &[Literal]) -> Option<usize> {
    let set = bits.iter().position(|&bit| bit == Literal::TRUE)?;
    bits.iter().enumerate().all(|(at, &bit)| at == set || bit == Literal::FALSE).then_some(set)
}

#[derive(Clone, Copy)]
enum Shift {
    Left,
    Right,
}

fn shift(formula: &mut Formula, a: &[Literal], amount: &[Literal], direction: Shift) -> Vec<Literal> {
    let width = a.len();
    let mut bits = a.to_vec();
    let mut overflow = Vec::new();
    for (stage, &by) in amount.iter().enumerate() {
        let distance = 1usize.checked_shl(u32::try_from(stage).unwrap_or(u32::MAX)).unwrap_or(usize::MAX);
        if distance >= width {
            overflow.push(by);
            continue;
        }
        let moved: Vec<Literal> = (0..width)
            .map(|i| match direction {
                Shift::Left => i.checked_sub(distance).map_or(Literal::FALSE, |from| bits[from]),
                Shift::Right => bits.get(i + distance).copied().unwrap_or(Literal::FALSE),
            })
            .collect();
        bits = bitwise(&moved, &bits, |x, y| formula.select(by, x, y));
    }
    let too_far = formula.or(Direction::Both, &overflow);
    bits.iter().map(|&bit| formula.and(Direction::Both, &[bit, !too_far])).collect()
}
