//! What unrolling is asked for.

use super::barrier::Leaders;
use crate::synchronization::mbarrier::MbarrierEncoding;
use crate::work::Allowance;
use fencepost_dsl::kernel::program::StorageId;
use fencepost_dsl::sorted::SortedSet;

/// How far to unroll.
#[derive(Clone, Debug)]
pub struct UnrollOptions {
    /// Iterations of loops without a constant trip count.
    pub bound: u32,
    /// Most events of a graph.
    pub max_events: usize,
    /// Most statements executed, over all threads.
    pub max_steps: u64,
    /// How much work may be done.
    pub allowance: Allowance,
    /// Whether `elect.sync` elects the first lane of its mask (variant `elects-first`, A-57).
    pub elects_first: bool,
    /// Which lanes `elect.sync` elects, where that is settled; elsewhere it is any.
    pub leaders: Leaders,
    /// Whether what threads do is written down, for [`super::representatives`].
    pub notes_doings: bool,
    /// Whether a compare-and-swap that fails writes the old value back (variant `failed-cas-writes`, A-4).
    pub failed_cas_writes: bool,
    /// Whether to say where threads can stop for good ([`EventGraph::blocked`](crate::event::EventGraph::blocked)).
    pub hangs: bool,
    /// Whether some clusters may not have started ([`EventGraph::starts`](crate::event::EventGraph::starts)).
    pub starts: bool,
    /// How the phases of mbarriers are found.
    pub mbarrier_encoding: MbarrierEncoding,
    /// Most choices of phases of the operations on an mbarrier.
    pub phase_choices_max: usize,
    /// Whether counting says where no arrival at an mbarrier is one too many though threads drop out or bytes are delivered.
    pub never_full: bool,
    /// Whether an aligned matrix operation reads once for its warp.
    pub together: bool,
    /// Whether a load of shared memory that can only return what one store has written is that value.
    pub forwarding: bool,
    /// Whether loops whose rounds may be without effect are run as waits; otherwise each counts its rounds.
    pub waits: bool,
    /// Whether that goes for rounds, too, that write back what they have read.
    pub writing_waits: bool,
    /// Whether rounds without effect that all threads of a CTA make together count as one.
    pub cta_waits: bool,
    /// Whether `hangs` includes loops in which a thread goes round for ever.
    pub hangs_in_loops: bool,
    /// Storages with writes that somebody who stands in a loop and reads strongly is not promised to see (LT-8).
    pub unpromised: SortedSet<StorageId>,
    /// Whether registers are read as what they are on the path that reads them.
    pub paths: bool,
}

impl Default for UnrollOptions {
    fn default() -> Self {
        Self {
            bound: 2,
            max_events: 20_000,
            max_steps: 2_000_000,
            allowance: Allowance::unlimited(),
            elects_first: false,
            leaders: Leaders::new(),
            notes_doings: false,
            failed_cas_writes: false,
            hangs: false,
            starts: false,
            mbarrier_encoding: MbarrierEncoding::Auto,
            phase_choices_max: usize::MAX,
            never_full: true,
            together: true,
            forwarding: false,
            waits: true,
            writing_waits: true,
            cta_waits: true,
            hangs_in_loops: true,
            unpromised: SortedSet::new(),
            paths: true,
        }
    }
}
