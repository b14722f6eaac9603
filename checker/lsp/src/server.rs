//! The protocol: what an editor says, and what it is answered.

use crate::answers::Spot;
use crate::check::Shared;
use crate::documents::{name_of, offset};
use crate::elsewhere;
use fencepost::parallel::on_large_stack;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use serde_json::{Value, json};

/// Answers an editor until it says that it is done.
pub fn run(connection: &Connection) -> Result<(), String> {
    let offered = connection
        .initialize(capabilities())
        .map_err(|error| format!("the editor said something else: {error}"))?;
    let has_progress = offered.pointer("/capabilities/window/workDoneProgress") == Some(&json!(true));
    let sender = connection.sender.clone();
    // Nobody is there to be told where it cannot be sent.
    let shared = Shared::new(move |message| drop(sender.send(message)), has_progress);
    if offered.pointer("/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration")
        == Some(&json!(true))
    {
        shared.send(watch().into());
    }
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                    return Ok(());
                }
                let response = answer(&shared, &request);
                shared.send(response.into());
            }
            Message::Notification(note) if note.method == "exit" => {
                return Err("the editor left without a shutdown".to_owned());
            }
            Message::Notification(note) => {
                // A text that cannot be read is one that has nothing to be shown; the server goes on.
                let _ = on_large_stack(|| notice(&shared, &note));
            }
            Message::Response(_) => {}
        }
    }
    Err("the editor is gone".to_owned())
}

/// Asks to be told when a compiler has written a file.
fn watch() -> Request {
    let options = json!({ "watchers": [{ "globPattern": "**/*.ptx" }] });
    let registration =
        json!({ "id": "ptx", "method": "workspace/didChangeWatchedFiles", "registerOptions": options });
    let parameters = json!({ "registrations": [registration] });
    Request::new("watch-ptx".to_owned().into(), "client/registerCapability".to_owned(), parameters)
}

fn capabilities() -> Value {
    json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": false } },
        "hoverProvider": true,
        "completionProvider": { "triggerCharacters": [".", ":", "\""] },
        "definitionProvider": true,
        "referencesProvider": true,
        "renameProvider": { "prepareProvider": true },
        "documentFormattingProvider": true,
        "documentSymbolProvider": true,
        "codeActionProvider": { "codeActionKinds": ["quickfix"] },
        "inlayHintProvider": true,
    })
}

fn answer(shared: &Shared, request: &Request) -> Response {
    let id = request.id.clone();
    match on_large_stack(|| result(shared, &request.method, &request.params)) {
        Ok(Some(Ok(value))) => Response::new_ok(id, value),
        Ok(Some(Err(why))) => Response::new_err(id, ErrorCode::RequestFailed as i32, why),
        Ok(None) => {
            let why = format!("`{}` is not answered", request.method);
            Response::new_err(id, ErrorCode::MethodNotFound as i32, why)
        }
        Err(panic) => Response::new_err(id, ErrorCode::InternalError as i32, panic),
    }
}

