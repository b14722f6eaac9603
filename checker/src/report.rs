//! From facts to what a user reads: diagnostics, summaries, traces, JSON.
//!
//! All wording of findings and verdicts is here and nowhere else. Pure: values in, text out; the command line prints it.

mod advice;
mod calls;
pub mod certificate;
pub mod compare;
mod compiled;
pub(crate) mod condition;
mod deadlock;
pub mod diagnostic;
mod excerpt;
pub mod github;
mod handover;
pub mod json;
pub mod junit;
mod lifetime;
mod markup;
pub mod mend;
mod misuse;
mod multimem;
pub(crate) mod names;
mod operation;
pub mod picture;
mod places;
mod reason;
mod remark;
mod repair;
pub mod run;
pub mod sarif;
mod short;
mod spa;
pub mod standing;
pub mod story;
pub mod summary;
mod table;
mod tensor_memory;
pub mod trace;
pub mod warning;
pub(crate) mod wording;

use crate::explain::{self, Explanation};
use crate::verdict::Outcome;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::{Kernel, Program};
use standing::Standing;

/// One kernel and launch with everything that is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The texts.
    pub sources: &'a SourceMap,
    /// The file as the user named it.
    pub file: &'a str,
    /// All of the file.
    pub program: &'a Program,
    /// The kernel, or the program.
    pub kernel: &'a Kernel,
    /// The memory model's name on the command line.
    pub model: &'a str,
    /// Variants of the model.
    pub variants: &'a [String],
    /// What was found.
    pub outcome: &'a Outcome,
    /// The facts of each finding, in the order of `outcome.findings`.
    pub explanations: &'a [Explanation],
    /// What the project knows of it already.
    pub standing: Standing<'a>,
}

/// How text is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Whether with ANSI colours.
    pub color: bool,
    /// Columns to wrap at.
    pub width: usize,
}

impl Style {
    /// Without colours.
    pub const PLAIN: Self = Self { color: false, width: 100 };

    /// Text in an ANSI style such as `1;31`, if colours are on.
    pub fn paint(self, ansi: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{ansi}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// What is said of a launch to people; with the execution of each finding, if they ask for it.
pub fn text(case: &Case<'_>, with_trace: bool, style: Style) -> String {
    let mut text = condition::condition(case, style);
    if let Some(witness) = case.outcome.condition.as_ref().and_then(|result| result.witness.as_ref())
        && with_trace
    {
        let explanation = explain::condition(&case.outcome.graph, witness);
        text += &format!("{}\n", trace::trace(case, witness, &explanation, style));
    }
    text += &summary::summary(case, style);
    text += &diagnostic::findings(case, with_trace, style);
    text += &standing::text(case, style);
    if !case.outcome.findings.is_empty() {
        text.push('\n');
    }
    text
}

/// `text` broken at blanks into lines of at most `width` columns; words longer than that stay whole.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        let is_full = !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width;
        if is_full {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_at_blanks_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible is", 4), ["incomprehensible", "is"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
