//! A guess: what goes where when units change places.

use crate::event::cell::Cells;
use crate::event::{
    Access, AgentId, CtaId, EventGraph, EventId, EventKind, LocationId, MbarrierId, TermPool, TermRef,
    UnknownId, UnknownKind,
};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Threads that move together, with the operations they start.
pub struct Unit {
    /// Threads and operations.
    pub agents: Vec<AgentId>,
    /// Their events, thread by thread.
    pub events: Vec<EventId>,
    /// How many events each agent has.
    n_events: Vec<usize>,
}

impl Unit {
    /// The unit of some threads.
    pub fn new(threads: Vec<AgentId>, events: &FxHashMap<AgentId, Vec<(AgentId, Vec<EventId>)>>) -> Self {
        let mut unit = Self { agents: Vec::new(), events: Vec::new(), n_events: Vec::new() };
        for (agent, own) in threads.iter().flat_map(|thread| &events[thread]) {
            unit.agents.push(*agent);
            unit.n_events.push(own.len());
            unit.events.extend(own);
        }
        unit
    }
}

/// Of each unknown without a name of its own, the only unit whose terms it occurs in.
pub struct Owners {
    of: FxHashMap<UnknownId, Option<usize>>,
}

/// Finds the owners of the unknowns that only their place tells apart.
pub fn owners(graph: &EventGraph, units: &[Unit]) -> Owners {
    let mut of: FxHashMap<UnknownId, Option<usize>> = FxHashMap::default();
    let mut seen = vec![usize::MAX; graph.terms.n_terms()];
    for (number, unit) in units.iter().enumerate() {
        let mut open: Vec<TermRef> = Vec::new();
        for &event in &unit.events {
            let event = &graph.events[event];
            open.push(event.guard);
            open.extend(event.kind.access().into_iter().flat_map(|access| [access.offset, access.value]));
        }
        open.extend(unit.agents.iter().filter_map(|&agent| graph.completed.get(agent).copied()));
        while let Some(term) = open.pop() {
            if std::mem::replace(&mut seen[term.index()], number) == number {
                continue;
            }
            if let crate::event::TermKind::Unknown(unknown) = *graph.terms.kind(term) {
                of.entry(unknown)
                    .and_modify(|owner| *owner = owner.filter(|&known| known == number))
                    .or_insert(Some(number));
            }
            open.extend(graph.terms.operands(term));
        }
    }
    Owners { of }
}

/// What becomes of everything when units change places.
#[derive(Default)]
pub struct Renaming {
    agents: Bijection<AgentId>,
    events: Bijection<EventId>,
    ctas: Bijection<CtaId>,
    clusters: Bijection<u32>,
    locations: Bijection<LocationId>,
    /// Cells by their first byte.
    cells: Bijection<(LocationId, u32)>,
    mbarriers: Bijection<MbarrierId>,
    unknowns: Vec<UnknownId>,
    terms: Vec<Option<TermRef>>,
}

/// Where things go; what is not named stays.
struct Bijection<T> {
    forth: FxHashMap<T, T>,
    back: FxHashMap<T, T>,
}

