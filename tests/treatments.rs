//! Every example and every litmus test with each optimisation off, one at a time: the verdict of every property stays the
//! same, and so do the answers to conditions and the families of what is found.
//!
//! The repository's own litmus tests are all run; of the examples and the published litmus tests (where `../shared/litmus`
//! is there) one in [`STRIDE`] with each optimisation. `FENCEPOST_TREATMENTS=all` runs them all.
//!
//! The slower encodings are given caps on clauses and on steps. A run that hits one is counted as such, must be rare, and
//! must not be of the default encoding; it is never taken for agreement.

use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_tests::agreement::{judged, shared_folder};
use fencepost_tests::litmus;
use fencepost_tests::run::{codes_of, config, load, model, model_for, outcomes_of, spa_model};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Enough for most kernels in every encoding.
const CLAUSES_MAX: usize = 60_000;

/// Steps of a run with an optimisation off. Of those that take more nearly all stop at the cap on clauses, after most of the
/// suite's time.
const STEPS_MAX: u64 = 60_000_000;

/// Of the examples and the published litmus tests, one in so many runs with a given optimisation off, another with the
/// next.
const STRIDE: usize = 3;

/// What a run came to, but for its witnesses: verdicts, whether the condition holds, families of the findings' codes.
/// One pair may race for several reasons; which of them is named depends on the execution found.
type Judgement = (Vec<(Property, Verdict)>, Option<bool>, BTreeSet<&'static str>);

fn judgement(outcome: &Outcome, model: &MemoryModel) -> Judgement {
    let family = |code: &'static str| code.split("::").next().unwrap_or(code);
    let codes = codes_of(outcome, model).into_iter().map(family);
    let holds = outcome.condition.as_ref().and_then(|condition| condition.holds);
    (outcome.properties.clone(), holds, codes.collect())
}

fn kernels(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the examples are part of the repository");
    for path in entries.map(|entry| entry.expect("readable").path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            // What proves the library says the same as the stories, and takes minutes.
            if name != "lib" {
                kernels(&path, into);
            }
        } else if name.ends_with(".fence") && !name.starts_with('_') {
            into.push(path);
        }
    }
}

/// Whether a cap stopped the run, or kept its bound from being raised.
fn is_capped(outcome: &Outcome) -> bool {
    outcome.limit.is_some() || outcome.raise_limit.is_some()
}

