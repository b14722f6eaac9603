//! A launch that fails with a change, in one sentence.

use super::case::{Case, Standing};
use super::place::{Position, position};
use super::places::places;
use super::summary::vacuous;
use super::wording::Words;
use crate::explain::repair::Edit;
use crate::mend::Failure;
use crate::verdict::Vacuity;
use fencepost_dsl::{SourceMap, Span};

/// What a failing launch is told as: one sentence and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Code of the finding.
    pub code: &'static str,
    /// `file:line`, if it is about a place.
    pub at: Option<String>,
    /// The calls by which a thread comes to that place, likewise, outermost first.
    pub calls: Vec<String>,
    /// One sentence.
    pub text: String,
    /// The kernel, and the launch if it has a name.
    pub launch: String,
}

impl Told {
    /// `race::uniform (k.fence:9): data race on …`.
    pub fn line(&self) -> String {
        let at = self.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
        let by = self.calls.iter().rev().map(|call| format!(", called at {call}")).collect::<String>();
        format!("{}{at}{by} ({}): {}", self.code, self.launch, self.text)
    }
}

/// The first finding of a launch, or why nothing is proved of it; `None` if a limit stopped it.
pub fn told(failure: &Failure) -> Option<Told> {
    told_in(failure, None)
}

/// The same of a text with some changes, with lines of the text before them.
pub fn told_before(failure: &Failure, before: &SourceMap, edits: &[Edit]) -> Option<Told> {
    told_in(failure, Some((before, edits)))
}

/// The line of a text that has become one of the text with some changes.
fn line_before(before: &SourceMap, edits: &[Edit], at: &Position) -> usize {
    let mut pieces: Vec<_> = edits.iter().flat_map(|edit| &edit.pieces).collect();
    pieces.retain(|piece| before.file(piece.span.file).name == at.file);
    pieces.sort_by_key(|piece| piece.span.start);
    let Some(file) = pieces.first().map(|piece| piece.span.file) else { return at.line };
    let place = at.bytes.start;
    // What the pieces so far have put into the text, and what they have taken out of it.
    let (mut added, mut taken) = (0, 0);
    for piece in pieces {
        let start = piece.span.start as usize + added - taken;
        if place < start {
            break;
        }
        if place < start + piece.text.len() {
            return before.line_column(piece.span).line;
        }
        added += piece.text.len();
        taken += (piece.span.end - piece.span.start) as usize;
    }
    let start = u32::try_from(place + taken - added).unwrap_or(u32::MAX);
    before.line_column(Span { file, start, end: start }).line
}

fn told_in(failure: &Failure, changes: Option<(&SourceMap, &[Edit])>) -> Option<Told> {
    let (program, sources, outcome) = (&failure.program, failure.texts.sources(), &failure.outcome);
    let kernel = &program.kernels[failure.place.0];
    let case = Case {
        sources,
        file: "",
        program,
        kernel,
        model: "",
        variants: &[],
        outcome,
        explanations: &failure.explanations,
        standing: Standing::default(),
    };
    let launch = match outcome.launch.name.as_str() {
        "default" => kernel.name.clone(),
        name => format!("{}, launch {name}", kernel.name),
    };
    let line = |at: &Position| changes.map_or(at.line, |(before, edits)| line_before(before, edits, at));
    let shown = |at: &Position| format!("{}:{}", at.file, line(at));
    if let (Some(finding), Some(explanation)) = (outcome.findings.first(), failure.explanations.first()) {
        let words = Words { case: &case, witness: &finding.witness };
        let (primary, _) = places(&case, &words, explanation);
        let at = primary.as_ref().map(|place| shown(&place.at));
        let calls = primary.iter().flat_map(|place| place.calls.iter().map(shown)).collect();
        return Some(Told { code: explanation.code, at, calls, text: words.headline(explanation), launch });
    }
    let vacuity = outcome.vacuity.first()?;
    let at = match vacuity {
        Vacuity::NothingCompletes => None,
        Vacuity::FilteredOut(span) | Vacuity::Unreachable(span) => Some(shown(&position(sources, *span))),
    };
    let text = vacuous(sources, vacuity, !outcome.open_loops.is_empty());
    Some(Told { code: vacuity.kind().code, at, calls: Vec::new(), text, launch })
}
