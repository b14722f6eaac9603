//! Asynchronous operations and tensor maps: every form is read, completed and written back, and every rule is broken
//! once.

#[path = "kernel/support.rs"]
mod support;

use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;
use fencepost_dsl::kernel::program::{AsyncOp, AtomicOp, InitialBytes, Instruction, InstructionKind};
use fencepost_dsl::vocabulary::{Scope, Sem};
use fencepost_dsl::{Diagnostic, FileId};
use std::fmt::Write as _;
use support::{Vocabulary, check_floors, program, try_load};

const OBJECTS: &str = "global g[4][8]: u32; global h[8]: u64; global cells[4]: b128; shared s[16]: u32; shared d[8]: u64; \
    shared c[2]: b128; shared small: u32; shared bytes[16]: u8; shared bar: mbarrier; shared full[2]: mbarrier; \
    param map: tensormap of g[2, 4]; global maps[2]: tensormap of h[2]; shared stage: tensormap of h[2]; \
    global other: tensormap of cells[1]; texture tex: u32 alias one; let r = ld [g[0][0]]; let w = ld [h[0]]; \
    let resp = ld [cells[0]];";
/// The instructions at the end of [`OBJECTS`].
const N_READS: usize = 3;

fn source(body: &str) -> String {
    format!("kernel k {{ launch {{ ctas: 2, cluster: 2 }} global one: u32; {OBJECTS}\n {body}\n}}")
}

/// At the newest target, which has everything.
fn newest(text: &str) -> String {
    format!("//! target sm_100a ptx 9.4\n{text}")
}

/// The instructions of a body.
fn instructions(text: &str) -> Vec<Instruction> {
    support::instructions(text).split_off(N_READS)
}

/// The lines of a dump that a body gives.
fn dumped(text: &str) -> Vec<String> {
    let all = dump(&program(text));
    let lines: Vec<String> = all.lines().map(|line| line.trim().to_owned()).collect();
    let reads =
        lines.iter().rposition(|line| line.contains(" = ld.weak.global.b128 ") && line.starts_with("resp"));
    lines[reads.expect("the frame reads it") + 1..].to_vec()
}

