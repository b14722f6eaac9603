//! The chain that almost orders two racing accesses, and its first broken link.
//!
//! A chain follows program order, synchronization that works, and *attempts*: reads-from between threads (through
//! atomics) that carries a value but, for a reason to be named, no order. The names looked up in the model file are
//! `morally-strong`, `release-pattern`, `acquire-pattern` and `observation`; a model without them gets no chain. What
//! restricted fences order is looked up as `released` and `acquired`, which a model need not have.

use super::super::reason::{Nearby, Reason};
use crate::bits::{BitMatrix, EventSet};
use crate::event::{AtomicClass, EventGraph, EventId, EventKind};
use crate::relation::algebra::{Value, evaluate};
use crate::relation::execution::ExactBasis;
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel, TermId};
use fencepost_dsl::index::Id;
use fencepost_dsl::vocabulary::{FenceSem, Sem};
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What one step of a chain rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Program order.
    ProgramOrder,
    /// A barrier.
    Barrier,
    /// Synchronization through memory or Fence-SC order.
    Synchronizes,
    /// From an instruction to the asynchronous operation that it starts.
    Issue,
    /// From an asynchronous operation to an instruction by which a thread knows that it is done.
    Completion,
    /// A value passed on without order.
    Attempt,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// From.
    pub from: EventId,
    /// To.
    pub to: EventId,
    /// On what ground.
    pub kind: StepKind,
}

/// A way from one racing access to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// Its steps.
    pub steps: Vec<Step>,
    /// Write and read of the first attempt.
    pub broken: Option<(EventId, EventId)>,
    /// First operations of release patterns that end in that write and come after what is to be released.
    pub release_heads: Vec<EventId>,
    /// Last operations of acquire patterns that start with that read and come before what is to be acquired.
    pub acquire_tails: Vec<EventId>,
}

impl Chain {
    /// Number of attempts; the fewer the better.
    pub fn n_attempts(&self) -> usize {
        self.steps.iter().filter(|step| step.kind == StepKind::Attempt).count()
    }
}

/// How long a way is, without its near-step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Length {
    /// How often it goes on in another thread.
    pub hand_overs: u32,
    /// Its steps.
    pub steps: u32,
}

/// What an attempt costs, compared with 1 for a step that orders.
const ATTEMPT_COST: u32 = 1000;
/// … of two weak accesses: data that is passed on, hardly meant as a signal.
const DATA_COST: u32 = 5 * ATTEMPT_COST;

/// The relations of an execution that chains are made of.
pub struct Links<'a> {
    graph: &'a EventGraph,
    basis: &'a ExactBasis,
    morally_strong: BitMatrix,
    release_pattern: BitMatrix,
    acquire_pattern: BitMatrix,
    synchronizes: BitMatrix,
    /// From a restricted release, and to a restricted acquire, where the patterns are complete.
    restricted: [BitMatrix; 2],
    attempts: BitMatrix,
    backwards: OnceCell<Vec<(StepKind, BitMatrix)>>,
}

impl<'a> Links<'a> {
    /// Evaluates them; `None` if the model does not define them by these names.
    pub fn new(graph: &'a EventGraph, model: &MemoryModel, witness: &'a Witness) -> Option<Self> {
        let names = ["morally-strong", "release-pattern", "acquire-pattern", "observation"];
        let terms: Vec<TermId> = names.iter().filter_map(|name| definition(model, name)).collect();
        if terms.len() < names.len() {
            return None;
        }
        let values = evaluate(model, &witness.basis, &terms);
        let mut found = Vec::new();
        for &term in &terms {
            match values.get(term) {
                Some(Value::Relation(relation)) => found.push(relation.clone()),
                _ => return None,
            }
        }
        let [morally_strong, release_pattern, acquire_pattern, observation] = found.try_into().ok()?;
        let basis = &witness.basis;
        let signals = &basis.relations[&BaseRelation::Signals];
        let synchronizes = release_pattern
            .sequence(&observation.union(signals))
            .sequence(&acquire_pattern)
            .intersection(&morally_strong)
            .union(&basis.relations[&BaseRelation::FenceSc]);
        let reads_from = basis.relations[&BaseRelation::ReadsFrom].clone();
        let through_atomics = basis.relations[&BaseRelation::ReadModifyWrite].sequence(&reads_from);
        let longer = reads_from.sequence(&through_atomics.transitive_closure());
        let attempts =
            reads_from.union(&longer).union(signals).intersection(&basis.relations[&BaseRelation::External]);
        let restricted = ["released", "acquired"].map(|name| {
            defined(model, witness, name).unwrap_or_else(|| BitMatrix::empty(graph.events.len()))
        });
        Some(Self {
            graph,
            basis,
            morally_strong,
            release_pattern,
            acquire_pattern,
            synchronizes,
            restricted,
            attempts,
            backwards: OnceCell::new(),
        })
    }

