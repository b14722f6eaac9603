//! What programs for SPA machines have of their own: cache control, `MEMBAR`, and where their threads run.

use super::Address;
use crate::vocabulary::{Client, Invalidation, MembarLevel};

/// An instruction that only these machines have.
#[derive(Clone, Debug)]
pub enum SpaOp {
    /// `MEMBAR`, with what it invalidates between what comes before and what comes after (SPA-5).
    Membar {
        /// How far it reaches.
        level: MembarLevel,
        /// `.IVALLD` and the like.
        invalidation: Invalidation,
    },
    /// `CCTL.D.IVALL`, `CCTLT.IVALL`.
    InvalidateAll(Invalidation),
    /// `CCTL.IV`: the line of an address, in the data L1.
    InvalidateLine(Address),
}

/// Where the CTAs of a launch run, and who takes part besides them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaLaunch {
    /// SMs per device; CTA `i` of a device runs on SM `i % sms`.
    pub sms: u32,
    /// A copy engine of the first device, if there is one.
    pub copy_engine: Option<Channel>,
    /// Whether the host takes part.
    pub host: bool,
}

impl SpaLaunch {
    /// Every CTA on an SM of its own, nobody else.
    pub fn apart(ctas: u32) -> Self {
        Self { sms: ctas, copy_engine: None, host: false }
    }

    /// Whether a client takes part.
    pub fn has(self, client: Client) -> bool {
        match client {
            Client::CopyEngine => self.copy_engine.is_some(),
            Client::Host => self.host,
        }
    }
}

/// Whether a client is on the virtual channel of the SMs (SPA-2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channel {
    /// `MEMBAR.VC` reaches it.
    Same,
    /// It takes `MEMBAR.GL`.
    Other,
}
