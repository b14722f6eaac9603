//! The checker against its dull twin on asynchronous operations: races by their statements, final states, deadlocks, broken
//! rules. What is compared, and how, is as for [`synchronization`](super::synchronization).

use super::synchronization::Family;
use crate::generate::asynchronous::async_sketches;
use crate::random::{Counts, Plan, Suite};
use fencepost_dsl::cat::memory_model::MemoryModel;

/// The programs of the quick mode.
const PLAN: Plan = Plan { n_programs: 1_500, first_seed: 0, salt: 6, n_memory_max: 5, progress: false };

/// What programs are looked through for, and the text that shows it.
const FEATURES: &[(&str, &str)] = &[
    ("cp.async", "cp.async.ca"),
    ("wait for cp.async", "cp.async.wait"),
    ("tracking arrival", "cp.async.mbarrier.arrive"),
    ("tracking arrival without increment", "cp.async.mbarrier.arrive.noinc"),
    ("bulk load to the own CTA", "cp.async.bulk.shared::cta.global"),
    ("bulk load to a peer", "cp.async.bulk.shared::cluster.global"),
    ("bulk copy between CTAs", "cp.async.bulk.shared::cluster.shared::cta"),
    ("multicast", "multicast"),
    ("bulk store", "cp.async.bulk.global"),
    ("bulk reduction", "cp.reduce.async.bulk"),
    ("wait for a bulk store", "wait_group 0"),
    ("wait for its reads", "bulk.wait_group.read"),
    ("st.async to shared memory", "st.async.weak"),
    ("st.async to global memory", "st.async.release"),
    ("red.async", "red.async"),
    ("tensor load", "cp.async.bulk.tensor.1d.shared"),
    ("tensor store", "cp.async.bulk.tensor.1d.global"),
    ("tensormap.replace", "tensormap.replace"),
    ("tensormap.cp_fenceproxy", "tensormap.cp_fenceproxy"),
    ("release of a tensor map", "tensormap::generic.release"),
    ("acquire of a tensor map", "tensormap::generic.acquire"),
    ("fence of the async proxy", "fence.proxy.async"),
    ("fence of all spaces", "fence.proxy.async;"),
    ("fence of one space", "fence.proxy.async."),
    ("release half", "async::generic.release"),
    ("acquire half", "async::generic.acquire"),
    ("expected bytes", "expect_tx"),
    ("wait for a phase", "try_wait"),
    ("relaxed wait", "parity.relaxed"),
    ("CTA barrier", "bar.sync 0"),
    ("relaxed cluster barrier", "cluster.arrive.relaxed"),
    ("fence", "fence.a"),
    ("spin on memory", "await (ld"),
    ("one CTA", "{ warps"),
    ("two CTAs", "{ ctas: 2, cluster: 2 }"),
];

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(model: &MemoryModel, plan: Plan) -> Result<Counts, Vec<String>> {
    FAMILY.compare(model, plan, async_sketches, |sketch| sketch.text())
}

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    FAMILY.suite()
}

const FAMILY: Family = Family {
    name: "oracle_async",
    plan: PLAN,
    features: FEATURES,
    results: RESULTS,
    proved_with: PROVED_WITH,
};

/// What proved programs must have, too: all of some texts.
const PROVED_WITH: &[(&str, &[&str])] = &[
    ("proved with cp.async", &["cp.async.ca"]),
    ("proved with a tracking arrival", &["cp.async.mbarrier.arrive"]),
    ("proved with a bulk load", &["cp.async.bulk.shared::cta.global"]),
    ("proved with a bulk load to a peer", &["cp.async.bulk.shared::cluster.global"]),
    ("proved with a bulk store", &["cp.async.bulk.global"]),
    ("proved with st.async", &["st.async.weak"]),
    ("proved with red.async", &["red.async"]),
    ("proved with a tensor load", &["cp.async.bulk.tensor.1d.shared"]),
    // A tensor store needs its map written, released and acquired: that is one of the shapes.
    ("proved with tensormap.replace", &["tensormap.replace"]),
    ("proved with a fence of the async proxy", &["fence.proxy.async"]),
];

/// What comparisons were of, besides features.
pub const RESULTS: &[&str] = &[
    "a race",
    "no race",
    "a deadlock",
    "no deadlock",
    "completes without race or deadlock",
    "lifetime::operation-pending",
    "no broken rule of lifetime",
];