    /// Takes values that were passed on for no attempts to order anything.
    pub fn forget(&mut self, is_none: impl Fn(EventId, EventId) -> bool) {
        let none: Vec<(EventId, EventId)> =
            self.attempts.pairs().filter(|&(from, to)| is_none(from, to)).collect();
        none.into_iter().for_each(|(from, to)| self.attempts.remove(from, to));
    }

    /// Whether a restricted fence is about what `access` accesses.
    fn covers(&self, fence: EventId, access: EventId) -> bool {
        self.basis.relations[&BaseRelation::Window].contains(access, fence)
    }

    /// Where restricted fences lead from an event, for the access that a chain starts with.
    fn restricted_steps(&self, from: EventId, start: EventId) -> Vec<EventId> {
        let [released, acquired] = &self.restricted;
        let mut ends: Vec<EventId> =
            acquired.successors(from).filter(|&fence| self.covers(fence, start)).collect();
        if self.covers(from, start) {
            ends.extend(released.successors(from));
        }
        ends
    }

    /// The restricted fences of one thread between two of its events.
    fn restricted_between(&self, after: EventId, before: EventId, releases: bool) -> Vec<EventId> {
        let order = &self.basis.relations[&BaseRelation::ProgramOrder];
        let wanted = |&event: &EventId| match self.graph.events[event].kind {
            EventKind::RestrictedFence(fence) => {
                fence.is_release() == releases
                    && order.contains(after, event)
                    && order.contains(event, before)
            }
            _ => false,
        };
        self.basis.executed.iter().filter(wanted).collect()
    }

    /// Whether some value on a chain is passed on by two weak accesses: data, hardly meant as a signal.
    pub fn passes_data(&self, chain: &Chain) -> bool {
        let mut attempts = chain.steps.iter().filter(|step| step.kind == StepKind::Attempt);
        attempts.any(|step| self.is_weak(step.from) && self.is_weak(step.to))
    }

    /// The cheapest chain from `earlier` to `later`: as few attempts as possible, then as few steps.
    pub fn chain(&self, earlier: EventId, later: EventId) -> Option<Chain> {
        self.chain_through(earlier, later, false)
    }

    /// What comes after an event by steps that order.
    pub fn ordered_after(&self, start: EventId) -> EventSet {
        let mut found = EventSet::empty(self.graph.events.len());
        let mut waiting = vec![start];
        while let Some(at) = waiting.pop() {
            for (step, _) in self.steps_from(at, start) {
                let orders = !matches!(step.kind, StepKind::Attempt | StepKind::Issue);
                if orders && !found.contains(step.to) {
                    found.insert(step.to);
                    waiting.push(step.to);
                }
            }
        }
        found
    }

    /// How far events are from one, by steps that order: behind it, or before it. `start` is where the way starts that they
    /// are on.
    pub fn lengths(&self, from: EventId, start: EventId, is_back: bool) -> Vec<Option<Length>> {
        let mut lengths: Vec<Option<Length>> = vec![None; self.graph.events.len()];
        let mut heap = BinaryHeap::from([Reverse((Length { hand_overs: 0, steps: 0 }, from))]);
        while let Some(Reverse((length, at))) = heap.pop() {
            if at != from && lengths[at.index()].is_some_and(|known| known < length) {
                continue;
            }
            let mut reached = |next: EventId, is_hand_over: bool| {
                let hand_overs = length.hand_overs + u32::from(is_hand_over);
                let longer = Length { hand_overs, steps: length.steps + 1 };
                if next != from && lengths[next.index()].is_none_or(|known| longer < known) {
                    lengths[next.index()] = Some(longer);
                    heap.push(Reverse((longer, next)));
                }
            };
            let is_hand_over = |kind| matches!(kind, StepKind::Barrier | StepKind::Synchronizes);
            if is_back {
                for (kind, before) in self.backwards() {
                    before.successors(at).for_each(|next| reached(next, is_hand_over(*kind)));
                }
                let [released, acquired] = &self.restricted;
                let fences = (self.graph.events.ids())
                    .filter(|&fence| released.contains(fence, at) && self.covers(fence, start));
                fences.for_each(|fence| reached(fence, true));
                if self.covers(at, start) {
                    let before = self.graph.events.ids().filter(|&event| acquired.contains(event, at));
                    before.for_each(|event| reached(event, true));
                }
            } else {
                for (step, _) in self.steps_from(at, start) {
                    if !matches!(step.kind, StepKind::Attempt | StepKind::Issue) {
                        reached(step.to, is_hand_over(step.kind));
                    }
                }
            }
        }
        lengths
    }

