//! The checker against its dull twin on small random programs of asynchronous operations, from committed seeds.
//! `FENCEPOST_ORACLE_ASYNC_PROGRAMS=N` compares N of them, `FENCEPOST_ORACLE_ASYNC_SEED=S` others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::asynchronous::{FEATURES, PLAN, PROVED_WITH, RESULTS, compare_random};

/// Of the programs compared, one in so many at least has each thing the census looks for.
const ONE_IN: usize = 100;

#[test]
fn random_programs_agree() {
    let plan = PLAN.or_environment("FENCEPOST_ORACLE_ASYNC");
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let counts = match compare_random(&model, plan) {
        Ok(counts) => counts,
        Err(complaints) => {
            panic!("{} batches disagree\n{}", complaints.len(), complaints.join("\n\n"))
        }
    };
    let compared = counts.of("compared");
    println!(
        "oracle_async: {compared} programs compared ({} of them with two readings), {} refused by the checker, {} too \
         large to enumerate",
        counts.of("readings that differ"),
        counts.of("refused"),
        counts.of("too large")
    );
    for name in FEATURES.iter().map(|&(name, _)| name).chain(RESULTS.iter().copied()) {
        let n = counts.of(name);
        println!("  {n:>6} with {name}");
        assert!(n * ONE_IN >= compared, "{n} of {compared} programs have: {name}");
    }
    for (_, name) in PROVED_WITH {
        let n = counts.of(name);
        println!("  {n:>6} {name}");
        assert!(n > 0, "no program is {name}");
    }
    assert!(compared * 2 > plan.n_programs, "most programs must be small enough");
}
