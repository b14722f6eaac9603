//! The graph that holds the events of a launch, and what hangs on them; what events can be is in [`kind`](super::kind).

use super::{
    Access, AgentId, CtaId, Edges, EventId, EventKind, Hierarchy, LocationId, MbarrierId, SiteId, TermPool,
    TermRef, UnknownId,
};
use crate::findings::MisuseKind;
use fencepost_dsl::kernel::program::{FinalKind, InitialBytes, Launch, LoopId, Quantifier, StorageId};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::{IndexVec, Span};
use std::fmt;
use std::sync::Arc;

/// Everything one launch can do, up to the loop bound.
///
/// Invariants: events of an agent ascend in `position`; then come starts and ends of grids and CTAs, and initial writes last;
/// every term in the graph belongs to `terms`.
#[derive(Clone, Debug)]
pub struct EventGraph {
    /// The threads.
    pub hierarchy: Hierarchy,
    /// Guards, addresses and values.
    pub terms: TermPool,
    /// Instances of storages.
    pub locations: IndexVec<LocationId, Location>,
    /// Static instructions.
    pub sites: IndexVec<SiteId, Site>,
    /// The events.
    pub events: IndexVec<EventId, Event>,
    /// From the read to the write part of each atomic.
    pub rmw: Vec<(EventId, EventId)>,
    /// Per thread: 1 iff it ran to its end.
    pub completed: IndexVec<AgentId, TermRef>,
    /// Terms that are 1 in every execution (assumptions, what passing a wait means, parameter ranges).
    pub constraints: Vec<Constraint>,
    /// Whether an `assume` may leave executions out.
    pub assumes: bool,
    /// Terms that are 1 in the executions that stand for others like them (`relation::symmetry`).
    pub representative: Vec<TermRef>,
    /// What must hold: assertions, array bounds.
    pub obligations: Vec<Obligation>,
    /// Where unrolling stopped.
    pub cuts: Vec<LoopCut>,
    /// Where threads can stop for good; filled only if [`crate::unroll::UnrollOptions::hangs`] asks for it.
    pub blocked: Vec<Blocked>,
    /// Tries of waits that may write (what is there already), so that others may read from them.
    pub writing_tries: Vec<UnknownId>,
    /// `reachable` statements.
    pub reachables: Vec<Reachable>,
    /// Conditions on final memory.
    pub finals: Vec<FinalGoal>,
    /// What a litmus test asks of its final states.
    pub condition: Option<ConditionGoal>,
    /// From reads to the stores that a branch on them decides, in a part of a launch: what the whole says, since it takes
    /// all of a thread's stores to tell. `None` where the graph has them all.
    pub decided_stores: Option<Vec<(EventId, EventId)>>,
    /// Pairs that count under a condition, by relation.
    pub edges: Edges,
    /// mbarrier objects.
    pub mbarriers: IndexVec<MbarrierId, Mbarrier>,
    /// Barriers at which an execution decides who meets.
    pub loose: Vec<LooseBarrier>,
    /// What threads do in the shared memory of another CTA, and that CTA's start and end (LT-1).
    pub peer_accesses: Vec<PeerAccess>,
    /// Clusters that need not have started, in order: 1 iff that one has (LT-6). Empty where all run at the same time,
    /// or where none waits for another.
    pub starts: Vec<TermRef>,
    /// The symbolic parameters, for reports.
    pub parameters: Vec<(String, UnknownId)>,
    /// Which barrier an arrival or a passage is of, for reports.
    pub meetings: SortedMap<EventId, Meeting>,
    /// How many reads of matrices lanes share with one that was there before them.
    pub n_read_together: usize,
    /// How many lanes are never elected, since others stand for them.
    pub n_unelected: usize,
    /// How many loads are what one store has written.
    pub n_forwarded: usize,
    /// Events of rounds that all threads of a CTA make together, of which those without effect count as one.
    pub cta_rounds: Vec<EventId>,
}

/// Which barrier a thread arrives at or passes.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// As a reader knows it who knows where the thread is: `barrier 1`.
    pub name: Arc<str>,
    /// How many times the thread has arrived there before.
    pub generation: Turn,
    /// Whether it is one of a CTA that has a number.
    pub is_of_cta: bool,
}

/// A number that is the same in every execution, or not.
#[derive(Clone, Copy, Debug)]
pub enum Turn {
    /// It is.
    Known(u32),
    /// 32 bits wide.
    Term(TermRef),
}

