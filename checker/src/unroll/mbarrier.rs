//! mbarriers: what a thread does at `mbarrier.…`.
//!
//! An mbarrier only counts, so operations are not ordered among each other but assigned to phases (MB-4): each operation
//! has the number of the phase in which it happens, and a phase is complete when the arrivals in it are as many as it
//! expects and its bytes balance. `phase` narrows the phase of each operation as far as counting does; `completion`
//! states the rest as constraints, and which arrivals each wait has seen; `moment`, what comes when within a phase.
//!
//! Where that does not say enough, an order of the object's operations does (`order`, and `exact` says where). An object
//! that is initialised again after `inval` is taken for as many objects as it has lives (`lives`).
//!
//! Cannot: objects whose index, counts or byte numbers depend on values read. A wait may say no at any time.

mod cases;
mod completion;
mod exact;
mod lives;
mod moment;
mod order;
mod phase;
mod rules;
mod token;

use super::expression::{Frame, Place};
use super::{State, UnrollError, Unroller};
use crate::event::{
    AgentId, EventId, EventKind, LocationId, Mbarrier, MbarrierEvent, MbarrierId, MbarrierRole, Misuse,
    ObligationKind, Role, SiteId, TermPool, TermRef, UnknownKind,
};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    BinaryOp, Expression, MbarrierArrive, MbarrierOp, MbarrierPhase, MbarrierWait,
};
use fencepost_dsl::vocabulary::{Scope, Sem};
use std::collections::BTreeMap;
use token::Token;

/// Bits of a phase number.
const PHASE_WIDTH: u8 = 8;
/// Phases that are told apart.
const PHASES_MAX: u32 = 250;
/// Bits in which counts and bytes are summed up.
const TX_WIDTH: u8 = 32;
/// Most that the tx-count can be, and the least with its sign changed (§4.1).
const TX_MAX: i64 = (1 << 20) - 1;
/// Bits of a pending count.
const PENDING_WIDTH: u8 = 20;

/// One dynamic instance of an operation.
#[derive(Clone, Debug)]
struct Operation {
    agent: AgentId,
    object: MbarrierId,
    /// Happens iff this is 1; for a wait, it returned true.
    guard: TermRef,
    event: EventId,
    kind: OperationKind,
    position: u32,
    span: Span,
    /// The phase it happens in.
    phase: TermRef,
    /// For what an asynchronous operation does, where it was started: it comes after all before that, but before nothing
    /// after it.
    issued: Option<(AgentId, u32)>,
}

impl Operation {
    /// Whether it surely comes before another by program order.
    fn precedes(&self, other: &Self) -> bool {
        (self.agent == other.agent && self.position < other.position)
            || other.issued.is_some_and(|(agent, at)| self.agent == agent && self.position < at)
    }
}

#[derive(Clone, Copy, Debug)]
enum OperationKind {
    Init {
        count: u32,
    },
    Inval,
    Expect {
        bytes: u32,
    },
    Complete {
        bytes: u32,
    },
    /// One more arrival is pending in this phase (`cp.async.mbarrier.arrive` without `.noinc`).
    Raise,
    Arrive {
        count: u32,
        expects: u32,
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
        parity: TermRef,
    },
    /// Through phases after that of a state, [`PHASE_WIDTH`] bits.
    WaitState {
        state: TermRef,
    },
}

impl OperationKind {
    fn arrivals(self) -> u32 {
        match self {
            Self::Arrive { count, .. } => count,
            _ => 0,
        }
    }
    /// What it adds to the pending count.
    fn pending(self) -> i64 {
        match self {
            Self::Arrive { count, .. } => -i64::from(count),
            Self::Raise => 1,
            _ => 0,
        }
    }
    /// What it adds to the tx-count.
    fn bytes(self) -> i64 {
        match self {
            Self::Arrive { expects: bytes, .. } | Self::Expect { bytes } => i64::from(bytes),
            Self::Complete { bytes } => -i64::from(bytes),
            _ => 0,
        }
    }
    fn is_wait(self) -> bool {
        matches!(self, Self::WaitParity { .. } | Self::WaitState { .. })
    }
    /// Whether it begins or ends the object's life.
    fn is_life(self) -> bool {
        matches!(self, Self::Init { .. } | Self::Inval)
    }
    /// Whether the object is another one after it.
    fn changes(self) -> bool {
        !self.is_wait() && !self.is_life()
    }
}

