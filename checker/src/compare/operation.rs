//! What an instruction is to a comparison: its name, and what of its words and operands matters to others.
//!
//! The names are of what is done and not of how it is spelled: `bar.sync 0` and `barrier.sync.aligned 0` are one operation, and
//! so are `atom` without a result and `red`. What only computes, or moves data that nobody waits for, is no operation.

use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    AccessOp, AsyncGroup, AsyncOp, AtomicOp, BarrierKind, BinaryOp, BulkCompletion, BulkEnd, Expression,
    ExpressionKind, GridDependency, Instruction, InstructionKind, MbarrierOp, MultimemOp, ProxyFenceKind,
    TensorOp,
};
use fencepost_dsl::vocabulary::{Scope, Sem};

/// What two operations of one name can differ in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Aspect {
    /// `.acquire` and so on.
    Sem,
    /// `.gpu` and so on.
    Scope,
    /// Between which proxies a fence is.
    Proxy,
    /// To which memory it is limited.
    Memory,
    /// Which of several forms: a barrier that is passed or only arrived at.
    Form,
    /// The number of a barrier.
    Number,
    /// Which lanes of a warp.
    Mask,
    /// Threads, arrivals, or groups that may be pending.
    Count,
    /// Bytes that are copied, or announced.
    Bytes,
    /// How others learn that it is done.
    Completion,
    /// Whether it is tried until it succeeds.
    Waiting,
    /// Whether data decide if it is executed.
    Condition,
    /// Whether it comes in several rounds.
    Rounds,
    /// What it is about.
    Object,
}

impl Aspect {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sem => "sem",
            Self::Scope => "scope",
            Self::Proxy => "proxy",
            Self::Memory => "memory",
            Self::Form => "form",
            Self::Number => "barrier number",
            Self::Mask => "mask",
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Completion => "completion",
            Self::Waiting => "waiting",
            Self::Condition => "condition",
            Self::Rounds => "loop",
            Self::Object => "object",
        }
    }
}

/// What an operation is in one aspect.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// A word.
    Word(String),
    /// A number.
    Number(u128),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Bytes of an object, as a thread sees them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    /// The storage.
    pub storage: u32,
    /// Where in it; nothing where that depends on data.
    pub offset: Option<u64>,
    /// Whether it is another CTA's.
    pub is_peer: bool,
}

/// One operation of a thread.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What it does: `load`, `atomic add`, `fence`.
    pub name: String,
    /// What is known of it, by aspect.
    pub aspects: Vec<(Aspect, Value)>,
    /// What it is about.
    pub cell: Option<Cell>,
    /// Whether it is repeated until it succeeds.
    pub is_wait: bool,
    /// Whether data decide if it is executed.
    pub is_sometimes: bool,
    /// Whether it stands for several rounds.
    pub repeats: bool,
    /// Whether it is the first of a round.
    pub starts_loop: bool,
    /// The statement.
    pub span: Span,
    /// The calls that lead there, and the statement.
    pub place: Vec<Span>,
    /// The instruction with its defaults, and its operand.
    pub text: String,
}

/// Name and aspects of an instruction, if it synchronizes.
pub fn of(instruction: &Instruction) -> Option<(String, Vec<(Aspect, Value)>)> {
    let mut aspects = Aspects::default();
    let name = aspects.of_kind(instruction)?;
    aspects.found.sort();
    Some((name, aspects.found))
}

#[derive(Default)]
struct Aspects {
    found: Vec<(Aspect, Value)>,
}

impl Aspects {
    fn word(&mut self, aspect: Aspect, word: impl ToString) {
        self.found.push((aspect, Value::Word(word.to_string())));
    }

    fn number(&mut self, aspect: Aspect, number: Option<u128>) {
        self.found.extend(number.map(|number| (aspect, Value::Number(number))));
    }

