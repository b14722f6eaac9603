//! mbarriers: what a thread does at `mbarrier.…`.
//!
//! An mbarrier only counts, so operations are not ordered among each other but assigned to phases (MB-4): each operation
//! has the number of the phase in which it happens, and a phase is complete when the arrivals in it are as many as it
//! expects and its bytes balance. `phase` narrows the phase of each operation as far as counting does; `completion`
//! states the rest as constraints, and which arrivals each wait has seen.
//!
//! Counting is exact if no operation of a phase can come after its completion without being an arrival of the next one,
//! that is, if bytes are only announced by an arrival of the same phase or before one of the same thread. Where that is
//! not so (`expect_tx` without a later arrival of its thread in the kernel), the kernel is refused.
//!
//! Cannot: objects whose index, counts or byte numbers are not known before the kernel runs; objects that are
//! initialised at several places (reuse after `inval`); `pending_count`. A wait may say no at any time.

mod completion;
mod phase;

use super::expression::{Frame, Place};
use super::{State, UnrollError, Unroller};
use crate::event::{
    AgentId, EventId, EventKind, LocationId, Mbarrier, MbarrierEvent, MbarrierId, MbarrierRole, Misuse,
    ObligationKind, Role, SiteId, TermPool, TermRef, UnknownKind,
};
use fencepost_dsl::kernel::program::{
    Address, BinaryOp, Expression, MbarrierArrive, MbarrierOp, MbarrierPhase, MbarrierWait,
};
use fencepost_dsl::vocabulary::{Scope, Sem};
use fencepost_dsl::{Diagnostic, Span};
use std::collections::BTreeMap;

/// Bits of a phase number.
const PHASE_WIDTH: u8 = 8;
/// Phases that are told apart.
const PHASES_MAX: u32 = 250;
/// Bits of the tx-count.
const TX_WIDTH: u8 = 32;

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
        excess: Option<TermRef>,
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
    fn is_wait(self) -> bool {
        matches!(self, Self::WaitParity { .. } | Self::WaitState { .. })
    }
}

/// All operations, and the objects they are on.
#[derive(Default)]
pub struct MbarrierLog {
    operations: Vec<Operation>,
    object_of: BTreeMap<(LocationId, u32), MbarrierId>,
    final_phases: BTreeMap<MbarrierId, TermRef>,
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
        self.final_phases.retain(|_, term| terms.contains(*term));
    }
}