/// All operations, and the objects they are on.
#[derive(Default)]
pub struct MbarrierLog {
    operations: Vec<Operation>,
    object_of: BTreeMap<(LocationId, u32), MbarrierId>,
    final_phases: Vec<FinalPhase>,
}

/// What a try on final memory asks of an object.
#[derive(Clone, Copy)]
struct FinalPhase {
    agent: AgentId,
    position: u32,
    guard: TermRef,
    span: Span,
    object: MbarrierId,
    kind: OperationKind,
    /// How many phases the object completes.
    completed: TermRef,
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

impl Unroller<'_> {
    /// Runs an mbarrier instruction: once per object it may be on, and per number it may be about.
    pub(super) fn mbarrier(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        operation: &MbarrierOp,
    ) -> Result<(), UnrollError> {
        let Some(address) = operation.address() else {
            return self.mbarrier_pending_count(state, frame, operation);
        };
        let Some(place) = self.resolve(state, frame, address, 1)? else { return Ok(()) };
        let index = ("unsupported::mbarrier-index", "the index of an mbarrier", address.span);
        let mut sides = Vec::new();
        for (side, index) in self.cases(state.clone(), place.index, index)? {
            let object = self.mbarrier_object(place, index);
            let Some((operand, what)) = number(operation) else {
                sides.push((side, object, 0));
                continue;
            };
            let value = self.evaluate(&side.env, frame, operand)?;
            let about = ("unsupported::mbarrier-operand", what, operand.span);
            let cases = self.cases(side, value, about)?;
            sides.extend(cases.into_iter().map(|(side, number)| (side, object, number)));
        }
        let mut ended = Vec::new();
        for (mut side, object, number) in sides {
            self.mbarrier_on(&mut side, frame, site, operation, (object, number))?;
            ended.push(side);
        }
        *state = match <[State; 1]>::try_from(ended) {
            Ok([only]) => only,
            Err(ended) => self.join_all(ended),
        };
        Ok(())
    }

    fn mbarrier_on(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        operation: &MbarrierOp,
        (object, number): (MbarrierId, u32),
    ) -> Result<(), UnrollError> {
        if let Some(misuse) = self.out_of_range(operation, object, number) {
            let span = operation.address().map_or(self.graph.sites[site].span, |address| address.span);
            self.never(state, misuse, span);
            return Ok(());
        }
        let weak = (Sem::Weak, Scope::Cta);
        match operation {
            MbarrierOp::Init { .. } => {
                let kind = OperationKind::Init { count: number };
                self.log(state, site, object, MbarrierRole::Init, weak, kind)?;
            }
            MbarrierOp::Inval { .. } => {
                self.log(state, site, object, MbarrierRole::Inval, weak, OperationKind::Inval)?;
            }
            MbarrierOp::ExpectTx { scope, .. } => {
                let kind = OperationKind::Expect { bytes: number };
                self.log(state, site, object, MbarrierRole::Transaction, (Sem::Relaxed, *scope), kind)?;
            }
            MbarrierOp::CompleteTx { scope, .. } => {
                let kind = OperationKind::Complete { bytes: number };
                self.log(state, site, object, MbarrierRole::Transaction, (Sem::Relaxed, *scope), kind)?;
            }
            MbarrierOp::Arrive(arrive) => {
                self.mbarrier_arrive(state, frame, site, arrive, (object, number))?
            }
            MbarrierOp::Wait(wait) => self.mbarrier_wait(state, frame, site, wait, object)?,
            MbarrierOp::PendingCount { .. } => {}
        }
        Ok(())
    }

