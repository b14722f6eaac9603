//! Words that count and are set back: the answers are those of the search for all orders of their writes.
//!
//! `FENCEPOST_RESETS_PROGRAMS=N` runs N kernels, `FENCEPOST_RESETS_SEED=S` others.

use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_tests::oracle::hangs::{Comparison, compare};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, model, outcomes};
use fencepost_tests::switched::Switched;

/// Where threads are.
const SHAPES: &[&str] = &["ctas: N, cooperative: true", "ctas: N, cluster: N", "warps: N"];

/// What a meeting is made of.
#[derive(Clone, Copy)]
struct Meeting<'a> {
    arrive: &'a str,
    /// What the last to arrive has read.
    last: u64,
    reset: &'a str,
    turn: &'a str,
    wait: &'a str,
}

/// A meeting of `n` threads that turns the sense to `sense`.
const RIGHT: Meeting<'_> = Meeting {
    arrive: "(atom.add.acq_rel.gpu.u32 [c], 1)",
    last: 0,
    reset: "st.relaxed.gpu [c], 0;",
    turn: "st.release.gpu [s], SENSE;",
    wait: "await ld.acquire.gpu [s] == SENSE;",
};

impl Meeting<'_> {
    fn text(&self, n: u64, sense: u64) -> String {
        let last = if self.last == 0 { n - 1 } else { self.last };
        let Self { arrive, reset, turn, wait, .. } = self;
        format!("    if {arrive} == {last} {{ {reset} {turn} }} else {{ {wait} }}\n")
            .replace("SENSE", &sense.to_string())
            .replace("OTHER", &(1 - sense).to_string())
    }
}

/// A meeting, most often right, else with one edit.
fn meeting(numbers: &mut Numbers, n: u64, sense: u64) -> String {
    let mut meeting = RIGHT;
    match numbers.below(24) {
        0 => meeting.arrive = "(atom.add.release.gpu.u32 [c], 1)",
        1 => meeting.arrive = "(atom.add.relaxed.gpu.u32 [c], 1)",
        2 => meeting.arrive = "(atom.add.acq_rel.cta.u32 [c], 1)",
        3 => meeting.arrive = "(atom.add.acq_rel.gpu.u32 [c], 2)",
        4 => meeting.last = 1 + numbers.below(n),
        5 => meeting.reset = "",
        6 => meeting.reset = "st.relaxed.gpu [c], 0; st.relaxed.gpu [c], 0;",
        7 => meeting.reset = "st.relaxed.gpu [c], 1;",
        8 => meeting.reset = "st.weak [c], 0;",
        9 => meeting.reset = "let old = atom.exch.relaxed.gpu.b32 [c], 0;",
        10 => (meeting.reset, meeting.turn) = (meeting.turn, meeting.reset),
        11 => meeting.turn = "st.relaxed.gpu [s], SENSE;",
        12 => meeting.turn = "st.release.gpu [s], OTHER;",
        13 => meeting.wait = "await ld.relaxed.gpu [s] == SENSE;",
        14 => meeting.wait = "await ld.acquire.gpu [s] == OTHER;",
        15 => meeting.wait = "let seen = ld.acquire.gpu [s];",
        16 => meeting.wait = "await ld.acquire.gpu [c] == 0;",
        17 => meeting.arrive = "(atom.inc.acq_rel.gpu.u32 [c], 5)",
        _ => {}
    }
    meeting.text(n, sense)
}

/// Two or three threads that leave something for each other and meet once or twice, or thrice if they are two.
fn kernel(numbers: &mut Numbers) -> String {
    let n = 2 + numbers.below(2);
    let shape = numbers.of(SHAPES);
    let n_meetings = 1 + numbers.below(if n == 2 { 3 } else { 2 });
    let states: String = (0..4)
        .flat_map(|c| (0..2).map(move |s| format!("        reachable [c] == {c} && [s] == {s};\n")))
        .collect();
    format!("{}    final {{\n{states}    }}\n}}\n", without_final(numbers, n, n_meetings, shape))
}

