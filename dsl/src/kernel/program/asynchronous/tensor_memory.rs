//! `tcgen05`: operations on tensor memory (§5.8).

use super::super::{Address, Expression};

/// A `tcgen05` instruction. Of what it computes only what is read and written counts; operands in tensor memory, those in
/// shared memory next to them, and registers are all elements that they name.
#[derive(Clone, Debug)]
pub enum TensorOp {
    /// `mma`: `accumulator += a * b`.
    Multiply(TensorProduct),
    /// `cp`: from shared memory of the own CTA, through the async proxy.
    Copy {
        /// Tensor memory.
        destination: Address,
        /// As many elements of the same size.
        source: Address,
    },
    /// `ld`
    Load {
        /// Registers: of [`Space::Register`](crate::vocabulary::Space).
        destination: Address,
        /// Tensor memory, as many elements of the same size.
        source: Address,
    },
    /// `st`
    Store {
        /// Tensor memory.
        destination: Address,
        /// One for each element, as wide as it.
        values: Vec<Expression>,
    },
    /// `commit`: arrives once all earlier products and copies of the thread are done (AS-30).
    Commit {
        /// In any CTA of the cluster.
        mbarrier: Address,
        /// At the same place of every CTA whose rank's bit is set, 16 bits.
        multicast: Option<Expression>,
    },
    /// `wait::ld`, `wait::st`: for all earlier ones of the thread.
    Wait {
        /// For stores rather than loads.
        stores: bool,
    },
    /// `fence::before_thread_sync`, `fence::after_thread_sync` (AS-31).
    Fence {
        /// The former.
        before: bool,
    },
    /// `alloc`: stores an address, weakly, once there are so many columns.
    Allocate {
        /// In the own CTA's shared memory, 32 bits.
        slot: Address,
        /// A power of two from 32 to 512.
        columns: u32,
    },
    /// `dealloc`
    Free {
        /// Tensor memory: the whole object.
        object: Address,
        /// A power of two from 32 to 512.
        columns: u32,
    },
    /// `relinquish_alloc_permit`
    Relinquish,
}

/// The operands of `tcgen05.mma`.
#[derive(Clone, Debug)]
pub struct TensorProduct {
    /// Tensor memory.
    pub accumulator: Address,
    /// If 0, the old accumulator is not read.
    pub accumulates: Option<Expression>,
    /// Tensor memory, or shared memory of the own CTA.
    pub a: Address,
    /// Shared memory of the own CTA.
    pub b: Address,
    /// `f16` and so on: only products of one kind follow each other on an accumulator.
    pub kind: String,
}
