//! The kernel language: `.fence` text to a resolved [`Program`](program::Program).
//!
//! ```text
//!  text ── token ──> tokens ── grammar ──> ast ── resolve ──> program
//!                                           └── pretty ──> text
//! ```
//! Instructions are rows of `isa`: `opcode` takes the spelling apart, the row says which words there are, and its
//! functions check what goes together and take the operands. Nothing here reads files; the caller hands in a reader.

mod assemble;
pub mod ast;
pub mod dump;
#[cfg(feature = "foreign")]
mod foreign;
#[cfg(not(feature = "foreign"))]
#[path = "kernel/no_foreign.rs"]
mod foreign;
mod import;
pub mod isa;
mod load;
mod opcode;
mod parse;
pub mod pretty;
pub mod program;
mod resolve;
mod silent;
mod suggest;
mod target;
mod token;
mod unclosed;

lalrpop_util::lalrpop_mod!(
    #[allow(warnings, clippy::all, clippy::pedantic, reason = "generated code")]
    grammar,
    "/kernel/grammar.rs"
);

pub use assemble::{ALIGNMENT, Assembled, Observed, Purpose, assemble};
pub use load::{LIBRARY_ROOT, LoadOptions, beside, load};
pub use parse::parse;
pub use suggest::suggest;
