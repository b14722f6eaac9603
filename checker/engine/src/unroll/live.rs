//! Which assignments matter: those of registers that something but their own computation reads.
//!
//! A loop that counts its rounds, and never looks at the count, is a wait like any other, so what nobody reads is not
//! computed; nor is an `if` decided that does nothing but assign such registers, like the one that limits a pause.
//!
//! Sound: an assignment has no effect but on its register, and no value that a condition, address, stored value or other
//! operand is made of comes from a register left out, but for the conditions of what is left out as well and for how long
//! a thread sleeps.

use fencepost_dsl::kernel::program::{
    Address, Expression, ExpressionKind, Instruction, InstructionKind, Kernel, Program, RegisterId,
    ResolvedOperand, Statement, StatementKind,
};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashSet;

/// The assignments that nothing depends on, and the `if`s with nothing else in them, by their place in memory.
pub fn idle_assignments(program: &Program, entry: &Kernel) -> FxHashSet<usize> {
    let mut idle = FxHashSet::default();
    for kernel in program.parts.iter().chain([entry]) {
        let mut uses = Uses::default();
        if let Some(goal) = &kernel.condition {
            uses.expression(&goal.condition);
            goal.filter.iter().for_each(|filter| uses.expression(filter));
        }
        kernel.finals.iter().for_each(|goal| uses.expression(&goal.condition));
        uses.find_idle(&kernel.body, &mut idle);
    }
    for function in program.functions.iter() {
        let mut uses = Uses::default();
        function.result.iter().for_each(|result| uses.expression(result));
        uses.find_idle(&function.body, &mut idle);
    }
    idle
}

/// The registers that an expression reads.
pub fn registers_of(expression: &Expression) -> SortedSet<RegisterId> {
    let mut uses = Uses::default();
    uses.expression(expression);
    uses.read
}

/// What reads which registers of a body.
#[derive(Default)]
struct Uses<'p> {
    read: SortedSet<RegisterId>,
    assigned: Vec<(&'p Statement, RegisterId, &'p Expression)>,
    /// Each `if` that does nothing but assign registers, with those.
    choices: Vec<(&'p Statement, SortedSet<RegisterId>, &'p Expression)>,
    /// An instruction whose operands are not looked at may read any register.
    reads_anything: bool,
}

impl<'p> Uses<'p> {
    fn find_idle(mut self, body: &'p [Statement], idle: &mut FxHashSet<usize>) {
        self.statements(body);
        if self.reads_anything {
            return;
        }
        let mut pending = std::mem::take(&mut self.assigned);
        let mut choices = std::mem::take(&mut self.choices);
        loop {
            let (live, rest): (Vec<_>, Vec<_>) =
                pending.into_iter().partition(|(_, register, _)| self.read.contains(register));
            let (decided, undecided): (Vec<_>, Vec<_>) =
                choices.into_iter().partition(|(_, registers, _)| !self.read.is_disjoint(registers));
            (pending, choices) = (rest, undecided);
            if live.is_empty() && decided.is_empty() {
                break;
            }
            live.into_iter().for_each(|(_, _, value)| self.expression(value));
            decided.into_iter().for_each(|(_, _, condition)| self.expression(condition));
        }
        idle.extend(choices.iter().map(|&(statement, ..)| place_of(statement)));
        idle.extend(pending.iter().map(|&(statement, ..)| place_of(statement)));
    }

    fn statements(&mut self, statements: &'p [Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Assign { register, value } => {
                    self.assigned.push((statement, *register, value));
                }
                StatementKind::Instruction(instruction) => self.instruction(instruction),
                StatementKind::If { condition, then, otherwise } => {
                    let mut registers = SortedSet::new();
                    if only_assigns(then, &mut registers) && only_assigns(otherwise, &mut registers) {
                        self.choices.push((statement, registers, condition));
                    } else {
                        self.expression(condition);
                    }
                    self.statements(then);
                    self.statements(otherwise);
                }
                StatementKind::For { start, end, body, .. } => {
                    self.expression(start);
                    self.expression(end);
                    self.statements(body);
                }
                StatementKind::While { prelude, condition, body, .. } => {
                    self.expression(condition);
                    self.statements(prelude);
                    self.statements(body);
                }
                StatementKind::Await { prelude, condition, .. } => {
                    self.expression(condition);
                    self.statements(prelude);
                }
                StatementKind::Call { values, references, .. } => {
                    values.iter().for_each(|value| self.expression(value));
                    references.iter().for_each(|address| self.address(address));
                }
                StatementKind::Assert(condition)
                | StatementKind::Assume(condition)
                | StatementKind::Reachable(condition) => self.expression(condition),
                StatementKind::Host(_) => self.reads_anything = true,
                StatementKind::Break | StatementKind::Exit => {}
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        // How long a thread sleeps is nothing that anybody sees: a wait that backs off is a wait.
        if matches!(instruction.kind, InstructionKind::Hint { address: None, .. }) {
            return;
        }
        // What an operation that goes on by itself reads may be read at any time.
        self.reads_anything |= matches!(instruction.kind, InstructionKind::Async(_));
        for operand in &instruction.operands {
            match operand {
                ResolvedOperand::Memory(address) | ResolvedOperand::Registers(address) => {
                    self.address(address)
                }
                ResolvedOperand::Value(value) => self.expression(value),
            }
        }
    }

    fn address(&mut self, address: &Address) {
        let parts = address.indices.iter().chain(address.rank.as_deref()).chain(address.device.as_deref());
        parts.for_each(|part| self.expression(part));
    }

    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Register(register) | ExpressionKind::FinalRegister(_, register) => {
                self.read.insert(*register);
            }
            ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => self.expression(operand),
            ExpressionKind::Binary(_, left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExpressionKind::Select(condition, then, otherwise) => {
                [condition, then, otherwise].into_iter().for_each(|part| self.expression(part));
            }
            ExpressionKind::FinalValue(address) => self.address(address),
            ExpressionKind::Constant(_) | ExpressionKind::Coordinate(_) => {}
        }
    }
}

/// Whether statements do nothing but assign registers, and which.
fn only_assigns(statements: &[Statement], registers: &mut SortedSet<RegisterId>) -> bool {
    statements.iter().all(|statement| match &statement.kind {
        StatementKind::Assign { register, .. } => {
            registers.insert(*register);
            true
        }
        StatementKind::If { then, otherwise, .. } => {
            only_assigns(then, registers) && only_assigns(otherwise, registers)
        }
        _ => false,
    })
}

/// What tells a statement of a program from all others.
pub fn place_of(statement: &Statement) -> usize {
    std::ptr::from_ref(statement).addr()
}
