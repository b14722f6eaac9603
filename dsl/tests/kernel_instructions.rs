//! The table of instructions: what assemblers take and what they refuse, and the book's copy of it.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, isa, load};
use std::path::Path;

/// The codes of the errors of a statement, for a target.
fn codes(target: &str, statement: &str) -> Vec<&'static str> {
    let text = format!(
        "//! target {target}\nkernel k {{ launch {{ ctas: 2, cluster: 2 }} global x: u32 = 0; global w[4]: u64; \
         global f[8]: u32; shared s[8]: u32; global h: u16; global hs[8]: u16; shared ss[8]: u16; \
         texture tx: u32 alias x; surface sf: u32 alias x; param map: tensormap of f[4]; let p = ld [w[0]];\n {statement}\n}}"
    );
    let mut sources = SourceMap::default();
    match load(&mut sources, "test.fence", &mut |_| Ok(text.clone()), &LoadOptions::default()) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(|error| error.code).collect(),
    }
}

const ACCEPTED: &[&str] = &[
    "let v = ld.global.f32 [x];",
    "st.global.f64 [w[1]], p;",
    "let v = ld.global.nc.L1::no_allocate.u32 [x];",
    "let v = ld.global.L2::cache_hint.u32 [x], p;",
    "st.global.L1::evict_last.L2::cache_hint.u32 [x], 1, p;",
    "red.relaxed.gpu.global.add.L2::cache_hint.u32 [x], 1, p;",
    "let v = ld.relaxed.gpu.global.L2::128B.u32 [x];",
    "let {a, b, c, d} = ld.L2::evict_last.v4.b64 [w[0]];",
    "nanosleep.u32 20;",
    "let lanes = activemask.b32;",
    "pmevent 15;",
    "pmevent.mask 0xffff;",
    "prefetch.global.L2 [x];",
    "prefetch.global.L2::evict_last [x];",
    "prefetch.tensormap [map];",
    "prefetchu.L1 [x];",
    "applypriority.global.L2::evict_normal [f], 128;",
    "let q = createpolicy.fractional.L2::evict_last.b64;",
    "let q = createpolicy.fractional.L2::evict_last.b64 0x3f000000;",
    "let q = createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64;",
    "let q = createpolicy.range.global.L2::evict_last.b64 [f], 128, 256;",
    "let v = atom.exch.b32 [x], 1;",
    "let v = atom.relaxed.gpu.global.add.f32 [x], 1;",
    "let v = atom.add.noftz.bf16x2 [x], 1;",
    "let v = atom.add.noftz.f16 [h], 1;",
    "red.shared.add.f32 [s[0]], 1;",
    "red.async.relaxed.gpu.min.u32 [x], 1;",
    "red.async.relaxed.sys.global.xor.b32 [x], 1;",
    "red.async.mmio.release.sys.global.dec.u32 [x], 1;",
    "red.add.f64 [w[0]], 1;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [f], [s], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [hs], [ss], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [hs], [ss], 16;",
    "let v = suld.b.1d.b32.trap [sf];",
    "let v = tex.1d.f32.s32 [tx];",
];

