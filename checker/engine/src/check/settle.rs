//! What is settled without the solver: goals that bounds have closed, and what one execution found by running shows.
//!
//! Straight-line barrier code ends here: every goal is false by bounds, and an execution that completes is made by
//! running the threads in turns.

use crate::cnf::Literal;
use crate::encode::goal::{GoalKind, ReachableGoal};
use crate::encode::{Encoding, Problem, Treatment};
use crate::event::{EventGraph, TermRef};
use crate::witness::interleaving::interleave;
use crate::witness::recheck::recheck;
use crate::witness::{Execution, Witness};
use fencepost_dsl::kernel::program::FinalKind;

/// What bounds say of "some execution makes this literal true": nothing, unless it is constant.
///
/// Sound: the encoder folds a goal to a constant only from bounds and term values that hold of every execution. That
/// *true* holds of some execution needs one to exist, so it is left to the solver.
///
/// Needs: nothing.
pub(super) fn settled_by_bounds(goal: Literal) -> Option<bool> {
    (goal == Literal::FALSE).then_some(false)
}

/// An execution that was made without the solver, if one was.
pub(super) struct Settled {
    witness: Option<Witness>,
}

impl Settled {
    /// Runs the threads in turns, unless that is off or bounds say already that nothing completes.
    ///
    /// Sound: only an execution counts that the re-check accepts, with the claim that every thread runs to its end. The
    /// re-check uses neither bounds nor formula, so it is as good a witness as a decoded one; none is no answer.
    ///
    /// Needs: nothing. The re-check asks all axioms, whichever they are.
    pub(super) fn new(problem: Problem<'_>, encoding: &Encoding, treatment: Treatment) -> Self {
        if !treatment.interleave || settled_by_bounds(encoding.complete).is_some() {
            return Self { witness: None };
        }
        let accepted = |execution| {
            recheck(problem.graph, problem.cells, problem.model, execution, GoalKind::Completion).ok()
        };
        Self { witness: interleave(problem.graph, problem.cells).and_then(accepted) }
    }

    /// The execution that was made, if one was.
    pub(super) fn execution(&self) -> Option<&Execution> {
        self.witness.as_ref().map(|witness| &witness.execution)
    }

    /// Whether some execution completes; `None` if the solver has to say.
    pub(super) fn completes(&self, encoding: &Encoding) -> Option<bool> {
        self.witness.as_ref().map(|_| true).or(settled_by_bounds(encoding.complete))
    }

    /// Whether some execution reaches it; `None` if the solver has to say.
    pub(super) fn reaches(&self, graph: &EventGraph, goal: &ReachableGoal) -> Option<bool> {
        let statements = graph.reachables.iter().map(|reachable| (reachable.span, reachable.condition));
        let finals = graph.finals.iter().filter(|goal| goal.kind == FinalKind::Reachable);
        let mut conditions = statements.chain(finals.map(|goal| (goal.span, goal.condition)));
        let shown = |witness: &Witness, term: TermRef| witness.values[term] == 1;
        let is_reached = self.witness.as_ref().is_some_and(|witness| {
            conditions.any(|(span, condition)| span == goal.span && shown(witness, condition))
        });
        is_reached.then_some(true).or(settled_by_bounds(goal.literal))
    }
}
