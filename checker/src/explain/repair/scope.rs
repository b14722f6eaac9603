//! Proposals for scopes that are too narrow in several places at once: of all that is done to one object, then of all.

use super::super::reason::Reason;
use super::ground::{Ground, Proposal};
use super::opcode::{Goal, SemEdit, sem_edits, usual};
use crate::event::{EventGraph, EventId, EventKind, LocationId};
use fencepost_dsl::vocabulary::Scope;

/// Wider scopes for every operation on the object of a link, and for every operation there is.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    for reason in &ground.explanation.reasons {
        let Reason::OutOfScope { event, other, needed, .. } = *reason else { continue };
        let needed = usual(graph, needed);
        let objects = [object(graph, event), object(graph, other)];
        let narrow = || narrow(graph, needed);
        let of_object = narrow().filter(|&event| {
            let own = object(graph, event);
            own.is_some() && objects.contains(&own)
        });
        for (rank, events) in [(15, of_object.collect::<Vec<_>>()), (17, narrow().collect())] {
            let edits: Vec<SemEdit> =
                events.into_iter().map(|event| SemEdit { event, goal: Goal::Widen, scope: needed }).collect();
            found.push(Proposal { rank, edits: sem_edits(ground, &edits) });
        }
    }
}

/// The operations with a scope below the one that is needed.
fn narrow(graph: &EventGraph, needed: Scope) -> impl Iterator<Item = EventId> {
    let is_narrow = move |kind: &EventKind| kind.scope().is_some_and(|scope| scope < needed);
    graph.events.iter_enumerated().filter(move |(_, event)| is_narrow(&event.kind)).map(|(id, _)| id)
}

/// What an operation is about: memory, or the memory that an mbarrier is in.
fn object(graph: &EventGraph, event: EventId) -> Option<LocationId> {
    match &graph.events[event].kind {
        EventKind::Mbarrier(operation) => Some(graph.mbarriers[operation.object].location),
        kind => kind.access().map(|access| access.location),
    }
}
