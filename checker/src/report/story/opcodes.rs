//! Long opcodes without the words that say where and how wide, and what they stand for.

use super::super::short::short;
use super::told::Step;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Abbreviates what is long, where what remains is still one instruction's; tells what for what.
pub(super) fn abbreviate(steps: &mut [Step]) -> Vec<(String, String)> {
    let all: SortedSet<&str> = steps.iter().map(|step| step.opcode.as_str()).collect();
    let mut full_of: SortedMap<String, Vec<&str>> = SortedMap::new();
    for opcode in &all {
        full_of.entry(short(opcode)).or_default().push(opcode);
    }
    let pairs: SortedMap<String, String> = full_of
        .iter()
        .filter_map(|(short, full)| match full.as_slice() {
            [only] if short != only && !all.contains(short.as_str()) => {
                Some(((*only).to_owned(), short.clone()))
            }
            _ => None,
        })
        .collect();
    for step in steps.iter_mut() {
        if let Some(short) = pairs.get(&step.opcode) {
            step.short.clone_from(short);
        }
    }
    pairs.into_iter().map(|(full, short)| (short, full)).collect()
}
