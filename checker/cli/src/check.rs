//! `fencepost check`.

mod again;
mod ended;
mod known;
mod task;

pub use ended::Ended;

use super::arguments::{CheckOptions, Given};
use super::cache::{Cache, Parts};
use super::formats::Report;
use super::graph::{self, Picture};
use super::output::{Output, Piece};
use super::progress::Progress;
use super::settings::{self, Broken, Found, Settings};
use super::{Status, certificate, interrupt, load};
use again::Said;
use fencepost::examine::Examination;
use fencepost::explain::repair::Texts;
use fencepost::models::{self, Model};
use fencepost::parallel::{self, on_large_stack, panic_message};
use fencepost::paths::{self, BadPath, Input};
use fencepost::project::{self, Severity};
use fencepost::report::Standing;
use fencepost::report::certificate::{Told, certificate};
use fencepost::report::{Case, diagnostic, summary};
use fencepost::tasks;
use fencepost::verdict::{Outcome, Verdict};
use fencepost::warn::{self, Seen, Warning};
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::{Diagnostic, SourceMap};
use known::Tallies;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use task::{Failure, First, Task};

/// One run of `check`.
struct Run<'a> {
    options: &'a CheckOptions,
    output: &'a mut Output,
    report: Report,
    /// What applies to the file that is checked now.
    settings: Settings,
    /// What the run is about, where it is refused as a whole.
    inputs: Vec<String>,
    /// What was found, for the lists of known findings.
    tallies: Tallies,
    /// Whether nothing is said that was not said before.
    is_as_before: bool,
    /// By name, as far as they were needed.
    models: SortedMap<String, Result<Loaded, Arc<Unusable>>>,
    status: Status,
    n_errors: usize,
    n_bad_files: usize,
    verdicts: Vec<Verdict>,
    named_launch_found: bool,
    n_warnings: usize,
    pictures: Vec<Picture>,
    /// Launches of one file that are checked at a time.
    jobs: usize,
    /// Where what a file came to is kept.
    cache: Option<Arc<Cache>>,
    progress: Option<Arc<Progress>>,
    is_repeatable: bool,
}

/// A model, and what identifies its text.
#[derive(Clone)]
struct Loaded {
    model: Arc<Model>,
    digest: Arc<str>,
}

/// A model that does not load, which has been said on stderr, and why.
struct Unusable {
    sources: SourceMap,
    errors: Vec<Diagnostic>,
}

/// Checks everything that was asked for, and says what came of it.
pub fn run(options: &CheckOptions, output: &mut Output) -> Status {
    interrupt::listen();
    let paths = match paths_of(options) {
        Ok(paths) => paths,
        Err(broken) => {
            complain_all(&broken.sources, &broken.errors, output);
            let text =
                if broken.errors.is_empty() { format!("error: {}\n", broken.message) } else { String::new() };
            output.complain(&text);
            return Status::Rejected;
        }
    };
    if options.watch {
        return again::run(options, &paths, output);
    }
    let (files, bad) = paths::kernel_files(&paths);
    once(options, &files, &bad, None, output)
}

/// What is checked: what was named, else what the project names.
fn paths_of(options: &CheckOptions) -> Result<Vec<PathBuf>, Broken> {
    if !options.paths.is_empty() {
        return Ok(options.paths.clone());
    }
    if let Some(project) = settings::here(&options.config)? {
        return Ok(project.paths());
    }
    let message = format!(
        "no PATH is given, and there is no `{}` in this folder or above it\n  name what is to be checked, as in `fencepost check \
         kernels`, or write such a file: `paths = [\"kernels\"]`",
        project::FILE
    );
    Err(Broken { code: "input::no-kernel", message, sources: SourceMap::default(), errors: Vec::new() })
}

