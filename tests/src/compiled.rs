//! The compiled kernels of the examples, as they are and changed.

use std::fs;
use std::path::{Path, PathBuf};

/// A change of a text: from a line on (one-based), the first of one thing becomes another.
pub type Change<'t> = (usize, &'t str, &'t str);

/// Where they are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/ptx")
}

/// A file there.
///
/// # Panics
/// If it cannot be read.
pub fn text(name: &str) -> String {
    let path = folder().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text with a change.
pub fn changed(whole: &str, (line, from, to): Change<'_>) -> String {
    let start: usize = whole.split_inclusive('\n').take(line - 1).map(str::len).sum();
    format!("{}{}", &whole[..start], whole[start..].replacen(from, to, 1))
}
