//! Asynchronous operations with their operands: sizes, alignment, state spaces, and whose CTA each end is in.
//!
//! What depends on values (a size, an index, a rank) is left to the checker; constants are checked here.

use super::super::ast::Operand;
use super::super::isa::Built;
use super::super::program::{Address, AddressBase, AsyncGroup, AsyncOp, ElementKind, Width};
use super::Resolved;
use super::body::Body;
use super::calls::{Demand, Locality};
use super::expression::constant_value;
use super::instruction::{Site, operand_span};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Proxy, Space};

mod register;
mod tensor;

impl Body<'_> {
    /// `wait_group n`
    pub(in crate::kernel) fn build_wait(
        &mut self,
        site: &Site<'_>,
        group: AsyncGroup,
        reads_only: bool,
    ) -> Resolved<Built> {
        self.expect_no_result(site)?;
        let pending = self.pending_operand(site)?;
        Ok((AsyncOp::Wait { group, pending, reads_only }.into(), Vec::new()))
    }

    fn pending_operand(&mut self, site: &Site<'_>) -> Resolved<u32> {
        self.expect_operands(site, 1, 1, "the number of groups that may still be pending")?;
        let pending = self.value_operand(site, &site.operands[0], 32)?;
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
    pub(in crate::kernel) fn policy_operand(
        &mut self,
        site: &Site<'_>,
        operand: Option<&Operand>,
    ) -> Resolved<()> {
        match operand {
            Some(operand) => self.value_operand(site, operand, 64).map(drop),
            None => Ok(()),
        }
    }

    /// Plain data in one state space, and the width of its elements. How much of it the instruction accesses, a number of
    /// bytes or all elements that are named, is for the caller to say.
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

    /// One element of it.
    pub(in crate::kernel) fn element_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        space: Space,
        rule: &'static str,
    ) -> Resolved<(Address, Width)> {
        let (address, width) = self.data_operand(site, operand, space, rule)?;
        match address.base {
            AddressBase::Object(object) if self.objects[object].dimensions.len() > address.indices.len() => {
                Err(self.wrong_operand(site, address.span, "one element, `[x[i]]`,"))
            }
            _ => Ok((address, width)),
        }
    }

    /// How many elements an operand names for which the instruction states no size. `None` for all that a reference stands
    /// for, which only its callers know.
    pub(in crate::kernel) fn n_named(&self, address: &Address) -> Option<u32> {
        match address.base {
            AddressBase::Object(object) => Some(self.objects[object].n_elements_below(address.indices.len())),
            AddressBase::Reference(_) => (!address.indices.is_empty()).then_some(1),
            AddressBase::Flat { .. } => Some(1),
        }
    }

    /// Plain data in any state space.
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

    /// The mbarrier is in the CTA of the destination, as far as constants tell.
    pub(in crate::kernel) fn expect_same_cta(
        &mut self,
        destination: &Address,
        mbarrier: &Address,
        rule: &'static str,
    ) -> Resolved<()> {
        let rank = |address: &Address| address.rank.as_deref().and_then(constant_value);
        match (rank(destination), rank(mbarrier)) {
            (Some(to), Some(signalled)) if to != signalled => {
                let message = "the mbarrier is in the CTA that is written";
                let error = Diagnostic::new(
                    "validate::mbarrier-cta",
                    message,
                    mbarrier.span,
                    format!("in CTA {signalled}"),
                )
                .with_label(destination.span, format!("in CTA {to}"));
                Err(self.report(error.with_help("give both the same rank").with_rule(rule)))
            }
            _ => Ok(()),
        }
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
        let mut flat = 0_u128;
        for (dimension, &n) in object.dimensions.iter().enumerate() {
            let index = address.indices.get(dimension).map_or(Some(0), constant_value)?;
            flat = flat * u128::from(n) + index;
        }
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

/// What elements are, for messages.
pub(in crate::kernel) fn described(element: ElementKind) -> &'static str {
    match element {
        ElementKind::Data => "data",
        ElementKind::Mbarrier => "an mbarrier",
        ElementKind::Tensormap => "a tensor map",
    }
}
