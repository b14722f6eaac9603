//! `barrier.cluster`: which arrivals each wait is for, and who waits for ever.
//!
//! What it orders depends on the sem of the arrival, hence the edges are signals, not barrier synchronization (BR-12,
//! BR-14).

use super::instances::{Barriers, Instances};
use crate::event::{BaseRelation, Blocked, EventId, TermPool, Wait};
use crate::synchronization::log::{ClusterWait, Generation, Group};
use fencepost_dsl::sorted::SortedMap;

impl Barriers<'_> {
    /// Links the arrivals of a cluster's barrier to its waits.
    pub(super) fn finish_cluster(&mut self, cluster: u32, instances: &Instances) {
        let waits: Vec<ClusterWait> =
            self.log.cluster_waits.iter().copied().filter(|wait| wait.cluster == cluster).collect();
        let name = Group::Cluster(cluster).name(&self.graph.hierarchy);
        let mut to: SortedMap<u32, Vec<EventId>> = SortedMap::new();
        for wait in &waits {
            to.entry(wait.generation).or_default().push(wait.event);
        }
        for (k, waits) in to {
            let all = instances.executions.iter().map(|&index| self.execution(index));
            let of_generation = all.filter(|arrival| arrival.generation == Generation::Static(k));
            let from = of_generation.map(|arrival| arrival.arrive).collect();
            self.graph.edges.add_bundle(BaseRelation::Signals, from, waits.into());
        }
        for wait in &waits {
            if !self.hangs {
                continue;
            }
            let (incomplete, awaited) = self.incomplete(instances, Generation::Static(wait.generation));
            let stuck = self.graph.terms.and(wait.guard, incomplete);
            let event = &self.graph.events[wait.event];
            let (Some(site), iterations) = (event.site, event.iterations.clone()) else { continue };
            let calls = event.calls.clone();
            if stuck != TermPool::FALSE {
                let blocked = Wait::Barrier { site, name: name.clone(), awaited, any_of: None };
                let (agent, span) = (wait.agent, wait.span);
                self.graph.blocked.push(Blocked { agent, span, iterations, calls, stuck, wait: blocked });
            }
        }
    }
}
