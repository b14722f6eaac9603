//! Changes with which two accesses that race do so no more, asked of a slice of the two threads.
//!
//! In a launch of hundreds of threads a look at one change may take as much as all that looking for changes may. Whether a barrier
//! comes between the two accesses that were found takes next to nothing. So changes of which that is so are tried first; and if
//! the launch takes too much to be looked at with any of them, that much is told.

use super::super::edit::Repair;
use super::so_far::{Ranked, SoFar};
use super::undecided::orders;
use super::{Proposal, Search, effort};
use crate::check::apart::are_apart;
use crate::check::{CheckError, Config};
use crate::encode::goal::GoalKind;
use crate::verdict::Property;
use fencepost_dsl::sorted::SortedSet;

/// Changes that are asked about.
const ASKED_MAX: usize = 40;
/// … until so many are found.
const FOUND_MAX: usize = 3;
/// Other findings that each of these is asked about.
const OTHERS_MAX: usize = 4;

impl Search<'_> {
    /// All changes; of those that do nothing but order, the ones first with which what was found is not there between the two who
    /// do it. Others stay in their places: a change of what is accessed keeps two apart, too, and mends nothing by that.
    pub(super) fn likelier_first<'p>(
        &mut self,
        all: &[Ranked<'p>],
        so_far: &mut SoFar<'p>,
    ) -> Result<Vec<Ranked<'p>>, CheckError> {
        let mut changes = all.to_vec();
        let is_large = self.outcome.graph.events.len() >= self.job.config.treatment.slices_from;
        if !is_large || effort::is_one_execution(self.outcome) {
            return Ok(changes);
        }
        let part = self.allowance.used() + self.allowance.left() / 4;
        // What has mended another launch stays the first.
        let only_orders = |&at: &usize| all[at].0 > 0 && all[at].2.edits.iter().all(orders);
        let ordering: Vec<usize> = (0..all.len()).filter(only_orders).collect();
        let mut likely: SortedSet<usize> = SortedSet::new();
        for &at in ordering.iter().take(ASKED_MAX) {
            let (_, target, proposal) = all[at];
            if likely.len() == FOUND_MAX || self.allowance.used() >= part {
                break;
            }
            if self.is_apart(proposal, target)? {
                likely.insert(at);
            }
        }
        so_far.likely = likely.iter().map(|&at| all[at]).collect();
        let (first, rest): (Vec<usize>, Vec<usize>) = ordering.iter().partition(|at| likely.contains(at));
        for (&place, at) in ordering.iter().zip(first.into_iter().chain(rest)) {
            changes[place] = all[at];
        }
        Ok(changes)
    }

    /// Whether with a change a pair that was found is none, for all that a slice tells.
    fn is_apart(&self, proposal: &Proposal, target: usize) -> Result<bool, CheckError> {
        let found = &self.outcome.findings[target].witness;
        if !matches!(found.claim, GoalKind::Flag { .. }) {
            return Ok(false);
        }
        let Some(changed) = self.job.texts.changed(&proposal.edits) else { return Ok(false) };
        let Some(variant) = self.variant(&changed, &self.outcome.launch) else { return Ok(false) };
        let kernel = &variant.program.kernels[variant.kernel];
        let budget = effort::of_pair(self.outcome);
        let config = Config { budget, ..self.config_of_graph(kernel) };
        let of = (&variant.program, kernel, &variant.launch);
        are_apart(of, self.job.model, &config, (&self.outcome.graph, found))
    }

    /// Of likely changes the one with which most of the races that were found are none, for all that slices tell: a repair for each
    /// of these findings.
    pub(super) fn told_apart(
        &mut self,
        likely: &[Ranked<'_>],
    ) -> Result<Option<Vec<Option<Repair>>>, CheckError> {
        let mut best: Option<(&Proposal, Vec<usize>)> = None;
        for &(_, target, proposal) in likely {
            let mut gone = vec![target];
            for other in (0..self.keys.len()).filter(|&other| other != target).take(OTHERS_MAX) {
                if self.is_apart(proposal, other)? {
                    gone.push(other);
                }
            }
            if best.as_ref().is_none_or(|(_, most)| gone.len() > most.len()) {
                best = Some((proposal, gone));
            }
        }
        let Some((proposal, gone)) = best else { return Ok(None) };
        let open = crate::check::usual_properties(self.job.kernel).into_iter();
        let repair = Repair {
            open: open.filter(|own| *own != Property::Reachable).collect(),
            between_two: true,
            values: self.outcome.split.as_ref().map_or_else(Vec::new, |split| split.shown.clone()),
            ..Repair::of_launch(proposal.edits.clone())
        };
        let of = |at: usize| gone.contains(&at).then(|| repair.clone());
        Ok(Some((0..self.keys.len()).map(of).collect()))
    }
}
