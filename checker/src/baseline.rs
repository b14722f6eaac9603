//! Findings that are known: a file that lists them, so that a run fails for new ones only.
//!
//! A finding is known again by its code, its file, its kernel and launch, and by what it names: objects and instructions, no
//! lines and no threads. So what stands above it may change. Of several that are alike as many are known as were counted.

use crate::api::Finding;
use crate::paths;
use crate::report::json::{self, FindingReport};
use crate::report::{Case, names};
use crate::warn::Warning;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The schema's name.
const SCHEMA: &str = "fencepost-baseline/1";

/// Findings that nothing tells apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The file, relative to the folder of the baseline, with `/` between folders.
    pub file: String,
    /// The code.
    pub code: String,
    /// The kernel; empty for a warning.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    /// The launch; empty for a warning.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub launch: String,
    /// What it names.
    pub names: Vec<String>,
    /// How many.
    #[serde(default = "one")]
    pub count: usize,
}

fn one() -> usize {
    1
}

impl Entry {
    /// Whether the two are alike.
    fn is_like(&self, other: &Self) -> bool {
        (&self.file, &self.code, &self.kernel, &self.launch, &self.names)
            == (&other.file, &other.code, &other.kernel, &other.launch, &other.names)
    }

    /// In a line, for people.
    pub fn told(&self) -> String {
        let kernel = match (self.kernel.as_str(), self.launch.as_str()) {
            ("", _) => String::new(),
            (kernel, "default") => format!(" of kernel {kernel}"),
            (kernel, launch) => format!(" of kernel {kernel}, launch {launch}"),
        };
        let times = if self.count > 1 { format!(" ({} times)", self.count) } else { String::new() };
        format!("{}: `{}`{kernel}: {}{times}", self.file, self.code, self.names.join(", "))
    }
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema: String,
    findings: Vec<Entry>,
}

/// A file of known findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Baseline {
    /// Where it is.
    pub path: PathBuf,
    /// What it is called.
    pub name: String,
    /// Whether it is made anew, and so knows everything.
    is_new: bool,
    entries: Vec<Entry>,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// Why it is no baseline.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = paths::read(path)?;
        let document: Document = serde_json::from_str(&text)
            .map_err(|error| format!("it is no list of known findings: {error}"))?;
        if document.schema != SCHEMA {
            return Err(format!("its schema is `{}`, and not `{SCHEMA}`", paths::shown(&document.schema)));
        }
        Ok(Self { is_new: false, entries: document.findings, ..Self::empty(path) })
    }

    /// One that is written anew: whatever is found counts as known. What it has said of files that this run does not look at
    /// stays.
    ///
    /// # Errors
    /// There is a file of that name which is no baseline.
    pub fn anew(path: &Path) -> Result<Self, String> {
        if path.try_exists().is_ok_and(|is_there| !is_there) {
            return Ok(Self::empty(path));
        }
        Ok(Self { is_new: true, ..Self::read(path)? })
    }

    fn empty(path: &Path) -> Self {
        let name = paths::shown(&path.to_string_lossy());
        Self { path: path.to_owned(), name, is_new: true, entries: Vec::new() }
    }

    /// What a file is called in it.
    pub fn name_of(&self, file: &Path) -> String {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let relative = paths::relative(file, folder.unwrap_or(Path::new(".")));
        let parts = relative.components().map(|part| part.as_os_str().to_string_lossy());
        paths::shown(&parts.collect::<Vec<_>>().join("/")).replace("//", "/")
    }

    /// Of findings of one launch, or the warnings of one file, those that are known.
    pub fn known(&self, found: &[Entry]) -> Vec<bool> {
        let is_known = |(at, entry): (usize, &Entry)| {
            let before = found[..at].iter().filter(|other| other.is_like(entry)).count();
            let known = self.entries.iter().filter(|own| own.is_like(entry));
            self.is_new || before < known.map(|own| own.count).sum()
        };
        found.iter().enumerate().map(is_known).collect()
    }

    /// What is listed and was not found, of files of which all was looked at, and of files that are no more.
    pub fn gone(&self, found: &[Entry], whole: &[String]) -> Vec<Entry> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let gone = self.entries.iter().filter_map(|entry| {
            let is_there = || folder.join(&entry.file).exists();
            if !whole.contains(&entry.file) && is_there() {
                return None;
            }
            let n_found = found.iter().filter(|own| own.is_like(entry)).map(|own| own.count).sum::<usize>();
            (n_found < entry.count).then(|| Entry { count: entry.count - n_found, ..entry.clone() })
        });
        gone.collect()
    }

    /// The text of the file with what was found now: of files of which all was looked at just that, of others also what is
    /// listed already.
    pub fn text(&self, found: &[Entry], whole: &[String]) -> String {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let stays = |entry: &&Entry| {
            let is_found = found.iter().any(|own| own.is_like(entry));
            !is_found && !whole.contains(&entry.file) && folder.join(&entry.file).exists()
        };
        let mut all: Vec<Entry> = self.entries.iter().filter(stays).cloned().collect();
        for entry in found {
            match all.iter_mut().find(|own| own.is_like(entry)) {
                Some(own) => own.count += entry.count,
                None => all.push(entry.clone()),
            }
        }
        all.sort();
        let document = Document { schema: SCHEMA.to_owned(), findings: all };
        // A tree of strings and numbers always serialises.
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }
}

