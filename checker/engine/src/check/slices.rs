//! A launch of many threads, in slices (see [`crate::slice`]): whether none of them can go wrong, and what of what goes wrong in
//! one does so in the whole.

mod whole;

use super::certain::{Certainty, Never, Of, certain};
use super::decision::Decision;
use super::prepare::{Unprepared, prepare, roots};
use super::settle::closed_by_bounds;
use super::{CheckError, Config, asks_for_the_end, is_unasked, not_followed, property_of};
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Encoding, Problem, Treatment, encode};
use crate::event::{Because, EventGraph, EventId, UnknownId};
use crate::evidence::{Record, Role, Shown};
use crate::facts::needs::{self, Need};
use crate::facts::{self, Facts};
use crate::slice::{About, Piece, Plan};
use crate::solve::{Assignment, Effort};
use crate::unroll::n_threads;
use crate::verdict::{Finding, Limit, OpenLoop, Property, Statistics};
use crate::witness::decode::decode;
use crate::work::{self, Allowance};
use fencepost_dsl::Span;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::Launch;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashSet;
use whole::Whole;

/// Events of the largest launch that is run in turns when nothing else is left: its relations are there for all pairs at a time.
const TURNS_EVENTS_MAX: usize = 5_000;
/// What part of the budget that may take, once the budget is gone.
const TURNS_SHARE: u64 = 16;

/// What slices say of a launch.
pub(super) enum Sliced {
    /// It has none.
    Whole,
    /// One of them may go wrong, or it is not known whether anything completes.
    Open(Open),
    /// Nothing goes wrong but what was found, within the bound where loops may run past it; and what was done.
    Decided(Box<Found>, Statistics),
}

/// What slices leave open, in spite of what they say.
#[derive(Default)]
pub(super) struct Open {
    pub(super) found: Option<Box<Found>>,
    /// Properties that hold, where nothing was found.
    pub(super) closed: Vec<Property>,
}

impl Sliced {
    /// Of a launch without slices: what goes wrong where all threads run in turns, if something does.
    fn of_found(found: Option<Found>) -> Self {
        found.map_or(Self::Whole, |found| {
            Self::Open(Open { found: Some(Box::new(found)), closed: Vec::new() })
        })
    }
}

/// What goes wrong in a launch.
pub(super) struct Found {
    /// With its initial writes.
    pub(super) graph: EventGraph,
    pub(super) findings: Vec<Finding>,
    pub(super) more_findings: bool,
    /// Loops that may run past the bound, as far as slices tell; of which fewer may do so in the whole.
    pub(super) open_loops: Vec<OpenLoop>,
    /// What may be spent on whatever else goes wrong.
    pub(super) rest: Rest,
    /// What was kept, if anything was to be.
    pub(super) record: Option<Record>,
}

/// What may be spent once something was found.
#[derive(Clone)]
pub(super) struct Rest {
    pub(super) allowance: Allowance,
    pub(super) steps: u64,
}

impl Found {
    pub(super) fn into_decision(self, statistics: Statistics) -> Decision {
        let Self { graph, findings, more_findings, open_loops, record, .. } = self;
        Decision { findings, more_findings, open_loops, record, ..Decision::new(graph, statistics) }
    }
}

/// Launches of fewer threads have no slices worth the name.
const THREADS_MIN: u64 = 64;
/// A launch in slices may have so many times the events of one that is looked at as a whole, whose work grows with their
/// square; that of slices grows with the events of one thread times the number of threads.
const TIMES_THE_EVENTS: usize = 16;
/// The same where cells that are touched alike may make them fewer.
const TIMES_THE_EVENTS_OF_CELLS: usize = 4;
/// What part of the steps that are left may be spent on running all threads in turns before slices are looked at.
const EARLY_SHARE: u64 = 2;
/// Steps that may be spent at least once something was found.
const REST_MIN: u64 = 30_000_000;
/// Slices that go wrong, nobody knows why, before all are given up.
const HINTS_MAX: usize = 2;

