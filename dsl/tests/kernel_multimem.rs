//! Symmetric memory and `multimem`: every form is read, completed and written back, and every rule is broken once.

#[path = "kernel/support.rs"]
#[expect(dead_code, reason = "shared with suites that use more of it")]
mod support;

use fencepost_dsl::FileId;
use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::parse;
use fencepost_dsl::kernel::pretty::pretty;
use std::fmt::Write as _;
use support::{Vocabulary, program, try_load};

const OBJECTS: &str = "symmetric w: u32 = 0; symmetric a[2][4]: u32; symmetric d[2]: u64 = { 1, 2 }; \
    symmetric bytes[4]: u8; global g: u32; shared s: u32; shared bar: mbarrier; \
    multimem mw: u32 alias w; multimem ma[8]: u32 alias a; multimem md[2]: u64 alias d; \
    multimem mb[4]: u8 alias bytes; symmetric halves[8]: u16; multimem mh[8]: u16 alias halves; symmetric other: u32 alias w; view half[4]: u32 of a + 16; \
    view mhalf[2]: u32 of md + 8; let v = ld [g];";

/// What is read and written by the program before the forms, which their listing leaves out.
const FUNCTIONS: &str = "fn read(x: &u32) -> u32 { let y = ld [x]; return y; }
    fn add(x: &u32) { multimem.red.add.u32 [x], 1; }
    fn add_by(x: &u32) { add(x); }
    fn far(x: &u32, gpu: u32) { st.relaxed.sys [peer(x, 1)], gpu; }";

const FORMS: &[&str] = &[
    "let x = multimem.ld_reduce.add.u32 [mw];",
    "let x = multimem.ld_reduce.weak.global.min.s32 [ma[v]];",
    "let x = multimem.ld_reduce.relaxed.gpu.max.u64 [md[1]];",
    "let x = multimem.ld_reduce.acquire.sys.global.and.b32 [mhalf[0]];",
    "multimem.ld_reduce.acquire.sys.or.b64 _, [md[0]];",
    "await (multimem.ld_reduce.acquire.sys.xor [mw]) == 0;",
    "multimem.st [mw], v;",
    "multimem.st.weak.global.b32 [ma[7]], 1;",
    "multimem.st.relaxed.cluster.u64 [md[0]], 2;",
    "multimem.st.release.cta.s32 [mw], v + 1;",
    "multimem.red.add.u32 [mw], 1;",
    "multimem.red.relaxed.gpu.min.s64 [md[0]], 1;",
    "multimem.red.release.sys.global.or.b32 [mhalf[1]], 1;",
    "let {p, q} = multimem.ld_reduce.add.acc::f32.v2.f16x2 [ma[2]];",
    "multimem.ld_reduce.relaxed.sys.add.f64 _, [md[1]];",
    "let {p, q} = multimem.ld_reduce.max.v2.bf16 [mh[6]];",
    "multimem.st.v4.f32 [ma[4]], {1, 2, 3, v};",
    "multimem.st.relaxed.gpu.v8.f16 [mh[0]], {1, 2, 3, 4, 5, 6, 7, 8};",
    "multimem.red.release.gpu.min.v4.f16 [mh[4]], {1, 2, 3, 4};",
    "multimem.red.add.f32 [mw], v;",
    "multimem.st.async.release.sys.f64 [md[0]], 1;",
    "multimem.st.async.release.gpu [mb[3]], 1;",
    "multimem.st.async.release.sys.global.b64 [md[0]], 1;",
    "multimem.red.async.release.sys.add.s32 [ma[v]], 1;",
    "st.release.sys [peer(a[1][v], 1 - gpuid)], 1;",
    "let {p, q} = ld.v2 [peer(half[2], 1)];",
    "atom.add.sys.u32 _, [other], 1;",
    "let x = read(peer(a[1], 1));",
    "add(mw);",
    "add_by(&ma[2]);",
    "far(half, 3);",
    "final { assert [peer(w, 1)] == 0 && [peer(a[1][2], 0)] == 1; }",
];

