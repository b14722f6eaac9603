//! `fencepost compare`: exit codes, forms, and what is refused.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compare(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("compare")
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .output()
        .expect("the command starts")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("the command was not killed by a signal")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn exit_codes_say_whether_they_agree() {
    let skeleton = "tests/compare/spin_lock.fence";
    let found = compare(&["examples/ptx/spin_lock.fence", skeleton]);
    assert_eq!(code(&found), 0, "{}", stderr(&found));
    let found = compare(&["examples/cas-lock/relaxed-release.fence", skeleton]);
    assert_eq!(code(&found), 1, "{}", stderr(&found));
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(text.starts_with("differ in 1 place"), "{text}");
    assert!(text.contains("store: sem is relaxed, there release"), "{text}");
}

#[test]
fn a_module_is_imported_on_its_own() {
    let found = compare(&["examples/ptx/spin_lock.ptx", "tests/compare/spin_lock.fence"]);
    assert_eq!(code(&found), 0, "{}{}", String::from_utf8_lossy(&found.stdout), stderr(&found));
}

#[test]
fn constants_are_set_in_the_file_that_has_them() {
    let skeleton = "tests/compare/ws_ring.fence";
    let found = compare(&["examples/ptx/ws_ring.fence", skeleton, "-D", "TILES=2"]);
    assert_eq!(code(&found), 0, "{}", stderr(&found));
    let found = compare(&["examples/ptx/ws_ring.fence", skeleton, "-D", "TILE=2"]);
    assert_eq!(code(&found), 2);
    assert!(stderr(&found).contains("-D TILE: neither file has"), "{}", stderr(&found));
}

#[test]
fn what_cannot_be_compared_is_said() {
    let skeleton = "tests/compare/spin_lock.fence";
    for (arguments, says) in [
        (vec!["examples/nothing.fence", skeleton], "examples/nothing.fence"),
        (vec![skeleton, skeleton, "--entry", "other"], "has no kernel `other`; it has `spin_lock`"),
        (vec!["examples/ptx/atomics.ptx", skeleton, "--entry", "nothing"], "has no entry `nothing`"),
        (vec![skeleton, skeleton, "--launch", "ctas=0"], "every dimension of a launch is at least 1"),
    ] {
        let found = compare(&arguments);
        assert_eq!(code(&found), 2, "{arguments:?}: {}", stderr(&found));
        assert!(stderr(&found).contains(says), "{arguments:?}: {}", stderr(&found));
    }
    let found = compare(&[skeleton, skeleton, "--max-events", "1"]);
    assert_eq!(code(&found), 3, "{}", stderr(&found));
}

#[test]
fn json_has_places_in_both_and_in_the_source() {
    let found = compare(&["examples/ptx/message.fence", "tests/compare/fences.fence", "--format", "json"]);
    assert_eq!(code(&found), 1, "{}", stderr(&found));
    let report: Value = serde_json::from_slice(&found.stdout).expect("it is one object");
    assert_eq!(report["schema"], "fencepost-compare/1");
    assert_eq!(
        (&report["agrees"], &report["left"]["kernel"]),
        (&Value::Bool(false), &Value::from("message"))
    );
    let differences: Vec<&Value> = report["roles"]
        .as_array()
        .expect("roles are a list")
        .iter()
        .flat_map(|role| role["differences"].as_array().expect("differences are a list"))
        .collect();
    let of = |kind: &str, operation: &str| {
        differences.iter().find(|found| found["kind"] == kind && found["operation"] == operation)
    };
    let store = of("changed", "store").expect("the store releases in one of them");
    assert_eq!(store["aspects"][0]["aspect"], "sem");
    assert_eq!((&store["left"]["line"], &store["left"]["object"]), (&Value::from(374), &Value::from("flag")));
    assert_eq!(
        (&store["left"]["source"]["file"], &store["left"]["source"]["line"]),
        (&Value::from("atomics.cu"), &Value::from(7))
    );
    assert!(of("only-right", "fence").is_some(), "{report}");
}
