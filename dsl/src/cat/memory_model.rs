//! A resolved memory model: a DAG of sets and relations over events, and the axioms and flags stated over it.
//!
//! Functions are inlined, `include`s and `variant` choices are resolved, equal subterms share a node.

use crate::define_id;
use crate::index::IndexVec;
use crate::span::Span;

define_id! {
    /// A node of the model's DAG; operands have smaller ids than their users, except through [`RelationKind::Recursive`].
    pub struct TermId;
    /// A relation bound by `let rec`.
    pub struct RecursiveId;
}

/// A resolved `.cat` file.
#[derive(Clone, Debug)]
pub struct MemoryModel {
    /// The title string at its top, or its file name.
    pub name: String,
    /// Sets and relations.
    pub terms: IndexVec<TermId, Term>,
    /// The body of each `let rec` relation; they are least fixpoints, and recursion is positive.
    pub recursive: IndexVec<RecursiveId, TermId>,
    /// Top-level definitions by name, in order, for inspection and messages.
    pub definitions: Vec<(String, TermId)>,
    /// The variants it was loaded with.
    pub variants: Vec<String>,
    /// Its variants, as far as comments describe them, in order.
    pub described: Vec<Variant>,
    /// What every execution must satisfy.
    pub axioms: Vec<Axiom>,
    /// What is to be reported of an execution that satisfies the axioms.
    pub flags: Vec<Flag>,
}

impl MemoryModel {
    /// Operands of a term; a recursive relation's is its body.
    pub fn operands(&self, term: TermId) -> Vec<TermId> {
        match self.terms[term].kind {
            TermKind::Set(ref set) => match *set {
                SetKind::Base(_) | SetKind::Empty => vec![],
                SetKind::Union(a, b) | SetKind::Intersection(a, b) | SetKind::Difference(a, b) => vec![a, b],
                SetKind::Complement(a) | SetKind::Domain(a) | SetKind::Range(a) => vec![a],
            },
            TermKind::Relation(ref relation) => match *relation {
                RelationKind::Base(_) | RelationKind::Empty => vec![],
                RelationKind::Recursive(id) => vec![self.recursive[id]],
                RelationKind::Union(a, b)
                | RelationKind::Intersection(a, b)
                | RelationKind::Difference(a, b)
                | RelationKind::Sequence(a, b)
                | RelationKind::Product(a, b) => vec![a, b],
                RelationKind::Complement(a)
                | RelationKind::Inverse(a)
                | RelationKind::Optional(a)
                | RelationKind::TransitiveClosure(a)
                | RelationKind::ReflexiveTransitiveClosure(a)
                | RelationKind::Identity(a) => vec![a],
            },
        }
    }

    /// Which terms some terms are made of, those included.
    pub fn needed(&self, roots: &[TermId]) -> IndexVec<TermId, bool> {
        let mut needed = IndexVec::repeat(false, self.terms.len());
        let mut stack = roots.to_vec();
        while let Some(term) = stack.pop() {
            if !std::mem::replace(&mut needed[term], true) {
                stack.extend(self.operands(term));
            }
        }
        needed
    }
}

/// A variant of a model, as its file describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The question that it answers: a rule id.
    pub rule: String,
    /// What it does to executions.
    pub effect: Effect,
    /// What is so with it; of one that orders less, what is so without it.
    pub what: String,
}

/// What a variant does to the executions of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It allows fewer, or orders more in them: what is flagged without it may be ordered with it.
    OrdersMore,
    /// It allows more, or orders less in them: what is proved without it may be violated with it.
    OrdersLess,
    /// Some of both, or nobody has said.
    Other,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Term {
    /// Where it is written (the first of equal ones).
    pub span: Span,
    /// What it is.
    pub kind: TermKind,
}

/// A set or a relation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TermKind {
    /// A set of events.
    Set(SetKind),
    /// A binary relation over events.
    Relation(RelationKind),
}

