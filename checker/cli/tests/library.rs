//! The library alone says what the command line says: verdicts, assumptions, explanations and repairs.

use fencepost::check::Config;
use fencepost::examine::examine;
use fencepost::explain::repair::Texts;
use fencepost::models::{self, Model};
use fencepost::report::{Case, json};
use fencepost::{Options, Property, ReadsFrom, Report, Source, Style, Verdict, assert_proved, check};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{SourceMap, litmus};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Files of the repository, and a word of what is said of each that takes more than a check.
const FILES: &[(&str, &str)] = &[
    ("examples/message-passing/relaxed.fence", "checked: with these changes nothing is violated"),
    ("examples/lsa-barrier/multimem-own-copy.fence", "with `--variant multimem-is-no-alias`"),
    ("examples/proxy-fence-halves/fence-of-the-filler.fence", "with `--variant proxy-fence-anywhere`"),
    ("examples/spa-handshake/no-membar.fence", "with `--variant control-orders-reads`"),
    ("examples/spa-handshake/one-sm.fence", "this rests on an assumption (A-51)"),
    ("tests/litmus/atomics/add-and-store.litmus", "\"quantifier\""),
];

/// The lines of a file's launches, by way of the library; times are zero.
fn by_library(root: &Path, file: &str) -> Vec<Value> {
    let mut read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| error.to_string());
    let mut sources = SourceMap::default();
    let program = if file.ends_with(".litmus") {
        litmus::load(&mut sources, file, &mut read)
    } else {
        load(&mut sources, file, &mut read, &LoadOptions::default())
    };
    let program = program.unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
    let model = Model::shipped(models::usual(&program), &[]).expect("the model comes along");
    let texts = Texts::new(&sources, LoadOptions::default());
    let mut lines = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let found = examine(&texts, &program, kernel, launch, &model, &Config::usual(kernel))
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            let case = Case {
                sources: &sources,
                file,
                program: &program,
                kernel,
                model: &model.name,
                variants: &[],
                outcome: &found.outcome,
                explanations: &found.explanations,
                standing: Default::default(),
            };
            lines.push(without_times(&json::report(&case)));
        }
    }
    lines
}

fn by_command(root: &Path, file: &str) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let output =
        command.args(["check", "--format", "json", "--no-warnings", file]).current_dir(root).output();
    let text = String::from_utf8(output.expect("the command runs").stdout).expect("JSON is UTF-8");
    text.lines().map(without_times).collect()
}

/// A check of a file of the repository, under the path from its root.
fn called(file: &str, options: &Options) -> Report {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    check(Source::file_in(root, file), options).unwrap_or_else(|error| panic!("{error}"))
}

/// What the command prints of a file of the repository, with these further words.
fn printed(file: &str, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = command.args(["check", "--color", "never", file]).args(words).current_dir(root).output();
    String::from_utf8(output.expect("the command runs").stdout).expect("it prints UTF-8")
}

/// A JUnit document without what it took.
fn without_seconds(text: &str) -> String {
    let mut parts = text.split(" time=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('"').map_or("", |(_, rest)| rest))
}

fn without_times(line: &str) -> Value {
    let mut value: Value = serde_json::from_str(line).expect("a line is an object");
    value["stats"]["milliseconds"] = Value::Null;
    value
}

#[test]
fn the_library_alone_says_what_the_command_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, word) in FILES {
        let lines = by_library(&root, file);
        assert!(lines.iter().any(|line| line.to_string().contains(word)), "{file}: {lines:?}");
        assert_eq!(lines, by_command(&root, file), "{file}");
    }
}

#[test]
fn a_model_with_a_variant_is_taken_at_its_word() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = "examples/spa-handshake/one-sm.fence";
    let mut read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| error.to_string());
    let mut sources = SourceMap::default();
    let program = load(&mut sources, file, &mut read, &LoadOptions::default());
    let program = program.unwrap_or_else(|errors| panic!("{errors:?}"));
    let kernel = &program.kernels[0];
    let texts = Texts::new(&sources, LoadOptions::default());
    let assumptions = |variants: &[String]| {
        let model = Model::shipped(models::SPA, variants).expect("it has the variant");
        let launch = &kernel.launches[0];
        let found = examine(&texts, &program, kernel, launch, &model, &Config::usual(kernel));
        found.expect("it can be checked").outcome.assumptions.len()
    };
    assert_eq!((assumptions(&[]), assumptions(&["cumulative".to_owned()])), (1, 0));
}

