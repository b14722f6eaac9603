//! `--format json`: schema `fencepost/1`, one object per line, one line per kernel and launch.
//!
//! Deterministic but for `stats.milliseconds`. Fields are only ever added within a schema number.

use super::case::Case;
use super::place::{Place, Position, calls, position, thread};
use super::places::places;
use super::story::Story;
use super::summary::{notes, stopped};
use super::wording::Words;
use crate::event::{EventId, EventKind, Role, SiteId};
use crate::explain::elsewhere::{Judgement, Whole};
use crate::explain::repair::{Edit, Piece};
use crate::explain::{Explanation, Repair};
use crate::facts::Off;
use crate::verdict::{Finding, Limit, Split, Vacuity};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::{Diagnostic, SourceMap};
use serde::Serialize;
use std::collections::BTreeMap;

/// The schema's name.
pub(super) const SCHEMA: &str = "fencepost/1";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: &'a str,
    kernel: &'a str,
    launch: &'a str,
    model: &'a str,
    variant: &'a [String],
    verdict: &'static str,
    properties: Vec<PropertyVerdict>,
    findings: Vec<FindingReport>,
    more_findings: bool,
    /// Why the project takes the bound for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<AcceptedReport<'a>>,
    /// Properties that the model says nothing about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unstated: Vec<&'static str>,
    condition: Option<ConditionReport>,
    bounds: Bounds,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vacuity: Vec<VacuityReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitReport>,
    /// What the verdict takes for granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Where each value of the parameters was checked alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<SplitReport>,
    stats: Stats,
}

/// A bound that is good enough, and where that is said.
#[derive(Serialize)]
struct AcceptedReport<'a> {
    bound: u32,
    reason: &'a str,
    settings: &'a str,
    line: usize,
}

#[derive(Serialize)]
struct SplitReport {
    /// How many combinations of values.
    values: usize,
    /// Which of them the findings are about.
    shown: BTreeMap<String, String>,
    /// Those for which everything is proved that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    proved: Vec<BTreeMap<String, String>>,
    /// Properties that others break and those do not, with the smallest that do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elsewhere: Vec<ElsewhereReport>,
}

#[derive(Serialize)]
struct ElsewhereReport {
    property: &'static str,
    parameters: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct ConditionReport {
    quantifier: &'static str,
    /// `null` where a limit or the loop bound leaves it open.
    holds: Option<bool>,
    /// Registers and locations of the example or counter-example, in order of the condition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    state: Vec<ValueReport>,
}

#[derive(Serialize)]
struct ValueReport {
    name: String,
    value: String,
}

#[derive(Serialize)]
struct PropertyVerdict {
    property: &'static str,
    verdict: &'static str,
}

#[derive(Serialize)]
pub(crate) struct FindingReport {
    pub(crate) code: &'static str,
    pub(crate) property: &'static str,
    pub(crate) message: String,
    pub(crate) rule: Vec<&'static str>,
    pub(crate) primary: Option<Place>,
    pub(crate) secondary: Vec<Place>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) why: Vec<String>,
    pub(crate) help: Option<String>,
    /// On what the execution rests although nobody computes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uncomputed: Vec<Place>,
    /// Published editions of the model that do not agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    editions: Vec<EditionReport>,
    /// The finding of the list, counted from 0, whose cause it has in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<usize>,
    /// Whether it is in the list of known findings.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) known: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repair: Option<RepairReport>,
    /// What matters of the execution, in an order in which it can happen.
    pub(crate) witness: Vec<StepReport>,
}

/// A step of an execution.
#[derive(Serialize)]
pub(crate) struct StepReport {
    /// Counted from 1.
    pub(crate) step: usize,
    #[serde(flatten)]
    pub(crate) place: Place,
    /// What it does, as in `reads`.
    pub(crate) does: &'static str,
    /// What it reads or writes; text, as the values of parameters are.
    pub(crate) value: Option<String>,
    /// Of a read: what it reads from, one for each part that is read by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reads_from: Vec<Source>,
    /// A round of a waiting loop that does not leave it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) failed_try: bool,
}

/// Where a value comes from.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Source {
    /// A write of the list.
    Step(usize),
    /// `initial`, or `elsewhere` for a write that is not listed.
    Other(&'static str),
}

/// What a published edition says of the execution: `forbidden`, or `no race` where it allows it.
#[derive(Serialize)]
struct EditionReport {
    model: String,
    execution: &'static str,
    /// What it says of the launch, if it forbids the execution: `violated`, `holds` or `not asked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<&'static str>,
}

