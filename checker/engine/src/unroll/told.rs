//! Words of shared memory by which one thread tells its CTA something in each round of a wait.
//!
//! Triton's locks are such loops: one thread tries, stores what it got, and behind a barrier all load it and go round again if
//! it says so. The store is a write, but one that nobody sees who is not in that round.
//!
//! Sound: of [`cta_wait`](super::cta_wait), as far as such a store goes. Each access that overlaps it is in barrier order with
//! it, and so are those that read it with all writes, or they would not have been forwarded ([`forward`](super::forward)). So it is
//! no end of a race, in whichever two rounds. Who reads it is part of its round, or finds it overwritten by stores that come
//! between: a round can be left out with its store, and no other read gets another value. A round on final memory that all
//! threads make is the same again and again, and what it is told is what its one teller stores in it.
//!
//! Needs: [`Need::ReadsInBarrierOrder`](crate::facts::needs::Need::ReadsInBarrierOrder) and
//! [`Need::NoTensorMemory`](crate::facts::needs::Need::NoTensorMemory), as forwarding does: where it is off, nobody is told.
//!
//! Cannot: words with several tellers in a round, atomics, words that lanes of a warp tell each other with `bar.warp.sync`
//! between.

use super::Unroller;
use super::access::{Part, Strength};
use super::cta_wait::Meeting;
use super::expression::Place;
use super::hang::LastTry;
use crate::event::{Access, AtomicClass, EventId, EventKind, LocationId, TermPool, TermRef, UnknownKind};
use fencepost_dsl::vocabulary::{Proxy, Sem};

/// A location, an offset in it and how many bytes.
pub type Bytes = (LocationId, u128, u32);

/// That a round on final memory tells a word, or is told it.
#[derive(Clone, Copy, Debug)]
pub struct Telling {
    guard: TermRef,
    bytes: Bytes,
    value: TermRef,
    is_store: bool,
    /// How many barriers the round has come to before.
    n_meetings: usize,
}

impl Telling {
    /// Whether each word that is stored is read, too.
    pub fn are_all_heard(all: &[Self]) -> bool {
        let mut stores = all.iter().filter(|one| one.is_store);
        stores.all(|store| all.iter().any(|one| !one.is_store && one.bytes == store.bytes))
    }
}

/// What a thread does in a round on final memory.
pub struct Told<'a> {
    /// The path on which it goes round again.
    pub stuck: TermRef,
    pub tellings: &'a [Telling],
    pub meetings: &'a [Meeting],
}

