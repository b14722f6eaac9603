//! Shared by the suites.

pub mod run;
