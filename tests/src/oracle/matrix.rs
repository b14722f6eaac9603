//! The checker against its dull twin on `wgmma`: races by their statements, final states, deadlocks, broken rules. What is
//! compared, and how, is as for [`synchronization`](super::synchronization).

use super::asynchronous::RESULTS;
use super::synchronization::Family;
use crate::generate::matrix::matrix_sketches;
use crate::random::{Counts, Plan, Suite};
use fencepost_dsl::cat::memory_model::MemoryModel;

/// The programs of the quick mode. The last number is of accesses of shared memory here.
const PLAN: Plan = Plan { n_programs: 500, first_seed: 0, salt: 14, n_memory_max: 14, progress: false };

/// What programs are looked through for, and the text that shows it.
const FEATURES: &[(&str, &str)] = &[
    ("a whole tile", ", [a],"),
    ("a row", ", [a[1]],"),
    ("an element", ", [a[1][1]],"),
    ("A in registers", ", part,"),
    ("all of B", ", [b],"),
    ("an element of B", ", [b[1]],"),
    ("all of the accumulator", "f16 acc,"),
    ("a part of the accumulator", "f16 acc["),
    ("an accumulator that is read", ", 1;"),
    ("a store beyond the first element", "st.weak.u64 [a[0][1]]"),
    ("a store beyond the first row", "st.weak.u64 [a[1]"),
    ("a store to B", "st.weak.u64 [b"),
    ("a copy", "cp.async.bulk"),
    ("wait for a copy", "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full]"),
    ("fence of the async proxy", "fence.proxy.async"),
    ("wait for one group less", "wait_group.sync.aligned 1"),
    ("registers written", "mov.b32 acc"),
    ("registers read", "= mov.b32"),
    ("arrival", "mbarrier.arrive.re"),
    ("CTA barrier", "bar.sync 0"),
    ("one thread", "warps: 1"),
    ("three threads", "warps: 3"),
];

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(model: &MemoryModel, plan: Plan) -> Result<Counts, Vec<String>> {
    FAMILY.compare(model, plan, matrix_sketches, |sketch| sketch.text())
}

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    FAMILY.suite()
}

const FAMILY: Family = Family {
    name: "oracle_matrix",
    plan: PLAN,
    features: FEATURES,
    results: RESULTS,
    proved_with: PROVED_WITH,
};

/// What proved programs must have, too: all of some texts.
const PROVED_WITH: &[(&str, &[&str])] = &[
    ("proved with a store to the second row", &["st.weak.u64 [a[1]", ", [a],"]),
    ("proved with a store to the other row", &["st.weak.u64 [a[1]", ", [a[0]],"]),
    ("proved with a copy", &["cp.async.bulk", ", [a],"]),
    ("proved with registers read", &["= mov.b32 acc", "f16 acc,"]),
    ("proved with registers written", &["mov.b32 acc[1], 0", "f16 acc,"]),
];
