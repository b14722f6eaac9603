//! How a check is run: what is asked, how far loops go, and where it gives up.

use crate::encode::Treatment;
use crate::listener::{Halt, Listener, Silent};
use crate::outside::Outside;
use crate::solve::Effort;
use crate::unroll::Leaders;
use crate::verdict::{Limit, Property};
use crate::work::{Allowance, UsedUp};
use fencepost_dsl::kernel::program::Kernel;
use std::sync::Arc;

/// How to run. Plain data; the engine reads no environment and no clock.
#[derive(Clone)]
pub struct Config {
    /// Properties to decide.
    pub properties: Vec<Property>,
    /// Whether they were asked for one by one; if so, one that the model says nothing about is undecided, else it is
    /// only named.
    pub is_asked_by_name: bool,
    /// Loop bound to start with.
    pub unroll: u32,
    /// Loop bound to raise it to, by doubling, while some loop can run longer.
    pub unroll_max: u32,
    /// Limits, each of which ends in [`Inconclusive`](crate::verdict::Verdict::Inconclusive).
    pub limits: Limits,
    /// Which optimisations are on.
    pub treatment: Treatment,
    /// Which lanes are elected, where only executions with these are looked at.
    pub leaders: Leaders,
    /// Who measures the stages, and says when to give up.
    pub listener: Arc<dyn Listener>,
    /// How many steps a check may take (see [`crate::work`]).
    pub budget: u64,
    /// Whether each *unsatisfiable* of the solver is followed to a contradiction (see `solve`). One that cannot be
    /// is a bug of ours, and there is no verdict; if the budget ends on the way there is none either.
    pub follow: bool,
    /// Whether all that a verdict rests on is kept (see [`crate::evidence`]); then answers are followed, too.
    pub record: bool,
    /// Another solver, which is asked in place of the one that comes along. Its steps are not counted.
    pub outside: Option<Arc<dyn Outside>>,
}

impl Config {
    /// Everything on, the default bounds and sizes, and neither deadline nor budget.
    pub fn without_deadline(treatment: Treatment) -> Self {
        Self {
            properties: Property::ALL.to_vec(),
            is_asked_by_name: false,
            unroll: UNROLL,
            unroll_max: UNROLL_MAX,
            limits: Limits::default(),
            treatment,
            leaders: Leaders::new(),
            listener: Arc::new(Silent),
            budget: u64::MAX,
            follow: false,
            record: false,
            outside: None,
        }
    }

    /// What the command line has if it says nothing.
    pub fn usual(kernel: &Kernel) -> Self {
        Self {
            properties: usual_properties(kernel),
            limits: Limits { findings_max: FINDINGS_MAX, ..Limits::default() },
            budget: BUDGET * 1_000_000,
            ..Self::without_deadline(Treatment::DEFAULT)
        }
    }

    /// What a check that starts now may do.
    pub fn allowance(&self) -> Allowance {
        Allowance::new(self.budget, Arc::clone(&self.listener))
    }

    /// Counts from 0, of answers that are followed or kept as is wanted.
    pub(super) fn effort(&self) -> Effort {
        Effort::recording(self.record, self.follow).asking(self.outside.clone())
    }

    /// The limit that an allowance has come to.
    pub(super) fn used_up(&self, allowance: &Allowance) -> Limit {
        match allowance.used_up() {
            Some(UsedUp::Patience(Halt::Deadline)) => Limit::Deadline,
            Some(UsedUp::Patience(Halt::Interrupt)) => Limit::Interrupt,
            Some(UsedUp::Steps) | None => Limit::Budget { limit: self.budget },
        }
    }
}

/// The loop bound to start with, unless another one is asked for.
pub const UNROLL: u32 = 2;
/// The loop bound to raise it to.
pub const UNROLL_MAX: u32 = 8;
/// Violations listed per launch.
pub const FINDINGS_MAX: usize = 16;
/// Millions of steps of a launch.
pub const BUDGET: u64 = 1_000;

/// The properties that a kernel is checked for if none are asked for. A litmus test asks its own question; races are often
/// its very point.
pub fn usual_properties(kernel: &Kernel) -> Vec<Property> {
    let is_litmus = kernel.condition.is_some();
    Property::ALL.into_iter().filter(|&property| (property == Property::Condition) == is_litmus).collect()
}

/// The properties that a kernel is checked for: those that are asked for, each once and in order, or the usual ones.
pub fn properties_of(kernel: &Kernel, asked: &[Property]) -> Vec<Property> {
    if asked.is_empty() {
        return usual_properties(kernel);
    }
    let mut properties = asked.to_vec();
    properties.sort_unstable();
    properties.dedup();
    properties
}

/// Sizes past which a run is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events of a launch that is looked at as a whole; where slices may do, there may be some times as many.
    pub events_max: usize,
    /// Clauses of a formula.
    pub clauses_max: usize,
    /// Violations listed per launch.
    pub findings_max: usize,
    /// Choices of phases of an mbarrier's operations.
    pub phase_choices_max: usize,
}

impl Limits {
    /// Whether nobody wants to know more than whether anything goes wrong.
    pub fn asks_only_whether(&self) -> bool {
        self.findings_max <= 1
    }

    /// Choices of phases of an mbarrier's operations up to which everything is stated at once; kernels without a mistake have
    /// next to none.
    pub const FEW_PHASE_CHOICES: usize = 20_000;
    /// Those of a run that says nothing else.
    pub const DEFAULT: Self =
        Self { events_max: 20_000, clauses_max: 8_000_000, findings_max: 8, phase_choices_max: 4_000_000 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
