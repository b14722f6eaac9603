//! Why a barrier does not hand over what it seems to: others made up the generation that was passed, or the two threads go
//! to different barriers.

use super::reason::Reason;
use crate::event::{EventGraph, EventId, EventKind};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use std::collections::BTreeSet;

/// The thread of the second access passes a barrier before it, at which that of the first has not arrived; and after the
/// first access that one arrives there for others, or at another barrier.
pub(super) fn explain(
    graph: &EventGraph,
    witness: &Witness,
    (earlier, later): (EventId, EventId),
) -> Option<Reason> {
    let (first, second) = (graph.events[earlier].agent?, graph.events[later].agent?);
    let hierarchy = &graph.hierarchy;
    let of_one_warp = hierarchy.warp_of(first) == hierarchy.warp_of(second);
    let of_one_cta = hierarchy.cta_of(first) == hierarchy.cta_of(second);
    if graph.is_of_operation(earlier) || graph.is_of_operation(later) || of_one_warp || !of_one_cta {
        return None;
    }
    let relations = &witness.basis.relations;
    let order = &relations[&BaseRelation::ProgramOrder];
    let barriers = &relations[&BaseRelation::BarrierSynchronization];
    let executed = || witness.execution.executed.iter();
    let name = |event: EventId| {
        let meeting = graph.meetings.get(&event)?;
        meeting.is_of_cta.then_some(&*meeting.name)
    };
    let is_wait = |event: EventId| matches!(graph.events[event].kind, EventKind::BarrierWait);
    let is_arrival = |event: EventId| matches!(graph.events[event].kind, EventKind::BarrierArrive);
    let position = |event: &EventId| graph.events[*event].position;
    let waits = executed().filter(|&event| is_wait(event) && name(event).is_some());
    let wait = waits.filter(|&event| order.contains(event, later)).max_by_key(position)?;
    let warps: BTreeSet<u32> = executed()
        .filter(|&event| barriers.contains(event, wait))
        .filter_map(|event| graph.events[event].agent)
        .map(|agent| hierarchy.threads[agent].warp)
        .collect();
    if warps.is_empty() || warps.contains(&hierarchy.threads[first].warp) {
        return None;
    }
    let arrivals = executed().filter(|&event| is_arrival(event) && name(event).is_some());
    let arrivals = arrivals.filter(|&event| order.contains(earlier, event));
    let mut arrivals: Vec<EventId> = arrivals.collect();
    arrivals.sort_by_key(position);
    let is_there = |event: &EventId| name(*event) == name(wait);
    let arrival = arrivals.iter().copied().find(is_there).or(arrivals.first().copied())?;
    let is_there = is_there(&arrival);
    let has_met = || super::relay::met(graph, witness, (earlier, later)).0.is_some();
    // Where the two have met at another barrier before, that one is as likely for something else.
    (is_there || !has_met()).then(|| Reason::OtherGeneration {
        access: earlier,
        other: later,
        arrival,
        wait,
        is_there,
        by: warps.into_iter().collect(),
    })
}
