//! Words for what would mend a finding: each change, and what was checked of all of them together.

use super::compiled;
use super::wording::Words;
use crate::explain::repair::{Edit, EditKind};
use crate::explain::{Explanation, Repair, Subject};
use crate::findings::Property;
use fencepost_dsl::Span;

/// Of fewer changes that were tried it is not said of which kinds they are.
const KINDS_MIN: usize = 8;

/// Characters of a statement that is named.
const STATEMENT_MAX: usize = 80;

impl Words<'_> {
    /// The help line of a repair.
    pub fn repair(&self, repair: &Repair) -> String {
        format!("{} ({})", self.edits(&repair.edits), self.checked(repair))
    }

    /// That a finding has no repair, and why a hang has none, as far as that is known.
    pub fn no_repair(&self, explanation: &Explanation) -> Option<String> {
        if explanation.repair.is_some() {
            return None;
        }
        let Subject::Deadlock { absent, .. } = &explanation.subject else {
            return self.nothing_mends(explanation);
        };
        if !absent.is_empty() {
            return Some(
                "no change was looked for: what it waits for comes from threads that need not run at the \
                 same time, which only the launch can change"
                    .to_owned(),
            );
        }
        let tried = match explanation.tries.n {
            // Nothing applies, or the check has left nothing of the budget.
            0 => "no change was found that could be tried and ends".to_owned(),
            1 => "the one change that was tried does not end".to_owned(),
            n => format!("none of {n} changes that were tried ends"),
        };
        let kinds = if explanation.tries.n < KINDS_MIN {
            ""
        } else {
            " (other sems, counts, parities and places, more barriers, fences, arrivals and waits)"
        };
        Some(format!(
            "{tried} this wait with nothing else violated{kinds}{}: look for a signal that is missing, given too often, or \
             given to somebody else",
            undecided(explanation)
        ))
    }

    /// How many changes were tried for what is no hang, if enough to be worth a word.
    fn nothing_mends(&self, explanation: &Explanation) -> Option<String> {
        let (n, cut) = (explanation.tries.n, undecided(explanation));
        if explanation.cause.is_some() || (n < KINDS_MIN && cut.is_empty()) {
            return None;
        }
        let tried = match n {
            0 => "no change is known that mends".to_owned(),
            1 => "the one change that was tried does not mend".to_owned(),
            n => format!("none of {n} changes that were tried mends"),
        };
        let several = if n < KINDS_MIN { "" } else { ": it may take several changes, or another protocol" };
        Some(format!("{tried} this with nothing else violated{cut}{several}"))
    }

    /// All changes, as one sentence without its end.
    fn edits(&self, edits: &[Edit]) -> String {
        let is_replaced = |edit: &Edit| matches!(edit.kind, EditKind::Replace { .. });
        let mut parts: Vec<String> = Vec::new();
        for (i, edit) in edits.iter().enumerate() {
            let text = self.edit(edit);
            // The verb once.
            let again = i > 0 && is_replaced(edit) && is_replaced(&edits[i - 1]);
            parts.push(match text.strip_prefix("change ") {
                Some(rest) if again => rest.to_owned(),
                _ => text,
            });
        }
        parts.join(" and ")
    }

    fn edit(&self, edit: &Edit) -> String {
        if let Some(told) = compiled::told(self.case.sources, edit) {
            return told;
        }
        self.in_the_text(edit) + &compiled::copies(edit)
    }

    /// As a change of the text that was read.
    fn in_the_text(&self, edit: &Edit) -> String {
        match &edit.kind {
            EditKind::Replace { span, after, .. } if after.is_empty() => {
                format!("leave out {}", self.statement(*span))
            }
            EditKind::Replace { span, before, after } => {
                let is_opcode = before.contains('.') && !before.contains(' ');
                if is_opcode {
                    format!("change `{before}` on {} into `{after}`", self.line(*span))
                } else {
                    format!("change `{before}` into `{after}` in {}", self.statement(self.line_of(*span)))
                }
            }
            EditKind::Insert { text, is_after, anchor } => {
                let place = if *is_after { "after" } else { "before" };
                format!("add `{text}` right {place} {}", self.place(*anchor, *is_after))
            }
            EditKind::Move { span, is_after, anchor } => {
                let place = if *is_after { "after" } else { "before" };
                format!("move {} to right {place} {}", self.statement(*span), self.place(*anchor, *is_after))
            }
        }
    }

    /// A statement as a place: of a block, where it begins, or where it ends for what comes after it.
    fn place(&self, span: Span, is_after: bool) -> String {
        if is_after && self.case.sources.text(span).lines().nth(1).is_some() {
            let end = self.case.sources.line_column(Span { start: span.end, ..span }).line;
            return format!("`{}`, which ends on line {end}", self.shown(span));
        }
        self.statement(span)
    }

    /// `` `st.weak [data], 1;` on line 7 ``; of a block, how it starts and where.
    fn statement(&self, span: Span) -> String {
        format!("`{}` on {}", self.shown(span), self.line(span))
    }

    /// A statement as far as there is room for it, in one line.
    fn shown(&self, span: Span) -> String {
        let text = self.case.sources.text(span);
        let first = text.lines().next().unwrap_or("").split("//").next().unwrap_or("").trim();
        let mut shown: String = first.chars().take(STATEMENT_MAX).collect();
        if shown.chars().count() < first.chars().count() {
            shown.push('…');
        }
        if text.lines().nth(1).is_some() {
            shown.push_str(" …");
        }
        shown
    }

    /// The line that a place is on.
    fn line_of(&self, span: Span) -> Span {
        let text = &self.case.sources.file(span.file).text;
        let start = text[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        let end = text[span.end as usize..].find('\n').map_or(text.len(), |at| span.end as usize + at);
        Span::new(span.file, start, end)
    }

    /// What was checked.
    fn checked(&self, repair: &Repair) -> String {
        let these = if repair.edits.len() == 1 { "this change" } else { "these changes" };
        let with = if repair.others.is_empty() {
            format!("with {these}")
        } else {
            format!("with {these}, and that to {},", self.lines(&repair.others))
        };
        let n_all = self.case.kernel.launches.len();
        let launches = match repair.n_launches {
            _ if n_all <= 1 || !repair.stays.is_empty() => String::new(),
            n if n >= n_all => format!(" in any of the {n} launches"),
            n => {
                let others = if repair.fails_elsewhere {
                    "; in another one something still is"
                } else {
                    "; of the others no answer came within the work that a help may take"
                };
                let these =
                    if n == 1 { "this launch".to_owned() } else { format!("{n} of the {n_all} launches") };
                format!(" in {these}{others}")
            }
        };
        let mut bound = if repair.within_bound { " within the loop bound" } else { "" }.to_owned();
        if !repair.values.is_empty() {
            let value = super::summary::values(&repair.values);
            bound += &format!(
                " with {value}; of other values no answer came within the work that a help may take"
            );
        }
        let checked = if compiled::is_of_compiled(self.case.sources, &repair.edits) {
            "checked in the PTX"
        } else {
            "checked"
        };
        if !repair.open.is_empty() {
            let is_spa = self.case.outcome.launch.spa.is_some();
            let mut open: Vec<&str> =
                repair.open.iter().map(|&own| super::wording::property(own, is_spa)).collect();
            if repair.between_two && open.first() == Some(&"data races") {
                open[0] = "other data races";
            }
            let two = if repair.between_two { " between these two threads" } else { "" };
            return format!(
                "{checked}: {with} this is gone{two}{bound}{launches}; of the rest ({}) no answer came within the work that a \
                 help may take",
                open.join(", ")
            );
        }
        if repair.stays.is_empty() {
            return format!("{checked}: {with} nothing is violated{bound}{launches}");
        }
        let stays: Vec<&str> = repair.stays.iter().map(|&property| left(property)).collect();
        let verb = if stays.len() == 1 { "stays" } else { "stay" };
        format!("{checked}: {with} this is gone{bound}; {} {verb}", stays.join(" and "))
    }

    /// `line 7 and line 9`.
    fn lines(&self, edits: &[Edit]) -> String {
        let mut lines: Vec<String> = Vec::new();
        for edit in edits {
            let line = self.line(edit.span());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join(" and ")
    }
}

/// Of how many changes no answer came, and how many were not tried.
fn undecided(explanation: &Explanation) -> String {
    let more = "(`fencepost fix` may take more)";
    let within = format!("no answer came within the work that a help may take {more}");
    let of_some = match explanation.tries.n_undecided {
        0 => String::new(),
        1 => format!("; of one {within}"),
        n => format!("; of {n} {within}"),
    };
    let others = match explanation.tries.n_untried {
        0 => return of_some,
        1 => "another one".to_owned(),
        n => format!("{n} others"),
    };
    let more = if of_some.is_empty() { format!(" {more}") } else { String::new() };
    let were = if explanation.tries.n_untried == 1 { "was" } else { "were" };
    format!("{of_some}; {others} {were} not tried, since the work that a help may take was done{more}")
}

/// What is left where a property stays broken.
fn left(property: Property) -> &'static str {
    match property {
        Property::Race => "a race",
        Property::Assert => "a failed assertion",
        Property::Deadlock => "a hang",
        Property::Barrier => "a broken rule about barriers",
        Property::Lifetime => "an access outside a CTA's lifetime",
        Property::Bounds => "an access out of bounds",
        Property::Reachable => "a statement that is never reached",
        Property::Condition => "the condition",
    }
}