#[test]
fn one_call_says_what_the_command_says() {
    for (file, word) in FILES {
        let json = called(file, &Options::default().jobs(2)).to_json();
        let lines = |text: &str| text.lines().map(without_times).collect::<Vec<_>>();
        assert!(json.contains(word), "{file}: {json}");
        assert_eq!(lines(&json), lines(&printed(file, &["--format", "json"])), "{file}");
    }
}

#[test]
fn one_call_has_each_form_of_the_command() {
    // Something violated, something proved, and a litmus test.
    for file in [FILES[0].0, FILES[4].0, FILES[5].0] {
        let report = called(file, &Options::default());
        assert_eq!(report.to_text(Style::PLAIN), printed(file, &[]), "{file}");
        assert_eq!(report.to_text_with_traces(Style::PLAIN), printed(file, &["--trace"]), "{file}");
        for (format, text) in
            [("sarif", report.to_sarif()), ("github", report.to_github()), ("junit", report.to_junit())]
        {
            let printed = printed(file, &["--format", format]);
            let printed = if format == "junit" { without_seconds(&printed) } else { printed };
            assert_eq!(text, printed, "{file}: {format}");
        }
        let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-call.html");
        let _ = std::fs::remove_file(&page);
        printed(file, &["--graph", &page.to_string_lossy()]);
        assert_eq!(report.to_html(), std::fs::read_to_string(&page).ok(), "{file}");
        // One line per launch has no room for repairs, so the command does not look for any.
        let brief = called(file, &Options::default().repairs(false)).to_brief();
        assert_eq!(brief, printed(file, &["--format", "brief"]), "{file}");
    }
}

#[test]
fn warnings_are_told_as_by_the_command() {
    let text =
        "kernel k {\n    launch { ctas: 1 }\n    global x: u32 = 0;\n    let v = ld.relaxed.gpu [x];\n}\n";
    let report = check(text, &Options::default()).expect("it is well-formed");
    let [warning] = report.warnings() else { panic!("{:?}", report.warnings()) };
    assert_eq!((warning.code, warning.region.file.as_str()), ("warning::nothing-to-protect", "<text>"));
    assert_eq!((warning.region.start.line, &text[warning.region.bytes.clone()]), (1, "k"));
    assert!(report.to_text(Style::PLAIN).ends_with("1 launch checked: 1 proved; 1 warning\n"), "{report}");
    // Who asks for one property only does not look at the rest.
    let of_a_part = check(text, &Options::default().property(Property::Race)).expect("it is well-formed");
    assert!(of_a_part.warnings().is_empty(), "{of_a_part}");
}

#[test]
fn options_mean_what_they_mean_on_the_command_line() {
    let file = "examples/message-passing/release-acquire.fence";
    let options = Options::default().model("ptx-6.0").launch("ctas=2").property(Property::Race).max_events(3);
    let words = ["--model", "ptx-6.0", "--launch", "ctas=2", "--property", "race", "--max-events", "3"];
    let report = called(file, &options);
    assert_eq!((report.verdict(), report.model()), (Verdict::Inconclusive, "ptx-6.0"));
    assert_eq!(report.to_text(Style::PLAIN), printed(file, &words));
    let loops =
        "kernel k(N in 0..=9) {\n    var i: u32 = 0;\n    while i < N { i += STEP; }\n}\nconst STEP = 2;\n";
    let verdict = |options: Options| check(loops, &options).map(|report| (report.verdict(), report.passes()));
    let bounded = Options::default().unroll(1).unroll_max(1);
    assert_eq!(verdict(bounded.clone()).ok(), Some((Verdict::ProvedUpToBound, false)));
    assert_eq!(verdict(bounded.clone().allow_bounded(true)).ok(), Some((Verdict::ProvedUpToBound, true)));
    assert_eq!(verdict(bounded.define("STEP", 9)).ok(), Some((Verdict::Proved, true)));
}

