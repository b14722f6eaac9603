//! A slice that grows: with what its threads do at the places that what is there depends on.

use super::Plan;
use crate::event::values::Values;
use crate::event::{AgentId, EventId, EventKind, TermKind, TermRef, UnknownId, UnknownKind};
use crate::slice::piece::Core;
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashSet;

/// A slice that takes in what it needs.
pub(super) struct Growing<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) threads: &'a SortedSet<AgentId>,
    pub(super) kept: SortedSet<EventId>,
    /// Spots of which everything is kept, once they are looked at.
    pub(super) places: Vec<usize>,
    pub(super) known_places: SortedSet<usize>,
    /// Terms that matter, to be looked at.
    pub(super) terms: Vec<TermRef>,
    pub(super) known_terms: FxHashSet<TermRef>,
    /// Unknowns for final bytes that only they write.
    pub(super) ends: SortedSet<UnknownId>,
    /// Others who read, or write, what matters.
    pub(super) lacking: SortedSet<AgentId>,
    /// Of a slice that is to be bare, what it is made of.
    pub(super) core: Option<&'a Core>,
    /// Writes of values that nobody asks for: what is written may be anything, so that threads that write their own numbers are
    /// alike.
    pub(super) idle: SortedSet<EventId>,
}

impl<'a> Growing<'a> {
    /// One that has nothing yet.
    pub(super) fn new(plan: &'a Plan<'a>, threads: &'a SortedSet<AgentId>) -> Self {
        Self {
            plan,
            threads,
            kept: SortedSet::new(),
            places: Vec::new(),
            known_places: SortedSet::new(),
            terms: Vec::new(),
            known_terms: FxHashSet::default(),
            ends: SortedSet::new(),
            lacking: SortedSet::new(),
            core: None,
            idle: SortedSet::new(),
        }
    }

    /// Takes in an event.
    pub(super) fn keep(&mut self, event: EventId) {
        if !self.kept.insert(event) {
            return;
        }
        let graph = self.plan.graph;
        let of_event = &graph.events[event];
        self.terms.push(of_event.guard);
        let Some(access) = of_event.kind.access() else { return };
        self.terms.push(access.offset);
        let is_idle = || {
            let values = self.plan.values.get_or_init(|| Values::new(graph));
            values.is_free(graph, event) && !values.terms.contains(&access.value)
        };
        if matches!(of_event.kind, EventKind::Write(_)) && is_idle() {
            self.idle.insert(event);
        } else {
            self.terms.push(access.value);
        }
    }

    fn is_theirs(&self, event: EventId) -> bool {
        self.plan.thread(event).is_some_and(|thread| self.threads.contains(&thread))
    }

    /// Whether everything that may write what a read may return is done by these threads.
    fn is_written_by_them(&self, read: EventId) -> bool {
        self.plan.spots.of.get(&read).is_none_or(|&spot| self.is_theirs_alone(spot))
    }

    fn is_theirs_alone(&self, spot: usize) -> bool {
        let is_theirs =
            |thread: &Option<AgentId>| thread.is_some_and(|thread| self.threads.contains(&thread));
        self.plan.writers[spot].iter().all(is_theirs)
    }

    fn lack_writers_of(&mut self, spots: impl IntoIterator<Item = usize>) {
        let plan = self.plan;
        let writers = spots.into_iter().flat_map(|spot| &plan.writers[spot]).flatten();
        self.lacking.extend(writers.copied());
    }

    /// Takes in all that what is there depends on.
    pub(super) fn grow(&mut self) {
        loop {
            while let Some(place) = self.places.pop() {
                if self.known_places.insert(place) {
                    self.look_at(place);
                }
            }
            let Some(term) = self.terms.pop() else { break };
            if !self.known_terms.insert(term) {
                continue;
            }
            let terms = &self.plan.graph.terms;
            self.terms.extend(terms.operands(term));
            let TermKind::Unknown(unknown) = *terms.kind(term) else { continue };
            self.terms.extend(self.plan.barrier_result(unknown));
            match terms.unknown(unknown).kind {
                UnknownKind::Read(read) | UnknownKind::ReadsLast(read) => {
                    let spot = self.plan.spots.of.get(&read).copied();
                    if !self.is_theirs(read) {
                        self.lacking.extend(self.plan.thread(read));
                    } else if self.is_written_by_them(read) {
                        self.places.extend(spot);
                    } else {
                        self.lack_writers_of(spot);
                    }
                }
                ref kind @ UnknownKind::FinalValue { .. } => {
                    let spots = self.plan.final_spots(kind);
                    if spots.iter().all(|&spot| self.is_theirs_alone(spot)) {
                        self.ends.insert(unknown);
                        self.places.extend(spots);
                    } else {
                        self.lack_writers_of(spots);
                    }
                }
                _ => {}
            }
        }
    }

    /// Keeps what they do near a spot: all writes, and the reads whose sources all are theirs.
    fn look_at(&mut self, place: usize) {
        let plan = self.plan;
        for &spot in &plan.spots.spots[place].near {
            let of_spot = &plan.spots.spots[spot];
            for &write in &of_spot.writers {
                if self.is_theirs(write) {
                    self.keep(write);
                }
            }
            for &read in &of_spot.readers {
                if self.is_theirs(read) && self.is_written_by_them(read) {
                    self.keep(read);
                    // What it may read, to its last byte.
                    self.places.push(spot);
                }
            }
        }
    }
}
