//! Where an execution has near-steps, kind by kind: events between which there would be an order if one condition more
//! held.

pub(crate) mod circle;
pub(crate) mod crossing;
pub(crate) mod generations;
pub(crate) mod grids;
pub(crate) mod membars;
pub(crate) mod neighbours;
pub(crate) mod operations;
pub(crate) mod phases;
pub(crate) mod proxies;
pub(crate) mod sides;
pub(crate) mod signals;
pub(crate) mod strength;
pub(crate) mod tensor_memory;
pub(crate) mod tensormaps;
pub(crate) mod updates;
pub(crate) mod way_back;

use super::search::{Kind, Search, Way};
use crate::event::{AgentId, EventGraph, EventId, LocationId};
use crate::witness::Witness;
use fencepost_dsl::sorted::SortedSet;
use std::cmp::Reverse;

/// What an event accesses: the object, and from which byte on.
pub(super) fn place(graph: &EventGraph, witness: &Witness, event: EventId) -> Option<(LocationId, u128)> {
    let access = graph.events[event].kind.access()?;
    Some((access.location, witness.values[access.offset]))
}

/// Of waits before the end of a way the last one of each thread, the nearest first: those before it are for what comes
/// earlier.
fn last_of_each(search: &Search<'_>, way: &Way<'_, '_>, mut waits: Vec<EventId>) -> Vec<EventId> {
    let events = &search.graph.events;
    waits.sort_by_key(|&event| (way.before(event), Reverse(events[event].position), event));
    let mut threads: SortedSet<Option<AgentId>> = SortedSet::new();
    waits.retain(|&wait| threads.insert(events[wait].agent));
    waits
}

/// What is told of two events that nothing leads between, and of which neither is an operation that nobody waits for.
pub(super) const HAND_OVERS: &[Kind] = &[
    sides::near,
    updates::near,
    crossing::near,
    phases::near,
    way_back::near,
    generations::near,
    neighbours::near,
    neighbours::waits,
    signals::near,
];
