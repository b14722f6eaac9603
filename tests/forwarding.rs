//! Loads of shared memory that can only see one store: random kernels in which a thread tells others what it has found break the
//! same properties whether such a load returns the store's value or an unknown of its own.
//!
//! `FENCEPOST_FORWARDING_PROGRAMS=N` runs N kernels, `FENCEPOST_FORWARDING_SEED=S` others.

use fencepost::check::Config;
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;
use std::fmt::Write as _;

const WHO: &[&str] = &["tid == 0", "tid == 0", "tid == 0", "tid == 0", "tid == 1", "laneid == 0", "true"];
const WORDS: &[&str] = &["word[0]", "word[0]", "word[0]", "word[0]", "word[0]", "word[1]", "word[tid & 1]"];

/// What somebody finds out, and where it is told; `v` is what was read last.
fn tell(numbers: &mut Numbers, indent: &str) -> String {
    let who = numbers.of(WHO);
    let word = numbers.of(WORDS);
    let found = numbers.of(&[
        "atom.relaxed.gpu.global.add.u32 [count], 1",
        "atom.relaxed.gpu.global.add.u32 [count], 1",
        "atom.acq_rel.gpu.global.cas.b32 [lock], 0, 1",
        "ld.relaxed.gpu.global.u32 [flag]",
        "ld.weak.global.u32 [flag]",
    ]);
    let value = numbers.of(&["r", "r", "r", "r", "(r == 1) as u32", "r & 1", "r + 1", "2", "v + r"]);
    let strength = numbers.of(&["weak", "weak", "weak", "weak", "weak", "weak", "relaxed.cta"]);
    let store = match numbers.below(20) {
        0 => format!("let x = atom.relaxed.cta.shared.exch.b32 [{word}], {value}"),
        1 => format!("st.{strength}.shared.u16 [half[0]], 1"),
        2 => format!("st.{strength}.shared.u32 [twin[0]], {value}"),
        _ => format!("st.{strength}.shared.u32 [{word}], {value}"),
    };
    let store = if numbers.below(8) == 0 { format!("if r != 1 {{ {store}; }}") } else { format!("{store};") };
    format!("{indent}if {who} {{ let r = {found}; {store} }}\n")
}

fn meet(numbers: &mut Numbers, indent: &str) -> String {
    let barrier = numbers.of(&[
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.warp.sync 0x3;",
        "if v != 1 { bar.sync 0; }",
        "",
    ]);
    if barrier.is_empty() { String::new() } else { format!("{indent}{barrier}\n") }
}

fn look(numbers: &mut Numbers, indent: &str) -> String {
    let word = numbers.of(WORDS);
    let strength = numbers.of(&["weak", "weak", "weak", "weak", "weak", "weak", "weak", "relaxed.cta"]);
    format!("{indent}v = ld.{strength}.shared.u32 [{word}];\n")
}

fn act(numbers: &mut Numbers, indent: &str) -> String {
    let condition = numbers.of(&["v == 0", "v == 1", "v < 2", "v != 0", "tid == 1"]);
    let what = numbers.of(&[
        "st.weak.global.u32 [out[tid & 1]], v;",
        "st.weak.global.u32 [out[tid & 1]], v;",
        "st.weak.global.u32 [out[v & 1]], tid;",
        "let o = ld.weak.global.u32 [out[tid & 1]];",
        "st.relaxed.gpu.global.u32 [flag], v;",
        "bar.sync 0;",
        "exit;",
        "v = v + 1;",
        "st.weak.shared.u32 [word[0]], v;",
        "assert v < 2;",
        "fence.acq_rel.gpu; st.weak.global.u32 [out[0]], 1;",
    ]);
    format!("{indent}if {condition} {{ {what} }}\n")
}

