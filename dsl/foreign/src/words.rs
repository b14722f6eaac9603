//! Words of CUDA, C++, Python and assemblers, and what says the same here.

/// Words of other languages, and what says the same here. A word that ends in `*` stands for all that begin so; the first
/// that a line has is taken.
pub const WORDS: &[(&str, &str)] = &[
    ("nanosleep", "`nanosleep.u32 20;`, or nothing: time does not count here"),
    (
        "%ctaid*",
        "special registers have no `%`: `ctaid`, or `ctaid.x` and `ctaid.y` in a launch with `grid: [4, 2]`",
    ),
    (
        "%tid*",
        "special registers have no `%`: `tid`, or `tid.x` and `tid.y` in a launch with `block: [32, 8]`",
    ),
    ("%laneid", "special registers have no `%`: `laneid`"),
    ("%warpid", "special registers have no `%`: `warpid`"),
    ("%clusterid*", "special registers have no `%` and one dimension: `clusterid`"),
    ("%cluster_ctarank", "special registers have no `%`: `cluster_ctarank`"),
    ("%cluster_ctaid*", "special registers have no `%` and one dimension: `cluster_ctarank`"),
    (
        "%ntid*",
        "special registers have no `%`: `ntid`, or `ntid.x` and `ntid.y` in a launch with `block: [32, 8]`",
    ),
    (
        "%nctaid*",
        "special registers have no `%`: `nctaid`, or `nctaid.x` and `nctaid.y` in a launch with `grid: [4, 2]`",
    ),
    ("%smid", NO_SM),
    ("%nsmid", NO_SM),
    ("%clock*", NO_TIME),
    ("%globaltimer*", NO_TIME),
    ("%r*", "registers are names without `%`: `let v = ld.u32 [x];` and then `st.u32 [x], v;`"),
    ("%p*", "predicates are conditions: `if v == 1 { … }`"),
    (
        "shfl",
        "`let v = shfl.sync.idx.b32 value, lane, 31, 0xffffffff;`: the last operand names the lanes that take part",
    ),
    ("vote", "`let p = vote.sync.any.pred v == 1, 0xffffffff;`, or `.all`, `.uni`, `.ballot.b32`"),
    (
        "return",
        "a thread ends with `exit;`, a loop with `break;`; `return v;` is the last statement of an `fn`",
    ),
    ("elif", "`else if … { … }`"),
    ("ret", "a thread ends with `exit;`; `return v;` is the last statement of an `fn`"),
    ("and", "`&&`, or `&` on bits"),
    ("or", "`||`, or `|` on bits"),
    ("not", "`!`"),
    ("NULL", "there are no pointers: write a number, or which element is meant"),
    ("nullptr", "there are no pointers: write a number, or which element is meant"),
    ("max", "`a > b ? a : b`"),
    ("min", "`a < b ? a : b`"),
    ("sizeof", "write the number of bytes"),
    ("sync", "the barrier of a CTA is `bar.sync 0;`, that of a warp `bar.warp.sync 0xffffffff;`"),
    ("mapa", "an address in a peer CTA stands in the brackets: `[mapa(x, rank)]`"),
    ("try_wait", "`await mbarrier.try_wait.parity [bar], 0;`"),
    ("test_wait", "`await mbarrier.test_wait.parity [bar], 0;`"),
    (
        "wait",
        "`await c;` waits until `c` is true; for an mbarrier `await mbarrier.try_wait.parity [bar], 0;`",
    ),
    ("wait_group", "`cp.async.wait_group 0;`, or `cp.async.bulk.wait_group.read 0;`"),
    ("commit_group", "`cp.async.commit_group;`, or `cp.async.bulk.commit_group;`"),
    ("smid", NO_SM),
    ("clock", NO_TIME),
    ("clock64", NO_TIME),
    ("globaltimer", NO_TIME),
    ("blockid", "the number of a thread's CTA is `ctaid`"),
    ("rank", "the number of a CTA in its cluster is `cluster_ctarank`, that of a GPU `gpuid`"),
    ("unroll", "nothing: loops are unrolled anyway"),
    ("do", "`loop { …; if done { break; } }`"),
    ("bra", "`loop`, `while`, `if` and `break`: there are no labels"),
    ("setp", "predicates are conditions: `if v == 1 { … }`"),
];

