//! Every rule about fences, barriers, mbarriers and peer addresses, broken once.

use super::source;
use super::support::try_load;

/// A body, the one error it has, its rule (or none), and a part of its message or help.
const ILLEGAL: &[(&str, &str, &str, &str)] = &[
    // Thread fences
    ("fence.acquire;", "validate::missing-scope", "FN-1", "fence.acquire.gpu"),
    ("fence.acquire.release.gpu;", "validate::duplicate-modifier", "", "second"),
    ("fence.mbarrier_init.acquire.cluster;", "validate::restricted-fence", "FN-9", ".release"),
    ("fence.mbarrier_init.release.gpu;", "validate::restricted-fence", "FN-9", ".cluster"),
    ("fence.mbarrier_init;", "validate::restricted-fence", "FN-9", ".release"),
    ("fence.mbarrier_init.release.cluster 1;", "validate::operand-count", "", "no operands"),
    (
        "fence.release.sync_restrict::shared::cluster.cluster;",
        "validate::restricted-fence",
        "FN-7",
        ".acquire",
    ),
    ("fence.acquire.sync_restrict::shared::cta.cluster;", "validate::restricted-fence", "FN-8", ".release"),
    ("fence.release.sync_restrict::shared::cta.cta;", "validate::restricted-fence", "FN-8", ".cluster"),
    ("fence.sync_restrict::shared::cta.cluster;", "validate::restricted-fence", "FN-8", ".release"),
    (
        "fence.release.sync_restrict::shared::cluster::read.cluster;",
        "validate::restricted-fence",
        "FN-17",
        "async::generic",
    ),
    ("fence.release.sync_restrict::global.cluster;", "validate::unknown-modifier", "", "global"),
    (
        "fence.release.sync_restrict::shared::cta.sync_restrict::shared::cluster.cluster;",
        "validate::duplicate-modifier",
        "",
        "second",
    ),
    // Proxy fences
    ("fence.proxy;", "validate::proxy-fence", "FN-11", "needs more words"),
    ("fence.proxy.alias.gpu;", "validate::proxy-fence", "FN-18", "neither sem nor scope"),
    ("fence.proxy.alias.acq_rel.sys;", "validate::proxy-fence", "FN-18", ".acquire.sys"),
    ("fence.proxy.async.release.cluster;", "validate::proxy-fence", "FN-25", "leave it out"),
    ("fence.proxy.async.shared;", "validate::proxy-fence", "FN-12", ".shared::cta"),
    ("fence.proxy.async.local;", "validate::unknown-modifier", "", ".local"),
    (
        "fence.proxy.async.sync_restrict::shared::cta.release.cluster;",
        "validate::proxy-fence",
        "FN-15",
        "async::generic",
    ),
    ("fence.proxy.async::generic.release.cluster;", "validate::proxy-fence", "FN-15", "restriction"),
    (
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cta.cluster;",
        "validate::restricted-fence",
        "FN-15",
        ".release",
    ),
    (
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster.cluster;",
        "validate::restricted-fence",
        "FN-16",
        ".acquire",
    ),
    (
        "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cta;",
        "validate::restricted-fence",
        "FN-17",
        ".cluster",
    ),
    ("fence.proxy.generic::async.release.gpu;", "validate::proxy-fence", "FN-24", "fence.proxy.async"),
    ("fence.proxy.generic::tensormap.release.gpu;", "validate::proxy-fence", "FN-24", "tensormap::generic"),
    ("fence.proxy.tensormap::generic.release;", "validate::proxy-fence", "FN-13", "scope"),
    ("fence.proxy.tensormap::generic.sc.gpu;", "validate::proxy-fence", "FN-13", ".sc"),
    (
        "fence.proxy.tensormap::generic.release.gpu [map[0]], 128;",
        "validate::operand-count",
        "",
        "no operands",
    ),
    ("fence.proxy.tensormap::generic.acquire.gpu;", "validate::operand-count", "", "128"),
    ("fence.proxy.tensormap::generic.acquire.gpu [map[0]], 64;", "validate::tensormap-size", "UB-F1", "128"),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [map[0]], 64 + 64;",
        "validate::tensormap-size",
        "UB-F1",
        "128",
    ),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [smap[0]], 128;",
        "validate::space-mismatch",
        "UB-F1",
        "global",
    ),
    (
        "fence.proxy.tensormap::generic.acquire.gpu [x], 128;",
        "validate::tensormap-size",
        "UB-F1",
        "`x` has 4",
    ),
    ("membar.proxy.tensormap::generic.release.gpu;", "validate::proxy-fence", "FN-20", "fence"),
    ("membar.proxy.alias.release.sys;", "validate::proxy-fence", "FN-20", "bi-directional"),
    ("fence.proxy.generic::fabric.alias.acquire.sys;", "unsupported::instruction", "", "not checked"),
    ("tensormap.replace.tile.rank.b32 [map[0]], 1;", "validate::not-tensormap", "AS-35", "tensormap of"),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.release.gpu.sync.aligned [map[0]], [smap[0]], 128;",
        "validate::proxy-fence",
        "FN-21",
        "tensormap::generic",
    ),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [smap[0]], [map[0]], 128;",
        "validate::space-mismatch",
        "UB-F2",
        "global",
    ),
    (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [map[0]], [smap[0]], r;",
        "validate::tensormap-size",
        "UB-F2",
        "128",
    ),
    // Barriers
    ("bar.sync 0, 2048;", "validate::barrier-count", "UB-B2", "1024"),
    ("barrier.arrive.aligned 3;", "validate::barrier-missing-count", "BR-1", "thread count"),
    ("bar.cluster.arrive;", "validate::barrier-form", "BR-9", "barrier.cluster.arrive"),
    ("barrier.cluster.sync;", "validate::barrier-form", "BR-9", "barrier.cluster.wait"),
    ("barrier.cluster.arrive.acquire;", "validate::illegal-sem", "BR-11", ".release"),
    ("barrier.cluster.wait.relaxed;", "validate::illegal-sem", "BR-11", "always `.acquire`"),
    ("barrier.cluster.wait.release;", "validate::illegal-sem", "BR-11", "wait"),
    ("barrier.cluster.arrive.gpu;", "validate::unknown-modifier", "", ".gpu"),
    ("barrier.cluster.arrive 0;", "validate::operand-count", "", "no operands"),
    ("let q = barrier.cluster.wait;", "validate::no-result", "", "statement"),
    ("await (barrier.cluster.wait);", "validate::no-result", "", "statement"),
    ("elect.sync r;", "validate::unbound-result", "", "let p"),
    ("let p = elect.sync 0;", "validate::warp-mask", "UB-A14", "no lane"),
    ("let p = elect 0;", "syntax::unexpected-token", "", ""),
    ("let p = elect.one r;", "validate::elect-form", "AS-42", "elect.sync"),
    ("let {a, b, c} = elect.sync r;", "validate::vector-count", "", "leader"),
    ("await (elect.sync r);", "validate::await-side-effect", "", "mbarrier waits"),
    // mbarrier opcodes
    ("mbarrier.wait [bar], 0;", "validate::mbarrier-form", "MB-2", "try_wait"),
    ("mbarrier.check_layout.b64 [bar];", "unsupported::instruction", "", "not checked"),
    ("mbarrier.init.global.b64 [bar], 1;", "validate::mbarrier-space", "UB-M15", "shared memory"),
    ("mbarrier.init.b32 [bar], 1;", "validate::mbarrier-type", "", ".b64"),
    ("mbarrier.init.release.cta [bar], 1;", "validate::mbarrier-sem", "MB-10", "neither sem nor scope"),
    ("mbarrier.inval.cluster [bar];", "validate::mbarrier-sem", "MB-10", "neither sem nor scope"),
    ("mbarrier.expect_tx.release.cta [bar], 16;", "validate::mbarrier-sem", "MB-10", ".relaxed"),
    ("mbarrier.arrive.acquire.cta _, [bar];", "validate::mbarrier-sem", "MB-10", ".release"),
    ("let p = mbarrier.test_wait.release.cta [bar], state;", "validate::mbarrier-sem", "MB-10", ".acquire"),
    ("mbarrier.arrive.release _, [bar];", "validate::mbarrier-sem-scope", "MB-10", ".release.cta"),
    ("mbarrier.arrive.cluster _, [bar];", "validate::mbarrier-sem-scope", "MB-10", ".release.cluster"),
    ("mbarrier.arrive.release.gpu _, [bar];", "validate::mbarrier-scope", "MB-10", ".cluster"),
    (
        "mbarrier.arrive.noComplete.relaxed.cta _, [bar], 1;",
        "validate::mbarrier-sem",
        "MB-10",
        ".release.cta",
    ),
    (
        "mbarrier.arrive.noComplete.expect_tx _, [bar], 1;",
        "validate::exclusive-modifiers",
        "MB-13",
        "exclude",
    ),
    ("mbarrier.arrive.nocomplete _, [bar], 1;", "validate::unknown-modifier", "", ".noComplete"),
    ("mbarrier.arrive.parity _, [bar];", "validate::unknown-modifier", "", ".parity"),
    ("mbarrier.arrive.multicast::cluster::32b _, [bar];", "unsupported::modifier", "", "multicast"),
    ("let n = mbarrier.pending_count.shared::cta.b64 state;", "validate::mbarrier-space", "", "no memory"),
    // mbarrier operands
    ("mbarrier.init [bar];", "validate::operand-count", "", "number of arrivals"),
    ("mbarrier.init [bar], 0;", "validate::mbarrier-count", "UB-M5", "1048575"),
    ("mbarrier.init [bar], 1 << 20;", "validate::mbarrier-count", "UB-M5", "1048575"),
    ("mbarrier.init bar, 1;", "validate::operand-kind", "", "[bar]"),
    ("mbarrier.init [s[0]], 1;", "validate::not-mbarrier", "UB-M15", "shared s: mbarrier"),
    ("mbarrier.init [full], 1;", "resolve::dimension-count", "", "1 index"),
    ("mbarrier.arrive _, [bar], 0;", "validate::mbarrier-count", "UB-M6", "arrivals"),
    ("mbarrier.arrive _, [bar], 1 << 20;", "validate::mbarrier-count", "UB-M6", "arrivals"),
    ("mbarrier.expect_tx [bar], 1 << 20;", "validate::mbarrier-tx", "UB-M7", "1048575"),
    ("mbarrier.arrive.expect_tx _, [bar];", "validate::operand-count", "", "bytes"),
    ("mbarrier.arrive.expect_tx _, [bar], 1, 16;", "validate::operand-count", "", "count is then 1"),
    ("mbarrier.arrive.noComplete _, [bar];", "validate::operand-count", "", "a count"),
    ("mbarrier.arrive [bar];", "validate::unbound-result", "", "sink"),
    ("let t = mbarrier.init [bar], 1;", "validate::no-result", "", "statement"),
    ("let t: u32 = mbarrier.arrive [bar];", "resolve::width-mismatch", "", "32"),
    ("mbarrier.try_wait.parity [bar], 0;", "validate::unbound-result", "MB-6", "await"),
    ("let p = mbarrier.test_wait.parity [bar], 2;", "validate::mbarrier-parity", "MB-6", "& 1"),
    ("let p = mbarrier.test_wait [bar], 0;", "validate::mbarrier-state", "", "test_wait.parity"),
    ("await mbarrier.try_wait.relaxed.cluster [bar], r;", "validate::mbarrier-state", "", "try_wait.parity"),
    ("let p = mbarrier.test_wait.parity [bar], 0, 100;", "validate::operand-count", "", "parity"),
    ("let p = mbarrier.try_wait _, [bar], state;", "validate::operand-kind", "", "brackets"),
    ("let n = mbarrier.pending_count 3;", "validate::mbarrier-state", "", "noComplete"),
    // Peers
    ("mbarrier.init.shared::cluster.b64 [bar], 1;", "validate::mbarrier-peer", "MB-2", "own CTA"),
    ("mbarrier.init [mapa(bar, 1)], 1;", "validate::mbarrier-peer", "MB-2", "own CTA"),
    ("mbarrier.inval [mapa(bar, 1)];", "validate::mbarrier-peer", "MB-2", "own CTA"),
    (
        "await mbarrier.try_wait.parity [mapa(bar, 1)], 0;",
        "validate::mbarrier-peer",
        "UB-M13",
        "arrive on it",
    ),
    (
        "let p = mbarrier.test_wait.shared::cluster [bar], state;",
        "validate::mbarrier-peer",
        "UB-M13",
        "own CTA",
    ),
    ("mbarrier.arrive.noComplete _, [mapa(bar, 1)], 1;", "validate::mbarrier-peer", "MB-2", "noComplete"),
    ("let t = mbarrier.arrive [mapa(bar, 1)];", "validate::mbarrier-remote-state", "UB-M14", "_"),
    (
        "mbarrier.arrive.shared::cta _, [mapa(bar, 1)];",
        "validate::space-mismatch",
        "AS-43",
        ".shared::cluster",
    ),
    ("let v = ld.shared [mapa(s[0], 1)];", "validate::space-mismatch", "AS-43", ".shared::cluster"),
    ("let v = ld.shared::cluster [x];", "validate::space-mismatch", "", "global"),
    ("let v = ld [mapa(x, 1)];", "validate::mapa", "AS-43", "all CTAs share"),
    ("let v = ld [mapa(s[0], state)];", "resolve::width-mismatch", "", "as u32"),
    ("let v = ld [map(s[0], 1)];", "syntax::address", "", "mapa(s, rank)"),
    ("let v = mapa(s[0], 1);", "validate::address-value", "AS-43", "[mapa(x, rank)]"),
    ("let v = mapa.shared::cluster.u32 s, 1;", "validate::address-value", "AS-43", "[mapa(x, rank)]"),
    ("let v = getctarank [x];", "validate::space-mismatch", "AS-43", "shared"),
    ("let v = getctarank.shared::cta.u32 [s[0]];", "validate::unknown-modifier", "", "not a modifier"),
    ("let mapa = 1;", "resolve::reserved-name", "", "mapa"),
    ("final { assert [mapa(s[0], 1)] == 0; }", "validate::mapa", "", "global memory"),
    // Declarations
    ("global g: mbarrier;", "validate::mbarrier-space", "UB-M15", "shared g: mbarrier"),
    ("global g: mbarrier;", "validate::mbarrier-space", "UB-M15", "is in global memory"),
    ("shared g: mbarrier = 0;", "validate::mbarrier-initialiser", "MB-1", "mbarrier.init"),
    ("view g: mbarrier of w;", "validate::mbarrier-space", "UB-M15", "shared"),
    ("view g: mbarrier of s + 4;", "validate::view", "UB-M15", "aligned"),
    ("launch b { cooperative: 2 }", "validate::launch-cooperative", "LT-5", "true"),
    ("launch b { cooperative: true, cooperative: true }", "resolve::duplicate-name", "", "cooperative"),
    ("launch b { registers: 100 }", "validate::launch-registers", "AS-41", "multiple of 8"),
    ("launch b { registers: 16 }", "validate::launch-registers", "AS-41", "24 to 256"),
    ("launch b { registers: 264 }", "validate::launch-registers", "AS-41", "`registers` is 264"),
    ("launch b { registers: 168, registers: 168 }", "resolve::duplicate-name", "", "registers"),
    ("launch b { registrs: 168 }", "validate::launch-dimension", "", "did you mean `registers`?"),
    ("launch b { coperative: true }", "validate::launch-dimension", "", "did you mean `cooperative`?"),
    ("launch b { ctas: 4, cluster: 3 }", "validate::launch-cluster", "", "`ctas: 6, cluster: 3`"),
    ("launch b { cluster: 2 }", "validate::launch-cluster", "", "`ctas: 2, cluster: 2`"),
    ("launch b { clusters: 3 }", "validate::launch-dimension", "", "write `ctas: 3`"),
    ("launch b { clusters: 2, ctas: 2 }", "validate::launch-dimension", "", "write `ctas: 4, cluster: 2`"),
    ("launch b { resident: true }", "validate::launch-dimension", "", "write `cooperative: true`"),
    ("launch b { resident: false }", "validate::launch-dimension", "", "leave it out"),
    (
        "launch b { clusters: 2, ctas: 3, resident: true }",
        "validate::launch-dimension",
        "",
        "write `ctas: 6, cluster: 3, cooperative: true`",
    ),
];

