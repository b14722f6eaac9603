//! `tcgen05` and tensor memory: every form is read, completed and written back, and every rule is broken once.

#[path = "kernel/support.rs"]
#[expect(dead_code, reason = "shared with suites that use more of it")]
mod support;

use fencepost_dsl::FileId;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;
use std::fmt::Write as _;
use support::{program, try_load};

const OBJECTS: &str = "shared a[2][2]: b128; shared b: b128; shared slot: u32; shared wide: u64; shared bar: mbarrier; \
    global g: u32; tmem t[2][4]: u32; tmem c[2][2]: b128; tmem one: u32; view half[4]: u32 of t; register r: u32; register rs[4]: u32; shared slots[2]: u32; \
    let v = ld [g];";

const FORMS: &[&str] = &[
    "tcgen05.mma.cta_group::1.kind::f16 [t], [a], [b];",
    "tcgen05.mma.cta_group::1.kind::tf32 [t[1]], [a[0]], [b], 0;",
    "tcgen05.mma.cta_group::1.kind::f8f6f4.collector::a::fill [half], [c[1]], [b], v != 0;",
    "tcgen05.mma.cta_group::1.kind::i8 [one], [one], [b], 1;",
    "tcgen05.cp.cta_group::1.128x256b [c], [a];",
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [c[0][1]], [a[v][0]];",
    "tcgen05.mma.ashift.collector::a::lastuse.kind::f16.cta_group::1 [t], [half], [b];",
    "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b4x16_p64 [c[0][1]], [a[v][0]];",
    "tcgen05.ld.sync.aligned.16x32bx2.x128.b32 r, [one], 4;",
    "tcgen05.st.sync.aligned.16x32bx2.x1.unpack::16b.b32 [one], 4, v;",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [t[0][v]];",
    "tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32 r, [one];",
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [half[3]], v + 1;",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar];",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mapa(bar, 1)];",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], 3;",
    "tcgen05.wait::ld.sync.aligned;",
    "tcgen05.wait::st.sync.aligned;",
    "tcgen05.fence::before_thread_sync;",
    "tcgen05.fence::after_thread_sync;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;",
    "tcgen05.alloc.cta_group::1.sync.aligned.b32 [slot], 512;",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [t], 64;",
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
    "tcgen05.ld.sync.aligned.32x32b.x4.b32 rs, [t[v & 1]];",
    "tcgen05.st.sync.aligned.32x32b.x4.b32 [half], {1, 2, 3, v};",
    "tcgen05.ld.sync.aligned.32x32b.x4.b32 rs[1], [half[3]];",
];

