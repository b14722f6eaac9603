//! `multimem` instructions: one access for each device's instance of a symmetric object and each element of a vector, in no
//! order among themselves (MM-7, MM-8), through the virtual address of the multimem object, which is another one than the
//! instance's own (MM-6).
//!
//! The read of an instance by a reduction comes before the write of that instance only, although all reads have one
//! position and all writes the next ([`EventGraph::multimem_halves`](crate::event::EventGraph::multimem_halves)): a release
//! of the one instance says nothing of the read of another.

use super::access::{Part, Strength};
use super::expression::{Frame, Place};
use super::{Step, UnrollError, Unroller};
use crate::event::{AtomicClass, TermPool};
use fencepost_dsl::Diagnostic;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, AtomicOp, Expression, MultimemOp, ObjectId, RegisterId,
};
use fencepost_dsl::vocabulary::{Replication, Sem};

impl Unroller<'_> {
    /// Runs a `multimem` instruction.
    pub(super) fn multimem(
        &mut self,
        step: &mut Step<'_>,
        operation: &MultimemOp,
    ) -> Result<(), UnrollError> {
        let (address, n) = (operation.address(), operation.n_elements());
        let Some(place) = self.resolve(step, address, n)? else { return Ok(()) };
        self.check_vector(step.state, place, n, address.span);
        if step.state.live == TermPool::FALSE {
            return Ok(());
        }
        match operation {
            MultimemOp::LoadReduce { destinations, op, sem, scope, .. } => {
                let strength = Strength::new(*sem, *scope, AtomicClass::None);
                self.load_all(step, (destinations, place), *op, strength)
            }
            MultimemOp::Store { values, sem, scope, .. } => {
                self.store_all(step, (values, place), Strength::new(*sem, *scope, AtomicClass::None))
            }
            MultimemOp::Reduction { op, operands, sem, scope, .. } => {
                let strength = Strength::new(*sem, *scope, AtomicClass::Reduction);
                self.reduce_all(step, (operands, place), *op, strength)
            }
        }
    }

    /// `multimem.ld_reduce`
    fn load_all(
        &mut self,
        step: &mut Step<'_>,
        (destinations, place): (&[Option<RegisterId>], Place),
        op: AtomicOp,
        strength: Strength,
    ) -> Result<(), UnrollError> {
        let whole = self.whole(place);
        let position = self.next_position();
        for (element, destination) in destinations.iter().enumerate() {
            let mut combined = None;
            for instance in self.denoted_places(place) {
                let at = (instance, element);
                let (_, value) = self.read(step.state.live, step.site, position, at, whole, strength)?;
                combined = Some(match combined {
                    // What arithmetic makes of a single number is not known either.
                    None if op == AtomicOp::Float => self.atomic_result((op, step.site), value, &[]).1,
                    None => value,
                    Some(others) => self.atomic_result((op, step.site), others, &[value]).1,
                });
            }
            if let (Some(register), Some(value)) = (*destination, combined) {
                let value = self.graph.terms.resize(value, step.frame.width(register));
                step.state.env.set(register, value);
            }
        }
        Ok(())
    }

    /// `multimem.st`
    fn store_all(
        &mut self,
        step: &mut Step<'_>,
        (values, place): (&[Expression], Place),
        strength: Strength,
    ) -> Result<(), UnrollError> {
        let whole = self.whole(place);
        let position = self.next_position();
        for (element, value) in values.iter().enumerate() {
            let value = self.evaluate(step.state, step.frame, value)?;
            let value = self.graph.terms.resize(value, whole.width);
            for instance in self.denoted_places(place) {
                let at = (instance, element);
                if self.last_try.is_some() {
                    self.last_write(step.state.live, at, whole, value, strength);
                    continue;
                }
                self.write(step.state.live, step.site, position, at, whole, value, strength)?;
            }
        }
        Ok(())
    }

    /// `multimem.red`
    fn reduce_all(
        &mut self,
        step: &mut Step<'_>,
        (operands, place): (&[Expression], Place),
        op: AtomicOp,
        strength: Strength,
    ) -> Result<(), UnrollError> {
        let whole = self.whole(place);
        let position = self.next_position();
        let mut reads = Vec::new();
        for (element, operand) in operands.iter().enumerate() {
            let operand = self.evaluate(step.state, step.frame, operand)?;
            let operand = self.graph.terms.resize(operand, whole.width);
            for instance in self.denoted_places(place) {
                let (at, strength) = ((instance, element), strength.with_sem(Sem::Relaxed));
                let read = self.read(step.state.live, step.site, position, at, whole, strength)?;
                reads.push((at, operand, read));
            }
        }
        let position = self.next_position();
        for (at, operand, (read, old)) in reads {
            let (_, new) = self.atomic_result((op, step.site), old, &[operand]);
            if self.last_try.is_some() {
                let same = self.graph.terms.equal(old, new);
                self.repeats_only_if(step.state.live, same);
                self.note_touched(step.state.live, at, whole, strength, true);
                continue;
            }
            let write = self.write(step.state.live, step.site, position, at, whole, new, strength)?;
            self.graph.rmw.extend(read.map(|read| (read, write)));
        }
        Ok(())
    }

    /// An element, accessed at once.
    fn whole(&self, place: Place) -> Part {
        Part { low_bit: 0, width: self.kernel.objects[place.object].width }
    }

    /// Every place that an address denotes: one, or one on each device.
    pub(super) fn denoted_places(&self, place: Place) -> Vec<Place> {
        if self.kernel.objects[place.object].replication != Replication::Multimem {
            return vec![place];
        }
        let devices = 0..self.graph.hierarchy.n_gpus();
        devices.map(|device| Place { device: Some(device), ..place }).collect()
    }

    /// The device that `peer` names.
    pub(super) fn device_value(
        &mut self,
        state: &super::State,
        frame: &Frame<'_>,
        address: &Address,
    ) -> Result<Option<u32>, UnrollError> {
        let Some(device) = &address.device else {
            let is_symmetric = |id: ObjectId| self.kernel.objects[id].replication == Replication::Symmetric;
            if let AddressBase::Object(id) = address.base
                && is_symmetric(id)
                && self.graph.hierarchy.is_host(self.agent)
            {
                let name = &self.kernel.objects[id].name;
                return Err(UnrollError::unsupported(
                    "unsupported::host-instruction",
                    format!(
                        "`{name}` is there once per GPU, and the host is on none: write `[peer({name}, 0)]`"
                    ),
                    address.span,
                    "which GPU's?",
                ));
            }
            return Ok(None);
        };
        let value = self.evaluate(state, frame, device)?;
        let n_devices = self.graph.hierarchy.n_gpus();
        match self.graph.terms.constant_value(value) {
            Some(value) if value < u128::from(n_devices) => Ok(u32::try_from(value).ok()),
            Some(value) => Err(UnrollError::unsupported(
                "unsupported::peer-device",
                format!("there is no GPU {value}: this launch has {n_devices}"),
                device.span,
                "this device",
            )),
            None => Err(UnrollError::unsupported(
                "unsupported::peer-device",
                "which device this is must be known before the kernel runs",
                device.span,
                "this device depends on values read or on parameters",
            )),
        }
    }

    /// A condition on final memory says whose instance it is about.
    pub(super) fn check_final_device(&self, place: Place, address: &Address) -> Result<(), UnrollError> {
        let object = &self.kernel.objects[place.object];
        let n_devices = self.graph.hierarchy.n_gpus();
        if object.replication == Replication::Single || place.device.is_some() || n_devices == 1 {
            return Ok(());
        }
        let diagnostic = Diagnostic::new(
            "unsupported::final-symmetric",
            format!("`{}` has an instance on each of the {n_devices} devices of this launch", object.name),
            address.span,
            "which device's instance is not said",
        );
        Err(UnrollError::Unsupported(diagnostic.with_help(format!("write `[peer({}, 0)]`", object.name))))
    }
}
