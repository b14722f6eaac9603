//! Bulk copies and reductions, plain and by tensor map: through the async proxy (§5.3, §5.4, §5.9).

use super::super::access::{Part, Strength};
use super::super::expression::Place;
use super::super::{State, Step, UnrollError, Unroller};
use super::transfer::{Piece, Run, Transfer, width_of};
use super::{Operation, READS, WRITES};
use crate::event::{
    AtomicClass, EventId, EventKind, MbarrierId, MbarrierRole, Misuse, OperationSort, RestrictedFence,
    TermPool, TermRef,
};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, AsyncGroup, BinaryOp, BulkCompletion, BulkCopy, BulkEnd, Expression, Object,
    TensorBox,
};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem, Space};

/// Bulk copies are of so many bytes and start at multiples of them (AS-12).
const GRANULE_BYTES: u32 = 16;
/// What is moved at once of a row of a box.
const WORD_BYTES: u32 = 8;
/// Most elements of a box.
const BOX_MAX: u32 = 1 << 14;

/// An end of a copy, with everything known of it.
#[derive(Clone)]
enum End {
    Bytes { run: Run, span: Span },
    Tensor(Boxed),
}

/// A box of a tensor.
#[derive(Clone)]
struct Boxed {
    map: Place,
    tensor: Place,
    /// Per element, or several that follow each other, in order: where in the tensor, and whether inside.
    elements: Vec<(TermRef, TermRef)>,
    /// The bytes of each of these.
    width_bytes: u32,
}

