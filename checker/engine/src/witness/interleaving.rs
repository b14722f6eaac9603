//! One execution without a solver: the threads run in turns, and memory holds what was written last.
//!
//! Meant for the question whether anything completes at all, which straight-line barrier code answers by just running.
//! Every choice is the plain one: barriers complete, parameters and unknown memory take their smallest value, an await
//! looks again when others have run. Where that leads nowhere there may be an execution all the same, so `None` decides
//! nothing. Nor is what comes out taken on trust: it is a candidate like a decoded one, and the re-check has the word on
//! it.

mod following;
mod guided;
mod loose;
mod phases;
mod standing;

pub use following::{Given, complete};
pub use guided::{Guide, guided};

use super::Execution;
use super::recheck::evaluate_terms;
use crate::bits::{BitMatrix, EventSet};
use crate::event::cell::Cells;
use crate::event::results::barrier_results;
use crate::event::support::Supports;
use crate::event::term::mask;
use crate::event::{
    Access, AgentId, Bundle, Event, EventGraph, EventId, EventKind, GridEvent, LocationId, Role, TermKind,
    TermPool, TermRef, UnknownId, UnknownKind,
};
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::FenceSem;
use following::Following;
use guided::Guided;
use loose::Loose;
use phases::Phases;
use rustc_hash::{FxHashMap, FxHashSet};

/// Runs the threads in turns; `None` if they get stuck or something is not settled by running.
pub fn interleave(graph: &EventGraph, cells: &Cells) -> Option<Execution> {
    let mut machine = Machine::new(graph, cells);
    machine.initialise()?;
    machine.run()?;
    machine.finish()
}

/// The same where each CTA waits until those before it get no further: who polls for what another does comes late enough to need
/// few rounds.
pub fn interleave_ctas(graph: &EventGraph, cells: &Cells) -> Option<Execution> {
    let mut machine = Machine::new(graph, cells);
    machine.runs_by_cta = true;
    machine.initialise()?;
    machine.run()?;
    machine.finish()
}

/// The same where those that get stuck may wait for ever, and the others run on.
pub fn interleave_or_stand(graph: &EventGraph, cells: &Cells) -> Option<Execution> {
    let mut machine = Machine::new(graph, cells);
    machine.may_stand = true;
    machine.initialise()?;
    machine.run()?;
    let any_stands = machine.any_stands;
    let execution = machine.finish()?;
    Some(if any_stands { execution.without_what_is_cut(graph) } else { execution })
}

/// A cell of memory.
type Cell = (LocationId, u32);

/// What a cell holds: the write, which piece of it, and that piece's value.
#[derive(Clone, Copy)]
struct Held {
    write: EventId,
    piece: u32,
    value: u128,
}

/// What came of an event.
enum Step {
    Done,
    /// Others have to run first.
    Blocked,
}

struct Machine<'a> {
    graph: &'a EventGraph,
    cells: &'a Cells,
    unknowns: IndexVec<UnknownId, Option<u128>>,
    values: IndexVec<TermRef, Option<u128>>,
    /// What barriers tell their threads.
    results: SortedMap<UnknownId, TermRef>,
    /// Terms in the order in which they got their values.
    trail: Vec<TermRef>,
    memory: FxHashMap<Cell, Held>,
    /// Writes of each cell, in order.
    written: SortedMap<Cell, Vec<EventId>>,
    /// Executed `fence.sc`, in order.
    fences: Vec<EventId>,
    executed: EventSet,
    /// The executed events of threads, in order.
    happened: Vec<EventId>,
    sources: SortedMap<EventId, Vec<(EventId, u32)>>,
    /// Per passage: arrivals of its instance still to come, those of one bundle counted once.
    n_missing: IndexVec<EventId, u32>,
    /// Per arrival: the passages that wait for it.
    waited_for_by: IndexVec<EventId, Vec<EventId>>,
    /// Per arrival: the bundles that it is in.
    in_bundles: IndexVec<EventId, Vec<usize>>,
    /// Arrivals and the passages that wait for all of them, and how many are still to come.
    bundles: Vec<(&'a Bundle, usize)>,
    /// Per read of an await: the constraints that its value has a part in.
    conditions: FxHashMap<EventId, Vec<TermRef>>,
    /// Of mbarriers.
    phases: Phases,
    /// Of barriers at which whoever comes first meets.
    loose: Loose,
    /// Whether threads may wait for ever, and whether any do.
    may_stand: bool,
    any_stands: bool,
    /// Whether each CTA waits until those before it get no further.
    runs_by_cta: bool,
    /// What each thread did last.
    last: FxHashMap<AgentId, EventId>,
    /// Where some of it is given.
    following: Option<Following<'a>>,
    /// Where it should be like another one.
    guided: Option<Guided<'a>>,
}

