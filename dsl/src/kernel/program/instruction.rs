//! PTX instructions with their operands and every default filled in.

use super::{
    Address, AsyncOp, Expression, MbarrierOp, MultimemOp, ProxyFenceKind, RegisterId, SpaOp, StatementKind,
    Width,
};
use crate::kernel::isa::Form;
use crate::span::Span;
use crate::vocabulary::{FenceSem, Scope, Sem, SyncRestrict};

/// A PTX instruction with its defaults resolved.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The opcode as PTX would print it with every default written out, e.g. `ld.weak.global.u32`.
    pub text: String,
    /// Where the opcode (without operands) is.
    pub opcode_span: Span,
    /// In compiled code, the calls that lead to it, outermost first: the bodies of functions stand where they are called.
    pub calls: Vec<Span>,
    /// Its row in the table of instructions.
    pub form: &'static Form,
    /// What it does.
    pub kind: InstructionKind,
    /// The registers of its results, each of which may be nothing.
    pub results: Vec<Option<RegisterId>>,
    /// What was taken for its operands, in their order: all addresses and values of `kind` that are no defaults, and what has
    /// no meaning to the model. Dumps, the names of accesses, and whether a register is read, come from here.
    pub operands: Vec<ResolvedOperand>,
}

impl Instruction {
    /// The statement that executes it, outside of any call: from its opcode and where that is, its row, what it does, and its
    /// results and operands.
    pub fn statement(
        (text, opcode_span): (String, Span),
        form: &'static Form,
        kind: InstructionKind,
        (results, operands): (Vec<Option<RegisterId>>, Vec<ResolvedOperand>),
    ) -> StatementKind {
        let calls = Vec::new();
        StatementKind::Instruction(Box::new(Self { text, opcode_span, calls, form, kind, results, operands }))
    }
}

/// An operand of an instruction.
#[derive(Clone, Debug)]
pub enum ResolvedOperand {
    /// `[x]`
    Memory(Address),
    /// Registers that are an object.
    Registers(Address),
    /// A value.
    Value(Expression),
}

impl ResolvedOperand {
    /// Where it is.
    pub fn span(&self) -> Span {
        match self {
            Self::Memory(address) | Self::Registers(address) => address.span,
            Self::Value(value) => value.span,
        }
    }
}