    /// What is wrong with the number of an instruction.
    fn out_of_range(&self, operation: &MbarrierOp, object: MbarrierId, number: u32) -> Option<Misuse> {
        let name = &self.graph.mbarriers[object].name;
        let is_count = (1..1 << 20).contains(&number);
        let (code, rule, what, help) = match operation {
            MbarrierOp::Init { .. } if !is_count => (
                "mbarrier::count-out-of-range",
                "UB-M5",
                format!("initialises {name} with {number} arrivals"),
                "a count lies between 1 and 1048575",
            ),
            MbarrierOp::Arrive(MbarrierArrive { expect_tx: None, .. }) if !is_count => (
                "mbarrier::count-out-of-range",
                "UB-M6",
                format!("arrives {number} times at {name}"),
                "a count lies between 1 and what is pending",
            ),
            MbarrierOp::ExpectTx { .. }
            | MbarrierOp::CompleteTx { .. }
            | MbarrierOp::Arrive(MbarrierArrive { expect_tx: Some(_), .. })
                if i64::from(number) > TX_MAX =>
            {
                (
                    "mbarrier::tx-out-of-range",
                    "UB-M7",
                    format!("counts {number} bytes at {name}"),
                    "a tx-count lies between -1048575 and 1048575: split the transfer",
                )
            }
            _ => return None,
        };
        Some(Misuse { code, rule, what, help })
    }

    fn mbarrier_pending_count(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        operation: &MbarrierOp,
    ) -> Result<(), UnrollError> {
        let MbarrierOp::PendingCount { destination, state: token } = operation else { return Ok(()) };
        let span = token.span;
        let token = self.evaluate(&state.env, frame, token)?;
        let pending = self.pending_count(state, token, span);
        if let Some(register) = *destination {
            let pending = self.graph.terms.resize(pending, frame.width(register));
            state.env.set(register, pending);
        }
        Ok(())
    }

    fn mbarrier_arrive(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        arrive: &MbarrierArrive,
        (object, number): (MbarrierId, u32),
    ) -> Result<(), UnrollError> {
        let (count, expects) = if arrive.expect_tx.is_some() { (1, number) } else { (number, 0) };
        let guard = state.live;
        let excess = self.excess(guard, object, arrive.address.span);
        let pending =
            arrive.no_complete.then(|| self.graph.terms.fresh(PENDING_WIDTH, UnknownKind::PendingCount).1);
        let kind = OperationKind::Arrive {
            count,
            expects,
            drops: arrive.drop,
            excess,
            no_complete: arrive.no_complete,
            pending,
        };
        let strength = (arrive.sem, arrive.scope);
        // The arrival that is one too many is an event, too: what it comes after decides in which phase it can be.
        let index = self.log(state, site, object, MbarrierRole::Arrive, strength, kind)?;
        if let Some(excess) = excess {
            let fine = self.graph.terms.not(excess);
            state.live = self.graph.terms.and(guard, fine);
        }
        if let (Some(register), Some(index)) = (arrive.destination, index) {
            let phase = self.mbarriers.operations[index].phase;
            let token = self.token(Token { object, phase, pending });
            let token = self.graph.terms.resize(token, frame.width(register));
            state.env.set(register, token);
        } else if let Some(register) = arrive.destination {
            let nothing = self.graph.terms.constant(0, frame.width(register));
            state.env.set(register, nothing);
        }
        Ok(())
    }

    fn mbarrier_wait(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        wait: &MbarrierWait,
        object: MbarrierId,
    ) -> Result<(), UnrollError> {
        let kind = match &wait.phase {
            MbarrierPhase::Parity(parity) => {
                let parity = self.evaluate(&state.env, frame, parity)?;
                OperationKind::WaitParity { parity: self.graph.terms.resize(parity, 1) }
            }
            MbarrierPhase::State(token) => {
                let token = self.evaluate(&state.env, frame, token)?;
                self.check_token(state, token, object, wait.address.span);
                OperationKind::WaitState { state: self.graph.terms.resize(token, PHASE_WIDTH) }
            }
        };
        let result = if self.last_try.is_some() {
            let completed = self.final_phase(state.live, object, kind, wait.address.span);
            self.look_at_phase(state.live, site, object, completed);
            self.passes_in(kind, completed)
        } else {
            self.graph.terms.fresh(1, UnknownKind::WaitResult).1
        };
        if !self.is_imagined() {
            let not = self.graph.terms.not(result);
            let tested = self.graph.terms.and(state.live, not);
            let operation =
                MbarrierEvent { object, role: MbarrierRole::Test, sem: Sem::Relaxed, scope: wait.scope };
            self.emit_next(tested, EventKind::Mbarrier(operation), site)?;
            // A try that fails is none that passed.
            if !matches!(self.role, Role::Spin(_)) || !self.is_pure_wait {
                let passed = State { live: self.graph.terms.and(state.live, result), env: state.env.clone() };
                self.log(&passed, site, object, MbarrierRole::Wait, (wait.sem, wait.scope), kind)?;
            }
        }
        if let Some(register) = wait.destination {
            let value = self.graph.terms.resize(result, frame.width(register));
            state.env.set(register, value);
        }
        Ok(())
    }

