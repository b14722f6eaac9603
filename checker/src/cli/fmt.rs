//! `fencepost fmt`.

use super::arguments::FmtOptions;
use super::output::Output;
use super::{Status, load, on_large_stack, paths};
use crate::report::diagnostic;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{parse, pretty::pretty};

/// Rewrites files in place; files that are already canonical are not touched.
pub fn run(options: &FmtOptions, output: &mut Output) -> Status {
    let (mut files, bad) = paths::kernel_files(&options.paths);
    // Litmus tests have no canonical layout; those that a folder merely contains are passed over.
    let is_named = |file: &String| options.paths.iter().any(|path| path.to_string_lossy() == file.as_str());
    files.retain(|file| !file.ends_with(".litmus") || is_named(file));
    let mut status = Status::Fine;
    for bad in &bad {
        output.complain(&format!("error: {}: {}\n", bad.path, bad.reason));
        status = Status::Rejected;
    }
    for file in &files {
        let done = on_large_stack(|| canonical(file)).unwrap_or_else(|panic| Err((Status::Internal, panic)));
        status = status.max(match done {
            Err((status, text)) => {
                output.complain(&format!("error: {file}: {text}\n"));
                status
            }
            Ok((text, canonical)) if text == canonical => Status::Fine,
            Ok(_) if options.check => {
                output.print(&format!("{file}\n"));
                Status::Violated
            }
            Ok((_, canonical)) => match std::fs::write(file, canonical) {
                Ok(()) => Status::Fine,
                Err(error) => {
                    output.complain(&format!("error: {file}: {error}\n"));
                    Status::Rejected
                }
            },
        });
    }
    status
}

/// A file's text now, and in the canonical layout.
pub fn canonical(file: &str) -> Result<(String, String), (Status, String)> {
    let rejected = |text: String| (Status::Rejected, text);
    let text = load::read(file).map_err(rejected)?;
    let mut sources = SourceMap::default();
    let id = sources.add(file, text.as_str());
    let (tree, errors) = parse(&text, id);
    if !errors.is_empty() {
        let drawn: Vec<String> = errors
            .iter()
            .map(|error| diagnostic::input_error(&sources, error, crate::report::Style::PLAIN))
            .collect();
        return Err(rejected(format!("left as it is\n{}", drawn.join("\n"))));
    }
    let canonical = pretty(&tree).ok_or_else(|| rejected("left as it is: it does not parse".to_owned()))?;
    Ok((text, canonical))
}
