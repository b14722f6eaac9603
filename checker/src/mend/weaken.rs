//! Spellings of an instruction that order less, each one step below what is written.
//!
//! What is no legal spelling is found out by reading it; nothing here knows which instruction takes what.

use fencepost_dsl::kernel::isa::strength::{self, SCOPES};

/// Levels of the older fence.
const LEVELS: [&str; 3] = ["cta", "gl", "sys"];
/// Levels of fences of SPA machines.
const SPA_LEVELS: [&str; 4] = ["CTA", "VC", "GL", "SYS"];

/// One step less: a narrower scope first, then each weaker sem.
pub fn weaker(opcode: &str) -> Vec<String> {
    let words: Vec<&str> = opcode.split('.').collect();
    let with = |at: usize, word: &str| {
        let mut words = words.clone();
        words[at] = word;
        words.join(".")
    };
    let one_below = |known: &[&'static str], at: usize| {
        let level = known.iter().position(|level| *level == words[at])?;
        level.checked_sub(1).map(|below| with(at, known[below]))
    };
    let is_cluster_barrier = opcode.starts_with("barrier.cluster");
    let mut found = Vec::new();
    match words[0] {
        "membar" => found.extend((1..words.len()).filter_map(|at| one_below(&LEVELS, at))),
        "MEMBAR" => found.extend((1..words.len()).filter_map(|at| one_below(&SPA_LEVELS, at))),
        _ if is_cluster_barrier => {}
        _ => found.extend((1..words.len()).filter_map(|at| one_below(&SCOPES, at))),
    }
    if opcode.starts_with("barrier.cluster.arrive") {
        match words.get(3) {
            Some(&"release") => found.push(with(3, "relaxed")),
            Some(&"relaxed") => {}
            _ => found.push(opcode.replacen(".arrive", ".arrive.relaxed", 1)),
        }
        return found;
    }
    if words[0] == "MEMBAR" {
        return found;
    }
    for (at, word) in words.iter().enumerate().skip(1) {
        // A weak access has no scope.
        let below = strength::below(word).filter(|sem| *sem != "weak");
        found.extend(below.map(|sem| with(at, sem)));
        if *word == "relaxed" && matches!(words[0], "ld" | "st") {
            let mut rest: Vec<&str> = words.clone();
            rest[at] = "weak";
            rest.retain(|word| !SCOPES.contains(word));
            found.push(rest.join("."));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::weaker;

    #[test]
    fn each_step_is_the_next_one_down() {
        for (opcode, expected) in [
            ("fence.sc.gpu", &["fence.sc.cluster", "fence.acq_rel.gpu"][..]),
            ("fence.acq_rel.cta", &["fence.release.cta", "fence.acquire.cta"]),
            ("st.release.gpu.global.u32", &["st.release.cluster.global.u32", "st.relaxed.gpu.global.u32"]),
            ("ld.relaxed.cta.u32", &["ld.weak.u32"]),
            ("atom.relaxed.cta.add.u32", &[]),
            ("barrier.cluster.arrive.aligned", &["barrier.cluster.arrive.relaxed.aligned"]),
            ("barrier.cluster.arrive.release.aligned", &["barrier.cluster.arrive.relaxed.aligned"]),
            ("barrier.cluster.wait", &[]),
            ("membar.sys", &["membar.gl"]),
            ("MEMBAR.SYS.IVALLD", &["MEMBAR.GL.IVALLD"]),
            ("bar.sync", &[]),
        ] {
            assert_eq!(weaker(opcode), expected, "{opcode}");
        }
    }
}
