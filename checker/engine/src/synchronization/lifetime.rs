//! When clusters and CTAs are there, and what threads do in the shared memory of other CTAs.
//!
//! Clusters start when they like (LT-6), unless all run at the same time: where some thread may wait for another cluster,
//! whether a cluster has started is an unknown in the guards of all its threads.
//!
//! A CTA that others reach into, or asynchronous operations, gets an event for its start and one for its end. Whether an
//! access comes after the one and before the other is for the memory model to say; a launch without such accesses has
//! none of this.
//!
//! Cannot: tell a CTA's memory apart from the CTA. It is there from the start of the first thread to the end of the last.

use crate::event::{
    CtaId, Edge, EventId, EventKind, GraphBuilder, GraphError, GridId, PeerAccess, TermPool, TermRef,
    UnknownKind,
};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;

/// Leaves open for each cluster whether it has started; `first_of_launch` is the first of the grids that one launch
/// starts, on several devices.
///
/// Sound: that a cluster has not started is a state that every execution with it passes through; all that is asked
/// of executions in which threads end or wait for ever asks for the clusters they are about.
///
/// Needs: nothing. When clusters start is a matter of launches (LT-6), of which models do not speak.
pub fn declare_starts(graph: &mut GraphBuilder, first_of_launch: impl Fn(GridId) -> GridId) {
    let mut of_launch: SortedMap<GridId, TermRef> = SortedMap::new();
    for cluster in 0..graph.hierarchy.n_clusters() {
        let hierarchy = &graph.hierarchy;
        let Some(first) = hierarchy.threads_of_cluster(cluster).next() else { continue };
        let launch = first_of_launch(hierarchy.grid_of(first));
        let started = if hierarchy.is_host(first) {
            TermPool::TRUE
        } else if let Some(&known) = of_launch.get(&launch) {
            // All of a cooperative launch start together, on whichever devices (LT-5).
            known
        } else {
            let cooperative = hierarchy.launch_of(first).cooperative;
            let (_, started) = graph.terms.fresh(1, UnknownKind::Starts(cluster));
            if cooperative {
                of_launch.insert(launch, started);
            }
            started
        };
        graph.starts.push(started);
    }
}

/// Records the accesses of peers' shared memory, with the life of its owners; `started` says of the grids of a program
/// when they have started.
pub fn finish(graph: &mut GraphBuilder, started: &SortedMap<GridId, TermRef>) -> Result<(), GraphError> {
    let mut peers: Vec<(EventId, CtaId)> = Vec::new();
    for (id, event) in graph.events.iter_enumerated() {
        let location = graph.location_of(&event.kind);
        let owner = location.and_then(|location| graph.locations[location].cta);
        // An operation can outlive the thread that started it (LT-2, LT-3).
        if let (Some(agent), Some(owner)) = (event.agent, owner)
            && (graph.hierarchy.cta_of(agent) != owner || graph.hierarchy.is_operation(agent))
        {
            peers.push((id, owner));
        }
    }
    let mut lives: SortedMap<CtaId, (EventId, EventId)> = SortedMap::new();
    for (access, owner) in peers {
        let (start, exit) = match lives.get(&owner) {
            Some(&life) => life,
            None => {
                let life = life(graph, owner, started)?;
                lives.insert(owner, life);
                life
            }
        };
        graph.peer_accesses.push(PeerAccess { access, owner, start, exit });
    }
    Ok(())
}

/// The start and the end of a CTA.
fn life(
    graph: &mut GraphBuilder,
    cta: CtaId,
    grids: &SortedMap<GridId, TermRef>,
) -> Result<(EventId, EventId), GraphError> {
    let threads: Vec<_> = graph.hierarchy.threads_of_cta(cta).collect();
    let mut started: Vec<TermRef> = threads.iter().map(|&agent| graph.started(agent)).collect();
    started.extend(threads.first().and_then(|&first| grids.get(&graph.hierarchy.grid_of(first)).copied()));
    let started = graph.terms.and_all(started);
    let ended: Vec<TermRef> = threads.iter().map(|&agent| graph.completed[agent]).collect();
    let ended = graph.terms.and_all(ended);
    let start = graph.emit_unowned(started, EventKind::CtaStart(cta))?;
    let exit = graph.emit_unowned(ended, EventKind::CtaExit(cta))?;
    // Who has exited has started, also where it did nothing else.
    let releases = graph.exit_releases.iter().filter(|(lane, ..)| threads.contains(lane));
    let edges: Vec<Edge> = releases.map(|&(_, to, condition)| Edge { from: start, to, condition }).collect();
    graph.edges.add_all(BaseRelation::ExitOrder, edges);
    Ok((start, exit))
}
