//! Verdicts of asynchronous operations that this project derives from the PTX ISA: each row is a kernel, and what is found
//! in it, if anything; next to each bad one stands the nearest good one, and the other way round.
//!
//! Good kernels have no finding at all; what is asserted in them holds. Bad ones have the finding named, perhaps with others.

use fencepost::encode::Treatment;
use fencepost_tests::run::Expect::{self, Fine, Found};
use fencepost_tests::run::{codes_of, config, model, outcomes};

/// A row: what it is, how `@` in the frame reads, and what comes of it.
type Row = (&'static str, &'static str, Expect);

const DESTINATION: Expect = Found("race::async-destination");
const SOURCE: Expect = Found("race::async-source");
const CROSS_PROXY: Expect = Found("race::cross-proxy");

fn judge(name: &str, text: &str, variants: &[&str], expect: Expect) {
    let model = model(variants);
    expect.judge(name, text, &outcomes(text, &model, &config(Treatment::DEFAULT))[0], &model);
}

/// Fills each row into a frame.
fn table(frame: &str, rows: &[Row]) {
    for &(name, part, expect) in rows {
        judge(name, &frame.replace('@', part), &[], expect);
    }
}

/// A copy from global memory, waited for by another warp.
const LOAD: &str = "kernel k {
    launch { warps: 2 }
    global src[4]: u32 = 5;
    shared tile[4]: u32 = 0;
    shared length: u32 = 0;
    shared full: mbarrier;
    if tid == 0 { mbarrier.init.shared::cta.b64 [full], 1; }
    bar.sync 0;
    @
}";
const EXPECT: &str = "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;";
const COPY: &str =
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile[0]], [src[0]], 16, [full];";
const WAIT: &str = "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;";

/// AS-19: who waits with acquire sees the copied data; who does not may see what was there.
#[test]
fn a_load_is_seen_after_its_phase() {
    let read = "let v = ld.weak.u32 [tile[3]]; assert v == 5;";
    let relaxed = WAIT.replace("acquire", "relaxed");
    let rows = [
        ("acquire", WAIT.to_owned(), Fine),
        ("relaxed, then fence", format!("{relaxed} fence.acquire.cta;"), Fine),
        ("relaxed", relaxed, DESTINATION),
        ("not at all", String::new(), DESTINATION),
        ("not in a loop", WAIT.replace("await ", "let passed = "), DESTINATION),
    ];
    for (name, wait, expect) in rows {
        let body = format!("if tid == 0 {{ {EXPECT} {COPY} {WAIT} }} else {{ {wait} {read} }}");
        judge(name, &LOAD.replace('@', &body), &[], expect);
    }
}

/// MM-30: completion carries nothing of what the issuing thread did before, its arrival does.
#[test]
fn completion_is_not_transitive() {
    let store = "st.weak.u32 [length], 7;";
    let rows = [
        ("stored before the arrival", format!("{store} {EXPECT} {COPY}"), Fine),
        ("stored between arrival and copy", format!("{EXPECT} {store} {COPY}"), Found("race::not-carried")),
        ("stored after the copy", format!("{EXPECT} {COPY} {store}"), Found("race::uniform")),
    ];
    for (name, producer, expect) in rows {
        let consumer = format!("{WAIT} let v = ld.weak.u32 [length]; assert v == 7;");
        let body = format!("if tid == 0 {{ {producer} }} else {{ {consumer} }}");
        judge(name, &LOAD.replace('@', &body), &[], expect);
    }
}

/// What is filled by one thread and sent by it.
const STORE: &str = "kernel k {
    launch { warps: 2 }
    shared tile[4]: u32 = 0;
    global out[4]: u32 = 0;
    @
}";

