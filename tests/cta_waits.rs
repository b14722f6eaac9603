//! Loops that all threads of a CTA go round together: rounds without effect count as one (`unroll::cta_wait`).
//!
//! Two ways to be a sceptic. The same wait is written without a loop of the CTA: one thread waits, and a barrier holds the
//! others; hangs, races and failed assertions must be the same. And random rounds are counted one by one, up to a bound: what
//! is proved of the CTA's wait is not violated there.
//!
//! `FENCEPOST_VOTES_PROGRAMS=N` and `FENCEPOST_ROUNDS_PROGRAMS=N` run N kernels, `…_SEED=S` others.

use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_tests::random::{Counts, Numbers, Plan, Suite, run_over};
use fencepost_tests::run::{both, config, load_text, model};
use proptest::prelude::any;
use std::fmt::Write;

fn outcome(text: &str, treatment: Treatment, unroll_max: u32) -> Result<Outcome, CheckError> {
    let program = load_text(text);
    let kernel = &program.kernels[0];
    let with = Config { unroll_max, budget: 400_000_000, ..config(treatment) };
    check(&program, kernel, &kernel.launches[0], &model(&[]), &with)
}

/// What the other CTA stores, and what the CTA that waits does in the end.
struct Around {
    launch: &'static str,
    before: String,
    behind: &'static str,
}

impl Around {
    fn random(numbers: &mut Numbers) -> Self {
        let mut before = String::new();
        for _ in 0..1 + numbers.below(2) {
            if numbers.below(3) != 0 {
                before += "        st.weak.global.u32 [data[tid & 1]], 7;\n";
            }
            if numbers.below(3) == 0 {
                before += "        bar.sync 0;\n";
            }
            let (store, value) = (
                numbers.of(&["st.release.gpu", "st.release.gpu", "st.relaxed.gpu"]),
                numbers.of(&["1", "1", "2", "tid", "1 + tid"]),
            );
            let who = numbers.of(&["tid == 0", "tid == 0", "tid == 1", "tid < 9"]);
            let _ = writeln!(before, "        if {who} {{ {store}.global.u32 [flag], {value}; }}");
        }
        let launch = numbers.of(&["warps: 2, lanes: 1", "warps: 1, lanes: 2"]);
        let behind = numbers.of(&[
            "",
            "let v = ld.weak.global.u32 [data[tid & 1]];",
            "let v = ld.weak.global.u32 [data[tid & 1]]; assert v == 7;",
            "st.weak.global.u32 [data[tid & 1]], 9;",
            "if tid == 0 { st.release.gpu.global.u32 [flag], 0; }",
        ]);
        Self { launch, before, behind }
    }

    fn kernel(&self, waits: &str) -> String {
        format!(
            "kernel k {{\n    launch {{ ctas: 2, {}, cooperative: true }}\n    global flag: u32 = 0;\n    \
             global data[2]: u32 = 0;\n    shared word: u32 = 0;\n    if ctaid == 0 {{\n{}    }} else {{\n{waits}        {}\n    \
             }}\n}}\n",
            self.launch, self.before, self.behind
        )
    }
}

/// A wait of the CTA as a vote in each round, and the same by one thread and a barrier.
fn votes(numbers: &mut Numbers) -> [String; 2] {
    let around = Around::random(numbers);
    let (mut vote, mut one) = (String::new(), String::new());
    for _ in 0..1 + numbers.below(2) {
        let awaited = numbers.of(&["== 1", "== 1", "!= 0", "== 2", ">= 1"]);
        let load = numbers.of(&["ld.acquire.gpu", "ld.acquire.gpu", "ld.relaxed.gpu", "ld.acquire.cta"]);
        let reader = numbers.of(&["tid == 0", "tid == 1"]);
        let inner = numbers.of(&["", "", "bar.warp.sync 3; ", "fence.acq_rel.gpu; "]);
        let inner =
            if around.launch.contains("lanes: 1") { inner.replace("sync 3", "sync 1") } else { inner.into() };
        let form = numbers.below(3);
        let name = ["first", "second"][usize::from(!vote.is_empty())];
        let look =
            format!("if {reader} {{ let f = {load}.global.u32 [flag]; {name} = (f {awaited}) ? 1 : 0; }}");
        vote += &match form {
            // As CUTLASS has it: who looks at nothing never ends the loop.
            0 => format!(
                "        var {name}: u32 = 0;\n        loop {{\n            let more = bar.red.and.pred 1, {name} == 0;\n            \
                 if !more {{ break; }}\n            {look}\n            {inner}\n        }}\n"
            ),
            1 => format!(
                "        loop {{\n            var {name}: u32 = 0;\n            {look}\n            {inner}\n            let any = \
                 bar.red.or.pred 1, {name} == 1;\n            if any {{ break; }}\n        }}\n"
            ),
            _ => format!(
                "        var n_{name}: u32 = 0;\n        while n_{name} == 0 {{\n            var {name}: u32 = 0;\n            {look}\n            \
                 {inner}\n            n_{name} = bar.red.popc.u32 1, {name} == 1;\n        }}\n"
            ),
        };
        one += &format!(
            "        if {reader} {{ await ({load}.global.u32 [flag]) {awaited}; }}\n        {inner}\n        bar.sync 1;\n"
        );
    }
    [vote, one].map(|waits| around.kernel(&waits))
}

