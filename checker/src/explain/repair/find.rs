//! The search: one change at a time, then several together where the launch has several bugs.
//!
//! A change counts if the program with it has no violation of any property, for any launch of the kernel. Where none
//! does, one that takes some findings away and adds none is kept, and others are looked for with it in place. What is
//! done is counted in steps and in tries, so the same input gets the same help everywhere.

mod apart;
mod so_far;
mod undecided;
mod values;

use self::so_far::{Ranked, SoFar};
use super::super::explanation::Explanation;
use super::edit::{Edit, Repair, Tries, do_the_same};
use super::effect::{Where, Wrong, only_hides};
use super::effort;
use super::ground::{Ground, Proposal, is_of_strong_ends, truths};
use super::handed::{HANDED_MAX, Handed};
use super::key::{Key, Part, RESIDENCE, assigned, key};
use super::propose::proposals;
use super::syntax::Syntax;
use super::text::Texts;
use super::variant::{self, Variant};
use crate::check::replay::{self, Changed, Shown};
use crate::check::{CheckError, Config, Limits, check, usual_properties};
use crate::event::EventGraph;
use crate::verdict::{Limit, Outcome, Property, Verdict};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::dump::dump_of;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Single changes looked at per launch.
const SINGLES_MAX: usize = 128;
/// … of which so many are checked: most are known not to mend from an execution that was found.
const CHECKED_MAX: usize = 24;
/// … of which so many are looked at more closely, if none mends everything.
const PARTIAL_MAX: usize = 4;
/// Changes tried beside one that mends a part, for each finding that is left.
const SECONDS_MAX: usize = 8;
/// Changes tried behind one that mends everything, for one with which each read sees what it had better see.
const BETTER_MAX: usize = 24;
/// Executions that changes have left and that are kept for the next ones.
const LEFT_OVER_MAX: usize = 6;
/// Changes of which no answer came soon and that are asked again, and with all that is left.
const AGAIN_MAX: usize = 16;
const LAST_MAX: usize = 6;

/// What a repair is for.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The texts.
    pub texts: &'a Texts,
    /// The program.
    pub program: &'a Program,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The model.
    pub model: &'a MemoryModel,
    /// How the launch was checked, with what is left of its budget.
    pub config: &'a Config,
}

/// A repair for each finding, where one was found, and what was tried.
///
/// # Errors
/// Only if a check of a changed program contradicts itself; see [`CheckError`].
pub fn find(
    job: &Job<'_>,
    outcome: &Outcome,
    explanations: &[Explanation],
) -> Result<(Vec<Option<Repair>>, Tries), CheckError> {
    let none = (vec![None; explanations.len()], Tries::default());
    if explanations.is_empty() || !job.texts.can_change() {
        return Ok(none);
    }
    if let Some(known) = job.texts.known(&job.kernel.name) {
        return Ok((vec![Some(known); explanations.len()], Tries { n: 1, ..Tries::default() }));
    }
    let only = (!job.kernel.is_program).then_some(job.kernel.name.as_str());
    let syntax = Syntax::new(job.texts.sources(), only);
    let keys = outcome
        .findings
        .iter()
        .zip(explanations)
        .map(|(f, e)| key(job.texts.sources(), &outcome.graph, f.property, e));
    let keys: Vec<Key> = keys.collect();
    let truths = truths(job.program);
    let ground =
        |explanation| Ground { texts: job.texts, syntax: &syntax, outcome, explanation, truths: &truths };
    let grounds: Vec<Ground<'_>> = explanations.iter().map(ground).collect();
    let by_finding: Vec<Vec<Proposal>> = grounds.iter().map(proposals).collect();
    let mut handed: Vec<Handed> = Vec::new();
    for own in grounds.iter().flat_map(Handed::of) {
        if !handed.contains(&own) {
            handed.push(own);
        }
    }
    let better = grounds.first().map(Handed::better).unwrap_or_default();
    // First what mended another launch of the kernel.
    let hints: Vec<Proposal> =
        job.texts.hint(&job.kernel.name).into_iter().map(|edits| Proposal { rank: 0, edits }).collect();
    // Then what several findings suggest, by the one to which it is most likely.
    let mut all: Vec<(u32, usize, &Proposal)> = hints.iter().map(|hint| (0, 0, hint)).collect();
    let by_rank = by_finding.iter().enumerate().flat_map(|(i, own)| own.iter().map(move |p| (p.rank, i, p)));
    let mut by_rank: Vec<(u32, usize, &Proposal)> = by_rank.collect();
    by_rank.sort_by_key(|&(rank, i, _)| (rank, i));
    for (rank, i, proposal) in by_rank {
        if all.iter().all(|(_, _, known)| !do_the_same(&known.edits, &proposal.edits)) {
            all.push((rank, i, proposal));
        }
        if all.len() == SINGLES_MAX {
            break;
        }
    }
    let mut search = Search {
        job,
        outcome,
        keys,
        handed,
        better,
        tries: Tries::default(),
        allowance: job.config.allowance(),
        left_over: Vec::new(),
    };
    let repairs = search.run(&all, &by_finding)?;
    Ok((repairs, search.tries))
}