#[test]
fn every_rule_is_kept() {
    for (body, code, rule, part) in ILLEGAL {
        let errors = try_load(&source(body)).err().unwrap_or_default();
        let codes: Vec<_> = errors.iter().map(|error| (error.code, &error.message, &error.help)).collect();
        assert_eq!(errors.len(), 1, "{body}\n{codes:#?}");
        let error = &errors[0];
        let expected: Vec<&str> = Some(*rule).into_iter().filter(|rule| !rule.is_empty()).collect();
        assert_eq!((error.code, &error.rules), (*code, &expected), "{body}\n{codes:#?}");
        let words = format!("{} {}", error.message, error.help.as_deref().unwrap_or(""));
        assert!(words.contains(part), "{body}\n{words}\nlacks {part}");
        assert!(!error.message.ends_with('.'), "{}", error.message);
        let text = source(body);
        let span = error.span();
        assert!(text.find('\n').is_some_and(|line| line < span.start as usize), "{body}: {span:?}");
    }
}

#[test]
fn what_a_function_needs_of_its_parameters() {
    for (text, code, rule, part) in [
        (
            "fn f(b: &mbarrier) { await mbarrier.try_wait.parity [b], 0; }
fn g(b: &mbarrier) { f(b); }
kernel k { shared m: mbarrier; g(mapa(m, 1)); }",
            "validate::peer-address",
            "UB-M13",
            "`g` needs an address in the own CTA",
        ),
        (
            "fn f(b: &mbarrier) -> u64 { let t = mbarrier.arrive [b]; return t; }
kernel k { shared m: mbarrier; let t = f(mapa(m, 1)); }",
            "validate::peer-address",
            "UB-M14",
            "`f`",
        ),
        (
            "fn f(p: &u32) { st.shared [p], 1; } kernel k { shared m: u32; f(mapa(m, 1)); }",
            "validate::peer-address",
            "AS-43",
            "`f`",
        ),
        (
            "fn f(p: &u64) { } kernel k { shared m: mbarrier; f(m); }",
            "resolve::argument-kind",
            "",
            "u64 of m",
        ),
        (
            "fn f(p: &mbarrier) { } kernel k { shared m: u64; f(m); }",
            "resolve::argument-kind",
            "",
            "mbarrier of m",
        ),
        (
            "fn f(p: &u32) { st [mapa(p, 1)], 1; } kernel k { global x: u32; f(x); }",
            "validate::space-mismatch",
            "",
            "shared memory",
        ),
        (
            "fn f(p: &u32) { } kernel k { shared m: u32; f(mapa(mapa(m, 1), 1)); }",
            "resolve::argument-kind",
            "",
            "mapa(x, rank)",
        ),
        ("fn mapa(p: &u32) { } kernel k { }", "resolve::reserved-name", "", "PTX"),
        (
            "fn f(b: &mbarrier) { mbarrier.arrive _, [b]; } kernel k { shared m: mbarrier; await g(m) == 1; }
fn g(b: &mbarrier) -> u32 { f(b); return 1; }",
            "validate::await-side-effect",
            "",
            "`g`",
        ),
    ] {
        let errors = try_load(text).err().unwrap_or_default();
        assert_eq!(errors.len(), 1, "{text}\n{errors:#?}");
        let expected: Vec<&str> = Some(rule).into_iter().filter(|rule| !rule.is_empty()).collect();
        assert_eq!((errors[0].code, &errors[0].rules), (code, &expected), "{text}\n{errors:#?}");
        let words = format!("{} {}", errors[0].message, errors[0].help.as_deref().unwrap_or(""));
        assert!(words.contains(part), "{text}\n{words}\nlacks {part}");
    }
}
