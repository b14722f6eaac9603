//! The search of `fix`: fewest changes first, of as many the cheapest.
//!
//! A state is a text. From one that is violated, proposals for its findings lead to others, in order of the number of
//! changes so far and of what they cost. A text that is proved for everything ends the search. One that is
//! still violated is gone on from only if some finding is gone and none is new, so it is no search of all that could be
//! done. What was found is made smaller at the end: a change that is not needed is left out, and one that can be weaker is.

use super::cost::{cost, of_statement};
use super::diff;
use super::trial::{Answer, Failure, Place, Setting, Trial};
use super::weaken::weaker;
use crate::check::{CheckError, FINDINGS_MAX};
use crate::explain::repair::{
    Edit, EditKind, Ground, HANDED_MAX, Handed, Key, Piece, Syntax, Texts, Wrong, is_instead_of_meeting, key,
    only_hides, proposals, truths,
};
use crate::verdict::Verdict;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::isa::strength::{SCOPES, height};
use fencepost_dsl::sorted::SortedSet;
use std::collections::BTreeMap;

/// What a change costs more that is tried behind the meeting it would stand in for.
const MEETING: &str = "bar.sync 0;";
/// How many times the steps of a try it may take where nothing else is left to be tried.
const PATIENCE: u64 = 16;

/// Changes proposed for a state that are kept, the cheapest.
const PROPOSALS_MAX: usize = 160;
/// States that are gone on from.
const STATES_MAX: usize = 16;
/// Texts tried behind one with which everything is proved, for one with which each read sees what it had better see.
const BEHIND_MAX: usize = 24;
/// Steps from the text as it is.
const DEPTH_MAX: usize = 6;

/// What came of it.
pub enum Fix {
    /// Everything is proved as it is.
    Nothing {
        /// Whether only within the loop bound.
        within_bound: bool,
    },
    /// Everything is proved with these texts.
    Found(Found),
    /// No set of changes was found.
    None(Unfixed),
}

/// Texts of which everything is proved.
pub struct Found {
    /// All files.
    pub after: Texts,
    /// The lines that other lines take the place of.
    pub pieces: Vec<Piece>,
    /// The changes, of the text as it was; none, where one changes what another has made.
    pub edits: Vec<Edit>,
    /// How many changes they come from.
    pub n_changes: usize,
    /// What they cost.
    pub cost: u32,
    /// Whether only within the loop bound.
    pub within_bound: bool,
    /// How many launches were checked.
    pub n_launches: usize,
    /// Texts tried.
    pub n_tried: usize,
    /// Whether the budget was used up before all that is less was tried.
    pub is_over: bool,
}

/// Why nothing was found.
pub struct Unfixed {
    /// Launches that are not proved, as they are.
    pub failures: Vec<Failure>,
    /// Whether something is violated, and not only undecided.
    pub is_violated: bool,
    /// Texts tried.
    pub n_tried: usize,
    /// Whether the budget was used up before everything was tried.
    pub is_over: bool,
}

struct State {
    texts: Texts,
    /// Changes up to it, each list for the text before.
    steps: Vec<Vec<Edit>>,
    place: Place,
    keys: SortedSet<Key>,
    /// What racing reads should be able to see.
    handed: Vec<Handed>,
}

/// What is to be tried: fewest changes first, then by cost, by how likely it is meant, and in order of proposal.
type Order = (usize, u32, u32, usize);

struct Search<'a> {
    trial: Trial<'a>,
    states: Vec<State>,
    queue: BTreeMap<Order, (usize, Vec<Edit>)>,
    n_proposed: usize,
    tried: SortedSet<Vec<String>>,
    /// Kernels with a violation that are still to be mended.
    open: SortedSet<usize>,
    /// What reads had better see, and of which launch.
    better: Vec<(Place, Handed)>,
    /// Whether they do with what was found, so that it is kept.
    keeps: bool,
}