const FORMS: &[&str] = &[
    // §5.2
    "cp.async.ca.shared.global [s[1]], [g[0][1]], 4;",
    "cp.async.ca.shared::cta.global.L2::128B [d[1]], [h[r]], 8, r;",
    "cp.async.cg.shared::cta.global [c[0]], [cells[1]], 16, 4;",
    "cp.async.ca.shared.global.L2::cache_hint [s[0]], [h[0]], 16, w;",
    "cp.async.cg.L2::cache_hint.shared.global [s[4]], [h[2]], 16, r, w;",
    "cp.async.ca.shared.global [s[r]], [g[0][r]], 4, r == 1;",
    "cp.async.commit_group;",
    "cp.async.wait_group 1 + 1;",
    "cp.async.wait_all;",
    "cp.async.mbarrier.arrive.b64 [bar];",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [full[r]];",
    // §5.3, §5.4
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s[4]], [g[1][0]], 32, [bar];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [mapa(s[0], r)], [g[r][0]], r * 16, [mapa(full[1], r)];",
    "cp.async.bulk.weak.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s[0]], [h[0]], 16, [bar], 3;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [s[0]], [h[0]], 16, [bar], 3, w;",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [mapa(s[0], 1)], [c[0]], 16, [mapa(bar, 1)];",
    "cp.async.bulk.global.shared::cta.bulk_group [h[0]], [s[0]], 64;",
    "cp.async.bulk.global.shared::cta.bulk_group [g[1]], [s], 16;",
    "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [cells[0]], [c[0]], 16;",
    "cp.async.bulk.relaxed.cluster.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [mapa(c[0], 1)], [c[0]], 16, [mapa(bar, 1)];",
    "cp.async.bulk.relaxed.gpu.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.b128 [c[0]], [cells[0]], 16, [bar], 3;",
    "cp.async.bulk.relaxed.cluster.shared::cta.global.mbarrier::complete_tx::bytes.b128 [c[0]], [cells[0]], 16, [bar];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g[0][0]], [s[0]], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.max [h[0]], [d[0]], 16;",
    "cp.reduce.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.min.s64 [h[0]], [d[0]], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64 [h[2]], [d[2]], 16;",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [mapa(s[0], 1)], [s[4]], 16, [mapa(bar, 1)];",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group 0;",
    "cp.async.bulk.wait_group.read 1;",
    "cp.async.bulk.prefetch.L2.global [h[0]], 64;",
    // Tensors
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map, {0, 2}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [c[0]], [map, {r, -1}], [full[0]], 1;",
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group.L2::cache_hint [maps[r], {4}], [d[0]], 1;",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [maps[0], {4}], [d[0]];",
    "cp.async.bulk.prefetch.tensor.2d.L2.global [map, {0, 0}];",
    "tensormap.replace.tile.global_address.global.b1024.b64 [maps[1]], [h];",
    "tensormap.replace.tile.global_address.b1024 [stage], h;",
    "tensormap.replace.tile.rank.shared::cta.b1024.b32 [stage], 0;",
    "tensormap.replace.tile.box_dim.b1024.b32 [maps[0]], 0, 2;",
    "tensormap.replace.tile.global_dim.b1024.b32 [maps[0]], 0, 8;",
    "tensormap.replace.tile.global_stride.b1024.b64 [maps[0]], 0, w;",
    "tensormap.replace.tile.element_stride.b1024.b32 [maps[0]], 0, 1;",
    "tensormap.replace.tile.elemtype.b1024 [maps[0]], 3;",
    "tensormap.replace.tile.swizzle_mode.b1024 [maps[0]], 3;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [maps[0]], [stage], 128;",
    "fence.proxy.tensormap::generic.acquire.gpu [maps[r]], 128;",
    // §5.6
    "st.async.mbarrier::complete_tx::bytes.u32 [mapa(s[1], 1)], r, [mapa(bar, 1)];",
    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [mapa(d[0], r)], {w, 1}, [mapa(bar, r)];",
    "st.async.shared::cluster.v4 [s[4]], {r, 1, 2, 3}, [bar];",
    "st.async.b128 [mapa(c[0], 1)], resp, [mapa(bar, 1)];",
    "st.async.release.gpu.global.u32 [g[0][0]], 1;",
    "st.async.shared::cta.mbarrier::complete_tx::bytes.u32 [s[0]], 1, [bar];",
    "st.async.weak.shared.v2 [d[r]], {w, 2}, [full[r]];",
    "st.async.mmio.release.sys.global [h[0]], w;",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [mapa(d[0], 1)], w, [mapa(bar, 1)];",
    "red.async.min.s32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.and [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.release.sys.global.add.u32 [g[0][0]], 1;",
    "red.async.mmio.release.sys.global.add [h[0]], 1;",
    "red.async.relaxed.gpu.global.min.s32 [g[0][0]], -1;",
    "red.async.relaxed.sys.or [g[0][0]], 1;",
    // §5.10
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes [c[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [s[4]], [full[1]];",
    "let p = clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 resp;",
    "let q = clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 resp;",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 _, resp;",
    "await clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 resp;",
    "setmaxnreg.inc.sync.aligned.u32 232;",
    "setmaxnreg.dec.sync.aligned.u32 24;",
];

#[test]
fn every_form_is_completed_and_its_full_spelling_means_itself() {
    let mut shown = String::new();
    for body in FORMS {
        let text = newest(&source(body));
        let lines = dumped(&text);
        let _ = writeln!(shown, "{body}\n    {}", lines.join("\n    "));
        let found = instructions(&text);
        // The full spelling leaves hints out, and their operands would stand alone.
        if let [instruction] = found.as_slice()
            && !body.contains("cache_hint")
        {
            let start = instruction.opcode_span.start as usize;
            let end = instruction.opcode_span.end as usize;
            let full = format!("{}{}{}", &text[..start], instruction.text, &text[end..]);
            assert_eq!(dumped(&full), lines, "{body}\n{}", instruction.text);
        }
    }
    insta::assert_snapshot!("forms", shown);
}

#[test]
fn every_form_survives_the_formatter() {
    for body in FORMS {
        let text = newest(&source(body));
        let (tree, errors) = parse(&text, FileId(0));
        assert_eq!(errors.len(), 0, "{body}\n{errors:#?}");
        let printed = pretty(&tree).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(dump(&program(&printed)), dump(&program(&text)), "{printed}");
        assert_eq!(pretty(&parse(&printed, FileId(0)).0).as_ref(), Some(&printed));
    }
}

#[test]
fn older_targets_have_narrower_reductions_and_no_weak() {
    let at = |version: &str, body: &str| {
        let text = format!("//! target sm_90 ptx {version}\n{}", source(body));
        instructions(&text).remove(0).text
    };
    let reduce = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [g[0][0]], [s[0]], 16;";
    assert_eq!(at("9.3", reduce), "cp.reduce.async.bulk.relaxed.sys.global.shared::cta.bulk_group.add.u32");
    assert_eq!(at("9.2", reduce), "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32");
    let scope = |text: &str| {
        let InstructionKind::Async(operation) = instructions(text).remove(0).kind else {
            panic!("it is asynchronous")
        };
        let AsyncOp::Bulk(copy) = *operation else { panic!("it is a bulk operation") };
        (copy.reduction, copy.sem, copy.scope)
    };
    let at_version = |version: &str| scope(&format!("//! target sm_90 ptx {version}\n{}", source(reduce)));
    assert_eq!(at_version("9.3"), (Some(AtomicOp::Add), Sem::Relaxed, Scope::Sys));
    assert_eq!(at_version("9.2"), (Some(AtomicOp::Add), Sem::Relaxed, Scope::Gpu));
    let tensor = "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [maps[0], {4}], [d[0]];";
    assert_eq!(scope(&newest(&source(tensor))), (Some(AtomicOp::Add), Sem::Relaxed, Scope::Gpu));
    let copy = "cp.async.bulk.global.shared::cta.bulk_group [h[0]], [s[0]], 64;";
    assert_eq!(at("9.3", copy), "cp.async.bulk.weak.global.shared::cta.bulk_group");
    assert_eq!(at("9.2", copy), "cp.async.bulk.global.shared::cta.bulk_group");
}

#[test]
fn tensor_maps_are_objects() {
    let program = program(&source(""));
    let objects = &program.kernels[0].objects;
    let shown: Vec<String> = objects
        .iter()
        .filter_map(|object| {
            let tensor = object.tensor.as_ref()?;
            let initial = &program.kernels[0].storages[object.storage].initial;
            let known = matches!(initial, InitialBytes::Known(_));
            let of = &objects[tensor.object].name;
            Some(format!(
                "{} {} {:?} {of} {:?} {known}",
                object.space, object.name, object.dimensions, tensor.box_dimensions
            ))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "param map [] g [2, 4] true",
            "global maps [2] h [2] false",
            "shared stage [] h [2] false",
            "global other [] cells [1] false",
        ]
    );
}

/// A body, or a whole file, with the one error it has.
const ILLEGAL: &[&str] = &[
    // Forms
    "cp.sync.ca.shared.global [s[0]], [g[0][0]], 4;",
    "cp.async.shared.global [s[0]], [g[0][0]], 4;",
    "cp.async.ca.cg.shared.global [s[0]], [g[0][0]], 4;",
    "cp.async.ca.global.shared [g[0][0]], [s[0]], 4;",
    "cp.async.ca [s[0]], [g[0][0]], 4;",
    "cp.async.ca.shared.global.bulk_group [s[0]], [g[0][0]], 4;",
    "cp.async.ca.shared.global.noinc [s[0]], [g[0][0]], 4;",
    "cp.async.ca.shared.global.L2::foo [s[0]], [g[0][0]], 4;",
    "cp.async.ca.shared.global.L2::cache_hint [s[0]], [g[0][0]], 4;",
    "cp.async.ca.shared::cluster.global [s[0]], [g[0][0]], 4;",
    "cp.async.ca.shared.global.volatile [s[0]], [g[0][0]], 4;",
    "cp.async.commit_group.read;",
    "cp.async.bulk.commit_group.noinc;",
    "cp.async.wait_group.all 0;",
    "cp.async.mbarrier.arrive.shared::cluster.b64 [bar];",
    "cp.async.mbarrier.arrive.relaxed.b64 [bar];",
    // Sizes, alignment, elements
    "cp.async.ca.shared.global [s[0]], [g[0][0]], 12;",
    "cp.async.cg.shared.global [s[0]], [g[0][0]], 8;",
    "cp.async.ca.shared.global [s[0]], [g[0][0]], r;",
    "cp.async.ca.shared.global [d[0]], [g[0][0]], 4;",
    "cp.async.ca.shared.global [s[1]], [g[0][0]], 8;",
    "cp.async.ca.shared.global [s[0]], [g[0][0]], 4, 8;",
    "cp.async.ca.shared.global [s[0]], [g[0][0]], 4, w;",
    "cp.async.ca.shared.global [s[0]], [g[0][0]], 4, 4, r == 1;",
    "cp.async.ca.shared.global [s[0]], [g[0][0]];",
    "cp.async.bulk.global.shared::cta.bulk_group [h[0]], [s[0]], 24;",
    "cp.async.bulk.global.shared::cta.bulk_group [h[1]], [s[0]], 32;",
    "cp.async.bulk.global.shared::cta.bulk_group [h[0]], [s[3]], 32;",
    "cp.async.bulk.prefetch.L2.global [h[0]], 8;",
    // Spaces, elements, CTAs
    "cp.async.ca.shared.global [g[0][0]], [s[0]], 4;",
    "cp.async.ca.shared.global [mapa(s[0], 1)], [g[0][0]], 4;",
    "cp.async.ca.shared.global s[0], [g[0][0]], 4;",
    "cp.async.ca.shared.global [bar], [h[0]], 8;",
    "cp.async.ca.shared.global [d[0]], [maps[0]], 8;",
    "cp.async.ca.shared.global [s[0]], [tex], 4;",
    "let q = cp.async.commit_group;",
    "cp.async.commit_group 1;",
    "cp.async.wait_group r;",
    "cp.async.wait_group;",
    "cp.async.mbarrier.arrive.b64 [s[0]];",
    "cp.async.mbarrier.arrive.b64 [mapa(bar, 1)];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [mapa(s[0], 1)], [h[0]], 16, [bar];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [h[0]], 16, [mapa(bar, 1)];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [h[0]], 16, [d[0]];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [mapa(s[0], 1)], [h[0]], 16, [mapa(bar, 0)];",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s[0]], [c[0]], 16, [bar];",
    // Directions, completion, strength
    "cp.async.bulk [s[0]], [h[0]], 16, [bar];",
    "cp.async.bulk.global.global.bulk_group [h[0]], [h[2]], 16;",
    "cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [s[0]], [c[0]], 16, [bar];",
    "cp.async.bulk.global.shared::cluster.bulk_group [h[0]], [s[0]], 16;",
    "cp.async.bulk.shared::cta.global.bulk_group [s[0]], [h[0]], 16;",
    "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [h[0]], [s[0]], 16, [bar];",
    "cp.async.bulk.global.shared::cta [h[0]], [s[0]], 16;",
    "cp.async.bulk.shared::cta.global [s[0]], [h[0]], 16, [bar];",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [h[0]], 16;",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster [s[0]], [h[0]], 16, [bar], 1;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s[0]], [h[0]], 16, [bar];",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s[0]], [h[0]], 16, [bar], 0;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s[0]], [h[0]], 16, [bar], r;",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [h[0]], [s[0]], 16, 1;",
    "cp.async.bulk.global.shared::cta.bulk_group.ignore_oob [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.noinc [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2 [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared.bulk_group [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.L2::128B [h[0]], [s[0]], 16;",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.L2::cache_hint [mapa(s[0], 1)], [c[0]], 16, [mapa(bar, 1)], w;",
    "cp.async.bulk.relaxed.gpu.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.b128 [mapa(c[0], 1)], [c[0]], 16, [mapa(bar, 1)];",
    "cp.reduce.async.bulk.relaxed.sys.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [mapa(s[0], 1)], [s[4]], 16, [mapa(bar, 1)];",
    "cp.async.bulk.shared::cta.global.tensor.1d.mbarrier::complete_tx::bytes [s[0]], [maps[0], {0}], [bar];",
    "cp.reduce.bulk.global.shared::cta.bulk_group [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.tile [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.add.u32 [h[0]], [s[0]], 16;",
    "cp.async.bulk.global.shared::cta.bulk_group.u32 [h[0]], [s[0]], 16;",
    "cp.async.bulk.relaxed.global.shared::cta.bulk_group.b128 [h[0]], [s[0]], 16;",
    "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group [h[0]], [s[0]], 16;",
    "cp.async.bulk.gpu.global.shared::cta.bulk_group [h[0]], [s[0]], 16;",
    "cp.async.bulk.release.gpu.global.shared::cta.bulk_group [h[0]], [s[0]], 16;",
    "cp.async.bulk.wait_group.write 0;",
    "cp.async.bulk.prefetch.L2.shared::cta [s[0]], 16;",
    // Reductions
    "cp.reduce.async.bulk.global.shared::cta.bulk_group [g[0][0]], [s[0]], 16;",
    "cp.reduce.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.add.u32 [s[0]], [g[0][0]], 16, [bar];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.exch.b32 [g[0][0]], [s[0]], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u64 [h[0]], [d[0]], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [g[0][0]], [s[0]], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [h[0]], [s[0]], 16;",
    "cp.reduce.async.bulk.weak.global.shared::cta.bulk_group.add.u32 [g[0][0]], [s[0]], 16;",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.u64 [mapa(d[0], 1)], [d[4]], 16, [mapa(bar, 1)];",
    // Tensors
    "cp.async.bulk.tensor.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map, {0, 0}], [bar];",
    "cp.async.bulk.2d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map, {0, 0}], [bar];",
    "cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map, {0, 0, 0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map, {0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map], [bar];",
    "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [h, {0}], [bar];",
    "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [h[0], {0}], [bar];",
    "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [stage, {0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [map, {w, 0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [s[0]], [map, {0, 0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [s[0]], [map, {0, 0}], [bar];",
    "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.cta_group::2 [s[0]], [map, {0, 0}], [bar];",
    "cp.async.bulk.tensor.1d.relaxed.gpu.global.shared::cta.bulk_group.b128 [maps[0], {0}], [d[0]];",
    "cp.async.bulk.tensor.1d.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [mapa(s[0], 1)], [d[0]], [bar];",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group.u64 [maps[0], {4}], [d[0]];",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [maps[0], {4}], [s[0]];",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [other, {0}], [c[0]];",
    "st [maps[0]], 1;",
    "let q = ld [map];",
    "final { assert [maps[0]] == 0; }",
    "st.async [stage], 1, [bar];",
    "let q = map;",
    "tensormap.replace.tile.b1024.b32 [stage], 1;",
    "tensormap.replace.tile.rank.b1024.b64 [stage], 0;",
    "tensormap.replace.rank.b1024.b32 [stage], 0;",
    "tensormap.replace.tile.rank.b32 [stage], 0;",
    "tensormap.replace.tile.rank.shared.b1024.b32 [stage], 0;",
    "tensormap.replace.tile.rank.rank.b1024.b32 [stage], 0;",
    "tensormap.replace.tile.elemtype.b1024.b32 [stage], r;",
    "tensormap.write [stage], 0;",
    "tensormap.cp_fenceproxy.shared::cta.global.tensormap::generic.release.gpu.sync.aligned [maps[0]], [stage], 128;",
    "tensormap.replace.tile.colour.b1024.b32 [stage], 0;",
    "tensormap.replace.tile.rank.global.b1024.b32 [stage], 0;",
    "tensormap.replace.tile.rank.b1024.b32 [map], 0;",
    "tensormap.replace.tile.rank.b1024.b32 [h[0]], 0;",
    "tensormap.replace.tile.rank.b1024.b32 [stage], 1;",
    "tensormap.replace.tile.box_dim.b1024.b32 [stage], 0, r;",
    "tensormap.replace.tile.box_dim.b1024.b32 [stage], r, 2;",
    "tensormap.replace.tile.box_dim.b1024.b32 [stage], 2;",
    "tensormap.replace.tile.global_address.b1024.b64 [stage], [cells];",
    "tensormap.replace.tile.global_address.b1024.b64 [stage], [h[2]];",
    "tensormap.replace.tile.global_address.b1024.b64 [stage], 64;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [other], [stage], 128;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [maps[0]], [s[0]], 128;",
    "fence.proxy.tensormap::generic.acquire.gpu [map], 128;",
    "fence.proxy.tensormap::generic.acquire.gpu [stage], 128;",
    // Declarations
    "global m: tensormap;",
    "global m: tensormap of g[4];",
    "global m: tensormap of h[0];",
    "global m: tensormap of h[257];",
    "global m: tensormap of h[1];",
    "global m: tensormap of s[4];",
    "global m: tensormap of maps[4];",
    "global m: tensormap of one[4];",
    "global m: tensormap of r[4];",
    "global m: tensormap of nothing[4];",
    "global m: tensormap alias h;",
    "global m: tensormap = 0;",
    "global m: u32 of h[2];",
    "param m: u32 = 1;",
    "view m: tensormap of h;",
    "view m[8]: u8 of maps;",
    "global m[2]: u64 alias maps;",
    "let m: tensormap = 1;",
    // Stores
    "st.async [s[0]], 1;",
    "st.async [s], 1, [bar];",
    "st.async.relaxed.cluster.u32 [s[0]], 1, [bar];",
    "st.async.cluster.u32 [s[0]], 1, [bar];",
    "st.async.mmio.u32 [s[0]], 1, [bar];",
    "st.async.release.cta.global.u32 [g[0][0]], 1;",
    "st.async.weak.global.u32 [g[0][0]], 1;",
    "st.async.mmio.release.gpu.global.u32 [g[0][0]], 1;",
    "st.async.release.gpu.global.b128 [cells[0]], resp;",
    "st.async.async.u32 [s[0]], 1, [bar];",
    "st.async.shared::cta.u32 [mapa(s[0], 1)], 1, [bar];",
    "st.async.shared::cta.u32 [s[0]], 1, [mapa(bar, 1)];",
    "st.async.release.gpu.global.mbarrier::complete_tx::bytes.u32 [g[0][0]], 1;",
    "st.async.bulk_group.u32 [s[0]], 1, [bar];",
    "st.async.release.gpu.global.v2.u32 [g[0][0]], {1, 2};",
    "st.async.v4.u64 [d[0]], {w, w, w, w}, [bar];",
    "st.async.v2.u32 [s[0]], {1, 2, 3}, [bar];",
    "st.async.v2.u32 [s[1]], {1, 2}, [bar];",
    "st.async.f16 [s[0]], 1, [bar];",
    "st.async.u64 [s[0]], 1, [bar];",
    "st.async.u32 [g[0][0]], 1, [bar];",
    "st.async.release.gpu.global.u32 [s[0]], 1;",
    "st.async.u32 [s[0]], 1, [s[1]];",
    "st.async.u8 [bytes[0]], 1, [bar];",
    "st.async.u32 [mapa(s[0], 1)], 1, [mapa(bar, 0)];",
    "red.async.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.add.u32 [s[0]], 1, [bar];",
    "red.async.relaxed.add.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.relaxed.cluster.shared::cta.add.u32 [s[0]], 1, [bar];",
    "red.async.mmio.release.gpu.global.add.u32 [g[0][0]], 1;",
    "red.async.release.cluster.add.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.relaxed.gpu.shared::cluster.add.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.relaxed.gpu.global.max.u64 [h[0]], 1;",
    "red.async.mmio.relaxed.sys.global.max.u32 [g[0][0]], 1;",
    "red.async.exch.b32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.max.u64 [mapa(d[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.add.s64 [mapa(d[0], 1)], 1, [mapa(bar, 1)];",
    "red.async.wide.add.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];",
    // Launch
    "clusterlaunchcontrol.cancel [c[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.mbarrier::complete_tx::bytes.b128 [c[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.b128 [c[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.global.mbarrier::complete_tx::bytes.b128 [c[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.multicast::cluster.b128 [c[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [small], [bar];",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [s[1]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [cells[0]], [bar];",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [mapa(c[0], 1)], [bar];",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [c[0]], [mapa(bar, 1)];",
    "let {a, b} = clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 resp;",
    "let q = clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 resp;",
    "let q = clusterlaunchcontrol.query_cancel.pred.b128 resp;",
    "let q = clusterlaunchcontrol.query_cancel.is_canceled.u32.b128 resp;",
    "let q = clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 w;",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 resp;",
    "setmaxnreg.inc.sync.aligned.u32 16;",
    "setmaxnreg.inc.sync.aligned.u32 100;",
    "setmaxnreg.inc.sync.aligned.u32 264;",
    "setmaxnreg.dec.sync.aligned.u32 r;",
    "setmaxnreg.dec.u32 24;",
    "setmaxnreg.set.sync.aligned.u32 24;",
    "griddepcontrol;",
    "griddepcontrol.launch_dependents.wait;",
    // Waiting
    "await (cp.async.commit_group);",
    "loop { await f(); } ",
    // Near misses
    "cb.async.commit_group;",
    "setmaxreg.inc.sync.aligned.u32 24;",
];

