//! Small random kernels around mbarriers and cluster barriers, as text: most hand data on, some hang, some break a rule.
//!
//! Whether an object's count is met is left to a rule ("all arrivals of the program", "half of them", a number), so that
//! complete phases are as frequent as hanging ones. Every value read is stored to a result word at the end of its block.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::fmt::Write;

/// A kernel to be.
#[derive(Clone, Debug)]
pub struct SyncSketch {
    /// Where the threads are.
    pub shape: Shape,
    /// How the others learn of the initialisation.
    pub publication: Publication,
    /// Whether the objects are in CTA 1, where there is one.
    pub is_remote: [bool; 2],
    /// How many arrivals each object expects.
    pub counts: [Count; 2],
    /// What becomes of the first object in the end, after a barrier.
    pub ending: Ending,
    /// What the threads do.
    pub threads: Vec<Vec<SyncStep>>,
}

/// Where the threads are, each alone in its warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All in one CTA.
    Cta,
    /// Thread 0 in CTA 0 and thread 1 in CTA 1 of a cluster.
    Cluster,
    /// Two in each CTA of a cluster.
    ClusterPairs,
}

/// What follows the initialisation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Publication {
    /// `bar.sync`: enough within a CTA.
    Bar,
    /// A cluster barrier.
    ClusterBarrier,
    /// A cluster barrier whose arrival is relaxed.
    Relaxed,
    /// The same after a fence.
    RelaxedAfterFence,
    /// Nothing.
    Nothing,
}

/// What becomes of an object in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Nothing.
    Stays,
    /// It is invalidated.
    Ends,
    /// And, within a CTA, initialised again, for all threads to meet at it.
    BeginsAgain,
    /// That without having been invalidated.
    BeginsTwice,
}

/// How many arrivals an object expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// As many as there are in the program.
    All,
    /// Half of them.
    Half,
    /// So many.
    Number(u8),
}

/// How a thread arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Once.
    Plain,
    /// Twice at a time.
    Twice,
    /// Announcing 16 bytes.
    Expects,
    /// For the last time.
    Drops,
    /// And waits for the phase by its state, in an `await`.
    Waits,
    /// And waits by its state further on, after another such arrival.
    WaitsLate,
    /// Without completing the phase, and stores the pending count that it found.
    NoComplete,
}

/// A step of a thread.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum SyncStep {
    Load {
        place: usize,
        sem: usize,
        scope: usize,
    },
    Store {
        place: usize,
        sem: usize,
        scope: usize,
        value: u8,
    },
    Fence {
        sem: usize,
        scope: usize,
    },
    Arrive {
        object: usize,
        kind: Arrival,
        is_relaxed: bool,
        is_wide: bool,
    },
    Complete {
        object: usize,
    },
    /// Announces 16 bytes, and nothing else.
    Announce {
        object: usize,
    },
    /// Waits for the thread's next phase of the object, or (`flips`) the one before.
    Await {
        object: usize,
        flips: bool,
        is_relaxed: bool,
        is_wide: bool,
    },
    /// Asks once, and stores the answer.
    Test {
        object: usize,
        parity: u8,
        is_wide: bool,
    },
    ClusterArrive {
        is_relaxed: bool,
    },
    ClusterWait,
    Bar,
    AwaitMemory {
        place: usize,
        sem: usize,
        scope: usize,
        value: u8,
    },
}

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
const FENCES: [&str; 4] = ["acq_rel", "sc", "acquire", "release"];

