//! What an event can be: accesses, fences, operations on barriers, and what stands for the life of grids and CTAs.

use super::{CtaId, GridId, LocationId, MbarrierId, SpaEvent, TermRef};
use fencepost_dsl::cat::memory_model::BaseSet;
use fencepost_dsl::kernel::program::AsyncSpace;
use fencepost_dsl::vocabulary::{FenceSem, Proxy, ProxyFence, Scope, Sem};

/// What an event is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// An initial write (MM-10).
    Init(Access),
    /// A read, or the read part of an atomic.
    Read(Access),
    /// A write, or the write part of an atomic.
    Write(Access),
    /// A thread fence.
    Fence {
        /// Its sem.
        sem: FenceSem,
        /// Its scope.
        scope: Scope,
    },
    /// A bidirectional proxy fence, `fence.proxy.alias` for one.
    ProxyFence(ProxyFence),
    /// `fence.proxy.async`, with the memory it is about (FN-12).
    AsyncFence(AsyncSpace),
    /// A fence of one direction that is about some operations only.
    RestrictedFence(RestrictedFence),
    /// An instruction starts an asynchronous operation. That of `st.async.release` and the like releases, too (§8.8).
    Issue {
        /// `Release`, or `Weak`.
        sem: Sem,
        /// Scope, if it releases.
        scope: Scope,
    },
    /// `wgmma.fence`.
    MatrixFence,
    /// A `tcgen05` instruction that a thread executes itself, but for waits; a deallocation is followed by writes.
    Tensor(TensorEvent),
    /// What a thread does about cancelling clusters by itself.
    Cancel(CancelEvent),
    /// An instruction by which a thread knows that asynchronous operations are done: `cp.async.wait_group` and the like.
    AsyncWait,
    /// The arrival half of `bar.sync/red/arrive` and of `bar.warp.sync`.
    BarrierArrive,
    /// The passage half of `bar.sync/red` and of `bar.warp.sync`: happens iff the thread got through.
    BarrierWait,
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        /// `Release` or `Relaxed` (BR-14).
        sem: Sem,
    },
    /// `barrier.cluster.wait`, where the thread got through; always acquires (BR-11).
    ClusterWait,
    /// An operation on an mbarrier.
    Mbarrier(MbarrierEvent),
    /// `MEMBAR` or cache control of an SPA machine.
    Spa(SpaEvent),
    /// A CTA starts.
    CtaStart(CtaId),
    /// A CTA has ended, with all its threads.
    CtaExit(CtaId),
    /// The start or end of a grid, or what the host and threads do about them.
    Grid(GridEvent),
}

impl EventKind {
    /// What a thread does about tensor memory by itself, if it is that.
    pub fn tensor(&self) -> Option<TensorEvent> {
        match self {
            Self::Tensor(event) => Some(*event),
            _ => None,
        }
    }

    /// The scope, if it is a strong operation. Of cluster barriers it is what they have an effect on (BR-12).
    pub fn scope(&self) -> Option<Scope> {
        match self {
            Self::Fence { scope, .. } => Some(*scope),
            Self::RestrictedFence(fence) => Some(fence.scope()),
            Self::Read(access) | Self::Write(access) => access.strong_scope(),
            Self::ClusterArrive { .. } | Self::ClusterWait => Some(Scope::Cluster),
            Self::Issue { sem, scope } => (*sem != Sem::Weak).then_some(*scope),
            Self::Mbarrier(operation) => (operation.sem != Sem::Weak).then_some(operation.scope),
            _ => None,
        }
    }

    /// Whether a thread gets here only when others have done something, and knows of it then.
    pub fn is_passage(&self) -> bool {
        matches!(
            self,
            Self::BarrierWait
                | Self::ClusterWait
                | Self::AsyncWait
                | Self::Grid(GridEvent::Wait | GridEvent::Synchronize)
                | Self::Mbarrier(MbarrierEvent { role: MbarrierRole::Wait, .. })
        )
    }

