//! Every example with each optimisation off, one at a time: the verdict of every property stays the same.
//!
//! The slower encodings are given a cap on clauses. A run that hits it is counted as such, must be rare, and must not be
//! of the default encoding; it is never taken for agreement.

use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_tests::run::{config, load, model, outcomes_of};
use std::path::{Path, PathBuf};

/// Enough for most kernels in every encoding.
const CLAUSES_MAX: usize = 60_000;

fn kernels(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the examples are part of the repository");
    for path in entries.map(|entry| entry.expect("readable").path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            kernels(&path, into);
        } else if name.ends_with(".fence") && !name.starts_with('_') {
            into.push(path);
        }
    }
}

fn verdicts(outcomes: &[Outcome]) -> Vec<Vec<(Property, Verdict)>> {
    outcomes.iter().map(|outcome| outcome.properties.clone()).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn every_example_has_the_same_verdicts_with_each_optimisation_off() {
    let mut files = Vec::new();
    kernels(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"), &mut files);
    files.sort();
    assert!(files.len() > 100, "the examples were found");
    let model = model(&[]);
    let (mut n_compared, mut n_capped) = (0, 0);
    for path in &files {
        let program = load(path);
        let expected = verdicts(&outcomes_of(&program, &model, &config(Treatment::DEFAULT)));
        for &(name, treatment) in Treatment::ONE_OFF {
            let limits = Limits { clauses_max: CLAUSES_MAX, ..Limits::default() };
            let found = outcomes_of(&program, &model, &Config { limits, ..config(treatment) });
            if found.iter().any(|outcome| outcome.limit.is_some()) {
                n_capped += 1;
                continue;
            }
            n_compared += 1;
            assert_eq!(verdicts(&found), expected, "{} without {name}", path.display());
        }
    }
    println!("treatments: {n_compared} runs compared, {n_capped} stopped at {CLAUSES_MAX} clauses");
    assert!(n_capped * 20 < n_compared, "{n_capped} runs were stopped, {n_compared} compared");
}
