//! One execution of a launch, step by step: who can go on, what a step may come to, and what was chosen.
//!
//! What can be chosen is what some execution does that begins with the steps taken ([`crate::check::executions`]); between
//! threads any order is a choice that respects barriers, phases, operations and grids. A read may come before the write that it
//! is of: PTX has no order of all accesses, and what is shown is one of many.

mod choice;
mod execution;
mod json;
mod meant;
mod words;

pub use choice::{Choice, Pick};
pub use execution::{Done, NotDone, Run, Standing, ways};
pub use json::json;
pub use meant::{meant, none};
pub use words::{Wrong, deed, end, memory, prompt, standing, story, text, wrong};