impl EventGraph {
    /// The graph of a launch whose threads do nothing.
    pub fn empty(launch: &Launch) -> Self {
        Self::of(Hierarchy::new(launch))
    }

    /// The graph of threads that do nothing.
    pub fn of(hierarchy: Hierarchy) -> Self {
        let completed = IndexVec::repeat(TermPool::TRUE, hierarchy.n_threads());
        Self {
            hierarchy,
            terms: TermPool::new(),
            locations: IndexVec::new(),
            sites: IndexVec::new(),
            events: IndexVec::new(),
            rmw: Vec::new(),
            completed,
            constraints: Vec::new(),
            assumes: false,
            representative: Vec::new(),
            obligations: Vec::new(),
            cuts: Vec::new(),
            blocked: Vec::new(),
            writing_tries: Vec::new(),
            reachables: Vec::new(),
            finals: Vec::new(),
            condition: None,
            decided_stores: None,
            edges: Edges::default(),
            mbarriers: IndexVec::new(),
            loose: Vec::new(),
            peer_accesses: Vec::new(),
            starts: Vec::new(),
            parameters: Vec::new(),
            meetings: SortedMap::new(),
            n_read_together: 0,
            n_unelected: 0,
            n_forwarded: 0,
            cta_rounds: Vec::new(),
        }
    }
}

impl EventGraph {
    /// Whether an event is part of an asynchronous operation; what no thread started is not.
    pub fn is_of_operation(&self, event: EventId) -> bool {
        self.events[event].agent.is_some_and(|agent| self.hierarchy.is_operation(agent))
    }

    /// The memory that an event is about: that it accesses, or that its mbarrier is in.
    pub fn location_of(&self, kind: &EventKind) -> Option<LocationId> {
        match kind {
            EventKind::Mbarrier(operation) => Some(self.mbarriers[operation.object].location),
            kind => kind.access().map(|access| access.location),
        }
    }

    /// Whether the thread's cluster has started.
    pub fn started(&self, agent: AgentId) -> TermRef {
        let cluster = self.hierarchy.cluster_of(agent) as usize;
        self.starts.get(cluster).copied().unwrap_or(TermPool::TRUE)
    }
}

/// An access of one CTA's shared memory, or an operation on its mbarrier, by a thread of another CTA or an asynchronous
/// operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerAccess {
    /// The access.
    pub access: EventId,
    /// Whose memory it is.
    pub owner: CtaId,
    /// The start of that CTA.
    pub start: EventId,
    /// Its end.
    pub exit: EventId,
}

/// An mbarrier object.
#[derive(Clone, Debug)]
pub struct Mbarrier {
    /// As a reader knows it: `full[0] of cta 1`.
    pub name: InstanceName,
    /// The bytes it is in.
    pub location: LocationId,
    /// Its first byte.
    pub offset_bytes: u32,
    /// Whether bytes are delivered there, or threads drop out, and all the same no arrival is one too many.
    pub is_never_full: bool,
    /// Whether only what happens to it where all threads run in turns is stated.
    pub is_in_turns: bool,
    /// What happens to it, in order of threads and program order.
    pub operations: Vec<PhasedOperation>,
    /// Where it is invalidated, the phase that it is in then, and the first that it can be in.
    pub invalidations: Vec<(TermRef, u32)>,
    /// Per phase: what it expects, and a term that is 1 iff it and all before it are complete.
    pub phases: Vec<PhaseTerms>,
}

impl Mbarrier {
    /// Which bytes it is in: what it is known by from one run of the threads to the next.
    pub fn place(&self) -> (LocationId, u32) {
        (self.location, self.offset_bytes)
    }
}

/// An operation on an mbarrier with the phase it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct PhasedOperation {
    /// Its event.
    pub event: EventId,
    /// The phase in which it happens.
    pub phase: TermRef,
    /// Arrivals it counts for.
    pub arrivals: u32,
    /// Bytes it announces, less those it completes.
    pub bytes: i64,
    /// The first phase in which it can be.
    pub first: u32,
    /// Of a wait: 1 iff it is let through in its phase; of all others 1.
    pub passes: TermRef,
    /// Whether later phases do not expect its arrivals any more.
    pub drops: bool,
    /// Of an arrival that may be one too many: 1 iff it is, and does not count.
    pub excess: Option<TermRef>,
}

/// A phase of an mbarrier.
#[derive(Clone, Copy, Debug)]
pub struct PhaseTerms {
    /// Arrivals it expects.
    pub expected: TermRef,
    /// 1 iff it and all before it are complete.
    pub complete: TermRef,
}

