//! Compiled kernels, changed in one place of their PTX, are violated; and what an import does not say is said.

use fencepost::{Options, Report, Source, Verdict, check};
use fencepost_tests::compiled::{Change, changed, folder, text};
use fencepost_tests::random::Numbers;
use std::fs;

/// The module that a kernel file imports.
fn module_of(harness: &str) -> String {
    let rest = harness.split_once("import \"").expect("it imports a module").1;
    rest.split_once('"').expect("a path ends").0.to_owned()
}

/// Checks a kernel file with its module changed from `line` on (one-based): the first `from` becomes `to`.
fn mutant(name: &str, change: Change<'_>, helps: bool) -> Report {
    let harness = text(&format!("{name}.fence"));
    let module = module_of(&harness);
    let whole = text(&module);
    let changed = changed(&whole, change);
    assert_ne!(changed, whole, "{name}: {change:?} is no change");
    let mut source = Source::text(format!("{name}.fence"), harness).with(module, changed);
    for entry in fs::read_dir(folder()).expect("the examples are there") {
        let file = entry.expect("it can be read").file_name().to_string_lossy().into_owned();
        if file.ends_with(".cu") || file.ends_with(".py") {
            source = source.with(file.clone(), text(&file));
        }
    }
    check(source, &Options::default().repairs(helps)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Each with what its help names, if one is found: the instruction as it was, or an equal one.
#[test]
fn each_weaker_instruction_is_found() {
    for (name, change, code, help) in [
        ("spin_lock", (1, "cas.acquire", "cas.relaxed"), "race::uniform", "atom.cas.acquire.gpu.b32"),
        ("spin_lock", (1, "st.release", "st.relaxed"), "race::uniform", "st.release.gpu.b32"),
        (
            "spin_lock",
            (1, "st.release.gpu", "st.release.cta"),
            "race::scope-too-narrow",
            "st.release.gpu.b32",
        ),
        (
            "spin_lock",
            (1, "cas.acquire.gpu", "cas.acquire.cta"),
            "race::scope-too-narrow",
            "atom.cas.acquire.gpu.b32",
        ),
        ("sem_lock", (40, "exch.acquire", "exch.relaxed"), "race::uniform", "atom.exch.acquire.gpu.b32"),
        ("sem_lock", (325, "st.release", "st.relaxed"), "race::uniform", "st.release.gpu.b32"),
        (
            "sem_lock",
            (325, "st.release.gpu", "st.release.cta"),
            "race::scope-too-narrow",
            "st.release.gpu.b32",
        ),
        ("latch", (375, "atom.add.release", "atom.add.relaxed"), "race::uniform", "atom.add.release.gpu.u64"),
        ("latch", (390, "ld.acquire", "ld.relaxed"), "race::uniform", "ld.acquire.gpu.b64"),
        ("ticket_lock", (1, "ld.acquire", "ld.relaxed"), "race::uniform", "ld.acquire.gpu.b32"),
        ("ticket_lock", (1, "st.release", "st.relaxed"), "race::uniform", "st.release.gpu.b32"),
        (
            "grid_sync",
            (1, "atom.add.release", "atom.add.relaxed"),
            "race::uniform",
            "atom.add.release.gpu.u32",
        ),
        ("grid_sync", (1, "ld.acquire.gpu", "ld.relaxed.gpu"), "race::uniform", "ld.acquire.gpu.u32"),
        ("grid_sync", (1, "barrier.sync \t0;", ""), "race::uniform", "__syncthreads();"),
        ("grid_sync", (117, "barrier.sync \t0;", ""), "race::uniform", "bar.sync 0;"),
        ("message", (370, "st.release.gpu", "st.relaxed.gpu"), "race::uniform", "st.release.gpu.b32"),
        ("dekker", (430, "fence.sc.gpu", "fence.acq_rel.gpu"), "race::uniform", "fence.sc.gpu"),
        ("fences", (500, "fence.acq_rel.gpu;", ""), "race::uniform", "ld.acquire.gpu.b32"),
        ("fences", (520, "fence.acq_rel.gpu;", ""), "race::uniform", "st.release.gpu.b32"),
        (
            "seqlock",
            (580, "ld.acquire.gpu", "ld.relaxed.gpu"),
            "assert::final-violated",
            "ld.acquire.gpu.b32",
        ),
        ("seqlock", (610, "fence.acq_rel.gpu;", ""), "assert::final-violated", "ld.acquire.gpu.b32"),
        ("seqlock", (655, "fence.acq_rel.gpu;", ""), "assert::final-violated", "st.release.gpu.b32"),
        (
            "seqlock",
            (690, "st.release.gpu", "st.relaxed.gpu"),
            "assert::final-violated",
            "st.release.gpu.b32",
        ),
        (
            "cp_async",
            (1, "cp.async.wait_group 1", "cp.async.wait_group 2"),
            "race::async-destination",
            "cp.async.wait_group 1",
        ),
        ("cp_async", (105, "bar.sync \t0;", ""), "race::async-destination", "__syncthreads();"),
        ("barrier_pc", (70, "bar.sync \t0;", ""), "mbarrier::init-not-ordered", "__syncthreads();"),
        (
            "ws_ring",
            (225, "fence.proxy.async.shared::cta;", ""),
            "race::cross-proxy",
            "fence_proxy_async(cuda::ptx::space_shared);",
        ),
        ("ws_ring", (230, "bar.warp.sync \t-1;", ""), "race::async-source", "__syncwarp();"),
        // Fewer and more bytes expected than come, with all lanes that wait.
        ("ws_ring", (131, "%r76;", "512;"), "deadlock::phase-never-completes", ""),
        ("ws_ring", (131, "%r76;", "2048;"), "deadlock::phase-never-completes", ""),
        ("exchange", (1, "st.release", "st.relaxed"), "race::uniform", "st.release.gpu.b32"),
        ("exchange", (1, "ld.acquire", "ld.relaxed"), "race::uniform", "ld.acquire.gpu.b32"),
        ("exchange", (1, "st.release.gpu", "st.release.cta"), "race::scope-too-narrow", "st.release.gpu.b32"),
        ("exchange", (200, "bar.sync", "// bar.sync"), "race::uniform", "__syncthreads();"),
        ("dependent", (1, "griddepcontrol.wait;", ""), "race::grid-dependency", ""),
        ("multicast", (1, "acquire.cluster", "acquire.cta"), "race::scope-too-narrow", ""),
        ("multicast", (40, "mov.u32 \t%r4, 1;", "mov.u32 \t%r4, 2;"), "deadlock::phase-never-completes", ""),
        (
            "ws_ring",
            (270, "cp.async.bulk.wait_group.read 0;", ""),
            "lifetime::operation-pending",
            "cp_async_bulk_wait_group_read",
        ),
        (
            "dsmem",
            (75, "barrier.cluster.arrive;", "barrier.cluster.arrive.relaxed;"),
            "race::uniform",
            "barrier.cluster.arrive.release",
        ),
        ("block_sum", (124, "bar.sync \t0;", ""), "race::uniform", ""),
        ("look_back", (60, "bar.sync \t0;", ""), "race::uniform", ""),
        ("look_back", (230, "bar.sync \t0;", ""), "race::uniform", ""),
        ("persistent", (113, "bar.sync \t0;", ""), "race::uniform", "__syncthreads();"),
        ("persistent", (117, "bar.sync \t0;", ""), "race::uniform", ""),
        (
            "split_k",
            (57, "ld.global.acquire.gpu.b32", "ld.global.relaxed.gpu.b32"),
            "race::uniform",
            "ld.global.acquire.gpu",
        ),
        ("histogram", (41, "bar.sync \t0;", ""), "race::uniform", "bar.sync 0;"),
        ("histogram", (74, "bar.sync \t0;", ""), "race::uniform", "bar.sync 0;"),
        ("triton_split_k", (358, "acq_rel.gpu.cas", "relaxed.gpu.cas"), "race::uniform", ""),
        ("split_k", (97, "bar.sync \t0;", ""), "race::uniform", ""),
        ("split_k", (109, "fence.acq_rel.gpu;", ""), "race::uniform", "red.release.gpu"),
        ("split_k", (110, "%r16;", "0;"), "deadlock::spin-never-ends", ""),
        (
            "block_sum",
            (74, "bfly.b32 \t%r14|%p3, %r10, %r12, %r11, %r13;", "bfly.b32 \t%r14|%p3, %r10, %r12, %r11, 1;"),
            "barrier::lane-not-in-mask",
            "",
        ),
        (
            "wgmma_gemm",
            (505, "wgmma.wait_group.sync.aligned 0;", ""),
            "async::registers-in-flight",
            "wgmma.wait_group.sync.aligned 0;",
        ),
        (
            "wgmma_gemm",
            (330, "wgmma.fence.sync.aligned;", ""),
            "async::no-matrix-fence",
            "wgmma.fence.sync.aligned;",
        ),
        (
            "wgmma_gemm",
            (320, "mbarrier.try_wait.parity.shared::cta.b64 p, [%r34], %r35;", "setp.eq.b32 p, 0, 0;"),
            "race::async-destination",
            "",
        ),
        // The second tile into the slot of the first.
        (
            "wgmma_gemm",
            (258, "and.b32  \t%r218, %r217, 8192;", "and.b32  \t%r218, %r217, 0;"),
            "race::async-writes",
            "",
        ),
        ("row_sum", (126, "bar.sync \t0;", ""), "race::uniform", "bar.sync 0;"),
        // With a distance too few, the lanes of a warp do not have the same.
        (
            "row_sum",
            (115, "shfl.sync.bfly.b32 \t%r26, %r25, 1, 31, -1;", "mov.b32 %r26, %r25;"),
            "race::uniform",
            "",
        ),
    ] {
        let report = mutant(name, change, !help.is_empty());
        let codes: Vec<&str> = report.findings().map(|finding| finding.code).collect();
        assert_eq!(report.verdict(), Verdict::Violated, "{name} with {change:?}: {codes:?}");
        assert!(codes.contains(&code), "{name} with {change:?}: {codes:?}, not {code}");
        let helps: Vec<&str> = report.findings().filter_map(|finding| finding.help.as_deref()).collect();
        let mends = |told: &&str| told.contains(help) && told.contains("nothing is violated");
        assert!(help.is_empty() || helps.iter().any(mends), "{name} with {change:?}: {helps:?}, not {help}");
    }
}

const MODULE: &str = "
.version 9.0
.target sm_90
.visible .entry k(.param .u64 p, .param .u32 n) {
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
    .local .align 8 .b8 depot[16];
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    BODY
    ret;
}
";

/// A thread that polls a word, counts how often, looks at a clock and sleeps waits for it; what is read afterwards, or seen by
/// others, goes from one round into the next.
#[test]
fn a_loop_that_only_lets_time_pass_is_a_wait() {
    let verdict = |idle: &str, after: &str| {
        let code = format!(
            "mov.u32 %r4, 0; setp.ne.u32 %p1, %r2, 0; @%p1 bra P; st.relaxed.gpu.global.u32 [%rd1], 1; bra E; \
             P: ld.relaxed.gpu.global.u32 %r3, [%rd1]; setp.ne.u32 %p2, %r3, 0; @%p2 bra E; {idle} bra P; E: {after}"
        );
        body(&code, "assert [data[0]] == 1;").0
    };
    let idle = "setp.gt.u32 %p3, %r4, 9; @%p3 bra S; add.u32 %r4, %r4, 1; bra P; S: mov.u32 %r5, %clock; nanosleep.u32 %r5;";
    let bounded = Some(Verdict::ProvedUpToBound);
    assert_eq!(verdict(idle, ""), Some(Verdict::Proved));
    assert_eq!(verdict(idle, "@!%p1 bra F; st.global.u32 [%rd1+4], %r4; F:"), bounded);
    let seen =
        "add.u32 %r4, %r4, 1; setp.gt.u32 %p3, %r4, 9; @!%p3 bra P; st.relaxed.gpu.global.u32 [%rd1+8], %r4;";
    assert_eq!(verdict(seen, ""), bounded);
    // A loop of its own is none that is known to end.
    assert_eq!(verdict("S: add.u32 %r4, %r4, 1; setp.gt.u32 %p3, %r4, 9; @!%p3 bra S;", ""), bounded);
}

const HARNESS: &str = "
global data[4]: u32 = 0;
import \"k.ptx\" entry k as k {
    launch { block: 2 }
    param 0 = &data;
    param 1 in 0..=7;
    final { FINAL }
}
";

/// Verdict and codes of a kernel with this body, and what is claimed of its end; or the code of the first error.
fn body(body: &str, claim: &str) -> (Option<Verdict>, Vec<&'static str>) {
    verdict_of(&HARNESS.replace("FINAL", claim), &MODULE.replace("BODY", body))
}

/// Verdict and codes of a kernel file and the module `k.ptx` that it imports; or the codes of its errors.
fn verdict_of(harness: &str, module: &str) -> (Option<Verdict>, Vec<&'static str>) {
    let source = Source::text("k.fence", harness.to_owned()).with("k.ptx", module.to_owned());
    match check(source, &Options::default()) {
        Ok(report) => {
            let launch = &report.launches()[0];
            let mut codes: Vec<&str> = report.findings().map(|finding| finding.code).collect();
            codes.extend(launch.unsupported.as_ref().map(|problem| problem.code));
            (Some(report.verdict()), codes)
        }
        Err(error) => (None, error.problems().iter().map(|problem| problem.code).collect()),
    }
}

fn proved(text: &str, claim: &str) {
    assert_eq!(body(text, claim), (Some(Verdict::Proved), vec![]), "{text} {claim}");
}

#[test]
fn integers_are_computed() {
    // One thread computes, and what comes of it is the whole word.
    let one =
        |code: &str| format!("setp.ne.u32 %p1, %r2, 0; @%p1 bra L; {code} st.global.u32 [%rd1], %r3; L:");
    for (code, value) in [
        ("mov.u32 %r3, -1; shr.s32 %r3, %r3, 4;", "0xffffffff"),
        ("mov.u32 %r3, -8; shr.u32 %r3, %r3, 28;", "15"),
        ("mov.u32 %r4, 40; mov.u32 %r5, 1; shl.b32 %r3, %r5, %r4;", "0"),
        ("mov.u32 %r4, -7; mov.u32 %r5, 2; div.s32 %r3, %r4, %r5;", "0xfffffffd"),
        ("mov.u32 %r4, -7; mov.u32 %r5, 2; rem.s32 %r3, %r4, %r5;", "0xffffffff"),
        ("mov.u32 %r4, -7; mov.u32 %r5, 2; min.s32 %r3, %r4, %r5;", "0xfffffff9"),
        ("mov.u32 %r4, -7; mov.u32 %r5, 2; min.u32 %r3, %r4, %r5;", "2"),
        ("mov.u32 %r4, -1; mul.hi.u32 %r3, %r4, %r4;", "0xfffffffe"),
        ("mov.u32 %r4, -1; mul.hi.s32 %r3, %r4, %r4;", "0"),
        (
            "mov.u32 %r4, -2; mul.wide.s32 %rd2, %r4, 3; shr.u64 %rd2, %rd2, 32; cvt.u32.u64 %r3, %rd2;",
            "0xffffffff",
        ),
        ("mov.u32 %r4, 0xf0; popc.b32 %r3, %r4;", "4"),
        ("mov.u32 %r4, 0xf0; clz.b32 %r3, %r4;", "24"),
        ("mov.u32 %r4, 0xf0; bfind.u32 %r3, %r4;", "7"),
        ("mov.u32 %r4, 1; brev.b32 %r3, %r4;", "0x80000000"),
        ("mov.u32 %r4, 0xabcd; bfe.u32 %r3, %r4, 4, 8;", "0xbc"),
        ("mov.u32 %r4, 0xabcd; bfe.s32 %r3, %r4, 4, 8;", "0xffffffbc"),
        ("mov.u32 %r4, 0xff; mov.u32 %r5, 0; bfi.b32 %r3, %r4, %r5, 8, 4;", "0xf00"),
        ("mov.u32 %r4, 0x03020100; mov.u32 %r5, 0x07060504; prmt.b32 %r3, %r4, %r5, 0x5140;", "0x05010400"),
        (
            "mov.u32 %r4, 0xf0; mov.u32 %r5, 0xcc; mov.u32 %r6, 0xaa; lop3.b32 %r3, %r4, %r5, %r6, 0x96;",
            "0x96",
        ),
        ("mov.u32 %r4, 5; mov.u32 %r5, 9; sad.u32 %r3, %r4, %r5, 1;", "5"),
        ("mov.u32 %r4, 0x12345678; mov.u32 %r5, 0x9abcdef0; shf.l.wrap.b32 %r3, %r4, %r5, 8;", "0xbcdef012"),
        ("mov.u32 %r4, 0x80; cvt.s32.s8 %r3, %r4;", "0xffffff80"),
        ("mov.b64 %rd2, {%r2, 7}; mov.b64 {%r4, %r3}, %rd2;", "7"),
        ("setp.lt.and.s32 %p2|%p3, %r2, 1, 1; selp.b32 %r3, 3, 4, %p3;", "4"),
    ] {
        proved(&one(code), &format!("assert [data[0]] == {value};"));
    }
    // A word that is not understood makes it another instruction, whose result may be anything.
    for (code, value) in [
        ("mov.u32 %r4, 0x1ffff; add.u16x2 %r3, %r4, %r4;", "0x3fffe"),
        ("mov.u32 %r4, -2; min.relu.s32 %r3, %r4, 5;", "0xfffffffe"),
        ("mov.u32 %r4, -1; add.sat.s32 %r3, %r4, 1;", "0"),
        ("mov.u32 %r4, -1; prmt.b32.f4e %r3, %r4, %r4, 0;", "0"),
    ] {
        let (verdict, codes) = body(&one(code), &format!("assert [data[0]] == {value};"));
        assert_eq!((verdict, codes.as_slice()), (Some(Verdict::Violated), &["assert::final-violated"][..]));
    }
}

#[test]
fn local_memory_belongs_to_the_thread() {
    let code =
        "mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2; st.local.u64 [%rd2], %rd1; st.u32 [%rd3+8], %r2;
        ld.u64 %rd4, [%rd3]; ld.local.u32 %r4, [%rd2+8]; mul.wide.u32 %rd5, %r4, 4; add.s64 %rd5, %rd4, %rd5;
        st.global.u32 [%rd5], 5;";
    proved(code, "assert [data[0]] == 5 && [data[1]] == 5 && [data[2]] == 0;");
}

#[test]
fn an_address_is_that_of_an_object_or_a_finding() {
    let at = |index: &str| {
        format!(
            "mul.wide.u32 %rd2, {index}, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd3]; add.s32 %r4, %r3, 1;"
        )
    };
    proved(&at("%r2"), "");
    let codes = |text: &str| body(text, "").1;
    assert_eq!(codes(&at("%r1")), ["bounds::no-object"]);
    proved(&format!("and.b32 %r1, %r1, 3; {}", at("%r1")), "");
    proved(&format!("setp.gt.u32 %p1, %r1, 3; @%p1 bra L; {} L:", at("%r1")), "");
    assert_eq!(codes("ld.global.u32 %r3, [%rd1+16];"), ["bounds::no-object"]);
    assert_eq!(codes("ld.global.u32 %r3, [%rd1+-4];"), ["bounds::no-object"]);
    assert_eq!(codes("ld.shared.u32 %r3, [%rd1];"), ["bounds::no-object"]);
    assert_eq!(codes("ld.global.u32 %r3, [%rd1+2];"), ["bounds::misaligned"]);
    assert_eq!(codes("ld.global.v2.u32 {%r3, %r4}, [%rd1+4];"), ["bounds::misaligned"]);
    // A word and its halves are the same bytes.
    proved(
        "setp.ne.u32 %p1, %r2, 0; @%p1 bra L; st.global.u64 [%rd1], 0x100000002; L:",
        "assert [data[0]] == 2 && [data[1]] == 1;",
    );
}

#[test]
fn what_is_not_computed_is_any_value() {
    let code = "ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, 0f3f800000; mov.b32 %r3, %f2; setp.eq.u32 %p1, %r3, 77; @!%p1 bra L; trap; L:";
    let (verdict, codes) = body(code, "");
    assert_eq!((verdict, codes.as_slice()), (Some(Verdict::Violated), &["assert::violated"][..]));
    // A register that nothing was assigned to is not 0.
    let (verdict, _) = body("setp.ne.u32 %p1, %r7, 0; @%p1 bra L; bra M; L: trap; M:", "");
    assert_eq!(verdict, Some(Verdict::Violated));
}

#[test]
fn what_is_not_checked_matters_only_where_a_thread_comes() {
    let call =
        |condition: &str| format!("setp.eq.u32 %p1, {condition}; @!%p1 bra L; call.uni something, (); L:");
    proved(&call("%r2, 9"), "");
    assert_eq!(body(&call("%r2, 1"), "").1, ["unsupported::instruction"]);
    assert_eq!(body("frobnicate.u32 %r3, %r2;", "").1, ["resolve::unknown-instruction"]);
    assert_eq!(
        body("wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r3}, [%rd1];", "").1,
        ["unsupported::instruction"]
    );
    assert_eq!(body("ld.global.u32 %r3, [%rd9];", "").1, ["resolve::unknown-name"]);
    assert_eq!(body("bra NOWHERE;", "").1, ["resolve::unknown-label"]);
    assert_eq!(body("add.s32 %r3, %r2;", "").1, ["syntax::ptx"]);
    assert_eq!(body("st.acquire.gpu.global.u32 [%rd1], %r2;", "").1, ["validate::illegal-sem"]);
}

#[test]
fn what_an_import_does_not_say_is_said() {
    let of = |harness: &str, body: &str| {
        let source = Source::text("k.fence", harness.to_owned()).with("k.ptx", MODULE.replace("BODY", body));
        match check(source, &Options::default()) {
            Ok(report) => panic!("{harness} is {:?}", report.verdict()),
            Err(error) => error.problems().iter().map(|problem| problem.code).collect::<Vec<_>>(),
        }
    };
    let import = |inside: &str| format!("global x: u32; import \"k.ptx\" entry k as k {{ {inside} }}");
    let launch = "launch { block: 32 }";
    for (harness, body, code) in [
        ("import \"other.ptx\" entry k as k { }".to_owned(), "", "resolve::unreadable-file"),
        ("import \"k.ptx\" entry other as k { }".to_owned(), "", "resolve::unknown-entry"),
        ("import \"k.ptx\" function k as k { }".to_owned(), "", "syntax::unexpected-token"),
        (import(""), "", "validate::import-setting"),
        (import(launch), "", "validate::import-setting"),
        (import(&format!("{launch} param 2 = 1;")), "", "validate::import-setting"),
        (import(&format!("{launch} param 0 = &x; param 0 = &x;")), "", "validate::import-setting"),
        (import(&format!("{launch} param 0 = &y;")), "", "resolve::unknown-name"),
        (import(&format!("{launch} parameter 0 = &x;")), "", "validate::import-setting"),
        (
            import(&format!("{launch} param 0 = &x; param 1 = 1;")),
            "mov.u32 %r3, %envreg1;",
            "validate::import-setting",
        ),
        (import("launch { block: [33, 2] }"), "", "unsupported::launch-block"),
    ] {
        assert!(of(&harness, body).contains(&code), "{harness}: {:?}, not {code}", of(&harness, body));
    }
}

#[test]
fn blocks_have_dimensions() {
    let harness = "global data[64]: u32 = 0; import \"k.ptx\" entry k as k {
        launch { grid: [2, 1], block: [8, 4] } param 0 = &data; param 1 = 0;
        final { assert [data[0]] == 0 && [data[9]] == 0x101 && [data[31]] == 0x307 && [data[63]] == 0x10307; } }";
    let code = "mov.u32 %r3, %tid.y; mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2; mov.u32 %r6, %ctaid.x;
        shl.b32 %r7, %r6, 5; add.s32 %r5, %r5, %r7; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd2, %rd1, %rd2;
        shl.b32 %r3, %r3, 8; shl.b32 %r6, %r6, 16; or.b32 %r3, %r3, %r2; or.b32 %r3, %r3, %r6; st.global.u32 [%rd2], %r3;";
    let source = Source::text("k.fence", harness).with("k.ptx", MODULE.replace("BODY", code));
    let report = check(source, &Options::default()).expect("it is well-formed");
    assert_eq!(report.verdict(), Verdict::Proved, "{}", report.to_brief());
}

