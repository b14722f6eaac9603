//! A certificate of each kernel that a lesson of the book proves: made, verified, and small. `LESSONS=DIR` keeps them there, in a
//! folder per lesson, for the book's downloads: so they are always of this version.

#[path = "cli/support.rs"]
#[expect(dead_code, reason = "other suites use the rest")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{Folder, all_text, code};

/// Bytes of a certificate at most.
const BYTES_MAX: u64 = 400 << 10;

fn lessons() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/tutorial");
    let entries = fs::read_dir(folder).expect("the lessons are there").flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found.sort();
    found
}

/// The kernels of a lesson that are proved, by the names of their files.
fn proved(lesson: &str) -> Vec<(&str, &str)> {
    let blocks = lesson.split("```fence,expect=proved,file=").skip(1);
    let parts = blocks.filter_map(|block| {
        let (name, rest) = block.split_once('\n')?;
        Some((name.split(',').next()?, rest.split_once("```")?.0))
    });
    parts.collect()
}

fn bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    entries.map(|entry| entry.metadata().map_or(0, |own| own.len())).sum()
}

/// In the folder of the kernels, so that certificates name these as the lesson does.
fn fencepost(folder: &Folder, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(words).current_dir(&folder.0).output().expect("the command starts")
}

#[test]
fn kernels_of_lessons_have_certificates() {
    let own = Folder::new("lessons");
    let kept = std::env::var_os("LESSONS").map(|path| std::path::absolute(path).expect("it is a path"));
    let (mut n_lessons, mut n_kernels) = (0, 0);
    for path in lessons() {
        let text = fs::read_to_string(&path).expect("it is text");
        let lesson = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let under = kept.as_deref().unwrap_or(&own.0).join(&lesson);
        let mut n = 0;
        for (name, kernel) in proved(&text) {
            own.write(name, kernel);
            let output = fencepost(&own, &["check", name, "--certificate", &under.to_string_lossy()]);
            assert_eq!(code(&output), 0, "{lesson}, {name}: {}", all_text(&output));
            n += 1;
        }
        if n == 0 {
            continue;
        }
        for entry in fs::read_dir(&under).expect("certificates were made").flatten() {
            let n_bytes = bytes(&entry.path());
            assert!(n_bytes <= BYTES_MAX, "{}: {n_bytes} bytes", entry.path().display());
        }
        let output = fencepost(&own, &["verify", &under.to_string_lossy()]);
        assert_eq!(code(&output), 0, "{lesson}: {}", all_text(&output));
        n_lessons += 1;
        n_kernels += n;
    }
    assert!(n_lessons >= 8 && n_kernels >= 20, "{n_kernels} kernels of {n_lessons} lessons");
}
