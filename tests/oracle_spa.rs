//! The axioms of `spa-5.0` against the machine of the twin: the same outcomes on hand-written and random small programs.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost_tests::oracle::spa::{Comparison, Dice, Play, STAGES, compare, model, random_play, variants};
use fencepost_tests::reference::spa::{Op, Reading};

#[test]
fn random_programs_agree() {
    let readings = [
        Reading::default(),
        Reading { store_load: true, ..Reading::default() },
        Reading { cumulative: true, ..Reading::default() },
        Reading { store_load: true, cumulative: true, ..Reading::default() },
        Reading { bar_orders_nothing: true, sm_shares_nothing: true, ..Reading::default() },
    ];
    let n: u64 = std::env::var("FENCEPOST_ORACLE_PROGRAMS").map_or(60, |n| n.parse().expect("a number"));
    let seed: u64 = std::env::var("FENCEPOST_ORACLE_SEED").map_or(1, |n| n.parse().expect("a number"));
    let mut complaints = Vec::new();
    for reading in readings {
        let model = model(reading);
        let mut dice = Dice(seed);
        let (mut same, mut more, mut large) = (0, 0, 0);
        for number in 0..n {
            let play = random_play(&mut dice);
            match compare(&play, reading, &model) {
                Ok(Comparison::Same(_)) => same += 1,
                Ok(Comparison::More(_)) => {
                    more += 1;
                    complaints.push(format!("{number}: {:?}: only the model has more\n{}", variants(reading), play.text()));
                }
                Ok(Comparison::TooLarge) => large += 1,
                Err(error) => complaints.push(format!("{number}: {:?}: {error}", variants(reading))),
            }
        }
        println!("{:?}: {same} the same, {more} more, {large} too large", variants(reading));
    }
    let _ = (STAGES.len(), Play::new(0, vec![vec![Op::Barrier], vec![]], 1));
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.iter().take(6).cloned().collect::<Vec<_>>().join("\n"));
}
