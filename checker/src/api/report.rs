//! What a check has found out, as values and in each form of `fencepost check`.

use super::examined::Examined;
use super::finding::{Finding, Region, findings, region_of};
use super::input::{InputProblem, problem};
use super::options::Options;
use super::source::Source;
use crate::findings::Property;
use crate::models::Model;
use crate::report::junit::Suites;
use crate::report::sarif::Log;
use crate::report::{Case, Standing, Style, diagnostic, github, json, picture, summary, warning};
use crate::verdict::Verdict;
use crate::warn;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{Diagnostic, SourceMap};
use std::fmt;

/// What a check has found out about a file: a verdict for each kernel and launch, with what was found.
///
/// The forms are those of `fencepost check --format …`, and the same bytes, but for times, of which there are none here. Those for
/// people also have what the command writes to standard error, of launches that do what is not checked.
pub struct Report {
    sources: SourceMap,
    file: String,
    program: Program,
    model: String,
    variants: Vec<String>,
    allow_bounded: bool,
    examined: Vec<Examined>,
    found: Vec<warn::Warning>,
    launches: Vec<Launch>,
    warnings: Vec<Warning>,
}

/// A kernel and launch, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Launch {
    /// The kernel, or the program.
    pub kernel: String,
    /// The launch; `default` where it has no name.
    pub name: String,
    /// The worst of the properties' verdicts; [`Verdict::Inconclusive`] where something is not supported.
    pub verdict: Verdict,
    /// What it does that is not checked. Then nothing else is known of it.
    pub unsupported: Option<InputProblem>,
    /// Each property that was checked.
    pub properties: Vec<(Property, Verdict)>,
    /// Violations, one per pair of places in the text.
    pub findings: Vec<Finding>,
    /// Whether there may be more of them.
    pub more_findings: bool,
    /// The loop bound used; 0 where something is not supported.
    pub unroll: u32,
    /// Loops that can run past it.
    pub open_loops: Vec<Region>,
    /// Of a litmus test: whether its condition holds; none where that is open, or was not asked.
    pub condition: Option<bool>,
    /// What the verdict takes for granted, and what keeps it from being another one.
    pub notes: Vec<String>,
}

/// What is likely a mistake in the file and breaks no property.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Warning {
    /// Its kind, such as `warning::unused-let`.
    pub code: &'static str,
    /// Where.
    pub region: Region,
    /// One line that says what it is.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

impl Report {
    pub(super) fn new(
        source: &Source,
        sources: SourceMap,
        program: Program,
        model: &Model,
        options: &Options,
        examined: Vec<Examined>,
        found: Vec<warn::Warning>,
    ) -> Self {
        let mut report = Self {
            sources,
            file: source.name.clone(),
            program,
            model: model.name.clone(),
            variants: options.variants.clone(),
            allow_bounded: options.allow_bounded,
            examined,
            found,
            launches: Vec::new(),
            warnings: Vec::new(),
        };
        report.launches = report.examined.iter().map(|examined| report.launch(examined)).collect();
        report.warnings = report.found.iter().map(|found| report.warning(found)).collect();
        report
    }

    /// The worst verdict of all launches; [`Verdict::Vacuous`] where there is none.
    pub fn verdict(&self) -> Verdict {
        self.launches.iter().map(|launch| launch.verdict).max().unwrap_or(Verdict::Vacuous)
    }

    /// Whether everything is proved; with [`Options::allow_bounded`], if only up to the bound, as long as something gets to
    /// its end within that.
    pub fn passes(&self) -> bool {
        let passes = |examined: &Examined| {
            examined.result.as_ref().is_ok_and(|examination| examination.outcome.passes(self.allow_bounded))
        };
        !self.examined.is_empty() && self.examined.iter().all(passes)
    }