    /// Whether it is a fence of any kind that a model file counts among `F`.
    pub fn is_fence(&self) -> bool {
        matches!(
            self,
            Self::Fence { .. } | Self::ProxyFence(_) | Self::AsyncFence(_) | Self::RestrictedFence(_)
        )
    }

    /// The memory access, if it is one; of `CCTL.IV`, what it invalidates.
    pub fn access(&self) -> Option<&Access> {
        match self {
            Self::Init(access)
            | Self::Read(access)
            | Self::Write(access)
            | Self::Spa(SpaEvent::InvalidateLine(access)) => Some(access),
            _ => None,
        }
    }
    /// The same, to be changed.
    pub fn access_mut(&mut self) -> Option<&mut Access> {
        match self {
            Self::Init(access)
            | Self::Read(access)
            | Self::Write(access)
            | Self::Spa(SpaEvent::InvalidateLine(access)) => Some(access),
            _ => None,
        }
    }
}

/// The life of a grid, and what the host and threads do about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GridEvent {
    /// Its threads may run from now on.
    Start(GridId),
    /// All its threads have ended, and all their operations are done.
    End(GridId),
    /// The host enqueues it.
    Enqueue,
    /// The host knows that some have ended.
    Synchronize,
    /// `griddepcontrol.launch_dependents`
    LaunchDependents,
    /// `griddepcontrol.wait`
    Wait,
}

/// What a thread does about tensor memory by itself (AS-29).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TensorEvent {
    /// `tcgen05.fence::before_thread_sync`.
    FenceBefore,
    /// `tcgen05.fence::after_thread_sync`.
    FenceAfter,
    /// `tcgen05.alloc`.
    Allocate,
    /// `tcgen05.dealloc`.
    Free,
    /// `tcgen05.relinquish_alloc_permit`.
    Relinquish,
}

/// What a thread does about cancelling clusters by itself (AS-39).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CancelEvent {
    /// `clusterlaunchcontrol.try_cancel` is about to be issued.
    Try,
    /// `clusterlaunchcontrol.query_cancel.is_canceled` says that nothing was cancelled.
    Failed,
}

/// A fence of one direction that is about some operations only (FN-27).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RestrictedFence {
    /// `fence.release.sync_restrict::shared::cta.cluster`: the own CTA's shared memory (FN-8).
    ReleaseShared,
    /// `fence.acquire.sync_restrict::shared::cluster.cluster`: shared memory of the cluster (FN-7, FN-28).
    AcquireShared,
    /// `fence.mbarrier_init.release.cluster`: the thread's own earlier initialisations of mbarriers (FN-9).
    ReleaseInits,
    /// `fence.proxy.alias.release.sys`: accesses through another virtual address (FN-18).
    ReleaseAlias,
    /// `fence.proxy.alias.acquire.sys`.
    AcquireAlias,
    /// `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`: the own CTA's shared memory (FN-15).
    ReleaseAsync,
    /// `fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster`: the thread's own reads of shared
    /// memory of the cluster (FN-17).
    ReleaseAsyncReads,
    /// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster` (FN-16).
    AcquireAsync,
    /// `fence.proxy.tensormap::generic.release` (FN-13).
    ReleaseTensormap(Scope),
    /// `fence.proxy.tensormap::generic.acquire` (FN-14).
    AcquireTensormap {
        /// Its scope.
        scope: Scope,
        /// Where the tensor map is.
        location: LocationId,
        /// Its first byte.
        offset_bytes: u32,
    },
}

