//! Asynchronous operations with their operands: sizes, alignment, state spaces, and whose CTA each end is in.
//!
//! What depends on values (a size, an index, a rank) is left to the checker; constants are checked here.

use super::super::ast::Operand;
use super::super::legality::AsyncOpcode;
use super::super::program::{
    Address, AddressBase, AsyncCopy, AsyncGroup, AsyncOp, ElementKind, Expression, Instruction,
    InstructionKind, StatementKind, Width,
};
use super::body::Body;
use super::calls::{Demand, Locality};
use super::expression::constant_value;
use super::instruction::{Parts, Site, operand_span};
use super::{Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Proxy, Space};

mod bulk;
mod matrix;
mod store;
mod tensor;
mod tensor_memory;

impl Body<'_> {
    pub(in crate::kernel) fn resolve_async(
        &mut self,
        site: &Site<'_>,
        opcode: AsyncOpcode,
    ) -> Resolved<Parts> {
        self.expect_no_result(site)?;
        let (text, op) = match opcode {
            AsyncOpcode::Copy { is_cg, has_hint } => self.resolve_element_copy(site, is_cg, has_hint)?,
            AsyncOpcode::CopyArrive { increments } => {
                self.expect_operands(site, 1, 1, "an mbarrier")?;
                let mbarrier = self.own_mbarrier(site, &site.operands[0], "MB-2")?;
                let noinc = if increments { "" } else { ".noinc" };
                let text = format!("cp.async.mbarrier.arrive{noinc}.shared::cta.b64");
                (text, AsyncOp::CopyArrive { mbarrier, increments })
            }
            AsyncOpcode::Commit(group) => {
                self.expect_operands(site, 0, 0, "no operands")?;
                (format!("{}.commit_group{}", group_name(group), aligned(group)), AsyncOp::Commit(group))
            }
            AsyncOpcode::Wait { group, reads_only } => {
                self.expect_operands(site, 1, 1, "the number of groups that may still be pending")?;
                let pending = self.pending_operand(site, &site.operands[0])?;
                let read = if reads_only { ".read" } else { "" };
                let text = format!("{}.wait_group{read}{}", group_name(group), aligned(group));
                (text, AsyncOp::Wait { group, pending, reads_only })
            }
            AsyncOpcode::WaitAll => {
                self.expect_operands(site, 0, 0, "no operands")?;
                // It is a commit and a wait (AS-7).
                let text = "cp.async.commit_group".to_owned();
                let kind = InstructionKind::Async(Box::new(AsyncOp::Commit(AsyncGroup::Copy)));
                let instruction = Instruction { text, opcode_span: site.opcode.span, kind };
                self.push(site.span, StatementKind::Instruction(instruction));
                let wait = AsyncOp::Wait { group: AsyncGroup::Copy, pending: 0, reads_only: false };
                ("cp.async.wait_group".to_owned(), wait)
            }
            AsyncOpcode::Bulk(opcode) => self.resolve_bulk(site, opcode)?,
            AsyncOpcode::Prefetch(opcode) => self.resolve_prefetch(site, opcode)?,
            AsyncOpcode::Store(opcode) => self.resolve_async_store(site, opcode)?,
            AsyncOpcode::Replace(opcode) => self.resolve_replace(site, opcode)?,
            AsyncOpcode::Matrix { text } => self.resolve_matrix(site, text)?,
            AsyncOpcode::Tensor { opcode, text } => self.resolve_tensor_memory(site, opcode, text)?,
            AsyncOpcode::MatrixFence => {
                self.expect_operands(site, 0, 0, "no operands")?;
                ("wgmma.fence.sync.aligned".to_owned(), AsyncOp::MatrixFence)
            }
        };
        Ok((text, InstructionKind::Async(Box::new(op)), Vec::new()))
    }

    /// `[dst], [src], bytes{, source bytes or whether to ignore the source}{, cache policy}`
    fn resolve_element_copy(
        &mut self,
        site: &Site<'_>,
        is_cg: bool,
        has_hint: bool,
    ) -> Resolved<(String, AsyncOp)> {
        let form = "a destination, a source, their bytes, and maybe how many of them to read";
        self.expect_operands(site, 3, 4 + usize::from(has_hint), form)?;
        let (destination, destination_width) =
            self.data_operand(site, &site.operands[0], Space::Shared, "AS-8")?;
        self.expect_own_cta(site, &destination, "AS-8", "written by `cp.async`")?;
        let (source, source_width) = self.data_operand(site, &site.operands[1], Space::Global, "AS-8")?;
        let size = self.value_operand(site, &site.operands[2], 32)?;
        let sizes: &[u128] = if is_cg { &[16] } else { &[4, 8, 16] };
        let Some(bytes) = constant_value(&size).filter(|bytes| sizes.contains(bytes)) else {
            let message = format!("`{}` cannot copy this many bytes", site.opcode.text);
            let error = Diagnostic::new("validate::copy-size", message, size.span, "not a size of it");
            let help =
                if is_cg { "`.cg` copies 16 bytes" } else { "`.ca` copies 4, 8 or 16 bytes, a constant" };
            return Err(self.report(error.with_help(help).with_rule("AS-9")));
        };
        for (address, width) in [(&destination, destination_width), (&source, source_width)] {
            self.expect_whole_elements(address, width, bytes, size.span, "AS-9")?;
            self.expect_alignment(address, width, bytes, "AS-9")?;
        }
        let (mut source_bytes, mut ignore_source) = (None, None);
        let mut extra = &site.operands[3..];
        if has_hint && let [rest @ .., policy] = extra {
            // A single operand behind the size is a policy if it has 64 bits.
            let policy = self.extra_operand(site, policy)?;
            if policy.width == 64 || !rest.is_empty() {
                self.expect_width(policy, 64)?;
                extra = rest;
            }
        }
        if let [operand] = extra {
            let value = self.extra_operand(site, operand)?;
            if value.width == 1 {
                if let Some(error) = self.checker.target.check("ignore-src", (7, 5), 80, value.span) {
                    return Err(self.report(error));
                }
                ignore_source = Some(value);
            } else {
                let value = self.expect_width(value, 32)?;
                if constant_value(&value).is_some_and(|read| read > bytes) {
                    let message = format!("more bytes are read than the {bytes} that are copied");
                    let error = Diagnostic::new("validate::copy-size", message, value.span, "too many");
                    let help = "the source size is at most the copy's; the rest is filled with zeros";
                    return Err(self.report(error.with_help(help).with_rule("UB-A1")));
                }
                source_bytes = Some(value);
            }
        }
        let text = format!("cp.async.{}.shared::cta.global", if is_cg { "cg" } else { "ca" });
        // One of the sizes above.
        let bytes = u32::try_from(bytes).unwrap_or(16);
        Ok((text, AsyncOp::Copy(AsyncCopy { destination, source, bytes, source_bytes, ignore_source })))
    }

    /// An operand whose width says what it is.
    pub(in crate::kernel) fn extra_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
    ) -> Resolved<Expression> {
        match operand {
            Operand::Expr(expr) => self.resolve_expression(expr, Some(32)),
            _ => Err(self.wrong_operand(site, operand_span(operand, site.span), "a value")),
        }
    }

    pub(in crate::kernel) fn pending_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<u32> {
        let pending = self.value_operand(site, operand, 32)?;
        match constant_value(&pending).and_then(|pending| u32::try_from(pending).ok()) {
            Some(pending) => Ok(pending),
            None => {
                let message = format!("the operand of `{}` is a constant", site.opcode.text);
                let error = Diagnostic::new("validate::wait-group", message, pending.span, "not a constant");
                Err(self.report(
                    error.with_help("write the number of groups that may be pending").with_rule("AS-7"),
                ))
            }
        }
    }

    /// A cache policy means nothing here, but it has 64 bits.
    fn policy_operand(&mut self, site: &Site<'_>, operand: Option<&Operand>) -> Resolved<()> {
        match operand {
            Some(operand) => self.value_operand(site, operand, 64).map(drop),
            None => Ok(()),
        }
    }

    /// A run of plain data in one state space, and the width of its elements; `[tile]` is `[tile[0]]`.
    pub(in crate::kernel) fn data_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        space: Space,
        rule: &'static str,
    ) -> Resolved<(Address, Width)> {
        let (address, width) = self.any_data_operand(site, operand)?;
        self.expect_space(site, &address, space, rule)?;
        Ok((address, width))
    }

    /// The same in any state space.
    pub(in crate::kernel) fn any_data_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
    ) -> Resolved<(Address, Width)> {
        let Operand::Memory(memory) = operand else {
            let span = operand_span(operand, site.span);
            return Err(self.wrong_operand(site, span, "an address in brackets, `[x]`,"));
        };
        let (address, width) = self.resolve_run(memory)?;
        let holds = self.element_of(address.base);
        if holds != ElementKind::Data {
            let name = &memory.name.text;
            let message =
                format!("`{}` needs data here; `{name}` holds {}", site.opcode.text, described(holds));
            let error = Diagnostic::new("validate::not-data", message, address.span, described(holds));
            return Err(self.report(match holds {
                ElementKind::Mbarrier => {
                    error.with_help(format!("declare a view: `view … : u64 of {name};`"))
                }
                _ => error
                    .with_help("write a tensor map with `tensormap.replace` or `tensormap.cp_fenceproxy`"),
            }));
        }
        let proxy = self.proxy_of(&address);
        if proxy != Proxy::Generic {
            let message = format!(
                "`{}` cannot access `{}`, which has the proxy {proxy}",
                site.opcode.text, memory.name.text
            );
            let error =
                Diagnostic::new("validate::proxy-mismatch", message, address.span, "not generic memory");
            return Err(
                self.report(error.with_help("name the object that it is another name of").with_rule("MM-15"))
            );
        }
        Ok((address, width))
    }

    /// The address is not in a peer CTA, and neither is what a reference stands for.
    pub(in crate::kernel) fn expect_own_cta(
        &mut self,
        site: &Site<'_>,
        address: &Address,
        rule: &'static str,
        why: &'static str,
    ) -> Resolved<()> {
        if address.rank.is_some() {
            let message = format!("`{}` needs an address in the own CTA here", site.opcode.text);
            let error = Diagnostic::new("validate::peer-address", message, address.span, "in a peer CTA");
            return Err(self.report(error.with_help("leave the `mapa` out").with_rule(rule)));
        }
        self.note_local(address, rule, why);
        Ok(())
    }

    pub(in crate::kernel) fn any_mbarrier(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        rule: &'static str,
    ) -> Resolved<Address> {
        let Operand::Memory(memory) = operand else {
            let span = operand_span(operand, site.span);
            return Err(self.wrong_operand(site, span, "an mbarrier in brackets, `[bar]`,"));
        };
        let (address, _) = self.resolve_address(memory)?;
        let holds = self.element_of(address.base);
        if holds == ElementKind::Mbarrier {
            return Ok(address);
        }
        let name = &memory.name.text;
        let message =
            format!("`{}` needs an mbarrier here; `{name}` holds {}", site.opcode.text, described(holds));
        let error = Diagnostic::new("validate::not-mbarrier", message, address.span, "not an mbarrier");
        Err(self.report(
            error.with_help(format!("declare it as one: `shared {name}: mbarrier;`")).with_rule(rule),
        ))
    }

    pub(in crate::kernel) fn own_mbarrier(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        rule: &'static str,
    ) -> Resolved<Address> {
        let address = self.any_mbarrier(site, operand, rule)?;
        if address.rank.is_some() {
            let message = format!("`{}` works on an mbarrier of the own CTA only", site.opcode.text);
            let error = Diagnostic::new("validate::mbarrier-peer", message, address.span, "a peer CTA's");
            return Err(self.report(error.with_help("leave the `mapa` out").with_rule(rule)));
        }
        self.note_local(&address, rule, "signalled in the own CTA only");
        Ok(address)
    }

    /// Copies move whole elements at both ends.
    pub(in crate::kernel) fn expect_whole_elements(
        &mut self,
        address: &Address,
        width: Width,
        bytes: u128,
        size: Span,
        rule: &'static str,
    ) -> Resolved<()> {
        let element = u128::from(width / 8);
        if bytes.is_multiple_of(element) {
            return Ok(());
        }
        let message = format!("{bytes} bytes are no whole number of elements of {element} bytes");
        let error = Diagnostic::new(
            "validate::copy-elements",
            message,
            address.span,
            format!("{element} bytes each"),
        )
        .with_label(size, format!("{bytes} bytes"));
        Err(self.report(
            error.with_help("copy more, or declare the object with smaller elements").with_rule(rule),
        ))
    }

    /// Where the place is known, it is aligned to `alignment` bytes; else the checker looks.
    pub(in crate::kernel) fn expect_alignment(
        &mut self,
        address: &Address,
        width: Width,
        alignment: u128,
        rule: &'static str,
    ) -> Resolved<()> {
        match self.constant_offset(address, width) {
            Some(offset) if !offset.is_multiple_of(alignment) => {
                let message =
                    format!("this address must be {alignment}-byte aligned; it is at byte {offset}");
                let error = Diagnostic::new("validate::copy-alignment", message, address.span, "not aligned");
                Err(self.report(
                    error.with_help(format!("start at a multiple of {alignment} bytes")).with_rule(rule),
                ))
            }
            _ => Ok(()),
        }
    }

    /// The byte of its storage where an element starts, if that is known here.
    pub(in crate::kernel) fn constant_offset(&self, address: &Address, width: Width) -> Option<u128> {
        let AddressBase::Object(object) = address.base else { return None };
        let object = &self.objects[object];
        let flat = address
            .indices
            .iter()
            .zip(&object.dimensions)
            .try_fold(0_u128, |flat, (index, &n)| Some(flat * u128::from(n) + constant_value(index)?))?;
        Some(flat * u128::from(width / 8) + u128::from(object.offset_bytes))
    }

    /// Remembers what a reference must stand for.
    pub(in crate::kernel) fn note_demand(
        &mut self,
        address: &Address,
        demand: Demand,
        rule: &'static str,
        why: &'static str,
    ) {
        if let (AddressBase::Reference(reference), Some(function)) = (address.base, self.owner) {
            let use_of = Locality { span: address.span, rule, why };
            self.checker.calls.note(function, reference, demand, use_of);
        }
    }
}

/// What the instructions of matrix groups have behind their name.
fn aligned(group: AsyncGroup) -> &'static str {
    if group == AsyncGroup::Matrix { ".sync.aligned" } else { "" }
}

fn group_name(group: AsyncGroup) -> &'static str {
    match group {
        AsyncGroup::Copy => "cp.async",
        AsyncGroup::Bulk => "cp.async.bulk",
        AsyncGroup::Matrix => "wgmma",
    }
}

/// What elements are, for messages.
pub(in crate::kernel) fn described(element: ElementKind) -> &'static str {
    match element {
        ElementKind::Data => "data",
        ElementKind::Mbarrier => "an mbarrier",
        ElementKind::Tensormap => "a tensor map",
    }
}
