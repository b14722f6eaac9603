//! The checker against its dull twin, under each model: on litmus shapes in many dresses, and on random small programs.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost::encode::Treatment;
use fencepost_reference::edition::Edition;
use fencepost_tests::agreement;
use fencepost_tests::generate::sketches;
use fencepost_tests::oracle::{Pair, shapes};
use fencepost_tests::random::{Plan, agreed};
use fencepost_tests::run::model;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

fn random_programs_agree(model: &str) {
    let (pair, title) = (Pair::new(model), format!(" under {model}"));
    let suite = pair.suite();
    let (plan, counts) = suite.run(&title, |plan| pair.compare_random(plan));
    if suite.is_committed(plan) {
        agreement::assert_on_page(&agreement::oracle_row(&pair, &counts));
    }
}

#[test]
fn random_programs_agree_under_ptx() {
    random_programs_agree("ptx");
}

#[test]
fn random_programs_agree_under_7_5() {
    random_programs_agree("ptx-7.5");
}

#[test]
fn random_programs_agree_under_6_0() {
    random_programs_agree("ptx-6.0");
}

/// What the variants say of, the twin says in its own way.
#[test]
fn random_programs_agree_under_other_readings() {
    let name = "ptx, read otherwise";
    let readings = [
        ("sink-never-acquires", Edition { sinks_acquire: false, name, ..Edition::PTX }),
        ("exits-order", Edition { exits_order: true, name, ..Edition::PTX }),
    ];
    for (variant, edition) in readings {
        let pair = Pair { model: model(&[variant]), edition };
        let plan = Plan { n_programs: 2_000, first_seed: 5_000, ..Pair::new("ptx").plan() };
        let counts = agreed(pair.compare_random(plan));
        println!("oracle: with {variant}, {} random programs agree", counts.of("compared"));
        assert!(counts.of("compared") > 1_000 && counts.of("racy") > 0, "{variant}");
    }
}

/// A checker that lets a proxy fence act in any CTA is told from the twin by few random programs.
#[test]
fn random_programs_notice_a_proxy_fence_in_the_wrong_cta() {
    let right = Pair::new("ptx");
    let plan = Plan { n_programs: 400, ..right.plan() };
    let wrong = Pair { model: model(&["proxy-fence-anywhere"]), ..right };
    let complaints = wrong.compare_random(plan).expect_err("the CTA of a proxy fence decides something");
    println!(
        "oracle: {} of {} batches notice a proxy fence in the wrong CTA",
        complaints.len(),
        plan.n_batches()
    );
    let is_about_proxies =
        |text: &String| text.contains("fence.proxy.surface") || text.contains("fence.proxy.texture");
    assert!(complaints.iter().all(is_about_proxies), "{}", complaints.join("\n\n"));
}

#[test]
fn litmus_shapes_agree_under_each_model() {
    for model in agreement::MODELS {
        let (n_compared, complaints) = Pair::new(model).compare_shapes();
        println!("oracle: {n_compared} litmus shapes compared under {model}");
        assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
        assert_eq!(n_compared, shapes::all().len());
    }
}

#[test]
fn every_optimisation_may_be_off() {
    let pair = Pair::new("ptx");
    for (name, treatment) in Treatment::ONE_OFF {
        for (shape, text) in shapes::all().into_iter().step_by(5) {
            if let Err(error) = pair.compare(&text, *treatment) {
                panic!("{name}, {shape}: {error}");
            }
        }
        let mut runner = TestRunner::new_with_rng(
            Config { cases: 60, failure_persistence: None, ..Config::default() },
            TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
        );
        let result = runner.run(&sketches(5), |sketch| {
            pair.compare(&sketch.text(), *treatment).map_err(TestCaseError::fail).map(|_| ())
        });
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
