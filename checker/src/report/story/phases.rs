//! What mbarriers went through: a row for each phase that was reached.

use super::super::wording::Words;
use crate::event::{AgentId, EventId, EventKind, MbarrierId, MbarrierRole};
use fencepost_dsl::sorted::SortedSet;

/// A phase of an mbarrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseRow {
    /// The mbarrier.
    pub name: String,
    /// Counted from 0.
    pub number: usize,
    /// Whether it is complete.
    pub is_complete: bool,
    /// Arrivals made, and expected.
    pub arrivals: (u32, u128),
    /// Bytes announced and not delivered.
    pub bytes: i64,
    /// Who arrived.
    pub arrived: String,
    /// Who passed.
    pub passed: String,
}

/// The phases of some mbarriers, as far as they were reached.
pub(super) fn phases(words: &Words<'_>, mbarriers: &SortedSet<MbarrierId>) -> Vec<PhaseRow> {
    mbarriers.iter().flat_map(|&mbarrier| of_one(words, mbarrier)).collect()
}

fn of_one(words: &Words<'_>, mbarrier: MbarrierId) -> Vec<PhaseRow> {
    let graph = words.graph();
    let mbarrier = &graph.mbarriers[mbarrier];
    let value = |term| words.witness.values[term];
    let happens =
        |event: EventId| words.witness.execution.executed.contains(event) && words.span(event).is_some();
    let operations: Vec<_> =
        mbarrier.operations.iter().filter(|operation| happens(operation.event)).collect();
    let mut rows = Vec::new();
    if operations.is_empty() {
        return rows;
    }
    let threads = |events: Vec<EventId>| {
        let agents = events.into_iter().filter_map(|event| graph.events[event].agent);
        let agents: SortedSet<AgentId> = agents.collect();
        let agents: Vec<AgentId> = agents.into_iter().collect();
        if agents.is_empty() { String::new() } else { words.agents(&agents) }
    };
    for (number, phase) in mbarrier.phases.iter().enumerate() {
        let here: Vec<_> =
            operations.iter().filter(|operation| value(operation.phase) == number as u128).collect();
        // Those that pass see the phase before theirs complete.
        let passed = operations.iter().filter(|operation| {
            operation.arrivals == 0
                && matches!(&graph.events[operation.event].kind,
                    EventKind::Mbarrier(event) if event.role == MbarrierRole::Wait)
                && value(operation.phase) == number as u128 + 1
        });
        let is_complete = value(phase.complete) == 1;
        rows.push(PhaseRow {
            name: mbarrier.name.to_string(),
            number,
            is_complete,
            arrivals: (here.iter().map(|operation| operation.arrivals).sum(), value(phase.expected)),
            bytes: here.iter().map(|operation| operation.bytes).sum(),
            arrived: threads(
                here.iter()
                    .filter(|operation| operation.arrivals > 0)
                    .map(|operation| operation.event)
                    .collect(),
            ),
            passed: threads(passed.map(|operation| operation.event).collect()),
        });
        if !is_complete {
            break;
        }
    }
    rows
}
