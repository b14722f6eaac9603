//! Which slices a launch is cut into, so that everything that can go wrong is asked of one of them.

mod found;
mod growing;
mod places;
mod threads;

use self::growing::Growing;
use self::places::AtPlaces;
use super::constraints::{Constraints, unknowns_of};
use super::kinds::{Kind, company, first_of_kinds, kinds, of_warps};
use super::monotone::{Anchor, Candidates, Claims, claims};
use super::piece::{About, Core, Doings, Piece, Surroundings};
use super::reach::{FAR, NEAR, Reach};
use super::spots::Spots;
use super::wide::WideGuards;
use crate::event::results::barrier_results;
use crate::event::support::Supports;
use crate::event::values::Values;
use crate::event::{
    AgentId, BaseRelation, CtaId, Edge, Edges, EventGraph, EventId, EventKind, PeerAccess, TermPool, TermRef,
    UnknownId, UnknownKind,
};
use crate::relation::base::in_set;
use crate::relation::dependency::decided_stores;
use crate::work::{self, Work};
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::FinalKind;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::slice::from_ref;

/// Threads of a CTA, or of a warp, that speak for it, at most; of more one of each kind does.
const DELEGATES_MAX: usize = 4;
/// Pairs that flags can hold of at most.
const CANDIDATES_MAX: usize = 64_000_000;
/// Numbers of what a slice is compared by.
const KEY_MAX: usize = 1 << 21;
/// Threads that are taken in one after the other before a slice is given up.
const ATTEMPTS_MAX: usize = 8;

/// Which of the fences and barriers of those who access some memory are in a slice with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orders {
    /// None: who waits for a value that stays waits no longer, whatever comes before what.
    None,
    All,
}

/// How a launch is cut.
pub struct Plan<'a> {
    graph: &'a EventGraph,
    spots: Spots,
    claims: Claims,
    /// Events of each thread and of the operations that it has started.
    events: SortedMap<AgentId, Vec<EventId>>,
    /// What no thread does.
    of_nobody: Vec<EventId>,
    wide_guards: WideGuards,
    partners: SortedMap<AgentId, SortedSet<AgentId>>,
    reach: Reach,
    /// The threads that have strong accesses of a word that some of several CTAs have, by whom they speak for.
    delegates: SortedMap<Unit, Vec<AgentId>>,
    /// Of each of them, whoever writes such words of its.
    heard: SortedMap<AgentId, SortedSet<AgentId>>,
    /// Threads that have to do with many.
    hubs: SortedSet<AgentId>,
    /// One of each kind, if there are few: through them others come to know of each other.
    company: SortedSet<AgentId>,
    /// The same of a warp: what a lane does, others may know of by one that signals for all.
    of_warp: SortedMap<u32, SortedSet<AgentId>>,
    kinds: SortedMap<AgentId, Kind>,
    /// Of each thread, its obligations and its loop cuts.
    obligations: SortedMap<AgentId, Vec<usize>>,
    cuts: SortedMap<AgentId, Vec<usize>>,
    /// Of each access, its part in `rmw` and in `peer_accesses`.
    rmw: FxHashMap<EventId, Vec<EventId>>,
    peers: FxHashMap<EventId, Vec<PeerAccess>>,
    /// The edges that begin or end at an event, and the bundles that it is on either side of.
    edges_from: ByEvent,
    edges_to: ByEvent,
    bundles_from: ByEvent,
    bundles_to: ByEvent,
    constraints: Constraints,
    /// Who writes near each spot; `None` is nobody's doing.
    writers: Vec<SortedSet<Option<AgentId>>>,
    /// Of each flag, the pairs that it may hold of without an event of a thread that a slice is around.
    shared: Vec<Vec<(EventId, EventId)>>,
    /// For each event of a thread that a slice is around, the events of others that come first in a pair with it.
    after_shared: FxHashMap<EventId, Vec<EventId>>,
    decided_stores: FxHashMap<EventId, Vec<EventId>>,
    doings: OnceCell<Doings>,
    at_places: OnceCell<AtPlaces>,
    barrier_results: OnceCell<SortedMap<UnknownId, TermRef>>,
    values: OnceCell<Values>,
}

