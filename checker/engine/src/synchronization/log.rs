//! What the threads of a launch have done at barriers, at mbarriers and with tensor memory, in order of threads and of each
//! thread's program.
//!
//! The interpreter appends to these logs; nothing is stated before all threads are there.

use super::exchange::ExchangeLog;
use crate::event::{AgentId, CtaId, EventId, Hierarchy, MbarrierId, SiteId, TermPool, TermRef};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{BarrierReduction, ExchangeKind, StorageId};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Threads a warp counts for, however many lanes the launch gives it (BR-2).
pub const WARP_SIZE: u32 = 32;

/// What the executions that can meet have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// A numbered barrier of a CTA.
    Cta(CtaId, u32),
    /// A named barrier instance of a litmus test; its executions meet if their ids are equal.
    ///
    /// With the id, where it is known: that is what the executions of a thread are counted by.
    Instance(CtaId, u32, Option<u32>),
    /// The barrier of a cluster.
    Cluster(u32),
    /// `bar.warp.sync` with one mask in one warp (of the launch).
    Warp(u32, u32),
    /// `elect.sync` with one mask in one warp.
    Election(u32, u32),
    /// An instruction by which lanes tell one another values, with one mask in one warp.
    Exchange(u32, u32, ExchangeKind),
    /// `setmaxnreg` in one warp.
    Registers(u32),
    /// An instruction of a whole warp at one place of the code.
    Collective(u32, SiteId),
}

impl Group {
    /// As a reader knows it.
    pub fn name(self, hierarchy: &Hierarchy) -> String {
        let of = |warp: u32| hierarchy.describe_warp(warp);
        match self {
            Self::Cta(cta, id) => format!("barrier {id} of {}", hierarchy.describe_cta(cta)),
            Self::Instance(cta, instance, _) => {
                format!("instance {instance} of the barrier of {}", hierarchy.describe_cta(cta))
            }
            Self::Cluster(cluster) => format!("the cluster barrier of cluster {cluster}"),
            Self::Election(warp, mask) => format!("`elect.sync` of {} with mask {mask:#x}", of(warp)),
            Self::Exchange(warp, mask, kind) => {
                format!("`{}` of {} with mask {mask:#x}", kind.name(), of(warp))
            }
            Self::Registers(warp) => format!("`setmaxnreg` of {}", of(warp)),
            Self::Collective(warp, _) => format!("an instruction of the whole {}", of(warp)),
            Self::Warp(warp, mask) => format!("the warp barrier of {} with mask {mask:#x}", of(warp)),
        }
    }
}

impl Group {
    /// As a reader knows it who knows where the thread is.
    pub fn short_name(self) -> String {
        match self {
            Self::Cta(_, id) => format!("barrier {id}"),
            Self::Instance(_, instance, _) => format!("barrier instance {instance}"),
            Self::Cluster(_) => "the cluster barrier".to_owned(),
            Self::Warp(_, mask) => format!("the warp barrier {mask:#x}"),
            Self::Election(_, mask) => format!("`elect.sync` {mask:#x}"),
            Self::Exchange(_, mask, kind) => format!("`{}` {mask:#x}", kind.name()),
            Self::Registers(_) => "`setmaxnreg`".to_owned(),
            Self::Collective(..) => "an instruction of the whole warp".to_owned(),
        }
    }
}

/// How many arrivals on the group the thread has made before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generation {
    /// The same on every path.
    Static(u32),
    /// 32 bits wide.
    Dynamic(TermRef),
}

impl Generation {
    /// 1 iff the two are the same.
    pub fn same(self, other: Self, terms: &mut TermPool) -> TermRef {
        if let (Self::Static(a), Self::Static(b)) = (self, other) {
            return TermPool::boolean(a == b);
        }
        let mut term = |generation| match generation {
            Self::Static(k) => terms.constant(u128::from(k), 32),
            Self::Dynamic(term) => term,
        };
        let (a, b) = (term(self), term(other));
        let ((least, most), (other_least, other_most)) = (terms.range(a), terms.range(b));
        if most < other_least || other_most < least {
            return TermPool::FALSE;
        }
        terms.equal(a, b)
    }

