//! Verdicts of programs: what streams, events, synchronization and programmatic launches order (MM-38, MM-39, AS-40), and
//! what they do not. Next to each bad row stands the nearest good one.

use fencepost::check::{CheckError, check};
use fencepost::encode::Treatment;
use fencepost_tests::run::Expect::{self, Fine, Found};
use fencepost_tests::run::{codes_of, config, load_text, model, outcomes};

const RACE: Expect = Found("race::uniform");
const OVERLAP: Expect = Found("race::grid-dependency");
const HANG: Expect = Found("deadlock::spin-never-ends");

/// Kernels that the rows launch.
const KERNELS: &str = "
//! target sm_90a ptx 9.0
global x: u32 = 0;
global y: u32 = 0;
global ready: u32 = 0;
global again: u32 alias x;
texture tex[1]: u32 alias x;
global cell: b128 = 0;

kernel write { st.weak.global.u32 [x], 1; }
kernel write_y { st.weak.global.u32 [y], 1; }
kernel read { let v = ld.weak.global.u32 [x]; }
kernel read_wide {
    launch { ctas: 2, warps: 2 }
    let v = ld.weak.global.u32 [x];
}
kernel check { let v = ld.weak.global.u32 [x]; assert v == 1; }
kernel read_alias { let v = ld.weak.global.u32 [again]; assert v == 1; }
kernel sample { let v = tex.1d.u32.s32 [tex[0]]; assert v == 1; }
kernel raise { st.release.gpu.global.u32 [ready], 1; }
kernel raise_sys { st.release.sys.global.u32 [ready], 1; }
kernel spin { await ld.acquire.gpu.global.u32 [ready] == 1; }
kernel spin_sys { await ld.acquire.sys.global.u32 [ready] == 1; }
kernel last {
    launch { ctas: 2 }
    if ctaid == 1 { st.weak.global.u32 [x], 1; }
}
kernel trigger { griddepcontrol.launch_dependents; st.weak.global.u32 [x], 1; }
kernel write_and_trigger { st.weak.global.u32 [x], 1; griddepcontrol.launch_dependents; }
kernel release_and_trigger {
    st.weak.global.u32 [x], 1;
    fence.acq_rel.gpu;
    griddepcontrol.launch_dependents;
}
kernel release_cta_and_trigger {
    st.weak.global.u32 [x], 1;
    fence.acq_rel.cta;
    griddepcontrol.launch_dependents;
}
kernel acquire_and_trigger {
    st.weak.global.u32 [x], 1;
    fence.acquire.gpu;
    griddepcontrol.launch_dependents;
}
kernel trigger_and_release {
    st.weak.global.u32 [x], 1;
    griddepcontrol.launch_dependents;
    fence.acq_rel.gpu;
}
kernel two_trigger {
    launch { warps: 2 }
    if warpid == 0 { st.weak.global.u32 [x], 1; fence.acq_rel.gpu; }
    griddepcontrol.launch_dependents;
}
kernel two_trigger_after_barrier {
    launch { warps: 2 }
    if warpid == 0 { st.weak.global.u32 [x], 1; }
    bar.sync 0;
    fence.acq_rel.gpu;
    griddepcontrol.launch_dependents;
}
kernel later_trigger_releases_nothing {
    launch { warps: 2 }
    if warpid == 0 {
        griddepcontrol.launch_dependents;
        bar.sync 0;
    } else {
        bar.sync 0;
        st.weak.global.u32 [x], 1;
        fence.acq_rel.gpu;
        griddepcontrol.launch_dependents;
    }
}
kernel first_trigger_releases {
    launch { warps: 2 }
    if warpid == 0 {
        bar.sync 0;
        griddepcontrol.launch_dependents;
    } else {
        st.weak.global.u32 [x], 1;
        fence.acq_rel.gpu;
        griddepcontrol.launch_dependents;
        bar.sync 0;
    }
}
kernel one_cta_triggers {
    launch { ctas: 2 }
    if ctaid == 0 { st.weak.global.u32 [x], 1; fence.acq_rel.gpu; griddepcontrol.launch_dependents; }
}
kernel other_cta_ends {
    launch { ctas: 2 }
    if ctaid == 1 { st.weak.global.u32 [x], 1; fence.acq_rel.gpu; } else { griddepcontrol.launch_dependents; }
}
kernel wait_read { griddepcontrol.wait; let v = ld.weak.global.u32 [x]; assert v == 1; }
kernel read_wait { let v = ld.weak.global.u32 [x]; griddepcontrol.wait; }
kernel wait_overwrite { griddepcontrol.wait; st.weak.global.u32 [x], 2; }
kernel overwrite_wait { st.weak.global.u32 [x], 2; griddepcontrol.wait; }
kernel wait_sample { griddepcontrol.wait; let v = tex.1d.u32.s32 [tex[0]]; assert v == 1; }
kernel one_waits_for_all {
    launch { warps: 2 }
    if warpid == 0 { griddepcontrol.wait; }
    bar.sync 0;
    let v = ld.weak.global.u32 [x];
    assert v == 1;
}
kernel one_waits_alone {
    launch { warps: 2 }
    if warpid == 0 { griddepcontrol.wait; } else { let v = ld.weak.global.u32 [x]; }
}
kernel idle { griddepcontrol.launch_dependents; }
kernel idle_waits { griddepcontrol.launch_dependents; griddepcontrol.wait; }
kernel waits_for_dependent { griddepcontrol.launch_dependents; await ld.acquire.gpu.global.u32 [ready] == 1; }
kernel answers { st.release.gpu.global.u32 [ready], 1; }
kernel wait_then_answer { griddepcontrol.wait; st.release.gpu.global.u32 [ready], 1; }
kernel counts {
    global n: u32 = 0;
    let old = ld.weak.global.u32 [n];
    st.weak.global.u32 [n], old + 1;
    st.weak.global.u32 [y], old + 1;
}
kernel fresh {
    shared s: u32 = 5;
    let old = ld.weak.shared.u32 [s];
    assert old == 5;
    st.weak.shared.u32 [s], 6;
}
global cells[4]: u32 = 0;
global map: tensormap of cells[4];
kernel edit_map { tensormap.replace.tile.global_address.global.b1024.b64 [map], [cells]; }
kernel use_map {
    shared tile[4]: u32;
    shared full: mbarrier;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [map, {0}], [full];
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
}
kernel acquire_map {
    shared tile[4]: u32;
    shared full: mbarrier;
    mbarrier.init.shared::cta.b64 [full], 1;
    fence.proxy.tensormap::generic.acquire.gpu [map], 128;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [map, {0}], [full];
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
}
kernel bulk_load {
    shared tile: b128;
    shared full: mbarrier;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;
    griddepcontrol.wait;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [cell], 16, [full];
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
    let v = ld.weak.shared.b128 [tile];
    assert v == 7;
}
kernel bulk_load_then_wait {
    shared tile: b128;
    shared full: mbarrier;
    mbarrier.init.shared::cta.b64 [full], 1;
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [cell], 16, [full];
    griddepcontrol.wait;
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;
}
kernel write_cell { st.weak.global.b128 [cell], 7; }
kernel meets {
    launch { ctas: 2, warps: 2, lanes: 2 }
    griddepcontrol.wait;
    bar.sync 0;
    if ctaid == 0 && tid == 0 { st.weak.global.u32 [x], 1; }
}
kernel argument(N in 0..=3) { st.weak.global.u32 [x], N; }
kernel bulk_store {
    shared tile: b128 = 7;
    fence.proxy.async.shared::cta;
    cp.async.bulk.global.shared::cta.bulk_group [cell], [tile], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
}
kernel bulk_read { let v = ld.weak.global.b128 [cell]; assert v == 7; }
kernel write_on_zero {
    launch { gpus: 2 }
    if gpuid == 0 { st.weak.global.u32 [x], 1; }
}
kernel write_on_one { launch { gpus: 2 } if gpuid == 1 { st.weak.global.u32 [x], 1; } }
kernel read_on_one { launch { gpus: 2 } if gpuid == 1 { let v = ld.weak.global.u32 [x]; } }
kernel read_on_zero { launch { gpus: 2 } if gpuid == 0 { let v = ld.weak.global.u32 [x]; assert v == 1; } }
";

