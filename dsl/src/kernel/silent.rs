//! What would be accepted and mean something else than whoever wrote it thinks.

use super::ast::Comment;
use super::target::Target;
use super::token::{Spanned, Token};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};

/// Errors about such places.
pub fn silent(tokens: &[Spanned<'_>], comments: &[Comment], file: FileId) -> Vec<Diagnostic> {
    let mut errors: Vec<Diagnostic> = tokens.windows(3).filter_map(|three| macro_call(three, file)).collect();
    errors.extend(comments.iter().filter_map(target));
    errors.sort_by_key(Diagnostic::span);
    errors
}

/// `assert!(…)`, which would assert the opposite. Who wants that puts a blank before the `!`, as the layout does.
fn macro_call(three: &[Spanned<'_>], file: FileId) -> Option<Diagnostic> {
    let &[(start, word, end), (at, Token::Not, after), (open, Token::ParenOpen, _)] = three else {
        return None;
    };
    let word = match word {
        Token::Assert => "assert",
        Token::Assume => "assume",
        Token::Reachable => "reachable",
        _ => return None,
    };
    if end != at || after != open {
        return None;
    }
    let message = format!("`{word}!(…)` is a macro of Rust; here the `!` would negate the condition");
    let error = Diagnostic::new("syntax::foreign", message, Span::new(file, start, after), "no macro");
    let help = format!("write `{word} …;` without `!`; for the opposite, with a blank, `{word} !(…);`");
    Some(error.with_help(help))
}

/// A comment that is a target but for its `!`.
fn target(comment: &Comment) -> Option<Diagnostic> {
    let text = comment.text.strip_prefix("//")?.trim_start_matches('/').trim_start();
    let rest = text.strip_prefix("target")?;
    let mut words = rest.trim_start_matches([':', '=', ' ', '-']).split_whitespace();
    let (architecture, more) = (words.next()?, words.next());
    let is_whole = matches!(more, None | Some("ptx" | "formal"));
    if !is_whole || !Target::default().set(architecture) {
        return None;
    }
    let message = "this comment looks like a target, and is none: without `!` it says nothing to the checker";
    let error = Diagnostic::new("syntax::target", message, comment.place.0, "a comment");
    let rest = more.map(|word| format!(" {word} {}", words.collect::<Vec<_>>().join(" ")));
    Some(error.with_help(format!("write `//! target {architecture}{}`", rest.unwrap_or_default().trim_end())))
}
