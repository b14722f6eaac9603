//! Verdicts of operations on tensor memory (R-11, UB-A8), derived from the PTX ISA's section on `tcgen05`: each row is a
//! kernel, and what is found in it, if anything; next to each bad one stands the nearest good one.

use fencepost::check::{CheckError, check};
use fencepost::encode::Treatment;
use fencepost_tests::run::Expect::{self, Fine, Found};
use fencepost_tests::run::{codes_of, config, load_text, model, outcomes};

const TENSOR: Expect = Found("race::tensor-memory");
const CROSS_PROXY: Expect = Found("race::cross-proxy");
const FREED: Expect = Found("lifetime::tensor-memory-freed");
const KEPT: Expect = Found("async::tensor-memory-kept");
const RELINQUISHED: Expect = Found("lifetime::alloc-after-relinquish");

fn judge(name: &str, text: &str, variants: &[&str], expect: Expect) {
    let model = model(variants);
    let found = outcomes(&format!("//! target sm_100a ptx 9.4\n{text}"), &model, &config(Treatment::DEFAULT));
    expect.judge(name, text, &found[0], &model);
}

/// Short forms that the rows are written with.
const WORDS: &[(&str, &str)] = &[
    ("MMA", "tcgen05.mma.cta_group::1.kind::f16 [acc], [a], [b]"),
    ("MMB", "tcgen05.mma.cta_group::1.kind::tf32 [acc], [a], [b]"),
    ("OTHER", "tcgen05.mma.cta_group::1.kind::f16 [other], [acc], [b]"),
    ("COPY", "tcgen05.cp.cta_group::1.128x256b [acc], [a]"),
    ("LOAD", "tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [acc[0]]"),
    ("STORE", "tcgen05.st.sync.aligned.32x32b.x1.b32 [acc[0]], 7"),
    ("LOADED", "tcgen05.wait::ld.sync.aligned"),
    ("STORED", "tcgen05.wait::st.sync.aligned"),
    ("BEFORE", "tcgen05.fence::before_thread_sync"),
    ("AFTER", "tcgen05.fence::after_thread_sync"),
    ("COMMIT", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full]"),
    ("ARRIVE", "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [full]"),
    ("WAIT", "await mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 [full], 0"),
    ("ACQUIRE", "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0"),
    ("RELEASE", "mbarrier.arrive.release.cta.shared::cta.b64 _, [full]"),
    ("ALLOC", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32"),
    ("FREE", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [acc], 32"),
    ("RELINQUISH", "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"),
];

/// A kernel of two warps, each with its statements.
fn kernel(first: &str, second: &str) -> String {
    let spelt = |row: &str| {
        let statements = row.split("; ").filter(|part| !part.is_empty()).map(|part| {
            let (word, rest) = part.split_once('+').unwrap_or((part, ""));
            let long = WORDS.iter().find(|(short, _)| *short == word).map_or(word, |&(_, long)| long);
            format!("        {long}{rest};\n")
        });
        statements.collect::<String>()
    };
    format!(
        "kernel k {{
    launch {{ warps: 2 }}
    shared a[2]: u32 = 3;
    shared b: b128 = 1;
    tmem acc[2]: u32;
    tmem other: u32;
    shared slot: u32;
    shared full: mbarrier;
    register r: u32;
    if tid == 0 {{ mbarrier.init.shared::cta.b64 [full], 1; }}
    bar.sync 0;
    if warpid == 0 {{\n{}    }} else {{\n{}    }}\n}}",
        spelt(first),
        spelt(second)
    )
}

fn table(rows: &[(&str, &str, &str, Expect)]) {
    for &(name, first, second, expect) in rows {
        judge(name, &kernel(first, second), &[], expect);
    }
}

