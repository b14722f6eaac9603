//! A check from a text to its report.

use super::examined::Examined;
use super::input::InputError;
use super::options::Options;
use super::report::Report;
use super::source::Source;
use crate::check::CheckError;
use crate::examine::Checked;
use crate::explain::repair::Texts;
use crate::models::{self, Model};
use crate::parallel::{self, on_large_stack};
use crate::warn::{self, Seen};
use crate::{paths, tasks};
use fencepost_dsl::kernel::program::{self, Program};
use fencepost_dsl::{Diagnostic, SourceMap, kernel, litmus};

/// Checks every kernel and launch of a file, and says all that `fencepost check` says of it.
///
/// ```
/// use fencepost::{Options, Verdict, check};
///
/// let text = "kernel message {
///     launch { ctas: 2, cooperative: true }
///     global data: u32 = 0;
///     global flag: u32 = 0;
///     if ctaid == 0 {
///         st.weak [data], 42;
///         st.relaxed.gpu [flag], 1;
///     } else {
///         await ld.acquire.gpu [flag] == 1;
///         let v = ld.weak [data];
///     }
/// }";
/// let report = check(text, &Options::default())?;
/// assert_eq!(report.verdict(), Verdict::Violated);
///
/// let finding = report.findings().next().expect("something is violated");
/// assert_eq!(finding.code, "race::uniform");
///
/// // The change that it proposes was checked; made here, it is proved.
/// let mut mended = text.to_owned();
/// for edit in &finding.edits {
///     mended.replace_range(edit.region.bytes.clone(), &edit.text);
/// }
/// assert!(mended.contains("st.release.gpu [flag], 1;"));
/// assert!(check(mended, &Options::default())?.passes());
/// # Ok::<(), fencepost::InputError>(())
/// ```
///
/// # Errors
/// The input cannot be read, or is not well-formed. Limits are no errors but verdicts, and so are launches that do what is
/// not checked: [`Launch::unsupported`](super::Launch::unsupported) says of one what that is.
///
/// # Panics
/// Where Fencepost contradicts itself. That is a bug of its own, and there is no verdict.
pub fn check(source: impl Into<Source>, options: &Options) -> Result<Report, InputError> {
    let source = source.into();
    on_large_stack(|| run(&source, options)).unwrap_or_else(|message| bug(&message))
}

fn bug(message: &str) -> ! {
    panic!(
        "{message}\nthis is a bug of Fencepost, not of the kernel, and there is no verdict; please report it with the input"
    )
}

fn run(source: &Source, options: &Options) -> Result<Report, InputError> {
    let refuse = |code, message: String| InputError::refused(&source.name, code, message);
    let text = source.read(&source.name).map_err(|reason| refuse("input::unreadable-path", reason))?;
    let mut sources = SourceMap::default();
    let program = match load_program(&mut sources, source, text, options) {
        Ok(program) => program,
        Err(errors) => return Err(InputError::rejected(&source.name, sources, errors)),
    };
    if program.kernels.is_empty() {
        return Err(refuse("input::no-kernel", "there is no kernel to check".to_owned()));
    }
    let model = load_model(source, options.model.as_deref().unwrap_or(models::usual(&program)), options)?;
    let tasks = tasks::tasks(&program, options.launch.as_deref(), &options.properties);
    let mut tasks = tasks.map_err(|(code, reason)| refuse(code, reason))?;
    let n_declared = tasks.len();
    if let (Some(project), None) = (&options.project, &options.launch) {
        project.select(&program, &mut tasks);
    }
    if let (Some(name), true) = (&options.launch, tasks.is_empty()) {
        return Err(refuse("input::launch", format!("no kernel has a launch `{}`", paths::shown(name))));
    }
    let examined = examine_all(&sources, &program, tasks, &model, options);
    let mut seen = Seen::default();
    if !options.is_whole() || examined.len() < n_declared {
        seen.leave_out();
    }
    for Examined { kernel, result, .. } in &examined {
        match result {
            Ok(examination) => seen.add(&program, &sources, *kernel, &examination.outcome),
            Err(_) => seen.leave_out(),
        }
    }
    let warnings = if source.is_litmus() { Vec::new() } else { warn::warnings(&sources, &program, &seen) };
    Ok(Report::new(source, sources, program, &model, options, examined, warnings))
}

fn load_program(
    sources: &mut SourceMap,
    source: &Source,
    text: String,
    options: &Options,
) -> Result<Program, Vec<Diagnostic>> {
    // Of what was read there is one version, whatever happens to the file.
    let mut text = Some(text);
    let mut read = |wanted: &str| match text.take_if(|_| wanted == source.name) {
        Some(text) => Ok(text),
        None => source.read(wanted),
    };
    if source.is_litmus() {
        litmus::load(sources, &source.name, &mut read)
    } else {
        kernel::load(sources, &source.name, &mut read, &options.load())
    }
}

fn load_model(source: &Source, name: &str, options: &Options) -> Result<Model, InputError> {
    let mut sources = SourceMap::default();
    let loaded = Model::load(&mut sources, name, &options.variants, &mut |wanted| source.read(wanted));
    loaded.map_err(|errors| {
        let message = format!("the memory model `{}` cannot be used", paths::shown(name));
        InputError::without_model(&source.name, message, sources, errors)
    })
}

fn examine_all(
    sources: &SourceMap,
    program: &Program,
    tasks: Vec<(usize, program::Launch)>,
    model: &Model,
    options: &Options,
) -> Vec<Examined> {
    let texts = if options.repairs { Texts::new(sources, options.load()) } else { Texts::default() };
    let check = |(number, launch): &(usize, program::Launch)| {
        let kernel = &program.kernels[*number];
        Checked::new(program, kernel, launch, model, &options.config(kernel))
    };
    let on_own_stack = |task: &(usize, program::Launch)| match options.jobs {
        1 => check(task),
        _ => on_large_stack(|| check(task)).unwrap_or_else(|message| bug(&message)),
    };
    let mut results = Vec::with_capacity(tasks.len());
    // What mends one launch is tried for the next one: explanations come in order, whoever checks how much at a time.
    parallel::in_order(options.jobs, &tasks, on_own_stack, |(number, _), checked| {
        let kernel = &program.kernels[*number];
        let explain =
            |checked: Checked| checked.explained(&texts, program, kernel, model, &options.config(kernel));
        results.push(match checked.and_then(explain) {
            Ok(examination) => Ok(examination),
            Err(CheckError::Unsupported(error)) => Err(error),
            Err(error @ CheckError::SelfCheck { .. }) => bug(&error.to_string()),
        });
    });
    let examined = tasks.into_iter().zip(results);
    examined.map(|((kernel, launch), result)| Examined { kernel, launch, result }).collect()
}