impl<'a> Machine<'a> {
    fn new(graph: &'a EventGraph, cells: &'a Cells) -> Self {
        let n = graph.events.len();
        let start = |kind: &UnknownKind, min| match kind {
            UnknownKind::Read(_)
            | UnknownKind::FinalValue { .. }
            | UnknownKind::Phase
            | UnknownKind::PendingCount
            | UnknownKind::Exchanged
            | UnknownKind::FinalPhase => None,
            UnknownKind::Passes
            | UnknownKind::TakesPart
            | UnknownKind::Precedes
            | UnknownKind::WaitResult
            | UnknownKind::Starts(_)
            | UnknownKind::Elected => Some(1),
            UnknownKind::Parameter
            | UnknownKind::Initial { .. }
            | UnknownKind::ReadsPromised(_)
            | UnknownKind::Spins(_)
            | UnknownKind::ReadsLast(_)
            | UnknownKind::Excess
            | UnknownKind::Completes
            | UnknownKind::Early
            | UnknownKind::ComesFirst
            | UnknownKind::Triggers(_)
            | UnknownKind::Response
            | UnknownKind::BarrierResult
            | UnknownKind::Uncomputed(_)
            | UnknownKind::Elsewhere => Some(min),
        };
        let results = barrier_results(graph);
        let mut unknowns: IndexVec<UnknownId, Option<u128>> =
            graph.terms.unknowns().iter().map(|u| start(&u.kind, u.min)).collect();
        results.keys().for_each(|&result| unknowns[result] = None);
        let mut n_missing = IndexVec::repeat(0, n);
        let mut waited_for_by: IndexVec<EventId, Vec<EventId>> = IndexVec::repeat(Vec::new(), n);
        // Which instance an edge with a condition belongs to is left to the re-check.
        let bases = [
            BaseRelation::BarrierSynchronization,
            BaseRelation::Signals,
            BaseRelation::Issue,
            BaseRelation::Completion,
        ];
        let single = bases.iter().flat_map(|&base| graph.edges.single(base));
        for edge in single.filter(|edge| edge.condition == TermPool::TRUE) {
            n_missing[edge.to] += 1;
            waited_for_by[edge.from].push(edge.to);
        }
        // Who waits for the lanes of its warp, whose memory is not ordered by that.
        let bases = bases.into_iter().chain([BaseRelation::ExitRelease]);
        let bundles: Vec<&Bundle> = bases.flat_map(|base| graph.edges.bundles(base)).collect();
        let mut in_bundles: IndexVec<EventId, Vec<usize>> = IndexVec::repeat(Vec::new(), n);
        for (number, bundle) in bundles.iter().enumerate() {
            bundle.from.iter().for_each(|&event| in_bundles[event].push(number));
            bundle.to.iter().for_each(|&event| n_missing[event] += 1);
        }
        let bundles = bundles.into_iter().map(|bundle| (bundle, bundle.from.len())).collect();
        Self {
            graph,
            cells,
            unknowns,
            results,
            values: IndexVec::repeat(None, graph.terms.n_terms()),
            trail: Vec::new(),
            memory: FxHashMap::default(),
            written: SortedMap::new(),
            fences: Vec::new(),
            executed: EventSet::empty(n),
            happened: Vec::new(),
            sources: SortedMap::new(),
            n_missing,
            waited_for_by,
            in_bundles,
            bundles,
            conditions: conditions(graph),
            phases: Phases::new(graph),
            loose: Loose::new(graph),
            may_stand: false,
            any_stands: false,
            runs_by_cta: false,
            last: FxHashMap::default(),
            following: None,
            guided: None,
        }
    }

