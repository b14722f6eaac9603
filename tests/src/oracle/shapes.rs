//! The classic litmus shapes, each in many dresses: accesses, fences, scopes and places of threads vary.

/// One thread's lines; `$r` reads relaxed, `$w` writes relaxed, `$a` acquires, `$l` releases, `$f` is a fence, `$s` a scope.
type Shape = (&'static str, &'static [&'static [&'static str]]);

const SHAPES: &[Shape] = &[
    (
        "mp",
        &[
            &["st.weak [x], 1;", "$f", "$w [y], 1;"],
            &["let a = $r [y];", "$f", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "mp-strong",
        &[
            &["$w [x], 1;", "$f", "$w [y], 1;"],
            &["let a = $r [y];", "$f", "let b = $r [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "mp-release",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let a = $a [y];", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "mp-await",
        &[&["st.weak [x], 1;", "$l [y], 1;"], &["await $a [y] == 1;", "let b = ld.weak [x];", "st [ob], b;"]],
    ),
    (
        "mp-branch",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let a = $a [y];", "if a == 1 { let b = ld.weak [x]; st [ob], b; }", "st [oa], a;"],
        ],
    ),
    (
        "mp-release-fence",
        &[
            &["st.weak [x], 1;", "$f", "$w [y], 1;"],
            &["let a = $a [y];", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "mp-red",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["red.relaxed.$s.add.u32 [y], 1;", "$f", "let b = ld.weak [x];", "st [ob], b;"],
        ],
    ),
    (
        "mp-atom",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &[
                "let a = atom.relaxed.$s.add.u32 [y], 1;",
                "$f",
                "let b = ld.weak [x];",
                "st [oa], a;",
                "st [ob], b;",
            ],
        ],
    ),
    (
        "mp-sink",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let _ = atom.acquire.$s.add.u32 [y], 1;", "let b = ld.weak [x];", "st [ob], b;"],
        ],
    ),
    (
        "mp-failed-cas",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &[
                "let a = atom.acq_rel.$s.cas.b32 [y], 7, 8;",
                "let b = ld.weak [x];",
                "st [oa], a;",
                "st [ob], b;",
            ],
        ],
    ),
    (
        "mp-release-then-relaxed",
        &[
            &["st.weak [x], 1;", "$l [y], 1;", "$w [y], 2;"],
            &["let a = $r [y];", "$f", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "sb",
        &[
            &["$w [x], 1;", "$f", "let a = $r [y];", "st [oa], a;"],
            &["$w [y], 1;", "$f", "let b = $r [x];", "st [ob], b;"],
        ],
    ),
    (
        "sb-weak",
        &[
            &["st.weak [x], 1;", "$f", "let a = ld.weak [y];", "st [oa], a;"],
            &["st.weak [y], 1;", "$f", "let b = ld.weak [x];", "st [ob], b;"],
        ],
    ),
    (
        "sb-atom",
        &[
            &["let p = atom.acq_rel.$s.exch.b32 [x], 1;", "let a = $a [y];", "st [oa], a;"],
            &["let p = atom.acq_rel.$s.exch.b32 [y], 1;", "let b = $a [x];", "st [ob], b;"],
        ],
    ),
    (
        "lb",
        &[
            &["let a = $r [x];", "$f", "$w [y], 1;", "st [oa], a;"],
            &["let b = $r [y];", "$f", "$w [x], 1;", "st [ob], b;"],
        ],
    ),
    (
        "lb-data",
        &[
            &["let a = $r [x];", "$w [y], a;", "st [oa], a;"],
            &["let b = $r [y];", "$w [x], b;", "st [ob], b;"],
        ],
    ),
    (
        "lb-one-data",
        &[
            &["let a = $r [x];", "$w [y], a + 1;", "st [oa], a;"],
            &["let b = $r [y];", "$w [x], 1;", "st [ob], b;"],
        ],
    ),
    (
        "lb-control",
        &[
            &["let a = $r [x];", "if a == 1 { $w [y], 1; }", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-both-arms",
        &[
            &["let a = $r [x];", "if a == 1 { $w [y], 1; } else { $w [y], 1; }", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-arms-in-another-order",
        &[
            &[
                "let a = $r [x];",
                "if a == 1 { $w [y], 1; $w [z], 1; } else { $w [z], 1; $w [y], 1; }",
                "st [oa], a;",
            ],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-arms-differ",
        &[
            &["let a = $r [x];", "if a == 1 { $w [y], 1; } else { $w [y], 2; }", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-arms-of-different-strength",
        &[
            &["let a = $r [x];", "if a == 1 { $w [y], 1; } else { st.weak [y], 1; }", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-past-the-join",
        &[
            &["let a = $r [x];", "if a == 1 { st.weak [oc], 1; }", "$w [y], 1;", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-past-an-await-in-an-arm",
        &[
            &["let a = $r [x];", "if a == 1 { await $r [y] == 1; }", "$w [y], 1;", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-exit",
        &[
            &["let a = $r [x];", "if a == 0 { exit; }", "$w [y], 1;", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "lb-swap",
        &[
            &["let a = atom.relaxed.$s.cas.b32 [x], 1, 2;", "if a == 1 { $w [y], 1; }", "st [oa], a;"],
            &["let b = atom.relaxed.$s.cas.b32 [y], 1, 2;", "if b == 1 { $w [x], 1; }", "st [ob], b;"],
        ],
    ),
    (
        "last-sets-flag",
        &[
            &["let a = atom.relaxed.$s.add.u32 [x], 1;", "if a == 1 { $w [y], 1; }", "st [oa], a;"],
            &["let b = $r [y];", "if b == 1 { let c = atom.relaxed.$s.add.u32 [x], 1; }", "st [ob], b;"],
        ],
    ),
    ("lb-await", &[&["await $r [x] == 1;", "$w [y], 1;"], &["await $r [y] == 1;", "$w [x], 1;"]]),
    ("corr", &[&["$w [x], 1;"], &["let a = $r [x];", "let b = $r [x];", "st [oa], a;", "st [ob], b;"]]),
    (
        "corr-second-weak",
        &[&["$w [x], 1;"], &["let a = $r [x];", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"]],
    ),
    (
        "corr-first-weak",
        &[&["$w [x], 1;"], &["let a = ld.weak [x];", "let b = $r [x];", "st [oa], a;", "st [ob], b;"]],
    ),
    (
        "corr-two-writers",
        &[
            &["$w [x], 1;"],
            &["$w [x], 2;"],
            &["let a = $r [x];", "let b = $r [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "cowr",
        &[
            &["$w [x], 1;", "let a = $r [x];", "st [oa], a;"],
            &["$w [x], 2;", "let b = $r [x];", "st [ob], b;"],
        ],
    ),
    ("cowr-weak", &[&["st.weak [x], 1;", "let a = ld.weak [x];", "st [oa], a;"], &["$w [x], 2;"]]),
    ("corw", &[&["let a = $r [x];", "$w [x], 1;", "st [oa], a;"], &["$w [x], 2;"]]),
    ("2+2w", &[&["$w [x], 1;", "$f", "$w [y], 2;"], &["$w [y], 1;", "$f", "$w [x], 2;"]]),
    ("2+2w-release", &[&["$w [x], 1;", "$l [y], 2;"], &["$w [y], 1;", "$l [x], 2;"]]),
    ("s", &[&["$w [x], 2;", "$l [y], 1;"], &["let a = $a [y];", "$w [x], 1;", "st [oa], a;"]]),
    ("r", &[&["$w [x], 1;", "$f", "$w [y], 1;"], &["$w [y], 2;", "$f", "let a = $r [x];", "st [oa], a;"]]),
    (
        "wrc",
        &[
            &["$w [x], 1;"],
            &["let a = $r [x];", "$f", "$w [y], 1;", "st [oa], a;"],
            &["let b = $r [y];", "$f", "let c = $r [x];", "st [ob], b;", "st [oc], c;"],
        ],
    ),
    (
        "wrc-release",
        &[
            &["$w [x], 1;"],
            &["let a = $a [x];", "$l [y], 1;", "st [oa], a;"],
            &["let b = $a [y];", "let c = $r [x];", "st [ob], b;", "st [oc], c;"],
        ],
    ),
    (
        "isa2",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let a = $a [y];", "$l [z], 1;", "st [oa], a;"],
            &["let b = $a [z];", "let c = ld.weak [x];", "st [ob], b;", "st [oc], c;"],
        ],
    ),
    (
        "iriw",
        &[
            &["$w [x], 1;"],
            &["$w [y], 1;"],
            &["let a = $r [x];", "$f", "let b = $r [y];", "st [oa], a;", "st [ob], b;"],
            &["let c = $r [y];", "$f", "let d = $r [x];", "st [oc], c;", "st [od], d;"],
        ],
    ),
    (
        "relay-atom",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let a = atom.relaxed.$s.add.u32 [y], 1;", "st [oa], a;"],
            &["let b = $a [y];", "let c = ld.weak [x];", "st [ob], b;", "st [oc], c;"],
        ],
    ),
    (
        "relay-red",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["red.relaxed.$s.add.u32 [y], 1;"],
            &["let b = $a [y];", "let c = ld.weak [x];", "st [ob], b;", "st [oc], c;"],
        ],
    ),
    (
        "relay-store",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let a = $r [y];", "if a == 1 { $w [y], 2; }", "st [oa], a;"],
            &["let b = $a [y];", "let c = ld.weak [x];", "st [ob], b;", "st [oc], c;"],
        ],
    ),
    (
        "two-adds",
        &[
            &["let a = atom.relaxed.$s.add.u32 [x], 1;", "st [oa], a;"],
            &["let b = atom.relaxed.$s.add.u32 [x], 1;", "st [ob], b;"],
        ],
    ),
    (
        "add-and-store",
        &[
            &["let a = atom.relaxed.$s.add.u32 [x], 1;", "st [oa], a;"],
            &["$w [x], 5;", "let b = $r [x];", "st [ob], b;"],
        ],
    ),
    (
        "two-swaps",
        &[
            &["let a = atom.acquire.$s.cas.b32 [x], 0, 1;", "st [oa], a;"],
            &["let b = atom.release.$s.cas.b32 [x], 0, 2;", "st [ob], b;"],
        ],
    ),
    (
        "lock",
        &[
            &[
                "await (atom.acquire.$s.cas.b32 [x], 0, 1) == 0;",
                "let a = ld.weak [y];",
                "st.weak [y], a + 1;",
                "$l [x], 0;",
            ],
            &[
                "await (atom.acquire.$s.cas.b32 [x], 0, 1) == 0;",
                "let b = ld.weak [y];",
                "st.weak [y], b + 1;",
                "$l [x], 0;",
            ],
        ],
    ),
    (
        "barrier",
        &[
            &["st.weak [x], 1;", "bar.sync 0;", "let a = ld.weak [y];", "st [oa], a;"],
            &["st.weak [y], 1;", "bar.sync 0;", "let b = ld.weak [x];", "st [ob], b;"],
        ],
    ),
    (
        "crossed-barriers",
        &[
            &["bar.sync 0;", "st.weak [x], 1;", "bar.sync 1;"],
            &["bar.sync 1;", "let b = ld.weak [x];", "st [ob], b;", "bar.sync 0;"],
        ],
    ),
    (
        "barrier-and-exit",
        &[&["st.weak [x], 1;", "bar.sync 0;", "let a = ld.weak [y];", "st [oa], a;"], &["st.weak [y], 1;"]],
    ),
    ("barrier-waits-for-flag", &[&["bar.sync 0;", "$l [x], 1;"], &["await $a [x] == 1;", "bar.sync 0;"]]),
    (
        "exit-decides-barrier",
        &[&["let a = $r [x];", "if a == 0 { bar.sync 0; }", "st [oa], a;"], &["bar.sync 0;", "$w [x], 1;"]],
    ),
    (
        "exit-decides-barrier-early",
        &[
            &[
                "let a = $r [x];",
                "if a == 0 { bar.sync 0; }",
                "let b = ld.weak [y];",
                "st [oa], a;",
                "st [ob], b;",
            ],
            &["$w [x], 1;", "st.weak [y], 1;", "bar.sync 0;", "st.weak [z], 1;"],
        ],
    ),
    (
        "two-exits-decide",
        &[
            &["let a = $r [x];", "if a == 0 { bar.sync 0; }", "$w [y], 1;", "st [oa], a;"],
            &["let b = $r [y];", "if b == 0 { bar.sync 1; }", "$w [x], 1;", "st [ob], b;"],
        ],
    ),
    (
        "exit-after-barrier",
        &[
            &["let a = $r [x];", "bar.sync 0;", "if a == 1 { exit; }", "bar.sync 0;", "st [oa], a;"],
            &["$w [x], 1;", "bar.sync 0;", "bar.sync 0;", "let b = $r [x];", "st [ob], b;"],
        ],
    ),
    (
        "warp-exit",
        &[
            &["let a = $r [x];", "if a == 1 { exit; }", "bar.warp.sync 0xffffffff;", "st [oa], a;"],
            &["$w [x], 1;", "bar.warp.sync 0xffffffff;"],
        ],
    ),
    (
        "unread-decision",
        &[&["let a = $r [x];", "bar.sync 0;", "st [oa], a;"], &["bar.sync 0;", "$w [x], 1;"]],
    ),
    (
        "warp-barrier",
        &[
            &["st.weak [x], 1;", "bar.warp.sync 0xffffffff;"],
            &["bar.warp.sync 0xffffffff;", "let b = ld.weak [x];", "st [ob], b;"],
        ],
    ),
    (
        "alias",
        &[
            &["st.weak [x], 1;", "fence.proxy.alias;", "let a = ld.weak [ax];", "st [oa], a;"],
            &["$f", "$w [y], 1;"],
        ],
    ),
    (
        "alias-without-fence",
        &[&["st.weak [x], 1;", "let a = ld.weak [ax];", "st [oa], a;"], &["$f", "$w [y], 1;"]],
    ),
    (
        "alias-mp",
        &[
            &["st.weak [x], 1;", "fence.proxy.alias;", "$l [y], 1;"],
            &["let a = $a [y];", "let b = ld.weak [ax];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "alias-mp-without-fence",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["let a = $a [y];", "let b = ld.weak [ax];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "alias-fence-outside",
        &[
            &["st.weak [x], 1;", "$l [y], 1;", "fence.proxy.alias;"],
            &["fence.proxy.alias;", "let a = $a [y];", "let b = ld.weak [ax];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "halves",
        &[
            &["st.weak [x], 65537;", "$l [y], 1;"],
            &["let a = $a [y];", "let b = ld.weak [low];", "st [oa], a;", "st [ob], b as u32;"],
        ],
    ),
    (
        "halves-back",
        &[
            &["st.weak [low], 1;", "st.weak [high], 2;", "$l [y], 1;"],
            &["let a = $a [y];", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    (
        "acquire-after-look",
        &[
            &["st.weak [x], 1;", "$l [y], 1;"],
            &["$w [y], 2;"],
            &[
                "let a = $r [y];",
                "let b = $a [y];",
                "let c = ld.weak [x];",
                "st [oa], a;",
                "st [ob], b;",
                "st [oc], c;",
            ],
        ],
    ),
    (
        "acquire-after-look-alias",
        &[
            &["st.weak [x], 1;", "$f", "$w [y], 1;"],
            &[
                "let a = $r [y];",
                "let b = $a [ay];",
                "let c = ld.weak [x];",
                "st [oa], a;",
                "st [ob], b;",
                "st [oc], c;",
            ],
        ],
    ),
    (
        "release-then-relaxed-alias",
        &[
            &["st.weak [x], 1;", "$l [y], 1;", "$w [ay], 2;"],
            &["let a = $r [ay];", "$f", "let b = ld.weak [x];", "st [oa], a;", "st [ob], b;"],
        ],
    ),
    ("halves-both-write", &[&["st.weak [low], 1;"], &["st.weak [low], 2;"]]),
    (
        "exit-past-await",
        &[
            &["let a = $r [y];", "if a == 2 { await $r [x] == 1; }", "st [oa], a;"],
            &["bar.sync 0;", "$w [y], 1;"],
        ],
    ),
    (
        "halves-lb",
        &[
            &[
                "let a = $r [low];",
                "if a == 1 { let c = ld.weak [x]; }",
                "$w [high], 1;",
                "st [oa], a as u32;",
            ],
            &[
                "let b = $r [high];",
                "if b == 1 { let c = ld.weak [x]; }",
                "$w [low], 1;",
                "st [ob], b as u32;",
            ],
        ],
    ),
    ("halves-strong", &[&["$w [low], 1;"], &["let b = $r [x];", "st [ob], b;"]]),
];

const FENCES: [&str; 5] = ["", "fence.acq_rel.$s;", "fence.sc.$s;", "fence.release.$s;", "fence.acquire.$s;"];
const PLACES: [(&str, &str); 4] =
    [("warps", "tid"), ("cluster", "ctaid"), ("ctas", "ctaid"), ("gpus", "gpuid")];
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// All shapes in all dresses, as texts without closing brace.
pub fn all() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for (index, (name, threads)) in SHAPES.iter().enumerate() {
        let has_fence = threads.iter().flat_map(|lines| lines.iter()).any(|line| line.contains("$f"));
        for (at, fence) in FENCES.iter().enumerate().take(if has_fence { FENCES.len() } else { 1 }) {
            // Wide enough, and too narrow where there is something narrower; which place, goes round.
            let place = (index + at) % PLACES.len();
            for scope in [place.checked_sub(1), Some(place), Some(3)].into_iter().flatten() {
                let (dimension, coordinate) = PLACES[place];
                let name = format!("{name} with `{fence}` over {dimension} at .{}", SCOPES[scope]);
                texts.push((name, dress(threads, fence, SCOPES[scope], dimension, coordinate)));
            }
        }
    }
    for name in ["warp-barrier", "warp-exit", "mp-release", "exit-decides-barrier"] {
        let (_, threads) = SHAPES.iter().find(|(shape, _)| *shape == name).expect("listed above");
        texts.push((format!("{name} over lanes"), dress(threads, "", "cta", "lanes", "laneid")));
    }
    texts
}

fn dress(threads: &[&[&str]], fence: &str, scope: &str, dimension: &str, coordinate: &str) -> String {
    let mut body = String::new();
    for (thread, lines) in threads.iter().enumerate() {
        body += &format!("    if {coordinate} == {thread} {{\n");
        for line in *lines {
            body += &format!("        {line}\n");
        }
        body += "    }\n";
    }
    let body = body
        .replace("$f", fence)
        .replace("$r", "ld.relaxed.$s")
        .replace("$w", "st.relaxed.$s")
        .replace("$a", "ld.acquire.$s")
        .replace("$l", "st.release.$s")
        .replace("$s", scope);
    let n = threads.len();
    // One cluster of that many CTAs is the whole grid.
    let grid = if dimension == "cluster" { format!("ctas: {n}, ") } else { String::new() };
    let mut text = format!("kernel k {{\n    launch {{ {grid}{dimension}: {n} }}\n");
    for (name, declaration) in [
        ("x", "global x: u32 = 0;"),
        ("y", "global y: u32 = 0;"),
        ("z", "global z: u32 = 0;"),
        ("oa", "global oa: u32 = 99;"),
        ("ob", "global ob: u32 = 99;"),
        ("oc", "global oc: u32 = 99;"),
        ("od", "global od: u32 = 99;"),
        ("ax", "global ax: u32 alias x;"),
        ("ay", "global ay: u32 alias y;"),
        ("low", "view low: u16 of x;"),
        ("high", "view high: u16 of x + 2;"),
    ] {
        if ["x", "y"].contains(&name) || body.contains(&format!("[{name}]")) {
            text += &format!("    {declaration}\n");
        }
    }
    text + &body
}
