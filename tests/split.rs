//! Kernels with parameters, value by value and as they are: the same verdicts, of each property.
//!
//! `FENCEPOST_SPLIT_PROGRAMS=N` runs N kernels, `FENCEPOST_SPLIT_SEED=S` others; `FENCEPOST_INDICES_…` the same of kernels
//! whose parameters say where they access memory.

use fencepost::check::split::{VALUES_MAX, join, parts};
use fencepost::check::{Config, check, check_part};
use fencepost::encode::Treatment;
use fencepost::event::EventKind;
use fencepost::explain::Repair;
use fencepost::verdict::{Limit, Outcome, Property, Verdict};
use fencepost_tests::random::{Numbers, Plan, Suite};
use fencepost_tests::run::{config, examined, load_text, model, verdict};
use fencepost_tests::switched::Switched;

/// A statement about the words of a CTA of two warps; what is in `for` is about its round, too.
fn step(numbers: &mut Numbers, round: &str) -> String {
    let value = numbers.of(&["1", "N", "M", "N + M", round]);
    let (own, other) = if numbers.below(2) == 0 { ("tid", "1 - tid") } else { ("0", "0") };
    match numbers.below(12) {
        0 | 1 => "bar.sync 0;".to_owned(),
        2 => format!("bar.sync {};", numbers.of(&["0", "1"])),
        3 => format!("if tid == 0 {{ st [x[{own}]], {value}; }}"),
        4 => format!("st [x[{own}]], {value};"),
        5 => format!("let v{0} = ld [x[{other}]]; assert v{0} == {value};", numbers.below(1_000_000)),
        6 => format!("let v{0} = ld [x[{other}]]; assert v{0} != {value};", numbers.below(1_000_000)),
        7 => format!("reachable {value} == {};", numbers.below(4)),
        8 => format!("if tid == 1 {{ bar.sync 0; }} else {{ bar.sync {}; }}", numbers.of(&["0", "0", "1"])),
        9 => format!("assume {value} != {};", numbers.below(3)),
        10 => format!("if {value} == {} {{ st.relaxed.cta [f], 1; }}", numbers.below(3)),
        _ => format!("if tid == 1 {{ await ld.relaxed.cta [f] == {}; }}", numbers.of(&["1", "1", "0"])),
    }
}

fn kernel(numbers: &mut Numbers) -> String {
    let (n, m) = (1 + numbers.below(3), numbers.below(3));
    let mut text = format!(
        "kernel values(N in 0..={n}, M in 0..={m}) {{\n    launch {{ warps: 2 }}\n    shared x[2]: u32 = 0;\n    \
         shared f: u32 = 0;\n"
    );
    let some = |numbers: &mut Numbers, round: &str| -> String {
        (0..1 + numbers.below(3)).map(|_| format!("    {}\n", step(numbers, round))).collect()
    };
    text += &some(numbers, "2");
    text += &match numbers.below(4) {
        0 => format!("    if N > M {{\n{}    }}\n", some(numbers, "3")),
        1 => format!("    for i in M..N {{\n{}    }}\n", some(numbers, "i")),
        _ => format!("    for i in 0..N {{\n{}    bar.sync 0;\n    }}\n", some(numbers, "i")),
    };
    text += &some(numbers, "2");
    text + "}\n"
}

/// Kernels of a generator value by value, and as they are.
fn by_value(kernel: fn(&mut Numbers) -> String) -> Switched {
    Switched {
        kernel,
        on: Treatment::SPLIT,
        off: Treatment::DEFAULT,
        used: "value by value",
        is_used: |on, off| on.split.is_some() && off.split.is_none(),
    }
}

#[test]
fn each_value_alone_gives_what_all_together_give() {
    const PLAN: Plan = Plan { n_programs: 300, first_seed: 0, salt: 61, n_memory_max: 9, progress: false };
    let features =
        [("loop", "for i"), ("branch", "if N > M"), ("assume", "assume"), ("reachable", "reachable")];
    let suite = Suite::new("split", PLAN, &features, &["violated", "proved", "value by value"]);
    by_value(kernel).agree(&suite, &features);
}

