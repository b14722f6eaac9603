//! Which mbarriers an arrival may find full: those at which bytes are announced, counted or delivered, several arrivals made
//! at once, or threads drop out: once all have, nobody is expected any more.
//!
//! At all others arrivals come one at a time and nothing else keeps a phase open, so that the last one that a phase expects
//! completes it, and the next one is in the next phase.

use fencepost_dsl::IndexVec;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, ElementKind, Expression, ExpressionKind, Function, FunctionId, Instruction,
    InstructionKind, Kernel, MbarrierOp, Program, ReferenceId, RegisterId, ResolvedOperand, Statement,
    StatementKind, StorageId, any_statement,
};
use fencepost_dsl::sorted::SortedSet;

/// The storages with such mbarriers.
pub enum Uneven {
    /// All of them.
    All,
    /// These.
    Of(SortedSet<StorageId>),
}

impl Uneven {
    /// Those of a kernel; of a program, all or none.
    pub fn new(program: &Program, kernel: &Kernel) -> Self {
        if !any_uneven(program, kernel) {
            let is_other = |part: &Kernel| any_uneven(program, part);
            return if program.parts.iter().any(is_other) { Self::All } else { Self::Of(SortedSet::new()) };
        }
        // Where addresses are numbers the text does not say of which object they are.
        if kernel.is_program || kernel.flat.is_some() {
            return Self::All;
        }
        let of_functions = of_functions(program);
        let mut storages = SortedSet::new();
        bases(&kernel.body, &of_functions, &mut |address| {
            if let AddressBase::Object(object) = address.base {
                storages.insert(kernel.objects[object].storage);
            }
        });
        Self::Of(storages)
    }

    /// Whether it is one of them.
    pub fn has(&self, storage: StorageId) -> bool {
        match self {
            Self::All => true,
            Self::Of(storages) => storages.contains(&storage),
        }
    }
}

/// Whether a kernel, or a function that it may call, has such an instruction.
fn any_uneven(program: &Program, kernel: &Kernel) -> bool {
    let bodies = program.functions.iter().map(|function| &function.body).chain([&kernel.body]);
    let mut any = bodies.map(|body| {
        let ones = Ones::of(body);
        any_statement(body, &mut |statement| match &statement.kind {
            StatementKind::Instruction(instruction) => is_uneven(instruction, &ones),
            _ => false,
        })
    });
    any.any(|found| found)
}

/// Registers of a body that are given the number 1 and nothing else: a compiler keeps the count of an arrival in one.
struct Ones(SortedSet<RegisterId>);

impl Ones {
    fn of(body: &[Statement]) -> Self {
        let (mut ones, mut others) = (SortedSet::new(), SortedSet::new());
        any_statement(body, &mut |statement| {
            match &statement.kind {
                StatementKind::Assign { register, value }
                    if matches!(value.kind, ExpressionKind::Constant(1)) =>
                {
                    ones.insert(*register);
                }
                StatementKind::Assign { register, .. } | StatementKind::For { register, .. } => {
                    others.insert(*register);
                }
                StatementKind::Instruction(instruction) => {
                    others.extend(instruction.results.iter().flatten().copied())
                }
                StatementKind::Call { result, .. } => others.extend(*result),
                _ => {}
            }
            false
        });
        Self(ones.into_iter().filter(|register| !others.contains(register)).collect())
    }

    /// Whether it is the number 1 wherever the register has been assigned; a count that has not is none.
    fn is_one(&self, count: &Expression) -> bool {
        match &count.kind {
            ExpressionKind::Constant(1) => true,
            ExpressionKind::Register(register) => self.0.contains(register),
            _ => false,
        }
    }
}

fn is_uneven(instruction: &Instruction, ones: &Ones) -> bool {
    match &instruction.kind {
        InstructionKind::Mbarrier(MbarrierOp::Arrive(arrive)) => {
            arrive.expect_tx.is_some() || arrive.drop || !ones.is_one(&arrive.count)
        }
        InstructionKind::Mbarrier(MbarrierOp::ExpectTx { .. } | MbarrierOp::CompleteTx { .. })
        | InstructionKind::Async(_) => true,
        _ => false,
    }
}

/// Of each function, the references that stand for such an mbarrier.
type OfFunctions = IndexVec<FunctionId, SortedSet<ReferenceId>>;

fn of_functions(program: &Program) -> OfFunctions {
    let mut found: OfFunctions = program.functions.iter().map(|_| SortedSet::new()).collect();
    loop {
        let mut has_changed = false;
        for (id, function) in program.functions.iter_enumerated() {
            let own = of_function(function, &found);
            has_changed |= own.len() > found[id].len();
            found[id] = own;
        }
        if !has_changed {
            return found;
        }
    }
}

fn of_function(function: &Function, of_functions: &OfFunctions) -> SortedSet<ReferenceId> {
    let mut found = SortedSet::new();
    bases(&function.body, of_functions, &mut |address| {
        if let AddressBase::Reference(reference) = address.base
            && function.references[reference].element == ElementKind::Mbarrier
        {
            found.insert(reference);
        }
    });
    found
}

/// All addresses that such instructions name, and that stand for what functions name in them.
fn bases(statements: &[Statement], of_functions: &OfFunctions, then: &mut dyn FnMut(&Address)) {
    let ones = Ones::of(statements);
    any_statement(statements, &mut |statement| {
        match &statement.kind {
            StatementKind::Instruction(instruction) if is_uneven(instruction, &ones) => {
                for operand in &instruction.operands {
                    if let ResolvedOperand::Memory(address) = operand {
                        then(address);
                    }
                }
            }
            StatementKind::Call { function, references, .. } => {
                let stands = |at: usize| of_functions[*function].contains(&ReferenceId::from_index(at));
                let named = references.iter().enumerate().filter(|&(at, _)| stands(at));
                named.for_each(|(_, address)| then(address));
            }
            _ => {}
        }
        false
    });
}
