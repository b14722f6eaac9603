//! Base sets and relations of an event graph: what Rust supplies to the model file, and nothing of its semantics.

use super::MayMust;
use super::counting::resets::{self, Word};
use super::counting::{Counted, Counter, counters};
use super::dependency::dependencies;
use super::machine::machine_pairs;
use super::overlap::{Overlap, complete_overlap, overlap};
use super::together::Togetherness;
use super::window::windows;
use crate::bits::closure::Togetherness as Together;
use crate::bits::{BitMatrix, EventSet, RowWriter};
use crate::event::cell::Cells;
use crate::event::{
    Access, AgentId, AtomicClass, CancelEvent, CtaId, Edges, Event, EventGraph, EventId, EventKind,
    GridEvent, LocationId, MbarrierId, MbarrierRole, Role, SpaEvent, TensorEvent, TermKind, TermPool,
    TermRef, UnknownKind,
};
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet, TermId};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{FenceSem, MembarLevel, Proxy, ProxyFence, Scope, Sem};
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Bounds of the base relations, and which events happen together.
#[derive(Clone, Debug)]
pub struct Basis {
    sets: SortedMap<BaseSet, EventSet>,
    relations: SortedMap<BaseRelation, MayMust>,
    /// Pairs of events that may happen in one execution.
    pub coexist: BitMatrix,
    /// `(a, b)`: `b` happens in every execution in which `a` does.
    pub implies: BitMatrix,
    /// The converse of `implies`.
    pub implied_by: BitMatrix,
    /// Accesses of one cell.
    single: EventSet,
    /// Words that only additions write.
    pub(super) counters: Arc<Vec<Counter>>,
    /// Words that additions and writes of constants write.
    pub resettable: Arc<Vec<Word>>,
    /// How many of those the axioms do not put into the order that it takes.
    pub n_unsettled: usize,
    /// Of the others, those whose rounds were put in order.
    pub n_settled: usize,
    /// What the words that count let know beyond the bounds of relations.
    pub counted: Counted,
}

impl Basis {
    /// A base set.
    pub fn set(&self, base: BaseSet) -> &EventSet {
        &self.sets[&base]
    }
    /// Bounds of a base relation.
    pub fn relation(&self, base: BaseRelation) -> MayMust {
        self.relations[&base].clone()
    }
    /// Bounds of a base relation, by reference.
    pub fn bounds(&self, base: BaseRelation) -> &MayMust {
        &self.relations[&base]
    }
    /// Bounds of a base relation, to tighten.
    pub fn bounds_mut(&mut self, base: BaseRelation) -> &mut MayMust {
        self.relations.get_mut(&base).expect("every base relation has bounds")
    }

