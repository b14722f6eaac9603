//! Verdicts that the PTX ISA and the formal models of it fix: each shape's outcome is allowed or
//! forbidden, and it races or not, with every optimisation on and with each one off.
//!
//! Threads are CTAs of one device unless a row says otherwise; memory starts at 0; results go to words of their own.

#[path = "verdict_table/barriers.rs"]
mod barriers;
#[path = "verdict_table/proxies.rs"]
mod proxies;

use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Verdict};
use fencepost_tests::run::{config, is_reached, model, outcomes, verdict};

/// What a row claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    Forbidden,
    Allowed,
}
use Expect::{Allowed, Forbidden};

/// What a row claims of races.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Races {
    Yes,
    No,
}

struct Row {
    name: &'static str,
    /// Where the claim comes from.
    source: &'static str,
    launch: &'static str,
    /// One text per thread; thread `i` runs the `i`-th.
    threads: &'static [&'static str],
    /// The outcome asked for.
    outcome: &'static str,
    expect: Expect,
    races: Races,
}

/// The special register that tells the threads of a launch apart.
fn selector(launch: &str) -> &'static str {
    if launch.contains("gpus") {
        "gpuid"
    } else if launch.contains("warps") {
        "warpid"
    } else {
        "ctaid"
    }
}

fn kernel(row: &Row) -> String {
    let mut text = format!("//! target formal\nkernel k {{\n  launch {{ {} }}\n", row.launch);
    for name in ["d", "x", "y", "f", "r0", "r1", "r2", "r3"] {
        text += &format!("  global {name}: u32 = 0;\n");
    }
    text +=
        "  global x2: u32 alias x;\n  global w: u64 = 0;\n  view wl: u32 of w;\n  view wh: u32 of w + 4;\n";
    text += "  texture xt: u32 alias x;\n  surface xs: u32 alias x;\n  constant xc: u32 alias x;\n";
    text += "  surface x2s: u32 alias x2;\n  texture x2t: u32 alias x2;\n";
    for (index, thread) in row.threads.iter().enumerate() {
        text += &format!("  if {} == {index} {{ {thread} }}\n", selector(row.launch));
    }
    text + &format!("  final {{ reachable {}; }}\n}}\n", row.outcome)
}

const TWO: &str = "ctas: 2";
const THREE: &str = "ctas: 3";
const FOUR: &str = "ctas: 4";
const WARPS: &str = "warps: 2";

