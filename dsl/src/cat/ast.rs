//! A `.cat` file as written: names are text, nothing is known to be a set or a relation yet.

use super::memory_model::AxiomKind;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use std::rc::Rc;

/// How many operators, local definitions and choices may enclose each other in one expression.
pub(super) const NESTING_LIMIT: u32 = 256;

/// Text with its place.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub text: String,
    pub span: Span,
}

#[derive(Debug)]
pub(super) enum Statement {
    Let {
        recursive: bool,
        bindings: Vec<Binding>,
    },
    Include(Name),
    Check {
        flag: bool,
        negated: bool,
        kind: AxiomKind,
        term: Expr,
        name: Option<Name>,
        span: Span,
    },
    /// `show` and `unshow` say what to draw; they mean nothing to a checker.
    Show,
}

/// `name = body`, or `name(parameters) = body`.
#[derive(Debug)]
pub(super) struct Binding {
    pub name: Name,
    pub parameters: Option<Vec<Name>>,
    /// Shared with the closures that are made of it.
    pub body: Rc<Expr>,
}

#[derive(Debug)]
pub(super) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
    depth: u32,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Name(String),
    Empty,
    Universe,
    Apply(Name, Vec<Expr>),
    Unary(UnaryOperator, Box<Expr>),
    Binary(BinaryOperator, Box<Expr>, Box<Expr>),
    /// `if "variant" … else …`
    Choice(Name, Box<Expr>, Box<Expr>),
    Local(Vec<Binding>, Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UnaryOperator {
    Complement,
    Inverse,
    Optional,
    TransitiveClosure,
    ReflexiveTransitiveClosure,
    Identity,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BinaryOperator {
    Union,
    Sequence,
    Difference,
    Intersection,
    Product,
}

impl UnaryOperator {
    /// As it is written.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Complement => "~",
            Self::Inverse => "^-1",
            Self::Optional => "?",
            Self::TransitiveClosure => "+",
            Self::ReflexiveTransitiveClosure => "*",
            Self::Identity => "[…]",
        }
    }
}

impl BinaryOperator {
    /// As it is written.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Union => "|",
            Self::Sequence => ";",
            Self::Difference => "\\",
            Self::Intersection => "&",
            Self::Product => "*",
        }
    }
}

impl Expr {
    /// The only constructor, so that no expression is deeper than a recursive walk can follow.
    pub(super) fn new(kind: ExprKind, span: Span) -> Result<Self, Diagnostic> {
        let depth = 1 + match &kind {
            ExprKind::Name(_) | ExprKind::Empty | ExprKind::Universe => 0,
            ExprKind::Apply(_, arguments) => arguments.iter().map(|one| one.depth).max().unwrap_or(0),
            ExprKind::Unary(_, operand) => operand.depth,
            ExprKind::Binary(_, left, right) | ExprKind::Choice(_, left, right) => {
                left.depth.max(right.depth)
            }
            ExprKind::Local(bindings, body) => {
                bindings.iter().map(|one| one.body.depth).fold(body.depth, u32::max)
            }
        };
        if depth > NESTING_LIMIT {
            return Err(Diagnostic::new(
                "syntax::too-deep",
                format!("this expression is nested deeper than {NESTING_LIMIT} levels"),
                span,
                "from here on",
            )
            .with_help("name its parts with `let`"));
        }
        Ok(Self { kind, span, depth })
    }
}
