//! Words that only additions write: the answers are those of the search for all orders of the additions.
//!
//! `FENCEPOST_COUNTING_PROGRAMS=N` runs N kernels, `FENCEPOST_COUNTING_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;

/// Where threads are.
const SHAPES: &[&str] = &["ctas: N, cooperative: true", "ctas: N, cluster: N", "warps: N", "lanes: N"];

/// A few statements of one thread. What it has read of a counter goes to its word of `out`.
fn body(numbers: &mut Numbers, tid: u64, n_threads: u64) -> String {
    let mut text = String::new();
    let n_statements = 2 + numbers.below(3);
    let mut n_registers = 0;
    for at in 0..n_statements {
        let word = numbers.of(&["a", "a", "a", "b"]);
        let scope = numbers.of(&["gpu", "gpu", "gpu", "gpu", "cta"]);
        let by = numbers.of(&[1, 1, 1, 2, 0]);
        let least = 1 + numbers.below(n_threads + 1);
        let is = numbers.of(&[">=", ">=", "==", "!="]);
        let datum = numbers.of(&["d[0]", "d[1]"]);
        let line = match numbers.below(20) {
            0..=4 => {
                let sem = numbers.of(&["release", "release", "relaxed"]);
                format!("red.add.{sem}.{scope}.u32 [{word}], {by};")
            }
            5..=6 => {
                let sem = numbers.of(&["acq_rel", "relaxed", "acquire"]);
                n_registers += 1;
                format!(
                    "let r{at} = atom.add.{sem}.{scope}.u32 [{word}], {by}; st.relaxed.gpu [out[{tid}]], r{at} + 1;"
                )
            }
            7 => {
                // The last to arrive does something.
                let then = numbers.of(&[
                    "st.weak [d[0]], 2;",
                    "let v = ld.weak [d[0]];",
                    "red.add.relaxed.gpu.u32 [b], 1;",
                ]);
                format!("if (atom.add.acq_rel.{scope}.u32 [{word}], 1) == {} {{ {then} }}", least - 1)
            }
            8..=11 => {
                let sem = numbers.of(&["acquire", "acquire", "relaxed"]);
                format!("await ld.{sem}.{scope} [{word}] {is} {least};")
            }
            12 => format!("await (atom.add.acquire.{scope}.u32 [{word}], 0) >= {least};"),
            13..=14 => format!("st.weak [{datum}], 1;"),
            15..=16 => format!("let v{at} = ld.weak [{datum}]; st.relaxed.gpu [out[{tid}]], v{at} + 5;"),
            17 => "fence.acq_rel.gpu;".to_owned(),
            18 => format!("let w{at} = ld.relaxed.{scope} [{word}]; st.relaxed.gpu [out[{tid}]], w{at} + 1;"),
            // No counter any more, or one that is also read weakly.
            _ => numbers
                .of(&["st.relaxed.gpu [a], 1;", "let u = ld.weak [a];", "red.max.relaxed.gpu.u32 [b], 2;"])
                .replace("u =", &format!("u{at} =")),
        };
        text += &format!("        {line}\n");
        if n_registers > 0 && numbers.below(8) == 0 {
            text += &format!(
                "        if (ld.relaxed.gpu [out[{tid}]]) == 1 {{ red.add.release.gpu.u32 [a], 1; }}\n"
            );
        }
    }
    text
}

