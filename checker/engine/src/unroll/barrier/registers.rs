//! `setmaxnreg`: what a thread asks for, and whether it may (UB-A12, UB-A13).
//!
//! Whether the pool of the CTA has so many registers is stated once all threads are there.

use super::super::{Step, UnrollError, Unroller};
use crate::event::{EventKind, MbarrierRole, Misuse, ObligationKind, TermPool, TermRef};
use crate::findings;
use crate::synchronization::log::{Form, Generation, Group, REGISTERS_WIDTH, RegisterSet};

impl Unroller<'_> {
    /// Runs `setmaxnreg`.
    pub(in super::super) fn set_max_registers(
        &mut self,
        step: &mut Step<'_>,
        increase: bool,
        count: u32,
    ) -> Result<(), UnrollError> {
        let span = self.graph.sites[step.site].span;
        let Some(at_launch) = self.graph.hierarchy.launch_of(self.agent).registers else {
            let UnrollError::Unsupported(error) = UnrollError::unsupported(
                "unsupported::launch-registers",
                "`setmaxnreg` cannot be checked without the number of registers that threads start with",
                span,
                "gives registers back, or takes some: of how many?",
            ) else {
                return Ok(());
            };
            let help = "say in the launch what `.maxnreg` or `-maxrregcount` says: `launch { warps: 3, registers: 168 }`";
            return Err(UnrollError::Unsupported(error.with_help(help).with_rule("AS-41")));
        };
        let before = self.registers_before(at_launch);
        self.require_direction(step, (increase, count), before);
        self.require_synchronization(step);
        if step.state.live == TermPool::FALSE {
            return Ok(());
        }
        let group = Group::Registers(self.graph.hierarchy.warp_of(self.agent));
        let generation = self.generation(group, step.state.live);
        let Generation::Static(turn) = generation else {
            return Err(UnrollError::unsupported(
                "unsupported::setmaxnreg-turn",
                "how often the thread has executed `setmaxnreg` before depends on values read",
                span,
                "for the how manieth time?",
            ));
        };
        let operands = (TermPool::FALSE, None);
        self.run_barrier(step, (group, generation), Form::Sync, operands, EventKind::BarrierArrive)?;
        let execution = self.barriers.log.executions[self.barriers.log.executions.len() - 1];
        let (arrive, guard) = (execution.arrive, execution.guard);
        let (wait, passed) = execution.wait.expect("whoever synchronizes waits");
        self.log_aligned(guard, arrive);
        let (agent, position) = (self.agent, self.position);
        self.barriers.log.register_sets.push(RegisterSet {
            agent,
            turn,
            guard,
            passed,
            wait,
            position,
            increase,
            count,
            before,
        });
        Ok(())
    }

    fn own_sets(&self) -> Vec<RegisterSet> {
        self.barriers.log.register_sets[self.barriers.own_first_set..].to_vec()
    }

    fn registers(&mut self, count: u32) -> TermRef {
        self.graph.terms.constant(u128::from(count), REGISTERS_WIDTH)
    }

    /// Registers that the current thread has.
    fn registers_before(&mut self, at_launch: u32) -> TermRef {
        let mut now = self.registers(at_launch);
        for set in self.own_sets() {
            let count = self.registers(set.count);
            now = self.graph.terms.if_then_else(set.passed, count, now);
        }
        now
    }

    /// UB-A13: a decrease asks for no more than the thread has, an increase for no less.
    fn require_direction(&mut self, step: &mut Step<'_>, (increase, count): (bool, u32), before: TermRef) {
        let before = self.graph.terms.known_where(step.state.live, before);
        let asked = self.registers(count);
        let terms = &mut self.graph.terms;
        let wrong = if increase { terms.less(asked, before) } else { terms.less(before, asked) };
        let fine = terms.not(wrong);
        let misuse = match (increase, terms.constant_value(before)) {
            (true, Some(number)) => {
                Misuse::new(&findings::asynchronous::INCREASE_FROM).with("number", number)
            }
            (true, None) => Misuse::new(&findings::asynchronous::INCREASE_FROM_UNKNOWN),
            (false, Some(number)) => {
                Misuse::new(&findings::asynchronous::DECREASE_FROM).with("number", number)
            }
            (false, None) => Misuse::new(&findings::asynchronous::DECREASE_FROM_UNKNOWN),
        };
        let misuse = misuse.with("count", count);
        let span = self.graph.sites[step.site].span;
        self.require(step.state, fine, misuse, span);
    }

    /// UB-A12: the warps of the warpgroup synchronize before the next one.
    fn require_synchronization(&mut self, step: &mut Step<'_>) {
        let span = self.graph.sites[step.site].span;
        let own = self.own_sets();
        for (at, set) in own.iter().enumerate() {
            if step.state.live == TermPool::FALSE {
                return;
            }
            let mut ways = self.synchronizations_since(set.position);
            ways.extend(own[at + 1..].iter().map(|later| later.passed));
            if ways.iter().any(|&way| self.graph.terms.implies_syntactically(step.state.live, way)) {
                continue;
            }
            let synchronized = self.graph.terms.or_all(ways);
            let first = self.graph.terms.and(step.state.live, set.passed);
            if first == TermPool::FALSE {
                continue;
            }
            let misuse = Misuse::new(&findings::asynchronous::REGISTERS_AGAIN);
            self.oblige(ObligationKind::Discipline(misuse), first, synchronized, span);
            let fine = self.graph.terms.implies(first, synchronized);
            step.state.live = self.graph.terms.and(step.state.live, fine);
        }
    }

    /// When the current thread has got through something that others bring about, after a position.
    fn synchronizations_since(&self, position: u32) -> Vec<TermRef> {
        let own = self.barriers.log.executions[self.barriers.own_first..].iter();
        let barriers = own
            .filter(|execution| matches!(execution.group, Group::Cta(..) | Group::Instance(..)))
            .filter(|execution| execution.position >= position)
            .filter_map(|execution| execution.wait.map(|(_, passed)| passed));
        let events = self.graph.events.iter().filter(|event| event.agent == Some(self.agent));
        let others = events.filter(|event| event.position >= position).filter(|event| {
            let is_phase =
                matches!(&event.kind, EventKind::Mbarrier(operation) if operation.role == MbarrierRole::Wait);
            is_phase || matches!(event.kind, EventKind::ClusterWait) || event.decides
        });
        barriers.chain(others.map(|event| event.guard)).collect()
    }
}
