//! What arguments need, and what becomes of a run where a need does not hold: models of one's own, words that are read in
//! pieces, and loops whose rounds write back what they have read. What is proved is asked again with each optimisation off.
//!
//! `FENCEPOST_TORN_PROGRAMS=N` runs N kernels of words in pieces, `FENCEPOST_TORN_SEED=S` others; so do
//! `FENCEPOST_WRITE_BACK_…` for loops that write back, and `FENCEPOST_OWN_MODELS_…` for models.

use fencepost::check::{Config, check};
use fencepost::encode::Treatment;
use fencepost::facts::needs::{Need, no_thin_air, not_monotone};
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::{SourceMap, cat};
use fencepost_tests::generate::loops::loop_sketches;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::random::{Counts, Numbers, Plan, Suite, run_over};
use fencepost_tests::run::{PTX, both, config, load_text, model, proved, spa_model, stays_proved, verdict};
use fencepost_tests::switched::Switched;
use proptest::prelude::any;

/// Steps of a check.
const STEPS_MAX: u64 = 60_000_000;

/// A model that is the default one and more.
fn with_ptx(more: &str) -> MemoryModel {
    of_text(&format!("\"own\"\ninclude \"ptx.cat\"\n{more}\n"))
}

fn of_text(text: &str) -> MemoryModel {
    let mut sources = SourceMap::default();
    let mut read = |path: &str| Ok(if path.ends_with("ptx.cat") { PTX.to_owned() } else { text.to_owned() });
    cat::load(&mut sources, "own.cat", &mut read, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

/// All properties, if none is named.
fn asking(properties: &[Property], treatment: Treatment) -> Config {
    let mut with = Config { unroll_max: 4, budget: STEPS_MAX, ..config(treatment) };
    if !properties.is_empty() {
        (with.properties, with.is_asked_by_name) = (properties.to_vec(), true);
    }
    with
}

fn ask(text: &str, model: &MemoryModel, properties: &[Property], treatment: Treatment) -> Outcome {
    let program = load_text(text);
    let kernel = &program.kernels[0];
    let with = asking(properties, treatment);
    check(&program, kernel, &kernel.launches[0], model, &with)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The deductions that were off, with what they need.
fn off(outcome: &Outcome) -> Vec<(&'static str, Need)> {
    outcome.statistics.off.iter().map(|off| (off.deduction, off.need)).collect()
}

// ------------------------------------------------------------------ words in pieces

const WHOLE: &[&str] = &["0", "0x10001", "0x10000", "0x30003", "1", "0x20001"];
const PIECE: &[&str] = &["0", "1", "2", "3"];

/// One statement about a word or its halves; what it finds goes to a word of its own, or is claimed to be something.
fn piece_step(numbers: &mut Numbers, at: u64) -> String {
    let strength = numbers.of(&["weak", "weak", "relaxed.gpu"]);
    let whole = numbers.of(WHOLE);
    let half = numbers.of(&["lo", "hi"]);
    let other = numbers.of(WHOLE);
    match numbers.below(9) {
        0..=2 => format!("st.{strength} [x], {whole};"),
        3 => format!("st.{strength} [{half}], {};", numbers.of(PIECE)),
        4 => format!("let h{at} = ld.{strength} [{half}]; st.relaxed.gpu [out], (h{at} as u32) % 2;"),
        5 => format!("let r{at} = ld.{strength} [x]; st.relaxed.gpu [out], r{at} % 65537;"),
        6 => format!(
            "let r{at} = ld.{strength} [x]; assert r{at} == {whole} || r{at} == {other} || r{at} == 0;"
        ),
        7 => format!(
            "let r{at} = ld.{strength} [x]; if r{at} != {whole} {{ if r{at} != {other} {{ st.relaxed.gpu [out], 1; }} }}"
        ),
        _ => format!("let r{at} = atom.exch.relaxed.gpu.b32 [x], {whole}; assert r{at} % 65537 != 1;"),
    }
}

fn piece_kernel(numbers: &mut Numbers) -> String {
    let n_threads = 2 + numbers.below(2);
    let mut text = format!(
        "kernel pieces {{\n    launch {{ ctas: {} }}\n    global x: u32 = {};\n    view lo: u16 of x;\n    \
         view hi[2]: u16 of x;\n    global out: u32 = 0;\n",
        n_threads + 1,
        numbers.of(WHOLE)
    );
    for thread in 0..n_threads {
        let steps: Vec<String> = (0..1 + numbers.below(3)).map(|at| piece_step(numbers, at)).collect();
        text += &format!("    if ctaid == {thread} {{ {} }}\n", steps.join(" "));
    }
    text += &format!(
        "    if ctaid == {n_threads} {{ assert ld.relaxed.gpu [out] == 0; let h = ld.weak [lo]; }}\n}}\n"
    );
    text.replace("[hi]", "[hi[1]]")
}

#[test]
fn words_in_pieces_are_known_as_well_as_without_known_values() {
    const PLAN: Plan = Plan { n_programs: 200, first_seed: 0, salt: 51, n_memory_max: 9, progress: false };
    let features = [("half", "[lo];"), ("told apart", "!= "), ("remainder", "% 65537;")];
    let suite = Suite::new("torn", PLAN, &features, &["violated", "less to do"]);
    let switched = Switched {
        kernel: piece_kernel,
        on: Treatment::DEFAULT,
        off: Treatment { known_values: false, ..Treatment::DEFAULT },
        used: "less to do",
        is_used: |on, off| on.statistics.variables < off.statistics.variables,
    };
    switched.agree(&suite, &features);
}

// ------------------------------------------------------------------ loops that write back

fn write_back_kernel(numbers: &mut Numbers) -> String {
    let is_racy = numbers.below(2) == 0;
    let mut text = "kernel back {\n    launch { ctas: 4, cooperative: true }\n    global x: u32 = 0;\n    \
                    global a: u32 = 0;\n    global b: u32 = 0;\n"
        .to_owned();
    for (thread, word) in [(0, "a"), (1, "b")] {
        let strength = if is_racy { numbers.of(&["weak", "weak", "relaxed.gpu"]) } else { "relaxed.gpu" };
        let read =
            numbers.of(&["ld.relaxed.gpu [x]", "ld.relaxed.gpu [x]", "atom.add.relaxed.gpu.u32 [x], 0"]);
        let value = if numbers.below(4) == 0 { 1 } else { thread + 1 };
        let order = numbers.below(4) == 0;
        let (first, second) = (format!("let r = {read};"), format!("st.{strength} [x], {value};"));
        let (first, second) = if order { (second, first) } else { (first, second) };
        text += &format!("    if ctaid == {thread} {{ {first} {second} st.weak [{word}], r; }}\n");
    }
    let poll = numbers.of(&[
        "await (atom.add.relaxed.gpu.u32 [x], 0) == 3;",
        "await (atom.add.relaxed.gpu.u32 [x], 0) == 3;",
        "await (atom.or.relaxed.gpu.b32 [x], 0) == 3;",
        "await (atom.max.relaxed.gpu.u32 [x], 0) >= 3;",
        "while (atom.exch.relaxed.gpu.b32 [x], 1) != 3 {}",
        "await (atom.cas.relaxed.gpu.b32 [x], 3, 1) == 3;",
    ]);
    text += &format!("    if ctaid == 2 {{ {poll} }}\n");
    text += &format!(
        "    if ctaid == 3 {{ st.{} [x], 3; }}\n",
        numbers.of(&["relaxed.gpu", "release.gpu", "relaxed.gpu"])
    );
    let (a, b) = (1 + numbers.below(2), numbers.below(3));
    text + &format!("    final {{ assert !([a] == {a} && [b] == {b}); }}\n}}\n")
}

#[test]
fn loops_that_write_back_are_proved_of_what_is_so_when_they_are_unwound() {
    const PLAN: Plan = Plan { n_programs: 75, first_seed: 0, salt: 52, n_memory_max: 9, progress: false };
    let features =
        [("add of 0", "add.relaxed.gpu.u32 [x], 0) =="), ("exchange", "exch"), ("weak", "st.weak [x]")];
    let suite = Suite::new("write_back", PLAN, &features, &["proved", "violated", "raced for"]);
    let model = model(&[]);
    suite.run("", |plan| {
        run_over(plan, any::<u64>, |&number, _, counts| {
            let text = write_back_kernel(&mut Numbers(number));
            let properties = [Property::Assert];
            let outcome = ask(&text, &model, &properties, Treatment::DEFAULT);
            if outcome.limit.is_some() {
                counts.add("over budget", true);
                return Ok(());
            }
            counts.add("compared", true);
            counts.add_features(&text, &features);
            counts.add("raced for", off(&outcome).contains(&("waits-that-write", Need::NoRace)));
            counts.add("violated", outcome.verdict == Verdict::Violated);
            counts.add("proved", !proved(&outcome).is_empty());
            let with = asking(&properties, Treatment::DEFAULT);
            stays_proved(&load_text(&text), &model, &with, &outcome)
                .map_err(|complaint| format!("{complaint}\n{text}"))
        })
    });
}

const TWO_ROUNDS: &str = "kernel spin {
    launch { ctas: 4 }
    global x: u32 = 0; global a: u32 = 0; global b: u32 = 0;
    if ctaid == 0 { let r = ld.relaxed.gpu [x]; st.weak [x], 1; st.weak [a], r; }
    else if ctaid == 1 { let r = ld.relaxed.gpu [x]; st.weak [x], 2; st.weak [b], r; }
    else if ctaid == 2 { await (atom.add.relaxed.gpu.u32 [x], 0) == 3; }
    else { st.relaxed.gpu [x], 3; }
    final { assert !([a] == 1 && [b] == 2); }
}";

#[test]
fn an_assertion_alone_is_not_proved_by_leaving_out_rounds_that_write_back() {
    let ptx = model(&[]);
    let outcome = ask(TWO_ROUNDS, &ptx, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Violated);
    assert!(off(&outcome).contains(&("waits-that-write", Need::NoRace)));
    let strong = TWO_ROUNDS.replace("st.weak [x]", "st.relaxed.gpu [x]");
    let outcome = ask(&strong, &ptx, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Proved);
    assert!(off(&outcome).is_empty(), "{:?}", off(&outcome));
}

// ------------------------------------------------------------------ models of one's own

const EVERY_RELEASE: &str = "empty ((W & REL) \\ domain(rf)) as every-release-is-read";
const THREE_READS: &str = "flag ~empty ([R] ; (po & loc) ; [R] ; (po & loc) ; [R]) as three-reads";

/// A writer of some releases, and a reader that awaits the last of them.
fn releases(n: u32) -> String {
    let stores: String = (1..=n).map(|value| format!("st.release.gpu [f], {value}; ")).collect();
    format!(
        "kernel releases {{\n    launch {{ ctas: 2, cooperative: true }}\n    global f: u32 = 0; global g: u32 = 0;\n    \
         if ctaid == 0 {{ {stores} }} else {{ await ld.acquire.gpu [f] == {n}; assert ld.relaxed.gpu [g] == 1; }}\n}}\n"
    )
}

#[test]
fn the_models_that_come_along_have_what_is_needed() {
    let program = load_text(&releases(1));
    let launch = &program.kernels[0].launches[0];
    let shipped = ["ptx", "ptx-7.5", "ptx-6.0"].map(|name| shipped_model(name).expect("it comes along"));
    for model in shipped.into_iter().chain([spa_model(&[])]) {
        assert_eq!(not_monotone(&model, launch), None, "{}", model.name);
        assert!(no_thin_air(&model), "{}", model.name);
    }
}

#[test]
fn an_axiom_that_wants_rounds_keeps_loops_from_being_waits() {
    let own = with_ptx(EVERY_RELEASE);
    for n in [2, 4, 20] {
        let outcome = ask(&releases(n), &own, &[Property::Assert], Treatment::DEFAULT);
        // With 20 releases to be read, no execution within the bound satisfies the axiom at all.
        let expected = if n == 20 { Verdict::ProvedUpToBound } else { Verdict::Violated };
        assert_eq!(verdict(&outcome, Property::Assert), expected, "{n} releases");
        for name in ["waits", "waits-that-write", "hangs-in-loops", "loop-bounds", "slices"] {
            assert!(off(&outcome).contains(&(name, Need::Monotone)), "{name}");
        }
    }
    let text = "kernel straight {\n    launch { ctas: 2 }\n    global f: u32 = 0;\n    \
                if ctaid == 0 { st.release.gpu [f], 1; } else { let r = ld.acquire.gpu [f]; assert r == 1; }\n}\n";
    let outcome = ask(text, &own, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Proved, "without loops nothing is left out");
}

#[test]
fn a_flag_of_several_rounds_keeps_loops_from_being_waits() {
    let outcome =
        ask(&releases(1).replace("[g] == 1", "[g] == 0"), &with_ptx(THREE_READS), &[], Treatment::DEFAULT);
    assert_eq!(outcome.verdict, Verdict::Violated);
    assert!(off(&outcome).contains(&("waits", Need::OneRound)));
    // A flag of one read and what is not of the loop takes one round.
    let one = with_ptx("flag ~empty ([R] ; (po & loc) ; [W]) as read-before-write");
    let outcome = ask(&releases(1).replace("[g] == 1", "[g] == 0"), &one, &[], Treatment::DEFAULT);
    assert_eq!((outcome.verdict, off(&outcome)), (Verdict::Proved, vec![]));
}

/// A CTA whose threads vote in each round of a wait.
const VOTES: &str = "kernel votes {
    launch { ctas: 2, warps: 2, cooperative: true }
    global f: u32 = 0; global g: u32 = 0;
    if ctaid == 0 {
        if tid == 0 { st.release.gpu [f], 1; }
    } else {
        loop {
            var is_there = false;
            if tid == 0 { is_there = ld.acquire.gpu [f] == 1; }
            let go = bar.red.or.pred 0, is_there;
            if go { break; }
        }
        assert ld.relaxed.gpu [g] == 0;
    }
}";

#[test]
fn a_flag_of_several_rounds_keeps_ctas_from_waiting_together() {
    let outcome = ask(VOTES, &with_ptx(THREE_READS), &[], Treatment::DEFAULT);
    assert_eq!(outcome.verdict, Verdict::Violated);
    assert!(off(&outcome).contains(&("cta-waits", Need::OneRound)), "{:?}", off(&outcome));
    let one = with_ptx("flag ~empty ([R] ; (po & loc) ; [W]) as read-before-write");
    let outcome = ask(VOTES, &one, &[], Treatment::DEFAULT);
    assert_eq!((outcome.verdict, off(&outcome)), (Verdict::Proved, vec![]));
}

/// Two rounds of the wait hand on what only atomics may read from where it was released.
const HANDED_ON: &str = "kernel handed {
    launch { ctas: 3, cooperative: true }
    global x: u32 = 0;
    if ctaid == 0 { st.release.gpu [x], 3; st.release.gpu [x], 4; st.relaxed.gpu [x], 5; }
    else if ctaid == 1 { await (atom.add.relaxed.gpu.u32 [x], 0) == 5; }
    else { let a = ld.relaxed.gpu [x]; let b = ld.relaxed.gpu [x]; assert !(a == 3 && b == 4); }
}";

