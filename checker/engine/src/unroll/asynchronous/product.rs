//! `wgmma` of compiled code: descriptors name what is read, and registers are watched as tuples (§5.7).
//!
//! What a matrix operation reads in shared memory its warp reads once ([`super::together`]).
//!
//! Registers belong to a thread, so nobody races for them: that they are fenced (AS-25) and waited for (AS-26) is a rule
//! about the thread's own instructions, which is looked at here.
//!
//! Which bytes a descriptor names: rows of 32 bytes, whatever the type of their elements, in units of 16 bytes. Stored with
//! the inner dimension first, eight rows of 32, 64 or 128 bytes follow each other, and the next eight are a stride away;
//! without a pattern, units of eight rows follow each other, and the other unit of a row is a stride of its own away.
//! Transposed, a unit has eight elements of the other dimension. Within the pattern, the bits of an address from the seventh
//! on are added to those from the fourth on.
//!
//! Cannot: descriptors that are not known before the kernel runs, and those of a matrix that does not start with its pattern.

use super::super::{State, Step, UnrollError, Unroller};
use super::together::{Done, Named};
use super::transfer::Piece;
use super::{AsyncGroup, Operation};
use crate::event::{Misuse, ObligationKind, OperationSort, TermPool, TermRef};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::flat::SHARED_WINDOW;
use fencepost_dsl::kernel::program::{Factor, Product, TupleId};
use rustc_hash::FxHashMap;

/// The unit of a layout, in bytes.
const UNIT: u64 = 16;
/// Rows that belong together.
const ROWS: u64 = 8;
/// Bytes that are read at once.
const PIECE: u32 = 8;
/// Elements of 16 bits along the inner dimension, which are what transposed matrices have.
const DEPTH: u64 = 16;

/// What is known of the matrix operations of compiled code.
#[derive(Default)]
pub(super) struct ProductLog {
    /// Of the current thread.
    started: Vec<Started>,
    /// Fences before each touch of a tuple, and whether it happens, in order.
    touches: FxHashMap<TupleId, Vec<(usize, TermRef)>>,
}

struct Started {
    product: Tuples,
    shape: &'static str,
    guard: TermRef,
    /// Fences of the thread before it.
    fences: usize,
    /// Which of what the thread has started.
    number: usize,
}

/// The registers of an operation.
#[derive(Clone, Copy)]
struct Tuples {
    accumulator: TupleId,
    a: Option<TupleId>,
}

impl ProductLog {
    /// Forgets the thread before.
    pub(super) fn start_thread(&mut self) {
        self.started.clear();
        self.touches.clear();
    }
}

