//! Events that are interchangeable: threads of which any order is as good as any other.
//!
//! Contenders for a lock differ in nothing but their number. A renaming of threads (lanes, warps, CTAs, clusters, with the
//! objects that follow them) under which the graph and all that is asked of it stay the same leads from executions to
//! executions that reach the same goals. So of all orders in which such threads come to a word first, one is enough.
//!
//! Sound: let the events `k₁ … kₙ`, all writes of one cell, belong to units `u₁ … uₙ`, and let each swap of two neighbours
//! be a symmetry ([`invariant`]). Swaps of neighbours generate all permutations. Given an execution, let `σ` sort the units so
//! that those whose `k` happens come first, in an order that coherence does not contradict; there is one, since coherence
//! orders writes of one cell partially. `σ` leads to an execution that reaches goals with the same finding, in which
//! no `kⱼ` is coherence-before an earlier `kᵢ`, and `kᵢ` happens if a later one does. Executions that do not look so need
//! no clause's consent. Where only rotations are symmetries (each thread reads what the next wrote), `σ` turns a unit whose
//! `k` has no other before it into the first. Classes have no event in common, so sorting one leaves the order of another as it is.
//!
//! Nothing here is taken on trust: what looks alike is only a guess, which [`invariant`] checks event by event, term by
//! term and pair by pair.
//!
//! Needs: [`Need::Alike`](crate::facts::needs::Need::Alike). That coherence orders writes of one cell partially is so under any
//! model.

mod invariant;
mod renaming;

use crate::event::cell::Cells;
use crate::event::{AgentId, AtomicClass, Event, EventGraph, EventId, EventKind, Role};
use crate::relation::base::Basis;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::index::Id;
use fencepost_dsl::sorted::SortedMap;
use indexmap::IndexMap;
use renaming::{Renaming, Unit};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Two contenders have two orders; it is not worth the search.
const UNITS_MIN: usize = 3;

/// What is known of an order of writes of one cell by units that are alike, one of each, in the order of the units.
#[derive(Clone, Debug)]
pub struct Class {
    /// The writes.
    pub keys: Vec<EventId>,
    /// Whether any order is as good as any other; if not, then any of them may be the first.
    pub is_permutable: bool,
}

impl Class {
    /// Pairs of which the second does not come before the first, nor without it.
    pub fn ordered(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        let n_leading = if self.is_permutable { self.keys.len() } else { 1 };
        let pairs = move |at: usize| self.keys[at + 1..].iter().map(move |&later| (self.keys[at], later));
        (0..n_leading).flat_map(pairs)
    }

    /// Leaves out the orders that others stand for.
    pub fn order(&self, basis: &mut Basis) {
        for (first, later) in self.ordered() {
            basis.bounds_mut(BaseRelation::Coherence).may.remove(later, first);
        }
    }
}

/// States which events happen at all in the executions that stand for others. Whether it says anything.
pub fn represent(graph: &mut EventGraph, classes: &[Class]) -> bool {
    for class in classes {
        for at in 1..class.keys.len() {
            let first = class.keys[if class.is_permutable { at - 1 } else { 0 }];
            let (first, later) = (graph.events[first].guard, graph.events[class.keys[at]].guard);
            let ordered = graph.terms.implies(later, first);
            graph.representative.push(ordered);
        }
    }
    !graph.representative.is_empty()
}

/// The classes of a graph; no two have a unit in common.
pub fn classes(graph: &EventGraph, cells: &Cells, basis: &Basis) -> Vec<Class> {
    let mut classes = Vec::new();
    let mut taken: FxHashSet<AgentId> = FxHashSet::default();
    if basis.bounds(BaseRelation::Coherence).open().is_empty() {
        return classes;
    }
    let events = events_of_agents(graph);
    for siblings in levels(graph) {
        let mut by_shape: IndexMap<Vec<Shape>, Vec<Unit>> = IndexMap::new();
        for agents in siblings {
            if agents.iter().any(|agent| taken.contains(agent)) {
                continue;
            }
            let unit = Unit::new(agents, &events);
            by_shape.entry(shape(graph, &unit)).or_default().push(unit);
        }
        for units in by_shape.into_values().filter(|units| units.len() >= UNITS_MIN) {
            let Some(key) = (0..units[0].events.len()).find(|&at| is_key(graph, basis, &units, at)) else {
                continue;
            };
            let keys = |units: &[Unit]| units.iter().map(|unit| unit.events[key]).collect();
            let (views, owners) = (invariant::Views::new(basis), renaming::owners(graph, &units));
            let symmetry = Symmetry { graph, cells, basis, views, owners, units };
            let mut known = Vec::new();
            for run in symmetry.runs() {
                known.extend(symmetry.units[run.clone()].iter().flat_map(|unit| unit.agents.iter().copied()));
                classes.push(Class { keys: keys(&symmetry.units[run]), is_permutable: true });
            }
            if known.is_empty() && symmetry.rotates() {
                known.extend(symmetry.units.iter().flat_map(|unit| unit.agents.iter().copied()));
                classes.push(Class { keys: keys(&symmetry.units), is_permutable: false });
            }
            taken.extend(known);
        }
    }
    classes
}

