//! Text to tokens. Never fails: bytes that begin no token become [`Token::Bad`].
//!
//! Everything before the first `{` is a title in free form and is not looked at here.

use crate::span::{FileId, Span};
use logos::Logos;

/// A token with its place.
pub type Spanned<'t> = (Token<'t>, Span);

/// Splits `text`, from byte `start` on, into tokens.
pub fn tokenize(text: &str, start: usize, file: FileId) -> Vec<Spanned<'_>> {
    let rest = text.get(start..).unwrap_or("");
    Token::lexer(rest)
        .spanned()
        .map(|(token, range)| {
            (token.unwrap_or(Token::Bad), Span::new(file, start + range.start, start + range.end))
        })
        .collect()
}

/// A token.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip r"\(\*([^*]|\*+[^*)])*\*+\)")]
pub enum Token<'t> {
    /// A name, or an opcode with its suffixes.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_:]+)*")]
    Word(&'t str),
    #[regex(r"-?[0-9][0-9a-zA-Z_]*")]
    Number(&'t str),
    #[token("{")]
    BraceOpen,
    #[token("}")]
    BraceClose,
    #[token("(")]
    ParenthesisOpen,
    #[token(")")]
    ParenthesisClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token(";")]
    Semicolon,
    #[token("|")]
    Bar,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("&")]
    Ampersand,
    #[token("=")]
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("~")]
    Not,
    #[token("/\\")]
    And,
    #[token("\\/")]
    Or,
    /// Bytes that begin no token.
    Bad,
}
