//! The axioms of `spa-5.0` against the machine of the twin: the same outcomes on small programs from committed seeds, under
//! each reading that both know. `FENCEPOST_ORACLE_PROGRAMS=N` compares N of them per reading, `FENCEPOST_ORACLE_SEED=S`
//! others.
//!
//! The machine must never do what the axioms forbid. Where the axioms allow more, the program must have what one of the
//! listed reasons is about (`expected_surplus`).

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost_tests::oracle::spa::{
    Comparison, Dice, Play, STAGES, compare, expected_surplus, model, random_play, variants,
};
use fencepost_tests::reference::spa::{Op, Path, Reading, Value};
use fencepost_tests::run::spa_model_without;
use std::collections::BTreeMap;

/// Programs per reading.
const PROGRAMS: u64 = 60;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

fn agree_under(reading: Reading) {
    let model = model(reading);
    let mut dice = Dice(number("FENCEPOST_ORACLE_SEED", 1));
    let n = number("FENCEPOST_ORACLE_PROGRAMS", PROGRAMS);
    let (mut same, mut large, mut stages) = (0, 0, [0_u64; STAGES.len()]);
    let mut surplus: BTreeMap<&str, u64> = BTreeMap::new();
    let mut complaints: Vec<String> = Vec::new();
    for number in 0..n {
        let play = random_play(&mut dice);
        stages[play.stage] += 1;
        match compare(&play, reading, &model) {
            Ok(Comparison::Same(_)) => same += 1,
            Ok(Comparison::TooLarge) => large += 1,
            Ok(Comparison::More(_)) => match expected_surplus(&play, reading) {
                Some(reason) => *surplus.entry(reason).or_default() += 1,
                None => complaints.push(format!("{number}: only the model has more\n{}}}", play.text())),
            },
            Err(error) => complaints.push(format!("{number}: {error}")),
        }
    }
    let variants = variants(reading);
    println!(
        "oracle: {same} of {n} programs the same under {variants:?}, {large} too large, more in {surplus:?}"
    );
    let shown: Vec<String> = complaints.iter().take(5).cloned().collect();
    assert!(complaints.is_empty(), "{variants:?}: {} complaints\n{}", complaints.len(), shown.join("\n"));
    assert!(same * 10 >= n * 8, "most programs have the same outcomes");
    assert!(stages.iter().all(|&played| played > 0), "every stage was played: {stages:?}");
}

#[test]
fn random_programs_agree() {
    agree_under(Reading::default());
}

#[test]
fn random_programs_agree_with_stores_before_loads() {
    agree_under(Reading { store_load: true, ..Reading::default() });
}

#[test]
fn random_programs_agree_with_cumulative_membars() {
    agree_under(Reading { cumulative: true, ..Reading::default() });
    agree_under(Reading { store_load: true, cumulative: true, ..Reading::default() });
}

#[test]
fn random_programs_agree_with_less_taken_for_granted() {
    agree_under(Reading { bar_orders_nothing: true, sm_shares_nothing: true, ..Reading::default() });
}

/// Each reading of the machine is told from the model without it, so the programs are sensitive to what is compared.
#[test]
fn another_reading_is_noticed() {
    let usual = Reading::default();
    let others = [
        Reading { store_load: true, ..usual },
        Reading { cumulative: true, ..usual },
        Reading { bar_orders_nothing: true, ..usual },
        Reading { sm_shares_nothing: true, ..usual },
    ];
    let model = model(usual);
    for reading in others {
        let mut dice = Dice(7);
        // Few programs have a store and a plain load of it on one SM and all else that it takes.
        let on_one_sm = Play::new(
            1,
            vec![
                vec![
                    Op::Store(0, Value::Constant(1)),
                    Op::Membar(2, false, false),
                    Op::Store(1, Value::Constant(2)),
                ],
                vec![Op::Load(Path::Past, 0, 1), Op::Membar(2, false, false), Op::Load(Path::Data, 1, 0)],
            ],
            2,
        );
        let plays = std::iter::once(on_one_sm).chain(std::iter::repeat_with(|| random_play(&mut dice)));
        let is_noticed = plays.take(400).any(|play| match compare(&play, reading, &model) {
            Ok(Comparison::More(_)) => expected_surplus(&play, usual).is_none(),
            Ok(Comparison::Same(_) | Comparison::TooLarge) => false,
            Err(_) => true,
        });
        assert!(is_noticed, "{:?}", variants(reading));
    }
}

/// Axioms that no small program without waits can notice, and why.
const NOT_NOTICED: &[(&str, &str)] = &[
    (
        "no-thin-air",
        "of loops through other threads `order-in-system` knows; others compute a value from itself",
    ),
    ("no-circular-justification", "about loops that wait, which these programs have none of"),
    ("barriers-in-order", "about barriers whose participants differ from run to run"),
];

/// Each axiom is needed: without it the model allows what the machine does not do.
#[test]
fn every_axiom_is_noticed() {
    let usual = Reading::default();
    let whole = model(usual);
    let mut unnoticed: Vec<&str> = Vec::new();
    for axiom in whole.axioms.iter().map(|axiom| axiom.name.as_str()) {
        if NOT_NOTICED.iter().any(|&(name, _)| name == axiom) {
            continue;
        }
        let without = spa_model_without(axiom);
        let mut dice = Dice(3);
        let is_noticed = (0..500).any(|_| {
            let play = random_play(&mut dice);
            matches!(compare(&play, usual, &without), Ok(Comparison::More(_)))
                && matches!(compare(&play, usual, &whole), Ok(Comparison::Same(_)))
        });
        if !is_noticed {
            unnoticed.push(axiom);
        }
    }
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
    let is_axiom = |name: &str| whole.axioms.iter().any(|axiom| axiom.name == name);
    assert!(NOT_NOTICED.iter().all(|&(name, reason)| is_axiom(name) && !reason.is_empty()));
}
