//! Opcodes without the words that say where and how wide, for places where there is no room for all.

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

/// An opcode without those words, if it is long.
pub(super) fn short(opcode: &str) -> String {
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
