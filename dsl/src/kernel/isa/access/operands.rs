//! The operands of loads, stores and atomics: addresses, values, results, vectors, and what an object tells of the spelling.

use super::{Access, Rmw, access, check_atomic_type, rmw};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::isa::words::Words;
use crate::kernel::isa::{Built, Key, spa};
use crate::kernel::opcode::{PtxType, Window};
use crate::kernel::program::{AccessOp, Address, AddressBase, AtomicOp, InstructionKind, Width};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Reported, Resolved};
use crate::vocabulary::{Proxy, Sem, Space};

pub(super) fn build_load(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let access = access(words);
    let site = body.without_policy(site, words)?;
    body.load(&site, words, &access)
}

pub(super) fn build_store(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let access = access(words);
    let site = body.without_policy(site, words)?;
    body.store(&site, words, &access)
}

/// Where, how many bytes, and 0.
pub(super) fn build_fill(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    /// Most bytes of one instruction.
    const BYTES_MAX: u128 = 16_777_216;
    body.expect_no_result(site)?;
    body.expect_operands(site, 3, 3, "an address, a number of bytes, and 0")?;
    let Operand::Memory(memory) = &site.operands[0] else {
        let span = operand_span(&site.operands[0], site.span);
        return Err(body.wrong_operand(site, span, "an address in brackets, `[a]`,"));
    };
    let (address, width) = body.resolve_run(memory)?;
    body.expect_space(site, &address, Space::Shared, "")?;
    body.expect_own_cta(site, &address, "", "filled by `st.bulk`")?;
    body.expect_alignment(&address, width, 8, "")?;
    let size = body.value_operand(site, &site.operands[1], 64)?;
    let value = body.value_operand(site, &site.operands[2], 64)?;
    let wrong = |message: &str, span, label: &str, help: &str| {
        Diagnostic::new("validate::operand-kind", message.to_owned(), span, label).with_help(help)
    };
    if constant_value(&value) != Some(0) {
        let message = "`st.bulk` writes zeros and nothing else";
        return Err(body.report(wrong(message, value.span, "not the constant 0", "write `0`")));
    }
    let Some(bytes) = constant_value(&size) else {
        let message = "`st.bulk` of a number of bytes that is computed is not checked by this version";
        let error = Diagnostic::new("unsupported::async-operand", message, size.span, "no constant");
        return Err(body.report(error.with_help("write the number, or a branch for each that there can be")));
    };
    match u32::try_from(bytes) {
        Ok(bytes) if bytes.is_multiple_of(8) && u128::from(bytes) <= BYTES_MAX => {
            Ok((AccessOp::Fill { address, bytes }.into(), Vec::new()))
        }
        _ => {
            let message =
                format!("`st.bulk` fills multiples of 8 bytes, at most {BYTES_MAX}; this is {bytes}");
            let help = "write another number, and the rest with `st`";
            Err(body.report(wrong(&message, size.span, "not such a number", help)))
        }
    }
}

pub(super) fn build_atomic(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let (access, rmw) = (access(words), rmw(words));
    let site = body.without_policy(site, words)?;
    body.atomic(&site, words, &access, rmw.ok_or(Reported)?)
}

pub(super) fn build_reduction(
    body: &mut Body<'_>,
    site: &Site<'_>,
    words: &mut Words<'_>,
) -> Resolved<Built> {
    let (access, rmw) = (access(words), rmw(words));
    let site = body.without_policy(site, words)?;
    body.reduction(&site, words, &access, rmw.ok_or(Reported)?)
}

