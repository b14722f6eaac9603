//! The checker against its dull twin on asynchronous operations: races by their statements, final states, deadlocks, broken
//! rules. What is compared, and how, is as for [`synchronization`](super::synchronization).

use super::synchronization::{Comparison, compare};
use crate::generate::asynchronous::async_sketches;
use crate::random::{self, Counts, Plan};
use fencepost::encode::Treatment;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// The programs of the quick mode.
pub const PLAN: Plan = Plan { n_programs: 1_500, first_seed: 0, salt: 6, n_memory_max: 5 };

/// What programs are looked through for, and the text that shows it.
pub const FEATURES: &[(&str, &str)] = &[
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
    ("two CTAs", "{ ctas: 2 }"),
];

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(model: &MemoryModel, plan: Plan) -> Result<Counts, Vec<String>> {
    random::run_over(
        plan,
        || async_sketches(plan.n_memory_max),
        |sketch, _, counts| {
            let text = sketch.text();
            match compare(model, &text, Treatment::DEFAULT)? {
                Comparison::Agreed { broken, lifetime, races, deadlocks, completes, readings_differ } => {
                    for rule in lifetime.iter().copied() {
                        counts.add(rule, true);
                    }
                    counts.add("no broken rule of lifetime", lifetime.is_empty());
                    counts.add("compared", true);
                    counts.add("readings that differ", readings_differ);
                    counts.add("a broken rule", !broken.is_empty());
                    counts.add("a race", races);
                    counts.add("no race", !races);
                    counts.add("a deadlock", deadlocks);
                    counts.add("no deadlock", !deadlocks);
                    counts.add("completes without race or deadlock", completes && !races && !deadlocks);
                    for &(name, mark) in FEATURES {
                        counts.add(name, text.contains(mark));
                        let is_fine = broken.is_empty() && completes && !races && !deadlocks;
                        counts.add(name_of_fine(name), is_fine && text.contains(mark));
                    }
                }
                Comparison::TooLarge => counts.add("too large", true),
                Comparison::Refused(code) => {
                    counts.add("refused", true);
                    counts.add(code, true);
                }
            }
            Ok(())
        },
    )
}

/// The count of a feature in programs of which everything was proved.
pub fn name_of_fine(feature: &'static str) -> &'static str {
    PROVED_WITH.iter().find(|(name, _)| *name == feature).map_or("proved with another", |&(_, fine)| fine)
}

/// Features that proved programs must have, too.
pub const PROVED_WITH: &[(&str, &str)] = &[
    ("cp.async", "proved with cp.async"),
    ("tracking arrival", "proved with a tracking arrival"),
    ("bulk load to the own CTA", "proved with a bulk load"),
    ("bulk load to a peer", "proved with a bulk load to a peer"),
    ("bulk store", "proved with a bulk store"),
    ("st.async to shared memory", "proved with st.async"),
    ("red.async", "proved with red.async"),
    ("tensor load", "proved with a tensor load"),
    ("tensor store", "proved with a tensor store"),
    ("tensormap.replace", "proved with tensormap.replace"),
    ("fence of the async proxy", "proved with a fence of the async proxy"),
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
