//! `--trace`: the execution of a finding as a table, one column per thread, one step per row.
//!
//! Rows follow program order, barriers and reads-from; where an execution has a cycle of those (a read that takes its
//! value from a write that only comes later) the read comes first and says so by naming a later step.

use super::Case;
use super::wording::{Words, number};
use crate::bits::{BitMatrix, EventSet};
use crate::event::{AgentId, EventGraph, EventId, EventKind, GridEvent, LocationId, MbarrierRole, Role};
use crate::explain::Explanation;
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use std::collections::{BTreeMap, BTreeSet};

/// Threads shown; those of the finding come first.
const COLUMNS_MAX: usize = 6;

/// The table.
pub fn trace(case: &Case<'_>, witness: &Witness, explanation: &Explanation) -> String {
    let graph = &case.outcome.graph;
    let words = Words { case, witness };
    let (rows, columns, n_folded) = rows(case, witness, explanation);
    let step_of: BTreeMap<EventId, usize> =
        rows.iter().enumerate().map(|(i, &event)| (event, i + 1)).collect();
    let mark = |event: EventId| match explanation.subject {
        crate::explain::Subject::Race { earlier, .. } if earlier == event => " (1)",
        crate::explain::Subject::Race { later, .. } if later == event => " (2)",
        _ => "",
    };
    let mut table: Vec<Vec<String>> = Vec::new();
    let mut header = vec!["step".to_owned()];
    header.extend(columns.iter().map(|&agent| words.agent(agent)));
    table.push(header);
    for &event in &rows {
        let mut row = vec![String::new(); columns.len() + 1];
        row[0] = step_of[&event].to_string();
        let column = columns.iter().position(|&agent| graph.events[event].agent == Some(agent));
        if let Some(column) = column {
            row[column + 1] = format!("{}{}", step(&words, event, &step_of), mark(event));
        }
        table.push(row);
    }
    let mut text = draw(&table);
    text += &phases(&words);
    if let Some(values) = Words::parameters(explanation) {
        text += &format!("  with {values}\n");
    }
    if n_folded > 0 {
        let s = if n_folded == 1 { "" } else { "s" };
        text += &format!("  {n_folded} more thread{s} without a step that matters here\n");
    }
    text
}

/// The steps that matter, the threads that take them, and how many threads are left out.
pub(super) fn rows(
    case: &Case<'_>,
    witness: &Witness,
    explanation: &Explanation,
) -> (Vec<EventId>, Vec<AgentId>, usize) {
    let graph = &case.outcome.graph;
    let story = explanation.events(graph.events.len());
    let relevant = relevant(graph, witness, explanation, &story);
    let (columns, n_folded) = columns(graph, &relevant, &story, explanation);
    let is_shown = |&event: &EventId| {
        relevant.contains(&event) && graph.events[event].agent.is_some_and(|agent| columns.contains(&agent))
    };
    let rows = ordered(graph, witness).into_iter().filter(is_shown).collect();
    (rows, columns, n_folded)
}

/// A table of phases for each mbarrier: who arrived, who passed, what is missing.
fn phases(words: &Words<'_>) -> String {
    let graph = &words.case.outcome.graph;
    let value = |term| words.witness.values[term];
    let mut text = String::new();
    for mbarrier in graph.mbarriers.iter() {
        let mut table = vec![["phase", "arrivals", "bytes", "arrived", "passed"].map(str::to_owned).to_vec()];
        let happens =
            |event: EventId| words.witness.execution.executed.contains(event) && words.span(event).is_some();
        let operations: Vec<_> =
            mbarrier.operations.iter().filter(|operation| happens(operation.event)).collect();
        if operations.is_empty() {
            continue;
        }
        for (number, phase) in (0u128..).zip(&mbarrier.phases) {
            let here: Vec<_> =
                operations.iter().filter(|operation| value(operation.phase) == number).collect();
            let threads = |events: Vec<EventId>| {
                let mut agents: Vec<AgentId> =
                    events.into_iter().filter_map(|event| graph.events[event].agent).collect();
                agents.dedup();
                if agents.is_empty() { String::new() } else { words.agents(&agents) }
            };
            let arrived: u32 = here.iter().map(|operation| operation.arrivals).sum();
            let bytes: i64 = here.iter().map(|operation| operation.bytes).sum();
            // Those that pass see the phase before theirs complete.
            let passed = operations.iter().filter(|operation| {
                operation.arrivals == 0
                    && matches!(&graph.events[operation.event].kind,
                        EventKind::Mbarrier(event) if event.role == MbarrierRole::Wait)
                    && value(operation.phase) == number + 1
            });
            let passed = threads(passed.map(|operation| operation.event).collect());
            let by = threads(
                here.iter()
                    .filter(|operation| operation.arrivals > 0)
                    .map(|operation| operation.event)
                    .collect(),
            );
            let mark = if value(phase.complete) == 1 { "complete" } else { "open" };
            table.push(vec![
                format!("{number} {mark}"),
                format!("{arrived} of {}", value(phase.expected)),
                bytes.to_string(),
                by,
                passed,
            ]);
            if value(phase.complete) == 0 {
                break;
            }
        }
        text += &format!("  mbarrier {}\n{}", mbarrier.name, draw(&table));
    }
    text
}

