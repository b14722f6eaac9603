//! A run: the steps that were taken, and what can be done next.

use super::super::case::Case;
use super::super::story::{Deed, Deeds, Outcome, Standstill, Told};
use super::choice::{Choice, Pick};
use crate::bits::EventSet;
use crate::check::CheckError;
use crate::check::executions::{Course, Executions, Shown, Stop, Way, Ways};
use crate::event::{AgentId, EventGraph, EventId, EventKind, Wait};
use crate::report::wording::Words;
use fencepost_dsl::Span;
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A step that was taken.
#[derive(Clone, Debug)]
pub struct Done {
    /// What was done; without events, its thread stops there.
    pub deed: Deed,
    /// What else it could have come to.
    pub ways: Ways,
    /// Which of them it was.
    pub taken: usize,
}

/// What a thread or operation that has not ended is at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It can do this next.
    Can(Deed),
    /// It has to wait for these to do something.
    Waits(Vec<AgentId>),
    /// It stops for good, in the execution at hand.
    Stops,
    /// It has ended.
    Over,
}

/// Why something cannot be done.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotDone {
    /// It cannot be chosen, and why.
    #[error("{0}")]
    Choice(String),
    /// A bug of ours.
    #[error(transparent)]
    Error(#[from] CheckError),
}

/// An execution that is gone through.
pub struct Run<'a> {
    case: Case<'a>,
    executions: &'a Executions<'a>,
    course: Course<'a>,
    passed: EventSet,
    /// By event, the step in which it happened.
    step_of: SortedMap<EventId, usize>,
    stopped: SortedSet<AgentId>,
    done: Vec<Done>,
    deeds: Deeds,
    /// Of the execution that was asked about last.
    told: RefCell<(Arc<Shown>, Rc<Told>)>,
}

impl<'a> Run<'a> {
    /// With nothing done yet. The case's outcome is that of the executions.
    pub fn new(case: Case<'a>, executions: &'a Executions<'a>) -> Self {
        let course = executions.begin();
        let deeds = Deeds::of(&case, &course.shown().witness);
        let shown = Arc::clone(course.shown());
        let told = Rc::new(Told::of(&case, &shown.witness));
        Self {
            passed: EventSet::empty(case.outcome.graph.events.len()),
            step_of: SortedMap::new(),
            stopped: SortedSet::new(),
            done: Vec::new(),
            told: RefCell::new((shown, told)),
            case,
            executions,
            course,
            deeds,
        }
    }

    fn told(&self, shown: &Arc<Shown>) -> Rc<Told> {
        let mut kept = self.told.borrow_mut();
        if !Arc::ptr_eq(&kept.0, shown) {
            *kept = (Arc::clone(shown), Rc::new(Told::of(&self.case, &shown.witness)));
        }
        Rc::clone(&kept.1)
    }

