//! Transitive closure by frontiers.
//!
//! Let `M` be the certain part of the closure, and call a pair of the relation *open* if it needs a literal and is not
//! in `M`. A path outside `M` alternates stretches of `M` with open pairs. So what matters of its first event is only
//! the set of open pairs' sources that `M` leads to (its *source class*), and of its last event only the set of open
//! pairs' targets that lead to it (its *target class*). One literal per pair of classes, and a clause per open pair and
//! target class, replace the `n³` triples of the naive encoding. A class that contains another passes its paths on, so
//! each open pair is spelled out only at the nearest class.
//!
//! Sound: `M` is conditional on both ends happening. Ends of open pairs happen if the pair's literal is true, and the
//! literal handed out is the conjunction with both outer events happening. Clauses only say "path implies literal"
//! (`Up`), which is all that axioms and races need; for the other direction the closure is spelled out by repeated
//! squaring, exactly.

use super::{EncodeError, Encoder};
use crate::cnf::{Direction, Literal};
use crate::event::EventId;
use fencepost_dsl::cat::memory_model::TermId;
use fencepost_dsl::define_id;
use fencepost_dsl::index::Id;
use rustc_hash::FxHashMap;

define_id! {
    /// A set of open pairs' sources, or of targets.
    pub struct ClassId;
}

/// The classes of one closure term.
pub struct ClosureTable {
    relation: TermId,
    /// Open pairs by source.
    open: FxHashMap<EventId, Vec<EventId>>,
    /// Source classes: members ascending.
    source_classes: Vec<Vec<EventId>>,
    /// The source class of each event.
    source_class: Vec<ClassId>,
    /// Target classes: members ascending, and one event of the class.
    target_classes: Vec<(Vec<EventId>, EventId)>,
    target_class: Vec<ClassId>,
    literals: FxHashMap<(ClassId, ClassId), Literal>,
}

/// A literal whose clauses are still to be written.
pub struct Pending {
    closure: TermId,
    from: ClassId,
    to: ClassId,
}

