//! What barriers mean, once all threads' executions are known.
//!
//! Who takes part in a barrier is found first (`instances`); the other parts state what follows: when a generation
//! completes (`completion`), that counting was right where `arrive` is used (`reuse`), and who meets where counting does
//! not say it (`loose`, and `quorum` for litmus tests).

mod aligned;
mod cluster;
mod completion;
mod instances;
mod loose;
mod misuse;
mod mixed;
mod passed;
mod quorum;
mod registers;
mod reuse;

pub use completion::{before_exit, reduce};
pub use loose::loose_barriers;
pub use passed::{Arrival, PassedBarrier, passed_barriers};

use super::exchange;
use super::log::{AlignedLog, BarrierLog, Generation, Group};
use crate::event::support::Supports;
use crate::event::{BaseRelation, CtaId, Edge, GraphBuilder, GraphError, Meeting, TermPool, Turn};
use fencepost_dsl::sorted::SortedMap;
use instances::Barriers;
use std::sync::Arc;

/// States what completing means for every barrier, and which arrivals meet which waits.
pub fn finish(
    graph: &mut GraphBuilder,
    aligned: &AlignedLog,
    log: &BarrierLog,
    hangs: bool,
) -> Result<(), GraphError> {
    aligned::state_alignment(graph, aligned);
    let mut barriers = Barriers::new(graph, log, hangs);
    let mut supports = Supports::default();
    let mut rounds: SortedMap<(CtaId, u32), Vec<usize>> = SortedMap::new();
    name_meetings(barriers.graph, log);
    for (group, executions) in log.groups() {
        match group {
            Group::Instance(cta, instance, _) => {
                rounds.entry((cta, instance)).or_default().extend(executions);
            }
            _ => barriers.finish_group(group, executions, &mut supports)?,
        }
    }
    exchange::state_results(barriers.graph, log);
    registers::finish(barriers.graph, &log.register_sets, &log.passes, hangs)?;
    barriers.link_returns_before_exits()?;
    join_turns(barriers.graph)?;
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

/// Notes for reports which barrier each arrival and passage is of.
fn name_meetings(graph: &mut GraphBuilder, log: &BarrierLog) {
    let mut names: SortedMap<Group, Arc<str>> = SortedMap::new();
    let mut name = |group: Group| names.entry(group).or_insert_with(|| group.short_name().into()).clone();
    for execution in &log.executions {
        let generation = match execution.generation {
            Generation::Static(number) => Turn::Known(number),
            Generation::Dynamic(term) => Turn::Term(term),
        };
        let meeting = Meeting {
            name: name(execution.group),
            generation,
            is_of_cta: matches!(execution.group, Group::Cta(..)),
        };
        for event in [Some(execution.arrive), execution.wait.map(|(wait, _)| wait)].into_iter().flatten() {
            graph.meetings.insert(event, meeting.clone());
        }
    }
    for wait in &log.cluster_waits {
        let name = name(Group::Cluster(wait.cluster));
        graph
            .meetings
            .insert(wait.event, Meeting { name, generation: Turn::Known(wait.generation), is_of_cta: false });
    }
}

/// Makes one edge of all that are between the same two arrivals.
fn join_turns(graph: &mut GraphBuilder) -> Result<(), GraphError> {
    let ends = |edge: &Edge| (edge.from, edge.to);
    let mut edges = std::mem::take(graph.edges.single_mut(BaseRelation::BarrierOrder));
    edges.sort_by_key(ends);
    for same in edges.chunk_by(|a, b| ends(a) == ends(b)) {
        graph.goes_on()?;
        let condition = graph.terms.or_all(same.iter().map(|edge| edge.condition));
        if condition != TermPool::FALSE {
            graph.edges.add(BaseRelation::BarrierOrder, Edge { condition, ..same[0] });
        }
    }
    Ok(())
}

impl Barriers<'_> {
    /// States what completing means for the barriers of a group.
    fn finish_group(
        &mut self,
        group: Group,
        executions: Vec<usize>,
        supports: &mut Supports,
    ) -> Result<(), GraphError> {
        let instances = self.instances(group, executions);
        if self.log.loose.contains(&group) {
            return self.finish_loose(group, &instances, supports);
        }
        if let Group::Cluster(cluster) = group {
            self.state_reuse(group, &instances)?;
            self.state_completion(group, &instances)?;
            self.finish_cluster(cluster, &instances);
            self.link_cluster_exits(cluster, &instances, supports);
            return Ok(());
        }
        self.state_reuse(group, &instances)?;
        self.state_discipline(group, &instances);
        self.state_completion(group, &instances)?;
        self.state_results(group, &instances);
        self.link(group, &instances)?;
        self.link_exits(&instances, supports);
        if self.hangs {
            self.record_blocked(group, &instances)?;
        }
        Ok(())
    }
}
