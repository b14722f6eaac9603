//! Operations that differ between numbers with and without sign, on operands that can only be meant with one.
//!
//! Values are bits, and all comparisons, divisions and right shifts take them as numbers without sign. So `v > -1` is never
//! true, and `v >= 0` always: nobody means that, and a claim that says it claims nothing.

use super::super::ast::{self, BinaryOp, Expr, ExprKind, UnaryOp};
use super::super::isa::Key;
use super::super::isa::words::Words;
use super::super::pretty;
use super::super::program::{Expression, RegisterId, ResolvedOperand, Width};
use super::Resolved;
use super::body::{Binding, Body};
use super::constant::parse_literal;
use super::expression::constant_value;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// An operand as written and as resolved.
pub(super) type Operand<'a> = (&'a Expr, &'a Expression);

fn is_ordering(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual)
}

fn is_zero(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Literal(text) if parse_literal(text).is_ok_and(|literal| literal.value == 0))
}

/// The bits of -1 and their like, as one writes them.
fn hexadecimal(value: u128, width: Width) -> String {
    format!("{value:#0digits$x}", digits = usize::from(width) / 4 + 2)
}

fn sign_bit(width: Width) -> u128 {
    1 << width.saturating_sub(1)
}

impl Body<'_> {
    /// Reports `left op right` if it is only right for numbers with sign.
    pub(super) fn check_sign(
        &mut self,
        op: BinaryOp,
        left: Operand<'_>,
        right: Operand<'_>,
        span: Span,
    ) -> Resolved<()> {
        let error = if is_ordering(op) {
            self.negative_side(op, left, right).or_else(|| zero_test(op, left, right, span))
        } else {
            match op {
                BinaryOp::Divide | BinaryOp::Remainder => {
                    let negative = [right, left].into_iter().find(|side| self.is_negative(side.0));
                    negative.map(|side| division(op, side))
                }
                BinaryOp::ShiftRight if self.is_negative(left.0) => Some(shifted(left)),
                BinaryOp::ShiftLeft | BinaryOp::ShiftRight if self.is_negative(right.0) => {
                    Some(amount(op, right))
                }
                _ => None,
            }
        };
        match error {
            Some(error) => Err(self.report(error)),
            None => Ok(()),
        }
    }

    /// As [`check_sign`](Self::check_sign), for `x op= value`.
    pub(super) fn check_assigned_sign(&mut self, op: BinaryOp, value: Operand<'_>) -> Resolved<()> {
        if !self.is_negative(value.0) {
            return Ok(());
        }
        let error = match op {
            BinaryOp::Divide | BinaryOp::Remainder => division(op, value),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => amount(op, value),
            _ => return Ok(()),
        };
        Err(self.report(error))
    }

    /// Reports a bound of `for` that is below zero.
    pub(super) fn check_bound_sign(&mut self, bound: Operand<'_>) -> Resolved<()> {
        if !self.is_negative(bound.0) {
            return Ok(());
        }
        let (message, label) = (format!("{} as a bound of a loop", reading(bound)), seen(bound));
        let error = Diagnostic::new("resolve::no-sign", message, bound.1.span, label);
        Err(self
            .report(error.with_help("count from 0, and subtract in the body: `for i in 0..4 { … i - 1 … }`")))
    }

    /// Reports the minimum or maximum without sign of memory and a number below zero, whatever instruction its words say so of.
    pub(super) fn check_extreme_sign(
        &mut self,
        words: &Words<'_>,
        operands: &[ast::Operand],
        taken: &[ResolvedOperand],
    ) -> Resolved<()> {
        let Some(name @ ("min" | "max")) = words.get(Key::Operation) else { return Ok(()) };
        if words.ty().is_none_or(|ty| ty.kind != 'u') {
            return Ok(());
        }
        let written = operands.iter().filter_map(|operand| match operand {
            ast::Operand::Expr(expr) => Some(expr),
            _ => None,
        });
        let resolved = taken.iter().filter_map(|operand| match operand {
            ResolvedOperand::Value(value) => Some(value),
            ResolvedOperand::Memory(_) | ResolvedOperand::Registers(_) => None,
        });
        let Some(operand) = written.zip(resolved).find(|(expr, _)| self.is_negative(expr)) else {
            return Ok(());
        };
        let resolved = operand.1;
        let message = format!("{} for `.{name}.u{}`", reading(operand), resolved.width);
        let error = Diagnostic::new("resolve::no-sign", message, resolved.span, seen(operand));
        Err(self
            .report(error.with_help(format!("write `.{name}.s{}` for numbers with sign", resolved.width))))
    }

    /// Remembers what a register that keeps its value was given, if that is a constant.
    pub(super) fn remember_constant(&mut self, register: RegisterId, value: &Expr) {
        if let Some(value) = self.signed(value) {
            self.signed_constants.insert(register, value);
        }
    }

    fn negative_side(&self, op: BinaryOp, left: Operand<'_>, right: Operand<'_>) -> Option<Diagnostic> {
        // A difference of numbers that wrap round is compared with half the range: its sign is meant, and tested.
        let tests_sign = |a: Operand<'_>, b: Operand<'_>| {
            let half = sign_bit(a.1.width);
            let is_half = constant_value(b.1).is_some_and(|value| value == half || value + 1 == half);
            is_half && matches!(a.0.kind, ExprKind::Binary(BinaryOp::Subtract, ..))
        };
        if tests_sign(left, right) || tests_sign(right, left) {
            return None;
        }
        let side = [right, left].into_iter().find(|side| {
            // `-x` with an unknown `x` is compared by whoever thinks of a sign, too.
            matches!(side.0.kind, ExprKind::Unary(UnaryOp::Negate, _)) && self.signed(side.0) != Some(0)
                || self.is_negative(side.0)
        })?;
        let width = side.1.width;
        let (message, label) = (format!("{} for `{}`", reading(side), op.symbol()), seen(side));
        let error = Diagnostic::new("resolve::no-sign", message, side.1.span, label);
        let bit = hexadecimal(sign_bit(width), width);
        Some(error.with_help(match constant_value(side.1) {
            Some(value) => {
                let (flipped, bits) = (hexadecimal(value ^ sign_bit(width), width), hexadecimal(value, width));
                let compared = if std::ptr::eq(side.0, right.0) {
                    format!("(x ^ {bit}) {} {flipped}", op.symbol())
                } else {
                    format!("{flipped} {} (x ^ {bit})", op.symbol())
                };
                format!(
                    "numbers with sign are in order once their sign bit is flipped: write `{compared}`; if the bits are meant, write `{bits}`"
                )
            }
            None => format!(
                "numbers with sign are in order once their sign bit is flipped: write `(x ^ {bit}) {} (y ^ {bit})`; if the bits are meant, write `0 - …`",
                op.symbol()
            ),
        }))
    }

    fn is_negative(&self, expr: &Expr) -> bool {
        self.signed(expr).is_some_and(|value| value < 0)
    }

    /// What a constant expression is as a number with sign; of two that are chosen from, one that is below zero.
    /// What works on bits (`~`, `&`, conversions) is not below zero: who writes that does not think of a sign.
    fn signed(&self, expr: &Expr) -> Option<i128> {
        match &expr.kind {
            ExprKind::Literal(text) => i128::try_from(parse_literal(text).ok()?.value).ok(),
            ExprKind::Name(name) => match self.find(name)?.0 {
                Binding::Constant(value) => Some(i128::from(value)),
                Binding::Register(register, _) => self.signed_constants.get(&register).copied(),
                _ => None,
            },
            ExprKind::Unary(UnaryOp::Negate, operand) => self.signed(operand)?.checked_neg(),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.signed(left)?, self.signed(right)?);
                match op {
                    BinaryOp::Add => left.checked_add(right),
                    BinaryOp::Subtract => left.checked_sub(right),
                    BinaryOp::Multiply => left.checked_mul(right),
                    BinaryOp::ShiftLeft if (0..64).contains(&right) => left.checked_mul(1 << right),
                    BinaryOp::Divide if right > 0 => left.checked_div(right),
                    BinaryOp::Remainder if right > 0 => left.checked_rem(right),
                    _ => None,
                }
            }
            ExprKind::Select(_, then, otherwise) => {
                let negative = |side| self.signed(side).filter(|&value| value < 0);
                negative(then).or_else(|| negative(otherwise))
            }
            ExprKind::Cast(operand, _) => self.signed(operand).filter(|&value| value >= 0),
            _ => None,
        }
    }
}

