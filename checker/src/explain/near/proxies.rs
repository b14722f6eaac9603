//! Near-steps between accesses that would be in order if both were generic: which proxy fence is missing, and where.
//!
//! The path is looked up in the model file as `base-causality`; for a model without it only the proxies are named.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{EventGraph, EventId, EventKind};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::vocabulary::{Proxy, ProxyFence};

/// The two accesses in order, generic accesses assumed, and what keeps that from counting.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let graph = search.graph;
    let (earlier, later) = (way.earlier, way.later);
    let order = search.defined("base-causality");
    let is_before = |from: EventId, to: EventId| order.as_ref().is_some_and(|order| order.contains(from, to));
    if !is_before(earlier, later) {
        let reasons = vec![Reason::DifferentProxies { earlier, later }];
        return vec![Near { gap: 1, ..Near::new((earlier, later), Relaxed::Proxy, reasons) }];
    }
    let mut reasons = Vec::new();
    for (event, other) in [(earlier, later), (later, earlier)] {
        let proxy = graph.events[event].kind.access().map_or(Proxy::Generic, |access| access.proxy);
        if proxy == Proxy::Generic || (is_asynchronous(proxy) && event == earlier) {
            // Completion stands for a fence right after an asynchronous access (AS-19).
            continue;
        }
        let fences: Vec<EventId> = search
            .executed()
            .filter(|&fence| is_fence_of(graph, fence, proxy))
            .filter(|&fence| is_before(earlier, fence) && is_before(fence, later))
            .collect();
        let counts = |fence: EventId| {
            if is_asynchronous(proxy) {
                search.relation(BaseRelation::SameHome).contains(fence, event)
            } else {
                is_same_cta(graph, fence, event)
            }
        };
        let is_about = |fence: EventId| {
            !is_asynchronous(proxy) || search.relation(BaseRelation::Window).contains(event, fence)
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
    vec![Near::new((earlier, later), Relaxed::Proxy, reasons)]
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
