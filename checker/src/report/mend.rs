//! What `fix` and `relax` say: text and JSON.

use super::case::{Style, wrap};
use super::compiled;
use super::failure::{Told, told};
use super::json::{EditReport, line, pieces};
use super::place::{Position, position};
use super::summary::undecided;
use crate::mend::fix::{Fix, Found, Unfixed};
use crate::mend::relax::{Because, Need, PlaceKind, PlaceReport, Relaxed};
use crate::mend::{Failure, diff};
use crate::verdict::Verdict;
use fencepost_dsl::{SourceMap, Span};
use serde::Serialize;

/// Ways to a place that are listed.
const CALLS_MAX: usize = 6;

/// Text under a bullet.
fn item(text: &str, style: Style) -> String {
    format!("  {}\n", wrap(text, style.width.saturating_sub(4).max(20)).join("\n    "))
}

fn n_of(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// `3 launches`.
fn launches(n: usize) -> String {
    format!("{n} launch{}", if n == 1 { "" } else { "es" })
}

fn bound(within: bool) -> &'static str {
    if within { " up to the loop bound" } else { "" }
}

/// What `fix` says of a file, without the diff.
pub fn fixed(file: &str, before: &SourceMap, fix: &Fix, style: Style) -> String {
    match fix {
        Fix::Nothing { within_bound } => {
            let proved = style.paint("1;32", &format!("proved{}", bound(*within_bound)));
            format!("{file}: {proved} as it is; nothing to mend\n")
        }
        Fix::Found(found) => found_text(file, before, found, style),
        Fix::None(unfixed) => unfixed_text(file, unfixed, style),
    }
}

/// What `fix` and `relax` say of what a compiler has written.
pub const GENERATED: &str =
    "a compiler has written the PTX: make the change in its source, compile again and check again";

fn found_text(file: &str, before: &SourceMap, found: &Found, style: Style) -> String {
    let with = format!("mended with {}", n_of(found.n_changes, "change"));
    let mut text = format!(
        "{file}: {}\n{}",
        style.paint("1;32", &with),
        item(
            &format!(
                "checked: everything is proved{} with {} for {}; {} tried{}",
                bound(found.within_bound),
                if found.n_changes == 1 { "it" } else { "them" },
                launches(found.n_launches),
                n_of(found.n_tried, "text"),
                if found.is_over {
                    "; the budget is used up: fewer or cheaper changes may do as well (--budget)"
                } else {
                    ""
                }
            ),
            style
        )
    );
    for told in found.edits.iter().filter_map(|edit| compiled::told(before, edit)) {
        text += &item(&told, style);
    }
    if found.pieces.iter().any(|piece| before.is_compiled(piece.span.file)) {
        text += &item(GENERATED, style);
    }
    text
}

fn unfixed_text(file: &str, unfixed: &Unfixed, style: Style) -> String {
    let why = if unfixed.is_violated { "no set of changes was found" } else { "not decided" };
    let mut text = format!("{file}: {}\n", style.paint("1;31", why));
    for failure in &unfixed.failures {
        text += &match told(failure) {
            Some(told) => item(&format!("stays: {}", told.line()), style),
            None => item(&undecided(&failure.outcome, &failure.program.kernels[failure.place.0]), style),
        };
    }
    let is_undecided = unfixed.failures.iter().any(|failure| failure.outcome.verdict != Verdict::Violated);
    let tried = n_of(unfixed.n_tried, "text");
    text += &if is_undecided {
        item(
            "only violations can be mended: settle first what is not decided, with the knob that `fencepost check` names",
            style,
        )
    } else if unfixed.is_over {
        item(&format!("{tried} tried; the budget is used up: raise --budget to go on"), style)
    } else if unfixed.n_tried == 0 {
        item(
            "nothing could be tried: no finding names two places that a change would put in order; put an `assert` \
             right behind the read that gives the wrong value, and ask again",
            style,
        )
    } else {
        item(
            &format!(
                "{tried} tried: other sems, scopes, counts, parities and places, more fences, barriers, arrivals and \
                 waits; look for a signal that is missing, given too often, or given to somebody else"
            ),
            style,
        )
    };
    text
}

#[derive(Serialize)]
struct FixReport<'a> {
    schema: &'static str,
    command: &'static str,
    file: &'a str,
    verdict: &'static str,
    edits: Vec<EditReport>,
    diff: String,
    changes: usize,
    cost: u32,
    stays: Vec<ToldReport>,
    tried: usize,
    /// Whether the budget was used up before everything was tried.
    stopped: bool,
}

#[derive(Serialize)]
struct ToldReport {
    code: Option<&'static str>,
    launch: String,
    at: Option<String>,
    /// The calls by which a thread comes there, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<String>,
    message: String,
}

