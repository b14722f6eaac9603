//! Published litmus tests, and what is expected of them: `../shared/litmus` with `ptx/**.litmus` and `expected.csv`.
//!
//! An expectation is a row `file,model,property,expected`. The models of the two editions must agree with their rows but
//! for [`DISAGREEMENTS`]; the default model, which reads the text in its own way, stands next to the rows of 7.5.

use super::MODELS;
use crate::litmus::{self, shipped_model};
use crate::run::config;
use fencepost::check::{Config, Limits};
use fencepost::encode::Treatment;
use fencepost::verdict::{Outcome, Property, Verdict};
use fencepost_dsl::cat::memory_model::MemoryModel;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An expectation that we do not meet, and why we stay with our answer.
pub struct Disagreement {
    /// The model asked.
    pub model: &'static str,
    /// The file, below `ptx`.
    pub file: &'static str,
    /// The property.
    pub property: &'static str,
    /// The rule of the specification that decides.
    pub rule: &'static str,
    /// What it says here.
    pub reason: &'static str,
}

/// All of them. No file is treated specially anywhere else.
pub const DISAGREEMENTS: &[Disagreement] = &[Disagreement {
    model: "ptx",
    file: "Nvidia/proxy/Proxy-SingleThread-rf-surW-texR-genR.litmus",
    property: "race",
    rule: "MM-19",
    reason: "the text counts races within a thread, too: here between a surface write and a plain read, with the fence \
             of another proxy between them",
}];

/// What tables of expectations call a property, and what we call it.
pub const PROPERTIES: [(&str, &str); 3] =
    [("condition", "condition"), ("race", "race"), ("termination", "deadlock")];

/// An answer as tables of expectations give it, and those that they do not have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Answer {
    /// Pass.
    Pass,
    /// Pass as far as the loop bound goes.
    PassUpToBound,
    /// Fail.
    Fail,
    /// A limit stopped the run, or `exists` found nothing within the loop bound.
    Open,
    /// Not checked, with the code of the report.
    Unsupported(&'static str),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::PassUpToBound => f.write_str("pass up to the bound"),
            Self::Fail => f.write_str("fail"),
            Self::Open => f.write_str("open"),
            Self::Unsupported(code) => write!(f, "`{code}`"),
        }
    }
}

/// Everything tables of expectations can ask for.
pub fn judged() -> Config {
    let is_judged = |property: &Property| PROPERTIES.iter().any(|&(_, ours)| ours == property.name());
    let properties = Property::ALL.into_iter().filter(is_judged).collect();
    // The races of a file are not to keep its other properties open.
    let limits = Limits { findings_max: 1_000, ..Limits::default() };
    Config { properties, limits, ..config(Treatment::DEFAULT) }
}

/// The answer to a property by its name in tables of expectations.
pub fn answer_of(outcome: &Outcome, property: &str) -> Answer {
    let ours = PROPERTIES.iter().find(|(theirs, _)| *theirs == property).map_or("", |&(_, ours)| ours);
    let verdict = outcome.properties.iter().find(|(own, _)| own.name() == ours).map(|&(_, verdict)| verdict);
    // `condition.holds`, and whether it holds only as far as the bound goes.
    if property == "condition" {
        let holds = outcome.condition.as_ref().and_then(|condition| condition.holds);
        return match (holds, verdict) {
            (Some(true), Some(Verdict::ProvedUpToBound)) => Answer::PassUpToBound,
            (Some(true), _) => Answer::Pass,
            (Some(false), _) => Answer::Fail,
            (None, _) => Answer::Open,
        };
    }
    match verdict {
        None => Answer::Unsupported("no such property"),
        Some(Verdict::Proved) => Answer::Pass,
        Some(Verdict::ProvedUpToBound) => Answer::PassUpToBound,
        Some(Verdict::Violated) => Answer::Fail,
        Some(Verdict::Vacuous | Verdict::Inconclusive) => Answer::Open,
    }
}

/// How one file ended under one model.
struct Ended {
    /// In the order of [`PROPERTIES`].
    answers: [Answer; 3],
    /// Whether a limit or a loop bound explains what is open.
    is_explained: bool,
}

/// An expectation.
struct Row {
    file: String,
    model: String,
    property: String,
    expected: String,
}

/// A row as the page counts it.
#[derive(Clone, Copy, Default)]
struct Tally {
    n_rows: usize,
    n_agree: usize,
    n_bounded: usize,
    n_unsupported: usize,
    n_disagree: usize,
}

