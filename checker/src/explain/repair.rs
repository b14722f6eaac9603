//! Changes of the text that might mend what was found, each tried by a check of the changed program for all properties
//! together; what holds is kept, and what was checked is kept with it.
//!
//! A change never takes away or weakens an assertion, an access, a wait or its condition, and never touches a launch: the
//! rooms below make stronger sems and wider scopes, add barriers, fences and waits, move what synchronizes past a
//! neighbour, set counts and parities (and a number that is waited for and not reached, but never a weaker comparison), give
//! a first turn or a role to another thread, take flags that are put and put them when they are free, await a flag that is set,
//! and repeat a handshake that is there; and `grammar` writes each value near what was found in another way. What stands in a
//! function is followed to its calls. None makes a race of data strong and leaves its order missing. A change with which
//! nothing is violated is no repair if it only hides what was found, or keeps threads from meeting where they met.
//! Where one half of a handshake is missing, the other half of one that is there tells what it looks like.
//! Cannot: write new code otherwise.

mod anywhere;
mod arrivals;
mod atomics;
mod barrier;
mod branch;
mod cluster;
mod compiled;
mod crossing;
mod effect;
mod effort;
mod find;
mod flags;
mod grammar;
mod group;
mod halves;
mod handed;
mod handshake;
mod mbarrier;
mod missing;
mod misuse;
mod numbers;
mod odd;
mod opcode;
mod order;
mod propose;
mod relay;
mod resets;
mod scope;
mod shares;
mod signal;
mod spa;
mod streams;
mod syntax;
mod text;
mod turns;
mod values;

use crate::verdict::Property;

pub(crate) use effect::{Wrong, only_hides};
pub use effort::worth;
pub use find::{Job, Tries, find};
pub(crate) use find::{Key, key};
pub(crate) use handed::{HANDED_MAX, Handed};
pub(crate) use propose::{Ground, proposals};
pub(crate) use syntax::{Instruction, NodeKind, Syntax};
pub use text::{Edit, EditKind, Piece, Texts};

/// Changes, and what was checked of the program with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// What mends this finding.
    pub edits: Vec<Edit>,
    /// Changes that mend other findings, and were in place as well.
    pub others: Vec<Edit>,
    /// Properties of the launch that are still broken; none, if nothing is.
    pub stays: Vec<Property>,
    /// Only for executions within the loop bound.
    pub within_bound: bool,
    /// For how many launches of the kernel it was checked.
    pub n_launches: usize,
    /// Whether something is violated in another launch with it; else of those for which it was not checked no answer came.
    pub fails_elsewhere: bool,
}

impl Repair {
    /// Whether nothing is violated with it.
    pub fn is_complete(&self) -> bool {
        self.stays.is_empty()
    }
}
