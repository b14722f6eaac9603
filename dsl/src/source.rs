//! The texts of a run, so that a [`Span`] can be shown. No IO: whoever reads files hands their text in.

use crate::index::IndexVec;
use crate::span::{FileId, Span};

/// A file name as the user gave it, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name to print.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// All files of a run.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: IndexVec<FileId, SourceFile>,
}

/// A one-based line and column (columns count characters).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    /// One-based line.
    pub line: usize,
    /// One-based column, in characters.
    pub column: usize,
}

impl SourceMap {
    /// Adds a file.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push(SourceFile { name: name.into(), text: text.into() })
    }
    /// The files, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = FileId> + use<> {
        self.files.ids()
    }
    /// A file's name and text.
    pub fn file(&self, file: FileId) -> &SourceFile {
        &self.files[file]
    }
    /// The text under `span`; empty where the span does not lie on character boundaries of its file.
    pub fn text(&self, span: Span) -> &str {
        self.files[span.file].text.get(span.start as usize..span.end as usize).unwrap_or("")
    }
    /// Where `span` starts.
    pub fn line_column(&self, span: Span) -> LineColumn {
        let text = &self.files[span.file].text;
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        LineColumn {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}