/// A statement of two threads of one or two CTAs about places that the parameters say.
fn step_somewhere(numbers: &mut Numbers) -> String {
    let place = |numbers: &mut Numbers| {
        let index = numbers.of(&[
            "N & 3",
            "(N + tid) & 3",
            "(N + M) % 4",
            "(M << 1) + tid",
            "N ^ tid",
            "N / 2",
            "3 - N",
            "(N - M) & 3",
            "(N & 1) * M",
            "tid",
            "M",
            "N + 1",
        ]);
        format!("{}[{index}]", numbers.of(&["x", "x", "y"]))
    };
    let number = numbers.below(1_000_000);
    let (at, value) = (place(numbers), numbers.of(&["1", "N", "M + 1", "2"]));
    match numbers.below(12) {
        0 | 1 => "bar.sync 0;".to_owned(),
        2 => format!("if tid == 0 {{ st [{at}], {value}; }}"),
        3 => format!("st [{at}], {value};"),
        4 => format!("st.relaxed.gpu [{at}], {value};"),
        5 => format!("let v{number} = ld [{at}]; assert v{number} != {value};"),
        6 => format!("let v{number} = ld.relaxed.gpu [{at}]; assert v{number} != {value};"),
        7 => format!("let v{number} = atom.add.relaxed.gpu.u32 [{at}], {value}; assert v{number} < 3;"),
        8 => format!("red.add.relaxed.cta.u32 [{at}], 1;"),
        9 => "fence.acq_rel.gpu;".to_owned(),
        10 => format!(
            "if tid == 1 {{ let v{number} = ld.acquire.gpu [{at}]; }} else {{ st.release.gpu [{at}], 1; }}"
        ),
        _ => format!("let v{number} = atom.cas.relaxed.gpu.b32 [{at}], 0, {value};"),
    }
}

fn kernel_of_indices(numbers: &mut Numbers) -> String {
    let threads = numbers.of(&["warps: 2", "warps: 2", "ctas: 2"]);
    let space = if threads == "ctas: 2" { "global" } else { "shared" };
    let some = |numbers: &mut Numbers| -> String {
        (0..1 + numbers.below(3)).map(|_| format!("    {}\n", step_somewhere(numbers))).collect()
    };
    let (before, within, after) = (some(numbers), some(numbers), some(numbers));
    format!(
        "kernel indices(N in 0..=3, M in 0..=2) {{\n    launch {{ {threads} }}\n    {space} x[4]: u32 = 0;\n    \
         global y[5]: u32 = 0;\n{before}    if N > M {{\n{within}    }}\n{after}}}\n"
    )
}

/// Where two accesses meet is open as long as the parameters are, and what follows from it is concluded all the same.
#[test]
fn indices_are_those_of_each_value() {
    const PLAN: Plan = Plan { n_programs: 300, first_seed: 0, salt: 67, n_memory_max: 9, progress: false };
    let features =
        [("atomic", "atom."), ("barrier", "bar.sync"), ("two CTAs", "ctas: 2"), ("choice", "else")];
    let suite = Suite::new("indices", PLAN, &features, &["violated", "proved", "value by value"]);
    by_value(kernel_of_indices).agree(&suite, &features);
}

fn checked(text: &str) -> Outcome {
    let program = load_text(text);
    let kernel = &program.kernels[0];
    check(&program, kernel, &kernel.launches[0], &model(&[]), &config(Treatment::SPLIT))
        .expect("it is supported")
}

fn shown(outcome: &Outcome) -> Vec<(&str, u64)> {
    let split = outcome.split.as_ref().expect("each value was checked");
    split.shown.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

const RACY_FROM_TWO_ROUNDS_ON: &str = "kernel k(N in 0..=3) { launch { warps: 2 } shared x: u32 = 0;
    for i in 0..N { if tid == 0 { st [x], i; } bar.sync 0; let v = ld [x]; } }";

#[test]
fn a_finding_is_of_the_smallest_value() {
    let outcome = checked(RACY_FROM_TWO_ROUNDS_ON);
    assert_eq!((outcome.verdict, shown(&outcome)), (Verdict::Violated, vec![("N", 2)]));
}

