//! `fencepost compare`: what the synchronization of one kernel has and that of another lacks.

use super::Status;
use super::arguments::{CompareFormat, CompareOptions};
use super::new::harness;
use super::output::Output;
use fencepost::compare::{Comparison, Refusal, Side, compare};
use fencepost::parallel::on_large_stack;
use fencepost::paths::Input;
use fencepost::report::compare::{Named, json, text};
use fencepost::report::{Style, diagnostic, summary};
use fencepost::tasks;
use fencepost::unroll::UnrollError;
use fencepost::verdict::Limit;
use fencepost::work::Allowance;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{Diagnostic, SourceMap, litmus};
use std::path::Path;

/// Compares the kernels and says in what they differ.
pub fn run(options: &CompareOptions, output: &mut Output) -> Status {
    let styles = (output.style, output.error_style);
    let done =
        on_large_stack(|| done(options, styles)).unwrap_or_else(|panic| Err((Status::Internal, panic)));
    match done {
        Ok((agrees, text)) => {
            output.print(&text);
            if agrees { Status::Fine } else { Status::Violated }
        }
        Err((status, text)) => {
            output.complain(&format!("{}\n", text.trim_end()));
            status
        }
    }
}

/// A file of the command line, read.
struct Read {
    name: String,
    sources: SourceMap,
    program: Program,
}

type Failed = (Status, String);

fn done(options: &CompareOptions, (style, error_style): (Style, Style)) -> Result<(bool, String), Failed> {
    let mut known = vec![false; options.define.len()];
    let left = read(&options.left, options, &mut known, error_style)?;
    let right = read(&options.right, options, &mut known, error_style)?;
    if let Some((at, _)) = known.iter().enumerate().find(|&(_, &known)| !known) {
        let name = &options.define[at].0;
        return Err(rejected(format!("-D {name}: neither file has a constant or a parameter of this name")));
    }
    let (of_left, of_right) = (
        (options.entry.as_deref(), options.launch.as_deref(), "--entry"),
        (
            options.against.as_deref(),
            options.against_launch.as_deref().or(options.launch.as_deref()),
            "--against",
        ),
    );
    let (ours, our_launch) = chosen(&left, of_left)?;
    let (theirs, their_launch) = chosen(&right, of_right)?;
    let steps = options.budget.saturating_mul(1_000_000);
    let allowance = Allowance::of_steps(steps);
    let found = {
        let of = |program, kernel, launch| Side {
            program,
            kernel,
            launch,
            unroll: options.unroll,
            max_events: options.max_events,
        };
        let (ours, theirs) =
            (of(&left.program, ours, &our_launch), of(&right.program, theirs, &their_launch));
        compare(&ours, &theirs, &allowance)
    };
    let found: Comparison = found.map_err(|refusal| {
        let (is_first, why) = match refusal {
            Refusal::TooLong(is_first, n) => (is_first, Err(format!("a thread executes {n} operations that synchronize\n  compare fewer rounds, or a smaller `--unroll`"))),
            Refusal::Unroll(is_first, error) => (is_first, Ok(error)),
        };
        let read = if is_first { &left } else { &right };
        match why {
            Ok(UnrollError::Unsupported(error)) => {
                (Status::Rejected, diagnostic::input_error(&read.sources, &error, error_style))
            }
            Ok(UnrollError::TooLarge { limit, value, .. }) => {
                let (what, knob) = summary::stopped(&Limit::Unroll { what: limit, limit: value });
                (Status::Undecided, format!("{}: inconclusive: {what}; {knob}", read.name))
            }
            Ok(UnrollError::Stopped(_)) => {
                let (what, knob) = summary::stopped(&Limit::Budget { limit: steps });
                (Status::Undecided, format!("{}: inconclusive: {what}; {knob}", read.name))
            }
            Err(why) => (Status::Undecided, format!("{}: inconclusive: {why}", read.name)),
        }
    })?;
    let ours =
        Named { sources: &left.sources, file: &left.name, kernel: &ours.name, launch: &our_launch.name };
    let theirs = Named {
        sources: &right.sources,
        file: &right.name,
        kernel: &theirs.name,
        launch: &their_launch.name,
    };
    let said = match options.format {
        CompareFormat::Pretty => text(&found, &ours, &theirs, style),
        CompareFormat::Json => json(&found, &ours, &theirs),
    };
    Ok((found.agrees(), said))
}