    /// Which events happen together, for closures.
    pub fn together(&self) -> Together<'_> {
        Together { implies: &self.implies, implied_by: &self.implied_by }
    }
    /// The base relations whose bounds differ from an earlier state.
    pub fn changed_since(&self, earlier: &Self) -> SortedSet<BaseRelation> {
        self.relations
            .iter()
            .filter(|(base, bounds)| earlier.relations[base] != **bounds)
            .map(|(&base, _)| base)
            .collect()
    }

    /// The terms of which more pairs are known to be certain than in an earlier state.
    pub fn surer_since(&self, earlier: &Self) -> SortedSet<TermId> {
        let earlier = &earlier.counted.certain;
        let differs = |(term, pairs): &(&TermId, &BitMatrix)| earlier.get(term) != Some(*pairs);
        self.counted.certain.iter().filter(differs).map(|(&term, _)| term).collect()
    }

    /// The words that count under the model.
    pub fn counted_words(&self) -> impl Iterator<Item = &Counter> {
        self.counters.iter().filter(|counter| self.counted.has(counter))
    }

    /// What keeps words that only additions write from being counted under the model, if there are such words.
    pub fn uncounted(&self) -> Option<String> {
        let (n_words, n_counted) = (self.counters.len(), self.counted_words().count());
        (n_counted < n_words).then(|| {
            format!("the axioms do not order the additions to {} of {n_words} words", n_words - n_counted)
        })
    }

    /// What keeps the rounds of words that are set back from being ordered under the model, if there are such words.
    pub fn unsettled(&self) -> Option<String> {
        let (n_words, n_unsettled) = (self.resettable.len(), self.n_unsettled);
        (n_unsettled > 0)
            .then(|| format!("the axioms do not order the writes of {n_unsettled} of {n_words} words"))
    }

    /// From now on, `b` is known to happen whenever `a` does.
    pub fn imply(&mut self, a: EventId, b: EventId) {
        let n = self.coexist.universe();
        let from = EventSet::from_iter(n, self.implied_by.successors(a).chain([a]));
        let to = EventSet::from_iter(n, self.implies.successors(b).chain([b]));
        self.implies.fill(&from, &to);
        self.implied_by.fill(&to, &from);
        self.counted.follows.push((a, b));
    }

    /// What the graph alone says; of the values that reads can return, if `values` says so, and of words that count, if
    /// `counting` does.
    pub fn new(graph: &EventGraph, cells: &Cells, values: bool, counting: bool) -> Self {
        let n = graph.events.len();
        let mut together = Togetherness::new(graph);
        let about_values = std::mem::take(&mut together.about_values);
        let about_values = if values { about_values } else { FxHashMap::default() };
        let mut relations: SortedMap<BaseRelation, MayMust> =
            BaseRelation::ALL.iter().map(|&(base, _)| (base, MayMust::empty(n))).collect();
        for (base, pairs) in place_pairs(graph).into_iter().chain(life_pairs(graph)) {
            relations.insert(base, MayMust::exact(pairs));
        }
        for (base, relation) in location_relations(graph) {
            relations.insert(base, relation);
        }
        for (base, relation) in dependencies(graph) {
            relations.insert(base, MayMust::exact(relation));
        }
        let rmw = BitMatrix::from_pairs(n, graph.rmw.clone());
        relations.insert(BaseRelation::ReadModifyWrite, MayMust::exact(rmw));
        for base in Edges::relations() {
            let may = edge_pairs(graph, base, |_| true);
            let must = edge_pairs(graph, base, |condition| condition == TermPool::TRUE);
            relations.insert(base, MayMust::new(may, must));
        }
        let counters = if counting {
            counters(graph, cells, &relations[&BaseRelation::SameLocation], &about_values)
        } else {
            Vec::new()
        };
        let resettable = if counting && values {
            let facts = |event: EventId| together.facts(event);
            resets::words(graph, cells, &relations[&BaseRelation::SameLocation], &facts)
        } else {
            Vec::new()
        };
        let Togetherness { coexist, implies, .. } = together;
        let is_single = |event: EventId| {
            graph.events[event].kind.access().is_some_and(|access| cells.n_pieces(access) == 1)
        };
        let single = EventSet::from_fn(n, is_single);
        let mut basis = Self {
            sets: base_sets(graph),
            relations,
            implied_by: implies.inverse(),
            implies,
            coexist,
            single,
            counters: Arc::new(counters),
            resettable: Arc::new(resettable),
            n_unsettled: 0,
            n_settled: 0,
            counted: Counted::default(),
        };
        basis.add_communication(graph, cells, &about_values);
        let coexist = basis.coexist.clone();
        for relation in basis.relations.values_mut() {
            *relation = relation.within(&coexist);
        }
        for (base, relation) in &basis.relations {
            assert!(relation.is_consistent(), "what is certain of {base:?} is possible");
        }
        basis
    }

    /// Candidates for `rf`, `co`, `sync_fence`; `fr` follows.
    ///
    /// Sound: a read does not take from a write of a constant that its happening at all rules out (a wait that was left,
    /// the comparison of a `cas`), where one piece is all that both have.
    ///
    /// Needs: [`Need::OneCell`](crate::facts::needs::Need::OneCell). Asked here, of the read and of each write.
    fn add_communication(
        &mut self,
        graph: &EventGraph,
        cells: &Cells,
        about_values: &FxHashMap<EventId, Vec<TermRef>>,
    ) {
        let n = graph.events.len();
        let location = self.relation(BaseRelation::SameLocation);
        let (mut rf, mut co, mut fence_order) = (MayMust::empty(n), MayMust::empty(n), MayMust::empty(n));
        for (a, b) in location.may.pairs() {
            match (&graph.events[a].kind, &graph.events[b].kind) {
                (EventKind::Init(written) | EventKind::Write(written), EventKind::Read(read)) => {
                    let is_whole = cells.n_pieces(written) == 1 && cells.n_pieces(read) == 1;
                    let facts = about_values.get(&b).filter(|_| is_whole);
                    if facts.is_none_or(|facts| may_return(&graph.terms, facts, written.value)) {
                        rf.may.insert(a, b);
                    }
                }
                (EventKind::Init(_), EventKind::Write(_)) => {
                    co.may.insert(a, b);
                    if location.must.contains(a, b) {
                        co.must.insert(a, b);
                    }
                }
                (EventKind::Write(_), EventKind::Write(_)) if a != b => co.may.insert(a, b),
                _ => {}
            }
        }
        let fences = self.set(BaseSet::Fence).intersection(self.set(BaseSet::SequentiallyConsistent));
        for a in fences.iter() {
            for b in fences.iter() {
                if a != b && self.bounds(BaseRelation::SameScope).may.contains(a, b) {
                    fence_order.may.insert(a, b);
                }
            }
        }
        self.relations.insert(BaseRelation::ReadsFrom, rf);
        self.relations.insert(BaseRelation::Coherence, co);
        self.relations.insert(BaseRelation::FenceSc, fence_order);
        self.refresh_from_reads();
    }

    /// Recomputes the bounds of `fr` from those of `rf` and `co`.
    ///
    /// `fr` is per byte (§1.15), so for accesses of several cells only `may` is derived, which is always sound.
    pub fn refresh_from_reads(&mut self) {
        let n = self.coexist.universe();
        let (rf, co) = (self.bounds(BaseRelation::ReadsFrom), self.bounds(BaseRelation::Coherence));
        let location = self.bounds(BaseRelation::SameLocation);
        let mut fr = MayMust::empty(n);
        fr.may = rf.may.inverse().sequence(&co.may).intersection(&location.may);
        let sources = rf.may.inverse();
        for (read, write) in fr.may.pairs() {
            let certain = self.single.contains(read)
                && location.must.contains(read, write)
                && sources.successors(read).all(|source| co.must.contains(source, write));
            if certain {
                fr.must.insert(read, write);
            }
        }
        self.relations.insert(BaseRelation::FromReads, fr.within(&self.coexist));
    }
}