/// Checks these files, and says what came of it; of a file of which the same was said before, no more than that.
fn once(
    options: &CheckOptions,
    files: &[Input],
    bad: &[BadPath],
    said: Option<&mut Said>,
    output: &mut Output,
) -> Status {
    let progress = Progress::of_run(files.len());
    output.with_progress(progress.clone());
    let cache = options.cache.as_deref().and_then(|folder| match Cache::at(folder) {
        Ok(cache) => Some(Arc::new(cache)),
        Err(why) => {
            output.complain(&format!("warning: nothing is cached: {why}\n"));
            None
        }
    });
    let inputs = files.iter().map(|file| &file.name).chain(bad.iter().map(|bad| &bad.path));
    let mut run = Run { cache, progress, inputs: inputs.cloned().collect(), ..Run::new(options, output) };
    // A model that was asked for must be one, whatever the files are.
    if let Some(name) = &options.program.model
        && let Err(unusable) = run.model(name)
    {
        for file in run.inputs.clone() {
            run.without_model(&file, name, &unusable);
        }
        return run.end();
    }
    for bad in bad {
        run.refuse(&bad.path, "input::unreadable-path", &bad.reason);
    }
    let files = &run.with_settings(files);
    // Without a variant every model that comes along loads. With one that some model does not have, it is said where that
    // model is first needed, which only one file after the other tells.
    let tells =
        |options: &CheckOptions| options.program.variant.is_empty() || options.program.model.is_some();
    let is_sure = files.iter().all(|(_, settings)| tells(&settings.options));
    let jobs = if is_sure { options.jobs.unwrap_or_else(parallel::available) } else { 1 };
    if said.is_some() || jobs > 1 && files.len() > 1 {
        run.at_a_time(jobs, files, said);
    } else {
        run.jobs = jobs;
        for (file, settings) in files {
            run.settings = settings.clone();
            run.titled(file, files.len() > 1);
        }
    }
    run.finish()
}

/// Says that there is a bug of ours.
pub fn internal(output: &mut Output, message: &str) -> Status {
    let text = "this is a bug of Fencepost, not of the kernel, and there is no verdict; please report it with the input";
    output.complain(&format!("internal error: {message}\n  {text}\n"));
    Status::Internal
}

fn complain_all(sources: &SourceMap, errors: &[Diagnostic], output: &mut Output) {
    let style = output.error_style;
    for error in errors {
        output.complain(&format!("{}\n", diagnostic::input_error(sources, error, style)));
    }
}

impl<'a> Run<'a> {
    fn new(options: &'a CheckOptions, output: &'a mut Output) -> Self {
        Self {
            options,
            report: Report::new(options, output.style),
            output,
            settings: Settings { options: Arc::new(options.clone()), project: None, baseline: None },
            inputs: Vec::new(),
            tallies: Tallies::default(),
            is_as_before: false,
            models: SortedMap::new(),
            status: Status::Fine,
            n_errors: 0,
            n_bad_files: 0,
            verdicts: Vec::new(),
            named_launch_found: false,
            n_warnings: 0,
            pictures: Vec::new(),
            jobs: 1,
            cache: None,
            progress: None,
            is_repeatable: true,
        }
    }

    /// Adds what the check of a file came to.
    fn absorb(&mut self, ended: Ended) {
        self.output.hand_over(ended.pieces);
        self.report.extend(ended.kept);
        self.pictures.extend(ended.pictures);
        // Long runs show what they have.
        self.output.flush();
        self.status = self.status.max(ended.status);
        self.n_errors += ended.n_errors;
        self.n_bad_files += ended.n_bad_files;
        self.n_warnings += ended.n_warnings;
        self.verdicts.extend(ended.verdicts);
        self.named_launch_found |= ended.named_launch_found;
        self.is_repeatable &= ended.is_repeatable;
        self.tallies.extend(ended.found);
    }

