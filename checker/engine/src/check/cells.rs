//! Cells that are touched alike are one.
//!
//! A tile that a copy writes and a warpgroup reads is thousands of words, and what can go wrong at one of them can go wrong at
//! each. So of cells that the same accesses touch, one is looked at, and the accesses of the others are left out; reads of
//! memory that nobody writes are left out as well.
//!
//! What is left out has no say in anything: accesses are weak, no atomics, at addresses that are numbers, and what they read
//! decides nothing, is claimed of nothing, and is stored by no strong write ([`Values`]).
//!
//! Sound: take an execution, and two cells of one class. Their accesses correspond to each other: the same kind of
//! instruction, of the same thread, with the same guard, between the same two events that order anything, and with the same
//! edges to everything else. Exchange which writes their reads read from, and in
//! which order they are written. The result is an execution: relations of accesses with others are the same for both (between
//! two events that order anything a thread's accesses of different cells may come in any order), weak accesses order nothing by
//! what they read, and values that anybody asks for do not come from them. Only which value depends on
//! which may differ, and that is on no circle: no value of such a cell comes back to its location, by whatever way
//! ([`circles`]). So what is wrong at a cell is wrong at the one that stands for its class, in some execution; and of that, all
//! other cells' accesses may be left out, since axioms and flags are monotone. The other way round, an execution without the
//! accesses of the others becomes one with them by doing there what is done at the one. Of memory in which nobody writes, reads
//! are in no race, whatever a model says of it besides.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone),
//! [`Need::MonotoneFlags`](crate::facts::needs::Need::MonotoneFlags), and of each cell
//! [`Need::Alike`](crate::facts::needs::Need::Alike), which is asked here.

use super::Config;
use crate::event::support::Supports;
use crate::event::values::Values;
use crate::event::{
    Bundle, Edge, Edges, EventGraph, EventId, EventKind, LocationId, Mbarrier, TermKind, TermPool, TermRef,
    UnknownKind, Wait,
};
use crate::facts::needs::Need;
use crate::facts::{self, Facts};
use crate::relation::dependency::decided_stores;
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::Proxy;
use rustc_hash::{FxHashMap, FxHashSet};

/// The graph with cells that are touched alike as one, where it is large and its model lets that be.
pub(super) fn merged(
    graph: EventGraph,
    model: &MemoryModel,
    config: &Config,
    facts: &mut Facts,
) -> EventGraph {
    if config.treatment.cells_from == usize::MAX || facts.is_off(&facts::ALIKE_CELLS) {
        return graph;
    }
    let graph = without_idle_definitions(graph);
    if graph.events.len() < config.treatment.cells_from {
        return graph;
    }
    if !crate::slice::are_monotone(&graph, model) {
        let because = "a flag may get lost with events that are left out";
        facts.withdraw(&facts::ALIKE_CELLS, Need::MonotoneFlags, because);
        return graph;
    }
    without_alike(&graph).unwrap_or(graph)
}

/// The graph without what is said of values that lanes tell one another and nobody asks for: they are any.
fn without_idle_definitions(mut graph: EventGraph) -> EventGraph {
    if graph.condition.is_some()
        || !graph.constraints.iter().any(|constraint| graph.terms.is_definition(constraint.term))
    {
        return graph;
    }
    let wanted = Values::new(&graph).terms;
    let mut constraints = std::mem::take(&mut graph.constraints);
    constraints
        .retain(|constraint| graph.terms.defined_by(constraint.term).is_none_or(|it| wanted.contains(&it)));
    EventGraph { constraints, ..graph }
}

