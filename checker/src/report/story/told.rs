//! An execution, told: what there is to be drawn.

use super::phases::PhaseRow;
use fencepost_dsl::Span;

/// An execution, told.
#[derive(Clone, Debug)]
pub struct Story {
    /// The first line of the report.
    pub headline: String,
    /// Its page.
    pub code: &'static str,
    /// Rules that the finding rests on.
    pub rules: Vec<&'static str>,
    /// Threads, and operations by who started them.
    pub lanes: Vec<Lane>,
    /// In order; those of one lane ascend in their rows.
    pub steps: Vec<Step>,
    /// How many rows there are.
    pub n_rows: usize,
    /// Between steps.
    pub links: Vec<Link>,
    /// What the mbarriers of the story went through.
    pub phases: Vec<PhaseRow>,
    /// Opcodes that steps abbreviate, and what they are in full.
    pub opcodes: Vec<(String, String)>,
    /// Why it is so: the sentences of the report.
    pub why: Vec<String>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Whose.
    pub name: String,
    /// Other threads that do the same, which it stands for.
    pub others: Vec<String>,
    /// Whether it is the operations that a thread has started, which are in no order among themselves.
    pub is_of_operations: bool,
}

/// Where a step is in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The statement.
    pub span: Span,
    /// The file, where it is not the kernel's.
    pub file: Option<String>,
    /// From 1.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{} of {file}", self.line),
            None => write!(f, "{}", self.line),
        }
    }
}

/// An instruction that a thread executes, or part of an operation.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its lane.
    pub lane: usize,
    /// Its row, from 0; what shares one is in no order.
    pub row: usize,
    /// Where it is.
    pub place: Option<Place>,
    /// Opcode with every default.
    pub opcode: String,
    /// The same without what is not needed to tell it from others.
    pub short: String,
    /// What it works on: `[flag]`.
    pub object: String,
    /// What comes of it: `→ 1`, `passes phase 0`.
    pub what: String,
    /// Where the value read comes from, or whose arrivals let the thread pass.
    pub from: String,
    /// What it writes after that, if it is an atomic: `then = 1`.
    pub then: String,
    /// Its loop iteration, or which operation of its lane it is part of.
    pub details: Vec<String>,
    /// `(1)`, `(2)`, or `✗` for what must not happen.
    pub mark: &'static str,
    /// The rules that its part in the story rests on.
    pub rules: Vec<&'static str>,
}

impl Step {
    /// Without opcode: `[flag] → 1 from step 2`.
    pub fn outcome(&self) -> String {
        let parts = [self.object.as_str(), &self.what, &self.from, &self.then];
        let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        known.join(" ")
    }

    /// All of it on one line, as a table shows it.
    pub fn line(&self) -> String {
        let mut text = match &self.place {
            Some(Place { file: Some(file), line, .. }) => format!("{file}:{line}: "),
            Some(place) => format!("{}: ", place.line),
            None => String::new(),
        };
        text += &self.short;
        let outcome = self.outcome();
        if !outcome.is_empty() {
            text += &format!(" {outcome}");
        }
        if !self.details.is_empty() {
            text += &format!(", {}", self.details.join(", "));
        }
        if !self.mark.is_empty() {
            text += &format!(" {}", self.mark);
        }
        text
    }
}

/// What a link is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LinkKind {
    /// From a write to a read of its value.
    ReadsFrom,
    /// From a write to one that overwrites it.
    Coherence,
    /// From a read to a write that it does not see.
    FromReads,
    /// From what is released to what acquires it: through memory, a barrier or an mbarrier.
    Synchronizes,
    /// From an instruction to the operation that it starts.
    Starts,
    /// From an operation to an instruction by which a thread knows that it is done.
    Completes,
    /// Between two accesses through different proxies.
    Proxy,
    /// Between two accesses that nothing orders.
    Unordered,
}

impl LinkKind {
    /// All of them, in the order of legends.
    pub const ALL: [Self; 8] = [
        Self::ReadsFrom,
        Self::Coherence,
        Self::FromReads,
        Self::Synchronizes,
        Self::Starts,
        Self::Completes,
        Self::Proxy,
        Self::Unordered,
    ];

    /// As pictures label it.
    pub fn label(self) -> &'static str {
        match self {
            Self::ReadsFrom => "rf",
            Self::Coherence => "co",
            Self::FromReads => "fr",
            Self::Synchronizes => "sync",
            Self::Starts => "start",
            Self::Completes => "done",
            Self::Proxy => "proxy",
            Self::Unordered => "no order",
        }
    }

    /// What the label means.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ReadsFrom => "reads from: the value that was written is read",
            Self::Coherence => "coherence: overwrites what the other wrote",
            Self::FromReads => "from-reads: overwrites what was read",
            Self::Synchronizes => "synchronizes: what came before is known after",
            Self::Starts => "starts the operation",
            Self::Completes => "the operation is known to be done",
            Self::Proxy => "the two go through different proxies",
            Self::Unordered => "nothing orders the two",
        }
    }
}

/// From one step to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// The earlier step, or what should be earlier.
    pub from: usize,
    /// The later one.
    pub to: usize,
    /// What it is.
    pub kind: LinkKind,
    /// Whether it is the one that is missing or carries no order.
    pub is_broken: bool,
    /// The rules that it rests on.
    pub rules: Vec<&'static str>,
}
