//! What `compare` says: text and JSON.

use super::case::{Style, wrap};
use crate::compare::operation::Aspect;
use crate::compare::{Comparison, Difference, Pairing, Told, Who};
use fencepost_dsl::SourceMap;
use serde::Serialize;

/// What one of the two is called, and its texts.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The texts.
    pub sources: &'a SourceMap,
    /// The file as the user named it.
    pub file: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// The launch.
    pub launch: &'a str,
}

impl Named<'_> {
    fn head(&self) -> String {
        let launch = if self.launch == "default" { String::new() } else { format!(" ({})", self.launch) };
        format!("{}: {}{launch}", self.file, self.kernel)
    }

    /// Where an operation is: the source that a compiler made it of first.
    fn place(&self, told: &Told) -> String {
        let span = told.operation.span;
        let own = format!("{}:{}", self.sources.file(span.file).name, self.sources.line_column(span).line);
        match self.sources.origin(span) {
            Some(origin) => format!("{}:{} ({own})", origin.name, origin.line),
            None => own,
        }
    }

    /// An operation as it stands there.
    fn line(&self, told: &Told) -> String {
        let text = self.sources.text(told.operation.span).split_whitespace().collect::<Vec<_>>().join(" ");
        let of = told.object.as_ref().map_or_else(String::new, |object| format!(" of `{object}`"));
        format!("{}: `{}`{of}", self.place(told), text.trim_end_matches(';'))
    }
}

/// What there is to say to people.
pub fn text(comparison: &Comparison, left: &Named<'_>, right: &Named<'_>, style: Style) -> String {
    let n_operations: usize = comparison.roles.iter().map(|role| role.n_equal).sum();
    let (ours, theirs) = (left.head(), right.head());
    if comparison.agrees() {
        let what = match n_operations {
            0 => "neither synchronizes with anything".to_owned(),
            n => format!("{}, {}", count(n, "operation"), count(comparison.roles.len(), "role")),
        };
        return format!("{}: {ours} and {theirs}\n  {what}\n", style.paint("1;32", "agree"));
    }
    let n = comparison.n_differences();
    let mut text =
        format!("{} in {}: {ours} and {theirs}\n", style.paint("1;31", "differ"), count(n, "place"));
    for pairing in comparison.roles.iter().filter(|pairing| !pairing.differences.is_empty()) {
        text += &format!("\n{}\n", roles(pairing));
        for difference in &pairing.differences {
            text += &of_difference(difference, left, right, style);
        }
    }
    let help = "help: where the change is meant, make the other kernel follow and check it again; where it is not, take it back. \
                How many threads arrive is compared in proportion where the launches have other shapes (`--launch`, `--against-launch`)";
    text.push('\n');
    for (number, line) in wrap(help, style.width.saturating_sub(2)).iter().enumerate() {
        text += &format!("{}{line}\n", if number == 0 { "" } else { "      " });
    }
    text
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn people(who: &Who) -> String {
    match who.n_threads {
        1 => who.first.clone(),
        n => format!("{} and {} more like it", who.first, n - 1),
    }
}

fn roles(pairing: &Pairing) -> String {
    match (&pairing.left, &pairing.right) {
        (Some(left), Some(right)) => {
            format!("{}, beside {} ({} agree)", people(left), people(right), pairing.n_equal)
        }
        (Some(left), None) => format!("{}: nobody on the other side does the like", people(left)),
        (None, Some(right)) => format!("nobody does the like of {} on the other side", people(right)),
        (None, None) => String::new(),
    }
}

fn of_difference(difference: &Difference, left: &Named<'_>, right: &Named<'_>, style: Style) -> String {
    let (title, sides): (String, Vec<String>) = match (&difference.left, &difference.right) {
        (Some(ours), Some(theirs)) => {
            let title = match difference.aspects.as_slice() {
                [] => format!("{}: at another place", ours.operation.name),
                aspects => {
                    let each = aspects
                        .iter()
                        .map(|(aspect, left, right)| format!("{} is {left}, there {right}", aspect.name()));
                    format!("{}: {}", ours.operation.name, each.collect::<Vec<_>>().join("; "))
                }
            };
            (title, vec![left.line(ours), right.line(theirs)])
        }
        (Some(ours), None) => {
            (format!("{}: not in {}", ours.operation.name, right.head()), vec![left.line(ours)])
        }
        (None, Some(theirs)) => {
            (format!("{}: not in {}", theirs.operation.name, left.head()), vec![right.line(theirs)])
        }
        (None, None) => (String::new(), Vec::new()),
    };
    let mut text = format!("  {}\n", style.paint("1", &title));
    for side in sides {
        text += &format!("    {side}\n");
    }
    text
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    left: SideReport<'a>,
    right: SideReport<'a>,
    agrees: bool,
    roles: Vec<RoleReport<'a>>,
}

#[derive(Serialize)]
struct SideReport<'a> {
    file: &'a str,
    kernel: &'a str,
    launch: &'a str,
}

