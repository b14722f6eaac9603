//! What the lanes of a warp read in shared memory as one.
//!
//! An aligned matrix operation is one of its warp: what it names in shared memory is read once, after what comes before the
//! last `wgmma.fence` of each of the lanes, and that is done to each lane that waits for it. That is so where the lanes execute
//! it on the same path and name the same; otherwise each lane reads for itself. A lane that does not come is found by the rule
//! that they all do (UB-A7).

use super::super::{UnrollError, Unroller};
use super::Operation;
use crate::event::{AgentId, BaseRelation, Edge, EventId, LocationId, TermPool, TermRef};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashMap;

/// An event of an operation, and whether it is a read.
pub(super) type Done = (EventId, bool);

/// What an operand names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// A matrix by its descriptor.
    Descriptor(u64),
    /// So many elements from one on.
    Elements { location: LocationId, first: TermRef, count: u32 },
}

/// What warps have read in the whole launch, by where they were.
#[derive(Default)]
pub(super) struct Together {
    of: FxHashMap<(u32, Vec<(u32, u32)>), Shared>,
}

/// What the lanes of a warp read together.
struct Shared {
    guard: TermRef,
    named: Vec<Named>,
    lanes: SortedSet<AgentId>,
    events: Vec<Done>,
}

impl Unroller<'_> {
    /// The reads of the warp, by the first of its lanes that comes here.
    pub(super) fn read_together(
        &mut self,
        operation: Operation,
        named: Vec<Named>,
        read: impl FnOnce(&mut Self) -> Result<Vec<Done>, UnrollError>,
    ) -> Result<Vec<Done>, UnrollError> {
        if !self.options.together || named.is_empty() {
            return read(self);
        }
        let key = (self.graph.hierarchy.warp_of(self.agent), self.aligned_path());
        let agent = self.agent;
        let known = self.asynchronous.together.of.get(&key);
        // Where a lane comes twice it does not read the same.
        if let Some(shared) = known.filter(|shared| shared.named == named && !shared.lanes.contains(&agent))
            && self.differ_in_waits(shared.guard, operation.guard)
        {
            // A lane that still waits keeps the others back.
            let guard = self.graph.terms.and(shared.guard, operation.guard);
            let events = shared.events.clone();
            for &(event, _) in &events {
                self.graph.events[event].guard = guard;
            }
            if let Some(shared) = self.asynchronous.together.of.get_mut(&key) {
                shared.guard = guard;
                shared.lanes.insert(agent);
            }
            self.graph.n_read_together += events.len();
            let fences = self.asynchronous.last_fences(&self.graph.terms, operation.guard);
            let edges = fences.iter().flat_map(|&from| {
                events.iter().map(move |&(to, _)| Edge { from, to, condition: TermPool::TRUE })
            });
            self.graph.edges.add_all(BaseRelation::Start, edges);
            return Ok(events);
        }
        let events = read(self)?;
        let lanes = [agent].into_iter().collect();
        let shared = Shared { guard: operation.guard, named, lanes, events: events.clone() };
        self.asynchronous.together.of.entry(key).or_insert(shared);
        Ok(events)
    }

    /// Whether two lanes are on one path, but for that each has its own waits behind it.
    fn differ_in_waits(&self, one: TermRef, other: TermRef) -> bool {
        let terms = &self.graph.terms;
        let decided = |guard: TermRef| -> Vec<TermRef> {
            let conjuncts = terms.conjuncts(guard).iter().copied();
            conjuncts.filter(|conjunct| !self.past_waits.contains(conjunct)).collect()
        };
        one == other || decided(one) == decided(other)
    }
}
