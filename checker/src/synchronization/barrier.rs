//! What barriers mean, once all threads' executions are known.
//!
//! Who takes part in a barrier and which executions belong together is decided here; what follows from it is stated by
//! the parts: when a generation completes (`completion`), that counting was right where `arrive` is used (`reuse`), and who
//! meets where counting does not say it (`loose`, and `quorum` for litmus tests).

mod aligned;
mod cluster;
mod completion;
mod loose;
mod misuse;
mod passed;
mod quorum;
mod registers;
mod reuse;

pub use loose::loose_barriers;
pub use passed::{PassedBarrier, passed_barriers};

use super::log::{AlignedLog, BarrierLog, Execution, Group, WARP_SIZE};
use crate::event::support::Supports;
use crate::event::{AgentId, BarrierEdge, CtaId, EventId, GraphBuilder, GraphError, TermPool, TermRef};
use std::collections::BTreeMap;

/// What is stated about barriers: in which graph, and of which executions.
struct Barriers<'a> {
    graph: &'a mut GraphBuilder,
    log: &'a BarrierLog,
    /// Whether to say where threads can stop for good.
    hangs: bool,
    /// Arrivals that a choice puts before a thread's exit.
    before_exits: Vec<(EventId, AgentId, TermRef)>,
    /// Waits that a thread's exit lets through, and when.
    exit_releases: Vec<(AgentId, EventId, TermRef)>,
}

/// The executions of one group, and who takes part.
struct Instances {
    /// Indices into the log.
    executions: Vec<usize>,
    /// The same per participating thread, in program order; empty for one that never gets there.
    per_lane: BTreeMap<AgentId, Vec<usize>>,
    /// Whether a thread that has exited is waited for no more (BR-7, A-22).
    exit_counts: bool,
    /// Whether `exit_counts` holds for whole warps too.
    exit_counts_for_warps: bool,
}

/// States what completing means for every barrier, and which arrivals meet which waits.
pub fn finish(
    graph: &mut GraphBuilder,
    aligned: &AlignedLog,
    log: &BarrierLog,
    hangs: bool,
) -> Result<(), GraphError> {
    aligned::state_alignment(graph, aligned);
    let mut barriers = Barriers { graph, log, hangs, before_exits: Vec::new(), exit_releases: Vec::new() };
    let mut supports = Supports::default();
    let mut rounds: BTreeMap<(CtaId, u32), Vec<usize>> = BTreeMap::new();
    for (group, executions) in groups(log) {
        match group {
            Group::Instance(cta, instance, _) => {
                rounds.entry((cta, instance)).or_default().extend(executions);
            }
            _ => barriers.finish_group(group, executions, &mut supports)?,
        }
    }
    registers::finish(barriers.graph, &log.register_sets, &log.passes, hangs)?;
    barriers.link_returns_before_exits();
    join_turns(barriers.graph);
    for ((cta, instance), mut executions) in rounds {
        executions.sort_unstable();
        barriers.finish_instance(&executions, &mut supports);
        if hangs {
            let name = Group::Instance(cta, instance, None).name(&barriers.graph.hierarchy);
            barriers.record_instance_blocked(&executions, &name);
        }
    }
    Ok(())
}

/// Indices into the log.
fn groups(log: &BarrierLog) -> BTreeMap<Group, Vec<usize>> {
    let mut groups: BTreeMap<Group, Vec<usize>> = BTreeMap::new();
    for (index, execution) in log.executions.iter().enumerate() {
        groups.entry(execution.group).or_default().push(index);
    }
    groups
}

/// Makes one edge of all that are between the same two arrivals.
fn join_turns(graph: &mut GraphBuilder) {
    let mut joined: BTreeMap<(EventId, EventId), TermRef> = BTreeMap::new();
    for edge in std::mem::take(&mut graph.turn_edges) {
        let known = joined.entry((edge.from, edge.wait)).or_insert(TermPool::FALSE);
        *known = graph.terms.or(*known, edge.condition);
    }
    let edges = joined.into_iter().filter(|&(_, condition)| condition != TermPool::FALSE);
    graph.turn_edges = edges.map(|((from, wait), condition)| BarrierEdge { from, wait, condition }).collect();
}

impl Barriers<'_> {
    fn finish_group(
        &mut self,
        group: Group,
        executions: Vec<usize>,
        supports: &mut Supports,
    ) -> Result<(), GraphError> {
        let instances = self.instances(group, executions);
        if self.log.loose.contains(&group) {
            return self.finish_loose(group, &instances);
        }
        if let Group::Cluster(cluster) = group {
            self.state_reuse(group, &instances)?;
            self.state_completion(group, &instances);
            self.finish_cluster(cluster, &instances);
            self.link_cluster_exits(cluster, &instances, supports);
            return Ok(());
        }
        self.state_reuse(group, &instances)?;
        self.state_discipline(group, &instances)?;
        self.state_completion(group, &instances);
        self.state_results(group, &instances);
        self.link(group, &instances)?;
        self.link_exits(&instances, supports);
        if self.hangs {
            self.record_blocked(group, &instances);
        }
        Ok(())
    }

    fn execution(&self, index: usize) -> Execution {
        self.log.executions[index]
    }

    /// The thread count of an execution, written out.
    fn effective_count(&self, index: usize) -> u32 {
        self.log.effective_count(&self.graph.hierarchy, index)
    }

    fn instances(&self, group: Group, executions: Vec<usize>) -> Instances {
        let hierarchy = &self.graph.hierarchy;
        let mut per_lane: BTreeMap<AgentId, Vec<usize>> = BTreeMap::new();
        let (exit_counts, exit_counts_for_warps) = match group {
            Group::Instance(..) => (true, true),
            Group::Cluster(cluster) => {
                for agent in hierarchy.threads_of_cluster(cluster) {
                    per_lane.insert(agent, Vec::new());
                }
                (true, true)
            }
            Group::Warp(warp, mask) | Group::Election(warp, mask) => {
                for (lane, agent) in hierarchy.lanes_of(warp).enumerate() {
                    if mask >> lane & 1 == 1 {
                        per_lane.insert(agent, Vec::new());
                    }
                }
                (false, false)
            }
            Group::Registers(warp) => {
                per_lane.extend(hierarchy.lanes_of(warp).map(|agent| (agent, Vec::new())));
                (false, false)
            }
            Group::Cta(cta, _) => {
                let explicit = self.log.common_count(hierarchy, &executions);
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
}
