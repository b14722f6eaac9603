//! A PTX module as written, with nested scopes flattened: what they declare has the number of its scope behind its name.
//!
//! No opcode is looked at here: an instruction is a word and operands.

use crate::span::{FileId, Span};

/// A name where it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// The name; behind `@` the number of the nested scope that declares it.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its text.
    pub file: FileId,
    /// PTX ISA version.
    pub version: (u16, u16),
    /// `.target`: its words, the architecture first.
    pub target: Vec<Name>,
    /// Names of source files by the numbers that `.loc` has for them.
    pub files: Vec<(u32, String)>,
    /// Variables of the module.
    pub variables: Vec<Variable>,
    /// Kernels and functions, those without body among them.
    pub functions: Vec<Function>,
    /// What `.loc` says, by place in the text.
    pub locations: Vec<Location>,
}

/// What a `.loc` says: from there on, instructions come from this line.
#[derive(Clone, Debug)]
pub struct Location {
    /// Where it is.
    pub offset: u32,
    /// The place itself, innermost first, and where what it is in was inlined (places, up to the outermost).
    pub chain: Vec<Line>,
}

/// A line of a source file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// Number of the file.
    pub file: u32,
    /// One-based; 0 where the compiler does not know.
    pub line: u32,
    /// One-based; 0 where it is not known.
    pub column: u32,
}

/// A variable or a parameter.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name.
    pub name: Name,
    /// State space, without its dot.
    pub space: String,
    /// Whether it is declared elsewhere, or for dynamic shared memory.
    pub is_extern: bool,
    /// Bytes to a multiple of which it is aligned.
    pub align: u64,
    /// Type of its elements.
    pub ty: Type,
    /// Size of all elements; 0 for an array of no size.
    pub bytes: u64,
    /// Whether it is an array.
    pub is_array: bool,
    /// Initial values, nested lists flattened; empty without any.
    pub initial: Vec<Operand>,
}

/// A fundamental type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type {
    /// `b`, `u`, `s`, `f`, `p` for predicates, `t` for textures, samplers and surfaces.
    pub kind: char,
    /// In bits; 1 for a predicate.
    pub width: u8,
}

impl Type {
    /// Reads a type without its dot.
    pub fn parse(word: &str) -> Option<Self> {
        let (kind, width) = match word {
            "pred" => ('p', 1),
            "texref" | "samplerref" | "surfref" => ('t', 64),
            "b8" => ('b', 8),
            "b16" => ('b', 16),
            "b32" => ('b', 32),
            "b64" => ('b', 64),
            "b128" => ('b', 128),
            "u8" => ('u', 8),
            "u16" => ('u', 16),
            "u32" => ('u', 32),
            "u64" => ('u', 64),
            "s8" => ('s', 8),
            "s16" => ('s', 16),
            "s32" => ('s', 32),
            "s64" => ('s', 64),
            "f16" | "bf16" => ('f', 16),
            "f32" | "f16x2" | "bf16x2" | "tf32" => ('f', 32),
            "f64" | "f32x2" => ('f', 64),
            _ => return None,
        };
        Some(Self { kind, width })
    }
}

/// Registers that are declared together.
#[derive(Clone, Debug)]
pub struct Registers {
    /// The name, or what the names of several begin with.
    pub name: Name,
    /// How many there are, numbered from 0; `None` for one whose name is as written.
    pub count: Option<u32>,
    /// Their type.
    pub ty: Type,
    /// The nested scope that declares them, which is behind their names in the body; 0 is the body itself.
    pub scope: u32,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: Name,
    /// `.entry` rather than `.func`.
    pub is_entry: bool,
    /// Whether there is a body.
    pub has_body: bool,
    /// In order.
    pub parameters: Vec<Variable>,
    /// What a function gives back.
    pub results: Vec<Variable>,
    /// What is said of it between its head and its body: `.reqntid 32` and so on.
    pub directives: Vec<(Name, Vec<u64>)>,
    /// Registers of all scopes.
    pub registers: Vec<Registers>,
    /// Variables of all scopes.
    pub variables: Vec<Variable>,
    /// Labels and instructions, in order.
    pub body: Vec<Item>,
    /// Its end: the last brace, or the end of its head.
    pub end: Span,
}

/// What stands in a body.
#[derive(Clone, Debug)]
pub enum Item {
    /// `name:`
    Label(Name),
    /// An instruction.
    Instruction(Instruction),
    /// `name: .branchtargets a, b;` and the like: a directive whose label is an operand elsewhere.
    Targets {
        /// The label.
        label: Name,
        /// `branchtargets`, `calltargets`, `callprototype`.
        directive: Name,
        /// Its names.
        names: Vec<Name>,
    },
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// From guard to last operand.
    pub span: Span,
    /// `@p` or `@!p`: the register, and whether it must be false.
    pub guard: Option<(Name, bool)>,
    /// The opcode with its modifiers.
    pub opcode: Name,
    /// Its operands, in order, results first.
    pub operands: Vec<Operand>,
    /// The calls in whose place the function stands that it is of, outermost first.
    pub calls: Vec<Span>,
}

/// An operand.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Where.
    pub span: Span,
    /// What it is.
    pub kind: OperandKind,
}