/// A barrier at which an execution decides who meets: whichever warps come first.
#[derive(Clone, Debug)]
pub struct LooseBarrier {
    /// What warps do there, each in the order in which it does.
    pub arrivals: Vec<LooseArrival>,
    /// Per generation: how many warps make it.
    pub needed: Vec<TermRef>,
}

/// A warp's arrival at one.
#[derive(Clone, Debug)]
pub struct LooseArrival {
    /// Which warp.
    pub warp: u32,
    /// What its lanes do, in one way or another, and the number of each in its warp.
    pub lanes: Vec<(EventId, u32)>,
    /// Lanes of the warp.
    pub n_lanes: usize,
    /// Where they wait.
    pub waits: Vec<EventId>,
    /// 1 iff the warp came back before its last generation was full, if it can.
    pub early: Option<TermRef>,
    /// The generation that it is of.
    pub generation: TermRef,
    /// The lane that comes last, if there are several.
    pub last: Option<TermRef>,
    /// How many warps it says make the generation.
    pub warps: TermRef,
}

/// What a reader calls one of several instances of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstanceName {
    whole: String,
    /// Where the name of the object ends.
    stem_bytes: usize,
}

impl InstanceName {
    /// The name of an object, and which instance it is: ` of cta 1`, or nothing.
    pub fn new(stem: &str, instance: &str) -> Self {
        Self { whole: format!("{stem}{instance}"), stem_bytes: stem.len() }
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.whole
    }

    /// The name of the object.
    pub fn stem(&self) -> &str {
        &self.whole[..self.stem_bytes]
    }

    /// ` of cta 1`, or nothing.
    pub fn instance(&self) -> &str {
        &self.whole[self.stem_bytes..]
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole)
    }
}

/// One instance of a storage.
#[derive(Clone, Debug)]
pub struct Location {
    /// The storage.
    pub storage: StorageId,
    /// Name of the first object declared over it, for messages (`flag`, `tile of cta 1`).
    pub name: InstanceName,
    /// Whether it is registers of one thread.
    pub is_register: bool,
    /// The virtual mappings of it that are multimem addresses (MM-7).
    pub multimem: Vec<u32>,
    /// Whether it is tensor memory of one CTA.
    pub is_tensor: bool,
    /// Its size.
    pub size_bytes: u32,
    /// Its initial contents.
    pub initial: InitialBytes,
    /// Whose shared memory it is in; `None` for global memory.
    pub cta: Option<CtaId>,
}

/// A static instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Site {
    /// The statement's place.
    pub span: Span,
    /// The opcode with every default written out.
    pub text: String,
    /// The memory operand as written, e.g. `[flag]`; empty for instructions without.
    pub operand: String,
    /// Whether a compiler wrote it.
    pub is_compiled: bool,
    /// Whether it is a load of compiled code whose result no instruction reads.
    pub is_unread: bool,
}

impl Site {
    /// What is no access.
    pub fn of_text(span: Span, text: String) -> Self {
        Self { span, text, operand: String::new(), is_compiled: false, is_unread: false }
    }

    /// Whether the opcode has this word.
    pub fn has_word(&self, word: &str) -> bool {
        self.text.split('.').any(|written| written == word)
    }
}

/// One dynamic instance of (a part of) an instruction.
#[derive(Clone, Debug)]
pub struct Event {
    /// The thread; `None` for initial writes, and for the start and end of a CTA.
    pub agent: Option<AgentId>,
    /// Happens iff this is 1.
    pub guard: TermRef,
    /// Program order: earlier position, earlier event. Elements of one vector access share a position.
    pub position: u32,
    /// What it is.
    pub kind: EventKind,
    /// The instruction; `None` for initial writes.
    pub site: Option<SiteId>,
    /// Iteration (from 0) of each enclosing loop and call-site loop, outermost first.
    pub iterations: Vec<u32>,
    /// The calls by which the thread came here, outermost first.
    pub calls: Vec<Span>,
    /// Its part in a spin loop.
    pub role: Role,
    /// Whether it is a read on which it depends that its thread gets out of a loop that it could go round for ever,
    /// however that loop is run.
    pub decides: bool,
}

