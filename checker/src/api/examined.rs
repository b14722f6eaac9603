//! A launch, and what was found out about it.

use crate::examine::Examination;
use fencepost_dsl::Diagnostic;
use fencepost_dsl::kernel::program;

/// A launch, and what was found out about it, or what it does that is not checked.
pub(super) struct Examined {
    /// The number of the kernel.
    pub(super) kernel: usize,
    pub(super) launch: program::Launch,
    pub(super) result: Result<Examination, Box<Diagnostic>>,
}
