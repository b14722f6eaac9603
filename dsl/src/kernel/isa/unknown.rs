//! First words that no row has.

use super::{Family, families};
use crate::diagnostic::Diagnostic;
use crate::kernel::opcode::Opcode;
use crate::kernel::suggest::suggest;

/// First words of PTX's instructions that touch memory, synchronize or are about other threads; what is in no row of them is
/// not checked yet.
const CONCURRENT: &[&str] = &[
    "activemask",
    "applypriority",
    "atom",
    "bar",
    "barrier",
    "clusterlaunchcontrol",
    "cp",
    "createpolicy",
    "discard",
    "elect",
    "fence",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "ld",
    "ldmatrix",
    "ldu",
    "match",
    "mbarrier",
    "membar",
    "mma",
    "movmatrix",
    "multimem",
    "nanosleep",
    "pmevent",
    "prefetch",
    "prefetchu",
    "red",
    "redux",
    "setmaxnreg",
    "shfl",
    "st",
    "stmatrix",
    "suld",
    "sured",
    "sust",
    "tcgen05",
    "tensormap",
    "tex",
    "tld4",
    "vote",
    "wgmma",
    "wmma",
];

/// First words of the rows.
fn checked() -> impl Iterator<Item = &'static str> {
    families().map(Family::mnemonic)
}

/// Those that no row has.
fn unchecked() -> impl Iterator<Item = &'static str> {
    CONCURRENT.iter().copied().filter(|word| checked().all(|checked| checked != *word))
}

/// Instructions of PTX that the language writes as expressions or statements.
const EXPRESSED: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "bra", "brev", "call", "clz", "cnot", "cvt", "cvta", "div", "exit",
    "mad", "max", "min", "mul", "neg", "not", "or", "popc", "rem", "ret", "selp", "set", "setp", "shl",
    "shr", "slct", "sub", "trap", "xor",
];

/// Whether a word begins an instruction of PTX that no row has.
pub fn is_mnemonic(word: &str) -> bool {
    unchecked().any(|unchecked| unchecked == word) || EXPRESSED.contains(&word) || word == "mov"
}

/// The error for an opcode whose first word is not one of the checked instructions.
pub fn unknown(opcode: &Opcode<'_>) -> Diagnostic {
    if opcode.mnemonic == "mapa" {
        let message = "addresses are not values here, so `mapa` is no instruction of its own";
        return Diagnostic::new("validate::address-value", message, opcode.span, "gives an address")
            .with_help("write it where the address is used: `[mapa(x, rank)]`, or `f(mapa(x, rank))`")
            .with_rule("AS-43");
    }
    if unchecked().any(|word| word == opcode.mnemonic) {
        return unsupported(opcode);
    }
    let message = format!("`{}` is not a PTX instruction known here", opcode.text);
    let error = Diagnostic::new("resolve::unknown-instruction", message, opcode.span, "unknown instruction");
    if EXPRESSED.contains(&opcode.mnemonic) {
        return error
            .with_help("write arithmetic and control flow as expressions and statements: `let z = x + y;`");
    }
    match suggest(opcode.mnemonic, checked().chain(unchecked())) {
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
    use super::{CONCURRENT, EXPRESSED, checked, unchecked};

    #[test]
    fn what_is_not_checked_is_in_the_list_and_in_no_row() {
        assert!(CONCURRENT.is_sorted());
        assert!(CONCURRENT.iter().all(|word| !EXPRESSED.contains(word)));
        assert!(unchecked().any(|word| word == "shfl") && unchecked().all(|word| word != "ld"));
        let of_ptx = |word: &str| CONCURRENT.contains(&word) || word == "mov";
        let missing: Vec<&str> = checked().filter(|word| !of_ptx(word)).collect();
        assert!(
            missing.is_empty(),
            "rows have these words, and the list of PTX's instructions does not: {missing:?}"
        );
    }
}
