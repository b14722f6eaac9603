//! What lanes of a warp tell one another (`shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`): values as the ISA has them,
//! computed here lane by lane; who waits for whom; that no memory is ordered; and that values told are dependencies.
//!
//! `FENCEPOST_EXCHANGE_PROGRAMS=N` runs N random programs, `FENCEPOST_EXCHANGE_SEED=S` others.

use fencepost::check::Config;
use fencepost::encode::Treatment;
use fencepost::unroll::n_threads;
use fencepost::verdict::Verdict;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_tests::run::{codes_of, config, model, outcomes};
use std::fmt::Write;

/// Numbers without pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn settings(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// What each lane has, and who takes part.
struct Warp {
    values: Vec<u32>,
    mask: u32,
}

impl Warp {
    fn takes_part(&self, lane: usize) -> bool {
        self.mask >> lane & 1 == 1
    }
    fn taking_part(&self) -> impl Iterator<Item = usize> {
        (0..self.values.len()).filter(|&lane| self.takes_part(lane))
    }
}

/// Result and predicate of `shfl.sync`, by the text of the ISA; `None` where it is undefined.
fn shuffled(warp: &Warp, mode: &str, lane: usize, b: u32, c: u32) -> Option<(u32, bool)> {
    let (lane, segments) = (i64::try_from(lane).ok()?, i64::from(c >> 8 & 31));
    let (b, clamp) = (i64::from(b & 31), i64::from(c & 31));
    let last = (lane & segments) | (clamp & !segments & 31);
    let first = lane & segments;
    let (source, holds) = match mode {
        "up" => (lane - b, lane - b >= last),
        "down" => (lane + b, lane + b <= last),
        "bfly" => (lane ^ b, lane ^ b <= last),
        _ => {
            let source = first | (b & !segments & 31);
            (source, source <= last)
        }
    };
    let source = usize::try_from(if holds { source } else { lane }).ok()?;
    let value = warp.takes_part(source).then(|| warp.values.get(source).copied())??;
    Some((value, holds))
}

/// An instruction with what a lane gets: value and, where there is one, predicate.
type Told = (String, Box<dyn Fn(&Warp, usize) -> Option<(u32, bool)>>);

fn instruction(random: &mut Numbers, mask: u32) -> Told {
    let modes = ["up", "down", "bfly", "idx"];
    match random.below(9) {
        0..=2 => {
            let mode = modes[random.below(4) as usize];
            let b = random.below(9) as u32;
            let clamp = if mode == "up" { 0 } else { 31 };
            let c =
                [clamp, clamp | 0x1c00, clamp | 0x1e00, random.below(32) as u32][random.below(4) as usize];
            let text = format!("let {{r, p}} = shfl.sync.{mode}.b32 v, {b}, {c}, {mask:#x};");
            (text, Box::new(move |warp, lane| shuffled(warp, mode, lane, b, c)))
        }
        3 => {
            // The lane is one that memory names.
            let text = format!("let {{r, p}} = shfl.sync.idx.b32 v, v & 3, 31, {mask:#x};");
            (text, Box::new(move |warp, lane| shuffled(warp, "idx", lane, warp.values[lane] & 3, 31)))
        }
        4 => {
            let text = format!("let r = vote.sync.ballot.b32 v > 2, {mask:#x}; let p = true;");
            let bit = |warp: &Warp, lane: usize| u32::from(warp.values[lane] > 2) << lane;
            (
                text,
                Box::new(move |warp, _| Some((warp.taking_part().map(|lane| bit(warp, lane)).sum(), true))),
            )
        }
        5 => {
            let kind = ["all", "any", "uni"][random.below(3) as usize];
            let text = format!("let p = vote.sync.{kind}.pred v > 2, {mask:#x}; var r: u32 = 0;");
            (
                text,
                Box::new(move |warp, _| {
                    let all = warp.taking_part().all(|lane| warp.values[lane] > 2);
                    let any = warp.taking_part().any(|lane| warp.values[lane] > 2);
                    Some((
                        0,
                        match kind {
                            "all" => all,
                            "any" => any,
                            _ => all || !any,
                        },
                    ))
                }),
            )
        }
        6 => {
            let text = format!("let r = match.any.sync.b32 v, {mask:#x}; let p = true;");
            (
                text,
                Box::new(|warp, lane| {
                    let same = warp.taking_part().filter(|&other| warp.values[other] == warp.values[lane]);
                    Some((same.map(|other| 1 << other).sum(), true))
                }),
            )
        }
        7 => {
            let text = format!("let {{r, p}} = match.all.sync.b32 v, {mask:#x};");
            (
                text,
                Box::new(|warp, lane| {
                    let same = warp.taking_part().all(|other| warp.values[other] == warp.values[lane]);
                    let lanes = warp.taking_part().map(|other| 1 << other).sum();
                    Some((if same { lanes } else { 0 }, same))
                }),
            )
        }
        _ => {
            let all = [
                ("add.u32", u32::wrapping_add as fn(u32, u32) -> u32),
                ("min.u32", u32::min),
                ("max.u32", u32::max),
                ("min.s32", |a, b| (a as i32).min(b as i32) as u32),
                ("max.s32", |a, b| (a as i32).max(b as i32) as u32),
                ("and.b32", |a, b| a & b),
                ("or.b32", |a, b| a | b),
                ("xor.b32", |a, b| a ^ b),
            ];
            let (name, combine) = all[random.below(8) as usize];
            let text = format!("let r = redux.sync.{name} v, {mask:#x}; let p = true;");
            let all = move |warp: &Warp| warp.taking_part().map(|lane| warp.values[lane]).reduce(combine);
            (text, Box::new(move |warp, _| all(warp).map(|value| (value, true))))
        }
    }
}