/// The same where all values are in one formula, as of few threads they are.
#[test]
fn of_one_formula_the_smallest_value_is_shown_too() {
    let text = "kernel k(N in 0..=9, M in 1..=4) { launch { warps: 2 } shared x: u32 = 0;
        for i in 0..N { if tid == 0 { st [x], M; } bar.sync 0; let v = ld [x]; } }";
    let program = load_text(text);
    let kernel = &program.kernels[0];
    let outcome = check(&program, kernel, &kernel.launches[0], &model(&[]), &config(Treatment::DEFAULT))
        .expect("it is supported");
    assert!(outcome.split.is_none() && !outcome.findings.is_empty());
    for finding in &outcome.findings {
        let values = outcome.graph.parameters.iter();
        let values = values.map(|&(_, unknown)| finding.witness.execution.unknowns[unknown]);
        assert_eq!(values.collect::<Vec<_>>(), [2, 1]);
    }
}

/// A read races with a write whatever it returns; a value that is not that write's is easier to follow.
#[test]
fn a_read_that_races_is_shown_with_another_value_if_there_is_one() {
    let sources = |text: &str| -> Vec<bool> {
        let program = load_text(text);
        let kernel = &program.kernels[0];
        let outcome = check(&program, kernel, &kernel.launches[0], &model(&[]), &config(Treatment::DEFAULT))
            .expect("it is supported");
        let sources = outcome.findings[0].witness.execution.sources.values().flatten();
        sources.map(|&(write, _)| matches!(outcome.graph.events[write].kind, EventKind::Init(_))).collect()
    };
    let text = |condition: &str| {
        format!(
            "kernel k {{ launch {{ warps: 2 }} shared x: u32 = 0;
            if tid == 0 {{ st [x], 1; }} else {{ let r = ld [x]; assume {condition}; }} }}"
        )
    };
    assert_eq!(sources(&text("true")), [true]);
    assert_eq!(sources(&text("r == 1")), [false], "there is no other");
}

#[test]
fn what_some_value_has_to_do_one_value_does() {
    let text = "kernel k(N in 0..=4) { launch { warps: 2 } assume N > 0; for i in 0..N { bar.sync 0; }
        reachable N == 3; reachable N == 1; }";
    assert_eq!(checked(text).verdict, Verdict::Proved);
    let never = checked(&text.replace("N == 1", "N == 0"));
    assert_eq!((never.verdict, never.vacuity.len()), (Verdict::Vacuous, 1));
    let none = checked(&text.replace("N > 0", "N > 4"));
    assert_eq!(none.verdict, Verdict::Vacuous);
}

#[test]
fn what_only_other_values_break_is_named_with_the_smallest_that_does() {
    let text = "kernel k(N in 0..=3) { launch { warps: 2 } shared x: u32 = 0;
        if N == 1 { st [x], tid; } else { assert N < 2; } }";
    let outcome = checked(text);
    assert_eq!(shown(&outcome), [("N", 1)]);
    assert_eq!(verdict(&outcome, Property::Assert), Verdict::Violated);
    let elsewhere = &outcome.split.as_ref().expect("each value was checked").elsewhere;
    assert_eq!(*elsewhere, [(Property::Assert, vec![("N".to_owned(), 2)])]);
}

#[test]
fn ranges_stay_as_they_are_where_they_are_wide_or_decide_nothing() {
    let is_split = |text: &str| checked(text).split.is_some();
    let rounds = |range: &str| format!("kernel k({range}) {{ for i in 0..N {{ bar.sync 0; }} }}");
    assert!(is_split(&rounds("N in 0..=15")));
    assert!(is_split(&rounds("N in 0..=3, M in 0..=3")));
    assert!(!is_split(&rounds("N in 0..=16")));
    assert!(!is_split(&rounds("N in 0..=3, M in 0..=4")));
    assert!(!is_split(&rounds("N in 0..=3, M in 0..=4294967295")));
    assert!(!is_split(&rounds("N in 2..=2")), "there is one value only");
    assert!(!is_split(
        "kernel k(N in 0..=3) { shared x: u32 = 0; st [x], N; let v = ld [x]; assert v == N; }"
    ));
    let through = "fn f(n: u32) { if n > 1 { bar.sync 0; } }\nkernel k(N in 0..=3) { let m = N * 2; f(m); }";
    assert!(is_split(through), "what a function is called with decides there");
    let usual = |threads: &str| {
        let program = load_text(&format!(
            "kernel k(N in 0..=3) {{ launch {{ {threads} }} for i in 0..N {{ bar.sync 0; }} }}"
        ));
        let kernel = &program.kernels[0];
        parts(&program, kernel, &kernel.launches[0], &config(Treatment::DEFAULT)).is_some()
    };
    assert!(
        usual("warps: 4, lanes: 4") && !usual("warps: 4"),
        "of few threads one formula is the smaller one"
    );
}