#[test]
fn launches_of_one_import_have_shapes_of_their_own() {
    let harness = "global data[64]: u32 = 0; import \"k.ptx\" entry k as k {
        launch wide { block: [32, 2] } launch high { block: [2, 32] } launch flat { block: 64 }
        param 0 = &data; param 1 = 0; final { assert [data[0]] == 1 && [data[33]] == ntid; } }";
    let code =
        "mov.u32 %r3, %tid.y; mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2; mul.wide.u32 %rd2, %r5, 4;
        add.s64 %rd2, %rd1, %rd2; mov.u32 %r6, %ntid.y; mul.lo.s32 %r6, %r6, %r4; mov.u32 %r7, %tid.x;
        setp.eq.u32 %p1, %r5, 0; selp.b32 %r6, 1, %r6, %p1; st.global.u32 [%rd2], %r6;";
    let source = || Source::text("k.fence", harness).with("k.ptx", MODULE.replace("BODY", code));
    let report = check(source(), &Options::default()).expect("it is well-formed");
    assert_eq!((report.verdict(), report.launches().len()), (Verdict::Proved, 3), "{}", report.to_brief());
    // A launch from outside has one axis, whatever those of the file have.
    let report = check(source(), &Options::default().launch("warps=2,lanes=32")).expect("it is well-formed");
    assert_eq!(report.verdict(), Verdict::Proved, "{}", report.to_brief());
}

