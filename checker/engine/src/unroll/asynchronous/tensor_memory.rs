//! `tcgen05`: asynchronous operations on tensor memory, and its allocation (§5.8).
//!
//! Every product, copy, load and store is an agent. What orders their accesses of tensor memory is for the model file to
//! say; this notes which are done at which instruction (`completion`), and which pairs the hardware keeps in the order in
//! which they are started (`pipelined`, AS-29). Only what is read and written counts: an accumulator gets any value.
//!
//! Allocations have no address: a `dealloc` names its object, which must then be over with, and what is allocated must
//! be given back, which is stated once all threads are there. One warp executes each of them, so one of its lanes stands
//! for all.
//!
//! Cannot: pairs of CTAs; which lanes of tensor memory a warp can reach.

use super::super::access::Part;
use super::super::expression::{Extent, Place};
use super::super::{State, Step, UnrollError, Unroller};
use super::Operation;
use super::transfer::width_of;
use crate::event::{
    BaseRelation, CtaId, Edge, EventId, EventKind, OperationSort, TensorEvent, TermPool, TermRef, UnknownKind,
};
use crate::synchronization::log::Allocation;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{Address, Expression, TensorOp, TensorProduct};
use fencepost_dsl::vocabulary::{Scope, Sem, Space};

/// What has been started in the whole launch, and by the current thread.
#[derive(Default)]
pub(super) struct TensorLog {
    /// Of the whole launch.
    started: Vec<Started>,
    /// The current thread's operations that a wait or a commit is for.
    own: Vec<(Class, Vec<EventId>)>,
    pub(super) allocations: Vec<Allocation>,
}

impl TensorLog {
    pub(super) fn start_thread(&mut self) {
        self.own.clear();
    }

    /// What the current thread's operations of some classes do.
    fn own_of(&self, is_wanted: impl Fn(&Class) -> bool) -> Vec<EventId> {
        let wanted = self.own.iter().filter(|(class, _)| is_wanted(class));
        wanted.flat_map(|(_, events)| events).copied().collect()
    }
}

/// What kind of operation it is, as far as order is concerned.
#[derive(Clone, PartialEq, Eq)]
enum Class {
    /// With its kind.
    Multiply(String),
    Copy,
    Load,
    Store,
}

/// An operation that can follow another one, or be followed.
struct Started {
    class: Class,
    cta: CtaId,
    accumulator: Option<Extent>,
    events: Vec<EventId>,
}

