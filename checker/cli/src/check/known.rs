//! What a run has found, held against lists of known findings.

use super::super::Status;
use super::super::output::Output;
use fencepost::baseline::{self, Baseline, Entry};
use fencepost::report::Case;
use fencepost::verdict::{Outcome, Verdict};
use fencepost::warn::Warning;
use fencepost_dsl::sorted::SortedMap;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// For each list what was found of what it is about.
#[derive(Default)]
pub struct Tallies {
    by_list: SortedMap<String, Tally>,
}

#[derive(Default)]
struct Tally {
    baseline: Option<Arc<Baseline>>,
    found: Found,
}

/// What was found, and the files of which all was looked at.
#[derive(Default, Serialize, Deserialize)]
pub struct Found {
    entries: Vec<Entry>,
    whole: Vec<String>,
}

impl Tallies {
    /// From now on it is told what has gone from this list.
    pub fn hold(&mut self, baseline: &Arc<Baseline>) {
        self.of(baseline);
    }

    fn of(&mut self, baseline: &Arc<Baseline>) -> &mut Found {
        let tally = self.by_list.entry(baseline.name.clone()).or_default();
        tally.baseline.get_or_insert_with(|| Arc::clone(baseline));
        &mut tally.found
    }

    /// Adds the findings of a launch; which of them are known.
    pub fn findings(&mut self, baseline: &Arc<Baseline>, path: &Path, case: &Case<'_>) -> Vec<bool> {
        self.add(baseline, baseline::of_case(case, &baseline.name_of(path)))
    }

    /// Adds the warnings of a file; which of them are known.
    pub fn warnings(&mut self, baseline: &Arc<Baseline>, path: &Path, warnings: &[Warning]) -> Vec<bool> {
        let file = baseline.name_of(path);
        self.add(baseline, warnings.iter().map(|warning| baseline::of_warning(warning, &file)).collect())
    }

    fn add(&mut self, baseline: &Arc<Baseline>, entries: Vec<Entry>) -> Vec<bool> {
        let known = baseline.known(&entries);
        self.of(baseline).entries.extend(entries);
        known
    }

    /// All of a file was looked at.
    pub fn whole(&mut self, baseline: &Arc<Baseline>, path: &Path) {
        let name = baseline.name_of(path);
        self.of(baseline).whole.push(name);
    }

    /// What was found, by the name of the list.
    pub fn into_found(self) -> Vec<(String, Found)> {
        self.by_list.into_iter().map(|(list, tally)| (list, tally.found)).collect()
    }

    /// Adds what another run has found.
    pub fn extend(&mut self, found: Vec<(String, Found)>) {
        for (list, found) in found {
            let own = &mut self.by_list.entry(list).or_default().found;
            own.entries.extend(found.entries);
            own.whole.extend(found.whole);
        }
    }

    /// Says of each list what has gone; or writes it anew.
    pub fn told(&self, write: bool, output: &mut Output) -> Status {
        let mut status = Status::Fine;
        for (_, Tally { baseline, found }) in &self.by_list {
            let Some(baseline) = baseline else { continue };
            let gone = baseline.gone(&found.entries, &found.whole);
            if write {
                match fs::write(&baseline.path, baseline.text(&found.entries, &found.whole)) {
                    Ok(()) => output.complain(&format!("note: written: {}\n", baseline.name)),
                    Err(error) => {
                        output.complain(&format!("error: {} could not be written: {error}\n", baseline.name));
                        status = Status::Unwritten;
                    }
                }
            }
            for entry in &gone {
                output.complain(&format!("note: gone from {}: {}\n", baseline.name, entry.told()));
            }
            if !gone.is_empty() && !write {
                output.complain("  what has gone is taken out of the list by --write-baseline\n");
            }
        }
        status
    }
}

/// Whether all that can be found of a launch was.
pub fn is_whole(outcome: &Outcome) -> bool {
    !outcome.more_findings && outcome.properties.iter().all(|&(_, verdict)| verdict != Verdict::Inconclusive)
}