/// A kernel in which each lane of the mask asserts what it gets; in one of them, if `wrong`, something else.
fn kernel(random: &mut Numbers, wrong: bool) -> Option<String> {
    let n_lanes = [2, 3, 4, 8][random.below(4) as usize];
    let values = (0..n_lanes).map(|_| [0, 1, 2, 3, 5, 0xffff_ffff][random.below(6) as usize]).collect();
    let all = (1_u32 << n_lanes) - 1;
    let mask = if random.below(3) == 0 { random.below(u64::from(all)) as u32 + 1 } else { all };
    let warp = Warp { values, mask };
    let (text, told) = instruction(random, mask);
    let list: Vec<String> = warp.values.iter().map(u32::to_string).collect();
    // Numbers while the kernel is unrolled, and numbers that are read; and so for the mask.
    let own = ["ld [given[laneid]]", "known"][random.below(2) as usize];
    let mut kernel = format!(
        "kernel k {{\n launch {{ lanes: {n_lanes} }}\n shared given[{n_lanes}]: u32 = {{{}}};\n var known: u32 = {};\n",
        list.join(", "),
        warp.values[n_lanes - 1]
    );
    for (lane, value) in warp.values.iter().enumerate().rev().skip(1) {
        let _ = writeln!(kernel, " if laneid == {lane} {{ known = {value}; }}");
    }
    let is_told = random.below(3) == 0;
    let (lanes, text) = match is_told {
        true => ("m".to_owned(), text.replace(&format!(", {mask:#x};"), ", m;")),
        false => (format!("{mask:#x}"), text),
    };
    if is_told {
        let bits: Vec<&str> =
            (0..n_lanes).map(|lane| if mask >> lane & 1 == 1 { "1" } else { "0" }).collect();
        let _ = writeln!(kernel, " shared comes[{n_lanes}]: u32 = {{{}}};", bits.join(", "));
        let _ = writeln!(kernel, " let m = vote.sync.ballot.b32 ld [comes[laneid]] == 1, {all:#x};");
    }
    let _ = writeln!(kernel, " if (({lanes} >> laneid) & 1) == 1 {{\n  let v = {own};\n  {text}");
    let victim = warp.taking_part().nth(random.below(u64::from(mask.count_ones())) as usize)?;
    let mut n_asserted = 0;
    for lane in warp.taking_part() {
        let Some((value, holds)) = told(&warp, lane) else { continue };
        n_asserted += 1;
        let value = if wrong && lane == victim { value ^ 1 } else { value };
        let predicate = if holds { "p" } else { "!p" };
        let _ = writeln!(kernel, "  if laneid == {lane} {{ assert r == {value} && {predicate}; }}");
    }
    let is_told = told(&warp, victim).is_some();
    kernel.push_str(" }\n}\n");
    (n_asserted > 0 && (!wrong || is_told)).then_some(kernel)
}