/// An error as a reader gets it, in lines.
fn shown(text: &str, error: &Diagnostic) -> String {
    let at = |start: u32, end: u32| text[start as usize..end as usize].replace('\n', " ");
    let mut out = String::new();
    let rule: String = error.rules.iter().map(|rule| format!(" [{rule}]")).collect();
    let _ = writeln!(out, "    {}: {}{rule}", error.code, error.message);
    for label in &error.labels {
        let _ = writeln!(out, "      `{}`: {}", at(label.span.start, label.span.end), label.text);
    }
    if let Some(help) = &error.help {
        let _ = writeln!(out, "      help: {help}");
    }
    out
}

#[test]
fn every_rule_is_kept() {
    let mut all = String::new();
    for body in ILLEGAL {
        let text =
            newest(&format!("fn f() -> pred {{ cp.async.commit_group; return true; }} {}", source(body)));
        let errors = try_load(&text).err().unwrap_or_default();
        let _ = writeln!(all, "{body}");
        for error in &errors {
            all += &shown(&text, error);
        }
        assert_eq!(errors.len(), 1, "{body}\n{errors:#?}");
        assert!(errors[0].code.contains("::") && !errors[0].message.ends_with('.'), "{body}");
    }
    insta::assert_snapshot!("illegal", all);
}

