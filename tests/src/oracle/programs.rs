//! Programs against the twin, which knows neither hosts nor grids: what launches, events and waits order is written for it
//! as a kernel of one CTA, with a warp per grid and a named barrier per edge of the order.
//!
//! Each random program exists twice. For the checker: kernels of one thread, launched in streams, some with programmatic
//! serialization. For the twin: warp `i` runs what grid `i` does; "grid `a` has ended before `b` starts (or gets past its
//! `griddepcontrol.wait`)" is `bar.arrive` at the end of `a` and `bar.sync` in `b`. Both must have the same races and the
//! same final states. Which edges there are is worked out here from the rules of streams (MM-38, AS-40), by other means
//! than in the front end.
//!
//! Cannot: `launch_dependents` with a fence before it (MM-39), which no barrier stands for; waits on memory; scopes, since the
//! host is on no device and its warp is.

use super::{Comparison, Pair};
use crate::random::{self, Counts, Numbers, Plan, Suite};
use fencepost::encode::Treatment;
use proptest::prelude::{Strategy, any};
use std::fmt::Write;

/// Named barriers of a CTA; 0 is left alone.
const EDGES_MAX: usize = 15;
const WORDS: [&str; 2] = ["x", "y"];

/// A stream of its own for each seed.
fn numbers(seed: u64) -> Numbers {
    Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
}

/// What one thread does: statements, with a place in between for `griddepcontrol.wait`.
#[derive(Clone, Debug, Default)]
struct Code {
    before: Vec<String>,
    after: Vec<String>,
}

/// What the host does between two launches.
#[derive(Clone, Debug)]
enum Step {
    Launch {
        stream: usize,
        overlaps: bool,
    },
    /// Record in the first stream, wait in the second.
    Event(usize, usize),
    Synchronize(Option<usize>),
    Access(String),
}

/// A program, and the order that it stands for.
#[derive(Clone, Debug)]
pub struct Sketch {
    codes: Vec<Code>,
    steps: Vec<Step>,
    n_results: usize,
}

/// The end of something before a place in something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Edge {
    from: Point,
    to: Point,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Point {
    Start(usize),
    Wait(usize),
    End(usize),
    /// After so many steps of the host.
    Host(usize),
}

impl Sketch {
    /// A random one: two streams, two to four grids.
    fn random(numbers: &mut Numbers) -> Self {
        let mut sketch = Self { codes: Vec::new(), steps: Vec::new(), n_results: 0 };
        let n_tasks = 2 + numbers.index(3);
        let mut n_accesses = 0;
        for _ in 0..n_tasks {
            if numbers.is_one_in(4) && n_accesses < 6 {
                let access = sketch.access(numbers, &mut n_accesses);
                sketch.steps.push(Step::Access(access));
            }
            if numbers.is_one_in(4) {
                let from = numbers.index(2);
                sketch.steps.push(Step::Event(from, 1 - from));
            }
            if numbers.is_one_in(8) {
                let stream = numbers.index(3);
                sketch.steps.push(Step::Synchronize((stream < 2).then_some(stream)));
            }
            let overlaps = numbers.is_one_in(2);
            sketch.steps.push(Step::Launch { stream: numbers.index(2), overlaps });
            let mut code = Code::default();
            for _ in 0..1 + numbers.index(2) {
                if n_accesses < 6 {
                    let access = sketch.access(numbers, &mut n_accesses);
                    if numbers.is_one_in(2) { code.before.push(access) } else { code.after.push(access) }
                }
            }
            sketch.codes.push(code);
        }
        if numbers.is_one_in(2) {
            let stream = numbers.index(3);
            sketch.steps.push(Step::Synchronize((stream < 2).then_some(stream)));
            let access = sketch.access(numbers, &mut n_accesses);
            sketch.steps.push(Step::Access(access));
        }
        sketch
    }

    fn access(&mut self, numbers: &mut Numbers, n_accesses: &mut usize) -> String {
        *n_accesses += 1;
        let word = WORDS[numbers.index(WORDS.len())];
        // The host is in no narrower scope, but its warp is.
        let scope = "sys";
        match numbers.index(7) {
            0 | 1 => format!("st.weak.global.u32 [{word}], {n_accesses};"),
            2 => format!("st.relaxed.{scope}.global.u32 [{word}], {n_accesses};"),
            3 => format!("st.release.{scope}.global.u32 [{word}], {n_accesses};"),
            kind => {
                let result = self.n_results;
                self.n_results += 1;
                let load = match kind {
                    4 => "ld.weak".to_owned(),
                    5 => format!("ld.relaxed.{scope}"),
                    _ => format!("ld.acquire.{scope}"),
                };
                format!(
                    "let r{result} = {load}.global.u32 [{word}]; st.weak.global.u32 [o{result}], r{result};"
                )
            }
        }
    }