const ILLEGAL: &[(&str, &str)] = &[
    ("tcgen05.mul [t], [a], [b];", "validate::tensor-form"),
    ("tcgen05.mma.cta_group::1 [t], [a], [b];", "validate::tensor-form"),
    ("tcgen05.mma.kind::f16 [t], [a], [b];", "validate::tensor-form"),
    ("tcgen05.mma.cta_group::2.kind::f16 [t], [a], [b];", "unsupported::modifier"),
    ("tcgen05.mma.ws.cta_group::1.kind::f16 [t], [a], [b];", "unsupported::modifier"),
    ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale [t], [a], [b];", "unsupported::modifier"),
    ("tcgen05.mma.cta_group::1.kind::f16.kind::tf32 [t], [a], [b];", "validate::duplicate-modifier"),
    ("tcgen05.mma.cta_group::1.kind::f16.collector::foo [t], [a], [b];", "validate::unknown-modifier"),
    ("tcgen05.mma.cta_group::1.kind::f16.collector::b::fill [t], [a], [b];", "validate::unknown-modifier"),
    ("tcgen05.mma.cta_group::1.kind::f16.ashift [t], [a], [b];", "validate::tensor-form"),
    (
        "tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::use [t], [half], [b];",
        "validate::tensor-form",
    ),
    ("tcgen05.cp.cta_group::1.128x256b.b9 [c], [a];", "validate::unknown-modifier"),
    ("tcgen05.cp.cta_group::1.128x256b.b8x16 [c], [a];", "validate::tensor-form"),
    ("tcgen05.cp.cta_group::1.128x256b.warpx4 [c], [a];", "validate::tensor-form"),
    ("tcgen05.cp.cta_group::1.64x128b [c], [a];", "validate::tensor-form"),
    ("tcgen05.cp.cta_group::1.64x128b.warpx4 [c], [a];", "validate::tensor-form"),
    ("tcgen05.cp.cta_group::1.32x32b [c], [a];", "validate::unknown-modifier"),
    ("tcgen05.cp.cta_group::1 [c], [a];", "validate::tensor-form"),
    ("tcgen05.ld.sync.aligned.32x32b.b32 r, [one];", "validate::tensor-form"),
    ("tcgen05.ld.sync.aligned.32x32b.16x64b.x1.b32 r, [one];", "validate::duplicate-modifier"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.x2.b32 r, [one];", "validate::duplicate-modifier"),
    ("tcgen05.ld.sync.aligned.128x256b.x1.b32 r, [one];", "validate::unknown-modifier"),
    ("tcgen05.ld.sync.aligned.16x128b.x128.b32 r, [one];", "validate::tensor-form"),
    ("tcgen05.ld.sync.aligned.16x256b.x64.b32 r, [one];", "validate::tensor-form"),
    ("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 r, [one];", "validate::operand-count"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.unpack::16b.b32 r, [one];", "validate::unknown-modifier"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.shared.b32 [slot], 32;", "validate::unknown-modifier"),
    ("tcgen05.mma.cta_group::1.kind::f16.sync [t], [a], [b];", "validate::unknown-modifier"),
    ("tcgen05.mma.cta_group::1.kind::f16 [a], [a], [b];", "validate::space-mismatch"),
    ("tcgen05.mma.cta_group::1.kind::f16 [t], [a], [one];", "validate::space-mismatch"),
    ("tcgen05.mma.cta_group::1.kind::f16 [t], [g], [b];", "validate::space-mismatch"),
    ("tcgen05.mma.cta_group::1.kind::f16 [t], [a];", "validate::operand-count"),
    ("tcgen05.mma.cta_group::1.kind::f16 [t], [mapa(a, 1)], [b];", "validate::peer-address"),
    ("tcgen05.mma.cta_group::1.kind::f16 [mapa(t, 1)], [a], [b];", "validate::peer-address"),
    ("tcgen05.shift.cta_group::1.down [t];", "unsupported::modifier"),
    ("tcgen05.cp.cta_group::1.128x256b [t], [a];", "validate::copy-elements"),
    ("tcgen05.cp.cta_group::1.128x256b [c], [g];", "validate::space-mismatch"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [t];", "validate::copy-elements"),
    ("tcgen05.ld.sync.aligned.32x32b.x3.b32 r, [one];", "validate::unknown-modifier"),
    ("tcgen05.ld.sync.aligned.32x32b.x4.b32 rs, [one];", "validate::copy-elements"),
    ("tcgen05.st.sync.aligned.32x32b.x4.b32 [half], 1;", "validate::vector-count"),
    ("tcgen05.st.sync.aligned.32x32b.x2.b32 [one], {1, 2};", "validate::vector-count"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [slots], 32;", "validate::operand-kind"),
    ("let w = mov.b32 rs;", "resolve::dimension-count"),
    ("tcgen05.ld.aligned.32x32b.x1.b32 r, [one];", "validate::tensor-form"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [slot];", "validate::space-mismatch"),
    ("tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [c[0][0]];", "validate::type-mismatch"),
    ("tcgen05.ld.red.sync.aligned.32x32b.x1.b32 r, [one];", "unsupported::modifier"),
    ("tcgen05.st.sync.aligned.32x32b.x1.b32 [one];", "validate::operand-count"),
    ("tcgen05.commit.cta_group::1.b64 [bar];", "validate::tensor-form"),
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [slot];", "validate::not-mbarrier"),
    ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar], 3;", "validate::operand-count"),
    (
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.multicast::cluster.b64 [mapa(bar, 1)], 3;",
        "validate::peer-address",
    ),
    ("tcgen05.wait::ld.sync;", "validate::tensor-form"),
    ("tcgen05.fence::before_thread_sync.cta_group::1;", "validate::unknown-modifier"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [slot], 48;", "validate::tensor-columns"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [slot], 16;", "validate::tensor-columns"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [slot], v;", "validate::tensor-columns"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [wide], 32;", "validate::type-mismatch"),
    ("tcgen05.alloc.cta_group::1.sync.aligned.b32 [g], 32;", "validate::space-mismatch"),
    ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 [slot], 32;", "validate::space-mismatch"),
    ("let w = ld [one];", "validate::tensor-access"),
    ("st [one], 1;", "validate::tensor-access"),
    ("final { assert [one] == 1; }", "validate::tensor-access"),
    ("f(one);", "unsupported::tensor-reference"),
];

/// Declarations of tensor memory that are none.
const OBJECTS_REFUSED: &[(&str, &str)] = &[
    ("tmem x: u32 = 0;", "validate::tensor-object"),
    ("tmem x: u32 alias one;", "validate::tensor-object"),
    ("tmem x: mbarrier;", "validate::mbarrier-space"),
    ("tmem x: tensormap of t[1, 1];", "validate::tensormap"),
];

fn source(body: &str) -> String {
    format!(
        "//! target sm_100a ptx 9.4\nfn f(x: &u32) {{ let y = ld [x]; }}\nkernel k {{ launch {{ ctas: 2 }} {OBJECTS}\n {body}\n}}"
    )
}

#[test]
fn every_form_is_read_and_written_back() {
    let mut shown = String::new();
    for body in FORMS {
        let text = source(body);
        let program_text = dump(&program(&text));
        let last = program_text.lines().rfind(|line| line.contains("tcgen05")).map_or("", str::trim);
        let _ = writeln!(shown, "{body}\n    {last}");
        let (tree, errors) = parse(&text, FileId(0));
        assert_eq!(errors.len(), 0, "{body}\n{errors:#?}");
        let printed = pretty(&tree).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(dump(&program(&printed)), program_text, "{printed}");
    }
    insta::assert_snapshot!("tensor_forms", shown);
}

#[test]
fn every_rule_is_kept() {
    for (body, code) in ILLEGAL.iter().chain(OBJECTS_REFUSED) {
        let errors = try_load(&source(body)).err().unwrap_or_default();
        let codes: Vec<&str> = errors.iter().map(|error| error.code).collect();
        assert_eq!(codes, [*code], "{body}\n{errors:#?}");
        assert!(!errors[0].message.ends_with('.'), "{body}");
    }
}

#[test]
fn older_targets_do_not_have_it() {
    for target in ["sm_90 ptx 9.4", "sm_100 ptx 9.4", "sm_100a ptx 8.5", "sm_100f ptx 8.7", "sm_120a ptx 9.4"]
    {
        let text = source(FORMS[12]).replace("sm_100a ptx 9.4", target);
        let errors = try_load(&text).expect_err("it is newer");
        assert!(errors.iter().all(|error| error.code == "validate::target"), "{target}: {errors:#?}");
    }
}

#[test]
fn families_have_it_and_integers_are_rarer() {
    for (target, has_integers) in
        [("sm_100a ptx 8.6", true), ("sm_100f ptx 8.8", false), ("sm_103a", false), ("sm_110a", true)]
    {
        let codes = |form: usize| -> Vec<&str> {
            let errors = try_load(&source(FORMS[form]).replace("sm_100a ptx 9.4", target)).err();
            errors.unwrap_or_default().iter().map(|error| error.code).collect()
        };
        assert_eq!(codes(0), [""; 0], "{target}");
        assert_eq!(codes(3).is_empty(), has_integers, "{target}");
    }
}

#[test]
fn an_mbarrier_in_tensor_memory_is_told_where_it_is() {
    let errors = try_load(&source("tmem x: mbarrier;")).err().unwrap_or_default();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].message, "`x` is in tensor memory; an mbarrier lives in shared memory");
}
