//! What an execution reads, and on which reads a value depends.

use crate::event::{EventGraph, EventId, EventKind, LocationId, TermKind, TermRef, UnknownKind};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// A read, what it returned, and where that came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadFact {
    /// The read.
    pub read: EventId,
    /// Its value.
    pub value: u128,
    /// The write of its first byte.
    pub source: Option<EventId>,
    /// A later write of another thread that also happens, and is not ordered before the read.
    pub missed: Option<EventId>,
}

/// The parameters' values in an execution.
pub fn parameters(graph: &EventGraph, witness: &Witness) -> Vec<(String, u128)> {
    graph
        .parameters
        .iter()
        .map(|(name, unknown)| (name.clone(), witness.execution.unknowns[*unknown]))
        .collect()
}

/// A read that happened, with its value and source.
pub fn read_fact(graph: &EventGraph, witness: &Witness, read: EventId) -> Option<ReadFact> {
    let access = graph.events[read].kind.access()?;
    let source =
        witness.execution.sources.get(&read).and_then(|pieces| pieces.first()).map(|&(write, _)| write);
    let from_reads = &witness.basis.relations[&BaseRelation::FromReads];
    let agent = graph.events[read].agent;
    let missed = from_reads.successors(read).find(|&write| graph.events[write].agent != agent);
    Some(ReadFact { read, value: witness.values[access.value], source, missed })
}

/// The reads whose values some terms depend on.
pub fn reads_in(
    graph: &EventGraph,
    terms: impl IntoIterator<Item = TermRef>,
) -> impl Iterator<Item = EventId> {
    support(graph, terms).into_iter().filter_map(|kind| match kind {
        UnknownKind::Read(read) => Some(read),
        _ => None,
    })
}

/// The reads of atomics whose values go nowhere but into what these write: who makes them learns nothing, as by a `red`.
pub fn idle_updates(graph: &EventGraph) -> SortedSet<EventId> {
    let updates: SortedMap<EventId, EventId> = graph.rmw.iter().map(|&(read, write)| (write, read)).collect();
    let value = |write: EventId| graph.events[write].kind.access().map(|access| access.value);
    let mut terms: Vec<TermRef> = graph.constraints.iter().map(|constraint| constraint.term).collect();
    for (id, event) in graph.events.iter_enumerated() {
        terms.push(event.guard);
        terms.extend(event.kind.access().map(|access| access.offset));
        let is_write = matches!(event.kind, EventKind::Write(_)) && !updates.contains_key(&id);
        terms.extend(value(id).filter(|_| is_write));
    }
    terms.extend(graph.obligations.iter().flat_map(|own| [own.guard, own.condition]));
    terms.extend(graph.blocked.iter().map(|blocked| blocked.stuck));
    terms.extend(graph.finals.iter().map(|claim| claim.condition));
    let mut used: SortedSet<EventId> = reads_in(graph, terms).collect();
    for (&write, &own) in &updates {
        used.extend(reads_in(graph, value(write)).filter(|&read| read != own));
    }
    updates.into_values().filter(|read| !used.contains(read)).collect()
}

/// The executed reads whose values a term depends on.
pub fn reads_of(graph: &EventGraph, witness: &Witness, term: TermRef) -> Vec<ReadFact> {
    let executed = |event: &EventId| witness.execution.executed.contains(*event);
    let reads: SortedSet<EventId> = reads_in(graph, [term]).collect();
    reads.into_iter().filter(executed).filter_map(|read| read_fact(graph, witness, read)).collect()
}

/// The last writes (in coherence order) of the bytes that a final condition reads, as if they were read.
pub fn final_reads(graph: &EventGraph, witness: &Witness, term: TermRef) -> Vec<ReadFact> {
    let mut facts = Vec::new();
    for kind in support(graph, [term]) {
        let UnknownKind::FinalValue { location, offset_bytes, .. } = kind else { continue };
        let writes: Vec<EventId> = witness
            .execution
            .executed
            .iter()
            .filter(|&event| {
                graph.events[event].kind.access().is_some_and(|access| {
                    let first = witness.values[access.offset];
                    access.location == location
                        && !matches!(graph.events[event].kind, EventKind::Read(_))
                        && (first..first + u128::from(access.width_bytes)).contains(&u128::from(offset_bytes))
                })
            })
            .collect();
        let last = writes
            .iter()
            .copied()
            .find(|&write| !writes.iter().any(|&later| witness.execution.coherence.contains(write, later)));
        if let Some(write) = last
            && let Some(access) = graph.events[write].kind.access()
        {
            facts.push(ReadFact {
                read: write,
                value: witness.values[access.value],
                source: Some(write),
                missed: None,
            });
        }
    }
    facts
}

/// What the unknowns under some terms stand for, in order of the unknowns.
pub fn support(graph: &EventGraph, terms: impl IntoIterator<Item = TermRef>) -> Vec<UnknownKind> {
    let mut seen: SortedSet<TermRef> = SortedSet::new();
    let mut unknowns = SortedSet::new();
    let mut stack: Vec<TermRef> = terms.into_iter().collect();
    while let Some(top) = stack.pop() {
        if !seen.insert(top) {
            continue;
        }
        if let TermKind::Unknown(unknown) = *graph.terms.kind(top) {
            unknowns.insert(unknown);
            if graph.terms.unknown(unknown).kind == UnknownKind::BarrierResult {
                stack.extend(said_of(graph, top));
            }
        }
        stack.extend(graph.terms.operands(top));
    }
    unknowns.into_iter().map(|unknown| graph.terms.unknown(unknown).kind.clone()).collect()
}

/// What constraints say of an unknown: of what a barrier tells its threads, what it is made of.
fn said_of(graph: &EventGraph, unknown: TermRef) -> impl Iterator<Item = TermRef> + '_ {
    let names_it = move |constraint: TermRef| {
        let mut level = vec![constraint];
        // It is one side of a comparison, which holds if the barrier is passed.
        for _ in 0..4 {
            if level.contains(&unknown) {
                return true;
            }
            level = level.into_iter().flat_map(|term| graph.terms.operands(term)).collect();
        }
        false
    };
    graph.constraints.iter().map(|constraint| constraint.term).filter(move |&term| names_it(term))
}

/// What an event accesses: the object, and from which byte on.
pub(super) fn place(graph: &EventGraph, witness: &Witness, event: EventId) -> Option<(LocationId, u128)> {
    let access = graph.events[event].kind.access()?;
    Some((access.location, witness.values[access.offset]))
}
