//! From an assignment (or a plain run of the threads) to an execution, and the independent word on it.
//!
//! Invariant: `decode` only reads literals; `recheck` never sees one. What `recheck` accepts is an execution of the event
//! graph, allowed by the model file, that does what is claimed of it.

pub(crate) mod decode;
pub(crate) mod interleaving;
pub mod recheck;
mod turns;

use crate::bits::{BitMatrix, EventSet};
use crate::encode::goal::GoalKind;
use crate::event::{EventId, TermRef, UnknownId};
use crate::findings::FlagKind;
use crate::relation::execution::ExactBasis;
use fencepost_dsl::IndexVec;
use fencepost_dsl::sorted::SortedMap;

/// A candidate execution: a value for every unknown, and the communication.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The events that happen.
    pub executed: EventSet,
    /// The value of every unknown; 0 where nothing depends on it.
    pub unknowns: IndexVec<UnknownId, u128>,
    /// Per executed read and piece: the write, and which piece of it.
    pub sources: SortedMap<EventId, Vec<(EventId, u32)>>,
    /// Coherence order.
    pub coherence: BitMatrix,
    /// Fence-SC order.
    pub fence_order: BitMatrix,
    /// If its events happened one after the other: when each did, those that did not in places of nobody else.
    pub turns: Option<IndexVec<EventId, u32>>,
}

/// An execution that was re-evaluated without the encoder.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The execution.
    pub execution: Execution,
    /// The value of every term in it.
    pub values: IndexVec<TermRef, u128>,
    /// Its base sets and relations, for further questions about it.
    pub basis: ExactBasis,
    /// What it does wrong.
    pub claim: GoalKind,
    /// For a flag: its refinements (`race.mixed-size`) that have the same pair.
    pub refinements: Vec<&'static FlagKind>,
}