    fn initialise(&mut self) -> Option<()> {
        self.settle_equalities();
        for (&cell, &event) in &self.cells.initial {
            let access = self.graph.events[event].kind.access()?;
            let value = self.value(access.value)?;
            self.memory.insert(cell, Held { write: event, piece: 0, value });
            self.written.entry(cell).or_default().push(event);
            self.executed.insert(event);
        }
        Some(())
    }

    /// Unknowns that a constraint gives a value that is known by now: phases of mbarriers.
    fn settle_equalities(&mut self) {
        let graph = self.graph;
        for constraint in &graph.constraints {
            let TermKind::Equal(a, b) = *graph.terms.kind(constraint.term) else { continue };
            for (a, b) in [(a, b), (b, a)] {
                if let Some(unknown) = self.unknown_of(a)
                    && matches!(
                        graph.terms.unknown(unknown).kind,
                        UnknownKind::Phase | UnknownKind::FinalPhase
                    )
                    && self.unknowns[unknown].is_none()
                {
                    self.unknowns[unknown] = self.value(b);
                }
            }
        }
    }

    /// What nothing that ran has asked for, and others say: masks that are only compared, results of rounds that nobody makes.
    fn settle_definitions(&mut self) {
        let terms = &self.graph.terms;
        for id in terms.unknowns().ids() {
            if self.unknowns[id].is_none()
                && let Some(definition) = terms.definition(id).or_else(|| self.results.get(&id).copied())
            {
                self.unknowns[id] = self.value(definition);
            }
        }
    }

    /// Runs each thread as far as it gets, again and again.
    fn run(&mut self) -> Option<()> {
        let mut threads: SortedMap<_, std::collections::VecDeque<EventId>> = SortedMap::new();
        for (id, event) in self.graph.events.iter_enumerated() {
            if let Some(agent) = event.agent {
                threads.entry(agent).or_default().push_back(id);
            }
        }
        let turns = self.order_of_turns();
        while !threads.is_empty() {
            let mut progress = self.next_step(&mut threads)?;
            for &turn in &turns {
                if progress {
                    break;
                }
                for events in threads.values_mut() {
                    while let Some(&event) = events.front()
                        && self.has_turn(event, turn)
                        && matches!(self.advance(event)?, Step::Done)
                    {
                        events.pop_front();
                        progress = true;
                    }
                }
            }
            threads.retain(|_, events| !events.is_empty());
            if !progress {
                let next: Vec<EventId> =
                    threads.values().filter_map(|events| events.front().copied()).collect();
                let goes_on = self.give_way(&next) || self.may_stand && self.stand(&next);
                if !goes_on {
                    return None;
                }
            }
        }
        self.close();
        self.settle_phases();
        self.settle_loose();
        self.settle_waits();
        self.live_ctas()?;
        self.settle_order();
        self.settle_definitions();
        Some(())
    }

    /// The starts and ends of grids and CTAs that happen.
    fn live_ctas(&mut self) -> Option<()> {
        for (id, event) in self.graph.events.iter_enumerated() {
            if event.agent.is_none()
                && matches!(event.kind, EventKind::CtaStart(_) | EventKind::CtaExit(_) | EventKind::Grid(_))
                && self.value(event.guard)? == 1
            {
                self.executed.insert(id);
            }
        }
        Some(())
    }

    /// A step; where some of it is given, or barriers tell what others have brought, what is not known yet may be once others have
    /// run.
    fn advance(&mut self, id: EventId) -> Option<Step> {
        self.get_past(id);
        let may_be_known_later =
            self.following.is_some() || self.guided.is_some() || !self.results.is_empty();
        self.step(id).or_else(|| may_be_known_later.then_some(Step::Blocked))
    }

