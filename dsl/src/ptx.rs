//! PTX, as compilers write it: text to a [`Module`].
//!
//! The grammar is read whole, whatever the opcodes: labels, directives, guards, nested scopes (whose names are told apart),
//! inline assembly, `.loc`, and sections for debuggers, which are skipped. What an instruction means is said elsewhere, by
//! the rows of the kernel language. Calls of functions of the module are put in place ([`inline`]).

pub mod inline;
pub mod module;
mod parse;
mod token;

pub use module::Module;
pub use parse::parse;
