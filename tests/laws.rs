//! Metamorphic laws over random small programs: what a change of the text may do to the answers, whatever they are.
//!
//! * Renaming objects and registers, permuting the threads' blocks and mirroring the launch change nothing.
//! * A thread of another CTA that touches only its own object changes nothing.
//! * Strengthening the `sem` of one instruction or widening its scope adds no final state and no race.
//!
//! The laws need no expected answers; the reference interpreter only says which final states are worth asking for. One
//! `assert` per program stands for all the others. Exceptions that the model itself has:
//!
//! * MM-20: after a mixed-size race nothing is promised about values, so strengthening is then judged by races alone.
//! * MM-24, A-7: the read of a `red`, or of an `atom` whose result is dropped, never acquires. Hence `atom` to `red` is no
//!   strengthening, whatever the sems; `dropping_the_result_of_an_atom_may_add_a_race` shows that it matters.
//! * §8.8: acquire and release are incomparable, so that neither counts as stronger than the other.
//! * MM-12: `.volatile` is `.relaxed.sys`, hence the step from `.relaxed` to it is one only as far as the scope widens.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

#[path = "laws/variants.rs"]
mod variants;

use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Vacuity, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_tests::generate::{Sketch, sketches};
use fencepost_tests::outcomes::final_block;
use fencepost_tests::reference::{Effort, Reference, decide};
use fencepost_tests::run;
use proptest::prelude::any;
use proptest::test_runner::{Config as RunnerConfig, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More final states than this, and only the first ones are asked for one by one.
const REACHABLE_MAX: usize = 24;
/// Programs of one seed.
const BATCH: u32 = 25;
/// Programs of the quick mode; `FENCEPOST_LAWS_PROGRAMS=N` compares more of them.
const QUICK_PROGRAMS: usize = 3_000;

/// What the checker says to one program.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Answer {
    race: Verdict,
    /// Whether there is no final state but those asked for.
    no_other: Verdict,
    /// Which of those asked for, by number, are not there.
    unreachable: BTreeSet<usize>,
    nothing_completes: bool,
}

impl Answer {
    /// What of this answer must not be there if `base` is the answer to a weaker program.
    fn beyond(&self, base: &Self, outcomes_count: bool) -> Vec<String> {
        let mut additions = Vec::new();
        if base.race == Verdict::Proved && self.race != Verdict::Proved {
            additions.push(format!("a race is new: {:?}", self.race));
        }
        if !outcomes_count {
            return additions;
        }
        if base.no_other == Verdict::Proved && self.no_other != Verdict::Proved {
            additions.push(format!("a final state is new: {:?}", self.no_other));
        }
        for number in base.unreachable.difference(&self.unreachable) {
            additions.push(format!("final state {number} was unreachable"));
        }
        if base.nothing_completes && !self.nothing_completes {
            additions.push("nothing completed before".into());
        }
        additions
    }
}

/// Things to be counted over all programs.
#[derive(Default)]
struct Counts {
    compared: AtomicUsize,
    too_large: AtomicUsize,
    racy: AtomicUsize,
    /// Strengthened programs, and those of them that have fewer final states or no race any more.
    strengthened: AtomicUsize,
    tightened: AtomicUsize,
}

fn ask(model: &MemoryModel, open_text: &str, final_block: &str) -> Answer {
    let text = format!("{open_text}{final_block}}}\n");
    let config = Config {
        properties: vec![Property::Race, Property::Assert, Property::Reachable],
        unroll_max: 2,
        limits: Limits { findings_max: 1_000, ..Limits::default() },
        ..run::config(Treatment::DEFAULT)
    };
    let outcome = run::outcomes(&text, model, &config).pop().expect("there is one launch");
    let number_of = |start: u32| text[..start as usize].matches("reachable").count();
    let unreachable = outcome.vacuity.iter().filter_map(|vacuity| match vacuity {
        // The span starts at or behind its keyword, hence the count up to the end of its line is taken.
        Vacuity::Unreachable(span) => {
            let line_end = text[span.start as usize..].find('\n').unwrap_or_default();
            Some(number_of(span.start + u32::try_from(line_end).expect("texts are short")))
        }
        Vacuity::NothingCompletes => None,
    });
    Answer {
        race: run::verdict(&outcome, Property::Race),
        no_other: run::verdict(&outcome, Property::Assert),
        unreachable: unreachable.collect(),
        nothing_completes: outcome.vacuity.contains(&Vacuity::NothingCompletes),
    }
}

/// Final states and races of a text without closing brace, unless there is too much to enumerate.
fn enumerate(open_text: &str) -> Option<Reference> {
    let text = format!("{open_text}}}\n");
    let options = LoadOptions::default();
    let program = load(&mut SourceMap::default(), "laws.fence", &mut |_| Ok(text.clone()), &options)
        .unwrap_or_else(|errors| panic!("{text}\n{:#?}", errors.first()));
    let kernel = &program.kernels[0];
    let effort = Effort { candidates_max: 20_000, combinations_max: 200_000, ..Effort::default() };
    decide(kernel, &kernel.launches[0], effort).ok()
}

