//! The kernel language: `.fence` text to a resolved [`Program`](program::Program).
//!
//! ```text
//!  text ── token ──> tokens ── grammar ──> ast ── resolve ──> program
//!                                           └── pretty ──> text
//! ```
//! Instructions are read in three steps: `opcode` takes the spelling apart, `legality` holds PTX's rules on
//! modifiers, `resolve::instruction` checks operands. Nothing here reads files; the caller hands in a reader.

pub mod ast;
pub mod dump;
pub mod isa;
mod legality;
mod load;
mod opcode;
mod parse;
pub mod pretty;
pub mod program;
mod resolve;
mod suggest;
mod target;
mod token;

lalrpop_util::lalrpop_mod!(
    #[allow(warnings, clippy::all, clippy::pedantic, reason = "generated code")]
    grammar,
    "/kernel/grammar.rs"
);

pub use load::{LoadOptions, load};
pub use parse::parse;
