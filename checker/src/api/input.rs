//! Why an input was not checked.

use super::finding::{Region, region_of};
use crate::report::{Style, diagnostic, json};
use fencepost_dsl::{Diagnostic, SourceMap};
use std::fmt;

/// Why an input was not checked. `Display`, and `Debug` with it, show what the command line shows, so that a test that
/// unwraps one is readable.
pub struct InputError {
    file: String,
    reason: Box<Reason>,
}

enum Reason {
    /// Of texts of the program.
    Rejected { sources: SourceMap, errors: Vec<Diagnostic> },
    /// Of the path, or of the options.
    Refused { code: &'static str, message: String },
    /// Of texts of the memory model.
    Model { message: String, sources: SourceMap, errors: Vec<Diagnostic> },
}

/// One thing that is wrong with an input.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct InputProblem {
    /// Its kind, such as `syntax::unexpected-token`.
    pub code: &'static str,
    /// One line that says what is wrong.
    pub message: String,
    /// Where; none where it is not about a text.
    pub region: Option<Region>,
    /// Ids of the rules that it breaks.
    pub rules: Vec<&'static str>,
    /// What to do about it.
    pub help: Option<String>,
}

impl InputError {
    pub(super) fn rejected(file: &str, sources: SourceMap, errors: Vec<Diagnostic>) -> Self {
        Self { file: file.to_owned(), reason: Box::new(Reason::Rejected { sources, errors }) }
    }

    pub(super) fn refused(file: &str, code: &'static str, message: String) -> Self {
        Self { file: file.to_owned(), reason: Box::new(Reason::Refused { code, message }) }
    }

    pub(super) fn without_model(
        file: &str,
        message: String,
        sources: SourceMap,
        errors: Vec<Diagnostic>,
    ) -> Self {
        Self { file: file.to_owned(), reason: Box::new(Reason::Model { message, sources, errors }) }
    }

    /// What is wrong, in the order of the text.
    pub fn problems(&self) -> Vec<InputProblem> {
        match &*self.reason {
            Reason::Rejected { sources, errors } | Reason::Model { sources, errors, .. } => {
                errors.iter().map(|error| problem(sources, error)).collect()
            }
            Reason::Refused { code, message } => vec![InputProblem {
                code,
                message: message.clone(),
                region: None,
                rules: Vec::new(),
                help: None,
            }],
        }
    }

    /// For people, as the command line shows it.
    pub fn to_text(&self, style: Style) -> String {
        match &*self.reason {
            Reason::Rejected { sources, errors } | Reason::Model { sources, errors, .. } => errors
                .iter()
                .map(|error| format!("{}\n", diagnostic::input_error(sources, error, style)))
                .collect(),
            Reason::Refused { message, .. } => format!("error: {}: {message}\n", self.file),
        }
    }

    /// The line of `--format json`, with a line feed.
    pub fn to_json(&self) -> String {
        let line = match &*self.reason {
            Reason::Rejected { sources, errors } => json::rejected(sources, &self.file, errors),
            Reason::Refused { code, message } => json::refused(&self.file, code, message, None),
            Reason::Model { message, sources, errors } => {
                json::refused(&self.file, "input::model", message, Some((sources, errors)))
            }
        };
        line + "\n"
    }
}

pub(super) fn problem(sources: &SourceMap, error: &Diagnostic) -> InputProblem {
    InputProblem {
        code: error.code,
        message: error.message.clone(),
        region: Some(region_of(sources, error.span())),
        rules: error.rules.clone(),
        help: error.help.clone(),
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text(Style::PLAIN).trim_end())
    }
}

impl fmt::Debug for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the input was rejected\n{self}")
    }
}

impl std::error::Error for InputError {}