impl Unroller<'_> {
    pub(super) fn described_product(
        &mut self,
        step: &mut Step<'_>,
        product: &Product,
    ) -> Result<(), UnrollError> {
        let span = self.graph.sites[step.site].span;
        let a = match product.a {
            Factor::Registers(tuple) => Some(tuple),
            Factor::Described { .. } => None,
        };
        let tuples = Tuples { accumulator: product.accumulator, a };
        if let Some(a) = a {
            // What another operation still computes is nothing to multiply with.
            self.require_done(step.state, a, span);
        }
        self.require_fences(step.state, tuples, product.shape, span);
        let mut named = Vec::new();
        let mut units = Vec::new();
        for factor in [&product.a, &product.b] {
            let Factor::Described { descriptor, rows, is_transposed } = factor else { continue };
            let value = self.evaluate(step.state, step.frame, descriptor)?;
            let Some(bits) = self.graph.terms.constant_value(value) else {
                return Err(unknown(descriptor.span));
            };
            let bits = bits as u64;
            named.push(Named::Descriptor(bits));
            units.push((bits, *rows, *is_transposed));
        }
        let started = self.start(step, OperationSort::Matrix)?;
        let operation = Operation { starts_at_fence: true, ..started };
        self.log_aligned(step.state.live, operation.issue);
        let read = |this: &mut Self| this.read_described(step, operation, &units, span);
        let events = self.read_together(operation, named, read)?;
        let (fences, number) = (self.asynchronous.fences.len(), self.asynchronous.started.len());
        self.note_started(AsyncGroup::Matrix, events);
        self.asynchronous.products.started.push(Started {
            product: tuples,
            shape: product.shape,
            guard: step.state.live,
            fences,
            number,
        });
        Ok(())
    }

    /// All that descriptors name.
    fn read_described(
        &mut self,
        step: &mut Step<'_>,
        operation: Operation,
        units: &[(u64, u32, bool)],
        span: Span,
    ) -> Result<Vec<Done>, UnrollError> {
        let mut addresses: Vec<u64> = Vec::new();
        for &(bits, rows, is_transposed) in units {
            let Some(layout) = Layout::of(bits, is_transposed) else { return Err(unknown(span)) };
            addresses.extend(layout.units(rows));
        }
        addresses.sort_unstable();
        addresses.dedup();
        let mut events = Vec::new();
        for address in addresses {
            for part in [0, u64::from(PIECE)] {
                let address = self.graph.terms.constant(u128::from(SHARED_WINDOW + address + part), 64);
                let Some(run) = self.word_at(step, address, span)? else { return Ok(events) };
                let piece = Piece { run, offset_bytes: 0, width_bytes: PIECE };
                events.push((self.read_piece(operation, operation.guard, piece)?.0, true));
            }
        }
        Ok(events)
    }

    /// UB-A5: a `wgmma.fence` comes before the first operation, between it and other accesses of its registers, and between
    /// operations of several shapes.
    fn require_fences(&mut self, state: &mut State, tuples: Tuples, shape: &'static str, span: Span) {
        let without = || Misuse::new(&findings::asynchronous::MATRIX_WITHOUT_FENCE);
        self.require_fence_since(state, 0, TermPool::TRUE, without(), span);
        for tuple in [Some(tuples.accumulator), tuples.a].into_iter().flatten() {
            let touches = self.asynchronous.products.touches.get(&tuple).cloned().unwrap_or_default();
            for (fences, guard) in touches.into_iter().rev() {
                self.require_fence_since(state, fences, guard, without(), span);
                if self.graph.terms.implies_syntactically(state.live, guard) {
                    break;
                }
            }
        }
        let others: Vec<_> = self
            .asynchronous
            .products
            .started
            .iter()
            .filter(|other| other.product.accumulator == tuples.accumulator && other.shape != shape)
            .map(|other| (other.fences, other.shape, other.guard))
            .collect();
        for (fences, earlier, guard) in others {
            let misuse = Misuse::new(&findings::asynchronous::SHAPES_WITHOUT_FENCE)
                .with("earlier", earlier.to_owned())
                .with("shape", shape.to_owned());
            self.require_fence_since(state, fences, guard, misuse, span);
        }
    }

    /// An instruction that reads or writes registers of matrix operations.
    pub(super) fn touch(&mut self, step: &mut Step<'_>, tuples: &[TupleId]) -> Result<(), UnrollError> {
        let span = self.graph.sites[step.site].span;
        for &tuple in tuples {
            self.require_done(step.state, tuple, span);
            let touch = (self.asynchronous.fences.len(), step.state.live);
            self.asynchronous.products.touches.entry(tuple).or_default().push(touch);
        }
        Ok(())
    }

    /// UB-A6: the operations that use registers were waited for.
    fn require_done(&mut self, state: &mut State, tuple: TupleId, span: Span) {
        let started = &self.asynchronous.products.started;
        let pending = started
            .iter()
            .filter(|started| started.product.accumulator == tuple || started.product.a == Some(tuple));
        let is_done = |started: &Started| self.asynchronous.started[started.number].is_done;
        let pending: Vec<_> = pending.map(|started| (started.guard, is_done(started))).collect();
        for (started, is_done) in pending {
            let guard = self.graph.terms.and(state.live, started);
            if self.graph.terms.implies_syntactically(guard, is_done) {
                continue;
            }
            let misuse = Misuse::new(&findings::asynchronous::REGISTERS_IN_FLIGHT);
            self.oblige(ObligationKind::Discipline(misuse), guard, is_done, span);
            let not_started = self.graph.terms.not(started);
            let passes = self.graph.terms.or(not_started, is_done);
            state.live = self.graph.terms.and(state.live, passes);
        }
    }
}

fn unknown(span: Span) -> UnrollError {
    UnrollError::unsupported(
        "unsupported::matrix-descriptor",
        "which matrix this is must be known before the kernel runs, and start with its pattern",
        span,
        "this descriptor",
    )
}

/// Where the units of a matrix are.
struct Layout {
    start: u64,
    /// Bytes from one part to the next along the leading dimension, and along the other.
    leading: u64,
    stride: u64,
    /// Bytes of a row of the pattern; without one, of a unit.
    row: u64,
    is_transposed: bool,
}

