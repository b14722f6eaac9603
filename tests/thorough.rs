//! `fencepost verify --thorough`: all executions of what is small, against formulas that an encoder with a fault would have made.

use fencepost::check::{Config, check};
use fencepost::dsl::SourceMap;
use fencepost::dsl::kernel::{LoadOptions, load};
use fencepost::encode::Treatment;
use fencepost::library;
use fencepost::models::{self, Model};
use fencepost::parallel;
use fencepost::report::Case;
use fencepost::report::certificate::{Told, certificate, hash};
use fencepost::verdict::Verdict;
use fencepost_verify::cnf::{Formula, Meaning};
use fencepost_verify::thorough::Limits;
use fencepost_verify::thorough::sat::{Found, Sat};
use fencepost_verify::{Folder, Refused, Report, verify, verify_thoroughly};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "thorough/graphs.rs"]
mod graphs;
#[path = "thorough/proofs.rs"]
mod proofs;

type Files = HashMap<String, Vec<u8>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn made(name: &str, text: &str) -> (Files, Verdict) {
    made_with(name, text, Treatment::DEFAULT)
}

fn made_with(name: &str, text: &str, treatment: Treatment) -> (Files, Verdict) {
    let mut sources = SourceMap::default();
    let mut read = |wanted: &str| match library::read(wanted) {
        Some(text) => text,
        None => Ok(text.to_owned()),
    };
    let program = load(&mut sources, name, &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let model = Model::shipped(models::usual(&program), &[]).expect("it comes along");
    let kernel = &program.kernels[0];
    let config = Config { record: true, treatment, ..Config::usual(kernel) };
    let outcome =
        check(&program, kernel, &kernel.launches[0], &model.resolved, &config).expect("it is checked");
    let case = Case {
        sources: &sources,
        file: name,
        program: &program,
        kernel,
        model: &model.name,
        variants: &[],
        outcome: &outcome,
        explanations: &[],
        standing: Default::default(),
    };
    let files = certificate(&case, &model, &config, &Told::default()).expect("something is claimed");
    (files.into_iter().map(|file| (file.name, file.bytes)).collect(), outcome.verdict)
}

fn example(path: &str) -> (Files, Verdict) {
    made(path, &fs::read_to_string(root().join("examples").join(path)).expect("it is there"))
}

fn folder(files: &Files) -> Folder {
    Folder::of_files(files.clone()).expect("its files are what its seal says")
}

fn looked_at(files: &Files) -> Result<Report, Refused> {
    verify_thoroughly(&folder(files), Limits::default())
}

/// The same with another text in place of a packed one, sealed anew.
fn with(files: &Files, name: &str, text: &str, change: impl FnOnce(&mut Value)) -> Files {
    let mut files = files.clone();
    let plain = name.trim_end_matches(".gz");
    files.remove(name);
    files.insert(plain.to_owned(), text.as_bytes().to_vec());
    let root = String::from_utf8(files["certificate.json"].clone()).expect("text");
    let mut root: Value = serde_json::from_str(&root.replace(name, plain)).expect("JSON");
    change(&mut root);
    let mut names: Vec<&String> =
        files.keys().filter(|name| *name != "seal" && *name != "certificate.json").collect();
    names.sort();
    let listed =
        |name: &&String| json!({ "name": name, "bytes": files[*name].len(), "sha256": hash(&files[*name]) });
    root["files"] = Value::Array(names.iter().map(listed).collect());
    let text = serde_json::to_vec(&root).expect("it is written to memory");
    files.insert("seal".to_owned(), format!("{}  certificate.json\n", hash(&text)).into_bytes());
    files.insert("certificate.json".to_owned(), text);
    files
}

/// Launches that are small enough, proved and violated.
const SMALL: [&str; 8] = [
    "message-passing/release-acquire.fence",
    "message-passing/relaxed.fence",
    "message-passing/fence.fence",
    "message-passing/fence-too-early.fence",
    "cas-lock/acquire-release.fence",
    "data-with-flag/eight-bytes.fence",
    "data-with-flag/four-words.fence",
    "data-with-flag/one-flag-release.fence",
];

#[test]
fn executions_of_what_is_small_confirm_its_verdict() {
    for path in SMALL {
        let (files, verdict) = example(path);
        let report = looked_at(&files).unwrap_or_else(|refused| panic!("{path}: {refused}"));
        assert_eq!(report.verdict(), verdict.name(), "{path}");
        let [looked] = report.looked() else { panic!("{path} has one part") };
        assert_eq!(looked.given_up, None, "{path}");
        assert!(looked.n_allowed > 1, "{path}");
        let is_settled = |name: &str| !["formula", "bounds", "symmetry"].contains(&name);
        assert!(report.trusted().iter().all(|own| is_settled(&own.name)), "{path}");
    }
}

#[test]
fn what_is_too_large_is_said_to_be() {
    let (files, _) = example("message-passing/release-acquire.fence");
    for (limits, why) in [
        (Limits { events_max: 2, ..Limits::default() }, "2 is the limit"),
        (Limits { executions_max: 1, ..Limits::default() }, "more than 1"),
    ] {
        // Nor is it proved once more.
        let limits = Limits { clauses_max: 0, ..limits };
        let report = verify_thoroughly(&folder(&files), limits).expect("it is confirmed as ever");
        let given_up = report.looked()[0].given_up.clone().expect("it is given up");
        assert!(given_up.contains(why), "{given_up}");
        assert!(report.trusted().iter().any(|own| own.name == "formula"));
    }
}

/// Kernels of threads that are not alike, so that formulas have all executions; each with what it does.
const KERNELS: [&str; 5] = [
    // A message, and who looks at it twice.
    "kernel k { launch { ctas: 2 } global d: u32 = 0; global f: u32 = 0;
     if ctaid == 0 { st.relaxed.gpu [d], 1; st.release.gpu [f], 1; }
     else { let v = ld.acquire.gpu [f]; let w = ld.relaxed.gpu [d]; assert v == 0 || w == 1; } }",
    // Two stores, each before a load of the other.
    "kernel k { launch { ctas: 2 } global x: u32 = 0; global y: u32 = 0; global z: u32 = 0;
     if ctaid == 0 { st.relaxed.gpu [x], 1; fence.sc.gpu; let v = ld.relaxed.gpu [y]; if v == 0 { st.relaxed.gpu [z], 1; } }
     else { st.relaxed.gpu [y], 1; fence.sc.gpu; let w = ld.relaxed.gpu [x];
       if w == 0 { let u = atom.relaxed.gpu.exch.b32 [z], 2; } } }",
    // Additions of different numbers.
    "kernel k { launch { ctas: 2 } global n: u32 = 0;
     if ctaid == 0 { atom.relaxed.gpu.add.u32 _, [n], 1; atom.relaxed.gpu.add.u32 _, [n], 4; }
     else { atom.relaxed.gpu.add.u32 _, [n], 2; let v = ld.relaxed.gpu [n]; assert v != 1 && v != 4 && v != 5; }
     final { assert [n] == 7; } }",
    // A barrier between a store and a load.
    "kernel k { launch { warps: 2 } shared d: u32 = 0; shared e: u32 = 0;
     if tid == 0 { st [d], 1; } else { st.relaxed.cta [e], 3; }
     bar.sync 0; if tid == 32 { assert ld [d] == 1; } else { assert ld.relaxed.cta [e] == 3; } }",
    // Values in an order that readers agree on.
    "kernel k { launch { ctas: 3 } global x: u32 = 0;
     if ctaid == 0 { st.relaxed.gpu [x], 1; st.relaxed.gpu [x], 2; }
     else if ctaid == 1 { let v = ld.relaxed.gpu [x]; let w = ld.relaxed.gpu [x]; assert v <= w; }
     else { atom.relaxed.gpu.max.u32 _, [x], 1; } }",
];

