//! `fencepost emit`: what the passes make of a file, in stable text.

use super::arguments::{Artefact, EmitOptions};
use super::output::Output;
use super::{Status, fmt, load, on_large_stack};
use crate::check::{Config, artefacts};
use crate::encode::Treatment;
use crate::report::{Style, diagnostic, summary};
use crate::unroll::{UnrollError, UnrollOptions, dump, unroll};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::dump::dump as dump_program;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{Diagnostic, SourceMap, cat};

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
    let file = options.file.to_string_lossy();
    let mut sources = SourceMap::default();
    let draw = |sources: &SourceMap, errors: &[Diagnostic]| {
        let drawn: Vec<String> =
            errors.iter().map(|error| diagnostic::input_error(sources, error, style)).collect();
        (Status::Rejected, drawn.join("\n"))
    };
    match options.artefact {
        Artefact::Ast => Ok(fmt::canonical(&file)?.1),
        Artefact::Model => load::model(&mut sources, &file, &options.program.variant)
            .map(|model| cat::dump(&model))
            .map_err(|errors| draw(&sources, &errors)),
        Artefact::Program => load::program(&mut sources, &file, &options.program)
            .map(|program| dump_program(&program))
            .map_err(|errors| draw(&sources, &errors)),
        Artefact::Events | Artefact::Bounds | Artefact::Cnf => {
            let program = load::program(&mut sources, &file, &options.program)
                .map_err(|errors| draw(&sources, &errors))?;
            let name = options.program.model.as_deref().unwrap_or(load::default_model(&program));
            let model = load::model(&mut sources, name, &options.program.variant)
                .map_err(|errors| draw(&sources, &errors))?;
            graphs(options, &program, &model).map_err(|error| match error {
                EventsError::Rejected(error) => draw(&sources, &[error]),
                EventsError::Other(text) => (Status::Rejected, text),
            })
        }
    }
}

enum EventsError {
    Rejected(Diagnostic),
    Other(String),
}

fn graphs(options: &EmitOptions, program: &Program, model: &MemoryModel) -> Result<String, EventsError> {
    let unrolling = UnrollOptions {
        bound: options.program.unroll,
        max_events: options.program.max_events,
        ..UnrollOptions::default()
    };
    let mut text = String::new();
    for kernel in &program.kernels {
        let launches = load::launches(kernel, options.program.launch.as_deref())
            .map_err(|reason| EventsError::Other(format!("error: --launch: {reason}")))?;
        for launch in &launches {
            let graph = unroll(program, kernel, launch, &unrolling).map_err(|error| match error {
                UnrollError::Unsupported(error) => EventsError::Rejected(error),
                UnrollError::TooLarge { limit, value, .. } => {
                    EventsError::Other(format!("error: {} has more than {value} {limit}", kernel.name))
                }
            })?;
            let title = format!("kernel {} launch {}", kernel.name, launch.name);
            let limit =
                |limit| EventsError::Other(format!("error: {}: {}", kernel.name, summary::stopped(&limit).0));
            text += &match options.artefact {
                Artefact::Bounds => {
                    format!(
                        "{title}\n{}",
                        artefacts(graph, model, &Config::without_deadline(Treatment::DEFAULT))
                            .map_err(limit)?
                            .bounds
                    )
                }
                Artefact::Cnf => {
                    format!(
                        "c {title}\n{}",
                        artefacts(graph, model, &Config::without_deadline(Treatment::DEFAULT))
                            .map_err(limit)?
                            .cnf
                    )
                }
                Artefact::Ast | Artefact::Program | Artefact::Events | Artefact::Model => {
                    format!("{title}\n{}", dump(&graph))
                }
            };
        }
    }
    Ok(text)
}
