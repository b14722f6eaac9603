//! An opcode's spelling taken apart: which instruction, which modifiers, where each of them stands.
//!
//! PTX fixes an order for modifiers; the parts are accepted in any order, as `ptxas` does in places.
//! Which parts may stand together is decided in [`legality`](super::legality).

use super::ast::Name;
use super::suggest::suggest;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::Space;

/// One part of an opcode behind its first word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modifier<'a> {
    /// Without the dot.
    pub text: &'a str,
    /// Without the dot.
    pub span: Span,
}

/// An opcode in parts.
#[derive(Clone, Debug)]
pub struct Opcode<'a> {
    /// The first word.
    pub mnemonic: &'a str,
    /// As written.
    pub text: &'a str,
    /// The whole opcode.
    pub span: Span,
    /// The other words.
    pub modifiers: Vec<Modifier<'a>>,
}

impl<'a> Opcode<'a> {
    /// Splits an opcode at its dots.
    pub fn new(name: &'a Name) -> Self {
        let span = name.place.0;
        let mut at = span.start as usize;
        let mut parts = name.text.split('.').map(|text| {
            let part = Modifier { text, span: Span::new(span.file, at, at + text.len()) };
            at += text.len() + 1;
            part
        });
        let mnemonic = parts.next().map_or("", |part| part.text);
        Self { mnemonic, text: &name.text, span, modifiers: parts.collect() }
    }
    /// Whether one of the modifiers is `text`.
    pub fn has(&self, text: &str) -> bool {
        self.modifiers.iter().any(|modifier| modifier.text == text)
    }
}

/// An integer type suffix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PtxType {
    /// `b`, `u` or `s`.
    pub kind: char,
    /// In bits.
    pub width: u8,
}

impl PtxType {
    /// Reads `u32` and the like.
    pub fn parse(text: &str) -> Option<Self> {
        let kind = text.chars().next().filter(|kind| matches!(kind, 'b' | 'u' | 's'))?;
        let width = match &text[1..] {
            "8" => 8,
            "16" => 16,
            "32" => 32,
            "64" => 64,
            "128" if kind == 'b' => 128,
            _ => return None,
        };
        Some(Self { kind, width })
    }

    /// Reads the type of an access, which may be one of floating-point numbers: to the model they are bits.
    pub fn of_access(text: &str) -> Option<Self> {
        match text {
            "f32" => Some(Self { kind: 'f', width: 32 }),
            "f64" => Some(Self { kind: 'f', width: 64 }),
            _ => Self::parse(text),
        }
    }
}

impl std::fmt::Display for PtxType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.kind, self.width)
    }
}

/// Which shared memory a shared address may be in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// `.shared::cta`, which plain `.shared` is: the own CTA's.
    Cta,
    /// `.shared::cluster`: that of any CTA of the cluster, the own included.
    Cluster,
}

/// Reads a state space modifier.
pub fn parse_space(text: &str) -> Option<(Space, Option<Window>)> {
    match text {
        "global" => Some((Space::Global, None)),
        "shared" | "shared::cta" => Some((Space::Shared, Some(Window::Cta))),
        "shared::cluster" => Some((Space::Shared, Some(Window::Cluster))),
        _ => None,
    }
}

/// Instructions that are checked.
const CHECKED: &[&str] = &[
    "ld",
    "st",
    "atom",
    "red",
    "fence",
    "membar",
    "bar",
    "barrier",
    "clusterlaunchcontrol",
    "cp",
    "elect",
    "getctarank",
    "griddepcontrol",
    "mbarrier",
    "multimem",
    "setmaxnreg",
    "tcgen05",
    "wgmma",
    "suld",
    "sured",
    "sust",
    "tensormap",
    "tex",
];

/// Instructions of PTX that touch memory or synchronize and are not checked yet.
const UNCHECKED: &[&str] = &[
    "activemask",
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
    match suggest(opcode.mnemonic, CHECKED.iter().chain(UNCHECKED).copied()) {
        Some(word) => error.with_help(format!("did you mean `{word}`?")),
        None => error.with_help(format!("checked are `{}`", CHECKED.join("`, `"))),
    }
}

/// The error for an instruction of PTX that is not checked yet.
pub fn unsupported(opcode: &Opcode<'_>) -> Diagnostic {
    let message = format!("`{}` is not checked by this version", opcode.text);
    Diagnostic::new("unsupported::instruction", message, opcode.span, "known to PTX, not checked here")
}
