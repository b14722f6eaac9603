//! `wgmma`: asynchronous matrix operations on shared memory and registers (§5.7).
//!
//! Only what is read and written counts: the accumulator gets a value that may be any. A matrix operation does not come
//! after what is before it in its thread, but after what is before the thread's last `wgmma.fence`; operations that
//! follow each other on one accumulator are ordered on it (AS-25).
//!
//! Cannot: tell shapes apart, so any two operations on one accumulator count as of one shape; tell that all warps of a
//! warpgroup execute the same (UB-A7; the lanes of each warp must).

use super::super::expression::Frame;
use super::super::{State, UnrollError, Unroller};
use super::transfer::{Piece, Run};
use super::{AsyncGroup, Operation, READS, WRITES};
use crate::event::{
    BarrierEdge, EventId, EventKind, LocationId, Misuse, ObligationKind, SiteId, TermPool, UnknownKind,
};
use fencepost_dsl::kernel::program::{Address, MatrixOp};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem, Space};

/// A matrix operation that was started.
pub(super) struct Started {
    accumulator: LocationId,
    events: Vec<EventId>,
}

impl Unroller<'_> {
    pub(super) fn matrix_fence(&mut self, state: &State, site: SiteId) -> Result<(), UnrollError> {
        let position = self.next_position();
        let fence = self.emit(state.live, position, EventKind::MatrixFence, site)?;
        self.asynchronous.fences.push((fence, state.live));
        self.log_aligned(state.live, fence);
        Ok(())
    }

    pub(super) fn matrix(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        site: SiteId,
        matrix: &MatrixOp,
    ) -> Result<(), UnrollError> {
        let Some(accumulator) = self.resolve(state, frame, &matrix.accumulator, 1)? else { return Ok(()) };
        let Some(a) = self.resolve(state, frame, &matrix.a, 1)? else { return Ok(()) };
        let Some(b) = self.resolve(state, frame, &matrix.b, 1)? else { return Ok(()) };
        self.require_fence(state, &matrix.accumulator);
        let started = self.start(state, site, "matrix operation", Sem::Weak, Scope::Cta)?;
        self.log_aligned(state.live, started.issue);
        let operation = Operation { starts_at_fence: true, ..started };
        let mut events = Vec::new();
        for operand in [a, b] {
            events.extend(self.read_operand(operation, operand)?);
        }
        let location = self.location(accumulator);
        let mut on_accumulator = Vec::new();
        if matrix.accumulates {
            on_accumulator.extend(self.read_operand(operation, accumulator)?);
        }
        for piece in self.pieces(accumulator) {
            let bits = u8::try_from(piece.width_bytes * 8).unwrap_or(u8::MAX);
            let (_, value) = self.graph.terms.fresh(bits, UnknownKind::Response);
            let how = (Proxy::Generic, super::weak());
            let write = self.write_in(operation, operation.guard, WRITES, piece, value, how)?;
            on_accumulator.push((write, false));
        }
        self.order_on_accumulator(location, &on_accumulator);
        events.extend(on_accumulator);
        self.note_started(AsyncGroup::Matrix, events);
        Ok(())
    }

    /// UB-A5: a `wgmma.fence` comes before the first matrix operation.
    fn require_fence(&mut self, state: &mut State, accumulator: &Address) {
        let fences: Vec<_> = self.asynchronous.fences.iter().map(|&(_, guard)| guard).collect();
        let fenced = self.graph.terms.or_all(fences);
        let is_certain = self.graph.terms.implies_syntactically(state.live, fenced);
        if is_certain {
            return;
        }
        let misuse = Misuse {
            code: "async::no-matrix-fence",
            rule: "UB-A5",
            what: "starts a matrix operation without a `wgmma.fence` before it".to_owned(),
            help: "execute `wgmma.fence.sync.aligned` before the first `wgmma.mma_async`, and after registers were written",
        };
        self.oblige(ObligationKind::Discipline(misuse), state.live, fenced, accumulator.span);
        state.live = self.graph.terms.and(state.live, fenced);
    }

    /// The pieces of an operand: the one element it names.
    fn pieces(&self, run: Run) -> Vec<Piece> {
        let width_bytes = u32::from(self.kernel.objects[run.object].width / 8);
        let piece = width_bytes.min(8);
        (0..width_bytes)
            .step_by(piece as usize)
            .map(|offset_bytes| Piece { run, offset_bytes, width_bytes: piece })
            .collect()
    }

    /// Operands in shared memory go through the async proxy, registers through none.
    fn read_operand(&mut self, operation: Operation, run: Run) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let is_register = self.kernel.objects[run.object].space == Space::Register;
        let proxy = if is_register { Proxy::Generic } else { Proxy::Async };
        let mut events = Vec::new();
        for piece in self.pieces(run) {
            let how = (proxy, super::weak());
            events.push((self.read_in(operation, operation.guard, READS, piece, how)?.0, true));
        }
        Ok(events)
    }

    /// Operations on one accumulator follow each other.
    fn order_on_accumulator(&mut self, accumulator: LocationId, events: &[(EventId, bool)]) {
        let mut edges = Vec::new();
        for earlier in self.asynchronous.matrices.iter().filter(|other| other.accumulator == accumulator) {
            for &from in &earlier.events {
                edges.extend(events.iter().map(|&(wait, _)| BarrierEdge {
                    from,
                    wait,
                    condition: TermPool::TRUE,
                }));
            }
        }
        self.graph.completion_edges.extend(edges);
        let events = events.iter().map(|&(event, _)| event).collect();
        self.asynchronous.matrices.push(Started { accumulator, events });
    }
}