fn judgements(outcomes: &[Outcome], model: &MemoryModel) -> Vec<Judgement> {
    outcomes.iter().map(|outcome| judgement(outcome, model)).collect()
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn every_example_has_the_same_verdicts_with_each_optimisation_off() {
    let mut files = Vec::new();
    kernels(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"), &mut files);
    files.sort();
    assert!(files.len() > 100, "the examples were found");
    let (ptx, spa) = (model(&[]), spa_model(&[]));
    let (is_due, steps_max) = (due(), if runs_all() { u64::MAX } else { STEPS_MAX });
    let (mut n_compared, mut n_capped, mut n_closed) = (0, 0, 0);
    for (number, path) in files.iter().enumerate() {
        let program = load(path);
        let model = model_for(&program, &ptx, &spa);
        let expected = judgements(&outcomes_of(&program, model, &config(Treatment::DEFAULT)), model);
        // Of what is proved before there is a formula, that is so whatever stops the rest.
        let limits = Limits { clauses_max: 1, ..Limits::default() };
        let stopped = Config { limits, budget: steps_max, ..config(Treatment::DEFAULT) };
        for (outcome, (own, ..)) in outcomes_of(&program, model, &stopped).iter().zip(&expected) {
            for told in outcome.properties.iter().filter(|(_, verdict)| *verdict == Verdict::Proved) {
                assert!(own.contains(told), "{}: {told:?} with one clause", path.display());
                n_closed += usize::from(outcome.limit.is_some());
            }
        }
        for (switch, &(name, treatment)) in Treatment::ONE_OFF.iter().enumerate() {
            if !is_due(number, switch) {
                continue;
            }
            let limits = Limits { clauses_max: CLAUSES_MAX, ..Limits::default() };
            let capped = Config { limits, budget: steps_max, ..config(treatment) };
            let found = outcomes_of(&program, model, &capped);
            if found.iter().any(is_capped) {
                n_capped += 1;
                continue;
            }
            n_compared += 1;
            assert_eq!(judgements(&found, model), expected, "{} without {name}", path.display());
        }
    }
    println!(
        "treatments: {n_compared} runs compared, {n_capped} stopped at a cap, {n_closed} closed by bounds"
    );
    assert!(n_closed > 500, "{n_closed} closed by bounds");
    assert!(
        n_compared >= files.len() && n_capped * 10 < n_compared,
        "{n_capped} stopped, {n_compared} compared"
    );
}

/// Whether all is asked for, however long it takes.
fn runs_all() -> bool {
    std::env::var("FENCEPOST_TREATMENTS").is_ok_and(|value| value == "all")
}

/// Whether a file, by its number, is run with an optimisation off, by its number.
fn due() -> impl Fn(usize, usize) -> bool {
    let all = runs_all();
    move |file, switch| all || (file + switch).is_multiple_of(STRIDE)
}

/// Runs every file with each optimisation off that `is_due` says, and counts: compared, stopped at the cap.
fn compare_litmus(
    files: &[PathBuf],
    model: &MemoryModel,
    unroll_max: u32,
    is_due: impl Fn(usize, usize) -> bool,
) -> (usize, usize) {
    let (mut n_compared, mut n_capped) = (0, 0);
    for (number, path) in files.iter().enumerate() {
        let usual = Config { unroll_max, ..judged() };
        // What is not checked is not checked with an optimisation off either.
        let Ok(expected) = litmus::outcome(path, model, &usual) else { continue };
        let expected = judgement(&expected, model);
        for (switch, &(name, treatment)) in Treatment::ONE_OFF.iter().enumerate() {
            if !is_due(number, switch) {
                continue;
            }
            let limits = Limits { clauses_max: CLAUSES_MAX, ..usual.limits };
            let found = litmus::outcome(path, model, &Config { limits, treatment, ..usual.clone() })
                .expect("it was supported before");
            if is_capped(&found) {
                n_capped += 1;
                continue;
            }
            n_compared += 1;
            assert_eq!(judgement(&found, model), expected, "{} with {name}", path.display());
        }
    }
    (n_compared, n_capped)
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn every_litmus_test_of_ours_has_the_same_answers_with_each_optimisation_off() {
    let files = litmus::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus"));
    for name in ["ptx", "ptx-7.5", "ptx-6.0"] {
        let model = litmus::shipped_model(name).expect("the model comes with Fencepost");
        let (n_compared, n_capped) = compare_litmus(&files, &model, judged().unroll_max, |_, _| true);
        println!(
            "treatments: {n_compared} runs of our litmus tests compared under {name}, {n_capped} capped"
        );
        assert!(n_compared >= files.len() && n_capped * 20 < n_compared, "{n_capped} were stopped");
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn published_litmus_tests_have_the_same_answers_with_each_optimisation_off() {
    let Some(folder) = shared_folder() else {
        println!("treatments: there is no ../shared/litmus: nothing to compare");
        return;
    };
    let files = litmus::files(&folder.join("ptx"));
    let model = litmus::shipped_model("ptx").expect("the default model is there");
    // Eight rounds of the larger ones do not fit under the cap in the slower encodings.
    let (n_compared, n_capped) = compare_litmus(&files, &model, 2, due());
    println!("treatments: {n_compared} runs of published litmus tests compared, {n_capped} capped");
    assert!(n_compared >= files.len() && n_capped * 20 < n_compared, "{n_capped} were stopped");
}