const FORMULA: &str = "part-0-formula-0.cnf.gz";

/// Numbers that look random and are the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Whether a formula has fewer executions than it should: those of the other one are gone through.
fn is_too_strong(whole: &Formula, changed: &Formula) -> bool {
    let load = |formula: &Formula| {
        let mut sat = Sat::new();
        formula.clauses.iter().for_each(|clause| sat.add(clause));
        sat
    };
    let (mut of_whole, mut of_changed) = (load(whole), load(changed));
    let named: BTreeSet<i32> = whole
        .meanings
        .iter()
        .filter(|own| !matches!(own.1, Meaning::Bit(..)))
        .map(|own| own.0.abs())
        .collect();
    for _ in 0..300 {
        let Found::Assignment(values) = of_whole.search(&[], 10_000) else { return false };
        let is =
            |variable: &i32| if values[variable.unsigned_abs() as usize] { *variable } else { -*variable };
        let execution: Vec<i32> = named.iter().map(is).collect();
        if of_changed.search(&execution, 10_000) == Found::None {
            return true;
        }
        let other: Vec<i32> = execution.iter().map(|literal| -literal).collect();
        of_whole.add(&other);
    }
    false
}

/// A formula as an encoder with a fault would have made it.
fn mutated(text: &str, dice: &mut Dice) -> String {
    let formula = Formula::parse(text).expect("it is one");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let clauses: Vec<usize> = (0..lines.len()).filter(|&at| !lines[at].starts_with(['c', 'p'])).collect();
    let at = clauses[1 + dice.below(clauses.len() - 1)];
    let mut literals: Vec<i32> = lines[at]
        .split(' ')
        .map(|word| word.parse().expect("a number"))
        .filter(|&literal| literal != 0)
        .collect();
    match dice.below(4) {
        // A clause of its own, in place of another one.
        0 => {
            let any = |dice: &mut Dice| {
                let literal = formula.meanings[dice.below(formula.meanings.len())].0;
                if dice.below(2) == 0 { literal } else { -literal }
            };
            literals = vec![any(dice), any(dice)];
        }
        // A wrong polarity.
        1 => {
            let place = dice.below(literals.len());
            literals[place] = -literals[place];
        }
        // A condition forgotten.
        _ => {
            let place = dice.below(literals.len());
            if literals.len() > 1 {
                literals.remove(place);
            }
        }
    }
    lines[at] = literals.iter().map(|literal| format!("{literal} ")).collect::<String>() + "0";
    lines.join("\n") + "\n"
}