impl<'a> Plan<'a> {
    /// A way to cut a launch, unless there is none.
    pub fn new(graph: &'a EventGraph, model: &MemoryModel) -> Option<Self> {
        let launch = graph.hierarchy.launch();
        let is_plain = graph.condition.is_none()
            && graph.hierarchy.grids().len() == 1
            && launch.spa.is_none()
            && launch.placement.is_none()
            // Halves of one instruction are told by each other.
            && graph.locations.iter().all(|location| location.multimem.is_empty());
        if !is_plain {
            return None;
        }
        let spots = Spots::new(graph);
        let claims = claims(graph, &spots, model)?;
        let n_candidates: usize = claims.candidates.iter().map(Candidates::len).sum();
        if n_candidates > CANDIDATES_MAX {
            return None;
        }
        let mut events: SortedMap<AgentId, Vec<EventId>> =
            graph.hierarchy.agents().map(|agent| (agent, Vec::new())).collect();
        let mut of_nobody = Vec::new();
        for (id, event) in graph.events.iter_enumerated() {
            match event.agent {
                Some(agent) => events.entry(graph.hierarchy.issuer(agent)).or_default().push(id),
                None => of_nobody.push(id),
            }
        }
        let mut partners: SortedMap<AgentId, SortedSet<AgentId>> = SortedMap::new();
        let thread = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent));
        let mut met: FxHashSet<(AgentId, AgentId)> = FxHashSet::default();
        for (a, b) in claims.candidates.iter().flat_map(Candidates::pairs) {
            if let (Some(a), Some(b)) = (thread(a), thread(b))
                && a != b
                && met.insert((a, b))
            {
                partners.entry(a).or_default().insert(b);
                partners.entry(b).or_default().insert(a);
            }
        }
        let kinds = kinds(graph, &events);
        let company = company(&kinds);
        let of_warp = of_warps(graph, &kinds);
        let writers =
            (0..spots.spots.len()).map(|spot| spots.writers_near(spot).map(thread).collect()).collect();
        let (delegates, heard) = delegates(graph, &spots, &kinds);
        let mut this = Self {
            graph,
            spots,
            claims,
            events,
            wide_guards: WideGuards::new(graph, &of_nobody),
            of_nobody,
            partners,
            reach: NEAR,
            delegates,
            heard,
            hubs: SortedSet::new(),
            company,
            of_warp,
            kinds,
            obligations: by_thread(graph, graph.obligations.iter().map(|own| own.agent)),
            cuts: by_thread(graph, graph.cuts.iter().map(|own| own.agent)),
            rmw: grouped(graph.rmw.iter().copied()),
            peers: grouped(graph.peer_accesses.iter().map(|&peer| (peer.access, peer))),
            edges_from: by_event(|base| graph.edges.single(base), |edge| from_ref(&edge.from)),
            edges_to: by_event(|base| graph.edges.single(base), |edge| from_ref(&edge.to)),
            bundles_from: by_event(|base| graph.edges.bundles(base), |bundle| &bundle.from),
            bundles_to: by_event(|base| graph.edges.bundles(base), |bundle| &bundle.to),
            constraints: Constraints::new(graph),
            writers,
            shared: Vec::new(),
            after_shared: FxHashMap::default(),
            decided_stores: grouped(decided_stores(graph, &mut Supports::default())),
            doings: OnceCell::new(),
            at_places: OnceCell::new(),
            barrier_results: OnceCell::new(),
            values: OnceCell::new(),
        };
        this.find_hubs();
        Some(this)
    }

    /// Takes in more of each thread's surroundings; whether that is more anywhere.
    pub fn widen(&mut self) -> bool {
        let hubs = self.hubs.clone();
        self.reach = FAR;
        self.find_hubs();
        let speaks_for_others = |kinds: &SortedSet<AgentId>| kinds.len() > 1;
        !self.delegates.is_empty() || self.hubs != hubs || self.of_warp.values().any(speaks_for_others)
    }

    /// Finds who has to do with many, and what there is to ask of them alone.
    fn find_hubs(&mut self) {
        let many = self.partners.iter().filter(|(_, others)| others.len() > self.reach.partners_max);
        self.hubs = many.map(|(&agent, _)| agent).collect();
        self.shared = vec![Vec::new(); self.claims.candidates.len()];
        self.after_shared = FxHashMap::default();
        if !self.has_centres() {
            return;
        }
        let is_shared = |event: EventId| self.thread(event).is_none_or(|thread| self.hubs.contains(&thread));
        let shared_events: Vec<EventId> = self.graph.events.ids().filter(|&event| is_shared(event)).collect();
        let mut shared = Vec::new();
        let mut after_shared: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
        for of_flag in &self.claims.candidates {
            let pairs = shared_events.iter().flat_map(|&a| of_flag.successors(a).map(move |b| (a, b)));
            let (of_flag, others): (Vec<_>, Vec<_>) = pairs.partition(|&(_, b)| is_shared(b));
            others.into_iter().for_each(|(a, b)| after_shared.entry(b).or_default().push(a));
            shared.push(of_flag);
        }
        (self.shared, self.after_shared) = (shared, after_shared);
    }

    /// Whether there are threads that slices can be around.
    fn has_centres(&self) -> bool {
        self.hubs.len() <= self.reach.hubs_max && self.hubs.len() < self.events.len()
    }

    /// Whether threads can wait for each other for ever: whatever they read, with the memory that they wait for, and with all
    /// that orders that memory; the smallest first, and of those with memory only what is less than all.
    pub fn of_waits(&self) -> Vec<Piece> {
        let Some(&first) = self.events.keys().next().filter(|_| !self.graph.blocked.is_empty()) else {
            return Vec::new();
        };
        let stuck: Vec<TermRef> = self.graph.blocked.iter().map(|blocked| blocked.stuck).collect();
        let all = self.events.keys().copied().collect();
        let mut pieces = vec![Piece::of_waits(self.graph, first)];
        for orders in [Orders::None, Orders::All] {
            let with_memory = self.of_ends(first, &all, stuck.clone(), orders);
            pieces.extend(with_memory.map(|piece| piece.with_all_waits(self.graph)));
        }
        pieces.dedup_by(|larger, smaller| larger.kept == smaller.kept);
        pieces
    }

    /// What is claimed of final memory: of each claim slices of its own, the smallest first. They have whoever writes the words,
    /// whoever writes what these have read, and those by whom all these know of each other.
    pub fn of_finals(&self) -> impl Iterator<Item = Vec<Piece>> + '_ {
        let claims = self.graph.finals.iter().enumerate();
        claims.filter(|(_, claim)| claim.kind == FinalKind::Assert).map(|(index, claim)| {
            let mut threads: SortedSet<AgentId> = SortedSet::new();
            for unknown in unknowns_of(self.graph, vec![claim.condition]) {
                for spot in self.final_spots(&self.graph.terms.unknown(unknown).kind) {
                    threads.extend(self.writers[spot].iter().flatten());
                }
            }
            let mut pieces: Vec<Piece> = self.of_final(index, &threads).into_iter().collect();
            self.add_sources(&mut threads, claim.condition);
            pieces.extend(self.of_final(index, &threads));
            self.add_delegates(&mut threads, FAR);
            pieces.extend(self.of_final(index, &threads));
            pieces.dedup_by(|larger, smaller| larger.kept == smaller.kept);
            pieces
        })
    }

    /// The slice of a claim of final memory with some threads; `None` if they are too many, or that is most of the launch.
    fn of_final(&self, index: usize, threads: &SortedSet<AgentId>) -> Option<Piece> {
        let graph = self.graph;
        if threads.len() > FAR.threads_max {
            return None;
        }
        let centre = *threads.iter().next().or_else(|| self.events.keys().next())?;
        let mut terms = vec![graph.finals[index].condition];
        terms.extend(threads.iter().map(|&agent| graph.completed[agent]));
        let mut piece = self.of_ends(centre, threads, terms.clone(), Orders::All)?;
        self.constrain(&mut piece, terms);
        (piece.about, piece.ending, piece.finals) = (About::Finals, threads.clone(), vec![index]);
        Some(piece)
    }

    /// Whoever writes what a term depends on, as long as they are not too many.
    fn add_sources(&self, threads: &mut SortedSet<AgentId>, term: TermRef) {
        while threads.len() <= FAR.threads_max {
            let mut growing = Growing::new(self, threads);
            growing.terms.push(term);
            growing.grow();
            let lacking = growing.lacking;
            let n = threads.len();
            threads.extend(lacking);
            if threads.len() == n {
                return;
            }
        }
    }

    /// The spots of which an unknown tells the end.
    fn final_spots(&self, kind: &UnknownKind) -> Vec<usize> {
        match *kind {
            UnknownKind::FinalValue { location, offset_bytes, width_bytes } => {
                self.spots.at((location, offset_bytes, offset_bytes + width_bytes)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Of some threads the memory that terms depend on, with or without all that those do besides who access it; `None` if
    /// that is most of the launch.
    fn of_ends(
        &self,
        centre: AgentId,
        threads: &SortedSet<AgentId>,
        terms: Vec<TermRef>,
        orders: Orders,
    ) -> Option<Piece> {
        let mut growing = Growing::new(self, threads);
        growing.terms = terms;
        self.of_nobody.iter().for_each(|&event| growing.keep(event));
        let mut met: SortedSet<AgentId> = SortedSet::new();
        loop {
            growing.grow();
            if orders == Orders::None {
                break;
            }
            let met_now: SortedSet<AgentId> =
                growing.kept.iter().filter_map(|&event| self.thread(event)).collect();
            let new: Vec<AgentId> = met_now.into_iter().filter(|&agent| met.insert(agent)).collect();
            if new.is_empty() {
                break;
            }
            for event in new.iter().flat_map(|agent| &self.events[agent]) {
                if self.graph.events[*event].kind.access().is_none() {
                    growing.keep(*event);
                }
            }
        }
        let Growing { kept, ends, .. } = growing;
        if kept.len() * 2 > self.graph.events.len() || !self.has_all_sources(&kept) {
            return None;
        }
        work::count(Work::Sliced, kept.len());
        let mut piece = Piece::new(kept.into_iter().collect(), centre, SortedSet::new());
        piece.ends = ends;
        self.link(&mut piece);
        Some(piece)
    }

    /// Whether each read is there only with all that it may read, whoever's it is.
    fn has_all_sources(&self, kept: &SortedSet<EventId>) -> bool {
        let read: SortedSet<usize> = kept
            .iter()
            .filter(|&&event| self.is_read(event))
            .filter_map(|event| self.spots.of.get(event).copied())
            .collect();
        read.into_iter().all(|spot| self.spots.writers_near(spot).all(|write| kept.contains(&write)))
    }

    /// One of each kind; where many are there already, only of kinds that are not.
    fn add_company(&self, threads: &mut SortedSet<AgentId>) {
        let kinds: FxHashSet<&Kind> =
            threads.iter().filter(|_| self.reach == FAR).map(|agent| &self.kinds[agent]).collect();
        let missing = self.company.iter().filter(|agent| !kinds.contains(&self.kinds[*agent]));
        let missing: Vec<AgentId> = missing.copied().collect();
        threads.extend(missing);
    }

    /// The threads by which others know of those that are there, and whom they hear: of their warps, where a lane signals for
    /// all, and of their CTAs.
    fn add_delegates(&self, threads: &mut SortedSet<AgentId>, reach: Reach) {
        if !reach.has_delegates {
            return;
        }
        let warps: SortedSet<u32> =
            threads.iter().map(|&agent| self.graph.hierarchy.warp_of(agent)).collect();
        let of_warps = warps.iter().filter_map(|warp| self.of_warp.get(warp)).filter(|kinds| kinds.len() > 1);
        threads.extend(of_warps.flatten().copied());
        let speaking: SortedSet<AgentId> =
            threads.iter().flat_map(|&agent| self.delegates_of(agent)).copied().collect();
        for delegate in speaking {
            threads.insert(delegate);
            threads.extend(self.heard.get(&delegate).into_iter().flatten());
        }
    }

    /// Who speaks for a thread: some of its warp, else of its CTA.
    fn delegates_of(&self, agent: AgentId) -> &[AgentId] {
        let hierarchy = &self.graph.hierarchy;
        let of_warp = self.delegates.get(&Unit::Warp(hierarchy.warp_of(agent)));
        of_warp.or_else(|| self.delegates.get(&Unit::Cta(hierarchy.cta_of(agent)))).map_or(&[], Vec::as_slice)
    }

    /// What a barrier tells its threads, made of what they have brought.
    fn barrier_result(&self, unknown: UnknownId) -> Option<TermRef> {
        self.barrier_results.get_or_init(|| barrier_results(self.graph)).get(&unknown).copied()
    }

    fn doings(&self) -> &Doings {
        self.doings.get_or_init(|| Doings::new(self.graph))
    }

    fn thread(&self, event: EventId) -> Option<AgentId> {
        self.graph.events[event].agent.map(|agent| self.graph.hierarchy.issuer(agent))
    }

    fn is_read(&self, event: EventId) -> bool {
        matches!(self.graph.events[event].kind, EventKind::Read(_))
    }

    /// What is made of some threads and of whoever else has to be there for what it asks; `None` if that is too many.
    fn with_missing(
        &self,
        mut threads: SortedSet<AgentId>,
        make: impl Fn(&SortedSet<AgentId>) -> Option<Piece>,
    ) -> Option<Piece> {
        for _ in 0..ATTEMPTS_MAX {
            let piece = make(&threads)?;
            match self.missing(&piece) {
                Ok(()) => return Some(piece),
                Err(Some(another)) if threads.len() < self.reach.threads_max && threads.insert(another) => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// Of some threads what is no access, some accesses with all that these threads do at their places, and what that depends
    /// on; bare if it is made of a core. Asked is what some of the threads alone do wrong.
    fn of_accesses<'e>(
        &self,
        (centre, asked): (AgentId, &SortedSet<AgentId>),
        threads: &SortedSet<AgentId>,
        accesses: impl IntoIterator<Item = &'e EventId>,
        bare: Option<&Core>,
    ) -> Option<Piece> {
        self.asking(self.grown(asked, threads, accesses, bare), centre, asked.clone())
    }

    /// What these threads do, in memory only some accesses and what those depend on.
    fn grown<'p, 'e>(
        &'p self,
        asked: &SortedSet<AgentId>,
        threads: &'p SortedSet<AgentId>,
        accesses: impl IntoIterator<Item = &'e EventId>,
        bare: Option<&'p Core>,
    ) -> Growing<'p> {
        let mut growing = Growing::new(self, threads);
        growing.terms = self.asked_terms(asked);
        growing.core = bare;
        self.of_nobody.iter().for_each(|&event| growing.keep(event));
        for &event in threads.iter().flat_map(|thread| &self.events[thread]) {
            if self.graph.events[event].kind.access().is_none() {
                growing.keep(event);
            }
        }
        for &event in accesses {
            growing.keep(event);
            growing.places.extend(self.spots.of.get(&event));
        }
        growing.grow();
        growing
    }

    /// What has grown as a slice that asks of some threads what they alone do wrong; `None` if a read is there without all that
    /// it may read.
    fn asking(&self, growing: Growing<'_>, centre: AgentId, asked: SortedSet<AgentId>) -> Option<Piece> {
        let Growing { kept, idle, core, lacking, .. } = growing;
        if !self.has_all_sources(&kept) {
            return None;
        }
        let mut piece = Piece::new(kept.into_iter().collect(), centre, asked);
        (piece.lacking, piece.idle) = (lacking, idle);
        if let Some(core) = core {
            (piece.surroundings, piece.cores) = (Surroundings::None, vec![core.clone()]);
        }
        let asked_terms = self.asked_terms(&piece.asked);
        self.constrain(&mut piece, asked_terms);
        let asked = |of: &SortedMap<AgentId, Vec<usize>>| -> Vec<usize> {
            piece.asked.iter().filter_map(|agent| of.get(agent)).flatten().copied().collect()
        };
        (piece.obligations, piece.cuts) = (asked(&self.obligations), asked(&self.cuts));
        self.link(&mut piece);
        Some(piece)
    }

    /// Relates what is kept as it is related in the whole.
    fn link(&self, piece: &mut Piece) {
        let mut bundles: SortedMap<(BaseRelation, usize), [Vec<EventId>; 2]> = SortedMap::new();
        let mut edges = Edges::default();
        let (mut rmw, mut decided_stores, mut peers) = (Vec::new(), Vec::new(), Vec::new());
        for (&event, place) in piece.kept.iter().zip((0..).map(EventId::from_index)) {
            for &(base, index) in self.edges_from.get(&event).into_iter().flatten() {
                let Edge { to, condition, .. } = self.graph.edges.single(base)[index];
                if let Some(to) = piece.place(to) {
                    edges.add(base, Edge { from: place, to, condition });
                }
            }
            let here = |of: &FxHashMap<EventId, Vec<EventId>>| -> Vec<(EventId, EventId)> {
                let others = of.get(&event).into_iter().flatten();
                others.filter_map(|&other| Some((place, piece.place(other)?))).collect()
            };
            rmw.extend(here(&self.rmw));
            decided_stores.extend(here(&self.decided_stores));
            peers.extend(self.peers.get(&event).into_iter().flatten().filter_map(|peer| {
                let (start, exit) = (piece.place(peer.start)?, piece.place(peer.exit)?);
                Some(PeerAccess { access: place, owner: peer.owner, start, exit })
            }));
            for (side, bundles_of) in [&self.bundles_from, &self.bundles_to].into_iter().enumerate() {
                for &bundle in bundles_of.get(&event).into_iter().flatten() {
                    bundles.entry(bundle).or_default()[side].push(place);
                }
            }
        }
        for ((base, _), [from, to]) in bundles {
            edges.add_bundle(base, from.into(), to.into());
        }
        (piece.edges, piece.rmw, piece.decided_stores, piece.peers) = (edges, rmw, decided_stores, peers);
    }

    /// Terms of what is asked about threads.
    fn asked_terms(&self, asked: &SortedSet<AgentId>) -> Vec<TermRef> {
        let graph = self.graph;
        let mut terms = Vec::new();
        for agent in asked {
            let obligations = self.obligations.get(agent).into_iter().flatten();
            let obligations = obligations.map(|&index| &graph.obligations[index]);
            terms.extend(obligations.flat_map(|own| [own.guard, own.condition]));
            terms.extend(self.cuts.get(agent).into_iter().flatten().map(|&index| graph.cuts[index].guard));
        }
        terms
    }

    /// Adds the constraints that say something of what is kept and asked, and what wide guards say of that.
    fn constrain(&self, piece: &mut Piece, mut terms: Vec<TermRef>) {
        let graph = self.graph;
        for &id in &piece.kept {
            let event = &graph.events[id];
            if !self.wide_guards.has(id, piece.is_bare()) {
                terms.push(event.guard);
            }
            terms.extend(piece.terms_of_access(graph, id));
        }
        let (constraints, here) = self.constraints.about(unknowns_of(graph, terms));
        let wide = piece.kept.iter().copied().filter(|&id| self.wide_guards.has(id, piece.is_bare()));
        (piece.constraints, piece.guards) = (constraints, self.wide_guards.left(graph, wide, &here));
    }

    /// Who has to be there for what is asked, and is not.
    fn missing(&self, piece: &Piece) -> Result<(), Option<AgentId>> {
        for &anchor in &self.claims.anchors {
            for &event in &piece.kept {
                let is_asked = piece.asks(self.graph, (event, event))
                    && self.claims.candidates.iter().any(|of_flag| of_flag.may_hold_of(event));
                if !is_asked || self.before(anchor, event).next().is_none() {
                    continue;
                }
                let certain = || self.before(anchor, event).filter(|before| before.1).map(|(other, _)| other);
                if !certain().any(|other| piece.has(other)) {
                    return Err(certain().find_map(|other| self.thread(other)));
                }
            }
        }
        Ok(())
    }

    /// Those before an event that an anchor is about, and whether that is certain if the event happens.
    fn before(&self, (set, base): Anchor, event: EventId) -> impl Iterator<Item = (EventId, bool)> + '_ {
        let graph = self.graph;
        let single =
            numbers_of(&self.edges_to, event, base).map(move |index| graph.edges.single(base)[index]);
        let single = single.map(|edge| (edge.from, edge.condition == TermPool::TRUE));
        let bundles = numbers_of(&self.bundles_to, event, base)
            .flat_map(move |index| graph.edges.bundles(base)[index].from.iter());
        let all = single.chain(bundles.map(|&from| (from, true)));
        all.filter(move |&(from, _)| in_set(graph, &graph.events[from], set)).map(move |(from, counts)| {
            let (before, after) = (&graph.events[from], &graph.events[event]);
            (from, counts && graph.terms.entails(after.guard, before.guard))
        })
    }
}

/// Whom a thread speaks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Warp(u32),
    Cta(CtaId),
}

/// Who has strong accesses of words that several CTAs have, by warp and CTA; and of each, who writes such words.
fn delegates(
    graph: &EventGraph,
    spots: &Spots,
    kinds: &SortedMap<AgentId, Kind>,
) -> (SortedMap<Unit, Vec<AgentId>>, SortedMap<AgentId, SortedSet<AgentId>>) {
    let hierarchy = &graph.hierarchy;
    let mut members: SortedMap<Unit, SortedSet<AgentId>> = SortedMap::new();
    let mut heard: SortedMap<AgentId, SortedSet<AgentId>> = SortedMap::new();
    for spot in &spots.spots {
        let is_strong = |event: &&EventId| graph.events[**event].kind.scope().is_some();
        let thread = |&event: &EventId| graph.events[event].agent.map(|agent| hierarchy.issuer(agent));
        let strong = spot.readers.iter().chain(&spot.writers).filter(is_strong);
        let speakers: SortedSet<AgentId> = strong.filter_map(thread).collect();
        let ctas: SortedSet<CtaId> = speakers.iter().map(|&agent| hierarchy.cta_of(agent)).collect();
        if ctas.len() < 2 {
            continue;
        }
        let writers: SortedSet<AgentId> = spot.writers.iter().filter_map(thread).collect();
        for agent in speakers {
            members.entry(Unit::Warp(hierarchy.warp_of(agent))).or_default().insert(agent);
            members.entry(Unit::Cta(hierarchy.cta_of(agent))).or_default().insert(agent);
            heard.entry(agent).or_default().extend(&writers);
        }
    }
    let few = |of_unit: SortedSet<AgentId>| match of_unit.len() {
        0..=DELEGATES_MAX => of_unit,
        _ => first_of_kinds(kinds, of_unit.into_iter()),
    };
    let delegates = members.into_iter().map(|(unit, of_unit)| (unit, few(of_unit).into_iter().collect()));
    (delegates.collect(), heard)
}

/// By the threads that have done something, or started whoever did: what, by its number.
fn by_thread(graph: &EventGraph, agents: impl Iterator<Item = AgentId>) -> SortedMap<AgentId, Vec<usize>> {
    let mut found: SortedMap<AgentId, Vec<usize>> = SortedMap::new();
    for (index, agent) in agents.enumerate() {
        found.entry(graph.hierarchy.issuer(agent)).or_default().push(index);
    }
    found
}

fn grouped<T>(pairs: impl IntoIterator<Item = (EventId, T)>) -> FxHashMap<EventId, Vec<T>> {
    let mut found: FxHashMap<EventId, Vec<T>> = FxHashMap::default();
    for (key, value) in pairs {
        found.entry(key).or_default().push(value);
    }
    found
}

/// What an event is an end of, by relation and number.
type ByEvent = FxHashMap<EventId, Vec<(BaseRelation, usize)>>;

fn numbers_of(of: &ByEvent, event: EventId, base: BaseRelation) -> impl Iterator<Item = usize> + '_ {
    of.get(&event).into_iter().flatten().filter(move |of| of.0 == base).map(|&(_, number)| number)
}

fn by_event<'g, T: 'g>(
    of: impl Fn(BaseRelation) -> &'g [T],
    events: impl Fn(&'g T) -> &'g [EventId],
) -> ByEvent {
    let mut found = ByEvent::default();
    for base in Edges::relations() {
        for (index, edge) in of(base).iter().enumerate() {
            events(edge).iter().for_each(|&event| found.entry(event).or_default().push((base, index)));
        }
    }
    found
}
