//! How the twin's threads access memory: where, with which values, and what an atomic makes of them.

use super::{Control, Interpreter, Stop, Target};
use crate::event::{Event, Kind, Location};
use crate::expression::{Datum, evaluate, truncate};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Address, AddressBase, AtomicOp, Object};
use fencepost_dsl::vocabulary::{Replication, Scope, Sem, Space};
use std::collections::BTreeSet;

/// What reads: it says whether the read can be in an acquire pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reader {
    /// A load, or an atomic whose result goes to a register.
    Taken,
    /// An `atom` with sink.
    Dropped,
    /// A `red`.
    Reduction,
}

impl Interpreter<'_> {
    /// The object an operand names, and where it is.
    pub(super) fn place(&self, address: &Address) -> (&Object, Location) {
        let Target { object, element, instance } = self.target(address);
        let object = &self.kernel.objects[object];
        let size = u32::from(object.width) / 8;
        (object, (object.storage.0, instance, object.offset_bytes + element * size, size))
    }

    pub(super) fn target(&self, address: &Address) -> Target {
        let id = match address.base {
            AddressBase::Object(object) => object,
            AddressBase::Flat { .. } => panic!("imported PTX is unsupported by the twin"),
            AddressBase::Reference(reference) => {
                let target = self.references[reference.index()];
                let index =
                    address.indices.iter().map(|i| evaluate(i, &self.registers, self.thread).value).sum();
                let further: u32 = u64::try_into(index).expect("a small number");
                assert!(
                    address.rank.is_none() && address.device.is_none(),
                    "references to elsewhere are unsupported"
                );
                return Target { element: target.element + further, ..target };
            }
        };
        let object = &self.kernel.objects[id];
        let mut element = 0;
        for (dimension, n) in object.dimensions.iter().enumerate() {
            let Some(index) = address.indices.get(dimension) else {
                element *= n;
                continue;
            };
            let index = evaluate(index, &self.registers, self.thread);
            assert!(index.value < u64::from(*n), "indices out of bounds are unsupported by the twin");
            assert!(index.reads.is_empty(), "indices that were read are unsupported by the twin");
            element = element * n + u32::try_from(index.value).expect("below a dimension");
        }
        let instance = match (&address.rank, object.space) {
            (_, Space::Global) if object.replication != Replication::Single => self.device(address),
            (_, Space::Global | Space::Param) => 0,
            (_, Space::Register) => u32::try_from(self.thread.index).expect("a few threads"),
            (None, Space::Shared) | (_, Space::Tensor) => self.thread.cta(),
            (Some(rank), Space::Shared) => {
                let rank = evaluate(rank, &self.registers, self.thread).value;
                assert!(
                    rank < u64::from(self.thread.launch.cluster),
                    "ranks out of bounds are unsupported by the twin"
                );
                self.thread.peer_cta(u32::try_from(rank).expect("below a dimension"))
            }
        };
        Target { object: id, element, instance }
    }

    /// How far behind the first one all elements are that an address names, in bytes: those of the object whose indices
    /// begin with the ones that are written.
    pub(super) fn offsets_named(&self, address: &Address) -> Vec<u32> {
        let AddressBase::Object(id) = address.base else {
            panic!("references as operands of matrix operations are unsupported by the twin")
        };
        let object = &self.kernel.objects[id];
        let given: Vec<u64> =
            address.indices.iter().map(|index| evaluate(index, &self.registers, self.thread).value).collect();
        let mut named = vec![Vec::new()];
        for (dimension, &n) in object.dimensions.iter().enumerate() {
            let indices = match given.get(dimension) {
                Some(&index) => vec![index],
                None => (0..u64::from(n)).collect(),
            };
            named = named
                .iter()
                .flat_map(|outer| indices.iter().map(move |&index| [outer.as_slice(), &[index]].concat()))
                .collect();
        }
        let flat = |indices: &Vec<u64>| {
            indices.iter().zip(&object.dimensions).fold(0, |flat, (&index, &n)| flat * u64::from(n) + index)
        };
        let first = flat(&named[0]);
        let size = u64::from(object.width) / 8;
        named
            .iter()
            .map(|indices| u32::try_from((flat(indices) - first) * size).expect("a small object"))
            .collect()
    }

    /// An access without its values.
    pub(super) fn access(&self, kind: Kind, address: &Address, sem: Sem, scope: Scope) -> Event {
        let (object, location) = self.place(address);
        let (storage, instance, offset, size) = location;
        let mut event = Event::new(kind, Some(self.thread.index));
        event.location = location;
        event.is_shared = object.space == Space::Shared;
        event.is_tensor = object.space == Space::Tensor;
        event.source = Some(address.span);
        event.mapping = object.mapping;
        event.is_multimem = object.replication == Replication::Multimem;
        event.proxy = object.proxy;
        event.granules = self.memory.covered(storage, instance, offset, size);
        event.strong = sem != Sem::Weak;
        // MM-12, MM-13: volatile and mmio are relaxed at system scope.
        event.scope = if matches!(sem, Sem::Volatile | Sem::Mmio) { Scope::Sys } else { scope };
        event
    }

    pub(super) fn read(
        &mut self,
        address: &Address,
        (sem, scope): (Sem, Scope),
        of: Reader,
    ) -> Result<Datum, Stop> {
        let mut event = self.access(Kind::Read, address, sem, scope);
        event.acquire = matches!(sem, Sem::Acquire | Sem::AcqRel);
        event.never_acquires = of == Reader::Reduction;
        event.is_dropped = of == Reader::Dropped;
        self.read_event(event)
    }

    /// A read with all values it may return.
    pub(super) fn read_event(&mut self, mut event: Event) -> Result<Datum, Stop> {
        for granule in event.granules.clone() {
            let options = &self.values[granule];
            let choice = self.choose(options.len())?;
            event.values.push(*options.keys().nth(choice).expect("chosen among the options"));
        }
        let value = self.memory.join(event.location.0, &event.values);
        let position = self.push(event);
        Ok(Datum { value, reads: BTreeSet::from([position]) })
    }

    pub(super) fn write(
        &mut self,
        address: &Address,
        (sem, scope): (Sem, Scope),
        datum: Datum,
        of_atomic: bool,
        decided_by: BTreeSet<usize>,
    ) {
        let mut event = self.access(Kind::Write, address, sem, scope);
        event.decided.clone_from(&decided_by);
        event.control = decided_by;
        event.release = matches!(sem, Sem::Release | Sem::AcqRel);
        event.of_atomic = of_atomic;
        event.values = self.memory.split(event.location.0, datum.value, event.granules.len());
        event.dependencies = datum.reads;
        self.push(event);
    }

    /// Read part and write part; a failed compare-and-swap has no write.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        operands: &[Datum],
        address: &Address,
        sem: (Sem, Scope),
        of: Reader,
    ) -> Result<Datum, Stop> {
        let width = self.place(address).0.width;
        let old = self.read(address, sem, of)?;
        let operand = &operands[0];
        let (a, b) = (old.value, operand.value);
        let computed = |value: u64| {
            let reads = old.reads.union(&operand.reads).copied().collect();
            Some(Datum { value: truncate(value, width), reads })
        };
        // Whether a compare-and-swap writes is decided by what it read.
        let is_conditional = op == AtomicOp::CompareAndSwap;
        let decided_by = if is_conditional { &old.reads | &operand.reads } else { BTreeSet::new() };
        let new = match op {
            AtomicOp::Exchange => Some(operand.clone()),
            AtomicOp::CompareAndSwap => {
                let swaps = if self.control == Control::Ignored { self.choose(2)? == 1 } else { a == b };
                swaps.then(|| operands[1].clone())
            }
            _ => computed(updated(op, a, b, width)),
        };
        if let Some(new) = new {
            self.write(address, sem, new, true, decided_by);
        }
        Ok(old)
    }
}

/// What an atomic other than a compare-and-swap writes to `a`, given `b`.
pub(super) fn updated(op: AtomicOp, a: u64, b: u64, width: u8) -> u64 {
    let signed = |value: u64| ((value << (64 - u32::from(width))) as i64) >> (64 - u32::from(width));
    match op {
        AtomicOp::Add => a.wrapping_add(b),
        AtomicOp::Inc => {
            if a >= b {
                0
            } else {
                a + 1
            }
        }
        AtomicOp::Dec => {
            if a == 0 || a > b {
                b
            } else {
                a - 1
            }
        }
        AtomicOp::Min => a.min(b),
        AtomicOp::Max => a.max(b),
        AtomicOp::SignedMin if signed(a) < signed(b) => a,
        AtomicOp::SignedMin => b,
        AtomicOp::SignedMax if signed(a) > signed(b) => a,
        AtomicOp::SignedMax => b,
        AtomicOp::And => a & b,
        AtomicOp::Or => a | b,
        AtomicOp::Xor => a ^ b,
        AtomicOp::Exchange => b,
        AtomicOp::CompareAndSwap => unreachable!("a compare-and-swap has two operands"),
        AtomicOp::Float => unreachable!("floating-point numbers are unsupported by the twin"),
    }
}
