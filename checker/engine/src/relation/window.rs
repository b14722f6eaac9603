//! What restricted fences are about: a fact of places, of which the model file makes an order (FN-27).

use crate::bits::{BitMatrix, EventSet};
use crate::event::{CtaId, Event, EventGraph, EventId, EventKind, LocationId, RestrictedFence};
use fencepost_dsl::kernel::program::AsyncSpace;
use fencepost_dsl::sorted::SortedMap;

/// Which restricted fences are about the memory of an operation, or about all that another restricted fence is about.
pub fn windows(graph: &EventGraph) -> BitMatrix {
    let mut windows = shared_windows(graph);
    proxy_windows(graph, &mut windows);
    windows
}

/// The memory that a fence between the generic and another proxy is about.
enum Window {
    All,
    Global,
    OfCta(CtaId),
    OfCluster(u32),
    TensorMap(LocationId, u32),
}

impl Window {
    fn of(graph: &EventGraph, event: &Event) -> Option<Self> {
        let agent = event.agent?;
        let own = || Self::OfCta(graph.hierarchy.cta_of(agent));
        let cluster = || Self::OfCluster(graph.hierarchy.cluster_of(agent));
        match event.kind {
            EventKind::AsyncFence(AsyncSpace::All) => Some(Self::All),
            EventKind::AsyncFence(AsyncSpace::Global) => Some(Self::Global),
            EventKind::AsyncFence(AsyncSpace::SharedCta) => Some(own()),
            EventKind::AsyncFence(AsyncSpace::SharedCluster) => Some(cluster()),
            EventKind::RestrictedFence(RestrictedFence::ReleaseAsync) => Some(own()),
            EventKind::RestrictedFence(
                RestrictedFence::ReleaseAsyncReads | RestrictedFence::AcquireAsync,
            ) => Some(cluster()),
            EventKind::RestrictedFence(RestrictedFence::AcquireTensormap {
                location, offset_bytes, ..
            }) => Some(Self::TensorMap(location, offset_bytes)),
            _ => None,
        }
    }

    fn holds(&self, graph: &EventGraph, event: &Event) -> bool {
        let Some(access) = event.kind.access() else { return false };
        let owner = graph.locations[access.location].cta;
        match *self {
            Self::All => true,
            Self::Global => owner.is_none(),
            Self::OfCta(cta) => owner == Some(cta),
            Self::OfCluster(cluster) => owner.is_some_and(|owner| {
                let first = graph.hierarchy.threads_of_cta(owner).next();
                first.is_some_and(|agent| graph.hierarchy.cluster_of(agent) == cluster)
            }),
            Self::TensorMap(location, offset) => {
                access.location == location
                    && graph.terms.constant_value(access.offset) == Some(u128::from(offset))
            }
        }
    }
}

/// From accesses to the fences of asynchronous proxies that are about their memory.
fn proxy_windows(graph: &EventGraph, windows: &mut BitMatrix) {
    let n = graph.events.len();
    let fences: Vec<(EventId, Window)> = graph
        .events
        .iter_enumerated()
        .filter_map(|(id, event)| Some((id, Window::of(graph, event)?)))
        .collect();
    for (fence, window) in fences {
        let held = graph.events.iter_enumerated().filter(|(_, event)| window.holds(graph, event));
        windows.fill(&EventSet::from_iter(n, held.map(|(id, _)| id)), &EventSet::from_iter(n, [fence]));
    }
}

/// Of fences restricted to shared memory between generic accesses (FN-7, FN-8).
fn shared_windows(graph: &EventGraph) -> BitMatrix {
    let n = graph.events.len();
    let mut windows = BitMatrix::empty(n);
    let own_cta = |fence: &Event| fence.agent.map(|agent| graph.hierarchy.cta_of(agent));
    // Events about one CTA's shared memory, and restricted acquires by the clusters that they are about.
    let mut by_cta: SortedMap<CtaId, (EventSet, EventSet)> = SortedMap::new();
    let mut acquires: SortedMap<u32, EventSet> = SortedMap::new();
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
