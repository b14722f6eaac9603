//! Why nothing leads from one access to the other although threads do hand over: a phase that others completed, and a way
//! back that nobody gives.

use super::chain::{Links, StepKind};
use super::reason::Reason;
use crate::event::{Access, AgentId, EventGraph, EventId, EventKind, LocationId, MbarrierId, MbarrierRole};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;

/// A better reason than that nothing was observed, if there is one.
pub(super) fn explain(
    graph: &EventGraph,
    witness: &Witness,
    links: &Links<'_>,
    (earlier, later): (EventId, EventId),
) -> Option<Reason> {
    let completed = |pair, by_itself| completed_early(graph, witness, pair, by_itself);
    completed((earlier, later), false)
        .or_else(|| completed((later, earlier), false))
        .or_else(|| no_way_back(graph, witness, links, (earlier, later)))
        .or_else(|| completed((earlier, later), true))
}

/// After the first access its thread arrives at an mbarrier, and before the second its thread waits there; but the phase
/// that it passed was completed by others; or by its own thread before that.
fn completed_early(
    graph: &EventGraph,
    witness: &Witness,
    (earlier, later): (EventId, EventId),
    by_itself: bool,
) -> Option<Reason> {
    let relations = &witness.basis.relations;
    let order = &relations[&BaseRelation::ProgramOrder];
    let signals = &relations[&BaseRelation::Signals];
    let executed = || witness.execution.executed.iter();
    let role = |event: EventId| match graph.events[event].kind {
        EventKind::Mbarrier(operation) => Some((operation.object, operation.role)),
        _ => None,
    };
    let arrivals = executed().filter(|&event| order.contains(earlier, event));
    for arrival in arrivals {
        let Some((object, MbarrierRole::Arrive)) = role(arrival) else { continue };
        let waits = executed().filter(|&event| order.contains(event, later));
        let mut waits = waits.filter(|&event| role(event) == Some((object, MbarrierRole::Wait)));
        let Some(wait) = waits.by_ref().max_by_key(|&event| graph.events[event].position) else { continue };
        if signals.contains(arrival, wait) {
            continue;
        }
        let phase = |event: EventId| phase_of(graph, witness, object, event);
        let signalling: Vec<EventId> = executed().filter(|&event| signals.contains(event, wait)).collect();
        let Some(passed) = signalling.iter().filter_map(|&event| phase(event)).max() else {
            return Some(Reason::PassedAtOnce { object, wait });
        };
        let went = phase(arrival)?;
        if went <= passed {
            continue;
        }
        // The wait before it in its thread, if that has passed the same phase.
        let passes = |event: EventId| signals_phase(graph, witness, object, event);
        let before = executed().filter(|&event| order.contains(event, wait));
        let mut before = before.filter(|&event| role(event) == Some((object, MbarrierRole::Wait)));
        if let Some(before) = before.find(|&event| passes(event) == Some(passed)) {
            return Some(Reason::SamePhaseAgain { object, wait, before, passed });
        }
        let mut by: Vec<AgentId> = Vec::new();
        for event in signalling.into_iter().filter(|&event| phase(event) == Some(passed)) {
            by.extend(graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent)));
        }
        by.sort_unstable();
        by.dedup();
        // A thread's next arrival comes later in any case; but its waits may be a phase early since one that did not wait.
        let is_own = graph.events[arrival].agent.is_some_and(|of| by.contains(&graph.hierarchy.issuer(of)));
        if is_own {
            if let Some((before, wait, passed)) = repeated(graph, witness, object, wait) {
                return Some(Reason::SamePhaseAgain { object, wait, before, passed });
            }
            if !by_itself {
                continue;
            }
        }
        return Some(Reason::CompletedByOthers { object, wait, arrival, passed, went, by });
    }
    None
}

/// A wait for an operation that was none: it passed the phase before the first, or one that it had passed before.
pub(super) fn early_wait(
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
    let is_wait = |event: EventId| {
        let EventKind::Mbarrier(of) = graph.events[event].kind else { return false };
        of.object == object && of.role == MbarrierRole::Wait
    };
    let own = witness.execution.executed.iter();
    let own = own.filter(|&event| is_wait(event) && (event == last || order.contains(event, last)));
    let mut waits: Vec<EventId> = own.collect();
    waits.sort_by_key(|&event| graph.events[event].position);
    waits.windows(2).find_map(|pair| {
        let passed = |event: EventId| signals_phase(graph, witness, object, event);
        (passed(pair[0]) == passed(pair[1])).then_some((pair[0], pair[1], passed(pair[1])?))
    })
}