/// AS-10, FN-12: a generic write, a fence of the async proxy for its space, a bulk store.
#[test]
fn a_bulk_store_needs_a_proxy_fence() {
    let frame = STORE.replace(
        '@',
        "if tid == 0 {
        st.weak.shared.u32 [tile[1]], 1;
        @
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [tile[0]], 16;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        let v = ld.weak.global.u32 [out[1]];
        assert v == 1;
    }",
    );
    table(
        &frame,
        &[
            ("no fence", "", CROSS_PROXY),
            ("fence", "fence.proxy.async;", Fine),
            ("fence of the CTA's memory", "fence.proxy.async.shared::cta;", Fine),
            ("fence of the cluster's memory", "fence.proxy.async.shared::cluster;", Fine),
            ("fence of global memory", "fence.proxy.async.global;", CROSS_PROXY),
            ("fence of the generic proxy", "fence.acq_rel.sys;", CROSS_PROXY),
        ],
    );
    // The thread that writes may fence, or the one that sends (AS, §5.5); another may not.
    let two = STORE.replace(
        '@',
        "if tid == 1 { st.weak.shared.u32 [tile[1]], 1; @1 }
    bar.sync 0;
    if tid == 0 {
        @0
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [tile[0]], 16;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;
    } else { @2 }",
    );
    let fence = "fence.proxy.async.shared::cta;";
    for (name, [sender, writer, later], expect) in [
        ("the writer fences", ["", fence, ""], Fine),
        ("the sender fences", [fence, "", ""], Fine),
        ("nobody fences", ["", "", ""], CROSS_PROXY),
        ("the writer fences after the barrier", ["", "", fence], CROSS_PROXY),
    ] {
        let text = two.replace("@0", sender).replace("@1", writer).replace("@2", later);
        judge(name, &text, &[], expect);
    }
}

/// AS-20: `.read` frees the source, and says nothing of the destination.
#[test]
fn waiting_for_reads_frees_the_source_only() {
    let frame = STORE.replace(
        '@',
        "if tid == 0 {
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [tile[0]], 16;
        cp.async.bulk.commit_group;
        @
        cp.async.bulk.wait_group 0;
    }",
    );
    table(
        &frame,
        &[
            ("reads, overwrite", "cp.async.bulk.wait_group.read 0; st.weak.shared.u32 [tile[0]], 1;", Fine),
            ("nothing, overwrite", "st.weak.shared.u32 [tile[0]], 1;", SOURCE),
            (
                "one group may be pending, overwrite",
                "cp.async.bulk.wait_group.read 1; st.weak.shared.u32 [tile[0]], 1;",
                SOURCE,
            ),
            ("groups of cp.async, overwrite", "cp.async.wait_all; st.weak.shared.u32 [tile[0]], 1;", SOURCE),
            (
                "reads, read the destination",
                "cp.async.bulk.wait_group.read 0; let v = ld.weak.u32 [out[0]];",
                DESTINATION,
            ),
            ("all, read the destination", "cp.async.bulk.wait_group 0; let v = ld.weak.u32 [out[0]];", Fine),
            ("nothing, read the source", "let v = ld.weak.shared.u32 [tile[0]];", Fine),
        ],
    );
}

/// AS-20: a tensor load that is committed to a bulk group may be waited for there, which says that its map has been read and
/// nothing else: neither that the tile is filled, nor that the tensor has been read.
#[test]
fn a_bulk_group_tells_that_the_map_of_a_tensor_load_was_read() {
    let frame = "kernel k {
    launch { warps: 2 }
    global src[2]: u64 = 1;
    global map: tensormap of src[2];
    shared tile[2]: u64 = 0;
    shared full: mbarrier;
    if tid == 0 {
        tensormap.replace.tile.global_address.global.b1024.b64 [map], src;
        fence.proxy.tensormap::generic.release.cta;
        mbarrier.init.shared::cta.b64 [full], 1;
        fence.proxy.tensormap::generic.acquire.cta [map], 128;
        mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;
        cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile[0]], [map, {0}], [full];
        @
        await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
    }
}";
    let rewrite = "tensormap.replace.tile.global_address.global.b1024.b64 [map], src;";
    let commit = "cp.async.bulk.commit_group;";
    let wait = |form: &str| format!("cp.async.bulk.wait_group{form};");
    let rows = [
        ("committed and waited for", format!("{commit} {} {rewrite}", wait(" 0")), Fine),
        ("committed, its reads waited for", format!("{commit} {} {rewrite}", wait(".read 0")), Fine),
        ("not committed", format!("{} {rewrite}", wait(" 0")), Found("race::tensormap")),
        ("committed too late", format!("{} {commit} {rewrite}", wait(" 0")), Found("race::tensormap")),
        ("one group may be pending", format!("{commit} {} {rewrite}", wait(" 1")), Found("race::tensormap")),
        ("not waited for", format!("{commit} {rewrite}"), Found("race::tensormap")),
        (
            "the tile after the group",
            format!("{commit} {} let v = ld.weak.shared.u64 [tile[0]];", wait(" 0")),
            DESTINATION,
        ),
        (
            "the tensor after the group",
            format!("{commit} {} st.weak.global.u64 [src[0]], 2;", wait(" 0")),
            SOURCE,
        ),
    ];
    for (name, steps, expect) in rows {
        judge(name, &frame.replace('@', &steps), &[], expect);
    }
}

