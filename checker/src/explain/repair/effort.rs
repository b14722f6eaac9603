//! What looking for repairs may take, in steps, the same on every machine.

use super::edit::{Edit, EditKind};
use super::ground::Proposal;
use crate::verdict::{Limit, Outcome};
use fencepost_dsl::kernel::program::Kernel;

/// Steps of a try, as a multiple of those of the check, and at least.
const TRY_STEPS: (u64, u64) = (3, 3_000_000);
/// Steps that all tries of a launch may take: as a multiple of those of its check, and however short that was.
const ALL_STEPS: (u64, u64) = (10, 72_000_000);
/// … of which so much is for what is tried at first, each try within [`TRY_STEPS`]; the rest is for those that were not
/// decided, since a proof may take many times what it takes to find something violated.
const FIRST_STEPS: (u64, u64) = (10, 12_000_000);
/// The same of compiled kernels, whose changes are few words and statements, so that what is to be found is found soon: of a
/// try, and of all.
const COMPILED_TRY: (u64, u64) = (4, 30_000_000);
const COMPILED_STEPS: (u64, u64) = (4, 60_000_000);
/// How often a statement of a compiled kernel is put in elsewhere that has mended nothing where it was likelier; a check counts
/// twice.
pub(super) const ELSEWHERE_MAX: u32 = 4;

/// Steps that a check of a large launch takes for each of its events.
const STEPS_OF_AN_EVENT: u64 = 5_000;

/// A check of so many steps is worth one of the violated properties alone before one of all.
const LONG: u64 = 5_000_000;

/// Whether a try had better ask first for what was found; not of compiled kernels, of whose few tries more end in a proof.
pub(super) fn is_long(kernel: &Kernel, steps: u64) -> bool {
    !is_compiled(kernel) && steps >= LONG
}

fn times((times, least): (u64, u64), steps: u64) -> u64 {
    steps.saturating_mul(times).saturating_add(least)
}

fn is_compiled(kernel: &Kernel) -> bool {
    kernel.flat.is_some()
}

/// What looking for repairs may take, for a launch of a kernel that was checked.
pub fn worth(kernel: &Kernel, outcome: &Outcome) -> u64 {
    let steps = outcome.statistics.steps.max(of_the_rest(outcome));
    times(if is_compiled(kernel) { COMPILED_STEPS } else { ALL_STEPS }, steps)
}

/// What the check took; what it spent on looking for more, once a few threads at a time had shown something, is nothing that a
/// proof takes.
pub(super) fn own_steps(outcome: &Outcome) -> u64 {
    let more = if let Some(Limit::Rest { limit }) = outcome.limit { limit } else { 0 };
    outcome.statistics.steps.saturating_sub(more).max(of_the_rest(outcome))
}

/// Where one execution was looked at in place of all, about what all of them take once the mbarriers are right.
fn of_the_rest(outcome: &Outcome) -> u64 {
    match outcome.limit {
        Some(Limit::OneExecution { .. }) => outcome.graph.events.len() as u64 * STEPS_OF_AN_EVENT,
        _ => 0,
    }
}

/// What one try may take.
pub(super) fn of_try(kernel: &Kernel, steps: u64) -> u64 {
    times(if is_compiled(kernel) { COMPILED_TRY } else { TRY_STEPS }, steps)
}

/// What the first round of tries may take.
pub(super) fn at_first(steps: u64) -> u64 {
    times(FIRST_STEPS, steps)
}

/// The statement of a compiled kernel that a change puts in, and nothing else.
pub(super) fn put_in<'p>(kernel: &Kernel, proposal: &'p Proposal) -> Option<&'p str> {
    match proposal.edits.as_slice() {
        [Edit { kind: EditKind::Insert { text, .. }, .. }] if is_compiled(kernel) => Some(text),
        _ => None,
    }
}
