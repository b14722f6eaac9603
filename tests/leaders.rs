//! One leader after the other: random kernels that elect lanes break the same properties whether each lane that stands for
//! others is elected in a check of its own, or any lane in one formula.
//!
//! `FENCEPOST_LEADERS_PROGRAMS=N` runs N kernels, `FENCEPOST_LEADERS_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;

const EACH: Treatment = Treatment::SPLIT;
const ANY: Treatment = Treatment { leaders: false, ..Treatment::SPLIT };

/// Something that a thread does, by whom it is done and what it goes by.
fn step(numbers: &mut Numbers, indent: &str) -> String {
    let who = numbers.of(&[
        "",
        "",
        "",
        "if e",
        "if e",
        "if e",
        "if e",
        "if !e",
        "if laneid == 1",
        "if laneid != 2",
        "if tid == 0",
        "if warpid == 0",
        "if e && laneid != 1",
        "if v == 1",
        "if l == 1",
    ]);
    let what = numbers.of(&[
        "st.weak.global.u32 [out[0]], 1;",
        "st.weak.global.u32 [out[tid & 3]], 1;",
        "st.weak.global.u32 [out[laneid & 1]], v;",
        "st.relaxed.gpu.global.u32 [flag], 1;",
        "st.relaxed.gpu.global.u32 [flag], laneid;",
        "st.release.gpu.global.u32 [flag], 1;",
        "v = ld.acquire.gpu.global.u32 [flag];",
        "v = ld.relaxed.gpu.global.u32 [flag];",
        "v = ld.weak.global.u32 [out[0]];",
        "v = ld.weak.global.u32 [out[tid & 3]];",
        "v = laneid;",
        "v = v + 1;",
        "v = atom.relaxed.gpu.global.add.u32 [count], 1;",
        "assert v < 2;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.warp.sync 0x7;",
        "bar.warp.sync 0x3;",
        "fence.acq_rel.gpu;",
        "l = shfl.sync.idx.b32 v, 0, 0x1f, 0x7;",
        "l = vote.sync.ballot.b32 v == 1, 0x7;",
        "mbarrier.arrive.shared.b64 _, [b];",
        "await mbarrier.test_wait.parity.shared.b64 [b], 0;",
        "exit;",
        "await ld.relaxed.gpu.global.u32 [flag] != 0;",
    ]);
    if who.is_empty() { format!("{indent}{what}\n") } else { format!("{indent}{who} {{ {what} }}\n") }
}

/// Lanes do something, elect one of them, and do more.
fn kernel(numbers: &mut Numbers) -> String {
    let warps = numbers.of(&[1, 1, 2]);
    let mut text = format!(
        "kernel k {{\n    launch {{ warps: {warps}, lanes: 3 }}\n    global count: u32 = 0; global flag: u32 = 0; \
         global out[4]: u32 = 0;\n    shared b: mbarrier;\n    var v: u32 = 0;\n    var l: u32 = 0;\n    \
         if tid == 0 {{ mbarrier.init.shared.b64 [b], 1; }}\n    bar.sync 0;\n"
    );
    for _ in 0..numbers.below(2) {
        text += &step(numbers, "    ")
            .replace("if e ", "if v == 0 ")
            .replace("if e&", "if v == 0 &")
            .replace("!e", "v != 0")
            .replace("if e", "if v == 0");
    }
    let elect = numbers.of(&[
        "let e = elect.sync 0x7;",
        "let e = elect.sync 0x7;",
        "let e = elect.sync 0x7;",
        "let e = elect.sync 0xffffffff;",
        "let {l0, e} = elect.sync 0x7; l = l0;",
        "let e = elect.sync 0x3;",
    ]);
    if elect.contains("0x3;") {
        text += "    if laneid == 2 { exit; }\n";
    }
    text += &format!("    {elect}\n");
    for _ in 0..2 + numbers.below(3) {
        text += &step(numbers, "    ");
    }
    if numbers.below(4) == 0 {
        text += "    let f = elect.sync 0x7;\n    if f { st.weak.global.u32 [out[3]], 1; }\n";
    }
    text + "}\n"
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("two warps", "warps: 2"),
    ("a lane's number", "laneid"),
    ("what lanes tell one another", "shfl.sync"),
    ("the leader's number", "{l0, e}"),
    ("a second election", "let f"),
    ("an mbarrier's wait", "test_wait"),
];

#[test]
fn one_leader_after_the_other_agrees() {
    let plan = Plan { n_programs: 600, first_seed: 0, salt: 117, n_memory_max: 0, progress: false };
    let used = "spared";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 60, one_in: 60, ..Suite::new("leaders", plan, FEATURES, &results) };
    let is_used = |found: &Outcome, _: &Outcome| found.graph.n_unelected > 0;
    Switched { kernel, on: EACH, off: ANY, used, is_used }.agree(&suite, FEATURES);
}

/// How many lanes are not elected, and what comes of it.
fn found(body: &str) -> (usize, Verdict) {
    let text = format!(
        "kernel k {{
    launch {{ lanes: 16 }}
    global flag: u32 = 0;
    global out[16]: u32 = 0;
    {body}
}}
"
    );
    let found = outcomes(&text, &model(&[]), &config(Treatment::DEFAULT)).remove(0);
    let all = found.graphs().map(|graph| graph.n_unelected).min().unwrap_or(0);
    (all * 100 + found.graphs().count(), found.verdict)
}

#[test]
fn lanes_that_do_the_same_are_elected_once() {
    let store = "let e = elect.sync 0xffff; if e { st.weak.global.u32 [out[0]], 1; }";
    assert_eq!(found(store), (1501, Verdict::Proved));
    // The first has done something before, and its leader races with nobody; so has each.
    let first = format!("if tid == 0 {{ st.weak.global.u32 [out[1]], 1; }} {store}");
    assert_eq!(found(&first), (1502, Verdict::Proved));
    let all = format!("st.weak.global.u32 [out[tid]], 1; bar.warp.sync 0xffff; {store}");
    assert_eq!(found(&all), (1, Verdict::Proved));
    // Without the barrier one of them races with most leaders.
    let all = format!("st.weak.global.u32 [out[tid]], 1; {store}");
    assert_eq!(found(&all).1, Verdict::Violated);
}

/// What goes wrong with one leader only is found.
#[test]
fn a_mistake_of_one_leader_is_found() {
    for lane in [0, 1, 7, 15] {
        let wrong = format!(
            "let e = elect.sync 0xffff;
    if e {{ st.weak.global.u32 [out[0]], 1; }}
    if laneid == {lane} {{ if e {{ assert false; }} }}"
        );
        assert_eq!(found(&wrong).1, Verdict::Violated, "{lane}");
        let other = format!(
            "let e = elect.sync 0xffff;
    if laneid == {lane} {{ st.weak.global.u32 [out[0]], 1; }}
    bar.warp.sync 0xffff;
    if e {{ let v = ld.weak.global.u32 [out[0]]; assert v == 1; }}"
        );
        assert_eq!(found(&other).1, Verdict::Proved, "{lane}");
    }
    // Who is told by another lane.
    let told = "let e = elect.sync 0xffff;
    let x = shfl.sync.idx.b32 e as u32, 5, 0x1f, 0xffff;
    if tid == 0 { assert x == 0; }";
    assert_eq!(found(told).1, Verdict::Violated);
    // By the leader's number.
    let told = "let {l, e} = elect.sync 0xffff;
    if tid == 0 { assert l != 9; }";
    assert_eq!(found(told).1, Verdict::Violated);
}