#[test]
fn a_launch_has_the_axes_that_the_module_requires() {
    let module = MODULE.replace(".param .u32 n) {", ".param .u32 n) .reqntid 32, 2, 1 {").replace("BODY", "");
    for (block, is_right) in [("[32, 2]", true), ("[32, 2, 1]", true), ("64", false), ("[2, 32]", false)] {
        let harness = format!(
            "global data[4]: u32 = 0; import \"k.ptx\" entry k as k {{
            launch {{ block: {block} }} param 0 = &data; param 1 = 0; }}"
        );
        let source = Source::text("k.fence", harness).with("k.ptx", module.clone());
        let found = check(source, &Options::default());
        assert_eq!(found.is_ok(), is_right, "{block}");
        for problem in found.err().iter().flat_map(|error| error.problems()) {
            assert!(problem.message.contains("launched with [32, 2] threads"), "{}", problem.message);
            assert_eq!(problem.help.as_deref(), Some("write `block: [32, 2]`"));
        }
    }
}

#[test]
fn reports_show_the_line_of_the_source() {
    let harness = text("spin_lock.fence");
    let module = text("spin_lock.ptx").replacen("st.release", "st.relaxed", 1);
    let source = Source::text("spin_lock.fence", harness)
        .with("spin_lock.ptx", module)
        .with("spin_lock.cu", text("spin_lock.cu"));
    let report = check(source, &Options::default()).expect("it is well-formed");
    let shown = report.to_text(fencepost::Style::PLAIN);
    assert!(shown.contains("spin_lock.cu:8:9") && shown.contains("*count = *count + 1;"), "{shown}");
    assert!(shown.contains("(spin_lock.cu:9, line 66 of spin_lock.ptx)"), "{shown}");
}

