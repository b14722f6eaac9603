//! A slice: some events of a launch, as a graph of its own, and as a text that is the same for slices that are alike.

mod key;

pub use key::Doings;

use super::constraints::Alternative;
use crate::event::{
    AgentId, Constraint, Edges, EventGraph, EventId, Mbarrier, PeerAccess, TermPool, TermRef, UnknownId,
    UnknownKind,
};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Some events of a graph, and who is asked about.
pub struct Piece {
    /// Ascending.
    pub kept: Vec<EventId>,
    /// The thread that it is about, and those that have to do with everybody.
    pub asked: SortedSet<AgentId>,
    pub centre: AgentId,
    /// The threads whose slices would be the same but for names.
    pub alike: Vec<AgentId>,
    pub about: About,
    /// Whose ends count for what is asked of the end.
    pub ending: SortedSet<AgentId>,
    /// Final bytes that are written by nobody who is left out.
    pub ends: SortedSet<UnknownId>,
    /// What holds of what is left, each a disjunction.
    pub constraints: Vec<Vec<Alternative>>,
    /// What is left of wide guards; of the rest nothing is known.
    pub guards: SortedMap<EventId, Vec<TermRef>>,
    /// Those between events that are left, as they are numbered here.
    pub edges: Edges,
    /// From reads to the stores that a branch on them decides.
    pub decided_stores: Vec<(EventId, EventId)>,
    /// From the read to the write part of each atomic that is left.
    pub rmw: Vec<(EventId, EventId)>,
    /// What is left of accesses of another CTA's memory.
    pub peers: Vec<PeerAccess>,
    /// Which obligations and loop cuts of the whole are asked about.
    pub obligations: Vec<usize>,
    pub cuts: Vec<usize>,
    /// Which assertions about final memory.
    pub finals: Vec<usize>,
}

/// What is asked of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// What a thread, and those that have to do with everybody, do wrong.
    Threads,
    /// Threads that wait for ever.
    Waits,
    /// What is claimed of final memory.
    Finals,
}

impl Piece {
    /// No memory, but everybody: whether threads can wait for each other for ever, whatever they read.
    pub fn of_waits(graph: &EventGraph, centre: AgentId) -> Self {
        Self::new(Vec::new(), centre, SortedSet::new()).with_all_waits(graph)
    }

    /// Everybody's waits and constraints, with the memory that is left.
    pub fn with_all_waits(self, graph: &EventGraph) -> Self {
        let all: SortedSet<AgentId> = graph.hierarchy.agents().collect();
        let whole = graph.constraints.iter().map(|constraint| vec![Alternative::Term(constraint.term)]);
        Self { constraints: whole.collect(), about: About::Waits, ending: all.clone(), asked: all, ..self }
    }

    /// The slice of these events, in which nothing is related yet.
    pub fn new(kept: Vec<EventId>, centre: AgentId, asked: SortedSet<AgentId>) -> Self {
        Self {
            kept,
            asked,
            centre,
            alike: Vec::new(),
            about: About::Threads,
            ending: SortedSet::new(),
            ends: SortedSet::new(),
            constraints: Vec::new(),
            guards: SortedMap::new(),
            edges: Edges::default(),
            decided_stores: Vec::new(),
            rmw: Vec::new(),
            peers: Vec::new(),
            obligations: Vec::new(),
            cuts: Vec::new(),
            finals: Vec::new(),
        }
    }

    /// Whether an event is left.
    pub fn has(&self, event: EventId) -> bool {
        self.kept.binary_search(&event).is_ok()
    }

