//! What a project says.

use crate::findings::Property;
use std::path::PathBuf;

/// What a project says; what it does not say is none, or empty.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Settings {
    /// What is checked where nothing is named: files and folders, relative to the project's folder.
    pub paths: Vec<PathBuf>,
    /// Launches, by name: of a kernel that has some of them, the others are left out.
    pub launches: Vec<String>,
    /// Properties that are checked.
    pub properties: Vec<Property>,
    /// Millions of steps per kernel and launch.
    pub budget: Option<u64>,
    /// The loop bound to start with.
    pub unroll: Option<u32>,
    /// The loop bound to raise it to.
    pub unroll_max: Option<u32>,
    /// Most events of a launch.
    pub max_events: Option<usize>,
    /// Most clauses of a formula.
    pub max_clauses: Option<usize>,
    /// The memory model; that of a file is relative to the project's folder.
    pub model: Option<String>,
    /// Variants of the model.
    pub variants: Vec<String>,
    /// The architecture.
    pub target: Option<String>,
    /// The file of known findings, relative to the project's folder.
    pub baseline: Option<PathBuf>,
    /// Where the book is, for links to the page of a code.
    pub book: Option<String>,
    /// How severe warnings are.
    pub warnings: Severities,
    /// Bounds that are good enough.
    pub accepted: Vec<Accepted>,
}

/// How severe warnings are.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Severities {
    /// Those that are not named.
    pub all: Severity,
    /// By code.
    pub named: Vec<(&'static str, Severity)>,
}

impl Severities {
    /// That of the warning with this code.
    pub fn of(&self, code: &str) -> Severity {
        self.named.iter().find(|(own, _)| *own == code).map_or(self.all, |&(_, severity)| severity)
    }
}

/// What becomes of a warning.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Severity {
    /// It is left out.
    Allow,
    /// It is told.
    #[default]
    Warn,
    /// It is told, and the run fails.
    Deny,
}

/// A proof up to a bound that the project takes for a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// The file, relative to the project's folder; any, if there is none.
    pub file: Option<PathBuf>,
    /// The kernel.
    pub kernel: String,
    /// The launch; any, if there is none.
    pub launch: Option<String>,
    /// The least bound that is good enough.
    pub bound: u32,
    /// Why it is.
    pub reason: String,
    /// The line of the file that says so.
    pub line: usize,
}
