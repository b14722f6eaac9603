//! What a thread knows once it has got through a barrier: who must have arrived, and where.

use crate::event::{AgentId, EventGraph, EventKind, TermRef};
use crate::synchronization::log::{BarrierLog, Generation, Group};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::Sem;
use std::sync::Arc;

/// A place at which a thread arrives.
#[derive(Clone, Copy)]
pub struct Arrival {
    /// Who.
    pub agent: AgentId,
    /// In program order.
    pub position: u32,
    /// When.
    pub guard: TermRef,
    /// Whether it orders what comes before it, which a relaxed arrival at the cluster barrier does not (BR-14).
    pub releases: bool,
}

/// The arrivals of each thread.
type PerThread = SortedMap<AgentId, Vec<Arrival>>;

/// A thread's way through a barrier, for those who ask what it knows afterwards.
pub struct PassedBarrier {
    pub agent: AgentId,
    pub position: u32,
    /// 1 iff the thread got through.
    pub guard: TermRef,
    /// Per thread that must have arrived: the places at which it may have.
    pub arrivals: Arc<[Vec<Arrival>]>,
}

/// All passages through barriers whose generation is known.
pub fn passed_barriers(graph: &EventGraph, log: &BarrierLog) -> Vec<PassedBarrier> {
    let mut arrivals: SortedMap<(Group, u32), PerThread> = SortedMap::new();
    for execution in &log.executions {
        if let Generation::Static(k) = execution.generation {
            let kind = &graph.events[execution.arrive].kind;
            let arrival = Arrival {
                agent: execution.agent,
                position: execution.position,
                guard: execution.guard,
                releases: !matches!(kind, EventKind::ClusterArrive { sem: Sem::Relaxed }),
            };
            let of_generation = arrivals.entry((execution.group, k)).or_default();
            of_generation.entry(execution.agent).or_default().push(arrival);
        }
    }
    // Whoever may exit instead of arriving brings nothing.
    let must_arrive = |places: &[Arrival]| {
        places.iter().any(|place| graph.terms.entails(graph.completed[place.agent], place.guard))
    };
    let mut known: SortedMap<(Group, u32), Arc<[Vec<Arrival>]>> = SortedMap::new();
    let mut needed = |group: Group, k: u32| -> Arc<[Vec<Arrival>]> {
        let of_generation = || {
            let places = arrivals.get(&(group, k)).into_iter().flat_map(SortedMap::values);
            places.filter(|places| must_arrive(places)).cloned().collect()
        };
        known.entry((group, k)).or_insert_with(of_generation).clone()
    };
    let mut passed = Vec::new();
    for execution in &log.executions {
        if let (Some((_, guard)), Generation::Static(k)) = (execution.wait, execution.generation)
            && !matches!(
                execution.group,
                Group::Instance(..)
                    | Group::Election(..)
                    | Group::Exchange(..)
                    | Group::Registers(_)
                    | Group::Collective(..)
            )
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
