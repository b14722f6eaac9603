//! Places in source text.

use crate::define_id;

define_id! {
    /// A file of a [`SourceMap`](crate::SourceMap).
    pub struct FileId;
}

/// A half-open range of byte offsets in one file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: offset(start), end: offset(end) }
    }
    /// Whether all of `other` is in it.
    pub fn holds(self, other: Self) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }
    /// The smallest span that holds both; `other` must be in the same file, else `self` is returned.
    pub fn to(self, other: Self) -> Self {
        if self.file != other.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}
