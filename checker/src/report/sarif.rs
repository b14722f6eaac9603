//! `--format sarif`: one log of SARIF 2.1.0 for a run, as code hosts and editors read it.
//!
//! Violations are results of level `error`, each with its execution as a code flow (a thread flow for each thread, in the
//! common order of steps) and its repair as a fix. Proofs that are bounded or about nothing are results of level `warning`,
//! warnings are of level `note`. What was not checked is a notification of the run, which was then not successful.

use super::case::Case;
use super::json::{self, EditReport, FindingReport, StepReport};
use super::names;
use super::place::{Place, Position, position};
use super::remark::{remarks, subject};
use crate::codes;
use crate::warn::Warning;
use fencepost_dsl::{Diagnostic, SourceMap};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where the format is described.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// What a run has said so far.
#[derive(Default, Debug, Serialize, Deserialize)]
pub struct Log {
    results: Vec<Value>,
    notifications: Vec<Value>,
    /// Codes of results, in order of appearance.
    rules: Vec<String>,
    /// Where the book is.
    book: Option<String>,
    is_cut_short: bool,
}

impl Log {
    /// From now on codes link to their pages in the book that begins at this address.
    pub fn link_to(&mut self, book: &str) {
        self.book.get_or_insert_with(|| book.to_owned());
    }

    /// Adds what is said of a launch.
    pub fn add(&mut self, case: &Case<'_>) {
        let base = json!({
            "kernel": case.kernel.name,
            "launch": case.outcome.launch.name,
            "model": case.model,
            "verdict": case.outcome.told(case.outcome.verdict).name(),
        });
        let mut seen = Vec::new();
        for finding in json::findings(case) {
            let own = names::of(&finding);
            let same = (finding.code, own.clone());
            let nth = seen.iter().filter(|other| **other == same).count();
            seen.push(same);
            let mut result = self.finding(case, &finding, &base);
            let parts = [finding.code, &case.kernel.name, &case.outcome.launch.name];
            fingerprinted(&mut result, &parts, &own, nth);
            self.results.push(result);
        }
        for (nth, remark) in remarks(case).into_iter().enumerate() {
            let text = format!("{}: {}", subject(case), remark.text);
            let at = remark.at.unwrap_or_else(|| position(case.sources, case.kernel.span));
            match remark.code {
                Some(code) => {
                    let result = self.result(code, "warning", &text, at, base.clone());
                    let parts = [code, &case.kernel.name, &case.outcome.launch.name];
                    fingerprinted(result, &parts, &[], nth);
                    if let Some((accepted, _)) = case.standing.accepted {
                        let why = &accepted.reason;
                        result["suppressions"] =
                            json!([{ "kind": "external", "status": "accepted", "justification": why }]);
                    }
                }
                None => self.notify("warning", &text, Some(&at)),
            }
        }
    }

    /// Adds warnings.
    pub fn warn(&mut self, sources: &SourceMap, warnings: &[Warning]) {
        for warning in warnings {
            let text = format!("{}\nhelp: {}", warning.message, warning.help);
            let at = position(sources, warning.span);
            let own = names::quoted(&warning.message);
            let before = warnings.iter().take_while(|other| !std::ptr::eq(*other, warning));
            let nth = before
                .filter(|other| (other.kind.code, &other.message) == (warning.kind.code, &warning.message));
            let nth = nth.count();
            let result = self.result(warning.kind.code, "note", &text, at, json!({}));
            fingerprinted(result, &[warning.kind.code], &own, nth);
        }
    }

    /// Adds a result without an execution, and returns it.
    fn result(
        &mut self,
        code: &str,
        level: &str,
        text: &str,
        place: Position,
        properties: Value,
    ) -> &mut Value {
        let (rule, index, at) = (code, self.rule(code), self.results.len());
        self.results.push(json!({
            "ruleId": rule,
            "ruleIndex": index,
            "level": level,
            "message": { "text": text },
            "locations": [{ "physicalLocation": physical(&place) }],
            "properties": properties,
        }));
        &mut self.results[at]
    }

