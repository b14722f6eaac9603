//! The dull twin: decides tiny programs by plain enumeration of their executions.
//!
//! It exists so that "proved" can be doubted. It shares no semantic code with the checker, takes only the resolved
//! program from the front end, and spells PTX's memory model out as nested loops over a list of events, rule by rule
//! (the ids in comments are those of the specification's §1). Nothing here is meant to be fast.
//!
//! Loops are gone round a few times, and what would go on longer is cut off, which it says ([`Reference::cut`]).
//!
//! What it cannot do: `wgmma`, copies of tensors of several dimensions, strong bulk copies, vectors, `bar.red`, thread counts
//! of barriers unless each warp has one lane and the count decides who meets, restricted fences of the generic proxy,
//! symbolic parameters and memory without initialiser. It panics on them. Of `barrier.cluster` and `tcgen05` it takes each
//! thread for a warp of its own. Programs that are too large to enumerate are an error.

mod deadlock;
pub mod edition;
mod event;
mod execution;
mod expression;
mod interpreter;
mod mbarrier;
mod memory;
mod meter;
mod model;
mod race;
mod relation;
mod source;
pub mod spa;

use edition::Edition;
use event::Event;
pub use event::Misuse;
use fencepost_dsl::Span;
use fencepost_dsl::index::IndexVec;
use fencepost_dsl::kernel::program::{Function, FunctionId, Kernel, Launch};
use interpreter::{Control, Run, Thread};
pub use memory::ANYTHING;
use memory::Memory;
use meter::Meter;
use source::Source;
use std::collections::{BTreeMap, BTreeSet};

/// Everything the twin finds out about one kernel and launch.
#[derive(Clone, Default, Debug)]
pub struct Reference {
    /// The final values of all global scalars by name, of every execution in which every thread finished.
    pub outcomes: BTreeSet<BTreeMap<String, u64>>,
    /// Whether some execution, prefixes included, has a data race (MM-19).
    pub races: bool,
    /// The threads and memory operands of all races.
    pub racing_places: BTreeSet<[(usize, Span); 2]>,
    /// The statements of all races, the earlier one in the text first.
    pub racing_statements: BTreeSet<[Span; 2]>,
    /// Whether some race is between accesses that overlap partially, so that outcomes mean nothing (MM-20).
    pub mixed_size_races: bool,
    /// Whether in some execution threads wait for ever, or go round a loop for ever without changing anything (design §7).
    pub deadlocks: bool,
    /// Whether in some execution they go round a loop for ever and change nothing but registers.
    pub endless: bool,
    /// Whether in some execution a thread goes round a loop more often than is enumerated.
    pub cut: bool,
    /// Assertions that do not hold in some execution, prefixes included.
    pub failed_assertions: BTreeSet<Span>,
    /// The rules about barriers and mbarriers that some execution breaks.
    pub misuses: BTreeSet<Misuse>,
    /// Executions the axioms allow.
    pub n_executions: usize,
}

/// The program has more executions than are enumerated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// How much is enumerated at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Runs of one thread.
    pub runs_max: usize,
    /// Choices of one run per thread.
    pub combinations_max: usize,
    /// Candidate executions.
    pub candidates_max: usize,
    /// Rounds of a loop that each change something, without the one that leaves it.
    pub rounds_max: usize,
    /// Steps of all of that: some programs have few candidates and very many ways to find none.
    pub steps_max: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            runs_max: 1_500,
            combinations_max: 2_000_000,
            candidates_max: 100_000,
            rounds_max: 3,
            steps_max: u64::MAX,
        }
    }
}

/// Enumerates all executions of `kernel` for `launch` that the default model allows.
///
/// # Errors
/// If there are too many.
///
/// # Panics
/// On programs that use more of the language than the twin knows.
pub fn decide(kernel: &Kernel, launch: &Launch, effort: Effort) -> Result<Reference, TooLarge> {
    decide_under(Edition::PTX, kernel, launch, effort)
}

/// Enumerates all executions of `kernel` for `launch` that an edition allows.
///
/// # Errors
/// If there are too many.
///
/// # Panics
/// On programs that use more of the language than the twin knows.
pub fn decide_under(
    edition: Edition,
    kernel: &Kernel,
    launch: &Launch,
    effort: Effort,
) -> Result<Reference, TooLarge> {
    decide_with(edition, (kernel, &IndexVec::default()), launch, effort)
}

/// The same for a kernel that may call functions.
///
/// # Errors
/// If there are too many.
///
/// # Panics
/// On programs that use more of the language than the twin knows.
pub fn decide_with(
    edition: Edition,
    (kernel, functions): (&Kernel, &IndexVec<FunctionId, Function>),
    launch: &Launch,
    effort: Effort,
) -> Result<Reference, TooLarge> {
    assert!(kernel.parameters.is_empty(), "symbolic parameters are unsupported by the twin");
    let threads = interpreter::threads(launch);
    let memory = Memory::new(kernel, launch);
    let meter = Meter::new(effort.steps_max);
    let runs = all_runs(Source { kernel, functions }, &threads, &memory, (effort, &meter))?;
    execution::enumerate(kernel, &memory, &threads, &runs, (edition, effort, &meter))
}

/// Every thread's runs, for reads that return any value that some run may have written.
///
/// A written value is either a constant or computed from reads. How often it was computed on is its depth; as no chain of
/// values goes in a circle (AX-4), no depth exceeds the number of computed writes in a run of every thread.
fn all_runs(
    source: Source<'_>,
    threads: &[Thread],
    memory: &Memory,
    limits: (Effort, &Meter),
) -> Result<Vec<Vec<Run>>, TooLarge> {
    let mut depths: Vec<BTreeMap<u64, usize>> =
        memory.initial.iter().map(|&value| BTreeMap::from([(value, 0)])).collect();
    let has_loops = source.has_loops();
    if has_loops {
        // A branch that is taken both ways again and again is too much; what values there may be says the text.
        for (values, constants) in depths.iter_mut().zip(source.constants(memory)) {
            for constant in constants {
                values.entry(constant).or_insert(0);
            }
        }
    }
    loop {
        let of_all = |control| -> Result<Vec<Vec<Run>>, TooLarge> {
            let of_one = |t| interpreter::runs(source, t, memory, &depths, control, limits);
            threads.iter().map(of_one).collect()
        };
        let runs = of_all(if has_loops { Control::Obeyed } else { Control::Ignored })?;
        let longest = |runs: &Vec<Run>| runs.iter().map(Run::n_computed_writes).max().unwrap_or(0);
        let depth_max: usize = runs.iter().map(longest).sum();
        let mut grown = depths.clone();
        for run in runs.iter().flatten() {
            for write in run.events.iter().filter(|event| event.is_write()) {
                let reads = write.dependencies.iter().map(|&read| &run.events[read]);
                let of_read = |read: &Event| {
                    let parts = read.granules.iter().zip(&read.values);
                    parts.map(|(&granule, value)| depths[granule][value] + 1).max().unwrap_or(0)
                };
                let depth = reads.map(of_read).max().unwrap_or(0);
                if depth > depth_max {
                    continue;
                }
                for (&granule, &value) in write.granules.iter().zip(&write.values) {
                    let known = grown[granule].entry(value).or_insert(depth);
                    *known = depth.min(*known);
                }
            }
        }
        if grown == depths {
            return of_all(Control::Obeyed);
        }
        depths = grown;
    }
}
