//! Builds resolved programs by hand, so that the unroller is tested on its own.

use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::isa;
use fencepost_dsl::kernel::program::*;
use fencepost_dsl::vocabulary::{Scope, Sem, Space};
use fencepost_dsl::{FileId, IndexVec, Span};
use fencepost_engine::event::{EventGraph, EventKind, TermPool, TermRef, UnknownId};
use fencepost_engine::unroll::{UnrollError, UnrollOptions, unroll};
use std::cell::Cell;
use std::collections::BTreeMap;

thread_local! {
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

/// A span that no other call returns.
pub fn span() -> Span {
    let start = NEXT.get();
    NEXT.set(start + 10);
    Span::new(FileId(0), start, start + 9)
}

pub struct Builder {
    pub kernel: Kernel,
    pub functions: IndexVec<FunctionId, Function>,
    pub loops: IndexVec<LoopId, Loop>,
}

impl Builder {
    pub fn new() -> Self {
        let kernel = Kernel {
            name: "k".into(),
            is_program: false,
            span: span(),
            parameters: vec![],
            launches: vec![],
            objects: IndexVec::new(),
            storages: IndexVec::new(),
            registers: IndexVec::new(),
            body: vec![],
            tasks: IndexVec::new(),
            unrecorded: Vec::new(),
            flat: None,
            finals: vec![],
            condition: None,
        };
        Self { kernel, functions: IndexVec::new(), loops: IndexVec::new() }
    }

    pub fn object(&mut self, space: Space, name: &str, width: Width, dimensions: &[u32]) -> ObjectId {
        let n: u32 = dimensions.iter().product();
        let size_bytes = n * u32::from(width / 8);
        let storage = self.kernel.storages.push(Storage {
            space,
            is_symmetric: false,
            size_bytes,
            initial: InitialBytes::Unknown,
        });
        self.kernel.objects.push(Object {
            name: name.into(),
            space,
            width,
            element: ElementKind::Data,
            dimensions: dimensions.to_vec(),
            storage,
            offset_bytes: 0,
            mapping: 0,
            replication: fencepost_dsl::vocabulary::Replication::Single,
            proxy: fencepost_dsl::vocabulary::Proxy::Generic,
            tensor: None,
            span: span(),
        })
    }
    pub fn global(&mut self, name: &str) -> ObjectId {
        self.object(Space::Global, name, 32, &[])
    }
    pub fn register(&mut self, name: &str, width: Width) -> RegisterId {
        self.kernel.registers.push(Register { name: name.into(), width })
    }
    pub fn parameter(&mut self, name: &str, min: u64, max: u64) -> RegisterId {
        let register = self.register(name, 32);
        self.kernel.parameters.push(Parameter { register, name: name.into(), min, max, span: span() });
        register
    }
    pub fn new_loop(&mut self) -> LoopId {
        self.loops.push(Loop { span: span() })
    }

    pub fn unroll(&self, launch: &Launch, options: &UnrollOptions) -> Result<EventGraph, UnrollError> {
        let program = Program {
            kernels: vec![self.kernel.clone()],
            parts: IndexVec::new(),
            n_common: 0,
            functions: self.functions.clone(),
            loops: self.loops.clone(),
            assumed_target: None,
        };
        unroll(&program, &self.kernel, launch, options)
    }
    pub fn graph(&self, launch: &Launch) -> EventGraph {
        self.unroll(launch, &UnrollOptions::default()).expect("the kernel unrolls")
    }
    /// The code of the diagnostic, or the name of the limit.
    pub fn error(&self, launch: &Launch) -> &'static str {
        match self.unroll(launch, &UnrollOptions::default()) {
            Ok(_) => "none",
            Err(UnrollError::Unsupported(diagnostic)) => diagnostic.code,
            Err(UnrollError::TooLarge { limit, .. }) => limit,
            Err(UnrollError::Stopped(_)) => "allowance",
        }
    }
}

pub fn launch(ctas: u32, warps: u32, lanes: u32) -> Launch {
    Launch {
        name: "default".into(),
        gpus: 1,
        ctas,
        cluster: ctas,
        cluster_axes: None,
        warps,
        lanes,
        block: None,
        grid: None,
        cooperative: false,
        registers: None,
        span: span(),
        placement: None,
        spa: None,
    }
}

pub fn constant(value: u128, width: Width) -> Expression {
    Expression { span: span(), width, kind: ExpressionKind::Constant(value) }
}
pub fn int(value: u128) -> Expression {
    constant(value, 32)
}
pub fn get(register: RegisterId, width: Width) -> Expression {
    Expression { span: span(), width, kind: ExpressionKind::Register(register) }
}
pub fn coordinate(coordinate: Coordinate) -> Expression {
    Expression { span: span(), width: 32, kind: ExpressionKind::Coordinate(coordinate) }
}
pub fn binary(op: BinaryOp, a: Expression, b: Expression) -> Expression {
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let compares = matches!(op, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual);
    let width = if compares { 1 } else { a.width };
    Expression { span: span(), width, kind: ExpressionKind::Binary(op, Box::new(a), Box::new(b)) }
}
pub fn equal(a: Expression, b: Expression) -> Expression {
    binary(BinaryOp::Equal, a, b)
}
pub fn tid_is(value: u128) -> Expression {
    equal(coordinate(Coordinate::Tid), int(value))
}