/// Whether comparisons of a value with constants may hold of what was written.
fn may_return(terms: &TermPool, facts: &[TermRef], written: TermRef) -> bool {
    terms.constant_value(written).is_none_or(|written| holds_of(terms, facts, written))
}

/// Whether comparisons of a value with constants hold of this one.
pub fn holds_of(terms: &TermPool, facts: &[TermRef], value: u128) -> bool {
    let holds = |compared: TermRef| {
        let of = |term: TermRef| terms.constant_value(term).unwrap_or(value);
        match *terms.kind(compared) {
            TermKind::Equal(a, b) => of(a) == of(b),
            TermKind::Less(a, b) => of(a) < of(b),
            _ => true,
        }
    };
    facts.iter().all(|&fact| match *terms.kind(fact) {
        TermKind::Not(inner) => !holds(inner),
        _ => holds(fact),
    })
}

fn base_sets(graph: &EventGraph) -> SortedMap<BaseSet, EventSet> {
    let n = graph.events.len();
    BaseSet::ALL
        .iter()
        .map(|&(base, _)| (base, EventSet::from_fn(n, |event| in_set(graph, &graph.events[event], base))))
        .collect()
}

/// The read that an unknown says to be of last writes, and which writes there must be none of after those.
pub fn last_writes<'g>(
    graph: &'g EventGraph,
    kind: &UnknownKind,
) -> Option<(EventId, impl Fn(EventId) -> bool + 'g)> {
    let (read, all) = match *kind {
        UnknownKind::ReadsLast(read) => (read, true),
        UnknownKind::ReadsPromised(read) => (read, false),
        _ => return None,
    };
    let place = |event: EventId| {
        let event = &graph.events[event];
        Some((event.agent?, event.kind.scope()))
    };
    let counts = move |write: EventId| {
        all || place(write)
            .zip(place(read))
            .is_some_and(|(write, read)| graph.hierarchy.promises(write, read))
    };
    Some((read, counts))
}