/// AS-29: what one thread starts is in no order but for the pairs that the hardware keeps in order.
#[test]
fn one_thread_is_ordered_by_pipelines_and_waits() {
    let end = "COMMIT; WAIT";
    let rows = [
        ("two products", format!("MMA+, 0; MMA+, 1; {end}"), Fine),
        ("products of two kinds", format!("MMA+, 0; MMB+, 1; {end}"), TENSOR),
        ("copy, product", format!("COPY; MMA+, 1; {end}"), Fine),
        ("product, copy", format!("MMA+, 0; COPY; {end}"), TENSOR),
        ("product, product that reads its result", format!("MMA+, 0; OTHER+, 0; {end}"), TENSOR),
        ("product, load", format!("MMA+, 0; LOAD; LOADED; {end}"), TENSOR),
        ("product, wait, load", "MMA+, 0; COMMIT; WAIT; LOAD; LOADED".to_owned(), TENSOR),
        ("product, wait, fence, load", "MMA+, 0; COMMIT; WAIT; AFTER; LOAD; LOADED".to_owned(), Fine),
        ("fence before the wait", "MMA+, 0; COMMIT; AFTER; WAIT; LOAD; LOADED".to_owned(), TENSOR),
        ("store, load", "STORE; LOAD; LOADED; STORED".to_owned(), TENSOR),
        ("store, wait, load", "STORE; STORED; LOAD; LOADED".to_owned(), Fine),
        ("store, wait for loads, load", "STORE; LOADED; LOAD; LOADED; STORED".to_owned(), TENSOR),
        ("store, wait, product", format!("STORE; STORED; MMA+, 1; {end}"), Fine),
        ("load, wait, store", "LOAD; LOADED; STORE; STORED".to_owned(), Fine),
        ("two loads", "LOAD; LOADED; LOAD; LOADED".to_owned(), Fine),
    ];
    for (name, first, expect) in &rows {
        judge(name, &kernel(first, ""), &[], *expect);
    }
}

/// AS-30, AS-32: a product, and a load by another thread.
#[test]
fn a_product_is_handed_over_by_a_commit() {
    table(&[
        ("commit, wait, fence", "MMA+, 0; COMMIT", "WAIT; AFTER; LOAD; LOADED", Fine),
        ("acquire instead of the fence", "MMA+, 0; COMMIT", "ACQUIRE; LOAD; LOADED", TENSOR),
        ("fence before the wait", "MMA+, 0; COMMIT", "AFTER; WAIT; LOAD; LOADED", TENSOR),
        ("commit before the product", "COMMIT; MMA+, 0", "WAIT; AFTER; LOAD; LOADED", TENSOR),
        ("arrival instead of the commit", "MMA+, 0; BEFORE; RELEASE", "ACQUIRE; AFTER; LOAD; LOADED", TENSOR),
        ("a store before the product", "STORE; STORED; MMA+, 1; COMMIT", "WAIT; AFTER; LOAD; LOADED", Fine),
        ("a store not waited for", "STORE; MMA+, 1; COMMIT; STORED", "WAIT; AFTER; LOAD; LOADED", TENSOR),
        ("a commit does not track loads", "LOAD; COMMIT; LOADED", "WAIT; AFTER; STORE; STORED", TENSOR),
    ]);
}

/// AS-31, AS-32: a store, and a product of another thread (A8.1, A8.2).
#[test]
fn a_store_is_handed_over_between_both_fences() {
    let use_it = "WAIT; AFTER; OTHER+, 0";
    table(&[
        ("all", "STORE; STORED; BEFORE; ARRIVE", use_it, Found("lifetime::operation-pending")),
        ("all, and an end", "STORE; STORED; BEFORE; ARRIVE", "WAIT; AFTER; LOAD; LOADED", Fine),
        ("no wait for the store", "STORE; BEFORE; ARRIVE; STORED", "WAIT; AFTER; LOAD; LOADED", TENSOR),
        ("no fence before", "STORE; STORED; ARRIVE", "WAIT; AFTER; LOAD; LOADED", TENSOR),
        (
            "fence before the wait for the store",
            "STORE; BEFORE; STORED; ARRIVE",
            "WAIT; AFTER; LOAD; LOADED",
            TENSOR,
        ),
        ("no fence after", "STORE; STORED; BEFORE; ARRIVE", "WAIT; LOAD; LOADED", TENSOR),
        ("release and acquire", "STORE; STORED; RELEASE", "ACQUIRE; LOAD; LOADED", TENSOR),
        ("nothing in between", "STORE; STORED; BEFORE", "AFTER; LOAD; LOADED", TENSOR),
        (
            "a barrier in between",
            "STORE; STORED; BEFORE; bar.sync 1",
            "bar.sync 1; AFTER; LOAD; LOADED",
            Fine,
        ),
    ]);
}

