//! Instructions that only synchronize: mbarrier operations and proxy fences.
//!
//! An mbarrier is opaque: these are the only instructions that give its bytes a meaning. Ordinary accesses to it are
//! accepted by the front end, because its memory may be reused after `mbarrier.inval`; whether an object is live is for
//! the checker to say.

use super::{Address, Expression, RegisterId};
use crate::vocabulary::{Proxy, Scope, Sem, SyncRestrict};

/// An `mbarrier` instruction (§4.2).
#[derive(Clone, Debug)]
pub enum MbarrierOp {
    /// `mbarrier.init`: both phases 0, `count` arrivals pending and expected.
    Init {
        /// In the own CTA.
        address: Address,
        /// 32 bits; constants are in 1..=2^20-1.
        count: Expression,
    },
    /// `mbarrier.inval`.
    Inval {
        /// In the own CTA.
        address: Address,
    },
    /// `mbarrier.expect_tx`: relaxed, adds to the tx-count.
    ExpectTx {
        /// In the own CTA or a peer.
        address: Address,
        /// 32 bits; constants are below 2^20.
        tx: Expression,
        /// `Cta` or `Cluster`.
        scope: Scope,
    },
    /// `mbarrier.complete_tx`: relaxed, subtracts from the tx-count; moves no data (MB-7).
    CompleteTx {
        /// In the own CTA or a peer.
        address: Address,
        /// 32 bits; constants are below 2^20.
        tx: Expression,
        /// `Cta` or `Cluster`.
        scope: Scope,
    },
    /// `mbarrier.arrive` and `mbarrier.arrive_drop`.
    Arrive(MbarrierArrive),
    /// `mbarrier.test_wait` and `mbarrier.try_wait`.
    Wait(MbarrierWait),
    /// `mbarrier.pending_count`: reads a state, no memory.
    PendingCount {
        /// Gets the count, 32 bits; `None` for `_`.
        destination: Option<RegisterId>,
        /// The state, 64 bits; of an arrive with `.noComplete`, else undefined (MB-15).
        state: Expression,
    },
}

impl MbarrierOp {
    /// The object; `None` for [`MbarrierOp::PendingCount`].
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Init { address, .. }
            | Self::Inval { address }
            | Self::ExpectTx { address, .. }
            | Self::CompleteTx { address, .. }
            | Self::Arrive(MbarrierArrive { address, .. })
            | Self::Wait(MbarrierWait { address, .. }) => Some(address),
            Self::PendingCount { .. } => None,
        }
    }
}

/// The operands of an arrive: first `expect_tx`, then the drop, then the arrive-on.
#[derive(Clone, Debug)]
pub struct MbarrierArrive {
    /// Gets the state before the arrive, 64 bits; `None` for `_`, always so for a peer's object.
    pub destination: Option<RegisterId>,
    /// In the own CTA or a peer.
    pub address: Address,
    /// Arrivals, 32 bits; 1 if not written. Constants are in 1..=2^20-1.
    pub count: Expression,
    /// What `.expect_tx` adds to the tx-count, 32 bits; then the count is 1.
    pub expect_tx: Option<Expression>,
    /// `.noComplete`: completing the phase is undefined (UB-M9).
    pub no_complete: bool,
    /// `arrive_drop`: takes `count` off what all later phases expect.
    pub drop: bool,
    /// `Release` or `Relaxed`.
    pub sem: Sem,
    /// `Cta` or `Cluster`.
    pub scope: Scope,
}

/// The operands of a wait; it never blocks for good, and may say no although the phase is complete.
#[derive(Clone, Debug)]
pub struct MbarrierWait {
    /// Gets 1 if the phase is complete, 1 bit; `None` for `_`.
    pub destination: Option<RegisterId>,
    /// In the own CTA.
    pub address: Address,
    /// Which phase.
    pub phase: MbarrierPhase,
    /// `try_wait`, which may suspend the thread (its time hint has no meaning here), rather than `test_wait`.
    pub is_try: bool,
    /// `Acquire` or `Relaxed`.
    pub sem: Sem,
    /// `Cta` or `Cluster`.
    pub scope: Scope,
}

/// How a wait names its phase.
#[derive(Clone, Debug)]
pub enum MbarrierPhase {
    /// The phase in which an arrive returned this state, 64 bits.
    State(Expression),
    /// The current or the last phase, whichever has this parity, 32 bits; constants are 0 or 1.
    Parity(Expression),
}

/// A proxy fence other than `fence.proxy.alias`, which is [`InstructionKind::AliasFence`](super::InstructionKind).
#[derive(Clone, Debug)]
pub enum ProxyFenceKind {
    /// `fence.proxy.async`: generic and async accesses, in both directions, within one thread (FN-12, FN-25).
    Async {
        /// Objects it is limited to.
        space: AsyncSpace,
    },
    /// `fence.proxy.async::generic`: one half, generic before async (FN-15 … FN-17).
    AsyncGeneric {
        /// `Release` or `Acquire`; the scope is `.cluster`.
        sem: Sem,
        /// Objects it is limited to.
        restrict: SyncRestrict,
    },
    /// `fence.proxy.tensormap::generic.release` (FN-13).
    TensormapRelease {
        /// Scope.
        scope: Scope,
    },
    /// `fence.proxy.tensormap::generic.acquire [address], 128` (FN-14).
    TensormapAcquire {
        /// Scope.
        scope: Scope,
        /// First of the 128 bytes.
        address: Address,
    },
    /// `fence.proxy.texture` and the like, which only the formal model of PTX 7.5 has.
    Formal {
        /// Which.
        proxy: Proxy,
    },
    /// `fence.proxy.alias.acquire.sys` and `.release.sys` (FN-18).
    AliasHalf {
        /// `Release` or `Acquire`.
        sem: Sem,
    },
}

/// The objects that `fence.proxy.async` is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AsyncSpace {
    /// All of them.
    All,
    /// `.global`
    Global,
    /// `.shared::cta`
    SharedCta,
    /// `.shared::cluster`
    SharedCluster,
}

impl AsyncSpace {
    /// What follows `fence.proxy.async`.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Global => ".global",
            Self::SharedCta => ".shared::cta",
            Self::SharedCluster => ".shared::cluster",
        }
    }
}
