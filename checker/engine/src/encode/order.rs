//! Acyclicity by vertex elimination.
//!
//! Only events on a cycle of possible pairs matter, and of those only the ends of open pairs and the events at which
//! certain pairs meet without their composition being certain: certain pairs between them stand for the certain paths
//! in between. Eliminating an event `v` adds, for each predecessor `u` and successor `w`,
//! a fill pair implied by `u→v` and `v→w`; a fill that closes on itself is forbidden. A fill pair gets a literal of its
//! own even where a pair exists, since that pair's literal means "it is in the relation" and must not be forced.
//!
//! Sound: a certain pair `(a, c)` is left out only if an event `b` in between happens whenever `a` or `c` does, so every
//! cycle of an execution survives as a cycle of the reduced graph; every clause follows from real pairs.
//!
//! Needs: nothing. It is about the cycles of any relation.

use super::{EncodeError, Encoder};
use crate::bits::{BitMatrix, EventSet};
use crate::cnf::{Direction, Literal};
use crate::event::EventId;
use fencepost_dsl::cat::memory_model::TermId;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

type Successors = SortedMap<EventId, SortedMap<EventId, Literal>>;

impl Encoder<'_> {
    /// No execution has a cycle in `term`.
    pub(super) fn acyclic(&mut self, term: TermId) -> Result<(), EncodeError> {
        let bounds = self.problem.table.values.relation(term);
        if bounds.may.is_acyclic() {
            return Ok(());
        }
        let n = self.problem.graph.events.len();
        let reach = bounds.may.transitive_closure();
        let on_cycle = bounds.may.intersection(&reach.inverse());
        let certain = {
            let basis = &self.problem.table.basis;
            crate::relation::certain_closure(basis, &bounds.must).intersection(&reach.inverse())
        };
        let open: Vec<(EventId, EventId)> = on_cycle.difference(&certain).pairs().collect();
        let mut ends = EventSet::empty(n);
        for &(a, b) in &open {
            ends.insert(a);
            ends.insert(b);
        }
        // Where certain pairs meet without their composition being certain, the event in between counts too.
        for (event, is_joint) in self.problem.graph.events.ids().zip(self.joints(&certain)) {
            if is_joint {
                ends.insert(event);
            }
        }
        // Cycles of certain pairs alone: both events can never happen together.
        for event in (0..n).map(<EventId as fencepost_dsl::index::Id>::from_index) {
            if certain.contains(event, event) {
                let happens = self.executed[event];
                self.formula.clause(&[!happens]);
            }
        }
        let mut graph: Successors = SortedMap::new();
        for (a, b) in self.reduced(&certain, &ends) {
            let literal = self.both_executed(a, b);
            graph.entry(a).or_default().insert(b, literal);
        }
        for (a, b) in open {
            let literal = self.edge(term, a, b, Direction::Up)?;
            self.join(&mut graph, a, b, literal);
        }
        self.eliminate(graph, &ends)
    }

    /// Certain pairs among `ends` without those that follow from two others: from two that lead one way only, over an event that
    /// happens whenever one of the ends does.
    fn reduced(&self, certain: &BitMatrix, ends: &EventSet) -> Vec<(EventId, EventId)> {
        let implies = &self.problem.table.basis.implies;
        let inside = certain.intersection(&BitMatrix::product(ends, ends));
        let one_way = inside.difference(&inside.inverse());
        let over_first = one_way.intersection(implies).sequence(&one_way);
        let over_last = one_way.sequence(&one_way.intersection(&implies.inverse()));
        let rest = inside.difference(&over_first.union(&over_last));
        rest.pairs().filter(|(a, c)| a != c).collect()
    }

    /// Adds a pair; a second literal for the same pair is joined with the first under a new one.
    fn join(&mut self, graph: &mut Successors, a: EventId, b: EventId, literal: Literal) {
        if literal == Literal::FALSE {
            return;
        }
        if a == b {
            self.formula.clause(&[!literal]);
            return;
        }
        let present = graph.entry(a).or_default().get(&b).copied();
        let joined = match present {
            Some(present) => self.formula.or(Direction::Up, &[present, literal]),
            None => literal,
        };
        graph.entry(a).or_default().insert(b, joined);
    }

    fn eliminate(&mut self, mut graph: Successors, ends: &EventSet) -> Result<(), EncodeError> {
        let mut predecessors: SortedMap<EventId, SortedSet<EventId>> = SortedMap::new();
        for (&a, successors) in &graph {
            for &b in successors.keys() {
                predecessors.entry(b).or_default().insert(a);
            }
        }
        let mut rest: SortedSet<EventId> = ends.iter().collect();
        while let Some(vertex) = next_vertex(&rest, &graph, &predecessors) {
            rest.remove(&vertex);
            let before: Vec<EventId> = predecessors.remove(&vertex).unwrap_or_default().into_iter().collect();
            let after = graph.remove(&vertex).unwrap_or_default();
            for successor in after.keys() {
                if let Some(set) = predecessors.get_mut(successor) {
                    set.remove(&vertex);
                }
            }
            for &from in &before {
                let Some(step) = graph.get_mut(&from).and_then(|successors| successors.remove(&vertex))
                else {
                    continue;
                };
                for (&to, &onward) in &after {
                    if from == to {
                        self.formula.clause(&[!step, !onward]);
                        continue;
                    }
                    let fill = self.formula.and(Direction::Up, &[step, onward]);
                    self.join(&mut graph, from, to, fill);
                    predecessors.entry(to).or_default().insert(from);
                }
            }
            self.check_limits()?;
        }
        Ok(())
    }
}

/// The vertex whose elimination adds the fewest pairs; ties go to the lowest id.
fn next_vertex(
    rest: &SortedSet<EventId>,
    graph: &Successors,
    predecessors: &SortedMap<EventId, SortedSet<EventId>>,
) -> Option<EventId> {
    rest.iter().copied().min_by_key(|vertex| {
        let n_in = predecessors.get(vertex).map_or(0, SortedSet::len);
        let n_out = graph.get(vertex).map_or(0, SortedMap::len);
        n_in * n_out
    })
}
