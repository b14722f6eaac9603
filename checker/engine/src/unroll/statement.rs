//! Statements: straight-line code, branches, calls and properties.

use super::barrier::ElectionResult;
use super::env::Env;
use super::expression::{Extent, Frame};
use super::loops::Shape;
use super::{State, Step, UnrollError, Unroller};
use crate::event::{EventKind, ObligationKind, Reachable, RestrictedFence, TermPool, UnknownKind};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    Address, Expression, FunctionId, Instruction, InstructionKind, ProxyFenceKind, RegisterId, SpaOp,
    Statement, StatementKind,
};
use fencepost_dsl::vocabulary::{FenceSem, ProxyFence, Sem, SyncRestrict};

impl Unroller<'_> {
    /// Runs statements on a path, until it ends.
    pub(super) fn run(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        statements: &[Statement],
    ) -> Result<(), UnrollError> {
        for statement in statements {
            if state.live == TermPool::FALSE {
                break;
            }
            self.step(statement.span)?;
            self.enter(statement, state.live);
            self.statement(state, frame, statement)?;
            self.leave();
        }
        Ok(())
    }

    fn statement(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        statement: &Statement,
    ) -> Result<(), UnrollError> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { .. } | StatementKind::If { .. } if self.live.is_idle(statement) => Ok(()),
            StatementKind::Assign { register, value } => {
                let value = self.compute(state, frame, value)?;
                let value = self.graph.terms.resize(value, frame.width(*register));
                state.env.set(*register, value);
                Ok(())
            }
            StatementKind::Instruction(instruction) => {
                let n_calls = self.calls.len();
                self.calls.extend_from_slice(&instruction.calls);
                let done = self.instruction(state, frame, span, instruction);
                self.calls.truncate(n_calls);
                done
            }
            StatementKind::If { condition, then, otherwise } => {
                self.branch(state, frame, condition, then, otherwise)
            }
            StatementKind::For { id, register, start, end, body } => {
                let start = self.evaluate(state, frame, start)?;
                let end = self.evaluate(state, frame, end)?;
                self.for_loop(state, frame, *id, *register, (start, end), body)
            }
            StatementKind::While { id, prelude, condition, body } => {
                self.while_loop(state, frame, &Shape::of_while(*id, prelude, condition, body))
            }
            StatementKind::Await { id, prelude, condition } => {
                self.while_loop(state, frame, &Shape::of_await(*id, prelude, condition))
            }
            StatementKind::Break => {
                let left = State { live: state.live, env: state.env.clone() };
                if let Some(breaks) = self.breaks.last_mut() {
                    breaks.push(left);
                }
                state.live = TermPool::FALSE;
                Ok(())
            }
            StatementKind::Call { function, values, references, result } => {
                self.calls.push(span);
                let done = self.call(state, frame, *function, values, references, *result);
                self.calls.pop();
                done
            }
            StatementKind::Host(call) => {
                if self.take_effect(state, span, false) {
                    self.host_call(state, frame, call, span)?;
                }
                Ok(())
            }
            StatementKind::Unsupported(why) => Err(UnrollError::Unsupported((**why).clone())),
            StatementKind::Exit => {
                self.exits.push(state.live);
                state.live = TermPool::FALSE;
                Ok(())
            }
            StatementKind::Assert(_) | StatementKind::Assume(_) | StatementKind::Reachable(_) => {
                self.property(state, frame, statement)
            }
        }
    }

    fn property(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        statement: &Statement,
    ) -> Result<(), UnrollError> {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assert(condition) => {
                let condition = self.evaluate(state, frame, condition)?;
                if condition != TermPool::TRUE && self.last_try.is_none() {
                    self.oblige(ObligationKind::Assertion, state.live, condition, span);
                }
            }
            StatementKind::Assume(condition) => {
                let condition = self.evaluate(state, frame, condition)?;
                if self.last_try.is_none() {
                    let term = self.graph.terms.implies(state.live, condition);
                    self.graph.assumes |= term != TermPool::TRUE;
                    self.graph.constrain(term);
                }
                state.live = self.graph.terms.and(state.live, condition);
            }
            StatementKind::Reachable(condition) => {
                let condition = self.evaluate(state, frame, condition)?;
                let condition = self.graph.terms.and(state.live, condition);
                if self.last_try.is_some() {
                    return Ok(());
                }
                self.graph.reachables.push(Reachable { span, condition });
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn instruction(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        span: Span,
        instruction: &Instruction,
    ) -> Result<(), UnrollError> {
        if self.split_by_target(state, frame, span, instruction)?
            || self.split_by_mask(state, frame, (span, instruction))?
        {
            return Ok(());
        }
        self.check_host(instruction, span)?;
        if instruction.form.traits.acts {
            let meeting = super::cta_wait::meeting_of(&instruction.kind);
            if let Some(meeting) = meeting
                && self.meets_on_final_memory(state, frame, meeting)?
            {
                return Ok(());
            }
            if !self.take_effect(state, span, meeting.is_some()) {
                return Ok(());
            }
        }
        if self.last_try.is_none() && Self::may_block(&instruction.kind) {
            self.n_blocking += 1;
        }
        let site = self.site(span, instruction, frame);
        let step = &mut Step { state, frame, site };
        match &instruction.kind {
            InstructionKind::Access(operation) => self.access(step, operation),
            InstructionKind::Multimem(operation) => self.multimem(step, operation),
            InstructionKind::Fence { .. }
            | InstructionKind::AliasFence
            | InstructionKind::MbarrierInitFence
            | InstructionKind::ProxyFence(_)
            | InstructionKind::Spa(SpaOp::Membar { .. })
                if self.is_imagined() =>
            {
                Ok(())
            }
            InstructionKind::Fence { sem, scope, restrict: None } => {
                self.emit_next(step.state.live, EventKind::Fence { sem: *sem, scope: *scope }, step.site)?;
                Ok(())
            }
            InstructionKind::Fence { sem, restrict: Some(_), .. } => {
                let is_release = *sem == FenceSem::Release;
                let fence =
                    if is_release { RestrictedFence::ReleaseShared } else { RestrictedFence::AcquireShared };
                self.restricted_fence(step, fence)
            }
            InstructionKind::MbarrierInitFence => self.restricted_fence(step, RestrictedFence::ReleaseInits),
            InstructionKind::ProxyFence(ProxyFenceKind::AliasHalf { sem }) => {
                let is_release = *sem == Sem::Release;
                let fence =
                    if is_release { RestrictedFence::ReleaseAlias } else { RestrictedFence::AcquireAlias };
                self.restricted_fence(step, fence)
            }
            &InstructionKind::ProxyFence(ProxyFenceKind::Async { space }) => {
                self.emit_next(step.state.live, EventKind::AsyncFence(space), step.site)?;
                Ok(())
            }
            InstructionKind::ProxyFence(ProxyFenceKind::AsyncGeneric { sem, restrict }) => {
                let fence = match (sem, restrict) {
                    (Sem::Acquire, _) => RestrictedFence::AcquireAsync,
                    (_, SyncRestrict::SharedClusterRead) => RestrictedFence::ReleaseAsyncReads,
                    _ => RestrictedFence::ReleaseAsync,
                };
                self.restricted_fence(step, fence)
            }
            InstructionKind::ProxyFence(ProxyFenceKind::TensormapRelease { scope }) => {
                self.restricted_fence(step, RestrictedFence::ReleaseTensormap(*scope))
            }
            InstructionKind::ProxyFence(ProxyFenceKind::TensormapAcquire { scope, address }) => {
                self.acquire_tensormap(step, address, *scope)
            }
            InstructionKind::TensormapCopyFence { destination, source, scope } => {
                self.copy_tensormap(step, (destination, source), *scope)
            }
            InstructionKind::Async(operation) => self.asynchronous(step, operation),
            InstructionKind::AliasFence => {
                self.emit_next(step.state.live, EventKind::ProxyFence(ProxyFence::Alias), step.site)?;
                Ok(())
            }
            &InstructionKind::ProxyFence(ProxyFenceKind::Formal { proxy }) => {
                self.emit_next(step.state.live, EventKind::ProxyFence(ProxyFence::With(proxy)), step.site)?;
                Ok(())
            }
            InstructionKind::Barrier { kind, id, count, aligned, instance } => {
                self.barrier(step, (kind, id, count.as_ref()), (*aligned, *instance))
            }
            InstructionKind::Mbarrier(operation) => self.mbarrier(step, operation),
            InstructionKind::ClusterArrive { sem, aligned } => self.cluster_arrive(step, (*sem, *aligned)),
            InstructionKind::ClusterWait { aligned } => self.cluster_wait(step, *aligned),
            InstructionKind::Spa(operation) => self.spa(step, operation),
            InstructionKind::WarpSync { mask } => self.warp_sync(step, mask),
            InstructionKind::ElectSync { leader, predicate, mask } => {
                let result = ElectionResult { leader: *leader, predicate: *predicate };
                self.elect(step, mask, result)
            }
            InstructionKind::ActiveMask { destination } => self.active_mask(step, *destination),
            InstructionKind::Exchange(exchange) => self.exchange(step, exchange),
            InstructionKind::GetCtaRank { destination, address } => {
                let place = self.place(step.state, step.frame, address)?;
                // AS-43: the inverse of `mapa`.
                let own = self.graph.hierarchy.threads[self.agent].rank;
                let rank = u128::from(place.rank.unwrap_or(own));
                if let Some(register) = *destination {
                    let rank = self.graph.terms.constant(rank, step.frame.width(register));
                    step.state.env.set(register, rank);
                }
                Ok(())
            }
            InstructionKind::Hint { destination, .. } => {
                if let Some(register) = *destination {
                    let (_, value) = self
                        .graph
                        .terms
                        .fresh(step.frame.width(register), UnknownKind::Uncomputed(step.site));
                    step.state.env.set(register, value);
                }
                Ok(())
            }
            InstructionKind::GridDependency(action) => self.grid_dependency(step, *action),
            &InstructionKind::SetMaxRegisters { increase, count } => {
                self.set_max_registers(step, increase, count)
            }
        }
    }

    fn restricted_fence(&mut self, step: &Step<'_>, fence: RestrictedFence) -> Result<(), UnrollError> {
        self.emit_next(step.state.live, EventKind::RestrictedFence(fence), step.site)?;
        Ok(())
    }

    fn branch(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        condition: &Expression,
        then: &[Statement],
        otherwise: &[Statement],
    ) -> Result<(), UnrollError> {
        let condition = self.evaluate(state, frame, condition)?;
        let (yes, no) = self.split(state.live, condition);
        if no == TermPool::FALSE {
            return self.run(state, frame, then);
        }
        if yes == TermPool::FALSE {
            return self.run(state, frame, otherwise);
        }
        let (before, n_blocking) = (state.live, self.n_blocking);
        let mut taken = State { live: yes, env: state.env.clone() };
        self.run(&mut taken, frame, then)?;
        let mut other = State { live: no, env: state.env.clone() };
        self.run(&mut other, frame, otherwise)?;
        if self.n_blocking > n_blocking {
            self.decide_by_branch(before, condition);
        }
        *state = self.join(taken, other);
        Ok(())
    }

    fn call(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        function: FunctionId,
        values: &[Expression],
        references: &[Address],
        result: Option<RegisterId>,
    ) -> Result<(), UnrollError> {
        let program = self.program;
        let function = &program.functions[function];
        let mut env = Env::default();
        for (&register, value) in function.values.iter().zip(values) {
            let value = self.compute(state, frame, value)?;
            env.set(register, value);
        }
        let mut bindings = Vec::with_capacity(references.len());
        for address in references {
            let first = self.place(state, frame, address)?;
            bindings.push(Extent { first, count: self.n_named(frame, address) });
        }
        let callee = Frame::of_call(&function.registers, &function.references, bindings);
        let mut inner = State { live: state.live, env };
        self.run(&mut inner, &callee, &function.body)?;
        state.live = inner.live;
        if state.live == TermPool::FALSE {
            return Ok(());
        }
        if let (Some(register), Some(value)) = (result, &function.result) {
            let value = self.compute(&inner, &callee, value)?;
            let value = self.graph.terms.resize(value, frame.width(register));
            state.env.set(register, value);
        }
        Ok(())
    }
}
