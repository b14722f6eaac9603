//! The pass list: a program and a model in, verdicts out.
//!
//! Two questions per launch, as every bounded checker must ask them: can some execution within the bound break a
//! property, and, if none can, does some execution want to run past the bound? A third guards against proofs about
//! nothing: does some execution complete, and reach what should be reachable?

pub mod apart;
mod cells;
mod certain;
mod config;
mod decision;
pub mod executions;
#[cfg(test)]
mod followed;
mod impossible;
mod leaders;
mod lemmas;
mod phases;
mod prepare;
pub mod replay;
mod residency;
mod rest;
mod rounds;
mod settle;
mod simplest;
mod slices;
pub mod split;
mod tries;
mod unreached;
mod unrolled;
mod within;

pub use config::{BUDGET, Config, FINDINGS_MAX, Limits, UNROLL, UNROLL_MAX, properties_of, usual_properties};
pub use prepare::{Artefacts, Unprepared, artefacts};

use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{EncodeError, Encoding, Problem, Treatment, encode};
use crate::event::{EventGraph, EventId, ObligationKind};
use crate::evidence::{Record, Role, Shown};
use crate::facts::needs::{self, Need};
use crate::facts::{self, Facts};
use crate::findings;
use crate::solve::{Answer, Assignment, Effort, Unfollowed, solve};
use crate::unroll::UnrollError;
use crate::verdict::{Finding, Limit, Outcome, Property, Statistics};
use crate::witness::Execution;
use crate::witness::decode::decode;
use crate::witness::recheck::recheck;
use crate::work::Allowance;
use decision::Decision;
use fencepost_dsl::cat::memory_model::{MemoryModel, TermId};
use fencepost_dsl::kernel::program::{FinalKind, Kernel, Launch, Program};
use fencepost_dsl::{Diagnostic, FileId, Span};
use prepare::{prepare, roots};
use settle::{Settled, properties_closed_by_bounds};
use slices::Sliced;
use std::sync::Arc;
use unrolled::{Ungraphed, Unrolled, unrolled};
use within::Within;

/// Why there is no outcome.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckError {
    /// The program uses something this version does not check.
    #[error("{}", .0.message)]
    Unsupported(Box<Diagnostic>),
    /// Two of our own evaluations disagree, or what the solver derived does not lead to its answer. A bug of Fencepost; there is
    /// no verdict.
    #[error("internal error in {pass}: {message}")]
    SelfCheck {
        /// The pass that noticed.
        pass: &'static str,
        /// What disagreed.
        message: String,
    },
}

/// An answer that cannot be followed is nobody's verdict; where it is another solver's, that is to be told, and no bug of ours.
fn not_followed(unfollowed: Unfollowed) -> CheckError {
    if let Unfollowed::Outside(fault) = unfollowed {
        let nowhere = Span::new(FileId(0), 0, 0);
        let diagnostic =
            Diagnostic::new(fault.code(), fault.to_string(), nowhere, "asked about a launch of this file")
                .with_help(
                    "look at what the command does by itself with a file of `fencepost emit cnf --goal`",
                );
        return CheckError::Unsupported(Box::new(diagnostic));
    }
    CheckError::SelfCheck { pass: "solve", message: unfollowed.to_string() }
}

/// Checks one kernel for one launch. Values of its parameters that are to be checked one by one are checked one after the
/// other; who has several cores does as this does with them.
///
/// # Errors
/// See [`CheckError`]. Limits are no errors but outcomes.
pub fn check(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    model: &MemoryModel,
    config: &Config,
) -> Result<Outcome, CheckError> {
    let Some(parts) = split::parts(program, kernel, launch, config) else {
        return check_whole(program, kernel, launch, model, config);
    };
    let check = |part: &split::Part| check_part(program, part, launch, model, config);
    let outcomes: Result<Vec<Outcome>, CheckError> = parts.iter().map(check).collect();
    Ok(split::join(&parts, outcomes?, config))
}

/// Checks one of the values that a launch is split into.
///
/// # Errors
/// As [`check`].
pub fn check_part(
    program: &Program,
    part: &split::Part,
    launch: &Launch,
    model: &MemoryModel,
    config: &Config,
) -> Result<Outcome, CheckError> {
    let config = Config { budget: part.budget, ..config.clone() };
    check_whole(program, &part.kernel, launch, model, &config)
}