    /// Whether a wait returns true when so many phases are complete.
    fn passes_in(&mut self, kind: OperationKind, completed: TermRef) -> TermRef {
        let terms = &mut self.graph.terms;
        match kind {
            OperationKind::WaitParity { parity } => {
                let current = terms.resize(completed, 1);
                let same = terms.equal(current, parity);
                terms.not(same)
            }
            OperationKind::WaitState { state } => terms.less(state, completed),
            _ => TermPool::TRUE,
        }
    }

    /// How many phases the object completes in the whole execution.
    fn final_phase(
        &mut self,
        guard: TermRef,
        object: MbarrierId,
        kind: OperationKind,
        span: Span,
    ) -> TermRef {
        let (_, completed) = self.graph.terms.fresh(PHASE_WIDTH, UnknownKind::FinalPhase);
        let (agent, position) = (self.agent, self.position);
        let last = FinalPhase { agent, position, guard, span, object, kind, completed };
        self.mbarriers.final_phases.push(last);
        completed
    }

    /// Records an operation; `None` while a round is run on final memory without events.
    fn log(
        &mut self,
        state: &State,
        site: SiteId,
        object: MbarrierId,
        role: MbarrierRole,
        (sem, scope): (Sem, Scope),
        kind: OperationKind,
    ) -> Result<Option<usize>, UnrollError> {
        if self.is_imagined() {
            return Ok(None);
        }
        let operation = MbarrierEvent { object, role, sem, scope };
        let event = self.emit_next(state.live, EventKind::Mbarrier(operation), site)?;
        Ok(Some(self.record(object, event, kind, None)))
    }

    /// Adds what an event does to an object to the log; its number there.
    fn record(
        &mut self,
        object: MbarrierId,
        event: EventId,
        kind: OperationKind,
        issued: Option<(AgentId, u32)>,
    ) -> usize {
        let (_, phase) = self.graph.terms.fresh(PHASE_WIDTH, UnknownKind::Phase);
        let span = self.event_span(event);
        let of = &self.graph.events[event];
        let (agent, guard, position) = (of.agent.unwrap_or(self.agent), of.guard, of.position);
        let operation = Operation { agent, object, guard, event, kind, position, span, phase, issued };
        self.mbarriers.operations.push(operation);
        self.mbarriers.operations.len() - 1
    }

    /// Records the complete-tx of an asynchronous operation.
    pub(super) fn log_completion(
        &mut self,
        object: MbarrierId,
        event: EventId,
        bytes: u32,
        issued: (AgentId, u32),
    ) {
        self.record(object, event, OperationKind::Complete { bytes }, Some(issued));
    }

    /// Records the arrival of `cp.async.mbarrier.arrive`.
    pub(super) fn log_async_arrival(&mut self, object: MbarrierId, event: EventId, issued: (AgentId, u32)) {
        let span = self.event_span(event);
        let excess = self.excess(self.graph.events[event].guard, object, span);
        let kind = OperationKind::Arrive {
            count: 1,
            expects: 0,
            drops: false,
            excess,
            no_complete: false,
            pending: None,
        };
        self.record(object, event, kind, Some(issued));
    }

    /// Records that one more arrival is pending from now on.
    pub(super) fn log_raise(
        &mut self,
        state: &State,
        site: SiteId,
        object: MbarrierId,
    ) -> Result<(), UnrollError> {
        let relaxed = (Sem::Relaxed, Scope::Cta);
        self.log(state, site, object, MbarrierRole::Transaction, relaxed, OperationKind::Raise)?;
        Ok(())
    }

    fn event_span(&self, event: EventId) -> Span {
        self.graph.events[event].site.map_or(self.kernel.span, |site| self.graph.sites[site].span)
    }

