//! Executions of a launch, one at a time: what has been seen of one so far, and how it may go on.
//!
//! A launch is stated as for a check, with everything off that leaves executions out. What a thread has done is required of
//! all that is asked afterwards, and what it may do next is what it does in some execution that is left: each is found by the
//! solver, decoded, and evaluated by the independent [re-check](crate::witness::recheck); that there is no other is the
//! solver's *unsatisfiable*.
//!
//! Executions are looked at to their end: all threads end, or wait for ever, or one comes to the loop bound or breaks a rule.
//! Prefixes are shown only where there is nothing else.
//!
//! Cannot: tell the rounds of a wait apart that change nothing; of those that may race one is an event, the others are not.

use super::unrolled::{Ungraphed, Unrolled, unrolled};
use super::{CheckError, Config, Unprepared, not_followed, recursion_limit, stopped};
use crate::bits::EventSet;
use crate::cnf::Literal;
use crate::encode::goal::{GoalKind, is_asked};
use crate::encode::{EncodeError, Encoding, Problem, Treatment, encode};
use crate::event::cell::Cells;
use crate::event::{
    AgentId, EventGraph, EventId, ObligationKind, TermKind, TermPool, TermRef, Turn, UnknownId,
};
use crate::facts::needs::{self, Need};
use crate::facts::{self, Facts};
use crate::relation::RelationTable;
use crate::relation::execution::ExactBasis;
use crate::solve::{Answer, Branches};
use crate::unroll::UnrollError;
use crate::verdict::{Limit, Outcome};
use crate::witness::decode::decode;
use crate::witness::interleaving::interleave;
use crate::witness::recheck::{Allowed, Asked};
use crate::witness::{Execution, Witness};
use crate::work::{self, Allowance, Work};
use fencepost_dsl::cat::memory_model::{MemoryModel, TermId};
use fencepost_dsl::kernel::program::{FinalKind, Kernel, Launch, Program};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Ways of a step that are looked for at most.
pub const WAYS_MAX: usize = 16;

/// Why there is no execution to show.
#[derive(Clone, Debug)]
pub enum NoExecution {
    /// A limit.
    Limit(Limit),
    /// No execution satisfies what the program assumes, not even one that stops halfway.
    Excluded,
    /// Something is not checked, or a bug of ours.
    Error(CheckError),
}

impl From<CheckError> for NoExecution {
    fn from(error: CheckError) -> Self {
        Self::Error(error)
    }
}

/// How an execution ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All threads do.
    Complete,
    /// Those that have not ended wait for ever.
    Hangs,
    /// A thread goes round a loop once more than the bound.
    Bound,
    /// A thread has broken a rule, and is not followed any further.
    Broken,
    /// None of that: it is the beginning of one.
    Open,
}

/// An execution that was evaluated.
#[derive(Clone, Debug)]
pub struct Shown {
    /// It. What it claims is that it ends as is said here; where that is no claim, nothing is.
    pub witness: Witness,
    /// How it ends.
    pub end: End,
    /// What goes wrong in it.
    pub wrong: Vec<GoalKind>,
}

/// How a thread stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// At its end.
    Ends,
    /// It waits there for ever: the place is one of [`EventGraph::blocked`].
    Waits(usize),
    /// At a loop bound: one of [`EventGraph::cuts`].
    Bound(usize),
    /// At a rule that it breaks: one of [`EventGraph::obligations`].
    Breaks(usize),
    /// Somewhere where it might go on.
    Somewhere,
}

/// What a thread may do next.
#[derive(Clone, Debug)]
pub struct Way {
    /// The events of its next step; none where it stops.
    pub events: Vec<EventId>,
    /// An execution in which it does. Of other executions than the one at hand, relations are left out.
    pub shown: Arc<Shown>,
}

/// What a thread may do next, and whether that is all.
#[derive(Clone, Debug)]
pub struct Ways {
    /// The first is that of the execution that was at hand; the others by what they read.
    pub ways: Vec<Way>,
    /// What kept others from being looked for.
    pub cut: Option<Cut>,
}