impl Unroller<'_> {
    pub(super) fn tensor_memory(
        &mut self,
        step: &mut Step<'_>,
        operation: &TensorOp,
    ) -> Result<(), UnrollError> {
        match operation {
            TensorOp::Multiply(product) => self.product(step, product),
            TensorOp::Copy { destination, source } => {
                self.tensor_move(step, (OperationSort::TensorMemoryCopy, Class::Copy), destination, source)
            }
            TensorOp::Load { destination, source } => {
                self.tensor_move(step, (OperationSort::TensorMemoryLoad, Class::Load), destination, source)
            }
            TensorOp::Store { destination, values } => self.tensor_store(step, destination, values),
            TensorOp::Commit { mbarrier, multicast } => {
                self.tensor_commit(step, mbarrier, multicast.as_ref())
            }
            TensorOp::Wait { stores } => self.tensor_wait(step, *stores),
            TensorOp::Fence { before } => {
                let fence = if *before { TensorEvent::FenceBefore } else { TensorEvent::FenceAfter };
                self.tensor_event(step, fence).map(drop)
            }
            TensorOp::Allocate { slot, columns } => self.allocate(step, slot, *columns),
            TensorOp::Free { object, columns } => self.free(step, object, *columns),
            TensorOp::Relinquish => {
                if self.comes_with_its_warp(step)? {
                    self.tensor_event(step, TensorEvent::Relinquish)?;
                }
                Ok(())
            }
        }
    }

    fn tensor_event(&mut self, step: &Step<'_>, event: TensorEvent) -> Result<EventId, UnrollError> {
        self.emit_next(step.state.live, EventKind::Tensor(event), step.site)
    }

    fn product(&mut self, step: &mut Step<'_>, product: &TensorProduct) -> Result<(), UnrollError> {
        let Some(accumulator) = self.named(step, &product.accumulator)? else { return Ok(()) };
        let Some(a) = self.named(step, &product.a)? else { return Ok(()) };
        let Some(b) = self.named(step, &product.b)? else { return Ok(()) };
        let accumulates = match &product.accumulates {
            Some(value) => {
                let value = self.evaluate(step.state, step.frame, value)?;
                let terms = &mut self.graph.terms;
                let zero = terms.constant(0, terms.width(value));
                let is_zero = terms.equal(value, zero);
                terms.not(is_zero)
            }
            None => TermPool::TRUE,
        };
        let operation = self.start(step, OperationSort::TensorProduct)?;
        let mut events = Vec::new();
        for operand in [a, b] {
            for piece in self.pieces(operand) {
                events.push(self.read_piece(operation, operation.guard, piece)?.0);
            }
        }
        let reads = self.graph.terms.and(operation.guard, accumulates);
        for piece in self.pieces(accumulator) {
            if reads != TermPool::FALSE {
                events.push(self.read_piece(operation, reads, piece)?.0);
            }
        }
        for piece in self.pieces(accumulator) {
            let (_, value) = self.graph.terms.fresh(width_of(piece.width_bytes), UnknownKind::Response);
            events.push(self.write_piece(operation, piece, value)?);
        }
        let class = Class::Multiply(product.kind.clone());
        self.note_tensor(class, Some(accumulator), events);
        Ok(())
    }

    /// A copy, or a load; who executes loads does so with all lanes of the warp.
    fn tensor_move(
        &mut self,
        step: &mut Step<'_>,
        (sort, class): (OperationSort, Class),
        destination: &Address,
        source: &Address,
    ) -> Result<(), UnrollError> {
        let Some(to) = self.named(step, destination)? else { return Ok(()) };
        let Some(from) = self.named(step, source)? else { return Ok(()) };
        let operation = self.start(step, sort)?;
        if class == Class::Load {
            self.log_aligned(step.state.live, operation.issue);
        }
        let events = self.move_elements(operation, from, to)?;
        self.note_tensor(class, None, events);
        Ok(())
    }

    /// Element by element, between extents of as many elements of one size.
    fn move_elements(
        &mut self,
        operation: Operation,
        from: Extent,
        to: Extent,
    ) -> Result<Vec<EventId>, UnrollError> {
        let (mut events, mut values) = (Vec::new(), Vec::new());
        for piece in self.pieces(from) {
            let (event, value) = self.read_piece(operation, operation.guard, piece)?;
            events.push(event);
            values.push(value);
        }
        for (piece, value) in self.pieces(to).into_iter().zip(values) {
            events.push(self.write_piece(operation, piece, value)?);
        }
        Ok(events)
    }

    fn tensor_store(
        &mut self,
        step: &mut Step<'_>,
        destination: &Address,
        values: &[Expression],
    ) -> Result<(), UnrollError> {
        let Some(to) = self.named(step, destination)? else { return Ok(()) };
        let mut stored = Vec::with_capacity(values.len());
        for value in values {
            stored.push(self.evaluate(step.state, step.frame, value)?);
        }
        let operation = self.start(step, OperationSort::TensorMemoryStore)?;
        self.log_aligned(step.state.live, operation.issue);
        let element_bytes = self.element_bytes(to.first.object);
        let mut events = Vec::new();
        for piece in self.pieces(to) {
            let value = stored[(piece.offset_bytes / element_bytes) as usize];
            let value = self.extract_bytes(value, piece.offset_bytes % element_bytes, piece.width_bytes);
            events.push(self.write_piece(operation, piece, value)?);
        }
        self.note_tensor(Class::Store, None, events);
        Ok(())
    }

    fn tensor_wait(&mut self, step: &mut Step<'_>, stores: bool) -> Result<(), UnrollError> {
        let wait = self.emit_next(step.state.live, EventKind::AsyncWait, step.site)?;
        self.log_aligned(step.state.live, wait);
        let class = if stores { Class::Store } else { Class::Load };
        let done = self.asynchronous.tensor.own_of(|own| *own == class);
        self.complete_at(&done, &[wait]);
        self.await_lanes(step).map(drop)
    }

    /// An arrival once the thread's products and copies are done, which it releases and nothing else (AS-30, A-28).
    fn tensor_commit(
        &mut self,
        step: &mut Step<'_>,
        mbarrier: &Address,
        multicast: Option<&Expression>,
    ) -> Result<(), UnrollError> {
        let Some(place) = self.resolve(step, mbarrier, 1)? else { return Ok(()) };
        let targets = self.targets(step, multicast)?;
        let issue = self.issue(step, Sem::Weak, Scope::Cta)?;
        let committed =
            self.asynchronous.tensor.own_of(|own| matches!(own, Class::Multiply(_) | Class::Copy));
        for (rank, guard) in targets {
            let place = Place { rank: rank.or(place.rank), ..place };
            let object = self.mbarrier_at(place, mbarrier.span)?;
            let operation = self.operation_of(issue, guard, OperationSort::TensorMemoryCommit);
            self.arrive_after(operation, object, Scope::Cluster, &committed)?;
        }
        Ok(())
    }

    /// Remembers an operation, and which operations of the CTA the hardware would keep in order with it.
    fn note_tensor(&mut self, class: Class, accumulator: Option<Extent>, events: Vec<EventId>) {
        let cta = self.graph.hierarchy.cta_of(self.agent);
        self.asynchronous.tensor.own.push((class.clone(), events.clone()));
        let new = Started { class, cta, accumulator, events };
        let started = std::mem::take(&mut self.asynchronous.tensor.started);
        for other in started.iter().filter(|other| other.cta == cta) {
            for (first, second) in [(other, &new), (&new, other)] {
                let condition = self.follows(first, second);
                if condition == TermPool::FALSE {
                    continue;
                }
                let edges = first.events.iter().flat_map(|&from| {
                    second.events.iter().map(move |&wait| Edge { from, to: wait, condition })
                });
                self.graph.edges.add_all(BaseRelation::Pipelined, edges);
            }
        }
        self.asynchronous.tensor.started = started;
        self.asynchronous.tensor.started.push(new);
    }

    /// Whether `second` comes after `first` if it is started after it (AS-29).
    fn follows(&mut self, first: &Started, second: &Started) -> TermRef {
        match (&first.class, &second.class) {
            (Class::Copy, Class::Multiply(_)) => TermPool::TRUE,
            (Class::Multiply(kind), Class::Multiply(other)) if kind == other => {
                match (first.accumulator, second.accumulator) {
                    (Some(a), Some(b)) if a.first.object == b.first.object && a.count == b.count => {
                        self.graph.terms.equal(a.first.index, b.first.index)
                    }
                    _ => TermPool::FALSE,
                }
            }
            _ => TermPool::FALSE,
        }
    }

    /// Columns of tensor memory; their address goes to shared memory by a weak store (AS-34).
    fn allocate(&mut self, step: &mut Step<'_>, slot: &Address, columns: u32) -> Result<(), UnrollError> {
        let Some(to) = self.resolve(step, slot, 1)? else { return Ok(()) };
        if !self.comes_with_its_warp(step)? {
            return Ok(());
        }
        self.tensor_event(step, TensorEvent::Allocate)?;
        let (_, value) = self.graph.terms.fresh(32, UnknownKind::Response);
        let part = Part { low_bit: 0, width: 32 };
        let access = self.scalar_access((to, 0), part, value, super::weak());
        self.emit_next(step.state.live, EventKind::Write(access), step.site)?;
        self.note_allocation(step.state, columns, None, slot.span);
        Ok(())
    }

    /// Nothing uses the object from here on: a write of it all, by the thread itself.
    fn free(&mut self, step: &mut Step<'_>, object: &Address, columns: u32) -> Result<(), UnrollError> {
        let Some(freed) = self.named(step, object)? else { return Ok(()) };
        if !self.comes_with_its_warp(step)? {
            return Ok(());
        }
        self.tensor_event(step, TensorEvent::Free)?;
        let position = self.next_position();
        for piece in self.pieces(freed) {
            let (_, value) = self.graph.terms.fresh(width_of(piece.width_bytes), UnknownKind::Response);
            let access = self.piece_access(piece, value, super::weak());
            self.emit(step.state.live, position, EventKind::Write(access), step.site)?;
        }
        self.note_allocation(step.state, columns, Some(freed.first), object.span);
        Ok(())
    }

    fn note_allocation(&mut self, state: &State, columns: u32, object: Option<Place>, span: Span) {
        self.asynchronous.tensor.allocations.push(Allocation {
            cta: self.graph.hierarchy.cta_of(self.agent),
            agent: self.agent,
            position: self.position,
            guard: state.live,
            columns,
            freed: object.map(|run| self.kernel.objects[run.object].storage),
            n_objects: self.kernel.storages.iter().filter(|storage| storage.space == Space::Tensor).count(),
            span,
        });
    }
}