    /// The scope of weak operations says nothing.
    fn strength(&mut self, sem: Sem, scope: Scope) {
        self.word(Aspect::Sem, sem);
        if !matches!(sem, Sem::Weak | Sem::Volatile | Sem::Mmio) {
            self.word(Aspect::Scope, scope);
        }
    }

    fn of_kind(&mut self, instruction: &Instruction) -> Option<String> {
        let own = || instruction.form.name.to_owned();
        Some(match &instruction.kind {
            InstructionKind::Access(access) => return self.access(access),
            InstructionKind::Multimem(operation) => return self.multimem(operation),
            InstructionKind::Fence { sem, scope, restrict } => {
                self.word(Aspect::Sem, sem);
                self.word(Aspect::Scope, scope);
                if let Some(restrict) = restrict {
                    self.word(Aspect::Memory, restrict);
                }
                "fence".to_owned()
            }
            InstructionKind::MbarrierInitFence => "fence of mbarrier.init".to_owned(),
            InstructionKind::AliasFence => {
                self.word(Aspect::Proxy, "alias");
                "proxy fence".to_owned()
            }
            InstructionKind::ProxyFence(kind) => self.proxy_fence(kind),
            InstructionKind::TensormapCopyFence { scope, .. } => {
                self.word(Aspect::Scope, scope);
                own()
            }
            InstructionKind::Barrier { kind, id, count, .. } => {
                let form = match kind {
                    BarrierKind::Sync => "sync",
                    BarrierKind::Arrive => "arrive",
                    BarrierKind::Reduce { .. } => "red",
                };
                self.word(Aspect::Form, form);
                self.number(Aspect::Number, constant(id));
                self.number(Aspect::Count, count.as_ref().and_then(constant));
                "barrier".to_owned()
            }
            InstructionKind::WarpSync { .. } => "barrier of the warp".to_owned(),
            InstructionKind::ClusterArrive { sem, .. } => {
                self.word(Aspect::Sem, sem);
                "arrival at the cluster's barrier".to_owned()
            }
            InstructionKind::ClusterWait { .. } => "wait at the cluster's barrier".to_owned(),
            InstructionKind::Mbarrier(operation) => return self.mbarrier(operation),
            InstructionKind::Async(operation) => return self.asynchronous(operation, instruction),
            InstructionKind::GridDependency(GridDependency::LaunchDependents) => {
                "launch of dependent grids".to_owned()
            }
            InstructionKind::GridDependency(GridDependency::Wait) => "wait for earlier grids".to_owned(),
            InstructionKind::SetMaxRegisters { increase, count } => {
                self.word(Aspect::Form, if *increase { "inc" } else { "dec" });
                self.number(Aspect::Count, Some((*count).into()));
                own()
            }
            InstructionKind::Spa(_) => own(),
            // They order no memory and hold nobody up but lanes of a warp, which a skeleton need not have.
            InstructionKind::ElectSync { .. }
            | InstructionKind::ActiveMask { .. }
            | InstructionKind::Exchange(_)
            | InstructionKind::GetCtaRank { .. }
            | InstructionKind::Hint { .. } => return None,
        })
    }

    fn access(&mut self, access: &AccessOp) -> Option<String> {
        let (name, sem, scope) = match access {
            AccessOp::Load { sem, scope, .. } => ("load".to_owned(), *sem, *scope),
            AccessOp::Store { sem, scope, .. } => ("store".to_owned(), *sem, *scope),
            AccessOp::Fill { .. } => return None,
            AccessOp::Atomic { op, sem, scope, .. } | AccessOp::Reduction { op, sem, scope, .. } => {
                (atomic(*op), *sem, *scope)
            }
        };
        self.strength(sem, scope);
        (sem != Sem::Weak).then_some(name)
    }

    fn multimem(&mut self, operation: &MultimemOp) -> Option<String> {
        let (name, sem, scope) = match operation {
            MultimemOp::LoadReduce { op, sem, scope, .. } => {
                (format!("multimem load and {}", atomic(*op)), *sem, *scope)
            }
            MultimemOp::Store { sem, scope, .. } => ("multimem store".to_owned(), *sem, *scope),
            MultimemOp::Reduction { op, sem, scope, .. } => {
                (format!("multimem {}", atomic(*op)), *sem, *scope)
            }
        };
        self.strength(sem, scope);
        (sem != Sem::Weak).then_some(name)
    }

