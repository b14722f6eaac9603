//! Terms on a path: choices that the path has made already.
//!
//! A flag that a loop sets (`done`), an index that it counts down until then, a sum that it adds to: after some rounds each is
//! a choice between as many values as there were ways to get there. Whoever reads it in the next round knows which way that
//! was, so it is one value again, often a constant.
//!
//! Sound: [`TermPool::known_where`] changes a term only by replacing terms of width 1 that are conjuncts of the path's guard,
//! or their negations, by what they are wherever the guard holds. So the result has the term's value in every execution in
//! which the path is taken. Registers are read for what happens on the path that reads them, and what they hold is taken over
//! where paths join only in executions that came this way; in all others it has no influence on anything. What no longer
//! occurs in an address or a value was a choice that the guard makes: a dependency through it is one of control.
//!
//! Needs: nothing. Values are what they were; that a dependency is no longer there only allows more executions.

use super::{TermKind, TermPool, TermRef};
use crate::work::{self, Work};
use fencepost_dsl::kernel::program::BinaryOp;
use rustc_hash::FxHashMap;

/// Terms that are looked at in one; what is below stays as it is.
const TERMS_MAX: usize = 1024;

/// Constants and choices between them past which an operation is not done on each of them.
const CHOICES_MAX: usize = 129;

/// What a path has decided, and the terms that have been looked at.
struct Path {
    facts: Vec<TermRef>,
    /// Terms that equal a constant.
    values: FxHashMap<TermRef, TermRef>,
    known: FxHashMap<TermRef, TermRef>,
    /// How many may still be looked at; counted on the way down, so that it bounds the depth, too.
    left: usize,
}

impl TermPool {
    /// A term as it is wherever `live` holds: without the choices that `live` makes.
    pub fn known_where(&mut self, live: TermRef, term: TermRef) -> TermRef {
        if live == Self::TRUE || !self.has_choice(term) {
            return term;
        }
        let facts = self.conjuncts(live).to_vec();
        let mut values = FxHashMap::default();
        for &fact in &facts {
            if let TermKind::Equal(a, b) = *self.kind(fact)
                && self.constant_value(b).is_some()
            {
                values.insert(a, b);
            }
        }
        work::count(Work::Term, 1 + facts.len() / 8);
        self.on_path(term, &mut Path { facts, values, known: FxHashMap::default(), left: TERMS_MAX })
    }

    /// Whether a term is a choice between a few constants.
    pub(super) fn is_choice_of_constants(&self, term: TermRef) -> bool {
        let mut open = vec![term];
        for _ in 0..CHOICES_MAX {
            let Some(next) = open.pop() else { return true };
            match *self.kind(next) {
                TermKind::Constant(_) => {}
                TermKind::IfThenElse(_, then, otherwise) => open.extend([then, otherwise]),
                _ => return false,
            }
        }
        open.is_empty()
    }

    /// A condition that two paths were split by: a conjunction that one has and the other denies.
    pub fn split_by(&mut self, a: TermRef, b: TermRef) -> Option<TermRef> {
        let denied = |terms: &Self, path: TermRef, other: TermRef| {
            let facts = terms.conjuncts(path);
            terms.conjuncts(other).iter().find_map(|&conjunct| match *terms.kind(conjunct) {
                TermKind::Not(inner) if matches!(terms.kind(inner), TermKind::And(_)) => {
                    let all = terms.conjuncts(inner);
                    all.iter().all(|member| facts.binary_search(member).is_ok()).then_some(inner)
                }
                _ => None,
            })
        };
        denied(self, a, b).or_else(|| denied(self, b, a).map(|condition| self.not(condition)))
    }

    /// Whether there may be something to decide in a term.
    fn has_choice(&self, term: TermRef) -> bool {
        self.width(term) == 1 && self.constant_value(term).is_none()
            || !matches!(self.kind(term), TermKind::Constant(_) | TermKind::Unknown(_))
    }

