//! What the model's axioms say of words that count, pair by pair.

use super::{Counter, Update};
use crate::bits::{BitMatrix, EventSet};
use crate::event::EventId;
use crate::relation::algebra::Values;
use crate::relation::base::Basis;
use crate::relation::{MayMust, MayMustSet};
use fencepost_dsl::cat::memory_model::{
    AxiomKind, BaseRelation, MemoryModel, RelationKind, TermId, TermKind as ModelKind,
};

/// Where a base relation's pair makes a term's.
struct Covers<'a> {
    model: &'a MemoryModel,
    values: &'a Values<MayMustSet, MayMust>,
    n: usize,
}

impl Covers<'_> {
    /// Pairs that `term` has whenever `base` does and both events happen.
    fn of(&self, term: TermId, base: BaseRelation) -> BitMatrix {
        let ModelKind::Relation(kind) = &self.model.terms[term].kind else { return BitMatrix::empty(self.n) };
        let more = match *kind {
            RelationKind::Base(own) if own == base => return BitMatrix::full(self.n),
            RelationKind::Union(a, b) => self.of(a, base).union(&self.of(b, base)),
            RelationKind::Intersection(a, b) => self.of(a, base).intersection(&self.of(b, base)),
            RelationKind::Optional(inner)
            | RelationKind::TransitiveClosure(inner)
            | RelationKind::ReflexiveTransitiveClosure(inner) => self.of(inner, base),
            RelationKind::Sequence(a, b) => match (self.identity(a), self.identity(b)) {
                (Some(from), _) => self.of(b, base).intersection(&BitMatrix::product(&from, &self.all())),
                (_, Some(to)) => self.of(a, base).intersection(&BitMatrix::product(&self.all(), &to)),
                _ => BitMatrix::empty(self.n),
            },
            _ => BitMatrix::empty(self.n),
        };
        more.union(&self.values.relation(term).must)
    }

    fn identity(&self, term: TermId) -> Option<EventSet> {
        match self.model.terms[term].kind {
            ModelKind::Relation(RelationKind::Identity(set)) => Some(self.values.set(set).must.clone()),
            _ => None,
        }
    }

    fn all(&self) -> EventSet {
        EventSet::full(self.n)
    }
}

/// An axiom that makes what is read of a word coherent.
pub(super) struct Coherent {
    pub(super) must: BitMatrix,
    pub(super) rf: BitMatrix,
    pub(super) co: BitMatrix,
    pub(super) fr: BitMatrix,
}

/// A term that has all pairs of a chain's ends.
pub(super) struct Chain {
    pub(super) term: TermId,
    first: BitMatrix,
    update: BitMatrix,
    next: BitMatrix,
}

impl Chain {
    /// Whether it has a step from each update of a word to a read.
    pub(super) fn leads(&self, counter: &Counter, to: EventId) -> bool {
        crate::work::count(crate::work::Work::Pair, counter.updates.len());
        let has = |from: EventId| self.first.contains(from, to) && self.next.contains(from, to);
        counter.updates.iter().all(|update| has(update.write))
    }

    /// Whether it has all steps from update to update of a word.
    pub(super) fn is_of(&self, counter: &Counter) -> bool {
        let through = |update: &Update| {
            self.update.contains(update.read, update.write) && self.leads(counter, update.read)
        };
        counter.updates.iter().all(through)
    }
}

/// What the model's axioms say, as far as it matters here.
pub(super) struct Grounds {
    /// Pairs of writes that are ordered one way or the other.
    total: BitMatrix,
    /// Per axiom: read-modify-writes, from their reads to what must not be between, and from there to their writes.
    atomic: Vec<[BitMatrix; 3]>,
    coherent: Vec<Coherent>,
    pub(super) chains: Vec<Chain>,
}

impl Grounds {
    pub(super) fn new(basis: &Basis, model: &MemoryModel, values: &Values<MayMustSet, MayMust>) -> Self {
        let n = basis.coexist.universe();
        let covers = Covers { model, values, n };
        let mut grounds =
            Self { total: BitMatrix::empty(n), atomic: Vec::new(), coherent: Vec::new(), chains: Vec::new() };
        for axiom in &model.axioms {
            let ModelKind::Relation(kind) = &model.terms[axiom.term].kind else { continue };
            match (axiom.kind, kind) {
                (AxiomKind::Empty, &RelationKind::Difference(related, order)) => {
                    let mut pairs = values.relation(related).must.clone();
                    if grounds.is_either_order(&covers, order, &mut pairs) {
                        grounds.total = grounds.total.union(&pairs);
                    }
                }
                (AxiomKind::Empty, &RelationKind::Intersection(a, b)) => {
                    grounds.atomic.extend(atomicity(&covers, a, b).or_else(|| atomicity(&covers, b, a)));
                }
                (AxiomKind::Acyclic, _) => grounds.coherent.push(Coherent {
                    must: values.relation(axiom.term).must.clone(),
                    rf: covers.of(axiom.term, BaseRelation::ReadsFrom),
                    co: covers.of(axiom.term, BaseRelation::Coherence),
                    fr: covers.of(axiom.term, BaseRelation::FromReads),
                }),
                _ => {}
            }
        }
        let terms = model.terms.ids().filter(|&term| values.get(term).is_some());
        grounds.chains = terms.filter_map(|term| chain(&covers, term)).collect();
        grounds
    }