    fn proxy_fence(&mut self, kind: &ProxyFenceKind) -> String {
        match kind {
            ProxyFenceKind::Async { space } => {
                self.word(Aspect::Proxy, "async");
                let memory = space.suffix().trim_start_matches('.');
                self.word(Aspect::Memory, if memory.is_empty() { "all" } else { memory });
            }
            ProxyFenceKind::AsyncGeneric { sem, restrict } => {
                self.word(Aspect::Proxy, "async::generic");
                self.word(Aspect::Sem, sem);
                self.word(Aspect::Memory, restrict);
            }
            ProxyFenceKind::TensormapRelease { scope } => {
                self.word(Aspect::Proxy, "tensormap::generic");
                self.strength(Sem::Release, *scope);
            }
            ProxyFenceKind::TensormapAcquire { scope, .. } => {
                self.word(Aspect::Proxy, "tensormap::generic");
                self.strength(Sem::Acquire, *scope);
            }
            ProxyFenceKind::Formal { proxy } => self.word(Aspect::Proxy, proxy),
            ProxyFenceKind::AliasHalf { sem } => {
                self.word(Aspect::Proxy, "alias");
                self.word(Aspect::Sem, sem);
            }
        }
        "proxy fence".to_owned()
    }

    fn mbarrier(&mut self, operation: &MbarrierOp) -> Option<String> {
        let name = match operation {
            MbarrierOp::Init { count, .. } => {
                self.number(Aspect::Count, constant(count));
                "mbarrier.init"
            }
            MbarrierOp::Inval { .. } => "mbarrier.inval",
            MbarrierOp::ExpectTx { tx, scope, .. } => {
                self.number(Aspect::Bytes, constant(tx));
                self.word(Aspect::Scope, scope);
                "mbarrier.expect_tx"
            }
            MbarrierOp::CompleteTx { tx, scope, .. } => {
                self.number(Aspect::Bytes, constant(tx));
                self.word(Aspect::Scope, scope);
                "mbarrier.complete_tx"
            }
            MbarrierOp::Arrive(arrive) => {
                self.strength(arrive.sem, arrive.scope);
                self.number(Aspect::Count, constant(&arrive.count));
                self.number(Aspect::Bytes, arrive.expect_tx.as_ref().and_then(constant));
                let form = match (arrive.expect_tx.is_some(), arrive.no_complete) {
                    (true, _) => "expect_tx",
                    (false, true) => "noComplete",
                    (false, false) => "plain",
                };
                self.word(Aspect::Form, form);
                if arrive.drop { "mbarrier.arrive_drop" } else { "mbarrier.arrive" }
            }
            MbarrierOp::Wait(wait) => {
                self.strength(wait.sem, wait.scope);
                "wait for an mbarrier"
            }
            MbarrierOp::PendingCount { .. } => return None,
        };
        Some(name.to_owned())
    }

