//! What `fencepost explain bar.sync` says: the forms of an instruction, its rules, and where the book tells of it.

use crate::report::case::{Style, wrap};
use crate::{codes, rules};
use fencepost_dsl::kernel::isa;
use std::fmt::Write as _;

/// What an instruction does, by how its name begins, and the section of the book's page on the kernel language; the longest
/// beginning counts.
const SUBJECTS: &[(&str, &str, &str)] = &[
    ("ld", "a load; weak where it names no sem", "Loads and stores"),
    ("st", "a store; weak where it names no sem", "Loads and stores"),
    (
        "atom",
        "an atomic that gives the old value; relaxed at scope `.gpu` where it names none",
        "Atomics and reductions",
    ),
    (
        "red",
        "an atomic without a result; relaxed at scope `.gpu` where it names none",
        "Atomics and reductions",
    ),
    ("multimem", "an access of all instances of a symmetric object", "multimem"),
    ("tex", "a read through the texture proxy", "Textures and surfaces"),
    ("suld", "a load through the surface proxy", "Textures and surfaces"),
    ("sust", "a store through the surface proxy", "Textures and surfaces"),
    ("sured", "a reduction through the surface proxy", "Textures and surfaces"),
    ("fence", "a fence: half of a synchronization, which needs a signal beside it", "Fences"),
    ("fence.proxy", "a proxy fence: between accesses of one location by different ways", "Fences"),
    ("fence.mbarrier_init", "makes initialised mbarriers known to the cluster", "Fences"),
    ("membar", "a fence by its old name: `membar.gl` is `fence.sc.gpu`", "Fences"),
    ("bar", "a barrier of a CTA, all lanes of a warp together", "Execution barriers"),
    ("bar.warp.sync", "the barrier of a warp, for the lanes of a mask", "Execution barriers"),
    ("barrier", "a barrier of a CTA; without `.aligned` its threads may come apart", "Execution barriers"),
    ("barrier.cluster", "the barrier of a cluster, in two halves", "Cluster barriers"),
    ("elect", "chooses one lane of a mask", "Execution barriers"),
    ("mbarrier", "an operation on an mbarrier, which counts arrivals and bytes of a phase", "mbarriers"),
    (
        "cp",
        "an asynchronous copy: nobody knows that it is done who has not waited",
        "Asynchronous operations",
    ),
    ("st.async", "a store to a peer CTA that completes at an mbarrier", "Asynchronous operations"),
    ("red.async", "a reduction in a peer CTA that completes at an mbarrier", "Asynchronous operations"),
    ("wgmma", "matrix units: products that read shared memory asynchronously", "Matrix operations"),
    ("tcgen05", "matrix units with tensor memory", "Matrix operations"),
    ("tensormap", "changes a tensor map", "Tensor maps"),
    ("griddepcontrol", "between grids of programmatic dependent launch", "Programmatic dependent launch"),
];

/// The page of what is called `name`, if instructions are.
pub fn page(name: &str) -> Option<String> {
    const FORMS_MAX: usize = 24;
    let name = name.to_lowercase();
    let forms = isa::forms_of(name.trim_end_matches(';'));
    let first = forms.first()?;
    let goes_on = |start: &str| {
        let of = if first.name.len() < name.len() { first.name } else { &name };
        of.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let subject = SUBJECTS.iter().filter(|(start, ..)| goes_on(start)).max_by_key(|(start, ..)| start.len());
    let what = subject.map_or("an instruction of PTX", |(_, what, _)| *what);
    let mut text = lines(&format!("{name}: {what}"), "");
    text.push('\n');
    for form in forms.iter().take(FORMS_MAX) {
        let operands =
            if form.operands.is_empty() { String::new() } else { format!("    {}", form.operands) };
        text += &lines(&format!("{}{operands}    since {}", form.words(), form.since()), "  ");
    }
    if forms.len() > FORMS_MAX {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  and {} more", forms.len() - FORMS_MAX);
    }
    let mut ids: Vec<&str> = forms.iter().map(|form| form.rule).filter(|rule| !rule.is_empty()).collect();
    ids.sort_unstable();
    ids.dedup();
    text.push('\n');
    for rule in ids.iter().filter_map(|id| rules::find(id)) {
        text += &lines(&format!("{}: {}", rule.id, rule.sentence), "");
    }
    let quoted = format!("`{}", first.name);
    let told: Vec<&str> =
        codes::all().filter(|code| code.text().contains(&quoted)).map(|code| code.name).collect();
    if !told.is_empty() {
        text += &lines(&format!("Findings whose page names it: {}", told.join(", ")), "");
    }
    let section = subject.map_or("Instructions", |(.., section)| *section);
    text += &lines(
        &format!(
            "In the book: \"The kernel language\", section \"{section}\"; all forms are in \"Instructions\""
        ),
        "",
    );
    Some(text)
}

fn lines(text: &str, indent: &str) -> String {
    wrap(text, Style::PLAIN.width - indent.len()).iter().map(|line| format!("{indent}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{SUBJECTS, page};
    use fencepost_dsl::kernel::isa::forms_of;

    #[test]
    fn each_subject_is_about_instructions_and_a_section_of_the_book() {
        let book = include_str!("../../book/src/reference/language.md");
        for (start, _, section) in SUBJECTS {
            assert!(!forms_of(start).is_empty(), "{start}");
            let heading =
                |line: &str| line.trim_start_matches('#').trim() == *section && line.starts_with('#');
            assert!(book.lines().any(heading), "{section}");
        }
    }

    #[test]
    fn an_instruction_is_found_with_its_words_and_in_any_case() {
        for name in [
            "bar.sync",
            "BAR.SYNC",
            "ld",
            "st.release.gpu.u32",
            "fence.proxy.async",
            "mbarrier",
            "cp.async.bulk",
        ] {
            let page = page(name).unwrap_or_default();
            assert!(page.contains("In the book") && page.contains("since"), "{name}: {page}");
        }
        assert_eq!(page("nothing"), None);
    }
}
