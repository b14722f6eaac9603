//! When a barrier completes, once all threads' executions are known.
//!
//! A completion constraint says that everybody needed has arrived; that arrivals must not depend on the completion they
//! bring about is not said here, but follows from barrier edges and program order being acyclic.

use super::super::{UnrollError, Unroller};
use super::{Execution, Form, Generation, Group, entails};
use crate::event::support::Supports;
use crate::event::{
    AgentId, BarrierEdge, Blocked, CtaId, EventId, EventKind, MbarrierRole, Role, TermPool, TermRef, Wait,
};
use fencepost_dsl::kernel::program::{BarrierReduction, BinaryOp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most barrier edges of a graph.
const MAX_BARRIER_EDGES: usize = 4_000_000;

/// Threads a warp counts for, however many lanes the launch gives it (BR-2).
const WARP_SIZE: u32 = 32;

/// Who is waited for, and when each has done what the others wait for.
type Awaited = Arc<[(AgentId, TermRef)]>;

/// The executions of one group, and who takes part.
pub struct Instances {
    /// Indices into the log.
    pub executions: Vec<usize>,
    /// The same per participating thread, in program order; empty for one that never gets there.
    pub(super) per_lane: BTreeMap<AgentId, Vec<usize>>,
    /// Whether a thread that has exited is waited for no more (BR-7, A-22).
    pub(super) exit_counts: bool,
    /// Whether `exit_counts` holds for whole warps too.
    exit_counts_for_warps: bool,
}

impl Unroller<'_> {
    /// States what completing means for every barrier, and which arrivals meet which waits.
    pub(in super::super) fn finish_barriers(&mut self) -> Result<(), UnrollError> {
        let mut groups: BTreeMap<Group, Vec<usize>> = BTreeMap::new();
        for (index, execution) in self.barriers.executions.iter().enumerate() {
            groups.entry(execution.group).or_default().push(index);
        }
        self.state_alignment();
        let mut supports = Supports::default();
        let mut rounds: BTreeMap<(CtaId, u32), Vec<usize>> = BTreeMap::new();
        for (group, executions) in groups {
            if let Group::Instance(cta, instance, _) = group {
                rounds.entry((cta, instance)).or_default().extend(executions);
                continue;
            }
            let instances = self.instances(group, executions);
            if self.barriers.loose.contains(&group) {
                self.finish_loose(group, &instances)?;
                continue;
            }
            if let Group::Cluster(cluster) = group {
                self.state_reuse(group, &instances)?;
                self.state_completion(group, &instances);
                let arrivals = instances.executions.clone();
                self.finish_cluster(cluster, &instances, &arrivals);
                self.link_cluster_exits(cluster, &instances, &mut supports);
                continue;
            }
            self.state_reuse(group, &instances)?;
            self.state_discipline(group, &instances)?;
            self.state_completion(group, &instances);
            self.state_results(group, &instances);
            self.link(group, &instances)?;
            self.link_exits(&instances, &mut supports);
            if self.options.hangs {
                self.record_blocked(group, &instances);
            }
        }
        self.finish_registers()?;
        self.link_returns_before_exits();
        self.join_turns();
        for ((cta, instance), mut executions) in rounds {
            executions.sort_unstable();
            self.finish_instance(&executions, &mut supports);
            if self.options.hangs {
                let name = self.group_name(Group::Instance(cta, instance, None));
                self.record_instance_blocked(&executions, &name);
            }
        }
        Ok(())
    }

    /// Makes one edge of all that are between the same two arrivals.
    fn join_turns(&mut self) {
        let mut joined: BTreeMap<(EventId, EventId), TermRef> = BTreeMap::new();
        for edge in std::mem::take(&mut self.graph.turn_edges) {
            let known = joined.entry((edge.from, edge.wait)).or_insert(TermPool::FALSE);
            *known = self.graph.terms.or(*known, edge.condition);
        }
        let edges = joined.into_iter().filter(|&(_, condition)| condition != TermPool::FALSE);
        self.graph.turn_edges =
            edges.map(|((from, wait), condition)| BarrierEdge { from, wait, condition }).collect();
    }

    pub(super) fn execution(&self, index: usize) -> Execution {
        self.barriers.executions[index]
    }

    fn instances(&self, group: Group, executions: Vec<usize>) -> Instances {
        let mut per_lane: BTreeMap<AgentId, Vec<usize>> = BTreeMap::new();
        let (exit_counts, exit_counts_for_warps) = match group {
            Group::Instance(..) => (true, true),
            Group::Cluster(cluster) => {
                for agent in self.graph.hierarchy.threads_of_cluster(cluster) {
                    per_lane.insert(agent, Vec::new());
                }
                (true, true)
            }
            Group::Warp(warp, mask) | Group::Election(warp, mask) => {
                for (lane, agent) in self.graph.hierarchy.lanes_of(warp).enumerate() {
                    if mask >> lane & 1 == 1 {
                        per_lane.insert(agent, Vec::new());
                    }
                }
                (false, false)
            }
            Group::Registers(warp) => {
                per_lane.extend(self.graph.hierarchy.lanes_of(warp).map(|agent| (agent, Vec::new())));
                (false, false)
            }
            Group::Cta(cta, _) => {
                let explicit = self.common_count(&executions);
                for agent in self.participants(cta, explicit, &executions) {
                    per_lane.insert(agent, Vec::new());
                }
                let any_count = executions.iter().any(|&index| self.execution(index).count.is_some());
                (true, !any_count)
            }
        };
        for &index in &executions {
            per_lane.entry(self.execution(index).agent).or_default().push(index);
        }
        Instances { executions, per_lane, exit_counts, exit_counts_for_warps }
    }

    /// The thread count all executions agree on; `None` for all threads of the CTA, and where they do not (UB-B3 is
    /// stated by `misuse`).
    pub(super) fn common_count(&self, executions: &[usize]) -> Option<u32> {
        let counts: BTreeSet<u32> = executions.iter().map(|&index| self.effective_count(index)).collect();
        let all = executions.first().map_or(0, |&index| self.all_of_cta(index));
        counts.into_iter().next().filter(|&count| count != all && self.is_uniform(executions))
    }

    fn is_uniform(&self, executions: &[usize]) -> bool {
        executions.iter().all(|&index| self.effective_count(index) == self.effective_count(executions[0]))
    }

    /// The thread count of an execution, written out.
    pub(super) fn effective_count(&self, index: usize) -> u32 {
        self.execution(index).count.unwrap_or_else(|| self.all_of_cta(index))
    }

    /// The thread count of the CTA of an execution.
    fn all_of_cta(&self, index: usize) -> u32 {
        let launch = self.graph.hierarchy.launch_of(self.execution(index).agent);
        launch.warps.saturating_mul(WARP_SIZE)
    }

    fn participants(&self, cta: CtaId, count: Option<u32>, executions: &[usize]) -> Vec<AgentId> {
        let hierarchy = &self.graph.hierarchy;
        let Some(count) = count else { return hierarchy.threads_of_cta(cta).collect() };
        let mut warps: Vec<u32> =
            executions.iter().map(|&index| hierarchy.warp_of(self.execution(index).agent)).collect();
        warps.sort_unstable();
        warps.dedup();
        let n_threads = (warps.len() as u64) * u64::from(WARP_SIZE);
        if n_threads == u64::from(count) {
            let in_warps = |&agent: &AgentId| warps.binary_search(&hierarchy.warp_of(agent)).is_ok();
            return hierarchy.threads_of_cta(cta).filter(in_warps).collect();
        }
        // Loose: whoever comes takes part.
        let mut users: Vec<AgentId> = executions.iter().map(|&index| self.execution(index).agent).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    fn state_completion(&mut self, group: Group, instances: &Instances) {
        let shared: Vec<(u32, TermRef)> = self
            .barriers
            .passes
            .range((group, 0)..=(group, u32::MAX))
            .map(|(&(_, k), &passes)| (k, passes))
            .collect();
        for (k, passes) in shared {
            let complete = self.complete(instances, Generation::Static(k));
            self.graph.imply(passes, complete);
        }
        for &index in &instances.executions {
            let execution = self.execution(index);
            if let (Some((_, guard)), Generation::Dynamic(_)) = (execution.wait, execution.generation) {
                let complete = self.complete(instances, execution.generation);
                self.graph.imply(guard, complete);
            }
        }
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
        if instances.exit_counts && !instances.exit_counts_for_warps {
            // With an explicit count, a warp whose threads have all exited is still waited for.
            let mut warps: BTreeMap<u32, Vec<TermRef>> = BTreeMap::new();
            for (&lane, executions) in &instances.per_lane {
                let arrived = self.arrived(executions, generation);
                warps.entry(self.graph.hierarchy.warp_of(lane)).or_default().push(arrived);
            }
            for (_, arrivals) in warps {
                let some = self.graph.terms.or_all(arrivals);
                needed.push(some);
            }
        }
        self.graph.terms.and_all(needed)
    }

    /// Who takes part, and when each has done what the others wait for.
    fn awaited(&mut self, instances: &Instances, generation: Generation) -> Vec<(AgentId, TermRef)> {
        let mut awaited = Vec::with_capacity(instances.per_lane.len());
        for (&lane, executions) in &instances.per_lane {
            let arrived = self.arrived(executions, generation);
            let mut enough = arrived;
            if instances.exit_counts {
                let completed = self.graph.completed[lane];
                if !entails(&self.graph.terms, completed, arrived) {
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
    fn record_blocked(&mut self, group: Group, instances: &Instances) {
        let name = self.group_name(group);
        let mut known: BTreeMap<u32, (TermRef, Awaited)> = BTreeMap::new();
        for &index in &instances.executions {
            let execution = self.execution(index);
            let Some((wait, _)) = execution.wait else { continue };
            let (incomplete, awaited) = match execution.generation {
                Generation::Static(k) => match known.get(&k) {
                    Some(same) => same.clone(),
                    None => {
                        let new = self.incomplete(instances, execution.generation);
                        known.entry(k).or_insert(new).clone()
                    }
                },
                Generation::Dynamic(_) => self.incomplete(instances, execution.generation),
            };
            let stuck = self.graph.terms.and(execution.guard, incomplete);
            let event = &self.graph.events[wait];
            let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
            if stuck != TermPool::FALSE {
                let wait = Wait::Barrier { site, name: name.clone(), awaited, any_of: None };
                let (agent, span) = (execution.agent, execution.span);
                self.graph.blocked.push(Blocked { agent, span, iterations, stuck, wait });
            }
        }
    }

    pub(super) fn incomplete(&mut self, instances: &Instances, generation: Generation) -> (TermRef, Awaited) {
        let awaited = self.awaited(instances, generation);
        let complete = self.complete_with(&awaited, instances, generation);
        (self.graph.terms.not(complete), awaited.into())
    }

    /// As a reader knows it.
    pub(super) fn group_name(&self, group: Group) -> String {
        match group {
            Group::Cta(cta, id) => format!("barrier {id} of {}", self.cta_name(cta)),
            Group::Instance(cta, instance, _) => {
                format!("instance {instance} of the barrier of {}", self.cta_name(cta))
            }
            Group::Cluster(cluster) => format!("the cluster barrier of cluster {cluster}"),
            Group::Election(warp, mask) => format!("`elect.sync` of warp {warp} with mask {mask:#x}"),
            Group::Registers(warp) => format!("`setmaxnreg` of warp {warp}"),
            Group::Warp(warp, mask) => format!("the warp barrier of warp {warp} with mask {mask:#x}"),
        }
    }

    /// 1 iff one of a thread's executions is an arrival of the generation.
    pub(super) fn arrived(&mut self, executions: &[usize], generation: Generation) -> TermRef {
        let mut arrivals = Vec::new();
        for &index in executions {
            let execution = self.execution(index);
            let same = self.same_generation(execution.generation, generation);
            if same != TermPool::FALSE {
                arrivals.push(self.graph.terms.and(execution.guard, same));
            }
        }
        self.graph.terms.or_all(arrivals)
    }

    pub(super) fn same_generation(&mut self, a: Generation, b: Generation) -> TermRef {
        if let (Generation::Static(a), Generation::Static(b)) = (a, b) {
            return TermPool::boolean(a == b);
        }
        let terms = &mut self.graph.terms;
        let mut term = |generation| match generation {
            Generation::Static(k) => terms.constant(u128::from(k), 32),
            Generation::Dynamic(term) => term,
        };
        let (a, b) = (term(a), term(b));
        terms.equal(a, b)
    }

    /// States the results of `bar.red` (BR-5).
    fn state_results(&mut self, group: Group, instances: &Instances) {
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
                Generation::Static(k) => self.barriers.passes.get(&(group, k)).copied().unwrap_or(guard),
                Generation::Dynamic(_) => guard,
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
            let same = self.same_generation(execution.generation, generation);
            let terms = &mut self.graph.terms;
            let takes_part = terms.and(execution.guard, same);
            predicates.push(if op == BarrierReduction::And {
                terms.implies(takes_part, predicate)
            } else {
                terms.and(takes_part, predicate)
            });
        }
        let terms = &mut self.graph.terms;
        match op {
            BarrierReduction::And => terms.and_all(predicates),
            BarrierReduction::Or => terms.or_all(predicates),
            BarrierReduction::Popc => predicates.into_iter().fold(terms.constant(0, 32), |sum, predicate| {
                let one = terms.resize(predicate, 32);
                terms.binary(BinaryOp::Add, sum, one)
            }),
        }
    }

    /// Links every arrival to every wait of the same instance (MM-34).
    fn link(&mut self, group: Group, instances: &Instances) -> Result<(), UnrollError> {
        let mut arrivals: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut dynamic = Vec::new();
        for &index in &instances.executions {
            match self.execution(index).generation {
                Generation::Static(k) => arrivals.entry(k).or_default().push(index),
                Generation::Dynamic(_) => dynamic.push(index),
            }
        }
        for &index in &instances.executions {
            let execution = self.execution(index);
            let Some((wait, _)) = execution.wait else { continue };
            let others: Vec<usize> = match execution.generation {
                Generation::Static(k) => {
                    arrivals.get(&k).into_iter().flatten().chain(&dynamic).copied().collect()
                }
                Generation::Dynamic(_) => instances.executions.clone(),
            };
            if self.graph.barrier_edges.len() + others.len() > MAX_BARRIER_EDGES {
                let value = MAX_BARRIER_EDGES as u64;
                return Err(UnrollError::TooLarge { limit: "barrier edges", value, span: execution.span });
            }
            for other in others {
                let other = self.execution(other);
                let same_instance = self.same_generation(other.generation, execution.generation);
                if same_instance != TermPool::FALSE {
                    let edge = BarrierEdge { from: other.arrive, wait, condition: same_instance };
                    match group {
                        Group::Election(..) | Group::Registers(_) => self.graph.exit_edges.push(edge),
                        _ => self.graph.barrier_edges.push(edge),
                    }
                }
            }
        }
        Ok(())
    }

    /// Links what a thread did before it exited without arriving to the waits that its exit brings about.
    fn link_exits(&mut self, instances: &Instances, supports: &mut Supports) {
        if !instances.exit_counts {
            return;
        }
        for &index in &instances.executions {
            let execution = self.execution(index);
            if let Some((wait, _)) = execution.wait {
                self.link_exits_to(wait, execution.agent, execution.generation, instances, supports);
            }
        }
    }

    /// The same for the waits of a cluster barrier.
    fn link_cluster_exits(&mut self, cluster: u32, instances: &Instances, supports: &mut Supports) {
        for wait in self.barriers.cluster_waits.clone() {
            if wait.cluster == cluster {
                let generation = Generation::Static(wait.generation);
                self.link_exits_to(wait.event, wait.agent, generation, instances, supports);
            }
        }
    }

    fn link_exits_to(
        &mut self,
        wait: EventId,
        agent: AgentId,
        generation: Generation,
        instances: &Instances,
        supports: &mut Supports,
    ) {
        for (&lane, executions) in &instances.per_lane {
            let completed = self.graph.completed[lane];
            let arrived = self.arrived(executions, generation);
            if lane == agent || entails(&self.graph.terms, completed, arrived) {
                continue;
            }
            let not = self.graph.terms.not(arrived);
            let condition = self.graph.terms.and(completed, not);
            if condition == TermPool::FALSE {
                continue;
            }
            self.barriers.exit_releases.push((lane, wait, condition));
            for from in self.before_exit(lane, condition, supports) {
                self.graph.exit_edges.push(BarrierEdge { from, wait, condition });
            }
        }
    }

    /// What a thread passed, awaited or decided on before it exited.
    pub(super) fn before_exit(
        &self,
        lane: AgentId,
        condition: TermRef,
        supports: &mut Supports,
    ) -> Vec<EventId> {
        let deciding = supports.reads(&self.graph.terms, condition);
        self.graph
            .events
            .iter_enumerated()
            .filter(|(id, event)| {
                let awaited = event.role == Role::Await && matches!(event.kind, EventKind::Read(_));
                let passed = match &event.kind {
                    EventKind::BarrierWait | EventKind::ClusterWait => true,
                    EventKind::Mbarrier(operation) => operation.role == MbarrierRole::Wait,
                    _ => false,
                };
                event.agent == Some(lane) && (awaited || passed) || deciding.contains(id)
            })
            .map(|(id, _)| id)
            .collect()
    }
}
