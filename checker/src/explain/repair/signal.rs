//! What may be meant as a signal: a place where what is read decides whether a wait ends, or what is done elsewhere. Data
//! whose order is missing is not mended by strong accesses, however strong one of them is already.

use super::super::reads::{reads_in, support};
use super::ground::Ground;
use crate::event::{
    Access, AtomicClass, EventGraph, EventId, EventKind, LocationId, TermRef, UnknownKind, Wait,
};

/// Whether two accesses of one place may be meant as a signal, which strong accesses are enough for.
pub fn is_signal(ground: &Ground<'_>, earlier: EventId, later: EventId) -> bool {
    let graph = ground.graph();
    let Some(location) = location_of(graph, earlier) else {
        return false;
    };
    if is_waited_for(graph, location) {
        return true;
    }
    let ends = [earlier, later];
    let updates = |event: &EventId| own_reads(graph, *event).any(|read| is_in(graph, read, *event));
    decides(graph, location) && ends.iter().any(|&event| is_look(graph, event)) && !ends.iter().any(updates)
}

/// Whether an event is a read that is not part of an atomic, or a write of a thread that has looked there before.
fn is_look(graph: &EventGraph, event: EventId) -> bool {
    let of = &graph.events[event];
    match &of.kind {
        EventKind::Read(access) => access.atomic == AtomicClass::None,
        EventKind::Write(access) => {
            access.atomic == AtomicClass::None && own_reads(graph, event).next().is_some()
        }
        _ => false,
    }
}

/// The reads of the thread of a write at the same location that come before it in its program.
pub fn own_reads(graph: &EventGraph, write: EventId) -> impl DoubleEndedIterator<Item = EventId> {
    let of = &graph.events[write];
    let location = of.kind.access().filter(|access| access.atomic == AtomicClass::None);
    let location = location.filter(|_| matches!(of.kind, EventKind::Write(_))).map(|access| access.location);
    graph
        .events
        .iter_enumerated()
        .filter(move |(_, other)| {
            matches!(&other.kind, EventKind::Read(access) if Some(access.location) == location)
                && other.agent == of.agent
                && other.position < of.position
        })
        .map(|(id, _)| id)
}

/// Whether what a write stores depends on what a read that is no part of an atomic returned.
pub fn is_in(graph: &EventGraph, read: EventId, write: EventId) -> bool {
    let is_plain = graph.events[read].kind.access().is_some_and(|access| access.atomic == AtomicClass::None);
    let value = graph.events[write].kind.access().map(|access| access.value);
    is_plain && reads_in(graph, value).any(|own| own == read)
}

/// Whether some wait ends or not by what it finds in a location.
pub fn is_waited_for(graph: &EventGraph, location: LocationId) -> bool {
    let waits = graph.blocked.iter().filter(|blocked| matches!(blocked.wait, Wait::Memory(_)));
    let found = support(graph, waits.map(|blocked| blocked.stuck));
    found.iter().any(|kind| match kind {
        UnknownKind::FinalValue { location: of, .. } => *of == location,
        UnknownKind::Read(read) => location_of(graph, *read) == Some(location),
        _ => false,
    })
}

/// Whether what is read at a location decides what is done elsewhere, or where; or is claimed together with what is read
/// elsewhere.
pub fn decides(graph: &EventGraph, location: LocationId) -> bool {
    let of = |event: EventId| location_of(graph, event);
    let elsewhere = graph.events.iter_enumerated().filter(|(id, _)| of(*id) != Some(location));
    let terms = elsewhere.flat_map(|(_, event)| {
        std::iter::once(event.guard).chain(event.kind.access().map(|access| access.offset))
    });
    let claims_it = |condition: TermRef| {
        let found: Vec<_> = reads_in(graph, [condition]).map(of).collect();
        found.contains(&Some(location)) && found.iter().any(|&other| other != Some(location))
    };
    reads_in(graph, terms).any(|read| of(read) == Some(location))
        || graph.obligations.iter().any(|obligation| claims_it(obligation.condition))
}

/// Whether a link that carries no order may be meant to: both ends are strong, or it is a signal. Data is passed on by
/// accident.
pub fn is_link(ground: &Ground<'_>, write: EventId, read: EventId) -> bool {
    let graph = ground.graph();
    let is_strong = |event: EventId| graph.events[event].kind.access().is_none_or(Access::is_strong);
    is_strong(write) && is_strong(read) || is_signal(ground, write, read)
}

/// Where an event accesses memory, if it does.
fn location_of(graph: &EventGraph, event: EventId) -> Option<LocationId> {
    graph.events[event].kind.access().map(|access| access.location)
}