/// The graph without accesses that others stand for; `None` if there are none.
fn without_alike(graph: &EventGraph) -> Option<EventGraph> {
    if graph.condition.is_some() || graph.hierarchy.launch().spa.is_some() {
        return None;
    }
    let values = Values::new(graph);
    let cyclic = circles(graph);
    let sides = Sides::new(graph);
    let segments = segments(graph, &values);
    let mut of_location: SortedMap<LocationId, Vec<EventId>> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        if let Some(access) = event.kind.access() {
            of_location.entry(access.location).or_default().push(id);
        }
    }
    let mut left_out: FxHashSet<EventId> = FxHashSet::default();
    for (&location, events) in &of_location {
        let of = &graph.locations[location];
        if cyclic.contains(&location) || of.is_register || of.is_tensor {
            continue;
        }
        let Some(mut extents) = extents(graph, events) else { continue };
        extents.sort_unstable();
        // A descriptor that nobody has written is no data.
        let is_plain_read = |&id: &EventId| match &graph.events[id].kind {
            EventKind::Read(access) => matches!(access.proxy, Proxy::Generic | Proxy::Async),
            _ => false,
        };
        let nobody_writes = events.iter().all(is_plain_read);
        let mut known: SortedSet<Vec<Touch<'_>>> = SortedSet::new();
        for cell in islands(&extents) {
            let (first, last) = (cell[0].0, cell.iter().map(|&(_, end, _)| end).max().unwrap_or(0));
            let is_free = cell.iter().all(|&(.., id)| values.is_free(graph, id));
            if !is_free || values.is_claimed(location, first, last) {
                continue;
            }
            let is_of_nobody = nobody_writes && of.cta.is_none();
            let touches = touches(graph, &sides, &segments, cell);
            if is_of_nobody || !known.insert(touches) {
                left_out.extend(cell.iter().map(|&(.., id)| id));
            }
        }
    }
    (!left_out.is_empty()).then(|| without(graph, &left_out))
}

/// First and last byte of each access of a location; `None` where one is not known.
fn extents(graph: &EventGraph, events: &[EventId]) -> Option<Vec<(u64, u64, EventId)>> {
    let extent = |&id: &EventId| {
        let access = graph.events[id].kind.access()?;
        let start = u64::try_from(graph.terms.constant_value(access.offset)?).ok()?;
        Some((start, start + u64::from(access.width_bytes), id))
    };
    events.iter().map(extent).collect()
}

/// Accesses that overlap, directly or by others between them.
fn islands(sorted: &[(u64, u64, EventId)]) -> Vec<&[(u64, u64, EventId)]> {
    let (mut islands, mut from, mut end) = (Vec::new(), 0, 0);
    for (index, &(start, last, _)) in sorted.iter().enumerate() {
        if index > from && start >= end {
            islands.push(&sorted[from..index]);
            from = index;
        }
        end = if index == from { last } else { end.max(last) };
    }
    if from < sorted.len() {
        islands.push(&sorted[from..]);
    }
    islands
}

/// How many events each access has before it in its agent that others cannot stand for: between two of them, accesses of
/// different cells are in no order that anybody could tell.
fn segments(graph: &EventGraph, values: &Values) -> IndexVec<EventId, u32> {
    let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
    let mut segments = IndexVec::new();
    for (id, event) in graph.events.iter_enumerated() {
        let count = counts.entry(event.agent.map_or(u32::MAX, |agent| agent.0)).or_default();
        if !values.is_free(graph, id) {
            *count += 1;
        }
        segments.push(*count);
    }
    segments
}

/// What touches a cell, in each agent's order.
fn touches<'g>(
    graph: &'g EventGraph,
    sides: &'g Sides,
    segments: &IndexVec<EventId, u32>,
    cell: &[(u64, u64, EventId)],
) -> Vec<Touch<'g>> {
    let agent = |id: EventId| graph.events[id].agent.map_or(u32::MAX, |agent| agent.0);
    let mut events: Vec<(u32, u32, u64, EventId)> = cell
        .iter()
        .map(|&(start, _, id)| (agent(id), graph.events[id].position, start - cell[0].0, id))
        .collect();
    events.sort_unstable();
    let (mut rank, mut before) = (0, None);
    let mut touches = Vec::with_capacity(events.len());
    for (agent, position, offset, id) in events {
        // Those that are in no order have the same rank.
        if before != Some((agent, position)) {
            rank += 1;
        }
        before = Some((agent, position));
        touches.push(sides.touch(graph, id, (offset, segments[id], rank)));
    }
    touches
}

/// All that an access is but for which cell it touches.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Touch<'g> {
    /// From the start of the cell.
    offset: u64,
    width_bytes: u32,
    is_write: bool,
    agent: u32,
    segment: u32,
    rank: u32,
    guard: TermRef,
    mapping: u32,
    proxy: Proxy,
    opcode: &'g str,
    is_unread: bool,
    side: &'g [Side],
}

