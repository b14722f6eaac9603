//! What a kernel is given, as its instructions use it: parameters, and the fields of those that are structures.

use super::tensors::{MAP_BYTES, Map};
use fencepost_dsl::ptx::module::{Function, Instruction, Operand, OperandKind, Type};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// What stands for all local memory among the names of registers.
const LOCAL: &str = "%local";

/// A parameter, or a field of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    /// Of the parameter.
    pub number: usize,
    /// Where the field starts, in bytes; `None` for a parameter that is no structure.
    pub offset: Option<u64>,
}

/// What a slot is for.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    /// Whether memory is accessed at it.
    pub is_address: bool,
    /// The widest element that all accesses have in common, in bits.
    pub width: u8,
    /// Whether some access is atomic or strong: it holds what threads agree on.
    pub is_word: bool,
    /// How wide it is itself.
    pub bits: u8,
}

/// What all parameters of a kernel are for.
pub(super) struct Parameters<'e> {
    entry: &'e Function,
    /// Those of whose fields something is known.
    structures: SortedSet<usize>,
    /// What the value of a register, or of a variable by which something is passed to a function, is computed from.
    made_of: SortedMap<String, SortedSet<Slot>>,
    /// Registers that hold the address of a parameter, and how far behind its start.
    places: SortedMap<String, (usize, u64)>,
    uses: SortedMap<Slot, Use>,
}

impl<'e> Parameters<'e> {
    pub(super) fn of(entry: &'e Function) -> Self {
        let mut this = Self {
            entry,
            structures: SortedSet::new(),
            made_of: SortedMap::new(),
            places: SortedMap::new(),
            uses: SortedMap::new(),
        };
        for (number, parameter) in entry.parameters.iter().enumerate() {
            let is_loaded = || {
                entry.instructions().filter(|own| own.opcode.text.starts_with("ld.param")).any(|own| {
                    own.operands
                        .last()
                        .and_then(Operand::place)
                        .is_some_and(|(name, _)| name == parameter.name.text)
                })
            };
            if parameter.is_array && (parameter.bytes != MAP_BYTES || is_loaded()) {
                this.structures.insert(number);
            }
        }
        // Twice, since what a loop computes comes round.
        for _ in 0..2 {
            entry.instructions().for_each(|instruction| this.note_value(instruction));
        }
        entry.instructions().for_each(|instruction| this.note_access(instruction));
        this
    }

    /// What registers are computed from.
    pub(super) fn made_of(&self) -> &SortedMap<String, SortedSet<Slot>> {
        &self.made_of
    }

    /// What a slot is for.
    pub(super) fn used(&self, slot: Slot) -> Use {
        self.uses.get(&slot).copied().unwrap_or_default()
    }

    /// All parameters, those that are structures by the fields that are read or hold tensor maps.
    pub(super) fn slots(&self, maps: &SortedMap<Slot, Map>) -> Vec<Slot> {
        let mut slots = Vec::new();
        for number in 0..self.entry.parameters.len() {
            let of_number = |slot: &&Slot| slot.number == number && slot.offset.is_some();
            let read = self.uses.keys().filter(of_number).copied();
            let fields: SortedSet<Slot> = read.chain(maps.keys().filter(of_number).copied()).collect();
            if fields.iter().next().is_none() {
                slots.push(Slot { number, offset: None });
            }
            slots.extend(fields.iter().copied());
        }
        slots
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.entry.parameters.iter().position(|parameter| parameter.name.text == name)
    }

    /// The slot of a parameter at a place.
    fn slot(&self, number: usize, offset: u64) -> Slot {
        Slot { number, offset: self.structures.contains(&number).then_some(offset) }
    }

    /// Where in a parameter an operand is, by its name or by a register that holds an address.
    fn place_of(&self, (name, offset): (&str, i128)) -> Option<(usize, u64)> {
        let (number, start) = match self.number(name) {
            Some(number) => (number, 0),
            None => *self.places.get(name)?,
        };
        Some((number, u64::try_from(i128::from(start) + offset).ok()?))
    }