impl SyncSketch {
    /// The kernel's text without the closing brace, so that a `final` block can follow.
    pub fn text(&self) -> String {
        let mut printer = Printer { sketch: self, body: String::new(), results: Vec::new(), n_registers: 0 };
        let uses = |object| self.threads.iter().flatten().any(|step| step.object() == Some(object));
        for object in (0..2).filter(|&object| uses(object)) {
            let condition = self.condition(2 * usize::from(self.home(object)));
            let count = self.count(object);
            let _ = writeln!(
                printer.body,
                "    if {condition} {{\n        mbarrier.init.shared::cta.b64 [m{object}], {count};\n    }}"
            );
        }
        printer.body.push_str(match self.publication {
            Publication::Bar => "    bar.sync 0;\n",
            Publication::ClusterBarrier => "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n",
            Publication::Relaxed => "    barrier.cluster.arrive.relaxed;\n    barrier.cluster.wait;\n",
            Publication::RelaxedAfterFence => {
                "    fence.acq_rel.cluster;\n    barrier.cluster.arrive.relaxed;\n    barrier.cluster.wait;\n"
            }
            Publication::Nothing => "",
        });
        for (thread, steps) in self.threads.iter().enumerate() {
            let _ = writeln!(printer.body, "    if {} {{", self.condition(self.seat(thread)));
            printer.steps(thread, steps);
            printer.body.push_str("    }\n");
        }
        if self.ending != Ending::Stays && uses(0) {
            let condition = self.condition(2 * usize::from(self.home(0)));
            let _ = writeln!(printer.body, "    bar.sync 1;\n    if {condition} {{");
            if self.ending != Ending::BeginsTwice {
                printer.body.push_str("        mbarrier.inval.shared::cta.b64 [m0];\n");
            }
            let again = self.shape == Shape::Cta && self.ending != Ending::Ends;
            let count = self.threads.len();
            if again {
                let _ = writeln!(printer.body, "        mbarrier.init.shared::cta.b64 [m0], {count};");
            }
            printer.body.push_str("    }\n");
            if again {
                printer.body.push_str(
                    "    bar.sync 3;\n    mbarrier.arrive.release.cta.shared::cta.b64 _, [m0];\n    \
                     await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m0], 0;\n",
                );
            }
        }
        let launch = match self.shape {
            Shape::Cta => format!("warps: {}", self.threads.len()),
            Shape::Cluster => "ctas: 2, cluster: 2".into(),
            Shape::ClusterPairs => "ctas: 2, cluster: 2, warps: 2".into(),
        };
        let mut text = format!("kernel k {{\n    launch {{ {launch} }}\n    global x: u32 = 0;\n");
        for (name, declaration) in
            [("[y]", "    global y: u32 = 0;\n"), ("[z]", "    shared z: u32 = 0;\n"), ("(z, ", "")]
        {
            if printer.body.contains(name) {
                text.push_str(declaration);
            }
        }
        if printer.body.contains("(z, ") && !printer.body.contains("[z]") {
            text.push_str("    shared z: u32 = 0;\n");
        }
        for object in (0..2).filter(|&object| uses(object)) {
            let _ = writeln!(text, "    shared m{object}: mbarrier;");
        }
        for result in &printer.results {
            let _ = writeln!(text, "    global {result}: u32 = 0;");
        }
        text + &printer.body
    }

    /// CTA and warp as a number: twice the one plus the other, in clusters.
    fn seat(&self, thread: usize) -> usize {
        match self.shape {
            Shape::Cta | Shape::ClusterPairs => thread,
            Shape::Cluster => 2 * thread,
        }
    }

    fn rank(&self, thread: usize) -> u8 {
        u8::from(self.shape != Shape::Cta && self.seat(thread) >= 2)
    }

    fn condition(&self, seat: usize) -> String {
        match self.shape {
            Shape::Cta => format!("tid == {seat}"),
            Shape::Cluster => format!("ctaid == {}", seat / 2),
            Shape::ClusterPairs => format!("ctaid == {} && tid == {}", seat / 2, seat % 2),
        }
    }

    /// The CTA of an object.
    fn home(&self, object: usize) -> u8 {
        u8::from(self.shape != Shape::Cta && self.is_remote[object])
    }

    fn count(&self, object: usize) -> usize {
        let arrivals = self.threads.iter().flatten().map(|step| match step {
            SyncStep::Arrive { object: own, kind: Arrival::Twice | Arrival::WaitsLate, .. }
                if *own == object =>
            {
                2
            }
            SyncStep::Arrive { object: own, .. } if *own == object => 1,
            _ => 0,
        });
        let n: usize = arrivals.sum();
        let drops = |step: &&SyncStep| matches!(step, SyncStep::Arrive { object: own, kind: Arrival::Drops, .. } if *own == object);
        let n_drops = self.threads.iter().flatten().filter(drops).count();
        let count = match self.counts[object] {
            Count::All => n,
            Count::Half => n.div_ceil(2),
            Count::Number(number) => number.into(),
        };
        // With drops, down to nobody now and then (UB-M8).
        match (n_drops, self.counts[object]) {
            (0, _) => count.max(1),
            (_, Count::Half) => n_drops,
            _ => n + 1,
        }
    }
}

impl SyncStep {
    fn object(&self) -> Option<usize> {
        match self {
            Self::Arrive { object, .. }
            | Self::Complete { object }
            | Self::Announce { object }
            | Self::Await { object, .. }
            | Self::Test { object, .. } => Some(*object),
            _ => None,
        }
    }
    fn is_memory(&self) -> bool {
        matches!(self, Self::Load { .. } | Self::Store { .. } | Self::AwaitMemory { .. })
    }
}

struct Printer<'a> {
    sketch: &'a SyncSketch,
    body: String,
    results: Vec<String>,
    n_registers: usize,
}

