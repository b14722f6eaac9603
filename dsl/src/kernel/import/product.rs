//! `wgmma.mma_async`: descriptors and registers, and which other instructions touch the registers.
//!
//! Registers that are named together in an operand belong together, a *tuple*: they are computed at once, and it is a tuple
//! that is waited for. Whoever reads or writes one of them does so to the tuple, as far as the rules about it go (AS-25, AS-26).

use super::lower::Lower;
use super::value::Read;
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::{Name, Place};
use crate::kernel::isa::{self, Key};
use crate::kernel::opcode::Opcode;
use crate::kernel::program::{
    AsyncOp, ElementKind, Factor, Instruction as Resolved, InstructionKind, Product, ResolvedOperand,
    TupleId, Width,
};
use crate::ptx::module::{Function, Instruction, Operand, OperandKind};
use crate::sorted::SortedSet;
use rustc_hash::FxHashMap;

/// The width at which matrices are read.
const WORD: Width = 64;
/// Rows of the left matrix.
const ROWS_OF_A: u32 = 64;

/// Registers of matrix operations.
#[derive(Default)]
pub(super) struct Tuples {
    of: FxHashMap<String, TupleId>,
    /// Those that were touched since the last label or matrix operation.
    touched: SortedSet<TupleId>,
}

impl Tuples {
    pub(super) fn of_entry(entry: &Function) -> Self {
        let mut of: FxHashMap<String, TupleId> = FxHashMap::default();
        let mut n_tuples = 0;
        for instruction in entry.instructions().filter(|instruction| is_product(&instruction.opcode.text)) {
            for operand in &instruction.operands {
                let OperandKind::Vector(parts) = &operand.kind else { continue };
                let names: Vec<&String> = parts.iter().filter_map(name_of).collect();
                let known: SortedSet<TupleId> =
                    names.iter().filter_map(|name| of.get(*name).copied()).collect();
                let tuple = known.iter().next().copied().unwrap_or_else(|| {
                    n_tuples += 1;
                    n_tuples - 1
                });
                for other in of.values_mut().filter(|other| known.contains(other)) {
                    *other = tuple;
                }
                of.extend(names.into_iter().map(|name| (name.clone(), tuple)));
            }
        }
        Self { of, touched: SortedSet::new() }
    }

    /// Where paths meet, and where a matrix operation starts or ends, nothing is known to have been touched.
    pub(super) fn forget(&mut self) {
        self.touched = SortedSet::new();
    }

    /// The tuple of a vector of registers.
    fn named(&self, operand: &Operand) -> Option<TupleId> {
        let OperandKind::Vector(parts) = &operand.kind else { return None };
        parts.iter().find_map(|part| self.of.get(name_of(part)?).copied())
    }

    /// All tuples that an instruction names a register of.
    fn all(&self, operands: &[Operand], found: &mut SortedSet<TupleId>) {
        for operand in operands {
            operand.each_name(&mut |name| found.extend(self.of.get(name).copied()));
        }
    }
}

/// Whether an opcode starts a matrix operation of a warpgroup.
pub(super) fn is_product(opcode: &str) -> bool {
    opcode.starts_with("wgmma.mma_async.sync") || opcode == "wgmma.mma_async"
}

fn name_of(operand: &Operand) -> Option<&String> {
    match &operand.kind {
        OperandKind::Name(name) => Some(name),
        _ => None,
    }
}

impl Lower<'_, '_> {
    /// Before an instruction that reads or writes registers of matrix operations: says so.
    pub(super) fn touch(&mut self, instruction: &Instruction) {
        if self.tuples.of.is_empty() {
            return;
        }
        let opcode = &instruction.opcode.text;
        if is_product(opcode) || opcode.starts_with("wgmma.") {
            self.tuples.forget();
            return;
        }
        let mut tuples = SortedSet::new();
        self.tuples.all(&instruction.operands, &mut tuples);
        let new: Vec<TupleId> =
            tuples.iter().copied().filter(|tuple| !self.tuples.touched.contains(tuple)).collect();
        if new.is_empty() {
            return;
        }
        // What a guard leaves out is not touched.
        if instruction.guard.is_none() {
            self.tuples.touched.extend(new.iter().copied());
        }
        self.push_async(instruction, AsyncOp::Touch(new), Vec::new());
    }

    /// `{d, …}, {a, …} or a-desc, b-desc, scale-d, …`
    pub(super) fn product(&mut self, instruction: &Instruction, words: &[&str]) -> Read<()> {
        let span = instruction.span;
        let wrong = |message: String| {
            Box::new(Diagnostic::new("syntax::ptx", message, span, "its operands are others"))
        };
        let name = Name { text: instruction.opcode.text.clone(), place: Place(instruction.opcode.span) };
        let read = isa::read(&Opcode::new(&name), self.body.target()).map_err(Box::new)?;
        let shape = read.of(Key::Shape);
        let columns = shape.trim_start_matches("m64n").split('k').next().and_then(|n| n.parse().ok());
        let [results, a, b, rest @ ..] = instruction.operands.as_slice() else {
            return Err(wrong(format!("`{}` has too few operands", instruction.opcode.text)));
        };
        let OperandKind::Vector(registers) = &results.kind else {
            return Err(wrong("the first operand of `wgmma.mma_async` is a vector of registers".to_owned()));
        };
        let accumulator = self.tuples.named(results);
        let (Some(accumulator), Some(columns)) = (accumulator, columns) else {
            return Err(wrong("the first operand of `wgmma.mma_async` is a vector of registers".to_owned()));
        };
        // Behind scale-d and the signs of A and B: whether those in shared memory are transposed.
        let is_set = |number: usize| matches!(rest.get(number), Some(Operand { kind: OperandKind::Integer(value), .. }) if *value != 0);
        let has_a = self.tuples.named(a);
        let first = 3;
        let (a_is_transposed, b_is_transposed) = match has_a {
            Some(_) => (false, is_set(first)),
            None => (is_set(first), is_set(first + 1)),
        };
        self.body.note_access(WORD, ElementKind::Data);
        let mut values = Vec::new();
        let mut described =
            |this: &mut Self, operand: &Operand, rows: u32, is_transposed: bool| -> Read<Factor> {
                let descriptor = this.value(operand, 64)?;
                values.push(ResolvedOperand::Value(descriptor.clone()));
                Ok(Factor::Described { descriptor, rows, is_transposed })
            };
        let a = match has_a {
            Some(tuple) => Factor::Registers(tuple),
            None => described(self, a, ROWS_OF_A, a_is_transposed)?,
        };
        let b = described(self, b, columns, b_is_transposed)?;
        self.push_async(instruction, AsyncOp::Product(Product { shape, accumulator, a, b }), values);
        let by = words.join(".");
        for register in registers {
            let width = self.width_of(register);
            let value = Self::unknown(&by, width, Vec::new(), register.span);
            self.assign(register, value, false)?;
        }
        Ok(())
    }

    fn push_async(&mut self, instruction: &Instruction, operation: AsyncOp, operands: Vec<ResolvedOperand>) {
        let kind: InstructionKind = operation.into();
        // Whatever touches the registers of matrix operations acts, even if it only computes.
        let form = isa::form_of("wgmma.mma_async").unwrap_or_else(|| isa::litmus_form(&kind));
        let opcode = (instruction.opcode.text.clone(), instruction.opcode.span);
        let kind = Resolved::statement(opcode, form, kind, (Vec::new(), operands));
        self.body.push(instruction.span, kind);
    }
}
