//! Whether with a change every thread still writes what it wrote.
//!
//! A finding is gone as well where nobody writes any more: a store that is left out is no update that could be lost, and a
//! thread that leaves before it writes races with nobody. So of each object a thread writes as many bytes as before, or another
//! thread writes the same ones in its place; and no thread begins to write where another one has ceased to.
//! Cannot: tell a store that should never have been there; a change that leaves it out is refused, too.

use crate::event::{AgentId, EventGraph, EventKind, TermPool};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// What is written to an object, by its name.
#[derive(Default)]
struct Written {
    /// How many bytes, by thread.
    n_bytes: SortedMap<AgentId, u64>,
    /// Where that is known.
    places: SortedSet<(u128, u32)>,
}

impl Written {
    fn total(&self) -> u64 {
        self.n_bytes.values().sum()
    }
}

fn written(graph: &EventGraph) -> SortedMap<String, Written> {
    let mut found: SortedMap<String, Written> = SortedMap::new();
    for event in graph.events.iter().filter(|event| event.guard != TermPool::FALSE) {
        let (EventKind::Write(access), Some(agent)) = (&event.kind, event.agent) else { continue };
        let own = found.entry(graph.locations[access.location].name.to_string()).or_default();
        *own.n_bytes.entry(graph.hierarchy.issuer(agent)).or_default() += u64::from(access.width_bytes);
        let place = graph.terms.constant_value(access.offset);
        own.places.extend(place.map(|offset| (offset, access.width_bytes)));
    }
    found
}

/// Whether something is written less.
pub fn less(old: &EventGraph, new: &EventGraph) -> bool {
    if old.hierarchy.agents().count() != new.hierarchy.agents().count() {
        return false;
    }
    let (before, after) = (written(old), written(new));
    let none = Written::default();
    before.iter().any(|(name, was)| {
        let is = after.get(name).unwrap_or(&none);
        let now = |agent: &AgentId| is.n_bytes.get(agent).copied().unwrap_or(0);
        let ceases = was.n_bytes.keys().any(|agent| now(agent) == 0);
        let begins = is.n_bytes.keys().any(|agent| !was.n_bytes.contains_key(agent));
        let is_cut = was.n_bytes.iter().any(|(agent, &n_bytes)| (1..n_bytes).contains(&now(agent)));
        let is_lost = is.total() < was.total() && !was.places.is_subset(&is.places);
        is_cut || is_lost || ceases && (begins || is.n_bytes.is_empty())
    })
}
