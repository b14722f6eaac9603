//! A slice: some events of a launch, as a graph of its own, and as a text that is the same for slices that are alike.

mod key;

pub use key::Doings;

use super::constraints::Alternative;
use crate::event::{
    AgentId, Constraint, Edges, EventGraph, EventId, FinalGoal, LoopCut, Mbarrier, ObligationKind,
    PeerAccess, Role, TermPool, TermRef, UnknownId, UnknownKind,
};
use fencepost_dsl::IndexVec;
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

/// Some events of a graph, and who is asked about.
pub struct Piece {
    /// Ascending.
    pub kept: Vec<EventId>,
    /// The thread that it is about, and those that have to do with everybody.
    pub asked: SortedSet<AgentId>,
    pub centre: AgentId,
    /// Where slices around places ask about accesses of the same bytes: which.
    pub places: Option<Places>,
    /// The only two events it asks about, if it is about no others.
    pub pair: Option<(EventId, EventId)>,
    /// The threads whose slices would be the same but for names.
    pub alike: Vec<AgentId>,
    /// Who is there besides those it is about.
    pub surroundings: Surroundings,
    /// If there may be more, what it is made of, and what those that are alike are: with more of the surroundings of their threads
    /// each could be made again.
    pub cores: Vec<Core>,
    /// Threads that do what it depends on, and are not here.
    pub lacking: SortedSet<AgentId>,
    pub about: About,
    /// Whose ends count for what is asked of the end.
    pub ending: SortedSet<AgentId>,
    /// Final bytes that are written by nobody who is left out.
    pub ends: SortedSet<UnknownId>,
    /// Writes of values that nobody asks for: here they are any.
    pub idle: SortedSet<EventId>,
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

/// Where an event is among accesses that have bytes in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// With others that have bytes in common with it, directly or by others between them: by a number that they share.
    At(usize),
    /// It is nobody's and no access, and every slice has it.
    Everywhere,
    /// It is no access.
    Nowhere,
}

/// The places of all events, and about which of them a slice asks.
#[derive(Clone)]
pub struct Places {
    /// By event of the whole.
    pub of: Arc<IndexVec<EventId, Place>>,
    /// Only about pairs of this place; without one, about all pairs but of one place.
    pub only: Option<usize>,
}

impl Places {
    /// The place that a pair is of.
    pub fn shared(&self, (a, b): (EventId, EventId)) -> Option<usize> {
        match (self.of[a], self.of[b]) {
            (Place::At(place), Place::Everywhere) | (Place::Everywhere, Place::At(place)) => Some(place),
            (Place::At(place), Place::At(other)) if place == other => Some(place),
            _ => None,
        }
    }
}

/// Who is in a slice around a place besides those it is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Surroundings {
    /// Nobody, but for those without whom it would say nothing.
    None,
    /// Those by whom its threads know of each other.
    All,
    /// And whoever does what it depends on.
    Sources,
}

impl Surroundings {
    /// Those that take more along.
    pub fn next(self) -> Option<Self> {
        match self {
            Self::None => Some(Self::All),
            Self::All => Some(Self::Sources),
            Self::Sources => None,
        }
    }
}

/// What a slice around a place, or around a thread beside all places, is made of.
#[derive(Clone)]
pub struct Core {
    pub centre: AgentId,
    pub asked: SortedSet<AgentId>,
    pub threads: SortedSet<AgentId>,
    pub accesses: Vec<EventId>,
    pub places: Places,
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
            places: None,
            alike: Vec::new(),
            surroundings: Surroundings::All,
            cores: Vec::new(),
            lacking: SortedSet::new(),
            about: About::Threads,
            ending: SortedSet::new(),
            ends: SortedSet::new(),
            idle: SortedSet::new(),
            pair: None,
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

    /// Whether it has nobody but those it is about, and of values and guards only what is about them.
    pub fn is_bare(&self) -> bool {
        self.surroundings == Surroundings::None
    }

    /// Whether more could be taken along.
    pub fn may_grow(&self) -> bool {
        !self.cores.is_empty()
    }

    /// Whether an event is left.
    pub fn has(&self, event: EventId) -> bool {
        self.kept.binary_search(&event).is_ok()
    }

