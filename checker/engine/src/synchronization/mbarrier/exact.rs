//! Of which objects counting decides the phases exactly.
//!
//! Counting puts into a phase as many arrivals as it expects and bytes that balance, in whatever order. That is exact if
//! no order of them completes the phase before the last one. With arrivals alone it is so: pending counts only fall. With
//! bytes it is so if
//!
//! * the tx-count is not negative once all have arrived, that is, each completion of bytes surely comes after an
//!   announcement of its own (in its thread, as a wait has seen, or as barriers have it), or in the same phase as one that an
//!   arrival makes: by the thread that started what completes, after it did, or by anybody without whom the phase has not all
//!   its arrivals, as where a copy to several CTAs comes before one of them expects it. Whatever comes before that arrival
//!   finds it pending, so that the phase is not over, and once all have arrived it has announced its bytes;
//! * what `expect_tx` announces, and what `cp.async.mbarrier.arrive` makes pending, is surely announced before its
//!   thread's arrival of the same phase, so that from the last arrival on the tx-count only falls, and is 0 for the first
//!   time when the phase ends;
//!   Nor does it matter
//!   - if each completion is of more bytes than all that may be announced in its phase, and each arrival there announces some:
//!     before the first completion something is announced and left, and from then on it is negative for good, within its range;
//!   - if all completions are of as many bytes, of which each announcement is a multiple, and each surely comes after all
//!     arrivals of its phase: from the last of them on the tx-count falls by steps that end at 0, so that it is stated that it
//!     is not negative once all have arrived;
//! * no operation is about 0 bytes, which might come where nothing is left to wait for;
//! * the bytes of a phase are within the tx-count's range.
//!
//! Whether an arrival is the last one of its phase is a matter of order, hence so are `.noComplete` and what it finds
//! pending.

use super::phase::{Expected, Interval};
use super::seen::SeenBy;
use crate::event::TermPool;
use crate::synchronization::log::{Operation, OperationKind, TX_MAX};

/// Whether counting finds just the executions that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// It finds others besides.
    No,
    /// It does.
    Yes,
    /// It does, and no phase to which bytes are delivered is ever over.
    NeverBalanced,
    /// It does if no phase has all its arrivals and more bytes delivered than announced.
    IfNeverNegative,
}

/// Whether counting finds just the executions that there are. `seen` is in parallel with `operations`.
/// `met` says whether one operation surely happens before another does, as barriers have it.
pub fn exactness(
    terms: &TermPool,
    operations: &[(Operation, Interval)],
    seen: &[SeenBy],
    met: &dyn Fn(&Operation, &Operation) -> bool,
) -> Exactness {
    let is_plain = |operation: &Operation| match operation.kind {
        OperationKind::Arrive { no_complete, .. } => !no_complete,
        OperationKind::Expect { bytes } | OperationKind::Complete { bytes } => bytes > 0,
        _ => true,
    };
    let is_sound = operations.iter().all(|(operation, _)| is_plain(operation))
        && announces_in_time(terms, operations)
        && stays_in_range(operations);
    if !is_sound {
        Exactness::No
    } else if completes_what_is_announced(terms, operations, seen, met) {
        Exactness::Yes
    } else if never_balances(operations) && stays_in_range_below(operations) {
        Exactness::NeverBalanced
    } else if falls_by_steps(operations, seen, met) {
        Exactness::IfNeverNegative
    } else {
        Exactness::No
    }
}

/// Completions, with how many bytes.
fn completions(
    operations: &[(Operation, Interval)],
) -> impl Iterator<Item = (usize, &Operation, Interval, u32)> {
    operations.iter().enumerate().filter_map(|(at, (operation, interval))| match operation.kind {
        OperationKind::Complete { bytes } if !interval.is_empty() => Some((at, operation, *interval, bytes)),
        _ => None,
    })
}

fn overlap(a: Interval, b: Interval) -> bool {
    !a.is_empty() && !b.is_empty() && a.first <= b.last && b.first <= a.last
}

/// Whether no phase in which bytes may be delivered is ever balanced.
fn never_balances(operations: &[(Operation, Interval)]) -> bool {
    completions(operations).all(|(_, _, interval, delivered)| {
        let others = || operations.iter().filter(|(_, of)| overlap(*of, interval));
        let announces = others().all(|(other, _)| match other.kind {
            OperationKind::Arrive { expects, .. } => expects > 0,
            _ => true,
        });
        announces
            && (interval.first..=interval.last).all(|phase| {
                let here = others().filter(|(_, of)| of.contains(phase));
                here.map(|(other, _)| other.kind.bytes().max(0)).sum::<i64>() < i64::from(delivered)
            })
    })
}

