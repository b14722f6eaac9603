//! The checker against its dull twin on small random programs of `multimem` instructions, from committed seeds.
//! `FENCEPOST_ORACLE_MULTIMEM_PROGRAMS=N` compares N of them, `FENCEPOST_ORACLE_MULTIMEM_SEED=S` others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost_tests::oracle::multimem::{FEATURES, PLAN, RESULTS, compare_random, pairs};

/// Of the programs compared, one in so many at least has each thing the census looks for.
const ONE_IN: usize = 50;

#[test]
fn random_programs_agree() {
    let plan = PLAN.or_environment("FENCEPOST_ORACLE_MULTIMEM");
    let counts = match compare_random(&pairs(), plan) {
        Ok(counts) => counts,
        Err(complaints) => {
            panic!("{} batches disagree\n{}", complaints.len(), complaints.join("\n\n"))
        }
    };
    let compared = counts.of("compared");
    println!(
        "oracle_multimem: {compared} programs compared under two readings, {} too large to enumerate",
        counts.of("too large")
    );
    for name in FEATURES.iter().map(|&(name, _)| name).chain(RESULTS.iter().copied()) {
        let n = counts.of(name);
        println!("  {n:>6} with {name}");
        assert!(n * ONE_IN >= compared, "{n} of {compared} programs have: {name}");
    }
    assert!(compared * 2 > plan.n_programs, "most programs must be small enough");
}
