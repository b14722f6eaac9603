//! Assertions as lemmas of each other.
//!
//! Where each of many threads goes by what the one before it has worked out, as in a look-back, an assertion in each says
//! what that is. Asked whether any goal can be reached, the solver tries the end of the line as well as its start, and with it
//! all that may have gone wrong before. Asked of one after the other, from the start, each is easy to refute once those before
//! it are known to hold. So a question that is not answered soon is put this way.
//!
//! Sound: what is added to the formula says of a goal that it is not reached, after the solver has found that formula to be
//! without an execution that reaches it. So the formula has the same assignments as before.
//!
//! Needs: nothing. It is about formulas.

use super::certain::{Certainty, Never, Of, certain};
use super::{CheckError, Decider, not_followed};
use crate::cnf::Literal;
use crate::encode::goal::{Goal, GoalKind};
use crate::encode::{Encoding, Problem};
use crate::evidence::Role;
use crate::solve::{Assignment, Questions};

/// Most questions that assertions are asked in; with more assertions, several are asked about together.
const QUESTIONS_MAX: usize = 64;

/// A question may take this part of what the budget has left.
const LEMMA_SHARE: u64 = 16;

impl Decider<'_> {
    /// An execution that reaches one of some goals; of the goals that are shown to be reached by none, the literals are noted.
    pub(super) fn reach_any(
        &mut self,
        problem: Problem<'_>,
        encoding: &Encoding,
        goals: &[&Goal],
    ) -> Result<Option<Assignment>, CheckError> {
        let soon = self.config.treatment.lemmas_from;
        let assertions = self.in_order(problem, goals);
        let mut any: Vec<Literal> = goals.iter().map(|goal| goal.literal).collect();
        if assertions.len() < 2 || soon >= self.allowance.left() {
            return self.solve(encoding, &self.with_lemmas(any));
        }
        if let Some(answer) =
            self.solve_within(encoding, &self.with_lemmas(any.clone()), &self.allowance.part(soon))?
        {
            return Ok(answer);
        }
        let half = self.allowance.part(self.allowance.left() / 2);
        self.begin(Role::Lemma);
        let mut questions = Questions::new(&encoding.formula, (&self.refuted, &any), &half, &mut self.effort);
        for some in assertions.chunks(assertions.len().div_ceil(QUESTIONS_MAX)) {
            let part = half.part(self.allowance.left() / LEMMA_SHARE);
            let fact = Never { of: Of::Series(&mut questions), any: some };
            match certain(fact, &part, &mut self.effort).map_err(not_followed)? {
                Certainty::Certain => self.refuted.extend(some),
                Certainty::Refuted(assignment) => return Ok(Some(assignment)),
                // What is hard by itself does not become easier among the others.
                Certainty::Open => break,
            }
        }
        self.begin(Role::Goals);
        any.retain(|literal| !self.refuted.contains(literal));
        if any.is_empty() {
            return Ok(None);
        }
        self.solve(encoding, &self.with_lemmas(any))
    }

    /// One of some literals, and none that is known to be false.
    fn with_lemmas(&self, any: Vec<Literal>) -> Vec<Vec<Literal>> {
        self.refuted.iter().map(|&literal| vec![!literal]).chain([any]).collect()
    }

    /// The assertions among some goals, those that come early in their threads first.
    fn in_order(&self, problem: Problem<'_>, goals: &[&Goal]) -> Vec<Literal> {
        let mut assertions: Vec<_> = goals
            .iter()
            .filter_map(|goal| match goal.kind {
                GoalKind::Obligation(index) => {
                    let obligation = &problem.graph.obligations[index];
                    Some((obligation.position, obligation.agent, index, goal.literal))
                }
                _ => None,
            })
            .collect();
        assertions.sort_unstable();
        assertions.into_iter().map(|(.., literal)| literal).collect()
    }
}
