//! What people write who know CUDA or PTX and are new here: for an error in a line with such a word, what to write instead.
//!
//! Nothing is accepted because of it. Only lines with an error are looked at, so a kernel may use any of these as a name.

mod chain;
mod habits;
mod index;
mod inline;
mod libcu;
mod names;
mod operands;
mod origin;
mod paste;
mod shape;
mod silent;
mod words;

pub use paste::take_out;
pub use silent::silent;

use crate::diagnostic::Diagnostic;
use crate::sorted::SortedSet;
use crate::source::SourceMap;
use crate::span::{FileId, Span};
use shape::Place;
use words::{MODIFIERS, TYPES, WORDS};

/// Codes of errors that say no more than that something is not of the language.
const VAGUE: &[&str] = &[
    "resolve::unknown-function",
    "resolve::unknown-name",
    "resolve::unknown-instruction",
    "resolve::misplaced-statement",
    "validate::unknown-modifier",
    "validate::operand-count",
    "validate::operand-kind",
    "validate::mbarrier-form",
    "resolve::not-constant",
    "resolve::unknown-type",
    "resolve::width-mismatch",
    "unsupported::instruction",
];

/// What to write for an `import` that names no text.
const IMPORT: &str = "a compiled kernel is imported by `import \"k.ptx\" entry NAME as k { … }`, functions of another file by \
                      `use \"lib/lock.fence\";`, before the kernel";

/// Says what to write where a line with an error has a word of CUDA or PTX that is none here. What else the parser has
/// stumbled over in such a line goes. They are in order of place.
pub fn advise(sources: &SourceMap, diagnostics: &mut Vec<Diagnostic>) {
    let mut advised = SortedSet::new();
    diagnostics.retain_mut(|diagnostic| {
        if diagnostic.code == "syntax::foreign" {
            return true;
        }
        let line = (diagnostic.span().file.0, sources.line_column(diagnostic.span()).line);
        if advised.contains(&line) && diagnostic.code.starts_with("syntax::") {
            return false;
        }
        if is_advised(sources, diagnostic) {
            advised.insert(line);
        }
        true
    });
}

/// Whether there was something to say of it, which is then said.
fn is_advised(sources: &SourceMap, diagnostic: &mut Diagnostic) -> bool {
    let is_syntax = diagnostic.code.starts_with("syntax::");
    if !is_syntax && !VAGUE.contains(&diagnostic.code) && !habits::PRECISE.contains(&diagnostic.code) {
        return false;
    }
    let span = diagnostic.span();
    if diagnostic.code == "syntax::unexpected-end" {
        if let Some(open) = unclosed(sources, span.file) {
            *diagnostic = diagnostic.clone().with_label(open, "this `{` has no `}`");
            diagnostic.help = Some("close it with `}`".to_owned());
        } else if diagnostic.message.contains("`;`") {
            diagnostic.help = Some("it ends with `;`".to_owned());
        }
        return false;
    }
    let (line, at) = line_of(sources, span);
    let is_of_ptx = || !diagnostic.message.starts_with("expected a path") && line.contains(" entry ");
    if is_syntax && line.trim_start().starts_with("import") && !is_of_ptx() {
        diagnostic.help = Some(IMPORT.to_owned());
        return true;
    }
    let width = span.end.saturating_sub(span.start) as usize;
    let place = Place::new(line, at, &diagnostic.message);
    let of_habit = || {
        let strange = || if is_syntax { habits::look_alike(line, at) } else { None };
        strange().or_else(|| place.reserved()).or_else(|| later(sources, diagnostic)).or_else(|| {
            let is_outside = diagnostic.message.starts_with("expected `const`");
            let own = habits::answer(place.text, with_tail(sources, span, line), is_outside);
            let before = || habits::answer(line_before(sources, span)?, "", false);
            own.or_else(|| if is_syntax { before() } else { None })
        })
    };
    if let Some(help) = of_habit() {
        diagnostic.help = Some(help);
        return true;
    }
    // The parser stumbles behind what it did not understand, the others say where it is.
    let by_word = || by_word(line, at, width, is_syntax);
    let found = match diagnostic.code {
        "validate::unknown-modifier" => line.get(at..).and_then(modifier),
        "validate::operand-count" => {
            place.comparison().or_else(|| place.result()).or_else(|| place.form()).or_else(by_word)
        }
        "validate::operand-kind" => place.unbracketed(width),
        "validate::mbarrier-form" => place.wait(),
        "resolve::unknown-type" => line.get(at..).and_then(type_name),
        "resolve::not-constant" => place.size(width),
        "resolve::unknown-instruction" => place.axis().or_else(|| place.call()).or_else(by_word),
        "resolve::unknown-name" => {
            // Launches, streams and kernels are declared in ways of their own, and say so.
            let is_guess = diagnostic.help.is_some() || !diagnostic.message.ends_with("is not declared");
            let declared = || {
                place.assigned(width).or_else(|| place.constant(width)).or_else(|| place.undeclared(width))
            };
            let declared = || if is_guess { None } else { declared() };
            by_word().or_else(|| place.first_operand()).or_else(declared)
        }
        "resolve::width-mismatch" => place.waited(),
        _ if is_syntax => {
            let unended = || word_of_unended(sources, span, &diagnostic.message);
            place.telling().or_else(by_word).or_else(|| place.other()).or_else(unended)
        }
        _ => by_word(),
    };
    let is_known = found.is_some();
    diagnostic.help = found.or(diagnostic.help.take());
    is_known
}