#[test]
fn what_a_function_needs_of_its_parameters() {
    let mut all = String::new();
    for text in [
        "fn load(m: &tensormap, t: &u32, b: &mbarrier) { cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [t], [m, {0}], [b]; }
fn relay(m: &tensormap, t: &u32, b: &mbarrier) { load(m, t, b); }
kernel k { global h[8]: u64; shared stage: tensormap of h[2]; shared t[4]: u32; shared b: mbarrier; relay(stage, t, b); }",
        "fn load(m: &tensormap, t: &u32, b: &mbarrier) { cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [t], [m, {0, 0}], [b]; }
kernel k { global h[8]: u64; param m: tensormap of h[2]; shared t[4]: u32; shared b: mbarrier; load(m, t, b); }",
        "fn load(m: &tensormap, t: &u32, b: &mbarrier) { cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [t], [m, {0}], [b]; }
kernel k { global h[8]: u64; param m: tensormap of h[2]; shared t[4]: u32; shared b: mbarrier; load(m, mapa(t, 1), b); }",
        "fn load(t: &u32, g: &u32) { cp.async.ca.shared.global [t], [g], 4; }
kernel k { global h: u32; shared t: u32; load(h, t); }",
        "fn put(m: &tensormap) { tensormap.replace.tile.elemtype.b1024 [m], 0; } kernel k { global h[8]: u64; param m: tensormap of h[2]; put(m); }",
        "fn put(m: &tensormap, h: &u64) { tensormap.replace.tile.global_address.b1024 [m], h; }
kernel k { global h[8]: u64; global m: tensormap of h[2]; put(m, h); }",
        "fn put(m: &tensormap) { tensormap.replace.tile.rank.b1024 [m], 0; } kernel k { global h[8]: u64; global m: tensormap of h[2]; put(m); }",
        "fn f(m: &tensormap) { } kernel k { global h[8]: u64; f(h); }",
        "fn f(m: &u64) { } kernel k { global h[8]: u64; param m: tensormap of h[2]; f(m); }",
        "fn f(m: tensormap) { } kernel k { }",
        "fn f(m: &tensormap) { st [m], 1; } kernel k { }",
        "fn f(b: &mbarrier) { cp.async.mbarrier.arrive.b64 [b]; } kernel k { launch { ctas: 2, cluster: 2 } shared b: mbarrier; f(mapa(b, 1)); }",
    ] {
        let errors = try_load(text).err().unwrap_or_default();
        let _ = writeln!(all, "{text}");
        for error in &errors {
            all += &shown(text, error);
        }
        assert!(!errors.is_empty(), "{text}");
    }
    insta::assert_snapshot!("functions", all);
}

