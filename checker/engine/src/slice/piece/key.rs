//! Slices that are alike, but for names: a row of numbers in which threads, places, unknowns and values of unknown meaning are
//! numbered in the order in which they come.
//!
//! It is made of lines, each with its length, what it is about, and the fields that this takes; a field whose length is not
//! known from what comes before it begins with it. So different lines never make the same row.
//!
//! Sound: the row has all that a slice's graph is made of, but for what only reports ask. Threads count by which
//! groups they share (no relation of a model asks for warps), accesses of known places by which bytes they have in
//! common and what is in them at first, instructions by their words, and where a thread does something by what it does before
//! it here. So equal rows are of graphs that a renaming maps onto each other.
//!
//! Needs: nothing. What a relation of a model can ask of threads is a closed list, `BaseRelation`.

use super::{Piece, Place};
use crate::event::{
    Access, AgentId, CtaId, Edges, Event, EventGraph, EventId, EventKind, LocationId, MbarrierId,
    ObligationKind, RestrictedFence, Role, Site, SiteId, SpaEvent, TermKind, TermRef, UnknownId, UnknownKind,
};
use crate::slice::constraints::Alternative;
use fencepost_dsl::IndexVec;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::InitialBytes;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;
use std::sync::Arc;

/// Numbers in order of appearance.
struct Numbers<K>(FxHashMap<K, usize>);

impl<K: Eq + Hash> Numbers<K> {
    fn new() -> Self {
        Self(FxHashMap::default())
    }
    /// The number of something, and whether it is new.
    fn of(&mut self, key: K) -> (usize, bool) {
        let next = self.0.len();
        let number = *self.0.entry(key).or_insert(next);
        (number, number == next)
    }
}

/// What a line is about.
#[derive(Clone, Copy)]
enum About {
    Guard,
    Event,
    Edge,
    Pairs,
    Peer,
    Conjunction,
    Constraint,
    Obligation,
    Cut,
    Asked,
    Places,
    Writes,
    Parameter,
    Location,
    Agent,
    Unknown,
    Term,
}

/// A number of things that are there.
fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a graph has fewer than 2^32 of anything")
}

/// The fields of a text.
fn text(text: &str) -> Vec<u32> {
    let bytes = text
        .as_bytes()
        .chunks(4)
        .map(|four| four.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)));
    [count(text.len())].into_iter().chain(bytes).collect()
}

/// The fields of a wide number.
fn wide(number: u128) -> [u32; 4] {
    [0, 32, 64, 96].map(|low| (number >> low) as u32)
}

/// The fields of something that may be missing.
fn optional(number: Option<usize>) -> [u32; 2] {
    number.map_or([0, 0], |number| [1, count(number)])
}

/// The fields of numbers in order: of those that follow one another the first, and how many they are.
fn runs(numbers: &[usize]) -> Vec<u32> {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let fields: Vec<u32> = runs.flat_map(|run| [count(run[0]), count(run.len())]).collect();
    [count(fields.len())].into_iter().chain(fields).collect()
}

/// What an event does that has no fields of its own, and what a relation of a model may ask of its instruction, by number.
pub struct Doings {
    of: IndexVec<EventId, u32>,
    sites: IndexVec<SiteId, u32>,
}

impl Doings {
    /// Of all events of a graph.
    pub fn new(graph: &EventGraph) -> Self {
        let mut known: FxHashMap<String, u32> = FxHashMap::default();
        let number = |event: &Event| {
            let next = count(known.len());
            if event.kind.access().is_some() {
                0
            } else {
                *known.entry(format!("{:?}", event.kind)).or_insert(next)
            }
        };
        let of = graph.events.iter().map(number).collect();
        let mut words: FxHashMap<(&str, bool), u32> = FxHashMap::default();
        let site = |site| {
            let Site { text, is_unread, .. }: &Site = site;
            let next = count(words.len());
            *words.entry((text, *is_unread)).or_insert(next)
        };
        Self { of, sites: graph.sites.iter().map(site).collect() }
    }
}

