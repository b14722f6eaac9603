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
use crate::encode::Treatment;
use crate::facts::Facts;
use crate::synchronization::mbarrier::{self, MbarrierEncoding};
use crate::unroll::UnrollError;
use crate::verdict::Limit;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// The options of a run that unrolls a launch if it has few choices of phases.
pub(super) fn few(config: &Config) -> Config {
    let phase_choices_max = config.limits.phase_choices_max.min(Limits::FEW_PHASE_CHOICES);
    Config { limits: Limits { phase_choices_max, ..config.limits }, ..config.clone() }
}

/// The options of a run that unrolls it as it is where all threads run in turns.
pub(super) fn in_turns(config: &Config) -> Config {
    let treatment = Treatment { mbarrier_encoding: MbarrierEncoding::InTurns, ..config.treatment };
    Config { treatment, ..config.clone() }
}

/// Whether what was too much for [`few`] may not be for the options as they are.
pub(super) fn may_be_stated(limit: &Limit, config: &Config) -> bool {
    matches!(limit, Limit::OneExecution { what, .. } if *what == mbarrier::CHOICES)
        && config.limits.phase_choices_max > Limits::FEW_PHASE_CHOICES
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

/// What goes wrong where all threads run in turns, if something does.
pub(super) fn found_in_turns(
    of: Of<'_>,
    model: &MemoryModel,
    config: &Config,
    bound: u32,
    allowance: &Allowance,
) -> Option<Found> {
    let Treatment { completing, interleave, .. } = config.treatment;
    if !completing || !interleave {
        return None;
    }
    let turns = in_turns(config);
    let mut facts = Facts::of(model, of.2, turns.treatment);
    let Unrolled { graph, .. } = unrolled(of, model, &turns, bound, allowance, &mut facts).ok()?;
    slices::in_turns_soon(&graph, model, config, allowance)
}