    fn step(&mut self, id: EventId) -> Option<Step> {
        let event = &self.graph.events[id];
        let is_thread = |agent| !self.graph.hierarchy.is_operation(agent);
        if self.n_missing[id] > 0 && !event.agent.is_some_and(is_thread) && self.value(event.guard) != Some(0)
        {
            // Whether it is started at all is known once its thread has got there, or stands where it never does.
            return Some(Step::Blocked);
        }
        let happens = self.value(event.guard)? == 1;
        if !happens {
            // What an event that does not happen would have read matters to nobody.
            if let EventKind::Read(access) = &event.kind
                && let Some(unknown) = self.unknown_of(access.value)
            {
                self.unknowns[unknown].get_or_insert(self.graph.terms.unknown(unknown).min);
            }
        } else {
            if self.n_missing[id] > 0
                || self.is_early(id)
                || self.waits_for_warps(id)
                || self.waits_for_phase(id)?
            {
                return Some(Step::Blocked);
            }
            match &event.kind {
                EventKind::Read(access) => {
                    if matches!(self.read(id, access)?, Step::Blocked) {
                        return Some(Step::Blocked);
                    }
                }
                EventKind::Write(access) => self.write(id, access)?,
                EventKind::Fence { sem: FenceSem::Sc, .. } => self.fences.push(id),
                _ => {}
            }
            self.count(id)?;
            self.comes(id)?;
            self.executed.insert(id);
            self.happened.push(id);
            self.last.extend(event.agent.map(|agent| (agent, id)));
        }
        if !happens && self.stands_before(id) {
            // It may have come some other way, had its thread gone on.
            return Some(Step::Done);
        }
        for wait in std::mem::take(&mut self.waited_for_by[id]) {
            self.n_missing[wait] -= 1;
        }
        for bundle in std::mem::take(&mut self.in_bundles[id]) {
            let (bundle, n_missing) = &mut self.bundles[bundle];
            *n_missing -= 1;
            if *n_missing == 0 {
                bundle.to.iter().for_each(|&wait| self.n_missing[wait] -= 1);
            }
        }
        Some(Step::Done)
    }

    /// The cells of an access.
    fn cells(&mut self, access: &Access) -> Option<Vec<Cell>> {
        let grain = self.cells.grain_bytes[access.location];
        let start = u32::try_from(self.value(access.offset)?).ok()?;
        let first = start / grain;
        let n_pieces = self.cells.n_pieces(access);
        (start % grain == 0).then(|| (first..first + n_pieces).map(|cell| (access.location, cell)).collect())
    }

    fn grain_bits(&self, access: &Access) -> u32 {
        self.cells.grain_bytes[access.location] * 8
    }

    /// Forgets the values of terms that were found since the trail was so long.
    fn forget_since(&mut self, mark: usize) {
        for term in self.trail.split_off(mark) {
            self.values[term] = None;
        }
    }

    fn read(&mut self, id: EventId, access: &Access) -> Option<Step> {
        if let Some(following) = &self.following
            && let Some(sources) = following.sources(id)
        {
            self.sources.insert(id, sources.clone());
            return Some(Step::Done);
        }
        if self.guided.is_some() && matches!(self.read_from(id, access, Self::wished_or_held)?, Step::Done) {
            return Some(Step::Done);
        }
        self.read_from(id, access, |machine, _, _, cell| machine.memory.get(&cell).copied())
    }

    /// Lets a read return what is found for its pieces, unless it waits for something else.
    fn read_from(
        &mut self,
        id: EventId,
        access: &Access,
        held: impl Fn(&mut Self, EventId, usize, Cell) -> Option<Held>,
    ) -> Option<Step> {
        let unknown = self.unknown_of(access.value)?;
        let bits = self.grain_bits(access);
        let mut value = 0;
        let mut sources = Vec::new();
        for (piece, cell) in self.cells(access)?.into_iter().enumerate() {
            let held = held(self, id, piece, cell)?;
            value |= held.value << (u32::try_from(piece).ok()? * bits);
            sources.push((held.write, held.piece));
        }
        self.unknowns[unknown] = Some(value);
        if self.graph.events[id].role == Role::Await {
            let mark = self.trail.len();
            let wanted = self.conditions.get(&id).cloned().unwrap_or_default();
            // A constraint that other reads have a part in decides nothing yet.
            if wanted.iter().any(|&condition| self.value(condition) == Some(0)) {
                self.forget_since(mark);
                self.unknowns[unknown] = None;
                return Some(Step::Blocked);
            }
        }
        self.sources.insert(id, sources);
        Some(Step::Done)
    }