struct Writer<'a> {
    piece: &'a Piece,
    graph: &'a EventGraph,
    doings: &'a Doings,
    row: Vec<u32>,
    agents: Numbers<AgentId>,
    groups: Numbers<(&'static str, u64)>,
    locations: Numbers<LocationId>,
    /// Bytes between two bounds that follow one another.
    parts: Numbers<(LocationId, usize)>,
    mbarriers: Numbers<MbarrierId>,
    unknowns: Numbers<UnknownId>,
    terms: Numbers<TermRef>,
    /// In which order events come, and where each is in it.
    order: Vec<usize>,
    places: Vec<u32>,
    /// Of the positions that each thread has here, which in order.
    ranks: FxHashMap<(Option<AgentId>, u32), u32>,
    /// Where accesses begin and end; of a location with accesses at unknown places there is no list.
    bounds: SortedMap<LocationId, Vec<u32>>,
}

impl Piece {
    /// What slices that are alike have in common.
    pub fn key(&self, graph: &EventGraph, doings: &Doings) -> Vec<u32> {
        let ranks = self.ranks(graph);
        let order = self.order(graph, doings, &ranks);
        let mut places = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&place, number)| places[place] = number);
        let mut writer = Writer {
            piece: self,
            graph,
            doings,
            order,
            places,
            row: Vec::new(),
            agents: Numbers::new(),
            groups: Numbers::new(),
            locations: Numbers::new(),
            parts: Numbers::new(),
            mbarriers: Numbers::new(),
            unknowns: Numbers::new(),
            terms: Numbers::new(),
            ranks,
            bounds: self.bounds(graph),
        };
        writer.all();
        writer.row
    }

    /// The events in an order that does not depend on names: by what their agents do, and in each by what comes first.
    fn order(
        &self,
        graph: &EventGraph,
        doings: &Doings,
        ranks: &FxHashMap<(Option<AgentId>, u32), u32>,
    ) -> Vec<usize> {
        let offset = |access: &Access| {
            graph.terms.constant_value(access.offset).and_then(|offset| u32::try_from(offset).ok())
        };
        let mut first: FxHashMap<LocationId, u32> = FxHashMap::default();
        for access in self.kept.iter().filter_map(|&id| graph.events[id].kind.access()) {
            if let Some(offset) = offset(access) {
                let first = first.entry(access.location).or_insert(offset);
                *first = offset.min(*first);
            }
        }
        let mut done: SortedMap<Option<AgentId>, Vec<[u32; 5]>> = SortedMap::new();
        for &id in &self.kept {
            let event = &graph.events[id];
            let site = event.site.map_or(u32::MAX, |site| doings.sites[site]);
            let (at, width) = event.kind.access().map_or((0, 0), |access| {
                let from_first = offset(access).map_or(u32::MAX, |offset| offset - first[&access.location]);
                (from_first, access.width_bytes)
            });
            let rank = ranks[&(event.agent, event.position)];
            done.entry(event.agent).or_default().push([rank, site, doings.of[id], at, width]);
        }
        let by_issuer = |agent: Option<AgentId>| agent.map(|agent| graph.hierarchy.issuer(agent));
        let mut agents: Vec<Option<AgentId>> = done.keys().copied().collect();
        agents.sort_by_key(|&agent| {
            let issuer = by_issuer(agent);
            (done.get(&issuer), issuer, agent != issuer, &done[&agent], agent)
        });
        let ranked: FxHashMap<Option<AgentId>, usize> = agents.into_iter().zip(0..).collect();
        let mut order: Vec<usize> = (0..self.kept.len()).collect();
        order.sort_by_key(|&place| {
            let event = &graph.events[self.kept[place]];
            (ranked[&event.agent], event.position, place)
        });
        order
    }

    fn ranks(&self, graph: &EventGraph) -> FxHashMap<(Option<AgentId>, u32), u32> {
        let mut positions: SortedMap<Option<AgentId>, SortedSet<u32>> = SortedMap::new();
        for event in self.kept.iter().map(|&id| &graph.events[id]) {
            positions.entry(event.agent).or_default().insert(event.position);
        }
        let ranked = positions.into_iter().flat_map(|(agent, positions)| {
            positions.into_iter().zip(0..).map(move |(position, rank)| ((agent, position), rank))
        });
        ranked.collect()
    }

    fn bounds(&self, graph: &EventGraph) -> SortedMap<LocationId, Vec<u32>> {
        let mut bounds: SortedMap<LocationId, SortedSet<u32>> = SortedMap::new();
        let mut unknown: SortedSet<LocationId> = SortedSet::new();
        for &event in &self.kept {
            let kind = &graph.events[event].kind;
            if let Some(access) = kind.access() {
                match graph.terms.constant_value(access.offset).and_then(|offset| u32::try_from(offset).ok())
                {
                    Some(first) => bounds
                        .entry(access.location)
                        .or_default()
                        .extend([first, first.saturating_add(access.width_bytes)]),
                    None => {
                        unknown.insert(access.location);
                    }
                }
            }
            if let EventKind::RestrictedFence(RestrictedFence::AcquireTensormap {
                location,
                offset_bytes,
                ..
            }) = kind
            {
                bounds.entry(*location).or_default().insert(*offset_bytes);
            }
        }
        bounds.retain(|location, _| !unknown.contains(location));
        bounds.into_iter().map(|(location, bounds)| (location, bounds.into_iter().collect())).collect()
    }
}

