//! Near-steps between a grid and one that was launched to overlap with it and does not wait for its end.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{EventGraph, EventId, EventKind, GridEvent, GridId};
use fencepost_dsl::cat::memory_model::BaseRelation;

/// The way is from the grid that was launched first.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let grid = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.grid_of(agent));
    let (first, second) = (way.earlier, way.later);
    // Grids are counted in the order of their launches.
    if grid(first) > grid(second) {
        return Vec::new();
    }
    let order = search.program_order();
    let executed = |wanted: GridEvent| {
        search
            .executed()
            .filter(move |&event| matches!(graph.events[event].kind, EventKind::Grid(kind) if kind == wanted))
    };
    let wait = executed(GridEvent::Wait).find(|&wait| grid(wait) == grid(second));
    let issuer = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent));
    let trigger = executed(GridEvent::LaunchDependents)
        .find(|&trigger| issuer(trigger) == issuer(first) && order.contains(first, trigger));
    let through = overlapping(graph, grid(first)).filter(|&next| Some(next) != grid(second));
    let reasons = vec![Reason::Overlapping { first, second, wait, trigger, through }];
    vec![Near::new((first, second), Relaxed::Grid, reasons)]
}

/// The grid that was launched to overlap with another one.
fn overlapping(graph: &EventGraph, first: Option<GridId>) -> Option<GridId> {
    let of = |event: EventId| match graph.events[event].kind {
        EventKind::Grid(GridEvent::Start(grid) | GridEvent::End(grid)) => Some(grid),
        _ => None,
    };
    let edge = graph.edges.of(BaseRelation::Overlapping).find(|edge| of(edge.from) == first)?;
    of(edge.to)
}