fn verdict(text: &str, model: &MemoryModel, config: &Config) -> Verdict {
    let outcomes = outcomes(text, model, config);
    assert!(n_threads(&outcomes[0].launch) > 0);
    outcomes[0].verdict
}

#[test]
fn lanes_get_what_the_isa_says() {
    let model = model(&[]);
    let (n, seed) = (settings("FENCEPOST_EXCHANGE_PROGRAMS", 250), settings("FENCEPOST_EXCHANGE_SEED", 0));
    let mut counts = [0; 2];
    for number in 0..n {
        for wrong in [false, true] {
            let Some(text) = kernel(&mut Numbers((seed + number) * 977 + 3), wrong) else { continue };
            let expected = if wrong { Verdict::Violated } else { Verdict::Proved };
            for treatment in [Treatment::DEFAULT, Treatment::SLICED] {
                assert_eq!(verdict(&text, &model, &config(treatment)), expected, "program {number}:\n{text}");
            }
            counts[usize::from(wrong)] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count * 2 > n), "{counts:?} of {n}");
}

fn codes(text: &str) -> Vec<&'static str> {
    let model = model(&[]);
    let outcomes = outcomes(text, &model, &config(Treatment::DEFAULT));
    codes_of(&outcomes[0], &model).into_iter().collect()
}

fn of_two_lanes(body: &str) -> String {
    format!("kernel k {{ launch {{ lanes: 2 }} shared x[2]: u32 = 0; shared y[2]: u32 = 0; {body} }}")
}

#[test]
fn lanes_wait_for_one_another() {
    let cases: [(&str, &[&str]); 8] = [
        ("let v = shfl.sync.bfly.b32 laneid, 1, 31, 3;", &[]),
        // One never comes.
        (
            "if laneid == 0 { let v = shfl.sync.bfly.b32 laneid, 1, 31, 3; } else { bar.warp.sync 3; }",
            &["deadlock::barrier-never-completes"],
        ),
        // They meet the same instruction only.
        (
            "if laneid == 0 { let v = vote.sync.any.pred true, 3; } else { let v = vote.sync.all.pred true, 3; }",
            &["deadlock::barrier-never-completes"],
        ),
        // Wherever it stands.
        (
            "if laneid == 0 { let v = vote.sync.any.pred true, 3; } else { let v = vote.sync.any.pred false, 3; }",
            &[],
        ),
        // Who has exited is not waited for.
        ("if laneid == 0 { exit; } let v = vote.sync.ballot.b32 true, 3; assert v == 2;", &[]),
        // What it would have told is not known.
        (
            "if laneid == 0 { exit; } let v = shfl.sync.idx.b32 laneid + 5, 0, 31, 3; assert v == 5;",
            &["assert::violated"],
        ),
        ("let v = shfl.sync.idx.b32 laneid, 0, 31, 1;", &["barrier::lane-not-in-mask"]),
        // No order of memory: what a lane knows is a value.
        (
            "st [x[laneid]], 1; let v = vote.sync.all.pred true, 3; let w = ld [x[laneid ^ 1]];",
            &["race::uniform"],
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(codes(&of_two_lanes(body)), expected, "{body}");
    }
}

/// A value that is told is a dependency: nothing comes out of thin air by way of another lane (AX-4), whichever lane comes
/// first in the warp; and where nothing is told there is none.
#[test]
fn values_that_are_told_are_dependencies() {
    let circle = |reader: u32, told: &str| {
        format!(
            "kernel k {{ launch {{ ctas: 2, lanes: 2 }} global a: u32 = 0; global b: u32 = 0; global s[2]: u32 = 0;
              var v: u32 = 0;
              if laneid == {reader} {{ if ctaid == 0 {{ v = ld.relaxed.gpu [a]; }} else {{ v = ld.relaxed.gpu [b]; }} }}
              {told}
              if laneid != {reader} {{
                if ctaid == 0 {{ st.relaxed.gpu [b], w; }} else {{ st.relaxed.gpu [a], w; }}
                st [s[ctaid]], w; }}
              final {{ assert [s[0]] == 0; }} }}"
        )
    };
    for reader in [0, 1] {
        for (told, expected) in [
            ("let w = shfl.sync.bfly.b32 v, 1, 31, 3;", &[][..]),
            ("let w = redux.sync.add.u32 v, 3;", &[]),
            ("let p = vote.sync.any.pred v == 1, 3; var w: u32 = 0; if p { w = 1; }", &[]),
            // Of the lane's own value, which it has not read.
            ("var w: u32 = 1; let q = shfl.sync.bfly.b32 v, 1, 31, 3;", &["assert::final-violated"]),
        ] {
            assert_eq!(codes(&circle(reader, told)), expected, "lane {reader}: {told}");
        }
    }
}

