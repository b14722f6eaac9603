//! In place of what other languages call a thing, in builds without the feature `foreign`: errors are as plain as they are.

use super::ast::File;
use super::load::LoadOptions;
use super::resolve::Modules;
use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;
use crate::span::{FileId, Span};

/// Says nothing.
pub fn advise(_: &SourceMap, _: &mut Vec<Diagnostic>) {}

/// Finds nothing.
pub fn without_foreign(
    _: &SourceMap,
    _: &[FileId],
    _: (&[File], &Modules),
    _: Vec<Diagnostic>,
    _: &LoadOptions,
    _: Span,
) -> Option<Vec<Diagnostic>> {
    None
}