impl Printer<'_> {
    /// Prints a thread's steps, then a store of each value it read.
    fn steps(&mut self, thread: usize, steps: &[SyncStep]) {
        let mut reads = Vec::new();
        let mut n_waits = [0u8; 2];
        for step in steps {
            if let Some(line) = self.step(thread, step, &mut reads, &mut n_waits) {
                let _ = writeln!(self.body, "        {line}");
            }
        }
        for (register, convert) in reads {
            let result = format!("out_{register}");
            let _ = writeln!(self.body, "        st.weak [{result}], {register}{convert};");
            self.results.push(result);
        }
    }

    fn register(&mut self) -> String {
        self.n_registers += 1;
        format!("r{}", self.n_registers - 1)
    }

    fn step(
        &mut self,
        thread: usize,
        step: &SyncStep,
        reads: &mut Vec<(String, &'static str)>,
        n_waits: &mut [u8; 2],
    ) -> Option<String> {
        let rank = self.sketch.rank(thread);
        let is_own = |object: usize| self.sketch.home(object) == rank;
        Some(match step {
            SyncStep::Load { place, sem, scope } => {
                let register = self.register();
                reads.push((register.clone(), ""));
                format!("let {register} = ld{} {};", strength(*sem, *scope, "acquire"), self.place(*place))
            }
            SyncStep::Store { place, sem, scope, value } => {
                format!("st{} {}, {value};", strength(*sem, *scope, "release"), self.place(*place))
            }
            SyncStep::Fence { sem, scope } => format!("fence.{}.{};", FENCES[*sem], SCOPES[*scope]),
            SyncStep::Arrive { object, kind, is_relaxed, is_wide } => {
                let sem = if *is_relaxed { "relaxed" } else { "release" };
                let scope = if *is_wide { "cluster" } else { "cta" };
                let (space, address) = self.object(rank, *object);
                let (opcode, operand) = match kind {
                    Arrival::Plain => ("arrive", ""),
                    Arrival::Twice => ("arrive", ", 2"),
                    Arrival::Expects => ("arrive.expect_tx", ", 16"),
                    Arrival::Drops => ("arrive_drop", ""),
                    Arrival::Waits if is_own(*object) => {
                        let register = self.register();
                        return Some(format!(
                            "let {register} = mbarrier.arrive.{sem}.{scope}.{space}.b64 [m{object}];\n        \
                             await mbarrier.test_wait.acquire.{scope}.shared::cta.b64 [m{object}], {register};"
                        ));
                    }
                    Arrival::WaitsLate if is_own(*object) => {
                        let (early, late) = (self.register(), self.register());
                        return Some(format!(
                            "let {early} = mbarrier.arrive.{sem}.{scope}.{space}.b64 [m{object}];\n        \
                             let {late} = mbarrier.arrive.{sem}.{scope}.{space}.b64 [m{object}];\n        \
                             await mbarrier.test_wait.acquire.{scope}.shared::cta.b64 [m{object}], {early};"
                        ));
                    }
                    Arrival::NoComplete if is_own(*object) => {
                        let (state, pending) = (self.register(), self.register());
                        reads.push((pending.clone(), ""));
                        return Some(format!(
                            "let {state} = mbarrier.arrive.noComplete.release.cta.shared::cta.b64 [m{object}], 1;\n        \
                             let {pending} = mbarrier.pending_count.b64 {state};"
                        ));
                    }
                    Arrival::Waits | Arrival::WaitsLate | Arrival::NoComplete => ("arrive", ""),
                };
                format!("mbarrier.{opcode}.{sem}.{scope}.{space}.b64 _, {address}{operand};")
            }
            SyncStep::Complete { object } => {
                let (space, address) = self.object(rank, *object);
                format!("mbarrier.complete_tx.relaxed.cluster.{space}.b64 {address}, 16;")
            }
            SyncStep::Announce { object } => {
                let (space, address) = self.object(rank, *object);
                format!("mbarrier.expect_tx.relaxed.cluster.{space}.b64 {address}, 16;")
            }
            SyncStep::Await { object, flips, is_relaxed, is_wide } => {
                if !is_own(*object) {
                    return None;
                }
                let parity = (n_waits[*object] + u8::from(*flips)) % 2;
                n_waits[*object] += u8::from(!flips);
                let sem = if *is_relaxed { "relaxed" } else { "acquire" };
                let scope = if *is_wide { "cluster" } else { "cta" };
                format!("await mbarrier.try_wait.parity.{sem}.{scope}.shared::cta.b64 [m{object}], {parity};")
            }
            SyncStep::Test { object, parity, is_wide } => {
                if !is_own(*object) {
                    return None;
                }
                let register = self.register();
                reads.push((register.clone(), " as u32"));
                let scope = if *is_wide { "cluster" } else { "cta" };
                format!(
                    "let {register} = mbarrier.test_wait.parity.acquire.{scope}.shared::cta.b64 [m{object}], {parity};"
                )
            }
            SyncStep::ClusterArrive { is_relaxed: true } => "barrier.cluster.arrive.relaxed;".into(),
            SyncStep::ClusterArrive { is_relaxed: false } => "barrier.cluster.arrive;".into(),
            SyncStep::ClusterWait => "barrier.cluster.wait;".into(),
            SyncStep::Bar => "bar.sync 2;".into(),
            SyncStep::AwaitMemory { place, sem, scope, value } => {
                format!("await (ld{} {}) == {value};", strength(*sem, *scope, "acquire"), self.place(*place))
            }
        })
    }

    fn place(&self, place: usize) -> &'static str {
        match (place, self.sketch.shape) {
            (0 | 1, _) => "[x]",
            (2, _) => "[y]",
            (3, _) | (_, Shape::Cta) => "[z]",
            (_, Shape::Cluster | Shape::ClusterPairs) => "[mapa(z, 1)]",
        }
    }

    fn object(&self, rank: u8, object: usize) -> (&'static str, String) {
        let home = self.sketch.home(object);
        if home == rank {
            ("shared::cta", format!("[m{object}]"))
        } else {
            ("shared::cluster", format!("[mapa(m{object}, {home})]"))
        }
    }
}