impl Body<'_> {
    /// Takes off the policy that `.L2::cache_hint` adds to the operands: 64 bits that mean nothing to the model.
    fn without_policy<'a>(&mut self, site: &Site<'a>, words: &Words<'_>) -> Resolved<Site<'a>> {
        let Some((hint, span)) = words.written(Key::Policy) else { return Ok(site.clone()) };
        let Some((policy, operands)) =
            site.operands.split_last().filter(|(last, _)| matches!(last, Operand::Expr(_)))
        else {
            let message = format!("`.{hint}` needs a cache policy as last operand");
            let error = Diagnostic::new("validate::cache-hint", message, span, "no policy");
            let help = "write `…, policy`, 64 bits as `createpolicy` gives them, or leave the hint out";
            return Err(self.report(error.with_help(help)));
        };
        self.value_operand(site, policy, 64)?;
        Ok(Site { operands, ..site.clone() })
    }

    /// A hint, in global memory only, and one of the L2 on what is long enough.
    fn check_hinted(
        &mut self,
        words: &Words<'_>,
        address: &Address,
        (width, elements): (Width, u8),
    ) -> Resolved<()> {
        let hints = words.hints();
        if let (Some((hint, span)), Some(Space::Shared)) = (hints.first(), self.space_of(address)) {
            let message = format!("`.{hint}` steers caches, and shared memory has none");
            let error = Diagnostic::new("validate::cache-hint", message, *span, "a cache hint");
            return Err(
                self.report(error.with_help("leave it out").with_label(address.span, "in shared memory"))
            );
        }
        let bits = u32::from(width) * u32::from(elements);
        match hints.iter().find(|(hint, _)| hint.starts_with("L2::evict")) {
            Some((hint, span)) if bits != 256 => {
                let message = format!("`.{hint}` stands on accesses of 256 bits only; this one has {bits}");
                let error = Diagnostic::new("validate::cache-hint", message, *span, "a cache hint");
                Err(self.report(error.with_help("leave it out, or access `.v8.b32` or `.v4.b64`")))
            }
            _ => Ok(()),
        }
    }

    /// Whether an access can have 256 bits: one of global memory can.
    fn is_wide(&self, address: &Address, access: &Access) -> bool {
        let is_shared = |space: Option<Space>| space == Some(Space::Shared);
        let is_constant = access.proxy == Proxy::Constant || self.proxy_of(address) == Proxy::Constant;
        !is_constant && !is_shared(self.space_of(address)) && !is_shared(access.space.map(|(space, _)| space))
    }

    /// `ld`, or an access through a proxy like it.
    pub(in crate::kernel) fn load(
        &mut self,
        site: &Site<'_>,
        words: &mut Words<'_>,
        access: &Access,
    ) -> Resolved<Built> {
        let (is_sink, operands) = Self::without_sink(site);
        let [memory] = operands else {
            return Err(self
                .expect_operands(site, 1, 1, "an address")
                .err()
                .unwrap_or_else(|| self.wrong_operand(site, site.span, "an address in brackets")));
        };
        let (address, width) = self.memory_operand(site, memory, access)?;
        self.check_vector(&address, width, access)?;
        self.check_hinted(words, &address, (width, access.elements))?;
        let destinations = self.results(site, is_sink, access.elements, width)?;
        self.spell(words, access, &address, (width, 'u'));
        let registers = destinations.clone();
        let (sem, scope) = (access.sem, access.scope);
        let non_coherent = words.written(Key::NonCoherent).is_some();
        Ok((
            InstructionKind::Access(AccessOp::Load { destinations, address, sem, scope, non_coherent }),
            registers,
        ))
    }

    /// `st`, or an access through a proxy like it.
    pub(in crate::kernel) fn store(
        &mut self,
        site: &Site<'_>,
        words: &mut Words<'_>,
        access: &Access,
    ) -> Resolved<Built> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 2, 2, "an address and a value")?;
        let (address, width) = self.memory_operand(site, &site.operands[0], access)?;
        self.check_vector(&address, width, access)?;
        self.check_hinted(words, &address, (width, access.elements))?;
        let values = self.values(site, &site.operands[1], access.elements, width)?;
        self.spell(words, access, &address, (width, 'u'));
        let (sem, scope) = (access.sem, access.scope);
        Ok((InstructionKind::Access(AccessOp::Store { values, address, sem, scope }), Vec::new()))
    }

    /// `atom`
    pub(in crate::kernel) fn atomic(
        &mut self,
        site: &Site<'_>,
        words: &mut Words<'_>,
        access: &Access,
        rmw: Rmw,
    ) -> Resolved<Built> {
        let (is_sink, operands) = Self::without_sink(site);
        let n_values = if rmw.op == AtomicOp::CompareAndSwap { 2 } else { 1 };
        let Some((memory, values)) = operands.split_first().filter(|(_, values)| values.len() == n_values)
        else {
            let form = if n_values == 2 {
                "an address, the value to compare and the value to swap in"
            } else {
                "an address and a value"
            };
            return Err(self.operand_count(site, form, operands.len()));
        };
        let (address, width) = self.memory_operand(site, memory, access)?;
        self.check_hinted(words, &address, (width, 1))?;
        let (op, kind) = self.operation_at(access, rmw, width)?;
        let mut resolved = Vec::new();
        for value in values {
            resolved.push(self.value_operand(site, value, width)?);
        }
        let destination = self.one_result(site, is_sink, width)?;
        self.spell(words, access, &address, (width, kind));
        let (sem, scope) = (access.sem, access.scope);
        let kind = InstructionKind::Access(AccessOp::Atomic {
            destination,
            op,
            operands: resolved,
            address,
            sem,
            scope,
        });
        Ok((kind, vec![destination]))
    }

    /// `red`
    pub(in crate::kernel) fn reduction(
        &mut self,
        site: &Site<'_>,
        words: &mut Words<'_>,
        access: &Access,
        rmw: Rmw,
    ) -> Resolved<Built> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 2, 2, "an address and a value")?;
        let (address, width) = self.memory_operand(site, &site.operands[0], access)?;
        self.check_hinted(words, &address, (width, 1))?;
        let (op, kind) = self.operation_at(access, rmw, width)?;
        let operand = self.value_operand(site, &site.operands[1], width)?;
        self.spell(words, access, &address, (width, kind));
        let (sem, scope) = (access.sem, access.scope);
        Ok((InstructionKind::Access(AccessOp::Reduction { op, operand, address, sem, scope }), Vec::new()))
    }

    /// Puts into the full spelling what the object tells: its state space, and its type if none is written.
    pub(in crate::kernel::isa) fn spell(
        &mut self,
        words: &mut Words<'_>,
        access: &Access,
        address: &Address,
        (width, kind): (Width, char),
    ) {
        if self.proxy_of(address) == Proxy::Constant {
            words.set(Key::Space, "const");
        } else if let Some(space) = self.space_of(address).or(access.space.map(|(space, _)| space)) {
            let is_far = access.window == Some(Window::Cluster) || address.rank.is_some();
            words.set(Key::Space, &format!("{space}{}", if is_far { "::cluster" } else { "" }));
        }
        if access.sem == Sem::Mmio {
            words.set(Key::Scope, "sys");
        }
        if self.target().spa {
            words.set(Key::Type, spa::width_word(access.ty.map(|(ty, _)| ty), width));
        } else if access.ty.is_none() {
            // Surfaces move bits as they are.
            let is_surface = matches!(words.form().name, "suld" | "sust");
            let kind = if width == 128 || is_surface { 'b' } else { kind };
            words.set(Key::Type, &format!("{kind}{width}"));
        }
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
        let (ty, span) = access.ty.unwrap_or((PtxType::new(default, width), rmw.span));
        if let Err(error) = check_atomic_type(rmw, ty, span) {
            return Err(self.report(error));
        }
        if width == 128
            && let Some(error) = self.target().check("atom.b128", (8, 3), 90, rmw.span)
        {
            return Err(self.report(error));
        }
        let op = match (rmw.op, ty.kind) {
            (_, 'f') => AtomicOp::Float,
            (AtomicOp::Min, 's') => AtomicOp::SignedMin,
            (AtomicOp::Max, 's') => AtomicOp::SignedMax,
            (op, _) => op,
        };
        Ok((op, default))
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
        let is_wide = self.is_wide(address, access);
        if width == 128 || total > 256 || (total > 128 && !is_wide) {
            let max = if is_wide && width < 128 { 256 } else { 128 };
            let message = format!("a vector has at most {max} bits; this one has {total}");
            let error = Diagnostic::new("validate::vector-size", message, span, "too large");
            return Err(self.report(error.with_help("split it into several accesses")));
        }
        if total > 128
            && let Some(error) = self.target().check("a 256-bit vector", (8, 8), 100, span)
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
}
