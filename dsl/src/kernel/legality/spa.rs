//! The instructions of SPA 5.0 machines (SPA-1 … SPA-6): another table, read where `//! target spa_50` says so.
//!
//! Words are in capitals, as in the document that describes `MEMBAR`. Scoreboard annotations (SPA-6) have no meaning for
//! memory and no spelling here. Cannot: operands of 128 bits, shared and local memory, other barriers than `BAR.SYNC`.

use super::access::OPERATIONS;
use super::{
    Access, AtomicOp, Diagnostic, Modifier, Opcode, Operation, PtxType, Rmw, Scope, Sem, set_once,
    unknown_modifier,
};
use crate::kernel::suggest::suggest;
use crate::vocabulary::Proxy;

/// First words of the instructions of the table.
const KNOWN: &[&str] = &["LD", "ST", "TLD", "ATOM", "RED", "MEMBAR", "CCTL", "CCTLT", "BAR"];

/// What of PTX comes nearest to an instruction of the table, and the other way round.
const COUNTERPARTS: &[(&str, &str)] = &[
    ("MEMBAR.CTA", "fence.acq_rel.cta"),
    ("MEMBAR.VC", "fence.acq_rel.gpu"),
    ("MEMBAR.GL", "fence.acq_rel.gpu"),
    ("MEMBAR.SYS", "fence.acq_rel.sys"),
    ("MEMBAR", "fence.acq_rel.gpu"),
    ("LD.CV", "ld.volatile"),
    ("LD", "ld"),
    ("ST", "st"),
    ("TLD", "tex.1d.u32"),
    ("ATOM", "atom.relaxed.gpu"),
    ("RED", "red.relaxed.gpu"),
    ("BAR", "bar.sync"),
];

/// What of the table comes nearest to an instruction of PTX, by what it begins with.
const FROM_PTX: &[(&str, &str)] = &[
    ("membar.cta", "MEMBAR.CTA"),
    ("membar.gl", "MEMBAR.GL"),
    ("membar.sys", "MEMBAR.SYS"),
    ("fence.acq_rel.cta", "MEMBAR.CTA"),
    ("fence.acq_rel.gpu", "MEMBAR.GL"),
    ("fence.acq_rel.sys", "MEMBAR.SYS"),
    ("fence.sc.cta", "MEMBAR.CTA"),
    ("fence.sc.gpu", "MEMBAR.GL"),
    ("fence.sc.sys", "MEMBAR.SYS"),
    ("fence", "MEMBAR.GL"),
    ("membar", "MEMBAR.GL"),
    ("ld.volatile", "LD.CV"),
    ("ld.relaxed", "LD.CV"),
    ("ld.acquire", "LD.CV` and a `MEMBAR` after it, `MEMBAR.GL"),
    ("st.release", "MEMBAR.GL` and then `ST"),
    ("ld", "LD"),
    ("st", "ST"),
    ("tex", "TLD"),
    ("atom", "ATOM.ADD"),
    ("red", "RED.ADD"),
    ("bar.sync", "BAR.SYNC"),
    ("bar", "BAR.SYNC"),
];

/// Whether a first word is one of the table.
pub fn is_known(mnemonic: &str) -> bool {
    KNOWN.contains(&mnemonic)
}

/// The error for an instruction of the table in a file for PTX.
pub fn foreign(opcode: &Opcode<'_>) -> Diagnostic {
    let message = format!("`{}` is an instruction of SPA 5.0, and this file is PTX", opcode.text);
    let counterpart = COUNTERPARTS.iter().find(|(own, _)| begins(opcode.text, own)).map(|&(_, ptx)| ptx);
    let help = match counterpart {
        Some(ptx) => format!("in PTX, `{ptx}` comes nearest; for the machine code, write `//! target spa_50` at the top"),
        None => "PTX has nothing like it: L1 caches are not seen there; for the machine code, write `//! target spa_50` at the top"
            .to_owned(),
    };
    Diagnostic::new("validate::spa-instruction", message, opcode.span, "not PTX")
        .with_help(help)
        .with_rule("SPA-1")
}

