//! `fencepost check`.

use super::arguments::{CheckOptions, Deny, Format};
use super::formats::Report;
use super::graph::{self, Picture};
use super::output::Output;
use super::outside::Solver;
use super::{Status, certificate, load};
use fencepost::check::{CheckError, Config, properties_of, stopped};
use fencepost::encode::Treatment;
use fencepost::examine::{Checked, Examination};
use fencepost::explain::repair::Texts;
use fencepost::models::{self, Model};
use fencepost::outside::Outside;
use fencepost::parallel::{self, STACK_BYTES, on_large_stack, panic_message};
use fencepost::paths::{self, Input};
use fencepost::report::certificate::{Told, certificate};
use fencepost::report::{Case, diagnostic, summary};
use fencepost::tasks;
use fencepost::verdict::{Limit, Outcome, Verdict};
use fencepost::warn::{self, Seen, Warning};
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::{Diagnostic, SourceMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long past its deadline a check may take to notice it.
const GRACE: Duration = Duration::from_secs(2);

/// One run of `check`.
struct Run<'a> {
    options: &'a CheckOptions,
    output: &'a mut Output,
    report: Report,
    /// By name, as far as they were needed.
    models: SortedMap<String, Result<Arc<Model>, Arc<Unusable>>>,
    status: Status,
    n_errors: usize,
    n_bad_files: usize,
    verdicts: Vec<Verdict>,
    named_launch_found: bool,
    n_warnings: usize,
    pictures: Vec<Picture>,
    /// Launches of one file that are checked at a time.
    jobs: usize,
}

/// A launch to be checked.
#[derive(Clone, Copy)]
struct Task<'a> {
    program: &'a Arc<Program>,
    kernel: usize,
    launch: &'a Launch,
    model: &'a Arc<Model>,
    options: &'a CheckOptions,
    /// Values of its parameters that are checked at a time.
    jobs: usize,
}

/// A launch that was checked and how long that took, with nothing explained yet; `None` if it overstayed.
type First = Result<Option<(Checked, Duration)>, Failure>;

/// A model that does not load, which has been said on stderr, and why.
struct Unusable {
    sources: SourceMap,
    errors: Vec<Diagnostic>,
}

/// Why a launch has no outcome.
enum Failure {
    Unsupported(Box<Diagnostic>),
    Internal(String),
}