fn rejected(reason: String) -> Failed {
    (Status::Rejected, format!("error: {reason}"))
}

/// Reads a kernel file, a litmus test, or a PTX module, for which a kernel file is made up. What is defined on the command line
/// is for whichever file knows it.
fn read(path: &Path, options: &CompareOptions, known: &mut [bool], style: Style) -> Result<Read, Failed> {
    let input = Input::named(path);
    let mut sources = SourceMap::default();
    let draw = |sources: &SourceMap, errors: &[Diagnostic]| {
        let drawn: Vec<String> =
            errors.iter().map(|error| diagnostic::input_error(sources, error, style)).collect();
        (Status::Rejected, drawn.join("\n"))
    };
    let is_module = path.extension().is_some_and(|ending| ending == "ptx");
    let name = input.name.clone();
    if input.is_litmus() {
        let program = litmus::load(&mut sources, &name, &mut |path| input.read(path));
        return program
            .map(|program| Read { name, sources: sources.clone(), program })
            .map_err(|errors| draw(&sources, &errors));
    }
    let whole = if is_module {
        let text = input.read(&input.name).map_err(|reason| rejected(format!("{name}: {reason}")))?;
        let file = path.file_name().map_or_else(|| name.clone(), |file| file.to_string_lossy().into_owned());
        // The right side's kernel is named by another option.
        let entry = if path == options.left { &options.entry } else { &options.against };
        let source = harness::Source { path: &file, text: &text };
        let made = harness::of_module(&source, entry.as_deref()).map_err(rejected)?;
        Some((format!("{name}.fence"), made))
    } else {
        None
    };
    let start = whole.as_ref().map_or(name.as_str(), |(start, _)| start.as_str());
    let mut defines: Vec<usize> = (0..options.define.len()).collect();
    loop {
        let mut from = |asked: &str| match &whole {
            Some((start, text)) if asked == start => Ok(text.clone()),
            _ => input.read(asked),
        };
        let given = defines.iter().map(|&at| options.define[at].clone()).collect();
        sources = SourceMap::default();
        match load(&mut sources, start, &mut from, &LoadOptions { defines: given, target: None }) {
            Ok(program) => {
                defines.iter().for_each(|&at| known[at] = true);
                return Ok(Read { name, sources, program });
            }
            Err(errors) => {
                let unknown = |at: usize| {
                    let quoted = format!("`-D {}=", options.define[at].0);
                    let is_it = |error: &Diagnostic| {
                        error.code == "resolve::unknown-define" && error.message.contains(&quoted)
                    };
                    errors.iter().any(is_it)
                };
                let before = defines.len();
                defines.retain(|&at| !unknown(at));
                if defines.len() == before {
                    return Err(draw(&sources, &errors));
                }
            }
        }
    }
}

/// The kernel and the launch that are meant.
fn chosen<'r>(
    read: &'r Read,
    (kernel, launch, option): (Option<&str>, Option<&str>, &str),
) -> Result<(&'r Kernel, Launch), Failed> {
    let all =
        || read.program.kernels.iter().filter(|kernel| !kernel.is_program).chain(read.program.parts.iter());
    let names = || all().map(|kernel| format!("`{}`", kernel.name)).collect::<Vec<_>>().join(", ");
    let mut wanted = all().filter(|own| kernel.is_none_or(|name| own.name == name));
    let name = &read.name;
    let found = match (wanted.next(), wanted.next(), kernel) {
        (Some(found), None, _) | (Some(found), _, Some(_)) => found,
        (Some(_), Some(_), None) => {
            return Err(rejected(format!(
                "{name} has several kernels: {}\n  name one with `{option}`",
                names()
            )));
        }
        (None, _, Some(wanted)) => {
            return Err(rejected(format!("{name} has no kernel `{wanted}`; it has {}", names())));
        }
        (None, _, None) => return Err(rejected(format!("{name}: there is no kernel in it"))),
    };
    let mut launches =
        tasks::launches(found, launch).map_err(|reason| rejected(format!("{name}: --launch: {reason}")))?;
    if launches.is_empty() {
        // One name is meant for whichever of the two has such a launch.
        launches = found.launches.clone();
    }
    match launches.into_iter().next() {
        Some(launch) => Ok((found, launch)),
        None => Err(rejected(format!("{name}: `{}` has no launch", found.name))),
    }
}
