//! `import`: a kernel of a PTX module, with what the kernel file says of its launch.
//!
//! ```text
//!  harness ── harness ──> launches, parameters, memory ──┐
//!  module  ── lower ────> registers, labels, statements ─┴─> Kernel
//!               ├─ compute   what integers make of integers, as expressions
//!               ├─ value     operands and special registers
//!               └─ access    whatever acts on memory or threads, by the rows of `isa`
//! ```
//! Integers are computed, so an address is a number, and what it is the address of is found when the kernel is run
//! ([`FlatMemory`](super::program::FlatMemory)). What is not computed, such as floating-point numbers, is unknown. An
//! instruction that this version does not check is an error only where a thread comes to it.

mod access;
mod bits;
mod compute;
mod harness;
mod lower;
mod value;

use super::ast::{Name, Operand};
use super::isa;
use super::opcode::Opcode;
use super::program::flat::FlatSpace;
use super::program::{Address, AddressBase, ElementKind, Expression, ExpressionKind, RegisterId, Width};
use super::resolve::Body;
use super::resolve::instruction::Results;
use crate::diagnostic::Diagnostic;
use crate::sorted::SortedSet;
use crate::span::Span;

/// The operands of an instruction, on their way through the rows.
#[derive(Debug)]
pub(in crate::kernel) struct Given {
    /// Values, and generic addresses of 64 bits.
    values: Vec<Expression>,
    /// How wide what its addresses name is.
    width: Width,
    /// The state space that the opcode names.
    space: FlatSpace,
    /// What is there.
    pub(in crate::kernel) element: ElementKind,
    /// Widths at which anything has been accessed so far.
    widths: SortedSet<Width>,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            width: 32,
            space: FlatSpace::Generic,
            element: ElementKind::Data,
            widths: SortedSet::new(),
        }
    }
}

impl Body<'_> {
    /// Widths at which the kernel accesses memory.
    fn accessed_widths(&self) -> Vec<Width> {
        self.given.widths.iter().copied().collect()
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
        let Given { width, space, .. } = self.given;
        self.given.widths.insert(width);
        let index = resized(self.given.values[number].clone(), 64);
        let base = AddressBase::Flat { width, space };
        (Address { span, base, indices: vec![index], rank: None, device: None }, width)
    }

    /// How wide an operand is by itself.
    pub(in crate::kernel) fn width_given(&self, number: usize) -> Width {
        self.given.values[number].width
    }

    /// An operand that is a value.
    pub(in crate::kernel) fn given_value(&mut self, number: usize, want: Option<Width>) -> Expression {
        let value = self.given.values[number].clone();
        let own = value.width;
        resized(value, want.unwrap_or(own))
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
