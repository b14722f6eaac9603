//! Who and what belongs to the story of a finding: threads, memory, mbarriers, and of their events those that lead there.
//!
//! Cannot: leave out a whole round of a loop that only repeats what another one has shown.

use super::super::wording::Words;
use crate::bits::{BitMatrix, EventSet};
use crate::event::{
    Access, AgentId, EventGraph, EventId, EventKind, Fact, LocationId, MbarrierId, MbarrierRole, Wait,
};
use crate::explain::{Explanation, Reason, Subject};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Who and what belongs to a story.
pub(super) struct Cast {
    /// The events to show.
    pub events: EventSet,
    /// Agents that are shown for themselves, whoever is like them.
    pub named: SortedSet<AgentId>,
    /// mbarriers to show.
    pub mbarriers: SortedSet<MbarrierId>,
}

/// Bytes of a location.
type Bytes = (u128, u128);

/// What is collected on the way.
struct Search<'a> {
    graph: &'a EventGraph,
    witness: &'a Witness,
    /// Of the agents that the facts name, all that happens.
    core: SortedSet<AgentId>,
    memory: SortedMap<LocationId, Vec<Bytes>>,
    mbarriers: SortedSet<MbarrierId>,
    /// What leads to the end of the story.
    before: EventSet,
}

/// Who and what belongs to the story of a finding.
pub(super) fn cast(words: &Words<'_>, explanation: &Explanation, flow: &BitMatrix) -> Cast {
    let graph = &words.case.outcome.graph;
    let story = explanation.events(graph.events.len());
    let mut search = Search {
        graph,
        witness: words.witness,
        core: core(graph, explanation, &story),
        memory: SortedMap::new(),
        mbarriers: SortedSet::new(),
        before: EventSet::empty(graph.events.len()),
    };
    search.before = search.before_the_end(explanation, &story, flow);
    story.iter().for_each(|event| search.take(event));
    search.take_dealings(explanation);
    search.take_facts(explanation);
    search.take_operations();
    search.take_hand_over();
    search.take_what_follows(explanation);
    let agents = search.agents();
    let shown = |event: EventId| {
        let of = &graph.events[event];
        of.agent.is_some_and(|agent| agents.contains(&agent))
            && (story.contains(event) || search.before.contains(event) && search.is_shown(event))
    };
    let mut events = EventSet::from_iter(
        graph.events.len(),
        words.witness.execution.executed.iter().filter(|&e| shown(e)),
    );
    leave_out_empty_starts(graph, &story, &mut events);
    Cast { events, named: named(graph, explanation), mbarriers: search.mbarriers }
}

/// Instructions that start operations of which nothing is shown say nothing.
fn leave_out_empty_starts(graph: &EventGraph, story: &EventSet, events: &mut EventSet) {
    let issues = || graph.edges.of(BaseRelation::Issue);
    let is_told: SortedSet<EventId> =
        issues().filter(|edge| events.contains(edge.to)).map(|edge| edge.from).collect();
    let has_operation: SortedSet<EventId> = issues().map(|edge| edge.from).collect();
    let is_empty = |&event: &EventId| {
        has_operation.contains(&event) && !is_told.contains(&event) && !story.contains(event)
    };
    let empty: Vec<EventId> = events.iter().filter(is_empty).collect();
    *events = EventSet::from_iter(graph.events.len(), events.iter().filter(|event| !empty.contains(event)));
}

/// The agents that the facts name, and who started them.
fn core(graph: &EventGraph, explanation: &Explanation, story: &EventSet) -> SortedSet<AgentId> {
    let mut core: SortedSet<AgentId> = story.iter().filter_map(|event| graph.events[event].agent).collect();
    match &explanation.subject {
        Subject::Assertion { agent, .. } | Subject::Misuse { agent, .. } | Subject::Bounds { agent, .. } => {
            core.insert(*agent);
        }
        Subject::Deadlock { roles, .. } => core.extend(roles.iter().flat_map(|role| &role.agents)),
        Subject::Race { .. }
        | Subject::Flag { .. }
        | Subject::Lifetime { .. }
        | Subject::Final { .. }
        | Subject::Completion => {}
    }
    let issuers: Vec<AgentId> = core.iter().map(|&agent| graph.hierarchy.issuer(agent)).collect();
    core.extend(issuers);
    core
}

/// Those whom the first line, the reasons or the chain name.
fn named(graph: &EventGraph, explanation: &Explanation) -> SortedSet<AgentId> {
    let mut events: Vec<EventId> = explanation.reasons.iter().flat_map(Reason::events).collect();
    let steps = explanation.chain.iter().flat_map(|chain| &chain.steps);
    events.extend(steps.flat_map(|step| [step.from, step.to]));
    let mut named = SortedSet::new();
    match &explanation.subject {
        Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
            events.extend([*earlier, *later]);
        }
        Subject::Lifetime { access, last, .. } => events.extend([Some(*access), *last].into_iter().flatten()),
        Subject::Assertion { agent, .. } | Subject::Misuse { agent, .. } | Subject::Bounds { agent, .. } => {
            named.insert(*agent);
        }
        Subject::Deadlock { .. } | Subject::Final { .. } | Subject::Completion => {}
    }
    for event in events {
        let agents = graph.events[event].agent.map(|agent| [agent, graph.hierarchy.issuer(agent)]);
        named.extend(agents.into_iter().flatten());
    }
    named
}

