//! What a module for a stress test has besides the kernel: instances, delays, and a record of what was read.
//!
//! Parameters before the kernel's own: the memory of each storage, all instances one behind the other; where failed assertions
//! and values go; a seed; and a mask for delays, in nanoseconds. An instance is as many CTAs as the launch has.

use super::value::Value;
use super::{Emit, Frame, Reg};
use crate::kernel::program::{
    AccessOp, BinaryOp, Coordinate, Expression, Instruction, InstructionKind, StorageId,
};
use crate::sorted::SortedMap;
use crate::span::Span;
use crate::vocabulary::Space;

/// Registers that all of a stress test has.
#[derive(Clone, Debug)]
pub(super) struct Stress {
    bases: SortedMap<StorageId, Reg>,
    failed: Reg,
    values: Reg,
    random: Reg,
    mask: Reg,
}

/// Stands for the bytes of a thread's values until it is known how many they are.
pub(super) const VALUE_BYTES: &str = "FENCEPOST_VALUE_BYTES";

/// Bytes between the memory of two instances.
pub const ALIGNMENT: u32 = 256;

impl Emit<'_> {
    /// Parameters of a stress test, in their order.
    pub(super) fn stress_parameters(&self) -> Vec<String> {
        let globals = self.kernel.storages.iter_enumerated().filter(|(_, of)| of.space == Space::Global);
        let memory = globals.map(|(id, _)| format!("\n\t.param .u64 fencepost_{}", self.symbols[id]));
        let others = ["failed", "values"].map(|name| format!("\n\t.param .u64 fencepost_to_{name}"));
        let numbers = ["seed", "mask"].map(|name| format!("\n\t.param .u32 fencepost_{name}_of"));
        memory.chain(others).chain(numbers).collect()
    }

    /// Finds the instance of a thread, and what belongs to it.
    pub(super) fn start_stress(&mut self) {
        let (block, instance, own) = (self.special("ctaid.x"), self.fresh(32), self.fresh(32));
        let ctas = self.launch.ctas;
        self.prologue.push(format!("\tdiv.u32 {instance}, {block}, {ctas};"));
        self.prologue.push(format!("\trem.u32 {own}, {block}, {ctas};"));
        let ctaid = self.ctaid_of(own);
        self.coordinates.insert(Coordinate::Ctaid, Value::Reg(ctaid));
        let cluster = self.launch.cluster;
        if cluster > 1 {
            let number = self.fresh(32);
            self.prologue.push(format!("\tdiv.u32 {number}, {own}, {cluster};"));
            self.coordinates.insert(Coordinate::Clusterid, Value::Reg(number));
        } else {
            self.coordinates.insert(Coordinate::Clusterid, Value::Reg(own));
        }
        let globals: Vec<(StorageId, u32)> = self
            .kernel
            .storages
            .iter_enumerated()
            .filter(|(_, of)| of.space == Space::Global)
            .map(|(id, of)| (id, of.size_bytes.next_multiple_of(ALIGNMENT)))
            .collect();
        let mut bases = SortedMap::new();
        for (id, stride) in globals {
            let base = self.parameter_address(&format!("fencepost_{}", self.symbols[id]));
            let own = self.fresh(64);
            self.prologue.push(format!("\tmad.wide.u32 {own}, {instance}, {stride}, {base};"));
            bases.insert(id, own);
        }
        let failed = self.parameter_address("fencepost_to_failed");
        let own_failed = self.fresh(64);
        self.prologue.push(format!("\tmad.wide.u32 {own_failed}, {instance}, 4, {failed};"));
        let values = self.parameter_address("fencepost_to_values");
        let (tid, thread) = (self.special("tid.x"), self.fresh(32));
        self.prologue.push(format!("\tmad.lo.u32 {thread}, {block}, {}, {tid};", self.block_size()));
        let [seed, mask, random, mixed] = [(); 4].map(|()| self.fresh(32));
        self.prologue.push(format!("\tld.param.u32 {seed}, [fencepost_seed_of];"));
        self.prologue.push(format!("\tld.param.u32 {mask}, [fencepost_mask_of];"));
        self.prologue.push(format!("\tmad.lo.u32 {mixed}, {thread}, 0x9e3779b1, {seed};"));
        self.prologue.push(format!("\tor.b32 {random}, {mixed}, 1;"));
        // The slot of a thread; how many values it has is known at the end.
        let slot = self.fresh(64);
        self.prologue.push(format!("\tmad.wide.u32 {slot}, {thread}, {VALUE_BYTES}, {values};"));
        self.stress = Some(Stress { bases, failed: own_failed, values: slot, random, mask });
    }

    fn parameter_address(&mut self, name: &str) -> Reg {
        let (generic, global) = (self.fresh(64), self.fresh(64));
        self.prologue.push(format!("\tld.param.u64 {generic}, [{name}];"));
        self.prologue.push(format!("\tcvta.to.global.u64 {global}, {generic};"));
        global
    }

    /// The start of a storage of this instance.
    pub(super) fn base_of(&self, storage: StorageId) -> Option<Reg> {
        self.stress.as_ref()?.bases.get(&storage).copied()
    }

    /// A pause before what others may see: often none, at times a long one.
    pub(super) fn delay(&mut self) {
        let Some(Stress { random, mask, .. }) = self.stress.clone() else { return };
        let [shifted, amount] = [(); 2].map(|()| self.fresh(32));
        for (name, by) in [("shl.b32", 13), ("shr.u32", 17), ("shl.b32", 5)] {
            self.line(format!("{name} {shifted}, {random}, {by};"));
            self.line(format!("xor.b32 {random}, {random}, {shifted};"));
        }
        let (bits, is_due) = (self.fresh(32), self.fresh(1));
        self.line(format!("shr.u32 {bits}, {random}, 30;"));
        self.line(format!("setp.eq.u32 {is_due}, {bits}, 0;"));
        self.line(format!("and.b32 {amount}, {random}, {mask};"));
        self.line(format!("@{is_due} nanosleep.u32 {amount};"));
    }

    /// Stores what was read, unless it is read again and again.
    pub(super) fn record(&mut self, instruction: &Instruction, span: Span, frame: &mut Frame) {
        let is_read = matches!(
            &instruction.kind,
            InstructionKind::Access(AccessOp::Load { .. } | AccessOp::Atomic { .. })
        );
        let (Some(stress), true) = (self.stress.clone(), is_read && self.n_waits == 0) else { return };
        let Some(register) = instruction.results.iter().flatten().next() else { return };
        let own = self.register(frame, *register);
        let number = match self.observed.values.iter().position(|&known| known == span) {
            Some(known) => known,
            None => {
                self.observed.values.push(span);
                self.observed.values.len() - 1
            }
        };
        let value = self.converted(Value::Reg(own), 64);
        let value = self.in_register(&value);
        // One more, so that what was not read is 0.
        let more = self.binary(BinaryOp::Add, Value::Reg(value), Value::Number(1, 64));
        self.line(format!("st.global.u64 [{}+{}], {more};", stress.values, number * 8));
    }

    /// An assertion: a bit of a word says that it failed.
    pub(super) fn observe_assertion(&mut self, condition: &Expression, span: Span, frame: &mut Frame) {
        let Some(stress) = self.stress.clone() else { return };
        let condition = self.predicate(condition, frame);
        let number = match self.observed.assertions.iter().position(|&known| known == span) {
            Some(known) => known,
            None => {
                self.observed.assertions.push(span);
                self.observed.assertions.len() - 1
            }
        };
        let bit = self.in_register(&Value::Number(1 << number.min(31), 32));
        self.line(format!("@!{condition} red.global.or.b32 [{}], {bit};", stress.failed));
    }
}
