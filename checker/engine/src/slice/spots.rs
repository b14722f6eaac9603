//! Who accesses which bytes.

use crate::bits::{BitMatrix, EventSet};
use crate::event::cell::possible_offsets;
use crate::event::{EventGraph, EventId, EventKind, LocationId};
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// Bytes of a location that some access may be at: from the first up to another. Those of an access at an unknown place are
/// all that it may be at.
pub type Bytes = (LocationId, u32, u32);

/// The accesses of the same bytes.
#[derive(Default)]
pub struct Spot {
    pub readers: Vec<EventId>,
    pub writers: Vec<EventId>,
    /// Spots that have a byte in common with it, itself included.
    pub near: Vec<usize>,
}

/// All accesses of a graph, by place.
pub struct Spots {
    pub spots: Vec<Spot>,
    pub of: FxHashMap<EventId, usize>,
    numbers: SortedMap<Bytes, usize>,
    /// The most bytes that a spot has.
    widest: u32,
}

impl Spots {
    /// Those of a graph.
    pub fn new(graph: &EventGraph) -> Self {
        let mut this =
            Self { spots: Vec::new(), of: FxHashMap::default(), numbers: SortedMap::new(), widest: 0 };
        for (id, event) in graph.events.iter_enumerated() {
            let Some(access) = event.kind.access() else { continue };
            let starts = possible_offsets(&graph.terms, access, graph.locations[access.location].size_bytes);
            let bytes = (access.location, *starts.start(), starts.end() + access.width_bytes);
            this.widest = this.widest.max(bytes.2 - bytes.1);
            let number = *this.numbers.entry(bytes).or_insert_with(|| {
                this.spots.push(Spot::default());
                this.spots.len() - 1
            });
            let spot = &mut this.spots[number];
            if matches!(event.kind, EventKind::Read(_)) { &mut spot.readers } else { &mut spot.writers }
                .push(id);
            this.of.insert(id, number);
        }
        for (&bytes, &number) in &this.numbers {
            this.spots[number].near = this.at(bytes).collect();
        }
        this
    }

    /// The spots that have a byte in common with some bytes.
    pub fn at(&self, (location, first, end): Bytes) -> impl Iterator<Item = usize> + '_ {
        // Sorted by first byte; what begins before and reaches into these is no further away than the widest is wide.
        let from = (location, first.saturating_sub(self.widest), 0);
        let near = self.numbers.range(from..(location, end, 0));
        near.filter(move |((_, _, other_end), _)| *other_end > first).map(|(_, &other)| other)
    }

    /// Which events have a byte in common, among so many.
    pub fn overlaps(&self, n: usize) -> BitMatrix {
        let mut pairs = BitMatrix::empty(n);
        for spot in &self.spots {
            let members = |spot: &Spot| spot.readers.iter().chain(&spot.writers).copied().collect::<Vec<_>>();
            let others = spot.near.iter().flat_map(|&near| members(&self.spots[near]));
            pairs.fill(&EventSet::from_iter(n, members(spot)), &EventSet::from_iter(n, others));
        }
        pairs
    }

    /// What may write what is read at a spot; initial writes are not among it.
    pub fn writers_near(&self, spot: usize) -> impl Iterator<Item = EventId> + '_ {
        self.spots[spot].near.iter().flat_map(|&near| self.spots[near].writers.iter().copied())
    }
}
