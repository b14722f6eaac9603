//! The checker against its dull twin on small random programs of tensor memory, and on fixed shapes.

use fencepost::encode::Treatment;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::{SourceMap, cat};
use fencepost_reference::edition::Edition;
use fencepost_tests::litmus::shipped_model;
use fencepost_tests::oracle::synchronization::{Comparison, compare_under};
use fencepost_tests::oracle::tensor_memory::mutants::MUTANTS;
use fencepost_tests::oracle::tensor_memory::shapes::{self, Found, SHAPES, Shape};
use fencepost_tests::oracle::tensor_memory::{compare_random, suite};
use fencepost_tests::run::{PTX, model};

#[test]
fn random_programs_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    suite().run("", |plan| compare_random(&model, plan));
}

/// Whether a fixed shape is what it should be, or how the two differ.
fn judge(model: &MemoryModel, edition: Edition, (_, threads, expected): Shape) -> Result<(), String> {
    let comparison = compare_under(model, edition, &shapes::text(threads), Treatment::DEFAULT)?;
    let Comparison::Agreed { broken, races, .. } = comparison else { return Err(format!("{comparison:?}")) };
    let is_so = match expected {
        Found::Fine => broken.is_empty() && !races,
        Found::Race => broken.is_empty() && races,
        Found::Broken(rule) => broken.contains(rule),
    };
    if is_so { Ok(()) } else { Err(format!("{broken:?}, races: {races}, instead of {expected:?}")) }
}

#[test]
fn shapes_agree() {
    let model = shipped_model("ptx").expect("the model comes with Fencepost");
    let mut complaints = Vec::new();
    for &shape in SHAPES {
        complaints
            .extend(judge(&model, Edition::PTX, shape).err().map(|error| format!("{}: {error}", shape.0)));
    }
    assert!(complaints.is_empty(), "{} of {}\n{}", complaints.len(), SHAPES.len(), complaints.join("\n\n"));
}

/// A mistake in a clause of the model is told by some shape.
#[test]
fn every_mutant_of_the_model_is_told() {
    let mut complaints = Vec::new();
    for &(name, clause, instead, told_by) in MUTANTS {
        if PTX.matches(clause).count() != 1 {
            complaints.push(format!("{name}: its clause is not, or not once, in the model"));
            continue;
        }
        let text = PTX.replace(clause, instead);
        // What justifies itself through a branch is thin air already; that circles are excluded besides shows where
        // branches do not count.
        let variants =
            if name == "circular order" { vec!["no-ctrl-dependencies".to_owned()] } else { vec![] };
        let load = |text: &str| {
            cat::load(&mut SourceMap::default(), "ptx.cat", &mut |_| Ok(text.to_owned()), &variants)
                .unwrap_or_else(|errors| panic!("{name}: {errors:#?}"))
        };
        let (original, mutant) = (load(PTX), load(&text));
        let tells = |shape: &Shape| {
            judge(&mutant, Edition::PTX, *shape).is_err() && judge(&original, Edition::PTX, *shape).is_ok()
        };
        let named = SHAPES.iter().filter(|(shape, ..)| *shape == told_by);
        if !named.clone().any(tells) {
            let others: Vec<&str> =
                SHAPES.iter().filter(|shape| tells(shape)).map(|(name, ..)| *name).collect();
            complaints.push(format!("{name}: not told by \"{told_by}\" but by {others:?}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// with `commit-alone`, the twin reads a commit as the model does.
#[test]
fn shapes_agree_with_commits_alone() {
    let edition = Edition { operands_carry: false, ..Edition::PTX };
    let model = model(&["commit-alone"]);
    for (name, threads, expected) in SHAPES.iter().copied().filter(|(name, ..)| name.contains("operand")) {
        let expected =
            if name.contains("carry") || name.contains("carries") { Found::Race } else { expected };
        judge(&model, edition, (name, threads, expected)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