fn check_whole(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    model: &MemoryModel,
    config: &Config,
) -> Result<Outcome, CheckError> {
    let allowance = config.allowance();
    let cases = leaders::cases((program, kernel, launch), model, config, &allowance);
    if let [only] = cases.as_slice() {
        let config = Config { leaders: only.clone(), ..config.clone() };
        return check_case(program, kernel, launch, model, &config, &allowance);
    }
    let share = config.budget / u64::try_from(cases.len()).unwrap_or(u64::MAX).min(split::LEAST_SHARE);
    let mut outcomes = Vec::with_capacity(cases.len());
    for leaders in cases {
        let budget = if config.budget == u64::MAX { u64::MAX } else { share };
        let config = Config { leaders, budget, ..config.clone() };
        outcomes.push(check_case(program, kernel, launch, model, &config, &config.allowance())?);
    }
    let mut outcome = split::join_leaders(outcomes, config);
    outcome.statistics.steps += allowance.used();
    Ok(outcome)
}

/// Checks the executions with some leaders.
fn check_case(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
) -> Result<Outcome, CheckError> {
    let mut facts = Facts::of(model, launch, config.treatment);
    let mut outcome = check_within(program, kernel, launch, model, config, allowance, &mut facts)?;
    outcome.statistics.steps = allowance.used();
    outcome.statistics.off = facts.into_off();
    Ok(outcome)
}

/// A launch with loops of which the bound to start with makes so many events is asked about with a smaller one before: what
/// goes wrong is mostly seen there, and the formula of the larger one may be too large.
const SMALL_FIRST: usize = 4_000;

