//! `--format junit`: a document of test suites, one for each file, with a test case for each kernel and launch.
//!
//! Violated is a failure; what is neither proved nor violated, or was not checked, is an error. A proof up to a bound passes
//! where `--allow-bounded` or the project accepts it; a launch of which all findings are known is skipped. Times are those that
//! whoever has a clock has measured, as in JSON.

use super::case::{Case, Style};
use super::diagnostic;
use super::json::{self, FindingReport};
use super::markup::escaped;
use super::remark::remarks;
use crate::verdict::Verdict;
use crate::warn::Warning;
use fencepost_dsl::{Diagnostic, SourceMap};
use serde::{Deserialize, Serialize};

/// What a run has said so far.
#[derive(Default, Debug, Serialize, Deserialize)]
pub struct Suites {
    cases: Vec<TestCase>,
    /// By file.
    warnings: Vec<(String, String)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TestCase {
    file: String,
    name: String,
    /// What went wrong, if something did.
    wrong: Option<Wrong>,
    /// How long the check took, where that was measured.
    microseconds: u64,
}

/// What a test runner tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Grade {
    Failure,
    Error,
    Skipped,
}

#[derive(Debug, Serialize, Deserialize)]
struct Wrong {
    grade: Grade,
    kind: String,
    message: String,
    text: String,
}

impl Suites {
    /// Adds a launch.
    pub fn add(&mut self, case: &Case<'_>, allow_bounded: bool) {
        let name = match case.outcome.launch.name.as_str() {
            "default" => case.kernel.name.clone(),
            launch => format!("{} ({launch})", case.kernel.name),
        };
        let verdict = case.outcome.told(case.outcome.verdict);
        let wrong = match verdict {
            Verdict::Violated if case.standing.passes(case.outcome, allow_bounded) => {
                let codes = codes(case);
                let message = format!(
                    "known: {}, listed in {}",
                    codes.join(", "),
                    case.standing.baseline.unwrap_or_default()
                );
                let kind = codes.first().copied().unwrap_or("violated").to_owned();
                Some(Wrong { grade: Grade::Skipped, kind, message, text: String::new() })
            }
            _ if case.standing.passes(case.outcome, allow_bounded) => None,
            Verdict::Violated => {
                let mut text = super::condition::condition(case, Style::PLAIN);
                text += &diagnostic::findings(case, false, Style::PLAIN);
                let kind = codes(case).first().copied().unwrap_or("violated").to_owned();
                Some(Wrong { grade: Grade::Failure, kind, message: headline(case), text })
            }
            Verdict::Proved | Verdict::ProvedUpToBound | Verdict::Vacuous | Verdict::Inconclusive => {
                let remarks = remarks(case);
                let kind = remarks.iter().find_map(|remark| remark.code).unwrap_or("inconclusive").to_owned();
                let texts: Vec<String> = remarks.into_iter().map(|remark| remark.text).collect();
                let message = verdict.name().replace('_', " ");
                Some(Wrong { grade: Grade::Error, kind, message, text: texts.join("\n") })
            }
        };
        let microseconds = case.outcome.statistics.microseconds.iter().map(|(_, taken)| taken).sum();
        self.cases.push(TestCase { file: case.file.to_owned(), name, wrong, microseconds });
    }

    /// Adds a file that was rejected.
    pub fn reject(&mut self, sources: &SourceMap, file: &str, errors: &[Diagnostic]) {
        let drawn: Vec<String> =
            errors.iter().map(|error| diagnostic::input_error(sources, error, Style::PLAIN)).collect();
        let message = errors.first().map_or("rejected", |error| error.message.as_str());
        let kind = errors.first().map_or("rejected", |error| error.code);
        self.wrong(file, "", kind, message, drawn.join("\n"));
    }

    /// Adds something that was not checked; `name` is empty if it is the whole file.
    pub fn refuse(&mut self, file: &str, name: &str, code: &str, reason: &str) {
        let kind = if code.is_empty() { "internal error" } else { code };
        self.wrong(file, name, kind, reason, String::new());
    }

