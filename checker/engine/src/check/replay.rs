//! Whether an execution that was found is one of a changed program, too, and does the same wrong there: no solver is asked.
//!
//! Events and unknowns of the two graphs are put side by side, thread by thread in program order; what one has and the other
//! has not is new or gone. The execution is carried over event by event, and what comes of it is evaluated against the model as
//! if it had been found there.
//!
//! Sound: what is said is that the changed program has this execution, and it is said only where the independent
//! [`recheck`] accepts it; how it was put together does not matter. Otherwise nothing is said.
//!
//! Needs: nothing.

mod guided;

use super::unrolled::{Unrolled, unrolled};
use super::{Config, phases, property_in};
use crate::bits::{BitMatrix, EventSet};
use crate::encode::goal::GoalKind;
use crate::event::cell::{Cells, add_initial_writes};
use crate::event::{
    AgentId, EventGraph, EventId, EventKind, LocationId, ObligationKind, UnknownId, UnknownKind, term,
};
use crate::facts::Facts;
use crate::verdict::{Finding, Property};
use crate::witness::recheck::{evaluate_terms, recheck};
use crate::witness::{Execution, Witness};
use crate::work::{self, Work};
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::index::Id as _;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::FenceSem;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::mem::{Discriminant, discriminant};

/// Pairs that are looked at to put two sequences side by side, once their common ends are taken off.
const PAIRS_MAX: usize = 250_000;
/// `fence.sc` that a change may leave without an order among themselves: each order of theirs is tried.
const FENCES_MAX: usize = 3;

/// How often values are let follow from values.
const ROUNDS_MAX: usize = 32;

/// What goes wrong in a changed program.
pub struct Shown {
    /// That.
    pub finding: Finding,
    /// Whether it is what went wrong before.
    pub is_same: bool,
}

/// A changed program, unrolled.
pub struct Changed<'a> {
    graph: EventGraph,
    cells: Cells,
    model: &'a MemoryModel,
    properties: Vec<Property>,
}

/// The events of a program; of one in which too much may happen to its mbarriers, those of one execution.
pub fn events(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    model: &MemoryModel,
    config: &Config,
) -> Option<EventGraph> {
    let mut facts = Facts::of(model, launch, config.treatment);
    let (of, allowance) = ((program, kernel, launch), config.allowance());
    let mut events = |config: &Config| unrolled(of, model, config, config.unroll, &allowance, &mut facts);
    let mut found = events(&phases::few(config));
    if phases::too_many(&found).is_some() {
        found = events(&phases::in_turns(config));
    }
    Some(found.ok()?.graph)
}

impl<'a> Changed<'a> {
    /// Up to the loop bound that `config` begins with; `None` where something else has to be said of it.
    pub fn new(
        program: &Program,
        kernel: &Kernel,
        launch: &Launch,
        model: &'a MemoryModel,
        config: &Config,
    ) -> Option<Self> {
        let mut facts = Facts::of(model, launch, config.treatment);
        let allowance = config.allowance();
        let of = (program, kernel, launch);
        let few = phases::few(config);
        let Unrolled { mut graph, .. } =
            unrolled(of, model, &few, config.unroll, &allowance, &mut facts).ok()?;
        let cells = add_initial_writes(&mut graph).ok()?;
        Some(Self { graph, cells, model, properties: config.properties.clone() })
    }

    /// Its events, with its initial writes.
    pub fn graph(&self) -> &EventGraph {
        &self.graph
    }

    /// What goes wrong in the program where it does the steps of an execution of the program as it was: that very execution, if
    /// it is one, or else one that is like it.
    pub fn shown(&self, before: &EventGraph, witness: &Witness) -> Option<Shown> {
        let side = Side::by_side(before, &self.graph)?;
        let claim = side.claim(before, &self.graph, &witness.claim);
        let carried = self.carried(&side, before, witness, claim.as_ref());
        let (witness, is_same) = match carried {
            Some(carried) => (carried, true),
            None => self.guided(&side, before, witness, claim.as_ref())?,
        };
        let property = property_in(&self.graph, self.model, &witness.claim);
        Some(Shown { finding: Finding { property, witness: Box::new(witness) }, is_same })
    }

