//! How the random suites run: batches of programs, each from a seed of its own, on two threads.
//!
//! A suite is a generator, a comparison and a [`Suite`]; plans, seeds, summaries and what is shown of a disagreement are
//! here. A batch's programs depend on its seed alone, hence what a suite counts is the same on every machine. The census
//! says what of the language the programs have in them, so that a generator that stops producing something is noticed.
//!
//! Of each suite `NAME_PROGRAMS=N` runs N programs, `NAME_SEED=S` others, and with `NAME_PROGRESS=1` lines on stderr say how
//! far it is, where `NAME` is `FENCEPOST_` and the suite's name in capitals.

use crate::generate::{Sketch, sketches};
use fencepost_reference::edition::Edition;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Programs of one seed.
pub const BATCH: u32 = 25;

/// A stream of numbers, the same everywhere (splitmix64).
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// One below a limit.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
    /// An index below a limit.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).expect("it is below a usize")
    }
    /// Whether it is the one of so many.
    pub fn is_one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    /// One of some things.
    ///
    /// # Panics
    /// If there are none.
    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }
}

/// What a suite counted over all programs, by name.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    /// Adds one if `is_so`.
    pub fn add(&mut self, name: &'static str, is_so: bool) {
        *self.0.entry(name).or_default() += usize::from(is_so);
    }
    /// How many; 0 for what was never added.
    pub fn of(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_default()
    }
    /// Adds one to each feature whose mark is in a text.
    pub fn add_features(&mut self, text: &str, features: &[(&'static str, &str)]) {
        for &(name, mark) in features {
            self.add(name, text.contains(mark));
        }
    }
    /// What became of the programs of a plan, in a line.
    pub fn summary(&self, plan: Plan) -> String {
        let aside = SET_ASIDE.iter().filter(|name| self.of(name) > 0);
        let aside: Vec<String> = aside.map(|name| format!("{} {name}", self.of(name))).collect();
        let aside = if aside.is_empty() { "none".to_owned() } else { aside.join(", ") };
        let seeds = plan.seeds();
        format!("{} programs compared, of seeds {seeds}; set aside: {aside}", self.of("compared"))
    }
    fn add_all(&mut self, other: &Self) {
        for (name, n) in &other.0 {
            *self.0.entry(name).or_default() += n;
        }
    }
}

/// Which programs a suite runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Programs, rounded up to whole batches.
    pub n_programs: usize,
    /// The seed of the first batch; the others follow.
    pub first_seed: u64,
    /// Tells the suites' streams apart.
    pub salt: u8,
    /// Memory instructions of a program at most.
    pub n_memory_max: usize,
    /// Whether lines on stderr say how far the suite is, and which program took longest.
    pub progress: bool,
}

impl Plan {
    /// The committed plan, or the one that the environment asks for.
    fn or_environment(self, suite: &str) -> Self {
        let prefix = format!("FENCEPOST_{}", suite.to_uppercase());
        let number = |name: &str| {
            let value = std::env::var(format!("{prefix}_{name}")).ok()?;
            Some(value.parse::<u64>().unwrap_or_else(|_| panic!("{prefix}_{name} is a number")))
        };
        let n_programs = number("PROGRAMS").map(|n| usize::try_from(n).expect("a 64-bit machine"));
        Self {
            n_programs: n_programs.unwrap_or(self.n_programs),
            first_seed: number("SEED").unwrap_or(self.first_seed),
            progress: std::env::var_os(format!("{prefix}_PROGRESS")).is_some(),
            ..self
        }
    }

    /// Seeds.
    pub fn n_batches(self) -> u64 {
        self.n_programs.div_ceil(BATCH as usize) as u64
    }

    /// `0 to 799`
    pub fn seeds(self) -> String {
        format!("{} to {}", self.first_seed, self.first_seed + self.n_batches().max(1) - 1)
    }
}

/// Runs `of_program` over all programs of a plan; it is given a number to choose variants by.
///
/// # Errors
/// What it complained about, one text for each batch that has a complaint, shrunk.
pub fn run(
    plan: Plan,
    of_program: impl Fn(&Sketch, u64, &mut Counts) -> Result<(), String> + Sync,
) -> Result<Counts, Vec<String>> {
    run_over(plan, || sketches(plan.n_memory_max), of_program)
}

/// What became of programs that were not compared, as suites count it.
const SET_ASIDE: &[&str] = &["too large", "over budget", "refused", "without meaning"];

