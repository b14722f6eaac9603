//! Bounds that follow from the axioms.
//!
//! Sound: every removal from `may` is of a pair that no execution satisfying the axioms has, every addition to `must` of
//! one that each such execution has whenever both events happen. The steps only use the meaning of the operators and of
//! `acyclic`, `irreflexive` and `empty`; which axioms there are is the model's business.
//!
//! Needs: nothing. That coherence and the order of fences are orders is so under any model: the encoder states it, and the re-check
//! asks for it.

use super::algebra::Values;
use super::base::Basis;
use super::{MayMust, MayMustSet, certain_closure};
use crate::bits::BitMatrix;
use crate::event::EventId;
use fencepost_dsl::cat::memory_model::{
    AxiomKind, BaseRelation, MemoryModel, RelationKind, TermId, TermKind,
};
use rustc_hash::FxHashMap;

/// Rounds of tightening and re-evaluation at most; later ones rarely find anything.
pub const ROUNDS_MAX: usize = 4;

/// One round. Returns whether a base relation's bounds changed.
pub fn tighten(basis: &mut Basis, model: &MemoryModel, values: &Values<MayMustSet, MayMust>) -> bool {
    let sources = basis.bounds(BaseRelation::ReadsFrom).may.inverse();
    let mut round = Round { basis, model, values, sources, inverses: FxHashMap::default(), changed: false };
    for axiom in &model.axioms {
        match (axiom.kind, &model.terms[axiom.term].kind) {
            (_, TermKind::Set(_)) => {}
            (AxiomKind::Empty, TermKind::Relation(_)) => {
                for (a, b) in values.relation(axiom.term).may.pairs().collect::<Vec<_>>() {
                    round.forbid(axiom.term, a, b);
                }
            }
            (AxiomKind::Irreflexive, TermKind::Relation(RelationKind::Sequence(left, right))) => {
                let (left, right) = (*left, *right);
                round.forbid_against(left, &values.relation(right).must);
                round.forbid_against(right, &values.relation(left).must);
            }
            (AxiomKind::Irreflexive, TermKind::Relation(_)) => {}
            (AxiomKind::Acyclic, TermKind::Relation(_)) if values.relation(axiom.term).may.is_acyclic() => {}
            (AxiomKind::Acyclic, TermKind::Relation(_)) => {
                let certain = certain_closure(round.basis, &values.relation(axiom.term).must);
                round.forbid_against(axiom.term, &certain);
            }
        }
    }
    round.settle_reads();
    round.order_writes();
    round.changed
}

struct Round<'a> {
    basis: &'a mut Basis,
    model: &'a MemoryModel,
    values: &'a Values<MayMustSet, MayMust>,
    /// Candidate sources of each read, at the start of the round.
    sources: BitMatrix,
    /// Of the second parts of sequences, what may be in them, backwards.
    inverses: FxHashMap<TermId, BitMatrix>,
    changed: bool,
}

