//! When a barrier completes, once all threads' executions are known.
//!
//! A completion constraint says that everybody needed has arrived; that arrivals must not depend on the completion they
//! bring about is not said here, but follows from barrier edges and program order being acyclic.

use super::instances::{Barriers, Instances};
use crate::event::support::Supports;
use crate::event::{
    AgentId, BaseRelation, Blocked, Edge, EventGraph, EventId, EventKind, GraphError, MbarrierRole, TermPool,
    TermRef, Wait,
};
use crate::synchronization::log::{Form, Generation, Group};
use fencepost_dsl::kernel::program::{BarrierReduction, BinaryOp};
use fencepost_dsl::sorted::SortedMap;
use std::sync::Arc;

/// Most barrier edges of a graph.
const MAX_BARRIER_EDGES: usize = 4_000_000;

/// Who is waited for, and when each has done what the others wait for.
type Awaited = Arc<[(AgentId, TermRef)]>;

/// A thread's exit that stands for its arrival.
struct Exit {
    lane: AgentId,
    /// When it does.
    condition: TermRef,
    /// What the thread did before.
    before: Vec<EventId>,
    /// What it may have done last.
    last: Vec<EventId>,
}

impl Barriers<'_> {
    pub(super) fn state_completion(&mut self, group: Group, instances: &Instances) -> Result<(), GraphError> {
        let shared: Vec<(u32, TermRef)> = self
            .log
            .passes
            .range((group, 0)..=(group, u32::MAX))
            .map(|(&(_, k), &passes)| (k, passes))
            .collect();
        for (k, passes) in shared {
            let complete = self.complete(instances, Generation::Static(k));
            self.graph.imply(passes, complete);
        }
        let of_terms = (group, TermRef(0))..=(group, TermRef(u32::MAX));
        let shared: Vec<(TermRef, TermRef)> =
            self.log.dynamic_passes.range(of_terms).map(|(&(_, term), &passes)| (term, passes)).collect();
        for (term, passes) in shared {
            self.graph.goes_on()?;
            let complete = self.complete(instances, Generation::Dynamic(term));
            self.graph.imply(passes, complete);
        }
        Ok(())
    }

    /// 1 iff everybody needed for the generation has arrived.
    pub(super) fn complete(&mut self, instances: &Instances, generation: Generation) -> TermRef {
        let awaited = self.awaited(instances, generation);
        self.complete_with(&awaited, instances, generation)
    }

    fn complete_with(
        &mut self,
        awaited: &[(AgentId, TermRef)],
        instances: &Instances,
        generation: Generation,
    ) -> TermRef {
        let mut needed: Vec<TermRef> = awaited.iter().map(|&(_, enough)| enough).collect();
        let is_counted = self.is_counted(instances, generation);
        if is_counted != TermPool::FALSE {
            // With an explicit count, a warp whose threads have all exited is still waited for.
            let mut warps: SortedMap<u32, Vec<TermRef>> = SortedMap::new();
            for &lane in instances.per_lane.keys() {
                let arrived = self.arrived_by(lane, instances, generation);
                warps.entry(self.graph.hierarchy.warp_of(lane)).or_default().push(arrived);
            }
            for (_, arrivals) in warps {
                let some = self.graph.terms.or_all(arrivals);
                needed.push(self.graph.terms.implies(is_counted, some));
            }
        }
        self.graph.terms.and_all(needed)
    }

    /// 1 iff somebody in the generation gives a thread count.
    fn is_counted(&mut self, instances: &Instances, generation: Generation) -> TermRef {
        if !instances.counted.is_empty() && instances.counted.len() == instances.executions.len() {
            return TermPool::TRUE;
        }
        self.arrived(&instances.counted, generation)
    }

    /// Who takes part, and when each has done what the others wait for.
    fn awaited(&mut self, instances: &Instances, generation: Generation) -> Vec<(AgentId, TermRef)> {
        let mut awaited = Vec::with_capacity(instances.per_lane.len());
        for &lane in instances.per_lane.keys() {
            let arrived = self.arrived_by(lane, instances, generation);
            let mut enough = arrived;
            if instances.exit_counts {
                let completed = self.graph.completed[lane];
                if !self.graph.terms.entails(completed, arrived) {
                    let not = self.graph.terms.not(arrived);
                    let exited = self.graph.terms.and(completed, not);
                    enough = self.graph.terms.or(arrived, exited);
                }
            }
            awaited.push((lane, enough));
        }
        awaited
    }

    /// Says when a thread that has arrived waits for ever.
    pub(super) fn record_blocked(&mut self, group: Group, instances: &Instances) -> Result<(), GraphError> {
        let name = group.name(&self.graph.hierarchy);
        let mut known: SortedMap<Generation, (TermRef, Awaited)> = SortedMap::new();
        for &index in &instances.executions {
            let execution = self.execution(index);
            let Some((wait, _)) = execution.wait else { continue };
            let (incomplete, awaited) = match known.get(&execution.generation) {
                Some(same) => same.clone(),
                None => {
                    self.graph.goes_on()?;
                    let new = self.incomplete(instances, execution.generation);
                    known.entry(execution.generation).or_insert(new).clone()
                }
            };
            let stuck = self.graph.terms.and(execution.guard, incomplete);
            let event = &self.graph.events[wait];
            let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
            let calls = event.calls.clone();
            if stuck != TermPool::FALSE {
                let wait = Wait::Barrier { site, name: name.clone(), awaited, any_of: None };
                let (agent, span) = (execution.agent, execution.span);
                self.graph.blocked.push(Blocked { agent, span, iterations, calls, stuck, wait });
            }
        }
        Ok(())
    }

    pub(super) fn incomplete(&mut self, instances: &Instances, generation: Generation) -> (TermRef, Awaited) {
        let awaited = self.awaited(instances, generation);
        let complete = self.complete_with(&awaited, instances, generation);
        (self.graph.terms.not(complete), awaited.into())
    }

    /// 1 iff a thread arrives in the generation.
    pub(super) fn arrived_by(
        &mut self,
        lane: AgentId,
        instances: &Instances,
        generation: Generation,
    ) -> TermRef {
        self.arrived(instances.may_be_of(lane, generation), generation)
    }

    /// 1 iff one of a thread's executions is an arrival of the generation.
    pub(super) fn arrived(&mut self, executions: &[usize], generation: Generation) -> TermRef {
        let mut arrivals = Vec::new();
        for &index in executions {
            let execution = self.execution(index);
            let same = self.is_of(&execution, generation);
            if same != TermPool::FALSE {
                arrivals.push(self.graph.terms.and(execution.guard, same));
            }
        }
        self.graph.terms.or_all(arrivals)
    }

    /// States the results of `bar.red` (BR-5).
    pub(super) fn state_results(&mut self, group: Group, instances: &Instances) {
        let mut stated = Vec::new();
        for &index in &instances.executions {
            let execution = self.execution(index);
            let (Form::Reduce { op, result, .. }, Some((_, guard))) = (execution.form, execution.wait) else {
                continue;
            };
            if stated.contains(&result) {
                continue;
            }
            stated.push(result);
            let guard = match execution.generation {
                Generation::Static(k) => self.log.passes.get(&(group, k)).copied().unwrap_or(guard),
                Generation::Dynamic(k) => self.log.dynamic_passes.get(&(group, k)).copied().unwrap_or(guard),
            };
            let combined = self.combine(instances, execution.generation, op);
            let holds = self.graph.terms.equal(result, combined);
            self.graph.imply(guard, holds);
        }
    }

    fn combine(&mut self, instances: &Instances, generation: Generation, op: BarrierReduction) -> TermRef {
        let mut predicates = Vec::new();
        for &index in &instances.executions {
            let execution = self.execution(index);
            let Form::Reduce { predicate, .. } = execution.form else { continue };
            let same = execution.generation.same(generation, &mut self.graph.terms);
            let terms = &mut self.graph.terms;
            let takes_part = terms.and(execution.guard, same);
            predicates.push(if op == BarrierReduction::And {
                terms.implies(takes_part, predicate)
            } else {
                terms.and(takes_part, predicate)
            });
        }
        reduce(&mut self.graph.terms, op, predicates)
    }

    /// Links every arrival to every wait of the same instance (MM-34).
    pub(super) fn link(&mut self, group: Group, instances: &Instances) -> Result<(), GraphError> {
        let mut arrivals: SortedMap<Generation, Vec<usize>> = SortedMap::new();
        for &index in &instances.executions {
            arrivals.entry(self.execution(index).generation).or_default().push(index);
        }
        let relation = match group {
            Group::Election(..) | Group::Exchange(..) | Group::Registers(_) | Group::Collective(..) => {
                BaseRelation::ExitRelease
            }
            _ => BaseRelation::BarrierSynchronization,
        };
        for of_generation in arrivals.values() {
            let all = of_generation.iter().map(|&index| self.execution(index));
            let from = all.clone().map(|execution| execution.arrive).collect();
            let to = all.filter_map(|execution| execution.wait).map(|(wait, _)| wait).collect();
            self.graph.edges.add_bundle(relation, from, to);
        }
        // Generations that are written differently may be the same.
        for (&own, waits) in &arrivals {
            for (&other, of_other) in &arrivals {
                if own == other || own.same(other, &mut self.graph.terms) == TermPool::FALSE {
                    continue;
                }
                // Threads that are alike have the same guards, so these are few.
                let mut conditions: SortedMap<(TermRef, TermRef), TermRef> = SortedMap::new();
                for &index in waits {
                    let execution = self.execution(index);
                    let Some((wait, passed)) = execution.wait else { continue };
                    if self.graph.edges.single(relation).len() + of_other.len() > MAX_BARRIER_EDGES {
                        let value = MAX_BARRIER_EDGES as u64;
                        return Err(GraphError::TooLarge {
                            limit: "barrier edges",
                            value,
                            span: execution.span,
                        });
                    }
                    for &index in of_other {
                        let from = self.execution(index);
                        let terms = &mut self.graph.terms;
                        let condition = *conditions.entry((from.guard, passed)).or_insert_with(|| {
                            let both = terms.and(from.guard, passed);
                            own.same_where(other, both, terms)
                        });
                        if condition != TermPool::FALSE {
                            self.graph.edges.add(relation, Edge { from: from.arrive, to: wait, condition });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Links what a thread did before it exited without arriving to the waits that its exit brings about.
    pub(super) fn link_exits(&mut self, instances: &Instances, supports: &mut Supports) {
        if !instances.exit_counts {
            return;
        }
        let executions = instances.executions.iter().map(|&index| self.execution(index));
        let waits: Vec<(EventId, AgentId, Generation)> = executions
            .filter_map(|execution| Some((execution.wait?.0, execution.agent, execution.generation)))
            .collect();
        self.link_exits_to(&waits, instances, supports);
    }

    /// The same for the waits of a cluster barrier.
    pub(super) fn link_cluster_exits(
        &mut self,
        cluster: u32,
        instances: &Instances,
        supports: &mut Supports,
    ) {
        let waits = self.log.cluster_waits.iter().filter(|wait| wait.cluster == cluster);
        let waits: Vec<(EventId, AgentId, Generation)> =
            waits.map(|wait| (wait.event, wait.agent, Generation::Static(wait.generation))).collect();
        self.link_exits_to(&waits, instances, supports);
    }

    fn link_exits_to(
        &mut self,
        waits: &[(EventId, AgentId, Generation)],
        instances: &Instances,
        supports: &mut Supports,
    ) {
        let mut known: SortedMap<Generation, Arc<[Exit]>> = SortedMap::new();
        let mut together: SortedMap<(TermRef, TermRef), TermRef> = SortedMap::new();
        for &(wait, agent, generation) in waits {
            let exits = match known.get(&generation) {
                Some(exits) => exits.clone(),
                None => {
                    let new = self.exits(instances, generation, supports);
                    known.entry(generation).or_insert(new).clone()
                }
            };
            let passed = self.graph.events[wait].guard;
            for exit in exits.iter().filter(|exit| exit.lane != agent) {
                let condition = exit.condition;
                let both = *together
                    .entry((passed, condition))
                    .or_insert_with(|| self.graph.terms.and(passed, condition));
                // Who goes the same way as those that wait has not exited.
                if both == TermPool::FALSE {
                    continue;
                }
                self.graph.exit_releases.push((exit.lane, wait, condition));
                self.link_exit((&exit.before, &exit.last), wait, condition);
            }
        }
    }

    /// Links what came before an exit, and what the thread may have done last, to a wait that the exit lets through.
    pub(super) fn link_exit(
        &mut self,
        (before, last): (&[EventId], &[EventId]),
        wait: EventId,
        condition: TermRef,
    ) {
        for (relation, from) in [(BaseRelation::ExitRelease, before), (BaseRelation::ExitOrder, last)] {
            let edges = from.iter().map(|&from| Edge { from, to: wait, condition });
            self.graph.edges.add_all(relation, edges);
        }
    }

    /// The threads whose exit may stand for an arrival of a generation.
    fn exits(
        &mut self,
        instances: &Instances,
        generation: Generation,
        supports: &mut Supports,
    ) -> Arc<[Exit]> {
        let mut exits = Vec::new();
        for &lane in instances.per_lane.keys() {
            let completed = self.graph.completed[lane];
            let arrived = self.arrived_by(lane, instances, generation);
            if self.graph.terms.entails(completed, arrived) {
                continue;
            }
            let not = self.graph.terms.not(arrived);
            let condition = self.graph.terms.and(completed, not);
            if condition != TermPool::FALSE {
                let before = before_exit(self.graph, lane, condition, supports);
                let last = self.last_before_exit(lane);
                exits.push(Exit { lane, condition, before, last });
            }
        }
        exits.into()
    }

    /// Events of a thread that no later one surely follows: whatever it did is one of them or before one in program order.
    pub(super) fn last_before_exit(&self, lane: AgentId) -> Vec<EventId> {
        let mut last: Vec<(EventId, u32, TermRef)> = Vec::new();
        let own = self.graph.events.iter_enumerated().filter(|(_, event)| event.agent == Some(lane));
        for (id, event) in own.collect::<Vec<_>>().into_iter().rev() {
            let (position, guard) = (event.position, event.guard);
            // Who is followed by one that is followed itself is followed by one of these.
            let is_followed = last
                .iter()
                .any(|&(_, later, then)| later > position && self.graph.terms.entails(guard, then));
            if !is_followed {
                last.push((id, position, guard));
            }
        }
        last.into_iter().map(|(id, ..)| id).collect()
    }
}

/// What a thread passed, awaited or decided on before it exited.
pub fn before_exit(
    graph: &EventGraph,
    lane: AgentId,
    condition: TermRef,
    supports: &mut Supports,
) -> Vec<EventId> {
    let deciding = supports.reads(&graph.terms, condition);
    let before = graph.events.iter_enumerated().filter(|(id, event)| {
        let passed = match &event.kind {
            EventKind::BarrierWait | EventKind::ClusterWait => true,
            EventKind::Mbarrier(operation) => operation.role == MbarrierRole::Wait,
            _ => false,
        };
        event.agent == Some(lane) && (event.decides || passed) || deciding.contains(id)
    });
    before.map(|(id, _)| id).collect()
}

/// What `bar.red` tells those whose predicates these are (BR-5).
pub fn reduce(terms: &mut TermPool, op: BarrierReduction, predicates: Vec<TermRef>) -> TermRef {
    match op {
        BarrierReduction::And => terms.and_all(predicates),
        BarrierReduction::Or => terms.or_all(predicates),
        BarrierReduction::Popc => predicates.into_iter().fold(terms.constant(0, 32), |sum, predicate| {
            let one = terms.resize(predicate, 32);
            terms.binary(BinaryOp::Add, sum, one)
        }),
    }
}
