//! Instructions with their operands as PTX has them.

use super::value::Value;
use super::{Emit, Frame, Place, Reg};
use crate::kernel::isa::{Key, since};
use crate::kernel::program::{
    AccessOp, Address, AddressBase, AsyncOp, BarrierKind, BinaryOp, BulkCompletion, BulkCopy, BulkEnd,
    ElementKind, Exchange, Expression, Instruction, InstructionKind, MbarrierOp, ProxyFenceKind,
    ResolvedOperand, TensorOp,
};
use crate::span::Span;
use crate::vocabulary::{Proxy, Replication, Sem, Space};

/// What stands in brackets.
enum Bracket {
    /// The address in the state space that the opcode names.
    Own,
    /// A generic address.
    Generic,
}

impl Emit<'_> {
    pub(super) fn instruction(&mut self, instruction: &Instruction, span: Span, frame: &mut Frame) {
        let form = instruction.form;
        if form.floor.ptx == (0, 0) {
            let help = "it is of the formal model only, or of another machine";
            return self.unsupported(&format!("`{}`", instruction.text), instruction.opcode_span, help);
        }
        let mut words: Vec<&str> = instruction.text.split('.').collect();
        // Before there were strong ones, there was no word for it.
        if let InstructionKind::Async(operation) = &instruction.kind
            && let AsyncOp::Bulk(BulkCopy { sem: Sem::Weak, .. }) = &**operation
        {
            words.retain(|word| *word != "weak");
        }
        self.needs(form.floor);
        for (word, floor) in form.floors {
            if words.contains(word) {
                self.needs(*floor);
            }
        }
        let is_scope =
            |word: &&str| form.slots.iter().any(|slot| slot.key == Key::Scope && slot.words.contains(word));
        if words.iter().any(|word| *word == "cluster" && is_scope(word)) {
            self.needs(since(7, 8, 90));
        }
        let Some(operands) = self.operands(instruction, span, frame) else { return };
        let text = words.join(".");
        self.line(format!("{text} {}", operands.join(", ")).trim_end().to_owned() + ";");
    }

    /// Results and operands, in PTX's order; nothing after an error.
    fn operands(&mut self, instruction: &Instruction, span: Span, frame: &mut Frame) -> Option<Vec<String>> {
        let generic = !has_space(instruction);
        let results = self.results(instruction, frame);
        Some(match &instruction.kind {
            InstructionKind::Access(access) => self.access(access, generic, &results, frame)?,
            InstructionKind::Multimem(_) | InstructionKind::Spa(_) => {
                self.unsupported(&format!("`{}`", instruction.text), span, "");
                return None;
            }
            InstructionKind::ProxyFence(ProxyFenceKind::TensormapAcquire { address, .. }) => {
                vec![self.bracket(address, &Bracket::Generic, frame)?, "128".to_owned()]
            }
            InstructionKind::TensormapCopyFence { destination, source, .. } => vec![
                self.bracket(destination, &Bracket::Own, frame)?,
                self.bracket(source, &Bracket::Own, frame)?,
                "128".to_owned(),
            ],
            InstructionKind::Barrier { kind, id, count, .. } => {
                let mut operands = results;
                operands.push(self.operand(id, frame));
                if let Some(count) = count {
                    operands.push(self.operand(count, frame));
                }
                if let BarrierKind::Reduce { predicate, .. } = kind {
                    operands.push(self.predicate(predicate, frame).to_string());
                }
                operands
            }
            InstructionKind::ElectSync { mask, .. } => vec![results.join("|"), self.mask(mask, frame)],
            InstructionKind::WarpSync { mask } => vec![self.mask(mask, frame)],
            InstructionKind::Exchange(exchange) => self.exchange(exchange, &results, frame),
            InstructionKind::GetCtaRank { address, .. } => {
                let place = self.place(address, frame)?;
                let is_wide = instruction.text.split('.').any(|word| word == "u64");
                let register = self.shared_address(&place);
                let value =
                    if is_wide { self.converted(Value::Reg(register), 64) } else { Value::Reg(register) };
                results.into_iter().chain([value.to_string()]).collect()
            }
            InstructionKind::SetMaxRegisters { count, .. } => vec![count.to_string()],
            InstructionKind::Mbarrier(operation) => self.mbarrier(operation, generic, results, frame)?,
            InstructionKind::Async(operation) => {
                return self.asynchronous(operation, instruction, results, span, frame);
            }
            _ => {
                let mut operands = results;
                operands.extend(self.as_written(instruction, generic, frame)?);
                operands
            }
        })
    }

    /// What results go into; what is not wanted has a register of its own, where there is no `_` for it.
    fn results(&mut self, instruction: &Instruction, frame: &mut Frame) -> Vec<String> {
        let may_sink = matches!(
            instruction.kind,
            InstructionKind::Access(AccessOp::Atomic { .. })
                | InstructionKind::Mbarrier(MbarrierOp::Arrive(_))
                | InstructionKind::ElectSync { .. }
                | InstructionKind::Exchange(_)
        );
        let width = match &instruction.kind {
            InstructionKind::Mbarrier(MbarrierOp::Wait(_)) => 1,
            InstructionKind::Async(_) if instruction.text.split('.').any(|word| word == "pred") => 1,
            InstructionKind::Access(AccessOp::Load { address, .. }) => self.width_of(address),
            _ => 32,
        };
        let mut text = Vec::new();
        for result in &instruction.results {
            text.push(match result {
                Some(register) => self.register(frame, *register).to_string(),
                None if may_sink => "_".to_owned(),
                None => self.fresh(width).to_string(),
            });
        }
        text
    }

    fn width_of(&self, address: &Address) -> u8 {
        match address.base {
            AddressBase::Object(object) => self.kernel.objects[object].width,
            AddressBase::Reference(_) | AddressBase::Flat { .. } => 64,
        }
    }

    fn access(
        &mut self,
        access: &AccessOp,
        generic: bool,
        results: &[String],
        frame: &mut Frame,
    ) -> Option<Vec<String>> {
        let bracket = if generic { Bracket::Generic } else { Bracket::Own };
        Some(match access {
            AccessOp::Load { address, .. } => vec![listed(results), self.bracket(address, &bracket, frame)?],
            AccessOp::Store { values, address, .. } => {
                let place = self.bracket(address, &bracket, frame)?;
                let values: Vec<String> = values.iter().map(|value| self.in_operand(value, frame)).collect();
                vec![place, listed(&values)]
            }
            AccessOp::Fill { address, bytes } => {
                let bytes = self.in_register(&Value::Number(u128::from(*bytes), 64));
                vec![self.bracket(address, &bracket, frame)?, bytes.to_string(), "0".to_owned()]
            }
            AccessOp::Atomic { operands, address, .. } => {
                let place = self.bracket(address, &bracket, frame)?;
                let values = operands.iter().map(|value| self.in_operand(value, frame)).collect::<Vec<_>>();
                results.iter().cloned().chain([place]).chain(values).collect()
            }
            AccessOp::Reduction { operand, address, .. } => {
                vec![self.bracket(address, &bracket, frame)?, self.in_operand(operand, frame)]
            }
        })
    }

    fn exchange(&mut self, exchange: &Exchange, results: &[String], frame: &mut Frame) -> Vec<String> {
        let mut operands = vec![results.join("|")];
        operands.push(self.in_operand(&exchange.value, frame));
        for source in exchange.source.iter().flatten() {
            operands.push(self.operand(source, frame));
        }
        operands.push(self.mask(&exchange.mask, frame));
        operands
    }

    fn mbarrier(
        &mut self,
        operation: &MbarrierOp,
        generic: bool,
        results: Vec<String>,
        frame: &mut Frame,
    ) -> Option<Vec<String>> {
        let mut operands = results;
        if let Some(address) = operation.address() {
            let bracket = if generic { Bracket::Generic } else { Bracket::Own };
            operands.push(self.bracket(address, &bracket, frame)?);
        }
        let more: Vec<&Expression> = match operation {
            MbarrierOp::Init { count, .. } => vec![count],
            MbarrierOp::Inval { .. } => Vec::new(),
            MbarrierOp::ExpectTx { tx, .. } | MbarrierOp::CompleteTx { tx, .. } => vec![tx],
            MbarrierOp::Arrive(arrive) => match &arrive.expect_tx {
                Some(tx) => vec![tx],
                None => vec![&arrive.count],
            },
            MbarrierOp::Wait(wait) => match &wait.phase {
                crate::kernel::program::MbarrierPhase::State(phase)
                | crate::kernel::program::MbarrierPhase::Parity(phase) => vec![phase],
            },
            MbarrierOp::PendingCount { state, .. } => vec![state],
        };
        operands.extend(more.into_iter().map(|value| self.in_operand(value, frame)));
        Some(operands)
    }

    fn asynchronous(
        &mut self,
        operation: &AsyncOp,
        instruction: &Instruction,
        results: Vec<String>,
        span: Span,
        frame: &mut Frame,
    ) -> Option<Vec<String>> {
        let generic = !has_space(instruction);
        let bracket = if generic { Bracket::Generic } else { Bracket::Own };
        Some(match operation {
            AsyncOp::Copy(copy) => {
                let mut operands = vec![
                    self.bracket(&copy.destination, &Bracket::Own, frame)?,
                    self.bracket(&copy.source, &Bracket::Own, frame)?,
                    copy.bytes.to_string(),
                ];
                if let Some(bytes) = &copy.source_bytes {
                    operands.push(self.in_operand(bytes, frame));
                } else if let Some(ignore) = &copy.ignore_source {
                    operands.push(self.predicate(ignore, frame).to_string());
                }
                operands
            }
            AsyncOp::Bulk(copy) => {
                let is_named_own = instruction.text.split('.').any(|word| word == "shared::cta");
                self.bulk(copy, is_named_own, frame)?
            }
            AsyncOp::Prefetch { source } => match source {
                BulkEnd::Tensor(_) => vec![self.bulk_end(source, frame)?],
                BulkEnd::Memory(_) => {
                    return Some([results, self.as_written(instruction, generic, frame)?].concat());
                }
            },
            AsyncOp::Store(store) => {
                let place = self.bracket(&store.address, &bracket, frame)?;
                let values: Vec<String> =
                    store.values.iter().map(|value| self.in_operand(value, frame)).collect();
                let mut operands = vec![place, listed(&values)];
                if let Some(mbarrier) = &store.mbarrier {
                    operands.push(self.bracket(mbarrier, &bracket, frame)?);
                }
                operands
            }
            AsyncOp::Wait { pending, .. } => {
                let has_number = !instruction.operands.is_empty();
                if has_number { vec![pending.to_string()] } else { Vec::new() }
            }
            AsyncOp::Matrix(_)
            | AsyncOp::Product(_)
            | AsyncOp::Touch(_)
            | AsyncOp::TensormapReplace { .. }
            | AsyncOp::Tensor(
                TensorOp::Multiply(_)
                | TensorOp::Copy { .. }
                | TensorOp::Load { .. }
                | TensorOp::Store { .. }
                | TensorOp::Allocate { .. }
                | TensorOp::Free { .. },
            ) => {
                let help =
                    "its operands are numbers that name matrices, which the kernel language does not have";
                self.unsupported(&format!("`{}`", instruction.text), span, help);
                return None;
            }
            AsyncOp::Tensor(_)
            | AsyncOp::CopyArrive { .. }
            | AsyncOp::Commit(_)
            | AsyncOp::TryCancel { .. }
            | AsyncOp::QueryCancel { .. }
            | AsyncOp::MatrixFence => [results, self.as_written(instruction, generic, frame)?].concat(),
        })
    }

    fn bulk(&mut self, copy: &BulkCopy, is_named_own: bool, frame: &mut Frame) -> Option<Vec<String>> {
        // A destination in the own CTA, named as such.
        if let (BulkEnd::Memory(address), true) = (&copy.destination, is_named_own)
            && self.space_of(address, frame) == Some(Space::Shared)
            && !self.is_shared(&copy.source, frame)
        {
            self.needs(since(8, 6, 90));
        }
        let mut operands =
            vec![self.bulk_end(&copy.destination, frame)?, self.bulk_end(&copy.source, frame)?];
        if let Some(bytes) = &copy.bytes {
            operands.push(self.in_operand(bytes, frame));
        }
        if let BulkCompletion::Mbarrier(mbarrier) = &copy.completion {
            operands.push(self.bracket(mbarrier, &Bracket::Own, frame)?);
        }
        if let Some(mask) = &copy.multicast {
            operands.push(self.in_operand(mask, frame));
        }
        Some(operands)
    }

    fn is_shared(&self, end: &BulkEnd, frame: &Frame) -> bool {
        matches!(end, BulkEnd::Memory(address) if self.space_of(address, frame) == Some(Space::Shared))
    }

    fn space_of(&self, address: &Address, frame: &Frame) -> Option<Space> {
        Some(match address.base {
            AddressBase::Object(object) => self.kernel.objects[object].space,
            AddressBase::Reference(reference) => {
                self.kernel.storages[frame.references.get(reference.0 as usize)?.storage].space
            }
            AddressBase::Flat { .. } => return None,
        })
    }

    fn bulk_end(&mut self, end: &BulkEnd, frame: &mut Frame) -> Option<String> {
        match end {
            BulkEnd::Memory(address) => self.bracket(address, &Bracket::Own, frame),
            BulkEnd::Tensor(tensor) => {
                let map = self.bracket(&tensor.map, &Bracket::Generic, frame)?;
                let coordinates: Vec<String> =
                    tensor.coordinates.iter().map(|value| self.in_operand(value, frame)).collect();
                Some(format!("[{}, {{{}}}]", map.trim_matches(['[', ']']), coordinates.join(", ")))
            }
        }
    }

    /// Operands in the order in which they were written.
    fn as_written(
        &mut self,
        instruction: &Instruction,
        generic: bool,
        frame: &mut Frame,
    ) -> Option<Vec<String>> {
        let mut operands = Vec::new();
        for operand in &instruction.operands {
            operands.push(match operand {
                ResolvedOperand::Memory(address) => {
                    let bracket = if generic { Bracket::Generic } else { Bracket::Own };
                    self.bracket(address, &bracket, frame)?
                }
                ResolvedOperand::Registers(address) => {
                    let help = "write the registers one by one";
                    self.unsupported("an object that stands for registers", address.span, help);
                    return None;
                }
                ResolvedOperand::Value(value) => self.operand(value, frame),
            });
        }
        Some(operands)
    }

    /// A value, as a number where it is one.
    fn operand(&mut self, value: &Expression, frame: &mut Frame) -> String {
        self.value(value, frame).to_string()
    }

    /// A mask of lanes: of those that the launch has, since the others have exited.
    fn mask(&mut self, mask: &Expression, frame: &mut Frame) -> String {
        let mask = self.value(mask, frame);
        if self.launch.lanes >= 32 {
            return mask.to_string();
        }
        let lanes = Value::Number((1 << self.launch.lanes) - 1, 32);
        self.binary(BinaryOp::And, mask, lanes).to_string()
    }

    /// A value in a register.
    fn in_operand(&mut self, value: &Expression, frame: &mut Frame) -> String {
        let value = self.value(value, frame);
        self.in_register(&value).to_string()
    }

    /// Where an operand is; nothing after an error.
    pub(super) fn place(&mut self, address: &Address, frame: &mut Frame) -> Option<Place> {
        if let Some(device) = &address.device {
            self.unsupported("an address on another device", device.span, "");
            return None;
        }
        let (mut place, strides) = match address.base {
            AddressBase::Object(object) => {
                let object = &self.kernel.objects[object];
                let is_plain = object.mapping == 0
                    && object.replication == Replication::Single
                    && object.proxy == Proxy::Generic
                    && matches!(object.space, Space::Global | Space::Shared | Space::Param);
                if !is_plain {
                    let help = "it is memory of another kind, or has a second address, which only the host can give it";
                    self.unsupported(&format!("`{}`", object.name), object.span, help);
                    return None;
                }
                let element = match object.element {
                    ElementKind::Tensormap => 128,
                    _ => u64::from(object.width) / 8,
                };
                let mut strides: Vec<u64> = Vec::new();
                for n in 0..object.dimensions.len() {
                    strides.push(object.dimensions[n + 1..].iter().map(|&size| u64::from(size)).product());
                }
                let offset = u64::from(object.offset_bytes);
                (Place { storage: object.storage, offset, dynamic: None, rank: None, element }, strides)
            }
            AddressBase::Reference(reference) => {
                (frame.references.get(reference.0 as usize).cloned()?, vec![1])
            }
            AddressBase::Flat { .. } => {
                let help = "it is PTX already";
                self.unsupported("an imported kernel", address.span, help);
                return None;
            }
        };
        for (index, stride) in address.indices.iter().zip(strides) {
            let scale = stride * place.element;
            match self.value(index, frame) {
                Value::Number(number, _) => {
                    place.offset += u64::try_from(number).unwrap_or(0).wrapping_mul(scale);
                }
                Value::Reg(index) => {
                    let scaled = self.fresh(32);
                    match place.dynamic {
                        Some(before) => {
                            self.line(format!("mad.lo.u32 {scaled}, {index}, {scale}, {before};"));
                        }
                        None => self.line(format!("mul.lo.u32 {scaled}, {index}, {scale};")),
                    }
                    place.dynamic = Some(scaled);
                }
            }
        }
        if let Some(rank) = &address.rank {
            place.rank = Some(self.value(rank, frame));
        }
        Some(place)
    }

    /// An address in shared memory.
    fn shared_address(&mut self, place: &Place) -> Reg {
        let symbol = self.symbols[place.storage].clone();
        let mut address = self.fresh(32);
        self.line(format!("mov.u32 {address}, {symbol};"));
        if let Some(dynamic) = place.dynamic {
            let sum = self.fresh(32);
            self.line(format!("add.u32 {sum}, {address}, {dynamic};"));
            address = sum;
        }
        if place.offset > 0 {
            let sum = self.fresh(32);
            self.line(format!("add.u32 {sum}, {address}, {};", place.offset));
            address = sum;
        }
        if let Some(rank) = place.rank {
            self.needs(since(7, 8, 90));
            let peer = self.fresh(32);
            self.line(format!("mapa.shared::cluster.u32 {peer}, {address}, {rank};"));
            address = peer;
        }
        address
    }

    /// `[x+8]`
    fn bracket(&mut self, address: &Address, bracket: &Bracket, frame: &mut Frame) -> Option<String> {
        let place = self.place(address, frame)?;
        let space = self.kernel.storages[place.storage].space;
        let symbol = self.symbols[place.storage].clone();
        let is_plain = matches!(bracket, Bracket::Own) && place.dynamic.is_none() && place.rank.is_none();
        let base = self.base_of(place.storage);
        if is_plain && space != Space::Param && base.is_none() {
            return Some(match place.offset {
                0 => format!("[{symbol}]"),
                offset => format!("[{symbol}+{offset}]"),
            });
        }
        if space == Space::Shared {
            let register = self.shared_address(&place);
            if matches!(bracket, Bracket::Own) {
                return Some(format!("[{register}]"));
            }
            let (wide, generic) = (self.fresh(64), self.fresh(64));
            let window = if place.rank.is_some() { "shared::cluster" } else { "shared" };
            self.line(format!("cvt.u64.u32 {wide}, {register};"));
            self.line(format!("cvta.{window}.u64 {generic}, {wide};"));
            return Some(format!("[{generic}]"));
        }
        let mut register = match base {
            Some(base) => base,
            None => {
                let register = self.fresh(64);
                self.line(format!("mov.u64 {register}, {symbol};"));
                register
            }
        };
        if let Some(dynamic) = place.dynamic {
            let (wide, sum) = (self.fresh(64), self.fresh(64));
            self.line(format!("cvt.u64.u32 {wide}, {dynamic};"));
            self.line(format!("add.u64 {sum}, {register}, {wide};"));
            register = sum;
        }
        if matches!(bracket, Bracket::Generic) {
            let generic = self.fresh(64);
            let window = if space == Space::Param { "param" } else { "global" };
            if space == Space::Param {
                self.needs(since(7, 7, 70));
            }
            self.line(format!("cvta.{window}.u64 {generic}, {register};"));
            register = generic;
        }
        Some(match place.offset {
            0 => format!("[{register}]"),
            offset => format!("[{register}+{offset}]"),
        })
    }
}

/// `{a, b}`, or `a`.
fn listed(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        all => format!("{{{}}}", all.join(", ")),
    }
}

/// Whether an opcode names the state space of what is in brackets.
fn has_space(instruction: &Instruction) -> bool {
    let mut words = instruction.text.split('.');
    words.any(|word| matches!(word, "global" | "shared" | "shared::cta" | "shared::cluster"))
}
