//! Repairs that add a fence: `fence.proxy.async` after a generic access, or before the instruction that starts a copy.
//!
//! Sound: the changed graph is that of the kernel with the fence at that place; a fence has no value and stops no path, so
//! nothing else changes. Positions are doubled to make room.

use super::super::{Explanation, Reason, Subject};
use crate::event::{Event, EventGraph, EventId, EventKind, Role, Site, SiteId, SpaEvent};
use fencepost_dsl::kernel::program::AsyncSpace;
use fencepost_dsl::vocabulary::{Invalidation, MembarLevel, Proxy};
use std::collections::BTreeSet;

/// An added instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insertion {
    /// The instruction that it stands next to.
    pub site: SiteId,
    /// Right after that, or right before.
    pub is_after: bool,
    /// What is added.
    pub text: String,
    /// What that is.
    pub added: Added,
}

/// What can be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// `fence.proxy.async`
    AsyncFence(AsyncSpace),
    /// `MEMBAR`
    Membar(MembarLevel),
}

/// Insertions to try for a race between the generic and the async proxy.
pub fn candidates(graph: &EventGraph, explanation: &Explanation) -> Vec<Insertion> {
    let Subject::Race { earlier, later } = explanation.subject else { return Vec::new() };
    let is_missing = explanation
        .reasons
        .iter()
        .any(|reason| matches!(reason, Reason::MissingProxyFence { proxy: Proxy::Async, .. }));
    if !is_missing {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (event, is_after) in [(earlier, true), (later, false)] {
        let Some(agent) = graph.events[event].agent else { continue };
        // A fence stands in a thread: for a copy, where it is started.
        let is_operation = graph.hierarchy.is_operation(agent);
        let anchor = if is_operation {
            graph.issue_edges.iter().find(|edge| edge.wait == event).map(|edge| edge.from)
        } else {
            Some(event)
        };
        if let Some(site) = anchor.and_then(|anchor| graph.events[anchor].site)
            && (!is_operation || !is_after)
        {
            let space = space_of(graph, event, graph.hierarchy.issuer(agent));
            let text = format!("fence.proxy.async{}", space.suffix());
            found.push(Insertion { site, is_after, text, added: Added::AsyncFence(space) });
        }
    }
    found
}

/// The narrowest state space that holds what an access is about.
fn space_of(graph: &EventGraph, event: EventId, executor: crate::event::AgentId) -> AsyncSpace {
    let owner =
        graph.location_of(&graph.events[event].kind).and_then(|location| graph.locations[location].cta);
    match owner {
        None => AsyncSpace::Global,
        Some(cta) if cta == graph.hierarchy.cta_of(executor) => AsyncSpace::SharedCta,
        Some(_) => AsyncSpace::SharedCluster,
    }
}

/// Adds the instruction at every instance of the one it stands next to.
pub fn insert(graph: &mut EventGraph, insertion: &Insertion) {
    // Initial writes are the last events; they are made anew when the graph is checked.
    graph.events =
        graph.events.iter().filter(|event| !matches!(event.kind, EventKind::Init(_))).cloned().collect();
    for event in graph.events.ids().collect::<Vec<_>>() {
        graph.events[event].position *= 2;
    }
    for obligation in &mut graph.obligations {
        obligation.position *= 2;
    }
    let span = graph.sites[insertion.site].span;
    let site = graph.sites.push(Site { span, text: insertion.text.clone(), operand: String::new() });
    let mut places = BTreeSet::new();
    let mut added = Vec::new();
    for event in graph.events.iter().filter(|event| event.site == Some(insertion.site)) {
        let Some(agent) = event.agent.filter(|&agent| !graph.hierarchy.is_operation(agent)) else {
            continue;
        };
        if matches!(event.role, Role::Spin(_)) || !places.insert((agent, event.position)) {
            continue;
        }
        let position = if insertion.is_after { event.position + 1 } else { event.position.saturating_sub(1) };
        added.push(Event {
            position,
            kind: match insertion.added {
                Added::AsyncFence(space) => EventKind::AsyncFence(space),
                Added::Membar(level) => {
                    EventKind::Spa(SpaEvent::Membar { level, invalidation: Invalidation::default() })
                }
            },
            site: Some(site),
            ..event.clone()
        });
    }
    for event in added {
        graph.events.push(event);
    }
}
