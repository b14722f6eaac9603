//! What reports are made of, and how text is drawn.

use crate::explain::Explanation;
use crate::project::Accepted;
use crate::verdict::{Outcome, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::{Kernel, Program};

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

/// What is known of a launch; nothing, unless somebody says so.
#[derive(Clone, Copy, Default, Debug)]
pub struct Standing<'a> {
    /// Whether the launch was held against a list of known findings, and what that is called.
    pub baseline: Option<&'a str>,
    /// Of each finding, whether it is listed; none is where this is empty.
    pub known: &'a [bool],
    /// Why a proof of this launch up to the bound is good enough, and the file that says so.
    pub accepted: Option<(&'a Accepted, &'a str)>,
}

impl Standing<'_> {
    /// Whether the finding of this number is listed.
    pub fn knows(&self, number: usize) -> bool {
        self.known.get(number).copied().unwrap_or(false)
    }

    /// Whether all that was found is listed, and nothing else can be wrong.
    pub fn knows_all(&self, outcome: &Outcome) -> bool {
        let n_findings = outcome.findings.len();
        n_findings > 0 && !outcome.more_findings && (0..n_findings).all(|number| self.knows(number))
    }

    /// Whether the run may pass with this launch.
    pub fn passes(&self, outcome: &Outcome, allow_bounded: bool) -> bool {
        let is_bound_fine = allow_bounded || self.accepted.is_some();
        if outcome.verdict == Verdict::Violated && self.knows_all(outcome) {
            let others = outcome.properties.iter().map(|&(_, verdict)| verdict);
            return others.filter(|verdict| *verdict != Verdict::Violated).all(|verdict| match verdict {
                Verdict::Proved | Verdict::Violated => true,
                // Threads that stand still for a known reason get nowhere.
                Verdict::Vacuous => true,
                Verdict::ProvedUpToBound => is_bound_fine,
                Verdict::Inconclusive => false,
            });
        }
        outcome.passes(is_bound_fine)
    }

    /// Where the bound is accepted, in a few words: `fencepost.toml:12`.
    pub fn accepted_at(&self) -> Option<String> {
        self.accepted.map(|(accepted, file)| format!("{file}:{}", accepted.line))
    }
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