impl Search<'_> {
    fn executed(&self) -> impl Iterator<Item = EventId> + '_ {
        self.witness.execution.executed.iter().filter(|&event| self.graph.events[event].agent.is_some())
    }

    /// All that comes before the last events of the story; everything where its end is the end of the execution.
    fn before_the_end(&self, explanation: &Explanation, story: &EventSet, flow: &BitMatrix) -> EventSet {
        let own_end = match &explanation.subject {
            Subject::Race { .. } | Subject::Flag { .. } | Subject::Lifetime { .. } => None,
            Subject::Assertion { agent, .. }
            | Subject::Misuse { agent, .. }
            | Subject::Bounds { agent, .. } => Some(*agent),
            Subject::Deadlock { .. } | Subject::Final { .. } | Subject::Completion => {
                return self.witness.execution.executed.clone();
            }
        };
        let own = self.executed().filter(|&event| self.graph.events[event].agent == own_end);
        let own = own.filter(|_| own_end.is_some());
        let mut pending: Vec<EventId> = story.iter().chain(own).collect();
        let mut before = EventSet::from_iter(self.graph.events.len(), pending.iter().copied());
        let backwards = flow.inverse();
        while let Some(event) = pending.pop() {
            for earlier in backwards.successors(event) {
                if !before.contains(earlier) {
                    before.insert(earlier);
                    pending.push(earlier);
                }
            }
        }
        before
    }

    fn bytes(&self, access: &Access) -> Bytes {
        let first = self.witness.values[access.offset];
        (first, first + u128::from(access.width_bytes))
    }

    /// Takes the memory or the mbarrier of an event into the story.
    fn take(&mut self, event: EventId) {
        let kind = &self.graph.events[event].kind;
        if let EventKind::Mbarrier(operation) = kind {
            self.mbarriers.insert(operation.object);
        }
        if let Some(access) = kind.access() {
            // What a cache holds is a line.
            let is_spa = self.graph.hierarchy.launch().spa.is_some();
            let bytes = if is_spa { (0, u128::MAX) } else { self.bytes(access) };
            self.memory.entry(access.location).or_default().push(bytes);
        }
    }

    /// The last writes do not say how a final condition came to be false: that is in what those who write there do with each
    /// other.
    fn take_dealings(&mut self, explanation: &Explanation) {
        if !matches!(explanation.subject, Subject::Final { .. }) {
            return;
        }
        let graph = self.graph;
        let issuer = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent));
        let is_write = |&event: &EventId| matches!(&graph.events[event].kind, EventKind::Write(access) if self.is_of_story(access));
        let writers: SortedSet<AgentId> = self.executed().filter(is_write).filter_map(issuer).collect();
        let mut users: SortedMap<LocationId, SortedSet<AgentId>> = SortedMap::new();
        let mut strong: Vec<(EventId, LocationId)> = Vec::new();
        for event in self.executed() {
            let access = graph.events[event].kind.access().filter(|access| access.is_strong());
            let user = issuer(event).filter(|user| writers.contains(user));
            if let (Some(access), Some(user)) = (access, user) {
                users.entry(access.location).or_default().insert(user);
                strong.push((event, access.location));
            }
        }
        self.core.extend(writers);
        strong.retain(|(_, location)| users[location].len() > 1);
        strong.into_iter().for_each(|(event, _)| self.take(event));
    }

    /// What a rule that is broken, or a wait without end, is about.
    fn take_facts(&mut self, explanation: &Explanation) {
        if let Subject::Misuse { misuse, .. } = &explanation.subject {
            for (_, fact) in &misuse.facts {
                if let Fact::Mbarrier(object) = fact {
                    self.mbarriers.insert(*object);
                }
            }
        }
        if !matches!(explanation.subject, Subject::Deadlock { .. }) {
            return;
        }
        let graph = self.graph;
        for blocked in graph.blocked.iter().filter(|blocked| self.witness.values[blocked.stuck] == 1) {
            match &blocked.wait {
                Wait::Phase { object, .. } => {
                    self.mbarriers.insert(*object);
                }
                Wait::Memory(looks) => {
                    for look in looks {
                        let at =
                            graph.events.ids().filter(|&event| graph.events[event].site == Some(look.site));
                        let own = |&event: &EventId| graph.events[event].agent == Some(blocked.agent);
                        at.filter(own).for_each(|event| self.take(event));
                    }
                }
                Wait::Grids { .. } | Wait::Barrier { .. } | Wait::Registers { .. } => {}
            }
        }
    }

    /// The mbarriers that operations of the story signal.
    fn take_operations(&mut self) {
        let is_own = |event: &EventId| {
            let of = &self.graph.events[*event];
            of.agent
                .is_some_and(|agent| self.core.contains(&agent) && self.graph.hierarchy.is_operation(agent))
                && self.before.contains(*event)
        };
        let own: Vec<EventId> = self.executed().filter(is_own).collect();
        let signals = own.into_iter().filter(|&event| {
            matches!(&self.graph.events[event].kind, EventKind::Mbarrier(operation)
                if matches!(operation.role, MbarrierRole::Complete | MbarrierRole::Arrive))
        });
        signals.collect::<Vec<_>>().into_iter().for_each(|event| self.take(event));
    }

    /// What hands something over between threads of the story: mbarriers, and strong values that are read.
    fn take_hand_over(&mut self) {
        let relations = &self.witness.basis.relations;
        let agent = |event: EventId| {
            let agent = self.graph.events[event].agent?;
            (self.core.contains(&agent) && self.before.contains(event))
                .then(|| self.graph.hierarchy.issuer(agent))
        };
        let is_strong =
            |event: EventId| self.graph.events[event].kind.access().is_some_and(Access::is_strong);
        let mut found = Vec::new();
        for from in self.executed().filter(|&event| agent(event).is_some()) {
            let signalled = relations[&BaseRelation::Signals].successors(from);
            let read = relations[&BaseRelation::ReadsFrom].successors(from);
            let read = read.filter(|&read| is_strong(from) && is_strong(read));
            if signalled.chain(read).any(|to| agent(to).is_some() && agent(to) != agent(from)) {
                found.push(from);
            }
        }
        found.into_iter().for_each(|event| self.take(event));
    }

    /// What the thread of the first access does next to hand over, whoever it reaches.
    fn take_what_follows(&mut self, explanation: &Explanation) {
        const SHOWN: usize = 2;
        let Subject::Race { earlier, .. } = explanation.subject else { return };
        let order = &self.witness.basis.relations[&BaseRelation::ProgramOrder];
        let hands_over = |event: &EventId| {
            matches!(
                &self.graph.events[*event].kind,
                EventKind::BarrierArrive | EventKind::ClusterArrive { .. } | EventKind::Fence { .. }
            ) || matches!(&self.graph.events[*event].kind, EventKind::Mbarrier(operation)
                if operation.role == MbarrierRole::Arrive)
        };
        let after: Vec<EventId> = order.successors(earlier).filter(hands_over).take(SHOWN).collect();
        for event in after {
            self.before.insert(event);
            self.take(event);
        }
    }

    /// The core, whoever has to do with the memory and mbarriers of the story, and those who started them.
    fn agents(&self) -> SortedSet<AgentId> {
        let mut agents = self.core.clone();
        let about = self.executed().filter(|&event| {
            self.before.contains(event)
                && match &self.graph.events[event].kind {
                    EventKind::Mbarrier(operation) => self.mbarriers.contains(&operation.object),
                    kind => kind.access().is_some_and(|access| self.is_of_story(access)),
                }
        });
        let about: Vec<AgentId> = about.filter_map(|event| self.graph.events[event].agent).collect();
        agents.extend(about.iter().map(|&agent| self.graph.hierarchy.issuer(agent)));
        agents.extend(about);
        agents
    }

    fn is_of_story(&self, access: &Access) -> bool {
        let (first, end) = self.bytes(access);
        let parts = self.memory.get(&access.location).map_or(&[][..], Vec::as_slice);
        parts.iter().any(|&(from, to)| first < to && from < end)
    }

    /// Whether an event of someone who takes part is a step of the story.
    fn is_shown(&self, event: EventId) -> bool {
        let kind = &self.graph.events[event].kind;
        match kind {
            EventKind::Init(_) | EventKind::CtaStart(_) | EventKind::CtaExit(_) => false,
            EventKind::Read(access) | EventKind::Write(access) => self.is_of_story(access),
            EventKind::Mbarrier(operation) => self.mbarriers.contains(&operation.object),
            EventKind::Fence { .. }
            | EventKind::ProxyFence(_)
            | EventKind::AsyncFence(_)
            | EventKind::RestrictedFence(_)
            | EventKind::Issue { .. }
            | EventKind::MatrixFence
            | EventKind::Tensor(_)
            | EventKind::Cancel(_)
            | EventKind::AsyncWait
            | EventKind::BarrierArrive
            | EventKind::BarrierWait
            | EventKind::ClusterArrive { .. }
            | EventKind::ClusterWait
            | EventKind::Spa(_)
            | EventKind::Grid(_) => true,
        }
    }
}
