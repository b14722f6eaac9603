//! Instructions with their operands: counts, kinds, widths, state spaces, alignment, and the full spelling.

use super::super::ast::{Name, Operand};
use super::super::isa::{self, Built};
use super::super::legality::{self, Access, BarrierForm, Operation, Rmw};
use super::super::opcode::{Opcode, PtxType, Window};
use super::super::program::{
    Address, AddressBase, AtomicOp, BarrierKind, BarrierReduction, Expression, Instruction, InstructionKind,
    Register, RegisterId, StatementKind, Width,
};
use super::body::Body;
use super::expression::constant_value;
use super::multimem::Purpose;
use super::{Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Proxy, Sem, Space};

/// What is done with an instruction's results; a missing name is `_`.
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) enum Results<'a> {
    /// A plain statement.
    Nothing,
    /// One value.
    One(Option<&'a str>),
    /// `{a, b}`
    Vector(&'a [Option<String>]),
}

/// The name for a result that only the front end reads.
const GENERATED: &str = "";

/// An instruction's opcode and operands while they are looked at.
pub(in crate::kernel) struct Site<'a> {
    pub(in crate::kernel) opcode: Opcode<'a>,
    pub(in crate::kernel) span: Span,
    pub(in crate::kernel) operands: &'a [Operand],
    pub(in crate::kernel) results: Results<'a>,
}

