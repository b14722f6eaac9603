//! Which kernel and launch a run is of, and why there is none to show.

use crate::check::executions::NoExecution;
use crate::report::summary;
use crate::tasks;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};

/// The kernel and the launch of a file: those that are asked for, or the only kernel (else the only program) and its first
/// launch.
///
/// # Errors
/// What does not suit the file.
pub fn meant<'a>(
    program: &'a Program,
    (entry, launch): (Option<&str>, Option<&str>),
    file: &str,
) -> Result<(&'a Kernel, Launch), String> {
    let names: Vec<&str> = program.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let kernel = match (entry, program.kernels.as_slice()) {
        (Some(name), kernels) => kernels
            .iter()
            .find(|kernel| kernel.name == name)
            .ok_or_else(|| format!("--entry {name}: {file} has no such kernel; it has {}", listed(&names)))?,
        (None, [only]) => only,
        (None, []) => return Err(format!("{file}: there is no kernel in it, so there is nothing to run")),
        // A program says what its kernels are launched for.
        (None, kernels) => {
            let mut programs = kernels.iter().filter(|kernel| kernel.is_program);
            match (programs.next(), programs.next()) {
                (Some(only), None) => only,
                _ => return Err(format!("{file} has several: choose one with --entry: {}", listed(&names))),
            }
        }
    };
    let launches = tasks::launches(kernel, launch).map_err(|reason| format!("--launch: {reason}"))?;
    let first = launches.into_iter().next().ok_or_else(|| {
        let known: Vec<&str> = kernel.launches.iter().map(|launch| launch.name.as_str()).collect();
        let wanted = launch.unwrap_or_default();
        format!("--launch {wanted}: `{}` has no such launch; it has {}", kernel.name, listed(&known))
    })?;
    Ok((kernel, first))
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}

/// Why there is no execution to show, and what to do.
pub fn none(why: &NoExecution, (file, kernel, launch): (&str, &Kernel, &Launch)) -> String {
    let launch = if launch.name == "default" { String::new() } else { format!(" ({})", launch.name) };
    let head = format!("{file}: {}{launch}", kernel.name);
    match why {
        NoExecution::Limit(limit) => {
            let (what, knob) = summary::stopped(limit);
            format!("{head}: no execution was found: {what}\n  {knob}")
        }
        NoExecution::Excluded => format!(
            "{head}: vacuous: no execution satisfies what the program assumes, not even one that stops halfway\n  \
             look at its `assume` statements and at the ranges of its parameters"
        ),
        NoExecution::Error(error) => format!("{head}: {error}"),
    }
}
