//! What holds of an execution because it is one that threads make who run in turns, without looking at its closures.
//!
//! Most axioms forbid cycles of things that come one after the other. If everything that a base relation says of such an
//! execution agrees with the order in which its events happened, so does what is composed of it, and there is no cycle. Of
//! each term it is worked out which way its pairs point, whether they share bytes, and between which events they are; from
//! that most axioms follow. Those that do not are left to be evaluated.
//!
//! Sound: what is said of base sets and relations is read off the execution's own (`ExactBasis`), pair by pair; each
//! operator says of its result only what follows from that of its operands. It is a proof about the very relations that
//! would be computed, for a thousandth of the work where a thousand threads meet at barriers.
//!
//! Needs: nothing. What the axioms are made of is looked at term by term.

use crate::bits::{BitMatrix, EventSet};
use crate::event::EventId;
use crate::relation::algebra::{Algebra, Value, evaluate_only};
use crate::relation::execution::ExactBasis;
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::{AxiomKind, BaseRelation, BaseSet, MemoryModel, TermId};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedMap;

/// Per axiom of a model, whether it surely holds of an execution whose events happened in this order; `None` if that is
/// none.
pub fn settled(model: &MemoryModel, basis: &ExactBasis, turns: &IndexVec<EventId, u32>) -> Option<Vec<bool>> {
    let mut in_order: Vec<EventId> = basis.executed.iter().collect();
    in_order.sort_unstable_by_key(|&event| turns[event]);
    if in_order.windows(2).any(|pair| turns[pair[0]] == turns[pair[1]]) {
        return None;
    }
    // One after the other, so that it shows what nothing comes between.
    let mut turns: IndexVec<EventId, u32> = turns.iter().map(|_| 0).collect();
    for (turn, &event) in (1..).zip(&in_order) {
        turns[event] = turn;
    }
    let algebra = Turns::new(basis, &turns);
    let roots: Vec<TermId> = model.axioms.iter().map(|axiom| axiom.term).collect();
    let values = evaluate_only(model, &algebra, &roots);
    let holds = |kind: AxiomKind, term: TermId| match (kind, values.get(term)) {
        (AxiomKind::Empty, Some(Value::Relation(relation))) => relation.ways == Ways::NONE,
        (AxiomKind::Empty, Some(Value::Set(set))) => set.upper.is_empty(),
        (AxiomKind::Irreflexive | AxiomKind::Acyclic, Some(Value::Relation(relation))) => {
            relation.ways.are_in(Ways::LATER)
        }
        _ => false,
    };
    Some(model.axioms.iter().map(|axiom| holds(axiom.kind, axiom.term)).collect())
}

/// Which ways pairs can point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ways {
    /// To what comes right after.
    next: bool,
    /// To what comes after something in between.
    later: bool,
    same: bool,
    earlier: bool,
}

impl Ways {
    const NONE: Self = Self { next: false, later: false, same: false, earlier: false };
    const ALL: Self = Self { next: true, later: true, same: true, earlier: true };
    const LATER: Self = Self { next: true, later: true, ..Self::NONE };
    const SAME: Self = Self { same: true, ..Self::NONE };

    fn are_in(self, other: Self) -> bool {
        self.without(other) == Self::NONE
    }
    fn or(self, other: Self) -> Self {
        Self {
            next: self.next || other.next,
            later: self.later || other.later,
            same: self.same || other.same,
            earlier: self.earlier || other.earlier,
        }
    }
    fn without(self, other: Self) -> Self {
        Self {
            next: self.next && !other.next,
            later: self.later && !other.later,
            same: self.same && !other.same,
            earlier: self.earlier && !other.earlier,
        }
    }
    fn and(self, other: Self) -> Self {
        self.without(Self::ALL.without(other))
    }
    fn is_forward(self) -> bool {
        self.next || self.later
    }
    /// Which ways pairs can point the other way round.
    fn inverse(self) -> Self {
        Self { next: self.earlier, later: self.earlier, earlier: self.is_forward(), ..self }
    }
    /// Of all pairs that point these ways, which ways all do the other way round.
    fn all_inverse(self) -> Self {
        Self { next: self.earlier, later: self.earlier, earlier: self.next && self.later, ..self }
    }
    fn then(self, other: Self) -> Self {
        if self == Self::NONE || other == Self::NONE {
            return Self::NONE;
        }
        if self.is_forward() && other.earlier || self.earlier && other.is_forward() {
            return Self::ALL;
        }
        Self {
            next: self.next && other.same || self.same && other.next,
            // Two steps come past something.
            later: self.later || other.later || self.is_forward() && other.is_forward(),
            same: self.same && other.same,
            earlier: self.earlier || other.earlier,
        }
    }
}

