//! `fencepost.toml` in an editor: what it sets applies to checks, and what is wrong with it is told.

use fencepost::api::{Finding, Launch, Report, Warning};
use fencepost::baseline::{self, Baseline, Entry};
use fencepost::project::{Project, Severity};
use serde_json::{Value, json};
use std::path::Path;

/// What a project says of a file.
#[derive(Default)]
pub struct Known {
    /// The project, if there is one that can be used.
    pub project: Option<Project>,
    /// What is wrong with its file.
    pub problems: Vec<String>,
    baseline: Option<Baseline>,
}

/// The numbers of the protocol.
pub const ERROR: u8 = 1;
/// See above.
pub const WARNING: u8 = 2;
/// See above.
pub const INFORMATION: u8 = 3;

impl Known {
    /// Of the file of this name. What is on no disk has no project.
    pub fn of(name: &str) -> Self {
        let path = Path::new(name);
        if !path.is_absolute() {
            return Self::default();
        }
        let project = match Project::of(path) {
            Ok(project) => project,
            Err(broken) => {
                let (sources, errors) = *broken;
                let problems = errors.iter().map(|error| {
                    let at = sources.line_column(error.span());
                    let file = &sources.file(error.span().file).name;
                    let help = error.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
                    format!("{file}:{}:{}: {}{help}", at.line, at.column, error.message)
                });
                return Self { problems: problems.collect(), ..Self::default() };
            }
        };
        let listed = project.as_ref().and_then(Project::baseline).map(|path| (Baseline::read(&path), path));
        let (baseline, problems) = match listed {
            None => (None, Vec::new()),
            Some((Ok(baseline), _)) => (Some(baseline), Vec::new()),
            Some((Err(why), path)) => (None, vec![format!("{}: {why}", path.display())]),
        };
        Self { project, problems, baseline }
    }

    /// The diagnostics for what is wrong with the project's file: at the beginning of the text that it applies to.
    pub fn diagnostics(&self) -> impl Iterator<Item = Value> {
        let start = json!({ "line": 0, "character": 0 });
        self.problems.iter().map(move |problem| {
            json!({
                "range": { "start": start, "end": start },
                "severity": ERROR,
                "code": "input::settings",
                "source": "fencepost",
                "message": problem,
            })
        })
    }

    /// How severe a warning is; nothing where it is left out.
    pub fn severity(&self, warning: &Warning) -> Option<u8> {
        let severity =
            self.project.as_ref().map_or(Severity::Warn, |own| own.settings.warnings.of(warning.code));
        match severity {
            Severity::Allow => None,
            Severity::Warn => Some(WARNING),
            Severity::Deny => Some(ERROR),
        }
    }

    /// Which findings of a launch are listed as known.
    pub fn findings(&self, name: &str, launch: &Launch) -> Vec<bool> {
        let Some(baseline) = &self.baseline else { return vec![false; launch.findings.len()] };
        let file = baseline.name_of(Path::new(name));
        let entry = |finding: &Finding| baseline::of_finding(finding, &file, &launch.kernel, &launch.name);
        baseline.known(&launch.findings.iter().map(entry).collect::<Vec<Entry>>())
    }

    /// Why the bound of a launch is good enough, if it is.
    pub fn accepts(&self, name: &str, launch: &Launch) -> Option<String> {
        let project = self.project.as_ref()?;
        let accepted = project.accepts(Path::new(name), &launch.kernel, &launch.name, launch.unroll)?;
        Some(format!("accepted: {} ({}:{})", accepted.reason, project.name, accepted.line))
    }

    /// Warnings that are shown, each with how severe it is.
    pub fn warnings<'r>(&'r self, report: &'r Report) -> impl Iterator<Item = (&'r Warning, u8)> {
        report.warnings().iter().filter_map(|warning| Some((warning, self.severity(warning)?)))
    }
}
