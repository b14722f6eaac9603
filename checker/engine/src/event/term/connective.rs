//! Conjunction and disjunction: flat, sorted, without duplicates, complements or members that say nothing.

use super::{TermKind, TermPool, TermRef};
use crate::work::{self, Work};

/// How deep in one another disjunctions are looked into: as often as loops are unwound before something else ends it.
const DISJUNCTIONS_MAX: u32 = 8;

/// Counts what it takes to walk over the members of a connective, where they are more than a few: a term that is built
/// counts as one step anyway.
fn count(n_members: usize) {
    const FEW: usize = 64;
    if n_members > FEW {
        work::count(Work::Member, n_members);
    }
}

impl TermPool {
    /// Conjunction of width 1.
    pub fn and(&mut self, a: TermRef, b: TermRef) -> TermRef {
        self.and_all([a, b])
    }
    /// Disjunction of width 1.
    pub fn or(&mut self, a: TermRef, b: TermRef) -> TermRef {
        self.or_all([a, b])
    }
    /// `a` implies `b`.
    pub fn implies(&mut self, a: TermRef, b: TermRef) -> TermRef {
        let not_a = self.not(a);
        self.or(not_a, b)
    }
    /// Conjunction of all.
    pub fn and_all(&mut self, operands: impl IntoIterator<Item = TermRef>) -> TermRef {
        let mut flat = Vec::new();
        for operand in operands {
            match self.kind(operand) {
                TermKind::And(inner) => flat.extend_from_slice(inner),
                TermKind::Constant(1) => {}
                TermKind::Constant(_) => return Self::FALSE,
                _ => flat.push(operand),
            }
        }
        count(flat.len());
        flat.sort_unstable();
        flat.dedup();
        if self.has_complement(&flat) || self.denies_itself(&flat) || self.has_two_values(&flat) {
            return Self::FALSE;
        }
        // A disjunction with a member among the other conjuncts says nothing; members whose complement is there go.
        let mut changed = false;
        let mut kept = Vec::with_capacity(flat.len());
        for &a in &flat {
            if let TermKind::Or(members) = self.kind(a) {
                if members.iter().any(|m| flat.binary_search(m).is_ok()) {
                    changed = true;
                    continue;
                }
                let members = members.clone();
                let mut rest = Vec::new();
                for &m in &members {
                    let not_m = self.not(m);
                    if flat.binary_search(&not_m).is_err() {
                        rest.push(m);
                    }
                }
                if rest.len() < members.len() {
                    changed = true;
                    let reduced = self.or_all(rest);
                    kept.push(reduced);
                    continue;
                }
            }
            kept.push(a);
        }
        if changed {
            return self.and_all(kept);
        }
        match flat.as_slice() {
            [] => Self::TRUE,
            [only] => *only,
            _ => self.intern(1, TermKind::And(flat.into())),
        }
    }
    /// Disjunction of all.
    pub fn or_all(&mut self, operands: impl IntoIterator<Item = TermRef>) -> TermRef {
        let mut flat = Vec::new();
        for operand in operands {
            match self.kind(operand) {
                TermKind::Or(inner) => flat.extend_from_slice(inner),
                TermKind::Constant(0) => {}
                TermKind::Constant(_) => return Self::TRUE,
                _ => flat.push(operand),
            }
        }
        count(flat.len());
        flat.sort_unstable();
        flat.dedup();
        if self.has_complement(&flat) {
            return Self::TRUE;
        }
        if let Some(joined) = self.factor_disjunction(&flat) {
            return joined;
        }
        match flat.as_slice() {
            [] => Self::FALSE,
            [only] => *only,
            _ => self.intern(1, TermKind::Or(flat.into())),
        }
    }

