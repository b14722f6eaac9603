//! `fencepost explain`, of a code or a group of them, of a rule, of an instruction, or of a file of the library.

use super::Status;
use super::arguments::ExplainOptions;
use super::output::Output;
use fencepost::{codes, instructions, library, rules};
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};

/// Prints the page of a code, a rule or an instruction, a file of the library, or a list.
pub fn run(options: &ExplainOptions, output: &mut Output) -> Status {
    let Some(name) = &options.code else {
        output.print(&codes::list());
        return Status::Fine;
    };
    if name == "lib" {
        output.print(&library::list());
        return Status::Fine;
    }
    if let Some(file) = name.strip_prefix("lib/") {
        return of_library(file, output);
    }
    if let Some(rule) = rules::find(name) {
        output.print(&rules::page(&rule));
        return Status::Fine;
    }
    let page = codes::find(name)
        .map(codes::page)
        .or_else(|| codes::group(name))
        .or_else(|| instructions::page(name));
    match page {
        Some(page) => {
            output.print(&page);
            Status::Fine
        }
        None => {
            if let Some(answer) = of_cuda(name) {
                output.print(&answer);
                return Status::Fine;
            }
            let near = codes::similar(name).map(str::to_owned).or_else(|| rule_without_dash(name));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            output.complain(&format!(
                "error: there is no code, rule or instruction `{name}`{near}\n  `fencepost explain` without a name lists all codes\n"
            ));
            Status::Rejected
        }
    }
}

/// What is written here for a name of CUDA or of a library over it: the answer that a line with it gets.
fn of_cuda(name: &str) -> Option<String> {
    const BEFORE: &str = "kernel k { ";
    if name.contains(['{', '}', ';', '\n']) {
        return None;
    }
    let text = format!("{BEFORE}{name}; }}");
    let mut read = |_: &str| Ok(text.clone());
    let errors = load(&mut SourceMap::default(), "name", &mut read, &LoadOptions::default()).err()?;
    let error = errors.into_iter().find(|error| error.code == "syntax::foreign")?;
    let is_all = error.span().start as usize == BEFORE.len();
    let help = error.help.filter(|_| is_all)?;
    Some(format!("{}: {help}\nIn the book: \"From CUDA to `.fence`\"\n", error.message))
}

/// `MM-36` for `MM36`.
fn rule_without_dash(name: &str) -> Option<String> {
    let at = name.find(|c: char| c.is_ascii_digit())?;
    let dashed = format!("{}-{}", &name[..at], &name[at..]);
    rules::find(&dashed).map(|rule| rule.id.to_owned())
}

/// Prints a file of the library, whose head says what it promises.
fn of_library(file: &str, output: &mut Output) -> Status {
    match library::text(file.strip_suffix(".fence").unwrap_or(file)) {
        Some(text) => {
            output.print(text);
            Status::Fine
        }
        None => {
            output.complain(&format!(
                "error: there is no file `lib/{file}` in the library\n  `fencepost explain lib` lists all\n"
            ));
            Status::Rejected
        }
    }
}
