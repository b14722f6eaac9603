//! Cells that are touched alike are one: the same verdicts and findings as of all cells, of random kernels that work on tiles by
//! several instructions, with parts of their synchronization left out.
//!
//! `FENCEPOST_CELLS_PROGRAMS=N` runs N random kernels, `FENCEPOST_CELLS_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;
use std::fmt::Write;

const PLAN: Plan = Plan { n_programs: 150, first_seed: 0, salt: 61, n_memory_max: 8, progress: false };

/// Words of a tile, a power of two.
const WORDS: u64 = 8;

/// What is done with tiles, by one thread or by all.
fn step(random: &mut Numbers, stage: u64) -> String {
    let tile = random.of(&["a", "b"]);
    let other = if tile == "a" { "b" } else { "a" };
    match random.below(9) {
        0 => format!("for i in 0..{} {{ st [{tile}[i * 2 + tid]], {stage}; }}", WORDS / 2),
        1 => format!(
            "for i in 0..{} {{ let v = ld [{tile}[i * 2 + tid]]; st [dst[i * 2 + tid]], v; }}",
            WORDS / 2
        ),
        2 => {
            format!("if tid == 0 {{ for i in 0..{WORDS} {{ let v = ld [{tile}[i]]; st [{other}[i]], v; }} }}")
        }
        3 => format!("let {{p, q, r, s}} = ld.v4 [{tile}[tid * 4]]; st.v4 [dst[tid * 4]], {{p, q, r, s}};"),
        4 => format!("st.v2 [{tile}[tid * 2]], {{{stage}, 7}};"),
        5 => format!(
            "if tid == 0 {{ cp.async.bulk.global.shared::cta.bulk_group [dst[0]], [{tile}[0]], {}; \
             cp.async.bulk.commit_group; cp.async.bulk.wait_group{} 0; }}",
            4 * WORDS,
            random.of(&[".read", ""])
        ),
        6 => format!(
            "if tid == 0 {{ mbarrier.arrive.expect_tx _, [full], {bytes}; \
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{tile}[0]], [src[0]], {bytes}, [full]; }} \
             await mbarrier.try_wait.parity [full], phase & 1; phase += 1;",
            bytes = 4 * WORDS
        ),
        7 => format!("let v = ld [{tile}[{}]]; assert v <= {};", random.below(WORDS), stage + 7),
        // Sums that come back to where they are from.
        _ => format!(
            "for i in 0..{} {{ let v = ld [{tile}[i * 2 + tid]]; st [{tile}[i * 2 + tid]], v + 1; }}",
            WORDS / 2
        ),
    }
}

fn between(random: &mut Numbers) -> &'static str {
    random.of(&[
        "bar.sync 0;",
        "bar.sync 0;",
        "bar.sync 0; fence.proxy.async;",
        "fence.proxy.async; bar.sync 0;",
        "",
    ])
}

fn text(random: &mut Numbers) -> String {
    let mut text = format!(
        "kernel k {{\n  launch {{ warps: 2 }}\n  global src[{WORDS}]: u32;\n  global dst[{WORDS}]: u32;\n  \
         shared a[{WORDS}]: u32 = 0;\n  shared b[{WORDS}]: u32 = 0;\n  shared full: mbarrier;\n  var phase: u32 = 0;\n  \
         if tid == 0 {{ mbarrier.init [full], 1; fence.mbarrier_init.release.cluster; }}\n  bar.sync 0;\n"
    );
    for stage in 0..1 + random.below(3) {
        let _ = writeln!(text, "  {{ {} }}\n  {}", step(random, stage), between(random));
    }
    if random.below(4) == 0 {
        let _ = writeln!(text, "  final {{ assert [dst[{}]] <= 9; }}", random.below(WORDS));
    }
    text.push_str("}\n");
    // Blocks of their own are branches that are always taken.
    text.replace("  { ", "  if true { ")
}