/// Looks for the fewest and cheapest changes after which everything is proved.
///
/// # Errors
/// See [`CheckError`].
pub fn fix(texts: &Texts, setting: Setting<'_>) -> Result<Fix, CheckError> {
    let mut trial = Trial::new(setting);
    let (proved, failures) = trial.first(texts, FINDINGS_MAX)?;
    let n_launches = proved.len() + failures.len();
    if failures.is_empty() {
        let within_bound = proved.iter().any(|outcome| outcome.verdict == Verdict::ProvedUpToBound);
        return Ok(Fix::Nothing { within_bound });
    }
    let is_violated = |failure: &&Failure| failure.outcome.verdict == Verdict::Violated;
    let open: SortedSet<usize> = failures.iter().filter(is_violated).map(|failure| failure.place.0).collect();
    // What is undecided is no bug that could be mended.
    let can_try = texts.can_change() && failures.iter().all(|failure| is_violated(&failure));
    let mut search = Search {
        trial,
        states: Vec::new(),
        queue: BTreeMap::new(),
        n_proposed: 0,
        tried: SortedSet::new(),
        open,
        better: Vec::new(),
        keeps: false,
    };
    let mut found = None;
    if let Some(first) = failures.first().filter(|_| can_try) {
        search.go_on(first, Vec::new(), 0);
        let known = search.known(texts, &failures)?;
        found = search.run(known)?;
    }
    if let Some((after, steps, within_bound)) = found {
        let smaller = search.smaller(texts, &after, &steps)?;
        let (after, n_changes, price, edits) = match smaller {
            Some((after, edits)) => (after, edits.len(), cost(&edits), edits),
            None => (after, steps.iter().map(Vec::len).sum(), cost(steps.iter().flatten()), Vec::new()),
        };
        let after = diff::tidied(texts.sources(), &after);
        let pieces = diff::pieces(texts.sources(), after.sources());
        let n_tried = search.trial.n_tried;
        return Ok(Fix::Found(Found {
            after,
            pieces,
            edits,
            n_changes,
            cost: price,
            within_bound,
            n_launches,
            n_tried,
            is_over: search.trial.is_over(),
        }));
    }
    let is_violated = failures.iter().any(|failure| failure.outcome.verdict == Verdict::Violated);
    let (n_tried, is_over) = (search.trial.n_tried, search.trial.is_over());
    Ok(Fix::None(Unfixed { failures, is_violated, n_tried, is_over }))
}

/// A text that holds, the changes that lead to it, and whether it does so within the loop bound only.
type Holds = (Texts, Vec<Vec<Edit>>, bool);

