//! Transitive closure by frontiers.
//!
//! Let `M` be the certain part of the closure, and call a pair of the relation *open* if it needs a literal and is not
//! in `M`. A path outside `M` alternates stretches of `M` with open pairs. So what matters of its first event is only
//! the set of open pairs' sources that `M` leads to (its *source class*), and of its last event only the set of open
//! pairs' targets that lead to it (its *target class*). One literal per pair of classes, and a clause per open pair and
//! target class, replace the `n³` triples of the naive encoding. A class that contains another passes its paths on, so
//! each open pair is spelled out only at the nearest class.
//!
//! `M` is conditional on both ends happening, so it need not be transitive: where neither end implies an event in
//! between, two stretches of `M` meet only in executions in which that event happens. Such a *joint* counts as an open
//! step of its own, from the event to itself, with the event's guard for a literal.
//!
//! Sound: ends of open pairs happen if the pair's literal is true, and the literal handed out is the conjunction with
//! both outer events happening. A joint is entered and left by `M` only, so it makes no path out of nothing. Clauses only
//! say "path implies literal" (`Up`), which is all that axioms and races need; for the other direction the closure is
//! spelled out by repeated squaring, exactly.
//!
//! Needs: nothing. It is about the closure of any relation.

use super::{EncodeError, Encoder};
use crate::bits::BitMatrix;
use crate::cnf::{Direction, Literal};
use crate::event::EventId;
use fencepost_dsl::cat::memory_model::TermId;
use fencepost_dsl::define_id;
use fencepost_dsl::index::Id;
use rustc_hash::FxHashMap;
use std::rc::Rc;

define_id! {
    /// A set of ports: where open steps start, or where they end.
    pub struct ClassId;
}

/// Where an open step starts or ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Port {
    /// At an open pair's end.
    Pair(EventId),
    /// At a joint.
    Joint(EventId),
}

/// The classes of one closure term.
pub struct ClosureTable {
    relation: TermId,
    /// Open pairs by source.
    open: FxHashMap<EventId, Vec<EventId>>,
    /// Source classes: members ascending.
    source_classes: Vec<Vec<Port>>,
    /// The source class of each event.
    source_class: Vec<ClassId>,
    /// Target classes: members ascending, and one event of the class.
    target_classes: Vec<(Vec<Port>, EventId)>,
    target_class: Vec<ClassId>,
    literals: FxHashMap<(ClassId, ClassId), Literal>,
    /// Of source classes, what is spelled out there and which classes have the rest.
    parts: FxHashMap<ClassId, Rc<Parts>>,
}

/// The ports of a source class that are spelled out there, and the classes that have the others.
type Parts = (Vec<Port>, Vec<ClassId>);

/// A literal whose clauses are still to be written.
pub struct Pending {
    closure: TermId,
    from: ClassId,
    to: ClassId,
}

impl Port {
    fn event(self) -> EventId {
        match self {
            Self::Pair(event) | Self::Joint(event) => event,
        }
    }
}