    /// What it is about.
    pub fn case(&self) -> &Case<'a> {
        &self.case
    }

    /// An execution that goes on as was chosen.
    pub fn shown(&self) -> &Arc<Shown> {
        self.course.shown()
    }

    /// The steps taken, in order.
    pub fn done(&self) -> &[Done] {
        &self.done
    }

    fn graph(&self) -> &'a EventGraph {
        &self.case.outcome.graph
    }

    /// All threads and operations.
    pub fn agents(&self) -> Vec<AgentId> {
        self.graph().hierarchy.threads.ids().collect()
    }

    /// What a thread or operation is at.
    pub fn standing(&self, agent: AgentId) -> Standing {
        let is_open = |&number: &usize| {
            let deed = &self.deeds.all[number];
            deed.agent == agent && !self.passed.contains(deed.events[0])
        };
        match (0..self.deeds.all.len()).find(is_open) {
            Some(number) => match self.waits_for(number) {
                waits if waits.is_empty() => Standing::Can(self.deeds.all[number].clone()),
                waits => Standing::Waits(waits),
            },
            None if self.stopped.contains(&agent) => Standing::Over,
            None if self.shown().stop(self.graph(), agent) == Stop::Ends => Standing::Over,
            None => Standing::Stops,
        }
    }

    fn waits_for(&self, number: usize) -> Vec<AgentId> {
        let open = self.deeds.before[number].iter().map(|&earlier| &self.deeds.all[earlier]);
        let open = open.filter(|deed| !self.passed.contains(deed.events[0]));
        open.map(|deed| deed.agent).collect::<SortedSet<_>>().into_iter().collect()
    }

    /// Who goes on if nothing is chosen: the next in an order in which all of it can happen, then those who stop.
    pub fn next(&self) -> Option<AgentId> {
        let open = self.deeds.order.iter().map(|&number| (number, &self.deeds.all[number]));
        let mut open = open.filter(|(_, deed)| !self.passed.contains(deed.events[0]));
        let can = open.find(|&(number, _)| self.waits_for(number).is_empty());
        can.map(|(_, deed)| deed.agent)
            .or_else(|| self.agents().into_iter().find(|&agent| self.standing(agent) == Standing::Stops))
    }

    /// What the next step of a thread or operation may come to.
    ///
    /// # Errors
    /// A bug of ours.
    pub fn ways(&mut self, agent: AgentId) -> Result<Ways, CheckError> {
        let (case, passed) = (self.case, self.passed.clone());
        let at_hand = Arc::clone(self.course.shown());
        let own = self.told(&at_hand).next(agent, &passed);
        self.course.ways(agent, &|shown| {
            // The first that is asked about is the one at hand.
            if std::ptr::eq(shown, &*at_hand) {
                own.clone()
            } else {
                Told::of(&case, &shown.witness).next(agent, &passed)
            }
        })
    }

    /// Takes a step in one of the ways that it has.
    ///
    /// # Errors
    /// A bug of ours.
    pub fn take(&mut self, agent: AgentId, ways: Ways, taken: usize) -> Result<(), CheckError> {
        let way = ways.ways[taken].clone();
        let is_other = !Arc::ptr_eq(&way.shown, self.course.shown());
        self.course.take(agent, &way)?;
        for &event in &way.events {
            self.passed.insert(event);
            self.step_of.insert(event, self.done.len() + 1);
        }
        if way.events.is_empty() {
            self.stopped.insert(agent);
        }
        if is_other {
            self.deeds = Deeds::of(&self.case, &self.course.shown().witness);
        }
        self.done.push(Done { deed: Deed { agent, events: way.events }, ways, taken });
        Ok(())
    }

    /// Takes the step that comes next; `false` at the end.
    ///
    /// # Errors
    /// A bug of ours.
    pub fn go_on(&mut self) -> Result<bool, CheckError> {
        let Some(agent) = self.next() else { return Ok(false) };
        let ways = self.ways(agent)?;
        self.take(agent, ways, 0)?;
        Ok(true)
    }

    /// Does what is chosen, after the steps before it.
    ///
    /// # Errors
    /// If that cannot be chosen; then the steps before it have been taken.
    pub fn choose(&mut self, choice: &Choice) -> Result<(), NotDone> {
        if let Some(step) = choice.step {
            if step <= self.done.len() {
                let n = self.done.len();
                let text =
                    format!("step {step} is done by then ({n} are): choices come in the order of steps");
                return Err(NotDone::Choice(text));
            }
            while self.done.len() + 1 < step {
                if !self.go_on()? {
                    let n = self.done.len();
                    return Err(NotDone::Choice(format!(
                        "there is no step {step}: the execution ends after {n}"
                    )));
                }
            }
        }
        let step = self.done.len() + 1;
        let agent = match choice.agent {
            Some(number) => self.able(number, step)?,
            None => self.next().ok_or_else(|| {
                NotDone::Choice(format!("there is no step {step}: the execution ends after {}", step - 1))
            })?,
        };
        let ways = self.ways(agent)?;
        let taken = self.picked(agent, &ways, choice.pick, step)?;
        self.take(agent, ways, taken)?;
        Ok(())
    }

    /// A thread or operation that can go on.
    fn able(&self, number: usize, step: usize) -> Result<AgentId, NotDone> {
        let n = self.graph().hierarchy.threads.len();
        if number >= n {
            let last = n.saturating_sub(1);
            return Err(NotDone::Choice(format!(
                "step {step}: there is no thread t{number}, only t0 to t{last}"
            )));
        }
        let agent = AgentId::from_index(number);
        let name = self.name(agent);
        match self.standing(agent) {
            Standing::Can(_) | Standing::Stops => Ok(agent),
            Standing::Waits(others) => {
                let names: Vec<String> = others.into_iter().map(|other| self.name(other)).collect();
                Err(NotDone::Choice(format!("step {step}: {name} waits for {}", names.join(", "))))
            }
            Standing::Over => Err(NotDone::Choice(format!("step {step}: {name} has nothing more to do"))),
        }
    }

    /// `t1 (tid 0 of cta 1)`.
    pub fn name(&self, agent: AgentId) -> String {
        format!("t{} ({})", agent.index(), self.graph().hierarchy.describe(agent))
    }

    fn picked(&self, agent: AgentId, ways: &Ways, pick: Pick, step: usize) -> Result<usize, NotDone> {
        let values: Vec<Option<u128>> =
            ways.ways.iter().map(|way| self.outcome(way).and_then(|outcome| outcome.value)).collect();
        let found = match pick {
            Pick::AtHand => Some(0),
            Pick::Way(number) => (number <= ways.ways.len()).then(|| number - 1),
            Pick::Value(value) => values.iter().position(|&own| own == Some(value)),
        };
        found.ok_or_else(|| {
            let told = self::ways(self, agent, ways);
            let told: Vec<String> =
                told.into_iter().enumerate().map(|(at, text)| format!("#{} {text}", at + 1)).collect();
            let open = if ways.cut.is_some() { "; whether there are others is not known" } else { "" };
            let wanted = match pick {
                Pick::Value(value) if values.iter().all(Option::is_none) => {
                    format!("it reads no value, so it is not {value}")
                }
                Pick::Value(value) => format!("no execution that begins like this reads {value} there"),
                Pick::AtHand | Pick::Way(_) => format!("it has {}", n_ways(ways.ways.len())),
            };
            NotDone::Choice(format!("step {step}, {}: {wanted}: {}{open}", self.name(agent), told.join("; ")))
        })
    }

    /// What a way comes to; `None` where the thread stops.
    pub fn outcome(&self, way: &Way) -> Option<Outcome> {
        self.told(&way.shown).outcome(&self.case, &way.shown.witness, &way.events)
    }

    /// The number of the step in which an event happened.
    pub fn step_of(&self, event: EventId) -> Option<usize> {
        self.step_of.get(&event).copied()
    }

    /// Who stopped on the way, where, and why.
    pub fn standstills(&self) -> Vec<Standstill> {
        let stopped = self.done.iter().filter(|done| done.deed.events.is_empty());
        stopped.filter_map(|done| self.standstill(done.deed.agent, self.shown())).collect()
    }

    /// Where a thread stops in an execution, and why; `None` if at its end.
    pub fn standstill(&self, agent: AgentId, shown: &Shown) -> Option<Standstill> {
        let graph = self.graph();
        let (span, what): (Span, String) = match shown.stop(graph, agent) {
            Stop::Ends => return None,
            Stop::Waits(number) => {
                let blocked = &graph.blocked[number];
                (blocked.span, waits(graph, &blocked.wait))
            }
            Stop::Bound(number) => {
                let n = self.case.outcome.unroll;
                (graph.cuts[number].span, format!("goes round more than {n} times: --unroll {}", n * 2))
            }
            Stop::Breaks(number) => (
                graph.obligations[number].span,
                "breaks a rule: nothing is said of what comes after".to_owned(),
            ),
            Stop::Somewhere => (self.case.kernel.span, "is not followed any further".to_owned()),
        };
        Some(Standstill { agent, span, what })
    }

    /// The same with the last step not taken.
    ///
    /// # Errors
    /// A bug of ours.
    pub fn without_last(&self) -> Result<Self, CheckError> {
        let mut again = Self::new(self.case, self.executions);
        for done in &self.done[..self.done.len().saturating_sub(1)] {
            let ways = again.ways(done.deed.agent)?;
            again.take(done.deed.agent, ways, done.taken)?;
        }
        Ok(again)
    }
}

