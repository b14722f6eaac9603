//! What a page can ask: a check, a layout, a step of a run.

use crate::steps;
use fencepost::dsl::SourceMap;
use fencepost::dsl::kernel::parse;
use fencepost::dsl::kernel::pretty::pretty;
use fencepost::parallel::on_large_stack;
use fencepost::report::diagnostic;
use fencepost::{InputError, Options, Report, Source, Style, check};
use fencepost::{library, paths};
use serde_json::{Value, json};

/// Lines of reports are no longer than this, and no shorter than that, whatever the page says of its width.
const WIDTHS: std::ops::RangeInclusive<u64> = 36..=200;

/// A request: what is to be done, and with which text.
pub(crate) struct Request<'a> {
    fields: &'a Value,
    /// What reports call the text.
    pub(crate) name: &'a str,
    /// The text.
    pub(crate) text: &'a str,
}

impl Request<'_> {
    /// A field that is a text.
    pub(crate) fn word(&self, field: &str) -> Option<&str> {
        self.fields[field].as_str()
    }

    /// A field that is a list of texts.
    pub(crate) fn words(&self, field: &str) -> impl Iterator<Item = &str> {
        self.fields[field].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    pub(crate) fn is_litmus(&self) -> bool {
        self.name.ends_with(".litmus")
    }

    /// The text itself, or one that it uses.
    pub(crate) fn read(&self, wanted: &str) -> Result<String, String> {
        if let Some(text) = library::read(wanted) {
            return text;
        }
        let text = if wanted == self.name { Some(self.text) } else { self.fields["files"][wanted].as_str() };
        text.map(paths::shown).ok_or_else(|| "no text of that name was given".to_owned())
    }

    /// The text, and the others that it can use.
    pub(crate) fn source(&self) -> Source {
        let mut source = Source::text(self.name, self.text);
        for (name, text) in self.fields["files"].as_object().into_iter().flatten() {
            source = source.with(name, text.as_str().unwrap_or_default());
        }
        source
    }

    /// How reports are drawn.
    pub(crate) fn style(&self) -> Style {
        let width = self.fields["width"].as_u64().unwrap_or(100).clamp(*WIDTHS.start(), *WIDTHS.end());
        Style { color: true, width: usize::try_from(width).unwrap_or(100) }
    }
}

/// The answer to a request, both of them JSON.
pub fn answer(request: &[u8]) -> String {
    let fields: Value = match serde_json::from_slice(request) {
        Ok(fields) => fields,
        Err(error) => return json!({ "error": format!("the request is no JSON: {error}") }).to_string(),
    };
    let (Some(name), Some(text)) = (fields["name"].as_str(), fields["text"].as_str()) else {
        return json!({ "error": "the request has no text, or no name" }).to_string();
    };
    let request = Request { fields: &fields, name, text };
    let answer = match fields["do"].as_str() {
        Some("check") => checked(&request),
        Some("layout") => {
            on_large_stack(|| layout(&request)).unwrap_or_else(|panic| json!({ "error": panic }))
        }
        Some("run") => {
            on_large_stack(|| steps::run(&request)).unwrap_or_else(|panic| json!({ "error": panic }))
        }
        _ => json!({ "error": "the request is not known" }),
    };
    answer.to_string()
}

/// All that `fencepost check` says.
fn checked(request: &Request<'_>) -> Value {
    let done: Result<Report, InputError> = check(request.source(), &Options::default());
    match done {
        Ok(report) => json!({
            "verdict": report.verdict().name(),
            "passes": report.passes(),
            "text": report.to_text(request.style()),
            "json": report.to_json(),
            "picture": report.to_html(),
        }),
        Err(error) => json!({
            "verdict": "rejected",
            "passes": false,
            "text": error.to_text(request.style()),
            "json": error.to_json(),
            "picture": null,
        }),
    }
}

/// The text in the canonical layout.
fn layout(request: &Request<'_>) -> Value {
    let mut sources = SourceMap::default();
    let file = sources.add(request.name, request.text);
    let (tree, errors) = parse(request.text, file);
    if let Some(text) = pretty(&tree).filter(|_| errors.is_empty()) {
        return json!({ "text": text });
    }
    let drawn: Vec<String> =
        errors.iter().map(|error| diagnostic::input_error(&sources, error, request.style())).collect();
    json!({ "error": format!("left as it is\n{}", drawn.join("\n")) })
}
