//! mbarriers of which bytes are announced and delivered in any way: where counting decides their phases, the answers are
//! those of an order of all operations.
//!
//! `FENCEPOST_BYTES_PROGRAMS=N` runs N kernels, `FENCEPOST_BYTES_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::unroll::MbarrierEncoding;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::{Switched, shown_in_turns};

/// What one thread does. A step is 16 bytes; some are announced and delivered as they should be.
fn body(numbers: &mut Numbers, thread: u64, n_ctas: u64) -> String {
    let mut text = String::new();
    let n_statements = 1 + numbers.below(3);
    for at in 0..n_statements {
        let bytes = numbers.of(&[16, 16, 16, 32, 32, 48, 8]);
        let copied = numbers.of(&[16, 16, 16, 32]);
        let parity = numbers.of(&[0, 0, 0, 1]);
        let object = numbers.of(&["m", "m", "m", "n"]);
        let words = copied / 4;
        let line = match numbers.below(12) {
            0..=3 => {
                format!("mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 _, [{object}], {bytes};")
            }
            4 => format!(
                "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{object}], {bytes};\n        \
                 mbarrier.arrive.release.cta.shared::cta.b64 _, [{object}];"
            ),
            5 => format!("mbarrier.arrive.release.cta.shared::cta.b64 _, [{object}];"),
            6..=8 if n_ctas > 1 && numbers.below(2) == 0 => {
                let mask = numbers.of(&[3, 3, 2, 1]);
                format!(
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
                     [tile[{}]], [src[0]], {copied}, [{object}], {mask};",
                    thread * 8
                )
            }
            6..=8 => format!(
                "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile[{}]], [src[{}]], \
                 {copied}, [{object}];",
                thread * 8,
                8 - words
            ),
            _ => format!(
                "await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [{object}], {parity};\n        \
                 st.relaxed.gpu [out[{thread}]], {};",
                at + 1
            ),
        };
        text += &format!("        {line}\n");
    }
    text
}

/// One or two CTAs with one or two threads each, whose mbarriers expect one or two arrivals.
fn kernel(numbers: &mut Numbers) -> String {
    let (n_ctas, n_warps) = numbers.of(&[(1, 1), (1, 2), (1, 2), (2, 1), (2, 1), (2, 2)]);
    let (of_m, of_n) = (numbers.of(&[1, 1, 1, 2]), numbers.of(&[1, 2]));
    let mut bodies = String::new();
    for thread in 0..n_ctas * n_warps {
        bodies += &format!(
            "    if ctaid * {n_warps} + tid == {thread} {{\n{}    }}\n",
            body(numbers, thread, n_ctas)
        );
    }
    let states: String = (0..n_ctas * n_warps)
        .flat_map(|thread| (0..4).map(move |value| (thread, value)))
        .map(|(thread, value)| format!("        reachable [out[{thread}]] == {value};\n"))
        .collect();
    format!(
        "//! target sm_90\nkernel k {{\n    launch {{ ctas: {n_ctas}, cluster: {n_ctas}, warps: {n_warps} }}\n    \
         shared m: mbarrier;\n    shared n: mbarrier;\n    shared tile[32]: u32 = 0;\n    \
         global src[8]: u32 = 7;\n    global out[4]: u32 = 0;\n    if tid == 0 {{\n        \
         mbarrier.init.shared::cta.b64 [m], {of_m};\n        mbarrier.init.shared::cta.b64 [n], {of_n};\n        \
         fence.mbarrier_init.release.cluster;\n    }}\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n\
         {bodies}    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    final {{\n{states}    }}\n}}\n"
    )
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("several CTAs", "ctas: 2"),
    ("a copy to several CTAs", "multicast"),
    ("two arrivals", "[m], 2"),
    ("bytes that no copy brings", ", 8;"),
    ("announced apart", "mbarrier.expect_tx"),
];

#[test]
fn counting_finds_what_an_order_finds() {
    let plan = Plan { n_programs: 300, first_seed: 0, salt: 21, n_memory_max: 0, progress: false };
    let used = "counted";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 10, one_in: 60, ..Suite::new("bytes", plan, FEATURES, &results) };
    let off = Treatment { mbarrier_encoding: MbarrierEncoding::Order, ..Treatment::DEFAULT };
    let is_used =
        |found: &Outcome, expected: &Outcome| found.statistics.clauses != expected.statistics.clauses;
    Switched { kernel, on: Treatment::DEFAULT, off, used, is_used }.agree(&suite, FEATURES);
}

