//! Runs against the dull twin: going through all that can be chosen comes to the executions that there are, and to no others.

#![expect(clippy::print_stdout, reason = "the suite says how much it compared")]

use fencepost::check::executions::{End, Executions, NoExecution};
use fencepost::check::{Config, usual_properties};
use fencepost::encode::Treatment;
use fencepost::report::Case;
use fencepost::report::run::{Run, memory};
use fencepost_dsl::SourceMap;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::Program;
use fencepost_reference::edition::Edition;
use fencepost_reference::{ANYTHING, Effort, decide_under};
use fencepost_tests::generate::sketches;
use fencepost_tests::oracle::shapes;
use fencepost_tests::run::{config, load_text, model};
use proptest::test_runner::{Config as Runs, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// More than this are not gone through.
const RUNS_MAX: usize = 250;

/// What threads have stored of what they have read, by name.
type Results = BTreeMap<String, u64>;

/// All that the choices come to.
#[derive(Default)]
struct Found {
    results: BTreeSet<Results>,
    hangs: bool,
    n_runs: usize,
}

/// Goes through every choice of every step, threads in the order in which they come; `None` if there are many.
fn all_runs(program: &Program, model: &MemoryModel, names: &Results) -> Option<Found> {
    let (kernel, sources) = (&program.kernels[0], SourceMap::default());
    let config = Config { properties: usual_properties(kernel), follow: false, ..config(Treatment::DEFAULT) };
    let executions = match Executions::new(program, kernel, &kernel.launches[0], model, &config) {
        Ok(executions) => executions,
        Err(NoExecution::Error(error)) => panic!("{error}"),
        Err(why) => panic!("there is an execution of every program here: {why:?}"),
    };
    let case = Case {
        sources: &sources,
        file: "test.fence",
        program,
        kernel,
        model: "ptx",
        variants: &[],
        outcome: executions.outcome(),
        explanations: &[],
        standing: fencepost::report::Standing::default(),
    };
    let mut found = Found::default();
    let mut open: Vec<Vec<usize>> = vec![Vec::new()];
    while let Some(prefix) = open.pop() {
        found.n_runs += 1;
        if found.n_runs > RUNS_MAX {
            return None;
        }
        let mut run = Run::new(case, &executions);
        let mut taken = Vec::new();
        while let Some(agent) = run.next() {
            let ways = run.ways(agent).expect("what is offered is an execution");
            assert!(ways.cut.is_none(), "nothing here is large");
            let at = match prefix.get(taken.len()) {
                Some(&at) => at,
                None => {
                    open.extend((1..ways.ways.len()).map(|other| [taken.clone(), vec![other]].concat()));
                    0
                }
            };
            taken.push(at);
            run.take(agent, ways, at).expect("what was offered can be taken");
        }
        match run.shown().end {
            End::Complete => {
                let stored = memory(&run).into_iter().filter_map(|(cell, values)| {
                    let name = cell.trim_matches(['[', ']']).to_owned();
                    let value = values.first()?.parse().ok()?;
                    names.contains_key(&name).then_some((name, value))
                });
                let mut results = names.clone();
                results.extend(stored);
                found.results.insert(results);
            }
            End::Hangs => found.hangs = true,
            End::Bound | End::Broken | End::Open => {}
        }
    }
    Some(found)
}

/// The words into which threads put what they have read, each for itself, with what they hold at first.
fn results(text: &str) -> Results {
    let globals = text.lines().filter_map(|line| line.trim().strip_prefix("global ")?.split_once(':'));
    let result = |(name, rest): (&str, &str)| {
        let is_result = ["oa", "ob"].contains(&name) || name.starts_with("out_");
        let initial = rest.split_once('=')?.1.trim_end_matches(';').trim().parse().ok()?;
        is_result.then(|| (name.to_owned(), initial))
    };
    globals.filter_map(result).collect()
}

/// How many results there are, if the two were compared.
fn agree(open_text: &str, model: &MemoryModel) -> Result<Option<usize>, String> {
    let text = format!("{open_text}}}\n");
    let program = load_text(&text);
    let kernel = &program.kernels[0];
    let twin = decide_under(Edition::PTX, kernel, &kernel.launches[0], Effort::default());
    let Ok(twin) = twin else { return Ok(None) };
    if twin.mixed_size_races || !twin.misuses.is_empty() || twin.cut {
        return Ok(None);
    }
    let names = results(&text);
    let of = |outcome: &BTreeMap<String, u64>| -> Results {
        outcome
            .iter()
            .filter(|(name, _)| names.contains_key(*name))
            .map(|(name, &value)| (name.clone(), value))
            .collect()
    };
    let expected: BTreeSet<Results> = twin.outcomes.iter().map(of).collect();
    if expected.iter().flat_map(BTreeMap::values).any(|&value| value == ANYTHING) {
        return Ok(None);
    }
    let Some(found) = all_runs(&program, model, &names) else { return Ok(None) };
    let differs = |what: &str| Err(format!("{what}\n{text}\nruns: {:?}\ntwin: {expected:?}", found.results));
    if found.results != expected {
        return differs("runs come to other results");
    }
    if found.hangs != twin.deadlocks {
        return differs(&format!("some run hangs: {}, twin: {}", found.hangs, twin.deadlocks));
    }
    Ok(Some(expected.len()))
}

#[test]
fn choices_come_to_the_executions_that_there_are_of_litmus_shapes() {
    let model = model(&[]);
    let (mut n_compared, mut n_open) = (0, 0);
    for (name, text) in shapes::all().into_iter().step_by(4) {
        let compared = agree(&text, &model).unwrap_or_else(|error| panic!("{name}: {error}"));
        n_compared += usize::from(compared.is_some());
        n_open += usize::from(compared.is_some_and(|n| n > 1));
    }
    println!("runs: {n_compared} litmus shapes compared, {n_open} with several results");
    assert!(n_compared > 40 && n_open > 20, "{n_compared}, {n_open}");
}

#[test]
fn choices_come_to_the_executions_that_there_are_of_random_programs() {
    let model = model(&[]);
    let mut runner = TestRunner::new_with_rng(
        Runs { cases: 200, failure_persistence: None, ..Runs::default() },
        TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]),
    );
    let (n_compared, n_open) = (Cell::new(0), Cell::new(0));
    let result = runner.run(&sketches(5), |sketch| {
        let compared = agree(&sketch.text(), &model).map_err(TestCaseError::fail)?;
        n_compared.set(n_compared.get() + usize::from(compared.is_some()));
        n_open.set(n_open.get() + usize::from(compared.is_some_and(|n| n > 1)));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (n_compared, n_open) = (n_compared.get(), n_open.get());
    println!("runs: {n_compared} random programs compared, {n_open} with several results");
    assert!(n_compared > 100 && n_open > 20, "{n_compared}, {n_open}");
}
