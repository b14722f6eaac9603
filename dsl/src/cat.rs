//! The memory-model language: text to [`MemoryModel`].
//!
//! The language is the part of the herd tools' cat that says what executions must satisfy:
//!
//! | form | meaning |
//! |------|---------|
//! | `"title"`, `Title` | optional first line |
//! | `// …`, `(* … *)` | comments; the second kind nests |
//! | `(** Variant "name": … *)` | a comment that describes a [`Variant`](memory_model::Variant) |
//! | `let x = e`, `let x = e and y = f` | definitions; a group does not see itself |
//! | `let f(a, b) = e`, `let f a = e` | functions, inlined where they are used |
//! | `let rec r = e and s = f` | relations, the least that satisfy the equations; positive recursion only |
//! | `let x = e in f`, `if "variant" e else f` | in an expression |
//! | `include "file.cat"` | its statements, here; looked for beside the including file first |
//! | `acyclic e as n`, `irreflexive e`, `empty e` | what every execution satisfies |
//! | `flag ~empty e as n` | what is reported; also `~acyclic`, `~irreflexive` |
//! | `show …`, `unshow …` | read and ignored |
//! | `\|` `;` `\` `&` `*` | union, sequence, difference, intersection, product of sets; loosest first |
//! | `~e`, `e^-1`, `e?`, `e+`, `e*` | complement, inverse, optional, closures |
//! | `[S]`, `{}`, `0`, `_` | identity on a set, nothing, all events |
//! | `domain(r)`, `range(r)`, `fencerel(S)`, `toid(S)` | the ends of `r`; `po;[S];po`; `[S]` |
//!
//! Names it starts with: [`BaseRelation`](memory_model::BaseRelation), [`BaseSet`](memory_model::BaseSet),
//! `rfe rfi coe coi fre fri po-loc po_loc`, and from other tools' PTX models `sync_barrier` (is `syncbar`). A definition
//! hides an earlier one of the same name from there on; what was defined before keeps its meaning, so `coe` is about
//! the base `co` even after `let co = co+`.
//!
//! Not in the language: procedures, `match`, `enum`, functions as values, sets of sets, tuples. They are errors.
//! A `let rec` cannot be local, and cannot define sets.

mod ast;
mod dump;
pub mod memory_model;
mod parse;
mod resolve;
mod scope;
mod terms;
mod token;
mod variant;

lalrpop_util::lalrpop_mod!(
    #[allow(warnings, clippy::all, clippy::pedantic, clippy::restriction, reason = "generated code")]
    grammar,
    "/cat/grammar.rs"
);

pub use dump::dump;
pub use memory_model::MemoryModel;

use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;
use crate::span::Span;
use resolve::Resolver;

/// Reads the model in `path` and what it includes; `read` gives a file's text or says why it cannot.
///
/// `variants` are the names for which `if "name"` takes its first branch. All files read are added to `sources`.
///
/// # Errors
///
/// All errors that could be told apart in one run; syntax errors of a file hide the other errors of that file.
pub fn load(
    sources: &mut SourceMap,
    path: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
    variants: &[String],
) -> Result<MemoryModel, Vec<Diagnostic>> {
    match read(path) {
        Ok(text) => Resolver::new(sources, read, variants).run(path, text),
        Err(reason) => {
            let file = sources.add(path, "");
            let message = format!("cannot read the memory model `{path}`: {reason}");
            Err(vec![Diagnostic::new("cat::unreadable", message, Span::new(file, 0, 0), "")])
        }
    }
}