    /// Each file with what applies to it, but for those of which that cannot be used.
    fn with_settings(&mut self, files: &[Input]) -> Vec<(Input, Settings)> {
        let mut found = Found::new(self.options);
        let mut told: Vec<Arc<Broken>> = Vec::new();
        let mut usable = Vec::with_capacity(files.len());
        for file in files {
            let broken = match found.of(file) {
                Ok(settings) => {
                    usable.push((file.clone(), settings));
                    continue;
                }
                Err(broken) => broken,
            };
            if !told.iter().any(|known| Arc::ptr_eq(known, &broken)) {
                if broken.errors.is_empty() {
                    self.output.complain(&format!("error: {}\n", broken.message));
                }
                complain_all(&broken.sources, &broken.errors, self.output);
                self.n_errors += broken.errors.len().max(1);
                told.push(Arc::clone(&broken));
            }
            self.n_bad_files += 1;
            self.status = self.status.max(Status::Rejected);
            let reasons = (&broken.sources, &broken.errors[..]);
            let reasons = Some(reasons).filter(|(_, errors)| !errors.is_empty());
            self.output.print(&self.report.refused(&file.name, broken.code, &broken.message, reasons));
        }
        for (_, settings) in &usable {
            settings.baseline.iter().for_each(|baseline| self.tallies.hold(baseline));
        }
        let books =
            usable.iter().filter_map(|(_, settings)| settings.project.as_ref()?.settings.book.as_deref());
        if let Some(book) = books.min() {
            self.report.link_to(book);
        }
        usable
    }

    /// What this one came to, once it is over, but for what its output has kept.
    fn ended(self) -> Ended {
        Ended {
            pieces: Vec::new(),
            kept: self.report.into_kept(),
            pictures: self.pictures,
            status: self.status,
            n_errors: self.n_errors,
            n_bad_files: self.n_bad_files,
            n_warnings: self.n_warnings,
            verdicts: self.verdicts,
            named_launch_found: self.named_launch_found,
            is_repeatable: self.is_repeatable,
            found: self.tallies.into_found(),
        }
    }

    /// Several files at a time. What they say comes in their order, as if they were checked one after the other.
    fn at_a_time(&mut self, jobs: usize, files: &[(Input, Settings)], mut said: Option<&mut Said>) {
        let (options, models) = (self.options, self.models.clone());
        let (plain, of_file) = (self.output.later(), Mutex::new(models));
        let (cache, progress) = (self.cache.clone(), self.progress.clone());
        let work = |(file, settings): &(Input, Settings)| {
            let mut output = plain.later();
            let models = of_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (cache, progress) = (cache.clone(), progress.clone());
            let settings = settings.clone();
            let mut run = Run { models, cache, progress, settings, ..Run::new(options, &mut output) };
            run.titled(file, true);
            of_file.lock().unwrap_or_else(PoisonError::into_inner).extend(run.models.clone());
            let ended = run.ended();
            Ended { pieces: output.into_pieces(), ..ended }
        };
        let mut n_same = 0;
        parallel::in_order(jobs, files, work, |(file, _), mut ended| {
            if let Some(said) = &mut said
                && said.is_same(&file.name, &ended.pieces, ended.status)
            {
                ended.pieces = vec![Piece::printed(format!("{}: as before\n", file.name))];
                n_same += 1;
            }
            self.absorb(ended);
        });
        self.is_as_before = n_same == files.len();
    }

