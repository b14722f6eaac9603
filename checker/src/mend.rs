//! Changes of a whole file: what mends it (`fix`), and what it does not need (`relax`).
//!
//! Both try changed texts: each is parsed and checked for all properties, all kernels and all launches of the file, and what
//! is said of it was checked so. What is done is counted in steps, so the same input gives the same answer everywhere.

pub mod cost;
pub mod diff;
pub mod fix;
pub mod relax;
mod trial;
mod weaken;

pub use trial::{Failure, Progress, Setting};
