//! What the threads of a launch do together.
//!
//! Each thread has been run on its own; what it did at barriers and mbarriers is in a log. From the logs of all threads it
//! is stated here which of it belongs together, what getting through means, what must have happened before what, and
//! which rules that breaks. All of it are terms over unknowns, and edges with conditions.
//!
//! **Invariant:** nothing here runs a statement or knows a path; it sees the logs and the graph.

pub mod barrier;
pub mod log;
pub mod mbarrier;
