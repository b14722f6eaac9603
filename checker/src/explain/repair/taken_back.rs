//! Whether with a change a word that is waited for is still given back the value that it began with.
//!
//! What says "not there yet" has to say so again before it is waited for once more. Another value in place of that one lets every
//! wait pass, whether somebody has come or not: the hang is gone, and so is what it was about.
//! Cannot: tell a value that should never have been given back; a change that says another one in its place is refused, too.

use crate::event::{AtomicClass, Event, EventGraph, EventKind, LocationId, Role, SiteId};
use fencepost_dsl::kernel::program::InitialBytes;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Strong stores to an object, and those of them that store what it began with.
#[derive(Clone, Copy, Default)]
struct Stores {
    n: usize,
    n_back: usize,
}

/// Whether as much is stored to some object that is waited for, and the value that it began with less often.
pub fn less(old: &EventGraph, new: &EventGraph) -> bool {
    let (old, new) = (stores(old), stores(new));
    let of_new = |name: &str| new.get(name).copied().unwrap_or_default();
    old.iter().any(|(name, own)| of_new(name).n >= own.n && of_new(name).n_back < own.n_back)
}

fn stores(graph: &EventGraph) -> SortedMap<String, Stores> {
    let is_wait = |role: Role| matches!(role, Role::Await | Role::Spin(_));
    let waits = graph.events.iter().filter(|event| is_wait(event.role));
    let awaited: SortedSet<LocationId> =
        waits.filter_map(|event| Some(event.kind.access()?.location)).collect();
    let is_store = |event: &&Event| {
        let EventKind::Write(access) = &event.kind else { return false };
        access.is_strong() && access.atomic == AtomicClass::None && awaited.contains(&access.location)
    };
    // What a statement stores in each round is no value to begin with, though it may be one in the first.
    let others: SortedSet<SiteId> = graph
        .events
        .iter()
        .filter(is_store)
        .filter(|event| !gives_back(graph, event))
        .filter_map(|event| event.site)
        .collect();
    let mut found: SortedMap<String, Stores> = SortedMap::new();
    for event in graph.events.iter().filter(is_store) {
        let Some(access) = event.kind.access() else { continue };
        let own = found.entry(graph.locations[access.location].name.to_string()).or_default();
        own.n += 1;
        own.n_back += usize::from(event.site.is_some_and(|site| !others.contains(&site)));
    }
    found
}

/// Whether a store is of the value that its bytes began with.
fn gives_back(graph: &EventGraph, event: &Event) -> bool {
    let Some(access) = event.kind.access() else { return false };
    let InitialBytes::Known(bytes) = &graph.locations[access.location].initial else { return false };
    let (value, at) = (graph.terms.constant_value(access.value), graph.terms.constant_value(access.offset));
    let (Some(value), Some(first)) = (value, at.and_then(|at| usize::try_from(at).ok())) else {
        return false;
    };
    let began = bytes.get(first..first.saturating_add(access.width_bytes as usize));
    began.is_some_and(|own| {
        own.len() <= 16 && own.iter().rev().fold(0u128, |word, &byte| word << 8 | u128::from(byte)) == value
    })
}

#[cfg(test)]
mod tests {
    use super::less;
    use crate::check::{Config, replay};
    use crate::event::EventGraph;
    use crate::models::{Model, usual};
    use fencepost_dsl::SourceMap;
    use fencepost_dsl::kernel::{LoadOptions, load};

    /// A mailbox that is cleared for the round after the next one; the signal and what it is cleared to are given.
    fn events(signal: &str, cleared: &str) -> EventGraph {
        let text = format!(
            "kernel mail {{
                launch {{ ctas: 2 }}
                global full[2]: u32 = 0;
                for c in 0..2 {{
                    if ctaid == 0 {{
                        st.relaxed.gpu [full[c]], {signal};
                        st.relaxed.gpu [full[1 - c]], {cleared};
                    }} else {{
                        await ld.relaxed.gpu [full[c]] != 0;
                    }}
                }}
            }}"
        );
        let mut sources = SourceMap::default();
        let mut read = |_: &str| Ok(text.clone());
        let program = load(&mut sources, "k.fence", &mut read, &LoadOptions::default()).expect("it loads");
        let model = Model::shipped(usual(&program), &[]).expect("the model comes along");
        let kernel = &program.kernels[0];
        let config = Config::usual(kernel);
        replay::events(&program, kernel, &kernel.launches[0], &model.resolved, &config)
            .expect("there are events")
    }

    #[test]
    fn what_is_waited_for_is_given_back() {
        let old = events("c + 1", "0");
        assert!(less(&old, &events("c + 1", "1")), "another value in its place lets waits pass");
        assert!(!less(&old, &events("c + 2", "0")), "the signal may be any");
        // That a signal is of the value of the beginning in the first round makes it no clearing.
        assert!(!less(&events("c", "0"), &events("c + 1", "0")));
    }
}
