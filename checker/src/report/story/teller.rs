//! A story is made of a witness and the facts of a finding: who is in it, what is folded, which order it has.

use super::super::case::Case;
use super::super::wording::Words;
use super::folding::Folding;
use super::steps::Group;
use super::told::{Link, Place, Step, Story};
use super::{cast, links, opcodes, order, phases, steps};
use crate::bits::BitMatrix;
use crate::encode::goal::GoalKind;
use crate::event::{AgentId, EventGraph, EventId, EventKind};
use crate::explain::{Explanation, Subject};
use crate::witness::Witness;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// What is needed to make one.
pub(super) struct Teller<'a> {
    pub(super) words: Words<'a>,
    pub(super) explanation: &'a Explanation,
    pub(super) cast: cast::Cast,
    pub(super) groups: Vec<Group>,
    pub(super) folding: Folding,
}

impl Story {
    /// The story of a finding.
    pub fn new(case: &Case<'_>, witness: &Witness, explanation: &Explanation) -> Self {
        let (teller, hard, flow) = Teller::new(case, witness, explanation);
        teller.tell(&hard, &flow)
    }

    /// The events of the steps that would be shown, in an order in which they can happen.
    pub fn events(case: &Case<'_>, witness: &Witness, explanation: &Explanation) -> Vec<EventId> {
        let (teller, hard, flow) = Teller::new(case, witness, explanation);
        let order = teller.order(&hard, &flow).into_iter();
        order
            .filter(|&group| teller.is_shown(group))
            .flat_map(|group| teller.groups[group].events.clone())
            .collect()
    }
}

/// A step that is not yet in its row.
pub(super) struct Draft {
    pub(super) step: Step,
    /// Its group; none for what is no event.
    pub(super) group: Option<usize>,
    pub(super) key: Option<String>,
    pub(super) after: Vec<usize>,
}

impl<'a> Teller<'a> {
    /// With what comes before what: without values that are read, and with them.
    fn new(
        case: &'a Case<'a>,
        witness: &'a Witness,
        explanation: &'a Explanation,
    ) -> (Self, BitMatrix, BitMatrix) {
        let words = Words { case, witness };
        let hard = order::hard(witness);
        let flow = order::flow(witness, &hard);
        let cast = cast::cast(&words, explanation, &flow);
        let groups = steps::groups(&words);
        let folding = Folding::new(&words, explanation, &cast, &groups);
        (Self { words, explanation, cast, groups, folding }, hard, flow)
    }

    /// The groups in an order in which they can happen.
    fn order(&self, hard: &BitMatrix, flow: &BitMatrix) -> Vec<usize> {
        let bare: Vec<(AgentId, Vec<EventId>)> =
            self.groups.iter().map(|group| (group.agent, group.events.clone())).collect();
        order::ordered(self.graph(), &bare, [flow, hard, &order::firm(self.words.witness)])
    }

    fn graph(&self) -> &EventGraph {
        &self.words.case.outcome.graph
    }

    fn is_shown(&self, group: usize) -> bool {
        let group = &self.groups[group];
        self.folding.lane_of(group.agent).is_some()
            && !self.folding.is_folded(group.agent)
            && group.events.iter().any(|&event| self.cast.events.contains(event))
    }

    fn tell(&self, hard: &BitMatrix, flow: &BitMatrix) -> Story {
        let order = self.order(hard, flow);
        let mut drafts = self.drafts(&order, flow);
        self.add_ends(&mut drafts);
        self.told(drafts)
    }

