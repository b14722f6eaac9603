//! What a run claims, and what it does not.

use crate::encode::goal::GoalKind;
use crate::event::{Because, EventGraph, EventKind, ObligationKind};
use crate::evidence::Evidence;
use crate::facts::Off;
use crate::findings::{FindingKind, remark};
use crate::unroll::Leaders;
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::{
    BaseRelation, BaseSet, MemoryModel, RelationKind, SetKind, TermKind, Variant,
};
use fencepost_dsl::kernel::program::{Launch, Quantifier};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::Proxy;
use fencepost_dsl::{Diagnostic, Span};

pub use crate::findings::Property;

/// The answer to one property, or to all of a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// No execution breaks it; no loop can run past the bound; the solver derived a contradiction.
    Proved,
    /// No execution within the bound breaks it, and some loop can run longer.
    ProvedUpToBound,
    /// Nothing reaches what was asked about.
    Vacuous,
    /// A named limit stopped the run.
    Inconclusive,
    /// A concrete, re-evaluated execution breaks it.
    Violated,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Proved, Self::ProvedUpToBound, Self::Vacuous, Self::Inconclusive, Self::Violated];

    /// Whether it is a proof, of whatever bound.
    pub fn is_proof(self) -> bool {
        matches!(self, Self::Proved | Self::ProvedUpToBound)
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::ProvedUpToBound => "proved_up_to_bound",
            Self::Vacuous => "vacuous",
            Self::Inconclusive => "inconclusive",
            Self::Violated => "violated",
        }
    }
}

/// A named limit that ended a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Limit {
    /// `--timeout`.
    Deadline,
    /// Whoever wanted to know gave up.
    Interrupt,
    /// `--budget`.
    Budget {
        /// The limit, in steps.
        limit: u64,
    },
    /// What the whole launch was given for whatever else goes wrong in it, where slices have shown something.
    Rest {
        /// The limit, in steps.
        limit: u64,
    },
    /// A size of the unrolled launch: `threads`, `events`, `steps`, `barrier edges`, or how much there is of one object.
    Unroll {
        /// Of what there are too many.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The same, where the execution in which all threads run in turns has shown something, and no other was looked at.
    OneExecution {
        /// Of what there are too many.
        what: &'static str,
        /// How many are few enough.
        limit: u64,
    },
    /// `--max-clauses`.
    Clauses {
        /// The limit.
        limit: u64,
    },
    /// A `let rec` relation of the model of which the formula would have to say that all its pairs are certain.
    Recursion {
        /// Its name.
        relation: String,
    },
    /// Cells of one location that symbolic indices can reach.
    Cells {
        /// The location.
        location: String,
        /// The limit.
        limit: u64,
    },
}

/// Why a launch is vacuous.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Vacuity {
    /// No execution (within the bound) runs every thread to its end.
    NothingCompletes,
    /// No execution (within the bound) that completes passes the filter of the litmus condition.
    FilteredOut(Span),
    /// No execution (within the bound) reaches this `reachable` statement with its condition true.
    Unreachable(Span),
}

impl Vacuity {
    /// Its row.
    pub fn kind(&self) -> &'static FindingKind {
        match self {
            Self::NothingCompletes => &remark::NOTHING_COMPLETES,
            Self::FilteredOut(_) => &remark::FILTERED_OUT,
            Self::Unreachable(_) => &remark::UNREACHABLE,
        }
    }
}

/// A loop that can run past the bound.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OpenLoop {
    /// Its head.
    pub span: Span,
    /// What makes it more than a wait.
    pub because: Because,
}

/// Sizes and times of the passes of a launch (of the last bound tried).
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Events, initial writes included.
    pub events: usize,
    /// Propositional variables.
    pub variables: usize,
    /// Clauses.
    pub clauses: usize,
    /// Clauses the solver added to its proofs, over all its calls: those learnt, and given ones it simplified. A measure
    /// of effort close to the number of conflicts on hard problems.
    pub conflicts: u64,
    /// Calls of the solver.
    pub solver_calls: u64,
    /// *Unsatisfiable* answers that were followed to a contradiction, if they were to be (see
    /// [`crate::check::Config::follow`]) and something was asked.
    pub followed: Option<u64>,
    /// Steps of work of the whole check, all bounds together (see [`crate::work`]).
    pub steps: u64,
    /// Goals that needed a literal (racing pairs and the like that bounds could not settle).
    pub open_goals: usize,
    /// Microseconds per pass, by pass name in pipeline order.
    pub microseconds: Vec<(&'static str, u64)>,
    /// Deductions that were off since something they need does not hold, in any of the bounds.
    pub off: Vec<Off>,
}