impl Tally {
    fn add(&mut self, expected: &str, ours: Answer) {
        self.n_rows += 1;
        match (expected, ours) {
            ("pass", Answer::Pass) | ("fail", Answer::Fail) => self.n_agree += 1,
            ("pass", Answer::PassUpToBound) => self.n_bounded += 1,
            (_, Answer::Unsupported(_)) => self.n_unsupported += 1,
            _ => self.n_disagree += 1,
        }
    }
    fn cells(self) -> String {
        let Self { n_rows, n_agree, n_bounded, n_unsupported, n_disagree } = self;
        format!("{n_rows} | {n_agree} | {n_bounded} | {n_unsupported} | {n_disagree} |")
    }
}

/// Where the published tests are, if they are.
pub fn shared_folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/litmus");
    folder.join("expected.csv").exists().then_some(folder)
}

/// All published tests under all models, with their expectations.
pub struct Shared {
    rows: Vec<Row>,
    /// By model, in the order of [`MODELS`], then by file.
    found: Vec<BTreeMap<String, Ended>>,
}

impl Shared {
    /// Runs everything, if it is there.
    ///
    /// # Panics
    /// If a file is rejected, or an internal check fails.
    pub fn run() -> Option<Self> {
        let folder = shared_folder()?;
        let table = std::fs::read_to_string(folder.join("expected.csv")).expect("it can be read");
        let rows = table.lines().skip(1).filter_map(|line| {
            let mut fields = line.trim_end().split(',').map(str::to_owned);
            Some(Row {
                file: fields.next()?,
                model: fields.next()?,
                property: fields.next()?,
                expected: fields.next()?,
            })
        });
        let root = folder.join("ptx");
        let files = litmus::files(&root);
        let found = MODELS
            .iter()
            .map(|model| {
                run_all(&root, &files, &shipped_model(model).expect("the model comes with Fencepost"))
            })
            .collect();
        Some(Self { rows: rows.collect(), found })
    }

    /// Rows whose expectation is not met: model asked, row, our answer.
    fn differences(&self) -> Vec<(&'static str, &Row, Answer)> {
        self.judge()
            .filter(|&(_, row, ours)| {
                let mut tally = Tally::default();
                tally.add(&row.expected, ours);
                tally.n_disagree > 0
            })
            .collect()
    }

    fn judge(&self) -> impl Iterator<Item = (&'static str, &Row, Answer)> {
        MODELS.into_iter().zip(&self.found).flat_map(move |(model, found)| {
            let edition = rows_of(model);
            self.rows.iter().filter(move |row| row.model == edition).map(move |row| {
                let at = PROPERTIES.iter().position(|(name, _)| *name == row.property);
                let at = at.unwrap_or_else(|| panic!("property {} is unknown", row.property));
                let ended = found.get(&row.file).unwrap_or_else(|| panic!("{} is not there", row.file));
                (model, row, ended.answers[at])
            })
        })
    }

