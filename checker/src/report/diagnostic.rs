//! Findings and input errors as annotated source: headline, snippet, why, rule, help.

use super::case::{Case, Style, wrap};
use super::excerpt::Excerpt;
use super::wording::Words;
use crate::event::EventId;
use crate::explain::{Explanation, Subject};
use crate::warn::Warning;
use crate::witness::Witness;
use fencepost_dsl::span::FileId;
use fencepost_dsl::{Diagnostic, SourceMap, Span};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan};
use std::fmt;
use std::ops::Range;

/// Of what happened before a rule was broken, so many events are labelled; the sentence lists more.
const FACTS_MAX: usize = 4;

/// All findings of a launch: each cause in full, with what follows from it in a line each.
pub fn findings(case: &Case<'_>, with_trace: bool, style: Style) -> String {
    let mut text = String::new();
    for (i, (found, explanation)) in case.outcome.findings.iter().zip(case.explanations).enumerate() {
        if explanation.cause.is_some() {
            continue;
        }
        text += &format!("\n{}", finding(case, &found.witness, explanation, style));
        text += &consequences(case, i, style);
        text += &more(explanation, style);
        if with_trace {
            text += &format!("\n{}", super::trace::trace(case, &found.witness, explanation, style));
        }
    }
    text
}

/// The findings that have the cause of another one.
fn consequences(case: &Case<'_>, root: usize, style: Style) -> String {
    let all = case.outcome.findings.iter().zip(case.explanations);
    let mut lines: Vec<String> = Vec::new();
    for (found, explanation) in all.filter(|(_, explanation)| explanation.cause == Some(root)) {
        let words = Words { case, witness: &found.witness };
        let mut numbers: Vec<usize> = labels(&words, explanation)
            .iter()
            .take(2)
            .map(|(span, _)| case.sources.line_column(*span).line)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let lines_of = match numbers.as_slice() {
            [] => String::new(),
            [only] => format!(", line {only}"),
            several => format!(", lines {}", several.join(" and ")),
        };
        lines.push(format!("{} ({}{lines_of})", words.headline(explanation), explanation.code));
    }
    let mut text = String::new();
    if let Some(first) = lines.first() {
        let of = if case.explanations[root].repair.is_some() {
            "mended by the same change"
        } else {
            "of the same cause"
        };
        let what =
            if lines.len() == 1 { format!("{of}: {first}") } else { format!("{of}, {} more:", lines.len()) };
        note(&mut text, "also", "1;33", &what, style);
        for line in lines.iter().filter(|_| lines.len() > 1) {
            for (i, part) in wrap(line, style.width.saturating_sub(10).max(20)).into_iter().enumerate() {
                text.push_str(&format!("        {}{part}\n", if i == 0 { "" } else { "  " }));
            }
        }
    }
    text
}

/// Where to read on.
fn more(explanation: &Explanation, style: Style) -> String {
    let mut text = String::new();
    note(&mut text, "more", "1;36", &format!("fencepost explain {}", explanation.code), style);
    text
}

/// A finding, drawn, without what follows from it.
fn finding(case: &Case<'_>, witness: &Witness, explanation: &Explanation, style: Style) -> String {
    let words = Words { case, witness };
    let labels = labels(&words, explanation);
    let mut text = draw(case.sources, explanation.code, &words.headline(explanation), labels, style);
    for sentence in words.reasons(explanation) {
        note(&mut text, "why", "1;36", &sentence, style);
    }
    if let Some(values) = Words::parameters(explanation) {
        note(&mut text, "with", "1;36", &values, style);
    }
    if !explanation.rules.is_empty() {
        note(&mut text, "rule", "1;36", &explanation.rules.join(", "), style);
    }
    for sentence in Words::elsewhere(explanation) {
        note(&mut text, "note", "1;36", &sentence, style);
    }
    if let Some(help) = words.advice(explanation) {
        note(&mut text, "help", "1;32", help, style);
    }
    if let Some(repair) = &explanation.repair {
        note(&mut text, "help", "1;32", &words.repair(repair), style);
    }
    if let Some(none) = words.no_repair(explanation) {
        note(&mut text, "help", "1;32", &none, style);
    }
    text
}

