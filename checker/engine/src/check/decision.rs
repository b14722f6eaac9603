//! What is known of one graph, and the verdicts that follow.

use super::{Config, assumes_unasked, claims_of_the_end};
use crate::event::EventGraph;
use crate::evidence::{Evidence, Record};
use crate::findings;
use crate::verdict::{
    ConditionResult, Finding, Limit, OpenLoop, Outcome, Property, Statistics, Unasked, Vacuity, Verdict,
    ignored_proxies,
};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Launch, Quantifier};
/// What is known of one graph.
pub(super) struct Decision {
    pub(super) graph: EventGraph,
    pub(super) findings: Vec<Finding>,
    pub(super) more_findings: bool,
    pub(super) open_loops: Vec<OpenLoop>,
    pub(super) vacuity: Vec<Vacuity>,
    /// Whether assumptions leave no execution at all, not even one that stops halfway.
    pub(super) excludes_all: bool,
    pub(super) limit: Option<Limit>,
    /// Properties that hold by bounds, whatever limit stops the rest.
    pub(super) closed: Vec<Property>,
    /// What stopped a larger bound, of which nothing else is kept.
    pub(super) raise_limit: Option<Limit>,
    /// An execution that breaks a rule of which nobody asked, and after which nothing has a meaning.
    pub(super) unasked: Option<Unasked>,
    /// What the litmus condition claims.
    pub(super) quantifier: Option<Quantifier>,
    /// The execution that the litmus condition asks for.
    pub(super) condition_witness: Option<Box<Witness>>,
    pub(super) statistics: Statistics,
    /// What it rests on, if that was kept.
    pub(super) record: Option<Record>,
}

impl Decision {
    pub(super) fn new(graph: EventGraph, statistics: Statistics) -> Self {
        Self {
            quantifier: graph.condition.as_ref().map(|condition| condition.quantifier),
            graph,
            findings: Vec::new(),
            more_findings: false,
            open_loops: Vec::new(),
            vacuity: Vec::new(),
            excludes_all: false,
            limit: None,
            closed: Vec::new(),
            raise_limit: None,
            unasked: None,
            condition_witness: None,
            statistics,
            record: None,
        }
    }

    /// Of what a limit stopped before there was a graph.
    pub(super) fn stopped(kernel: &Kernel, launch: &Launch, limit: Limit) -> Self {
        Self {
            limit: Some(limit),
            quantifier: kernel.condition.as_ref().map(|condition| condition.quantifier),
            ..Self::new(EventGraph::empty(launch), Statistics::default())
        }
    }

    /// Whether there is an execution to show, which no limit takes back.
    pub(super) fn has_found(&self) -> bool {
        !self.findings.is_empty() || self.condition_witness.is_some()
    }

    /// Whether an execution has decided the litmus condition, and nothing else was asked that a larger bound could
    /// answer.
    pub(super) fn is_settled(&self, config: &Config) -> bool {
        self.condition_witness.is_some() && config.properties == [Property::Condition]
    }

    /// Whether some executions were not looked at, or not to their end.
    fn is_open(&self) -> bool {
        let is_cut = || self.findings.iter().any(|finding| finding.ends_thread(&self.graph));
        self.limit.is_some() || self.unasked.is_some() || is_cut()
    }

    fn condition(&mut self) -> Option<ConditionResult> {
        let quantifier = self.quantifier?;
        let witness = self.condition_witness.take();
        let is_cut_short = !self.open_loops.is_empty();
        let holds = match (quantifier, witness.is_some()) {
            (Quantifier::Exists, true) => Some(true),
            (Quantifier::NotExists | Quantifier::Forall, true) => Some(false),
            (_, false) if self.is_open() || self.is_filtered_out() => None,
            (Quantifier::Exists, false) => (!is_cut_short).then_some(false),
            (Quantifier::NotExists | Quantifier::Forall, false) => Some(true),
        };
        Some(ConditionResult { quantifier, holds, witness })
    }

    /// Whether the filter of the litmus condition leaves nothing that it could be about.
    fn is_filtered_out(&self) -> bool {
        self.vacuity.iter().any(|vacuity| matches!(vacuity, Vacuity::FilteredOut(_)))
    }

