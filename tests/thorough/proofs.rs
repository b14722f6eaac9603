//! What has too many executions to look at is proved once more, from clauses that `fencepost verify` makes itself; a verdict that is
//! not true is refused there as well, whatever the certificate has left out.

use super::{FORMULA, Files, claim_proved, folder, made, made_with, root, with, without_goals};
use fencepost::encode::Treatment;
use fencepost::verdict::Verdict;
use fencepost_verify::cnf::{Formula, Goal};
use fencepost_verify::thorough::Limits;
use fencepost_verify::thorough::sat::{Found, Logged, Sat};
use fencepost_verify::{verify, verify_thoroughly};
use serde_json::{Value, json};
use std::fs;

/// What nothing rests on once all is proved once more.
const SETTLED: [&str; 6] = ["formula", "bounds", "symmetry", "counting", "resets", "slices"];

/// Threads that add to a counter and wait until it is theirs; all are alike, and what they see is counted.
const COUNTED: &str =
    "kernel k { launch { ctas: 4, cooperative: true } global n: u32 = 0; global d[4]: u32 = 0;
 st.weak [d[ctaid]], 1;
 atom.acq_rel.gpu.add.u32 _, [n], 1;
 await ld.acquire.gpu [n] >= 4;
 assert ld.weak [d[(ctaid + 1) % 4]] == 1; }";

/// Each thread hands its word to the next one; a few threads at a time say it all.
const RING: &str = "kernel k { launch { warps: 2, lanes: 32 } shared f[64]: u32 = 0; shared d[64]: u32 = 0;
 st [d[tid]], 1; st.release.cta [f[tid]], 1;
 if ld.acquire.cta [f[(tid + 1) % 64]] == 1 { assert ld [d[(tid + 1) % 64]] == 1; } }";

fn family(name: &str) -> String {
    let path = root().join("checker/cli/benches/families").join(name);
    fs::read_to_string(path).expect("it is there")
}

/// Kernels, each with a deduction that its certificate rests on and what is changed in it to make it wrong.
fn kernels() -> Vec<(String, Treatment, &'static str, (&'static str, &'static str))> {
    vec![
        (COUNTED.to_owned(), Treatment::DEFAULT, "symmetry", ("ld.acquire", "ld.relaxed")),
        (COUNTED.to_owned(), Treatment::DEFAULT, "counting", (">= 4", ">= 3")),
        (family("sense-barrier.fence"), Treatment::DEFAULT, "resets", ("acq_rel", "relaxed")),
        (RING.to_owned(), Treatment::SLICED, "slices", ("st.release.cta", "st.relaxed.cta")),
    ]
}

/// So that not all executions are looked at, however few they are.
fn without_a_look() -> Limits {
    Limits { events_max: 0, ..Limits::default() }
}

#[test]
fn what_is_proved_is_proved_once_more() {
    for (text, treatment, deduction, _) in kernels() {
        let (files, verdict) = made_with("k.fence", &text, treatment);
        assert_eq!(verdict, Verdict::Proved, "{text}");
        let trusts = |report: &fencepost_verify::Report, name: &str| {
            report.trusted().iter().any(|own| own.name == name)
        };
        let plain = verify(&folder(&files)).unwrap_or_else(|refused| panic!("{text}: {refused}"));
        assert!(trusts(&plain, deduction) && trusts(&plain, "formula"), "{text}: {deduction}");
        let report = verify_thoroughly(&folder(&files), without_a_look())
            .unwrap_or_else(|refused| panic!("{text}: {refused}"));
        let [Some(proved)] = report.proved() else { panic!("it has one part") };
        assert_eq!((&proved.given_up, &proved.whole), (&None, &None), "{text}");
        assert!(proved.n_goals > 0 && proved.n_steps > 0, "{text}: {proved:?}");
        assert!(!SETTLED.iter().any(|name| trusts(&report, name)), "{text}");
        assert!(report.to_text().contains("all threads are told apart"), "{}", report.to_text());
    }
}