impl Instruction {
    /// The address that a reader knows it by, if it has one.
    pub fn address(&self) -> Option<&Address> {
        let memory = self.operands.iter().find_map(|operand| match operand {
            ResolvedOperand::Memory(address) => Some(address),
            ResolvedOperand::Registers(_) | ResolvedOperand::Value(_) => None,
        });
        let mut registers = self.operands.iter().filter_map(|operand| match operand {
            ResolvedOperand::Registers(address) => Some(address),
            ResolvedOperand::Memory(_) | ResolvedOperand::Value(_) => None,
        });
        memory.or_else(|| registers.next())
    }
    /// The rule by which all lanes of the warp execute it together, if they must.
    pub fn aligned(&self) -> Option<&'static str> {
        self.form.aligned(&self.text)
    }
    /// Whether some architectures have it that later ones need not have.
    pub fn is_specific(&self) -> bool {
        let has = |word: &str| self.text.split('.').any(|written| written == word);
        let mut words = self.form.floors.iter();
        !self.form.floor.only.is_empty() || words.any(|(word, floor)| !floor.only.is_empty() && has(word))
    }
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub enum InstructionKind {
    /// A load, a store or an atomic.
    Access(AccessOp),
    /// `multimem`: an access of the instances of all devices (MM-7).
    Multimem(MultimemOp),
    /// A thread fence, or `membar` (which is `fence.sc`, FN-10).
    Fence {
        /// Its sem.
        sem: FenceSem,
        /// Its scope.
        scope: Scope,
        /// `.sync_restrict`: the objects it is about (FN-7, FN-8); then the scope is `Cluster`.
        restrict: Option<SyncRestrict>,
    },
    /// `fence.mbarrier_init.release.cluster`: releases earlier `mbarrier.init`s of the thread, nothing else (FN-9).
    MbarrierInitFence,
    /// `fence.proxy.alias` (FN-11).
    AliasFence,
    /// Any other proxy fence.
    ProxyFence(ProxyFenceKind),
    /// `tensormap.cp_fenceproxy`: copies 128 bytes and releases them to the tensormap proxy (FN-21).
    TensormapCopyFence {
        /// In global memory.
        destination: Address,
        /// In the own CTA's shared memory.
        source: Address,
        /// Scope of the release.
        scope: Scope,
    },
    /// `bar` / `barrier` (§3.1).
    Barrier {
        /// sync, arrive or red.
        kind: BarrierKind,
        /// Barrier id, 32 bits; constants are in 0..=15.
        id: Expression,
        /// Participating thread count, 32 bits; absent: all threads of the CTA.
        count: Option<Expression>,
        /// `.aligned` (always so for `bar`).
        aligned: bool,
        /// In litmus tests, the name of the dynamic round: executions meet if name and id are the same, whoever has any
        /// takes part, and the count is one of threads.
        instance: Option<u32>,
    },
    /// `bar.warp.sync mask` (BR-8).
    WarpSync {
        /// Mask of lanes, 32 bits.
        mask: Expression,
    },
    /// `barrier.cluster.arrive` (BR-9).
    ClusterArrive {
        /// `Release` or `Relaxed` (BR-14).
        sem: Sem,
        /// `.aligned`
        aligned: bool,
    },
    /// `barrier.cluster.wait`, which always acquires (BR-11).
    ClusterWait {
        /// `.aligned`
        aligned: bool,
    },
    /// `elect.sync`: waits for all lanes of the mask, chooses one; orders no memory (AS-42).
    ElectSync {
        /// Gets the chosen lane, 32 bits.
        leader: Option<RegisterId>,
        /// Gets 1 in the chosen lane and 0 elsewhere, 1 bit.
        predicate: Option<RegisterId>,
        /// Mask of lanes, 32 bits.
        mask: Expression,
    },
    /// `activemask`: any lanes, the own one among them; waits for nobody.
    ActiveMask {
        /// Gets the mask, 32 bits.
        destination: Option<RegisterId>,
    },
    /// `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`: waits for all lanes of the mask that have not exited, which tell one
    /// another values; orders no memory (MM-37).
    Exchange(Box<Exchange>),
    /// An `mbarrier` instruction (§4).
    Mbarrier(MbarrierOp),
    /// `getctarank`: the rank of the CTA that an address is in (AS-43).
    GetCtaRank {
        /// Gets the rank, 32 bits; `None` for `_`.
        destination: Option<RegisterId>,
        /// In shared memory; nothing is accessed.
        address: Address,
    },
    /// An asynchronous operation, or a wait for some (§5).
    Async(Box<AsyncOp>),
    /// `griddepcontrol`: how a grid and those that are launched to overlap with it wait for each other (AS-40).
    GridDependency(GridDependency),
    /// `setmaxnreg`: no memory effect; an increase may wait for registers that other warps give back (AS-41).
    SetMaxRegisters {
        /// `.inc` rather than `.dec`.
        increase: bool,
        /// Registers per thread: 24 to 256, a multiple of 8.
        count: u32,
    },
    /// `nanosleep`, `prefetch` and the like: nothing that the memory model knows of.
    Hint {
        /// Gets a cache policy or a mask of lanes, of which nothing is known.
        destination: Option<RegisterId>,
        /// What it is about.
        address: Option<Address>,
    },
    /// `MEMBAR` and cache control of SPA machines (§7).
    Spa(SpaOp),
}

/// What accesses memory in the thread itself.
#[derive(Clone, Debug)]
pub enum AccessOp {
    /// `ld`: one scalar read per element of a vector, unordered among themselves (MM-8).
    Load {
        /// One destination per element; `None` for `_`.
        destinations: Vec<Option<RegisterId>>,
        /// The first element.
        address: Address,
        /// `Weak`, `Relaxed`, `Acquire`, `Volatile` or `Mmio`.
        sem: Sem,
        /// `Sys` for volatile and mmio; meaningless (`Cta`) for weak.
        scope: Scope,
        /// `ld.global.nc`: through the texture proxy (MM-2).
        non_coherent: bool,
    },
    /// `st`.
    Store {
        /// One value per element.
        values: Vec<Expression>,
        /// The first element.
        address: Address,
        /// `Weak`, `Relaxed`, `Release`, `Volatile` or `Mmio`.
        sem: Sem,
        /// As for loads.
        scope: Scope,
    },
    /// `st.bulk`: a weak write of zero to each element, in no order among themselves.
    Fill {
        /// The first element, in the own CTA's shared memory; the rest follow, from row to row.
        address: Address,
        /// How much is filled: a multiple of 8.
        bytes: u32,
    },
    /// `atom`.
    Atomic {
        /// Gets the old value; `None` for the sink `_` (then it acquires nothing: A-7).
        destination: Option<RegisterId>,
        /// The operation.
        op: AtomicOp,
        /// One operand; two (compare, then swap) for CAS.
        operands: Vec<Expression>,
        /// Where.
        address: Address,
        /// `Relaxed`, `Acquire`, `Release` or `AcqRel`.
        sem: Sem,
        /// Scope.
        scope: Scope,
    },
    /// `red`: its read never acquires (MM-24).
    Reduction {
        /// The operation; not CAS, not exchange.
        op: AtomicOp,
        /// The operand.
        operand: Expression,
        /// Where.
        address: Address,
        /// `Relaxed` or `Release`.
        sem: Sem,
        /// Scope.
        scope: Scope,
    },
}

impl From<AccessOp> for InstructionKind {
    fn from(operation: AccessOp) -> Self {
        Self::Access(operation)
    }
}

