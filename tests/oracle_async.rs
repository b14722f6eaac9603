//! The checker against its dull twin on small random programs of asynchronous operations, those of `wgmma` among them, and
//! on fixed shapes.

use fencepost::encode::Treatment;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::asynchronous::{compare_random, suite};
use fencepost_tests::oracle::matrix;
use fencepost_tests::oracle::synchronization::{Comparison, compare};

#[test]
fn random_programs_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    suite().run("", |plan| compare_random(&model, plan));
}

#[test]
fn random_products_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    matrix::suite().run("", |plan| matrix::compare_random(&model, plan));
}

/// What is too rare among random programs: asynchronous releases (§1.8, 4 and 5), and scopes of halves of proxy fences.
const SHAPES: &[(&str, &str, bool)] = &[
    (
        "st.async.release publishes what came before",
        "ctas: 2, cluster: 2 } global x: u64 = 0; global g[2]: u64 = 1;
    if ctaid == 0 { st.weak.u64 [g[0]], 2; st.async.release.gpu.global.u64 [x], 1; }
    if ctaid == 1 { await (ld.acquire.gpu.u64 [x]) == 1; let r = ld.weak.u64 [g[0]]; }",
        false,
    ),
    (
        "not what came after",
        "ctas: 2, cluster: 2 } global x: u64 = 0; global g[2]: u64 = 1;
    if ctaid == 0 { st.async.release.gpu.global.u64 [x], 1; st.weak.u64 [g[0]], 2; }
    if ctaid == 1 { await (ld.acquire.gpu.u64 [x]) == 1; let r = ld.weak.u64 [g[0]]; }",
        true,
    ),
    (
        "a fence before red.async publishes",
        "ctas: 2, cluster: 2 } global x: u64 = 0; global g[2]: u64 = 1; shared s[2]: u64 = 0; shared m: mbarrier;
    mbarrier.init.shared::cta.b64 [m], 1; barrier.cluster.arrive; barrier.cluster.wait;
    if ctaid == 0 {
        st.weak.u64 [g[0]], 2; fence.acq_rel.cluster;
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [mapa(s[0], 1)], 1, [mapa(m, 1)];
    }
    if ctaid == 1 { await (ld.acquire.cluster.shared::cta.u64 [s[0]]) == 1; let r = ld.weak.u64 [g[0]]; }",
        false,
    ),
    (
        "red.async without a fence does not",
        "ctas: 2, cluster: 2 } global x: u64 = 0; global g[2]: u64 = 1; shared s[2]: u64 = 0; shared m: mbarrier;
    mbarrier.init.shared::cta.b64 [m], 1; barrier.cluster.arrive; barrier.cluster.wait;
    if ctaid == 0 {
        st.weak.u64 [g[0]], 2;
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [mapa(s[0], 1)], 1, [mapa(m, 1)];
    }
    if ctaid == 1 { await (ld.acquire.cluster.shared::cta.u64 [s[0]]) == 1; let r = ld.weak.u64 [g[0]]; }",
        true,
    ),
    (
        "halves for a tensor map, wide",
        "ctas: 2, cluster: 2 } global x: u64 = 0; global g[2]: u64 = 1; global map: tensormap of g[2]; shared s[2]: u64 = 0;
    if ctaid == 0 {
        tensormap.replace.tile.global_address.global.b1024.b64 [map], g;
        fence.proxy.tensormap::generic.release.gpu; st.relaxed.gpu.u64 [x], 1;
    }
    if ctaid == 1 {
        await (ld.relaxed.gpu.u64 [x]) == 1; fence.proxy.tensormap::generic.acquire.gpu [map], 128;
        cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {0}], [s[0]];
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    }",
        false,
    ),
    (
        "halves for a tensor map, one of them narrow",
        "ctas: 2, cluster: 2 } global x: u64 = 0; global g[2]: u64 = 1; global map: tensormap of g[2]; shared s[2]: u64 = 0;
    if ctaid == 0 {
        tensormap.replace.tile.global_address.global.b1024.b64 [map], g;
        fence.proxy.tensormap::generic.release.cta; st.relaxed.gpu.u64 [x], 1;
    }
    if ctaid == 1 {
        await (ld.relaxed.gpu.u64 [x]) == 1; fence.proxy.tensormap::generic.acquire.gpu [map], 128;
        cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {0}], [s[0]];
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
    }",
        true,
    ),
];

#[test]
fn shapes_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    for (name, body, racy) in SHAPES {
        let text = format!("//! target sm_100a ptx 9.4\nkernel k {{\n    launch {{ {body}\n");
        match compare(&model, &text, Treatment::DEFAULT) {
            Ok(Comparison::Agreed { races, .. }) => assert_eq!(races, *racy, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}
