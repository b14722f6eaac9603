//! Programs of several kernels against the dull twin, from committed seeds; `fencepost_tests::oracle::programs` says how.
//! `FENCEPOST_ORACLE_PROGRAMS_PROGRAMS=N` compares N of them, `FENCEPOST_ORACLE_PROGRAMS_SEED=S` others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost::encode::Treatment;
use fencepost_tests::oracle::programs::{Random, Sketch};
use fencepost_tests::oracle::{Comparison, Pair};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(format!("FENCEPOST_ORACLE_PROGRAMS_{name}"))
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn random_programs_agree() {
    let (n_programs, seed) = (number("PROGRAMS", 400), number("SEED", 0));
    let pair = Pair::new("ptx");
    let (mut compared, mut racy, mut too_large, mut overlapping, mut with_host) =
        (0u64, 0u64, 0u64, 0u64, 0u64);
    let mut complaints = Vec::new();
    for index in 0..n_programs {
        let sketch = Sketch::random(&mut Random::new(seed * 1_000_003 + index));
        match sketch.compare(&pair, Treatment::DEFAULT) {
            Ok(Comparison::Agreed { races, .. }) => {
                let (overlaps, host) = sketch.features();
                compared += 1;
                racy += u64::from(races);
                overlapping += u64::from(overlaps);
                with_host += u64::from(host);
            }
            Ok(Comparison::TooLarge) => too_large += 1,
            Err(error) => complaints.push(error),
        }
    }
    assert!(complaints.is_empty(), "{} disagree\n{}", complaints.len(), complaints[0]);
    println!(
        "oracle_programs: {compared} compared, {racy} racy, {overlapping} with grids that overlap, {with_host} in which \
         the host accesses memory, {too_large} too large"
    );
    assert!(
        compared * 2 > n_programs && racy > 0 && racy < compared,
        "most are small, some race and some do not"
    );
    assert!(overlapping * 10 > compared && with_host * 10 > compared, "both kinds are there");
}
