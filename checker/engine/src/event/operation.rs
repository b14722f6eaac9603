//! Which asynchronous operations there are, for who says how one is waited for.

use super::AgentId;

/// An asynchronous operation: an agent of its own.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The thread that started it.
    pub issuer: AgentId,
    /// What it is.
    pub sort: OperationSort,
}

/// What an asynchronous operation is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OperationSort {
    /// `cp.async`
    Copy,
    /// What `cp.async.mbarrier.arrive` does when the copies before it are done.
    CopyArrival,
    /// `cp.async.bulk`
    BulkCopy,
    /// `cp.async.bulk.tensor`
    TensorCopy,
    /// One of the two with `.multicast::cluster`.
    MulticastCopy,
    /// `cp.reduce.async.bulk`
    BulkReduction,
    /// `cp.async.bulk.prefetch`
    Prefetch,
    /// `st.async`
    Store,
    /// `red.async`
    Reduction,
    /// `multimem.st.async`
    MultimemStore,
    /// `multimem.red.async`
    MultimemReduction,
    /// `wgmma.mma_async`
    Matrix,
    /// `tcgen05.mma`
    TensorProduct,
    /// `tcgen05.cp`
    TensorMemoryCopy,
    /// `tcgen05.ld`
    TensorMemoryLoad,
    /// `tcgen05.st`
    TensorMemoryStore,
    /// `tcgen05.commit`
    TensorMemoryCommit,
    /// `clusterlaunchcontrol.try_cancel`
    Cancel,
}

impl OperationSort {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "cp.async",
            Self::CopyArrival => "cp.async arrival",
            Self::BulkCopy => "bulk copy",
            Self::TensorCopy => "tensor copy",
            Self::MulticastCopy => "multicast copy",
            Self::BulkReduction => "bulk reduction",
            Self::Prefetch => "prefetch",
            Self::Store => "st.async",
            Self::Reduction => "red.async",
            Self::MultimemStore => "multimem.st.async",
            Self::MultimemReduction => "multimem.red.async",
            Self::Matrix => "matrix operation",
            Self::TensorProduct => "tcgen05.mma",
            Self::TensorMemoryCopy => "tcgen05.cp",
            Self::TensorMemoryLoad => "tcgen05.ld",
            Self::TensorMemoryStore => "tcgen05.st",
            Self::TensorMemoryCommit => "tcgen05.commit",
            Self::Cancel => "try_cancel",
        }
    }
}
