//! Barriers at the end of an execution: who waits for ever (design §7), and which rules were broken on the way.
//!
//! A thread that has not finished hangs if what it stands at will never let it go on: a barrier at which somebody is still
//! missing, or an `await` whose last try fails with memory and mbarriers as they are in the end. A strong read of that try
//! sees a coherence-last write (LT-8), a weak one whatever the model lets it see (LT-7).

use super::event::{BarrierKey, Event, Kind, Misuse};
use super::execution::{Combination, ReadsFrom};
use super::interpreter::{End, Thread};
use super::relation::Relation;
use std::collections::BTreeSet;

/// The events that complete a barrier's generation; `None` if somebody is missing.
pub fn released_by(
    threads: &[Thread],
    events: &[Event],
    key: BarrierKey,
    generation: u32,
) -> Option<Vec<usize>> {
    if let BarrierKey::Counted { n_warps, .. } = key {
        let is_arrival = |&event: &usize| events[event].kind == Kind::Arrive(key, generation);
        let arrivals: Vec<usize> = (0..events.len()).filter(is_arrival).collect();
        assert!(arrivals.len() as u64 <= n_warps, "who meets at a barrier is not decided by counting");
        return (arrivals.len() as u64 == n_warps).then_some(arrivals);
    }
    let mut releasing = Vec::new();
    for thread in threads {
        let takes_part = match key {
            BarrierKey::Cta { cta, .. } => thread.cta() == cta,
            BarrierKey::Warp { cta, warp, mask } => {
                thread.cta() == cta && thread.warp == warp && mask >> thread.lane & 1 == 1
            }
            BarrierKey::Cluster { cluster } => thread.whole_cluster() == cluster,
            BarrierKey::Counted { .. } => false,
        };
        if !takes_part {
            continue;
        }
        let find = |kind| events.iter().position(|e| e.thread == Some(thread.index) && e.kind == kind);
        // BR-7, BR-10, A-22: without a count, exited threads are not waited for; BR-8 has no such exception.
        let may_exit = !matches!(key, BarrierKey::Warp { .. });
        let arrival = find(Kind::Arrive(key, generation));
        releasing.push(arrival.or_else(|| find(Kind::Exit).filter(|_| may_exit))?);
    }
    Some(releasing)
}

/// Whether somebody has not finished, and all who have not never will.
pub fn is_deadlock(threads: &[Thread], combination: &Combination, rf: &ReadsFrom, co: &Relation) -> bool {
    !combination.is_complete()
        && combination.ends.iter().enumerate().all(|(thread, end)| match *end {
            End::Finished => true,
            End::AtBarrier(key, generation) => {
                released_by(threads, &combination.events, key, generation).is_none()
            }
            End::AtAwait { tried } => tried && last_try_is_final(thread, combination, rf, co),
            End::Broken(_) => false,
        })
}

fn last_try_is_final(thread: usize, combination: &Combination, rf: &ReadsFrom, co: &Relation) -> bool {
    combination.events.iter().enumerate().all(|(position, event)| {
        if event.thread != Some(thread) || !event.last_try {
            return true;
        }
        match event.kind {
            Kind::Read if event.strong => {
                // Nothing comes after what it was read from, byte by byte.
                let events = &combination.events;
                event.granules.iter().zip(&rf[&position]).all(|(granule, &source)| {
                    let overwrites = |later: usize| {
                        events[later].is_write()
                            && events[later].granules.contains(granule)
                            && co.contains(source, later)
                    };
                    !(0..events.len()).any(overwrites)
                })
            }
            Kind::Mbarrier(operation) if operation.action.fails() => {
                combination.phases.fails_for_ever(operation)
            }
            _ => true,
        }
    })
}

/// The rules that runs break at their end; `None` if what looks like breaking one is none, or the other way round.
/// `before` is what has surely happened.
pub fn misuses(threads: &[Thread], combination: &Combination, before: &Relation) -> Option<BTreeSet<Misuse>> {
    let events = &combination.events;
    let mut misuses = BTreeSet::new();
    for (position, event) in events.iter().enumerate() {
        let Kind::SecondArrival { cluster, generation, goes_on } = event.kind else { continue };
        let key = BarrierKey::Cluster { cluster };
        let releasing = released_by(threads, events, key, generation);
        let is_complete =
            releasing.is_some_and(|releasing| releasing.iter().all(|&e| before.contains(e, position)));
        if is_complete != goes_on {
            return None;
        }
        if goes_on {
            misuses.insert(Misuse::HarmlessSecondArrival);
        }
    }
    for end in &combination.ends {
        if let End::Broken(misuse) = end {
            misuses.insert(*misuse);
        }
    }
    Some(misuses)
}
