//! A change of a text, and what is known of one that mends.

use crate::verdict::Property;
use fencepost_dsl::{SourceMap, Span};

/// A change: what it is to a reader, and what it does to the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// For a reader.
    pub kind: EditKind,
    /// For an editor; none overlaps another.
    pub pieces: Vec<Piece>,
}

/// A stretch of text and what takes its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Empty for an insertion.
    pub span: Span,
    /// The new text.
    pub text: String,
}

/// What a change is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EditKind {
    /// One text for another.
    Replace {
        /// Where.
        span: Span,
        /// The text now.
        before: String,
        /// The text then.
        after: String,
    },
    /// A new statement.
    Insert {
        /// Without its indentation.
        text: String,
        /// Right after the other one, or right before.
        is_after: bool,
        /// The other statement.
        anchor: Span,
    },
    /// A statement in another place.
    Move {
        /// The statement.
        span: Span,
        /// Right after the other one, or right before.
        is_after: bool,
        /// The other statement.
        anchor: Span,
    },
}

impl Edit {
    /// One text for another.
    pub fn replace(sources: &SourceMap, span: Span, after: impl Into<String>) -> Self {
        let after = after.into();
        let before = sources.text(span).to_owned();
        let pieces = vec![Piece { span, text: after.clone() }];
        Self { kind: EditKind::Replace { span, before, after }, pieces }
    }

    /// Statements on lines of their own, right after or before another one.
    pub fn insert(sources: &SourceMap, anchor: Span, is_after: bool, text: &str) -> Self {
        let kind = EditKind::Insert { text: text.to_owned(), is_after, anchor };
        Self { kind, pieces: vec![inserted(sources, anchor, is_after, text)] }
    }

    /// A statement in another place.
    pub fn moved(sources: &SourceMap, span: Span, anchor: Span, is_after: bool) -> Self {
        let kind = EditKind::Move { span, is_after, anchor };
        let text = sources.text(span).to_owned();
        let pieces = vec![
            Piece { span: whole_line(sources, span), text: String::new() },
            inserted(sources, anchor, is_after, &text),
        ];
        Self { kind, pieces }
    }

    /// Whether it leaves something out.
    pub(crate) fn removes(&self) -> bool {
        matches!(&self.kind, EditKind::Replace { after, .. } if after.is_empty())
    }

    /// Whether it reads and writes in one where there were two.
    pub(crate) fn updates(&self) -> bool {
        let is_update = |text: &str| ["atom.", "red."].iter().any(|word| text.starts_with(word));
        matches!(&self.kind, EditKind::Replace { before, after, .. } if is_update(after) && !is_update(before))
    }

    /// A statement left out, with its line if it has it for itself.
    pub(crate) fn removed(sources: &SourceMap, span: Span) -> Self {
        let kind = EditKind::Replace { span, before: sources.text(span).to_owned(), after: String::new() };
        Self { kind, pieces: vec![Piece { span: whole_line(sources, span), text: String::new() }] }
    }

    /// The places a reader should look at.
    pub fn span(&self) -> Span {
        match self.kind {
            EditKind::Replace { span, .. } | EditKind::Move { span, .. } => span,
            EditKind::Insert { anchor, .. } => anchor,
        }
    }

    /// Whether both change a common stretch of text.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.pieces.iter().any(|a| {
            other
                .pieces
                .iter()
                .any(|b| a.span.file == b.span.file && a.span.start < b.span.end && b.span.start < a.span.end)
        })
    }
}

/// Changes, and what was checked of the program with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// What mends this finding.
    pub edits: Vec<Edit>,
    /// Changes that mend other findings, and were in place as well.
    pub others: Vec<Edit>,
    /// Properties of the launch that are still broken; none, if nothing is.
    pub stays: Vec<Property>,
    /// Properties of which no answer came with it; what was found is gone.
    pub open: Vec<Property>,
    /// Whether what was found is only known to be gone between the two who did it.
    pub between_two: bool,
    /// Only for executions within the loop bound.
    pub within_bound: bool,
    /// For how many launches of the kernel it was checked.
    pub n_launches: usize,
    /// Whether something is violated in another launch with it; else of those for which it was not checked no answer came.
    pub fails_elsewhere: bool,
    /// The only values of the parameters for which it was checked, where each is checked alone and of others no answer came.
    pub values: Vec<(String, u64)>,
}

impl Repair {
    /// Changes with which nothing is violated in one launch.
    pub fn of_launch(edits: Vec<Edit>) -> Self {
        Self {
            edits,
            others: Vec::new(),
            stays: Vec::new(),
            open: Vec::new(),
            between_two: false,
            within_bound: false,
            n_launches: 1,
            fails_elsewhere: false,
            values: Vec::new(),
        }
    }

    /// Whether nothing is violated with it.
    pub fn is_complete(&self) -> bool {
        self.stays.is_empty() && self.open.is_empty()
    }
}

/// What was tried of changes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tries {
    /// How many checks.
    pub n: usize,
    /// Of how many changes no answer came within the steps that there were.
    pub n_undecided: usize,
    /// How many changes were not tried, since the work that a help may take was done.
    pub n_untried: usize,
}

fn inserted(sources: &SourceMap, anchor: Span, is_after: bool, text: &str) -> Piece {
    let all = &sources.file(anchor.file).text;
    let (start, end) = (anchor.start as usize, anchor.end as usize);
    let line_start = all[..start].rfind('\n').map_or(0, |at| at + 1);
    let indent = &all[line_start..start];
    let is_first = indent.trim().is_empty();
    // What follows on the line of the anchor's end is left there if it is a comment only.
    let rest = all[end..].split('\n').next().unwrap_or("");
    let is_last = rest.trim().is_empty() || rest.trim_start().starts_with("//");
    let (at, text) = match (is_after, is_first) {
        (true, true) if is_last => (end + rest.len(), format!("\n{indent}{text}")),
        (true, _) => (end, format!(" {text}")),
        (false, true) => (start, format!("{text}\n{indent}")),
        (false, false) => (start, format!("{text} ")),
    };
    Piece { span: Span::new(anchor.file, at, at), text }
}

/// A statement with its line, if it has it for itself.
fn whole_line(sources: &SourceMap, span: Span) -> Span {
    let all = &sources.file(span.file).text;
    let (start, end) = (span.start as usize, span.end as usize);
    let line_start = all[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = all[end..].find('\n').map_or(all.len(), |at| end + at + 1);
    let is_alone = all[line_start..start].trim().is_empty() && all[end..line_end].trim().is_empty();
    if is_alone { Span::new(span.file, line_start, line_end) } else { span }
}

/// Whether two changes are one, but for brackets around what is written.
pub fn do_the_same(some: &[Edit], others: &[Edit]) -> bool {
    let is_same = |a: &Edit, b: &Edit| match (&a.kind, &b.kind) {
        (EditKind::Replace { span, after, .. }, EditKind::Replace { span: place, after: text, .. }) => {
            span == place && without_brackets(after) == without_brackets(text)
        }
        _ => a.pieces == b.pieces,
    };
    some.len() == others.len() && some.iter().zip(others).all(|(a, b)| is_same(a, b))
}

/// An expression without brackets around all of it.
fn without_brackets(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(text)
}
