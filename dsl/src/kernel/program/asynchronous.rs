//! Asynchronous operations: what an instruction only starts (§5), and the instructions that wait for it.
//!
//! Sizes are in bytes. A copy reaches over as many elements from the first one as it has bytes; both ends hold whole
//! elements of it.

pub use product::{Factor, Product, TupleId};
pub use tensor_memory::{TensorOp, TensorProduct};

use super::{Address, AtomicOp, Expression, ObjectId, RegisterId};
use crate::vocabulary::{Scope, Sem};

mod product;
mod tensor_memory;

/// An instruction that starts an asynchronous operation, or waits for some.
#[derive(Clone, Debug)]
pub enum AsyncOp {
    /// `cp.async`
    Copy(AsyncCopy),
    /// `cp.async.mbarrier.arrive`: arrives once all earlier `cp.async` of the thread are done (MM-29, AS-11).
    CopyArrive {
        /// In the own CTA.
        mbarrier: Address,
        /// Without `.noinc`: one more arrival is pending from now on.
        increments: bool,
    },
    /// `cp.async.bulk`, `cp.reduce.async.bulk` and their tensor forms.
    Bulk(BulkCopy),
    /// `cp.async.bulk.prefetch{.tensor}`: a hint; only the tensor map is read.
    Prefetch {
        /// The memory, or the tensor map and coordinates.
        source: BulkEnd,
    },
    /// `cp.async.commit_group`, `cp.async.bulk.commit_group`
    Commit(AsyncGroup),
    /// `cp.async.wait_group`, `cp.async.bulk.wait_group{.read}`; `cp.async.wait_all` is a commit and a wait for 0.
    Wait {
        /// Which groups.
        group: AsyncGroup,
        /// So many of the latest groups may still be pending.
        pending: u32,
        /// `.read`: only their reads need be done (AS-20).
        reads_only: bool,
    },
    /// `st.async`, `red.async`
    Store(AsyncStore),
    /// `clusterlaunchcontrol.try_cancel.async` (AS-39).
    TryCancel {
        /// 16 bytes in the own CTA.
        response: Address,
        /// In the own CTA.
        mbarrier: Address,
        /// `.multicast::cluster::all`: to every CTA of the cluster.
        multicast: bool,
    },
    /// `clusterlaunchcontrol.query_cancel`: looks at a response, no memory.
    QueryCancel {
        /// Gets the answer: 1 bit for `IsCanceled`, 32 bits for `FirstCtaid`; `None` for `_`.
        destination: Option<RegisterId>,
        /// What is asked.
        query: CancelQuery,
        /// The response, 128 bits.
        response: Expression,
    },
    /// `wgmma.mma_async`: `accumulator += a * b`, of which only what is read and written counts (AS-24).
    Matrix(MatrixOp),
    /// The same of compiled code, whose matrices are numbers.
    Product(Product),
    /// An instruction of compiled code reads or writes registers of matrix operations (AS-25, AS-26).
    Touch(Vec<TupleId>),
    /// `tcgen05`: on tensor memory (AS-29).
    Tensor(TensorOp),
    /// `wgmma.fence`: orders register accesses before and after it with matrix operations (AS-25).
    MatrixFence,
    /// `tensormap.replace`: a weak generic write of the whole tensor map (AS-35).
    TensormapReplace {
        /// In global memory or the own CTA.
        map: Address,
    },
}

/// Groups of asynchronous operations of one thread, counted apart (AS-3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AsyncGroup {
    /// Of `cp.async`.
    Copy,
    /// Of bulk copies that complete by `.bulk_group`.
    Bulk,
    /// Of `wgmma.mma_async`.
    Matrix,
}