/// Whether the tx-count falls to 0 by steps of one size once all have arrived.
fn falls_by_steps(
    operations: &[(Operation, Interval)],
    seen: &[SeenBy],
    met: &dyn Fn(&Operation, &Operation) -> bool,
) -> bool {
    let Some((.., step)) = completions(operations).next() else { return true };
    let is_multiple = |(operation, _): &(Operation, Interval)| {
        let bytes = operation.kind.bytes();
        bytes < 0 || bytes % i64::from(step) == 0
    };
    operations.iter().all(is_multiple)
        && completions(operations).all(|(at, operation, interval, bytes)| {
            let is_last = |other: &Operation| {
                other.precedes(operation) || seen[at].has_seen(other) || met(other, operation)
            };
            bytes == step
                && operations
                    .iter()
                    .filter(|(other, of)| other.kind.arrivals() > 0 && overlap(*of, interval))
                    .all(|(other, _)| is_last(other))
        })
}

fn announces_in_time(terms: &TermPool, operations: &[(Operation, Interval)]) -> bool {
    operations.iter().all(|(operation, interval)| {
        !matches!(operation.kind, OperationKind::Expect { .. } | OperationKind::Raise)
            || operations.iter().any(|(other, of_other)| {
                other.kind.arrivals() > 0
                    && other.issued.is_none()
                    && operation.precedes(other)
                    && interval.only().is_some()
                    && interval == of_other
                    && terms.implies_syntactically(operation.guard, other.guard)
            })
    })
}

fn completes_what_is_announced(
    terms: &TermPool,
    operations: &[(Operation, Interval)],
    seen: &[SeenBy],
    met: &dyn Fn(&Operation, &Operation) -> bool,
) -> bool {
    let mut left: Vec<i64> = operations.iter().map(|(operation, _)| operation.kind.bytes().max(0)).collect();
    let of_others = seen;
    operations.iter().zip(seen).all(|((operation, interval), seen)| {
        let mut wanted = -operation.kind.bytes().min(0);
        if wanted == 0 {
            return true;
        }
        // The latest first: it is the one meant.
        for (at, (other, of_other)) in operations.iter().enumerate().rev() {
            let is_still_to_arrive = || {
                let is_later = |(agent, at)| other.agent == agent && other.position > at;
                other.kind.arrivals() > 0
                    && other.issued.is_none()
                    && operation.issued.is_some_and(is_later)
                    && interval.only().is_some()
                    && interval == of_other
            };
            let is_awaited = || {
                other.kind.arrivals() > 0
                    && interval.only().is_some()
                    && interval == of_other
                    && of_others[at].is_essential
            };
            let is_announced = || {
                let is_earlier = || other.precedes(operation) || seen.has_seen(other) || is_still_to_arrive();
                terms.implies_syntactically(operation.guard, other.guard) && is_earlier()
                    || is_awaited()
                    || met(other, operation)
            };
            if wanted > 0 && left[at] > 0 && is_announced() {
                let taken = wanted.min(left[at]);
                left[at] -= taken;
                wanted -= taken;
            }
        }
        wanted == 0
    })
}

/// Whether the bytes that are announced in each phase are in the range of the tx-count.
fn stays_in_range(operations: &[(Operation, Interval)]) -> bool {
    are_in_range(operations, &|operation| operation.kind.bytes().max(0))
}

/// … and those that are delivered, by which it may become negative where more come than are announced.
fn stays_in_range_below(operations: &[(Operation, Interval)]) -> bool {
    are_in_range(operations, &|operation| -operation.kind.bytes().min(0))
}

fn are_in_range(operations: &[(Operation, Interval)], bytes_of: &dyn Fn(&Operation) -> i64) -> bool {
    let total: i64 = operations.iter().map(|(operation, _)| bytes_of(operation)).sum();
    if total <= TX_MAX {
        return true;
    }
    let Some(last) =
        operations.iter().filter(|(_, interval)| !interval.is_empty()).map(|(_, i)| i.last).max()
    else {
        return true;
    };
    (0..=last).all(|phase| {
        let of_phase = operations.iter().filter(|(_, interval)| interval.contains(phase));
        of_phase.map(|(operation, _)| bytes_of(operation)).sum::<i64>() <= TX_MAX
    })
}

/// Takes back all that counting has found out.
pub fn forget_counting(operations: &mut [(Operation, Interval)], seen: &mut [SeenBy], expected: Expected) {
    let arrivals: u32 = operations.iter().map(|(operation, _)| operation.kind.arrivals()).sum();
    let dropped = operations.iter().map(|(operation, _)| match operation.kind {
        OperationKind::Arrive { count, drops: true, .. } => count,
        _ => 0,
    });
    let least = dropped.fold(expected.least, u32::saturating_sub).max(1);
    for (_, interval) in operations {
        *interval = Interval { first: 0, last: arrivals / least };
    }
    seen.fill(SeenBy::default());
}