    /// The same where a guard holds: of a thread that comes there it is often known how often it has come before.
    pub fn same_where(self, other: Self, guard: TermRef, terms: &mut TermPool) -> TermRef {
        if guard == TermPool::FALSE {
            return TermPool::FALSE;
        }
        let same = self.same(other, terms);
        terms.known_where(guard, same)
    }
}

/// Which form of the instruction.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// It arrives and waits.
    Sync,
    /// It arrives.
    Arrive,
    /// It arrives, waits and combines predicates.
    Reduce {
        /// How.
        op: BarrierReduction,
        /// The thread's own.
        predicate: TermRef,
        /// What comes out.
        result: TermRef,
    },
}

/// One dynamic instance of a barrier instruction.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// What it can meet.
    pub group: Group,
    /// Whose.
    pub agent: AgentId,
    /// When the thread gets there.
    pub guard: TermRef,
    /// Which of the thread's on that group.
    pub generation: Generation,
    /// What it does.
    pub form: Form,
    /// Explicit thread count.
    pub count: Option<u32>,
    /// The id, 32 bits wide; known unless the barrier is an instance of a litmus test.
    pub id: TermRef,
    /// The arrival.
    pub arrive: EventId,
    /// The passage and its guard.
    pub wait: Option<(EventId, TermRef)>,
    /// In program order.
    pub position: u32,
    /// The statement.
    pub span: Span,
}

/// A dynamic instance of `barrier.cluster.wait`.
#[derive(Clone, Copy, Debug)]
pub struct ClusterWait {
    /// Whose.
    pub agent: AgentId,
    /// Of which cluster.
    pub cluster: u32,
    /// When the thread gets there.
    pub guard: TermRef,
    /// When it gets through.
    pub passed: TermRef,
    /// That of the last arrival before it.
    pub generation: u32,
    /// The passage.
    pub event: EventId,
    /// In program order.
    pub position: u32,
    /// The statement.
    pub span: Span,
}

/// Bits of a number of registers: of all threads of a CTA, one per lane.
pub const REGISTERS_WIDTH: u8 = 32;

/// A dynamic instance of `setmaxnreg`.
#[derive(Clone, Copy, Debug)]
pub struct RegisterSet {
    /// Whose.
    pub agent: AgentId,
    /// How many its thread has executed before.
    pub turn: u32,
    /// When the thread gets there.
    pub guard: TermRef,
    /// When it gets through.
    pub passed: TermRef,
    /// The passage.
    pub wait: EventId,
    /// In program order.
    pub position: u32,
    /// Whether it takes registers; else it gives some back.
    pub increase: bool,
    /// Registers of the thread afterwards.
    pub count: u32,
    /// Registers of the thread before, [`REGISTERS_WIDTH`] bits wide.
    pub before: TermRef,
}

/// All barrier executions.
#[derive(Default)]
pub struct BarrierLog {
    /// Arrivals, with the passages of those that wait.
    pub executions: Vec<Execution>,
    /// Per group and static generation: whether it completes.
    pub passes: SortedMap<(Group, u32), TermRef>,
    /// The same where the generation is a term: who counts the same arrives at the same instance.
    pub dynamic_passes: SortedMap<(Group, TermRef), TermRef>,
    /// Executions of `barrier.cluster.wait`.
    pub cluster_waits: Vec<ClusterWait>,
    /// What lanes of warps told one another.
    pub exchanges: ExchangeLog,
    /// Executions of `setmaxnreg`.
    pub register_sets: Vec<RegisterSet>,
    /// Barriers of which counting does not say who meets, found out when the kernel was unrolled before.
    pub loose: SortedSet<Group>,
}

impl BarrierLog {
    /// Of each group, the executions by index.
    pub fn groups(&self) -> SortedMap<Group, Vec<usize>> {
        let mut groups: SortedMap<Group, Vec<usize>> = SortedMap::new();
        for (index, execution) in self.executions.iter().enumerate() {
            groups.entry(execution.group).or_default().push(index);
        }
        groups
    }