#[test]
fn no_module_makes_an_import_panic() {
    let mut random = Numbers(11);
    let words = [
        "ld",
        "st",
        "atom",
        "bar.sync",
        "mov",
        "%r1",
        "%rd1",
        "%p1",
        "[",
        "]",
        "{",
        "}",
        ";",
        ",",
        "-1",
        "0x8",
        ".u32",
        ".b64",
        ".local",
        ".shared",
        ".param",
        "bra",
        "ret",
        "cvta",
        "setp.lt",
        "bfe.s32",
        "call",
        "@",
        "|",
        ":",
        "+",
        "99999999999",
    ];
    for name in ["spin_lock", "grid_sync", "message", "last_block", "exchange"] {
        let harness = text(&format!("{name}.fence"));
        let module = text(&module_of(&harness));
        // The body is where instructions are; what is behind it is for debuggers.
        let end = module.find(".section").unwrap_or(module.len());
        for _ in 0..150 {
            let mut changed = module[..end].to_owned();
            for _ in 0..=random.index(4) {
                let at = random.index(changed.len());
                let word = words[random.index(words.len())];
                let end = (at + random.index(12)).min(changed.len());
                changed.replace_range(at..end, word);
            }
            let mut sources = fencepost_dsl::SourceMap::default();
            let mut read =
                |path: &str| Ok(if path.ends_with(".ptx") { changed.clone() } else { harness.clone() });
            let options = fencepost_dsl::kernel::LoadOptions::default();
            if let Err(errors) = fencepost_dsl::kernel::load(&mut sources, "k.fence", &mut read, &options) {
                for error in errors {
                    sources.line_column(error.span());
                }
            }
        }
    }
}

