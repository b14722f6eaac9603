//! Certificates and other solvers on the command line: exit codes, disks that cannot be written, commands that misbehave.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;
#[path = "schema/validator.rs"]
mod validator;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::{Folder, all_text, check, code};

const PROVED: &str = "kernel k { launch { ctas: 2 } global d: u32 = 0; global f: u32 = 0;
    if ctaid == 0 { st.relaxed.gpu [d], 1; st.release.gpu [f], 1; }
    else { let v = ld.acquire.gpu [f]; let w = ld.relaxed.gpu [d]; assert v == 0 || w == 1; } }";
const RACY: &str = "kernel k { launch { warps: 2 } global x: u32 = 0; st [x], tid; }";

fn fencepost(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(words).env("NO_COLOR", "1").output().expect("the command starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

/// A kernel, and where its certificates go.
fn certified(name: &str, kernel: &str) -> (Folder, String, String) {
    let folder = Folder::new(name);
    let file = text(&folder.write("k.fence", kernel)).to_owned();
    let under = text(&folder.0.join("proofs")).to_owned();
    (folder, file, under)
}

/// The only certificate in a folder.
fn only(under: &str) -> std::path::PathBuf {
    let found: Vec<_> =
        fs::read_dir(under).expect("it is there").flatten().map(|entry| entry.path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn verdicts_are_confirmed_with_their_exit_codes() {
    for (name, kernel, expected) in [("proved", PROVED, 0), ("violated", RACY, 1)] {
        let (_folder, file, under) = certified(&format!("confirmed-{name}"), kernel);
        assert_eq!(code(&fencepost(&["check", &file, "--certificate", &under])), expected);
        let output = fencepost(&["verify", &under, "--thorough"]);
        assert_eq!(code(&output), expected, "{}", all_text(&output));
        let said = all_text(&output);
        assert!(said.contains(&format!("{name} confirmed")) && said.contains("taken on trust"), "{said}");
        let output = fencepost(&["verify", &under, "--format", "json"]);
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is one object");
        assert_eq!(
            (line["verdict"].as_str(), line["schema"].as_str()),
            (Some(name), Some("fencepost-verify/1"))
        );
    }
}

/// `certificate.json` is described by its schema, field by field.
#[test]
fn certificates_are_described() {
    let schema = validator::Schema::new(include_str!("../../schema/certificate.schema.json"), true);
    let split = "kernel k(N in 0..=2) { launch { warps: 2 } shared x[2]: u32 = 0;
        for i in 0..N { st [x[warpid]], i; bar.sync 0; } }";
    for (name, kernel) in [("proved", PROVED), ("violated", RACY), ("split", split)] {
        let (_folder, file, under) = certified(&format!("described-{name}"), kernel);
        fencepost(&["check", &file, "--certificate", &under]);
        let text = fs::read_to_string(only(&under).join("certificate.json")).expect("it is text");
        let value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(schema.errors(&value), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_is_no_certificate_is_refused() {
    let (folder, file, under) = certified("refused", PROVED);
    assert_eq!(code(&fencepost(&["check", &file, "--certificate", &under])), 0);
    let one = only(&under);
    fs::write(one.join("kernel-0.txt"), RACY).expect("it is written");
    let output = fencepost(&["verify", &under]);
    assert_eq!(code(&output), 2);
    assert!(all_text(&output).contains("certificate::changed-file"), "{}", all_text(&output));
    let output = fencepost(&["verify", &under, "--format", "json"]);
    assert_eq!(code(&output), 2);
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"refused\":\"certificate::changed-file\""));
    fs::remove_file(one.join("seal")).expect("it is there");
    assert!(all_text(&fencepost(&["verify", &under])).contains("certificate::unfinished"));
    for nothing in [text(&folder.0), "no-such-folder"] {
        let output = fencepost(&["verify", nothing]);
        assert_eq!(code(&output), 2, "{}", all_text(&output));
    }
}

#[test]
fn what_cannot_be_written_is_no_certificate() {
    let (folder, file, under) = certified("unwritten", PROVED);
    // A file where the folder should be, and a disk on which nothing can be made.
    for place in [file.as_str(), "/proc/fencepost"] {
        let output = fencepost(&["check", &file, "--certificate", place]);
        let said = all_text(&output);
        assert_eq!(code(&output), 74, "{said}");
        assert!(
            said.contains("there is no certificate of this launch") && said.contains(": proved"),
            "{said}"
        );
    }
    // What an interrupted run has left is not taken for one, and is written over.
    assert_eq!(code(&fencepost(&["check", &file, "--certificate", &under])), 0);
    let one = only(&under);
    let name = one.file_name().expect("it has a name").to_string_lossy().into_owned();
    let left = Path::new(&under).join(format!(".{name}.unfinished"));
    fs::rename(&one, &left).expect("it is moved");
    assert_eq!(code(&fencepost(&["verify", &under])), 2, "there is none");
    assert_eq!(code(&fencepost(&["check", &file, "--certificate", &under])), 0);
    assert!(!left.exists());
    assert_eq!(code(&fencepost(&["verify", &under])), 0);
    // What is somebody else's stays.
    fs::remove_dir_all(&one).expect("it is there");
    fs::create_dir(&one).expect("it is made");
    fs::write(one.join("notes"), "mine").expect("it is written");
    let output = fencepost(&["check", &file, "--certificate", &under]);
    assert_eq!(code(&output), 74, "{}", all_text(&output));
    assert!(one.join("notes").exists() && folder.0.exists());
}

#[test]
fn questions_are_exported() {
    let (folder, file, under) = certified("exported", PROVED);
    assert_eq!(code(&fencepost(&["check", &file, "--certificate", &under])), 0);
    let plain = folder.0.join("plain");
    assert_eq!(code(&fencepost(&["verify", &under, "--export", text(&plain)])), 0);
    let inside = only(text(&plain));
    let names: Vec<String> = fs::read_dir(inside)
        .expect("it is there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    for ending in ["cnf", "drat", "lrat"] {
        assert!(names.iter().any(|name| name.ends_with(ending)), "{names:?}");
    }
}

#[test]
fn commands_that_misbehave_are_told_by_name() {
    let (folder, file, _) = certified("misbehaving", RACY);
    // A script, and the code by which its answer is refused.
    let cases = [
        ("fails", "exit 3", "solver::failed"),
        ("silent", "exit 20", "solver::no-answer"),
        ("lies-of-a-proof", "echo 's UNSATISFIABLE'; echo '1 -2 0' > $2", "solver::no-proof"),
        ("has-no-proof", "echo 's UNSATISFIABLE'", "solver::no-proof"),
        ("lies-of-an-assignment", "echo 's SATISFIABLE'; echo 'v -1 2 0'", "solver::no-assignment"),
        ("is-slow", "sleep 20", "solver::too-slow"),
    ];
    for (what, script, expected) in cases {
        let script = text(&folder.write(&format!("{what}.sh"), script)).to_owned();
        let command = format!("sh {script} {{cnf}} {{proof}}");
        let output = check(Path::new(&file), &["--solver-command", &command, "--solver-seconds", "1"]);
        let said = all_text(&output);
        assert_eq!(code(&output), 2, "{what}: {said}");
        assert!(said.contains(expected), "{what}: {said}");
    }
    let output = fencepost(&["check", &file, "--solver-command", "no-such-solver {cnf} {proof}"]);
    assert!(code(&output) == 2 && all_text(&output).contains("solver::failed"), "{}", all_text(&output));
    for wrong in ["solver", "", "solver {cnf}"] {
        assert_eq!(code(&fencepost(&["check", &file, "--solver-command", wrong])), 2, "{wrong}");
    }
}

/// A second process that is a solver: `examples/plain_solver.rs`, which cargo builds with all tests of the package.
#[test]
#[expect(clippy::print_stdout, reason = "the suite says what it could not look at")]
fn another_solver_decides_with_proofs() {
    let built = Path::new(env!("CARGO_BIN_EXE_fencepost")).with_file_name("examples").join("plain_solver");
    if !built.exists() {
        println!("the example `plain_solver` is not built: no other solver is asked");
        return;
    }
    let command = format!("{} {{cnf}} {{proof}}", text(&built));
    for (name, kernel, expected) in [("proved", PROVED, 0), ("violated", RACY, 1)] {
        let (_folder, file, _) = certified(&format!("other-{name}"), kernel);
        let output = fencepost(&["check", &file, "--solver-command", &command]);
        assert_eq!(code(&output), expected, "{}", all_text(&output));
    }
}
