//! What a run does only because of what it has read, behind the places where ways meet again.
//!
//! Behind a way that may never lead on, everything depends on the reads by which the way that was taken was decided. Which
//! ways these are is a matter of the text: barriers, and loops that read strongly in each round and that no counter ends.

use super::Interpreter;
use crate::expression::{Registers, evaluate, is_known};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    AccessOp, BarrierKind, BinaryOp, Expression, ExpressionKind, InstructionKind, MbarrierOp, RegisterId,
    Statement, StatementKind,
};
use fencepost_dsl::vocabulary::Sem;
use std::collections::BTreeSet;

impl Interpreter<'_> {
    /// Whether the thread may stay in one of the statements for ever.
    pub(super) fn may_never_pass(&self, statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StatementKind::Instruction(instruction) => match &instruction.kind {
                InstructionKind::Barrier { kind, .. } => !matches!(kind, BarrierKind::Arrive),
                InstructionKind::WarpSync { .. } | InstructionKind::ClusterWait { .. } => true,
                _ => false,
            },
            StatementKind::If { condition, then, otherwise } => {
                self.ways(condition, then, otherwise).iter().any(|way| self.may_never_pass(way))
            }
            StatementKind::For { body, .. } => self.may_never_pass(body),
            StatementKind::Call { function, .. } => {
                self.may_never_pass(&self.source.functions[*function].body)
            }
            StatementKind::Await { prelude, condition, .. } => self.is_spin(prelude, condition, &[]),
            StatementKind::While { prelude, condition, body, .. } => {
                self.is_spin(prelude, condition, body)
                    || self.may_never_pass(prelude)
                    || self.may_never_pass(body)
            }
            _ => false,
        })
    }

    /// Whether a thread may go round a loop for ever, and notes what others do in each round.
    pub(super) fn is_spin(&self, prelude: &[Statement], condition: &Expression, body: &[Statement]) -> bool {
        (self.notes_others(prelude) || self.notes_others(body)) && !is_counted(prelude, condition, body)
    }

    /// The ways that the thread may take at a branch.
    fn ways<'s>(
        &self,
        condition: &Expression,
        then: &'s [Statement],
        otherwise: &'s [Statement],
    ) -> Vec<&'s [Statement]> {
        if !is_known(condition) {
            return vec![then, otherwise];
        }
        let is_taken = evaluate(condition, &Registers::new(), self.thread).value == 1;
        vec![if is_taken { then } else { otherwise }]
    }

    /// Whether whoever comes to the end of these statements has read strongly, or come through something that blocks.
    fn notes_others(&self, statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StatementKind::Instruction(instruction) => match &instruction.kind {
                InstructionKind::Access(AccessOp::Load { sem, .. }) => *sem != Sem::Weak,
                InstructionKind::Access(AccessOp::Atomic { .. } | AccessOp::Reduction { .. })
                | InstructionKind::Mbarrier(MbarrierOp::Wait(_))
                | InstructionKind::ClusterWait { .. } => true,
                InstructionKind::Barrier { kind, .. } => !matches!(kind, BarrierKind::Arrive),
                _ => false,
            },
            StatementKind::If { condition, then, otherwise } => self
                .ways(condition, then, otherwise)
                .iter()
                .all(|way| leaves_anyway(way) || self.notes_others(way)),
            StatementKind::For { start, end, body, .. } => {
                let bound = |bound: &Expression| {
                    is_known(bound).then(|| evaluate(bound, &Registers::new(), self.thread).value)
                };
                bound(start).zip(bound(end)).is_some_and(|(start, end)| start < end)
                    && self.notes_others(body)
            }
            StatementKind::Call { function, .. } => self.notes_others(&self.source.functions[*function].body),
            StatementKind::Await { prelude, .. } | StatementKind::While { prelude, .. } => {
                self.notes_others(prelude)
            }
            _ => false,
        })
    }

    /// The thread has left a loop by these reads. That it comes to its end they decide in any case; what it does on the way
    /// only if it could have gone round for ever, or stood in a round.
    pub(super) fn leave_by(&mut self, reads: &BTreeSet<usize>, may_stay: bool) {
        for &read in reads {
            self.events[read].decides = true;
        }
        if may_stay {
            self.depend_on(reads);
        }
    }

    /// Something has been passed that these reads decided.
    pub(super) fn depend_on(&mut self, reads: &BTreeSet<usize>) {
        self.past.extend(reads);
    }

    /// What a register holds that one of two ways sets depends on which way it was, unless it is the constant that
    /// it was before.
    pub(super) fn choose_registers(
        &mut self,
        [taken, other]: [&[Statement]; 2],
        before: &Registers,
        reads: &BTreeSet<usize>,
    ) {
        let (mut set, mut set_elsewhere) = (Vec::new(), Vec::new());
        assigned(taken, &mut set);
        assigned(other, &mut set_elsewhere);
        for register in set.iter().chain(&set_elsewhere) {
            let Some(datum) = self.registers.get_mut(&register.index()) else { continue };
            let is_as_before = before
                .get(&register.index())
                .is_some_and(|before| before.value == datum.value && before.reads == datum.reads);
            if !is_as_before || set_elsewhere.contains(register) {
                datum.reads.extend(reads);
            }
        }
    }

    /// Whether a way of a branch need not lead behind it.
    pub(super) fn any_may_never_pass(&self, ways: [&[Statement]; 2]) -> bool {
        ways.iter().any(|way| self.may_never_pass(way))
    }
}