    /// Adds warnings, as what the suite of the file has printed.
    pub fn warn(&mut self, sources: &SourceMap, file: &str, warnings: &[Warning]) {
        if !warnings.is_empty() {
            self.warnings.push((file.to_owned(), super::warning::pretty(sources, warnings, Style::PLAIN)));
        }
    }

    /// Adds all of another run.
    pub fn extend(&mut self, other: Self) {
        self.warnings.extend(other.warnings);
        self.cases.extend(other.cases);
    }

    /// The document.
    pub fn text(&self) -> String {
        let mut files: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !files.contains(&case.file.as_str()) {
                files.push(&case.file);
            }
        }
        let all: Vec<&TestCase> = self.cases.iter().collect();
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fencepost\" {}>\n",
            counts(&all)
        );
        for file in files {
            let own: Vec<&TestCase> = self.cases.iter().filter(|case| case.file == file).collect();
            text += &format!("  <testsuite name=\"{}\" {}>\n", escaped(file), counts(&own));
            own.iter().for_each(|case| text += &test_case(case));
            for (_, printed) in self.warnings.iter().filter(|(of, _)| of == file) {
                text += &format!("    <system-out>{}</system-out>\n", escaped(printed));
            }
            text += "  </testsuite>\n";
        }
        text + "</testsuites>\n"
    }

    fn wrong(&mut self, file: &str, name: &str, kind: &str, message: &str, text: String) {
        let wrong = Wrong { grade: Grade::Error, kind: kind.to_owned(), message: message.to_owned(), text };
        let name = if name.is_empty() { file } else { name };
        self.cases.push(TestCase {
            file: file.to_owned(),
            name: name.to_owned(),
            wrong: Some(wrong),
            microseconds: 0,
        });
    }
}

fn test_case(case: &TestCase) -> String {
    let head = format!(
        "    <testcase name=\"{}\" classname=\"{}\"{}",
        escaped(&case.name),
        escaped(&case.file),
        time(case.microseconds)
    );
    let Some(wrong) = &case.wrong else { return format!("{head}/>\n") };
    let element = match wrong.grade {
        Grade::Failure => "failure",
        Grade::Error => "error",
        Grade::Skipped => {
            let message = escaped(&wrong.message);
            return format!("{head}>\n      <skipped message=\"{message}\"/>\n    </testcase>\n");
        }
    };
    format!(
        "{head}>\n      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n    </testcase>\n",
        escaped(&wrong.kind),
        escaped(&wrong.message),
        escaped(&wrong.text)
    )
}

fn counts(cases: &[&TestCase]) -> String {
    let of = |grade: Grade| {
        let wrong = cases.iter().filter_map(|case| case.wrong.as_ref());
        wrong.filter(|wrong| wrong.grade == grade).count()
    };
    let skipped = match of(Grade::Skipped) {
        0 => String::new(),
        n => format!(" skipped=\"{n}\""),
    };
    let taken = time(cases.iter().map(|case| case.microseconds).sum());
    let (failures, errors) = (of(Grade::Failure), of(Grade::Error));
    format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"{skipped}{taken}", cases.len())
}

/// An attribute with seconds; none where nobody has measured any.
fn time(microseconds: u64) -> String {
    match microseconds {
        0 => String::new(),
        _ => format!(" time=\"{}.{:06}\"", microseconds / 1_000_000, microseconds % 1_000_000),
    }
}

/// The codes of all findings, each once.
fn codes(case: &Case<'_>) -> Vec<&'static str> {
    let mut codes: Vec<&str> = Vec::new();
    for explanation in case.explanations {
        if !codes.contains(&explanation.code) {
            codes.push(explanation.code);
        }
    }
    codes
}

/// What runners show of a failure: the first finding that is not known, and how many there are.
fn headline(case: &Case<'_>) -> String {
    let findings = json::findings(case);
    let new: Vec<&FindingReport> = findings.iter().filter(|finding| !finding.known).collect();
    match new.as_slice() {
        [] => "violated".to_owned(),
        [only] => only.message.clone(),
        [first, others @ ..] => format!("{} (and {} more)", first.message, others.len()),
    }
}
