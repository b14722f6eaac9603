//! First words that no row has.

use super::FAMILIES;
use crate::diagnostic::Diagnostic;
use crate::kernel::opcode::Opcode;
use crate::kernel::suggest::suggest;

/// First words of the rows.
fn checked() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name.split('.').next().unwrap_or(family.name))
}

/// Instructions of PTX that touch memory or synchronize and are not checked yet.
const UNCHECKED: &[&str] = &[
    "discard",
    "isspacep",
    "ldmatrix",
    "ldu",
    "match",
    "mma",
    "movmatrix",
    "redux",
    "shfl",
    "stmatrix",
    "tld4",
    "vote",
    "wmma",
];

/// Instructions of PTX that the language writes as expressions or statements.
const EXPRESSED: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "bra", "brev", "call", "clz", "cnot", "cvt", "cvta", "div", "exit",
    "mad", "max", "min", "mul", "neg", "not", "or", "popc", "rem", "ret", "selp", "set", "setp", "shl",
    "shr", "slct", "sub", "trap", "xor",
];

/// Whether a word begins an instruction of PTX that no row has.
pub fn is_mnemonic(word: &str) -> bool {
    UNCHECKED.contains(&word) || EXPRESSED.contains(&word) || word == "mov"
}

/// The error for an opcode whose first word is not one of the checked instructions.
pub fn unknown(opcode: &Opcode<'_>) -> Diagnostic {
    if opcode.mnemonic == "mapa" {
        let message = "addresses are not values here, so `mapa` is no instruction of its own";
        return Diagnostic::new("validate::address-value", message, opcode.span, "gives an address")
            .with_help("write it where the address is used: `[mapa(x, rank)]`, or `f(mapa(x, rank))`")
            .with_rule("AS-43");
    }
    if UNCHECKED.contains(&opcode.mnemonic) {
        return unsupported(opcode);
    }
    let message = format!("`{}` is not a PTX instruction known here", opcode.text);
    let error = Diagnostic::new("resolve::unknown-instruction", message, opcode.span, "unknown instruction");
    if EXPRESSED.contains(&opcode.mnemonic) {
        return error
            .with_help("write arithmetic and control flow as expressions and statements: `let z = x + y;`");
    }
    match suggest(opcode.mnemonic, checked().chain(UNCHECKED.iter().copied())) {
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
