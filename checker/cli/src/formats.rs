//! What a run of `check` says, in each of its forms: one on standard output, others into files of their own.
//!
//! Some forms say each launch when it is known, others are one document that is written at the end.

use super::arguments::{CheckOptions, Format};
use fencepost::report;
use fencepost::report::junit::Suites;
use fencepost::report::sarif::Log;
use fencepost::report::{Case, Style, github, json, summary, warning};
use fencepost::warn::Warning;
use fencepost_dsl::{Diagnostic, SourceMap};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is collected of a run, in all forms that were asked for.
pub struct Report {
    forms: Vec<Form>,
}

/// One of the forms.
struct Form {
    format: Format,
    /// The file it goes to; without one, it goes to standard output.
    to: Option<PathBuf>,
    with_trace: bool,
    allow_bounded: bool,
    style: Style,
    /// Whether what was said last is a line with nothing after it, from which a warning has to be set off.
    is_after_line: bool,
    kept: Kept,
}

/// What a form has collected.
#[derive(Default, Serialize, Deserialize)]
pub struct Kept {
    /// What has been said already, where it goes to a file.
    text: String,
    sarif: Log,
    junit: Suites,
}

impl Report {
    /// Nothing yet.
    pub fn new(options: &CheckOptions, style: Style) -> Self {
        let form = |format: Format, to: Option<&Path>| Form {
            format,
            to: to.map(Path::to_owned),
            with_trace: options.trace,
            allow_bounded: options.allow_bounded,
            // A file is the same whatever terminal the run has.
            style: if to.is_some() { Style::PLAIN } else { style },
            is_after_line: false,
            kept: Kept::default(),
        };
        let mut forms: Vec<Form> =
            options.format.iter().map(|asked| form(asked.format, asked.to.as_deref())).collect();
        if forms.iter().all(|form| form.to.is_some()) {
            forms.insert(0, form(Format::Pretty, None));
        }
        Self { forms }
    }

    /// From now on codes link to their pages in the book that begins at this address, where a form has links.
    pub fn link_to(&mut self, book: &str) {
        self.forms.iter_mut().for_each(|form| form.kept.sarif.link_to(book));
    }

    /// Whether all that is said of a launch is one line.
    pub fn is_brief(&self) -> bool {
        self.forms.iter().all(|form| form.format == Format::Brief)
    }

    /// Lets each form say something; what is for standard output.
    fn each(&mut self, mut say: impl FnMut(&mut Form) -> String) -> String {
        let mut shown = String::new();
        for form in &mut self.forms {
            let text = say(form);
            if form.to.is_some() { form.kept.text += &text } else { shown += &text }
        }
        shown
    }

    /// What to print above what is said of a file that is one of several.
    pub fn title(&mut self, file: &str) -> String {
        self.each(|form| match form.format {
            Format::Pretty => format!("{}\n", form.style.paint("1", file)),
            _ => String::new(),
        })
    }

    /// What to print below everything: how many launches came to what.
    pub fn counts(&mut self, counts: &str) -> String {
        self.each(|form| match form.format {
            Format::Pretty => format!("\n{counts}\n"),
            _ => String::new(),
        })
    }

    /// What to print below that, for people.
    pub fn remark(&mut self, text: &str) -> String {
        self.each(|form| match form.format {
            Format::Pretty => format!("{text}\n"),
            _ => String::new(),
        })
    }

    /// What to print of a launch.
    pub fn case(&mut self, case: &Case<'_>) -> String {
        self.each(|form| form.case(case))
    }

    /// What to print of the warnings of a file; one line per launch has no room for them.
    pub fn warnings(&mut self, sources: &SourceMap, file: &str, warnings: &[Warning]) -> String {
        self.each(|form| form.warnings(sources, file, warnings))
    }

    /// What to print of a file with errors.
    pub fn rejected(&mut self, sources: &SourceMap, file: &str, errors: &[Diagnostic]) -> String {
        self.each(|form| form.rejected(sources, file, errors))
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
        self.each(|form| form.refused(file, code, message, reasons))
    }

    /// What to print of a launch, or of a file, for which a bug of ours leaves no verdict.
    pub fn failed(&mut self, file: &str, kernel: &str, launch: &str, message: &str) -> String {
        self.each(|form| form.failed(file, kernel, launch, message))
    }

    /// What was collected, form by form.
    pub fn into_kept(self) -> Vec<Kept> {
        self.forms.into_iter().map(|form| form.kept).collect()
    }

    /// Adds what a report of the same forms has collected.
    pub fn extend(&mut self, kept: Vec<Kept>) {
        for (form, other) in self.forms.iter_mut().zip(kept) {
            form.kept.text += &other.text;
            form.kept.sarif.extend(other.sarif);
            form.kept.junit.extend(other.junit);
        }
    }

    /// What to print at the end.
    pub fn end(&self) -> String {
        self.forms.iter().filter(|form| form.to.is_none()).map(Form::document).collect()
    }

    /// The files to write at the end.
    pub fn files(&self) -> impl Iterator<Item = (&Path, String)> {
        self.forms.iter().filter_map(|form| {
            let path = form.to.as_deref()?;
            Some((path, form.kept.text.clone() + &form.document()))
        })
    }
}

impl Form {
    fn case(&mut self, case: &Case<'_>) -> String {
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
                self.kept.sarif.add(case);
                String::new()
            }
            Format::Junit => {
                self.kept.junit.add(case, self.allow_bounded);
                String::new()
            }
        }
    }

    fn warnings(&mut self, sources: &SourceMap, file: &str, warnings: &[Warning]) -> String {
        match self.format {
            Format::Brief => return String::new(),
            Format::Pretty => {
                let space = if self.is_after_line && !warnings.is_empty() { "\n" } else { "" };
                self.is_after_line = false;
                return space.to_owned() + &warning::pretty(sources, warnings, self.style);
            }
            Format::Json => return warning::json(sources, file, warnings),
            Format::Github => return warning::github(sources, warnings),
            Format::Sarif => self.kept.sarif.warn(sources, warnings),
            Format::Junit => self.kept.junit.warn(sources, file, warnings),
        }
        String::new()
    }

    fn rejected(&mut self, sources: &SourceMap, file: &str, errors: &[Diagnostic]) -> String {
        match self.format {
            Format::Pretty => return String::new(),
            Format::Brief => return summary::rejected_file(sources, file, errors),
            Format::Json => return format!("{}\n", json::rejected(sources, file, errors)),
            Format::Github => return github::rejected(sources, errors),
            Format::Sarif => self.kept.sarif.reject(sources, errors),
            Format::Junit => self.kept.junit.reject(sources, file, errors),
        }
        String::new()
    }

    fn refused(
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
            Format::Sarif => self.kept.sarif.refuse(file, code, message),
            Format::Junit => self.kept.junit.refuse(file, "", code, message),
        }
        String::new()
    }

    fn failed(&mut self, file: &str, kernel: &str, launch: &str, message: &str) -> String {
        match self.format {
            Format::Pretty | Format::Brief => return String::new(),
            Format::Json => return format!("{}\n", json::failed(file, kernel, launch, message)),
            Format::Github => return github::refused(file, "", message),
            Format::Sarif => self.kept.sarif.refuse(file, "", message),
            Format::Junit => self.kept.junit.refuse(file, kernel, "", message),
        }
        String::new()
    }

    /// The document, of forms that are one.
    fn document(&self) -> String {
        match self.format {
            Format::Pretty | Format::Brief | Format::Json | Format::Github => String::new(),
            Format::Sarif => self.kept.sarif.text(),
            Format::Junit => self.kept.junit.text(),
        }
    }
}