#[test]
fn a_peer_may_be_chosen_by_what_is_read() {
    let module = "
.version 9.0
.target sm_90
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %rd<3>;
    .shared .align 4 .b8 box[8];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, box;
    barrier.cluster.arrive; barrier.cluster.wait;
    ld.global.u32 %r2, [%rd1];
    MASK
    mapa.shared::cluster.u32 %r4, %r1, %r3;
    atom.shared::cluster.add.u32 %r5, [%r4], 1;
    barrier.cluster.arrive; barrier.cluster.wait;
    ret;
}
";
    let verdict = |mask: &str| {
        let harness = "global which: u32; import \"k.ptx\" entry k as k { launch { ctas: 2, cluster: 2 } param 0 = &which; }";
        let source = Source::text("k.fence", harness).with("k.ptx", module.replace("MASK", mask));
        let report = check(source, &Options::default()).expect("it is well-formed");
        (report.verdict(), report.findings().map(|finding| finding.code).collect::<Vec<_>>())
    };
    assert_eq!(verdict("and.b32 %r3, %r2, 1;"), (Verdict::Proved, vec![]));
    assert_eq!(verdict("and.b32 %r3, %r2, 3;"), (Verdict::Violated, vec!["bounds::no-object"]));
}

#[test]
fn of_two_addresses_one_may_depend_on_what_was_read() {
    let module = "
.version 9.0
.target sm_90
.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 choice) {
    .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
    .shared .align 16 .b8 box[16];
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [choice];
    ld.global.u32 %r2, [%rd3];
    setp.eq.u32 %p1, %r2, 0;
    selp.b64 %rd4, %rd1, %rd2, %p1;
    mov.u32 %r1, box;
    cp.async.cg.shared.global [%r1], [%rd4], 16;
    cp.async.commit_group; cp.async.wait_group 0;
    ld.shared.u32 %r3, [%r1];
    st.global.u32 [%rd3], %r3;
    ret;
}
";
    let verdict = |claim: &str| {
        let harness = format!(
            "global x[4]: u32 = 7; global y[4]: u32 = 9; global z: u32;
             import \"k.ptx\" entry k as k {{ launch {{ ctas: 1 }} param 0 = &x; param 1 = &y; param 2 = &z;
             final {{ assert {claim}; }} }}"
        );
        let report = check(Source::text("k.fence", harness).with("k.ptx", module), &Options::default())
            .expect("it is well-formed");
        (report.verdict(), report.findings().map(|finding| finding.code).collect::<Vec<_>>())
    };
    assert_eq!(verdict("[z] == 7 || [z] == 9"), (Verdict::Proved, vec![]));
    assert_eq!(verdict("[z] == 7"), (Verdict::Violated, vec!["assert::final-violated"]));
}

