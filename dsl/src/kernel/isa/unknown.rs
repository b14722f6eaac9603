//! First words that no row has.

use super::{Family, families};
use crate::diagnostic::Diagnostic;
use crate::kernel::opcode::Opcode;
use crate::kernel::suggest::suggest;

/// First words of the rows.
fn checked() -> impl Iterator<Item = &'static str> {
    families().map(Family::mnemonic)
}

/// First words of the instructions of PTX ISA 9.5. Those that no row has and that are not written as expressions are not
/// checked.
const MNEMONICS: &[&str] = &[
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "bra",
    "brev",
    "brkpt",
    "brx",
    "call",
    "clmad",
    "clusterlaunchcontrol",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "cp",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "exit",
    "fabric",
    "fence",
    "fma",
    "fns",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "istypep",
    "ld",
    "ldmatrix",
    "ldu",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "match",
    "max",
    "mbarrier",
    "membar",
    "min",
    "mma",
    "mov",
    "movmatrix",
    "mul",
    "mul24",
    "multimem",
    "nanosleep",
    "neg",
    "not",
    "or",
    "pmevent",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "rcp",
    "red",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setmaxnreg",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "st",
    "stackrestore",
    "stacksave",
    "stmatrix",
    "sub",
    "subc",
    "suld",
    "suq",
    "sured",
    "sust",
    "szext",
    "tanh",
    "tcgen05",
    "tensormap",
    "testp",
    "tex",
    "tld4",
    "trap",
    "txq",
    "vote",
    "wgmma",
    "wmma",
    "xor",
];

/// How modifiers begin that PTX ISA 9.5 has on instructions with these first words. Where a row has one, the row says what
/// comes of it; the others are not checked.
const MODIFIERS: &[(&str, &[&str])] = &[
    ("cp", &["multicast::cluster::32b", "sync_restrict::proxy::async"]),
    ("fence", &["alias", "sync_restrict::read"]),
    ("mbarrier", &["layout", "multicast", "phase_type", "report_mechanism"]),
    ("tcgen05", &["exclusive", "multicast::cluster::32b", "sync_restrict"]),
    ("tensormap", &["alloc_class", "query"]),
];

/// Whether PTX has this modifier on some instruction that begins like that.
pub fn has_modifier(mnemonic: &str, modifier: &str) -> bool {
    let of = MODIFIERS.iter().find(|(first, _)| *first == mnemonic);
    of.is_some_and(|(_, known)| known.iter().any(|word| modifier.starts_with(word)))
}

/// Whether an instruction is one of PTX that no row has and no expression stands for.
fn is_unchecked(word: &str) -> bool {
    MNEMONICS.contains(&word) && !EXPRESSED.contains(&word) && !checked().any(|row| row == word)
}

/// Instructions of PTX that the language writes as expressions or statements.
const EXPRESSED: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "bra", "brev", "call", "clz", "cnot", "cvt", "cvta", "div", "exit",
    "mad", "max", "min", "mul", "neg", "not", "or", "popc", "rem", "ret", "selp", "set", "setp", "shl",
    "shr", "slct", "sub", "trap", "xor",
];

/// Whether a word begins an instruction of PTX that no row has.
pub fn is_mnemonic(word: &str) -> bool {
    is_unchecked(word) || EXPRESSED.contains(&word)
}

/// The error for an opcode whose first word is not one of the checked instructions.
pub fn unknown(opcode: &Opcode<'_>) -> Diagnostic {
    if opcode.mnemonic == "mapa" {
        let message = "addresses are not values here, so `mapa` is no instruction of its own";
        return Diagnostic::new("validate::address-value", message, opcode.span, "gives an address")
            .with_help("write it where the address is used: `[mapa(x, rank)]`, or `f(mapa(x, rank))`")
            .with_rule("AS-43");
    }
    if is_unchecked(opcode.mnemonic) {
        return unsupported(opcode);
    }
    let message = format!("`{}` is not a PTX instruction known here", opcode.text);
    let error = Diagnostic::new("resolve::unknown-instruction", message, opcode.span, "unknown instruction");
    if EXPRESSED.contains(&opcode.mnemonic) {
        return error
            .with_help("write arithmetic and control flow as expressions and statements: `let z = x + y;`");
    }
    match suggest(
        opcode.mnemonic,
        checked().chain(MNEMONICS.iter().copied().filter(|word| is_unchecked(word))),
    ) {
        Some(word) => error.with_help(format!("did you mean `{word}`?")),
        None => {
            let mut checked: Vec<&str> = checked().collect();
            checked.sort_unstable();
            checked.dedup();
            error.with_help(format!("checked are `{}`", checked.join("`, `")))
        }
    }
}

/// The error for an instruction of PTX that is not checked yet.
fn unsupported(opcode: &Opcode<'_>) -> Diagnostic {
    let message = format!("`{}` is not checked by this version", opcode.text);
    Diagnostic::new("unsupported::instruction", message, opcode.span, "known to PTX, not checked here")
}

#[cfg(test)]
mod tests {
    use super::{MNEMONICS, checked, is_unchecked};

    #[test]
    fn what_is_not_checked_is_in_the_list_and_in_no_row() {
        assert!(MNEMONICS.is_sorted());
        assert!(is_unchecked("wmma") && !is_unchecked("ld") && !is_unchecked("xor"));
        let missing: Vec<&str> = checked().filter(|word| !MNEMONICS.contains(word)).collect();
        assert!(
            missing.is_empty(),
            "rows have these words, and the list of PTX's instructions does not: {missing:?}"
        );
    }
}