/// Message passing, store buffering and their kin; the other rows are in files of their own.
const ROWS: &[Row] = &[
    Row {
        name: "MP with fence.acq_rel.sys",
        source: "PTX ISA; MM-36",
        launch: TWO,
        threads: &[
            "st.weak [d], 1; fence.acq_rel.sys; st.relaxed.sys [f], 1;",
            "let a = ld.relaxed.sys [f]; fence.acq_rel.sys; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "MP with fences of scope cta in different CTAs",
        source: "MM-18",
        launch: TWO,
        threads: &[
            "st.weak [d], 1; fence.acq_rel.cta; st.relaxed.sys [f], 1;",
            "let a = ld.relaxed.sys [f]; fence.acq_rel.cta; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "SB with fence.sc.sys",
        source: "PTX ISA; MM-33",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1; fence.sc.sys; let a = ld.relaxed.sys [y]; st [r0], a;",
            "st.relaxed.sys [y], 1; fence.sc.sys; let a = ld.relaxed.sys [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "SB with fence.acq_rel.sys",
        source: "PTX ISA",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1; fence.acq_rel.sys; let a = ld.relaxed.sys [y]; st [r0], a;",
            "st.relaxed.sys [y], 1; fence.acq_rel.sys; let a = ld.relaxed.sys [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 && [r1] == 0",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "SB with fence.sc.cta in different CTAs",
        source: "MM-32",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1; fence.sc.cta; let a = ld.relaxed.sys [y]; st [r0], a;",
            "st.relaxed.sys [y], 1; fence.sc.cta; let a = ld.relaxed.sys [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 && [r1] == 0",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "SB with membar.gl",
        source: "FN-10",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1; membar.gl; let a = ld.relaxed.sys [y]; st [r0], a;",
            "st.relaxed.sys [y], 1; membar.gl; let a = ld.relaxed.sys [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "CoRR, all relaxed",
        source: "PTX ISA; AX-5",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1;",
            "let a = ld.relaxed.sys [x]; let b = ld.relaxed.sys [x]; st [r0], a; st [r1], b;",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "CoRR, strong read then weak read",
        source: "MM-42; ASPLOS'19 figure 9a",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1;",
            "let a = ld.relaxed.sys [x]; if a == 1 { let b = ld.weak [x]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "CoRR, first read weak",
        source: "MM-31",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1;",
            "let a = ld.weak [x]; let b = ld.relaxed.sys [x]; st [r0], a; st [r1], b;",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "LB without dependencies",
        source: "PTX ISA; AX-4",
        launch: TWO,
        threads: &[
            "let a = ld.relaxed.sys [x]; st.relaxed.sys [y], 1; st [r0], a;",
            "let a = ld.relaxed.sys [y]; st.relaxed.sys [x], 1; st [r1], a;",
        ],
        outcome: "[r0] == 1 && [r1] == 1",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "LB that would invent a value",
        source: "PTX ISA; AX-4",
        launch: TWO,
        threads: &[
            "let a = ld.relaxed.sys [x]; st.relaxed.sys [y], a; st [r0], a;",
            "let a = ld.relaxed.sys [y]; st.relaxed.sys [x], a; st [r1], a;",
        ],
        outcome: "[r0] == 42 && [r1] == 42",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "two atomic increments of scope sys",
        source: "PTX ISA; AX-3",
        launch: TWO,
        threads: &["atom.inc.relaxed.sys.u32 _, [x], 10;", "atom.inc.relaxed.sys.u32 _, [x], 10;"],
        outcome: "[x] == 1",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "two atomic increments whose scopes do not include each other",
        source: "PTX ISA; MM-22",
        launch: TWO,
        threads: &["atom.inc.relaxed.cta.u32 _, [x], 10;", "atom.inc.relaxed.gpu.u32 _, [x], 10;"],
        outcome: "[x] == 1",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "MP through red and fence.acquire",
        source: "PTX ISA 8.11.1; MM-24",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.release.gpu; st.relaxed.gpu [f], 1;",
            "red.relaxed.gpu.add.u32 [f], 1; fence.acquire.gpu; let a = ld.relaxed.gpu [x]; st [r0], a;",
        ],
        outcome: "[f] == 2 && [r0] == 0",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "MP through atom and fence.acquire",
        source: "PTX ISA 8.11.1; MM-24",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.release.gpu; st.relaxed.gpu [f], 1;",
            "let o = atom.add.relaxed.gpu.u32 [f], 1; fence.acquire.gpu; let a = ld.relaxed.gpu [x]; st [r0], a;",
        ],
        outcome: "[f] == 2 && [r0] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "MP through atom with a sink destination",
        source: "A-7",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.release.gpu; st.relaxed.gpu [f], 1;",
            "atom.add.relaxed.gpu.u32 _, [f], 1; fence.acquire.gpu; let a = ld.relaxed.gpu [x]; st [r0], a;",
        ],
        outcome: "[f] == 2 && [r0] == 0",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "release pattern 2: release, then a later strong write of the same location",
        source: "PTX ISA 8.8",
        launch: TWO,
        threads: &[
            "st.weak [y], 1; st.release.sys [x], 1; st.relaxed.sys [x], 2;",
            "let a = ld.relaxed.sys [x]; fence.acq_rel.sys; if a == 2 { let b = ld.weak [y]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "IRIW, relaxed",
        source: "not multi-copy atomic",
        launch: FOUR,
        threads: &[
            "st.relaxed.sys [x], 1;",
            "st.relaxed.sys [y], 1;",
            "let a = ld.relaxed.sys [x]; let b = ld.relaxed.sys [y]; st [r0], a; st [r1], b;",
            "let a = ld.relaxed.sys [y]; let b = ld.relaxed.sys [x]; st [r2], a; st [r3], b;",
        ],
        outcome: "[r0] == 1 && [r1] == 0 && [r2] == 1 && [r3] == 0",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "IRIW, acquire reads",
        source: "not multi-copy atomic",
        launch: FOUR,
        threads: &[
            "st.release.sys [x], 1;",
            "st.release.sys [y], 1;",
            "let a = ld.acquire.sys [x]; let b = ld.acquire.sys [y]; st [r0], a; st [r1], b;",
            "let a = ld.acquire.sys [y]; let b = ld.acquire.sys [x]; st [r2], a; st [r3], b;",
        ],
        outcome: "[r0] == 1 && [r1] == 0 && [r2] == 1 && [r3] == 0",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "IRIW with fence.sc between the reads",
        source: "MM-33",
        launch: FOUR,
        threads: &[
            "st.relaxed.sys [x], 1;",
            "st.relaxed.sys [y], 1;",
            "let a = ld.relaxed.sys [x]; fence.sc.sys; let b = ld.relaxed.sys [y]; st [r0], a; st [r1], b;",
            "let a = ld.relaxed.sys [y]; fence.sc.sys; let b = ld.relaxed.sys [x]; st [r2], a; st [r3], b;",
        ],
        outcome: "[r0] == 1 && [r1] == 0 && [r2] == 1 && [r3] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "release observed through a relaxed atomic",
        source: "MM-31",
        launch: THREE,
        threads: &[
            "st.weak [d], 1; st.release.gpu [f], 1;",
            "let o = atom.add.relaxed.gpu.u32 [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 2 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "release relayed by a relaxed load and store",
        source: "MM-31",
        launch: THREE,
        threads: &[
            "st.weak [d], 1; st.release.gpu [f], 1;",
            "let o = ld.relaxed.gpu [f]; st.relaxed.gpu [y], o;",
            "let a = ld.acquire.gpu [y]; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "fence.sc forms a release pattern",
        source: "A-5",
        launch: TWO,
        threads: &[
            "st.weak [d], 1; fence.sc.gpu; st.relaxed.gpu [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "fence.release does not acquire",
        source: "FN-6",
        launch: TWO,
        threads: &[
            "st.weak [d], 1; st.release.gpu [f], 1;",
            "let a = ld.relaxed.gpu [f]; fence.release.gpu; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "a failed CAS releases nothing",
        source: "A-4",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [f], 5; st.weak [d], 1; let o = atom.cas.release.gpu.b32 [f], 7, 5;",
            "let a = ld.acquire.gpu [f]; if a == 5 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "overlapping atomics of different sizes in each other's scope do not interleave",
        source: "MM-21",
        launch: TWO,
        threads: &["atom.add.relaxed.gpu.u64 _, [w], 1;", "atom.add.relaxed.gpu.u32 _, [wl], 1;"],
        outcome: "[wl] != 2",
        expect: Forbidden,
        races: Races::Yes,
    },
    Row {
        name: "partial overlap is a mixed-size race even between strong operations",
        source: "MM-20",
        launch: TWO,
        threads: &["st.relaxed.gpu [w], 0x100000001;", "st.relaxed.gpu [wl], 7;"],
        outcome: "[wl] == 7 && [wh] == 1",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "a thread's own accesses of different sizes do not race",
        source: "A-1",
        launch: "ctas: 1",
        threads: &["st [w], 0x500000007; let a = ld [wl]; let b = ld [wh]; st [r0], a; st [r1], b;"],
        outcome: "[r0] != 7 || [r1] != 5",
        expect: Forbidden,
        races: Races::No,
    },
    Row {
        name: "scope gpu does not reach another device",
        source: "MM-18",
        launch: "gpus: 2",
        threads: &[
            "st.weak [d], 1; st.release.gpu [f], 1;",
            "let a = ld.acquire.sys [f]; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 0",
        expect: Allowed,
        races: Races::Yes,
    },
    Row {
        name: "2+2W, relaxed",
        source: "no order between different locations",
        launch: TWO,
        threads: &[
            "st.relaxed.sys [x], 1; st.relaxed.sys [y], 2;",
            "st.relaxed.sys [y], 1; st.relaxed.sys [x], 2;",
        ],
        outcome: "[x] == 1 && [y] == 1",
        expect: Allowed,
        races: Races::No,
    },
    Row {
        name: "WRC with release and acquire is cumulative",
        source: "MM-23 footnote",
        launch: THREE,
        threads: &[
            "st.relaxed.gpu [x], 1;",
            "let a = ld.relaxed.gpu [x]; fence.acq_rel.gpu; st.relaxed.gpu [y], 1; st [r0], a;",
            "let b = ld.acquire.gpu [y]; let c = ld.relaxed.gpu [x]; st [r1], b; st [r2], c;",
        ],
        outcome: "[r0] == 1 && [r1] == 1 && [r2] == 0",
        expect: Forbidden,
        races: Races::No,
    },
];

fn check_rows(treatment: Treatment, treatment_name: &str) {
    let (model, config) = (model(&[]), config(treatment));
    let mut wrong = Vec::new();
    for row in [ROWS, proxies::ROWS, barriers::ROWS].into_iter().flatten() {
        let outcome = outcomes(&kernel(row), &model, &config).remove(0);
        let found = if is_reached(&outcome) { Allowed } else { Forbidden };
        let races = match verdict(&outcome, Property::Race) {
            Verdict::Violated => Races::Yes,
            _ => Races::No,
        };
        if (found, races) != (row.expect, row.races) {
            wrong.push(format!(
                "{} [{}]: {found:?}, races {races:?}; expected {:?}, races {:?}",
                row.name, row.source, row.expect, row.races
            ));
        }
        assert_ne!(verdict(&outcome, Property::Race), Verdict::Inconclusive, "{}", row.name);
    }
    assert!(wrong.is_empty(), "{treatment_name}:\n{}", wrong.join("\n"));
}

#[test]
fn verdicts() {
    check_rows(Treatment::DEFAULT, "default");
}

#[test]
fn verdicts_with_each_optimisation_off() {
    for &(name, treatment) in Treatment::ONE_OFF {
        check_rows(treatment, name);
    }
}
