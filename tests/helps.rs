//! The share of violated launches of `examples/` whose report has a help that was checked.
//!
//! A property of a launch counts as helped if a finding that breaks it has a repair with which nothing is violated, or
//! with which that finding is gone. Each hang has a repair or a sentence that says why there is none. The table is
//! printed: `cargo test -p fencepost-tests --test helps -- --nocapture`.

#![expect(clippy::print_stdout, reason = "the suite says how much it counted")]

use fencepost::check::Config;
use fencepost::examine::{Examination, examine};
use fencepost::explain::repair::{Repair, Texts};
use fencepost::library;
use fencepost::models::{self, Model};
use fencepost::report::{Case, Style, diagnostic, json, summary};
use fencepost::verdict::{Property, Verdict};
use fencepost::work;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

/// Steps per launch: enough for all but a few that are there for their size.
const BUDGET: u64 = 100_000_000;
/// Percent of the launches that violate a property, of which one of the findings must have a checked help.
// What made both ends of a race of data strong, and left the order missing, is no longer counted as a help.
const LEAST: &[(Property, usize)] = &[(Property::Race, 93), (Property::Assert, 90)];

/// Of the checks, what explaining and repairing may take: at most so many times as much.
const TIMES_MAX: u64 = 2;

/// Launches that violate a property: with a checked help, with a help of any kind, and all.
type Table = BTreeMap<Property, [usize; 3]>;

/// What is known of some launches.
#[derive(Default)]
struct Counts {
    table: Table,
    /// Hangs that are told without a help or a reason.
    hangs: Vec<String>,
    /// Steps of checks, and of explanations and repairs.
    steps: [u64; 2],
    /// Of all findings.
    repairs: Vec<Repair>,
    /// Lines of reports that do not fit.
    too_wide: Vec<String>,
}

impl Counts {
    fn add(&mut self, other: Self) {
        for (property, counts) in other.table {
            let sum = self.table.entry(property).or_default();
            (0..3).for_each(|i| sum[i] += counts[i]);
        }
        self.hangs.extend(other.hangs);
        self.repairs.extend(other.repairs);
        self.too_wide.extend(other.too_wide);
        (0..2).for_each(|i| self.steps[i] += other.steps[i]);
    }
}

#[test]
fn most_violations_have_a_checked_help() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut files = kernels(&root);
    // The library's mutants are the bugs of the stories once more, with launches enough to double the time.
    files.retain(|file| !file.starts_with(root.join("lib")));
    files.sort();
    let (next, counts) = (AtomicUsize::new(0), Mutex::new(Counts::default()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let worker = || {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let own = of_file(file);
                    counts.lock().expect("no other thread panics").add(own);
                }
            };
            thread::Builder::new()
                .stack_size(256 << 20)
                .spawn_scoped(scope, worker)
                .expect("a thread starts");
        }
    });
    let Counts { table, hangs, too_wide, steps: [checks, rest], .. } =
        counts.into_inner().expect("no thread has panicked");
    println!("{:<12}{:>9}{:>9}{:>9}{:>9}", "property", "checked", "any help", "launches", "share");
    for (property, [checked, any, all]) in &table {
        println!("{:<12}{checked:>9}{any:>9}{all:>9}{:>8}%", property.name(), 100 * checked / all);
    }
    println!(
        "million steps: {} of checks, {} of explanations and repairs",
        checks / 1_000_000,
        rest / 1_000_000
    );
    assert!(rest <= TIMES_MAX * checks, "{rest} steps beside {checks}");
    for &(property, least) in LEAST {
        let [checked, _, all] = table[&property];
        assert!(100 * checked >= least * all, "{property}: {checked} of {all}");
    }
    assert!(
        too_wide.is_empty(),
        "{} lines, such as {:#?}",
        too_wide.len(),
        too_wide.iter().take(8).collect::<Vec<_>>()
    );
    assert!(hangs.is_empty(), "neither help nor a reason why there is none: {hangs:?}");
}

/// The lines of a report that are wider than the screen, and need not be: the source is shown as it is, a label begins below
/// the middle of what it is about, and words are not broken.
fn too_wide(case: &Case<'_>, width: usize) -> Vec<String> {
    let style = Style { color: false, width };
    let text = summary::summary(case, style) + &diagnostic::findings(case, true, style);
    let is_source = |line: &str| {
        let start = line.trim_start();
        start.starts_with(|c: char| c.is_ascii_digit()) && start.contains(" │ ") || start.starts_with('·')
    };
    let has_long_word = |line: &str| line.split(' ').any(|word| word.chars().count() > width / 2);
    let is_wide = |line: &&str| line.chars().count() > width;
    let wide = text.lines().filter(is_wide).filter(|line| !is_source(line) && !has_long_word(line));
    wide.map(|line| format!("{}, at {width}: {line}", case.file)).collect()
}