#[test]
fn an_axiom_about_who_reads_from_whom_keeps_rounds_that_write_back() {
    let own = with_ptx("empty (rf & ((W & REL) * (R \\ ATOM))) as atomics-read-releases");
    let outcome = ask(HANDED_ON, &own, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Violated);
    assert!(off(&outcome).contains(&("waits-that-write", Need::ReadsThroughUpdates)), "{:?}", off(&outcome));
    // What is not about reads changes nothing; there, a value that is left is read as well from who wrote it.
    let other = with_ptx("empty ([F] ; po ; [F]) as one-fence");
    let fine = HANDED_ON.replace("!(a == 3 && b == 4)", "!(a == 4 && b == 3)");
    let outcome = ask(&fine, &other, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!((verdict(&outcome, Property::Assert), off(&outcome)), (Verdict::Proved, vec![]));
}

/// Only a try can leave 3 behind, and nobody reads from it.
const PUT_BACK: &str = "kernel back {
    launch { ctas: 3, cooperative: true }
    global x: u32 = 0; global y: u32 = 0; global f: u32 = 0; global seen: u32 = 0;
    if ctaid == 0 { st.relaxed.gpu [x], 3; st.release.gpu [y], 1; }
    else if ctaid == 1 {
        let r = ld.acquire.gpu [y];
        if r == 1 { st.weak [seen], 1; st.weak [x], 1; }
        st.relaxed.gpu [f], 1;
    } else {
        loop { let d = ld.relaxed.gpu [f]; if d == 1 { break; } let v = atom.add.relaxed.gpu.u32 [x], 0; }
    }
    final { assert !([seen] == 1 && [x] == 3); }
}";

