//! Near-steps at asynchronous operations: nothing tells that one has ended, or the only way leads through one, or what uses
//! its registers is behind the fence.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use super::phases;
use crate::event::EventKind;
use fencepost_dsl::cat::memory_model::BaseRelation;

/// An operation at an end of the way that nobody waits for, or one in the middle, which carries nothing but its own accesses.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let (graph, witness) = (search.graph, search.witness);
    let (earlier, later) = (way.earlier, way.later);
    let Some(links) = search.links() else { return Vec::new() };
    let ends = (earlier, later);
    if let Some(operation) = links.operation_between(earlier, later) {
        let reasons = vec![Reason::NotCarried { operation, access: earlier }];
        return vec![Near::new(ends, Relaxed::Completion, reasons)];
    }
    if !graph.is_of_operation(earlier) {
        return Vec::new();
    }
    let (event, other) = ends;
    let mut reasons = vec![Reason::NotCompleted { event, other, known: links.known_by(event) }];
    if !graph.is_of_operation(later) {
        reasons.extend(phases::early_wait(graph, witness, ends));
    }
    vec![Near { gap: 1, ..Near::new(ends, Relaxed::Completion, reasons) }]
}

/// Registers that a thread accesses between its last `wgmma.fence` and the start of an operation that uses them.
pub fn registers(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let order = search.program_order();
    let (access, operation) = (way.earlier, way.later);
    let Some(issue) = graph.edges.of(BaseRelation::Issue).find(|edge| edge.to == operation) else {
        return Vec::new();
    };
    let issue = issue.from;
    let is_fence = |&event: &_| matches!(graph.events[event].kind, EventKind::MatrixFence);
    let fences = search.executed().filter(is_fence).filter(|&event| order.contains(event, issue));
    let last = fences.max_by_key(|&event| graph.events[event].position);
    let is_behind = |&fence: &_| order.contains(fence, access) && order.contains(access, issue);
    let near = |fence| {
        let reasons = vec![Reason::MatrixFenceTooEarly { access, operation, issue, fence }];
        Near::new((access, operation), Relaxed::Side, reasons)
    };
    last.filter(is_behind).map(near).into_iter().collect()
}
