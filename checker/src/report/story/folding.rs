//! Lanes: one for a thread, and one for the operations of a kind that it has started; threads that do the same share one.

use super::super::wording::Words;
use super::cast::Cast;
use super::steps::{Action, Group};
use super::told::Lane;
use crate::event::{AgentId, CtaId, EventId, EventKind, Hierarchy, OperationSort, SiteId};
use crate::explain::{Explanation, Subject};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Lanes at most; those of threads that the facts name come first.
const LANES_MAX: usize = 12;

/// What a thread does, without places and values.
type Shape = Vec<(Option<OperationSort>, Option<SiteId>, Vec<u32>, Action, bool)>;

/// Who has which lane, and who stands for whom.
pub(super) struct Folding {
    lanes: Vec<Lane>,
    lane_of: SortedMap<AgentId, usize>,
    /// Of a thread or operation that is not shown itself: the one that stands for it.
    stands_for: SortedMap<AgentId, AgentId>,
    /// The other way.
    others: SortedMap<AgentId, Vec<AgentId>>,
    /// Of the groups that are shown, by agent.
    shown: SortedMap<AgentId, Vec<usize>>,
    /// Which operation of its lane one is, where there are several.
    numbers: SortedMap<AgentId, usize>,
}

impl Folding {
    /// Lanes for all who take part.
    pub fn new(words: &Words<'_>, explanation: &Explanation, cast: &Cast, groups: &[Group]) -> Self {
        // Who waits for ever or fails has a step, whatever else there is.
        let also = ending(explanation).into_iter().collect();
        let (mut this, threads) = Self::open(words, cast, groups, also);
        let threads = this.fold(words, explanation, cast, (groups, &threads));
        this.give_lanes(words, &threads);
        this
    }

    /// A lane for each who takes part, however many there are.
    pub fn of_all(words: &Words<'_>, cast: &Cast, groups: &[Group], also: SortedSet<AgentId>) -> Self {
        let (mut this, threads) = Self::open(words, cast, groups, also);
        this.give_lanes(words, &threads.into_iter().collect::<Vec<_>>());
        this
    }

    /// Nobody has a lane yet; and who takes part.
    fn open(
        words: &Words<'_>,
        cast: &Cast,
        groups: &[Group],
        also: SortedSet<AgentId>,
    ) -> (Self, SortedSet<AgentId>) {
        let hierarchy = &words.case.outcome.graph.hierarchy;
        let mut shown: SortedMap<AgentId, Vec<usize>> = SortedMap::new();
        for (number, group) in groups.iter().enumerate() {
            if group.events.iter().any(|&event| cast.events.contains(event)) {
                shown.entry(group.agent).or_default().push(number);
            }
        }
        let mut threads: SortedSet<AgentId> = shown.keys().map(|&agent| hierarchy.issuer(agent)).collect();
        threads.extend(also);
        let this = Self {
            lanes: Vec::new(),
            lane_of: SortedMap::new(),
            stands_for: SortedMap::new(),
            others: SortedMap::new(),
            shown,
            numbers: SortedMap::new(),
        };
        (this, threads)
    }

    /// The threads that are shown, after those like others were put with them.
    fn fold(
        &mut self,
        words: &Words<'_>,
        explanation: &Explanation,
        cast: &Cast,
        (groups, threads): (&[Group], &SortedSet<AgentId>),
    ) -> Vec<AgentId> {
        let graph = words.graph();
        let mut first: SortedMap<(Option<usize>, Option<CtaId>, Shape), AgentId> = SortedMap::new();
        let mut kept: Vec<AgentId> = Vec::new();
        for &thread in threads {
            let own = self.agents_of(&graph.hierarchy, thread);
            let is_named = own.iter().any(|agent| cast.named.contains(agent));
            if is_named {
                kept.push(thread);
                continue;
            }
            let meets = own.iter().flat_map(|agent| self.shown.get(agent)).flatten().any(|&number| {
                let event = groups[number].events[0];
                matches!(graph.events[event].kind, EventKind::BarrierArrive | EventKind::BarrierWait)
            });
            let cta = meets.then(|| graph.hierarchy.cta_of(thread));
            let key = (role_of(explanation, thread), cta, self.shape(&graph.hierarchy, &own, groups));
            match first.get(&key) {
                Some(&other) => {
                    let theirs = self.agents_of(&graph.hierarchy, other);
                    self.stands_for.extend(own.iter().copied().zip(theirs));
                    self.others.entry(other).or_default().push(thread);
                }
                None => {
                    first.insert(key, thread);
                    kept.push(thread);
                }
            }
        }
        // The facts first, if there are more than fit.
        kept.sort_by_key(|thread| (!cast.named.contains(thread), *thread));
        kept.truncate(LANES_MAX);
        kept.sort_unstable();
        kept
    }

    /// A thread, and the operations with something to show that it has started.
    fn agents_of(&self, hierarchy: &Hierarchy, thread: AgentId) -> Vec<AgentId> {
        let operations =
            self.shown.keys().copied().filter(|&agent| agent != thread && hierarchy.issuer(agent) == thread);
        [thread].into_iter().chain(operations).collect()
    }