/// The findings of a launch, as they are known again.
pub fn of_case(case: &Case<'_>, file: &str) -> Vec<Entry> {
    let of = |finding: &FindingReport| Entry {
        file: file.to_owned(),
        code: finding.code.to_owned(),
        kernel: case.kernel.name.clone(),
        launch: case.outcome.launch.name.clone(),
        names: names::of(finding),
        count: 1,
    };
    json::findings(case).iter().map(of).collect()
}

/// A finding of a [`crate::Report`], as it is known again.
pub fn of_finding(finding: &Finding, file: &str, kernel: &str, launch: &str) -> Entry {
    let places = finding.place.iter().chain(&finding.others).map(|place| place.text.as_str());
    Entry {
        file: file.to_owned(),
        code: finding.code.to_owned(),
        kernel: kernel.to_owned(),
        launch: launch.to_owned(),
        names: names::named(&finding.message, places),
        count: 1,
    }
}

/// A warning, as it is known again.
pub fn of_warning(warning: &Warning, file: &str) -> Entry {
    Entry {
        file: file.to_owned(),
        code: warning.kind.code.to_owned(),
        kernel: String::new(),
        launch: String::new(),
        names: names::quoted(&warning.message),
        count: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::{Baseline, Entry};
    use std::path::Path;

    fn entry(file: &str, name: &str) -> Entry {
        Entry {
            file: file.to_owned(),
            code: "race::uniform".to_owned(),
            kernel: "k".to_owned(),
            launch: "default".to_owned(),
            names: vec![name.to_owned()],
            count: 1,
        }
    }

    #[test]
    fn as_many_are_known_as_were_counted() {
        let mut baseline = Baseline::empty(Path::new("/nowhere/known.json"));
        baseline.is_new = false;
        let (a, b) = (entry("a.fence", "x"), entry("a.fence", "y"));
        baseline.entries = vec![Entry { count: 2, ..a.clone() }];
        assert_eq!(baseline.known(&[a.clone(), b.clone(), a.clone(), a.clone()]), [true, false, true, false]);
        let whole = ["a.fence".to_owned()];
        assert_eq!(baseline.gone(std::slice::from_ref(&a), &whole), std::slice::from_ref(&a));
        assert_eq!(baseline.gone(&[a.clone(), a.clone(), b], &whole), []);
        // A file that is not there any more has lost all that was known of it.
        assert_eq!(baseline.gone(&[], &[])[0].count, 2);
        let again: super::Document =
            serde_json::from_str(&baseline.text(&[a.clone(), a], &whole)).expect("it is JSON");
        assert_eq!(again.findings, baseline.entries);
    }

    #[test]
    fn files_are_named_from_the_folder_of_the_list() {
        let baseline = Baseline::empty(Path::new("/p/ci/known.json"));
        assert_eq!(baseline.name_of(Path::new("/p/kernels/a.fence")), "../kernels/a.fence");
    }
}
