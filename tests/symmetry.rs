//! Of the orders of threads that are alike one is enough: random kernels whose threads are alike, nearly alike, or alike up
//! to a rotation get the same verdicts, reach the same final states and break the same properties whether orders are left
//! out or not.
//!
//! `FENCEPOST_SYMMETRY_PROGRAMS=N` runs N kernels, `FENCEPOST_SYMMETRY_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;

/// Words that all threads share.
const SHARED: &[&str] = &["a", "a", "b"];
/// The same, and words that follow the threads.
const OWN: &[&str] = &["a", "b", "own[STEP * tid]", "own[STEP * ((tid + 1) % N)]"];
/// Where the threads are, with what numbers them.
const SHAPES: &[(&str, &str)] = &[("ctas", "ctaid"), ("ctas", "ctaid"), ("warps", "tid"), ("lanes", "tid")];

/// A body of a few statements, with at least one atomic on a word that all share.
fn body(numbers: &mut Numbers, n_statements: u64) -> String {
    let mut text = String::new();
    let mut registers = 0;
    let atomic_at = numbers.below(n_statements);
    for at in 0..n_statements {
        let value = |numbers: &mut Numbers, registers: u64| {
            if registers > 0 && numbers.below(3) == 0 {
                format!("r{}", numbers.below(registers))
            } else {
                // Now and then something that tells threads apart.
                numbers.of(&["1", "1", "2", "1", "2", "1", "2", "tid"]).to_owned()
            }
        };
        let scope = numbers.of(&["gpu", "gpu", "gpu", "cta"]);
        let kind = if at == atomic_at { numbers.below(4) } else { numbers.below(10) };
        let given = value(numbers, registers);
        let word = numbers.of(if kind < 4 { SHARED } else { OWN });
        let mut result = |operation: String| {
            registers += 1;
            format!("let r{} = {operation};", registers - 1)
        };
        let sem = numbers.of(&["relaxed", "acquire", "release", "acq_rel"]);
        let statement = match kind {
            0 => result(format!("atom.add.{sem}.{scope}.u32 [{word}], 1")),
            1 => result(format!("atom.exch.{sem}.{scope}.b32 [{word}], {given}")),
            2 => result(format!("atom.cas.{sem}.{scope}.b32 [{word}], {}, {given}", numbers.below(2))),
            3 => format!("red.add.relaxed.{scope}.u32 [{word}], {given};"),
            4 => format!("st.weak.u32 [{word}], {given};"),
            5 => format!("st.{}.{scope}.u32 [{word}], {given};", numbers.of(&["relaxed", "release"])),
            6 => result(format!("ld.weak.u32 [{word}]")),
            7 => result(format!("ld.{}.{scope}.u32 [{word}]", numbers.of(&["relaxed", "acquire"]))),
            8 => format!("fence.{}.{scope};", numbers.of(&["acq_rel", "sc"])),
            _ => format!("await ld.acquire.gpu.u32 [{word}] >= 1;"),
        };
        text += &format!("        {statement}\n");
        if registers > 0 && numbers.below(4) == 0 {
            let (register, bound) = (numbers.below(registers), numbers.below(3));
            text += &match numbers.below(3) {
                0 => format!("        assert r{register} != {bound};\n"),
                1 => format!("        assert r{register} <= {bound};\n"),
                _ => format!("        if r{register} == {bound} {{ st.relaxed.gpu.u32 [b], 1; }}\n"),
            };
        }
    }
    text
}

