//! Whether some thread of a launch may wait for another cluster.
//!
//! Barriers and mbarriers belong to a cluster, so only a spin loop can wait for a thread outside it: one that reads what
//! some other cluster writes. A launch without such a loop runs alike whichever clusters have started, and pays nothing.

use crate::event::{EventGraph, EventKind, LocationId, TermKind, TermRef, UnknownKind, Wait};
use fencepost_dsl::sorted::SortedSet;

/// Whether a thread may wait for memory that another cluster writes.
pub(super) fn waits_for_other_clusters(graph: &EventGraph) -> bool {
    let cluster = |agent| graph.hierarchy.cluster_of(agent);
    let writes: SortedSet<(LocationId, u32)> = graph
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Write(access) => Some((access.location, cluster(event.agent?))),
            _ => None,
        })
        .collect();
    graph.blocked.iter().any(|blocked| {
        let Wait::Memory(looks) = &blocked.wait else { return false };
        let own = cluster(blocked.agent);
        looks.iter().flat_map(|look| locations(graph, look.value)).any(|location| {
            writes.range((location, 0)..=(location, u32::MAX)).any(|&(_, writer)| writer != own)
        })
    })
}

/// The memory that a term depends on.
fn locations(graph: &EventGraph, term: TermRef) -> SortedSet<LocationId> {
    let mut seen: SortedSet<TermRef> = SortedSet::new();
    let mut found = SortedSet::new();
    let mut stack = vec![term];
    while let Some(top) = stack.pop() {
        if !seen.insert(top) {
            continue;
        }
        stack.extend(graph.terms.operands(top));
        let TermKind::Unknown(unknown) = *graph.terms.kind(top) else { continue };
        match graph.terms.unknown(unknown).kind {
            UnknownKind::FinalValue { location, .. } => {
                found.insert(location);
            }
            UnknownKind::Read(read) => {
                found.extend(graph.events[read].kind.access().map(|access| access.location));
            }
            _ => {}
        }
    }
    found
}
