//! Metamorphic laws over random small programs, under each model; `laws` in this package says which.

use fencepost::verdict::Verdict;
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

#[test]
fn dropping_the_result_of_an_atom_may_add_a_race() {
    let text = |result: &str| {
        format!(
            "kernel k {{
    launch {{ ctas: 2, cluster: 2 }}
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
