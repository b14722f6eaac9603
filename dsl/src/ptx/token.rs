//! Words of PTX with their places. An opcode with its modifiers is one word, and so is a special register with its dimension.

use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A name, an opcode, a register.
    Word,
    /// `.reg`, `.u32`: a word that starts with a dot.
    Directive,
    /// Starts with a digit.
    Number,
    /// In quotes, which are part of it.
    Text,
    /// One character.
    Punctuation(u8),
}

/// A token; its text is that of its span.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// First byte.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Whether it is the first of its line: directives about lines end with their line.
    pub is_first: bool,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%')
}

/// The end of a word that starts at `at`: dots and `::` belong to it where more of it follows.
fn word_end(bytes: &[u8], mut at: usize) -> usize {
    let word_at = |at: usize| bytes.get(at).copied().is_some_and(is_word);
    loop {
        match bytes.get(at) {
            Some(&byte) if is_word(byte) => at += 1,
            Some(b'.') if word_at(at + 1) => at += 2,
            Some(b':') if bytes.get(at + 1) == Some(&b':') && word_at(at + 2) => at += 3,
            _ => return at,
        }
    }
}

/// The end of a number: digits and letters of all bases, and a fraction with its exponent.
fn number_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        let is_exponent = matches!(byte, b'+' | b'-')
            && matches!(bytes[at - 1], b'e' | b'E')
            && bytes[start..at].contains(&b'.');
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || is_exponent) {
            break;
        }
        at += 1;
    }
    at
}

/// Splits a text.
///
/// # Errors
/// At the first character that PTX does not have, and at a comment or text that does not end.
pub fn split(text: &str, file: FileId) -> Result<Vec<Token>, Diagnostic> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 5);
    let (mut at, mut is_first) = (0, true);
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let kind = match byte {
            b'\n' => {
                is_first = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(bytes.len(), |length| at + length);
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let Some(length) = text[at + 2..].find("*/") else {
                    return Err(unfinished(
                        "comment",
                        Span::new(file, at, at + 2),
                        "write `*/` where it ends",
                    ));
                };
                at += length + 4;
                continue;
            }
            b'"' => {
                let end = text[at + 1..].find(['"', '\n']).map(|length| at + 1 + length);
                match end.filter(|&end| bytes[end] == b'"') {
                    Some(end) => at = end + 1,
                    None => {
                        return Err(unfinished(
                            "text",
                            Span::new(file, at, at + 1),
                            "write `\"` where it ends",
                        ));
                    }
                }
                Kind::Text
            }
            b'0'..=b'9' => {
                at = number_end(bytes, at);
                Kind::Number
            }
            b'.' if bytes.get(at + 1).copied().is_some_and(is_word) => {
                at = word_end(bytes, at);
                Kind::Directive
            }
            _ if is_word(byte) => {
                at = word_end(bytes, at);
                Kind::Word
            }
            b',' | b';' | b':' | b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b'+' | b'-'
            | b'=' | b'@' | b'!' | b'|' | b'*' | b'/' | b'~' | b'&' | b'^' | b'?' => {
                at += 1;
                Kind::Punctuation(byte)
            }
            _ => {
                let character = text[at..].chars().next().unwrap_or('?');
                let span = Span::new(file, at, at + character.len_utf8());
                let message = format!("PTX has no character `{}`", character.escape_default());
                let help = "is this a text as the compiler writes it? `nvcc -ptx` makes one; a cubin is none";
                return Err(Diagnostic::new("syntax::ptx", message, span, "this character").with_help(help));
            }
        };
        tokens.push(Token { kind, start: offset(start), end: offset(at), is_first });
        is_first = false;
    }
    Ok(tokens)
}

fn unfinished(what: &str, span: Span, help: &str) -> Diagnostic {
    let message = format!("this {what} does not end");
    Diagnostic::new("syntax::ptx", message, span, "it starts here").with_help(help)
}
