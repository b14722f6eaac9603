//! Warnings, in every form of a report that has room for them.

use super::case::Style;
use super::diagnostic;
use super::github::command;
use super::json::{SCHEMA, line};
use super::place::{Position, position};
use crate::warn::Warning;
use fencepost_dsl::SourceMap;
use serde::Serialize;

/// For people.
pub fn pretty(sources: &SourceMap, warnings: &[Warning], style: Style) -> String {
    warnings
        .iter()
        .map(|warning| format!("{}\n", diagnostic::drawn_warning(sources, warning, style)))
        .collect()
}

#[derive(Serialize)]
struct WarningReport<'a> {
    schema: &'static str,
    file: &'a str,
    warning: &'static str,
    message: &'a str,
    at: Position,
    help: &'static str,
}

/// A line for each.
pub fn json(sources: &SourceMap, file: &str, warnings: &[Warning]) -> String {
    let report = |warning: &Warning| {
        let at = position(sources, warning.span);
        let (message, help) = (warning.message.as_str(), warning.help);
        let report = WarningReport { schema: SCHEMA, file, warning: warning.kind.code, message, at, help };
        format!("{}\n", line(&report))
    };
    warnings.iter().map(report).collect()
}

/// Annotations.
pub fn github(sources: &SourceMap, warnings: &[Warning]) -> String {
    let annotation = |warning: &Warning| {
        let at = position(sources, warning.span);
        let text = format!("{}\nhelp: {}", warning.message, warning.help);
        command("warning", Some(&at), warning.kind.code, &text)
    };
    warnings.iter().map(annotation).collect()
}