/// The operands of `wgmma.mma_async`: each is all elements that it names.
#[derive(Clone, Debug)]
pub struct MatrixOp {
    /// `m64n8k16` and so on: operations of one shape on one accumulator are in order.
    pub shape: &'static str,
    /// Registers: of [`Space::Register`](crate::vocabulary::Space).
    pub accumulator: Address,
    /// `scale-d`: whether the old accumulator is added; if not, it is not read.
    pub accumulates: bool,
    /// Registers, or shared memory of the own CTA.
    pub a: Address,
    /// Shared memory of the own CTA.
    pub b: Address,
}

/// The operands of `cp.async`: a generic, weak copy from global memory to the own CTA's shared memory.
#[derive(Clone, Debug)]
pub struct AsyncCopy {
    /// In the own CTA.
    pub destination: Address,
    /// In global memory.
    pub source: Address,
    /// 4, 8 or 16.
    pub bytes: u32,
    /// Bytes that are copied, 32 bits; zeros are written for the rest (AS-9). Absent: all.
    pub source_bytes: Option<Expression>,
    /// Width 1: if 1, nothing is read and zeros are written.
    pub ignore_source: Option<Expression>,
}

/// The operands of a bulk copy or reduction: through the async proxy.
#[derive(Clone, Debug)]
pub struct BulkCopy {
    /// To.
    pub destination: BulkEnd,
    /// From.
    pub source: BulkEnd,
    /// How many, 32 bits; constants are multiples of 16. Absent where an end is a tensor: the bytes of its box.
    pub bytes: Option<Expression>,
    /// Who learns that it is done.
    pub completion: BulkCompletion,
    /// To the same place of every CTA of the cluster whose rank's bit is set, 16 bits; each one's mbarrier is signalled
    /// (AS-14).
    pub multicast: Option<Expression>,
    /// `cp.reduce.async.bulk`: each element is updated atomically.
    pub reduction: Option<AtomicOp>,
    /// `Weak`; `Relaxed` if so written, and for the elements of a reduction.
    pub sem: Sem,
    /// Scope, for `Relaxed`.
    pub scope: Scope,
}

/// One end of a bulk copy.
#[derive(Clone, Debug)]
pub enum BulkEnd {
    /// Consecutive bytes.
    Memory(Address),
    /// A box of a tensor in global memory.
    Tensor(TensorBox),
}

/// A box of a tensor, as a tensor map describes it.
#[derive(Clone, Debug)]
pub struct TensorBox {
    /// The tensor map.
    pub map: Address,
    /// Of the box's first element, 32 bits each (signed), innermost dimension first.
    pub coordinates: Vec<Expression>,
}

/// What a tensor map describes: boxes of an object. Elements outside the object read as 0 and are not written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// In global memory.
    pub object: ObjectId,
    /// Elements per dimension of a box, outermost first; as many as the object has dimensions.
    pub box_dimensions: Vec<u32>,
}

/// How the end of a bulk copy is made known (AS-3).
#[derive(Clone, Debug)]
pub enum BulkCompletion {
    /// `.mbarrier::complete_tx::bytes`, in the CTA of the destination.
    Mbarrier(Address),
    /// `.bulk_group`
    Group,
}

/// The operands of `st.async` and `red.async`: one write or update per element, in the generic proxy; of
/// `multimem.st.async` and `multimem.red.async` one per device, if the address is a multimem address.
#[derive(Clone, Debug)]
pub struct AsyncStore {
    /// The first element.
    pub address: Address,
    /// One per element.
    pub values: Vec<Expression>,
    /// `red.async`
    pub reduction: Option<AtomicOp>,
    /// Gets a complete-tx, in the CTA of the address; absent in the forms for global memory.
    pub mbarrier: Option<Address>,
    /// `Weak` (`st.async` to shared memory), `Relaxed` (`red.async` to shared memory) or `Release`.
    pub sem: Sem,
    /// Scope, unless weak.
    pub scope: Scope,
}

/// What `clusterlaunchcontrol.query_cancel` asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelQuery {
    /// Whether a cluster was cancelled, so that its work is ours.
    IsCanceled,
    /// The index of its first CTA.
    FirstCtaid,
}