    /// The steps that order, backwards.
    fn backwards(&self) -> &[(StepKind, BitMatrix)] {
        self.backwards.get_or_init(|| {
            let relations = &self.basis.relations;
            let kinds = [
                (StepKind::ProgramOrder, &relations[&BaseRelation::ProgramOrder]),
                (StepKind::Barrier, &relations[&BaseRelation::BarrierSynchronization]),
                (StepKind::Synchronizes, &self.synchronizes),
                (StepKind::Completion, &relations[&BaseRelation::Completion]),
            ];
            kinds.into_iter().map(|(kind, relation)| (kind, relation.inverse())).collect()
        })
    }

    /// An asynchronous operation on the way from `earlier` to `later`, if completion carried what came before its start.
    pub fn operation_between(&self, earlier: EventId, later: EventId) -> Option<EventId> {
        let chain = self.chain_through(earlier, later, true)?;
        let mut between = chain.steps.iter().map(|step| step.to).filter(|&event| event != later);
        (chain.n_attempts() == 0).then(|| between.find(|&event| self.graph.is_of_operation(event))).flatten()
    }

    /// Some instruction by which a thread knows that the operation of an access is done.
    pub fn known_by(&self, access: EventId) -> Option<EventId> {
        let relations = &self.basis.relations;
        let direct = relations[&BaseRelation::Completion].successors(access).next();
        direct.or_else(|| {
            let mut signals = relations[&BaseRelation::ProgramOrder].successors(access);
            signals.find_map(|signal| relations[&BaseRelation::Signals].successors(signal).next())
        })
    }

    /// A chain that may lead through asynchronous operations if `through`, else only end or start with one.
    fn chain_through(&self, earlier: EventId, later: EventId, through: bool) -> Option<Chain> {
        let n = self.graph.events.len();
        let mut best: Vec<Option<(u32, Step)>> = vec![None; n];
        let mut heap = BinaryHeap::from([Reverse((0, earlier))]);
        while let Some(Reverse((cost, at))) = heap.pop() {
            if at == later {
                break;
            }
            if at != earlier && best[at.index()].is_some_and(|(known, _)| known < cost) {
                continue;
            }
            for (step, step_cost) in self.steps_from(at, earlier) {
                if step.kind == StepKind::Issue && step.to != later && !through {
                    continue;
                }
                let direct = step.kind == StepKind::Attempt && (step.from, step.to) == (earlier, later);
                let total = cost + step_cost;
                let known = best[step.to.index()].map_or(u32::MAX, |(known, _)| known);
                if !direct && step.to != earlier && total < known {
                    best[step.to.index()] = Some((total, step));
                    heap.push(Reverse((total, step.to)));
                }
            }
        }
        let mut steps = Vec::new();
        let mut at = later;
        while at != earlier {
            let (_, step) = best[at.index()]?;
            steps.push(step);
            at = step.from;
        }
        steps.reverse();
        let broken =
            steps.iter().find(|step| step.kind == StepKind::Attempt).map(|step| (step.from, step.to));
        Some(Chain { steps, broken, release_heads: Vec::new(), acquire_tails: Vec::new() })
    }