impl Statistics {
    /// What another run took, too.
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.variables += other.variables;
        self.clauses += other.clauses;
        self.conflicts += other.conflicts;
        self.solver_calls += other.solver_calls;
        self.followed = match (self.followed, other.followed) {
            (None, None) => None,
            (own, other) => Some(own.unwrap_or(0) + other.unwrap_or(0)),
        };
        self.steps += other.steps;
        self.open_goals += other.open_goals;
        for &(pass, taken) in &other.microseconds {
            match self.microseconds.iter_mut().find(|(own, _)| *own == pass) {
                Some((_, sum)) => *sum += taken,
                None => self.microseconds.push((pass, taken)),
            }
        }
        for off in &other.off {
            if !self.off.contains(off) {
                self.off.push(off.clone());
            }
        }
    }
}

/// Everything found out about one kernel and launch.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The launch.
    pub launch: Launch,
    /// The worst of the properties' verdicts.
    pub verdict: Verdict,
    /// Per property asked for, in order.
    pub properties: Vec<(Property, Verdict)>,
    /// Properties of which the model states nothing. Those that were asked for by name are undecided; of those that were
    /// not, `properties` says nothing.
    pub unstated: Vec<Property>,
    /// The event graph the findings are about.
    pub graph: EventGraph,
    /// Violations, one per pair of source places.
    pub findings: Vec<Finding>,
    /// Whether more violations may exist than `findings` lists.
    pub more_findings: bool,
    /// The loop bound used.
    pub unroll: u32,
    /// Loops that can run past it.
    pub open_loops: Vec<OpenLoop>,
    /// Why it is vacuous.
    pub vacuity: Vec<Vacuity>,
    /// What stopped it.
    pub limit: Option<Limit>,
    /// What kept the loop bound from being raised, so that the answers are those of a smaller one.
    pub raise_limit: Option<Limit>,
    /// An execution that breaks a rule of a property that was not asked for, and behind which threads are not followed. So
    /// nothing is proved of what was asked.
    pub unasked: Option<Unasked>,
    /// The answer to a litmus test's condition, if it was asked for.
    pub condition: Option<ConditionResult>,
    /// Proxies that accesses go through and the model does not know: it takes those accesses as generic ones.
    pub ignored_proxies: Vec<Proxy>,
    /// Assumptions of the model without which it would not be proved, where somebody has looked for them.
    pub assumptions: Vec<Variant>,
    /// The lanes that are elected in the graph, where each that stands for others was checked alone.
    pub leaders: Leaders,
    /// Properties that executions with other leaders break and these do not, with the first that do.
    pub other_leaders: Vec<(Property, Leaders)>,
    /// The graphs of other values of parameters and other leaders that were checked alone.
    pub others: Vec<EventGraph>,
    /// Whether each value of its parameters was checked alone.
    pub split: Option<Split>,
    /// Sizes and times.
    pub statistics: Statistics,
    /// What it rests on, if that was to be kept: of the launch, or of each value that was checked alone.
    pub evidence: Vec<Evidence>,
}

/// What was found out value by value.
#[derive(Clone, Debug)]
pub struct Split {
    /// How many combinations of values there are.
    pub n_values: usize,
    /// The values of the parameters that graph and findings are about: the smallest of which something was found.
    pub shown: Vec<(String, u64)>,
    /// The values of which everything was proved that was asked.
    pub proved: Vec<Vec<(String, u64)>>,
    /// Properties that other values break and these do not, with the smallest that does.
    pub elsewhere: Vec<(Property, Vec<(String, u64)>)>,
}

impl Outcome {
    /// The graph that the findings are about, and those of other values and leaders that were checked alone.
    pub fn graphs(&self) -> impl Iterator<Item = &EventGraph> {
        std::iter::once(&self.graph).chain(&self.others)
    }

    /// What is said of one of its verdicts: where only some rounds were looked at, nothing is known to be vacuous, for with
    /// more of them something may get there.
    pub fn told(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Vacuous if !self.open_loops.is_empty() => Verdict::ProvedUpToBound,
            _ => verdict,
        }
    }

    /// Whether it is good enough for who takes a proof up to the bound for one: something gets to its end within that bound.
    pub fn passes(&self, allow_bounded: bool) -> bool {
        match self.verdict {
            Verdict::Proved => true,
            Verdict::ProvedUpToBound => allow_bounded,
            Verdict::Vacuous | Verdict::Inconclusive | Verdict::Violated => false,
        }
    }
}

/// The proxies of the formal model that a graph's accesses go through.
pub fn proxies(graph: &EventGraph) -> SortedSet<Proxy> {
    let used = graph.events.iter().filter_map(|event| event.kind.access()).map(|access| access.proxy);
    used.filter(|proxy| Proxy::FORMAL.contains(proxy)).collect()
}

