//! Slices around places: where threads have to do with too many others to be looked at with all of them.
//!
//! In a tile that each thread writes a part of and each reads a part of, nearly every thread has to do with every other, but at
//! each word only a few meet. So of accesses that have bytes in common, directly or by others between them, the pairs are asked
//! of a slice around that *place*: whoever accesses it, and nothing else in memory but what that depends on. Where many read
//! what few write, each reader is looked at with the writers. All else that can go wrong is asked of slices around threads,
//! without the tiles: obligations, loop cuts, and pairs that are not of one place.
//!
//! At first such a slice is bare: it has just the threads that it is about, values that nobody asks for are any, and of what
//! many threads start together it is not said that all have come there. Where something goes wrong in it, it is made again with
//! those by whom threads know of each other and with all that is known: one more look where that was needed, and a tenth of the
//! work where it was not. Where something still goes wrong and somebody else decides what is read there, it is made once more
//! with whoever does: with the thread that takes a lock for its CTA, and that of the other CTA.
//!
//! Sound: as for slices around threads (see [`crate::slice`]); what a write of an unknown value stands for is any value, as of one
//! that was read elsewhere. Each pair that a flag can hold of is asked of a slice that has both, or there are no slices; that is
//! counted here.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone),
//! [`Need::MonotoneFlags`](crate::facts::needs::Need::MonotoneFlags), as those do.

use super::super::piece::{Core, Piece, Place, Places, Surroundings};
use super::found::Found;
use super::{Candidates, Plan};
use crate::event::{AgentId, EventId};
use crate::work::{self, Allowance, Work};
use fencepost_dsl::IndexVec;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

/// Threads that meet at a place and are looked at together; of more, each reader with all that write.
const TOGETHER_MAX: usize = 16;
/// Pairs like one that was found that are looked at for one of other warps.
const ALIKE_MAX: usize = 64;
/// Pairs that are gone through.
const PAIRS_MAX: usize = 4_000_000;

/// Where each event is, and the accesses of each place.
pub(super) struct AtPlaces {
    of: Arc<IndexVec<EventId, Place>>,
    accesses: Vec<Vec<EventId>>,
}

