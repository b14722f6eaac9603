//! Programs of several kernels against the dull twin; `fencepost_tests::oracle::programs` says how.

use fencepost_tests::oracle::Pair;
use fencepost_tests::oracle::programs::{compare_random, suite};

#[test]
fn random_programs_agree() {
    let pair = Pair::new("ptx");
    suite().run("", |plan| compare_random(&pair, plan));
}
