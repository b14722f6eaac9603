//! Near-steps at the barriers of a CTA: an arrival, and a wait for a generation that others made up, or at another barrier.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way, last_of_each};
use super::neighbours::met;
use crate::event::{EventId, EventKind};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedSet;

/// Waits before the end of a way, each of another thread, that are looked at.
const WAITS_MAX: usize = 16;

/// Before the end of the way somebody passes a barrier at which the thread of the start has not arrived; and after the start
/// that one arrives there for others, or at another barrier.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let hierarchy = &graph.hierarchy;
    let (access, other) = (way.earlier, way.later);
    let (Some(first), Some(second)) = (graph.events[access].agent, graph.events[other].agent) else {
        return Vec::new();
    };
    if graph.is_of_operation(access)
        || graph.is_of_operation(other)
        || hierarchy.warp_of(first) == hierarchy.warp_of(second)
    {
        return Vec::new();
    }
    let name = |event: EventId| {
        let meeting = graph.meetings.get(&event)?;
        meeting.is_of_cta.then_some(&*meeting.name)
    };
    let is_at_barrier = |event: &EventId| name(*event).is_some();
    let position = |event: EventId| graph.events[event].position;
    let is_wait = |event: &EventId| matches!(graph.events[*event].kind, EventKind::BarrierWait);
    let is_arrival = |event: &EventId| matches!(graph.events[*event].kind, EventKind::BarrierArrive);
    let is_own = |event: &EventId| graph.events[*event].agent == Some(first);
    let arrivals = search.executed().filter(|event| is_arrival(event) && is_own(event));
    let arrivals = arrivals.filter(|event| is_at_barrier(event) && way.after(*event).is_some());
    let mut arrivals: Vec<EventId> = arrivals.collect();
    arrivals.sort_by_key(|&event| position(event));
    let waits = search.executed().filter(|event| is_wait(event) && is_at_barrier(event));
    let waits = last_of_each(search, way, waits.filter(|&event| way.before(event).is_some()).collect());
    let barriers = search.relation(BaseRelation::BarrierSynchronization);
    let mut found = Vec::new();
    for wait in waits.into_iter().take(WAITS_MAX) {
        let cta = |of| hierarchy.cta_of(of);
        if graph.events[wait].agent.is_none_or(|of| cta(of) != cta(first)) {
            continue;
        }
        let made_up = search.executed().filter(|&event| barriers.contains(event, wait));
        let agents = made_up.filter_map(|event| graph.events[event].agent);
        let warps: SortedSet<u32> = agents.map(|agent| hierarchy.threads[agent].warp).collect();
        if warps.is_empty() || warps.contains(&hierarchy.threads[first].warp) {
            continue;
        }
        let is_there = |event: &EventId| name(*event) == name(wait);
        let Some(arrival) = arrivals.iter().copied().find(is_there).or(arrivals.first().copied()) else {
            continue;
        };
        let is_there = is_there(&arrival);
        // Where the two have met at another barrier before, that one is as likely for something else.
        if is_there || (graph.events[wait].agent == Some(second) && met(search, (access, other)).0.is_none())
        {
            let by = warps.into_iter().collect();
            let reasons = vec![Reason::OtherGeneration { access, other, arrival, wait, is_there, by }];
            found.push(Near::new((arrival, wait), Relaxed::Generation, reasons));
        }
    }
    found
}