    /// The execution as it is.
    fn carried(
        &self,
        side: &Side,
        before: &EventGraph,
        witness: &Witness,
        claim: Option<&GoalKind>,
    ) -> Option<Witness> {
        let claim = claim?;
        let execution = side.execution(before, self, &witness.execution)?;
        work::count(Work::Pair, self.graph.events.len());
        let rechecked = |fence_order| {
            let execution = Execution { fence_order, ..execution.clone() };
            recheck(&self.graph, &self.cells, self.model, execution, claim.clone()).ok()
        };
        self.fence_orders(&execution).into_iter().find_map(rechecked)
    }

    /// Lets what is read follow from what is written, and what happens from what is read, until nothing changes any more.
    fn settle(&self, execution: &mut Execution) -> Option<()> {
        let graph = &self.graph;
        for _ in 0..ROUNDS_MAX {
            let values = evaluate_terms(graph, execution);
            work::count(Work::Vertex, values.len());
            execution.executed =
                EventSet::from_fn(graph.events.len(), |event| values[graph.events[event].guard] == 1);
            let written = |write: EventId, piece: u32, location: LocationId| {
                let grain_bits = self.cells.grain_bytes[location] * 8;
                let value = graph.events[write].kind.access().map_or(0, |access| values[access.value]);
                value.checked_shr(piece * grain_bits).unwrap_or(0)
                    & term::mask(u8::try_from(grain_bits).unwrap_or(128))
            };
            let mut changes = false;
            for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
                let value = match unknown.kind {
                    UnknownKind::Read(read) => {
                        let Some(pieces) = execution.sources.get(&read) else { continue };
                        let Some(access) = graph.events[read].kind.access() else { continue };
                        let grain_bits = self.cells.grain_bytes[access.location] * 8;
                        let parts = (0_u32..).zip(pieces).map(|(at, &(write, piece))| {
                            written(write, piece, access.location).checked_shl(at * grain_bits).unwrap_or(0)
                        });
                        parts.fold(0, |whole, part| whole | part)
                    }
                    UnknownKind::FinalValue { location, offset_bytes, width_bytes } => {
                        let grain = self.cells.grain_bytes[location];
                        let parts = (0..width_bytes / grain).map(|piece| {
                            let byte = u128::from(offset_bytes + piece * grain);
                            let covers = |&event: &EventId| {
                                let kind = &graph.events[event].kind;
                                let is_write = matches!(kind, EventKind::Write(_) | EventKind::Init(_));
                                is_write
                                    && execution.executed.contains(event)
                                    && kind.access().is_some_and(|access| {
                                        let first = values[access.offset];
                                        access.location == location
                                            && (first..first + u128::from(access.width_bytes)).contains(&byte)
                                    })
                            };
                            let all: Vec<EventId> = graph.events.ids().filter(covers).collect();
                            let is_last = |&&write: &&EventId| {
                                !all.iter().any(|&later| execution.coherence.contains(write, later))
                            };
                            let last = all.iter().find(is_last)?;
                            let access = graph.events[*last].kind.access()?;
                            let from = u32::try_from(byte - values[access.offset]).ok()? / grain;
                            Some(written(*last, from, location).checked_shl(piece * grain * 8).unwrap_or(0))
                        });
                        let Some(parts) = parts.collect::<Option<Vec<u128>>>() else { continue };
                        parts.into_iter().fold(0, |whole, part| whole | part)
                    }
                    _ => match graph.terms.definition(id) {
                        Some(definition) => values[definition],
                        None => continue,
                    },
                };
                changes |= execution.unknowns[id] != value;
                execution.unknowns[id] = value;
            }
            if !changes {
                return Some(());
            }
        }
        None
    }

    /// The Fence-SC orders that are tried: that of the execution, and where it leaves fences out, those that have them.
    fn fence_orders(&self, execution: &Execution) -> Vec<BitMatrix> {
        let is_sc = |&event: &EventId| {
            matches!(self.graph.events[event].kind, EventKind::Fence { sem: FenceSem::Sc, .. })
        };
        let order = &execution.fence_order;
        let fences: Vec<EventId> = execution.executed.iter().filter(is_sc).collect();
        let pairs = fences.iter().flat_map(|&a| fences.iter().map(move |&b| (a, b)));
        let is_open = |&(a, b): &(EventId, EventId)| a < b && !order.contains(a, b) && !order.contains(b, a);
        let open: Vec<(EventId, EventId)> = pairs.filter(is_open).collect();
        if open.is_empty() {
            return vec![order.clone()];
        }
        if open.len() > FENCES_MAX {
            return Vec::new();
        }
        // Those of other scopes need none, and the order must not have what it need not: both are tried.
        let mut orders = vec![order.clone()];
        for choice in 0..1_u32 << open.len() {
            let mut with = order.clone();
            for (at, &(a, b)) in open.iter().enumerate() {
                let (a, b) = if choice >> at & 1 == 0 { (a, b) } else { (b, a) };
                with.insert(a, b);
            }
            orders.push(with);
        }
        orders
    }
}

