//! Slices that are alike, but for names: a text in which threads, places, unknowns and values of unknown meaning are
//! numbered in the order in which they come.
//!
//! Sound: the text has all that a slice's graph is made of, but for what only reports ask. Threads count by which
//! groups they share (no relation of a model asks for warps), accesses of known places by which bytes they have in
//! common and what is in them at first. So equal texts are of graphs that a renaming maps onto each other.
//!
//! Needs: nothing. What a relation of a model can ask of threads is a closed list, `BaseRelation`.

use super::Piece;
use crate::event::{
    Access, AgentId, CtaId, Edges, EventGraph, EventId, EventKind, LocationId, MbarrierId, ObligationKind,
    RestrictedFence, Role, SpaEvent, TermKind, TermRef, UnknownId, UnknownKind,
};
use crate::slice::constraints::Alternative;
use fencepost_dsl::kernel::program::InitialBytes;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::{self, Write};
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

struct Writer<'a> {
    piece: &'a Piece,
    graph: &'a EventGraph,
    text: String,
    agents: Numbers<AgentId>,
    groups: Numbers<(&'static str, u64)>,
    locations: Numbers<LocationId>,
    /// Bytes between two bounds that follow one another.
    parts: Numbers<(LocationId, usize)>,
    mbarriers: Numbers<MbarrierId>,
    unknowns: Numbers<UnknownId>,
    terms: Numbers<TermRef>,
    /// Where accesses begin and end; of a location with accesses at unknown places there is no list.
    bounds: SortedMap<LocationId, Vec<u32>>,
}

