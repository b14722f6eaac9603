//! A kernel as PTX, and in a program that runs it.

use crate::arguments::EmitOptions;
use crate::load;
use fencepost::check::{CheckError, UNROLL_MAX, check};
use fencepost::stress::Stress;
use fencepost::tasks;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use fencepost_dsl::kernel::{Assembled, Purpose, assemble};
use fencepost_dsl::{Diagnostic, SourceMap, Span};

/// Why there is no module.
pub enum NoModule {
    /// What was asked for is not there.
    Asked(String),
    /// PTX cannot say it.
    Unsupported(Vec<Diagnostic>),
    /// A bug of ours.
    Internal(String),
}

/// The kernel that is meant, and its launch.
fn chosen<'p>(
    options: &EmitOptions,
    name: &str,
    program: &'p Program,
) -> Result<(&'p Kernel, Launch), NoModule> {
    let all = || program.kernels.iter().chain(program.parts.iter());
    let names = || all().map(|kernel| format!("`{}`", kernel.name)).collect::<Vec<_>>().join(", ");
    let mut wanted =
        all().filter(|kernel| options.kernel.as_ref().is_none_or(|wanted| kernel.name == *wanted));
    let kernel = match (wanted.next(), wanted.next(), &options.kernel) {
        (Some(kernel), None, _) | (Some(kernel), _, Some(_)) => kernel,
        (Some(kernel), Some(_), None) if kernel.is_program => kernel,
        (Some(_), Some(_), None) => {
            let reason = format!("{name} has several kernels: {}\n  name one with `--kernel`", names());
            return Err(NoModule::Asked(reason));
        }
        (None, _, Some(wanted)) => {
            return Err(NoModule::Asked(format!("{name} has no kernel `{wanted}`; it has {}", names())));
        }
        (None, _, None) => return Err(NoModule::Asked(format!("{name}: there is no kernel in it"))),
    };
    let launches = tasks::launches(kernel, options.launch.as_deref())
        .map_err(|reason| NoModule::Asked(format!("--launch: {reason}")))?;
    match launches.into_iter().next() {
        Some(launch) => Ok((kernel, launch)),
        None => {
            let wanted = options.launch.as_deref().unwrap_or_default();
            Err(NoModule::Asked(format!("--launch: `{}` has no launch `{wanted}`", kernel.name)))
        }
    }
}

fn module(
    program: &Program,
    (kernel, launch): (&Kernel, &Launch),
    purpose: Purpose,
    sources: &SourceMap,
) -> Result<Assembled, NoModule> {
    let line = |span: Span| Some((sources.file(span.file).name.clone(), sources.line_column(span).line));
    assemble(program, kernel, launch, (purpose, &line)).map_err(NoModule::Unsupported)
}

/// The kernel that is meant as a PTX module, with what is said of it to whoever launches it.
pub fn ptx(
    options: &EmitOptions,
    file: &str,
    program: &Program,
    sources: &SourceMap,
) -> Result<String, NoModule> {
    let (kernel, launch) = chosen(options, file, program)?;
    let made = module(program, (kernel, &launch), Purpose::Kernel, sources)?;
    let harness: String = made.harness.lines().map(|line| format!("// {line}\n")).collect();
    Ok(format!(
        "// `{}` of {file}, for one launch. It is read again by a kernel file that says\n//\n{harness}\n{}",
        made.entry, made.text
    ))
}

/// A program that runs the kernel on a GPU and looks for what a check finds.
pub fn cuda(
    options: &EmitOptions,
    file: &str,
    (program, model): (&Program, &MemoryModel),
    sources: &SourceMap,
) -> Result<String, NoModule> {
    let (kernel, launch) = chosen(options, file, program)?;
    let module = module(program, (kernel, &launch), Purpose::Stress, sources)?;
    if module.parameters.iter().any(Option::is_none) {
        let reason = format!("`{}` takes a tensor map, which this program does not make", kernel.name);
        return Err(NoModule::Asked(reason));
    }
    let config = load::config(&options.program, UNROLL_MAX);
    let outcome = match check(program, kernel, &launch, model, &config) {
        Ok(outcome) => Some(outcome),
        Err(CheckError::Unsupported(error)) => return Err(NoModule::Unsupported(vec![*error])),
        Err(error) => return Err(NoModule::Internal(error.to_string())),
    };
    let outcome = outcome.as_ref();
    Ok(Stress { module: &module, kernel, launch: &launch, outcome, sources, file }.text())
}
