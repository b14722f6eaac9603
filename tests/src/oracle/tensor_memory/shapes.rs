//! Fixed programs of tensor memory, each next to one that lacks a step: what a mistake about any clause of the section on
//! tensor memory would change.

/// A name, what each warp does in the words below, and what is to be found, the twin and the checker agreeing.
pub type Shape = (&'static str, &'static [&'static str], Found);

/// What is found of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Nothing.
    Fine,
    /// A race.
    Race,
    /// This rule is broken.
    Broken(&'static str),
}
use Found::{Broken, Fine, Race};

/// Short forms. `@` stands for the rest of a word after `:`.
const WORDS: &[(&str, &str)] = &[
    ("MMA", "tcgen05.mma.cta_group::1.kind::f16 [acc], [a], [b], @"),
    ("TF32", "tcgen05.mma.cta_group::1.kind::tf32 [acc], [a], [b], @"),
    ("FROM", "tcgen05.mma.cta_group::1.kind::f16 [other], [acc], [b], @"),
    ("MMO", "tcgen05.mma.cta_group::1.kind::f16 [other], [a], [b], @"),
    ("CP", "tcgen05.cp.cta_group::1.128x256b [@], [a]"),
    ("LD", "tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [@]"),
    ("ST", "tcgen05.st.sync.aligned.32x32b.x1.b32 [@], 7"),
    ("ST5", "tcgen05.st.sync.aligned.32x32b.x1.b32 [@], 5"),
    ("WLD", "tcgen05.wait::ld.sync.aligned"),
    ("WST", "tcgen05.wait::st.sync.aligned"),
    ("BEFORE", "tcgen05.fence::before_thread_sync"),
    ("AFTER", "tcgen05.fence::after_thread_sync"),
    ("COMMIT", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [@]"),
    ("ARRIVE", "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [@]"),
    ("RELEASE", "mbarrier.arrive.release.cta.shared::cta.b64 _, [@]"),
    ("WAIT", "await mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 [@], 0"),
    ("ACQUIRE", "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [@], 0"),
    ("BAR", "bar.sync 2"),
    ("RAISE", "st.relaxed.cta.u32 [@], 1"),
    ("AWAIT", "await (ld.relaxed.cta.u32 [@]) == 1"),
    ("READ", "let v = ld.relaxed.cta.u32 [@]"),
    ("WEAK", "st.weak.u32 [@], 1"),
    ("KEEP", "st.weak.u32 [kept], v"),
    ("PASS", "st.relaxed.cta.u32 [@], v"),
    ("IF", "if v == 1 { @"),
    ("FENCE", "fence.acquire.cta"),
    ("WRITE", "st.weak.u32 [a], @"),
    ("PROXY", "fence.proxy.async.shared::cta"),
    ("ALLOC", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32"),
    ("FREE", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [acc], 32"),
    ("RELINQUISH", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"),
    ("SLOT", "let s = ld.weak.u32 [slot]"),
    ("OUT", "let o = mov.b32 r; st.weak.u32 [out], o"),
];

const FREED: Found = Broken("lifetime::tensor-memory-freed");
const KEPT: Found = Broken("async::tensor-memory-kept");
const RELINQUISHED: Found = Broken("lifetime::alloc-after-relinquish");

/// Two stores, and a flag.
const TWICE: &str = "ST5:acc; WST; ST:acc; WST; BEFORE; RAISE:x";

/// All of them.
pub const SHAPES: &[Shape] = &[
    // AS-29: pipelines.
    ("products of one kind", &["MMA:0; MMA:1; COMMIT:m", ""], Fine),
    ("products of two kinds", &["MMA:0; TF32:1; COMMIT:m", ""], Race),
    ("copy, product", &["CP:acc; MMA:1; COMMIT:m", ""], Fine),
    ("product, copy", &["MMA:0; CP:acc; COMMIT:m", ""], Race),
    ("product of a product", &["MMA:0; FROM:0; COMMIT:m", ""], Race),
    ("copy, product of it", &["CP:acc; FROM:0; COMMIT:m", ""], Fine),
    ("two copies", &["CP:acc; CP:acc; COMMIT:m", ""], Race),
    ("load, store", &["LD:acc; ST:acc; WLD; WST", ""], Race),
    // AS-30, AS-32: one thread.
    ("store, wait, load", &["ST:acc; WST; LD:acc; WLD; OUT", ""], Fine),
    ("store, wait for loads, load", &["ST:acc; WLD; LD:acc; WLD; WST", ""], Race),
    ("load, wait, store", &["LD:acc; WLD; ST:acc; WST", ""], Fine),
    ("load, wait for stores, store", &["LD:acc; WST; ST:acc; WLD; WST", ""], Race),
    ("store, both fences, load", &["ST:acc; BEFORE; AFTER; LD:acc; WLD; WST", ""], Race),
    ("register too early", &["LD:acc; OUT; WLD", ""], Race),
    ("commit, wait, fence", &["MMA:0; COMMIT:m; WAIT:m; AFTER; LD:acc; WLD", ""], Fine),
    ("commit, wait", &["MMA:0; COMMIT:m; WAIT:m; LD:acc; WLD", ""], Race),
    ("commit, fence", &["MMA:0; COMMIT:m; AFTER; LD:acc; WLD", ""], Race),
    ("commit of a copy", &["CP:acc; COMMIT:m; WAIT:m; AFTER; LD:acc; WLD", ""], Fine),
    ("commit of an earlier commit", &["MMA:0; COMMIT:n; COMMIT:m; WAIT:m; AFTER; LD:acc; WLD", ""], Fine),
    ("commit of a load", &["LD:acc; COMMIT:m; WAIT:m; AFTER; ST:acc; WLD; WST", ""], Race),
    // AS-31, AS-32: two threads.
    ("product, load", &["MMA:0; COMMIT:m", "WAIT:m; AFTER; LD:acc; WLD; OUT"], Fine),
    ("no fence after", &["MMA:0; COMMIT:m", "ACQUIRE:m; LD:acc; WLD"], Race),
    ("fence before the wait", &["MMA:0; COMMIT:m", "AFTER; WAIT:m; LD:acc; WLD"], Race),
    ("commit before the product", &["COMMIT:m; MMA:0", "WAIT:m; AFTER; LD:acc; WLD"], Race),
    ("arrival for a product", &["MMA:0; BEFORE; RELEASE:m", "ACQUIRE:m; AFTER; LD:acc; WLD"], Race),
    ("store, load", &["ST:acc; WST; BEFORE; ARRIVE:m", "WAIT:m; AFTER; LD:acc; WLD; OUT"], Fine),
    ("no wait", &["ST:acc; BEFORE; ARRIVE:m; WST", "WAIT:m; AFTER; LD:acc; WLD"], Race),
    ("no fence before", &["ST:acc; WST; RELEASE:m", "ACQUIRE:m; AFTER; LD:acc; WLD"], Race),
    ("fence before the wait", &["ST:acc; BEFORE; WST; ARRIVE:m", "WAIT:m; AFTER; LD:acc; WLD"], Race),
    ("fence after the arrival", &["ST:acc; WST; ARRIVE:m; BEFORE", "WAIT:m; AFTER; LD:acc; WLD"], Race),
    ("store, no fence after", &["ST:acc; WST; BEFORE; RELEASE:m", "ACQUIRE:m; LD:acc; WLD"], Race),
    ("nothing in between", &["ST:acc; WST; BEFORE", "AFTER; LD:acc; WLD"], Race),
    ("load, store", &["LD:acc; WLD; BEFORE; ARRIVE:m", "WAIT:m; AFTER; ST:acc; WST"], Fine),
    ("load, product", &["LD:acc; WLD; BEFORE; ARRIVE:m", "WAIT:m; AFTER; MMA:0; COMMIT:n"], Fine),
    ("copy, product", &["CP:acc; BEFORE; ARRIVE:m", "WAIT:m; AFTER; MMA:1; COMMIT:n"], Fine),
    ("copy, product, no fence before", &["CP:acc; ARRIVE:m", "WAIT:m; AFTER; MMA:1; COMMIT:n"], Race),
    ("copy, product, no fence after", &["CP:acc; BEFORE; ARRIVE:m", "WAIT:m; MMA:1; COMMIT:n"], Race),
    ("products", &["MMA:0; BEFORE; ARRIVE:m", "WAIT:m; AFTER; MMA:1; COMMIT:n"], Fine),
    ("products, two kinds", &["MMA:0; BEFORE; ARRIVE:m", "WAIT:m; AFTER; TF32:1; COMMIT:n"], Race),
    ("copies", &["CP:acc; BEFORE; ARRIVE:m", "WAIT:m; AFTER; CP:acc; COMMIT:n"], Race),
    // What orders threads.
    ("barrier", &["ST:acc; WST; BEFORE; BAR", "BAR; AFTER; LD:acc; WLD"], Fine),
    ("a barrier that an exit completes", &["ST:acc; WST; BEFORE", "BAR; AFTER; LD:acc; WLD"], Race),
    (
        "a barrier that an exit completes, after a wait",
        &["ST:acc; WST; BEFORE; WAIT:m", "ARRIVE:m; BAR; AFTER; LD:acc; WLD"],
        Race,
    ),
    ("fence before the barrier", &["ST:acc; WST; BEFORE; BAR", "AFTER; BAR; LD:acc; WLD"], Race),
    ("flag", &["ST:acc; WST; BEFORE; RAISE:x", "AWAIT:x; AFTER; LD:acc; WLD"], Fine),
    ("flag read", &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; AFTER; LD:acc; WLD"], Race),
    ("flag read and asked", &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; IF:AFTER; LD:acc; WLD }"], Fine),
    ("fence, then asked", &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; AFTER; IF:LD:acc; WLD }"], Fine),
    ("fence, then read", &["ST:acc; WST; BEFORE; RAISE:x", "AFTER; READ:x; IF:LD:acc; WLD }"], Race),
    ("another flag", &["ST:acc; WST; BEFORE; RAISE:y", "READ:x; AFTER; IF:LD:acc; WLD }"], Fine),
    ("handed on", &["ST:acc; WST; BEFORE; RAISE:x", "AWAIT:x; RAISE:y", "AWAIT:y; AFTER; LD:acc; WLD"], Fine),
    ("passed on", &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; PASS:y", "AWAIT:y; AFTER; LD:acc; WLD"], Fine),
    (
        "decided",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; IF:RAISE:y }", "AWAIT:y; AFTER; LD:acc; WLD"],
        Fine,
    ),
    (
        "not waited",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; RAISE:y", "READ:y; IF:AFTER; LD:acc; WLD }"],
        Race,
    ),
    (
        "passed on and asked",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; PASS:y", "READ:y; IF:AFTER; LD:acc; WLD }"],
        Fine,
    ),
    (
        "passed on, fence, asked",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; PASS:y", "READ:y; AFTER; IF:LD:acc; WLD }"],
        Fine,
    ),
    (
        "decided, then an arrival",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; IF:ARRIVE:m }", "WAIT:m; AFTER; LD:acc; WLD"],
        Fine,
    ),
    (
        "read before a fence, then an arrival",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; FENCE; IF:ARRIVE:m }", "WAIT:m; AFTER; LD:acc; WLD"],
        Fine,
    ),
    (
        "two arrivals",
        &["ST:acc; WST; BEFORE; ARRIVE:m", "WAIT:m; ARRIVE:n", "WAIT:n; AFTER; LD:acc; WLD"],
        Fine,
    ),
    (
        "justified by itself",
        &[
            "ST:acc; WST; BEFORE; RAISE:y",
            "READ:y; IF:AFTER; LD:acc; WLD; BEFORE; RAISE:x }",
            "READ:x; IF:RAISE:y }",
        ],
        Fine,
    ),
    (
        "passed on twice",
        &[
            "ST:acc; WST; BEFORE; RAISE:x",
            "READ:x; PASS:y",
            "READ:y; PASS:z",
            "READ:z; IF:AFTER; LD:acc; WLD }",
        ],
        Fine,
    ),
    ("stored weakly and awaited", &["ST:acc; WST; BEFORE; WEAK:x", "AWAIT:x; AFTER; LD:acc; WLD"], Race),
    (
        "decided, then stored weakly and awaited",
        &["ST:acc; WST; BEFORE; RAISE:x", "READ:x; IF:WEAK:y }", "AWAIT:y; AFTER; LD:acc; WLD"],
        Race,
    ),
    // All have a race, and differ in what is loaded if the middle thread has seen the flag.
    ("seen, not waited for", &[TWICE, "READ:x; RAISE:y; KEEP", "AWAIT:y; AFTER; LD:acc; WLD; OUT"], Race),
    ("seen and acquired", &[TWICE, "READ:x; FENCE; RAISE:y; KEEP", "AWAIT:y; AFTER; LD:acc; WLD; OUT"], Race),
    ("decided about a barrier", &[TWICE, "READ:x; KEEP; IF:BAR }", "BAR; AFTER; LD:acc; WLD; OUT"], Race),
    ("committed and handed on", &["MMA:0; COMMIT:m", "WAIT:m; ARRIVE:n", "WAIT:n; AFTER; LD:acc; WLD"], Fine),
    // Orders of several steps.
    ("store, product, load", &["ST:acc; WST; MMA:1; COMMIT:m", "WAIT:m; AFTER; LD:acc; WLD"], Fine),
    (
        "store, product without wait, load",
        &["ST:acc; MMA:1; COMMIT:m; WST", "WAIT:m; AFTER; LD:acc; WLD"],
        Race,
    ),
    (
        "copy, product, load",
        &["CP:acc; BEFORE; ARRIVE:m", "WAIT:m; AFTER; MMA:1; COMMIT:n", "WAIT:n; AFTER; LD:acc; WLD"],
        Fine,
    ),
    (
        "store, load, store",
        &[
            "ST:acc; WST; BEFORE; ARRIVE:m",
            "WAIT:m; AFTER; LD:acc; WLD; BEFORE; ARRIVE:n",
            "WAIT:n; AFTER; ST:acc; WST",
        ],
        Fine,
    ),
    (
        "store, load by product, store",
        &["ST:acc; WST; BEFORE; ARRIVE:m", "WAIT:m; AFTER; FROM:0; COMMIT:n", "WAIT:n; AFTER; ST:acc; WST"],
        Fine,
    ),
    // AS-33, A-18, A-28: operands.
    ("operand written", &["WRITE:4; PROXY; MMA:0; COMMIT:m", ""], Fine),
    ("operand written, no fence", &["WRITE:4; MMA:0; COMMIT:m", ""], Race),
    ("operand of a copy written, no fence", &["WRITE:4; CP:acc; COMMIT:m", ""], Race),
    ("operand overwritten", &["MMA:0; COMMIT:m; ACQUIRE:m; WRITE:4", ""], Fine),
    ("operand overwritten early", &["MMA:0; COMMIT:m; WRITE:4", ""], Race),
    ("operand overwritten, relaxed wait", &["MMA:0; COMMIT:m; WAIT:m; WRITE:4", ""], Race),
    ("operand carries", &["WRITE:4; PROXY; MMA:0; COMMIT:m", "ACQUIRE:m; WRITE:5"], Fine),
    (
        "two operands carry",
        &["WRITE:4; PROXY; MMA:0; COMMIT:m", "ACQUIRE:m; MMO:0; COMMIT:n", "ACQUIRE:n; WRITE:5"],
        Fine,
    ),
    (
        "two operands carry, committed together",
        &["WRITE:4; PROXY; MMA:0; COMMIT:m; MMO:0; COMMIT:n", "ACQUIRE:n; WRITE:5"],
        Fine,
    ),
    // AS-34, UB-A8
    ("freed after a wait", &["ALLOC; LD:acc; WLD; FREE", ""], Fine),
    ("freed without a wait", &["ALLOC; LD:acc; FREE; WLD", ""], FREED),
    ("freed after a commit", &["ALLOC; MMA:0; COMMIT:m; WAIT:m; FREE", ""], Fine),
    ("freed before the wait", &["ALLOC; MMA:0; COMMIT:m; FREE; WAIT:m", ""], FREED),
    ("freed by another", &["ALLOC; LD:acc; WLD; BAR", "BAR; FREE"], Fine),
    ("freed by another at once", &["ALLOC; LD:acc; BAR; WLD", "BAR; FREE"], FREED),
    ("freed and used", &["ALLOC; FREE; BAR", "BAR; LD:acc; WLD"], FREED),
    ("freed twice", &["ALLOC; BAR; FREE", "BAR; FREE"], FREED),
    ("freed after a product of it", &["ALLOC; ST:acc; WST; MMA:1; COMMIT:m", "WAIT:m; FREE"], Fine),
    (
        "freed after a copy and a product of it",
        &["ALLOC; CP:acc; BEFORE; ARRIVE:m", "WAIT:m; AFTER; MMA:1; COMMIT:n", "WAIT:n; FREE"],
        Fine,
    ),
    ("other tensor memory", &["ALLOC; LD:other; FREE; WLD", ""], Fine),
    ("kept", &["ALLOC; RELINQUISH", ""], KEPT),
    ("allocated after the permit is gone", &["RELINQUISH; ALLOC; FREE", ""], RELINQUISHED),
    ("permit given up elsewhere", &["ALLOC; FREE", "RELINQUISH"], RELINQUISHED),
    ("permit given up elsewhere, later", &["ALLOC; BAR; FREE", "BAR; RELINQUISH"], Fine),
    ("slot read", &["ALLOC; BAR; FREE", "BAR; SLOT"], Fine),
    ("slot read early", &["ALLOC; FREE", "SLOT"], Race),
];

/// The kernel without its closing brace.
pub fn text(threads: &[&str]) -> String {
    let mut body = String::new();
    for (thread, row) in threads.iter().enumerate() {
        body.push_str(&format!("    if warpid == {thread} {{\n"));
        for part in row.split("; ").filter(|part| !part.is_empty()) {
            body.push_str(&format!("        {}\n", statement(part)));
        }
        body.push_str("    }\n");
    }
    let count = |mbarrier: &str| {
        let arrives = |line: &&str| line.contains("arrive") && line.contains(&format!("[{mbarrier}]"));
        body.lines().filter(arrives).count().max(1)
    };
    let (m, n, n_warps) = (count("m"), count("n"), threads.len());
    format!(
        "//! target sm_100a ptx 9.4
kernel k {{
    launch {{ warps: {n_warps} }}
    global x: u32 = 0;
    global y: u32 = 0;
    global z: u32 = 0;
    global out: u32 = 0;
    global kept: u32 = 0;
    shared a: u32 = 3;
    shared b: u32 = 1;
    tmem acc: u32;
    tmem other: u32;
    shared slot: u32 = 0;
    register r: u32;
    shared m: mbarrier;
    shared n: mbarrier;
    if warpid == 0 {{
        mbarrier.init.shared::cta.b64 [m], {m};
        mbarrier.init.shared::cta.b64 [n], {n};
    }}
    bar.sync 1;
{body}"
    )
}

fn statement(part: &str) -> String {
    let (part, closes) = match part.strip_suffix(" }") {
        Some(part) => (part, " }"),
        None => (part, ""),
    };
    let (word, rest) = part.split_once(':').unwrap_or((part, ""));
    let (_, long) =
        WORDS.iter().find(|(short, _)| *short == word).unwrap_or_else(|| panic!("no word {word}"));
    let (rest, end) = if word == "IF" { (statement(rest), "") } else { (rest.to_owned(), ";") };
    format!("{}{end}{closes}", long.replace('@', &rest))
}
