//! A launch of many threads, in slices (see [`crate::slice`]): whether none of them can go wrong.

use super::prepare::{Unprepared, prepare, roots};
use super::{CheckError, Config, assumes_unasked, claims_of_the_end, is_unasked, not_followed, property_of};
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Problem, Treatment, encode};
use crate::event::EventGraph;
use crate::event::cell::{Cells, add_initial_writes};
use crate::facts::needs::{self, Need};
use crate::facts::{self, Facts};
use crate::slice::{Piece, Plan};
use crate::solve::{Answer, Effort, solve};
use crate::unroll::n_threads;
use crate::verdict::{Limit, Property, Statistics};
use crate::witness::interleaving::interleave;
use crate::witness::recheck::recheck;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::Launch;

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
    let Some(pieces) = plan.and_then(|plan| plan.pieces(allowance)) else { return Ok(Sliced::Whole) };
    // What is asked is not the same of all threads of a slice, so threads that are alike cannot stand for each other.
    let treatment = Treatment { symmetry: false, ..config.treatment };
    let config = &Config { treatment, ..config.clone() };
    let mut run = Run {
        graph,
        model,
        config,
        allowance,
        leaves_out_writes: !facts.is_off(&facts::WRITING_WAITS),
        statistics: Statistics::default(),
        effort: Effort::following(config.follow),
    };
    for piece in &pieces {
        if !run.is_fine(piece)? {
            return Ok(Sliced::Open);
        }
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

struct Run<'a> {
    graph: &'a EventGraph,
    model: &'a MemoryModel,
    config: &'a Config,
    allowance: &'a Allowance,
    /// Whether rounds are left out that write back what they have read.
    leaves_out_writes: bool,
    statistics: Statistics,
    effort: Effort,
}

impl Run<'_> {
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
        let mut any: Vec<Literal> = asked.map(|goal| goal.literal).collect();
        self.statistics.open_goals += any.len();
        self.statistics.variables += encoding.formula.n_variables();
        self.statistics.clauses += encoding.formula.n_clauses();
        any.push(encoding.cut);
        any.retain(|&literal| literal != Literal::FALSE);
        if any.is_empty() {
            return Ok(true);
        }
        let answer =
            solve(&encoding.formula, &[any], self.allowance, &mut self.effort).map_err(not_followed)?;
        Ok(matches!(answer, Answer::Unsatisfiable))
    }

    fn asks(&self, piece: &Piece, problem: Problem<'_>, goal: &Goal) -> bool {
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
    graph.reachables.iter().all(|own| is_reached(own.span))
}
