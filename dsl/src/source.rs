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

/// The line of a source file that a compiler has made a place of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The file, as the compiler names it, without folders.
    pub name: String,
    /// One-based.
    pub line: u32,
    /// The line, where the file is at hand.
    pub span: Option<Span>,
    /// Whether it is of a function that was put in where another line of the reader's own files calls it.
    pub is_called: bool,
}

/// Where the lines of a file come from: each from a place on, up to the next.
type Origins = Vec<(u32, Option<Origin>)>;

/// All files of a run.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: IndexVec<FileId, SourceFile>,
    /// Of files that a compiler has written.
    origins: Vec<(FileId, Origins)>,
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
    /// Says where what stands in a file comes from, in order.
    pub fn set_origins(&mut self, file: FileId, origins: Vec<(u32, Option<Origin>)>) {
        self.origins.retain(|(known, _)| *known != file);
        self.origins.push((file, origins));
    }
    /// Another text for a file; `moved` says where what stood at a place stands then.
    pub fn set_text(&mut self, file: FileId, text: String, moved: impl Fn(u32) -> u32) {
        self.files[file].text = text;
        for (_, origins) in self.origins.iter_mut().filter(|(known, _)| *known == file) {
            origins.iter_mut().for_each(|(start, _)| *start = moved(*start));
        }
    }
    /// Whether a compiler has written a file.
    pub fn is_compiled(&self, file: FileId) -> bool {
        self.origins.iter().any(|(known, _)| *known == file)
    }
    /// Where a compiler has a place from, if it says so.
    pub fn origin(&self, span: Span) -> Option<&Origin> {
        let (_, origins) = self.origins.iter().find(|(file, _)| *file == span.file)?;
        let after = origins.partition_point(|(start, _)| *start <= span.start);
        origins[..after].last()?.1.as_ref()
    }
    /// A line without the blanks around it.
    pub fn line_span(&self, file: FileId, line: u32) -> Option<Span> {
        let text = &self.files[file].text;
        let mut start = 0;
        for _ in 1..line {
            start += text[start..].find('\n')? + 1;
        }
        let whole = text[start..].split('\n').next()?;
        let trimmed = whole.trim();
        let first = start + (whole.len() - whole.trim_start().len());
        (!trimmed.is_empty()).then(|| Span::new(file, first, first + trimmed.len()))
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