    /// Adds a file that was rejected.
    pub fn reject(&mut self, sources: &SourceMap, errors: &[Diagnostic]) {
        for error in errors {
            let help = error.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
            let text = format!("{}: {}{help}", error.code, error.message);
            self.notify("error", &text, Some(&position(sources, error.span())));
        }
        self.is_cut_short = true;
    }

    /// Adds something that was not checked, for a reason that has no place in a text.
    pub fn refuse(&mut self, file: &str, code: &str, reason: &str) {
        let code = if code.is_empty() { String::new() } else { format!("{code}: ") };
        self.notify("error", &format!("{file}: {code}{reason}"), None);
        self.is_cut_short = true;
    }

    /// Adds all of another log.
    pub fn extend(&mut self, other: Self) {
        for mut result in other.results {
            let code = result["ruleId"].as_str().unwrap_or_default().to_owned();
            if other.rules.contains(&code) {
                result["ruleIndex"] = json!(self.rule(&code));
            }
            self.results.push(result);
        }
        self.notifications.extend(other.notifications);
        self.book = self.book.take().or(other.book);
        self.is_cut_short |= other.is_cut_short;
    }

    /// The whole log.
    pub fn text(&self) -> String {
        let rules: Vec<Value> = self.rules.iter().map(|code| rule(code, self.book.as_deref())).collect();
        let log = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "fencepost",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                } },
                "columnKind": "unicodeCodePoints",
                "invocations": [{
                    "executionSuccessful": !self.is_cut_short,
                    "toolExecutionNotifications": self.notifications,
                }],
                "results": self.results,
            }],
        });
        // A tree of strings and numbers always serialises.
        serde_json::to_string_pretty(&log).unwrap_or_default() + "\n"
    }

    fn rule(&mut self, code: &str) -> usize {
        if let Some(known) = self.rules.iter().position(|rule| *rule == code) {
            return known;
        }
        self.rules.push(code.to_owned());
        self.rules.len() - 1
    }

    fn notify(&mut self, level: &str, text: &str, at: Option<&Position>) {
        let mut notification = json!({ "level": level, "message": { "text": text } });
        if let Some(at) = at {
            notification["locations"] = json!([{ "physicalLocation": physical(at) }]);
        }
        self.notifications.push(notification);
    }

    fn finding(&mut self, case: &Case<'_>, finding: &FindingReport, base: &Value) -> Value {
        let mut text = vec![format!("{} ({})", finding.message, subject(case))];
        text.extend(finding.why.iter().map(|why| format!("why: {why}")));
        text.extend((!finding.rule.is_empty()).then(|| format!("rule: {}", finding.rule.join(", "))));
        text.extend(finding.help.iter().map(|help| format!("help: {help}")));
        let own = position(case.sources, case.kernel.span);
        let at = finding.primary.as_ref().map_or(&own, |place| &place.at);
        let mut location = json!({ "physicalLocation": physical(at) });
        location["logicalLocations"] = json!([{ "name": case.kernel.name, "kind": "function" }]);
        let related: Vec<Value> = (1..).zip(&finding.secondary).map(|(id, at)| related(id, at)).collect();
        let stacks: Vec<Value> = finding
            .primary
            .iter()
            .chain(&finding.secondary)
            .filter(|place| !place.calls.is_empty())
            .map(stack)
            .collect();
        let mut properties = base.clone();
        properties["property"] = json!(finding.property);
        let mut result = json!({
            "ruleId": finding.code,
            "ruleIndex": self.rule(finding.code),
            "level": "error",
            "message": { "text": text.join("\n") },
            "locations": [location],
            "relatedLocations": related,
            "properties": properties,
        });
        if !stacks.is_empty() {
            result["stacks"] = json!(stacks);
        }
        if case.standing.baseline.is_some() {
            result["baselineState"] = json!(if finding.known { "unchanged" } else { "new" });
        }
        if !finding.witness.is_empty() {
            result["codeFlows"] = json!([code_flow(finding)]);
        }
        if let Some(repair) = &finding.repair {
            let edits: Vec<&EditReport> = repair.edits.iter().chain(&repair.others).collect();
            let text = finding.help.as_deref().unwrap_or("a change that was checked");
            result["fixes"] =
                json!([{ "description": { "text": text }, "artifactChanges": changes(&edits) }]);
        }
        result
    }
}

