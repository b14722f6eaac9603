//! Fences, cluster barriers, mbarriers and peer addresses: every form is read, completed and written back, and every
//! rule is broken once.

#[path = "kernel_synchronization/rules.rs"]
mod rules;
#[path = "kernel/support.rs"]
mod support;

use fencepost_dsl::FileId;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;
use fencepost_dsl::kernel::program::{
    AsyncSpace, ElementKind, Instruction, InstructionKind, MbarrierOp, MbarrierPhase, ProxyFenceKind,
};
use fencepost_dsl::vocabulary::{FenceSem, Scope, Sem, SyncRestrict};
use support::{Vocabulary, check_floors, instructions, program};

const OBJECTS: &str = "global x: u32; global w: u64; global map[16]: u64; shared smap[16]: u64; shared s[4]: u32; \
                       shared bar: mbarrier; shared full[2]: mbarrier; let state = ld [w]; let r = ld [x];";
/// The instructions at the end of [`OBJECTS`].
const N_READS: usize = 2;

fn source(body: &str) -> String {
    format!("kernel k {{ launch {{ ctas: 2, cluster: 2 }} {OBJECTS}\n {body}\n}}")
}

/// The first instruction of `body`.
fn instruction(body: &str) -> Instruction {
    instructions(&source(body)).swap_remove(N_READS)
}

