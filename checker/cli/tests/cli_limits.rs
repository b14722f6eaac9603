//! What a run does not decide, and input, output and names that are out of the ordinary: nothing is silent, nothing is
//! lost.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use support::{Folder, all_text, check, code};

const PROVED: &str = "kernel k { global x: u32 = 0; st [x], 1; }";
const RACY: &str = "kernel k { launch { warps: 2 } global x: u32 = 0; st [x], tid; }";
const LITMUS: &str = "PTX mp\n{ x = 0; y = 0; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n \
    st.weak x, 1 | ld.acquire.gpu r1, y ;\n st.release.gpu y, 1 | ld.weak r2, x ;\n";

fn fencepost(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(arguments).args(paths).env("NO_COLOR", "1").output().expect("the command starts")
}

fn json_lines(output: &Output) -> Vec<serde_json::Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("JSON is UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is a JSON object")).collect()
}

/// Which property has which verdict, in the only line.
fn verdicts(output: &Output) -> (String, Vec<(String, String)>) {
    let lines = json_lines(output);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let properties = lines[0]["properties"].as_array().cloned().unwrap_or_default();
    let of = |property: &serde_json::Value| (text(&property["property"]), text(&property["verdict"]));
    (text(&lines[0]["verdict"]), properties.iter().map(of).collect())
}

#[test]
fn a_limit_leaves_a_litmus_condition_open() {
    let folder = Folder::new("open-condition");
    let never = folder.write("never.litmus", format!("{LITMUS}~exists (P1:r1 == 1 /\\ P1:r2 == 0)"));
    assert_eq!(code(&check(&never, &[])), 0);
    let rounds = "PTX rounds\n{ x = 0; }\n P0@cta 0,gpu 0 ;\n LC00: ;\n atom.relaxed.gpu.add r2, x, 1 ;\n \
        add r1, r1, 1 ;\n bne r1, 30000, LC00 ;\n~exists (P0:r1 == 5)";
    let rounds = folder.write("rounds.litmus", rounds);
    let cases: [(&Path, &[&str], &str); 3] = [
        (&never, &["--max-events", "2"], "--max-events"),
        (&never, &["--max-clauses", "3"], "--max-clauses"),
        (&rounds, &["--unroll", "30001", "--unroll-max", "30001"], "--max-events"),
    ];
    for (path, arguments, knob) in cases {
        let output = check(path, arguments);
        let text = all_text(&output);
        assert_eq!(code(&output), 3, "{arguments:?}: {text}");
        assert!(text.contains("is undecided: a limit stopped the run") && text.contains(knob), "{text}");
        let output = check(path, &[arguments, &["--format", "json"]].concat());
        let condition = ("condition".to_owned(), "inconclusive".to_owned());
        assert_eq!(verdicts(&output), ("inconclusive".to_owned(), vec![condition]));
        assert_eq!(json_lines(&output)[0]["condition"]["holds"], serde_json::Value::Null);
    }
}

