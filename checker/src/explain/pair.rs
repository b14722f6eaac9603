//! Why the first of two events need not come before the second, where a rule wants that: an mbarrier's initialisation and
//! its use, an operation and what takes its object away, a wait for a phase and the arrivals of the next one.

use super::explanation::Explanation;
use super::near;
use super::near::HAND_OVERS;
use super::near::phases::{is_wait, phase_of, signals_phase};
use super::reason::Reason;
use super::search::{Chain, Kind, Search};
use crate::event::{EventId, EventKind};
use crate::findings::mbarrier::PHASE_NOT_WAITED_FOR;

/// Adds what is missing.
pub(super) fn explain(
    search: &Search<'_>,
    (first, second): (EventId, EventId),
    explanation: &mut Explanation,
) {
    let reasons = if explanation.code == PHASE_NOT_WAITED_FOR.code {
        not_waited_for(search, first).into_iter().collect()
    } else {
        not_before(search, (first, second))
    };
    explanation.add_rules(reasons.iter().flat_map(Reason::rules));
    explanation.reasons.extend(reasons);
}

/// What breaks the way from one event to the other, or that there is none; nothing if they are in order.
fn not_before(search: &Search<'_>, pair: (EventId, EventId)) -> Vec<Reason> {
    let graph = search.graph;
    let (first, second) = pair;
    let Some(links) = search.links() else { return Vec::new() };
    if graph.events[first].agent.is_none() || graph.events[second].agent.is_none() {
        return Vec::new();
    }
    let is_ordered = |chain: Chain| chain.n_attempts() == 0;
    if links.chain(first, second).is_some_and(is_ordered) {
        return Vec::new();
    }
    // What is asked for is this direction only.
    let mut kinds: Vec<Kind> = vec![near::strength::near];
    if graph.is_of_operation(first) {
        kinds.push(near::operations::near);
    }
    kinds.extend(HAND_OVERS);
    let found = search.forth(pair, &kinds);
    let nothing = || {
        let met = near::neighbours::met(search, pair);
        let is_of_two = graph.events[first].agent != graph.events[second].agent;
        let reason = Reason::NothingObserved { earlier: first, later: second, met };
        is_of_two.then_some(reason).into_iter().collect()
    };
    found.map_or_else(nothing, |found| found.reasons)
}

/// Who waits for the phase before that of an arrival, if anybody does.
fn not_waited_for(search: &Search<'_>, arrival: EventId) -> Option<Reason> {
    let (graph, witness) = (search.graph, search.witness);
    let EventKind::Mbarrier(operation) = graph.events[arrival].kind else { return None };
    let object = operation.object;
    let phase = phase_of(graph, witness, object, arrival)?.checked_sub(1)?;
    let is_wait = |&event: &EventId| is_wait(graph, object, event);
    let passed = |&event: &EventId| signals_phase(graph, witness, object, event) == Some(phase);
    let done = search.executed().filter(is_wait).find(passed);
    let wait = done.or_else(|| graph.events.ids().find(is_wait));
    Some(Reason::NobodyHasWaited { object, phase, arrival, wait, is_done: done.is_some() })
}
