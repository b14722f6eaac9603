//! Instructions that have no meaning to the memory model: `nanosleep`, `pmevent`, `prefetch`, `createpolicy`, `applypriority`,
//! `activemask`.
//!
//! Their form is checked, and that what they name is there; nothing comes of them but the value of a policy, or a mask of
//! lanes that execute the instruction together: which those are is the hardware's choice, at every instruction anew.
//! `discard` is not among them: it destroys data.

use super::words::Words;
use super::{Built, Family, Key, Traits, form, may, must, since};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{Address, ElementKind, InstructionKind};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::vocabulary::Space;

const PRIORITIES: &[&str] = &["L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"];

/// The families of this file.
pub(super) static FAMILIES: &[&Family] =
    &[&ACTIVE, &EVENT, &POLICY, &PREFETCH, &PREFETCH_UNIFORM, &PRIORITY, &SLEEP];

pub(super) static SLEEP: Family = Family {
    name: "nanosleep",
    code: "validate::hint-form",
    help: "write `nanosleep.u32 20`",
    rule: "",
    others: &[],
    forms: &[form("nanosleep", &[must(Key::Type, &["u32"])], since(6, 3, 70), |body, site, _| {
        body.expect_no_result(site)?;
        body.expect_operands(site, 1, 1, "a time in nanoseconds")?;
        body.value_operand(site, &site.operands[0], 32)?;
        Ok((InstructionKind::Hint { destination: None, address: None }, Vec::new()))
    })
    .operands("t")],
};

pub(super) static ACTIVE: Family = Family {
    name: "activemask",
    code: "validate::hint-form",
    help: "write `let lanes = activemask.b32;`",
    rule: "",
    others: &[],
    forms: &[form("activemask", &[must(Key::Type, &["b32"])], since(6, 2, 30), |body, site, _| {
        body.expect_operands(site, 0, 0, "no operands")?;
        let destination = body.one_result(site, false, 32)?;
        Ok((InstructionKind::ActiveMask { destination }, vec![destination]))
    })
    .result(&[("", 32)])
    .traits(Traits::ACTS)
    .operands("lanes = …")],
};

pub(super) static EVENT: Family = Family {
    name: "pmevent",
    code: "validate::hint-form",
    help: "write `pmevent 7`, or `pmevent.mask 0x81`",
    rule: "",
    others: &[],
    forms: &[form("pmevent", &[may(Key::Operation, &["mask"])], since(1, 4, 0), build_event)
        .floors(&[("mask", since(3, 0, 20))])
        .operands("a")],
};

pub(super) static PREFETCH: Family = Family {
    name: "prefetch",
    code: "validate::hint-form",
    help: "write `prefetch.global.L2 [x]`, or `prefetch.tensormap [map]`",
    rule: "",
    others: &[],
    forms: &[
        form(
            "prefetch",
            &[
                may(Key::Space, &["global"]),
                must(Key::Operation, &["L1", "L2", "L2::evict_last", "L2::evict_normal"]),
            ],
            since(2, 0, 20),
            build_prefetch,
        )
        .floors(&[("L2::evict_last", since(7, 4, 80)), ("L2::evict_normal", since(7, 4, 80))])
        .operands("[x]"),
        form("prefetch.tensormap", &[], since(8, 0, 90), build_map).operands("[map]"),
    ],
};

pub(super) static PREFETCH_UNIFORM: Family = Family {
    name: "prefetchu",
    code: "validate::hint-form",
    help: "write `prefetchu.L1 [x]`",
    rule: "",
    others: &[],
    forms: &[
        form("prefetchu", &[must(Key::Operation, &["L1"])], since(2, 0, 20), build_prefetch).operands("[x]")
    ],
};

pub(super) static POLICY: Family = Family {
    name: "createpolicy",
    code: "validate::hint-form",
    help: "write `let p = createpolicy.fractional.L2::evict_first.b64;`, or `createpolicy.range.global.… [x], n, n`",
    rule: "",
    others: &[],
    forms: &[
        form(
            "createpolicy.fractional",
            &[
                must(Key::Operation, PRIORITIES),
                may(Key::Plain, &["L2::evict_unchanged", "L2::evict_first"]),
                must(Key::Type, &["b64"]),
            ],
            since(7, 4, 80),
            |body, site, _| {
                body.expect_operands(site, 0, 1, "the fraction, 32 bits, or none, which is 1")?;
                if let Some(fraction) = site.operands.first() {
                    check_fraction(body, site, fraction)?;
                }
                policy(body, site, None)
            },
        )
        .result(&[("", 64)])
        .operands("p = …{ fraction}"),
        form(
            "createpolicy.range",
            &[
                may(Key::Space, &["global"]),
                must(Key::Operation, PRIORITIES),
                may(Key::Plain, &["L2::evict_unchanged", "L2::evict_first"]),
                must(Key::Type, &["b64"]),
            ],
            since(7, 4, 80),
            |body, site, _| {
                body.expect_operands(site, 3, 3, "an address, the primary size and the total size")?;
                let address = global(body, site)?;
                body.value_operand(site, &site.operands[1], 32)?;
                body.value_operand(site, &site.operands[2], 32)?;
                policy(body, site, Some(address))
            },
        )
        .result(&[("", 64)])
        .operands("p = … [x], primary, total"),
    ],
};