#[test]
fn votes_are_waits_of_one_thread_and_a_barrier() {
    let features =
        [("a vote first", "bar.red.and"), ("one of all", "bar.red.or"), ("a count", "bar.red.popc")];
    let results = ["a hang", "no hang", "a race", "no race", "a failed assertion"];
    let plan = Plan { n_programs: 100, first_seed: 0, salt: 91, n_memory_max: 0, progress: false };
    let suite = Suite { set_aside_max: 10, ..Suite::new("votes", plan, &features, &results) };
    let (_, counts) = suite.run("", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts: &mut Counts| {
            let [vote, one] = votes(&mut Numbers(number));
            let pair = [&vote, &one].map(|text| outcome(text, Treatment::DEFAULT, 4));
            let Some([voted, awaited]) = both(pair, counts) else { return Ok(()) };
            counts.add_features(&vote, &features);
            for property in [Property::Deadlock, Property::Race, Property::Assert] {
                let of = |outcome: &Outcome| fencepost_tests::run::verdict_of_the_rest(outcome, property);
                let (found, expected) = (of(&voted), of(&awaited));
                // Rounds count where a thread is not promised to see what it waits for, or where each warp has come to the
                // second wait in its own way.
                let is_counted = found == Verdict::ProvedUpToBound;
                counts.add("counted", is_counted && property == Property::Race);
                if found != expected && !is_counted {
                    return Err(format!(
                        "{}: {found:?}, one thread {expected:?}\n{vote}\n{one}",
                        property.name()
                    ));
                }
                let is_violated = found == Verdict::Violated;
                counts.add("a hang", property == Property::Deadlock && is_violated);
                counts.add("no hang", property == Property::Deadlock && !is_violated);
                counts.add("a race", property == Property::Race && is_violated);
                counts.add("no race", property == Property::Race && !is_violated);
                counts.add("a failed assertion", property == Property::Assert && is_violated);
            }
            Ok(())
        })
    });
    let (counted, all) = (counts.of("counted"), counts.of("a race") + counts.of("no race"));
    assert!(counted * 4 <= all, "{counted} of {all} are bounded");
}