/// An error in a user's text, drawn.
pub fn input_error(sources: &SourceMap, error: &Diagnostic, style: Style) -> String {
    let labels = error.labels.iter().map(|label| (label.span, label.text.clone())).collect();
    let mut text = draw(sources, error.code, &error.message, labels, style);
    if !error.rules.is_empty() {
        note(&mut text, "rule", "1;36", &error.rules.join(", "), style);
    }
    if let Some(help) = &error.help {
        note(&mut text, "help", "1;32", help, style);
    }
    text
}

/// A warning, drawn.
pub(super) fn drawn_warning(sources: &SourceMap, warning: &Warning, style: Style) -> String {
    // Of a block its first line says enough.
    let first = sources.text(warning.span).lines().next().map_or(0, str::len);
    let span = Span::new(warning.span.file, warning.span.start as usize, warning.span.start as usize + first);
    let labels = vec![(span, "here".to_owned())];
    let mut text = draw(sources, warning.kind.code, &warning.message, labels, style);
    note(&mut text, "help", "1;32", warning.help, style);
    note(&mut text, "more", "1;36", &format!("fencepost explain {}", warning.kind.code), style);
    text
}

fn labels(words: &Words<'_>, explanation: &Explanation) -> Vec<(Span, String)> {
    let graph = &words.case.outcome.graph;
    let at = |event: EventId| Words::iterations(&graph.events[event].iterations);
    let mut labels: Vec<(Span, String)> = Vec::new();
    match &explanation.subject {
        Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
            let end = |event: EventId| {
                format!(
                    "{} {} here: `{}`{}",
                    words.thread(event),
                    words.verb(event),
                    words.brief(event),
                    at(event)
                )
            };
            match (words.span(*earlier), words.span(*later)) {
                (Some(first), Some(second)) if first == second => {
                    let tail = |event: EventId| {
                        format!("{} here: `{}`{}", words.verb(event), words.brief(event), at(event))
                    };
                    let both = if earlier == later {
                        end(*earlier)
                    } else if tail(*earlier) == tail(*later) {
                        let (first, second) = (words.thread(*earlier), words.thread(*later));
                        format!("(1) {first} and (2) {second}: each {}", tail(*earlier))
                    } else {
                        format!("(1) {}; (2) {}", end(*earlier), end(*later))
                    };
                    labels.push((first, both));
                }
                (first, second) => {
                    labels.extend(second.map(|span| (span, format!("(2) {}", end(*later)))));
                    labels.extend(first.map(|span| (span, format!("(1) {}", end(*earlier)))));
                }
            }
        }
        Subject::Assertion { agent, span, iterations } => {
            let place = format!("false for {}{}", words.agent(*agent), Words::iterations(iterations));
            labels.push((*span, place));
        }
        Subject::Final { span } => labels.push((*span, "false at the end of this execution".to_owned())),
        Subject::Bounds { agent, span, iterations, index, .. } => {
            let place =
                format!("{} uses index {index}{}", words.agent(*agent), Words::iterations(iterations));
            labels.push((*span, place));
        }
        Subject::Misuse { agent, span, iterations, .. } => {
            labels.push((*span, format!("{} here{}", words.agent(*agent), Words::iterations(iterations))));
        }
        Subject::Lifetime { access, owner, last, .. } => {
            let place = format!("{} {} here{}", words.thread(*access), words.verb(*access), at(*access));
            labels.extend(words.span(*access).map(|span| (span, place)));
            let end = last.and_then(|last| Some((words.span(last)?, last)));
            if let Some((span, last)) = end
                && labels.iter().all(|(known, _)| *known != span)
            {
                labels.push((span, format!("the last of {}: {}", words.cta(*owner), words.thread(last))));
            }
        }
        Subject::Deadlock { roles, .. } => {
            for role in roles {
                labels.push((role.span, words.waits_here(role)));
            }
        }
        Subject::Completion => {}
    }
    for event in explanation.reasons.iter().flat_map(|reason| reason.events()) {
        let Some(span) = words.span(event) else { continue };
        if labels.iter().all(|(known, _)| *known != span) {
            labels.push((span, format!("`{}` by {}", words.brief(event), words.thread(event))));
        }
    }
    labels.extend(launches(words, explanation));
    let told = explanation.facts.iter().flat_map(|facts| facts.events()).take(FACTS_MAX);
    for event in told {
        let Some(span) = words.span(event) else { continue };
        if labels.iter().all(|(known, _)| *known != span) {
            labels.push((span, format!("{} {} here{}", words.thread(event), words.verb(event), at(event))));
        }
    }
    labels.extend(calls(words, explanation, &labels));
    for fact in &explanation.reads {
        for event in [Some(fact.read), fact.source, fact.missed].into_iter().flatten() {
            let Some(span) = words.span(event) else { continue };
            if labels.iter().all(|(known, _)| *known != span) {
                labels.push((span, format!("{} {} here", words.thread(event), words.verb(event))));
            }
        }
    }
    labels
}

