//! Near-steps at mbarriers: an arrival, and a wait that passed an earlier phase than that of the arrival.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way, last_of_each};
use crate::event::{AgentId, EventGraph, EventId, EventKind, MbarrierId, MbarrierRole};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;

/// Arrivals at one mbarrier, and waits for it, that are looked at.
const OPERATIONS_MAX: usize = 16;

/// After the start of the way somebody arrives at an mbarrier, and before its end somebody waits there; but the phase that
/// was passed had been completed by others; or by the arriving thread before that.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let position = |event: EventId| graph.events[event].position;
    let mut objects: SortedMap<MbarrierId, [Vec<EventId>; 2]> = SortedMap::new();
    for event in search.executed() {
        let EventKind::Mbarrier(operation) = graph.events[event].kind else { continue };
        let of = objects.entry(operation.object).or_default();
        match operation.role {
            MbarrierRole::Arrive if way.after(event).is_some() => of[0].push(event),
            MbarrierRole::Wait if way.before(event).is_some() => of[1].push(event),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (object, [mut arrivals, waits]) in objects {
        arrivals.sort_by_key(|&event| (way.after(event), position(event), event));
        arrivals.truncate(OPERATIONS_MAX);
        let waits = last_of_each(search, way, waits);
        let waits = &waits[..waits.len().min(OPERATIONS_MAX)];
        let pairs = arrivals.iter().flat_map(|&arrival| waits.iter().map(move |&wait| (arrival, wait)));
        for (arrival, wait) in pairs {
            let Some((relaxed, reason)) = passed_early(search, object, (arrival, wait)) else { continue };
            // That others do not wait for a first phase is how a ring starts.
            let is_by_others = || {
                let lengths = [way.after(arrival), way.before(wait)].into_iter().flatten();
                lengths.into_iter().any(|length| length.hand_overs > 0)
            };
            if !matches!(reason, Reason::PassedAtOnce { .. }) || !is_by_others() {
                found.push(Near::new((arrival, wait), relaxed, vec![reason]));
            }
        }
    }
    found
}

/// Why a wait did not wait for an arrival.
fn passed_early(
    search: &Search<'_>,
    object: MbarrierId,
    (arrival, wait): (EventId, EventId),
) -> Option<(Relaxed, Reason)> {
    let (graph, witness) = (search.graph, search.witness);
    let signals = search.relation(BaseRelation::Signals);
    if signals.contains(arrival, wait) {
        return None;
    }
    let phase = |event: EventId| phase_of(graph, witness, object, event);
    let signalling: Vec<EventId> = search.executed().filter(|&event| signals.contains(event, wait)).collect();
    let Some(passed) = signalling.iter().filter_map(|&event| phase(event)).max() else {
        return Some((Relaxed::Phase, Reason::PassedAtOnce { object, wait }));
    };
    let went = phase(arrival).filter(|&went| went > passed)?;
    // A wait before it in its thread, if that has passed the same phase.
    let order = search.program_order();
    let is_before = |&event: &EventId| order.contains(event, wait) && is_wait(graph, object, event);
    let mut before = search.executed().filter(is_before);
    if let Some(before) = before.find(|&event| signals_phase(graph, witness, object, event) == Some(passed)) {
        return Some((Relaxed::Phase, Reason::SamePhaseAgain { object, wait, before, passed }));
    }
    let completing = signalling.into_iter().filter(|&event| phase(event) == Some(passed));
    let agents = completing.filter_map(|event| graph.events[event].agent);
    let mut by: Vec<AgentId> = agents.map(|agent| graph.hierarchy.issuer(agent)).collect();
    by.sort_unstable();
    by.dedup();
    // A thread's next arrival comes later in any case; but its waits may be a phase early since one that did not wait.
    let is_own = graph.events[arrival].agent.is_some_and(|of| by.contains(&graph.hierarchy.issuer(of)));
    if is_own && let Some((before, wait, passed)) = repeated(graph, witness, object, wait) {
        return Some((Relaxed::Phase, Reason::SamePhaseAgain { object, wait, before, passed }));
    }
    let relaxed = if is_own { Relaxed::OwnPhase } else { Relaxed::Phase };
    Some((relaxed, Reason::CompletedByOthers { object, wait, arrival, passed, went, by }))
}

/// A wait for an operation that was none: it passed the phase before the first, or one that it had passed before.
pub fn early_wait(
    graph: &EventGraph,
    witness: &Witness,
    (operation, access): (EventId, EventId),
) -> Option<Reason> {
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let agent = graph.events[operation].agent;
    let waits = witness.execution.executed.iter().filter(|&event| order.contains(event, access));
    let waits = waits.filter_map(|event| match graph.events[event].kind {
        EventKind::Mbarrier(of) if of.role == MbarrierRole::Wait => Some((of.object, event)),
        _ => None,
    });
    let (object, wait) = waits.max_by_key(|&(_, event)| graph.events[event].position)?;
    let mut completes = graph.mbarriers[object].operations.iter().map(|of| graph.events[of.event].agent);
    if completes.any(|of| of == agent) && signals_phase(graph, witness, object, wait).is_none() {
        return Some(Reason::PassedAtOnce { object, wait });
    }
    let (before, wait, passed) = repeated(graph, witness, object, wait)?;
    let is_round = graph.events[before].site == graph.events[wait].site;
    is_round.then_some(Reason::SamePhaseAgain { object, wait, before, passed })
}

/// Two waits of one thread for one mbarrier that passed the same phase, the second no later than a wait, and that phase.
fn repeated(
    graph: &EventGraph,
    witness: &Witness,
    object: MbarrierId,
    last: EventId,
) -> Option<(EventId, EventId, u128)> {
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let own = witness.execution.executed.iter();
    let own =
        own.filter(|&event| is_wait(graph, object, event) && (event == last || order.contains(event, last)));
    let mut waits: Vec<EventId> = own.collect();
    waits.sort_by_key(|&event| graph.events[event].position);
    waits.windows(2).find_map(|pair| {
        let passed = |event: EventId| signals_phase(graph, witness, object, event);
        (passed(pair[0]) == passed(pair[1])).then_some((pair[0], pair[1], passed(pair[1])?))
    })
}

/// Whether an event is a wait for an mbarrier.
pub fn is_wait(graph: &EventGraph, object: MbarrierId, event: EventId) -> bool {
    matches!(graph.events[event].kind, EventKind::Mbarrier(of)
        if of.object == object && of.role == MbarrierRole::Wait)
}

/// The phase that a wait passed, as the arrivals say that it knows of.
pub fn signals_phase(
    graph: &EventGraph,
    witness: &Witness,
    object: MbarrierId,
    wait: EventId,
) -> Option<u128> {
    let signals = &witness.basis.relations[&BaseRelation::Signals];
    let known = witness.execution.executed.iter().filter(|&event| signals.contains(event, wait));
    known.filter_map(|event| phase_of(graph, witness, object, event)).max()
}

pub fn phase_of(graph: &EventGraph, witness: &Witness, object: MbarrierId, event: EventId) -> Option<u128> {
    let operations = &graph.mbarriers[object].operations;
    let own = operations.iter().find(|operation| operation.event == event && operation.arrivals > 0)?;
    Some(witness.values[own.phase])
}
