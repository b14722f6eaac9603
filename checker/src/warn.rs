//! Warnings: what is likely a mistake in a kernel file and breaks no property.
//!
//! Some are seen in the text, others only in what the launches of a file do, all of them together. A warning is given only
//! where it is certain: what a limit cut short, or a loop bound, is not looked at.

mod launches;
mod text;
mod warning;

pub use launches::Seen;
pub use warning::Warning;

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::Program;

/// All warnings of a file, in order of the text. `seen` is what its launches do.
pub fn warnings(sources: &SourceMap, program: &Program, seen: &Seen) -> Vec<Warning> {
    let mut found = text::warnings(sources);
    found.extend(launches::warnings(sources, program, seen));
    found.sort_by_key(|warning| (warning.span, warning.kind.code));
    found
}
