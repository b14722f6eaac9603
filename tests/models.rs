//! Where the three models that come along differ, and where they do not: small shapes with the outcome and the race
//! verdict of each model, and the rule that separates them.
//!
//! Threads are CTAs of one device unless a row says otherwise; memory starts at 0; results go to words of their own.

use fencepost::encode::Treatment;
use fencepost::event::TermPool;
use fencepost::verdict::{Property, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::cat::{self, memory_model::MemoryModel};
use fencepost_tests::run::{config, is_reached, outcomes, verdict};

/// What one model says of a shape: whether its outcome can happen, and whether it races.
///
/// No row races and yet forbids its outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    Forbidden,
    Allowed,
    AllowedRacy,
}
use Says::{Allowed, AllowedRacy, Forbidden};

struct Row {
    name: &'static str,
    /// The rule or the reading that separates the models, or that none does.
    rule: &'static str,
    launch: &'static str,
    /// One text per thread; thread `i` runs the `i`-th.
    threads: &'static [&'static str],
    /// The outcome asked for.
    outcome: &'static str,
    /// What `ptx`, `ptx-7.5` and `ptx-6.0` say.
    says: [Says; 3],
}

const MODELS: [&str; 3] = ["ptx", "ptx-7.5", "ptx-6.0"];

const TWO: &str = "ctas: 2";
const THREE: &str = "ctas: 3";

/// A reader that acquires the flag and reads the data.
const ACQUIRING_READER: &str =
    "let a = ld.acquire.gpu [f]; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }";
/// A writer that publishes the data through a release of the flag.
const RELEASING_WRITER: &str = "st.weak [d], 1; st.release.gpu [f], 1;";
const STALE: &str = "[r0] == 1 && [r1] == 0";