#[test]
fn a_try_that_nobody_reads_from_may_be_what_memory_holds_in_the_end() {
    let lines = PTX.lines().filter(|line| !line.starts_with("flag "));
    let without_flags = of_text(&lines.collect::<Vec<_>>().join("\n"));
    assert!(without_flags.flags.is_empty());
    for model in [&without_flags, &model(&[])] {
        let outcome = ask(PUT_BACK, model, &[Property::Assert], Treatment::DEFAULT);
        assert_eq!(verdict(&outcome, Property::Assert), Verdict::Violated, "{}", model.name);
        assert!(off(&outcome).contains(&("waits-that-write", Need::NoRace)), "{:?}", off(&outcome));
    }
}

/// The second arrival comes after the first by a barrier alone.
const PHASES: &str = "kernel phases {
    launch { warps: 3 }
    shared bar: mbarrier;
    global x: u32 = 0;
    if tid == 0 { mbarrier.init [bar], 1; }
    bar.sync 0;
    if tid == 0 { st.weak [x], 1; mbarrier.arrive _, [bar]; bar.sync 1, 64; }
    else if tid == 1 { bar.sync 1, 64; mbarrier.arrive _, [bar]; }
    else { await mbarrier.test_wait.parity [bar], 0; let r = ld.weak [x]; assert r == 1; }
}";

