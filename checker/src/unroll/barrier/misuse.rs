//! `bar.arrive` does not wait, so the same thread may get to its next barrier instruction on that barrier before it has
//! completed; hardware leaves open what happens then (UB-B4), and counting generations would be wrong.
//!
//! The test here is sufficient, not necessary: between the arrival and the next use, the thread must pass another
//! barrier at which some thread arrives only after it has got through the first. Producer and consumer with a `full`
//! and an `empty` barrier pass it.

use super::super::{UnrollError, Unroller};
use super::{Execution, Form, Generation, Group, entails};
use crate::event::{AgentId, TermRef};
use fencepost_dsl::Diagnostic;
use std::collections::BTreeMap;

impl Unroller<'_> {
    /// Refuses an `arrive` that the thread may follow by another use of the barrier before it has completed.
    pub(super) fn check_arrivals(
        &self,
        group: Group,
        per_lane: &BTreeMap<AgentId, Vec<usize>>,
    ) -> Result<(), UnrollError> {
        let executions = &self.barriers.executions;
        for own in per_lane.values() {
            for (at, &index) in own.iter().enumerate() {
                let arrival = executions[index];
                if !matches!(arrival.form, Form::Arrive) {
                    continue;
                }
                for &next in &own[at + 1..] {
                    let next = executions[next];
                    if self.is_separated(&arrival, &next) {
                        continue;
                    }
                    let Group::Cta(_, id) = group else { continue };
                    let diagnostic = Diagnostic::new(
                        "unsupported::barrier-reuse-after-arrive",
                        format!("barrier {id} may be used again before the `arrive` on it has completed"),
                        next.span,
                        "used again here",
                    );
                    let help = "pass another barrier in between, at which a thread arrives that has waited for this one";
                    return Err(UnrollError::Unsupported(
                        diagnostic
                            .with_label(arrival.span, "arrives here, and does not wait")
                            .with_help(help)
                            .with_rule("UB-B4"),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether the arrival's generation is surely complete when the thread gets to `next`, or `next` need not be looked
    /// at because it excludes the arrival or is not its successor.
    fn is_separated(&self, arrival: &Execution, next: &Execution) -> bool {
        match (arrival.generation, next.generation) {
            (Generation::Static(k), Generation::Static(n)) if n != k + 1 => true,
            (Generation::Static(k), Generation::Static(_)) => self
                .barriers
                .executions
                .iter()
                .filter(|wait| wait.agent == arrival.agent && wait.group != arrival.group)
                .filter(|wait| (arrival.position..next.position).contains(&wait.position))
                .any(|wait| self.shows_completion(arrival.group, k, wait, next.guard)),
            _ => false,
        }
    }

    /// Whether passing `wait`, which the path `guard` has done, shows that generation `k` of `group` is complete.
    fn shows_completion(&self, group: Group, k: u32, wait: &Execution, guard: TermRef) -> bool {
        let (Some((_, passed)), Generation::Static(instance)) = (wait.wait, wait.generation) else {
            return false;
        };
        if !entails(&self.graph.terms, guard, passed) {
            return false;
        }
        let executions = &self.barriers.executions;
        let mut arrivals: BTreeMap<AgentId, Vec<&Execution>> = BTreeMap::new();
        let mut not_counted = Vec::new();
        for execution in executions.iter().filter(|execution| execution.group == wait.group) {
            match execution.generation {
                Generation::Static(n) if n == instance => {
                    arrivals.entry(execution.agent).or_default().push(execution);
                }
                Generation::Static(_) => {}
                Generation::Dynamic(_) => not_counted.push(execution.agent),
            }
        }
        arrivals.iter().any(|(&agent, arrivals)| {
            !not_counted.contains(&agent)
                && self.must_arrive(agent, arrivals)
                && arrivals.iter().all(|arrival| self.has_passed(agent, group, k, arrival))
        })
    }

    /// Whether a thread's exit cannot stand for these arrivals.
    fn must_arrive(&self, agent: AgentId, arrivals: &[&Execution]) -> bool {
        let completed = self.graph.completed[agent];
        arrivals.iter().any(|arrival| entails(&self.graph.terms, completed, arrival.guard))
    }

    /// Whether the thread has waited for generation `k` of `group` on its way to `arrival`.
    fn has_passed(&self, agent: AgentId, group: Group, k: u32, arrival: &Execution) -> bool {
        self.barriers.executions.iter().any(|sync| {
            sync.agent == agent
                && sync.group == group
                && sync.generation == Generation::Static(k)
                && sync.position < arrival.position
                && sync.wait.is_some_and(|(_, passed)| entails(&self.graph.terms, arrival.guard, passed))
        })
    }
}
