//! An opcode's spelling taken apart: which instruction, which modifiers, where each of them stands.
//!
//! PTX fixes an order for modifiers; the parts are accepted in any order, as `ptxas` does in places.
//! Which parts may stand together is decided by the [rows](super::isa).

use super::ast::Name;
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

/// A type suffix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PtxType {
    /// `b`, `u` or `s`; `f` for floating-point numbers of any format, which to the model are bits.
    pub kind: char,
    /// In bits.
    pub width: u8,
    /// How it is written, of formats that kind and width do not tell.
    format: Option<&'static str>,
}

/// Formats of floating-point numbers, and their width.
const FORMATS: &[(&str, u8)] = &[
    ("f16", 16),
    ("bf16", 16),
    ("f16x2", 32),
    ("bf16x2", 32),
    ("f32", 32),
    ("f64", 64),
    ("e4m3", 8),
    ("e5m2", 8),
    ("e4m3x2", 16),
    ("e5m2x2", 16),
    ("e4m3x4", 32),
    ("e5m2x4", 32),
];

impl PtxType {
    /// The type of this kind and width.
    pub fn new(kind: char, width: u8) -> Self {
        Self { kind, width, format: None }
    }

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
        Some(Self::new(kind, width))
    }

    /// Reads the type of an access, which may be one of floating-point numbers.
    pub fn of_access(text: &str) -> Option<Self> {
        let format = FORMATS.iter().find(|(format, _)| *format == text);
        format
            .map(|&(format, width)| Self { kind: 'f', width, format: Some(format) })
            .or_else(|| Self::parse(text))
    }

    /// Whether it is one of several numbers, or of one that is shorter than 32 bits.
    pub fn is_half(self) -> bool {
        self.format.is_some_and(|format| !matches!(format, "f32" | "f64"))
    }

    /// Whether its numbers have 8 bits.
    pub fn is_quarter(self) -> bool {
        self.format.is_some_and(|format| format.starts_with('e'))
    }
}

impl std::fmt::Display for PtxType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.format {
            Some(format) => f.write_str(format),
            None => write!(f, "{}{}", self.kind, self.width),
        }
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
