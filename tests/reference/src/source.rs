//! What stands in the text of a kernel and the functions that it may call.

use super::memory::Memory;
use fencepost_dsl::index::{Id, IndexVec};
use fencepost_dsl::kernel::program::{
    AccessOp, Address, AddressBase, AtomicOp, Expression, ExpressionKind, Function, FunctionId,
    InstructionKind, Kernel, MbarrierOp, MbarrierPhase, Statement, StatementKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// A kernel, and the functions of its file.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The functions.
    pub functions: &'a IndexVec<FunctionId, Function>,
}

impl Source<'_> {
    /// Whether something holds of some statement, nested ones included.
    pub fn any(&self, holds: &dyn Fn(&Statement) -> bool) -> bool {
        let bodies = self.functions.iter().map(|function| &function.body).chain([&self.kernel.body]);
        bodies.into_iter().any(|body| any(body, holds))
    }

    /// Whether a part of it may run several times, or is in a function.
    pub fn has_loops(&self) -> bool {
        any(&self.kernel.body, &|statement| match &statement.kind {
            StatementKind::While { .. } | StatementKind::For { .. } | StatementKind::Call { .. } => true,
            StatementKind::Await { prelude, .. } => writes(prelude),
            _ => false,
        })
    }

    /// The constants that stores and atomics may write to each granule.
    pub fn constants(&self, memory: &Memory) -> Vec<BTreeSet<u64>> {
        let found = std::cell::RefCell::new(vec![BTreeSet::new(); memory.initial.len()]);
        let note = |address: &Address, value: &Expression| {
            let (AddressBase::Object(object), ExpressionKind::Constant(value)) = (address.base, &value.kind)
            else {
                return;
            };
            let object = &self.kernel.objects[object];
            let (storage, size) = (object.storage.0, u32::from(object.width) / 8);
            let grain = memory.grain[storage as usize];
            let value = u64::try_from(*value).expect("at most 64 bits");
            let parts = memory.split(storage, value, (size / grain) as usize);
            for (&(_, _, offset), &granule) in memory.granules.iter().filter(|(at, _)| at.0 == storage) {
                let part = (offset.wrapping_sub(object.offset_bytes) % size / grain) as usize;
                found.borrow_mut()[granule].insert(parts[part]);
            }
        };
        self.any(&|statement| {
            if let StatementKind::Instruction(instruction) = &statement.kind {
                match &instruction.kind {
                    InstructionKind::Access(AccessOp::Store { values, address, .. }) => {
                        values.iter().for_each(|v| note(address, v));
                    }
                    InstructionKind::Access(AccessOp::Atomic {
                        op: AtomicOp::Exchange | AtomicOp::CompareAndSwap,
                        operands,
                        address,
                        ..
                    }) => operands.iter().for_each(|operand| note(address, operand)),
                    _ => {}
                }
            }
            false
        });
        found.into_inner()
    }
}

fn any(statements: &[Statement], holds: &dyn Fn(&Statement) -> bool) -> bool {
    statements.iter().any(|statement| {
        holds(statement)
            || match &statement.kind {
                StatementKind::If { then, otherwise, .. } => any(then, holds) || any(otherwise, holds),
                StatementKind::While { prelude, body, .. } => any(prelude, holds) || any(body, holds),
                StatementKind::For { body, .. } => any(body, holds),
                StatementKind::Await { prelude, .. } => any(prelude, holds),
                _ => false,
            }
    })
}

/// Whether the statements may write to memory.
pub fn writes(statements: &[Statement]) -> bool {
    any(statements, &|statement| match &statement.kind {
        StatementKind::Instruction(instruction) => !matches!(
            instruction.kind,
            InstructionKind::Access(AccessOp::Load { .. })
                | InstructionKind::Fence { .. }
                | InstructionKind::Mbarrier(MbarrierOp::Wait(_))
        ),
        StatementKind::Call { .. } => true,
        _ => false,
    })
}

