//! No text makes the front end panic, overflow its stack, or run long.

#[path = "kernel/random.rs"]
mod random;

use fencepost_dsl::kernel::pretty::pretty;
use fencepost_dsl::kernel::{LoadOptions, load, parse};
use fencepost_dsl::{FileId, SourceMap};
use random::Random;

/// The codes of a text's errors; empty for a good program.
fn codes(text: &str) -> Vec<&'static str> {
    let mut sources = SourceMap::default();
    match load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default()) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            for error in &errors {
                sources.line_column(error.span());
            }
            errors.iter().map(|error| error.code).collect()
        }
    }
}

#[test]
fn deep_nesting_is_a_named_limit() {
    let n = 10_000;
    for body in [
        format!("let x = {}1{};", "(".repeat(n), ")".repeat(n)),
        format!("let x = {}1;", "(".repeat(n)),
        format!("let x = {}1;", "!".repeat(n)),
        format!("let x = 1{};", " + 1".repeat(n)),
        format!("let x = 1{};", " as u32".repeat(n)),
        format!("let x = {}1;", "a ? b : ".repeat(n)),
        format!("{}{}", "if a {".repeat(n), "}".repeat(n)),
        format!("if a {{}} {}", "else if a {} ".repeat(n)),
        format!("let x = ld {}0{};", "[a".repeat(n), "]".repeat(n)),
        format!("global x: u32 = {}1{};", "{".repeat(n), "}".repeat(n)),
    ] {
        let found = codes(&format!("kernel k {{ {body} }}"));
        assert_eq!(found, ["limit::nesting"], "{}", &body[..20]);
    }
}

#[test]
fn nesting_below_the_limit_is_fine() {
    let n = 200;
    for body in [
        format!("let x = {}1{};", "(".repeat(n), ")".repeat(n)),
        format!("let x = {}true;", "!".repeat(n)),
        format!("let x = 1{};", " + 1".repeat(n)),
        format!("{}{}", "if tid == 0 {".repeat(n), "}".repeat(n)),
        format!("if tid == 0 {{}} {}", "else if tid == 0 {} ".repeat(n)),
    ] {
        assert_eq!(codes(&format!("kernel k {{ {body} }}")), [""; 0], "{}", &body[..20]);
    }
}

#[test]
fn long_chains_of_calls_and_constants_are_named_limits() {
    let functions: String = (0..5000).map(|i| format!("fn f{i}() {{ f{}(); }}\n", i + 1)).collect();
    assert_eq!(codes(&format!("{functions} fn f5000() {{ }} kernel k {{ f0(); }}")), ["limit::nesting"]);
    let constants: String = (0..500).map(|i| format!("const c{i:03} = c{:03};\n", i + 1)).collect();
    assert!(codes(&format!("{constants} const c500 = 1; kernel k {{ }}")).contains(&"limit::nesting"));
}

#[test]
fn large_inputs_end_quickly() {
    assert_eq!(codes(&" ".repeat(5 << 20)), ["limit::file-size"]);
    assert!(!codes(&"\u{1F600}".repeat(1 << 19)).is_empty());
    assert!(!codes(&"{ ;".repeat(1 << 12)).is_empty());
    assert!(!codes(&"let x = ; ".repeat(1 << 16)).is_empty());
    assert!(!codes(&"kernel k { let = ; ".repeat(200)).is_empty());
    let many = "bar.sync 0;\n".repeat(20_000);
    assert_eq!(codes(&format!("kernel k {{ {many} }}")), [""; 0]);
}