const PDL: &str = "with programmatic_serialization";

fn judge(name: &str, body: &str, variants: &[&str], expect: Expect) {
    let model = model(variants);
    let body = body.replace("PDL", PDL);
    let text =
        format!("{}\nprogram p(K in 0..=2) {{ stream a, b; event e; {body} }}\n", KERNELS.trim_start());
    let found = outcomes(&text, &model, &config(Treatment::DEFAULT));
    let outcome = found.iter().find(|outcome| outcome.graph.hierarchy.host().is_some()).expect("a program");
    expect.judge(name, &body, outcome, &model);
}

fn judge_all(rows: &[(&str, &str, Expect)]) {
    for &(name, body, expect) in rows {
        judge(name, body, &[], expect);
    }
}

#[test]
fn streams_order_their_tasks_and_no_others() {
    judge_all(&[
        ("one stream", "launch write on a; launch check on a;", Fine),
        ("two streams", "launch write on a; launch read on b;", RACE),
        ("two streams, other memory", "launch write_y on a; launch read on b;", Fine),
        ("all of a grid before the next", "launch last on a; launch check on a;", Fine),
        ("the next one is wide", "launch write on a; launch read_wide on a;", Fine),
        ("write after read", "launch read_wide on a; launch write on a;", Fine),
        ("write after read, two streams", "launch read_wide on a; launch write on b;", RACE),
        ("three in a row", "launch write on a; launch write_y on a; launch check on a;", Fine),
        (
            "two launches over the same memory",
            "for i in 0..2 { launch write on a; launch check on a; }",
            Fine,
        ),
        ("twice at once", "launch write on a; launch write on b;", RACE),
    ]);
}

