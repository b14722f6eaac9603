//! `fencepost run`: what is shown, what can be chosen, and what is refused.

#[path = "schema/validator.rs"]
mod schema;
#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use schema::Schema;
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use support::{Folder, all_text, code, run_with};

const SCHEMA: &str = include_str!("../../schema/run.schema.json");

const MESSAGE: &str = "kernel message {
    launch { ctas: 2 }
    global data: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {
        st.relaxed.gpu [data], 42;
        st.relaxed.gpu [flag], 1;
    } else {
        let seen = ld.acquire.gpu [flag];
        let got = ld.relaxed.gpu [data];
        assert seen == 0 || got == 42;
    }
}
";

fn run(folder: &Path, arguments: &[&str], input: &str) -> Output {
    run_with(folder, &[&["run"], arguments].concat(), input)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("it is UTF-8")
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = run(folder, &[arguments, &["--format", "json"]].concat(), "");
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    serde_json::from_str(&stdout(&output)).expect("it is one object")
}

#[test]
fn an_execution_is_shown_with_what_each_read_could_return() {
    let folder = Folder::new("run-message");
    folder.write("m.fence", MESSAGE);
    let text = stdout(&run(&folder.0, &["m.fence"], ""));
    let expected = "\
run: m.fence: message (grid of 2 CTAs of 1 thread)
  every thread runs to its end

  step │ t0: tid 0 of cta 0            │ t1: tid 0 of cta 1
  ─────┼───────────────────────────────┼───────────────────────────────────────────
  1    │ 6: st.relaxed.gpu [data] = 42 │
  2    │ 7: st.relaxed.gpu [flag] = 1  │
  3    │                               │ 9: ld.acquire.gpu [flag] → 1 from step 2
  4    │                               │ 10: ld.relaxed.gpu [data] → 42 from step 1

  in full:
  ld.acquire.gpu = ld.acquire.gpu.global.u32
  ld.relaxed.gpu = ld.relaxed.gpu.global.u32
  st.relaxed.gpu = st.relaxed.gpu.global.u32

  what else steps could come to (`--choose`):
    3#2     → 0 (initial value)
    4#2     → 0 (initial value)

  in memory at the end: [data] = 42, [flag] = 1
  nothing goes wrong in this execution
";
    assert_eq!(text, expected);
}

#[test]
fn values_and_threads_are_chosen() {
    let folder = Folder::new("run-chosen");
    folder.write("m.fence", MESSAGE);
    let stale = json(&folder.0, &["m.fence", "--choose", "3=1,4=0"]);
    assert_eq!(stale["wrong"][0]["code"], "assert::violated");
    assert_eq!(stale["steps"][3]["taken"], 2);
    assert_eq!(stale["steps"][3]["ways"][1]["value"], "0");
    let early = json(&folder.0, &["m.fence", "--choose", "1t1=1"]);
    assert_eq!(
        (&early["steps"][0]["thread"], &early["steps"][0]["ways"][0]["from"][0]["step"]),
        (&"t1".into(), &3.into())
    );
    // The same, from standard input.
    let again = run(&folder.0, &["m.fence", "--format", "json", "--choose", "-"], "1t1=1\n");
    assert_eq!(serde_json::from_str::<Value>(&stdout(&again)).ok(), Some(early));
    // With a release that is acquired, the stale value is no choice.
    folder.write("released.fence", MESSAGE.replace("st.relaxed.gpu [flag]", "st.release.gpu [flag]"));
    let refused = run(&folder.0, &["released.fence", "--choose", "3=1,4=0"], "");
    assert_eq!(code(&refused), 2);
    let why = "error: --choose: step 4, t1 (tid 0 of cta 1): no execution that begins like this reads 0 there: #1 → 42 from step 1\n";
    assert_eq!(all_text(&refused), why);
}

#[test]
fn threads_that_wait_are_seen_to() {
    let folder = Folder::new("run-waits");
    folder.write(
        "barrier.fence",
        "kernel b { launch { warps: 2, lanes: 1 } shared x: u32 = 0; if warpid == 0 { st [x], 1; } bar.sync 0; let r = ld [x]; }",
    );
    let waits = run(&folder.0, &["barrier.fence", "--choose", "t0 t0 t0"], "");
    assert_eq!(code(&waits), 2);
    assert!(all_text(&waits).contains("waits for t1 (tid 1"), "{}", all_text(&waits));
    folder.write(
        "hang.fence",
        "kernel h { launch { ctas: 2 } global x: u32 = 0; if ctaid == 0 { await ld.relaxed.gpu [x] == 1; } }",
    );
    let hang = json(&folder.0, &["hang.fence"]);
    assert_eq!(hang["end"], "hangs");
    let last = hang["steps"].as_array().and_then(|steps| steps.last()).expect("there is a step");
    assert_eq!((&last["thread"], &last["ways"][0]["stops"]), (&"t0".into(), &"waits".into()));
    assert!(hang["wrong"][0]["code"].as_str().is_some_and(|code| code.starts_with("deadlock::")), "{hang}");
}

