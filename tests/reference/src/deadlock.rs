//! Barriers at the end of an execution: who waits for ever (design §7), and which rules were broken on the way.
//!
//! A thread that has not finished hangs if what it stands at will never let it go on: a barrier at which somebody is still
//! missing, or an `await` or loop whose last round can be repeated for ever: it changes no register, writes only what is
//! there in the end, and its waits find mbarriers as they are in the end. A strong read of that round sees the last of the
//! writes that it is promised to see, or a later one (LT-8): those are strong, with each of the two in the other's scope. A
//! weak one sees whatever the model lets it see each time (LT-7), after what the round has acquired.

use super::event::{BarrierKey, Event, Kind, Misuse};
use super::execution::{Combination, ReadsFrom};
use super::interpreter::{End, Thread};
use super::relation::Relation;
use std::collections::{BTreeMap, BTreeSet};

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

/// Whether threads are left over for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standstill {
    /// Somebody can go on, or all have finished.
    None,
    /// All that have not finished go on for ever, but not all of them stand still while they do.
    Moving,
    /// All that have not finished stand still.
    Hang,
}

/// Whether somebody has not finished, and all who have not never will.
pub fn standstill(
    threads: &[Thread],
    combination: &Combination,
    rf: &ReadsFrom,
    co: &Relation,
) -> Standstill {
    if combination.is_complete() {
        return Standstill::None;
    }
    let of_thread = |(thread, end): (usize, &End)| match *end {
        End::Finished => Standstill::Hang,
        End::AtBarrier(key, generation)
            if released_by(threads, &combination.events, key, generation).is_none() =>
        {
            Standstill::Hang
        }
        End::AtAwait { tried: true } | End::Round { is_still: true }
            if repeats(threads, thread, combination, rf, co) =>
        {
            Standstill::Hang
        }
        End::Round { is_still: false } if repeats(threads, thread, combination, rf, co) => Standstill::Moving,
        End::AtBarrier(..) | End::AtAwait { .. } | End::Round { .. } | End::Cut | End::Broken(_) => {
            Standstill::None
        }
    };
    let all = combination.ends.iter().enumerate().map(of_thread).min().unwrap_or(Standstill::None);
    if is_one_memory(threads, &combination.events) { all } else { Standstill::None }
}

/// Whether what goes on for ever sees and writes one value per granule: racing writes may leave any of their values, but
/// memory ends with one.
fn is_one_memory(threads: &[Thread], events: &[Event]) -> bool {
    let mut ends: BTreeMap<usize, u64> = BTreeMap::new();
    let tells = |event: &&Event| event.is_repeated && (event.is_write() || event.strong);
    let told = events.iter().filter(tells).flat_map(|event| {
        let told = event.granules.iter().zip(&event.values);
        told.filter(|&(&granule, _)| event.is_write() || is_all_promised(threads, events, event, granule))
    });
    told.into_iter().all(|(&granule, &value)| *ends.entry(granule).or_insert(value) == value)
}

/// Whether a strong read that is repeated for ever sees a write, or a later one, in the end.
fn is_promised(threads: &[Thread], write: &Event, read: &Event) -> bool {
    let (Some(writer), Some(reader)) = (write.thread, read.thread) else { return true };
    let in_scope = || {
        Combination::in_scope(threads, writer, write.scope, reader)
            && Combination::in_scope(threads, reader, read.scope, writer)
    };
    writer == reader && write.operation.is_none() || write.strong && in_scope()
}

/// Whether it sees all writes of a granule.
fn is_all_promised(threads: &[Thread], events: &[Event], read: &Event, granule: usize) -> bool {
    let mut writes = events.iter().filter(|event| event.is_write() && event.granules.contains(&granule));
    writes.all(|write| is_promised(threads, write, read))
}

/// Whether what the thread did last can go on for ever with memory and mbarriers as they are in the end.
fn repeats(
    threads: &[Thread],
    thread: usize,
    combination: &Combination,
    rf: &ReadsFrom,
    co: &Relation,
) -> bool {
    let events = &combination.events;
    let is_own = |event: &Event| event.thread == Some(thread) && event.is_repeated && event.is_write();
    // What is written again and again comes after everything, so it has to be what is there.
    let once = |write: &usize| events[*write].is_write() && !events[*write].is_repeated;
    let is_last = |write: usize, granule: usize| {
        let overwrites =
            |later: &usize| events[*later].granules.contains(&granule) && co.contains(write, *later);
        !(0..events.len()).filter(once).any(|later| overwrites(&later))
    };
    let leaves_as_is = |event: &Event| {
        event.granules.iter().zip(&event.values).all(|(&granule, &value)| {
            (0..events.len()).filter(once).any(|write| {
                let at = events[write].granules.iter().position(|&g| g == granule);
                at.is_some_and(|at| events[write].values[at] == value) && is_last(write, granule)
            })
        })
    };
    events.iter().enumerate().all(|(position, event)| {
        if event.thread != Some(thread) || !event.is_repeated {
            return true;
        }
        match event.kind {
            Kind::Write => leaves_as_is(event),
            Kind::Read if event.strong => {
                let is_written = |granule: &usize| {
                    events.iter().any(|write| is_own(write) && write.granules.contains(granule))
                };
                let is_settled = |granule: &usize| {
                    is_written(granule) || is_all_promised(threads, events, event, *granule)
                };
                if event.granules.iter().all(is_settled) && !leaves_as_is(event) {
                    return false;
                }
                let mut sources = event.granules.iter().zip(&rf[&position]);
                sources.all(|(&granule, &source)| {
                    let is_missed = |later: &Event| {
                        later.granules.contains(&granule) && is_promised(threads, later, event)
                    };
                    let mut after =
                        (0..events.len()).filter(once).filter(|&later| co.contains(source, later));
                    events[source].is_repeated
                        || if is_settled(&granule) {
                            is_last(source, granule)
                        } else {
                            !after.any(|later| is_missed(&events[later]))
                        }
                })
            }
            // The next time it comes after what the thread itself writes in the round, and sees nothing older.
            Kind::Read => {
                let overwritten = |granule: usize, source: usize| {
                    events.iter().enumerate().any(|(write, own)| {
                        is_own(own) && own.granules.contains(&granule) && co.contains(source, write)
                    })
                };
                let mut sources = event.granules.iter().zip(&rf[&position]);
                sources.all(|(&granule, &source)| events[source].is_repeated || !overwritten(granule, source))
            }
            Kind::Mbarrier(operation) => combination.phases.answers_for_ever(operation),
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
