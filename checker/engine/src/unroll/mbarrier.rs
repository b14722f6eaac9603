//! mbarriers: what a thread does at `mbarrier.…`.
//!
//! Each operation goes into a log, with an unknown for the phase in which it happens; which phases there are is stated once
//! all threads are there, in [`crate::synchronization`].
//!
//! Cannot: objects whose index, counts or byte numbers depend on values read. A wait may say no at any time.

mod cases;
mod token;

use super::expression::Place;
use super::{State, Step, UnrollError, Unroller};
use crate::event::{
    AgentId, EventId, EventKind, InstanceName, Mbarrier, MbarrierEvent, MbarrierId, MbarrierRole, Misuse,
    ObligationKind, Role, SiteId, TermPool, TermRef, UnknownKind,
};
use crate::findings;
use crate::synchronization::log::{FinalPhase, Operation, OperationKind, PENDING_WIDTH, PHASE_WIDTH, TX_MAX};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{Expression, MbarrierArrive, MbarrierOp, MbarrierPhase, MbarrierWait};
use fencepost_dsl::vocabulary::{Scope, Sem};
use token::Token;

impl Unroller<'_> {
    /// Runs an mbarrier instruction: once per object it may be on, and per number it may be about.
    pub(super) fn mbarrier(
        &mut self,
        step: &mut Step<'_>,
        operation: &MbarrierOp,
    ) -> Result<(), UnrollError> {
        let Some(address) = operation.address() else {
            return self.mbarrier_pending_count(step, operation);
        };
        let Some(place) = self.resolve(step, address, 1)? else { return Ok(()) };
        let index = ("unsupported::mbarrier-index", "the index of an mbarrier", address.span);
        let mut sides = Vec::new();
        for (side, index) in self.cases(step.state.clone(), place.index, index)? {
            let object = self.mbarrier_object(place, index);
            let Some((operand, what)) = number(operation) else {
                sides.push((side, object, 0));
                continue;
            };
            let value = self.evaluate(&side, step.frame, operand)?;
            let about = ("unsupported::mbarrier-operand", what, operand.span);
            let cases = self.cases(side, value, about)?;
            sides.extend(cases.into_iter().map(|(side, number)| (side, object, number)));
        }
        let mut ended = Vec::new();
        for (mut side, object, number) in sides {
            self.mbarrier_on(&mut step.on(&mut side), operation, (object, number))?;
            ended.push(side);
        }
        *step.state = match <[State; 1]>::try_from(ended) {
            Ok([only]) => only,
            Err(ended) => self.join_all(ended),
        };
        Ok(())
    }

    fn mbarrier_on(
        &mut self,
        step: &mut Step<'_>,
        operation: &MbarrierOp,
        (object, number): (MbarrierId, u32),
    ) -> Result<(), UnrollError> {
        if let Some(misuse) = Self::out_of_range(operation, object, number) {
            let span = operation.address().map_or(self.graph.sites[step.site].span, |address| address.span);
            self.never(step.state, misuse, span);
            return Ok(());
        }
        let weak = (Sem::Weak, Scope::Cta);
        match operation {
            MbarrierOp::Init { .. } => {
                let kind = OperationKind::Init { count: number };
                self.log(step, object, MbarrierRole::Init, weak, kind)?;
            }
            MbarrierOp::Inval { .. } => {
                self.log(step, object, MbarrierRole::Inval, weak, OperationKind::Inval)?;
            }
            MbarrierOp::ExpectTx { scope, .. } => {
                let kind = OperationKind::Expect { bytes: number };
                self.log(step, object, MbarrierRole::Transaction, (Sem::Relaxed, *scope), kind)?;
            }
            MbarrierOp::CompleteTx { scope, .. } => {
                let kind = OperationKind::Complete { bytes: number };
                self.log(step, object, MbarrierRole::Transaction, (Sem::Relaxed, *scope), kind)?;
            }
            MbarrierOp::Arrive(arrive) => self.mbarrier_arrive(step, arrive, (object, number))?,
            MbarrierOp::Wait(wait) => self.mbarrier_wait(step, wait, object)?,
            MbarrierOp::PendingCount { .. } => {}
        }
        Ok(())
    }

    /// What is wrong with the number of an instruction.
    fn out_of_range(operation: &MbarrierOp, object: MbarrierId, number: u32) -> Option<Misuse> {
        let is_count = (1..1 << 20).contains(&number);
        let (kind, place) = match operation {
            MbarrierOp::Init { .. } if !is_count => (&findings::mbarrier::INIT_COUNT, "count"),
            MbarrierOp::Arrive(MbarrierArrive { expect_tx: None, .. }) if !is_count => {
                (&findings::mbarrier::ARRIVE_COUNT, "count")
            }
            MbarrierOp::ExpectTx { .. }
            | MbarrierOp::CompleteTx { .. }
            | MbarrierOp::Arrive(MbarrierArrive { expect_tx: Some(_), .. })
                if i64::from(number) > TX_MAX =>
            {
                (&findings::mbarrier::BYTES_OF_OPERATION, "bytes")
            }
            _ => return None,
        };
        Some(Misuse::new(kind).with(place, number).with("object", object))
    }

    fn mbarrier_pending_count(
        &mut self,
        step: &mut Step<'_>,
        operation: &MbarrierOp,
    ) -> Result<(), UnrollError> {
        let MbarrierOp::PendingCount { destination, state: token } = operation else { return Ok(()) };
        let span = token.span;
        let token = self.evaluate(step.state, step.frame, token)?;
        let pending = self.pending_count(step.state, token, span);
        if let Some(register) = *destination {
            let pending = self.graph.terms.resize(pending, step.frame.width(register));
            step.state.env.set(register, pending);
        }
        Ok(())
    }

    fn mbarrier_arrive(
        &mut self,
        step: &mut Step<'_>,
        arrive: &MbarrierArrive,
        (object, number): (MbarrierId, u32),
    ) -> Result<(), UnrollError> {
        let (count, expects) = if arrive.expect_tx.is_some() { (1, number) } else { (number, 0) };
        let guard = step.state.live;
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
        let index = self.log(step, object, MbarrierRole::Arrive, strength, kind)?;
        if let Some(excess) = excess {
            let fine = self.graph.terms.not(excess);
            step.state.live = self.graph.terms.and(guard, fine);
        }
        if let (Some(register), Some(index)) = (arrive.destination, index) {
            let phase = self.mbarriers.operations[index].phase;
            let token = self.token(Token { object, phase, pending });
            let token = self.graph.terms.resize(token, step.frame.width(register));
            step.state.env.set(register, token);
        } else if let Some(register) = arrive.destination {
            let nothing = self.graph.terms.constant(0, step.frame.width(register));
            step.state.env.set(register, nothing);
        }
        Ok(())
    }

    fn mbarrier_wait(
        &mut self,
        step: &mut Step<'_>,
        wait: &MbarrierWait,
        object: MbarrierId,
    ) -> Result<(), UnrollError> {
        let kind = match &wait.phase {
            MbarrierPhase::Parity(parity) => {
                let parity = self.evaluate(step.state, step.frame, parity)?;
                OperationKind::WaitParity { parity: self.graph.terms.resize(parity, 1) }
            }
            MbarrierPhase::State(token) => {
                let token = self.evaluate(step.state, step.frame, token)?;
                self.check_token(step.state, token, object, wait.address.span);
                OperationKind::WaitState { state: self.graph.terms.resize(token, PHASE_WIDTH) }
            }
        };
        let result = if self.last_try.is_some() {
            let completed = self.final_phase(step.state.live, object, kind, wait.address.span);
            self.look_at_phase(step.state.live, step.site, object, completed);
            kind.passes_in(&mut self.graph.terms, completed)
        } else {
            self.graph.terms.fresh(1, UnknownKind::WaitResult).1
        };
        if !self.is_imagined() {
            let not = self.graph.terms.not(result);
            let tested = self.graph.terms.and(step.state.live, not);
            let operation =
                MbarrierEvent { object, role: MbarrierRole::Test, sem: Sem::Relaxed, scope: wait.scope };
            self.emit_next(tested, EventKind::Mbarrier(operation), step.site)?;
            // A try that fails is none that passed.
            if !matches!(self.role, Role::Spin(_)) || !self.is_pure_wait {
                let live = self.graph.terms.and(step.state.live, result);
                let mut passed = State { live, env: step.state.env.clone() };
                let passed = step.on(&mut passed);
                self.log(&passed, object, MbarrierRole::Wait, (wait.sem, wait.scope), kind)?;
            }
        }
        if let Some(register) = wait.destination {
            let value = self.graph.terms.resize(result, step.frame.width(register));
            step.state.env.set(register, value);
        }
        Ok(())
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
        step: &Step<'_>,
        object: MbarrierId,
        role: MbarrierRole,
        (sem, scope): (Sem, Scope),
        kind: OperationKind,
    ) -> Result<Option<usize>, UnrollError> {
        if self.is_imagined() {
            return Ok(None);
        }
        let operation = MbarrierEvent { object, role, sem, scope };
        let event = self.emit_next(step.state.live, EventKind::Mbarrier(operation), step.site)?;
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
    pub(super) fn log_raise(&mut self, step: &Step<'_>, object: MbarrierId) -> Result<(), UnrollError> {
        let relaxed = (Sem::Relaxed, Scope::Cta);
        self.log(step, object, MbarrierRole::Transaction, relaxed, OperationKind::Raise)?;
        Ok(())
    }

    fn event_span(&self, event: EventId) -> Span {
        self.graph.events[event].site.map_or(self.kernel.span, |site| self.graph.sites[site].span)
    }

    /// Whether an arrival is one too many, which it must not be (UB-M6); `None` where it cannot.
    fn excess(&mut self, guard: TermRef, object: MbarrierId, span: Span) -> Option<TermRef> {
        if !self.may_be_full.contains(&self.graph.mbarriers[object].place()) {
            return None;
        }
        let excess = self.graph.terms.fresh(1, UnknownKind::Excess).1;
        let fine = self.graph.terms.not(excess);
        let misuse = Misuse::new(&findings::mbarrier::ARRIVAL_IN_FULL_PHASE).with("object", object);
        self.oblige(ObligationKind::Discipline(misuse), guard, fine, span);
        self.past_waits.push(fine);
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
        if let Some(&known) = self.mbarrier_of.get(&(location, offset_bytes)) {
            return known;
        }
        let base = &self.graph.locations[location].name;
        let stem = base.stem();
        let stem = if object.dimensions.is_empty() { stem.to_owned() } else { format!("{stem}[{index}]") };
        let name = InstanceName::new(&stem, base.instance());
        let id = self.graph.mbarriers.push(Mbarrier {
            name,
            location,
            offset_bytes,
            is_never_full: false,
            is_in_turns: false,
            invalidations: Vec::new(),
            operations: Vec::new(),
            phases: Vec::new(),
        });
        self.mbarrier_of.insert((location, offset_bytes), id);
        id
    }

    /// A rule is broken whenever the path gets here; the path ends.
    pub(super) fn never(&mut self, state: &mut State, misuse: Misuse, span: Span) {
        self.oblige(ObligationKind::Discipline(misuse), state.live, TermPool::FALSE, span);
        state.live = TermPool::FALSE;
    }

    /// Notes what a wait of a try on final memory looks at.
    fn look_at_phase(&mut self, guard: TermRef, site: SiteId, object: MbarrierId, completed: TermRef) {
        if let Some(last) = &mut self.last_try {
            last.note_phase(crate::event::Wait::Phase { site, object, completed, guard, passes: None });
        }
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
