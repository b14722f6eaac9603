//! mbarriers of which bytes are announced and delivered in any way: where counting decides their phases, the answers are
//! those of an order of all operations.
//!
//! `FENCEPOST_BYTES_PROGRAMS=N` runs N kernels, `FENCEPOST_BYTES_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::unroll::MbarrierEncoding;
use fencepost::verdict::Outcome;
use fencepost_tests::random::{Numbers, Plan, Suite};
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