/// What is wrong is refused by name.
const REFUSED: &[(&str, &str)] = &[
    ("let {a, b} = ld.mmio.relaxed.sys.global.v2.u32 [f[0]];", "validate::mmio-vector"),
    ("let v = ld.mmio.sys.global.u32 [x];", "validate::mmio-sem"),
    ("let v = ld.mmio.relaxed.gpu.global.u32 [x];", "validate::mmio-scope"),
    ("let v = suld.b.1d.u32 [sf];", "validate::unknown-modifier"),
    ("let v = tex.1d.b64 [tx];", "validate::unknown-modifier"),
    ("let q = createpolicy.fractional.L2::evict_last.b64 0;", "validate::hint-form"),
    ("let q = createpolicy.fractional.L2::evict_last.b64 0x40000000;", "validate::hint-form"),
    ("red.min.f32 [x], 1;", "validate::illegal-operation-type"),
    ("red.add.bf16 [h], 1;", "validate::illegal-operation-type"),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.noftz.f16 [hs], [ss], 16;",
        "validate::illegal-operation-type",
    ),
    ("let v = atom.global.exch.u32 [x], 1;", "validate::illegal-operation-type"),
    ("let v = atom.global.cas.u64 [w[0]], 1, 2;", "validate::illegal-operation-type"),
    ("let v = ld.global.L2::banana.u32 [x];", "validate::unknown-modifier"),
    ("let v = ld.L1::foo [x];", "validate::unknown-modifier"),
    ("let v = ld.volatile.L1::evict_first [x];", "validate::cache-hint"),
    ("let v = ld.shared::cta.L1::no_allocate.u32 [s[0]];", "validate::cache-hint"),
    ("let v = ld.L1::no_allocate [s[0]];", "validate::cache-hint"),
    ("st.L2::64B [x], 1;", "validate::unknown-modifier"),
    ("let v = ld.L2::evict_last.u32 [x];", "validate::cache-hint"),
    ("red.L1::no_allocate.add.u32 [x], 1;", "validate::unknown-modifier"),
    ("let v = ld.global.L2::cache_hint.u32 [x];", "validate::cache-hint"),
    ("let v = ld.ca.L1::evict_last.u32 [x];", "validate::cache-hint"),
    ("let v = ld.weak.global.nc.u32 [x];", "validate::non-coherent"),
    ("let v = ld.shared.nc [s[0]];", "validate::non-coherent"),
    ("let v = ld.relaxed.gpu.global.nc [x];", "validate::non-coherent"),
    ("bar.cta.cta.sync 0;", "validate::barrier-form"),
    ("barrier.sync.cta 0;", "validate::unknown-modifier"),
    ("barrier.sync.aligned.aligned 0;", "validate::duplicate-modifier"),
    ("fence.async.proxy.global;", "validate::unknown-modifier"),
    ("fence.proxy.proxy.async;", "validate::proxy-fence"),
    ("membar.proxy.async.global;", "validate::proxy-fence"),
    ("setmaxnreg.sync.inc.aligned.u32 40, 1;", "validate::operand-count"),
    ("let lanes = activemask.u32;", "validate::unknown-modifier"),
    ("activemask.b32;", "validate::unbound-result"),
    ("let v = atom.cas.L2::cache_hint.b32 [x], 1, 2, p;", "validate::cache-hint"),
    ("let {a, b, c, d} = ld.L2::evict_last.v4 [f[0]];", "validate::cache-hint"),
    ("red.async.release.gpu.global.min.u64 [w[0]], 1;", "validate::illegal-operation-type"),
    ("red.async.mmio.relaxed.sys.global.add.u32 [x], 1;", "validate::async-sem"),
    ("red.async.relaxed.cta.global.add.u32 [x], 1;", "validate::async-sem"),
    ("st.async.relaxed.gpu.global.u32 [x], 1;", "validate::async-sem"),
    ("red.async.relaxed.gpu.min.u32 [x], -1;", "resolve::no-sign"),
    ("nanosleep.u64 20;", "validate::unknown-modifier"),
    ("pmevent 16;", "validate::hint-form"),
    ("let v = ld [x]; pmevent v;", "validate::hint-form"),
    ("pmevent.mask 0x10000;", "validate::hint-form"),
    ("pmevent.mask;", "validate::operand-count"),
    ("prefetch.global.L3 [x];", "validate::unknown-modifier"),
    ("prefetch.global [x];", "validate::hint-form"),
    ("applypriority.global.L2::evict_normal [f], 64;", "validate::hint-form"),
    ("prefetch.tensormap [x];", "validate::not-tensormap"),
    ("discard.global.L2 [f], 128;", "unsupported::instruction"),
];

#[test]
fn what_assemblers_take_is_read() {
    for statement in ACCEPTED {
        assert_eq!(codes("sm_100a", statement), [""; 0], "{statement}");
    }
}

#[test]
fn what_assemblers_refuse_is_refused_by_name() {
    for (statement, code) in REFUSED {
        assert_eq!(codes("sm_100a", statement), [*code], "{statement}");
    }
}