/// Whether an event belongs to a base set.
pub fn in_set(graph: &EventGraph, event: &Event, base: BaseSet) -> bool {
    let access = event.kind.access();
    let fence = match event.kind {
        EventKind::Fence { sem, scope } => Some((sem, scope)),
        _ => None,
    };
    let proxy_fence = match event.kind {
        EventKind::ProxyFence(fence) => Some(fence),
        _ => None,
    };
    let restricted = match event.kind {
        EventKind::RestrictedFence(fence) => Some(fence),
        _ => None,
    };
    let is_signal = matches!(
        event.kind,
        EventKind::ClusterArrive { .. }
            | EventKind::ClusterWait
            | EventKind::Mbarrier(_)
            | EventKind::Issue { .. }
    );
    // thread fences are generic; so are operations on mbarriers (MB-20), the start of a releasing operation, and the
    // ends of patterns with a restricted fence, whose proxies the model file knows.
    let proxy = access
        .filter(|access| !graph.locations[access.location].is_tensor)
        .map(|access| access.proxy)
        .or((fence.is_some() || restricted.is_some() || is_signal).then_some(Proxy::Generic))
        .or(proxy_fence.and_then(ProxyFence::proxy))
        .or(matches!(event.kind, EventKind::AsyncFence(_)).then_some(Proxy::Async));
    let spa = match &event.kind {
        EventKind::Spa(event) => Some(event),
        _ => None,
    };
    let membar = spa.and_then(SpaEvent::level);
    let init = matches!(event.kind, EventKind::Init(_));
    let read = matches!(event.kind, EventKind::Read(_));
    let write = init || matches!(event.kind, EventKind::Write(_));
    let mbarrier = match &event.kind {
        EventKind::Mbarrier(operation) => Some(*operation),
        _ => None,
    };
    let sem = match &event.kind {
        EventKind::ClusterArrive { sem } => Some(*sem),
        EventKind::ClusterWait => Some(Sem::Acquire),
        EventKind::Issue { sem, .. } => Some(*sem),
        _ => mbarrier.map(|operation| operation.sem).or(access.map(|access| access.sem)),
    };
    let scope = event.kind.scope();
    let strong = scope.is_some();
    match base {
        BaseSet::All => true,
        BaseSet::Read => read,
        BaseSet::Write => write,
        BaseSet::Memory => read || write,
        BaseSet::Fence => event.kind.is_fence(),
        BaseSet::InitialWrite => init,
        // MM-12, MM-13: volatile and mmio are relaxed.
        BaseSet::Relaxed => matches!(sem, Some(Sem::Relaxed | Sem::Volatile | Sem::Mmio)),
        BaseSet::Acquire => sem == Some(Sem::Acquire) || matches!(fence, Some((FenceSem::Acquire, _))),
        BaseSet::Release => sem == Some(Sem::Release) || matches!(fence, Some((FenceSem::Release, _))),
        BaseSet::AcquireRelease => matches!(fence, Some((FenceSem::AcqRel, _))),
        BaseSet::SequentiallyConsistent => matches!(fence, Some((FenceSem::Sc, _))),
        BaseSet::Weak => !init && access.is_some() && sem == Some(Sem::Weak),
        BaseSet::Strong => strong,
        BaseSet::Atomic => access.is_some_and(|a| matches!(a.atomic, AtomicClass::Atom | AtomicClass::Sink)),
        BaseSet::Sink => access.is_some_and(|a| a.atomic == AtomicClass::Sink),
        BaseSet::Reduction => access.is_some_and(|a| a.atomic == AtomicClass::Reduction),
        BaseSet::Await => read && event.decides,
        BaseSet::Unread => {
            read && sem == Some(Sem::Weak) && event.site.is_some_and(|site| graph.sites[site].is_unread)
        }
        BaseSet::Spin => read && matches!(event.role, Role::Spin(_)),
        BaseSet::BarrierArrive => matches!(event.kind, EventKind::BarrierArrive),
        BaseSet::BarrierWait => matches!(event.kind, EventKind::BarrierWait),
        BaseSet::Signal => {
            matches!(event.kind, EventKind::ClusterArrive { .. })
                || mbarrier.is_some_and(|m| matches!(m.role, MbarrierRole::Arrive | MbarrierRole::Complete))
        }
        BaseSet::CompleteTx => mbarrier.is_some_and(|m| m.role == MbarrierRole::Complete),
        BaseSet::Issue => matches!(event.kind, EventKind::Issue { .. }),
        BaseSet::Observe => {
            matches!(event.kind, EventKind::ClusterWait)
                || mbarrier.is_some_and(|m| m.role == MbarrierRole::Wait)
        }
        BaseSet::Mbarrier => mbarrier.is_some(),
        BaseSet::MbarrierInit => mbarrier.is_some_and(|m| m.role == MbarrierRole::Init),
        BaseSet::MbarrierInval => mbarrier.is_some_and(|m| m.role == MbarrierRole::Inval),
        BaseSet::CtaStart => matches!(event.kind, EventKind::CtaStart(_)),
        BaseSet::CtaExit => matches!(event.kind, EventKind::CtaExit(_)),
        BaseSet::GridEnd => matches!(event.kind, EventKind::Grid(GridEvent::End(_))),
        BaseSet::ApiCall => {
            matches!(event.kind, EventKind::Grid(GridEvent::Enqueue | GridEvent::Synchronize))
        }
        BaseSet::LaunchDependents => matches!(event.kind, EventKind::Grid(GridEvent::LaunchDependents)),
        BaseSet::AliasFence => proxy_fence == Some(ProxyFence::Alias),
        BaseSet::AliasRelease
        | BaseSet::AliasAcquire
        | BaseSet::RestrictedRelease
        | BaseSet::RestrictedAcquire
        | BaseSet::InitFence
        | BaseSet::AsyncRelease
        | BaseSet::AsyncReleaseReads
        | BaseSet::AsyncAcquire
        | BaseSet::TensormapRelease
        | BaseSet::TensormapAcquire => restricted.is_some_and(|fence| fence.set() == base),
        BaseSet::Generic => proxy == Some(Proxy::Generic),
        BaseSet::Texture => proxy == Some(Proxy::Texture),
        BaseSet::Surface => proxy == Some(Proxy::Surface),
        BaseSet::Constant => proxy == Some(Proxy::Constant),
        BaseSet::Async => proxy == Some(Proxy::Async),
        BaseSet::Register => access.is_some_and(|access| graph.locations[access.location].is_register),
        BaseSet::Multimem => access.is_some_and(|access| graph.goes_through_multimem(access)),
        BaseSet::TensorMemory => access.is_some_and(|access| graph.locations[access.location].is_tensor),
        BaseSet::TensorBefore => event.kind.tensor() == Some(TensorEvent::FenceBefore),
        BaseSet::TensorAfter => event.kind.tensor() == Some(TensorEvent::FenceAfter),
        BaseSet::TensorAllocate => event.kind.tensor() == Some(TensorEvent::Allocate),
        BaseSet::TensorRelinquish => event.kind.tensor() == Some(TensorEvent::Relinquish),
        BaseSet::TryCancel => matches!(event.kind, EventKind::Cancel(CancelEvent::Try)),
        BaseSet::CancelFailed => matches!(event.kind, EventKind::Cancel(CancelEvent::Failed)),
        BaseSet::Tensormap => proxy == Some(Proxy::Tensormap),
        BaseSet::MembarCta => membar == Some(MembarLevel::Cta),
        BaseSet::MembarChannel => membar == Some(MembarLevel::Channel),
        BaseSet::MembarGlobal => membar == Some(MembarLevel::Global),
        BaseSet::MembarSystem => membar == Some(MembarLevel::System),
        BaseSet::InvalidateData => spa.is_some_and(|event| event.invalidation().data),
        BaseSet::InvalidateTexture => spa.is_some_and(|event| event.invalidation().texture),
        BaseSet::InvalidateLine => matches!(spa, Some(SpaEvent::InvalidateLine(_))),
        BaseSet::Cta => scope == Some(Scope::Cta),
        BaseSet::Cluster => scope == Some(Scope::Cluster),
        BaseSet::Gpu => scope == Some(Scope::Gpu),
        BaseSet::Sys => scope == Some(Scope::Sys),
        BaseSet::Word(word) => event.site.is_some_and(|site| graph.sites[site].has_word(word)),
    }
}

