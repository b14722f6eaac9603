//! Threads that do the same: of each kind one stands for all where it is only company.

use crate::event::{AgentId, CtaId, EventGraph, EventId};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashMap;

/// Kinds of threads of which one each is taken along.
const KINDS_MAX: usize = 6;
/// The same for a warp.
const KINDS_OF_WARP_MAX: usize = 3;

/// The same where each CTA of a cluster has its own.
const KINDS_OF_CTAS_MAX: usize = 12;

/// The instructions that a thread executes, and in which CTA where that makes a difference.
pub type Kind = (Option<CtaId>, Vec<Option<u32>>);

/// The kinds of all threads. Where CTAs access one another's memory it is a matter of which CTA a thread is of: whoever waits
/// for what a peer does to its memory keeps its CTA there.
pub fn kinds(graph: &EventGraph, events: &SortedMap<AgentId, Vec<EventId>>) -> SortedMap<AgentId, Kind> {
    let of = |is_by_cta: bool| -> SortedMap<AgentId, Kind> {
        let kind = |agent: AgentId, events: &[EventId]| {
            let sites = events.iter().map(|&event| graph.events[event].site.map(|site| site.0));
            (is_by_cta.then(|| graph.hierarchy.cta_of(agent)), sites.collect())
        };
        events.iter().map(|(&agent, events)| (agent, kind(agent, events))).collect()
    };
    let by_cta = of(!graph.peer_accesses.is_empty());
    if first_of_kinds(&by_cta, by_cta.keys().copied()).len() <= KINDS_OF_CTAS_MAX {
        by_cta
    } else {
        of(false)
    }
}

/// The first thread of each kind.
pub fn company(kinds: &SortedMap<AgentId, Kind>) -> SortedSet<AgentId> {
    let first = first_of_kinds(kinds, kinds.keys().copied());
    let is_by_cta = kinds.values().next().is_some_and(|(cta, _)| cta.is_some());
    if is_by_cta || first.len() <= KINDS_MAX { first } else { SortedSet::new() }
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
