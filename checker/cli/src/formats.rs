//! What a run of `check` says on standard output, in each of its forms.
//!
//! Some forms say each launch when it is known, others are one document that is written at the end.

use super::arguments::{CheckOptions, Format};
use fencepost::report;
use fencepost::report::junit::Suites;
use fencepost::report::sarif::Log;
use fencepost::report::{Case, Style, github, json, summary, warning};
use fencepost::warn::Warning;
use fencepost_dsl::{Diagnostic, SourceMap};

/// What is collected of a run, and how it is said.
pub struct Report {
    format: Format,
    with_trace: bool,
    allow_bounded: bool,
    style: Style,
    /// Whether what was said last is a line with nothing after it, from which a warning has to be set off.
    is_after_line: bool,
    sarif: Log,
    junit: Suites,
}

impl Report {
    /// Nothing yet.
    pub fn new(options: &CheckOptions, style: Style) -> Self {
        Self {
            format: options.format,
            with_trace: options.trace,
            allow_bounded: options.allow_bounded,
            style,
            is_after_line: false,
            sarif: Log::default(),
            junit: Suites::default(),
        }
    }

    /// What to print of a launch.
    pub fn case(&mut self, case: &Case<'_>) -> String {
        match self.format {
            Format::Pretty => {
                let text = report::text(case, self.with_trace, self.style);
                self.is_after_line = !text.ends_with("\n\n");
                text
            }
            Format::Brief => format!("{}\n", summary::line(case)),
            Format::Json => format!("{}\n", json::report(case)),
            Format::Github => github::annotations(case),
            Format::Sarif => {
                self.sarif.add(case);
                String::new()
            }
            Format::Junit => {
                self.junit.add(case, self.allow_bounded);
                String::new()
            }
        }
    }

    /// What to print of the warnings of a file; one line per launch has no room for them.
    pub fn warnings(&mut self, sources: &SourceMap, file: &str, warnings: &[Warning]) -> String {
        match self.format {
            Format::Brief => return String::new(),
            Format::Pretty => {
                let space = if self.is_after_line && !warnings.is_empty() { "\n" } else { "" };
                self.is_after_line = false;
                return space.to_owned() + &warning::pretty(sources, warnings, self.style);
            }
            Format::Json => return warning::json(sources, file, warnings),
            Format::Github => return warning::github(sources, warnings),
            Format::Sarif => self.sarif.warn(sources, warnings),
            Format::Junit => self.junit.warn(sources, file, warnings),
        }
        String::new()
    }

    /// What to print of a file with errors.
    pub fn rejected(&mut self, sources: &SourceMap, file: &str, errors: &[Diagnostic]) -> String {
        match self.format {
            Format::Pretty => return String::new(),
            Format::Brief => return summary::rejected_file(sources, file, errors),
            Format::Json => return format!("{}\n", json::rejected(sources, file, errors)),
            Format::Github => return github::rejected(sources, errors),
            Format::Sarif => self.sarif.reject(sources, errors),
            Format::Junit => self.junit.reject(sources, file, errors),
        }
        String::new()
    }

    /// What to print of a path that was rejected for what it is, or for the options; with the errors in another text
    /// that are the reason, if there are any.
    pub fn refused(
        &mut self,
        file: &str,
        code: &'static str,
        message: &str,
        reasons: Option<(&SourceMap, &[Diagnostic])>,
    ) -> String {
        match self.format {
            Format::Pretty => return String::new(),
            Format::Brief => return format!("{file}: rejected: {code}: {message}\n"),
            Format::Json => return format!("{}\n", json::refused(file, code, message, reasons)),
            Format::Github => return github::refused(file, code, message),
            Format::Sarif => self.sarif.refuse(file, code, message),
            Format::Junit => self.junit.refuse(file, "", code, message),
        }
        String::new()
    }

    /// What to print of a launch, or of a file, for which a bug of ours leaves no verdict.
    pub fn failed(&mut self, file: &str, kernel: &str, launch: &str, message: &str) -> String {
        match self.format {
            Format::Pretty | Format::Brief => return String::new(),
            Format::Json => return format!("{}\n", json::failed(file, kernel, launch, message)),
            Format::Github => return github::refused(file, "", message),
            Format::Sarif => self.sarif.refuse(file, "", message),
            Format::Junit => self.junit.refuse(file, kernel, "", message),
        }
        String::new()
    }

    /// Adds what another one has collected.
    pub fn extend(&mut self, other: Self) {
        self.sarif.extend(other.sarif);
        self.junit.extend(other.junit);
    }

    /// What to print at the end.
    pub fn end(&self) -> String {
        match self.format {
            Format::Pretty | Format::Brief | Format::Json | Format::Github => String::new(),
            Format::Sarif => self.sarif.text(),
            Format::Junit => self.junit.text(),
        }
    }
}
