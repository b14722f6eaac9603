//! `import`: a kernel of a PTX module, with what the kernel file says of its launch.
//!
//! ```text
//!  harness ── harness, memory ──> launches, parameters, memory ──┐
//!  module  ── lower ────> registers, labels, statements ─┴─> Kernel
//!               ├─ call      what is called elsewhere, and branches by number
//!               ├─ idle      parts of loops that only let time pass, left out
//!               ├─ compute   what integers make of integers, as expressions
//!               ├─ value     operands and special registers
//!               ├─ parameter what the kernel is given, by bytes
//!               ├─ access    whatever acts on memory or threads, by the rows of `isa`
//!               ├─ matrix    matrices in the registers of a warp
//!               └─ product   matrix operations of a warpgroup, whose matrices are numbers
//! ```
//! Integers are computed, so an address is a number, and what it is the address of is found when the kernel is run
//! ([`FlatMemory`](super::program::FlatMemory)). What is not computed, such as floating-point numbers, is unknown. An
//! instruction that this version does not check is an error only where a thread comes to it.

mod access;
mod bits;
mod call;
mod compute;
mod harness;
mod idle;
mod lower;
mod matrix;
mod memory;
mod parameter;
mod product;
mod value;

use super::ast::{Name, Operand};
use super::isa;
use super::opcode::Opcode;
use super::program::flat::FlatSpace;
use super::program::{Address, AddressBase, ElementKind, Expression, ExpressionKind, RegisterId, Width};
use super::resolve::Body;
use super::resolve::instruction::Results;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The operands of an instruction, on their way through the rows.
#[derive(Debug, Default)]
pub(in crate::kernel) struct Given {
    /// Values, and generic addresses of 64 bits with what is at them.
    operands: Vec<(Expression, Option<Role>)>,
    /// Widths at which anything has been accessed so far, and what it was.
    seen: Vec<(Width, ElementKind)>,
}

/// What an address in an instruction is the address of.
#[derive(Clone, Copy, Debug)]
struct Role {
    width: Width,
    element: ElementKind,
    space: FlatSpace,
}

impl Body<'_> {
    /// Widths at which the kernel accesses memory, and as what.
    fn accessed(&self) -> Vec<(Width, ElementKind)> {
        self.given.seen.clone()
    }

    /// Notes that memory is accessed at a width.
    fn note_access(&mut self, width: Width, element: ElementKind) {
        if !self.given.seen.contains(&(width, element)) {
            self.given.seen.push((width, element));
        }
    }

    /// Whether an instruction gives a result, by its row.
    fn has_result(&self, opcode: &Name) -> Result<bool, Box<Diagnostic>> {
        let words = isa::read(&Opcode::new(opcode), self.target()).map_err(Box::new)?;
        Ok(words.form().operands.contains("= …"))
    }

    /// Resolves an instruction by its row; its first error is returned and not reported.
    fn resolve_given(
        &mut self,
        opcode: &Name,
        operands: &[Operand],
        span: Span,
        results: Results<'_>,
    ) -> Result<Vec<Option<RegisterId>>, Box<Diagnostic>> {
        let before = self.n_errors();
        let resolved = self.resolve_instruction(opcode, operands, span, results);
        let mut errors = self.errors_since(before);
        match (resolved, errors.is_empty()) {
            (Ok(registers), true) => Ok(registers),
            (_, false) => Err(Box::new(errors.swap_remove(0))),
            (Err(_), true) => {
                let message = format!("`{}` is not checked by this version", opcode.text);
                Err(Box::new(Diagnostic::new("unsupported::instruction", message, span, "not checked here")))
            }
        }
    }

    /// An operand that is an address.
    pub(in crate::kernel) fn given_address(&mut self, number: usize, span: Span) -> (Address, Width) {
        let (value, role) = &self.given.operands[number];
        let data = Role { width: 8, element: ElementKind::Data, space: FlatSpace::Generic };
        let Role { width, element, space } = role.unwrap_or(data);
        let index = resized(value.clone(), 64);
        self.note_access(width, element);
        let base = AddressBase::Flat { width, element, space };
        (Address { span, base, indices: vec![index], rank: None, device: None }, width)
    }

    /// How wide an operand is by itself.
    pub(in crate::kernel) fn width_given(&self, number: usize) -> Width {
        self.given.operands[number].0.width
    }

    /// An operand that is a value.
    pub(in crate::kernel) fn given_value(&mut self, number: usize, want: Option<Width>) -> Expression {
        let value = self.given.operands[number].0.clone();
        match want {
            // A predicate says that it is one.
            Some(want) if value.width > 1 => resized(value, want),
            _ => value,
        }
    }
}

/// Zero-extended or truncated.
fn resized(value: Expression, width: Width) -> Expression {
    if value.width == width {
        return value;
    }
    let span = value.span;
    let kind = match value.kind {
        ExpressionKind::Constant(constant) => ExpressionKind::Constant(constant & bits::mask(width)),
        _ => ExpressionKind::Convert(Box::new(value)),
    };
    Expression { span, width, kind }
}
