//! The two languages of Fencepost: kernel files (`.fence`) and memory models (`.cat`).
//!
//! Text goes in, a resolved value or a list of [`Diagnostic`]s comes out.
//! Nothing here knows events, relations over events or SAT; nothing here reads files or prints.
//!
//! ```text
//!  .fence text ─ kernel::parse ─> Ast ─ kernel::resolve ─> Program      (names are ids, every expression has a width)
//!  .cat text   ─ cat::parse ────> Ast ─ cat::resolve ────> MemoryModel  (a DAG of sets and relations, and its axioms)
//! ```

pub mod cat;
pub mod diagnostic;
pub mod index;
pub mod kernel;
pub mod litmus;
pub mod source;
pub mod span;
pub mod vocabulary;

pub use diagnostic::{Diagnostic, Label};
pub use index::IndexVec;
pub use source::SourceMap;
pub use span::{FileId, Span};