/// Accesses to the same locations as the story, and fences and barriers of the threads that have any.
fn relevant(
    graph: &EventGraph,
    witness: &Witness,
    explanation: &Explanation,
    story: &EventSet,
) -> BTreeSet<EventId> {
    let location = |event: EventId| graph.events[event].kind.access().map(|access| access.location);
    let locations: BTreeSet<LocationId> = story.iter().filter_map(location).collect();
    let mut threads: BTreeSet<Option<AgentId>> =
        story.iter().map(|event| graph.events[event].agent).collect();
    if let crate::explain::Subject::Assertion { agent, .. } | crate::explain::Subject::Bounds { agent, .. } =
        explanation.subject
    {
        threads.insert(Some(agent));
    }
    if let crate::explain::Subject::Deadlock { roles, .. } = &explanation.subject {
        threads.extend(roles.iter().flat_map(|role| &role.agents).map(|&agent| Some(agent)));
    }
    let executed = || witness.execution.executed.iter().filter(|&event| graph.events[event].agent.is_some());
    let accesses: BTreeSet<EventId> =
        executed().filter(|&event| location(event).is_some_and(|at| locations.contains(&at))).collect();
    threads.extend(accesses.iter().map(|&event| graph.events[event].agent));
    // Whoever started an operation is part of its story.
    let issuers: Vec<Option<AgentId>> =
        threads.iter().map(|agent| agent.map(|agent| graph.hierarchy.issuer(agent))).collect();
    threads.extend(issuers);
    executed()
        .filter(|&event| match graph.events[event].kind {
            EventKind::Init(_) | EventKind::Read(_) | EventKind::Write(_) => accesses.contains(&event),
            EventKind::CtaStart(_) | EventKind::CtaExit(_) => false,
            _ => graph.events[event].agent.is_some() && threads.contains(&graph.events[event].agent),
        })
        .collect()
}

/// The threads to show, ascending, and how many are left out.
fn columns(
    graph: &EventGraph,
    relevant: &BTreeSet<EventId>,
    story: &EventSet,
    explanation: &Explanation,
) -> (Vec<AgentId>, usize) {
    let mut columns: Vec<AgentId> = Vec::new();
    let mut push = |agent: Option<AgentId>| {
        if let Some(agent) = agent
            && columns.len() < COLUMNS_MAX
            && !columns.contains(&agent)
        {
            columns.push(agent);
        }
    };
    if let crate::explain::Subject::Assertion { agent, .. } | crate::explain::Subject::Bounds { agent, .. } =
        explanation.subject
    {
        push(Some(agent));
    }
    story.iter().for_each(|event| push(graph.events[event].agent));
    relevant.iter().for_each(|&event| push(graph.events[event].agent));
    columns.sort_unstable();
    let n_shown = columns.iter().filter(|&&agent| !graph.hierarchy.is_operation(agent)).count();
    let n_folded = graph.hierarchy.n_threads() - n_shown;
    (columns, n_folded)
}