    /// Puts steps into rows, and links them.
    pub(super) fn told(&self, drafts: Vec<Draft>) -> Story {
        let placed: Vec<order::Placed<'_>> = drafts
            .iter()
            .map(|draft| order::Placed {
                lane: draft.step.lane,
                after: draft.after.clone(),
                key: draft.key.as_deref(),
            })
            .collect();
        let rows = order::rows(&placed);
        let mut step_of: SortedMap<EventId, usize> = SortedMap::new();
        for (number, draft) in drafts.iter().enumerate() {
            let events = draft.group.map_or(&[][..], |group| self.groups[group].events.as_slice());
            step_of.extend(events.iter().map(|&event| (event, number)));
        }
        let own_step_of = step_of.clone();
        self.folding.stand_in(&self.groups, &mut step_of);
        let mut all: Vec<Step> = drafts.iter().map(|draft| draft.step.clone()).collect();
        all.iter_mut().zip(&rows).for_each(|(step, &row)| step.row = row);
        let mut links = links::links(&self.words, self.explanation, &step_of, &all);
        // What a lane stands for need not have happened in the order of the thread that is shown.
        let is_shown_order = |link: &Link| {
            let is_for_others = |step: usize| !self.folding.lanes()[all[step].lane].others.is_empty();
            let goes_down = all[link.from].row < all[link.to].row;
            link.is_broken || goes_down || !is_for_others(link.from) && !is_for_others(link.to)
        };
        links.retain(is_shown_order);
        for (draft, step) in drafts.iter().zip(&mut all) {
            // Where those that a lane stands for have read different values, none is said.
            if let Some(group) = draft.group.filter(|_| !step.what.is_empty()) {
                step.from = self.from(&self.groups[group], &own_step_of, &rows);
            }
        }
        links::passed_on(&links, &mut all);
        let opcodes = opcodes::abbreviate(&mut all);
        Story {
            headline: self.words.headline(self.explanation),
            code: self.explanation.code,
            rules: self.explanation.rules.clone(),
            n_rows: rows.iter().max().map_or(0, |row| row + 1),
            phases: phases::phases(&self.words, &self.cast.mbarriers),
            why: self.words.reasons(self.explanation),
            notes: self.notes(),
            lanes: self.folding.lanes().to_vec(),
            steps: all,
            links,
            opcodes,
        }
    }

    /// The steps to show, in order, each with those that it comes after.
    pub(super) fn drafts(&self, order: &[usize], flow: &BitMatrix) -> Vec<Draft> {
        let mut drafts: Vec<Draft> = Vec::new();
        let backwards = flow.inverse();
        // Of each group that was passed: the steps at or before it that matter for what comes next.
        let mut known: SortedMap<usize, SortedSet<usize>> = SortedMap::new();
        let mut group_of: SortedMap<EventId, usize> = SortedMap::new();
        for (number, group) in self.groups.iter().enumerate() {
            group_of.extend(group.events.iter().map(|&event| (event, number)));
        }
        for &number in order {
            let group = &self.groups[number];
            let before: SortedSet<usize> = group
                .events
                .iter()
                .flat_map(|&event| backwards.successors(event))
                .filter_map(|earlier| group_of.get(&earlier))
                .filter(|&&earlier| earlier != number)
                .collect::<SortedSet<_>>()
                .into_iter()
                .filter_map(|earlier| known.get(earlier))
                .flatten()
                .copied()
                .collect();
            if !self.is_shown(number) {
                known.insert(number, before);
                continue;
            }
            known.insert(number, SortedSet::from([drafts.len()]));
            drafts.push(self.draft(number, before.into_iter().collect()));
        }
        drafts
    }

    fn draft(&self, number: usize, after: Vec<usize>) -> Draft {
        let group = &self.groups[number];
        let graph = self.graph();
        let site = group.site.map(|site| &graph.sites[site]);
        let [object, what, then] = self.folding.outcome(&self.words, &self.groups, number);
        let mark = self.mark(&group.events);
        let mut details: Vec<String> = self.folding.operation_number(group.agent).into_iter().collect();
        let calls = group.events.first().map_or(&[][..], |&event| graph.events[event].calls.as_slice());
        details.extend(self.called(calls));
        details.extend(Words::round(&group.iterations));
        details.extend(group.is_try.then(|| "a try that fails".to_owned()));
        let opcode = site.map_or_else(String::new, |site| site.text.clone());
        let key = (group.may_share() && mark.is_empty()).then(|| {
            format!(
                "{:?} {:?} {calls:?} {opcode} {object} {what} {:?}",
                group.site, group.iterations, group.is_try
            )
        });
        let step = Step {
            lane: self.folding.lane_of(group.agent).unwrap_or(0),
            row: 0,
            place: site.map(|site| self.place(site.span)),
            short: opcode.clone(),
            opcode,
            object,
            what,
            from: String::new(),
            then,
            details,
            rules: self.rules(&group.events, mark),
            mark,
        };
        Draft { step, group: Some(number), key, after }
    }