/// Where a program launches the two grids that are in no order.
fn launches(words: &Words<'_>, explanation: &Explanation) -> Vec<(Span, String)> {
    let Subject::Race { earlier, later } = explanation.subject else { return Vec::new() };
    let grids = &words.case.outcome.graph.hierarchy;
    let (first, second) = (words.grid(earlier), words.grid(later));
    let mut found: Vec<(Span, String)> = Vec::new();
    for grid in [first, second].into_iter().flatten().filter(|_| first != second) {
        let Some(name) = grids.grids()[grid].name.as_deref() else { continue };
        let mut tasks = words.case.kernel.tasks.iter().filter(|task| task.name == name);
        let Some(task) = tasks.next() else { continue };
        match found.iter_mut().find(|(span, _)| *span == task.span) {
            Some((_, text)) => *text = format!("{name} and {text}"),
            None => found.push((task.span, format!("{name} is launched here"))),
        }
    }
    found
}

/// The calls by which threads come to what is labelled, where it stands in functions.
fn calls(words: &Words<'_>, explanation: &Explanation, known: &[(Span, String)]) -> Vec<(Span, String)> {
    let of = |event: EventId| words.calls_to(event);
    let mut found: Vec<(Span, String)> = Vec::new();
    let mut push = |calls: &[Span], who: &str| {
        for &call in calls {
            if known.iter().chain(&found).all(|(span, _)| *span != call) {
                found.push((call, format!("in this call: {who}")));
            }
        }
    };
    match &explanation.subject {
        Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
            push(of(*earlier), if earlier == later { "this access" } else { "(1)" });
            push(of(*later), "(2)");
        }
        Subject::Assertion { agent, span, iterations }
        | Subject::Bounds { agent, span, iterations, .. }
        | Subject::Misuse { agent, span, iterations, .. } => {
            push(words.calls_to_statement(*agent, *span, iterations), &words.agent(*agent));
        }
        Subject::Lifetime { access, .. } => push(of(*access), &words.thread(*access)),
        Subject::Deadlock { roles, .. } => {
            for role in roles {
                push(words.calls_to_wait(role), &words.agents(&role.agents));
            }
        }
        Subject::Final { .. } | Subject::Completion => {}
    }
    let told = explanation.facts.iter().flat_map(|facts| facts.events()).take(FACTS_MAX);
    for event in explanation.reasons.iter().flat_map(|reason| reason.events()).chain(told) {
        push(of(event), &format!("`{}` by {}", words.instruction(event), words.thread(event)));
    }
    found
}

