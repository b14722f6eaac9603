//! Expressions: widths are inferred for constants and checked for everything else.
//!
//! Reads and calls inside an expression are pulled out into statements before it, in evaluation order; the right
//! side of `&&`, `||` and both branches of `?:` then become conditional.

use super::super::ast::{self, BinaryOp as AstBinary, Expr, ExprKind, Operand};
use super::super::isa;
use super::super::opcode::{Opcode, PtxType};
use super::super::program::{
    BinaryOp, Expression, ExpressionKind, RegisterId, ResolvedOperand, StatementKind, UnaryOp, Width,
};
use super::body::{Binding, Body};
use super::constant::parse_literal;
use super::{Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The width an expression has by itself.
#[derive(Clone, Copy, Debug)]
enum Natural {
    Fixed(Width),
    /// A constant: takes the width of its surroundings, or this one.
    Flexible(Width),
}

fn constant_width(value: u128) -> Width {
    if value >> 32 == 0 {
        32
    } else if value >> 64 == 0 {
        64
    } else {
        128
    }
}

impl Body<'_> {
    /// An expression that must have `width`; constants adapt.
    pub(in crate::kernel) fn resolve_exact(&mut self, expr: &Expr, width: Width) -> Resolved<Expression> {
        let exact = |body: &mut Self| {
            let value = body.resolve_expression(expr, Some(width))?;
            body.expect_width(value, width)
        };
        self.operand(exact, |value| ResolvedOperand::Value(value.clone()))
    }

    /// Reports a width other than `width`.
    pub(in crate::kernel) fn expect_width(
        &mut self,
        value: Expression,
        width: Width,
    ) -> Resolved<Expression> {
        if value.width == width {
            return Ok(value);
        }
        let message = format!("expected {width} bits, found {}", value.width);
        let error =
            Diagnostic::new("resolve::width-mismatch", message, value.span, format!("{} bits", value.width));
        Err(self.report(match (width, value.width) {
            (1, _) => error.with_help("compare it: `x != 0`"),
            (128, _) | (_, 128) => error.with_help("16-byte cells are only moved and compared"),
            _ => error.with_help(format!("convert it: `… as u{width}`")),
        }))
    }

    /// A condition: one bit.
    pub(in crate::kernel) fn resolve_condition(&mut self, expr: &Expr) -> Resolved<Expression> {
        let value = self.resolve_expression(expr, None)?;
        if value.width == 1 {
            return Ok(value);
        }
        let message = format!("a condition has 1 bit; this has {}", value.width);
        let error = Diagnostic::new("resolve::condition-width", message, value.span, "not a condition");
        Err(self.report(error.with_help("write `x != 0`")))
    }

    /// An expression; `want` is the width that constants in it take if nothing else says.
    pub(in crate::kernel) fn resolve_expression(
        &mut self,
        expr: &Expr,
        want: Option<Width>,
    ) -> Resolved<Expression> {
        self.operand(|body| body.resolve_inner(expr, want), |value| ResolvedOperand::Value(value.clone()))
    }

    fn resolve_inner(&mut self, expr: &Expr, want: Option<Width>) -> Resolved<Expression> {
        let span = expr.place.0;
        match &expr.kind {
            ExprKind::Literal(text) => match parse_literal(text) {
                Ok(literal) => self.resolve_constant(span, literal.value, literal.width.or(want)),
                Err(message) => {
                    Err(self.report(Diagnostic::new("syntax::bad-number", message, span, "not a number")))
                }
            },
            ExprKind::Bool(value) => Ok(Self::constant(span, 1, u128::from(*value))),
            ExprKind::Name(name) => self.resolve_name(name, span, want),
            ExprKind::Unary(op, operand) => self.resolve_unary(*op, operand, span, want),
            ExprKind::Binary(op @ (AstBinary::LogicalAnd | AstBinary::LogicalOr), left, right) => {
                self.resolve_logical(*op, left, right, span)
            }
            ExprKind::Binary(op, left, right) => self.resolve_binary(*op, left, right, span, want),
            ExprKind::Select(condition, then, otherwise) => {
                self.resolve_select([condition, then, otherwise], span, want)
            }
            ExprKind::Cast(operand, ty) => self.resolve_cast(operand, ty, span),
            ExprKind::Call { function, arguments } => {
                let result = self.resolve_call(function, arguments, span, true)?;
                self.read(result.ok_or(Reported)?, span)
            }
            ExprKind::Instruction { opcode, operands } => {
                let register = self.resolve_instruction_value(opcode, operands, span)?;
                self.read(register, span)
            }
            ExprKind::Final(memory) => {
                let (address, width) = self.resolve_address(memory)?;
                self.reject_map(&address, "final")?;
                if self.space_of(&address) == Some(crate::vocabulary::Space::Tensor) {
                    let message =
                        format!("`{}` is tensor memory, which is gone at the end", memory.name.text);
                    let error = Diagnostic::new(
                        "validate::tensor-access",
                        message,
                        span,
                        "not for a `final` condition",
                    );
                    let help = "load it with `tcgen05.ld`, store it in global memory and test that";
                    return Err(self.report(error.with_help(help).with_rule("AS-29")));
                }
                Ok(Expression { span, width, kind: ExpressionKind::FinalValue(Box::new(address)) })
            }
            ExprKind::Element(memory) => {
                let name = &memory.name.text;
                let message = format!("`{name}` is memory; its value must be read by an instruction");
                let error = Diagnostic::new("resolve::memory-as-value", message, span, "not a value");
                Err(self.report(error.with_help(format!("write `ld [{name}[…]]`"))))
            }
            ExprKind::Reference(_) => {
                let message = "`&` takes an address, which only a call's argument can be";
                Err(self.report(Diagnostic::new("resolve::memory-as-value", message, span, "not a value")))
            }
            ExprKind::Given(number) => Ok(self.given_value(*number, want)),
            ExprKind::List(_) => {
                let message = "a list is no value";
                Err(self.report(Diagnostic::new("resolve::memory-as-value", message, span, "a list")))
            }
            ExprKind::Error => Err(Reported),
        }
    }

    fn read(&mut self, register: RegisterId, span: Span) -> Resolved<Expression> {
        let width = self.registers[register].width;
        Ok(Expression { span, width, kind: ExpressionKind::Register(register) })
    }

    fn resolve_constant(&mut self, span: Span, value: u128, width: Option<Width>) -> Resolved<Expression> {
        let width = width.unwrap_or(constant_width(value));
        if width < 128 && value >> width != 0 {
            let message = format!("{value} does not fit {width} bits");
            let error = Diagnostic::new(
                "resolve::literal-too-large",
                message,
                span,
                format!("needs more than {width} bits"),
            );
            return Err(self.report(error));
        }
        Ok(Self::constant(span, width, value))
    }

    fn resolve_name(&mut self, name: &str, span: Span, want: Option<Width>) -> Resolved<Expression> {
        match self.look_up(name, span)? {
            Binding::Constant(value) => self.resolve_constant(span, u128::from(value), want),
            Binding::Register(register, mutability) => {
                if self.in_final && mutability != super::body::Mutability::Parameter {
                    let message = format!("`{name}` belongs to a thread and is gone at the end");
                    let error = Diagnostic::new("resolve::final-register", message, span, "a thread's value");
                    return Err(self.report(error.with_help("store it in memory and read that: `[x]`")));
                }
                self.read(register, span)
            }
            Binding::Coordinate(coordinate)
                if self.in_final && !self.in_program && !coordinate.is_dimension() =>
            {
                let message = format!("`{name}` belongs to a thread and is gone at the end");
                Err(self.report(Diagnostic::new(
                    "resolve::final-register",
                    message,
                    span,
                    "a thread's value",
                )))
            }
            Binding::Coordinate(_) if self.in_program => {
                let message = format!("`{name}` is a register of a kernel's threads, and this is the host");
                let error = Diagnostic::new("resolve::host-register", message, span, "not on the host");
                Err(self.report(error))
            }
            Binding::Coordinate(coordinate) => {
                Ok(Expression { span, width: 32, kind: ExpressionKind::Coordinate(coordinate) })
            }
            Binding::Object(_) | Binding::Reference(_) => {
                let message = format!("`{name}` is memory; its value must be read by an instruction");
                let error = Diagnostic::new("resolve::memory-as-value", message, span, "not a value");
                let help =
                    if self.in_final { format!("write `[{name}]`") } else { format!("write `ld [{name}]`") };
                Err(self.report(error.with_help(help)))
            }
            Binding::Bad => Err(Reported),
        }
    }

    /// The width an expression has by itself, without resolving it; `None` where resolving it will report an error.
    fn natural(&self, expr: &Expr) -> Option<Natural> {
        use Natural::{Fixed, Flexible};
        Some(match &expr.kind {
            ExprKind::Literal(text) => {
                let literal = parse_literal(text).ok()?;
                literal.width.map_or(Flexible(constant_width(literal.value)), Fixed)
            }
            ExprKind::Bool(_) => Fixed(1),
            ExprKind::Name(name) => match self.find(name)?.0 {
                Binding::Constant(value) => Flexible(constant_width(u128::from(value))),
                Binding::Register(register, _) => Fixed(self.registers[register].width),
                Binding::Coordinate(_) => Fixed(32),
                _ => return None,
            },
            ExprKind::Unary(ast::UnaryOp::Not, _) => Fixed(1),
            ExprKind::Unary(_, operand) => self.natural(operand)?,
            ExprKind::Binary(op, left, right) => match op {
                AstBinary::LogicalAnd | AstBinary::LogicalOr => Fixed(1),
                op if op.is_comparison() => Fixed(1),
                AstBinary::ShiftLeft | AstBinary::ShiftRight => {
                    match (self.natural(left)?, self.natural(right)?) {
                        (Flexible(_), Fixed(width)) => Fixed(width),
                        (left, _) => left,
                    }
                }
                _ => join(self.natural(left)?, self.natural(right)?),
            },
            ExprKind::Select(_, then, otherwise) => join(self.natural(then)?, self.natural(otherwise)?),
            ExprKind::Cast(_, ty) => Fixed(PtxType::parse(&ty.text)?.width),
            ExprKind::Call { function, .. } => {
                let id = self.checker.functions.get(&function.text)?;
                Fixed(self.checker.signatures[*id].result?)
            }
            ExprKind::Instruction { opcode, operands } => Fixed(self.instruction_width(opcode, operands)?),
            ExprKind::Final(memory) => Fixed(self.memory_width(memory)?),
            ExprKind::Given(number) => Fixed(self.width_given(*number)),
            ExprKind::Element(_) | ExprKind::Reference(_) | ExprKind::List(_) | ExprKind::Error => {
                return None;
            }
        })
    }

    fn memory_width(&self, memory: &ast::Memory) -> Option<Width> {
        match self.find(&memory.name.text)?.0 {
            Binding::Object(object) => Some(self.objects[object].width),
            Binding::Reference(reference) => Some(self.references[reference].width),
            _ => None,
        }
    }

    fn instruction_width(&self, opcode: &ast::Name, operands: &[Operand]) -> Option<Width> {
        isa::result_width(&Opcode::new(opcode), self.target()).or_else(|| {
            operands.iter().find_map(|operand| match operand {
                Operand::Memory(memory) => self.memory_width(memory),
                _ => None,
            })
        })
    }

    fn resolve_unary(
        &mut self,
        op: ast::UnaryOp,
        operand: &Expr,
        span: Span,
        want: Option<Width>,
    ) -> Resolved<Expression> {
        let operand = match op {
            ast::UnaryOp::Not => self.resolve_condition(operand)?,
            _ => self.resolve_expression(operand, want)?,
        };
        self.reject_wide(&operand)?;
        let op = if op == ast::UnaryOp::Negate { UnaryOp::Negate } else { UnaryOp::Not };
        let width = operand.width;
        Ok(Expression { span, width, kind: ExpressionKind::Unary(op, Box::new(operand)) })
    }

    fn reject_wide(&mut self, value: &Expression) -> Resolved<()> {
        if value.width < 128 {
            return Ok(());
        }
        let message = "a 16-byte cell has no arithmetic";
        let error = Diagnostic::new("resolve::b128-operation", message, value.span, "128 bits");
        Err(self.report(error.with_help("it can be loaded, stored and compared with `==` and `!=`")))
    }

    fn resolve_binary(
        &mut self,
        op: AstBinary,
        left: &Expr,
        right: &Expr,
        span: Span,
        want: Option<Width>,
    ) -> Resolved<Expression> {
        let is_shift = matches!(op, AstBinary::ShiftLeft | AstBinary::ShiftRight);
        let is_equality = matches!(op, AstBinary::Equal | AstBinary::NotEqual);
        let want = want.filter(|_| !op.is_comparison());
        let operand_width = match (self.natural(left), self.natural(right)) {
            // A cell is compared with a value that is computed at its own width and then widened.
            (Some(Natural::Fixed(128)), Some(Natural::Fixed(_)))
            | (Some(Natural::Fixed(_)), Some(Natural::Fixed(128)))
                if is_equality =>
            {
                None
            }
            (Some(Natural::Fixed(width)), _) | (_, Some(Natural::Fixed(width))) if !is_shift => Some(width),
            (Some(Natural::Fixed(width)), _) => Some(width),
            (_, Some(Natural::Fixed(width))) => want.or(Some(width)),
            (Some(Natural::Flexible(a)), Some(Natural::Flexible(b))) => want.or(Some(a.max(b))),
            _ => want,
        };
        let written = (left, right);
        let left = self.resolve_expression(left, operand_width);
        let right = self.resolve_expression(right, operand_width);
        let (mut left, mut right) = (left?, right?);
        if is_equality && (left.width == 128) != (right.width == 128) {
            left = widen(left, 128);
            right = widen(right, 128);
        } else if is_shift && right.width < left.width {
            right = widen(right, left.width);
        }
        if !is_equality {
            self.reject_wide(&left)?;
            self.reject_wide(&right)?;
        }
        if left.width != right.width {
            let message = format!(
                "the sides of `{}` have different widths: {} and {} bits",
                op.symbol(),
                left.width,
                right.width
            );
            let error = Diagnostic::new(
                "resolve::width-mismatch",
                message,
                span,
                format!("{} and {} bits", left.width, right.width),
            );
            let is_comparison =
                |side: &Expression| side.width == 1 && matches!(side.kind, ExpressionKind::Binary(..));
            return Err(self.report(
                if matches!(op, AstBinary::And | AstBinary::Or | AstBinary::Xor)
                    && (is_comparison(&left) || is_comparison(&right))
                {
                    error.with_help(format!(
                        "comparisons bind tighter than `{}`, as in C: write `(a {} b) == c`",
                        op.symbol(),
                        op.symbol()
                    ))
                } else if left.width.min(right.width) == 1 {
                    error.with_help("a condition is not a number; use `c ? 1 : 0`")
                } else if is_shift {
                    let (wide, narrow) = (right.width, left.width);
                    error.with_help(format!(
                        "shift {wide} bits, and convert the result: `(… {} …) as u{narrow}`",
                        op.symbol()
                    ))
                } else {
                    error.with_help(format!(
                        "convert the narrower side: `… as u{}`",
                        left.width.max(right.width)
                    ))
                },
            ));
        }
        self.check_sign(op, (written.0, &left), (written.1, &right), span)?;
        let width = if op.is_comparison() { 1 } else { left.width };
        let kind = ExpressionKind::Binary(binary_op(op), Box::new(left), Box::new(right));
        Ok(Expression { span, width, kind })
    }

    fn resolve_logical(
        &mut self,
        op: AstBinary,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> Resolved<Expression> {
        let left = self.resolve_condition(left);
        let (effects, right) = self.collect(|body| body.resolve_condition(right));
        let (left, right) = (left?, right?);
        let is_and = op == AstBinary::LogicalAnd;
        if effects.is_empty() {
            let op = if is_and { BinaryOp::And } else { BinaryOp::Or };
            return Ok(Expression {
                span,
                width: 1,
                kind: ExpressionKind::Binary(op, Box::new(left), Box::new(right)),
            });
        }
        let register = self.generate(1);
        let first = left.span;
        self.push(first, StatementKind::Assign { register, value: left });
        let condition = self.read(register, first)?;
        let mut branch = effects;
        let assign = StatementKind::Assign { register, value: right };
        branch.push(super::super::program::Statement { span, kind: assign });
        let (then, otherwise) = if is_and { (branch, Vec::new()) } else { (Vec::new(), branch) };
        self.push(span, StatementKind::If { condition, then, otherwise });
        self.read(register, span)
    }

    fn resolve_select(&mut self, parts: [&Expr; 3], span: Span, want: Option<Width>) -> Resolved<Expression> {
        let [condition, then, otherwise] = parts;
        let condition = self.resolve_condition(condition);
        let width = match (self.natural(then), self.natural(otherwise)) {
            (Some(Natural::Fixed(width)), _) | (_, Some(Natural::Fixed(width))) => Some(width),
            (Some(Natural::Flexible(a)), Some(Natural::Flexible(b))) => want.or(Some(a.max(b))),
            _ => want,
        };
        let (then_effects, then) = self.collect(|body| body.resolve_expression(then, width));
        let (otherwise_effects, otherwise) = self.collect(|body| body.resolve_expression(otherwise, width));
        let (condition, then, otherwise) = (condition?, then?, otherwise?);
        let otherwise = self.expect_width(otherwise, then.width)?;
        let width = then.width;
        if then_effects.is_empty() && otherwise_effects.is_empty() {
            let kind = ExpressionKind::Select(Box::new(condition), Box::new(then), Box::new(otherwise));
            return Ok(Expression { span, width, kind });
        }
        let register = self.generate(width);
        let branch = |mut effects: Vec<super::super::program::Statement>, value: Expression| {
            let span = value.span;
            effects.push(super::super::program::Statement {
                span,
                kind: StatementKind::Assign { register, value },
            });
            effects
        };
        let then = branch(then_effects, then);
        let otherwise = branch(otherwise_effects, otherwise);
        self.push(span, StatementKind::If { condition, then, otherwise });
        self.read(register, span)
    }

    fn resolve_cast(&mut self, operand: &Expr, ty: &ast::Name, span: Span) -> Resolved<Expression> {
        let width = self.checker.parse_type(ty, true)?;
        let want = match self.natural(operand) {
            Some(Natural::Flexible(own)) => Some(own.max(width).min(64)),
            _ => None,
        };
        let operand = self.resolve_expression(operand, want)?;
        if operand.width != width {
            self.reject_wide(&operand)?;
        }
        let converted = widen(operand, width);
        if width == 128 {
            self.reject_wide(&converted)?;
        }
        Ok(Expression { span, ..converted })
    }
}

fn join(left: Natural, right: Natural) -> Natural {
    use Natural::{Fixed, Flexible};
    match (left, right) {
        (Fixed(width), _) | (_, Fixed(width)) => Fixed(width),
        (Flexible(a), Flexible(b)) => Flexible(a.max(b)),
    }
}

/// `value` zero-extended or truncated to `width`.
pub(in crate::kernel) fn widen(value: Expression, width: Width) -> Expression {
    if value.width == width {
        return value;
    }
    Expression { span: value.span, width, kind: ExpressionKind::Convert(Box::new(value)) }
}

pub(in crate::kernel) fn binary_op(op: AstBinary) -> BinaryOp {
    match op {
        AstBinary::LogicalOr | AstBinary::Or => BinaryOp::Or,
        AstBinary::LogicalAnd | AstBinary::And => BinaryOp::And,
        AstBinary::Xor => BinaryOp::Xor,
        AstBinary::Equal => BinaryOp::Equal,
        AstBinary::NotEqual => BinaryOp::NotEqual,
        AstBinary::Less => BinaryOp::Less,
        AstBinary::LessEqual => BinaryOp::LessEqual,
        AstBinary::Greater => BinaryOp::Greater,
        AstBinary::GreaterEqual => BinaryOp::GreaterEqual,
        AstBinary::ShiftLeft => BinaryOp::ShiftLeft,
        AstBinary::ShiftRight => BinaryOp::ShiftRight,
        AstBinary::Add => BinaryOp::Add,
        AstBinary::Subtract => BinaryOp::Subtract,
        AstBinary::Multiply => BinaryOp::Multiply,
        AstBinary::Divide => BinaryOp::Divide,
        AstBinary::Remainder => BinaryOp::Remainder,
    }
}

/// The value of an expression of constants only, at the widths it has.
pub(in crate::kernel) fn constant_value(expression: &Expression) -> Option<u128> {
    let mask =
        |value: u128| if expression.width == 128 { value } else { value & ((1 << expression.width) - 1) };
    let value = match &expression.kind {
        ExpressionKind::Constant(value) => *value,
        ExpressionKind::Convert(operand) => constant_value(operand)?,
        ExpressionKind::Unary(UnaryOp::Not, operand) => !constant_value(operand)?,
        ExpressionKind::Unary(UnaryOp::Negate, operand) => constant_value(operand)?.wrapping_neg(),
        ExpressionKind::Binary(op, left, right) => {
            let (left, right) = (constant_value(left)?, constant_value(right)?);
            match op {
                BinaryOp::Add => left.wrapping_add(right),
                BinaryOp::Subtract => left.wrapping_sub(right),
                BinaryOp::Multiply => left.wrapping_mul(right),
                BinaryOp::Divide => left.checked_div(right)?,
                BinaryOp::Remainder => left.checked_rem(right)?,
                BinaryOp::And => left & right,
                BinaryOp::Or => left | right,
                BinaryOp::Xor => left ^ right,
                BinaryOp::ShiftLeft if right < 64 => left << right,
                BinaryOp::ShiftRight if right < 64 => left >> right,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(mask(value))
}
