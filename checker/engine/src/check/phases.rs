//! Launches in which the phases of many operations on mbarriers are open, as where a count is wrong and nobody waits for anybody:
//! stating all that may happen then takes minutes and gigabytes, where one execution mostly shows what goes wrong.
//!
//! So first the launch is unrolled as it is where all threads run in turns, and that execution is looked at. Where nothing goes
//! wrong in it, everything is stated.
//!
//! Needs: nothing. What is found is an execution that the re-check accepts.

use super::slices::{self, Found};
use super::unrolled::{Of, Ungraphed, Unrolled, unrolled};
use super::{Config, Limits};
use crate::event::EventGraph;
use crate::facts::Facts;
use crate::synchronization::mbarrier;
use crate::unroll::UnrollError;
use crate::verdict::Limit;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// Choices of phases of an mbarrier's operations up to which everything is stated at once.
const FEW: usize = 100_000;

/// Unrolls a launch if it has few choices of phases.
pub(super) fn with_few(
    of: Of<'_>,
    model: &MemoryModel,
    config: &Config,
    bound: u32,
    allowance: &Allowance,
    facts: &mut Facts,
) -> Result<Unrolled, Ungraphed> {
    let phase_choices_max = config.limits.phase_choices_max.min(FEW);
    let config = Config { limits: Limits { phase_choices_max, ..config.limits }, ..config.clone() };
    unrolled(of, model, &config, bound, allowance, facts)
}

/// Of a launch that is not stated since too much may happen to its mbarriers, what is said of whatever one execution shows.
pub(super) fn too_many<T>(unrolled: &Result<T, Ungraphed>) -> Option<Limit> {
    match unrolled {
        Err(Ungraphed::Unroll(UnrollError::TooLarge { limit, value, .. }))
            if mbarrier::LIMITS.contains(limit) =>
        {
            Some(Limit::OneExecution { what: limit, limit: *value })
        }
        _ => None,
    }
}

/// The launch as it is where all threads run in turns.
pub(super) fn in_turns(
    of: Of<'_>,
    model: &MemoryModel,
    config: &Config,
    bound: u32,
    allowance: &Allowance,
) -> Option<EventGraph> {
    let treatment = crate::encode::Treatment {
        mbarrier_encoding: mbarrier::MbarrierEncoding::InTurns,
        ..config.treatment
    };
    let config = Config { treatment, ..config.clone() };
    let mut facts = Facts::of(model, of.2, treatment);
    Some(unrolled(of, model, &config, bound, allowance, &mut facts).ok()?.graph)
}

/// What goes wrong there, if something does.
pub(super) fn found_in_turns(
    of: Of<'_>,
    model: &MemoryModel,
    config: &Config,
    bound: u32,
    allowance: &Allowance,
) -> Option<Found> {
    let treatment = config.treatment;
    if !treatment.completing || !treatment.interleave {
        return None;
    }
    let graph = in_turns(of, model, config, bound, allowance);
    slices::in_turns_soon(&graph?, model, config, allowance)
}