fn told_report(failure: &Failure) -> ToldReport {
    let kernel = &failure.program.kernels[failure.place.0];
    let unknown = || ToldReport {
        code: None,
        launch: kernel.name.clone(),
        at: None,
        calls: Vec::new(),
        message: undecided(&failure.outcome, kernel),
    };
    told(failure).map_or_else(unknown, ToldReport::from)
}

impl From<Told> for ToldReport {
    fn from(told: Told) -> Self {
        let Told { code, launch, at, calls, text } = told;
        Self { code: Some(code), launch, at, calls, message: text }
    }
}

/// The line of a file for `fix`.
pub fn fix_json(file: &str, before: &SourceMap, fix: &Fix) -> String {
    let mut report = FixReport {
        schema: super::json::SCHEMA,
        command: "fix",
        file,
        verdict: "proved",
        edits: Vec::new(),
        diff: String::new(),
        changes: 0,
        cost: 0,
        stays: Vec::new(),
        tried: 0,
        stopped: false,
    };
    let name = |within_bound: bool| {
        if within_bound { Verdict::ProvedUpToBound.name() } else { Verdict::Proved.name() }
    };
    match fix {
        Fix::Nothing { within_bound } => report.verdict = name(*within_bound),
        Fix::Found(found) => {
            report.verdict = name(found.within_bound);
            report.edits = pieces(before, &found.pieces);
            report.diff = diff::unified(before, found.after.sources());
            (report.changes, report.cost, report.tried) = (found.n_changes, found.cost, found.n_tried);
            report.stopped = found.is_over;
        }
        Fix::None(unfixed) => {
            let worst =
                unfixed.failures.iter().map(|failure| failure.outcome.told(failure.outcome.verdict)).max();
            report.verdict = worst.unwrap_or(Verdict::Inconclusive).name();
            report.stays = unfixed.failures.iter().map(told_report).collect();
            (report.tried, report.stopped) = (unfixed.n_tried, unfixed.is_over);
        }
    }
    line(&report)
}

/// What `relax` says of a file that is not proved.
pub fn unproved(file: &str, failures: &[Failure], style: Style) -> String {
    let why = "not proved as it is, so nothing can be said of what it needs";
    let mut text = format!("{file}: {}\n", style.paint("1;31", why));
    for failure in failures {
        text += &match told(failure) {
            Some(told) => item(&told.line(), style),
            None => item(&undecided(&failure.outcome, &failure.program.kernels[failure.place.0]), style),
        };
    }
    text + &item("`fencepost fix` looks for a repair", style)
}

/// What `relax` says of a file, without the diff.
pub fn relaxed(file: &str, sources: &SourceMap, done: &Relaxed, style: Style) -> String {
    let mut text = format!(
        "{file}: proved{} for {}; {} looked at\n",
        bound(done.within_bound),
        launches(done.n_launches),
        n_of(done.places.len(), "place")
    );
    for place in &done.places {
        text += &place_text(sources, place, style);
    }
    let changed = done.places.iter().filter(|place| place.together.is_some()).count();
    let alone =
        done.places.iter().filter(|place| matches!(place.need, Need::Redundant | Need::Weaker { .. }));
    let alone = alone.count();
    if sources.ids().any(|file| sources.is_compiled(file)) {
        text += "imported PTX was not looked at: a compiler has written it, and what its source needs is for the source\n";
    }
    if alone == 0 && done.places.is_empty() {
        // Nothing is needed, and nothing is too much.
    } else if alone == 0 {
        text += if done.is_over { "" } else { "everything that was looked at is needed as it is\n" };
    } else if changed == alone {
        text += match alone {
            1 => "together: the file stays proved with that change (checked)\n",
            _ => "together: the file stays proved with all of these changes at once (checked)\n",
        };
    } else {
        text += &format!(
            "together: the file stays proved with {changed} of these {alone} changes at once (checked):\n"
        );
        for place in done.places.iter().filter(|place| place.together.is_some()) {
            let form = place.together.as_deref().unwrap_or("");
            text += &item(&format!("{}: {}", place_name(sources, place), form_text(form)), style);
        }
    }
    if done.is_over {
        text += "the budget is used up before everything was tried: raise --budget\n";
    }
    text
}

fn place_name(sources: &SourceMap, place: &PlaceReport) -> String {
    let at = position(sources, place.span);
    let text = place.text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}:{} `{}`", at.file, at.line, text.trim_end_matches(';'))
}

fn form_text(form: &str) -> String {
    if form.is_empty() { "leave it out".to_owned() } else { format!("`{form}` is enough") }
}

fn place_text(sources: &SourceMap, place: &PlaceReport, style: Style) -> String {
    let name = place_name(sources, place);
    let (what, because) = match &place.need {
        Need::Redundant => (style.paint("1;33", "not needed: everything is proved without it"), &[][..]),
        Need::Weaker { form, because } => {
            (style.paint("1;33", &format!("`{form}` is enough")), because.as_slice())
        }
        Need::Needed { because } => (style.paint("1;32", "needed"), because.as_slice()),
        Need::Open => ("not decided within the budget and the loop bound".to_owned(), &[][..]),
    };
    let mut text = format!("{name}: {what}\n");
    if !place.calls.is_empty() {
        text += &item(&calls_text(sources, place), style);
    }
    for reason in because {
        text += &item(&because_text(reason), style);
    }
    text
}