/// Rounds with whatever may be in them.
fn rounds(numbers: &mut Numbers) -> String {
    let around = Around::random(numbers);
    let mut lines = vec![numbers.of(&[
        "if tid == 0 { s = ld.acquire.gpu.global.u32 [flag]; }",
        "if tid == 0 { s = ld.acquire.gpu.global.u32 [flag]; }",
        "s = ld.relaxed.gpu.global.u32 [flag];",
        "if tid == 1 { t = ld.relaxed.gpu.global.u32 [flag]; }",
    ])];
    // What goes from one round into the next, and who looks at it.
    if numbers.below(2) == 0 {
        lines.push(numbers.of(&[
            "t = t + 1;",
            "if tid == 0 { t = t + 1; }",
            "if s == 0 { t = t + 1; }",
            "t = s;",
            "if t == 0 { t = s; }",
        ]));
        lines.push(numbers.of(&[
            "assert t < 2;",
            "assert t < 2;",
            "if t == 2 { break; }",
            "if t == 3 { st.weak.global.u32 [data[0]], 3; }",
            "if t == 2 { exit; }",
            "",
        ]));
    }
    for _ in 0..numbers.below(3) {
        lines.push(numbers.of(&[
            "let d = ld.weak.global.u32 [data[tid & 1]];",
            "if tid == 0 { st.weak.shared.u32 [word], s; }",
            "s = ld.weak.shared.u32 [word];",
            "bar.sync 2;",
            "if tid == 0 { bar.sync 2; }",
            "if s == 2 { exit; }",
            "if s == 2 { break; }",
            "assert s < 2;",
            "st.relaxed.gpu.global.u32 [data[1]], 7;",
            "t = atom.add.relaxed.gpu.global.u32 [flag], 0;",
            "fence.acq_rel.gpu;",
            "bar.warp.sync 1 << (tid & 31);",
        ]));
    }
    if numbers.below(2) == 0 {
        lines.reverse();
    }
    let body: String = lines.iter().map(|line| format!("            {line}\n")).collect();
    let (op, ty) = numbers.of(&[("and", "pred"), ("or", "pred"), ("or", "pred"), ("popc", "u32")]);
    let predicate = numbers.of(&["s == 1", "s == 1", "s != 0", "t == 1", "s == t", "s != 8", "t < 1"]);
    let leaves = match (ty, numbers.below(2)) {
        ("u32", _) => "r != 0",
        (_, 0) => "r",
        _ => "!r",
    };
    let vote = format!(
        "            let r = bar.red.{op}.{ty} 1, {predicate};\n            if {leaves} {{ break; }}\n"
    );
    let is_first = numbers.below(2) == 0;
    let body = if is_first { vote + &body } else { body + &vote };
    let last = numbers.of(&["", "", "assert t < 2;", "assert s < 2;"]);
    around.kernel(&format!(
        "        var s: u32 = {};\n        var t: u32 = 0;\n        loop {{\n{body}        }}\n        {last}\n",
        numbers.of(&[0, 0, 8])
    ))
}

#[test]
fn rounds_of_ctas_agree() {
    let features = [
        ("a write", "st.weak.shared"),
        ("a count", "t = t + 1"),
        ("a vote first", "loop {\n            let r"),
    ];
    let results = ["violated", "proved", "bounded when counted", "violated, and counted"];
    let plan = Plan { n_programs: 150, first_seed: 0, salt: 92, n_memory_max: 0, progress: false };
    let suite = Suite { set_aside_max: 10, ..Suite::new("rounds", plan, &features, &results) };
    suite.run("", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts: &mut Counts| {
            let text = rounds(&mut Numbers(number));
            let pair = [(Treatment::DEFAULT, 4), (Treatment::CTA_ROUNDS, 6)]
                .map(|(treatment, unroll_max)| outcome(&text, treatment, unroll_max));
            let Some([together, counted]) = both(pair, counts) else { return Ok(()) };
            counts.add_features(&text, &features);
            counts.add("violated", together.verdict == Verdict::Violated);
            counts.add("proved", together.verdict == Verdict::Proved);
            counts.add(
                "bounded when counted",
                together.open_loops.is_empty() && !counted.open_loops.is_empty(),
            );
            for (&(property, together), &(_, counted)) in together.properties.iter().zip(&counted.properties)
            {
                let is_hidden = together == Verdict::Proved && counted == Verdict::Violated;
                let is_invented = together == Verdict::Violated && counted == Verdict::Proved;
                if property != Property::Reachable && (is_hidden || is_invented) {
                    return Err(format!("{}: {together:?}, counted {counted:?}\n{text}", property.name()));
                }
                counts.add(
                    "violated, and counted",
                    together == Verdict::Violated && counted == Verdict::Violated,
                );
            }
            Ok(())
        })
    });
}

