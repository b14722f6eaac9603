//! What happens in one run of a thread, as a flat record: the twin's loops look at its fields directly.

use super::mbarrier::Operation;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::AsyncSpace;
use fencepost_dsl::vocabulary::{Proxy, ProxyFence, Scope, SyncRestrict};
use std::collections::BTreeSet;

/// Which barrier: a named barrier of a CTA, or the lanes of a mask of a warp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BarrierKey {
    /// `bar.sync id`.
    Cta {
        /// CTA counted over the launch.
        cta: u32,
        /// Barrier number.
        id: u64,
    },
    /// `bar.sync id, count`, where no more threads use the number than meet there.
    Counted {
        /// CTA counted over the launch.
        cta: u32,
        /// Barrier number.
        id: u64,
        /// Warps that meet.
        n_warps: u64,
    },
    /// `bar.warp.sync mask`.
    Warp {
        /// CTA counted over the launch.
        cta: u32,
        /// Warp of the CTA.
        warp: u32,
        /// Lanes.
        mask: u64,
    },
    /// `barrier.cluster`: arrival and wait are instructions of their own, and order nothing by themselves.
    Cluster {
        /// Cluster counted over the launch.
        cluster: u32,
    },
}

/// A rule about barriers and mbarriers that an execution breaks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Misuse {
    /// UB-C1: a thread arrives at the cluster barrier although its last arrival there need not have completed it.
    SecondArrival,
    /// The same, but that arrival's generation is surely complete (all others have exited, say).
    HarmlessSecondArrival,
    /// UB-C3: a thread waits at the cluster barrier without an arrival since its last wait.
    WaitWithoutArrival,
    /// UB-M6: an arrival finds fewer arrivals pending than it brings.
    TooManyArrivals,
    /// UB-M8: the last one that an mbarrier expects drops out.
    NobodyExpected,
    /// UB-M1, UB-M16: an operation on an mbarrier that no initialisation is ordered before; a wait that says no is not
    /// counted.
    NotInitialised,
    /// As before, but what uses the object is a wait that says no.
    NotInitialisedWhenWaiting,
    /// UB-M12: an arrival in a phase before which nobody is sure to have waited for the last one.
    PhaseNotWaitedFor,
    /// UB-M1, UB-M17: an operation that is not ordered before the object's invalidation.
    UsedAfterInval,
    /// As before, but some operation comes before the initialisation, so that nothing has a meaning.
    UsedAfterInvalWithoutMeaning,
    /// UB-M2: an initialisation of an object that has been initialised and not invalidated.
    InitOfLiveObject,
    /// UB-M9: an arrival with `.noComplete` completes the phase.
    NoCompleteCompletes,
    /// UB-M11: a wait with a state of neither the present phase nor the last.
    StaleState,
    /// MB-15: the pending count of a state that does not hold it.
    NoPendingCount,
    /// AS-34: tensor memory is deallocated before its uses are over, or twice.
    TensorMemoryFreed,
    /// UB-A8: a CTA ends with other columns of tensor memory allocated than deallocated.
    TensorMemoryKept,
    /// UB-A8: an allocation that does not come before its CTA gives up the permit.
    AllocationAfterRelinquish,
    /// LT-2, LT-3: an operation on its own CTA's shared memory may outlive the CTA.
    OperationPending,
    /// LT-1: an access of a peer's shared memory that nobody there is known to have started before.
    PeerNotStarted,
    /// LT-1: one that may not be over when the last thread there ends.
    PeerMayHaveExited,
}

/// What a thread does about tensor memory itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tensor {
    /// `fence::before_thread_sync`
    FenceBefore,
    /// `fence::after_thread_sync`
    FenceAfter,
    /// `alloc`
    Allocate {
        /// How many.
        columns: u32,
    },
    /// `dealloc`
    Free {
        /// How many.
        columns: u32,
        /// Of which object.
        storage: u32,
        /// Of which CTA.
        instance: u32,
    },
    /// `relinquish_alloc_permit`
    Relinquish,
}

/// What kind of `tcgen05` operation it is, for pipelines and waits (AS-29).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Class {
    /// `mma`
    Multiply {
        /// `f16` and so on.
        kind: String,
        /// First element of the accumulator.
        accumulator: Location,
        /// Elements of it.
        n_elements: usize,
    },
    /// `cp`
    Copy,
    /// `ld`
    Load,
    /// `st`
    Store,
}

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Also the read part of an atomic.
    Read,
    /// Also the write part of an atomic, and initial writes.
    Write,
    /// A thread fence; `acquire` and `release` say which.
    Fence {
        /// `fence.sc` or `membar`.
        sc: bool,
    },
    /// `fence.proxy.alias`, or a fence of another proxy.
    ProxyFence(ProxyFence),
    /// `fence.proxy.async`, for objects of a space (FN-12).
    AsyncFence(AsyncSpace),
    /// `fence.proxy.async::generic`, one half of it: `release` and `acquire` say which (FN-15 … FN-17).
    AsyncHalf(SyncRestrict),
    /// `fence.proxy.tensormap::generic`: the release half, or the acquire half for the tensor map of this granule (FN-13,
    /// FN-14).
    MapHalf(Option<usize>),
    /// A thread starts an asynchronous operation.
    Issue,
    /// `wgmma.fence`
    MatrixFence,
    /// A thread has waited for groups of asynchronous operations: `follows` says for what of them.
    AsyncWait,
    /// The thread's n-th arrival at a barrier.
    Arrive(BarrierKey, u32),
    /// The thread got through its n-th generation of a barrier.
    Wait(BarrierKey, u32),
    /// The thread finished.
    Exit,
    /// An operation on an mbarrier.
    Mbarrier(Operation),
    /// Something about tensor memory.
    Tensor(Tensor),
    /// The thread comes to `barrier.cluster.arrive` again without having waited for this generation.
    SecondArrival {
        /// Cluster counted over the launch.
        cluster: u32,
        /// The generation it has arrived in.
        generation: u32,
        /// Whether it arrives again, as it may if that generation is surely complete.
        goes_on: bool,
    },
}

