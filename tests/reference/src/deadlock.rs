//! Barriers at the end of an execution: who waits for ever (design §7), and which rules were broken on the way.
//!
//! A thread that has not finished hangs if what it stands at will never let it go on: a barrier at which somebody is still
//! missing, or an `await` or loop whose last round can be repeated for ever: it changes no register, writes only what is
//! there in the end, and its waits find mbarriers as they are in the end. A strong read of that round sees a coherence-last
//! write (LT-8), a weak one whatever the model lets it see each time (LT-7), after what the round has acquired.

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
            if repeats(thread, combination, rf, co) =>
        {
            Standstill::Hang
        }
        End::Round { is_still: false } if repeats(thread, combination, rf, co) => Standstill::Moving,
        End::AtBarrier(..) | End::AtAwait { .. } | End::Round { .. } | End::Cut | End::Broken(_) => {
            Standstill::None
        }
    };
    let all = combination.ends.iter().enumerate().map(of_thread).min().unwrap_or(Standstill::None);
    if is_one_memory(&combination.events) { all } else { Standstill::None }
}

/// Whether what goes on for ever sees and writes one value per granule: racing writes may leave any of their values, but
/// memory ends with one.
fn is_one_memory(events: &[Event]) -> bool {
    let mut ends: BTreeMap<usize, u64> = BTreeMap::new();
    let tells = |event: &&Event| event.is_repeated && (event.is_write() || event.strong);
    let told = events.iter().filter(tells).flat_map(|event| event.granules.iter().zip(&event.values));
    told.into_iter().all(|(&granule, &value)| *ends.entry(granule).or_insert(value) == value)
}

/// Whether what the thread did last can go on for ever with memory and mbarriers as they are in the end.
fn repeats(thread: usize, combination: &Combination, rf: &ReadsFrom, co: &Relation) -> bool {
    let events = &combination.events;
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
                let sources = event.granules.iter().zip(&rf[&position]);
                leaves_as_is(event)
                    && sources
                        .into_iter()
                        .all(|(&granule, &source)| events[source].is_repeated || is_last(source, granule))
            }
            // The next time it comes after what the thread itself writes in the round, and sees nothing older.
            Kind::Read => {
                let overwritten = |granule: usize, source: usize| {
                    events.iter().enumerate().any(|(write, own)| {
                        let is_own = own.thread == Some(thread) && own.is_repeated && own.is_write();
                        is_own && own.granules.contains(&granule) && co.contains(source, write)
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
