//! A run, told to people.

use super::execution::{Done, Run, Standing, ways};
use crate::check::executions::{Cut, End, Stop, Way, Ways};
use crate::encode::goal::GoalKind;
use crate::event::{AgentId, EventGraph, EventId, EventKind, ObligationKind};
use crate::report::case::{Style, wrap};
use crate::report::story::{Deed, Standstill, Story};
use crate::report::wording::{Words, number};
use crate::report::{summary, trace};
use crate::verdict::{Finding, Property};
use crate::{explain, findings};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedMap;

/// Cells of memory that are listed at most.
const CELLS_MAX: usize = 32;

/// The run as a story, for tables and pictures.
pub fn story(run: &Run<'_>) -> Story {
    let shown = run.shown();
    let explanation = explain::condition(&run.case().outcome.graph, &shown.witness);
    let deeds: Vec<Deed> =
        run.done().iter().map(|done| done.deed.clone()).filter(|deed| !deed.events.is_empty()).collect();
    let stops: Vec<Standstill> = run.standstills();
    let mut story = Story::of_run(run.case(), (&shown.witness, &explanation), &deeds, &stops);
    story.headline = format!("{}: {}", summary::head(run.case()), end(run));
    story
}

/// How it ends, or how far it has come.
pub fn end(run: &Run<'_>) -> &'static str {
    if run.next().is_some() {
        return "not at its end yet";
    }
    match run.shown().end {
        End::Complete => "every thread runs to its end",
        End::Hangs => "threads wait for ever",
        End::Bound => "a thread comes to the loop bound",
        End::Broken => "a thread breaks a rule, and nothing is said of what comes after",
        End::Open => "no execution runs to an end; this is the beginning of one",
    }
}

/// One step in a line: `3  t1 (tid 0 of cta 1)  12: ld.acquire [flag] → 1 from step 2`.
pub fn deed(run: &Run<'_>, at: usize, style: Style) -> String {
    let story = story(run);
    let done = &run.done()[at];
    let line = match run.done()[..=at].iter().filter(|done| !done.deed.events.is_empty()).count() {
        n if n > 0 && !done.deed.events.is_empty() => {
            story.steps.get(n - 1).map(|step| step.line()).unwrap_or_default()
        }
        _ => run.standstill(done.deed.agent, run.shown()).map_or_else(String::new, |stop| stop.what),
    };
    format!("{:>4}  {}  {line}\n", at + 1, style.paint("1", &run.name(done.deed.agent)))
}

/// All of it: the steps, what else they could be, memory, and what goes wrong.
pub fn text(run: &Run<'_>, model: &MemoryModel, style: Style) -> String {
    let title = format!("{}: {}: {}", style.paint("1", "run"), run.case().file, summary::head(run.case()));
    let mut text = format!("{title}\n  {}\n", end(run));
    text += &parameters(run);
    text.push('\n');
    let mut story = story(run);
    for lane in &mut story.lanes {
        let agent = run.agents().into_iter().find(|&agent| {
            !run.case().outcome.graph.hierarchy.is_operation(agent)
                && run.case().outcome.graph.hierarchy.describe(agent) == lane.name
        });
        if let Some(agent) = agent {
            lane.name = format!("t{}: {}", agent.index(), lane.name);
        }
    }
    text += &trace::table(&story, style.width);
    text += &others(run, style);
    for line in ends(run, model) {
        for part in wrap(&line, style.width.saturating_sub(2).max(20)) {
            text += &format!("\n  {part}");
        }
    }
    text.push('\n');
    text
}

fn parameters(run: &Run<'_>) -> String {
    let values = explain::parameters(&run.case().outcome.graph, &run.shown().witness);
    let values: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if values.is_empty() {
        return String::new();
    }
    format!("  with {}; `-D NAME=VALUE` chooses another value\n", values.join(", "))
}

/// What steps could be instead, and what says so on the command line.
fn others(run: &Run<'_>, style: Style) -> String {
    let mut text = String::new();
    let open = |done: &&(usize, &Done)| done.1.ways.ways.len() > 1 || done.1.ways.cut.is_some();
    for (at, done) in run.done().iter().enumerate().filter(|done| open(&done)) {
        let told = ways(run, done.deed.agent, &done.ways);
        let other = told.iter().enumerate().filter(|&(number, _)| number != done.taken);
        for (number, told) in other {
            if text.is_empty() {
                text = format!("\n  {}\n", style.paint("1", "what else steps could come to (`--choose`):"));
            }
            let key = format!("{}#{}", at + 1, number + 1);
            for (i, part) in wrap(told, style.width.saturating_sub(12).max(20)).iter().enumerate() {
                text += &format!("    {:<7} {part}\n", if i == 0 { &key } else { "" });
            }
        }
        if let Some(cut) = &done.ways.cut {
            text += &format!("    {:<7} {}\n", at + 1, cut_short(cut));
        }
    }
    text
}

/// Why it is not known whether there are others.
pub fn cut_short(cut: &Cut) -> String {
    match cut {
        Cut::Many => "and others: only the first are listed".to_owned(),
        Cut::Limit(limit) => {
            let (what, knob) = summary::stopped(limit);
            format!("whether there are others is not known: {what}; {knob}")
        }
    }
}

/// Memory, and what goes wrong, once it is at its end.
fn ends(run: &Run<'_>, model: &MemoryModel) -> Vec<String> {
    if run.next().is_some() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let memory: Vec<String> =
        memory(run).into_iter().map(|(name, values)| format!("{name} = {}", values.join(" or "))).collect();
    if !memory.is_empty() {
        let more = memory.len().saturating_sub(CELLS_MAX);
        let more = if more > 0 { format!(", … {more} more") } else { String::new() };
        let shown = &memory[..memory.len().min(CELLS_MAX)];
        lines.push(format!("in memory at the end: {}{more}", shown.join(", ")));
    }
    let wrong = wrong(run, model);
    match wrong.as_slice() {
        [] => lines.push("nothing goes wrong in this execution".to_owned()),
        wrong => {
            let told: Vec<String> = wrong.iter().map(|wrong| wrong.to_string()).collect();
            lines.push(format!("goes wrong: {}; `fencepost check` says why", told.join(", ")));
        }
    }
    lines
}

/// Something that goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The code of its page.
    pub code: &'static str,
    /// The steps that it is about.
    pub steps: Vec<usize>,
    /// Or the line.
    pub line: Option<String>,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps: Vec<String> = self.steps.iter().map(ToString::to_string).collect();
        match (steps.as_slice(), &self.line) {
            ([], None) => f.write_str(self.code),
            ([], Some(line)) => write!(f, "{} on {line}", self.code),
            ([only], _) => write!(f, "{} in step {only}", self.code),
            (several, _) => write!(f, "{} in steps {}", self.code, several.join(" and ")),
        }
    }
}