/// Checks everything that was asked for, and says what came of it.
pub fn run(options: &CheckOptions, output: &mut Output) -> Status {
    let (files, bad) = paths::kernel_files(&options.paths);
    let mut run = Run::new(options, output);
    // A model that was asked for must be one, whatever the files are.
    if let Some(name) = &options.program.model
        && let Err(unusable) = run.model(name)
    {
        let all = files.iter().map(|file| &file.name).chain(bad.iter().map(|bad| &bad.path));
        for file in all {
            run.without_model(file, name, &unusable);
        }
        run.end();
        return run.status;
    }
    for bad in &bad {
        run.refuse(&bad.path, "input::unreadable-path", &bad.reason);
    }
    // Without a variant every model that comes along loads. With one that some model does not have, it is said where that
    // model is first needed, which only one file after the other tells.
    let is_sure = options.program.variant.is_empty() || options.program.model.is_some();
    let jobs = if is_sure { options.jobs.unwrap_or_else(parallel::available) } else { 1 };
    if jobs > 1 && files.len() > 1 {
        run.at_a_time(jobs, &files);
    } else {
        run.jobs = jobs;
        files.iter().for_each(|file| run.titled(file, files.len() > 1));
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
            models: SortedMap::new(),
            status: Status::Fine,
            n_errors: 0,
            n_bad_files: 0,
            verdicts: Vec::new(),
            named_launch_found: false,
            n_warnings: 0,
            pictures: Vec::new(),
            jobs: 1,
        }
    }

    /// Several files at a time. What they say comes in their order, as if they were checked one after the other.
    fn at_a_time(&mut self, jobs: usize, files: &[Input]) {
        let (options, models) = (self.options, self.models.clone());
        let (plain, of_file) = (self.output.later(), Mutex::new(models));
        let work = |file: &Input| {
            let mut output = plain.later();
            let models = of_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut run = Run { models, ..Run::new(options, &mut output) };
            run.titled(file, true);
            let Run { models, report, pictures, status, n_errors, n_bad_files, verdicts, .. } = run;
            let (named, counts) = (run.named_launch_found, (n_errors, n_bad_files, run.n_warnings));
            of_file.lock().unwrap_or_else(PoisonError::into_inner).extend(models);
            ((output, report, pictures), status, counts, verdicts, named)
        };
        parallel::in_order(jobs, files, work, |_, (shown, status, counts, verdicts, named)| {
            let (output, report, pictures) = shown;
            self.output.hand_over(output);
            self.report.extend(report);
            self.pictures.extend(pictures);
            // Long runs show what they have.
            self.output.flush();
            self.status = self.status.max(status);
            self.n_errors += counts.0;
            self.n_bad_files += counts.1;
            self.n_warnings += counts.2;
            self.verdicts.extend(verdicts);
            self.named_launch_found |= named;
        });
    }

    /// A file, under its name if it is one of several.
    fn titled(&mut self, file: &Input, has_title: bool) {
        if has_title && self.options.format == Format::Pretty {
            let title = self.output.style.paint("1", &file.name);
            self.output.print(&format!("{title}\n"));
        }
        // Whatever goes wrong with one file, the others are checked.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.file(file))) {
            self.failed(&file.name, "", "", &panic_message(&*panic));
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
    }

    fn file(&mut self, input: &Input) {
        let mut sources = SourceMap::default();
        let options = &self.options.program;
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
            if input.is_named || !is_library() {
                self.refuse(file, "input::no-kernel", "there is no kernel to check");
            }
            return;
        }
        let name = options.model.as_deref().unwrap_or(models::usual(&program)).to_owned();
        let model = match self.model(&name) {
            Ok(model) => model,
            Err(unusable) => return self.without_model(file, &name, &unusable),
        };
        let tasks = match tasks::tasks(&program, self.options.launch.as_deref(), &self.options.property) {
            Ok(tasks) => tasks,
            Err((code, reason)) => {
                let option = code.trim_start_matches("input::");
                return self.refuse(file, code, &format!("--{option}: {reason}"));
            }
        };
        let load_options = LoadOptions { defines: options.define.clone(), target: options.target.clone() };
        // One line per launch has no room for repairs, which take longer than the check.
        let texts = if self.options.format == Format::Brief {
            Texts::default()
        } else {
            Texts::new(&sources, load_options)
        };
        let texts = Arc::new(texts);
        let mut seen = Seen::default();
        if !options.define.is_empty() || self.options.launch.is_some() || !self.options.property.is_empty() {
            // Other runs look at the rest.
            seen.leave_out();
        }
        let task = |(kernel, launch)| Task {
            program: &program,
            kernel,
            launch,
            model: &model,
            options: self.options,
            jobs: (self.jobs / tasks.len().max(1)).max(1),
        };
        let all: Vec<Task<'_>> = tasks.iter().map(|(kernel, launch)| task((*kernel, launch))).collect();
        parallel::in_order(self.jobs, &all, Task::first, |task, first| {
            match self.launch((&sources, &texts), file, task, first) {
                Some(outcome) => seen.add(&program, &sources, task.kernel, &outcome),
                None => seen.leave_out(),
            }
        });
        let has_launch = !tasks.is_empty();
        if !self.options.no_warnings && !input.is_litmus() && has_launch {
            self.warn(&sources, file, &warn::warnings(&sources, &program, &seen));
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
    fn warn(&mut self, sources: &SourceMap, file: &str, warnings: &[Warning]) {
        self.n_warnings += warnings.len();
        self.output.print(&self.report.warnings(sources, file, warnings));
        if self.options.deny == Some(Deny::Warnings) && !warnings.is_empty() {
            self.status = self.status.max(Status::Violated);
        }
    }

    /// The model of that name, loaded once.
    fn model(&mut self, name: &str) -> Result<Arc<Model>, Arc<Unusable>> {
        if let Some(known) = self.models.get(name) {
            return known.clone();
        }
        let mut sources = SourceMap::default();
        let variants = &self.options.program.variant;
        let model = match on_large_stack(|| load::model(&mut sources, name, variants)) {
            Ok(Ok(model)) => Ok(Arc::new(model)),
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
        self.models.insert(name.to_owned(), model.clone());
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
        file: &str,
        task: &Task<'_>,
        first: First,
    ) -> Option<Outcome> {
        let checked = match first {
            Ok(Some(checked)) => task.explained(checked, texts),
            Ok(None) => Ok(None),
            Err(failure) => Err(failure),
        };
        let checked = checked.map(|examined| examined.unwrap_or_else(|| task.stopped()));
        let Task { program, launch, model, .. } = *task;
        let kernel = &program.kernels[task.kernel];
        match checked {
            Ok(Examination { outcome, explanations }) => {
                let case = Case {
                    sources,
                    file,
                    program,
                    kernel,
                    model: &model.name,
                    variants: &self.options.program.variant,
                    outcome: &outcome,
                    explanations: &explanations,
                };
                self.verdicts.push(outcome.told(outcome.verdict));
                self.status = self.status.max(status(&outcome, self.options.allow_bounded));
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
        let config = config(self.options, case.kernel, None);
        let told = Told {
            defines: self.options.program.define.clone(),
            target: self.options.program.target.clone(),
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
        } else if self.verdicts.is_empty() && self.n_errors == 0 && self.status == Status::Fine {
            self.refuse_all("input::no-kernel", "there is no kernel to check");
        }
        if self.options.format == Format::Pretty && !self.verdicts.is_empty() {
            let text = format!("\n{}\n", summary::counts(&self.verdicts, self.n_warnings));
            self.output.print(&text);
        }
        self.end();
        if let Some(file) = &self.options.graph {
            let written = graph::write(file, &self.pictures, self.output);
            self.status = self.status.max(written);
        }
        if self.n_errors > 0 {
            self.output.complain(&format!("{}\n", summary::rejected(self.n_errors, self.n_bad_files)));
        }
        self.status
    }

    /// Writes what is one document for the whole run.
    fn end(&mut self) {
        self.output.print(&self.report.end());
    }

    /// Rejects everything that was named, for one reason.
    fn refuse_all(&mut self, code: &'static str, reason: &str) {
        self.reject(&format!("error: {reason}\n"));
        for path in &self.options.paths {
            self.refused_line(&Input::named(path).name, code, reason);
        }
    }
}

fn status(outcome: &Outcome, allow_bounded: bool) -> Status {
    match outcome.verdict {
        _ if outcome.passes(allow_bounded) => Status::Fine,
        Verdict::Violated => Status::Violated,
        Verdict::Proved | Verdict::ProvedUpToBound | Verdict::Vacuous | Verdict::Inconclusive => {
            Status::Undecided
        }
    }
}

impl Task<'_> {
    fn kernel(&self) -> &Kernel {
        &self.program.kernels[self.kernel]
    }

    /// Checks the launch.
    fn first(&self) -> First {
        let timeout = self.options.timeout.map(Duration::from_secs);
        let config = config(self.options, self.kernel(), timeout);
        let (program, model, launch) =
            (Arc::clone(self.program), Arc::clone(self.model), self.launch.clone());
        let (kernel, jobs, started) = (self.kernel, self.jobs, Instant::now());
        on_own_thread(timeout, move || {
            let of = &program.kernels[kernel];
            let checked = Checked::at_a_time(jobs, &program, of, &launch, &model, &config)?;
            Ok((checked, started.elapsed()))
        })
    }

    /// Explains what was found. The check and this share the time that a launch has.
    fn explained(
        &self,
        (checked, taken): (Checked, Duration),
        texts: &Arc<Texts>,
    ) -> Result<Option<Examination>, Failure> {
        let timeout = self.options.timeout.map(Duration::from_secs);
        let rest = timeout.map(|timeout| timeout.saturating_sub(taken));
        let config = config(self.options, self.kernel(), rest);
        let (program, model, texts) = (Arc::clone(self.program), Arc::clone(self.model), Arc::clone(texts));
        let kernel = self.kernel;
        on_own_thread(rest, move || {
            checked.explained(&texts, &program, &program.kernels[kernel], &model, &config)
        })
    }

    /// What is said of a launch whose time was up.
    fn stopped(&self) -> Examination {
        let config = config(self.options, self.kernel(), None);
        let (model, unroll) = (&self.model.resolved, config.unroll);
        let outcome = stopped(self.kernel(), self.launch, Limit::Deadline, model, &config, unroll);
        Examination { outcome, explanations: Vec::new() }
    }
}

/// Does something on a thread of its own, and gives up on the thread if it overstays: then there is nothing to return.
fn on_own_thread<T: Send + 'static>(
    timeout: Option<Duration>,
    work: impl FnOnce() -> Result<T, CheckError> + Send + 'static,
) -> Result<Option<T>, Failure> {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            Err(CheckError::SelfCheck { pass: "check", message: panic_message(&*panic) })
        });
        // The receiver is gone if the time was up.
        let _ = sender.send(result);
    };
    if let Err(error) = thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        return Err(Failure::Internal(format!("no thread could be started: {error}")));
    }
    let received = match timeout {
        Some(timeout) => receiver.recv_timeout(timeout + GRACE),
        None => receiver.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
    };
    match received {
        Ok(Ok(done)) => Ok(Some(done)),
        Ok(Err(CheckError::Unsupported(error))) => Err(Failure::Unsupported(error)),
        Ok(Err(error @ CheckError::SelfCheck { .. })) => Err(Failure::Internal(error.to_string())),
        Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Err(Failure::Internal("a check ended without a word".to_owned()))
        }
    }
}

/// Its timeout begins now.
fn config(options: &CheckOptions, kernel: &Kernel, timeout: Option<Duration>) -> Config {
    Config {
        properties: properties_of(kernel, &options.property),
        is_asked_by_name: !options.property.is_empty(),
        treatment: options.without.iter().copied().fold(Treatment::DEFAULT, Treatment::and),
        follow: options.self_check,
        record: options.certificate.is_some(),
        outside: options.solver_command.as_deref().map(|command| {
            let solver: Arc<dyn Outside> = Arc::new(Solver::new(command, options.solver_seconds));
            solver
        }),
        ..load::config(&options.program, options.unroll_max, timeout)
    }
}