fn strength(sem: usize, scope: usize, ordered: &str) -> String {
    match sem {
        0..=2 => ".weak".into(),
        3 => format!(".relaxed.{}", SCOPES[scope]),
        _ => format!(".{ordered}.{}", SCOPES[scope]),
    }
}

/// One to three steps that belong together.
fn phrase() -> BoxedStrategy<Vec<SyncStep>> {
    let scope = || prop_oneof![1 => Just(0usize), 3 => Just(1), 2 => Just(2), 1 => Just(3)];
    let place = || 0usize..5;
    let sem = || 0usize..5;
    let object = || prop_oneof![3 => Just(0usize), 1 => Just(1)];
    let seldom = || prop_oneof![3 => Just(false), 1 => Just(true)];
    let often = || prop_oneof![1 => Just(false), 3 => Just(true)];
    let load =
        || (place(), sem(), scope()).prop_map(|(place, sem, scope)| SyncStep::Load { place, sem, scope });
    let store = || {
        (place(), sem(), scope(), 1u8..3).prop_map(|(place, sem, scope, value)| SyncStep::Store {
            place,
            sem,
            scope,
            value,
        })
    };
    let fence = || (0usize..4, scope()).prop_map(|(sem, scope)| SyncStep::Fence { sem, scope });
    let kind = prop_oneof![
        8 => Just(Arrival::Plain), 1 => Just(Arrival::Twice), 2 => Just(Arrival::Expects),
        1 => Just(Arrival::Drops), 2 => Just(Arrival::Waits), 1 => Just(Arrival::WaitsLate),
        1 => Just(Arrival::NoComplete),
    ];
    let arrive = (object(), kind, seldom(), often()).prop_map(|(object, kind, is_relaxed, is_wide)| {
        SyncStep::Arrive { object, kind, is_relaxed, is_wide }
    });
    let flips = prop_oneof![6 => Just(false), 1 => Just(true)];
    let wait = (object(), flips, seldom(), often()).prop_map(|(object, flips, is_relaxed, is_wide)| {
        SyncStep::Await { object, flips, is_relaxed, is_wide }
    });
    let test = (object(), 0u8..2, often()).prop_map(|(object, parity, is_wide)| SyncStep::Test {
        object,
        parity,
        is_wide,
    });
    let cluster_arrive = || seldom().prop_map(|is_relaxed| SyncStep::ClusterArrive { is_relaxed });
    prop_oneof![
        5 => (store(), arrive.clone()).prop_map(|(a, b)| vec![a, b]),
        3 => (store(), fence(), arrive.clone()).prop_map(|(a, b, mut c)| {
            if let SyncStep::Arrive { is_relaxed, .. } = &mut c {
                *is_relaxed = true;
            }
            vec![a, b, c]
        }),
        2 => arrive.prop_map(|step| vec![step]),
        6 => (wait.clone(), load()).prop_map(|(a, b)| vec![a, b]),
        2 => (wait.clone(), fence(), load()).prop_map(|(mut a, b, c)| {
            if let SyncStep::Await { is_relaxed, .. } = &mut a {
                *is_relaxed = true;
            }
            vec![a, b, c]
        }),
        2 => (wait, store()).prop_map(|(a, b)| vec![a, b]),
        1 => (test, load()).prop_map(|(a, b)| vec![a, b]),
        2 => cluster_arrive().prop_map(|a| vec![a, SyncStep::ClusterWait]),
        2 => (store(), cluster_arrive()).prop_map(|(a, b)| vec![a, b, SyncStep::ClusterWait]),
        1 => (cluster_arrive(), store()).prop_map(|(a, b)| vec![a, b, SyncStep::ClusterWait]),
        1 => (fence(), load())
            .prop_map(|(a, b)| vec![a, SyncStep::ClusterArrive { is_relaxed: true }, SyncStep::ClusterWait, b]),
        1 => cluster_arrive().prop_map(|a| vec![a]),
        1 => Just(vec![SyncStep::ClusterWait]),
        1 => load().prop_map(|step| vec![step]),
        1 => Just(vec![SyncStep::Bar]),
        1 => (object(), any::<bool>()).prop_map(|(object, first)| {
            let (announce, complete) = (SyncStep::Announce { object }, SyncStep::Complete { object });
            if first { vec![announce, complete] } else { vec![complete, announce] }
        }),
        1 => (object(), any::<bool>()).prop_map(|(object, announces)| {
            vec![if announces { SyncStep::Announce { object } } else { SyncStep::Complete { object } }]
        }),
        1 => (place(), sem(), scope(), 1u8..3)
            .prop_map(|(place, sem, scope, value)| vec![SyncStep::AwaitMemory { place, sem, scope, value }]),
    ]
    .boxed()
}