    fn write(&mut self, id: EventId, access: &Access) -> Option<()> {
        let bits = self.grain_bits(access);
        let value = self.value(access.value)?;
        for (piece, cell) in (0u32..).zip(self.cells(access)?) {
            let value = piece_of(value, piece, bits)?;
            self.memory.insert(cell, Held { write: id, piece, value });
            self.written.entry(cell).or_default().push(id);
        }
        Some(())
    }

    fn unknown_of(&self, term: TermRef) -> Option<UnknownId> {
        match self.graph.terms.kind(term) {
            TermKind::Unknown(unknown) => Some(*unknown),
            _ => None,
        }
    }

    /// The value of a term; `None` if it needs what is not known yet. What a connective or a choice does not need may be unknown:
    /// of rounds that a loop does not make nobody says what they would have read.
    fn value(&mut self, term: TermRef) -> Option<u128> {
        let terms = &self.graph.terms;
        let mut stack = vec![term];
        // Those that are not known, and those of which the operands are looked at: around in a circle, who waits for one another
        // gets nothing.
        let mut missing: FxHashSet<TermRef> = FxHashSet::default();
        let mut open: FxHashSet<TermRef> = FxHashSet::default();
        while let Some(&top) = stack.last() {
            if self.values[top].is_some() || missing.contains(&top) {
                stack.pop();
                continue;
            }
            let mut operands = terms.operands(top);
            if let TermKind::Unknown(unknown) = terms.kind(top)
                && self.unknowns[*unknown].is_none()
            {
                operands.extend(terms.definition(*unknown).or_else(|| self.results.get(unknown).copied()));
            }
            let known = |operand: TermRef| self.values[operand];
            let decided = match *terms.kind(top) {
                TermKind::And(_) => operands.iter().any(|&own| known(own) == Some(0)).then_some(0),
                TermKind::Or(_) => operands.iter().any(|&own| known(own) == Some(1)).then_some(1),
                TermKind::IfThenElse(condition, then, otherwise) => {
                    known(condition).and_then(|holds| known(if holds == 1 { then } else { otherwise }))
                }
                _ => None,
            };
            if decided.is_none() && open.insert(top) {
                let n_before = stack.len();
                let is_new = |operand: &TermRef| {
                    known(*operand).is_none() && !missing.contains(operand) && !open.contains(operand)
                };
                stack.extend(operands.iter().copied().filter(is_new));
                if stack.len() > n_before {
                    continue;
                }
            }
            let value = decided.or_else(|| {
                let values: Option<Vec<u128>> =
                    operands.iter().map(|&operand| self.values[operand]).collect();
                let values = values?;
                let of_unknown = match (terms.kind(top), values.as_slice()) {
                    (TermKind::Unknown(unknown), &[defined]) => *self.unknowns[*unknown].insert(defined),
                    (TermKind::Unknown(unknown), _) => self.unknowns[*unknown]?,
                    _ => 0,
                };
                Some(terms.apply(top, &values, |_| of_unknown))
            });
            match value {
                Some(value) => {
                    self.values[top] = Some(value);
                    self.trail.push(top);
                }
                None => _ = missing.insert(top),
            }
            stack.pop();
        }
        self.values[term]
    }

    /// When each event happened: what starts grids and CTAs and initial writes first, what ends them last.
    fn turns(&self) -> IndexVec<EventId, u32> {
        let ids = || self.graph.events.ids().filter(|&id| self.graph.events[id].agent.is_none());
        let ends = |id: EventId| {
            matches!(self.graph.events[id].kind, EventKind::CtaExit(_) | EventKind::Grid(GridEvent::End(_)))
        };
        let first = ids().filter(|&id| !ends(id));
        let order = first.chain(self.happened.iter().copied()).chain(ids().filter(|&id| ends(id)));
        let mut turns = IndexVec::repeat(0, self.graph.events.len());
        for (turn, id) in (1..).zip(order) {
            turns[id] = turn;
        }
        turns
    }

