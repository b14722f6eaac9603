//! One file of text to its statements; after a syntax error it goes on at the next statement.

use super::ast::{Name, Statement};
use super::grammar::StatementsParser;
use super::memory_model::Variant;
use super::token::{Spanned, Token, lex};
use super::variant::described;
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};
use lalrpop_util::ParseError;

/// A parsed file.
#[derive(Debug)]
pub(super) struct File {
    /// The string or word at its top.
    pub title: Option<Name>,
    pub statements: Vec<Statement>,
    /// As its comments describe them.
    pub variants: Vec<Variant>,
}

/// Parses `text`; whatever is wrong with it is appended to `diagnostics`, and then the result is incomplete.
pub(super) fn parse(file: FileId, text: &str, diagnostics: &mut Vec<Diagnostic>) -> File {
    let before = diagnostics.len();
    let (tokens, comments) = lex(file, text, diagnostics);
    let (title, mut at) = title(file, &tokens);
    let mut statements = Vec::new();
    let parser = StatementsParser::new();
    while at < tokens.len() {
        let rest = tokens[at..].iter().copied().map(Ok);
        let Err(error) = parser.parse(file, &mut statements, rest) else { break };
        let (diagnostic, offset) = describe(file, text, error);
        diagnostics.push(diagnostic);
        let resume = tokens[at + 1..]
            .iter()
            .position(|(start, token, _)| *start >= offset && token.starts_statement());
        let Some(skipped) = resume else { break };
        at += 1 + skipped;
    }
    diagnostics[before..].sort_by_key(Diagnostic::span);
    let variants = comments.into_iter().filter_map(described).collect();
    File { title, statements, variants }
}

/// `"title"`, `Title`, or `Architecture "title"` at the top of a file, and how many tokens it takes.
fn title(file: FileId, tokens: &[Spanned<'_>]) -> (Option<Name>, usize) {
    let words = tokens.iter().take(2).map_while(|(start, token, end)| match token {
        Token::Name(text) | Token::Text(text) => {
            Some(Name { text: (*text).to_owned(), span: Span::new(file, *start, *end) })
        }
        _ => None,
    });
    let words: Vec<Name> = words.collect();
    let taken = words.len();
    (words.into_iter().next_back(), taken)
}

/// The error, and the offset from which to look for the next statement.
fn describe(
    file: FileId,
    text: &str,
    error: ParseError<usize, Token<'_>, Diagnostic>,
) -> (Diagnostic, usize) {
    match error {
        ParseError::User { error } => {
            let offset = error.span().end as usize;
            (error, offset)
        }
        ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
            let span = Span::new(file, start, end);
            let written = text.get(start..end).unwrap_or("");
            (unexpected(token, written, span, &expected), start)
        }
        ParseError::ExtraToken { token: (start, token, end) } => {
            let span = Span::new(file, start, end);
            (unexpected(token, text.get(start..end).unwrap_or(""), span, &[]), start)
        }
        ParseError::UnrecognizedEof { location, expected } => {
            let diagnostic = Diagnostic::new(
                "syntax::unexpected-end",
                "the file ends in the middle of a statement",
                Span::new(file, location, location),
                wanted(&expected),
            );
            (diagnostic, text.len())
        }
        ParseError::InvalidToken { location } => {
            let span = Span::new(file, location, location);
            (Diagnostic::new("syntax::unexpected-token", "this cannot be read", span, "here"), location)
        }
    }
}

fn unexpected(token: Token<'_>, written: &str, span: Span, expected: &[String]) -> Diagnostic {
    if let Token::Reserved(word) = token {
        return Diagnostic::new(
            "syntax::unsupported",
            format!("`{word}` of the cat language is not supported"),
            span,
            "not supported",
        )
        .with_help(
            "use `let`, `let rec`, `include`, `if \"variant\"`, `acyclic`, `irreflexive`, `empty` and `flag`",
        );
    }
    let diagnostic = Diagnostic::new(
        "syntax::unexpected-token",
        format!("`{written}` cannot stand here"),
        span,
        wanted(expected),
    );
    match token {
        Token::Rec => diagnostic.with_help("`let rec` is possible at the top level only"),
        Token::PostfixStar | Token::Star => {
            diagnostic.with_help("`*` is a product of sets if an operand follows it, else a closure")
        }
        _ => diagnostic,
    }
}

/// What would have been right, in a few words.
fn wanted(expected: &[String]) -> String {
    let expects = |token: &str| expected.iter().any(|one| one.trim_matches('"') == token);
    if expects("_") && expects(")") {
        "expected an expression or `)`".to_owned()
    } else if expects("|") && expects(")") {
        "expected an operator or `)`".to_owned()
    } else if expects("|") && expects("else") {
        "expected an operator or `else`".to_owned()
    } else if expects("|") && expects("]") {
        "expected an operator or `]`".to_owned()
    } else if expects("|") && expects("in") {
        "expected an operator or `in`".to_owned()
    } else if expects("|") {
        "expected an operator or a new statement".to_owned()
    } else if expects("_") {
        "expected an expression".to_owned()
    } else if expects("include") {
        "expected a statement such as `let` or `acyclic`".to_owned()
    } else if (1..=4).contains(&expected.len()) {
        let names: Vec<String> = expected.iter().map(|one| format!("`{}`", one.trim_matches('"'))).collect();
        format!("expected {}", names.join(" or "))
    } else {
        "not expected here".to_owned()
    }
}
