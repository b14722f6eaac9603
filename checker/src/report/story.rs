//! The execution of a finding as a story: lanes, steps in an order, and the links between them, with what is broken.
//!
//! Made once from the witness and the facts, and drawn as a table ([`super::trace`]) or a picture ([`super::picture`]), so
//! that none of them says what the others do not.
//! Cannot: show an order of events that the execution has not; rows are one order of many that respect it.

mod cast;
mod folding;
mod links;
mod opcodes;
mod order;
mod phases;
mod steps;
mod teller;
mod told;
mod whole;

pub use phases::PhaseRow;
pub use told::{Lane, Link, LinkKind, Place, Step, Story};
pub use whole::{Deed, Deeds, Outcome, Standstill, Told};
