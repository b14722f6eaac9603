//! Of the orders of threads that are alike one is enough: random kernels whose threads are alike, nearly alike, or alike up
//! to a rotation get the same verdicts, reach the same final states and break the same properties whether orders are left
//! out or not.
//!
//! `FENCEPOST_SYMMETRY_PROGRAMS=N` runs N kernels, `FENCEPOST_SYMMETRY_SEED=S` others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost::check::Config;
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Vacuity, Verdict};
use fencepost_tests::run::{config, model, outcomes};
use std::collections::BTreeSet;

/// A stream of numbers, the same everywhere (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn of<'a>(&mut self, these: &[&'a str]) -> &'a str {
        these[usize::try_from(self.below(these.len() as u64)).expect("a small number")]
    }
}

/// Where kernels are alike: words that all share, and words that follow the threads.
const SHARED: &[&str] = &["a", "a", "b"];
const OWN: &[&str] = &["a", "b", "own[ctaid]", "own[(ctaid + 1) % N]"];

/// A body of a few statements, with at least one atomic on a word that all share.
fn body(numbers: &mut Numbers, n_statements: u64) -> String {
    let mut text = String::new();
    let mut registers = 0;
    let atomic_at = numbers.below(n_statements);
    for at in 0..n_statements {
        let value = |numbers: &mut Numbers, registers: u64| {
            if registers > 0 && numbers.below(3) == 0 {
                format!("r{}", numbers.below(registers))
            } else {
                // Now and then something that tells threads apart.
                numbers.of(&["1", "1", "2", "1", "2", "1", "2", "ctaid"]).to_owned()
            }
        };
        let scope = numbers.of(&["gpu", "gpu", "gpu", "cta"]);
        let kind = if at == atomic_at { numbers.below(4) } else { numbers.below(10) };
        let given = value(numbers, registers);
        let word = numbers.of(if kind < 4 { SHARED } else { OWN });
        let mut result = |operation: String| {
            registers += 1;
            format!("let r{} = {operation};", registers - 1)
        };
        let sem = numbers.of(&["relaxed", "acquire", "release", "acq_rel"]);
        let statement = match kind {
            0 => result(format!("atom.add.{sem}.{scope}.u32 [{word}], 1")),
            1 => result(format!("atom.exch.{sem}.{scope}.b32 [{word}], {given}")),
            2 => result(format!("atom.cas.{sem}.{scope}.b32 [{word}], {}, {given}", numbers.below(2))),
            3 => format!("red.add.relaxed.{scope}.u32 [{word}], {given};"),
            4 => format!("st.weak.u32 [{word}], {given};"),
            5 => format!("st.{}.{scope}.u32 [{word}], {given};", numbers.of(&["relaxed", "release"])),
            6 => result(format!("ld.weak.u32 [{word}]")),
            7 => result(format!("ld.{}.{scope}.u32 [{word}]", numbers.of(&["relaxed", "acquire"]))),
            8 => format!("fence.{}.{scope};", numbers.of(&["acq_rel", "sc"])),
            _ => format!("await ld.acquire.gpu.u32 [{word}] >= 1;"),
        };
        text += &format!("        {statement}\n");
        if registers > 0 && numbers.below(4) == 0 {
            let (register, bound) = (numbers.below(registers), numbers.below(3));
            text += &match numbers.below(3) {
                0 => format!("        assert r{register} != {bound};\n"),
                1 => format!("        assert r{register} <= {bound};\n"),
                _ => format!("        if r{register} == {bound} {{ st.relaxed.gpu.u32 [b], 1; }}\n"),
            };
        }
    }
    text
}

/// Three or four threads that are alike, and sometimes one that is not; every small final state is asked for.
fn kernel(numbers: &mut Numbers) -> String {
    let n = 3 + u64::from(numbers.below(4) == 0);
    let has_other = numbers.below(3) == 0;
    let own = if numbers.below(2) == 0 { String::new() } else { " && [own[0]] <= 1".to_owned() };
    let n_statements = 1 + numbers.below(if n == 3 { 3 } else { 2 });
    let alike = body(numbers, n_statements);
    let other = if has_other { body(numbers, 1) } else { String::new() };
    let states: Vec<String> = (0..3)
        .flat_map(|a| (0..3).map(move |b| (a, b)))
        .map(|(a, b)| format!("        reachable [a] == {a} && [b] == {b}{own};\n"))
        .collect();
    format!(
        "const N = {n};\nkernel k {{\n    launch {{ ctas: {}, cooperative: true }}\n    global a: u32 = 0;\n    \
         global b: u32 = 0;\n    global own[N]: u32 = 0;\n    if ctaid < N {{\n{alike}    }} else {{\n{other}    }}\n    \
         final {{\n{}    }}\n}}\n",
        n + u64::from(has_other),
        states.concat()
    )
}

/// What does not depend on which execution was found.
type Judgement = (Vec<(Property, Verdict)>, BTreeSet<String>, BTreeSet<Property>);

fn judgement(outcome: &Outcome) -> Judgement {
    let vacuity = outcome.vacuity.iter().map(|vacuity| match vacuity {
        Vacuity::Unreachable(span) => format!("unreachable {}", span.start),
        other => format!("{other:?}"),
    });
    let broken = outcome.findings.iter().map(|finding| finding.property);
    (outcome.properties.clone(), vacuity.collect(), broken.collect())
}

#[test]
fn alike_kernels_agree() {
    let number = |name: &str| {
        let value = std::env::var(format!("FENCEPOST_SYMMETRY_{name}")).ok()?;
        Some(value.parse::<u64>().unwrap_or_else(|_| panic!("FENCEPOST_SYMMETRY_{name} is a number")))
    };
    let (n_programs, seed) = (number("PROGRAMS").unwrap_or(240), number("SEED").unwrap_or(0));
    let model = model(&[]);
    let with = |treatment| Config { unroll_max: 2, budget: 300_000_000, ..config(treatment) };
    let off = Treatment { symmetry: false, ..Treatment::DEFAULT };
    let (mut n_compared, mut n_ordered, mut n_violated, mut n_aside) = (0, 0, 0, 0);
    for program in 0..n_programs {
        let mut numbers = Numbers(seed.wrapping_mul(1_000_003).wrapping_add(program));
        let text = kernel(&mut numbers);
        let found = outcomes(&text, &model, &with(Treatment::DEFAULT)).remove(0);
        let expected = outcomes(&text, &model, &with(off)).remove(0);
        if found.limit.is_some() || expected.limit.is_some() {
            n_aside += 1;
            continue;
        }
        assert_eq!(judgement(&found), judgement(&expected), "seed {seed}, program {program}:\n{text}");
        n_compared += 1;
        n_ordered += u64::from(!found.graph.representative.is_empty());
        n_violated += u64::from(found.verdict == Verdict::Violated);
    }
    println!(
        "{n_compared} kernels compared, of seed {seed}; in {n_ordered} orders were left out, {n_violated} are violated, \
         {n_aside} were set aside for their size"
    );
    assert!(n_aside * 10 <= n_programs, "most kernels are small");
    assert!(n_ordered * 4 >= n_compared, "in many kernels threads are alike");
    assert!(n_violated * 10 >= n_compared && n_violated < n_compared, "some are violated, some not");
}