/// Set operators; operands are set nodes unless said otherwise.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the operators of cat")]
pub enum SetKind {
    Base(BaseSet),
    Empty,
    Union(TermId, TermId),
    Intersection(TermId, TermId),
    Difference(TermId, TermId),
    Complement(TermId),
    /// `domain(r)`, of a relation node.
    Domain(TermId),
    /// `range(r)`, of a relation node.
    Range(TermId),
}

/// Relation operators; operands are relation nodes unless said otherwise.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the operators of cat")]
pub enum RelationKind {
    Base(BaseRelation),
    Empty,
    /// A relation of a `let rec`.
    Recursive(RecursiveId),
    Union(TermId, TermId),
    Intersection(TermId, TermId),
    Difference(TermId, TermId),
    Complement(TermId),
    /// `a ; b`
    Sequence(TermId, TermId),
    /// `a^-1`
    Inverse(TermId),
    /// `a?`
    Optional(TermId),
    /// `a+`
    TransitiveClosure(TermId),
    /// `a*`
    ReflexiveTransitiveClosure(TermId),
    /// `S * T`, of set nodes.
    Product(TermId, TermId),
    /// `[S]`, of a set node.
    Identity(TermId),
}

macro_rules! base_names {
    (
        $(#[$meta:meta])* $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }
        $($(#[$of_words:meta])* $by_word:ident { $($named:literal = $word:literal,)* })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $enum { $($(#[$doc])* $variant,)* $($(#[$of_words])* $by_word(&'static str),)? }
        impl $enum {
            /// All of them, with the names they have in a `.cat` file.
            pub const ALL: &'static [(Self, &'static str)] = &[
                $((Self::$variant, $name),)*
                $($((Self::$by_word($word), $named),)*)?
            ];
            /// The one called `name`.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().find(|(_, own)| *own == name).map(|(base, _)| *base)
            }
            /// Its name in a `.cat` file.
            pub fn name(self) -> &'static str {
                Self::ALL.iter().find(|(base, _)| *base == self).map_or("", |(_, name)| name)
            }
        }
    };
}