impl Body<'_> {
    /// An instruction inside an expression: its value goes to a generated register.
    pub(in crate::kernel) fn resolve_instruction_value(
        &mut self,
        opcode: &Name,
        operands: &[Operand],
        span: Span,
    ) -> Resolved<RegisterId> {
        let registers = self.resolve_instruction(opcode, operands, span, Results::One(Some(GENERATED)))?;
        registers.first().copied().flatten().ok_or(Reported)
    }

    /// An instruction; returns the registers of its results.
    pub(in crate::kernel) fn resolve_instruction(
        &mut self,
        opcode: &Name,
        operands: &[Operand],
        span: Span,
        results: Results<'_>,
    ) -> Resolved<Vec<Option<RegisterId>>> {
        let opcode = Opcode::new(opcode);
        let site = Site { opcode, span, operands, results };
        let (text, kind, registers) = match isa::read(&site.opcode, self.checker.target) {
            Some(Ok(mut words)) => {
                let (kind, registers) = (words.form().build)(self, &site, &mut words)?;
                (words.text(), kind, registers)
            }
            Some(Err(error)) => return Err(self.report(error)),
            None => self.resolve_operation(&site)?,
        };
        let opcode_span = site.opcode.span;
        self.push(span, StatementKind::Instruction(Instruction { text, opcode_span, kind }));
        Ok(registers)
    }

    fn resolve_operation(&mut self, site: &Site<'_>) -> Resolved<Parts> {
        let operation = match legality::check(&site.opcode, self.checker.target) {
            Ok(operation) => operation,
            Err(error) => return Err(self.report(error)),
        };
        Ok(match operation {
            Operation::Load(access) => self.resolve_load(site, access)?,
            Operation::Store(access) => self.resolve_store(site, access)?,
            Operation::Atomic(access, rmw) => self.resolve_atomic(site, access, rmw)?,
            Operation::Reduction(access, rmw) => self.resolve_reduction(site, access, rmw)?,
            Operation::Multimem(opcode) => self.resolve_multimem(site, opcode)?,
            Operation::Fence { text, sem, scope, restrict } => {
                self.resolve_plain(site, text, InstructionKind::Fence { sem, scope, restrict })?
            }
            Operation::MbarrierInitFence => {
                let text = "fence.mbarrier_init.release.cluster".to_owned();
                self.resolve_plain(site, text, InstructionKind::MbarrierInitFence)?
            }
            Operation::ProxyFence { text, kind } => self.resolve_proxy_fence(site, text, kind)?,
            Operation::Barrier { text, form, aligned } => self.resolve_barrier(site, text, form, aligned)?,
            Operation::WarpSync => self.resolve_warp_sync(site)?,
            Operation::Mbarrier(opcode) => self.resolve_mbarrier(site, opcode)?,
            Operation::Spa(opcode) => self.resolve_spa(site, opcode)?,
        })
    }

    /// An instruction without operands and result.
    pub(in crate::kernel) fn plain(&mut self, site: &Site<'_>, kind: InstructionKind) -> Resolved<Built> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 0, 0, "no operands")?;
        Ok((kind, Vec::new()))
    }

    /// A mask of lanes, of which there is one.
    pub(in crate::kernel) fn lanes_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        rule: &'static str,
    ) -> Resolved<Expression> {
        let mask = self.value_operand(site, operand, 32)?;
        if constant_value(&mask) == Some(0) {
            let message = "the mask names no lane, so the executing lane is not in it";
            let error = Diagnostic::new("validate::warp-mask", message, mask.span, "no lane");
            return Err(self.report(error.with_help("write `0xffffffff` for all lanes").with_rule(rule)));
        }
        Ok(mask)
    }

    fn resolve_plain(&mut self, site: &Site<'_>, text: String, kind: InstructionKind) -> Resolved<Parts> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 0, 0, "no operands")?;
        Ok((text, kind, Vec::new()))
    }

    pub(in crate::kernel) fn expect_operands(
        &mut self,
        site: &Site<'_>,
        min: usize,
        max: usize,
        form: &str,
    ) -> Resolved<()> {
        let n = site.operands.len();
        if (min..=max).contains(&n) {
            return Ok(());
        }
        let message = format!("`{}` takes {form}; {n} given", site.opcode.text);
        Err(self.report(Diagnostic::new(
            "validate::operand-count",
            message,
            site.span,
            "wrong number of operands",
        )))
    }

    pub(in crate::kernel) fn expect_no_result(&mut self, site: &Site<'_>) -> Resolved<()> {
        if matches!(site.results, Results::Nothing) {
            return Ok(());
        }
        let message = format!("`{}` has no result", site.opcode.text);
        let error = Diagnostic::new("validate::no-result", message, site.span, "used as a value");
        Err(self.report(error.with_help(format!("write it as a statement: `{} …;`", site.opcode.text))))
    }

    pub(in crate::kernel) fn wrong_operand(
        &mut self,
        site: &Site<'_>,
        span: Span,
        expected: &str,
    ) -> Reported {
        let message = format!("`{}` takes {expected} here", site.opcode.text);
        self.report(Diagnostic::new("validate::operand-kind", message, span, format!("expected {expected}")))
    }

    pub(in crate::kernel) fn memory_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        access: &Access,
    ) -> Resolved<(Address, Width)> {
        let Operand::Memory(memory) = operand else {
            return Err(self.wrong_operand(
                site,
                operand_span(operand, site.span),
                "an address in brackets, `[x]`,",
            ));
        };
        let is_multimem = site.opcode.mnemonic == "multimem";
        let purpose = if is_multimem { Purpose::Multimem } else { Purpose::Access };
        let (address, width) = self.resolve_address_for(memory, purpose)?;
        self.reject_map(&address, site.opcode.text)?;
        self.check_proxy(&site.opcode, &address, access, &memory.name)?;
        self.check_space(&address, access, &memory.name)?;
        if let (Some(window), Some((_, span))) = (access.window, access.space) {
            self.check_window(&address, Some((window, span)))?;
        }
        if let Some((ty, span)) = access.ty
            && ty.width != width
        {
            let name = &memory.name.text;
            if self.checker.target.spa {
                return Err(self.spa_width(site, name, (&address, width), (ty, span)));
            }
            let message = format!("`{name}` has elements of {width} bits, `.{ty}` accesses {}", ty.width);
            let error =
                Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width))
                    .with_label(address.span, format!("{width} bits"))
                    .with_help(format!(
                        "leave the type out, or declare a view: `view … : u{} of {name};`",
                        ty.width
                    ));
            return Err(self.report(error));
        }
        Ok((address, width))
    }

    fn check_space(&mut self, address: &Address, access: &Access, name: &Name) -> Resolved<()> {
        match (address.base, access.space) {
            (AddressBase::Reference(reference), Some((space, span))) => {
                self.note_space(reference, space, span)
            }
            (AddressBase::Reference(reference), None) if access.sem == Sem::Mmio => {
                self.note_space(reference, Space::Global, access.vector_span);
            }
            (AddressBase::Object(object), written) => {
                let space = self.objects[object].space;
                if space == Space::Register {
                    let message = format!("`{}` is registers, not memory", name.text);
                    let error =
                        Diagnostic::new("validate::register-access", message, address.span, "not memory");
                    let help = format!("write `mov.b32 {0}, x;` or `let x = mov.b32 {0};`", name.text);
                    return Err(self.report(error.with_help(help).with_rule("AS-26")));
                }
                if space == Space::Tensor {
                    let message = format!("`{}` is tensor memory", name.text);
                    let error = Diagnostic::new(
                        "validate::tensor-access",
                        message,
                        address.span,
                        "not for this instruction",
                    );
                    let help = "only `tcgen05` instructions access it: `tcgen05.ld`, `tcgen05.st`, `tcgen05.cp`, `tcgen05.mma`";
                    return Err(self.report(error.with_help(help).with_rule("AS-29")));
                }
                if let Some((written, span)) = written
                    && written != space
                {
                    let message = format!("`{}` is in {space} memory, not {written}", name.text);
                    let declared = self.objects[object].span;
                    let error = Diagnostic::new(
                        "validate::space-mismatch",
                        message,
                        span,
                        format!("not `.{written}`"),
                    )
                    .with_label(declared, "declared here")
                    .with_help(format!("write `.{space}`, or leave the state space out"));
                    return Err(self.report(error));
                }
                if access.sem == Sem::Mmio && space == Space::Shared {
                    return Err(self.report(legality::mmio_space(address.span)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(in crate::kernel) fn value_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        width: Width,
    ) -> Resolved<Expression> {
        match operand {
            Operand::Expr(expr) => self.resolve_exact(expr, width),
            _ => Err(self.wrong_operand(site, operand_span(operand, site.span), "a value")),
        }
    }

    pub(in crate::kernel) fn result_register(
        &mut self,
        name: Option<&str>,
        width: Width,
    ) -> Option<RegisterId> {
        match name? {
            GENERATED => Some(self.generate(width)),
            name => Some(self.registers.push(Register { name: name.to_owned(), width })),
        }
    }

    /// Splits off a `_` before the address, which stands for a result that is not wanted.
    pub(in crate::kernel) fn without_sink<'a>(site: &Site<'a>) -> (bool, &'a [Operand]) {
        match site.operands {
            [Operand::Sink(_), rest @ ..] => (true, rest),
            operands => (false, operands),
        }
    }

    pub(in crate::kernel) fn unbound_result(&mut self, site: &Site<'_>) -> Reported {
        let message = format!("the result of `{}` is not bound", site.opcode.text);
        let error = Diagnostic::new("validate::unbound-result", message, site.span, "a result is lost");
        self.report(
            error.with_help(format!(
                "write `let x = {} …;`, or the sink `_` as first operand",
                site.opcode.text
            )),
        )
    }

    fn resolve_load(&mut self, site: &Site<'_>, access: Access) -> Resolved<Parts> {
        let (is_sink, operands) = Self::without_sink(site);
        let [memory] = operands else {
            return Err(self
                .expect_operands(site, 1, 1, "an address")
                .err()
                .unwrap_or_else(|| self.wrong_operand(site, site.span, "an address in brackets")));
        };
        let (address, width) = self.memory_operand(site, memory, &access)?;
        self.check_vector(&address, width, &access)?;
        let n = usize::from(access.elements);
        let names: Vec<Option<&str>> = match site.results {
            Results::Nothing if is_sink => vec![None; n],
            Results::Nothing => return Err(self.unbound_result(site)),
            Results::One(name) if n == 1 => vec![name],
            Results::One(None) => vec![None; n],
            Results::Vector(names) if names.len() == n => names.iter().map(Option::as_deref).collect(),
            Results::One(Some(_)) | Results::Vector(_) => {
                return Err(self.vector_count(site, access.elements));
            }
        };
        let destinations: Vec<_> = names.into_iter().map(|name| self.result_register(name, width)).collect();
        let text = self.access_text(site, &access, &address, width, "", 'u');
        let registers = destinations.clone();
        let kind = InstructionKind::Load { destinations, address, sem: access.sem, scope: access.scope };
        Ok((text, kind, registers))
    }

    pub(in crate::kernel) fn vector_count(&mut self, site: &Site<'_>, n: u8) -> Reported {
        let message = format!("`{}` moves {n} element{}", site.opcode.text, if n == 1 { "" } else { "s" });
        let error = Diagnostic::new("validate::vector-count", message, site.span, "a different number here");
        self.report(error.with_help(match n {
            1 => "write `.v2` or `.v4` for a vector, or one name".to_owned(),
            _ => format!("write {n} names or values in braces: `{{a, b, …}}`"),
        }))
    }

    fn resolve_store(&mut self, site: &Site<'_>, access: Access) -> Resolved<Parts> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 2, 2, "an address and a value")?;
        let (address, width) = self.memory_operand(site, &site.operands[0], &access)?;
        self.check_vector(&address, width, &access)?;
        let mut values = Vec::new();
        match &site.operands[1] {
            Operand::Vector(elements) if elements.len() == usize::from(access.elements) => {
                for element in elements {
                    values.push(self.resolve_exact(element, width)?);
                }
            }
            Operand::Vector(_) => return Err(self.vector_count(site, access.elements)),
            operand if access.elements == 1 => values.push(self.value_operand(site, operand, width)?),
            _ => return Err(self.vector_count(site, access.elements)),
        }
        let text = self.access_text(site, &access, &address, width, "", 'u');
        Ok((
            text,
            InstructionKind::Store { values, address, sem: access.sem, scope: access.scope },
            Vec::new(),
        ))
    }

    fn resolve_atomic(&mut self, site: &Site<'_>, access: Access, rmw: Rmw) -> Resolved<Parts> {
        let (is_sink, operands) = Self::without_sink(site);
        let n_values = if rmw.op == AtomicOp::CompareAndSwap { 2 } else { 1 };
        let Some((memory, values)) = operands.split_first().filter(|(_, values)| values.len() == n_values)
        else {
            let form = if n_values == 2 {
                "an address, the value to compare and the value to swap in"
            } else {
                "an address and a value"
            };
            let message = format!("`{}` takes {form}; {} given", site.opcode.text, operands.len());
            let error =
                Diagnostic::new("validate::operand-count", message, site.span, "wrong number of operands");
            return Err(self.report(error));
        };
        let (address, width) = self.memory_operand(site, memory, &access)?;
        let (op, default) = self.operation_at(&access, rmw, width)?;
        let mut resolved = Vec::new();
        for value in values {
            let operand = self.value_operand(site, value, width)?;
            self.check_extreme_sign(op, value, &operand)?;
            resolved.push(operand);
        }
        let name = match site.results {
            Results::Nothing if is_sink => None,
            Results::Nothing => return Err(self.unbound_result(site)),
            Results::One(name) => name,
            Results::Vector(_) => return Err(self.vector_count(site, 1)),
        };
        let destination = self.result_register(name, width);
        let text = self.access_text(site, &access, &address, width, rmw.name, default);
        let (sem, scope) = (access.sem, access.scope);
        let kind = InstructionKind::Atomic { destination, op, operands: resolved, address, sem, scope };
        Ok((text, kind, vec![destination]))
    }

    fn resolve_reduction(&mut self, site: &Site<'_>, access: Access, rmw: Rmw) -> Resolved<Parts> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 2, 2, "an address and a value")?;
        let (address, width) = self.memory_operand(site, &site.operands[0], &access)?;
        let (op, default) = self.operation_at(&access, rmw, width)?;
        let operand = self.value_operand(site, &site.operands[1], width)?;
        self.check_extreme_sign(op, &site.operands[1], &operand)?;
        let text = self.access_text(site, &access, &address, width, rmw.name, default);
        let (sem, scope) = (access.sem, access.scope);
        Ok((text, InstructionKind::Reduction { op, operand, address, sem, scope }, Vec::new()))
    }

    /// The operation at the width of the object, and the kind of type it has if none is written.
    pub(in crate::kernel) fn operation_at(
        &mut self,
        access: &Access,
        rmw: Rmw,
        width: Width,
    ) -> Resolved<(AtomicOp, char)> {
        let default = match rmw.op {
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exchange | AtomicOp::CompareAndSwap => {
                'b'
            }
            _ => 'u',
        };
        let (ty, span) = access.ty.unwrap_or((PtxType { kind: default, width }, rmw.span));
        if let Err(error) = legality::check_operation_type(rmw, ty, span) {
            return Err(self.report(error));
        }
        if width == 128
            && let Some(error) = self.checker.target.check("atom.b128", (8, 3), 90, rmw.span)
        {
            return Err(self.report(error));
        }
        let op = match (rmw.op, ty.kind) {
            (AtomicOp::Min, 's') => AtomicOp::SignedMin,
            (AtomicOp::Max, 's') => AtomicOp::SignedMax,
            (op, _) => op,
        };
        Ok((op, default))
    }

    pub(in crate::kernel) fn access_text(
        &self,
        site: &Site<'_>,
        access: &Access,
        address: &Address,
        width: Width,
        op: &str,
        default_kind: char,
    ) -> String {
        if self.checker.target.spa {
            return self.spa_text(site, access, width, op);
        }
        let mut text = site.opcode.mnemonic.to_owned();
        if let ("multimem", Some(verb)) = (site.opcode.mnemonic, site.opcode.modifiers.first()) {
            text += &format!(".{}", verb.text);
            if site.opcode.has("async") {
                text += ".async";
            }
        }
        let proxy = self.proxy_of(address);
        if matches!(proxy, Proxy::Texture | Proxy::Surface) {
            return proxied_text(site.opcode.mnemonic, access, width, (op, default_kind));
        }
        match access.sem {
            Sem::Weak | Sem::Volatile => text += &format!(".{}", access.sem),
            Sem::Mmio => text += ".mmio.relaxed.sys",
            _ => text += &format!(".{}.{}", access.sem, access.scope),
        }
        if proxy == Proxy::Constant {
            text += ".const";
        } else if site.opcode.mnemonic == "multimem" {
            text += ".global";
        } else if let Some(space) = self.space_of(address).or(access.space.map(|(space, _)| space)) {
            text += &format!(".{space}");
            if access.window == Some(Window::Cluster) || address.rank.is_some() {
                text += "::cluster";
            }
        }
        if !op.is_empty() {
            text += &format!(".{op}");
        }
        if access.elements > 1 {
            text += &format!(".v{}", access.elements);
        }
        let kind = if width == 128 { 'b' } else { default_kind };
        let ty = access.ty.map_or(PtxType { kind, width }, |(ty, _)| ty);
        text + &format!(".{ty}")
    }

    /// A vector is at most 16 bytes (32 on newer targets), aligned as a whole, and within the innermost dimension.
    pub(in crate::kernel) fn check_vector(
        &mut self,
        address: &Address,
        width: Width,
        access: &Access,
    ) -> Resolved<()> {
        let n = u32::from(access.elements);
        if n == 1 {
            return Ok(());
        }
        let total = n * u32::from(width);
        let span = access.vector_span;
        if width == 128
            || total > 256
            || (total > 128 && access.space.is_some_and(|(s, _)| s == Space::Shared))
        {
            let message = format!("a vector has at most 128 bits; this one has {total}");
            let error = Diagnostic::new("validate::vector-size", message, span, "too large");
            return Err(self.report(error.with_help("split it into several accesses")));
        }
        if total > 128
            && let Some(error) = self.checker.target.check("a 256-bit vector", (8, 8), 100, span)
        {
            return Err(self.report(error));
        }
        let AddressBase::Object(object) = address.base else { return Ok(()) };
        let object = &self.objects[object];
        let inner = object.dimensions.last().copied().unwrap_or(1);
        let constants: Vec<Option<u128>> = address.indices.iter().map(constant_value).collect();
        let name = object.name.clone();
        let bytes = total / 8;
        let error = match constants.last() {
            None => Some(format!("`{name}` has one element; a vector of {n} does not fit")),
            Some(Some(index)) if index + u128::from(n) > u128::from(inner) => Some(format!(
                "a vector of {n} at `{name}[…{index}]` reaches past the innermost dimension of {inner}"
            )),
            _ => constants
                .iter()
                .zip(&object.dimensions)
                .try_fold(0_u128, |flat, (index, &dimension)| Some(flat * u128::from(dimension) + (*index)?))
                .map(|flat| flat * u128::from(width / 8) + u128::from(object.offset_bytes))
                .filter(|offset| offset % u128::from(bytes) != 0)
                .map(|offset| {
                    format!(
                        "a vector of {bytes} bytes must be {bytes}-byte aligned; this is at byte {offset}"
                    )
                }),
        };
        match error {
            None => Ok(()),
            Some(message) => {
                let error =
                    Diagnostic::new("validate::vector-alignment", message, address.span, "vector access");
                Err(self.report(error.with_help("use scalar accesses, or another index")))
            }
        }
    }

    fn resolve_barrier(
        &mut self,
        site: &Site<'_>,
        text: String,
        form: BarrierForm,
        aligned: bool,
    ) -> Resolved<Parts> {
        let mut operands = site.operands;
        let predicate = match form {
            BarrierForm::Sync => {
                self.expect_operands(site, 1, 2, "a barrier and maybe a thread count")?;
                None
            }
            BarrierForm::Arrive if operands.len() == 1 => {
                let message = format!("`{}` needs a thread count", site.opcode.text);
                let error =
                    Diagnostic::new("validate::barrier-missing-count", message, site.span, "no count");
                let error =
                    error.with_help("write `bar.arrive 0, 64;`: the number of threads that take part");
                return Err(self.report(error.with_rule("BR-1")));
            }
            BarrierForm::Arrive => {
                self.expect_operands(site, 2, 2, "a barrier and a thread count")?;
                None
            }
            BarrierForm::Reduce(_) => {
                self.expect_operands(site, 2, 3, "a barrier, maybe a thread count, and a condition")?;
                let last = operands.split_last();
                operands = last.map_or(operands, |(_, rest)| rest);
                last.map(|(last, _)| last)
            }
        };
        let id = self.value_operand(site, &operands[0], 32)?;
        if let Some(value) = constant_value(&id)
            && value > 15
        {
            let message = format!("there is no barrier {value}");
            let error = Diagnostic::new("validate::barrier-id", message, id.span, "not in 0..=15");
            return Err(self.report(error.with_help("a CTA has barriers 0 to 15").with_rule("UB-B1")));
        }
        let count = match operands.get(1) {
            Some(operand) => Some(self.barrier_count(site, operand)?),
            None => None,
        };
        let kind = match form {
            BarrierForm::Sync => BarrierKind::Sync,
            BarrierForm::Arrive => BarrierKind::Arrive,
            BarrierForm::Reduce(op) => {
                let Some(Operand::Expr(predicate)) = predicate else {
                    return Err(self.wrong_operand(site, site.span, "a condition"));
                };
                let predicate = self.resolve_condition(predicate)?;
                let width = if op == BarrierReduction::Popc { 32 } else { 1 };
                let name = match site.results {
                    Results::One(name) => name,
                    Results::Nothing => return Err(self.unbound_result(site)),
                    Results::Vector(_) => return Err(self.vector_count(site, 1)),
                };
                let named = self.result_register(name, width);
                let destination = named.unwrap_or_else(|| self.generate(width));
                let kind = BarrierKind::Reduce { destination, op, predicate };
                return Ok((
                    text,
                    InstructionKind::Barrier { kind, id, count, aligned, instance: None },
                    vec![Some(destination)],
                ));
            }
        };
        self.expect_no_result(site)?;
        Ok((text, InstructionKind::Barrier { kind, id, count, aligned, instance: None }, Vec::new()))
    }

    fn barrier_count(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let count = self.value_operand(site, operand, 32)?;
        match constant_value(&count) {
            Some(value) if value == 0 || value % 32 != 0 || value > 1024 => {
                let message = format!("{value} is not a thread count of a barrier");
                let label = if value > 1024 { "more than a CTA has" } else { "not a multiple of 32" };
                let error = Diagnostic::new("validate::barrier-count", message, count.span, label);
                Err(self.report(
                    error.with_help("barriers count whole warps: 32, 64, … up to 1024").with_rule("UB-B2"),
                ))
            }
            _ => Ok(count),
        }
    }

    fn resolve_warp_sync(&mut self, site: &Site<'_>) -> Resolved<Parts> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 1, 1, "a mask of lanes")?;
        let mask = self.lanes_operand(site, &site.operands[0], "UB-W1")?;
        Ok(("bar.warp.sync".to_owned(), InstructionKind::WarpSync { mask }, Vec::new()))
    }
}

/// `tex.1d.u32.s32`, `sured.b.add.1d.u32`.
fn proxied_text(mnemonic: &str, access: &Access, width: Width, (op, kind): (&str, char)) -> String {
    let kind = if matches!(mnemonic, "suld" | "sust") { 'b' } else { kind };
    let ty = access.ty.map_or(PtxType { kind, width }, |(ty, _)| ty);
    match (mnemonic, op) {
        ("tex", _) => format!("tex.1d.{ty}.s32"),
        (_, "") => format!("{mnemonic}.b.1d.{ty}"),
        _ => format!("{mnemonic}.b.{op}.1d.{ty}"),
    }
}

/// Full spelling, meaning, and result registers.
pub(in crate::kernel) type Parts = (String, InstructionKind, Vec<Option<RegisterId>>);

pub(in crate::kernel) fn operand_span(operand: &Operand, fallback: Span) -> Span {
    match operand {
        Operand::Memory(memory) => memory.place.0,
        Operand::Vector(elements) => elements.first().map_or(fallback, |element| element.place.0),
        Operand::Tensor(tensor) => tensor.place.0,
        Operand::Sink(place) => place.0,
        Operand::Expr(expr) => expr.place.0,
    }
}
