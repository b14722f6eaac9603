//! Near-steps between a grid and one that was launched to overlap with it and does not wait for its end.

use super::super::reason::{Reason, Released};
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{EventGraph, EventId, EventKind, GridEvent, GridId};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::vocabulary::{FenceSem, Scope};

/// The way is from the grid that was launched first.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let grid = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.grid_of(agent));
    let (first, second) = (way.earlier, way.later);
    // Grids are counted in the order of their launches.
    if grid(first) > grid(second) {
        return Vec::new();
    }
    let wait = executed(search, GridEvent::Wait).find(|&wait| grid(wait) == grid(second));
    let through = not_waited_for(search, grid(first)).filter(|&(next, _)| Some(next) < grid(second));
    let trigger = trigger(search, first);
    let reasons = vec![Reason::Overlapping { first, second, wait, trigger, through }];
    vec![Near::new((first, second), Relaxed::Grid, reasons)]
}

fn executed<'s>(search: &'s Search<'_>, wanted: GridEvent) -> impl Iterator<Item = EventId> + 's {
    let is_it = move |event: &EventId| matches!(search.graph.events[*event].kind, EventKind::Grid(kind) if kind == wanted);
    search.executed().filter(is_it)
}

/// By which instruction the CTA of an access lets the next grid start, and what that releases.
fn trigger(search: &Search<'_>, access: EventId) -> Option<(EventId, Released)> {
    let graph = search.graph;
    let issuer = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent));
    let cta = |event: EventId| issuer(event).map(|agent| graph.hierarchy.cta_of(agent));
    let lets_start =
        |event: &EventId| search.relation(BaseRelation::Triggers).successors(*event).next().is_some();
    let mut own = executed(search, GridEvent::LaunchDependents).filter(|&event| cta(event) == cta(access));
    let trigger = own.find(lets_start)?;
    let order = search.program_order();
    if order.contains(trigger, access) {
        return Some((trigger, Released::Early));
    }
    let fences = search.executed().filter(|&event| order.contains(event, trigger));
    let fences = fences.filter_map(|event| Some((event, releases(&graph.events[event].kind)?)));
    // One that reaches another grid, and of those the last, which has the most before it.
    let last = fences.max_by_key(|&(fence, scope)| (scope >= Scope::Gpu, graph.events[fence].position));
    let released = match last {
        Some((fence, scope)) if scope < Scope::Gpu => Released::Narrow(fence),
        Some((fence, _)) if search.ordered_after(access).contains(fence) => Released::Access(fence),
        Some((fence, _)) => Released::Before(fence),
        None => Released::Nothing,
    };
    Some((trigger, released))
}

/// The scope of a fence that releases.
fn releases(kind: &EventKind) -> Option<Scope> {
    match kind {
        EventKind::Fence { sem: FenceSem::Release | FenceSem::AcqRel | FenceSem::Sc, scope } => Some(*scope),
        _ => None,
    }
}

/// Of the grids that were launched one behind the other to overlap, from this one on: the first that does not wait for the
/// one before it, and that one.
fn not_waited_for(search: &Search<'_>, first: Option<GridId>) -> Option<(GridId, GridId)> {
    let graph = search.graph;
    let grid = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.grid_of(agent));
    let mut before = first?;
    loop {
        let next = overlapping(graph, before)?;
        if executed(search, GridEvent::Wait).all(|wait| grid(wait) != Some(next)) {
            return Some((next, before));
        }
        // Grids are counted in the order of their launches.
        assert!(next > before, "a grid overlaps with an earlier one");
        before = next;
    }
}

/// The grid that was launched to overlap with another one.
fn overlapping(graph: &EventGraph, first: GridId) -> Option<GridId> {
    let of = |event: EventId| match graph.events[event].kind {
        EventKind::Grid(GridEvent::Start(grid) | GridEvent::End(grid)) => Some(grid),
        _ => None,
    };
    let edge = graph.edges.of(BaseRelation::Overlapping).find(|edge| of(edge.from) == Some(first))?;
    of(edge.to)
}