#[test]
fn functions_take_maps_and_memory() {
    let text = "fn load(m: &tensormap, t: &u32, b: &mbarrier, x: u32) {
 cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [t], [m, {x}], [b]; }
fn write(m: &tensormap) { tensormap.replace.tile.swizzle_mode.global.b1024.b32 [m], 0; fence.proxy.tensormap::generic.acquire.gpu [m], 128; }
fn push(t: &u64, b: &mbarrier) { st.async.v2 [t], {1, 2}, [b]; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [t], [t[2]], 16, [b]; }
kernel k { launch { ctas: 2, cluster: 2 } global h[8]: u64; global m[2]: tensormap of h[2]; shared t[4]: u32; shared d[4]: u64; shared b: mbarrier;
 load(m[1], t, b, 2); load(&m[0], mapa(t, 1), mapa(b, 1), tid); write(m); push(d, b); }";
    let errors = try_load(text).err().unwrap_or_default();
    let codes: Vec<_> = errors.iter().map(|error| error.code).collect();
    // The source of the copy in `push` is in the own CTA, so its only argument is not in a peer.
    assert_eq!(codes, [""; 0], "{errors:#?}");
}

/// A target that is just new enough, one that is just too old, and what needs it.
const FLOORS: &[(&str, &str, &str)] = &[
    ("sm_80 ptx 7.0", "sm_75 ptx 7.0", "cp.async.ca.shared.global [s[0]], [g[0][0]], 4;"),
    ("sm_80 ptx 7.5", "sm_80 ptx 7.4", "cp.async.ca.shared.global [s[0]], [g[0][0]], 4, r == 1;"),
    ("sm_80 ptx 7.0", "sm_80 ptx 6.5", "cp.async.commit_group;"),
    ("sm_80 ptx 7.0", "sm_80 ptx 6.5", "cp.async.wait_all;"),
    ("sm_80 ptx 7.0", "sm_80 ptx 6.5", "cp.async.mbarrier.arrive.b64 [bar];"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "cp.async.bulk.wait_group.read 0;"),
    ("sm_90 ptx 8.0", "sm_80 ptx 8.0", "cp.async.bulk.global.shared::cta.bulk_group [h[0]], [s[0]], 16;"),
    ("sm_90 ptx 8.0", "sm_90 ptx 7.8", "cp.async.bulk.prefetch.L2.global [h[0]], 16;"),
    (
        "sm_90 ptx 8.6",
        "sm_90 ptx 8.5",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s[0]], [h[0]], 16, [bar];",
    ),
    (
        "sm_90 ptx 9.3",
        "sm_90 ptx 9.2",
        "cp.async.bulk.relaxed.gpu.global.shared::cta.bulk_group.b128 [h[0]], [s[0]], 16;",
    ),
    (
        "sm_90a ptx 9.3",
        "sm_90 ptx 9.3",
        "cp.async.bulk.relaxed.gpu.shared::cluster.global.mbarrier::complete_tx::bytes.b128 [c[0]], [cells[0]], 16, [bar];",
    ),
    ("sm_80 ptx 7.4", "sm_80 ptx 7.3", "cp.async.ca.shared.global.L2::128B [s[0]], [g[0][0]], 4;"),
    (
        "sm_90 ptx 9.3",
        "sm_90 ptx 9.2",
        "cp.async.bulk.weak.global.shared::cta.bulk_group [h[0]], [s[0]], 16;",
    ),
    (
        "sm_90 ptx 8.0",
        "sm_90 ptx 7.8",
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [maps[0], {0}], [d[0]];",
    ),
    ("sm_90a ptx 8.3", "sm_90a ptx 8.2", "tensormap.replace.tile.rank.b1024 [stage], 0;"),
    ("sm_90 ptx 8.1", "sm_90 ptx 8.0", "st.async.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];"),
    ("sm_90 ptx 9.3", "sm_90 ptx 9.2", "st.async.shared::cta.u32 [s[0]], 1, [bar];"),
    ("sm_90 ptx 9.2", "sm_90 ptx 9.1", "st.async [mapa(c[0], 1)], resp, [mapa(bar, 1)];"),
    ("sm_90 ptx 8.1", "sm_90 ptx 8.0", "red.async.add.u32 [mapa(s[0], 1)], 1, [mapa(bar, 1)];"),
    ("sm_100 ptx 8.7", "sm_100 ptx 8.6", "st.async.release.gpu.global.u32 [g[0][0]], 1;"),
    ("sm_100 ptx 8.7", "sm_90 ptx 8.7", "red.async.release.gpu.global.add.u32 [g[0][0]], 1;"),
    ("sm_100 ptx 8.7", "sm_90 ptx 8.7", "red.async.relaxed.gpu.max.u32 [g[0][0]], 1;"),
    (
        "sm_100 ptx 8.6",
        "sm_90 ptx 8.6",
        "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [c[0]], [bar];",
    ),
    (
        "sm_100 ptx 8.6",
        "sm_100 ptx 8.5",
        "let q = clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 resp;",
    ),
    ("sm_90a ptx 8.0", "sm_90a ptx 7.8", "setmaxnreg.inc.sync.aligned.u32 24;"),
];