impl Unroller<'_> {
    /// Runs an mbarrier instruction.
    pub(super) fn mbarrier(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        operation: &MbarrierOp,
    ) -> Result<(), UnrollError> {
        match operation {
            MbarrierOp::Init { address, count } => {
                let count = self.known_operand(state, frame, count, "arrival count")?;
                if !(1..1 << 20).contains(&count) {
                    let what = format!("initialises an mbarrier with {count} arrivals");
                    let misuse = Misuse {
                        code: "mbarrier::count-out-of-range",
                        rule: "UB-M5",
                        what,
                        help: "a count lies between 1 and 1048575",
                    };
                    self.never(state, misuse, address.span);
                    return Ok(());
                }
                let Some(object) = self.mbarrier_object(state, frame, address)? else { return Ok(()) };
                self.check_expiry(object, state, address.span)?;
                let weak = (Sem::Weak, Scope::Cta);
                self.log(state, site, object, MbarrierRole::Init, weak, OperationKind::Init { count })?;
            }
            MbarrierOp::Inval { address } => {
                let Some(object) = self.mbarrier_object(state, frame, address)? else { return Ok(()) };
                let weak = (Sem::Weak, Scope::Cta);
                self.log(state, site, object, MbarrierRole::Inval, weak, OperationKind::Inval)?;
            }
            MbarrierOp::ExpectTx { address, tx, scope } => {
                let bytes = self.known_operand(state, frame, tx, "number of bytes")?;
                let Some(object) = self.mbarrier_object(state, frame, address)? else { return Ok(()) };
                let kind = OperationKind::Expect { bytes };
                self.log(state, site, object, MbarrierRole::Transaction, (Sem::Relaxed, *scope), kind)?;
            }
            MbarrierOp::CompleteTx { address, tx, scope } => {
                let bytes = self.known_operand(state, frame, tx, "number of bytes")?;
                let Some(object) = self.mbarrier_object(state, frame, address)? else { return Ok(()) };
                let kind = OperationKind::Complete { bytes };
                self.log(state, site, object, MbarrierRole::Transaction, (Sem::Relaxed, *scope), kind)?;
            }
            MbarrierOp::Arrive(arrive) => self.mbarrier_arrive(state, frame, site, arrive)?,
            MbarrierOp::Wait(wait) => self.mbarrier_wait(state, frame, site, wait)?,
            MbarrierOp::PendingCount { state: token, .. } => {
                return Err(UnrollError::unsupported(
                    "unsupported::pending-count",
                    "`mbarrier.pending_count` is not checked by this version",
                    token.span,
                    "of this state",
                ));
            }
        }
        Ok(())
    }

    fn mbarrier_arrive(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        arrive: &MbarrierArrive,
    ) -> Result<(), UnrollError> {
        if arrive.no_complete {
            return Err(UnrollError::unsupported(
                "unsupported::no-complete",
                "`.noComplete` arrivals are not checked by this version",
                arrive.address.span,
                "arrives here",
            ));
        }
        let count = self.known_operand(state, frame, &arrive.count, "arrival count")?;
        let expects = match &arrive.expect_tx {
            Some(bytes) => self.known_operand(state, frame, bytes, "number of bytes")?,
            None => 0,
        };
        let Some(object) = self.mbarrier_object(state, frame, &arrive.address)? else { return Ok(()) };
        let guard = state.live;
        let excess = self.excess(guard, object, arrive.address.span);
        let kind = OperationKind::Arrive { count, expects, drops: arrive.drop, excess };
        let strength = (arrive.sem, arrive.scope);
        // The arrival that is one too many is an event, too: what it comes after decides in which phase it can be.
        let index = self.log(state, site, object, MbarrierRole::Arrive, strength, kind)?;
        if let Some(excess) = excess {
            let fine = self.graph.terms.not(excess);
            state.live = self.graph.terms.and(guard, fine);
        }
        if let (Some(register), Some(index)) = (arrive.destination, index) {
            let phase = self.mbarriers.operations[index].phase;
            let token = self.graph.terms.resize(phase, frame.width(register));
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
    ) -> Result<(), UnrollError> {
        let Some(object) = self.mbarrier_object(state, frame, &wait.address)? else { return Ok(()) };
        let kind = match &wait.phase {
            MbarrierPhase::Parity(parity) => {
                let parity = self.evaluate(&state.env, frame, parity)?;
                OperationKind::WaitParity { parity: self.graph.terms.resize(parity, 1) }
            }
            MbarrierPhase::State(token) => {
                let token = self.evaluate(&state.env, frame, token)?;
                OperationKind::WaitState { state: self.graph.terms.resize(token, PHASE_WIDTH) }
            }
        };
        let result = if self.last_try.is_some() {
            let completed = self.final_phase(object);
            self.look_at_phase(state.live, site, object, completed);
            self.passes_in(kind, completed)
        } else {
            let (_, result) = self.graph.terms.fresh(1, UnknownKind::WaitResult);
            let not = self.graph.terms.not(result);
            let tested = self.graph.terms.and(state.live, not);
            let position = self.next_position();
            let operation =
                MbarrierEvent { object, role: MbarrierRole::Test, sem: Sem::Relaxed, scope: wait.scope };
            self.emit(tested, position, EventKind::Mbarrier(operation), site)?;
            // A try that fails is none that passed.
            if !matches!(self.role, Role::Spin(_)) || !self.is_pure_wait {
                let passed = State { live: self.graph.terms.and(state.live, result), env: state.env.clone() };
                self.log(&passed, site, object, MbarrierRole::Wait, (wait.sem, wait.scope), kind)?;
            }
            result
        };
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
    fn final_phase(&mut self, object: MbarrierId) -> TermRef {
        if let Some(&known) = self.mbarriers.final_phases.get(&object) {
            return known;
        }
        let (_, term) = self.graph.terms.fresh(PHASE_WIDTH, UnknownKind::FinalPhase);
        self.mbarriers.final_phases.insert(object, term);
        term
    }

    /// Records an operation; `None` while a try is run on final memory.
    fn log(
        &mut self,
        state: &State,
        site: SiteId,
        object: MbarrierId,
        role: MbarrierRole,
        (sem, scope): (Sem, Scope),
        kind: OperationKind,
    ) -> Result<Option<usize>, UnrollError> {
        if self.last_try.is_some() {
            return Ok(None);
        }
        let position = self.next_position();
        let operation = MbarrierEvent { object, role, sem, scope };
        let event = self.emit(state.live, position, EventKind::Mbarrier(operation), site)?;
        let (_, phase) = self.graph.terms.fresh(PHASE_WIDTH, UnknownKind::Phase);
        let span = self.graph.sites[site].span;
        let (agent, guard) = (self.agent, state.live);
        self.mbarriers.operations.push(Operation {
            agent,
            object,
            guard,
            event,
            kind,
            position,
            span,
            phase,
            issued: None,
        });
        Ok(Some(self.mbarriers.operations.len() - 1))
    }

    /// Records the complete-tx of an asynchronous operation.
    pub(super) fn log_completion(
        &mut self,
        agent: AgentId,
        object: MbarrierId,
        event: EventId,
        bytes: u32,
        issued: (AgentId, u32),
    ) {
        self.log_asynchronous(agent, object, event, OperationKind::Complete { bytes }, issued);
    }

    /// Records the arrival of `cp.async.mbarrier.arrive`.
    pub(super) fn log_async_arrival(
        &mut self,
        agent: AgentId,
        object: MbarrierId,
        event: EventId,
        issued: (AgentId, u32),
    ) {
        let span = self.event_span(event);
        let excess = self.excess(self.graph.events[event].guard, object, span);
        let kind = OperationKind::Arrive { count: 1, expects: 0, drops: false, excess };
        self.log_asynchronous(agent, object, event, kind, issued);
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

    fn log_asynchronous(
        &mut self,
        agent: AgentId,
        object: MbarrierId,
        event: EventId,
        kind: OperationKind,
        issued: (AgentId, u32),
    ) {
        let (_, phase) = self.graph.terms.fresh(PHASE_WIDTH, UnknownKind::Phase);
        let span = self.event_span(event);
        let of = &self.graph.events[event];
        let (guard, position) = (of.guard, of.position);
        self.mbarriers.operations.push(Operation {
            agent,
            object,
            guard,
            event,
            kind,
            position,
            span,
            phase,
            issued: Some(issued),
        });
    }

    /// The object that a memory operand names; `None` if the path ends at its index.
    fn mbarrier_object(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        address: &Address,
    ) -> Result<Option<MbarrierId>, UnrollError> {
        let Some(place) = self.resolve(state, frame, address, 1)? else { return Ok(None) };
        self.mbarrier_at(place, address.span).map(Some)
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
        let object = &self.kernel.objects[place.object];
        let size = u64::from(object.width / 8);
        let offset = u64::from(object.offset_bytes) + u64::try_from(index).unwrap_or(u64::MAX) * size;
        let offset_bytes = u32::try_from(offset).unwrap_or(u32::MAX);
        let location = self.location(place);
        if let Some(&known) = self.mbarriers.object_of.get(&(location, offset_bytes)) {
            return Ok(known);
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
        Ok(id)
    }

    fn known_operand(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        operand: &Expression,
        what: &str,
    ) -> Result<u32, UnrollError> {
        let value = self.evaluate(&state.env, frame, operand)?;
        match self.graph.terms.constant_value(value) {
            Some(value) => Ok(u32::try_from(value).unwrap_or(u32::MAX)),
            None => Err(UnrollError::unsupported(
                "unsupported::mbarrier-operand",
                format!("the {what} of an mbarrier instruction must be known before the kernel runs"),
                operand.span,
                "not a constant here",
            )),
        }
    }

    /// A rule is broken whenever the path gets here; the path ends.
    pub(super) fn never(&mut self, state: &mut State, misuse: Misuse, span: Span) {
        self.oblige(ObligationKind::Discipline(misuse), state.live, TermPool::FALSE, span);
        state.live = TermPool::FALSE;
    }

    /// Whether some arrival may find its phase full: only if bytes can keep a phase open, or counts are above 1.
    fn can_exceed(&mut self) -> bool {
        *self.counts_bytes.get_or_insert_with(|| completion::counts_bytes(self.program, self.kernel))
    }

    /// Refuses a second initialisation of an object on a path that may have had the first.
    fn check_expiry(&mut self, object: MbarrierId, state: &State, span: Span) -> Result<(), UnrollError> {
        let terms = &mut self.graph.terms;
        let earlier = self.mbarriers.operations.iter().find(|operation| {
            operation.object == object
                && matches!(operation.kind, OperationKind::Init { .. })
                && !terms.excludes_syntactically(operation.guard, state.live)
        });
        let Some(earlier) = earlier else { return Ok(()) };
        let name = &self.graph.mbarriers[object].name;
        let diagnostic = Diagnostic::new(
            "unsupported::mbarrier-reuse",
            format!("{name} may be initialised twice, which is not checked by this version"),
            span,
            "again here",
        );
        let help = "initialise each mbarrier once, by one thread; use another object for another purpose";
        Err(UnrollError::Unsupported(
            diagnostic.with_label(earlier.span, "first here").with_help(help).with_rule("UB-M2"),
        ))
    }

    /// Notes what a wait of a try on final memory looks at.
    fn look_at_phase(&mut self, guard: TermRef, site: SiteId, object: MbarrierId, completed: TermRef) {
        if let Some(last) = &mut self.last_try {
            last.note_phase(crate::event::Wait::Phase { site, object, completed, guard });
        }
    }

    fn phase_constant(&mut self, phase: u32) -> TermRef {
        self.graph.terms.constant(u128::from(phase), PHASE_WIDTH)
    }

    fn add(&mut self, a: TermRef, b: TermRef) -> TermRef {
        self.graph.terms.binary(BinaryOp::Add, a, b)
    }
}