/// An edge to something else, or a part in many.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    To(BaseRelation, EventId, TermRef),
    From(BaseRelation, EventId, TermRef),
    Heads(BaseRelation, usize),
    Tails(BaseRelation, usize),
    Peer(u32, EventId, EventId),
}

/// The edges of each access.
struct Sides {
    of: FxHashMap<EventId, Vec<Side>>,
}

impl Sides {
    fn new(graph: &EventGraph) -> Self {
        let mut of: FxHashMap<EventId, Vec<Side>> = FxHashMap::default();
        let is_access = |id: EventId| graph.events[id].kind.access().is_some();
        for relation in Edges::relations() {
            for edge in graph.edges.single(relation) {
                if is_access(edge.from) {
                    of.entry(edge.from).or_default().push(Side::To(relation, edge.to, edge.condition));
                }
                if is_access(edge.to) {
                    of.entry(edge.to).or_default().push(Side::From(relation, edge.from, edge.condition));
                }
            }
            for (number, bundle) in graph.edges.bundles(relation).iter().enumerate() {
                for &id in bundle.from.iter().filter(|&&id| is_access(id)) {
                    of.entry(id).or_default().push(Side::Heads(relation, number));
                }
                for &id in bundle.to.iter().filter(|&&id| is_access(id)) {
                    of.entry(id).or_default().push(Side::Tails(relation, number));
                }
            }
        }
        for peer in &graph.peer_accesses {
            of.entry(peer.access).or_default().push(Side::Peer(peer.owner.0, peer.start, peer.exit));
        }
        of.values_mut().for_each(|sides| sides.sort_unstable());
        Self { of }
    }

    fn touch<'g>(
        &'g self,
        graph: &'g EventGraph,
        id: EventId,
        (offset, segment, rank): (u64, u32, u32),
    ) -> Touch<'g> {
        let event = &graph.events[id];
        let site = event.site.map(|site| &graph.sites[site]);
        let access = event.kind.access();
        Touch {
            offset,
            width_bytes: access.map_or(0, |access| access.width_bytes),
            is_write: matches!(event.kind, EventKind::Write(_)),
            agent: event.agent.map_or(u32::MAX, |agent| agent.0),
            segment,
            rank,
            guard: event.guard,
            mapping: access.map_or(0, |access| access.mapping),
            proxy: access.map_or(Proxy::Generic, |access| access.proxy),
            opcode: site.map_or("", |site| &site.text),
            is_unread: site.is_some_and(|site| site.is_unread),
            side: self.of.get(&id).map_or(&[], Vec::as_slice),
        }
    }
}

/// Locations whose values come back to them by way of reads and writes.
fn circles(graph: &EventGraph) -> SortedSet<LocationId> {
    let mut origins = Origins { graph, of: FxHashMap::default() };
    let mut flows: SortedMap<LocationId, SortedSet<LocationId>> = SortedMap::new();
    for event in graph.events.iter() {
        let EventKind::Write(access) = &event.kind else { continue };
        for from in origins.of(access.value) {
            flows.entry(from).or_default().insert(access.location);
        }
    }
    let comes_back = |&start: &LocationId| {
        let mut pending: Vec<LocationId> = flows[&start].iter().copied().collect();
        let mut seen = SortedSet::new();
        while let Some(location) = pending.pop() {
            if location == start {
                return true;
            }
            if seen.insert(location) {
                pending.extend(flows.get(&location).into_iter().flat_map(SortedSet::iter).copied());
            }
        }
        false
    };
    flows.keys().copied().filter(comes_back).collect()
}

/// The locations that a term's value was read from.
struct Origins<'g> {
    graph: &'g EventGraph,
    of: FxHashMap<TermRef, SortedSet<LocationId>>,
}