#[test]
fn findings_are_values() {
    let report = called("examples/message-passing/relaxed.fence", &Options::default());
    let finding = report.findings().next().expect("it is violated");
    assert_eq!((finding.code, finding.property), ("race::uniform", Property::Race));
    let place = finding.place.as_ref().expect("a race is somewhere");
    let text = include_str!("../../../examples/message-passing/relaxed.fence");
    let line = text.lines().nth(place.region.start.line - 1).expect("the line is there");
    assert!(line.contains(&text[place.region.bytes.clone()]), "{place:?}");
    assert!(place.thread.is_some() && !finding.others.is_empty() && !finding.why.is_empty());
    let reads = finding.trace.iter().filter(|step| !step.reads_from.is_empty());
    let from =
        |source: &ReadsFrom| matches!(source, ReadsFrom::Step(number) if *number <= finding.trace.len());
    assert!(reads.flat_map(|step| &step.reads_from).any(from), "{:?}", finding.trace);

    let mut mended = text.to_owned();
    for edit in finding.edits.iter().rev() {
        mended.replace_range(edit.region.bytes.clone(), &edit.text);
    }
    assert_ne!(mended, text);
    assert!(check(mended, &Options::default()).expect("it is well-formed").passes());
}

#[test]
fn texts_use_texts_and_the_library() {
    let source =
        Source::text("a/k.fence", "use \"b.fence\"; use \"lib/lock.fence\"; kernel k { let x = two(); }");
    let error = check(source.clone(), &Options::default()).expect_err("there is no b.fence");
    assert!(error.to_string().contains("b.fence"), "{error}");
    let source = source.with("a/b.fence", "fn two() -> u32 { return 2; }");
    let report = check(source, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.verdict(), Verdict::Proved);
}

#[test]
fn rejected_input_is_told_with_its_place() {
    let error = check("kernel k {\n  fence.acq_rel;\n}\n", &Options::default()).expect_err("it has no scope");
    let problem = &error.problems()[0];
    let region = problem.region.as_ref().expect("it is in the text");
    assert_eq!((problem.code, region.start.line, region.start.column), ("validate::missing-scope", 2, 3));
    assert!(format!("{error:?}").contains("<text>:2:3") && error.to_json().contains("\"rejected\""));

    let code = |source: Source, options: &Options| match check(source, options) {
        Ok(report) => panic!("{report}"),
        Err(error) => error.problems()[0].code,
    };
    assert_eq!(code(Source::file("no/such.fence"), &Options::default()), "input::unreadable-path");
    assert_eq!(code("".into(), &Options::default()), "input::no-kernel");
    let kernel = || Source::from("kernel k { }");
    assert_eq!(code(kernel(), &Options::default().launch("none")), "input::launch");
    assert_eq!(code(kernel(), &Options::default().property(Property::Condition)), "input::property");
    let model = check(kernel(), &Options::default().model("tso")).expect_err("there is no such model");
    assert!(
        model.to_string().contains("there is no model `tso`") && model.to_json().contains("input::model")
    );
}

