//! Who takes part in a barrier.

use crate::event::{AgentId, CtaId, EventId, GraphBuilder, TermRef};
use crate::synchronization::log::{BarrierLog, Execution, Generation, Group, WARP_SIZE};
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;

/// A generation of a group.
pub type OfGroup = (Group, u32);

/// What is stated about barriers: in which graph, and of which executions.
pub struct Barriers<'a> {
    /// Where it is stated.
    pub graph: &'a mut GraphBuilder,
    /// What threads have done.
    pub log: &'a BarrierLog,
    /// Whether to say where threads can stop for good.
    pub hangs: bool,
    /// Arrivals that a choice puts before a thread's exit.
    pub before_exits: Vec<(EventId, AgentId, TermRef)>,
    /// All executions of each thread.
    of_agent: SortedMap<AgentId, Vec<usize>>,
    /// All executions of each group.
    of_group: SortedMap<Group, Vec<usize>>,
    /// Whether whoever gets through a generation of the one group has seen a generation of the other complete, where it has
    /// been asked.
    pub shown: SortedMap<(OfGroup, OfGroup), bool>,
    /// Where two generations are the same on a path: lanes that went the same way ask the same.
    same: FxHashMap<(Generation, Generation, TermRef), TermRef>,
}

/// The executions of one group, and who takes part.
pub struct Instances {
    /// Indices into the log.
    pub executions: Vec<usize>,
    /// The same per participating thread, in program order; empty for one that never gets there.
    pub per_lane: SortedMap<AgentId, Vec<usize>>,
    /// Per thread and generation, those that may be of it; `None` where some thread's generation is a term.
    of_generation: Option<SortedMap<(AgentId, u32), Vec<usize>>>,
    /// Whether a thread that has exited is waited for no more (BR-7, A-22).
    pub exit_counts: bool,
    /// Executions that give a thread count: in their generations, whole warps are waited for even so.
    pub counted: Vec<usize>,
}

impl Instances {
    /// A thread's executions that may be of a generation.
    pub fn may_be_of(&self, lane: AgentId, generation: Generation) -> &[usize] {
        let own = match (&self.of_generation, generation) {
            (Some(known), Generation::Static(k)) => known.get(&(lane, k)),
            _ => self.per_lane.get(&lane),
        };
        own.map_or(&[], Vec::as_slice)
    }
}

impl<'a> Barriers<'a> {
    /// Nothing is stated yet.
    pub fn new(graph: &'a mut GraphBuilder, log: &'a BarrierLog, hangs: bool) -> Self {
        let mut of_agent: SortedMap<AgentId, Vec<usize>> = SortedMap::new();
        for (index, execution) in log.executions.iter().enumerate() {
            of_agent.entry(execution.agent).or_default().push(index);
        }
        Self {
            graph,
            log,
            hangs,
            before_exits: Vec::new(),
            of_agent,
            of_group: log.groups(),
            shown: SortedMap::new(),
            same: FxHashMap::default(),
        }
    }

    /// 1 iff an execution's generation is another one, where its thread gets there.
    pub fn is_of(&mut self, execution: &Execution, generation: Generation) -> TermRef {
        let key = (execution.generation, generation, execution.guard);
        let terms = &mut self.graph.terms;
        *self
            .same
            .entry(key)
            .or_insert_with(|| execution.generation.same_where(generation, execution.guard, terms))
    }

    /// All executions of a thread.
    pub fn of_agent(&self, agent: AgentId) -> impl DoubleEndedIterator<Item = &Execution> {
        self.of_agent.get(&agent).into_iter().flatten().map(|&index| &self.log.executions[index])
    }

    /// All executions of a group.
    pub fn of_group(&self, group: Group) -> impl Iterator<Item = &Execution> {
        self.of_group.get(&group).into_iter().flatten().map(|&index| &self.log.executions[index])
    }

    /// An execution by its index in the log.
    pub fn execution(&self, index: usize) -> Execution {
        self.log.executions[index]
    }

    /// The thread count of an execution, written out.
    pub fn effective_count(&self, index: usize) -> u32 {
        self.log.effective_count(&self.graph.hierarchy, index)
    }

    /// Who takes part in a group.
    pub fn instances(&self, group: Group, executions: Vec<usize>) -> Instances {
        let hierarchy = &self.graph.hierarchy;
        let mut per_lane: SortedMap<AgentId, Vec<usize>> = SortedMap::new();
        let (exit_counts, counted) = match group {
            Group::Instance(..) => (true, Vec::new()),
            Group::Cluster(cluster) => {
                for agent in hierarchy.threads_of_cluster(cluster) {
                    per_lane.insert(agent, Vec::new());
                }
                (true, Vec::new())
            }
            Group::Warp(warp, mask) | Group::Election(warp, mask) | Group::Exchange(warp, mask, _) => {
                for (lane, agent) in hierarchy.lanes_of(warp).enumerate() {
                    if mask >> lane & 1 == 1 {
                        per_lane.insert(agent, Vec::new());
                    }
                }
                // Values are told by those that have not exited.
                (matches!(group, Group::Exchange(..)), Vec::new())
            }
            Group::Registers(warp) | Group::Collective(warp, _) => {
                per_lane.extend(hierarchy.lanes_of(warp).map(|agent| (agent, Vec::new())));
                // That no lane of a matrix operation has exited is another rule's.
                (matches!(group, Group::Collective(..)), Vec::new())
            }
            Group::Cta(cta, _) => {
                let explicit = self.log.common_count(hierarchy, &executions);
                for agent in self.participants(cta, explicit, &executions) {
                    per_lane.insert(agent, Vec::new());
                }
                let names_count = |&&index: &&usize| self.execution(index).count.is_some();
                (true, executions.iter().filter(names_count).copied().collect())
            }
        };
        let mut of_generation: Option<SortedMap<(AgentId, u32), Vec<usize>>> = Some(SortedMap::new());
        for &index in &executions {
            let Execution { agent, generation, .. } = self.execution(index);
            per_lane.entry(agent).or_default().push(index);
            match (&mut of_generation, generation) {
                (Some(known), Generation::Static(k)) => known.entry((agent, k)).or_default().push(index),
                _ => of_generation = None,
            }
        }
        Instances { executions, per_lane, of_generation, exit_counts, counted }
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
