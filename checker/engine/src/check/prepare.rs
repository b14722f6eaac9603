//! The passes between unrolling and solving: initial writes, bounds, and what is deduced from them.

use super::{Config, impossible, recursion_limit, rounds, tries};
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind, is_asked};
use crate::encode::{EncodeError, Problem, encode};
use crate::event::cell::{Cells, add_initial_writes};
use crate::event::{Event, EventGraph, ObligationKind, Role, TermPool};
use crate::facts::{Deduction, KNOWN_VALUES, PRUNE_SPINS, RESETS, SYMMETRY};
use crate::relation::base::Basis;
use crate::relation::{RelationTable, bound, symmetry};
use crate::solve::{Effort, Unfollowed};
use crate::verdict::Limit;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::{MemoryModel, TermId};

/// Terms whose bounds are needed: axioms, and flags that are no refinements.
pub(super) fn roots(model: &MemoryModel, graph: &EventGraph) -> Vec<TermId> {
    model.axioms.iter().map(|axiom| axiom.term).chain(flag_terms(model, graph)).collect()
}

pub(super) fn flag_terms(model: &MemoryModel, graph: &EventGraph) -> Vec<TermId> {
    model.flags.iter().filter(|flag| is_asked(flag, graph)).map(|flag| flag.term).collect()
}

/// Why a graph has no bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unprepared {
    /// A limit stopped it.
    Limit(Limit),
    /// An answer on the way was to be followed and could not be.
    Unfollowed(Unfollowed),
}

impl From<Limit> for Unprepared {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<Unfollowed> for Unprepared {
    fn from(unfollowed: Unfollowed) -> Self {
        Self::Unfollowed(unfollowed)
    }
}

/// A graph, what is known of it, and what that may cost.
pub(super) struct Known<'a> {
    pub(super) graph: EventGraph,
    pub(super) cells: Cells,
    pub(super) table: RelationTable,
    pub(super) model: &'a MemoryModel,
    pub(super) config: &'a Config,
    pub(super) allowance: &'a Allowance,
    /// What the solver did for it.
    pub(super) effort: Effort,
    roots: &'a [TermId],
}

impl Known<'_> {
    /// Bounds from what is known of base relations.
    pub(super) fn bounds(&self, basis: Basis) -> Result<RelationTable, Limit> {
        let stop = || self.allowance.used_up().is_some();
        let classes = &self.table.classes;
        let bounds = bound(basis, self.model, self.roots, self.config.treatment.tighten, classes, &stop);
        bounds.map_err(|_| self.config.used_up(self.allowance))
    }
}

/// What a deduction came to.
pub(super) enum Learnt {
    /// Nothing.
    Nothing,
    /// Something about the graph, of which base relations and bounds are made anew.
    Graph,
}

