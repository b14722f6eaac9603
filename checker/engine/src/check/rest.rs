//! What is asked besides whether anything goes wrong: the litmus condition, the loop bound, what should be possible, and
//! whether rules hold that nobody asked about.

use super::settle::Settled;
use super::{CheckError, Decider, assumes_unasked, claims_of_the_end, is_unasked};
use crate::cnf::Literal;
use crate::encode::goal::{ConditionGoal, GoalKind};
use crate::encode::{Encoding, Problem};
use crate::event::{Because, ObligationKind, TermPool};
use crate::evidence::{Role, Shown};
use crate::findings;
use crate::verdict::{OpenLoop, Property, Unasked, Vacuity};
use crate::witness::decode::decode;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::Quantifier;
use fencepost_dsl::sorted::SortedMap;

impl Decider<'_> {
    /// Whether some execution breaks a rule of which nobody asked, and after which nothing has a meaning.
    ///
    /// Threads are not followed behind such a place, so what was asked is known only of executions that keep the rule.
    pub(super) fn ask_unasked(
        &mut self,
        problem: Problem<'_>,
        encoding: &Encoding,
    ) -> Result<(), CheckError> {
        let unasked = encoding.goals.iter().filter(|goal| is_unasked(self.config, problem, goal));
        let any: Vec<_> = unasked.clone().map(|goal| goal.literal).collect();
        if any.is_empty() || self.decision.limit.is_some() {
            return Ok(());
        }
        self.begin(Role::Unasked);
        let Some(assignment) = self.solve(encoding, &[any])? else { return Ok(()) };
        let Some(found) = unasked.clone().find(|goal| assignment.is_true(goal.literal)) else {
            let message = "the solver's assignment satisfies no goal".into();
            return Err(CheckError::SelfCheck { pass: "solve", message });
        };
        let finding = self.finding(problem, encoding, &assignment, found.kind.clone())?;
        let code = match &found.kind {
            GoalKind::Flag { flag, .. } => findings::flag(&problem.model.flags[*flag].name).kind.code,
            GoalKind::Obligation(index) => match &problem.graph.obligations[*index].kind {
                ObligationKind::Discipline(misuse) => misuse.code(),
                _ => findings::bounds::OUT_OF_BOUNDS.code,
            },
            _ => "",
        };
        self.decision.unasked = Some(Unasked { finding, code });
        Ok(())
    }

    /// The litmus condition, the loop bound, and what should be possible.
    pub(super) fn ask_rest(&mut self, problem: Problem<'_>, encoding: &Encoding) -> Result<(), CheckError> {
        if self.decision.limit.is_none()
            && self.config.properties.contains(&Property::Condition)
            && let Some(goal) = encoding.condition
        {
            self.begin(Role::Condition);
            if let Some(assignment) = self.solve(encoding, &[vec![goal.wanted]])? {
                let found = self.finding(problem, encoding, &assignment, GoalKind::Condition)?;
                self.decision.condition_witness = Some(found.witness);
            } else {
                self.ask_filter(problem, encoding, goal)?;
            }
        }
        let is_decided =
            self.decision.condition_witness.is_some() && self.config.properties == [Property::Condition];
        if self.decision.limit.is_none() && !is_decided {
            self.ask_bound(problem, encoding)?;
        }
        if self.decision.limit.is_none() {
            if self.config.properties.contains(&Property::Reachable) {
                self.ask_vacuity(problem, encoding)?;
            } else if self.is_condition_universal(problem)
                || claims_of_the_end(self.config, problem.graph)
                || assumes_unasked(self.config, problem.graph)
            {
                let settled = Settled::new(problem, encoding, self.config.treatment);
                self.ask_completion(problem, encoding, &settled)?;
            }
        }
        Ok(())
    }

    /// Which loops can run past the bound.
    fn ask_bound(&mut self, problem: Problem<'_>, encoding: &Encoding) -> Result<(), CheckError> {
        let mut found: SortedMap<Span, Because> = SortedMap::new();
        if !self.facts.is_monotone() {
            // An execution of more rounds may satisfy the axioms although its beginning does not.
            let cuts = problem.graph.cuts.iter().zip(&encoding.cuts);
            for (cut, _) in cuts.filter(|&(_, &literal)| literal != Literal::FALSE) {
                found.entry(cut.span).or_insert_with(|| cut.because.clone());
            }
            self.decision.open_loops =
                found.into_iter().map(|(span, because)| OpenLoop { span, because }).collect();
            return Ok(());
        }
        self.begin(Role::Cut);
        let mut extra = vec![vec![encoding.cut]];
        while let Some(assignment) = self.solve(encoding, &extra)? {
            let execution = decode(problem, encoding, &assignment);
            let values = crate::witness::recheck::evaluate_terms(problem.graph, &execution);
            let before = found.len();
            let cuts = problem.graph.cuts.iter().enumerate();
            for (number, cut) in cuts.filter(|(_, cut)| values[cut.guard] == 1) {
                self.show(Shown::Cut(number), &execution);
                found.entry(cut.span).or_insert_with(|| cut.because.clone());
            }
            if found.len() == before {
                let message = "an execution past the bound has no loop that runs on".into();
                return Err(CheckError::SelfCheck { pass: "decode", message });
            }
            // Only ask about loops not yet listed.
            let rest: Vec<_> = problem
                .graph
                .cuts
                .iter()
                .zip(&encoding.cuts)
                .filter(|(cut, _)| !found.contains_key(&cut.span))
                .map(|(_, &literal)| literal)
                .collect();
            extra = vec![rest];
        }
        self.decision.open_loops =
            found.into_iter().map(|(span, because)| OpenLoop { span, because }).collect();
        Ok(())
    }

    /// Whether a condition holds of all executions that complete, hence also where there is none.
    fn is_condition_universal(&self, problem: Problem<'_>) -> bool {
        let quantifier = problem.graph.condition.as_ref().map(|condition| condition.quantifier);
        self.config.properties.contains(&Property::Condition)
            && self.decision.condition_witness.is_none()
            && matches!(quantifier, Some(Quantifier::Forall | Quantifier::NotExists))
    }

    /// Whether the filter of a litmus condition that no execution decides lets any execution count.
    fn ask_filter(
        &mut self,
        problem: Problem<'_>,
        encoding: &Encoding,
        goal: ConditionGoal,
    ) -> Result<(), CheckError> {
        let Some(condition) = &problem.graph.condition else { return Ok(()) };
        let is_filtered = condition.filter != TermPool::TRUE;
        // What has no execution at all is told by `ask_completion`.
        if !self.is_condition_universal(problem) || !is_filtered || self.decision.limit.is_some() {
            return Ok(());
        }
        self.begin(Role::Filter);
        let counts = self.solve(encoding, &[vec![goal.counts]])?.is_some();
        if !counts && self.decision.limit.is_none() {
            self.decision.vacuity.push(Vacuity::FilteredOut(condition.span));
        }
        Ok(())
    }

    /// Whether some execution runs every thread to its end.
    fn ask_completion(
        &mut self,
        problem: Problem<'_>,
        encoding: &Encoding,
        settled: &Settled,
    ) -> Result<(), CheckError> {
        if settled.completes(encoding) == Some(true) {
            if let Some(execution) = settled.execution() {
                self.show(Shown::Claim(GoalKind::Completion), execution);
            }
            return Ok(());
        }
        self.begin(Role::Completion);
        match self.solve(encoding, &[vec![encoding.complete]])? {
            Some(assignment) => {
                let found = self.finding(problem, encoding, &assignment, GoalKind::Completion)?;
                self.show(Shown::Claim(GoalKind::Completion), &found.witness.execution);
            }
            None if self.decision.limit.is_none() => {
                self.decision.vacuity.push(Vacuity::NothingCompletes);
                if assumes_unasked(self.config, problem.graph) {
                    self.begin(Role::Exists);
                    let exists = self.solve(encoding, &[])?.is_some();
                    self.decision.excludes_all = !exists && self.decision.limit.is_none();
                }
            }
            None => {}
        }
        Ok(())
    }

    fn ask_vacuity(&mut self, problem: Problem<'_>, encoding: &Encoding) -> Result<(), CheckError> {
        let settled = Settled::new(problem, encoding, self.config.treatment);
        self.ask_completion(problem, encoding, &settled)?;
        for goal in &encoding.reachable {
            if settled.reaches(problem.graph, goal) == Some(true) {
                continue;
            }
            self.begin(Role::Reachable);
            let found = self.solve(encoding, &[vec![goal.literal]])?;
            let reached = found.is_some();
            if let Some(assignment) = found.filter(|_| self.config.record) {
                self.show(Shown::Reachable(goal.span), &decode(problem, encoding, &assignment));
            }
            if !reached && self.decision.limit.is_none() {
                self.decision.vacuity.push(Vacuity::Unreachable(goal.span));
            }
        }
        Ok(())
    }
}