/// Relations that follow from which thread an event is of, given that both events happen.
pub fn place_pairs(graph: &EventGraph) -> Vec<(BaseRelation, BitMatrix)> {
    let n = graph.events.len();
    let all = EventSet::full(n);
    let mut by_agent: SortedMap<AgentId, EventSet> = SortedMap::new();
    // Whether two events are in each other's scope depends on their CTAs and scopes only.
    let mut by_place: SortedMap<(CtaId, Option<Scope>), (AgentId, EventSet)> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        let Some(agent) = event.agent else { continue };
        by_agent.entry(agent).or_insert_with(|| EventSet::empty(n)).insert(id);
        let place = (graph.hierarchy.cta_of(agent), event.kind.scope());
        by_place.entry(place).or_insert_with(|| (agent, EventSet::empty(n))).1.insert(id);
    }
    let halves = graph.multimem_halves();
    let mut internal = BitMatrix::empty(n);
    let mut later = Vec::new();
    for events in by_agent.values() {
        internal.fill(events, events);
        let events: Vec<EventId> = events.iter().collect();
        for &a in &events {
            let position = |event: EventId| graph.events[event].position;
            // The halves of another instance's atomic in the same instruction are in no order with this one's.
            let own_half = halves.get(&a).copied();
            let is_apart = |b: EventId| own_half.is_some_and(|own| b != own && position(b) == position(own));
            let is_later = |&b: &EventId| position(a) < position(b) && !is_apart(b);
            later.extend(events.iter().copied().filter(is_later).map(|b| (a, b)));
        }
    }
    let program_order = BitMatrix::from_pairs(n, later);
    let (mut same_cta, mut same_scope) = (BitMatrix::empty(n), BitMatrix::empty(n));
    for (&(cta, scope), (agent, events)) in &by_place {
        for (&(other_cta, other_scope), (other, others)) in &by_place {
            if cta == other_cta {
                same_cta.fill(events, others);
            }
            if let (Some(scope), Some(other_scope)) = (scope, other_scope)
                && graph.hierarchy.in_scope(*agent, *other, scope)
                && graph.hierarchy.in_scope(*other, *agent, other_scope)
            {
                same_scope.fill(events, others);
            }
        }
    }
    let (same_home, same_cluster) = homes(graph);
    let mut same_mbarrier = BitMatrix::empty(n);
    let mut by_mbarrier: SortedMap<MbarrierId, EventSet> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        if let EventKind::Mbarrier(operation) = &event.kind {
            by_mbarrier.entry(operation.object).or_insert_with(|| EventSet::empty(n)).insert(id);
        }
    }
    for operations in by_mbarrier.values() {
        same_mbarrier.fill(operations, operations);
    }
    let [same_sm, same_channel, same_device] = machine_pairs(graph);
    let identity = BitMatrix::identity(&all);
    // What no thread does is in no thread, hence not in `internal` with itself.
    let mut own = internal.clone();
    for (id, _) in graph.events.iter_enumerated().filter(|(_, event)| event.agent.is_none()) {
        own.insert(id, id);
    }
    let external = BitMatrix::product(&all, &all).difference(&own);
    vec![
        (BaseRelation::Identity, identity),
        (BaseRelation::Internal, internal),
        (BaseRelation::External, external),
        (BaseRelation::ProgramOrder, program_order),
        (BaseRelation::SameMbarrier, same_mbarrier),
        (BaseRelation::SameCta, same_cta),
        (BaseRelation::SameHome, same_home),
        (BaseRelation::SameCluster, same_cluster),
        (BaseRelation::SameSm, same_sm),
        (BaseRelation::SameChannel, same_channel),
        (BaseRelation::SameDevice, same_device),
        (BaseRelation::SameScope, same_scope),
        (BaseRelation::Window, windows(graph)),
    ]
}

