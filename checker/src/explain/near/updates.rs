//! Updates in two steps, a load and then a store, of what others update as well: one of them is lost, or two threads take
//! what only one may have.

use super::super::reads::{place, reads_in};
use super::super::reason::{Reason, Stored};
use super::super::search::{Near, Relaxed, Search, Way};
use super::crossing::deciding;
use crate::event::{AtomicClass, EventGraph, EventId, EventKind, LocationId};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;

/// Whether a write overwrites what another thread has written since the write's own thread last read there.
pub fn lost(graph: &EventGraph, witness: &Witness, write: EventId) -> Option<Reason> {
    let relations = &witness.basis.relations;
    let access = graph.events[write].kind.access()?;
    if access.atomic != AtomicClass::None || graph.events[write].agent.is_none() {
        return None;
    }
    let order = &relations[&BaseRelation::ProgramOrder];
    let is_there = |event: EventId| place(graph, witness, event) == place(graph, witness, write);
    let own_read = |event: &EventId| {
        matches!(graph.events[*event].kind, EventKind::Read(_))
            && is_there(*event)
            && order.contains(*event, write)
    };
    let reads = witness.execution.executed.iter().filter(own_read);
    let read = reads.max_by_key(|&event| graph.events[event].position)?;
    let agent = graph.events[write].agent;
    let coherence = &witness.execution.coherence;
    let is_lost = |other: &EventId| {
        graph.events[*other].agent != agent
            && graph.events[*other].agent.is_some()
            && !coherence.contains(write, *other)
    };
    let lost = relations[&BaseRelation::FromReads].successors(read).find(is_lost)?;
    let stored = if reads_in(graph, [access.value]).any(|own| own == read) {
        Stored::MadeOfRead
    } else if starts_with(graph, witness, write) {
        Stored::Initial
    } else {
        Stored::Other
    };
    Some(Reason::LostUpdate { write, read, lost, stored })
}

/// A plain store of a thread over what another one has put there and nobody has read: an arrival that is wiped out, a sum
/// that is set back.
pub fn overwritten(graph: &EventGraph, witness: &Witness, at: &[LocationId]) -> Option<Reason> {
    let (executed, coherence) = (&witness.execution.executed, &witness.execution.coherence);
    let reads_from = &witness.basis.relations[&BaseRelation::ReadsFrom];
    let is_there = |event: &EventId| {
        let access = graph.events[*event].kind.access();
        access.is_some_and(|access| at.contains(&access.location)) && graph.events[*event].agent.is_some()
    };
    let writes = executed.iter().filter(is_there);
    let writes: Vec<EventId> =
        writes.filter(|&event| matches!(graph.events[event].kind, EventKind::Write(_))).collect();
    let place = |event: EventId| {
        let width_bytes = graph.events[event].kind.access()?.width_bytes;
        place(graph, witness, event).map(|place| (place, width_bytes))
    };
    let is_plain = |&write: &EventId| {
        graph.events[write].kind.access().is_some_and(|access| access.atomic == AtomicClass::None)
    };
    writes.iter().copied().filter(is_plain).find_map(|write| {
        let before = |lost: &EventId| {
            place(*lost) == place(write)
                && graph.events[*lost].agent != graph.events[write].agent
                && coherence.contains(*lost, write)
        };
        let is_last = |lost: &EventId| {
            writes
                .iter()
                .all(|&other| !(coherence.contains(*lost, other) && coherence.contains(other, write)))
        };
        let mut lost = writes.iter().copied().filter(before).filter(is_last);
        let lost = lost.find(|&lost| reads_from.successors(lost).next().is_none())?;
        Some(Reason::Overwritten { write, lost })
    })
}

/// Whether what a write stores is what was there before anybody wrote.
fn starts_with(graph: &EventGraph, witness: &Witness, write: EventId) -> bool {
    let value = |event: EventId| graph.events[event].kind.access().map(|access| witness.values[access.value]);
    witness.execution.executed.iter().any(|initial| {
        matches!(graph.events[initial].kind, EventKind::Init(_))
            && place(graph, witness, initial) == place(graph, witness, write)
            && value(initial) == value(write)
    })
}

/// Both threads came to their ends of the way by a load of one value, and each has stored, or stores, another one there
/// afterwards.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let ends = (way.earlier, way.later);
    let near = |reason| Near::new(ends, Relaxed::Atomicity, vec![reason]);
    both_took(search.graph, search.witness, ends).map(near).into_iter().collect()
}

fn both_took(graph: &EventGraph, witness: &Witness, (earlier, later): (EventId, EventId)) -> Option<Reason> {
    let relations = &witness.basis.relations;
    let order = &relations[&BaseRelation::ProgramOrder];
    let executed = &witness.execution.executed;
    if graph.events[earlier].agent == graph.events[later].agent {
        return None;
    }
    let place = |event: EventId| {
        let width_bytes = graph.events[event].kind.access()?.width_bytes;
        place(graph, witness, event).map(|place| (place, width_bytes))
    };
    let is_plain = |event: EventId| {
        graph.events[event].kind.access().is_some_and(|access| access.atomic == AtomicClass::None)
    };
    // The store with which the thread of a load takes what it has seen: its next write there, if that is no atomic's.
    let store = |load: EventId| {
        let writes = order.successors(load).filter(|&event| {
            executed.contains(event)
                && matches!(graph.events[event].kind, EventKind::Write(_))
                && place(event) == place(load)
        });
        writes.min_by_key(|&event| graph.events[event].position).filter(|&event| is_plain(event))
    };
    let loads = |access: EventId| {
        let all = deciding(graph, witness, access).into_iter();
        all.filter(|&load| executed.contains(load) && is_plain(load)).collect::<Vec<EventId>>()
    };
    let source = |load: EventId| witness.execution.sources.get(&load);
    let (first, second) = (loads(earlier), loads(later));
    first.iter().rev().find_map(|&a| {
        let b = second.iter().rev().copied();
        let mut b = b.filter(|&b| place(a) == place(b) && source(a) == source(b) && place(a).is_some());
        let b = b.find(|&b| store(b).is_some())?;
        Some(Reason::BothTook { loads: [a, b], stores: [store(a)?, store(b)?] })
    })
}
