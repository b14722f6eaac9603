//! Events that only threads of SPA machines have.

use super::Access;
use fencepost_dsl::vocabulary::{Invalidation, MembarLevel};

/// What a thread does about the order of its accesses and about L1 caches (§7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SpaEvent {
    /// `MEMBAR`.
    Membar {
        /// How far it reaches.
        level: MembarLevel,
        /// What it invalidates between what comes before and what comes after (SPA-5).
        invalidation: Invalidation,
    },
    /// `CCTL.D.IVALL`, `CCTLT.IVALL`.
    InvalidateAll(Invalidation),
    /// `CCTL.IV`, with what it would access.
    InvalidateLine(Access),
}

impl SpaEvent {
    /// The level, if it is a `MEMBAR`.
    pub fn level(&self) -> Option<MembarLevel> {
        match self {
            Self::Membar { level, .. } => Some(*level),
            Self::InvalidateAll(_) | Self::InvalidateLine(_) => None,
        }
    }
    /// What it invalidates as a whole.
    pub fn invalidation(&self) -> Invalidation {
        match self {
            Self::Membar { invalidation, .. } | Self::InvalidateAll(invalidation) => *invalidation,
            Self::InvalidateLine(_) => Invalidation::default(),
        }
    }
}