#[test]
fn a_launch_that_is_not_supported_does_not_hide_the_others() {
    let text = "kernel k {
    launch one { ctas: 1 }
    launch two { ctas: 2 }
    shared done: u32 = 0;
    st.weak.shared.u32 [done], 1;
    final { assert [done] == 1; }
}
";
    let report =
        check(Source::text("k.fence", text), &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let verdicts: Vec<_> = report
        .launches()
        .iter()
        .map(|launch| {
            (&*launch.name, launch.verdict, launch.unsupported.as_ref().map(|problem| problem.code))
        })
        .collect();
    let unsupported = Some("unsupported::final-shared");
    assert_eq!(
        verdicts,
        [("one", Verdict::Proved, None), ("two", Verdict::Inconclusive, unsupported)],
        "{report}"
    );
    assert!(report.verdict() == Verdict::Inconclusive && !report.passes());

    // Each form says so, too, as the command does.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library-unsupported");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    std::fs::write(folder.join("k.fence"), text).expect("it can be written");
    let command = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        let output = command.args(["check", "k.fence"]).args(words).current_dir(&folder).output();
        let output = output.expect("the command runs");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        (text(output.stdout), text(output.stderr))
    };
    let json = command(&["--format", "json"]).0;
    let lines = |text: &str| text.lines().map(without_times).collect::<Vec<_>>();
    assert_eq!(lines(&report.to_json()), lines(&json));
    assert_eq!(json.lines().count(), 2, "{json}");
    assert_eq!(report.to_sarif(), command(&["--format", "sarif"]).0);
    assert_eq!(report.to_github(), command(&["--format", "github"]).0);
    assert_eq!(report.to_junit(), without_seconds(&command(&["--format", "junit"]).0));
    let (brief, errors) = command(&["--format", "brief"]);
    let (error, count) =
        errors.split_at(errors.len() - "1 error in 1 input; rejected input was not checked\n".len());
    assert_eq!(report.to_brief(), brief);
    let shown = report.to_text(Style::PLAIN);
    assert!(shown.contains(error) && shown.ends_with(count), "{shown}");
    assert!(shown.contains("1 launch checked: 1 proved\n"), "{shown}");
}

#[test]
fn proved_files_are_asserted() {
    assert_proved!("../../examples/cas-lock/acquire-release.fence");
    assert_proved!("../../examples/cas-lock/acquire-release.fence", Options::default().model("ptx-7.5"),);
}

#[test]
#[should_panic(expected = "`../../examples/message-passing/relaxed.fence` is not proved: it is violated")]
fn what_is_violated_is_not_asserted() {
    assert_proved!("../../examples/message-passing/relaxed.fence");
}

#[test]
#[should_panic(expected = "`no/such.fence` is not proved: the input was rejected")]
fn what_is_not_there_is_not_asserted() {
    assert_proved!("no/such.fence");
}

/// The first block of this language behind a heading.
fn block<'a>(page: &'a str, heading: &str, language: &str) -> &'a str {
    let behind = page.split_once(heading).unwrap_or_else(|| panic!("there is no `{heading}`")).1;
    let body = behind.split_once(&format!("```{language}\n")).expect("the section has such a block").1;
    body.split_once("```").expect("the block ends").0
}

/// The package `tests/stranger` is what the README says, so that it is built and run with the other tests.
#[test]
fn the_package_of_the_readme_is_a_package_of_the_workspace() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let readme = read("README.md");
    let manifest = block(&readme, "## From Rust", "toml").replace("../fencepost/checker", "../../checker");
    // It is never published, and has the licence of everything here.
    let manifest = manifest.replace("\n\n[dev", "\nlicense = \"MIT OR Apache-2.0\"\npublish = false\n\n[dev");
    assert_eq!(read("tests/stranger/Cargo.toml"), manifest);
    assert_eq!(read("tests/stranger/tests/kernels.rs"), block(&readme, "## From Rust", "rust"));
    assert_eq!(read("tests/stranger/kernels/mp.fence"), block(&readme, "## A kernel", "fence"));
    let workspace = read("Cargo.toml");
    let members = workspace.lines().find(|line| line.starts_with("members")).expect("it has members");
    assert!(members.contains("\"tests/stranger\""), "{members}");
}

/// Two streams; `calls` stand between a launch on the first and one on the second.
fn of_two_streams(calls: &str) -> Report {
    let text = format!(
        "global x: u32 = 0;
kernel produce {{ st [x], 1; }}
kernel consume {{ let v = ld.relaxed.gpu [x]; }}
program p {{
    stream a, b with non_blocking;
    event ready;
    launch produce on a;
    {calls}
    launch consume on b;
}}
"
    );
    check(&text, &Options::default()).expect("it is well-formed")
}

