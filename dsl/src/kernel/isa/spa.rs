//! Barriers and cache control of SPA 5.0 machines: `MEMBAR` (SPA-1, SPA-2), `CCTL` (SPA-5), `BAR.SYNC` (SPA-3).

use super::words::Words;
use super::{Aligned, Built, Family, Form, Key, Lack, Traits, barrier, form, may, must_or, since};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{InstructionKind, SpaOp};
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::vocabulary::{Invalidation, MembarLevel, Proxy};

/// A form; the machine has no versions.
const fn row(name: &'static str, slots: &'static [super::Slot], build: super::Build) -> Form {
    form(name, slots, since(0, 0, 0), build)
}

pub(super) static MEMBAR: Family = Family {
    name: "MEMBAR",
    code: "validate::membar-level",
    help: LEVEL.help,
    rule: "SPA-2",
    others: &[],
    forms: &[row(
        "MEMBAR",
        &[
            must_or(Key::Scope, &["CTA", "VC", "GL", "SYS"], &LEVEL),
            may(Key::Operation, &["IVALLD", "IVALLT", "IVALLTD"]),
        ],
        build_membar,
    )
    .rule("SPA-2")],
};

const LEVEL: Lack = Lack {
    code: "validate::membar-level",
    what: "a level",
    help: "write `.CTA` inside a CTA, `.VC` between CTAs, `.GL` with other clients of the GPU, \
           `.SYS` with the host or peers",
    rule: "SPA-2",
};

const CACHE_CONTROL: &str = "forms are `CCTL.IV [a]` for a line of the data L1, `CCTL.D.IVALL` for all of it, and \
                             `CCTLT.IVALL` for the texture L1";

pub(super) static DATA_CACHE: Family = Family {
    name: "CCTL",
    code: "validate::cache-control",
    help: CACHE_CONTROL,
    rule: "SPA-5",
    others: &[],
    forms: &[
        row("CCTL.D.IVALL", &[], |body, site, _| invalidate(body, site, true)).rule("SPA-5"),
        row("CCTL.IV", &[], build_line).operands("[a]").rule("SPA-5"),
    ],
};

pub(super) static TEXTURE_CACHE: Family = Family {
    name: "CCTLT",
    code: "validate::cache-control",
    help: CACHE_CONTROL,
    rule: "SPA-5",
    others: &[],
    forms: &[row("CCTLT.IVALL", &[], |body, site, _| invalidate(body, site, false)).rule("SPA-5")],
};

pub(super) static BAR: Family = Family {
    name: "BAR",
    code: "unsupported::instruction",
    help: "write `BAR.SYNC 0;`, with a count of threads if not all of the CTA take part",
    rule: "SPA-3",
    others: &[],
    forms: &[row("BAR.SYNC", &[], barrier::build_sync)
        .operands("id, n")
        .traits(Traits::ACTS.aligned(Aligned::Always("UB-B6")))
        .rule("SPA-3")],
};

fn build_membar(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let level = MembarLevel::from_name(words.of(Key::Scope)).unwrap_or(MembarLevel::System);
    let invalidation = match words.get(Key::Operation) {
        None => Invalidation::default(),
        Some(word) => Invalidation { data: word != "IVALLT", texture: word != "IVALLD" },
    };
    body.plain(site, InstructionKind::Spa(SpaOp::Membar { level, invalidation }))
}

/// All of the data L1, or of the texture L1.
fn invalidate(body: &mut Body<'_>, site: &Site<'_>, data: bool) -> Resolved<Built> {
    let invalidation = Invalidation { data, texture: !data };
    body.plain(site, InstructionKind::Spa(SpaOp::InvalidateAll(invalidation)))
}

fn build_line(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "an address")?;
    let Operand::Memory(memory) = &site.operands[0] else {
        let span = operand_span(&site.operands[0], site.span);
        return Err(body.wrong_operand(site, span, "an address in brackets, `[x]`,"));
    };
    let (address, _) = body.resolve_address(memory)?;
    if body.proxy_of(&address) != Proxy::Generic {
        let message = format!("`{}` is read through the texture L1", memory.name.text);
        let error = Diagnostic::new("validate::cache-control", message, address.span, "not in the data L1");
        let help = "write `CCTLT.IVALL`, which invalidates all of the texture L1";
        return Err(body.report(error.with_help(help).with_rule("SPA-5")));
    }
    Ok((InstructionKind::Spa(SpaOp::InvalidateLine(address)), Vec::new()))
}