/// Why it is not known whether there are other ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cut {
    /// There are many.
    Many,
    /// A limit.
    Limit(Limit),
}

/// A launch, stated.
struct Stated<'a> {
    outcome: Outcome,
    model: &'a MemoryModel,
    config: Config,
    cells: Cells,
    table: RelationTable,
    encoding: Encoding,
    allowance: Allowance,
    /// Terms of the flags that are looked for.
    flags: Vec<TermId>,
}

/// All executions of a launch, up to a loop bound.
pub struct Executions<'a> {
    stated: Stated<'a>,
    /// The one to begin with.
    first: Arc<Shown>,
    /// One of these is true in an execution that ends as it should be shown; empty where none does.
    ends: Vec<Literal>,
}

/// The options with everything off that leaves executions out.
fn all_of_them(config: &Config) -> Config {
    let treatment = Treatment {
        prune_spins: false,
        symmetry: false,
        slices_from: usize::MAX,
        cells_from: usize::MAX,
        split_from: u64::MAX,
        ..config.treatment
    };
    Config { treatment, record: false, follow: false, outside: None, ..config.clone() }
}

impl<'a> Executions<'a> {
    /// Up to the loop bound to begin with, or a larger one as long as none of the executions runs to its end.
    ///
    /// # Errors
    /// If there is none to show.
    pub fn new(
        program: &Program,
        kernel: &Kernel,
        launch: &Launch,
        model: &'a MemoryModel,
        config: &Config,
    ) -> Result<Self, NoExecution> {
        let config = all_of_them(config);
        let allowance = config.allowance();
        let mut bound = config.unroll.max(1);
        let mut found = Self::at(bound, (program, kernel, launch), model, &config, &allowance)?;
        while found.first.end != End::Complete
            && found.stated.encoding.cut != Literal::FALSE
            && bound < config.unroll_max
        {
            bound = bound.saturating_mul(2).min(config.unroll_max);
            match Self::at(bound, (program, kernel, launch), model, &config, &allowance) {
                Ok(more) => found = more,
                Err(NoExecution::Limit(_)) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn at(
        bound: u32,
        of: (&Program, &Kernel, &Launch),
        model: &'a MemoryModel,
        config: &Config,
        allowance: &Allowance,
    ) -> Result<Self, NoExecution> {
        let mut facts = Facts::of(model, of.2, config.treatment);
        loop {
            let graph = match unrolled(of, model, config, bound, allowance, &mut facts) {
                Ok(Unrolled { graph, .. }) => graph,
                Err(error) => return Err(not_unrolled(error, config, allowance)),
            };
            let config = facts.allowed(config);
            if graph.events.len() > config.limits.events_max {
                let limit = config.limits.events_max as u64;
                return Err(NoExecution::Limit(Limit::Unroll { what: "events", limit }));
            }
            let roots = super::prepare::roots(model, &graph);
            let (graph, prepared) = super::prepare::prepare(graph, model, &roots, &config, allowance);
            let (cells, table, _) = prepared.map_err(|error| match error {
                Unprepared::Limit(limit) => NoExecution::Limit(limit),
                Unprepared::Unfollowed(unfollowed) => NoExecution::Error(not_followed(unfollowed)),
            })?;
            if !facts.is_off(&facts::WRITING_WAITS) && needs::raced_word(&graph, model, &table).is_some() {
                facts.withdraw(&facts::WRITING_WAITS, Need::NoRace, "others may race for its word");
                continue;
            }
            return Self::begun((graph, cells, table), of, model, &config, allowance, bound);
        }
    }

    fn begun(
        (graph, cells, table): (EventGraph, Cells, RelationTable),
        (_, kernel, launch): (&Program, &Kernel, &Launch),
        model: &'a MemoryModel,
        config: &Config,
        allowance: &Allowance,
        bound: u32,
    ) -> Result<Self, NoExecution> {
        let problem = Problem { graph: &graph, cells: &cells, model, table: &table };
        let is_over = || allowance.used_up().is_some();
        let limits = config.limits;
        let encoding = encode(problem, config.treatment, limits.clauses_max, &is_over).map_err(|error| {
            NoExecution::Limit(match error {
                EncodeError::TooManyClauses { limit } => Limit::Clauses { limit: limit as u64 },
                EncodeError::Stopped => config.used_up(allowance),
                EncodeError::RecursionTooLarge { term } => recursion_limit(model, term),
            })
        })?;
        let flags = model.flags.iter().filter(|flag| is_asked(flag, &graph)).map(|flag| flag.term).collect();
        // Nothing stopped it: the reason is only there so that there is an outcome to put the graph into.
        let mut outcome = stopped(kernel, launch, Limit::Interrupt, model, config, bound);
        outcome.limit = None;
        outcome.graph = graph;
        let (config, allowance) = (config.clone(), allowance.clone());
        let stated = Stated { outcome, model, config, cells, table, encoding, allowance, flags };
        let (first, ends) = stated.first()?;
        Ok(Self { stated, first: Arc::new(first), ends })
    }

    /// The launch and its graph, with nothing found out about it.
    pub fn outcome(&self) -> &Outcome {
        &self.stated.outcome
    }

    /// An execution, with nothing chosen yet.
    pub fn begin(&self) -> Course<'_> {
        let stated = &self.stated;
        let mut branches = Branches::new(&stated.encoding.formula, &stated.allowance);
        if !self.ends.is_empty() {
            branches.require(&self.ends);
        }
        let graph = stated.graph();
        let mut by_agent: SortedMap<AgentId, Vec<EventId>> = SortedMap::new();
        for (event, of) in graph.events.iter_enumerated() {
            if let Some(agent) = of.agent {
                by_agent.entry(agent).or_default().push(event);
            }
        }
        let mut course = Course {
            stated,
            branches,
            shown: Arc::clone(&self.first),
            passed: EventSet::empty(graph.events.len()),
            by_agent,
            known: SortedSet::new(),
            supports: FxHashMap::default(),
            limit: None,
        };
        // With other values of its parameters it is another launch.
        let parameters: Vec<UnknownId> = graph.parameters.iter().map(|&(_, unknown)| unknown).collect();
        parameters.into_iter().for_each(|unknown| course.know(unknown));
        course
    }
}

fn not_unrolled(error: Ungraphed, config: &Config, allowance: &Allowance) -> NoExecution {
    match error {
        Ungraphed::Unknown(diagnostic) => NoExecution::Error(CheckError::Unsupported(diagnostic)),
        Ungraphed::Unroll(UnrollError::Unsupported(diagnostic)) => {
            NoExecution::Error(CheckError::Unsupported(Box::new(diagnostic)))
        }
        Ungraphed::Unroll(UnrollError::TooLarge { limit, value, .. }) => {
            NoExecution::Limit(Limit::Unroll { what: limit, limit: value })
        }
        Ungraphed::Unroll(UnrollError::Stopped(_)) => NoExecution::Limit(config.used_up(allowance)),
    }
}

impl Stated<'_> {
    fn graph(&self) -> &EventGraph {
        &self.outcome.graph
    }

    /// An execution to begin with: one that runs the threads in turns, or one that ends well, or else one that is over.
    fn first(&self) -> Result<(Shown, Vec<Literal>), NoExecution> {
        let graph = self.graph();
        let ends = self.ends();
        let in_turns = interleave(graph, &self.cells).and_then(|execution| self.shown(execution).ok());
        if let Some(shown) = in_turns.filter(|shown| shown.end == End::Complete) {
            return Ok((shown, ends));
        }
        let mut branches = Branches::new(&self.encoding.formula, &self.allowance);
        let complete = vec![self.encoding.complete];
        for (clauses, ends) in
            [(vec![complete], ends.clone()), (vec![ends.clone()], ends), (Vec::new(), Vec::new())]
        {
            match branches.ask(&clauses, &self.allowance) {
                Answer::Satisfiable(assignment) => {
                    let problem = self.problem();
                    return Ok((self.shown(decode(problem, &self.encoding, &assignment))?, ends));
                }
                Answer::Unsatisfiable => {}
                Answer::Stopped => return Err(NoExecution::Limit(self.config.used_up(&self.allowance))),
            }
        }
        Err(NoExecution::Excluded)
    }

    /// What is true in an execution that is over, one of them.
    fn ends(&self) -> Vec<Literal> {
        let graph = self.graph();
        let is_end = |kind: &GoalKind| match kind {
            GoalKind::Deadlock | GoalKind::NotResident => true,
            GoalKind::Obligation(index) => graph.obligations[*index].kind != ObligationKind::Assertion,
            _ => false,
        };
        let goals = self.encoding.goals.iter().filter(|goal| is_end(&goal.kind)).map(|goal| goal.literal);
        [self.encoding.complete, self.encoding.cut].into_iter().chain(goals).collect()
    }

    fn problem(&self) -> Problem<'_> {
        Problem { graph: self.graph(), cells: &self.cells, model: self.model, table: &self.table }
    }