/// The same, without what is asked of its end and the closing brace.
fn without_final(numbers: &mut Numbers, n: u64, n_meetings: u64, shape: &str) -> String {
    let shape = shape.replace('N', &n.to_string());
    let number = if shape.starts_with("ctas") { "ctaid" } else { "tid" };
    let mut body = String::new();
    for round in 0..n_meetings {
        let before = match numbers.below(6) {
            0..=2 => format!("    st.weak [d[{number}]], {};\n", round + 1),
            3 => format!("    let o{round} = ld.weak [d[({number} + 1) % {n}]];\n"),
            4 => format!("    if {number} == 0 {{ st.weak [d[0]], {}; }}\n", round + 1),
            _ => String::new(),
        };
        body += &before;
        let text = meeting(numbers, n, (round + 1) % 2);
        let text = text.replace("old", &format!("old{round}")).replace("seen", &format!("seen{round}"));
        match numbers.below(12) {
            // Somebody stays away, or arrives twice.
            0 => body += &format!("    if {number} != 0 {{\n    {text}    }}\n"),
            1 => body += &format!("    if {number} == 1 {{ red.add.release.gpu.u32 [c], 1; }}\n{text}"),
            _ => body += &text,
        }
        if numbers.below(2) == 0 {
            body += &format!(
                "    let v{round} = ld.weak [d[({number} + 1) % {n}]];\n    assert v{round} <= {};\n",
                round + 1
            );
        }
    }
    if numbers.below(4) == 0 {
        // Whoever is the last to come somewhere behind all that.
        body += "    if (atom.add.acq_rel.gpu.u32 [c], 1) == 1 { st.weak [d[0]], 7; }\n";
    }
    let start = numbers.of(&[0, 0, 0, 0, 0, 1]);
    format!(
        "kernel k {{\n    launch {{ {shape} }}\n    global c: u32 = {start};\n    global s: u32 = 0;\n    \
         global d[3]: u32 = 0;\n    global x: u32 = 0;\n{body}"
    )
}

/// What is worth knowing of the kernels, by what shows it.
const FEATURES: &[(&str, &str)] = &[
    ("arrivals that do not acquire", "atom.add.release"),
    ("arrivals out of scope", ".cta.u32 [c]"),
    ("resets to 1", "[c], 1; st."),
    ("two resets", "st.relaxed.gpu [c], 0; st.relaxed.gpu [c], 0;"),
    ("weak resets", "st.weak [c]"),
    ("resets by exchange", "exch"),
    ("relaxed turns", "st.relaxed.gpu [s]"),
    ("relaxed waits", "await ld.relaxed.gpu [s]"),
    ("waits for the counter", "await ld.acquire.gpu [c]"),
    ("somebody stays away", "!= 0 {\n"),
    ("somebody arrives twice", "red.add"),
];

#[test]
fn resets_agree() {
    let plan = Plan { n_programs: 250, first_seed: 0, salt: 21, n_memory_max: 0, progress: false };
    let used = "ordered";
    let results = [used, "violated", "proved"];
    let suite = Suite { set_aside_max: 10, one_in: 60, ..Suite::new("resets", plan, FEATURES, &results) };
    let off = Treatment { resets: false, ..Treatment::DEFAULT };
    let is_used =
        |found: &Outcome, expected: &Outcome| found.statistics.clauses != expected.statistics.clauses;
    Switched { kernel, on: Treatment::DEFAULT, off, used, is_used }.agree(&suite, FEATURES);
}

/// Threads leave something, meet, read what another has left, and meet again, `n_rounds` times.
fn barrier(n: u64, n_rounds: u64, first: Meeting<'_>) -> String {
    let mut body = String::new();
    for round in 0..2 * n_rounds {
        if round % 2 == 0 {
            body += &format!("    st.weak [d[ctaid]], {};\n", round + 1);
        } else {
            body += &format!(
                "    let v{round} = ld.weak [d[(ctaid + 1) % {n}]];\n    assert v{round} == {round};\n"
            );
        }
        let meeting = if round == 0 { first } else { RIGHT };
        body += &meeting.text(n, (round + 1) % 2);
    }
    format!(
        "kernel k {{\n    launch {{ ctas: {n}, cooperative: true }}\n    global c: u32 = 0;\n    \
         global s: u32 = 0;\n    global d[{n}]: u32 = 0;\n{body}}}\n"
    )
}