/// Appends `  title: text`, wrapped and aligned.
fn note(into: &mut String, title: &str, ansi: &str, text: &str, style: Style) {
    let indent = " ".repeat(title.len() + 4);
    for (i, line) in wrap(text, style.width.saturating_sub(indent.len()).max(20)).into_iter().enumerate() {
        if i == 0 {
            into.push_str(&format!("  {} {line}\n", style.paint(ansi, &format!("{title}:"))));
        } else {
            into.push_str(&format!("{indent}{line}\n"));
        }
    }
}

/// The labels with the lines that a compiler has them from: those that are at hand are shown first, others are named.
fn with_origins(sources: &SourceMap, labels: Vec<(Span, String)>) -> Vec<(Span, String)> {
    let is_first = labels.first().is_some_and(|(span, _)| sources.origin(*span).is_some());
    let mut shown: Vec<(Span, String)> = Vec::new();
    let mut own = Vec::new();
    for (span, text) in labels {
        let text = match sources.origin(span) {
            None => text,
            Some(origin) => match origin.span {
                Some(line) => {
                    match shown.iter_mut().find(|(known, _)| *known == line) {
                        Some((_, all)) => *all += &format!("; {text}"),
                        None => shown.push((line, text.clone())),
                    }
                    text
                }
                None => format!("{text} ({}:{})", origin.name, origin.line),
            },
        };
        own.push((span, text));
    }
    // Another file is first if what is wrong is there, such as a claim about the end.
    if is_first {
        shown.extend(own);
        return shown;
    }
    own.extend(shown);
    own
}

