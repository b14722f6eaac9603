//! mbarriers to which too much may happen for all of it to be stated: what one execution shows, in which all threads run in turns.
//! Rings of the size that kernels have, with a mistake each; and random ones that are small enough to be stated.
//!
//! `FENCEPOST_IN_TURNS_PROGRAMS=N` runs N kernels, `FENCEPOST_IN_TURNS_SEED=S` others.

use fencepost::check::Config;
use fencepost::encode::Treatment;
use fencepost::examine::Examination;
use fencepost::verdict::{Limit, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{codes_of, config, examined, model, outcomes};
use fencepost_tests::switched::shown_in_turns;

/// A ring of two stages between a warp that fills it and a warpgroup that reads it.
const RING: &str = "\
const STAGES = 2;
const TILES = 6;
kernel ring {
    launch { warps: 5, lanes: 32 }
    shared full[STAGES]: mbarrier;
    shared empty[STAGES]: mbarrier;
    shared tile[STAGES][32]: u32;
    if tid == 0 {
        for s in 0..STAGES {
            mbarrier.init.shared::cta.b64 [full[s]], 32;
            mbarrier.init.shared::cta.b64 [empty[s]], 128;
        }
    }
    bar.sync 0;
    if warpid == 4 {
        for i in 0..TILES {
            let s = i % STAGES;
            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [empty[s]], i / STAGES % 2 ^ 1;
            st.weak.shared.u32 [tile[s][laneid]], i + 1;
            mbarrier.arrive.release.cta.shared::cta.b64 _, [full[s]];
        }
    } else {
        for i in 0..TILES {
            let s = i % STAGES;
            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full[s]], i / STAGES % 2;
            let v = ld.weak.shared.u32 [tile[s][laneid]];
            assert v == i + 1;
            mbarrier.arrive.release.cta.shared::cta.b64 _, [empty[s]];
        }
    }
}
";

const WAIT: &str = "            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [empty[s]], i / STAGES % 2 ^ 1;\n";

/// What is written instead, what is said of it first, and a part of the help.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    ("[empty[s]], 128", "[empty[s]], 1", "mbarrier::phase-not-waited-for", "128"),
    ("[empty[s]], 128", "[empty[s]], 4", "mbarrier::phase-not-waited-for", "128"),
    ("[empty[s]], 128", "[empty[s]], 64", "mbarrier::phase-not-waited-for", "128"),
    ("[empty[s]], 128", "[empty[s]], 160", "deadlock::phase-never-completes", "128"),
    ("[full[s]], 32", "[full[s]], 1", "mbarrier::phase-not-waited-for", "32"),
    ("[full[s]], 32", "[full[s]], 16", "mbarrier::phase-not-waited-for", "32"),
    ("[full[s]], 32", "[full[s]], 64", "deadlock::phase-never-completes", "32"),
    (WAIT, "", "mbarrier::phase-run-ahead", "await mbarrier.try_wait"),
];

/// A ring of three stages that one thread fills by copies, for two warpgroups.
const COPIES: &str = "\
const STAGES = 3;
const TILES = 7;
global src[TILES][64]: u32 = 3;
kernel ring {
    launch { warps: 9, lanes: 32 }
    shared full[STAGES]: mbarrier;
    shared empty[STAGES]: mbarrier;
    shared tile[STAGES][64]: u32;
    if tid == 0 {
        for s in 0..STAGES {
            mbarrier.init.shared::cta.b64 [full[s]], 1;
            mbarrier.init.shared::cta.b64 [empty[s]], 8;
        }
        fence.mbarrier_init.release.cluster;
    }
    bar.sync 0;
    if warpid == 8 {
        if laneid == 0 {
            for i in 0..TILES {
                let s = i % STAGES;
                await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [empty[s]], i / STAGES % 2 ^ 1;
                mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full[s]], 256;
                cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile[s][0]], [src[i][0]], 256, [full[s]];
            }
        }
    } else {
        for i in 0..TILES {
            let s = i % STAGES;
            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full[s]], i / STAGES % 2;
            let v = ld.weak.shared.u32 [tile[s][tid % 64]];
            assert v == 3;
            fence.proxy.async.shared::cta;
            bar.warp.sync 0xffffffff;
            if laneid == 0 { mbarrier.arrive.release.cta.shared::cta.b64 _, [empty[s]]; }
        }
    }
}
";

/// What is written there instead, and what is said of it.
const MISTAKES_OF_COPIES: &[(&str, &str, &str)] = &[
    ("[empty[s]], 8", "[empty[s]], 1", "mbarrier::phase-not-waited-for"),
    ("[empty[s]], 8", "[empty[s]], 256", "deadlock::phase-never-completes"),
    ("if laneid == 0 { mbarrier", "if true { mbarrier", "mbarrier::phase-not-waited-for"),
    ("[full[s]], i / STAGES % 2;", "[full[s]], 0;", "deadlock::phase-never-completes"),
    ("i / STAGES % 2 ^ 1;", "i / STAGES % 2;", "deadlock::phase-never-completes"),
    ("            bar.warp.sync 0xffffffff;\n", "", "race::async-destination"),
];