/// A deduction from bounds.
struct Step {
    row: &'static Deduction,
    run: fn(&mut Known<'_>) -> Result<Learnt, Unprepared>,
}

/// In this order, each once: what a read cannot return makes tries of rounds, tries that are left out make orders of rounds
/// cheap to ask for, and nothing that the last one learns is about reads or tries.
const STEPS: [Step; 3] = [
    Step { row: &KNOWN_VALUES, run: impossible::exclude },
    Step { row: &PRUNE_SPINS, run: tries::prune },
    Step { row: &RESETS, run: rounds::order },
];

/// Initial writes, bounds, and what follows from them. After this pass every pair of every relation is impossible, certain or
/// open.
pub(super) fn prepare(
    mut graph: EventGraph,
    model: &MemoryModel,
    roots: &[TermId],
    config: &Config,
    allowance: &Allowance,
) -> (EventGraph, Result<(Cells, RelationTable, Effort), Unprepared>) {
    let cells = match add_initial_writes(&mut graph) {
        Ok(cells) => cells,
        Err(too_many) => {
            let limit = crate::event::cell::CELLS_MAX as u64;
            return (graph, Err(Limit::Cells { location: too_many.location, limit }.into()));
        }
    };
    let treatment = config.treatment;
    let basis_of = |graph: &EventGraph, cells: &Cells| {
        Basis::new(graph, cells, treatment.known_values, treatment.counting)
    };
    let mut basis = basis_of(&graph, &cells);
    let mut classes = Vec::new();
    if SYMMETRY.is_on(treatment) {
        classes = symmetry::classes(&graph, &cells, &basis);
        if symmetry::represent(&mut graph, &classes) {
            basis = basis_of(&graph, &cells);
        }
    }
    let stop = || allowance.used_up().is_some();
    let Ok(table) = bound(basis, model, roots, treatment.tighten, &classes, &stop) else {
        return (graph, Err(config.used_up(allowance).into()));
    };
    let effort = config.effort();
    let mut known = Known { graph, cells, table, model, config, allowance, effort, roots };
    for step in STEPS.iter().filter(|step| step.row.is_on(treatment)) {
        let before = (known.graph.constraints.len(), n_left_out(&known));
        let learnt = (step.run)(&mut known).and_then(|learnt| match learnt {
            Learnt::Nothing => Ok(()),
            Learnt::Graph => {
                known.table = known.bounds(basis_of(&known.graph, &known.cells))?;
                Ok(())
            }
        });
        if let Err(why) = learnt {
            return (known.graph, Err(why));
        }
        let (n_constraints, n_out) =
            (known.graph.constraints.len() - before.0, n_left_out(&known) - before.1);
        if let Some(record) = known.effort.record() {
            match step.row.name {
                name if name == PRUNE_SPINS.name => record.note(step.row, n_out, "events that were left out"),
                _ => record.note(step.row, n_constraints, "constraints on what reads return"),
            }
        }
    }
    if let Some(record) = known.effort.record() {
        record.note_prepared(&known.table);
    }
    (known.graph, Ok((known.cells, known.table, known.effort)))
}

/// Events of tries that are in no execution, if somebody wants to know.
fn n_left_out(known: &Known<'_>) -> usize {
    let is_out = |event: &&Event| matches!(event.role, Role::Spin(_)) && event.guard == TermPool::FALSE;
    if known.config.record { known.graph.events.iter().filter(is_out).count() } else { 0 }
}

/// What `fencepost emit` shows of the passes after unrolling.
#[derive(Clone, Debug)]
pub struct Artefacts {
    /// Per named relation of the model, its certain and its open pairs.
    pub bounds: String,
    /// The formula in DIMACS: executions of the launch, without a goal.
    pub cnf: String,
    /// The same with a last clause that asks for an execution in which something goes wrong: there is none if, and only if, the
    /// launch has no violation up to the loop bound.
    pub cnf_with_goal: String,
}

/// What a goal is about, for who reads a formula: events have the numbers that they have in it.
fn told(goal: &Goal, problem: Problem<'_>) -> String {
    match goal.kind {
        GoalKind::Flag { flag, pair: (a, b) } => {
            format!("{} of e{} and e{}", problem.model.flags[flag].name, a.0, b.0)
        }
        GoalKind::Obligation(index) => {
            let obligation = &problem.graph.obligations[index];
            let what = match &obligation.kind {
                ObligationKind::Assertion => "assert::violated",
                ObligationKind::Bounds { .. } => "bounds::out-of-bounds",
                ObligationKind::Discipline(misuse) => misuse.code(),
            };
            format!("{what} by {}", problem.graph.hierarchy.describe(obligation.agent))
        }
        GoalKind::Final(index) => format!("final condition {index}"),
        GoalKind::Deadlock => "deadlock".to_owned(),
        GoalKind::NotResident => "deadlock::not-co-resident".to_owned(),
        GoalKind::Condition => "the condition of the litmus test".to_owned(),
        GoalKind::Completion => "completion".to_owned(),
    }
}

/// Bounds and formula of a graph, without solving.
///
/// # Errors
/// What stopped it.
pub fn artefacts(graph: EventGraph, model: &MemoryModel, config: &Config) -> Result<Artefacts, Unprepared> {
    let allowance = config.allowance();
    let stop = || allowance.used_up().is_some();
    let roots = roots(model, &graph);
    let (graph, prepared) = prepare(graph, model, &roots, config, &allowance);
    let (cells, table, _) = prepared?;
    let problem = Problem { graph: &graph, cells: &cells, model, table: &table };
    let bounds = crate::relation::dump(model, &table);
    let clauses_max = config.limits.clauses_max;
    match encode(problem, config.treatment, clauses_max, &stop) {
        Ok(encoding) => {
            let goals = || encoding.goals.iter().filter(|goal| goal.literal != Literal::FALSE);
            let said: Vec<String> = std::iter::once("what goes wrong, one of these:".to_owned())
                .chain(goals().map(|goal| format!("{} {}", goal.literal.to_dimacs(), told(goal, problem))))
                .collect();
            let clause: Vec<Literal> = goals().map(|goal| goal.literal).collect();
            let cnf_with_goal = encoding.formula.to_dimacs_with(Some((&said, &clause)));
            Ok(Artefacts { bounds, cnf: encoding.formula.to_dimacs(), cnf_with_goal })
        }
        Err(EncodeError::Stopped) => Err(config.used_up(&allowance).into()),
        Err(EncodeError::TooManyClauses { .. }) => Err(Limit::Clauses { limit: clauses_max as u64 }.into()),
        Err(EncodeError::RecursionTooLarge { term }) => Err(recursion_limit(model, term).into()),
    }
}
