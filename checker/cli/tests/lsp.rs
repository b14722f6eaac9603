//! `fencepost lsp`, driven as an editor does: over standard input and output, with nothing but the protocol.
//!
//! No test waits for a time: each reads messages until the one comes that it is about, or the server is gone.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What the client that is not ours is driven with, too.
const RACE: &str = include_str!("../../../dsl/editors/tests/race.fence");

struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    n_requests: i64,
    folder: PathBuf,
}

impl Editor {
    fn start(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("piped"));
        let mut editor = Self { child, input, output: BufReader::new(output), n_requests: 0, folder };
        let offered = json!({ "capabilities": { "window": { "workDoneProgress": true } } });
        let answer = editor.ask("initialize", &offered);
        assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn write(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().expect("it is open");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it reads");
        input.flush().expect("it reads");
    }

    fn tell(&mut self, method: &str, parameters: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    /// The next message, or `None` if the server is gone.
    fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("text") == 0 {
                return None;
            }
            match line.trim().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a number"),
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).expect("a message");
        Some(serde_json::from_slice(&text).expect("JSON"))
    }

    /// Sends a request, and reads up to its answer.
    fn send(&mut self, method: &str, parameters: &Value) -> Value {
        self.n_requests += 1;
        let id = self.n_requests;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        loop {
            let message = self.read().expect("an answer");
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let answer = self.send(method, parameters);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    fn uri(&self, name: &str) -> String {
        format!("file://{}", self.folder.join(name).display())
    }

    fn open(&mut self, name: &str, text: &str) -> String {
        fs::write(self.folder.join(name), text).expect("it is written");
        let uri = self.uri(name);
        let document = json!({ "uri": uri, "languageId": "fence", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        uri
    }

    fn change(&mut self, uri: &str, version: i64, text: &str) {
        let change = json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] });
        self.tell("textDocument/didChange", &change);
    }

    fn save(&mut self, uri: &str) {
        self.tell("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
    }

    /// The next diagnostics.
    fn shown(&mut self) -> Value {
        loop {
            let message = self.read().expect("diagnostics");
            if message["method"] == "textDocument/publishDiagnostics" {
                return message["params"].clone();
            }
        }
    }

    /// The diagnostics that come with the end of a check.
    fn checked(&mut self) -> Value {
        loop {
            let message = self.read().expect("a check");
            if message["params"]["value"]["kind"] == "end" {
                return self.shown();
            }
        }
    }

    fn at(&mut self, method: &str, uri: &str, text: &str, what: &str) -> Value {
        let position = position(text, what);
        self.ask(method, &json!({ "textDocument": { "uri": uri }, "position": position }))
    }

    fn end(mut self) {
        assert_eq!(self.send("shutdown", &Value::Null)["result"], Value::Null);
        self.tell("exit", &Value::Null);
        drop(self.input.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// Where `what` begins, in a text whose lines before it are ASCII or are counted by line only.
fn position(text: &str, what: &str) -> Value {
    let at = text.find(what).unwrap_or_else(|| panic!("{what} is there"));
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    json!({ "line": text[..at].matches('\n').count(), "character": text[start..at].encode_utf16().count() })
}

#[test]
fn what_is_typed_is_answered_and_gone_when_it_is_mended() {
    let mut editor = Editor::start("typed");
    let text = "kernel k { global x: u32 = 0; /* \u{1f980} */ st [y], 1; }\n";
    let uri = editor.open("k.fence", text);
    let shown = editor.shown();
    let first = &shown["diagnostics"][0];
    assert_eq!(first["code"], "resolve::unknown-name");
    // The crab is two units.
    assert_eq!(first["range"]["start"], json!({ "line": 0, "character": 43 }));
    assert_eq!(first["range"]["end"], json!({ "line": 0, "character": 44 }));
    let range = first["range"].clone();
    let edit = json!({
        "textDocument": { "uri": uri, "version": 2 },
        "contentChanges": [{ "range": range, "text": "x" }],
    });
    editor.tell("textDocument/didChange", &edit);
    assert_eq!(editor.shown(), json!({ "uri": uri, "version": 2, "diagnostics": [] }));
    editor.end();
}

#[test]
fn a_saved_file_is_checked_and_its_fix_is_offered_at_the_line_that_it_changes() {
    let mut editor = Editor::start("saved");
    let uri = editor.open("race.fence", RACE);
    assert_eq!(editor.shown()["diagnostics"], json!([]));
    editor.save(&uri);
    editor.shown();
    let checked = editor.checked();
    let codes: Vec<&Value> =
        checked["diagnostics"].as_array().expect("a list").iter().map(|one| &one["code"]).collect();
    assert!(codes.contains(&&json!("race::uniform")), "{checked}");
    for what in ["st.relaxed.gpu [flag]", "let v"] {
        let at = position(RACE, what);
        let asked =
            json!({ "textDocument": { "uri": uri }, "range": { "start": at, "end": at }, "context": {} });
        let actions = editor.ask("textDocument/codeAction", &asked);
        let edits = &actions[0]["edit"]["changes"][&uri];
        assert!(edits[0]["newText"].as_str().is_some_and(|new| new.contains("release")), "{what}: {actions}");
    }
    // Of another text nothing is known, and nothing is offered.
    editor.change(&uri, 2, &RACE.replace("42", "43"));
    assert_eq!(editor.shown()["diagnostics"], json!([]));
    let at = position(RACE, "let v");
    let asked = json!({ "textDocument": { "uri": uri }, "range": { "start": at, "end": at }, "context": {} });
    assert_eq!(editor.ask("textDocument/codeAction", &asked), json!([]));
    editor.end();
}

#[test]
fn names_are_found_renamed_and_told() {
    let mut editor = Editor::start("names");
    let text = "use \"lib/lock.fence\";\n/// Writes.\nfn put(o: &u32, n: u32) {\n    st [o], n;\n}\nkernel k {\n    \
                launch { ctas: 2 }\n    global word: u32 = 0;\n    cas_lock(word);\n    put(&word, 1);\n    cas_unlock(word);\n}\n";
    let uri = editor.open("names.fence", text);
    editor.shown();
    let here = editor.at("textDocument/definition", &uri, text, "word, 1");
    assert_eq!(here["range"]["start"], position(text, "word: u32"));
    let there = editor.at("textDocument/definition", &uri, text, "cas_lock");
    let there_uri = there["uri"].as_str().expect("a place").to_owned();
    let path = there_uri.strip_prefix("file://").expect("a file");
    let library = fs::read_to_string(path).expect("it can be opened");
    let line = there["range"]["start"]["line"].as_u64().expect("a line");
    let line = library.lines().nth(usize::try_from(line).expect("small")).expect("a line");
    assert!(line.starts_with("fn cas_lock("), "{line}");
    let references = editor.at("textDocument/references", &uri, text, "word: u32");
    assert_eq!(references.as_array().map(Vec::len), Some(4));

    let at = position(text, "put(o");
    let rename = |name: &str| json!({ "textDocument": { "uri": uri }, "position": at, "newName": name });
    let edits = editor.ask("textDocument/rename", &rename("write"));
    assert_eq!(edits["changes"][&uri].as_array().map(Vec::len), Some(2));
    for refused in ["kernel", "1x", "word", ""] {
        assert!(editor.send("textDocument/rename", &rename(refused))["error"].is_object(), "{refused}");
    }
    let asked =
        json!({ "textDocument": { "uri": uri }, "position": position(text, "cas_lock"), "newName": "other" });
    assert!(editor.send("textDocument/rename", &asked)["error"].is_object());

    let hover = editor.at("textDocument/hover", &uri, text, "put(&");
    let told = hover["contents"]["value"].as_str().expect("text");
    assert!(told.contains("fn put(o: &u32, n: u32)") && told.contains("Writes."), "{told}");
    let hover = editor.at("textDocument/hover", &uri, text, "st [o]");
    let told = hover["contents"]["value"].as_str().expect("text");
    assert!(told.contains("Here it is `st.weak") && told.contains("a store; weak"), "{told}");
    editor.end();
}

#[test]
fn what_could_come_next_is_offered_and_defaults_are_shown() {
    let mut editor = Editor::start("next");
    let text =
        "kernel k {\n    global word: u32 = 0;\n    let v = ld.acquire.gpu [word];\n    st [word], v;\n}\n";
    let uri = editor.open("next.fence", text);
    editor.shown();
    let labels = |answer: &Value| -> Vec<String> {
        let items = answer.as_array().expect("a list");
        items.iter().map(|item| item["label"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let after = editor.at("textDocument/completion", &uri, text, "gpu [");
    let after = labels(&after);
    assert!(after.contains(&"sys".to_owned()) && after.contains(&"global".to_owned()), "{after:?}");
    assert!(!after.contains(&"relaxed".to_owned()), "one sem is there: {after:?}");
    let names = labels(&editor.at("textDocument/completion", &uri, text, "st [word]"));
    for name in ["word", "v", "await", "mbarrier.init", "ctaid"] {
        assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
    }
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let hints =
        editor.ask("textDocument/inlayHint", &json!({ "textDocument": { "uri": uri }, "range": range }));
    let hints: Vec<&str> =
        hints.as_array().expect("a list").iter().filter_map(|hint| hint["label"].as_str()).collect();
    assert_eq!(hints, [".global.u32", ".weak.global.u32"]);

    let broken = "kernel   k { }\n";
    editor.change(&uri, 2, broken);
    let edits =
        editor.ask("textDocument/formatting", &json!({ "textDocument": { "uri": uri }, "options": {} }));
    assert!(edits[0]["newText"].as_str().is_some_and(|new| new.starts_with("kernel k {")), "{edits}");
    editor.change(&uri, 3, "kernel {");
    let edits =
        editor.ask("textDocument/formatting", &json!({ "textDocument": { "uri": uri }, "options": {} }));
    assert_eq!(edits, Value::Null);
    editor.end();
}

#[test]
fn a_name_of_another_language_is_offered_as_what_it_is_here() {
    let mut editor = Editor::start("foreign");
    let offered = |editor: &mut Editor, typed: &str| -> Vec<(String, String)> {
        let text = format!("kernel k {{\n    {typed}<- here\n}}\n");
        let uri = editor.open("foreign.fence", &text);
        editor.shown();
        let answer = editor.at("textDocument/completion", &uri, &text, "<- here");
        let items = answer.as_array().expect("a list").clone();
        let edits = items.iter().filter_map(|item| {
            let edit = item.get("textEdit")?;
            let start = edit["range"]["start"]["character"].as_u64().expect("a column");
            let end = edit["range"]["end"]["character"].as_u64().expect("a column");
            assert_eq!((start, end), (4, 4 + typed.len() as u64), "{item}");
            assert_eq!(item["filterText"], item["label"]);
            Some((item["label"].as_str()?.to_owned(), edit["newText"].as_str()?.to_owned()))
        });
        edits.collect()
    };
    let cases = [
        ("__sync", "__syncthreads", "bar.sync 0;"),
        ("thread", "threadIdx.x", "tid"),
        ("tl.", "tl.debug_barrier", "bar.sync 0;"),
        ("tl.atomic", "tl.atomic_cas", "let old = atom.cas.acquire.gpu.b32 [x], 0, 1;"),
        ("cuda::", "cuda::ptx::elect_sync", "let one = elect.sync 0xffffffff;"),
        ("cg::this", "cg::this_cluster", "barrier.cluster.arrive; barrier.cluster.wait;"),
        ("atomicC", "atomicCAS", "let old = atom.cas.b32 [x], 0, 1;"),
        ("mbarrier.w", "mbarrier.wait", "await mbarrier.try_wait.parity [bar], phase;"),
        ("nvshmem_f", "nvshmem_fence", "fence.sc.sys;"),
    ];
    for (typed, name, written) in cases {
        let offered = offered(&mut editor, typed);
        assert!(offered.contains(&(name.to_owned(), written.to_owned())), "{typed}: {offered:?}");
        assert!(offered.iter().all(|(name, _)| name.starts_with(typed)), "{typed}: {offered:?}");
    }
    // What is an instruction here is offered as one.
    for typed in ["mbarrier.init", "bar.", "st."] {
        assert_eq!(offered(&mut editor, typed), [], "{typed}");
    }
    editor.end();
}

#[test]
fn what_an_open_file_uses_is_read_as_it_is_open() {
    let mut editor = Editor::start("overlay");
    let part = editor.open("part.fence", "fn put(o: &u32) {\n    st [o], 1;\n}\n");
    editor.shown();
    editor.change(&part, 2, "fn place(o: &u32) {\n    st [o], 1;\n}\n");
    editor.shown();
    let text = "use \"part.fence\";\nkernel k {\n    global x: u32 = 0;\n    place(&x);\n}\n";
    let uri = editor.open("user.fence", text);
    assert_eq!(editor.shown()["diagnostics"], json!([]), "the text on disk has no such function");
    let at = position(text, "place");
    let asked = json!({ "textDocument": { "uri": uri }, "position": at, "newName": "put_it" });
    let edits = editor.ask("textDocument/rename", &asked);
    assert_eq!(edits["changes"][&uri].as_array().map(Vec::len), Some(1), "{edits}");
    assert_eq!(edits["changes"][&part].as_array().map(Vec::len), Some(1), "{edits}");
    editor.end();
}

#[test]
fn edits_that_come_faster_than_checks_end_leave_nothing_stale() {
    let mut editor = Editor::start("fast");
    let uri = editor.open("fast.fence", RACE);
    for version in 2..40 {
        editor.change(&uri, version, &RACE.replace("42", &version.to_string()));
        editor.save(&uri);
    }
    editor.change(&uri, 40, "kernel k { }\n");
    // All that is shown of the last text is that nothing is wrong with it.
    let mut last = editor.shown();
    while last["version"] != json!(40) {
        last = editor.shown();
    }
    assert_eq!(last["diagnostics"], json!([]));
    editor.save(&uri);
    editor.shown();
    let checked = editor.checked();
    assert_eq!(checked["version"], json!(40));
    let codes: Vec<&Value> =
        checked["diagnostics"].as_array().expect("a list").iter().map(|one| &one["code"]).collect();
    assert!(
        !codes.iter().any(|code| code.as_str().is_some_and(|code| code.starts_with("race"))),
        "{checked}"
    );
    editor.end();
}

#[test]
fn a_file_that_is_closed_in_the_middle_of_a_check_is_shown_nothing_of() {
    let mut editor = Editor::start("closed");
    let uri = editor.open("closed.fence", RACE);
    editor.save(&uri);
    editor.tell("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
    let mut last = editor.shown();
    while last.get("version").is_some() {
        last = editor.shown();
    }
    assert_eq!(last["diagnostics"], json!([]));
    // Whatever comes before the answer of this would be about the closed file.
    let other = editor.open("other.fence", "kernel k { }\n");
    assert_eq!(editor.shown()["uri"], json!(other));
    editor.end();
}

#[test]
fn nonsense_is_answered_and_ends_nothing() {
    let mut editor = Editor::start("nonsense");
    let uri = editor.open("k.fence", "kernel k { }\n");
    editor.shown();
    assert!(editor.send("textDocument/nothing", &json!({}))["error"].is_object());
    for method in [
        "hover",
        "completion",
        "definition",
        "references",
        "prepareRename",
        "formatting",
        "codeAction",
        "inlayHint",
    ] {
        for parameters in [
            json!(null),
            json!([1, 2]),
            json!({ "textDocument": 1 }),
            json!({ "textDocument": { "uri": "file:///none.fence" }, "position": { "line": 0, "character": 0 } }),
            json!({ "textDocument": { "uri": uri }, "position": { "line": 1e9, "character": -4 }, "range": 7 }),
            json!({ "textDocument": { "uri": uri }, "position": { "line": 99_999_999, "character": 99_999_999 } }),
        ] {
            editor.send(&format!("textDocument/{method}"), &parameters);
        }
    }
    let upside_down = json!({ "start": { "line": 0, "character": 9 }, "end": { "line": 0, "character": 1 } });
    for change in [
        json!(null),
        json!([{}]),
        json!([{ "range": upside_down, "text": "\u{1f980}" }]),
        json!([{ "text": 4 }]),
    ] {
        let parameters = json!({ "textDocument": { "uri": uri, "version": "x" }, "contentChanges": change });
        editor.tell("textDocument/didChange", &parameters);
    }
    let deep = "(".repeat(100_000);
    editor.change(&uri, 9, &deep);
    editor.change(&uri, 10, "kernel k { }\n");
    let mut last = editor.shown();
    while last["version"] != json!(10) {
        last = editor.shown();
    }
    assert_eq!(last["diagnostics"], json!([]));
    editor.end();
}

#[test]
fn a_server_whose_editor_is_gone_or_sends_garbage_ends() {
    for garbage in
        ["", "no header\r\n\r\n{}", "Content-Length: 5\r\n\r\nnope!", "Content-Length: 99999\r\n\r\n{"]
    {
        let mut editor = Editor::start("gone");
        let uri = editor.open("race.fence", RACE);
        editor.save(&uri);
        let mut input = editor.input.take().expect("it is open");
        input.write_all(garbage.as_bytes()).expect("it reads");
        drop(input);
        let status = editor.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(2), "{garbage:?}");
    }
}

#[test]
fn settings_of_the_project_apply_in_an_editor() {
    let mut editor = Editor::start("settings");
    let folder = editor.folder.clone();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("it is written");
    let text = "kernel ring(N in 0..=1000) {\n    launch { ctas: 1 }\n    global x: u32 = 0;\n    global y: u32 = 0;\n    \
                for i in 0..N { st [x], i; }\n}\n";
    let accept = "unroll-max = 4\n[warnings]\nunused-object = \"deny\"\n[[accept]]\nkernel = \"ring\"\nbound = 4\n\
                  reason = \"slots come round again\"\n";
    write("fencepost.toml", accept);
    let uri = editor.open("ring.fence", text);
    editor.shown();
    editor.save(&uri);
    editor.shown();
    let checked = editor.checked();
    let all = checked["diagnostics"].as_array().expect("a list").clone();
    let bounded =
        all.iter().find(|one| one["message"].as_str().is_some_and(|text| text.contains("up to the bound")));
    let bounded = bounded.unwrap_or_else(|| panic!("{all:#?}"));
    assert_eq!(bounded["severity"], 3);
    assert!(
        bounded["message"].as_str().is_some_and(|text| text.contains("slots come round again")),
        "{bounded}"
    );
    let warning = all.iter().find(|one| one["code"] == "warning::unused-object").expect("a warning");
    assert_eq!(warning["severity"], 1);
    write("fencepost.toml", "buget = 3\n");
    editor.save(&uri);
    editor.shown();
    let checked = editor.checked();
    let first = checked["diagnostics"][0]["message"].as_str().expect("text").to_owned();
    assert!(first.contains("fencepost.toml:1:1") && first.contains("did you mean `budget`?"), "{first}");
    editor.end();
}

/// The next diagnostics of this file.
fn shown_of(editor: &mut Editor, uri: &str) -> Value {
    loop {
        let shown = editor.shown();
        if shown["uri"] == uri {
            return shown["diagnostics"].clone();
        }
    }
}

#[test]
fn what_is_wrong_with_a_compiled_kernel_is_shown_there_and_a_new_version_of_it_is_checked() {
    let mut editor = Editor::start("compiled");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ptx");
    let read = |name: &str| fs::read_to_string(examples.join(name)).expect("it is there");
    let (harness, right) = (read("spin_lock.fence"), read("spin_lock.ptx"));
    let wrong = right.replace("st.release.gpu.b32", "st.relaxed.gpu.b32");
    assert_ne!(wrong, right, "something was taken out");
    fs::write(editor.folder.join("spin_lock.ptx"), &wrong).expect("it is written");
    let uri = editor.open("spin_lock.fence", &harness);
    let compiled = editor.uri("spin_lock.ptx");
    editor.save(&uri);
    // The compiled file need not be open.
    let found = shown_of(&mut editor, &compiled);
    let first = &found[0];
    let line =
        usize::try_from(first["range"]["start"]["line"].as_u64().expect("a line")).expect("a small one");
    let text = wrong.lines().nth(line).expect("a line of it");
    assert!(text.contains("ld.") || text.contains("st.") || text.contains("atom."), "{text}");
    assert!(first["message"].as_str().is_some_and(|message| message.contains("spin_lock.fence")), "{first}");
    // What mends it is a change of the compiled file, offered where the harness begins.
    let start = json!({ "line": 0, "character": 0 });
    let asked =
        json!({ "textDocument": { "uri": uri }, "range": { "start": start, "end": start }, "context": {} });
    let actions = editor.ask("textDocument/codeAction", &asked);
    let edits = &actions[0]["edit"]["changes"][&compiled];
    assert!(edits[0]["newText"].as_str().is_some_and(|new| new.contains("release")), "{actions}");
    // A compiler writes it anew, and the editor says so: nothing is wrong with it any more.
    fs::write(editor.folder.join("spin_lock.ptx"), &right).expect("it is written");
    editor.tell("workspace/didChangeWatchedFiles", &json!({ "changes": [{ "uri": compiled, "type": 2 }] }));
    assert_eq!(shown_of(&mut editor, &compiled), json!([]));
    assert_eq!(shown_of(&mut editor, &uri), json!([]));
    // It is opened, spoilt and saved: it has no errors of the kernel language, and the harness is checked.
    editor.open("spin_lock.ptx", &wrong);
    assert_eq!(shown_of(&mut editor, &compiled), json!([]));
    editor.save(&compiled);
    let found = shown_of(&mut editor, &compiled);
    assert_eq!(found[0]["code"], first["code"]);
    assert_eq!(editor.at("textDocument/hover", &compiled, &wrong, "atom"), Value::Null);
    // What is typed into it is another text, and what was found is gone; so it is once the harness is closed.
    editor.change(&compiled, 2, &right);
    assert_eq!(shown_of(&mut editor, &compiled), json!([]));
    editor.change(&compiled, 3, &wrong);
    assert_eq!(shown_of(&mut editor, &compiled), json!([]));
    editor.save(&compiled);
    // What was found before may be taken away more than once.
    while shown_of(&mut editor, &compiled) == json!([]) {}
    editor.tell("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(shown_of(&mut editor, &compiled), json!([]));
    editor.end();
}