const FEATURES: &[(&str, &str)] = &[
    ("vectors", ".v4"),
    ("bulk stores", "bulk_group"),
    ("bulk loads", "complete_tx"),
    ("sums", "v + 1"),
    ("claims", "assert"),
];

#[test]
fn random_tiles_agree() {
    let used = "fewer events";
    let suite = Suite { one_in: 100, ..Suite::new("cells", PLAN, FEATURES, &[used, "violated", "proved"]) };
    let is_used = |found: &Outcome, plain: &Outcome| found.graph.events.len() < plain.graph.events.len();
    let (on, off) = (Treatment::FEW_CELLS, Treatment::ALL_CELLS);
    Switched { kernel: text, on, off, used, is_used }.agree(&suite, FEATURES);
}

/// A tile of eight kilobytes and more in stages: of its words one is looked at for each thread that reads it.
#[test]
fn words_of_a_tile_are_few() {
    let text = "kernel k { launch { warps: 2, lanes: 32 } global src[4][2048]: u32; global dst[4][64]: u32;
        shared tile[2][2048]: u32; shared full[2]: mbarrier;
        if tid == 0 { for s in 0..2 { mbarrier.init [full[s]], 1; } fence.mbarrier_init.release.cluster; }
        bar.sync 0;
        for i in 0..4 {
            if tid == 0 {
                mbarrier.arrive.expect_tx _, [full[i % 2]], 8192;
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
                    [tile[i % 2][0]], [src[i][0]], 8192, [full[i % 2]]; }
            await mbarrier.try_wait.parity [full[i % 2]], (i / 2) & 1;
            var sum: u32 = 0;
            for j in 0..32 { let v = ld [tile[i % 2][j * 64 + tid]]; sum += v; }
            st [dst[i][tid]], sum;
            fence.proxy.async; bar.sync 0; } }";
    let outcome = |text: &str| outcomes(text, &model(&[]), &config(Treatment::DEFAULT)).swap_remove(0);
    let right = outcome(text);
    assert_eq!(right.verdict, Verdict::Proved);
    assert!(right.graph.events.len() < 5_000, "{} events", right.graph.events.len());
    // Each of what orders them is needed, and one word shows it.
    for (part, instead) in [("fence.proxy.async; bar", "bar"), ("fence.proxy.async; bar.sync 0;", "")] {
        assert_eq!(outcome(&text.replace(part, instead)).verdict, Verdict::Violated, "without {part}");
    }
}

/// What has a say in something is looked at: claims of single words, torn copies, values that come back.
#[test]
fn what_has_a_say_is_looked_at() {
    let verdict = |text: &str| {
        let [few, all] = [Treatment::FEW_CELLS, Treatment::ALL_CELLS]
            .map(|treatment| outcomes(text, &model(&[]), &config(treatment)).swap_remove(0).verdict);
        assert_eq!(few, all, "{text}");
        few
    };
    let copied = |claim: &str| {
        format!(
            "kernel k {{ shared a[4]: u32 = {{1, 2, 3, 4}}; global b[4]: u32;
               for i in 0..4 {{ let v = ld [a[i]]; st [b[i]], v; }} {claim} }}"
        )
    };
    assert_eq!(verdict(&copied("final { assert [b[2]] == 3; }")), Verdict::Proved);
    assert_eq!(verdict(&copied("final { assert [b[2]] == 4; }")), Verdict::Violated);
    assert_eq!(verdict(&copied("let w = ld [b[3]]; assert w == 4;")), Verdict::Proved);
    // Elements of a vector are in no order.
    let torn = "kernel k { launch { ctas: 2 } global x[2]: u32 = 0;
        if ctaid == 0 { st.relaxed.gpu.v2 [x[0]], {1, 1}; }
        else { let {a, b} = ld.relaxed.gpu.v2 [x[0]]; assert a == b; } }";
    assert_eq!(verdict(torn), Verdict::Violated);
}