impl Piece {
    /// What slices that are alike have in common.
    pub fn key(&self, graph: &EventGraph) -> String {
        let mut writer = Writer {
            piece: self,
            graph,
            text: String::new(),
            agents: Numbers::new(),
            groups: Numbers::new(),
            locations: Numbers::new(),
            parts: Numbers::new(),
            mbarriers: Numbers::new(),
            unknowns: Numbers::new(),
            terms: Numbers::new(),
            bounds: self.bounds(graph),
        };
        writer.all();
        writer.text
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
    fn put(&mut self, what: fmt::Arguments<'_>) {
        self.text.write_fmt(what).expect("a string takes everything");
    }

    fn all(&mut self) {
        let (piece, graph) = (self.piece, self.graph);
        for &event in &piece.kept {
            if let Some(conjuncts) = piece.guards.get(&event) {
                let mut conjuncts: Vec<usize> = conjuncts.iter().map(|&term| self.term(term)).collect();
                conjuncts.sort_unstable();
                self.put(format_args!("of the guard {}\n", Runs(&conjuncts)));
            }
            self.event(event);
        }
        for base in Edges::relations() {
            for edge in piece.edges.of(base) {
                let condition = self.term(edge.condition);
                self.put(format_args!("{base:?} {} {} {condition}\n", edge.from.0, edge.to.0));
            }
        }
        self.put(format_args!("rmw {:?} decided {:?}\n", piece.rmw, piece.decided_stores));
        for peer in &piece.peers {
            let owner = self.cta(peer.owner);
            self.put(format_args!("peer {} {owner} {} {}\n", peer.access.0, peer.start.0, peer.exit.0));
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
            self.put(format_args!("obligation {kind:?} {property} {guard} {condition}\n"));
        }
        for own in piece.cuts.iter().map(|&index| &graph.cuts[index]) {
            let guard = self.term(own.guard);
            self.put(format_args!("cut {guard}\n"));
        }
        for &agent in &piece.asked {
            let number = self.agent(agent);
            self.put(format_args!("asked {number} {}\n", agent == piece.centre));
        }
        for &try_that_writes in graph.writing_tries.iter().filter(|id| self.unknowns.0.contains_key(id)) {
            let number = self.unknowns.0[&try_that_writes];
            self.text += &format!("writes {number}\n");
        }
        for (name, unknown) in &graph.parameters {
            if let Some(number) = self.unknowns.0.get(unknown) {
                self.text += &format!("parameter {name} {number}\n");
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
        shared.iter().for_each(|of_all| self.put(format_args!("all {}\n", Runs(of_all))));
        let place = |of: &Arc<[usize]>| shared.binary_search(&of).unwrap_or(usize::MAX);
        let mut lines: Vec<Vec<(char, usize)>> = Vec::new();
        for alternatives in &piece.constraints {
            let told = alternatives.iter().map(|alternative| match alternative {
                Alternative::Term(term) => ('=', self.terms.0[term]),
                Alternative::Denied(term) => ('-', self.terms.0[term]),
                Alternative::All(conjuncts) => ('&', place(&numbers[&conjuncts.as_ptr()])),
            });
            let mut told: Vec<(char, usize)> = told.collect();
            told.sort_unstable();
            lines.push(told);
        }
        lines.sort_unstable();
        for line in lines {
            self.put(format_args!("constraint"));
            line.iter().for_each(|(kind, number)| self.put(format_args!(" {kind}{number}")));
            self.put(format_args!("\n"));
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
    fn by_operands(&self, term: TermRef) -> (&'static str, u32, u128, Vec<usize>) {
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
        let agent = event.agent.map(|agent| self.agent(agent));
        let guard = (!self.piece.guards.contains_key(&id)).then(|| self.term(event.guard));
        let role = match event.role {
            Role::Plain => "plain".to_owned(),
            Role::Await => "await".to_owned(),
            Role::Spin(unknown) => format!("spin {}", self.unknown(unknown)),
        };
        let kind = match &event.kind {
            EventKind::Init(access) => self.access("init", access),
            EventKind::Read(access) => self.access("read", access),
            EventKind::Write(access) => self.access("write", access),
            EventKind::Spa(SpaEvent::InvalidateLine(access)) => self.access("invalidate", access),
            EventKind::Mbarrier(operation) => {
                let mbarrier = &self.graph.mbarriers[operation.object];
                let location = self.location(mbarrier.location);
                let (object, _) = self.mbarriers.of(operation.object);
                format!(
                    "mbarrier {object} in {location} {:?} {:?} {:?}",
                    operation.role, operation.sem, operation.scope
                )
            }
            EventKind::RestrictedFence(RestrictedFence::AcquireTensormap {
                scope,
                location,
                offset_bytes,
            }) => {
                let place = self.place(*location, *offset_bytes, 0);
                format!("acquire map {scope:?} {place}")
            }
            EventKind::CtaStart(cta) => format!("start {}", self.cta(*cta)),
            EventKind::CtaExit(cta) => format!("exit {}", self.cta(*cta)),
            other => format!("{other:?}"),
        };
        let site = event.site.map(|site| site.0);
        self.put(format_args!("{agent:?} {} {guard:?} {kind} {site:?} {role}\n", event.position));
    }

    fn access(&mut self, name: &str, access: &Access) -> String {
        let place = match self
            .graph
            .terms
            .constant_value(access.offset)
            .and_then(|offset| u32::try_from(offset).ok())
        {
            Some(offset) => self.place(access.location, offset, access.width_bytes),
            None => {
                let offset = self.term(access.offset);
                format!("{} at term {offset}", self.location(access.location))
            }
        };
        let value = self.term(access.value);
        format!(
            "{name} {place} {} {:?} {} {value} {:?} {:?} {:?}",
            access.mapping, access.proxy, access.width_bytes, access.sem, access.scope, access.atomic
        )
    }

    /// Bytes of a location, by those that they have in common with others that are accessed.
    fn place(&mut self, location: LocationId, first: u32, width_bytes: u32) -> String {
        let number = self.location(location);
        let Some(bounds) = self.bounds.get(&location) else { return format!("{number} at {first}") };
        let rank = |byte: u32| bounds.partition_point(|&bound| bound < byte);
        let end = rank(first + width_bytes).max(rank(first) + 1);
        // What names a place and has no bytes of its own is told by the part that begins there.
        let length = |part: usize| bounds.get(part + 1).map_or(0, |end| end - bounds[part]);
        let parts: Vec<(usize, u32)> = (rank(first)..end)
            .map(|part| (self.parts.of((location, part)).0, length(part).min(width_bytes)))
            .collect();
        let lengths = parts.chunk_by(|a, b| a.1 == b.1).map(|of| (of.len(), of[0].1)).collect::<Vec<_>>();
        let parts: Vec<usize> = parts.into_iter().map(|(part, _)| part).collect();
        let place = format!("{number} in {} of {lengths:?}", Runs(&parts));
        let bytes = match &self.graph.locations[location].initial {
            InitialBytes::Known(bytes) => {
                let bytes =
                    (first..first + width_bytes).map(|at| bytes.get(at as usize).copied().unwrap_or(0));
                format!("{:?}", bytes.collect::<Vec<u8>>())
            }
            InitialBytes::Unknown => "unknown".to_owned(),
        };
        format!("{place} with {bytes}")
    }

    fn location(&mut self, location: LocationId) -> usize {
        let (number, is_new) = self.locations.of(location);
        if is_new {
            let of = &self.graph.locations[location];
            let is_exact = !self.bounds.contains_key(&location);
            let cta = of.cta.map(|cta| self.cta(cta));
            let exactly = is_exact.then_some((location, of.size_bytes, &of.initial));
            let text = format!(
                "location {number} {} {} {:?} {cta:?} {exactly:?}\n",
                of.is_register, of.is_tensor, of.multimem
            );
            self.text += &text;
        }
        number
    }

    fn cta(&mut self, cta: CtaId) -> usize {
        self.groups.of(("cta", u64::from(cta.0))).0
    }

    fn agent(&mut self, agent: AgentId) -> usize {
        let (number, is_new) = self.agents.of(agent);
        if is_new {
            let hierarchy = &self.graph.hierarchy;
            let place = hierarchy.threads[agent];
            let sort = hierarchy.operation(agent).map(|operation| operation.sort);
            let issuer = if sort.is_some() { self.agent(hierarchy.issuer(agent)) } else { number };
            let cta = self.cta(hierarchy.cta_of(agent));
            let cluster = self.groups.of(("cluster", u64::from(hierarchy.cluster_of(agent)))).0;
            let gpu = self.groups.of(("gpu", u64::from(place.gpu))).0;
            let text = format!("agent {number} {sort:?} {issuer} {cta} {cluster} {gpu}\n");
            self.text += &text;
        }
        number
    }

    fn unknown(&mut self, unknown: UnknownId) -> usize {
        let (number, is_new) = self.unknowns.of(unknown);
        if is_new {
            let of = self.graph.terms.unknown(unknown);
            let kind = match self.piece.unknown(unknown, &of.kind) {
                UnknownKind::Spins(agent) => format!("spins {}", self.agent(agent)),
                UnknownKind::Triggers(agent) => format!("triggers {}", self.agent(agent)),
                // As it is named in the text, so that different ones are not taken for one.
                other => format!("{other:?}"),
            };
            let text = format!("unknown {number} {kind} {} {} {}\n", of.width, of.min, of.max);
            self.text += &text;
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
            let is_set = matches!(self.graph.terms.kind(top), TermKind::And(_) | TermKind::Or(_));
            if is_set {
                // Where a thread stands among others says nothing.
                operands.sort_unstable();
            }
            let what = match self.graph.terms.kind(top) {
                TermKind::Constant(value) => format!("{value}"),
                TermKind::Unknown(unknown) => format!("unknown {}", self.unknown(*unknown)),
                TermKind::Extract(_, low) => format!("extract {low}"),
                other => operator(other).to_owned(),
            };
            let width = self.graph.terms.width(top);
            let (number, _) = self.terms.of(top);
            match is_set {
                true => self.put(format_args!("term {number} {width} {what} {}\n", Runs(&operands))),
                false => self.put(format_args!("term {number} {width} {what} {operands:?}\n")),
            }
            stack.pop();
        }
        self.terms.0[&term]
    }
}

/// Numbers in order, those that follow one another as the first and the last of them.
struct Runs<'a>(&'a [usize]);

impl fmt::Display for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for run in self.0.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
            match run {
                [first, .., last] => write!(f, "{first}-{last},")?,
                _ => run.iter().try_for_each(|number| write!(f, "{number},"))?,
            }
        }
        f.write_char(']')
    }
}

fn operator(kind: &TermKind) -> &'static str {
    match kind {
        TermKind::Constant(_) => "constant",
        TermKind::Unknown(_) => "unknown",
        TermKind::Not(_) => "not",
        TermKind::And(_) => "and",
        TermKind::Or(_) => "or",
        TermKind::BitAnd(..) => "bitand",
        TermKind::BitOr(..) => "bitor",
        TermKind::BitXor(..) => "bitxor",
        TermKind::Add(..) => "add",
        TermKind::Subtract(..) => "subtract",
        TermKind::Multiply(..) => "multiply",
        TermKind::Divide(..) => "divide",
        TermKind::Remainder(..) => "remainder",
        TermKind::ShiftLeft(..) => "shl",
        TermKind::ShiftRight(..) => "shr",
        TermKind::Equal(..) => "equal",
        TermKind::Less(..) => "less",
        TermKind::SignedLess(..) => "signed-less",
        TermKind::IfThenElse(..) => "if",
        TermKind::Resize(_) => "resize",
        TermKind::Extract(..) => "extract",
    }
}
