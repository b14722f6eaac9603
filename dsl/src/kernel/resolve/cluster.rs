//! Proxy fences with their operands, and checks of state spaces.

use super::super::ast::{ExprKind, Operand};
use super::super::program::{Address, AddressBase, ElementKind, Width};
use super::Resolved;
use super::asynchronous::described;
use super::body::Body;
use super::constant::parse_literal;
use super::instruction::{Site, operand_span};
use crate::diagnostic::Diagnostic;
use crate::vocabulary::Space;

/// The only size that a fence of the tensormap proxy takes, in bytes.
const TENSORMAP_BYTES: u128 = 128;

impl Body<'_> {
    /// A tensor map stays the description of what it is declared to describe.
    pub(in crate::kernel) fn check_map_copy(
        &mut self,
        destination: &Address,
        source: &Address,
    ) -> Resolved<()> {
        let elements = (self.element_of(destination.base), self.element_of(source.base));
        if (elements.0 == ElementKind::Tensormap) != (elements.1 == ElementKind::Tensormap) {
            let message = "one end is a tensor map, the other is not";
            let error =
                Diagnostic::new("validate::not-tensormap", message, source.span, described(elements.1))
                    .with_label(destination.span, described(elements.0))
                    .with_help("declare both as `tensormap of` the same object");
            return Err(self.report(error.with_rule("UB-F2")));
        }
        if let (Some(to), Some(from)) = (self.tensor_of(destination), self.tensor_of(source))
            && to != from
        {
            let message = "a tensor map describes one object for good in this version";
            let error = Diagnostic::new(
                "unsupported::tensormap-address",
                message,
                source.span,
                "describes another box",
            )
            .with_label(destination.span, "copied here")
            .with_help("declare both as `tensormap of` the same object, with the same box");
            return Err(self.report(error));
        }
        Ok(())
    }

    /// 128 bytes of one state space, in the own CTA.
    pub(in crate::kernel) fn map_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        space: Space,
        rule: &'static str,
    ) -> Resolved<Address> {
        let Operand::Memory(memory) = operand else {
            let span = operand_span(operand, site.span);
            return Err(self.wrong_operand(site, span, "an address in brackets, `[x]`,"));
        };
        let (address, width) = self.resolve_address(memory)?;
        self.expect_space(site, &address, space, rule)?;
        if address.rank.is_some() {
            let message = format!("`{}` takes an address in the own CTA here", site.opcode.text);
            let error = Diagnostic::new("validate::space-mismatch", message, address.span, "in a peer CTA");
            return Err(self.report(error.with_rule(rule)));
        }
        self.check_map_fits(site, &address, width, rule)?;
        Ok(address)
    }

    fn check_map_fits(
        &mut self,
        site: &Site<'_>,
        address: &Address,
        width: Width,
        rule: &'static str,
    ) -> Resolved<()> {
        let AddressBase::Object(object) = address.base else { return Ok(()) };
        let object = &self.objects[object];
        if object.element == ElementKind::Tensormap {
            return Ok(());
        }
        let bytes = u128::from(object.n_elements()) * u128::from(width / 8);
        if bytes >= TENSORMAP_BYTES {
            return Ok(());
        }
        let message = format!("`{}` covers 128 bytes; `{}` has {bytes}", site.opcode.text, object.name);
        let declared = object.span;
        let error = Diagnostic::new("validate::tensormap-size", message, address.span, "too small")
            .with_label(declared, "declared here");
        Err(self.report(error.with_rule(rule)))
    }

    pub(in crate::kernel) fn expect_map_size(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        rule: &'static str,
    ) -> Resolved<()> {
        if let Operand::Expr(expr) = operand
            && let ExprKind::Literal(text) = &expr.kind
            && parse_literal(text).is_ok_and(|literal| literal.value == TENSORMAP_BYTES)
        {
            return Ok(());
        }
        let message = format!("the size operand of `{}` is the number 128", site.opcode.text);
        let span = operand_span(operand, site.span);
        let error = Diagnostic::new("validate::tensormap-size", message, span, "not the literal 128");
        Err(self.report(error.with_help("write `128`").with_rule(rule)))
    }

    /// Checks the state space of an object; for a reference, its callers are checked.
    pub(in crate::kernel) fn expect_space(
        &mut self,
        site: &Site<'_>,
        address: &Address,
        space: Space,
        rule: &'static str,
    ) -> Resolved<()> {
        match address.base {
            AddressBase::Reference(reference) => {
                self.note_space(reference, space, address.span);
                Ok(())
            }
            AddressBase::Object(object) if self.objects[object].space == space => Ok(()),
            // Where a number leads is found out when it is known.
            AddressBase::Flat { .. } => Ok(()),
            AddressBase::Object(object) => {
                let (name, found) = (self.objects[object].name.clone(), self.objects[object].space);
                let message = format!("`{}` needs {space} memory; `{name}` is in {found}", site.opcode.text);
                let error = Diagnostic::new(
                    "validate::space-mismatch",
                    message,
                    address.span,
                    format!("in {found} memory"),
                )
                .with_label(self.objects[object].span, "declared here")
                .with_help(format!("name an object that is declared `{space}`"));
                Err(self.report(error.with_rule(rule)))
            }
        }
    }
}
