//! Numbers, and expressions that are known before anything runs. Constants are 64 bits wide and may not overflow.

use super::super::ast::{BinaryOp, Expr, ExprKind, Place, UnaryOp};
use super::super::suggest::suggest;
use super::{Checker, Resolved};
use crate::diagnostic::Diagnostic;
use crate::sorted::SortedMap;
use crate::span::Span;

/// Constants that refer to one another at most this deep.
const MAX_CHAIN: usize = 64;

/// A literal's value, and its width if it has a suffix.
pub(super) struct Literal {
    pub(super) value: u128,
    pub(super) width: Option<u8>,
}

/// Reads a number as written; the error is what is wrong with it.
pub(super) fn parse_literal(text: &str) -> Result<Literal, String> {
    let suffixes = [("u8", 8), ("u16", 16), ("u32", 32), ("u64", 64)];
    let suffix = suffixes.iter().find_map(|&(suffix, width)| Some((text.strip_suffix(suffix)?, width)));
    let (digits, width) = suffix.map_or((text, None), |(digits, width)| (digits, Some(width)));
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        _ => (digits, 10),
    };
    let digits: String = digits.chars().filter(|&digit| digit != '_').collect();
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(format!("`{text}` is not a number"));
    }
    let value =
        u128::from_str_radix(&digits, radix).map_err(|_| format!("`{text}` does not fit 128 bits"))?;
    if let Some(width) = width
        && value >> width != 0
    {
        return Err(format!("`{text}` does not fit {width} bits"));
    }
    Ok(Literal { value, width })
}

impl Checker {
    /// Evaluates all constants, with `-D` values in place of definitions.
    pub(super) fn evaluate_constants(
        &mut self,
        constants: &SortedMap<&str, &Expr>,
        defines: &[(String, u64)],
        start: Span,
    ) {
        for (name, value) in defines {
            if constants.contains_key(name.as_str()) {
                self.constants.insert(name.clone(), Some(*value));
            } else {
                let message = format!("`-D {name}={value}` sets a constant that is not declared");
                let mut error = Diagnostic::new("resolve::unknown-define", message, start, "in this file");
                error.help = Some(match suggest(name, constants.keys().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("declare it: `const {name} = {value};`"),
                });
                self.report(error);
            }
        }
        for name in constants.keys() {
            self.evaluate_constant(name, constants, &mut Vec::new());
        }
    }