    fn asynchronous(&mut self, operation: &AsyncOp, instruction: &Instruction) -> Option<String> {
        let own = || instruction.form.name.to_owned();
        Some(match operation {
            AsyncOp::Copy(copy) => {
                self.number(Aspect::Bytes, Some(copy.bytes.into()));
                "cp.async".to_owned()
            }
            AsyncOp::CopyArrive { increments, .. } => {
                self.word(Aspect::Form, if *increments { "counted" } else { "noinc" });
                "arrival behind cp.async".to_owned()
            }
            AsyncOp::Bulk(copy) => {
                if let BulkCompletion::Mbarrier(_) = copy.completion {
                    self.word(Aspect::Completion, "an mbarrier");
                } else {
                    self.word(Aspect::Completion, "a group");
                }
                self.number(Aspect::Bytes, copy.bytes.as_ref().and_then(constant));
                let is_tensor = [&copy.source, &copy.destination]
                    .into_iter()
                    .any(|end| matches!(end, BulkEnd::Tensor(_)));
                self.word(
                    Aspect::Form,
                    match (copy.multicast.is_some(), is_tensor) {
                        (false, false) => "bytes",
                        (false, true) => "tensor",
                        (true, false) => "bytes, multicast",
                        (true, true) => "tensor, multicast",
                    },
                );
                if copy.sem != Sem::Weak && copy.reduction.is_none() {
                    self.strength(copy.sem, copy.scope);
                }
                match copy.reduction {
                    Some(op) => format!("bulk {}", atomic(op)),
                    None => "bulk copy".to_owned(),
                }
            }
            AsyncOp::Commit(group) => format!("commit of {}", group_name(*group)),
            AsyncOp::Wait { group, pending, reads_only } => {
                self.number(Aspect::Count, Some((*pending).into()));
                self.word(Aspect::Form, if *reads_only { "until they have read" } else { "until done" });
                format!("wait for {}", group_name(*group))
            }
            AsyncOp::Store(store) => {
                self.strength(store.sem, store.scope);
                own()
            }
            AsyncOp::Tensor(TensorOp::Wait { stores }) => {
                self.word(Aspect::Form, if *stores { "st" } else { "ld" });
                "tcgen05.wait".to_owned()
            }
            AsyncOp::Tensor(TensorOp::Fence { before }) => {
                self.word(Aspect::Form, if *before { "before_thread_sync" } else { "after_thread_sync" });
                "tcgen05.fence".to_owned()
            }
            AsyncOp::Tensor(TensorOp::Allocate { columns, .. } | TensorOp::Free { columns, .. }) => {
                self.number(Aspect::Count, Some((*columns).into()));
                own()
            }
            AsyncOp::Tensor(_)
            | AsyncOp::TryCancel { .. }
            | AsyncOp::Matrix(_)
            | AsyncOp::Product(_)
            | AsyncOp::MatrixFence
            | AsyncOp::TensormapReplace { .. } => own(),
            AsyncOp::Prefetch { .. } | AsyncOp::QueryCancel { .. } | AsyncOp::Touch(_) => return None,
        })
    }
}

fn group_name(group: AsyncGroup) -> &'static str {
    match group {
        AsyncGroup::Copy => "cp.async groups",
        AsyncGroup::Bulk => "bulk groups",
        AsyncGroup::Matrix => "wgmma groups",
    }
}

fn atomic(op: AtomicOp) -> String {
    let name = match op {
        AtomicOp::Add => "add",
        AtomicOp::Inc => "inc",
        AtomicOp::Dec => "dec",
        AtomicOp::Min | AtomicOp::SignedMin => "min",
        AtomicOp::Max | AtomicOp::SignedMax => "max",
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::Exchange => "exchange",
        AtomicOp::CompareAndSwap => "compare-and-swap",
        AtomicOp::Float => "operation on floating-point numbers",
    };
    format!("atomic {name}")
}

/// The number that an expression of numbers is.
pub fn constant(expression: &Expression) -> Option<u128> {
    let whole = match &expression.kind {
        ExpressionKind::Constant(value) => *value,
        ExpressionKind::Convert(inner) => constant(inner)?,
        ExpressionKind::Binary(op, left, right) => {
            let (left, right) = (constant(left)?, constant(right)?);
            match op {
                BinaryOp::Add => left.checked_add(right)?,
                BinaryOp::Subtract => left.checked_sub(right)?,
                BinaryOp::Multiply => left.checked_mul(right)?,
                BinaryOp::Divide => left.checked_div(right)?,
                BinaryOp::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?)?,
                _ => return None,
            }
        }
        _ => return None,
    };
    let mask = if expression.width >= 128 { u128::MAX } else { (1 << expression.width) - 1 };
    Some(whole & mask)
}
