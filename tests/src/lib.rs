//! Shared by the suites: how to run the checker, a dull second opinion on small programs, and a source of them.

pub mod generate;
pub mod litmus;
pub mod outcomes;
pub mod reference;
pub mod run;
