//! Advice for an error in a line with a word or the shape of another language: what to write instead.
//!
//! Only lines with an error are looked at, so a kernel may use any of these as a name.

use crate::habits;
use crate::shape::Place;
use crate::words::{MODIFIERS, TYPES, WORDS};
use std::ops::Range;

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

/// An error that a text has, as far as advice depends on it.
#[derive(Clone, Debug)]
pub struct Stumble<'t> {
    /// The text of the whole file.
    pub text: &'t str,
    /// The bytes that the error marks.
    pub marked: Range<usize>,
    /// `family::kebab-name`.
    pub code: &'t str,
    /// One sentence: what is wrong.
    pub message: &'t str,
    /// Whether it says what to do already.
    pub has_help: bool,
}

/// What to write where a line with an error has a word or the shape of another language, if it has one.
pub fn advice(error: &Stumble<'_>) -> Option<String> {
    let is_syntax = error.code.starts_with("syntax::");
    let is_asked = is_syntax || VAGUE.contains(&error.code) || habits::PRECISE.contains(&error.code);
    if !is_asked || error.code == "syntax::unexpected-end" {
        return None;
    }
    let (line, at) = error.line();
    let is_of_ptx = || !error.message.starts_with("expected a path") && line.contains(" entry ");
    if is_syntax && line.trim_start().starts_with("import") && !is_of_ptx() {
        return Some(IMPORT.to_owned());
    }
    let width = error.marked.len();
    let place = Place::new(line, at, error.message);
    let of_habit = || {
        let strange = || if is_syntax { habits::look_alike(line, at) } else { None };
        strange().or_else(|| place.reserved()).or_else(|| error.later()).or_else(|| {
            let is_outside = error.message.starts_with("expected `const`");
            let own = habits::answer(place.text, error.with_tail(line), is_outside);
            let before = || habits::answer(error.line_before()?, "", false);
            own.or_else(|| if is_syntax { before() } else { None })
        })
    };
    if let Some(help) = of_habit() {
        return Some(help);
    }
    // The parser stumbles behind what it did not understand, the others say where it is.
    let by_word = || by_word(line, at, width, is_syntax);
    match error.code {
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
            let is_guess = error.has_help || !error.message.ends_with("is not declared");
            let declared = || {
                place.assigned(width).or_else(|| place.constant(width)).or_else(|| place.undeclared(width))
            };
            let declared = || if is_guess { None } else { declared() };
            by_word().or_else(|| place.first_operand()).or_else(declared)
        }
        "resolve::width-mismatch" => place.waited(),
        _ if is_syntax => {
            let unended = || error.word_of_unended();
            place.telling().or_else(by_word).or_else(|| place.other()).or_else(unended)
        }
        _ => by_word(),
    }
}

impl<'t> Stumble<'t> {
    /// Where it begins.
    fn start(&self) -> usize {
        self.marked.start.min(self.text.len())
    }

    /// Where the line begins in which it does.
    fn start_of_line(&self) -> usize {
        self.text[..self.start()].rfind('\n').map_or(0, |at| at + 1)
    }

    /// The line in which it begins, and where it begins there.
    fn line(&self) -> (&'t str, usize) {
        let (start, from) = (self.start(), self.start_of_line());
        let to = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line = self.text[from..to].split("//").next().unwrap_or_default();
        (line, start - from)
    }

    /// The line with what `//` in the middle of an expression made a comment of.
    fn with_tail(&self, line: &'t str) -> &'t str {
        let is_statement = line.trim_end().ends_with(';') || line.trim_end().ends_with(['{', '}', ',']);
        let whole = self.text[self.start_of_line()..].lines().next().unwrap_or(line);
        if is_statement || line.trim().is_empty() || !whole.trim_end().ends_with(';') { line } else { whole }
    }

    /// The line before, where an error is at the beginning of its own: what was left open there is most likely meant.
    fn line_before(&self) -> Option<&'t str> {
        let before = self.text.get(..self.marked.start)?;
        let own = before.rfind('\n').map_or(0, |at| at + 1);
        let last = before[..own].trim_end().lines().last()?.trim();
        let is_open = !last.starts_with("//") && (last.contains("//") || !last.ends_with([';', '{', '}']));
        (before[own..].trim().is_empty() && is_open).then_some(last)
    }

    /// A name that is declared further down.
    fn later(&self) -> Option<String> {
        const KINDS: &[&str] =
            &["global", "shared", "symmetric", "param", "tmem", "register", "let", "var", "const"];
        let name = self.text.get(self.marked.clone()).unwrap_or_default();
        if self.code != "resolve::unknown-name"
            || !self.message.ends_with("is not declared")
            || name.is_empty()
        {
            return None;
        }
        let line = self.text[..self.start()].matches('\n').count() + 1;
        let declares = |statement: &str| {
            let (kind, rest) = statement.trim_start().split_once(' ')?;
            let rest = rest.trim_start().strip_prefix(name)?;
            let is_whole = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            (KINDS.contains(&kind) && is_whole).then_some(())
        };
        // What another kernel declares is not meant.
        let ends = |text: &str| ["kernel ", "fn ", "program "].iter().any(|word| text.starts_with(word));
        let below =
            self.text.lines().enumerate().skip(line - 1).take_while(|(at, text)| *at < line || !ends(text));
        let (at, _) = below.into_iter().find(|(_, text)| {
            text.split("//")
                .next()
                .unwrap_or_default()
                .split([';', '{', '}'])
                .any(|part| declares(part).is_some())
        })?;
        Some(format!("`{name}` is declared on line {}, after its use: move the declaration up", at + 1))
    }

    /// Where a `;` is missing at the end of a line, the error is at the beginning of the next.
    fn word_of_unended(&self) -> Option<String> {
        let (line, at) = self.line();
        if !self.message.contains("`;`") || !line.get(..at)?.trim().is_empty() {
            return None;
        }
        let before = self.text.get(..self.marked.start)?.trim_end().lines().last()?.split("//").next()?;
        by_word(before, before.len(), 1, true)
    }
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