impl Search<'_> {
    /// What `fencepost check` would offer, if it mends all there is.
    fn known(&mut self, texts: &Texts, failures: &[Failure]) -> Result<Option<Holds>, CheckError> {
        let mut edits: Vec<Edit> = Vec::new();
        let mut kernels: SortedSet<usize> = SortedSet::new();
        for failure in failures.iter().filter(|failure| kernels.insert(failure.place.0)) {
            let Some(own) = self.trial.help(failure)? else { return Ok(None) };
            for edit in own {
                if !edits.contains(&edit) {
                    edits.push(edit);
                }
            }
        }
        let Some(changed) = texts.changed(&edits) else { return Ok(None) };
        self.trial.patience = PATIENCE;
        let answer = self.trial.answer(&changed, 1, None)?;
        self.trial.patience = 1;
        let Answer::Holds { within_bound } = answer else { return Ok(None) };
        Ok(Some((changed, vec![edits], within_bound)))
    }

    /// Looks for changes that mend everything, and are fewer or cheaper than what is known to.
    fn run(&mut self, known: Option<Holds>) -> Result<Option<Holds>, CheckError> {
        let price =
            |steps: &[Vec<Edit>]| (steps.iter().map(Vec::len).sum::<usize>(), cost(steps.iter().flatten()));
        let best = known.as_ref().map(|(_, steps, _)| price(steps));
        let mut undecided: Vec<(Order, (usize, Vec<Edit>))> = Vec::new();
        // What mends everything, and has some read see what it had better not; and how many were tried behind it.
        let mut second: Option<(Holds, usize)> = None;
        loop {
            if let Some((_, behind)) = &mut second {
                *behind += 1;
                if *behind > BEHIND_MAX {
                    break;
                }
            }
            let Some((order, (from, edits))) = self.queue.pop_first() else {
                // A proof may take many times what it takes to find something violated.
                if known.is_some() || undecided.is_empty() || self.trial.patience > 1 {
                    break;
                }
                self.trial.patience = PATIENCE;
                for (_, (from, edits)) in &undecided {
                    if let Some(texts) = self.states[*from].texts.changed(edits) {
                        self.tried.remove(&all_of(&texts));
                    }
                }
                self.queue.extend(undecided.drain(..));
                continue;
            };
            let (n_changes, own_cost, ..) = order;
            if self.trial.is_over() || best.is_some_and(|best| (n_changes, own_cost) >= best) {
                break;
            }
            let Some(texts) = self.states[from].texts.changed(&edits) else { continue };
            if !self.tried.insert(all_of(&texts)) {
                continue;
            }
            let place = self.states[from].place;
            let steps: Vec<Vec<Edit>> = self.states[from].steps.iter().cloned().chain([edits]).collect();
            match self.trial.answer(&texts, 1, Some(place))? {
                Answer::Holds { within_bound } => {
                    if !self.only_hides(&texts)? {
                        self.keeps = self.keeps_better(&texts)?;
                        let found = (texts, steps, within_bound);
                        if self.keeps {
                            return Ok(Some(found));
                        }
                        second.get_or_insert((found, 0));
                    }
                }
                Answer::Fails(failure) => self.failed(from, *failure, steps, n_changes)?,
                Answer::Open(_) => {
                    let edits = steps.last().cloned().unwrap_or_default();
                    undecided.push((order, (from, edits)));
                }
                Answer::NoProgram => {}
            }
        }
        let Some((second, _)) = second else {
            self.keeps = match &known {
                Some((texts, ..)) => self.keeps_better(texts)?,
                None => false,
            };
            return Ok(known);
        };
        // What `fencepost check` offers may cost more, and have reads see more of what they should.
        if let Some(known) = known
            && self.keeps_better(&known.0)?
        {
            self.keeps = true;
            return Ok(Some(known));
        }
        self.keeps = false;
        Ok(Some(second))
    }

    /// Whether with a text of which everything is proved each read sees what it had better see.
    fn keeps_better(&mut self, texts: &Texts) -> Result<bool, CheckError> {
        let Some(program) = texts.program() else { return Ok(true) };
        for (place, handed) in self.better.clone() {
            let kernel = &program.kernels[place.0];
            let only = (!kernel.is_program).then_some(kernel.name.as_str());
            let syntax = Syntax::new(texts.sources(), only);
            let Some(asked) = handed.asked(texts, &syntax) else { continue };
            if let Answer::Fails(_) = self.trial.answer(&asked, 1, Some(place))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a text with which everything is proved only keeps from being seen what was found in the first one.
    fn only_hides(&mut self, after: &Texts) -> Result<bool, CheckError> {
        let State { texts, place, keys: found, handed, .. } = &self.states[0];
        let (place, trial) = (*place, &mut self.trial);
        let events = trial.events(texts, place).zip(trial.events(after, place));
        only_hides(
            ((texts, found), (after, &SortedSet::new())),
            events.as_ref(),
            handed,
            None,
            &mut |texts, _| {
                Ok(match trial.answer(&texts.again(), FINDINGS_MAX, Some(place))? {
                    Answer::Holds { .. } => Some(Wrong { verdict: Verdict::Proved, keys: SortedSet::new() }),
                    Answer::Fails(failure) | Answer::Open(failure) => {
                        Some(Wrong { verdict: failure.outcome.verdict, keys: keys(&failure) })
                    }
                    Answer::NoProgram => None,
                })
            },
        )
    }

    /// Goes on from a text that is violated, if it is nearer to a proof.
    fn failed(
        &mut self,
        from: usize,
        failure: Failure,
        steps: Vec<Vec<Edit>>,
        n_changes: usize,
    ) -> Result<(), CheckError> {
        let before = &self.states[from];
        let (kernel, launch) = before.place;
        if failure.place.0 != kernel {
            // The kernel is mended. Others do not depend on how, but for functions that they share.
            if self.open.contains(&failure.place.0) {
                self.open.remove(&kernel);
                self.queue.clear();
                self.expand(&failure.texts, steps, n_changes)?;
            }
            return Ok(());
        }
        let is_nearer = failure.place.1 != launch || {
            let left = keys(&failure);
            left.iter().all(|key| before.keys.contains(key))
        };
        if is_nearer && steps.len() < DEPTH_MAX && self.states.len() < STATES_MAX {
            let parent = (failure.place == before.place).then(|| before.keys.clone());
            let texts = failure.texts.again();
            if let Answer::Fails(all) = self.trial.answer(&texts, FINDINGS_MAX, Some(failure.place))? {
                let left = keys(&all);
                let is_less = parent.is_none_or(|known| left.len() < known.len() && left.is_subset(&known));
                if is_less && all.place == failure.place {
                    self.go_on(&all, steps, n_changes);
                }
            }
        }
        Ok(())
    }

    fn expand(&mut self, texts: &Texts, steps: Vec<Vec<Edit>>, n_changes: usize) -> Result<(), CheckError> {
        if let Answer::Fails(all) = self.trial.answer(&texts.again(), FINDINGS_MAX, None)? {
            self.go_on(&all, steps, n_changes);
        }
        Ok(())
    }

    /// Takes a text as a state, and queues what is proposed for its findings.
    fn go_on(&mut self, failure: &Failure, steps: Vec<Vec<Edit>>, n_changes: usize) {
        let id = self.states.len();
        let kernel = &failure.program.kernels[failure.place.0];
        let only = (!kernel.is_program).then_some(kernel.name.as_str());
        let syntax = Syntax::new(failure.texts.sources(), only);
        let truths = truths(&failure.program);
        let (texts, outcome) = (&failure.texts, &failure.outcome);
        let ground = |explanation| Ground { texts, syntax: &syntax, outcome, explanation, truths: &truths };
        let mut found: Vec<(usize, u32, u32, Vec<Edit>)> = Vec::new();
        let mut handed: Vec<Handed> = Vec::new();
        let is_first = self.states.iter().all(|state| state.place.0 != failure.place.0);
        if let Some(explanation) = failure.explanations.first().filter(|_| is_first) {
            let ground = ground(explanation);
            let better = Handed::better(&ground).into_iter().take(HANDED_MAX);
            self.better.extend(better.map(|handed| (failure.place, handed)));
        }
        for explanation in &failure.explanations {
            let ground = ground(explanation);
            handed.extend(Handed::of(&ground));
            for proposal in proposals(&ground) {
                if found.iter().all(|(.., known)| *known != proposal.edits) {
                    let n = proposal.edits.len();
                    let more = if is_instead_of_meeting(proposal.rank) { of_statement(MEETING) } else { 0 };
                    found.push((n, cost(&proposal.edits) + more, proposal.rank, proposal.edits));
                }
            }
        }
        found.sort_by_key(|&(n, price, rank, _)| (n, price, rank));
        let so_far = cost(steps.iter().flatten());
        for (n, price, rank, edits) in found.into_iter().take(PROPOSALS_MAX) {
            self.n_proposed += 1;
            self.queue.insert((n_changes + n, so_far + price, rank, self.n_proposed), (id, edits));
        }
        let (texts, place) = (failure.texts.again(), failure.place);
        self.states.push(State { texts, steps, place, keys: keys(failure), handed });
    }

    /// The same changes without those that are not needed, and as weak as they can be; as changes of the first text.
    fn smaller(
        &mut self,
        texts: &Texts,
        after: &Texts,
        steps: &[Vec<Edit>],
    ) -> Result<Option<(Texts, Vec<Edit>)>, CheckError> {
        let Some(mut edits) = flat(steps) else { return Ok(None) };
        let is_same = texts.changed(&edits).is_some_and(|flat| all_of(&flat) == all_of(after));
        if !is_same {
            return Ok(None);
        }
        for i in (0..edits.len()).rev() {
            // Half of a change by which one statement does what two did leaves an access out, or does it twice.
            if edits.iter().any(Edit::removes) && (edits[i].removes() || edits[i].updates()) {
                continue;
            }
            let mut fewer = edits.clone();
            fewer.remove(i);
            if !fewer.is_empty() && self.holds(texts, &fewer)? {
                edits = fewer;
            }
        }
        for i in 0..edits.len() {
            'weaker: loop {
                for less in weaker_edits(&edits[i]) {
                    let mut changed = edits.clone();
                    changed[i] = less;
                    if self.holds(texts, &changed)? {
                        edits = changed;
                        continue 'weaker;
                    }
                }
                break;
            }
        }
        Ok(texts.changed(&edits).map(|after| (after, edits)))
    }

    fn holds(&mut self, texts: &Texts, edits: &[Edit]) -> Result<bool, CheckError> {
        if self.trial.is_over() {
            return Ok(false);
        }
        let Some(changed) = texts.changed(edits) else { return Ok(false) };
        let holds = matches!(self.trial.answer(&changed, 1, None)?, Answer::Holds { within_bound: false });
        // A part of what mends may hide the rest.
        Ok(holds && !self.only_hides(&changed)? && (!self.keeps || self.keeps_better(&changed)?))
    }
}

