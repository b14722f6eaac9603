//! Which files a path stands for.

use std::fs;
use std::path::{Path, PathBuf};

/// Why a path is no input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadPath {
    /// The path.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The kernel files of `paths`: files as they are named, folders searched for `.fence` and `.litmus`,
/// sorted by name.
pub fn kernel_files(paths: &[PathBuf]) -> (Vec<String>, Vec<BadPath>) {
    let (mut files, mut bad) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        match fs::metadata(path) {
            Err(error) => bad.push(BadPath { path: name, reason: error.to_string() }),
            Ok(metadata) if metadata.is_dir() => {
                let before = files.len();
                search(path, &mut files, &mut bad);
                if files.len() == before {
                    let reason = "the folder has no `.fence` and no `.litmus` file".to_owned();
                    bad.push(BadPath { path: name, reason });
                }
            }
            Ok(_) => files.push(name),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    (files, bad)
}

fn search(folder: &Path, files: &mut Vec<String>, bad: &mut Vec<BadPath>) {
    let unreadable = |error: std::io::Error| BadPath {
        path: folder.to_string_lossy().into_owned(),
        reason: error.to_string(),
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return bad.push(unreadable(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        match entry {
            // `file_type` does not follow links, so a link back up cannot send the search round in circles.
            Ok(entry) => paths.push((entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()))),
            Err(error) => bad.push(unreadable(error)),
        }
    }
    paths.sort();
    for (path, is_folder) in paths {
        if is_folder {
            search(&path, files, bad);
        } else if path.extension().is_some_and(|extension| extension == "fence" || extension == "litmus") {
            let name = path.to_string_lossy();
            files.push(name.strip_prefix("./").unwrap_or(&name).to_owned());
        }
    }
}