#[test]
fn what_acts_on_local_memory_but_loads_and_stores_is_refused() {
    let code = "mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2; atom.add.u32 %r3, [%rd3], 1;";
    assert_eq!(body(code, "").1, ["unsupported::flat-address"]);
}

#[test]
fn a_copy_that_reads_nothing_needs_no_source() {
    let module = "
.version 9.0
.target sm_90
.visible .entry k(.param .u64 p) {
    .reg .b32 %r<9>; .reg .b64 %rd<3>;
    .shared .align 16 .b8 box[16];
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, box;
    mov.u32 %r2, 0;
    cp.async.cg.shared.global [%r1], [%rd1+4096], 16, %r2;
    cp.async.commit_group; cp.async.wait_group 0;
    ld.shared.u32 %r3, [%r1+12];
    st.global.u32 [%rd1], %r3;
    ret;
}
";
    let harness = "global x[4]: u32 = 7; import \"k.ptx\" entry k as k { launch { ctas: 1 } param 0 = &x; final { assert [x[0]] == 0; } }";
    let report = check(Source::text("k.fence", harness).with("k.ptx", module), &Options::default())
        .expect("it is well-formed");
    assert_eq!(report.verdict(), Verdict::Proved, "{}", report.to_brief());
}

fn codes_of_warnings(claim: &str, body: &str) -> Vec<&'static str> {
    let source =
        Source::text("k.fence", HARNESS.replace("FINAL", claim)).with("k.ptx", MODULE.replace("BODY", body));
    let report = check(source, &Options::default()).expect("it is well-formed");
    assert_eq!(report.verdict(), Verdict::Proved, "{body}");
    report.warnings().iter().map(|warning| warning.code).collect()
}