fn keys(failure: &Failure) -> SortedSet<Key> {
    assert!(!failure.outcome.verdict.is_proof());
    let found = failure.outcome.findings.iter().zip(&failure.explanations);
    let sources = failure.texts.sources();
    found
        .map(|(finding, explanation)| key(sources, &failure.outcome.graph, finding.property, explanation))
        .collect()
}

fn all_of(texts: &Texts) -> Vec<String> {
    let sources = texts.sources();
    sources.ids().map(|file| sources.file(file).text.clone()).collect()
}

/// A change that does one step less, and still more than nothing.
fn weaker_edits(edit: &Edit) -> Vec<Edit> {
    let with = |kind: EditKind, from: &str, to: &str| {
        let mut pieces = edit.pieces.clone();
        for piece in &mut pieces {
            piece.text = piece.text.replacen(from, to, 1);
        }
        Edit { kind, pieces }
    };
    match &edit.kind {
        EditKind::Replace { span, before, after } => {
            let is_opcode = before.contains('.') && !before.contains(' ');
            let found = weaker(after).into_iter().filter(|less| is_opcode && keeps(before, less));
            let kind = |less: &str| EditKind::Replace {
                span: *span,
                before: before.clone(),
                after: less.to_owned(),
            };
            found.map(|less| with(kind(&less), after, &less)).collect()
        }
        EditKind::Insert { text, is_after, anchor } => {
            let opcode = text.split([' ', ';']).next().unwrap_or("");
            let kind = |text: String| EditKind::Insert { text, is_after: *is_after, anchor: *anchor };
            let found = weaker(opcode).into_iter();
            found.map(|less| with(kind(text.replacen(opcode, &less, 1)), opcode, &less)).collect()
        }
        EditKind::Move { .. } => Vec::new(),
    }
}