/// The graph's pairs of a relation that count under certain conditions.
pub fn edge_pairs(graph: &EventGraph, base: BaseRelation, counts: impl Fn(TermRef) -> bool) -> BitMatrix {
    let n = graph.events.len();
    let single = graph.edges.single(base).iter().filter(|edge| counts(edge.condition));
    let mut pairs = BitMatrix::from_pairs(n, single.map(|edge| (edge.from, edge.to)).collect());
    if counts(TermPool::TRUE) {
        for bundle in graph.edges.bundles(base) {
            let set = |events: &[EventId]| EventSet::from_iter(n, events.iter().copied());
            pairs.fill(&set(&bundle.from), &set(&bundle.to));
        }
    }
    pairs
}

/// Which events have the same home, and which are of one cluster. Without asynchronous operations nothing asks for them.
fn homes(graph: &EventGraph) -> (BitMatrix, BitMatrix) {
    let n = graph.events.len();
    let (mut same_home, mut same_cluster) = (BitMatrix::empty(n), BitMatrix::empty(n));
    let mut by_home: SortedMap<CtaId, EventSet> = SortedMap::new();
    let mut by_cluster: SortedMap<u32, EventSet> = SortedMap::new();
    if graph.edges.of(BaseRelation::Issue).next().is_none() {
        return (same_home, same_cluster);
    }
    for (id, event) in graph.events.iter_enumerated() {
        let Some(agent) = event.agent else { continue };
        let cta = graph.hierarchy.cta_of(agent);
        let is_asynchronous = graph.hierarchy.is_operation(agent);
        let owner = graph.location_of(&event.kind).and_then(|location| graph.locations[location].cta);
        let home = owner.filter(|_| is_asynchronous).unwrap_or(cta);
        by_home.entry(home).or_insert_with(|| EventSet::empty(n)).insert(id);
        let cluster = graph.hierarchy.cluster_of(agent);
        by_cluster.entry(cluster).or_insert_with(|| EventSet::empty(n)).insert(id);
    }
    by_home.values().for_each(|events| same_home.fill(events, events));
    by_cluster.values().for_each(|events| same_cluster.fill(events, events));
    (same_home, same_cluster)
}