fn check_within(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
    facts: &mut Facts,
) -> Result<Outcome, CheckError> {
    let mut n_iterations = config.unroll.max(1);
    // What a smaller bound gave, for the case that a larger one hits a limit.
    let mut earlier: Option<(Decision, u32)> = None;
    // What the bound to start with came to, where a limit stopped it: a smaller one may do, as where loops that only wait
    // are nested.
    let mut lowered: Option<(Decision, u32)> = None;
    let mut is_first = true;
    let mut within = Within::default();
    loop {
        let mut statistics = Statistics::default();
        let of = (program, kernel, launch);
        let few = phases::few(config);
        let mut unrolled = unrolled(of, model, &few, n_iterations, allowance, facts);
        if let Some(limit) = phases::too_many(&unrolled) {
            if let Some(found) = phases::found_in_turns(of, model, config, n_iterations, allowance) {
                let decision = Decision { limit: Some(limit), ..found.into_decision(statistics) };
                return Ok(decision.into_outcome(launch, model, config, n_iterations));
            }
            if phases::may_be_stated(&limit, config) {
                unrolled = unrolled::unrolled(of, model, config, n_iterations, allowance, facts);
            }
        }
        let config = &facts.allowed(config);
        let is_large = |graph: &EventGraph| graph.events.len() >= SMALL_FIRST && !graph.cuts.is_empty();
        if std::mem::take(&mut is_first)
            && n_iterations > 1
            && unrolled.as_ref().is_ok_and(|unrolled| is_large(&unrolled.graph))
        {
            n_iterations /= 2;
            continue;
        }
        let mut decision = match unrolled {
            Ok(Unrolled { graph, microseconds, n_merged }) => {
                statistics.microseconds.push(("unroll", microseconds));
                match lowered {
                    Some((decision, bound)) if decision.graph.events.len() == graph.events.len() => {
                        return Ok(decision.into_outcome(launch, model, config, bound));
                    }
                    _ => match Decider::new(graph, model, config, allowance.clone(), statistics, facts)
                        .decide(within.is_known(n_iterations))?
                    {
                        Decided::Yes(mut decision) => {
                            if let Some(record) = &mut decision.record {
                                record.note(&facts::ALIKE_CELLS, n_merged, "accesses for which others stand");
                            }
                            *decision
                        }
                        Decided::Within(mut decision) => {
                            unreached::add(&mut decision, program, kernel, config);
                            let bound_max = if lowered.is_some() { n_iterations } else { config.unroll_max };
                            let said = (*decision, n_iterations);
                            n_iterations = within.next(said, bound_max, allowance);
                            continue;
                        }
                        Decided::Again => continue,
                    },
                }
            }
            Err(Ungraphed::Unknown(diagnostic)) => return Err(CheckError::Unsupported(diagnostic)),
            Err(Ungraphed::Unroll(UnrollError::Unsupported(diagnostic))) => {
                return Err(CheckError::Unsupported(Box::new(diagnostic)));
            }
            Err(Ungraphed::Unroll(error)) => {
                let limit = match error {
                    UnrollError::TooLarge { limit: "events", .. } => slices::too_many_events(config),
                    UnrollError::TooLarge { limit, value, .. } => Limit::Unroll { what: limit, limit: value },
                    _ => config.used_up(allowance),
                };
                Decision::stopped(kernel, launch, limit)
            }
        };
        unreached::add(&mut decision, program, kernel, config);
        let is_stopped = decision.limit.is_some() && !decision.has_found();
        if let Some(bound) = within.after_stop().filter(|_| is_stopped) {
            n_iterations = bound;
            continue;
        }
        if is_stopped && let Some((last, bound)) = within.instead_of(&decision, n_iterations) {
            let raise_limit = lowered.and_then(|(larger, _)| larger.limit).or(decision.limit);
            return Ok(Decision { raise_limit, ..last }.into_outcome(launch, model, config, bound));
        }
        if is_stopped && earlier.is_none() && n_iterations > 1 && allowance.used_up().is_none() {
            lowered = Some((decision, n_iterations));
            n_iterations /= 2;
            continue;
        }
        if let Some((before, bound)) = lowered.take_if(|(before, _)| {
            !decision.has_found()
                && before.closed.len() > decision.closed.len()
                && (decision.limit.is_some() || !decision.open_loops.is_empty())
        }) {
            // The smaller bound leaves more open.
            return Ok(before.into_outcome(launch, model, config, bound));
        }
        if let Some((Decision { limit, .. }, _)) = &lowered
            && !decision.open_loops.is_empty()
            && decision.limit.is_none()
        {
            if !decision.has_found() && !decision.vacuity.is_empty() {
                // With more rounds something may complete, or get there.
                decision.vacuity.clear();
                decision.limit.clone_from(limit);
            } else {
                decision.raise_limit.clone_from(limit);
            }
        }
        let raise = decision.findings.is_empty()
            && !decision.is_settled(config)
            && decision.limit.is_none()
            && !decision.open_loops.is_empty()
            && lowered.is_none()
            && n_iterations < config.unroll_max;
        if !raise {
            let (decision, n_iterations) = match earlier {
                Some((earlier, bound)) if is_stopped => {
                    (Decision { raise_limit: decision.limit, ..earlier }, bound)
                }
                _ => (decision, n_iterations),
            };
            let (decision, n_iterations) =
                within.instead_of(&decision, n_iterations).unwrap_or((decision, n_iterations));
            return Ok(decision.into_outcome(launch, model, config, n_iterations));
        }
        earlier = Some((decision, n_iterations));
        n_iterations = (n_iterations * 2).min(config.unroll_max);
    }
}

/// The outcome of a run that a limit stopped before there was a graph.
pub fn stopped(
    kernel: &Kernel,
    launch: &Launch,
    limit: Limit,
    model: &MemoryModel,
    config: &Config,
    n_iterations: u32,
) -> Outcome {
    Decision::stopped(kernel, launch, limit).into_outcome(launch, model, config, n_iterations)
}

/// What came of a graph.
enum Decided {
    /// An answer.
    Yes(Box<Decision>),
    /// What slices say within the bound: nothing goes wrong, but loops run past it, though fewer may do so in the whole.
    Within(Box<Decision>),
    /// None, since something has been withdrawn that the graph rests on.
    Again,
}

/// Decides one graph.
struct Decider<'a> {
    model: &'a MemoryModel,
    config: &'a Config,
    allowance: Allowance,
    facts: &'a mut Facts,
    decision: Decision,
    effort: Effort,
    /// Goals of which the solver has said that no execution reaches them.
    refuted: Vec<Literal>,
}

/// What makes two violations the same finding for a reader.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum FindingKey {
    Flag(usize, Option<Span>, Option<Span>),
    Obligation(Span),
    Final(usize),
    Deadlock,
    Completion,
}

impl<'a> Decider<'a> {
    fn new(
        graph: EventGraph,
        model: &'a MemoryModel,
        config: &'a Config,
        allowance: Allowance,
        statistics: Statistics,
        facts: &'a mut Facts,
    ) -> Self {
        let decision = Decision::new(graph, statistics);
        Self { model, config, allowance, facts, decision, effort: config.effort(), refuted: Vec::new() }
    }

