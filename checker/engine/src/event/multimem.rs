//! Accesses through multimem addresses, each of which denotes a location on every device (MM-7).

use super::{Access, EventGraph, EventId};
use fencepost_dsl::sorted::SortedMap;

impl EventGraph {
    /// Whether an event accesses memory through a multimem address (MM-7).
    pub fn is_through_multimem(&self, event: EventId) -> bool {
        self.events[event].kind.access().is_some_and(|access| self.goes_through_multimem(access))
    }

    /// The same of an access.
    pub fn goes_through_multimem(&self, access: &Access) -> bool {
        self.locations[access.location].multimem.contains(&access.mapping)
    }

    /// From the read to the write of each atomic of a `multimem.red`.
    pub fn multimem_halves(&self) -> SortedMap<EventId, EventId> {
        self.rmw.iter().copied().filter(|&(read, _)| self.is_through_multimem(read)).collect()
    }
}
