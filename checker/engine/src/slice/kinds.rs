//! Threads that do the same: of each kind one stands for all where it is only company.

use crate::event::{AgentId, EventGraph, EventId};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashMap;

/// Kinds of threads of which one each is taken along.
const KINDS_MAX: usize = 6;
/// The same for a warp.
const KINDS_OF_WARP_MAX: usize = 3;

/// The instructions that a thread executes.
pub type Kind = Vec<Option<u32>>;

pub fn kind(graph: &EventGraph, events: &[EventId]) -> Kind {
    events.iter().map(|&event| graph.events[event].site.map(|site| site.0)).collect()
}

/// The first thread of each kind.
pub fn company(kinds: &SortedMap<AgentId, Kind>) -> SortedSet<AgentId> {
    let first = first_of_kinds(kinds, kinds.keys().copied());
    if first.len() <= KINDS_MAX { first } else { SortedSet::new() }
}

/// The first thread of each kind of a warp, where these are few and not all there are.
pub fn of_warps(graph: &EventGraph, kinds: &SortedMap<AgentId, Kind>) -> SortedMap<u32, SortedSet<AgentId>> {
    let mut lanes: SortedMap<u32, Vec<AgentId>> = SortedMap::new();
    for &agent in kinds.keys() {
        lanes.entry(graph.hierarchy.warp_of(agent)).or_default().push(agent);
    }
    let few = |(warp, lanes): (u32, Vec<AgentId>)| {
        let first = first_of_kinds(kinds, lanes.iter().copied());
        (first.len() <= KINDS_OF_WARP_MAX && first.len() < lanes.len()).then_some((warp, first))
    };
    lanes.into_iter().filter_map(few).collect()
}

pub fn first_of_kinds(
    kinds: &SortedMap<AgentId, Kind>,
    agents: impl Iterator<Item = AgentId>,
) -> SortedSet<AgentId> {
    let mut first: FxHashMap<&Kind, AgentId> = FxHashMap::default();
    for agent in agents {
        first.entry(&kinds[&agent]).or_insert(agent);
    }
    first.into_values().collect()
}
