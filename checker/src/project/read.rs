//! The text of a `fencepost.toml` into settings. An error does not end the reading: all of them are told.

use super::settings::{Accepted, Settings, Severities, Severity};
use crate::findings::{self, Property};
use crate::models;
use fencepost_dsl::kernel::suggest;
use fencepost_dsl::{Diagnostic, FileId, SourceMap, Span};
use std::ops::Range;
use std::path::{Component, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What all errors are called.
const CODE: &str = "input::settings";

/// The keys at the top.
const KEYS: &[&str] = &[
    "paths",
    "launches",
    "properties",
    "budget",
    "unroll",
    "unroll-max",
    "max-events",
    "max-clauses",
    "model",
    "variants",
    "target",
    "baseline",
    "book",
    "warnings",
    "accept",
];

/// The keys of what is accepted.
const ACCEPT_KEYS: &[&str] = &["file", "kernel", "launch", "bound", "reason"];

/// A file without a text.
pub(super) fn unreadable(file: FileId, name: &str, why: &str) -> Diagnostic {
    Diagnostic::new(CODE, format!("`{name}` cannot be read: {why}"), Span::new(file, 0, 0), "")
}

/// Reads a text.
pub(super) fn settings(text: &str, file: FileId, name: &str) -> Result<Settings, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    sources.add(name, text);
    let mut reader = Reader { file, text, errors: Vec::new() };
    let (table, broken) = DeTable::parse_recoverable(text);
    for error in broken {
        let span = reader.span(&error.span().unwrap_or(0..0));
        reader.errors.push(Diagnostic::new(CODE, format!("this is no TOML: {}", error.message()), span, ""));
    }
    let mut settings = Settings::default();
    if reader.errors.is_empty() {
        for (key, value) in table.get_ref() {
            reader.setting(key, value, &mut settings);
        }
    }
    reader.errors.sort_by_key(|error| error.span());
    if reader.errors.is_empty() { Ok(settings) } else { Err(reader.errors) }
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;
type Value<'i> = Spanned<DeValue<'i>>;

struct Reader<'t> {
    file: FileId,
    text: &'t str,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn span(&self, bytes: &Range<usize>) -> Span {
        Span::new(self.file, bytes.start, bytes.end)
    }

    fn error(&mut self, bytes: &Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let error = Diagnostic::new(CODE, message, self.span(bytes), "").with_help(help);
        self.errors.push(error);
    }

    fn setting(&mut self, key: &Key<'_>, value: &Value<'_>, into: &mut Settings) {
        match key.get_ref().as_ref() {
            "paths" => into.paths = self.texts(value).iter().filter_map(|text| self.path(text)).collect(),
            "launches" => into.launches = self.texts(value).into_iter().map(|text| text.1).collect(),
            "properties" => into.properties = self.properties(value),
            "budget" => into.budget = self.number(value),
            "unroll" => into.unroll = self.number(value),
            "unroll-max" => into.unroll_max = self.number(value),
            "max-events" => into.max_events = self.number(value),
            "max-clauses" => into.max_clauses = self.number(value),
            "model" => into.model = self.model(value),
            "variants" => into.variants = self.texts(value).into_iter().map(|text| text.1).collect(),
            "target" => into.target = self.text(value),
            "baseline" => into.baseline = self.text(value).and_then(|text| self.path(&(value.span(), text))),
            "book" => into.book = self.book(value),
            "warnings" => into.warnings = self.warnings(value),
            "accept" => into.accepted = self.accepted(value),
            _ => return self.unknown(key, KEYS, ""),
        }
        if let (Some(first), Some(last)) = (into.unroll, into.unroll_max)
            && first > last
            && matches!(key.get_ref().as_ref(), "unroll" | "unroll-max")
        {
            let message =
                format!("loops are unrolled from `unroll` to `unroll-max`, and {first} is above {last}");
            self.error(&key.span(), message, "lower the one, or raise the other");
        }
    }

    /// A key that is none, and what it might have been.
    fn unknown(&mut self, key: &Key<'_>, known: &[&'static str], of: &str) {
        let word = key.get_ref().as_ref();
        let plain = word.replace('_', "-");
        let near = known.iter().copied().find(|own| *own == plain || own.trim_end_matches('s') == plain);
        let help = match near.or_else(|| suggest(word, known.iter().copied())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        self.error(&key.span(), format!("there is no setting `{word}`{of}"), help);
    }

    fn wrong(&mut self, value: &Value<'_>, wanted: &str) {
        let shown =
            self.text.get(value.span()).unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        self.error(&value.span(), format!("`{shown}` is not {wanted}"), format!("write {wanted}"));
    }

    fn text(&mut self, value: &Value<'_>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Some(text.as_ref().to_owned()),
            _ => {
                self.wrong(value, "a text in quotation marks");
                None
            }
        }
    }

    fn texts(&mut self, value: &Value<'_>) -> Vec<(Range<usize>, String)> {
        let DeValue::Array(values) = value.get_ref() else {
            self.wrong(value, "a list of texts, as in `[\"a\", \"b\"]`");
            return Vec::new();
        };
        let texts = values.iter().filter_map(|value| Some((value.span(), self.text(value)?)));
        texts.collect()
    }

    fn number<N: TryFrom<u64>>(&mut self, value: &Value<'_>) -> Option<N> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|&number| number > 0).and_then(|number| N::try_from(number).ok());
        if number.is_none() {
            self.wrong(value, "a whole number of at least 1");
        }
        number
    }

    /// A path below the folder of the file, in the spelling of this system.
    fn path(&mut self, (bytes, text): &(Range<usize>, String)) -> Option<PathBuf> {
        let path = PathBuf::from(text);
        if path.is_absolute() {
            self.error(
                bytes,
                format!("`{text}` is the path of one machine"),
                "write it relative to the folder of this file",
            );
            return None;
        }
        Some(path.components().filter(|part| *part != Component::CurDir).collect())
    }

    fn properties(&mut self, value: &Value<'_>) -> Vec<Property> {
        let names = || Property::ALL.into_iter().map(Property::name);
        let mut found = Vec::new();
        for (bytes, text) in self.texts(value) {
            match Property::ALL.into_iter().find(|property| property.name() == text) {
                Some(property) => found.push(property),
                None => {
                    let help = match suggest(&text, names()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                    };
                    self.error(&bytes, format!("there is no property `{text}`"), help);
                }
            }
        }
        found
    }

    fn model(&mut self, value: &Value<'_>) -> Option<String> {
        let text = self.text(value)?;
        if text.ends_with(".cat") {
            return self.path(&(value.span(), text)).map(|path| path.to_string_lossy().into_owned());
        }
        if models::text(&text).is_none() {
            let help = match suggest(&text, models::names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "there are {}; a model of your own is a file that ends in `.cat`",
                    models::names().collect::<Vec<_>>().join(", ")
                ),
            };
            self.error(&value.span(), format!("there is no memory model `{text}`"), help);
            return None;
        }
        Some(text)
    }

    fn book(&mut self, value: &Value<'_>) -> Option<String> {
        let text = self.text(value)?;
        if !(text.starts_with("https://") || text.starts_with("http://") || text.starts_with("file://")) {
            self.wrong(value, "the address of the book's first page, as in `\"https://…/fencepost/\"`");
            return None;
        }
        Some(text.trim_end_matches("index.html").trim_end_matches('/').to_owned())
    }

    fn warnings(&mut self, value: &Value<'_>) -> Severities {
        let mut found = Severities::default();
        let DeValue::Table(table) = value.get_ref() else {
            self.wrong(value, "a table, as in `[warnings]`");
            return found;
        };
        let codes: Vec<&'static str> = findings::warnings().map(|kind| kind.code).collect();
        let short: Vec<&'static str> =
            codes.iter().map(|code| code.trim_start_matches("warning::")).collect();
        for (key, value) in table {
            let word = key.get_ref().trim_start_matches("warning::");
            let Some(severity) = self.severity(value) else { continue };
            match short.iter().position(|own| *own == word) {
                Some(at) => found.named.push((codes[at], severity)),
                None if word == "all" => found.all = severity,
                None => {
                    let known: Vec<&'static str> = short.iter().copied().chain(["all"]).collect();
                    self.unknown(key, &known, " of warnings");
                }
            }
        }
        found
    }

    fn severity(&mut self, value: &Value<'_>) -> Option<Severity> {
        let severity = match value.get_ref() {
            DeValue::String(text) => match text.as_ref() {
                "allow" => Some(Severity::Allow),
                "warn" => Some(Severity::Warn),
                "deny" => Some(Severity::Deny),
                _ => None,
            },
            _ => None,
        };
        if severity.is_none() {
            self.wrong(value, "`\"allow\"`, `\"warn\"` or `\"deny\"`");
        }
        severity
    }

    fn accepted(&mut self, value: &Value<'_>) -> Vec<Accepted> {
        let DeValue::Array(entries) = value.get_ref() else {
            self.wrong(value, "a list of tables, each under `[[accept]]`");
            return Vec::new();
        };
        entries.iter().filter_map(|entry| self.accept(entry)).collect()
    }

    fn accept(&mut self, entry: &Value<'_>) -> Option<Accepted> {
        let DeValue::Table(table) = entry.get_ref() else {
            self.wrong(entry, "a table, under `[[accept]]`");
            return None;
        };
        let (mut file, mut kernel, mut launch, mut bound, mut reason) = (None, None, None, None, None);
        let before = self.errors.len();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "file" => file = self.text(value).and_then(|text| self.path(&(value.span(), text))),
                "kernel" => kernel = self.text(value),
                "launch" => launch = self.text(value),
                "bound" => bound = self.number(value),
                "reason" => reason = self.text(value),
                _ => self.unknown(key, ACCEPT_KEYS, " of what is accepted"),
            }
        }
        if self.errors.len() > before {
            return None;
        }
        let missing =
            [("kernel", kernel.is_none()), ("bound", bound.is_none()), ("reason", reason.is_none())];
        for (name, _) in missing.iter().filter(|(_, is_missing)| *is_missing) {
            let help = match *name {
                "kernel" => "name the kernel whose proof up to a bound is good enough",
                "bound" => "add the loop bound that is good enough, as in `bound = 8`",
                _ => {
                    "say why the loop cannot go wrong past the bound: whoever reads this later has to judge it"
                }
            };
            let head = table.iter().next().map_or_else(|| entry.span(), |(key, _)| key.span());
            self.error(&head, format!("what is accepted here has no `{name}`"), help);
        }
        let line = self.text[..entry.span().start.min(self.text.len())].matches('\n').count() + 1;
        Some(Accepted { file, kernel: kernel?, launch, bound: bound?, reason: reason?, line })
    }
}
