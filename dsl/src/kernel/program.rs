//! A resolved kernel file: every name an id, every expression typed with a width in bits, no sugar.
//!
//! What the front end guarantees to the unroller:
//! * widths agree everywhere (operands of a binary operator have equal width, conditions have width 1);
//! * every register is assigned before it is read on every path;
//! * functions are not recursive, and every call has the right number and kind of arguments;
//! * instructions are legal PTX for the program's target, with their defaults filled in;
//! * reads inside conditions have been pulled out into the `prelude` of the statement.

use crate::define_id;
use crate::diagnostic::Diagnostic;
use crate::index::IndexVec;
use crate::span::Span;
use crate::vocabulary::{Proxy, Replication, Space};

pub use asynchronous::{
    AsyncCopy, AsyncGroup, AsyncOp, AsyncStore, BulkCompletion, BulkCopy, BulkEnd, CancelQuery, Factor,
    MatrixOp, Product, Tensor, TensorBox, TensorOp, TensorProduct, TupleId,
};
pub use flat::{FlatMemory, FlatObject, FlatSpace, Private, Required, View};
pub use host::{HostCall, Task, UnrecordedWait};
pub use instruction::{
    AccessOp, AtomicOp, BarrierKind, BarrierReduction, Exchange, ExchangeKind, GridDependency, Instruction,
    InstructionKind, LaneReduction, ResolvedOperand, Shuffle, Vote,
};
pub use launch::{Axis, Coordinate, Launch, Placement, VectorRegister};
pub use multimem::MultimemOp;
pub use spa::{Channel, SpaLaunch, SpaOp};
pub use synchronization::{
    AsyncSpace, MbarrierArrive, MbarrierOp, MbarrierPhase, MbarrierWait, ProxyFenceKind,
};

mod asynchronous;
pub mod flat;
mod host;
mod instruction;
mod launch;
mod multimem;
mod operator;
mod spa;
mod synchronization;

define_id! {
    /// A register of one kernel or function body.
    pub struct RegisterId;
    /// A declared object (a name), several of which may share a storage.
    pub struct ObjectId;
    /// Bytes: what physical overlap is about.
    pub struct StorageId;
    /// A function of the file.
    pub struct FunctionId;
    /// A reference parameter (`&`) of a function.
    pub struct ReferenceId;
    /// A static loop (`for`, `while`, `loop`, `await`) of the file.
    pub struct LoopId;
    /// A kernel that some program launches.
    pub struct PartId;
    /// A launch by a program.
    pub struct TaskId;
}

/// A width in bits: 1, 8, 16, 32, 64 or 128.
pub type Width = u8;

/// Everything a run of the checker needs of the source text.
#[derive(Clone, Debug)]
pub struct Program {
    /// What is checked: the kernels that no program launches, and the programs.
    pub kernels: Vec<Kernel>,
    /// The kernels that programs launch.
    pub parts: IndexVec<PartId, Kernel>,
    /// How many storages, at the start of every kernel's, all kernels have in common.
    pub n_common: usize,
    /// Of all files used.
    pub functions: IndexVec<FunctionId, Function>,
    /// Static loops of all kernels and functions.
    pub loops: IndexVec<LoopId, Loop>,
    /// The architecture that was taken, with its suffix, if no target is named.
    pub assumed_target: Option<String>,
}

impl Program {
    /// Whether the kernel, or a function that it may call, has an instruction for which the predicate holds.
    pub fn any_instruction(&self, kernel: &Kernel, predicate: impl Fn(&Instruction) -> bool) -> bool {
        let bodies = self.functions.iter().map(|function| &function.body).chain([&kernel.body]);
        let mut is_it = |statement: &Statement| match &statement.kind {
            StatementKind::Instruction(instruction) => predicate(instruction),
            _ => false,
        };
        bodies.into_iter().any(|body| any_statement(body, &mut is_it))
    }

    /// The instructions of the kernel, and of all functions, each with the place of its statement.
    pub fn instructions<'a>(&'a self, kernel: &'a Kernel) -> Vec<(Span, &'a Instruction)> {
        let mut found = Vec::new();
        let bodies = self.functions.iter().map(|function| &function.body).chain([&kernel.body]);
        bodies.for_each(|body| collect_instructions(body, &mut found));
        found
    }
}

fn collect_instructions<'a>(statements: &'a [Statement], found: &mut Vec<(Span, &'a Instruction)>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Instruction(instruction) => found.push((statement.span, instruction)),
            StatementKind::If { then, otherwise, .. } => {
                collect_instructions(then, found);
                collect_instructions(otherwise, found);
            }
            StatementKind::While { prelude, body, .. } => {
                collect_instructions(prelude, found);
                collect_instructions(body, found);
            }
            StatementKind::For { body, .. } => collect_instructions(body, found),
            StatementKind::Await { prelude, .. } => collect_instructions(prelude, found),
            _ => {}
        }
    }
}

