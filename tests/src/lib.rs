//! Shared by the suites: how to run the checker, a dull second opinion on small programs, and a source of them.

pub mod agreement;
pub mod claims;
pub mod compiled;
pub mod forms;
pub mod generate;
pub mod laws;
pub mod litmus;
pub mod oracle;
pub mod outcomes;
pub mod random;
pub mod run;
pub mod switched;
