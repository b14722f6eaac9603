//! What counting leaves open within a phase of an mbarrier: which of its operations come later than which.
//!
//! An operation of a phase comes before the phase completes, and an arrival that is one too many finds its phase full but
//! not over. Either says that others of the phase come later, by an unknown for each that has to fit with every other order.
//!
//! Cannot: say what the phase holds at a moment in between; where that is asked, `order` puts all operations in a row.

use super::completion::{Phases, TX_WIDTH, add, happens_in, is_phase, sum};
use super::phase::Interval;
use super::seen::SeenBy;
use crate::event::{AgentId, EventId, GraphBuilder, TermPool, TermRef, UnknownKind};
use crate::synchronization::log::{Operation, OperationKind};
use fencepost_dsl::kernel::program::BinaryOp;
use fencepost_dsl::sorted::SortedMap;

/// Pairs of operations on one object of which the first comes first, on a condition.
pub type Moments = Vec<(EventId, EventId, TermRef)>;

/// An operation of a phase comes before its completion: if the phase completes, something that can complete it comes
/// after the operation; and no bytes are delivered to a phase that has nothing left to wait for.
pub(super) fn state_moment(
    graph: &mut GraphBuilder,
    (operation, interval): (&Operation, Interval),
    phases: &Phases,
    operations: &[(Operation, Interval)],
    seen: &[SeenBy],
    moments: &mut Moments,
) {
    let needs_moment = operation.kind.is_wait()
        || matches!(
            operation.kind,
            OperationKind::Expect { .. } | OperationKind::Complete { .. } | OperationKind::Raise
        );
    if !needs_moment || interval.is_empty() {
        return;
    }
    for phase in interval.first..=interval.last {
        let (Some(&complete), Some(&counts)) =
            (phases.complete.get(phase as usize), phases.counts.get(phase as usize))
        else {
            continue;
        };
        if complete == TermPool::FALSE || is_surely_earlier(operation, phase, operations, seen) {
            continue;
        }
        let here = is_phase(&mut graph.terms, operation, interval, phase);
        let here = graph.terms.and(operation.guard, here);
        let terms = &mut graph.terms;
        let fine = if let OperationKind::Complete { bytes } = operation.kind {
            let short = terms.less(counts.arrived, counts.needs);
            let own = terms.constant(u128::from(bytes), TX_WIDTH);
            let before = terms.binary(BinaryOp::Add, counts.bytes, own);
            let zero = terms.constant(0, TX_WIDTH);
            let outstanding = terms.signed_less(zero, before);
            terms.or(short, outstanding)
        } else {
            terms.not(complete)
        };
        if fine == TermPool::TRUE {
            continue;
        }
        let only_arrivals = matches!(operation.kind, OperationKind::Complete { .. });
        let mut ways = vec![fine];
        for (other, of_other) in operations {
            let completes = other.kind.arrivals() > 0
                || (!only_arrivals && matches!(other.kind, OperationKind::Complete { .. }));
            let is_before = other.precedes(operation);
            if !completes || other.event == operation.event || is_before || !of_other.contains(phase) {
                continue;
            }
            let (_, comes_later) = graph.terms.fresh(1, UnknownKind::ComesFirst);
            let there = happens_in(&mut graph.terms, other, *of_other, phase);
            let both = graph.terms.and(here, there);
            let later = graph.terms.and(comes_later, both);
            moments.push((operation.event, other.event, later));
            ways.push(later);
        }
        let some = graph.terms.or_all(ways);
        graph.imply(here, some);
    }
}

/// Whether operations are one arrival at a time, with nothing else to wait for: the last one completes the phase.
pub(super) fn are_plain(operations: &[(Operation, Interval)]) -> bool {
    operations.iter().all(|(operation, _)| match operation.kind {
        OperationKind::Arrive { count, expects, drops, .. } => count == 1 && expects == 0 && !drops,
        OperationKind::Expect { .. } | OperationKind::Complete { .. } | OperationKind::Raise => false,
        _ => true,
    })
}

