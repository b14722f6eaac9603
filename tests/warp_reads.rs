//! What the lanes of a warp name alike in an aligned matrix operation is read once for the warp: random kernels whose
//! lanes meet before and after break the same properties whether that is so or each lane reads for itself.
//!
//! `FENCEPOST_WARP_READS_PROGRAMS=N` runs N kernels, `FENCEPOST_WARP_READS_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;

/// A statement by all or by some.
fn by(condition: &str, statement: &str) -> String {
    if condition.is_empty() {
        format!("    {statement}\n")
    } else {
        format!("    if {condition} {{ {statement} }}\n")
    }
}

/// Lanes store a matrix and meet, multiply and wait, meet and store to it again. Any of it may be missing or be done by some.
///
/// They meet, since that one has waited says by A-56 that all of its warp have.
fn kernel(numbers: &mut Numbers) -> String {
    let warps = 1 + numbers.below(2);
    let usual = |numbers: &mut Numbers, statement: &str| {
        if numbers.below(8) == 0 { String::new() } else { by("", statement) }
    };
    let meet = |numbers: &mut Numbers| match (warps, numbers.below(2)) {
        (1, 0) => by("", "bar.warp.sync 0xf;"),
        _ => by("", "bar.sync 0;"),
    };
    let mut text = format!(
        "//! target sm_90a\nkernel k {{\n    launch {{ warps: {warps}, lanes: 4 }}\n    \
         shared tile[2][8]: u32 = 1;\n    register acc: u32;\n    st.weak.shared.u32 [tile[0][tid]], 2;\n"
    );
    text += &usual(numbers, "fence.proxy.async.shared::cta;");
    text += &meet(numbers);
    let n_products = 1 + numbers.below(2);
    let in_loop = numbers.below(3) == 0;
    let product = |numbers: &mut Numbers, round: &str| {
        let place = numbers.of(&["tile[0]", "tile[0]", "tile[0]", "tile[warpid]", "tile[tid & 1]"]);
        let who = numbers.of(&["", "", "", "", "warpid == 0", "laneid < 2"]);
        let product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 acc";
        by(who, &format!("{product}, [{place}], [tile[1]], {round};"))
    };
    if in_loop {
        let fence = usual(numbers, "wgmma.fence.sync.aligned;");
        let product = product(numbers, "1");
        text += &format!("    for i in 0..{n_products} {{\n    {fence}    {product}    }}\n");
    } else {
        for round in 0..n_products {
            text += &usual(numbers, "wgmma.fence.sync.aligned;");
            text += &product(numbers, &round.to_string());
        }
    }
    text += &usual(numbers, "wgmma.commit_group.sync.aligned;");
    text += &usual(numbers, "wgmma.wait_group.sync.aligned 0;");
    text += &meet(numbers);
    let who = numbers.of(&["tid == 0", "tid == 1", "warpid == 0 && laneid == 3"]);
    text += &by(who, &format!("st.weak.shared.u32 [tile[{}][0]], 3;", numbers.below(2)));
    text + "}\n"
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("two warps", "warps: 2"),
    ("a loop", "for i"),
    ("lanes that differ", "laneid < 2"),
    ("lanes that name others", "tid & 1"),
];

#[test]
fn lanes_that_read_together_agree() {
    let plan = Plan { n_programs: 150, first_seed: 0, salt: 56, n_memory_max: 0, progress: false };
    let used = "read together";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 5, one_in: 50, ..Suite::new("warp-reads", plan, FEATURES, &results) };
    let is_used = |found: &Outcome, _: &Outcome| found.graph.n_read_together > 0;
    Switched { kernel, on: Treatment::DEFAULT, off: Treatment::BY_LANES, used, is_used }
        .agree(&suite, FEATURES);
}

fn verdict(text: &str, treatment: Treatment) -> Verdict {
    outcomes(text, &model(&[]), &config(treatment)).remove(0).verdict
}

/// What is an order by A-56 alone is none for lanes that read for themselves.
#[test]
fn an_aligned_operation_is_one_of_its_warp() {
    let kernel = |who: &str, fence: &str| {
        format!(
            "//! target sm_90a\nkernel k {{\n    launch {{ lanes: 4 }}\n    shared tile[8]: u32 = 1;\n    \
             register acc: u32;\n    if {who} {{ st.weak.shared.u32 [tile[tid]], 2; }}\n    {fence}\n    \
             wgmma.fence.sync.aligned;\n    \
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 acc, [tile], [tile], 0;\n    \
             wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n}}\n"
        )
    };
    let fenced = kernel("tid < 4", "fence.proxy.async.shared::cta;");
    assert_eq!(verdict(&fenced, Treatment::DEFAULT), Verdict::Proved);
    assert_eq!(verdict(&fenced, Treatment::BY_LANES), Verdict::Violated);
    for who in ["tid < 4", "tid == 0", "tid == 3"] {
        assert_eq!(verdict(&kernel(who, ""), Treatment::DEFAULT), Verdict::Violated, "{who}");
    }
}

/// A warp of one lane that comes to the same matrix twice reads it twice.
#[test]
fn who_comes_twice_reads_twice() {
    let kernel = |wait: &str| {
        format!(
            "//! target sm_90a\nkernel k {{\n    launch {{ lanes: 1 }}\n    shared tile[8]: u32 = 1;\n    \
             register acc: u32;\n    wgmma.fence.sync.aligned;\n    \
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 acc, [tile], [tile], 0;\n    \
             wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n    \
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 acc, [tile], [tile], 1;\n    \
             wgmma.commit_group.sync.aligned;\n    {wait}\n    st.weak.shared.u32 [tile[0]], 3;\n}}\n"
        )
    };
    assert_eq!(verdict(&kernel("wgmma.wait_group.sync.aligned 0;"), Treatment::DEFAULT), Verdict::Proved);
    assert_eq!(verdict(&kernel(""), Treatment::DEFAULT), Verdict::Violated);
}