pub(super) static PRIORITY: Family = Family {
    name: "applypriority",
    code: "validate::hint-form",
    help: "write `applypriority.global.L2::evict_normal [x], 128`",
    rule: "",
    others: &[],
    forms: &[form(
        "applypriority",
        &[may(Key::Space, &["global"]), must(Key::Operation, &["L2::evict_normal"])],
        since(7, 4, 80),
        build_priority,
    )
    .operands("[x], 128")],
};

/// A part of the accesses, as a floating-point number: above 0, and at most 1.
fn check_fraction(body: &mut Body<'_>, site: &Site<'_>, operand: &Operand) -> Resolved<()> {
    const ONE: u128 = 0x3f80_0000;
    let fraction = body.value_operand(site, operand, 32)?;
    match constant_value(&fraction) {
        Some(bits) if !(1..=ONE).contains(&bits) => {
            let message = "the fraction of `createpolicy` is above 0 and at most 1";
            let error = Diagnostic::new("validate::hint-form", message, fraction.span, "another number");
            let help = "write the bits of a `.f32`: `0x3f000000` is 0.5, `0x3f800000` is 1";
            Err(body.report(error.with_help(help)))
        }
        _ => Ok(()),
    }
}

/// An address in global memory.
fn global(body: &mut Body<'_>, site: &Site<'_>) -> Resolved<Address> {
    let Operand::Memory(memory) = &site.operands[0] else {
        let span = operand_span(&site.operands[0], site.span);
        return Err(body.wrong_operand(site, span, "an address in brackets, `[x]`,"));
    };
    let (address, _) = body.resolve_run(memory)?;
    body.expect_space(site, &address, Space::Global, "")?;
    Ok(address)
}

fn policy(body: &mut Body<'_>, site: &Site<'_>, address: Option<Address>) -> Resolved<Built> {
    let destination = body.one_result(site, false, 64)?;
    Ok((InstructionKind::Hint { destination, address }, vec![destination]))
}

fn build_event(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "the number of an event, or their mask")?;
    let event = body.value_operand(site, &site.operands[0], 32)?;
    let last = if words.has("mask") { 0xffff } else { 15 };
    if constant_value(&event).is_none_or(|event| event > last) {
        let message = format!("`{}` takes a constant of 0 to {last}", site.opcode.text);
        let error = Diagnostic::new("validate::hint-form", message, event.span, "not one");
        return Err(body.report(error.with_help("events have the numbers 0 to 15, and a bit each in a mask")));
    }
    Ok((InstructionKind::Hint { destination: None, address: None }, Vec::new()))
}

fn build_prefetch(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "an address")?;
    let address = global(body, site)?;
    Ok((InstructionKind::Hint { destination: None, address: Some(address) }, Vec::new()))
}

fn build_map(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "a tensor map")?;
    let Operand::Memory(memory) = &site.operands[0] else {
        let span = operand_span(&site.operands[0], site.span);
        return Err(body.wrong_operand(site, span, "a tensor map in brackets, `[map]`,"));
    };
    let (address, _) = body.resolve_address(memory)?;
    if body.element_of(address.base) != ElementKind::Tensormap {
        let message = format!("`{}` needs a tensor map; `{}` is none", site.opcode.text, memory.name.text);
        let error = Diagnostic::new("validate::not-tensormap", message, address.span, "not a tensor map");
        return Err(body.report(error.with_help("declare it: `param map: tensormap of src[4];`")));
    }
    Ok((InstructionKind::Hint { destination: None, address: Some(address) }, Vec::new()))
}

fn build_priority(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "an address and its size, 128")?;
    let address = global(body, site)?;
    let size = body.value_operand(site, &site.operands[1], 32)?;
    if constant_value(&size) != Some(128) {
        let message = "`applypriority` acts on 128 bytes";
        let error = Diagnostic::new("validate::hint-form", message, size.span, "not 128");
        return Err(body.report(error.with_help("write `128`")));
    }
    Ok((InstructionKind::Hint { destination: None, address: Some(address) }, Vec::new()))
}