/// Asynchronous operations of those who stand before they start them never start.
#[test]
fn mistakes_in_a_ring_of_copies_are_found() {
    let model = model(&[]);
    let config = Config { budget: 1_000_000_000, ..config(Treatment::DEFAULT) };
    assert_eq!(outcomes(COPIES, &model, &config)[0].verdict, Verdict::Proved);
    for &(before, after, code) in MISTAKES_OF_COPIES {
        let outcome = outcomes(&COPIES.replacen(before, after, 1), &model, &config).remove(0);
        let codes = codes_of(&outcome, &model);
        assert!(codes.contains(code), "`{after}` for `{before}`: {codes:?} {:?}", outcome.limit);
    }
}

/// Lanes that meet by a mask that is compared with others and nowhere else computed with, and invalidate mbarriers that all have
/// used: `match` orders no memory.
fn leaves(declared: &str, used: &str, ends: &[&str]) -> String {
    let each = |text: &dyn Fn(&str) -> String| ends.iter().map(|name| text(name)).collect::<String>();
    let objects = each(&|name| format!("    shared {name}: mbarrier;\n"));
    let begins = each(&|name| format!("        mbarrier.init.shared::cta.b64 [{name}], 64;\n"));
    let invalidates = each(&|name| format!("            mbarrier.inval.shared::cta.b64 [{name}];\n"));
    format!(
        "\
kernel leaves {{
    launch {{ warps: 2, lanes: 32 }}
    shared warps: u32 = 0;
{declared}{objects}    if tid == 0 {{
{begins}    }}
    bar.sync 0;
{used}    let mask = activemask.b32;
    let same = match.any.sync.b32 5, mask;
    if (same & ((1 << laneid) - 1)) == 0 {{
        fence.sc.cta;
        let before = atom.acquire.cta.shared.add.u32 [warps], 1;
        if before == 1 {{
{invalidates}        }}
    }}
}}
"
    )
}

const USED_ONCE: &str = "\
    mbarrier.arrive.release.cta.shared::cta.b64 _, [done];
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [done], 0;
";

/// A ring that copies arrive at, whose phases an execution decides, those at the ends included.
const RING_OF_COPIES: [&str; 2] = [
    "\
    global src[2][64]: u32;
    shared tile[2][64]: u32;
",
    "\
    for k in 0..2 {
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [empty], k % 2 ^ 1;
        cp.async.ca.shared::cta.global [tile[k][tid]], [src[k][tid]], 4;
        cp.async.mbarrier.arrive.shared::cta.b64 [full];
        mbarrier.arrive.release.cta.shared::cta.b64 _, [full];
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], k % 2;
        mbarrier.arrive.release.cta.shared::cta.b64 _, [empty];
    }
",
];

/// Solved they take more than these steps.
#[test]
fn what_only_is_compared_is_known_where_threads_run_in_turns() {
    let model = model(&[]);
    let config = Config { budget: 100_000_000, ..config(Treatment::DEFAULT) };
    let [declared, used] = RING_OF_COPIES;
    for kernel in [leaves("", USED_ONCE, &["done"]), leaves(declared, used, &["full", "empty"])] {
        let outcome = outcomes(&kernel, &model, &config).remove(0);
        let codes = codes_of(&outcome, &model);
        assert!(codes.contains("mbarrier::use-after-inval"), "{codes:?} {:?}", outcome.limit);
    }
}

#[test]
fn a_ring_of_the_usual_size_is_proved() {
    assert_eq!(examined(RING).outcome.verdict, Verdict::Proved);
}

#[test]
fn mistakes_in_it_are_found_and_mended() {
    for &(before, after, code, help) in MISTAKES {
        let Examination { outcome, explanations } = examined(&RING.replacen(before, after, 1));
        let first = explanations.first().unwrap_or_else(|| panic!("`{after}` for `{before}` is violated"));
        assert_eq!((outcome.verdict, first.code), (Verdict::Violated, code), "`{after}` for `{before}`");
        assert!(matches!(outcome.limit, Some(Limit::OneExecution { .. })), "{:?}", outcome.limit);
        let repair = first.repair.as_ref().unwrap_or_else(|| panic!("`{after}` for `{before}` is mended"));
        let repair = format!("{repair:?}");
        assert!(repair.contains(help), "{help} in {repair}");
    }
}