/// As written (around the opcode), the opcode, and its full spelling.
const FORMS: &[(&str, &str, &str)] = &[
    // FN-4 … FN-10
    ("@;", "fence.sc.cluster", "fence.sc.cluster"),
    ("@;", "fence.gpu", "fence.acq_rel.gpu"),
    ("@;", "fence.cluster.acq_rel", "fence.acq_rel.cluster"),
    ("@;", "fence.acquire.cta", "fence.acquire.cta"),
    ("@;", "fence.release.sys", "fence.release.sys"),
    (
        "@;",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
    ),
    (
        "@;",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.release.sync_restrict::shared::cta.cluster",
    ),
    (
        "@;",
        "fence.release.cluster.sync_restrict::shared::cta",
        "fence.release.sync_restrict::shared::cta.cluster",
    ),
    ("@;", "fence.mbarrier_init.release.cluster", "fence.mbarrier_init.release.cluster"),
    ("@;", "membar.cta", "membar.cta"),
    ("@;", "membar.gl", "membar.gl"),
    ("@;", "membar.sys", "membar.sys"),
    // FN-11 … FN-21
    ("@;", "fence.proxy.alias", "fence.proxy.alias"),
    ("@;", "membar.proxy.alias", "membar.proxy.alias"),
    ("@;", "fence.proxy.async", "fence.proxy.async"),
    ("@;", "fence.proxy.async.global", "fence.proxy.async.global"),
    ("@;", "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cta"),
    ("@;", "fence.proxy.async.shared::cluster", "fence.proxy.async.shared::cluster"),
    ("@;", "fence.proxy.tensormap::generic.release.gpu", "fence.proxy.tensormap::generic.release.gpu"),
    (
        "@ [map[0]], 128;",
        "fence.proxy.tensormap::generic.acquire.sys",
        "fence.proxy.tensormap::generic.acquire.sys",
    ),
    (
        "@;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    ),
    (
        "@;",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
    ),
    (
        "@;",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
    ),
    ("@;", "fence.proxy.alias.acquire.sys", "fence.proxy.alias.acquire.sys"),
    ("@;", "fence.proxy.alias.release.sys", "fence.proxy.alias.release.sys"),
    (
        "@ [map[0]], [smap[0]], 128;",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
    ),
    // BR-1, BR-5, BR-8
    ("@ 1, r;", "barrier.sync", "barrier.sync"),
    ("@ r;", "barrier.cta.sync.aligned", "barrier.sync.aligned"),
    ("@ r, 64;", "barrier.arrive", "barrier.arrive"),
    ("@ 2, r;", "barrier.cta.arrive.aligned", "barrier.arrive.aligned"),
    ("let n = @ 0, r == 1;", "barrier.red.popc.u32", "barrier.red.popc.u32"),
    ("let n = @ 0, 64, !(r == 1);", "barrier.red.or.aligned.pred", "barrier.red.or.aligned.pred"),
    ("let n = @ 0, r == 1;", "bar.cta.red.and.pred", "bar.red.and.pred"),
    ("@ r;", "bar.warp.sync", "bar.warp.sync"),
    // BR-9 … BR-14, AS-42
    ("@;", "barrier.cluster.arrive", "barrier.cluster.arrive.release"),
    ("@;", "barrier.cluster.arrive.aligned", "barrier.cluster.arrive.release.aligned"),
    ("@;", "barrier.cluster.arrive.relaxed", "barrier.cluster.arrive.relaxed"),
    ("@;", "barrier.cluster.arrive.relaxed.aligned", "barrier.cluster.arrive.relaxed.aligned"),
    ("@;", "barrier.cluster.wait", "barrier.cluster.wait.acquire"),
    ("@;", "barrier.cluster.wait.acquire.aligned", "barrier.cluster.wait.acquire.aligned"),
    ("let p = @ 0xffffffff;", "elect.sync", "elect.sync"),
    ("let {leader, p} = @ r;", "elect.sync", "elect.sync"),
    // §4
    ("@ [bar], 1;", "mbarrier.init", "mbarrier.init.shared::cta.b64"),
    ("@ [full[1]], r;", "mbarrier.init.shared.b64", "mbarrier.init.shared::cta.b64"),
    ("@ [bar];", "mbarrier.inval.b64", "mbarrier.inval.shared::cta.b64"),
    ("@ [bar], 16;", "mbarrier.expect_tx", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64"),
    (
        "@ [mapa(bar, 1)], 16;",
        "mbarrier.expect_tx.relaxed.cluster",
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64",
    ),
    ("@ [bar], r;", "mbarrier.complete_tx.b64", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64"),
    (
        "@ [mapa(full[r], r)], 0;",
        "mbarrier.complete_tx.shared::cluster",
        "mbarrier.complete_tx.relaxed.cta.shared::cluster.b64",
    ),
    ("let t = @ [bar];", "mbarrier.arrive.b64", "mbarrier.arrive.release.cta.shared::cta.b64"),
    ("@ _, [bar];", "mbarrier.arrive.relaxed.cluster", "mbarrier.arrive.relaxed.cluster.shared::cta.b64"),
    ("let _ = @ [bar], 2;", "mbarrier.arrive.shared.b64", "mbarrier.arrive.release.cta.shared::cta.b64"),
    ("@ _, [mapa(bar, 1)], r;", "mbarrier.arrive", "mbarrier.arrive.release.cta.shared::cluster.b64"),
    // The fence page of the PTX documents has this form.
    (
        "let t = @ [bar];",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64",
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64",
    ),
    ("@ _, [bar], 16;", "mbarrier.arrive.expect_tx", "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64"),
    (
        "@ _, [mapa(bar, 0)], 16;",
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64",
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64",
    ),
    (
        "let t = @ [bar], 1;",
        "mbarrier.arrive.noComplete",
        "mbarrier.arrive.noComplete.release.cta.shared::cta.b64",
    ),
    ("let t = @ [bar];", "mbarrier.arrive_drop", "mbarrier.arrive_drop.release.cta.shared::cta.b64"),
    (
        "@ _, [mapa(bar, 1)];",
        "mbarrier.arrive_drop.relaxed.cluster.shared::cluster.b64",
        "mbarrier.arrive_drop.relaxed.cluster.shared::cluster.b64",
    ),
    (
        "@ _, [bar], 8;",
        "mbarrier.arrive_drop.expect_tx",
        "mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64",
    ),
    (
        "let t = @ [bar], 2;",
        "mbarrier.arrive_drop.noComplete.release.cta",
        "mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64",
    ),
    ("let p = @ [bar], state;", "mbarrier.test_wait", "mbarrier.test_wait.acquire.cta.shared::cta.b64"),
    (
        "let p = @ [bar], r;",
        "mbarrier.test_wait.parity",
        "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64",
    ),
    ("await @ [bar], state;", "mbarrier.try_wait", "mbarrier.try_wait.acquire.cta.shared::cta.b64"),
    (
        "await @ [bar], 1, 1000;",
        "mbarrier.try_wait.parity.relaxed.cluster",
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64",
    ),
    (
        "while !(@ [full[r]], 0) { }",
        "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64",
        "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64",
    ),
    ("let n = @ state;", "mbarrier.pending_count", "mbarrier.pending_count.b64"),
    // AS-43 and accesses to a peer
    ("let v = @ [mapa(s[1], r)];", "ld", "ld.weak.shared::cluster.u32"),
    ("let v = @ [s[1]];", "ld.relaxed.cluster.shared::cluster", "ld.relaxed.cluster.shared::cluster.u32"),
    ("let v = @ [s[1]];", "ld.shared::cta", "ld.weak.shared.u32"),
    (
        "@ [mapa(s[r], r ^ 1)], 1;",
        "st.release.cluster.shared::cluster.u32",
        "st.release.cluster.shared::cluster.u32",
    ),
    (
        "let v = @ [mapa(s[0], 1)], 1;",
        "atom.add.acquire.cluster",
        "atom.acquire.cluster.shared::cluster.add.u32",
    ),
    ("@ [mapa(s[0], 1)], 1;", "red.shared::cluster.add", "red.relaxed.gpu.shared::cluster.add.u32"),
    ("let v = @ [mapa(s[0], 1)];", "getctarank.shared::cluster.u32", "getctarank.shared::cluster.u32"),
    ("let v = @ s[0];", "getctarank.u32", "getctarank.u32"),
    ("let v = @ [mapa(bar, 1)];", "getctarank", "getctarank.u32"),
    // An ordinary access to an mbarrier's bytes is for the checker to judge (UB-M3).
    ("let v = @ [bar];", "ld", "ld.weak.shared.u64"),
    ("@ [full[0]], 0;", "st.b64", "st.weak.shared.b64"),
];

#[test]
fn every_form_is_completed_and_its_full_spelling_means_itself() {
    for (body, opcode, expected) in FORMS {
        let first = instruction(&body.replace('@', opcode));
        assert_eq!(first.text, *expected, "{opcode}");
        let again = instruction(&body.replace('@', &first.text));
        assert_eq!(again.text, *expected, "{opcode}");
        let of = |opcode: &str| dump(&program(&source(&body.replace('@', opcode))));
        assert_eq!(of(opcode), of(expected), "{opcode}");
    }
}

#[test]
fn every_form_survives_the_formatter() {
    for (body, opcode, _) in FORMS {
        let (file, errors) = parse(&source(&body.replace('@', opcode)), FileId(0));
        assert!(errors.is_empty(), "{opcode}: {errors:#?}");
        let printed = pretty(&file).expect("no holes");
        let (again, errors) = parse(&printed, FileId(0));
        assert!(errors.is_empty(), "{printed}\n{errors:#?}");
        // Words of an opcode are put in order, which changes nothing that is meant.
        let is_as_written =
            printed.contains(&format!("{opcode} ")) || printed.contains(&format!("{opcode};"));
        assert!(!is_as_written || file == again, "{printed}");
        assert_eq!(
            dump(&program(&source(&body.replace('@', opcode)))),
            dump(&program(&printed)),
            "{printed}"
        );
        assert_eq!(pretty(&again).as_deref(), Some(printed.as_str()));
    }
}

#[test]
fn fences_say_what_they_are_limited_to() {
    let restrict = |body| match instruction(body).kind {
        InstructionKind::Fence { sem, scope, restrict } => (sem, scope, restrict),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        restrict("fence.acquire.sync_restrict::shared::cluster.cluster;"),
        (FenceSem::Acquire, Scope::Cluster, Some(SyncRestrict::SharedCluster))
    );
    assert_eq!(
        restrict("fence.release.sync_restrict::shared::cta.cluster;"),
        (FenceSem::Release, Scope::Cluster, Some(SyncRestrict::SharedCta))
    );
    assert_eq!(restrict("fence.release.cluster;"), (FenceSem::Release, Scope::Cluster, None));
    assert!(matches!(
        instruction("fence.mbarrier_init.release.cluster;").kind,
        InstructionKind::MbarrierInitFence
    ));
    assert!(matches!(
        instruction("fence.proxy.async.shared::cluster;").kind,
        InstructionKind::ProxyFence(ProxyFenceKind::Async { space: AsyncSpace::SharedCluster })
    ));
    assert!(matches!(
        instruction("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;").kind,
        InstructionKind::ProxyFence(ProxyFenceKind::AsyncGeneric {
            sem: Sem::Release,
            restrict: SyncRestrict::SharedClusterRead
        })
    ));
}

#[test]
fn mbarrier_operands_find_their_places() {
    let InstructionKind::Mbarrier(MbarrierOp::Arrive(arrive)) =
        instruction("mbarrier.arrive_drop.expect_tx.relaxed.cluster _, [mapa(full[1], 3)], 32;").kind
    else {
        panic!("an arrive");
    };
    assert!(arrive.drop && arrive.expect_tx.is_some() && arrive.destination.is_none());
    assert!(arrive.address.rank.is_some() && !arrive.no_complete);
    assert_eq!((arrive.sem, arrive.scope), (Sem::Relaxed, Scope::Cluster));
    let InstructionKind::Mbarrier(MbarrierOp::Wait(wait)) =
        instruction("let p = mbarrier.try_wait.parity [bar], 1;").kind
    else {
        panic!("a wait");
    };
    assert!(wait.is_try && wait.destination.is_some() && wait.address.rank.is_none());
    assert!(matches!(wait.phase, MbarrierPhase::Parity(_)));
    assert_eq!((wait.sem, wait.scope), (Sem::Acquire, Scope::Cta));
    let program = program(&source(""));
    let mbarriers = program.kernels[0].objects.iter().filter(|o| o.element == ElementKind::Mbarrier);
    assert_eq!(
        mbarriers.map(|object| (object.width, object.n_elements())).collect::<Vec<_>>(),
        [(64, 1), (64, 2)]
    );
}

#[test]
fn a_parity_wait_resolves_in_an_await() {
    let program = program(
        "fn wait(bar: &mbarrier, p: u32) { await mbarrier.try_wait.parity [bar], p; }
fn both(a: &mbarrier, b: &mbarrier) { wait(a, 0); await (mbarrier.test_wait.parity [a], 1) && (mbarrier.try_wait.parity [b], 0); }
kernel k { launch { ctas: 2, cooperative: true } launch alone { cooperative: false } shared m[2]: mbarrier; both(&m[0], m[1]); }",
    );
    let expected = "fn wait(bar: &mbarrier, p#0: 32)
  await loop 0 %0
  prelude:
    %0 = mbarrier.try_wait.parity.acquire.cta.b64 [bar], p#0
fn both(a: &mbarrier, b: &mbarrier)
  call wait([a], 0:32)
  await loop 1 %2
  prelude:
    %0 = mbarrier.test_wait.parity.acquire.cta.b64 [a], 1:32
    %2: 1 = %0
    if %2
    then:
      %1 = mbarrier.try_wait.parity.acquire.cta.b64 [b], 0:32
      %2: 1 = %1
kernel k
  launch default gpus 1 ctas 2 cluster 1 warps 1 lanes 1 cooperative
  launch alone gpus 1 ctas 1 cluster 1 warps 1 lanes 1
  shared m[2]: mbarrier storage 0 byte 0 mapping 0
  storage 0 16 bytes Unknown
  call both([m[0:32]], [m[1:32]])
";
    assert_eq!(dump(&program), expected);
}

#[test]
fn memory_is_an_mbarrier_and_data_in_turns() {
    let program = program(
        "kernel k { shared m[2]: mbarrier; view raw[4]: u32 of m; shared b[8]: u8; view late: mbarrier of b; shared n[2]: mbarrier alias m;
 mbarrier.init [late], 1; mbarrier.inval [late]; st [b[0]], 1; st [raw[3]], 1; mbarrier.init [n[1]], 3; }",
    );
    let kinds: Vec<_> =
        program.kernels[0].objects.iter().map(|o| (o.element, o.storage.0, o.mapping)).collect();
    let (data, mbarrier) = (ElementKind::Data, ElementKind::Mbarrier);
    assert_eq!(kinds, [(mbarrier, 0, 0), (data, 0, 0), (data, 1, 0), (mbarrier, 1, 0), (mbarrier, 0, 1)]);
}

#[test]
fn addresses_of_a_peer_go_through_calls() {
    let text = "fn signal(bar: &mbarrier) { mbarrier.arrive.release.cluster _, [bar]; }
fn relay(bar: &mbarrier) { signal(bar); }
fn put(p: &u32, rank: u32) { st.shared::cluster [mapa(p, rank)], rank; }
kernel k { launch { ctas: 2, cluster: 2 } shared m[2]: mbarrier; shared s: u32;
 relay(mapa(m[tid], 1)); relay(mapa(&m[0], cluster_ctarank ^ 1)); relay(m[1]); put(s, 1); put(mapa(s, 0), 1); }";
    let text = dump(&program(text));
    for line in [
        "  call relay([mapa(m[tid], 1:32)])",
        "  call relay([mapa(m[0:32], Xor(clusterctarank, 1:32))])",
        "  _ = mbarrier.arrive.release.cluster.b64 [bar]",
        "  st.weak.shared::cluster.u32 [mapa(p, rank#0)], rank#0",
    ] {
        assert!(text.contains(line), "{text}\nlacks {line}");
    }
}

/// A target that is just new enough, one that is just too old, and what needs it.
const FLOORS: &[(&str, &str, &str)] = &[
    ("sm_90 ptx 7.8", "sm_89 ptx 7.8", "barrier.cluster.arrive;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "barrier.cluster.arrive.relaxed;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "barrier.cluster.wait.acquire;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "let p = elect.sync 1;"),
    ("sm_90 ptx 7.8", "sm_90 ptx 7.7", "let v = ld [mapa(s[0], 1)];"),
    ("sm_90 ptx 7.8", "sm_80 ptx 7.8", "let v = ld.shared::cluster [s[0]];"),
    ("sm_90 ptx 7.8", "sm_90 ptx 7.7", "let v = getctarank [s[0]];"),
    ("sm_80 ptx 7.0", "sm_75 ptx 7.0", "mbarrier.init [bar], 1;"),
    ("sm_80 ptx 7.0", "sm_80 ptx 6.5", "let t = mbarrier.arrive [bar];"),
    ("sm_80 ptx 7.0", "sm_80 ptx 6.5", "let t = mbarrier.arrive.noComplete [bar], 2;"),
    ("sm_80 ptx 7.1", "sm_80 ptx 7.0", "mbarrier.arrive _, [bar];"),
    ("sm_90 ptx 7.8", "sm_80 ptx 7.8", "let t = mbarrier.arrive [bar], 2;"),
    ("sm_80 ptx 7.1", "sm_80 ptx 7.0", "let p = mbarrier.test_wait.parity [bar], 0;"),
    ("sm_90 ptx 7.8", "sm_80 ptx 7.8", "await mbarrier.try_wait.parity [bar], 0;"),
    ("sm_80 ptx 8.0", "sm_80 ptx 7.8", "let t = mbarrier.arrive.release.cta [bar];"),
    ("sm_90 ptx 8.0", "sm_80 ptx 8.0", "let t = mbarrier.arrive.release.cluster [bar];"),
    ("sm_90 ptx 8.6", "sm_90 ptx 8.5", "let t = mbarrier.arrive.relaxed.cluster [bar];"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "let t = mbarrier.arrive.expect_tx [bar], 2;"),
    ("sm_90 ptx 8.0", "sm_80 ptx 8.0", "mbarrier.complete_tx [bar], 2;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "mbarrier.arrive.shared::cluster _, [bar];"),
    ("sm_90 ptx 8.6", "sm_90 ptx 8.5", "fence.release.sync_restrict::shared::cta.cluster;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "fence.mbarrier_init.release.cluster;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "fence.proxy.async;"),
    ("sm_70 ptx 7.5", "sm_70 ptx 7.4", "fence.proxy.alias;"),
    ("sm_90 ptx 9.4", "sm_90 ptx 9.3", "fence.proxy.alias.acquire.sys;"),
    ("sm_90 ptx 8.3", "sm_90 ptx 8.2", "fence.proxy.tensormap::generic.release.gpu;"),
    (
        "sm_90 ptx 8.6",
        "sm_90 ptx 8.5",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;",
    ),
    (
        "sm_90 ptx 9.4",
        "sm_90 ptx 9.3",
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;",
    ),
    (
        "sm_90 ptx 8.3",
        "sm_90 ptx 8.2",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [map[0]], [smap[0]], 128;",
    ),
];

#[test]
fn every_feature_has_its_floor() {
    check_floors(FLOORS, source);
}

#[test]
fn random_opcodes_are_legal_with_their_defaults_or_have_one_error() {
    // Each with operands that suit it, and some that do not.
    let none: &[&str] = &["", "", "", "", "[map[0]], 128", "[bar]"];
    let arrive: &[&str] =
        &["[bar]", "[bar], 1", "_, [bar]", "_, [mapa(full[r], r)], 2", "_, [bar], 16", "state"];
    let wait: &[&str] =
        &["[bar], state", "[full[1]], 1", "[bar], state, r", "[mapa(bar, 1)], r", "_, [bar], 0"];
    let tx: &[&str] = &["[bar], 1", "[mapa(bar, 1)], r", "[bar]"];
    let access: &[&str] = &["[s[1]]", "[mapa(s[0], 1)]", "[x]", "[bar]", "[s[r]], 3", "[mapa(s[0], 1)], 3"];
    let operands: &[(&str, &[&str])] = &[
        ("fence", none),
        ("membar", none),
        ("barrier.cluster", none),
        ("mbarrier.arrive", arrive),
        ("mbarrier", tx),
        ("mbarrier.test_wait", wait),
        ("mbarrier.try_wait", wait),
        ("ld", access),
        ("red", access),
    ];
    let results = &["", "", "let q = ", "let q = ", "let {a, b} = ", "await "];
    let vocabulary = Vocabulary { operands, results };
    vocabulary.check_random((23, 20_000), N_READS, source);
}