#[test]
fn a_budget_is_divided_beforehand_and_a_value_that_needs_more_is_not_decided() {
    let program = load_text(RACY_FROM_TWO_ROUNDS_ON);
    let kernel = &program.kernels[0];
    for budget in [0, 5, 1_000, 30_000, 1_000_000] {
        let with = Config { budget, ..config(Treatment::SPLIT) };
        let all = parts(&program, kernel, &kernel.launches[0], &with).expect("it has few values");
        assert!(all.len() as u64 <= VALUES_MAX);
        assert!(all.iter().all(|part| (budget / 4..=budget).contains(&part.budget)), "a quarter at least");
        let ask = |part| check_part(&program, part, &kernel.launches[0], &model(&[]), &with);
        let mut outcomes: Vec<Outcome> = all.iter().map(|part| ask(part).expect("it is supported")).collect();
        let n_stopped = outcomes.iter().filter(|one| one.limit.is_some()).count();
        // In any order.
        let backwards: Vec<Outcome> =
            all.iter().rev().map(|part| ask(part).expect("it is supported")).collect();
        let same = outcomes.iter().zip(backwards.iter().rev());
        assert!(same.into_iter().all(|(a, b)| a.properties == b.properties && a.limit == b.limit));
        let joined = join(&all, std::mem::take(&mut outcomes), &with);
        match (budget, joined.verdict) {
            (0..=5, verdict) => assert_eq!(verdict, Verdict::Inconclusive),
            (1_000_000, verdict) => assert_eq!((verdict, n_stopped), (Verdict::Violated, 0)),
            (_, verdict) => assert!(matches!(verdict, Verdict::Violated | Verdict::Inconclusive)),
        }
        if n_stopped > 0 {
            assert_eq!(joined.limit, Some(Limit::Budget { limit: budget }), "of all, and not of a value");
        }
    }
}

/// A change that was tried with the value that is shown is one for the others only if they say so.
#[test]
fn a_help_for_one_value_is_held_to_the_others() {
    let text = |more: &str| {
        format!(
            "kernel k(n in 1..=2) {{
    launch {{ block: 32 }}
    shared a: u32 = 0;
    shared b: u32 = 0;
    shared c: u32 = 0;
    for i in 0..n {{ {more} }}
    if tid == 0 {{ st.weak.shared.u32 [a], 1; }}
    if tid == 1 {{
        let v = ld.weak.shared.u32 [a];
        st.weak.shared.u32 [b], 1;
    }}
    if tid == 0 {{ let w = ld.weak.shared.u32 [b]; }}
}}"
        )
    };
    let repairs = |text: &str| -> Vec<Option<Repair>> {
        let found = examined(text);
        assert!(found.outcome.split.is_some() && found.explanations.len() > 1);
        found.explanations.into_iter().map(|explanation| explanation.repair).collect()
    };
    let is_for_all = |own: &Option<Repair>| {
        own.as_ref().is_some_and(|repair| repair.is_complete() && repair.values.is_empty())
    };
    assert!(repairs(&text("let none = i;")).iter().all(is_for_all), "both barriers mend both values");
    let only_later = repairs(&text("if i > 0 { st.weak.shared.u32 [c], tid; }"));
    assert!(!only_later.iter().any(is_for_all), "with n = 2 there is another race: {only_later:?}");
}