#[derive(Serialize)]
struct RoleReport<'a> {
    left: Option<WhoReport<'a>>,
    right: Option<WhoReport<'a>>,
    equal: usize,
    differences: Vec<DifferenceReport<'a>>,
}

#[derive(Serialize)]
struct WhoReport<'a> {
    thread: &'a str,
    threads: usize,
}

#[derive(Serialize)]
struct DifferenceReport<'a> {
    /// `changed`, `moved`, `only-left`, `only-right`.
    kind: &'static str,
    operation: &'a str,
    aspects: Vec<AspectReport<'a>>,
    left: Option<PlaceReport<'a>>,
    right: Option<PlaceReport<'a>>,
}

#[derive(Serialize)]
struct AspectReport<'a> {
    aspect: &'static str,
    left: &'a str,
    right: &'a str,
}

#[derive(Serialize)]
struct PlaceReport<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    text: &'a str,
    object: Option<&'a str>,
    source: Option<SourceReport<'a>>,
}

#[derive(Serialize)]
struct SourceReport<'a> {
    file: &'a str,
    line: u32,
}

/// One JSON object, on a line.
pub fn json(comparison: &Comparison, left: &Named<'_>, right: &Named<'_>) -> String {
    fn side<'a>(named: &Named<'a>) -> SideReport<'a> {
        SideReport { file: named.file, kernel: named.kernel, launch: named.launch }
    }
    let roles = comparison.roles.iter().map(|pairing| RoleReport {
        left: who(pairing.left.as_ref()),
        right: who(pairing.right.as_ref()),
        equal: pairing.n_equal,
        differences: pairing.differences.iter().map(|difference| of_json(difference, left, right)).collect(),
    });
    let report = Report {
        schema: "fencepost-compare/1",
        left: side(left),
        right: side(right),
        agrees: comparison.agrees(),
        roles: roles.collect(),
    };
    let line = serde_json::to_string(&report).expect("it has only strings for keys");
    format!("{line}\n")
}

fn who(who: Option<&Who>) -> Option<WhoReport<'_>> {
    who.map(|who| WhoReport { thread: &who.first, threads: who.n_threads })
}

fn of_json<'a>(difference: &'a Difference, left: &Named<'a>, right: &Named<'a>) -> DifferenceReport<'a> {
    let place = |told: &'a Told, named: &Named<'a>| {
        let span = told.operation.span;
        let at = named.sources.line_column(span);
        PlaceReport {
            file: &named.sources.file(span.file).name,
            line: at.line,
            column: at.column,
            text: &told.operation.text,
            object: told.object.as_deref(),
            source: named
                .sources
                .origin(span)
                .map(|origin| SourceReport { file: &origin.name, line: origin.line }),
        }
    };
    let kind = match (&difference.left, &difference.right) {
        (Some(_), Some(_)) if difference.aspects.is_empty() => "moved",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "only-left",
        (None, _) => "only-right",
    };
    let aspects = difference.aspects.iter();
    let either = difference.left.as_ref().or(difference.right.as_ref());
    DifferenceReport {
        kind,
        operation: either.map_or("", |told| told.operation.name.as_str()),
        aspects: aspects
            .map(|(aspect, left, right): &(Aspect, String, String)| AspectReport {
                aspect: aspect.name(),
                left,
                right,
            })
            .collect(),
        left: difference.left.as_ref().map(|told| place(told, left)),
        right: difference.right.as_ref().map(|told| place(told, right)),
    }
}
