//! What depends on which read: dependencies through which a value really flows, and stores that a branch decides.
//!
//! A dependency that is counted although it is none excludes executions and can make a proof untrue, so whatever is in
//! doubt here is no dependency: conditions too large to look through, several comparisons of one value, and what only a
//! wait, the bound of a loop or an `assume` lets happen.

use crate::bits::BitMatrix;
use crate::event::support::Supports;
use crate::event::{
    Access, AgentId, AtomicClass, EventGraph, EventId, EventKind, LocationId, TermKind, TermPool, TermRef,
    UnknownKind,
};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};
use rustc_hash::FxHashMap;

/// Comparisons in the conditions of one store past which no branch is taken to decide it.
const ATOMS_MAX: usize = 10;

/// Dependencies through which a value really flows: an unknown of the read occurs in the simplified term.
pub fn dependencies(graph: &EventGraph) -> Vec<(BaseRelation, BitMatrix)> {
    let n = graph.events.len();
    let mut supports = Supports::default();
    let (mut address, mut data, mut control) = (Vec::new(), Vec::new(), Vec::new());
    for (id, event) in graph.events.iter_enumerated() {
        control.extend(supports.reads(&graph.terms, event.guard).iter().map(|&source| (source, id)));
        let Some(access) = event.kind.access() else { continue };
        address.extend(supports.reads(&graph.terms, access.offset).iter().map(|&source| (source, id)));
        if matches!(event.kind, EventKind::Write(_)) {
            data.extend(supports.reads(&graph.terms, access.value).iter().map(|&source| (source, id)));
        }
    }
    let decided = graph.decided_stores.clone().unwrap_or_else(|| decided_stores(graph, &mut supports));
    vec![
        (BaseRelation::AddressDependency, BitMatrix::from_pairs(n, address)),
        (BaseRelation::DataDependency, BitMatrix::from_pairs(n, data)),
        (BaseRelation::ControlDependency, BitMatrix::from_pairs(n, control)),
        (BaseRelation::StoreControlDependency, BitMatrix::from_pairs(n, decided)),
    ]
}

/// What makes two dynamic stores of a thread the same one, in whatever arm of a branch they stand.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Store {
    thread: AgentId,
    location: LocationId,
    mapping: u32,
    proxy: Proxy,
    offset: TermRef,
    width_bytes: u32,
    sem: Sem,
    scope: Scope,
    is_atomic: bool,
    /// Of an atomic none, since it has the atomic's own read in it; see [`is_same_update`].
    value: Option<TermRef>,
}

impl Store {
    fn new(graph: &EventGraph, agent: AgentId, access: &Access) -> Self {
        let is_atomic = access.atomic != AtomicClass::None;
        Self {
            thread: graph.hierarchy.issuer(agent),
            location: access.location,
            mapping: access.mapping,
            proxy: access.proxy,
            offset: access.offset,
            width_bytes: access.width_bytes,
            sem: access.sem,
            scope: access.scope,
            is_atomic,
            value: (!is_atomic).then_some(access.value),
        }
    }
}

/// From a read to each store of its thread that a branch on it decides: whether it happens, or what it stores.
///
/// Asked per store: the same store in another arm is the same store, so one that happens whichever way the branch goes
/// does not depend on it. An iteration past the bound of a loop that ends counts as an arm that has all stores, and a wait as
/// passed, so that what comes after a loop or a wait does not depend on what let the thread out of it. One past the bound of a
/// loop that could go round for ever is no such arm, since that way may lead nowhere: behind it all depends on that in any case
/// (`unroll::past`).
pub fn decided_stores(graph: &EventGraph, supports: &mut Supports) -> Vec<(EventId, EventId)> {
    let mut stores: SortedMap<Store, Vec<EventId>> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        if let (EventKind::Write(access), Some(agent)) = (&event.kind, event.agent) {
            stores.entry(Store::new(graph, agent, access)).or_default().push(id);
        }
    }
    let given = Given::new(graph);
    let own_reads: SortedMap<EventId, EventId> =
        graph.rmw.iter().map(|&(read, write)| (write, read)).collect();
    let mut pairs = Vec::new();
    for (store, events) in &stores {
        for &id in events {
            let guard = graph.events[id].guard;
            let reads = supports.reads(&graph.terms, guard).clone();
            if reads.is_empty() {
                continue;
            }
            let same = |other: &&EventId| {
                !store.is_atomic || **other == id || is_same_update(graph, &own_reads, id, **other)
            };
            let mut ways: Vec<TermRef> =
                events.iter().filter(same).map(|&other| graph.events[other].guard).collect();
            for cut in graph.cuts.iter().filter(|cut| cut.agent == store.thread && !cut.spins) {
                if !supports.reads(&graph.terms, cut.guard).is_disjoint(&reads) {
                    ways.push(cut.guard);
                }
            }
            let deciding = given.deciding(graph, &ways, supports);
            pairs.extend(reads.intersection(&deciding).map(|&read| (read, id)));
        }
    }
    pairs
}

