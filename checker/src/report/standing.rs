//! What a project knows of a launch already: findings that are listed, and a bound that is good enough.

use super::{Case, Style, json, wrap};
use crate::project::Accepted;
use crate::verdict::{Outcome, Verdict};

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

/// What is said of it below a launch.
pub(super) fn text(case: &Case<'_>, style: Style) -> String {
    let standing = &case.standing;
    let mut text = String::new();
    if let (Some((accepted, _)), Some(at)) = (standing.accepted, standing.accepted_at()) {
        let told = format!("accepted: {at} takes the bound {} for good: {}", accepted.bound, accepted.reason);
        text += &format!("  {}\n", wrap(&told, style.width.saturating_sub(2).max(20)).join("\n    "));
    }
    let Some(baseline) = standing.baseline else { return text };
    let findings = json::findings(case);
    let known = findings.iter().enumerate().filter(|(number, _)| standing.knows(*number));
    for (_, finding) in known {
        let at = finding.primary.as_ref().map_or_else(String::new, |place| {
            format!(" at {}:{}:{}", place.at.file, place.at.line, place.at.column)
        });
        text += &format!("  known: {}{at} is listed in {baseline}\n", finding.code);
    }
    if case.outcome.more_findings && findings.len() == standing.known.iter().filter(|known| **known).count() {
        let told = "there may be more than is listed, and known, so the run fails";
        text += &format!("  {told}: mend some of these first\n");
    }
    text
}

/// The same behind a line.
pub(super) fn suffix(case: &Case<'_>) -> String {
    let standing = &case.standing;
    let n_known = standing.known.iter().filter(|known| **known).count();
    match (n_known, standing.accepted) {
        (0, None) => String::new(),
        (0, Some(_)) => " (accepted)".to_owned(),
        (known, _) if known == case.outcome.findings.len() => " (known)".to_owned(),
        (known, _) => format!(" ({known} of {} known)", case.outcome.findings.len()),
    }
}