/// Holds one program against all laws; `choice` picks among the variants.
fn hold(model: &MemoryModel, sketch: &Sketch, choice: u64, counts: &Counts) -> Result<(), String> {
    let text = sketch.text();
    let Some(reference) = enumerate(&text) else {
        counts.too_large.fetch_add(1, Ordering::Relaxed);
        return Ok(());
    };
    let states = final_block(&reference.outcomes, REACHABLE_MAX);
    let base = ask(model, &text, &states);
    counts.compared.fetch_add(1, Ordering::Relaxed);
    counts.racy.fetch_add(usize::from(base.race == Verdict::Violated), Ordering::Relaxed);

    let renamed = variants::renamed(&variants::permuted(&text, choice));
    let mirrored = variants::mirrored(sketch.placement, sketch.threads.len(), &text);
    let accompanied = variants::accompanied(sketch.placement, sketch.threads.len(), &text, choice);
    for (law, variant, states) in [
        ("renaming and permuting", renamed, variants::renamed(&states)),
        ("mirroring the launch", mirrored, states.clone()),
        ("an unrelated thread", accompanied, states.clone()),
    ] {
        let answer = ask(model, &variant, &states);
        if answer != base {
            return Err(format!("{law} changed {base:?}\nto {answer:?}\n{text}{states}}}\n{variant}}}"));
        }
    }

    for strong in variants::strengthened(sketch, choice) {
        let strong_text = strong.text();
        let answer = ask(model, &strong_text, &states);
        let additions = answer.beyond(&base, !reference.mixed_size_races);
        if !additions.is_empty() {
            return Err(format!(
                "strengthening adds: {}\n{text}{states}}}\n{strong_text}}}",
                additions.join(", ")
            ));
        }
        counts.strengthened.fetch_add(1, Ordering::Relaxed);
        counts.tightened.fetch_add(usize::from(answer != base), Ordering::Relaxed);
    }
    Ok(())
}

/// Holds a batch of random programs against the laws; the first that breaks one comes back shrunk.
fn hold_batch(model: &MemoryModel, seed: u64, counts: &Counts) -> Result<(), String> {
    let mut bytes = [0x1a; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = RunnerConfig {
        cases: BATCH,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..RunnerConfig::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&(sketches(6), any::<u64>()), |(sketch, choice)| {
        hold(model, &sketch, choice, counts).map_err(TestCaseError::fail)
    });
    result.map_err(|error| format!("seed {seed}: {error}"))
}

#[test]
fn laws_hold_for_random_programs() {
    let wanted = std::env::var("FENCEPOST_LAWS_PROGRAMS").ok();
    let n_programs =
        wanted.map_or(QUICK_PROGRAMS, |n| n.parse().expect("FENCEPOST_LAWS_PROGRAMS is a number"));
    let n_batches = n_programs.div_ceil(BATCH as usize);
    let model = run::model(&[]);
    let next = AtomicUsize::new(0);
    let counts = Counts::default();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            loop {
                let batch = next.fetch_add(1, Ordering::Relaxed);
                if batch >= n_batches {
                    return failures;
                }
                failures.extend(hold_batch(&model, batch as u64, &counts).err());
            }
        };
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("workers do not panic")).collect()
    });
    let Counts { compared, too_large, racy, strengthened, tightened } = counts;
    let [compared, too_large, racy, strengthened, tightened] =
        [compared, too_large, racy, strengthened, tightened].map(AtomicUsize::into_inner);
    println!("laws: {compared} programs compared");
    println!("laws: {racy} of them racy, {too_large} more were too large to enumerate");
    println!("laws: {strengthened} strengthened, {tightened} of them with fewer final states or races");
    assert!(failures.is_empty(), "{} batches break a law\n{}", failures.len(), failures.join("\n\n"));
    assert!(compared * 2 > n_programs, "most programs must be small enough");
    assert!(racy > 0 && racy < compared, "some programs race and some do not");
    assert!(tightened > 0 && tightened < strengthened, "strengthening sometimes matters");
}

#[test]
fn dropping_the_result_of_an_atom_may_add_a_race() {
    let text = |result: &str| {
        format!(
            "kernel k {{
    launch {{ ctas: 2 }}
    global x: u32 = 0;
    global flag: u32 = 0;
    global out: u32 = 0;
    if ctaid == 0 {{
        st.weak [x], 1;
        st.release.gpu [flag], 1;
    }}
    if ctaid == 1 {{
        await (ld.relaxed.gpu [flag]) == 1;
        let {result} = atom.acquire.gpu.add.u32 [flag], 1;
        let seen = ld.weak [x];
        st.weak [out], seen;
    }}
"
        )
    };
    let model = run::model(&[]);
    let asked = "    final {\n        assert [out] == 1;\n    }\n";
    let [kept, dropped] = ["old", "_"].map(|result| ask(&model, &text(result), asked));
    assert_eq!((kept.race, kept.no_other), (Verdict::Proved, Verdict::Proved));
    assert_eq!((dropped.race, dropped.no_other), (Verdict::Violated, Verdict::Violated), "MM-24, A-7");
}
