//! How the twin's threads start asynchronous operations and wait for them (§5).
//!
//! What an operation does stands in its thread's run right after its start, but is not in program order (MM-27). It
//! always gets done: a run that stops early has stopped its thread, not what that had started.

mod matrix;
mod tensor_memory;

use super::{Interpreter, Stop, updated};
use crate::event::{Class, Event, Kind};
use crate::expression::{Datum, evaluate, truncate};
use crate::mbarrier::{Action, Operation};
use fencepost_dsl::kernel::program::{
    Address, AddressBase, AsyncCopy, AsyncGroup, AsyncOp, AsyncStore, AtomicOp, BulkCompletion, BulkCopy,
    BulkEnd, TensorBox,
};
use fencepost_dsl::vocabulary::{Proxy, Replication, Scope, Sem, Space, SyncRestrict};
use std::collections::BTreeSet;

/// What the thread has started that completes by groups, and which groups it has committed.
#[derive(Default)]
pub(super) struct Groups {
    started: Vec<Started>,
    commits: Vec<AsyncGroup>,
    /// `tcgen05` operations, and what they do.
    tensor: Vec<(Class, BTreeSet<usize>)>,
    matrices: matrix::Matrices,
}

struct Started {
    group: AsyncGroup,
    /// Commits before it, of all kinds.
    n_commits: usize,
    /// Positions of what it does.
    events: BTreeSet<usize>,
}

/// Elements of one object that are accessed one after the other, each in as many pieces as asked for.
#[derive(Clone, Copy)]
struct Pieces<'a> {
    first: &'a Address,
    /// Another CTA than the address says, counted over the launch (AS-14).
    instance: Option<u32>,
    size: u32,
    proxy: Proxy,
    strength: (Sem, Scope),
}

