//! What compiled kernels may have: each instruction of the PTX ISA, by its chapter, read in a module. The book's page is written
//! from what comes of it.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::{LoadOptions, isa, load};
use std::fmt::Write as _;
use std::path::Path;

/// What the reader makes of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Status {
    /// It acts on memory or threads, and a row of the table of instructions says how.
    Checked,
    /// Its value is a number where its operands are.
    Computed,
    /// Its value may be any.
    Unknown,
    /// An error for the thread that comes to it.
    Unsupported,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Checked => "checked",
            Self::Computed => "computed",
            Self::Unknown => "an unknown value",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Chapters of the ISA, with their instructions, and of each a statement; where a name has several, the first is the usual one.
const CHAPTERS: &[(&str, &[(&str, &str)])] = &[
    (
        "9.7.1 Integer arithmetic",
        &[
            ("add", "add.s32 %r2, %r1, 1"),
            ("sub", "sub.s32 %r2, %r1, 1"),
            ("mul", "mul.lo.s32 %r2, %r1, 3"),
            ("mad", "mad.lo.s32 %r2, %r1, 3, %r1"),
            ("mul24", "mul24.lo.u32 %r2, %r1, 3"),
            ("mad24", "mad24.lo.u32 %r2, %r1, 3, %r1"),
            ("sad", "sad.u32 %r2, %r1, 3, %r1"),
            ("div", "div.u32 %r2, %r1, 3"),
            ("rem", "rem.u32 %r2, %r1, 3"),
            ("abs", "abs.s32 %r2, %r1"),
            ("neg", "neg.s32 %r2, %r1"),
            ("min", "min.u32 %r2, %r1, 3"),
            ("max", "max.u32 %r2, %r1, 3"),
            ("popc", "popc.b32 %r2, %r1"),
            ("clz", "clz.b32 %r2, %r1"),
            ("bfind", "bfind.u32 %r2, %r1"),
            ("fns", "fns.b32 %r2, %r1, 0, 1"),
            ("brev", "brev.b32 %r2, %r1"),
            ("bfe", "bfe.u32 %r2, %r1, 4, 4"),
            ("bfi", "bfi.b32 %r2, %r1, %r1, 4, 4"),
            ("szext", "szext.wrap.u32 %r2, %r1, 4"),
            ("bmsk", "bmsk.wrap.b32 %r2, %r1, 4"),
            ("dp4a", "dp4a.u32.u32 %r2, %r1, %r1, %r1"),
            ("dp2a", "dp2a.lo.u32.u32 %r2, %r1, %r1, %r1"),
        ],
    ),
    (
        "9.7.2 Extended-precision integer arithmetic",
        &[
            ("add.cc", "add.cc.u32 %r2, %r1, 1"),
            ("addc", "addc.u32 %r2, %r1, 1"),
            ("sub.cc", "sub.cc.u32 %r2, %r1, 1"),
            ("subc", "subc.u32 %r2, %r1, 1"),
            ("mad.cc", "mad.lo.cc.u32 %r2, %r1, %r1, %r1"),
            ("madc", "madc.lo.u32 %r2, %r1, %r1, %r1"),
        ],
    ),
    (
        "9.7.3 Floating-point",
        &[
            ("testp", "testp.finite.f32 %p1, %f1"),
            ("copysign", "copysign.f32 %f2, %f1, %f1"),
            ("add", "add.f32 %f2, %f1, %f1"),
            ("sub", "sub.f32 %f2, %f1, %f1"),
            ("mul", "mul.f32 %f2, %f1, %f1"),
            ("fma", "fma.rn.f32 %f2, %f1, %f1, %f1"),
            ("mad", "mad.rn.f32 %f2, %f1, %f1, %f1"),
            ("div", "div.rn.f32 %f2, %f1, %f1"),
            ("abs", "abs.f32 %f2, %f1"),
            ("neg", "neg.f32 %f2, %f1"),
            ("min", "min.f32 %f2, %f1, %f1"),
            ("max", "max.f32 %f2, %f1, %f1"),
            ("rcp", "rcp.rn.f32 %f2, %f1"),
            ("sqrt", "sqrt.rn.f32 %f2, %f1"),
            ("rsqrt", "rsqrt.approx.f32 %f2, %f1"),
            ("sin", "sin.approx.f32 %f2, %f1"),
            ("cos", "cos.approx.f32 %f2, %f1"),
            ("lg2", "lg2.approx.f32 %f2, %f1"),
            ("ex2", "ex2.approx.f32 %f2, %f1"),
            ("tanh", "tanh.approx.f32 %f2, %f1"),
        ],
    ),
    (
        "9.7.4 Half-precision floating-point",
        &[
            ("add", "add.f16x2 %r2, %r1, %r1"),
            ("sub", "sub.bf16x2 %r2, %r1, %r1"),
            ("mul", "mul.f16x2 %r2, %r1, %r1"),
            ("fma", "fma.rn.f16x2 %r2, %r1, %r1, %r1"),
            ("neg", "neg.f16x2 %r2, %r1"),
            ("abs", "abs.f16x2 %r2, %r1"),
            ("min", "min.f16x2 %r2, %r1, %r1"),
            ("max", "max.f16x2 %r2, %r1, %r1"),
            ("tanh", "tanh.approx.f16x2 %r2, %r1"),
            ("ex2", "ex2.approx.f16x2 %r2, %r1"),
        ],
    ),
    (
        "9.7.5 Mixed-precision floating-point",
        &[
            ("add", "add.f32.f16 %f2, %h1, %f1"),
            ("sub", "sub.f32.f16 %f2, %h1, %f1"),
            ("fma", "fma.rn.f32.f16 %f2, %h1, %h1, %f1"),
        ],
    ),
    (
        "9.7.6 Comparison and selection",
        &[
            ("set", "set.lt.u32.u32 %r2, %r1, 3"),
            ("setp", "setp.lt.u32 %p1, %r1, 3"),
            ("selp", "selp.u32 %r2, %r1, 3, %p2"),
            ("slct", "slct.u32.s32 %r2, %r1, 3, %r1"),
            ("setp of floats", "setp.lt.f32 %p1, %f1, %f1"),
        ],
    ),
    (
        "9.7.7 Half-precision comparison",
        &[("set", "set.lt.u32.f16x2 %r2, %r1, %r1"), ("setp", "setp.lt.f16x2 %p1|%p2, %r1, %r1")],
    ),
    (
        "9.7.8 Logic and shift",
        &[
            ("and", "and.b32 %r2, %r1, 3"),
            ("or", "or.b32 %r2, %r1, 3"),
            ("xor", "xor.b32 %r2, %r1, 3"),
            ("not", "not.b32 %r2, %r1"),
            ("cnot", "cnot.b32 %r2, %r1"),
            ("lop3", "lop3.b32 %r2, %r1, %r1, %r1, 0x80"),
            ("shf", "shf.l.wrap.b32 %r2, %r1, %r1, 3"),
            ("shl", "shl.b32 %r2, %r1, 3"),
            ("shr", "shr.u32 %r2, %r1, 3"),
        ],
    ),
    (
        "9.7.9 Data movement and conversion",
        &[
            ("mov", "mov.u32 %r2, %r1"),
            ("shfl.sync", "shfl.sync.idx.b32 %r2|%p1, %r1, 0, 31, -1"),
            ("prmt", "prmt.b32 %r2, %r1, %r1, 0x3210"),
            ("ld", "ld.global.u32 %r2, [%rd2]"),
            ("ld.global.nc", "ld.global.nc.u32 %r2, [%rd2]"),
            ("ldu", "ldu.global.u32 %r2, [%rd2]"),
            ("st", "st.global.u32 [%rd2], %r1"),
            ("st.async", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3], %r1, [%r4]"),
            ("st.bulk", "st.bulk.weak.shared::cta [%r3], 64, 0"),
            ("multimem.ld_reduce", "multimem.ld_reduce.relaxed.sys.global.add.u32 %r2, [%rd2]"),
            ("multimem.st", "multimem.st.relaxed.sys.global.u32 [%rd2], %r1"),
            ("multimem.red", "multimem.red.relaxed.sys.global.add.u32 [%rd2], %r1"),
            ("prefetch", "prefetch.global.L2 [%rd2]"),
            ("prefetchu", "prefetchu.L1 [%rd1]"),
            ("applypriority", "applypriority.global.L2::evict_normal [%rd2], 128"),
            ("discard", "discard.global.L2 [%rd2], 128"),
            ("createpolicy", "createpolicy.fractional.L2::evict_last.b64 %rd3, 1.0"),
            ("isspacep", "isspacep.global %p1, %rd1"),
            ("cvta", "cvta.to.global.u64 %rd3, %rd1"),
            ("cvt", "cvt.u64.u32 %rd3, %r1"),
            ("cvt of floats", "cvt.rn.f32.u32 %f2, %r1"),
            ("cvt.pack", "cvt.pack.sat.u16.s32 %r2, %r1, %r1"),
            ("mapa", "mapa.shared::cluster.u32 %r2, %r3, 0"),
            ("getctarank", "getctarank.shared::cluster.u32 %r2, %r3"),
            ("cp.async", "cp.async.ca.shared.global [%r3], [%rd2], 16"),
            ("cp.async.commit_group", "cp.async.commit_group"),
            ("cp.async.wait_group", "cp.async.wait_group 0"),
            (
                "cp.async.bulk",
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2], 16, [%r4]",
            ),
            (
                "cp.reduce.async.bulk",
                "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r3], 16",
            ),
            ("cp.async.bulk.prefetch", "cp.async.bulk.prefetch.L2.global [%rd2], 16"),
            ("cp.async.bulk.commit_group", "cp.async.bulk.commit_group"),
            ("cp.async.bulk.wait_group", "cp.async.bulk.wait_group 0"),
            (
                "cp.async.bulk.tensor",
                "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r1}], [%r4]",
            ),
            (
                "cp.reduce.async.bulk.tensor",
                "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1}], [%r3]",
            ),
            ("tensormap.replace", "tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd1"),
        ],
    ),
    (
        "9.7.10 Texture",
        &[
            ("tex", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}]"),
            ("tld4", "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}]"),
            ("txq", "txq.width.b32 %r2, [%rd1]"),
            ("istypep", "istypep.texref %p1, %rd1"),
        ],
    ),
    (
        "9.7.11 Surface",
        &[
            ("suld", "suld.b.1d.b32.trap %r2, [%rd1, {%r1}]"),
            ("sust", "sust.b.1d.b32.trap [%rd1, {%r1}], %r1"),
            ("sured", "sured.b.add.1d.u32.trap [%rd1, {%r1}], %r1"),
            ("suq", "suq.width.b32 %r2, [%rd1]"),
        ],
    ),
    (
        "9.7.12 Control flow",
        &[
            ("bra", "bra next; next: mov.u32 %r2, 1"),
            ("brx.idx", "ts: .branchtargets next; brx.idx %r1, ts; next: mov.u32 %r2, 1"),
            ("call", "call other, ()"),
            ("ret", "@%p2 ret"),
            ("exit", "@%p2 exit"),
        ],
    ),
    (
        "9.7.13 Parallel synchronization and communication",
        &[
            ("bar", "bar.sync 0"),
            ("barrier", "barrier.sync 0"),
            ("bar.red", "bar.red.popc.u32 %r2, 0, %p2"),
            ("bar.warp.sync", "bar.warp.sync -1"),
            ("barrier.cluster", "barrier.cluster.arrive"),
            ("membar", "membar.gl"),
            ("fence", "fence.acq_rel.gpu"),
            ("fence.proxy", "fence.proxy.async"),
            ("atom", "atom.global.add.u32 %r2, [%rd2], 1"),
            ("red", "red.global.add.u32 [%rd2], 1"),
            (
                "red.async",
                "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r3], %r1, [%r4]",
            ),
            ("vote.sync", "vote.sync.ballot.b32 %r2, %p2, -1"),
            ("match.sync", "match.any.sync.b32 %r2, %r1, -1"),
            ("activemask", "activemask.b32 %r2"),
            ("redux.sync", "redux.sync.add.u32 %r2, %r1, -1"),
            ("griddepcontrol", "griddepcontrol.wait"),
            ("elect.sync", "elect.sync %r2|%p1, -1"),
            ("mbarrier.init", "mbarrier.init.shared::cta.b64 [%r4], 1"),
            ("mbarrier.inval", "mbarrier.inval.shared::cta.b64 [%r4]"),
            ("mbarrier.expect_tx", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r4], 16"),
            ("mbarrier.complete_tx", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r4], 16"),
            ("mbarrier.arrive", "mbarrier.arrive.shared::cta.b64 %rd3, [%r4]"),
            ("mbarrier.arrive_drop", "mbarrier.arrive_drop.shared::cta.b64 %rd3, [%r4]"),
            ("cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.shared::cta.b64 [%r4]"),
            ("mbarrier.test_wait", "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r4], 0"),
            ("mbarrier.try_wait", "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0"),
            ("mbarrier.pending_count", "mbarrier.pending_count.b64 %r2, %rd1"),
            (
                "tensormap.cp_fenceproxy",
                "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r3], 128",
            ),
            (
                "clusterlaunchcontrol.try_cancel",
                "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r4]",
            ),
            (
                "clusterlaunchcontrol.query_cancel",
                "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1",
            ),
        ],
    ),
    (
        "9.7.14 Warp-level matrices",
        &[
            (
                "wmma",
                "wmma.load.a.sync.aligned.m16n16k16.global.row.f16 {%r1, %r2, %r5, %r6, %r7, %r8, %r9, %r10}, [%rd2]",
            ),
            (
                "mma",
                "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r1}, {%f1, %f2, %f3, %f4}",
            ),
            ("ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r3]"),
            ("stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1}"),
            ("movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1"),
        ],
    ),
    (
        "9.7.15 Asynchronous warpgroup matrices",
        &[
            (
                "wgmma.mma_async",
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0",
            ),
            ("wgmma.fence", "wgmma.fence.sync.aligned"),
            ("wgmma.commit_group", "wgmma.commit_group.sync.aligned"),
            ("wgmma.wait_group", "wgmma.wait_group.sync.aligned 0"),
        ],
    ),
    (
        "9.7.16 Tensor memory",
        &[
            ("tcgen05.alloc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32"),
            ("tcgen05.mma", "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p2"),
            ("tcgen05.cp", "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1"),
            ("tcgen05.ld", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1]"),
            ("tcgen05.st", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2}"),
            ("tcgen05.wait", "tcgen05.wait::ld.sync.aligned"),
            ("tcgen05.commit", "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4]"),
            ("tcgen05.fence", "tcgen05.fence::before_thread_sync"),
        ],
    ),
    (
        "9.7.17 Stack",
        &[
            ("stacksave", "stacksave.u32 %r2"),
            ("stackrestore", "stackrestore.u32 %r1"),
            ("alloca", "alloca.u32 %r2, 16"),
        ],
    ),
    (
        "9.7.18 Video",
        &[("vadd", "vadd.u32.u32.u32 %r2, %r1, %r1"), ("vadd4", "vadd4.u32.u32.u32 %r2, %r1, %r1, %r1")],
    ),
    (
        "9.7.19 Miscellaneous",
        &[
            ("brkpt", "brkpt"),
            ("nanosleep", "nanosleep.u32 20"),
            ("pmevent", "pmevent 1"),
            ("trap", "@%p2 trap"),
            ("setmaxnreg", "setmaxnreg.dec.sync.aligned.u32 24"),
        ],
    ),
];