#[test]
fn phases_are_not_told_apart_by_what_the_model_does_not_order() {
    let lines = PTX.lines().filter(|line| !line.starts_with("flag "));
    let ordered = lines.collect::<Vec<_>>().join("\n");
    let barriers = "  | syncbar\n";
    assert_eq!(ordered.matches(barriers).count(), 1, "one clause says what barriers order");
    let unordered = of_text(&ordered.replace(barriers, ""));
    let outcome = ask(PHASES, &unordered, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Violated);
    assert!(off(&outcome).contains(&("ordered-mbarriers", Need::PhasesInOrder)), "{:?}", off(&outcome));
    let outcome = ask(PHASES, &of_text(&ordered), &[Property::Assert], Treatment::DEFAULT);
    assert_eq!((verdict(&outcome, Property::Assert), off(&outcome)), (Verdict::Proved, vec![]));
}

/// All threads are told by one, with a barrier in between.
const TOLD: &str = "kernel told {
    launch { lanes: 16 }
    global x: u32 = 0;
    global y: u32 = 0;
    shared w: u32;
    if tid == 0 { let r = ld.relaxed.gpu [x]; st.weak.shared [w], r; }
    bar.sync 0;
    let v = ld.weak.shared [w];
    if v == 1 { st.relaxed.gpu [y], 1; }
    assert v == 0;
}";

