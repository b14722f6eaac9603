//! The checker against its dull twin on small random programs of mbarriers and cluster barriers, from committed seeds.
//! `FENCEPOST_ORACLE_SYNC_PROGRAMS=N` compares N of them, `FENCEPOST_ORACLE_SYNC_SEED=S` others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::synchronization::{FEATURES, PLAN, RESULTS, RULES, compare_random};

/// Of the programs compared, one in so many at least has each thing the census looks for.
const ONE_IN: usize = 100;

#[test]
fn random_programs_agree() {
    let plan = PLAN.or_environment("FENCEPOST_ORACLE_SYNC");
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let counts = match compare_random(&model, plan) {
        Ok(counts) => counts,
        Err(complaints) => {
            panic!("{} batches disagree\n{}", complaints.len(), complaints.join("\n\n"))
        }
    };
    let compared = counts.of("compared");
    println!(
        "oracle_sync: {compared} programs compared ({} of them with two readings, {} with the known gap), {} refused by \
         the checker, {} too large to enumerate",
        counts.of("readings that differ"),
        counts.of("known gap"),
        counts.of("refused"),
        counts.of("too large")
    );
    let names = FEATURES.iter().map(|&(name, _)| name).chain(RESULTS.iter().copied());
    for name in names {
        let n = counts.of(name);
        println!("  {n:>6} with {name}");
        assert!(n * ONE_IN >= compared, "{n} of {compared} programs have: {name}");
    }
    for rule in RULES {
        let n = counts.of(rule);
        println!("  {n:>6} with {rule}");
        assert!(n > 0, "no program breaks {rule}");
    }
    assert!(counts.of("known gap") * 50 < compared, "the gap is where bytes are completed out of turn only");
    assert!(compared * 2 > plan.n_programs, "most programs must be small enough");
}
