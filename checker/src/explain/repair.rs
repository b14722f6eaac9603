//! Changes of the text that might mend what was found, each tried by a check of the changed program for all properties
//! together; what holds is kept, and what was checked is kept with it.
//!
//! A change never takes away or weakens an assertion, an access, a wait or its condition, and never touches a launch: the
//! rooms below make stronger sems and wider scopes, add barriers, fences and waits, move what synchronizes past a
//! neighbour, set counts and parities (and a number that is waited for and not reached, but never a weaker comparison),
//! give a first turn or a role to another thread, take flags that are put and put them when they are free, await what is
//! signalled, and repeat a handshake that is there; `grammar` writes each value near what was found in another way, and
//! `rows` strengthens words and puts in what orders or completes. What stands in a function is followed to its calls. None
//! makes a race of data strong and leaves its order missing. A change with which nothing is violated is no repair if it
//! only hides what was found, or keeps threads from meeting where they met.
//! Where one half of a handshake is missing, the other half of one that is there tells what it looks like.
//! Cannot: write new code otherwise.

mod anywhere;
mod arrivals;
mod atomics;
mod awaits;
mod barrier;
mod branch;
mod cluster;
mod compiled;
mod crossing;
pub(crate) mod edit;
mod effect;
mod effort;
mod find;
mod grammar;
mod ground;
mod group;
mod halves;
mod handed;
mod handshake;
mod key;
mod mbarrier;
mod missing;
mod misuse;
mod numbers;
mod odd;
mod opcode;
mod order;
mod parts;
mod places;
mod propose;
mod relay;
mod resets;
mod rows;
mod scope;
mod shares;
mod signal;
mod sites;
mod spa;
mod streams;
mod syntax;
mod taken_back;
mod text;
mod turns;
mod uses;
mod values;
mod variant;
mod written;

pub use edit::{Edit, EditKind, Piece, Repair, Tries};
pub(crate) use effect::{Wrong, only_hides};
pub use effort::worth;
pub use find::{Job, find};
pub(crate) use ground::{Ground, is_instead_of_meeting, truths};
pub(crate) use handed::{HANDED_MAX, Handed};
pub(crate) use key::{Key, key};
pub(crate) use propose::proposals;
pub(crate) use syntax::{Instruction, NodeKind, Syntax};
pub use text::Texts;