/// Whether the predicate holds for one of the statements, or for one inside; those in functions that they call are not
/// looked at.
pub fn any_statement(statements: &[Statement], predicate: &mut dyn FnMut(&Statement) -> bool) -> bool {
    statements.iter().any(|statement| {
        predicate(statement)
            || match &statement.kind {
                StatementKind::If { then, otherwise, .. } => {
                    any_statement(then, predicate) || any_statement(otherwise, predicate)
                }
                StatementKind::While { prelude, body, .. } => {
                    any_statement(prelude, predicate) || any_statement(body, predicate)
                }
                StatementKind::For { body, .. } => any_statement(body, predicate),
                StatementKind::Await { prelude, .. } => any_statement(prelude, predicate),
                StatementKind::Instruction(_)
                | StatementKind::Assign { .. }
                | StatementKind::Break
                | StatementKind::Call { .. }
                | StatementKind::Exit
                | StatementKind::Assert(_)
                | StatementKind::Assume(_)
                | StatementKind::Reachable(_)
                | StatementKind::Unsupported(_)
                | StatementKind::Host(_) => false,
            }
    })
}

/// A static loop, for messages about its bound.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The loop's head.
    pub span: Span,
}

/// A kernel and the launches to check it for; or a program, whose body the host runs.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Whether it is a program.
    pub is_program: bool,
    /// Its name's place.
    pub span: Span,
    /// Symbolic parameters: the same unknown for all threads.
    pub parameters: Vec<Parameter>,
    /// At least one; an absent `launch` gives one called `default` of a single thread.
    pub launches: Vec<Launch>,
    /// Declared memory.
    pub objects: IndexVec<ObjectId, Object>,
    /// The bytes under the objects.
    pub storages: IndexVec<StorageId, Storage>,
    /// All registers of the body.
    pub registers: IndexVec<RegisterId, Register>,
    /// What every thread runs.
    pub body: Vec<Statement>,
    /// What a program launches; empty for a kernel.
    pub tasks: IndexVec<TaskId, Task>,
    /// Waits of a program that wait for nothing.
    pub unrecorded: Vec<UnrecordedWait>,
    /// Conditions on final memory, for executions in which every thread finished.
    pub finals: Vec<FinalCondition>,
    /// What a litmus test asks of its final states; absent in kernel files.
    pub condition: Option<LitmusCondition>,
    /// Of a kernel whose addresses are numbers (imported PTX): what is where.
    pub flat: Option<Box<FlatMemory>>,
}

/// A symbolic parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The register (32 bits wide) that holds it.
    pub register: RegisterId,
    /// Its name.
    pub name: String,
    /// Smallest value, inclusive.
    pub min: u64,
    /// Largest value, inclusive.
    pub max: u64,
    /// Its declaration.
    pub span: Span,
}

/// An object: a named array of elements over some bytes.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// Element width in bits: 8, 16, 32, 64 or 128.
    pub width: Width,
    /// What its elements are.
    pub element: ElementKind,
    /// Array dimensions, outermost first; empty for a scalar.
    pub dimensions: Vec<u32>,
    /// The bytes.
    pub storage: StorageId,
    /// Where in the storage its first element starts.
    pub offset_bytes: u32,
    /// 0 for the storage's own virtual address range (views included); each generic `alias` of the storage has its own.
    pub mapping: u32,
    /// How it is spread over devices, and which instructions may access it (MM-7).
    pub replication: Replication,
    /// How it is accessed. A view through another proxy has the virtual address of what it is a view of.
    pub proxy: Proxy,
    /// What it describes, if it is a tensor map.
    pub tensor: Option<Tensor>,
    /// Its declaration.
    pub span: Span,
}

impl Object {
    /// Data of a name that is all of a storage; of one element if it has no dimensions.
    pub fn plain(
        name: String,
        (space, storage): (Space, StorageId),
        (width, dimensions): (Width, Vec<u32>),
        span: Span,
    ) -> Self {
        Self {
            name,
            space,
            width,
            element: ElementKind::Data,
            dimensions,
            storage,
            offset_bytes: 0,
            mapping: 0,
            replication: Replication::Single,
            proxy: Proxy::Generic,
            tensor: None,
            span,
        }
    }

