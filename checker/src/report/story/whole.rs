//! The story of a run: all that happens in an execution of which nothing else is said, in an order that is chosen.

use super::super::case::Case;
use super::super::wording::Words;
use super::steps::Group;
use super::teller::Teller;
use super::told::Story;
use super::{cast, folding, order, steps};
use crate::bits::{BitMatrix, EventSet};
use crate::event::{AgentId, EventId, EventKind, MbarrierId};
use crate::explain::Explanation;
use crate::witness::Witness;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// An instruction that a thread executes, or a part of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    /// Who does it.
    pub agent: AgentId,
    /// What happens; at least one event.
    pub events: Vec<EventId>,
}

/// Where a thread stops for good.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standstill {
    /// Who.
    pub agent: AgentId,
    /// The statement.
    pub span: Span,
    /// Why: `waits for ever at barrier 0`.
    pub what: String,
}

/// All that is done in an execution, and what comes before what.
#[derive(Clone, Debug)]
pub struct Deeds {
    /// Of each thread in its own order.
    pub all: Vec<Deed>,
    /// One order in which all of it can happen, by their places in the list.
    pub order: Vec<usize>,
    /// By deed: those that must be done before it, values that are read left aside.
    pub before: Vec<Vec<usize>>,
}

impl Deeds {
    /// Of an execution.
    pub fn of(case: &Case<'_>, witness: &Witness) -> Self {
        let words = Words { case, witness };
        let hard = order::hard(witness);
        let firm = order::firm(witness);
        let flow = order::flow(witness, &hard);
        let groups = steps::groups(&words);
        let all: Vec<Deed> =
            groups.into_iter().map(|group| Deed { agent: group.agent, events: group.events }).collect();
        let bare: Vec<(AgentId, Vec<EventId>)> =
            all.iter().map(|deed| (deed.agent, deed.events.clone())).collect();
        let graph = &case.outcome.graph;
        let order = order::ordered(graph, &bare, [&flow, &hard, &firm]);
        // Phases and the program may be in no common order.
        let mut place = vec![0; all.len()];
        order.iter().enumerate().for_each(|(at, &number)| place[number] = at);
        let before = before(&all, &hard, graph.events.len());
        let before = before.into_iter().enumerate().map(|(number, earlier)| {
            earlier.into_iter().filter(|&other| place[other] < place[number]).collect()
        });
        Self { before: before.collect(), all, order }
    }
}

fn before(all: &[Deed], hard: &BitMatrix, n_events: usize) -> Vec<Vec<usize>> {
    let mut deed_of: Vec<Option<usize>> = vec![None; n_events];
    for (number, deed) in all.iter().enumerate() {
        deed.events.iter().for_each(|event| deed_of[event.0 as usize] = Some(number));
    }
    let mut before: Vec<SortedSet<usize>> = vec![SortedSet::new(); all.len()];
    for (number, deed) in all.iter().enumerate() {
        for later in deed.events.iter().flat_map(|&event| hard.successors(event)) {
            if let Some(later) = deed_of[later.0 as usize].filter(|&later| later != number) {
                before[later].insert(number);
            }
        }
    }
    before.into_iter().map(|earlier| earlier.into_iter().collect()).collect()
}