pub fn at(object: ObjectId, indices: Vec<Expression>) -> Address {
    Address { span: span(), base: AddressBase::Object(object), indices, rank: None, device: None }
}
pub fn statement(kind: StatementKind) -> Statement {
    Statement { span: span(), kind }
}
pub fn instruction(text: &str, kind: InstructionKind) -> Statement {
    use ResolvedOperand::{Memory, Value};
    let form = isa::form_of(text).unwrap_or_else(|| isa::litmus_form(&kind));
    let (results, operands) = match &kind {
        InstructionKind::Access(AccessOp::Load { destinations, address, .. }) => {
            (destinations.clone(), vec![Memory(address.clone())])
        }
        InstructionKind::Access(AccessOp::Store { values, address, .. }) => {
            let values = values.iter().cloned().map(Value);
            (vec![], std::iter::once(Memory(address.clone())).chain(values).collect())
        }
        InstructionKind::Access(AccessOp::Atomic { destination, operands, address, .. }) => {
            let values = operands.iter().cloned().map(Value);
            (vec![*destination], std::iter::once(Memory(address.clone())).chain(values).collect())
        }
        InstructionKind::Barrier { id, count, .. } => {
            (vec![], [id].into_iter().chain(count).cloned().map(Value).collect())
        }
        InstructionKind::WarpSync { mask } => (vec![], vec![Value(mask.clone())]),
        _ => (vec![], vec![]),
    };
    statement(Instruction::statement((text.into(), span()), form, kind, (results, operands)))
}
pub fn load(register: RegisterId, address: Address, sem: Sem) -> Statement {
    let destinations = vec![Some(register)];
    instruction(
        "ld",
        InstructionKind::Access(AccessOp::Load {
            destinations,
            address,
            sem,
            scope: Scope::Gpu,
            non_coherent: false,
        }),
    )
}
pub fn store(address: Address, value: Expression, sem: Sem) -> Statement {
    instruction(
        "st",
        InstructionKind::Access(AccessOp::Store { values: vec![value], address, sem, scope: Scope::Gpu }),
    )
}
pub fn atomic(
    destination: Option<RegisterId>,
    op: AtomicOp,
    address: Address,
    operands: Vec<Expression>,
    sem: Sem,
) -> Statement {
    let scope = Scope::Gpu;
    instruction(
        "atom",
        InstructionKind::Access(AccessOp::Atomic { destination, op, operands, address, sem, scope }),
    )
}
pub fn barrier(kind: BarrierKind, id: u128, count: Option<u128>) -> Statement {
    let (id, count) = (int(id), count.map(int));
    instruction("barrier", InstructionKind::Barrier { kind, id, count, aligned: false, instance: None })
}
pub fn sync() -> Statement {
    barrier(BarrierKind::Sync, 0, None)
}
pub fn if_else(condition: Expression, then: Vec<Statement>, otherwise: Vec<Statement>) -> Statement {
    statement(StatementKind::If { condition, then, otherwise })
}
pub fn assign(register: RegisterId, value: Expression) -> Statement {
    statement(StatementKind::Assign { register, value })
}
pub fn assert(condition: Expression) -> Statement {
    statement(StatementKind::Assert(condition))
}

/// The value of a term for given values of its unknowns.
pub fn value(terms: &TermPool, term: TermRef, unknowns: &dyn Fn(UnknownId) -> u128) -> u128 {
    let mut known = BTreeMap::new();
    let mut stack = vec![term];
    while let Some(&top) = stack.last() {
        let operands = terms.operands(top);
        let missing: Vec<TermRef> = operands.iter().copied().filter(|o| !known.contains_key(o)).collect();
        if missing.is_empty() {
            let values: Vec<u128> = operands.iter().map(|o| known[o]).collect();
            known.insert(top, terms.apply(top, &values, unknowns));
            stack.pop();
        }
        stack.extend(missing);
    }
    known[&term]
}

/// Whether all constraints hold.
pub fn admitted(graph: &EventGraph, unknowns: &dyn Fn(UnknownId) -> u128) -> bool {
    graph.constraints.iter().all(|constraint| value(&graph.terms, constraint.term, unknowns) == 1)
}

/// The unknowns a term mentions.
pub fn mentioned(terms: &TermPool, term: TermRef) -> Vec<UnknownId> {
    let ids = (0..terms.unknowns().len()).map(UnknownId::from_index);
    ids.filter(|&id| depends(terms, term, id)).collect()
}

fn depends(terms: &TermPool, term: TermRef, id: UnknownId) -> bool {
    matches!(terms.kind(term), fencepost_engine::event::TermKind::Unknown(own) if *own == id)
        || terms.operands(term).into_iter().any(|operand| depends(terms, operand, id))
}

pub fn is_read(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Read(_))
}
pub fn is_write(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Write(_))
}
/// All assignments of the graph's unknowns, each in 0..=max (or its own range, if smaller).
pub fn assignments(graph: &EventGraph, max: u128) -> Vec<Vec<u128>> {
    let mut all = vec![vec![]];
    for unknown in graph.terms.unknowns().iter() {
        let values = unknown.min..=unknown.max.min(unknown.min + max);
        all = all
            .into_iter()
            .flat_map(|prefix| values.clone().map(move |v| prefix.iter().copied().chain([v]).collect()))
            .collect();
    }
    all
}
