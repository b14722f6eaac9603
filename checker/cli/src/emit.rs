//! `fencepost emit`: what the passes make of a file, in stable text.

mod module;

use super::arguments::{Artefact, EmitOptions};
use super::output::Output;
use super::{Status, fmt, load};
use fencepost::check::{Config, Unprepared, artefacts};
use fencepost::models;
use fencepost::parallel::on_large_stack;
use fencepost::paths::Input;
use fencepost::report::{Style, diagnostic, summary};
use fencepost::tasks;
use fencepost::unroll::{UnrollError, UnrollOptions, dump, unroll};
use fencepost::verdict::Limit;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::dump::dump as dump_program;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{Diagnostic, SourceMap, cat};
use module::NoModule;

/// Prints the artefact.
pub fn run(options: &EmitOptions, output: &mut Output) -> Status {
    let style = output.error_style;
    let done = on_large_stack(|| emit(options, style)).unwrap_or_else(|panic| Err((Status::Internal, panic)));
    match done {
        Ok(text) => {
            output.print(&text);
            Status::Fine
        }
        Err((status, text)) => {
            output.complain(&format!("{}\n", text.trim_end()));
            status
        }
    }
}

fn emit(options: &EmitOptions, style: Style) -> Result<String, (Status, String)> {
    let file = Input::named(&options.file);
    let mut sources = SourceMap::default();
    let draw = |sources: &SourceMap, errors: &[Diagnostic]| {
        let drawn: Vec<String> =
            errors.iter().map(|error| diagnostic::input_error(sources, error, style)).collect();
        (Status::Rejected, drawn.join("\n"))
    };
    match options.artefact {
        Artefact::Ast => {
            let text = file
                .read(&file.name)
                .map_err(|reason| (Status::Rejected, format!("error: {}: {reason}", file.name)))?;
            fmt::in_layout(&file.name, &text)
        }
        Artefact::Model => load::model(&mut sources, &file.name, &options.program.variant)
            .map(|model| cat::dump(&model.resolved))
            .map_err(|errors| draw(&sources, &errors)),
        Artefact::Program => load::program(&mut sources, &file, &options.program)
            .map(|program| dump_program(&program))
            .map_err(|errors| draw(&sources, &errors)),
        Artefact::Ptx | Artefact::Cuda => {
            let program = load::program(&mut sources, &file, &options.program)
                .map_err(|errors| draw(&sources, &errors))?;
            let name = options.program.model.as_deref().unwrap_or(models::usual(&program));
            let model = load::model(&mut sources, name, &options.program.variant)
                .map_err(|errors| draw(&sources, &errors))?;
            let made = if options.artefact == Artefact::Ptx {
                module::ptx(options, &file.name, &program, &sources)
            } else {
                module::cuda(options, &file.name, (&program, &model.resolved), &sources)
            };
            made.map_err(|failure| match failure {
                NoModule::Asked(reason) => (Status::Rejected, format!("error: {reason}")),
                NoModule::Unsupported(errors) => draw(&sources, &errors),
                NoModule::Internal(message) => (Status::Internal, format!("internal error: {message}")),
            })
        }
        Artefact::Events | Artefact::Bounds | Artefact::Cnf => {
            let program = load::program(&mut sources, &file, &options.program)
                .map_err(|errors| draw(&sources, &errors))?;
            if program.kernels.is_empty() {
                let reason =
                    format!("error: {}: there is no kernel in it, so there is nothing to print", file.name);
                return Err((Status::Rejected, reason));
            }
            let name = options.program.model.as_deref().unwrap_or(models::usual(&program));
            let model = load::model(&mut sources, name, &options.program.variant)
                .map_err(|errors| draw(&sources, &errors))?;
            graphs(options, &program, &model.resolved).map_err(|failure| match failure {
                Failure::Unsupported(error) => draw(&sources, &[error]),
                Failure::Launch(reason) => (Status::Rejected, format!("error: --launch: {reason}")),
                Failure::Internal(message) => (Status::Internal, format!("internal error: {message}")),
                Failure::Stopped(kernel, limit) => {
                    let (what, knob) = summary::stopped(&limit);
                    (Status::Undecided, format!("{kernel}: inconclusive: {what}; {knob}"))
                }
            })
        }
    }
}

enum Failure {
    Unsupported(Diagnostic),
    Launch(String),
    Internal(String),
    /// At this kernel.
    Stopped(String, Limit),
}

fn graphs(options: &EmitOptions, program: &Program, model: &MemoryModel) -> Result<String, Failure> {
    let config = load::config(&options.program, options.program.unroll);
    let mut text = String::new();
    for kernel in &program.kernels {
        let launches = tasks::launches(kernel, options.launch.as_deref()).map_err(Failure::Launch)?;
        for launch in &launches {
            let allowance = config.allowance();
            let unrolling = UnrollOptions {
                bound: options.program.unroll,
                max_events: options.program.max_events,
                allowance: allowance.clone(),
                // Whether somebody waits for ever is a goal like others.
                hangs: options.goal,
                ..UnrollOptions::of_model(model)
            };
            let stopped = |limit| Failure::Stopped(kernel.name.clone(), limit);
            let graph = unroll(program, kernel, launch, &unrolling).map_err(|error| match error {
                UnrollError::Unsupported(error) => Failure::Unsupported(error),
                UnrollError::TooLarge { limit, value, .. } => {
                    stopped(Limit::Unroll { what: limit, limit: value })
                }
                UnrollError::Stopped(_) => stopped(Limit::Budget { limit: config.budget }),
            })?;
            let rest = Config { budget: allowance.left(), ..config.clone() };
            let title = format!("kernel {} launch {}", kernel.name, launch.name);
            let passes = |graph| {
                artefacts(graph, model, &rest).map_err(|error| match error {
                    Unprepared::Limit(Limit::Budget { .. }) => {
                        stopped(Limit::Budget { limit: config.budget })
                    }
                    Unprepared::Limit(limit) => stopped(limit),
                    Unprepared::Unfollowed(unfollowed) => Failure::Internal(unfollowed.to_string()),
                })
            };
            text += &match options.artefact {
                Artefact::Bounds => format!("{title}\n{}", passes(graph)?.bounds),
                Artefact::Cnf if options.goal => format!("c {title}\n{}", passes(graph)?.cnf_with_goal),
                Artefact::Cnf => format!("c {title}\n{}", passes(graph)?.cnf),
                _ => {
                    format!("{title}\n{}", dump(&graph))
                }
            };
        }
    }
    match &options.launch {
        Some(wanted) if text.is_empty() => Err(Failure::Launch(format!("no kernel has a launch `{wanted}`"))),
        _ => Ok(text),
    }
}