const ROWS: &[Row] = &[
    Row {
        name: "MP with fence.acq_rel",
        rule: "none",
        launch: TWO,
        threads: &["st.weak [d], 1; fence.acq_rel.gpu; st.relaxed.gpu [f], 1;", ACQUIRING_READER],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "MP with too narrow a scope",
        rule: "none",
        launch: TWO,
        threads: &["st.weak [d], 1; st.release.cta [f], 1;", ACQUIRING_READER],
        outcome: STALE,
        says: [AllowedRacy, AllowedRacy, AllowedRacy],
    },
    Row {
        name: "MP with fence.sc in place of a release",
        rule: "none: fence.sc starts patterns in all (A-5)",
        launch: TWO,
        threads: &["st.weak [d], 1; fence.sc.gpu; st.relaxed.gpu [f], 1;", ACQUIRING_READER],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "MP with fence.sc in place of an acquire",
        rule: "none: fence.sc ends patterns in all (A-5)",
        launch: TWO,
        threads: &[
            RELEASING_WRITER,
            "let a = ld.relaxed.gpu [f]; fence.sc.gpu; if a == 1 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "SB with fence.sc",
        rule: "none: the order of the fences is there in all",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.sc.gpu; let a = ld.relaxed.gpu [y]; st [r0], a;",
            "st.relaxed.gpu [y], 1; fence.sc.gpu; let a = ld.relaxed.gpu [x]; st [r1], a;",
        ],
        outcome: "[r0] == 0 && [r1] == 0",
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "SB of three threads with fence.sc",
        rule: "none: the order of the fences is acyclic in all (A-12)",
        launch: THREE,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.sc.gpu; let a = ld.relaxed.gpu [y]; st [r0], a;",
            "st.relaxed.gpu [y], 1; fence.sc.gpu; let a = ld.relaxed.gpu [f]; st [r1], a;",
            "st.relaxed.gpu [f], 1; fence.sc.gpu; let a = ld.relaxed.gpu [x]; st [r2], a; st [r3], 1;",
        ],
        outcome: "[r0] == 0 && [r1] == 0 && [r2] == 0 && [r3] == 1",
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "CoRR, all relaxed",
        rule: "none: A-13 shows with mixed sizes only (tests/litmus/mixed-size/lb-through-the-whole)",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1;",
            "let a = ld.relaxed.gpu [x]; let b = ld.relaxed.gpu [x]; st [r0], a; st [r1], b;",
        ],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "CoRR, strong read then weak read",
        rule: "none: A-39 keeps program order after an observation",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1;",
            "let a = ld.relaxed.gpu [x]; if a == 1 { let b = ld.weak [x]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "a thread reads back its own weak write",
        rule: "none: A-39 leaves it to SC per location",
        launch: "ctas: 1",
        threads: &["st.weak [x], 1; let a = ld.weak [x]; st [r0], 1; st [r1], a;"],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "release observed through a relaxed atomic",
        rule: "none: observation is closed inside patterns in all (A-14)",
        launch: THREE,
        threads: &[
            RELEASING_WRITER,
            "let o = atom.add.relaxed.gpu.u32 [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 2 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "a weak read after a relayed value was seen",
        rule: "A-14: in front of causality, observation is one step in 7.5",
        launch: THREE,
        threads: &[
            "st.relaxed.gpu [x], 1;",
            "let o = atom.add.relaxed.gpu.u32 [x], 1;",
            "let a = ld.relaxed.gpu [x]; if a == 2 { let b = ld.weak [x]; st [r0], 1; st [r1], b; }",
        ],
        outcome: "[r0] == 1 && [r1] == 2",
        says: [Allowed, AllowedRacy, Allowed],
    },
    Row {
        name: "MP through red and a fence",
        rule: "A-40",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.acq_rel.gpu; st.relaxed.gpu [f], 1;",
            "red.relaxed.gpu.add.u32 [f], 1; fence.acq_rel.gpu; let a = ld.relaxed.gpu [x]; st [r0], a;",
        ],
        outcome: "[f] == 2 && [r0] == 0",
        says: [Allowed, Forbidden, Forbidden],
    },
    Row {
        name: "MP through atom with a sink destination and a fence",
        rule: "A-40, A-7",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.acq_rel.gpu; st.relaxed.gpu [f], 1;",
            "atom.add.relaxed.gpu.u32 _, [f], 1; fence.acq_rel.gpu; let a = ld.relaxed.gpu [x]; st [r0], a;",
        ],
        outcome: "[f] == 2 && [r0] == 0",
        says: [Allowed, Forbidden, Forbidden],
    },
    Row {
        name: "MP through atom and a fence",
        rule: "none",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [x], 1; fence.acq_rel.gpu; st.relaxed.gpu [f], 1;",
            "let o = atom.add.relaxed.gpu.u32 [f], 1; fence.acq_rel.gpu; let a = ld.relaxed.gpu [x]; st [r0], a;",
        ],
        outcome: "[f] == 2 && [r0] == 0",
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "a failed CAS releases nothing",
        rule: "none: A-4 is decided before the model",
        launch: TWO,
        threads: &[
            "st.relaxed.gpu [f], 5; st.weak [d], 1; let o = atom.cas.release.gpu.b32 [f], 7, 5;",
            "let a = ld.acquire.gpu [f]; if a == 5 { let b = ld.weak [d]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [AllowedRacy, AllowedRacy, AllowedRacy],
    },
    Row {
        name: "LB with control dependencies",
        rule: "none: a branch that decides about a store counts in all (A-38)",
        launch: TWO,
        threads: &[
            "let a = ld.relaxed.gpu [x]; if a == 1 { st.relaxed.gpu [y], 1; }",
            "let a = ld.relaxed.gpu [y]; if a == 1 { st.relaxed.gpu [x], 1; }",
        ],
        outcome: "[x] == 1",
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "LB with a store that both arms have",
        rule: "A-38: per store, not per arm",
        launch: TWO,
        threads: &[
            "let a = ld.relaxed.gpu [x]; if a == 1 { st.relaxed.gpu [y], 1; } else { st.relaxed.gpu [y], 1; } st [r0], a;",
            "let a = ld.relaxed.gpu [y]; if a == 1 { st.relaxed.gpu [x], 1; }",
        ],
        outcome: "[r0] == 1",
        says: [Allowed, Forbidden, Forbidden],
    },
    Row {
        name: "alias CoWR without a fence",
        rule: "MM-19 (one thread), A-2",
        launch: "ctas: 1",
        threads: &["st [x], 1; let a = ld [x2]; st [r0], a; st [r1], 1;"],
        outcome: "[r1] == 1 && [r0] == 0",
        says: [AllowedRacy, Allowed, Forbidden],
    },
    Row {
        name: "alias CoWR with an alias fence",
        rule: "none",
        launch: "ctas: 1",
        threads: &["st [x], 1; fence.proxy.alias; let a = ld [x2]; st [r0], a; st [r1], 1;"],
        outcome: "[r1] == 1 && [r0] == 0",
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "MP that reads the data through an alias",
        rule: "A-2",
        launch: TWO,
        threads: &[
            "st [x], 1; st.release.gpu [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 1 { let b = ld [x2]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [AllowedRacy, AllowedRacy, Forbidden],
    },
    Row {
        name: "MP that reads the data through an alias, after an alias fence",
        rule: "none",
        launch: TWO,
        threads: &[
            "st [x], 1; st.release.gpu [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 1 { fence.proxy.alias; let b = ld [x2]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "texture read without a fence",
        rule: "MM-19 (one thread), MM-15",
        launch: "ctas: 1",
        threads: &["st [x], 1; let a = tex.1d.u32 [xt]; st [r0], a; st [r1], 1;"],
        outcome: "[r1] == 1 && [r0] == 0",
        says: [AllowedRacy, Allowed, Forbidden],
    },
    Row {
        name: "texture read after a texture fence",
        rule: "none",
        launch: "ctas: 1",
        threads: &["st [x], 1; fence.proxy.texture; let a = tex.1d.u32 [xt]; st [r0], a; st [r1], 1;"],
        outcome: "[r1] == 1 && [r0] == 0",
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "MP that reads the data through a surface, the fence in the writer's CTA",
        rule: "MM-15",
        launch: TWO,
        threads: &[
            "st [x], 1; fence.proxy.surface; st.release.gpu [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 1 { let b = suld.b.1d.b32 [xs]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [AllowedRacy, AllowedRacy, Forbidden],
    },
    Row {
        name: "MP that reads the data through a surface, the fence in the reader's CTA",
        rule: "none",
        launch: TWO,
        threads: &[
            "st [x], 1; st.release.gpu [f], 1;",
            "let a = ld.acquire.gpu [f]; if a == 1 { fence.proxy.surface; let b = suld.b.1d.b32 [xs]; st [r0], 1; st [r1], b; }",
        ],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "bar.sync publishes",
        rule: "none",
        launch: "warps: 2",
        threads: &["st [x], 1; bar.sync 0;", "bar.sync 0; let a = ld [x]; st [r0], 1; st [r1], a;"],
        outcome: STALE,
        says: [Forbidden, Forbidden, Forbidden],
    },
    Row {
        name: "threads that await each other's next step never go on",
        rule: "none: no circular justification in any",
        launch: TWO,
        threads: &[
            "await ld.relaxed.gpu [x] == 1; st.relaxed.gpu [y], 1;",
            "await ld.relaxed.gpu [y] == 1; st.relaxed.gpu [x], 1;",
        ],
        outcome: "true",
        says: [Forbidden, Forbidden, Forbidden],
    },
];

fn load(name: &str) -> MemoryModel {
    let path = format!("{}/../checker/engine/models/{name}.cat", env!("CARGO_MANIFEST_DIR"));
    let mut read = |path: &str| std::fs::read_to_string(path).map_err(|error| error.to_string());
    cat::load(&mut SourceMap::default(), &path, &mut read, &[])
        .unwrap_or_else(|errors| panic!("{name} is rejected: {errors:#?}"))
}

fn kernel(row: &Row) -> String {
    let selector = if row.launch.contains("warps") { "warpid" } else { "ctaid" };
    let mut text = format!("//! target formal\nkernel k {{\n  launch {{ {} }}\n", row.launch);
    for name in ["d", "x", "y", "f", "r0", "r1", "r2", "r3"] {
        text += &format!("  global {name}: u32 = 0;\n");
    }
    text += "  global x2: u32 alias x;\n  texture xt: u32 alias x;\n  surface xs: u32 alias x;\n";
    for (index, thread) in row.threads.iter().enumerate() {
        text += &format!("  if {selector} == {index} {{ {thread} }}\n");
    }
    text + &format!("  final {{ reachable {}; }}\n}}\n", row.outcome)
}

#[test]
fn each_model_says_what_its_edition_says() {
    let config = config(Treatment::DEFAULT);
    let mut wrong = Vec::new();
    for (at, name) in MODELS.into_iter().enumerate() {
        let model = load(name);
        for row in ROWS {
            let outcome = outcomes(&kernel(row), &model, &config).remove(0);
            let found = match (is_reached(&outcome), verdict(&outcome, Property::Race)) {
                (false, Verdict::Proved) => Forbidden,
                (true, Verdict::Proved) => Allowed,
                (true, Verdict::Violated) => AllowedRacy,
                (reached, other) => panic!("{}, {name}: reached {reached}, race {other:?}", row.name),
            };
            if found != row.says[at] {
                wrong.push(format!("{}, {name}: {found:?}, expected {:?}", row.name, row.says[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a writer puts between its data and the flag, with how it writes that; whether it releases.
const WRITERS: [(&str, &str, bool); 6] = [
    ("", "st.relaxed.gpu", false),
    ("", "st.release.gpu", true),
    ("fence.acq_rel.gpu;", "st.relaxed.gpu", true),
    ("fence.sc.gpu;", "st.relaxed.gpu", true),
    ("fence.release.gpu;", "st.relaxed.gpu", true),
    ("bar.sync 0;", "st.relaxed.gpu", false),
];
/// How a reader reads the flag, with what it puts before that and after it; whether it acquires.
const READERS: [(&str, &str, &str, bool); 6] = [
    ("", "ld.relaxed.gpu", "", false),
    ("", "ld.acquire.gpu", "", true),
    ("", "ld.relaxed.gpu", "fence.acq_rel.gpu;", true),
    ("", "ld.relaxed.gpu", "fence.sc.gpu;", true),
    ("", "ld.relaxed.gpu", "fence.acquire.gpu;", true),
    ("bar.sync 0;", "ld.relaxed.gpu", "", false),
];

/// §8.8: every releasing side goes with every acquiring one, a barrier with a barrier, and nothing else with anything; no
/// edition reads that differently.
#[test]
fn fences_and_barriers_go_together_alike_in_all_models() {
    let config = config(Treatment::DEFAULT);
    let mut wrong = Vec::new();
    for name in MODELS {
        let model = load(name);
        for (between, store, releases) in WRITERS {
            for (before, read, after, acquires) in READERS {
                let text = format!(
                    "//! target sm_90 ptx 8.6
kernel k {{
    launch {{ warps: 2 }}
    global d: u32 = 0;
    global f: u32 = 0;
    global r0: u32 = 0;
    global r1: u32 = 0;
    if warpid == 0 {{
        st.weak [d], 1; {between} {store} [f], 1;
    }} else {{
        {before} let a = {read} [f]; {after}
        if a == 1 {{ let b = ld.weak [d]; st [r0], 1; st [r1], b; }}
    }}
    final {{ reachable {STALE}; }}
}}
"
                );
                let outcome = outcomes(&text, &model, &config).remove(0);
                let is_ordered = (releases && acquires) || (between == "bar.sync 0;" && before == between);
                let found = (is_reached(&outcome), verdict(&outcome, Property::Race));
                let expected = if is_ordered { (false, Verdict::Proved) } else { (true, Verdict::Violated) };
                if found != expected {
                    wrong.push(format!("{name}, `{between} {store}`, `{before} {read} {after}`: {found:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rows_without_a_rule_separate_nothing_and_the_others_do() {
    for row in ROWS {
        let same = row.says[1..].iter().all(|says| *says == row.says[0]);
        assert_eq!(same, row.rule.starts_with("none"), "{}", row.name);
    }
}

/// In the manner of other tools: fences are generic, alias fences and proxy fences are fences and the latter in the set of
/// their proxy, and the order of `fence.sc` needs no axiom.
const FOREIGN: &str = "FOREIGN
let strong = (M & (RLX | ACQ | REL)) | F
let same-proxy = GEN * GEN | SUR * SUR | TEX * TEX | CON * CON
let ms = ((po | po^-1) | ([strong]; sr; [strong])) & same-proxy
let sync = ms & (([F & ACQ_REL]; po; [W & RLX]); (ms & rf); ([R & RLX]; po; [F & ACQ_REL]))
let base = (po | sync | sync_fence)+
let proxy-fence-ops = [F]; (same-proxy & scta); [M]
let cause = ([GEN]; (vloc & base); [GEN])
  | (vloc & ([GEN]; base; base & proxy-fence-ops))
  | (loc & ([GEN]; base; [F & ALIAS]; base; [GEN]))
irreflexive (rf | fr); cause as causality
";

#[test]
fn base_names_mean_what_other_tools_mean_by_them() {
    let mut read = |_: &str| Ok(FOREIGN.to_owned());
    let model = cat::load(&mut SourceMap::default(), "foreign.cat", &mut read, &[]).expect("it is fine");
    let shapes = [
        "SB with fence.sc",
        "SB of three threads with fence.sc",
        "MP through atom and a fence",
        "alias CoWR with an alias fence",
        "texture read after a texture fence",
    ];
    for shape in shapes {
        let row = ROWS.iter().find(|row| row.name == shape).expect("a row of the table");
        let outcome = outcomes(&kernel(row), &model, &config(Treatment::DEFAULT)).remove(0);
        assert!(!is_reached(&outcome), "{shape}");
    }
    for shape in ["texture read without a fence", "alias CoWR without a fence"] {
        let row = ROWS.iter().find(|row| row.name == shape).expect("a row of the table");
        let outcome = outcomes(&kernel(row), &model, &config(Treatment::DEFAULT)).remove(0);
        assert!(is_reached(&outcome), "{shape}");
    }
}

/// the write part of a compare-and-swap depends on its success, but in the variant.
#[test]
fn a_failed_swap_writes_only_in_the_variant() {
    let text = "kernel k {
        launch { ctas: 2, cluster: 2 }
        global flag: u32 = 7;
        if ctaid == 0 {
            let old = atom.cas.release.gpu [flag], 0, 1;
        } else {
            let seen = atom.add.acquire.gpu [flag], 1;
        }
    }";
    let certain_writes = |variants: &[&str]| {
        let outcome = &outcomes(text, &fencepost_tests::run::model(variants), &config(Treatment::DEFAULT))[0];
        assert_eq!(verdict(outcome, Property::Race), Verdict::Proved);
        let writes = outcome.graph.rmw.iter().map(|&(_, write)| outcome.graph.events[write].guard);
        writes.filter(|&guard| guard == TermPool::TRUE).count()
    };
    assert_eq!(certain_writes(&[]), 1);
    assert_eq!(certain_writes(&["failed-cas-writes"]), 2);
}
