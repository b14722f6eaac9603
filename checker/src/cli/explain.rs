//! `fencepost explain`, of a code or a group of them, of a rule, of an instruction, or of a file of the library.

use super::Status;
use super::arguments::ExplainOptions;
use super::output::Output;
use crate::{codes, instructions, library, rules};

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
            let near =
                codes::similar(name).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            output.complain(&format!(
                "error: there is no code, rule or instruction `{name}`{near}\n  `fencepost explain` without a name lists all codes\n"
            ));
            Status::Rejected
        }
    }
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