/// What in the other graph is what in this one.
type Map<I> = IndexVec<I, Option<I>>;

/// What of one graph is what of the other.
struct Side {
    events: Map<EventId>,
    /// Events of the changed graph that come at another place of their thread.
    moved: EventSet,
    /// From the changed graph to the one before.
    unknowns: Map<UnknownId>,
    agents: Map<AgentId>,
}

/// What an event is like, whatever orders it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Likeness {
    kind: Discriminant<EventKind>,
    access: Option<(LocationId, u32)>,
}

fn likeness(graph: &EventGraph, event: EventId) -> Likeness {
    let kind = &graph.events[event].kind;
    Likeness {
        kind: discriminant(kind),
        access: kind.access().map(|access| (access.location, access.width_bytes)),
    }
}

/// What an unknown stands for, in the words of the graph before.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Meaning {
    Of(UnknownKind),
    Like(Discriminant<UnknownKind>),
    /// Of an event that is new, or gone.
    Other(UnknownId),
}

impl Side {
    /// `None` where the two have other threads or objects.
    fn by_side(before: &EventGraph, after: &EventGraph) -> Option<Self> {
        let (old, new) = (&before.hierarchy, &after.hierarchy);
        let names = |graph: &EventGraph| -> Vec<String> {
            graph.locations.iter().map(|location| location.name.to_string()).collect()
        };
        if old.n_threads() != new.n_threads() || names(before) != names(after) {
            return None;
        }
        let mut agents: Map<AgentId> = IndexVec::repeat(None, old.threads.len());
        let by_issuer = |graph: &EventGraph| {
            let mut all: SortedMap<AgentId, Vec<AgentId>> = SortedMap::new();
            for agent in graph.hierarchy.threads.ids() {
                match graph.hierarchy.operation(agent) {
                    Some(operation) => all.entry(operation.issuer).or_default().push(agent),
                    None => all.entry(agent).or_default().insert(0, agent),
                }
            }
            all
        };
        let mut others = by_issuer(after);
        for (issuer, own) in by_issuer(before) {
            let theirs = others.remove(&issuer).unwrap_or_default();
            let sort = |graph: &EventGraph, agent| graph.hierarchy.operation(agent).map(|own| own.sort);
            let [a, b] = [(before, &own), (after, &theirs)]
                .map(|(graph, all)| all.iter().map(|&agent| sort(graph, agent)).collect::<Vec<_>>());
            for (i, j) in aligned(&a, &b)? {
                agents[own[i]] = Some(theirs[j]);
            }
        }
        let (events, moved) = events_by_side(before, after, &agents)?;
        let unknowns = unknowns_by_side(before, after, (&events, &agents))?;
        Some(Self { events, moved, unknowns, agents })
    }