#[test]
fn events_order_streams() {
    judge_all(&[
        (
            "recorded and waited for",
            "launch write on a; record e on a; wait e on b; launch check on b;",
            Fine,
        ),
        ("recorded too early", "record e on a; launch write on a; wait e on b; launch read on b;", RACE),
        ("waited for too late", "launch write on a; record e on a; launch read on b; wait e on b;", RACE),
        (
            "the latest record counts",
            "record e on a; launch write on a; record e on a; wait e on b; launch check on b;",
            Fine,
        ),
        (
            "recorded again after the wait",
            "record e on a; wait e on b; launch write on a; record e on a; launch read on b;",
            RACE,
        ),
        (
            "through a third stream",
            "stream c; event f; launch write on a; record e on a; wait e on c; record f on c; wait f on b;
             launch check on b;",
            Fine,
        ),
        (
            "the recorded stream does not wait",
            "launch read on b; launch write_y on a; record e on a; wait e on b; launch write on a;",
            RACE,
        ),
    ]);
}

#[test]
fn the_default_stream_waits_for_blocking_streams() {
    judge_all(&[
        ("before and after", "launch write on a; launch check; launch check on b;", Fine),
        ("a stream declared later", "launch write; stream late; launch check on late;", Fine),
        (
            "not for non-blocking ones",
            "stream free with non_blocking; launch write on free; launch read;",
            RACE,
        ),
        ("nor they for it", "stream free with non_blocking; launch write; launch read on free;", RACE),
    ]);
}