    /// Whether a pair of events of the whole graph is asked about here.
    pub fn asks(&self, graph: &EventGraph, (a, b): (EventId, EventId)) -> bool {
        let thread = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent));
        let (a, b) = (thread(a), thread(b));
        let is_asked = |thread: Option<AgentId>| thread.is_none_or(|thread| self.asked.contains(&thread));
        a == Some(self.centre) || b == Some(self.centre) || is_asked(a) && is_asked(b)
    }

    /// Its number among the events that are left.
    pub fn place(&self, event: EventId) -> Option<EventId> {
        self.kept.binary_search(&event).ok().map(EventId::from_index)
    }

    /// What an unknown stands for here.
    fn unknown(&self, unknown: UnknownId, kind: &UnknownKind) -> UnknownKind {
        match *kind {
            UnknownKind::Read(event) => self.place(event).map_or(UnknownKind::Elsewhere, UnknownKind::Read),
            UnknownKind::ReadsLast(event) => {
                self.place(event).map_or(UnknownKind::Elsewhere, UnknownKind::ReadsLast)
            }
            UnknownKind::ReadsPromised(event) => {
                self.place(event).map_or(UnknownKind::Elsewhere, UnknownKind::ReadsPromised)
            }
            UnknownKind::FinalValue { .. } if !self.ends.contains(&unknown) => UnknownKind::Elsewhere,
            // Which clusters have started is asked of waits only.
            UnknownKind::Starts(_) if self.about != About::Waits => UnknownKind::Elsewhere,
            ref kind => kind.clone(),
        }
    }

    /// The slice as a graph.
    pub fn graph(&self, whole: &EventGraph) -> EventGraph {
        let mut terms = whole.terms.clone();
        terms.rename_unknowns(|unknown, kind| self.unknown(unknown, kind));
        let mut constraint = |alternatives: &Vec<Alternative>| {
            let alternatives: Vec<TermRef> = alternatives.iter().map(|one| one.to_term(&mut terms)).collect();
            Constraint { term: terms.or_all(alternatives) }
        };
        let constraints = self.constraints.iter().map(&mut constraint).collect();
        let events = self.kept.iter().map(|&id| {
            let mut event = whole.events[id].clone();
            if let Some(conjuncts) = self.guards.get(&id) {
                let (_, rest) = terms.fresh(1, UnknownKind::Elsewhere);
                event.guard = terms.and_all(conjuncts.iter().copied().chain([rest]));
            }
            event
        });
        let events = events.collect();
        let is_of_waits = self.about == About::Waits;
        // What happens to an mbarrier in which phase is for reports only.
        let unused =
            |mbarrier: &Mbarrier| Mbarrier { operations: Vec::new(), phases: Vec::new(), ..mbarrier.clone() };
        EventGraph {
            hierarchy: whole.hierarchy.clone(),
            terms,
            locations: whole.locations.clone(),
            sites: whole.sites.clone(),
            events,
            rmw: self.rmw.clone(),
            completed: whole
                .completed
                .iter_enumerated()
                .map(|(agent, &ended)| if self.ending.contains(&agent) { ended } else { TermPool::TRUE })
                .collect(),
            constraints,
            assumes: whole.assumes,
            representative: Vec::new(),
            obligations: self.obligations.iter().map(|&index| whole.obligations[index].clone()).collect(),
            cuts: self.cuts.iter().map(|&index| whole.cuts[index].clone()).collect(),
            blocked: if is_of_waits { whole.blocked.clone() } else { Vec::new() },
            writing_tries: whole.writing_tries.clone(),
            reachables: Vec::new(),
            finals: self.finals.iter().map(|&index| whole.finals[index].clone()).collect(),
            condition: None,
            decided_stores: Some(self.decided_stores.clone()),
            edges: self.edges.clone(),
            mbarriers: whole.mbarriers.iter().map(unused).collect(),
            loose: Vec::new(),
            peer_accesses: self.peers.clone(),
            starts: if is_of_waits { whole.starts.clone() } else { Vec::new() },
            parameters: whole.parameters.clone(),
            meetings: SortedMap::new(),
            n_read_together: 0,
            n_forwarded: 0,
            cta_rounds: Vec::new(),
        }
    }

    /// Where events of the slice's graph were in the whole; initial writes were nowhere.
    pub fn origin(&self, event: EventId) -> Option<EventId> {
        self.kept.get(event.index()).copied()
    }
}
