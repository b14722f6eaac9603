//! Fences, cluster barriers, mbarriers and peer addresses: every form is read, completed and written back, and every
//! rule is broken once.

use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::pretty::pretty;
use fencepost_dsl::kernel::program::{
    AsyncSpace, ElementKind, Instruction, InstructionKind, MbarrierOp, MbarrierPhase, Program,
    ProxyFenceKind, Statement, StatementKind,
};
use fencepost_dsl::kernel::{LoadOptions, load, parse};
use fencepost_dsl::vocabulary::{FenceSem, Scope, Sem, SyncRestrict};
use fencepost_dsl::{Diagnostic, FileId, SourceMap};

const OBJECTS: &str = "global x: u32; global w: u64; global map[16]: u64; shared smap[16]: u64; shared s[4]: u32; \
                       shared bar: mbarrier; shared full[2]: mbarrier; let state = ld [w]; let r = ld [x];";

fn source(body: &str) -> String {
    format!("kernel k {{ launch {{ ctas: 2 }} {OBJECTS}\n {body}\n}}")
}

fn try_load(text: &str) -> Result<Program, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default())
}

fn program(text: &str) -> Program {
    try_load(text).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
}

/// The first instruction of `body`.
fn instruction(body: &str) -> Instruction {
    let program = program(&source(body));
    let mut found = Vec::new();
    collect(&program.kernels[0].body, &mut found);
    found.get(2).unwrap_or_else(|| panic!("{body}")).clone()
}

fn collect(statements: &[Statement], into: &mut Vec<Instruction>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Instruction(instruction) => into.push(instruction.clone()),
            StatementKind::Await { prelude, .. } => collect(prelude, into),
            StatementKind::While { prelude, body, .. } => {
                collect(prelude, into);
                collect(body, into);
            }
            StatementKind::If { then, otherwise, .. } => {
                collect(then, into);
                collect(otherwise, into);
            }
            _ => {}
        }
    }
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
    ("@;", "membar.proxy.async.shared::cta", "membar.proxy.async.shared::cta"),
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
        assert_eq!(file, again, "{printed}");
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
kernel k { launch { clusters: 2, resident: true } launch alone { resident: false } shared m[2]: mbarrier; both(&m[0], m[1]); }",
    );
    let expected = "fn wait(bar: &mbarrier, p#0: 32)
  await loop 0 %0
  prelude:
    mbarrier.try_wait.parity.acquire.cta.b64 %0 <- [bar], p#0
fn both(a: &mbarrier, b: &mbarrier)
  call wait([a], 0:32)
  await loop 1 %2
  prelude:
    mbarrier.test_wait.parity.acquire.cta.b64 %0 <- [a], 1:32
    %2: 1 = %0
    if %2
    then:
      mbarrier.try_wait.parity.acquire.cta.b64 %1 <- [b], 0:32
      %2: 1 = %1
kernel k
  launch default gpus 1 clusters 2 ctas 1 warps 1 lanes 1 resident
  launch alone gpus 1 clusters 1 ctas 1 warps 1 lanes 1
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
kernel k { launch { ctas: 2 } shared m[2]: mbarrier; shared s: u32;
 relay(mapa(m[tid], 1)); relay(mapa(&m[0], cluster_ctarank ^ 1)); relay(m[1]); put(s, 1); put(mapa(s, 0), 1); }";
    let text = dump(&program(text));
    for line in [
        "  call relay([mapa(m[tid], 1:32)])",
        "  call relay([mapa(m[0:32], Xor(clusterctarank, 1:32))])",
        "  mbarrier.arrive.release.cluster.b64 _ <- [bar], 1:32",
        "  st.weak.shared::cluster.u32 [mapa(p, rank#0)] <- rank#0",
    ] {
        assert!(text.contains(line), "{text}\nlacks {line}");
    }
}

