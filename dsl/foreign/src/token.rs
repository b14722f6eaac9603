//! The tokens of a text, as far as another language's lines are told by them.

use std::ops::Range;

/// A token with the offsets of its first byte and of the byte after it.
pub type Placed<'t> = (usize, Token<'t>, usize);

/// A token as a lexer of `.fence` sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token<'t> {
    /// Any word that is none of the language.
    Name(&'t str),
    /// A word with at least one `.`, or one that stands for an instruction.
    Opcode(&'t str),
    /// With its suffix.
    Number(&'t str),
    /// With its quotes.
    Text(&'t str),
    /// A word of the language.
    Word(&'t str),
    /// Brackets, operators and what else is neither word nor number.
    Sign(&'t str),
    /// Bytes that begin no token.
    Bad,
}

/// What stands in a text from which another language's lines are taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'t> {
    /// The text's own token of this number.
    Own(usize),
    /// A value or statement that is known to be bad, and reported.
    Foreign,
    /// `;`
    Semicolon,
    /// `kernel`
    Kernel,
    /// `fn`
    Function,
    /// `loop`
    Loop,
    /// A name of the text.
    Name(&'t str),
    /// `(`
    Open,
    /// `)`
    Close,
}

/// A piece with the bytes that it stands for.
pub type PlacedPiece<'t> = (Range<usize>, Piece<'t>);
