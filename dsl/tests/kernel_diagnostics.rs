//! Every rejected input gets its own code, at the right line, with words that say what is wrong.

use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{Diagnostic, SourceMap};

fn errors(text: &str) -> (SourceMap, Vec<Diagnostic>) {
    let mut sources = SourceMap::default();
    let result = load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default());
    (sources, result.err().unwrap_or_default())
}

/// Checks that `text` has exactly one error: its code, line, and a part of its message or help.
fn check(text: &str, code: &str, line: usize, part: &str) {
    let (sources, errors) = errors(text);
    let all: Vec<String> = errors.iter().map(|e| format!("{} {} {:?}", e.code, e.message, e.help)).collect();
    assert_eq!(errors.len(), 1, "{text}\n{all:#?}");
    let error = &errors[0];
    assert_eq!((error.code, sources.line_column(error.span()).line), (code, line), "{text}\n{all:#?}");
    let words = format!("{} {}", error.message, error.help.as_deref().unwrap_or(""));
    assert!(words.contains(part), "{text}\n{words}\nlacks {part}");
    assert!(!error.message.ends_with('.'), "{}", error.message);
}

/// Objects of every kind, then `body` on line 3.
fn check_body(body: &str, code: &str, part: &str) {
    let text = format!(
        "kernel k(N in 0..=3) {{ launch {{ warps: 2, lanes: 32 }}\n global x: u32 = 0; global a[8]: u32; global w: u64; \
         global h: u16; global b: u8; global c[4]: b128; shared s[2][4]: u32;\n {body}\n}}"
    );
    check(&text, code, 3, part);
}

#[test]
fn syntax() {
    for (text, code, line, part) in [
        ("kernel k {\n let = 1;\n}", "syntax::unexpected-token", 2, "expected a name, `_` or `{`, found `=`"),
        ("kernel k {\n let x = 1", "syntax::unexpected-end", 2, "found the end of the file"),
        ("kernel k {\n let x = 1 @ 2;\n}", "syntax::bad-token", 2, "an operator"),
        ("kernel k {\n let x = 12ab;\n}", "syntax::bad-number", 2, "`12ab` is not a number"),
        ("kernel k {\n let x = 256u8;\n}", "syntax::bad-number", 2, "8 bits"),
        ("//! target H100\nkernel k {}", "syntax::target", 1, "sm_90 ptx 8.0"),
        ("kernel k {\n let x = 1 < 2 < 3;\n}", "syntax::unexpected-token", 2, "found `<`"),
        (
            "foo\n;kernel k {}",
            "syntax::unexpected-token",
            1,
            "`const`, `fn`, `global`, `kernel`, `program` or `use`",
        ),
    ] {
        check(text, code, line, part);
    }
}

#[test]
fn several_errors_in_one_run() {
    let (_, found) = errors("kernel k {\n let = 1;\n let x = ;\n exit 3;\n}");
    assert_eq!(found.len(), 3, "{found:#?}");
    let (_, found) = errors("kernel k {\n let x = y;\n let z = x + 1;\n foo.bar [z];\n assert 3;\n}");
    let codes: Vec<_> = found.iter().map(|error| error.code).collect();
    assert_eq!(codes, ["resolve::unknown-name", "resolve::unknown-instruction", "resolve::condition-width"]);
    let many = format!("kernel k {{ {} }}", "assert zz;\n".repeat(30));
    let (_, found) = errors(&many);
    assert_eq!(found.len(), 21);
    assert_eq!(found[20].code, "limit::diagnostics");
    assert!(found[20].message.contains("10 more"));
}

