//! The checker against its dull twin on small random programs of mbarriers and cluster barriers.

use fencepost::encode::Treatment;
use fencepost::unroll::MbarrierEncoding;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::synchronization::{compare_random, suite};
use fencepost_tests::random::{Plan, Suite};

/// The same without counting: whatever the shape, the operations of each mbarrier are ordered.
#[test]
fn random_programs_agree_with_ordered_mbarriers() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let ordered = Treatment { mbarrier_encoding: MbarrierEncoding::Order, ..Treatment::DEFAULT };
    let fewer = |plan: Plan| Plan { n_programs: plan.n_programs / 3, ..plan };
    let suite = Suite { common: Vec::new(), some: Vec::new(), ..suite() }.with_plan(fewer);
    suite.run(" with ordered mbarriers", |plan| compare_random(&model, plan, ordered));
}

/// The same where each arrival at an object with drops may be one too many.
#[test]
fn random_programs_agree_where_each_arrival_may_be_one_too_many() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let fewer = |plan: Plan| Plan { n_programs: plan.n_programs / 3, ..plan };
    let suite = Suite { common: Vec::new(), some: Vec::new(), ..suite() }.with_plan(fewer);
    suite.run(" with arrivals that may be too many", |plan| {
        compare_random(&model, plan, Treatment::MAYBE_FULL)
    });
}

#[test]
fn random_programs_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    suite().run("", |plan| compare_random(&model, plan, Treatment::DEFAULT));
}
