//! Text to tokens. Never fails: bytes that begin no token become [`Token::Bad`], so that the parser can go on behind them.
//!
//! Comments and blank lines are kept beside the tokens, because the formatter needs them and the grammar must not see them.
//! An opcode (`ld.acquire.gpu`) is one token; its inside is read in [`opcode`](super::opcode).

use super::ast::{Comment, Place};
use crate::span::{FileId, Span};
use logos::Logos;

/// A token with the offsets of its first byte and of the byte after it.
pub type Spanned<'t> = (usize, Token<'t>, usize);

/// What the lexer found in a file.
pub struct Tokens<'t> {
    /// In order of the text, without comments.
    pub tokens: Vec<Spanned<'t>>,
    /// In order of the text.
    pub comments: Vec<Comment>,
    /// Where a `/*` begins that nothing closes; what follows is in neither list.
    pub unclosed: Option<usize>,
}

/// Splits `text` into tokens and comments.
pub fn tokenize(text: &str, file: FileId) -> Tokens<'_> {
    let mut tokens: Vec<Spanned<'_>> = Vec::new();
    let mut comments: Vec<Comment> = Vec::new();
    let mut end_of_last = 0;
    let mut unclosed = None;
    for (result, range) in Token::lexer(text).spanned() {
        let token = result.unwrap_or(Token::Bad);
        let gap = &text[end_of_last..range.start];
        let newlines = gap.matches('\n').count();
        let place = Place(Span::new(file, range.start, range.end));
        let last = tokens.last().map_or((0, 0), |&(start, _, end)| (start, end));
        let after = Place(Span::new(file, last.0, last.1));
        let column = |at: usize| text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at].chars().count();
        let comment = |written: String, own_line| Comment {
            place,
            text: written,
            own_line,
            column: column(range.start),
            after,
        };
        if newlines >= 2 && end_of_last > 0 {
            let place = Place(Span::new(file, end_of_last, range.start));
            comments.push(Comment { place, text: String::new(), own_line: true, column: 0, after });
        }
        end_of_last = range.end;
        match token {
            Token::Comment => {
                let own_line = newlines > 0 || (tokens.is_empty() && comments.is_empty());
                comments.push(comment(text[range.clone()].trim_end().to_owned(), own_line));
            }
            Token::Bad => match tokens.last_mut() {
                Some((_, Token::Bad, end)) if *end == range.start => *end = range.end,
                _ => tokens.push((range.start, token, range.end)),
            },
            // No expression has the two side by side, so this can only be meant as a comment.
            Token::Star if matches!(tokens.last(), Some((_, Token::Slash, end)) if *end == range.start) => {
                unclosed = tokens.pop().map(|(start, ..)| start);
                break;
            }
            Token::BracketOpen | Token::Semicolon => {
                // A fence without its scope is an instruction too, so that it gets the error it deserves.
                let bare: &[&str] = if token == Token::BracketOpen {
                    &["ld", "st", "atom", "red", "getctarank", "LD", "ST", "TLD", "ATOM", "RED"]
                } else {
                    &["fence", "membar", "MEMBAR", "CCTL", "CCTLT"]
                };
                if let Some((_, last, _)) = tokens.last_mut()
                    && let Token::Identifier(word) = *last
                    && bare.contains(&word)
                {
                    *last = Token::Opcode(word);
                }
                tokens.push((range.start, token, range.end));
            }
            Token::Identifier(_) | Token::Number(_) => {
                // Two names in a row mean nothing else, so `client` is free as a name, and `pmevent`.
                if let Some((_, last, _)) = tokens.last_mut() {
                    match *last {
                        Token::Identifier("client") if token != Token::Number(&text[range.clone()]) => {
                            *last = Token::Client;
                        }
                        Token::Identifier(word @ "pmevent") => *last = Token::Opcode(word),
                        _ => {}
                    }
                }
                tokens.push((range.start, token, range.end));
            }
            _ => tokens.push((range.start, token, range.end)),
        }
    }
    Tokens { tokens, comments, unclosed }
}

/// A token of the kernel language.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n\f]+")]
pub enum Token<'t> {
    /// Bytes that begin no token.
    Bad,
    #[regex(r"//[^\n]*", allow_greedy = true)]
    #[regex(r"/\*([^*]|\*+[^*/])*\*+/")]
    Comment,
    /// The elements of special registers that are vectors are words of their own.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    #[regex(r"(tid|ntid|n?ctaid|n?clusterid|cluster_n?ctaid)\.[xyz]", priority = 100)]
    Identifier(&'t str),
    /// What is known to be of another language, and reported; the lexer makes none.
    #[cfg_attr(not(feature = "foreign"), expect(dead_code, reason = "such words are not looked for"))]
    Foreign,
    /// `client` before a name.
    Client,
    /// A word with at least one `.`, `ld`, `st`, `atom`, `red` or `getctarank` before a `[`, `fence` or `membar` before a `;`,
    /// or `pmevent` before a value, and the words of SPA machines like them.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*)+")]
    Opcode(&'t str),
    #[regex(r"[0-9][A-Za-z0-9_]*")]
    Number(&'t str),
    /// With its quotes.
    #[regex(r#""[^"\n]*""#)]
    Text(&'t str),
    #[token("_", priority = 9)]
    Underscore,
    #[token("const")]
    Const,
    #[token("fn")]
    Fn,
    #[token("kernel")]
    Kernel,
    #[token("program")]
    Program,
    #[token("use")]
    Use,
    #[token("import")]
    Import,
    #[token("launch")]
    Launch,
    #[token("global")]
    Global,
    #[token("shared")]
    Shared,
    #[token("param")]
    Param,
    #[token("register")]
    Register,
    #[token("tmem")]
    TensorMemory,
    #[token("symmetric")]
    Symmetric,
    #[token("multimem")]
    Multimem,
    #[token("texture")]
    Texture,
    #[token("surface")]
    Surface,
    #[token("constant")]
    Constant,
    #[token("view")]
    View,
    #[token("alias")]
    Alias,
    #[token("of")]
    Of,
    #[token("final")]
    Final,
    #[token("let")]
    Let,
    #[token("var")]
    Var,
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("for")]
    For,
    #[token("in")]
    In,
    #[token("while")]
    While,
    #[token("loop")]
    Loop,
    #[token("break")]
    Break,
    #[token("await")]
    Await,
    #[token("assert")]
    Assert,
    #[token("assume")]
    Assume,
    #[token("reachable")]
    Reachable,
    #[token("exit")]
    Exit,
    #[token("return")]
    Return,
    #[token("as")]
    As,
    #[token("true")]
    True,
    #[token("false")]
    False,
    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token("{")]
    BraceOpen,
    #[token("}")]
    BraceClose,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("->")]
    Arrow,
    #[token("..")]
    DotDot,
    #[token("..=")]
    DotDotEqual,
    #[token("?")]
    Question,
    #[token("=")]
    Assign,
    #[token("+=")]
    AddAssign,
    #[token("-=")]
    SubtractAssign,
    #[token("*=")]
    MultiplyAssign,
    #[token("&=")]
    AndAssign,
    #[token("|=")]
    OrAssign,
    #[token("^=")]
    XorAssign,
    #[token("<<=")]
    ShiftLeftAssign,
    #[token(">>=")]
    ShiftRightAssign,
    #[token("||")]
    OrOr,
    #[token("&&")]
    AndAnd,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("&")]
    And,
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
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("!")]
    Not,
    #[token("~")]
    Tilde,
}
