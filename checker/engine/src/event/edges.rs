//! Pairs of the base relations that count under a condition of their own, by relation.

use super::{EventId, TermPool, TermRef};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;
use std::sync::Arc;

/// The relations that have such pairs.
const CONDITIONAL: &[BaseRelation] = &[
    // Barrier synchronization (MM-34, MM-37): both ends are of one instance.
    BaseRelation::BarrierSynchronization,
    // From what a thread that exited without arriving passed, awaited or decided on, to the passages that its exit brings
    // about (BR-7); and from one `setmaxnreg` to a later one of the CTA (AS-41). No synchronization: only what must have
    // happened before.
    BaseRelation::ExitRelease,
    // From what a thread that exited without arriving did last, to the passages that its exit brings about.
    BaseRelation::ExitOrder,
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
    // From a read to what comes behind a place to which a thread need not have come if the read had returned something else
    //
    BaseRelation::PastControl,
    // From an operation on an mbarrier to those that happen in a later phase of it.
    BaseRelation::PhaseOrder,
    // From an operation on an mbarrier to one of the same phase that comes after it.
    BaseRelation::InPhaseOrder,
    // From an arrival at an execution barrier to one that comes after it: it is of a later generation, or a thread has come
    // back before the other has arrived.
    BaseRelation::BarrierOrder,
    // Between writes by which lanes of a warp store one value to one place with one instruction.
    BaseRelation::SameStore,
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

/// All pairs of an event of one list with one of another, which count whenever both happen: a barrier that a thousand threads
/// pass has a million of them, and two lists.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// What comes first.
    pub from: Arc<[EventId]>,
    /// What comes after all of it.
    pub to: Arc<[EventId]>,
}

impl Bundle {
    /// Its pairs.
    fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let of =
            |to: EventId| self.from.iter().map(move |&from| Edge { from, to, condition: TermPool::TRUE });
        self.to.iter().flat_map(move |&to| of(to))
    }
}

/// Pairs by relation: one by one, or many at once.
#[derive(Clone, Default, Debug)]
pub struct Edges {
    by_relation: SortedMap<BaseRelation, Vec<Edge>>,
    bundles: SortedMap<BaseRelation, Vec<Bundle>>,
}

impl Edges {
    /// Those of a relation.
    pub fn of(&self, relation: BaseRelation) -> impl Iterator<Item = Edge> + '_ {
        self.single(relation).iter().copied().chain(self.bundles(relation).iter().flat_map(Bundle::edges))
    }

    /// Those of a relation that are added one by one.
    pub fn single(&self, relation: BaseRelation) -> &[Edge] {
        self.by_relation.get(&relation).map_or(&[], Vec::as_slice)
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// If no edge of the relation can have a condition.
    pub fn single_mut(&mut self, relation: BaseRelation) -> &mut Vec<Edge> {
        assert!(CONDITIONAL.contains(&relation), "{relation:?} has no conditions");
        self.by_relation.entry(relation).or_default()
    }

    /// Those of a relation that are added many at once.
    pub fn bundles(&self, relation: BaseRelation) -> &[Bundle] {
        self.bundles.get(&relation).map_or(&[], Vec::as_slice)
    }

    /// Adds one.
    pub fn add(&mut self, relation: BaseRelation, edge: Edge) {
        self.single_mut(relation).push(edge);
    }

    /// Adds some.
    pub fn add_all(&mut self, relation: BaseRelation, edges: impl IntoIterator<Item = Edge>) {
        self.single_mut(relation).extend(edges);
    }

    /// Adds all pairs of two lists.
    ///
    /// # Panics
    /// If no edge of the relation can have a condition.
    pub fn add_bundle(&mut self, relation: BaseRelation, from: Arc<[EventId]>, to: Arc<[EventId]>) {
        assert!(CONDITIONAL.contains(&relation), "{relation:?} has no conditions");
        if !from.is_empty() && !to.is_empty() {
            self.bundles.entry(relation).or_default().push(Bundle { from, to });
        }
    }

    /// The relations that have conditions, also those without a pair.
    pub fn relations() -> impl Iterator<Item = BaseRelation> {
        CONDITIONAL.iter().copied()
    }
}
