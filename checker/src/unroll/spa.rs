//! What threads of an SPA machine do about L1 caches and the order of their accesses (§7).
//!
//! Cannot: say which stale line a load finds; that is the business of the model file, as is what a `MEMBAR` orders.

use super::access::{Part, Strength};
use super::expression::Place;
use super::{Step, UnrollError, Unroller};
use crate::event::{AtomicClass, EventGraph, EventKind, LocationId, SpaEvent, TermRef, Wait};
use fencepost_dsl::kernel::program::SpaOp;
use fencepost_dsl::vocabulary::{Invalidation, Proxy, Scope, Sem};
use std::collections::{BTreeMap, BTreeSet};

/// What a round on final memory has invalidated.
#[derive(Clone, Default)]
pub struct Invalidated {
    all: Invalidation,
    lines: Vec<(LocationId, TermRef)>,
}

/// The SMs whose threads write a location; `None` for clients.
pub type Writers = BTreeMap<LocationId, BTreeSet<Option<u32>>>;

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
            let invalidated = last.invalidated();
            invalidated.all.data |= event.invalidation().data;
            invalidated.all.texture |= event.invalidation().texture;
            if let SpaEvent::InvalidateLine(access) = &event {
                invalidated.lines.push((access.location, access.offset));
            }
            if self.is_imagined() {
                return Ok(());
            }
        }
        self.emit_next(step.state.live, EventKind::Spa(event), step.site)?;
        Ok(())
    }

    /// Whether a load that could hit a stale line for ever does not, in a try on final memory: the try has invalidated
    /// it, or only threads of its own SM write there (SPA-4).
    pub(super) fn is_fresh_at_last(
        &mut self,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> bool {
        if self.graph.hierarchy.launch().spa.is_none() {
            return false;
        }
        let nothing = self.graph.terms.constant(0, part.width);
        let access = self.scalar_access(element, part, nothing, strength);
        let own = self.graph.hierarchy.sm_of(self.agent);
        let is_local = self.writers.as_ref().is_some_and(|writers| {
            writers.get(&access.location).is_none_or(|sms| sms.iter().all(|&sm| sm == own))
        });
        let Some(last) = &mut self.last_try else { return false };
        let invalidated = last.invalidated();
        if access.proxy == Proxy::Texture {
            return invalidated.all.texture;
        }
        is_local || invalidated.all.data || invalidated.lines.contains(&(access.location, access.offset))
    }
}