/// A body, the one error it has, its rule (or none), and a part of its message or help.
const ILLEGAL: &[(&str, &str, &str, &str)] = &[
    // Thread fences
    ("fence.acquire;", "validate::missing-scope", "FN-1", "fence.acquire.gpu"),
    ("fence.acquire.release.gpu;", "validate::duplicate-modifier", "", "second"),
    ("fence.mbarrier_init.acquire.cluster;", "validate::restricted-fence", "FN-9", ".release"),
    ("fence.mbarrier_init.release.gpu;", "validate::restricted-fence", "FN-9", ".cluster"),
    ("fence.mbarrier_init;", "validate::restricted-fence", "FN-9", ".release"),
    ("fence.mbarrier_init.release.cluster 1;", "validate::operand-count", "", "no operands"),
    (
        "fence.release.sync_restrict::shared::cluster.cluster;",
        "validate::restricted-fence",
        "FN-7",
        ".acquire",
    ),
    ("fence.acquire.sync_restrict::shared::cta.cluster;", "validate::restricted-fence", "FN-8", ".release"),
    ("fence.release.sync_restrict::shared::cta.cta;", "validate::restricted-fence", "FN-8", ".cluster"),
    ("fence.sync_restrict::shared::cta.cluster;", "validate::restricted-fence", "FN-8", ".release"),
    (
        "fence.release.sync_restrict::shared::cluster::read.cluster;",
        "validate::restricted-fence",
        "FN-17",
        "async::generic",
    ),
    ("fence.release.sync_restrict::global.cluster;", "validate::unknown-modifier", "", "global"),
    (
        "fence.release.sync_restrict::shared::cta.sync_restrict::shared::cluster.cluster;",
        "validate::duplicate-modifier",
        "",
        "second",
    ),
    // Proxy fences
    ("fence.proxy;", "validate::proxy-fence", "FN-11", "needs a proxy"),
    ("fence.proxy.alias.gpu;", "validate::proxy-fence", "FN-18", "neither sem nor scope"),
    ("fence.proxy.alias.acq_rel.sys;", "validate::proxy-fence", "FN-18", ".acquire.sys"),
    ("fence.proxy.async.release.cluster;", "validate::proxy-fence", "FN-25", "leave it out"),
    ("fence.proxy.async.shared;", "validate::proxy-fence", "FN-12", ".shared::cta"),
    ("fence.proxy.async.local;", "validate::unknown-modifier", "", ".local"),
    (
        "fence.proxy.async.sync_restrict::shared::cta.release.cluster;",
        "validate::proxy-fence",
        "FN-15",
        "async::generic",
    ),
    ("fence.proxy.async::generic.release.cluster;", "validate::proxy-fence", "FN-15", "restriction"),
    (
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cta.cluster;",
        "validate::restricted-fence",
        "FN-15",
        ".release",
    ),
    (
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster;",
        "validate::restricted-fence",
        "FN-16",
        ".acquire",
    ),
    (
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cta;",
        "validate::restricted-fence",
        "FN-17",
        ".cluster",
    ),
    ("fence.proxy.generic::async.release.gpu;", "validate::proxy-fence", "FN-24", "fence.proxy.async"),
    ("fence.proxy.generic::tensormap.release.gpu;", "validate::proxy-fence", "FN-24", "tensormap::generic"),
    ("fence.proxy.tensormap::generic.release;", "validate::proxy-fence", "FN-13", "scope"),
    ("fence.proxy.tensormap::generic.sc.gpu;", "validate::proxy-fence", "FN-13", ".sc"),
    (
        "fence.proxy.tensormap::generic.release.gpu [map[0]], 128;",
        "validate::operand-count",
        "",
        "no operands",
    ),
    ("fence.proxy.tensormap::generic.acquire.gpu;", "validate::operand-count", "", "128"),
    ("fence.proxy.tensormap::generic.acquire.gpu [map[0]], 64;", "validate::tensormap-size", "UB-F1", "128"),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [map[0]], 64 + 64;",
        "validate::tensormap-size",
        "UB-F1",
        "128",
    ),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [smap[0]], 128;",
        "validate::space-mismatch",
        "UB-F1",
        "global",
    ),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [x], 128;",
        "validate::tensormap-size",
        "UB-F1",
        "`x` has 4",
    ),
    ("membar.proxy.tensormap::generic.release.gpu;", "validate::proxy-fence", "FN-20", "fence"),
    ("membar.proxy.alias.release.sys;", "validate::proxy-fence", "FN-20", "bi-directional"),
    ("fence.proxy.generic::fabric.alias.acquire.sys;", "unsupported::instruction", "", "not checked"),
    ("tensormap.replace.tile.rank.b32 [map[0]], 1;", "validate::not-tensormap", "AS-35", "tensormap of"),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.release.gpu.sync.aligned [map[0]], [smap[0]], 128;",
        "validate::proxy-fence",
        "FN-21",
        "tensormap::generic",
    ),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [smap[0]], [map[0]], 128;",
        "validate::space-mismatch",
        "UB-F2",
        "global",
    ),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [map[0]], [smap[0]], r;",
        "validate::tensormap-size",
        "UB-F2",
        "128",
    ),
    // Barriers
    ("bar.sync 0, 2048;", "validate::barrier-count", "UB-B2", "1024"),
    ("barrier.arrive.aligned 3;", "validate::barrier-missing-count", "BR-1", "thread count"),
    ("bar.cluster.arrive;", "validate::barrier-form", "BR-9", "barrier.cluster.arrive"),
    ("barrier.cluster.sync;", "validate::barrier-form", "BR-9", "barrier.cluster.wait"),
    ("barrier.cluster.arrive.acquire;", "validate::illegal-sem", "BR-11", ".release"),
    ("barrier.cluster.wait.relaxed;", "validate::illegal-sem", "BR-11", "always `.acquire`"),
    ("barrier.cluster.wait.release;", "validate::illegal-sem", "BR-11", "wait"),
    ("barrier.cluster.arrive.gpu;", "validate::unknown-modifier", "", ".gpu"),
    ("barrier.cluster.arrive 0;", "validate::operand-count", "", "no operands"),
    ("let q = barrier.cluster.wait;", "validate::no-result", "", "statement"),
    ("await (barrier.cluster.wait);", "validate::no-result", "", "statement"),
    ("elect.sync r;", "validate::unbound-result", "", "let p"),
    ("let p = elect.sync 0;", "validate::warp-mask", "UB-A14", "no lane"),
    ("let p = elect 0;", "syntax::unexpected-token", "", ""),
    ("let p = elect.one r;", "validate::elect-form", "AS-42", "elect.sync"),
    ("let {a, b, c} = elect.sync r;", "validate::vector-count", "", "leader"),
    ("await (elect.sync r);", "validate::await-side-effect", "", "mbarrier waits"),
    // mbarrier opcodes
    ("mbarrier.wait [bar], 0;", "validate::mbarrier-form", "MB-2", "try_wait"),
    ("mbarrier.check_layout.b64 [bar];", "unsupported::instruction", "", "not checked"),
    ("mbarrier.init.global.b64 [bar], 1;", "validate::mbarrier-space", "UB-M15", "shared memory"),
    ("mbarrier.init.b32 [bar], 1;", "validate::mbarrier-type", "", ".b64"),
    ("mbarrier.init.release.cta [bar], 1;", "validate::mbarrier-sem", "MB-10", "neither sem nor scope"),
    ("mbarrier.inval.cluster [bar];", "validate::mbarrier-sem", "MB-10", "neither sem nor scope"),
    ("mbarrier.expect_tx.release.cta [bar], 16;", "validate::mbarrier-sem", "MB-10", ".relaxed"),
    ("mbarrier.arrive.acquire.cta _, [bar];", "validate::mbarrier-sem", "MB-10", ".release"),
    ("let p = mbarrier.test_wait.release.cta [bar], state;", "validate::mbarrier-sem", "MB-10", ".acquire"),
    ("mbarrier.arrive.release _, [bar];", "validate::mbarrier-sem-scope", "MB-10", ".release.cta"),
    ("mbarrier.arrive.cluster _, [bar];", "validate::mbarrier-sem-scope", "MB-10", ".release.cluster"),
    ("mbarrier.arrive.release.gpu _, [bar];", "validate::mbarrier-scope", "MB-10", ".cluster"),
    (
        "mbarrier.arrive.noComplete.relaxed.cta _, [bar], 1;",
        "validate::mbarrier-sem",
        "MB-10",
        ".release.cta",
    ),
    (
        "mbarrier.arrive.noComplete.expect_tx _, [bar], 1;",
        "validate::exclusive-modifiers",
        "MB-13",
        "exclude",
    ),
    ("mbarrier.arrive.nocomplete _, [bar], 1;", "validate::unknown-modifier", "", ".noComplete"),
    ("mbarrier.arrive.parity _, [bar];", "validate::unknown-modifier", "", ".parity"),
    ("mbarrier.arrive.multicast::cluster::32b _, [bar];", "unsupported::modifier", "", "multicast"),
    ("let n = mbarrier.pending_count.shared::cta.b64 state;", "validate::mbarrier-space", "", "no memory"),
    // mbarrier operands
    ("mbarrier.init [bar];", "validate::operand-count", "", "number of arrivals"),
    ("mbarrier.init [bar], 0;", "validate::mbarrier-count", "UB-M5", "1048575"),
    ("mbarrier.init [bar], 1 << 20;", "validate::mbarrier-count", "UB-M5", "1048575"),
    ("mbarrier.init bar, 1;", "validate::operand-kind", "", "[bar]"),
    ("mbarrier.init [s[0]], 1;", "validate::not-mbarrier", "UB-M15", "shared s: mbarrier"),
    ("mbarrier.init [full], 1;", "resolve::dimension-count", "", "1 index"),
    ("mbarrier.arrive _, [bar], 0;", "validate::mbarrier-count", "UB-M6", "arrivals"),
    ("mbarrier.arrive _, [bar], 1 << 20;", "validate::mbarrier-count", "UB-M6", "arrivals"),
    ("mbarrier.expect_tx [bar], 1 << 20;", "validate::mbarrier-tx", "UB-M7", "1048575"),
    ("mbarrier.arrive.expect_tx _, [bar];", "validate::operand-count", "", "bytes"),
    ("mbarrier.arrive.expect_tx _, [bar], 1, 16;", "validate::operand-count", "", "count is then 1"),
    ("mbarrier.arrive.noComplete _, [bar];", "validate::operand-count", "", "a count"),
    ("mbarrier.arrive [bar];", "validate::unbound-result", "", "sink"),
    ("let t = mbarrier.init [bar], 1;", "validate::no-result", "", "statement"),
    ("let t: u32 = mbarrier.arrive [bar];", "resolve::width-mismatch", "", "32"),
    ("mbarrier.try_wait.parity [bar], 0;", "validate::unbound-result", "MB-6", "await"),
    ("let p = mbarrier.test_wait.parity [bar], 2;", "validate::mbarrier-parity", "MB-6", "& 1"),
    ("let p = mbarrier.test_wait [bar], 0;", "validate::mbarrier-state", "", "test_wait.parity"),
    ("await mbarrier.try_wait.relaxed.cluster [bar], r;", "validate::mbarrier-state", "", "try_wait.parity"),
    ("let p = mbarrier.test_wait.parity [bar], 0, 100;", "validate::operand-count", "", "parity"),
    ("let p = mbarrier.try_wait _, [bar], state;", "validate::operand-kind", "", "brackets"),
    ("let n = mbarrier.pending_count 3;", "validate::mbarrier-state", "", "noComplete"),
    // Peers
    ("mbarrier.init.shared::cluster.b64 [bar], 1;", "validate::mbarrier-peer", "MB-2", "own CTA"),
    ("mbarrier.init [mapa(bar, 1)], 1;", "validate::mbarrier-peer", "MB-2", "own CTA"),
    ("mbarrier.inval [mapa(bar, 1)];", "validate::mbarrier-peer", "MB-2", "own CTA"),
    (
        "await mbarrier.try_wait.parity [mapa(bar, 1)], 0;",
        "validate::mbarrier-peer",
        "UB-M13",
        "arrive on it",
    ),
    (
        "let p = mbarrier.test_wait.shared::cluster [bar], state;",
        "validate::mbarrier-peer",
        "UB-M13",
        "own CTA",
    ),
    ("mbarrier.arrive.noComplete _, [mapa(bar, 1)], 1;", "validate::mbarrier-peer", "MB-2", "noComplete"),
    ("let t = mbarrier.arrive [mapa(bar, 1)];", "validate::mbarrier-remote-state", "UB-M14", "_"),
    (
        "mbarrier.arrive.shared::cta _, [mapa(bar, 1)];",
        "validate::space-mismatch",
        "AS-43",
        ".shared::cluster",
    ),
    ("let v = ld.shared [mapa(s[0], 1)];", "validate::space-mismatch", "AS-43", ".shared::cluster"),
    ("let v = ld.shared::cluster [x];", "validate::space-mismatch", "", "global"),
    ("let v = ld [mapa(x, 1)];", "validate::mapa", "AS-43", "all CTAs share"),
    ("let v = ld [mapa(s[0], state)];", "resolve::width-mismatch", "", "as u32"),
    ("let v = ld [map(s[0], 1)];", "syntax::address", "", "mapa(s, rank)"),
    ("let v = mapa(s[0], 1);", "validate::address-value", "AS-43", "[mapa(x, rank)]"),
    ("let v = mapa.shared::cluster.u32 s, 1;", "validate::address-value", "AS-43", "[mapa(x, rank)]"),
    ("let v = getctarank [x];", "validate::space-mismatch", "AS-43", "shared"),
    ("let v = getctarank.shared::cta.u32 [s[0]];", "validate::unknown-modifier", "", "not a modifier"),
    ("let mapa = 1;", "resolve::reserved-name", "", "mapa"),
    ("final { assert [mapa(s[0], 1)] == 0; }", "validate::mapa", "", "global memory"),
    // Declarations
    ("global g: mbarrier;", "validate::mbarrier-space", "UB-M15", "shared g: mbarrier"),
    ("shared g: mbarrier = 0;", "validate::mbarrier-initialiser", "MB-1", "mbarrier.init"),
    ("view g: mbarrier of w;", "validate::mbarrier-space", "UB-M15", "shared"),
    ("view g: mbarrier of s + 4;", "validate::view", "UB-M15", "aligned"),
    ("launch b { resident: 2 }", "validate::launch-resident", "LT-5", "true"),
    ("launch b { resident: true, resident: true }", "resolve::duplicate-name", "", "resident"),
    ("launch b { residnt: true }", "validate::launch-dimension", "", "did you mean `resident`?"),
];

