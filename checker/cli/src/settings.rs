//! What applies to a file: the command line, and where that says nothing the file's `fencepost.toml`.

use super::arguments::{CheckOptions, ConfigOptions, Deny, ProgramOptions};
use fencepost::baseline::Baseline;
use fencepost::paths::Input;
use fencepost::project::{Project, Severity, candidates};
use fencepost::report::Case;
use fencepost::report::Standing;
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::{Diagnostic, SourceMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What applies to a file.
#[derive(Clone)]
pub struct Settings {
    /// As if all of it had been on the command line.
    pub options: Arc<CheckOptions>,
    /// The project of the file.
    pub project: Option<Arc<Project>>,
    /// Findings that are known.
    pub baseline: Option<Arc<Baseline>>,
}

/// Settings that cannot be used.
pub struct Broken {
    pub code: &'static str,
    pub message: String,
    pub sources: SourceMap,
    pub errors: Vec<Diagnostic>,
}

impl Settings {
    /// What becomes of a warning.
    pub fn severity(&self, code: &str) -> Severity {
        let own = self.project.as_ref().map_or(Severity::Warn, |project| project.settings.warnings.of(code));
        match own {
            Severity::Warn if self.options.deny == Some(Deny::Warnings) => Severity::Deny,
            other => other,
        }
    }
}

impl Settings {
    /// What is known of a launch: which of its findings are listed, and why its bound is good enough.
    pub fn standing<'s>(&'s self, path: &Path, case: &Case<'_>, known: &'s [bool]) -> Standing<'s> {
        let (kernel, launch, bound) = (&case.kernel.name, &case.outcome.launch.name, case.outcome.unroll);
        let accepted =
            self.project.as_ref().filter(|_| !case.outcome.open_loops.is_empty()).and_then(|project| {
                Some((project.accepts(path, kernel, launch, bound)?, project.name.as_str()))
            });
        Standing { baseline: self.baseline.as_ref().map(|baseline| baseline.name.as_str()), known, accepted }
    }
}

/// The settings of each file, read once for each project.
pub struct Found<'a> {
    options: &'a CheckOptions,
    by_project: SortedMap<PathBuf, Result<Settings, Arc<Broken>>>,
}

impl<'a> Found<'a> {
    /// Of a run with these options.
    pub fn new(options: &'a CheckOptions) -> Self {
        Self { options, by_project: SortedMap::new() }
    }

    /// Those of a file.
    pub fn of(&mut self, input: &Input) -> Result<Settings, Arc<Broken>> {
        let file = match file_of(&self.options.config, &input.path) {
            Ok(file) => file.unwrap_or_default(),
            Err(broken) => return Err(Arc::new(broken)),
        };
        if let Some(known) = self.by_project.get(&file) {
            return known.clone();
        }
        let project = if file.as_os_str().is_empty() { None } else { Some(load(&file)) };
        let settings = project.transpose().and_then(|project| self.settings(project)).map_err(Arc::new);
        self.by_project.insert(file, settings.clone());
        settings
    }

    fn settings(&self, project: Option<Project>) -> Result<Settings, Broken> {
        let mut options = self.options.clone();
        if let Some(project) = &project {
            options.under(project);
        }
        if options.write_baseline && options.baseline.is_none() {
            return Err(Broken {
                code: "input::baseline",
                message: "--write-baseline has no list to write: name it with `--baseline FILE`, or as `baseline` in `fencepost.toml`"
                    .to_owned(),
                sources: SourceMap::default(),
                errors: Vec::new(),
            });
        }
        let baseline = options.baseline.as_deref().map(|path| {
            let read = if options.write_baseline { Baseline::anew(path) } else { Baseline::read(path) };
            read.map_err(|why| Broken {
                code: "input::baseline",
                message: format!(
                    "the list of known findings `{}` cannot be used: {why}{}",
                    path.display(),
                    if path.exists() { "" } else { "; --write-baseline makes one" }
                ),
                sources: SourceMap::default(),
                errors: Vec::new(),
            })
        });
        let baseline = baseline.transpose()?.map(Arc::new);
        Ok(Settings { options: Arc::new(options), project: project.map(Arc::new), baseline })
    }
}

fn load(file: &Path) -> Result<Project, Broken> {
    Project::load(file).map_err(|broken| {
        let (sources, errors) = *broken;
        let name = sources.ids().next().map_or_else(String::new, |id| sources.file(id).name.clone());
        Broken { code: "input::settings", message: format!("`{name}` cannot be used"), sources, errors }
    })
}

/// The `fencepost.toml` that applies to a path, if there is one.
fn file_of(options: &ConfigOptions, path: &Path) -> Result<Option<PathBuf>, Broken> {
    if options.no_config {
        return Ok(None);
    }
    match &options.config {
        Some(file) => Ok(Some(file.clone())),
        None => Ok(candidates(path).into_iter().find(|candidate| candidate.is_file())),
    }
}

/// The project where a command runs.
pub fn here(options: &ConfigOptions) -> Result<Option<Project>, Broken> {
    file_of(options, Path::new("."))?.map(|file| load(&file)).transpose()
}

/// The project of a file.
pub fn project_of(options: &ConfigOptions, input: &Input) -> Result<Option<Project>, Broken> {
    file_of(options, &input.path)?.map(|file| load(&file)).transpose()
}

impl CheckOptions {
    /// Takes over what the project says and the command line does not.
    fn under(&mut self, project: &Project) {
        self.program.under(project);
        let settings = &project.settings;
        if self.property.is_empty() {
            self.property.clone_from(&settings.properties);
        }
        self.unroll_max = self.program.given.or("unroll_max", self.unroll_max, settings.unroll_max);
        if self.baseline.is_none() {
            self.baseline = project.baseline();
        }
    }
}

impl ProgramOptions {
    /// Takes over what the project says and the command line does not.
    pub fn under(&mut self, project: &Project) {
        let settings = &project.settings;
        let given = &self.given;
        self.budget = given.or("budget", self.budget, settings.budget);
        self.unroll = given.or("unroll", self.unroll, settings.unroll);
        self.max_events = given.or("max_events", self.max_events, settings.max_events);
        self.max_clauses = given.or("max_clauses", self.max_clauses, settings.max_clauses);
        // Variants are of a model: who names another one has none of the project's.
        if self.model.is_none() {
            self.model = project.model();
            if self.variant.is_empty() {
                self.variant.clone_from(&settings.variants);
            }
        }
        if self.target.is_none() {
            self.target.clone_from(&settings.target);
        }
    }
}
