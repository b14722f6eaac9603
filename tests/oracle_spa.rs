//! The axioms of `spa-5.0` against the machine of the twin: the same outcomes on small programs, under each reading that both
//! know.
//!
//! The machine must never do what the axioms forbid. Where the axioms allow more, the program must have what one of the
//! listed reasons is about (`expected_surplus`).

use fencepost_reference::spa::{Op, Path, Reading, Value};
use fencepost_tests::oracle::spa::{
    Comparison, Play, compare, compare_random, expected_surplus, model, random_play, suite, variants,
};
use fencepost_tests::random::Numbers;
use fencepost_tests::run::spa_model_without;

fn agree_under(reading: Reading) {
    let title = format!(" under {:?}", variants(reading));
    let (_, counts) = suite().run(&title, |plan| compare_random(reading, plan));
    let (same, compared) = (counts.of("same"), counts.of("compared"));
    assert!(same * 10 >= compared * 8, "most programs have the same outcomes: {same} of {compared}");
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
        let mut numbers = Numbers(7);
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
        let plays = std::iter::once(on_one_sm).chain(std::iter::repeat_with(|| random_play(&mut numbers)));
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
        let mut numbers = Numbers(3);
        let is_noticed = (0..500).any(|_| {
            let play = random_play(&mut numbers);
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
