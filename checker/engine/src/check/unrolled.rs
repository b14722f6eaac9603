//! The graph that a check begins with.

use super::residency::waits_for_other_clusters;
use super::{Config, cells, slices};
use crate::event::EventGraph;
use crate::facts::{self, Facts};
use crate::unroll::{UnrollError, UnrollOptions, n_threads, unroll};
use crate::verdict::{Property, unknown_to_model};
use crate::work::Allowance;
use fencepost_dsl::Diagnostic;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};

/// Why there is none.
pub(super) enum Ungraphed {
    /// It was not unrolled.
    Unroll(UnrollError),
    /// It has something that the model does not know.
    Unknown(Box<Diagnostic>),
}

/// What is unrolled.
pub(super) type Of<'a> = (&'a Program, &'a Kernel, &'a Launch);

/// A graph, and how it came about.
pub(super) struct Unrolled {
    pub(super) graph: EventGraph,
    /// How long it took, if somebody measures.
    pub(super) microseconds: u64,
    /// Accesses for which others stand.
    pub(super) n_merged: usize,
}

impl UnrollOptions {
    /// The usual ones, with what the variants of a model say of which events there are.
    pub fn of_model(model: &MemoryModel) -> Self {
        let has = |name: &str| model.variants.iter().any(|variant| variant == name);
        Self {
            elects_first: has("elects-first"),
            failed_cas_writes: has("failed-cas-writes"),
            ..Self::default()
        }
    }
}

/// How a launch is unrolled up to a loop bound.
pub(super) fn options(
    (launch, bound): (&Launch, u32),
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
    facts: &Facts,
) -> UnrollOptions {
    UnrollOptions {
        bound,
        max_events: slices::events_max(launch, config),
        allowance: allowance.clone(),
        leaders: config.leaders.clone(),
        hangs: config.properties.contains(&Property::Deadlock),
        mbarrier_encoding: config.treatment.mbarrier_encoding,
        phase_choices_max: config.limits.phase_choices_max,
        never_full: config.treatment.never_full,
        together: config.treatment.together,
        forwarding: n_threads(launch) >= config.treatment.forward_from && !facts.is_off(&facts::FORWARDING),
        waits: config.treatment.waits,
        writing_waits: !facts.is_off(&facts::WRITING_WAITS),
        cta_waits: config.treatment.waits && config.treatment.cta_waits,
        hangs_in_loops: facts.is_monotone(),
        unpromised: facts.unpromised().clone(),
        paths: config.treatment.paths,
        ..UnrollOptions::of_model(model)
    }
}

/// Unrolls a launch up to a loop bound, again where something that the graph rests on is seen not to hold.
pub(super) fn unrolled(
    (program, kernel, launch): Of<'_>,
    model: &MemoryModel,
    config: &Config,
    bound: u32,
    allowance: &Allowance,
    facts: &mut Facts,
) -> Result<Unrolled, Ungraphed> {
    let mut microseconds = 0;
    loop {
        // What is off since something that it needs was seen not to hold; then it is unrolled again.
        let config = &facts.allowed(config);
        // After unrolling: no loops, no control flow, only guards.
        let options = options((launch, bound), model, config, allowance, facts);
        config.listener.begins("unroll");
        let unrolled = unroll(program, kernel, launch, &options).and_then(|graph| {
            if launch.is_co_resident() || !options.hangs || !waits_for_other_clusters(&graph) {
                return Ok(graph);
            }
            unroll(program, kernel, launch, &UnrollOptions { starts: true, ..options.clone() })
        });
        microseconds += config.listener.ends("unroll");
        let graph = unrolled.map_err(Ungraphed::Unroll)?;
        if let Some(diagnostic) = unknown_to_model(&graph, model) {
            return Err(Ungraphed::Unknown(Box::new(diagnostic)));
        }
        if !facts.look_at(&graph, model, config) {
            let n_unmerged = graph.events.len();
            let graph = cells::merged(graph, model, config, facts);
            let n_merged = n_unmerged - graph.events.len();
            return Ok(Unrolled { graph, microseconds, n_merged });
        }
    }
}