base_names! {
    /// Sets of events a `.cat` file may name.
    BaseSet {
        /// All events.
        All = "_",
        /// Reads, the read parts of atomics included.
        Read = "R",
        /// Writes, the write parts of atomics and initial writes included.
        Write = "W",
        /// Reads and writes.
        Memory = "M",
        /// Fences: thread fences (`fence`, `membar`) and proxy fences.
        Fence = "F",
        /// Initial writes.
        InitialWrite = "IW",
        /// Strong operations without order of their own.
        Relaxed = "RLX",
        /// Acquire operations and `fence.acquire`.
        Acquire = "ACQ",
        /// Release operations and `fence.release`.
        Release = "REL",
        /// `fence.acq_rel` (an `.acq_rel` atomic has an `ACQ` read and a `REL` write).
        AcquireRelease = "ACQ_REL",
        /// `fence.sc`.
        SequentiallyConsistent = "SC",
        /// Weak operations.
        Weak = "WEAK",
        /// Strong operations: strong reads and writes, and thread fences.
        Strong = "STRONG",
        /// Reads and writes of `atom`.
        Atomic = "ATOM",
        /// Reads and writes of `red`.
        Reduction = "RED",
        /// Reads and writes of `atom` with a sink destination; also among those of `atom`.
        Sink = "SINK",
        /// Reads whose value lets a waiting thread go on.
        Await = "AWAIT",
        /// Reads of a try of a spin loop that failed.
        Spin = "SPIN",
        /// Weak reads of compiled code whose result no instruction reads.
        Unread = "UNREAD",
        /// Arrivals at an execution barrier.
        BarrierArrive = "BAR-ARRIVE",
        /// Passages through an execution barrier.
        BarrierWait = "BAR-WAIT",
        /// What is counted by an mbarrier or cluster barrier: `mbarrier.arrive`, `barrier.cluster.arrive`, complete-tx.
        Signal = "SIGNAL",
        /// What passes once enough was counted: a successful mbarrier wait, `barrier.cluster.wait`.
        Observe = "OBSERVE",
        /// The complete-tx by which an asynchronous operation says that it is done; also in `SIGNAL`.
        CompleteTx = "COMPLETE-TX",
        /// Instructions that start an asynchronous operation.
        Issue = "ISSUE",
        /// Operations on mbarriers.
        Mbarrier = "MBAR",
        /// `mbarrier.init`.
        MbarrierInit = "MBAR-INIT",
        /// `mbarrier.inval`.
        MbarrierInval = "MBAR-INVAL",
        /// The start of a CTA, where a peer touches its shared memory.
        CtaStart = "CTA-START",
        /// The end of a CTA: all its threads have run to their ends.
        CtaExit = "CTA-EXIT",
        /// The end of a grid, in a program.
        GridEnd = "GRID-END",
        /// A call of the host's API that enqueues a grid or waits for one.
        ApiCall = "API-CALL",
        /// `griddepcontrol.launch_dependents`.
        LaunchDependents = "LAUNCH-DEPENDENTS",
        /// `fence.proxy.alias`.
        AliasFence = "ALIAS",
        /// `fence.proxy.alias.release.sys`.
        AliasRelease = "ALIAS-REL",
        /// `fence.proxy.alias.acquire.sys`.
        AliasAcquire = "ALIAS-ACQ",
        /// `fence.release.sync_restrict::shared::cta.cluster`; not in `REL`.
        RestrictedRelease = "RESTRICTED-REL",
        /// `fence.acquire.sync_restrict::shared::cluster.cluster`; not in `ACQ`.
        RestrictedAcquire = "RESTRICTED-ACQ",
        /// `fence.mbarrier_init.release.cluster`; not in `REL`.
        InitFence = "INIT-FENCE",
        /// Accesses through the generic proxy, thread fences, and `fence.proxy.generic`.
        Generic = "GEN",
        /// Accesses through the texture proxy, and `fence.proxy.texture`.
        Texture = "TEX",
        /// Accesses through the surface proxy, and `fence.proxy.surface`.
        Surface = "SUR",
        /// Accesses through the constant proxy, and `fence.proxy.constant`.
        Constant = "CON",
        /// Accesses through the async proxy, and `fence.proxy.async`.
        Async = "ASYNC",
        /// Accesses of registers that matrix operations access, too.
        Register = "REGISTER",
        /// Accesses through a multimem address.
        Multimem = "MULTIMEM",
        /// Accesses of tensor memory; those of threads themselves are deallocations.
        TensorMemory = "TMEM",
        /// `tcgen05.fence::before_thread_sync`.
        TensorBefore = "TC-BEFORE",
        /// `tcgen05.fence::after_thread_sync`.
        TensorAfter = "TC-AFTER",
        /// `tcgen05.alloc`.
        TensorAllocate = "TC-ALLOC",
        /// `tcgen05.relinquish_alloc_permit`.
        TensorRelinquish = "TC-RELINQUISH",
        /// `clusterlaunchcontrol.try_cancel`.
        TryCancel = "TRY-CANCEL",
        /// A thread sees that a `clusterlaunchcontrol.try_cancel` has failed.
        CancelFailed = "CANCEL-FAILED",
        /// Accesses through the tensormap proxy.
        Tensormap = "TMAP",
        /// `fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster`.
        AsyncRelease = "ASYNC-REL",
        /// `fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster`.
        AsyncReleaseReads = "ASYNC-REL-READS",
        /// `fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster`.
        AsyncAcquire = "ASYNC-ACQ",
        /// `fence.proxy.tensormap::generic.release`, and that of `tensormap.cp_fenceproxy`.
        TensormapRelease = "TMAP-REL",
        /// `fence.proxy.tensormap::generic.acquire`.
        TensormapAcquire = "TMAP-ACQ",
        /// `MEMBAR.CTA` of SPA machines, whatever it invalidates.
        MembarCta = "MEMBAR-CTA",
        /// `MEMBAR.VC`.
        MembarChannel = "MEMBAR-VC",
        /// `MEMBAR.GL`.
        MembarGlobal = "MEMBAR-GL",
        /// `MEMBAR.SYS`.
        MembarSystem = "MEMBAR-SYS",
        /// What invalidates the data L1: `CCTL.D.IVALL`, and each `MEMBAR` with `.IVALLD` or `.IVALLTD`.
        InvalidateData = "IVALLD",
        /// What invalidates the texture L1: `CCTLT.IVALL`, and each `MEMBAR` with `.IVALLT` or `.IVALLTD`.
        InvalidateTexture = "IVALLT",
        /// `CCTL.IV`, which accesses the line it invalidates in the sense of `loc`.
        InvalidateLine = "CCTL-IV",
        /// Strong operations of scope `.cta`.
        Cta = "CTA",
        /// … `.cluster`.
        Cluster = "CLUSTER",
        /// … `.gpu`.
        Gpu = "GPU",
        /// … `.sys`.
        Sys = "SYS",
    }
    /// What instructions do whose full spelling has this word: sets that are told by no more than that. `NC` is `ld.global.nc`,
    /// whose reads are not kept coherent; they are in `TEX`, too. `TCGEN05` is what `tcgen05` instructions do, and the
    /// operations that they start.
    Word {
        "NC" = "nc",
        "TCGEN05" = "tcgen05",
    }
}