/// What the graph has and the model's text never mentions: to such a model it would be nothing at all, and what it lets
/// threads wait for could justify itself in a circle.
pub fn unknown_to_model(graph: &EventGraph, model: &MemoryModel) -> Option<Diagnostic> {
    let has = |kind: &TermKind| model.terms.iter().any(|term| term.kind == *kind);
    let has_set = |set: BaseSet| has(&TermKind::Set(SetKind::Base(set)));
    let has_relation = |base| has(&TermKind::Relation(RelationKind::Base(base)));
    let counts = has_relation(BaseRelation::Signals);
    let starts = has_relation(BaseRelation::Start);
    if let Some(diagnostic) = wrong_machine(graph, model, has_set(BaseSet::MembarGlobal)) {
        return Some(diagnostic);
    }
    let (site, name) = graph.events.iter().find_map(|event| {
        let (is_known, name) = match &event.kind {
            EventKind::ClusterArrive { .. } | EventKind::ClusterWait | EventKind::Mbarrier(_) => {
                (counts, BaseRelation::Signals.name())
            }
            EventKind::Issue { .. } => (starts, BaseRelation::Start.name()),
            EventKind::Read(access) | EventKind::Write(access)
                if graph.locations[access.location].is_tensor =>
            {
                (has_set(BaseSet::TensorMemory), BaseSet::TensorMemory.name())
            }
            EventKind::Tensor(_) => (has_set(BaseSet::TensorMemory), BaseSet::TensorMemory.name()),
            EventKind::RestrictedFence(fence) => (has_set(fence.set()), fence.set().name()),
            _ => return None,
        };
        (!is_known).then_some((event.site?, name))
    })?;
    let site = &graph.sites[site];
    let message = format!("model `{}` says nothing about `{}`", model.name, site.text);
    Some(
        Diagnostic::new("unsupported::model", message, site.span, "means nothing to this model")
            .with_help(format!("use the default model; a model that knows it speaks of `{name}`")),
    )
}

/// A kernel for one machine under the model of another.
fn wrong_machine(graph: &EventGraph, model: &MemoryModel, knows_membar: bool) -> Option<Diagnostic> {
    let launch = graph.hierarchy.launch();
    let (kernel, needed) = match (launch.spa.is_some(), knows_membar) {
        (true, false) => ("SPA 5.0", "`spa-5.0`, or leave `--model` out"),
        (false, true) => ("PTX", "`ptx`, or write the kernel for `//! target spa_50`"),
        _ => return None,
    };
    let message = format!("model `{}` is not one of {kernel}, which this kernel is written for", model.name);
    let error = Diagnostic::new("unsupported::model", message, launch.span, "of another machine");
    Some(error.with_help(format!("use {needed}")))
}

/// Those of them that the model's text never mentions.
pub fn ignored_proxies(graph: &EventGraph, model: &MemoryModel) -> Vec<Proxy> {
    let is_known = |proxy: Proxy| {
        let set = match proxy {
            Proxy::Generic | Proxy::Async | Proxy::Tensormap => return true,
            Proxy::Texture => BaseSet::Texture,
            Proxy::Surface => BaseSet::Surface,
            Proxy::Constant => BaseSet::Constant,
        };
        model.terms.iter().any(|term| term.kind == TermKind::Set(SetKind::Base(set)))
    };
    proxies(graph).into_iter().filter(|&proxy| !is_known(proxy)).collect()
}

/// The answer to a litmus test's condition.
#[derive(Clone, Debug)]
pub struct ConditionResult {
    /// What was claimed.
    pub quantifier: Quantifier,
    /// Whether it is so; `None` if a limit stopped the run, or if `exists` found nothing and some loop can run longer.
    pub holds: Option<bool>,
    /// The example, or the counter-example.
    pub witness: Option<Box<Witness>>,
}

/// One violation.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which property it breaks.
    pub property: Property,
    /// The execution.
    pub witness: Box<Witness>,
}

/// A broken rule of a property that was not asked for.
#[derive(Clone, Debug)]
pub struct Unasked {
    /// What was found.
    pub finding: Finding,
    /// Its code.
    pub code: &'static str,
}

impl Finding {
    /// Whether it breaks a rule behind which nothing has a meaning: threads are mostly not followed there. Which of several
    /// such findings are listed is chance, so all of `barrier` and `bounds` count.
    pub fn ends_thread(&self, graph: &EventGraph) -> bool {
        if matches!(self.property, Property::Barrier | Property::Bounds) {
            return true;
        }
        let GoalKind::Obligation(index) = self.witness.claim else { return false };
        graph.obligations[index].kind != ObligationKind::Assertion
    }
}