/// When a CTA lives, and what its peers do in its memory.
pub fn life_pairs(graph: &EventGraph) -> Vec<(BaseRelation, BitMatrix)> {
    let n = graph.events.len();
    let (mut life, mut peers) = (Vec::new(), Vec::new());
    let mut owners: SortedMap<CtaId, (EventId, EventId)> = SortedMap::new();
    for peer in &graph.peer_accesses {
        peers.extend([(peer.start, peer.access), (peer.access, peer.exit)]);
        owners.insert(peer.owner, (peer.start, peer.exit));
    }
    for (id, event) in graph.events.iter_enumerated() {
        // What a thread started may go on when the thread has ended.
        if let Some(agent) = event.agent
            && !graph.hierarchy.is_operation(agent)
            && let Some(&(start, exit)) = owners.get(&graph.hierarchy.cta_of(agent))
        {
            life.extend([(start, id), (id, exit)]);
        }
    }
    vec![
        (BaseRelation::CtaLife, BitMatrix::from_pairs(n, life)),
        (BaseRelation::PeerLife, BitMatrix::from_pairs(n, peers)),
    ]
}

/// Those that say where two accesses meet.
pub const LOCATIONS: [BaseRelation; 3] =
    [BaseRelation::SameLocation, BaseRelation::SameVirtualLocation, BaseRelation::CompleteOverlap];

