//! A run, for machines.

use super::execution::Run;
use super::words::{self, stop_name};
use crate::check::executions::{Cut, End, Stop, Way};
use crate::event::AgentId;
use crate::explain;
use crate::report::place::{Position, position};
use crate::report::summary;
use crate::report::wording::{Words, number};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::index::Id;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: &'a str,
    kernel: &'a str,
    launch: &'a str,
    model: &'a str,
    variant: &'a [String],
    unroll: u32,
    end: &'static str,
    parameters: BTreeMap<String, String>,
    threads: Vec<Thread>,
    steps: Vec<Step>,
    memory: Vec<Cell>,
    wrong: Vec<WrongReport>,
}

#[derive(Serialize)]
struct Thread {
    id: String,
    name: String,
    is_operation: bool,
}

#[derive(Serialize)]
struct Step {
    step: usize,
    thread: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Position>,
    opcode: String,
    object: String,
    ways: Vec<WayReport>,
    taken: usize,
    /// Whether there are no others.
    all_ways: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ways_cut: Option<String>,
}

#[derive(Serialize)]
struct WayReport {
    choose: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    from: Vec<From>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stops: Option<&'static str>,
}

#[derive(Serialize)]
struct From {
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Position>,
}

#[derive(Serialize)]
struct Cell {
    object: String,
    values: Vec<String>,
}

#[derive(Serialize)]
struct WrongReport {
    code: &'static str,
    steps: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

/// One line of JSON, of schema `fencepost-run/1`.
pub fn json(run: &Run<'_>, model: &MemoryModel) -> String {
    let case = run.case();
    let hierarchy = &case.outcome.graph.hierarchy;
    let parameters = explain::parameters(&case.outcome.graph, &run.shown().witness);
    let report = Report {
        schema: "fencepost-run/1",
        file: case.file,
        kernel: &case.kernel.name,
        launch: &case.outcome.launch.name,
        model: case.model,
        variant: case.variants,
        unroll: case.outcome.unroll,
        end: match run.shown().end {
            _ if run.next().is_some() => "open",
            End::Complete => "complete",
            End::Hangs => "hangs",
            End::Bound => "bound",
            End::Broken => "broken",
            End::Open => "open",
        },
        parameters: parameters.into_iter().map(|(name, value)| (name, value.to_string())).collect(),
        threads: run
            .agents()
            .into_iter()
            .map(|agent| Thread {
                id: id(agent),
                name: hierarchy.describe(agent),
                is_operation: hierarchy.is_operation(agent),
            })
            .collect(),
        steps: (0..run.done().len()).map(|at| step(run, at)).collect(),
        memory: words::memory(run).into_iter().map(|(object, values)| Cell { object, values }).collect(),
        wrong: words::wrong(run, model)
            .into_iter()
            .map(|wrong| WrongReport { code: wrong.code, steps: wrong.steps, line: wrong.line })
            .collect(),
    };
    let mut text = serde_json::to_string(&report).expect("reports are serialisable");
    text.push('\n');
    text
}

fn id(agent: AgentId) -> String {
    format!("t{}", agent.index())
}

fn step(run: &Run<'_>, at: usize) -> Step {
    let done = &run.done()[at];
    let agent = done.deed.agent;
    let taken = &done.ways.ways[done.taken];
    let outcome = run.outcome(taken);
    let words = Words { case: run.case(), witness: &taken.shown.witness };
    let own = done.deed.events.first().and_then(|&event| words.span(event));
    let span = own.or_else(|| run.standstill(agent, &taken.shown).map(|stop| stop.span));
    Step {
        step: at + 1,
        thread: id(agent),
        place: span.map(|span| position(run.case().sources, span)),
        opcode: outcome.as_ref().map(|outcome| outcome.opcode.clone()).unwrap_or_default(),
        object: outcome.map(|outcome| outcome.object).unwrap_or_default(),
        ways: done
            .ways
            .ways
            .iter()
            .enumerate()
            .map(|(number, own)| way(run, agent, own, (at, number)))
            .collect(),
        taken: done.taken + 1,
        all_ways: done.ways.cut.is_none(),
        ways_cut: done.ways.cut.as_ref().map(|cut| match cut {
            Cut::Many => "there are more".to_owned(),
            Cut::Limit(limit) => summary::stopped(limit).0,
        }),
    }
}

fn way(run: &Run<'_>, agent: AgentId, way: &Way, (at, number_of): (usize, usize)) -> WayReport {
    let outcome = run.outcome(way);
    let words = Words { case: run.case(), witness: &way.shown.witness };
    let graph = &run.case().outcome.graph;
    let from = |&source: &crate::event::EventId| From {
        step: run.step_of(source),
        thread: graph.events[source].agent.map(id),
        place: words.span(source).map(|span| position(run.case().sources, span)),
    };
    let stop = way.shown.stop(graph, agent);
    WayReport {
        choose: format!("{}#{}", at + 1, number_of + 1),
        text: super::execution::way(run, agent, way),
        value: outcome.as_ref().and_then(|outcome| outcome.value).map(number),
        from: outcome.iter().flat_map(|outcome| &outcome.sources).map(from).collect(),
        stops: (outcome.is_none() && stop != Stop::Ends).then(|| stop_name(stop)),
    }
}
