//! Long opcodes without the words that say where and how wide, and what they stand for.

use super::Step;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Longer ones are abbreviated.
const CHARS_MAX: usize = 24;

/// Words that do not say what an instruction does to the order of anything.
fn is_dropped(word: &str) -> bool {
    let is_type = |letters: &str| {
        word.strip_prefix(letters)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
    };
    let is_space = ["shared", "global", "local", "const"]
        .iter()
        .any(|space| word == *space || word.strip_prefix(space).is_some_and(|rest| rest.starts_with("::")));
    is_space
        || word == "parity"
        || word == "aligned"
        || word.starts_with("mbarrier::")
        || (word != "b128" && ["b", "u", "s", "f"].iter().any(|letters| is_type(letters)))
}

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

fn short(opcode: &str) -> String {
    // A statement as it is written is no opcode.
    if opcode.chars().count() <= CHARS_MAX || opcode.contains([' ', '(', '[']) {
        return opcode.to_owned();
    }
    let mut words = opcode.split('.');
    let first = words.next().unwrap_or_default();
    let kept: Vec<&str> = [first].into_iter().chain(words.filter(|word| !is_dropped(word))).collect();
    kept.join(".")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn what_orders_stays() {
        assert_eq!(
            short("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64"),
            "mbarrier.try_wait.acquire.cta"
        );
        assert_eq!(
            short("cp.async.bulk.weak.shared::cta.global.mbarrier::complete_tx::bytes"),
            "cp.async.bulk.weak"
        );
        assert_eq!(short("st.release.gpu.u32"), "st.release.gpu.u32");
        assert_eq!(short("ld.relaxed.cluster.shared::cluster.b128"), "ld.relaxed.cluster.b128");
        assert_eq!(short("assert a.b.c == a very long statement"), "assert a.b.c == a very long statement");
    }
}
