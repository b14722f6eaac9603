//! Which registers matter where: what something behind a place still reads.
//!
//! A loop that counts its rounds, and never looks at the count, is a wait like any other, so what nobody reads is not
//! computed; nor is an `if` decided that does nothing but assign such registers, like the one that limits a pause. And of a
//! loop it is told which registers take something from one round into the next, and which are read behind it.
//!
//! An assignment reads what it computes from only if its own register is read later: a count that only counts itself takes
//! nothing anywhere.
//!
//! Sound: an assignment has no effect but on its register, and no value that a condition, address, stored value or other
//! operand is made of comes from a register left out, but for the conditions of what is left out as well and for how long
//! a thread sleeps.
//!
//! Needs: nothing. No dependency gets lost but of what is left out itself.

use super::loops::turn_of;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, Expression, ExpressionKind, FlatMemory, FlatSpace, Instruction, InstructionKind,
    Kernel, LoopId, Private, Program, RegisterId, ResolvedOperand, Statement, StatementKind, any_statement,
};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known of a program's registers.
#[derive(Debug, Default)]
pub struct Live {
    /// Assignments that nothing depends on, and `if`s with nothing else in them, by their place in memory.
    idle: FxHashSet<usize>,
    loops: FxHashMap<LoopId, LoopRegisters>,
    /// Those of the kernel that may be read before they are assigned.
    at_start: SortedSet<RegisterId>,
}

/// The registers that a `while`, `loop` or `await` is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopRegisters {
    /// Those that a round may read before it has set them, to decide something within the rounds: a branch, an address, a
    /// stored value.
    pub carried: SortedSet<RegisterId>,
    /// The same where a round is the body and then the test.
    pub carried_past_test: SortedSet<RegisterId>,
    /// Those that something reads once the loop is left.
    pub after: SortedSet<RegisterId>,
    /// Those that a round begins with of which something is still made: what decides something in a round, or another register
    /// that is read once the loop is left.
    pub kept: SortedSet<RegisterId>,
    /// The same where a round is the body and then the test.
    pub kept_past_test: SortedSet<RegisterId>,
}

impl Live {
    /// Looks at a kernel, the parts that it launches and the functions of its program.
    pub fn new(program: &Program, entry: &Kernel) -> Self {
        let mut live = Self::default();
        for kernel in program.parts.iter().chain([entry]) {
            let mut end = Registers::new();
            if let Some(goal) = &kernel.condition {
                read(&goal.condition, &mut end);
                goal.filter.iter().for_each(|filter| read(filter, &mut end));
            }
            kernel.finals.iter().for_each(|goal| read(&goal.condition, &mut end));
            let private = kernel.flat.as_ref().map_or_else(Registers::new, |flat| private_registers(flat));
            live.at_start = live.look_at(&kernel.body, end, &private);
        }
        for function in program.functions.iter() {
            let mut end = Registers::new();
            function.result.iter().for_each(|result| read(result, &mut end));
            live.look_at(&function.body, end, &Registers::new());
        }
        live
    }

    /// Whether nothing depends on what a statement does.
    pub fn is_idle(&self, statement: &Statement) -> bool {
        self.idle.contains(&place_of(statement))
    }

    /// The registers of a loop; `None` where any may matter.
    pub fn of_loop(&self, id: LoopId) -> Option<&LoopRegisters> {
        self.loops.get(&id)
    }

    /// Whether a register of the kernel may be read before it is assigned.
    pub fn may_be_unassigned(&self, register: RegisterId) -> bool {
        self.at_start.contains(&register)
    }

    /// Looks at a body; returns what may be read in it before it is assigned.
    fn look_at(&mut self, body: &[Statement], end: Registers, private: &Registers) -> Registers {
        // What the host's calls read is not looked at.
        if any_host(body) {
            return Registers::new();
        }
        let mut walk = Walk::new(end.clone(), private, Some(&mut self.loops));
        let at_start = walk.before(body, end);
        let (needed, seen) = (walk.needed, walk.seen);
        self.idle.extend(seen.difference(&needed));
        at_start
    }
}

type Registers = SortedSet<RegisterId>;

