//! Verdicts of the same kernels in a plain grid, in a cooperative one and as a cluster: how far `.cluster` reaches (MM-18),
//! and who may wait for whom (LT-5, LT-6); alone, and launched by a program.

use fencepost::encode::Treatment;
use fencepost_tests::run::Expect::{self, Fine, Found};
use fencepost_tests::run::{config, model, outcomes};

const NARROW: Expect = Found("race::scope-too-narrow");
const ABSENT: Expect = Found("deadlock::not-co-resident");

/// The last CTA of the last GPU waits for the first one of the first.
fn message(launch: &str, scope: &str) -> String {
    format!(
        "global data: u32 = 0;
global flag: u32 = 0;
kernel message {{
    launch {{ {launch} }}
    if ctaid == 0 && gpuid == 0 {{
        st.weak.global.u32 [data], 42;
        st.release.{scope}.global.u32 [flag], 1;
    }}
    if ctaid == nctaid - 1 && gpuid == ngpuid - 1 {{
        await ld.acquire.{scope}.global.u32 [flag] == 1;
        let v = ld.weak.global.u32 [data];
        assert v == 42;
    }}
}}
"
    )
}

fn judge(name: &str, text: &str, expect: Expect) {
    let model = model(&[]);
    let found = outcomes(text, &model, &config(Treatment::DEFAULT));
    // Kernels that the program of a text does not launch are checked alone, and not asked about here.
    let program = found.iter().find(|outcome| outcome.graph.hierarchy.host().is_some());
    let outcome = program.or(found.first()).expect("there is a kernel");
    expect.judge(name, text, outcome, &model);
}

/// Shape, scope, and what is found.
const ROWS: &[(&str, &str, Expect)] = &[
    ("ctas: 2", "gpu", ABSENT),
    ("ctas: 2", "cluster", NARROW),
    ("ctas: 2, cooperative: true", "gpu", Fine),
    ("ctas: 2, cooperative: true", "cluster", NARROW),
    ("ctas: 2, cooperative: true", "cta", NARROW),
    ("ctas: 2, cluster: 2", "gpu", Fine),
    ("ctas: 2, cluster: 2", "cluster", Fine),
    ("ctas: 2, cluster: 2", "cta", NARROW),
    ("ctas: 4, cluster: 2", "gpu", ABSENT),
    ("ctas: 4, cluster: 2", "cluster", NARROW),
    ("ctas: 4, cluster: 2, cooperative: true", "gpu", Fine),
    ("ctas: 4, cluster: 2, cooperative: true", "cluster", NARROW),
    ("ctas: 4, cluster: 4", "cluster", Fine),
    ("gpus: 2", "sys", ABSENT),
    ("gpus: 2, cooperative: true", "sys", Fine),
    ("gpus: 2, cooperative: true", "gpu", NARROW),
    ("gpus: 2, ctas: 2, cluster: 2", "sys", ABSENT),
    ("gpus: 2, ctas: 2, cooperative: true", "sys", Fine),
];

#[test]
fn shapes_say_who_is_in_scope_and_who_is_there() {
    for &(launch, scope, expect) in ROWS {
        judge(&format!("{launch} at .{scope}"), &message(launch, scope), expect);
    }
}

/// A program adds nothing to what the shape says.
#[test]
fn a_program_launches_the_same_shapes() {
    for &(launch, scope, expect) in ROWS {
        let text = message(launch, scope) + "program p { stream s; launch message on s; }\n";
        judge(&format!("{launch} at .{scope}, in a program"), &text, expect);
    }
}

/// What comes before and after a cooperative launch on several devices.
#[test]
fn grids_that_are_launched_together_follow_their_streams() {
    let program = |before: &str, scope: &str, body: &str| {
        message("gpus: 2, cooperative: true", scope)
            + before
            + "\nkernel read { launch { gpus: 2 } if gpuid == 0 { let v = ld.weak.global.u32 [data]; } }\n"
            + "kernel raise { st.relaxed.sys.global.u32 [flag], 1; }\n"
            + &format!("program p {{ stream a, b; {body} }}\n")
    };
    let first = "kernel first { launch { gpus: 2 } if gpuid == 1 { st.weak.global.u32 [data], 1; } }";
    let twice = "for i in 0..2 { launch message on a; st.relaxed.sys [flag], 0; }";
    for (name, before, body, expect) in [
        ("the same device", first, "launch message on a; launch read on a;", Fine),
        // Launched together is not: everything before on any device is visible on each.
        (
            "another device's earlier kernel",
            first,
            "launch first on a; launch message on a;",
            Found("race::uniform"),
        ),
        ("another stream", first, "launch message on a; launch raise on b;", Found("race::uniform")),
        ("twice without waiting", first, twice, Found("race::uniform")),
    ] {
        judge(name, &program(before, "sys", body), expect);
    }
    // A grid that waits for what a kernel behind it does: nobody starts that.
    let spin = "global go: u32 = 0;
kernel spin { launch { gpus: 2, cooperative: true } await ld.relaxed.sys [go] == 1; }
kernel raise { launch { gpus: 2 } if gpuid == 1 { st.relaxed.sys [go], 1; } }
";
    let order = |body: &str| format!("{spin}program p {{ stream a; {body} }}\n");
    judge(
        "the wrong way round",
        &order("launch spin on a; launch raise on a;"),
        Found("deadlock::spin-never-ends"),
    );
    judge("in order", &order("launch raise on a; launch spin on a;"), Fine);
}
