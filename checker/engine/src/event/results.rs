//! What barriers tell those who meet there.

use super::{EventGraph, TermKind, TermRef, UnknownId, UnknownKind};
use fencepost_dsl::sorted::SortedMap;

/// Of each result of a barrier, what it is made of where threads get past: what its threads have brought.
///
/// A constraint says so. It is no definition, since no dependency of data goes through a barrier (AX-4).
pub fn barrier_results(graph: &EventGraph) -> SortedMap<UnknownId, TermRef> {
    let terms = &graph.terms;
    let mut found = SortedMap::new();
    for constraint in &graph.constraints {
        let parts = match terms.kind(constraint.term) {
            TermKind::Or(members) => members.as_ref(),
            _ => std::slice::from_ref(&constraint.term),
        };
        for &part in parts {
            let TermKind::Equal(a, b) = *terms.kind(part) else { continue };
            for (result, value) in [(a, b), (b, a)] {
                if let TermKind::Unknown(unknown) = *terms.kind(result)
                    && terms.unknown(unknown).kind == UnknownKind::BarrierResult
                {
                    found.insert(unknown, value);
                }
            }
        }
    }
    found
}
