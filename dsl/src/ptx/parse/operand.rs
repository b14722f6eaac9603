//! Operands: names, numbers, addresses, vectors, pairs.

use super::super::module::{Operand, OperandKind};
use super::super::token::Kind;
use super::{DEPTH_MAX, Parsed, Parser, number};
use crate::diagnostic::Diagnostic;

impl Parser<'_> {
    /// Operands up to `end`, which is left.
    pub(super) fn operands(&mut self, end: u8, depth: usize) -> Parsed<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.is(end) {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(depth)?);
            if !self.eat(b',') {
                return Ok(operands);
            }
        }
    }

    fn operand(&mut self, depth: usize) -> Parsed<Operand> {
        let start = self.here();
        if depth > DEPTH_MAX {
            let message = format!("operands are nested more than {DEPTH_MAX} deep");
            return Err(Diagnostic::new("limit::nesting", message, start, "too deep"));
        }
        let brackets = [(b'[', b']'), (b'{', b'}'), (b'(', b')')];
        if let Some((open, close)) = brackets.into_iter().find(|&(open, _)| self.is(open)) {
            self.at += 1;
            let inner = self.operands(close, depth + 1)?;
            self.expect(close)?;
            let kind = match open {
                b'[' => OperandKind::Memory(inner),
                b'{' => OperandKind::Vector(inner),
                _ => OperandKind::Group(inner),
            };
            return Ok(Operand { span: self.since(start), kind });
        }
        if self.eat(b'!') {
            let inner = self.operand(depth + 1)?;
            return Ok(Operand { span: self.since(start), kind: OperandKind::Not(Box::new(inner)) });
        }
        let first = self.simple()?;
        if self.eat(b'|') {
            let second = self.operand(depth + 1)?;
            let kind = OperandKind::Pair(Box::new(first), Box::new(second));
            return Ok(Operand { span: self.since(start), kind });
        }
        Ok(first)
    }

    /// A name, a number, or a sum of both.
    fn simple(&mut self) -> Parsed<Operand> {
        let start = self.here();
        let Some(token) = self.peek() else { return Err(self.unexpected("an operand")) };
        match token.kind {
            Kind::Word => {
                self.at += 1;
                let name = self.text_of(token).to_owned();
                let mut offset = None;
                while self.is(b'+') || self.is(b'-') {
                    let is_negative = self.is(b'-');
                    self.at += 1;
                    // Compilers write `a+-8`.
                    let value = self.signed()?;
                    let so_far: i128 = offset.unwrap_or(0);
                    offset = Some(so_far.saturating_add(if is_negative { -value } else { value }));
                }
                let kind = match offset {
                    Some(offset) => OperandKind::Sum(name, offset),
                    None => OperandKind::Name(name),
                };
                Ok(Operand { span: self.since(start), kind })
            }
            Kind::Number | Kind::Punctuation(b'-') => {
                let float =
                    (token.kind == Kind::Number).then(|| number::float(self.text_of(token))).flatten();
                if let Some((bits, width)) = float {
                    self.at += 1;
                    return Ok(Operand { span: start, kind: OperandKind::Float(bits, width) });
                }
                let value = self.signed()?;
                Ok(Operand { span: self.since(start), kind: OperandKind::Integer(value) })
            }
            _ => Err(self.unexpected("an operand")),
        }
    }

    fn signed(&mut self) -> Parsed<i128> {
        let is_negative = self.eat(b'-');
        let token = self.peek().filter(|token| token.kind == Kind::Number);
        let Some(token) = token else { return Err(self.unexpected("a number")) };
        match number::integer(self.text_of(token)) {
            Some(value) => {
                self.at += 1;
                Ok(if is_negative { -i128::from(value) } else { i128::from(value) })
            }
            None => {
                // A negative floating-point number: its bits, with the sign.
                if let Some((bits, width)) = number::float(self.text_of(token)) {
                    self.at += 1;
                    let sign = if is_negative { 1_u64 << (width - 1) } else { 0 };
                    return Ok(i128::from(bits ^ sign));
                }
                let message = format!("`{}` is no number", self.text_of(token));
                let error = Diagnostic::new("syntax::ptx", message, self.span_of(token), "not a number");
                Err(error.with_help("integers have at most 64 bits"))
            }
        }
    }
}