#[test]
fn the_host_is_in_order_with_what_it_launches_and_waits_for() {
    judge_all(&[
        ("written before the launch", "st.weak.global.u32 [x], 1; launch check on a;", Fine),
        ("written after the launch", "launch read on a; st.weak.global.u32 [x], 1;", RACE),
        (
            "read after a wait",
            "launch write on a; synchronize a; let v = ld.weak.global.u32 [x]; assert v == 1;",
            Fine,
        ),
        ("read without", "launch write on a; let v = ld.weak.global.u32 [x];", RACE),
        (
            "waited for the other stream",
            "launch write on a; synchronize b; let v = ld.weak.global.u32 [x];",
            RACE,
        ),
        (
            "waited for all",
            "launch write on a; synchronize; let v = ld.weak.global.u32 [x]; assert v == 1;",
            Fine,
        ),
        (
            "waited for an event",
            "launch write on a; record e on a; launch write_y on a; synchronize e;
             let v = ld.weak.global.u32 [x]; assert v == 1;",
            Fine,
        ),
        (
            "waited for an event before it",
            "record e on a; launch write on a; synchronize e; let v = ld.weak.global.u32 [x];",
            RACE,
        ),
        (
            "one stream after the other, through the host",
            "launch write on a; synchronize a; launch check on b;",
            Fine,
        ),
        ("a flag of scope sys", "launch raise_sys on a; await ld.acquire.sys.global.u32 [ready] == 1;", Fine),
        ("the host answers", "launch spin_sys on a; st.release.sys.global.u32 [ready], 1;", Fine),
        (
            "a flag of scope gpu",
            "launch raise on a; let v = ld.acquire.sys.global.u32 [ready];",
            Found("race::scope-too-narrow"),
        ),
        (
            "the host answers too late",
            "launch spin_sys on a; synchronize; st.release.sys.global.u32 [ready], 1;",
            HANG,
        ),
    ]);
}

#[test]
fn the_end_of_a_grid_counts_for_all_proxies_and_aliases() {
    judge_all(&[
        ("alias", "launch write on a; launch read_alias on a;", Fine),
        ("texture", "launch write on a; launch sample on a;", Fine),
        ("texture behind a wait", "launch write on a; launch wait_sample on a PDL;", Fine),
        ("written by the host", "st.weak.global.u32 [x], 1; launch sample on a;", Fine),
        ("read by a bulk copy", "launch write_cell on a; launch bulk_load on a;", Fine),
        ("behind a wait", "launch write_cell on a; launch bulk_load on a PDL;", Fine),
        ("started before the wait", "launch write_cell on a; launch bulk_load_then_wait on a PDL;", OVERLAP),
        ("a tensor map, acquired", "launch edit_map on a; launch acquire_map on a;", Fine),
        (
            "a tensor map, not acquired",
            "launch edit_map on a; launch use_map on a;",
            Found("race::tensormap"),
        ),
        (
            "a tensor map, another stream",
            "launch edit_map on a; launch acquire_map on b;",
            Found("race::tensormap"),
        ),
        (
            "a tensor map, used before",
            "launch acquire_map on a; launch edit_map on a;",
            Found("race::tensormap-unwritten"),
        ),
        (
            "a tensor map, used again after",
            "launch edit_map on a; launch acquire_map on a; launch edit_map on a;",
            Fine,
        ),
        ("bulk store", "launch bulk_store on a; launch bulk_read on a;", Fine),
        (
            "bulk store, two streams",
            "launch bulk_store on a; launch bulk_read on b;",
            Found("race::async-destination"),
        ),
    ]);
}

