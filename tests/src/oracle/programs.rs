//! Programs against the twin, which knows neither hosts nor grids: what launches, events and waits order is written for it
//! as a kernel of one CTA, with a warp per grid and a named barrier per edge of the order.
//!
//! Each random program exists twice. For the checker: kernels of one thread, launched in streams, some with programmatic
//! serialization. For the twin: warp `i` runs what grid `i` does; "grid `a` has ended before `b` starts (or gets past its
//! `griddepcontrol.wait`)" is `bar.arrive` at the end of `a` and `bar.sync` in `b`. Both must have the same races and the
//! same final states. Which edges there are is worked out here from the rules of streams (MM-38, AS-40), by other means
//! than in the front end.
//!
//! Events are recorded and waited for in any order, and some calls stand in branches: on the variable of a loop, which says
//! nothing new, or on a parameter. Then the twin has a kernel for each value of it, and the program does what any of them
//! does.
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
enum Call {
    Launch {
        stream: usize,
        overlaps: bool,
    },
    /// The event, and the stream.
    Record(usize, usize),
    Wait(usize, usize),
    Synchronize(Option<usize>),
    SynchronizeEvent(usize),
    Access(String),
}

/// A call, and the branch that it stands in.
#[derive(Clone, Debug)]
struct Step {
    call: Call,
    /// The value of the parameter with which it is made; with both if none.
    when: Option<usize>,
    /// Which branch that is always taken is around it: 0 for none.
    dress: usize,
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
                sketch.push(numbers, Call::Access(access));
            }
            for _ in 0..2 {
                let (event, stream) = (numbers.index(2), numbers.index(2));
                match numbers.index(5) {
                    0 => sketch.push(numbers, Call::Record(event, stream)),
                    1 => sketch.push(numbers, Call::Wait(event, stream)),
                    _ => {}
                }
            }
            if numbers.is_one_in(4) {
                let from = numbers.index(2);
                sketch.push(numbers, Call::Record(0, from));
                sketch.push(numbers, Call::Wait(0, 1 - from));
            }
            if numbers.is_one_in(8) {
                let stream = numbers.index(4);
                let call = if stream == 3 {
                    Call::SynchronizeEvent(numbers.index(2))
                } else {
                    Call::Synchronize((stream < 2).then_some(stream))
                };
                sketch.push(numbers, call);
            }
            let call = Call::Launch { stream: numbers.index(2), overlaps: numbers.is_one_in(2) };
            sketch.push(numbers, call);
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
            sketch.push(numbers, Call::Synchronize((stream < 2).then_some(stream)));
            let access = sketch.access(numbers, &mut n_accesses);
            sketch.push(numbers, Call::Access(access));
        }
        sketch
    }

    fn push(&mut self, numbers: &mut Numbers, call: Call) {
        let when = numbers.is_one_in(8).then(|| numbers.index(2));
        let dress = if numbers.is_one_in(5) { 1 + numbers.index(3) } else { 0 };
        self.steps.push(Step { call, when, dress });
    }

    fn has_parameter(&self) -> bool {
        self.steps.iter().any(|step| step.when.is_some())
    }

    /// The calls that are made with a value of the parameter, by their place; a launch with the number of its kernel.
    fn calls(&self, parameter: usize) -> Vec<(usize, usize, &Call)> {
        let mut n_launches = 0;
        let mut calls = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            if step.when.is_none_or(|when| when == parameter) {
                calls.push((at, n_launches, &step.call));
            }
            n_launches += usize::from(matches!(step.call, Call::Launch { .. }));
        }
        calls
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
    fn edges(&self, parameter: usize) -> Vec<Edge> {
        let mut edges: Vec<Edge> = Vec::new();
        // Per stream: the tasks in it so far and those of events waited for; and the task that may be overlapped with.
        let mut behind: [Vec<usize>; 2] = [Vec::new(), Vec::new()];
        let mut last: [Option<usize>; 2] = [None, None];
        let mut recorded: [Option<Vec<usize>>; 2] = [None, None];
        let mut launched: Vec<usize> = Vec::new();
        let mut follows: Vec<Vec<usize>> = vec![Vec::new(); self.codes.len()];
        for (at, task, call) in self.calls(parameter) {
            let mut done = Vec::new();
            match *call {
                Call::Access(_) => {}
                Call::Record(event, stream) => recorded[event] = Some(behind[stream].clone()),
                Call::Wait(event, stream) => {
                    if let Some(tasks) = &recorded[event] {
                        behind[stream].extend(tasks);
                        last[stream] = None;
                    }
                }
                Call::Synchronize(Some(stream)) => done.clone_from(&behind[stream]),
                Call::Synchronize(None) => done.clone_from(&launched),
                Call::SynchronizeEvent(event) => done = recorded[event].clone().unwrap_or_default(),
                Call::Launch { stream, overlaps } => {
                    edges.push(Edge { from: Point::Host(at), to: Point::Start(task) });
                    let after = match last[stream].filter(|_| overlaps) {
                        Some(before) => {
                            edges.push(Edge { from: Point::End(before), to: Point::Wait(task) });
                            follows[before].clone()
                        }
                        None => behind[stream].clone(),
                    };
                    edges.extend(after.iter().map(|&a| Edge { from: Point::End(a), to: Point::Start(task) }));
                    follows[task] = after;
                    launched.push(task);
                    behind[stream].push(task);
                    last[stream] = Some(task);
                }
            }
            edges.extend(done.iter().map(|&task| Edge { from: Point::End(task), to: Point::Host(at) }));
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
        let parameter = if self.has_parameter() { "(P in 0..=1)" } else { "" };
        let _ = writeln!(text, "program p{parameter} {{\n    stream s0, s1;\n    event e0, e1;");
        let mut task = 0;
        for (at, Step { call, when, dress }) in self.steps.iter().enumerate() {
            let call = match call {
                Call::Launch { stream, overlaps } => {
                    let with = if *overlaps { " with programmatic_serialization" } else { "" };
                    task += 1;
                    format!("launch t{} on s{stream}{with};", task - 1)
                }
                Call::Record(event, stream) => format!("record e{event} on s{stream};"),
                Call::Wait(event, stream) => format!("wait e{event} on s{stream};"),
                Call::Synchronize(Some(stream)) => format!("synchronize s{stream};"),
                Call::Synchronize(None) => "synchronize;".to_owned(),
                Call::SynchronizeEvent(event) => format!("synchronize e{event};"),
                Call::Access(access) => access.clone(),
            };
            let call = match dress {
                0 => call,
                1 => format!("for i in 0..2 {{ if i == 1 {{ {call} }} }}"),
                2 => format!("for i in 1..3 {{ if i > 1 {{ {call} }} else if i == 0 {{ synchronize; }} }}"),
                _ => format!("for i in 0..1 {{ if i != 0 {{ synchronize; }} else {{ {call} }} }}"),
            };
            let _ = match when {
                None => writeln!(text, "    {call}"),
                Some(1) => writeln!(text, "    if P == 1 {{ {call} }}"),
                Some(_) => writeln!(text, "    let q{at} = P + 1; if q{at} > 1 {{ }} else {{ {call} }}"),
            };
        }
        text
    }

    /// For the twin, with a value of the parameter; without the closing brace. `None` if it needs too many barriers.
    pub fn kernel(&self, parameter: usize) -> Option<String> {
        let edges = self.edges(parameter);
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
        let calls = self.calls(parameter);
        let launched = calls.iter().filter(|(.., call)| matches!(call, Call::Launch { .. }));
        for (task, code) in launched.map(|&(_, task, _)| (task, &self.codes[task])) {
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
        for &(at, _, call) in &calls {
            statements += &barriers(Point::Host(at), false);
            if let Call::Access(access) = call {
                let _ = write!(statements, " {access}");
            }
            statements += &barriers(Point::Host(at), true);
        }
        let _ = writeln!(text, "    if warpid == {host} {{{statements} }}");
        Some(text)
    }

    /// What the program has in it, by name.
    fn features(&self) -> [(&'static str, bool); 6] {
        let overlaps = |parameter| self.edges(parameter).iter().any(|edge| matches!(edge.to, Point::Wait(_)));
        let any = |is_it: fn(&Step) -> bool| self.steps.iter().any(is_it);
        let (mut early, mut twice) = (false, false);
        for parameter in 0..2 {
            let mut recorded = [0, 0];
            for (_, _, call) in self.calls(parameter) {
                match *call {
                    Call::Record(event, _) => {
                        recorded[event] += 1;
                        twice |= recorded[event] > 1;
                    }
                    Call::Wait(event, _) => early |= recorded[event] == 0,
                    _ => {}
                }
            }
        }
        [
            ("grids that overlap", overlaps(0) || overlaps(1)),
            ("accesses by the host", any(|step| matches!(step.call, Call::Access(_)))),
            ("a wait before any record", early),
            ("an event that is recorded twice", twice),
            ("a branch on a loop's variable", any(|step| step.dress > 0)),
            ("a branch on a parameter", self.has_parameter()),
        ]
    }

    /// Compares both.
    ///
    /// # Errors
    /// How they differ, with the texts.
    fn compare(&self, pair: &Pair, treatment: Treatment) -> Result<Comparison, String> {
        let parameters = if self.has_parameter() { 0..2 } else { 0..1 };
        let kernels: Option<Vec<String>> = parameters.map(|parameter| self.kernel(parameter)).collect();
        let Some(kernels) = kernels else { return Ok(Comparison::TooLarge) };
        pair.compare_with_all(&kernels, &self.program(), treatment)
            .map_err(|error| format!("{error}\n{}}}", kernels.join("}\n")))
    }
}

/// The programs of the quick mode. How many accesses they have is said here.
const PLAN: Plan = Plan { n_programs: 400, first_seed: 0, salt: 9, n_memory_max: 6, progress: false };

/// Which programs are compared, and what they must show.
pub fn suite() -> Suite {
    let results = [
        "a race",
        "no race",
        "grids that overlap",
        "accesses by the host",
        "a wait before any record",
        "an event that is recorded twice",
        "a branch on a loop's variable",
        "a branch on a parameter",
    ];
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
                counts.add("compared", true);
                counts.add("a race", races);
                counts.add("no race", !races);
                for (name, has) in sketch.features() {
                    counts.add(name, has);
                }
            }
            Comparison::TooLarge => counts.add("too large", true),
        }
        Ok(())
    })
}
