//! What was found, as plain values: those of `--format json`.

use crate::findings::Property;
use crate::report::json::{self, EditReport, FindingReport};
use crate::report::{Case, place};
use fencepost_dsl::{SourceMap, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// A line and a column, both counted from 1; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Region {
    /// The file, as reports name it.
    pub file: String,
    /// Where it begins.
    pub start: Position,
    /// Behind its last character.
    pub end: Position,
    /// The same in bytes of the text.
    pub bytes: Range<usize>,
}

/// A place that a finding is about.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Place {
    /// Where.
    pub region: Region,
    /// The thread that gets there, as in `tid 0 of cta 1`; none for what the launch does.
    pub thread: Option<String>,
    /// The instruction in full spelling, or the text of the region.
    pub text: String,
    /// The calls by which the thread gets there, outermost first.
    pub calls: Vec<Region>,
}

/// A text that takes the place of another one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Edit {
    /// What it replaces; nothing, where text is only put in.
    pub region: Region,
    /// What comes there.
    pub text: String,
}

/// A step of the execution that shows a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Its number, from 1.
    pub number: usize,
    /// What is executed, and by whom.
    pub place: Place,
    /// What it does, as in `reads`.
    pub does: &'static str,
    /// What it reads or writes.
    pub value: Option<String>,
    /// Of a read: what it reads from, one for each part that is read by itself.
    pub reads_from: Vec<ReadsFrom>,
    /// Whether it belongs to a round of a waiting loop that does not leave it.
    pub failed_try: bool,
}

/// Where a value comes from that a step reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadsFrom {
    /// The step of this number.
    Step(usize),
    /// What was there from the start.
    Initial,
    /// A write that is left out of the trace.
    Elsewhere,
}

/// A violation: what, where, why, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind, such as `race::scope-too-narrow`; `fencepost explain` has a page about it.
    pub code: &'static str,
    /// The property that it breaks.
    pub property: Property,
    /// One line that says what is wrong.
    pub message: String,
    /// Ids of the rules that it rests on.
    pub rules: Vec<&'static str>,
    /// The place; none where something never happens.
    pub place: Option<Place>,
    /// Other places that matter, such as the other access of a race.
    pub others: Vec<Place>,
    /// Values of the kernel's parameters in this execution.
    pub parameters: BTreeMap<String, String>,
    /// Why it is so, link by link.
    pub why: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
    /// A change after which it is gone, which was checked; empty if none was found or looked for.
    pub edits: Vec<Edit>,
    /// The finding of the same launch, counted from 0, of whose cause this one is another effect.
    pub cause: Option<usize>,
    /// The execution: what matters of it, in an order in which it can happen.
    pub trace: Vec<Step>,
}

/// The findings of a launch, in the order of reports.
pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let properties = case.outcome.findings.iter().map(|finding| finding.property);
    json::findings(case)
        .into_iter()
        .zip(properties)
        .map(|(report, property)| finding(report, property))
        .collect()
}

fn finding(report: FindingReport, property: Property) -> Finding {
    Finding {
        code: report.code,
        property,
        message: report.message,
        rules: report.rule,
        place: report.primary.map(place),
        others: report.secondary.into_iter().map(place).collect(),
        parameters: report.parameters,
        why: report.why,
        help: report.help,
        edits: report.repair.into_iter().flat_map(|repair| repair.edits).map(edit).collect(),
        cause: report.cause,
        trace: report.witness.into_iter().map(step).collect(),
    }
}

fn place(report: place::Place) -> Place {
    Place {
        region: region(report.at),
        thread: report.thread.map(|thread| thread.name),
        text: report.text,
        calls: report.calls.into_iter().map(region).collect(),
    }
}

fn edit(report: EditReport) -> Edit {
    Edit { region: region(report.at), text: report.text }
}

fn step(report: json::StepReport) -> Step {
    Step {
        number: report.step,
        place: place(report.place),
        does: report.does,
        value: report.value,
        reads_from: report.reads_from.iter().map(reads_from).collect(),
        failed_try: report.failed_try,
    }
}

fn reads_from(source: &json::Source) -> ReadsFrom {
    match *source {
        json::Source::Step(number) => ReadsFrom::Step(number),
        json::Source::Other("initial") => ReadsFrom::Initial,
        json::Source::Other(_) => ReadsFrom::Elsewhere,
    }
}

fn region(at: place::Position) -> Region {
    Region {
        file: at.file,
        start: Position { line: at.line, column: at.column },
        end: Position { line: at.end_line, column: at.end_column },
        bytes: at.bytes,
    }
}

/// A span of one of the texts.
pub(super) fn region_of(sources: &SourceMap, span: Span) -> Region {
    region(place::position(sources, span))
}
