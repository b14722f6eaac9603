//! Rules about numbered barriers.
//!
//! `bar.arrive` does not wait, so the same thread may get to its next barrier instruction on that barrier before it has
//! completed; hardware leaves open what happens then (UB-B4), and counting generations would be wrong.
//!
//! The test here is sufficient, not necessary: between the arrival and the next use, the thread must pass another
//! barrier at which some thread arrives only after it has got through the first. Producer and consumer with a `full`
//! and an `empty` barrier pass it.

use super::super::{UnrollError, Unroller};
use super::completion::Instances;
use super::{Execution, Form, Generation, Group, entails};
use crate::event::{AgentId, Misuse, TermPool, TermRef};
use fencepost_dsl::Diagnostic;
use std::collections::BTreeMap;

impl Unroller<'_> {
    /// States that the executions of one generation agree on the thread count (UB-B3), and that none or all of them are
    /// reductions (UB-B5). Nobody gets through a generation in which they do not.
    pub(super) fn state_discipline(
        &mut self,
        group: Group,
        instances: &Instances,
    ) -> Result<(), UnrollError> {
        let Group::Cta(cta, id) = group else { return Ok(()) };
        let executions = &instances.executions;
        let differs = |a: &Execution, b: &Execution| {
            matches!(a.form, Form::Reduce { .. }) != matches!(b.form, Form::Reduce { .. })
        };
        for (at, &first) in executions.iter().enumerate() {
            for &second in &executions[at + 1..] {
                let (a, b) = (self.execution(first), self.execution(second));
                let counts = (self.effective_count(first), self.effective_count(second));
                if a.agent == b.agent || (counts.0 == counts.1 && !differs(&a, &b)) {
                    continue;
                }
                let meet = self.same_generation(a.generation, b.generation);
                if meet == TermPool::FALSE {
                    continue;
                }
                if meet != TermPool::TRUE {
                    return Err(undecided(id, &a, &b));
                }
                let both = self.graph.terms.and(a.guard, b.guard);
                if both == TermPool::FALSE {
                    continue;
                }
                for (one, other) in [(&a, &b), (&b, &a)] {
                    if let Some((_, passed)) = one.wait {
                        let alone = self.graph.terms.not(other.guard);
                        self.imply(passed, alone);
                    }
                }
                let name = format!("barrier {id} of {}", self.cta_name(cta));
                let misuse = if counts.0 == counts.1 {
                    Misuse {
                        code: "barrier::mixed-reduction",
                        rule: "UB-B5",
                        what: format!(
                            "uses {name} in another form than other threads: `red` on one side only"
                        ),
                        help: "give the reduction a barrier number of its own",
                    }
                } else {
                    Misuse {
                        code: "barrier::count-mismatch",
                        rule: "UB-B3",
                        what: format!("uses {name} with {} threads, others with {}", counts.1, counts.0),
                        help: "let all threads that meet at a barrier name the same thread count",
                    }
                };
                self.oblige_at(b.arrive, misuse, both, TermPool::FALSE);
            }
        }
        Ok(())
    }

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

/// Whether two forms or counts meet depends on how often each thread has been here.
fn undecided(id: u32, a: &Execution, b: &Execution) -> UnrollError {
    let diagnostic = Diagnostic::new(
        "unsupported::barrier-mixed-red",
        format!("barrier {id} is used in two ways, and whether they meet depends on values read"),
        a.span,
        "in one way here",
    );
    let help = "give each use a barrier number of its own";
    UnrollError::Unsupported(
        diagnostic.with_label(b.span, "in another way here").with_help(help).with_rule("UB-B5"),
    )
}
