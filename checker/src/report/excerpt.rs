//! Source text as it is drawn: of long lines, only what is around the labels.
//!
//! A line of a generated file may have megabytes; nobody can read it, and the drawing cannot place marks that far out.

use fencepost_dsl::SourceMap;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::span::FileId;
use miette::{MietteError, MietteSpanContents, NamedSource, SourceCode, SourceSpan, SpanContents};
use std::ops::Range;

/// Lines of more bytes are cut.
const LINE_MAX: usize = 400;
/// What stays of a cut line before and after the start of a label.
const BEFORE: usize = 60;
const AFTER: usize = 120;
/// So many lines between two labels are drawn, too, since a gap would take about as much room.
const GAP_MAX: usize = 4;
/// Stands for what was cut.
const CUT: &str = "…";

/// A text whose long lines are cut, and which remembers the columns that labels have in the uncut one.
#[derive(Debug)]
pub struct Excerpt {
    named: NamedSource<String>,
    /// By offset in the cut text: the zero-based column in the uncut one.
    columns: SortedMap<usize, usize>,
}

impl Excerpt {
    /// The text of a file around `labels`, and where these are in it.
    pub fn new(sources: &SourceMap, file: FileId, labels: &[Range<usize>]) -> (Self, Vec<Range<usize>>) {
        let source = sources.file(file);
        let lines = source.text.split_inclusive('\n');
        if lines.clone().all(|line| line.len() <= LINE_MAX) {
            let named = NamedSource::new(&source.name, source.text.clone());
            return (Self { named, columns: SortedMap::new() }, labels.to_vec());
        }
        let mut cut = String::new();
        // Kept pieces: where they begin in the text, where in the cut one, and how long they are.
        let mut kept: Vec<(usize, usize, usize)> = Vec::new();
        let mut start = 0;
        for line in lines {
            let mut end = start;
            for piece in pieces(line, start, labels) {
                if piece.start > end {
                    cut.push_str(CUT);
                }
                kept.push((piece.start, cut.len(), piece.len()));
                cut.push_str(&source.text[piece.clone()]);
                end = piece.end;
            }
            start += line.len();
            if end < start {
                cut.push_str(CUT);
                if line.ends_with('\n') {
                    cut.push('\n');
                }
            }
        }
        let place = |offset: usize| {
            let after = kept.partition_point(|&(start, ..)| start <= offset);
            let (from, to, length) = kept[after.saturating_sub(1)];
            to + (offset.saturating_sub(from)).min(length)
        };
        let moved: Vec<Range<usize>> =
            labels.iter().map(|label| place(label.start)..place(label.end).max(place(label.start))).collect();
        let column =
            |label: &Range<usize>| sources.line_column(Span::new(file, label.start, label.end)).column - 1;
        let columns = labels.iter().zip(&moved).map(|(label, moved)| (moved.start, column(label))).collect();
        (Self { named: NamedSource::new(&source.name, cut), columns }, moved)
    }
}

/// What stays of the line that begins at `start`, in order.
fn pieces(line: &str, start: usize, labels: &[Range<usize>]) -> Vec<Range<usize>> {
    let whole = start..start + line.len();
    if line.len() <= LINE_MAX {
        return vec![whole];
    }
    let boundary = |mut at: usize| {
        while !line.is_char_boundary(at - start) {
            at -= 1;
        }
        at
    };
    let touching = labels.iter().filter(|label| label.start < whole.end && label.end >= whole.start);
    let mut windows: Vec<Range<usize>> = touching
        .map(|label| {
            let at = label.start.max(start);
            boundary(at.saturating_sub(BEFORE).max(start))..boundary((at + AFTER).min(whole.end))
        })
        .collect();
    if windows.is_empty() {
        windows.push(start..boundary(start + AFTER));
    }
    windows.sort_by_key(|window| window.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for window in windows {
        match joined.last_mut() {
            Some(last) if window.start <= last.end + CUT.len() => last.end = last.end.max(window.end),
            _ => joined.push(window),
        }
    }
    joined
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.named.read_span(span, before, after)?;
        // Asked for without context, it is for the place in the headline.
        let column = match self.columns.get(&span.offset()) {
            Some(&column) if (before, after) == (0, 0) => column,
            _ => contents.column(),
        };
        // Counted by the library from the start of the file; it draws all lines between two places whose lines meet.
        let n_lines = contents.data().split(|&byte| byte == b'\n').count();
        Ok(Box::new(MietteSpanContents::new_named(
            self.named.name().to_owned(),
            contents.data(),
            *contents.span(),
            contents.line(),
            column,
            n_lines + GAP_MAX,
        )))
    }
}
