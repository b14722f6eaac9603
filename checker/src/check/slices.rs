//! A launch of many threads, in slices (see [`crate::slice`]): whether none of them can go wrong.

use super::prepare::{prepare, roots};
use super::{Config, property_of};
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Problem, encode};
use crate::event::EventGraph;
use crate::event::cell::add_initial_writes;
use crate::slice::{Piece, Plan};
use crate::solve::{Answer, Effort, solve};
use crate::verdict::{Property, Statistics};
use crate::witness::interleaving::interleave;
use crate::witness::recheck::recheck;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// What slices say of a launch.
pub(super) enum Sliced {
    /// It has none.
    Whole,
    /// One of them may go wrong, or it is not known whether anything completes.
    Open,
    /// Nothing goes wrong; what was done.
    Fine(Statistics),
}

/// Whether nothing goes wrong, as far as slices tell.
pub(super) fn look_at(
    graph: &EventGraph,
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
) -> Sliced {
    if graph.events.len() < config.treatment.slices_from {
        return Sliced::Whole;
    }
    let plan = Plan::new(graph, model);
    let Some(pieces) = plan.and_then(|plan| plan.pieces(allowance)) else { return Sliced::Whole };
    let mut run =
        Run { graph, model, config, allowance, statistics: Statistics::default(), effort: Effort::default() };
    let is_fine = pieces.iter().all(|piece| run.is_fine(piece));
    let Run { statistics, effort, .. } = run;
    let (conflicts, solver_calls, events) = (effort.learnt, effort.calls, graph.events.len());
    let is_known_to_complete = || {
        !config.properties.contains(&Property::Reachable)
            || config.treatment.interleave && completes(graph, model)
    };
    if is_fine && is_known_to_complete() {
        Sliced::Fine(Statistics { conflicts, solver_calls, events, ..statistics })
    } else {
        Sliced::Open
    }
}

struct Run<'a> {
    graph: &'a EventGraph,
    model: &'a MemoryModel,
    config: &'a Config,
    allowance: &'a Allowance,
    statistics: Statistics,
    effort: Effort,
}

impl Run<'_> {
    /// Whether nothing that a slice asks about happens in it.
    fn is_fine(&mut self, piece: &Piece) -> bool {
        let stop = || self.allowance.used_up().is_some();
        let graph = piece.graph(self.graph);
        let roots = roots(self.model, &graph);
        let (graph, prepared) = prepare(graph, self.model, &roots, self.config, self.allowance);
        let Ok((cells, table)) = prepared else { return false };
        let problem = Problem { graph: &graph, cells: &cells, model: self.model, table: &table };
        let clauses_max = self.config.limits.clauses_max;
        let Ok(encoding) = encode(problem, self.config.treatment, clauses_max, &stop) else { return false };
        let asked = encoding.goals.iter().filter(|goal| self.asks(piece, problem, goal));
        let mut any: Vec<Literal> = asked.map(|goal| goal.literal).collect();
        self.statistics.open_goals += any.len();
        self.statistics.variables += encoding.formula.n_variables();
        self.statistics.clauses += encoding.formula.n_clauses();
        any.push(encoding.cut);
        any.retain(|&literal| literal != Literal::FALSE);
        let mut is_impossible = || solve(&encoding.formula, &[any.clone()], self.allowance, &mut self.effort);
        any.is_empty() || matches!(is_impossible(), Ok(Answer::Unsatisfiable))
    }

    fn asks(&self, piece: &Piece, problem: Problem<'_>, goal: &Goal) -> bool {
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
fn completes(graph: &EventGraph, model: &MemoryModel) -> bool {
    let mut graph = graph.clone();
    let Ok(cells) = add_initial_writes(&mut graph) else { return false };
    let Some(execution) = interleave(&graph, &cells) else { return false };
    let Ok(witness) = recheck(&graph, &cells, model, execution, GoalKind::Completion) else { return false };
    let is_reached = |span| {
        let mut instances = graph.reachables.iter().filter(|own| own.span == span);
        instances.any(|own| witness.values[own.condition] == 1)
    };
    graph.reachables.iter().all(|own| is_reached(own.span))
}