    /// A file, under its name if it is one of several.
    fn titled(&mut self, file: &Input, has_title: bool) {
        if has_title {
            self.output.print(&self.report.title(&file.name));
        }
        // Whatever goes wrong with one file, the others are checked.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.file(file))) {
            self.failed(&file.name, "", "", &panic_message(&*panic));
        }
        if let Some(progress) = &self.progress {
            progress.file_done();
        }
    }

    fn reject(&mut self, text: &str) {
        self.output.complain(text);
        self.n_errors += 1;
        self.n_bad_files += 1;
        self.status = self.status.max(Status::Rejected);
    }

    /// Rejects a path for a reason that has no place in a text.
    fn refuse(&mut self, file: &str, code: &'static str, reason: &str) {
        self.reject(&format!("error: {file}: {reason}\n"));
        self.refused_line(file, code, reason);
    }

    fn refused_line(&mut self, file: &str, code: &'static str, reason: &str) {
        self.output.print(&self.report.refused(file, code, reason, None));
    }

    /// The line of a file that was not checked for want of a model.
    fn without_model(&mut self, file: &str, name: &str, unusable: &Unusable) {
        let message = format!("the memory model `{}` cannot be used", paths::shown(name));
        let reasons = (&unusable.sources, &unusable.errors[..]);
        self.output.print(&self.report.refused(file, "input::model", &message, Some(reasons)));
    }

    /// A bug of ours leaves no verdict.
    fn failed(&mut self, file: &str, kernel: &str, launch: &str, message: &str) {
        self.output.print(&self.report.failed(file, kernel, launch, message));
        let place = if kernel.is_empty() {
            format!("{file}: {message}")
        } else {
            format!("{file}: {kernel} (launch {launch}): {message}")
        };
        let status = internal(self.output, &place);
        self.status = self.status.max(status);
        self.is_repeatable = false;
    }

    fn file(&mut self, input: &Input) {
        let mut sources = SourceMap::default();
        let own = Arc::clone(&self.settings.options);
        let options = &own.program;
        let file = input.name.as_str();
        let program = match on_large_stack(|| load::program(&mut sources, input, options)) {
            Ok(Ok(program)) => Arc::new(program),
            Ok(Err(errors)) => return self.rejected(&sources, file, &errors),
            Err(panic) => return self.failed(file, "", "", &panic),
        };
        if program.kernels.is_empty() {
            // What a folder has besides kernels may be there for them to use.
            let is_library =
                || sources.ids().next().is_some_and(|id| !paths::is_blank(&sources.file(id).text));
            let is_wanted = input.is_named && !self.options.allow_no_kernel;
            if is_wanted || !is_library() {
                self.refuse(file, "input::no-kernel", "there is no kernel to check");
            }
            return;
        }
        let name = options.model.as_deref().unwrap_or(models::usual(&program)).to_owned();
        let loaded = match self.model(&name) {
            Ok(loaded) => loaded,
            Err(unusable) => return self.without_model(file, &name, &unusable),
        };
        let Some(cache) = self.cache.clone() else {
            return self.program(input, &sources, &program, &loaded.model);
        };
        let key = Cache::key(self.parts(input, &sources, &loaded));
        match cache.find(&key) {
            Ok(Some(ended)) => return self.absorb(ended),
            Ok(None) => {}
            Err(why) => self.output.complain(&format!("warning: an entry of the cache is not used: {why}\n")),
        }
        let mut output = self.output.later();
        let (jobs, progress) = (self.jobs, self.progress.clone());
        let settings = self.settings.clone();
        let mut run = Run { jobs, progress, settings, ..Run::new(self.options, &mut output) };
        run.program(input, &sources, &program, &loaded.model);
        let ended = run.ended();
        let ended = Ended { pieces: output.into_pieces(), ..ended };
        if ended.is_repeatable
            && let Err(why) = cache.keep(&key, &ended)
        {
            self.output.complain(&format!("warning: a result is not cached: {why}\n"));
        }
        self.absorb(ended);
    }

    /// All that what is said of a file depends on, but for the program that says it.
    fn parts(&self, input: &Input, sources: &SourceMap, loaded: &Loaded) -> Parts {
        let mut parts = Parts::default();
        parts.sources(sources);
        parts.text(&input.name);
        parts.text(&loaded.digest);
        // What the run as a whole is told changes nothing in what is said of one file, nor what its reports are called.
        let own = CheckOptions::clone(&self.settings.options);
        let mut options = CheckOptions { paths: Vec::new(), jobs: None, cache: None, ..own };
        options.timeout = None;
        options.watch = false;
        options.program.given = Given::default();
        for asked in &mut options.format {
            asked.to = asked.to.take().map(|_| PathBuf::new());
        }
        parts.text(&format!("{options:?} {:?} {:?}", self.output.style, self.output.error_style));
        parts.text(&format!("{:?} {:?}", self.settings.project, self.settings.baseline));
        parts.text(if input.is_named { "named" } else { "found" });
        parts
    }

    /// Checks what a file has.
    fn program(&mut self, input: &Input, sources: &SourceMap, program: &Arc<Program>, model: &Arc<Model>) {
        let own = Arc::clone(&self.settings.options);
        let (options, file) = (&own.program, input.name.as_str());
        let mut tasks = match tasks::tasks(program, own.launch.as_deref(), &own.property) {
            Ok(tasks) => tasks,
            Err((code, reason)) => {
                let option = code.trim_start_matches("input::");
                return self.refuse(file, code, &format!("--{option}: {reason}"));
            }
        };
        let load_options = LoadOptions { defines: options.define.clone(), target: options.target.clone() };
        // One line per launch has no room for repairs, which take longer than the check.
        let texts = if self.report.is_brief() { Texts::default() } else { Texts::new(sources, load_options) };
        let texts = Arc::new(texts);
        let mut seen = Seen::default();
        let n_declared = tasks.len();
        if let (Some(project), None) = (&self.settings.project, &own.launch) {
            project.select(program, &mut tasks);
        }
        let is_whole = options.define.is_empty()
            && own.launch.is_none()
            && own.property.is_empty()
            && tasks.len() == n_declared;
        if !is_whole {
            // Other runs look at the rest.
            seen.leave_out();
        }
        let progress = self.progress.clone();
        let task = |(kernel, launch)| Task {
            file,
            path: &input.path,
            program,
            kernel,
            launch,
            model,
            options: &own,
            progress: progress.as_ref(),
            jobs: (self.jobs / tasks.len().max(1)).max(1),
        };
        let all: Vec<Task<'_>> = tasks.iter().map(|(kernel, launch)| task((*kernel, launch))).collect();
        // What the project leaves out is never looked at, so nothing of it is missed.
        let mut is_known_whole =
            options.define.is_empty() && own.launch.is_none() && self.options.property.is_empty();
        parallel::in_order(self.jobs, &all, Task::first, |task, first| {
            match self.launch((sources, &texts), task, first) {
                Some(outcome) => {
                    is_known_whole &= known::is_whole(&outcome);
                    seen.add(program, sources, task.kernel, &outcome);
                }
                None => {
                    is_known_whole = false;
                    seen.leave_out();
                }
            }
        });
        if let (Some(baseline), true) = (&self.settings.baseline, is_known_whole) {
            self.tallies.whole(baseline, &input.path);
        }
        let has_launch = !tasks.is_empty();
        if !self.options.no_warnings && !input.is_litmus() && has_launch {
            self.warn(sources, input, warn::warnings(sources, program, &seen));
        }
        self.named_launch_found |= has_launch;
        if let (Some(launch), true, false) = (&self.options.launch, input.is_named, has_launch) {
            let launches = program.kernels.iter().flat_map(|kernel| &kernel.launches);
            let names: SortedSet<String> = launches.map(|launch| format!("`{}`", launch.name)).collect();
            let names: Vec<String> = names.into_iter().collect();
            let message =
                format!("no kernel has a launch `{}`; there are {}", paths::shown(launch), names.join(", "));
            self.refuse(file, "input::launch", &message);
        }
    }

    /// Warnings change no verdict, and the exit code only if they are denied.
    fn warn(&mut self, sources: &SourceMap, input: &Input, mut warnings: Vec<Warning>) {
        warnings.retain(|warning| self.settings.severity(warning.kind.code) != Severity::Allow);
        self.n_warnings += warnings.len();
        self.output.print(&self.report.warnings(sources, &input.name, &warnings));
        let known = match &self.settings.baseline {
            Some(baseline) => self.tallies.warnings(baseline, &input.path, &warnings),
            None => vec![false; warnings.len()],
        };
        let denied =
            warnings.iter().map(|warning| self.settings.severity(warning.kind.code) == Severity::Deny);
        if denied.zip(known).any(|(is_denied, is_known)| is_denied && !is_known) {
            self.status = self.status.max(Status::Violated);
        }
    }

    /// The model of that name, loaded once.
    fn model(&mut self, name: &str) -> Result<Loaded, Arc<Unusable>> {
        let variants = &self.settings.options.program.variant;
        let key = format!("{name} {}", variants.join(" "));
        if let Some(known) = self.models.get(&key) {
            return known.clone();
        }
        let mut sources = SourceMap::default();
        let model = match on_large_stack(|| load::model(&mut sources, name, variants)) {
            Ok(Ok(model)) => {
                let mut parts = Parts::default();
                parts.sources(&sources);
                Ok(Loaded { model: Arc::new(model), digest: parts.digest().into() })
            }
            Ok(Err(errors)) => {
                complain_all(&sources, &errors, self.output);
                self.n_errors += errors.len();
                self.n_bad_files += 1;
                self.status = self.status.max(Status::Rejected);
                Err(Arc::new(Unusable { sources, errors }))
            }
            Err(panic) => {
                let status = internal(self.output, &panic);
                self.status = self.status.max(status);
                Err(Arc::new(Unusable { sources: SourceMap::default(), errors: Vec::new() }))
            }
        };
        self.models.insert(key, model.clone());
        model
    }

    fn rejected(&mut self, sources: &SourceMap, file: &str, errors: &[Diagnostic]) {
        complain_all(sources, errors, self.output);
        self.output.print(&self.report.rejected(sources, file, errors));
        self.n_errors += errors.len();
        self.n_bad_files += 1;
        self.status = self.status.max(Status::Rejected);
    }

    fn launch(
        &mut self,
        (sources, texts): (&SourceMap, &Arc<Texts>),
        task: &Task<'_>,
        first: First,
    ) -> Option<Outcome> {
        let checked = match first {
            Ok(Some(checked)) => task.explained(checked, texts),
            Ok(None) => Ok(None),
            Err(failure) => Err(failure),
        };
        let checked = checked.map(|examined| examined.unwrap_or_else(|| task.stopped()));
        let Task { file, program, launch, model, .. } = *task;
        let kernel = &program.kernels[task.kernel];
        match checked {
            Ok(Examination { outcome, explanations }) => {
                let settings = self.settings.clone();
                let mut case = Case {
                    sources,
                    file,
                    program,
                    kernel,
                    model: &model.name,
                    variants: &settings.options.program.variant,
                    outcome: &outcome,
                    explanations: &explanations,
                    standing: Standing::default(),
                };
                let known = match &settings.baseline {
                    Some(baseline) => self.tallies.findings(baseline, task.path, &case),
                    None => Vec::new(),
                };
                case.standing = settings.standing(task.path, &case, &known);
                self.verdicts.push(outcome.told(outcome.verdict));
                // What a clock has ended is no matter of the input: a verdict, or a search for what mends.
                self.is_repeatable &= !interrupt::is_wanted() && self.options.timeout.is_none();
                self.status = self.status.max(status(&case, self.options.allow_bounded));
                self.show(&case);
                self.certify(&case, task);
                return Some(outcome);
            }
            Err(Failure::Unsupported(error)) => self.rejected(sources, file, &[*error]),
            Err(Failure::Internal(message)) => self.failed(file, &kernel.name, &launch.name, &message),
        }
        None
    }

    /// Writes a certificate, if they are wanted.
    fn certify(&mut self, case: &Case<'_>, task: &Task<'_>) {
        let Some(under) = &self.options.certificate else { return };
        let config = task.config(None, "");
        let told = Told {
            defines: task.options.program.define.clone(),
            target: task.options.program.target.clone(),
            without: !self.options.without.is_empty(),
        };
        let name = certificate::folder(case.file, &case.kernel.name, &case.outcome.launch.name);
        match certificate(case, task.model, &config, &told) {
            Ok(files) => {
                let status = certificate::write(under, &name, &files, self.output);
                self.status = self.status.max(status);
            }
            Err(why) => self.output.complain(&format!("no certificate `{name}`: {why}\n")),
        }
    }

    fn show(&mut self, case: &Case<'_>) {
        self.output.print(&self.report.case(case));
        if let Some(file) = &self.options.graph {
            self.pictures.extend(graph::draw(file, case));
        }
        if self.options.stats {
            self.output.complain(&summary::statistics(case));
        }
        // Long runs show what they have.
        self.output.flush();
    }

    fn finish(mut self) -> Status {
        if let Some(launch) = &self.options.launch
            && !self.named_launch_found
            && self.n_errors == 0
        {
            let message = format!("no kernel has a launch `{}`", paths::shown(launch));
            self.refuse_all("input::launch", &message);
        } else if self.verdicts.is_empty()
            && self.n_errors == 0
            && self.status == Status::Fine
            && !self.options.watch
            && !self.options.allow_no_kernel
        {
            self.refuse_all("input::no-kernel", "there is no kernel to check");
        }
        if !self.verdicts.is_empty() && !self.is_as_before {
            let counts = summary::counts(&self.verdicts, self.n_warnings);
            let is_told = self.verdicts.iter().any(|verdict| *verdict != Verdict::Proved);
            let is_new = self.options.allow_bounded || !is_told || self.status != Status::Fine;
            self.output.print(&self.report.counts(&counts));
            if !is_new {
                self.output.print(&self.report.remark("nothing new: what was found is known, or accepted"));
            }
        }
        let told = self.tallies.told(self.options.write_baseline, self.output);
        self.status = self.end().max(told);
        if let Some(file) = &self.options.graph {
            let written = graph::write(file, &self.pictures, self.output);
            self.status = self.status.max(written);
        }
        if self.n_errors > 0 {
            self.output.complain(&format!("{}\n", summary::rejected(self.n_errors, self.n_bad_files)));
        }
        self.status
    }

    /// Writes what is one document for the whole run, and what goes to files; how the run has ended with that.
    fn end(&mut self) -> Status {
        self.output.print(&self.report.end());
        let mut status = self.status;
        for (path, text) in self.report.files() {
            if let Err(error) = fs::write(path, text) {
                let path = paths::shown_path(path);
                self.output.complain(&format!("error: `{path}` could not be written: {error}\n"));
                status = Status::Unwritten;
            }
        }
        status
    }

    /// Rejects everything that was named, for one reason.
    fn refuse_all(&mut self, code: &'static str, reason: &str) {
        self.reject(&format!("error: {reason}\n"));
        for name in self.inputs.clone() {
            self.refused_line(&name, code, reason);
        }
    }
}

fn status(case: &Case<'_>, allow_bounded: bool) -> Status {
    match case.outcome.verdict {
        _ if case.standing.passes(case.outcome, allow_bounded) => Status::Fine,
        // What is known is no violation; something else is open.
        Verdict::Violated if (0..case.outcome.findings.len()).all(|number| case.standing.knows(number)) => {
            if case.outcome.findings.is_empty() {
                Status::Violated
            } else {
                Status::Undecided
            }
        }
        Verdict::Violated => Status::Violated,
        Verdict::Proved | Verdict::ProvedUpToBound | Verdict::Vacuous | Verdict::Inconclusive => {
            Status::Undecided
        }
    }
}