    /// Whether a term is coherence in either direction; pairs that it may have for other reasons are taken out.
    fn is_either_order(&self, covers: &Covers<'_>, term: TermId, pairs: &mut BitMatrix) -> bool {
        let ModelKind::Relation(kind) = &covers.model.terms[term].kind else { return false };
        match *kind {
            RelationKind::Base(BaseRelation::Coherence) => true,
            RelationKind::Inverse(inner) => self.is_either_order(covers, inner, pairs),
            RelationKind::Union(a, b) => {
                self.is_either_order(covers, a, pairs) && self.is_either_order(covers, b, pairs)
            }
            _ => {
                let other = &covers.values.relation(term).may;
                *pairs = pairs.difference(&other.union(&other.inverse()));
                true
            }
        }
    }

    /// An axiom by which a word's updates come one after the other, if the others that this needs are there, too. `others`
    /// are the word's other writes, but for the initial one: updates come one after the other between those.
    pub(super) fn of(&self, basis: &Basis, updates: &[Update], others: &[EventId]) -> Option<&Coherent> {
        let writes = || updates.iter().map(|update| update.write).chain(others.iter().copied());
        let pairs = || updates.iter().flat_map(|update| writes().map(move |other| (update, other)));
        let apart = || pairs().filter(|(update, other)| update.write != *other);
        crate::work::count(
            crate::work::Work::Pair,
            (updates.len() + others.len()) * (updates.len() + others.len()),
        );
        let is_ordered = |a, b| self.total.contains(a, b) || self.total.contains(b, a);
        let is_total = writes().all(|a| writes().all(|b| a == b || is_ordered(a, b)));
        let is_atomic = |[whole, from, to]: &[BitMatrix; 3]| {
            updates.iter().all(|update| {
                whole.contains(update.read, update.write)
                    && basis.implies.contains(update.read, update.write)
                    && basis.implies.contains(update.write, update.read)
            }) && apart().all(|(a, b)| from.contains(a.read, b) && to.contains(b, a.write))
        };
        if !is_total || !self.atomic.iter().any(is_atomic) {
            return None;
        }
        self.coherent.iter().find(|axiom| {
            updates.iter().all(|update| axiom.must.contains(update.read, update.write))
                && pairs().all(|(a, b)| axiom.rf.contains(b, a.read))
                && apart().all(|(a, b)| axiom.co.contains(a.write, b) && axiom.co.contains(b, a.write))
        })
    }
}

/// `rmw & (f ; c)`.
fn atomicity(covers: &Covers<'_>, whole: TermId, between: TermId) -> Option<[BitMatrix; 3]> {
    let ModelKind::Relation(RelationKind::Sequence(from, to)) = covers.model.terms[between].kind else {
        return None;
    };
    Some([
        covers.values.relation(whole).must.clone(),
        covers.of(from, BaseRelation::FromReads),
        covers.of(to, BaseRelation::Coherence),
    ])
}

/// `x ; (y ; z)*`.
fn chain(covers: &Covers<'_>, term: TermId) -> Option<Chain> {
    let kind = |term: TermId| match covers.model.terms[term].kind {
        ModelKind::Relation(ref kind) => Some(kind),
        ModelKind::Set(_) => None,
    };
    let &RelationKind::Sequence(first, rest) = kind(term)? else { return None };
    let &RelationKind::ReflexiveTransitiveClosure(step) = kind(rest)? else { return None };
    let &RelationKind::Sequence(update, next) = kind(step)? else { return None };
    let are_within = [
        (first, BaseRelation::ReadsFrom),
        (update, BaseRelation::ReadModifyWrite),
        (next, BaseRelation::ReadsFrom),
    ];
    if !are_within.iter().all(|&(term, base)| is_within(covers.model, term, base)) {
        return None;
    }
    Some(Chain {
        term,
        first: covers.of(first, BaseRelation::ReadsFrom),
        update: covers.values.relation(update).must.clone(),
        next: covers.of(next, BaseRelation::ReadsFrom),
    })
}

/// Whether a term has no pairs but those of a base relation, by its shape.
fn is_within(model: &MemoryModel, term: TermId, base: BaseRelation) -> bool {
    match model.terms[term].kind {
        ModelKind::Relation(RelationKind::Base(own)) => own == base,
        ModelKind::Relation(RelationKind::Intersection(a, b)) => {
            is_within(model, a, base) || is_within(model, b, base)
        }
        ModelKind::Relation(RelationKind::Union(a, b)) => {
            is_within(model, a, base) && is_within(model, b, base)
        }
        _ => false,
    }
}
