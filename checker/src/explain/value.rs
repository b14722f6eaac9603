//! Why a value was read that should not have been: an update that was lost, halves in no order, a write that was missed,
//! or one that came too early.

use super::explanation::Explanation;
use super::near;
use super::near::{crossing, updates};
use super::reads::ReadFact;
use super::reason::Reason;
use super::search::{Kind, Search};
use crate::event::{EventGraph, EventId, EventKind, LocationId};
use crate::witness::Witness;

/// Adds the first story that fits; `context` is what was read on the way there.
pub(super) fn explain(search: &Search<'_>, context: &[ReadFact], explanation: &mut Explanation) {
    let (graph, witness) = (search.graph, search.witness);
    let reads = explanation.reads.clone();
    let lost = reads.iter().find_map(|fact| updates::lost(graph, witness, fact.source?));
    let mut pairs: Vec<(EventId, EventId)> = Vec::new();
    if let Some(reason) = lost {
        if let Reason::LostUpdate { read, lost, .. } = reason {
            pairs.push((lost, read));
        }
        explanation.reasons.push(reason);
    }
    let events: Vec<EventId> = reads.iter().map(|fact| fact.read).collect();
    let crossing = crossing::of_condition(graph, witness, &events);
    if let Some(reason) = crossing {
        explanation.add_rules(reason.rules());
        explanation.reasons.push(reason);
        return;
    }
    let missed = || reads.iter().filter_map(|fact| Some((fact.missed?, fact.read)));
    if let Some(reason) = missed().find_map(|(write, read)| unordered_elements(graph, witness, write, read)) {
        explanation.add_rules(reason.rules());
        explanation.reasons.push(reason);
        return;
    }
    // What was read on the way there came too early, too, where something hands over that it does not wait for.
    let looks = context.iter().filter_map(|fact| Some((fact.missed?, fact.read)));
    let mut looks = looks.filter(|_| explanation.reasons.is_empty()).collect::<Vec<_>>().into_iter();
    let is_fence = |reason: &Reason| matches!(reason, Reason::NoAcquire { .. } | Reason::NoRelease { .. });
    let strength: &[Kind] = &[near::strength::near];
    let of_look = |pair| search.forth(pair, strength).filter(|found| found.reasons.iter().any(is_fence));
    let all = [strength, near::HAND_OVERS].concat();
    let missing = if explanation.reasons.is_empty() { &*all } else { strength };
    let early = || reads.iter().filter_map(|fact| too_early(graph, fact));
    let found = looks.find_map(of_look);
    let found = found.or_else(|| pairs.iter().find_map(|&pair| search.forth(pair, strength)));
    let found = found.or_else(|| missed().find_map(|pair| search.forth(pair, missing)));
    if let Some(found) = found.or_else(|| early().find_map(|pair| search.forth(pair, strength))) {
        explanation.add_rules(found.reasons.iter().flat_map(Reason::rules));
        explanation.reasons.extend(found.reasons);
        explanation.chain = found.chain;
    }
    if explanation.reasons.is_empty() {
        let at: Vec<LocationId> = reads.iter().filter_map(|fact| location(graph, fact.read)).collect();
        if let Some(reason) = updates::overwritten(graph, witness, &at) {
            explanation.add_rules(reason.rules());
            explanation.reasons.push(reason);
        }
    }
}

fn location(graph: &EventGraph, event: EventId) -> Option<LocationId> {
    graph.events[event].kind.access().map(|access| access.location)
}

/// A read and the write of another thread whose value it returned, which may have been meant to come later.
fn too_early(graph: &EventGraph, fact: &ReadFact) -> Option<(EventId, EventId)> {
    let source = fact.source.filter(|&source| source != fact.read)?;
    let (writer, reader) = (graph.events[source].agent?, graph.events[fact.read].agent?);
    (writer != reader).then_some((fact.read, source))
}

/// Whether a read misses an element of a vector access of which its thread has seen another element.
fn unordered_elements(
    graph: &EventGraph,
    witness: &Witness,
    missed: EventId,
    read: EventId,
) -> Option<Reason> {
    let of = &graph.events[missed];
    let is_element = |event: &EventId| {
        let other = &graph.events[*event];
        matches!(other.kind, EventKind::Write(_))
            && (other.agent, other.site, other.position) == (of.agent, of.site, of.position)
    };
    let mut elements: Vec<EventId> = witness.execution.executed.iter().filter(is_element).collect();
    elements
        .sort_by_key(|&event| graph.events[event].kind.access().map(|access| witness.values[access.offset]));
    let reader = graph.events[read].agent;
    let is_seen = |element: &EventId| {
        let sources = &witness.execution.sources;
        let mut own = sources.iter().filter(|(read, _)| graph.events[**read].agent == reader);
        own.any(|(_, pieces)| pieces.iter().any(|(write, _)| write == element))
    };
    let place = |event: EventId| elements.iter().position(|&element| element == event);
    let seen = elements.iter().copied().find(|element| *element != missed && is_seen(element))?;
    let (elements, n_elements) = ((place(seen)?, place(missed)?), elements.len());
    Some(Reason::UnorderedElements { missed, read, seen, elements, n_elements })
}
