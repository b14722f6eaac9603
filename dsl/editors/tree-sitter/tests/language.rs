//! The grammar, as the parser that was made of it.

use tree_sitter_language::LanguageFn;

unsafe extern "C" {
    fn tree_sitter_fence() -> *const ();
}

/// The kernel language.
// Sound: this is the function that the generator writes for who calls it so.
pub const LANGUAGE: LanguageFn = unsafe { LanguageFn::from_raw(tree_sitter_fence) };