/// Three or four threads that are alike, and sometimes one that is not; every small final state is asked for, sometimes with
/// words of single threads, or with several of them seen as one.
fn kernel(numbers: &mut Numbers) -> String {
    let n = 3 + u64::from(numbers.below(4) == 0);
    let has_other = numbers.below(3) == 0;
    let seen =
        numbers.of(&["", "", " && [own[0]] <= 1", " && WIDE", " && [bytes[1]] == 0 && [bytes[5]] == 0"]);
    let wide: Vec<String> = (0..n).map(|at| format!("[wide[{at}]] == 0x500000001")).collect();
    let seen = seen.replace("WIDE", &format!("({})", wide.join(" || ")));
    let n_statements = 1 + numbers.below(if n == 3 { 3 } else { 2 });
    let alike = body(numbers, n_statements);
    let other = if has_other { body(numbers, 1) } else { String::new() };
    let states: Vec<String> = (0..=n)
        .flat_map(|a| (0..3).map(move |b| (a, b)))
        .map(|(a, b)| format!("        reachable [a] == {a} && [b] == {b}{seen};\n"))
        .collect();
    let (shape, number) = numbers.of(SHAPES);
    let step = 1 + numbers.below(2);
    let text = format!(
        "const N = {n};\nconst STEP = {step};\nkernel k {{\n    launch {{ {shape}: {}{} }}\n    \
         global a: u32 = 0;\n    global b: u32 = 0;\n    global own[8]: u32 = {{ 0, 5, 0, 7, 0, 9, 0, 11 }};\n    \
         view wide[4]: u64 of own;\n    view bytes[32]: u8 of own;\n    \
         if tid < N {{\n{alike}    }} else {{\n{other}    }}\n    final {{\n{}    }}\n}}\n",
        n + u64::from(has_other),
        if shape == "ctas" { ", cooperative: true" } else { "" },
        states.concat()
    );
    text.replace("tid", number).replace("ctactaid", "ctaid")
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("threads in CTAs of their own", "{ ctas"),
    ("warps", "{ warps"),
    ("lanes", "{ lanes"),
    ("several words seen as one", "[wide"),
    ("a word seen in parts", "[bytes"),
    ("a thread that is not alike", "} else {\n        "),
];

#[test]
fn alike_kernels_agree() {
    let plan = Plan { n_programs: 300, first_seed: 0, salt: 14, n_memory_max: 0, progress: false };
    let used = "orders left out";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 10, one_in: 50, ..Suite::new("symmetry", plan, FEATURES, &results) };
    let off = Treatment { symmetry: false, ..Treatment::DEFAULT };
    let is_used = |found: &Outcome, _: &Outcome| !found.graph.representative.is_empty();
    Switched { kernel, on: Treatment::DEFAULT, off, used, is_used }.agree(&suite, FEATURES);
}

/// Each thread keeps its ticket; which of them has which is seen through another width than that of the words.
fn ticket_kernel(view: &str, claim: &str) -> String {
    format!(
        "kernel k {{\n    launch {{ ctas: 3, cooperative: true }}\n    global c: u32 = 0;\n    \
         global own[6]: u32 = {{ 0, 5, 0, 7, 0, 9 }};\n    {view}\n    \
         let t = atom.add.relaxed.gpu.u32 [c], 1;\n    st.relaxed.gpu.u32 [own[2 * ctaid]], t;\n    \
         final {{ assert {claim}; }}\n}}\n"
    )
}

#[test]
fn words_that_move_are_not_seen_in_other_widths() {
    // Only thread 0's word has 5 behind it: that it always has ticket 0 would follow from leaving out the other orders.
    let any = |what: fn(u32) -> String| (0..3).map(what).collect::<Vec<_>>().join(" || ");
    let wide = any(|at| format!("[wide[{at}]] == 0x500000000"));
    let narrow = any(|at| format!("([low[{}]] == 0 && [low[{}]] == 5)", 8 * at, 8 * at + 4));
    let same = any(|at| format!("[own[{}]] == 0", 2 * at));
    let cases = [
        (ticket_kernel("view wide[3]: u64 of own;", &wide), Verdict::Violated),
        (ticket_kernel("view low[24]: u8 of own;", &narrow), Verdict::Violated),
        (ticket_kernel("", &same), Verdict::Proved),
    ];
    for (text, expected) in cases {
        let found = outcomes(&text, &model(&[]), &config(Treatment::DEFAULT)).remove(0);
        assert_eq!(found.verdict, expected, "{text}");
    }
}