    /// `g∧c ∨ g∧¬c` is `g`, and in general common conjuncts come to the front: what joining two branches needs.
    fn factor_disjunction(&mut self, flat: &[TermRef]) -> Option<TermRef> {
        if flat.len() < 2 {
            return None;
        }
        let mut common: Vec<TermRef> = self.conjuncts(flat[0]).to_vec();
        for &other in &flat[1..] {
            let others = self.conjuncts(other);
            count(common.len() + others.len());
            common.retain(|c| others.binary_search(c).is_ok());
        }
        if common.is_empty() {
            return None;
        }
        let mut rests = Vec::new();
        for &member in flat {
            count(self.conjuncts(member).len());
            let rest: Vec<TermRef> =
                self.conjuncts(member).iter().copied().filter(|c| common.binary_search(c).is_err()).collect();
            rests.push(self.and_all(rest));
        }
        let rest = self.or_all(rests);
        common.push(rest);
        Some(self.and_all(common))
    }

    /// Whether a term and its negation are among sorted terms.
    fn has_complement(&self, sorted: &[TermRef]) -> bool {
        sorted
            .iter()
            .any(|&a| matches!(*self.kind(a), TermKind::Not(inner) if sorted.binary_search(&inner).is_ok()))
    }

    /// Whether sorted conjuncts contain those of a conjunction whose negation is one of them: `p ∧ q ∧ ¬(p ∧ q)`.
    fn denies_itself(&self, sorted: &[TermRef]) -> bool {
        sorted.iter().any(|&a| match *self.kind(a) {
            TermKind::Not(inner) => match self.kind(inner) {
                TermKind::And(denied) => denied.iter().all(|member| sorted.binary_search(member).is_ok()),
                _ => false,
            },
            _ => false,
        })
    }

    /// Whether a conjunction asks one term to equal two different constants.
    fn has_two_values(&self, conjuncts: &[TermRef]) -> bool {
        let mut required: Vec<(TermRef, u128)> = conjuncts
            .iter()
            .filter_map(|&conjunct| match *self.kind(conjunct) {
                TermKind::Equal(a, b) => Some((a, self.constant_value(b)?)),
                _ => None,
            })
            .collect();
        required.sort_unstable();
        required.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1)
    }

    /// The conjuncts of a term of width 1 (itself, if it is no conjunction; none, if it is 1).
    pub fn conjuncts(&self, term: TermRef) -> &[TermRef] {
        match self.kind(term) {
            TermKind::And(conjuncts) => conjuncts,
            TermKind::Constant(1) => &[],
            _ => std::slice::from_ref(&self.own[term]),
        }
    }

    /// Whether every conjunct of `b` is a conjunct of `a`: a cheap, sufficient test for "a implies b".
    pub fn implies_syntactically(&self, a: TermRef, b: TermRef) -> bool {
        if a == Self::FALSE {
            return true;
        }
        let have = self.conjuncts(a);
        self.conjuncts(b).iter().all(|c| have.binary_search(c).is_ok())
    }

    /// Whether `guard` visibly implies `union`: each of its conjuncts, or a member of a conjunct that is a disjunction, and so
    /// on. Where a loop was left after one of several rounds, each round is a disjunction inside of the one before.
    pub fn entails(&self, guard: TermRef, union: TermRef) -> bool {
        self.entails_in(guard, union, DISJUNCTIONS_MAX)
    }

    fn entails_in(&self, guard: TermRef, union: TermRef, n_left: u32) -> bool {
        self.implies_syntactically(guard, union)
            || self.conjuncts(union).iter().all(|&conjunct| match self.kind(conjunct) {
                TermKind::Or(members) => {
                    self.implies_syntactically(guard, conjunct)
                        || n_left > 0
                            && members.iter().any(|&member| self.entails_in(guard, member, n_left - 1))
                }
                _ => self.implies_syntactically(guard, conjunct),
            })
    }

    /// Whether two guards visibly exclude each other.
    pub fn excludes_syntactically(&mut self, a: TermRef, b: TermRef) -> bool {
        self.and(a, b) == Self::FALSE
    }
}