/// What looking at slices takes, in pairs of events, from where on it is asked whether others take less.
const COST_MIN: usize = 4_000_000;
/// How many times less slices around places have to take to be looked at instead: some of them are made twice.
const TIMES_THE_COST: usize = 8;

/// What looking at slices takes: that grows with the square of their events.
fn cost(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.kept.len() * piece.kept.len()).sum()
}

/// Events up to which a launch is unrolled.
pub(super) fn events_max(launch: &Launch, config: &Config) -> usize {
    let whole = config.limits.events_max;
    let has_slices = config.treatment.slices_from < usize::MAX && n_threads(launch) >= THREADS_MIN;
    let merges_cells = config.treatment.cells_from < usize::MAX;
    if merges_cells && !has_slices {
        return whole.saturating_mul(TIMES_THE_EVENTS_OF_CELLS);
    }
    if has_slices { whole.saturating_mul(TIMES_THE_EVENTS) } else { whole }
}

/// Whether a launch has too many to be looked at as a whole.
pub(super) fn is_too_large(graph: &EventGraph, config: &Config) -> bool {
    graph.events.len() > config.limits.events_max
}

/// What is said of one.
pub(super) fn too_many_events(config: &Config) -> Limit {
    Limit::Unroll { what: "events", limit: config.limits.events_max as u64 }
}

/// What goes wrong, as far as slices tell.
///
/// # Errors
/// If an answer is to be followed and cannot be.
pub(super) fn look_at(
    graph: &EventGraph,
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
    facts: &mut Facts,
) -> Result<Sliced, CheckError> {
    if graph.events.len() < config.treatment.slices_from {
        let has_many =
            config.treatment.slices_from < usize::MAX && n_threads(graph.hierarchy.launch()) >= THREADS_MIN;
        return Ok(if has_many { in_turns_first(graph, model, config, allowance) } else { Sliced::Whole });
    }
    let plan = Plan::new(graph, model);
    if plan.is_none() && facts.is_monotone() && !crate::slice::are_monotone(graph, model) {
        facts.withdraw(
            &facts::SLICES,
            Need::MonotoneFlags,
            "a flag may get lost with events that are left out",
        );
    }
    let Some(mut plan) = plan else { return Ok(in_turns_first(graph, model, config, allowance)) };
    // What is asked is not the same of all threads of a slice, so threads that are alike cannot stand for each other.
    let treatment = Treatment { symmetry: false, ..config.treatment };
    let config = &Config { treatment, ..config.clone() };
    let mut run = Run::new(graph, model, config, allowance, facts);
    if treatment.completing {
        run.in_turns();
    }
    if run.has_enough() {
        let (rest, found) = (run.rest.unwrap_or_else(|| Rest::of(allowance)), run.whole);
        return Ok(Sliced::of_found(found.and_then(|whole| found_in(whole, config, rest))));
    }
    let is_by_place = treatment.slices_by_place;
    let mut pieces = if is_by_place { None } else { plan.pieces(None, &run.allowance) };
    // What is tried at some cost leaves as much for the whole, if that can be looked at.
    let share = if is_too_large(graph, config) { 1 } else { 2 };
    let wide = run.allowance.part(run.allowance.left() / share);
    let mut is_wide = false;
    if pieces.is_none() && !is_by_place && plan.widen() {
        is_wide = true;
        pieces = plan.pieces(None, &wide);
    }
    // Of what is small enough to be looked at as a whole soon, that is asked instead.
    let is_large = graph.events.len() > config.limits.events_max / 4;
    if pieces.is_none() && (is_by_place || is_large) {
        is_wide = true;
        pieces = plan.pieces_by_place(&wide);
    }
    if let Some(around_threads) = &pieces
        && cost(around_threads) > COST_MIN
        && let Some(around_places) = plan.pieces_by_place(&wide)
        && cost(&around_places).saturating_mul(TIMES_THE_COST) < cost(around_threads)
    {
        is_wide = true;
        pieces = Some(around_places);
    }
    let Some(pieces) = pieces else {
        let rest = run.rest.unwrap_or_else(|| Rest::of(allowance));
        let found = run.whole.and_then(|whole| found_in(whole, config, rest));
        return Ok(Sliced::of_found(found));
    };
    if is_wide {
        run.allowance = wide.clone();
    }
    let never_hangs = run.never_hangs(&plan)?;
    // Something else may be found all the same.
    if !never_hangs && !treatment.completing {
        return Ok(Sliced::Open(Open::default()));
    }
    let closes_finals = run.decides_finals(&plan)?;
    let is_decided = run.decides_all(&mut plan, pieces, is_wide, &wide)? && never_hangs;
    let is_asked = asks_for_the_end(config, graph);
    let is_decided =
        is_decided && run.whole().is_some_and(|whole| !is_asked || treatment.interleave && whole.completes());
    let Run { statistics, mut effort, whole, rest, open_loops, .. } = run;
    let record = effort.take_record();
    let Effort { learnt: conflicts, calls: solver_calls, .. } = effort;
    let followed = config.follow.then_some(effort.followed);
    let Some(whole) = whole else { return Ok(Sliced::Open(Open::default())) };
    let record = record.map(|record| (record, whole.completing().cloned()));
    let mut found = whole.into_found(rest.unwrap_or_else(|| Rest::of(allowance)));
    found.open_loops = open_loops.into_iter().map(|(span, because)| OpenLoop { span, because }).collect();
    found.record = record.map(|(mut record, execution)| {
        record.note_graph(&found.graph, config.treatment);
        record.note(&facts::SLICES, record.slices.len(), "slices");
        record.shown.extend(execution.map(|execution| (Shown::Claim(GoalKind::Completion), execution)));
        record
    });
    let events = found.graph.events.len();
    Ok(if is_decided && closes_finals {
        let statistics = Statistics { conflicts, solver_calls, followed, events, ..statistics };
        Sliced::Decided(Box::new(found), statistics)
    } else {
        let is_within = found.open_loops.is_empty();
        let found = (!found.findings.is_empty()).then(|| Box::new(found));
        // What is claimed of the end is a matter of assertions alone. Behind what was found nothing may have been followed.
        let is_closed = |&own: &Property| {
            is_decided
                && found.is_none()
                && is_within
                && own != Property::Assert
                && (is_asked || own != Property::Reachable)
        };
        let closed = config.properties.iter().copied().filter(is_closed).collect();
        Sliced::Open(Open { found, closed })
    })
}