    /// Number of elements.
    pub fn n_elements(&self) -> u64 {
        self.dimensions.iter().map(|&n| u64::from(n)).product()
    }

    /// The extent of an operand for which the instruction states no size: how many elements are left where so many leading
    /// indices are given. All elements without any, one with all of them.
    pub fn n_elements_below(&self, n_indices: usize) -> u32 {
        self.dimensions.iter().skip(n_indices).product()
    }
}

/// What the elements of an object are to PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementKind {
    /// Bits.
    Data,
    /// mbarriers: 64 opaque bits each, in shared memory. Ordinary accesses to them resolve, too (UB-M3).
    Mbarrier,
    /// Tensor maps: 128 opaque bytes each, which are read and written at once; 64 bits stand for them. Initialised ones
    /// are parameters of the kernel if the object's space is [`Space::Param`].
    Tensormap,
}

/// A run of bytes: one instance per kernel (global), per device (symmetric) or per CTA (shared).
#[derive(Clone, Debug)]
pub struct Storage {
    /// Where it lives.
    pub space: Space,
    /// Whether each device has an instance, with the same initial bytes.
    pub is_symmetric: bool,
    /// Its size.
    pub size_bytes: u32,
    /// Initial bytes; `None` where the initial value is unknown (but constant, MM-10).
    pub initial: InitialBytes,
}

/// The initial contents of a storage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InitialBytes {
    /// No initialiser: an unknown constant.
    Unknown,
    /// All bytes given (little-endian elements).
    Known(Vec<u8>),
}

/// A register.
#[derive(Clone, Debug)]
pub struct Register {
    /// Its name; generated ones start with `%`.
    pub name: String,
    /// Its width.
    pub width: Width,
}

/// A function: always inlined by the unroller.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// By-value parameters, as registers of the function, in order among themselves.
    pub values: Vec<RegisterId>,
    /// Reference parameters.
    pub references: IndexVec<ReferenceId, Reference>,
    /// All registers of the body.
    pub registers: IndexVec<RegisterId, Register>,
    /// The body.
    pub body: Vec<Statement>,
    /// What it returns, evaluated after the body.
    pub result: Option<Expression>,
    /// Its name's place.
    pub span: Span,
}

/// A `&` parameter: stands for an element (or a run of elements) of an object at the call.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// Element width of the objects it accepts.
    pub width: Width,
    /// What their elements are.
    pub element: ElementKind,
}

/// A statement with its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The whole statement; for an instruction, from the opcode to the last operand.
    pub span: Span,
    /// What it does.
    pub kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `let`, or an assignment to a `var`.
    Assign {
        /// Target.
        register: RegisterId,
        /// Value, of the register's width.
        value: Expression,
    },
    /// A PTX instruction.
    Instruction(Box<Instruction>),
    /// `if`.
    If {
        /// Width 1.
        condition: Expression,
        /// Taken when the condition is 1.
        then: Vec<Statement>,
        /// Taken otherwise.
        otherwise: Vec<Statement>,
    },
    /// `for x in a..b`: `x` takes `start`, `start+1`, … while below `end` (unsigned).
    For {
        /// The static loop.
        id: LoopId,
        /// The loop variable, 32 bits.
        register: RegisterId,
        /// First value.
        start: Expression,
        /// One past the last value.
        end: Expression,
        /// The body.
        body: Vec<Statement>,
    },
    /// `while` (prelude computes the condition), and `loop` (empty prelude, condition 1).
    While {
        /// The static loop.
        id: LoopId,
        /// Statements run before each test of the condition.
        prelude: Vec<Statement>,
        /// Goes on while it is 1.
        condition: Expression,
        /// The body.
        body: Vec<Statement>,
    },
    /// `break` out of the innermost `for`/`while`/`loop`.
    Break,
    /// `await COND`: repeats `prelude` until `condition` is 1; the prelude has reads, atomics and mbarrier waits only.
    Await {
        /// The static loop.
        id: LoopId,
        /// What each try runs.
        prelude: Vec<Statement>,
        /// Done when it is 1.
        condition: Expression,
    },
    /// A call.
    Call {
        /// Whom.
        function: FunctionId,
        /// By-value arguments, in the order of [`Function::values`].
        values: Vec<Expression>,
        /// Reference arguments, in the order of [`Function::references`].
        references: Vec<Address>,
        /// Where the result goes.
        result: Option<RegisterId>,
    },
    /// `exit`: the thread ends here.
    Exit,
    /// `assert`: must be 1 whenever reached.
    Assert(Expression),
    /// `assume`: executions in which it is 0 when reached are not considered.
    Assume(Expression),
    /// `reachable`: some execution must get here with the condition 1.
    Reachable(Expression),
    /// A call of the host's API; only at the outermost level of a program.
    Host(HostCall),
    /// What this version does not check, which is an error wherever a thread can come here.
    Unsupported(Box<Diagnostic>),
}

