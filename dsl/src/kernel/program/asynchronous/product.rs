//! `wgmma.mma_async` of compiled code: its matrices are numbers.

use super::super::Expression;

/// Registers that stand together in operands of matrix operations, by number.
pub type TupleId = u32;

/// The operands of a matrix operation: descriptors, and tuples of registers.
#[derive(Clone, Debug)]
pub struct Product {
    /// `m64n8k16` and so on.
    pub shape: &'static str,
    /// What is added to.
    pub accumulator: TupleId,
    /// The left matrix.
    pub a: Factor,
    /// The right matrix, in shared memory.
    pub b: Factor,
}

/// A matrix that is read.
#[derive(Clone, Debug)]
pub enum Factor {
    /// In registers.
    Registers(TupleId),
    /// In shared memory of the own CTA.
    Described {
        /// Its descriptor, 64 bits.
        descriptor: Expression,
        /// How many rows or columns of 32 bytes.
        rows: u32,
        /// Stored with the other dimension first.
        is_transposed: bool,
    },
}