#[derive(Clone, PartialEq)]
struct Set {
    /// No event that is not among these is in it.
    upper: EventSet,
    /// Whether these are.
    is_exact: bool,
}

/// At one end of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct End {
    /// Nothing but accesses.
    accesses: bool,
    /// Nothing but writes.
    writes: bool,
}

impl End {
    const NOTHING: Self = Self { accesses: true, writes: true };
    const ANYTHING: Self = Self { accesses: false, writes: false };

    fn or(self, other: Self) -> Self {
        Self { accesses: self.accesses && other.accesses, writes: self.writes && other.writes }
    }
    fn and(self, other: Self) -> Self {
        Self { accesses: self.accesses || other.accesses, writes: self.writes || other.writes }
    }
}

/// What is known of a relation's pairs.
#[derive(Clone, Copy, PartialEq)]
struct Relation {
    ways: Ways,
    from: End,
    to: End,
    /// Accesses that it relates have a byte in common.
    overlaps: bool,
    /// They are of the same bytes.
    is_complete: bool,
    /// It has all pairs of different writes with a common byte that point these ways.
    has_writes: Ways,
    /// It has all pairs of accesses.
    has_accesses: bool,
    /// It has each event with itself.
    has_identity: bool,
}

impl Relation {
    const EMPTY: Self = Self {
        ways: Ways::NONE,
        from: End::NOTHING,
        to: End::NOTHING,
        overlaps: true,
        is_complete: true,
        has_writes: Ways::NONE,
        has_accesses: false,
        has_identity: false,
    };
    const ANY: Self = Self {
        ways: Ways::ALL,
        from: End::ANYTHING,
        to: End::ANYTHING,
        overlaps: false,
        is_complete: false,
        ..Self::EMPTY
    };

    /// What has no pair has nothing to be asked for.
    fn or_empty(self) -> Self {
        if self.ways == Ways::NONE { Self { has_identity: self.has_identity, ..Self::EMPTY } } else { self }
    }
    /// Whether pairs of accesses surely have a byte in common because the relation is of nothing else.
    fn is_of_overlaps(&self) -> bool {
        self.overlaps && self.from.accesses && self.to.accesses
    }
}

struct Turns<'a> {
    basis: &'a ExactBasis,
    turns: &'a IndexVec<EventId, u32>,
    bases: SortedMap<BaseRelation, Relation>,
}

impl<'a> Turns<'a> {
    fn new(basis: &'a ExactBasis, turns: &'a IndexVec<EventId, u32>) -> Self {
        let (accesses, writes) = (&basis.sets[&BaseSet::Memory], &basis.sets[&BaseSet::Write]);
        let end = |events: EventSet| End {
            accesses: events.difference(accesses).is_empty(),
            writes: events.difference(writes).is_empty(),
        };
        let (overlap, complete) =
            (&basis.relations[&BaseRelation::SameLocation], &basis.relations[&BaseRelation::CompleteOverlap]);
        let of = |base: BaseRelation, pairs: &BitMatrix| {
            let ways = ways(pairs, turns);
            let is_of_places = matches!(
                base,
                BaseRelation::SameLocation
                    | BaseRelation::SameVirtualLocation
                    | BaseRelation::CompleteOverlap
            );
            // What else points all ways is about threads, and tells nothing here.
            if ways == Ways::ALL && !is_of_places {
                return Relation::ANY;
            }
            let (from, to) = (end(pairs.domain()), end(pairs.range()));
            let has_ends = from.accesses && to.accesses;
            Relation {
                ways,
                from,
                to,
                overlaps: has_ends && pairs.difference(overlap).is_empty(),
                is_complete: has_ends && pairs.difference(complete).is_empty(),
                ..Relation::ANY
            }
            .or_empty()
        };
        let mut bases: SortedMap<BaseRelation, Relation> =
            basis.relations.iter().map(|(&base, pairs)| (base, of(base, pairs))).collect();
        let coherence = &basis.relations[&BaseRelation::Coherence];
        let of_writes = overlap.intersection(&BitMatrix::product(writes, writes));
        let unordered = of_writes.difference(coherence).difference(&coherence.inverse());
        let is_total = unordered.difference(&BitMatrix::identity(&basis.executed)).is_empty();
        if let Some(coherence) = bases.get_mut(&BaseRelation::Coherence)
            && is_total
            && coherence.ways.are_in(Ways::LATER)
        {
            coherence.has_writes = Ways::LATER;
        }
        if let Some(identity) = bases.get_mut(&BaseRelation::Identity) {
            // An access is of its own bytes.
            (identity.has_identity, identity.overlaps, identity.is_complete) = (true, true, true);
        }
        Self { basis, turns, bases }
    }

