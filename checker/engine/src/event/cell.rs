//! Memory cells: the grain at which accesses of one location can overlap, and the initial writes.
//!
//! Accesses are naturally aligned and their sizes are powers of two, so with `g` the smallest size used on a location
//! every access covers whole cells of `g` bytes. Locations accessed at one size have one cell per element; overlapping
//! views make an access span several.

use super::{
    Access, AtomicClass, Event, EventGraph, EventId, EventKind, LocationId, Role, TermPool, UnknownKind,
};
use fencepost_dsl::IndexVec;
use fencepost_dsl::kernel::program::{InitialBytes, Width};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};

/// More cells than this on one location, and the run ends in a named limit.
pub const CELLS_MAX: usize = 1 << 14;

/// The cells of a graph.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Bytes per cell, by location.
    pub grain_bytes: IndexVec<LocationId, u32>,
    /// The initial write of each cell that some read or final condition may ask for.
    pub initial: SortedMap<(LocationId, u32), EventId>,
}

/// Too many cells on one location.
#[derive(Clone, Debug)]
pub struct TooManyCells {
    /// The location's name.
    pub location: String,
}

/// The first byte offsets an access may start at.
pub fn possible_offsets(terms: &TermPool, access: &Access, size_bytes: u32) -> std::ops::RangeInclusive<u32> {
    let (min, max) = terms.range(access.offset);
    let last = u128::from(size_bytes.saturating_sub(access.width_bytes));
    let clamp = |value: u128| u32::try_from(value.min(last)).unwrap_or(u32::MAX);
    clamp(min)..=clamp(max)
}

/// Finds the cells of `graph` and appends their initial writes to its events (MM-10), in place of any it has.
///
/// # Errors
/// If a symbolic index could reach more than [`CELLS_MAX`] cells of a location.
pub fn add_initial_writes(graph: &mut EventGraph) -> Result<Cells, TooManyCells> {
    graph.events =
        graph.events.iter().filter(|event| !matches!(event.kind, EventKind::Init(_))).cloned().collect();
    let grain_bytes = grains(graph);
    let mut wanted: SortedSet<(LocationId, u32)> = SortedSet::new();
    for event in graph.events.iter() {
        let EventKind::Read(access) = &event.kind else { continue };
        let location = &graph.locations[access.location];
        let grain = grain_bytes[access.location];
        let starts = possible_offsets(&graph.terms, access, location.size_bytes);
        let n_cells = u64::from((starts.end() + access.width_bytes - starts.start()) / grain);
        if n_cells > CELLS_MAX as u64 {
            return Err(TooManyCells { location: location.name.to_string() });
        }
        wanted.extend(
            (starts.start() / grain..(starts.end() + access.width_bytes) / grain)
                .map(|c| (access.location, c)),
        );
    }
    for unknown in graph.terms.unknowns().iter() {
        if let UnknownKind::FinalValue { location, offset_bytes, width_bytes } = unknown.kind {
            let grain = grain_bytes[location];
            wanted
                .extend((offset_bytes / grain..(offset_bytes + width_bytes) / grain).map(|c| (location, c)));
        }
    }
    let mut initial = SortedMap::new();
    for (location, cell) in wanted {
        let event = initial_write(graph, location, cell * grain_bytes[location], grain_bytes[location]);
        initial.insert((location, cell), graph.events.push(event));
    }
    Ok(Cells { grain_bytes, initial })
}

/// Bytes per cell, by location: the smallest size used there.
pub fn grains(graph: &EventGraph) -> IndexVec<LocationId, u32> {
    let mut grains: IndexVec<LocationId, u32> = IndexVec::repeat(16, graph.locations.len());
    for access in graph.events.iter().filter_map(|event| event.kind.access()) {
        grains[access.location] = grains[access.location].min(access.width_bytes);
    }
    for unknown in graph.terms.unknowns().iter() {
        if let UnknownKind::FinalValue { location, width_bytes, .. } = unknown.kind {
            grains[location] = grains[location].min(width_bytes);
        }
    }
    grains
}

fn initial_write(graph: &mut EventGraph, location: LocationId, offset_bytes: u32, width_bytes: u32) -> Event {
    let width = Width::try_from(width_bytes * 8).expect("cells are at most 16 bytes");
    let value = match &graph.locations[location].initial {
        InitialBytes::Known(bytes) => {
            let mut value = 0u128;
            for at in (0..width_bytes).rev() {
                value =
                    value << 8 | u128::from(bytes.get((offset_bytes + at) as usize).copied().unwrap_or(0));
            }
            graph.terms.constant(value, width)
        }
        InitialBytes::Unknown => graph.terms.fresh(width, UnknownKind::Initial { location, offset_bytes }).1,
    };
    let offset = graph.terms.constant(u128::from(offset_bytes), 32);
    Event {
        agent: None,
        guard: TermPool::TRUE,
        position: 0,
        kind: EventKind::Init(Access {
            location,
            mapping: 0,
            proxy: Proxy::Generic,
            offset,
            width_bytes,
            value,
            sem: Sem::Weak,
            scope: Scope::Sys,
            atomic: AtomicClass::None,
        }),
        site: None,
        iterations: Vec::new(),
        calls: Vec::new(),
        role: Role::Plain,
        decides: false,
    }
}

impl Cells {
    /// Number of cells an access spans.
    pub fn n_pieces(&self, access: &Access) -> u32 {
        access.width_bytes / self.grain_bytes[access.location]
    }
}
