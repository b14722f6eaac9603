//! Why a launch is neither proved nor violated, for formats that have a place for each reason.

use super::case::Case;
use super::place::{Position, position};
use super::summary::{loops, stopped, vacuous};
use crate::findings::remark;
use crate::verdict::{Vacuity, Verdict};

/// A reason.
pub(super) struct Remark {
    /// Its code; none for a limit that was hit.
    pub(super) code: Option<&'static str>,
    /// Where, if it is about a place.
    pub(super) at: Option<Position>,
    /// One sentence.
    pub(super) text: String,
}

/// The reasons, if the launch is undecided; else none.
pub(super) fn remarks(case: &Case<'_>) -> Vec<Remark> {
    let outcome = case.outcome;
    if matches!(outcome.verdict, Verdict::Proved | Verdict::Violated) {
        return Vec::new();
    }
    let mut found: Vec<Remark> = Vec::new();
    for (span, text) in loops(case) {
        let at = Some(position(case.sources, span));
        let text = format!("{text}; raise --unroll-max for a larger bound");
        found.push(Remark { code: Some(remark::LOOP_CUT.code), at, text });
    }
    for vacuity in &outcome.vacuity {
        let at = match vacuity {
            Vacuity::NothingCompletes => None,
            Vacuity::FilteredOut(span) | Vacuity::Unreachable(span) => Some(position(case.sources, *span)),
        };
        let text = vacuous(case.sources, vacuity, !outcome.open_loops.is_empty());
        found.push(Remark { code: Some(vacuity.kind().code), at, text });
    }
    if let Some(limit) = &outcome.limit {
        let (what, knob) = stopped(limit);
        found.push(Remark { code: None, at: None, text: format!("not decided: {what}; {knob}") });
    }
    if found.is_empty() {
        let text = "not decided: nothing is stated of what was asked for".to_owned();
        found.push(Remark { code: None, at: None, text });
    }
    found
}

/// `kernel k, launch big`.
pub(super) fn subject(case: &Case<'_>) -> String {
    match case.outcome.launch.name.as_str() {
        "default" => format!("kernel {}", case.kernel.name),
        name => format!("kernel {}, launch {name}", case.kernel.name),
    }
}