#[test]
fn nobody_is_told_by_a_barrier_that_the_model_does_not_order() {
    let ordered = PTX.lines().filter(|line| !line.starts_with("flag ")).collect::<Vec<_>>().join("\n");
    let unordered = of_text(&ordered.replace("  | syncbar\n", ""));
    let outcome = ask(TOLD, &unordered, &[Property::Assert], Treatment::DEFAULT);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Violated, "what it reads is anything");
    assert!(off(&outcome).contains(&("forwarding", Need::ReadsInBarrierOrder)), "{:?}", off(&outcome));
    let outcome = ask(TOLD, &of_text(&ordered), &[Property::Assert], Treatment::DEFAULT);
    assert_eq!((verdict(&outcome, Property::Assert), off(&outcome)), (Verdict::Proved, vec![]));
    assert_eq!(outcome.graph.n_forwarded, 16);
}

#[test]
fn a_model_that_has_nothing_of_what_is_needed_is_checked_all_the_same() {
    let own = of_text(
        "\"nothing\"\nempty (W \\ domain(rf)) as all-is-read\nflag ~empty ([R] ; po ; [R] ; po ; [R]) as three-reads\n",
    );
    let text = "kernel all {\n    launch { ctas: 3, cooperative: true }\n    global n: u32 = 0; global l: u32 = 0;\n    \
                red.add.relaxed.gpu.u32 [n], 1;\n    while (atom.exch.relaxed.gpu.b32 [l], 1) != 0 {}\n    \
                await ld.relaxed.gpu [n] == 3;\n}\n";
    let outcome = ask(text, &own, &[Property::Assert, Property::Deadlock], Treatment::DEFAULT);
    for (property, verdict) in &outcome.properties {
        assert_ne!(*verdict, Verdict::Proved, "{}", property.name());
    }
    let off = off(&outcome);
    for name in ["waits", "waits-that-write", "hangs-in-loops", "loop-bounds", "slices"] {
        assert!(off.contains(&(name, Need::Monotone)), "{name}: {off:?}");
    }
    assert!(off.contains(&("known-values", Need::NoThinAir)), "{off:?}");
    assert!(off.contains(&("counting", Need::TotalCoherence)), "{off:?}");
}