impl Unroller<'_> {
    pub(super) fn bulk_copy(&mut self, step: &mut Step<'_>, copy: &BulkCopy) -> Result<(), UnrollError> {
        let Some(bytes) = self.copied_bytes(step, copy)? else { return Ok(()) };
        let is_split = copy.reduction.is_some();
        let Some(from) = self.bulk_end(step, (&copy.source, is_split), bytes)? else { return Ok(()) };
        let Some(to) = self.bulk_end(step, (&copy.destination, is_split), bytes)? else { return Ok(()) };
        let strength = Strength::new(copy.sem, copy.scope, AtomicClass::None);
        let ends = Ends { from, to, bytes, strength };
        match &copy.completion {
            BulkCompletion::Group => {
                let operation = self.start(step, sort(copy))?;
                let events = self.move_between(operation, &ends, copy)?;
                self.note_started(AsyncGroup::Bulk, events);
                Ok(())
            }
            BulkCompletion::Mbarrier(mbarrier) => self.copy_with_signal(step, copy, &ends, mbarrier),
        }
    }

    /// A copy into shared memory, one operation for each CTA that it goes to.
    fn copy_with_signal(
        &mut self,
        step: &mut Step<'_>,
        copy: &BulkCopy,
        ends: &Ends,
        mbarrier: &Address,
    ) -> Result<(), UnrollError> {
        let End::Bytes { run: destination, span } = ends.to else { return Ok(()) };
        let Some(signal) = self.resolve(step, mbarrier, 1)? else { return Ok(()) };
        let own = self.graph.hierarchy.threads[self.agent].rank;
        let (rank, signal_rank) = (destination.rank.unwrap_or(own), signal.rank.unwrap_or(own));
        if rank != signal_rank {
            let misuse = Misuse::new(&findings::asynchronous::COPY_SIGNALS_ELSEWHERE)
                .with("rank", rank)
                .with("signalled", signal_rank);
            self.never(step.state, misuse, mbarrier.span);
            return Ok(());
        }
        let from_shared = matches!(&ends.from, End::Bytes { run, .. } if self.kernel.objects[run.object].space == Space::Shared);
        if from_shared && rank == own {
            let misuse = Misuse::new(&findings::asynchronous::COPY_WITHIN_OWN);
            self.never(step.state, misuse, span);
            return Ok(());
        }
        let targets = self.targets(step, copy.multicast.as_ref())?;
        let issue = self.issue(step, Sem::Weak, Scope::Cta)?;
        for (rank, guard) in targets {
            let run = Place { rank: rank.or(destination.rank), ..destination };
            let signal = Place { rank: rank.or(signal.rank), ..signal };
            let ends = Ends { to: End::Bytes { run, span }, ..ends.clone() };
            let operation = self.operation_of(issue, guard, sort(copy));
            let events = self.move_between(operation, &ends, copy)?;
            // AS-20: committed to a group, it stands for "its map has been read" and for nothing else.
            let is_of_map = |event: EventId| {
                self.graph.events[event].kind.access().is_some_and(|access| access.proxy == Proxy::Tensormap)
            };
            let of_map = events.into_iter().filter(|&(event, _)| is_of_map(event)).collect();
            self.note_started(AsyncGroup::Bulk, of_map);
            let object = self.mbarrier_at(signal, mbarrier.span)?;
            self.complete_tx(operation, object, ends.bytes)?;
        }
        Ok(())
    }

    /// The ranks whose bits are set in a mask, each with the condition for it; without a mask, wherever the address is.
    pub(super) fn targets(
        &mut self,
        step: &mut Step<'_>,
        mask: Option<&Expression>,
    ) -> Result<Vec<(Option<u32>, TermRef)>, UnrollError> {
        let mut targets = vec![(None, TermPool::TRUE)];
        if let Some(mask) = mask {
            let bits = self.evaluate(step.state, step.frame, mask)?;
            targets = self.chosen_ranks(step.state, bits, mask.span);
        }
        for (_, guard) in &mut targets {
            *guard = self.graph.terms.and(step.state.live, *guard);
        }
        targets.retain(|&(_, guard)| guard != TermPool::FALSE);
        Ok(targets)
    }

    /// The bits of a mask, which has none beyond the cluster.
    fn chosen_ranks(&mut self, state: &mut State, mask: TermRef, span: Span) -> Vec<(Option<u32>, TermRef)> {
        let n_ctas = self.graph.hierarchy.launch_of(self.agent).cluster;
        let width = self.graph.terms.width(mask);
        if n_ctas < u32::from(width) {
            let terms = &mut self.graph.terms;
            let outside = terms.constant(!((1u128 << n_ctas) - 1) & ((1u128 << width) - 1), width);
            let strangers = terms.binary(BinaryOp::And, mask, outside);
            let zero = terms.constant(0, width);
            let fine = terms.equal(strangers, zero);
            let misuse = Misuse::new(&findings::asynchronous::MULTICAST_TO_NOBODY).with("ctas", n_ctas);
            self.require(state, fine, misuse, span);
        }
        (0..n_ctas.min(u32::from(width)))
            .map(|rank| {
                let bit = self.graph.terms.extract(mask, u8::try_from(rank).unwrap_or(0), 1);
                (Some(rank), bit)
            })
            .collect()
    }

    /// The complete-tx at the end of an operation: releases what the operation itself did, to the cluster (MB-24).
    pub(super) fn complete_tx(
        &mut self,
        operation: Operation,
        object: MbarrierId,
        bytes: u32,
    ) -> Result<(), UnrollError> {
        let event = self.signal_in(operation, object, MbarrierRole::Complete, Scope::Cluster)?;
        self.log_completion(object, event, bytes, (self.agent, operation.position));
        Ok(())
    }

    fn copied_bytes(&mut self, step: &mut Step<'_>, copy: &BulkCopy) -> Result<Option<u32>, UnrollError> {
        if let Some(bytes) = &copy.bytes {
            let n = self.known_number(step, bytes, "size")?;
            if n % GRANULE_BYTES != 0 {
                let misuse = Misuse::new(&findings::asynchronous::COPY_OF_ODD_SIZE)
                    .with("bytes", n)
                    .with("granule", GRANULE_BYTES);
                self.never(step.state, misuse, bytes.span);
                return Ok(None);
            }
            return Ok(Some(n));
        }
        for end in [&copy.destination, &copy.source] {
            if let BulkEnd::Tensor(tensor) = end {
                let map = match tensor.map.base {
                    AddressBase::Flat { .. } => self.resolve(step, &tensor.map, 1)?,
                    _ => Some(self.place(step.state, step.frame, &tensor.map)?),
                };
                let Some(map) = map else { return Ok(None) };
                let object = &self.kernel.objects[map.object];
                let Some(described) = &object.tensor else { continue };
                let n = self.box_elements(&described.box_dimensions, tensor.map.span)?;
                return Ok(Some(n * self.element_bytes(described.object)));
            }
        }
        Ok(Some(0))
    }

    fn bulk_end(
        &mut self,
        step: &mut Step<'_>,
        (end, is_split): (&BulkEnd, bool),
        bytes: u32,
    ) -> Result<Option<End>, UnrollError> {
        match end {
            BulkEnd::Memory(address) => {
                let Some(run) = self.run_of_bytes(step, address, bytes)? else { return Ok(None) };
                self.require_alignment(step.state, run, GRANULE_BYTES, address.span);
                Ok((step.state.live != TermPool::FALSE).then_some(End::Bytes { run, span: address.span }))
            }
            BulkEnd::Tensor(tensor) => Ok(self.boxed(step, tensor, is_split)?.map(End::Tensor)),
        }
    }

    pub(in crate::unroll) fn require_alignment(
        &mut self,
        state: &mut State,
        run: Run,
        bytes: u32,
        span: Span,
    ) {
        let first = self.first_byte(run);
        let terms = &mut self.graph.terms;
        let granule = terms.constant(u128::from(bytes), 32);
        let rest = terms.binary(BinaryOp::Remainder, first, granule);
        let zero = terms.constant(0, 32);
        let aligned = terms.equal(rest, zero);
        let misuse = Misuse::new(&findings::asynchronous::ADDRESS_OF_NO_MULTIPLE).with("bytes", bytes);
        self.require(state, aligned, misuse, span);
    }

    /// The number of elements of a box, which are copied one by one.
    fn box_elements(&self, dimensions: &[u32], span: Span) -> Result<u32, UnrollError> {
        let n = dimensions.iter().fold(1u64, |n, &size| n.saturating_mul(u64::from(size)));
        match u32::try_from(n) {
            Ok(n) if n <= BOX_MAX => Ok(n),
            _ => Err(UnrollError::TooLarge {
                limit: "elements of a tensor box",
                value: u64::from(BOX_MAX),
                span,
            }),
        }
    }

    /// The elements of a box: row-major, those outside the tensor marked; one by one if each is needed by itself.
    fn boxed(
        &mut self,
        step: &mut Step<'_>,
        tensor: &TensorBox,
        is_split: bool,
    ) -> Result<Option<Boxed>, UnrollError> {
        let Some(map) = self.resolve(step, &tensor.map, 1)? else { return Ok(None) };
        let kernel = self.kernel;
        let Some(described) = &kernel.objects[map.object].tensor else { return Ok(None) };
        let object: &Object = &kernel.objects[described.object];
        if tensor.coordinates.len() != described.box_dimensions.len() {
            let (n, given) = (described.box_dimensions.len(), tensor.coordinates.len());
            return Err(UnrollError::unsupported(
                "validate::tensor-rank",
                format!(
                    "`{}` describes boxes of {n} dimensions; {given} coordinates given",
                    kernel.objects[map.object].name
                ),
                tensor.map.span,
                "of this tensor map",
            ));
        }
        let mut coordinates = Vec::new();
        for coordinate in tensor.coordinates.iter().rev() {
            let coordinate = self.evaluate(step.state, step.frame, coordinate)?;
            coordinates.push(self.graph.terms.resize(coordinate, 32));
        }
        let mut elements = Vec::new();
        let n = self.box_elements(&described.box_dimensions, tensor.map.span)?;
        let at_once =
            if is_split { 1 } else { self.elements_at_once(object, &described.box_dimensions, &coordinates) };
        for number in (0..n).step_by(at_once as usize) {
            let mut rest = number;
            let mut position = vec![0; described.box_dimensions.len()];
            for (at, &size) in described.box_dimensions.iter().enumerate().rev() {
                position[at] = rest % size;
                rest /= size;
            }
            elements.push(self.tensor_element(object, &coordinates, &position));
        }
        let zero = self.graph.terms.constant(0, 32);
        let tensor = Place { object: described.object, index: zero, offset: None, rank: None, device: None };
        let width_bytes = self.element_bytes(described.object) * at_once;
        Ok(Some(Boxed { map, tensor, elements, width_bytes }))
    }

    /// How many elements of a row of a box are moved at once: in compiled code, where a tile has thousands of them, as many
    /// as a word has, if all of these are inside or none.
    fn elements_at_once(&self, object: &Object, box_dimensions: &[u32], coordinates: &[TermRef]) -> u32 {
        let element = u32::from(object.width / 8);
        let is_word = |n: u32| n.wrapping_mul(element).is_multiple_of(WORD_BYTES);
        let row = |sizes: &[u32]| sizes.last().copied().unwrap_or(1);
        let known = |&coordinate: &TermRef| self.graph.terms.constant_value(coordinate);
        let first = coordinates.last().and_then(known).and_then(|first| u32::try_from(first).ok());
        let fits = self.kernel.flat.is_some()
            && element < WORD_BYTES
            && first.is_some_and(is_word)
            && is_word(row(box_dimensions))
            && is_word(row(&object.dimensions))
            && object.offset_bytes.is_multiple_of(WORD_BYTES);
        if fits { WORD_BYTES / element } else { 1 }
    }

    /// The flat index of an element of a box, and whether it is inside the tensor.
    fn tensor_element(
        &mut self,
        object: &Object,
        coordinates: &[TermRef],
        position: &[u32],
    ) -> (TermRef, TermRef) {
        let terms = &mut self.graph.terms;
        let (mut flat, mut inside) = (terms.constant(0, 32), TermPool::TRUE);
        for (at, &n) in object.dimensions.iter().enumerate() {
            let zero = terms.constant(0, 32);
            let coordinate = coordinates.get(at).copied().unwrap_or(zero);
            let offset = terms.constant(u128::from(position[at]), 32);
            let index = terms.binary(BinaryOp::Add, coordinate, offset);
            let n = terms.constant(u128::from(n), 32);
            // A negative coordinate is a large unsigned one.
            let below = terms.less(index, n);
            inside = terms.and(inside, below);
            flat = terms.binary(BinaryOp::Multiply, flat, n);
            flat = terms.binary(BinaryOp::Add, flat, index);
        }
        (flat, inside)
    }

    /// What the copy reads and writes; whether each is a read.
    fn move_between(
        &mut self,
        operation: Operation,
        ends: &Ends,
        copy: &BulkCopy,
    ) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let proxy = Proxy::Async;
        if let (End::Bytes { run: from, .. }, End::Bytes { run: to, .. }) = (&ends.from, &ends.to) {
            let (bytes, strength) = (ends.bytes, ends.strength);
            let transfer = Transfer { from: *from, to: *to, bytes, proxy, strength };
            return match copy.reduction {
                None => self.transfer(operation, &transfer, bytes, TermPool::FALSE),
                Some(op) => self.update_all(operation, &transfer, op),
            };
        }
        match (&ends.from, &ends.to) {
            (End::Tensor(from), End::Bytes { run, .. }) => self.load_box(operation, from, *run),
            (End::Bytes { run, .. }, End::Tensor(to)) => self.store_box(operation, *run, to, ends, copy),
            _ => Ok(Vec::new()),
        }
    }

    /// The read of a tensor map by its own proxy (AS-35); parameters of the kernel never change.
    fn read_map(&mut self, operation: Operation, map: Place) -> Result<Option<EventId>, UnrollError> {
        if self.kernel.objects[map.object].space == Space::Param {
            return Ok(None);
        }
        if self.graph.terms.constant_value(map.index).is_none() {
            let span = self.graph.sites[operation.site].span;
            return Err(unknown_map(span));
        }
        let piece = Piece { run: map, offset_bytes: 0, width_bytes: 8 };
        let how = (Proxy::Tensormap, super::weak());
        Ok(Some(self.read_in(operation, operation.guard, READS, piece, how)?.0))
    }

    fn load_box(
        &mut self,
        operation: Operation,
        from: &Boxed,
        to: Run,
    ) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let how = (Proxy::Async, super::weak());
        let mut events: Vec<(EventId, bool)> = Vec::new();
        events.extend(self.read_map(operation, from.map)?.map(|read| (read, true)));
        let piece = self.box_piece(from, to);
        let mut values = Vec::new();
        for &(index, inside) in &from.elements {
            let guard = self.graph.terms.and(operation.guard, inside);
            for offset_bytes in (0..from.width_bytes).step_by(piece as usize) {
                let zero = self.graph.terms.constant(0, width_of(piece));
                let mut value = zero;
                if guard != TermPool::FALSE {
                    let run = Place { index, ..from.tensor };
                    let source = Piece { run, offset_bytes, width_bytes: piece };
                    let (read, bits) = self.read_in(operation, guard, READS, source, how)?;
                    events.push((read, true));
                    value = self.graph.terms.if_then_else(inside, bits, zero);
                }
                values.push(value);
            }
        }
        for (number, value) in (0u32..).zip(values) {
            let to = Piece { run: to, offset_bytes: number * piece, width_bytes: piece };
            let write = self.write_in(operation, operation.guard, WRITES, to, value, how)?;
            events.push((write, false));
        }
        Ok(events)
    }

    fn store_box(
        &mut self,
        operation: Operation,
        from: Run,
        to: &Boxed,
        ends: &Ends,
        copy: &BulkCopy,
    ) -> Result<Vec<(EventId, bool)>, UnrollError> {
        let how = (Proxy::Async, super::weak());
        let mut events: Vec<(EventId, bool)> = Vec::new();
        events.extend(self.read_map(operation, to.map)?.map(|read| (read, true)));
        let piece = if copy.reduction.is_some() { to.width_bytes } else { self.box_piece(to, from) };
        let mut stores = Vec::new();
        for (number, &(index, inside)) in (0u32..).zip(&to.elements) {
            let guard = self.graph.terms.and(operation.guard, inside);
            for offset_bytes in (0..to.width_bytes).step_by(piece as usize) {
                let source = Piece {
                    run: from,
                    offset_bytes: number * to.width_bytes + offset_bytes,
                    width_bytes: piece,
                };
                // Elements outside are read all the same; nothing is written for them.
                let (read, value) = self.read_in(operation, operation.guard, READS, source, how)?;
                events.push((read, true));
                let run = Place { index, ..to.tensor };
                stores.push((Piece { run, offset_bytes, width_bytes: piece }, guard, value));
            }
        }
        for (to, guard, value) in stores {
            if guard == TermPool::FALSE {
                continue;
            }
            match copy.reduction {
                None => events.push((self.write_in(operation, guard, WRITES, to, value, how)?, false)),
                Some(op) => {
                    let inside = Operation { guard, ..operation };
                    events.extend(self.update_in(inside, to, op, value, (Proxy::Async, ends.strength))?);
                }
            }
        }
        Ok(events)
    }

    /// Bytes moved at once between a box and shared memory.
    fn box_piece(&self, tensor: &Boxed, run: Run) -> u32 {
        tensor.width_bytes.min(self.element_bytes(run.object)).min(8)
    }

    /// A hint: nothing but the tensor map is read for certain.
    pub(super) fn prefetch(&mut self, step: &mut Step<'_>, source: &BulkEnd) -> Result<(), UnrollError> {
        let BulkEnd::Tensor(tensor) = source else { return Ok(()) };
        let Some(map) = self.resolve(step, &tensor.map, 1)? else { return Ok(()) };
        if self.kernel.objects[map.object].space != Space::Param {
            let operation = self.start(step, OperationSort::Prefetch)?;
            self.read_map(operation, map)?;
        }
        Ok(())
    }

    /// `tensormap.replace`: the whole map, in the generic proxy (AS-35).
    pub(super) fn replace_tensormap(
        &mut self,
        step: &mut Step<'_>,
        map: &Address,
    ) -> Result<(), UnrollError> {
        let Some(place) = self.resolve(step, map, 1)? else { return Ok(()) };
        let value = self.graph.terms.constant(1, 64);
        self.write_map(step, place, value)
    }

    fn write_map(&mut self, step: &Step<'_>, place: Place, value: TermRef) -> Result<(), UnrollError> {
        let part = Part { low_bit: 0, width: 64 };
        let access = self.scalar_access((place, 0), part, value, super::weak());
        self.emit_next(step.state.live, EventKind::Write(access), step.site)?;
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`: a copy in the generic proxy, then a release to the tensormap proxy (FN-21).
    pub(in super::super) fn copy_tensormap(
        &mut self,
        step: &mut Step<'_>,
        (destination, source): (&Address, &Address),
        scope: Scope,
    ) -> Result<(), UnrollError> {
        let Some(to) = self.resolve(step, destination, 1)? else { return Ok(()) };
        let Some(from) = self.resolve(step, source, 1)? else { return Ok(()) };
        // The lanes of a warp do it together, once.
        if self.is_first_lane() {
            let position = self.next_position();
            let part = Part { low_bit: 0, width: 64 };
            let (_, value) =
                self.read_event(step.state.live, step.site, position, (from, 0), part, super::weak())?;
            self.write_map(step, to, value)?;
        }
        let fence = RestrictedFence::ReleaseTensormap(scope);
        let fence = self.emit_next(step.state.live, EventKind::RestrictedFence(fence), step.site)?;
        self.log_aligned(step.state.live, fence);
        Ok(())
    }

    /// `fence.proxy.tensormap::generic.acquire`: for one tensor map.
    pub(in super::super) fn acquire_tensormap(
        &mut self,
        step: &mut Step<'_>,
        address: &Address,
        scope: Scope,
    ) -> Result<(), UnrollError> {
        let Some(place) = self.resolve(step, address, 1)? else { return Ok(()) };
        let first = self.first_byte(place);
        let Some(offset) = self.graph.terms.constant_value(first) else {
            return Err(unknown_map(address.span));
        };
        let offset_bytes = u32::try_from(offset).unwrap_or(u32::MAX);
        let location = self.location(place);
        let fence = RestrictedFence::AcquireTensormap { scope, location, offset_bytes };
        self.emit_next(step.state.live, EventKind::RestrictedFence(fence), step.site)?;
        Ok(())
    }
}

fn unknown_map(span: Span) -> UnrollError {
    UnrollError::unsupported(
        "unsupported::tensormap-index",
        "which tensor map this is must be known before the kernel runs",
        span,
        "this index depends on values read or on parameters",
    )
}

/// Both ends of a copy.
#[derive(Clone)]
struct Ends {
    from: End,
    to: End,
    bytes: u32,
    strength: Strength,
}

fn sort(copy: &BulkCopy) -> OperationSort {
    let is_tensor =
        matches!(copy.source, BulkEnd::Tensor(_)) || matches!(copy.destination, BulkEnd::Tensor(_));
    match (copy.reduction.is_some(), is_tensor, copy.multicast.is_some()) {
        (true, ..) => OperationSort::BulkReduction,
        (false, _, true) => OperationSort::MulticastCopy,
        (false, true, false) => OperationSort::TensorCopy,
        (false, false, false) => OperationSort::BulkCopy,
    }
}