/// What a thread waits for, for ever.
fn waits(graph: &EventGraph, wait: &Wait) -> String {
    match wait {
        Wait::Memory(_) => "waits for ever for another value".to_owned(),
        Wait::Phase { object, .. } => {
            format!("waits for ever for a phase of {}", graph.mbarriers[*object].name)
        }
        Wait::Grids { names, is_start: true, .. } => {
            format!("has not started: {} must end before", names.join(", "))
        }
        Wait::Grids { names, .. } => format!("waits for ever for {} to end", names.join(", ")),
        Wait::Barrier { name, .. } => format!("waits for ever at {name}"),
        Wait::Registers { .. } => "waits for ever for registers".to_owned(),
    }
}

fn n_ways(n: usize) -> String {
    if n == 1 { "1 way".to_owned() } else { format!("{n} ways") }
}

/// What comes of a step, and where what it reads is from.
pub fn way(run: &Run<'_>, agent: AgentId, way: &Way) -> String {
    match run.outcome(way) {
        Some(outcome) => told(run, way, &outcome),
        None => run.standstill(agent, &way.shown).map_or_else(|| "ends".to_owned(), |stop| stop.what),
    }
}

/// The ways of a step, in order.
pub fn ways(run: &Run<'_>, agent: AgentId, ways: &Ways) -> Vec<String> {
    let is_one_place = {
        let places = ways.ways.iter().map(|way| way.events.first().map(|&event| run.site(event)));
        let mut places: Vec<_> = places.collect();
        places.dedup();
        places.len() == 1
    };
    let with_place = |one: &Way| {
        let text = way(run, agent, one);
        match one.events.first() {
            Some(&event) if !is_one_place => format!("{}: {text}", run.line_of(event, one)),
            _ => text,
        }
    };
    ways.ways.iter().map(with_place).collect()
}