/// Whether nobody comes to the end of these statements.
fn leaves_anyway(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| matches!(statement.kind, StatementKind::Break | StatementKind::Exit))
}

/// Whether a register that each round raises by a constant ends the loop: its condition compares it with a constant, or a
/// branch does that leaves.
fn is_counted(prelude: &[Statement], condition: &Expression, body: &[Statement]) -> bool {
    let round: Vec<&Statement> = prelude.iter().chain(body).collect();
    let mut counters: Vec<RegisterId> = Vec::new();
    let mut others: Vec<RegisterId> = Vec::new();
    for statement in &round {
        match &statement.kind {
            StatementKind::Assign { register, value } if raises(*register, value) => {
                // One that is raised twice is none that this knows.
                let list = if counters.contains(register) { &mut others } else { &mut counters };
                list.push(*register);
            }
            _ => assigned(std::slice::from_ref(statement), &mut others),
        }
    }
    counters.retain(|register| !others.contains(register));
    let compares = |expression: &Expression| any_comparison(expression, &counters);
    compares(condition)
        || round.iter().any(|statement| match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                compares(condition) && (leaves_anyway(then) || leaves_anyway(otherwise))
            }
            _ => false,
        })
}

fn raises(register: RegisterId, value: &Expression) -> bool {
    let ExpressionKind::Binary(BinaryOp::Add, a, b) = &value.kind else { return false };
    matches!(a.kind, ExpressionKind::Register(own) if own == register)
        && matches!(b.kind, ExpressionKind::Constant(step) if step > 0)
}

/// Whether a conjunct or disjunct of a condition compares one of these registers with a constant. That it is the right one
/// of both is for the kernels that are made up to see to.
fn any_comparison(expression: &Expression, counters: &[RegisterId]) -> bool {
    let is_counter = |operand: &Expression| matches!(operand.kind, ExpressionKind::Register(own) if counters.contains(&own));
    match &expression.kind {
        ExpressionKind::Binary(
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
            a,
            b,
        ) => (is_counter(a) && is_known(b)) || (is_counter(b) && is_known(a)),
        ExpressionKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            any_comparison(a, counters) || any_comparison(b, counters)
        }
        ExpressionKind::Unary(_, inner) | ExpressionKind::Convert(inner) => any_comparison(inner, counters),
        _ => false,
    }
}

fn assigned(statements: &[Statement], registers: &mut Vec<RegisterId>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Assign { register, .. } => registers.push(*register),
            StatementKind::Instruction(instruction) => {
                registers.extend(instruction.results.iter().flatten());
            }
            StatementKind::Call { result, .. } => registers.extend(*result),
            StatementKind::If { then, otherwise, .. } => {
                assigned(then, registers);
                assigned(otherwise, registers);
            }
            StatementKind::While { prelude, body, .. } => {
                assigned(prelude, registers);
                assigned(body, registers);
            }
            StatementKind::For { register, body, .. } => {
                registers.push(*register);
                assigned(body, registers);
            }
            StatementKind::Await { prelude, .. } => assigned(prelude, registers),
            _ => {}
        }
    }
}