/// Whether `text` is `start`, or goes on with a modifier.
fn begins(text: &str, start: &str) -> bool {
    text.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Checks an opcode against the table.
pub fn check(opcode: &Opcode<'_>) -> Result<Operation, Diagnostic> {
    match opcode.mnemonic {
        "LD" | "ST" | "TLD" => check_access(opcode),
        "ATOM" | "RED" => check_atomic(opcode),
        _ => Err(unknown(opcode)),
    }
}

/// A word that the table does not have, of PTX for one.
fn unknown(opcode: &Opcode<'_>) -> Diagnostic {
    let capitals = opcode.text.to_uppercase();
    if let Some(&(_, own)) = FROM_PTX.iter().find(|(ptx, _)| begins(opcode.text, ptx)) {
        let message = format!("`{}` is PTX, and this file is for SPA 5.0", opcode.text);
        return Diagnostic::new("validate::spa-instruction", message, opcode.span, "not of this machine")
            .with_help(format!("write `{own}`, or another target than `spa_50`"))
            .with_rule("SPA-1");
    }
    let message = format!("`{}` is not an instruction of SPA 5.0 that is known here", opcode.text);
    let error = Diagnostic::new("validate::spa-instruction", message, opcode.span, "unknown instruction");
    let error = error.with_rule("SPA-1");
    let first = capitals.split('.').next().unwrap_or_default();
    match suggest(first, KNOWN.iter().copied()) {
        Some(word) => error.with_help(format!("did you mean `{word}`?")),
        None => error.with_help(format!("there are `{}`", KNOWN.join("`, `"))),
    }
}

/// Bits of an operand.
fn width(text: &str) -> Option<u8> {
    match text {
        "U8" | "S8" => Some(8),
        "U16" | "S16" => Some(16),
        "32" | "U32" => Some(32),
        "64" | "U64" => Some(64),
        _ => None,
    }
}

fn access(opcode: &Opcode<'_>, sem: Sem, proxy: Proxy, ty: PtxType) -> Access {
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

fn too_wide(opcode: &Opcode<'_>, modifier: Modifier<'_>) -> Diagnostic {
    let message = format!("`.128` on `{}` is not checked by this version", opcode.mnemonic);
    Diagnostic::new("unsupported::modifier", message, modifier.span, "four words at once")
        .with_help("write two accesses of 64 bits, which is all that the hardware promises to do at once")
}

fn check_access(opcode: &Opcode<'_>) -> Result<Operation, Diagnostic> {
    let (mut bits, mut volatile) = (None, None);
    for &modifier in &opcode.modifiers {
        if let Some(width) = width(modifier.text) {
            set_once(&mut bits, width, modifier)?;
        } else if modifier.text == "CV" && opcode.mnemonic == "LD" {
            set_once(&mut volatile, (), modifier)?;
        } else if modifier.text == "128" {
            return Err(too_wide(opcode, modifier));
        } else {
            let known = ["U8", "U16", "32", "64", "CV"];
            let known = if opcode.mnemonic == "LD" { &known[..] } else { &known[..4] };
            return Err(unknown_modifier(opcode, modifier, known).with_rule("SPA-4"));
        }
    }
    let ty = PtxType { kind: 'u', width: bits.map_or(32, |(width, _)| width) };
    let sem = if volatile.is_some() { Sem::Volatile } else { Sem::Weak };
    let proxy = if opcode.mnemonic == "TLD" { Proxy::Texture } else { Proxy::Generic };
    let access = access(opcode, sem, proxy, ty);
    Ok(if opcode.mnemonic == "ST" { Operation::Store(access) } else { Operation::Load(access) })
}

fn check_atomic(opcode: &Opcode<'_>) -> Result<Operation, Diagnostic> {
    let (mut op, mut bits, mut signed) = (None, None, false);
    for &modifier in &opcode.modifiers {
        let found = OPERATIONS.iter().find(|(name, _)| name.to_uppercase() == modifier.text);
        if let Some(&(name, found)) = found {
            set_once(&mut op, Rmw { op: found, name, span: modifier.span }, modifier)?;
        } else if matches!(modifier.text, "S32" | "S64") {
            signed = true;
            set_once(&mut bits, if modifier.text == "S32" { 32 } else { 64 }, modifier)?;
        } else if let Some(width @ (32 | 64)) = width(modifier.text) {
            set_once(&mut bits, width, modifier)?;
        } else {
            let known: Vec<String> = OPERATIONS.iter().map(|(name, _)| name.to_uppercase()).collect();
            let known: Vec<&str> =
                known.iter().map(String::as_str).chain(["32", "64", "S32", "S64"]).collect();
            return Err(unknown_modifier(opcode, modifier, &known));
        }
    }
    let Some((rmw, _)) = op else {
        let message = format!("`{}` needs an operation", opcode.text);
        let error = Diagnostic::new("validate::missing-operation", message, opcode.span, "which one?");
        return Err(error.with_help(format!("write `{}.ADD`, for one", opcode.mnemonic)));
    };
    if opcode.mnemonic == "RED" && matches!(rmw.op, AtomicOp::Exchange | AtomicOp::CompareAndSwap) {
        let message = "`RED` gives no result, so it cannot exchange";
        let error = Diagnostic::new("validate::illegal-operation", message, rmw.span, "needs a result");
        return Err(error.with_help(format!("write `ATOM.{}`", rmw.name.to_uppercase())));
    }
    let kind = match rmw.op {
        AtomicOp::And | AtomicOp::Or | AtomicOp::Xor | AtomicOp::Exchange | AtomicOp::CompareAndSwap => 'b',
        _ if signed => 's',
        _ => 'u',
    };
    let ty = PtxType { kind, width: bits.map_or(32, |(width, _)| width) };
    let access = access(opcode, Sem::Relaxed, Proxy::Generic, ty);
    Ok(if opcode.mnemonic == "RED" {
        Operation::Reduction(access, rmw)
    } else {
        Operation::Atomic(access, rmw)
    })
}
