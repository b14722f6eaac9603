//! What restricted fences are about: a fact of places, of which the model file makes an order (FN-27).

use crate::bits::{BitMatrix, EventSet};
use crate::event::{CtaId, Event, EventGraph, EventKind, RestrictedFence};
use std::collections::BTreeMap;

/// Which restricted fences are about the memory of an operation, or about all that another restricted fence is about.
pub fn windows(graph: &EventGraph) -> BitMatrix {
    let n = graph.events.len();
    let mut windows = BitMatrix::empty(n);
    let own_cta = |fence: &Event| fence.agent.map(|agent| graph.hierarchy.cta_of(agent));
    // Events about one CTA's shared memory, and restricted acquires by the clusters that they are about.
    let mut by_cta: BTreeMap<CtaId, (EventSet, EventSet)> = BTreeMap::new();
    let mut acquires: BTreeMap<u32, EventSet> = BTreeMap::new();
    let fences = graph.events.iter_enumerated().filter_map(|(id, event)| match event.kind {
        EventKind::RestrictedFence(fence) => Some((id, event, fence)),
        _ => None,
    });
    for (id, event, fence) in fences {
        match (fence, event.agent, own_cta(event)) {
            (RestrictedFence::AcquireShared, Some(agent), _) => {
                let cluster = graph.hierarchy.cluster_of(agent);
                acquires.entry(cluster).or_insert_with(|| EventSet::empty(n)).insert(id);
            }
            (RestrictedFence::ReleaseShared, _, Some(cta)) => {
                let none = || (EventSet::empty(n), EventSet::empty(n));
                by_cta.entry(cta).or_insert_with(none).1.insert(id);
            }
            _ => {}
        }
    }
    if by_cta.is_empty() && acquires.is_empty() {
        return windows;
    }
    for (id, event) in graph.events.iter_enumerated() {
        let location = match &event.kind {
            EventKind::Read(access) | EventKind::Write(access) => Some(access.location),
            EventKind::Mbarrier(operation) => Some(graph.mbarriers[operation.object].location),
            _ => None,
        };
        if let Some(cta) = location.and_then(|location| graph.locations[location].cta) {
            let none = || (EventSet::empty(n), EventSet::empty(n));
            by_cta.entry(cta).or_insert_with(none).0.insert(id);
        }
    }
    for (&cta, (operations, releases)) in &by_cta {
        let about_cta = operations.union(releases);
        windows.fill(&about_cta, releases);
        let first = graph.hierarchy.threads_of_cta(cta).next();
        if let Some(acquires) = first.and_then(|agent| acquires.get(&graph.hierarchy.cluster_of(agent))) {
            windows.fill(&about_cta, acquires);
        }
    }
    for fences in acquires.values() {
        windows.fill(fences, fences);
    }
    windows
}