/// The line in which a span begins, and where it begins there.
fn line_of(sources: &SourceMap, span: Span) -> (&str, usize) {
    let text: &str = &sources.file(span.file).text;
    let start = (span.start as usize).min(text.len());
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = text[from..to].split("//").next().unwrap_or_default();
    (line, start - from)
}

/// The line with what `//` in the middle of an expression made a comment of.
fn with_tail<'s>(sources: &'s SourceMap, span: Span, line: &'s str) -> &'s str {
    let text: &str = &sources.file(span.file).text;
    let is_statement = line.trim_end().ends_with(';') || line.trim_end().ends_with(['{', '}', ',']);
    let start = (span.start as usize).min(text.len());
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let whole = text[from..].lines().next().unwrap_or(line);
    if is_statement || line.trim().is_empty() || !whole.trim_end().ends_with(';') { line } else { whole }
}

/// The line before, where an error is at the beginning of its own: what was left open there is most likely meant.
fn line_before(sources: &SourceMap, span: Span) -> Option<&str> {
    let text: &str = &sources.file(span.file).text;
    let before = text.get(..span.start as usize)?;
    let own = before.rfind('\n').map_or(0, |at| at + 1);
    let last = before[..own].trim_end().lines().last()?.trim();
    let is_open = !last.starts_with("//") && (last.contains("//") || !last.ends_with([';', '{', '}']));
    (before[own..].trim().is_empty() && is_open).then_some(last)
}

/// A name that is declared further down.
fn later(sources: &SourceMap, error: &Diagnostic) -> Option<String> {
    const KINDS: &[&str] =
        &["global", "shared", "symmetric", "param", "tmem", "register", "let", "var", "const"];
    let (span, name) = (error.span(), sources.text(error.span()));
    if error.code != "resolve::unknown-name" || !error.message.ends_with("is not declared") || name.is_empty()
    {
        return None;
    }
    let text: &str = &sources.file(span.file).text;
    let line = sources.line_column(span).line;
    let declares = |statement: &str| {
        let (kind, rest) = statement.trim_start().split_once(' ')?;
        let rest = rest.trim_start().strip_prefix(name)?;
        let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        (KINDS.contains(&kind) && is_whole).then_some(())
    };
    // What another kernel declares is not meant.
    let ends = |text: &str| ["kernel ", "fn ", "program "].iter().any(|word| text.starts_with(word));
    let below = text.lines().enumerate().skip(line - 1).take_while(|(at, text)| *at < line || !ends(text));
    let (at, _) = below.into_iter().find(|(_, text)| {
        text.split("//")
            .next()
            .unwrap_or_default()
            .split([';', '{', '}'])
            .any(|part| declares(part).is_some())
    })?;
    Some(format!("`{name}` is declared on line {}, after its use: move the declaration up", at + 1))
}