impl Story {
    /// The story of what has been done so far, each deed in a row of its own, in this order, and then of who stops.
    pub fn of_run(
        case: &Case<'_>,
        (witness, explanation): (&Witness, &Explanation),
        done: &[Deed],
        stops: &[Standstill],
    ) -> Self {
        let graph = &case.outcome.graph;
        let n = graph.events.len();
        let events = EventSet::from_iter(n, done.iter().flat_map(|deed| deed.events.iter().copied()));
        let mbarriers: SortedSet<MbarrierId> = graph
            .mbarriers
            .ids()
            .filter(|&object| {
                let own = &graph.mbarriers[object].operations;
                own.iter().any(|operation| events.contains(operation.event))
            })
            .collect();
        let cast = cast::Cast { events, named: graph.hierarchy.threads.ids().collect(), mbarriers };
        let words = Words { case, witness };
        let groups = steps::groups(&words);
        let folding = {
            let also = stops.iter().map(|stop| stop.agent).collect();
            folding::Folding::of_all(&words, &cast, &groups, also)
        };
        let hard = order::hard(witness);
        let flow = order::flow(witness, &hard);
        let teller = Teller { words, explanation, cast, groups, folding };
        let first = |(at, group): (usize, &Group)| (group.events[0], at);
        let at: SortedMap<EventId, usize> = teller.groups.iter().enumerate().map(first).collect();
        let order: Vec<usize> =
            done.iter().filter_map(|deed| at.get(deed.events.first()?).copied()).collect();
        let mut drafts = teller.drafts(&order, &flow);
        for stop in stops {
            teller.add_end(&mut drafts, stop.agent, stop.span, (&stop.what, None));
        }
        // Steps are numbered by rows.
        drafts.iter_mut().for_each(|draft| draft.key = None);
        let story = teller.told(drafts);
        // It is of no finding, and each step says where what it reads is from.
        Self { headline: String::new(), code: "", why: Vec::new(), notes: Vec::new(), ..story }
    }
}

/// What comes of a deed, in one execution or another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Opcode with every default.
    pub opcode: String,
    /// What it works on: `[flag]`.
    pub object: String,
    /// What comes of it: `→ 1`, `passes phase 0`.
    pub what: String,
    /// The value that it reads, if it is one.
    pub value: Option<u128>,
    /// The writes that it reads.
    pub sources: Vec<EventId>,
    /// A try of a wait that fails.
    pub is_try: bool,
}

/// The instructions of an execution, to be asked for what comes of them.
pub struct Told {
    groups: Vec<Group>,
    /// By first event.
    at: SortedMap<EventId, usize>,
    by_agent: SortedMap<AgentId, Vec<usize>>,
}

impl Told {
    /// Of an execution.
    pub fn of(case: &Case<'_>, witness: &Witness) -> Self {
        let groups = steps::groups(&Words { case, witness });
        let at = groups.iter().enumerate().map(|(at, group)| (group.events[0], at)).collect();
        let mut by_agent: SortedMap<AgentId, Vec<usize>> = SortedMap::new();
        for (at, group) in groups.iter().enumerate() {
            by_agent.entry(group.agent).or_default().push(at);
        }
        Self { groups, at, by_agent }
    }

    /// The next deed of a thread or operation, once some events have passed; none if it stops.
    pub fn next(&self, agent: AgentId, passed: &EventSet) -> Vec<EventId> {
        let own = self.by_agent.get(&agent).into_iter().flatten().map(|&at| &self.groups[at]);
        let mut open = own.filter(|group| !passed.contains(group.events[0]));
        open.next().map_or_else(Vec::new, |group| group.events.clone())
    }

    /// What comes of a deed in that execution.
    pub fn outcome(&self, case: &Case<'_>, witness: &Witness, events: &[EventId]) -> Option<Outcome> {
        let words = Words { case, witness };
        let group = &self.groups[*self.at.get(events.first()?)?];
        let graph = &case.outcome.graph;
        let mut sources: Vec<EventId> = Vec::new();
        for event in &group.events {
            let pieces = witness.execution.sources.get(event).into_iter().flatten();
            for &(source, _) in pieces {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        let is_read = |event: &&EventId| matches!(graph.events[**event].kind, EventKind::Read(_));
        let mut reads = group.events.iter().filter(is_read);
        let value = match (reads.next(), reads.next()) {
            (Some(&read), None) => {
                graph.events[read].kind.access().map(|access| witness.values[access.value])
            }
            _ => None,
        };
        Some(Outcome {
            opcode: group.site.map_or_else(String::new, |site| graph.sites[site].text.clone()),
            object: group.object(&words),
            what: group.what(&words),
            value,
            sources,
            is_try: group.is_try,
        })
    }
}
