//! Statements of kernels and functions.

use super::super::ast::{self, Else, Expr, ExprKind, Pattern, StatementKind as Ast};
use super::super::program::{Expression, ExpressionKind, Loop, LoopId, Statement, StatementKind};
use super::body::{Binding, Body, Mutability};
use super::expression::{binary_op, constant_value};
use super::instruction::Results;
use super::{Reported, Resolved, calls};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// Iterations of a loop whose bounds are constants.
const MAX_LOOP_ITERATIONS: u128 = 100_000;

impl Body<'_> {
    /// Resolves a statement into the current list. Its errors have been reported when this returns.
    pub(in crate::kernel) fn resolve_statement(&mut self, statement: &ast::Statement) {
        let span = statement.place.0;
        match &statement.kind {
            Ast::Let { pattern, ty, value } => self.resolve_let(pattern, ty.as_ref(), value, span),
            Ast::Var { name, ty, value } => self.resolve_var(name, ty.as_ref(), value, span),
            Ast::Assign { name, op, value } => {
                // The error is in the list of diagnostics already; there is nothing to undo.
                let _: Resolved<()> = self.resolve_assign(name, *op, value, span);
            }
            Ast::Expr(expr) => match &expr.kind {
                ExprKind::Call { function, arguments } => {
                    let _: Resolved<_> = self.resolve_call(function, arguments, span, false);
                }
                ExprKind::Instruction { opcode, operands } => {
                    let _: Resolved<_> =
                        self.resolve_instruction(opcode, operands, expr.place.0, Results::Nothing);
                }
                _ => {}
            },
            Ast::If { condition, then, otherwise } => {
                self.resolve_if(condition, then, otherwise.as_ref(), span)
            }
            Ast::For { name, range, body } => {
                let _: Resolved<()> = self.resolve_for(name, range, body, span);
            }
            Ast::While { condition, body } => {
                let id = self.add_loop(span.to_before(body.place.0));
                let (prelude, condition) = self.collect(|body| body.resolve_condition(condition));
                let body = self.resolve_loop_body(body);
                if let Ok(condition) = condition {
                    self.push(span, StatementKind::While { id, prelude, condition, body });
                }
            }
            Ast::Loop(body) => {
                let id = self.add_loop(span.to_before(body.place.0));
                let condition = Self::constant(span, 1, 1);
                let body = self.resolve_loop_body(body);
                self.push(span, StatementKind::While { id, prelude: Vec::new(), condition, body });
            }
            Ast::Break if self.loop_depth == 0 => {
                let message = "`break` outside of a loop";
                let error =
                    Diagnostic::new("resolve::misplaced-statement", message, span, "no loop around it");
                self.report(
                    error.with_help("a thread ends with `exit;`; a rest that is left out stands in an `if`"),
                );
            }
            Ast::Break => self.push(span, StatementKind::Break),
            Ast::Exit if self.in_program => {
                self.misplaced(span, "the host does not exit while it launches kernels")
            }
            Ast::Exit => self.push(span, StatementKind::Exit),
            Ast::Await(condition) => self.resolve_await(condition, span),
            Ast::Assert(condition) => self.resolve_claim(condition, span, StatementKind::Assert),
            Ast::Assume(condition) => self.resolve_claim(condition, span, StatementKind::Assume),
            Ast::Reachable(condition) => self.resolve_claim(condition, span, StatementKind::Reachable),
            Ast::Error => {}
            Ast::Return(_) => self.misplaced(span, "`return` can only be the last statement of a function"),
            Ast::Host(_) => self.misplaced(span, "only a program calls the host's API"),
            Ast::Launch { .. }
            | Ast::Object(_)
            | Ast::View(_)
            | Ast::Final(_)
            | Ast::Client { .. }
            | Ast::Setting(_) => {
                self.misplaced(span, "this belongs to the kernel itself, not into a block or function");
            }
        }
    }

    fn misplaced(&mut self, span: Span, message: &str) {
        self.report(Diagnostic::new("resolve::misplaced-statement", message, span, "not here"));
    }

    pub(super) fn resolve_block(&mut self, block: &ast::Block) -> Vec<Statement> {
        let (statements, ()) = self.collect(|body| {
            body.scoped(|body| {
                for statement in &block.statements {
                    body.resolve_statement(statement);
                }
            });
        });
        statements
    }

    fn resolve_loop_body(&mut self, block: &ast::Block) -> Vec<Statement> {
        self.loop_depth += 1;
        let statements = self.resolve_block(block);
        self.loop_depth -= 1;
        statements
    }

    fn add_loop(&mut self, span: Span) -> LoopId {
        self.checker.loops.push(Loop { span })
    }

    fn resolve_let(&mut self, pattern: &Pattern, ty: Option<&ast::Name>, value: &Expr, span: Span) {
        let names: Vec<Option<&ast::Name>> = match pattern {
            Pattern::One(name) => vec![name.as_ref()],
            Pattern::Vector(names) => names.iter().map(Option::as_ref).collect(),
        };
        if self.resolve_let_value(pattern, &names, ty, value, span).is_err() {
            for name in names.into_iter().flatten() {
                self.bind(name, Binding::Bad);
            }
        }
    }

    fn resolve_let_value(
        &mut self,
        pattern: &Pattern,
        names: &[Option<&ast::Name>],
        ty: Option<&ast::Name>,
        value: &Expr,
        span: Span,
    ) -> Resolved<()> {
        let width = ty.map(|ty| self.checker.parse_type(ty, false)).transpose()?;
        if let ExprKind::Instruction { opcode, operands } = &value.kind {
            let wanted: Vec<Option<String>> =
                names.iter().map(|name| name.map(|name| name.text.clone())).collect();
            let results = match pattern {
                Pattern::One(_) => Results::One(wanted[0].as_deref()),
                Pattern::Vector(_) => Results::Vector(&wanted),
            };
            let registers = self.resolve_instruction(opcode, operands, value.place.0, results)?;
            for (name, register) in names.iter().zip(registers) {
                if let (Some(name), Some(register)) = (name, register) {
                    let found = self.registers[register].width;
                    if let Some(width) = width {
                        let kind = ExpressionKind::Register(register);
                        self.expect_width(Expression { span: value.place.0, width: found, kind }, width)?;
                    }
                    self.bind(name, Binding::Register(register, Mutability::Let));
                }
            }
            return Ok(());
        }
        let Pattern::One(name) = pattern else {
            let message = "only a vector load gives several values";
            let error = Diagnostic::new("resolve::pattern", message, value.place.0, "one value");
            return Err(self.report(error.with_help("write `let {a, b} = ld.v2.u32 [x];`")));
        };
        let resolved = match width {
            Some(width) => self.resolve_exact(value, width)?,
            None => self.resolve_expression(value, None)?,
        };
        if let Some(name) = name {
            let register = self.bind_register(name, resolved.width, Mutability::Let);
            self.remember_constant(register, value);
            self.push(span, StatementKind::Assign { register, value: resolved });
        }
        Ok(())
    }

    fn resolve_var(&mut self, name: &ast::Name, ty: Option<&ast::Name>, value: &Expr, span: Span) {
        let width = ty.map(|ty| self.checker.parse_type(ty, false)).transpose();
        let resolved = width.and_then(|width| match width {
            Some(width) => self.resolve_exact(value, width),
            None => self.resolve_expression(value, None),
        });
        match resolved {
            Ok(value) => {
                let register = self.bind_register(name, value.width, Mutability::Var);
                self.push(span, StatementKind::Assign { register, value });
            }
            Err(Reported) => self.bind(name, Binding::Bad),
        }
    }

    fn resolve_assign(
        &mut self,
        name: &ast::Name,
        op: Option<ast::BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Resolved<()> {
        let place = name.place.0;
        let binding = self.look_up(&name.text, place)?;
        let Binding::Register(register, Mutability::Var) = binding else {
            let message = format!("`{}` cannot be assigned", name.text);
            let mut error = Diagnostic::new("resolve::not-assignable", message, place, "not a `var`");
            if let Some((_, Some(first))) = self.find(&name.text) {
                error = error.with_label(first, "declared here");
            }
            return Err(self.report(match binding {
                Binding::Register(_, Mutability::Let) => error.with_help("declare it with `var`"),
                Binding::Object(_) | Binding::Reference(_) => {
                    error.with_help(format!("store to memory with `st [{}], …;`", name.text))
                }
                _ => error,
            }));
        };
        let width = self.registers[register].width;
        let resolved = self.resolve_exact(value, width)?;
        if let Some(op) = op {
            self.check_assigned_sign(op, (value, &resolved))?;
        }
        let value = match op {
            None => resolved,
            Some(op) => {
                let old = Expression { span: place, width, kind: ExpressionKind::Register(register) };
                let kind = ExpressionKind::Binary(binary_op(op), Box::new(old), Box::new(resolved));
                Expression { span, width, kind }
            }
        };
        self.push(span, StatementKind::Assign { register, value });
        Ok(())
    }

    fn resolve_if(&mut self, condition: &Expr, then: &ast::Block, otherwise: Option<&Else>, span: Span) {
        let condition = self.resolve_condition(condition);
        let then = self.resolve_block(then);
        let otherwise = match otherwise {
            Some(Else::Block(block)) => self.resolve_block(block),
            Some(Else::If(statement)) => self.collect(|body| body.resolve_statement(statement)).0,
            None => Vec::new(),
        };
        if let Ok(condition) = condition {
            self.push(span, StatementKind::If { condition, then, otherwise });
        }
    }

    fn resolve_for(
        &mut self,
        name: &ast::Name,
        range: &ast::Range,
        body: &ast::Block,
        span: Span,
    ) -> Resolved<()> {
        let id = self.add_loop(span.to_before(body.place.0));
        let start = self.resolve_exact(&range.start, 32);
        let end = self.resolve_exact(&range.end, 32);
        let (register, body) = self.scoped(|this| {
            let register = this.bind_register(name, 32, Mutability::LoopVariable);
            (register, this.resolve_loop_body(body))
        });
        let (start, mut end) = (start?, end?);
        self.check_bound_sign((&range.start, &start))?;
        self.check_bound_sign((&range.end, &end))?;
        if let (Some(first), Some(last)) = (constant_value(&start), constant_value(&end))
            && last.saturating_sub(first) + u128::from(range.inclusive) > MAX_LOOP_ITERATIONS
        {
            let message = format!(
                "this loop runs {} times; the limit is {MAX_LOOP_ITERATIONS}",
                last.saturating_sub(first) + u128::from(range.inclusive)
            );
            let error = Diagnostic::new(
                "limit::loop-iterations",
                message,
                start.span.to(end.span),
                "too many iterations",
            );
            return Err(self.report(error.with_help(
                "synchronization bugs show within a few iterations; make the count a kernel parameter: `N in 0..=3`",
            )));
        }
        if range.inclusive {
            let one = Self::constant(end.span, 32, 1);
            let span = end.span;
            let kind =
                ExpressionKind::Binary(super::super::program::BinaryOp::Add, Box::new(end), Box::new(one));
            end = Expression { span, width: 32, kind };
        }
        self.push(span, StatementKind::For { id, register, start, end, body });
        Ok(())
    }

    fn resolve_await(&mut self, condition: &Expr, span: Span) {
        let id = self.add_loop(span);
        let (prelude, condition) = self.collect(|body| body.resolve_condition(condition));
        let Ok(condition) = condition else { return };
        if let Some(loud) = calls::loud_statement(&prelude) {
            let message = "`await` repeats reads, atomics and mbarrier waits only";
            let error = Diagnostic::new(
                "validate::await-side-effect",
                message,
                loud.span,
                "this does something else",
            );
            self.report(error.with_help("use `loop { … if c { break; } }`"));
            return;
        }
        let called = calls::called(&prelude);
        self.checker.calls.awaited.extend(called.into_iter().map(|function| (function, span)));
        self.push(span, StatementKind::Await { id, prelude, condition });
    }

    fn resolve_claim(&mut self, condition: &Expr, span: Span, kind: fn(Expression) -> StatementKind) {
        if let Ok(condition) = self.resolve_condition(condition) {
            self.push(span, kind(condition));
        }
    }
}

trait SpanBefore {
    /// The part of the span before another one inside it.
    fn to_before(self, inner: Span) -> Span;
}

impl SpanBefore for Span {
    fn to_before(self, inner: Span) -> Span {
        Self { end: inner.start.max(self.start), ..self }
    }
}