/// Formulas that are tried of each kernel.
const TRIES: usize = 60;

#[test]
#[expect(clippy::print_stdout, reason = "the suite says how many")]
fn formulas_that_are_too_strong_are_noticed() {
    let work = |text: &&str| -> (usize, usize, Vec<String>) {
        let (files, verdict) = made("k.fence", text);
        let report = looked_at(&files).unwrap_or_else(|refused| panic!("{text}: {refused}"));
        let [looked] = report.looked() else { panic!("it has one part") };
        assert!(
            looked.given_up.is_none() && looked.accepted == Ok(looked.n_allowed),
            "{text}: {}",
            looked.to_text()
        );
        assert_eq!(report.verdict(), verdict.name());
        let whole = folder(&files).text(FORMULA).expect("it has a formula");
        let (mut dice, mut n_wrong, mut n_noticed, mut missed) = (Dice(text.len() as u64), 0, 0, Vec::new());
        for _ in 0..TRIES {
            let changed = mutated(&whole, &mut dice);
            let formulas = [&whole, &changed].map(|text| Formula::parse(text).expect("it is one"));
            if !is_too_strong(&formulas[0], &formulas[1]) {
                continue;
            }
            n_wrong += 1;
            match looked_at(&with(&files, FORMULA, &changed, |_| ())) {
                Err(_) => n_noticed += 1,
                Ok(_) => missed.push(changed),
            }
        }
        (n_wrong, n_noticed, missed)
    };
    let (mut n_wrong, mut n_noticed) = (0, 0);
    parallel::in_order(parallel::available(), &KERNELS, work, |_, (wrong, noticed, _)| {
        n_wrong += wrong;
        n_noticed += noticed;
    });
    println!("{n_noticed} of {n_wrong} formulas that are too strong were noticed");
    assert!(n_wrong > 60, "{n_wrong} formulas were too strong");
    assert!(n_noticed * 10 >= n_wrong * 9, "{n_noticed} of {n_wrong} were noticed");
}

/// What an encoder without a goal would have made of a violated kernel: a proof of all that is left.
fn without_goals(files: &Files) -> Files {
    let whole = folder(files).text(FORMULA).expect("it has a formula");
    let without: Vec<&str> = whole.lines().filter(|line| !line.contains(" goal ")).collect();
    with(files, FORMULA, &(without.join("\n") + "\n"), |root| {
        claim_proved(root);
        let queries = root["parts"][0]["queries"].as_array_mut().expect("a list");
        queries.retain(|one| one["role"] != "goal");
    })
}

/// Has a certificate say that all is proved, and forget what shows that it is not.
fn claim_proved(root: &mut Value) {
    root["verdict"] = "proved".into();
    let properties = root["properties"].as_array_mut().expect("a list");
    properties.iter_mut().for_each(|one| one["verdict"] = "proved".into());
    let witnesses = root["parts"][0]["witnesses"].as_array_mut().expect("a list");
    witnesses.retain(|one| one["shows"][0] == "complete" || one["shows"][0] == "reachable");
}

#[test]
fn goals_that_are_left_out_are_noticed() {
    let mut n = 0;
    for path in [
        "message-passing/relaxed.fence",
        "message-passing/fence-too-early.fence",
        "data-with-flag/four-words.fence",
    ] {
        let (files, verdict) = example(path);
        assert_eq!(verdict, Verdict::Violated, "{path}");
        let forged = without_goals(&files);
        let plain = verify(&folder(&forged));
        match looked_at(&forged) {
            Err(refused) => {
                assert!(["thorough::violated", "coverage::goal"].contains(&refused.code), "{refused}")
            }
            Ok(_) => panic!("{path}: it is not noticed"),
        }
        // Without a closer look it is said what the claim rests on.
        if let Ok(report) = plain {
            assert!(report.trusted().iter().any(|own| own.name == "bounds"), "{path}");
            n += 1;
        }
    }
    assert!(n > 0, "some of it is left to trust");
}
