//! The checker against its dull twin on small random programs of `multimem` instructions, and on fixed shapes, under two
//! readings.

use fencepost::encode::Treatment;
use fencepost_tests::oracle::Comparison;
use fencepost_tests::oracle::multimem::{compare_random, pairs, suite};

/// Shapes worth keeping, with whether they race under the two readings.
const SHAPES: &[(&str, &str, [bool; 2])] = &[
    (
        "the release of one instance says nothing of the read of another",
        "if gpuid == 0 { multimem.red.release.sys.add.u32 [mc], 2; }
    if gpuid == 1 {
        await ld.acquire.sys.u32 [c] >= 2;
        multimem.st.weak.u32 [mc], 2;
    }",
        [true, true],
    ),
    (
        "message passing through the multimem address",
        "if gpuid == 0 { st.weak.u32 [x], 1; multimem.red.release.sys.add.u32 [mc], 1; }
    if gpuid == 1 { await (multimem.ld_reduce.acquire.sys.min.u32 [mc]) >= 1; let r = ld.weak.u32 [x]; }",
        [false, false],
    ),
    (
        "a barrier that polls the own instance",
        "multimem.red.release.sys.add.u32 [mc], 1;
    await ld.acquire.sys.u32 [c] >= 2;",
        [true, false],
    ),
    (
        "a store to all, ordered by a flag and an alias fence",
        "if gpuid == 0 { multimem.st.weak.u32 [mc], 3; st.release.sys.u32 [x], 1; }
    if gpuid == 1 { await ld.acquire.sys.u32 [x] == 1; fence.proxy.alias; let r = ld.weak.u32 [c]; st.weak.u32 [d], r; }",
        [false, false],
    ),
];

#[test]
fn shapes_agree() {
    for (pair, reading) in pairs().iter().zip(0..) {
        for (name, body, racy) in SHAPES {
            let text = format!(
                "kernel k {{\n    launch {{ gpus: 2 }}\n    global x: u32 = 0;\n    symmetric c: u32 = 0;\n    \
                 symmetric d: u32 = 0;\n    multimem mc: u32 alias c;\n    {body}\n"
            );
            match pair.compare(&text, Treatment::DEFAULT) {
                Ok(Comparison::Agreed { races, .. }) => {
                    assert_eq!(races, racy[reading], "{name}, reading {reading}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[test]
fn random_programs_agree() {
    suite().run(" under two readings", |plan| compare_random(&pairs(), plan));
}