/// Whether two accesses of a launch do nothing wrong to each other, though both happen where all threads run in turns and none
/// is left waiting; `false` also where the slice of theirs does not tell.
///
/// # Errors
/// If an answer is to be followed and cannot be.
pub(super) fn are_apart(
    graph: &EventGraph,
    model: &MemoryModel,
    config: &Config,
    pair: (EventId, EventId),
    facts: &Facts,
) -> Result<bool, CheckError> {
    let Some(mut plan) = Plan::new(graph, model) else { return Ok(false) };
    plan.widen();
    let treatment = Treatment { symmetry: false, completing: false, ..config.treatment };
    let config = &Config { treatment, record: false, ..config.clone() };
    let allowance = config.allowance();
    let mut run = Run::new(graph, model, config, &allowance, facts);
    // Lanes may be kept apart by what does not keep warps apart.
    let Some(piece) = plan.around_pair(pair) else { return Ok(false) };
    let (a, b) = pair;
    let others = [(a, b), (b, a)].into_iter().filter_map(|pair| plan.of_another_warp(pair));
    let others: Vec<Piece> = others.filter_map(|pair| plan.around_pair(pair)).collect();
    for piece in [piece].into_iter().chain(others) {
        if run.is_fine(&piece, Then::Wider)? {
            continue;
        }
        let Some(wider) = plan.with_surroundings(&piece, &allowance) else { return Ok(false) };
        for piece in wider.into_iter().map(|wider| Piece { pair: piece.pair, ..wider }) {
            if !run.is_fine(&piece, Then::Wider)? {
                return Ok(false);
            }
        }
    }
    Ok(run.whole().is_some_and(|whole| whole.has_both(pair)))
}