impl From<AsyncOp> for InstructionKind {
    fn from(operation: AsyncOp) -> Self {
        Self::Async(Box::new(operation))
    }
}

/// Which form of `griddepcontrol`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum GridDependency {
    /// `.launch_dependents`: no order but that of MM-39.
    LaunchDependents,
    /// `.wait`: for the grids that this one was launched to overlap with, and all their memory operations.
    Wait,
}

/// What lanes of a warp tell one another.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Which instruction; only executions of the same one meet.
    pub kind: ExchangeKind,
    /// The lane's own value: 1 bit for a vote, 32 otherwise, 64 for some matches.
    pub value: Expression,
    /// Of a shuffle: lane or distance, and the clamp with the segments; 32 bits each.
    pub source: Option<[Expression; 2]>,
    /// Gets the result: 1 bit for a vote without ballot, 32 otherwise.
    pub destination: Option<RegisterId>,
    /// Gets whether a shuffle's lane is in range, or all values of a match are equal; 1 bit.
    pub predicate: Option<RegisterId>,
    /// Mask of lanes, 32 bits.
    pub mask: Expression,
}

/// Which instruction of those by which lanes tell one another values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExchangeKind {
    /// `shfl.sync`
    Shuffle(Shuffle),
    /// `vote.sync`
    Vote(Vote),
    /// `match.any.sync`, `match.all.sync`
    Match {
        /// Whether it asks if all lanes have the same value.
        all: bool,
        /// Of the values.
        width: Width,
    },
    /// `redux.sync`
    Reduce(LaneReduction),
}

impl ExchangeKind {
    /// As it is written, without types.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shuffle(Shuffle::Up) => "shfl.sync.up",
            Self::Shuffle(Shuffle::Down) => "shfl.sync.down",
            Self::Shuffle(Shuffle::Butterfly) => "shfl.sync.bfly",
            Self::Shuffle(Shuffle::Index) => "shfl.sync.idx",
            Self::Vote(Vote::All) => "vote.sync.all",
            Self::Vote(Vote::Any) => "vote.sync.any",
            Self::Vote(Vote::Uniform) => "vote.sync.uni",
            Self::Vote(Vote::Ballot) => "vote.sync.ballot",
            Self::Match { all: false, .. } => "match.any.sync",
            Self::Match { all: true, .. } => "match.all.sync",
            Self::Reduce(LaneReduction::Add) => "redux.sync.add",
            Self::Reduce(LaneReduction::Min | LaneReduction::SignedMin) => "redux.sync.min",
            Self::Reduce(LaneReduction::Max | LaneReduction::SignedMax) => "redux.sync.max",
            Self::Reduce(LaneReduction::And) => "redux.sync.and",
            Self::Reduce(LaneReduction::Or) => "redux.sync.or",
            Self::Reduce(LaneReduction::Xor) => "redux.sync.xor",
        }
    }

    /// Whether all lanes get the same.
    pub fn is_uniform(self) -> bool {
        matches!(self, Self::Vote(_) | Self::Match { all: true, .. } | Self::Reduce(_))
    }
}

/// Whose value a lane gets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Shuffle {
    /// That of the lane so far below.
    Up,
    /// That of the lane so far above.
    Down,
    /// That of the lane whose number differs in these bits.
    Butterfly,
    /// That of this lane of its segment.
    Index,
}

/// What is asked of the lanes' conditions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Vote {
    /// Whether all hold.
    All,
    /// Whether one holds.
    Any,
    /// Whether all are the same.
    Uniform,
    /// Which hold.
    Ballot,
}

/// How `redux.sync` combines the lanes' values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "PTX's names")]
pub enum LaneReduction {
    Add,
    Min,
    SignedMin,
    Max,
    SignedMax,
    And,
    Or,
    Xor,
}

/// Which form of `bar`.
#[derive(Clone, Debug)]
pub enum BarrierKind {
    /// Arrives and waits.
    Sync,
    /// Arrives only.
    Arrive,
    /// Arrives, waits and combines a predicate over the participants.
    Reduce {
        /// Gets the result: 32 bits for `popc`, 1 bit for `and`/`or`.
        destination: RegisterId,
        /// How to combine.
        op: BarrierReduction,
        /// Width 1 (a `!` before it is part of the expression).
        predicate: Expression,
    },
}

/// How `bar.red` combines predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "PTX's names")]
pub enum BarrierReduction {
    Popc,
    And,
    Or,
}

/// Operations of `atom` and `red`; `Signed*` for `.s32`/`.s64`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[expect(missing_docs, reason = "PTX's names")]
pub enum AtomicOp {
    Add,
    /// `old >= operand ? 0 : old + 1`
    Inc,
    /// `old == 0 || old > operand ? operand : old - 1`
    Dec,
    Min,
    Max,
    SignedMin,
    SignedMax,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// Any operation on floating-point numbers: what it makes of them is not computed.
    Float,
}
