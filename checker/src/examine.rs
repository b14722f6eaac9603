//! All that is said of one kernel and launch: the verdicts of [`mod@crate::check`], what a proof takes for granted, and for
//! each violation why it is one, what would mend it, and which other reading of the model would not have it.

use crate::check::split::{self, Part};
use crate::check::{CheckError, Config, Limits, check, check_part};
use crate::explain::elsewhere::{Elsewhere, Judgement, Whole};
use crate::explain::reading::{self, Reading};
use crate::explain::repair::{self, Texts};
use crate::explain::{self, Explanation, cause, elsewhere};
use crate::models::{Model, PTX};
use crate::parallel::{self, on_large_stack};
use crate::verdict::{Outcome, Property, Verdict, ignored_proxies, unknown_to_model};
use fencepost_dsl::cat::memory_model::{Effect, MemoryModel, Variant};
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use std::sync::LazyLock;

/// Steps that an edition may take over a launch: as a multiple of those of the check, and however short that was.
const EDITION_STEPS: (u64, u64) = (2, 400_000);

/// The published editions of PTX's model, read once.
static EDITIONS: LazyLock<Vec<Model>> = LazyLock::new(|| {
    ["ptx-7.5", "ptx-6.0"].into_iter().filter_map(|name| Model::shipped(name, &[]).ok()).collect()
});
/// Executions of larger graphs are not looked at under the editions, which would take as long as the check.
const EDITIONS_EVENTS_MAX: usize = 2_000;

/// What an examination has found out.
#[derive(Clone, Debug)]
pub struct Examination {
    /// Verdicts, violations, and the assumptions that a proof rests on.
    pub outcome: Outcome,
    /// Of each violation, in order: why, and a repair where one was found.
    pub explanations: Vec<Explanation>,
}

/// Checks one kernel for one launch, and explains what comes of it.
///
/// `texts` are those of the program, from which changed ones are made to be tried; without any, no repair is found. The
/// budget of `config` is for all of it. A model with variants turned on is taken at its word: neither assumptions nor
/// other readings are looked for.
///
/// # Errors
/// See [`CheckError`]. Limits are no errors but outcomes.
pub fn examine(
    texts: &Texts,
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    model: &Model,
    config: &Config,
) -> Result<Examination, CheckError> {
    let checked = Checked::new(program, kernel, launch, model, config)?;
    checked.explained(texts, program, kernel, model, config)
}

/// A launch of which the verdicts are known, and what a proof takes for granted, and nothing is explained yet.
///
/// What mends one launch of a kernel is tried first for the next one, so explanations of the same texts are made in order;
/// checks need no order.
#[derive(Clone, Debug)]
pub struct Checked {
    outcome: Outcome,
    /// Steps of the budget that are left.
    left: u64,
}

impl Checked {
    /// The first half of [`examine`].
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn new(
        program: &Program,
        kernel: &Kernel,
        launch: &Launch,
        model: &Model,
        config: &Config,
    ) -> Result<Self, CheckError> {
        Self::at_a_time(1, program, kernel, launch, model, config)
    }

    /// The same with some values of the parameters at a time, where each is checked alone.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn at_a_time(
        jobs: usize,
        program: &Program,
        kernel: &Kernel,
        launch: &Launch,
        model: &Model,
        config: &Config,
    ) -> Result<Self, CheckError> {
        let mut outcome = match split::parts(program, kernel, launch, config) {
            Some(parts) if jobs > 1 => checked_parts(jobs, program, &parts, launch, model, config)?,
            _ => check(program, kernel, launch, &model.resolved, config)?,
        };
        // Values that are checked one by one may take more than one of them.
        let least = if outcome.split.is_some() { config.budget / 2 } else { 0 };
        let left = config.budget.saturating_sub(outcome.statistics.steps).max(least);
        let rest = Config { budget: left, ..config.clone() };
        let allowance = rest.allowance();
        outcome.assumptions = assumptions(program, kernel, &outcome, model, &rest)?;
        Ok(Self { outcome, left: allowance.left() })
    }

    /// The second half, with the same arguments. The deadline of `config` may be another one; its budget is not looked at.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn explained(
        self,
        texts: &Texts,
        program: &Program,
        kernel: &Kernel,
        model: &Model,
        config: &Config,
    ) -> Result<Examination, CheckError> {
        let Self { mut outcome, left } = self;
        let rest = Config { budget: left, ..config.clone() };
        let explanations = explanations(texts, program, kernel, &mut outcome, model, &rest)?;
        Ok(Examination { outcome, explanations })
    }
}