#[test]
fn architectures_have_what_belongs_to_them() {
    let registers = "setmaxnreg.dec.sync.aligned.u32 40;";
    for (target, has) in [
        ("sm_90a", true),
        ("sm_90", false),
        ("sm_100", false),
        ("sm_100a", true),
        ("sm_100f ptx 8.8", true),
        ("sm_100f ptx 8.6", false),
        ("sm_103a", true),
        ("sm_110f", true),
        ("sm_120a", true),
        ("sm_121f", true),
        ("sm_89", false),
    ] {
        let expected: &[&str] = if has { &[] } else { &["validate::target"] };
        assert_eq!(codes(target, registers), expected, "{target}");
    }
    for (target, code) in
        [("sm_90f", "syntax::target"), ("sm_80a", "syntax::target"), ("sm_90b", "syntax::target")]
    {
        assert_eq!(codes(target, "nanosleep.u32 1;"), [code], "{target}");
    }
}

#[test]
fn zeros_are_written_to_whole_pieces_of_the_own_memory() {
    for (statement, expected) in [
        ("st.bulk.weak.shared::cta [s[0]], 32, 0;", None),
        ("st.bulk [s[2]], 8, 0;", None),
        ("st.bulk [s], 0, 0;", None),
        ("st.bulk [f[0]], 32, 0;", Some("validate::space-mismatch")),
        ("st.bulk [mapa(s[0], 1)], 8, 0;", Some("validate::peer-address")),
        ("st.bulk [s[1]], 8, 0;", Some("validate::copy-alignment")),
        ("st.bulk [s[0]], 12, 0;", Some("validate::operand-kind")),
        ("st.bulk [s[0]], 16777224, 0;", Some("validate::operand-kind")),
        ("st.bulk [s[0]], 8, 1;", Some("validate::operand-kind")),
        ("st.bulk s, 8, 0;", Some("validate::operand-kind")),
        ("st.bulk [s[0]], p, 0;", Some("unsupported::async-operand")),
        ("st.bulk [s[0]], 8;", Some("validate::operand-count")),
        ("st.bulk.relaxed [s[0]], 8, 0;", Some("validate::unknown-modifier")),
        ("let v = st.bulk [s[0]], 8, 0;", Some("validate::no-result")),
    ] {
        assert_eq!(codes("sm_100", statement), expected.into_iter().collect::<Vec<_>>(), "{statement}");
    }
    assert_eq!(codes("sm_90", "st.bulk [s[0]], 8, 0;"), ["validate::target"]);
}

#[test]
fn young_words_have_their_floors() {
    for (target, statement) in [
        ("sm_70 ptx 7.3", "let v = ld.L1::evict_last [x];"),
        ("sm_75 ptx 7.4", "let v = ld.L2::cache_hint [x], p;"),
        ("sm_75 ptx 7.4", "let v = ld.L2::256B [x];"),
        ("sm_70 ptx 7.1", "bar.cta.sync 0;"),
        ("sm_70 ptx 7.1", "st.shared::cta [s[0]], 1;"),
        ("sm_70 ptx 6.0", "nanosleep.u32 1;"),
    ] {
        assert_eq!(codes(target, statement).first(), Some(&"validate::target"), "{target} {statement}");
    }
}

/// A full spelling is its own: every name of a row is found again, with the row that it has.
#[test]
fn every_row_is_found_by_its_name() {
    for family in isa::families().chain(isa::spa_families()) {
        for form in family.forms {
            let found = isa::form_of(form.spelled).expect("it is in the table");
            assert_eq!(found.spelled, form.spelled);
            assert_eq!(found.traits, form.traits, "{form:?}");
            assert!(form.name.starts_with(family.name), "{form:?} in {}", family.name);
        }
    }
}

#[test]
fn the_book_has_the_table_of_instructions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference/instructions.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (head, _) = page.split_once("\n|").unwrap_or((page.trim_end_matches('\n'), ""));
    let expected = format!("{}\n\n{}", head.trim_end_matches('\n'), isa::table());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, expected).expect("it can be written");
    } else {
        assert_eq!(page, expected, "run with BLESS=1");
    }
}