#[test]
fn what_one_execution_shows_is_wrong() {
    let plan = Plan { n_programs: 300, first_seed: 0, salt: 37, n_memory_max: 0, progress: false };
    let results = ["in turns", "violated in turns"];
    let suite = Suite { set_aside_max: 10, one_in: 60, ..Suite::new("bytes", plan, FEATURES, &results) };
    shown_in_turns(kernel, &suite, FEATURES);
}

/// Whether the phase of each operation on an mbarrier is known, and what comes of the launch.
fn phases(text: &str) -> (bool, Verdict) {
    let found = outcomes(text, &model(&[]), &config(Treatment::DEFAULT)).remove(0);
    let graph = &found.graph;
    let mut operations = graph.mbarriers.iter().flat_map(|object| &object.operations);
    (operations.all(|of| graph.terms.constant_value(of.phase).is_some()), found.verdict)
}

/// All phases are known and nothing goes wrong; with each of the edits something does.
fn proved_with_mutants(text: &str, edits: &[(&str, &str)]) {
    assert_eq!(phases(text), (true, Verdict::Proved));
    for (from, to) in edits {
        let wrong = text.replace(from, to);
        assert_ne!(wrong, text, "{from}");
        assert_eq!(phases(&wrong).1, Verdict::Violated, "{from}: {to}");
    }
}

/// A ring of one stage, whose tile comes from both CTAs of a cluster: that a peer's second half is there says that the peer
/// knows of all arrivals of the first round.
const MULTICAST: &str = "//! target sm_90a
kernel ring {
    launch { ctas: 2, cluster: 2, warps: 2, lanes: 1 }
    global a[2]: b128 = 1;
    shared t[2]: b128;
    shared full: mbarrier;
    shared empty: mbarrier;
    if warpid == 0 {
        mbarrier.init [full], 1;
        mbarrier.init [empty], 2;
        fence.mbarrier_init.release.cluster;
    }
    barrier.cluster.arrive;
    barrier.cluster.wait;
    if warpid == 0 {
        for i in 0..3 {
            await mbarrier.try_wait.parity.acquire.cluster [empty], (i & 1) ^ 1;
            mbarrier.arrive.expect_tx _, [full], 32;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
[t[cluster_ctarank]], [a[cluster_ctarank]], 16, [full], 3;
        }
    } else {
        for i in 0..3 {
            await mbarrier.try_wait.parity.acquire.cluster [full], i & 1;
            let v = ld [t[0]];
            fence.proxy.async.shared::cta;
            mbarrier.arrive.release.cluster.shared::cluster _, [mapa(empty, 0)];
            mbarrier.arrive.release.cluster.shared::cluster _, [mapa(empty, 1)];
        }
    }
    barrier.cluster.arrive;
    barrier.cluster.wait;
}
";

#[test]
fn what_a_peer_delivers_says_what_it_knows() {
    proved_with_mutants(
        MULTICAST,
        &[
            ("            fence.proxy.async.shared::cta;\n", ""),
            ("[full], 32", "[full], 16"),
            ("mbarrier.init [empty], 2", "mbarrier.init [empty], 1"),
            ("(i & 1) ^ 1", "i & 1"),
            ("_, [mapa(empty, 1)]", "_, [mapa(empty, 0)]"),
        ],
    );
}

/// Arrivals that copies make carry no order, but a consumer that is let through by one comes after the wait before it.
const ARRIVING: &str = "//! target sm_80
kernel ring {
    launch { warps: 2, lanes: 2 }
    global source[3][2]: u32 = 7;
    shared t[2]: u32;
    shared full: mbarrier;
    shared empty: mbarrier;
    if tid == 0 { mbarrier.init [full], 2; mbarrier.init [empty], 2; }
    bar.sync 0;
    if warpid == 0 {
        for i in 0..3 {
            await mbarrier.test_wait.parity [empty], (i & 1) ^ 1;
            cp.async.ca.shared.global [t[laneid]], [source[i][laneid]], 4;
            cp.async.mbarrier.arrive.noinc [full];
        }
    } else {
        for i in 0..3 {
            await mbarrier.test_wait.parity [full], i & 1;
            let v = ld [t[laneid ^ 1]];
            assert v == 7;
            mbarrier.arrive _, [empty];
        }
    }
}
";

#[test]
fn who_is_let_through_by_a_copy_comes_after_its_wait() {
    proved_with_mutants(
        ARRIVING,
        &[
            ("mbarrier.init [empty], 2", "mbarrier.init [empty], 1"),
            ("mbarrier.init [full], 2", "mbarrier.init [full], 1"),
            ("(i & 1) ^ 1", "i & 1"),
            ("parity [full], i & 1", "parity [full], 1"),
            ("arrive.noinc [full]", "arrive.noinc [empty]"),
        ],
    );
}