#[test]
fn overlapping_grids_are_ordered_by_waiting_only() {
    judge_all(&[
        ("no wait", "launch write on a; launch read on a PDL;", OVERLAP),
        ("wait", "launch write on a; launch wait_read on a PDL;", Fine),
        ("wait too late", "launch write on a; launch read_wait on a PDL;", OVERLAP),
        ("triggered before the write", "launch trigger on a; launch wait_read on a PDL;", Fine),
        ("overwrites what is still read", "launch read_wide on a; launch overwrite_wait on a PDL;", OVERLAP),
        ("overwrites behind the wait", "launch read_wide on a; launch wait_overwrite on a PDL;", Fine),
        ("one waits for all", "launch write on a; launch one_waits_for_all on a PDL;", Fine),
        ("one waits for itself", "launch write on a; launch one_waits_alone on a PDL;", OVERLAP),
        ("without the attribute no wait is needed", "launch write on a; launch check on a;", Fine),
        ("the attribute without a kernel before", "launch check on a PDL;", Found("assert::violated")),
        (
            "what came before the one before",
            "launch write on a; launch idle on a; launch check on a PDL;",
            Fine,
        ),
        (
            "an event in between ends the overlap",
            "record e on b; launch write on a; wait e on a; launch check on a PDL;",
            Fine,
        ),
        ("the host waited", "launch write on a; synchronize a; launch check on a PDL;", Fine),
    ]);
}

#[test]
fn chains_of_overlapping_grids_need_every_wait() {
    judge_all(&[
        (
            "the one in the middle waits",
            "launch write on a; launch idle_waits on a PDL; launch wait_read on a PDL;",
            Fine,
        ),
        (
            "the one in the middle does not",
            "launch write on a; launch idle on a PDL; launch wait_read on a PDL;",
            OVERLAP,
        ),
        (
            "a launch without the attribute waits for all",
            "launch write on a; launch idle on a PDL; launch check on a;",
            Fine,
        ),
        (
            "so does the host",
            "launch write on a; launch idle on a PDL; synchronize a; let v = ld.weak.global.u32 [x];",
            Fine,
        ),
    ]);
}

#[test]
fn launch_dependents_releases_what_a_fence_before_it_does() {
    judge_all(&[
        ("no fence", "launch write_and_trigger on a; launch read on a PDL;", OVERLAP),
        ("fence", "launch release_and_trigger on a; launch check on a PDL;", Fine),
        ("fence of the cta", "launch release_cta_and_trigger on a; launch read on a PDL;", OVERLAP),
        ("fence that only acquires", "launch acquire_and_trigger on a; launch read on a PDL;", OVERLAP),
        ("fence behind it", "launch trigger_and_release on a; launch read on a PDL;", OVERLAP),
        ("another thread may be the first", "launch two_trigger on a; launch read on a PDL;", OVERLAP),
        ("whoever is first", "launch two_trigger_after_barrier on a; launch check on a PDL;", Fine),
        (
            "only the first counts",
            "launch later_trigger_releases_nothing on a; launch read on a PDL;",
            OVERLAP,
        ),
        ("the first by a barrier", "launch first_trigger_releases on a; launch check on a PDL;", Fine),
        ("the other cta ends", "launch one_cta_triggers on a; launch check on a PDL;", Fine),
        ("an end releases nothing", "launch other_cta_ends on a; launch read on a PDL;", OVERLAP),
    ]);
}

#[test]
fn grids_wait_for_each_other_only_where_they_run_together() {
    judge_all(&[
        ("a flag, one stream", "launch raise on a; launch spin on a;", Fine),
        ("the wrong way round", "launch spin on a; launch raise on a;", HANG),
        ("two streams", "launch spin on a; launch raise on b;", Found("deadlock::not-co-resident")),
        (
            "the dependent one need not start",
            "launch waits_for_dependent on a; launch answers on a PDL;",
            Found("deadlock::not-co-resident"),
        ),
        (
            "the dependent one waits",
            "launch waits_for_dependent on a; launch wait_then_answer on a PDL;",
            HANG,
        ),
    ]);
}

