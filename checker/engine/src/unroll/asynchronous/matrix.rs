//! `wgmma`: asynchronous matrix operations on shared memory and registers (§5.7).
//!
//! Only what is read and written counts: the accumulator gets a value that may be any. A matrix operation does not come
//! after what is before it in its thread, but after what is before the thread's last `wgmma.fence`; operations that
//! follow each other on one accumulator are ordered on it if they are of one shape, or with a fence between them (AS-25).
//!
//! Cannot: tell that all warps of a warpgroup execute the same (UB-A7; the lanes of each warp must).

use super::super::{State, Step, UnrollError, Unroller};
use super::transfer::{Run, width_of};
use super::{AsyncGroup, Operation};
use crate::event::{
    EventId, EventKind, LocationId, Misuse, ObligationKind, OperationSort, TermPool, TermRef, UnknownKind,
};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{Address, MatrixOp};

/// A matrix operation that was started.
pub(super) struct Started {
    accumulator: LocationId,
    shape: &'static str,
    guard: TermRef,
    /// Fences of the thread before it.
    fences: usize,
    events: Vec<EventId>,
}

impl Unroller<'_> {
    pub(super) fn matrix_fence(&mut self, step: &Step<'_>) -> Result<(), UnrollError> {
        let fence = self.emit_next(step.state.live, EventKind::MatrixFence, step.site)?;
        self.asynchronous.fences.push((fence, step.state.live));
        self.log_aligned(step.state.live, fence);
        Ok(())
    }

    pub(super) fn matrix(&mut self, step: &mut Step<'_>, matrix: &MatrixOp) -> Result<(), UnrollError> {
        let Some(accumulator) = self.resolve(step, &matrix.accumulator, 1)? else { return Ok(()) };
        let Some(a) = self.resolve(step, &matrix.a, 1)? else { return Ok(()) };
        let Some(b) = self.resolve(step, &matrix.b, 1)? else { return Ok(()) };
        let location = self.location(accumulator);
        self.require_fence(step.state, &matrix.accumulator);
        self.require_fence_between_shapes(step.state, location, matrix);
        let started = self.start(step, OperationSort::Matrix)?;
        self.log_aligned(step.state.live, started.issue);
        let operation = Operation { starts_at_fence: true, ..started };
        let mut events = Vec::new();
        for operand in [a, b] {
            events.extend(self.read_operand(operation, operand)?);
        }
        let mut on_accumulator = Vec::new();
        if matrix.accumulates {
            on_accumulator.extend(self.read_operand(operation, accumulator)?);
        }
        for piece in self.pieces(accumulator, 1) {
            let (_, value) = self.graph.terms.fresh(width_of(piece.width_bytes), UnknownKind::Response);
            on_accumulator.push((self.write_piece(operation, piece, value)?, false));
        }
        self.order_on_accumulator(location, matrix.shape, step.state.live, &on_accumulator);
        events.extend(on_accumulator);
        self.note_started(AsyncGroup::Matrix, events);
        Ok(())
    }

    /// UB-A5: a `wgmma.fence` comes before the first matrix operation.
    fn require_fence(&mut self, state: &mut State, accumulator: &Address) {
        let misuse = Misuse::new(&findings::asynchronous::MATRIX_WITHOUT_FENCE);
        self.require_fence_since(state, 0, TermPool::TRUE, misuse, accumulator.span);
    }

    /// UB-A5: a `wgmma.fence` stands between operations of several shapes on one accumulator.
    fn require_fence_between_shapes(&mut self, state: &mut State, location: LocationId, matrix: &MatrixOp) {
        let others = self.asynchronous.matrices.iter();
        let others = others.filter(|other| other.accumulator == location && other.shape != matrix.shape);
        // Of those with the same fences behind them one goal says all.
        let mut others: Vec<_> = others.map(|other| (other.fences, other.shape, other.guard)).collect();
        others.dedup();
        for (fences, shape, guard) in others {
            let misuse = Misuse::new(&findings::asynchronous::SHAPES_WITHOUT_FENCE)
                .with("earlier", shape.to_owned())
                .with("shape", matrix.shape.to_owned());
            self.require_fence_since(state, fences, guard, misuse, matrix.accumulator.span);
        }
    }

    /// Demands that where `needed`, a `wgmma.fence` of the thread comes after its first `earlier` ones.
    fn require_fence_since(
        &mut self,
        state: &mut State,
        earlier: usize,
        needed: TermRef,
        misuse: Misuse,
        span: Span,
    ) {
        let fences: Vec<_> = self.asynchronous.fences[earlier..].iter().map(|&(_, guard)| guard).collect();
        let fenced = self.graph.terms.or_all(fences);
        let guard = self.graph.terms.and(state.live, needed);
        if self.graph.terms.implies_syntactically(guard, fenced) {
            return;
        }
        self.oblige(ObligationKind::Discipline(misuse), guard, fenced, span);
        let unneeded = self.graph.terms.not(needed);
        let passes = self.graph.terms.or(unneeded, fenced);
        state.live = self.graph.terms.and(state.live, passes);
    }

    /// The reads of an operand: of the one element it names.
    fn read_operand(&mut self, operation: Operation, run: Run) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let mut events = Vec::new();
        for piece in self.pieces(run, 1) {
            events.push((self.read_piece(operation, operation.guard, piece)?.0, true));
        }
        Ok(events)
    }

    /// Operations on one accumulator follow each other.
    fn order_on_accumulator(
        &mut self,
        accumulator: LocationId,
        shape: &'static str,
        guard: TermRef,
        events: &[(EventId, bool)],
    ) {
        let others = self.asynchronous.matrices.iter().filter(|other| other.accumulator == accumulator);
        let earlier: Vec<EventId> = others.flat_map(|other| &other.events).copied().collect();
        let events: Vec<EventId> = events.iter().map(|&(event, _)| event).collect();
        self.complete_at(&earlier, &events);
        let fences = self.asynchronous.fences.len();
        self.asynchronous.matrices.push(Started { accumulator, shape, guard, fences, events });
    }
}