/// An event's part in a spin loop (`await`, or a loop recognised as one).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// None.
    Plain,
    /// It belongs to a try that failed; the unknown says whether that try is in the execution.
    ///
    /// Tries that fail have no effect on others, so one of them stands for all (`unroll::wait` has the argument and what it
    /// needs); it is kept only because it may itself race.
    Spin(UnknownId),
    /// It belongs to the try that succeeded.
    Await,
}

/// A term that is 1 in every execution.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// The term.
    pub term: TermRef,
}

/// A condition that must be 1 whenever its guard is.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// What it is about.
    pub kind: ObligationKind,
    /// Whose.
    pub agent: AgentId,
    /// When it counts.
    pub guard: TermRef,
    /// What must hold.
    pub condition: TermRef,
    /// The statement (or memory operand).
    pub span: Span,
    /// Iterations of the enclosing loops.
    pub iterations: Vec<u32>,
    /// The calls by which the thread came here, outermost first.
    pub calls: Vec<Span>,
    /// Position in program order.
    pub position: u32,
}

/// What an obligation is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObligationKind {
    /// `assert`.
    Assertion,
    /// An index must lie inside its object. Events after a violation are not in the execution.
    Bounds {
        /// Object name.
        object: String,
        /// Number of elements.
        n_elements: u64,
        /// The flattened element index.
        index: TermRef,
    },
    /// A rule about barriers, mbarriers, asynchronous operations or alignment. Events after a violation are not in the execution.
    Discipline(Misuse),
}

/// A rule, and what breaking it would be: a row of [`crate::findings`] and the facts of its places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misuse {
    /// Its row.
    pub kind: &'static MisuseKind,
    /// What its words leave open, by name.
    pub facts: Vec<(&'static str, Fact)>,
}

impl Misuse {
    /// One without facts.
    pub fn new(kind: &'static MisuseKind) -> Self {
        Self { kind, facts: Vec::new() }
    }

    /// The same with a fact.
    #[must_use]
    pub fn with(mut self, place: &'static str, fact: impl Into<Fact>) -> Self {
        self.facts.push((place, fact.into()));
        self
    }

    /// Whether every place that its words leave open has a fact.
    pub fn is_complete(&self) -> bool {
        let mut places = self.kind.what.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        places.all(|place| self.facts.iter().any(|&(known, _)| known == place))
    }

    /// Its page: `mbarrier::kebab-name`.
    pub fn code(&self) -> &'static str {
        self.kind.kind.code
    }
}

/// What the words of a misuse leave open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// An mbarrier.
    Mbarrier(MbarrierId),
    /// A number.
    Number(u128),
    /// A mask of lanes.
    Mask(u32),
    /// Lanes that do not take part: how many, and one of them.
    Lanes(usize, AgentId),
    /// The name of an object or a barrier, or an instruction.
    Name(String),
}

impl From<MbarrierId> for Fact {
    fn from(object: MbarrierId) -> Self {
        Self::Mbarrier(object)
    }
}