const ILLEGAL: &[(&str, &str)] = &[
    ("multimem.ld [mw];", "validate::unknown-modifier"),
    ("multimem.red.inc.u32 [mw], 1;", "validate::illegal-operation"),
    ("multimem.red.exch.b32 [mw], 1;", "validate::illegal-operation"),
    ("multimem.red.u32 [mw], 1;", "validate::missing-operation"),
    ("multimem.red.add.s64 [md[0]], 1;", "validate::illegal-operation-type"),
    ("multimem.red.and.u32 [mw], 1;", "validate::illegal-operation-type"),
    ("multimem.red.acquire.sys.add.u32 [mw], 1;", "validate::illegal-sem"),
    ("multimem.red.weak.add.u32 [mw], 1;", "validate::illegal-sem"),
    ("multimem.st.acquire.sys.u32 [mw], 1;", "validate::illegal-sem"),
    ("multimem.st.add.u32 [mw], 1;", "validate::illegal-operation"),
    ("multimem.st.release.u32 [mw], 1;", "validate::missing-scope"),
    ("multimem.st.sys.u32 [mw], 1;", "validate::unexpected-scope"),
    ("multimem.st.u16 [mw], 1;", "validate::multimem-type"),
    ("multimem.st [mb[0]], 1;", "validate::multimem-type"),
    ("multimem.st.u64 [mw], 1;", "validate::type-mismatch"),
    ("multimem.st.shared.u32 [mw], 1;", "validate::multimem-space"),
    ("multimem.st [mw];", "validate::operand-count"),
    ("multimem.st [mw], {1, 2};", "validate::vector-count"),
    ("let x = multimem.st [mw], 1;", "validate::no-result"),
    ("multimem.ld_reduce.add.u32 [mw];", "validate::unbound-result"),
    ("let x = multimem.ld_reduce.release.sys.add.u32 [mw];", "validate::illegal-sem"),
    ("let x = multimem.ld_reduce.acquire.add.u32 [mw];", "validate::missing-scope"),
    ("let x = multimem.ld_reduce.min.f32 [mw];", "validate::illegal-operation-type"),
    ("let x = multimem.ld_reduce.and.f16x2 [mw];", "validate::illegal-operation-type"),
    ("let x = multimem.ld_reduce.add.acc::f32.f32 [mw];", "validate::multimem-type"),
    ("let x = multimem.ld_reduce.min.acc::f32.f16x2 [mw];", "validate::multimem-type"),
    ("let x = multimem.ld_reduce.add.acc::f16.f16x2 [mw];", "validate::multimem-type"),
    ("let x = multimem.ld_reduce.add.acc::f32.u32 [mw];", "validate::multimem-type"),
    ("let {p, q} = multimem.ld_reduce.add.v2.f64 [md[0]];", "validate::multimem-type"),
    ("let x = multimem.ld_reduce.add.f16 [mh[0]];", "validate::multimem-type"),
    ("multimem.red.add.noftz.f16x2 [mw], 1;", "validate::unknown-modifier"),
    ("multimem.red.min.f16x2 [mw], 1;", "validate::illegal-operation-type"),
    ("multimem.red.add.e4m3x4 [mw], 1;", "validate::multimem-type"),
    ("multimem.st.e4m3x4 [mw], 1;", "validate::target"),
    ("multimem.st.v2.u32 [ma[0]], {1, 2};", "validate::multimem-type"),
    ("multimem.st.v2 [ma[0]], {1, 2};", "validate::multimem-type"),
    ("multimem.st.v2.f32 [mw], {1, 2};", "validate::vector-alignment"),
    ("multimem.st.v2.f32 [ma[1]], {1, 2};", "validate::vector-alignment"),
    ("multimem.st.v2.f32 [ma[0]], {1, 2, 3};", "validate::vector-count"),
    ("multimem.st.v2.f16 [ma[0]], {1, 2};", "validate::type-mismatch"),
    ("multimem.red.async.release.gpu.add.f32 [mw], 1;", "validate::unknown-modifier"),
    ("multimem.st.async.u32 [mw], 1;", "validate::async-sem"),
    ("multimem.st.async.weak.u32 [mw], 1;", "validate::async-sem"),
    ("multimem.st.async.release.u32 [mw], 1;", "validate::async-sem"),
    ("multimem.st.async.release.cta.u32 [mw], 1;", "validate::async-sem"),
    ("multimem.st.release.sys.async.u32 [mw], 1;", "validate::unknown-modifier"),
    ("multimem.red.async.release.gpu.min.u32 [mw], 1;", "validate::illegal-operation"),
    ("multimem.red.async.relaxed.gpu.add.u32 [mw], 1;", "validate::async-sem"),
    ("multimem.st.async.release.gpu [w], 1;", "validate::multimem-address"),
    ("multimem.ld_reduce.async.add.u32 _, [mw];", "validate::unknown-modifier"),
    ("multimem.cp.async.bulk.global.shared::cta.bulk_group [ma[0]], [s], 16;", "unsupported::instruction"),
    ("multimem.red.add.u32 [w], 1;", "validate::multimem-address"),
    ("multimem.red.add.u32 [g], 1;", "validate::multimem-address"),
    ("multimem.red.add.u32 [s], 1;", "validate::multimem-address"),
    ("let x = ld [mw];", "validate::multimem-address"),
    ("st.release.sys [mw], 1;", "validate::multimem-address"),
    ("atom.add.sys.u32 _, [ma[0]], 1;", "validate::multimem-address"),
    ("cp.async.ca.shared::cta.global [s], [mw], 4;", "validate::multimem-address"),
    ("final { assert [mw] == 0; }", "validate::multimem-address"),
    ("let x = read(mw);", "validate::multimem-address"),
    ("add_by(w);", "validate::multimem-address"),
    ("far(g, 1);", "validate::peer-device"),
    ("far(mw, 1);", "validate::multimem-address"),
    ("let x = ld [peer(g, 1)];", "validate::peer-device"),
    ("let x = ld [peer(s, 1)];", "validate::peer-device"),
    ("let x = ld [peer(w, 1u64)];", "resolve::width-mismatch"),
    ("let x = peer(w, 1);", "validate::address-value"),
    ("let x = ld [near(w, 1)];", "syntax::address"),
];