/// One edit of a meeting each, and what becomes of three threads that meet four times, the first time so.
fn edits() -> Vec<(Meeting<'static>, Verdict)> {
    let relaxed = Meeting { arrive: "(atom.add.relaxed.gpu.u32 [c], 1)", ..RIGHT };
    vec![
        (RIGHT, Verdict::Proved),
        // By an atomic, or twice by the same thread, it is as good.
        (Meeting { reset: "let old = atom.exch.relaxed.gpu.b32 [c], 0;", ..RIGHT }, Verdict::Proved),
        (Meeting { reset: "st.relaxed.gpu [c], 0; st.relaxed.gpu [c], 0;", ..RIGHT }, Verdict::Proved),
        (relaxed, Verdict::Violated),
        (Meeting { arrive: "(atom.add.release.gpu.u32 [c], 1)", ..RIGHT }, Verdict::Violated),
        (Meeting { arrive: "(atom.add.acquire.gpu.u32 [c], 1)", ..RIGHT }, Verdict::Violated),
        (Meeting { last: 1, ..RIGHT }, Verdict::Violated),
        (Meeting { last: 3, ..RIGHT }, Verdict::Violated),
        (Meeting { reset: "", ..RIGHT }, Verdict::Violated),
        (Meeting { reset: "st.relaxed.gpu [c], 1;", ..RIGHT }, Verdict::Violated),
        // Others may arrive before it is set back.
        (Meeting { reset: RIGHT.turn, turn: RIGHT.reset, ..RIGHT }, Verdict::Violated),
        (Meeting { turn: "st.relaxed.gpu [s], SENSE;", ..RIGHT }, Verdict::Violated),
        (Meeting { turn: "st.release.gpu [s], OTHER;", ..RIGHT }, Verdict::Violated),
        (Meeting { wait: "await ld.relaxed.gpu [s] == SENSE;", ..RIGHT }, Verdict::Violated),
        (Meeting { wait: "await ld.acquire.gpu [s] == OTHER;", ..RIGHT }, Verdict::Violated),
        (Meeting { wait: "", ..RIGHT }, Verdict::Violated),
    ]
}

#[test]
fn who_meets_knows_who_has_come() {
    for (first, expected) in edits() {
        let text = barrier(3, 2, first);
        let found = outcomes(&text, &model(&[]), &config(Treatment::DEFAULT)).remove(0);
        assert_eq!(found.verdict, expected, "{text}");
    }
    // Nobody tries the orders of eight meetings of two, or of four of four.
    for (n, n_rounds) in [(2, 4), (4, 2)] {
        let found =
            outcomes(&barrier(n, n_rounds, RIGHT), &model(&[]), &config(Treatment::DEFAULT)).remove(0);
        assert_eq!(found.verdict, Verdict::Proved, "{n} threads");
    }
}

#[test]
fn without_one_of_its_axioms_nothing_follows() {
    let text = barrier(2, 1, RIGHT);
    let with = |model: &MemoryModel, resets| {
        outcomes(&text, model, &config(Treatment { resets, ..Treatment::DEFAULT })).remove(0)
    };
    let model = model(&[]);
    let n_clauses = |model: &MemoryModel, resets| with(model, resets).statistics.clauses;
    assert_ne!(n_clauses(&model, true), n_clauses(&model, false));
    for name in ["coherence-of-strong-writes", "atomicity", "sc-per-location"] {
        let mut weaker = model.clone();
        weaker.axioms.retain(|axiom| axiom.name != name);
        assert_eq!(weaker.axioms.len() + 1, model.axioms.len(), "there is an axiom {name}");
        assert_eq!(n_clauses(&weaker, true), n_clauses(&weaker, false), "without {name}");
    }
    // Without that of causality the order of the rounds is not certain, and the barrier keeps nobody apart.
    let mut weaker = model.clone();
    weaker.axioms.retain(|axiom| axiom.name != "coherence" && axiom.name != "causality-order");
    let (found, expected) = (with(&weaker, true), with(&weaker, false));
    assert_eq!((found.verdict, &found.properties), (expected.verdict, &expected.properties));
}

/// The dull twin tries all executions of two threads that meet once or twice.
#[test]
fn the_twin_agrees() {
    let model = model(&[]);
    let edited = edits().into_iter().map(|(first, _)| {
        let text =
            barrier(2, 1, first).replace("ctas: 2, cooperative: true", "warps: 2").replace("ctaid", "tid");
        let open = text.strip_suffix("}\n").expect("a kernel ends with a brace");
        open.replacen("global c", "global x: u32 = 0;\n    global c", 1)
    });
    let random = (0..120).map(|seed| without_final(&mut Numbers(seed), 2, 1 + seed % 2, "warps: N"));
    let mut n_compared = 0;
    for open in edited.chain(random) {
        match compare(&model, &open, Treatment::DEFAULT) {
            Ok(Comparison::Agreed(_)) => n_compared += 1,
            Ok(_) => {}
            Err(complaint) => panic!("{complaint}"),
        }
    }
    assert!(n_compared >= 60, "most are small enough for the twin: {n_compared}");
}
