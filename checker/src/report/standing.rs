//! What a project knows of a launch already: findings that are listed, and a bound that is good enough.

use super::case::{Case, Style, wrap};
use super::json;

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