/// What goes wrong in it, each thing once.
pub fn wrong(run: &Run<'_>, model: &MemoryModel) -> Vec<Wrong> {
    let graph: &EventGraph = &run.case().outcome.graph;
    let words = Words { case: run.case(), witness: &run.shown().witness };
    let mut all: Vec<Wrong> = Vec::new();
    for kind in &run.shown().wrong {
        let (code, steps, line) = match kind {
            GoalKind::Flag { flag, pair: (a, b) } => {
                let mut steps: Vec<usize> =
                    [*a, *b].into_iter().filter_map(|event| run.step_of(event)).collect();
                steps.sort_unstable();
                steps.dedup();
                (findings::flag(&model.flags[*flag].name).kind.code, steps, None)
            }
            GoalKind::Obligation(index) => {
                let obligation = &graph.obligations[*index];
                let code = match &obligation.kind {
                    ObligationKind::Assertion => findings::assertion::VIOLATED.code,
                    ObligationKind::Bounds { .. } => findings::bounds::OUT_OF_BOUNDS.code,
                    ObligationKind::Discipline(misuse) => misuse.code(),
                };
                (code, Vec::new(), Some(words.line(obligation.span)))
            }
            GoalKind::Final(index) => {
                let code = findings::assertion::FINAL_VIOLATED.code;
                (code, Vec::new(), Some(words.line(graph.finals[*index].span)))
            }
            GoalKind::Deadlock | GoalKind::NotResident | GoalKind::Condition | GoalKind::Completion => {
                continue;
            }
        };
        let wrong = Wrong { code, steps, line };
        if !all.contains(&wrong) {
            all.push(wrong);
        }
    }
    let hangs =
        run.shown().wrong.iter().any(|kind| matches!(kind, GoalKind::Deadlock | GoalKind::NotResident));
    if hangs {
        let witness = Box::new(run.shown().witness.clone());
        let code = explain::explain(graph, model, &Finding { property: Property::Deadlock, witness }).code;
        all.insert(0, Wrong { code, steps: Vec::new(), line: None });
    }
    all
}