/// Kinds of changes, each with a kernel of the stories that it mends, and what its new text is.
const KINDS: &[(&str, &str)] = &[
    ("work-stealing/push-relaxed.fence", "st.release.gpu.u32"),
    ("work-stealing/cta-scope.fence", "fence.sc.gpu"),
    ("signal-pad/two-groups-one-slot.fence", "gpuid"),
    ("all-reduce-flags/one-set.fence", ">="),
    ("ordered-sequence/nobody-begins.fence", "warpid == 0 ? 1 : 0"),
    ("ordered-sequence/own-barrier.fence", "(warpid + 1) % GROUPS"),
    ("register-reallocation/too-many.fence", "232"),
    ("arrival-count/wrong-thread-signals.fence", "laneid == 0"),
    ("signalled-per-part/first-part-signals.fence", "i == PARTS - 1"),
    ("lsa-barrier/multimem-own-copy.fence", "multimem.ld_reduce.acquire.sys.min.u32 [all_arrived]"),
    ("transaction-bytes/announced-too-few.fence", "2 * BYTES"),
    ("replayed-workspace/counter-not-reset.fence", "atom.acq_rel.gpu.global.inc.u32"),
];

#[test]
fn each_kind_of_change_mends_its_story() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for &(file, text) in KINDS {
        let path = root.join(file);
        let own = thread::Builder::new().stack_size(256 << 20).spawn(move || of_file(&path));
        let Counts { repairs, .. } = own.expect("a thread starts").join().expect("it does not panic");
        let is_it = |repair: &Repair| {
            let mut pieces = repair.edits.iter().flat_map(|edit| &edit.pieces);
            repair.is_complete() && pieces.any(|piece| piece.text == text)
        };
        assert!(repairs.iter().any(is_it), "{file}: {repairs:#?}");
    }
}

/// Kernels that say themselves what mends them, or that nothing does: what would only hide the finding is no repair.
#[test]
fn a_repair_mends_and_does_not_hide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("repairs");
    let entries = fs::read_dir(root).expect("a folder can be listed");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry can be read").path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a kernel can be read");
        let said = |what: &str| text.lines().find_map(|line| line.strip_prefix(what)).map(str::to_owned);
        // Of all else no answer comes with what ends it.
        let ends = said("//@ ends: ");
        let is_open = ends.is_some();
        let expected = said("//@ repair: ").or(ends);
        let expected = expected.unwrap_or_else(|| panic!("{} says what mends it", file.display()));
        let path = file.clone();
        let own = thread::Builder::new().stack_size(256 << 20).spawn(move || of_file(&path));
        let Counts { table, repairs, .. } = own.expect("a thread starts").join().expect("it does not panic");
        assert!(!table.is_empty(), "{}: nothing is violated", file.display());
        let has_it = |repair: &Repair| {
            let mut pieces = repair.edits.iter().flat_map(|edit| &edit.pieces);
            let is_of_kind = if is_open { !repair.open.is_empty() } else { repair.is_complete() };
            is_of_kind && pieces.any(|piece| piece.text.trim() == expected)
        };
        let is_right = if expected == "none" { repairs.is_empty() } else { repairs.iter().any(has_it) };
        if !is_right {
            wrong.push(format!("{}: not `{expected}` but {repairs:#?}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The counts of a file's launches.
fn of_file(path: &Path) -> Counts {
    let name = path.to_string_lossy().into_owned();
    let mut sources = SourceMap::default();
    let mut read = library::with(|path| fs::read_to_string(path).map_err(|error| error.to_string()));
    let program = load(&mut sources, &name, &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let model = Model::shipped(models::usual(&program), &[]).expect("the model comes along");
    let texts = Texts::new(&sources, LoadOptions::default());
    let mut counts = Counts::default();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let config = Config { budget: BUDGET, follow: true, ..Config::usual(kernel) };
            let before = work::done();
            let Examination { outcome, explanations } =
                examine(&texts, &program, kernel, launch, &model, &config)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            counts.steps[0] += outcome.statistics.steps;
            counts.steps[1] += work::done() - before - outcome.statistics.steps;
            if outcome.verdict != Verdict::Violated {
                continue;
            }
            counts.repairs.extend(explanations.iter().filter_map(|explanation| explanation.repair.clone()));
            let case = Case {
                sources: &sources,
                file: &name,
                program: &program,
                kernel,
                model: &model.name,
                variants: &[],
                outcome: &outcome,
                explanations: &explanations,
                standing: Default::default(),
            };
            for width in [80, 100] {
                counts.too_wide.extend(too_wide(&case, width));
            }
            let line: Value = serde_json::from_str(&json::report(&case)).expect("a line is an object");
            for (property, _) in
                outcome.properties.iter().filter(|(_, verdict)| *verdict == Verdict::Violated)
            {
                let findings = line["findings"].as_array().into_iter().flatten();
                let own: Vec<&Value> =
                    findings.filter(|found| found["property"] == property.name()).collect();
                let checked = own.iter().any(|found| found["repair"].is_object());
                let any = own.iter().any(|found| found["help"].is_string());
                if *property == Property::Deadlock && !any {
                    counts.hangs.push(format!("{name} ({})", launch.name));
                }
                let sums = counts.table.entry(*property).or_default();
                for (count, holds) in sums.iter_mut().zip([checked, any, true]) {
                    *count += usize::from(holds);
                }
            }
        }
    }
    counts
}

/// The kernels of all stories; a file whose name starts with `_` is a part that others use.
fn kernels(root: &Path) -> Vec<PathBuf> {
    let children = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).expect("a folder can be listed");
        entries.map(|entry| entry.expect("an entry can be read").path()).collect()
    };
    let files = children(root).into_iter().filter(|path| path.is_dir()).flat_map(|story| children(&story));
    let is_kernel = |path: &PathBuf| {
        let is_part = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'));
        path.extension().is_some_and(|extension| extension == "fence") && !is_part
    };
    files.filter(is_kernel).collect()
}
