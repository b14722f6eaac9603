//! Base relations of SPA machines: who shares an SM, a virtual channel and a device.

use crate::bits::{BitMatrix, EventSet};
use crate::event::{AgentId, EventGraph};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::MembarLevel;

/// Which events are of one SM, virtual channel and device of an SPA machine. Nothing asks for them elsewhere.
pub fn machine_pairs(graph: &EventGraph) -> [BitMatrix; 3] {
    let n = graph.events.len();
    let mut pairs = [BitMatrix::empty(n), BitMatrix::empty(n), BitMatrix::empty(n)];
    if graph.hierarchy.launch().spa.is_none() {
        return pairs;
    }
    let mut by_agent: SortedMap<AgentId, EventSet> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        let Some(agent) = event.agent else { continue };
        by_agent.entry(agent).or_insert_with(|| EventSet::empty(n)).insert(id);
    }
    for (&agent, events) in &by_agent {
        for (&other, others) in &by_agent {
            let distance = graph.hierarchy.membar_distance(agent, other);
            let holds = [
                graph.hierarchy.is_same_sm(agent, other),
                distance <= MembarLevel::Channel,
                distance <= MembarLevel::Global,
            ];
            for (relation, holds) in pairs.iter_mut().zip(holds) {
                if holds {
                    relation.fill(events, others);
                }
            }
        }
    }
    pairs
}
