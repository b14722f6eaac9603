//! One call for all of it: a text or a file in, a [`Report`] out.
//!
//! What is below it, pass by pass, is public, too; this is what a test of a library of kernels needs.

mod check;
mod examined;
mod finding;
mod input;
mod options;
mod proved;
mod report;
mod source;

pub use check::check;
pub use finding::{Edit, Finding, Place, Position, ReadsFrom, Region, Step};
pub use input::{InputError, InputProblem};
pub use options::Options;
pub use proved::assert_proved_in;
pub use report::{Launch, Report, Warning};
pub use source::Source;
