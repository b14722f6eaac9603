//! The one door for questions that are asked to learn something.
//!
//! Rounds ask whether an update certainly follows a reset, lemmas whether an assertion certainly holds, slices whether their
//! goals are certainly reached by nobody. Each is a *fact*: no assignment of a formula makes one of some literals true. Here it
//! is asked within a budget, and only here it becomes certain.
//!
//! Sound: a fact is certain only where the solver has answered *unsatisfiable* of the formula together with the clause of its
//! literals, or where there is no literal left that could be true. A budget that ends leaves it open. What a fact of the formula
//! says of executions is the matter of who asks.
//!
//! Needs: nothing. It is about formulas.

use crate::cnf::{Formula, Literal};
use crate::solve::{Answer, Assignment, Effort, Questions, Unfollowed, solve};
use crate::work::Allowance;

/// That a formula never makes any of some literals true.
pub(super) struct Never<'a, 'formula> {
    pub(super) of: Of<'a, 'formula>,
    pub(super) any: &'a [Literal],
}

/// What a fact is about.
pub(super) enum Of<'a, 'formula> {
    /// One formula, asked by itself: the answer depends on nothing else.
    Formula(&'a Formula),
    /// A formula that one fact after the other is asked of, each certain one given to the next.
    Series(&'a mut Questions<'formula>),
}

/// What is known of a fact once it was asked.
pub(super) enum Certainty {
    /// It holds.
    Certain,
    /// It does not: this assignment makes a literal true.
    Refuted(Assignment),
    /// The budget did not suffice.
    Open,
}

/// Whether a fact is certain.
///
/// # Errors
/// If the answer is to be followed and cannot be.
pub(super) fn certain(
    fact: Never<'_, '_>,
    budget: &Allowance,
    effort: &mut Effort,
) -> Result<Certainty, Unfollowed> {
    let any: Vec<Literal> = fact.any.iter().copied().filter(|&literal| literal != Literal::FALSE).collect();
    if any.is_empty() {
        return Ok(Certainty::Certain);
    }
    let answer = match fact.of {
        Of::Formula(formula) => solve(formula, &[any], budget, effort)?,
        Of::Series(questions) => questions.ask(&any, budget, effort)?,
    };
    Ok(match answer {
        Answer::Unsatisfiable => Certainty::Certain,
        Answer::Satisfiable(assignment) => Certainty::Refuted(assignment),
        Answer::Stopped => Certainty::Open,
    })
}
