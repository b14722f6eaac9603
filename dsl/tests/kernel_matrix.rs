//! `wgmma` and `mov` of registers: which shapes and types go together, and where they are.

#[path = "kernel/support.rs"]
#[expect(dead_code, reason = "shared with suites that use more of it")]
mod support;

use support::{instructions, try_load};

fn source(target: &str, body: &str) -> String {
    format!(
        "{target}\nkernel k {{ shared a: b128; shared b: b128; register acc: u32; register wide: u64; \
         {body}\n}}"
    )
}

fn codes(target: &str, body: &str) -> Vec<&'static str> {
    let errors = try_load(&source(target, body)).err().unwrap_or_default();
    errors.iter().map(|error| error.code).collect()
}

/// What follows `wgmma.mma_async.sync.aligned`.
const PRODUCTS: &[&str] = &[
    "m64n8k16.f16.f16.f16",
    "m64n24k16.f32.f16.f16",
    "m64n256k16.f32.bf16.bf16",
    "m64n64k8.f32.tf32.tf32",
    "m64n64k32.f16.e4m3.e5m2",
    "m64n64k32.f32.e5m2.e5m2",
    "m64n24k32.s32.s8.u8",
    "m64n48k32.s32.u8.u8.satfinite",
    "m64n16k256.s32.b1.b1.and.popc",
];

const ILLEGAL: &[(&str, &str)] = &[
    ("m64n8k8.f32.f16.f16", "validate::matrix-form"),
    ("m64n8k16.s32.s8.s8", "validate::matrix-form"),
    ("m64n8k16.f16.f16.f32", "validate::duplicate-modifier"),
    ("m64n8k16.f16.bf16.bf16", "validate::matrix-form"),
    ("m64n8k16.f32.f16.bf16", "validate::matrix-form"),
    ("m64n40k32.s32.s8.s8", "validate::matrix-form"),
    ("m64n8k16.f64.f64.f64", "validate::unknown-modifier"),
    ("m64n12k16.f32.f16.f16", "validate::unknown-modifier"),
    ("m64n8k256.s32.b1.b1", "validate::matrix-form"),
    ("m64n8k256.s32.b1.b1.and", "validate::matrix-form"),
    ("m64n8k16.f32.f16.f16.and.popc", "validate::matrix-form"),
    ("m64n8k16.f32.f16.f16.satfinite", "validate::matrix-form"),
    ("m64n8k16.m64n8k16.f32.f16.f16", "validate::duplicate-modifier"),
    ("m64n8k16.bf16.f32.bf16", "validate::matrix-form"),
    ("m64n8k16.f32.f16", "validate::matrix-form"),
    ("f32.f16.f16", "validate::matrix-form"),
    ("sp.m64n8k16.f32.f16.f16", "unsupported::modifier"),
];

const OTHERS: &[(&str, &str)] = &[
    ("wgmma.fence.sync;", "validate::matrix-form"),
    ("wgmma.commit_group;", "validate::matrix-form"),
    ("wgmma.wait_group.sync.aligned;", "validate::operand-count"),
    ("wgmma.wait_all.sync.aligned;", "validate::matrix-form"),
    ("wgmma.fence.sync.aligned.sync;", "validate::duplicate-modifier"),
    ("let v = mov.b32.b32 acc;", "validate::duplicate-modifier"),
    ("let v = mov.b64 acc;", "validate::type-mismatch"),
    ("mov.u32 wide, 0;", "validate::type-mismatch"),
    ("let v = mov.f32 acc;", "validate::unknown-modifier"),
];

#[test]
fn products_have_the_shape_that_goes_with_their_types() {
    for product in PRODUCTS {
        let opcode = format!("wgmma.mma_async.sync.aligned.{product}");
        let text = source("//! target sm_90a", &format!("{opcode} acc, [a], [b];"));
        assert_eq!(instructions(&text)[0].text, opcode);
    }
    for (product, code) in ILLEGAL {
        let body = format!("wgmma.mma_async.sync.aligned.{product} acc, [a], [b];");
        assert_eq!(codes("", &body), [*code], "{product}");
    }
}

#[test]
fn every_rule_is_kept() {
    for (body, code) in OTHERS {
        assert_eq!(codes("", body), [*code], "{body}");
    }
}

#[test]
fn it_is_on_one_architecture_alone() {
    let body = "wgmma.fence.sync.aligned;";
    for target in ["", "//! target sm_90a", "//! target sm_90a ptx 8.0", "//! target ptx 8.0"] {
        assert_eq!(codes(target, body), [""; 0], "{target}");
    }
    for target in ["sm_90", "sm_100a", "sm_100f", "sm_120", "sm_90a ptx 7.8"] {
        assert_eq!(codes(&format!("//! target {target}"), body), ["validate::target"], "{target}");
    }
}