impl Plan<'_> {
    /// The slices around places and those around threads without them, one of each kind; `None` if they do not ask everything,
    /// or are no smaller than the whole.
    pub fn pieces_by_place(&self, allowance: &Allowance) -> Option<Vec<Piece>> {
        if self.claims.candidates.iter().map(Candidates::len).sum::<usize>() > PAIRS_MAX {
            return None;
        }
        let AtPlaces { of, accesses } = self.places();
        let places = Places { of: Arc::clone(of), only: None };
        let mut found = Found::new(self, allowance);
        let mut of_place: Vec<SortedSet<(EventId, EventId)>> = vec![SortedSet::new(); accesses.len()];
        for pair in self.claims.candidates.iter().flat_map(Candidates::pairs) {
            if let Some(place) = places.shared(pair) {
                of_place[place].insert(pair);
            }
        }
        for (number, pairs) in of_place.into_iter().enumerate().filter(|(_, pairs)| !pairs.is_empty()) {
            self.around_place(pairs, &Places { only: Some(number), ..places.clone() }, &mut found)?;
        }
        let beside = self.beside_places(&places)?;
        for &thread in self.events.keys() {
            let asked = beside.get(&thread).cloned().unwrap_or_default();
            found.add(self.around_beside(thread, &asked, &places)?)?;
        }
        Some(found.pieces)
    }

    /// The slice that asks about two accesses of one place, and nothing else; `None` if they are none.
    pub fn around_pair(&self, pair: (EventId, EventId)) -> Option<Piece> {
        let places = Places { of: Arc::clone(&self.places().of), only: None };
        let number = places.shared(pair)?;
        let centre = self.thread(pair.0)?;
        let core = Core {
            centre,
            asked: SortedSet::new(),
            threads: SortedSet::from_iter([centre, self.thread(pair.1)?]),
            accesses: vec![pair.0, pair.1],
            places: Places { only: Some(number), ..places },
        };
        let piece = self.of_core(&core, Surroundings::None)?;
        Some(Piece { pair: Some(pair), ..piece })
    }

    /// A pair of the same two statements, of which the first is done by another warp: what two threads do to each other may be kept
    /// apart by what does not keep others apart.
    pub fn of_another_warp(&self, (a, b): (EventId, EventId)) -> Option<(EventId, EventId)> {
        let graph = self.graph;
        let warp = |event: EventId| self.thread(event).map(|thread| graph.hierarchy.warp_of(thread));
        let cta = |event: EventId| self.thread(event).map(|thread| graph.hierarchy.cta_of(thread));
        let place = |event: EventId| graph.events[event].site.map(|site| graph.sites[site].span);
        let is_within = |one: EventId, other: EventId| cta(one) == cta(other);
        let AtPlaces { of, accesses } = self.places();
        let others = graph.events.ids().filter(|&other| {
            place(other).is_some()
                && place(other) == place(a)
                && warp(other).is_some()
                && warp(other) != warp(a)
        });
        let with_partner = |other: EventId| {
            let Place::At(number) = of[other] else { return None };
            let partner = accesses[number].iter().copied().find(|&partner| {
                place(partner) == place(b)
                    && self.thread(partner) != self.thread(other)
                    && is_within(other, partner) == is_within(a, b)
            });
            Some((other, partner?))
        };
        let pairs: Vec<(EventId, EventId)> = others.filter_map(with_partner).take(ALIKE_MAX).collect();
        // Threads of two warps tell more than lanes of one.
        pairs.iter().find(|&&(a, b)| warp(a) != warp(b)).or(pairs.first()).copied()
    }

    /// The same slice with more of its surroundings, and those that are alike; `None` if there are no more.
    pub fn with_surroundings(&self, piece: &Piece, allowance: &Allowance) -> Option<Vec<Piece>> {
        if !piece.may_grow() {
            return None;
        }
        let more = piece.surroundings.next()?;
        let mut found = Found::new(self, allowance);
        for core in &piece.cores {
            found.add(self.of_core(core, more)?)?;
        }
        Some(found.pieces)
    }

    fn places(&self) -> &AtPlaces {
        self.at_places.get_or_init(|| self.new_places())
    }

    fn new_places(&self) -> AtPlaces {
        let mut of = IndexVec::repeat(Place::Nowhere, self.graph.events.len());
        for &event in self.of_nobody.iter().filter(|&&event| !self.spots.of.contains_key(&event)) {
            of[event] = Place::Everywhere;
        }
        let mut accesses: Vec<Vec<EventId>> = Vec::new();
        let mut known = vec![false; self.spots.spots.len()];
        for first in 0..known.len() {
            let (mut pending, mut members) = (vec![first], Vec::new());
            while let Some(spot) = pending.pop() {
                if std::mem::replace(&mut known[spot], true) {
                    continue;
                }
                let spot = &self.spots.spots[spot];
                members.extend(spot.readers.iter().chain(&spot.writers).copied());
                pending.extend(&spot.near);
            }
            if !members.is_empty() {
                members.sort_unstable();
                members.iter().for_each(|&event| of[event] = Place::At(accesses.len()));
                accesses.push(members);
            }
        }
        AtPlaces { of: Arc::new(of), accesses }
    }

    /// Adds the slices that ask about the accesses of a place.
    fn around_place(
        &self,
        pairs: SortedSet<(EventId, EventId)>,
        places: &Places,
        found: &mut Found<'_>,
    ) -> Option<()> {
        let asked: SortedSet<EventId> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        let threads_of = |reads: bool| -> SortedSet<AgentId> {
            asked.iter().filter(|&&id| self.is_read(id) == reads).filter_map(|&id| self.thread(id)).collect()
        };
        let (readers, writers) = (threads_of(true), threads_of(false));
        let all: SortedSet<AgentId> = readers.union(&writers).copied().collect();
        let groups: Vec<SortedSet<AgentId>> = if all.len() <= TOGETHER_MAX {
            vec![all]
        } else {
            let with = |&reader: &AgentId| writers.iter().copied().chain([reader]).collect();
            let alone: Vec<AgentId> = readers.difference(&writers).copied().collect();
            if alone.is_empty() { vec![writers.clone()] } else { alone.iter().map(with).collect() }
        };
        work::count(Work::Pair, pairs.len());
        let mut open = pairs;
        for group in groups {
            let accesses: Vec<EventId> = asked
                .iter()
                .copied()
                .filter(|&id| self.thread(id).is_some_and(|thread| group.contains(&thread)))
                .collect();
            let centre = *group.iter().next()?;
            let places = places.clone();
            let core = Core { centre, asked: SortedSet::new(), threads: group, accesses, places };
            let piece = self.of_core(&core, Surroundings::None)?;
            open.retain(|&(a, b)| !(piece.has(a) && piece.has(b)));
            found.add(piece)?;
        }
        open.is_empty().then_some(())
    }

    /// By thread, the events of the pairs of no place that its slice asks about; `None` if too many threads have to do with many.
    ///
    /// Of a thread that has to do with many, such as one that initializes what all use, each of these asks.
    fn beside_places(&self, places: &Places) -> Option<SortedMap<AgentId, SortedSet<EventId>>> {
        let pairs = || {
            let all = self.claims.candidates.iter().flat_map(Candidates::pairs);
            all.filter(|&pair| places.shared(pair).is_none())
        };
        let mut partners: SortedMap<AgentId, SortedSet<AgentId>> = SortedMap::new();
        for (a, b) in pairs() {
            if let (Some(a), Some(b)) = (self.thread(a), self.thread(b)) {
                partners.entry(a).or_default().insert(b);
                partners.entry(b).or_default().insert(a);
            }
        }
        let is_hub = |thread: AgentId| partners[&thread].len() > self.reach.partners_max;
        if partners.keys().filter(|&&thread| is_hub(thread)).count() > self.reach.hubs_max {
            return None;
        }
        let mut beside: SortedMap<AgentId, SortedSet<EventId>> = SortedMap::new();
        for (a, b) in pairs() {
            let owner = match (self.thread(a), self.thread(b)) {
                (Some(hub), Some(other)) if is_hub(hub) => Some(other),
                (one, other) => one.or(other),
            };
            if let Some(owner) = owner {
                beside.entry(owner).or_default().extend([a, b]);
            }
        }
        Some(beside)
    }

    /// The slice around a thread that asks about what it alone does wrong, and about some events.
    fn around_beside(&self, centre: AgentId, asked: &SortedSet<EventId>, places: &Places) -> Option<Piece> {
        let threads = asked.iter().filter_map(|&event| self.thread(event)).chain([centre]).collect();
        let is_access = |id: &&EventId| self.graph.events[**id].kind.access().is_some();
        let accesses: Vec<EventId> = asked.iter().filter(is_access).copied().collect();
        let places = places.clone();
        let core = Core { centre, asked: SortedSet::from_iter([centre]), threads, accesses, places };
        let piece = self.of_core(&core, Surroundings::None)?;
        asked.iter().all(|&event| piece.has(event)).then_some(piece)
    }

    /// Of some threads what is no access, some accesses with all that these threads do at their places, and what that depends on.
    fn of_core(&self, core: &Core, surroundings: Surroundings) -> Option<Piece> {
        let Core { centre, asked, accesses, places, .. } = core;
        let mut threads = core.threads.clone();
        if surroundings != Surroundings::None {
            let warps: SortedSet<u32> =
                threads.iter().map(|&agent| self.graph.hierarchy.warp_of(agent)).collect();
            threads.extend(warps.iter().filter_map(|warp| self.of_warp.get(warp)).flatten());
            self.add_delegates(&mut threads, self.reach);
            self.add_company(&mut threads);
        }
        if surroundings == Surroundings::Sources {
            self.add_sources_of(core, &mut threads);
        }
        if threads.len() > self.reach.threads_max {
            return None;
        }
        let bare = (surroundings == Surroundings::None).then_some(core);
        self.with_missing(threads, |threads| {
            let piece = self.of_accesses((*centre, asked), threads, accesses, bare)?;
            let grows = bare.is_some() || surroundings < Surroundings::Sources && !piece.lacking.is_empty();
            let cores = if grows { vec![core.clone()] } else { Vec::new() };
            Some(Piece { places: Some(places.clone()), surroundings, cores, ..piece })
        })
    }

    /// Whoever does what a slice depends on, as long as they are not too many.
    fn add_sources_of(&self, core: &Core, threads: &mut SortedSet<AgentId>) {
        while threads.len() <= self.reach.threads_max {
            let lacking = self.grown(&core.asked, threads, &core.accesses, None).lacking;
            let n = threads.len();
            threads.extend(lacking);
            if threads.len() == n {
                return;
            }
        }
    }
}
