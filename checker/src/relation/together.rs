//! Which events may happen in one execution, and which always do together: by unit propagation over their guards.

use crate::bits::{BitMatrix, EventSet};
use crate::event::{EventGraph, TermKind, TermPool, TermRef};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// Which events exclude or imply one another, by unit propagation over guards and constraints.
pub(super) struct Togetherness {
    /// Pairs that may happen in one execution.
    pub(super) coexist: BitMatrix,
    /// The second happens in every execution in which the first does.
    pub(super) implies: BitMatrix,
}

impl Togetherness {
    pub(super) fn new(graph: &EventGraph) -> Self {
        let n = graph.events.len();
        let propagation = Propagation::new(graph);
        let mut guards: BTreeMap<TermRef, EventSet> = BTreeMap::new();
        for (id, event) in graph.events.iter_enumerated() {
            guards.entry(event.guard).or_insert_with(|| EventSet::empty(n)).insert(id);
        }
        let facts: BTreeMap<TermRef, Option<BTreeSet<TermRef>>> =
            guards.keys().map(|&guard| (guard, propagation.closure(&graph.terms, guard))).collect();
        let (mut coexist, mut implies) = (BitMatrix::empty(n), BitMatrix::empty(n));
        for (guard, events) in &guards {
            let Some(known) = &facts[guard] else { continue };
            let (mut together, mut implied) = (EventSet::empty(n), EventSet::empty(n));
            for (other, others) in &guards {
                let Some(other_known) = &facts[other] else { continue };
                let clash = |a: &BTreeSet<TermRef>, b: &BTreeSet<TermRef>| {
                    a.iter().any(|&fact| match *graph.terms.kind(fact) {
                        TermKind::Not(inner) => b.contains(&inner),
                        _ => false,
                    })
                };
                if !clash(known, other_known) && !clash(other_known, known) {
                    together.extend(others);
                }
                if graph.terms.conjuncts(*other).iter().all(|conjunct| known.contains(conjunct)) {
                    implied.extend(others);
                }
            }
            coexist.fill(events, &together);
            implies.fill(events, &implied);
        }
        Self { coexist, implies }
    }
}

/// Constraints as clauses over terms.
struct Propagation {
    clauses: Vec<Vec<TermRef>>,
    /// Clauses in which the negation of a term occurs.
    watching: FxHashMap<TermRef, Vec<usize>>,
    /// Clauses with a single member.
    facts: Vec<TermRef>,
    /// The negation of each term that has one in the pool.
    negations: FxHashMap<TermRef, TermRef>,
}

impl Propagation {
    fn new(graph: &EventGraph) -> Self {
        let mut this = Self {
            clauses: Vec::new(),
            watching: FxHashMap::default(),
            facts: Vec::new(),
            negations: graph.terms.negations(),
        };
        for constraint in &graph.constraints {
            for &conjunct in graph.terms.conjuncts(constraint.term) {
                match graph.terms.kind(conjunct) {
                    TermKind::Or(members) => this.add(graph, members.to_vec()),
                    _ => this.facts.push(conjunct),
                }
            }
        }
        this
    }
    fn add(&mut self, graph: &EventGraph, members: Vec<TermRef>) {
        let index = self.clauses.len();
        for &member in &members {
            // `¬x` and `x` are both indexed under `x`: a new fact about `x` of either sign may falsify a member.
            let key = match *graph.terms.kind(member) {
                TermKind::Not(inner) => inner,
                _ => member,
            };
            self.watching.entry(key).or_default().push(index);
        }
        self.clauses.push(members);
    }
    /// Everything that follows from `guard` by unit propagation; `None` if a contradiction does.
    fn closure(&self, terms: &TermPool, guard: TermRef) -> Option<BTreeSet<TermRef>> {
        if guard == TermPool::FALSE {
            return None;
        }
        let mut known: BTreeSet<TermRef> = BTreeSet::new();
        let mut queue: Vec<TermRef> = terms.conjuncts(guard).to_vec();
        queue.extend(&self.facts);
        while let Some(fact) = queue.pop() {
            if fact == TermPool::FALSE {
                return None;
            }
            if fact == TermPool::TRUE || !known.insert(fact) {
                continue;
            }
            queue.extend(terms.conjuncts(fact).iter().filter(|&&c| c != fact));
            let key = match *terms.kind(fact) {
                TermKind::Not(inner) => inner,
                _ => fact,
            };
            for &clause in self.watching.get(&key).into_iter().flatten() {
                queue.extend(self.unit(terms, &self.clauses[clause], &known)?);
            }
        }
        Some(known)
    }

    /// The last member that can still be true, if all others are known false; `None` if all are.
    #[expect(clippy::option_option, reason = "contradiction, nothing new and a new fact are three outcomes")]
    fn unit(
        &self,
        terms: &TermPool,
        clause: &[TermRef],
        known: &BTreeSet<TermRef>,
    ) -> Option<Option<TermRef>> {
        let mut open = clause.iter().copied().filter(|&member| !self.is_false(terms, member, known));
        match (open.next(), open.next()) {
            (None, _) => None,
            (Some(only), None) => Some(Some(only)),
            (Some(_), Some(_)) => Some(None),
        }
    }

    fn is_false(&self, terms: &TermPool, member: TermRef, known: &BTreeSet<TermRef>) -> bool {
        match terms.kind(member) {
            TermKind::Not(inner) => {
                known.contains(inner) || terms.conjuncts(*inner).iter().all(|c| known.contains(c))
            }
            TermKind::And(members) => members.iter().any(|&m| self.is_false(terms, m, known)),
            _ => self.negations.get(&member).is_some_and(|negation| known.contains(negation)),
        }
    }
}
