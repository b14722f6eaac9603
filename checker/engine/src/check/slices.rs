//! A launch of many threads, in slices (see [`crate::slice`]): whether none of them can go wrong.

use super::prepare::{Unprepared, prepare, roots};
use super::{CheckError, Config, assumes_unasked, claims_of_the_end, is_unasked, not_followed, property_of};
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Problem, Treatment, encode};
use crate::event::cell::{Cells, add_initial_writes};
use crate::event::{EventGraph, EventId};
use crate::facts::needs::{self, Need};
use crate::facts::{self, Facts};
use crate::slice::{About, Piece, Plan};
use crate::solve::{Answer, Effort, solve};
use crate::unroll::n_threads;
use crate::verdict::{Limit, Property, Statistics};
use crate::witness::interleaving::interleave;
use crate::witness::recheck::recheck;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{FinalKind, Launch};
use rustc_hash::FxHashSet;

/// What slices say of a launch.
pub(super) enum Sliced {
    /// It has none.
    Whole,
    /// One of them may go wrong, or it is not known whether anything completes.
    Open,
    /// Nothing goes wrong; what was done.
    Fine(Statistics),
}

/// Launches of fewer threads have no slices worth the name.
const THREADS_MIN: u64 = 64;
/// A launch in slices may have so many times the events of one that is looked at as a whole, whose work grows with their
/// square; that of slices grows with the events of one thread times the number of threads.
const TIMES_THE_EVENTS: usize = 16;

/// Events up to which a launch is unrolled.
pub(super) fn events_max(launch: &Launch, config: &Config) -> usize {
    let whole = config.limits.events_max;
    let has_slices = config.treatment.slices_from < usize::MAX && n_threads(launch) >= THREADS_MIN;
    if has_slices { whole.saturating_mul(TIMES_THE_EVENTS) } else { whole }
}

/// What is said of a launch that has too many to be looked at as a whole.
pub(super) fn too_many_events(config: &Config) -> Limit {
    Limit::Unroll { what: "events", limit: config.limits.events_max as u64 }
}

/// Whether nothing goes wrong, as far as slices tell. Then the graph has its initial writes.
///
/// # Errors
/// If an answer is to be followed and cannot be.
pub(super) fn look_at(
    graph: &mut EventGraph,
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
    facts: &mut Facts,
) -> Result<Sliced, CheckError> {
    if graph.events.len() < config.treatment.slices_from {
        return Ok(Sliced::Whole);
    }
    let plan = Plan::new(graph, model);
    if plan.is_none() && facts.is_monotone() && !crate::slice::are_monotone(graph, model) {
        facts.withdraw(
            &facts::SLICES,
            Need::MonotoneFlags,
            "a flag may get lost with events that are left out",
        );
    }
    let Some(mut plan) = plan else { return Ok(Sliced::Whole) };
    let mut pieces = plan.pieces(None, allowance);
    // What is tried at some cost leaves as much for the whole.
    let wide = allowance.part(allowance.left() / 2);
    let mut is_wide = false;
    if pieces.is_none() && plan.widen() {
        is_wide = true;
        pieces = plan.pieces(None, &wide);
    }
    let Some(mut pieces) = pieces else { return Ok(Sliced::Whole) };
    let waits = plan.of_waits();
    // What is asked is not the same of all threads of a slice, so threads that are alike cannot stand for each other.
    let treatment = Treatment { symmetry: false, ..config.treatment };
    let config = &Config { treatment, ..config.clone() };
    let mut run = Run {
        graph,
        model,
        config,
        allowance: if is_wide { &wide } else { allowance },
        leaves_out_writes: !facts.is_off(&facts::WRITING_WAITS),
        refuted: FxHashSet::default(),
        statistics: Statistics::default(),
        effort: Effort::following(config.follow),
    };
    if let Some((without_memory, with_memory)) = &waits
        && !run.is_fine(without_memory)?
        && !(match with_memory {
            Some(piece) => run.is_fine(piece)?,
            None => false,
        })
    {
        return Ok(Sliced::Open);
    }
    while let Some(wrong) = run.first_wrong(&pieces)? {
        if is_wide || !plan.widen() {
            return Ok(Sliced::Open);
        }
        (is_wide, run.allowance) = (true, &wide);
        // If more of its surroundings does not help where something went wrong, it does not help anywhere.
        let known = if wrong.about == About::Threads { plan.around(wrong.centre) } else { None };
        if let Some(known) = &known
            && !run.is_fine(known)?
        {
            return Ok(Sliced::Open);
        }
        let Some(wider) = plan.pieces(known.as_ref(), &wide) else { return Ok(Sliced::Open) };
        pieces = wider;
    }
    let Run { statistics, effort, .. } = run;
    let Ok(cells) = add_initial_writes(graph) else { return Ok(Sliced::Open) };
    let is_asked = config.properties.contains(&Property::Reachable)
        || claims_of_the_end(config, graph)
        || assumes_unasked(config, graph);
    if is_asked && !(treatment.interleave && completes(graph, &cells, model)) {
        return Ok(Sliced::Open);
    }
    let Effort { learnt: conflicts, calls: solver_calls, .. } = effort;
    let followed = config.follow.then_some(effort.followed);
    let events = graph.events.len();
    Ok(Sliced::Fine(Statistics { conflicts, solver_calls, followed, events, ..statistics }))
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

struct Run<'a> {
    graph: &'a EventGraph,
    model: &'a MemoryModel,
    config: &'a Config,
    allowance: &'a Allowance,
    /// Whether rounds are left out that write back what they have read.
    leaves_out_writes: bool,
    /// What some slice has been asked and happens nowhere.
    refuted: FxHashSet<Question>,
    statistics: Statistics,
    effort: Effort,
}