    /// What the path says of a term of width 1.
    fn decided(&self, term: TermRef, path: &Path) -> Option<bool> {
        if path.facts.binary_search(&term).is_ok() {
            return Some(true);
        }
        let is_denied = match *self.kind(term) {
            TermKind::Not(inner) => path.facts.binary_search(&inner).is_ok(),
            TermKind::Equal(a, b) => {
                path.values.get(&a).is_some_and(|&value| value != b && self.constant_value(b).is_some())
            }
            _ => false,
        };
        let negation = self.known.get(&super::Term { width: 1, kind: TermKind::Not(term) });
        let is_negated = negation.is_some_and(|not| path.facts.binary_search(not).is_ok());
        (is_denied || is_negated).then_some(false)
    }

    fn on_path(&mut self, term: TermRef, path: &mut Path) -> TermRef {
        if !self.has_choice(term) {
            return term;
        }
        if let Some(&known) = path.known.get(&term) {
            return known;
        }
        let Some(left) = path.left.checked_sub(1) else { return term };
        path.left = left;
        work::count(Work::Term, 1);
        if self.width(term) == 1
            && let Some(value) = self.decided(term, path)
        {
            return Self::boolean(value);
        }
        let now = match *self.kind(term) {
            TermKind::IfThenElse(condition, then, otherwise) => {
                let condition = self.on_path(condition, path);
                match self.constant_value(condition) {
                    Some(1) => self.on_path(then, path),
                    Some(_) => self.on_path(otherwise, path),
                    None => {
                        let (then, otherwise) = (self.on_path(then, path), self.on_path(otherwise, path));
                        self.if_then_else(condition, then, otherwise)
                    }
                }
            }
            _ => {
                let operands = self.operands(term);
                let new: Vec<TermRef> = operands.iter().map(|&operand| self.on_path(operand, path)).collect();
                if new == operands { term } else { self.rebuilt(term, &new) }
            }
        };
        path.known.insert(term, now);
        now
    }

