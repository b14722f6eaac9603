//! Metamorphic laws over random small programs, under each model; `laws` in this package says which.

use fencepost::verdict::Verdict;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_tests::agreement;
use fencepost_tests::laws::{Laws, ask};
use fencepost_tests::run;

fn laws_hold(model: &str) {
    let (laws, title) = (Laws::new(model), format!(" under {model}"));
    let suite = laws.suite();
    let (plan, counts) = suite.run(&title, |plan| laws.hold_random(plan));
    if suite.is_committed(plan) {
        agreement::assert_on_page(&agreement::laws_row(&laws, &counts));
    }
}

#[test]
fn laws_hold_under_ptx() {
    laws_hold("ptx");
}

#[test]
fn laws_hold_under_7_5() {
    laws_hold("ptx-7.5");
}

#[test]
fn laws_hold_under_6_0() {
    laws_hold("ptx-6.0");
}

/// What the three threads of a message passed on by an atomic do; `answer` is what the second one does with the flag.
fn passed_on(answer: &str) -> String {
    format!(
        "kernel k {{
    launch {{ ctas: 3 }}
    global x: u32 = 0;
    global flag: u32 = 0;
    global seen: u32 = 0;
    global out: u32 = 1;
    if ctaid == 0 {{
        st.weak [x], 1;
        st.release.gpu [flag], 2;
    }}
    if ctaid == 1 {{
        {answer}
        if (ld.relaxed.gpu [seen]) == 3 {{
            let old = ld.weak [x];
            st.weak [out], old;
        }}
    }}
    if ctaid == 2 {{
        let told = ld.relaxed.gpu [flag];
        st.relaxed.gpu [seen], told;
    }}
"
    )
}

#[test]
fn dropping_the_result_of_an_atom_may_add_a_race() {
    let asked = "    final {\n        assert [out] == 1;\n    }\n";
    let of = |model: &MemoryModel, answer: &str| {
        let answers = ask(model, &passed_on(answer), asked);
        assert_eq!(answers.race, answers.no_other, "{answer}");
        answers.race
    };
    let (plain, old) = (run::model(&[]), run::model(&["sink-never-acquires"]));
    let rows = [
        (
            "let mine = atom.relaxed.gpu.add.u32 [flag], 1; fence.acquire.gpu;",
            Verdict::Proved,
            Verdict::Proved,
        ),
        (
            "let _ = atom.relaxed.gpu.add.u32 [flag], 1; fence.acquire.gpu;",
            Verdict::Violated,
            Verdict::Violated,
        ),
        ("red.relaxed.gpu.add.u32 [flag], 1; fence.acquire.gpu;", Verdict::Violated, Verdict::Violated),
        ("let _ = atom.acquire.gpu.add.u32 [flag], 1;", Verdict::Proved, Verdict::Violated),
        ("let _ = atom.acq_rel.gpu.add.u32 [flag], 1;", Verdict::Proved, Verdict::Violated),
        ("let _ = atom.release.gpu.add.u32 [flag], 1;", Verdict::Violated, Verdict::Violated),
        ("let _ = atom.acquire.cta.add.u32 [flag], 1;", Verdict::Violated, Verdict::Violated),
    ];
    for (answer, now, before) in rows {
        assert_eq!((of(&plain, answer), of(&old, answer)), (now, before), "MM-24, A-7: {answer}");
    }
}