#[test]
fn a_wait_for_an_event_that_nothing_records_is_warned_of() {
    let codes = |report: &Report| report.warnings().iter().map(|warning| warning.code).collect::<Vec<_>>();
    let forgotten = of_two_streams("wait ready on b;");
    assert_eq!(codes(&forgotten), ["warning::unrecorded-event"], "{forgotten}");
    assert_eq!((forgotten.warnings()[0].region.start.line, forgotten.verdict()), (8, Verdict::Violated));
    let early = of_two_streams("wait ready on b; record ready on a;");
    assert_eq!((codes(&early), early.verdict()), (vec![], Verdict::Violated), "{early}");
    let right = of_two_streams("record ready on a; wait ready on b;");
    assert_eq!((codes(&right), right.verdict()), (vec![], Verdict::Proved), "{right}");
}

/// A proof that needs A-7 says so; what vanishes with A-53 read otherwise does, whichever property it breaks; nothing else.
#[test]
fn what_rests_on_an_open_question_says_so() {
    let handed_over = |acquire: &str| {
        let text = format!(
            "kernel k {{
    launch {{ ctas: 2, cooperative: true }}
    global x: u32 = 0;
    global flag: u32 = 0;
    if ctaid == 0 {{ st [x], 1; st.release.gpu [flag], 1; }}
    else {{ await ld.relaxed.gpu [flag] == 1; {acquire} let v = ld [x]; assert v == 1; }}
}}
"
        );
        let report = check(&text, &Options::default()).expect("it is well-formed");
        assert_eq!(report.verdict(), Verdict::Proved, "{report}");
        report.to_text(Style::PLAIN).contains("rests on an assumption (A-7)")
    };
    assert!(handed_over("let _ = atom.acquire.gpu.add.u32 [flag], 0;"));
    assert!(!handed_over("let _ = atom.acquire.gpu.add.u32 [flag], 0; fence.acquire.gpu;"));
    assert!(!handed_over("let old = atom.acquire.gpu.add.u32 [flag], 0;"));

    let left_early = |first: &str, then: &str| {
        let text = format!(
            "kernel k {{
    launch {{ warps: 2 }}
    shared x: u32 = 0;
    if warpid == 0 {{ {first} exit; }}
    bar.sync 0;
    {then}
}}
"
        );
        let report = check(&text, &Options::default()).expect("it is well-formed");
        assert_eq!(report.verdict(), Verdict::Violated, "{report}");
        let text = report.to_text(Style::PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
        [
            text.contains("with `--variant exits-order`, under which it does, the two are ordered here"),
            text.contains("with `--variant exits-order`, under which it does, this execution is none"),
        ]
    };
    assert_eq!(left_early("st [x], 1;", "let v = ld [x];"), [true, false]);
    assert_eq!(
        left_early("st.relaxed.cta [x], 1;", "let v = ld.relaxed.cta [x]; assert v == 1;"),
        [false, true]
    );
    // The race is there whether exits order or not: the store comes after the barrier.
    assert_eq!(left_early("bar.sync 0; st [x], 1;", "let v = ld [x];"), [false, false]);
    assert_eq!(
        left_early("st.relaxed.cta [x], 1;", "let v = ld.relaxed.cta [x]; assert v == 2;"),
        [false, false]
    );
}

/// The verdict in all forms, the exit code, and that with `--allow-bounded`.
fn in_all_forms(name: &str, text: &str, options: &[&str]) -> (String, i32, i32) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.fence"));
    std::fs::write(&path, text).expect("the folder is there");
    let run = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
            .arg("check")
            .arg(&path)
            .args(options)
            .args(more)
            .output()
            .expect("the binary is there");
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            output.status.code().expect("it ends by itself"),
        )
    };
    let (json, code) = run(&["--format", "json"]);
    let value: Value = serde_json::from_str(json.lines().next().unwrap_or_default()).expect("it is JSON");
    let verdict = value["verdict"].as_str().expect("there is one").to_owned();
    let (brief, of_brief) = run(&["--format", "brief"]);
    let (pretty, of_pretty) = run(&[]);
    let (_, if_allowed) = run(&["--allow-bounded"]);
    assert_eq!((code, code), (of_brief, of_pretty), "{name}");
    let word = verdict.replace('_', " ");
    assert!(brief.contains(&format!(": {word}")), "{name}: {verdict}, {brief}");
    assert!(pretty.lines().next().is_some_and(|line| line.contains(&word)), "{name}: {verdict}, {pretty}");
    let all = [&json, &brief, &pretty].iter().any(|text| text.contains("vacuous"));
    assert_eq!(all, verdict == "vacuous", "{name}: {json}{brief}{pretty}");
    (verdict, code, if_allowed)
}

