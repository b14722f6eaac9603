//! Fencepost: a bounded model checker for GPU synchronization code over NVIDIA's PTX memory model.

pub mod bits;
pub mod cnf;
pub mod event;
pub mod unroll;
pub mod relation;
pub mod encode;
pub mod solve;
pub mod witness;
pub mod verdict;
pub mod check;
pub mod explain;
pub mod report;
pub mod cli;
pub mod codes;