    /// What is claimed, of the changed graph.
    fn claim(&self, before: &EventGraph, after: &EventGraph, claim: &GoalKind) -> Option<GoalKind> {
        Some(match claim {
            GoalKind::Flag { flag, pair: (a, b) } => {
                GoalKind::Flag { flag: *flag, pair: (self.events[*a]?, self.events[*b]?) }
            }
            GoalKind::Obligation(index) => {
                let agent = self.agents[before.obligations[*index].agent]?;
                let of = |graph: &EventGraph, agent: AgentId| -> Vec<usize> {
                    let own = graph.obligations.iter().enumerate();
                    own.filter(|(_, obligation)| obligation.agent == agent).map(|(index, _)| index).collect()
                };
                let like = |graph: &EventGraph, all: &[usize]| -> Vec<(u8, &'static str)> {
                    let of = |&index: &usize| match &graph.obligations[index].kind {
                        ObligationKind::Assertion => (0, ""),
                        ObligationKind::Bounds { .. } => (1, ""),
                        ObligationKind::Discipline(misuse) => (2, misuse.code()),
                    };
                    all.iter().map(of).collect()
                };
                let own = of(before, before.obligations[*index].agent);
                let theirs = of(after, agent);
                let place = own.iter().position(|own| own == index)?;
                let pairs = aligned(&like(before, &own), &like(after, &theirs))?;
                let (_, there) = pairs.into_iter().find(|&(here, _)| here == place)?;
                GoalKind::Obligation(theirs[there])
            }
            GoalKind::Final(index) if after.finals.len() == before.finals.len() => GoalKind::Final(*index),
            GoalKind::Deadlock | GoalKind::NotResident => claim.clone(),
            GoalKind::Final(_) | GoalKind::Condition | GoalKind::Completion => return None,
        })
    }

    /// The execution, carried over: who reads from whom stays, and what is read with it. `None` where the changed program does
    /// what nobody has chosen anything for.
    fn execution(&self, before: &EventGraph, changed: &Changed<'_>, of: &Execution) -> Option<Execution> {
        let after = &changed.graph;
        let unknowns = after.terms.unknowns().iter_enumerated().map(|(id, unknown)| {
            let known = self.unknowns[id].map(|old| of.unknowns[old]);
            // Who comes to what is new gets past it.
            let new = || if unknown.kind == UnknownKind::Passes { 1 } else { unknown.min };
            known.unwrap_or_else(new)
        });
        let n = after.events.len();
        let mut execution = Execution {
            executed: EventSet::empty(n),
            unknowns: unknowns.collect(),
            sources: SortedMap::new(),
            coherence: self.carried(n, &of.coherence),
            fence_order: self.carried(n, &of.fence_order),
            turns: None,
        };
        for (&read, pieces) in &of.sources {
            let Some(read) = self.events[read] else { continue };
            let carried: Option<Vec<(EventId, u32)>> =
                pieces.iter().map(|&(write, piece)| Some((self.events[write]?, piece))).collect();
            execution.sources.insert(read, carried?);
        }
        changed.settle(&mut execution)?;
        let mut is_known = EventSet::empty(n);
        for (old, new) in self.events.iter_enumerated() {
            if let Some(new) = *new
                && (of.executed.contains(old) || matches!(before.events[old].kind, EventKind::Init(_)))
            {
                is_known.insert(new);
            }
        }
        let is_new = |event: EventId| {
            let kind = &after.events[event].kind;
            kind.access().is_some() && !matches!(kind, EventKind::Init(_)) && !is_known.contains(event)
        };
        if execution.executed.iter().any(is_new) {
            return None;
        }
        let happens = execution.executed.clone();
        execution.sources.retain(|&read, _| happens.contains(read));
        let both = BitMatrix::product(&happens, &happens);
        execution.coherence = execution.coherence.intersection(&both);
        execution.fence_order = execution.fence_order.intersection(&both);
        Some(execution)
    }

    fn carried(&self, n: usize, order: &BitMatrix) -> BitMatrix {
        let pair = |(a, b): (EventId, EventId)| Some((self.events[a]?, self.events[b]?));
        BitMatrix::from_pairs(n, order.pairs().filter_map(pair).collect())
    }
}

