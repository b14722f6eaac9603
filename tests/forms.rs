//! The forms of the table of instructions: that there are operands to try each of them with, and, where `FENCEPOST_PTXAS` names
//! an assembler, that it takes what Fencepost takes and nothing that Fencepost calls wrong.

#![expect(clippy::print_stderr, reason = "says when it has nothing to compare with")]

use fencepost::library;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::isa::Form;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_tests::forms::assembler::Assembler;
use fencepost_tests::forms::operands::of_assembler;
use fencepost_tests::forms::{Agreement, Compared, Ours, architecture, compare, rows, spellings};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// What one side takes and the other does not, by how it begins and a word that it has, and why.
const KNOWN: &[(Agreement, &str, &str, &str)] = &[
    (Agreement::OnlyOurs, "tex", "", "one element without `.v4`: sugar"),
    (Agreement::OnlyOurs, "suld", "", "without `.trap`: sugar"),
    (Agreement::OnlyOurs, "sust", "", "without `.trap`: sugar"),
    (Agreement::OnlyOurs, "sured", "", "without `.trap`: sugar"),
    (Agreement::OnlyAssembler, "atom", "f32", "`.noftz.f32` is in no text"),
    (Agreement::OnlyAssembler, "red", "f32", "`.noftz.f32` is in no text"),
    (Agreement::OnlyAssembler, "red.async", "s64", "`.add.s64` is in no text"),
    (Agreement::OnlyOurs, "atom.cas", "L2::cache_hint", "taken of some types only, and none is written"),
    (
        Agreement::OnlyAssembler,
        "fence.proxy.async::generic",
        "",
        "other scopes and `.acq_rel` are in no text",
    ),
    (
        Agreement::OnlyAssembler,
        "fence.proxy.tensormap::generic",
        "",
        "`.acq_rel` and no operands are in no text",
    ),
    (
        Agreement::OnlyAssembler,
        "st.async",
        "",
        "types of 16 bits in shared memory, and other sems, are in no text",
    ),
    (
        Agreement::OnlyAssembler,
        "ld",
        "v8",
        "vectors of 16-bit types: the assembler dies of them where it optimises",
    ),
    (
        Agreement::OnlyAssembler,
        "st",
        "v8",
        "vectors of 16-bit types: the assembler dies of them where it optimises",
    ),
];

#[test]
fn every_form_is_taken_in_some_spelling() {
    for form in rows() {
        let tried = spellings(form);
        let is_taken = tried.iter().any(|spelling| matches!(spelling.ours, Ours::Taken(_)));
        assert!(is_taken, "no spelling of {form:?} is taken: {:?}", tried.first());
    }
}

#[test]
fn an_assembler_takes_the_same_forms() {
    let Some(assembler) = assembler() else { return };
    let compared: Vec<Compared> =
        rows().into_iter().flat_map(|form| compare(&assembler, spellings(form))).collect();
    let is_known = |one: &Compared| {
        let words: Vec<&str> = one.spelling.text.split('.').collect();
        KNOWN.iter().any(|(agreement, start, word, _)| {
            let has_word = word.is_empty() || words.contains(word);
            one.agreement == *agreement && one.spelling.text.starts_with(start) && has_word
        })
    };
    let disagrees = |one: &&Compared| {
        matches!(one.agreement, Agreement::OnlyOurs | Agreement::OnlyAssembler) && !is_known(one)
    };
    let found: Vec<String> = compared
        .iter()
        .filter(disagrees)
        .map(|one| {
            format!("{:?}: {} {:?} {}", one.agreement, one.spelling.text, one.spelling.ours, one.complaint)
        })
        .collect();
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), compared.len(), found.join("\n"));
    assert!(compared.iter().any(|one| one.agreement == Agreement::Taken));
}

#[test]
fn an_assembler_takes_the_instructions_of_the_examples() {
    let Some(assembler) = assembler() else { return };
    let mut found: BTreeMap<String, &'static Form> = BTreeMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "fence") {
                found.extend(instructions(&path));
            }
        }
    }
    let asked: Vec<(&'static str, Vec<String>)> =
        found.iter().map(|(text, form)| (architecture(form), of_assembler(form, text))).collect();
    let answers = assembler.any(&asked);
    let refused: Vec<String> = found
        .keys()
        .zip(answers)
        .filter_map(|(text, answer)| Some(format!("{text}: {}", answer?.err()?)))
        .collect();
    assert!(found.len() > 50, "{} instructions", found.len());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The assembler that is given, or a word that none is.
fn assembler() -> Option<Assembler> {
    let assembler = Assembler::from_environment();
    if assembler.is_none() {
        eprintln!("FENCEPOST_PTXAS is not set: no assembler to compare with");
    }
    assembler
}

/// The instructions of PTX in a file, in full.
fn instructions(path: &Path) -> Vec<(String, &'static Form)> {
    let mut sources = SourceMap::default();
    let mut read = library::with(|path| std::fs::read_to_string(path).map_err(|error| error.to_string()));
    let program = load(&mut sources, &path.to_string_lossy(), &mut read, &LoadOptions::default());
    let program: Program = program.unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
    let found = RefCell::new(Vec::new());
    for kernel in &program.kernels {
        let is_ptx = kernel.launches.iter().all(|launch| launch.spa.is_none());
        program.any_instruction(kernel, |instruction| {
            if is_ptx && instruction.form.floor.ptx != (0, 0) {
                found.borrow_mut().push((instruction.text.clone(), instruction.form));
            }
            false
        });
    }
    found.into_inner()
}
