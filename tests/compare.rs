//! Compiled kernels beside skeletons of theirs: what agrees says so, and each change of the PTX is reported where it was made.

use fencepost::compare::{Comparison, Difference, Side, compare};
use fencepost::library;
use fencepost::paths::{Input, kernel_files};
use fencepost::work::Allowance;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{LoadOptions, load};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A kernel file of the repository, with files that are others than those on disk.
struct File {
    sources: SourceMap,
    program: Program,
}

impl File {
    fn new(path: &str, changed: &[(String, String)]) -> Self {
        let mut sources = SourceMap::default();
        let mut read = library::with(|asked: &str| match changed.iter().find(|(name, _)| name == asked) {
            Some((_, text)) => Ok(text.clone()),
            None => fs::read_to_string(root().join(asked)).map_err(|error| error.to_string()),
        });
        let program = load(&mut sources, path, &mut read, &LoadOptions::default());
        let program = program.unwrap_or_else(|errors| panic!("{path}: {}", errors[0].message));
        Self { sources, program }
    }

    fn side(&self) -> Side<'_> {
        let kernel = &self.program.kernels[0];
        Side { program: &self.program, kernel, launch: &kernel.launches[0], unroll: 2, max_events: 1_000_000 }
    }
}

fn compared(left: &File, right: &File) -> Comparison {
    let found = compare(&left.side(), &right.side(), &Allowance::unlimited());
    found.unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// The compiled kernel of this name with the first `from` behind a line of its PTX changed, and the line of the change.
fn mutant(name: &str, (line, from, to): (usize, &str, &str)) -> (File, usize) {
    let path = format!("examples/ptx/{name}.fence");
    let harness = text(&path);
    let rest = harness.split_once("import \"").expect("it imports a module").1;
    let module = format!("examples/ptx/{}", rest.split_once('"').expect("a path ends").0);
    let whole = text(&module);
    let start: usize = whole.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let at = whole[start..].find(from).unwrap_or_else(|| panic!("{name}: no `{from}` behind line {line}"));
    let line = whole[..start + at].matches('\n').count() + 1;
    let changed = format!("{}{}", &whole[..start], whole[start..].replacen(from, to, 1));
    (File::new(&path, &[(module, changed)]), line)
}

/// The lines of the first file, and what is said of each difference.
fn told(file: &File, comparison: &Comparison) -> Vec<(Option<usize>, String)> {
    let of = |difference: &Difference| {
        let line = difference.left.as_ref().map(|told| file.sources.line_column(told.operation.span).line);
        let aspects =
            difference.aspects.iter().map(|(aspect, ..)| aspect.name()).collect::<Vec<_>>().join(" ");
        let either = difference.left.as_ref().or(difference.right.as_ref()).expect("one has it");
        (line, format!("{} {aspects}", either.operation.name).trim_end().to_owned())
    };
    comparison.roles.iter().flat_map(|pairing| &pairing.differences).map(of).collect()
}

const PAIRS: [&str; 14] = [
    "barrier_pc",
    "block_sum",
    "cp_async",
    "dekker",
    "dsmem",
    "fences",
    "fifo",
    "grid_sync",
    "message",
    "row_sum",
    "seqlock",
    "spin_lock",
    "ticket_lock",
    "ws_ring",
];

#[test]
fn compiled_kernels_agree_with_their_skeletons_either_way_round() {
    for name in PAIRS {
        let compiled = File::new(&format!("examples/ptx/{name}.fence"), &[]);
        let skeleton = File::new(&format!("tests/compare/{name}.fence"), &[]);
        for (left, right) in [(&compiled, &skeleton), (&skeleton, &compiled)] {
            let found = compared(left, right);
            assert!(found.agrees(), "{name}: {:?}", told(left, &found));
            assert!(found.roles.iter().any(|role| role.n_equal > 0), "{name}: nothing is compared");
        }
    }
}

#[test]
fn every_change_of_the_ptx_is_reported_where_it_was_made() {
    for (name, change, says) in [
        ("spin_lock", (1, "cas.acquire", "cas.relaxed"), "atomic compare-and-swap sem"),
        ("spin_lock", (1, "st.release", "st.relaxed"), "store sem"),
        ("spin_lock", (1, "st.release.gpu", "st.release.cta"), "store scope"),
        ("spin_lock", (1, "cas.acquire.gpu", "cas.acquire.cta"), "atomic compare-and-swap scope"),
        ("ticket_lock", (1, "ld.acquire", "ld.relaxed"), "load sem"),
        ("ticket_lock", (1, "st.release", "st.relaxed"), "store sem"),
        ("grid_sync", (1, "atom.add.release", "atom.add.relaxed"), "atomic add sem"),
        ("grid_sync", (1, "ld.acquire.gpu", "ld.acquire.sys"), "load scope"),
        ("message", (370, "st.release.gpu", "st.relaxed.gpu"), "store sem"),
        ("dekker", (430, "fence.sc.gpu", "fence.acq_rel.gpu"), "fence sem"),
        ("fences", (500, "fence.acq_rel.gpu", "fence.acq_rel.cta"), "fence scope"),
        ("seqlock", (580, "ld.acquire.gpu", "ld.relaxed.gpu"), "load sem"),
        ("seqlock", (690, "st.release.gpu", "st.relaxed.gpu"), "store sem"),
        ("cp_async", (1, "cp.async.wait_group 1", "cp.async.wait_group 2"), "wait for cp.async groups count"),
        ("cp_async", (105, "bar.sync \t0", "bar.sync \t1"), "barrier barrier number"),
        (
            "cp_async",
            (
                1,
                "cp.async.cg.shared.global.L2::128B [%r29], [%rd4], 16",
                "cp.async.ca.shared.global [%r29], [%rd4], 4",
            ),
            "cp.async bytes",
        ),
        ("barrier_pc", (50, "[%r12], %r19", "[%r12], 32"), "mbarrier.init count"),
        ("ws_ring", (50, "[%r16], %r21", "[%r16], 1"), "mbarrier.init count"),
        (
            "ws_ring",
            (225, "fence.proxy.async.shared::cta;", "fence.proxy.async.global;"),
            "proxy fence memory",
        ),
        ("ws_ring", (270, "wait_group.read 0", "wait_group.read 1"), "wait for bulk groups count"),
        ("ws_ring", (120, "expect_tx.release.cta", "expect_tx.relaxed.cta"), "mbarrier.arrive sem"),
        ("ws_ring", (240, "bar.warp.sync \t-1", "bar.warp.sync \t1"), "barrier of the warp"),
        (
            "dsmem",
            (75, "barrier.cluster.arrive;", "barrier.cluster.arrive.relaxed;"),
            "arrival at the cluster's barrier sem",
        ),
        ("fifo", (1, "st.release.sys.global.u64 [%rd9]", "st.relaxed.sys.global.u64 [%rd9]"), "store sem"),
        ("fifo", (1, "membar.sys", "membar.gl"), "fence scope"),
    ] {
        let skeleton = File::new(&format!("tests/compare/{name}.fence"), &[]);
        let (changed, line) = mutant(name, change);
        let found = compared(&changed, &skeleton);
        let told = told(&changed, &found);
        let is_told = |(at, what): &(Option<usize>, String)| *at == Some(line) && what.starts_with(says);
        assert!(told.iter().any(is_told), "{name} with {change:?}, in line {line}: {told:?}");
    }
}

#[test]
fn what_was_taken_out_is_shown_in_the_skeleton() {
    for (name, change, says) in [
        ("grid_sync", (1, "barrier.sync \t0;", ""), "barrier"),
        ("grid_sync", (117, "barrier.sync \t0;", ""), "barrier"),
        ("fences", (500, "fence.acq_rel.gpu;", ""), "fence"),
        ("fences", (520, "fence.acq_rel.gpu;", ""), "fence"),
        ("seqlock", (610, "fence.acq_rel.gpu;", ""), "fence"),
        ("seqlock", (655, "fence.acq_rel.gpu;", ""), "fence"),
        ("cp_async", (105, "bar.sync \t0;", ""), "barrier"),
        ("barrier_pc", (70, "bar.sync \t0;", ""), "barrier"),
        ("ws_ring", (225, "fence.proxy.async.shared::cta;", ""), "proxy fence"),
        ("ws_ring", (230, "bar.warp.sync \t-1;", ""), "barrier of the warp"),
        ("ws_ring", (270, "cp.async.bulk.wait_group.read 0;", ""), "wait for bulk groups"),
        ("block_sum", (124, "bar.sync \t0;", ""), "barrier"),
        ("row_sum", (126, "bar.sync \t0;", ""), "barrier"),
    ] {
        let skeleton = File::new(&format!("tests/compare/{name}.fence"), &[]);
        let (changed, _) = mutant(name, change);
        let found = compared(&changed, &skeleton);
        let lacks = |difference: &Difference| {
            let right = difference.right.as_ref();
            difference.left.is_none() && right.is_some_and(|told| told.operation.name == says)
        };
        let mut differences = found.roles.iter().flat_map(|role| &role.differences);
        assert!(differences.any(lacks), "{name} with {change:?}: {:?}", told(&changed, &found));
    }
}

#[test]
fn an_operation_on_another_object_and_one_at_another_place_are_told_as_such() {
    let ring = "examples/tma-ring/ring.fence";
    let whole = text(ring);
    let with = |from: &str, to: &str| {
        let changed = whole.replacen(from, to, 1);
        assert_ne!(changed, whole, "there is no `{from}`");
        let (skeleton, changed) = (File::new(ring, &[]), File::new(ring, &[(ring.to_owned(), changed)]));
        let found = compared(&changed, &skeleton);
        told(&changed, &found)
    };
    let told = with("b64 _, [empty[s]];", "b64 _, [full[s]];");
    assert!(
        told.iter().any(|(line, what)| *line == Some(36) && what == "mbarrier.arrive object"),
        "{told:?}"
    );
    let told = with(
        "            fence.proxy.async.shared::cta;\n            mbarrier.arrive.release.cta.shared::cta.b64 _, [empty[s]];\n",
        "            mbarrier.arrive.release.cta.shared::cta.b64 _, [empty[s]];\n            fence.proxy.async.shared::cta;\n",
    );
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].1, "proxy fence");
    // What is announced is looked at beside what is copied: half of it is not in proportion.
    let told = with("b64 _, [full[s]], 32;", "b64 _, [full[s]], 16;");
    assert!(told.iter().any(|(_, what)| what.contains("bytes")), "{told:?}");
    let told = with(
        "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full[s]]",
        "let done = mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full[s]]",
    );
    assert!(told.iter().any(|(_, what)| what.contains("waiting")), "{told:?}");
}

#[test]
fn whoever_is_compared_with_itself_agrees() {
    let (files, bad) = kernel_files(&[root().join("examples")]);
    assert!(bad.is_empty(), "{bad:?}");
    let root = root();
    let mut n = 0;
    for file in files.iter().filter(|file| !Input::is_litmus(file)) {
        let path =
            file.path.strip_prefix(&root).expect("it is in the repository").to_string_lossy().into_owned();
        let file = File::new(&path, &[]);
        let Some(kernel) = file.program.kernels.first().filter(|kernel| !kernel.is_program) else { continue };
        if kernel.launches[0].spa.is_some() {
            continue;
        }
        let found = compared(&file, &file);
        assert!(found.agrees(), "{path}: {:?}", told(&file, &found));
        n += 1;
    }
    assert!(n > 200, "only {n} kernels");
}
