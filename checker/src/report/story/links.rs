//! Links between the steps of different lanes: what is read, what is overwritten, what synchronizes, what an operation starts
//! and completes; and the link that is missing.

use super::super::wording::Words;
use super::told::{Link, LinkKind, Step};
use crate::bits::BitMatrix;
use crate::event::{EventId, EventKind, MbarrierRole};
use crate::explain::{Explanation, Reason, StepKind, Subject};
use crate::findings::Story as Kind;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// What is collected.
struct Links<'a> {
    words: &'a Words<'a>,
    step_of: &'a SortedMap<EventId, usize>,
    steps: &'a [Step],
    found: SortedMap<(usize, usize, LinkKind), Link>,
}

/// All links of a story.
pub(super) fn links(
    words: &Words<'_>,
    explanation: &Explanation,
    step_of: &SortedMap<EventId, usize>,
    steps: &[Step],
) -> Vec<Link> {
    let mut links = Links { words, step_of, steps, found: SortedMap::new() };
    let relations = &words.witness.basis.relations;
    links.all(LinkKind::ReadsFrom, &relations[&BaseRelation::ReadsFrom], &[]);
    links.nearest(LinkKind::Synchronizes, &relations[&BaseRelation::Signals], &["MB-22"]);
    links.nearest(LinkKind::Starts, &relations[&BaseRelation::Issue], &["MM-27"]);
    links.nearest(LinkKind::Completes, &relations[&BaseRelation::Completion], &["AS-3"]);
    links.chain(explanation);
    links.overwrites(explanation);
    links.broken(explanation);
    links.found.into_values().collect()
}