#[test]
fn all_forms_say_the_same_of_what_says_nothing() {
    let never = "kernel k { launch { ctas: 2 } global n: u32 = 0; let v = ld.relaxed.gpu [n]; assume v > 1; assert v > 0; }";
    let sometimes = "kernel k { launch { ctas: 2 } global n: u32 = 0; let v = atom.add.relaxed.gpu [n], 1; assume v < 2; assert v < 2; }";
    let counts_to_twelve = |rest: &str| {
        format!(
            "kernel k {{ launch {{ ctas: 1 }} global n: u32 = 0; global o: u32 = 0; loop {{ let t = atom.add.relaxed.gpu [n], 1; \
             if t >= 12 {{ break; }} st [o], t; }} {rest} }}"
        )
    };
    let long = &counts_to_twelve("let w = ld [o]; assert w == 11;");
    let at_the_end = &counts_to_twelve("final { assert [o] == 11; }");
    let reached = &counts_to_twelve("reachable true;");
    let some = "kernel k(N in 10..=12) { launch { ctas: 1 } global n: u32 = 0; global o: u32 = 0; st [n], N; loop { \
        let t = atom.add.relaxed.gpu [n], 1; if t >= 16 { break; } st [o], t; } reachable N == 12; }";
    let four: &[&str] = &["--unroll", "4", "--unroll-max", "4"];
    let five: &[&str] = &["--unroll", "5", "--unroll-max", "5"];
    let only = |property: &'static str| vec!["--property", property];
    let with = |more: &[&'static str]| [four, more].concat();
    let rows = [
        ("never", never, vec![], ("vacuous", 3, 3)),
        ("never-assert", never, only("assert"), ("vacuous", 3, 3)),
        ("never-race", never, only("race"), ("vacuous", 3, 3)),
        ("never-deadlock", never, only("deadlock"), ("vacuous", 3, 3)),
        ("never-reachable", never, only("reachable"), ("vacuous", 3, 3)),
        ("sometimes", sometimes, vec![], ("proved", 0, 0)),
        ("sometimes-assert", sometimes, only("assert"), ("proved", 0, 0)),
        ("long", long, four.to_vec(), ("proved_up_to_bound", 3, 3)),
        ("long-assert", long, with(&["--property", "assert"]), ("proved_up_to_bound", 3, 0)),
        ("long-race", long, with(&["--property", "race"]), ("proved_up_to_bound", 3, 0)),
        ("long-reachable", long, with(&["--property", "reachable"]), ("proved_up_to_bound", 3, 3)),
        ("long-enough", long, vec!["--unroll-max", "16"], ("proved", 0, 0)),
        ("at-the-end-assert", at_the_end, with(&["--property", "assert"]), ("proved_up_to_bound", 3, 3)),
        (
            "at-the-end-enough",
            at_the_end,
            vec!["--property", "assert", "--unroll-max", "16"],
            ("proved", 0, 0),
        ),
        ("reached", reached, four.to_vec(), ("proved_up_to_bound", 3, 3)),
        ("some", some, five.to_vec(), ("proved_up_to_bound", 3, 0)),
        ("some-none", some, with(&["--property", "reachable"]), ("proved_up_to_bound", 3, 3)),
    ];
    for (name, text, options, (verdict, code, if_allowed)) in rows {
        let said = in_all_forms(name, text, &options);
        assert_eq!(said, (verdict.to_owned(), code, if_allowed), "{name}: {text}");
    }
}
