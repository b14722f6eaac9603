//! Which instructions go with which objects: one through the texture proxy reads textures, and nothing else does.

use super::super::ast::Name;
use super::super::isa::access::{self, Access};
use super::super::opcode::Opcode;
use super::super::program::{Address, AddressBase, Object};
use super::Resolved;
use super::body::Body;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Proxy, Sem};

impl Body<'_> {
    /// The proxy of a memory operand; references are generic.
    pub(in crate::kernel) fn proxy_of(&self, address: &Address) -> Proxy {
        match address.base {
            AddressBase::Object(object) => self.objects[object].proxy,
            AddressBase::Reference(_) | AddressBase::Flat { .. } => Proxy::Generic,
        }
    }

    /// The opcode's proxy must be the object's; a plain weak `ld` of a constant means `ld.const`.
    pub(in crate::kernel) fn check_proxy(
        &mut self,
        opcode: &Opcode<'_>,
        address: &Address,
        access: &Access,
        name: &Name,
    ) -> Resolved<()> {
        let own = self.proxy_of(address);
        let is_plain_load = opcode.mnemonic == "ld" && access.space.is_none();
        if own == access.proxy || (own == Proxy::Constant && is_plain_load && access.sem == Sem::Weak) {
            return Ok(());
        }
        if own == Proxy::Constant && opcode.mnemonic != "ld" && access.proxy == Proxy::Generic {
            return Err(self.report(access::constant_is_read_only(address.span)));
        }
        if own == Proxy::Constant && is_plain_load {
            return Err(self.report(access::constant_is_weak(access.sem, address.span)));
        }
        let is = described(own);
        let message = match access.proxy {
            Proxy::Generic => format!("`{}` cannot access `{}`, which is {is}", opcode.text, name.text),
            needed => format!(
                "`{}` accesses memory through the {needed} proxy; `{}` is {is}",
                opcode.text, name.text
            ),
        };
        let error = Diagnostic::new("validate::proxy-mismatch", message, address.span, is);
        let error = match address.base {
            AddressBase::Object(object) => error
                .with_label(self.objects[object].span, "declared here")
                .with_help(help(own, access.proxy, name)),
            AddressBase::Reference(_) | AddressBase::Flat { .. } => {
                error.with_help("use the instruction outside of functions, on the object itself")
            }
        };
        Err(self.report(error.with_rule("MM-15")))
    }

    /// Functions take addresses of generic memory.
    pub(in crate::kernel) fn check_reference_proxy(&mut self, object: &Object, span: Span) -> Resolved<()> {
        if object.proxy == Proxy::Generic {
            return Ok(());
        }
        let message =
            format!("`{}` is {} and cannot be passed to a function", object.name, described(object.proxy));
        let error = Diagnostic::new("validate::proxy-mismatch", message, span, "not generic memory");
        Err(self.report(
            error
                .with_label(object.span, "declared here")
                .with_help("access it in the kernel, and pass the value")
                .with_rule("MM-15"),
        ))
    }
}

fn described(proxy: Proxy) -> &'static str {
    match proxy {
        Proxy::Generic => "generic memory",
        Proxy::Texture => "a texture",
        Proxy::Surface => "a surface",
        Proxy::Constant => "constant memory",
        Proxy::Async => "memory of asynchronous operations",
        Proxy::Tensormap => "a tensor map",
    }
}

fn help(own: Proxy, needed: Proxy, name: &Name) -> String {
    let name = &name.text;
    let with = match own {
        Proxy::Generic => "`ld`, `st`, `atom` and `red`",
        Proxy::Texture => "`tex.1d.u32`",
        Proxy::Surface => "`suld.b.1d.b32`, `sust.b.1d.b32` and `sured.b.add.1d.u32`",
        Proxy::Constant => "`ld.const`",
        Proxy::Async => "`cp.async.bulk`",
        Proxy::Tensormap => "`cp.async.bulk.tensor`",
    };
    match needed {
        Proxy::Generic => format!("access it with {with}"),
        _ => format!("access it with {with}, or declare `{needed} …: u32 alias {name};`"),
    }
}