    /// What is wrong: a difference without reason, a reason without difference, an open end without explanation.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let differences = self.differences();
        for (model, row, ours) in &differences {
            if find_reason(model, row).is_none() {
                complaints.push(format!(
                    "{model}: {}, {}: expected {}, found {ours}, and no reason is given",
                    row.file, row.property, row.expected
                ));
            }
        }
        for known in DISAGREEMENTS {
            let is_there = |(model, row, _): &(&str, &Row, Answer)| {
                known.model == *model && known.file == row.file && known.property == row.property
            };
            if !differences.iter().any(is_there) {
                complaints.push(format!(
                    "{}: {}, {} agrees, yet a reason for a disagreement is given",
                    known.model, known.file, known.property
                ));
            }
        }
        for (model, found) in MODELS.iter().zip(&self.found) {
            for (file, ended) in found {
                if ended.answers.contains(&Answer::Open) && !ended.is_explained {
                    complaints.push(format!("{model}: {file} is left open without a limit or a loop bound"));
                }
            }
        }
        complaints
    }

    /// The part of the page.
    pub fn to_markdown(&self) -> String {
        let n_files = self.found.first().map_or(0, BTreeMap::len);
        let mut text = format!(
            "## Published litmus tests

{n_files} files in the community's format with {} expectations, from a folder beside the repository (`../shared/litmus`).
The models of the two editions are held against their own rows; the default model stands next to the rows of 7.5.
*Condition* is what the test claims of final states, *race* that no execution has a data race, *termination* (property `deadlock`) that no fair execution hangs.

| directory | model | property | files | rows | agree | agree up to the loop bound | unsupported | disagree |
|---|---|---|---:|---:|---:|---:|---:|---:|
",
            self.rows.len()
        );
        self.tally_table(&mut text);
        self.disagreement_table(&mut text);
        self.without_rows(&mut text);
        text
    }

    fn tally_table(&self, text: &mut String) {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for file in self.found.first().into_iter().flat_map(BTreeMap::keys) {
            *files.entry(directory(file)).or_default() += 1;
        }
        let mut tallies: BTreeMap<(&str, usize, usize), Tally> = BTreeMap::new();
        let mut totals: BTreeMap<(usize, usize), Tally> = BTreeMap::new();
        for (model, row, ours) in self.judge() {
            let model = MODELS.iter().position(|name| *name == model).unwrap_or_default();
            let property = PROPERTIES.iter().position(|(name, _)| *name == row.property).unwrap_or_default();
            let of_directory = tallies.entry((directory(&row.file), model, property)).or_default();
            of_directory.add(&row.expected, ours);
            totals.entry((model, property)).or_default().add(&row.expected, ours);
        }
        for (&(directory, model, property), tally) in &tallies {
            let (model, property, cells) = (MODELS[model], PROPERTIES[property].0, tally.cells());
            let _ = writeln!(text, "| {directory} | {model} | {property} | {} | {cells}", files[directory]);
        }
        let n_files: usize = files.values().sum();
        for (&(model, property), tally) in &totals {
            let (model, property, cells) = (MODELS[model], PROPERTIES[property].0, tally.cells());
            let _ = writeln!(text, "| **all** | {model} | {property} | {n_files} | {cells}");
        }
    }

    fn disagreement_table(&self, text: &mut String) {
        text.push_str("\n### Disagreements\n\n");
        let differences = self.differences();
        if differences.is_empty() {
            text.push_str("None.\n");
            return;
        }
        text.push_str(
            "| file | model | property | expected | ours | rule | reason |\n|---|---|---|---|---|---|---|\n",
        );
        for (model, row, ours) in differences {
            let (rule, reason) =
                find_reason(model, row).map_or(("", "**none given**"), |known| (known.rule, known.reason));
            let Row { file, property, expected, .. } = row;
            let _ =
                writeln!(text, "| {file} | {model} | {property} | {expected} | {ours} | {rule} | {reason} |");
        }
    }

    /// The files that no row mentions: each must end in an honest verdict.
    fn without_rows(&self, text: &mut String) {
        let is_mentioned = |file: &str| self.rows.iter().any(|row| row.file == file);
        text.push_str(
            "\n### Files without expectations\n\nHow often each answer was given.\n\n\
             | directory | model | files | condition | race | termination |\n|---|---|---:|---|---|---|\n",
        );
        let mut groups: BTreeMap<(&str, usize), [BTreeMap<Answer, usize>; 3]> = BTreeMap::new();
        for (model, found) in self.found.iter().enumerate() {
            for (file, ended) in found.iter().filter(|(file, _)| !is_mentioned(file)) {
                let group = groups.entry((directory(file), model)).or_default();
                for (answers, answer) in group.iter_mut().zip(ended.answers) {
                    *answers.entry(answer).or_default() += 1;
                }
            }
        }
        for (&(directory, model), answers) in &groups {
            let n_files: usize = answers[0].values().sum();
            let cell = |answers: &BTreeMap<Answer, usize>| {
                let parts: Vec<String> = answers.iter().map(|(answer, n)| format!("{n} {answer}")).collect();
                parts.join(", ")
            };
            let [condition, race, termination] = answers.each_ref().map(cell);
            let model = MODELS[model];
            let _ = writeln!(
                text,
                "| {directory} | {model} | {n_files} | {condition} | {race} | {termination} |"
            );
        }
        text.push('\n');
    }
}

/// Whose rows a model is held against.
fn rows_of(model: &str) -> &str {
    if model == "ptx" { "ptx-7.5" } else { model }
}

fn directory(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn find_reason(model: &str, row: &Row) -> Option<&'static Disagreement> {
    DISAGREEMENTS
        .iter()
        .find(|known| known.model == model && known.file == row.file && known.property == row.property)
}

/// Runs every file, on two threads.
fn run_all(root: &Path, files: &[PathBuf], model: &MemoryModel) -> BTreeMap<String, Ended> {
    let config = judged();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = path.strip_prefix(root).expect("it is inside").to_string_lossy().replace('\\', "/");
            let ended = match litmus::outcome(path, model, &config) {
                Ok(outcome) => Ended {
                    answers: PROPERTIES.map(|(property, _)| answer_of(&outcome, property)),
                    is_explained: outcome.limit.is_some() || !outcome.open_loops.is_empty(),
                },
                Err(code) => Ended { answers: [Answer::Unsupported(code); 3], is_explained: true },
            };
            found.lock().expect("workers do not panic").insert(name, ended);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("workers do not panic")
}
