//! Symmetric memory: which of its addresses an instruction may use, and `multimem` instructions with their operands.
//!
//! A symmetric object has one instance per device. Its name is the own device's, `peer(x, gpu)` that of another one; a
//! `multimem` alias of it is the address of all at once, which `multimem` instructions alone may access (MM-7).

use super::super::ast::{self, Expr, Memory, Operand};
use super::super::legality::{Access, MultimemOpcode, Rmw, check_multimem_width};
use super::super::program::{
    AddressBase, AsyncOp, AsyncStore, ElementKind, Expression, InstructionKind, MultimemOp, Object,
};
use super::Resolved;
use super::body::Body;
use super::calls::{Demand, Locality};
use super::instruction::{Parts, Results, Site};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::Replication;

/// What an address is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::kernel) enum Purpose {
    /// Any instruction but `multimem`.
    Access,
    /// A `multimem` instruction.
    Multimem,
    /// To be passed on.
    Argument,
}

impl Body<'_> {
    pub(super) fn resolve_multimem(&mut self, site: &Site<'_>, opcode: MultimemOpcode) -> Resolved<Parts> {
        match opcode {
            MultimemOpcode::LoadReduce(access, rmw) => {
                let (is_sink, operands) = Self::without_sink(site);
                let [memory] = operands else {
                    return Err(self.operand_count(site, "a multimem address", operands.len()));
                };
                let (address, width) = self.memory_operand(site, memory, &access)?;
                let (op, default) = self.operation_at(&access, rmw, width)?;
                let destination = self.one_result(site, is_sink, width)?;
                let text = self.access_text(site, &access, &address, width, rmw.name, default);
                let (sem, scope) = (access.sem, access.scope);
                let operation = MultimemOp::LoadReduce { destination, op, address, sem, scope };
                Ok((text, InstructionKind::Multimem(operation), vec![destination]))
            }
            MultimemOpcode::Store(access) => {
                let (memory, value) = self.two_operands(site)?;
                let (address, width) = self.memory_operand(site, memory, &access)?;
                if let Err(error) = check_multimem_width(width, address.span) {
                    return Err(self.report(error));
                }
                let value = self.value_operand(site, value, width)?;
                let text = self.access_text(site, &access, &address, width, "", 'u');
                let (sem, scope) = (access.sem, access.scope);
                let operation = MultimemOp::Store { value, address, sem, scope };
                Ok((text, InstructionKind::Multimem(operation), Vec::new()))
            }
            MultimemOpcode::Async(access, rmw) => self.resolve_multimem_async(site, access, rmw),
            MultimemOpcode::Reduction(access, rmw) => {
                let (memory, value) = self.two_operands(site)?;
                let (address, width) = self.memory_operand(site, memory, &access)?;
                let (op, default) = self.operation_at(&access, rmw, width)?;
                let operand = self.value_operand(site, value, width)?;
                self.check_extreme_sign(op, value, &operand)?;
                let text = self.access_text(site, &access, &address, width, rmw.name, default);
                let (sem, scope) = (access.sem, access.scope);
                let operation = MultimemOp::Reduction { op, operand, address, sem, scope };
                Ok((text, InstructionKind::Multimem(operation), Vec::new()))
            }
        }
    }

    /// `multimem.st.async`, `multimem.red.async`
    fn resolve_multimem_async(
        &mut self,
        site: &Site<'_>,
        access: Access,
        rmw: Option<Rmw>,
    ) -> Resolved<Parts> {
        let (memory, value) = self.two_operands(site)?;
        let (address, width) = self.memory_operand(site, memory, &access)?;
        if width == 128 {
            let message = "`multimem.st.async` writes at most 64 bits";
            let error = Diagnostic::new("validate::multimem-type", message, address.span, "128 bits");
            return Err(self.report(error.with_help("declare the object with elements of `u32` or `u64`")));
        }
        let (reduction, default) = match rmw {
            Some(rmw) => {
                let (op, default) = self.operation_at(&access, rmw, width)?;
                (Some(op), default)
            }
            None => (None, 'u'),
        };
        let operand = self.value_operand(site, value, width)?;
        if let Some(op) = reduction {
            self.check_extreme_sign(op, value, &operand)?;
        }
        let values = vec![operand];
        let text = self.access_text(site, &access, &address, width, rmw.map_or("", |rmw| rmw.name), default);
        let (sem, scope) = (access.sem, access.scope);
        let store = AsyncStore { address, values, reduction, mbarrier: None, sem, scope };
        Ok((text, InstructionKind::Async(Box::new(AsyncOp::Store(store))), Vec::new()))
    }

    /// What an instruction without a result takes.
    fn two_operands<'a>(&mut self, site: &Site<'a>) -> Resolved<(&'a Operand, &'a Operand)> {
        if !matches!(site.results, Results::Nothing) {
            self.expect_no_result(site)?;
        }
        match site.operands {
            [memory, value] => Ok((memory, value)),
            operands => Err(self.operand_count(site, "a multimem address and a value", operands.len())),
        }
    }

    /// Only `multimem` instructions access a multimem address, and they access nothing else.
    pub(super) fn check_purpose(
        &mut self,
        base: AddressBase,
        purpose: Purpose,
        memory: &Memory,
    ) -> Resolved<()> {
        let span = memory.place.0;
        match (base, purpose) {
            (_, Purpose::Argument) => Ok(()),
            (AddressBase::Reference(_), Purpose::Access) => {
                self.note_purpose(base, Demand::Unicast, span, "not a `multimem` instruction");
                Ok(())
            }
            (AddressBase::Reference(_), Purpose::Multimem) => {
                self.note_purpose(base, Demand::Multimem, span, "a `multimem` instruction");
                Ok(())
            }
            (AddressBase::Object(id), _) => {
                let object = self.objects[id].clone();
                let is_multimem = object.replication == Replication::Multimem;
                if is_multimem == (purpose == Purpose::Multimem) {
                    return Ok(());
                }
                Err(self.report(if is_multimem {
                    ordinary_access(&object, span)
                } else {
                    no_multimem(&object, span)
                }))
            }
        }
    }

    /// The device of a `peer`.
    pub(super) fn resolve_device(
        &mut self,
        memory: &Memory,
        base: AddressBase,
        device: &Expr,
    ) -> Resolved<Expression> {
        let span = memory.place.0;
        match base {
            AddressBase::Object(id) if self.objects[id].replication != Replication::Symmetric => {
                let object = self.objects[id].clone();
                let (message, help) = match object.replication {
                    Replication::Multimem => (
                        format!("`{}` is the address of all devices' instances at once", object.name),
                        "name the symmetric object that it is an alias of".to_owned(),
                    ),
                    _ => (
                        format!("`{}` has no instance per device", object.name),
                        format!("declare it `symmetric`, or write `[{}]`", memory.name.text),
                    ),
                };
                let error = Diagnostic::new("validate::peer-device", message, span, "not symmetric memory")
                    .with_label(object.span, "declared here")
                    .with_help(help);
                return Err(self.report(error.with_rule("MM-7")));
            }
            AddressBase::Object(_) => {}
            AddressBase::Reference(_) => {
                self.note_purpose(base, Demand::Symmetric, span, "the instance of a device");
            }
        }
        self.resolve_exact(device, 32)
    }

    fn note_purpose(&mut self, base: AddressBase, demand: Demand, span: Span, why: &'static str) {
        if let (AddressBase::Reference(reference), Some(function)) = (base, self.owner) {
            self.checker.calls.note(function, reference, demand, Locality { span, rule: "MM-7", why });
        }
    }

    /// How an operand is spread over devices; `None` where the caller decides.
    pub(super) fn replication_of(&self, base: AddressBase) -> Option<Replication> {
        match base {
            AddressBase::Object(object) => Some(self.objects[object].replication),
            AddressBase::Reference(_) => None,
        }
    }

    /// A multimem address is one of symmetric memory; other aliases are spread like what they are aliases of.
    pub(super) fn check_replication(
        &mut self,
        of: &Object,
        replication: Replication,
        name: &str,
        span: Span,
    ) -> Resolved<()> {
        let wanted = match replication {
            Replication::Multimem => Replication::Symmetric,
            own => own,
        };
        if of.replication == wanted {
            return Ok(());
        }
        let (message, help) = if replication == Replication::Multimem {
            (
                format!("a multimem address is one of symmetric memory, which `{}` is not", of.name),
                format!("declare `{}` as `symmetric`: one instance per device", of.name),
            )
        } else {
            let keyword = of.replication.keyword().unwrap_or("global");
            let help = match of.replication {
                Replication::Multimem => "name the symmetric object instead".to_owned(),
                _ => format!("write `{keyword} {name}…`"),
            };
            (format!("`{}` is declared `{keyword}`, and so must its aliases be", of.name), help)
        };
        let error = Diagnostic::new("validate::alias", message, span, "declared otherwise");
        Err(self.report(error.with_label(of.span, "declared here").with_help(help).with_rule("MM-7")))
    }

    /// Symmetric memory holds plain data: what hardware gives meaning to is one device's.
    pub(super) fn check_symmetric_object(
        &mut self,
        object: &ast::Object,
        element: ElementKind,
    ) -> Resolved<()> {
        if object.replication == Replication::Single || element == ElementKind::Data {
            return Ok(());
        }
        let name = &object.name;
        let message = format!("`{}` is symmetric memory, which holds plain data", name.text);
        let error = Diagnostic::new("validate::symmetric-object", message, name.place.0, "declared here");
        Err(self.report(error.with_help("declare a tensor map `global`").with_rule("AS-35")))
    }
}

fn ordinary_access(object: &Object, span: Span) -> Diagnostic {
    let message =
        format!("`{}` is a multimem address, which only `multimem` instructions may access", object.name);
    Diagnostic::new("validate::multimem-address", message, span, "a location on every device")
        .with_label(object.span, "declared here")
        .with_help(
            "name the symmetric object that it is an alias of, `[x]`, or `[peer(x, gpu)]` on another device; or \
             use `multimem.ld_reduce`, `multimem.st` or `multimem.red`",
        )
        .with_rule("MM-7")
}

fn no_multimem(object: &Object, span: Span) -> Diagnostic {
    let name = &object.name;
    let message = format!("a `multimem` instruction needs a multimem address; `{name}` is none");
    let help = match object.replication {
        Replication::Symmetric => {
            format!("declare `multimem {name}_all: … alias {name};`, and name that")
        }
        _ => format!(
            "declare `symmetric {name}: …` and `multimem {name}_all: … alias {name};`, and name the latter"
        ),
    };
    Diagnostic::new("validate::multimem-address", message, span, "not a multimem address")
        .with_label(object.span, "declared here")
        .with_help(help)
        .with_rule("MM-7")
}
