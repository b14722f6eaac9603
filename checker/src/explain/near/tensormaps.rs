//! Near-steps from the write of a tensor map to a tensor copy that reads it: the fences of its proxy, and where they are
//! missing.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{EventId, EventKind, RestrictedFence};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::vocabulary::Proxy;

/// The way is from the write to the copy.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let is_map = |event: EventId| {
        graph.events[event].kind.access().is_some_and(|access| access.proxy == Proxy::Tensormap)
    };
    let (write, read) = (way.earlier, way.later);
    if is_map(write) {
        return Vec::new();
    }
    let order = search.program_order();
    let (starts, window) = (search.relation(BaseRelation::Start), search.relation(BaseRelation::Window));
    let fences = |wanted: fn(RestrictedFence) -> bool| {
        search.executed().filter(move |&event| {
            matches!(graph.events[event].kind, EventKind::RestrictedFence(fence) if wanted(fence))
        })
    };
    let is_released = fences(|fence| matches!(fence, RestrictedFence::ReleaseTensormap(_)))
        .any(|fence| order.contains(write, fence));
    let is_acquired =
        fences(|fence| matches!(fence, RestrictedFence::AcquireTensormap { .. })).any(|fence| {
            let started = order.successors(fence).any(|issue| starts.contains(issue, read));
            started && window.contains(read, fence)
        });
    let reasons = vec![Reason::TensormapNotPublished { write, read, is_released, is_acquired }];
    vec![Near::new((write, read), Relaxed::Proxy, reasons)]
}
