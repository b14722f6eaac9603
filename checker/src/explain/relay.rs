//! Why nothing leads from one access to the other although another thread beside one of them is in order: it signals for
//! its neighbour, or has learnt what its neighbour has not. And where two threads meet, before and after.

use super::chain::Links;
use super::reason::Reason;
use crate::bits::EventSet;
use crate::event::{AgentId, EventGraph, EventId};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::vocabulary::Scope;

/// Neighbours' events that are looked at, nearest first.
const RELAYS_MAX: usize = 64;

/// Where two threads meet last before both accesses, and first after both: the later one's part of the barrier.
pub(super) fn met(
    graph: &EventGraph,
    witness: &Witness,
    (earlier, later): (EventId, EventId),
) -> (Option<EventId>, Option<EventId>) {
    let relations = &witness.basis.relations;
    let order = &relations[&BaseRelation::ProgramOrder];
    let barriers = &relations[&BaseRelation::BarrierSynchronization];
    let agents = (graph.events[earlier].agent, graph.events[later].agent);
    let of = |event: EventId| graph.events[event].agent;
    let pairs =
        || barriers.pairs().filter(|&(from, to)| (of(from), of(to)) == agents && agents.0 != agents.1);
    let before = pairs().filter(|&(from, to)| order.contains(from, earlier) && order.contains(to, later));
    let after = pairs().filter(|&(from, to)| order.contains(earlier, from) && order.contains(later, to));
    let position = |&(_, to): &(EventId, EventId)| graph.events[to].position;
    let end = |pair: Option<(EventId, EventId)>| pair.map(|(_, to)| to);
    (end(before.max_by_key(position)), end(after.min_by_key(position)))
}

/// A neighbour that is in order with the other access, if there is one.
pub(super) fn explain(
    graph: &EventGraph,
    witness: &Witness,
    links: &Links<'_>,
    (earlier, later): (EventId, EventId),
) -> Option<Reason> {
    if graph.is_of_operation(earlier) || graph.is_of_operation(later) {
        return None;
    }
    let (first, second) = (graph.events[earlier].agent?, graph.events[later].agent?);
    let (known, next) = (links.ordered_after(earlier), links.ordered_after(later));
    let neighbours = |of: AgentId| neighbours(graph, &witness.execution.executed, of, (first, second));
    // It has learnt of (1), and the thread of (2) has not.
    let mut learnt: Vec<(Scope, u32, EventId)> =
        neighbours(second).filter(|&(_, _, id)| known.contains(id) && !next.contains(id)).collect();
    learnt.sort();
    // It signals for (1), which its own accesses come before, and not that.
    let mut signals: Vec<(Scope, u32, EventId)> =
        neighbours(first).filter(|&(_, _, id)| !next.contains(id) && !known.contains(id)).collect();
    signals.sort_by_key(|&(scope, position, id)| (scope, std::cmp::Reverse(position), id));
    let mut signals = signals.into_iter().take(RELAYS_MAX);
    let signal = signals.find(|&(_, _, id)| {
        let after = links.ordered_after(id);
        after.contains(later) && !after.contains(earlier)
    });
    match (learnt.first(), signal) {
        (Some(&(near, _, relay)), other) if other.is_none_or(|(scope, _, _)| near <= scope) => {
            Some(Reason::NotPassedOn { access: later, relay, is_signal: false })
        }
        (_, Some((_, _, relay))) => Some(Reason::NotPassedOn { access: earlier, relay, is_signal: true }),
        (_, None) => None,
    }
}

/// What other threads of the cluster of a thread have executed: how near they are, and when in their program.
fn neighbours(
    graph: &EventGraph,
    executed: &EventSet,
    of: AgentId,
    (first, second): (AgentId, AgentId),
) -> impl Iterator<Item = (Scope, u32, EventId)> {
    executed.iter().filter_map(move |id| {
        let event = &graph.events[id];
        let agent = event.agent.filter(|&agent| agent != first && agent != second)?;
        let scope = graph.hierarchy.common_scope(agent, of);
        let is_near = scope <= Scope::Cluster && !graph.is_of_operation(id) && event.site.is_some();
        is_near.then_some((scope, event.position, id))
    })
}
