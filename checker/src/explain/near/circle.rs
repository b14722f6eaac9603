//! A circle of threads, each of which waits for a word that the next one has taken with an atomic: locks that are taken in
//! different orders.

use super::super::reads::final_reads;
use super::super::reason::{Reason, Taken};
use crate::event::{AgentId, Blocked, EventGraph, EventId, Wait};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;

/// The circle, if there is one.
pub fn explain(graph: &EventGraph, witness: &Witness, standing: &[&Blocked]) -> Option<Reason> {
    let mut waits: SortedMap<AgentId, Taken> = SortedMap::new();
    for blocked in standing {
        let Wait::Memory(looks) = &blocked.wait else { continue };
        let looks = looks.iter().filter(|look| witness.values[look.guard] == 1);
        let writes = looks.flat_map(|look| final_reads(graph, witness, look.value)).map(|fact| fact.read);
        let mut taken = writes.filter_map(|write| Some((graph.events[write].agent?, write)));
        let is_other = |by: AgentId| by != blocked.agent && standing.iter().any(|other| other.agent == by);
        if let Some((by, write)) = taken.find(|&(by, write)| is_other(by) && takes(graph, witness, write)) {
            waits.insert(blocked.agent, Taken { waits: blocked.agent, by, write });
        }
    }
    waits.keys().find_map(|&first| {
        let next = |taken: &Taken| waits.get(&taken.by).copied();
        let way: Vec<Taken> =
            std::iter::successors(waits.get(&first).copied(), next).take(waits.len()).collect();
        let end = way.iter().position(|taken| taken.by == first)?;
        Some(Reason::Circle { taken: way[..=end].to_vec() })
    })
}

/// Whether a write is that of an atomic which found the word free: a swap, or a comparison that held.
fn takes(graph: &EventGraph, witness: &Witness, write: EventId) -> bool {
    let atomic = &witness.basis.relations[&BaseRelation::ReadModifyWrite];
    let is_swap = graph.events[write].site.is_some_and(|site| {
        let opcode = &graph.sites[site].text;
        [".cas", ".exch"].iter().any(|word| opcode.contains(word))
    });
    is_swap && atomic.pairs().any(|(_, to)| to == write)
}
