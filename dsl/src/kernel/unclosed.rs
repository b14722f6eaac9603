//! The brace that is meant where a text ends before it should.

use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;
use crate::span::{FileId, Span};

/// Says of an error at the end of a text which brace is open, or that its statement is.
pub fn show(sources: &SourceMap, diagnostic: &mut Diagnostic) {
    if diagnostic.code != "syntax::unexpected-end" {
        return;
    }
    if let Some(open) = unclosed(sources, diagnostic.span().file) {
        *diagnostic = diagnostic.clone().with_label(open, "this `{` has no `}`");
        diagnostic.help = Some("close it with `}`".to_owned());
    } else if diagnostic.message.contains("`;`") {
        diagnostic.help = Some("it ends with `;`".to_owned());
    }
}

/// The brace that is likely to lack its other half: one whose other half stands further left than its line begins, or else
/// the last that is open in the end.
fn unclosed(sources: &SourceMap, file: FileId) -> Option<Span> {
    let text: &str = &sources.file(file).text;
    let indent_at = |at: usize| {
        let from = text[..at].rfind('\n').map_or(0, |at| at + 1);
        text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len()
    };
    let mut open: Vec<usize> = Vec::new();
    let mut suspect = None;
    let mut is_comment = false;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '\n' => is_comment = false,
            '/' if previous == '/' => is_comment = true,
            '{' if !is_comment => open.push(at),
            '}' if !is_comment => {
                if let Some(start) = open.pop()
                    && !text[start..at].lines().nth(1).is_none_or(str::is_empty)
                    && indent_at(at) < indent_at(start)
                {
                    suspect.get_or_insert(start);
                }
            }
            _ => {}
        }
        previous = c;
    }
    let at = suspect.or_else(|| open.last().copied())?;
    Some(Span::new(file, at, at + 1))
}