#[test]
fn every_rule_is_kept() {
    for (body, code, rule, part) in ILLEGAL {
        let errors = try_load(&source(body)).err().unwrap_or_default();
        let codes: Vec<_> = errors.iter().map(|error| (error.code, &error.message, &error.help)).collect();
        assert_eq!(errors.len(), 1, "{body}\n{codes:#?}");
        let error = &errors[0];
        let expected: Vec<&str> = Some(*rule).into_iter().filter(|rule| !rule.is_empty()).collect();
        assert_eq!((error.code, &error.rules), (*code, &expected), "{body}\n{codes:#?}");
        let words = format!("{} {}", error.message, error.help.as_deref().unwrap_or(""));
        assert!(words.contains(part), "{body}\n{words}\nlacks {part}");
        assert!(!error.message.ends_with('.'), "{}", error.message);
        let text = source(body);
        let span = error.span();
        assert!(text.find('\n').is_some_and(|line| line < span.start as usize), "{body}: {span:?}");
    }
}

#[test]
fn what_a_function_needs_of_its_parameters() {
    for (text, code, rule, part) in [
        (
            "fn f(b: &mbarrier) { await mbarrier.try_wait.parity [b], 0; }
fn g(b: &mbarrier) { f(b); }
kernel k { shared m: mbarrier; g(mapa(m, 1)); }",
            "validate::peer-address",
            "UB-M13",
            "`g` needs an address in the own CTA",
        ),
        (
            "fn f(b: &mbarrier) -> u64 { let t = mbarrier.arrive [b]; return t; }
kernel k { shared m: mbarrier; let t = f(mapa(m, 1)); }",
            "validate::peer-address",
            "UB-M14",
            "`f`",
        ),
        (
            "fn f(p: &u32) { st.shared [p], 1; } kernel k { shared m: u32; f(mapa(m, 1)); }",
            "validate::peer-address",
            "AS-43",
            "`f`",
        ),
        (
            "fn f(p: &u64) { } kernel k { shared m: mbarrier; f(m); }",
            "resolve::argument-kind",
            "",
            "u64 of m",
        ),
        (
            "fn f(p: &mbarrier) { } kernel k { shared m: u64; f(m); }",
            "resolve::argument-kind",
            "",
            "mbarrier of m",
        ),
        (
            "fn f(p: &u32) { st [mapa(p, 1)], 1; } kernel k { global x: u32; f(x); }",
            "validate::space-mismatch",
            "",
            "shared memory",
        ),
        (
            "fn f(p: &u32) { } kernel k { shared m: u32; f(mapa(mapa(m, 1), 1)); }",
            "resolve::argument-kind",
            "",
            "mapa(x, rank)",
        ),
        ("fn mapa(p: &u32) { } kernel k { }", "resolve::reserved-name", "", "PTX"),
        (
            "fn f(b: &mbarrier) { mbarrier.arrive _, [b]; } kernel k { shared m: mbarrier; await g(m) == 1; }
fn g(b: &mbarrier) -> u32 { f(b); return 1; }",
            "validate::await-side-effect",
            "",
            "`g`",
        ),
    ] {
        let errors = try_load(text).err().unwrap_or_default();
        assert_eq!(errors.len(), 1, "{text}\n{errors:#?}");
        let expected: Vec<&str> = Some(rule).into_iter().filter(|rule| !rule.is_empty()).collect();
        assert_eq!((errors[0].code, &errors[0].rules), (code, &expected), "{text}\n{errors:#?}");
        let words = format!("{} {}", errors[0].message, errors[0].help.as_deref().unwrap_or(""));
        assert!(words.contains(part), "{text}\n{words}\nlacks {part}");
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
    for (enough, too_old, body) in FLOORS {
        let at = |target: &str| try_load(&format!("//! target {target}\n{}", source(body)));
        assert!(at(enough).is_ok(), "{body} at {enough}: {:#?}", at(enough).err());
        let errors = at(too_old).err().unwrap_or_default();
        assert_eq!(errors.len(), 1, "{body} at {too_old}\n{errors:#?}");
        assert_eq!(errors[0].code, "validate::target", "{body}");
        let raise = enough.split_whitespace().last().unwrap_or_default();
        let sm = enough.split_whitespace().next().unwrap_or_default();
        assert!(
            errors[0].message.contains(raise) && errors[0].message.contains(sm),
            "{body}: {}",
            errors[0].message
        );
    }
}

/// A small generator of numbers, so that failures can be repeated.
struct Random(u64);

impl Random {
    fn pick<T: Copy>(&mut self, words: &[T]) -> T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words[((self.0 >> 33) as usize) % words.len()]
    }
}

