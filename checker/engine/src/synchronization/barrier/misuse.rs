//! Rules about who meets at a numbered barrier: none or all of the threads of one generation reduce (UB-B5). That they
//! agree on the thread count (UB-B3) is stated of barriers that are used with several (`mixed`).

use super::instances::{Barriers, Instances};
use crate::event::{GraphError, Misuse, TermPool};
use crate::findings;
use crate::synchronization::log::{Execution, Form, Group};
use fencepost_dsl::Diagnostic;

impl Barriers<'_> {
    /// States that none or all of the executions of one generation are reductions (UB-B5). Nobody gets through a generation
    /// in which they differ.
    pub(super) fn state_discipline(&mut self, group: Group, instances: &Instances) -> Result<(), GraphError> {
        let Group::Cta(cta, id) = group else { return Ok(()) };
        let executions = &instances.executions;
        let reduces = |execution: &Execution| matches!(execution.form, Form::Reduce { .. });
        let is_uniform = executions
            .windows(2)
            .all(|pair| reduces(&self.execution(pair[0])) == reduces(&self.execution(pair[1])));
        if is_uniform {
            return Ok(());
        }
        for (at, &first) in executions.iter().enumerate() {
            for &second in &executions[at + 1..] {
                let (a, b) = (self.execution(first), self.execution(second));
                if a.agent == b.agent || reduces(&a) == reduces(&b) {
                    continue;
                }
                let meet = a.generation.same(b.generation, &mut self.graph.terms);
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
                        self.graph.imply(passed, alone);
                    }
                }
                let name = format!("barrier {id} of {}", self.graph.hierarchy.describe_cta(cta));
                let misuse = Misuse::new(&findings::barrier::REDUCTION_ON_ONE_SIDE).with("barrier", name);
                self.graph.oblige_at(b.arrive, misuse, both, TermPool::FALSE);
            }
        }
        Ok(())
    }
}

/// Whether two forms meet depends on how often each thread has been here.
fn undecided(id: u32, a: &Execution, b: &Execution) -> GraphError {
    let diagnostic = Diagnostic::new(
        "unsupported::barrier-mixed-red",
        format!("barrier {id} is used in two ways, and whether they meet depends on values read"),
        a.span,
        "in one way here",
    );
    let help = "give each use a barrier number of its own";
    GraphError::Unsupported(
        diagnostic.with_label(b.span, "in another way here").with_help(help).with_rule("UB-B5"),
    )
}
