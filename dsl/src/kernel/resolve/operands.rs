//! Operands in general: how many, of whose CTA, and where a result goes.

use super::super::ast::Operand;
use super::super::opcode::Window;
use super::super::program::{Address, AddressBase, Expression, RegisterId, Width};
use super::body::Body;
use super::calls::{Demand, Locality};
use super::instruction::{Results, Site};
use super::{Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

impl Body<'_> {
    /// An address in a peer is not in `.shared::cta`.
    pub(in crate::kernel) fn check_window(
        &mut self,
        address: &Address,
        written: Option<(Window, Span)>,
    ) -> Resolved<()> {
        let Some((Window::Cta, span)) = written else { return Ok(()) };
        if address.rank.is_some() {
            let message = "an address that `mapa` gives is in `.shared::cluster`, not `.shared::cta`";
            let error = Diagnostic::new("validate::space-mismatch", message, span, "own CTA only")
                .with_label(address.span, "in a peer CTA")
                .with_help("write `.shared::cluster`, or leave the state space out");
            return Err(self.report(error.with_rule("AS-43")));
        }
        self.note_local(address, "AS-43", "accessed as `.shared::cta`");
        Ok(())
    }

    /// Remembers that a reference must stand for memory of the own CTA.
    pub(in crate::kernel) fn note_local(&mut self, address: &Address, rule: &'static str, why: &'static str) {
        if let (AddressBase::Reference(reference), Some(function), None) =
            (address.base, self.owner, &address.rank)
        {
            let use_of = Locality { span: address.span, rule, why };
            self.checker.calls.note(function, reference, Demand::OwnCta, use_of);
        }
    }

    /// The one result of an instruction.
    pub(in crate::kernel) fn one_result(
        &mut self,
        site: &Site<'_>,
        is_sink: bool,
        width: Width,
    ) -> Resolved<Option<RegisterId>> {
        let name = match site.results {
            Results::Nothing if is_sink => None,
            Results::Nothing => return Err(self.unbound_result(site)),
            Results::One(name) => name,
            Results::Vector(_) => return Err(self.vector_count(site, 1)),
        };
        Ok(self.result_register(name, width))
    }

    /// The results of a load: one, or those of a vector.
    pub(in crate::kernel) fn results(
        &mut self,
        site: &Site<'_>,
        is_sink: bool,
        elements: u8,
        width: Width,
    ) -> Resolved<Vec<Option<RegisterId>>> {
        let n = usize::from(elements);
        let names: Vec<Option<&str>> = match site.results {
            Results::Nothing if is_sink => vec![None; n],
            Results::Nothing => return Err(self.unbound_result(site)),
            Results::One(name) if n == 1 => vec![name],
            Results::One(None) => vec![None; n],
            Results::Vector(names) if names.len() == n => names.iter().map(Option::as_deref).collect(),
            Results::One(Some(_)) | Results::Vector(_) => return Err(self.vector_count(site, elements)),
        };
        Ok(names.into_iter().map(|name| self.result_register(name, width)).collect())
    }

    /// The values of a store: one, or those of a vector.
    pub(in crate::kernel) fn values(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        elements: u8,
        width: Width,
    ) -> Resolved<Vec<Expression>> {
        match operand {
            Operand::Vector(values) if values.len() == usize::from(elements) => {
                values.iter().map(|value| self.resolve_exact(value, width)).collect()
            }
            operand if elements == 1 && !matches!(operand, Operand::Vector(_)) => {
                Ok(vec![self.value_operand(site, operand, width)?])
            }
            _ => Err(self.vector_count(site, elements)),
        }
    }

    pub(in crate::kernel) fn operand_count(&mut self, site: &Site<'_>, form: &str, n: usize) -> Reported {
        let message = format!("`{}` takes {form}; {n} given", site.opcode.text);
        self.report(Diagnostic::new(
            "validate::operand-count",
            message,
            site.span,
            "wrong number of operands",
        ))
    }
}
