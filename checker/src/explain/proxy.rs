//! Why two accesses race although they would not if both were generic: which proxy fence is missing, and where.
//!
//! The path is looked up in the model file as `base-causality`; for a model without it only the proxies are named.

use super::chain::definition;
use super::reason::Reason;
use crate::bits::BitMatrix;
use crate::event::{EventGraph, EventId, EventKind};
use crate::relation::algebra::{Value, evaluate};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::vocabulary::{Proxy, ProxyFence};

/// The order of the two accesses, generic accesses assumed, and what keeps it from counting.
pub fn explain(
    graph: &EventGraph,
    model: &MemoryModel,
    witness: &Witness,
    (a, b): (EventId, EventId),
) -> (EventId, EventId, Vec<Reason>) {
    let order = base_causality(model, witness);
    let is_before = |from: EventId, to: EventId| order.as_ref().is_some_and(|order| order.contains(from, to));
    let (earlier, later) = if is_before(b, a) { (b, a) } else { (a, b) };
    if !is_before(earlier, later) {
        return (earlier, later, vec![Reason::DifferentProxies { earlier, later }]);
    }
    let mut reasons = Vec::new();
    for (event, other) in [(earlier, later), (later, earlier)] {
        let proxy = graph.events[event].kind.access().map_or(Proxy::Generic, |access| access.proxy);
        if proxy == Proxy::Generic || (is_asynchronous(proxy) && event == earlier) {
            // Completion stands for a fence right after an asynchronous access (AS-19).
            continue;
        }
        let fences: Vec<EventId> = witness
            .execution
            .executed
            .iter()
            .filter(|&fence| is_fence_of(graph, fence, proxy))
            .filter(|&fence| is_before(earlier, fence) && is_before(fence, later))
            .collect();
        let relations = &witness.basis.relations;
        let counts = |fence: EventId| {
            if is_asynchronous(proxy) {
                relations[&BaseRelation::SameHome].contains(fence, event)
            } else {
                is_same_cta(graph, fence, event)
            }
        };
        let is_about = |fence: EventId| {
            !is_asynchronous(proxy) || relations[&BaseRelation::Window].contains(event, fence)
        };
        if let Some(&fence) = fences.iter().find(|&&fence| counts(fence) && !is_about(fence)) {
            reasons.push(Reason::NotCovered { fence, access: event });
        }
        if !fences.iter().any(|&fence| counts(fence) && is_about(fence)) {
            let elsewhere = fences.iter().copied().find(|&fence| !counts(fence));
            reasons.push(Reason::MissingProxyFence { event, other, proxy, elsewhere });
        }
    }
    if reasons.is_empty() {
        reasons.push(Reason::ProxyFencesOutOfOrder { earlier, later });
    }
    (earlier, later, reasons)
}

fn base_causality(model: &MemoryModel, witness: &Witness) -> Option<BitMatrix> {
    let term = definition(model, "base-causality")?;
    match evaluate(model, &witness.basis, &[term]).get(term) {
        Some(Value::Relation(relation)) => Some(relation.clone()),
        _ => None,
    }
}

fn is_fence_of(graph: &EventGraph, event: EventId, proxy: Proxy) -> bool {
    match graph.events[event].kind {
        EventKind::ProxyFence(fence) => fence == ProxyFence::With(proxy),
        EventKind::AsyncFence(_) => proxy == Proxy::Async,
        _ => false,
    }
}

fn is_asynchronous(proxy: Proxy) -> bool {
    matches!(proxy, Proxy::Async | Proxy::Tensormap)
}

fn is_same_cta(graph: &EventGraph, a: EventId, b: EventId) -> bool {
    let cta = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.cta_of(agent));
    cta(a) == cta(b)
}