/// Where the whole is too large, its slices are proved once more, and that says nothing of whether they are enough.
#[test]
fn slices_of_what_is_too_large_are_proved_once_more() {
    let (files, _) = made_with("k.fence", RING, Treatment::SLICED);
    let limits = Limits { plain_events_max: 200, ..without_a_look() };
    let report = verify_thoroughly(&folder(&files), limits).expect("it is confirmed");
    let [Some(proved)] = report.proved() else { panic!("it has one part") };
    assert_eq!(proved.given_up, None);
    let whole = proved.whole.as_ref().expect("the whole is too large");
    assert!(whole.contains("200 is the limit"), "{whole}");
    assert!(proved.n_graphs > 0 && proved.n_events <= 200, "{proved:?}");
    let trusted: Vec<&str> = report.trusted().iter().map(|own| own.name.as_str()).collect();
    assert!(trusted.contains(&"slices") && !trusted.contains(&"formula"), "{trusted:?}");
    assert!(report.to_text().contains("of the whole, there are"), "{}", report.to_text());
}

#[test]
fn what_takes_too_long_is_said_to() {
    let (files, _) = made("k.fence", COUNTED);
    for (limits, why) in [
        (Limits { plain_events_max: 3, ..without_a_look() }, "3 is the limit"),
        (Limits { clauses_max: 100, ..without_a_look() }, "more than 100 clauses"),
        (Limits { plain_conflicts_max: 0, ..without_a_look() }, "takes too long"),
    ] {
        let report = verify_thoroughly(&folder(&files), limits).expect("it is confirmed as ever");
        let [Some(proved)] = report.proved() else { panic!("it has one part") };
        let given_up = proved.given_up.as_ref().expect("it is given up");
        assert!(given_up.contains(why), "{given_up}");
        assert!(report.trusted().iter().any(|own| own.name == "formula"), "{why}");
        assert!(report.to_text().contains(&format!("not made, since {given_up}")), "{given_up}");
    }
}

/// What an encoder that leaves goals out would have made of kernels that are wrong.
#[test]
fn goals_that_are_left_out_of_large_formulas_are_noticed() {
    for (text, _, _, (from, to)) in kernels() {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text);
        let (files, verdict) = made("k.fence", &wrong);
        assert_eq!(verdict, Verdict::Violated, "{wrong}");
        let forged = without_goals(&files);
        let refused = verify_thoroughly(&folder(&forged), without_a_look()).expect_err("it is not so");
        assert!(["thorough::violated", "coverage::goal"].contains(&refused.code), "{wrong}: {refused}");
    }
}

/// Two words are handed over; for the second there is no release.
const TWO_WORDS: &str = "kernel k { launch { ctas: 2 }
 global d: u32 = 0; global e: u32 = 0; global f: u32 = 0; global g: u32 = 0;
 if ctaid == 0 { st.weak [d], 1; st.release.gpu [f], 1; st.weak [e], 1; st.relaxed.gpu [g], 1; }
 else {
   if ld.acquire.gpu [f] == 1 { assert ld.weak [d] == 1; }
   if ld.acquire.gpu [g] == 1 { let v = ld.weak [e]; }
 } }";

/// One pair of events that the formula does not speak of; that nothing else goes wrong has a proof.
#[test]
fn a_pair_that_is_left_out_is_noticed() {
    let (mut files, verdict) = made("k.fence", TWO_WORDS);
    assert_eq!(verdict, Verdict::Violated);
    let whole = folder(&files).text(FORMULA).expect("it has a formula");
    let formula = Formula::parse(&whole).expect("it is one");
    let mut sat = Sat::new();
    formula.clauses.iter().for_each(|clause| sat.add(clause));
    let mut can_be = |literal: i32| matches!(sat.search(&[literal], 100_000), Found::Assignment(_));
    let mut goals: Vec<(&Goal, i32)> = formula.goals.iter().map(|(goal, &literal)| (goal, literal)).collect();
    goals.sort_by_key(|own| own.1);
    let (wrong, others): (Vec<_>, Vec<_>) = goals.into_iter().partition(|own| can_be(own.1));
    // Either way round it is one pair.
    let pairs: Vec<String> = wrong
        .iter()
        .map(|(goal, _)| match goal {
            Goal::Flag(name, a, b) if name == "race" => format!(" goal flag race e{a} e{b}"),
            other => panic!("nothing but a race goes wrong: {other:?}"),
        })
        .collect();
    assert!(pairs.len() <= 2 && wrong.iter().all(|own| own.1 == wrong[0].1), "{wrong:?}");
    let mut any: Vec<i32> = others.iter().map(|own| own.1).filter(|&literal| literal != -1).collect();
    any.dedup();
    assert!(any.len() > 1, "{any:?}");
    let (proof, n_steps) = refuted(&formula, &any);
    let proof_name = "part-0-query-other.lrat";
    files.insert(proof_name.to_owned(), proof);
    let is_of_pair = |line: &&str| pairs.iter().any(|pair| line.ends_with(pair));
    let without: Vec<&str> = whole.lines().filter(|line| !is_of_pair(line)).collect();
    assert_eq!(without.len() + pairs.len(), whole.lines().count(), "{pairs:?}");
    let forged = with(&files, FORMULA, &(without.join("\n") + "\n"), |root| {
        claim_proved(root);
        let queries = root["parts"][0]["queries"].as_array_mut().expect("a list");
        queries.retain(|one| one["role"] != "goal");
        queries.push(json!({
            "role": "goal", "formula": 0, "known": [], "any": any, "series": null, "answer": "refuted",
            "steps": n_steps, "proof": proof_name,
        }));
    });
    let report = verify(&folder(&forged)).expect("all that it speaks of is refuted");
    assert_eq!(report.counts().0.by_trusted_bounds, pairs.len(), "bounds are trusted for this pair only");
    for limits in [Limits::default(), without_a_look()] {
        let refused = verify_thoroughly(&folder(&forged), limits).expect_err("it is not so");
        assert_eq!(refused.code, "thorough::violated");
    }
}

