//! `emit cnf --goal`, asked of a solver that knows nothing of kernels: it has an answer if, and only if, something goes wrong.

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_engine::check::{Config, artefacts, check};
use fencepost_engine::encode::Treatment;
use fencepost_engine::models::{self, Model};
use fencepost_engine::unroll::{UnrollOptions, unroll};
use fencepost_engine::verdict::Verdict;

const MESSAGE: &str = "kernel k { launch { ctas: 2, cooperative: true } global d: u32 = 0; global f: u32 = 0;
    if ctaid == 0 { st [d], 1; st.release.gpu [f], 1; }
    else { await ld.acquire.gpu [f] == 1; let v = ld [d]; assert v == 1; } }";

#[test]
fn a_formula_with_its_goal_has_an_answer_if_something_goes_wrong() {
    let model = Model::shipped(models::PTX, &[]).expect("it comes along").resolved;
    for (from, to, goes_wrong, told) in [
        ("", "", false, ""),
        ("st.release", "st.relaxed", true, "race of e"),
        ("assert v == 1", "assert v == 2", true, "assert::violated by "),
        ("[f] == 1", "[f] == 2", true, "deadlock"),
    ] {
        let text = MESSAGE.replace(from, to);
        let text = if from.is_empty() { MESSAGE.to_owned() } else { text };
        let mut read = |_: &str| Ok(text.clone());
        let program = load(&mut SourceMap::default(), "k.fence", &mut read, &LoadOptions::default())
            .unwrap_or_else(|errors| panic!("{errors:?}"));
        let (kernel, config) = (&program.kernels[0], Config::without_deadline(Treatment::DEFAULT));
        let launch = &kernel.launches[0];
        let outcome = check(&program, kernel, launch, &model, &config).expect("it is checked");
        assert_eq!(outcome.verdict == Verdict::Violated, goes_wrong, "{text}");
        let options = UnrollOptions { hangs: true, ..UnrollOptions::default() };
        let graph = unroll(&program, kernel, launch, &options).expect("it is small");
        let Ok(made) = artefacts(graph, &model, &config) else { panic!("it is small") };
        let mut solver = varisat::Solver::new();
        solver.add_dimacs_cnf(made.cnf_with_goal.as_bytes()).expect("it is DIMACS");
        assert_eq!(solver.solve().ok(), Some(goes_wrong), "{text}");
        let said = made.cnf_with_goal.lines().any(|line| line.starts_with("c ") && line.contains(told));
        assert!(said, "no `{told}` in its comments: {text}");
        // Without the goal it only says what an execution is.
        let mut solver = varisat::Solver::new();
        solver.add_dimacs_cnf(made.cnf.as_bytes()).expect("it is DIMACS");
        assert_eq!(solver.solve().ok(), Some(true), "{text}");
    }
}
