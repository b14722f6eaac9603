//! Why the first of two events need not come before the second, where a rule wants that: an mbarrier's initialisation and
//! its use, an operation and what takes its object away, a wait for a phase and the arrivals of the next one.

use super::chain::{Links, StepKind};
use super::{Explanation, Reason};
use crate::event::{EventGraph, EventId, EventKind, MbarrierRole};
use crate::findings::mbarrier::PHASE_NOT_WAITED_FOR;
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// Adds what is missing.
pub(super) fn explain(
    graph: &EventGraph,
    model: &MemoryModel,
    witness: &Witness,
    (first, second): (EventId, EventId),
    explanation: &mut Explanation,
) {
    let reason = if explanation.code == PHASE_NOT_WAITED_FOR.code {
        not_waited_for(graph, witness, first)
    } else {
        Links::new(graph, model, witness)
            .and_then(|links| not_before(graph, witness, &links, (first, second)))
    };
    if let Some(reason) = reason {
        explanation.add_rules(reason.rules());
        explanation.reasons.push(reason);
    }
}

/// What breaks the way from one event to the other, or that there is none; nothing if they are in order.
fn not_before(
    graph: &EventGraph,
    witness: &Witness,
    links: &Links<'_>,
    (first, second): (EventId, EventId),
) -> Option<Reason> {
    if graph.events[first].agent.is_none() || graph.events[second].agent.is_none() {
        return None;
    }
    if let Some(mut chain) = links.chain(first, second) {
        let is_ordered = chain.steps.iter().all(|step| step.kind != StepKind::Attempt);
        return if is_ordered { None } else { links.broken_link(&mut chain) };
    }
    if graph.is_of_operation(first) {
        let known = links.known_by(first);
        return Some(Reason::NotCompleted { event: first, other: second, known });
    }
    let pair = (first, second);
    super::relay::explain(graph, witness, links, pair)
        .or_else(|| super::handover::unseen(graph, witness, pair))
        .or_else(|| super::handover::too_soon(graph, witness, pair))
        .or_else(|| {
            let met = super::relay::met(graph, witness, pair);
            (graph.events[first].agent != graph.events[second].agent).then_some(Reason::NothingObserved {
                earlier: first,
                later: second,
                met,
            })
        })
}

/// Who waits for the phase before that of an arrival, if anybody does.
fn not_waited_for(graph: &EventGraph, witness: &Witness, arrival: EventId) -> Option<Reason> {
    let EventKind::Mbarrier(operation) = graph.events[arrival].kind else { return None };
    let object = operation.object;
    let phase = super::handover::phase_of(graph, witness, object, arrival)?.checked_sub(1)?;
    let is_wait = |&event: &EventId| {
        matches!(graph.events[event].kind, EventKind::Mbarrier(of)
            if of.object == object && of.role == MbarrierRole::Wait)
    };
    let passed =
        |&event: &EventId| super::handover::signals_phase(graph, witness, object, event) == Some(phase);
    let done = witness.execution.executed.iter().filter(is_wait).find(passed);
    let wait = done.or_else(|| graph.events.ids().find(is_wait));
    Some(Reason::NobodyHasWaited { object, phase, arrival, wait, is_done: done.is_some() })
}