impl Encoder<'_> {
    /// The pair `(a, b)` of the closure `term` of `inner`.
    pub(super) fn closure_edge(
        &mut self,
        term: TermId,
        inner: TermId,
        a: EventId,
        b: EventId,
        direction: Direction,
    ) -> Result<Literal, EncodeError> {
        if direction.is_down() {
            return self.squared(inner, a, b, self.problem.graph.events.len(), direction);
        }
        if !self.treatment.frontier {
            return self.triple(term, inner, a, b);
        }
        if !self.closures.contains_key(&term) {
            let table = self.classes(term, inner);
            self.closures.insert(term, table);
        }
        let table = &self.closures[&term];
        let (from, to) = (table.source_class[a.index()], table.target_class[b.index()]);
        let path = self.class_literal(term, from, to);
        let both = self.both_executed(a, b);
        Ok(self.formula.and(Direction::Up, &[path, both]))
    }

    fn class_literal(&mut self, term: TermId, from: ClassId, to: ClassId) -> Literal {
        let table = self.closures.get_mut(&term).expect("classes are made before literals");
        if let Some(&literal) = table.literals.get(&(from, to)) {
            return literal;
        }
        let literal = self.formula.fresh();
        table.literals.insert((from, to), literal);
        self.pending.push_back(Pending { closure: term, from, to });
        literal
    }

    fn classes(&self, term: TermId, inner: TermId) -> ClosureTable {
        let certain = &self.problem.table.values.relation(term).must;
        let may = &self.problem.table.values.relation(inner).may;
        let n = self.problem.graph.events.len();
        let mut open: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
        let mut is_target = vec![false; n];
        for (source, target) in may.difference(certain).pairs() {
            open.entry(source).or_default().push(target);
            is_target[target.index()] = true;
        }
        let targets: Vec<EventId> = (0..n).map(EventId::from_index).filter(|t| is_target[t.index()]).collect();
        let mut table = ClosureTable {
            relation: inner,
            open,
            source_classes: Vec::new(),
            source_class: Vec::new(),
            target_classes: Vec::new(),
            target_class: Vec::new(),
            literals: FxHashMap::default(),
        };
        let mut known_sources: FxHashMap<Vec<EventId>, ClassId> = FxHashMap::default();
        let mut known_targets: FxHashMap<Vec<EventId>, ClassId> = FxHashMap::default();
        for event in (0..n).map(EventId::from_index) {
            let mut sources: Vec<EventId> =
                certain.successors(event).filter(|source| table.open.contains_key(source)).collect();
            if table.open.contains_key(&event) && !sources.contains(&event) {
                sources.push(event);
                sources.sort_unstable();
            }
            let class = *known_sources.entry(sources.clone()).or_insert_with(|| {
                table.source_classes.push(sources);
                ClassId::from_index(table.source_classes.len() - 1)
            });
            table.source_class.push(class);
            let reached: Vec<EventId> =
                targets.iter().copied().filter(|&t| t == event || certain.contains(t, event)).collect();
            let class = *known_targets.entry(reached.clone()).or_insert_with(|| {
                table.target_classes.push((reached, event));
                ClassId::from_index(table.target_classes.len() - 1)
            });
            table.target_class.push(class);
        }
        table
    }

    /// Writes the clauses of every literal handed out so far (and of those they need).
    pub(super) fn settle(&mut self) -> Result<(), EncodeError> {
        while let Some(Pending { closure, from, to }) = self.pending.pop_front() {
            self.check_limits()?;
            self.class_clauses(closure, from, to)?;
        }
        Ok(())
    }

    fn class_clauses(&mut self, term: TermId, from: ClassId, to: ClassId) -> Result<(), EncodeError> {
        let table = &self.closures[&term];
        let literal = table.literals[&(from, to)];
        let relation = table.relation;
        let members = table.source_classes[from.index()].clone();
        let (ends, representative) = table.target_classes[to.index()].clone();
        let may = &self.problem.table.values.relation(term).may;
        // Nearest classes first: the larger ones among those contained in this one.
        let mut inner: Vec<ClassId> = members.iter().map(|source| table.source_class[source.index()]).collect();
        inner.sort_unstable_by_key(|class| (usize::MAX - table.source_classes[class.index()].len(), *class));
        inner.dedup();
        let mut own = members.clone();
        let mut handed_on = Vec::new();
        for class in inner {
            let contained = &table.source_classes[class.index()];
            let proper = contained.len() < members.len() && contained.iter().all(|s| members.binary_search(s).is_ok());
            if proper && contained.iter().any(|s| own.contains(s)) {
                own.retain(|s| !contained.contains(s));
                handed_on.push(class);
            }
        }
        let steps: Vec<(EventId, EventId, ClassId)> = own
            .iter()
            .flat_map(|&source| table.open[&source].iter().map(move |&target| (source, target)))
            .filter(|(_, target)| ends.binary_search(target).is_ok() || may.contains(*target, representative))
            .map(|(source, target)| (source, target, table.source_class[target.index()]))
            .collect();
        for class in handed_on {
            let shorter = self.class_literal(term, class, to);
            self.formula.imply(shorter, literal);
        }
        for (source, target, class) in steps {
            let step = self.edge(relation, source, target, Direction::Up)?;
            if step == Literal::FALSE {
                continue;
            }
            if ends.binary_search(&target).is_ok() {
                self.formula.imply(step, literal);
            } else {
                let rest = self.class_literal(term, class, to);
                self.formula.clause(&[!step, !rest, literal]);
            }
        }
        Ok(())
    }

    /// All triples: "step implies path" and "step, then path, implies path". The oracle for the frontier encoding.
    fn triple(&mut self, term: TermId, inner: TermId, a: EventId, b: EventId) -> Result<Literal, EncodeError> {
        let literal = self.formula.fresh();
        self.edges.insert((term, a, b, Direction::Up), literal);
        let step = self.edge(inner, a, b, Direction::Up)?;
        self.formula.imply(step, literal);
        let middles: Vec<EventId> = self.problem.table.values.relation(inner).may.successors(a).collect();
        for middle in middles {
            let first = self.edge(inner, a, middle, Direction::Up)?;
            let rest = self.edge(term, middle, b, Direction::Up)?;
            self.formula.clause(&[!first, !rest, literal]);
        }
        self.check_limits()?;
        Ok(literal)
    }

    /// A path of at most `length` steps, exactly.
    fn squared(
        &mut self,
        inner: TermId,
        a: EventId,
        b: EventId,
        length: usize,
        direction: Direction,
    ) -> Result<Literal, EncodeError> {
        let mut memo = FxHashMap::default();
        self.squared_memo(inner, a, b, length.next_power_of_two(), direction, &mut memo)
    }

    fn squared_memo(
        &mut self,
        inner: TermId,
        a: EventId,
        b: EventId,
        length: usize,
        direction: Direction,
        memo: &mut FxHashMap<(EventId, EventId, usize), Literal>,
    ) -> Result<Literal, EncodeError> {
        if length <= 1 {
            return self.edge(inner, a, b, direction);
        }
        if let Some(&literal) = memo.get(&(a, b, length)) {
            return Ok(literal);
        }
        let mut ways = vec![self.squared_memo(inner, a, b, length / 2, direction, memo)?];
        for middle in self.problem.graph.events.ids() {
            let first = self.squared_memo(inner, a, middle, length / 2, direction, memo)?;
            if first != Literal::FALSE {
                let rest = self.squared_memo(inner, middle, b, length / 2, direction, memo)?;
                ways.push(self.formula.and(direction, &[first, rest]));
            }
        }
        self.check_limits()?;
        let literal = self.formula.or(direction, &ways);
        memo.insert((a, b, length), literal);
        Ok(literal)
    }
}
