//! What the threads of a launch do together.
//!
//! Each thread has been run on its own; what it did at barriers and mbarriers is in a log. From the logs of all threads it
//! is stated here which of it belongs together, what getting through means, what must have happened before what, and
//! which rules that breaks: as constraints over unknowns, obligations, and edges with conditions.
//!
//! **Invariant:** nothing here runs a statement or knows a path; it sees the logs and the graph.

pub mod allocation;
pub mod barrier;
pub mod exchange;
pub mod lifetime;
pub mod log;
pub mod mbarrier;

use crate::event::{GraphBuilder, GraphError, GridId, LocationId, TermRef};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use log::{AlignedLog, Allocation, BarrierLog, MbarrierLog};
use mbarrier::MbarrierEncoding;

/// What all threads have done.
pub struct Logs<'a> {
    /// At barriers.
    pub barriers: &'a BarrierLog,
    /// At `.aligned` instructions.
    pub aligned: &'a AlignedLog,
    /// At mbarriers; what is used again becomes several objects.
    pub mbarriers: &'a mut MbarrierLog,
    /// With tensor memory.
    pub allocations: &'a [Allocation],
    /// Of the grids that a program launches: 1 iff they have started.
    pub grids: &'a SortedMap<GridId, TermRef>,
}

/// What is asked of a launch besides what it does.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether to say where threads can stop for good.
    pub hangs: bool,
    /// How the phases of mbarriers are found.
    pub mbarrier_encoding: MbarrierEncoding,
    /// Most choices of phases of the operations on an mbarrier.
    pub phase_choices_max: usize,
    /// Whether counting is asked at which mbarriers no arrival can be one too many.
    pub never_full: bool,
}

/// States what the threads do together; or says where mbarriers are at which an arrival may be one too many although the
/// threads were run as if none were: then they have to be run again.
pub fn finish(
    graph: &mut GraphBuilder,
    logs: Logs<'_>,
    options: Options,
) -> Result<SortedSet<(LocationId, u32)>, GraphError> {
    barrier::finish(graph, logs.aligned, logs.barriers, options.hangs)?;
    if !graph.mbarriers.is_empty() {
        let passed = barrier::passed_barriers(graph, logs.barriers);
        let may_be_full = mbarrier::finish(graph, logs.mbarriers, &passed, options)?;
        if !may_be_full.is_empty() {
            return Ok(may_be_full);
        }
    }
    allocation::finish(graph, logs.allocations)?;
    lifetime::finish(graph, logs.grids)?;
    Ok(SortedSet::new())
}
