//! Litmus tests in the community's PTX format: one column per thread, and a condition over final states.
//!
//! They become the same [`Program`] as a kernel file: one kernel whose threads are placed one by one and choose their
//! code by their index. Registers and locations have 64 bits, comparisons are signed, jumps become structured loops.
//!
//! Cannot: division, addresses as values of instructions, and instructions beyond accesses of the generic, texture, surface
//! and constant proxies, fences and barriers. Each is an error with its place.

pub mod ast;
mod instruction;
mod parse;
mod resolve;
mod token;

use crate::diagnostic::Diagnostic;
use crate::kernel::program::Program;
use crate::source::SourceMap;
use crate::span::Span;
pub use parse::parse;

/// Largest file, so that nothing below runs long.
const BYTES_MAX: usize = 1 << 20;

/// Reads the litmus test `path`, whose text `read` gives.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(
    sources: &mut SourceMap,
    path: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Program, Vec<Diagnostic>> {
    let text = match read(path) {
        Ok(text) => text,
        Err(reason) => {
            let file = Span::new(sources.add(path, ""), 0, 0);
            let message = format!("`{path}` cannot be read: {reason}");
            return Err(vec![Diagnostic::new("resolve::unreadable-file", message, file, "")]);
        }
    };
    let file = sources.add(path, text.as_str());
    if text.len() > BYTES_MAX {
        let message = format!("a litmus file has at most {BYTES_MAX} bytes");
        let error = Diagnostic::new("limit::file-size", message, Span::new(file, 0, 0), "this file");
        return Err(vec![error]);
    }
    let parsed = parse(&text, file).map_err(|error| vec![error])?;
    resolve::resolve(&parsed)
}