#[test]
fn random_texts_never_panic() {
    let words = [
        "kernel",
        "k",
        "fn",
        "f",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ";",
        ",",
        ":",
        "..",
        "..=",
        "let",
        "var",
        "x",
        "=",
        "1",
        "ld.acquire.gpu",
        "st",
        "ld",
        "atom.add",
        "bar.sync",
        "fence.sc",
        "fence.proxy.async",
        "fence.release.sync_restrict::shared::cta.cluster",
        "barrier.cluster.arrive",
        "elect.sync",
        "mbarrier.arrive.expect_tx",
        "mbarrier.try_wait.parity",
        "mbarrier",
        "cp.async.bulk.tensor.1d",
        "cp.async.wait_group",
        "st.async",
        "tensormap",
        "param",
        "mapa",
        "cooperative",
        "cluster",
        "true",
        "_",
        "&",
        "if",
        "else",
        "for",
        "in",
        "await",
        "final",
        "assert",
        "global",
        "shared",
        "u32",
        "0x",
        "99999999999999999999",
        "as",
        "?",
        "+",
        "!",
        "/*",
        "\"",
        "\u{0}",
        "é",
        "launch",
        "ctas",
        "view",
        "of",
        "alias",
        "use",
        "const",
        "return",
        "->",
        "loop",
        "break",
        "//\n",
        "program",
        "p",
        "stream",
        "event",
        "record",
        "wait",
        "synchronize",
        "on",
        "with",
        "programmatic_serialization",
        "shape",
        "launch k on a ;",
        "stream a ;",
        "0..3 {",
    ];
    let mut random = Random(7);
    for _ in 0..3000 {
        let n = random.below(40);
        let text: String = (0..n).map(|_| format!("{} ", words[random.below(words.len())])).collect();
        codes(&text);
        codes(&format!("kernel k {{ global x: u32; {text} }}"));
        codes(&format!(
            "global x: u32; kernel k {{ }} program p {{ stream a; event e; launch k on a; {text} }}"
        ));
        pretty(&parse(&text, FileId(0)).0);
    }
}

#[test]
fn damaged_programs_never_panic() {
    let text =
        "const N = 2; fn lock(l: &u32) -> u32 { await (atom.cas.acquire.gpu.b32 [l], 0, 1) == 0; return 1; }
kernel k(T in 0..=3) { launch { ctas: 2, cluster: 2 } global x: u32 = 0; shared s[N]: u32; view v[2]: u16 of x;
if tid == 0 { let q = lock(&x); let w = ld.weak.global.u32 [x]; st [x], w + 1; } else { exit; }
for i in 0..T { st.shared [s[i % N]], i; bar.sync 0; } final { assert [x] == 2; } }
fn wait(b: &mbarrier, p: u32) { await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [b], p; }
kernel c { launch { ctas: 2, cluster: 2, cooperative: true } shared m[2]: mbarrier; shared s: u32; let {l, e} = elect.sync 1;
if e { mbarrier.init [m[0]], 1; fence.mbarrier_init.release.cluster; } barrier.cluster.arrive.relaxed; barrier.cluster.wait;
let t = mbarrier.arrive [m[1]], 2; mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [mapa(m[0], 1)], 16;
let n = mbarrier.pending_count t; wait(m[0], n & 1); let v = ld [mapa(s, (getctarank.u32 s))]; fence.proxy.async.shared::cta; }
fn load(m: &tensormap, t: &u32, b: &mbarrier) { cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [t], [m, {4}], [b]; }
kernel a { global g[8]: u32; shared t[8]: u32; shared b: mbarrier; param m: tensormap of g[4]; global n[2]: tensormap of g[4];
load(m, t, b); load(n[tid], t[4], b); tensormap.replace.tile.global_address.b1024 [n[0]], [g]; cp.async.ca.shared.global [t[1]], [g[1]], 4, tid == 0;
cp.async.wait_all; cp.async.bulk.global.shared::cta.bulk_group [g[0]], [t[4]], 16; cp.async.bulk.wait_group.read 0;
st.async.v2 [mapa(t[0], 1)], {1, 2}, [mapa(b, 1)]; setmaxnreg.dec.sync.aligned.u32 40; }";
    assert_eq!(codes(text), [""; 0]);
    let mut random = Random(11);
    for _ in 0..3000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = u8::try_from(random.below(128)).unwrap_or(0),
                1 => {
                    bytes.remove(at);
                }
                _ => {
                    let end = (at + random.below(30)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = random.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        codes(&String::from_utf8_lossy(&bytes));
    }
}