/// Whether the write parts of two atomics on one location compute the same from what each has read.
fn is_same_update(
    graph: &EventGraph,
    own_reads: &SortedMap<EventId, EventId>,
    a: EventId,
    b: EventId,
) -> bool {
    let value = |event: EventId| graph.events[event].kind.access().map(|access| access.value);
    let own = |event: EventId| own_reads.get(&event).and_then(|&read| value(read));
    let mut pending: Vec<_> = value(a).zip(value(b)).into_iter().collect();
    let own = (own(a), own(b));
    let mut seen = SortedSet::new();
    while let Some((x, y)) = pending.pop() {
        if x == y && Some(x) != own.0 || (Some(x), Some(y)) == own || !seen.insert((x, y)) {
            continue;
        }
        let (x_operands, y_operands) = (graph.terms.operands(x), graph.terms.operands(y));
        let is_alike = !x_operands.is_empty()
            && x_operands.len() == y_operands.len()
            && graph.terms.width(x) == graph.terms.width(y)
            && std::mem::discriminant(graph.terms.kind(x)) == std::mem::discriminant(graph.terms.kind(y))
            && !matches!(graph.terms.kind(x), TermKind::Extract(..));
        if !is_alike {
            return false;
        }
        pending.extend(x_operands.into_iter().zip(y_operands));
    }
    true
}

/// What holds in every execution: the graph's constraints.
struct Given {
    /// Each with the comparisons that it is made of, if they are few.
    constraints: Vec<(TermRef, SortedSet<TermRef>)>,
    /// Whatever occurs in them.
    mentioned: SortedSet<TermRef>,
}

impl Given {
    fn new(graph: &EventGraph) -> Self {
        let (mut constraints, mut mentioned) = (Vec::new(), SortedSet::new());
        // What only says what an unknown is leaves it as free as what it is made of.
        for constraint in graph.constraints.iter().filter(|c| !graph.terms.is_definition(c.term)) {
            let mut pending = vec![constraint.term];
            while let Some(term) = pending.pop() {
                if mentioned.insert(term) && is_connective(&graph.terms, term) {
                    pending.extend(graph.terms.operands(term));
                }
            }
            let mut atoms = SortedSet::new();
            if collect_atoms(&graph.terms, constraint.term, &mut atoms) {
                constraints.push((constraint.term, atoms));
            }
        }
        Self { constraints, mentioned }
    }

    /// The reads with a comparison that decides whether one of these ways is taken, in some case that nothing excludes.
    fn deciding(&self, graph: &EventGraph, ways: &[TermRef], supports: &mut Supports) -> SortedSet<EventId> {
        let terms = &graph.terms;
        let is_plain = |&term: &TermRef| {
            let inner = if let TermKind::Not(inner) = *terms.kind(term) { inner } else { term };
            let is_open = !self.mentioned.contains(&term) && !self.mentioned.contains(&inner);
            is_open && !is_connective(terms, inner) && !is_passage(terms, inner)
        };
        // A comparison that every way asks for decides by itself; the others are looked at together.
        let common: SortedSet<TermRef> = terms
            .conjuncts(ways[0])
            .iter()
            .copied()
            .filter(|term| ways.iter().all(|&way| terms.conjuncts(way).contains(term)))
            .filter(is_plain)
            .collect();
        let rest = |&way: &TermRef| -> Vec<TermRef> {
            terms.conjuncts(way).iter().copied().filter(|term| !common.contains(term)).collect()
        };
        let rests: Vec<Vec<TermRef>> = ways.iter().map(rest).collect();
        let mut deciding: SortedSet<EventId> =
            common.iter().flat_map(|&term| supports.reads(terms, term).clone()).collect();
        let mut atoms = SortedSet::new();
        if rests.iter().flatten().all(|&term| collect_atoms(terms, term, &mut atoms)) {
            let given = self.constraints.iter().filter(|(_, own)| own.is_subset(&atoms));
            let given: Vec<TermRef> = given.map(|&(term, _)| term).collect();
            // Comparisons of one value are not free of each other: what the table takes for a case may be none.
            let mut n_atoms: SortedMap<EventId, usize> = SortedMap::new();
            for &atom in &atoms {
                for &read in supports.reads(terms, atom) {
                    *n_atoms.entry(read).or_default() += 1;
                }
            }
            for atom in Table::new(terms, &atoms).decisive(&rests, &given) {
                let reads = supports.reads(terms, atom);
                if reads.iter().all(|read| n_atoms[read] == 1) {
                    deciding.extend(reads);
                }
            }
        }
        deciding
    }
}