#[test]
fn names_and_types() {
    for (body, code, part) in [
        ("let counter = 1; let y = countre;", "resolve::unknown-name", "did you mean `counter`?"),
        ("let y = 1; let y = 2;", "resolve::duplicate-name", "declared twice"),
        ("let tid = 2;", "resolve::reserved-name", "special register"),
        ("let y = 1; y = 2;", "resolve::not-assignable", "declare it with `var`"),
        ("x = 2;", "resolve::not-assignable", "st [x]"),
        ("for i in 0..2 { i = 1; }", "resolve::not-assignable", "`i`"),
        ("let v = ld [w]; let y = v + tid;", "resolve::width-mismatch", "as u64"),
        ("let y: u8 = tid;", "resolve::width-mismatch", "as u8"),
        ("let y: u8 = 300;", "resolve::literal-too-large", "8 bits"),
        ("if tid { }", "resolve::condition-width", "tid != 0"),
        ("let y = x;", "resolve::memory-as-value", "ld [x]"),
        ("let y = a[1];", "resolve::memory-as-value", "ld [a["),
        ("let v = ld [N];", "resolve::not-memory", "value"),
        ("let v = ld [a];", "resolve::dimension-count", "1 index"),
        ("let v = ld [s[1]];", "resolve::dimension-count", "[…][…]"),
        ("let v = ld [c[0]]; let y = v + 1;", "resolve::b128-operation", "compared"),
        ("let y: u33 = 1;", "resolve::unknown-type", "u33"),
        ("break;", "resolve::misplaced-statement", "outside of a loop"),
        ("return;", "resolve::misplaced-statement", "last statement"),
        ("if tid == 0 { global q: u32; }", "resolve::misplaced-statement", "kernel itself"),
        ("let {p, q} = 3;", "resolve::pattern", "ld.v2"),
        ("final { assert [x] == tid; }", "resolve::final-register", "gone"),
        ("nothing(1);", "resolve::unknown-function", "nothing"),
        ("let m: mbarrier = 1;", "resolve::unknown-type", "shared bar: mbarrier;"),
        ("global m: tensormap;", "validate::tensormap", "tensormap of src[4]"),
    ] {
        check_body(body, code, part);
    }
}

#[test]
fn values_have_no_sign() {
    for (body, part) in [
        ("assert tid > -1;", "`-1` is 4294967295 for `>`"),
        (
            "assert tid > -1;",
            "write `(x ^ 0x80000000) > 0x7fffffff`; if the bits are meant, write `0xffffffff`",
        ),
        ("assert -3 <= tid;", "write `0x7ffffffd <= (x ^ 0x80000000)`"),
        ("let v = ld [w]; assert v < -1;", "`0xffffffffffffffff`"),
        ("let v = ld [b]; assert v < -1;", "write `(x ^ 0x80) < 0x7f`"),
        ("assert tid >= 2 - 3;", "`2 - 3` is 4294967295"),
        ("assert tid >= (N == 0 ? 1 : -1);", "is not below zero"),
        ("let none = -1; assert tid > none;", "`none`"),
        ("assert -tid < 3;", "write `0 - …`"),
        ("if ld [x] > -1 { }", "`-1` is"),
        ("while ld [x] > -1 { }", "`-1` is"),
        ("await ld.relaxed.gpu [x] > -1;", "`-1` is"),
        ("final { assert [x] > -1; }", "`-1` is"),
        ("let v = tid / -2;", "`-2` is 4294967294 for `/`"),
        ("let v = tid % -2;", "`0xfffffffe`"),
        ("let v = -8 / tid;", "for `/`"),
        ("let v = -8 >> 1;", "which shifts in zeros"),
        ("let v = tid << -1;", "with `>>`"),
        ("var v = tid; v >>= -1;", "with `<<`"),
        ("for i in -1..3 { }", "`-1` is 4294967295 as a bound of a loop"),
        ("for i in 0..-1 { }", "count from 0"),
        ("red.max.relaxed.gpu.u32 [x], -1;", "write `.max.s32`"),
        ("let v = atom.min.relaxed.gpu [w], -1;", "write `.min.s64`"),
        ("assert tid >= 0;", "`tid >= 0` is always true: values have no sign"),
        ("assert 0 <= tid;", "`tid < 0x80000000`"),
        ("assert tid < 0;", "`tid < 0` is never true"),
        ("assert 0x0u32 > tid + 1;", "`tid + 1 >= 0x80000000`"),
    ] {
        check_body(body, "resolve::no-sign", part);
    }
    for (text, part) in [
        ("const A = -1;\nkernel k {}", "those of -1 are `0xffffffff`"),
        ("const A = 3 > -1;\nkernel k {}", "those of -1"),
        ("kernel k(N in -1..=3) {}", "those of -1"),
        ("global x: u32 = -1;\nkernel k {}", "those of -1"),
    ] {
        check(text, "resolve::constant-overflow", 1, part);
    }
}