/// What goes wrong where all threads just run in turns, if something does: for launches that are too large for all else. It takes
/// a small part of the budget besides; where it would take more, it is left.
pub(super) fn in_turns(graph: &EventGraph, model: &MemoryModel, config: &Config) -> Option<Found> {
    let n = graph.events.len();
    if n > TURNS_EVENTS_MAX || work::of_relations(n, model.terms.len()) > config.budget / TURNS_SHARE {
        return None;
    }
    let mut whole = Whole::new(graph, model, config)?;
    whole.does_all_in_turns();
    found_in(whole, config, Rest { allowance: Allowance::of_steps(0), steps: 0 })
}

/// The same for a launch without slices, before the whole is asked: where an execution decides in which phases of mbarriers
/// operations are, or who meets at a barrier, or all threads access one word, that has a large formula.
fn in_turns_first(graph: &EventGraph, model: &MemoryModel, config: &Config, allowance: &Allowance) -> Sliced {
    let is_tried = config.treatment.completing;
    Sliced::of_found(is_tried.then(|| in_turns_soon(graph, model, config, allowance)).flatten())
}

/// The same where that takes no more than its share of the steps that are left.
pub(super) fn in_turns_soon(
    graph: &EventGraph,
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
) -> Option<Found> {
    let mut whole = is_soon_run(graph, model, allowance).then(|| Whole::new(graph, model, config))??;
    whole.does_all_in_turns();
    found_in(whole, config, Rest::of(allowance))
}

/// Whether running all threads in turns takes no more than its share of the steps that are left.
fn is_soon_run(graph: &EventGraph, model: &MemoryModel, allowance: &Allowance) -> bool {
    work::of_relations(graph.events.len(), model.terms.len()) <= allowance.left() / EARLY_SHARE
}

fn found_in(whole: Whole<'_>, config: &Config, rest: Rest) -> Option<Found> {
    let mut found = whole.into_found(rest);
    if config.record {
        let mut record = Record::default();
        record.note_graph(&found.graph, config.treatment);
        found.record = Some(record);
    }
    (!found.findings.is_empty()).then_some(found)
}

/// Something that a slice is asked, as it is asked of the whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    Flag(usize, EventId, EventId),
    Obligation(usize),
}

/// What a goal of a slice asks of the whole; what is about the slice's own initial writes is nobody else's.
fn question(piece: &Piece, goal: &GoalKind) -> Option<Question> {
    match *goal {
        GoalKind::Flag { flag, pair: (a, b) } => {
            Some(Question::Flag(flag, piece.origin(a)?, piece.origin(b)?))
        }
        GoalKind::Obligation(index) => Some(Question::Obligation(piece.obligations[index])),
        _ => None,
    }
}

/// What a goal of a slice claims of the whole.
fn claim(piece: &Piece, goal: &GoalKind) -> Option<GoalKind> {
    Some(match *goal {
        GoalKind::Flag { flag, pair: (a, b) } => {
            GoalKind::Flag { flag, pair: (piece.origin(a)?, piece.origin(b)?) }
        }
        GoalKind::Obligation(index) => GoalKind::Obligation(piece.obligations[index]),
        GoalKind::Final(index) => GoalKind::Final(piece.finals[index]),
        GoalKind::Deadlock => GoalKind::Deadlock,
        GoalKind::NotResident => GoalKind::NotResident,
        GoalKind::Condition | GoalKind::Completion => return None,
    })
}

struct Run<'a> {
    graph: &'a EventGraph,
    model: &'a MemoryModel,
    config: &'a Config,
    /// What the check may take, and what slices may.
    all: &'a Allowance,
    allowance: Allowance,
    /// What was spent on executions of the whole, which are no slices.
    on_whole: u64,
    /// The same from the first finding on.
    rest: Option<Rest>,
    /// Whether rounds are left out that write back what they have read.
    leaves_out_writes: bool,
    /// What some slice has been asked and happens nowhere.
    refuted: FxHashSet<Question>,
    /// Loops that some slice sees run past the bound although it has all that slices may have.
    open_loops: SortedMap<Span, Because>,
    statistics: Statistics,
    effort: Effort,
    /// The launch with executions of its own, once they are asked for.
    whole: Option<Whole<'a>>,
}

