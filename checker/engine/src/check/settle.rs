//! What is settled without the solver: goals that bounds have closed, and what one execution found by running shows.
//!
//! Straight-line barrier code ends here: every goal is false by bounds, and an execution that completes is made by
//! running the threads in turns.

use crate::cnf::Literal;
use crate::encode::goal::{GoalKind, ReachableGoal, is_asked};
use crate::encode::{Encoding, Problem, Treatment};
use crate::event::{EventGraph, EventId, FinalGoal, Obligation, ObligationKind, TermRef};
use crate::findings;
use crate::relation::algebra::Value;
use crate::verdict::Property;
use crate::witness::interleaving::interleave;
use crate::witness::recheck::recheck;
use crate::witness::{Execution, Witness};
use fencepost_dsl::Span;
use fencepost_dsl::cat::memory_model::Flag;
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

/// Whether bounds leave nothing to be asked of whether anything goes wrong, so that there is no formula to state; of pairs that
/// a flag may hold of, those of `is_asked_of` count.
///
/// Sound: a goal that the encoder makes is of a pair that the bounds of a flag have, or of an obligation, a loop cut, a wait
/// or a claim of the end, whose terms are no constants.
///
/// Needs: nothing. It is what the encoder does with bounds, before it does it.
pub(super) fn closed_by_bounds(problem: Problem<'_>, is_asked_of: impl Fn(EventId, EventId) -> bool) -> bool {
    let Problem { graph, model, .. } = problem;
    let asserts = |goal: &FinalGoal| goal.kind == FinalKind::Assert && !is(graph, goal.condition, 1);
    graph.blocked.is_empty()
        && graph.condition.is_none()
        && !graph.finals.iter().any(asserts)
        && graph.cuts.iter().all(|cut| is(graph, cut.guard, 0))
        && graph.obligations.iter().all(|own| is_met(graph, own))
        && asked_flags(problem).all(|flag| holds_nowhere(problem, &model.flags[flag], &is_asked_of))
}

/// The properties of which bounds leave nothing to be asked, though they leave something of others: so what stops the rest does
/// not stop them.
///
/// Sound: as for all of them. What ends a thread is asked of all properties: behind it nothing is followed, so none is proved
/// while such a rule may be broken. Where executions are cut, or an assumption is not seen to be met, this says nothing.
///
/// Needs: nothing.
pub(super) fn properties_closed_by_bounds(problem: Problem<'_>, treatment: Treatment) -> Vec<Property> {
    let Problem { graph, model, .. } = problem;
    let is_followed = graph.condition.is_none()
        && graph.cuts.iter().all(|cut| is(graph, cut.guard, 0))
        && graph.obligations.iter().all(|own| own.kind == ObligationKind::Assertion || is_met(graph, own));
    if !is_followed {
        return Vec::new();
    }
    let property = |flag: usize| findings::flag(&model.flags[flag].name).property();
    let closed: Vec<(Property, bool)> = asked_flags(problem)
        .map(|flag| (property(flag), holds_nowhere(problem, &model.flags[flag], &|_, _| true)))
        .collect();
    let is_closed = |own: Property| closed.iter().all(|&(property, is_closed)| property != own || is_closed);
    if ![Property::Barrier, Property::Bounds].into_iter().all(is_closed) {
        return Vec::new();
    }
    let has_no_other = |own: Property| match own {
        Property::Race | Property::Barrier | Property::Bounds | Property::Lifetime => true,
        Property::Deadlock => graph.blocked.is_empty(),
        Property::Assert => {
            !graph.finals.iter().any(|goal| goal.kind == FinalKind::Assert)
                && graph.obligations.iter().all(|own| is_met(graph, own))
        }
        Property::Reachable | Property::Condition => false,
    };
    let found = Property::ALL.into_iter().filter(|&own| has_no_other(own) && is_closed(own));
    let found: Vec<Property> = found.collect();
    // Assumptions may leave nothing of which anything could be said.
    let says_something =
        found.is_empty() || !graph.assumes || Settled::unstated(problem, treatment).witness.is_some();
    if says_something { found } else { Vec::new() }
}

fn is(graph: &EventGraph, term: TermRef, value: u128) -> bool {
    graph.terms.constant_value(term) == Some(value)
}

fn is_met(graph: &EventGraph, own: &Obligation) -> bool {
    is(graph, own.guard, 0) || is(graph, own.condition, 1)
}

fn asked_flags<'a>(problem: Problem<'a>) -> impl Iterator<Item = usize> + 'a {
    let flags = problem.model.flags.iter().enumerate();
    flags.filter(move |(_, flag)| is_asked(flag, problem.graph)).map(|(number, _)| number)
}

fn holds_nowhere(problem: Problem<'_>, flag: &Flag, is_asked_of: &impl Fn(EventId, EventId) -> bool) -> bool {
    match problem.table.values.get(flag.term) {
        Some(Value::Set(set)) => !set.may.iter().any(|event| is_asked_of(event, event)),
        Some(Value::Relation(relation)) => !relation.may.pairs().any(|(a, b)| is_asked_of(a, b)),
        None => false,
    }
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
        if settled_by_bounds(encoding.complete).is_some() {
            return Self { witness: None };
        }
        Self::unstated(problem, treatment)
    }

    /// The same where there is no formula.
    pub(super) fn unstated(problem: Problem<'_>, treatment: Treatment) -> Self {
        if !treatment.interleave {
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
        self.is_reached(graph, goal.span).then_some(true).or(settled_by_bounds(goal.literal))
    }

    /// Whether the execution that was made completes, and reaches whatever should be reachable.
    pub(super) fn reaches_all(&self, graph: &EventGraph) -> bool {
        self.witness.is_some() && Self::asked(graph).all(|(span, _)| self.is_reached(graph, span))
    }

    fn is_reached(&self, graph: &EventGraph, place: Span) -> bool {
        let shown = |witness: &Witness, term: TermRef| witness.values[term] == 1;
        self.witness.as_ref().is_some_and(|witness| {
            Self::asked(graph).any(|(span, condition)| span == place && shown(witness, condition))
        })
    }

    /// What should be reachable, and where that is said.
    fn asked(graph: &EventGraph) -> impl Iterator<Item = (Span, TermRef)> {
        let statements = graph.reachables.iter().map(|reachable| (reachable.span, reachable.condition));
        let finals = graph.finals.iter().filter(|goal| goal.kind == FinalKind::Reachable);
        statements.chain(finals.map(|goal| (goal.span, goal.condition)))
    }
}
