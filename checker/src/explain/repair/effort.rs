//! What looking for repairs may take, in steps, the same on every machine.

use super::edit::{Edit, EditKind};
use super::ground::Proposal;
use crate::verdict::{Limit, Outcome};
use fencepost_dsl::kernel::program::Kernel;

/// Steps of a try, as a multiple of those of the check, and at least.
const TRY_STEPS: (u64, u64) = (3, 3_000_000);
/// Steps of a first look at a change.
const LOOK_STEPS: (u64, u64) = (1, 3_000_000);
/// Steps that all tries of a launch may take: as a multiple of those of its check, and however short that was.
const ALL_STEPS: (u64, u64) = (12, 76_000_000);
/// … of which so much is for what is tried at first, each try within [`TRY_STEPS`]; the rest is for those that were not
/// decided, since a proof may take many times what it takes to find something violated.
const FIRST_STEPS: (u64, u64) = (12, 12_000_000);
/// The same of compiled kernels, whose changes are few words and statements, so that what is to be found is found soon: of a
/// try, and of all.
const COMPILED_TRY: (u64, u64) = (8, 60_000_000);
const COMPILED_STEPS: (u64, u64) = (10, 200_000_000);
/// How often a statement of a compiled kernel is put in elsewhere that has mended nothing where it was likelier; a check counts
/// twice.
pub(super) const ELSEWHERE_MAX: u32 = 4;

/// Steps where one execution was looked at in place of all: what goes wrong in such an execution with a change as well is soon
/// seen, and where nothing does, the change is worth a proof, of which nothing says how long it takes. So a try may take few
/// at first, and all tries many.
const ONE_TRY: (u64, u64) = (3, 72_000_000);
const ONE_FIRST: (u64, u64) = (10, 200_000_000);
const ONE_ALL: (u64, u64) = (10, 700_000_000);

/// A check of so many steps is worth one of the violated properties alone before one of all.
const LONG: u64 = 5_000_000;

/// Whether a try had better ask first for what was found; not of compiled kernels, of whose few tries more end in a proof.
pub(super) fn is_long(kernel: &Kernel, outcome: &Outcome) -> bool {
    !is_compiled(kernel) && own_steps(outcome) >= LONG
}

fn times((times, least): (u64, u64), steps: u64) -> u64 {
    steps.saturating_mul(times).saturating_add(least)
}

fn is_compiled(kernel: &Kernel) -> bool {
    kernel.flat.is_some()
}

/// What a try may take more, for each event of the launch, the first round of tries, and all of them: to find something in a few
/// threads of many may take next to nothing, and to look at all of them with a change does not.
const OF_AN_EVENT: [u64; 3] = [10_000, 40_000, 80_000];

fn of_events(outcome: &Outcome, steps: u64) -> u64 {
    (outcome.graph.events.len() as u64).saturating_mul(steps)
}

/// What looking for repairs may take, for a launch of a kernel that was checked.
pub fn worth(kernel: &Kernel, outcome: &Outcome) -> u64 {
    let all = match () {
        () if is_one_execution(outcome) => ONE_ALL,
        () if is_compiled(kernel) => COMPILED_STEPS,
        () => ALL_STEPS,
    };
    times(all, outcome.statistics.steps).saturating_add(of_events(outcome, OF_AN_EVENT[2]))
}

/// What the check took; what it spent on looking for more, once a few threads at a time had shown something, is nothing that a
/// proof takes.
fn own_steps(outcome: &Outcome) -> u64 {
    let more = if let Some(Limit::Rest { limit }) = outcome.limit { limit } else { 0 };
    outcome.statistics.steps.saturating_sub(more)
}

/// Whether one execution was looked at in place of all.
pub(super) fn is_one_execution(outcome: &Outcome) -> bool {
    matches!(outcome.limit, Some(Limit::OneExecution { .. }))
}

/// What one try may take.
pub(super) fn of_try(kernel: &Kernel, outcome: &Outcome) -> u64 {
    let try_steps = match () {
        () if is_one_execution(outcome) => ONE_TRY,
        () if is_compiled(kernel) => COMPILED_TRY,
        () => TRY_STEPS,
    };
    times(try_steps, own_steps(outcome)).saturating_add(of_events(outcome, OF_AN_EVENT[0]))
}

/// The same of a first look, after which what is not decided is asked again.
pub(super) fn of_look(kernel: &Kernel, outcome: &Outcome) -> u64 {
    if is_one_execution(outcome) || is_compiled(kernel) {
        return of_try(kernel, outcome);
    }
    times(LOOK_STEPS, own_steps(outcome)).saturating_add(of_events(outcome, OF_AN_EVENT[0] / 4))
}

/// What it may take to ask of two threads alone.
pub(super) fn of_pair(outcome: &Outcome) -> u64 {
    LOOK_STEPS.1.saturating_add(of_events(outcome, OF_AN_EVENT[0] / 4))
}

/// What the first round of tries may take.
pub(super) fn at_first(outcome: &Outcome) -> u64 {
    let first = if is_one_execution(outcome) { ONE_FIRST } else { FIRST_STEPS };
    times(first, own_steps(outcome)).saturating_add(of_events(outcome, OF_AN_EVENT[1]))
}

/// The statement of a compiled kernel that a change puts in, and nothing else.
pub(super) fn put_in<'p>(kernel: &Kernel, proposal: &'p Proposal) -> Option<&'p str> {
    match proposal.edits.as_slice() {
        [Edit { kind: EditKind::Insert { text, .. }, .. }] if is_compiled(kernel) => Some(text),
        _ => None,
    }
}