fn told(run: &Run<'_>, way: &Way, outcome: &Outcome) -> String {
    let words = Words { case: run.case(), witness: &way.shown.witness };
    let from: Vec<String> = outcome.sources.iter().map(|&source| from(run, &words, source)).collect();
    let what = if outcome.what.is_empty() { "done" } else { &outcome.what };
    let fails = if outcome.is_try { ", a try that fails" } else { "" };
    if from.is_empty() { format!("{what}{fails}") } else { format!("{what} {}{fails}", from.join(" and ")) }
}

/// Where a value is from.
fn from(run: &Run<'_>, words: &Words<'_>, source: EventId) -> String {
    let event = &run.case().outcome.graph.events[source];
    match (run.step_of(source), event.agent) {
        (Some(step), _) => format!("from step {step}"),
        (None, None) => "(initial value)".to_owned(),
        (None, Some(agent)) => {
            format!("from {} of t{}, which is still to come", words.quoted(source), agent.index())
        }
    }
}

impl Run<'_> {
    fn site(&self, event: EventId) -> (Option<crate::event::SiteId>, bool) {
        let event = &self.case().outcome.graph.events[event];
        (event.site, matches!(event.kind, EventKind::Read(_)))
    }

    pub(super) fn line_of(&self, event: EventId, way: &Way) -> String {
        let words = Words { case: self.case(), witness: &way.shown.witness };
        let line = words.span(event).map_or_else(String::new, |span| format!("{}, ", words.line(span)));
        format!("{line}`{}`", words.instruction(event))
    }
}