/// The values of the parameters, some at a time. What comes of them is the same as one after the other.
fn checked_parts(
    jobs: usize,
    program: &Program,
    parts: &[Part],
    launch: &Launch,
    model: &Model,
    config: &Config,
) -> Result<Outcome, CheckError> {
    let mut outcomes = Vec::new();
    let work = |part: &Part| {
        let one = on_large_stack(|| check_part(program, part, launch, &model.resolved, config));
        one.unwrap_or_else(|message| Err(CheckError::SelfCheck { pass: "check", message }))
    };
    parallel::in_order(jobs, parts, work, |_, outcome| outcomes.push(outcome));
    let outcomes: Result<Vec<Outcome>, CheckError> = outcomes.into_iter().collect();
    Ok(split::join(parts, outcomes?, config))
}

/// The variants of a model that have an effect, if none is turned on.
fn variants(model: &Model, effect: Effect) -> impl Iterator<Item = &Variant> {
    let is_plain = model.resolved.variants.is_empty();
    model.resolved.described.iter().filter(move |variant| is_plain && variant.effect == effect)
}

/// What part of what a proof took asking for each of its assumptions may take.
const ASSUMPTION_SHARE: u64 = 2;
/// The same at least, in steps.
const ASSUMPTION_MIN: u64 = 50_000_000;

/// What a proof takes for granted: the variants of the model that order less, under which it is none.
fn assumptions(
    program: &Program,
    kernel: &Kernel,
    outcome: &Outcome,
    model: &Model,
    config: &Config,
) -> Result<Vec<Variant>, CheckError> {
    if !matches!(outcome.verdict, Verdict::Proved | Verdict::ProvedUpToBound) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for variant in variants(model, Effect::OrdersLess) {
        // In a file of one's own a variant of that name may be about something else.
        if model.comes_along() && !reading::may_rest_on(&outcome.graph, &variant.name) {
            continue;
        }
        let Some(narrower) = model.with(variant) else { continue };
        // With less order less is known from the start: where that takes much longer than the proof, it is not known whether that
        // would be one.
        let worth = (outcome.statistics.steps / ASSUMPTION_SHARE).max(ASSUMPTION_MIN);
        let limits = Limits { findings_max: 1, ..config.limits };
        let config = Config { limits, budget: config.budget.min(worth), ..config.clone() };
        if check(program, kernel, &outcome.launch, &narrower, &config)?.verdict == Verdict::Violated {
            found.push(variant.clone());
        }
    }
    Ok(found)
}

/// The facts of all findings, the root of what one change mends first. Looking for repairs may take some times what the
/// check itself took, not all that is left. `config` has what the check left of its budget.
fn explanations(
    texts: &Texts,
    program: &Program,
    kernel: &Kernel,
    outcome: &mut Outcome,
    model: &Model,
    config: &Config,
) -> Result<Vec<Explanation>, CheckError> {
    let worth = repair::worth(kernel, outcome);
    let config = &Config { budget: (config.budget - config.budget / 4).min(worth), ..config.clone() };
    let mut explanations: Vec<Explanation> = outcome
        .findings
        .iter()
        .map(|finding| explain::explain(&outcome.graph, &model.resolved, finding))
        .collect();
    let job = repair::Job { texts, program, kernel, model: &model.resolved, config };
    let (repairs, tries) = repair::find(&job, outcome, &explanations)?;
    for (explanation, repair) in explanations.iter_mut().zip(repairs) {
        explanation.tries = tries;
        explanation.repair = repair;
    }
    readings(outcome, model, &mut explanations);
    editions(program, kernel, outcome, model, (&mut explanations, config))?;
    let order = cause::order(&outcome.graph, &outcome.findings, &mut explanations);
    let mut findings: Vec<Option<_>> = std::mem::take(&mut outcome.findings).into_iter().map(Some).collect();
    let mut facts: Vec<Option<Explanation>> = explanations.into_iter().map(Some).collect();
    outcome.findings = order.iter().filter_map(|&i| findings[i].take()).collect();
    Ok(order.iter().filter_map(|&i| facts[i].take()).collect())
}