impl Writer<'_> {
    /// Where an event of the slice's graph is in the order of the row.
    fn place_of(&self, event: EventId) -> u32 {
        self.places[event.index()]
    }

    fn line(&mut self, about: About, fields: &[u32]) {
        self.row.extend([count(fields.len()), about as u32]);
        self.row.extend(fields);
    }

    fn all(&mut self) {
        let (piece, graph) = (self.piece, self.graph);
        for event in self.order.clone().into_iter().map(|place| piece.kept[place]) {
            if let Some(conjuncts) = piece.guards.get(&event) {
                let mut conjuncts: Vec<usize> = conjuncts.iter().map(|&term| self.term(term)).collect();
                conjuncts.sort_unstable();
                self.line(About::Guard, &runs(&conjuncts));
            }
            self.event(event);
        }
        for base in Edges::relations() {
            let edges = piece.edges.of(base);
            let mut edges: Vec<(u32, u32, TermRef)> = edges
                .map(|edge| (self.place_of(edge.from), self.place_of(edge.to), edge.condition))
                .collect();
            edges.sort_unstable();
            for (from, to, condition) in edges {
                let condition = self.term(condition);
                self.line(About::Edge, &[base as u32, from, to, count(condition)]);
            }
        }
        for pairs in [&piece.rmw, &piece.decided_stores] {
            let mut pairs: Vec<[u32; 2]> =
                pairs.iter().map(|&(a, b)| [self.place_of(a), self.place_of(b)]).collect();
            pairs.sort_unstable();
            self.line(About::Pairs, pairs.as_flattened());
        }
        let mut peers: Vec<_> = piece
            .peers
            .iter()
            .map(|peer| {
                (self.place_of(peer.access), self.place_of(peer.start), self.place_of(peer.exit), peer.owner)
            })
            .collect();
        peers.sort_unstable();
        for (access, start, exit, owner) in peers {
            let owner = self.cta(owner);
            self.line(About::Peer, &[access, owner, start, exit]);
        }
        self.constraints();
        for own in piece.obligations.iter().map(|&index| &graph.obligations[index]) {
            let (guard, condition) = (self.term(own.guard), self.term(own.condition));
            // Of which property it is decides whether it is asked.
            let kind = std::mem::discriminant(&own.kind);
            let property = match &own.kind {
                ObligationKind::Discipline(misuse) => misuse.code(),
                _ => "",
            };
            let mut fields = vec![count(guard), count(condition)];
            fields.extend(text(property));
            fields.extend(text(&format!("{kind:?}")));
            self.line(About::Obligation, &fields);
        }
        for own in piece.cuts.iter().map(|&index| &graph.cuts[index]) {
            let guard = self.term(own.guard);
            self.line(About::Cut, &[count(guard)]);
        }
        for &agent in &piece.asked {
            let number = self.agent(agent);
            self.line(About::Asked, &[number, u32::from(agent == piece.centre)]);
        }
        if let Some(places) = &piece.places {
            let mut known = Numbers::new();
            let of_event = self.order.iter().flat_map(|&at| {
                let place = places.of[piece.kept[at]];
                let is_asked = matches!(place, Place::At(place) if places.only == Some(place));
                [known.of(place).0, usize::from(is_asked), usize::from(place == Place::Nowhere)]
            });
            let fields: Vec<u32> = of_event.map(count).collect();
            self.line(About::Places, &fields);
        }
        for try_that_writes in &graph.writing_tries {
            if let Some(&number) = self.unknowns.0.get(try_that_writes) {
                self.line(About::Writes, &[count(number)]);
            }
        }
        for (name, unknown) in &graph.parameters {
            if let Some(&number) = self.unknowns.0.get(unknown) {
                let mut fields = vec![count(number)];
                fields.extend(text(name));
                self.line(About::Parameter, &fields);
            }
        }
    }

    /// The constraints, and before them what several have in common, in an order that says nothing.
    fn constraints(&mut self) {
        let piece = self.piece;
        self.terms_of_constraints();
        // Of each conjunction, by where it is kept, the numbers of its terms.
        let mut numbers: FxHashMap<*const TermRef, Arc<[usize]>> = FxHashMap::default();
        for alternative in piece.constraints.iter().flatten() {
            match alternative {
                Alternative::Term(term) | Alternative::Denied(term) => {
                    self.term(*term);
                }
                Alternative::All(conjuncts) if !numbers.contains_key(&conjuncts.as_ptr()) => {
                    let mut of_all: Vec<usize> = conjuncts.iter().map(|&term| self.term(term)).collect();
                    of_all.sort_unstable();
                    numbers.insert(conjuncts.as_ptr(), of_all.into());
                }
                Alternative::All(_) => {}
            }
        }
        let mut shared: Vec<&Arc<[usize]>> = numbers.values().collect();
        shared.sort_unstable();
        shared.dedup();
        shared.iter().for_each(|of_all| self.line(About::Conjunction, &runs(of_all)));
        let place = |of: &Arc<[usize]>| shared.binary_search(&of).unwrap_or(usize::MAX >> 32);
        let mut lines: Vec<Vec<(u32, usize)>> = Vec::new();
        for alternatives in &piece.constraints {
            let told = alternatives.iter().map(|alternative| match alternative {
                Alternative::Term(term) => (0, self.terms.0[term]),
                Alternative::Denied(term) => (1, self.terms.0[term]),
                Alternative::All(conjuncts) => (2, place(&numbers[&conjuncts.as_ptr()])),
            });
            let mut told: Vec<(u32, usize)> = told.collect();
            told.sort_unstable();
            lines.push(told);
        }
        lines.sort_unstable();
        for line in lines {
            let fields: Vec<u32> = line.iter().flat_map(|&(kind, number)| [kind, count(number)]).collect();
            self.line(About::Constraint, &fields);
        }
    }

    /// Numbers the terms of constraints that have no number yet.
    ///
    /// Constraints are in the order of threads, which says nothing. So a term whose operands all have numbers comes before
    /// one that has to wait, and of those that could come next the one whose operands have the lower numbers. Only an unknown
    /// that is met here first is taken as it comes.
    fn terms_of_constraints(&mut self) {
        let graph = self.graph;
        let mut found: Vec<TermRef> = Vec::new();
        let mut seen: FxHashSet<TermRef> = FxHashSet::default();
        for alternative in self.piece.constraints.iter().flatten() {
            let roots = match alternative {
                Alternative::Term(term) | Alternative::Denied(term) => std::slice::from_ref(term),
                Alternative::All(conjuncts) => conjuncts,
            };
            let mut stack: Vec<TermRef> = roots.iter().rev().copied().collect();
            while let Some(term) = stack.pop() {
                if !self.terms.0.contains_key(&term) && seen.insert(term) {
                    found.push(term);
                    stack.extend(graph.terms.operands(term).into_iter().rev());
                }
            }
        }
        let mut users: FxHashMap<TermRef, Vec<TermRef>> = FxHashMap::default();
        let mut n_missing: FxHashMap<TermRef, usize> = FxHashMap::default();
        let (mut ready, mut unknowns) = (Vec::new(), Vec::new());
        for &term in &found {
            let missing: SortedSet<TermRef> =
                graph.terms.operands(term).into_iter().filter(|operand| seen.contains(operand)).collect();
            for &operand in &missing {
                users.entry(operand).or_default().push(term);
            }
            match graph.terms.kind(term) {
                TermKind::Unknown(unknown) if !self.unknowns.0.contains_key(unknown) => unknowns.push(term),
                _ if missing.is_empty() => ready.push(term),
                _ => {}
            }
            n_missing.insert(term, missing.len());
        }
        let mut unknowns = unknowns.into_iter();
        loop {
            if ready.is_empty() {
                ready.extend(unknowns.next());
            }
            if ready.is_empty() {
                return;
            }
            ready.sort_by_cached_key(|&term| self.by_operands(term));
            for term in std::mem::take(&mut ready) {
                self.term(term);
                for &user in users.get(&term).into_iter().flatten() {
                    let n_missing = n_missing.entry(user).or_default();
                    *n_missing -= 1;
                    if *n_missing == 0 {
                        ready.push(user);
                    }
                }
            }
        }
    }

    /// What a term whose operands have numbers is told by.
    fn by_operands(&self, term: TermRef) -> (u32, u32, u128, Vec<usize>) {
        let kind = self.graph.terms.kind(term);
        let own = match *kind {
            TermKind::Constant(value) => value,
            TermKind::Extract(_, low) => u128::from(low),
            TermKind::Unknown(unknown) => self.unknowns.0.get(&unknown).map_or(u128::MAX, |&own| own as u128),
            _ => 0,
        };
        let mut operands: Vec<usize> =
            self.graph.terms.operands(term).iter().map(|operand| self.terms.0[operand]).collect();
        if matches!(kind, TermKind::And(_) | TermKind::Or(_)) {
            operands.sort_unstable();
        }
        (operator(kind), u32::from(self.graph.terms.width(term)), own, operands)
    }

    fn event(&mut self, id: EventId) {
        let event = &self.graph.events[id];
        let agent = event.agent.map(|agent| self.agent(agent) as usize);
        let guard = (!self.piece.guards.contains_key(&id)).then(|| self.term(event.guard));
        let role = match event.role {
            Role::Plain => [0, 0],
            Role::Await => [1, 0],
            Role::Spin(unknown) => [2, count(self.unknown(unknown))],
        };
        let mut fields = Vec::with_capacity(32);
        match &event.kind {
            EventKind::Init(access) => self.access(id, 0, access, &mut fields),
            EventKind::Read(access) => self.access(id, 1, access, &mut fields),
            EventKind::Write(access) => self.access(id, 2, access, &mut fields),
            EventKind::Spa(SpaEvent::InvalidateLine(access)) => self.access(id, 3, access, &mut fields),
            EventKind::Mbarrier(operation) => {
                let location = self.location(self.graph.mbarriers[operation.object].location);
                let (object, _) = self.mbarriers.of(operation.object);
                let (role, sem, scope) = (operation.role, operation.sem, operation.scope);
                fields.extend([4, count(object), location, role as u32, sem as u32, scope as u32]);
            }
            EventKind::RestrictedFence(RestrictedFence::AcquireTensormap {
                scope,
                location,
                offset_bytes,
            }) => {
                fields.extend([5, *scope as u32]);
                self.place(*location, *offset_bytes, 0, &mut fields);
            }
            EventKind::CtaStart(cta) => fields.extend([6, self.cta(*cta)]),
            EventKind::CtaExit(cta) => fields.extend([7, self.cta(*cta)]),
            _ => fields.extend([8, self.doings.of[id]]),
        }
        fields.extend(optional(agent));
        fields.push(self.ranks[&(event.agent, event.position)]);
        fields.extend(optional(guard));
        fields.extend(optional(event.site.map(|site| self.doings.sites[site] as usize)));
        fields.extend(role);
        self.line(About::Event, &fields);
    }

    fn access(&mut self, id: EventId, kind: u32, access: &Access, fields: &mut Vec<u32>) {
        fields.push(kind);
        let offset = self.graph.terms.constant_value(access.offset);
        match offset.and_then(|offset| u32::try_from(offset).ok()) {
            Some(offset) => {
                fields.push(0);
                self.place(access.location, offset, access.width_bytes, fields);
            }
            None => {
                let offset = self.term(access.offset);
                fields.extend([1, self.location(access.location), count(offset)]);
            }
        }
        let value = (!self.piece.idle.contains(&id)).then(|| self.term(access.value));
        fields.extend([access.mapping, access.proxy as u32, access.width_bytes]);
        fields.extend(optional(value));
        fields.extend([access.sem as u32, access.scope as u32, access.atomic as u32]);
    }

    /// Bytes of a location, by those that they have in common with others that are accessed.
    fn place(&mut self, location: LocationId, first: u32, width_bytes: u32, fields: &mut Vec<u32>) {
        let number = self.location(location);
        fields.push(number);
        let Some(bounds) = self.bounds.get(&location) else {
            fields.extend([0, first]);
            return;
        };
        let rank = |byte: u32| bounds.partition_point(|&bound| bound < byte);
        let end = rank(first + width_bytes).max(rank(first) + 1);
        // What names a place and has no bytes of its own is told by the part that begins there.
        let length = |part: usize| bounds.get(part + 1).map_or(0, |end| end - bounds[part]);
        fields.extend([1, count(end - rank(first))]);
        for part in rank(first)..end {
            fields.extend([count(self.parts.of((location, part)).0), length(part).min(width_bytes)]);
        }
        match &self.graph.locations[location].initial {
            InitialBytes::Known(bytes) => {
                fields.push(1 + width_bytes);
                let bytes = (first..first + width_bytes).map(|at| bytes.get(at as usize).copied());
                fields.extend(bytes.map(|byte| u32::from(byte.unwrap_or(0))));
            }
            InitialBytes::Unknown => fields.push(0),
        }
    }

    fn location(&mut self, location: LocationId) -> u32 {
        let (number, is_new) = self.locations.of(location);
        if is_new {
            let of = &self.graph.locations[location];
            let cta = of.cta.map(|cta| self.cta(cta) as usize);
            let mut fields = vec![count(number), u32::from(of.is_register), u32::from(of.is_tensor)];
            fields.extend(optional(cta));
            fields.push(count(of.multimem.len()));
            fields.extend(&of.multimem);
            // One with accesses at unknown places is itself.
            if !self.bounds.contains_key(&location) {
                fields.extend([count(location.index()), of.size_bytes]);
            }
            self.line(About::Location, &fields);
        }
        count(number)
    }

    fn cta(&mut self, cta: CtaId) -> u32 {
        count(self.groups.of(("cta", u64::from(cta.0))).0)
    }

    fn agent(&mut self, agent: AgentId) -> u32 {
        let (number, is_new) = self.agents.of(agent);
        if is_new {
            let hierarchy = &self.graph.hierarchy;
            let place = hierarchy.threads[agent];
            let sort = hierarchy.operation(agent).map(|operation| operation.sort);
            let issuer = if sort.is_some() { self.agent(hierarchy.issuer(agent)) } else { count(number) };
            let cta = self.cta(hierarchy.cta_of(agent));
            let cluster = self.groups.of(("cluster", u64::from(hierarchy.cluster_of(agent)))).0;
            let gpu = self.groups.of(("gpu", u64::from(place.gpu))).0;
            let sort = optional(sort.map(|sort| sort as usize));
            let fields = [count(number), sort[0], sort[1], issuer, cta, count(cluster), count(gpu)];
            self.line(About::Agent, &fields);
        }
        count(number)
    }

    fn unknown(&mut self, unknown: UnknownId) -> usize {
        let (number, is_new) = self.unknowns.of(unknown);
        if is_new {
            let of = self.graph.terms.unknown(unknown);
            let mut fields = vec![count(number), u32::from(of.width)];
            fields.extend(wide(of.min));
            fields.extend(wide(of.max));
            match self.piece.unknown(unknown, &of.kind) {
                UnknownKind::Spins(agent) => fields.extend([0, self.agent(agent)]),
                UnknownKind::Triggers(agent) => fields.extend([1, self.agent(agent)]),
                UnknownKind::Read(event) => fields.extend([2, self.place_of(event)]),
                UnknownKind::ReadsLast(event) => fields.extend([3, self.place_of(event)]),
                UnknownKind::ReadsPromised(event) => fields.extend([4, self.place_of(event)]),
                UnknownKind::Elsewhere => fields.push(5),
                // As it is named in the text, so that different ones are not taken for one.
                other => {
                    fields.push(6);
                    fields.extend(text(&format!("{other:?}")));
                }
            }
            self.line(About::Unknown, &fields);
        }
        number
    }

    /// The number of a term, after its operands'.
    fn term(&mut self, term: TermRef) -> usize {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            if self.terms.0.contains_key(&top) {
                stack.pop();
                continue;
            }
            let operands = self.graph.terms.operands(top);
            let missing: Vec<TermRef> =
                operands.iter().copied().filter(|operand| !self.terms.0.contains_key(operand)).collect();
            if !missing.is_empty() {
                stack.extend(missing.into_iter().rev());
                continue;
            }
            let mut operands: Vec<usize> = operands.iter().map(|operand| self.terms.0[operand]).collect();
            let kind = self.graph.terms.kind(top);
            let is_set = matches!(kind, TermKind::And(_) | TermKind::Or(_));
            if is_set {
                // Where a thread stands among others says nothing.
                operands.sort_unstable();
            }
            let mut fields = Vec::with_capacity(12);
            fields.extend([operator(kind), u32::from(self.graph.terms.width(top))]);
            match *kind {
                TermKind::Constant(value) => fields.extend(wide(value)),
                TermKind::Unknown(unknown) => fields.push(count(self.unknown(unknown))),
                TermKind::Extract(_, low) => fields.push(u32::from(low)),
                _ => {}
            }
            let (number, _) = self.terms.of(top);
            fields.push(count(number));
            match is_set {
                true => fields.extend(runs(&operands)),
                false => fields.extend(operands.into_iter().map(count)),
            }
            self.line(About::Term, &fields);
            stack.pop();
        }
        self.terms.0[&term]
    }
}

fn operator(kind: &TermKind) -> u32 {
    match kind {
        TermKind::Constant(_) => 0,
        TermKind::Unknown(_) => 1,
        TermKind::Not(_) => 2,
        TermKind::And(_) => 3,
        TermKind::Or(_) => 4,
        TermKind::BitAnd(..) => 5,
        TermKind::BitOr(..) => 6,
        TermKind::BitXor(..) => 7,
        TermKind::Add(..) => 8,
        TermKind::Subtract(..) => 9,
        TermKind::Multiply(..) => 10,
        TermKind::Divide(..) => 11,
        TermKind::Remainder(..) => 12,
        TermKind::ShiftLeft(..) => 13,
        TermKind::ShiftRight(..) => 14,
        TermKind::Equal(..) => 15,
        TermKind::Less(..) => 16,
        TermKind::SignedLess(..) => 17,
        TermKind::IfThenElse(..) => 18,
        TermKind::Resize(_) => 19,
        TermKind::Extract(..) => 20,
    }
}