/// Executed events of threads in an order that follows `po | syncbar | rf`, staying with a thread while possible.
fn ordered(graph: &EventGraph, witness: &Witness) -> Vec<EventId> {
    let relations = &witness.basis.relations;
    let hard = relations[&BaseRelation::ProgramOrder]
        .union(&relations[&BaseRelation::BarrierSynchronization])
        .union(&relations[&BaseRelation::Signals])
        .union(&relations[&BaseRelation::Issue])
        .union(&relations[&BaseRelation::Completion])
        .union(&relations[&BaseRelation::PhaseOrder])
        .union(&relations[&BaseRelation::InPhaseOrder])
        .union(&relations[&BaseRelation::BarrierOrder])
        .union(&between_grids(relations));
    let all = hard.union(&relations[&BaseRelation::ReadsFrom]);
    let (hard, all) = (hard.inverse(), all.inverse());
    let mut waiting: Vec<EventId> =
        witness.execution.executed.iter().filter(|&event| graph.events[event].agent.is_some()).collect();
    let mut done: BTreeSet<EventId> = BTreeSet::new();
    let mut order = Vec::with_capacity(waiting.len());
    let mut current = None;
    while !waiting.is_empty() {
        let ready = |relation: &BitMatrix, event: EventId| {
            relation.successors(event).all(|before| {
                done.contains(&before) || graph.events[before].agent.is_none() || before == event
            })
        };
        let same_thread = |event: EventId| graph.events[event].agent == current;
        let next = waiting
            .iter()
            .position(|&event| same_thread(event) && ready(&all, event))
            .or_else(|| waiting.iter().position(|&event| ready(&all, event)))
            .or_else(|| waiting.iter().position(|&event| ready(&hard, event)))
            .unwrap_or(0);
        let event = waiting.remove(next);
        current = graph.events[event].agent;
        done.insert(event);
        order.push(event);
    }
    order
}

/// What lies between the events of different grids: their starts and ends are no steps themselves.
fn between_grids(relations: &BTreeMap<BaseRelation, BitMatrix>) -> BitMatrix {
    let steps = relations[&BaseRelation::ApiSynchronization].union(&relations[&BaseRelation::Triggers]);
    steps.transitive_closure()
}

fn step(words: &Words<'_>, event: EventId, step_of: &BTreeMap<EventId, usize>) -> String {
    let graph = &words.case.outcome.graph;
    let instruction = words.instruction(event);
    let mut text = match &graph.events[event].kind {
        EventKind::Read(access) => {
            let value = number(words.witness.values[access.value]);
            let sources = words.witness.execution.sources.get(&event).map_or(&[][..], Vec::as_slice);
            let from = sources.first().map_or_else(String::new, |&(source, _)| match step_of.get(&source) {
                Some(step) => format!(" from step {step}"),
                None if graph.events[source].agent.is_none() => " initial value".to_owned(),
                None => format!(" from {}", words.thread(source)),
            });
            format!("{instruction} → {value}{from}")
        }
        EventKind::Write(access) => format!("{instruction} = {}", number(words.witness.values[access.value])),
        EventKind::BarrierArrive | EventKind::ClusterArrive { .. } => format!("{instruction} (arrives)"),
        EventKind::BarrierWait
        | EventKind::ClusterWait
        | EventKind::AsyncWait
        | EventKind::Grid(GridEvent::Synchronize | GridEvent::Wait) => {
            format!("{instruction} (passes)")
        }
        EventKind::Issue { .. } => format!("{instruction} (starts)"),
        EventKind::Mbarrier(operation) => match operation.role {
            MbarrierRole::Wait => format!("{instruction} (passes)"),
            MbarrierRole::Complete => format!("{instruction} (complete-tx)"),
            _ => instruction,
        },
        EventKind::Init(_)
        | EventKind::Fence { .. }
        | EventKind::ProxyFence(_)
        | EventKind::AsyncFence(_)
        | EventKind::MatrixFence
        | EventKind::Spa(_)
        | EventKind::Cancel(_)
        | EventKind::Tensor(_)
        | EventKind::RestrictedFence(_)
        | EventKind::CtaStart(_)
        | EventKind::CtaExit(_)
        | EventKind::Grid(_) => instruction,
    };
    if let Role::Spin(_) = graph.events[event].role {
        text += " (a try that fails)";
    }
    text
}

fn draw(table: &[Vec<String>]) -> String {
    let n_columns = table.first().map_or(0, Vec::len);
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for (i, row) in table.iter().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        text += &format!("  {}\n", cells.join(" │ ").trim_end());
        if i == 0 {
            let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
            text += &format!("  {}\n", rule.join("─┼─"));
        }
    }
    text
}
