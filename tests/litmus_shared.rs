//! The field's own litmus tests against the expectations that come with them, where both are there: a folder beside
//! this repository, `../shared/litmus`, with `ptx/**.litmus` and `expected.csv`.
//!
//! The models of the two editions must agree with it but for the disagreements listed here, each with its reason;
//! differences of the default model, which reads the text in its own way, are printed.

#![expect(clippy::print_stdout, reason = "the tables of agreement are for people to read")]

use fencepost_tests::litmus::{Answers, answers, files, shipped_model};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Model, file, property, and why we stay with our answer.
const DISAGREEMENTS: &[(&str, &str, &str, &str)] = &[];

struct Row<'t> {
    file: &'t str,
    property: &'t str,
    expected: &'t str,
}

fn rows<'t>(table: &'t str, model: &str) -> Vec<Row<'t>> {
    table
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(',');
            let (file, of, property, expected) =
                (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
            let is_decided = property == "condition" || property == "race";
            (of == model && is_decided).then_some(Row { file, property, expected })
        })
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/litmus")
}

/// Runs every file, prints what differs from the rows of `edition`, and gives the differences.
fn compare(model_name: &str, edition: &str) -> Option<BTreeSet<(String, String)>> {
    let root = folder();
    if !root.exists() {
        println!("there is no shared litmus folder: nothing to compare");
        return None;
    }
    let Some(model) = shipped_model(model_name) else {
        println!("there is no model {model_name}: nothing to compare");
        return None;
    };
    let table = std::fs::read_to_string(root.join("expected.csv")).expect("the expectations can be read");
    let mut found: BTreeMap<String, Result<Answers, &'static str>> = BTreeMap::new();
    for path in files(&root.join("ptx")) {
        let name = path.strip_prefix(root.join("ptx")).expect("it is inside").to_string_lossy().into_owned();
        found.insert(name, answers(&path, &model));
    }
    let mut differences = BTreeSet::new();
    let (mut n_agree, mut n_unsupported) = (0, 0);
    for row in rows(&table, edition) {
        match found.get(row.file) {
            Some(Ok(answers)) if answers.of(row.property) == row.expected => n_agree += 1,
            Some(Ok(answers)) => {
                let ours = answers.of(row.property);
                println!("  {}, {}: expected {}, found {ours}", row.file, row.property, row.expected);
                differences.insert((row.file.to_owned(), row.property.to_owned()));
            }
            Some(Err(_)) => n_unsupported += 1,
            None => panic!("{} is expected and not there", row.file),
        }
    }
    for answers in found.values().flatten() {
        assert_ne!(answers.of("condition"), "open", "a condition is left open");
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for code in found.values().filter_map(|answers| answers.err()) {
        *reasons.entry(code).or_default() += 1;
    }
    for (code, n) in reasons {
        println!("  {n} files: {code}");
    }
    println!(
        "litmus: {} files, {n_agree} rows agree, {n_unsupported} unsupported, {} disagree ({model_name} against {edition})",
        found.len(),
        differences.len()
    );
    assert!(n_agree > 0, "nothing was compared");
    Some(differences)
}

fn agrees(model: &str) {
    let Some(differences) = compare(model, model) else { return };
    let known: BTreeSet<(String, String)> = DISAGREEMENTS
        .iter()
        .filter(|(of, ..)| *of == model)
        .map(|&(_, file, property, _)| (file.to_owned(), property.to_owned()))
        .collect();
    assert_eq!(differences, known, "the list of known disagreements is not what was found");
}

#[test]
fn the_default_model_next_to_edition_7_5() {
    compare("ptx", "ptx-7.5");
}

#[test]
fn edition_7_5_agrees() {
    agrees("ptx-7.5");
}

#[test]
fn edition_6_0_agrees() {
    agrees("ptx-6.0");
}
