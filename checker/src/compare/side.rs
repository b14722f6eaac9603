//! A launch that is compared.

use fencepost_dsl::kernel::program::{Kernel, Launch, Program};

/// One of the two.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its file's program.
    pub program: &'a Program,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// For which it is run.
    pub launch: &'a Launch,
    /// Rounds of loops whose number depends on data.
    pub unroll: u32,
    /// Most events.
    pub max_events: usize,
}