/// AS-21: only the thread that started a bulk store can wait for it; the others learn by a barrier.
#[test]
fn groups_belong_to_a_thread() {
    let frame = STORE.replace(
        '@',
        "if tid == 0 {
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [tile[0]], 16;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;
    }
    @
    if tid == 1 { st.weak.shared.u32 [tile[0]], 1; }",
    );
    table(
        &frame,
        &[
            ("no barrier", "", SOURCE),
            ("barrier", "bar.sync 0;", Fine),
            ("the other waits", "if tid == 1 { cp.async.bulk.wait_group.read 0; }", SOURCE),
        ],
    );
    let late = STORE.replace(
        '@',
        "if tid == 0 {
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [tile[0]], 16;
        cp.async.bulk.commit_group;
    }
    bar.sync 0;
    if tid == 0 { cp.async.bulk.wait_group.read 0; }
    if tid == 1 { st.weak.shared.u32 [tile[0]], 1; }",
    );
    judge("wait after the barrier", &late, &[], SOURCE);
}

/// BR-4, AS-8: a barrier completes no copy; wait, then barrier.
#[test]
fn a_barrier_completes_no_copy() {
    let frame = "kernel k {
    launch { warps: 2 }
    global src[4]: u32 = 5;
    shared tile[4]: u32 = 0;
    if tid == 0 {
        cp.async.ca.shared::cta.global [tile[0]], [src[0]], 16;
        @
    }
    if tid == 1 { let v = ld.weak.shared.u32 [tile[0]]; assert v == 5; }
}";
    let rest = " } bar.sync 0; if tid == 0 { ";
    for (name, part, expect) in [
        ("no wait", format!("cp.async.commit_group; {rest} cp.async.wait_all;"), DESTINATION),
        ("wait, then barrier", format!("cp.async.commit_group; cp.async.wait_group 0; {rest}"), Fine),
        ("wait for all, then barrier", format!("cp.async.wait_all; {rest}"), Fine),
        ("wait without commit", format!("cp.async.wait_group 0; {rest}"), DESTINATION),
        (
            "one group may be pending",
            format!("cp.async.commit_group; cp.async.wait_group 1; {rest}"),
            DESTINATION,
        ),
        ("wait without barrier", "cp.async.wait_all;".into(), DESTINATION),
    ] {
        judge(name, &frame.replace('@', &part), &[], expect);
    }
}

/// AS-11, MB-24: an arrival that tracks copies hands over them, and nothing else.
#[test]
fn a_tracking_arrival_hands_over_its_copies() {
    let frame = LOAD.replace(
        '@',
        "if tid == 0 { cp.async.ca.shared::cta.global [tile[0]], [src[0]], 16; @ cp.async.wait_all; }
    else { await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0; let v = ld.weak.u32 [tile[0]]; }",
    );
    table(
        &frame,
        &[
            ("tracked", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full];", Fine),
            ("plain arrival", "mbarrier.arrive.release.cta.shared::cta.b64 _, [full];", DESTINATION),
            (
                "copied again after it",
                "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full];
                 cp.async.ca.shared::cta.global [tile[0]], [src[0]], 16;",
                DESTINATION,
            ),
        ],
    );
}

