//! Slices around threads: each with those that it has to do with, and those who have to do with many, the *hubs*.
//!
//! What hubs have to do with each other is asked there, too, as far as it is at places that some other thread accesses. For
//! the rest there are slices around hubs, each about what is left between two of them.

use super::NEAR;
use super::Plan;
use super::found::Found;
use crate::event::{AgentId, EventId};
use crate::slice::piece::Piece;
use crate::work::Allowance;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashSet;

/// Events of hubs that are left to be asked about; where there are more, slices around places are the better ones.
const LEFT_MAX: usize = 64;

/// Of each flag, the pairs that slices ask about so far, of those of hubs.
type Asked = Vec<FxHashSet<(EventId, EventId)>>;

impl Plan<'_> {
    /// The slices, one of each kind; `None` if they do not ask everything, or are no smaller than the whole.
    ///
    /// One that is known, if there is one, is not among them.
    pub fn pieces(&self, known: Option<&Piece>, allowance: &Allowance) -> Option<Vec<Piece>> {
        if !self.has_centres() {
            return None;
        }
        let mut asked: Asked = vec![FxHashSet::default(); self.claims.candidates.len()];
        let mut hubs_left = self.hubs.clone();
        let mut found = Found::new(self, allowance);
        if let Some(known) = known {
            found.know(known);
        }
        for centre in self.events.keys().copied().filter(|agent| !self.hubs.contains(agent)) {
            let piece = self.around(centre)?;
            if !self.asks_all_of_centre(&piece) {
                return None;
            }
            self.mark(&piece, &mut asked);
            hubs_left.retain(|hub| !piece.asked.contains(hub));
            found.add(piece)?;
        }
        // Each has to do with more threads than there are of its kind, hence with one that a slice is around.
        if !hubs_left.is_empty() {
            return None;
        }
        let left = self.left_between_hubs(&asked);
        if left.values().map(SortedSet::len).sum::<usize>() > LEFT_MAX {
            return None;
        }
        for ((hub, other), events) in left {
            let others = SortedSet::from_iter([other]);
            let piece = self.with_writers(hub, &others, &events, events.iter().copied())?;
            self.mark(&piece, &mut asked);
            found.add(piece)?;
        }
        let is_whole = self.shared.iter().zip(&asked).all(|(pairs, asked)| pairs.len() == asked.len());
        is_whole.then_some(found.pieces)
    }

    /// By two hubs, their events in pairs that no slice asks about yet.
    fn left_between_hubs(&self, asked: &Asked) -> SortedMap<(AgentId, AgentId), SortedSet<EventId>> {
        let mut left: SortedMap<(AgentId, AgentId), SortedSet<EventId>> = SortedMap::new();
        for (pairs, asked) in self.shared.iter().zip(asked) {
            for &(a, b) in pairs.iter().filter(|pair| !asked.contains(pair)) {
                let (one, other) = (self.thread(a), self.thread(b));
                if let (Some(one), Some(other)) = (one.or(other), other.or(one)) {
                    left.entry((one.min(other), one.max(other))).or_default().extend([a, b]);
                }
            }
        }
        left
    }

    /// Whether a slice asks about all pairs that the thread it is about is in.
    fn asks_all_of_centre(&self, piece: &Piece) -> bool {
        self.events[&piece.centre].iter().all(|&event| {
            let pairs = self.claims.candidates.iter().flat_map(|pairs| pairs.successors(event));
            let after_shared = self.after_shared.get(&event).into_iter().flatten().copied();
            piece.has(event) && pairs.chain(after_shared).all(|other| piece.has(other))
        })
    }

    /// Notes which pairs of events of no centre a slice asks about.
    fn mark(&self, piece: &Piece, asked: &mut [FxHashSet<(EventId, EventId)>]) {
        let is_asked =
            |&(a, b): &(EventId, EventId)| piece.has(a) && piece.has(b) && piece.asks(self.graph, (a, b));
        for (pairs, asked) in self.shared.iter().zip(asked) {
            asked.extend(pairs.iter().copied().filter(is_asked));
        }
    }

    /// The slice around a thread.
    pub fn around(&self, centre: AgentId) -> Option<Piece> {
        let none = SortedSet::new();
        let others = self.partners.get(&centre).unwrap_or(&none);
        let of_centre = &self.events[&centre];
        let met = of_centre.iter().flat_map(|&event| {
            self.claims.candidates.iter().flat_map(move |pairs| pairs.successors(event)).chain([event])
        });
        self.with_writers(centre, others, of_centre, met)
    }

    /// Those of its CTA who have to do with many, and of other CTAs those who have to do with it. The rest are asked about where
    /// those are that they have to do with.
    fn hubs_near(&self, centre: AgentId) -> SortedSet<AgentId> {
        let cta = |agent: AgentId| self.graph.hierarchy.cta_of(agent);
        let is_near = |hub: &AgentId| {
            cta(*hub) == cta(centre) || self.partners.get(&centre).is_some_and(|own| own.contains(hub))
        };
        self.hubs.iter().copied().filter(is_near).collect()
    }

    /// The slice that asks about some events of a thread, which has others and those who write what is read by events that
    /// these meet, or what others read of those bytes.
    fn with_writers<'e>(
        &self,
        centre: AgentId,
        others: &SortedSet<AgentId>,
        events: impl IntoIterator<Item = &'e EventId> + Copy,
        met: impl Iterator<Item = EventId>,
    ) -> Option<Piece> {
        let mut asked = self.hubs_near(centre);
        asked.insert(centre);
        let mut threads = if self.reach == NEAR { asked.clone() } else { self.hubs.clone() };
        threads.extend(&asked);
        threads.extend(others);
        threads.extend(self.of_warp.get(&self.graph.hierarchy.warp_of(centre)).into_iter().flatten());
        self.add_delegates(&mut threads, self.reach);
        self.add_company(&mut threads);
        let read: SortedSet<usize> = met
            .filter(|&event| self.is_read(event))
            .filter_map(|event| self.spots.of.get(&event).copied())
            .collect();
        for spot in read {
            threads.extend(self.writers[spot].iter().flatten());
            if threads.len() > self.reach.threads_max {
                return None;
            }
        }
        self.with_missing(threads, |threads| self.of_accesses((centre, &asked), threads, events, None))
    }
}
