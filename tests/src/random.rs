//! How the random suites run: batches of programs, each from a seed of its own, on two threads.
//!
//! A batch's programs depend on its seed alone, hence what a suite counts is the same on every machine. The census says
//! what of the language the programs have in them, so that a generator that stops producing something is noticed.

use crate::generate::{Sketch, sketches};
use crate::reference::edition::Edition;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs of one seed.
pub const BATCH: u32 = 25;

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
    /// How many of the programs compared have what a suite looks for, a line each: what one in `one_in` must have, and
    /// what some must.
    ///
    /// # Panics
    /// If too few have something, or most programs of the plan were too large to compare.
    pub fn census<'a>(
        &self,
        plan: Plan,
        (one_in, common): (usize, impl IntoIterator<Item = &'a str>),
        some: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let compared = self.of("compared");
        let mut text = String::new();
        for name in common {
            let n = self.of(name);
            assert!(n * one_in >= compared, "{n} of {compared} programs have: {name}");
            let _ = writeln!(text, "  {n:>6} with {name}");
        }
        for name in some {
            let n = self.of(name);
            assert!(n > 0, "no program has: {name}");
            let _ = writeln!(text, "  {n:>6} {name}");
        }
        assert!(compared * 2 > plan.n_programs, "most programs must be small enough");
        text
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
}

impl Plan {
    /// The committed plan, or the one that `PREFIX_PROGRAMS` and `PREFIX_SEED` of the environment ask for.
    ///
    /// # Panics
    /// If a variable is no number.
    pub fn or_environment(self, prefix: &str) -> Self {
        let number = |name: &str| {
            let value = std::env::var(format!("{prefix}_{name}")).ok()?;
            Some(value.parse::<u64>().unwrap_or_else(|_| panic!("{prefix}_{name} is a number")))
        };
        let n_programs = number("PROGRAMS").map(|n| usize::try_from(n).expect("a 64-bit machine"));
        Self {
            n_programs: n_programs.unwrap_or(self.n_programs),
            first_seed: number("SEED").unwrap_or(self.first_seed),
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

/// What was counted where nothing was complained about.
///
/// # Panics
/// With the complaints.
pub fn agreed(result: Result<Counts, Vec<String>>) -> Counts {
    result.unwrap_or_else(|complaints| {
        panic!("complaints of {} batches\n{}", complaints.len(), complaints.join("\n\n"))
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
    let work = || {
        loop {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            if batch >= plan.n_batches() {
                return;
            }
            let (counts, result) = run_batch(plan, plan.first_seed + batch, strategy(), &of_program);
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
) -> (Counts, Result<(), String>) {
    let mut bytes = [plan.salt; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config =
        Config { cases: BATCH, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let counts = std::cell::RefCell::new(Counts::default());
    let result = runner.run(&(strategy, any::<u64>()), |(sketch, choice)| {
        of_program(&sketch, choice, &mut counts.borrow_mut()).map_err(TestCaseError::fail)
    });
    (counts.into_inner(), result.map_err(|error| format!("seed {seed}: {error}")))
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