/// Two CTAs of a cluster that both run to its end.
const CLUSTER: &str = "kernel k {
    launch { ctas: 2, cluster: 2 }
    shared data[4]: u32 = 0;
    shared full: mbarrier;
    global out[4]: u32 = 0;
    if ctaid == 0 { mbarrier.init.shared::cta.b64 [full], 1; }
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @
    barrier.cluster.arrive;
    barrier.cluster.wait;
}";

/// MB-23: the default scope of an arrival at a peer's mbarrier is too narrow.
#[test]
fn a_remote_arrival_needs_cluster_scope() {
    let body = "if ctaid == 1 {
        st.weak.shared::cluster.u32 [mapa(data[0], 0)], 1;
        mbarrier.arrive@1.shared::cluster.b64 _, [mapa(full, 0)];
    } else {
        await mbarrier.try_wait.parity@2.shared::cta.b64 [full], 0;
        let v = ld.weak.u32 [data[0]];
        assert v == 1;
    }";
    let narrow = Found("race::scope-too-narrow");
    for (name, arrival, wait, expect) in [
        ("defaults", "", "", narrow),
        ("wide arrival", ".release.cluster", "", narrow),
        ("wide wait", "", ".acquire.cluster", narrow),
        ("both wide", ".release.cluster", ".acquire.cluster", Fine),
    ] {
        let body = body.replace("@1", arrival).replace("@2", wait);
        judge(name, &CLUSTER.replace('@', &body), &[], expect);
    }
}

/// the complete-tx of a copy from another CTA is not in the scope of the owner's default wait, but for the variant.
#[test]
fn a_copy_from_a_peer_needs_cluster_scope() {
    let body = "if ctaid == 1 {
        mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [mapa(full, 0)], 16;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [mapa(data[0], 0)], [out[0]], 16, [mapa(full, 0)];
    } else {
        await mbarrier.try_wait.parity.acquire.@.shared::cta.b64 [full], 0;
        let v = ld.weak.u32 [data[0]];
    }";
    let text = |scope| CLUSTER.replace('@', &body.replace('@', scope));
    judge("narrow", &text("cta"), &[], Found("race::scope-too-narrow"));
    judge("wide", &text("cluster"), &[], Fine);
    judge("narrow, at the owner", &text("cta"), &["completion-at-owner"], Fine);
}

/// BR-14, FN-8, FN-9: a relaxed arrival at the cluster barrier releases what a fence before it does.
#[test]
fn a_relaxed_cluster_arrival_needs_a_fence() {
    let peer = "st.weak.shared::cluster.u32 [mapa(data[0], 1 - cluster_ctarank)], 1;";
    let own = "st.weak.shared::cta.u32 [data[0]], 1;";
    let restricted = "fence.release.sync_restrict::shared::cta.cluster;";
    let race = Found("race::uniform");
    for (name, store, fence, load, expect) in [
        ("peer's memory, no fence", peer, "", "[data[0]]", race),
        ("peer's memory, fence", peer, "fence.acq_rel.cluster;", "[data[0]]", Fine),
        (
            "peer's memory, narrow fence",
            peer,
            "fence.acq_rel.cta;",
            "[data[0]]",
            Found("race::scope-too-narrow"),
        ),
        ("peer's memory, fence of the own", peer, restricted, "[data[0]]", race),
        ("own memory, no fence", own, "", "[mapa(data[0], 1 - cluster_ctarank)]", race),
        ("own memory, fence of the own", own, restricted, "[mapa(data[0], 1 - cluster_ctarank)]", Fine),
        (
            "own memory, fence of initialisations",
            own,
            "fence.mbarrier_init.release.cluster;",
            "[mapa(data[0], 1 - cluster_ctarank)]",
            race,
        ),
    ] {
        let body = format!(
            "{store} {fence} barrier.cluster.arrive.relaxed; barrier.cluster.wait;
    let v = ld.weak.shared::cluster.u32 {load};"
        );
        judge(name, &CLUSTER.replace('@', &body), &[], expect);
    }
}