#[test]
fn memory_of_a_kernel_lasts_shared_memory_does_not() {
    judge_all(&[
        (
            "its own global memory",
            "for i in 0..3 { launch counts on a; } synchronize; let v = ld.weak.global.u32 [y]; assert v == 3;",
            Fine,
        ),
        ("at once", "launch counts on a; launch counts on b;", RACE),
        ("shared memory", "launch fresh on a; launch fresh on b;", Fine),
        ("warps of several lanes", "for i in 0..2 { launch meets on a PDL; }", Fine),
        (
            "an argument",
            "launch argument(K) on a; synchronize; let v = ld.weak.global.u32 [x]; assert v == K;",
            Fine,
        ),
        (
            "a loop variable",
            "for i in 1..=3 { launch argument(i) on a; } synchronize; let v = ld.weak.global.u32 [x]; assert v == 3;",
            Fine,
        ),
        ("final", "launch write on a; final { assert [x] == 1; }", Fine),
        ("final, violated", "launch write on a; final { assert [x] == 2; }", Found("assert::final-violated")),
    ]);
}

#[test]
fn a_stream_belongs_to_one_device() {
    judge_all(&[
        ("same device", "launch write_on_zero on a; launch read_on_zero on a;", Fine),
        ("another device", "launch write_on_zero on a; launch read_on_one on a;", RACE),
        ("through the host", "launch write_on_zero on a; synchronize a; launch read_on_one on a;", Fine),
        (
            "a launch on fewer devices in between",
            "launch write_on_one on a; launch write_y on a; launch read_on_one on a;",
            Fine,
        ),
        (
            "which is not the last one on all of them",
            "launch write_on_one on a; launch write_y on a; synchronize a; let v = ld.weak.global.u32 [x];",
            Fine,
        ),
        (
            "nor overlapped with there",
            "launch write_on_one on a; launch write_y on a; launch read_on_one on a PDL;",
            Fine,
        ),
    ]);
}

#[test]
fn what_the_host_cannot_do_is_refused() {
    let refused = [
        ("bar.sync 0; launch write on a;", "unsupported::host-instruction"),
        ("launch cancels on a; launch write on a;", "unsupported::program-cancel"),
    ];
    let cancels = "kernel cancels {
    shared answer: b128;
    shared got: mbarrier;
    mbarrier.init.shared::cta.b64 [got], 1;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [got];
}";
    let model = model(&[]);
    for (body, code) in refused {
        let text = format!(
            "{}\n{cancels}\nprogram p {{ stream a; {body} }}\n",
            KERNELS.trim_start().replace("sm_90a ptx 9.0", "sm_100a ptx 9.4")
        );
        let program = load_text(&text);
        let kernel = program.kernels.iter().find(|kernel| kernel.is_program).expect("a program");
        let found = check(&program, kernel, &kernel.launches[0], &model, &config(Treatment::DEFAULT));
        match found {
            Err(CheckError::Unsupported(error)) => assert_eq!(error.code, code, "{body}"),
            other => panic!("{body}: {:?}", other.map(|outcome| outcome.verdict)),
        }
    }
}

#[test]
fn tensor_memory_is_allocated_anew_by_each_launch() {
    let text = "//! target sm_100a ptx 9.4
kernel unused { tmem spare: u32; }
kernel multiply {
    shared a: b128 = 1;
    shared b: b128 = 1;
    shared slot: u32;
    tmem acc: u32;
    shared done: mbarrier;
    mbarrier.init.shared::cta.b64 [done], 1;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    tcgen05.mma.cta_group::1.kind::f16 [acc], [a], [b];
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
    await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [done], 0;
    FREE
}
program p { stream s; launch multiply on s; launch multiply on s; }";
    let free = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [acc], 32;";
    let model = model(&[]);
    for (freed, expected) in [(free, None), ("", Some("async::tensor-memory-kept"))] {
        let found = outcomes(&text.replace("FREE", freed), &model, &config(Treatment::DEFAULT));
        let outcome = found.last().expect("the program");
        let codes = codes_of(outcome, &model);
        assert_eq!(codes.first().copied(), expected, "{codes:?}");
    }
}
