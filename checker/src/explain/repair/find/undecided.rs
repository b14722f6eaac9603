//! Changes of which no answer came soon.
//!
//! Those are asked again, the likelier first, before one that is less likely is taken: that it took less to be proved says
//! nothing for it. Of some no answer comes of all that was asked, and one of what was found: whether a claim about sums holds
//! may take a thousand times what it takes to see that nobody races any more. Of a change that does nothing but order or
//! complete, which hides nothing, that much is worth telling.

use super::super::edit::{Edit, EditKind, Repair};
use super::so_far::SoFar;
use super::{Key, Proposal, Search, effort};
use crate::check::{CheckError, Config};
use crate::verdict::{Property, Verdict};
use fencepost_dsl::kernel::isa::strength::inserted;

/// Changes that are asked about so.
const ASKED_MAX: usize = 3;

impl Search<'_> {
    /// Asks the first of the changes of which no answer came soon once more, each within what a try may take; a repair for each
    /// finding, if one mends everything.
    pub(super) fn ask_again(
        &mut self,
        so_far: &mut SoFar<'_>,
        n_max: usize,
    ) -> Result<Option<Vec<Option<Repair>>>, CheckError> {
        let most = self.most();
        let asked_soon: Vec<usize> =
            (0..so_far.undecided.len()).filter(|&at| so_far.undecided[at].1 < most).take(n_max).collect();
        let mut answered: Vec<usize> = Vec::new();
        for at in asked_soon {
            if self.allowance.used_up().is_some() {
                break;
            }
            let (proposal, _) = so_far.undecided[at];
            so_far.undecided[at].1 = most;
            let tried = self.attempt_for(&proposal.edits, &self.outcome.launch, 1, most)?;
            let Some(done) = tried.filter(|done| done.verdict != Verdict::Inconclusive) else { continue };
            answered.push(at);
            if done.verdict.is_proof()
                && let Some(repairs) = self.settle(proposal, done.verdict, so_far)?
            {
                return Ok(Some(repairs));
            }
        }
        for at in answered.into_iter().rev() {
            so_far.undecided.remove(at);
        }
        Ok(None)
    }

    /// What comes of a change with which the launch has no violation: a repair for each finding, if it mends everything.
    pub(super) fn settle(
        &mut self,
        proposal: &Proposal,
        verdict: Verdict,
        so_far: &mut SoFar<'_>,
    ) -> Result<Option<Vec<Option<Repair>>>, CheckError> {
        match self.mends(proposal, verdict)? {
            Some(repair) if repair.n_launches == self.n_launches() => {
                if self.keeps_better(&proposal.edits)? {
                    let repair = self.smaller(repair)?;
                    return Ok(Some(self.for_all(&repair)));
                }
                so_far.second.get_or_insert(repair);
            }
            Some(repair) => _ = so_far.here_only.get_or_insert(repair),
            None => {}
        }
        Ok(None)
    }

    /// The first of some changes with which what was found is gone, but for claims and hangs: a repair for each finding that is.
    pub(super) fn ended(
        &mut self,
        undecided: &[&Proposal],
    ) -> Result<Option<Vec<Option<Repair>>>, CheckError> {
        // Of one execution nothing is proved.
        if effort::is_one_execution(self.outcome) {
            return Ok(None);
        }
        // Claims and hangs are what takes long.
        let is_soon = |own: &Property| !matches!(own, Property::Assert | Property::Deadlock);
        let properties: Vec<Property> = self.properties().into_iter().filter(is_soon).collect();
        if properties.is_empty() {
            return Ok(None);
        }
        let only_orders = |proposal: &&&Proposal| proposal.edits.iter().all(orders);
        for proposal in undecided.iter().filter(only_orders).take(ASKED_MAX) {
            if let Some(repair) = self.ends(proposal, &properties)? {
                let is_gone = |key: &Key| properties.contains(&key.0);
                let of = |key: &Key| is_gone(key).then(|| repair.clone());
                return Ok(Some(self.keys.iter().map(of).collect()));
            }
        }
        Ok(None)
    }

    /// The repair that a change is if nothing breaks some properties with it, and some execution runs to its end: where threads
    /// hang before, nobody races either.
    fn ends(&mut self, proposal: &Proposal, properties: &[Property]) -> Result<Option<Repair>, CheckError> {
        let Some(changed) = self.job.texts.changed(&proposal.edits) else { return Ok(None) };
        let Some(variant) = self.variant(&changed, &self.outcome.launch) else { return Ok(None) };
        let all = self.config(&variant.program.kernels[variant.kernel], 1, self.most());
        let asked: Vec<Property> = properties.iter().copied().chain([Property::Reachable]).collect();
        let open = all.properties.iter().copied().filter(|own| !asked.contains(own)).collect();
        // There are few such tries, so each may take more than others, whatever was done before.
        let budget = self.most().saturating_mul(2);
        let config = Config { properties: asked, budget, ..all };
        self.tries.n += 1;
        let verdict = self.checked(&changed, &variant, &config)?.map(|tried| tried.verdict);
        Ok(verdict.filter(|verdict| verdict.is_proof()).map(|verdict| Repair {
            open,
            within_bound: verdict == Verdict::ProvedUpToBound,
            values: self.outcome.split.as_ref().map_or_else(Vec::new, |split| split.shown.clone()),
            ..Repair::of_launch(proposal.edits.clone())
        }))
    }

    /// The properties that were found broken.
    pub(super) fn properties(&self) -> Vec<Property> {
        let mut properties: Vec<Property> = self.keys.iter().map(|(property, _)| *property).collect();
        properties.sort_unstable();
        properties.dedup();
        properties
    }
}

/// Whether an edit puts in what orders or completes, and does nothing else.
pub(super) fn orders(edit: &Edit) -> bool {
    match &edit.kind {
        EditKind::Insert { text, .. } => inserted().any(|(_, statement)| statement == text),
        _ => false,
    }
}