/// The ports a certain stretch from `event` leads to: an open pair may also start at the event itself, a joint may not.
fn ports(
    event: EventId,
    certain: &BitMatrix,
    is_joint: &[bool],
    is_end: impl Fn(EventId) -> bool,
) -> Vec<Port> {
    let mut ports: Vec<Port> = Vec::new();
    if is_end(event) {
        ports.push(Port::Pair(event));
    }
    for other in certain.successors(event) {
        if is_end(other) {
            ports.push(Port::Pair(other));
        }
        if is_joint[other.index()] {
            ports.push(Port::Joint(other));
        }
    }
    ports.sort_unstable();
    ports.dedup();
    ports
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
        let is_joint = self.joints(certain);
        let mut table = ClosureTable {
            relation: inner,
            open,
            source_classes: Vec::new(),
            source_class: Vec::new(),
            target_classes: Vec::new(),
            target_class: Vec::new(),
            literals: FxHashMap::default(),
            parts: FxHashMap::default(),
        };
        let mut known_sources: FxHashMap<Vec<Port>, ClassId> = FxHashMap::default();
        let mut known_targets: FxHashMap<Vec<Port>, ClassId> = FxHashMap::default();
        let back = certain.inverse();
        for event in (0..n).map(EventId::from_index) {
            let sources = ports(event, certain, &is_joint, |other| table.open.contains_key(&other));
            let class = *known_sources.entry(sources.clone()).or_insert_with(|| {
                table.source_classes.push(sources);
                ClassId::from_index(table.source_classes.len() - 1)
            });
            table.source_class.push(class);
            let reached = ports(event, &back, &is_joint, |other| is_target[other.index()]);
            let class = *known_targets.entry(reached.clone()).or_insert_with(|| {
                table.target_classes.push((reached, event));
                ClassId::from_index(table.target_classes.len() - 1)
            });
            table.target_class.push(class);
        }
        table
    }

    /// Events at which certain pairs meet without their composition being certain.
    pub(super) fn joints(&self, certain: &BitMatrix) -> Vec<bool> {
        let basis = &self.problem.table.basis;
        let back = certain.inverse();
        self.problem
            .graph
            .events
            .ids()
            .map(|event| {
                let always = back.is_row_within(event, &basis.implied_by, event)
                    || certain.is_row_within(event, &basis.implied_by, event);
                !always && back.successors(event).any(|before| !certain.is_row_within(event, certain, before))
            })
            .collect()
    }

    /// Writes the clauses of every literal handed out so far (and of those they need).
    pub(super) fn settle(&mut self) -> Result<(), EncodeError> {
        while let Some(Pending { closure, from, to }) = self.pending.pop_front() {
            self.check_limits()?;
            self.class_clauses(closure, from, to)?;
        }
        Ok(())
    }

    /// The ports of a source class that no class has which it contains, and the classes that have the others.
    fn parts(&mut self, term: TermId, from: ClassId) -> Rc<Parts> {
        let table = &self.closures[&term];
        if let Some(known) = table.parts.get(&from) {
            return known.clone();
        }
        let members = &table.source_classes[from.index()];
        // Nearest classes first: the larger ones among those contained in this one.
        let mut inner: Vec<ClassId> =
            members.iter().map(|port| table.source_class[port.event().index()]).collect();
        inner.sort_unstable_by_key(|class| (usize::MAX - table.source_classes[class.index()].len(), *class));
        inner.dedup();
        let mut own = members.clone();
        let mut handed_on = Vec::new();
        for class in inner {
            let contained = &table.source_classes[class.index()];
            let proper =
                contained.len() < members.len() && contained.iter().all(|s| members.binary_search(s).is_ok());
            if proper && contained.iter().any(|s| own.binary_search(s).is_ok()) {
                own.retain(|s| contained.binary_search(s).is_err());
                handed_on.push(class);
            }
        }
        let parts = Rc::new((own, handed_on));
        if let Some(table) = self.closures.get_mut(&term) {
            table.parts.insert(from, parts.clone());
        }
        parts
    }

    fn class_clauses(&mut self, term: TermId, from: ClassId, to: ClassId) -> Result<(), EncodeError> {
        let parts = self.parts(term, from);
        let (own, handed_on) = &*parts;
        let table = &self.closures[&term];
        let literal = table.literals[&(from, to)];
        let relation = table.relation;
        let (ends, representative) = table.target_classes[to.index()].clone();
        let may = &self.problem.table.values.relation(term).may;
        let mut steps: Vec<(EventId, Port, ClassId)> = Vec::new();
        for &port in own {
            let source = port.event();
            let targets = match port {
                Port::Pair(source) => table.open[&source].iter().map(|&target| Port::Pair(target)).collect(),
                Port::Joint(event) => vec![Port::Joint(event)],
            };
            for target in targets {
                let event = target.event();
                if ends.binary_search(&target).is_ok() || may.contains(event, representative) {
                    steps.push((source, target, table.source_class[event.index()]));
                }
            }
        }
        for &class in handed_on {
            let shorter = self.class_literal(term, class, to);
            self.formula.imply(shorter, literal);
        }
        for (source, target, class) in steps {
            let step = match target {
                Port::Pair(target) => self.edge(relation, source, target, Direction::Up)?,
                Port::Joint(event) => self.executed[event],
            };
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
    fn triple(
        &mut self,
        term: TermId,
        inner: TermId,
        a: EventId,
        b: EventId,
    ) -> Result<Literal, EncodeError> {
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