/// Declarations that are none.
const OBJECTS_REFUSED: &[(&str, &str)] = &[
    ("multimem x: u32 alias g;", "validate::alias"),
    ("multimem x: u32 alias mw;", "validate::alias"),
    ("multimem x: u64 alias w;", "validate::alias"),
    ("global x: u32 alias w;", "validate::alias"),
    ("symmetric x: u32 alias g;", "validate::alias"),
    ("texture x: u32 alias w;", "validate::alias"),
    ("symmetric x: mbarrier;", "validate::mbarrier-space"),
    ("symmetric x: tensormap of a[1, 4];", "validate::symmetric-object"),
    ("global x: tensormap of a[1, 4];", "validate::tensormap"),
];

fn source(body: &str) -> String {
    format!("//! target sm_100 ptx 9.4\n{FUNCTIONS}\nkernel k {{ launch {{ gpus: 2 }} {OBJECTS}\n {body}\n}}")
}

#[test]
fn every_form_is_read_and_written_back() {
    let mut shown = String::new();
    let before: Vec<String> = dump(&program(&source(""))).lines().map(str::to_owned).collect();
    for line in before.iter().filter(|line| line.contains("symmetric") || line.contains("multimem")) {
        let _ = writeln!(shown, "{}", line.trim());
    }
    for body in FORMS {
        let text = source(body);
        let program_text = dump(&program(&text));
        let _ = writeln!(shown, "{body}");
        for line in program_text.lines().skip(before.len()) {
            let _ = writeln!(shown, "    {}", line.trim());
        }
        let (tree, errors) = parse(&text, FileId(0));
        assert_eq!(errors.len(), 0, "{body}\n{errors:#?}");
        let printed = pretty(&tree).unwrap_or_else(|| panic!("{body}"));
        assert_eq!(dump(&program(&printed)), program_text, "{printed}");
    }
    insta::assert_snapshot!("multimem_forms", shown);
}

#[test]
fn every_rule_is_kept() {
    let mut shown = String::new();
    for (body, code) in ILLEGAL.iter().chain(OBJECTS_REFUSED) {
        let errors = try_load(&source(body)).err().unwrap_or_default();
        let codes: Vec<&str> = errors.iter().map(|error| error.code).collect();
        assert_eq!(codes, [*code], "{body}\n{errors:#?}");
        let (message, help) = (&errors[0].message, errors[0].help.as_deref().unwrap_or(""));
        assert!(!message.ends_with('.') && !help.ends_with('.'), "{body}");
        let _ = writeln!(shown, "{body}\n    {code} {:?}\n    {message}\n    help: {help}", errors[0].rules);
    }
    insta::assert_snapshot!("multimem_errors", shown);
}

#[test]
fn older_targets_do_not_have_it() {
    let newer = [
        ("sm_80 ptx 9.4", FORMS[6]),
        ("sm_90 ptx 8.0", FORMS[6]),
        ("sm_90 ptx 9.4", "multimem.st.async.release.gpu [mw], 1;"),
        ("sm_100 ptx 9.2", "multimem.red.async.release.gpu.add [mw], 1;"),
        ("sm_90 ptx 8.1", "multimem.ld_reduce.add.acc::f32.f16x2 _, [mw];"),
        ("sm_100 ptx 9.4", "multimem.ld_reduce.add.e4m3x4 _, [mw];"),
        ("sm_120f ptx 9.4", "multimem.st.e5m2x4 [mw], 1;"),
    ];
    for (target, body) in newer {
        let text = source(body).replace("sm_100 ptx 9.4", target).replace(FUNCTIONS, "");
        let errors = try_load(&text).expect_err("it is newer");
        assert!(errors.iter().all(|error| error.code == "validate::target"), "{target}: {errors:#?}");
    }
}

#[test]
fn random_opcodes_are_legal_with_their_defaults_or_have_one_error() {
    let loads: &[&str] = &["[mw]", "_, [md[0]]", "[w]", "[mw], 1", "[mh[4]]", "_, [ma[4]]"];
    let stores: &[&str] =
        &["[mw], 1", "[md[1]], 1", "[mb[0]], 1", "[w], 1", "[ma[4]], {1, 2}", "[mh[0]], {1, 2, 3, 4}"];
    let vocabulary = Vocabulary {
        operands: &[("multimem.ld_reduce", loads), ("multimem", stores)],
        results: &["", "let q = ", "let {p, q} = ", "await "],
    };
    vocabulary.check_random((31, 20_000), 1, source);
}
