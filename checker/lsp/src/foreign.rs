//! Names of CUDA and of libraries over it, offered where one is typed: chosen, it becomes what it is here.

use fencepost_dsl::kernel::isa;
use fencepost_foreign::sheet::{Row, rows};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Completions for names that begin with `word`, in place of the text at `range`.
pub fn offered(word: &str, range: &Value) -> Vec<Value> {
    let mut items: BTreeMap<&str, Value> = BTreeMap::new();
    for row in rows().filter(|_| !word.is_empty()) {
        let Some(written) = written(row) else { continue };
        for name in &row.names {
            for typed in name.typed().into_iter().filter(|typed| typed.starts_with(word) && !is_own(typed)) {
                items.entry(typed).or_insert_with(|| {
                    json!({
                        "label": typed,
                        "kind": 15,
                        "detail": format!("{}: {written}", name.origin),
                        "documentation": { "kind": "markdown", "value": told(row) },
                        "filterText": typed,
                        // Behind the words of the language.
                        "sortText": format!("~{typed}"),
                        "textEdit": { "range": range, "newText": written },
                    })
                });
            }
        }
    }
    items.into_values().collect()
}

/// The lines to write for it, if they are all there.
fn written(row: &Row) -> Option<String> {
    let lines: Vec<&str> = row.lines().collect();
    (!lines.is_empty() && !lines.iter().any(|line| line.contains('…'))).then(|| lines.join(" "))
}

/// What there is to say of it.
fn told(row: &Row) -> String {
    match row.ptx {
        Some(ptx) => format!("{}\n\nPTX: {ptx}", row.help),
        None => row.help.to_owned(),
    }
}

/// Whether it is an instruction of the same name.
fn is_own(name: &str) -> bool {
    isa::families().flat_map(|family| family.forms).any(|form| form.name == name)
}
