//! The checker against its dull twin on small random programs of mbarriers and cluster barriers, from committed seeds.
//! `FENCEPOST_ORACLE_SYNC_PROGRAMS=N` compares N of them, `FENCEPOST_ORACLE_SYNC_SEED=S` others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost::encode::Treatment;
use fencepost::unroll::MbarrierEncoding;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::synchronization::{FEATURES, PLAN, RESULTS, RULES, compare_random, summary};
use fencepost_tests::random::{Counts, Plan, agreed};

/// Of the programs compared, one in so many at least has each thing the census looks for.
const ONE_IN: usize = 100;

fn compared(plan: Plan, treatment: Treatment) -> Counts {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    agreed(compare_random(&model, plan, treatment))
}

/// The same without counting: whatever the shape, the operations of each mbarrier are ordered.
#[test]
fn random_programs_agree_with_ordered_mbarriers() {
    let plan = PLAN.or_environment("FENCEPOST_ORACLE_SYNC");
    let plan = Plan { n_programs: plan.n_programs / 3, ..plan };
    let ordered = Treatment { mbarrier_encoding: MbarrierEncoding::Order, ..Treatment::DEFAULT };
    let counts = compared(plan, ordered);
    println!("oracle_sync: {} programs compared with ordered mbarriers", counts.of("compared"));
    assert!(counts.of("compared") * 2 > plan.n_programs, "most programs must be small enough");
}

#[test]
fn random_programs_agree() {
    let plan = PLAN.or_environment("FENCEPOST_ORACLE_SYNC");
    let counts = compared(plan, Treatment::DEFAULT);
    println!("oracle_sync: {}", summary(&counts));
    let common = FEATURES.iter().map(|&(name, _)| name).chain(RESULTS.iter().copied());
    print!("{}", counts.census(plan, (ONE_IN, common), RULES.iter().copied()));
}
