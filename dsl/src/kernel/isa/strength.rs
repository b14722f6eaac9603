//! Which words of a slot order more than which others, and which opcodes come of a stronger word.
//!
//! What stands in which slot is said by the rows; nothing here knows which instruction takes what.

use super::{Form, Key, Need, form_of};

/// Scopes, the narrowest first.
pub const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// Each sem, and one right above it.
const SEMS: &[(&str, &str)] = &[
    ("weak", "relaxed"),
    ("relaxed", "release"),
    ("relaxed", "acquire"),
    ("release", "acq_rel"),
    ("acquire", "acq_rel"),
    ("acq_rel", "sc"),
];

/// What is relaxed, and of system scope, without saying so (MM-12, MM-13).
const OF_SYSTEM: &[&str] = &["volatile", "mmio"];

/// Words that take away from what an instruction does.
const TAKES_AWAY: &[&str] = &["read"];

/// Instructions whose name says their scope, and that of the next wider one.
const LEVELS: &[(&str, &str)] = &[("membar.cta", "membar.gl"), ("membar.gl", "membar.sys")];

/// Whether a word says of what order an instruction is.
pub fn is_sem(word: &str) -> bool {
    word == OF_SYSTEM[0] || SEMS.iter().any(|(below, above)| *below == word || *above == word)
}

/// The sems right below one.
pub fn below(sem: &str) -> impl Iterator<Item = &'static str> {
    SEMS.iter().filter(move |(_, above)| *above == sem).map(|(below, _)| *below)
}

/// Whether the first sem orders more than the second.
pub fn is_stronger(sem: &str, than: &str) -> bool {
    below(sem).any(|below| below == than || is_stronger(below, than))
}

/// The weakest sem that orders what both do.
pub fn both<'w>(one: &'w str, other: &'w str) -> &'w str {
    let holds = |sem: &str, of: &str| sem == of || is_stronger(sem, of);
    let above = SEMS.iter().map(|(_, above)| *above).find(|sem| holds(sem, one) && holds(sem, other));
    if holds(one, other) {
        one
    } else if holds(other, one) {
        other
    } else {
        above.unwrap_or(one)
    }
}

/// How strong a sem is; 0 for none, and for a weak access.
pub fn height(sem: &str) -> u32 {
    if OF_SYSTEM.contains(&sem) {
        return 1;
    }
    below(sem).map(|below| height(below) + 1).max().unwrap_or(0)
}

/// The opcodes that come of one stronger word, of a word that takes away left out, or of a wider level, the weakest first. What
/// makes a weak access strong is none of them: that is no more order but another thing.
pub fn stronger(opcode: &str) -> Vec<String> {
    let Some(form) = form_of(opcode) else { return Vec::new() };
    let words: Vec<&str> = opcode.split('.').collect();
    let n_name = form.spelled.split('.').count();
    let mut found: Vec<String> = Vec::new();
    let levels = std::iter::successors(Some(form.spelled), |name| {
        LEVELS.iter().find(|(below, _)| below == name).map(|(_, above)| *above)
    });
    found.extend(levels.skip(1).map(str::to_owned));
    for (at, &word) in words.iter().enumerate().skip(n_name) {
        let with = |other: &str| {
            let mut changed = words.clone();
            changed[at] = other;
            changed.retain(|word| !word.is_empty());
            changed.join(".")
        };
        let Some((key, others)) = slot_of(form, word) else { continue };
        match key {
            Key::Scope => {
                let level = |word: &str| SCOPES.iter().position(|scope| *scope == word);
                let wider = SCOPES.iter().filter(|scope| others.contains(scope));
                found.extend(wider.filter(|scope| level(scope) > level(word)).map(|scope| with(scope)));
            }
            Key::Sem if OF_SYSTEM.contains(&word) => {
                let order = others.iter().filter(|other| is_stronger(other, "relaxed"));
                found.extend(order.map(|other| with(&format!("{other}.sys"))));
            }
            Key::Sem if word != "weak" => {
                let mut above: Vec<&str> =
                    others.iter().copied().filter(|other| is_stronger(other, word)).collect();
                above.sort_by_key(|sem| height(sem));
                found.extend(above.into_iter().map(with));
            }
            Key::Plain if TAKES_AWAY.contains(&word) => found.push(with("")),
            _ => {}
        }
    }
    found
}

/// The slot of a row that has a word, and what else may stand there.
fn slot_of(form: &Form, word: &str) -> Option<(Key, &'static [&'static str])> {
    let legal =
        form.slots.iter().filter(|slot| matches!(slot.need, Need::Must(_) | Need::May | Need::Default(_)));
    let slot = legal.into_iter().find(|slot| slot.words.contains(&word))?;
    Some((slot.key, slot.words))
}

/// The statements that order something, or complete it, by what their rows say.
pub fn inserted() -> impl Iterator<Item = (&'static Form, &'static str)> {
    super::families()
        .flat_map(|family| family.forms)
        .flat_map(|form| form.inserted.iter().map(move |&statement| (form, statement)))
}

#[cfg(test)]
mod tests {
    use super::{both, height, inserted, is_stronger, stronger};
    use crate::kernel::isa::form_of;

    #[test]
    fn sems_are_a_lattice() {
        assert!(is_stronger("sc", "weak") && !is_stronger("release", "acquire"));
        assert_eq!(both("acquire", "release"), "acq_rel");
        assert_eq!((both("relaxed", "release"), both("sc", "acquire")), ("release", "sc"));
        assert!(["weak", "relaxed", "release", "acq_rel", "sc"].is_sorted_by_key(|sem| height(sem)));
    }

    #[test]
    fn stronger_words_are_those_of_the_slot() {
        for (opcode, expected) in [
            ("st.relaxed.gpu.global.u32", &["st.release.gpu.global.u32", "st.relaxed.sys.global.u32"][..]),
            ("ld.acquire.cta.u32", &["ld.acquire.cluster.u32", "ld.acquire.gpu.u32", "ld.acquire.sys.u32"]),
            ("ld.volatile.global.u32", &["ld.acquire.sys.global.u32"]),
            ("st.global.u32", &[]),
            (
                "atom.cas.relaxed.sys.b32",
                &["atom.cas.acquire.sys.b32", "atom.cas.release.sys.b32", "atom.cas.acq_rel.sys.b32"],
            ),
            ("fence.acq_rel.sys", &["fence.sc.sys"]),
            ("barrier.cluster.arrive.relaxed.aligned", &["barrier.cluster.arrive.release.aligned"]),
            ("cp.async.bulk.wait_group.read", &["cp.async.bulk.wait_group"]),
            ("membar.cta", &["membar.gl", "membar.sys"]),
            ("bar.sync", &[]),
            ("add.s32", &[]),
        ] {
            assert_eq!(stronger(opcode), expected, "{opcode}");
        }
    }

    #[test]
    fn what_is_put_in_is_of_its_row() {
        for (form, statement) in inserted() {
            let last = statement.trim_end_matches(';').rsplit("; ").next().unwrap_or_default();
            let opcode = last.split(' ').next().unwrap_or_default();
            assert_eq!(form_of(opcode).map(|form| form.name), Some(form.name), "{statement}");
        }
    }
}