fn events_by_side(
    before: &EventGraph,
    after: &EventGraph,
    agents: &Map<AgentId>,
) -> Option<(Map<EventId>, EventSet)> {
    let mut events: Map<EventId> = IndexVec::repeat(None, before.events.len());
    let mut moved = EventSet::empty(after.events.len());
    let by_agent = |graph: &EventGraph| {
        let mut all: SortedMap<AgentId, Vec<EventId>> = SortedMap::new();
        for (id, event) in graph.events.iter_enumerated() {
            if let Some(agent) = event.agent {
                all.entry(agent).or_default().push(id);
            }
        }
        all
    };
    let others = by_agent(after);
    for (agent, own) in by_agent(before) {
        let theirs = agents[agent].and_then(|agent| others.get(&agent)).map_or(&[][..], Vec::as_slice);
        let likes = |graph: &EventGraph, all: &[EventId]| -> Vec<Likeness> {
            all.iter().map(|&event| likeness(graph, event)).collect()
        };
        let (old, new) = (likes(before, &own), likes(after, theirs));
        let pairs = aligned(&old, &new)?;
        let n_aligned = pairs.len();
        for (number, (i, j)) in with_moved(pairs, &old, &new, |_| true).into_iter().enumerate() {
            events[own[i]] = Some(theirs[j]);
            if number >= n_aligned {
                moved.insert(theirs[j]);
            }
        }
    }
    // Of nobody: starts, ends, and what memory holds at first.
    let place = |graph: &EventGraph, kind: &EventKind| match kind {
        EventKind::Init(access) => {
            let offset = graph.terms.constant_value(access.offset);
            (None, Some((access.location, offset, access.width_bytes)))
        }
        kind => (Some(format!("{kind:?}")), None),
    };
    let of_nobody = |graph: &EventGraph| {
        let own = graph.events.iter_enumerated().filter(|(_, event)| event.agent.is_none());
        own.map(|(id, event)| (place(graph, &event.kind), id)).collect::<Vec<_>>()
    };
    let others: SortedMap<_, EventId> = of_nobody(after).into_iter().collect();
    for (place, own) in of_nobody(before) {
        events[own] = others.get(&place).copied();
    }
    Some((events, moved))
}

fn unknowns_by_side(
    before: &EventGraph,
    after: &EventGraph,
    (events, agents): (&Map<EventId>, &Map<AgentId>),
) -> Option<Map<UnknownId>> {
    let mut back: Map<EventId> = IndexVec::repeat(None, after.events.len());
    for (old, new) in events.iter_enumerated() {
        if let Some(new) = *new {
            back[new] = Some(old);
        }
    }
    let mut agent_back: Map<AgentId> = IndexVec::repeat(None, after.hierarchy.threads.len());
    for (old, new) in agents.iter_enumerated() {
        if let Some(new) = *new {
            agent_back[new] = Some(old);
        }
    }
    let meaning = |id: UnknownId, kind: &UnknownKind, is_after: bool| {
        let event = |event: EventId| if is_after { back[event] } else { events[event].map(|_| event) };
        let agent = |agent: AgentId| if is_after { agent_back[agent] } else { agents[agent].map(|_| agent) };
        let named = match *kind {
            UnknownKind::Read(read) => event(read).map(UnknownKind::Read),
            UnknownKind::ReadsLast(read) => event(read).map(UnknownKind::ReadsLast),
            UnknownKind::ReadsPromised(read) => event(read).map(UnknownKind::ReadsPromised),
            UnknownKind::Spins(of) => agent(of).map(UnknownKind::Spins),
            UnknownKind::Triggers(of) => agent(of).map(UnknownKind::Triggers),
            UnknownKind::Initial { .. } | UnknownKind::FinalValue { .. } | UnknownKind::Starts(_) => {
                Some(kind.clone())
            }
            _ => return Meaning::Like(discriminant(kind)),
        };
        named.map_or(Meaning::Other(id), Meaning::Of)
    };
    let all = |graph: &EventGraph, is_after: bool| -> Vec<Meaning> {
        let unknowns = graph.terms.unknowns().iter_enumerated();
        unknowns.map(|(id, unknown)| meaning(id, &unknown.kind, is_after)).collect()
    };
    let mut unknowns: Map<UnknownId> = IndexVec::repeat(None, after.terms.unknowns().len());
    let (old, new) = (all(before, false), all(after, true));
    for (i, j) in with_moved(aligned(&old, &new)?, &old, &new, |of| matches!(of, Meaning::Of(_))) {
        if !matches!(old[i], Meaning::Other(_)) {
            unknowns[UnknownId::from_index(j)] = Some(UnknownId::from_index(i));
        }
    }
    Some(unknowns)
}

