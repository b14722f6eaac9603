//! `fencepost explain`, of a code or of a rule.

use super::Status;
use super::arguments::ExplainOptions;
use super::output::Output;
use crate::{codes, rules};

/// Prints the page of a code or a rule, or the list of codes.
pub fn run(options: &ExplainOptions, output: &mut Output) -> Status {
    let Some(name) = &options.code else {
        output.print(&codes::list());
        return Status::Fine;
    };
    if let Some(rule) = rules::find(name) {
        output.print(&rules::page(&rule));
        return Status::Fine;
    }
    match codes::find(name) {
        Some(code) => {
            output.print(&codes::page(code));
            Status::Fine
        }
        None => {
            let near =
                codes::similar(name).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            output.complain(&format!(
                "error: there is no code or rule `{name}`{near}\n  `fencepost explain` without a name lists all codes\n"
            ));
            Status::Rejected
        }
    }
}