/// A typed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its place.
    pub span: Span,
    /// Its width.
    pub width: Width,
    /// What it is.
    pub kind: ExpressionKind,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// A constant, below `2^width`.
    Constant(u128),
    /// A register's value.
    Register(RegisterId),
    /// A thread coordinate or a launch dimension (32 bits).
    Coordinate(Coordinate),
    /// One operand.
    Unary(UnaryOp, Box<Expression>),
    /// Two operands of equal width; comparisons give width 1.
    Binary(BinaryOp, Box<Expression>, Box<Expression>),
    /// `condition ? then : otherwise`.
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    /// Zero-extended or truncated to the expression's width.
    Convert(Box<Expression>),
    /// The final value of a memory element; only inside [`FinalCondition`] and [`LitmusCondition`].
    FinalValue(Box<Address>),
    /// A value that is not computed, made of these: any, but where it comes from is known.
    Uncomputed {
        /// Whether it is the same each time that it is made of the same values.
        is_function: bool,
        /// What makes it: an opcode, for messages.
        by: String,
        /// What it is made of.
        of: Vec<Expression>,
    },
    /// What a register of a thread (by its index in the launch) holds when the thread ends; only inside
    /// [`LitmusCondition`].
    FinalRegister(u32, RegisterId),
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum UnaryOp {
    /// Bitwise complement (`!` on width 1, `~` elsewhere).
    Not,
    /// Two's complement.
    Negate,
}

/// Binary operators, unsigned. Division by zero gives all ones, remainder by zero the dividend (as hardware does not trap).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "C's operators")]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// A memory operand.
#[derive(Clone, Debug)]
pub struct Address {
    /// The operand's place, brackets included.
    pub span: Span,
    /// What is indexed.
    pub base: AddressBase,
    /// Indices (32 bits each), outermost first: for a reference none or one. Where an instruction does not access just one
    /// element, trailing ones may be missing. Then the operand starts at the first element of the array that is left, and if
    /// the instruction states no size it is all of that array ([`Object::n_elements_below`]).
    pub indices: Vec<Expression>,
    /// `mapa(x, rank)`: the same place in the CTA of this rank (32 bits) of the cluster, whichever CTA a reference
    /// stands for (AS-43). Shared memory only.
    pub rank: Option<Box<Expression>>,
    /// `peer(x, gpu)`: the same place in the instance of this device (32 bits), whichever a reference stands for.
    /// Symmetric memory only.
    pub device: Option<Box<Expression>>,
}

/// What a memory operand starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressBase {
    /// A declared object (of the own CTA, for shared memory without a rank).
    Object(ObjectId),
    /// A reference parameter of the enclosing function; one optional index counts elements from it.
    Reference(ReferenceId),
    /// No name: the one index is the generic address itself, of 64 bits, and what is there is found by it.
    Flat {
        /// Width of the elements that are accessed.
        width: Width,
        /// What is there.
        element: ElementKind,
        /// The state space that the instruction names.
        space: FlatSpace,
    },
}

/// A condition of a `final` block.
#[derive(Clone, Debug)]
pub struct FinalCondition {
    /// Its place.
    pub span: Span,
    /// Must hold at the end of every complete execution, or (for `reachable`) of at least one.
    pub kind: FinalKind,
    /// Width 1; reads memory by [`ExpressionKind::FinalValue`], no registers but parameters.
    pub condition: Expression,
}

/// What is claimed of a final condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinalKind {
    /// Every complete execution.
    Assert,
    /// At least one complete execution.
    Reachable,
}

/// What a litmus test asks of its final states: those of executions in which every thread ran to its end.
#[derive(Clone, Debug)]
pub struct LitmusCondition {
    /// From the quantifier to the end of the condition.
    pub span: Span,
    /// Claim.
    pub quantifier: Quantifier,
    /// Width 1; reads memory by [`ExpressionKind::FinalValue`] and registers by [`ExpressionKind::FinalRegister`].
    pub condition: Expression,
    /// Likewise; other final states are not looked at.
    pub filter: Option<Expression>,
}

/// What is claimed of the final states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// Some final state satisfies the condition.
    Exists,
    /// None does.
    NotExists,
    /// All do.
    Forall,
}

impl Quantifier {
    /// As litmus files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exists => "exists",
            Self::NotExists => "~exists",
            Self::Forall => "forall",
        }
    }
}