    fn executed(&self) -> &EventSet {
        &self.basis.executed
    }

    fn end(&self, set: &Set) -> End {
        let within = |base: BaseSet| set.upper.difference(&self.basis.sets[&base]).is_empty();
        End { accesses: within(BaseSet::Memory), writes: within(BaseSet::Write) }
    }

    fn has_all_accesses(&self, set: &Set) -> bool {
        set.is_exact && self.basis.sets[&BaseSet::Memory].difference(&set.upper).is_empty()
    }

    fn exact(upper: EventSet) -> Set {
        Set { upper, is_exact: true }
    }

    /// The events at one end of a relation.
    fn at_end(&self, relation: &Relation) -> Set {
        if relation.ways == Ways::NONE {
            return self.set_empty();
        }
        Set { upper: self.executed().clone(), is_exact: false }
    }
}

/// Which ways the pairs of a relation point.
fn ways(pairs: &BitMatrix, turns: &IndexVec<EventId, u32>) -> Ways {
    let mut ways = Ways::NONE;
    for (a, extremes) in (0..).map(EventId::from_index).zip(pairs.extremes(|event| turns[event])) {
        let Some((first, last)) = extremes else { continue };
        ways = ways.or(Ways {
            next: last == turns[a] + 1 || last > turns[a] && first <= turns[a] + 1,
            later: last > turns[a] + 1,
            same: pairs.contains(a, a),
            earlier: first < turns[a],
        });
        // What points either way is about threads or places; whether it is reflexive does not matter then.
        if ways.is_forward() && ways.earlier {
            return Ways::ALL;
        }
    }
    ways
}

