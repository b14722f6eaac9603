//! The words of a `.cat` file, and which `*` is which.

use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};
use logos::{Lexer, Logos};

/// A token with the offsets of its first byte and of the byte after it.
pub(super) type Spanned<'text> = (usize, Token<'text>, usize);

/// What cannot be a token.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum LexicalError {
    #[default]
    UnexpectedCharacter,
    UnterminatedComment,
    UnterminatedString,
}

#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(error = LexicalError)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(super) enum Token<'text> {
    /// With its delimiters. Taken out by [`lex`], not handed on.
    #[token("(*", comment)]
    Comment(&'text str),
    #[token("let")]
    Let,
    #[token("rec")]
    Rec,
    #[token("and")]
    And,
    #[token("in")]
    In,
    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("else")]
    Else,
    #[token("include")]
    Include,
    #[token("acyclic")]
    Acyclic,
    #[token("irreflexive")]
    Irreflexive,
    #[token("empty")]
    Empty,
    #[token("flag")]
    Flag,
    #[token("as")]
    As,
    #[token("show")]
    Show,
    #[token("unshow")]
    Unshow,
    /// A keyword of the herd tools that is not in our subset.
    #[regex("fun|match|with|procedure|call|forall|enum|try|instructions|default|requires|undefined_unless")]
    #[regex("begin|end|when|debug|instruction|assert")]
    Reserved(&'text str),
    #[regex(r"[A-Za-z][A-Za-z0-9_.\-]*'?")]
    Name(&'text str),
    /// Without its quotes.
    #[token("\"", string)]
    Text(&'text str),
    #[token("0")]
    Zero,
    #[token("_")]
    Universe,
    #[token("|")]
    Bar,
    #[token(";")]
    Semicolon,
    #[token("\\")]
    Backslash,
    #[token("&")]
    Ampersand,
    /// Infix `*`: a product of sets.
    #[token("*")]
    Star,
    /// Postfix `*`: a closure. Told apart by [`lex`], not by Logos.
    PostfixStar,
    #[token("+")]
    Plus,
    #[token("?")]
    Question,
    #[regex(r"\^[ \t]*-1")]
    Inverse,
    #[token("~")]
    Tilde,
    #[token("=")]
    Equals,
    #[token(",")]
    Comma,
    #[token("(")]
    OpenParenthesis,
    #[token(")")]
    CloseParenthesis,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
}

impl Token<'_> {
    fn starts_operand(self) -> bool {
        matches!(
            self,
            Token::Name(_)
                | Token::Zero
                | Token::Universe
                | Token::Tilde
                | Token::OpenParenthesis
                | Token::OpenBracket
                | Token::OpenBrace
        )
    }

    /// Whether a statement may start here; a `let` may also be local to an expression.
    pub(super) fn starts_statement(self) -> bool {
        matches!(
            self,
            Token::Let
                | Token::Include
                | Token::Acyclic
                | Token::Irreflexive
                | Token::Empty
                | Token::Flag
                | Token::Show
                | Token::Unshow
        )
    }
}

/// All tokens of `text`, and its nesting comments; what is neither is reported and left out.
pub(super) fn lex<'text>(
    file: FileId,
    text: &'text str,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Spanned<'text>>, Vec<&'text str>) {
    let mut tokens: Vec<Spanned<'text>> = Vec::new();
    let mut comments = Vec::new();
    for (token, range) in Token::lexer(text).spanned() {
        match token {
            Ok(Token::Comment(comment)) => comments.push(comment),
            Ok(token) => tokens.push((range.start, token, range.end)),
            Err(error) => {
                // Of an unterminated comment only the opening is marked: the rest is one long underline.
                let end =
                    if error == LexicalError::UnterminatedComment { range.start + 2 } else { range.end };
                diagnostics.push(describe(error, text, Span::new(file, range.start, end)));
            }
        }
    }
    // `r* ; s` closes, `S * T` multiplies: what follows decides, as in the herd tools.
    for at in 0..tokens.len() {
        if tokens[at].1 == Token::Star && !tokens.get(at + 1).is_some_and(|next| next.1.starts_operand()) {
            tokens[at].1 = Token::PostfixStar;
        }
    }
    (tokens, comments)
}

fn describe(error: LexicalError, text: &str, span: Span) -> Diagnostic {
    match error {
        LexicalError::UnexpectedCharacter => {
            let what = text.get(span.start as usize..span.end as usize).unwrap_or("");
            Diagnostic::new(
                "syntax::unexpected-character",
                format!("`{what}` means nothing in a memory model"),
                span,
                "here",
            )
        }
        LexicalError::UnterminatedComment => {
            Diagnostic::new("syntax::unterminated-comment", "this comment has no end", span, "starts here")
                .with_help("close it with `*)`; comments nest, so every `(*` inside needs its own")
        }
        LexicalError::UnterminatedString => {
            Diagnostic::new("syntax::unterminated-string", "this string has no end", span, "starts here")
                .with_help("close it with `\"` on the same line")
        }
    }
}

fn comment<'text>(lexer: &mut Lexer<'text, Token<'text>>) -> Result<&'text str, LexicalError> {
    let rest = lexer.remainder().as_bytes();
    let (mut depth, mut at) = (1_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'(', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b')', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    lexer.bump(at);
                    return Ok(lexer.slice());
                }
            }
            _ => at += 1,
        }
    }
    lexer.bump(rest.len());
    Err(LexicalError::UnterminatedComment)
}

fn string<'text>(lexer: &mut Lexer<'text, Token<'text>>) -> Result<&'text str, LexicalError> {
    let rest = lexer.remainder();
    match rest.find(['"', '\n']) {
        Some(at) if rest.as_bytes()[at] == b'"' => {
            lexer.bump(at + 1);
            Ok(&rest[..at])
        }
        Some(at) => {
            lexer.bump(at);
            Err(LexicalError::UnterminatedString)
        }
        None => {
            lexer.bump(rest.len());
            Err(LexicalError::UnterminatedString)
        }
    }
}
