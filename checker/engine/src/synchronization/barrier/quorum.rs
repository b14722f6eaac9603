//! Named barrier instances of litmus tests.
//!
//! Such a test says of every execution which dynamic round it belongs to; within a round, executions with equal ids
//! meet. Without a thread count, all threads that contain the instance are waited for, unless they have exited or are
//! at another id. With one, any threads of that number form the quorum: which is a free choice. Those that are not chosen
//! pass later: they see what the quorum did before, and the quorum does not see what they did. (Hardware would let them
//! wait for the next round; the litmus format has named this one.)
//!
//! Sound: the choice is an unknown per execution, so every quorum is looked at.
//!
//! Needs: nothing. No axiom is asked.

use super::completion::before_exit;
use super::instances::Barriers;
use crate::event::support::Supports;
use crate::event::{AgentId, BaseRelation, Blocked, Edge, TermPool, TermRef, UnknownKind, Wait};
use crate::synchronization::log::Execution;
use fencepost_dsl::kernel::program::BinaryOp;
use fencepost_dsl::sorted::SortedMap;

/// Width of the number of threads that have arrived.
const COUNT_WIDTH: u8 = 32;

impl Barriers<'_> {
    /// States what completing means for the executions of one instance, and which of them meet.
    pub(super) fn finish_instance(&mut self, executions: &[usize], supports: &mut Supports) {
        let all: Vec<Execution> = executions.iter().map(|&index| self.execution(index)).collect();
        let members: Vec<TermRef> = all
            .iter()
            .map(|execution| match execution.count {
                Some(_) => self.graph.terms.fresh(1, UnknownKind::TakesPart).1,
                None => TermPool::TRUE,
            })
            .collect();
        for execution in &all {
            let Some((wait, guard)) = execution.wait else { continue };
            let complete = match execution.count {
                None => self.all_there(&all, execution),
                Some(count) => {
                    let n_arrived = self.number_arrived(&all, &members, execution);
                    let count = self.graph.terms.constant(u128::from(count), COUNT_WIDTH);
                    self.graph.terms.equal(n_arrived, count)
                }
            };
            self.graph.imply(guard, complete);
            for (other, &member) in all.iter().zip(&members) {
                let meets = self.meets(other, execution);
                let condition = self.graph.terms.and(meets, member);
                if condition != TermPool::FALSE {
                    self.graph.edges.add(
                        BaseRelation::BarrierSynchronization,
                        Edge { from: other.arrive, to: wait, condition },
                    );
                }
            }
            if execution.count.is_none() {
                self.link_instance_exits(&all, execution, supports);
            }
        }
    }

    /// Says when a thread waits for ever: fewer threads arrive than are needed, whichever are chosen.
    pub(super) fn record_instance_blocked(&mut self, executions: &[usize], name: &str) {
        let all: Vec<Execution> = executions.iter().map(|&index| self.execution(index)).collect();
        let everybody = vec![TermPool::TRUE; all.len()];
        for execution in &all {
            let Some((wait, _)) = execution.wait else { continue };
            let incomplete = match execution.count {
                None => {
                    let complete = self.all_there(&all, execution);
                    self.graph.terms.not(complete)
                }
                Some(count) => {
                    let n_arrived = self.number_arrived(&all, &everybody, execution);
                    let count = self.graph.terms.constant(u128::from(count), COUNT_WIDTH);
                    self.graph.terms.less(n_arrived, count)
                }
            };
            let stuck = self.graph.terms.and(execution.guard, incomplete);
            let event = &self.graph.events[wait];
            let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
            let calls = event.calls.clone();
            if stuck != TermPool::FALSE {
                let awaited = self.awaited_at(&all, execution).into();
                let wait = Wait::Barrier { site, name: name.to_owned(), awaited, any_of: None };
                let (agent, span) = (execution.agent, execution.span);
                self.graph.blocked.push(Blocked { agent, span, iterations, calls, stuck, wait });
            }
        }
    }

    /// 1 iff two executions of one instance belong together.
    fn meets(&mut self, a: &Execution, b: &Execution) -> TermRef {
        let same_round = a.generation.same(b.generation, &mut self.graph.terms);
        let same_id = self.graph.terms.equal(a.id, b.id);
        self.graph.terms.and(same_round, same_id)
    }

    /// How many of those that take part have arrived.
    fn number_arrived(&mut self, all: &[Execution], members: &[TermRef], at: &Execution) -> TermRef {
        let mut sum = self.graph.terms.constant(0, COUNT_WIDTH);
        for (other, &member) in all.iter().zip(members) {
            let meets = self.meets(other, at);
            let terms = &mut self.graph.terms;
            let counts = terms.and(other.guard, meets);
            let counts = terms.and(counts, member);
            let one = terms.resize(counts, COUNT_WIDTH);
            sum = terms.binary(BinaryOp::Add, sum, one);
        }
        sum
    }

    fn all_there(&mut self, all: &[Execution], at: &Execution) -> TermRef {
        let needed: Vec<TermRef> = self.awaited_at(all, at).into_iter().map(|(_, enough)| enough).collect();
        self.graph.terms.and_all(needed)
    }

    /// Each thread with the instance, and when it need not be waited for any more.
    fn awaited_at(&mut self, all: &[Execution], at: &Execution) -> Vec<(AgentId, TermRef)> {
        let mut lanes: SortedMap<AgentId, Vec<&Execution>> = SortedMap::new();
        for execution in all {
            lanes.entry(execution.agent).or_default().push(execution);
        }
        let mut awaited = Vec::new();
        for (lane, own) in lanes {
            let arrived = self.arrived_at(&own, at);
            let elsewhere = self.elsewhere(&own, at);
            let completed = self.graph.completed[lane];
            let terms = &mut self.graph.terms;
            let mut enough = terms.or(arrived, elsewhere);
            if at.count.is_none() && !terms.entails(completed, arrived) {
                let not = terms.not(arrived);
                let exited = terms.and(completed, not);
                enough = terms.or(enough, exited);
            }
            awaited.push((lane, enough));
        }
        awaited
    }

    fn arrived_at(&mut self, own: &[&Execution], at: &Execution) -> TermRef {
        let mut arrivals = Vec::new();
        for other in own {
            let meets = self.meets(other, at);
            arrivals.push(self.graph.terms.and(other.guard, meets));
        }
        self.graph.terms.or_all(arrivals)
    }

    /// 1 iff the thread is at the instance with another id.
    fn elsewhere(&mut self, own: &[&Execution], at: &Execution) -> TermRef {
        let mut ways = Vec::new();
        let mut contains_barrier = false;
        for other in own {
            let same_id = self.graph.terms.equal(other.id, at.id);
            contains_barrier |= same_id != TermPool::FALSE;
            let terms = &mut self.graph.terms;
            let differs = terms.not(same_id);
            ways.push(terms.and(other.guard, differs));
        }
        // Known to be at other ids only: not one of those that contain this barrier.
        if contains_barrier { self.graph.terms.or_all(ways) } else { TermPool::TRUE }
    }

    fn link_instance_exits(&mut self, all: &[Execution], at: &Execution, supports: &mut Supports) {
        let Some((wait, _)) = at.wait else { return };
        let mut lanes: SortedMap<AgentId, Vec<&Execution>> = SortedMap::new();
        for execution in all.iter().filter(|execution| execution.agent != at.agent) {
            lanes.entry(execution.agent).or_default().push(execution);
        }
        for (lane, own) in lanes {
            let arrived = self.arrived_at(&own, at);
            let completed = self.graph.completed[lane];
            if self.graph.terms.entails(completed, arrived) {
                continue;
            }
            let elsewhere = self.elsewhere(&own, at);
            let terms = &mut self.graph.terms;
            let needless = terms.or(arrived, elsewhere);
            let not = terms.not(needless);
            let condition = terms.and(completed, not);
            if condition == TermPool::FALSE {
                continue;
            }
            let before = before_exit(self.graph, lane, condition, supports);
            let last = self.last_before_exit(lane);
            self.link_exit((&before, &last), wait, condition);
        }
    }
}