/// The phase that a wait passed, as the arrivals say that it knows of.
pub(super) fn signals_phase(
    graph: &EventGraph,
    witness: &Witness,
    object: MbarrierId,
    wait: EventId,
) -> Option<u128> {
    let signals = &witness.basis.relations[&BaseRelation::Signals];
    let known = witness.execution.executed.iter().filter(|&event| signals.contains(event, wait));
    known.filter_map(|event| phase_of(graph, witness, object, event)).max()
}

pub(super) fn phase_of(
    graph: &EventGraph,
    witness: &Witness,
    object: MbarrierId,
    event: EventId,
) -> Option<u128> {
    let operations = &graph.mbarriers[object].operations;
    let own = operations.iter().find(|operation| operation.event == event && operation.arrivals > 0)?;
    Some(witness.values[own.phase])
}

/// A read of what its writer has handed over, and the writer's next write, which nothing makes wait for the read.
fn no_way_back(
    graph: &EventGraph,
    witness: &Witness,
    links: &Links<'_>,
    (earlier, later): (EventId, EventId),
) -> Option<Reason> {
    let reads = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
    let (read, write) = match (reads(earlier), reads(later)) {
        (true, false) => (earlier, later),
        (false, true) => (later, earlier),
        _ => return None,
    };
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let access = graph.events[write].kind.access()?;
    let is_earlier_one = |event: &EventId| {
        let same = graph.events[*event].kind.access().is_some_and(|other| {
            matches!(graph.events[*event].kind, EventKind::Write(_))
                && other.location == access.location
                && witness.values[other.offset] == witness.values[access.offset]
        });
        same && order.contains(*event, write)
    };
    let writes = witness.execution.executed.iter().filter(is_earlier_one);
    let first = writes.max_by_key(|&event| graph.events[event].position)?;
    let chain = links.chain(first, read)?;
    let is_ordered = chain.steps.iter().all(|step| step.kind != StepKind::Attempt);
    let late = signal_after(graph, witness, (read, write)).filter(|found| found.is_there);
    let late = late.map(|found| (found.signal, found.look));
    is_ordered.then_some(Reason::NoWayBack { read, write, first, late })
}

/// A signal, and where the thread that should have seen it looks instead.
struct Unseen {
    signal: EventId,
    look: EventId,
    /// Whether it looks there, only too early; else at another element.
    is_there: bool,
}

/// What the thread of an access signals afterwards, at an object at which the thread of the other access looks before that,
/// and does not see it.
fn signal_after(
    graph: &EventGraph,
    witness: &Witness,
    (access, other): (EventId, EventId),
) -> Option<Unseen> {
    let relations = &witness.basis.relations;
    let (order, missed) = (&relations[&BaseRelation::ProgramOrder], &relations[&BaseRelation::FromReads]);
    let executed = &witness.execution.executed;
    let place = |event: EventId| {
        let own = graph.events[event].kind.access()?;
        Some((own.location, witness.values[own.offset]))
    };
    let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
    let looks = executed.iter().filter(|&event| order.contains(event, other));
    let looks: Vec<EventId> = looks.filter(|&event| is_read(event) && is_strong(graph, event)).collect();
    let signals = executed.iter().filter(|&event| order.contains(access, event));
    let signals = signals.filter(|&event| !is_read(event) && is_strong(graph, event));
    let last = |is_it: &dyn Fn(&(LocationId, u128)) -> bool| {
        let there = looks.iter().copied().filter(|&look| place(look).as_ref().is_some_and(is_it));
        there.max_by_key(|&look| graph.events[look].position)
    };
    let found = signals.filter_map(|signal| {
        let of = place(signal)?;
        match last(&|own| *own == of) {
            Some(look) => missed.contains(look, signal).then_some(Unseen { signal, look, is_there: true }),
            None => last(&|own| own.0 == of.0).map(|look| Unseen { signal, look, is_there: false }),
        }
    });
    found.min_by_key(|found| (!found.is_there, graph.events[found.signal].position))
}

/// That a thread signals what it has done with an access, and the other one does not see it.
pub(super) fn unseen(
    graph: &EventGraph,
    witness: &Witness,
    (earlier, later): (EventId, EventId),
) -> Option<Reason> {
    // A read that did not see a write should mostly have come before it.
    let missed = &witness.basis.relations[&BaseRelation::FromReads];
    let mut ways = [(earlier, later), (later, earlier)];
    if missed.contains(later, earlier) {
        ways.reverse();
    }
    ways.into_iter().find_map(|(access, other)| {
        let Unseen { signal, look, is_there } = signal_after(graph, witness, (access, other))?;
        Some(Reason::NotSeen { access, other, signal, look, is_there })
    })
}