    fn steps_from(&self, from: EventId, start: EventId) -> Vec<(Step, u32)> {
        let relations = &self.basis.relations;
        let kinds = [
            (StepKind::ProgramOrder, &relations[&BaseRelation::ProgramOrder], 1),
            (StepKind::Barrier, &relations[&BaseRelation::BarrierSynchronization], 1),
            (StepKind::Synchronizes, &self.synchronizes, 1),
            (StepKind::Issue, &relations[&BaseRelation::Issue], 1),
            (StepKind::Completion, &relations[&BaseRelation::Completion], 1),
            (StepKind::Attempt, &self.attempts, ATTEMPT_COST),
        ];
        let restricted = self.restricted_steps(from, start).into_iter();
        let mut steps: Vec<(Step, u32)> =
            restricted.map(|to| (Step { from, to, kind: StepKind::Synchronizes }, 1)).collect();
        for (kind, relation, cost) in kinds {
            steps.extend(relation.successors(from).map(|to| {
                let is_data = kind == StepKind::Attempt && self.is_weak(from) && self.is_weak(to);
                (Step { from, to, kind }, if is_data { DATA_COST } else { cost })
            }));
        }
        steps
    }

    /// Why the first attempt of a chain carries no order; notes on `chain` the pattern ends found on the way.
    pub fn broken_link(&self, chain: &mut Chain) -> Option<Reason> {
        let at = chain.steps.iter().position(|step| step.kind == StepKind::Attempt)?;
        let Step { from: write, to: read, .. } = chain.steps[at];
        if let Some(reason) = self.broken_observation(write, read) {
            return Some(reason);
        }
        let program_order = |step: &&Step| step.kind == StepKind::ProgramOrder;
        let before = at.checked_sub(1).and_then(|i| chain.steps.get(i)).filter(program_order);
        let after = chain.steps.get(at + 1).filter(program_order);
        let start = before.map_or(write, |step| step.from);
        let end = after.map_or(read, |step| step.to);
        let order = &self.basis.relations[&BaseRelation::ProgramOrder];
        let heads = self.release_pattern.inverse();
        chain.release_heads = heads.successors(write).filter(|&p| order.contains(start, p)).collect();
        chain.acquire_tails =
            self.acquire_pattern.successors(read).filter(|&q| order.contains(q, end)).collect();
        let access = chain.steps[0].from;
        for (releases, found) in [(true, &mut chain.release_heads), (false, &mut chain.acquire_tails)] {
            let (from, to) = if releases { (start, write) } else { (read, end) };
            let restricted = self.restricted_between(from, to, releases);
            found.extend(restricted.iter().filter(|&&fence| self.covers(fence, access)));
            if let (true, Some(&fence)) = (found.is_empty(), restricted.first()) {
                return Some(Reason::NotCovered { fence, access });
            }
        }
        if before.is_some() && chain.release_heads.is_empty() {
            let nearby = self.nearby_release(chain, start, write);
            return Some(Reason::NoRelease { write, after: start, nearby });
        }
        if after.is_some() && chain.acquire_tails.is_empty() {
            match self.graph.events[read].kind.access().map(|access| access.atomic) {
                Some(AtomicClass::Reduction) => {
                    return Some(Reason::ReductionNeverAcquires { read });
                }
                Some(AtomicClass::Sink) => {
                    return Some(Reason::SinkNeverAcquires { read });
                }
                _ => {}
            }
            let nearby = self.nearby_acquire(read, end);
            return Some(Reason::NoAcquire { read, before: end, nearby });
        }
        let heads = if before.is_some() { chain.release_heads.clone() } else { vec![write] };
        let tails = if after.is_some() { chain.acquire_tails.clone() } else { vec![read] };
        heads.iter().find_map(|&p| tails.iter().find_map(|&q| self.scope_gap(p, q)))
    }

    /// The first reads-from of `write ->obs read` that is not morally strong.
    fn broken_observation(&self, write: EventId, read: EventId) -> Option<Reason> {
        for (from, to) in self.hops(write, read) {
            if self.morally_strong.contains(from, to) {
                continue;
            }
            if self.is_weak(from) {
                return Some(Reason::WeakLink { event: from, other: to });
            }
            if self.is_weak(to) {
                return Some(Reason::WeakLink { event: to, other: from });
            }
            return Some(self.scope_gap(from, to).unwrap_or(Reason::PartialLink { write: from, read: to }));
        }
        None
    }

