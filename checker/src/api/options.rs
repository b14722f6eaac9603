//! How a file is to be checked.

use crate::check::{BUDGET, Config, FINDINGS_MAX, Limits, UNROLL, UNROLL_MAX, properties_of};
use crate::encode::Treatment;
use crate::findings::Property;
use crate::listener::{Halt, Listener};
use crate::project::Project;
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Kernel;
use std::fmt;
use std::sync::Arc;

/// How a file is to be checked. Setters have the names of the command line's options, and what is not set is as there.
///
/// ```
/// use fencepost::{Options, Property};
///
/// let options = Options::default().define("STAGES", 3).model("ptx-7.5").property(Property::Race).unroll_max(16);
/// # let _ = options;
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use]
pub struct Options {
    pub(super) model: Option<String>,
    pub(super) variants: Vec<String>,
    defines: Vec<(String, u64)>,
    target: Option<String>,
    pub(super) launch: Option<String>,
    pub(super) project: Option<Arc<Project>>,
    pub(super) properties: Vec<Property>,
    unroll: u32,
    unroll_max: u32,
    limits: Limits,
    budget: u64,
    follow: bool,
    pub(super) repairs: bool,
    pub(super) allow_bounded: bool,
    pub(super) jobs: usize,
    wanted: Wanted,
}

/// Who says whether a check is still wanted.
#[derive(Clone, Default)]
struct Wanted(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

impl Eq for Wanted {}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "while wanted" } else { "always" })
    }
}

impl Listener for Wanted {
    fn gives_up(&self) -> Option<Halt> {
        let is_wanted = self.0.as_ref().is_none_or(|is_wanted| is_wanted());
        (!is_wanted).then_some(Halt::Interrupt)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            model: None,
            variants: Vec::new(),
            defines: Vec::new(),
            target: None,
            launch: None,
            project: None,
            properties: Vec::new(),
            unroll: UNROLL,
            unroll_max: UNROLL_MAX,
            limits: Limits { findings_max: FINDINGS_MAX, ..Limits::DEFAULT },
            budget: BUDGET,
            follow: false,
            repairs: true,
            allow_bounded: false,
            jobs: 1,
            wanted: Wanted::default(),
        }
    }
}

impl Options {
    /// All that a project says in its `fencepost.toml`, in place of what was set before. What it makes of findings and warnings
    /// is up to whoever has the report: [`Project::accepts`], [`Severities::of`](crate::project::Severities::of).
    pub fn of_project(mut self, project: Arc<Project>) -> Self {
        let settings = &project.settings;
        self.model = project.model().or(self.model);
        self.target = settings.target.clone().or(self.target);
        self.variants.extend(settings.variants.iter().cloned());
        self.properties.extend(&settings.properties);
        self.unroll = settings.unroll.unwrap_or(self.unroll);
        self.unroll_max = settings.unroll_max.unwrap_or(self.unroll_max);
        self.budget = settings.budget.unwrap_or(self.budget);
        self.limits.events_max = settings.max_events.unwrap_or(self.limits.events_max);
        self.limits.clauses_max = settings.max_clauses.unwrap_or(self.limits.clauses_max);
        self.project = Some(project);
        self
    }

    /// The memory model: one of [`crate::models::names`], or a `.cat` file, which is read from where the kernel is.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Turns on a variant of the memory model.
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variants.push(name.into());
        self
    }

    /// Sets a constant of the kernel file.
    pub fn define(mut self, name: impl Into<String>, value: u64) -> Self {
        self.defines.push((name.into(), value));
        self
    }

    /// The architecture, in place of the one that the file names: `sm_90`, or `spa_50`.
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = Some(name.into());
        self
    }

    /// Only this launch; by name, or as `ctas=4,cluster=2,warps=4`, or in axes as `grid=4x2,block=32x8`.
    pub fn launch(mut self, name: impl Into<String>) -> Self {
        self.launch = Some(name.into());
        self
    }

    /// Only this property, and others that are named so.
    pub fn property(mut self, property: Property) -> Self {
        self.properties.push(property);
        self
    }

    /// The loop bound to start with, at least 1.
    pub fn unroll(mut self, bound: u32) -> Self {
        self.unroll = bound.max(1);
        self
    }

    /// The loop bound to raise it to while some loop can run longer.
    pub fn unroll_max(mut self, bound: u32) -> Self {
        self.unroll_max = bound.max(1);
        self
    }

    /// Work per kernel and launch, in millions of steps, which are the same on every machine.
    pub fn budget(mut self, millions: u64) -> Self {
        self.budget = millions.max(1);
        self
    }

    /// Whether every answer of the solver that there is no execution is followed, clause by clause, by something that is not
    /// the solver. The steps that takes are part of the budget.
    pub fn self_check(mut self, follow: bool) -> Self {
        self.follow = follow;
        self
    }

    /// Most events of a launch; 16 times as many where many threads are looked at a few at a time.
    pub fn max_events(mut self, events: usize) -> Self {
        self.limits.events_max = events;
        self
    }

    /// Most clauses of a formula.
    pub fn max_clauses(mut self, clauses: usize) -> Self {
        self.limits.clauses_max = clauses;
        self
    }

    /// Whether to look for changes after which a finding is gone, which can take some times what the check takes; on by
    /// default.
    pub fn repairs(mut self, repairs: bool) -> Self {
        self.repairs = repairs;
        self
    }

    /// Whether "proved up to the bound" is good enough for [`crate::Report::passes`].
    pub fn allow_bounded(mut self, allow: bool) -> Self {
        self.allow_bounded = allow;
        self
    }

    /// Asks, often and from the threads of the check, whether somebody still wants it. Once nobody does, what is decided is
    /// told, and everything else is *inconclusive* for the limit `interrupt`. Until then nothing depends on it.
    pub fn while_wanted(mut self, is_wanted: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.wanted = Wanted(Some(Arc::new(is_wanted)));
        self
    }

    /// Launches checked at a time; 1 by default. The report is the same.
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }
}

impl Options {
    pub(super) fn load(&self) -> LoadOptions {
        LoadOptions { defines: self.defines.clone(), target: self.target.clone() }
    }

    /// Whether all of a file is looked at, as its author meant it: else nothing can be said of what its launches never do.
    pub(super) fn is_whole(&self) -> bool {
        self.defines.is_empty() && self.launch.is_none() && self.properties.is_empty()
    }

    pub(super) fn config(&self, kernel: &Kernel) -> Config {
        Config {
            properties: properties_of(kernel, &self.properties),
            is_asked_by_name: !self.properties.is_empty(),
            unroll: self.unroll,
            unroll_max: self.unroll_max.max(self.unroll),
            limits: self.limits,
            budget: self.budget.saturating_mul(1_000_000),
            follow: self.follow,
            listener: Arc::new(self.wanted.clone()),
            ..Config::without_deadline(Treatment::DEFAULT)
        }
    }
}