/// What an operand is.
#[derive(Clone, PartialEq, Debug)]
pub enum OperandKind {
    /// A register, variable, label, function, special register, or `_`.
    Name(String),
    /// A number, with its sign.
    Integer(i128),
    /// The bits of a floating-point number, and how many they are.
    Float(u64, u8),
    /// A name and an offset: `a+4`.
    Sum(String, i128),
    /// `[a]`, `[map, {x, y}]`.
    Memory(Vec<Operand>),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `(a, b)`, of calls.
    Group(Vec<Operand>),
    /// `a|b`: two results.
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`
    Not(Box<Operand>),
}

impl Item {
    /// Changes each name in it, of its label, its guard and its operands.
    pub fn each_name_mut(&mut self, change: &mut impl FnMut(&mut String)) {
        match self {
            Self::Label(name) => change(&mut name.text),
            Self::Targets { label, names, .. } => {
                change(&mut label.text);
                names.iter_mut().for_each(|name| change(&mut name.text));
            }
            Self::Instruction(instruction) => {
                if let Some((guard, _)) = &mut instruction.guard {
                    change(&mut guard.text);
                }
                instruction.operands.iter_mut().for_each(|operand| operand.each_name_mut(change));
            }
        }
    }
}

impl Instruction {
    /// The first word of its opcode.
    pub fn mnemonic(&self) -> &str {
        self.opcode.text.split('.').next().unwrap_or_default()
    }
}

impl Function {
    /// Its instructions, in order.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.body.iter().filter_map(|item| match item {
            Item::Instruction(instruction) => Some(instruction),
            Item::Label(_) | Item::Targets { .. } => None,
        })
    }
}

impl Operand {
    /// Each name in it: of registers, variables, labels, functions.
    pub fn each_name<'o>(&'o self, found: &mut impl FnMut(&'o str)) {
        match &self.kind {
            OperandKind::Name(name) | OperandKind::Sum(name, _) => found(name),
            OperandKind::Memory(parts) | OperandKind::Vector(parts) | OperandKind::Group(parts) => {
                parts.iter().for_each(|part| part.each_name(found));
            }
            OperandKind::Pair(first, second) => {
                first.each_name(found);
                second.each_name(found);
            }
            OperandKind::Not(inner) => inner.each_name(found),
            OperandKind::Integer(_) | OperandKind::Float(..) => {}
        }
    }

    /// Changes each name in it.
    pub fn each_name_mut(&mut self, change: &mut impl FnMut(&mut String)) {
        match &mut self.kind {
            OperandKind::Name(name) | OperandKind::Sum(name, _) => change(name),
            OperandKind::Memory(parts) | OperandKind::Vector(parts) | OperandKind::Group(parts) => {
                parts.iter_mut().for_each(|part| part.each_name_mut(change));
            }
            OperandKind::Pair(first, second) => {
                first.each_name_mut(change);
                second.each_name_mut(change);
            }
            OperandKind::Not(inner) => inner.each_name_mut(change),
            OperandKind::Integer(_) | OperandKind::Float(..) => {}
        }
    }

    /// Of a name in brackets, the name and how far behind it.
    pub fn place(&self) -> Option<(&str, i128)> {
        let OperandKind::Memory(parts) = &self.kind else { return None };
        match parts.as_slice() {
            [Self { kind: OperandKind::Name(name), .. }] => Some((name, 0)),
            [Self { kind: OperandKind::Sum(name, offset), .. }] => Some((name, *offset)),
            _ => None,
        }
    }
}

impl PartialEq for Operand {
    /// Equal up to places.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Module {
    /// The kernel of this name; of a mangled name, what it calls itself is enough if only one does.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        let entries = || self.functions.iter().filter(|function| function.is_entry && function.has_body);
        if let Some(exact) = entries().find(|entry| entry.name.text == name) {
            return Some(exact);
        }
        let mut alike = entries().filter(|entry| demangled(&entry.name.text) == Some(name));
        alike.next().filter(|_| alike.next().is_none())
    }

    /// What the `.loc` before a place says, if its function has one before it.
    pub fn location(&self, offset: u32) -> Option<&Location> {
        let after = self.locations.partition_point(|location| location.offset <= offset);
        self.locations[..after].last()
    }

    /// The name of a source file.
    pub fn file_name(&self, file: u32) -> Option<&str> {
        self.files.iter().find(|(number, _)| *number == file).map(|(_, name)| name.as_str())
    }
}

/// The labels of a body, those of lists of targets among them.
pub fn labels_of(body: &[Item]) -> impl Iterator<Item = &Name> {
    body.iter().filter_map(|item| match item {
        Item::Label(label) | Item::Targets { label, .. } => Some(label),
        Item::Instruction(_) => None,
    })
}

/// The last name in a mangled one: `_Z9spin_lockPjS_` and `_ZN3lib9spin_lockEPj` are of `spin_lock`, and
/// `_ZZ9spin_lockPjE4tile` is of a `tile` that is declared in a function.
pub fn demangled(name: &str) -> Option<&str> {
    if let Some(local) = name.strip_prefix("_ZZ") {
        return local.match_indices('E').rev().find_map(|(at, _)| {
            let part = &local[at + 1..];
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let length: usize = part[..digits].parse().ok().filter(|&length| length > 0)?;
            let end = digits.checked_add(length)?;
            let behind = part.get(end..)?;
            (behind.is_empty() || behind.starts_with('_')).then(|| part.get(digits..end)).flatten()
        });
    }
    let mut rest = name.strip_prefix("_Z")?;
    let is_nested = rest.starts_with('N');
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut last = None;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Some(length) = rest[..digits].parse().ok().filter(|&length: &usize| length > 0) else {
            return last;
        };
        let part = rest.get(digits..digits.checked_add(length)?)?;
        last = Some(part);
        rest = &rest[digits + length..];
        if !is_nested {
            return last;
        }
    }
}