#[test]
fn each_step_is_asked_for() {
    let folder = Folder::new("run-asked");
    folder.write("m.fence", MESSAGE);
    let answers = "?\n\n2\nx\n=7\n#2\nu\n=1\ne\n\nq\n";
    let output = run(&folder.0, &["m.fence", "--ask", "always"], answers);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    let text = stdout(&output);
    for part in [
        "> t0 (tid 0 of cta 0): can do line 6, `st.relaxed.gpu.global.u32 [data]`",
        "`x` is no answer; `?` lists them",
        "no execution that begins like this reads 7 there: #1 → 1 from step 2; #2 → 0 (initial value)",
        "   3  t1 (tid 0 of cta 1)  9: ld.acquire.gpu [flag] → 0 (initial value)",
        "   3  t1 (tid 0 of cta 1)  9: ld.acquire.gpu [flag] → 1 from step 2",
        "there is no other step",
        "every thread runs to its end; `u` takes the last step back, `q` ends",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Whoever hangs up in the middle gets the rest.
    let output = run(&folder.0, &["m.fence", "--ask", "always"], "\n");
    assert!(stdout(&output).contains("nothing goes wrong in this execution"), "{}", all_text(&output));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let folder = Folder::new("run-refused");
    folder.write("m.fence", MESSAGE);
    folder.write("two.fence", "kernel a { } kernel b { }");
    folder.write("none.fence", "const N = 1;");
    folder.write("vacuous.fence", "kernel v(N in 0..=3) { assume N > 5; }");
    folder.write("large.fence", "kernel l { global x: u32 = 0; for i in 0..90000 { st [x], i; } }");
    folder.write("bad.fence", "kernel {");
    for (arguments, status, says) in [
        (&["absent.fence"][..], 2, "absent.fence"),
        (&["bad.fence"], 2, "syntax::unexpected-token"),
        (&["two.fence"], 2, "two.fence has several: choose one with --entry: `a`, `b`"),
        (&["two.fence", "--entry", "c"], 2, "--entry c: two.fence has no such kernel; it has `a`, `b`"),
        (&["none.fence"], 2, "there is no kernel in it"),
        (&["m.fence", "--launch", "big"], 2, "--launch big: `message` has no such launch; it has `default`"),
        (&["m.fence", "--launch", "ctas=0"], 2, "every dimension of a launch is at least 1"),
        (&["vacuous.fence"], 3, "vacuous: no execution satisfies what the program assumes"),
        (&["large.fence"], 3, "no execution was found: "),
        (&["m.fence", "--max-clauses", "10"], 3, "the formula has more than 10 clauses"),
        (&["m.fence", "--max-events", "3"], 3, "more than 3 events"),
        (&["m.fence", "--choose", "3=x"], 2, "`3=x` is no choice"),
        (&["m.fence", "--choose", "4#9"], 2, "step 4, t1 (tid 0 of cta 1): it has 2 ways: #1 "),
        (
            &["m.fence", "--choose", "1=0"],
            2,
            "step 1, t0 (tid 0 of cta 0): it reads no value, so it is not 0: #1 = 42",
        ),
        (&["m.fence", "--choose", "9=0"], 2, "there is no step 9: the execution ends after 4"),
        (&["m.fence", "--choose", "3=0,2=0"], 2, "step 2 is done by then (3 are)"),
        (&["m.fence", "--choose", "1t7"], 2, "there is no thread t7, only t0 to t1"),
        (&["m.fence", "--choose", "5t0"], 2, "t0 (tid 0 of cta 0) has nothing more to do"),
        (&["-", "--choose", "-"], 2, "standard input can be the kernel or the choices, not both"),
    ] {
        let output = run(&folder.0, arguments, "");
        assert_eq!(code(&output), status, "{arguments:?}: {}", all_text(&output));
        assert!(all_text(&output).contains(says), "{arguments:?}: {}", all_text(&output));
    }
    let piped = run(&folder.0, &["-"], MESSAGE);
    assert!(stdout(&piped).starts_with("run: <stdin>: message"), "{}", all_text(&piped));
}

#[test]
fn json_is_described_and_pictures_are_drawn() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schema = Schema::new(SCHEMA, true);
    for file in [
        "examples/message-passing/relaxed.fence",
        "examples/divergent-barrier",
        "examples/chained-launches",
        "examples/spa-handshake",
        "examples/transaction-bytes",
        "tests/litmus/atomics",
    ] {
        for path in kernels(&root.join(file)) {
            let path = path.to_string_lossy().into_owned();
            let report = json(&root, &[&path]);
            let errors = schema.errors(&report);
            assert!(errors.is_empty(), "{path}: {errors:?}");
            assert_eq!(report, json(&root, &[&path]), "{path}: the same twice");
        }
    }
    let folder = Folder::new("run-pictures");
    folder.write("m.fence", MESSAGE);
    for (name, holds) in [("m.svg", "<svg"), ("m.dot", "digraph"), ("m.html", "<html")] {
        let output = run(&folder.0, &["m.fence", "--graph", name], "");
        assert_eq!(code(&output), 0, "{}", all_text(&output));
        let text = std::fs::read_to_string(folder.0.join(name)).expect("it is written");
        assert!(text.contains(holds) && text.contains("[flag]"), "{name}: {text}");
    }
}

/// A file, or those of a folder that have one kernel, at most four.
fn kernels(path: &Path) -> Vec<std::path::PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = std::fs::read_dir(path).expect("the folder is there");
    let mut all: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    all.sort();
    let is_kernel = |path: &std::path::PathBuf| {
        let is_one =
            |text: String| text.matches("\nkernel ").count() + usize::from(text.starts_with("kernel ")) == 1;
        let ending = path.extension().unwrap_or_default();
        ending == "litmus" || ending == "fence" && std::fs::read_to_string(path).is_ok_and(is_one)
    };
    all.retain(is_kernel);
    all.truncate(4);
    all
}
