//! Executions carried over to changed programs, over the examples: each that was found is one of the program itself, and none
//! is one of a program that is proved.

use fencepost::check::replay::{Changed, Shown};
use fencepost::check::{CheckError, Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Verdict};
use fencepost_dsl::kernel::program::Program;
use fencepost_tests::run::{config, load, model};
use std::fs;
use std::path::{Path, PathBuf};

/// Launches that are larger are left out, since they take long.
const EVENTS_MAX: usize = 250;

/// The kernels of each story, but for those of SPA machines.
fn stories() -> Vec<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let children = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("the folder is there");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        paths.sort();
        paths
    };
    let kernels = |folder: &PathBuf| {
        let mut own = children(folder);
        let is_kernel = |path: &PathBuf| {
            path.extension().is_some_and(|ending| ending == "fence")
                && path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('_'))
                && !fs::read_to_string(path).expect("it is text").contains("//! target spa")
        };
        own.retain(is_kernel);
        own
    };
    let folders: Vec<PathBuf> = children(&root).into_iter().filter(|path| path.is_dir()).collect();
    folders.iter().map(kernels).filter(|own| !own.is_empty()).collect()
}

/// How a program is checked, so that the first violations are found.
fn quick() -> Config {
    Config { budget: 30_000_000, ..config(Treatment::DEFAULT) }
}

struct Checked {
    name: String,
    program: Program,
    /// With the number of the kernel.
    outcomes: Vec<(usize, Outcome)>,
}

fn checked(path: &Path) -> Option<Checked> {
    let program = load(path);
    let model = model(&[]);
    let mut outcomes = Vec::new();
    for (number, kernel) in program.kernels.iter().enumerate() {
        for launch in &kernel.launches {
            match check(&program, kernel, launch, &model, &quick()) {
                Ok(outcome) => outcomes.push((number, outcome)),
                Err(CheckError::Unsupported(_)) => return None,
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }
    Some(Checked { name: path.display().to_string(), program, outcomes })
}

#[test]
fn what_was_found_is_found_again_and_never_of_what_is_proved() {
    let model = model(&[]);
    let (mut n_same, mut n_lost, mut n_against) = (0, 0, 0);
    let (mut n_shown, mut n_unseen) = (0, 0);
    // Every third story; together they have all that executions are made of.
    for story in stories().iter().step_by(3) {
        let all: Vec<Checked> = story.iter().filter_map(|path| checked(path)).collect();
        for one in &all {
            for (number, outcome) in
                one.outcomes.iter().filter(|(_, own)| own.graph.events.len() <= EVENTS_MAX)
            {
                let with = Config { unroll: outcome.unroll, ..quick() };
                for finding in &outcome.findings {
                    let shown_by = |of: &Checked, (number, at): (usize, &Outcome)| {
                        let kernel = &of.program.kernels[number];
                        let changed = Changed::new(&of.program, kernel, &at.launch, &model, &with)?;
                        changed.shown(&outcome.graph, &finding.witness)
                    };
                    match shown_by(one, (*number, outcome)) {
                        Some(Shown { is_same: true, .. }) => n_same += 1,
                        _ => n_lost += 1,
                    }
                    for other in &all {
                        for (at, own) in &other.outcomes {
                            let shown = shown_by(other, (*at, own));
                            match own.verdict {
                                Verdict::Proved => {
                                    n_against += 1;
                                    assert!(
                                        shown.is_none(),
                                        "an execution of {} goes wrong in {}, which is proved",
                                        one.name,
                                        other.name
                                    );
                                }
                                Verdict::Violated if other.name != one.name => match shown {
                                    Some(_) => n_shown += 1,
                                    None => n_unseen += 1,
                                },
                                _ => {}
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(n_same >= 60 && n_against >= 100, "{n_same} and {n_against}");
    // Some are of tries that were taken out of the graph before they were found, or of an order of threads.
    assert!(n_lost * 10 <= n_same, "{n_lost} of {n_same} executions are not those of their own program");
    // What is wrong in another program of the story is mostly something else, which few runs show.
    assert!(n_shown >= 500, "{n_shown} of {} runs show what is wrong", n_shown + n_unseen);
}