/// AS-31: what orders threads, whatever its sem; a relaxed read that nobody waits for orders nothing but the fence after it.
#[test]
fn values_order_the_fences() {
    let frame = "kernel k {
    launch { warps: 3 }
    tmem acc: u32;
    register r: u32;
    global x: u32 = 0;
    global y: u32 = 0;
    global z: u32 = 0;
    if warpid == 0 {
        tcgen05.st.sync.aligned.32x32b.x1.b32 [acc], 7;
        tcgen05.wait::st.sync.aligned;
        tcgen05.fence::before_thread_sync;
        st.relaxed.cta [x], 1;
    } else if warpid == 1 {
        @
    } else {
        let v = ld.relaxed.cta [y];
        if v == 1 {
            tcgen05.fence::after_thread_sync;
            tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [acc];
            tcgen05.wait::ld.sync.aligned;
        }
    }
}";
    for (name, middle, expect) in [
        ("awaited", "await ld.relaxed.cta [x] == 1; st.relaxed.cta [y], 1;", Fine),
        ("decided", "let u = ld.relaxed.cta [x]; if u == 1 { st.relaxed.cta [y], 1; }", Fine),
        ("passed on", "let u = ld.relaxed.cta [x]; st.relaxed.cta [y], u;", Fine),
        ("independent", "let u = ld.relaxed.cta [x]; st.relaxed.cta [y], 1;", TENSOR),
        (
            "decided about something else",
            "let u = ld.relaxed.cta [x]; if u == 1 { st.relaxed.cta [z], 1; } st.relaxed.cta [y], 1;",
            TENSOR,
        ),
        ("not read", "st.relaxed.cta [y], 1;", TENSOR),
    ] {
        judge(name, &frame.replace('@', middle), &[], expect);
    }
}

/// AS-32: what is pipelined needs no end, but both fences, if another thread starts it.
#[test]
fn pipelined_operations_of_two_threads_need_no_end() {
    let end = "await mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 [full], 1";
    let second = format!("WAIT; AFTER; MMA+, 1; COMMIT; {end}");
    let unfenced = format!("WAIT; MMA+, 1; COMMIT; {end}");
    // The first thread's own operation must be over at its end.
    let first = |middle: &str| format!("COPY; {middle}ARRIVE; {end}");
    judge("both fences", &kernel(&first("BEFORE; "), &second), &[], Found("lifetime::operation-pending"));
    for (name, first, second, races) in [
        ("both fences", first("BEFORE; "), &second, false),
        ("no fence before", first(""), &second, true),
        ("no fence after", first("BEFORE; "), &unfenced, true),
    ] {
        let model = model(&[]);
        let text = format!("//! target sm_100a ptx 9.4\n{}", kernel(&first, second));
        let found = outcomes(&text, &model, &config(Treatment::DEFAULT));
        let codes = codes_of(&found[0], &model);
        assert_eq!(codes.contains("race::tensor-memory"), races, "{name}: {codes:?}");
    }
}

/// AS-33, A-18: operands in shared memory go through the async proxy; a commit stands for the fence on the way back.
#[test]
fn operands_go_through_the_async_proxy() {
    let after = "st.weak.u32 [a[0]], 4";
    let fence = "fence.proxy.async.shared::cta";
    let done = "MMA+, 0; COMMIT; ACQUIRE";
    let rows: [(&str, String, &[&str], Expect); 6] = [
        ("written, fenced", format!("{after}; {fence}; {done}"), &[], Fine),
        ("written", format!("{after}; {done}"), &[], CROSS_PROXY),
        ("overwritten", format!("{done}; {after}"), &[], Fine),
        ("overwritten early", format!("MMA+, 0; COMMIT; {after}; WAIT"), &[], Found("race::async-source")),
        ("overwritten, strict", format!("{done}; {after}"), &["strict-tensor-completion"], CROSS_PROXY),
        (
            "overwritten, fenced, strict",
            format!("{done}; {fence}; {after}"),
            &["strict-tensor-completion"],
            Fine,
        ),
    ];
    for (name, first, variants, expect) in rows {
        judge(name, &kernel(&first, ""), variants, expect);
    }
}