#[test]
fn every_feature_has_its_floor() {
    check_floors(FLOORS, source);
}

#[test]
fn a_store_to_the_own_cta_is_refused_before_it_was_allowed() {
    let body = "st.async.u32 [s[0]], 1, [bar];";
    assert!(try_load(&format!("//! target sm_90 ptx 9.3\n{}", source(body))).is_ok());
    let errors = try_load(&format!("//! target sm_90 ptx 9.2\n{}", source(body))).err().unwrap_or_default();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!((errors[0].code, errors[0].rules.as_slice()), ("validate::own-cta", ["UB-A4"].as_slice()));
}

#[test]
fn random_opcodes_are_legal_with_their_defaults_or_have_one_error() {
    let store: &[&str] =
        &["[mapa(s[0], 1)], 1, [mapa(bar, 1)]", "[g[0][0]], 1", "[s[0]], {1, 2}, [bar]", "[h[0]], w"];
    let bulk: &[&str] = &[
        "[s[0]], [h[0]], 16, [bar]",
        "[mapa(s[0], 1)], [s[4]], 16, [mapa(bar, 1)]",
        "[s[0]], [h[0]], 16, [bar], 3",
        "[g[0][0]], [s[0]], 16",
        "[maps[0], {r}], [d[0]]",
        "[d[0]], [maps[0], {r}], [bar]",
        "[h[0]], [d[0]], 16",
    ];
    let small: &[&str] = &["", "0", "[bar]", "[s[0]], [g[0][0]], 4", "[s[4]], [g[0][4]], 16"];
    let map: &[&str] = &["[stage], 0", "[maps[1]], 0, 2", "[stage], h", "[map], 0"];
    let cancel: &[&str] = &["[c[0]], [bar]", "resp", "_, resp"];
    let operands: &[(&str, &[&str])] = &[
        ("st.async", store),
        ("red.async", store),
        ("cp.async.bulk", bulk),
        ("cp.reduce", bulk),
        ("cp.async", small),
        ("cp.async.bulk.wait_group", small),
        ("cp.async.bulk.commit_group", small),
        ("tensormap", map),
        ("clusterlaunchcontrol", cancel),
        ("setmaxnreg", small),
        ("griddepcontrol", small),
    ];
    let vocabulary = Vocabulary { operands, results: &["", "", "", "let q = ", "await "] };
    vocabulary.check_random((29, 30_000), N_READS, |body| newest(&source(body)));
}
