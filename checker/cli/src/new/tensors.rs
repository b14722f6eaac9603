//! Tensor maps in a file that `fencepost new --from` writes: which parameters are maps, and what they might describe.
//!
//! The host encodes a map, so nothing in a module says what it describes but how many bytes are waited for. A box is taken
//! to have rows of 128 bytes, as tiles for matrix operations mostly have, and so many rows that the maps that are loaded make
//! up what an mbarrier expects.

use super::parameters::Slot;
use fencepost_dsl::ptx::module::{Function, Operand, OperandKind};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// The bytes of a tensor map.
pub(super) const MAP_BYTES: u64 = 128;
/// Elements of 16 bits in a row of a box.
const ROW: u64 = 64;
/// Bytes of an element.
const ELEMENT_BYTES: u64 = 2;
/// Boxes that a tensor has in each dimension.
const BOXES: u64 = 4;
/// Rows of a box of which nothing is known.
const ROWS: u64 = 64;
/// Most rows of a box.
const ROWS_MAX: u64 = 256;

/// A tensor map that a kernel is given.
pub(super) struct Map {
    /// Sizes of a box, outermost first.
    pub box_dimensions: Vec<u64>,
    /// Whether what is expected of it was told by the module.
    pub is_told: bool,
}

impl Map {
    /// `64, 64`
    pub(super) fn box_sizes(&self) -> String {
        let sizes: Vec<String> = self.box_dimensions.iter().map(u64::to_string).collect();
        sizes.join(", ")
    }

    /// `[256][256]`
    pub(super) fn tensor_sizes(&self) -> String {
        self.box_dimensions
            .iter()
            .map(|size| format!("[{}]", if *size == 1 { 1 } else { size * BOXES }))
            .collect()
    }
}

/// The tensor maps among what a kernel is given, whose address each register may hold.
pub(super) fn maps(entry: &Function, made_of: &SortedMap<String, SortedSet<Slot>>) -> SortedMap<Slot, Map> {
    let mut ranks: SortedMap<Slot, usize> = SortedMap::new();
    let mut told: SortedMap<Slot, u64> = SortedMap::new();
    // The maps that are loaded between one place that says how many bytes to expect and the next share these.
    let (mut expected, mut sharing) = (None, Vec::new());
    for instruction in entry.instructions() {
        let words: Vec<&str> = instruction.opcode.text.split('.').collect();
        if words.contains(&"expect_tx") {
            share(expected, &mut sharing, &mut told);
            expected = instruction.operands.last().and_then(|operand| number(entry, operand));
        }
        if !words.contains(&"tensor") {
            continue;
        }
        for (map, rank) in instruction.operands.iter().filter_map(boxed) {
            for &slot in made_of.get(map).into_iter().flat_map(SortedSet::iter) {
                ranks.insert(slot, rank);
                if words.contains(&"mbarrier::complete_tx::bytes") {
                    sharing.push(slot);
                }
            }
        }
    }
    share(expected, &mut sharing, &mut told);
    let map = |slot: Slot, rank: usize| {
        let bytes = told.get(&slot);
        let elements = bytes.map_or(ROWS * ROW, |bytes| bytes / ELEMENT_BYTES);
        let rows = (elements / ROW).clamp(1, ROWS_MAX);
        let box_dimensions = match rank {
            1 => vec![elements.clamp(8, ROWS_MAX)],
            _ => [vec![1; rank - 2], vec![rows, ROW]].concat(),
        };
        Map { box_dimensions, is_told: bytes.is_some() }
    };
    ranks.iter().map(|(&slot, &rank)| (slot, map(slot, rank))).collect()
}

/// What maps that were loaded together are told of their boxes; the first time says it.
fn share(expected: Option<u64>, sharing: &mut Vec<Slot>, told: &mut SortedMap<Slot, u64>) {
    let n = sharing.len() as u64;
    for map in sharing.drain(..) {
        if let Some(bytes) = expected {
            told.entry(map).or_insert(bytes / n);
        }
    }
}

/// The register with the address of a map, and the number of coordinates.
fn boxed(operand: &Operand) -> Option<(&String, usize)> {
    let OperandKind::Memory(parts) = &operand.kind else { return None };
    let [map, Operand { kind: OperandKind::Vector(coordinates), .. }] = parts.as_slice() else { return None };
    match &map.kind {
        OperandKind::Name(name) | OperandKind::Sum(name, _) => Some((name, coordinates.len())),
        _ => None,
    }
}

fn number(entry: &Function, operand: &Operand) -> Option<u64> {
    match &operand.kind {
        OperandKind::Integer(value) => u64::try_from(*value).ok(),
        OperandKind::Name(name) => constant(entry, name),
        _ => None,
    }
}

/// What a register is given by a `mov` of a number.
fn constant(entry: &Function, register: &str) -> Option<u64> {
    entry.instructions().find_map(|instruction| match instruction.operands.as_slice() {
        [
            Operand { kind: OperandKind::Name(name), .. },
            Operand { kind: OperandKind::Integer(value), .. },
        ] if name == register && instruction.opcode.text.starts_with("mov.") => u64::try_from(*value).ok(),
        _ => None,
    })
}
