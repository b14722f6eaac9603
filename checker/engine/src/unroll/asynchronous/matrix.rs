//! `wgmma`: asynchronous matrix operations on shared memory and registers (§5.7).
//!
//! Only what is read and written counts, of each operand all elements that it names: the accumulator gets a value that may
//! be any. What is named in shared memory the warp reads once ([`super::together`]). A matrix operation does not come
//! after what is before it in its thread, but after what is before the thread's last `wgmma.fence`; operations that
//! follow each other on one accumulator are ordered on it if they are of one shape, or with a fence between them (AS-25).
//!
//! Cannot: tell that all warps of a warpgroup execute the same (UB-A7; the lanes of each warp must).

use super::super::expression::Extent;
use super::super::{State, Step, UnrollError, Unroller};
use super::together::{Done, Named};
use super::transfer::width_of;
use super::{AsyncGroup, Operation};
use crate::event::{
    BaseRelation, Edge, EventId, EventKind, LocationId, Misuse, ObligationKind, OperationSort, TermPool,
    TermRef, UnknownKind,
};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{Address, BinaryOp, MatrixOp};

/// A matrix operation that was started.
pub(super) struct Started {
    location: LocationId,
    accumulator: Extent,
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
        let Some(accumulator) = self.named(step, &matrix.accumulator)? else { return Ok(()) };
        let Some(a) = self.named(step, &matrix.a)? else { return Ok(()) };
        let Some(b) = self.named(step, &matrix.b)? else { return Ok(()) };
        let location = self.location(accumulator.first);
        self.require_fence(step.state, &matrix.accumulator);
        self.require_fence_between_shapes(step.state, (location, accumulator), matrix);
        let started = self.start(step, OperationSort::Matrix)?;
        self.log_aligned(step.state.live, started.issue);
        let operation = Operation { starts_at_fence: true, ..started };
        let mut events = Vec::new();
        let (mut named, mut shared) = (Vec::new(), Vec::new());
        for operand in [a, b] {
            let location = self.location(operand.first);
            // Registers are each lane's own.
            if self.graph.locations[location].is_register {
                events.extend(self.read_operand(operation, operand)?);
                continue;
            }
            named.push(Named::Elements { location, first: operand.first.index, count: operand.count });
            shared.push(operand);
        }
        events.extend(self.read_together(operation, named, |this| {
            let mut events = Vec::new();
            for &operand in &shared {
                events.extend(this.read_operand(operation, operand)?);
            }
            Ok(events)
        })?);
        let mut on_accumulator = Vec::new();
        if matrix.accumulates {
            on_accumulator.extend(self.read_operand(operation, accumulator)?);
        }
        for piece in self.pieces(accumulator) {
            let (_, value) = self.graph.terms.fresh(width_of(piece.width_bytes), UnknownKind::Response);
            on_accumulator.push((self.write_piece(operation, piece, value)?, false));
        }
        self.order_on_accumulator((location, accumulator), matrix.shape, step.state.live, &on_accumulator);
        events.extend(on_accumulator);
        self.note_started(AsyncGroup::Matrix, events);
        Ok(())
    }

    /// UB-A5: a `wgmma.fence` comes before the first matrix operation.
    fn require_fence(&mut self, state: &mut State, accumulator: &Address) {
        let misuse = Misuse::new(&findings::asynchronous::MATRIX_WITHOUT_FENCE);
        self.require_fence_since(state, 0, TermPool::TRUE, misuse, accumulator.span);
    }

    /// UB-A5: a `wgmma.fence` stands between operations of several shapes on registers that they share.
    fn require_fence_between_shapes(
        &mut self,
        state: &mut State,
        (location, accumulator): (LocationId, Extent),
        matrix: &MatrixOp,
    ) {
        let others = self.asynchronous.matrices.iter();
        let others = others.filter(|other| other.location == location && other.shape != matrix.shape);
        let others: Vec<_> =
            others.map(|other| (other.fences, other.shape, other.guard, other.accumulator)).collect();
        let mut needs = Vec::new();
        for (fences, shape, guard, other) in others {
            let shared = self.have_common(other, accumulator);
            let needed = self.graph.terms.and(guard, shared);
            if needed != TermPool::FALSE {
                needs.push((fences, shape, needed));
            }
        }
        // Of those with the same fences behind them one goal says all.
        needs.dedup();
        for (fences, shape, needed) in needs {
            let misuse = Misuse::new(&findings::asynchronous::SHAPES_WITHOUT_FENCE)
                .with("earlier", shape.to_owned())
                .with("shape", matrix.shape.to_owned());
            self.require_fence_since(state, fences, needed, misuse, matrix.accumulator.span);
        }
    }

    /// Whether two extents of one location have an element in common.
    fn have_common(&mut self, a: Extent, b: Extent) -> TermRef {
        let mut below = |one: Extent, other: Extent| {
            let terms = &mut self.graph.terms;
            let count = terms.constant(u128::from(other.count), 32);
            let end = terms.binary(BinaryOp::Add, other.first.index, count);
            terms.less(one.first.index, end)
        };
        let (a_below, b_below) = (below(a, b), below(b, a));
        self.graph.terms.and(a_below, b_below)
    }

    /// Demands that where `needed`, a `wgmma.fence` of the thread comes after its first `earlier` ones.
    pub(super) fn require_fence_since(
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

    /// The reads of an operand: of all elements it names.
    fn read_operand(&mut self, operation: Operation, operand: Extent) -> Result<Vec<Done>, UnrollError> {
        let mut events = Vec::new();
        for piece in self.pieces(operand) {
            events.push((self.read_piece(operation, operation.guard, piece)?.0, true));
        }
        Ok(events)
    }

    /// Operations follow each other on the same registers; on others that overlap with them only across a `wgmma.fence`.
    fn order_on_accumulator(
        &mut self,
        (location, accumulator): (LocationId, Extent),
        shape: &'static str,
        guard: TermRef,
        events: &[(EventId, bool)],
    ) {
        let events: Vec<EventId> = events.iter().map(|&(event, _)| event).collect();
        let matrices = std::mem::take(&mut self.asynchronous.matrices);
        for other in matrices.iter().filter(|other| other.location == location) {
            let fences: Vec<_> =
                self.asynchronous.fences[other.fences..].iter().map(|&(_, guard)| guard).collect();
            let terms = &mut self.graph.terms;
            let same = if other.accumulator.count == accumulator.count {
                terms.equal(other.accumulator.first.index, accumulator.first.index)
            } else {
                TermPool::FALSE
            };
            let fenced = terms.or_all(fences);
            let condition = terms.or(same, fenced);
            if condition == TermPool::FALSE {
                continue;
            }
            let edges = other
                .events
                .iter()
                .flat_map(|&from| events.iter().map(move |&to| Edge { from, to, condition }));
            self.graph.edges.add_all(BaseRelation::Completion, edges);
        }
        self.asynchronous.matrices = matrices;
        let fences = self.asynchronous.fences.len();
        self.asynchronous.matrices.push(Started { location, accumulator, shape, guard, fences, events });
    }
}