    /// What is asked from now on is asked for this, if it is kept.
    fn begin(&mut self, role: Role) {
        if let Some(record) = self.effort.record() {
            record.begin(role);
        }
    }

    /// Keeps an execution, if they are kept.
    fn show(&mut self, shown: Shown, execution: &Execution) {
        if let Some(record) = self.effort.record() {
            record.shown.push((shown, execution.clone()));
        }
    }

    /// What was kept, for the outcome.
    fn kept(&mut self) -> Option<Record> {
        let mut record = self.effort.take_record()?;
        record.note_graph(&self.decision.graph, self.config.treatment);
        Some(record)
    }

    /// Decides it; what slices say is known already, or is not.
    fn decide(mut self, is_known: bool) -> Result<Decided, CheckError> {
        let listener = Arc::clone(&self.config.listener);
        listener.begins("slices");
        let empty = EventGraph::empty(self.decision.graph.hierarchy.launch());
        let graph = std::mem::replace(&mut self.decision.graph, empty);
        let sliced = if is_known {
            Sliced::Whole
        } else {
            slices::look_at(&graph, self.model, self.config, &self.allowance, self.facts)?
        };
        let slices_us = listener.ends("slices");
        if !matches!(sliced, Sliced::Whole) {
            self.decision.statistics.microseconds.push(("slices", slices_us));
        }
        match sliced {
            Sliced::Decided(found, statistics) => {
                let microseconds = std::mem::take(&mut self.decision.statistics.microseconds);
                let statistics = Statistics { microseconds, ..statistics };
                let decision = Box::new(found.into_decision(statistics));
                let runs_on = decision.findings.is_empty() && !decision.open_loops.is_empty();
                Ok(if runs_on { Decided::Within(decision) } else { Decided::Yes(decision) })
            }
            Sliced::Open(open) => {
                self.decision.closed = open.closed;
                match open.found {
                    Some(found) => self.decide_rest(graph, *found),
                    None => self.decide_whole_or_run(graph),
                }
            }
            Sliced::Whole => self.decide_whole_or_run(graph),
        }
    }

    /// Decides a graph without slices; where a limit stops that, lets all threads run in turns, which may show something.
    fn decide_whole_or_run(self, graph: EventGraph) -> Result<Decided, CheckError> {
        let (model, config, allowance) = (self.model, self.config, self.allowance.clone());
        // One that is too large is not looked at, and gone.
        let too_large = slices::is_too_large(&graph, config).then(|| graph.clone());
        let decided = self.decide_whole(graph)?;
        let Decided::Yes(decision) = decided else { return Ok(decided) };
        let is_open = decision.limit.is_some() && !decision.has_found();
        let Treatment { completing, interleave, .. } = config.treatment;
        if !is_open || !completing || !interleave || allowance.is_given_up() {
            return Ok(Decided::Yes(decision));
        }
        Ok(Decided::Yes(
            match slices::in_turns(too_large.as_ref().unwrap_or(&decision.graph), model, config) {
                Some(found) => {
                    let limit = decision.limit;
                    Box::new(Decision { limit, ..found.into_decision(decision.statistics) })
                }
                None => decision,
            },
        ))
    }

    /// Where slices have found something and left something open: looks at the whole for about as long as they took.
    fn decide_rest(mut self, graph: EventGraph, found: slices::Found) -> Result<Decided, CheckError> {
        let statistics = self.decision.statistics.clone();
        let (config, all) = (self.config, self.allowance.clone());
        let slices::Rest { allowance, steps } = found.rest.clone();
        let spent = move || match all.used_up() {
            Some(_) => config.used_up(&all),
            None => Limit::Rest { limit: steps },
        };
        // Who asks only whether anything goes wrong knows.
        let limit = if config.limits.asks_only_whether() || allowance.used_up().is_some() {
            spent()
        } else {
            self.allowance = allowance;
            match self.decide_whole(graph)? {
                Decided::Yes(whole) if !whole.has_found() && whole.limit.is_some() => match whole.limit {
                    Some(Limit::Budget { .. }) | None => spent(),
                    Some(limit) => limit,
                },
                decided => return Ok(decided),
            }
        };
        let decision = Decision { limit: Some(limit), ..found.into_decision(statistics) };
        Ok(Decided::Yes(Box::new(decision)))
    }

