//! One pair of one term as a literal, on demand.
//!
//! Invariant (upward): a literal asked for with [`Direction::Up`] is forced true only if the pair is really in the
//! relation, both events executed included. Invariant (downward): if a literal asked for with [`Direction::Down`] is
//! true, the pair is really in the relation. [`Direction::Both`] gives both.
//!
//! Sound (polarity): an axiom forbids a pair, so it must be told of every pair that is there (`Up`); a goal claims a
//! pair, so it must not be told of one that is not (`Down`). Negation flips. With the treatment off everything is asked
//! for in both directions.

use super::{EncodeError, Encoder};
use crate::cnf::{Direction, Literal};
use crate::event::EventId;
use crate::relation::algebra::Value;
use fencepost_dsl::cat::memory_model::{RelationKind, SetKind, TermId, TermKind};

impl Encoder<'_> {
    /// Whether `event` happens and is in the set `term`.
    pub(super) fn member(
        &mut self,
        term: TermId,
        event: EventId,
        direction: Direction,
    ) -> Result<Literal, EncodeError> {
        let bounds = self.problem.table.values.set(term);
        if !bounds.may.contains(event) {
            return Ok(Literal::FALSE);
        }
        if bounds.must.contains(event) {
            return Ok(self.executed[event]);
        }
        let TermKind::Set(kind) = &self.problem.model.terms[term].kind else {
            unreachable!("the resolver checked that this term is a set")
        };
        match *kind {
            SetKind::Base(_) | SetKind::Empty => unreachable!("base sets are known exactly"),
            SetKind::Union(a, b) => {
                let parts = [self.member(a, event, direction)?, self.member(b, event, direction)?];
                Ok(self.formula.or(direction, &parts))
            }
            SetKind::Intersection(a, b) => {
                let parts = [self.member(a, event, direction)?, self.member(b, event, direction)?];
                Ok(self.formula.and(direction, &parts))
            }
            SetKind::Difference(a, b) => {
                let inside = self.member(a, event, direction)?;
                let outside = !self.member(b, event, direction.flipped())?;
                Ok(self.formula.and(direction, &[inside, outside]))
            }
            SetKind::Complement(a) => {
                let outside = !self.member(a, event, direction.flipped())?;
                Ok(self.formula.and(direction, &[self.executed[event], outside]))
            }
            SetKind::Domain(a) => {
                let others: Vec<EventId> =
                    self.problem.table.values.relation(a).may.successors(event).collect();
                let mut ways = Vec::new();
                for other in others {
                    ways.push(self.edge(a, event, other, direction)?);
                }
                Ok(self.formula.or(direction, &ways))
            }
            SetKind::Range(a) => {
                let mut ways = Vec::new();
                for other in self.problem.graph.events.ids() {
                    ways.push(self.edge(a, other, event, direction)?);
                }
                Ok(self.formula.or(direction, &ways))
            }
        }
    }

    /// Whether both events happen and the pair is in the relation `term`.
    pub(super) fn edge(
        &mut self,
        term: TermId,
        a: EventId,
        b: EventId,
        direction: Direction,
    ) -> Result<Literal, EncodeError> {
        let bounds = self.problem.table.values.relation(term);
        if !bounds.may.contains(a, b) {
            return Ok(Literal::FALSE);
        }
        if bounds.must.contains(a, b) {
            return Ok(self.both_executed(a, b));
        }
        let direction = if self.treatment.polarity { direction } else { Direction::Both };
        if let Some(&literal) = self.edges.get(&(term, a, b, direction)) {
            return Ok(literal);
        }
        let literal = self.open_edge(term, a, b, direction)?;
        self.edges.insert((term, a, b, direction), literal);
        Ok(literal)
    }

    fn open_edge(
        &mut self,
        term: TermId,
        a: EventId,
        b: EventId,
        direction: Direction,
    ) -> Result<Literal, EncodeError> {
        let TermKind::Relation(kind) = &self.problem.model.terms[term].kind else {
            unreachable!("the resolver checked that this term is a relation")
        };
        match *kind {
            RelationKind::Base(base) => self.base_edge(base, a, b),
            RelationKind::Empty => Ok(Literal::FALSE),
            RelationKind::Recursive(id) => {
                if direction.is_down() {
                    return Err(EncodeError::RecursionTooLarge { term });
                }
                // A fresh literal first, so that the body may come back to it; then "body implies literal".
                let literal = self.formula.fresh();
                self.edges.insert((term, a, b, direction), literal);
                let body = self.edge(self.problem.model.recursive[id], a, b, direction)?;
                self.formula.imply(body, literal);
                Ok(literal)
            }
            RelationKind::Union(left, right) => {
                let parts = [self.edge(left, a, b, direction)?, self.edge(right, a, b, direction)?];
                Ok(self.formula.or(direction, &parts))
            }
            RelationKind::Intersection(left, right) => {
                let parts = [self.edge(left, a, b, direction)?, self.edge(right, a, b, direction)?];
                Ok(self.formula.and(direction, &parts))
            }
            RelationKind::Difference(left, right) => {
                let inside = self.edge(left, a, b, direction)?;
                let outside = !self.edge(right, a, b, direction.flipped())?;
                Ok(self.formula.and(direction, &[inside, outside]))
            }
            RelationKind::Complement(inner) => {
                let outside = !self.edge(inner, a, b, direction.flipped())?;
                let both = self.both_executed(a, b);
                Ok(self.formula.and(direction, &[both, outside]))
            }
            RelationKind::Sequence(left, right) => {
                let chains = &self.problem.table.basis.counted.chains;
                if chains.get(&term).is_some_and(|pairs| pairs.contains(a, b)) {
                    return self.counted_edge(a, b);
                }
                self.sequence_edge(left, right, a, b, direction)
            }
            RelationKind::Inverse(inner) => self.edge(inner, b, a, direction),
            RelationKind::Optional(inner) => self.edge(inner, a, b, direction),
            RelationKind::TransitiveClosure(inner) => self.closure_edge(term, inner, a, b, direction),
            // Not reflexive: those pairs are certain.
            RelationKind::ReflexiveTransitiveClosure(inner) => {
                self.closure_edge(term, inner, a, b, direction)
            }
            RelationKind::Product(from, to) => {
                let parts = [self.member(from, a, direction)?, self.member(to, b, direction)?];
                Ok(self.formula.and(direction, &parts))
            }
            RelationKind::Identity(set) => self.member(set, a, direction),
        }
    }

    fn sequence_edge(
        &mut self,
        left: TermId,
        right: TermId,
        a: EventId,
        b: EventId,
        direction: Direction,
    ) -> Result<Literal, EncodeError> {
        let values = &self.problem.table.values;
        let back = self.inverses.entry(right).or_insert_with(|| values.relation(right).may.inverse());
        let middles: Vec<EventId> = values.relation(left).may.between(a, back, b).collect();
        let mut ways = Vec::new();
        for middle in middles {
            let step = self.edge(left, a, middle, direction)?;
            if step == Literal::FALSE {
                continue;
            }
            let rest = self.edge(right, middle, b, direction)?;
            ways.push(self.formula.and(direction, &[step, rest]));
        }
        Ok(self.formula.or(direction, &ways))
    }

    /// States that a term has no value here: used by goals over sets and relations alike.
    pub(super) fn is_relation(&self, term: TermId) -> bool {
        matches!(self.problem.table.values.get(term), Some(Value::Relation(_)))
    }
}