/// Where an access goes: storage, instance (CTA, or 0), first byte, size in bytes. Aliases share it.
pub type Location = (u32, u32, u32, u32);

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it is.
    pub kind: Kind,
    /// `None` for an initial write.
    pub thread: Option<usize>,
    /// Physical place of an access.
    pub location: Location,
    /// Whether that is shared memory; the instance is then the CTA that owns it.
    pub is_shared: bool,
    /// Whether that is tensor memory, whose accesses §5.8 orders and nothing else.
    pub is_tensor: bool,
    /// For the start of a `tcgen05` operation.
    pub class: Option<Class>,
    /// Where the memory operand of an access stands in the source.
    pub source: Option<Span>,
    /// The statement that the event belongs to.
    pub statement: Option<Span>,
    /// For what an asynchronous operation does: the position of its [`Kind::Issue`]. It is not in program order (MM-27).
    pub operation: Option<usize>,
    /// For what a matrix operation does: its thread's last `wgmma.fence` before it, up to which program order counts.
    pub since: Option<usize>,
    /// Positions of what asynchronous operations have done before: within an operation, or known by a wait.
    pub follows: BTreeSet<usize>,
    /// Virtual mapping of an access.
    pub mapping: u32,
    /// Whether that is a multimem address (MM-7).
    pub is_multimem: bool,
    /// For an access by a `multimem` instruction: the position of its first one. They are in no order among themselves.
    pub group: Option<usize>,
    /// Proxy of an access; everything else is generic.
    pub proxy: Proxy,
    /// The granules an access covers, ascending; empty for others.
    pub granules: Vec<usize>,
    /// Value per granule.
    pub values: Vec<u64>,
    /// Strong (§8.4).
    pub strong: bool,
    /// Scope of a strong event.
    pub scope: Scope,
    /// Acquire operation, or a fence that takes part in acquire patterns.
    pub acquire: bool,
    /// Release operation, or a fence that takes part in release patterns.
    pub release: bool,
    /// The read of a `red`: in no acquire pattern (MM-24).
    pub never_acquires: bool,
    /// The read of an `atom` with sink: in an acquire pattern only if its own sem is an acquire, if at all.
    pub is_dropped: bool,
    /// For the write part of an atomic: the event just before is its read part.
    pub of_atomic: bool,
    /// For a write: positions of the reads in this run whose values flow into it.
    pub dependencies: BTreeSet<usize>,
    /// Positions of the reads in this run whose values decided that it happens.
    pub control: BTreeSet<usize>,
    /// For a write: positions of the reads in this run on which a branch decided about it. A store that the other arm has,
    /// too, is not decided by that branch.
    pub decided: BTreeSet<usize>,
    /// Positions of the reads in this run on which it depends since it stands behind a place that the thread need not have
    /// come to.
    pub past: BTreeSet<usize>,
    /// A read by which the thread got out of a loop that it could have gone round for ever.
    pub unblocks: bool,
    /// Part of what the thread may go on to repeat for ever: of the last try of an `await`, or of the last round of a loop.
    pub is_repeated: bool,
    /// A read whose value decided whether the thread came to a barrier, or to its end.
    pub decides: bool,
}

impl Event {
    /// An event without memory access.
    pub fn new(kind: Kind, thread: Option<usize>) -> Self {
        Self {
            kind,
            thread,
            location: (0, 0, 0, 0),
            is_shared: false,
            is_tensor: false,
            class: None,
            source: None,
            statement: None,
            operation: None,
            since: None,
            follows: BTreeSet::new(),
            mapping: 0,
            is_multimem: false,
            group: None,
            proxy: Proxy::Generic,
            granules: Vec::new(),
            values: Vec::new(),
            strong: false,
            scope: Scope::Cta,
            acquire: false,
            release: false,
            never_acquires: false,
            is_dropped: false,
            of_atomic: false,
            dependencies: BTreeSet::new(),
            control: BTreeSet::new(),
            decided: BTreeSet::new(),
            past: BTreeSet::new(),
            unblocks: false,
            is_repeated: false,
            decides: false,
        }
    }
    /// A read, or the read part of an atomic.
    pub fn is_read(&self) -> bool {
        self.kind == Kind::Read
    }
    /// A write, the write part of an atomic, or an initial write.
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }
    /// A memory operation.
    pub fn is_memory(&self) -> bool {
        self.is_read() || self.is_write()
    }
    /// A thread fence.
    pub fn is_fence(&self) -> bool {
        matches!(self.kind, Kind::Fence { .. })
    }
    /// A `fence.sc`.
    pub fn is_fence_sc(&self) -> bool {
        self.kind == Kind::Fence { sc: true }
    }
    /// Whether both are memory operations that share a byte.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.granules.iter().any(|granule| other.granules.contains(granule))
    }
}
