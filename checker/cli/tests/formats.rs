//! What machines read: JSON and SARIF against their schemas, JUnit, annotations, and standard input.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;
#[path = "schema/validator.rs"]
mod validator;

use serde_json::Value;
use std::path::Path;
use std::process::Output;
use support::{Folder, code, run_with};
use validator::Schema;

const OWN: &str = include_str!("../../schema/fencepost.schema.json");
const SARIF: &str = include_str!("schema/sarif-schema-2.1.0.json");

/// A launch that is violated and can be mended, one that is proved, and one that is cut short.
const FILE: &str = "kernel mp(N in 1..=2) {
    launch { ctas: 2 }
    global data: u32 = 0;
    global flag: u32 = 0;
    global spare: u32 = 0;
    if ctaid == 0 {
        st [data], 1;
        st.relaxed.gpu [flag], N;
    } else {
        if ld.acquire.gpu [flag] != 0 {
            let v = ld [data];
        }
    }
}
kernel fine { launch a { ctas: 1 } launch b { warps: 2 } global x: u32 = 0; st.relaxed.cta [x], 1; }
kernel endless(N in 0..=1000) { global x: u32 = 0; for i in 0..N { st [x], i; } }
";

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("it is UTF-8")
}

fn lines(output: &Output) -> Vec<Value> {
    text(output).lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every line is described by the schema, field by field.
fn is_described(what: &str, output: &Output) -> usize {
    let schema = Schema::new(OWN, true);
    let lines = lines(output);
    for line in &lines {
        let errors = schema.errors(line);
        let kinds = ["launch_report", "warning", "rejected", "failed", "fix_report", "relax_report"];
        let why = || {
            let mut all = String::new();
            for kind in kinds {
                let own: Value = serde_json::from_str(OWN).expect("it is JSON");
                let mut own = own.as_object().expect("it is an object").clone();
                own.remove("oneOf");
                own.insert("$ref".to_owned(), Value::from(format!("#/$defs/{kind}")));
                let one = Schema::new(&Value::Object(own).to_string(), true);
                all += &format!("{kind}: {:?}\n", one.errors(line));
            }
            all
        };
        assert!(errors.is_empty(), "{what}: {errors:?}\n{line}\n{}", why());
    }
    lines.len()
}

/// Stories with every kind of memory, operation and verdict; all of `examples/` takes too long here.
const STORIES: &[&str] = &[
    "examples/message-passing",
    "examples/divergent-barrier",
    "examples/dependent-launch",
    "examples/empty-sequence",
    "examples/spa-handshake",
    "examples/transaction-bytes",
    "examples/tensor-memory-freed",
    "examples/peer-exits-early",
    "tests/litmus/atomics",
];

/// Of compiled code, the line that the compiler has made it of is beside that of the PTX.
#[test]
fn places_in_compiled_code_have_the_line_of_the_source() {
    let folder = Folder::new("compiled-json");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ptx");
    let read = |name: &str| std::fs::read_to_string(examples.join(name)).expect("it is there");
    folder.write("spin_lock.ptx", read("spin_lock.ptx").replace("st.release.gpu", "st.relaxed.gpu"));
    folder.write("spin_lock.fence", read("spin_lock.fence"));
    let output = run_with(&folder.0, &["check", "--format", "json", "spin_lock.fence"], "");
    let lines = lines(&output);
    let schema = Schema::new(OWN, true);
    for line in &lines {
        assert_eq!(schema.errors(line), Vec::<String>::new(), "{line}");
    }
    let race = &lines[0]["findings"][0];
    assert_eq!(race["code"], "race::uniform", "{race}");
    for place in [&race["primary"], &race["secondary"][0]] {
        assert_eq!(
            (&place["file"], &place["source"]["file"]),
            (&"spin_lock.ptx".into(), &"spin_lock.cu".into())
        );
        assert_eq!(place["source"]["line"], 8, "{place}");
    }
}

#[test]
fn json_of_examples_is_described_by_the_schema() {
    let mut n = 0;
    for story in STORIES {
        n += is_described(story, &run_with(&root(), &["check", story, "--format", "json"], ""));
    }
    assert!(n > 40, "{n} lines");
}

/// Calls are in what the schema describes, wherever a place is in a function.
#[test]
fn json_of_calls_is_described_by_the_schema() {
    let folder = Folder::new("formats-calls");
    let text = "fn put(x: &u32) { st.weak [x], 1; }
kernel both {
    launch { ctas: 2 }
    global data: u32 = 0;
    put(&data);
}
fn give(f: &u32) { st.relaxed.gpu [f], 1; }
kernel fine {
    launch { ctas: 2 }
    global flag: u32 = 0;
    give(&flag);
}
";
    folder.write("k.fence", text);
    let checked = run_with(&folder.0, &["check", "k.fence", "--format", "json", "--no-warnings"], "");
    assert_eq!(is_described("check", &checked), 2);
    let finding = &lines(&checked)[0]["findings"][0];
    for place in [&finding["primary"], &finding["secondary"][0], &finding["witness"][0]] {
        assert_eq!(place["calls"][0]["line"], 5, "{finding:#}");
    }
    folder.write("fine.fence", &text[text.find("fn give").expect("it is there")..]);
    let relaxed = run_with(&folder.0, &["relax", "fine.fence", "--format", "json"], "");
    assert_eq!(is_described("relax", &relaxed), 1);
    assert_eq!(lines(&relaxed)[0]["places"][0]["calls"][0][0]["line"], 5, "{}", text);
}

#[test]
fn json_of_everything_else_is_described_too() {
    let folder = Folder::new("formats-schema");
    folder.write("k.fence", FILE);
    folder.write("bad.fence", "kernel {");
    let check = |arguments: &[&str]| is_described(&arguments.join(" "), &run_with(&folder.0, arguments, ""));
    assert_eq!(check(&["check", "k.fence", "--format", "json", "--no-warnings"]), 4);
    assert!(check(&["check", "k.fence", "--format", "json"]) > 4);
    assert_eq!(check(&["check", "bad.fence", "absent.fence", "--format", "json"]), 2);
    assert_eq!(check(&["check", "k.fence", "--format", "json", "--max-events", "1", "--no-warnings"]), 4);
    assert_eq!(check(&["check", "k.fence", "--format", "json", "--model", "nope"]), 1);
    for command in ["fix", "relax"] {
        assert_eq!(check(&[command, "k.fence", "--format", "json"]), 1);
        assert_eq!(check(&[command, "bad.fence", "--format", "json"]), 1);
        let story = [command, "examples/message-passing", "--format", "json"];
        assert_eq!(is_described(command, &run_with(&root(), &story, "")), 9);
    }
}

#[test]
fn the_schema_refuses_what_is_not_there() {
    let schema = Schema::new(OWN, true);
    let folder = Folder::new("formats-refused");
    folder.write("k.fence", FILE);
    let output = run_with(&folder.0, &["check", "k.fence", "--format", "json"], "");
    let mut line = lines(&output).remove(0);
    assert_eq!(schema.errors(&line), Vec::<String>::new());
    line["verdict"] = Value::from("maybe");
    assert!(!schema.errors(&line).is_empty());
    line["verdict"] = Value::from("violated");
    line["new"] = Value::from(1);
    assert!(!schema.errors(&line).is_empty());
}

#[test]
fn json_has_the_execution_with_its_places() {
    let folder = Folder::new("formats-witness");
    folder.write("k.fence", FILE);
    let output = run_with(&folder.0, &["check", "k.fence", "--format", "json"], "");
    let finding = &lines(&output)[0]["findings"][0];
    let place = |value: &Value| {
        ["line", "column", "end_line", "end_column"].map(|key| value[key].as_u64().expect("a number"))
    };
    assert_eq!(place(&finding["primary"]), [11, 21, 11, 30]);
    let steps = finding["witness"].as_array().expect("a list");
    let read = steps.iter().find(|step| step["line"] == 10).expect("the flag is read");
    assert_eq!((read["does"].as_str(), read["value"].as_str()), (Some("reads"), Some("1")));
    let from = read["reads_from"][0].as_u64().expect("a step");
    let write = &steps[usize::try_from(from).expect("small") - 1];
    assert_eq!((write["step"].as_u64(), write["line"].as_u64()), (Some(from), Some(8)));
    assert_eq!(write["thread"]["name"], "tid 0 of cta 0");
}

#[test]
fn a_sarif_log_is_valid_and_tells_the_execution() {
    let folder = Folder::new("formats-sarif");
    folder.write("k.fence", FILE);
    folder.write("bad name.fence", "kernel {");
    let schema = Schema::new(SARIF, false);
    for (arguments, wanted) in [
        (&["check", "k.fence", "--format", "sarif"][..], 1),
        (&["check", ".", "absent.fence", "--format", "sarif", "--jobs", "2"], 2),
        // Nothing is found, not even where threads run in turns.
        (&["check", "k.fence", "--format", "sarif", "--max-events", "1", "--without", "completing"], 3),
    ] {
        let output = run_with(&folder.0, arguments, "");
        assert_eq!(code(&output), wanted);
        let log: Value = serde_json::from_str(&text(&output)).expect("it is JSON");
        assert_eq!(schema.errors(&log), Vec::<String>::new(), "{arguments:?}");
        let successful = &log["runs"][0]["invocations"][0]["executionSuccessful"];
        assert_eq!(successful, &Value::Bool(wanted != 2));
    }
    let output = run_with(&folder.0, &["check", "k.fence", "--format", "sarif"], "");
    let log: Value = serde_json::from_str(&text(&output)).expect("it is JSON");
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("a list");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let levels: Vec<_> = results.iter().map(|r| (r["ruleId"].as_str(), r["level"].as_str())).collect();
    for wanted in
        [("race::uniform", "error"), ("bound::loop-cut", "warning"), ("warning::unused-object", "note")]
    {
        assert!(levels.contains(&(Some(wanted.0), Some(wanted.1))), "{levels:?}");
    }
    let flows = &results[0]["codeFlows"][0]["threadFlows"];
    assert_eq!(flows.as_array().map(Vec::len), Some(2), "a flow for each thread");
    let replacement = &results[0]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(replacement["insertedContent"]["text"], "st.release.gpu");
}

#[test]
fn a_junit_document_counts_what_the_exit_code_says() {
    let folder = Folder::new("formats-junit");
    folder.write("k.fence", FILE);
    folder.write("bad.fence", "kernel {");
    let output = run_with(&folder.0, &["check", ".", "--format", "junit"], "");
    let document = text(&output);
    for part in [
        "<testsuites name=\"fencepost\" tests=\"5\" failures=\"1\" errors=\"2\" time=\"",
        "<testsuite name=\"k.fence\" tests=\"4\" failures=\"1\" errors=\"1\" time=\"",
        "<testcase name=\"fine (a)\" classname=\"k.fence\" time=\"",
        "<failure type=\"race::uniform\" message=\"data race on `data`",
        "<error type=\"bound::loop-cut\" message=\"proved up to bound\">",
        "<error type=\"syntax::",
        "warning::unused-object",
    ] {
        assert!(document.contains(part), "{part} is not in\n{document}");
    }
    let opened = document.matches("<testcase").count();
    assert_eq!(opened, document.matches("</testcase>").count() + document.matches("\"/>").count());
    let allowed = run_with(&folder.0, &["check", "k.fence", "--format", "junit", "--allow-bounded"], "");
    assert!(text(&allowed).contains("tests=\"4\" failures=\"1\" errors=\"0\""), "{}", text(&allowed));
}

#[test]
fn annotations_name_lines_and_codes() {
    let folder = Folder::new("formats-github");
    folder.write("k.fence", FILE);
    folder.write("bad.fence", "kernel {");
    let output = run_with(&folder.0, &["check", ".", "--format", "github"], "");
    let all = text(&output);
    for part in [
        "::error file=k.fence,line=11,endLine=11,col=21,endColumn=30,title=race%3A%3Auniform::data race on `data`",
        "::error file=bad.fence,line=1,endLine=1,",
        "::warning file=k.fence,line=5,endLine=5,col=12,endColumn=17,title=warning%3A%3Aunused-object::",
        "title=bound%3A%3Aloop-cut::",
    ] {
        assert!(all.contains(part), "{part} is not in\n{all}");
    }
    assert!(all.lines().all(|line| line.starts_with("::error ") || line.starts_with("::warning ")), "{all}");
}

#[test]
fn a_dash_is_standard_input() {
    let folder = Folder::new("formats-stdin");
    folder.write("lib.fence", "fn one() -> u32 { return 1; }");
    let kernel =
        "use \"lib.fence\"; kernel k { global x: u32 = 0; st [x], one(); final { assert [x] == 1; } }";
    let output = run_with(&folder.0, &["check", "-", "--format", "json"], kernel);
    assert_eq!(code(&output), 0, "{}", text(&output));
    assert_eq!(lines(&output)[0]["file"], "<stdin>");
    let output = run_with(&folder.0, &["check", "-"], "kernel {");
    assert_eq!(code(&output), 2);
    let output = run_with(&folder.0, &["fmt", "-"], "kernel k { global x: u32 = 0; st [x], 1; }");
    assert_eq!(text(&output), "kernel k {\n    global x: u32 = 0;\n    st [x], 1;\n}\n");
    let output = run_with(&folder.0, &["emit", "program", "-"], kernel);
    assert!(text(&output).contains("\nkernel k\n"), "{}", text(&output));
    let racy =
        "kernel k { launch { warps: 2 } shared x: u32 = 0; if tid == 0 { st [x], 1; } let v = ld [x]; }";
    let output = run_with(&folder.0, &["fix", "-"], racy);
    assert!(code(&output) == 0 && text(&output).contains("+++ b/<stdin>"), "{}", text(&output));
    assert_eq!(code(&run_with(&folder.0, &["fix", "-", "--write"], racy)), 2, "there is no file to write");
}