fn draw(sources: &SourceMap, code: &str, message: &str, labels: Vec<(Span, String)>, style: Style) -> String {
    let labels = with_origins(sources, labels);
    let theme = if style.color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(style.width)
        .with_context_lines(1)
        .without_cause_chain();
    let mut files: Vec<FileId> = Vec::new();
    for (span, _) in &labels {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    let mut text = String::new();
    let mut part = |file: Option<FileId>, code: &str, message: &str| {
        let snippet = Snippet::new(sources, (code, message), file, &labels, style.width);
        if handler.render_report(&mut text, &snippet).is_err() {
            text.push_str(&format!("{code}: {message}\n"));
        }
    };
    part(files.first().copied(), code, message);
    for &file in files.iter().skip(1) {
        part(Some(file), "", "and here");
    }
    text
}

/// Text that quotes a name of thousands of characters, without most of it.
fn clipped(text: &str) -> String {
    const CHARS_MAX: usize = 600;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Columns that a label has, which is drawn behind the middle of what it is about.
fn room_for_label(sources: &SourceMap, span: Span, n_lines: usize, width: usize) -> usize {
    const LEAST: usize = 24;
    let line = sources.text(span).lines().next().unwrap_or_default();
    let middle = sources.line_column(span).column - 1 + line.chars().count() / 2;
    // The number of the line and the bar behind it, and the arrow.
    let drawn = n_lines.to_string().len() + " │ ╰── ".chars().count() + 1;
    width.saturating_sub(drawn + middle).max(LEAST)
}

/// What miette draws: a message and the labels of one file.
#[derive(Debug)]
struct Snippet {
    code: String,
    message: String,
    source: Option<Excerpt>,
    labels: Vec<LabeledSpan>,
}

impl Snippet {
    fn new(
        sources: &SourceMap,
        (code, message): (&str, &str),
        file: Option<FileId>,
        labels: &[(Span, String)],
        width: usize,
    ) -> Self {
        let Some(file) = file else {
            return Self {
                code: code.to_owned(),
                message: message.to_owned(),
                source: None,
                labels: Vec::new(),
            };
        };
        let source = sources.file(file);
        let n_bytes = source.text.len();
        let (code, message) = (code.to_owned(), clipped(message));
        if n_bytes == 0 {
            return Self { code, message, labels: Vec::new(), source: None };
        }
        let labels: Vec<&(Span, String)> = labels.iter().filter(|(span, _)| span.file == file).collect();
        let lines = labels.iter().map(|(span, _)| sources.line_column(*span).line);
        let n_lines = lines.max().unwrap_or(1) + 1;
        let places: Vec<Range<usize>> = labels
            .iter()
            .map(|(span, _)| {
                // Spans past the end (of an empty file, say) would make miette give up on the whole snippet.
                let start = (span.start as usize).min(n_bytes);
                start..(span.end as usize).clamp(start, n_bytes)
            })
            .collect();
        let (excerpt, places) = Excerpt::new(sources, file, &places);
        let labels = labels
            .into_iter()
            .zip(places)
            .enumerate()
            .map(|(i, ((span, text), place))| {
                let room = room_for_label(sources, *span, n_lines, width);
                let label = if text.is_empty() { None } else { Some(wrap(&clipped(text), room).join("\n")) };
                if i == 0 {
                    LabeledSpan::new_primary_with_span(label, (place.start, place.len()))
                } else {
                    LabeledSpan::new_with_span(label, (place.start, place.len()))
                }
            })
            .collect();
        Self { code, message, labels, source: Some(excerpt) }
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Snippet {}

impl miette::Diagnostic for Snippet {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        if self.code.is_empty() { None } else { Some(Box::new(&self.code)) }
    }
    fn severity(&self) -> Option<miette::Severity> {
        self.code.starts_with("warning::").then_some(miette::Severity::Warning)
    }
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|source| source as &dyn miette::SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::input_error;
    use crate::report::Style;
    use fencepost_dsl::{Diagnostic, SourceMap, Span};

    #[test]
    fn an_error_shows_its_line_rule_and_help() {
        let mut sources = SourceMap::default();
        let file = sources.add("k.fence", "kernel k {\n  fence.acq_rel;\n}\n");
        let error = Diagnostic::new(
            "validate::missing-scope",
            "`fence` needs a scope",
            Span::new(file, 13, 26),
            "here",
        )
        .with_rule("FN-1")
        .with_help("write `fence.acq_rel.gpu`");
        let text = input_error(&sources, &error, Style::PLAIN);
        for part in
            ["validate::missing-scope", "k.fence:2:3", "needs a scope", "rule: FN-1", "help: write `fence"]
        {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn of_a_long_line_only_what_is_labelled_is_drawn() {
        let mut sources = SourceMap::default();
        for before in [0, 300, 500, 65_535, 200_000] {
            let text = format!(
                "// {}\n{}wrong{}\n// after",
                "ä".repeat(before),
                "x".repeat(before),
                "y".repeat(900)
            );
            let start = text.find("wrong").expect("it is there");
            let file = sources.add("long.fence", text.as_str());
            let error = Diagnostic::new(
                "syntax::bad-token",
                "m".repeat(before),
                Span::new(file, start, start + 5),
                "here",
            );
            let drawn = input_error(&sources, &error, Style::PLAIN);
            assert!(drawn.contains(&format!("long.fence:2:{}]", before + 1)), "{before}: {drawn}");
            assert!(
                drawn.contains("wrong") && drawn.contains("here") && drawn.len() < 8_000,
                "{before}: {drawn}"
            );
        }
        // A label over lines that are cut.
        let text = format!("{0}\n{0}\n", "z".repeat(70_000));
        let file = sources.add("over.fence", text.as_str());
        let error = Diagnostic::new("syntax::bad-token", "all", Span::new(file, 10, text.len()), "of this");
        assert!(input_error(&sources, &error, Style::PLAIN).contains("of this"));
    }

    #[test]
    fn a_span_outside_its_file_is_drawn_all_the_same() {
        let mut sources = SourceMap::default();
        let file = sources.add("empty.fence", "");
        let error = Diagnostic::new("syntax::unexpected-end", "nothing here", Span::new(file, 0, 5), "");
        assert!(input_error(&sources, &error, Style::PLAIN).contains("nothing here"));
        let short = sources.add("short.fence", "ab");
        let error =
            Diagnostic::new("syntax::unexpected-end", "cut off", Span::new(short, 1, 50), "ends here");
        assert!(input_error(&sources, &error, Style::PLAIN).contains("ends here"));
    }
}
