//! `tcgen05` in the twin's threads: what an operation reads and writes, and what waits and commits are for (§5.8).
//!
//! Nothing is multiplied: an accumulator gets [`ANYTHING`], and so does the word where `alloc` puts an address. There is
//! always room for an allocation.

use super::super::{Interpreter, Stop};
use crate::event::{Class, Event, Kind, Tensor};
use crate::expression::{Datum, evaluate};
use crate::mbarrier::Action;
use crate::memory::ANYTHING;
use fencepost_dsl::kernel::program::{Address, TensorOp, TensorProduct};
use fencepost_dsl::vocabulary::{Scope, Sem};
use std::collections::BTreeSet;

impl Interpreter<'_> {
    pub(super) fn tensor_memory(&mut self, operation: &TensorOp) -> Result<(), Stop> {
        match operation {
            TensorOp::Multiply(product) => self.product(product)?,
            TensorOp::Copy { destination, source } => {
                let events = self.moved(Class::Copy, source, destination)?;
                self.groups.tensor.push((Class::Copy, events));
            }
            TensorOp::Load { destination, source } => {
                let events = self.moved(Class::Load, source, destination)?;
                self.groups.tensor.push((Class::Load, events));
            }
            TensorOp::Store { destination, values } => {
                let data: Vec<Datum> =
                    values.iter().map(|value| evaluate(value, &self.registers, self.thread)).collect();
                self.start_tensor(Class::Store);
                let to = self.elements_at(destination);
                let offsets = self.offsets_named(destination);
                assert_eq!(offsets.len(), data.len(), "a value for each element");
                let mut events = BTreeSet::new();
                for (offset, datum) in offsets.into_iter().zip(data) {
                    events.insert(self.write_piece(to, offset, datum, false));
                }
                self.groups.tensor.push((Class::Store, events));
            }
            TensorOp::Commit { mbarrier, multicast } => {
                let ranks = multicast.as_ref().map(|mask| {
                    let mask = evaluate(mask, &self.registers, self.thread).value;
                    (0..self.thread.launch.cluster).filter(|rank| mask >> rank & 1 == 1).collect::<Vec<u32>>()
                });
                let ctas = match ranks {
                    None => vec![None],
                    Some(ranks) => ranks.into_iter().map(|rank| Some(self.thread.peer_cta(rank))).collect(),
                };
                self.commit(mbarrier, &ctas);
            }
            TensorOp::Wait { stores } => {
                let waited_for = if *stores { Class::Store } else { Class::Load };
                let mut event = Event::new(Kind::AsyncWait, Some(self.thread.index));
                event.follows = self.own(|class| *class == waited_for);
                self.push(event);
            }
            TensorOp::Fence { before: true } => self.tensor_event(Tensor::FenceBefore),
            TensorOp::Fence { before: false } => self.tensor_event(Tensor::FenceAfter),
            TensorOp::Allocate { slot, columns } => {
                self.tensor_event(Tensor::Allocate { columns: *columns });
                let datum = Datum { value: ANYTHING, reads: BTreeSet::new() };
                self.write(slot, (Sem::Weak, Scope::Cta), datum, false, BTreeSet::new());
            }
            TensorOp::Free { object, columns } => {
                let (_, (storage, instance, ..)) = self.place(object);
                self.tensor_event(Tensor::Free { columns: *columns, storage, instance });
            }
            TensorOp::Relinquish => self.tensor_event(Tensor::Relinquish),
        }
        Ok(())
    }

    fn tensor_event(&mut self, what: Tensor) {
        self.push(Event::new(Kind::Tensor(what), Some(self.thread.index)));
    }

    /// The start of an operation of a class.
    fn start_tensor(&mut self, class: Class) {
        self.issue(Sem::Weak, Scope::Cta);
        let issue = self.operation.expect("just started");
        self.events[issue].class = Some(class);
    }

    /// What the thread's earlier operations of some classes have done.
    fn own(&self, of: impl Fn(&Class) -> bool) -> BTreeSet<usize> {
        let own = self.groups.tensor.iter().filter(|(class, _)| of(class));
        own.flat_map(|(_, events)| events).copied().collect()
    }

    /// Element by element: `cp` and `ld`.
    fn moved(&mut self, class: Class, from: &Address, to: &Address) -> Result<BTreeSet<usize>, Stop> {
        self.start_tensor(class);
        let data = self.read_elements(from)?;
        let mut events: BTreeSet<usize> = data.iter().flat_map(|datum| datum.reads.clone()).collect();
        let offsets = self.offsets_named(to);
        assert_eq!(offsets.len(), data.len(), "as many elements at both ends");
        let to = self.elements_at(to);
        for (offset, datum) in offsets.into_iter().zip(data) {
            events.insert(self.write_piece(to, offset, datum, false));
        }
        Ok(events)
    }

    /// All reads, then all writes.
    fn product(&mut self, product: &TensorProduct) -> Result<(), Stop> {
        let accumulates = product.accumulates.as_ref().is_none_or(|operand| {
            let datum = evaluate(operand, &self.registers, self.thread);
            assert!(datum.reads.is_empty(), "such an operand is unsupported by the twin if it was read");
            datum.value != 0
        });
        let (_, location) = self.place(&product.accumulator);
        let class = Class::Multiply {
            kind: product.kind.clone(),
            accumulator: location,
            n_elements: self.offsets_named(&product.accumulator).len(),
        };
        self.start_tensor(class.clone());
        let mut data = self.read_elements(&product.a)?;
        data.extend(self.read_elements(&product.b)?);
        if accumulates {
            data.extend(self.read_elements(&product.accumulator)?);
        }
        let reads: BTreeSet<usize> = data.into_iter().flat_map(|datum| datum.reads).collect();
        let mut events = reads.clone();
        events.extend(self.write_anything(&product.accumulator, &reads));
        self.groups.tensor.push((class, events));
        Ok(())
    }

    /// AS-30, A-28: an arrival after the thread's products and copies, which is of them only; one for each CTA of a mask.
    fn commit(&mut self, mbarrier: &Address, ctas: &[Option<u32>]) {
        let tracked = self.own(|class| matches!(class, Class::Multiply { .. } | Class::Copy));
        self.issue(Sem::Weak, Scope::Cta);
        for &cta in ctas {
            self.signal(mbarrier, cta, Action::ONE_ARRIVAL, tracked.clone());
        }
    }
}