    /// An execution, evaluated without the encoder.
    fn shown(&self, execution: Execution) -> Result<Shown, CheckError> {
        let (graph, model) = (self.graph(), self.model);
        let (n_events, n_terms) = (graph.events.len(), model.terms.len());
        work::count(Work::Word, (n_events * n_events / 64 + 8 * n_events) * n_terms);
        let asked = Asked { flags: self.flags.clone(), ..Asked::default() };
        let allowed = Allowed::new(graph, &self.cells, model, execution, asked)
            .map_err(|error| CheckError::SelfCheck { pass: "recheck", message: error.to_string() })?;
        let does = |claim: &GoalKind| allowed.claims(graph, model, claim).is_ok();
        let hang = [GoalKind::Deadlock, GoalKind::NotResident].into_iter().find(&does);
        let is_true = |term: TermRef| allowed.value(term) == 1;
        let mut wrong: Vec<GoalKind> = hang.iter().cloned().collect();
        wrong.extend((0..graph.obligations.len()).map(GoalKind::Obligation).filter(&does));
        let is_assertion = |index: &usize| graph.finals[*index].kind == FinalKind::Assert;
        wrong.extend((0..graph.finals.len()).filter(is_assertion).map(GoalKind::Final).filter(&does));
        for (flag, of) in model.flags.iter().enumerate().filter(|(_, flag)| is_asked(flag, graph)) {
            let pairs = allowed.flagged(model, flag);
            let is_told = |&(a, b): &(EventId, EventId)| a <= b || !pairs.contains(&(b, a));
            let told = pairs.iter().copied().filter(is_told);
            wrong.extend(told.map(|pair| GoalKind::Flag { flag, pair }));
            debug_assert!(self.flags.contains(&of.term), "only what is asked for is evaluated");
        }
        let breaks = |goal: &GoalKind| match goal {
            GoalKind::Obligation(index) => graph.obligations[*index].kind != ObligationKind::Assertion,
            _ => false,
        };
        let (end, claim) = if does(&GoalKind::Completion) {
            (End::Complete, GoalKind::Completion)
        } else if let Some(hang) = hang {
            (End::Hangs, hang)
        } else if graph.cuts.iter().any(|cut| is_true(cut.guard)) {
            (End::Bound, GoalKind::Completion)
        } else if wrong.iter().any(breaks) {
            (End::Broken, GoalKind::Completion)
        } else {
            (End::Open, GoalKind::Completion)
        };
        Ok(Shown { witness: allowed.into_witness(claim), end, wrong })
    }
}

