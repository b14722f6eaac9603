//! Pairs of the base relations that count under a condition of their own, by relation.

use super::{EventId, TermRef};
use fencepost_dsl::cat::memory_model::BaseRelation;
use std::collections::BTreeMap;

/// The relations that have such pairs.
const CONDITIONAL: &[BaseRelation] = &[
    // Barrier synchronization (MM-34, MM-37): both ends are of one instance.
    BaseRelation::BarrierSynchronization,
    // From what a thread that exited without arriving passed, awaited or decided on, to the passages that its exit brings
    // about (BR-7); and from one `setmaxnreg` to a later one of the CTA (AS-41). No synchronization: only what must have
    // happened before.
    BaseRelation::ExitRelease,
    // From an arrival at an mbarrier or cluster barrier to the waits that its phase lets through (MB-22, BR-12).
    BaseRelation::Signals,
    // From the instruction that starts an asynchronous operation to the events of that operation.
    BaseRelation::Issue,
    // From the instruction up to which program order counts for an asynchronous operation to the events of that operation.
    BaseRelation::Start,
    // From what an asynchronous operation does to the instruction by which a thread knows that it is done (AS-7, AS-20).
    BaseRelation::Completion,
    // From what a `tcgen05` operation does to what another one does that the hardware starts in order with it (AS-29).
    BaseRelation::Pipelined,
    // From an operation on an mbarrier to those that happen in a later phase of it.
    BaseRelation::PhaseOrder,
    // From an operation on an mbarrier to one of the same phase that comes after it.
    BaseRelation::InPhaseOrder,
    // From an arrival at an execution barrier to one that comes after it: it is of a later generation, or a thread has come
    // back before the other has arrived.
    BaseRelation::BarrierOrder,
    // From what comes before the start or the end of a grid to that, and from there to what comes after it (MM-38).
    BaseRelation::ApiSynchronization,
    // From that by which a CTA lets dependent grids start, `griddepcontrol.launch_dependents` or its end, to the start of
    // one (AS-40). No synchronization by itself (MM-39).
    BaseRelation::Triggers,
    // From the end of a grid to the start of one that was launched to overlap with it.
    BaseRelation::Overlapping,
];

/// A pair of a relation.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// What comes first.
    pub from: EventId,
    /// What comes after it.
    pub to: EventId,
    /// When the pair counts, given that both events happen: both are of one barrier instance, say.
    pub condition: TermRef,
}

/// Pairs by relation.
#[derive(Clone, Default, Debug)]
pub struct Edges {
    by_relation: BTreeMap<BaseRelation, Vec<Edge>>,
}

impl Edges {
    /// Those of a relation.
    pub fn of(&self, relation: BaseRelation) -> &[Edge] {
        self.by_relation.get(&relation).map_or(&[], Vec::as_slice)
    }

    /// Those of a relation, to be changed.
    pub fn of_mut(&mut self, relation: BaseRelation) -> &mut Vec<Edge> {
        debug_assert!(CONDITIONAL.contains(&relation), "{relation:?} has no conditions");
        self.by_relation.entry(relation).or_default()
    }

    /// Adds one.
    pub fn add(&mut self, relation: BaseRelation, edge: Edge) {
        self.of_mut(relation).push(edge);
    }

    /// Adds some.
    pub fn add_all(&mut self, relation: BaseRelation, edges: impl IntoIterator<Item = Edge>) {
        self.of_mut(relation).extend(edges);
    }

    /// Those of each relation that has conditions, also where there are none.
    pub fn all(&self) -> impl Iterator<Item = (BaseRelation, &[Edge])> {
        CONDITIONAL.iter().map(|&relation| (relation, self.of(relation)))
    }
}