#[test]
fn bits_below_zero_are_values_like_others() {
    let text = "
        const NONE = 0xffffffff;
        kernel k(N in 0..=3) {
            global x: u32 = 0; global y: u32 = NONE;
            let none = -1;
            var v = tid;
            v -= 1; v += -1; v *= -1; v &= -4;
            st.relaxed.gpu [x], -1;
            atom.add.relaxed.gpu.u32 _, [x], -1;
            atom.min.relaxed.gpu.s32 _, [x], -1;
            red.and.relaxed.gpu.b32 [x], -2;
            assert v == -1 || v != none || none == 0 - 1;
            assert v < NONE && v < ~0 && v <= (-1) as u32 && v >> 31 == 1;
            assert v > 0 || v <= 0 || v % (-1 & 7) == 0 || v < N - 1 || v < 3 - 2;
            assert -0 < v || v < -1 + 2 || v < 4 * 2 - 7;
            final { assert [x] == -1; }
        }";
    let (_, errors) = errors(text);
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn objects_and_launches() {
    for (body, code, part) in [
        ("launch z { ctas: 0 }", "validate::launch-dimension", "`ctas` is 0"),
        ("launch z { lanes: 33 }", "validate::launch-dimension", "33"),
        ("launch z { cta: 1 }", "validate::launch-dimension", "did you mean `ctas`?"),
        ("launch z { ctas: 1000000000 }", "limit::launch", "4096"),
        ("launch z { warps: 64, lanes: 32 }", "limit::launch", "1024"),
        ("launch { }", "resolve::duplicate-name", "`default`"),
        ("launch z { block: [32, 0] }", "validate::launch-dimension", "`block` is 0"),
        ("launch z { block: [8, 5] }", "unsupported::launch-block", "40 threads"),
        ("launch z { block: [1, 2, 3, 4] }", "validate::launch-dimension", "one to three dimensions"),
        ("launch z { block: [32, 8, 8] }", "limit::launch", "2048 threads per CTA"),
        ("launch z { block: [32, 2], lanes: 4 }", "validate::launch-dimension", "`lanes` and `block` both"),
        ("launch z { ctas: 2, grid: [2, 2] }", "validate::launch-dimension", "`grid` and `ctas` both"),
        ("launch z { grid: [3, 2], cluster: 2 }", "validate::launch-cluster", "a row of 3 CTAs"),
        ("launch z { grid: 2, grid: 4 }", "resolve::duplicate-name", "`grid` is declared twice"),
        ("launch z { blockDim: 2 }", "validate::launch-dimension", "write `block: [32, 8]`"),
        ("let tid.x = 1;", "resolve::reserved-name", "a special register"),
        ("let y = tid.w;", "resolve::unknown-instruction", "`tid.w`"),
        ("global q[1000000]: u64;", "limit::object-size", "1048576"),
        ("global q[0]: u64;", "validate::object-dimension", "no elements"),
        ("global q[3]: u32 = { 1, 2 };", "validate::initialiser", "3 values"),
        ("global q: u8 = 256;", "resolve::literal-too-large", "8 bits"),
        ("global q: u64 alias x;", "validate::alias", "4 bytes"),
        ("view q: u32 of h;", "validate::view", "`h`, which has 2"),
        ("view q: u32 of a + 2;", "validate::view", "aligned"),
        ("for i in 0..1000000 { }", "limit::loop-iterations", "1000000 times"),
        ("let y = 1; global q[y]: u32;", "resolve::not-constant", "`y`"),
    ] {
        check_body(body, code, part);
    }
    check("kernel k(N in 3..3) { }", "validate::parameter-range", 1, "empty");
}

#[test]
fn constants_and_functions() {
    for (text, code, line, part) in [
        (
            "const A = B;\nconst B = A;\nkernel k {}",
            "resolve::recursive-constant",
            2,
            "`A` needs `B` needs `A`",
        ),
        ("const A = 0 - 1;\nkernel k {}", "resolve::constant-overflow", 1, "without sign"),
        ("const A = 1;\nconst A = 2;\nkernel k {}", "resolve::duplicate-name", 2, "`A`"),
        (
            "fn f() { g(); }\nfn g() { f(); }\nkernel k {}",
            "resolve::recursive-function",
            2,
            "`f` calls `g` calls `f`",
        ),
        ("fn f() { f(); }\nkernel k {}", "resolve::recursive-function", 1, "use a loop"),
        ("fn f(a: u32) { }\nkernel k {\n f(); }", "resolve::argument-count", 3, "1 argument"),
        ("fn f(a: &u32) { }\nkernel k {\n f(1); }", "resolve::argument-kind", 3, "&x"),
        ("fn f(a: &u32) { }\nkernel k { global h: u16;\n f(&h); }", "resolve::argument-kind", 3, "view"),
        ("fn f() { }\nkernel k {\n let x = f(); }", "resolve::no-result", 3, "nothing"),
        ("fn f() -> u32 { }\nkernel k { }", "resolve::return", 1, "must end"),
        ("fn f() { return 1; }\nkernel k { }", "resolve::return", 1, "result type"),
        ("fn f(a: mbarrier) { }\nkernel k { }", "resolve::unknown-type", 1, "&mbarrier"),
        (
            "fn f(a: &u32) { st.shared [a], 1; }\nfn g(a: &u32) { f(&a); }\nkernel k { global x: u32;\n g(&x); }",
            "validate::space-mismatch",
            4,
            "`g` uses this address as shared memory",
        ),
        (
            "fn f(a: &u32) { st [a], 1; }\nkernel k { global x: u32;\n await g(&x) == 1; }\nfn g(a: &u32) -> u32 { f(&a); return 1; }",
            "validate::await-side-effect",
            3,
            "`g`",
        ),
    ] {
        check(text, code, line, part);
    }
}

#[test]
fn memory_access_legality() {
    for (body, code, part) in [
        ("let v = ld.relaxed [x];", "validate::missing-scope", "ld.relaxed.gpu"),
        ("st.release [x], 1;", "validate::missing-scope", "st.release.gpu"),
        ("let v = ld.gpu [x];", "validate::unexpected-scope", "ld.relaxed.gpu"),
        ("let v = ld.volatile.gpu [x];", "validate::unexpected-scope", "always `.sys`"),
        ("let v = ld.release.gpu [x];", "validate::illegal-sem", "cannot release"),
        ("st.acquire.gpu [x], 1;", "validate::illegal-sem", "cannot acquire"),
        ("let v = ld.acq_rel.gpu [x];", "validate::illegal-sem", "cannot release"),
        ("let v = ld.weak.acquire.gpu [x];", "validate::exclusive-modifiers", "exclude"),
        ("let v = ld.relaxed.gpu.cta [x];", "validate::duplicate-modifier", ".cta"),
        ("let v = ld.mmio.relaxed.gpu [x];", "validate::mmio-scope", ".sys"),
        ("let v = ld.mmio.relaxed.sys [s[0][0]];", "validate::mmio-space", "global memory only"),
        ("let v = ld.mmio.relaxed.sys.shared [s[0][0]];", "validate::mmio-space", "global memory only"),
        ("let v = ld.relaxed.gpu.ca [x];", "validate::cache-operator", ".ca"),
        ("let v = ld.nc [x];", "validate::non-coherent", "global"),
        ("let v = ld.local [x];", "unsupported::modifier", ".local"),
        ("let v = ld.relaxd.gpu [x];", "validate::unknown-modifier", "did you mean `.relaxed`?"),
        ("let v = ld.shared [x];", "validate::space-mismatch", "global"),
        ("let v = ld.u64 [x];", "validate::type-mismatch", "view"),
        ("let v = ld.f16 [x];", "validate::unknown-modifier", ".f16"),
        ("st [x];", "validate::operand-count", "an address and a value"),
        ("st.u32 1, 2;", "validate::operand-kind", "brackets"),
        ("ld.weak [x];", "validate::unbound-result", "let x"),
        ("let v = st.u32 [x], 1;", "validate::no-result", "no result"),
        ("let {p, q} = ld.v2.u32 [a[1]];", "validate::vector-alignment", "8-byte aligned"),
        ("let {p, q, r, t} = ld.v4.u32 [s[0][2]];", "validate::vector-alignment", "innermost"),
        ("let {p, q} = ld.v2.u32 [x];", "validate::vector-alignment", "one element"),
        ("let {p, q} = ld.v2 [c[0]];", "validate::vector-size", "256"),
        ("let {p, q} = ld.v4.u32 [a[0]];", "validate::vector-count", "4"),
        ("st.v2.u32 [a[0]], 1;", "validate::vector-count", "2"),
    ] {
        check_body(body, code, part);
    }
}

#[test]
fn atomic_legality() {
    for (body, code, part) in [
        ("red.acquire.gpu.add.u32 [x], 1;", "validate::illegal-sem", "atom"),
        ("red.exch.b32 [x], 1;", "validate::illegal-operation", "atom.exch"),
        ("red.cas.b32 [x], 1, 2;", "validate::illegal-operation", "atom.cas"),
        ("let v = atom.gpu.u32 [x], 1;", "validate::missing-operation", "operation"),
        ("let v = atom.inc.u64 [w], 1;", "validate::illegal-operation-type", ".u32"),
        ("let v = atom.or.u32 [x], 1;", "validate::illegal-operation-type", ".b32"),
        ("let v = atom.add [b], 1;", "validate::illegal-operation-type", ".u8"),
        ("let v = atom.add.v2.f32 [x], 1;", "unsupported::modifier", ".v2"),
        ("let v = atom.min.f32 [x], 1;", "validate::illegal-operation-type", ".u32"),
        ("let v = atom.add.f16x2 [x], 1;", "validate::illegal-operation-type", ".noftz"),
        ("let v = atom.add.noftz.f32 [x], 1;", "validate::illegal-operation-type", "leave it out"),
        ("let v = atom.add.noftz [x], 1;", "validate::illegal-operation-type", "leave it out"),
        ("let v = atom.add.f64 [x], 1;", "validate::type-mismatch", "64"),
        ("let v = atom.cas.b32 [x], 1;", "validate::operand-count", "swap"),
        ("atom.add.u32 [x], 1;", "validate::unbound-result", "sink"),
        ("let v = atom.weak.add.u32 [x], 1;", "validate::illegal-sem", "cannot be `.weak`"),
    ] {
        check_body(body, code, part);
    }
}

#[test]
fn fence_and_barrier_legality() {
    for (body, code, part) in [
        ("fence.acq_rel;", "validate::missing-scope", "fence.acq_rel.gpu"),
        ("fence.relaxed.gpu;", "validate::illegal-sem", ".acq_rel"),
        ("fence.gl;", "validate::unknown-modifier", ".gl"),
        ("membar.gpu;", "validate::membar-level", "membar.gl"),
        ("membar.cluster;", "validate::membar-level", ".cluster"),
        ("membar.gl.acq_rel;", "validate::membar-level", ".acq_rel"),
        ("fence.mbarrier_init.acquire.cluster;", "validate::restricted-fence", "release"),
        ("fence.acquire.sync_restrict::shared::cta.cluster;", "validate::restricted-fence", "release"),
        ("fence.acquire.sync_restrict::shared::cluster.gpu;", "validate::restricted-fence", "cluster"),
        ("fence.proxy.async.gpu;", "validate::proxy-fence", "neither"),
        ("fence.proxy.alias.acquire.gpu;", "validate::proxy-fence", "fence.proxy.alias"),
        ("fence.proxy.tensormap::generic;", "validate::proxy-fence", "sem"),
        ("fence.proxy.generic::tensormap.acquire.gpu;", "validate::proxy-fence", "tensormap::generic"),
        ("fence.proxy.texture;", "validate::proxy-fence", "//! target formal"),
        ("fence.proxy.surface.gpu;", "validate::proxy-fence", "neither sem nor scope"),
        ("fence.gpu 1;", "validate::operand-count", "no operands"),
        ("bar.sync 16;", "validate::barrier-id", "0 to 15"),
        ("bar.sync 0, 33;", "validate::barrier-count", "whole warps"),
        ("bar.sync 0, 0;", "validate::barrier-count", "32"),
        ("bar.arrive 0;", "validate::barrier-missing-count", "bar.arrive 0, 64"),
        ("bar.red.xor.pred 0, true;", "validate::unknown-modifier", ".xor"),
        ("bar.popc.u32 0;", "validate::barrier-form", "bar.red.popc.u32"),
        ("bar.sync;", "validate::operand-count", "a barrier"),
        ("bar.warp.sync 0;", "validate::warp-mask", "0xffffffff"),
        ("griddepcontrol.wait.all;", "validate::grid-dependency", "launch_dependents"),
        ("st.async.u32 [x], 1;", "validate::operand-count", "an mbarrier"),
        ("fense.gpu;", "resolve::unknown-instruction", "did you mean `fence`?"),
        ("let v = add.u32 1;", "resolve::unknown-instruction", "expressions"),
        ("await (bar.red.and.pred 0, true);", "validate::await-side-effect", "reads, atomics"),
    ] {
        check_body(body, code, part);
    }
}

#[test]
fn target_floors() {
    for (target, body, part) in [
        ("sm_70 ptx 6.0", "fence.acq_rel.cluster;", ".cluster"),
        ("sm_70 ptx 6.0", "fence.acquire.gpu;", "fence.acquire"),
        ("sm_90 ptx 8.0", "fence.release.gpu;", "8.6"),
        ("sm_90 ptx 8.0", "let v = ld.mmio.relaxed.sys [x];", ".mmio"),
        ("sm_90 ptx 8.0", "let v = ld.relaxed.cta.b128 [c];", ".b128"),
    ] {
        let text = format!("//! target {target}\nkernel k {{ global x: u32; global c: b128;\n {body} }}");
        check(&text, "validate::target", 3, part);
    }
    check("//! target sm_60 ptx 6.0\nkernel k {}", "validate::target", 1, "sm_70");
}

#[test]
fn defines_and_files() {
    let run = |options: &LoadOptions, files: &[(&str, &str)]| {
        let mut sources = SourceMap::default();
        let mut read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
        };
        load(&mut sources, "d/main.fence", &mut read, options)
    };
    let define = |name: &str| LoadOptions { defines: vec![(name.to_owned(), 5)], target: None };
    let main = (
        "d/main.fence",
        "use \"../l/./lib.fence\"; use \"../l/lib.fence\";\nkernel k { launch { ctas: N } f(); }",
    );
    let library = ("l/lib.fence", "const N = 2; fn f() { bar.sync 0; }\nkernel other { }");
    let program = run(&define("N"), &[main, library]).expect("a good program");
    assert_eq!((program.kernels.len(), program.kernels[0].launches[0].ctas), (1, 5));
    let error = run(&define("M"), &[main, library]).expect_err("no such constant");
    assert_eq!(error[0].code, "resolve::unknown-define");
    let parameter = |range: &'static str| {
        let text: &str = Box::leak(format!("kernel k(N in {range}, K in 0..=2) {{ }}").into_boxed_str());
        run(&define("N"), &[("d/main.fence", text)])
    };
    let program = parameter("0..=7").expect("5 is in the range");
    let ranges = program.kernels[0].parameters.iter().map(|own| (own.min, own.max));
    assert_eq!(ranges.collect::<Vec<_>>(), [(5, 5), (0, 2)]);
    let error = parameter("0..=4").expect_err("5 is not in the range");
    assert_eq!(error[0].code, "validate::parameter-range");
    let error = run(&LoadOptions::default(), &[main]).expect_err("no library");
    assert_eq!(error[0].code, "resolve::unreadable-file");
    let back = ("l/lib.fence", "use \"../d/main.fence\";");
    let error = run(&LoadOptions::default(), &[main, back]).expect_err("a circle");
    assert_eq!(error[0].code, "resolve::cyclic-use");
    assert!(
        error[0].message.contains("`d/main.fence` uses `l/lib.fence` uses `d/main.fence`"),
        "{}",
        error[0].message
    );
}

