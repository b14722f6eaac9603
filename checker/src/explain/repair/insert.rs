//! Repairs that add an instruction: `fence.proxy.async` after a generic access, or before the instruction that starts a
//! copy; `griddepcontrol.wait` before an access.
//!
//! Sound: the changed graph is that of the kernel with the instruction at that place; a fence has no value and stops no
//! path, so nothing else changes, nor does a wait for a grid that surely ends. Positions are doubled to make room.

use super::super::{Explanation, Reason, Subject};
use crate::event::{
    AgentId, BaseRelation, Edge, Event, EventGraph, EventId, EventKind, GridEvent, Role, Site, SiteId,
    SpaEvent, TermPool,
};
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
    pub what: Added,
}

/// What can be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Added {
    /// `fence.proxy.async`
    Fence(AsyncSpace),
    /// `MEMBAR`
    Membar(MembarLevel),
    /// `griddepcontrol.wait`
    Wait,
}

/// Insertions to try for a race between the generic and the async proxy, or between two grids.
pub fn candidates(graph: &EventGraph, explanation: &Explanation) -> Vec<Insertion> {
    let Subject::Race { earlier, later } = explanation.subject else { return Vec::new() };
    if explanation.reasons.iter().any(|reason| matches!(reason, Reason::Overlapping { through: None, .. })) {
        return wait_before(graph, later).into_iter().collect();
    }
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
            graph.edges.of(BaseRelation::Issue).iter().find(|edge| edge.to == event).map(|edge| edge.from)
        } else {
            Some(event)
        };
        if let Some(site) = anchor.and_then(|anchor| graph.events[anchor].site)
            && (!is_operation || !is_after)
        {
            let space = space_of(graph, event, graph.hierarchy.issuer(agent));
            let text = format!("fence.proxy.async{}", space.suffix());
            found.push(Insertion { site, is_after, text, what: Added::Fence(space) });
        }
    }
    found
}

/// `griddepcontrol.wait` before an access, or before the instruction that starts the operation whose it is.
fn wait_before(graph: &EventGraph, access: EventId) -> Option<Insertion> {
    let agent = graph.events[access].agent?;
    let end = awaited_end(graph, agent)?;
    if graph.events[end].guard != TermPool::TRUE {
        return None;
    }
    let started =
        || graph.edges.of(BaseRelation::Issue).iter().find(|edge| edge.to == access).map(|edge| edge.from);
    let anchor = if graph.is_of_operation(access) { started()? } else { access };
    let site = graph.events[anchor].site?;
    let text = "griddepcontrol.wait".to_owned();
    Some(Insertion { site, is_after: false, text, what: Added::Wait })
}

/// The end of the grid that a thread's `griddepcontrol.wait` waits for.
fn awaited_end(graph: &EventGraph, agent: AgentId) -> Option<EventId> {
    let own = GridEvent::Start(graph.hierarchy.grid_of(agent));
    let is_own = |edge: &&Edge| matches!(graph.events[edge.to].kind, EventKind::Grid(kind) if kind == own);
    graph.edges.of(BaseRelation::Overlapping).iter().find(is_own).map(|edge| edge.from)
}

/// The narrowest state space that holds what an access is about.
fn space_of(graph: &EventGraph, event: EventId, executor: AgentId) -> AsyncSpace {
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
        graph.events[event].position = graph.events[event].position * 2 + 1;
    }
    for obligation in &mut graph.obligations {
        obligation.position = obligation.position * 2 + 1;
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
        let position = if insertion.is_after { event.position + 1 } else { event.position - 1 };
        added.push(Event {
            position,
            kind: match insertion.what {
                Added::Fence(space) => EventKind::AsyncFence(space),
                Added::Membar(level) => {
                    EventKind::Spa(SpaEvent::Membar { level, invalidation: Invalidation::default() })
                }
                Added::Wait => EventKind::Grid(GridEvent::Wait),
            },
            site: Some(site),
            ..event.clone()
        });
    }
    for event in added {
        let end = event.agent.filter(|_| insertion.what == Added::Wait);
        let end = end.and_then(|agent| awaited_end(graph, agent));
        let wait = graph.events.push(event);
        let condition = TermPool::TRUE;
        graph
            .edges
            .add_all(BaseRelation::ApiSynchronization, end.map(|from| Edge { from, to: wait, condition }));
    }
}