impl Origins<'_> {
    fn of(&mut self, term: TermRef) -> SortedSet<LocationId> {
        let terms: &TermPool = &self.graph.terms;
        let (mut pending, mut open) = (vec![term], FxHashSet::default());
        while let Some(&top) = pending.last() {
            if self.of.contains_key(&top) {
                pending.pop();
                continue;
            }
            let mut operands = terms.operands(top);
            let mut own = SortedSet::new();
            if let TermKind::Unknown(unknown) = *terms.kind(top) {
                operands.extend(terms.definition(unknown));
                if let UnknownKind::Read(read) = terms.unknown(unknown).kind
                    && let Some(access) = self.graph.events[read].kind.access()
                {
                    own.insert(access.location);
                }
            }
            let is_missing = |operand: &&TermRef| !self.of.contains_key(operand) && !open.contains(*operand);
            let missing: Vec<TermRef> = operands.iter().filter(is_missing).copied().collect();
            if !missing.is_empty() {
                open.insert(top);
                pending.extend(missing);
                continue;
            }
            for operand in &operands {
                own.extend(self.of.get(operand).into_iter().flat_map(SortedSet::iter).copied());
            }
            self.of.insert(top, own);
            pending.pop();
        }
        self.of[&term].clone()
    }
}

/// The graph without some accesses; what they have read is any value.
fn without(graph: &EventGraph, left_out: &FxHashSet<EventId>) -> EventGraph {
    let decided = match &graph.decided_stores {
        Some(known) => known.clone(),
        None => decided_stores(graph, &mut Supports::default()),
    };
    let mut places: IndexVec<EventId, Option<EventId>> = IndexVec::new();
    let mut events = IndexVec::new();
    for (id, event) in graph.events.iter_enumerated() {
        places.push(if left_out.contains(&id) { None } else { Some(events.push(event.clone())) });
    }
    let place = |id: EventId| places[id];
    let pair = |&(a, b): &(EventId, EventId)| Some((place(a)?, place(b)?));
    let mut terms = graph.terms.clone();
    terms.rename_unknowns(|_, kind| match *kind {
        UnknownKind::Read(event) => place(event).map_or(UnknownKind::Elsewhere, UnknownKind::Read),
        UnknownKind::ReadsLast(event) => place(event).map_or(UnknownKind::Elsewhere, UnknownKind::ReadsLast),
        UnknownKind::ReadsPromised(event) => {
            place(event).map_or(UnknownKind::Elsewhere, UnknownKind::ReadsPromised)
        }
        ref kind => kind.clone(),
    });
    let mut edges = Edges::default();
    for relation in Edges::relations() {
        let kept = graph.edges.single(relation).iter().filter_map(|edge| {
            Some(Edge { from: place(edge.from)?, to: place(edge.to)?, condition: edge.condition })
        });
        edges.add_all(relation, kept);
        for Bundle { from, to } in graph.edges.bundles(relation) {
            let [from, to] = [from, to].map(|ids| ids.iter().filter_map(|&id| place(id)).collect());
            edges.add_bundle(relation, from, to);
        }
    }
    let mbarrier = |mbarrier: &Mbarrier| {
        let mut mbarrier = mbarrier.clone();
        for operation in &mut mbarrier.operations {
            operation.event = place(operation.event).unwrap_or(EventId::from_index(0));
        }
        mbarrier
    };
    let mut blocked = graph.blocked.clone();
    for blocked in &mut blocked {
        if let Wait::Memory(looks) = &mut blocked.wait {
            looks.iter_mut().for_each(|look| look.event = look.event.and_then(place));
        }
    }
    let peer_accesses = graph.peer_accesses.iter().filter_map(|peer| {
        let (access, start, exit) = (place(peer.access)?, place(peer.start)?, place(peer.exit)?);
        Some(crate::event::PeerAccess { access, start, exit, ..*peer })
    });
    EventGraph {
        terms,
        events,
        rmw: graph.rmw.iter().filter_map(pair).collect(),
        decided_stores: Some(decided.iter().filter_map(pair).collect()),
        edges,
        mbarriers: graph.mbarriers.iter().map(mbarrier).collect(),
        blocked,
        peer_accesses: peer_accesses.collect(),
        meetings: graph
            .meetings
            .iter()
            .filter_map(|(&id, meeting)| Some((place(id)?, meeting.clone())))
            .collect(),
        ..graph.clone()
    }
}