fn rule(code: &str, book: Option<&str>) -> Value {
    let Some(known) = codes::find(code) else { return json!({ "id": code }) };
    let mut rule = json!({
        "id": code,
        "shortDescription": { "text": known.summary },
        "help": { "text": codes::page(known) },
    });
    if let Some(book) = book {
        rule["helpUri"] = json!(format!("{book}/{}", codes::address(code)));
    }
    rule
}

/// What a code host knows a result again by when its lines have moved.
fn fingerprinted(result: &mut Value, parts: &[&str], names: &[String], nth: usize) {
    result["partialFingerprints"] = json!({ "fencepost/v1": names::fingerprint(parts, names, nth) });
}

/// The calls by which a thread gets to a place, the place first.
fn stack(place: &Place) -> Value {
    let frame = |at: &Position, text: &str| json!({ "location": { "physicalLocation": physical(at), "message": { "text": text } } });
    let calls = place.calls.iter().rev().map(|at| frame(at, "called here"));
    let frames: Vec<Value> = std::iter::once(frame(&place.at, &place.text)).chain(calls).collect();
    json!({ "message": { "text": said(place) }, "frames": frames })
}

fn related(id: usize, place: &Place) -> Value {
    json!({
        "id": id,
        "physicalLocation": physical(&place.at),
        "message": { "text": said(place) },
    })
}

/// `tid 0 of cta 1: st.weak.global.u32 [data]`.
fn said(place: &Place) -> String {
    match &place.thread {
        Some(thread) => format!("{}: {}", thread.name, place.text),
        None => place.text.clone(),
    }
}

/// The execution: a flow for each thread, in order of their first steps; `executionOrder` tells how they interleave.
fn code_flow(finding: &FindingReport) -> Value {
    let mut threads: Vec<(&str, Vec<Value>)> = Vec::new();
    for step in &finding.witness {
        let name = step.place.thread.as_ref().map_or("no thread", |thread| thread.name.as_str());
        let value = flow_location(step);
        match threads.iter_mut().find(|(known, _)| *known == name) {
            Some((_, locations)) => locations.push(value),
            None => threads.push((name, vec![value])),
        }
    }
    let flows: Vec<Value> =
        threads.into_iter().map(|(id, locations)| json!({ "id": id, "locations": locations })).collect();
    json!({ "message": { "text": finding.message }, "threadFlows": flows })
}

fn flow_location(step: &StepReport) -> Value {
    let from = match step.reads_from.first() {
        Some(json::Source::Step(from)) => format!(" from step {from}"),
        Some(json::Source::Other("initial")) => " (initial value)".to_owned(),
        Some(json::Source::Other(_)) | None => String::new(),
    };
    let value = step.value.as_ref().map_or_else(String::new, |value| format!(", value {value}{from}"));
    let text = format!("step {}: {}{value}", step.step, said(&step.place));
    json!({
        "location": { "physicalLocation": physical(&step.place.at), "message": { "text": text } },
        "executionOrder": step.step,
    })
}

/// Edits by file.
fn changes(edits: &[&EditReport]) -> Vec<Value> {
    let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
    for edit in edits {
        let replacement =
            json!({ "deletedRegion": region(&edit.at), "insertedContent": { "text": edit.text } });
        match files.iter_mut().find(|(file, _)| *file == edit.at.file) {
            Some((_, replacements)) => replacements.push(replacement),
            None => files.push((&edit.at.file, vec![replacement])),
        }
    }
    let change = |(file, replacements): (&str, Vec<Value>)| json!({ "artifactLocation": { "uri": uri(file) }, "replacements": replacements });
    files.into_iter().map(change).collect()
}

fn physical(at: &Position) -> Value {
    json!({ "artifactLocation": { "uri": uri(&at.file) }, "region": region(at) })
}

fn region(at: &Position) -> Value {
    json!({
        "startLine": at.line,
        "startColumn": at.column,
        "endLine": at.end_line,
        "endColumn": at.end_column,
    })
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut text = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            other => text += &format!("%{other:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_are_uri_references() {
        assert_eq!(uri("a/b-1.fence"), "a/b-1.fence");
        assert_eq!(uri("/a b/ü.fence"), "file:///a%20b/%C3%BC.fence");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }
}