    /// Each kernel and launch, in the order of the file.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// The findings of all launches.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.launches.iter().flat_map(|launch| &launch.findings)
    }

    /// Warnings, in the order of the text.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The name of the memory model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// For people: what `fencepost check` prints of one file.
    pub fn to_text(&self, style: Style) -> String {
        self.pretty(false, style)
    }

    /// The same, with the execution of each finding, step by step: `--trace`.
    pub fn to_text_with_traces(&self, style: Style) -> String {
        self.pretty(true, style)
    }

    /// A line per kernel and launch: `--format brief`.
    pub fn to_brief(&self) -> String {
        let rejected =
            |error: &_| summary::rejected_file(&self.sources, &self.file, std::slice::from_ref(error));
        self.each(|case| format!("{}\n", summary::line(&case)), rejected)
    }

    /// A line of JSON per kernel and launch, and one per warning: `--format json`.
    pub fn to_json(&self) -> String {
        let rejected =
            |error: &_| json::rejected(&self.sources, &self.file, std::slice::from_ref(error)) + "\n";
        let launches = self.each(|case| json::report(&case) + "\n", rejected);
        launches + &warning::json(&self.sources, &self.file, &self.found)
    }

    /// A SARIF 2.1.0 log: `--format sarif`.
    pub fn to_sarif(&self) -> String {
        let mut log = Log::default();
        for examined in &self.examined {
            match self.case(examined) {
                Ok(case) => log.add(&case),
                Err(error) => log.reject(&self.sources, std::slice::from_ref(error)),
            }
        }
        log.warn(&self.sources, &self.found);
        log.text()
    }

    /// Annotations for GitHub: `--format github`.
    pub fn to_github(&self) -> String {
        let rejected = |error: &_| github::rejected(&self.sources, std::slice::from_ref(error));
        let launches = self.each(|case| github::annotations(&case), rejected);
        launches + &warning::github(&self.sources, &self.found)
    }

    /// A JUnit document: `--format junit`.
    pub fn to_junit(&self) -> String {
        let mut suites = Suites::default();
        for examined in &self.examined {
            match self.case(examined) {
                Ok(case) => suites.add(&case, self.allow_bounded),
                Err(error) => suites.reject(&self.sources, &self.file, std::slice::from_ref(error)),
            }
        }
        suites.warn(&self.sources, &self.file, &self.found);
        suites.text()
    }

    /// A page with the execution of each finding, drawn: `--graph FILE.html`. None where nothing was found.
    pub fn to_html(&self) -> Option<String> {
        let cases = self.examined.iter().filter_map(|examined| self.case(examined).ok());
        let drawn = cases.map(|case| picture::sections(&case, &picture::stories(&case, usize::MAX)));
        let drawn: Vec<Vec<String>> = drawn.filter(|sections| !sections.is_empty()).collect();
        let title = match drawn.len() {
            0 => return None,
            1 => format!("Fencepost: {}", self.file),
            n => format!("Fencepost: {n} launches"),
        };
        Some(picture::html::page(&title, &drawn.concat()))
    }

    fn pretty(&self, with_traces: bool, style: Style) -> String {
        let mut text = self
            .each(|case| crate::report::text(&case, with_traces, style), |error| self.error(error, style));
        if !self.found.is_empty() && !text.ends_with("\n\n") {
            text.push('\n');
        }
        text += &warning::pretty(&self.sources, &self.found, style);
        let checked = self.launches.iter().filter(|launch| launch.unsupported.is_none());
        let verdicts: Vec<Verdict> = checked.map(|launch| launch.verdict).collect();
        let n_errors = self.launches.len() - verdicts.len();
        if !verdicts.is_empty() || n_errors == 0 {
            text += &format!("\n{}\n", summary::counts(&verdicts, self.found.len()));
        }
        if n_errors > 0 {
            text += &format!("{}\n", summary::rejected(n_errors, 1));
        }
        text
    }

    /// What is said of each launch, one after the other.
    fn each(
        &self,
        checked: impl Fn(Case<'_>) -> String,
        unsupported: impl Fn(&Diagnostic) -> String,
    ) -> String {
        let said = self.examined.iter().map(|examined| match self.case(examined) {
            Ok(case) => checked(case),
            Err(error) => unsupported(error),
        });
        said.collect()
    }

    fn error(&self, error: &Diagnostic, style: Style) -> String {
        format!("{}\n", diagnostic::input_error(&self.sources, error, style))
    }

    /// What there is to say of a launch, or what it does that is not checked.
    fn case<'a>(&'a self, examined: &'a Examined) -> Result<Case<'a>, &'a Diagnostic> {
        let examination = examined.result.as_ref().map_err(|error| &**error)?;
        Ok(Case {
            sources: &self.sources,
            file: &self.file,
            program: &self.program,
            kernel: &self.program.kernels[examined.kernel],
            model: &self.model,
            variants: &self.variants,
            outcome: &examination.outcome,
            explanations: &examination.explanations,
            standing: Standing::default(),
        })
    }

    fn launch(&self, examined: &Examined) -> Launch {
        match self.case(examined) {
            Ok(case) => launch(&case),
            Err(error) => Launch {
                kernel: self.program.kernels[examined.kernel].name.clone(),
                name: examined.launch.name.clone(),
                verdict: Verdict::Inconclusive,
                unsupported: Some(problem(&self.sources, error)),
                properties: Vec::new(),
                findings: Vec::new(),
                more_findings: false,
                unroll: 0,
                open_loops: Vec::new(),
                condition: None,
                notes: Vec::new(),
            },
        }
    }

    fn warning(&self, found: &warn::Warning) -> Warning {
        Warning {
            code: found.kind.code,
            region: region_of(&self.sources, found.span),
            message: found.message.clone(),
            help: found.help,
        }
    }
}

fn launch(case: &Case<'_>) -> Launch {
    let outcome = case.outcome;
    Launch {
        kernel: case.kernel.name.clone(),
        name: outcome.launch.name.clone(),
        verdict: outcome.told(outcome.verdict),
        unsupported: None,
        properties: outcome
            .properties
            .iter()
            .map(|&(property, verdict)| (property, outcome.told(verdict)))
            .collect(),
        findings: findings(case),
        more_findings: outcome.more_findings,
        unroll: outcome.unroll,
        open_loops: outcome.open_loops.iter().map(|open| region_of(case.sources, open.span)).collect(),
        condition: outcome.condition.as_ref().and_then(|result| result.holds),
        notes: summary::notes(case),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text(Style::PLAIN))
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("file", &self.file)
            .field("model", &self.model)
            .field("launches", &self.launches)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}
