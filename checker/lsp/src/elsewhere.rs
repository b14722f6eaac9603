//! Compiled kernels: what is found in a `.ptx` file that harnesses import is shown there, and a new version of it has those
//! harnesses checked anew. Such a file need not be open, and has no errors of its own while it is typed: a compiler writes it.

use crate::check::{Shared, State};
use crate::documents::{Documents, name_of, range};
use fencepost::api::Finding;
use fencepost_dsl::FileId;
use fencepost_dsl::kernel::ast::ItemKind;
use fencepost_dsl::kernel::parse;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Whether it is compiled, and so no text of the kernel language.
pub fn is_compiled(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ptx"))
}

/// What a finding of a harness says in the compiled file that it is in, by the name of that file.
pub fn told(
    documents: &Documents,
    finding: &Finding,
    diagnostic: &Value,
    harness: &str,
) -> Option<(String, Value)> {
    let place = finding.place.as_ref().filter(|place| is_compiled(&place.region.file))?;
    let file = &place.region.file;
    let text = documents.read(file).ok()?;
    let own = finding.others.iter().filter(|other| other.region.file == *file);
    let related = own.map(|other| {
        let thread = other.thread.as_deref().unwrap_or_default();
        json!({
            "location": { "uri": documents.uri_of(file), "range": range(&text, &other.region.bytes) },
            "message": format!("{} {thread}", other.text).trim_end(),
        })
    });
    let message = diagnostic["message"].as_str().unwrap_or_default();
    let mut diagnostic = diagnostic.clone();
    diagnostic["range"] = range(&text, &place.region.bytes);
    diagnostic["message"] = json!(format!("{message}\nchecked by {harness}"));
    diagnostic["relatedInformation"] = related.collect();
    Some((file.clone(), diagnostic))
}

/// What all harnesses say of a compiled file.
pub fn diagnostics(state: &State, uri: &str) -> Vec<Value> {
    let name = name_of(uri);
    let of_harness = |(harness, found): (&String, &crate::check::Found)| {
        let is_current =
            state.documents.get(harness).is_some_and(|document| document.version == found.version);
        found.elsewhere.get(&name).filter(|_| is_current).cloned().unwrap_or_default()
    };
    state.found.iter().flat_map(of_harness).collect()
}

/// Shows in each compiled file what is known of it now.
pub fn publish(shared: &Shared, state: &mut State) {
    let shown = state.found.values().flat_map(|found| found.elsewhere.keys().cloned());
    let now: BTreeMap<String, Vec<Value>> = shown
        .map(|name| state.documents.uri_of(&name))
        .map(|uri| (uri.clone(), diagnostics(state, &uri)))
        .filter(|(_, diagnostics)| !diagnostics.is_empty())
        .collect();
    for uri in state.elsewhere.keys().filter(|uri| !now.contains_key(*uri)) {
        shared.show(uri, None, Vec::new());
    }
    for (uri, diagnostics) in &now {
        if state.elsewhere.get(uri) != Some(diagnostics) {
            shared.show(uri, None, diagnostics.clone());
        }
    }
    state.elsewhere = now;
}

/// What was found in a compiled file is of a text that is no more.
pub fn forget(state: &mut State, uri: &str) {
    let name = name_of(uri);
    state.found.values_mut().for_each(|found| drop(found.elsewhere.remove(&name)));
}

/// Harnesses that are open and import this file.
pub fn importers(documents: &Documents, compiled: &str) -> Vec<String> {
    let imports = |uri: &&str| {
        let Some(document) = documents.get(uri) else { return false };
        let name = name_of(uri);
        let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
        let (tree, _) = parse(&document.text, FileId(0));
        tree.items.iter().any(|item| match &item.kind {
            ItemKind::Import(import) => plain(&folder.join(&import.path.text)) == plain(Path::new(compiled)),
            _ => false,
        })
    };
    documents.uris().filter(imports).map(str::to_owned).collect()
}

/// A path without steps that lead nowhere, or back.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if found.file_name().is_some() => {
                found.pop();
            }
            other => found.push(other),
        }
    }
    found
}