#[test]
fn the_library_is_asked_for_what_is_not_beside_the_file() {
    let run = |files: &[(&str, &str)]| {
        let mut sources = SourceMap::default();
        let mut read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| format!("no `{path}`"))
        };
        let result = load(&mut sources, "d/main.fence", &mut read, &LoadOptions::default());
        let names: Vec<String> = sources.ids().map(|file| sources.file(file).name.clone()).collect();
        (result, names)
    };
    let main =
        ("d/main.fence", "use \"lib/a.fence\"; use \"lib/b.fence\";\nkernel k { launch { ctas: N } f(); }");
    let a = ("<fencepost>/lib/a.fence", "use \"b.fence\"; const N = 3;");
    let b = ("<fencepost>/lib/b.fence", "use \"lib/c.fence\"; fn f() { bar.sync 0; }");
    let c = ("<fencepost>/lib/c.fence", "const M = 1;");
    let (program, names) = run(&[main, a, b, c]);
    assert_eq!(program.expect("a good program").kernels[0].launches[0].ctas, 3);
    assert_eq!(names, [main.0, a.0, b.0, c.0], "each is read once");

    let own = ("d/lib/a.fence", "const N = 4;");
    let (program, names) = run(&[main, a, b, c, own]);
    assert_eq!(program.expect("a good program").kernels[0].launches[0].ctas, 4);
    assert_eq!(names, [main.0, own.0, b.0, c.0], "what is beside the file comes first");

    let (result, _) = run(&[main, a, b]);
    let error = &result.expect_err("no file")[0];
    assert_eq!(error.code, "resolve::unreadable-file");
    assert_eq!(error.help.as_deref(), Some("no `<fencepost>/lib/c.fence`"), "the library says what it has");
    let circle = ("<fencepost>/lib/c.fence", "use \"lib/a.fence\";");
    let (result, _) = run(&[main, a, b, circle]);
    assert_eq!(result.expect_err("a circle")[0].code, "resolve::cyclic-use");
}

