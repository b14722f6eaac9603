//! Two texts compared: for a reader, and as edits of whole lines.

use crate::explain::repair::{Piece, Texts};
use fencepost_dsl::kernel::{parse, pretty::pretty};
use fencepost_dsl::span::FileId;
use fencepost_dsl::{SourceMap, Span};
use similar::{DiffTag, TextDiff};

/// A unified diff of all files that differ; empty if none does.
pub fn unified(before: &SourceMap, after: &SourceMap) -> String {
    let mut text = String::new();
    for file in changed(before, after) {
        let (old, new) = (before.file(file), after.file(file));
        let diff = TextDiff::from_lines(old.text.as_str(), new.text.as_str());
        let [old_name, new_name] = [&old.name, &new.name].map(|name| name.trim_start_matches('/'));
        let (from, to) = (format!("a/{old_name}"), format!("b/{new_name}"));
        text += &diff.unified_diff().context_radius(3).header(&from, &to).to_string();
    }
    text
}

/// A changed text in the canonical layout, where it was in that before.
pub fn tidied(before: &SourceMap, after: &Texts) -> Texts {
    let in_layout = |file: FileId, text: &str| pretty(&parse(text, file).0);
    after.replaced(|file, text| {
        let old = &before.file(file).text;
        let is_canonical = in_layout(file, old).as_ref() == Some(old);
        if is_canonical { in_layout(file, text).unwrap_or_else(|| text.to_owned()) } else { text.to_owned() }
    })
}

/// The files that differ.
pub fn changed(before: &SourceMap, after: &SourceMap) -> Vec<FileId> {
    let both = before.ids().zip(after.ids());
    both.filter(|&(old, new)| before.file(old).text != after.file(new).text).map(|(old, _)| old).collect()
}

/// The lines of the one text that other lines of the other take the place of.
pub fn pieces(before: &SourceMap, after: &SourceMap) -> Vec<Piece> {
    let mut found = Vec::new();
    for file in changed(before, after) {
        let (old, new) = (&before.file(file).text, &after.file(file).text);
        let diff = TextDiff::from_lines(old.as_str(), new.as_str());
        let (old, new) = (line_starts(old), (line_starts(new), new));
        for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
            let (from, to) = (op.old_range(), op.new_range());
            let span = Span::new(file, old[from.start], old[from.end]);
            let text = new.1[new.0[to.start]..new.0[to.end]].to_owned();
            found.push(Piece { span, text });
        }
    }
    found
}

/// Where each line starts, and where the last one ends.
fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = vec![0];
    starts.extend(text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    }));
    starts
}

#[cfg(test)]
mod tests {
    use super::{pieces, unified};
    use fencepost_dsl::SourceMap;

    #[test]
    fn lines_that_differ_are_pieces_of_the_first_text() {
        let text = |text: &str| {
            let mut sources = SourceMap::default();
            sources.add("k.fence", text);
            sources
        };
        let (before, after) = (text("a\nb\nc\n"), text("a\nx\ny\nc\n"));
        let found = pieces(&before, &after);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].span.start, found[0].span.end, found[0].text.as_str()), (2, 4, "x\ny\n"));
        assert!(unified(&before, &after).contains("\n-b\n+x\n+y\n"));
        assert_eq!(unified(&before, &before), "");
    }
}