    fn note_value(&mut self, instruction: &Instruction) {
        let words: Vec<&str> = instruction.opcode.text.split('.').collect();
        let is_parameter = words.iter().any(|word| word.split(':').next() == Some("param"));
        let [first, rest @ ..] = instruction.operands.as_slice() else { return };
        // What is put into local memory, such as a structure of which an element is chosen at run time, comes out of it again.
        if words.contains(&"local") && words.last().is_some_and(|ty| matches!(*ty, "b64" | "u64" | "s64")) {
            let from = if words[0] == "ld" { &[][..] } else { rest };
            let mut names = Vec::new();
            from.iter().for_each(|operand| operand.each_name(&mut |name| names.push(name)));
            let mut sources: SortedSet<Slot> = SortedSet::new();
            for name in names {
                sources.extend(self.made_of.get(name).into_iter().flat_map(SortedSet::iter).copied());
            }
            let kept = self.made_of.entry(LOCAL.to_owned()).or_default();
            kept.extend(sources.iter().copied());
            if words[0] == "ld" {
                let kept = kept.clone();
                let mut results = Vec::new();
                first.each_name(&mut |name| results.push(name.to_owned()));
                for result in results {
                    self.made_of.entry(result).or_default().extend(kept.iter().copied());
                }
            }
            return;
        }
        if words[0] == "ld" && is_parameter {
            let Some(source) = rest.first().and_then(Operand::place) else { return };
            let bits = words.iter().rev().find_map(|word| Type::parse(word)).map_or(32, |ty| ty.width);
            let results = match &first.kind {
                OperandKind::Vector(parts) => parts.as_slice(),
                _ => std::slice::from_ref(first),
            };
            let own = self.place_of(source);
            for (index, result) in results.iter().enumerate() {
                let OperandKind::Name(result) = &result.kind else { continue };
                match own {
                    Some((number, offset)) => {
                        let slot = self.slot(number, offset + index as u64 * u64::from(bits / 8));
                        self.uses.entry(slot).or_default().bits = bits;
                        self.made_of.entry(result.clone()).or_default().insert(slot);
                    }
                    // What was passed to a function.
                    None => {
                        let passed = self.made_of.get(source.0).cloned().unwrap_or_default();
                        self.made_of.entry(result.clone()).or_default().extend(passed.iter().copied());
                        if let Some(&address) = self.places.get(source.0) {
                            self.places.insert(result.clone(), address);
                        }
                    }
                }
            }
            return;
        }
        let result = match (&first.kind, words[0] == "st" && is_parameter) {
            (OperandKind::Name(name), false) => name.clone(),
            (_, true) => match first.place() {
                Some((name, _)) => name.to_owned(),
                None => return,
            },
            _ => return,
        };
        let is_computed = matches!(
            words[0],
            "add" | "sub" | "mad" | "mov" | "cvta" | "selp" | "cvt" | "shl" | "mul" | "st"
        );
        if !is_computed {
            return;
        }
        let mut names = Vec::new();
        rest.iter().for_each(|operand| operand.each_name(&mut |name| names.push(name)));
        let behind: i128 = match (words[0], rest) {
            ("add", [_, Operand { kind: OperandKind::Integer(value), .. }]) => *value,
            _ => 0,
        };
        let mut sources = SortedSet::new();
        for name in names {
            let sum = rest.iter().find_map(|operand| match &operand.kind {
                OperandKind::Sum(own, offset) if own == name => Some(*offset),
                _ => None,
            });
            if let Some((number, offset)) = self.place_of((name, sum.unwrap_or(0) + behind)) {
                self.places.insert(result.clone(), (number, offset));
                sources.insert(self.slot(number, offset));
            } else {
                sources.extend(self.made_of.get(name).into_iter().flat_map(SortedSet::iter).copied());
            }
        }
        self.made_of.entry(result).or_default().extend(sources.iter().copied());
    }

    fn note_access(&mut self, instruction: &Instruction) {
        let words: Vec<&str> = instruction.opcode.text.split('.').collect();
        if words.iter().any(|word| word.split(':').next() == Some("param")) {
            return;
        }
        let ty = words.iter().rev().find_map(|word| Type::parse(word)).map_or(32, |ty| ty.width);
        let is_word = matches!(words[0], "atom" | "red")
            || words.iter().any(|word| matches!(*word, "relaxed" | "acquire" | "release" | "volatile"));
        for operand in &instruction.operands {
            let OperandKind::Memory(_) = operand.kind else { continue };
            let mut names = Vec::new();
            operand.each_name(&mut |name| names.push(name));
            for slot in names.iter().filter_map(|name| self.made_of.get(*name)).flat_map(SortedSet::iter) {
                let Some(of) = self.uses.get_mut(slot) else { continue };
                of.is_address = true;
                of.is_word |= is_word;
                let width = ty.clamp(8, 64);
                of.width = if of.width == 0 { width } else { of.width.min(width) };
            }
        }
    }
}

/// Whether a kernel executes an instruction that begins so.
pub(super) fn has(entry: &Function, opcode: &str) -> bool {
    entry.instructions().any(|instruction| instruction.opcode.text.starts_with(opcode))
}
