//! Near-steps beside a thread that is in order: a neighbour signals for it, or has learnt what it has not, or waits where it
//! does not. And where two threads meet, before and after.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{AgentId, EventGraph, EventId, EventKind, MbarrierRole, Role};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::vocabulary::Scope;

/// Neighbours' events that are looked at, nearest first.
const RELAYS_MAX: usize = 64;

/// Where two threads meet last before both accesses, and first after both: the later one's part of the barrier, if both
/// have the same one there.
pub fn met(search: &Search<'_>, (earlier, later): (EventId, EventId)) -> (Option<EventId>, Option<EventId>) {
    let graph = search.graph;
    let order = search.program_order();
    let barriers = search.relation(BaseRelation::BarrierSynchronization);
    let agents = (graph.events[earlier].agent, graph.events[later].agent);
    let of = |event: EventId| graph.events[event].agent;
    let site = |event: EventId| graph.events[event].site;
    let pairs =
        || barriers.pairs().filter(|&(from, to)| (of(from), of(to)) == agents && agents.0 != agents.1);
    let before = pairs().filter(|&(from, to)| order.contains(from, earlier) && order.contains(to, later));
    let after = pairs().filter(|&(from, to)| order.contains(earlier, from) && order.contains(later, to));
    let position = |&(_, to): &(EventId, EventId)| graph.events[to].position;
    let end = |pair: Option<(EventId, EventId)>| {
        pair.filter(|&(from, to)| site(from) == site(to)).map(|(_, to)| to)
    };
    (end(before.max_by_key(position)), end(after.min_by_key(position)))
}

/// A neighbour that has learnt of the start of the way, beside the thread of its end; or one that signals, beside the thread
/// of its start.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let (earlier, later) = (way.earlier, way.later);
    let (Some(first), Some(second)) = (graph.events[earlier].agent, graph.events[later].agent) else {
        return Vec::new();
    };
    if graph.is_of_operation(earlier) || graph.is_of_operation(later) {
        return Vec::new();
    }
    let next = search.ordered_after(later);
    let is_known = |event: EventId| way.after(event).is_some();
    let neighbours = |of: AgentId| neighbours(graph, search.executed(), of, (first, second));
    // It has learnt of (1), and the thread of (2) has not.
    let mut learnt: Vec<(Scope, u32, EventId)> =
        neighbours(second).filter(|&(_, _, id)| is_known(id) && !next.contains(id)).collect();
    learnt.sort();
    // It signals for (1), which its own accesses come before, and not that.
    let mut signals: Vec<(Scope, u32, EventId)> =
        neighbours(first).filter(|&(_, _, id)| !next.contains(id) && !is_known(id)).collect();
    signals.sort_by_key(|&(scope, position, id)| (scope, std::cmp::Reverse(position), id));
    let mut signals = signals.into_iter().take(RELAYS_MAX);
    let signal =
        signals.find(|&(_, _, id)| way.before(id).is_some() && !search.ordered_after(id).contains(earlier));
    let near = |access: EventId, relay: EventId, is_signal: bool| {
        let reasons = vec![Reason::NotPassedOn { access, relay, is_signal }];
        vec![Near::new((earlier, later), Relaxed::Thread, reasons)]
    };
    match (learnt.first(), signal) {
        (Some(&(scope, _, relay)), other) if other.is_none_or(|(of_signal, _, _)| scope <= of_signal) => {
            near(later, relay, false)
        }
        (_, Some((_, _, relay))) => near(earlier, relay, true),
        (_, None) => Vec::new(),
    }
}

/// A wait of a thread of the CTA, in the text before the end of the way, whose thread has no such wait, and which it does not
/// order.
pub fn waits(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let (access, other) = (way.later, way.earlier);
    let of = |event: EventId| graph.events[event].agent.map(|agent| (agent, graph.hierarchy.cta_of(agent)));
    let span = |event: EventId| graph.events[event].site.map(|site| graph.sites[site].span);
    let is_wait = |event: EventId| match &graph.events[event].kind {
        EventKind::Mbarrier(operation) => operation.role == MbarrierRole::Wait,
        EventKind::Read(_) => matches!(graph.events[event].role, Role::Spin(_) | Role::Await),
        _ => false,
    };
    // In any round or call: one of them may be the wait that was meant.
    let is_passed_on = |wait: EventId, access: EventId| {
        let of = &graph.events[wait];
        let mut alike = graph.events.iter_enumerated().filter(|(id, own)| {
            own.agent == of.agent && own.site == of.site && is_wait(*id) && search.is_executed(*id)
        });
        alike.any(|(id, _)| search.ordered_after(id).contains(access))
    };
    let missing = || {
        if graph.is_of_operation(access) || of(access)?.1 == of(other)?.1 {
            return None;
        }
        let ((agent, cta), at) = (of(access)?, span(access)?);
        let has = |event: EventId| {
            let own = graph.events.iter_enumerated();
            let mut own = own.filter(|(_, own)| own.agent == Some(agent));
            own.any(|(_, own)| own.site == graph.events[event].site)
        };
        let waits = graph.events.iter_enumerated().map(|(id, _)| id).filter(|&wait| is_wait(wait));
        let mut near = waits.filter(|&wait| {
            let is_before = span(wait).is_some_and(|span| span.file == at.file && span.start < at.start);
            let is_neighbour = of(wait).is_some_and(|(own, of_cta)| own != agent && of_cta == cta);
            is_before && is_neighbour && !has(wait) && !is_passed_on(wait, access)
        });
        near.next()
    };
    let found = missing().map(|wait| {
        let reasons = vec![Reason::WaitsAlone { access, wait }];
        Near::new((other, access), Relaxed::Wait, reasons)
    });
    found.into_iter().collect()
}

/// What other threads of the cluster of a thread have executed: how near they are, and when in their program.
fn neighbours(
    graph: &EventGraph,
    executed: impl Iterator<Item = EventId>,
    of: AgentId,
    (first, second): (AgentId, AgentId),
) -> impl Iterator<Item = (Scope, u32, EventId)> {
    executed.filter_map(move |id| {
        let event = &graph.events[id];
        let agent = event.agent.filter(|&agent| agent != first && agent != second)?;
        let scope = graph.hierarchy.common_scope(agent, of);
        let is_near = scope <= Scope::Cluster && !graph.is_of_operation(id) && event.site.is_some();
        is_near.then_some((scope, event.position, id))
    })
}