base_names! {
    /// Relations a `.cat` file may name.
    BaseRelation {
        /// Identity.
        Identity = "id",
        /// Program order (MM-26): not between elements of one vector access.
        ProgramOrder = "po",
        /// Reads-from, from write to read; any common byte.
        ReadsFrom = "rf",
        /// Coherence order on overlapping writes: a transitive partial order chosen per execution.
        Coherence = "co",
        /// From-reads, per byte (§1.15): for some common byte the read returned a write that is `co`-before.
        FromReads = "fr",
        /// Both access a common physical byte.
        SameLocation = "loc",
        /// Both access a common physical byte through the same virtual mapping.
        SameVirtualLocation = "vloc",
        /// Both access exactly the same physical bytes.
        CompleteOverlap = "overlap-complete",
        /// From the read to the write of one atomic.
        ReadModifyWrite = "rmw",
        /// The address of the second depends on the value read by the first.
        AddressDependency = "addr",
        /// The value written by the second depends on the value read by the first.
        DataDependency = "data",
        /// Whether the second happens depends on the value read by the first.
        ControlDependency = "ctrl",
        /// The second is a write, and a branch on the value read by the first decides whether it happens or what it stores:
        /// the same write in another arm is the same write, and what comes after a loop or a wait is not decided by it.
        StoreControlDependency = "ctrl-store",
        /// The second stands behind a place that its thread need not have come to, had the read returned something else: a loop
        /// that it could go round for ever, or a branch with such a loop, or a barrier, on one way.
        PastControl = "ctrl-past",
        /// Same thread.
        Internal = "int",
        /// Different threads (initial writes are external to every thread).
        External = "ext",
        /// Each is in the scope of the other (both have a scope).
        SameScope = "sr",
        /// Same CTA.
        SameCta = "scta",
        /// Same cluster.
        SameCluster = "scluster",
        /// Threads of one SM of an SPA machine.
        SameSm = "ssm",
        /// Threads of SMs of one device, and clients on their virtual channel.
        SameChannel = "svc",
        /// Threads of SMs and clients of one device.
        SameDevice = "sgpu",
        /// The same home: the CTA of a thread, and of an operation on shared memory by an asynchronous agent the CTA whose
        /// memory it is; of its other operations the CTA that started it.
        SameHome = "home",
        /// From the instruction that starts an asynchronous operation to the events of that operation.
        Issue = "issue",
        /// From the instruction up to which its thread's program order counts for an asynchronous operation to the events of
        /// that operation: the one that starts it, or `wgmma.fence` for `wgmma.mma_async`.
        Start = "start",
        /// From what an asynchronous operation does to the instruction by which a thread knows that it is done.
        Completion = "completion",
        /// From what a `tcgen05` operation does to what another one of its CTA does that comes after it if it is started after
        /// it (AS-29).
        Pipelined = "pipelined",
        /// From an arrival to a passage of the same barrier instance (MM-34, MM-37).
        BarrierSynchronization = "syncbar",
        /// From what a thread that exited passed, awaited or decided on, to the barrier passages its exit brings about
        /// (BR-7). Orders nothing in memory.
        ExitRelease = "exitbar",
        /// From what a thread that exited did last to the barrier passages its exit brings about.
        ExitOrder = "exited",
        /// From an arrival to the waits that the phase it belongs to lets through, whatever their sems and scopes.
        Signals = "signals",
        /// Operations on one mbarrier, the second in a later phase than the first.
        PhaseOrder = "phase-order",
        /// From the start of a CTA to the events of its threads, and from those to its end. Orders nothing in memory.
        CtaLife = "cta-life",
        /// From the start of a CTA to what threads of other CTAs do in its shared memory, and from that to its end.
        PeerLife = "peer-life",
        /// Operations on one mbarrier in the same phase, of which the second is known to come after the first.
        InPhaseOrder = "in-phase-order",
        /// Arrivals at one execution barrier of which the first comes before the second.
        BarrierOrder = "bar-order",
        /// From what comes before the start or the end of a grid to that, and from there to what comes after (MM-38): the
        /// call that enqueues it, the ends of the grids that it follows, what its threads and their operations do, and the
        /// calls and `griddepcontrol.wait` that wait for its end.
        ApiSynchronization = "syncapi",
        /// To the start of a grid that was launched to overlap with another one: from the first
        /// `griddepcontrol.launch_dependents` of each CTA of that, or from what a CTA does that ends without (AS-40).
        Triggers = "triggers",
        /// From the end of a grid to the start of one that was launched to overlap with it. Orders nothing.
        Overlapping = "overlapping",
        /// Both are operations on the same mbarrier.
        SameMbarrier = "mbarloc",
        /// Writes by which lanes of a warp store one value to one place with one instruction of compiled code.
        SameStore = "same-store",
        /// From an operation on memory (an access, or one on an mbarrier) to a fence restricted to a state space or tensor
        /// map that this memory is in, or to `fence.proxy.async`; and from one restricted fence to another whose state space
        /// holds that of the first.
        Window = "window",
        /// Fence-SC order: an acyclic order of `fence.sc`, total on those in each other's scope, chosen per execution (MM-32).
        FenceSc = "sync_fence",
    }
}

/// A statement about every execution.
#[derive(Clone, Debug)]
pub struct Axiom {
    /// Its name (`as name`), or a generated one.
    pub name: String,
    /// What is claimed.
    pub kind: AxiomKind,
    /// Of which relation or set.
    pub term: TermId,
    /// Where.
    pub span: Span,
}

/// What an axiom claims of its term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the checks of cat")]
pub enum AxiomKind {
    Acyclic,
    Irreflexive,
    Empty,
}

/// `flag ~empty r as name`: an execution in which `r` has a member is to be reported.
///
/// A name `a.b` refines the flag `a`: it is evaluated on executions that were found to have `a`, to say more about them.
#[derive(Clone, Debug)]
pub struct Flag {
    /// Its name.
    pub name: String,
    /// The relation (or set) that must have a member.
    pub term: TermId,
    /// Where.
    pub span: Span,
}