/// A walk against the order of execution.
///
/// Loops are walked until what their rounds read stays the same. These sets only grow, so what is needed once is needed.
struct Walk<'l> {
    /// What is read where the thread ends.
    exit: Registers,
    /// Assignments and `if`s that something depends on.
    needed: FxHashSet<usize>,
    /// All of them.
    seen: FxHashSet<usize>,
    /// Where the registers of loops are noted, unless it is one loop that is looked at.
    loops: Option<&'l mut FxHashMap<LoopId, LoopRegisters>>,
    /// What is read behind each loop around.
    breaks: Vec<Registers>,
    /// Bytes of the thread, any of which an address that is a number may be that of.
    private: &'l Registers,
}

impl<'l> Walk<'l> {
    fn new(
        exit: Registers,
        private: &'l Registers,
        loops: Option<&'l mut FxHashMap<LoopId, LoopRegisters>>,
    ) -> Self {
        let (needed, seen) = (FxHashSet::default(), FxHashSet::default());
        Self { exit, needed, seen, loops, breaks: Vec::new(), private }
    }

    /// What is read from the start of some statements on, if `after` is read behind them.
    fn before(&mut self, statements: &[Statement], after: Registers) -> Registers {
        statements.iter().rev().fold(after, |after, statement| self.before_one(statement, after))
    }

    fn before_one(&mut self, statement: &Statement, mut after: Registers) -> Registers {
        match &statement.kind {
            StatementKind::Assign { register, value } => {
                self.seen.insert(place_of(statement));
                if after.remove(register) {
                    self.needed.insert(place_of(statement));
                    read(value, &mut after);
                }
                after
            }
            StatementKind::Instruction(instruction) => {
                for register in instruction.results.iter().flatten() {
                    after.remove(register);
                }
                read_by(instruction, &mut after);
                if !self.private.is_empty() && may_be_private(instruction) {
                    after.extend(self.private.iter().copied());
                }
                after
            }
            StatementKind::If { condition, then, otherwise } => {
                self.seen.insert(place_of(statement));
                let mut before = self.before(then, after.clone());
                before.extend(self.before(otherwise, after));
                if self.does_something(then) || self.does_something(otherwise) {
                    self.needed.insert(place_of(statement));
                    read(condition, &mut before);
                }
                before
            }
            StatementKind::For { register, start, end, body, .. } => {
                self.breaks.push(after.clone());
                let mut head = after;
                loop {
                    let mut before = self.before(body, head.clone());
                    before.remove(register);
                    let n_before = head.len();
                    head.extend(before);
                    if head.len() == n_before {
                        break;
                    }
                }
                self.breaks.pop();
                [start, end].into_iter().for_each(|bound| read(bound, &mut head));
                head
            }
            StatementKind::While { id, prelude, condition, body } => {
                self.before_loop(*id, (prelude, condition, body), after)
            }
            StatementKind::Await { id, prelude, condition } => {
                self.before_loop(*id, (prelude, condition, &[]), after)
            }
            StatementKind::Call { values, references, result, .. } => {
                if let Some(register) = result {
                    after.remove(register);
                }
                values.iter().for_each(|value| read(value, &mut after));
                references.iter().for_each(|address| read_of(address, &mut after));
                after
            }
            StatementKind::Assert(condition)
            | StatementKind::Assume(condition)
            | StatementKind::Reachable(condition) => {
                read(condition, &mut after);
                after
            }
            StatementKind::Break => self.breaks.last().cloned().unwrap_or_default(),
            StatementKind::Exit => self.exit.clone(),
            StatementKind::Host(_) | StatementKind::Unsupported(_) => after,
        }
    }

    fn before_loop(
        &mut self,
        id: LoopId,
        shape: (&[Statement], &Expression, &[Statement]),
        after: Registers,
    ) -> Registers {
        let (past_test, head) = self.ends_of_round(shape, &after);
        if self.loops.is_some() {
            let mut inside = Walk::new(Registers::new(), self.private, None);
            let (carried_past_test, carried) = inside.ends_of_round(shape, &Registers::new());
            if let Some(loops) = &mut self.loops {
                let registers = loops.entry(id).or_default();
                registers.carried.extend(carried);
                registers.carried_past_test.extend(carried_past_test);
                registers.after.extend(after);
                registers.kept.extend(head.iter().copied());
                registers.kept_past_test.extend(past_test);
            }
        }
        head
    }

