//! Loops taken for waits, against the same loops unwound round by round: what is proved of a wait is not violated when it is
//! unwound, and what is violated of it is violated when it is unwound far enough.
//!
//! `FENCEPOST_WAITS_PROGRAMS=N` runs N programs, `FENCEPOST_WAITS_SEED=S` others.

use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::Program;
use fencepost_tests::generate::loops::loop_sketches;
use fencepost_tests::random::{Counts, Plan, Suite, run_over};
use fencepost_tests::run::{both, config, load, load_text, model, model_for, spa_model};
use std::path::{Path, PathBuf};

const PLAN: Plan = Plan { n_programs: 400, first_seed: 0, salt: 31, n_memory_max: 15, progress: false };

/// Rounds after which the unwound loop is given up.
const ROUNDS: u32 = 4;

fn outcome(program: &Program, model: &MemoryModel, treatment: Treatment) -> Result<Outcome, CheckError> {
    let kernel = &program.kernels[0];
    let with = Config { unroll_max: ROUNDS, budget: 1_000_000_000, ..config(treatment) };
    check(program, kernel, &kernel.launches[0], model, &with)
}

/// How the two differ about a property, if they do.
fn complaint(waited: Verdict, unwound: Verdict) -> Option<&'static str> {
    match (waited, unwound) {
        (Verdict::Proved | Verdict::ProvedUpToBound, Verdict::Violated) => {
            Some("proved of waits, violated when they are unwound")
        }
        (Verdict::ProvedUpToBound, Verdict::Proved) => {
            Some("bounded with waits, proved when they are unwound")
        }
        _ => None,
    }
}

fn compare(program: &Program, text: &str, model: &MemoryModel, counts: &mut Counts) -> Result<(), String> {
    let pair = [Treatment::DEFAULT, Treatment::UNWOUND].map(|treatment| outcome(program, model, treatment));
    let Some([waited, unwound]) = both(pair, counts) else { return Ok(()) };
    counts.add("bounded when unwound", waited.open_loops.is_empty() && !unwound.open_loops.is_empty());
    counts.add("violated", waited.verdict == Verdict::Violated);
    counts.add("proved of waits", waited.verdict == Verdict::Proved);
    let is_of_spa = waited.launch.spa.is_some();
    for (&(property, waited), &(_, unwound)) in waited.properties.iter().zip(&unwound.properties) {
        // What `reachable` asks is no claim about all executions; and the model of SPA machines leaves what a failing try
        // reads out of what it calls out of order, which it cannot where each round is a round.
        if property == Property::Reachable || (is_of_spa && property == Property::Race) {
            continue;
        }
        if let Some(complaint) = complaint(waited, unwound) {
            return Err(format!("{}: {complaint}\n{text}", property.name()));
        }
        // A violation may lie beyond the bound; hardly any does.
        counts.add("violated, and unwound", waited == Verdict::Violated && unwound == Verdict::Violated);
        counts.add("beyond the bound", waited == Verdict::Violated && unwound != Verdict::Violated);
    }
    Ok(())
}

#[test]
fn random_programs_agree() {
    let features =
        [("await", "await ("), ("while", "while (ld"), ("loop", "loop {"), ("barrier", "bar.sync 1")];
    let results = ["bounded when unwound", "violated", "proved of waits", "violated, and unwound"];
    let model = model(&[]);
    let suite = Suite { set_aside_max: 15, ..Suite::new("waits", PLAN, &features, &results) };
    let (_, counts) = suite.run("", |plan| {
        run_over(
            plan,
            || loop_sketches(plan.n_memory_max),
            |sketch, _, counts| {
                let text = format!("{}}}\n", sketch.text());
                counts.add_features(&text, &features);
                compare(&load_text(&text), &text, &model, counts)
            },
        )
    });
    let (found, beyond) = (counts.of("violated, and unwound"), counts.of("beyond the bound"));
    assert!(beyond * 10 <= found, "{beyond} violations need more than {ROUNDS} rounds, {found} do not");
}

/// How two texts that do the same differ about a property, if they do. One may need a bound where the other needs none.
fn difference(one: Verdict, other: Verdict) -> bool {
    let is_proved = |verdict| matches!(verdict, Verdict::Proved | Verdict::ProvedUpToBound);
    let is_violated = |verdict| verdict == Verdict::Violated;
    (is_proved(one) && is_violated(other)) || (is_violated(one) && is_proved(other))
}

/// A round of each loop written out before it changes nothing; nor does it to write out both tries of a poll.
#[test]
fn a_round_may_be_written_out() {
    let features = [
        ("await", "await ("),
        ("while", "while (ld"),
        ("poll in a for", " = 1; break;"),
        ("poll in a while", " < 2 && "),
        ("count read later", " < 100;"),
    ];
    let model = model(&[]);
    let plan = Plan { salt: 37, ..PLAN };
    let suite = Suite { set_aside_max: 15, ..Suite::new("peeled", plan, &features, &["violated", "proved"]) };
    suite.run("", |plan| {
        run_over(
            plan,
            || loop_sketches(plan.n_memory_max),
            |sketch, _, counts| {
                let (text, peeled) =
                    (format!("{}}}\n", sketch.text()), format!("{}}}\n", sketch.peeled_text()));
                let pair = [&text, &peeled].map(|text| outcome(&load_text(text), &model, Treatment::DEFAULT));
                let Some([one, other]) = both(pair, counts) else { return Ok(()) };
                counts.add_features(&text, &features);
                counts.add("violated", one.verdict == Verdict::Violated);
                counts.add("proved", one.verdict == Verdict::Proved);
                for (&(property, one), &(_, other)) in one.properties.iter().zip(&other.properties) {
                    if property != Property::Reachable && difference(one, other) {
                        let name = property.name();
                        return Err(format!("{name}: {one:?}, written out {other:?}\n{text}\n{peeled}"));
                    }
                }
                Ok(())
            },
        )
    });
}

/// The files of kernels of rules.
fn files_of_rules() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let entries = std::fs::read_dir(folder).expect("the kernels of the rules are part of the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fence"));
    files.sort();
    files
}

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how much it compared")]
fn the_kernels_of_the_rules_agree() {
    let (ptx, spa) = (model(&[]), spa_model(&[]));
    let mut counts = Counts::default();
    for path in files_of_rules() {
        let program = load(&path);
        for kernel in &program.kernels {
            let alone = Program { kernels: vec![kernel.clone()], ..program.clone() };
            if kernel.launches.is_empty() {
                continue;
            }
            let model = model_for(&alone, &ptx, &spa);
            let name = format!("{}, {}", path.display(), kernel.name);
            compare(&alone, &name, model, &mut counts).unwrap_or_else(|complaint| panic!("{complaint}"));
        }
    }
    let (bounded, found) = (counts.of("bounded when unwound"), counts.of("violated, and unwound"));
    println!("waits: {} kernels compared, {bounded} of them bounded when unwound", counts.of("compared"));
    assert!(bounded >= 20 && found >= 100, "{bounded} bounded, {found} violated in both");
    assert!(counts.of("beyond the bound") * 10 <= found, "few need more than {ROUNDS} rounds");
}