    /// A term with other operands.
    fn rebuilt(&mut self, term: TermRef, operands: &[TermRef]) -> TermRef {
        let width = self.width(term);
        let binary = match (self.kind(term), operands) {
            (TermKind::And(_), _) => return self.and_all(operands.iter().copied()),
            (TermKind::Or(_), _) => return self.or_all(operands.iter().copied()),
            (TermKind::Not(_), &[a]) => return self.not(a),
            (TermKind::Resize(_), &[a]) => return self.resize(a, width),
            (&TermKind::Extract(_, low), &[a]) => return self.extract(a, low, width),
            (TermKind::SignedLess(..), &[a, b]) => return self.signed_less(a, b),
            (TermKind::BitAnd(..), _) => BinaryOp::And,
            (TermKind::BitOr(..), _) => BinaryOp::Or,
            (TermKind::BitXor(..), _) => BinaryOp::Xor,
            (TermKind::Add(..), _) => BinaryOp::Add,
            (TermKind::Subtract(..), _) => BinaryOp::Subtract,
            (TermKind::Multiply(..), _) => BinaryOp::Multiply,
            (TermKind::Divide(..), _) => BinaryOp::Divide,
            (TermKind::Remainder(..), _) => BinaryOp::Remainder,
            (TermKind::ShiftLeft(..), _) => BinaryOp::ShiftLeft,
            (TermKind::ShiftRight(..), _) => BinaryOp::ShiftRight,
            (TermKind::Equal(..), _) => BinaryOp::Equal,
            (TermKind::Less(..), _) => BinaryOp::Less,
            _ => return term,
        };
        match *operands {
            [a, b] => self.binary(binary, a, b),
            _ => term,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{SiteId, UnknownKind};
    use fencepost_dsl::index::Id as _;

    struct Fixture {
        pool: TermPool,
        /// Of width 1.
        conditions: Vec<TermRef>,
        word: TermRef,
    }

    impl Fixture {
        fn new() -> Self {
            let mut pool = TermPool::new();
            let kind = UnknownKind::Uncomputed(SiteId(0));
            let conditions = (0..3).map(|_| pool.fresh(1, kind.clone()).1).collect();
            let word = pool.fresh(8, kind).1;
            Self { pool, conditions, word }
        }

        /// What a term is where the conditions and the word have these values.
        fn value(&self, term: TermRef, conditions: u128, word: u128) -> u128 {
            let operands: Vec<u128> =
                self.pool.operands(term).iter().map(|&o| self.value(o, conditions, word)).collect();
            self.pool.apply(term, &operands, |unknown| match unknown.index() {
                index @ 0..3 => conditions >> index & 1,
                _ => word,
            })
        }
    }

    #[test]
    fn a_path_decides_choices() {
        let Fixture { mut pool, conditions, word } = Fixture::new();
        let (a, b) = (conditions[0], conditions[1]);
        let [zero, one, two] = [0, 1, 2].map(|value| pool.constant(value, 8));
        let inner = pool.if_then_else(b, one, two);
        let choice = pool.if_then_else(a, zero, inner);
        let (not_a, not_b) = (pool.not(a), pool.not(b));
        assert_eq!(pool.known_where(a, choice), zero);
        assert_eq!(pool.known_where(not_a, choice), inner);
        let neither = pool.and(not_a, not_b);
        let sum = pool.binary(BinaryOp::Add, choice, word);
        let expected = pool.binary(BinaryOp::Add, two, word);
        assert_eq!(pool.known_where(neither, sum), expected);
        assert_eq!(pool.known_where(TermPool::TRUE, sum), sum);
        // Another value than the one that the path has found.
        let (is_one, is_two) = (pool.equal(word, one), pool.equal(word, two));
        let by_word = pool.if_then_else(is_two, zero, word);
        assert_eq!(pool.known_where(is_one, by_word), word);
    }

    #[test]
    fn paths_are_told_apart_by_what_split_them() {
        let Fixture { mut pool, conditions, .. } = Fixture::new();
        let (a, b, c) = (conditions[0], conditions[1], conditions[2]);
        let both = pool.and(a, b);
        let not = pool.not(both);
        let (then, otherwise) = (pool.and(both, c), pool.and(not, c));
        assert_eq!(pool.split_by(then, otherwise), Some(both));
        assert_eq!(pool.split_by(otherwise, then), Some(not));
        assert_eq!(pool.split_by(a, c), None);
    }

    #[test]
    fn nothing_changes_where_the_path_is_taken() {
        let mut state = 7_u64;
        let mut below = move |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let (mut n_simpler, mut n_taken) = (0, 0);
        for _ in 0..2_000 {
            let mut fixture = Fixture::new();
            let Fixture { pool, conditions, word } = &mut fixture;
            let mut bits = conditions.clone();
            let mut words = vec![*word, pool.constant(0, 8), pool.constant(1, 8), pool.constant(200, 8)];
            for _ in 0..14 {
                let [x, y] = [below(words.len()), below(words.len())].map(|at| words[at]);
                let [p, q] = [below(bits.len()), below(bits.len())].map(|at| bits[at]);
                match below(9) {
                    0 | 1 => words.push(pool.if_then_else(p, x, y)),
                    2 => words.push(pool.binary(BinaryOp::Add, x, y)),
                    3 => words.push(pool.binary(BinaryOp::Remainder, x, y)),
                    4 => bits.push(pool.equal(x, y)),
                    5 => bits.push(pool.less(x, y)),
                    6 => bits.push(pool.and(p, q)),
                    7 => bits.push(pool.or(p, q)),
                    _ => bits.push(pool.not(p)),
                }
            }
            let (path, term) = (bits[below(bits.len())], words[words.len() - 1]);
            let also = bits[below(bits.len())];
            let path = pool.and(path, also);
            let known = pool.known_where(path, term);
            n_simpler += usize::from(known != term);
            for conditions in 0..8 {
                for word in [0, 1, 2, 56, 199, 200, 255] {
                    if fixture.value(path, conditions, word) == 1 {
                        n_taken += 1;
                        assert_eq!(
                            fixture.value(known, conditions, word),
                            fixture.value(term, conditions, word)
                        );
                    }
                }
            }
        }
        assert!(n_simpler > 100 && n_taken > 10_000, "{n_simpler} simpler, {n_taken} paths taken");
    }
}
