//! The checker against its dull twin on `tcgen05`: races by their statements, final states, deadlocks, broken rules. What is
//! compared, and how, is as for [`synchronization`](super::synchronization).

pub mod mutants;
pub mod shapes;

use super::synchronization::Family;
use crate::generate::tensor_memory::tensor_sketches;
use crate::random::{Counts, Plan, Suite};
use fencepost_dsl::cat::memory_model::MemoryModel;

/// The programs of the quick mode. The last number is of events here.
const PLAN: Plan = Plan { n_programs: 1_500, first_seed: 0, salt: 8, n_memory_max: 22, progress: false };

/// What programs are looked through for, and the text that shows it.
const FEATURES: &[(&str, &str)] = &[
    ("product", "tcgen05.mma"),
    ("product of another kind", "kind::tf32"),
    ("operand in tensor memory", "[other], [b]"),
    ("copy", "tcgen05.cp"),
    ("load", "tcgen05.ld"),
    ("store", "tcgen05.st"),
    ("wait for loads", "wait::ld"),
    ("wait for stores", "wait::st"),
    ("commit", "tcgen05.commit"),
    ("fence before", "before_thread_sync"),
    ("fence after", "after_thread_sync"),
    ("relaxed arrival", "arrive.relaxed"),
    ("arrival that releases", "arrive.release"),
    ("relaxed wait", "parity.relaxed"),
    ("wait that acquires", "parity.acquire"),
    ("test without loop", "test_wait"),
    ("CTA barrier", "bar.sync 0"),
    ("spin on memory", "await (ld"),
    ("value decides", "        if f"),
    ("value passed on", "], f"),
    ("generic write of an operand", "st.weak.u32 [a]"),
    ("generic read of an operand", "ld.weak.u32 [a]"),
    ("fence of the async proxy", "fence.proxy.async"),
    ("allocation", "tcgen05.alloc"),
    ("deallocation", "tcgen05.dealloc"),
    ("permit given up", "relinquish"),
    ("three threads", "warps: 3"),
    ("arrays", "tmem acc[2]"),
    ("an element as an operand", "[acc[1]]"),
    ("an element in shared memory", "[a[1]]"),
    ("a load of several elements", "b32 r, [acc]"),
    ("a store of several values", "], {"),
];

/// What comparisons were of, besides features.
const RESULTS: &[&str] = &[
    "a race",
    "no race",
    "a deadlock",
    "no deadlock",
    "completes without race or deadlock",
    "lifetime::operation-pending",
    "no broken rule of lifetime",
    "lifetime::tensor-memory-freed",
    "lifetime::alloc-after-relinquish",
    "async::tensor-memory-kept",
];

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements, shrunk.
pub fn compare_random(model: &MemoryModel, plan: Plan) -> Result<Counts, Vec<String>> {
    FAMILY.compare(model, plan, tensor_sketches, |sketch| sketch.text())
}

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    // Who relinquishes and then allocates is seldom: one in 180.
    Suite { one_in: 400, ..FAMILY.suite() }
}

const FAMILY: Family = Family {
    name: "oracle_tensor",
    plan: PLAN,
    features: FEATURES,
    results: RESULTS,
    proved_with: PROVED_WITH,
};

/// What proved programs must have, too: all of some texts.
const PROVED_WITH: &[(&str, &[&str])] = &[
    ("proved with a product", &["tcgen05.mma"]),
    ("proved with a copy", &["tcgen05.cp"]),
    ("proved with a load", &["tcgen05.ld"]),
    ("proved with a store", &["tcgen05.st"]),
    ("proved with a product and a load", &["tcgen05.mma", "tcgen05.ld", "after_thread_sync"]),
    ("proved with a store and a load", &["tcgen05.st", "tcgen05.ld", "before_thread_sync"]),
    ("proved with a generic write", &["st.weak.u32 [a]"]),
    ("proved with a deallocation", &["tcgen05.alloc", "tcgen05.dealloc"]),
    ("proved with a product of an array", &["shared a[2]", "tcgen05.mma"]),
    ("proved with a load of several elements", &["register r[2]", "b32 r, [acc]"]),
    ("proved with a store of several values", &["], {"]),
];