struct Search<'a> {
    job: &'a Job<'a>,
    outcome: &'a Outcome,
    keys: Vec<Key>,
    /// What reads should be able to see, or should always see.
    handed: Vec<Handed>,
    /// … or had better see.
    better: Vec<Handed>,
    tries: Tries,
    allowance: crate::work::Allowance,
    /// What changes have left, the one that was seen last before the others.
    left_over: Vec<LeftOver>,
}

/// What a try has shown.
struct Try {
    verdict: Verdict,
    /// The findings that are left, as far as they were asked for.
    left: Vec<Key>,
    more: bool,
    /// The first of them.
    found: Option<(EventGraph, Box<Witness>)>,
}

/// An execution that a change has left.
struct LeftOver {
    graph: EventGraph,
    witness: Box<Witness>,
    key: Key,
}

impl Search<'_> {
    fn run(
        &mut self,
        all: &[Ranked<'_>],
        by_finding: &[Vec<Proposal>],
    ) -> Result<Vec<Option<Repair>>, CheckError> {
        let mut promising: Vec<(usize, &Proposal)> = Vec::new();
        let mut so_far = SoFar::default();
        let mut n_checked = 0;
        let mut in_vain: SortedMap<&str, u32> = SortedMap::new();
        let all = self.likelier_first(all, &mut so_far)?;
        let first = effort::at_first(self.outcome);
        // What no answer comes of soon is asked again with what is left then.
        let first = if self.has_looked_for_more() { first.min(self.allowance.left() / 2) } else { first };
        let first = self.allowance.used().saturating_add(first);
        for (number, &(_, target, proposal)) in all.iter().enumerate() {
            let is_enough = n_checked >= CHECKED_MAX || self.allowance.used() >= first;
            if self.allowance.used_up().is_some() || is_enough {
                self.tries.n_untried = all.len() - number;
                break;
            }
            if so_far.second.is_some() {
                so_far.n_behind += 1;
                if so_far.n_behind > BETTER_MAX {
                    break;
                }
            }
            let statement = effort::put_in(self.job.kernel, proposal);
            if statement.is_some_and(|own| in_vain.get(own).is_some_and(|&n| n >= effort::ELSEWHERE_MAX)) {
                continue;
            }
            let Some(changed) = self.job.texts.changed(&proposal.edits) else { continue };
            let Some(variant) = self.variant(&changed, &self.outcome.launch) else { continue };
            let is_likely = so_far.likely.iter().any(|own| own.2 == proposal);
            let stays = if is_likely { None } else { self.replayed(&changed, &variant, target) };
            if let Some(stays) = stays {
                self.tries.n += 1;
                let is_part = self.keys.contains(&stays) && stays != self.keys[target];
                if let Some(own) = statement {
                    *in_vain.entry(own).or_default() += 1;
                }
                if is_part && !is_of_strong_ends(proposal.rank) && promising.len() < PARTIAL_MAX {
                    promising.push((target, proposal));
                }
                continue;
            }
            n_checked += 1;
            // What has mended another launch may take all there is.
            let most = if proposal.rank == 0 { self.allowance.left() } else { self.soon() };
            let tried = self.attempt_on(&changed, &variant, 1, most)?;
            let Some(mut done) = tried else { continue };
            if let (Some((graph, witness)), Some(key)) = (done.found.take(), done.left.first()) {
                self.left_over.truncate(LEFT_OVER_MAX - 1);
                self.left_over.insert(0, LeftOver { graph, witness, key: key.clone() });
            }
            if done.verdict.is_proof() {
                // Of what is likelier no answer may have come so soon.
                if let Some(repairs) = self.ask_again(&mut so_far, AGAIN_MAX)? {
                    return Ok(repairs);
                }
                if let Some(repairs) = self.settle(proposal, done.verdict, &mut so_far)? {
                    return Ok(repairs);
                }
                continue;
            }
            match done.verdict {
                Verdict::Inconclusive => so_far.undecided.push((proposal, most)),
                Verdict::Violated if done.left.contains(&self.keys[target]) => {
                    so_far.likely.retain(|own| own.2 != proposal);
                }
                _ => {}
            }
            let is_known = |key: &Key| self.keys.contains(key);
            let misses = |key: &Key| *key == self.keys[target];
            if let Some(own) = statement
                && done.left.iter().any(misses)
            {
                *in_vain.entry(own).or_default() += 2;
            }
            if done.verdict == Verdict::Violated
                && done.left.iter().all(|key| is_known(key) && !misses(key))
                && !is_of_strong_ends(proposal.rank)
                && promising.len() < PARTIAL_MAX
            {
                promising.push((target, proposal));
            }
        }
        let mut ended: Option<Vec<Option<Repair>>> = None;
        if so_far.second.is_none() && so_far.here_only.is_none() {
            if let Some(repairs) = self.ask_again(&mut so_far, AGAIN_MAX)? {
                return Ok(repairs);
            }
            let undecided: Vec<&Proposal> = so_far.undecided.iter().map(|&(own, _)| own).collect();
            self.tries.n_undecided = undecided.len();
            ended = self.ended(&undecided)?;
            for proposal in undecided.into_iter().take(LAST_MAX) {
                let most = self.allowance.left();
                let tried = self.attempt_for(&proposal.edits, &self.outcome.launch, 1, most)?;
                let Some(done) = tried.filter(|done| done.verdict != Verdict::Inconclusive) else { continue };
                self.tries.n_undecided -= 1;
                if done.verdict.is_proof()
                    && let Some(repairs) = self.settle(proposal, done.verdict, &mut so_far)?
                {
                    return Ok(repairs);
                }
                if so_far.second.is_some() || so_far.here_only.is_some() {
                    break;
                }
            }
        }
        if let Some(repair) = so_far.second {
            return Ok(self.for_all(&repair));
        }
        if let Some(repair) = so_far.here_only {
            self.job.texts.suggest(&self.job.kernel.name, &repair.edits);
            return Ok(vec![Some(repair); self.keys.len()]);
        }
        let in_parts = self.in_parts(&promising, by_finding)?;
        if in_parts.iter().any(Option::is_some) {
            return Ok(in_parts);
        }
        match ended {
            Some(repairs) => Ok(repairs),
            None => Ok(self.told_apart(&so_far.likely)?.unwrap_or(in_parts)),
        }
    }

    /// What is wrong with a change, if an execution that is known, or a run like it, does something wrong with it: the one that
    /// the change is meant for, another one that was found, or one that another change has left.
    fn replayed(&mut self, texts: &Texts, of: &Variant, target: usize) -> Option<Key> {
        let Variant { program, kernel, launch } = of;
        let kernel = &program.kernels[*kernel];
        let config = self.config_of_graph(kernel);
        let changed = Changed::new(program, kernel, launch, self.job.model, &config)?;
        let findings = &self.outcome.findings;
        let others = (0..findings.len()).filter(|&at| self.keys[at] != self.keys[target]);
        let is_shown = |graph: &EventGraph, witness: &Witness, own: &Key| {
            let Shown { finding, is_same } = changed.shown(graph, witness)?;
            if is_same {
                return Some(own.clone());
            }
            let explanation = crate::explain::explain(changed.graph(), self.job.model, &finding);
            Some(key(texts.sources(), changed.graph(), finding.property, &explanation))
        };
        for at in std::iter::once(target).chain(others) {
            let shown = is_shown(&self.outcome.graph, &findings[at].witness, &self.keys[at]);
            if shown.is_some() {
                return shown;
            }
        }
        let left = self.left_over.iter().enumerate();
        let mut shown =
            left.filter_map(|(at, own)| Some((at, is_shown(&own.graph, &own.witness, &own.key)?)));
        let (at, shown) = shown.next()?;
        // What one change after the other leaves is asked first.
        self.left_over[..=at].rotate_right(1);
        Some(shown)
    }

    /// Whether with a change each read sees what it had better see.
    fn keeps_better(&mut self, edits: &[Edit]) -> Result<bool, CheckError> {
        if self.better.is_empty() {
            return Ok(true);
        }
        let Some(changed) = self.job.texts.changed(edits) else { return Ok(true) };
        let only = (!self.job.kernel.is_program).then_some(self.job.kernel.name.as_str());
        let syntax = Syntax::new(changed.sources(), only);
        for handed in self.better.clone().iter().take(HANDED_MAX) {
            let Some(asked) = handed.asked(&changed, &syntax) else { continue };
            let most = self.most();
            let tried = self.attempt_with(&asked, &self.outcome.launch, 1, most)?;
            if tried.is_some_and(|tried| tried.verdict == Verdict::Violated) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn n_launches(&self) -> usize {
        self.job.kernel.launches.len().max(1)
    }

    /// A repair of the whole kernel, for every finding.
    fn for_all(&self, repair: &Repair) -> Vec<Option<Repair>> {
        self.job.texts.learn(&self.job.kernel.name, repair);
        vec![Some(repair.clone()); self.keys.len()]
    }

    /// A repair of every launch without those of its edits that are not needed, each left out and asked for.
    fn smaller(&mut self, mut repair: Repair) -> Result<Repair, CheckError> {
        // Half of a change by which one statement does what two did leaves an access out.
        if repair.edits.iter().any(Edit::removes) {
            return Ok(repair);
        }
        for at in (0..repair.edits.len()).rev() {
            let mut edits = repair.edits.clone();
            edits.remove(at);
            if edits.is_empty() || self.allowance.used_up().is_some() {
                break;
            }
            let Some(done) = self.attempt(&edits, 1)? else { continue };
            if !done.verdict.is_proof() || self.only_hides(&edits, &[])? {
                continue;
            }
            let Some(smaller) = self.for_all_values(&edits, done.verdict)? else { continue };
            if smaller.n_launches == self.n_launches()
                && smaller.values == repair.values
                && !self.breaks_others(&edits)?
                && self.keeps_better(&edits)?
            {
                repair = smaller;
            }
        }
        Ok(repair)
    }

    /// What a change is worth with which the launch has no violation, unless it only hides what was found.
    fn mends(&mut self, proposal: &Proposal, verdict: Verdict) -> Result<Option<Repair>, CheckError> {
        if self.only_hides(&proposal.edits, &[])? {
            return Ok(None);
        }
        let Some(repair) = self.for_all_values(&proposal.edits, verdict)? else { return Ok(None) };
        Ok((!self.breaks_others(&proposal.edits)?).then_some(repair))
    }

    /// The events of the launch in a text.
    fn events(&self, texts: &Texts) -> Option<EventGraph> {
        let Variant { program, kernel, launch } = self.variant(texts, &self.outcome.launch)?;
        let kernel = &program.kernels[kernel];
        let config = self.config_of_graph(kernel);
        replay::events(&program, kernel, &launch, self.job.model, &config)
    }

    /// Whether other kernels of the files that share what a change is made in, and were proved, are no more.
    fn breaks_others(&mut self, edits: &[Edit]) -> Result<bool, CheckError> {
        let job = self.job;
        let others = || job.program.kernels.iter().filter(|other| other.name != job.kernel.name);
        if others().next().is_none() {
            return Ok(false);
        }
        let Some(changed) = job.texts.changed(edits).and_then(|texts| texts.program()) else {
            return Ok(false);
        };
        for kernel in others() {
            let Some(after) = changed.kernels.iter().find(|other| other.name == kernel.name) else {
                continue;
            };
            if dump_of(job.program, kernel) == dump_of(&changed, after) {
                continue;
            }
            for (launch, own) in after.launches.iter().zip(&kernel.launches) {
                // What is not decided with the change may be broken by it.
                let is_broken =
                    self.verdict_of(&changed, after, launch)?.is_some_and(|verdict| !verdict.is_proof())
                        && self.verdict_of(job.program, kernel, own)?.is_some_and(Verdict::is_proof);
                if is_broken {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Changes that mend a part each, and then what is left.
    fn in_parts(
        &mut self,
        promising: &[(usize, &Proposal)],
        by_finding: &[Vec<Proposal>],
    ) -> Result<Vec<Option<Repair>>, CheckError> {
        let mut best: Option<Part> = None;
        for (_, proposal) in promising {
            let Some(left) = self.left(&proposal.edits)? else { continue };
            if self.breaks_data(&proposal.edits, &left) {
                continue;
            }
            if self.only_hides(&proposal.edits, &left)? {
                continue;
            }
            if best.as_ref().is_none_or(|(_, fewest)| left.len() < fewest.len()) {
                best = Some((proposal.edits.clone(), left));
            }
        }
        let Some((first, left)) = best else { return Ok(vec![None; self.keys.len()]) };
        let mut parts = vec![(first, left)];
        while let Some((edits, left)) = self.next_part(&parts, by_finding)? {
            let is_done = left.is_empty();
            parts.push((edits, left));
            if is_done {
                break;
            }
        }
        // A hang that stays keeps from being seen what comes behind it; not one for want of CTAs that may start as well.
        let hides = |(property, places): &Key| *property == Property::Deadlock && !places.contains(RESIDENCE);
        if parts.last().is_some_and(|(_, left)| left.iter().any(hides)) {
            return Ok(vec![None; self.keys.len()]);
        }
        let edits: Vec<Edit> = parts.iter().flat_map(|(edits, _)| edits.iter().cloned()).collect();
        let left = parts.last().map_or(Vec::new(), |(_, left)| left.clone());
        Ok(match self.only_values(&edits, &left)? {
            Some(values) => assigned(&self.keys, &parts, (&values, !self.outcome.open_loops.is_empty())),
            None => vec![None; self.keys.len()],
        })
    }

    /// Whether changes against races let something be read or written elsewhere, or be something else, and what is asserted fails
    /// with them: that it failed before does not say that it is the same that is wrong.
    fn breaks_data(&self, edits: &[Edit], left: &[Key]) -> bool {
        let mut gone = self.keys.iter().filter(|key| !left.contains(key));
        let fails = left.iter().any(|(property, _)| *property == Property::Assert);
        if !fails || !gone.all(|(property, _)| *property == Property::Race) {
            return false;
        }
        let only = (!self.job.kernel.is_program).then_some(self.job.kernel.name.as_str());
        variant::are_of_data(edits, &Syntax::new(self.job.texts.sources(), only))
    }

    /// One more change beside those there are, after which fewer findings are left; only itself is returned.
    fn next_part(
        &mut self,
        parts: &[Part],
        by_finding: &[Vec<Proposal>],
    ) -> Result<Option<Part>, CheckError> {
        let Some((_, left)) = parts.last() else { return Ok(None) };
        let so_far: Vec<Edit> = parts.iter().flat_map(|(edits, _)| edits.iter().cloned()).collect();
        for (i, own) in by_finding.iter().enumerate() {
            if !left.contains(&self.keys[i]) {
                continue;
            }
            for proposal in own.iter().filter(|proposal| !is_of_strong_ends(proposal.rank)).take(SECONDS_MAX)
            {
                if self.allowance.used_up().is_some() {
                    return Ok(None);
                }
                if proposal.edits.iter().any(|edit| so_far.iter().any(|known| known.overlaps(edit))) {
                    continue;
                }
                let both: Vec<Edit> = so_far.iter().chain(&proposal.edits).cloned().collect();
                let Some(done) = self.attempt(&both, 1)? else { continue };
                if done.verdict.is_proof() && !self.only_hides(&both, &[])? {
                    return Ok(Some((proposal.edits.clone(), Vec::new())));
                }
                let is_gone = done.verdict == Verdict::Violated
                    && done.left.iter().all(|key| left.contains(key) && *key != self.keys[i]);
                if is_gone
                    && let Some(rest) = self.left(&both)?
                    && rest.len() < left.len()
                    && !self.only_hides(&both, &rest)?
                {
                    return Ok(Some((proposal.edits.clone(), rest)));
                }
            }
        }
        Ok(None)
    }

    /// Whether changes with which so much is left of what was found only keep the rest from being seen.
    fn only_hides(&mut self, edits: &[Edit], left: &[Key]) -> Result<bool, CheckError> {
        let job = self.job;
        let Some(changed) = job.texts.changed(edits) else { return Ok(false) };
        let only = (!job.kernel.is_program).then_some(job.kernel.name.as_str());
        let found: SortedSet<Key> = self.keys.iter().cloned().collect();
        let left: SortedSet<Key> = left.iter().cloned().collect();
        let handed = self.handed.clone();
        let events = self.events(job.texts).zip(self.events(&changed));
        only_hides(
            ((job.texts, &found), (&changed, &left)),
            events.as_ref(),
            &handed,
            only,
            &mut |texts, place| {
                // What is left is left of one launch.
                let launches = match place {
                    Where::Everywhere if left.is_empty() => job.kernel.launches.iter().collect(),
                    Where::Everywhere | Where::Here => vec![&self.outcome.launch],
                };
                let mut wrong = Wrong { verdict: Verdict::Proved, keys: SortedSet::new() };
                for launch in launches {
                    let most = self.most();
                    let tried = self.attempt_with(texts, launch, crate::check::FINDINGS_MAX, most)?;
                    let Some(tried) = tried.filter(|tried| !tried.more) else { return Ok(None) };
                    wrong.verdict = wrong.verdict.max(tried.verdict);
                    wrong.keys.extend(tried.left);
                }
                if place == Where::Everywhere
                    && wrong.keys.is_subset(&left)
                    && let Some(variant) = self.of_the_largest(texts)
                    && let Some(tried) = self.attempt_on(texts, &variant, 1, self.most())?
                    && tried.verdict == Verdict::Violated
                {
                    wrong.verdict = Verdict::Violated;
                    wrong.keys.extend(tried.left);
                }
                Ok(Some(wrong))
            },
        )
    }

    /// What is left of the findings with changes; `None` if one is new, or none is gone.
    fn left(&mut self, edits: &[Edit]) -> Result<Option<Vec<Key>>, CheckError> {
        let Some(done) = self.attempt(edits, crate::check::FINDINGS_MAX)? else { return Ok(None) };
        let is_known = done.left.iter().all(|key| self.keys.contains(key));
        let known: SortedSet<&Key> = self.keys.iter().collect();
        let left: SortedSet<Key> = done.left.into_iter().collect();
        let is_less = !done.more && is_known && left.len() < known.len();
        let settled = done.verdict.is_proof() || done.verdict == Verdict::Violated;
        Ok((is_less && settled).then(|| left.into_iter().collect()))
    }

    /// What a change is worth with which nothing is violated with the values of the parameters that the findings are about.
    fn for_all_values(&mut self, edits: &[Edit], verdict: Verdict) -> Result<Option<Repair>, CheckError> {
        let repair = self.for_all_launches(edits, verdict)?;
        Ok(self.only_values(edits, &[])?.map(|values| Repair { values, ..repair }))
    }

    /// The values of the parameters that changes with which so much is left were checked for, if no answer came for the others;
    /// `None` if these have more violations.
    fn only_values(
        &mut self,
        edits: &[Edit],
        left: &[Key],
    ) -> Result<Option<Vec<(String, u64)>>, CheckError> {
        let Some(split) = &self.outcome.split else { return Ok(Some(Vec::new())) };
        let Some(changed) = self.job.texts.changed(edits) else { return Ok(None) };
        let Some(all) = self.of_all_values(&changed, &self.outcome.launch) else { return Ok(None) };
        let findings_max = if left.is_empty() { 1 } else { crate::check::FINDINGS_MAX };
        let done = self.attempt_on(&changed, &all, findings_max, self.allowance.left())?;
        Ok(match done {
            Some(done) if done.verdict.is_proof() => Some(Vec::new()),
            Some(done) if done.verdict == Verdict::Violated => {
                (!done.more && done.left.iter().all(|key| left.contains(key))).then(Vec::new)
            }
            _ => Some(split.shown.clone()),
        })
    }

    /// The repair, if it holds for the other launches as well; else as one of this launch alone.
    fn for_all_launches(&mut self, edits: &[Edit], verdict: Verdict) -> Result<Repair, CheckError> {
        let mut within_bound = verdict == Verdict::ProvedUpToBound;
        let (mut n_launches, mut fails_elsewhere) = (1, false);
        for launch in self.job.kernel.launches.iter().filter(|launch| launch.name != self.outcome.launch.name)
        {
            let Some(done) = self.attempt_for(edits, launch, 1, self.allowance.left())? else { continue };
            if done.verdict.is_proof() {
                within_bound |= done.verdict == Verdict::ProvedUpToBound;
                n_launches += 1;
            }
            fails_elsewhere |= done.verdict == Verdict::Violated;
        }
        Ok(Repair { within_bound, n_launches, fails_elsewhere, ..Repair::of_launch(edits.to_vec()) })
    }

    fn attempt(&mut self, edits: &[Edit], findings_max: usize) -> Result<Option<Try>, CheckError> {
        self.attempt_for(edits, &self.outcome.launch, findings_max, self.most())
    }

    /// Whether something was found a few threads at a time, and the rest of the steps were spent on what else is wrong.
    fn has_looked_for_more(&self) -> bool {
        matches!(self.outcome.limit, Some(Limit::Rest { .. }))
    }

    /// The steps that a try may take.
    fn most(&self) -> u64 {
        effort::of_try(self.job.kernel, self.outcome)
    }

    /// Those of a first look at a change: most that mend nothing are known by then, and the others are asked again.
    fn soon(&self) -> u64 {
        effort::of_look(self.job.kernel, self.outcome)
    }

    /// A check of the changed program; `None` if there is none.
    fn attempt_for(
        &mut self,
        edits: &[Edit],
        launch: &Launch,
        findings_max: usize,
        most: u64,
    ) -> Result<Option<Try>, CheckError> {
        let Some(changed) = self.job.texts.changed(edits) else { return Ok(None) };
        self.attempt_with(&changed, launch, findings_max, most)
    }

    /// A check of other texts; `None` if they are no program.
    fn attempt_with(
        &mut self,
        texts: &Texts,
        launch: &Launch,
        findings_max: usize,
        most: u64,
    ) -> Result<Option<Try>, CheckError> {
        let Some(variant) = self.variant(texts, launch) else { return Ok(None) };
        self.attempt_on(texts, &variant, findings_max, most)
    }

    /// With the leaders that the findings are about.
    fn config_of_graph(&self, kernel: &Kernel) -> Config {
        Config { leaders: self.outcome.leaders.clone(), ..self.config(kernel, 1, self.most()) }
    }

    fn config(&self, kernel: &Kernel, findings_max: usize, most: u64) -> Config {
        let mut limits = Limits { findings_max, ..self.job.config.limits };
        if effort::is_one_execution(self.outcome) {
            // What has to be looked at in one execution still is not worth being stated in all.
            limits.phase_choices_max = limits.phase_choices_max.min(Limits::FEW_PHASE_CHOICES);
        }
        Config {
            properties: usual_properties(kernel),
            is_asked_by_name: false,
            unroll: self.outcome.unroll,
            unroll_max: self.outcome.unroll,
            budget: most.min(self.allowance.left()),
            limits,
            ..self.job.config.clone()
        }
    }

    /// The verdict of another kernel.
    fn verdict_of(
        &self,
        program: &Program,
        kernel: &Kernel,
        launch: &Launch,
    ) -> Result<Option<Verdict>, CheckError> {
        let config = self.config(kernel, 1, self.allowance.left());
        match check(program, kernel, launch, self.job.model, &config) {
            Ok(outcome) => Ok(Some(outcome.verdict)),
            Err(CheckError::Unsupported(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A check of other texts, of which the program is known; `None` if it has something that is not checked.
    fn attempt_on(
        &mut self,
        texts: &Texts,
        of: &Variant,
        findings_max: usize,
        most: u64,
    ) -> Result<Option<Try>, CheckError> {
        self.tries.n += 1;
        let config = self.config(&of.program.kernels[of.kernel], findings_max, most);
        // Whether what was found is there still is said soon; whatever else is wrong may take long.
        let is_long = effort::is_long(self.job.kernel, self.outcome);
        if findings_max == 1
            && (self.has_looked_for_more() || is_long)
            && !effort::is_one_execution(self.outcome)
        {
            let own = Config { properties: self.properties(), ..config.clone() };
            let stays = self.checked(texts, of, &own)?;
            let verdict = stays.as_ref().map(|tried| tried.verdict);
            if verdict == Some(Verdict::Violated) || is_long && !verdict.is_some_and(Verdict::is_proof) {
                return Ok(stays);
            }
        }
        let tried = self.checked(texts, of, &config)?;
        // What was found may be found within a bound within which nothing ends.
        let further = Config { unroll_max: self.job.config.unroll_max, ..config };
        if tried.as_ref().is_some_and(|tried| tried.verdict == Verdict::Vacuous)
            && further.unroll_max > self.outcome.unroll
        {
            return self.checked(texts, of, &further);
        }
        Ok(tried)
    }

    fn checked(&self, texts: &Texts, of: &Variant, config: &Config) -> Result<Option<Try>, CheckError> {
        let Variant { program, kernel, launch } = of;
        let kernel = &program.kernels[*kernel];
        let outcome = match check(program, kernel, launch, self.job.model, config) {
            Ok(outcome) => outcome,
            Err(CheckError::Unsupported(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let left = outcome.findings.iter().map(|finding| {
            let explanation = crate::explain::explain(&outcome.graph, self.job.model, finding);
            key(texts.sources(), &outcome.graph, finding.property, &explanation)
        });
        let left = left.collect();
        let more = outcome.more_findings || outcome.limit.is_some();
        let witness = outcome.findings.into_iter().next().map(|finding| finding.witness);
        let found = witness.map(|witness| (outcome.graph, witness));
        Ok(Some(Try { verdict: outcome.verdict, left, more, found }))
    }
}