    /// Final values, and the orders as relations.
    fn finish(mut self) -> Option<Execution> {
        self.settle_equalities();
        let graph = self.graph;
        for (id, unknown) in graph.terms.unknowns().iter_enumerated() {
            let UnknownKind::FinalValue { location, offset_bytes, width_bytes } = unknown.kind else {
                continue;
            };
            let grain = self.cells.grain_bytes[location];
            let mut value = 0;
            for piece in 0..width_bytes / grain {
                let held = self.memory.get(&(location, offset_bytes / grain + piece))?;
                value |= held.value << (piece * grain * 8);
            }
            self.unknowns[id] = Some(value);
        }
        let n = graph.events.len();
        let mut coherence = BitMatrix::empty(n);
        for writes in self.written.values() {
            let mut later = EventSet::empty(n);
            for &write in writes.iter().rev() {
                coherence.fill(&EventSet::from_iter(n, [write]), &later);
                later.insert(write);
            }
        }
        let fences = &self.fences;
        let later = |at: usize| fences[at + 1..].iter().map(move |&b| (fences[at], b));
        let fences = (0..fences.len()).flat_map(later).filter(|&(a, b)| are_mutual(graph, a, b)).collect();
        let mut fence_order = BitMatrix::from_pairs(n, fences);
        if let Some(following) = &self.following {
            (coherence, fence_order) = (following.coherence(&coherence), following.fence_order(&fence_order));
        }
        Some(Execution {
            turns: Some(self.turns()),
            fence_order,
            coherence,
            executed: self.executed,
            unknowns: self
                .unknowns
                .iter_enumerated()
                .map(|(id, value)| value.unwrap_or(graph.terms.unknown(id).min))
                .collect(),
            sources: self.sources,
        })
    }
}

impl Execution {
    /// Without what those who stand for good began to do where they stand.
    fn without_what_is_cut(mut self, graph: &EventGraph) -> Self {
        let values = evaluate_terms(graph, &self);
        self.executed = EventSet::from_fn(graph.events.len(), |event| values[graph.events[event].guard] == 1);
        if self.executed != EventSet::full(graph.events.len()) {
            let all = BitMatrix::product(&self.executed, &self.executed);
            self.coherence = self.coherence.intersection(&all);
            self.fence_order = self.fence_order.intersection(&all);
            self.sources.retain(|&read, _| self.executed.contains(read));
        }
        self
    }
}

/// A piece of a value, of so many bits.
fn piece_of(value: u128, piece: u32, bits: u32) -> Option<u128> {
    Some(value >> (piece * bits) & mask(u8::try_from(bits).ok()?))
}

/// Whether two fences are in each other's scope.
fn are_mutual(graph: &EventGraph, a: EventId, b: EventId) -> bool {
    let (first, second) = (&graph.events[a], &graph.events[b]);
    let sees = |one: &Event, other: &Event| match (one.agent, other.agent, one.kind.scope()) {
        (Some(one), Some(other), Some(scope)) => graph.hierarchy.in_scope(one, other, scope),
        _ => false,
    };
    sees(first, second) && sees(second, first)
}

/// Per read of an await: the constraints that its value has a part in.
fn conditions(graph: &EventGraph) -> FxHashMap<EventId, Vec<TermRef>> {
    let mut conditions: FxHashMap<EventId, Vec<TermRef>> = FxHashMap::default();
    if graph.events.iter().all(|event| event.role != Role::Await) {
        return conditions;
    }
    let mut supports = Supports::default();
    for constraint in &graph.constraints {
        for &read in supports.reads(&graph.terms, constraint.term) {
            if graph.events[read].role == Role::Await {
                conditions.entry(read).or_default().push(constraint.term);
            }
        }
    }
    conditions
}
