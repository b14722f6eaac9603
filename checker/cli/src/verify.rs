//! `fencepost verify`: certificates, checked by a crate that has nothing of the checker.

use super::Status;
use super::arguments::{VerifyFormat, VerifyOptions};
use super::output::Output;
use fencepost::parallel::on_large_stack;
use fencepost::paths::shown_path;
use fencepost_verify::export::export;
use fencepost_verify::thorough::Limits;
use fencepost_verify::{Folder, Refused, Report, report, verify, verify_thoroughly};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Checks all that was named.
pub fn run(options: &VerifyOptions, output: &mut Output) -> Status {
    let mut status = Status::Fine;
    let folders: Vec<PathBuf> = options.folders.iter().flat_map(|path| certificates(path)).collect();
    for folder in &folders {
        status = status.max(one(options, folder, &shown_path(folder), output));
        output.flush();
    }
    if options.format == VerifyFormat::Pretty && folders.len() > 1 {
        let what = if status == Status::Rejected { "some are refused" } else { "none is refused" };
        output.print(&format!("{} certificates: {what}\n", folders.len()));
    }
    status
}

/// A certificate, or those in a folder of them.
fn certificates(path: &Path) -> Vec<PathBuf> {
    let is_one = |path: &Path| path.join("certificate.json").exists() || path.join("seal").exists();
    if is_one(path) {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    // What was not finished has a name with a dot in front.
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir() && !is_hidden(path)).collect();
    found.sort();
    // What is none is told why.
    if found.is_empty() { vec![path.to_owned()] } else { found }
}

fn one(options: &VerifyOptions, path: &Path, name: &str, output: &mut Output) -> Status {
    let done = on_large_stack(|| checked(path, options))
        .unwrap_or_else(|panic| Err(Refused::new("internal", panic)));
    match done {
        Ok(confirmed) => {
            match options.format {
                VerifyFormat::Pretty => output.print(&format!("{}\n", confirmed.to_text())),
                VerifyFormat::Json => output.print(&format!("{}\n", confirmed.to_json())),
            }
            match confirmed.verdict() {
                "proved" => Status::Fine,
                "violated" => Status::Violated,
                _ => Status::Undecided,
            }
        }
        Err(refused) => {
            match options.format {
                VerifyFormat::Pretty => output.complain(&report::refused(name, &refused)),
                VerifyFormat::Json => output.print(&format!("{}\n", report::refused_json(name, &refused))),
            }
            Status::Rejected
        }
    }
}

fn checked(path: &Path, options: &VerifyOptions) -> Result<Report, Refused> {
    let folder = Folder::open(path)?;
    let limits = Limits::default();
    let report = if options.thorough { verify_thoroughly(&folder, limits)? } else { verify(&folder)? };
    if let Some(under) = &options.export {
        put(under, path, &folder)?;
    }
    Ok(report)
}

/// Writes the questions of a certificate into a folder of its name.
fn put(under: &Path, path: &Path, folder: &Folder) -> Result<(), Refused> {
    let under = under.join(path.file_name().unwrap_or_default());
    let unwritten = |error: io::Error| Refused::new("export::unwritten", error.to_string());
    fs::create_dir_all(&under).map_err(unwritten)?;
    for file in export(folder)? {
        fs::write(under.join(&file.name), file.text).map_err(|error| unwritten(error).of(&file.name))?;
    }
    Ok(())
}
