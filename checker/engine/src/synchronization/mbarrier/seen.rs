//! What surely comes before an operation on an mbarrier, by the phases that are complete when it happens.

use crate::event::{AgentId, MbarrierId};
use crate::synchronization::log::Operation;
use fencepost_dsl::sorted::SortedMap;
use std::sync::Arc;

/// Of each object, how many phases are known to be complete.
pub type Knowledge = SortedMap<MbarrierId, u32>;

/// Per object and number of complete phases, and per thread: the last place in program order that the thread must have got
/// to, since those phases are not complete without its arrivals, or without those of somebody who has met it at a barrier
/// before. With each object, whether it publishes.
pub type Essential = SortedMap<MbarrierId, (bool, Vec<SortedMap<AgentId, u32>>)>;

/// What surely comes before an operation.
#[derive(Clone, Default, Debug)]
pub struct SeenBy {
    /// Where it was started, if it is an asynchronous one.
    pub issued: Option<(AgentId, u32)>,
    /// Phases whose completion is ordered before, and what that takes.
    pub known: Knowledge,
    pub essential: Arc<Essential>,
    /// Phases that are complete before, however that is known, and what these take of threads and of what they have started.
    pub through: Knowledge,
    pub essential_through: Arc<Essential>,
    /// Whether the operation is an arrival that its phase cannot do without.
    pub is_essential: bool,
}

impl SeenBy {
    /// Whether an operation surely came before, if it happens.
    pub fn has_seen(&self, operation: &Operation) -> bool {
        let is_there = |at: u32| at >= operation.position;
        let of_phases = |(object, &phases): (&MbarrierId, &u32)| {
            let (publishes, of_object) = self.essential.get(object)?;
            // What comes before an arrival at another object is ordered by it only if it releases and the wait acquires.
            let is_ordered = *publishes || *object == operation.object;
            is_ordered.then(|| of_object.get(phases as usize)?.get(&operation.agent).copied()).flatten()
        };
        self.issued.is_some_and(|(agent, at)| agent == operation.agent && is_there(at))
            || self.known.iter().filter_map(of_phases).any(is_there)
    }

    /// Whether the phases that a wait saw complete are complete before: whatever order there is, phases that were needed to get
    /// here needed something that the wait's thread has done, or started, only behind the wait.
    pub fn was_let_through_by(&self, wait: &Operation) -> bool {
        self.through.iter().any(|(object, &phases)| {
            let of_object = self.essential_through.get(object);
            let of_phase = of_object.and_then(|(_, of_object)| of_object.get(phases as usize));
            of_phase.and_then(|of_phase| of_phase.get(&wait.agent)).is_some_and(|&at| at >= wait.position)
        })
    }
}

/// Adds what somebody else knows.
pub fn merge(into: &mut Knowledge, other: &Knowledge) {
    for (&object, &phases) in other {
        let known = into.entry(object).or_default();
        *known = (*known).max(phases);
    }
}

/// What both know.
pub fn meet(a: &Knowledge, b: &Knowledge) -> Knowledge {
    a.iter().filter_map(|(&object, &phases)| Some((object, phases.min(*b.get(&object)?)))).collect()
}