#[test]
fn what_the_model_does_not_state_is_not_proved() {
    let folder = Folder::new("unstated");
    let path = folder.write("k.fence", RACY);
    let output = check(&path, &["--model", "ptx-6.0", "--property", "lifetime", "--format", "json"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    assert_eq!(json_lines(&output)[0]["unstated"], serde_json::json!(["lifetime"]));
    // Axioms alone state no race: asked for, it is open; not asked for, it is named.
    let axioms = folder.write("axioms.cat", "\"axioms\"\nacyclic po\n");
    let model = axioms.to_str().expect("a temporary folder has a plain name");
    let output = check(&path, &["--model", model, "--property", "race,assert", "--format", "json"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    let (verdict, properties) = verdicts(&output);
    assert_eq!(verdict, "inconclusive");
    let expected = [("race", "inconclusive"), ("assert", "proved")];
    assert_eq!(properties, expected.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())));
    let output = check(&path, &["--model", model]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
    let text = all_text(&output).replace("\n        ", " ");
    assert!(text.contains("says nothing about race and lifetime, so nothing is claimed of them"), "{text}");
    let nothing = folder.write("nothing.cat", "\"nothing\"\nlet a = po\n");
    let output = check(&path, &["--model", nothing.to_str().expect("a plain name")]);
    assert_eq!(code(&output), 2);
    assert!(all_text(&output).contains("cat::states-nothing"), "{}", all_text(&output));
}

#[test]
fn a_condition_under_a_filter_that_nothing_passes_is_vacuous() {
    let folder = Folder::new("filter");
    for (filter, expected) in [("P1:r1 == 2", 3), ("P1:r1 == 1", 0)] {
        for quantifier in ["forall (P1:r2 == 1)", "~exists (P1:r2 == 0)"] {
            let text = format!("{LITMUS}filter ({filter})\n{quantifier}");
            let output = check(&folder.write("f.litmus", text), &[]);
            assert_eq!(code(&output), expected, "{filter} {quantifier}: {}", all_text(&output));
            let is_told = all_text(&output).contains("vacuity::filtered-out");
            assert_eq!(is_told, expected == 3, "{}", all_text(&output));
        }
    }
}

#[test]
fn a_condition_is_about_what_is_there() {
    let folder = Folder::new("condition-names");
    for (condition, expected) in [
        ("forall (P1:r7 == 0)", "nothing gives `P1:r7` a value"),
        ("forall (z == 0)", "there is no location `z`"),
        ("filter (z == 0) forall (x == 1)", "there is no location `z`"),
    ] {
        let output = check(&folder.write("c.litmus", format!("{LITMUS}{condition}")), &[]);
        assert_eq!(code(&output), 2, "{condition}: {}", all_text(&output));
        assert!(all_text(&output).contains(expected), "{condition}: {}", all_text(&output));
    }
    let declared = LITMUS.replace("y = 0;", "y = 0; P1:r7 = 3; z = 1;");
    let output = check(&folder.write("d.litmus", format!("{declared}forall (P1:r7 == 3 /\\ z == 1)")), &[]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
}

/// A word that three threads take turns at: the solver has to work for it, since only additions are counted.
fn contended() -> String {
    let turns = "atom.relaxed.cta.inc.u32 _, [c], 100; ".repeat(3);
    format!("kernel k {{ launch {{ warps: 3 }} global c: u32 = 0; {turns} final {{ assert [c] == 9; }} }}")
}

#[test]
fn the_budget_is_the_same_everywhere() {
    let folder = Folder::new("budget");
    let path = folder.write("k.fence", contended());
    let steps = |output: &Output| json_lines(output)[0]["stats"]["steps"].as_u64().expect("a number");
    let whole = check(&path, &["--format", "json"]);
    assert_eq!(code(&whole), 0, "{}", all_text(&whole));
    assert_eq!(steps(&whole), steps(&check(&path, &["--format", "json"])), "the count is deterministic");
    assert!(steps(&whole) > 1_000_000, "{} steps are too few for this test", steps(&whole));
    // It ends soon after the budget, in the same place each time.
    let short = check(&path, &["--format", "json", "--budget", "1"]);
    assert_eq!(code(&short), 3, "{}", all_text(&short));
    let line = &json_lines(&short)[0];
    assert_eq!(
        (line["verdict"].as_str(), line["limit"]["name"].as_str()),
        (Some("inconclusive"), Some("budget"))
    );
    assert!((1_000_000..1_500_000).contains(&steps(&short)), "{}", steps(&short));
    assert_eq!(steps(&short), steps(&check(&path, &["--format", "json", "--budget", "1"])));
    let text = all_text(&check(&path, &["--budget", "1"]));
    assert!(text.contains("the budget of 1 million steps is used up; raise --budget"), "{text}");
}

#[test]
fn what_earlier_threads_have_worked_out_is_a_lemma_for_later_ones() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/families/look-back-packed.fence");
    let with_tiles = |more: &[&str]| {
        let arguments = [&["-D", "N=24", "--format", "json", "--budget", "170"], more].concat();
        let output = check(Path::new(path), &arguments);
        json_lines(&output)[0]["verdict"].as_str().map(str::to_owned)
    };
    assert_eq!(with_tiles(&[]).as_deref(), Some("proved"));
    // The same question, with all assertions in it at once, is too hard for this budget; and so it is without simpler terms.
    assert_eq!(with_tiles(&["--without", "lemmas"]).as_deref(), Some("inconclusive"));
    assert_eq!(with_tiles(&["--without", "paths"]).as_deref(), Some("inconclusive"));
}

#[test]
fn time_is_a_limit_only_if_it_is_asked_for() {
    let folder = Folder::new("timeout");
    // Ten loops in one another, each with a store: more than any bound of time needs.
    let nested = (0..10).fold("st.relaxed.cta [b], 1;".to_owned(), |body, i| {
        format!("loop {{ if ld.relaxed.cta [a] == {i} {{ break; }} {body} }}")
    });
    let text = format!("kernel k {{ global a: u32 = 0; global b: u32 = 0; {nested} }}");
    let path = folder.write("k.fence", text);
    let output = check(&path, &["--timeout", "1", "--budget", "1000000", "--max-events", "100000000"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    assert!(all_text(&output).contains("the time is up; raise --timeout"), "{}", all_text(&output));
    // The budget ends the same run without a clock.
    let output = check(&path, &["--budget", "2", "--max-events", "100000000"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    assert!(all_text(&output).contains("raise --budget"), "{}", all_text(&output));
}

#[test]
fn emit_names_the_limit_it_reached() {
    let folder = Folder::new("emit-limits");
    let path = folder.write("k.fence", contended());
    for (artefact, limit, knob) in [
        ("events", ["--max-events", "1"], "--max-events"),
        ("bounds", ["--max-events", "1"], "--max-events"),
        ("cnf", ["--max-clauses", "3"], "--max-clauses"),
    ] {
        let output = fencepost(&[&["emit", artefact], &limit[..]].concat(), &[&path]);
        let text = all_text(&output);
        assert_eq!(code(&output), 3, "{artefact}: {text}");
        assert!(text.contains("inconclusive") && text.contains(knob), "{artefact}: {text}");
        assert!(output.stdout.is_empty(), "half an artefact is none");
    }
    assert_eq!(code(&fencepost(&["emit", "cnf"], &[&path])), 0);
}

/// Options, paths, and the file and code of each line.
type Case<'a> = (&'a [&'a str], &'a [&'a Path], &'a [(&'a str, &'a str)]);

#[test]
fn every_path_gets_its_line() {
    let folder = Folder::new("lines");
    let good = folder.write("good.fence", PROVED);
    let (empty, broken) =
        (folder.write("empty.fence", " // nothing\n"), folder.write("broken.fence", "kernel {"));
    let missing = folder.0.join("missing.fence");
    let cases: [Case<'_>; 5] = [
        (
            &[],
            &[&good, &empty, &missing, &broken],
            &[
                ("missing.fence", "input::unreadable-path"),
                ("good.fence", ""),
                ("empty.fence", "input::no-kernel"),
                ("broken.fence", "syntax::unexpected-token"),
            ],
        ),
        (&["--launch", "nope"], &[&good], &[("good.fence", "input::launch")]),
        (&["--launch", "warps=0"], &[&good], &[("good.fence", "input::launch")]),
        (
            &["--model", "nope"],
            &[&good, &missing],
            &[("good.fence", "input::model"), ("missing.fence", "input::model")],
        ),
        (&["--property", "condition"], &[&good], &[("good.fence", "input::property")]),
    ];
    for (options, paths, expected) in cases {
        let output = fencepost(&[&["check", "--format", "json"], options].concat(), paths);
        assert_eq!(code(&output), 2, "{options:?}: {}", all_text(&output));
        let lines = json_lines(&output);
        let found: Vec<(&str, &str)> = lines
            .iter()
            .map(|line| {
                let file = line["file"].as_str().expect("each line names its file");
                let code = line["errors"][0]["code"].as_str().unwrap_or_default();
                (file.rsplit('/').next().unwrap_or(file), code)
            })
            .collect();
        assert_eq!(found, expected, "{options:?}");
    }
    // A folder may hold files that others use; an empty one is a mistake there, too.
    folder.write("broken.fence", "fn f() { }");
    std::fs::remove_file(&empty).expect("it is there");
    assert_eq!(code(&check(&folder.0, &[])), 0);
    folder.write("empty.fence", "");
    assert_eq!(code(&check(&folder.0, &[])), 2);
}

#[test]
fn a_model_that_is_not_there_is_not_the_built_in_one() {
    let folder = Folder::new("absent-model");
    let path = folder.write("k.fence", PROVED);
    let absent = folder.0.join("ptx.cat");
    let output = check(&path, &["--model", absent.to_str().expect("a plain name")]);
    assert_eq!(code(&output), 2, "{}", all_text(&output));
    assert!(all_text(&output).contains("cat::unreadable"));
    // What a model includes may come with Fencepost.
    let own = folder.write("own.cat", "\"own\"\ninclude \"ptx.cat\"\n");
    let output = check(&path, &["--model", own.to_str().expect("a plain name")]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
}

#[test]
fn a_target_exists() {
    let folder = Folder::new("targets");
    let path = folder.write("k.fence", PROVED);
    for (target, expected) in
        [("sm_90", 0), ("sm_100a", 0), ("sm_120f", 0), ("sm_999", 2), ("sm_90aa", 2), ("sm_", 2)]
    {
        let output = check(&path, &["--target", target]);
        assert_eq!(code(&output), expected, "{target}: {}", all_text(&output));
    }
    for (header, expected) in [("sm_90 ptx 8.0", 0), ("sm_90 ptx 8.99", 2), ("sm_91 ptx 8.0", 2)] {
        let output = check(&folder.write("h.fence", format!("//! target {header}\n{PROVED}")), &[]);
        assert_eq!(code(&output), expected, "{header}: {}", all_text(&output));
    }
}

#[test]
fn axioms_that_no_execution_satisfies_make_a_launch_vacuous() {
    let folder = Folder::new("contradiction");
    let path =
        folder.write("k.fence", "kernel k { launch { warps: 2 } global x: u32 = 0; st.relaxed.cta [x], 1; }");
    for axioms in [
        "empty (sr & (W * W)) \\ co",
        "empty (loc & (W * W)) \\ co",
        "empty (id & (W * W)) \\ co",
        "empty co | ((loc & ext & (W * W)) \\ co)",
        "empty ((loc & ext & (W * W)) \\ co)\nempty ((loc & ext & (W * W)) \\ co^-1)",
    ] {
        let model = folder.write("m.cat", format!("\"own\"\n{axioms}\nflag ~empty (co & 0) as nothing\n"));
        let output = check(&path, &["--model", model.to_str().expect("a plain name")]);
        assert_eq!(code(&output), 3, "{axioms}: {}", all_text(&output));
        assert!(all_text(&output).contains("vacuity::nothing-completes"), "{axioms}: {}", all_text(&output));
    }
    let model =
        folder.write("m.cat", "\"own\"\nempty (loc & ext & (W * W)) \\ (co | co^-1)\nflag ~empty 0 as no\n");
    let output = check(&path, &["--model", model.to_str().expect("a plain name")]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
}

#[test]
fn long_lines_do_not_end_the_run() {
    let folder = Folder::new("long-lines");
    let blanks = " ".repeat(70_000);
    folder.write("a.fence", RACY.replace("st [x]", &format!("{blanks}st [x]")));
    folder.write("b.fence", format!("kernel k {{ global x: u32 = 0; {blanks} st.bogus [x], 1; }}"));
    folder.write("c.fence", format!("kernel k {{ st [{}], 1; }}", "y".repeat(70_000)));
    folder.write("d.fence", PROVED);
    for format in ["pretty", "json"] {
        let output = check(&folder.0, &["--format", format]);
        let text = all_text(&output);
        assert_eq!(code(&output), 2);
        assert!(!text.contains("panicked"));
        for part in ["race::uniform", "validate::unknown-modifier", "resolve::unknown-name", "proved"] {
            assert!(text.contains(part), "{format}: {part} is missing");
        }
    }
}

#[test]
fn output_that_cannot_be_written_has_its_own_exit_code() {
    let folder = Folder::new("full");
    let path = folder.write("k.fence", PROVED);
    let into = |target: Stdio, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command.args(arguments).arg(&path).stdout(target).stderr(Stdio::piped());
        let output = command.spawn().expect("the command starts").wait_with_output().expect("it ends");
        (code(&output), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        for arguments in [&["check"][..], &["check", "--format", "json"], &["emit", "ast"]] {
            let target = full.try_clone().expect("a descriptor is free");
            let (status, text) = into(target.into(), arguments);
            assert_eq!(status, 74, "{arguments:?}: {text}");
            assert!(text.contains("could not be written"), "{text}");
        }
    }
    // A reader that has left is no error.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    assert_eq!(into(writer.into(), &["check"]).0, 0);
}

#[test]
fn only_regular_files_of_a_size_are_read() {
    let folder = Folder::new("kinds");
    let huge = folder.write("huge.fence", "");
    let file = std::fs::File::options().write(true).open(&huge).expect("it was written");
    file.set_len(3 << 30).expect("a file may have holes");
    for (path, expected) in
        [(huge.as_path(), "limit::file-size"), (Path::new("/dev/zero"), "no regular file")]
    {
        for output in
            [check(path, &[]), fencepost(&["emit", "program"], &[path]), fencepost(&["fmt"], &[path])]
        {
            assert_eq!(code(&output), 2);
            assert!(all_text(&output).replace("\n  │ ", "").contains(expected), "{}", all_text(&output));
        }
    }
    let marked = folder.write("bom.fence", format!("\u{feff}{PROVED}"));
    assert_eq!(code(&check(&marked, &[])), 0);
}

#[test]
fn control_characters_reach_no_terminal() {
    let folder = Folder::new("control");
    let texts = [
        format!("/* \u{1b}[31m \u{9b}m */ {RACY}"),
        "kernel \u{1b}]0;title\u{7} { }".to_owned(),
        format!("{LITMUS}exists (P1:r1 == \u{1b}[5m)"),
    ];
    for (i, text) in texts.iter().enumerate() {
        let name = format!("\u{1b}[2J{i}.{}", if i == 2 { "litmus" } else { "fence" });
        let path = folder.write(&name, text);
        for format in ["pretty", "brief", "json"] {
            let output = all_text(&check(&path, &["--format", format]));
            let bad = |c: char| c.is_control() && c != '\n';
            assert!(!output.contains(bad), "{i} {format}: {output:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn names_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new("names");
    let odd = folder.0.join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir_all(&odd).expect("the temporary folder is writable");
    let path = odd.join(std::ffi::OsStr::from_bytes(b"a\xfe.fence"));
    std::fs::write(odd.join("part.fence"), "const ONE = 1;").expect("it is writable");
    std::fs::write(&path, "use \"part.fence\"; kernel k { global x: u32 = 0; st [x], ONE; }")
        .expect("it is writable");
    for named in [&folder.0, &path] {
        let output = check(named, &["--format", "json"]);
        assert_eq!(code(&output), 0, "{}", all_text(&output));
        assert_eq!(verdicts(&output).0, "proved");
    }
    assert_eq!(code(&fencepost(&["emit", "program"], &[&path])), 0);
}

#[test]
fn a_comment_that_is_not_closed_is_shown_where_it_begins() {
    let folder = Folder::new("comments");
    let litmus = LITMUS.replace(" st.weak", " (* oops st.weak");
    for (name, text, place) in [
        ("k.fence", "kernel k {\n  /* oops\n}\n".to_owned(), "k.fence:2:3"),
        ("l.litmus", format!("{litmus}exists (x == 1)"), "l.litmus:4:2"),
    ] {
        let output = check(&folder.write(name, text), &[]);
        assert_eq!(code(&output), 2);
        let text = all_text(&output);
        assert!(text.contains("syntax::unterminated-comment") && text.contains(place), "{text}");
    }
    // No comment: a quotient of products.
    let output = check(&folder.write("q.fence", "kernel k { let a = 8 / 2 * 3; /* closed */ }"), &[]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
}

#[test]
fn spins_without_end_of_text_end_in_a_verdict() {
    let folder = Folder::new("spins");
    let nested = (0..10).fold(String::new(), |body, i| {
        format!("loop {{ if ld.acquire.cta [a] == {i} {{ break; }} {body} }}")
    });
    let reads = "n += ld.acquire.cta [a]; ".repeat(1000);
    let wide = format!("loop {{ var n: u32 = 0; {reads} if n == 1000 {{ break; }} }}");
    for (name, spin) in [("nested", nested), ("wide", wide)] {
        let text = format!(
            "kernel k {{ launch {{ warps: 2 }} global a: u32 = 0; \
             if tid == 0 {{ {spin} }} else {{ st.release.cta [a], 1; }} }}"
        );
        let output = check(&folder.write(&format!("{name}.fence"), text), &["--budget", "100"]);
        assert!([0, 1, 3].contains(&code(&output)), "{name}: {}", all_text(&output));
        let is_named = code(&output) != 3 || all_text(&output).contains("raise --");
        assert!(is_named, "{name}: {}", all_text(&output));
    }
}

/// Each round changes memory, so this is no wait; no bound is enough.
const ENDLESS: &str = "kernel k { launch { ctas: 2, cooperative: true } global x: u32 = 0; global y: u32 = 0;
    if ctaid == 0 { loop { red.relaxed.gpu.add.u32 [x], 1; if ld.relaxed.gpu [y] == 1 { break; } } }
    else { st.relaxed.gpu [y], 1; } }";

#[test]
fn a_limit_on_the_way_to_a_larger_bound_keeps_what_is_known() {
    let folder = Folder::new("raise");
    let path = folder.write("k.fence", ENDLESS);
    let output = check(&path, &["--max-events", "20"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    let text = all_text(&output).replace("\n  ", " ");
    for part in
        ["proved up to bound", "the answer is that of bound", "a larger one stopped: the launch has more"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let output = check(&path, &["--max-events", "20", "--format", "json"]);
    let line = &json_lines(&output)[0];
    assert_eq!(line["bounds"]["raise_limit"]["name"], "max-events");
    assert_eq!((&line["verdict"], &line["limit"]), (&"proved_up_to_bound".into(), &serde_json::Value::Null));
    // What the first bound does not fit into is asked of a smaller one.
    let output = check(&path, &["--max-events", "5"]);
    let text = all_text(&output).replace("\n  ", " ");
    for part in ["proved up to bound 1", "the answer is that of bound 1; a larger one stopped"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    // A larger bound is no advice where it has just been tried.
    assert!(!text.contains("--unroll-max"), "{text}");
    // What no bound fits into is not decided at all.
    let output = check(&path, &["--max-events", "3"]);
    assert!(all_text(&output).contains("inconclusive"), "{}", all_text(&output));
    // What is found on the way stays found, whatever stops the rest.
    let racy = folder.write("racy.fence", ENDLESS.replace("st.relaxed.gpu [y], 1;", "st [x], 1; st [y], 1;"));
    assert_eq!(code(&check(&racy, &["--max-events", "20"])), 1);
}

/// A claim that no unrolled thread comes to is a claim all the same.
#[test]
fn a_reachable_that_no_thread_comes_to_is_not_reached() {
    let folder = Folder::new("unreached");
    for (name, body) in [
        ("branch", "if ctaid == 5 { reachable true; }"),
        ("exit", "exit; reachable true;"),
        ("range", "for i in 0..N { reachable true; }"),
        ("loop", "let v = 2; while v == 1 { reachable true; }"),
        ("function", "if ctaid == 5 { claim(); }"),
    ] {
        let text = format!(
            "fn claim() {{ reachable true; }} kernel k(N in 0..=0) {{ launch {{ ctas: 2 }} {body} }}"
        );
        let output = check(&folder.write(&format!("{name}.fence"), text), &["--no-warnings"]);
        assert_eq!(code(&output), 3, "{name}: {}", all_text(&output));
        let text = all_text(&output);
        assert!(text.contains("vacuous") && text.contains("vacuity::unreachable"), "{name}: {text}");
    }
    let uncalled = "fn claim() { reachable true; } kernel k { reachable ctaid == 1; launch { ctas: 2 } }";
    let output = check(&folder.write("uncalled.fence", uncalled), &["--no-warnings"]);
    assert_eq!(code(&output), 0, "{}", all_text(&output));
}

/// What was read before a loop decides whether it ever ends: rounds without a choice are not unrolled for ever.
#[test]
fn a_loop_that_nothing_in_it_ends_is_cut() {
    let folder = Folder::new("forced");
    for (name, body, expected) in [
        ("never-entered", "let r = ld.relaxed.gpu [b]; loop { bar.sync 0; if r != 2 { break; } }", 0),
        ("counted", "let r = ld.relaxed.gpu [b]; loop { red.add.u32 [c], 1; if r != 2 { break; } }", 0),
        ("for-ever", "let r = ld.relaxed.gpu [b]; loop { st.relaxed.gpu [c], 1; if r == 2 { break; } }", 1),
        (
            "decided-alike",
            "let v = 2; while v == 2 { red.add.u32 [c], 1; if (ld.relaxed.gpu [b]) == 1 { break; } }",
            3,
        ),
        // How long a thread sleeps decides nothing, so a wait that backs off is a wait.
        (
            "backs-off",
            "launch { ctas: 2 } var n: u32 = 8;
             while (atom.cas.acquire.gpu.b32 [b], 0, 1) != 0 { nanosleep.u32 n; if n < 256 { n *= 2; } }
             st [c], 1; st.release.gpu [b], 0;",
            0,
        ),
        // Rounds that nothing decides are run where they come to an end: the assertion fails in the seventieth one.
        (
            "long-way",
            "let r = ld.relaxed.gpu [b]; var n: u32 = 0;
             loop { n += 1; assert n < 70; if r == 2 { break; } if n == 80 { break; } }",
            1,
        ),
        (
            "long-while",
            "var n: u32 = 0; while n < 80 { n += 1; assert n < 70; if (ld [b]) == 1 { break; } }",
            1,
        ),
    ] {
        let text = format!("kernel k {{ global b: u32 = 0; global c: u32 = 0; {body} }}");
        let output = check(&folder.write(&format!("{name}.fence"), text), &["--no-warnings"]);
        assert_eq!(code(&output), expected, "{name}: {}", all_text(&output));
    }
}

#[test]
fn a_recursive_relation_that_is_taken_away_is_a_limit() {
    let folder = Folder::new("recursion");
    let kernel = "kernel k { launch { ctas: 2 } global x: u32 = 0;
        if ctaid == 0 { st.relaxed.gpu [x], 1; } else { let r = ld.relaxed.gpu [x]; }
        final { assert [x] == 1; } }";
    let path = folder.write("k.fence", kernel);
    let model = "\"recursive\"\nlet rec reach = rf | (reach ; co)\nempty rf \\ reach\n";
    let model = folder.write("recursive.cat", model);
    let model = model.to_str().expect("a temporary folder has a plain name");
    let output = check(&path, &["--model", model, "--property", "assert"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    let text = all_text(&output).replace("\n  ", " ");
    assert!(text.contains("recursive relation `reach`") && text.contains("without `let rec`"), "{text}");
    let output = check(&path, &["--model", model, "--property", "assert", "--format", "json"]);
    assert_eq!(json_lines(&output)[0]["limit"]["name"], "recursion");
}

#[test]
fn a_kernel_has_no_condition_and_says_so() {
    let folder = Folder::new("no-condition");
    let path = folder.write("k.fence", PROVED);
    let output = check(&path, &["--property", "condition,race"]);
    assert_eq!(code(&output), 3, "{}", all_text(&output));
    let text = all_text(&output).replace("\n        ", " ");
    assert!(text.contains("a kernel has none") && text.contains("no data race"), "{text}");
    let output = check(&path, &["--property", "condition,race", "--format", "json"]);
    let (verdict, properties) = verdicts(&output);
    assert_eq!(verdict, "inconclusive");
    let expected = [("race", "proved"), ("condition", "inconclusive")];
    assert_eq!(properties, expected.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())));
}

#[test]
fn what_is_wrong_with_a_model_is_in_json() {
    let folder = Folder::new("broken-model");
    let path = folder.write("k.fence", PROVED);
    let model = folder.write("broken.cat", "\"broken\"\nacyclic nonsense\n");
    let output = check(&path, &["--model", model.to_str().expect("a plain name"), "--format", "json"]);
    assert_eq!(code(&output), 2, "{}", all_text(&output));
    let errors = &json_lines(&output)[0]["errors"];
    assert_eq!(errors[0]["code"], "input::model");
    assert!(errors[1]["code"].as_str().is_some_and(|code| code.starts_with("cat::")), "{errors}");
    assert_eq!((&errors[1]["line"], &errors[1]["column"]), (&2.into(), &9.into()), "{errors}");
    assert!(errors[1]["file"].as_str().is_some_and(|file| file.ends_with("broken.cat")), "{errors}");
}

#[test]
fn many_threads_may_have_more_events_if_slices_decide_them() {
    let kernel = |barrier: &str| {
        format!(
            "kernel k {{ launch {{ warps: 2, lanes: 32 }} shared x[64]: u32 = 0; for round in 0..8 {{ \
             st.weak.shared.u32 [x[tid]], round; bar.sync 0; \
             let v = ld.weak.shared.u32 [x[(tid + 1) % 64]]; assert v == round; {barrier} }} }}"
        )
    };
    let folder = Folder::new("more-events");
    let (proved, racy) =
        (folder.write("proved.fence", kernel("bar.sync 0;")), folder.write("racy.fence", kernel("")));
    assert_eq!(code(&check(&proved, &["--max-events", "1000"])), 0);
    let is_stopped = |path: &Path, arguments: &[&str]| {
        let output = check(path, arguments);
        let text = all_text(&output);
        assert_eq!(code(&output), 3, "{arguments:?}: {text}");
        assert!(text.contains("more than 1000 events"), "{text}");
    };
    is_stopped(&proved, &["--max-events", "1000", "--without", "slices"]);
    // What goes wrong a few threads at a time is shown of all; where it is a hint only, the whole is looked at, which is too large.
    is_stopped(&racy, &["--max-events", "1000", "--without", "completing"]);
    assert_eq!(code(&check(&racy, &["--max-events", "1000"])), 1);
    assert_eq!(code(&check(&racy, &[])), 1);
}

#[test]
fn a_rule_that_nobody_asked_for_leaves_what_comes_after_it_open() {
    let folder = Folder::new("unasked");
    let barrier = "kernel k { shared m: mbarrier; mbarrier.init [m], 1; mbarrier.arrive.expect_tx _, [m], 16;
        mbarrier.arrive _, [m]; assert false; }";
    let bounds = "kernel k(N in 0..=2) { shared a[2]: u32; st [a[N]], 1; assert N < 2; }";
    // That one is a flag of the model.
    let flag = "kernel k { shared m: mbarrier; mbarrier.init [m], 1; mbarrier.arrive _, [m]; mbarrier.arrive _, [m]; }";
    // So many threads are looked at in slices.
    let slices = "kernel k { launch { warps: 256 } shared a[255]: u32; st [a[tid]], 1; assert tid < 255; }";
    for (own, text) in [("barrier", barrier), ("barrier", flag), ("bounds", bounds), ("bounds", slices)] {
        let path = folder.write("k.fence", text);
        for asked in ["assert", "race", "deadlock", "lifetime"] {
            let output = check(&path, &["--property", asked, "--format", "json"]);
            let (verdict, properties) = verdicts(&output);
            assert_eq!((code(&output), verdict.as_str()), (3, "inconclusive"), "{text}: {asked}");
            assert_eq!(properties, [(asked.to_owned(), "inconclusive".to_owned())]);
            let note = json_lines(&output)[0]["notes"][0].to_string();
            assert!(note.contains(&format!("a rule of `{own}`")), "{note}");
        }
        let output = check(&path, &["--property", &format!("assert,{own}"), "--format", "json"]);
        let (verdict, properties) = verdicts(&output);
        assert_eq!(verdict, "violated", "{text}");
        for (property, verdict) in properties {
            assert_eq!(verdict == "violated", property == own, "{text}: {property} is {verdict}");
            assert_ne!(verdict, "proved", "{text}: {property}");
        }
    }
    let kept = bounds.replace("0..=2", "0..=1");
    assert_eq!(code(&check(&folder.write("k.fence", &kept), &["--property", "assert"])), 0);
}

#[test]
fn a_loop_from_a_number_that_is_read_ends_where_its_ends_are() {
    let folder = Folder::new("runtime-start");
    let kernel = |start: &str| {
        format!(
            "kernel k {{ launch {{ ctas: 2 }} global x: u32 = 0; var r: u32 = 0;
            if ctaid == 1 {{ st.relaxed.gpu [x], 2; exit; }}
            let n = ld.relaxed.gpu [x];
            for i in {start}..4 {{ r = r + 1; reachable i == 2; reachable i == 3; }}
            assert r == 4 || r == 2; }}"
        )
    };
    assert_eq!(code(&check(&folder.write("k.fence", kernel("n")), &[])), 0);
    // Below nought there is nothing, so the loop has no round where `n` is 0.
    assert_eq!(code(&check(&folder.write("k.fence", kernel("n - 1")), &[])), 1);
}

#[test]
fn what_the_solver_refutes_can_be_followed() {
    let folder = Folder::new("self-check");
    let path = folder.write("k.fence", contended());
    let line = |arguments: &[&str]| {
        let output = check(&path, &[&["--format", "json"], arguments].concat());
        assert_eq!(code(&output), 0, "{}", all_text(&output));
        json_lines(&output).remove(0)
    };
    let (plain, followed) = (line(&[]), line(&["--self-check"]));
    assert_eq!(plain["stats"]["followed"].as_u64(), None);
    assert!(followed["stats"]["followed"].as_u64().is_some_and(|n| n > 0), "{followed}");
    // The search is the same, and what comes after it takes steps.
    assert_eq!(plain["stats"]["conflicts"], followed["stats"]["conflicts"]);
    assert!(plain["stats"]["steps"].as_u64() < followed["stats"]["steps"].as_u64());
    assert_eq!(followed, {
        let mut again = line(&["--self-check"]);
        again["stats"]["milliseconds"] = followed["stats"]["milliseconds"].clone();
        again
    });
    let text = all_text(&check(&path, &["--self-check", "--stats"]));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("note: self-check: what the solver has refuted, in "), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("followed  ")), "{text}");
    let text = all_text(&check(&path, &["--stats"]));
    assert!(!text.contains("followed") && !text.contains("self-check"), "{text}");
    // Nothing is to be shown of a kernel that the bounds settle.
    let path = folder.write("easy.fence", "kernel k { global x: u32 = 0; st [x], 1; assert ld [x] == 1; }");
    let text = all_text(&check(&path, &["--self-check"]));
    assert!(text.contains("self-check: the solver has refuted nothing"), "{text}");
}