#[test]
fn a_syntax_error_does_not_echo() {
    let text = "kernel k {\n if tid == 0 { st [x], 1 }\n for (i in 0..3) { }\n while true { exit; }\n}\nkernel j { assert 1 = 1; }";
    let (sources, found) = errors(text);
    let rows: Vec<_> =
        found.iter().map(|e| (sources.line_column(e.span()).line, e.help.as_deref().unwrap_or(""))).collect();
    let of_loop = "write `for i in 0..4 { … }`";
    assert_eq!(rows, [(2, "a statement ends with `;`"), (3, of_loop), (6, "compare with `==`")]);
}

#[test]
fn an_instruction_goes_through_the_proxy_of_its_object() {
    for (body, code, part) in [
        ("let v = ld [t];", "validate::proxy-mismatch", "tex.1d.u32"),
        ("let v = ld.global [t];", "validate::proxy-mismatch", "a texture"),
        ("let v = tex.1d.u32 [x];", "validate::proxy-mismatch", "texture …: u32 alias x"),
        ("let v = tex.1d.u32 [s];", "validate::proxy-mismatch", "a surface"),
        ("st [s], 1;", "validate::proxy-mismatch", "sust.b.1d.b32"),
        ("let v = atom.add [s], 1;", "validate::proxy-mismatch", "sured.b.add.1d.u32"),
        ("sust.b.1d.b32 [x], 1;", "validate::proxy-mismatch", "surface …: u32 alias x"),
        ("st [c], 1;", "validate::proxy-mismatch", "only read"),
        ("st.const [c], 1;", "validate::proxy-mismatch", "only read"),
        ("let v = ld.const [x];", "validate::proxy-mismatch", "constant …: u32 alias x"),
        ("let v = ld.acquire.gpu [c];", "validate::illegal-sem", "ld.const"),
        ("let v = ld.relaxed.gpu.const [c];", "validate::illegal-sem", "weak"),
        ("let v = ld.const.global [c];", "validate::exclusive-modifiers", "keep one"),
        ("let v = ld.global [c];", "validate::proxy-mismatch", "ld.const"),
        ("let v = suld.1d.b32 [s];", "validate::missing-operation", "suld.b.1d.b32"),
        ("let v = tex.u32 [t];", "validate::missing-operation", "tex.1d.u32"),
        ("sured.b.1d.u32 [s], 1;", "validate::missing-operation", "sured.b.add.1d.u32"),
        ("let v = tex.2d.u32 [t];", "unsupported::modifier", ".2d"),
        ("let v = tex.1d.v4.u32.s32 [t];", "unsupported::modifier", ".v4"),
        ("let v = tex.1d.u32.f64 [t];", "validate::unknown-modifier", ".f64"),
        ("let v = tex.1d.u32.u32 [t];", "validate::duplicate-modifier", "second modifier"),
        ("let v = suld.b.1d.b64 [s];", "validate::type-mismatch", "32 bits"),
        ("sured.b.and.1d.u32 [s], 1;", "validate::illegal-operation-type", ".b32"),
        ("sured.b.xor.1d.b32 [s], 1;", "validate::unknown-modifier", ".xor"),
        ("take(&t);", "validate::proxy-mismatch", "pass the value"),
        ("texture u: u32 alias h;", "validate::alias", "state space"),
        ("texture u: u32;", "syntax::unexpected-token", "`alias`"),
        ("texture u: u32 = 1;", "syntax::unexpected-token", "`alias`"),
        ("let texture = 1;", "syntax::unexpected-token", "name"),
    ] {
        let text = format!(
            "fn take(p: &u32) {{ st [p], 1; }} kernel k {{ global x: u32; shared h: u32;\n texture t: u32 alias x; \
             surface s: u32 alias x; constant c: u32 alias x;\n {body}\n}}"
        );
        check(&text, code, 3, part);
    }
    let inside = "fn get(p: &u32) -> u32 {\n let v = tex.1d.u32 [p];\n return v; }\nkernel k { global x: u32; let v = get(&x); }";
    check(inside, "validate::proxy-mismatch", 2, "outside of functions");
}
