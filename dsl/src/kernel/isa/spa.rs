//! The instructions of SPA 5.0 machines: accesses (SPA-4), `MEMBAR` (SPA-1, SPA-2), `CCTL` (SPA-5), `BAR.SYNC` (SPA-3).
//!
//! Words are in capitals, as in the document that describes `MEMBAR`. Scoreboard annotations (SPA-6) have no meaning for
//! memory and no spelling here. Cannot: operands of 128 bits, shared and local memory, other barriers than `BAR.SYNC`.

use super::access::{Access, OPERATIONS, Rmw};
use super::words::Words;
use super::{
    Aligned, Built, Family, Form, Key, Lack, Need, Refusal, Slot, Traits, barrier, form, may, must_or,
    refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::opcode::PtxType;
use crate::kernel::program::{AtomicOp, InstructionKind, SpaOp, Width};
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Reported, Resolved};
use crate::vocabulary::{Invalidation, MembarLevel, Proxy, Scope, Sem};

/// A form; the machine has no versions.
const fn row(name: &'static str, slots: &'static [Slot], build: super::Build) -> Form {
    form(name, slots, since(0, 0, 0), build)
}

/// The families of this file.
pub(super) static FAMILIES: &[&Family] =
    &[&ATOM, &BAR, &DATA_CACHE, &LOAD, &MEMBAR, &REDUCTION, &STORE, &TEXTURE, &TEXTURE_CACHE];

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

const WIDTH: Slot = may(Key::Type, &["U8", "S8", "U16", "S16", "32", "U32", "64", "U64", ""]);
const TOO_WIDE: Slot = Slot {
    key: Key::Plain,
    words: &["128"],
    need: Need::Unsupported(Some(
        "write two accesses of 64 bits, which is all that the hardware promises to do at once",
    )),
};

const fn access_family(name: &'static str, forms: &'static [Form]) -> Family {
    let help = "for example `LD.CV [x]`, `ST [x] v`, `ATOM.ADD [x] v`";
    Family { name, code: "validate::missing-operation", help, rule: "SPA-4", others: &[], forms }
}

pub(super) static LOAD: Family = access_family(
    "LD",
    &[row("LD", &[may(Key::Sem, &["CV"]), WIDTH, TOO_WIDE], |body, site, words| {
        let sem = if words.has("CV") { Sem::Volatile } else { Sem::Weak };
        body.load(site, words, &access(words, sem, Proxy::Generic))
    })
    .operands("r = … [x]")
    .traits(ON_HOST)
    .rule("SPA-4")],
);
pub(super) static TEXTURE: Family = access_family(
    "TLD",
    &[row("TLD", &[WIDTH, TOO_WIDE], |body, site, words| {
        body.load(site, words, &access(words, Sem::Weak, Proxy::Texture))
    })
    .operands("r = … [t]")
    .traits(Traits::QUIET)
    .rule("SPA-4")],
);
pub(super) static STORE: Family = access_family(
    "ST",
    &[row("ST", &[WIDTH, TOO_WIDE], |body, site, words| {
        body.store(site, words, &access(words, Sem::Weak, Proxy::Generic))
    })
    .operands("[x], v")
    .traits(Traits { host: true, ..Traits::PLAIN })
    .rule("SPA-4")],
);
const OPERATION: Slot = must_or(
    Key::Operation,
    &["ADD", "INC", "DEC", "MIN", "MAX", "AND", "OR", "XOR", "EXCH", "CAS"],
    &NO_OPERATION,
);
const NO_OPERATION: Lack = Lack {
    code: "validate::missing-operation",
    what: "an operation",
    help: "write `ATOM.ADD` or `RED.ADD`, for one",
    rule: "SPA-4",
};
const ATOMIC_WIDTH: Slot = may(Key::Type, &["32", "U32", "64", "U64", "S32", "S64", ""]);
const ON_HOST: Traits = Traits { host: true, ..Traits::QUIET };

pub(super) static ATOM: Family = access_family(
    "ATOM",
    &[row("ATOM", &[OPERATION, ATOMIC_WIDTH], |body, site, words| {
        let rmw = operation(words).ok_or(Reported)?;
        body.atomic(site, words, &atomic(words, rmw.op), rmw)
    })
    .operands("r = … [x], v")
    .traits(ON_HOST)
    .rule("SPA-4")],
);
pub(super) static REDUCTION: Family = access_family(
    "RED",
    &[row(
        "RED",
        &[
            must_or(Key::Operation, &["ADD", "INC", "DEC", "MIN", "MAX", "AND", "OR", "XOR"], &NO_OPERATION),
            ATOMIC_WIDTH,
            refused(
                &["EXCH", "CAS"],
                &Refusal {
                    code: "validate::illegal-operation",
                    message: "`RED` gives no result, so it cannot exchange: {}",
                    label: "needs a result",
                    help: "write `ATOM`",
                    rule: "",
                },
            ),
        ],
        |body, site, words| {
            let rmw = operation(words).ok_or(Reported)?;
            body.reduction(site, words, &atomic(words, rmw.op), rmw)
        },
    )
    .operands("[x], v")
    .traits(Traits { host: true, ..Traits::PLAIN })
    .rule("SPA-4")],
);

/// Bits of an operand, and whether they have a sign.
fn ty(words: &Words<'_>) -> Option<PtxType> {
    let word = words.get(Key::Type)?;
    let width = match word.trim_start_matches(['U', 'S']) {
        "8" => 8,
        "16" => 16,
        "64" => 64,
        _ => 32,
    };
    let is_signed = word.starts_with('S') && width >= 32;
    Some(PtxType::new(if is_signed { 's' } else { 'u' }, width))
}

/// How the full spelling says a width.
pub(super) fn width_word(ty: Option<PtxType>, width: Width) -> &'static str {
    match (ty.map_or('u', |ty| ty.kind), width) {
        ('s', 64) => "S64",
        ('s', _) => "S32",
        (_, 8) => "U8",
        (_, 16) => "U16",
        (_, 64) => "64",
        _ => "",
    }
}

fn access(words: &Words<'_>, sem: Sem, proxy: Proxy) -> Access {
    let ty = ty(words).unwrap_or(PtxType::new('u', 32));
    let opcode = words.opcode();
    let span = opcode.modifiers.last().map_or(opcode.span, |modifier| modifier.span);
    Access {
        sem,
        scope: Scope::Sys,
        space: None,
        window: None,
        ty: Some((ty, span)),
        elements: 1,
        vector_span: opcode.span,
        proxy,
    }
}

/// An atomic is of bits where it has no type of its own.
fn atomic(words: &Words<'_>, op: AtomicOp) -> Access {
    use AtomicOp::{And, CompareAndSwap, Exchange, Or, Xor};
    let mut access = access(words, Sem::Relaxed, Proxy::Generic);
    if let (And | Or | Xor | Exchange | CompareAndSwap, Some((ty, _))) = (op, &mut access.ty) {
        ty.kind = 'b';
    }
    access
}

fn operation(words: &Words<'_>) -> Option<Rmw> {
    let name = words.get(Key::Operation)?.to_lowercase();
    let &(name, op) = OPERATIONS.iter().find(|(known, _)| *known == name)?;
    Some(Rmw { op, name, span: words.span(Key::Operation) })
}

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