impl Shown {
    /// The same without what takes most of its place, and can be evaluated again.
    fn without_relations(&self) -> Self {
        let Witness { execution, values, claim, refinements, .. } = self.witness.clone();
        let executed = execution.executed.clone();
        let basis = ExactBasis { executed, sets: SortedMap::new(), relations: SortedMap::new() };
        let witness = Witness { execution, values, basis, claim, refinements };
        Self { witness, end: self.end, wrong: self.wrong.clone() }
    }

    /// How a thread stops in it.
    pub fn stop(&self, graph: &EventGraph, agent: AgentId) -> Stop {
        let is_true = |term: TermRef| self.witness.values[term] == 1;
        let issuer = graph.hierarchy.issuer(agent);
        if issuer != agent || is_true(graph.completed[agent]) {
            return Stop::Ends;
        }
        let waits = graph.blocked.iter().position(|blocked| blocked.agent == agent && is_true(blocked.stuck));
        let bound = || graph.cuts.iter().position(|cut| cut.agent == agent && is_true(cut.guard));
        let breaks = |goal: &GoalKind| match goal {
            GoalKind::Obligation(index) => {
                let obligation = &graph.obligations[*index];
                let ends = obligation.agent == agent && obligation.kind != ObligationKind::Assertion;
                ends.then_some(Stop::Breaks(*index))
            }
            _ => None,
        };
        let bound = || bound().map(Stop::Bound);
        let breaks = || self.wrong.iter().find_map(breaks);
        waits.map(Stop::Waits).or_else(bound).or_else(breaks).unwrap_or(Stop::Somewhere)
    }
}