    /// Decides a graph without slices.
    fn decide_whole(mut self, graph: EventGraph) -> Result<Decided, CheckError> {
        let listener = Arc::clone(&self.config.listener);
        let allowance = self.allowance.clone();
        let stop = || allowance.used_up().is_some();
        if slices::is_too_large(&graph, self.config) {
            // Slices had all there was.
            self.decision.limit = Some(match allowance.used_up() {
                Some(_) => self.config.used_up(&allowance),
                None => slices::too_many_events(self.config),
            });
            return Ok(Decided::Yes(Box::new(self.decision)));
        }
        listener.begins("bound");
        let roots = roots(self.model, &graph);
        let (graph, prepared) = prepare(graph, self.model, &roots, self.config, &allowance);
        let bound_us = listener.ends("bound");
        let (cells, table, effort) = match prepared {
            Ok(prepared) => prepared,
            Err(Unprepared::Unfollowed(unfollowed)) => return Err(not_followed(unfollowed)),
            Err(Unprepared::Limit(limit)) => {
                self.decision.graph = graph;
                self.decision.limit = Some(limit);
                return Ok(Decided::Yes(Box::new(self.decision)));
            }
        };
        if !self.facts.is_off(&facts::WRITING_WAITS)
            && let Some(write) = needs::raced_word(&graph, self.model, &table)
        {
            let site = graph.events[write].site.map(|site| &graph.sites[site]);
            let text = site.map(|site| format!("{} {}", site.text, site.operand)).unwrap_or_default();
            let because = format!("others may race for the word of `{text}`");
            self.facts.withdraw(&facts::WRITING_WAITS, Need::NoRace, &because);
            return Ok(Decided::Again);
        }
        if let Some(because) = table.basis.uncounted() {
            self.facts.withdraw(&facts::COUNTING, Need::TotalCoherence, &because);
        }
        if let Some(because) = table.basis.unsettled() {
            self.facts.withdraw(&facts::RESETS, Need::TotalCoherence, &because);
        }
        self.effort = effort;
        self.decision.statistics.microseconds.push(("bound", bound_us));
        let problem = Problem { graph: &graph, cells: &cells, model: self.model, table: &table };
        if !self.config.record {
            self.decision.closed.extend(properties_closed_by_bounds(problem, self.config.treatment));
        }
        if self.is_closed(problem) {
            self.decision.statistics.events = graph.events.len();
            self.decision.graph = graph;
            return Ok(Decided::Yes(Box::new(self.decision)));
        }
        // After encoding: no events, only literals and the maps that lead back.
        listener.begins("encode");
        let encoded = encode(problem, self.config.treatment, self.config.limits.clauses_max, &stop);
        self.decision.statistics.microseconds.push(("encode", listener.ends("encode")));
        self.decision.statistics.events = graph.events.len();
        match encoded {
            Ok(encoding) => {
                listener.begins("solve");
                if let Some(record) = self.effort.record() {
                    record.state(problem, &encoding);
                }
                self.ask(problem, &encoding)?;
                self.decision.statistics.followed = self.config.follow.then_some(self.effort.followed);
                self.decision.statistics.microseconds.push(("solve", listener.ends("solve")));
                self.decision.statistics.variables = encoding.formula.n_variables();
                self.decision.statistics.clauses = encoding.formula.n_clauses();
                self.decision.statistics.conflicts = self.effort.learnt;
                self.decision.statistics.solver_calls = self.effort.calls;
            }
            Err(EncodeError::TooManyClauses { limit }) => {
                self.decision.limit = Some(Limit::Clauses { limit: limit as u64 });
            }
            Err(EncodeError::Stopped) => self.decision.limit = Some(self.config.used_up(&allowance)),
            Err(EncodeError::RecursionTooLarge { term }) => {
                self.decision.limit = Some(recursion_limit(self.model, term));
            }
        }
        self.decision.graph = graph;
        self.decision.record = self.kept();
        Ok(Decided::Yes(Box::new(self.decision)))
    }

