//! What threads of an SPA machine do about L1 caches and the order of their accesses (§7).
//!
//! Cannot: say which stale line a load finds; that is the business of the model file, as is what a `MEMBAR` orders.

use super::access::{Part, Strength};
use super::expression::Place;
use super::{Step, UnrollError, Unroller};
use crate::event::{AtomicClass, EventGraph, EventKind, LocationId, SpaEvent, TermRef, Wait};
use fencepost_dsl::kernel::program::SpaOp;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};

/// What a round on final memory has invalidated, each with the path on which it has.
#[derive(Clone, Default)]
pub struct Invalidated {
    data: Vec<TermRef>,
    texture: Vec<TermRef>,
    /// Location, offset and path.
    lines: Vec<(LocationId, TermRef, TermRef)>,
}

/// A load of such a round that goes through an L1 cache.
#[derive(Clone)]
pub struct CachedLoad {
    /// When it happens.
    pub guard: TermRef,
    is_texture: bool,
    location: LocationId,
    offset: TermRef,
}

/// What is known of a load in such a round.
pub enum Freshness {
    /// It finds no stale line.
    Fresh,
    /// It may, unless the round invalidates the line.
    Cached(CachedLoad),
    /// The machine has no such caches.
    NoCache,
}

impl Invalidated {
    /// How much that is, for [`Invalidated::truncate`].
    pub fn lengths(&self) -> [usize; 3] {
        [self.data.len(), self.texture.len(), self.lines.len()]
    }
    /// Forgets what came after.
    pub fn truncate(&mut self, [n_data, n_texture, n_lines]: [usize; 3]) {
        self.data.truncate(n_data);
        self.texture.truncate(n_texture);
        self.lines.truncate(n_lines);
    }
    /// The paths on which what a load reads is invalidated.
    pub fn paths(&self, load: &CachedLoad) -> impl Iterator<Item = TermRef> {
        let whole = if load.is_texture { &self.texture } else { &self.data };
        let place = (load.location, load.offset);
        let is_it =
            move |&&(location, offset, _): &&(LocationId, TermRef, TermRef)| (location, offset) == place;
        let lines = if load.is_texture { &[][..] } else { &self.lines[..] };
        whole.iter().copied().chain(lines.iter().filter(is_it).map(|&(.., path)| path))
    }
}

/// The SMs whose threads write a location; `None` for clients.
pub type Writers = SortedMap<LocationId, SortedSet<Option<u32>>>;

/// Who writes what, if it matters: where a thread may wait for ever for what its L1 does not show it.
///
/// Which threads write is known only after all have run, so they run again then.
pub fn writers(graph: &EventGraph) -> Option<Writers> {
    let waits_on_cached = graph
        .blocked
        .iter()
        .any(|blocked| matches!(&blocked.wait, Wait::Memory(looks) if looks.iter().any(|look| look.is_weak)));
    if graph.hierarchy.launch().spa.is_none() || !waits_on_cached {
        return None;
    }
    let mut writers = Writers::new();
    for event in graph.events.iter() {
        if let (EventKind::Write(access), Some(agent)) = (&event.kind, event.agent) {
            writers.entry(access.location).or_default().insert(graph.hierarchy.sm_of(agent));
        }
    }
    Some(writers)
}

impl Unroller<'_> {
    /// How a load reads: clients have no L1, so theirs are never stale.
    pub(super) fn load_sem(&self, sem: Sem) -> Sem {
        if self.graph.hierarchy.client(self.agent).is_some() { Sem::Volatile } else { sem }
    }

    /// `MEMBAR` and cache control.
    pub(super) fn spa(&mut self, step: &mut Step<'_>, operation: &SpaOp) -> Result<(), UnrollError> {
        let event = match operation {
            SpaOp::Membar { level, invalidation } => {
                SpaEvent::Membar { level: *level, invalidation: *invalidation }
            }
            SpaOp::InvalidateAll(invalidation) => SpaEvent::InvalidateAll(*invalidation),
            SpaOp::InvalidateLine(address) => {
                let Some(place) = self.resolve(step, address, 1)? else { return Ok(()) };
                let width = self.kernel.objects[place.object].width;
                let nothing = self.graph.terms.constant(0, width);
                let strength = Strength::new(Sem::Relaxed, Scope::Sys, AtomicClass::None);
                let access = self.scalar_access((place, 0), Part { low_bit: 0, width }, nothing, strength);
                SpaEvent::InvalidateLine(access)
            }
        };
        if let Some(last) = &mut self.last_try {
            let (invalidated, path) = (last.invalidated(), step.state.live);
            invalidated.data.extend(event.invalidation().data.then_some(path));
            invalidated.texture.extend(event.invalidation().texture.then_some(path));
            if let SpaEvent::InvalidateLine(access) = &event {
                invalidated.lines.push((access.location, access.offset, path));
            }
            if self.is_imagined() {
                return Ok(());
            }
        }
        self.emit_next(step.state.live, EventKind::Spa(event), step.site)?;
        Ok(())
    }

    /// What a load that could hit a stale line finds in a try on final memory.
    ///
    /// It is fresh if the try has invalidated the line on the way to it, or only threads of its own SM write there (SPA-4).
    pub(super) fn freshness(
        &mut self,
        guard: TermRef,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> Freshness {
        if self.graph.hierarchy.launch().spa.is_none() {
            return Freshness::NoCache;
        }
        let nothing = self.graph.terms.constant(0, part.width);
        let access = self.scalar_access(element, part, nothing, strength);
        let is_texture = access.proxy == Proxy::Texture;
        let own = self.graph.hierarchy.sm_of(self.agent);
        let is_local = self.writers.as_ref().is_some_and(|writers| {
            writers.get(&access.location).is_none_or(|sms| sms.iter().all(|&sm| sm == own))
        });
        let load = CachedLoad { guard, is_texture, location: access.location, offset: access.offset };
        let Some(last) = &mut self.last_try else { return Freshness::Cached(load) };
        let terms = &self.graph.terms;
        let is_fresh = last.invalidated().paths(&load).any(|path| terms.implies_syntactically(guard, path));
        if is_fresh || (is_local && !is_texture) { Freshness::Fresh } else { Freshness::Cached(load) }
    }
}