#[test]
fn random_loops_agree_under_random_models() {
    const PLAN: Plan = Plan { n_programs: 75, first_seed: 0, salt: 53, n_memory_max: 12, progress: false };
    // Axioms and flags that are monotone, or are not, and such as need rounds.
    let additions = [
        EVERY_RELEASE,
        THREE_READS,
        "empty (rf & ext & ((W \\ IW) * (R \\ STRONG))) as weak-reads-see-nobody",
        "flag ~empty ([R] ; (po & loc) ; [W]) as read-before-write",
        "flag ~empty ([R & ACQ] ; po ; [R & ACQ]) as two-acquires",
        "flag ~empty (R \\ range(rf ; [R & STRONG])) as weak-reads",
        "flag ~empty ((po & (R * R)) \\ loc) as reads-elsewhere",
        "empty ([R] ; po ; [F & SC]) \\ (_ * SPIN) as no-fence-behind",
    ];
    let models = additions.map(with_ptx);
    let results = ["proved", "violated", "something off"];
    let suite = Suite { set_aside_max: 30, ..Suite::new("own_models", PLAN, &[], &results) };
    suite.run("", |plan| {
        run_over(
            plan,
            || loop_sketches(plan.n_memory_max),
            |sketch, choice, counts: &mut Counts| {
                let (text, model) =
                    (format!("{}}}\n", sketch.text()), &models[choice as usize % models.len()]);
                let program = load_text(&text);
                let kernel = &program.kernels[0];
                let with = |treatment| Config { unroll_max: 4, budget: STEPS_MAX, ..config(treatment) };
                let run = |treatment| check(&program, kernel, &kernel.launches[0], model, &with(treatment));
                let pair = [Treatment::DEFAULT, Treatment::UNWOUND].map(run);
                let Some([waited, unwound]) = both(pair, counts) else { return Ok(()) };
                counts.add("violated", waited.verdict == Verdict::Violated);
                counts.add("proved", !proved(&waited).is_empty());
                counts.add("something off", !waited.statistics.off.is_empty());
                let is_violated = |property: &Property| verdict(&unwound, *property) == Verdict::Violated;
                match proved(&waited).iter().find(|property| is_violated(property)) {
                    Some(property) => Err(format!(
                        "{}: proved, violated when unwound\n{}\n{text}",
                        property.name(),
                        model.name
                    )),
                    None => Ok(()),
                }
            },
        )
    });
}
