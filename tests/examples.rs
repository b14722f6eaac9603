//! Every kernel in `examples/` against the verdict its header claims.
//!
//! A story is a folder: a README and kernels that belong together, at least one of them proved and one violated. A kernel's
//! `//@ expect:` line is the only place its verdict is written down. Files whose name starts with `_` are parts that others
//! `use`; any other file without an expectation is a failure, so that none is skipped by accident.
//! All launches of a file are checked; the file's verdict is the worst of them. `lib` is a folder of stories, one for each
//! file of the library: its contract kept, and broken.

use fencepost::check::{CheckError, check};
use fencepost::encode::Treatment;
use fencepost::explain::explain;
use fencepost::library;
use fencepost::verdict::{Finding, Outcome, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::kernel::{self, LIBRARY_ROOT, LoadOptions};
use fencepost_tests::run::{config, model, model_for, spa_model};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The folder with what proves the library.
const LIBRARY: &str = "lib";

/// Lines that an edit of a mutant may add.
const EDIT_MAX: usize = 2;

/// The models of PTX and of SPA machines.
type Models = (MemoryModel, MemoryModel);

/// What a header may claim.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Expectation {
    /// An overall verdict without findings.
    Verdict(Verdict),
    /// Violated, with this code among the findings.
    Violated(String),
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let model = Arc::new((model(&[]), spa_model(&[])));
    let mut trials: Vec<Trial> = stories(&root).iter().flat_map(|story| trials_of(story, &model)).collect();
    trials.push(Trial::test("lib/README.md", the_library_is_complete));
    trials.push(Trial::test("lib/mutants", mutants_follow_the_library));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The folders with kernels; `lib` has one for each file of the library.
fn stories(root: &Path) -> Vec<PathBuf> {
    let mut found = sorted_children(root);
    found.extend(sorted_children(&root.join(LIBRARY)));
    found.retain(|path| path.is_dir() && *path != root.join(LIBRARY));
    found
}

/// Each file of the library has a folder with a harness that uses it and two mutants, and a line in the table.
fn the_library_is_complete() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(LIBRARY);
    let readme = fs::read_to_string(root.join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    for name in library::names() {
        let folder = name.replace('_', "-");
        if !readme.contains(&format!("| [`{name}`]({folder}/README.md) |")) {
            return Err(format!("README.md has no line for `{name}`").into());
        }
        let (mut harnesses, mut mutants) = (0, 0);
        for path in kernels_of(&root.join(&folder)) {
            if matches!(expectation(&path)?, Expectation::Violated(_)) {
                mutants += 1;
                continue;
            }
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            harnesses += usize::from(text.contains(&format!("use \"lib/{name}.fence\";")));
        }
        if harnesses < 1 || mutants < 2 {
            return Err(format!("`{name}` has {harnesses} harnesses and {mutants} mutants").into());
        }
    }
    Ok(())
}

/// A mutant has the lines of its library file and harnesses but for the edit: a change of the library reaches it.
fn mutants_follow_the_library() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(LIBRARY);
    for name in library::names() {
        let used = library::read(&format!("{LIBRARY_ROOT}{LIBRARY}/{name}.fence"));
        let mut known = code_lines(&used.ok_or("it is the library's")??);
        // As a mutant outside of the library names a file that its own uses.
        known.extend(library::names().map(|other| format!("use \"{LIBRARY}/{other}.fence\";")));
        let (mut harnesses, mut mutants) = (Vec::new(), Vec::new());
        for path in kernels_of(&root.join(name.replace('_', "-"))) {
            let is_mutant = matches!(expectation(&path)?, Expectation::Violated(_));
            (if is_mutant { &mut mutants } else { &mut harnesses }).push(path);
        }
        for path in harnesses {
            known.extend(code_lines(&fs::read_to_string(&path).map_err(|error| error.to_string())?));
        }
        for path in mutants {
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            let own: Vec<String> = code_lines(&text).difference(&known).cloned().collect();
            if own.len() > EDIT_MAX {
                return Err(format!("{} differs in more than an edit: {own:#?}", path.display()).into());
            }
        }
    }
    Ok(())
}

