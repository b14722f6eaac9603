//! Launches with `elect.sync`, checked for one leader after the other.
//!
//! A leader that may be any of 32 lanes is 32 threads each of which may do all that the leader does, and everybody who waits
//! for it waits for one of 32. With a known one it is a thread like others. So where few lanes stand for all
//! ([`representatives`]), there is a check for each, and what came of them is joined.
//!
//! Sound: in an execution one lane leads, the same each time for the same mask. So the executions of a launch are those with
//! each leader, and of leaders that are alike one is enough.
//!
//! Needs: nothing.

use super::Config;
use crate::facts::Facts;
use crate::unroll::{Leaders, elects, n_threads, representatives};
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};

/// Most leaders, or combinations of leaders of several warps, that are checked one by one. Warps for which there would be
/// more may elect any lane: each check looks at all threads, and most of what they do has nothing to do with the leader.
const CASES_MAX: usize = 4;

/// Who leads in each of the checks that a launch comes to: nobody in particular, if it is one.
pub(super) fn cases(
    (program, kernel, launch): (&Program, &Kernel, &Launch),
    model: &MemoryModel,
    config: &Config,
    allowance: &Allowance,
) -> Vec<Leaders> {
    let any = vec![config.leaders.clone()];
    let is_settled = !config.leaders.is_empty() || model.variants.iter().any(|own| own == "elects-first");
    if is_settled
        || !config.treatment.leaders
        || kernel.condition.is_some()
        || n_threads(launch) < config.treatment.split_from
        || !elects(program, kernel)
    {
        return any;
    }
    let facts = Facts::of(model, launch, config.treatment);
    let config = &facts.allowed(config);
    // Lanes that are alike for so many rounds are so for fewer.
    let options = super::unrolled::options((launch, config.unroll_max), model, config, allowance, &facts);
    let Ok(mut found) = representatives(program, kernel, launch, &options) else { return any };
    found.sort_by_key(|(_, lanes)| lanes.len());
    let mut cases = any;
    for (election, lanes) in found {
        if cases.len() * lanes.len() > CASES_MAX {
            break;
        }
        let with = |case: &Leaders, lane: u32| {
            let mut case = case.clone();
            case.insert(election, lane);
            case
        };
        cases = cases.iter().flat_map(|case| lanes.iter().map(move |&lane| with(case, lane))).collect();
    }
    cases
}