impl Algebra for Turns<'_> {
    type Set = Set;
    type Relation = Relation;

    fn base_set(&self, base: BaseSet) -> Set {
        Self::exact(self.basis.sets[&base].clone())
    }
    fn set_empty(&self) -> Set {
        Self::exact(EventSet::empty(self.executed().universe()))
    }
    fn set_union(&self, a: &Set, b: &Set) -> Set {
        Set { upper: a.upper.union(&b.upper), is_exact: a.is_exact && b.is_exact }
    }
    fn set_intersection(&self, a: &Set, b: &Set) -> Set {
        let upper = a.upper.intersection(&b.upper);
        Set { is_exact: a.is_exact && b.is_exact || upper.is_empty(), upper }
    }
    fn set_difference(&self, a: &Set, b: &Set) -> Set {
        let upper = if b.is_exact { a.upper.difference(&b.upper) } else { a.upper.clone() };
        Set { is_exact: a.is_exact && b.is_exact || upper.is_empty(), upper }
    }
    fn set_complement(&self, a: &Set) -> Set {
        self.set_difference(&Self::exact(self.executed().clone()), a)
    }
    fn domain(&self, a: &Relation) -> Set {
        self.at_end(a)
    }
    fn range(&self, a: &Relation) -> Set {
        self.at_end(a)
    }

    fn base_relation(&self, base: BaseRelation) -> Relation {
        self.bases.get(&base).copied().unwrap_or(Relation::ANY)
    }
    fn empty(&self) -> Relation {
        Relation::EMPTY
    }
    fn union(&self, a: &Relation, b: &Relation) -> Relation {
        Relation {
            ways: a.ways.or(b.ways),
            from: a.from.or(b.from),
            to: a.to.or(b.to),
            overlaps: a.overlaps && b.overlaps,
            is_complete: a.is_complete && b.is_complete,
            has_writes: a.has_writes.or(b.has_writes),
            has_accesses: a.has_accesses || b.has_accesses,
            has_identity: a.has_identity || b.has_identity,
        }
    }
    fn intersection(&self, a: &Relation, b: &Relation) -> Relation {
        Relation {
            ways: a.ways.and(b.ways),
            from: a.from.and(b.from),
            to: a.to.and(b.to),
            overlaps: a.overlaps || b.overlaps,
            is_complete: a.is_complete || b.is_complete,
            has_writes: a.has_writes.and(b.has_writes),
            has_accesses: a.has_accesses && b.has_accesses,
            has_identity: a.has_identity && b.has_identity,
        }
        .or_empty()
    }
    fn difference(&self, a: &Relation, b: &Relation) -> Relation {
        let mut ways = a.ways;
        if b.has_identity {
            ways = ways.without(Ways::SAME);
        }
        if a.is_of_overlaps() && a.from.writes && a.to.writes {
            ways = ways.without(b.has_writes);
        }
        // Without any pair of accesses, whatever is said of those holds.
        let is_of_others = b.has_accesses;
        Relation {
            ways,
            overlaps: a.overlaps || is_of_others,
            is_complete: a.is_complete || is_of_others,
            has_writes: Ways::NONE,
            has_accesses: false,
            has_identity: false,
            ..*a
        }
        .or_empty()
    }
    fn complement(&self, _: &Relation) -> Relation {
        Relation::ANY
    }
    fn sequence(&self, a: &Relation, b: &Relation) -> Relation {
        let ways = a.ways.then(b.ways);
        let (a_is_test, b_is_test) = (a.ways.are_in(Ways::SAME), b.ways.are_in(Ways::SAME));
        // What is in between two accesses is one, too.
        let is_access = a.to.accesses || b.from.accesses;
        Relation {
            ways,
            from: if a_is_test { a.from.and(b.from) } else { a.from },
            to: if b_is_test { b.to.and(a.to) } else { b.to },
            overlaps: a_is_test && b.overlaps
                || b_is_test && a.overlaps
                || is_access && (a.overlaps && b.is_complete || a.is_complete && b.overlaps),
            is_complete: a_is_test && b.is_complete
                || b_is_test && a.is_complete
                || is_access && a.is_complete && b.is_complete,
            ..Relation::EMPTY
        }
        .or_empty()
    }
    fn inverse(&self, a: &Relation) -> Relation {
        Relation {
            ways: a.ways.inverse(),
            from: a.to,
            to: a.from,
            has_writes: a.has_writes.all_inverse(),
            ..*a
        }
    }
    fn reflexive(&self, a: &Relation) -> Relation {
        self.union(a, &self.base_relation(BaseRelation::Identity))
    }
    fn transitive_closure(&self, a: &Relation) -> Relation {
        let is_access = a.from.accesses || a.to.accesses;
        let is_complete = a.is_complete && is_access;
        Relation { ways: a.ways.then(a.ways).or(a.ways), overlaps: is_complete, is_complete, ..*a }.or_empty()
    }
    fn product(&self, a: &Set, b: &Set) -> Relation {
        if a.upper.is_empty() || b.upper.is_empty() {
            return Relation::EMPTY;
        }
        let turns = |set: &Set| {
            let turns = || set.upper.iter().map(|event| self.turns[event]);
            (turns().min().unwrap_or(0), turns().max().unwrap_or(u32::MAX))
        };
        let ((_, last), (first, _)) = (turns(a), turns(b));
        Relation {
            ways: if last < first { Ways::LATER } else { Ways::ALL },
            from: self.end(a),
            to: self.end(b),
            has_accesses: self.has_all_accesses(a) && self.has_all_accesses(b),
            ..Relation::ANY
        }
    }
    fn identity(&self, a: &Set) -> Relation {
        let end = self.end(a);
        let has_identity = a.is_exact && a.upper == *self.executed();
        Relation {
            ways: if a.upper.is_empty() { Ways::NONE } else { Ways::SAME },
            from: end,
            to: end,
            has_identity,
            ..Relation::EMPTY
        }
        .or_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{self, Model};
    use crate::relation::algebra::evaluate;
    use crate::witness::recheck::is_execution;

    /// Numbers that look random, the same ones each time.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % n
        }
        fn one_in(&mut self, n: u64) -> bool {
            self.below(n) == 0
        }
    }

    const N: usize = 7;

    fn pairs(holds: impl Fn(usize, usize) -> bool) -> BitMatrix {
        let all = (0..N).flat_map(|a| (0..N).map(move |b| (a, b)));
        let id = EventId::from_index;
        BitMatrix::from_pairs(N, all.filter(|&(a, b)| holds(a, b)).map(|(a, b)| (id(a), id(b))).collect())
    }

    fn random(numbers: &mut Numbers, one_in: u64, holds: impl Fn(usize, usize) -> bool) -> BitMatrix {
        let chosen: Vec<bool> = (0..N * N).map(|_| numbers.one_in(one_in)).collect();
        pairs(|a, b| chosen[a * N + b] && holds(a, b))
    }

    /// Events that are accesses of some bytes or something else, related at random, mostly from earlier to later.
    fn basis(numbers: &mut Numbers) -> ExactBasis {
        let executed = EventSet::full(N);
        // Nothing, a read or a write; which bytes, and through which mapping.
        let kinds: Vec<u64> = (0..N).map(|_| numbers.below(3)).collect();
        let bytes: Vec<(u64, u64)> = (0..N).map(|_| numbers.below(3)).map(|at| (at, at + 2)).collect();
        let mappings: Vec<bool> = (0..N).map(|_| numbers.one_in(5)).collect();
        let is_access = |a: usize| kinds[a] > 0;
        let overlap = |a: usize, b: usize| {
            is_access(a) && is_access(b) && bytes[a].0 < bytes[b].1 && bytes[b].0 < bytes[a].1
        };
        let mut sets = SortedMap::new();
        for &(base, _) in BaseSet::ALL {
            let is_rare = numbers.one_in(3);
            let members: Vec<bool> = (0..N).map(|_| !is_rare && numbers.one_in(2)).collect();
            let of = |a: usize| match base {
                BaseSet::All => true,
                BaseSet::Memory => is_access(a),
                BaseSet::Write => kinds[a] == 2,
                BaseSet::Read => kinds[a] == 1,
                _ => members[a],
            };
            sets.insert(base, EventSet::from_fn(N, |event| of(event.index())));
        }
        let mut relations = SortedMap::new();
        let is_wild = numbers.one_in(2);
        for &(base, _) in BaseRelation::ALL {
            let way = numbers.below(8);
            let forward = move |a: usize, b: usize| a < b || is_wild && way == 0 && a > b;
            let is_total = !numbers.one_in(4);
            let related = match base {
                BaseRelation::Identity => pairs(|a, b| a == b),
                BaseRelation::SameLocation => pairs(overlap),
                BaseRelation::SameVirtualLocation => {
                    pairs(|a, b| overlap(a, b) && mappings[a] == mappings[b])
                }
                BaseRelation::CompleteOverlap => pairs(|a, b| overlap(a, b) && bytes[a] == bytes[b]),
                BaseRelation::Coherence if is_total => {
                    pairs(|a, b| overlap(a, b) && kinds[a] == 2 && kinds[b] == 2 && forward(a, b))
                }
                BaseRelation::ReadsFrom => random(numbers, 2, |a, b| {
                    overlap(a, b) && kinds[a] == 2 && kinds[b] == 1 && forward(a, b)
                }),
                BaseRelation::ReadModifyWrite if is_total => {
                    random(numbers, 2, |a, b| overlap(a, b) && kinds[a] == 1 && kinds[b] == 2 && a + 1 == b)
                }
                _ if way == 1 => pairs(|_, _| true),
                _ if way == 2 => pairs(|_, _| false),
                _ => random(numbers, 3, forward),
            };
            relations.insert(base, related);
        }
        ExactBasis { executed, sets, relations }
    }

    /// Whether all that is said of a relation holds of its pairs.
    fn is_true(said: &Relation, pairs: &BitMatrix, basis: &ExactBasis) -> bool {
        let set = |base: BaseSet| &basis.sets[&base];
        let (accesses, writes) = (set(BaseSet::Memory), set(BaseSet::Write));
        let ends = [(said.from, pairs.domain()), (said.to, pairs.range())].iter().all(|(end, events)| {
            (!end.accesses || events.difference(accesses).is_empty())
                && (!end.writes || events.difference(writes).is_empty())
        });
        let way = |a: EventId, b: EventId| {
            let is_next = a.index() + 1 == b.index();
            Ways { next: is_next, later: a < b && !is_next, same: a == b, earlier: a > b }
        };
        let ways = pairs.pairs().all(|(a, b)| way(a, b).are_in(said.ways));
        let of_accesses = pairs.intersection(&BitMatrix::product(accesses, accesses));
        let within = |base: BaseRelation| of_accesses.difference(&basis.relations[&base]).is_empty();
        let all = BitMatrix::product(&basis.executed, &basis.executed);
        let has_identity =
            !said.has_identity || basis.executed.iter().all(|event| pairs.contains(event, event));
        let has_accesses =
            !said.has_accesses || BitMatrix::product(accesses, accesses).difference(pairs).is_empty();
        let of_writes =
            basis.relations[&BaseRelation::SameLocation].intersection(&BitMatrix::product(writes, writes));
        let is_there = |&(a, b): &(EventId, EventId)| a == b || pairs.contains(a, b);
        let has_writes =
            of_writes.pairs().filter(|&(a, b)| way(a, b).are_in(said.has_writes)).all(|pair| is_there(&pair));
        ends && ways
            && (!said.overlaps || within(BaseRelation::SameLocation))
            && (!said.is_complete || within(BaseRelation::CompleteOverlap))
            && has_identity
            && has_accesses
            && has_writes
            && pairs.difference(&all).is_empty()
    }

    #[test]
    fn what_is_said_of_terms_holds_of_them() {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let turns: IndexVec<EventId, u32> = (1..).take(N).collect();
        let (mut n_settled, mut n_broken) = (0, 0);
        for name in models::names() {
            let model = Model::shipped(name, &[]).expect("a shipped model loads").resolved;
            let axioms = model.axioms.iter().map(|axiom| axiom.term);
            let roots: Vec<TermId> = axioms.chain(model.flags.iter().map(|flag| flag.term)).collect();
            for _ in 0..300 {
                let basis = basis(&mut numbers);
                let said = evaluate(&model, &Turns::new(&basis, &turns), &roots);
                let exact = evaluate(&model, &basis, &roots);
                let only = evaluate_only(&model, &basis, &roots);
                for term in model.terms.ids() {
                    let wanted = exact.get(term).filter(|_| roots.contains(&term));
                    assert_eq!(only.get(term), wanted, "{name}: of roots, and of nothing else");
                    let holds = match (said.get(term), exact.get(term)) {
                        (Some(Value::Relation(said)), Some(Value::Relation(pairs))) => {
                            is_true(said, pairs, &basis)
                        }
                        (Some(Value::Set(said)), Some(Value::Set(events))) => {
                            events.difference(&said.upper).is_empty()
                                && (!said.is_exact || *events == said.upper)
                        }
                        (said, exact) => said.is_none() && exact.is_none(),
                    };
                    assert!(holds, "{name}: {:?}", model.terms[term]);
                }
                let settled = settled(&model, &basis, &turns).expect("the turns are an order");
                n_broken += usize::from(!is_execution(&model, &basis));
                for (axiom, _) in model.axioms.iter().zip(settled).filter(|(_, is_settled)| *is_settled) {
                    let only = MemoryModel { axioms: vec![axiom.clone()], ..model.clone() };
                    assert!(is_execution(&only, &basis), "{name}: {}", axiom.name);
                    n_settled += 1;
                }
            }
        }
        assert!(n_settled > 1_500 && n_broken > 300, "{n_settled} axioms settled, {n_broken} bases broken");
    }

    #[test]
    fn events_that_share_a_turn_are_in_no_order() {
        let model = Model::shipped("ptx", &[]).expect("a shipped model loads").resolved;
        let basis = basis(&mut Numbers(1));
        assert_eq!(settled(&model, &basis, &IndexVec::repeat(1, N)), None);
    }
}