/// What comes of a statement in a module.
fn status(name: &str, statement: &str) -> Status {
    let opcode = statement
        .rsplit(';')
        .next()
        .unwrap_or_default()
        .trim_start()
        .split([' ', ';'])
        .next()
        .unwrap_or_default();
    let target = match opcode.split('.').next() {
        Some("wgmma") => "sm_90a",
        _ => "sm_100a",
    };
    let module = format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.func other() {{ ret; }}\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .b128 %q<2>;\n\
         .shared .align 16 .b8 sm[1024];\n ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1; mov.u32 %r1, %tid.x;\n\
         mov.u32 %r3, sm; add.u32 %r4, %r3, 512; mov.b32 %f1, %r1; mov.b16 %h1, 1; setp.eq.u32 %p2, %r1, 0; mov.b128 %q1, {{%rd1, %rd1}};\n\
         {statement};\n ret;\n}}\n"
    );
    let file = "global x[256]: u32 = 0;\nimport \"k.ptx\" entry k as k { launch { ctas: 2, cluster: 2, block: 128 } param 0 = &x; }\n";
    let mut read = |path: &str| match path {
        "t.fence" => Ok(file.to_owned()),
        "k.ptx" => Ok(module.clone()),
        _ => Err("it is not there".to_owned()),
    };
    let program = match load(&mut SourceMap::default(), "t.fence", &mut read, &LoadOptions::default()) {
        Ok(program) => program,
        Err(errors) => {
            let error = &errors[0];
            // A tensor map that is not one of the kernel file's is data.
            let is_refused = ["unsupported::", "validate::not-tensormap", "validate::tensormap-"]
                .iter()
                .any(|start| error.code.starts_with(start))
                || error.code == "resolve::unknown-instruction";
            assert!(is_refused, "`{statement}` ({name}): {}: {}", error.code, error.message);
            return Status::Unsupported;
        }
    };
    let text = dump(&program);
    if text.contains("unsupported:") {
        return Status::Unsupported;
    }
    // A value that is made of others by an opcode, and not computed.
    if text.contains(&format!("= {opcode}(")) || text.contains(&format!("({opcode}(")) {
        return Status::Unknown;
    }
    if isa::forms_of(opcode).is_empty() { Status::Computed } else { Status::Checked }
}

