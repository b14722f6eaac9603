//! `barrier.cluster`: which arrivals each wait is for, and who waits for ever.
//!
//! What it orders depends on the sem of the arrival, hence the edges are signals, not barrier synchronization (BR-12,
//! BR-14).

use super::instances::{Barriers, Instances};
use crate::event::{BaseRelation, Blocked, Edge, TermPool, Wait};
use crate::synchronization::log::{ClusterWait, Generation, Group};

impl Barriers<'_> {
    /// Links the arrivals of a cluster's barrier to its waits.
    pub(super) fn finish_cluster(&mut self, cluster: u32, instances: &Instances) {
        let waits: Vec<ClusterWait> =
            self.log.cluster_waits.iter().copied().filter(|wait| wait.cluster == cluster).collect();
        let name = Group::Cluster(cluster).name(&self.graph.hierarchy);
        for wait in &waits {
            for &index in &instances.executions {
                let arrival = self.execution(index);
                if arrival.generation == Generation::Static(wait.generation) {
                    let edge = Edge { from: arrival.arrive, to: wait.event, condition: TermPool::TRUE };
                    self.graph.edges.add(BaseRelation::Signals, edge);
                }
            }
            if !self.hangs {
                continue;
            }
            let (incomplete, awaited) = self.incomplete(instances, Generation::Static(wait.generation));
            let stuck = self.graph.terms.and(wait.guard, incomplete);
            let event = &self.graph.events[wait.event];
            let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
            if stuck != TermPool::FALSE {
                let blocked = Wait::Barrier { site, name: name.clone(), awaited, any_of: None };
                let (agent, span) = (wait.agent, wait.span);
                self.graph.blocked.push(Blocked { agent, span, iterations, stuck, wait: blocked });
            }
        }
    }
}