/// `x < 0` and the like.
fn zero_test(op: BinaryOp, left: Operand<'_>, right: Operand<'_>, span: Span) -> Option<Diagnostic> {
    let (value, is_always) = match op {
        BinaryOp::Less if is_zero(right.0) => (left, false),
        BinaryOp::Greater if is_zero(left.0) => (right, false),
        BinaryOp::GreaterEqual if is_zero(right.0) => (left, true),
        BinaryOp::LessEqual if is_zero(left.0) => (right, true),
        _ => return None,
    };
    let (text, width) = (pretty::expr(value.0), value.1.width);
    let verdict = if is_always { "always true" } else { "never true" };
    let written = format!("{} {} {}", pretty::expr(left.0), op.symbol(), pretty::expr(right.0));
    let message = format!("`{written}` is {verdict}: values have no sign");
    let error = Diagnostic::new("resolve::no-sign", message, span, verdict);
    let (tested, bit) = (if is_always { "<" } else { ">=" }, hexadecimal(sign_bit(width), width));
    Some(error.with_help(format!(
        "test the sign bit of a number that is meant with sign: `{text} {tested} {bit}`; else leave the comparison out"
    )))
}

fn division(op: BinaryOp, side: Operand<'_>) -> Diagnostic {
    let (message, label) = (format!("{} for `{}`", reading(side), op.symbol()), seen(side));
    let error = Diagnostic::new("resolve::no-sign", message, side.1.span, label);
    error.with_help(match constant_value(side.1) {
        Some(value) => format!(
            "divide without sign, and negate the result where it is below zero; if the bits are meant, write `{}`",
            hexadecimal(value, side.1.width)
        ),
        None => "divide without sign, and negate the result where it is below zero".to_owned(),
    })
}

