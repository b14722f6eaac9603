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

use super::search::Kind;

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