impl Run<'_> {
    /// The first slice that may go wrong.
    fn first_wrong<'p>(&mut self, pieces: &'p [Piece]) -> Result<Option<&'p Piece>, CheckError> {
        for piece in pieces {
            if !self.is_fine(piece)? {
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Whether nothing that a slice asks about happens in it.
    fn is_fine(&mut self, piece: &Piece) -> Result<bool, CheckError> {
        let stop = || self.allowance.used_up().is_some();
        let graph = piece.graph(self.graph);
        let roots = roots(self.model, &graph);
        let (graph, prepared) = prepare(graph, self.model, &roots, self.config, self.allowance);
        let (cells, table, effort) = match prepared {
            Ok(prepared) => prepared,
            Err(Unprepared::Unfollowed(unfollowed)) => return Err(not_followed(unfollowed)),
            Err(Unprepared::Limit(_)) => return Ok(false),
        };
        // Whether a round may be left out is a matter of the whole.
        if self.leaves_out_writes && needs::raced_word(&graph, self.model, &table).is_some() {
            return Ok(false);
        }
        self.effort.add(effort);
        let problem = Problem { graph: &graph, cells: &cells, model: self.model, table: &table };
        let clauses_max = self.config.limits.clauses_max;
        let Ok(encoding) = encode(problem, self.config.treatment, clauses_max, &stop) else {
            return Ok(false);
        };
        let asked = encoding.goals.iter().filter(|goal| self.asks(piece, problem, goal));
        let (mut any, mut questions) = (Vec::new(), Vec::new());
        for goal in asked {
            let question = question(piece, &goal.kind);
            if !question.is_some_and(|question| self.refuted.contains(&question)) {
                any.push(goal.literal);
                questions.extend(question);
            }
        }
        self.statistics.open_goals += any.len();
        self.statistics.variables += encoding.formula.n_variables();
        self.statistics.clauses += encoding.formula.n_clauses();
        any.push(encoding.cut);
        any.retain(|&literal| literal != Literal::FALSE);
        let is_fine = any.is_empty() || {
            let answer =
                solve(&encoding.formula, &[any], self.allowance, &mut self.effort).map_err(not_followed)?;
            matches!(answer, Answer::Unsatisfiable)
        };
        if is_fine {
            self.refuted.extend(questions);
        }
        Ok(is_fine)
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

/// Whether some execution runs every thread to its end, and reaches what should be reachable.
fn completes(graph: &EventGraph, cells: &Cells, model: &MemoryModel) -> bool {
    let Some(execution) = interleave(graph, cells) else { return false };
    let Ok(witness) = recheck(graph, cells, model, execution, GoalKind::Completion) else { return false };
    let is_reached = |span| {
        let mut instances = graph.reachables.iter().filter(|own| own.span == span);
        instances.any(|own| witness.values[own.condition] == 1)
    };
    let mut of_the_end = graph.finals.iter().filter(|own| own.kind == FinalKind::Reachable);
    graph.reachables.iter().all(|own| is_reached(own.span))
        && of_the_end.all(|own| witness.values[own.condition] == 1)
}