/// `reached by 2 calls: k.fence:9, and k.fence:4 from k.fence:12`.
fn calls_text(sources: &SourceMap, place: &PlaceReport) -> String {
    let at = |span: &Span| {
        let at = position(sources, *span);
        format!("{}:{}", at.file, at.line)
    };
    let way = |calls: &Vec<Span>| calls.iter().rev().map(at).collect::<Vec<_>>().join(" from ");
    let mut shown: Vec<String> = Vec::new();
    for way in place.calls.iter().map(way) {
        if !shown.contains(&way) {
            shown.push(way);
        }
    }
    let n_more = shown.len().saturating_sub(CALLS_MAX);
    shown.truncate(CALLS_MAX);
    if n_more > 0 {
        shown.push(format!("and {n_more} more"));
    }
    format!("reached by {}: {}", n_of(place.calls.len(), "call"), shown.join(", "))
}

fn because_text(reason: &Because) -> String {
    let form =
        if reason.form.is_empty() { "without it".to_owned() } else { format!("with `{}`", reason.form) };
    match &reason.finding {
        Some(told) => format!("{form}: {}", told.line()),
        None => format!("{form}: not decided within the budget and the loop bound"),
    }
}

#[derive(Serialize)]
struct RelaxReport<'a> {
    schema: &'static str,
    command: &'static str,
    file: &'a str,
    verdict: &'static str,
    places: Vec<PlaceJson>,
    edits: Vec<EditReport>,
    diff: String,
    tried: usize,
    stopped: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stays: Vec<ToldReport>,
}

#[derive(Serialize)]
struct PlaceJson {
    kind: &'static str,
    #[serde(flatten)]
    at: Position,
    text: String,
    /// The ways by which threads come to it, each as calls, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Vec<Position>>,
    /// `needed`, `weaker`, `redundant` or `open`.
    need: &'static str,
    /// The weakest form alone; empty if it can be left out.
    form: Option<String>,
    /// The form it has together with the others; null if it is as it was.
    together: Option<String>,
    because: Vec<BecauseJson>,
}

#[derive(Serialize)]
struct BecauseJson {
    form: String,
    finding: Option<ToldReport>,
}

/// The line of a file for `relax`.
pub fn relax_json(file: &str, sources: &SourceMap, done: Result<&Relaxed, &[Failure]>) -> String {
    let mut report = RelaxReport {
        schema: super::json::SCHEMA,
        command: "relax",
        file,
        verdict: Verdict::Proved.name(),
        places: Vec::new(),
        edits: Vec::new(),
        diff: String::new(),
        tried: 0,
        stopped: false,
        stays: Vec::new(),
    };
    match done {
        Ok(done) => {
            if done.within_bound {
                report.verdict = Verdict::ProvedUpToBound.name();
            }
            report.places = done.places.iter().map(|place| place_json(sources, place)).collect();
            report.edits = pieces(sources, &diff::pieces(sources, done.after.sources()));
            report.diff = diff::unified(sources, done.after.sources());
            (report.tried, report.stopped) = (done.n_tried, done.is_over);
        }
        Err(failures) => {
            let worst = failures.iter().map(|failure| failure.outcome.told(failure.outcome.verdict)).max();
            report.verdict = worst.unwrap_or(Verdict::Inconclusive).name();
            report.stays = failures.iter().map(told_report).collect();
        }
    }
    line(&report)
}

fn place_json(sources: &SourceMap, place: &PlaceReport) -> PlaceJson {
    let because = |reasons: &[Because]| {
        let one = |reason: &Because| BecauseJson {
            form: reason.form.clone(),
            finding: reason.finding.clone().map(ToldReport::from),
        };
        reasons.iter().map(one).collect()
    };
    let (need, form, because) = match &place.need {
        Need::Redundant => ("redundant", Some(String::new()), Vec::new()),
        Need::Weaker { form, because: reasons } => ("weaker", Some(form.clone()), because(reasons)),
        Need::Needed { because: reasons } => ("needed", None, because(reasons)),
        Need::Open => ("open", None, Vec::new()),
    };
    let kind = match place.kind {
        PlaceKind::Barrier => "barrier",
        PlaceKind::Wait => "wait",
        PlaceKind::Call => "call",
        PlaceKind::Record => "record",
        PlaceKind::Fence => "fence",
        PlaceKind::Access => "access",
    };
    let at = position(sources, place.span);
    let calls = place.calls.iter().map(|way| super::place::calls(sources, way)).collect();
    PlaceJson {
        kind,
        at,
        text: place.text.clone(),
        calls,
        need,
        form,
        together: place.together.clone(),
        because,
    }
}