/// That the thread of an access signals before it, where the thread of the other one sees that before the other one.
pub(super) fn too_soon(
    graph: &EventGraph,
    witness: &Witness,
    (access, other): (EventId, EventId),
) -> Option<Reason> {
    let relations = &witness.basis.relations;
    let order = &relations[&BaseRelation::ProgramOrder];
    let seen = &relations[&BaseRelation::ReadsFrom];
    let signals = |&signal: &EventId| order.contains(signal, access) && is_strong(graph, signal);
    let signals = witness.execution.executed.iter().filter(signals);
    let pairs = signals.flat_map(|signal| {
        let looks = seen.successors(signal);
        looks
            .filter(|&look| order.contains(look, other) && is_strong(graph, look))
            .map(move |look| (signal, look))
    });
    let (signal, look) = pairs.max_by_key(|&(signal, look)| {
        let position = |event: EventId| graph.events[event].position;
        (position(signal), position(look))
    })?;
    Some(Reason::TooSoon { access, other, signal, look })
}

/// The same of an arrival, at a barrier or an mbarrier, which the other thread's last wait before the other access was for.
pub(super) fn arrived_too_soon(
    graph: &EventGraph,
    witness: &Witness,
    (access, other): (EventId, EventId),
) -> Option<Reason> {
    let relations = &witness.basis.relations;
    let order = &relations[&BaseRelation::ProgramOrder];
    let (met, signals) =
        (&relations[&BaseRelation::BarrierSynchronization], &relations[&BaseRelation::Signals]);
    let position = |event: &EventId| graph.events[*event].position;
    let waits = |event: &EventId| match graph.events[*event].kind {
        EventKind::BarrierWait => true,
        EventKind::Mbarrier(operation) => operation.role == MbarrierRole::Wait,
        _ => false,
    };
    let executed = || witness.execution.executed.iter();
    let looks = executed().filter(|&event| order.contains(event, other) && waits(&event));
    let look = looks.max_by_key(position)?;
    let is_own = |event: EventId| graph.events[event].agent == graph.events[access].agent;
    // Who waits at a barrier meets the others there, and does not go on before they come.
    let only_arrives = |event: EventId| {
        let site = graph.events[event].site;
        let mut waiting = executed().filter(|own| waits(own) && is_own(*own));
        !waiting.any(|own| graph.events[own].site == site)
    };
    let arrivals = executed().filter(|&event| is_own(event) && order.contains(event, access));
    let arrivals = arrivals.filter(|&event| met.contains(event, look) || signals.contains(event, look));
    let signal = arrivals.filter(|&event| only_arrives(event)).max_by_key(position)?;
    // Where it did hand over what its thread had written there, and is not told that it may write again.
    let is_again = |event: EventId| {
        let own = graph.events[event].kind.access();
        let of = graph.events[access].kind.access();
        matches!(graph.events[event].kind, EventKind::Write(_))
            && own.zip(of).is_some_and(|(own, of)| {
                own.location == of.location && witness.values[own.offset] == witness.values[of.offset]
            })
    };
    if is_again(access) && executed().any(|event| order.contains(event, signal) && is_again(event)) {
        return None;
    }
    // Between the two its thread has waited for nothing else: what it does then was meant to be handed over as well.
    let is_between = |own: &EventId| order.contains(signal, *own) && order.contains(*own, access);
    let has_waited = executed().any(|own| waits(&own) && is_own(own) && is_between(&own));
    (!has_waited).then_some(Reason::TooSoon { access, other, signal, look })
}

/// The same of a signal that the other thread knows of by whatever leads there, as where a neighbour has seen it and passed
/// it on.
pub(super) fn learnt_too_soon(
    graph: &EventGraph,
    witness: &Witness,
    links: &Links<'_>,
    (access, other): (EventId, EventId),
) -> Option<Reason> {
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let executed = || witness.execution.executed.iter();
    let position = |event: &EventId| graph.events[*event].position;
    let waits = |event: EventId| match graph.events[event].kind {
        EventKind::BarrierWait => true,
        EventKind::Mbarrier(operation) => operation.role == MbarrierRole::Wait,
        EventKind::Read(_) => is_strong(graph, event),
        _ => false,
    };
    let is_signal =
        |event: EventId| matches!(graph.events[event].kind, EventKind::Write(_)) && is_strong(graph, event);
    let before = executed().filter(|&event| is_signal(event) && order.contains(event, access));
    let signal = before.max_by_key(position)?;
    let has_waited = executed()
        .any(|event| waits(event) && order.contains(signal, event) && order.contains(event, access));
    let known = links.ordered_after(signal);
    if has_waited || !known.contains(other) {
        return None;
    }
    let looks = executed().filter(|&event| waits(event) && order.contains(event, other));
    let look = looks.filter(|&event| known.contains(event)).min_by_key(position)?;
    Some(Reason::TooSoon { access, other, signal, look })
}

fn is_strong(graph: &EventGraph, event: EventId) -> bool {
    graph.events[event].kind.access().is_some_and(Access::is_strong)
}
