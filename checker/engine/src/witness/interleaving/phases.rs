//! mbarriers while the threads run in turns: what a phase has counted so far, for objects of which an execution decides in
//! which phase an operation is.
//!
//! Cannot: `cp.async.mbarrier.arrive` that raises what a phase expects.

use super::Machine;
use crate::event::{
    Event, EventGraph, EventId, EventKind, MbarrierId, MbarrierRole, PhasedOperation, Role, TermKind,
    TermPool,
};
use crate::synchronization::mbarrier::Count;
use fencepost_dsl::IndexVec;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;

/// What all objects have.
pub(super) struct Phases {
    /// Once something has been counted.
    counts: IndexVec<MbarrierId, Option<Count>>,
    of_event: FxHashMap<EventId, (MbarrierId, PhasedOperation)>,
    /// Operations of all objects that can happen.
    possible: FxHashSet<EventId>,
}

impl Phases {
    pub(super) fn new(graph: &EventGraph) -> Self {
        let counts = IndexVec::repeat(None, graph.mbarriers.len());
        let mut of_event = FxHashMap::default();
        for (id, mbarrier) in graph.mbarriers.iter_enumerated() {
            if !is_open(graph, id) {
                continue;
            }
            for &operation in &mbarrier.operations {
                of_event.insert(operation.event, (id, operation));
            }
        }
        let all = graph.mbarriers.iter().flat_map(|mbarrier| &mbarrier.operations);
        Self { counts, of_event, possible: all.map(|operation| operation.event).collect() }
    }
}

fn is_open(graph: &EventGraph, id: MbarrierId) -> bool {
    let is_open = |operation: &PhasedOperation| graph.terms.constant_value(operation.phase).is_none();
    let mbarrier = &graph.mbarriers[id];
    mbarrier.is_in_turns || mbarrier.operations.iter().any(is_open)
}

impl Machine<'_> {
    /// Whether an event is a wait that its object does not let through yet; else its phase is known.
    pub(super) fn waits_for_phase(&mut self, event: EventId) -> Option<bool> {
        let Some(&(object, operation)) = self.phases.of_event.get(&event) else {
            return Some(self.is_never_let_through(event));
        };
        let completed = self.phases.counts[object].as_ref().map_or(0, |count| count.completed);
        let Some(unknown) = self.unknown_of(operation.phase) else {
            let phase = self.graph.terms.constant_value(operation.phase)?;
            return match phase.cmp(&completed.into()) {
                // Who comes to a wait when its phase is over may stand there for good.
                Ordering::Less => (self.graph.events[event].role == Role::Await).then_some(true),
                Ordering::Equal => {
                    Some(operation.passes != TermPool::TRUE && self.value(operation.passes)? == 0)
                }
                // Counting says that it is let through no earlier, and that what is no wait comes no earlier.
                Ordering::Greater => Some(true),
            };
        };
        if self.unknowns[unknown].is_some() {
            return Some(false);
        }
        let mark = self.trail.len();
        self.unknowns[unknown] = Some(completed.into());
        if operation.passes != TermPool::TRUE && self.value(operation.passes)? == 0 {
            self.forget_since(mark);
            self.unknowns[unknown] = None;
            return Some(true);
        }
        Some(false)
    }

    /// Whether an event is a wait that no phase ever lets through.
    fn is_never_let_through(&self, event: EventId) -> bool {
        let Event { kind, role, .. } = &self.graph.events[event];
        let is_wait = matches!(kind, EventKind::Mbarrier(of) if of.role == MbarrierRole::Wait);
        is_wait && *role == Role::Await && !self.phases.possible.contains(&event)
    }

    /// Counts what an event does.
    pub(super) fn count(&mut self, event: EventId) -> Option<()> {
        let Some(&(object, operation)) = self.phases.of_event.get(&event) else { return Some(()) };
        if operation.passes != TermPool::TRUE {
            return Some(());
        }
        if self.phases.counts[object].is_none() {
            let initial = self.graph.mbarriers[object].phases.first()?.expected;
            let initial = u32::try_from(self.value(initial)?).ok()?;
            self.phases.counts[object] = Some(Count::of_initial(initial));
        }
        let count = self.phases.counts[object].as_mut()?;
        if !count.add(operation.arrivals, operation.drops, operation.bytes) {
            let excess = self.graph.terms.kind(operation.excess?);
            let TermKind::Unknown(excess) = *excess else { return None };
            self.unknowns[excess] = Some(1);
            self.forget_since(0);
        }
        Some(())
    }

    /// What was left open: phases of what does not happen, and those in which objects are invalidated.
    pub(super) fn settle_phases(&mut self) {
        let operations: Vec<PhasedOperation> =
            self.phases.of_event.values().map(|&(_, operation)| operation).collect();
        for operation in operations {
            if let Some(unknown) = self.unknown_of(operation.phase) {
                self.unknowns[unknown].get_or_insert(operation.first.into());
            }
        }
        for (id, mbarrier) in self.graph.mbarriers.iter_enumerated() {
            let completed = self.phases.counts[id].as_ref().map_or(0, |count| count.completed);
            for &(phase, first) in &mbarrier.invalidations {
                if let Some(unknown) = self.unknown_of(phase) {
                    self.unknowns[unknown].get_or_insert(completed.max(first).into());
                }
            }
        }
    }
}