/// A checked change, as edits of the text.
#[derive(Serialize)]
pub(crate) struct RepairReport {
    pub(crate) edits: Vec<EditReport>,
    /// Edits that mend other findings, and were in place when this was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<EditReport>,
    /// Properties that are still violated with all of them.
    stays: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    open: Vec<&'static str>,
    /// Whether it was checked within the loop bound only.
    within_bound: bool,
    /// For how many launches of the kernel it was checked.
    launches: usize,
    /// The only values of the parameters for which it was.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

/// Text between two places, the end not included, and what takes its place.
#[derive(Serialize)]
pub(crate) struct EditReport {
    #[serde(flatten)]
    pub(crate) at: Position,
    pub(crate) text: String,
}

#[derive(Serialize)]
struct Bounds {
    unroll: u32,
    complete: bool,
    loops: Vec<Position>,
    /// What stopped a larger bound, whose answers these are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    raise_limit: Option<LimitReport>,
}

#[derive(Serialize)]
struct VacuityReport {
    code: &'static str,
    at: Option<Position>,
}

#[derive(Serialize)]
struct LimitReport {
    name: &'static str,
    message: String,
    help: &'static str,
}

#[derive(Serialize)]
struct Stats {
    events: usize,
    variables: usize,
    clauses: usize,
    conflicts: u64,
    /// Of the budget.
    steps: u64,
    /// Unsatisfiable answers that were followed to a contradiction; only where they were to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    followed: Option<u64>,
    milliseconds: Milliseconds,
    /// Deductions that were off for a need.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    off: Vec<OffReport>,
}

#[derive(Serialize)]
struct OffReport {
    deduction: &'static str,
    need: &'static str,
    because: String,
}

#[derive(Serialize, Default)]
struct Milliseconds {
    unroll: f64,
    bound: f64,
    encode: f64,
    solve: f64,
}

/// The line of one launch, without a line feed.
pub fn report(case: &Case<'_>) -> String {
    let outcome = case.outcome;
    line(&Report {
        schema: SCHEMA,
        file: case.file,
        kernel: &case.kernel.name,
        launch: &outcome.launch.name,
        model: case.model,
        variant: case.variants,
        verdict: outcome.told(outcome.verdict).name(),
        properties: outcome
            .properties
            .iter()
            .map(|&(property, verdict)| PropertyVerdict {
                property: property.name(),
                verdict: outcome.told(verdict).name(),
            })
            .collect(),
        findings: findings(case),
        more_findings: outcome.more_findings,
        accepted: case.standing.accepted.map(|(accepted, settings)| AcceptedReport {
            bound: accepted.bound,
            reason: &accepted.reason,
            settings,
            line: accepted.line,
        }),
        unstated: outcome.unstated.iter().map(|property| property.name()).collect(),
        condition: outcome.condition.as_ref().map(|result| ConditionReport {
            quantifier: result.quantifier.name(),
            holds: result.holds,
            state: super::condition::state(case)
                .into_iter()
                .map(|(name, value)| ValueReport { name, value })
                .collect(),
        }),
        bounds: Bounds {
            unroll: outcome.unroll,
            complete: outcome.open_loops.is_empty() && outcome.limit.is_none(),
            loops: outcome.open_loops.iter().map(|open| position(case.sources, open.span)).collect(),
            raise_limit: outcome.raise_limit.as_ref().map(limit_report),
        },
        vacuity: outcome.vacuity.iter().map(|vacuity| vacuity_report(case.sources, vacuity)).collect(),
        limit: outcome.limit.as_ref().map(limit_report),
        notes: notes(case),
        split: outcome.split.as_ref().map(split_report),
        stats: stats(case),
    })
}

fn split_report(split: &Split) -> SplitReport {
    SplitReport {
        values: split.n_values,
        shown: parameters(&split.shown),
        proved: split.proved.iter().map(|values| parameters(values)).collect(),
        elsewhere: split
            .elsewhere
            .iter()
            .map(|(property, value)| ElsewhereReport {
                property: property.name(),
                parameters: parameters(value),
            })
            .collect(),
    }
}

/// Values of parameters by name, as text.
fn parameters(values: &[(String, u64)]) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// All that was found.
pub(crate) fn findings(case: &Case<'_>) -> Vec<FindingReport> {
    let findings = case.outcome.findings.iter().zip(case.explanations);
    let told = findings.map(|(finding, explanation)| finding_report(case, finding, explanation));
    told.enumerate()
        .map(|(number, told)| FindingReport { known: case.standing.knows(number), ..told })
        .collect()
}

fn finding_report(case: &Case<'_>, finding: &Finding, explanation: &Explanation) -> FindingReport {
    let words = Words { case, witness: &finding.witness };
    let (primary, secondary) = places(case, &words, explanation);
    FindingReport {
        code: explanation.code,
        property: finding.property.name(),
        message: words.headline(explanation),
        rule: explanation.rules.clone(),
        primary,
        secondary,
        // Text, since parameters may be wider than a JSON number is exact.
        parameters: explanation
            .parameters
            .iter()
            .map(|(name, value)| (name.clone(), value.to_string()))
            .collect(),
        why: words.reasons(explanation),
        help: match &explanation.repair {
            Some(repair) => Some(words.repair(repair)),
            None => words.advice(explanation).map(str::to_owned).or_else(|| words.no_repair(explanation)),
        },
        uncomputed: explanation.uncomputed.iter().map(|&site| result_of(case, site)).collect(),
        editions: explanation
            .elsewhere
            .iter()
            .map(|elsewhere| EditionReport {
                model: elsewhere.model.clone(),
                execution: match elsewhere.judgement {
                    Judgement::Forbidden => "forbidden",
                    Judgement::NoRace => "no race",
                },
                launch: elsewhere.whole.map(|whole| match whole {
                    Whole::Violated => "violated",
                    Whole::Holds => "holds",
                    Whole::NotAsked => "not asked",
                }),
            })
            .collect(),
        cause: explanation.cause,
        known: false,
        repair: explanation.repair.as_ref().map(|repair| repair_report(case.sources, repair)),
        witness: steps(case, &words, explanation),
    }
}

/// The steps that `--trace` shows.
fn steps(case: &Case<'_>, words: &Words<'_>, explanation: &Explanation) -> Vec<StepReport> {
    let graph = &case.outcome.graph;
    let events = Story::events(case, words.witness, explanation);
    let step_of: SortedMap<EventId, usize> = (1..).zip(&events).map(|(step, &event)| (event, step)).collect();
    let source = |source: EventId| match step_of.get(&source) {
        Some(&step) => Source::Step(step),
        None if graph.events[source].agent.is_none() => Source::Other("initial"),
        None => Source::Other("elsewhere"),
    };
    let report = |(step, &event): (usize, &EventId)| {
        let kind = &graph.events[event].kind;
        let reads = matches!(kind, EventKind::Read(_));
        let accessed = kind.access().filter(|_| reads || matches!(kind, EventKind::Write(_)));
        let sources = words.witness.execution.sources.get(&event).filter(|_| reads);
        let at = position(case.sources, words.span(event).unwrap_or(case.kernel.span));
        let thread = graph.events[event].agent.map(|agent| thread(case, agent));
        StepReport {
            step,
            place: Place {
                at,
                thread,
                text: words.instruction(event),
                calls: calls(case.sources, words.calls_to(event)),
            },
            does: words.verb(event),
            value: accessed.map(|access| words.witness.values[access.value].to_string()),
            reads_from: sources.into_iter().flatten().map(|&(write, _)| source(write)).collect(),
            failed_try: matches!(graph.events[event].role, Role::Spin(_)),
        }
    };
    (1..).zip(&events).map(report).collect()
}

/// Edits, each as the text that it replaces and what takes its place.
pub(super) fn pieces<'p>(
    sources: &SourceMap,
    pieces: impl IntoIterator<Item = &'p Piece>,
) -> Vec<EditReport> {
    let piece = |piece: &Piece| EditReport { at: position(sources, piece.span), text: piece.text.clone() };
    pieces.into_iter().map(piece).collect()
}