    /// What is read from where a round begins on if the test comes last in it, and if it comes first.
    fn ends_of_round(
        &mut self,
        shape: (&[Statement], &Expression, &[Statement]),
        after: &Registers,
    ) -> (Registers, Registers) {
        let (mut past_test, head) = self.round(shape, after);
        if let (ExpressionKind::Constant(1), Some(turn)) = (&shape.1.kind, turn_of(shape.2)) {
            self.breaks.push(after.clone());
            past_test = self.before(&shape.2[turn..], head.clone());
            self.breaks.pop();
        }
        (past_test, head)
    }

    /// What is read from the place behind the test of a loop on, where it goes round, and from its head on.
    fn round(
        &mut self,
        (prelude, condition, body): (&[Statement], &Expression, &[Statement]),
        after: &Registers,
    ) -> (Registers, Registers) {
        self.breaks.push(after.clone());
        let mut head = Registers::new();
        loop {
            let past_test = self.before(body, head.clone());
            let mut test = past_test.clone();
            test.extend(after.iter().copied());
            read(condition, &mut test);
            let before = self.before(prelude, test);
            let n_before = head.len();
            head.extend(before);
            if head.len() == n_before {
                self.breaks.pop();
                return (past_test, head);
            }
        }
    }

    /// Whether statements do more than assign registers that nothing reads.
    fn does_something(&self, statements: &[Statement]) -> bool {
        statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { .. } | StatementKind::If { .. } => {
                self.needed.contains(&place_of(statement))
            }
            _ => true,
        })
    }
}

/// The registers that an expression reads.
pub fn registers_of(expression: &Expression) -> SortedSet<RegisterId> {
    let mut registers = Registers::new();
    read(expression, &mut registers);
    registers
}

fn read_by(instruction: &Instruction, registers: &mut Registers) {
    // How long a thread sleeps is nothing that anybody sees: a wait that backs off is a wait.
    if matches!(instruction.kind, InstructionKind::Hint { address: None, .. }) {
        return;
    }
    for operand in &instruction.operands {
        match operand {
            ResolvedOperand::Memory(address) | ResolvedOperand::Registers(address) => {
                read_of(address, registers);
            }
            ResolvedOperand::Value(value) => read(value, registers),
        }
    }
}

/// The bytes that belong to each thread.
fn private_registers(flat: &FlatMemory) -> Registers {
    let bytes = |private: &Private| private.first.0..private.first.0 + private.bytes;
    flat.private.iter().flat_map(bytes).map(RegisterId).collect()
}

/// Whether an instruction may access a thread's own bytes.
fn may_be_private(instruction: &Instruction) -> bool {
    instruction.operands.iter().any(|operand| match operand {
        ResolvedOperand::Memory(address) => {
            matches!(address.base, AddressBase::Flat { space: FlatSpace::Generic | FlatSpace::Private, .. })
        }
        ResolvedOperand::Registers(_) | ResolvedOperand::Value(_) => false,
    })
}

fn read_of(address: &Address, registers: &mut Registers) {
    let parts = address.indices.iter().chain(address.rank.as_deref()).chain(address.device.as_deref());
    parts.for_each(|part| read(part, registers));
}

fn read(expression: &Expression, registers: &mut Registers) {
    match &expression.kind {
        ExpressionKind::Register(register) | ExpressionKind::FinalRegister(_, register) => {
            registers.insert(*register);
        }
        ExpressionKind::Unary(_, operand) | ExpressionKind::Convert(operand) => read(operand, registers),
        ExpressionKind::Binary(_, left, right) => {
            read(left, registers);
            read(right, registers);
        }
        ExpressionKind::Select(condition, then, otherwise) => {
            [condition, then, otherwise].into_iter().for_each(|part| read(part, registers));
        }
        ExpressionKind::Uncomputed { of, .. } => of.iter().for_each(|part| read(part, registers)),
        ExpressionKind::FinalValue(address) => read_of(address, registers),
        ExpressionKind::Constant(_) | ExpressionKind::Coordinate(_) => {}
    }
}

fn any_host(body: &[Statement]) -> bool {
    any_statement(body, &mut |statement| matches!(statement.kind, StatementKind::Host(_)))
}

/// What tells a statement of a program from all others.
pub fn place_of(statement: &Statement) -> usize {
    std::ptr::from_ref(statement).addr()
}
