//! `--format junit`: a document of test suites, one for each file, with a test case for each kernel and launch.
//!
//! Violated is a failure; what is neither proved nor violated, or was not checked, is an error. A proof up to a bound passes
//! where `--allow-bounded` accepts it. Times are left out: the same input gives the same document.

use super::markup::escaped;
use super::remark::remarks;
use super::{Case, Style, diagnostic};
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
}

#[derive(Debug, Serialize, Deserialize)]
struct Wrong {
    is_failure: bool,
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
            _ if case.outcome.passes(allow_bounded) => None,
            Verdict::Violated => {
                let mut codes: Vec<&str> = Vec::new();
                for explanation in case.explanations {
                    if !codes.contains(&explanation.code) {
                        codes.push(explanation.code);
                    }
                }
                let mut text = super::condition::condition(case, Style::PLAIN);
                text += &diagnostic::findings(case, false, Style::PLAIN);
                let kind = codes.first().copied().unwrap_or("violated").to_owned();
                let message = if codes.is_empty() { "violated".to_owned() } else { codes.join(", ") };
                Some(Wrong { is_failure: true, kind, message, text })
            }
            Verdict::Proved | Verdict::ProvedUpToBound | Verdict::Vacuous | Verdict::Inconclusive => {
                let remarks = remarks(case);
                let kind = remarks.iter().find_map(|remark| remark.code).unwrap_or("inconclusive").to_owned();
                let texts: Vec<String> = remarks.into_iter().map(|remark| remark.text).collect();
                let message = verdict.name().replace('_', " ");
                Some(Wrong { is_failure: false, kind, message, text: texts.join("\n") })
            }
        };
        self.cases.push(TestCase { file: case.file.to_owned(), name, wrong });
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
        let wrong = Wrong { is_failure: false, kind: kind.to_owned(), message: message.to_owned(), text };
        let name = if name.is_empty() { file } else { name };
        self.cases.push(TestCase { file: file.to_owned(), name: name.to_owned(), wrong: Some(wrong) });
    }
}

fn test_case(case: &TestCase) -> String {
    let head =
        format!("    <testcase name=\"{}\" classname=\"{}\"", escaped(&case.name), escaped(&case.file));
    let Some(wrong) = &case.wrong else { return format!("{head}/>\n") };
    let element = if wrong.is_failure { "failure" } else { "error" };
    format!(
        "{head}>\n      <{element} type=\"{}\" message=\"{}\">{}</{element}>\n    </testcase>\n",
        escaped(&wrong.kind),
        escaped(&wrong.message),
        escaped(&wrong.text)
    )
}

fn counts(cases: &[&TestCase]) -> String {
    let of = |is_failure: bool| {
        let wrong = cases.iter().filter_map(|case| case.wrong.as_ref());
        wrong.filter(|wrong| wrong.is_failure == is_failure).count()
    };
    format!("tests=\"{}\" failures=\"{}\" errors=\"{}\"", cases.len(), of(true), of(false))
}