/// What a suite of random programs is, besides a generator and a comparison.
#[derive(Clone, Debug)]
pub struct Suite {
    /// As `cargo test` calls it: `oracle_async`.
    pub name: &'static str,
    /// Its programs, unless the environment asks for others.
    pub plan: Plan,
    /// Of the programs compared, one in so many at least has each of the things in `common`.
    pub one_in: usize,
    /// What many programs have, as the comparison counts it.
    pub common: Vec<&'static str>,
    /// What some programs have.
    pub some: Vec<&'static str>,
    /// At most so many of 100 programs are not compared.
    pub set_aside_max: usize,
}

impl Suite {
    /// One of whose programs one in 100 has each of some features and results, and more than half of which are compared.
    pub fn new(
        name: &'static str,
        plan: Plan,
        features: &[(&'static str, &str)],
        results: &[&'static str],
    ) -> Self {
        let common = features.iter().map(|&(name, _)| name).chain(results.iter().copied()).collect();
        Self { name, plan, one_in: 100, common, some: Vec::new(), set_aside_max: 50 }
    }

    /// The same with a plan made from the committed one.
    pub fn with_plan(self, plan: impl FnOnce(Plan) -> Plan) -> Self {
        Self { plan: plan(self.plan), ..self }
    }

    /// Runs the comparison with the plan; says what came of it, under a title.
    ///
    /// # Panics
    /// If the two disagree, with the smallest program about which they do; if too many programs were set aside; or if too
    /// few have something.
    #[expect(clippy::print_stdout, reason = "a suite says how much it compared")]
    pub fn run(
        &self,
        title: &str,
        compare: impl FnOnce(Plan) -> Result<Counts, Vec<String>>,
    ) -> (Plan, Counts) {
        let plan = self.plan.or_environment(self.name);
        let counts = agreed(compare(plan));
        println!("{}{title}: {}", self.name, counts.summary(plan));
        print!("{}", self.census(&counts));
        let compared = counts.of("compared");
        let n_programs = plan.n_batches() as usize * BATCH as usize;
        let n_aside: usize = SET_ASIDE.iter().map(|name| counts.of(name)).sum();
        assert_eq!(compared + n_aside, n_programs, "every program is accounted for");
        assert!(
            n_aside * 100 <= self.set_aside_max * n_programs,
            "{}: only {compared} of {n_programs} programs were compared",
            self.name
        );
        (plan, counts)
    }

    /// Whether this is the plan that is committed.
    pub fn is_committed(&self, plan: Plan) -> bool {
        Plan { progress: self.plan.progress, ..plan } == self.plan
    }

    /// How many of the programs compared have what the suite looks for, a line each.
    fn census(&self, counts: &Counts) -> String {
        let compared = counts.of("compared");
        let mut text = String::new();
        for name in &self.common {
            let n = counts.of(name);
            assert!(n * self.one_in >= compared, "{n} of {compared} programs have: {name}");
            let _ = writeln!(text, "  {n:>6} with {name}");
        }
        for name in &self.some {
            let n = counts.of(name);
            assert!(n > 0, "no program has: {name}");
            let _ = writeln!(text, "  {n:>6} {name}");
        }
        text
    }
}

/// What was counted where nothing was complained about.
///
/// # Panics
/// With the shortest complaint, and how many there are.
pub fn agreed(result: Result<Counts, Vec<String>>) -> Counts {
    result.unwrap_or_else(|complaints| {
        let shortest = complaints.iter().min_by_key(|text| text.len()).cloned().unwrap_or_default();
        let seeds: Vec<&str> = complaints.iter().filter_map(|text| text.split(':').next()).collect();
        panic!("{} batches disagree ({}); the smallest:\n{shortest}", complaints.len(), seeds.join(", "))
    })
}

/// Runs `of_program` over as many of `strategy`'s programs as the plan says.
///
/// # Errors
/// As [`run`].
pub fn run_over<S: Strategy>(
    plan: Plan,
    strategy: impl Fn() -> S + Sync,
    of_program: impl Fn(&S::Value, u64, &mut Counts) -> Result<(), String> + Sync,
) -> Result<Counts, Vec<String>> {
    let next = AtomicU64::new(0);
    let totals = Mutex::new((Counts::default(), Vec::new()));
    let progress = plan.progress.then(Progress::default);
    let work = || {
        loop {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            if batch >= plan.n_batches() {
                return;
            }
            let (counts, result) =
                run_batch(plan, plan.first_seed + batch, strategy(), &of_program, progress.as_ref());
            let mut totals = totals.lock().expect("workers do not panic");
            totals.0.add_all(&counts);
            totals.1.extend(result.err());
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let (counts, mut complaints) = totals.into_inner().expect("workers do not panic");
    complaints.sort();
    if complaints.is_empty() { Ok(counts) } else { Err(complaints) }
}

fn run_batch<S: Strategy>(
    plan: Plan,
    seed: u64,
    strategy: S,
    of_program: &impl Fn(&S::Value, u64, &mut Counts) -> Result<(), String>,
    progress: Option<&Progress>,
) -> (Counts, Result<(), String>) {
    let mut bytes = [plan.salt; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config =
        Config { cases: BATCH, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let counts = std::cell::RefCell::new(Counts::default());
    let result = runner.run(&(strategy, any::<u64>()), |(sketch, choice)| {
        let start = Instant::now();
        let result = of_program(&sketch, choice, &mut counts.borrow_mut());
        if let Some(progress) = progress {
            progress.note(seed, start.elapsed());
        }
        result.map_err(TestCaseError::fail)
    });
    (counts.into_inner(), result.map_err(|error| format!("seed {seed}: {error}")))
}

/// Programs after which a line says how far a suite is.
const PROGRESS_EVERY: usize = 500;

/// How far a suite is, for whoever waits for it; nothing else depends on the clock.
struct Progress {
    start: Instant,
    state: Mutex<(usize, Duration, u64)>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { start: Instant::now(), state: Mutex::default() }
    }
}

impl Progress {
    #[expect(clippy::print_stderr, reason = "it was asked for")]
    fn note(&self, seed: u64, took: Duration) {
        let mut state = self.state.lock().expect("workers do not panic");
        state.0 += 1;
        if took > state.1 {
            (state.1, state.2) = (took, seed);
        }
        let (n_programs, slowest, of_seed) = *state;
        if n_programs.is_multiple_of(PROGRESS_EVERY) {
            let elapsed = self.start.elapsed().as_secs();
            eprintln!(
                "{n_programs} programs in {elapsed} s; the slowest took {} ms, of seed {of_seed}",
                slowest.as_millis()
            );
        }
    }
}

/// What programs are looked through for: a name, and the texts of which a program has one.
const FEATURES: &[(&str, &[&str])] = &[
    ("branch on a value read", &["        if r"]),
    ("early exit", &["exit;"]),
    ("CTA barrier", &["bar.sync"]),
    ("warp barrier", &["bar.warp.sync"]),
    ("await", &["await "]),
    ("atomic", &["= atom."]),
    ("compare-and-swap", &[".cas."]),
    ("atomic with dropped result", &["let _ = atom."]),
    ("acquire with dropped result", &["let _ = atom.acq"]),
    ("reduction", &["red."]),
    ("fence.sc or membar", &["fence.sc", "membar"]),
    ("other fence", &["fence.acq_rel", "fence.acquire", "fence.release"]),
    ("virtual alias", &["[other_x]"]),
    ("alias fence", &["fence.proxy.alias"]),
    ("texture or surface", &["tex.1d", "suld.", "sust.", "sured."]),
    ("fence of such a proxy", &["fence.proxy.surface", "fence.proxy.texture"]),
    ("mixed sizes", &["[low]", "[high]"]),
    ("shared memory", &["    shared "]),
    ("several CTAs", &["launch { ctas", "launch { gpus"]),
    (
        "several clusters",
        &["launch { ctas: 2 }", "launch { ctas: 3 }", "launch { ctas: 4 }", "launch { ctas: 4, cluster: 2 }"],
    ),
    ("several GPUs", &["launch { gpus"]),
    ("one CTA", &["launch { lanes", "launch { warps"]),
    ("scope cta", &[".cta"]),
    ("scope cluster", &[".cluster"]),
    ("scope gpu", &[".gpu"]),
    ("scope sys", &[".sys"]),
];

/// The names of what is looked for.
pub fn features() -> impl Iterator<Item = &'static str> {
    FEATURES.iter().map(|&(name, _)| name)
}

/// Counts what a program's text has in it.
pub fn take_census(text: &str, counts: &mut Counts) {
    for &(name, marks) in FEATURES {
        counts.add(name, marks.iter().any(|mark| text.contains(mark)));
    }
}

/// The twin's edition of a model that comes with Fencepost.
///
/// # Panics
/// If there is none of that name.
pub fn edition(model: &str) -> Edition {
    Edition::ALL.into_iter().find(|edition| edition.name == model).expect("the twin knows the shipped models")
}