/// Whether a thread gets past something that can block: taken for granted here.
fn is_passage(terms: &TermPool, term: TermRef) -> bool {
    matches!(terms.kind(term), TermKind::Unknown(unknown) if terms.unknown(*unknown).kind == UnknownKind::Passes)
}

/// Whether a term of width 1 is made of others.
fn is_connective(terms: &TermPool, term: TermRef) -> bool {
    match terms.kind(term) {
        TermKind::And(_) | TermKind::Or(_) | TermKind::Not(_) => true,
        TermKind::IfThenElse(..) => terms.width(term) == 1,
        _ => false,
    }
}

/// Adds the comparisons that a condition is made of; `false` if they are too many.
fn collect_atoms(terms: &TermPool, term: TermRef, atoms: &mut SortedSet<TermRef>) -> bool {
    let (mut pending, mut seen) = (vec![term], SortedSet::new());
    while let Some(term) = pending.pop() {
        if !seen.insert(term) || terms.constant_value(term).is_some() || is_passage(terms, term) {
            continue;
        }
        if is_connective(terms, term) {
            pending.extend(terms.operands(term));
        } else {
            atoms.insert(term);
            if atoms.len() > ATOMS_MAX {
                return false;
            }
        }
    }
    true
}

/// The truth values of conditions, a row for each way to fill in the comparisons.
struct Table<'a> {
    terms: &'a TermPool,
    atoms: Vec<TermRef>,
    n_rows: usize,
    memo: FxHashMap<TermRef, Vec<bool>>,
}

impl<'a> Table<'a> {
    fn new(terms: &'a TermPool, atoms: &SortedSet<TermRef>) -> Self {
        let atoms: Vec<TermRef> = atoms.iter().copied().collect();
        Self { terms, n_rows: 1 << atoms.len(), atoms, memo: FxHashMap::default() }
    }

    fn all(&mut self, conditions: &[TermRef]) -> Vec<bool> {
        let mut holds = vec![true; self.n_rows];
        for &condition in conditions {
            let rows = self.rows(condition);
            holds.iter_mut().zip(&rows).for_each(|(row, &holds)| *row &= holds);
        }
        holds
    }

    /// The comparisons that make a difference to whether all conditions of one of the ways hold, where what is given does.
    fn decisive(mut self, ways: &[Vec<TermRef>], given: &[TermRef]) -> Vec<TermRef> {
        let mut happens = vec![false; self.n_rows];
        for way in ways {
            let rows = self.all(way);
            happens.iter_mut().zip(&rows).for_each(|(row, &holds)| *row |= holds);
        }
        let possible = self.all(given);
        let matters = |index: usize| {
            (0..self.n_rows).any(|row| {
                let other = row ^ (1 << index);
                possible[row] && possible[other] && happens[row] != happens[other]
            })
        };
        self.atoms.iter().enumerate().filter(|&(index, _)| matters(index)).map(|(_, &atom)| atom).collect()
    }

    fn rows(&mut self, root: TermRef) -> Vec<bool> {
        let mut pending = vec![root];
        while let Some(&term) = pending.last() {
            if self.memo.contains_key(&term) {
                pending.pop();
                continue;
            }
            let operands =
                if is_connective(self.terms, term) { self.terms.operands(term) } else { Vec::new() };
            let missing: Vec<TermRef> =
                operands.iter().copied().filter(|operand| !self.memo.contains_key(operand)).collect();
            if missing.is_empty() {
                let rows = self.combine(term, &operands);
                self.memo.insert(term, rows);
            }
            pending.extend(missing);
        }
        self.memo[&root].clone()
    }

    fn combine(&self, term: TermRef, operands: &[TermRef]) -> Vec<bool> {
        let column = |index: usize| &self.memo[&operands[index]];
        let rows = 0..self.n_rows;
        match self.terms.kind(term) {
            TermKind::Not(_) => column(0).iter().map(|&holds| !holds).collect(),
            TermKind::And(_) => rows.map(|row| operands.iter().all(|o| self.memo[o][row])).collect(),
            TermKind::Or(_) => rows.map(|row| operands.iter().any(|o| self.memo[o][row])).collect(),
            TermKind::IfThenElse(..) if !operands.is_empty() => {
                rows.map(|row| column(if column(0)[row] { 1 } else { 2 })[row]).collect()
            }
            TermKind::Constant(value) => vec![*value == 1; self.n_rows],
            _ => match self.atoms.binary_search(&term) {
                Ok(index) => rows.map(|row| row >> index & 1 == 1).collect(),
                // A passage.
                Err(_) => vec![true; self.n_rows],
            },
        }
    }
}