impl Round<'_> {
    /// No pair of `term` may have its converse in `certain` (nor be reflexive, as far as `certain` is).
    fn forbid_against(&mut self, term: TermId, certain: &BitMatrix) {
        let may = &self.values.relation(term).may;
        let both = may.intersection(&certain.inverse());
        for (a, b) in both.pairs().collect::<Vec<_>>() {
            self.forbid(term, a, b);
        }
    }

    /// `(a, b)` is in `term` in no execution in which both events happen.
    fn forbid(&mut self, term: TermId, a: EventId, b: EventId) {
        let TermKind::Relation(kind) = &self.model.terms[term].kind else { return };
        if !self.values.relation(term).may.contains(a, b) {
            return;
        }
        match *kind {
            RelationKind::Base(base) => self.forbid_base(base, a, b),
            RelationKind::Union(left, right) => {
                self.forbid(left, a, b);
                self.forbid(right, a, b);
            }
            RelationKind::Intersection(left, right) => {
                if self.values.relation(left).must.contains(a, b) {
                    self.forbid(right, a, b);
                } else if self.values.relation(right).must.contains(a, b) {
                    self.forbid(left, a, b);
                }
            }
            RelationKind::Difference(left, right) => {
                if !self.values.relation(right).may.contains(a, b) {
                    self.forbid(left, a, b);
                } else if self.values.relation(left).must.contains(a, b) {
                    self.require(right, a, b);
                }
            }
            RelationKind::Inverse(inner) => self.forbid(inner, b, a),
            RelationKind::Optional(inner)
            | RelationKind::TransitiveClosure(inner)
            | RelationKind::ReflexiveTransitiveClosure(inner) => self.forbid(inner, a, b),
            RelationKind::Sequence(left, right) => self.forbid_sequence(left, right, a, b),
            RelationKind::Empty
            | RelationKind::Recursive(_)
            | RelationKind::Complement(_)
            | RelationKind::Product(..)
            | RelationKind::Identity(_) => {}
        }
    }

    /// No event leads from `a` by `left` to `b` by `right`: where one step is certain, the other is impossible. The end that
    /// only the certain step has must happen whenever those of the other do.
    fn forbid_sequence(&mut self, left: TermId, right: TermId, a: EventId, b: EventId) {
        let (first, second) = (self.values.relation(left), self.values.relation(right));
        let back = self.inverses.entry(right).or_insert_with(|| second.may.inverse());
        for middle in first.may.between(a, back, b).collect::<Vec<_>>() {
            let implies = &self.basis.implies;
            if second.must.contains(middle, b) && (implies.contains(a, b) || implies.contains(middle, b)) {
                self.forbid(left, a, middle);
            } else if first.must.contains(a, middle)
                && (implies.contains(b, a) || implies.contains(middle, a))
            {
                self.forbid(right, middle, b);
            }
        }
    }

    /// `(a, b)` is in `term` in every execution in which both events happen.
    fn require(&mut self, term: TermId, a: EventId, b: EventId) {
        let TermKind::Relation(kind) = &self.model.terms[term].kind else { return };
        if self.values.relation(term).must.contains(a, b) {
            return;
        }
        match *kind {
            RelationKind::Base(base @ (BaseRelation::Coherence | BaseRelation::FenceSc)) => {
                let bounds = self.basis.bounds_mut(base);
                if bounds.may.contains(a, b) && !bounds.must.contains(a, b) {
                    bounds.must.insert(a, b);
                    self.changed = true;
                }
            }
            RelationKind::Union(left, right) => {
                if !self.values.relation(left).may.contains(a, b) {
                    self.require(right, a, b);
                } else if !self.values.relation(right).may.contains(a, b) {
                    self.require(left, a, b);
                }
            }
            RelationKind::Intersection(left, right) => {
                self.require(left, a, b);
                self.require(right, a, b);
            }
            RelationKind::Inverse(inner) => self.require(inner, b, a),
            RelationKind::Base(_)
            | RelationKind::Empty
            | RelationKind::Recursive(_)
            | RelationKind::Difference(..)
            | RelationKind::Complement(_)
            | RelationKind::Sequence(..)
            | RelationKind::Optional(_)
            | RelationKind::TransitiveClosure(_)
            | RelationKind::ReflexiveTransitiveClosure(_)
            | RelationKind::Product(..)
            | RelationKind::Identity(_) => {}
        }
    }

    fn forbid_base(&mut self, base: BaseRelation, a: EventId, b: EventId) {
        match base {
            BaseRelation::ReadsFrom | BaseRelation::Coherence | BaseRelation::FenceSc => {
                let bounds = self.basis.bounds_mut(base);
                // What is certain stays so: a certain pair that is not possible says that its events exclude each other.
                if bounds.may.contains(a, b) {
                    bounds.may.remove(a, b);
                    self.changed = true;
                }
            }
            BaseRelation::FromReads => self.forbid_overwritten_sources(a, b),
            _ => {}
        }
    }

    /// The read may not miss `write`: sources that are certainly overwritten by it are out.
    ///
    /// Asks for complete overlap of all three, so that the common byte of `fr` is there; and that `write` happens
    /// whenever the read or the source does.
    fn forbid_overwritten_sources(&mut self, read: EventId, write: EventId) {
        if !self.basis.bounds(BaseRelation::CompleteOverlap).must.contains(read, write) {
            return;
        }
        let location = &self.basis.bounds(BaseRelation::SameLocation).must;
        let co = &self.basis.bounds(BaseRelation::Coherence).must;
        let always = self.basis.implies.contains(read, write);
        let overwritten: Vec<EventId> = self
            .sources
            .successors(read)
            .filter(|&source| {
                source != write
                    && (always || self.basis.implies.contains(source, write))
                    && location.contains(source, write)
                    && co.contains(source, write)
            })
            .collect();
        for source in overwritten {
            self.forbid_base(BaseRelation::ReadsFrom, source, read);
        }
    }

    /// A read that happens takes every piece from some write; with one candidate left, from that.
    fn settle_reads(&mut self) {
        let sources = self.basis.bounds(BaseRelation::ReadsFrom).may.inverse();
        let bounds = self.basis.bounds_mut(BaseRelation::ReadsFrom);
        for read in sources.domain().iter() {
            let mut candidates = sources.successors(read);
            if let (Some(only), None) = (candidates.next(), candidates.next())
                && !bounds.must.contains(only, read)
            {
                bounds.must.insert(only, read);
                self.changed = true;
            }
        }
    }

    /// Coherence is antisymmetric and transitive.
    fn order_writes(&mut self) {
        let closed = certain_closure(self.basis, &self.basis.bounds(BaseRelation::Coherence).must);
        let location = self.basis.bounds(BaseRelation::SameLocation).must.clone();
        for base in [BaseRelation::Coherence, BaseRelation::FenceSc] {
            let bounds = self.basis.bounds_mut(base);
            let mut must = bounds.must.clone();
            if base == BaseRelation::Coherence {
                must = must.union(&closed.intersection(&location));
            }
            let may = bounds.may.union(&must).difference(&must.inverse());
            if must != bounds.must || may != bounds.may {
                bounds.may = may;
                bounds.must = must;
                self.changed = true;
            }
        }
    }
}