/// Loops that lanes leave together.
#[test]
fn lanes_leave_loops_together() {
    let text = "kernel k { launch { ctas: 2, lanes: 4, cooperative: true } global flag[4]: u32 = 0; global d: u32 = 0;
        if ctaid == 0 { if laneid == 0 { st [d], 7; } bar.warp.sync 0xf;
            st.release.gpu [flag[laneid]], 1; }
        else { for i in 0..3 {
                let f = ld.relaxed.gpu [flag[laneid]];
                let p = vote.sync.all.pred f == 1, 0xf;
                if p { fence.acq_rel.gpu; let v = ld [d]; assert v == 7; break; } }
            let q = vote.sync.ballot.b32 true, 0xf; assert q == 0xf; } }";
    assert_eq!(codes(text), [""; 0]);
    let broken = text.replace("fence.acq_rel.gpu; let", "let");
    assert_eq!(codes(&broken), ["assert::violated", "race::uniform"]);
}

/// Lanes that execute `activemask` together are told the same, and every way to part them is looked at.
#[test]
fn lanes_that_run_together_are_told_so() {
    let verdict = |n_lanes: u32, body: &str| {
        let text = format!("kernel k {{ launch {{ lanes: {n_lanes} }} {body} }}");
        let whole = verdict(&text, &model(&[]), &config(Treatment::DEFAULT));
        assert_eq!(verdict(&text, &model(&[]), &config(Treatment::SLICED)), whole, "{body}");
        whole
    };
    for n_lanes in [2, 3, 4] {
        for lane in 0..n_lanes {
            // Each mask with the lane is one that it may be told.
            for mask in (0_u32..1 << n_lanes).filter(|mask| mask >> lane & 1 == 1) {
                let body = format!("let m = activemask.b32; assert laneid != {lane} || m != {mask};");
                assert_eq!(verdict(n_lanes, &body), Verdict::Violated, "{n_lanes}: {body}");
            }
        }
        // No other; whoever is named is told the same; and so all that meet with it agree.
        for claim in [
            "assert ((m >> laneid) & 1) == 1;",
            "let all = vote.sync.ballot.b32 true, m; assert all == m;",
            "let same = match.any.sync.b32 m, m; assert same == m;",
            "let {first, p} = shfl.sync.idx.b32 m, 0, 31, m; assert !((m & 1) == 1) || first == m;",
            "let sum = redux.sync.add.u32 1, m; assert sum >= 1;",
        ] {
            let body = format!("let m = activemask.b32; {claim}");
            assert_eq!(verdict(n_lanes, &body), Verdict::Proved, "{n_lanes}: {body}");
        }
        // Who does not come is in no mask, and each round has its own.
        let apart = "if laneid == 0 { let m = activemask.b32; assert m == 1; }";
        assert_eq!(verdict(n_lanes, apart), Verdict::Proved, "{n_lanes}");
        let twice =
            "var m: u32 = 0; for i in 0..2 { let n = activemask.b32; assert i == 0 || n == m; m = n; }";
        assert_eq!(verdict(n_lanes, twice), Verdict::Violated, "{n_lanes}");
    }
}