/// An execution that is chosen step by step.
pub struct Course<'a> {
    stated: &'a Stated<'a>,
    branches: Branches<'a>,
    /// An execution in which all that has been chosen happens.
    shown: Arc<Shown>,
    /// The events of steps that were taken.
    passed: EventSet,
    by_agent: SortedMap<AgentId, Vec<EventId>>,
    /// Unknowns whose values are chosen.
    known: SortedSet<UnknownId>,
    supports: FxHashMap<TermRef, Arc<SortedSet<UnknownId>>>,
    /// What stopped the solver; nothing more is asked of it.
    limit: Option<Limit>,
}

impl<'a> Course<'a> {
    /// An execution in which all that has been chosen happens.
    pub fn shown(&self) -> &Arc<Shown> {
        &self.shown
    }

    fn graph(&self) -> &'a EventGraph {
        self.stated.graph()
    }

    /// What a thread or operation may do next, where `next` says which events are its next step in an execution.
    ///
    /// # Errors
    /// If one that was found is none; a bug of ours.
    pub fn ways(
        &mut self,
        agent: AgentId,
        next: &dyn Fn(&Shown) -> Vec<EventId>,
    ) -> Result<Ways, CheckError> {
        let own = Way { events: next(&self.shown), shown: Arc::clone(&self.shown) };
        let mut ways = vec![own];
        if self.is_settled(agent, &ways[0].events) {
            return Ok(Ways { ways, cut: None });
        }
        let mut clauses = vec![self.other_than(agent, &ways[0])];
        let mut cut = None;
        while let Some(assignment) = self.ask(&clauses) {
            let shown = self.decoded(&assignment)?;
            let mut way = Way { events: next(&shown), shown: Arc::new(shown) };
            clauses.push(self.other_than(agent, &way));
            if way.events.is_empty() && way.shown.stop(self.graph(), agent) == Stop::Somewhere {
                continue;
            }
            if ways.len() == WAYS_MAX {
                cut = Some(Cut::Many);
                break;
            }
            if way.shown.end != End::Complete
                && let Some(better) = self.finish(agent, &way)?
            {
                way.shown = Arc::new(better);
            }
            way.shown = Arc::new(way.shown.without_relations());
            ways.push(way);
        }
        // A limit on the way keeps what was found.
        let cut = cut.or_else(|| self.limit.clone().map(Cut::Limit));
        ways[1..].sort_by_key(|way| self.read_by(way));
        Ok(Ways { ways, cut })
    }

    /// Takes a step.
    ///
    /// # Errors
    /// If its execution is none; a bug of ours.
    pub fn take(&mut self, agent: AgentId, way: &Way) -> Result<(), CheckError> {
        let is_kept = Arc::ptr_eq(&way.shown, &self.shown);
        if !is_kept {
            self.shown = Arc::new(self.stated.shown(way.shown.witness.execution.clone())?);
        }
        let executed = self.shown.witness.execution.executed.clone();
        let last = way.events.iter().max().copied();
        // What it has left out on the way there, it has left out.
        for event in self.own(agent).into_iter().filter(|&event| last.is_none_or(|last| event <= last)) {
            self.require(self.happens(event, executed.contains(event)));
        }
        for &event in &way.events {
            for literal in self.sources(event, &way.shown.witness) {
                self.require(literal);
            }
            let told = self.told(event);
            let unknowns: Vec<UnknownId> = told
                .into_iter()
                .flat_map(|term| self.support(term).iter().copied().collect::<Vec<_>>())
                .collect();
            unknowns.into_iter().for_each(|unknown| self.know(unknown));
            self.passed.insert(event);
        }
        if way.events.is_empty() {
            self.own(agent).into_iter().for_each(|event| self.passed.insert(event));
        }
        Ok(())
    }

    /// Events of an agent that have not been passed.
    fn own(&self, agent: AgentId) -> Vec<EventId> {
        let own = self.by_agent.get(&agent).into_iter().flatten().copied();
        own.filter(|&event| !self.passed.contains(event)).collect()
    }

    fn happens(&self, event: EventId, does: bool) -> Literal {
        let literal = self.stated.encoding.executed[event];
        if does { literal } else { !literal }
    }

    fn require(&mut self, literal: Literal) {
        if literal != Literal::TRUE {
            self.branches.require(&[literal]);
        }
    }

    /// The value of an unknown is that of the execution from now on.
    fn know(&mut self, unknown: UnknownId) {
        if !self.known.insert(unknown) {
            return;
        }
        let value = self.shown.witness.execution.unknowns[unknown];
        let Some(bits) = self.stated.encoding.blaster.unknown_bits.get(&unknown) else { return };
        for (at, &bit) in (0_u32..).zip(bits) {
            let literal = if value >> at & 1 == 1 { bit } else { !bit };
            self.require(literal);
        }
    }

    /// The literals by which a read is of what it is of, and of the value that it has where that is not settled by then.
    fn sources(&self, event: EventId, witness: &Witness) -> Vec<Literal> {
        let Some(pieces) = self.stated.encoding.sources.get(&event) else { return Vec::new() };
        let chosen = witness.execution.sources.get(&event).map_or(&[][..], Vec::as_slice);
        let mut literals: Vec<Literal> = Vec::new();
        for (candidates, &(write, piece)) in pieces.iter().zip(chosen) {
            let is_it = |source: &&crate::encode::Source| source.write == write && source.piece == piece;
            literals.extend(candidates.iter().find(is_it).map(|source| source.literal));
        }
        let access = self.graph().events[event].kind.access();
        let value = access.map(|access| self.graph().terms.kind(access.value));
        if let Some(TermKind::Unknown(unknown)) = value
            && chosen.iter().any(|&(write, _)| self.is_to_come(write))
            && let Some(bits) = self.stated.encoding.blaster.unknown_bits.get(unknown)
        {
            let value = witness.execution.unknowns[*unknown];
            let fixed = (0_u32..).zip(bits);
            literals.extend(fixed.map(|(at, &bit)| if value >> at & 1 == 1 { bit } else { !bit }));
        }
        literals
    }

    /// Whether a write has not been passed, so that what it writes may depend on what is still to be read.
    fn is_to_come(&self, write: EventId) -> bool {
        self.graph().events[write].agent.is_some() && !self.passed.contains(write)
    }

    /// What is shown of an event, and what says that it happens.
    fn told(&self, event: EventId) -> Vec<TermRef> {
        let graph = self.graph();
        let of = &graph.events[event];
        let mut told = vec![of.guard];
        told.extend(of.kind.access().into_iter().flat_map(|access| [access.offset, access.value]));
        let operations = graph.mbarriers.iter().flat_map(|mbarrier| &mbarrier.operations);
        told.extend(operations.filter(|operation| operation.event == event).map(|operation| operation.phase));
        if let Some(Turn::Term(term)) = graph.meetings.get(&event).map(|meeting| &meeting.generation) {
            told.push(*term);
        }
        told
    }

    /// The unknowns that a term is made of.
    fn support(&mut self, term: TermRef) -> Arc<SortedSet<UnknownId>> {
        let terms: &TermPool = &self.graph().terms;
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.supports.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = terms.operands(top);
            let missing: Vec<TermRef> =
                operands.iter().copied().filter(|operand| !self.supports.contains_key(operand)).collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let mut support: SortedSet<UnknownId> =
                operands.iter().flat_map(|operand| self.supports[operand].iter().copied()).collect();
            if let TermKind::Unknown(unknown) = terms.kind(top) {
                support.insert(*unknown);
            }
            self.supports.insert(top, Arc::new(support));
            stack.pop();
        }
        Arc::clone(&self.supports[&term])
    }

    /// Whether there can be no other step, and nobody needs to be asked.
    fn is_settled(&mut self, agent: AgentId, events: &[EventId]) -> bool {
        let has_choice = |event: &EventId| {
            let pieces = self.stated.encoding.sources.get(event).into_iter().flatten();
            let mut open = pieces.map(|candidates| {
                candidates.len() > 1 || candidates.iter().any(|source| self.is_to_come(source.write))
            });
            open.any(|is_open| is_open)
        };
        if events.iter().any(has_choice) {
            return false;
        }
        let last = events.iter().max().copied();
        let before: Vec<EventId> =
            self.own(agent).into_iter().filter(|&event| last.is_none_or(|last| event <= last)).collect();
        before.into_iter().all(|event| {
            let guard = self.graph().events[event].guard;
            let support = self.support(guard);
            support.iter().all(|unknown| self.known.contains(unknown))
        })
    }

    /// That the next step is another one than this.
    fn other_than(&self, agent: AgentId, way: &Way) -> Vec<Literal> {
        if way.events.is_empty() {
            return self.own(agent).into_iter().map(|event| self.happens(event, true)).collect();
        }
        let happen = way.events.iter().map(|&event| !self.happens(event, true));
        let read = way.events.iter().flat_map(|&event| self.sources(event, &way.shown.witness));
        happen.chain(read.map(|literal| !literal)).collect()
    }

    /// An execution of the same step that runs to its end.
    fn finish(&mut self, agent: AgentId, way: &Way) -> Result<Option<Shown>, CheckError> {
        let same = self.other_than(agent, way).into_iter().map(|literal| vec![!literal]);
        let clauses: Vec<Vec<Literal>> = same.chain([vec![self.stated.encoding.complete]]).collect();
        match self.ask(&clauses) {
            Some(assignment) => Ok(Some(self.decoded(&assignment)?)),
            None => Ok(None),
        }
    }

    fn ask(&mut self, clauses: &[Vec<Literal>]) -> Option<crate::solve::Assignment> {
        if self.limit.is_some() {
            return None;
        }
        match self.branches.ask(clauses, &self.stated.allowance) {
            Answer::Satisfiable(assignment) => Some(assignment),
            Answer::Unsatisfiable => None,
            Answer::Stopped => {
                self.limit = Some(self.stated.config.used_up(&self.stated.allowance));
                None
            }
        }
    }

    fn decoded(&self, assignment: &crate::solve::Assignment) -> Result<Shown, CheckError> {
        self.stated.shown(decode(self.stated.problem(), &self.stated.encoding, assignment))
    }

    /// Writes that a step reads; a step that does something comes before none.
    fn read_by(&self, way: &Way) -> (bool, Vec<EventId>, Vec<(EventId, u32)>) {
        let sources = &way.shown.witness.execution.sources;
        let of = |event: &EventId| sources.get(event).cloned().unwrap_or_default();
        (way.events.is_empty(), way.events.clone(), way.events.iter().flat_map(of).collect())
    }
}