impl<T> Default for Bijection<T> {
    fn default() -> Self {
        Self { forth: FxHashMap::default(), back: FxHashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Bijection<T> {
    /// `a` goes to `b`; `false` if it goes elsewhere already, or another thing goes there.
    fn send(&mut self, a: T, b: T) -> bool {
        *self.forth.entry(a).or_insert(b) == b && *self.back.entry(b).or_insert(a) == a
    }
    fn image(&self, a: T) -> T {
        self.forth.get(&a).copied().unwrap_or(a)
    }
}

impl Renaming {
    /// Each unit goes to the place of its partner; `None` if two partners are not alike. Units are given by their number.
    pub fn moving(
        graph: &EventGraph,
        cells: &Cells,
        owners: &Owners,
        units: &[Unit],
        moves: &[(usize, usize)],
    ) -> Option<Self> {
        let mut this = Self::default();
        let hierarchy = &graph.hierarchy;
        for &(from, to) in moves {
            let (a, b) = (&units[from], &units[to]);
            if a.n_events != b.n_events {
                return None;
            }
            let places = a.agents.iter().zip(&b.agents).all(|(&x, &y)| {
                this.agents.send(x, y)
                    && this.ctas.send(hierarchy.cta_of(x), hierarchy.cta_of(y))
                    && this.clusters.send(hierarchy.cluster_of(x), hierarchy.cluster_of(y))
            });
            if !places || !a.events.iter().zip(&b.events).all(|(&x, &y)| this.send_event(graph, x, y)) {
                return None;
            }
        }
        this.send_the_rest(graph, cells)?;
        this.unknowns = this.unknowns(graph, owners, moves)?;
        this.terms = graph.terms.renamed(&this.unknowns);
        Some(this)
    }

    fn send_event(&mut self, graph: &EventGraph, x: EventId, y: EventId) -> bool {
        let (first, second) = (&graph.events[x].kind, &graph.events[y].kind);
        let objects = match (first, second) {
            (EventKind::Mbarrier(one), EventKind::Mbarrier(other)) => {
                self.mbarriers.send(one.object, other.object)
            }
            _ => true,
        };
        let memory = match (first.access(), second.access()) {
            (Some(one), Some(other)) => self.send_cell(&graph.terms, one, other),
            (None, None) => true,
            _ => false,
        };
        objects && memory && self.events.send(x, y)
    }

    fn send_cell(&mut self, terms: &TermPool, one: &Access, other: &Access) -> bool {
        if !self.locations.send(one.location, other.location) {
            return false;
        }
        let at = |access: &Access| terms.constant_value(access.offset).and_then(|at| u32::try_from(at).ok());
        match (at(one), at(other)) {
            (Some(from), Some(to)) => self.cells.send((one.location, from), (other.location, to)),
            (None, None) => true,
            _ => false,
        }
    }

    /// Starts and ends of CTAs, mbarriers' memory, and initial writes.
    fn send_the_rest(&mut self, graph: &EventGraph, cells: &Cells) -> Option<()> {
        let mut places: SortedMap<(bool, CtaId), EventId> = SortedMap::new();
        for (id, event) in graph.events.iter_enumerated() {
            match event.kind {
                EventKind::CtaStart(cta) => places.insert((true, cta), id),
                EventKind::CtaExit(cta) => places.insert((false, cta), id),
                _ => None,
            };
        }
        for (&(is_start, cta), &event) in &places {
            self.events.send(event, *places.get(&(is_start, self.cta(cta)))?).then_some(())?;
        }
        for (id, object) in graph.mbarriers.iter_enumerated() {
            let image = &graph.mbarriers[self.mbarrier(id)];
            self.locations.send(object.location, image.location).then_some(())?;
        }
        for (&(location, cell), &event) in &cells.initial {
            let grain = cells.grain_bytes[location];
            let image = (self.location(location), self.cell(location, cell * grain) / grain);
            self.events.send(event, *cells.initial.get(&image)?).then_some(())?;
        }
        Some(())
    }

    /// Unknowns go where what they stand for goes; those of one kind and place keep their order.
    fn unknowns(
        &self,
        graph: &EventGraph,
        owners: &Owners,
        moves: &[(usize, usize)],
    ) -> Option<Vec<UnknownId>> {
        type Key = (UnknownKind, Option<usize>);
        let mut by_key: FxHashMap<Key, Vec<UnknownId>> = FxHashMap::default();
        let unknowns = graph.terms.unknowns();
        let owner = |id: UnknownId| {
            let moves = |owner| moves.iter().any(|&(from, _)| from == owner);
            owners.of.get(&id).copied().flatten().filter(|&owner| moves(owner))
        };
        let key =
            |id: UnknownId, kind: &UnknownKind| (kind.clone(), if is_named(kind) { None } else { owner(id) });
        for (id, unknown) in unknowns.iter_enumerated() {
            by_key.entry(key(id, &unknown.kind)).or_default().push(id);
        }
        let mut places: FxHashMap<UnknownId, usize> = FxHashMap::default();
        for (id, unknown) in unknowns.iter_enumerated() {
            let own = &by_key[&key(id, &unknown.kind)];
            places.insert(id, own.binary_search(&id).ok()?);
        }
        let mut images = Vec::with_capacity(unknowns.len());
        for (id, unknown) in unknowns.iter_enumerated() {
            let (kind, owner) = key(id, &unknown.kind);
            let goes = |owner| moves.iter().find(|&&(from, _)| from == owner).map(|&(_, to)| to);
            let owner = owner.and_then(goes);
            let image = *by_key.get(&(self.unknown_kind(&kind), owner))?.get(places[&id])?;
            let (one, other) = (unknown, graph.terms.unknown(image));
            if (one.width, one.min, one.max) != (other.width, other.min, other.max) {
                return None;
            }
            images.push(image);
        }
        Some(images)
    }

    fn unknown_kind(&self, kind: &UnknownKind) -> UnknownKind {
        let at = |location, offset_bytes| (self.location(location), self.cell(location, offset_bytes));
        match *kind {
            UnknownKind::Read(event) => UnknownKind::Read(self.event(event)),
            UnknownKind::ReadsLast(event) => UnknownKind::ReadsLast(self.event(event)),
            UnknownKind::ReadsPromised(event) => UnknownKind::ReadsPromised(self.event(event)),
            UnknownKind::Spins(agent) => UnknownKind::Spins(self.agent(agent)),
            UnknownKind::Triggers(agent) => UnknownKind::Triggers(self.agent(agent)),
            UnknownKind::Starts(cluster) => UnknownKind::Starts(self.cluster(cluster)),
            UnknownKind::Initial { location, offset_bytes } => {
                let (location, offset_bytes) = at(location, offset_bytes);
                UnknownKind::Initial { location, offset_bytes }
            }
            UnknownKind::FinalValue { location, offset_bytes, width_bytes } => {
                let (location, offset_bytes) = at(location, offset_bytes);
                UnknownKind::FinalValue { location, offset_bytes, width_bytes }
            }
            ref other => other.clone(),
        }
    }

    /// Where an agent goes.
    pub fn agent(&self, agent: AgentId) -> AgentId {
        self.agents.image(agent)
    }
    /// Where an event goes.
    pub fn event(&self, event: EventId) -> EventId {
        self.events.image(event)
    }
    /// The events that may go elsewhere.
    pub fn moved(&self) -> impl Iterator<Item = (EventId, EventId)> {
        let mut moved: Vec<_> =
            self.events.forth.iter().map(|(&a, &b)| (a, b)).filter(|(a, b)| a != b).collect();
        moved.sort_unstable();
        moved.into_iter()
    }
    /// Where a CTA goes.
    pub fn cta(&self, cta: CtaId) -> CtaId {
        self.ctas.image(cta)
    }
    /// Where a cluster goes.
    pub fn cluster(&self, cluster: u32) -> u32 {
        self.clusters.image(cluster)
    }
    /// Where a location goes.
    pub fn location(&self, location: LocationId) -> LocationId {
        self.locations.image(location)
    }
    /// Where a cell of a location goes, within that location's image.
    pub fn cell(&self, location: LocationId, offset_bytes: u32) -> u32 {
        self.cells.forth.get(&(location, offset_bytes)).map_or(offset_bytes, |&(_, to)| to)
    }
    /// Whether cells of a location go elsewhere within their location.
    pub fn moves_cells_of(&self, location: LocationId) -> bool {
        self.cells.forth.iter().any(|(&(own, from), &(_, to))| own == location && from != to)
    }
    /// Where an mbarrier goes.
    pub fn mbarrier(&self, mbarrier: MbarrierId) -> MbarrierId {
        self.mbarriers.image(mbarrier)
    }
    /// Where an unknown goes.
    pub fn unknown(&self, unknown: UnknownId) -> UnknownId {
        self.unknowns[unknown.index()]
    }
    /// What a term becomes; `None` if there is no such term.
    pub fn term(&self, term: TermRef) -> Option<TermRef> {
        self.terms[term.index()]
    }
}

/// Whether what an unknown stands for is named by its kind.
fn is_named(kind: &UnknownKind) -> bool {
    matches!(
        kind,
        UnknownKind::Parameter
            | UnknownKind::Read(_)
            | UnknownKind::ReadsLast(_)
            | UnknownKind::ReadsPromised(_)
            | UnknownKind::Spins(_)
            | UnknownKind::Triggers(_)
            | UnknownKind::Starts(_)
            | UnknownKind::Initial { .. }
            | UnknownKind::FinalValue { .. }
    )
}
