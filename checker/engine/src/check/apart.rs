//! Whether with a change two accesses do nothing wrong to each other any more that were found to do so.
//!
//! That takes next to nothing where a look at the whole launch may take all there is: it is asked of a slice that has the threads
//! of the two, and of slices of two like them of which one is of another warp, since what keeps lanes apart need not keep warps
//! apart. And both still happen where all threads run in turns, and none is left waiting: who hangs does no wrong either.
//!
//! Sound: for the pair, as for slices (see `slice.rs`); of what other threads do nothing is said, but of the pairs asked.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone),
//! [`Need::MonotoneFlags`](crate::facts::needs::Need::MonotoneFlags): without them a launch has no slices, and nothing is said.
//! Cannot: races with what nobody has done, an initial value, and accesses of which a change makes more or fewer.

use super::unrolled::{Unrolled, unrolled};
use super::{CheckError, Config, phases, slices};
use crate::encode::goal::GoalKind;
use crate::event::{EventGraph, EventId, EventKind};
use crate::facts::Facts;
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use std::mem::discriminant;

/// Whether with a change two accesses do nothing wrong to each other that were found to do so, and both still happen. That is asked
/// of a slice of theirs, so `false` says nothing.
///
/// # Errors
/// If an answer is to be followed and cannot be.
pub fn are_apart(
    (program, kernel, launch): (&Program, &Kernel, &Launch),
    model: &MemoryModel,
    config: &Config,
    (before, found): (&EventGraph, &Witness),
) -> Result<bool, CheckError> {
    let mut facts = Facts::of(model, launch, config.treatment);
    let few = phases::few(config);
    let of = (program, kernel, launch);
    let Ok(Unrolled { graph, .. }) =
        unrolled(of, model, &few, config.unroll, &config.allowance(), &mut facts)
    else {
        return Ok(false);
    };
    let GoalKind::Flag { pair: (a, b), .. } = found.claim else { return Ok(false) };
    let (Some(a), Some(b)) = (same_access(before, &graph, a), same_access(before, &graph, b)) else {
        return Ok(false);
    };
    slices::are_apart(&graph, model, &few, (a, b), &facts)
}

/// An access of a thread in a changed program: as many of the same kind and location come before it, if there are as many in all.
fn same_access(before: &EventGraph, after: &EventGraph, event: EventId) -> Option<EventId> {
    let agent = before.events[event].agent?;
    let alike = |graph: &EventGraph| -> Vec<EventId> {
        let kind =
            |own: &EventKind| own.access().map(|access| (discriminant(own), access.location, access.proxy));
        let asked = kind(&before.events[event].kind);
        let own = graph.events.iter_enumerated();
        let own =
            own.filter(|(_, own)| own.agent == Some(agent) && kind(&own.kind) == asked && asked.is_some());
        own.map(|(id, _)| id).collect()
    };
    let (own, theirs) = (alike(before), alike(after));
    let place = own.iter().position(|&own| own == event)?;
    (own.len() == theirs.len()).then(|| theirs[place])
}