const NO_SM: &str = "on which SM a CTA runs is not known here, and any may be: `ctaid` numbers the CTAs";
const NO_TIME: &str = "time does not count here: take it out, or use a parameter for what it decides";

/// Scopes and sems in the words of others.
pub const MODIFIERS: &[(&str, &str)] = &[
    ("block", "cta"),
    ("thread_block", "cta"),
    ("device", "gpu"),
    ("gl", "gpu"),
    ("grid", "gpu"),
    ("agent", "gpu"),
    ("system", "sys"),
    ("workgroup", "cta"),
    ("thread_scope_block", "cta"),
    ("thread_scope_cluster", "cluster"),
    ("thread_scope_device", "gpu"),
    ("thread_scope_system", "sys"),
    ("seq_cst", "sc"),
    ("memory_order_relaxed", "relaxed"),
    ("memory_order_acquire", "acquire"),
    ("memory_order_release", "release"),
    ("memory_order_acq_rel", "acq_rel"),
    ("memory_order_seq_cst", "sc"),
    ("acq", "acquire"),
    ("rel", "release"),
    ("rlx", "relaxed"),
    ("commit", "commit_group"),
];

/// Types in the words of others.
pub const TYPES: &[(&str, &str)] = &[
    ("int", BITS_32),
    ("unsigned", BITS_32),
    ("uint32_t", BITS_32),
    ("int32_t", BITS_32),
    ("i32", BITS_32),
    ("s32", BITS_32),
    ("b32", BITS_32),
    ("float", BITS_32),
    ("f32", BITS_32),
    ("uint64_t", BITS_64),
    ("int64_t", BITS_64),
    ("i64", BITS_64),
    ("s64", BITS_64),
    ("b64", BITS_64),
    ("double", BITS_64),
    ("f64", BITS_64),
    ("half", "write `u16`: values are bits"),
    ("f16", "write `u16`: values are bits"),
    ("barrier", "write `mbarrier`"),
    ("bool", "a condition has type `pred`, which memory has not: take `u32`"),
];

/// What words of 32 bits are here.
const BITS_32: &str = "write `u32`: values are bits, without sign";

/// What words of 64 bits are here.
const BITS_64: &str = "write `u64`: values are bits, without sign";

/// Members of classes of libcu++, cooperative groups and CUTLASS, as they are called, but atomics (`libcu.rs`).
pub const CALLS: &[(&str, &str)] = &[
    (".arrive_and_wait(", "`let t = mbarrier.arrive [bar];` and `await mbarrier.try_wait [bar], t;`"),
    (".arrive_and_expect_tx(", "`mbarrier.arrive.expect_tx _, [bar], 16;`"),
    (".arrive_and_drop(", "`mbarrier.arrive_drop _, [bar];`"),
    (".arrive(", "`mbarrier.arrive _, [bar];`, or `let t = mbarrier.arrive [bar];` to wait with"),
    (".wait_parity(", "`await mbarrier.try_wait.parity [bar], 0;`"),
    (".try_wait(", "`await mbarrier.try_wait.parity [bar], 0;`"),
    (
        ".wait(",
        "`await mbarrier.try_wait.parity [bar], 0;`, or `await mbarrier.try_wait [bar], t;` with a state",
    ),
    (".init(", "`mbarrier.init [bar], 1;`"),
    (
        ".sync(",
        "of a CTA `bar.sync 0;`, of a warp `bar.warp.sync 0xffffffff;`, of a cluster `barrier.cluster.arrive;` and \
         `barrier.cluster.wait;`, of a grid `grid_sync` of `use \"lib/group_barrier.fence\";`",
    ),
];

