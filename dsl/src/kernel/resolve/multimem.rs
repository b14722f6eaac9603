//! Symmetric memory: which of its addresses an instruction may use.
//!
//! A symmetric object has one instance per device. Its name is the own device's, `peer(x, gpu)` that of another one; a
//! `multimem` alias of it is the address of all at once, which `multimem` instructions alone may access (MM-7).

use super::super::ast::{self, Expr, Memory};
use super::super::program::{AddressBase, ElementKind, Expression, Object};
use super::Resolved;
use super::body::Body;
use super::calls::{Demand, Locality};
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
    /// Only `multimem` instructions access a multimem address, and they access nothing else.
    pub(super) fn check_purpose(
        &mut self,
        base: AddressBase,
        purpose: Purpose,
        memory: &Memory,
    ) -> Resolved<()> {
        let span = memory.place.0;
        match (base, purpose) {
            (_, Purpose::Argument) | (AddressBase::Flat { .. }, _) => Ok(()),
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
            AddressBase::Object(_) | AddressBase::Flat { .. } => {}
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
            AddressBase::Flat { .. } => Some(Replication::Single),
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