    /// The reads-from pairs from `write` to `read` through as few atomics as possible.
    fn hops(&self, write: EventId, read: EventId) -> Vec<(EventId, EventId)> {
        let reads_from = &self.basis.relations[&BaseRelation::ReadsFrom];
        let atomic = &self.basis.relations[&BaseRelation::ReadModifyWrite];
        let mut routes = vec![vec![(write, write)]];
        let mut seen = vec![write];
        while !routes.is_empty() {
            let mut longer = Vec::new();
            for route in &routes {
                let at = route.last().map_or(write, |&(_, to)| to);
                for next in reads_from.successors(at) {
                    let mut route = route.clone();
                    if let Some(last) = route.last_mut() {
                        *last = (at, next);
                    }
                    if next == read {
                        return route;
                    }
                    for passed_on in atomic.successors(next) {
                        if !seen.contains(&passed_on) {
                            seen.push(passed_on);
                            let mut route = route.clone();
                            route.push((passed_on, passed_on));
                            longer.push(route);
                        }
                    }
                }
            }
            routes = longer;
        }
        Vec::new()
    }

    fn is_weak(&self, event: EventId) -> bool {
        self.graph.events[event].kind.access().is_some_and(|access| access.sem == Sem::Weak)
    }

    /// Which of two strong operations of different threads does not see the other.
    pub fn scope_gap(&self, a: EventId, b: EventId) -> Option<Reason> {
        scope_gap(self.graph, a, b)
    }

    fn nearby_release(&self, chain: &Chain, start: EventId, write: EventId) -> Option<Nearby> {
        let agent = self.graph.events[write].agent;
        let order = &self.basis.relations[&BaseRelation::ProgramOrder];
        let fences: Vec<EventId> = self.fences(&[FenceSem::Sc, FenceSem::AcqRel, FenceSem::Release]);
        let own = |event: &&EventId| self.graph.events[**event].agent == agent;
        if let Some(&fence) = fences.iter().filter(own).find(|&&fence| order.contains(write, fence)) {
            return Some(Nearby::TooLate(fence));
        }
        let on_the_way = |event: &&EventId| {
            let thread = self.graph.events[**event].agent;
            thread != agent
                && chain.steps.iter().any(|step| self.graph.events[step.from].agent == thread)
                && chain.steps.first().is_some_and(|first| order.contains(first.from, **event))
        };
        if let Some(&fence) = fences.iter().find(on_the_way) {
            return Some(Nearby::OtherThread(fence));
        }
        fences
            .iter()
            .filter(own)
            .find(|&&fence| order.contains(fence, start))
            .map(|&fence| Nearby::TooEarly(fence))
    }

    fn nearby_acquire(&self, read: EventId, end: EventId) -> Option<Nearby> {
        let agent = self.graph.events[read].agent;
        let order = &self.basis.relations[&BaseRelation::ProgramOrder];
        let fences: Vec<EventId> = self.fences(&[FenceSem::Sc, FenceSem::AcqRel, FenceSem::Acquire]);
        let own: Vec<EventId> =
            fences.iter().copied().filter(|&event| self.graph.events[event].agent == agent).collect();
        if let Some(&fence) = own.iter().find(|&&fence| order.contains(end, fence)) {
            return Some(Nearby::TooLate(fence));
        }
        own.iter().find(|&&fence| order.contains(fence, read)).map(|&fence| Nearby::TooEarly(fence))
    }

    fn fences(&self, sems: &[FenceSem]) -> Vec<EventId> {
        let wanted = |event: &EventId| matches!(&self.graph.events[*event].kind, EventKind::Fence { sem, .. } if sems.contains(sem));
        self.basis.executed.iter().filter(wanted).collect()
    }
}

/// A relation of an execution that a model defines by this name.
pub fn defined(model: &MemoryModel, witness: &Witness, name: &str) -> Option<BitMatrix> {
    let term = definition(model, name)?;
    match evaluate(model, &witness.basis, &[term]).get(term) {
        Some(Value::Relation(relation)) => Some(relation.clone()),
        _ => None,
    }
}

/// The latest top-level definition of a name.
fn definition(model: &MemoryModel, name: &str) -> Option<TermId> {
    model.definitions.iter().rev().find(|(own, _)| own == name).map(|&(_, term)| term)
}

/// Which of two strong operations of different threads does not see the other.
pub fn scope_gap(graph: &EventGraph, a: EventId, b: EventId) -> Option<Reason> {
    let (a_agent, b_agent) = (graph.events[a].agent?, graph.events[b].agent?);
    let needed = graph.hierarchy.common_scope(a_agent, b_agent);
    for (event, other, thread) in [(a, b, b_agent), (b, a, a_agent)] {
        if graph.events[event].kind.scope()? < needed {
            return Some(Reason::OutOfScope { event, other, thread, needed });
        }
    }
    None
}
