//! Near-steps from an access back to a signal that its thread has given before it: what a signal hands over is what comes
//! before it.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use super::signals::is_strong;
use crate::event::{EventId, EventKind, MbarrierRole};
use fencepost_dsl::cat::memory_model::BaseRelation;

/// Signals before an access that are looked at, the last first.
const SIGNALS_MAX: usize = 8;
/// Hand-overs to the end of the way of an arrival that is believed to be for that: one thread in between.
const HAND_OVERS_MAX: u32 = 2;

/// The way starts with the access, goes back to the signal, and on from there.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let mut found = handed_on(search, way);
    found.extend(seen(search, way));
    found
}

/// A signal that the thread of the end of the way knows of by whatever leads there.
fn handed_on(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let (access, other) = (way.earlier, way.later);
    let order = search.program_order();
    let position = |event: &EventId| graph.events[*event].position;
    let is_own = |event: EventId| graph.events[event].agent == graph.events[access].agent;
    let before = search.executed().filter(|&event| is_own(event) && order.contains(event, access));
    let mut before: Vec<EventId> = before.collect();
    before.sort_by_key(|event| std::cmp::Reverse(position(event)));
    // What its thread does after a wait was meant to be handed over by what comes behind it.
    let since_wait = before.into_iter().take_while(|&event| !waits(search, event));
    let signals = since_wait.filter_map(|event| Some((event, relaxed(search, event)?)));
    let looks = search.executed().filter(|&event| order.contains(event, other) && waits(search, event));
    let looks: Vec<EventId> = looks.collect();
    let mut found = Vec::new();
    for (signal, relaxed) in signals.take(SIGNALS_MAX) {
        if way.before(signal).is_none() {
            continue;
        }
        if is_for_another(search, (signal, access)) {
            break;
        }
        let known = search.ordered_after(signal);
        if let Some(look) = looks.iter().copied().filter(|&look| known.contains(look)).min_by_key(position) {
            // Where it comes by several others, it may have been for them.
            let is_near = way.before(signal).is_some_and(|length| length.hand_overs <= HAND_OVERS_MAX);
            let relaxed = if is_near { relaxed } else { Relaxed::SideOfStore };
            let (look, before) = last_look(search, signal, (look, other));
            let reasons = vec![Reason::TooSoon { access, other, signal, look, before }];
            found.push(Near::new((access, signal), relaxed, reasons));
        }
    }
    found
}

/// Where a thread sees a signal last before an event, and where it did first, if it does so again: behind a wait for the
/// next one that the old one lets through.
fn last_look(
    search: &Search<'_>,
    signal: EventId,
    (look, other): (EventId, EventId),
) -> (EventId, Option<EventId>) {
    let order = search.program_order();
    let again = search.relation(BaseRelation::ReadsFrom).successors(signal);
    let again = again.filter(|&again| order.contains(look, again) && order.contains(again, other));
    match again.max_by_key(|&again| search.graph.events[again].position) {
        Some(again) => (again, Some(look)),
        None => (look, None),
    }
}

/// A word that the thread of the end of the way has seen, though without order.
fn seen(search: &Search<'_>, way: &Way<'_, '_>) -> Option<Near> {
    let graph = search.graph;
    let (access, other) = (way.earlier, way.later);
    let order = search.program_order();
    let reads_from = search.relation(BaseRelation::ReadsFrom);
    let signals = |&signal: &EventId| order.contains(signal, access) && is_strong(graph, signal);
    let pairs: Vec<(EventId, EventId)> = search
        .executed()
        .filter(signals)
        .flat_map(|signal| {
            let looks = reads_from.successors(signal);
            looks
                .filter(|&look| order.contains(look, other) && search.is_look(look))
                .map(move |look| (signal, look))
        })
        .collect();
    let position = |event: &EventId| graph.events[*event].position;
    let (signal, look) =
        pairs.iter().copied().max_by_key(|(signal, look)| (position(signal), position(look)))?;
    let first = pairs.iter().filter(|&&(of, _)| of == signal).map(|&(_, look)| look).min_by_key(position);
    let before = first.filter(|&first| first != look);
    let reasons = vec![Reason::TooSoon { access, other, signal, look, before }];
    Some(Near::new((access, other), Relaxed::SideOfSeen, reasons))
}

/// Whether a thread goes on there only once others have done something.
fn waits(search: &Search<'_>, event: EventId) -> bool {
    match search.graph.events[event].kind {
        EventKind::BarrierWait => true,
        EventKind::Mbarrier(operation) => operation.role == MbarrierRole::Wait,
        _ => search.is_look(event),
    }
}

/// What is missing where an access comes behind this signal, if it is one.
fn relaxed(search: &Search<'_>, event: EventId) -> Option<Relaxed> {
    let graph = search.graph;
    match graph.events[event].kind {
        EventKind::Mbarrier(operation) => (operation.role == MbarrierRole::Arrive).then_some(Relaxed::Side),
        EventKind::BarrierArrive => {
            // Who waits at a barrier meets the others there, and does not go on before they come.
            let is_own = |own: EventId| graph.events[own].agent == graph.events[event].agent;
            let is_here = |own: EventId| graph.events[own].site == graph.events[event].site;
            let mut own = search.executed().filter(|&own| is_own(own) && is_here(own));
            (!own.any(|own| waits(search, own))).then_some(Relaxed::Side)
        }
        EventKind::Write(_) => is_strong(graph, event).then_some(Relaxed::SideOfStore),
        _ => None,
    }
}

/// Whether a signal did hand over what its thread had written there, and what is missing is that it is told when it may
/// write again.
fn is_for_another(search: &Search<'_>, (signal, access): (EventId, EventId)) -> bool {
    let graph = search.graph;
    let is_again = |event: EventId| {
        matches!(graph.events[event].kind, EventKind::Write(_)) && search.place(event) == search.place(access)
    };
    let order = search.program_order();
    is_again(access) && search.executed().any(|event| order.contains(event, signal) && is_again(event))
}
