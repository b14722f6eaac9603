//! Conditions over final states: `/\` binds tighter than `\/`.

use super::super::ast::{Atom, AtomKind, Comparison, Condition, Formula};
use super::super::token::Token;
use super::Parser;
use crate::diagnostic::Diagnostic;
use crate::kernel::program::Quantifier;

/// Deepest nesting of a formula.
const DEPTH_MAX: usize = 200;

impl Parser<'_> {
    pub(super) fn condition(&mut self) -> Result<Condition, Diagnostic> {
        let filter = if self.is_word("filter") {
            self.next += 1;
            Some(self.disjunction()?)
        } else {
            None
        };
        let start = self.span();
        let is_negated = self.eat(Token::Not) || self.eat(Token::Word("not"));
        let quantifier = match self.peek() {
            Some(Token::Word("exists")) if is_negated => Quantifier::NotExists,
            Some(Token::Word("exists")) => Quantifier::Exists,
            Some(Token::Word("forall")) if !is_negated => Quantifier::Forall,
            _ => return Err(self.unexpected("a condition: `exists`, `~exists` or `forall`")),
        };
        self.next += 1;
        let formula = self.disjunction()?;
        Ok(Condition { span: start.to(self.last_span()), quantifier, formula, filter })
    }

    fn disjunction(&mut self) -> Result<Formula, Diagnostic> {
        let mut parts = vec![self.conjunction()?];
        while self.eat(Token::Or) {
            parts.push(self.conjunction()?);
        }
        Ok(if parts.len() > 1 { Formula::Or(parts) } else { parts.remove(0) })
    }

    fn conjunction(&mut self) -> Result<Formula, Diagnostic> {
        let mut parts = vec![self.negation()?];
        while self.eat(Token::And) {
            parts.push(self.negation()?);
        }
        Ok(if parts.len() > 1 { Formula::And(parts) } else { parts.remove(0) })
    }

    fn negation(&mut self) -> Result<Formula, Diagnostic> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("the condition is nested more than {DEPTH_MAX} deep");
            return Err(Diagnostic::new("limit::nesting", message, self.span(), "too deep"));
        }
        let start = self.span();
        let formula = if self.eat(Token::Not) || self.eat(Token::Word("not")) {
            let inner = self.negation()?;
            Formula::Not(Box::new(inner), start.to(self.last_span()))
        } else if self.eat(Token::ParenthesisOpen) {
            let inner = self.disjunction()?;
            self.expect(Token::ParenthesisClose, "`)`, `/\\` or `\\/`")?;
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(formula)
    }

    fn comparison(&mut self) -> Result<Formula, Diagnostic> {
        let start = self.span();
        let left = self.atom()?;
        let op = match self.peek() {
            Some(Token::Equal) => Comparison::Equal,
            Some(Token::NotEqual) => Comparison::NotEqual,
            Some(Token::Less) => Comparison::Less,
            Some(Token::LessEqual) => Comparison::LessEqual,
            Some(Token::Greater) => Comparison::Greater,
            Some(Token::GreaterEqual) => Comparison::GreaterEqual,
            _ => return Err(self.unexpected("a comparison")),
        };
        self.next += 1;
        let right = self.atom()?;
        Ok(Formula::Compare { op, left, right, span: start.to(self.last_span()) })
    }

    fn atom(&mut self) -> Result<Atom, Diagnostic> {
        let start = self.span();
        let kind = if let Some(thread) = self.thread_prefix() {
            AtomKind::Register(thread, self.word("a register such as `r1`")?.text)
        } else if let Some(Token::Number(_)) = self.peek() {
            AtomKind::Number(self.number("a number")?)
        } else {
            let is_bracketed = self.eat(Token::BracketOpen);
            let name = self.word("a register such as `P0:r1`, a location or a number")?;
            if is_bracketed {
                self.expect(Token::BracketClose, "`]`")?;
            }
            AtomKind::Location(name.text)
        };
        Ok(Atom { kind, span: start.to(self.last_span()) })
    }
}