/// Questions that PTX leaves open, with whose other answer a finding would not be there.
fn readings(outcome: &Outcome, model: &Model, explanations: &mut [Explanation]) {
    for variant in variants(model, Effect::OrdersMore) {
        let mut wider: Option<MemoryModel> = None;
        for (finding, explanation) in outcome.findings.iter().zip(&mut *explanations) {
            if !reading::may_matter(&outcome.graph, &explanation.subject, &explanation.reasons, &variant.name)
            {
                continue;
            }
            if wider.is_none() {
                wider = model.with(variant);
            }
            let Some(wider) = &wider else { break };
            if let Some(says) = reading::judge(wider, &finding.witness, &explanation.subject) {
                explanation.readings.push(Reading { variant: variant.clone(), says });
            }
        }
    }
}

/// Published editions of PTX's model that know all that happens, and do not agree that an execution is one or has that race.
///
/// `config` is what the check ran with; an edition that forbids an execution is asked for another one.
fn editions(
    program: &Program,
    kernel: &Kernel,
    outcome: &Outcome,
    model: &Model,
    (explanations, config): (&mut [Explanation], &Config),
) -> Result<(), CheckError> {
    let is_plain = model.name == PTX && model.resolved.variants.is_empty();
    // No edition has heard of multimem addresses.
    let is_plain = is_plain && outcome.graph.locations.iter().all(|location| location.multimem.is_empty());
    if !is_plain || explanations.is_empty() || outcome.graph.events.len() > EDITIONS_EVENTS_MAX {
        return Ok(());
    }
    for edition in EDITIONS.iter() {
        let graph = &outcome.graph;
        let is_known = unknown_to_model(graph, &edition.resolved).is_none()
            && ignored_proxies(graph, &edition.resolved).is_empty();
        if !is_known {
            continue;
        }
        let mut known: Vec<(Property, Whole)> = Vec::new();
        for (finding, explanation) in outcome.findings.iter().zip(&mut *explanations) {
            let judgement =
                elsewhere::judge(graph, &edition.resolved, &finding.witness, &explanation.subject);
            let Some(judgement) = judgement else { continue };
            let model = edition.name.clone();
            let mut whole = None;
            if judgement == Judgement::Forbidden {
                let same = known.iter().find(|(property, _)| *property == finding.property);
                let asked = match same {
                    Some(&(_, asked)) => asked,
                    None => as_a_whole(program, kernel, outcome, edition, (finding.property, config))?,
                };
                known.push((finding.property, asked));
                whole = Some(asked);
            }
            explanation.elsewhere.push(Elsewhere { model, judgement, whole });
        }
    }
    Ok(())
}

/// Whether an edition has any execution of the launch that breaks a property, for a few times the steps of the check.
fn as_a_whole(
    program: &Program,
    kernel: &Kernel,
    outcome: &Outcome,
    edition: &Model,
    (property, config): (Property, &Config),
) -> Result<Whole, CheckError> {
    let worth = outcome.statistics.steps.saturating_mul(EDITION_STEPS.0).saturating_add(EDITION_STEPS.1);
    let config = Config {
        properties: vec![property],
        is_asked_by_name: false,
        unroll: outcome.unroll,
        unroll_max: outcome.unroll,
        budget: worth.min(config.budget),
        limits: Limits { findings_max: 1, ..config.limits },
        ..config.clone()
    };
    match check(program, kernel, &outcome.launch, &edition.resolved, &config) {
        Ok(outcome) => Ok(outcome.verdict.into()),
        Err(CheckError::Unsupported(_)) => Ok(Whole::NotAsked),
        Err(error) => Err(error),
    }
}