/// AS-34: what uses tensor memory is over before it is deallocated; no fence is needed for that (A7.3).
#[test]
fn tensor_memory_is_freed_after_its_last_use() {
    table(&[
        (
            "loaded before",
            "ALLOC; bar.sync 1; bar.sync 2; FREE",
            "bar.sync 1; LOAD; LOADED; bar.sync 2",
            Fine,
        ),
        (
            "load not waited for",
            "ALLOC; bar.sync 1; bar.sync 2; FREE",
            "bar.sync 1; LOAD; bar.sync 2; LOADED",
            FREED,
        ),
        ("freed at once", "ALLOC; bar.sync 1; FREE", "bar.sync 1; LOAD; LOADED", FREED),
        ("used afterwards", "ALLOC; FREE; bar.sync 1", "bar.sync 1; LOAD; LOADED", FREED),
        ("product committed", "ALLOC; MMA+, 0; COMMIT; WAIT; FREE", "", Fine),
        ("product committed, not waited for", "ALLOC; MMA+, 0; COMMIT; FREE; WAIT", "", FREED),
        ("freed by both", "ALLOC; bar.sync 1; FREE", "bar.sync 1; FREE", FREED),
    ]);
}

/// UB-A8: everything is given back, and the permit is given up once.
#[test]
fn tensor_memory_is_given_back() {
    table(&[
        ("given back", "ALLOC; RELINQUISH; FREE", "", Fine),
        ("kept", "ALLOC; RELINQUISH", "", KEPT),
        ("given back by the other warp", "ALLOC; bar.sync 1", "bar.sync 1; FREE", Fine),
        ("allocated after the permit was given up", "RELINQUISH; ALLOC; FREE", "", RELINQUISHED),
        ("permit given up by the other warp", "ALLOC; FREE", "RELINQUISH", RELINQUISHED),
        ("… after a barrier", "ALLOC; bar.sync 1; FREE", "bar.sync 1; RELINQUISH", Fine),
    ]);
}

/// LT-1, LT-2, AS-30: a commit that signals several CTAs.
#[test]
fn a_commit_signals_every_cta_of_its_mask() {
    let frame = "kernel k {
    launch { ctas: 2, cluster: 2 }
    shared a: u32 = 3;
    shared b: u32 = 1;
    tmem acc: u32;
    shared full: mbarrier;
    mbarrier.init.shared::cta.b64 [full], 1;
    fence.mbarrier_init.release.cluster;
    @
    if ctaid == 0 {
        tcgen05.mma.cta_group::1.kind::f16 [acc], [a], [b], 0;
        tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [full], MASK;
    }
    await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [full], 0;
}";
    let start = "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
    for (name, start, mask, expect) in [
        ("to both", start, "3", Fine),
        ("to one", start, "1", Found("deadlock::phase-never-completes")),
        ("to a third", start, "7", Found("async::bad-multicast")),
        ("before the other has started", "", "3", Found("lifetime::peer-not-started")),
    ] {
        judge(name, &frame.replace('@', start).replace("MASK", mask), &[], expect);
    }
}

/// AS-34, UB-A8: a warp executes what is aligned as one, and allocates once.
#[test]
fn a_warp_executes_them_together() {
    let frame = "kernel k {
    launch { lanes: 2 }
    tmem acc[2]: u32;
    shared slot: u32;
    register r: u32;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    @
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 [acc], 32;
}";
    let load = "tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [acc[laneid]]; tcgen05.wait::ld.sync.aligned; bar.warp.sync 3;";
    let divided = format!("if laneid == 0 {{ {load} }}").replace("bar.warp.sync 3;", "") + "bar.warp.sync 3;";
    for (name, part, expect) in
        [("both lanes", load.to_owned(), Fine), ("one lane", divided, Found("barrier::aligned-divergent"))]
    {
        judge(name, &frame.replace('@', &part), &[], expect);
    }
}

/// What is not told apart is refused.
#[test]
fn allocations_that_are_not_told_apart_are_refused() {
    let again = "ALLOC; FREE; ALLOC; FREE";
    let wait = "tcgen05.alloc.cta_group::1.sync.aligned.b32 [slot], 512; ALLOC";
    let more = "ALLOC; ALLOC; ALLOC";
    for (first, is_refused) in [("ALLOC; FREE", false), (again, true), (wait, true), (more, true)] {
        let text = format!("//! target sm_100a ptx 9.4\n{}", kernel(first, ""));
        let program = load_text(&text);
        let launch = &program.kernels[0].launches[0];
        let result = check(&program, &program.kernels[0], launch, &model(&[]), &config(Treatment::DEFAULT));
        match result {
            Err(CheckError::Unsupported(why)) => {
                assert!(is_refused, "{first}");
                assert_eq!(why.code, "unsupported::tensor-allocation", "{first}");
            }
            Err(error) => panic!("{first}: {error}"),
            Ok(_) => assert!(!is_refused, "{first}"),
        }
    }
}