    /// Whether executions give different thread counts.
    pub fn is_mixed(&self, hierarchy: &Hierarchy, executions: &[usize]) -> bool {
        let count = |index: usize| self.effective_count(hierarchy, index);
        executions.windows(2).any(|pair| count(pair[0]) != count(pair[1]))
    }

    /// The thread count all executions agree on; `None` for all threads of the CTA, and where they do not.
    pub fn common_count(&self, hierarchy: &Hierarchy, executions: &[usize]) -> Option<u32> {
        let mut counts = executions.iter().map(|&index| self.effective_count(hierarchy, index));
        let count = counts.next()?;
        let is_uniform = counts.all(|other| other == count);
        (is_uniform && count != self.all_of_cta(hierarchy, executions[0])).then_some(count)
    }

    /// The thread count of an execution, written out.
    pub fn effective_count(&self, hierarchy: &Hierarchy, index: usize) -> u32 {
        self.executions[index].count.unwrap_or_else(|| self.all_of_cta(hierarchy, index))
    }

    /// The thread count of the CTA of an execution.
    fn all_of_cta(&self, hierarchy: &Hierarchy, index: usize) -> u32 {
        hierarchy.launch_of(self.executions[index].agent).warps.saturating_mul(WARP_SIZE)
    }
}

/// The way to a statement: per nested block the iteration of its loop and the statement's place in the text.
///
/// Ordered as the code runs.
pub type CodePath = Vec<(u32, u32)>;

/// Who executes which instance of an aligned instruction, and where else each lane gets.
#[derive(Default)]
pub struct AlignedLog {
    /// Per warp and instance: the lanes' guards, and what they execute.
    pub instances: SortedMap<(u32, CodePath), SortedMap<AgentId, (TermRef, EventId)>>,
    /// Per lane: guards of places it gets to, with the last place that has each.
    pub places: SortedMap<AgentId, Vec<(TermRef, CodePath)>>,
}

/// Bits of a phase number.
pub const PHASE_WIDTH: u8 = 8;
/// Most that the tx-count can be, and the least with its sign changed (§4.1).
pub const TX_MAX: i64 = (1 << 20) - 1;
/// Bits of a pending count.
pub const PENDING_WIDTH: u8 = 20;

/// One dynamic instance of an operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Whose.
    pub agent: AgentId,
    /// On what.
    pub object: MbarrierId,
    /// Happens iff this is 1; for a wait, it returned true.
    pub guard: TermRef,
    /// Its event.
    pub event: EventId,
    /// What it does.
    pub kind: OperationKind,
    /// In program order.
    pub position: u32,
    /// The statement.
    pub span: Span,
    /// The phase it happens in.
    pub phase: TermRef,
    /// For what an asynchronous operation does, where it was started: it comes after all before that, but before nothing
    /// after it.
    pub issued: Option<(AgentId, u32)>,
}

impl Operation {
    /// Whether it surely comes before another by program order.
    pub fn precedes(&self, other: &Self) -> bool {
        (self.agent == other.agent && self.position < other.position)
            || other.issued.is_some_and(|(agent, at)| self.agent == agent && self.position < at)
    }
    /// Whether what waits for a phase is let through by it.
    pub fn is_signal(&self) -> bool {
        self.kind.arrivals() > 0
            || (self.issued.is_some() && matches!(self.kind, OperationKind::Complete { .. }))
    }
}