impl Interpreter<'_> {
    pub(super) fn asynchronous(&mut self, operation: &AsyncOp) -> Result<(), Stop> {
        let result = match operation {
            AsyncOp::Copy(copy) => self.async_copy(copy),
            AsyncOp::CopyArrive { mbarrier, increments } => {
                self.copy_arrive(mbarrier, *increments);
                Ok(())
            }
            AsyncOp::Bulk(copy) => self.bulk_copy(copy),
            AsyncOp::Commit(group) => {
                self.groups.commits.push(*group);
                Ok(())
            }
            AsyncOp::Wait { group, pending, reads_only } => {
                self.wait_for_groups(*group, *pending as usize, *reads_only);
                Ok(())
            }
            AsyncOp::Store(store) => {
                let AddressBase::Object(object) = store.address.base else {
                    panic!("functions are unsupported by the twin")
                };
                let is_multimem = self.kernel.objects[object].replication == Replication::Multimem;
                assert!(!is_multimem, "asynchronous multimem is unsupported by the twin");
                self.async_store(store)
            }
            AsyncOp::TensormapReplace { map } => {
                let datum = Datum { value: 1, reads: BTreeSet::new() };
                self.write(map, (Sem::Weak, Scope::Cta), datum, false, BTreeSet::new());
                Ok(())
            }
            AsyncOp::Tensor(operation) => self.tensor_memory(operation),
            AsyncOp::Matrix(matrix) => self.matrix(matrix),
            AsyncOp::MatrixFence => {
                self.matrix_fence();
                Ok(())
            }
            other => panic!("unsupported by the twin: {other:?}"),
        };
        self.operation = None;
        result
    }

    /// FN-15 … FN-17
    pub(super) fn async_half(&mut self, sem: Sem, restrict: SyncRestrict) {
        let mut event = Event::new(Kind::AsyncHalf(restrict), Some(self.thread.index));
        event.strong = true;
        event.scope = Scope::Cluster;
        event.release = sem == Sem::Release;
        event.acquire = sem == Sem::Acquire;
        self.push(event);
    }

    /// FN-13, and FN-14 for a tensor map.
    pub(super) fn map_half(&mut self, acquired: Option<&Address>, scope: Scope) {
        let map = acquired.map(|address| {
            let (_, (storage, instance, offset, size)) = self.place(address);
            self.memory.covered(storage, instance, offset, size)[0]
        });
        let mut event = Event::new(Kind::MapHalf(map), Some(self.thread.index));
        event.strong = true;
        event.scope = scope;
        event.release = map.is_none();
        event.acquire = map.is_some();
        self.push(event);
    }

    /// The start of an operation; what is pushed next belongs to it.
    fn issue(&mut self, sem: Sem, scope: Scope) {
        let mut event = Event::new(Kind::Issue, Some(self.thread.index));
        event.strong = sem != Sem::Weak;
        event.scope = scope;
        event.release = sem == Sem::Release;
        let issue = self.push(event);
        self.operation = Some(issue);
    }

    /// AS-7 … AS-9
    fn async_copy(&mut self, copy: &AsyncCopy) -> Result<(), Stop> {
        let known = |datum: Datum| {
            assert!(datum.reads.is_empty(), "sizes that were read are unsupported by the twin");
            datum.value
        };
        let operand = |expression| known(evaluate(expression, &self.registers, self.thread));
        let n_copied = copy.source_bytes.as_ref().map_or(u64::from(copy.bytes), operand);
        let ignores = copy.ignore_source.as_ref().is_some_and(|ignore| operand(ignore) == 1);
        assert!(n_copied <= u64::from(copy.bytes), "UB-A1 is unsupported by the twin");
        self.issue(Sem::Weak, Scope::Cta);
        let n_copied = if ignores { 0 } else { u32::try_from(n_copied).expect("a number of bytes") };
        let plain = |first, size| Pieces {
            first,
            instance: None,
            size,
            proxy: Proxy::Generic,
            strength: (Sem::Weak, Scope::Cta),
        };
        let size = self.finer(&copy.source, &copy.destination);
        let (from, to) = (plain(&copy.source, size), plain(&copy.destination, size));
        let events = self.transfer(from, to, copy.bytes, n_copied)?;
        self.start(AsyncGroup::Copy, events);
        Ok(())
    }

    fn start(&mut self, group: AsyncGroup, events: BTreeSet<usize>) {
        let n_commits = self.groups.commits.len();
        self.groups.started.push(Started { group, n_commits, events });
    }

    /// The smaller of the element sizes of two operands.
    fn finer(&self, a: &Address, b: &Address) -> u32 {
        let size = |address| {
            let (_, (.., size)) = self.place(address);
            size
        };
        size(a).min(size(b))
    }

    /// All reads, then all writes; zeros are written where nothing is copied.
    fn transfer(
        &mut self,
        from: Pieces<'_>,
        to: Pieces<'_>,
        n_bytes: u32,
        n_copied: u32,
    ) -> Result<BTreeSet<usize>, Stop> {
        let mut events = BTreeSet::new();
        let mut data = Vec::new();
        for offset in (0..n_bytes).step_by(from.size as usize) {
            let mut datum = Datum::default();
            if offset < n_copied {
                let event = self.piece(Kind::Read, from, offset);
                datum = self.read_event(event)?;
                events.extend(&datum.reads);
            }
            data.push((offset, datum));
        }
        for (offset, datum) in data {
            events.insert(self.write_piece(to, offset, datum, false));
        }
        Ok(events)
    }

    /// Each element updated by the one of the source (AS-17).
    fn reduce(
        &mut self,
        op: AtomicOp,
        from: Pieces<'_>,
        to: Pieces<'_>,
        n_bytes: u32,
    ) -> Result<BTreeSet<usize>, Stop> {
        let mut events = BTreeSet::new();
        for offset in (0..n_bytes).step_by(to.size as usize) {
            let event = self.piece(Kind::Read, from, offset);
            let operand = self.read_event(event)?;
            events.extend(&operand.reads);
            events.extend(self.update(op, operand, to, offset)?);
        }
        Ok(events)
    }

    fn update(
        &mut self,
        op: AtomicOp,
        operand: Datum,
        to: Pieces<'_>,
        offset: u32,
    ) -> Result<BTreeSet<usize>, Stop> {
        let mut event = self.piece(Kind::Read, to, offset);
        event.never_acquires = true;
        event.release = false;
        event.follows = operand.reads.iter().copied().filter(|&read| self.is_of_operation(read)).collect();
        let old = self.read_event(event)?;
        let width = u8::try_from(to.size * 8).expect("at most 64 bits");
        let value = truncate(updated(op, old.value, operand.value, width), width);
        let mut events = old.reads.clone();
        let reads = &old.reads | &operand.reads;
        events.insert(self.write_piece(to, offset, Datum { value, reads }, true));
        Ok(events)
    }

    fn is_of_operation(&self, event: usize) -> bool {
        self.operation.is_some() && self.events[event].operation == self.operation
    }

    fn piece(&self, kind: Kind, pieces: Pieces<'_>, offset: u32) -> Event {
        let mut event = self.access(kind, pieces.first, pieces.strength.0, pieces.strength.1);
        let (storage, instance, first, _) = event.location;
        let instance = pieces.instance.unwrap_or(instance);
        event.location = (storage, instance, first + offset, pieces.size);
        event.granules = self.memory.covered(storage, instance, first + offset, pieces.size);
        event.proxy = pieces.proxy;
        event
    }

    /// After the reads of its operation that its value comes from.
    fn write_piece(&mut self, to: Pieces<'_>, offset: u32, datum: Datum, of_atomic: bool) -> usize {
        let mut event = self.piece(Kind::Write, to, offset);
        event.of_atomic = of_atomic;
        self.finish_write(event, datum)
    }

    fn finish_write(&mut self, mut event: Event, datum: Datum) -> usize {
        event.values = self.memory.split(event.location.0, datum.value, event.granules.len());
        event.follows = datum.reads.iter().copied().filter(|&read| self.is_of_operation(read)).collect();
        event.dependencies = datum.reads;
        self.push(event)
    }

    /// AS-12 … AS-19. One copy for each CTA of a multicast, and each signal after its own (AS-14, MM-30).
    fn bulk_copy(&mut self, copy: &BulkCopy) -> Result<(), Stop> {
        let (source, destination) = match (&copy.source, &copy.destination) {
            (BulkEnd::Memory(source), BulkEnd::Memory(destination)) => (source, destination),
            (BulkEnd::Tensor(tensor), BulkEnd::Memory(memory)) => {
                return self.tensor_copy(copy, tensor, memory, true);
            }
            (BulkEnd::Memory(memory), BulkEnd::Tensor(tensor)) => {
                return self.tensor_copy(copy, tensor, memory, false);
            }
            (BulkEnd::Tensor(_), BulkEnd::Tensor(_)) => unreachable!("no such instruction"),
        };
        let is_weak = copy.sem == Sem::Weak || copy.reduction.is_some();
        assert!(is_weak, "strong bulk copies are unsupported by the twin");
        let bytes = copy.bytes.as_ref().expect("no end is a tensor");
        let n_bytes = u32::try_from(evaluate(bytes, &self.registers, self.thread).value).expect("32 bits");
        assert!(n_bytes.is_multiple_of(16), "UB-A2 is unsupported by the twin");
        let mut destinations = vec![None];
        if let Some(mask) = &copy.multicast {
            let mask = evaluate(mask, &self.registers, self.thread).value;
            let ranks = (0..self.thread.launch.cluster).filter(|rank| mask >> rank & 1 == 1);
            destinations = ranks.map(|rank| Some(self.thread.peer_cta(rank))).collect();
        }
        let size = self.finer(source, destination);
        let ends = |instance| {
            let strength = (copy.sem, copy.scope);
            let to = Pieces { first: destination, instance, size, proxy: Proxy::Async, strength };
            (Pieces { first: source, instance: None, strength: (Sem::Weak, Scope::Cta), ..to }, to)
        };
        self.issue(Sem::Weak, Scope::Cta);
        for instance in destinations {
            let (from, to) = ends(instance);
            let events = match copy.reduction {
                None => self.transfer(from, to, n_bytes, n_bytes)?,
                Some(op) => self.reduce(op, from, to, n_bytes)?,
            };
            match &copy.completion {
                BulkCompletion::Group => self.start(AsyncGroup::Bulk, events),
                BulkCompletion::Mbarrier(mbarrier) => {
                    let action = Action::Transact { change: -i64::from(n_bytes) };
                    self.signal(mbarrier, instance, action, events);
                }
            }
        }
        Ok(())
    }

    /// AS-35: the map is read through its own proxy; elements of the box outside the tensor read as 0 and are not written.
    fn tensor_copy(
        &mut self,
        copy: &BulkCopy,
        tensor: &TensorBox,
        memory: &Address,
        loads: bool,
    ) -> Result<(), Stop> {
        assert!(copy.multicast.is_none() && copy.reduction.is_none(), "unsupported by the twin");
        let (map, _) = self.place(&tensor.map);
        let described = map.tensor.clone().expect("a tensor map describes something");
        let is_parameter = map.space == Space::Param;
        let object = &self.kernel.objects[described.object];
        let (&[n_elements], &[n_boxed], [coordinate]) =
            (&object.dimensions[..], &described.box_dimensions[..], &tensor.coordinates[..])
        else {
            panic!("tensors of several dimensions are unsupported by the twin")
        };
        let size = u32::from(object.width) / 8;
        let (_, (.., element)) = self.place(memory);
        assert_eq!(size, element, "tensors of other elements than their copies are unsupported by the twin");
        let storage = object.storage.0;
        let (mapping, first) = (object.mapping, object.offset_bytes);
        // Of 32 bits, with sign.
        let start = i64::from(evaluate(coordinate, &self.registers, self.thread).value as u32 as i32);
        let weak =
            |proxy| Pieces { first: memory, instance: None, size, proxy, strength: (Sem::Weak, Scope::Cta) };
        self.issue(Sem::Weak, Scope::Cta);
        let mut events = BTreeSet::new();
        if !is_parameter {
            let mut event = self.access(Kind::Read, &tensor.map, Sem::Weak, Scope::Cta);
            event.proxy = Proxy::Tensormap;
            events.extend(self.read_event(event)?.reads);
        }
        let of_map = events.clone();
        // Of the tensor, an element if it has it.
        let element_of = |interpreter: &Self, kind, number: u32| {
            let index = u32::try_from(start + i64::from(number)).ok().filter(|&index| index < n_elements)?;
            let mut event = interpreter.piece(kind, weak(Proxy::Async), 0);
            let offset = first + index * size;
            event.location = (storage, 0, offset, size);
            event.is_shared = false;
            event.mapping = mapping;
            event.granules = interpreter.memory.covered(storage, 0, offset, size);
            Some(event)
        };
        let mut writes = Vec::new();
        for number in 0..n_boxed {
            let event = match loads {
                true => element_of(self, Kind::Read, number),
                false => Some(self.piece(Kind::Read, weak(Proxy::Async), number * size)),
            };
            let datum = event.map_or(Ok(Datum::default()), |event| self.read_event(event))?;
            events.extend(&datum.reads);
            writes.push((number, datum));
        }
        for (number, datum) in writes {
            let event = match loads {
                true => Some(self.piece(Kind::Write, weak(Proxy::Async), number * size)),
                false => element_of(self, Kind::Write, number),
            };
            events.extend(event.map(|event| self.finish_write(event, datum)));
        }
        match &copy.completion {
            BulkCompletion::Group => self.start(AsyncGroup::Bulk, events),
            BulkCompletion::Mbarrier(mbarrier) => {
                // AS-20: a group that it is committed to stands for the read of its map.
                self.start(AsyncGroup::Bulk, of_map);
                let action = Action::Transact { change: -i64::from(n_boxed * size) };
                self.signal(mbarrier, None, action, events);
            }
        }
        Ok(())
    }

    /// AS-23
    fn async_store(&mut self, store: &AsyncStore) -> Result<(), Stop> {
        let (_, (.., size)) = self.place(&store.address);
        let data: Vec<Datum> =
            store.values.iter().map(|value| evaluate(value, &self.registers, self.thread)).collect();
        let sem = if store.sem == Sem::Release { Sem::Release } else { Sem::Weak };
        self.issue(sem, store.scope);
        // The release is that of the start, which is in program order (§1.8, 5).
        let strength = (if store.sem == Sem::Weak { Sem::Weak } else { Sem::Relaxed }, store.scope);
        let to = Pieces { first: &store.address, instance: None, size, proxy: Proxy::Generic, strength };
        let mut events = BTreeSet::new();
        for (datum, offset) in data.into_iter().zip((0..).step_by(size as usize)) {
            match store.reduction {
                None => {
                    events.insert(self.write_piece(to, offset, datum, false));
                }
                Some(op) => events.extend(self.update(op, datum, to, offset)?),
            }
        }
        if let Some(mbarrier) = &store.mbarrier {
            let n = i64::try_from(store.values.len()).expect("a few");
            let action = Action::Transact { change: -n * i64::from(size) };
            self.signal(mbarrier, None, action, events);
        }
        Ok(())
    }

    /// MM-29, AS-11: after all earlier `cp.async` of the thread.
    fn copy_arrive(&mut self, mbarrier: &Address, increments: bool) {
        if increments {
            let (_, (storage, instance, offset, _)) = self.place(mbarrier);
            let kind =
                Kind::Mbarrier(Operation { object: (storage, instance, offset), action: Action::Raise });
            self.push(Event::new(kind, Some(self.thread.index)));
        }
        self.issue(Sem::Weak, Scope::Cta);
        let copies = self.groups.started.iter().filter(|started| started.group == AsyncGroup::Copy);
        let tracked = copies.flat_map(|started| started.events.clone()).collect();
        self.signal(mbarrier, None, Action::ONE_ARRIVAL, tracked);
    }

    /// MB-24: a release at cluster scope, of `follows` only.
    fn signal(&mut self, mbarrier: &Address, cta: Option<u32>, action: Action, follows: BTreeSet<usize>) {
        let (_, (storage, instance, offset, _)) = self.place(mbarrier);
        let object = (storage, cta.unwrap_or(instance), offset);
        let mut event = Event::new(Kind::Mbarrier(Operation { object, action }), Some(self.thread.index));
        event.source = Some(mbarrier.span);
        event.strong = true;
        event.scope = Scope::Cluster;
        event.release = true;
        event.follows = follows;
        self.push(event);
    }

    /// AS-7, AS-20: an operation is in the first group of its kind committed after it, and of the groups committed the
    /// latest `n_pending` may be going on.
    fn wait_for_groups(&mut self, group: AsyncGroup, n_pending: usize, reads_only: bool) {
        let mut event = Event::new(Kind::AsyncWait, Some(self.thread.index));
        for started in self.groups.started.iter().filter(|started| started.group == group) {
            let later = &self.groups.commits[started.n_commits..];
            let n_later = later.iter().filter(|&&commit| commit == group).count();
            if n_later > n_pending {
                let counts = |event: &usize| self.events[*event].is_read() || !reads_only;
                event.follows.extend(started.events.iter().copied().filter(counts));
            }
        }
        self.push(event);
    }
}