impl Unroller<'_> {
    /// Notes that a round on final memory writes a word by which a thread may tell its CTA something; whether it is one.
    pub(super) fn tells(
        &mut self,
        guard: TermRef,
        element: (Place, usize),
        part: Part,
        value: TermRef,
        strength: Strength,
    ) -> bool {
        let access = self.scalar_access(element, part, value, strength);
        let Some((n_meetings, bytes)) = self.word_to_tell(&access) else { return false };
        if let Some(last) = &mut self.last_try {
            last.tell(Telling { guard, bytes, value, is_store: true, n_meetings });
        }
        true
    }

    /// What a round on final memory is told by a word, if that may be one.
    pub(super) fn is_told(
        &mut self,
        guard: TermRef,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> Option<TermRef> {
        let nothing = self.graph.terms.constant(0, part.width);
        let access = self.scalar_access(element, part, nothing, strength);
        let (n_meetings, bytes) = self.word_to_tell(&access)?;
        let (key, _) = self.last_try.as_ref().and_then(LastTry::meeting)?;
        let terms = &mut self.graph.terms;
        let fresh = || terms.fresh(part.width, UnknownKind::BarrierResult).1;
        let value = *self.cta_waits.told.entry((key, bytes)).or_insert_with(fresh);
        if let Some(last) = &mut self.last_try {
            last.tell(Telling { guard, bytes, value, is_store: false, n_meetings });
        }
        Some(value)
    }

    /// The word, and how many barriers came before, if a round that the CTA makes together accesses one.
    fn word_to_tell(&self, access: &Access) -> Option<(usize, Bytes)> {
        let (_, n_meetings) = self.last_try.as_ref()?.meeting()?;
        let cta = self.graph.hierarchy.cta_of(self.agent);
        let is_own = self.graph.locations[access.location].cta == Some(cta);
        let is_plain =
            access.sem == Sem::Weak && access.proxy == Proxy::Generic && access.atomic == AtomicClass::None;
        if !(self.options.forwarding && is_own && is_plain) {
            return None;
        }
        let offset = self.graph.terms.constant_value(access.offset)?;
        Some((n_meetings, (access.location, offset, access.width_bytes)))
    }

    /// That what all threads are told in a round on final memory is what one of them stores in it, behind a barrier of all, with
    /// one before it is stored again; `None` where that is not known.
    pub(super) fn told_to_all(&mut self, round: &[Told<'_>]) -> Option<Vec<TermRef>> {
        let n_meetings = round.first().map_or(0, |one| one.meetings.len());
        let is_of_all =
            |n: usize| round.iter().all(|one| one.meetings.get(n).is_some_and(Meeting::is_of_all));
        let wholes: Vec<usize> = (0..n_meetings).filter(|&n| is_of_all(n)).collect();
        let meets_in = |from: usize, to: usize| wholes.iter().any(|&n| from <= n && n < to);
        let mut tellings: Vec<(usize, Telling)> = Vec::new();
        for (thread, one) in round.iter().enumerate() {
            tellings.extend(one.tellings.iter().map(|&telling| (thread, telling)));
        }
        tellings.sort_by_key(|&(thread, telling)| (telling.bytes, thread));
        let mut parts = Vec::new();
        let mut last: Option<Bytes> = None;
        for group in tellings.chunk_by(|a, b| a.1.bytes == b.1.bytes) {
            let bytes = group[0].1.bytes;
            // Words that overlap.
            if last.is_some_and(|(location, first, width)| {
                location == bytes.0 && bytes.1 < first + u128::from(width)
            }) {
                return None;
            }
            last = Some(bytes);
            let mut stores = group.iter().filter(|(_, telling)| telling.is_store);
            let (Some(&(teller, store)), None) = (stores.next(), stores.next()) else { return None };
            if !self.graph.terms.entails(round[teller].stuck, store.guard) {
                return None;
            }
            for (_, read) in group.iter().filter(|(_, telling)| !telling.is_store) {
                let is_told = meets_in(store.n_meetings, read.n_meetings);
                let is_over = meets_in(0, store.n_meetings) || meets_in(read.n_meetings, n_meetings);
                if !is_told || !is_over {
                    return None;
                }
                parts.push(self.graph.terms.equal(read.value, store.value));
            }
        }
        Some(parts)
    }

    /// The writes since an event by which the current thread may tell its CTA something.
    pub(super) fn stores_since(&self, first: EventId) -> Vec<EventId> {
        let since = self.graph.events.iter_enumerated().skip(first.0 as usize);
        let stores = since.filter(|&(id, event)| {
            let is_plain = |access: &Access| access.sem == Sem::Weak && access.atomic == AtomicClass::None;
            matches!(&event.kind, EventKind::Write(access) if is_plain(access)) && self.is_noted(id)
        });
        stores.map(|(id, _)| id).collect()
    }

    /// Whether nobody sees some stores but reads of one round, and nobody races with them, on a path.
    pub(super) fn stay_inside(
        &mut self,
        stores: &[EventId],
        is_of_round: &dyn Fn(EventId) -> bool,
        path: TermRef,
    ) -> bool {
        // With one CTA its shared memory may be asked for in the end.
        let is_asked = self.graph.hierarchy.n_ctas() == 1 && !self.kernel.finals.is_empty();
        let is_unasked = stores.is_empty() || !is_asked;
        is_unasked
            && stores.iter().all(|&store| {
                let Some(location) = self.graph.events[store].kind.access().map(|access| access.location)
                else {
                    return false;
                };
                let others = self.graph.events.iter_enumerated().filter(|&(id, event)| {
                    let is_there = event.kind.access().is_some_and(|access| access.location == location);
                    id != store && is_there && !matches!(event.kind, EventKind::Init(_))
                });
                let others: Vec<EventId> = others.map(|(id, _)| id).collect();
                let others: Vec<EventId> =
                    others.into_iter().filter(|&other| self.overlap(other, store)).collect();
                others.iter().all(|&other| self.is_unseen((store, other), &others, is_of_round, path))
            })
    }

    /// Whether an access is in barrier order with a store, and does not read it unless it is of the same round.
    fn is_unseen(
        &mut self,
        (store, other): (EventId, EventId),
        others: &[EventId],
        is_of_round: &dyn Fn(EventId) -> bool,
        path: TermRef,
    ) -> bool {
        let guards = [store, other].map(|event| self.graph.events[event].guard);
        let both = self.graph.terms.and_all(guards.into_iter().chain([path]));
        if both == TermPool::FALSE || self.order((other, store), both).is_some() {
            return true;
        }
        if self.order((store, other), both).is_none() {
            return false;
        }
        if !matches!(self.graph.events[other].kind, EventKind::Read(_)) {
            return true;
        }
        match self.source_of(other) {
            Some(source) => source != store || is_of_round(other),
            None => self.is_overwritten((store, other), others, both),
        }
    }

    /// Whether stores that come between a store and a read write all bytes that the two share.
    fn is_overwritten(
        &mut self,
        (store, read): (EventId, EventId),
        others: &[EventId],
        both: TermRef,
    ) -> bool {
        let (Some(own), Some(seen)) = (self.bytes(store), self.bytes(read)) else { return false };
        let mut missing: Vec<u128> = (own.0.max(seen.0)..own.1.min(seen.1)).collect();
        for &between in others {
            if !matches!(self.graph.events[between].kind, EventKind::Write(_)) {
                continue;
            }
            let Some((first, end)) = self.bytes(between) else { continue };
            if !missing.iter().any(|byte| (first..end).contains(byte)) {
                continue;
            }
            let guard = self.graph.events[between].guard;
            let Some(arrives) = self.order((between, read), both) else { continue };
            let known = self.graph.terms.and(both, arrives);
            if self.graph.terms.entails(known, guard) && self.order((store, between), known).is_some() {
                missing.retain(|byte| !(first..end).contains(byte));
            }
        }
        missing.is_empty()
    }
}
