//! The two languages of Fencepost: kernel files (`.fence`) and memory models (`.cat`).
//!
//! Text goes in, a resolved value or a list of [`Diagnostic`]s comes out.
//! Nothing here knows events, relations over events or SAT; nothing here reads files or prints.
//!
//! ```text
//!  .fence text ─ kernel::parse ─> Ast ─ kernel::resolve ─> Program      (names are ids, every expression has a width)
//!  .cat text   ─ cat::parse ────> Ast ─ cat::resolve ────> MemoryModel  (a DAG of sets and relations, and its axioms)
//! ```
//!
//! ```
//! use fencepost_dsl::SourceMap;
//! use fencepost_dsl::kernel::{LoadOptions, load};
//!
//! let mut read = |path: &str| match path {
//!     "k.fence" => Ok("kernel k { launch { ctas: CTAS } } const CTAS = 1;".to_owned()),
//!     _ => Err("no such file".to_owned()),
//! };
//! let mut sources = SourceMap::default();
//! let options = LoadOptions { defines: vec![("CTAS".to_owned(), 4)], target: None };
//! let program = load(&mut sources, "k.fence", &mut read, &options).expect("it is well-formed");
//! assert_eq!((program.kernels[0].name.as_str(), program.kernels[0].launches[0].ctas), ("k", 4));
//!
//! let errors = load(&mut sources, "other.fence", &mut read, &options).expect_err("there is no such file");
//! assert_eq!(errors[0].code, "resolve::unreadable-file");
//! ```

pub mod cat;
pub mod diagnostic;
mod flow;
pub mod index;
pub mod kernel;
pub mod litmus;
pub mod ptx;
pub mod sorted;
pub mod source;
pub mod span;
pub mod vocabulary;

pub use diagnostic::{Diagnostic, Label};
pub use index::IndexVec;
pub use source::{Origin, SourceMap};
pub use span::{FileId, Span};
