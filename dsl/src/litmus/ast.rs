//! A litmus file as written: names are text, columns are lists.

use crate::kernel::program::Quantifier;
use crate::span::Span;

/// A name or opcode with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct File {
    /// The word after `PTX`.
    pub name: Name,
    /// In order.
    pub declarations: Vec<Declaration>,
    /// One per thread, in order.
    pub columns: Vec<Column>,
    /// What is asked.
    pub condition: Condition,
}

/// A line of the initial state.
#[derive(Clone, Debug)]
pub enum Declaration {
    /// `x = 5`, `x = y`.
    Location {
        /// The location.
        name: Name,
        /// Its initial value.
        value: Initial,
    },
    /// `P0:r1 = 5`, `P0:r1 = x`.
    Register {
        /// The thread's number.
        thread: u32,
        /// The register.
        name: Name,
        /// Its initial value.
        value: Initial,
    },
    /// `s @ surface aliases x`.
    Alias {
        /// The new name.
        name: Name,
        /// `generic`, `surface` and so on.
        proxy: Name,
        /// What it is another name of.
        of: Name,
    },
}

/// An initial value.
#[derive(Clone, Debug)]
pub enum Initial {
    /// A number.
    Number(u64),
    /// A location: its own initial value, or for a register its address.
    Location(Name),
}

/// A thread's program.
#[derive(Clone, Debug)]
pub struct Column {
    /// `P0@cta 0,gpu 0`.
    pub span: Span,
    /// Its CTA.
    pub cta: u32,
    /// Its device.
    pub gpu: u32,
    /// In order.
    pub lines: Vec<Line>,
}

/// A cell that is not empty.
#[derive(Clone, Debug)]
pub enum Line {
    /// `LC00:`
    Label(Name),
    /// Anything else.
    Instruction {
        /// `st.weak` and so on.
        opcode: Name,
        /// In order.
        operands: Vec<Operand>,
        /// From the opcode to the last operand.
        span: Span,
    },
}

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// What.
    pub kind: OperandKind,
    /// Where.
    pub span: Span,
}

/// What an operand is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperandKind {
    /// A constant, in two's complement.
    Number(u64),
    /// A register, location or label.
    Name(String),
}

/// The last part of a file.
#[derive(Clone, Debug)]
pub struct Condition {
    /// From the quantifier on.
    pub span: Span,
    /// Claim.
    pub quantifier: Quantifier,
    /// What is claimed.
    pub formula: Formula,
    /// `filter (…)`.
    pub filter: Option<Formula>,
}

/// A formula over a final state.
#[derive(Clone, Debug)]
pub enum Formula {
    /// `~`, `not`.
    Not(Box<Formula>, Span),
    /// `/\`.
    And(Vec<Formula>),
    /// `\/`.
    Or(Vec<Formula>),
    /// A comparison.
    Compare {
        /// Which.
        op: Comparison,
        /// Left side.
        left: Atom,
        /// Right side.
        right: Atom,
        /// All of it.
        span: Span,
    },
}

/// Comparisons, signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the usual six")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// A side of a comparison.
#[derive(Clone, Debug)]
pub struct Atom {
    /// What.
    pub kind: AtomKind,
    /// Where.
    pub span: Span,
}

/// What a side of a comparison is.
#[derive(Clone, Debug)]
pub enum AtomKind {
    /// A constant, in two's complement.
    Number(u64),
    /// The final value of a location.
    Location(String),
    /// A register of a thread.
    Register(u32, String),
}