/// A proof, in binary LRAT, that nothing of this can be; and how many steps it has.
fn refuted(formula: &Formula, any: &[i32]) -> (Vec<u8>, usize) {
    let mut sat = Sat::keeping();
    formula.clauses.iter().for_each(|clause| sat.add(clause));
    sat.add(any);
    assert_eq!(sat.search(&[], 100_000), Found::None);
    let log = sat.log.expect("it is kept");
    // What is given comes before all that follows.
    let n_given = log.iter().filter(|step| matches!(step, Logged::Given(_))).count() as u64;
    let (mut ids, mut given, mut derived) = (vec![0], 0, n_given);
    for step in &log {
        let next = if matches!(step, Logged::Given(_)) { &mut given } else { &mut derived };
        *next += 1;
        ids.push(*next);
    }
    let mut bytes = Vec::new();
    let mut number = |mut value: u64| {
        while value > 0x7f {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    };
    for (step, &id) in log.iter().zip(&ids[1..]) {
        let Logged::Follows(clause, cited) = step else { continue };
        number(u64::from(b'a'));
        number(2 * id);
        clause.iter().for_each(|literal| {
            number(2 * u64::from(literal.unsigned_abs()) + u64::from(*literal < 0));
        });
        number(0);
        cited.iter().for_each(|&cited| number(2 * ids[cited as usize]));
        number(0);
    }
    (bytes, usize::try_from(derived - n_given).expect("it fits"))
}

/// One thread of the ring does not wait as the others do, and its slice is said to be another's.
#[test]
fn a_thread_in_no_slice_is_noticed() {
    let wrong = RING.replace(
        "if ld.acquire.cta [f[(tid + 1) % 64]] == 1",
        "var seen: u32 = 0;
         if tid == 9 { seen = ld.relaxed.cta [f[(tid + 1) % 64]]; } else { seen = ld.acquire.cta [f[(tid + 1) % 64]]; }
         if seen == 1",
    );
    let (files, verdict) = made_with("k.fence", &wrong, Treatment::SLICED);
    assert_eq!(verdict, Verdict::Violated);
    let forged = one_slice_less(&files);
    let report = verify(&folder(&forged)).unwrap_or_else(|refused| panic!("{refused}"));
    assert!(report.trusted().iter().any(|own| own.name == "slices"));
    let refused = verify_thoroughly(&folder(&forged), without_a_look()).expect_err("it is not so");
    assert_eq!(refused.code, "thorough::violated");
}

/// Has every thread be alike to one whose slice is refuted.
fn one_slice_less(files: &Files) -> Files {
    let root: Value = serde_json::from_slice(&files["certificate.json"]).expect("JSON");
    let name = root["parts"][0]["formulas"][0]["file"].as_str().expect("it has a formula").to_owned();
    let text = folder(files).text(&name).expect("it is there");
    with(files, &name, &text, |root| {
        claim_proved(root);
        let part = &mut root["parts"][0];
        let n_threads = 64;
        let slices = part["slices"].as_array_mut().expect("a list");
        let all: Vec<Value> = (0..n_threads).map(Value::from).collect();
        slices[0]["alike"] = all.into();
    })
}
