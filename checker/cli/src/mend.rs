//! `fencepost fix` and `fencepost relax`.

use super::arguments::{MendFormat, MendOptions};
use super::output::Output;
use super::{Status, load, settings};
use fencepost::check::CheckError;
use fencepost::explain::repair::Texts;
use fencepost::mend::fix::{Fix, fix};
use fencepost::mend::relax::{Relax, relax};
use fencepost::mend::{Progress, Setting, diff};
use fencepost::models::{self, Model};
use fencepost::parallel::on_large_stack;
use fencepost::paths::{self, Input};
use fencepost::report::{Style, diagnostic, json, mend};
use fencepost::verdict::Verdict;
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::{Diagnostic, SourceMap};
use std::io::{self, IsTerminal, Write};

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Task {
    /// Mend what is violated.
    Fix,
    /// Say what is needed.
    Relax,
}

/// What a file came to: what to print, and the texts to write, if they differ.
struct Done {
    status: Status,
    text: String,
    after: Option<Texts>,
}

/// Why there is nothing to say of a file.
enum Refused {
    /// It has errors.
    Errors(SourceMap, Vec<Diagnostic>),
    /// It is not for this.
    Other(&'static str, String),
    /// A bug of ours.
    Internal(String),
}

/// Works on each file that was named.
pub fn run(task: Task, options: &MendOptions, output: &mut Output) -> Status {
    let (mut files, bad) = paths::kernel_files(&options.paths);
    // Litmus tests have columns, which no change is made for; those that a folder merely contains are passed over.
    files.retain(|file| !file.is_litmus() || file.is_named);
    let mut status = Status::Fine;
    for bad in &bad {
        status = status.max(refuse(options, output, &bad.path, "input::unreadable-path", &bad.reason));
    }
    for file in &files {
        let mut own = options.clone();
        match settings::project_of(&options.config, file) {
            Ok(None) => {}
            Ok(Some(project)) => {
                own.program.under(&project);
                own.unroll_max =
                    own.program.given.or("unroll_max", own.unroll_max, project.settings.unroll_max);
            }
            Err(broken) => {
                for error in &broken.errors {
                    let style = output.error_style;
                    output.complain(&format!("{}\n", diagnostic::input_error(&broken.sources, error, style)));
                }
                status = status.max(refuse(options, output, &file.name, broken.code, &broken.message));
                continue;
            }
        }
        status = status.max(one(task, &own, file, output));
        output.flush();
    }
    status
}

fn refuse(
    options: &MendOptions,
    output: &mut Output,
    file: &str,
    code: &'static str,
    reason: &str,
) -> Status {
    output.complain(&format!("error: {file}: {reason}\n"));
    if options.format == MendFormat::Json {
        output.print(&format!("{}\n", json::refused(file, code, reason, None)));
    }
    Status::Rejected
}

fn one(task: Task, options: &MendOptions, file: &Input, output: &mut Output) -> Status {
    let name = file.name.as_str();
    let shows = io::stderr().is_terminal();
    let style = output.style;
    let worked = on_large_stack(|| work(task, options, file, style, shows));
    if shows {
        // The line of the progress.
        let _ = write!(io::stderr(), "\r\u{1b}[K");
    }
    let done = match worked.unwrap_or_else(|panic| Err(Refused::Internal(panic))) {
        Ok(done) => done,
        Err(Refused::Errors(sources, errors)) => {
            let style = output.error_style;
            for error in &errors {
                output.complain(&format!("{}\n", diagnostic::input_error(&sources, error, style)));
            }
            if options.format == MendFormat::Json {
                output.print(&format!("{}\n", json::rejected(&sources, name, &errors)));
            }
            return Status::Rejected;
        }
        Err(Refused::Other(code, reason)) => return refuse(options, output, name, code, &reason),
        Err(Refused::Internal(message)) => {
            if options.format == MendFormat::Json {
                output.print(&format!("{}\n", json::failed(name, "", "", &message)));
            }
            return super::check::internal(output, &format!("{name}: {message}"));
        }
    };
    output.print(&done.text);
    let Some(after) = done.after.filter(|_| options.write) else { return done.status };
    match write(file, after.sources()) {
        Ok(()) => done.status,
        Err(reason) => {
            output.complain(&format!("error: {name}: not written: {reason}\n"));
            Status::Rejected
        }
    }
}

fn work(task: Task, options: &MendOptions, file: &Input, style: Style, shows: bool) -> Result<Done, Refused> {
    let mut sources = SourceMap::default();
    let name = file.name.as_str();
    if file.is_litmus() {
        let reason = "litmus tests are checked and not changed; write the shape as a kernel".to_owned();
        return Err(Refused::Other("input::property", reason));
    }
    if options.write && file.is_stdin() {
        let reason = "`--write` needs a file; standard input has none".to_owned();
        return Err(Refused::Other("input::unreadable-path", reason));
    }
    let program = match load::program(&mut sources, file, &options.program) {
        Ok(program) => program,
        Err(errors) => return Err(Refused::Errors(sources, errors)),
    };
    if program.kernels.is_empty() {
        return Err(Refused::Other("input::no-kernel", "there is no kernel to check".to_owned()));
    }
    let model = model(options, models::usual(&program))?;
    let load_options =
        LoadOptions { defines: options.program.define.clone(), target: options.program.target.clone() };
    let texts = Texts::new(&sources, load_options);
    let config = load::config(&options.program, options.unroll_max);
    let progress = |next: Progress| {
        let text = match next {
            Progress::First { launch, n_launches } => {
                format!("launch {launch} of {n_launches} without a change")
            }
            Progress::Try { n_tried, hundredths } => format!("{n_tried} tried, {hundredths}% of the budget"),
        };
        // Nobody misses a line that could not be written.
        let _ = write!(io::stderr(), "\r{name}: {text}\u{1b}[K");
    };
    let setting =
        Setting { model: &model, config: &config, progress: if shows { Some(&progress) } else { None } };
    let failed = |error: CheckError| match error {
        CheckError::Unsupported(error) => Refused::Errors(sources.clone(), vec![*error]),
        error @ CheckError::SelfCheck { .. } => Refused::Internal(error.to_string()),
    };
    match task {
        Task::Fix => {
            let found = fix(&texts, setting).map_err(failed)?;
            Ok(fixed(options, name, &sources, &found, style))
        }
        Task::Relax => {
            let found = relax(&texts, setting).map_err(failed)?;
            Ok(relaxed(options, name, &sources, found, style))
        }
    }
}

fn fixed(options: &MendOptions, name: &str, sources: &SourceMap, found: &Fix, style: Style) -> Done {
    let bounded = |within_bound: bool| {
        if within_bound && !options.allow_bounded { Status::Undecided } else { Status::Fine }
    };
    let (status, after) = match found {
        Fix::Nothing { within_bound } => (bounded(*within_bound), None),
        Fix::Found(found) => (bounded(found.within_bound), Some(found.after.again())),
        Fix::None(unfixed) if unfixed.is_violated => (Status::Violated, None),
        Fix::None(_) => (Status::Undecided, None),
    };
    let text = match options.format {
        MendFormat::Json => format!("{}\n", mend::fix_json(name, sources, found)),
        MendFormat::Pretty => {
            let diff =
                after.as_ref().map_or_else(String::new, |after| diff::unified(sources, after.sources()));
            mend::fixed(name, sources, found, style) + &diff
        }
    };
    Done { status, text, after }
}

fn relaxed(options: &MendOptions, name: &str, sources: &SourceMap, found: Relax, style: Style) -> Done {
    match found {
        Relax::Unproved(failures) => {
            let is_violated = failures.iter().any(|failure| failure.outcome.verdict == Verdict::Violated);
            let status = if is_violated { Status::Violated } else { Status::Undecided };
            let text = match options.format {
                MendFormat::Json => format!("{}\n", mend::relax_json(name, sources, Err(&failures))),
                MendFormat::Pretty => mend::unproved(name, &failures, style),
            };
            Done { status, text, after: None }
        }
        Relax::Done(done) => {
            let is_open = done.is_over || done.within_bound && !options.allow_bounded;
            let status = if is_open { Status::Undecided } else { Status::Fine };
            let text = match options.format {
                MendFormat::Json => format!("{}\n", mend::relax_json(name, sources, Ok(&done))),
                MendFormat::Pretty => {
                    mend::relaxed(name, sources, &done, style) + &diff::unified(sources, done.after.sources())
                }
            };
            let has_changed = !diff::changed(sources, done.after.sources()).is_empty();
            Done { status, text, after: has_changed.then_some(done.after) }
        }
    }
}

fn model(options: &MendOptions, usual: &str) -> Result<Model, Refused> {
    let mut sources = SourceMap::default();
    let name = options.program.model.as_deref().unwrap_or(usual);
    load::model(&mut sources, name, &options.program.variant)
        .map_err(|errors| Refused::Errors(sources, errors))
}

/// Writes the texts that differ from what is on disk.
fn write(file: &Input, after: &SourceMap) -> Result<(), String> {
    for id in after.ids() {
        let source = after.file(id);
        let path = file.resolve(&source.name);
        let before = paths::read(&path)?;
        if before == source.text {
            continue;
        }
        if after.is_compiled(id) {
            return Err(format!("{}: {}", source.name, mend::GENERATED));
        }
        // Such a text was not checked as it is on disk.
        if paths::shown(&before) != before {
            return Err(format!("{} has control characters", source.name));
        }
        std::fs::write(&path, &source.text).map_err(|error| error.to_string())?;
    }
    Ok(())
}