    /// Whether a pair of events of the whole graph is asked about here.
    pub fn asks(&self, graph: &EventGraph, (a, b): (EventId, EventId)) -> bool {
        if let Some(pair) = self.pair {
            return [(a, b), (b, a)].contains(&pair);
        }
        if let Some(places) = &self.places {
            match (places.only, places.shared((a, b))) {
                (Some(only), shared) => return shared == Some(only),
                (None, Some(_)) => return false,
                (None, None) => {}
            }
        }
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

    /// Where an event accesses memory and what it writes, if that is asked for.
    pub fn terms_of_access(&self, whole: &EventGraph, id: EventId) -> impl Iterator<Item = TermRef> {
        let access = whole.events[id].kind.access();
        let value = access.map(|access| access.value).filter(|_| !self.idle.contains(&id));
        access.map(|access| access.offset).into_iter().chain(value)
    }

    /// The terms of the whole that the slice's graph has.
    fn terms(&self, whole: &EventGraph) -> Vec<TermRef> {
        if self.about == About::Waits {
            return whole.terms.all().collect();
        }
        let mut terms = vec![TermPool::FALSE, TermPool::TRUE];
        for &id in &self.kept {
            match self.guards.get(&id) {
                Some(conjuncts) => terms.extend(conjuncts),
                None => terms.push(whole.events[id].guard),
            }
            terms.extend(self.terms_of_access(whole, id));
        }
        terms.extend(self.ending.iter().map(|&agent| whole.completed[agent]));
        terms.extend(self.constraints.iter().flatten().flat_map(Alternative::terms));
        for own in self.obligations.iter().map(|&index| &whole.obligations[index]) {
            terms.extend([own.guard, own.condition]);
            if let ObligationKind::Bounds { index, .. } = own.kind {
                terms.push(index);
            }
        }
        terms.extend(self.cuts.iter().map(|&index| whole.cuts[index].guard));
        terms.extend(self.finals.iter().map(|&index| whole.finals[index].condition));
        terms.extend(Edges::relations().flat_map(|base| self.edges.single(base)).map(|edge| edge.condition));
        terms
    }

    /// The slice as a graph, and by number there, which unknown of the whole each of its unknowns is.
    pub fn graph(&self, whole: &EventGraph) -> (EventGraph, Vec<UnknownId>) {
        let is_of_waits = self.about == About::Waits;
        let tries = self.kept.iter().filter_map(|&id| match whole.events[id].role {
            Role::Spin(unknown) => Some(unknown),
            _ => None,
        });
        let parameters = whole.parameters.iter().map(|&(_, unknown)| unknown);
        let unknowns: Vec<UnknownId> = match is_of_waits {
            true => whole.terms.unknowns().ids().collect(),
            false => tries.chain(parameters).collect(),
        };
        let mut here =
            whole.terms.restricted(self.terms(whole), unknowns, |unknown, kind| self.unknown(unknown, kind));
        let mut terms = std::mem::take(&mut here.pool);
        let constraints = self.constraints.iter().map(|alternatives| {
            let alternatives: Vec<TermRef> =
                alternatives.iter().map(|one| one.to_term(&mut terms, |term| here.term(term))).collect();
            Constraint { term: terms.or_all(alternatives) }
        });
        let constraints = constraints.collect();
        let events = self.kept.iter().map(|&id| {
            let mut event = whole.events[id].clone();
            match self.guards.get(&id) {
                Some(conjuncts) => {
                    let (_, rest) = terms.fresh(1, UnknownKind::Elsewhere);
                    let conjuncts = conjuncts.iter().map(|&term| here.term(term));
                    event.guard = terms.and_all(conjuncts.chain([rest]));
                }
                None => event.guard = here.term(event.guard),
            }
            if let Some(access) = event.kind.access_mut() {
                access.offset = here.term(access.offset);
                access.value = match self.idle.contains(&id) {
                    true => terms.fresh(whole.terms.width(access.value), UnknownKind::Elsewhere).1,
                    false => here.term(access.value),
                };
            }
            if let Role::Spin(unknown) = &mut event.role {
                *unknown = here.unknown(*unknown).expect("a try of the slice has its unknown");
            }
            event
        });
        let events = events.collect();
        let mut edges = self.edges.clone();
        for base in Edges::relations() {
            edges.single_mut(base).iter_mut().for_each(|edge| edge.condition = here.term(edge.condition));
        }
        let obligations = self.obligations.iter().map(|&index| {
            let mut own = whole.obligations[index].clone();
            (own.guard, own.condition) = (here.term(own.guard), here.term(own.condition));
            if let ObligationKind::Bounds { index, .. } = &mut own.kind {
                *index = here.term(*index);
            }
            own
        });
        let cuts = self.cuts.iter().map(|&index| {
            let own = &whole.cuts[index];
            LoopCut { guard: here.term(own.guard), ..own.clone() }
        });
        let finals = self.finals.iter().map(|&index| {
            let own = &whole.finals[index];
            FinalGoal { condition: here.term(own.condition), ..own.clone() }
        });
        let completed = whole.completed.iter_enumerated().map(|(agent, &ended)| {
            if self.ending.contains(&agent) { here.term(ended) } else { TermPool::TRUE }
        });
        let place = |&(ref name, unknown): &(String, UnknownId)| Some((name.clone(), here.unknown(unknown)?));
        // What happens to an mbarrier in which phase is for reports only.
        let unused = |mbarrier: &Mbarrier| Mbarrier {
            operations: Vec::new(),
            invalidations: Vec::new(),
            phases: Vec::new(),
            ..mbarrier.clone()
        };
        let graph = EventGraph {
            hierarchy: whole.hierarchy.clone(),
            terms,
            locations: whole.locations.clone(),
            sites: whole.sites.clone(),
            events,
            rmw: self.rmw.clone(),
            completed: completed.collect(),
            constraints,
            assumes: whole.assumes,
            representative: Vec::new(),
            obligations: obligations.collect(),
            cuts: cuts.collect(),
            blocked: if is_of_waits { whole.blocked.clone() } else { Vec::new() },
            writing_tries: whole.writing_tries.iter().filter_map(|&own| here.unknown(own)).collect(),
            reachables: Vec::new(),
            finals: finals.collect(),
            condition: None,
            decided_stores: Some(self.decided_stores.clone()),
            edges,
            mbarriers: whole.mbarriers.iter().map(unused).collect(),
            loose: Vec::new(),
            peer_accesses: self.peers.clone(),
            starts: if is_of_waits { whole.starts.clone() } else { Vec::new() },
            parameters: whole.parameters.iter().filter_map(place).collect(),
            meetings: SortedMap::new(),
            n_read_together: 0,
            n_unelected: 0,
            n_forwarded: 0,
            cta_rounds: Vec::new(),
        };
        (graph, here.unknowns)
    }

    /// Where events of the slice's graph were in the whole; initial writes were nowhere.
    pub fn origin(&self, event: EventId) -> Option<EventId> {
        self.kept.get(event.index()).copied()
    }
}