/// `None` for what is no request that is known.
fn result(shared: &Shared, method: &str, parameters: &Value) -> Option<Result<Value, String>> {
    if method == "textDocument/codeAction" {
        return Some(Ok(actions(shared, parameters)));
    }
    let documents = shared.state().documents.clone();
    let uri = parameters.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default();
    let spot = Spot::of(&documents, parameters).filter(|_| !elsewhere::is_compiled(&name_of(uri)));
    let of_spot =
        |answer: &dyn Fn(&Spot<'_>) -> Option<Value>| spot.as_ref().and_then(answer).unwrap_or(Value::Null);
    Some(Ok(match method {
        "textDocument/hover" => of_spot(&|spot| spot.hover()),
        "textDocument/completion" => of_spot(&|spot| Some(spot.completion())),
        "textDocument/definition" => of_spot(&|spot| spot.definition()),
        "textDocument/references" => of_spot(&|spot| spot.references()),
        "textDocument/prepareRename" => of_spot(&|spot| spot.renamed()),
        "textDocument/rename" => {
            let name = parameters.get("newName").and_then(Value::as_str).unwrap_or_default();
            return Some(
                spot.map_or_else(|| Err("this text is not open".to_owned()), |spot| spot.rename(name)),
            );
        }
        "textDocument/formatting" => of_spot(&|spot| Some(spot.format())),
        "textDocument/documentSymbol" => of_spot(&|spot| Some(spot.symbols())),
        "textDocument/inlayHint" => {
            of_spot(&|spot| Some(spot.hints(parameters.get("range").unwrap_or(&Value::Null))))
        }
        _ => return None,
    }))
}

/// Changes that mend findings, as far as the text is still the one that was checked.
fn actions(shared: &Shared, parameters: &Value) -> Value {
    let state = shared.state();
    let Some(uri) = parameters.pointer("/textDocument/uri").and_then(Value::as_str) else { return json!([]) };
    let (Some(document), Some(found)) = (state.documents.get(uri), state.found.get(uri)) else {
        return json!([]);
    };
    if document.version != found.version {
        return json!([]);
    }
    let at =
        |key: &str| parameters.pointer(&format!("/range/{key}")).map_or(0, |at| offset(&document.text, at));
    let (start, end) = (at("start"), at("end"));
    let is_here =
        |fix: &&crate::check::Fix| fix.places.iter().any(|place| place.start <= end && start <= place.end);
    let offered = found.fixes.iter().filter(is_here).map(|fix| {
        json!({
            "title": fix.title,
            "kind": "quickfix",
            "diagnostics": [fix.diagnostic],
            "isPreferred": true,
            "edit": fix.edit,
        })
    });
    offered.collect()
}

fn notice(shared: &Shared, note: &Notification) {
    let parameters = &note.params;
    if note.method == "window/workDoneProgress/cancel" {
        if let Some(token) = parameters.get("token").and_then(Value::as_str) {
            shared.cancel_progress(token);
        }
        return;
    }
    if note.method == "workspace/didChangeWatchedFiles" {
        let changes = parameters.get("changes").and_then(Value::as_array);
        let uris = changes.into_iter().flatten().filter_map(|change| change.get("uri")?.as_str());
        uris.filter(|uri| elsewhere::is_compiled(&name_of(uri))).for_each(|uri| compiled(shared, uri));
        return;
    }
    let Some(uri) = parameters.pointer("/textDocument/uri").and_then(Value::as_str) else { return };
    match note.method.as_str() {
        "textDocument/didOpen" => {
            let document = |key: &str| parameters.pointer(&format!("/textDocument/{key}"));
            let text = document("text").and_then(Value::as_str).unwrap_or_default().to_owned();
            let version = document("version").and_then(Value::as_i64).unwrap_or(0);
            let mut state = shared.state();
            state.documents.set(uri, text, version);
            shared.publish(&state, uri);
        }
        "textDocument/didChange" => change(shared, uri, parameters),
        "textDocument/didSave" if elsewhere::is_compiled(&name_of(uri)) => compiled(shared, uri),
        "textDocument/didSave" => {
            shared.publish(&shared.state(), uri);
            shared.check(uri);
        }
        "textDocument/didClose" => {
            shared.cancel(uri);
            let mut state = shared.state();
            state.found.remove(uri);
            if state.documents.close(uri) {
                shared.show(uri, None, Vec::new());
            }
            // Of a compiled file that is closed it is shown again, and of a harness that is closed nothing more.
            state.elsewhere.remove(uri);
            elsewhere::publish(shared, &mut state);
        }
        _ => {}
    }
}

/// There is a new version of a compiled file: whoever imports it is checked.
fn compiled(shared: &Shared, uri: &str) {
    let harnesses = {
        let mut state = shared.state();
        elsewhere::forget(&mut state, uri);
        elsewhere::publish(shared, &mut state);
        elsewhere::importers(&state.documents, &name_of(uri))
    };
    for harness in harnesses {
        shared.check(&harness);
    }
}

fn change(shared: &Shared, uri: &str, parameters: &Value) {
    let mut state = shared.state();
    let Some(document) = state.documents.get(uri) else { return };
    let (mut text, old) = (document.text.clone(), document.version);
    let changes = parameters.get("contentChanges").and_then(Value::as_array);
    for change in changes.into_iter().flatten() {
        let Some(new) = change.get("text").and_then(Value::as_str) else { continue };
        match change.get("range").filter(|range| range.is_object()) {
            None => new.clone_into(&mut text),
            Some(range) => {
                let at = |key: &str| range.get(key).map_or(0, |position| offset(&text, position));
                let (start, end) = (at("start"), at("end"));
                text.replace_range(start.min(end)..end.max(start), new);
            }
        }
    }
    let version = parameters.pointer("/textDocument/version").and_then(Value::as_i64).unwrap_or(old + 1);
    state.documents.set(uri, text, version);
    drop(state);
    // What is found of a text that is no more is shown nowhere.
    shared.cancel(uri);
    let mut state = shared.state();
    elsewhere::forget(&mut state, uri);
    shared.publish(&state, uri);
    elsewhere::publish(shared, &mut state);
}
