//! `fencepost emit ptx` and `emit cuda`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn emit(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("emit")
        .args(arguments)
        .current_dir(root())
        .env("NO_COLOR", "1")
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_module_says_how_it_is_read_again() {
    let found = emit(&["ptx", "tests/compare/spin_lock.fence"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let module = text(&found.stdout);
    for part in [
        "// import \"MODULE\" entry spin_lock as spin_lock {",
        "//     launch { ctas: 2, block: 1 }",
        "//     final { assert ([count] == 2); }",
        ".target sm_70",
        "atom.acquire.gpu.global.cas.b32",
        "st.release.gpu.global.u32 [lock], ",
    ] {
        assert!(module.contains(part), "no `{part}` in\n{module}");
    }
}

#[test]
fn a_stress_test_has_what_was_found() {
    let found = emit(&["cuda", "examples/cas-lock/relaxed-release.fence"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let program = text(&found.stdout);
    for part in
        ["the check found a violation of `race`", "cuModuleLoadData", "{\"line 18: assert [counter] == N"]
    {
        assert!(program.contains(part), "no `{part}` in\n{program}");
    }
}

#[test]
fn what_cannot_be_written_is_said_where_it_stands() {
    for (arguments, says) in [
        (vec!["ptx", "examples/lib/lock/harness.fence"], "name one with `--kernel`"),
        (vec!["ptx", "examples/lib/lock/harness.fence", "--kernel", "other"], "has no kernel `other`"),
        (vec!["ptx", "tests/compare/spin_lock.fence", "--launch", "large"], "has no launch `large`"),
        (
            vec!["ptx", "examples/chained-launches/every-kernel-waits.fence"],
            "a program cannot be written as PTX",
        ),
        (vec!["cuda", "examples/ptx/spin_lock.fence"], "an imported kernel cannot be written as PTX"),
    ] {
        let found = emit(&arguments);
        assert_eq!(found.status.code(), Some(2), "{arguments:?}: {}", text(&found.stderr));
        assert!(text(&found.stderr).contains(says), "{arguments:?}: {}", text(&found.stderr));
    }
    let found = emit(&["ptx", "examples/lib/lock/harness.fence", "--kernel", "cas"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
}
