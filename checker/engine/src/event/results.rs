//! What barriers tell those who meet there.

use super::{EventGraph, TermKind, TermPool, TermRef, UnknownId, UnknownKind};
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
            // Equal to a constant is the bit itself, or its opposite.
            let equal = match *terms.kind(part) {
                TermKind::Equal(a, b) => [(a, b), (b, a)],
                TermKind::Not(bit) => [(bit, TermPool::FALSE); 2],
                _ => [(part, TermPool::TRUE); 2],
            };
            for (result, value) in equal {
                if let TermKind::Unknown(unknown) = *terms.kind(result)
                    && terms.unknown(unknown).kind == UnknownKind::BarrierResult
                {
                    // An assumption about the bit looks like a constant, too.
                    if terms.constant_value(value).is_some() {
                        found.entry(unknown).or_insert(value);
                    } else {
                        found.insert(unknown, value);
                    }
                }
            }
        }
    }
    found
}
