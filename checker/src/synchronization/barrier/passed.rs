//! What a thread knows once it has got through a barrier: who must have arrived, and where.

use crate::event::{AgentId, EventGraph, TermRef};
use crate::synchronization::log::{BarrierLog, Generation, Group};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A place at which a thread arrives: who, where in program order, and when.
pub type Arrival = (AgentId, u32, TermRef);

/// The arrivals of each thread.
type PerThread = BTreeMap<AgentId, Vec<Arrival>>;

/// A thread's way through a barrier, for those who ask what it knows afterwards.
pub struct PassedBarrier {
    pub agent: AgentId,
    pub position: u32,
    /// 1 iff the thread got through.
    pub guard: TermRef,
    /// Per thread that must have arrived: the places (thread, position, guard) at which it may have.
    pub arrivals: Arc<[Vec<Arrival>]>,
}

/// All passages through barriers whose generation is known.
pub fn passed_barriers(graph: &EventGraph, log: &BarrierLog) -> Vec<PassedBarrier> {
    let mut arrivals: BTreeMap<(Group, u32), PerThread> = BTreeMap::new();
    for execution in &log.executions {
        if let Generation::Static(k) = execution.generation {
            arrivals.entry((execution.group, k)).or_default().entry(execution.agent).or_default().push((
                execution.agent,
                execution.position,
                execution.guard,
            ));
        }
    }
    // Whoever may exit instead of arriving brings nothing.
    let must_arrive = |places: &[Arrival]| {
        places.iter().any(|&(agent, _, guard)| graph.terms.entails(graph.completed[agent], guard))
    };
    let mut known: BTreeMap<(Group, u32), Arc<[Vec<Arrival>]>> = BTreeMap::new();
    let mut needed = |group: Group, k: u32| -> Arc<[Vec<Arrival>]> {
        let of_generation = || {
            let places = arrivals.get(&(group, k)).into_iter().flat_map(BTreeMap::values);
            places.filter(|places| must_arrive(places)).cloned().collect()
        };
        known.entry((group, k)).or_insert_with(of_generation).clone()
    };
    let mut passed = Vec::new();
    for execution in &log.executions {
        if let (Some((_, guard)), Generation::Static(k)) = (execution.wait, execution.generation)
            && !matches!(execution.group, Group::Instance(..) | Group::Election(..) | Group::Registers(_))
            && !log.loose.contains(&execution.group)
        {
            let (agent, position) = (execution.agent, execution.position);
            passed.push(PassedBarrier { agent, position, guard, arrivals: needed(execution.group, k) });
        }
    }
    for wait in &log.cluster_waits {
        passed.push(PassedBarrier {
            agent: wait.agent,
            position: wait.position,
            guard: wait.passed,
            arrivals: needed(Group::Cluster(wait.cluster), wait.generation),
        });
    }
    passed
}