/// Kernels of 2 to 4 threads, of at most `n_memory_max` memory instructions.
pub fn sync_sketches(n_memory_max: usize) -> impl Strategy<Value = SyncSketch> {
    let threads = |n: usize, longest: usize| vec(vec(phrase(), 1..=longest), n);
    let shaped = prop_oneof![
        4 => (Just(Shape::Cta), threads(2, 3)),
        2 => (Just(Shape::Cta), threads(3, 2)),
        4 => (Just(Shape::Cluster), threads(2, 3)),
        1 => (Just(Shape::ClusterPairs), threads(4, 1)),
    ];
    let publication = prop_oneof![
        6 => Just(Publication::ClusterBarrier),
        4 => Just(Publication::Bar),
        1 => Just(Publication::Relaxed),
        1 => Just(Publication::RelaxedAfterFence),
        1 => Just(Publication::Nothing),
    ];
    let count =
        || prop_oneof![4 => Just(Count::All), 2 => Just(Count::Half), 2 => (1u8..4).prop_map(Count::Number)];
    let ending = prop_oneof![
        16 => Just(Ending::Stays), 2 => Just(Ending::Ends), 2 => Just(Ending::BeginsAgain),
        1 => Just(Ending::BeginsTwice),
    ];
    let rest = (any::<[bool; 2]>(), [count(), count()], ending, any::<u64>());
    (shaped, publication, rest).prop_filter_map(
        "small programs only",
        move |((shape, threads), publication, (is_remote, counts, ending, dice))| {
            let mut threads: Vec<Vec<SyncStep>> =
                threads.into_iter().map(|phrases| phrases.concat()).collect();
            let n_memory = threads.iter().flatten().filter(|step| step.is_memory()).count();
            pair_up(&mut threads, dice);
            // Within a CTA, its own barrier is the usual one.
            let publication = match (shape, publication) {
                (Shape::Cta, Publication::ClusterBarrier) if dice % 3 != 0 => Publication::Bar,
                (_, publication) => publication,
            };
            let sketch = SyncSketch { shape, publication, is_remote, counts, ending, threads };
            (n_memory <= n_memory_max).then_some(sketch)
        },
    )
}

/// Gives most announcements of bytes with an arrival a completion later in the same thread.
fn pair_up(threads: &mut [Vec<SyncStep>], mut dice: u64) {
    for steps in threads {
        let mut at = 0;
        while at < steps.len() {
            if let SyncStep::Arrive { object, kind: Arrival::Expects, .. } = steps[at] {
                dice = dice.rotate_right(7) ^ 0x9e37_79b9_7f4a_7c15;
                let places = (steps.len() - at) as u64;
                let place = at + 1 + usize::try_from(dice % places).expect("below a length");
                if dice >> 32 & 7 != 0 {
                    steps.insert(place, SyncStep::Complete { object });
                }
            }
            at += 1;
        }
    }
}