    /// Whether nothing is left to be asked once bounds are there, and an execution in turns shows what has to be possible. Somebody
    /// who wants to see formulas gets one all the same.
    fn is_closed(&self, problem: Problem<'_>) -> bool {
        let Config { record, treatment, ref properties, .. } = *self.config;
        let closed = &self.decision.closed;
        // Of a litmus test's condition bounds say nothing, so none is closed then.
        let mut claims =
            properties.iter().filter(|own| !matches!(own, Property::Reachable | Property::Condition));
        let is_shown = || {
            !asks_for_the_end(self.config, problem.graph)
                || Settled::unstated(problem, treatment).reaches_all(problem.graph)
        };
        !record
            && treatment.interleave
            && !closed.is_empty()
            && claims.all(|own| closed.contains(own))
            && is_shown()
    }

    fn ask(&mut self, problem: Problem<'_>, encoding: &Encoding) -> Result<(), CheckError> {
        let open: Vec<&Goal> = encoding
            .goals
            .iter()
            .filter(|goal| self.config.properties.contains(&property_of(problem, &goal.kind)))
            .collect();
        self.decision.statistics.open_goals = open.len();
        self.begin(Role::Goals);
        // A hang with every cluster running is no matter of which have started.
        let (residency, open) = open.into_iter().partition(|goal| goal.kind == GoalKind::NotResident);
        self.ask_goals(problem, encoding, open)?;
        let hangs = self.decision.findings.iter().any(|finding| finding.property == Property::Deadlock);
        if !hangs && self.decision.limit.is_none() {
            self.ask_goals(problem, encoding, residency)?;
        }
        self.decision
            .findings
            .sort_by_key(|finding| !finding.witness.refinements.iter().any(|flag| flag.comes_first));
        self.ask_rest(problem, encoding)?;
        self.ask_unasked(problem, encoding)
    }

    /// Which of the goals some execution reaches.
    fn ask_goals(
        &mut self,
        problem: Problem<'_>,
        encoding: &Encoding,
        mut open: Vec<&Goal>,
    ) -> Result<(), CheckError> {
        // One query whose goal is the disjunction of everything open; each finding takes its kind out.
        while !open.is_empty() {
            if self.decision.findings.len() >= self.config.limits.findings_max {
                // The list is full: only properties without any violation are still worth asking about.
                let is_known = |goal: &&Goal| {
                    let property = property_of(problem, &goal.kind);
                    self.decision.findings.iter().any(|finding| finding.property == property)
                };
                let n_before = open.len();
                open.retain(|goal| !is_known(goal));
                self.decision.more_findings |= open.len() < n_before;
                if open.is_empty() {
                    break;
                }
            }
            let Some(assignment) = self.reach_any(problem, encoding, &open)? else { break };
            let Some(found) = open.iter().find(|goal| assignment.is_true(goal.literal)) else {
                let message = "the solver's assignment satisfies no goal".into();
                return Err(CheckError::SelfCheck { pass: "solve", message });
            };
            let key = finding_key(problem.graph, &found.kind);
            let (same, others): (Vec<&Goal>, Vec<&Goal>) =
                open.into_iter().partition(|goal| finding_key(problem.graph, &goal.kind) == key);
            let assignment = self.simplest(problem, encoding, assignment, &same);
            let Some(found) = same.iter().find(|goal| assignment.is_true(goal.literal)) else {
                let message = "the solver's assignment satisfies no goal of its kind".into();
                return Err(CheckError::SelfCheck { pass: "solve", message });
            };
            let finding = self.finding(problem, encoding, &assignment, found.kind.clone())?;
            self.decision.findings.push(finding);
            open = others;
        }
        Ok(())
    }

    fn finding(
        &mut self,
        problem: Problem<'_>,
        encoding: &Encoding,
        assignment: &Assignment,
        kind: GoalKind,
    ) -> Result<Finding, CheckError> {
        let property = property_of(problem, &kind);
        let execution = decode(problem, encoding, assignment);
        let witness = recheck(problem.graph, problem.cells, problem.model, execution, kind)
            .map_err(|error| CheckError::SelfCheck { pass: "recheck", message: error.to_string() })?;
        Ok(Finding { property, witness: Box::new(witness) })
    }

    /// An assignment of the formula and the extra clauses, if there is one; records a stop.
    fn solve(
        &mut self,
        encoding: &Encoding,
        extra: &[Vec<Literal>],
    ) -> Result<Option<Assignment>, CheckError> {
        Ok(self.solve_within(encoding, extra, &self.allowance.clone())?.flatten())
    }