impl Links<'_> {
    fn add(&mut self, (from, to): (EventId, EventId), kind: LinkKind, rules: &[&'static str]) {
        if let (Some(&from), Some(&to)) = (self.step_of.get(&from), self.step_of.get(&to)) {
            self.add_steps((from, to), kind, rules);
        }
    }

    fn add_steps(&mut self, (from, to): (usize, usize), kind: LinkKind, rules: &[&'static str]) {
        if from != to {
            let link = Link { from, to, kind, is_broken: false, rules: rules.to_vec() };
            self.found.entry((from, to, kind)).or_insert(link);
        }
    }

    /// The pairs of a relation between different lanes.
    fn all(&mut self, kind: LinkKind, relation: &BitMatrix, rules: &[&'static str]) {
        for pair in self.pairs(relation) {
            self.add_steps(pair, kind, rules);
        }
    }

    /// By step.
    fn pairs(&self, relation: &BitMatrix) -> SortedSet<(usize, usize)> {
        let mut pairs = SortedSet::new();
        for (&event, &from) in self.step_of {
            for to in relation.successors(event).filter_map(|to| self.step_of.get(&to)) {
                if self.steps[from].lane != self.steps[*to].lane {
                    pairs.insert((from, *to));
                }
            }
        }
        pairs
    }

    /// Those pairs that do not follow from others and the order of a lane.
    fn nearest(&mut self, kind: LinkKind, relation: &BitMatrix, rules: &[&'static str]) {
        let pairs = self.pairs(relation);
        let (lane, row) = (|step: usize| self.steps[step].lane, |step: usize| self.steps[step].row);
        let follows = |&&(from, to): &&(usize, usize)| {
            pairs.iter().any(|&(a, b)| {
                (a, b) != (from, to)
                    && lane(a) == lane(from)
                    && lane(b) == lane(to)
                    && row(a) >= row(from)
                    && row(b) <= row(to)
            })
        };
        let kept: Vec<(usize, usize)> = pairs.iter().filter(|pair| !follows(pair)).copied().collect();
        for pair in kept {
            self.add_steps(pair, kind, rules);
        }
    }

    /// What almost orders the accesses.
    fn chain(&mut self, explanation: &Explanation) {
        for step in explanation.chain.iter().flat_map(|chain| &chain.steps) {
            let pair = (step.from, step.to);
            match step.kind {
                StepKind::ProgramOrder | StepKind::Attempt => {}
                StepKind::Barrier => {
                    let is_warp = matches!(self.words.case.outcome.graph.meetings.get(&step.from), Some(meeting)
                        if meeting.name.contains("warp"));
                    let rules: &[&str] = if is_warp { &["MM-37"] } else { &["MM-34"] };
                    self.add(pair, LinkKind::Synchronizes, rules);
                }
                StepKind::Synchronizes => self.add(pair, LinkKind::Synchronizes, &["MM-36"]),
                StepKind::Issue => self.add(pair, LinkKind::Starts, &["MM-27"]),
                StepKind::Completion => self.add(pair, LinkKind::Completes, &["AS-3"]),
            }
        }
    }

    /// Writes that nobody saw, and updates that are lost.
    fn overwrites(&mut self, explanation: &Explanation) {
        for fact in &explanation.reads {
            if let Some(missed) = fact.missed.filter(|_| fact.source != Some(fact.read)) {
                self.add((fact.read, missed), LinkKind::FromReads, &["MM-43"]);
            }
        }
        for reason in &explanation.reasons {
            if let Reason::LostUpdate { write, read, lost, .. } = *reason {
                self.add((read, lost), LinkKind::FromReads, &["MM-43"]);
                self.add((lost, write), LinkKind::Coherence, &["MM-43"]);
            }
        }
        if let Subject::Race { earlier, later } = explanation.subject
            && self.words.witness.execution.coherence.contains(earlier, later)
        {
            self.add((earlier, later), LinkKind::Coherence, &["MM-43"]);
        }
    }

    /// The first link that does not hold, or the two accesses between which there is none.
    fn broken(&mut self, explanation: &Explanation) {
        let mut rules: Vec<&'static str> =
            explanation.reasons.iter().flat_map(|r| r.rules()).copied().collect();
        let mut seen = SortedSet::new();
        rules.retain(|&rule| seen.insert(rule));
        let is_proxy = |reason: &Reason| {
            matches!(
                reason,
                Reason::MissingProxyFence { .. }
                    | Reason::ProxyFencesOutOfOrder { .. }
                    | Reason::DifferentProxies { .. }
                    | Reason::TensormapNotPublished { .. }
                    | Reason::AliasWithoutFence { .. }
            )
        };
        let between = match &explanation.subject {
            Subject::Race { earlier, later } => Some((*earlier, *later)),
            Subject::Flag { kind, pair, .. } if !matches!(kind.story, Kind::Lifetime) => Some(*pair),
            _ => None,
        };
        let broken = explanation.chain.as_ref().and_then(|chain| chain.broken);
        let missed = explanation.reads.iter().find_map(|fact| Some((fact.missed?, fact.read)));
        let (pair, kind) = match (broken, between) {
            (Some(pair), _) => (pair, LinkKind::ReadsFrom),
            (None, Some(pair)) if explanation.reasons.iter().any(is_proxy) => (pair, LinkKind::Proxy),
            (None, Some(pair)) => (pair, LinkKind::Unordered),
            (None, None) => match missed.filter(|_| !explanation.reasons.is_empty()) {
                Some(pair) => (pair, LinkKind::Unordered),
                None => return,
            },
        };
        // An mbarrier or barrier passes on no value that is read.
        let passes_on = matches!(&self.words.case.outcome.graph.events[pair.1].kind,
            EventKind::Mbarrier(operation) if operation.role == MbarrierRole::Wait)
            || matches!(&self.words.case.outcome.graph.events[pair.1].kind, EventKind::ClusterWait);
        let kind = if passes_on && kind == LinkKind::ReadsFrom { LinkKind::Synchronizes } else { kind };
        if let (Some(&from), Some(&to)) = (self.step_of.get(&pair.0), self.step_of.get(&pair.1))
            && from != to
        {
            self.found.insert((from, to, kind), Link { from, to, kind, is_broken: true, rules });
        }
    }
}

/// Says at passages whose arrivals let the thread pass.
pub(super) fn passed_on(links: &[Link], steps: &mut [Step]) {
    const NAMED_MAX: usize = 4;
    for to in 0..steps.len() {
        let arriving = links.iter().filter(|link| {
            // At a barrier the generation says it.
            let is_wait = steps[to].what.contains("phase");
            link.to == to
                && (link.kind == LinkKind::Completes || is_wait && link.kind == LinkKind::Synchronizes)
        });
        let mut rows: Vec<usize> = arriving.map(|link| steps[link.from].row + 1).collect();
        rows.sort_unstable();
        rows.dedup();
        if !steps[to].from.is_empty() || rows.is_empty() || rows.len() > NAMED_MAX {
            continue;
        }
        let numbers: Vec<String> = rows.iter().map(ToString::to_string).collect();
        let s = if rows.len() == 1 { "" } else { "s" };
        steps[to].from = format!("after step{s} {}", numbers.join(", "));
    }
}
