//! `multimem`: the same access of the instance of every device, one after the other here and in no order in the model.

use super::{Interpreter, Reader, Stop, updated};
use crate::expression::{Datum, evaluate, truncate};
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{Address, AddressBase, MultimemOp};
use std::collections::BTreeSet;

impl Interpreter<'_> {
    pub(super) fn multimem(&mut self, operation: &MultimemOp) -> Result<(), Stop> {
        assert_eq!(operation.n_elements(), 1, "vectors are unsupported by the twin");
        let first = self.events.len();
        let mut combined: Option<Datum> = None;
        for device in 0..self.thread.launch.gpus {
            self.multimem = Some((device, first));
            match operation {
                MultimemOp::LoadReduce { op, address, sem, scope, .. } => {
                    let AddressBase::Object(object) = address.base else {
                        panic!("functions are unsupported by the twin")
                    };
                    let width = self.kernel.objects[object].width;
                    let datum = self.read(address, (*sem, *scope), Reader::Taken)?;
                    combined = Some(match combined {
                        None => datum,
                        Some(others) => Datum {
                            value: truncate(updated(*op, others.value, datum.value, width), width),
                            reads: &others.reads | &datum.reads,
                        },
                    });
                }
                MultimemOp::Store { values, address, sem, scope } => {
                    let datum = evaluate(&values[0], &self.registers, self.thread);
                    self.write(address, (*sem, *scope), datum, false, BTreeSet::new());
                }
                MultimemOp::Reduction { op, operands, address, sem, scope } => {
                    let operand = evaluate(&operands[0], &self.registers, self.thread);
                    self.atomic(*op, &[operand], address, (*sem, *scope), Reader::Reduction)?;
                }
            }
        }
        self.multimem = None;
        if let (MultimemOp::LoadReduce { destinations, .. }, Some(datum)) = (operation, combined)
            && let Some(register) = destinations[0]
        {
            self.registers.insert(register.index(), datum);
        }
        Ok(())
    }

    /// The device whose instance of symmetric memory an operand names.
    pub(super) fn device(&self, address: &Address) -> u32 {
        if let Some((device, _)) = self.multimem {
            return device;
        }
        let Some(device) = &address.device else { return self.thread.gpu };
        let device = evaluate(device, &self.registers, self.thread).value;
        assert!(
            device < u64::from(self.thread.launch.gpus),
            "devices out of bounds are unsupported by the twin"
        );
        u32::try_from(device).expect("below a dimension")
    }
}