    /// The same within a part of the allowance: `None` if it was not enough. Records a stop only where nothing is left.
    fn solve_within(
        &mut self,
        encoding: &Encoding,
        extra: &[Vec<Literal>],
        allowance: &Allowance,
    ) -> Result<Option<Option<Assignment>>, CheckError> {
        let answer = solve(&encoding.formula, extra, allowance, &mut self.effort).map_err(not_followed)?;
        Ok(match answer {
            Answer::Satisfiable(assignment) => Some(Some(assignment)),
            Answer::Unsatisfiable => Some(None),
            Answer::Stopped => {
                if self.allowance.used_up().is_some() {
                    self.decision.limit = Some(self.config.used_up(&self.allowance));
                }
                None
            }
        })
    }
}

/// The limit that a `let rec` relation of a model is, by its name.
fn recursion_limit(model: &MemoryModel, term: TermId) -> Limit {
    let name = model.definitions.iter().find(|&&(_, own)| own == term).map(|(name, _)| name.clone());
    Limit::Recursion { relation: name.unwrap_or_else(|| "let rec".to_owned()) }
}

fn property_of(problem: Problem<'_>, kind: &GoalKind) -> Property {
    property_in(problem.graph, problem.model, kind)
}

fn property_in(graph: &EventGraph, model: &MemoryModel, kind: &GoalKind) -> Property {
    match kind {
        GoalKind::Flag { flag, .. } => findings::flag(&model.flags[*flag].name).property(),
        GoalKind::Obligation(index) => match graph.obligations[*index].kind {
            ObligationKind::Assertion => Property::Assert,
            ObligationKind::Bounds { .. } => Property::Bounds,
            ObligationKind::Discipline(ref misuse) => misuse.kind.kind.property.unwrap_or(Property::Barrier),
        },
        GoalKind::Final(_) => Property::Assert,
        GoalKind::Deadlock | GoalKind::NotResident => Property::Deadlock,
        GoalKind::Condition => Property::Condition,
        GoalKind::Completion => Property::Reachable,
    }
}

/// Whether assertions are asked for that are about executions that complete, and nobody asks whether any does.
fn claims_of_the_end(config: &Config, graph: &EventGraph) -> bool {
    let asks = |property| config.properties.contains(&property);
    let is_claimed = graph.finals.iter().any(|goal| goal.kind == FinalKind::Assert);
    is_claimed && asks(Property::Assert) && !asks(Property::Reachable)
}

/// Whether some execution has to be known that runs to its end: somebody asks for one, or what is claimed is about it.
fn asks_for_the_end(config: &Config, graph: &EventGraph) -> bool {
    config.properties.contains(&Property::Reachable)
        || claims_of_the_end(config, graph)
        || assumes_unasked(config, graph)
}

/// Whether an `assume` may leave everything out, and nobody asks whether anything ends.
fn assumes_unasked(config: &Config, graph: &EventGraph) -> bool {
    graph.assumes && !config.properties.contains(&Property::Reachable)
}

/// Whether it is about a rule behind which nothing is promised, and of a property that was not asked for: what
/// [`Finding::ends_thread`] says of findings.
fn is_unasked(config: &Config, problem: Problem<'_>, goal: &Goal) -> bool {
    let property = property_of(problem, &goal.kind);
    let ends_thread = match goal.kind {
        GoalKind::Obligation(index) => problem.graph.obligations[index].kind != ObligationKind::Assertion,
        GoalKind::Flag { .. } => matches!(property, Property::Barrier | Property::Bounds),
        _ => false,
    };
    ends_thread && !config.properties.contains(&property)
}

fn finding_key(graph: &EventGraph, kind: &GoalKind) -> FindingKey {
    let place = |event: EventId| graph.events[event].site.map(|site| graph.sites[site].span);
    match kind {
        GoalKind::Flag { flag, pair: (a, b) } => {
            let (a, b) = (place(*a), place(*b));
            FindingKey::Flag(*flag, a.min(b), a.max(b))
        }
        GoalKind::Obligation(index) => FindingKey::Obligation(graph.obligations[*index].span),
        GoalKind::Final(index) => FindingKey::Final(*index),
        GoalKind::Deadlock | GoalKind::NotResident => FindingKey::Deadlock,
        GoalKind::Condition | GoalKind::Completion => FindingKey::Completion,
    }
}