/// Threads find something out, tell, meet, look and act, once or in rounds. Any of it may be missing or be done by others.
fn kernel(numbers: &mut Numbers) -> String {
    let (ctas, warps) = numbers.of(&[(1, 1), (1, 1), (2, 1), (1, 2)]);
    let mut text = format!(
        "kernel k {{\n    launch {{ ctas: {ctas}, warps: {warps}, lanes: 2, cooperative: true }}\n    \
         global count: u32 = 0; global lock: u32 = 0; global flag: u32 = 0; global out[2]: u32 = 0;\n    \
         shared word[2]: u32 = 0; shared half[4]: u16 alias word; \
         shared twin[2]: u32 alias word;\n    var v: u32 = 0;\n"
    );
    let in_loop = numbers.below(2) == 0;
    let indent = if in_loop { "        " } else { "    " };
    if in_loop {
        text += "    loop {\n";
    }
    for _ in 0..if in_loop { 1 } else { 1 + numbers.below(2) } {
        text += &tell(numbers, indent);
        text += &meet(numbers, indent);
        text += &look(numbers, indent);
        if numbers.below(8) != 0 {
            text += &meet(numbers, indent);
        }
        for _ in 0..numbers.below(3) {
            text += &act(numbers, indent);
        }
    }
    if in_loop {
        let over = numbers.of(&["v >= 1", "v >= 1", "v != 0", "v == 2"]);
        let _ = writeln!(text, "        if {over} {{ break; }}\n    }}");
        if numbers.below(2) == 0 {
            text += &meet(numbers, "    ");
            text += &look(numbers, "    ");
        }
    }
    text + &act(numbers, "    ") + "}\n"
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("rounds", "loop {"),
    ("two warps", "warps: 2"),
    ("a warp's barrier", "bar.warp.sync"),
    ("a barrier of some", "{ bar.sync 0; }"),
    ("halves", "half[0]], 1"),
    ("another address", "[twin[0]]"),
    ("an exit", "exit;"),
];

#[test]
fn what_is_told_to_others_agrees() {
    let plan = Plan { n_programs: 400, first_seed: 0, salt: 91, n_memory_max: 0, progress: false };
    let used = "forwarded";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 10, one_in: 60, ..Suite::new("forwarding", plan, FEATURES, &results) };
    let is_used = |found: &Outcome, _: &Outcome| found.graph.n_forwarded > 0;
    // Who waits with its CTA for what it is told needs no bound with it on (`tests/cta_waits.rs`): here rounds count.
    let [on, off] =
        [Treatment::FORWARDED, Treatment::UNFORWARDED].map(|treatment| treatment.and(Treatment::CTA_ROUNDS));
    Switched { kernel, on, off, used, is_used }.agree(&suite, FEATURES);
}

/// The last CTA is told to all of its threads through a word.
fn last(between: &str, behind: &str) -> String {
    format!(
        "kernel last {{
    launch {{ ctas: 2, lanes: 8 }}
    global count: u32 = 0;
    global part[16]: u32;
    global out[8]: u32;
    shared last: u32;
    st.weak.global.u32 [part[ctaid * 8 + tid]], 1;
    bar.sync 0;
    if tid == 0 {{
        fence.acq_rel.gpu;
        let r = atom.relaxed.gpu.global.add.u32 [count], 1;
        fence.acq_rel.gpu;
        st.weak.shared.u32 [last], (r == 1) as u32;
    }}
    {between}
    let l = ld.weak.shared.u32 [last];
    {behind}
    if l == 1 {{ let a = ld.weak.global.u32 [part[tid]]; let b = ld.weak.global.u32 [part[8 + tid]]; \
         st.weak.global.u32 [out[tid]], a + b; }}
}}
"
    )
}

fn outcome(text: &str, treatment: Treatment) -> Outcome {
    outcomes(text, &model(&[]), &config(treatment)).remove(0)
}

#[test]
fn a_word_that_all_threads_read_is_one_value() {
    let found = outcome(&last("bar.sync 0;", ""), Treatment::DEFAULT);
    assert_eq!((found.verdict, found.graph.n_forwarded), (Verdict::Proved, 16));
    let found = outcome(&last("bar.sync 0;", ""), Treatment::UNFORWARDED);
    assert_eq!((found.verdict, found.graph.n_forwarded), (Verdict::Proved, 0));
}

