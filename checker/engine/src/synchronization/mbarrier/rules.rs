//! Rules about mbarriers that depend on how often and in which phase things happen: what is never initialised, who drops
//! out last, states that are too old, and waits that a later phase lets through.

use super::completion::{add, initial_count, phase_constant, phase_term, sum};
use super::phase::{Expected, Interval};
use crate::event::{
    EventKind, GraphBuilder, GraphError, MbarrierId, MbarrierRole, Misuse, TermPool, TermRef, Wait,
};
use crate::findings;
use crate::synchronization::log::{FinalPhase, Operation, OperationKind};
use rustc_hash::FxHashMap;

/// An operation without an initialisation on its path is an error (UB-M1); one that is not ordered after it is a
/// matter of the memory model.
pub(super) fn require_init(
    graph: &mut GraphBuilder,
    object: MbarrierId,
    operations: &[(Operation, Interval)],
) {
    let inits: Vec<TermRef> = operations
        .iter()
        .filter(|(operation, _)| matches!(operation.kind, OperationKind::Init { .. }))
        .map(|(operation, _)| operation.guard)
        .collect();
    let is_initialised = graph.terms.or_all(inits);
    if is_initialised == TermPool::TRUE {
        return;
    }
    let used = operations
        .iter()
        .filter(|(operation, _)| !matches!(operation.kind, OperationKind::Init { .. }))
        .map(|(operation, _)| operation.event);
    // A test that says no uses the object, too.
    let tested = graph.events.iter_enumerated().filter_map(|(id, event)| match &event.kind {
        EventKind::Mbarrier(test) => (test.object == object && test.role == MbarrierRole::Test).then_some(id),
        _ => None,
    });
    for event in used.chain(tested).collect::<Vec<_>>() {
        let guard = graph.events[event].guard;
        if graph.terms.implies_syntactically(guard, is_initialised) {
            continue;
        }
        let misuse = Misuse::new(&findings::mbarrier::USE_UNINITIALISED).with("object", object);
        graph.oblige_at(event, misuse, guard, is_initialised);
    }
}

/// Dropping everybody leaves a phase that expects nobody (UB-M8).
pub(super) fn limit_drops(
    graph: &mut GraphBuilder,
    object: MbarrierId,
    operations: &[(Operation, Interval)],
    expected: Expected,
) {
    if !expected.is_initialised || !expected.has_drops {
        return;
    }
    let drops = operations.iter().filter_map(|(operation, _)| match operation.kind {
        OperationKind::Arrive { count, drops: true, .. } => Some((operation, count)),
        _ => None,
    });
    let counts: Vec<(TermRef, u32)> =
        drops.clone().map(|(operation, count)| (operation.guard, count)).collect();
    let total = sum(&mut graph.terms, &counts);
    let count = initial_count(&mut graph.terms, operations);
    let some_left = graph.terms.less(total, count);
    if some_left == TermPool::TRUE {
        return;
    }
    // Whoever of them is last: each is one that may be.
    for (operation, _) in drops {
        let misuse = Misuse::new(&findings::mbarrier::LAST_DROPS_OUT).with("object", object);
        graph.oblige_at(operation.event, misuse, operation.guard, some_left);
    }
}

/// `cp.async.mbarrier.arrive` makes one more arrival pending; that a count near its limit overflows is not decided
/// (UB-M10).
pub(super) fn limit_raises(
    operations: &[(Operation, Interval)],
    expected: Expected,
) -> Result<(), GraphError> {
    let mut raises =
        operations.iter().filter(|(operation, _)| matches!(operation.kind, OperationKind::Raise));
    let n_raises = u32::try_from(raises.clone().count()).unwrap_or(u32::MAX);
    let Some((raise, _)) = raises.next() else { return Ok(()) };
    if expected.most.saturating_add(n_raises) < 1 << 20 {
        return Ok(());
    }
    Err(GraphError::unsupported(
        "unsupported::mbarrier-operand",
        "whether one more pending arrival fits a count this large is not checked by this version",
        raise.span,
        "one more arrival is pending from here on",
    ))
}

/// A state is of the present phase or of the last (UB-M11).
pub(super) fn limit_age(graph: &mut GraphBuilder, object: MbarrierId, operations: &[(Operation, Interval)]) {
    for (wait, interval) in operations {
        let OperationKind::WaitState { state } = wait.kind else { continue };
        let arrival = operations.iter().find(|(operation, _)| operation.phase == state);
        let state =
            arrival.map_or(state, |(operation, interval)| phase_term(&mut graph.terms, operation, *interval));
        let number = phase_term(&mut graph.terms, wait, *interval);
        let one = phase_constant(&mut graph.terms, 1);
        let last = add(&mut graph.terms, state, one);
        let older = graph.terms.less(last, number);
        let fine = graph.terms.not(older);
        // Of an arrival that comes after the first phases, the interval may know.
        let is_known = arrival.is_some_and(|(_, of_arrival)| interval.last <= of_arrival.first + 1);
        if fine == TermPool::TRUE || is_known || interval.is_empty() {
            continue;
        }
        let misuse = Misuse::new(&findings::mbarrier::STATE_TOO_OLD).with("object", object);
        graph.oblige_at(wait.event, misuse, wait.guard, fine);
    }
}

/// A wait by parity is let through by the phase that it means, not by one that is two or more later (UB-M11). It
/// means the earliest one of its parity that its thread does not surely know to be complete.
pub(super) fn limit_overtaking(
    graph: &mut GraphBuilder,
    object: MbarrierId,
    operations: &[(Operation, Interval)],
) {
    for (wait, interval) in operations {
        let OperationKind::WaitParity { parity } = wait.kind else { continue };
        let Some(parity) = graph.terms.constant_value(parity) else { continue };
        let passes_first =
            if u128::from(interval.first % 2) == parity { interval.first + 1 } else { interval.first };
        // Odd parity lets everybody through at first (MB-8); which phase that means is not known.
        let Some(meant) = passes_first.checked_sub(1) else { continue };
        if interval.is_empty() || interval.last < passes_first + 2 {
            continue;
        }
        let number = phase_term(&mut graph.terms, wait, *interval);
        let first = phase_constant(&mut graph.terms, passes_first);
        let overtaken = graph.terms.less(first, number);
        let fine = graph.terms.not(overtaken);
        let misuse = Misuse::new(&findings::mbarrier::PARITY_OF_LATER_PHASE)
            .with("phase", meant)
            .with("object", object);
        graph.oblige_at(wait.event, misuse, wait.guard, fine);
    }
}

/// Says of threads that wait for ever when they should have been let through.
pub(super) fn note_passes(graph: &mut GraphBuilder, final_phases: &[FinalPhase], passes: &[Option<u32>]) {
    let of_last: FxHashMap<TermRef, Option<u32>> =
        final_phases.iter().map(|last| last.completed).zip(passes.iter().copied()).collect();
    for blocked in &mut graph.blocked {
        if let Wait::Phase { completed, passes, .. } = &mut blocked.wait
            && let Some(&known) = of_last.get(completed)
        {
            *passes = known;
        }
    }
}