fn page() -> String {
    let mut text = "\
# PTX, chapter by chapter

Which instructions of the [PTX ISA](https://docs.nvidia.com/cuda/parallel-thread-execution/) does a [compiled kernel](../tutorial/compiled.md) \
have, so that Fencepost says something of it?
This page is written by a test, which reads each of them in a module and looks at what comes of it; its [rows](instructions.md) are those of the kernel language.

* *checked*: it acts on memory or threads, and is checked as in the kernel language.
* *computed*: what it makes of numbers is a number; of other values, an expression.
* *an unknown value*: it makes a value that may be any, of which is known from what it is made. A proof holds for all of them, and a violation that rests on one says so.
* *unsupported*: an error with its line, for whoever comes to it; never left out.

Forms of an instruction may differ: of integers computed, of floating-point numbers unknown. What stands here is about the form that is shown.
Of `ldmatrix`, `stmatrix` and `wgmma.mma_async` the accesses are checked all the same.

Where something is violated, a help may be a stronger word of one of the instructions that are checked, or one that orders or completes put in: \
in the words of CUDA C++ or Triton for the line that a `.loc` names, and in PTX for what the check was made of. \
[An example](../tutorial/compiled.md#what-would-mend-it).

"
    .to_owned();
    let mut counts = [0_usize; 4];
    for (chapter, instructions) in CHAPTERS {
        let _ = write!(text, "## {chapter}\n\n| instruction | form | compiled kernels |\n|---|---|---|\n");
        for (name, statement) in *instructions {
            let status = status(name, statement);
            counts[status as usize] += 1;
            let shown = statement.replace('|', "\\|");
            let _ = writeln!(text, "| `{name}` | `{shown}` | {} |", status.name());
        }
        text.push('\n');
    }
    let [checked, computed, unknown, unsupported] = counts;
    let _ = writeln!(
        text,
        "In all: {checked} checked, {computed} computed, {unknown} unknown values, {unsupported} unsupported."
    );
    text
}

#[test]
fn the_book_says_what_the_reader_knows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference/ptx.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).expect("the book is writable");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "BLESS=1 writes the page");
}

#[test]
fn every_row_of_the_table_is_in_a_chapter() {
    let known = |first: &str| {
        CHAPTERS
            .iter()
            .flat_map(|(_, instructions)| *instructions)
            .any(|(name, _)| name.split(['.', ' ']).next() == Some(first))
    };
    let missing: Vec<&str> = isa::families()
        .filter_map(|family| family.name.split('.').next())
        .filter(|first| !known(first))
        .collect();
    assert!(missing.is_empty(), "no chapter has {missing:?}");
}
