//! What the front end says of a text that is being typed.

use crate::documents::{Documents, name_of, range, uri_of};
use crate::project::Known;
use fencepost::parallel::on_large_stack;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{self, LoadOptions};
use fencepost_dsl::{Diagnostic, SourceMap, litmus};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// What is known of a text as it is.
#[derive(Debug, Default)]
pub struct Front {
    /// As the protocol has them.
    pub diagnostics: Vec<Value>,
    /// Instructions of the text itself that spell less than they mean, by the place of their opcode: all that they mean.
    pub spellings: BTreeMap<(usize, usize), String>,
}

impl Front {
    /// Reads the text of a URI, with what it uses.
    pub fn of(documents: &Documents, uri: &str) -> Self {
        on_large_stack(|| load(documents, uri)).unwrap_or_default()
    }
}

fn load(documents: &Documents, uri: &str) -> Front {
    let name = name_of(uri);
    let Some(own) = documents.get(uri) else { return Front::default() };
    let mut sources = SourceMap::default();
    let mut read = |wanted: &str| {
        if wanted == name.trim_start_matches("./") { Ok(own.text.clone()) } else { documents.read(wanted) }
    };
    let loaded = if name.ends_with(".litmus") {
        litmus::load(&mut sources, &name, &mut read)
    } else {
        let target = Known::of(&name).project.and_then(|project| project.settings.target);
        kernel::load(&mut sources, &name, &mut read, &LoadOptions { target, ..LoadOptions::default() })
    };
    match loaded {
        Ok(program) => {
            Front { diagnostics: Vec::new(), spellings: spellings(&program, &sources, &own.text, &name) }
        }
        Err(errors) => {
            let told = errors.iter().map(|error| told(error, &sources, &name));
            Front { diagnostics: told.collect(), spellings: BTreeMap::new() }
        }
    }
}

/// An error as the protocol has it. One in another file is told at the beginning, with its place in words.
fn told(error: &Diagnostic, sources: &SourceMap, name: &str) -> Value {
    let bytes = |label: &fencepost_dsl::Label| label.span.start as usize..label.span.end as usize;
    let file = |label: &fencepost_dsl::Label| sources.file(label.span.file);
    let first = &error.labels[0];
    let mut message = error.message.clone();
    let is_own = file(first).name == name;
    if !is_own {
        let at = sources.line_column(first.span);
        message = format!("{}:{}:{}: {message}", file(first).name, at.line, at.column);
    }
    if let Some(help) = &error.help {
        message += &format!("\nhelp: {help}");
    }
    let related = error.labels[1..].iter().map(|label| {
        json!({
            "location": { "uri": uri_of(&file(label).name), "range": range(&file(label).text, &bytes(label)) },
            "message": label.text,
        })
    });
    let place = if is_own { bytes(first) } else { 0..0 };
    json!({
        "range": range(&file(first).text, &widened(&file(first).text, place)),
        "severity": 1,
        "code": error.code,
        "source": "fencepost",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    })
}

/// What is empty is hard to see: the character behind it, or before it.
fn widened(text: &str, bytes: Range<usize>) -> Range<usize> {
    if !bytes.is_empty() {
        return bytes;
    }
    let at = bytes.start.min(text.len());
    let behind = text[at..].chars().next().filter(|c| *c != '\n');
    let before = text[..at].chars().next_back().filter(|c| *c != '\n');
    match (behind, before) {
        (Some(c), _) => at..at + c.len_utf8(),
        (None, Some(c)) => at - c.len_utf8()..at,
        (None, None) => at..at,
    }
}

/// Full spellings of the instructions of one file.
fn spellings(
    program: &Program,
    sources: &SourceMap,
    text: &str,
    name: &str,
) -> BTreeMap<(usize, usize), String> {
    let found = RefCell::new(BTreeMap::new());
    for kernel in program.kernels.iter().chain(program.parts.iter()) {
        program.any_instruction(kernel, |instruction| {
            let span = instruction.opcode_span;
            let place = (span.start as usize, span.end as usize);
            let written = text.get(place.0..place.1).unwrap_or_default();
            if sources.file(span.file).name == name && !written.is_empty() && written != instruction.text {
                found.borrow_mut().insert(place, instruction.text.clone());
            }
            false
        });
    }
    found.into_inner()
}