impl From<u32> for Fact {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u128> for Fact {
    fn from(number: u128) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Fact {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

/// A place where unrolling stopped.
#[derive(Clone, Debug)]
pub struct LoopCut {
    /// The static loop.
    pub id: LoopId,
    /// The loop's head.
    pub span: Span,
    /// Whose.
    pub agent: AgentId,
    /// 1 iff the thread wants another iteration.
    pub guard: TermRef,
    /// What makes the loop more than a wait.
    pub because: Because,
    /// Whether the thread could go round it for ever, so that it need not come to what is behind it.
    pub spins: bool,
}

/// Why the number of rounds of a loop matters, so that it has a bound.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Because {
    /// It goes round as often as a value says that is not known before.
    TripCount,
    /// Loops were not to be taken for waits: nobody wanted it, or the model does not allow it.
    Unwound,
    /// A statement of its body has an effect each time: a barrier, a signal, an asynchronous operation.
    Meets(Span),
    /// A round writes what was not there, and may go round again.
    Writes(Span),
    /// A round writes back what it has read, there, where others race for the word.
    WritesBack(Span),
    /// A round reads weakly, there, what it or the one before it may have written.
    ReadsOwnWrites(Span),
    /// A round reads a register that an earlier one has set.
    Carries {
        /// Its name, if it has one in the text.
        register: Option<String>,
    },
}

/// A dynamic instance of an instruction or loop at which a thread can stop for good.
#[derive(Clone, Debug)]
pub struct Blocked {
    /// Whose.
    pub agent: AgentId,
    /// The statement, or the loop's head.
    pub span: Span,
    /// Iterations of the enclosing loops.
    pub iterations: Vec<u32>,
    /// The calls by which the thread came here, outermost first.
    pub calls: Vec<Span>,
    /// 1 iff the thread stands there at the end and nothing that has happened lets it go on.
    pub stuck: TermRef,
    /// What it waits for.
    pub wait: Wait,
}

impl Blocked {
    /// Whether the thread is on a device while it waits, so that what has not started may have to wait for it.
    pub fn is_resident(&self, hierarchy: &Hierarchy) -> bool {
        !matches!(self.wait, Wait::Grids { is_start: true, .. }) && !hierarchy.is_host(self.agent)
    }
}

/// What a blocked thread waits for.
#[derive(Clone, Debug)]
pub enum Wait {
    /// For memory to change: what each read of a spin loop's last try finds.
    Memory(Vec<FinalLook>),
    /// For a phase of an mbarrier to complete.
    Phase {
        /// The instruction.
        site: SiteId,
        /// The object.
        object: MbarrierId,
        /// The number of phases completed in the end.
        completed: TermRef,
        /// When the try gets there.
        guard: TermRef,
        /// By parity: how many phases are complete where the wait passes for the earliest one of that parity that the thread
        /// cannot know of. None, where that is the one before the first.
        passes: Option<u32>,
    },
    /// For grids to end: before a grid starts, or by the host or `griddepcontrol.wait`.
    Grids {
        /// As a reader knows them.
        names: Vec<String>,
        /// Their threads, and a term that is 1 iff they have ended.
        awaited: Arc<[(AgentId, TermRef)]>,
        /// Whether a grid has not started for it, so that its threads hold nothing up.
        is_start: bool,
    },
    /// For others to arrive at a barrier.
    Barrier {
        /// The instruction.
        site: SiteId,
        /// As a reader knows it: `barrier 1 of cta 0`.
        name: String,
        /// Who is waited for, and a term that is 1 iff they have done their part.
        awaited: Arc<[(AgentId, TermRef)]>,
        /// How many warps are needed, if any of those awaited will do.
        any_of: Option<u32>,
    },
    /// For registers of the CTA's pool (AS-41).
    Registers {
        /// What it asks for, per thread.
        asked: u32,
        /// How many more than it has that is.
        needed: TermRef,
        /// How many the pool has in the end.
        free: TermRef,
        /// A thread of each warp of the CTA, and how many registers that warp has in the end.
        held: Arc<[(AgentId, TermRef)]>,
    },
}

/// A read of a try that fails for ever (LT-8: it sees what memory holds in the end, as far as that is promised).
#[derive(Clone, Debug)]
pub struct FinalLook {
    /// The reading instruction.
    pub site: SiteId,
    /// Where it reads; its value is none.
    pub access: Access,
    /// Of which location, if its instruction reads several.
    pub instance: Option<LocationId>,
    /// When the try gets there.
    pub guard: TermRef,
    /// What it reads.
    pub value: TermRef,
    /// Whether the read is weak, so that it may never see what others write (LT-7).
    pub is_weak: bool,
    /// The read, if the try is part of the execution: then what it reads need not be last.
    pub event: Option<EventId>,
}

/// A `reachable` statement's instance; some instance of each statement must be 1 in some execution.
#[derive(Clone, Debug)]
pub struct Reachable {
    /// The statement.
    pub span: Span,
    /// Guard and condition together.
    pub condition: TermRef,
}

/// A condition on final memory, over [`super::UnknownKind::FinalValue`] unknowns; counts when every thread completed.
#[derive(Clone, Debug)]
pub struct FinalGoal {
    /// Its place.
    pub span: Span,
    /// Claim.
    pub kind: FinalKind,
    /// The condition.
    pub condition: TermRef,
}

/// The condition of a litmus test; counts when every thread completed.
#[derive(Clone, Debug)]
pub struct ConditionGoal {
    /// Its place.
    pub span: Span,
    /// Claim.
    pub quantifier: Quantifier,
    /// The condition.
    pub condition: TermRef,
    /// Final states in which it is 0 do not count.
    pub filter: TermRef,
    /// The registers and locations it looks at, by name, in order of the text.
    pub values: Vec<(String, TermRef)>,
}

impl ConditionGoal {
    /// Whether the execution to look for satisfies the condition: an example for `exists`, a counter-example for
    /// `~exists`; for `forall` it is one that does not.
    pub fn wanted(&self) -> bool {
        self.quantifier != Quantifier::Forall
    }
}