    fn shape(&self, hierarchy: &Hierarchy, agents: &[AgentId], groups: &[Group]) -> Shape {
        let mut shape = Shape::new();
        for &agent in agents {
            let sort = hierarchy.operation(agent).map(|operation| operation.sort);
            for &number in self.shown.get(&agent).into_iter().flatten() {
                let group = &groups[number];
                shape.push((sort, group.site, group.iterations.clone(), group.action, group.is_try));
            }
        }
        shape
    }

    fn give_lanes(&mut self, words: &Words<'_>, threads: &[AgentId]) {
        let hierarchy = &words.case.outcome.graph.hierarchy;
        for &thread in threads {
            let others: Vec<AgentId> = self.others.get(&thread).cloned().unwrap_or_default();
            let names: Vec<String> = others.iter().map(|&other| words.agent(other)).collect();
            let mut lanes: SortedMap<Option<OperationSort>, Vec<AgentId>> = SortedMap::new();
            for agent in self.agents_of(hierarchy, thread) {
                let sort = hierarchy.operation(agent).map(|operation| operation.sort);
                lanes.entry(sort).or_default().push(agent);
            }
            for (sort, agents) in lanes {
                if !agents.iter().any(|agent| self.shown.contains_key(agent)) && sort.is_some() {
                    continue;
                }
                let name = match sort {
                    None => words.agent(thread),
                    Some(sort) if agents.len() == 1 => {
                        format!("{} of {}", sort.name(), words.agent(thread))
                    }
                    Some(sort) => {
                        format!("{} × {} of {}", sort.name(), agents.len(), words.agent(thread))
                    }
                };
                for (number, &agent) in agents.iter().enumerate() {
                    self.lane_of.insert(agent, self.lanes.len());
                    if sort.is_some() && agents.len() > 1 {
                        self.numbers.insert(agent, number + 1);
                    }
                }
                self.lanes.push(Lane { name, others: names.clone(), is_of_operations: sort.is_some() });
            }
        }
    }

    /// All of them.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The lane of a thread or operation that has one of its own.
    pub fn lane_of(&self, agent: AgentId) -> Option<usize> {
        self.lane_of.get(&agent).copied()
    }

    /// Whether somebody stands for it.
    pub fn is_folded(&self, agent: AgentId) -> bool {
        self.stands_for.contains_key(&agent)
    }

    /// `copy 2`, for one of several operations in a lane.
    pub fn operation_number(&self, agent: AgentId) -> Option<String> {
        self.numbers.get(&agent).map(|number| format!("#{number}"))
    }

    /// What an instruction works on, what comes of it, and what it writes then; what differs among those that a lane stands
    /// for is left out.
    pub fn outcome(&self, words: &Words<'_>, groups: &[Group], number: usize) -> [String; 3] {
        let own = &groups[number];
        let place = self.shown.get(&own.agent).and_then(|all| all.iter().position(|&other| other == number));
        let common = |text: fn(&Group, &Words<'_>) -> String| {
            let own_text = text(own, words);
            let like = self.stands_for.iter().filter(|&(_, &first)| first == own.agent);
            let mut like = like.filter_map(|(agent, _)| self.shown.get(agent)?.get(place?));
            like.all(|&other| text(&groups[other], words) == own_text).then_some(own_text)
        };
        let object = common(Group::object).unwrap_or_else(|| self.written(words, own));
        [object, common(Group::what).unwrap_or_default(), common(Group::then).unwrap_or_default()]
    }

    /// The operand as it is written.
    fn written(&self, words: &Words<'_>, group: &Group) -> String {
        let site = group.site.map(|site| &words.case.outcome.graph.sites[site]);
        site.map_or_else(String::new, |site| site.operand.clone())
    }

    /// Adds to the steps of events those of whom a lane stands for.
    pub fn stand_in(&self, groups: &[Group], step_of: &mut SortedMap<EventId, usize>) {
        for (agent, first) in &self.stands_for {
            let (Some(own), Some(theirs)) = (self.shown.get(agent), self.shown.get(first)) else { continue };
            for (&mine, &other) in own.iter().zip(theirs) {
                let step = groups[other].events.first().and_then(|event| step_of.get(event)).copied();
                if let Some(step) = step {
                    step_of.extend(groups[mine].events.iter().map(|&event| (event, step)));
                }
            }
        }
    }

    /// Threads that no lane is of or stands for.
    pub fn n_threads_left_out(&self, hierarchy: &Hierarchy) -> usize {
        let told = |agent: &AgentId| {
            let stand = self.stands_for.get(agent).unwrap_or(agent);
            self.lane_of.contains_key(stand)
        };
        hierarchy.agents().filter(|agent| !told(agent)).count()
    }
}

/// Who has a last step that is no event.
fn ending(explanation: &Explanation) -> Vec<AgentId> {
    match &explanation.subject {
        Subject::Deadlock { roles, .. } => roles.iter().flat_map(|role| role.agents.clone()).collect(),
        Subject::Assertion { agent, .. } | Subject::Misuse { agent, .. } | Subject::Bounds { agent, .. } => {
            vec![*agent]
        }
        Subject::Race { .. }
        | Subject::Flag { .. }
        | Subject::Lifetime { .. }
        | Subject::Final { .. }
        | Subject::Completion => Vec::new(),
    }
}

/// With whom a thread waits for ever.
fn role_of(explanation: &Explanation, thread: AgentId) -> Option<usize> {
    let Subject::Deadlock { roles, .. } = &explanation.subject else { return None };
    roles.iter().position(|role| role.agents.contains(&thread))
}
