//! Why a value was read that should not have been: an update that was lost, halves in no order, a write that was missed,
//! or one that came too early.

use super::chain::Links;
use super::{Explanation, ReadFact, Reason};
use crate::event::{EventGraph, EventId, EventKind};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// Adds the first story that fits; `context` is what was read on the way there.
pub(super) fn explain(
    graph: &EventGraph,
    model: &MemoryModel,
    witness: &Witness,
    context: &[ReadFact],
    explanation: &mut Explanation,
) {
    let reads = explanation.reads.clone();
    let lost = reads.iter().find_map(|fact| super::update::lost(graph, witness, fact.source?));
    let mut pairs: Vec<(EventId, EventId)> = Vec::new();
    if let Some(reason) = lost {
        if let Reason::LostUpdate { read, lost, .. } = reason {
            pairs.push((lost, read));
        }
        explanation.reasons.push(reason);
    }
    let events: Vec<EventId> = reads.iter().map(|fact| fact.read).collect();
    let crossing = super::crossing::of_condition(graph, witness, &events);
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
    let links = Links::new(graph, model, witness);
    let looks = context.iter().filter_map(|fact| Some((fact.missed?, fact.read)));
    for (write, look) in looks.filter(|_| explanation.reasons.is_empty()).collect::<Vec<_>>() {
        let Some((links, mut chain)) = links.as_ref().and_then(|l| Some((l, l.chain(write, look)?))) else {
            continue;
        };
        if let Some(reason @ (Reason::NoAcquire { .. } | Reason::NoRelease { .. })) =
            links.broken_link(&mut chain)
        {
            explanation.add_rules(reason.rules());
            explanation.reasons.push(reason);
            explanation.chain = Some(chain);
            return;
        }
    }
    if explanation.reasons.is_empty()
        && let Some(reason) = missed().find_map(|pair| {
            let meeting = super::meeting::explain(graph, witness, pair);
            meeting.or_else(|| super::handover::too_soon(graph, witness, pair))
        })
    {
        explanation.add_rules(reason.rules());
        explanation.reasons.push(reason);
        return;
    }
    pairs.extend(missed());
    pairs.extend(reads.iter().filter_map(|fact| too_early(graph, fact)));
    let Some(links) = links else { return };
    for (before, after) in pairs {
        let Some(mut chain) = links.chain(before, after) else { continue };
        if let Some(reason) = links.broken_link(&mut chain) {
            explanation.add_rules(reason.rules());
            explanation.reasons.push(reason);
            explanation.chain = Some(chain);
            return;
        }
    }
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