/// A wait in which one thread looks, and tells the others by a word of shared memory.
fn told(numbers: &mut Numbers) -> String {
    let around = Around::random(numbers);
    let reader = numbers.of(&["tid == 0", "tid == 0", "tid == 0", "tid == 1"]);
    let look = numbers.of(&[
        "ld.acquire.gpu.global.u32 [flag]",
        "ld.acquire.gpu.global.u32 [flag]",
        "ld.relaxed.gpu.global.u32 [flag]",
        "atom.acq_rel.gpu.global.cas.b32 [flag], 1, 3",
    ]);
    let says = numbers.of(&["f", "f", "f + 1", "f | 0x10"]);
    let leaves = match says {
        "f + 1" => "s == 2",
        "f | 0x10" => "s == 0x11",
        _ => numbers.of(&["s == 1", "s == 1", "s != 0"]),
    };
    // Each of these may be missing, or be something that does not do.
    let barrier = |numbers: &mut Numbers| {
        numbers.of(&["bar.sync 1;", "bar.sync 1;", "bar.sync 1;", "bar.sync 1;", "bar.warp.sync 3;", ""])
    };
    let before = numbers.of(&[
        "",
        "",
        "if tid == 1 { st.weak.shared.u32 [word], 4; }",
        "st.weak.shared.u32 [word], 1;",
    ]);
    let first = numbers.of(&[
        "",
        "",
        "",
        "let w = ld.weak.shared.u32 [word];",
        "if s == 9 { st.weak.shared.u32 [word], 1; }",
    ]);
    let second = numbers.of(&[
        "",
        "",
        "",
        "if tid == 1 { st.weak.shared.u32 [word], 1; }",
        "let u = ld.weak.shared.u32 [word];",
    ]);
    let third = numbers.of(&["", "", "", "assert s < 2;", "t = t + 1; assert t < 3;", "if s == 2 { exit; }"]);
    let behind = numbers.of(&[
        "",
        "",
        "let z = ld.weak.shared.u32 [word]; assert z == s;",
        "if tid == 1 { st.weak.shared.u32 [word], 5; }",
        "bar.sync 1; if tid == 1 { st.weak.shared.u32 [word], 5; } bar.sync 1; let z = ld.weak.shared.u32 [word]; assert z == 5;",
    ]);
    let (b1, b2, b3) = (barrier(numbers), barrier(numbers), numbers.of(&["", "", "", "bar.sync 1;"]));
    let text = around.kernel(&format!(
        "        var s: u32 = 0;\n        var t: u32 = 0;\n        {before}\n        loop {{\n            {first}\n            {b1}\n            \
         if {reader} {{ let f = {look}; st.weak.shared.u32 [word], {says}; }}\n            {second}\n            {b2}\n            \
         s = ld.weak.shared.u32 [word];\n            {third}\n            {b3}\n            if {leaves} {{ break; }}\n        }}\n        \
         {behind}\n"
    ));
    if around.launch.contains("lanes: 1") { text.replace("bar.warp.sync 3", "bar.warp.sync 1") } else { text }
}

#[test]
fn what_is_told_in_rounds_of_ctas_agrees() {
    let features = [
        ("a lock", "cas"),
        ("no barrier before", "loop {\n            \n            \n"),
        ("a read behind", "let z"),
        ("two tellers", "if tid == 1 { st.weak.shared.u32 [word], 1; }\n"),
    ];
    let results =
        ["violated", "proved", "a hang", "no hang", "bounded when counted", "violated, and counted"];
    let plan = Plan { n_programs: 200, first_seed: 0, salt: 93, n_memory_max: 0, progress: false };
    let suite = Suite { set_aside_max: 20, ..Suite::new("told", plan, &features, &results) };
    suite.run("", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts: &mut Counts| {
            let text = told(&mut Numbers(number));
            let pair = [(Treatment::FORWARDED, 4), (Treatment::CTA_ROUNDS, 6)]
                .map(|(treatment, unroll_max)| outcome(&text, treatment, unroll_max));
            let Some([together, counted]) = both(pair, counts) else { return Ok(()) };
            counts.add_features(&text, &features);
            counts.add("violated", together.verdict == Verdict::Violated);
            counts.add("proved", together.verdict == Verdict::Proved);
            counts.add(
                "bounded when counted",
                together.open_loops.is_empty() && !counted.open_loops.is_empty(),
            );
            for (&(property, together), &(_, counted)) in together.properties.iter().zip(&counted.properties)
            {
                let is_hidden = together == Verdict::Proved && counted == Verdict::Violated;
                let is_invented = together == Verdict::Violated && counted == Verdict::Proved;
                if property != Property::Reachable && (is_hidden || is_invented) {
                    return Err(format!("{}: {together:?}, counted {counted:?}\n{text}", property.name()));
                }
                let is_violated = together == Verdict::Violated;
                counts.add("a hang", property == Property::Deadlock && is_violated);
                counts.add("no hang", property == Property::Deadlock && together == Verdict::Proved);
                counts.add("violated, and counted", is_violated && counted == Verdict::Violated);
            }
            Ok(())
        })
    });
}
