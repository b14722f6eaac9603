//! Why a model forbids an execution: choices that lead to it, so that no execution with all of them has to be looked at.
//!
//! Sound: what is explained is a pair or the lack of one, by choices from which it follows whatever else is chosen: a pair of a
//! union by that of one side, of a sequence by those of two steps, and so on. The lack of a pair is explained by all choices
//! that its term can depend on, unless the graph says that there is none.
//!
//! Needs: nothing. Any axiom is explained so.

use super::state::State;
use crate::bits::Relation;
use crate::model::Value;
use fencepost_dsl::cat::memory_model::{
    AxiomKind, BaseRelation, MemoryModel, RelationKind, SetKind, TermId, TermKind,
};
use std::collections::{BTreeSet, HashMap};

pub struct Explaining<'a> {
    pub model: &'a MemoryModel,
    pub state: &'a State<'a>,
    pub values: &'a HashMap<TermId, Value>,
    /// The truth of the state's literals.
    pub assignment: &'a [bool],
    /// What follows from.
    pub choices: BTreeSet<i32>,
}

impl Explaining<'_> {
    fn note(&mut self, literal: i32) {
        let is_true = self.assignment[literal.unsigned_abs() as usize] == (literal > 0);
        self.choices.insert(if is_true { literal } else { -literal });
    }

    fn relation(&self, term: TermId) -> Relation {
        match self.values.get(&term) {
            Some(Value::Relation(relation)) => relation.clone(),
            _ => Relation::empty(self.state.graph.events.len()),
        }
    }

    fn has(&self, term: TermId, a: usize, b: usize) -> bool {
        match self.values.get(&term) {
            Some(Value::Relation(relation)) => relation.has(a, b),
            Some(Value::Set(set)) => a == b && set.has(a),
            None => false,
        }
    }

    /// Why an axiom does not hold.
    pub fn axiom(&mut self, kind: AxiomKind, term: TermId) {
        let relation = match self.values.get(&term) {
            Some(Value::Set(set)) => {
                if let Some(member) = set.members().next() {
                    self.member(term, member);
                }
                return;
            }
            _ => self.relation(term),
        };
        match kind {
            AxiomKind::Empty => {
                let first = relation.pairs().next();
                first.into_iter().for_each(|(a, b)| self.pair(term, a, b));
            }
            AxiomKind::Irreflexive => {
                relation.circle().into_iter().for_each(|event| self.pair(term, event, event));
            }
            AxiomKind::Acyclic => {
                // The shortest way round is soonest found from each event in turn.
                let mut ways: Vec<Vec<usize>> =
                    (0..relation.n()).filter_map(|event| way(&relation, event, event)).collect();
                ways.sort_by_key(Vec::len);
                if let Some(way) = ways.first() {
                    way.windows(2).for_each(|step| self.pair(term, step[0], step[1]));
                }
            }
        }
    }

    fn happens(&mut self, event: usize) {
        self.note(self.state.happens(event));
    }

    fn address(&mut self, event: usize) {
        self.state.address(event).to_vec().into_iter().for_each(|bit| self.note(bit));
    }

    /// Why a pair is there.
    fn pair(&mut self, term: TermId, a: usize, b: usize) {
        let TermKind::Relation(ref kind) = self.model.terms[term].kind else { return self.member(term, a) };
        match *kind {
            RelationKind::Base(base) => self.base(base, a, b),
            RelationKind::Empty => {}
            // How it grew is not kept.
            RelationKind::Recursive(_) => self.all_of(term),
            RelationKind::Union(x, y) => {
                let side = if self.has(x, a, b) { x } else { y };
                self.pair(side, a, b);
            }
            RelationKind::Intersection(x, y) => {
                self.pair(x, a, b);
                self.pair(y, a, b);
            }
            RelationKind::Difference(x, y) => {
                self.pair(x, a, b);
                self.lack(y, a, b);
            }
            RelationKind::Complement(x) => {
                self.happens(a);
                self.happens(b);
                self.lack(x, a, b);
            }
            RelationKind::Sequence(x, y) => {
                let via = self.relation(x).row(a).members().find(|&via| self.has(y, via, b));
                if let Some(via) = via {
                    self.pair(x, a, via);
                    self.pair(y, via, b);
                }
            }
            RelationKind::Inverse(x) => self.pair(x, b, a),
            RelationKind::Optional(x) => self.same_or(a, b, |this| this.pair(x, a, b)),
            RelationKind::TransitiveClosure(x) => self.along(x, a, b),
            RelationKind::ReflexiveTransitiveClosure(x) => self.same_or(a, b, |this| this.along(x, a, b)),
            RelationKind::Product(x, y) => {
                self.member(x, a);
                self.member(y, b);
            }
            RelationKind::Identity(x) => self.member(x, a),
        }
    }

    fn same_or(&mut self, a: usize, b: usize, other: impl FnOnce(&mut Self)) {
        if a == b { self.happens(a) } else { other(self) }
    }

    fn along(&mut self, term: TermId, a: usize, b: usize) {
        if let Some(way) = way(&self.relation(term), a, b) {
            way.windows(2).for_each(|step| self.pair(term, step[0], step[1]));
        }
    }

    /// Why an event is in a set.
    fn member(&mut self, term: TermId, event: usize) {
        let TermKind::Set(ref kind) = self.model.terms[term].kind else { return };
        match *kind {
            SetKind::Base(_) => self.happens(event),
            SetKind::Empty => {}
            SetKind::Union(x, y) => {
                let side = if self.has(x, event, event) { x } else { y };
                self.member(side, event);
            }
            SetKind::Intersection(x, y) => {
                self.member(x, event);
                self.member(y, event);
            }
            SetKind::Difference(x, y) => {
                self.member(x, event);
                self.lack(y, event, event);
            }
            SetKind::Complement(x) => {
                self.happens(event);
                self.lack(x, event, event);
            }
            SetKind::Domain(x) => {
                let to = self.relation(x).row(event).members().next();
                to.into_iter().for_each(|to| self.pair(x, event, to));
            }
            SetKind::Range(x) => {
                let from = (0..self.state.graph.events.len()).find(|&from| self.has(x, from, event));
                from.into_iter().for_each(|from| self.pair(x, from, event));
            }
        }
    }

    fn base(&mut self, base: BaseRelation, a: usize, b: usize) {
        self.happens(a);
        self.happens(b);
        match base {
            BaseRelation::ReadsFrom => {
                let mut own = self.state.sources.range((b, 0)..(b + 1, 0)).flat_map(|(_, found)| found);
                let source = own.find(|own| own.0 == a && self.assignment[own.2.unsigned_abs() as usize]);
                source.map(|own| own.2).into_iter().for_each(|literal| self.note(literal));
            }
            BaseRelation::Coherence | BaseRelation::FenceSc => self.order(base, a, b),
            BaseRelation::FromReads => {
                // Of the read's sources one is coherence-before the write.
                let chosen: Vec<(usize, i32)> = self
                    .state
                    .sources
                    .range((a, 0)..(a + 1, 0))
                    .flat_map(|(_, found)| found)
                    .filter(|own| self.assignment[own.2.unsigned_abs() as usize])
                    .map(|own| (own.0, own.2))
                    .collect();
                for (source, literal) in chosen {
                    self.note(literal);
                    if let Some(&before) = self.state.coherence.get(&(source, b)) {
                        self.note(before);
                    }
                }
                self.address(a);
                self.address(b);
            }
            BaseRelation::SameLocation
            | BaseRelation::SameVirtualLocation
            | BaseRelation::CompleteOverlap => {
                self.address(a);
                self.address(b);
            }
            _ => self.conditions(base, a, b),
        }
    }

    /// The choice that puts a pair into an order, or keeps it out, if there is one.
    fn order(&mut self, base: BaseRelation, a: usize, b: usize) {
        let order = match base {
            BaseRelation::Coherence => &self.state.coherence,
            _ => &self.state.fence_order,
        };
        if let Some(&literal) = order.get(&(a, b)) {
            self.note(literal);
        }
    }

    /// The conditions under which pairs of a relation count, if it has any.
    fn conditions(&mut self, base: BaseRelation, a: usize, b: usize) {
        let edges = self.state.graph.edges.get(base.name()).map_or(&[][..], Vec::as_slice);
        let of_pair: Vec<usize> =
            edges.iter().filter(|edge| (edge.0, edge.1) == (a, b)).map(|edge| edge.2).collect();
        of_pair.into_iter().for_each(|term| self.note(self.state.truth(term)));
    }

    /// Why a pair is not there.
    fn lack(&mut self, term: TermId, a: usize, b: usize) {
        if let TermKind::Relation(RelationKind::Union(x, y))
        | TermKind::Relation(RelationKind::Intersection(x, y)) = self.model.terms[term].kind
        {
            let is_union = matches!(self.model.terms[term].kind, TermKind::Relation(RelationKind::Union(..)));
            if is_union || !self.has(x, a, b) {
                self.lack(x, a, b);
            }
            if is_union || self.has(x, a, b) {
                self.lack(y, a, b);
            }
            return;
        }
        match self.model.terms[term].kind {
            TermKind::Relation(RelationKind::Inverse(x)) => self.lack(x, b, a),
            TermKind::Relation(RelationKind::Product(x, y)) => {
                if self.has(x, a, a) {
                    self.lack(y, b, b)
                } else {
                    self.lack(x, a, a)
                }
            }
            TermKind::Set(SetKind::Base(_)) => {
                // The graph says who is in a set; what it says of those that happen is all there is.
                self.happens(a);
            }
            TermKind::Relation(RelationKind::Base(base)) => match base {
                BaseRelation::ReadsFrom | BaseRelation::FromReads => self.all_of(term),
                BaseRelation::Coherence | BaseRelation::FenceSc => self.order(base, a, b),
                _ => {
                    self.happens(a);
                    self.happens(b);
                    self.address(a);
                    self.address(b);
                    self.conditions(base, a, b);
                }
            },
            _ => self.all_of(term),
        }
    }

    /// All choices that a term can depend on.
    fn all_of(&mut self, term: TermId) {
        let n = self.state.graph.events.len();
        (0..n).for_each(|event| self.happens(event));
        for base in crate::model::bases(self.model, term) {
            match base {
                BaseRelation::ReadsFrom => self.all_sources(),
                BaseRelation::Coherence => self.all_orders(),
                BaseRelation::FromReads => {
                    self.all_sources();
                    self.all_orders();
                    (0..n).for_each(|event| self.address(event));
                }
                BaseRelation::FenceSc => {
                    self.state
                        .fence_order
                        .values()
                        .copied()
                        .collect::<Vec<_>>()
                        .into_iter()
                        .for_each(|it| self.note(it));
                }
                BaseRelation::SameLocation
                | BaseRelation::SameVirtualLocation
                | BaseRelation::CompleteOverlap => {
                    (0..n).for_each(|event| self.address(event));
                }
                base => {
                    let edges = self.state.graph.edges.get(base.name()).map_or(&[][..], Vec::as_slice);
                    let terms: Vec<usize> = edges.iter().map(|edge| edge.2).collect();
                    terms.into_iter().for_each(|term| self.note(self.state.truth(term)));
                }
            }
        }
    }

    fn all_sources(&mut self) {
        let all: Vec<i32> = self.state.sources.values().flatten().map(|own| own.2).collect();
        all.into_iter().for_each(|literal| self.note(literal));
    }

    fn all_orders(&mut self) {
        let all: Vec<i32> = self.state.coherence.values().copied().collect();
        all.into_iter().for_each(|literal| self.note(literal));
    }
}

/// The shortest way of one step or more.
fn way(relation: &Relation, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut before: HashMap<usize, usize> = HashMap::new();
    let mut front = vec![from];
    while !front.is_empty() {
        let mut next = Vec::new();
        for &at in &front {
            for then in relation.row(at).members() {
                if then == to {
                    let mut way = vec![to, at];
                    let mut last = at;
                    while last != from {
                        last = *before.get(&last)?;
                        way.push(last);
                    }
                    way.reverse();
                    return Some(way);
                }
                if then != from && !before.contains_key(&then) {
                    before.insert(then, at);
                    next.push(then);
                }
            }
        }
        front = next;
    }
    None
}