/// across CTAs, the fence has to be in the CTA of the async access, but for the variant.
#[test]
fn across_ctas_the_fence_is_on_the_async_side() {
    let body = "if ctaid == 1 { st.weak.shared::cluster.u32 [mapa(data[0], 0)], 1; @1 }
    barrier.cluster.arrive;
    barrier.cluster.wait;
    if ctaid == 0 {
        @0
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [data[0]], 16;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
    }";
    let fence = "fence.proxy.async;";
    for (name, [sender, writer], variants, expect) in [
        ("sender", [fence, ""], &[][..], Fine),
        ("writer", ["", fence], &[][..], CROSS_PROXY),
        ("writer, anywhere", ["", fence], &["proxy-fence-anywhere"][..], Fine),
        ("nobody, anywhere", ["", ""], &["proxy-fence-anywhere"][..], CROSS_PROXY),
    ] {
        let body = body.replace("@0", sender).replace("@1", writer);
        judge(name, &CLUSTER.replace('@', &body), variants, expect);
    }
}

/// FN-15, FN-16, FN-30: a response that was read generically is written again through the async proxy.
#[test]
fn a_response_is_reused_after_both_halves() {
    let frame = "//! target sm_100a ptx 9.4
kernel k {
    launch { ctas: 4, cluster: 2 }
    shared response: b128 = 0;
    shared full: mbarrier;
    mbarrier.init.shared::cta.b64 [full], 1;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;
    if cluster_ctarank == 0 {
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [response], [full];
    }
    await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [full], 0;
    let answer = ld.weak.shared.b128 [response];
    let cancelled = clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 answer;
    @1
    barrier.cluster.arrive.relaxed;
    barrier.cluster.wait;
    @2
    mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [full], 16;
    if cluster_ctarank == 0 {
        if cancelled {
            clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [response], [full];
        }
    }
    if cancelled {
        await mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 [full], 1;
    }
    barrier.cluster.arrive;
    barrier.cluster.wait;
}";
    let release = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;";
    let acquire = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;";
    for (name, before, after, is_fine) in [
        ("both halves", release, acquire, true),
        ("no halves", "", "", false),
        ("release half only", release, "", false),
        ("acquire half only", "", acquire, false),
        ("halves exchanged", acquire, release, false),
    ] {
        let text = frame.replace("@1", before).replace("@2", after);
        let model = model(&[]);
        let codes = codes_of(&outcomes(&text, &model, &config(Treatment::DEFAULT))[0], &model);
        let races: Vec<_> = codes.iter().filter(|code| code.starts_with("race::")).collect();
        assert_eq!(races.is_empty(), is_fine, "{name}: {codes:?}");
    }
}

/// LT-1: a peer's shared memory lasts until its last thread ends.
#[test]
fn the_owner_stays_until_its_memory_was_read() {
    let frame = "kernel k {
    launch { ctas: 2, cluster: 2 }
    shared data: u32 = 3;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    if ctaid == 1 { let v = ld.weak.shared::cluster.u32 [mapa(data, 0)]; }
    @
}";
    let gone = Found("lifetime::peer-may-have-exited");
    table(
        frame,
        &[
            ("no barrier", "", gone),
            ("barrier", "barrier.cluster.arrive; barrier.cluster.wait;", Fine),
            (
                "barrier not waited at by the owner",
                "barrier.cluster.arrive; if ctaid == 1 { barrier.cluster.wait; }",
                gone,
            ),
        ],
    );
}

/// LT-2, LT-3: what is going on when its memory is given up.
#[test]
fn nothing_is_pending_at_exit() {
    let frame = STORE.replace(
        '@',
        "if tid == 0 {
        cp.async.bulk.global.shared::cta.bulk_group [out[0]], [tile[0]], 16;
        cp.async.bulk.commit_group;
        @
    }",
    );
    let pending = Found("lifetime::operation-pending");
    table(
        &frame,
        &[
            ("no wait", "", pending),
            ("wait for reads", "cp.async.bulk.wait_group.read 0;", Fine),
            ("wait", "cp.async.bulk.wait_group 0;", Fine),
            ("one group may be pending", "cp.async.bulk.wait_group.read 1;", pending),
        ],
    );
}