#[derive(Clone, Copy, Debug)]
pub enum OperationKind {
    /// The object is one from here on.
    Init {
        /// Arrivals of a phase.
        count: u32,
    },
    /// It is none any more.
    Inval,
    /// Bytes are announced.
    Expect {
        /// How many.
        bytes: u32,
    },
    /// Bytes have been delivered.
    Complete {
        /// How many.
        bytes: u32,
    },
    /// One more arrival is pending in this phase (`cp.async.mbarrier.arrive` without `.noinc`).
    Raise,
    /// Arrivals.
    Arrive {
        /// How many.
        count: u32,
        /// Bytes that are announced with them.
        expects: u32,
        /// Whether later phases expect that many fewer.
        drops: bool,
        /// 1 iff its phase has fewer arrivals pending than it brings.
        excess: Option<TermRef>,
        /// It must not complete the phase.
        no_complete: bool,
        /// The pending count that it finds, [`PENDING_WIDTH`] bits, where somebody asks.
        pending: Option<TermRef>,
    },
    /// Through phases of the other parity, 1 bit.
    WaitParity {
        /// Which it must not find.
        parity: TermRef,
    },
    /// Through phases after that of a state, [`PHASE_WIDTH`] bits.
    WaitState {
        /// What the arrive returned.
        state: TermRef,
    },
}

impl OperationKind {
    /// How many arrivals it counts for.
    pub fn arrivals(self) -> u32 {
        match self {
            Self::Arrive { count, .. } => count,
            _ => 0,
        }
    }
    /// What it adds to the pending count.
    pub fn pending(self) -> i64 {
        match self {
            Self::Arrive { count, .. } => -i64::from(count),
            Self::Raise => 1,
            _ => 0,
        }
    }
    /// What it adds to the tx-count.
    pub fn bytes(self) -> i64 {
        match self {
            Self::Arrive { expects: bytes, .. } | Self::Expect { bytes } => i64::from(bytes),
            Self::Complete { bytes } => -i64::from(bytes),
            _ => 0,
        }
    }
    /// Whether it waits.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::WaitParity { .. } | Self::WaitState { .. })
    }
    /// Whether it begins or ends the object's life.
    pub fn is_life(self) -> bool {
        matches!(self, Self::Init { .. } | Self::Inval)
    }
    /// Whether a wait returns true when so many phases are complete.
    pub fn passes_in(self, terms: &mut TermPool, completed: TermRef) -> TermRef {
        match self {
            Self::WaitParity { parity } => {
                let current = terms.resize(completed, 1);
                let same = terms.equal(current, parity);
                terms.not(same)
            }
            Self::WaitState { state } => terms.less(state, completed),
            _ => TermPool::TRUE,
        }
    }
    /// Whether the object is another one after it.
    pub fn changes(self) -> bool {
        !self.is_wait() && !self.is_life()
    }
}

/// All operations on mbarriers.
#[derive(Default)]
pub struct MbarrierLog {
    /// In order of threads.
    pub operations: Vec<Operation>,
    /// What tries on final memory ask.
    pub final_phases: Vec<FinalPhase>,
}

/// What a try on final memory asks of an object.
#[derive(Clone, Copy)]
pub struct FinalPhase {
    /// Whose.
    pub agent: AgentId,
    /// In program order.
    pub position: u32,
    /// When the try gets there.
    pub guard: TermRef,
    /// The statement.
    pub span: Span,
    /// Of which object.
    pub object: MbarrierId,
    /// What it waits for.
    pub kind: OperationKind,
    /// How many phases the object completes.
    pub completed: TermRef,
}

/// How far the log had got.
#[derive(Clone, Copy)]
pub struct MbarrierMark {
    n_operations: usize,
}

impl MbarrierLog {
    /// The present extent of the log.
    pub fn mark(&self) -> MbarrierMark {
        MbarrierMark { n_operations: self.operations.len() }
    }
    /// Forgets the operations logged since; objects stay.
    pub fn take_back(&mut self, mark: MbarrierMark, terms: &TermPool) {
        self.operations.truncate(mark.n_operations);
        self.final_phases.retain(|last| terms.contains(last.completed));
    }
}

/// Columns taken or given back.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// Whose.
    pub cta: CtaId,
    /// By which thread.
    pub agent: AgentId,
    /// In program order.
    pub position: u32,
    /// When.
    pub guard: TermRef,
    /// How many.
    pub columns: u32,
    /// What is given back; `None` for an allocation.
    pub freed: Option<StorageId>,
    /// `tmem` objects that the kernel has.
    pub n_objects: usize,
    /// The operand.
    pub span: Span,
}