impl RestrictedFence {
    /// Its scope, which its syntax fixes.
    pub fn scope(self) -> Scope {
        match self {
            Self::ReleaseShared
            | Self::AcquireShared
            | Self::ReleaseInits
            | Self::ReleaseAsync
            | Self::ReleaseAsyncReads
            | Self::AcquireAsync => Scope::Cluster,
            Self::ReleaseAlias | Self::AcquireAlias => Scope::Sys,
            Self::ReleaseTensormap(scope) | Self::AcquireTensormap { scope, .. } => scope,
        }
    }
    /// What a model file calls it.
    pub fn set(self) -> BaseSet {
        match self {
            Self::ReleaseShared => BaseSet::RestrictedRelease,
            Self::AcquireShared => BaseSet::RestrictedAcquire,
            Self::ReleaseInits => BaseSet::InitFence,
            Self::ReleaseAlias => BaseSet::AliasRelease,
            Self::AcquireAlias => BaseSet::AliasAcquire,
            Self::ReleaseAsync => BaseSet::AsyncRelease,
            Self::ReleaseAsyncReads => BaseSet::AsyncReleaseReads,
            Self::AcquireAsync => BaseSet::AsyncAcquire,
            Self::ReleaseTensormap(_) => BaseSet::TensormapRelease,
            Self::AcquireTensormap { .. } => BaseSet::TensormapAcquire,
        }
    }
    /// Whether it is the releasing half.
    pub fn is_release(self) -> bool {
        matches!(
            self,
            Self::ReleaseShared
                | Self::ReleaseInits
                | Self::ReleaseAlias
                | Self::ReleaseAsync
                | Self::ReleaseAsyncReads
                | Self::ReleaseTensormap(_)
        )
    }
}

/// An operation on an mbarrier: a strong access of the object (MB-20, MB-21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MbarrierEvent {
    /// The object.
    pub object: MbarrierId,
    /// What it does.
    pub role: MbarrierRole,
    /// `Release`, `Acquire` or `Relaxed`; `Weak` for init and inval.
    pub sem: Sem,
    /// Scope.
    pub scope: Scope,
}

/// What an operation does to an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MbarrierRole {
    /// `mbarrier.init`
    Init,
    /// `mbarrier.inval`
    Inval,
    /// `mbarrier.expect_tx` and `complete_tx`
    Transaction,
    /// The complete-tx of an asynchronous operation (MB-24)
    Complete,
    /// `mbarrier.arrive` and `arrive_drop`
    Arrive,
    /// A `test_wait` or `try_wait` that returned false.
    Test,
    /// One that returned true.
    Wait,
}

/// A scalar memory access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which bytes it indexes.
    pub location: LocationId,
    /// Virtual mapping of the object it goes through: 0, or an alias's own.
    pub mapping: u32,
    /// By what method: the object's, or that of the asynchronous operation; initial writes are generic.
    pub proxy: Proxy,
    /// First byte, from the start of the location; 32 bits wide, a multiple of `width_bytes` whenever the guard is 1.
    pub offset: TermRef,
    /// Size: 1, 2, 4, 8 or 16.
    pub width_bytes: u32,
    /// Value read or written, `8 * width_bytes` wide. For a read it is an unknown of its own.
    pub value: TermRef,
    /// `Weak`, `Relaxed`, `Acquire` (reads), `Release` (writes), `Volatile`, `Mmio`. The read part of an `.acq_rel`
    /// atomic is `Acquire` and its write part `Release`; the other part of an `.acquire` or `.release` one is `Relaxed`.
    pub sem: Sem,
    /// Scope, for strong accesses.
    pub scope: Scope,
    /// Whether it is part of an atomic.
    pub atomic: AtomicClass,
}

impl Access {
    /// Whether it is anything but weak (MM-18).
    pub fn is_strong(&self) -> bool {
        self.sem != Sem::Weak
    }
    /// Its scope, if it is.
    pub fn strong_scope(&self) -> Option<Scope> {
        self.is_strong().then_some(self.scope)
    }
}

/// Whether and how an access is part of an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicClass {
    /// `ld` or `st`.
    None,
    /// `atom`.
    Atom,
    /// `atom` with a sink destination: it acquires only if its own sem says so.
    Sink,
    /// `red`: its read never acquires (MM-24).
    Reduction,
}