/// Where everything shared is volatile nothing can race, so a proof without claims says next to nothing.
#[test]
fn what_protects_nothing_is_warned_of() {
    let volatile = "st.volatile.global.u32 [%rd1], %r2; ld.volatile.global.u32 %r3, [%rd1];";
    assert_eq!(codes_of_warnings("", volatile), ["warning::nothing-to-protect"]);
    assert_eq!(codes_of_warnings("assert [data[0]] <= 1;", volatile), [""; 0]);
    let weak = "setp.eq.u32 %p1, %r2, 0; @!%p1 bra L; st.global.u32 [%rd1], %r1; L: bar.sync 0; \
                ld.global.u32 %r3, [%rd1]; mov.u32 %r4, %r3;";
    assert_eq!(codes_of_warnings("", weak), [""; 0]);
}

/// What only compiled code has: lanes that all store the same, and loads whose result is dropped. Each is a race by the letter.
#[test]
fn lanes_that_store_the_same_and_loads_that_nobody_reads() {
    let verdict = |text: &str| body(text, "").0;
    // One value to one place, and another one.
    assert_eq!(verdict("st.global.u32 [%rd1], %r1;"), Some(Verdict::Proved));
    assert_eq!(verdict("st.global.u32 [%rd1], %r2;"), Some(Verdict::Violated));
    // A sum of numbers that are not computed is the same in both lanes, a difference is not.
    let told = |how: &str| {
        format!(
            "ld.global.f32 %f1, [%rd1+4]; cvt.rn.f32.u32 %f1, %r2; mov.b32 %r3, %f1; shfl.sync.bfly.b32 %r4, %r3, 1, 31, 3; \
             mov.b32 %f2, %r4; {how}.f32 %f3, %f1, %f2; st.global.f32 [%rd1], %f3;"
        )
    };
    assert_eq!(verdict(&told("add")), Some(Verdict::Proved));
    assert_eq!(verdict(&told("sub")), Some(Verdict::Violated));
    // Towards others each is a store.
    let later = "st.global.u32 [%rd1], %r1; setp.eq.u32 %p1, %r2, 1; @!%p1 bra L; ld.global.u32 %r3, [%rd1]; \
                 add.u32 %r4, %r3, 1; L:";
    assert_eq!(verdict(later), Some(Verdict::Violated));
    // A load that nothing reads, and one that something does.
    let load = |then: &str| {
        format!(
            "setp.eq.u32 %p1, %r2, 0; @!%p1 bra L; st.global.u32 [%rd1], 7; bra M; L: ld.global.u32 %r3, [%rd1]; {then} M:"
        )
    };
    assert_eq!(verdict(&load("")), Some(Verdict::Proved));
    assert_eq!(verdict(&load("add.u32 %r4, %r3, 1;")), Some(Verdict::Violated));
    assert_eq!(verdict(&load("").replace("ld.global", "ld.volatile.global")), Some(Verdict::Violated));
    // Bounds are asked all the same.
    assert_eq!(verdict("ld.global.u32 %r3, [%rd1+64];"), Some(Verdict::Violated));
}

/// A failed assertion ends the grid: what waits for the thread that failed hangs no more than the rest of it.
#[test]
fn a_guarded_trap_is_an_assertion_and_no_hang() {
    let module = ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 flag)\n{\n\
                  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<3>;\n\
                  ld.param.u64 %rd1, [flag]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %ctaid.x;\n\
                  setp.ne.u32 %p1, %r1, 0; @%p1 bra $wait;\n\
                  ld.relaxed.gpu.global.u32 %r2, [%rd2+4]; setp.eq.u32 %p2, %r2, 0; @%p2 trap;\n\
                  mov.u32 %r3, 1; st.relaxed.gpu.global.u32 [%rd2], %r3; bra $end;\n\
                  $wait: ld.relaxed.gpu.global.u32 %r4, [%rd2]; setp.eq.u32 %p3, %r4, 0; @%p3 bra $wait;\n\
                  $end: ret;\n}\n";
    let harness = "global flag[2]: u32 = 0;\nimport \"k.ptx\" entry k as k {\n launch { ctas: 2, block: 1, cooperative: true }\n \
                   param 0 = &flag;\n final { assert [flag[1]] == 0; }\n}\n";
    let report = check(Source::text("k.fence", harness).with("k.ptx", module), &Options::default());
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    let codes: Vec<&str> = report.findings().map(|finding| finding.code).collect();
    assert_eq!(codes, ["assert::violated"]);
}

