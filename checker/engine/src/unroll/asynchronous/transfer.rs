//! What copies have in common: bytes from one place to another, element by element.

use super::super::access::{Part, Strength};
use super::super::expression::{Extent, Place};
use super::super::{Step, UnrollError, Unroller};
use super::{Operation, READS, WRITES};
use crate::event::{Access, AtomicClass, EventId, EventKind, TermPool, TermRef, UnknownKind};
use fencepost_dsl::kernel::program::{Address, AddressBase, AtomicOp, BinaryOp, ObjectId, Width};
use fencepost_dsl::vocabulary::{Proxy, Sem, Space};

/// The first element of consecutive bytes.
pub(in crate::unroll) type Run = Place;

/// A copy of consecutive bytes.
pub(super) struct Transfer {
    pub from: Run,
    pub to: Run,
    pub bytes: u32,
    pub proxy: Proxy,
    pub strength: Strength,
}

/// A piece of an element, some bytes after the first of a run.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub run: Run,
    pub offset_bytes: u32,
    pub width_bytes: u32,
}

impl Unroller<'_> {
    /// The elements that `bytes` bytes from a memory operand on are; the path goes on where they are inside the object.
    pub(in crate::unroll) fn run_of_bytes(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
        bytes: u32,
    ) -> Result<Option<Run>, UnrollError> {
        let width_bytes = match address.base {
            AddressBase::Flat { width, .. } => u32::from(width / 8),
            _ => {
                let place = self.place(step.state, step.frame, address)?;
                self.element_bytes(place.object)
            }
        };
        if !bytes.is_multiple_of(width_bytes) {
            return Err(UnrollError::unsupported(
                "unsupported::copy-size",
                format!("{bytes} bytes are no whole number of elements of {width_bytes} bytes"),
                address.span,
                "copied in part",
            ));
        }
        self.run_of_elements(step, address, bytes)
    }

    /// The same, where the last element may be needed in part.
    pub(super) fn run_of_elements(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
        bytes: u32,
    ) -> Result<Option<Run>, UnrollError> {
        let Some(first) = self.resolve(step, address, 1)? else { return Ok(None) };
        let width_bytes = self.element_bytes(first.object);
        // A copy goes on from row to row.
        let kernel = self.kernel;
        let object = &kernel.objects[first.object];
        let extra = u64::from(bytes.div_ceil(width_bytes).saturating_sub(1));
        self.check_bounds(step.state, object, object.n_elements(), first.index, extra, address.span);
        Ok((step.state.live != TermPool::FALSE).then_some(first))
    }

    /// Reads and writes of a copy; whether each is a read. Beyond `copied` bytes, and if `ignored`, zeros are written.
    pub(super) fn transfer(
        &mut self,
        operation: Operation,
        transfer: &Transfer,
        copied: u32,
        ignored: TermRef,
    ) -> Result<Vec<(EventId, bool)>, UnrollError> {
        // Whole pieces are read or filled with zeros.
        let piece = self.piece_bytes(transfer.from, transfer.to, transfer.strength);
        let piece = if copied == 0 { piece } else { piece.min(1 << copied.trailing_zeros()) };
        let Transfer { proxy, strength, .. } = *transfer;
        let not_ignored = self.graph.terms.not(ignored);
        let guard = self.graph.terms.and(operation.guard, not_ignored);
        let (mut events, mut writes) = (Vec::new(), Vec::new());
        for offset_bytes in (0..transfer.bytes).step_by(piece as usize) {
            let zero = self.graph.terms.constant(0, width_of(piece));
            let mut value = zero;
            if offset_bytes < copied && guard != TermPool::FALSE {
                let from = Piece { run: transfer.from, offset_bytes, width_bytes: piece };
                let (read, bits) = self.read_in(operation, guard, READS, from, (proxy, strength))?;
                events.push((read, true));
                value = self.graph.terms.if_then_else(ignored, zero, bits);
            }
            writes.push((offset_bytes, value));
        }
        for (offset_bytes, value) in writes {
            let to = Piece { run: transfer.to, offset_bytes, width_bytes: piece };
            let write = self.write_in(operation, operation.guard, WRITES, to, value, (proxy, strength))?;
            events.push((write, false));
        }
        Ok(events)
    }

    /// Bytes that are moved at once: an element of the finer side; weak 16-byte cells are two halves, as anywhere.
    pub(super) fn piece_bytes(&self, from: Run, to: Run, strength: Strength) -> u32 {
        let piece = self.element_bytes(from.object).min(self.element_bytes(to.object));
        if strength.sem == Sem::Weak { piece.min(8) } else { piece }
    }

    /// Updates of elements by others of the same type, as reductions have them.
    pub(super) fn update_all(
        &mut self,
        operation: Operation,
        transfer: &Transfer,
        op: AtomicOp,
    ) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let width_bytes = self.element_bytes(transfer.to.object);
        let mut events = Vec::new();
        let weak = super::weak();
        for offset_bytes in (0..transfer.bytes).step_by(width_bytes as usize) {
            let from = Piece { run: transfer.from, offset_bytes, width_bytes };
            let to = Piece { run: transfer.to, offset_bytes, width_bytes };
            let guard = operation.guard;
            let (read, operand) = self.read_in(operation, guard, READS, from, (transfer.proxy, weak))?;
            events.push((read, true));
            let updated = self.update_in(operation, to, op, operand, (transfer.proxy, transfer.strength))?;
            events.extend(updated);
        }
        Ok(events)
    }

    /// One atomic update by an operation.
    pub(super) fn update_in(
        &mut self,
        operation: Operation,
        to: Piece,
        op: AtomicOp,
        operand: TermRef,
        (proxy, strength): (Proxy, Strength),
    ) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let strength = strength.with_class(AtomicClass::Reduction);
        let guard = operation.guard;
        let reading = strength.with_sem(Sem::Relaxed);
        let (read, old) = self.read_in(operation, guard, WRITES, to, (proxy, reading))?;
        let (changes, new) = self.atomic_result((op, operation.site), old, &[operand]);
        let guard = self.graph.terms.and(guard, changes);
        let write = self.write_in(operation, guard, WRITES + 1, to, new, (proxy, strength))?;
        self.graph.rmw.push((read, write));
        // To whoever waits for reads only, it is the write that counts.
        Ok(vec![(read, false), (write, false)])
    }

    /// Shared memory is accessed through the async proxy, tensor memory and registers through none.
    fn proxy_of_piece(&self, piece: Piece) -> Proxy {
        let is_shared = self.kernel.objects[piece.run.object].space == Space::Shared;
        if is_shared { Proxy::Async } else { Proxy::Generic }
    }

    /// A weak read of a piece.
    pub(super) fn read_piece(
        &mut self,
        operation: Operation,
        guard: TermRef,
        piece: Piece,
    ) -> Result<(EventId, TermRef), UnrollError> {
        let how = (self.proxy_of_piece(piece), super::weak());
        self.read_in(operation, guard, READS, piece, how)
    }

    /// A weak write of a piece.
    pub(super) fn write_piece(
        &mut self,
        operation: Operation,
        piece: Piece,
        value: TermRef,
    ) -> Result<EventId, UnrollError> {
        let how = (self.proxy_of_piece(piece), super::weak());
        self.write_in(operation, operation.guard, WRITES, piece, value, how)
    }

    pub(super) fn read_in(
        &mut self,
        operation: Operation,
        guard: TermRef,
        position: u32,
        piece: Piece,
        (proxy, strength): (Proxy, Strength),
    ) -> Result<(EventId, TermRef), UnrollError> {
        let event = self.graph.events.next_id();
        let (_, value) = self.graph.terms.fresh(width_of(piece.width_bytes), UnknownKind::Read(event));
        let access = Access { proxy, ..self.piece_access(piece, value, strength) };
        Ok((self.emit_in(operation, guard, position, EventKind::Read(access))?, value))
    }

    pub(super) fn write_in(
        &mut self,
        operation: Operation,
        guard: TermRef,
        position: u32,
        piece: Piece,
        value: TermRef,
        (proxy, strength): (Proxy, Strength),
    ) -> Result<EventId, UnrollError> {
        let access = Access { proxy, ..self.piece_access(piece, value, strength) };
        self.emit_in(operation, guard, position, EventKind::Write(access))
    }

    /// An access of a piece, through its object's own proxy.
    pub(super) fn piece_access(&mut self, piece: Piece, value: TermRef, strength: Strength) -> Access {
        let element_bytes = self.element_bytes(piece.run.object);
        let element = (piece.offset_bytes / element_bytes) as usize;
        let low_bit = width_of(piece.offset_bytes % element_bytes);
        let part = Part { low_bit, width: width_of(piece.width_bytes) };
        self.scalar_access((piece.run, element), part, value, strength)
    }

    /// What an operation accesses of some elements, in order: each at once, or in halves.
    pub(super) fn pieces(&self, elements: Extent) -> Vec<Piece> {
        let run = elements.first;
        let element_bytes = self.element_bytes(run.object);
        let width_bytes = element_bytes.min(8);
        let offsets = (0..elements.count * element_bytes).step_by(width_bytes as usize);
        offsets.map(|offset_bytes| Piece { run, offset_bytes, width_bytes }).collect()
    }

    /// Some bytes of a value.
    pub(super) fn extract_bytes(&mut self, value: TermRef, offset_bytes: u32, width_bytes: u32) -> TermRef {
        self.graph.terms.extract(value, width_of(offset_bytes), width_of(width_bytes))
    }

    /// The size of an element of an object.
    pub(super) fn element_bytes(&self, object: ObjectId) -> u32 {
        u32::from(self.kernel.objects[object].width / 8)
    }

    /// Where a run of bytes starts, from the start of its storage.
    pub(super) fn first_byte(&mut self, run: Run) -> TermRef {
        if let Some(offset) = run.offset {
            return offset;
        }
        let object = &self.kernel.objects[run.object];
        let terms = &mut self.graph.terms;
        let size = terms.constant(u128::from(object.width / 8), 32);
        let base = terms.constant(u128::from(object.offset_bytes), 32);
        let relative = terms.binary(BinaryOp::Multiply, run.index, size);
        terms.binary(BinaryOp::Add, relative, base)
    }
}

/// The bits in some bytes of an element.
pub(super) fn width_of(bytes: u32) -> Width {
    Width::try_from(bytes * 8).unwrap_or(Width::MAX)
}
