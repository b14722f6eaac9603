//! The event graph, derived again from the kernel's text by an interpreter that shares nothing with the checker.
//!
//! Each thread is run alone, with concrete numbers, once for each way in which its reads can return values (`text`). The graph
//! is followed in the same ways (`graph`): guards, addresses and values are terms over what reads return, so with numbers for
//! those they say what happens. Both must tell the same runs, event for event (`compare`): what is done, where, with which
//! value, of which kind, scope and order, which assertions fail on the way, and whether the thread comes to its end. What the
//! graph says of pairs of events is held to the places of the threads and to the runs.
//!
//! What is not followed here is said by name, and nothing is claimed of it.

mod compare;
mod graph;
mod pairs;
mod place;
mod text;

pub use compare::compare;

use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// How far it goes before it gives up.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Events of a graph.
    pub events_max: usize,
    /// Runs of one thread.
    pub runs_max: usize,
    /// Steps of one run.
    pub steps_max: usize,
    /// How often values are computed from values that were computed.
    pub rounds_max: usize,
    /// Values of one place in memory.
    pub values_max: usize,
    /// Statements and terms that are evaluated, all together.
    pub work_max: u64,
}

/// What is left of the work that may be done.
pub(crate) struct Work(Cell<u64>);

impl Work {
    fn new(effort: Effort) -> Self {
        Self(Cell::new(effort.work_max))
    }

    pub(crate) fn spend(&self, n: usize) -> Result<(), String> {
        let left = self.0.get().checked_sub(n as u64);
        self.0.set(left.ok_or_else(|| "that takes too long".to_owned())?);
        Ok(())
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            events_max: 1_000,
            runs_max: 3_000,
            steps_max: 2_000,
            rounds_max: 4,
            values_max: 8,
            work_max: 20_000_000,
        }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Again {
    /// Threads that were run.
    pub n_threads: usize,
    /// Runs of them.
    pub n_runs: usize,
    /// What of the graph was not derived again, by name; everything, if it says why.
    pub left: Result<BTreeSet<String>, String>,
}

impl Again {
    pub(crate) fn given_up(why: String) -> Self {
        Self { n_threads: 0, n_runs: 0, left: Err(why) }
    }

    /// In a line.
    pub fn to_text(&self) -> String {
        match &self.left {
            Err(why) => format!("the graph was not derived again, since {why}"),
            Ok(left) => {
                let text = format!(
                    "the graph is what {} runs of {} threads do, interpreted from the text",
                    self.n_runs, self.n_threads
                );
                match left.is_empty() {
                    true => text,
                    false => format!("{text}, but for {}", told(left)),
                }
            }
        }
    }
}

/// Things in a row.
pub(crate) fn told(all: &BTreeSet<String>) -> String {
    all.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
}

/// The text that a graph is of.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    /// Where things are.
    pub sources: &'a SourceMap,
    /// All of it.
    pub program: &'a Program,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The launch.
    pub launch: &'a Launch,
}

/// What an event is besides its access; by these names a graph lists its sets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Marks(u32);

/// The sets that are derived here.
const MARKS: [&str; 24] = [
    "R",
    "W",
    "M",
    "F",
    "RLX",
    "ACQ",
    "REL",
    "ACQ_REL",
    "SC",
    "WEAK",
    "STRONG",
    "ATOM",
    "RED",
    "SINK",
    "SPIN",
    "BAR-ARRIVE",
    "BAR-WAIT",
    "GEN",
    "CTA",
    "CLUSTER",
    "GPU",
    "SYS",
    "ALIAS",
    "IW",
];

impl Marks {
    pub(crate) fn add(&mut self, name: &str) {
        if let Some(at) = MARKS.iter().position(|own| *own == name) {
            self.0 |= 1 << at;
        }
    }

    pub(crate) fn has(self, name: &str) -> bool {
        MARKS.iter().position(|own| *own == name).is_some_and(|at| self.0 >> at & 1 == 1)
    }

    fn names(self) -> String {
        MARKS.iter().filter(|name| self.has(name)).copied().collect::<Vec<_>>().join(" ")
    }
}

/// An access with numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Touched {
    pub location: usize,
    pub mapping: u64,
    pub offset: u128,
    pub bytes: u128,
    pub value: u128,
}

/// What a thread does in a step.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Done {
    pub kind: String,
    pub text: String,
    pub marks: Marks,
    pub touched: Option<Touched>,
    /// Whether it is in no order with what was done just before: the elements of a vector.
    pub is_joined: bool,
}

impl Done {
    pub(crate) fn told(&self) -> String {
        let at = self.touched.map_or(String::new(), |own| {
            format!(" of {} at byte {} of location {}", own.value, own.offset, own.location)
        });
        format!("`{}` ({}, {}){at}", self.text, self.kind, self.marks.names())
    }
}

/// How a run ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    /// At the end of the text.
    Finished,
    /// Somewhere before, for good.
    Stands,
    /// In a loop that is not followed any further.
    Cut,
    /// At what has no meaning.
    Broken,
}

/// A run of a thread, as both sides tell it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Told {
    pub done: Vec<Done>,
    pub end: End,
    /// The lines of assertions that fail.
    pub failed: BTreeSet<u64>,
    /// The places of `reachable`s that are reached.
    pub reached: BTreeSet<[usize; 3]>,
    /// Where it stands in a wait for memory: the values on which it would not go on. `None` if that is not asked.
    pub stays_on: Option<BTreeSet<u128>>,
    /// The parameters' values.
    pub parameters: Vec<u128>,
}

/// The values that a read can return, by location, first byte and bytes.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Values {
    pub of: BTreeMap<(usize, u128, u128), BTreeSet<u128>>,
    /// Values of parameters, one after the other.
    pub parameters: Vec<Vec<u128>>,
}
