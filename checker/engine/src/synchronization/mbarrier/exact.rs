//! Of which objects counting decides the phases exactly.
//!
//! Counting puts into a phase as many arrivals as it expects and bytes that balance, in whatever order. That is exact if
//! no order of them completes the phase before the last one. With arrivals alone it is so: pending counts only fall. With
//! bytes it is so if
//!
//! * the tx-count is not negative once all have arrived, that is, each completion of bytes surely comes after an
//!   announcement of its own (in its thread, as a wait has seen, or as barriers have it), or in the same phase as one that an
//!   arrival makes, by the thread that started what completes, after it did: whatever comes before that arrival finds it
//!   pending, so that the phase is not over;
//! * what `expect_tx` announces, and what `cp.async.mbarrier.arrive` makes pending, is surely announced before its
//!   thread's arrival of the same phase, so that from the last arrival on the tx-count only falls, and is 0 for the first
//!   time when the phase ends;
//! * no operation is about 0 bytes, which might come where nothing is left to wait for;
//! * the bytes of a phase are within the tx-count's range.
//!
//! Whether an arrival is the last one of its phase is a matter of order, hence so are `.noComplete` and what it finds
//! pending.

use super::phase::{Expected, Interval, SeenBy};
use crate::event::TermPool;
use crate::synchronization::log::{Operation, OperationKind, TX_MAX};

/// Whether counting finds just the executions that there are. `seen` is in parallel with `operations`.
/// `met` says whether one operation surely happens before another does, as barriers have it.
pub fn is_countable(
    terms: &TermPool,
    operations: &[(Operation, Interval)],
    seen: &[SeenBy],
    met: &dyn Fn(&Operation, &Operation) -> bool,
) -> bool {
    let is_plain = |operation: &Operation| match operation.kind {
        OperationKind::Arrive { no_complete, .. } => !no_complete,
        OperationKind::Expect { bytes } | OperationKind::Complete { bytes } => bytes > 0,
        _ => true,
    };
    operations.iter().all(|(operation, _)| is_plain(operation))
        && announces_in_time(terms, operations)
        && completes_what_is_announced(terms, operations, seen, met)
        && stays_in_range(operations)
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
            let is_announced = || {
                let is_earlier = || other.precedes(operation) || seen.has_seen(other) || is_still_to_arrive();
                terms.implies_syntactically(operation.guard, other.guard) && is_earlier()
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

fn stays_in_range(operations: &[(Operation, Interval)]) -> bool {
    let total: i64 = operations.iter().map(|(operation, _)| operation.kind.bytes().max(0)).sum();
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
        of_phase.map(|(operation, _)| operation.kind.bytes().max(0)).sum::<i64>() <= TX_MAX
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