/// Two sequences side by side: pairs of places of equals, ascending, as many as there can be.
fn aligned<T: PartialEq>(a: &[T], b: &[T]) -> Option<Vec<(usize, usize)>> {
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a_rest, b_rest) = (&a[start..], &b[start..]);
    let end = a_rest.iter().rev().zip(b_rest.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a_mid, b_mid) = (&a_rest[..a_rest.len() - end], &b_rest[..b_rest.len() - end]);
    let mut pairs: Vec<(usize, usize)> = (0..start).map(|i| (i, i)).collect();
    if !a_mid.is_empty() && !b_mid.is_empty() {
        let (rows, columns) = (a_mid.len() + 1, b_mid.len() + 1);
        if rows.saturating_mul(columns) > PAIRS_MAX {
            return None;
        }
        work::count(Work::Vertex, rows * columns);
        // The most pairs of what comes from a place on.
        let mut most = vec![0_u32; rows * columns];
        for i in (0..a_mid.len()).rev() {
            for j in (0..b_mid.len()).rev() {
                most[i * columns + j] = if a_mid[i] == b_mid[j] {
                    most[(i + 1) * columns + j + 1] + 1
                } else {
                    most[(i + 1) * columns + j].max(most[i * columns + j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < a_mid.len() && j < b_mid.len() {
            if a_mid[i] == b_mid[j] {
                pairs.push((start + i, start + j));
                (i, j) = (i + 1, j + 1);
            } else if most[(i + 1) * columns + j] >= most[i * columns + j + 1] {
                i += 1;
            } else {
                j += 1;
            }
        }
    }
    let (a_end, b_end) = (a.len() - end, b.len() - end);
    pairs.extend((0..end).map(|i| (a_end + i, b_end + i)));
    Some(pairs)
}

/// The pairs, and besides those that are left of each kind, in their order: what has moved.
fn with_moved<T: Eq + Hash>(
    mut pairs: Vec<(usize, usize)>,
    a: &[T],
    b: &[T],
    can_move: impl Fn(&T) -> bool,
) -> Vec<(usize, usize)> {
    let (mut in_a, mut in_b) = (vec![false; a.len()], vec![false; b.len()]);
    for &(i, j) in &pairs {
        (in_a[i], in_b[j]) = (true, true);
    }
    let mut left: FxHashMap<&T, Vec<usize>> = FxHashMap::default();
    for j in (0..b.len()).rev().filter(|&j| !in_b[j] && can_move(&b[j])) {
        left.entry(&b[j]).or_default().push(j);
    }
    let moved = (0..a.len()).filter(|&i| !in_a[i]);
    let moved: Vec<(usize, usize)> = moved.filter_map(|i| Some((i, left.get_mut(&a[i])?.pop()?))).collect();
    pairs.extend(moved);
    pairs
}

#[cfg(test)]
mod tests {
    use super::{aligned, with_moved};

    #[test]
    fn what_has_moved_is_found() {
        let (a, b) = (['a', 'x', 'b', 'c'], ['a', 'b', 'c', 'x', 'y']);
        let pairs = with_moved(aligned(&a, &b).expect("it is short"), &a, &b, |_| true);
        assert_eq!(pairs, [(0, 0), (2, 1), (3, 2), (1, 3)]);
        let pairs = with_moved(aligned(&a, &b).expect("it is short"), &a, &b, |&c| c != 'x');
        assert_eq!(pairs.len(), 3);
    }

    #[test]
    fn sequences_are_put_side_by_side() {
        let of = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|text| text.chars().collect::<Vec<_>>());
            aligned(&a, &b)
                .map(|pairs| pairs.into_iter().map(|(i, j)| format!("{}{i}{j}", a[i])).collect::<Vec<_>>())
        };
        let all = |text: &str| Some(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("abc", "abc"), all("a00 b11 c22"));
        assert_eq!(of("abc", "abxc"), all("a00 b11 c23"));
        assert_eq!(of("abxyc", "ayc"), all("a00 y31 c42"));
        assert_eq!(of("aab", "ab"), all("a00 b21"));
        assert_eq!(of("xay", "zaw"), all("a11"));
        assert_eq!(of("", "abc"), all(""));
    }
}