/// Whether an opcode orders at least what another one does, in sem and in scope, and is not that one.
fn keeps(before: &str, less: &str) -> bool {
    let words = |opcode: &str| opcode.split('.').map(str::to_owned).collect::<Vec<_>>();
    let sems = |opcode: &str| words(opcode).iter().map(|word| height(word)).max().unwrap_or(0);
    let scope = |opcode: &str| {
        let words = words(opcode);
        SCOPES.iter().rposition(|scope| words.iter().any(|word| word == scope))
    };
    let has = |opcode: &str, sem: &str| words(opcode).iter().any(|word| word == sem || word == "acq_rel");
    let kept = ["acquire", "release"].iter().all(|sem| !has(before, sem) || has(less, sem));
    before != less && kept && sems(less) >= sems(before) && scope(less) >= scope(before)
}

/// Changes of one text after the other, as changes of the first one; `None` where one changes what another has made.
fn flat(steps: &[Vec<Edit>]) -> Option<Vec<Edit>> {
    let mut flat: Vec<Edit> = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        for edit in step {
            let mut edit = edit.clone();
            for earlier in steps[..n].iter().rev() {
                for piece in &mut edit.pieces {
                    piece.span = before(earlier, piece.span)?;
                }
            }
            flat.push(edit);
        }
    }
    Some(flat)
}

/// Where a place was before some changes.
fn before(edits: &[Edit], span: Span) -> Option<Span> {
    let mut pieces: Vec<&Piece> =
        edits.iter().flat_map(|edit| &edit.pieces).filter(|piece| piece.span.file == span.file).collect();
    pieces.sort_by_key(|piece| (piece.span.start, piece.span.end));
    let old = |at: u32| {
        let (at, mut delta) = (i64::from(at), 0);
        for piece in &pieces {
            let start = i64::from(piece.span.start) + delta;
            let end = start + i64::try_from(piece.text.len()).ok()?;
            if at <= start {
                break;
            }
            if at < end {
                return None;
            }
            delta = end - i64::from(piece.span.end);
        }
        u32::try_from(at - delta).ok()
    };
    Some(Span { start: old(span.start)?, end: old(span.end)?, ..span })
}

#[cfg(test)]
mod tests {
    use super::{keeps, weaker_edits};
    use crate::explain::repair::{Edit, EditKind, Piece};
    use fencepost_dsl::{FileId, Span};

    #[test]
    fn a_weaker_change_never_takes_away_what_was_there() {
        assert!(keeps("st.relaxed.cta.u32", "st.release.cta.u32"));
        assert!(keeps("st.weak.u32", "st.relaxed.cta.u32"));
        assert!(!keeps("st.relaxed.gpu.u32", "st.release.cta.u32"), "the scope is narrower");
        assert!(!keeps("atom.acquire.gpu.add.u32", "atom.release.sys.add.u32"), "it acquired");
        assert!(!keeps("st.relaxed.gpu.u32", "st.relaxed.gpu.u32"), "it is the same");
    }

    #[test]
    fn a_new_fence_is_tried_in_each_weaker_form() {
        let span = Span::new(FileId(0), 5, 5);
        let text = "fence.sc.gpu;".to_owned();
        let pieces = vec![Piece { span, text: format!("\n    {text}") }];
        let edit = Edit { kind: EditKind::Insert { text, is_after: true, anchor: span }, pieces };
        let found: Vec<String> =
            weaker_edits(&edit).into_iter().map(|edit| edit.pieces[0].text.clone()).collect();
        assert_eq!(found, ["\n    fence.sc.cluster;", "\n    fence.acq_rel.gpu;"]);
    }
}
