//! Rules about who meets at a numbered barrier: none or all of the threads of one generation reduce (UB-B5). That they
//! agree on the thread count (UB-B3) is stated of barriers that are used with several (`mixed`).

use super::instances::{Barriers, Instances};
use crate::event::{Misuse, TermPool, TermRef};
use crate::findings;
use crate::synchronization::log::{Execution, Form, Group};
use fencepost_dsl::sorted::SortedSet;

impl Barriers<'_> {
    /// States that none or all of the executions of one generation are reductions (UB-B5). Nobody gets through a generation
    /// in which they differ.
    pub(super) fn state_discipline(&mut self, group: Group, instances: &Instances) {
        let Group::Cta(cta, id) = group else { return };
        let executions = &instances.executions;
        let reduces = |execution: &Execution| matches!(execution.form, Form::Reduce { .. });
        let is_uniform = executions
            .windows(2)
            .all(|pair| reduces(&self.execution(pair[0])) == reduces(&self.execution(pair[1])));
        if is_uniform {
            return;
        }
        let name = format!("barrier {id} of {}", self.graph.hierarchy.describe_cta(cta));
        for &index in executions {
            let own = self.execution(index);
            // When somebody else is there in the other form. Threads that are alike have the same guards, so these are few.
            let mut there: SortedSet<TermRef> = SortedSet::new();
            for &other in executions {
                let other = self.execution(other);
                if other.agent == own.agent || reduces(&other) == reduces(&own) {
                    continue;
                }
                let both = self.graph.terms.and(own.guard, other.guard);
                let meet = other.generation.same_where(own.generation, both, &mut self.graph.terms);
                there.insert(self.graph.terms.and(other.guard, meet));
            }
            let any = self.graph.terms.or_all(there);
            let both = self.graph.terms.and(own.guard, any);
            if both == TermPool::FALSE {
                continue;
            }
            if let Some((_, passed)) = own.wait {
                let alone = self.graph.terms.not(any);
                self.graph.imply(passed, alone);
            }
            let misuse = Misuse::new(&findings::barrier::REDUCTION_ON_ONE_SIDE).with("barrier", name.clone());
            self.graph.oblige_at(own.arrive, misuse, both, TermPool::FALSE);
        }
    }
}