/// What of an event decides whether two are worth comparing.
type Shape = (Option<u32>, std::mem::Discriminant<EventKind>);

fn shape(graph: &EventGraph, unit: &Unit) -> Vec<Shape> {
    let of = |&event: &EventId| {
        let event = &graph.events[event];
        (event.site.map(|site| site.0), std::mem::discriminant(&event.kind))
    };
    unit.events.iter().map(of).collect()
}

/// Units that look alike.
struct Symmetry<'a> {
    graph: &'a EventGraph,
    cells: &'a Cells,
    basis: &'a Basis,
    views: invariant::Views,
    owners: renaming::Owners,
    units: Vec<Unit>,
}

impl Symmetry<'_> {
    fn is_symmetry(&self, moves: &[(usize, usize)]) -> bool {
        Renaming::moving(self.graph, self.cells, &self.owners, &self.units, moves).is_some_and(|renaming| {
            invariant::holds(self.graph, self.cells, self.basis, &self.views, &renaming)
        })
    }

    /// Stretches of neighbours that can be swapped.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        for at in 0..self.units.len() {
            if at + 1 < self.units.len() && self.is_symmetry(&[(at, at + 1), (at + 1, at)]) {
                continue;
            }
            if at + 1 - start >= UNITS_MIN {
                found.push(start..at + 1);
            }
            start = at + 1;
        }
        found
    }

    /// Whether each can take the place of the next, and the last that of the first.
    fn rotates(&self) -> bool {
        let n = self.units.len();
        self.is_symmetry(&(0..n).map(|at| (at, (at + 1) % n)).collect::<Vec<_>>())
    }
}

/// Whether the units' events of this number are writes of one cell, parts of atomics, whose order is open.
fn is_key(graph: &EventGraph, basis: &Basis, units: &[Unit], at: usize) -> bool {
    let cell = |unit: &Unit| match &graph.events[unit.events[at]] {
        // Failing tries say little about who is served when.
        Event { kind: EventKind::Write(access), role: Role::Plain | Role::Await, .. }
            if access.atomic != AtomicClass::None =>
        {
            let offset = graph.terms.constant_value(access.offset)?;
            Some((access.location, offset, access.width_bytes))
        }
        _ => None,
    };
    let Some(first) = cell(&units[0]) else { return false };
    let coherence = basis.bounds(BaseRelation::Coherence);
    let is_open = |a: &Unit, b: &Unit| {
        let (a, b) = (a.events[at], b.events[at]);
        coherence.may.contains(a, b) && coherence.may.contains(b, a)
    };
    units.iter().all(|unit| cell(unit) == Some(first))
        && units.windows(2).all(|pair| is_open(&pair[0], &pair[1]))
}

/// The events of each agent, operations with those of the thread that started them.
fn events_of_agents(graph: &EventGraph) -> FxHashMap<AgentId, Vec<(AgentId, Vec<EventId>)>> {
    let mut own: SortedMap<AgentId, Vec<EventId>> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        if let Some(agent) = event.agent {
            own.entry(agent).or_default().push(id);
        }
    }
    let mut by_thread: FxHashMap<AgentId, Vec<(AgentId, Vec<EventId>)>> = FxHashMap::default();
    for agent in (0..graph.hierarchy.threads.len()).map(AgentId::from_index) {
        let events = own.remove(&agent).unwrap_or_default();
        by_thread.entry(graph.hierarchy.issuer(agent)).or_default().push((agent, events));
    }
    by_thread
}

/// Units that stand side by side, the largest first: clusters of a grid, CTAs of a cluster, warps of a CTA, lanes of a warp.
fn levels(graph: &EventGraph) -> Vec<Vec<Vec<AgentId>>> {
    let hierarchy = &graph.hierarchy;
    let key = |agent: AgentId| {
        let grid = (hierarchy.grid_of(agent).0, hierarchy.threads[agent].gpu);
        let (cluster, cta) = (hierarchy.cluster_of(agent), hierarchy.cta_of(agent).0);
        let warp = hierarchy.warp_of(agent);
        [(grid, cluster), ((cluster, 0), cta), ((cta, 0), warp), ((warp, 0), agent.0)]
    };
    let mut found = Vec::new();
    for level in 0..4 {
        let mut siblings: SortedMap<(u32, u32), SortedMap<u32, Vec<AgentId>>> = SortedMap::new();
        for agent in hierarchy.agents() {
            let (parent, unit) = key(agent)[level];
            siblings.entry(parent).or_default().entry(unit).or_default().push(agent);
        }
        let groups = siblings.into_values().map(|units| units.into_values().collect::<Vec<_>>());
        found.extend(groups.filter(|units| units.len() >= UNITS_MIN));
    }
    found
}