fn edits(sources: &SourceMap, edits: &[Edit]) -> Vec<EditReport> {
    pieces(sources, edits.iter().flat_map(|edit| &edit.pieces))
}

fn repair_report(sources: &SourceMap, repair: &Repair) -> RepairReport {
    RepairReport {
        edits: edits(sources, &repair.edits),
        others: edits(sources, &repair.others),
        stays: repair.stays.iter().map(|property| property.name()).collect(),
        open: repair.open.iter().map(|property| property.name()).collect(),
        within_bound: repair.within_bound,
        launches: repair.n_launches,
        parameters: parameters(&repair.values),
    }
}

/// An instruction whose result nobody computes.
fn result_of(case: &Case<'_>, site: SiteId) -> Place {
    let site = &case.outcome.graph.sites[site];
    let text =
        if site.operand.is_empty() { site.text.clone() } else { format!("{} {}", site.text, site.operand) };
    Place { at: position(case.sources, site.span), thread: None, text, calls: Vec::new() }
}

fn vacuity_report(sources: &SourceMap, vacuity: &Vacuity) -> VacuityReport {
    let at = match vacuity {
        Vacuity::NothingCompletes => None,
        Vacuity::FilteredOut(span) | Vacuity::Unreachable(span) => Some(position(sources, *span)),
    };
    VacuityReport { code: vacuity.kind().code, at }
}

