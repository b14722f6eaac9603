//! Fencepost: a bounded model checker for GPU synchronization code over NVIDIA's PTX memory model.

pub mod bits;
pub mod check;
pub mod cli;
pub mod cnf;
pub mod codes;
pub mod encode;
pub mod event;
pub mod explain;
pub mod findings;
pub mod relation;
pub mod report;
pub mod solve;
pub mod unroll;
pub mod verdict;
pub mod witness;
pub mod work;
