//! Words of SPA 5.0 machines in files for PTX, and the other way round.

use crate::diagnostic::Diagnostic;
use crate::kernel::opcode::Opcode;
use crate::kernel::suggest::suggest;

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

/// A word that the table does not have, of PTX for one.
pub fn unknown(opcode: &Opcode<'_>) -> Diagnostic {
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
