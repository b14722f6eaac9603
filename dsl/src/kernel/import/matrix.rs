//! Matrix instructions of a whole warp: `ldmatrix` and `stmatrix` move rows of 16 bytes, one by each of the first lanes; what
//! comes into whose registers, and what `mma` makes of it, is not computed.

use super::bits::At;
use super::lower::Lower;
use super::value::Read;
use crate::diagnostic::Diagnostic;
use crate::kernel::program::flat::FlatSpace;
use crate::kernel::program::{
    AccessOp, Address, AddressBase, BinaryOp, Coordinate, ElementKind, Expression, ExpressionKind,
    RegisterId, ResolvedOperand, Statement, StatementKind, Width,
};
use crate::ptx::module::{Instruction, Operand, OperandKind};
use crate::vocabulary::{Scope, Sem};

/// Bits of an element of a row, of which there are four.
const WORD: Width = 32;

impl Lower<'_, '_> {
    /// Whether a matrix instruction is one of those that are understood.
    pub(super) fn is_matrix(words: &[&str]) -> bool {
        match words {
            ["mma" | "movmatrix", ..] => true,
            ["ldmatrix" | "stmatrix", rest @ ..] => {
                rest.contains(&"m8n8") && rest.contains(&"b16") && rows(words).is_some()
            }
            _ => false,
        }
    }

    /// A matrix instruction.
    pub(super) fn matrix(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let (first, others) = match instruction.operands.as_slice() {
            [first, others @ ..] if !others.is_empty() => (first, others),
            _ => {
                let message = format!("`{}` has too few operands", instruction.opcode.text);
                let label = "an operand is missing";
                return Err(Box::new(Diagnostic::new("syntax::ptx", message, instruction.span, label)));
            }
        };
        match words[0] {
            "ldmatrix" => {
                let of = self.row(instruction, words, &others[0], None)?;
                self.any_of(instruction, first, of)
            }
            "stmatrix" => {
                let values = self.sources(others)?;
                let by = &instruction.opcode.text;
                let row = (0..4).map(|_| Self::unknown(by, WORD, values.clone(), instruction.span)).collect();
                self.row(instruction, words, first, Some(row))?;
                Ok(())
            }
            _ => {
                let of = self.sources(others)?;
                self.any_of(instruction, first, of)
            }
        }
    }

    /// All values in operands.
    fn sources(&mut self, operands: &[Operand]) -> Read<Vec<Expression>> {
        let mut values = Vec::new();
        for operand in operands.iter().flat_map(parts) {
            if !matches!(operand.kind, OperandKind::Integer(_) | OperandKind::Float(..)) {
                values.push(self.natural(operand, WORD)?);
            }
        }
        Ok(values)
    }

    /// Gives results values that are made of some others, nobody knows how.
    fn any_of(&mut self, instruction: &Instruction, results: &Operand, of: Vec<Expression>) -> Read<()> {
        let by = &instruction.opcode.text;
        // A result may be an operand, too.
        let mut assigned = Vec::new();
        for result in parts(results) {
            let width = self.width_of(result);
            let value = Self::unknown(by, width, of.clone(), instruction.span);
            let register = self.body.generate(width);
            self.push_assign(register, value, result.span);
            assigned.push((result, register));
        }
        for (result, register) in assigned {
            self.assign(result, self.register_value(register, result.span), false)?;
        }
        Ok(())
    }

    /// The access to a row of 16 bytes, by the lanes that have one; what a load returns.
    fn row(
        &mut self,
        instruction: &Instruction,
        words: &[&str],
        memory: &Operand,
        values: Option<Vec<Expression>>,
    ) -> Read<Vec<Expression>> {
        let span = instruction.span;
        let index = self.address(memory, words)?;
        let (element, space) = (ElementKind::Data, FlatSpace::Shared);
        self.body.note_access(WORD, element);
        let base = AddressBase::Flat { width: WORD, element, space };
        let address = Address { span: memory.span, base, indices: vec![index], rank: None, device: None };
        let mut operands = vec![ResolvedOperand::Memory(address.clone())];
        let (sem, scope) = (Sem::Weak, Scope::Cta);
        let (registers, kind): (Vec<Option<RegisterId>>, _) = match values {
            Some(values) => {
                operands.extend(values.iter().cloned().map(ResolvedOperand::Value));
                (Vec::new(), AccessOp::Store { values, address, sem, scope })
            }
            None => {
                let registers: Vec<_> = (0..4).map(|_| Some(self.body.generate(WORD))).collect();
                for &register in registers.iter().flatten() {
                    self.push_assign(register, At(span).constant(0, WORD), span);
                }
                let destinations = registers.clone();
                (registers, AccessOp::Load { destinations, address, sem, scope, non_coherent: false })
            }
        };
        let loaded =
            registers.iter().flatten().map(|&register| self.register_value(register, span)).collect();
        let (statements, ()) =
            self.collect(|this| this.push_access(instruction, kind, (registers, operands)));
        let lane = Expression { span, width: 32, kind: ExpressionKind::Coordinate(Coordinate::Laneid) };
        let limit = At(span).constant(u128::from(rows(words).unwrap_or(32)), 32);
        let condition = At(span).binary(BinaryOp::Less, lane, limit);
        let kind = StatementKind::If { condition, then: statements, otherwise: Vec::new() };
        self.body.out.push(Statement { span, kind });
        Ok(loaded)
    }
}

/// How many lanes have a row.
fn rows(words: &[&str]) -> Option<u32> {
    words.iter().find_map(|word| match *word {
        "x1" => Some(8),
        "x2" => Some(16),
        "x4" => Some(32),
        _ => None,
    })
}

/// The elements of a vector, or one.
fn parts(operand: &Operand) -> &[Operand] {
    match &operand.kind {
        OperandKind::Vector(elements) => elements,
        _ => std::slice::from_ref(operand),
    }
}