/// Two CTAs of a cluster, each of which fills the slot of the other.
const PAIR: &str = "\
const TILES = 3;
kernel pair {
    launch { ctas: 2, cluster: 2, warps: 3, lanes: 32 }
    shared full: mbarrier;
    shared empty: mbarrier;
    shared tile[32]: u32;
    if tid == 0 {
        mbarrier.init.shared::cta.b64 [full], 32;
        mbarrier.init.shared::cta.b64 [empty], 64;
        fence.mbarrier_init.release.cluster;
    }
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    let peer = 1 - cluster_ctarank;
    if warpid == 2 {
        for i in 0..TILES {
            await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [empty], i % 2 ^ 1;
            st.weak.shared::cluster.u32 [mapa(tile[laneid], peer)], i + 1;
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mapa(full, peer)];
        }
    } else {
        for i in 0..TILES {
            await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [full], i % 2;
            let v = ld.weak.shared.u32 [tile[laneid]];
            assert v == i + 1;
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mapa(empty, peer)];
        }
    }
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
}
";

/// What is written there instead, and the help.
const MISTAKES_OF_A_PAIR: &[(&str, &str, &str)] = &[
    ("[full], 32;", "[full], 1;", "after: \"32\""),
    ("[full], i % 2;", "[full], 0;", "after: \"i % 2\""),
    (
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [mapa(empty, peer)]",
        "mbarrier.arrive.release.cluster.shared::cta.b64 _, [empty]",
        "_, [mapa(empty, peer)]",
    ),
];

#[test]
fn mistakes_of_a_pair_of_ctas_are_mended() {
    for &(before, after, help) in MISTAKES_OF_A_PAIR {
        let Examination { outcome, explanations } = examined(&PAIR.replacen(before, after, 1));
        let first = explanations.first().unwrap_or_else(|| panic!("`{after}` for `{before}` is violated"));
        assert_eq!(outcome.verdict, Verdict::Violated, "`{after}` for `{before}`");
        let repair = first.repair.as_ref().unwrap_or_else(|| panic!("`{after}` for `{before}` is mended"));
        let repair = format!("{repair:?}");
        assert!(repair.contains(help), "{help} in {repair}");
    }
}

/// A small ring, in which counts, parities, sems and waits may be wrong.
fn ring(numbers: &mut Numbers) -> String {
    let (n_warps, n_lanes) = numbers.of(&[(2, 1), (2, 2), (3, 1), (3, 1)]);
    let (n_stages, n_tiles) = numbers.of(&[(1, 2), (1, 3), (2, 3)]);
    let readers = (n_warps - 1) * n_lanes;
    let full = numbers.of(&[n_lanes, n_lanes, 1, n_lanes + 1, 2]);
    let empty = numbers.of(&[readers, readers, 1, readers + 1, 2]);
    let parity = "i / STAGES % 2";
    let wait = |object: &str, parity: String| match parity.as_str() {
        "" => String::new(),
        _ => format!(
            "            await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [{object}[s]], {parity};\n"
        ),
    };
    let of_empty =
        numbers.of(&["i / STAGES % 2 ^ 1", "i / STAGES % 2 ^ 1", "i / STAGES % 2", "", "1"]).to_owned();
    let of_full = numbers.of(&[parity, parity, "i / STAGES % 2 ^ 1", "", "0"]).to_owned();
    let (produced, consumed) =
        (numbers.of(&["release", "release", "relaxed"]), numbers.of(&["release", "release", "relaxed"]));
    let (elected, end) = numbers.of(&[("", ""), ("", ""), ("if laneid == 0 { ", " }")]);
    let drops = numbers.of(&["arrive", "arrive", "arrive", "arrive_drop"]);
    format!(
        "const STAGES = {n_stages};
kernel ring {{
    launch {{ warps: {n_warps}, lanes: {n_lanes} }}
    shared full[STAGES]: mbarrier;
    shared empty[STAGES]: mbarrier;
    shared tile[STAGES][{n_lanes}]: u32;
    if tid == 0 {{
        for s in 0..STAGES {{
            mbarrier.init.shared::cta.b64 [full[s]], {full};
            mbarrier.init.shared::cta.b64 [empty[s]], {empty};
        }}
    }}
    bar.sync 0;
    if warpid == 0 {{
        for i in 0..{n_tiles} {{
            let s = i % STAGES;
{}            st.weak.shared.u32 [tile[s][laneid]], i + 1;
            {elected}mbarrier.arrive.{produced}.cta.shared::cta.b64 _, [full[s]];{end}
        }}
    }} else {{
        for i in 0..{n_tiles} {{
            let s = i % STAGES;
{}            let v = ld.weak.shared.u32 [tile[s][laneid]];
            assert v == i + 1;
            mbarrier.{drops}.{consumed}.cta.shared::cta.b64 _, [empty[s]];
        }}
    }}
}}
",
        wait("empty", of_empty),
        wait("full", of_full)
    )
}

#[test]
fn what_one_execution_shows_is_wrong() {
    let plan = Plan { n_programs: 400, first_seed: 0, salt: 31, n_memory_max: 0, progress: false };
    let features = &[("several lanes", "lanes: 2"), ("two stages", "STAGES = 2"), ("drops", "arrive_drop")];
    let results = ["in turns", "violated in turns"];
    let suite = Suite { set_aside_max: 10, one_in: 60, ..Suite::new("in_turns", plan, features, &results) };
    shown_in_turns(ring, &suite, features);
}
