//! `fencepost fmt`.

use super::Status;
use super::arguments::FmtOptions;
use super::output::Output;
use fencepost::parallel::on_large_stack;
use fencepost::paths::{self, Input};
use fencepost::report::diagnostic;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{parse, pretty::pretty};

/// Rewrites files in place; files that are already canonical are not touched.
pub fn run(options: &FmtOptions, output: &mut Output) -> Status {
    let (mut files, bad) = paths::kernel_files(&options.paths);
    // Litmus tests have no canonical layout; those that a folder merely contains are passed over.
    files.retain(|file| !file.is_litmus() || file.is_named);
    let mut status = Status::Fine;
    for bad in &bad {
        output.complain(&format!("error: {}: {}\n", bad.path, bad.reason));
        status = Status::Rejected;
    }
    for file in &files {
        let name = &file.name;
        let done = on_large_stack(|| canonical(file)).unwrap_or_else(|panic| Err((Status::Internal, panic)));
        status = status.max(match done {
            Err((status, text)) => {
                output.complain(&format!("error: {name}: {text}\n"));
                status
            }
            Ok((text, canonical)) if text == canonical && (options.check || !file.is_stdin()) => Status::Fine,
            Ok(_) if options.check => {
                output.print(&format!("{name}\n"));
                Status::Violated
            }
            Ok((_, canonical)) if file.is_stdin() => {
                output.print(&canonical);
                Status::Fine
            }
            Ok((_, canonical)) => match std::fs::write(&file.path, canonical) {
                Ok(()) => Status::Fine,
                Err(error) => {
                    output.complain(&format!("error: {name}: {error}\n"));
                    Status::Rejected
                }
            },
        });
    }
    status
}

/// A file's text now, and in the canonical layout.
fn canonical(file: &Input) -> Result<(String, String), (Status, String)> {
    if file.is_litmus() {
        let reason = "`fmt` is for `.fence` files; litmus tests have no canonical layout";
        return Err((Status::Rejected, reason.to_owned()));
    }
    let text = paths::read(&file.path).map_err(|reason| (Status::Rejected, reason))?;
    let canonical = in_layout(&file.name, &text)?;
    Ok((text, canonical))
}

/// The canonical layout of a text.
pub fn in_layout(name: &str, text: &str) -> Result<String, (Status, String)> {
    let rejected = |text: String| (Status::Rejected, text);
    let mut sources = SourceMap::default();
    let id = sources.add(name, text);
    let (tree, errors) = parse(text, id);
    if errors.is_empty() {
        return pretty(&tree).ok_or_else(|| rejected("left as it is: it does not parse".to_owned()));
    }
    // Drawn from a text that can be shown, which has the same errors at places of its own.
    let text = paths::shown(text);
    let id = sources.add(name, text.as_str());
    let drawn: Vec<String> = parse(&text, id)
        .1
        .iter()
        .map(|error| diagnostic::input_error(&sources, error, fencepost::report::Style::PLAIN))
        .collect();
    Err(rejected(format!("left as it is\n{}", drawn.join("\n"))))
}