    /// What comes before what, by the rules of streams.
    fn edges(&self) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        // Per stream: the tasks in it so far and those of events waited for; and the task that may be overlapped with.
        let mut behind: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
        let mut last: [Option<usize>; 2] = [None, None];
        let mut follows: Vec<Vec<usize>> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Access(_) => {}
                &Step::Event(from, to) => {
                    let recorded = behind[from].clone();
                    behind[to].extend(recorded);
                    last[to] = None;
                }
                Step::Synchronize(stream) => {
                    let done = match stream {
                        Some(stream) => behind[*stream].clone(),
                        None => (0..follows.len()).collect(),
                    };
                    edges.extend(
                        done.iter().map(|&task| Edge { from: Point::End(task), to: Point::Host(at) }),
                    );
                }
                &Step::Launch { stream, overlaps } => {
                    let task = follows.len();
                    edges.push(Edge { from: Point::Host(at), to: Point::Start(task) });
                    let after = match last[stream].filter(|_| overlaps) {
                        Some(before) => {
                            edges.push(Edge { from: Point::End(before), to: Point::Wait(task) });
                            follows[before].clone()
                        }
                        None => behind[stream].clone(),
                    };
                    edges.extend(after.iter().map(|&a| Edge { from: Point::End(a), to: Point::Start(task) }));
                    follows.push(after);
                    behind[stream].push(task);
                    last[stream] = Some(task);
                }
            }
        }
        let mut distinct: Vec<Edge> = Vec::new();
        for edge in edges {
            if !distinct.contains(&edge) {
                distinct.push(edge);
            }
        }
        distinct
    }

    fn memory(&self) -> String {
        let mut text = String::from("global x: u32 = 0;\nglobal y: u32 = 0;\n");
        for result in 0..self.n_results {
            let _ = writeln!(text, "global o{result}: u32 = 77;");
        }
        text
    }

    /// For the checker; without the closing brace.
    pub fn program(&self) -> String {
        let mut text = format!("//! target sm_90 ptx 8.0\n{}", self.memory());
        for (task, code) in self.codes.iter().enumerate() {
            let (before, after) = (code.before.join(" "), code.after.join(" "));
            let _ = writeln!(text, "kernel t{task} {{ {before} griddepcontrol.wait; {after} }}");
        }
        text += "program p {\n    stream s0, s1;\n    event e;\n";
        let mut task = 0;
        for step in &self.steps {
            let _ = match step {
                Step::Launch { stream, overlaps } => {
                    let with = if *overlaps { " with programmatic_serialization" } else { "" };
                    task += 1;
                    writeln!(text, "    launch t{} on s{stream}{with};", task - 1)
                }
                Step::Event(from, to) => writeln!(text, "    record e on s{from};\n    wait e on s{to};"),
                Step::Synchronize(Some(stream)) => writeln!(text, "    synchronize s{stream};"),
                Step::Synchronize(None) => writeln!(text, "    synchronize;"),
                Step::Access(access) => writeln!(text, "    {access}"),
            };
        }
        text
    }

    /// For the twin; without the closing brace. `None` if it needs too many barriers.
    pub fn kernel(&self) -> Option<String> {
        let edges = self.edges();
        if edges.len() > EDGES_MAX {
            return None;
        }
        let barriers = |at: Point, arrive: bool| -> String {
            let mut text = String::new();
            for (id, edge) in (1..).zip(&edges) {
                if arrive && edge.from == at {
                    let _ = write!(text, " bar.arrive {id}, 64;");
                } else if !arrive && edge.to == at {
                    let _ = write!(text, " bar.sync {id}, 64;");
                }
            }
            text
        };
        let host = self.codes.len();
        let mut text = format!(
            "//! target sm_90 ptx 8.0\n{}kernel k {{\n    launch {{ warps: {} }}\n",
            self.memory(),
            host + 1
        );
        for (task, code) in self.codes.iter().enumerate() {
            let _ = writeln!(
                text,
                "    if warpid == {task} {{{} {}{} {}{} }}",
                barriers(Point::Start(task), false),
                code.before.join(" "),
                barriers(Point::Wait(task), false),
                code.after.join(" "),
                barriers(Point::End(task), true)
            );
        }
        let mut statements = String::new();
        for (at, step) in self.steps.iter().enumerate() {
            statements += &barriers(Point::Host(at), false);
            if let Step::Access(access) = step {
                let _ = write!(statements, " {access}");
            }
            statements += &barriers(Point::Host(at), true);
        }
        let _ = writeln!(text, "    if warpid == {host} {{{statements} }}");
        Some(text)
    }

    /// Whether some grid overlaps with another, and whether the host accesses memory.
    fn features(&self) -> (bool, bool) {
        let overlaps = self.edges().iter().any(|edge| matches!(edge.to, Point::Wait(_)));
        (overlaps, self.steps.iter().any(|step| matches!(step, Step::Access(_))))
    }

    /// Compares both.
    ///
    /// # Errors
    /// How they differ, with the texts.
    fn compare(&self, pair: &Pair, treatment: Treatment) -> Result<Comparison, String> {
        let Some(kernel) = self.kernel() else { return Ok(Comparison::TooLarge) };
        pair.compare_texts(&kernel, &self.program(), treatment)
            .map_err(|error| format!("{error}\n{kernel}}}"))
    }
}

/// The programs of the quick mode. How many accesses they have is said here.
const PLAN: Plan = Plan { n_programs: 400, first_seed: 0, salt: 9, n_memory_max: 6, progress: false };

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    let results = ["a race", "no race", "grids that overlap", "accesses by the host"];
    Suite { one_in: 10, ..Suite::new("oracle_programs", PLAN, &[], &results) }
}

/// Compares random programs: how many agree (`compared`), and what is in them and was found of them.
///
/// # Errors
/// The disagreements.
pub fn compare_random(pair: &Pair, plan: Plan) -> Result<Counts, Vec<String>> {
    let sketches = || any::<u64>().no_shrink().prop_map(|seed| Sketch::random(&mut numbers(seed)));
    random::run_over(plan, sketches, |sketch, _, counts| {
        match sketch.compare(pair, Treatment::DEFAULT)? {
            Comparison::Agreed { races, .. } => {
                let (overlaps, host) = sketch.features();
                counts.add("compared", true);
                counts.add("a race", races);
                counts.add("no race", !races);
                counts.add("grids that overlap", overlaps);
                counts.add("accesses by the host", host);
            }
            Comparison::TooLarge => counts.add("too large", true),
        }
        Ok(())
    })
}