    fn place(&self, span: Span) -> Place {
        let sources = self.words.case.sources;
        let is_own = span.file == self.words.case.kernel.span.file;
        Place {
            span,
            file: (!is_own).then(|| sources.file(span.file).name.clone()),
            line: sources.line_column(span).line,
        }
    }

    /// By which calls a thread came to a step in a function.
    fn called(&self, calls: &[Span]) -> Option<String> {
        let lines: Vec<String> = calls.iter().map(|call| self.place(*call).to_string()).collect();
        let (last, init) = lines.split_last()?;
        Some(if init.is_empty() {
            format!("call on line {last}")
        } else {
            format!("calls on lines {} and {last}", init.join(", "))
        })
    }

    fn mark(&self, events: &[EventId]) -> &'static str {
        let (earlier, later) = match self.explanation.subject {
            Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
                (earlier, later)
            }
            Subject::Lifetime { access, .. } => (access, access),
            _ => return "",
        };
        match (events.contains(&earlier), events.contains(&later)) {
            (true, true) if earlier == later => "✗",
            (true, true) => "(1) (2)",
            (true, false) => "(1)",
            (false, true) => "(2)",
            (false, false) => "",
        }
    }

    /// The rules of reasons that name it, and of what it is.
    fn rules(&self, events: &[EventId], mark: &str) -> Vec<&'static str> {
        let mut rules: Vec<&'static str> = Vec::new();
        let naming = self.explanation.reasons.iter();
        let naming = naming.filter(|reason| reason.events().iter().any(|event| events.contains(event)));
        rules.extend(naming.flat_map(|reason| reason.rules()));
        if !mark.is_empty() {
            rules.extend(self.explanation.kind.rules);
        }
        rules.extend(events.first().and_then(|&event| rule_of(&self.graph().events[event].kind)));
        let mut seen = SortedSet::new();
        rules.retain(|&rule| seen.insert(rule));
        rules
    }

    /// Where the values of its reads come from.
    fn from(&self, group: &Group, step_of: &SortedMap<EventId, usize>, rows: &[usize]) -> String {
        let graph = self.graph();
        let mut from: Vec<String> = Vec::new();
        for &event in &group.events {
            let pieces = self.words.witness.execution.sources.get(&event);
            for &(source, _) in pieces.into_iter().flatten() {
                let name = match step_of.get(&source) {
                    Some(&step) => format!("from step {}", rows[step] + 1),
                    None if graph.events[source].agent.is_none() => "(initial value)".to_owned(),
                    None => format!("from {}", self.words.thread(source)),
                };
                if !from.contains(&name) {
                    from.push(name);
                }
            }
        }
        from.join(" and ")
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        if let Some(values) = Words::parameters(self.explanation) {
            notes.push(format!("with {values}"));
        }
        if let Subject::Final { span } = self.explanation.subject {
            let text = self.words.case.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
            notes.push(format!("at the end `{text}` is false ({})", self.words.line(span)));
        }
        let n_more = self.folding.n_threads_left_out(&self.graph().hierarchy);
        if n_more > 0 {
            let s = if n_more == 1 { "" } else { "s" };
            notes.push(format!("{n_more} more thread{s} without a step that matters here"));
        }
        notes
    }

    /// What is no event: waits without end, and statements that fail.
    fn add_ends(&self, drafts: &mut Vec<Draft>) {
        match &self.explanation.subject {
            Subject::Deadlock { roles, .. } => {
                for role in roles {
                    let what = self.words.stays(role);
                    for &agent in &role.agents {
                        self.add_end(drafts, agent, role.span, (&what, Words::round(&role.iterations)));
                    }
                }
            }
            Subject::Assertion { agent, span, iterations } => {
                self.add_end(drafts, *agent, *span, ("fails", Words::round(iterations)));
            }
            Subject::Bounds { agent, span, iterations, object, index, .. } => {
                let what = format!("index {index} is outside `{object}`");
                self.add_end(drafts, *agent, *span, (&what, Words::round(iterations)));
            }
            Subject::Misuse { agent, span, iterations, .. } => {
                let lane = self.folding.lane_of(*agent);
                let own = drafts.iter_mut().rev().find(|draft| Some(draft.step.lane) == lane);
                match own.filter(|draft| draft.step.place.as_ref().is_some_and(|place| place.span == *span)) {
                    Some(draft) => {
                        draft.step.mark = "✗";
                        draft.key = None;
                    }
                    None => self.add_end(drafts, *agent, *span, ("breaks a rule", Words::round(iterations))),
                }
            }
            Subject::Lifetime { owner, ended: true, last: Some(last), .. } => {
                if let (Some(agent), Some(span)) = (self.graph().events[*last].agent, self.words.span(*last))
                {
                    let what = format!("is over; {} may have ended from here on", self.words.cta(*owner));
                    self.add_end(drafts, agent, span, (&what, None));
                }
            }
            Subject::Race { .. }
            | Subject::Flag { .. }
            | Subject::Lifetime { .. }
            | Subject::Final { .. }
            | Subject::Completion => {}
        }
    }

    /// Where the statement that fails is in its thread; what waits for ever is behind all else.
    fn end_position(&self) -> u32 {
        match self.words.witness.claim {
            GoalKind::Obligation(index) => self.graph().obligations[index].position,
            _ => u32::MAX,
        }
    }

    /// A step of the statement as it is written, behind what its thread did before.
    pub(super) fn add_end(
        &self,
        drafts: &mut Vec<Draft>,
        agent: AgentId,
        span: Span,
        (what, round): (&str, Option<String>),
    ) {
        let Some(lane) = self.folding.lane_of(agent).filter(|_| !self.folding.is_folded(agent)) else {
            return;
        };
        let end = self.end_position();
        let is_before = |draft: &Draft| {
            let event = draft.group.and_then(|group| self.groups[group].events.first());
            draft.step.lane == lane && event.is_none_or(|&event| self.graph().events[event].position <= end)
        };
        let own = drafts.iter().enumerate().filter(|(_, draft)| is_before(draft));
        let after: Vec<usize> = own.map(|(number, _)| number).collect();
        let at = if end == u32::MAX { drafts.len() } else { after.last().map_or(0, |last| last + 1) };
        let moved = drafts.iter_mut().flat_map(|draft| &mut draft.after).filter(|before| **before >= at);
        moved.for_each(|before| *before += 1);
        let text = self.words.case.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = clipped(text.trim_end_matches(';').split(" {").next().unwrap_or(""));
        let step = Step {
            lane,
            row: 0,
            place: Some(self.place(span)),
            short: text.clone(),
            opcode: text,
            object: String::new(),
            what: what.to_owned(),
            from: String::new(),
            then: String::new(),
            details: round.into_iter().collect(),
            mark: "✗",
            rules: self.explanation.rules.clone(),
        };
        let key = Some(format!("end {span:?} {what}"));
        drafts.insert(at, Draft { step, group: None, key, after });
    }
}

/// A statement of many characters, without most of them.
fn clipped(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The rule that says what such an event is.
fn rule_of(kind: &EventKind) -> Option<&'static str> {
    Some(match kind {
        EventKind::Fence { .. } => "FN-2",
        EventKind::ProxyFence(_) => "FN-25",
        EventKind::AsyncFence(_) => "FN-12",
        EventKind::RestrictedFence(_) => "FN-27",
        EventKind::Issue { .. } => "MM-27",
        EventKind::MatrixFence => "AS-25",
        EventKind::AsyncWait => "AS-3",
        EventKind::BarrierArrive | EventKind::BarrierWait => "BR-4",
        EventKind::ClusterArrive { .. } | EventKind::ClusterWait => "BR-12",
        EventKind::Mbarrier(_) => "MB-21",
        EventKind::Tensor(_) => "AS-29",
        EventKind::Cancel(_) => "AS-39",
        EventKind::Grid(_) => "MM-38",
        EventKind::Init(_)
        | EventKind::Read(_)
        | EventKind::Write(_)
        | EventKind::Spa(_)
        | EventKind::CtaStart(_)
        | EventKind::CtaExit(_) => return None,
    })
}
