//! What operands of matrix operations are, and `wgmma` in the twin's threads (§5.7).
//!
//! Nothing is multiplied: an accumulator gets [`ANYTHING`].

use super::super::{Interpreter, Stop};
use super::Pieces;
use crate::event::{Event, Kind};
use crate::expression::Datum;
use crate::memory::ANYTHING;
use fencepost_dsl::kernel::program::{Address, AsyncGroup, MatrixOp};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem, Space};
use std::collections::BTreeSet;

/// The thread's `wgmma.fence`s and products.
#[derive(Default)]
pub(in super::super) struct Matrices {
    /// Positions of the fences.
    fences: Vec<usize>,
    products: Vec<Product>,
}

struct Product {
    shape: &'static str,
    /// Where its accumulator is: storage and bytes.
    registers: (u32, Vec<u32>),
    /// Fences before it.
    n_fences: usize,
    /// What it does to the accumulator.
    events: BTreeSet<usize>,
}

impl Interpreter<'_> {
    pub(super) fn matrix_fence(&mut self) {
        let fence = self.push(Event::new(Kind::MatrixFence, Some(self.thread.index)));
        self.groups.matrices.fences.push(fence);
    }

    /// AS-24, AS-25: all operands are read, then the accumulator is written, which waits for what else uses those registers.
    pub(super) fn matrix(&mut self, matrix: &MatrixOp) -> Result<(), Stop> {
        let since = self.groups.matrices.fences.last().copied();
        assert!(since.is_some(), "a product without a fence (UB-A5) is unsupported by the twin");
        let n_fences = self.groups.matrices.fences.len();
        let (_, (storage, _, first, _)) = self.place(&matrix.accumulator);
        let bytes: Vec<u32> =
            self.offsets_named(&matrix.accumulator).into_iter().map(|offset| first + offset).collect();
        let registers = (storage, bytes);
        let mut earlier = BTreeSet::new();
        for other in &self.groups.matrices.products {
            let shares = other.registers.0 == registers.0
                && other.registers.1.iter().any(|byte| registers.1.contains(byte));
            let is_fenced = other.n_fences < n_fences;
            assert!(
                !shares || is_fenced || other.shape == matrix.shape,
                "products of several shapes without a fence between them (UB-A5) are unsupported by the twin"
            );
            if shares && (is_fenced || other.registers == registers) {
                earlier.extend(&other.events);
            }
        }
        self.issue(Sem::Weak, Scope::Cta);
        let first_event = self.events.len();
        let mut reads = self.read_elements(&matrix.a)?;
        reads.extend(self.read_elements(&matrix.b)?);
        let on_accumulator = self.events.len();
        if matrix.accumulates {
            reads.extend(self.read_elements(&matrix.accumulator)?);
        }
        let reads = reads.into_iter().flat_map(|datum| datum.reads).collect();
        self.write_anything(&matrix.accumulator, &reads);
        let end = self.events.len();
        for event in &mut self.events[first_event..end] {
            event.since = since;
        }
        for event in &mut self.events[on_accumulator..end] {
            event.follows.extend(&earlier);
        }
        let events = (on_accumulator..end).collect();
        let shape = matrix.shape;
        self.groups.matrices.products.push(Product { shape, registers, n_fences, events });
        self.start(AsyncGroup::Matrix, (first_event..end).collect());
        Ok(())
    }

    /// AS-33: shared memory through the async proxy; tensor memory and registers have none.
    pub(super) fn elements_at<'a>(&self, first: &'a Address) -> Pieces<'a> {
        let (object, (.., size)) = self.place(first);
        let proxy = if object.space == Space::Shared { Proxy::Async } else { Proxy::Generic };
        Pieces { first, instance: None, size, proxy, strength: (Sem::Weak, Scope::Cta) }
    }

    /// Reads all elements that an operand names.
    pub(super) fn read_elements(&mut self, operand: &Address) -> Result<Vec<Datum>, Stop> {
        let from = self.elements_at(operand);
        let mut data = Vec::new();
        for offset in self.offsets_named(operand) {
            let event = self.piece(Kind::Read, from, offset);
            data.push(self.read_event(event)?);
        }
        Ok(data)
    }

    /// Writes all elements that an accumulator has, after what its operation has read.
    pub(super) fn write_anything(
        &mut self,
        accumulator: &Address,
        reads: &BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let to = self.elements_at(accumulator);
        let mut events = BTreeSet::new();
        for offset in self.offsets_named(accumulator) {
            let mut event = self.piece(Kind::Write, to, offset);
            event.values = vec![ANYTHING; event.granules.len()];
            event.follows.clone_from(reads);
            events.insert(self.push(event));
        }
        events
    }
}