/// Instructions with all that they need, by how they begin; the first that fits is taken.
pub const FORMS: &[(&str, &str)] = &[
    ("bar.red", "let n = bar.red.popc.u32 0, tid == 0;"),
    ("bar.warp.sync", "bar.warp.sync 0xffffffff;"),
    ("bar.sync", "bar.sync 0;"),
    ("barrier.sync", "barrier.sync 0;"),
    ("barrier.cta.sync", "barrier.cta.sync 0;"),
    ("elect.sync", "let leads = elect.sync 0xffffffff;"),
    ("atom.cas", "let old = atom.cas.b32 [x], 0, 1;"),
    ("atom", "let old = atom.add.u32 [x], 1;"),
    ("red.async", "red.async.add.u32 [mapa(x, 1)], 1, [mapa(bar, 1)];"),
    ("red", "red.add.u32 [x], 1;"),
    ("ld", "let v = ld.u32 [x];"),
    ("st.async", "st.async.u32 [mapa(x, 1)], 1, [mapa(bar, 1)];"),
    ("st", "st.u32 [x], 1;"),
    ("mbarrier.init", "mbarrier.init [bar], 1;"),
    ("mbarrier.arrive.expect_tx", "mbarrier.arrive.expect_tx _, [bar], 16;"),
    ("mbarrier.expect_tx", "mbarrier.expect_tx [bar], 16;"),
    ("mbarrier.arrive", "mbarrier.arrive _, [bar];"),
    ("mbarrier.try_wait", "await mbarrier.try_wait.parity [bar], 0;"),
    ("mbarrier.test_wait", "await mbarrier.test_wait.parity [bar], 0;"),
    ("cp.async.wait_group", "cp.async.wait_group 0;"),
    ("cp.async.commit_group", "cp.async.commit_group;"),
    ("cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read 0;"),
    ("cp.async.bulk.commit_group", "cp.async.bulk.commit_group;"),
    (
        "cp.async.bulk.tensor.1d.shared",
        "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [tile[0]], [map, {0}], [bar];",
    ),
    (
        "cp.async.bulk.shared",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile[0]], [src[0]], 16, [bar];",
    ),
    ("cp.async.bulk.global", "cp.async.bulk.global.shared::cta.bulk_group [dst[0]], [tile[0]], 16;"),
    ("cp.async.c", "cp.async.ca.shared::cta.global [tile[0]], [src[0]], 16;"),
    ("wgmma.wait_group", "wgmma.wait_group.sync.aligned 0;"),
];

/// Characters that look like one of the language, with that one; `nothing` for those that cannot be seen.
const LOOK_ALIKES: &[(&str, &str)] = &[
    ("\u{2212}\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{ff0d}", "-"),
    ("\u{201c}\u{201d}\u{201e}\u{00ab}\u{00bb}\u{ff02}", "\""),
    ("\u{2018}\u{2019}\u{201a}\u{00b4}", "'"),
    ("\u{00d7}\u{2217}\u{22c5}\u{00b7}\u{ff0a}", "*"),
    ("\u{00f7}\u{2215}\u{2044}", "/"),
    ("\u{2264}\u{2a7d}", "<="),
    ("\u{2265}\u{2a7e}", ">="),
    ("\u{2260}", "!="),
    ("\u{2261}\u{ff1d}", "=="),
    ("\u{2192}\u{21d2}", "->"),
    ("\u{2227}", "&&"),
    ("\u{2228}", "||"),
    ("\u{00ac}", "!"),
    ("\u{2026}", ".."),
    ("\u{ff0c}\u{3001}", ","),
    ("\u{ff1b}\u{037e}", ";"),
    ("\u{ff1a}\u{2236}", ":"),
    ("\u{ff08}", "("),
    ("\u{ff09}", ")"),
    ("\u{ff3b}\u{3010}", "["),
    ("\u{ff3d}\u{3011}", "]"),
    ("\u{ff5b}", "{"),
    ("\u{ff5d}", "}"),
    ("\u{00a0}\u{2002}\u{2003}\u{2009}\u{202f}\u{3000}", " "),
    ("\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{00ad}\u{fffd}", "nothing"),
    ("\u{0430}", "a"),
    ("\u{0435}", "e"),
    ("\u{043e}", "o"),
    ("\u{0440}", "p"),
    ("\u{0441}", "c"),
    ("\u{0445}", "x"),
];

/// What a character looks like, if it is like one of the language.
pub fn plain(c: char) -> Option<&'static str> {
    LOOK_ALIKES.iter().find(|(others, _)| others.contains(c)).map(|(_, plain)| *plain)
}
