//! Statements: labels and predicates for what is structured, and the bodies of functions where they are called.

use super::value::Value;
use super::{Emit, Frame, LINES_MAX, Purpose};
use crate::kernel::program::{InstructionKind, Statement, StatementKind};

impl Emit<'_> {
    pub(super) fn block(&mut self, statements: &[Statement], frame: &mut Frame) {
        for statement in statements {
            if self.body.len() >= LINES_MAX {
                let help = "call fewer functions, or smaller ones: each call is written out";
                return self.unsupported("a kernel of so many statements", statement.span, help);
            }
            self.statement(statement, frame);
        }
    }

    fn statement(&mut self, statement: &Statement, frame: &mut Frame) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { register, value } => {
                let value = self.value(value, frame);
                let register = self.register(frame, *register);
                let value = self.converted(value, register.width);
                self.set(register, value);
            }
            StatementKind::Instruction(instruction) => {
                self.locate(span);
                if !matches!(instruction.kind, InstructionKind::Hint { .. }) {
                    self.delay();
                }
                self.instruction(instruction, span, frame);
                self.record(instruction, span, frame);
            }
            StatementKind::If { condition, then, otherwise } => match self.value(condition, frame) {
                Value::Number(0, _) => self.block(otherwise, frame),
                Value::Number(..) => self.block(then, frame),
                Value::Reg(condition) => {
                    let (other, end) = (self.label(), self.label());
                    self.line(format!("@!{condition} bra {other};"));
                    self.block(then, frame);
                    if !otherwise.is_empty() {
                        self.line(format!("bra {end};"));
                    }
                    self.place_label(&other);
                    if !otherwise.is_empty() {
                        self.block(otherwise, frame);
                        self.place_label(&end);
                    }
                }
            },
            StatementKind::For { register, start, end, body, .. } => {
                let (start, end) = (self.value(start, frame), self.value(end, frame));
                let (register, limit) = (self.register(frame, *register), self.fresh(32));
                self.set(limit, end);
                self.set(register, start);
                let (head, out) = (self.label(), self.label());
                self.place_label(&head);
                let is_over = self.fresh(1);
                self.line(format!("setp.ge.u32 {is_over}, {register}, {limit};"));
                self.line(format!("@{is_over} bra {out};"));
                self.ends.push(out.clone());
                self.block(body, frame);
                self.ends.pop();
                self.line(format!("add.u32 {register}, {register}, 1;"));
                self.line(format!("bra {head};"));
                self.place_label(&out);
            }
            StatementKind::While { prelude, condition, body, .. } => {
                let (head, out) = (self.label(), self.label());
                self.place_label(&head);
                self.block(prelude, frame);
                match self.value(condition, frame) {
                    Value::Number(0, _) => self.line(format!("bra {out};")),
                    Value::Number(..) => {}
                    Value::Reg(condition) => self.line(format!("@!{condition} bra {out};")),
                }
                self.ends.push(out.clone());
                self.block(body, frame);
                self.ends.pop();
                self.line(format!("bra {head};"));
                self.place_label(&out);
            }
            StatementKind::Await { prelude, condition, .. } => {
                let head = self.label();
                self.place_label(&head);
                self.n_waits += 1;
                self.block(prelude, frame);
                self.n_waits -= 1;
                let condition = self.predicate(condition, frame);
                self.line(format!("@!{condition} bra {head};"));
            }
            StatementKind::Break => match self.ends.last().cloned() {
                Some(end) => self.line(format!("bra {end};")),
                None => self.unsupported("a `break` without a loop", span, ""),
            },
            StatementKind::Call { function, values, references, result } => {
                let function = &self.program.functions[*function];
                let widths = function.registers.iter().map(|register| register.width).collect();
                let mut inner = Frame::new(widths);
                for (&register, value) in function.values.iter().zip(values) {
                    let value = self.value(value, frame);
                    let register = self.register(&mut inner, register);
                    let value = self.converted(value, register.width);
                    self.set(register, value);
                }
                for address in references {
                    match self.place(address, frame) {
                        Some(place) => inner.references.push(place),
                        None => return,
                    }
                }
                // A `break` is out of a loop of the function.
                let outer = std::mem::take(&mut self.ends);
                self.block(&function.body, &mut inner);
                self.ends = outer;
                if let (Some(register), Some(value)) = (result, &function.result) {
                    let value = self.value(value, &mut inner);
                    let register = self.register(frame, *register);
                    let value = self.converted(value, register.width);
                    self.set(register, value);
                }
            }
            StatementKind::Exit => self.line("exit;"),
            StatementKind::Assert(condition) if self.purpose == Purpose::Stress => {
                self.observe_assertion(condition, span, frame);
            }
            StatementKind::Assert(condition) => {
                self.locate(span);
                let condition = self.predicate(condition, frame);
                self.line(format!("@!{condition} trap;"));
            }
            // It leaves executions out, which a machine cannot.
            StatementKind::Assume(_) => {
                let help = "leave it out where it only says what is so anyway, or write an `if` around what depends on it";
                self.unsupported("an `assume`", span, help);
            }
            StatementKind::Reachable(_) => {}
            StatementKind::Host(_) => self.unsupported("the host's part of a program", span, ""),
            StatementKind::Unsupported(error) => {
                let error = (**error).clone();
                self.errors.push(error);
            }
        }
    }
}