fn limit_report(limit: &Limit) -> LimitReport {
    let (message, help) = stopped(limit);
    let name = match limit {
        Limit::Deadline => "timeout",
        Limit::Interrupt => "interrupt",
        Limit::Budget { .. } => "budget",
        Limit::Rest { .. } => "rest",
        Limit::Unroll { what: "events", .. } => "max-events",
        Limit::Unroll { what, .. } | Limit::OneExecution { what, .. } => what,
        Limit::Clauses { .. } => "max-clauses",
        Limit::Recursion { .. } => "recursion",
        Limit::Cells { .. } => "cells",
    };
    LimitReport { name, message, help }
}

fn stats(case: &Case<'_>) -> Stats {
    let statistics = &case.outcome.statistics;
    let of = |pass: &str| {
        let total: u64 =
            statistics.microseconds.iter().filter(|(name, _)| *name == pass).map(|(_, us)| us).sum();
        total as f64 / 1000.0
    };
    Stats {
        events: statistics.events,
        variables: statistics.variables,
        clauses: statistics.clauses,
        conflicts: statistics.conflicts,
        steps: statistics.steps,
        followed: statistics.followed,
        milliseconds: Milliseconds {
            unroll: of("unroll"),
            bound: of("bound"),
            encode: of("encode"),
            solve: of("solve"),
        },
        off: statistics.off.iter().map(off).collect(),
    }
}

fn off(off: &Off) -> OffReport {
    OffReport { deduction: off.deduction, need: off.need.name(), because: off.because.clone() }
}

#[derive(Serialize)]
struct Rejected<'a> {
    schema: &'static str,
    file: &'a str,
    verdict: &'static str,
    errors: Vec<ErrorReport<'a>>,
}

#[derive(Serialize)]
struct ErrorReport<'a> {
    code: &'a str,
    message: &'a str,
    file: String,
    /// `null` where the error is not about a place in a text.
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    rule: &'a [&'static str],
    help: Option<&'a str>,
}

/// The line of a file that was rejected.
pub fn rejected(sources: &SourceMap, file: &str, errors: &[Diagnostic]) -> String {
    line(&Rejected { schema: SCHEMA, file, verdict: "rejected", errors: placed(sources, errors) })
}

fn placed<'a>(sources: &SourceMap, errors: &'a [Diagnostic]) -> Vec<ErrorReport<'a>> {
    let report = |error: &'a Diagnostic| {
        let at = position(sources, error.span());
        ErrorReport {
            code: error.code,
            message: &error.message,
            file: at.file,
            line: Some(at.line),
            column: Some(at.column),
            end_line: Some(at.end_line),
            end_column: Some(at.end_column),
            rule: &error.rules,
            help: error.help.as_deref(),
        }
    };
    errors.iter().map(report).collect()
}

/// The line of a path that was rejected for what it is, or for the options; with the errors in another text that are the
/// reason, if there are any.
pub fn refused(
    file: &str,
    code: &'static str,
    message: &str,
    reasons: Option<(&SourceMap, &[Diagnostic])>,
) -> String {
    let error = ErrorReport {
        code,
        message,
        file: file.to_owned(),
        line: None,
        column: None,
        end_line: None,
        end_column: None,
        rule: &[],
        help: None,
    };
    let mut errors = vec![error];
    errors.extend(reasons.into_iter().flat_map(|(sources, reasons)| placed(sources, reasons)));
    line(&Rejected { schema: SCHEMA, file, verdict: "rejected", errors })
}

#[derive(Serialize)]
struct Failed<'a> {
    schema: &'static str,
    file: &'a str,
    kernel: &'a str,
    launch: &'a str,
    error: &'a str,
}

/// The line of a launch for which a bug of ours leaves no verdict.
pub fn failed(file: &str, kernel: &str, launch: &str, error: &str) -> String {
    line(&Failed { schema: SCHEMA, file, kernel, launch, error })
}

pub(super) fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain structs with string keys always serialise")
}

#[cfg(test)]
mod tests {
    use super::{failed, rejected};
    use fencepost_dsl::{Diagnostic, SourceMap, Span};

    #[test]
    fn rejected_files_are_one_line_with_places() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.fence", "x\n\"y\"");
        let errors = [Diagnostic::new("syntax::bad-token", "no \"y\" here", Span::new(file, 2, 5), "")];
        let text = rejected(&sources, "a.fence", &errors);
        assert_eq!(
            text,
            r#"{"schema":"fencepost/1","file":"a.fence","verdict":"rejected","errors":[{"code":"syntax::bad-token","message":"no \"y\" here","file":"a.fence","line":2,"column":1,"end_line":2,"end_column":4,"rule":[],"help":null}]}"#
        );
    }

    #[test]
    fn a_failure_has_no_verdict() {
        assert!(!failed("a", "k", "default", "internal error").contains("verdict"));
    }
}
