//! `--watch`: what changes is checked again, and what says the same as before is not said again.
//!
//! Files are looked at a few times a second; a file counts as changed once its text has, or that of something that it uses,
//! or the settings that apply to it.

use super::super::arguments::CheckOptions;
use super::super::cache::Parts;
use super::super::output::{Output, Piece};
use super::super::settings::Found;
use super::super::{Status, interrupt};
use fencepost::parallel::on_large_stack;
use fencepost::paths::{self, BadPath, Input};
use fencepost::{library, project};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::{SourceMap, litmus};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What tells that a file may have changed: when it was written, and how long it is; nothing where there is none.
type Stamp = Option<(SystemTime, u64)>;

/// A file, and all that what is said of it depends on.
struct Watched {
    stamps: Vec<(PathBuf, Stamp)>,
    /// Of their texts.
    digest: String,
}

/// What was said of each file, and how it ended.
#[derive(Default)]
pub struct Said {
    by_file: SortedMap<String, (String, Status)>,
}

impl Said {
    /// Whether that is what was said of the file the last time. From now on it is.
    pub fn is_same(&mut self, file: &str, pieces: &[Piece], status: Status) -> bool {
        let mut parts = Parts::default();
        for piece in pieces {
            piece.parts().iter().for_each(|part| parts.text(part));
        }
        let digest = parts.digest();
        let before = self.by_file.insert(file.to_owned(), (digest.clone(), status));
        before.is_some_and(|(before, _)| before == digest)
    }
}

/// Checks what there is, then what changes, until somebody ends it.
pub fn run(options: &CheckOptions, named: &[PathBuf], output: &mut Output) -> Status {
    if named.iter().any(|path| path.as_os_str() == "-") {
        output.complain("error: standard input is read once, and cannot be watched: name files or folders\n");
        return Status::Rejected;
    }
    let mut watched: SortedMap<PathBuf, Watched> = SortedMap::new();
    let (mut said, mut bad_before) = (Said::default(), Vec::new());
    let (mut paths, mut is_first) = (named.to_vec(), true);
    loop {
        // The project may name other paths by now; one that cannot be used is told where it matters.
        if let (true, Ok(now)) = (options.paths.is_empty(), super::paths_of(options)) {
            paths = now;
        }
        let (files, bad) = paths::kernel_files(&paths);
        forget_others(&files, &mut watched, &mut said, output);
        let changed: Vec<Input> =
            files.into_iter().filter(|file| has_changed(options, file, &mut watched)).collect();
        let new: Vec<BadPath> = bad.iter().filter(|bad| !bad_before.contains(*bad)).cloned().collect();
        if is_first || !changed.is_empty() || !new.is_empty() {
            super::once(options, &changed, &new, Some(&mut said), output);
            if !interrupt::is_wanted() && is_first {
                output.complain("watching for changes; Ctrl-C ends this\n");
            }
            output.flush();
        }
        (bad_before, is_first) = (bad, false);
        if interrupt::is_wanted() || output.failure().is_some() {
            let worst = said.by_file.values().map(|(_, status)| *status).max();
            let refused = if bad_before.is_empty() { Status::Fine } else { Status::Rejected };
            return worst.unwrap_or(Status::Fine).max(refused);
        }
        thread::sleep(LOOK);
    }
}

/// Files that are gone are said to be.
fn forget_others(
    files: &[Input],
    watched: &mut SortedMap<PathBuf, Watched>,
    said: &mut Said,
    output: &mut Output,
) {
    watched.retain(|path, _| {
        let is_there = files.iter().any(|file| file.path == *path);
        if !is_there {
            let name = Input::named(path).name;
            said.by_file.remove(&name);
            output.complain(&format!("{name}: gone\n"));
        }
        is_there
    });
}

fn has_changed(options: &CheckOptions, file: &Input, watched: &mut SortedMap<PathBuf, Watched>) -> bool {
    let is_as_before = |known: &Watched| known.stamps.iter().all(|(path, before)| stamp(path) == *before);
    let known = watched.get(&file.path);
    if known.is_some_and(is_as_before) {
        return false;
    }
    let now = look(options, file);
    let has_changed = known.is_none_or(|known| known.digest != now.digest);
    watched.insert(file.path.clone(), now);
    has_changed
}

fn stamp(path: &Path) -> Stamp {
    let data = fs::metadata(path).ok()?;
    Some((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len()))
}

/// A file, and all that what is said of it depends on, as they are now.
fn look(options: &CheckOptions, file: &Input) -> Watched {
    let mut used = uses(file);
    if !options.config.no_config {
        match &options.config.config {
            Some(own) => used.push(own.clone()),
            None => used.extend(project::candidates(&file.path)),
        }
    }
    if let Ok(settings) = Found::new(options).of(file) {
        used.extend(settings.options.baseline.clone());
        used.extend(
            settings.options.program.model.iter().filter(|model| model.ends_with(".cat")).map(PathBuf::from),
        );
    }
    // Before the texts: what is written in between is seen the next time.
    let stamps: Vec<(PathBuf, Stamp)> = used.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
    let mut parts = Parts::default();
    for (path, _) in &stamps {
        parts.text(&paths::read(path).unwrap_or_default());
    }
    Watched { stamps, digest: parts.digest() }
}

/// The file, and what it uses, whether that is there or not.
fn uses(file: &Input) -> Vec<PathBuf> {
    let read = || {
        let mut used = vec![file.path.clone()];
        let mut read = |wanted: &str| {
            if library::read(wanted).is_none() {
                used.push(file.resolve(wanted));
            }
            file.read(wanted)
        };
        let mut sources = SourceMap::default();
        // Errors are told by the check.
        let _ = if file.is_litmus() {
            litmus::load(&mut sources, &file.name, &mut read)
        } else {
            load(&mut sources, &file.name, &mut read, &LoadOptions::default())
        };
        used
    };
    let mut used = on_large_stack(read).unwrap_or_else(|_| vec![file.path.clone()]);
    used.sort();
    used.dedup();
    used
}