    fn evaluate_constant<'a>(
        &mut self,
        name: &'a str,
        constants: &SortedMap<&'a str, &'a Expr>,
        stack: &mut Vec<&'a str>,
    ) {
        if self.constants.contains_key(name) {
            return;
        }
        let Some(&value) = constants.get(name) else { return };
        if stack.contains(&name) || stack.len() >= MAX_CHAIN {
            let is_cycle = stack.contains(&name);
            let user = stack.last().and_then(|user| constants.get(user)).unwrap_or(&value);
            let start = stack.iter().position(|&other| other == name).unwrap_or(0);
            let chain: Vec<String> =
                stack[start..].iter().chain([&name]).map(|name| format!("`{name}`")).collect();
            let error = if is_cycle {
                let message = format!("a constant needs its own value: {}", chain.join(" needs "));
                Diagnostic::new("resolve::recursive-constant", message, user.place.0, "needed here")
            } else {
                let message = format!("constants refer to one another more than {MAX_CHAIN} deep");
                Diagnostic::new("limit::nesting", message, value.place.0, "too deep")
            };
            self.report(error);
            self.constants.insert(name.to_owned(), None);
            return;
        }
        stack.push(name);
        let mut needed = Vec::new();
        collect_names(value, &mut needed);
        for other in needed {
            if let Some((&other, _)) = constants.get_key_value(other) {
                self.evaluate_constant(other, constants, stack);
            }
        }
        stack.pop();
        if !self.constants.contains_key(name) {
            let result = self.evaluate(value).ok();
            self.constants.insert(name.to_owned(), result);
        }
    }

    /// The value of a constant expression.
    pub(in crate::kernel) fn evaluate(&mut self, expr: &Expr) -> Resolved<u64> {
        let value = self.evaluate_wide(expr)?;
        u64::try_from(value).map_err(|_| self.overflow(expr.place))
    }

    /// As [`evaluate`](Self::evaluate), for the initialisers of 128-bit cells.
    pub(super) fn evaluate_wide(&mut self, expr: &Expr) -> Resolved<u128> {
        match &expr.kind {
            ExprKind::Literal(text) => match parse_literal(text) {
                Ok(literal) => Ok(literal.value),
                Err(message) => Err(self.report(Diagnostic::new(
                    "syntax::bad-number",
                    message,
                    expr.place.0,
                    "not a number",
                ))),
            },
            ExprKind::Bool(value) => Ok(u128::from(*value)),
            ExprKind::Name(name) => match self.constants.get(name.as_str()) {
                Some(Some(value)) => Ok(u128::from(*value)),
                Some(None) => Err(super::Reported),
                None => Err(self.not_constant(expr, name)),
            },
            ExprKind::Unary(op, operand) => {
                let value = self.evaluate(operand)?;
                match op {
                    UnaryOp::Not => Ok(u128::from(value == 0)),
                    UnaryOp::Complement => Ok(u128::from(!value)),
                    UnaryOp::Negate if value == 0 => Ok(0),
                    UnaryOp::Negate => Err(self.below_zero(expr.place)),
                }
            }
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                evaluate_binary(*op, left, right).map(u128::from).ok_or_else(|| match op {
                    BinaryOp::Subtract => self.below_zero(expr.place),
                    _ => self.overflow(expr.place),
                })
            }
            ExprKind::Select(condition, then, otherwise) => {
                let chosen = if self.evaluate(condition)? != 0 { then } else { otherwise };
                self.evaluate_wide(chosen)
            }
            ExprKind::Cast(operand, ty) => {
                let value = self.evaluate(operand)?;
                match self.parse_type(ty, true)? {
                    width @ ..64 => Ok(u128::from(value & ((1 << width) - 1))),
                    _ => Ok(u128::from(value)),
                }
            }
            ExprKind::Error => Err(super::Reported),
            _ => Err(self.not_constant(expr, "this")),
        }
    }

    fn not_constant(&mut self, expr: &Expr, name: &str) -> super::Reported {
        let message = format!("`{name}` is not a constant");
        let mut error =
            Diagnostic::new("resolve::not-constant", message, expr.place.0, "a constant is needed here");
        if let Some(near) = suggest(name, self.constants.keys().map(String::as_str)) {
            error = error.with_help(format!("did you mean `{near}`?"));
        }
        self.report(error)
    }

    fn overflow(&mut self, place: Place) -> super::Reported {
        let message = "this constant does not fit 64 bits without sign";
        self.report(Diagnostic::new("resolve::constant-overflow", message, place.0, "overflows"))
    }

    fn below_zero(&mut self, place: Place) -> super::Reported {
        let message = "this constant does not fit 64 bits without sign";
        let error = Diagnostic::new("resolve::constant-overflow", message, place.0, "below zero");
        self.report(error.with_help("write the bits that are meant: those of -1 are `0xffffffff` in 32 bits"))
    }
}

fn evaluate_binary(op: BinaryOp, left: u64, right: u64) -> Option<u64> {
    Some(match op {
        BinaryOp::LogicalOr => u64::from(left != 0 || right != 0),
        BinaryOp::LogicalAnd => u64::from(left != 0 && right != 0),
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::And => left & right,
        BinaryOp::Equal => u64::from(left == right),
        BinaryOp::NotEqual => u64::from(left != right),
        BinaryOp::Less => u64::from(left < right),
        BinaryOp::LessEqual => u64::from(left <= right),
        BinaryOp::Greater => u64::from(left > right),
        BinaryOp::GreaterEqual => u64::from(left >= right),
        BinaryOp::ShiftLeft => {
            let shifted = u128::from(left).checked_shl(u32::try_from(right).ok()?).filter(|_| right < 64)?;
            u64::try_from(shifted).ok()?
        }
        BinaryOp::ShiftRight => {
            u32::try_from(right).ok().and_then(|right| left.checked_shr(right)).unwrap_or(0)
        }
        BinaryOp::Add => left.checked_add(right)?,
        BinaryOp::Subtract => left.checked_sub(right)?,
        BinaryOp::Multiply => left.checked_mul(right)?,
        BinaryOp::Divide => left.checked_div(right)?,
        BinaryOp::Remainder => left.checked_rem(right)?,
    })
}

fn collect_names<'a>(expr: &'a Expr, names: &mut Vec<&'a str>) {
    match &expr.kind {
        ExprKind::Name(name) => names.push(name),
        ExprKind::Unary(_, operand) | ExprKind::Cast(operand, _) => collect_names(operand, names),
        ExprKind::Binary(_, left, right) => {
            collect_names(left, names);
            collect_names(right, names);
        }
        ExprKind::Select(condition, then, otherwise) => {
            collect_names(condition, names);
            collect_names(then, names);
            collect_names(otherwise, names);
        }
        _ => {}
    }
}