impl Layout {
    /// Reads a descriptor.
    ///
    /// Source: AS-24 — PTX ISA 9.4, `wgmma.mma_async`: "Shared Memory Matrix Layout", "Strides", "Matrix Descriptor Format".
    fn of(bits: u64, is_transposed: bool) -> Option<Self> {
        let field = |low: u32| ((bits >> low) & 0x3fff) * UNIT;
        let has_offset = (bits >> 49) & 7 != 0;
        let row = [UNIT, 128, 64, 32][(bits >> 62) as usize];
        let (start, leading, stride) = (field(0), field(16), field(32));
        (!has_offset).then_some(Self { start, leading, stride, row, is_transposed })
    }

    /// The addresses of all units of so many rows.
    fn units(&self, rows: u32) -> Vec<u64> {
        let rows = u64::from(rows);
        let in_pattern = self.row > UNIT;
        let linear = |row: u64, unit: u64| match (self.is_transposed, in_pattern) {
            (false, true) => row / ROWS * self.stride + row % ROWS * self.row + unit * UNIT,
            (false, false) => row / ROWS * self.stride + row % ROWS * UNIT + unit * self.leading,
            // `row` counts along the inner dimension, `unit` along the other.
            (true, true) => {
                let units = self.row / UNIT;
                unit % units * UNIT
                    + unit / units * self.leading
                    + row % ROWS * self.row
                    + row / ROWS * self.stride
            }
            (true, false) => unit * self.stride + row % ROWS * UNIT + row / ROWS * self.leading,
        };
        let (n_rows, n_units) = if self.is_transposed { (DEPTH, rows / ROWS) } else { (rows, 2) };
        (0..n_rows)
            .flat_map(|row| (0..n_units).map(move |unit| (row, unit)))
            .map(|(row, unit)| self.mixed(self.start + linear(row, unit)))
            .collect()
    }

    /// An address within the pattern.
    fn mixed(&self, address: u64) -> u64 {
        let bits = self.row / UNIT - 1;
        address ^ (((address >> 7) & bits) << 4)
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    fn descriptor(start: u64, leading: u64, stride: u64, mode: u64) -> u64 {
        start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62
    }

    fn sorted(mut units: Vec<u64>) -> Vec<u64> {
        units.sort_unstable();
        units
    }

    /// Four steps along the inner dimension read a tile of 64 rows of 128 bytes once.
    #[test]
    fn slices_of_a_tile_are_all_of_it() {
        let slices = (0..4).flat_map(|slice| {
            Layout::of(descriptor(1024 + 32 * slice, 16, 1024, 1), false).expect("a layout").units(64)
        });
        let expected: Vec<u64> = (0..512).map(|unit| 1024 + 16 * unit).collect();
        assert_eq!(sorted(slices.collect()), expected);
    }

    /// The second half of a row of 32 bytes, and which units change places in it.
    #[test]
    fn rows_of_a_pattern_change_places() {
        let layout = Layout::of(descriptor(0, 16, 256, 3), false).expect("a layout");
        assert_eq!(layout.units(8), [0, 16, 32, 48, 64, 80, 96, 112, 144, 128, 176, 160, 208, 192, 240, 224]);
    }

    #[test]
    fn without_a_pattern_the_units_of_a_row_are_apart() {
        let layout = Layout::of(descriptor(0, 2048, 128, 0), false).expect("a layout");
        assert_eq!(layout.units(16)[..4], [0, 2048, 16, 2064]);
        assert_eq!(layout.units(16)[16..18], [128, 2176]);
    }

    /// 64 elements of 16 bits are a row of the pattern; sixteen of these are twice eight.
    #[test]
    fn transposed_rows_are_along_the_other_dimension() {
        let layout = Layout::of(descriptor(0, 4096, 1024, 1), true).expect("a layout");
        let units = sorted(layout.units(128));
        let tile = |start: u64| (0..128).map(move |unit| start + 16 * unit);
        assert_eq!(units, tile(0).chain(tile(4096)).collect::<Vec<u64>>());
    }

    #[test]
    fn a_matrix_that_starts_inside_of_its_pattern_is_not_read() {
        assert!(Layout::of(1 << 49 | 1 << 62, false).is_none());
    }
}