    /// The verdict of a property that the model states.
    fn verdict(&self, property: Property, condition: Option<&ConditionResult>, config: &Config) -> Verdict {
        if let (Property::Condition, Some(condition)) = (property, condition) {
            return match (condition.holds, &condition.witness) {
                (Some(false), _) => Verdict::Violated,
                (Some(true), None) if !self.open_loops.is_empty() => Verdict::ProvedUpToBound,
                (Some(true), _) => Verdict::Proved,
                (None, _) if !self.is_open() && self.is_filtered_out() => Verdict::Vacuous,
                (None, _) => Verdict::Inconclusive,
            };
        }
        if self.findings.iter().any(|finding| finding.property == property) {
            return Verdict::Violated;
        }
        let is_reached = |vacuity: &Vacuity| matches!(vacuity, Vacuity::FilteredOut(_));
        if property == Property::Reachable && !self.vacuity.iter().all(is_reached) {
            return Verdict::Vacuous;
        }
        // Where nothing ends, a claim of the end says nothing; and where there is an `assume`, it may be what lets nothing end.
        let is_about_nothing = property == Property::Assert
            && (claims_of_the_end(config, &self.graph) || assumes_unasked(config, &self.graph))
            && self.vacuity.contains(&Vacuity::NothingCompletes);
        if is_about_nothing || self.excludes_all && property != Property::Reachable {
            return Verdict::Vacuous;
        }
        if self.closed.contains(&property) {
            return Verdict::Proved;
        }
        // An execution that gets there is one, whatever others do.
        if self.limit.is_some() || property != Property::Reachable && self.is_open() {
            return Verdict::Inconclusive;
        }
        if self.open_loops.is_empty() { Verdict::Proved } else { Verdict::ProvedUpToBound }
    }

    /// Whether the model states the property, so that something can be claimed of it.
    fn is_stated(&self, property: Property, model: &MemoryModel) -> bool {
        let has_flag = || model.flags.iter().any(|flag| findings::flag(&flag.name).property() == property);
        match property {
            Property::Race | Property::Lifetime => has_flag(),
            Property::Barrier => self.graph.mbarriers.is_empty() || has_flag(),
            Property::Condition => self.quantifier.is_some(),
            Property::Assert | Property::Deadlock | Property::Bounds | Property::Reachable => true,
        }
    }

    pub(super) fn into_outcome(
        mut self,
        launch: &Launch,
        model: &MemoryModel,
        config: &Config,
        unroll: u32,
    ) -> Outcome {
        let is_asked = config.properties.contains(&Property::Condition);
        let condition = if is_asked { self.condition() } else { None };
        let (stated, mut unstated): (Vec<Property>, Vec<Property>) =
            config.properties.iter().partition(|&&property| self.is_stated(property, model));
        if !config.is_asked_by_name {
            // Nobody misses them: a kernel has no condition, and an SPA machine no memory that ends with a CTA.
            unstated.retain(|&property| {
                property != Property::Condition && (launch.spa.is_none() || property != Property::Lifetime)
            });
        }
        let mut properties: Vec<(Property, Verdict)> = stated
            .into_iter()
            .map(|property| (property, self.verdict(property, condition.as_ref(), config)))
            .collect();
        if config.is_asked_by_name {
            properties.extend(unstated.iter().map(|&property| (property, Verdict::Inconclusive)));
            properties.sort_unstable();
        }
        let evidence = self.record.take().map(|mut record| {
            record.forget_unanswered();
            Evidence {
                values: Vec::new(),
                leaders: config.leaders.clone(),
                graph: self.graph.clone(),
                record,
                unroll,
            }
        });
        Outcome {
            launch: launch.clone(),
            // Where nothing is decided, nothing is proved.
            verdict: properties.iter().map(|&(_, verdict)| verdict).max().unwrap_or(Verdict::Inconclusive),
            properties,
            unstated,
            ignored_proxies: ignored_proxies(&self.graph, model),
            graph: self.graph,
            findings: self.findings,
            more_findings: self.more_findings,
            unroll,
            open_loops: self.open_loops,
            vacuity: self.vacuity,
            limit: self.limit,
            raise_limit: self.raise_limit,
            unasked: self.unasked,
            condition,
            assumptions: Vec::new(),
            leaders: config.leaders.clone(),
            other_leaders: Vec::new(),
            others: Vec::new(),
            split: None,
            statistics: self.statistics,
            evidence: evidence.into_iter().collect(),
        }
    }
}