/// Names and what looks like one, with where they begin: `blockIdx`, `%ctaid`.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '%';
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + line[rest..].find(is_part)?;
        let end = line[start..].find(|c| !is_part(c)).map_or(line.len(), |n| start + n);
        rest = end;
        Some((start, &line[start..end]))
    })
}

fn by_word(line: &str, at: usize, width: usize, looks_back: bool) -> Option<String> {
    let is = |pattern: &str, word: &str| match pattern.strip_suffix('*') {
        Some(prefix) => word.starts_with(prefix),
        None => word == pattern,
    };
    let known = |word: &str| WORDS.iter().find(|(pattern, _)| is(pattern, word));
    // The parser stumbles behind what it does not understand; at a qualified name it does at the first `::`, and the last
    // part of that says most, unless it is a word like any other.
    let rest = line.get(at..).unwrap_or_default();
    let is_qualified = looks_back && rest.starts_with("::");
    let until = if is_qualified { at + rest.find('(').unwrap_or(rest.len()) } else { at + width.max(1) };
    let is_near = |start: usize, word: &str| start < until && (looks_back || at < start + word.len());
    // What stands behind a dot is a part of an instruction.
    let is_free = |start: usize| !line[..start].ends_with('.');
    let mut near = words(line).filter(|&(start, word)| is_free(start) && is_near(start, word));
    let found = if is_qualified {
        let mut parts: Vec<_> = near.filter_map(|(_, word)| known(word)).collect();
        parts.sort_by_key(|(pattern, _)| !["sync", "wait"].contains(pattern));
        parts.pop()
    } else {
        near.find_map(|(_, word)| known(word))
    };
    found.map(|(_, help)| (*help).to_owned())
}

/// A scope or sem in other words.
fn modifier(here: &str) -> Option<String> {
    let own = here.trim_start_matches('.').split(['.', ' ', '[', ';']).next()?;
    let known = |word: &str| MODIFIERS.iter().find(|(other, _)| *other == word);
    let (_, known) = words(own).find_map(|(_, word)| known(word))?;
    Some(format!("write `.{known}`"))
}

/// A type of another language.
fn type_name(here: &str) -> Option<String> {
    let (_, own) = words(here).next()?;
    let (_, known) = TYPES.iter().find(|(word, _)| *word == own)?;
    Some((*known).to_owned())
}

/// Where a `;` is missing at the end of a line, the error is at the beginning of the next.
fn word_of_unended(sources: &SourceMap, span: Span, message: &str) -> Option<String> {
    let text: &str = &sources.file(span.file).text;
    let (line, at) = line_of(sources, span);
    if !message.contains("`;`") || !line.get(..at)?.trim().is_empty() {
        return None;
    }
    let before = text.get(..span.start as usize)?.trim_end().lines().last()?.split("//").next()?;
    by_word(before, before.len(), 1, true)
}

/// The brace that is likely to lack its other half: one whose other half stands further left than its line begins, or else
/// the last that is open in the end.
fn unclosed(sources: &SourceMap, file: FileId) -> Option<Span> {
    let text: &str = &sources.file(file).text;
    let indent_at = |at: usize| {
        let from = text[..at].rfind('\n').map_or(0, |at| at + 1);
        text[from..].len() - text[from..].trim_start_matches([' ', '\t']).len()
    };
    let mut open: Vec<usize> = Vec::new();
    let mut suspect = None;
    let mut is_comment = false;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '\n' => is_comment = false,
            '/' if previous == '/' => is_comment = true,
            '{' if !is_comment => open.push(at),
            '}' if !is_comment => {
                if let Some(start) = open.pop()
                    && !text[start..at].lines().nth(1).is_none_or(str::is_empty)
                    && indent_at(at) < indent_at(start)
                {
                    suspect.get_or_insert(start);
                }
            }
            _ => {}
        }
        previous = c;
    }
    let at = suspect.or_else(|| open.last().copied())?;
    Some(Span::new(file, at, at + 1))
}