/// Without the barrier in front, and where somebody writes again without one behind.
#[test]
fn what_may_be_written_meanwhile_is_no_value() {
    for (between, behind) in [
        ("", ""),
        ("bar.warp.sync 0x7f;", ""),
        ("bar.sync 0;", "if tid == 3 { st.weak.shared.u32 [last], 0; }"),
        ("bar.sync 0; if tid == 5 { st.weak.shared.u32 [last], 1; }", "bar.sync 0;"),
    ] {
        let found = outcome(&last(between, behind), Treatment::DEFAULT);
        assert_eq!(found.verdict, Verdict::Violated, "{between} {behind}");
        assert!(found.graph.n_forwarded < 16, "{between} {behind}");
    }
}

/// Who ends instead of arriving lets others through, and orders nothing.
#[test]
fn who_ends_instead_of_arriving_tells_nothing() {
    let kernel = |before: &str| {
        format!(
            "kernel k {{
    launch {{ lanes: 16 }}
    global flag: u32 = 0;
    shared word: u32 = 0;
    if tid == 0 {{ let r = ld.relaxed.gpu.global.u32 [flag]; st.weak.shared.u32 [word], r; {before} }}
    bar.sync 0;
    let v = ld.weak.shared.u32 [word];
}}
"
        )
    };
    let found = outcome(&kernel(""), Treatment::DEFAULT);
    assert_eq!((found.verdict, found.graph.n_forwarded), (Verdict::Proved, 16));
    for before in ["exit;", "if r == 0 { exit; }"] {
        let found = outcome(&kernel(before), Treatment::DEFAULT);
        assert_eq!(found.verdict, Verdict::Violated, "{before}");
        // What it has told itself, where it does not end, it may read.
        assert!(found.graph.n_forwarded <= 1, "{before}");
    }
}

/// Through another virtual address barriers order nothing (MM-41): what was written there may be read still.
#[test]
fn a_store_through_another_address_is_not_overwritten() {
    let kernel = |written: &str, tid: u32| {
        format!(
            "kernel k {{
    launch {{ lanes: 16 }}
    global x: u32 = 0;
    shared a: u32 = 0;
    shared b: u32 alias a;
    if tid == {tid} {{ st.weak.shared.u32 [{written}], 7; }}
    bar.sync 0;
    if tid == 1 {{ let r = ld.relaxed.gpu.global.u32 [x]; st.weak.shared.u32 [a], r; }}
    bar.sync 0;
    if tid >= 2 {{ let v = ld.weak.shared.u32 [a]; assert v == 0; }}
}}
"
        )
    };
    let asked = |text: &str| {
        let config = Config { properties: vec![Property::Assert], ..config(Treatment::DEFAULT) };
        let found = outcomes(text, &model(&[]), &config).remove(0);
        (found.verdict, found.graph.n_forwarded)
    };
    for tid in [0, 1] {
        assert_eq!(asked(&kernel("a", tid)), (Verdict::Proved, 14), "{tid}");
        assert_eq!(asked(&kernel("b", tid)), (Verdict::Violated, 0), "{tid}");
    }
}

/// Where there is tensor memory, what depends on a value that was read comes after its write.
#[test]
fn nothing_is_forwarded_beside_tensor_memory() {
    let told = |more: &str| {
        format!(
            "//! target sm_100a
kernel k {{
    launch {{ lanes: 32 }}
    global x: u32 = 0;
    shared word: u32;
    shared slot: u32;
    {more}
    if tid == 0 {{ let r = ld.relaxed.gpu.global.u32 [x]; st.weak.shared.u32 [word], r; }}
    bar.sync 0;
    let v = ld.weak.shared.u32 [word];
}}
"
        )
    };
    let found = outcome(&told(""), Treatment::DEFAULT);
    assert_eq!((found.graph.n_forwarded, found.statistics.off), (32, vec![]));
    let allocated = "tmem acc[2]: u32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 [acc], 32;";
    let found = outcome(&told(allocated), Treatment::DEFAULT);
    assert_eq!(found.graph.n_forwarded, 0);
    assert!(
        found.statistics.off.iter().any(|off| off.deduction == "forwarding"),
        "{:?}",
        found.statistics.off
    );
}