/// Lanes meet by the masks that they have, wherever these come from.
#[test]
fn lanes_with_one_mask_meet() {
    let told = "let m = vote.sync.ballot.b32 ld [x[laneid]] == 0, 3;";
    let cases: [(&str, &[&str]); 13] = [
        ("bar.warp.sync m;", &[]),
        // The one has computed it, the other knows it.
        ("if laneid == 0 { bar.warp.sync m; } else { bar.warp.sync 3; }", &[]),
        ("if laneid == 0 { bar.warp.sync m & 1; } else { bar.warp.sync 2; }", &[]),
        // One of a few numbers.
        (
            "var n: u32 = 1; if m == 3 { n = 3; } if laneid == 0 { bar.warp.sync n; } else { bar.warp.sync 3; }",
            &[],
        ),
        ("var n: u32 = 1; if m == 1 { n = 3; } if laneid == 0 { bar.warp.sync n; }", &[]),
        // It orders memory, and what lanes tell one another does not.
        ("st [y[laneid]], 1; bar.warp.sync m; let w = ld [y[laneid ^ 1]];", &[]),
        (
            "st [y[laneid]], 1; let z = vote.sync.any.pred true, m; let w = ld [y[laneid ^ 1]];",
            &["race::uniform"],
        ),
        // The n-th meets the n-th.
        ("bar.warp.sync m; st [y[laneid]], 1; bar.warp.sync m; let w = ld [y[laneid ^ 1]];", &[]),
        // One never comes, or with another mask.
        ("if laneid == 0 { bar.warp.sync m; }", &["deadlock::barrier-never-completes"]),
        ("bar.warp.sync m & (3 - laneid);", &["deadlock::barrier-never-completes"]),
        // A lane that its own mask leaves out.
        ("let z = vote.sync.any.pred true, m & 2;", &["barrier::lane-not-in-mask"]),
        // Who has exited is not waited for, but at a barrier.
        ("if laneid == 0 { exit; } let z = vote.sync.ballot.b32 true, m; assert z == 2;", &[]),
        ("if laneid == 0 { exit; } bar.warp.sync m;", &["deadlock::barrier-never-completes"]),
    ];
    for (body, expected) in cases {
        assert_eq!(codes(&of_two_lanes(&format!("{told} {body}"))), expected, "{body}");
    }
}

/// A coalesced group of cooperative groups: who runs together adds its number with one atomic, and each stores to a place of its
/// own. Each of the changes takes away something of that.
#[test]
fn a_coalesced_group_of_a_compiled_kernel() {
    let harness = "global src[4]: u32;\nglobal count: u32 = 0;\nglobal out[4]: u32 = 0;\n\
                   import \"reduce.ptx\" entry aggregate as k {\n launch { block: 4 }\n param 0 = &src; param 1 = &count; \
                   param 2 = &out;\n}\n";
    let module = fencepost_tests::compiled::text("reduce.ptx");
    let verdict = |module: String| {
        let source = fencepost::Source::text("k.fence", harness).with("reduce.ptx", module);
        let options = fencepost::Options::default().repairs(false);
        fencepost::check(source, &options).expect("it is well-formed").verdict()
    };
    assert_eq!(verdict(module.clone()), Verdict::Proved);
    for (before, after) in [
        ("activemask.b32 %r6;", "mov.b32 %r6, -1;"),
        ("popc.b32 \t%r10, %r6;", "mov.b32 %r10, 1;"),
        ("shfl.sync.idx.b32 \t%r15|%p3, %r19, %r13, %r14, %r6;", "mov.b32 %r15, %r19;"),
        ("atom.global.add.u32 \t%r19, [%rd7], %r10;", "ld.relaxed.gpu.global.u32 %r19, [%rd7];"),
    ] {
        let changed = module.replace(before, after);
        assert_ne!(changed, module, "{before}");
        assert_eq!(verdict(changed), Verdict::Violated, "{before}");
    }
}
