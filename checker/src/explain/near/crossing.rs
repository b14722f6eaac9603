//! Two threads that each store and then look at what the other stores, and neither sees the other: store buffering. Releases
//! and acquires do not forbid it, only `fence.sc` on both sides does.

use super::super::reads::reads_in;
use super::super::reason::{Reason, Side};
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{AgentId, EventGraph, EventId, EventKind, Role};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::FenceSem;

/// Loads that are looked at, of each thread, the last first.
const LOADS_MAX: usize = 32;

impl Side {
    /// Whether it has the fence that its side needs.
    pub fn is_fenced(&self, graph: &EventGraph, other: &Self) -> bool {
        self.fence.is_some_and(|fence| is_total(graph, fence) && reaches(graph, fence, other.store))
    }
}

/// Whether it is a `fence.sc`.
pub fn is_total(graph: &EventGraph, fence: EventId) -> bool {
    matches!(graph.events[fence].kind, EventKind::Fence { sem: FenceSem::Sc, .. })
}

/// Neither thread would have come to its end of the way, had it seen the other.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let (graph, witness) = (search.graph, search.witness);
    let of = |event: EventId| {
        let loads = deciding(graph, witness, event).into_iter().filter(|&load| strong_read(graph, load));
        Some((graph.events[event].agent?, loads.collect::<Vec<EventId>>()))
    };
    let sides = of(way.earlier).zip(of(way.later));
    let reason = sides.and_then(|((first, first_loads), (second, second_loads))| {
        between(graph, witness, (first, &first_loads), (second, &second_loads))
    });
    let ends = (way.earlier, way.later);
    let near = |reason| Near::new(ends, Relaxed::Total, vec![reason]);
    reason.map(near).into_iter().collect()
}

/// Of a condition that depends on some reads, or on last writes of what some reads have returned: a thread that read them,
/// and any other one, did not see each other.
pub fn of_condition(graph: &EventGraph, witness: &Witness, reads: &[EventId]) -> Option<Reason> {
    let executed = &witness.execution.executed;
    let mut by_agent: SortedMap<AgentId, Vec<EventId>> = SortedMap::new();
    for &event in reads {
        let loads = match &graph.events[event].kind {
            EventKind::Write(access) => reads_in(graph, [access.value, graph.events[event].guard]).collect(),
            _ => vec![event],
        };
        for load in loads.into_iter().filter(|&load| strong_read(graph, load)) {
            if let Some(agent) = graph.events[load].agent {
                by_agent.entry(agent).or_default().push(load);
            }
        }
    }
    let agents: SortedSet<AgentId> = executed.iter().filter_map(|event| graph.events[event].agent).collect();
    by_agent.iter().find_map(|(&agent, own)| {
        agents.iter().filter(|&&other| other != agent).find_map(|&other| {
            let loads = executed.iter().filter(|&event| graph.events[event].agent == Some(other));
            let loads: Vec<EventId> = loads.filter(|&event| strong_read(graph, event)).collect();
            between(graph, witness, (agent, own), (other, &loads))
        })
    })
}

/// The loads that decide whether, and where, an access is made: all that its guard and its address depend on, and those
/// with which a wait before it ended.
pub fn deciding(graph: &EventGraph, witness: &Witness, access: EventId) -> Vec<EventId> {
    let of = &graph.events[access];
    let terms = [Some(of.guard), of.kind.access().map(|own| own.offset)];
    let mut loads: SortedSet<EventId> = reads_in(graph, terms.into_iter().flatten()).collect();
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let executed = witness.execution.executed.iter();
    loads.extend(
        executed.filter(|&event| graph.events[event].role == Role::Await && order.contains(event, access)),
    );
    let is_own = |&event: &EventId| {
        graph.events[event].agent == of.agent && matches!(graph.events[event].kind, EventKind::Read(_))
    };
    loads.into_iter().filter(is_own).collect()
}

/// Two loads, of one thread and of the other, that each miss what the other thread stored before its load.
fn between(
    graph: &EventGraph,
    witness: &Witness,
    (first, first_loads): (AgentId, &[EventId]),
    (second, second_loads): (AgentId, &[EventId]),
) -> Option<Reason> {
    let relations = &witness.basis.relations;
    let (order, missed) = (&relations[&BaseRelation::ProgramOrder], &relations[&BaseRelation::FromReads]);
    let executed = &witness.execution.executed;
    let last = |loads: &[EventId]| {
        let mut loads: Vec<EventId> = loads.iter().copied().filter(|&load| executed.contains(load)).collect();
        loads.sort_by_key(|&load| std::cmp::Reverse((graph.events[load].position, load)));
        loads.truncate(LOADS_MAX);
        loads
    };
    // What a load misses of the other thread, the first of it, is what that thread must have stored before its own load.
    let missed_of = |load: EventId, agent: AgentId| {
        let own = missed.successors(load).filter(move |&write| graph.events[write].agent == Some(agent));
        own.filter(|&write| strong_write(graph, write)).min_by_key(|&write| graph.events[write].position)
    };
    let second_loads = last(second_loads);
    for load in last(first_loads) {
        let Some(theirs) = missed_of(load, second) else { continue };
        for &other in &second_loads {
            let Some(ours) = missed_of(other, first) else { continue };
            if order.contains(ours, load) && order.contains(theirs, other) {
                let side = |store, load, reached| Side {
                    store,
                    load,
                    fence: fence_between(graph, witness, (store, load), reached),
                };
                let sides = [side(ours, load, theirs), side(theirs, other, ours)];
                let is_forbidden =
                    sides[0].is_fenced(graph, &sides[1]) && sides[1].is_fenced(graph, &sides[0]);
                if !is_forbidden {
                    return Some(Reason::NeitherSees { sides });
                }
            }
        }
    }
    None
}

/// The best fence of a thread between two of its events: `fence.sc` rather than another, that reaches the other thread.
fn fence_between(
    graph: &EventGraph,
    witness: &Witness,
    (store, load): (EventId, EventId),
    other: EventId,
) -> Option<EventId> {
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let is_between = |&event: &EventId| {
        matches!(graph.events[event].kind, EventKind::Fence { .. })
            && order.contains(store, event)
            && order.contains(event, load)
    };
    let fences = witness.execution.executed.iter().filter(is_between);
    fences.max_by_key(|&fence| (is_total(graph, fence), reaches(graph, fence, other), fence))
}

fn reaches(graph: &EventGraph, fence: EventId, other: EventId) -> bool {
    let (EventKind::Fence { scope, .. }, Some(own), Some(agent)) =
        (&graph.events[fence].kind, graph.events[fence].agent, graph.events[other].agent)
    else {
        return false;
    };
    graph.hierarchy.in_scope(own, agent, *scope)
}

fn strong_read(graph: &EventGraph, event: EventId) -> bool {
    matches!(&graph.events[event].kind, EventKind::Read(access) if access.is_strong())
}

fn strong_write(graph: &EventGraph, event: EventId) -> bool {
    matches!(&graph.events[event].kind, EventKind::Write(access) if access.is_strong())
}