/// A tile that comes by a bulk copy and is read by `wgmma`: who waits for it, and what is done before it is used.
fn multiplied(waits: &str, before: &str, behind: &str) -> (Option<Verdict>, Vec<&'static str>) {
    let module = format!(
        ".version 9.0
.target sm_90a
.visible .entry k(.param .u64 p, .param .u64 q) {{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<5>; .reg .b64 %rd<8>;
    .shared .align 1024 .b8 tile[2048];
    .shared .align 8 .b8 bar[8];
    ld.param.u64 %rd1, [p]; ld.param.u64 %rd5, [q];
    mov.u32 %r1, tile; mov.u32 %r2, bar; mov.u32 %r3, %tid.x;
    setp.ne.u32 %p1, %r3, 0;
    @%p1 bra A;
    mbarrier.init.shared::cta.b64 [%r2], 1;
    fence.mbarrier_init.release.cluster;
A:  bar.sync 0;
    @%p1 bra B;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 2048;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 2048, [%r2];
B:  setp.{waits};
    @!%p2 bra C;
W:  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
    @!%p3 bra W;
C:  {before}
    shr.u32 %r4, %r1, 4;
    cvt.u64.u32 %rd2, %r4;
    or.b64 %rd3, %rd2, 0xC000001000010000;
    mov.f32 %f1, 0f00000000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f1, %f2, %f3, %f4}}, %rd3, %rd3, 1, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    {behind}
    mad.wide.u32 %rd4, %r3, 4, %rd5;
    st.global.f32 [%rd4], %f1;
    ret;
}}
"
    );
    let harness = "//! target sm_90a
global src[512]: u32 = 0;
global out[128]: u32 = 0;
import \"k.ptx\" entry k as k { launch { block: 128 } param 0 = &src; param 1 = &out; }
";
    verdict_of(harness, &module)
}

/// a warp reads once, after what each of its lanes has waited for; another warp waits for itself.
#[test]
fn matrices_are_read_once_their_bytes_are_there() {
    let wait = "wgmma.wait_group.sync.aligned 0;";
    let proved = |waits: &str, before: &str| {
        let (verdict, codes) = multiplied(waits, before, wait);
        assert_eq!(verdict, Some(Verdict::Proved), "{waits} {before}: {codes:?}");
    };
    let violated = |waits: &str, before: &str, behind: &str, code: &str| {
        let (verdict, codes) = multiplied(waits, before, behind);
        assert_eq!(verdict, Some(Verdict::Violated), "{waits} {before} {behind}");
        assert!(codes.contains(&code), "{waits} {before} {behind}: {codes:?}");
    };
    proved("eq.u32 %p2, %r3, %r3", "");
    proved("eq.u32 %p2, %r3, 0", "bar.sync 0;");
    // The first warp, and nobody else; one lane; nobody, though all meet.
    violated("lt.u32 %p2, %r3, 32", "", wait, "race::mixed-size");
    violated("eq.u32 %p2, %r3, 0", "", wait, "race::mixed-size");
    violated("ne.u32 %p2, %r3, %r3", "bar.sync 0;", wait, "race::mixed-size");
    violated("eq.u32 %p2, %r3, %r3", "", "", "async::registers-in-flight");
    violated("eq.u32 %p2, %r3, %r3", "", "wgmma.wait_group.sync.aligned 1;", "async::registers-in-flight");
}

#[test]
fn tensor_maps_are_given_and_used_as_such() {
    let with = |setting: &str, statement: &str| {
        let module = format!(
            ".version 9.0
.target sm_90a
.visible .entry k(.param .align 128 .b8 p[128]) {{
    .reg .b32 %r<8>; .reg .b64 %rd<4>;
    .shared .align 128 .b8 tile[256];
    mov.b64 %rd1, p; cvta.param.u64 %rd2, %rd1; mov.u32 %r1, tile; mov.u32 %r2, 0;
    {statement}
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;
}}
"
        );
        let harness = format!(
            "global a[4][32]: u16 = 0;\nparam map: tensormap of a[4, 32];\nglobal b[4]: u32 = 0;\n\
             import \"k.ptx\" entry k as k {{ launch {{ block: 1 }} {setting} }}\n"
        );
        verdict_of(&harness, &module)
    };
    let store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r2, %r2}], [%r1];";
    assert_eq!(with("param 0 = &map;", store).0, Some(Verdict::Proved));
    let wrong = |setting: &str, statement: &str, code: &str| {
        assert_eq!(with(setting, statement).1, [code], "{setting} {statement}");
    };
    wrong("", store, "validate::import-setting");
    wrong("param 0 = &b;", store, "validate::import-setting");
    let other = store.replace("{%r2, %r2}", "{%r2}").replace(".2d.", ".1d.");
    wrong("param 0 = &map;", &other, "validate::tensor-rank");
    let of_elements =
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {%r2, %r2}], [%r1];";
    wrong("param 0 = &map;", of_elements, "unsupported::instruction");
    wrong("param 0 = &map;", "ld.param.b32 %r3, [p+64];", "unsupported::ptx-parameter");
}