/// An arrival never exceeds what its phase expects, unless it is the one that breaks the rule.
pub(super) fn state_excess(
    graph: &mut GraphBuilder,
    operation: &Operation,
    interval: Interval,
    phases: &Phases,
    (operations, are_plain): (&[(Operation, Interval)], bool),
    moments: &mut Moments,
) {
    let OperationKind::Arrive { count, excess, .. } = operation.kind else { return };
    let excess = match excess {
        Some(excess) if are_plain => {
            graph.imply(excess, TermPool::FALSE);
            None
        }
        excess => excess,
    };
    for phase in interval.first..=interval.last {
        let Some(of_phase) = phases.counts.get(phase as usize).copied() else { continue };
        let here = is_phase(&mut graph.terms, operation, interval, phase);
        let here = graph.terms.and(operation.guard, here);
        graph.imply(here, of_phase.within);
        let Some(excess) = excess else { continue };
        // With it the phase would have more than it expects; and it is not over yet.
        let breaks = graph.terms.and(here, excess);
        let open = graph.terms.not(phases.complete[phase as usize]);
        let still_open = still_open(&mut graph.terms, operation, (count, excess), phase, operations, moments);
        let open = graph.terms.or(open, still_open);
        graph.imply(breaks, open);
        let count = graph.terms.constant(u128::from(count), TX_WIDTH);
        let with_it = add(&mut graph.terms, of_phase.arrived, count);
        let over = graph.terms.less(of_phase.needs, with_it);
        graph.imply(breaks, over);
    }
}

/// Whether a phase that is complete in the end was not yet so at an arrival that is one too many: something of the phase
/// comes later, and the arrivals among it are fewer than this one brings.
fn still_open(
    terms: &mut TermPool,
    arrival: &Operation,
    (count, excess): (u32, TermRef),
    phase: u32,
    operations: &[(Operation, Interval)],
    moments: &mut Moments,
) -> TermRef {
    // Of each thread's operations, those after a later one are later.
    let mut latest: SortedMap<AgentId, TermRef> = SortedMap::new();
    let mut pending = Vec::new();
    for (other, interval) in operations {
        let counts = matches!(
            other.kind,
            OperationKind::Arrive { .. } | OperationKind::Complete { .. } | OperationKind::Expect { .. }
        );
        if !counts || other.event == arrival.event || !interval.contains(phase) {
            continue;
        }
        let (_, comes_later) = terms.fresh(1, UnknownKind::ComesFirst);
        let here = happens_in(terms, other, *interval, phase);
        let own = is_phase(terms, arrival, Interval { first: phase, last: phase + 1 }, phase);
        let here = terms.and(here, excess);
        let here = terms.and(here, own);
        let so_far = latest.get(&other.agent).copied().unwrap_or(TermPool::FALSE);
        let comes_later = terms.or(comes_later, so_far);
        let later = terms.and(here, comes_later);
        let so_far = terms.or(so_far, later);
        latest.insert(other.agent, so_far);
        let not_later = terms.not(comes_later);
        let earlier = terms.and(here, not_later);
        moments.push((arrival.event, other.event, later));
        moments.push((other.event, arrival.event, earlier));
        pending.push((later, other.kind.arrivals()));
    }
    let any_later = terms.or_all(pending.iter().map(|&(later, _)| later));
    let pending = sum(terms, &pending);
    let count = terms.constant(u128::from(count), TX_WIDTH);
    let too_few = terms.less(pending, count);
    terms.and(any_later, too_few)
}

/// Whether something that completes the phase surely comes after the operation.
fn is_surely_earlier(
    operation: &Operation,
    phase: u32,
    operations: &[(Operation, Interval)],
    seen: &[SeenBy],
) -> bool {
    operations.iter().zip(seen).any(|((other, interval), seen)| {
        // Where it is known to be in just this phase and the phase cannot do without it.
        let own = operation.precedes(other);
        other.kind.arrivals() > 0
            && interval.only() == Some(phase)
            && seen.is_essential
            && (own || seen.has_seen(operation))
    })
}