/// What memory holds at the end, of what was written: the values of the writes that none overwrites.
pub fn memory(run: &Run<'_>) -> Vec<(String, Vec<String>)> {
    let graph = &run.case().outcome.graph;
    let witness = &run.shown().witness;
    let words = Words { case: run.case(), witness };
    let mut cells: SortedMap<(usize, u128, u32), (String, Vec<String>)> = SortedMap::new();
    for event in witness.execution.executed.iter() {
        let EventKind::Write(access) = &graph.events[event].kind else { continue };
        let first = witness.values[access.offset];
        let overwrites = |later: EventId| {
            graph.events[later].kind.access().is_some_and(|other| {
                let start = witness.values[other.offset];
                other.location == access.location
                    && start <= first
                    && first + u128::from(access.width_bytes) <= start + u128::from(other.width_bytes)
            })
        };
        if witness.execution.coherence.successors(event).any(overwrites) {
            continue;
        }
        let Some(object) = words.object(event) else { continue };
        let instance = graph.locations[access.location].name.instance();
        let value = number(witness.values[access.value]);
        let key = (access.location.index(), first, access.width_bytes);
        let cell = cells.entry(key).or_insert_with(|| (format!("[{object}]{instance}"), Vec::new()));
        if !cell.1.contains(&value) {
            cell.1.push(value);
        }
    }
    cells.into_values().collect()
}

/// What a thread or operation is at, for who is asked; `None` once it has ended.
pub fn standing(run: &Run<'_>, agent: AgentId) -> Option<String> {
    match run.standing(agent) {
        Standing::Can(deed) => {
            let way = Way { events: deed.events, shown: std::sync::Arc::clone(run.shown()) };
            Some(format!("can do {}", run.line_of(way.events[0], &way)))
        }
        Standing::Waits(others) => {
            let names: Vec<String> = others.into_iter().map(|other| format!("t{}", other.index())).collect();
            Some(format!("waits for {}", names.join(", ")))
        }
        Standing::Stops => run.standstill(agent, run.shown()).map(|stop| stop.what),
        Standing::Over => None,
    }
}

/// What can be done next, for who is asked.
pub fn prompt(run: &Run<'_>, pending: Option<(AgentId, &Ways)>, style: Style) -> String {
    let mut text = String::new();
    for agent in run.agents() {
        let is_next = pending.is_some_and(|(next, _)| next == agent);
        let Some(told) = standing(run, agent) else { continue };
        let mark = if is_next { ">" } else { " " };
        text += &format!("{mark} {}: {told}\n", style.paint("1", &run.name(agent)));
        if let Some((_, found)) = pending.filter(|(next, found)| *next == agent && found.ways.len() > 1) {
            for (number, told) in ways(run, agent, found).iter().enumerate() {
                text += &format!("      #{} {told}\n", number + 1);
            }
            if let Some(cut) = &found.cut {
                text += &format!("      {}\n", cut_short(cut));
            }
        }
    }
    text
}

/// How a thread stops, in a word.
pub fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Ends => "ends",
        Stop::Waits(_) => "waits",
        Stop::Bound(_) => "bound",
        Stop::Breaks(_) => "breaks",
        Stop::Somewhere => "open",
    }
}