/// Relations that follow from addresses.
fn location_relations(graph: &EventGraph) -> Vec<(BaseRelation, MayMust)> {
    let mut rows =
        LOCATIONS.map(|_| [RowWriter::new(graph.events.len()), RowWriter::new(graph.events.len())]);
    let near = Near::new(graph);
    for (a, event) in graph.events.iter_enumerated() {
        let Some(first) = event.kind.access() else { continue };
        for (b, second) in near.of(graph, first) {
            let meets = if a == b { Overlap::Always } else { overlap(graph, first, second) };
            let complete = if a == b { Overlap::Always } else { complete_overlap(graph, first, second) };
            let virtually = if first.mapping == second.mapping { meets } else { Overlap::Never };
            for ([may, must], overlap) in rows.iter_mut().zip([meets, virtually, complete]) {
                if overlap != Overlap::Never {
                    may.insert(b);
                }
                if overlap == Overlap::Always {
                    must.insert(b);
                }
            }
        }
        for row in rows.iter_mut().flatten() {
            row.end(a);
        }
    }
    let bounds = |[may, must]: [RowWriter; 2]| MayMust::new(may.finish(), must.finish());
    LOCATIONS.into_iter().zip(rows.map(bounds)).collect()
}

/// Accesses that can have a common byte with a given one, and some that cannot: one at a constant offset is only
/// compared with those of the same 16 bytes and with those at symbolic offsets.
#[derive(Default)]
struct Near<'a> {
    symbolic: SortedMap<LocationId, Vec<(EventId, &'a Access)>>,
    constant: SortedMap<(LocationId, u128), Vec<(EventId, &'a Access)>>,
}

impl<'a> Near<'a> {
    fn new(graph: &'a EventGraph) -> Self {
        let mut near = Self::default();
        for (id, event) in graph.events.iter_enumerated() {
            let Some(access) = event.kind.access() else { continue };
            match Self::blocks(graph, access) {
                Some(blocks) => blocks.for_each(|block| {
                    near.constant.entry((access.location, block)).or_default().push((id, access));
                }),
                None => near.symbolic.entry(access.location).or_default().push((id, access)),
            }
        }
        near
    }
    fn blocks(graph: &EventGraph, access: &Access) -> Option<RangeInclusive<u128>> {
        let start = graph.terms.constant_value(access.offset)?;
        Some(start / 16..=(start + u128::from(access.width_bytes) - 1) / 16)
    }
    fn of(&self, graph: &EventGraph, access: &Access) -> impl Iterator<Item = (EventId, &'a Access)> {
        let blocks = Self::blocks(graph, access).unwrap_or(0..=u128::MAX);
        let constant =
            self.constant.range((access.location, *blocks.start())..=(access.location, *blocks.end()));
        let symbolic = self.symbolic.get(&access.location);
        constant.flat_map(|(_, accesses)| accesses).chain(symbolic.into_iter().flatten()).copied()
    }
}
