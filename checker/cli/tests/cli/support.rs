//! A folder with files, and the command on them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own for one test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fencepost-cli-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder is writable");
        Self(path)
    }
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("the temporary folder is writable");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left-overs in the temporary folder are not worth failing for.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The command with these arguments, in a folder.
pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .output()
        .expect("the command runs")
}

/// The same, with something on standard input.
pub fn run_with(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that reads nothing may be gone already.
    drop(child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes())));
    child.wait_with_output().expect("the command ends")
}

pub fn check(path: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("check")
        .arg(path)
        .args(arguments)
        .env("NO_COLOR", "1")
        .output()
        .expect("the command starts")
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("the command was not killed by a signal")
}

pub fn all_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