/// Two or three threads; every small final state is asked for.
fn kernel(numbers: &mut Numbers) -> String {
    let n = 2 + numbers.below(2);
    let shape = numbers.of(SHAPES).replace('N', &n.to_string());
    let number = if shape.starts_with("ctas") { "ctaid" } else { "tid" };
    let is_alike = numbers.below(3) == 0;
    let bodies: Vec<String> = if is_alike {
        let one = body(numbers, 0, n).replace("out[0]", &format!("out[{number}]"));
        vec![one]
    } else {
        (0..n).map(|tid| format!("    if {number} == {tid} {{\n{}    }}\n", body(numbers, tid, n))).collect()
    };
    let start = numbers.of(&[0, 0, 0, 1]);
    let states: Vec<String> = (0..5)
        .flat_map(|a| (0..3).map(move |out| (a, out)))
        .map(|(a, out)| format!("        reachable [a] == {a} && [out[0]] == {out};\n"))
        .chain((0..4).map(|out| format!("        reachable [out[0]] == {out} && [out[1]] == 6;\n")))
        .collect();
    format!(
        "kernel k {{\n    launch {{ {shape} }}\n    global a: u32 = {start};\n    global b: u32 = 0;\n    \
         global d[2]: u32 = 0;\n    global out[3]: u32 = 0;\n{}    final {{\n{}    }}\n}}\n",
        bodies.concat(),
        states.concat()
    )
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("waits for a sum", ">="),
    ("waits for a sum exactly", "await ld.acquire.gpu [a] =="),
    ("polls by additions of nothing", "], 0) >="),
    ("a last one to arrive", "if (atom"),
    ("scopes too narrow", ".cta"),
    ("stores to the word", "st.relaxed.gpu [a]"),
    ("weak reads of the word", "= ld.weak [a]"),
];

#[test]
fn counters_agree() {
    let plan = Plan { n_programs: 400, first_seed: 0, salt: 15, n_memory_max: 0, progress: false };
    let used = "counted";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 10, one_in: 60, ..Suite::new("counting", plan, FEATURES, &results) };
    let off = Treatment { counting: false, ..Treatment::DEFAULT };
    let is_used =
        |found: &Outcome, expected: &Outcome| found.statistics.clauses != expected.statistics.clauses;
    Switched { kernel, on: Treatment::DEFAULT, off, used, is_used }.agree(&suite, FEATURES);
}

/// Three threads arrive, and each reads what another has left before it arrived.
fn barrier(arrival: &str, wait: &str, polls: &str) -> String {
    format!(
        "kernel k {{\n    launch {{ ctas: 3, cooperative: true }}\n    global c: u32 = 0;\n    \
         global d[3]: u32 = 0;\n    st.weak [d[ctaid]], 1;\n    {arrival}\n    await {polls} {wait};\n    \
         let v = ld.weak [d[(ctaid + 1) % 3]];\n    assert v == 1;\n}}\n"
    )
}

#[test]
fn a_sum_says_who_has_arrived() {
    let arrive = "red.add.release.gpu.u32 [c], 1;";
    let poll = "ld.acquire.gpu [c]";
    let cases = [
        (barrier(arrive, ">= 3", poll), Verdict::Proved),
        (barrier(arrive, "== 3", poll), Verdict::Proved),
        (barrier(arrive, ">= 3", "(atom.add.acquire.gpu.u32 [c], 0)"), Verdict::Proved),
        // One short, one too many, none that releases, none that acquires, out of scope.
        (barrier(arrive, ">= 2", poll), Verdict::Violated),
        (barrier(arrive, ">= 4", poll), Verdict::Violated),
        (barrier("red.add.relaxed.gpu.u32 [c], 1;", ">= 3", poll), Verdict::Violated),
        (barrier(arrive, ">= 3", "ld.relaxed.gpu [c]"), Verdict::Violated),
        (barrier("red.add.release.cta.u32 [c], 1;", ">= 3", poll), Verdict::Violated),
        // Two arrivals of one thread are as good as those of two.
        (
            barrier("red.add.release.gpu.u32 [c], 1; red.add.release.gpu.u32 [c], 1;", ">= 3", poll),
            Verdict::Violated,
        ),
        (
            barrier("red.add.release.gpu.u32 [c], 1; red.add.release.gpu.u32 [c], 1;", ">= 6", poll),
            Verdict::Proved,
        ),
        (barrier("red.add.release.gpu.u32 [c], 1 + ctaid;", ">= 4", poll), Verdict::Violated),
        (barrier("red.add.release.gpu.u32 [c], 1 + ctaid;", ">= 6", poll), Verdict::Proved),
        // Somebody sets the word.
        (
            barrier("if ctaid == 0 { st.relaxed.gpu [c], 3; } red.add.release.gpu.u32 [c], 1;", ">= 3", poll),
            Verdict::Violated,
        ),
    ];
    for (text, expected) in cases {
        let found = outcomes(&text, &model(&[]), &config(Treatment::DEFAULT)).remove(0);
        assert_eq!(found.verdict, expected, "{text}");
    }
}
