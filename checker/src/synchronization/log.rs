//! What the threads of a launch have done at barriers and mbarriers, in order of threads and of each thread's program.
//!
//! The interpreter appends to these logs; nothing is stated before all threads are there.

use crate::event::{AgentId, CtaId, EventId, Hierarchy, TermPool, TermRef};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::BarrierReduction;
use std::collections::{BTreeMap, BTreeSet};

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
    /// `setmaxnreg` in one warp.
    Registers(u32),
}

impl Group {
    /// As a reader knows it.
    pub fn name(self, hierarchy: &Hierarchy) -> String {
        match self {
            Self::Cta(cta, id) => format!("barrier {id} of {}", hierarchy.describe_cta(cta)),
            Self::Instance(cta, instance, _) => {
                format!("instance {instance} of the barrier of {}", hierarchy.describe_cta(cta))
            }
            Self::Cluster(cluster) => format!("the cluster barrier of cluster {cluster}"),
            Self::Election(warp, mask) => format!("`elect.sync` of warp {warp} with mask {mask:#x}"),
            Self::Registers(warp) => format!("`setmaxnreg` of warp {warp}"),
            Self::Warp(warp, mask) => format!("the warp barrier of warp {warp} with mask {mask:#x}"),
        }
    }
}

/// How many arrivals on the group the thread has made before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
        terms.equal(a, b)
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
    pub passes: BTreeMap<(Group, u32), TermRef>,
    /// Executions of `barrier.cluster.wait`.
    pub cluster_waits: Vec<ClusterWait>,
    /// Executions of `setmaxnreg`.
    pub register_sets: Vec<RegisterSet>,
    /// Barriers of which counting does not say who meets, found out when the kernel was unrolled before.
    pub loose: BTreeSet<Group>,
}

impl BarrierLog {
    /// The thread count all executions agree on; `None` for all threads of the CTA, and where they do not (UB-B3 is
    /// stated of them).
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
    pub instances: BTreeMap<(u32, CodePath), BTreeMap<AgentId, (TermRef, EventId)>>,
    /// Per lane: guards of places it gets to, with the last place that has each.
    pub places: BTreeMap<AgentId, Vec<(TermRef, CodePath)>>,
}