impl Rest {
    /// As much as has been spent so far.
    fn of(allowance: &Allowance) -> Self {
        let steps = allowance.used().max(REST_MIN);
        Self { allowance: allowance.part(steps), steps }
    }
}

/// Whether what goes wrong in a slice is looked for in the whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    /// It may be due to what was left out, and a larger slice is asked next: only if it is soon seen.
    Wider,
    /// No larger one is.
    Whole,
}

impl<'a> Run<'a> {
    fn new(
        graph: &'a EventGraph,
        model: &'a MemoryModel,
        config: &'a Config,
        allowance: &'a Allowance,
        facts: &Facts,
    ) -> Self {
        Self {
            graph,
            model,
            config,
            all: allowance,
            allowance: allowance.clone(),
            on_whole: 0,
            rest: None,
            leaves_out_writes: !facts.is_off(&facts::WRITING_WAITS),
            refuted: FxHashSet::default(),
            open_loops: SortedMap::new(),
            statistics: Statistics::default(),
            effort: config.effort(),
            whole: None,
        }
    }

    fn whole(&mut self) -> Option<&mut Whole<'a>> {
        if self.whole.is_none() {
            self.whole = Whole::new(self.graph, self.model, self.config);
        }
        self.whole.as_mut()
    }

    /// Looks for whatever goes wrong where the threads run in turns, before slices are asked, which may take long to answer. That
    /// execution is asked for whether anything completes, too, so where nothing goes wrong it is no waste.
    fn in_turns(&mut self) {
        if !is_soon_run(self.graph, self.model, self.all) {
            return;
        }
        let before = work::done();
        let Some(whole) = self.whole() else { return };
        whole.does_all_in_turns();
        self.spent_on_whole(before);
    }

    /// Notes what was spent on the whole since so many steps were done; once something is found, how much is left for the rest.
    fn spent_on_whole(&mut self, before: u64) {
        let spent = work::done() - before;
        (self.on_whole, self.allowance) = (self.on_whole + spent, self.allowance.extended(spent, self.all));
        if self.n_found() > 0 && self.rest.is_none() {
            let rest = Rest::of(self.all);
            self.allowance = rest.allowance.clone();
            self.rest = Some(rest);
        }
    }

    fn n_found(&self) -> usize {
        self.whole.as_ref().map_or(0, Whole::n_found)
    }

    /// Whether it was only asked whether anything goes wrong, and something does.
    fn has_enough(&self) -> bool {
        self.config.limits.asks_only_whether() && self.n_found() > 0
    }

    /// Whether no threads wait for each other for ever, but for a hang that was found.
    fn never_hangs(&mut self, plan: &Plan<'_>) -> Result<bool, CheckError> {
        let pieces = plan.of_waits();
        Ok(pieces.is_empty() || self.is_fine_in_one(&pieces)?)
    }

    /// Whether what is claimed of final memory holds, but for what was found in the whole.
    fn decides_finals(&mut self, plan: &Plan<'_>) -> Result<bool, CheckError> {
        let is_asked = self.config.properties.contains(&Property::Assert);
        let mut n_open = 0;
        for pieces in plan.of_finals().filter(|_| is_asked) {
            n_open += usize::from(!self.is_fine_in_one(&pieces)?);
            if n_open > HINTS_MAX || self.has_enough() {
                break;
            }
        }
        Ok(n_open == 0)
    }

    /// Whether nothing is wrong in one of several slices, each larger than the one before, but for what was found in the whole.
    fn is_fine_in_one(&mut self, pieces: &[Piece]) -> Result<bool, CheckError> {
        let Some((largest, smaller)) = pieces.split_last() else { return Ok(false) };
        for piece in smaller {
            if self.is_fine(piece, Then::Wider)? {
                return Ok(true);
            }
        }
        self.is_fine(largest, Then::Whole)
    }

    /// Whether nothing goes wrong in slices but what was found in the whole.
    fn decides_all(
        &mut self,
        plan: &mut Plan<'_>,
        mut pieces: Vec<Piece>,
        is_wide: bool,
        wide: &Allowance,
    ) -> Result<bool, CheckError> {
        let mut at = 0;
        // Whether there is a larger slice where something goes wrong, once that is asked.
        let mut widens = is_wide.then_some(false);
        let mut n_open = 0;
        while at < pieces.len() && !self.has_enough() {
            let has_all = widens == Some(false) && !pieces[at].may_grow();
            let then = if has_all { Then::Whole } else { Then::Wider };
            if self.is_fine(&pieces[at], then)? {
                at += 1;
                continue;
            }
            if self.rest.is_none() {
                self.allowance = wide.extended(self.on_whole, self.all);
            }
            if let Some(wider) = plan.with_surroundings(&pieces[at], &self.allowance) {
                pieces.splice(at..=at, wider);
                continue;
            }
            if then == Then::Wider && *widens.get_or_insert_with(|| plan.widen()) {
                let wrong = &pieces[at];
                // If more of its surroundings does not help where something went wrong, it does not help anywhere.
                let known = if wrong.about == About::Threads { plan.around(wrong.centre) } else { None };
                let n_found = self.n_found();
                if let Some(known) = &known
                    && !self.is_fine(known, Then::Whole)?
                {
                    return Ok(false);
                }
                // It was right, and is asked for the rest.
                if self.n_found() > n_found {
                    continue;
                }
                if let Some(wider) = plan.pieces(known.as_ref(), &self.allowance) {
                    (pieces, at, widens) = (wider, 0, Some(false));
                    continue;
                }
            }
            let is_open = then == Then::Whole || !self.is_fine(&pieces[at], Then::Whole)?;
            n_open += usize::from(is_open);
            // Where it is not shown what one does wrong, it may be what another does.
            if n_open > if self.config.treatment.completing { HINTS_MAX } else { 0 } {
                break;
            }
            at += 1;
        }
        Ok(n_open == 0 && !self.has_enough())
    }

    /// Whether nothing that a slice asks about happens in it, but for what an execution of the whole shows.
    fn is_fine(&mut self, piece: &Piece, then: Then) -> Result<bool, CheckError> {
        let allowance = self.allowance.clone();
        let stop = || allowance.used_up().is_some();
        let (graph, unknowns) = piece.graph(self.graph);
        let roots = roots(self.model, &graph);
        let (graph, prepared) = prepare(graph, self.model, &roots, self.config, &self.allowance);
        let (cells, table, mut effort) = match prepared {
            Ok(prepared) => prepared,
            Err(Unprepared::Unfollowed(unfollowed)) => return Err(not_followed(unfollowed)),
            Err(Unprepared::Limit(_)) => return Ok(false),
        };
        // Whether a round may be left out is a matter of the whole.
        if self.leaves_out_writes && needs::raced_word(&graph, self.model, &table).is_some() {
            return Ok(false);
        }
        let problem = Problem { graph: &graph, cells: &cells, model: self.model, table: &table };
        if !self.config.record && self.is_closed(piece, problem) {
            self.effort.add(effort);
            return Ok(true);
        }
        let clauses_max = self.config.limits.clauses_max;
        let encoded = encode(problem, self.config.treatment, clauses_max, &stop);
        if let Some(record) = effort.record() {
            if let Ok(encoding) = &encoded {
                record.state(problem, encoding);
            }
            record.begin(Role::Slice);
            record.is_of_slice(piece, &graph);
        }
        self.effort.add(effort);
        let Ok(encoding) = encoded else { return Ok(false) };
        let asked = encoding.goals.iter().filter(|goal| self.asks(piece, problem, goal));
        let asked = asked.filter(|goal| goal.literal != Literal::FALSE);
        let asked = asked.map(|goal| (goal, question(piece, &goal.kind)));
        let is_open = |question: Option<Question>| !question.is_some_and(|own| self.refuted.contains(&own));
        let mut open: Vec<(&Goal, Option<Question>)> =
            asked.filter(|&(_, question)| is_open(question)).collect();
        self.statistics.open_goals += open.len();
        self.statistics.variables += encoding.formula.n_variables();
        self.statistics.clauses += encoding.formula.n_clauses();
        loop {
            if let Some(whole) = &mut self.whole {
                open.retain(|(goal, _)| !claim(piece, &goal.kind).is_some_and(|claim| whole.knows(&claim)));
            }
            let mut any: Vec<Literal> = open.iter().map(|(goal, _)| goal.literal).collect();
            let cuts = graph.cuts.iter().zip(&encoding.cuts);
            let within = cuts.filter(|(cut, _)| !self.open_loops.contains_key(&cut.span));
            any.extend(within.map(|(_, &literal)| literal));
            let fact = Never { of: Of::Formula(&encoding.formula), any: &any };
            let assignment = match certain(fact, &self.allowance, &mut self.effort).map_err(not_followed)? {
                Certainty::Certain => {
                    self.refuted.extend(open.iter().filter_map(|&(_, question)| question));
                    return Ok(true);
                }
                Certainty::Refuted(assignment) => assignment,
                Certainty::Open => return Ok(false),
            };
            let mut wrong = open.iter().filter(|(goal, _)| assignment.is_true(goal.literal)).peekable();
            if wrong.peek().is_none() && then == Then::Whole && !self.config.record {
                let cuts = graph.cuts.iter().zip(&encoding.cuts);
                let run_on = cuts.filter(|&(_, &literal)| assignment.is_true(literal));
                self.open_loops.extend(run_on.map(|(cut, _)| (cut.span, cut.because.clone())));
                continue;
            }
            let Some(claim) = wrong.find_map(|(goal, _)| {
                // Of what nobody asked nothing is found.
                let is_asked = !is_unasked(self.config, problem, goal);
                claim(piece, &goal.kind).filter(|_| is_asked)
            }) else {
                return Ok(false);
            };
            if !self.config.treatment.completing
                || !self.is_shown((piece, &unknowns), problem, &encoding, &assignment, &claim, then)
            {
                return Ok(false);
            }
        }
    }

    /// Whether bounds leave nothing of what a slice is asked, so that there is nothing to state.
    fn is_closed(&self, piece: &Piece, problem: Problem<'_>) -> bool {
        problem.graph.finals.is_empty()
            && closed_by_bounds(problem, |a, b| match (piece.origin(a), piece.origin(b)) {
                (Some(a), Some(b)) => piece.asks(self.graph, (a, b)),
                _ => true,
            })
    }

    /// Whether an execution of the whole does what one of a slice does.
    fn is_shown(
        &mut self,
        (piece, unknowns): (&Piece, &[UnknownId]),
        problem: Problem<'_>,
        encoding: &Encoding,
        assignment: &Assignment,
        claim: &GoalKind,
        then: Then,
    ) -> bool {
        let before = work::done();
        let Some(whole) = self.whole() else { return false };
        let is_shown = whole.does_in_turns(claim)
            || then == Then::Whole && {
                let execution = decode(problem, encoding, assignment);
                whole.does((piece, problem, unknowns), encoding, &execution, claim)
            };
        self.spent_on_whole(before);
        is_shown
    }

    fn asks(&self, piece: &Piece, problem: Problem<'_>, goal: &Goal) -> bool {
        let is_of_end = matches!(goal.kind, GoalKind::Deadlock | GoalKind::NotResident | GoalKind::Final(_));
        if is_of_end == (piece.about == About::Threads) {
            return false;
        }
        if is_unasked(self.config, problem, goal) {
            return true;
        }
        self.config.properties.contains(&property_of(problem, &goal.kind))
            && match goal.kind {
                // What is about an initial write is about the slice's own.
                GoalKind::Flag { pair: (a, b), .. } => match (piece.origin(a), piece.origin(b)) {
                    (Some(a), Some(b)) => piece.asks(self.graph, (a, b)),
                    _ => true,
                },
                _ => true,
            }
    }
}