/// Any opcode is either legal, and then its full spelling is legal and is its own full spelling, or has one error.
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
    let verbs: &[(&str, &[&str])] = &[
        ("fence", none),
        ("fence.proxy", none),
        ("fence.proxy.async::generic", none),
        ("membar.proxy", none),
        ("barrier.cluster.arrive", none),
        ("barrier.cluster.wait", none),
        ("mbarrier.arrive", arrive),
        ("mbarrier.arrive_drop", arrive),
        ("mbarrier.expect_tx", tx),
        ("mbarrier.complete_tx", tx),
        ("mbarrier.init", tx),
        ("mbarrier.inval", tx),
        ("mbarrier.test_wait", wait),
        ("mbarrier.try_wait", wait),
        ("ld.weak", access),
        ("red.add", access),
    ];
    let modifiers = [
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        ".relaxed",
        ".release",
        ".acquire",
        ".acq_rel",
        ".sc",
        ".cta",
        ".cluster",
        ".sys",
        ".shared",
        ".shared::cta",
        ".shared::cluster",
        ".global",
        ".b64",
        ".u32",
        ".parity",
        ".noComplete",
        ".expect_tx",
        ".aligned",
        ".alias",
        ".async",
        ".async::generic",
        ".tensormap::generic",
        ".mbarrier_init",
        ".sync_restrict::shared::cta",
        ".sync_restrict::shared::cluster",
        ".sync_restrict::shared::cluster::read",
    ];
    let results = ["", "", "let q = ", "let q = ", "let {a, b} = ", "await "];
    let mut random = Random(23);
    let mut n_legal = 0;
    for _ in 0..20_000 {
        let words = [0; 3].map(|_| random.pick(&modifiers)).concat();
        let (verb, operands) = random.pick(verbs);
        let opcode = format!("{verb}{words}");
        let (result, operands) = (random.pick(&results), random.pick(operands));
        let body = |opcode: &str| format!("{result}{opcode} {operands};");
        match try_load(&source(&body(&opcode))) {
            Ok(first) => {
                n_legal += 1;
                let full = instruction(&body(&opcode)).text;
                let second = try_load(&source(&body(&full)));
                let second = second.unwrap_or_else(|errors| panic!("{opcode} is {full}\n{errors:#?}"));
                assert_eq!(dump(&first), dump(&second), "{opcode} is {full}");
            }
            Err(errors) => assert_eq!(errors.len(), 1, "{}\n{errors:#?}", body(&opcode)),
        }
    }
    assert!(n_legal > 300, "{n_legal}");
}