    /// Whether an arrival is one too many, which it must not be (UB-M6); `None` where it cannot.
    fn excess(&mut self, guard: TermRef, object: MbarrierId, span: Span) -> Option<TermRef> {
        if !self.can_exceed() {
            return None;
        }
        let excess = self.graph.terms.fresh(1, UnknownKind::Excess).1;
        let fine = self.graph.terms.not(excess);
        let misuse = Misuse {
            code: "mbarrier::too-many-arrivals",
            rule: "UB-M6",
            what: format!(
                "arrives at {} although its phase already has all the arrivals it expects",
                self.graph.mbarriers[object].name
            ),
            help: "let every participant wait for the phase before it arrives again, or raise the count in `mbarrier.init`",
        };
        self.oblige(ObligationKind::Discipline(misuse), guard, fine, span);
        Some(excess)
    }

    /// The object at a place.
    pub(super) fn mbarrier_at(&mut self, place: Place, span: Span) -> Result<MbarrierId, UnrollError> {
        let Some(index) = self.graph.terms.constant_value(place.index) else {
            return Err(UnrollError::unsupported(
                "unsupported::mbarrier-index",
                "which mbarrier this is must be known before the kernel runs",
                span,
                "this index depends on values read or on parameters",
            ));
        };
        Ok(self.mbarrier_object(place, u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// The object at an index of what a memory operand names.
    fn mbarrier_object(&mut self, place: Place, index: u32) -> MbarrierId {
        let object = &self.kernel.objects[place.object];
        let size = u64::from(object.width / 8);
        let offset = u64::from(object.offset_bytes) + u64::from(index) * size;
        let offset_bytes = u32::try_from(offset).unwrap_or(u32::MAX);
        let location = self.location(place);
        if let Some(&known) = self.mbarriers.object_of.get(&(location, offset_bytes)) {
            return known;
        }
        let base = &self.graph.locations[location].name;
        let (stem, instance) = match base.find(" of ") {
            Some(at) => base.split_at(at),
            None => (base.as_str(), ""),
        };
        let name = if object.dimensions.is_empty() {
            format!("{stem}{instance}")
        } else {
            format!("{stem}[{index}]{instance}")
        };
        let id = self.graph.mbarriers.push(Mbarrier {
            name,
            location,
            offset_bytes,
            operations: Vec::new(),
            phases: Vec::new(),
        });
        self.mbarriers.object_of.insert((location, offset_bytes), id);
        id
    }

    /// A rule is broken whenever the path gets here; the path ends.
    pub(super) fn never(&mut self, state: &mut State, misuse: Misuse, span: Span) {
        self.oblige(ObligationKind::Discipline(misuse), state.live, TermPool::FALSE, span);
        state.live = TermPool::FALSE;
    }

    /// Whether some arrival may find its phase full: only if bytes can keep a phase open, or counts are above 1.
    fn can_exceed(&mut self) -> bool {
        let mut kernels = self.program.parts.iter().chain([self.entry]);
        *self
            .counts_bytes
            .get_or_insert_with(|| kernels.any(|kernel| completion::counts_bytes(self.program, kernel)))
    }

    /// Notes what a wait of a try on final memory looks at.
    fn look_at_phase(&mut self, guard: TermRef, site: SiteId, object: MbarrierId, completed: TermRef) {
        if let Some(last) = &mut self.last_try {
            last.note_phase(crate::event::Wait::Phase { site, object, completed, guard, meant: None });
        }
    }

    fn phase_constant(&mut self, phase: u32) -> TermRef {
        self.graph.terms.constant(u128::from(phase), PHASE_WIDTH)
    }

    fn add(&mut self, a: TermRef, b: TermRef) -> TermRef {
        self.graph.terms.binary(BinaryOp::Add, a, b)
    }
}

/// The number that an instruction is about, and what it is.
fn number(operation: &MbarrierOp) -> Option<(&Expression, &'static str)> {
    match operation {
        MbarrierOp::Init { count, .. } => Some((count, "the arrival count of an mbarrier instruction")),
        MbarrierOp::ExpectTx { tx, .. }
        | MbarrierOp::CompleteTx { tx, .. }
        | MbarrierOp::Arrive(MbarrierArrive { expect_tx: Some(tx), .. }) => {
            Some((tx, "the number of bytes of an mbarrier instruction"))
        }
        MbarrierOp::Arrive(arrive) => Some((&arrive.count, "the arrival count of an mbarrier instruction")),
        MbarrierOp::Inval { .. } | MbarrierOp::Wait(_) | MbarrierOp::PendingCount { .. } => None,
    }
}