/// The registers whose values matter to something in these statements: not those that only count themselves.
pub fn registers_read(bodies: &[&[Statement]], result: Option<&Expression>) -> BTreeSet<usize> {
    let read = std::cell::RefCell::new(BTreeSet::new());
    let note = |expression: &Expression| note_registers(expression, &mut read.borrow_mut());
    let assigned = std::cell::RefCell::new(BTreeMap::<usize, BTreeSet<usize>>::new());
    result.into_iter().for_each(note);
    let look = |statement: &Statement| {
        match &statement.kind {
            StatementKind::Assign { register, value } => {
                let mut assigned = assigned.borrow_mut();
                note_registers(value, assigned.entry(register.index()).or_default());
            }
            StatementKind::If { condition, .. }
            | StatementKind::While { condition, .. }
            | StatementKind::Await { condition, .. }
            | StatementKind::Assert(condition) => note(condition),
            StatementKind::For { start, end, .. } => [start, end].into_iter().for_each(note),
            StatementKind::Call { values, references, .. } => {
                values.iter().chain(references.iter().flat_map(|address| &address.indices)).for_each(note);
            }
            StatementKind::Instruction(instruction) => operands(&instruction.kind).into_iter().for_each(note),
            _ => {}
        }
        false
    };
    bodies.iter().for_each(|body| {
        any(body, &look);
    });
    let (mut read, assigned) = (read.into_inner(), assigned.into_inner());
    loop {
        let of_read = assigned.iter().filter(|(register, _)| read.contains(register));
        let more: BTreeSet<usize> = of_read.flat_map(|(_, from)| from.iter().copied()).collect();
        if more.is_subset(&read) {
            return read;
        }
        read.extend(more);
    }
}

/// The expressions in an instruction.
fn operands(kind: &InstructionKind) -> Vec<&Expression> {
    let (address, mut operands): (Option<&Address>, Vec<&Expression>) = match kind {
        InstructionKind::Access(AccessOp::Load { address, .. } | AccessOp::Fill { address, .. }) => {
            (Some(address), Vec::new())
        }
        InstructionKind::Access(AccessOp::Store { values, address, .. }) => {
            (Some(address), values.iter().collect())
        }
        InstructionKind::Access(AccessOp::Atomic { operands, address, .. }) => {
            (Some(address), operands.iter().collect())
        }
        InstructionKind::Access(AccessOp::Reduction { operand, address, .. }) => {
            (Some(address), vec![operand])
        }
        InstructionKind::Barrier { id, count, .. } => (None, [id].into_iter().chain(count).collect()),
        InstructionKind::WarpSync { mask } => (None, vec![mask]),
        InstructionKind::Mbarrier(operation) => match operation {
            MbarrierOp::Init { address, count } => (Some(address), vec![count]),
            MbarrierOp::Inval { address } => (Some(address), Vec::new()),
            MbarrierOp::ExpectTx { address, tx, .. } | MbarrierOp::CompleteTx { address, tx, .. } => {
                (Some(address), vec![tx])
            }
            MbarrierOp::Arrive(arrive) => {
                (Some(&arrive.address), [&arrive.count].into_iter().chain(&arrive.expect_tx).collect())
            }
            MbarrierOp::Wait(wait) => {
                let (MbarrierPhase::Parity(phase) | MbarrierPhase::State(phase)) = &wait.phase;
                (Some(&wait.address), vec![phase])
            }
            MbarrierOp::PendingCount { state, .. } => (None, vec![state]),
        },
        // No other instruction is in a loop whose rounds may be equal.
        _ => (None, Vec::new()),
    };
    operands.extend(address.into_iter().flat_map(|address| &address.indices));
    operands
}

fn note_registers(expression: &Expression, registers: &mut BTreeSet<usize>) {
    match &expression.kind {
        ExpressionKind::Register(register) => {
            registers.insert(register.index());
        }
        ExpressionKind::Unary(_, inner) | ExpressionKind::Convert(inner) => note_registers(inner, registers),
        ExpressionKind::Binary(_, left, right) => {
            note_registers(left, registers);
            note_registers(right, registers);
        }
        ExpressionKind::Select(condition, then, otherwise) => {
            for inner in [condition, then, otherwise] {
                note_registers(inner, registers);
            }
        }
        ExpressionKind::Constant(_)
        | ExpressionKind::Coordinate(_)
        | ExpressionKind::Uncomputed { .. }
        | ExpressionKind::FinalValue(_)
        | ExpressionKind::FinalRegister(..) => {}
    }
}