fn shifted(side: Operand<'_>) -> Diagnostic {
    let (message, label) = (format!("{} for `>>`, which shifts in zeros", reading(side)), seen(side));
    let error = Diagnostic::new("resolve::no-sign", message, side.1.span, label);
    error.with_help(match constant_value(side.1) {
        Some(value) => format!(
            "write the number that the shift is to give; if the bits are meant, write `{}`",
            hexadecimal(value, side.1.width)
        ),
        None => "write the number that the shift is to give".to_owned(),
    })
}

fn amount(op: BinaryOp, side: Operand<'_>) -> Diagnostic {
    let message = format!("{} for `{}`, which gives 0 then", reading(side), op.symbol());
    let other = if op == BinaryOp::ShiftLeft { ">>" } else { "<<" };
    Diagnostic::new("resolve::no-sign", message, side.1.span, seen(side))
        .with_help(format!("shift the other way, with `{other}`"))
}

/// What the operand is taken for.
fn reading(side: Operand<'_>) -> String {
    let text = pretty::expr(side.0);
    match constant_value(side.1) {
        Some(value) => format!("values have no sign: `{text}` is {value}"),
        None => format!("values have no sign: `{text}` is not below zero"),
    }
}

fn seen(side: Operand<'_>) -> String {
    match constant_value(side.1) {
        Some(value) => format!("{value} in {} bits", side.1.width),
        None => "without sign".to_owned(),
    }
}