/// The lines of a kernel file without comments.
fn code_lines(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn trials_of(story: &Path, models: &Arc<Models>) -> Vec<Trial> {
    let name = story_name(story);
    let folder = story.to_owned();
    let mut trials = vec![Trial::test(format!("{name}/README.md"), move || story_is_complete(&folder))];
    for path in kernels_of(story) {
        let models = Arc::clone(models);
        let label = format!("{name}/{}", file_name(&path));
        trials.push(Trial::test(label, move || {
            on_a_large_stack(move || kernel_is_as_expected(&path, &models))
        }));
    }
    trials
}

/// A README that names every kernel, and both sides of the story.
fn story_is_complete(story: &Path) -> Result<(), Failed> {
    let readme =
        fs::read_to_string(story.join("README.md")).map_err(|error| format!("README.md: {error}"))?;
    let mut verdicts = BTreeSet::new();
    for path in kernels_of(story) {
        let file = file_name(&path);
        if !readme.contains(&file) {
            return Err(format!("README.md does not mention `{file}`").into());
        }
        verdicts.insert(match expectation(&path)? {
            Expectation::Verdict(verdict) => verdict.name(),
            Expectation::Violated(_) => Verdict::Violated.name(),
        });
    }
    for needed in [Verdict::Proved, Verdict::Violated] {
        if !verdicts.contains(needed.name()) {
            return Err(format!("no kernel of this story is expected to be {}", needed.name()).into());
        }
    }
    Ok(())
}

fn kernel_is_as_expected(path: &Path, models: &Models) -> Result<(), Failed> {
    let expected = expectation(path)?;
    let (outcomes, model) = check_file(path, models)?;
    let verdict = outcomes.iter().map(|outcome| outcome.verdict).max().ok_or("the file has no kernel")?;
    let codes: BTreeSet<&str> = outcomes
        .iter()
        .flat_map(|outcome| outcome.findings.iter().map(|finding| code_of(outcome, model, finding)))
        .collect();
    let as_expected = match &expected {
        Expectation::Verdict(expected) => verdict == *expected,
        Expectation::Violated(code) => verdict == Verdict::Violated && codes.contains(code.as_str()),
    };
    if as_expected {
        return Ok(());
    }
    let limits: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.limit.as_ref()).collect();
    let vacuity: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.vacuity).collect();
    Err(format!(
        "expected {expected:?}, got {} with findings {codes:?}, limits {limits:?}, vacuity {vacuity:?}",
        verdict.name()
    )
    .into())
}

/// The outcome of every kernel and launch of a file.
fn check_file<'a>(path: &Path, models: &'a Models) -> Result<(Vec<Outcome>, &'a MemoryModel), Failed> {
    let mut sources = SourceMap::default();
    let path = path.to_str().ok_or("the path is not UTF-8")?;
    let mut read = library::with(|path| fs::read_to_string(path).map_err(|error| error.to_string()));
    let program = kernel::load(&mut sources, path, &mut read, &LoadOptions::default()).map_err(|errors| {
        let lines: Vec<String> = errors
            .iter()
            .map(|error| {
                let place = sources.line_column(error.span());
                format!("{}:{}: {} ({})", place.line, place.column, error.message, error.code)
            })
            .collect();
        lines.join("\n")
    })?;
    let model = model_for(&program, &models.0, &models.1);
    let mut outcomes = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let outcome =
                check(&program, kernel, launch, model, &config(Treatment::DEFAULT)).map_err(|error| {
                    match error {
                        CheckError::Unsupported(diagnostic) => {
                            format!("launch {}: {diagnostic:?}", launch.name)
                        }
                        CheckError::SelfCheck { .. } => format!("launch {}: {error}", launch.name),
                    }
                })?;
            outcomes.push(outcome);
        }
    }
    Ok((outcomes, model))
}

/// The finding's code as reports print it.
fn code_of(outcome: &Outcome, model: &MemoryModel, finding: &Finding) -> &'static str {
    explain(&outcome.graph, model, finding).code
}

fn expectation(path: &Path) -> Result<Expectation, Failed> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//@")).collect();
    let [line] = lines.as_slice() else {
        return Err(format!("{} has {} `//@` lines instead of one", path.display(), lines.len()).into());
    };
    let Some(claim) = line.trim().strip_prefix("expect:") else {
        return Err(format!("unknown directive `//@{line}`").into());
    };
    let words: Vec<&str> = claim.split_whitespace().collect();
    match words.as_slice() {
        ["proved"] => Ok(Expectation::Verdict(Verdict::Proved)),
        ["proved_up_to_bound"] => Ok(Expectation::Verdict(Verdict::ProvedUpToBound)),
        ["vacuous"] => Ok(Expectation::Verdict(Verdict::Vacuous)),
        ["violated", code] => Ok(Expectation::Violated((*code).to_owned())),
        _ => Err(format!("cannot read the expectation `{claim}`").into()),
    }
}

/// Kernels are unrolled and encoded by recursion over their nesting.
fn on_a_large_stack(run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Result<(), Failed> {
    let thread =
        std::thread::Builder::new().stack_size(256 << 20).spawn(run).map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("panicked".into()))
}

/// The kernels of a story, parts left out.
fn kernels_of(story: &Path) -> Vec<PathBuf> {
    let is_kernel = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "fence") && !file_name(path).starts_with('_')
    };
    sorted_children(story).into_iter().filter(is_kernel).collect()
}

fn sorted_children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the examples are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// The folder's path below `examples`.
fn story_name(story: &Path) -> String {
    let is_library = story.parent().is_some_and(|parent| file_name(parent) == LIBRARY);
    let name = file_name(story);
    if is_library { format!("{LIBRARY}/{name}") } else { name }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
