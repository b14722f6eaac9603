//! `barrier.cluster`: arrival and wait are instructions of their own.
//!
//! There is one such barrier per cluster. A thread's generation is the number of its earlier arrivals, as for `bar`; a
//! wait belongs to the last arrival before it. What it orders depends on the sem of the arrival, hence the edges are
//! signals, not barrier synchronization (BR-12, BR-14).

use super::super::{Step, UnrollError, Unroller};
use crate::event::{EventKind, Misuse, ObligationKind, TermPool, TermRef};
use crate::findings;
use crate::synchronization::log::{ClusterWait, Execution, Form, Generation, Group};
use fencepost_dsl::Span;
use fencepost_dsl::vocabulary::Sem;

impl Unroller<'_> {
    /// Runs `barrier.cluster.arrive`.
    pub(in super::super) fn cluster_arrive(
        &mut self,
        step: &mut Step<'_>,
        (sem, aligned): (Sem, bool),
    ) -> Result<(), UnrollError> {
        let cluster = self.graph.hierarchy.cluster_of(self.agent);
        let group = Group::Cluster(cluster);
        let span = self.graph.sites[step.site].span;
        let generation = self.cluster_generation(group, step.state.live, span)?;
        let kind = EventKind::ClusterArrive { sem };
        self.log_arrival(step, (group, Generation::Static(generation)), Form::Arrive, kind)?;
        if aligned && let Some(&Execution { guard, arrive, .. }) = self.barriers.log.executions.last() {
            self.log_aligned(guard, arrive);
        }
        Ok(())
    }

    /// Runs `barrier.cluster.wait`.
    pub(in super::super) fn cluster_wait(
        &mut self,
        step: &mut Step<'_>,
        aligned: bool,
    ) -> Result<(), UnrollError> {
        let cluster = self.graph.hierarchy.cluster_of(self.agent);
        let group = Group::Cluster(cluster);
        let span = self.graph.sites[step.site].span;
        let n_made = self.cluster_generation(group, step.state.live, span)?;
        let Some(generation) = n_made.checked_sub(1) else {
            let misuse = Misuse::new(&findings::barrier::WAIT_BEFORE_ARRIVAL);
            self.never(step.state, misuse, span);
            return Ok(());
        };
        let waited: Vec<TermRef> = self
            .barriers
            .log
            .cluster_waits
            .iter()
            .filter(|wait| wait.agent == self.agent && wait.generation == generation)
            .map(|wait| wait.passed)
            .collect();
        let waited = self.graph.terms.or_all(waited);
        if !self.graph.terms.excludes_syntactically(step.state.live, waited) {
            let misuse = Misuse::new(&findings::barrier::WAIT_AGAIN_BEFORE_ARRIVAL);
            let fine = self.graph.terms.not(waited);
            self.oblige(ObligationKind::Discipline(misuse), step.state.live, fine, span);
            step.state.live = self.graph.terms.and(step.state.live, fine);
            if step.state.live == TermPool::FALSE {
                return Ok(());
            }
        }
        let guard = step.state.live;
        let passes = self.passes(group, Generation::Static(generation));
        step.state.live = self.graph.terms.and(guard, passes);
        let position = self.next_position();
        let event = self.emit(step.state.live, position, EventKind::ClusterWait, step.site)?;
        let (agent, passed) = (self.agent, step.state.live);
        let wait = ClusterWait { agent, cluster, guard, passed, generation, event, position, span };
        self.barriers.log.cluster_waits.push(wait);
        if aligned {
            self.log_aligned(guard, event);
        }
        Ok(())
    }

    fn cluster_generation(&mut self, group: Group, guard: TermRef, span: Span) -> Result<u32, UnrollError> {
        match self.generation(group, guard) {
            Generation::Static(generation) => Ok(generation),
            Generation::Dynamic(_) => Err(UnrollError::unsupported(
                "unsupported::cluster-barrier",
                "how often the thread has arrived at the cluster barrier before depends on values read",
                span,
                "for the how manieth time?",
            )),
        }
    }
}
