//! Instructions on multimem addresses.
//!
//! A multimem address denotes one location per device (MM-7). Each instruction is a set of accesses, one for each of
//! them and in no order among themselves, all of the instruction's sem and scope.

use super::{Address, AtomicOp, Expression, RegisterId};
use crate::vocabulary::{Scope, Sem};

/// A `multimem` instruction.
#[derive(Clone, Debug)]
pub enum MultimemOp {
    /// `multimem.ld_reduce`: reads every instance and combines what it has read.
    LoadReduce {
        /// Gets the combined value; `None` for `_`.
        destination: Option<RegisterId>,
        /// Not `inc`, `dec`, exchange or CAS.
        op: AtomicOp,
        /// A multimem object.
        address: Address,
        /// `Weak`, `Relaxed` or `Acquire`.
        sem: Sem,
        /// Meaningless (`Cta`) for weak.
        scope: Scope,
    },
    /// `multimem.st`: writes the same value to every instance.
    Store {
        /// The value.
        value: Expression,
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
        /// The operand.
        operand: Expression,
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
}
