//! Instructions on multimem addresses.
//!
//! A multimem address denotes one location per device (MM-7). Each instruction is a set of accesses, one for each of
//! them and for each element of a vector (MM-8), in no order among themselves, all of the instruction's sem and scope.

use super::{Address, AtomicOp, Expression, RegisterId};
use crate::vocabulary::{Scope, Sem};

/// A `multimem` instruction.
#[derive(Clone, Debug)]
pub enum MultimemOp {
    /// `multimem.ld_reduce`: reads every instance and combines what it has read.
    LoadReduce {
        /// Get the combined values, one per element; `None` for `_`.
        destinations: Vec<Option<RegisterId>>,
        /// Not `inc`, `dec`, exchange or CAS.
        op: AtomicOp,
        /// A multimem object.
        address: Address,
        /// `Weak`, `Relaxed` or `Acquire`.
        sem: Sem,
        /// Meaningless (`Cta`) for weak.
        scope: Scope,
    },
    /// `multimem.st`: writes the same values to every instance.
    Store {
        /// One value per element.
        values: Vec<Expression>,
        /// A multimem object.
        address: Address,
        /// `Weak`, `Relaxed` or `Release`.
        sem: Sem,
        /// Meaningless (`Cta`) for weak.
        scope: Scope,
    },
    /// `multimem.red`: an atomic of every instance; its reads never acquire (MM-24).
    Reduction {
        /// As of `LoadReduce`.
        op: AtomicOp,
        /// One operand per element.
        operands: Vec<Expression>,
        /// A multimem object.
        address: Address,
        /// `Relaxed` or `Release`.
        sem: Sem,
        /// Scope.
        scope: Scope,
    },
}

impl MultimemOp {
    /// The memory operand.
    pub fn address(&self) -> &Address {
        match self {
            Self::LoadReduce { address, .. }
            | Self::Store { address, .. }
            | Self::Reduction { address, .. } => address,
        }
    }
    /// How many elements it accesses, of each instance.
    pub fn n_elements(&self) -> usize {
        match self {
            Self::LoadReduce { destinations, .. } => destinations.len(),
            Self::Store { values, .. } | Self::Reduction { operands: values, .. } => values.len(),
        }
    }
}
