//! In which phases an operation on an mbarrier can happen, by counting.
//!
//! For every operation an interval of phases, narrowed until nothing changes. From below: what the thread knows to be
//! complete when it gets there, because it has waited for it, because it has met others at a barrier that had, or
//! because a phase it waited for needs arrivals or bytes whose threads had. From above: a phase cannot be complete before the
//! operation if the arrivals that could come before are too few, nor before bytes come without which those announced in it
//! are not balanced.
//!
//! Sound: each step only removes phases that no execution has, given that none before did. What a thread knows is of two
//! kinds. What is *ordered* before it, by base causality, comes before all that it does, since the operations on an object
//! are in one order, which contains causality (MB-20). Of what it was only *let through* by, whatever the sems on the way,
//! just the phases that waits have seen are known: not what the threads did besides.
//!
//! Needs: [`Need::PhasesInOrder`](crate::facts::needs::Need::PhasesInOrder). Asked after unrolling ([`crate::facts`]); where it
//! does not hold, the order of the operations is part of each execution (`MbarrierEncoding::Order`), and what is found here only
//! says which phase a wait is for.

use super::bytes::Bytes;
use super::crowd::Crowd;
use super::drops::Drops;
use super::past::Past;
use super::raised::Raised;
use super::seen::{Essential, Knowledge, SeenBy, meet, merge};
use crate::event::{AgentId, MbarrierId, TermPool, TermRef};
use crate::synchronization::barrier::{Arrival, PassedBarrier};
use crate::synchronization::log::{FinalPhase, MbarrierLog, Operation, OperationKind};
use fencepost_dsl::IndexVec;
use fencepost_dsl::sorted::SortedMap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Phases that are told apart.
pub const PHASES_MAX: u32 = 250;
/// Rounds at most; the intervals are sound after any number of them.
const ROUNDS_MAX: usize = 100;

/// Phases an operation can happen in, both ends included; empty if it cannot happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    pub first: u32,
    pub last: u32,
}

impl Interval {
    /// Of an operation that does not happen.
    pub const NEVER: Self = Self { first: 1, last: 0 };

    pub fn only(self) -> Option<u32> {
        (self.first == self.last).then_some(self.first)
    }
    pub fn contains(self, phase: u32) -> bool {
        (self.first..=self.last).contains(&phase)
    }
    pub fn is_empty(self) -> bool {
        self.first > self.last
    }
}

/// What is known of an object's counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct Expected {
    /// Whether there is an initialisation.
    pub is_initialised: bool,
    /// The least that a phase can expect before anything is dropped; several initialisations exclude one another.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Whether the tx-count is used.
    pub has_bytes: bool,
    /// Whether arrivals are dropped.
    pub has_drops: bool,
    /// Whether a phase can be made to expect more.
    pub has_raises: bool,
    /// Whether each of its waits acquires what each arrival that lets it through releases.
    pub publishes: bool,
}

/// An object, with what counting finds out about it.
pub struct Object {
    /// Which.
    pub id: MbarrierId,
    /// In order of threads, with the phases they can happen in.
    pub operations: Vec<(Operation, Interval)>,
    /// In parallel with the operations.
    pub seen: Vec<SeenBy>,
    /// Where all threads run in turns, the phases in which operations do happen; in parallel with them, too.
    pub told: Vec<Interval>,
    /// Its counts.
    pub expected: Expected,
}

/// What counting finds out.
pub struct Narrowed {
    /// Per operation.
    pub intervals: Vec<Interval>,
    /// Per operation.
    pub seen: Vec<SeenBy>,
    /// Per try on final memory: which phase a wait by parity waits for.
    pub passes: Vec<Option<u32>>,
    /// Whether no phase of an object can have more arrivals than it expects.
    pub is_never_full: IndexVec<MbarrierId, bool>,
}

/// The intervals of all operations, and what surely comes before each.
pub fn narrow(
    terms: &TermPool,
    log: &MbarrierLog,
    passed: &[PassedBarrier],
    expected: &IndexVec<MbarrierId, Expected>,
    drops: &Drops,
) -> Narrowed {
    let mut narrowing = Narrowing::new(terms, &log.operations, passed, expected);
    for _ in 0..ROUNDS_MAX {
        let n_before = narrowing.n_changes;
        narrowing.count_drops(drops);
        narrowing.raise();
        narrowing.count_drops(drops);
        narrowing.lower();
        if narrowing.n_changes == n_before {
            break;
        }
    }
    let mut seen = narrowing.seen_by_operations();
    let arrivals = narrowing.arrivals_in_phases();
    for (index, of_operation) in seen.iter_mut().enumerate() {
        of_operation.is_essential = narrowing.is_essential(index, &arrivals);
    }
    let passes = log.final_phases.iter().map(|last| narrowing.passes(last)).collect();
    let is_never_full = narrowing.is_never_full(&arrivals);
    Narrowed { intervals: narrowing.intervals, seen, passes, is_never_full }
}

/// What is known at a place.
#[derive(Clone, Default, PartialEq, Eq)]
struct Known {
    /// Phases whose completion is ordered before it.
    ordered: Knowledge,
    /// Phases that somebody had to see complete for the thread to get there.
    let_through: Knowledge,
}

impl Known {
    /// How many phases of an object are complete.
    fn phases_of(&self, object: MbarrierId) -> u32 {
        let of = |known: &Knowledge| known.get(&object).copied().unwrap_or(0);
        of(&self.ordered).max(of(&self.let_through))
    }

    fn merge(&mut self, other: &Self) {
        merge(&mut self.ordered, &other.ordered);
        merge(&mut self.let_through, &other.let_through);
    }

    /// What both know.
    fn met(&self, other: &Self) -> Self {
        Self {
            ordered: meet(&self.ordered, &other.ordered),
            let_through: meet(&self.let_through, &other.let_through),
        }
    }
}

/// An arrival with what its thread knows.
type Informed = (usize, Known);

/// Something a thread does at which it may learn that phases are complete.
struct Point<'a> {
    agent: AgentId,
    position: u32,
    guard: TermRef,
    what: What<'a>,
    /// Earlier points of the thread that were passed on the way here.
    before: Past,
}

enum What<'a> {
    /// By index.
    Operation(usize),
    Barrier(&'a PassedBarrier),
}

struct Narrowing<'a> {
    operations: &'a [Operation],
    terms: &'a TermPool,
    expected: &'a IndexVec<MbarrierId, Expected>,
    /// Of each phase, how many arrivals it expects at least; of later ones, as many as of the last one here.
    least: IndexVec<MbarrierId, Vec<u32>>,
    /// By thread and program order.
    points: Vec<Point<'a>>,
    /// What is known after each point.
    after: Vec<Known>,
    intervals: Vec<Interval>,
    /// The first operation whose phase a term is.
    of_phase: FxHashMap<TermRef, usize>,
    raised: Raised,
    n_changes: usize,
}

impl<'a> Narrowing<'a> {
    fn new(
        terms: &'a TermPool,
        operations: &'a [Operation],
        passed: &'a [PassedBarrier],
        expected: &'a IndexVec<MbarrierId, Expected>,
    ) -> Self {
        let mut points: Vec<Point<'a>> = operations
            .iter()
            .enumerate()
            .map(|(index, operation)| Point {
                agent: operation.agent,
                position: operation.position,
                guard: operation.guard,
                what: What::Operation(index),
                before: Past::default(),
            })
            .collect();
        points.extend(passed.iter().map(|passed| Point {
            agent: passed.agent,
            position: passed.position,
            guard: passed.guard,
            what: What::Barrier(passed),
            before: Past::default(),
        }));
        points.sort_by_key(|point| (point.agent, point.position));
        for at in 0..points.len() {
            let guard = points[at].guard;
            // An asynchronous operation knows what its thread knew when it started it.
            let issued = match points[at].what {
                What::Operation(index) => operations[index].issued,
                What::Barrier(_) => None,
            };
            let (agent, position) = issued.unwrap_or((points[at].agent, points[at].position));
            let first = points.partition_point(|point| point.agent < agent);
            let earlier: Vec<(usize, TermRef)> = (first..points.len())
                .take_while(|&earlier| (points[earlier].agent, points[earlier].position) < (agent, position))
                .map(|earlier| (earlier, points[earlier].guard))
                .collect();
            points[at].before = Past::new(terms, guard, &earlier);
        }
        let full = Interval { first: 0, last: PHASES_MAX };
        let mut of_phase = FxHashMap::default();
        for (index, operation) in operations.iter().enumerate() {
            of_phase.entry(operation.phase).or_insert(index);
        }
        Self {
            operations,
            terms,
            expected,
            least: IndexVec::repeat(Vec::new(), expected.len()),
            after: vec![Known::default(); points.len()],
            points,
            intervals: vec![full; operations.len()],
            of_phase,
            raised: Raised::new(terms, operations.iter()),
            n_changes: 0,
        }
    }

    /// Finds out how many arrivals phases expect at least, from the phases in which threads can drop out.
    fn count_drops(&mut self, drops: &Drops) {
        for object in self.expected.ids() {
            let initial = self.expected[object].least;
            self.least[object] = drops.least_of_phases(object, initial, &self.intervals);
        }
    }

    /// How many arrivals a phase expects at least.
    fn least(&self, object: MbarrierId, phase: u32) -> u64 {
        let least = &self.least[object];
        least.get(phase as usize).or(least.last()).copied().unwrap_or(1).into()
    }

    /// How many arrivals an operation counts for, of those that phases expect besides what is added.
    fn arrivals(&self, index: usize) -> u64 {
        if self.raised.raise_of(index).is_some() {
            return 0;
        }
        self.operations[index].kind.arrivals().into()
    }

    /// Whether one that can happen in these phases may be among the arrivals that a phase needs, and how many it needs: of an
    /// object where some are added, with all phases before it ([`Raised`]).
    fn takes(&self, object: MbarrierId, phase: u32) -> (impl Fn(Interval) -> bool + use<>, u64) {
        let (from, needed) = if self.raised.has(object) {
            (0, (0..=phase).map(|earlier| self.least(object, earlier)).sum())
        } else {
            (phase, self.least(object, phase))
        };
        (move |of: Interval| !of.is_empty() && of.first <= phase && of.last >= from, needed)
    }

    /// The most phases that so many arrivals complete.
    fn completed_by(&self, object: MbarrierId, mut arrivals: u64) -> u32 {
        for (phase, &least) in (0..).zip(&self.least[object]) {
            match arrivals.checked_sub(least.into()) {
                Some(left) => arrivals = left,
                None => return phase,
            }
        }
        let n_told = self.least[object].len() as u64;
        u32::try_from(n_told + arrivals / self.least(object, PHASES_MAX)).unwrap_or(u32::MAX)
    }

    /// Raises the lower ends.
    fn raise(&mut self) {
        let arrivals = self.informed(|index| self.operations[index].kind.arrivals() > 0);
        let delivered = self.informed(|index| self.operations[index].kind.bytes() < 0);
        let in_phases = self.arrivals_in_phases();
        let bytes =
            Bytes::new(self.operations, &self.intervals, &|index| self.is_essential(index, &in_phases));
        let mut completions: SortedMap<(MbarrierId, u32), Known> = SortedMap::new();
        // What the arrivals at a barrier bring is the same for all that pass it; a later round finds what this one misses.
        let mut brought: FxHashMap<*const Vec<Arrival>, Known> = FxHashMap::default();
        for at in 0..self.points.len() {
            let mut known = self.known_after(&self.points[at].before);
            match &self.points[at].what {
                What::Operation(index) => {
                    let index = *index;
                    let operation = &self.operations[index];
                    let object = operation.object;
                    let own = self.own_count(at, operation).max(self.intervals[index].first);
                    let mut first = known.phases_of(object).max(own);
                    if operation.kind.is_wait() {
                        first = self.first_passing(operation, first);
                        for phase in 0..first {
                            let key = (object, phase);
                            let learnt = completions.entry(key).or_insert_with(|| {
                                let mut learnt = self.learnt(key, &arrivals);
                                let delivered = delivered.get(&object).into_iter().flatten();
                                let delivered = delivered.map(|(index, known)| (*index, &known.let_through));
                                bytes.learn(key, delivered, &self.intervals, &mut learnt.let_through);
                                learnt
                            });
                            known.merge(learnt);
                        }
                        let seen = known.let_through.entry(object).or_default();
                        *seen = first.max(*seen);
                    }
                    // Its own arrival may complete a phase; what it knows afterwards.
                    let with_own = self.own_count_with(at, operation).max(first);
                    known.ordered.insert(object, with_own);
                    if first > self.intervals[index].first {
                        self.intervals[index].first = first;
                        self.n_changes += 1;
                    }
                }
                What::Barrier(passed) => {
                    let others =
                        brought.entry(passed.arrivals.as_ptr()).or_insert_with(|| self.brought_by(passed));
                    known.merge(others);
                }
            }
            if known != self.after[at] {
                self.after[at] = known;
                self.n_changes += 1;
            }
        }
    }

    /// What all who arrived at a barrier bring, each the least that it may.
    fn brought_by(&self, passed: &PassedBarrier) -> Known {
        let mut brought = Known::default();
        for others in passed.arrivals.iter() {
            let mut least: Option<Known> = None;
            for arrival in others {
                let mut there = self.known_at(arrival.agent, arrival.position, arrival.guard);
                if !arrival.releases {
                    there.ordered.clear();
                }
                least = Some(match least {
                    None => there,
                    Some(known) => known.met(&there),
                });
            }
            brought.merge(&least.unwrap_or_default());
        }
        brought
    }

    /// What a thread knows at a place between its points.
    fn known_at(&self, agent: AgentId, position: u32, guard: TermRef) -> Known {
        let start = self.points.partition_point(|point| point.agent < agent);
        let of_thread = self.points.iter().enumerate().skip(start);
        let earlier: Vec<(usize, TermRef)> = of_thread
            .take_while(|(_, point)| point.agent == agent && point.position < position)
            .map(|(at, point)| (at, point.guard))
            .collect();
        self.known_after(&Past::new(self.terms, guard, &earlier))
    }

    /// What a thread knows that has passed some points.
    fn known_after(&self, past: &Past) -> Known {
        let mut known = Known::default();
        past.surely.iter().for_each(|&point| known.merge(&self.after[point]));
        for ways in &past.either {
            let ways = ways.iter().map(|way| self.known_after(way));
            known.merge(&ways.reduce(|a, b| a.met(&b)).unwrap_or_default());
        }
        known
    }

    /// How many phases are complete when a wait by parity passes that waits for the earliest one of that parity that its
    /// thread does not surely know of; none, where that is the one before the first (MB-8).
    fn passes(&self, last: &FinalPhase) -> Option<u32> {
        let OperationKind::WaitParity { parity } = last.kind else { return None };
        let parity = self.terms.constant_value(parity)?;
        let known = self.known_at(last.agent, last.position, last.guard);
        let known = known.phases_of(last.object);
        Some(if u128::from(known % 2) == parity { known + 1 } else { known })
    }

    /// Phases that the thread's own earlier arrivals complete.
    fn own_count(&self, at: usize, operation: &Operation) -> u32 {
        self.own_phases(at, operation, 0)
    }

    /// The same with the operation itself.
    fn own_count_with(&self, at: usize, operation: &Operation) -> u32 {
        self.own_phases(at, operation, operation.kind.arrivals())
    }

    fn own_phases(&self, at: usize, operation: &Operation, itself: u32) -> u32 {
        let expected = self.expected[operation.object];
        if !expected.is_initialised || expected.has_bytes || expected.has_drops || expected.has_raises {
            return 0;
        }
        let earlier =
            self.points[at].before.surely.iter().filter_map(|&earlier| match self.points[earlier].what {
                What::Operation(index) => Some(&self.operations[index]),
                What::Barrier(_) => None,
            });
        let own: u32 = earlier
            .filter(|earlier| earlier.object == operation.object)
            .map(|earlier| earlier.kind.arrivals())
            .sum();
        (own + itself) / expected.most.max(1)
    }

    /// The first number of complete phases, from `known`, at which a wait passes.
    fn first_passing(&self, wait: &Operation, known: u32) -> u32 {
        match wait.kind {
            OperationKind::WaitParity { .. } => known + u32::from(self.finds_same_parity(wait, known)),
            OperationKind::WaitState { state } => {
                let own = self.of_phase.get(&state);
                own.map_or(known, |&index| known.max(self.intervals[index].first + 1))
            }
            _ => known,
        }
    }

    /// Whether a wait by parity that passes cannot have found so many phases complete, since that is of its own parity (MB-8).
    fn finds_same_parity(&self, wait: &Operation, completed: u32) -> bool {
        let OperationKind::WaitParity { parity } = wait.kind else { return false };
        self.terms.constant_value(parity).is_some_and(|parity| u128::from(completed % 2) == parity)
    }

    /// Operations of one kind, by object, with what is known after each.
    fn informed(&self, is_one: impl Fn(usize) -> bool) -> SortedMap<MbarrierId, Vec<Informed>> {
        let mut found: SortedMap<MbarrierId, Vec<Informed>> = SortedMap::new();
        for (at, point) in self.points.iter().enumerate() {
            let What::Operation(index) = point.what else { continue };
            if is_one(index) {
                let object = self.operations[index].object;
                found.entry(object).or_default().push((index, self.after[at].clone()));
            }
        }
        found
    }

    /// What whoever sees a phase complete knows: the least that the arrivals of any completion bring.
    fn learnt(
        &self,
        (object, phase): (MbarrierId, u32),
        arrivals: &SortedMap<MbarrierId, Vec<Informed>>,
    ) -> Known {
        let (is_taken, needed) = self.takes(object, phase);
        let mut learnt = self.learnt_from(object, needed, is_taken, arrivals);
        if phase > 0 && !self.raised.has(object) {
            // With it all phases before it are complete, and what is told of their arrivals may be more.
            let needed = (0..=phase).map(|earlier| self.least(object, earlier)).sum();
            let is_taken = |of: Interval| !of.is_empty() && of.first <= phase;
            learnt.merge(&self.learnt_from(object, needed, is_taken, arrivals));
        }
        learnt
    }

    /// The least that so many arrivals at an object bring, of those that may be in some phases.
    fn learnt_from(
        &self,
        object: MbarrierId,
        needed: u64,
        is_taken: impl Fn(Interval) -> bool,
        arrivals: &SortedMap<MbarrierId, Vec<Informed>>,
    ) -> Known {
        let candidates: Vec<&Informed> = arrivals
            .get(&object)
            .into_iter()
            .flatten()
            .filter(|(index, _)| self.arrivals(*index) > 0 && is_taken(self.intervals[*index]))
            .collect();
        let least = |of: &dyn Fn(&Informed) -> u32| -> Option<u32> {
            let mut bring: Vec<(u32, u64)> =
                candidates.iter().map(|informed| (of(informed), self.arrivals(informed.0))).collect();
            bring.sort_unstable();
            let mut total = 0u64;
            bring.into_iter().find_map(|(known, count)| {
                total += count;
                (total >= needed).then_some(known)
            })
        };
        let mut learnt = Known::default();
        for about in self.expected.ids() {
            let known = |of: &Knowledge| of.get(&about).copied().unwrap_or(0);
            if let Some(phases) = least(&|(_, brings)| known(&brings.let_through)) {
                learnt.let_through.insert(about, phases);
            }
            // The completion of an asynchronous operation does not carry what came before its start (MM-30).
            let ordered = |(index, brings): &Informed| match self.operations[*index].issued {
                None => known(&brings.ordered),
                Some(_) => 0,
            };
            if self.expected[object].publishes
                && let Some(phases) = least(&ordered)
            {
                learnt.ordered.insert(about, phases);
            }
        }
        learnt
    }

    /// Per object and phase, how many arrivals may be among those that it needs.
    fn arrivals_in_phases(&self) -> SortedMap<(MbarrierId, u32), u64> {
        let mut arrivals: SortedMap<(MbarrierId, u32), u64> = SortedMap::new();
        for (index, (operation, interval)) in self.operations.iter().zip(&self.intervals).enumerate() {
            let own = self.arrivals(index);
            if own == 0 {
                continue;
            }
            for phase in interval.first..=interval.last {
                *arrivals.entry((operation.object, phase)).or_default() += own;
            }
        }
        let through: Vec<MbarrierId> =
            self.expected.ids().filter(|&object| self.raised.has(object)).collect();
        for object in through {
            let phases = arrivals.range((object, 0)..=(object, u32::MAX)).map(|(&(_, phase), _)| phase);
            for phase in phases.collect::<Vec<u32>>() {
                let (is_taken, _) = self.takes(object, phase);
                let of_object = |index: &usize| {
                    self.operations[*index].object == object && is_taken(self.intervals[*index])
                };
                let all = (0..self.operations.len()).filter(of_object).map(|index| self.arrivals(index));
                arrivals.insert((object, phase), all.sum());
            }
        }
        arrivals
    }

    /// Of which objects no phase can have more arrivals than it expects.
    fn is_never_full(&self, arrivals: &SortedMap<(MbarrierId, u32), u64>) -> IndexVec<MbarrierId, bool> {
        let is_so = |object| {
            let mut of_phases = arrivals.range((object, 0)..=(object, u32::MAX));
            !self.raised.has(object) && of_phases.all(|(&(_, phase), &all)| all <= self.least(object, phase))
        };
        self.expected.ids().map(is_so).collect()
    }

    /// Whether the one phase of an arrival cannot be complete without it.
    fn is_essential(&self, index: usize, arrivals: &SortedMap<(MbarrierId, u32), u64>) -> bool {
        let object = self.operations[index].object;
        let Some(phase) = self.intervals[index].only() else { return false };
        let own = self.arrivals(index);
        let all = arrivals.get(&(object, phase)).copied().unwrap_or(0);
        own > 0 && all - own < self.takes(object, phase).1
    }

    /// What is surely done when each operation happens.
    fn seen_by_operations(&self) -> Vec<SeenBy> {
        let essential = Arc::new(self.essential(false));
        // Where threads arrive themselves, what they did before is ordered before it, and known by that.
        let arrives = |operation: &Operation| operation.issued.is_some() && operation.kind.arrivals() > 0;
        let is_through = self.operations.iter().any(arrives);
        let essential_through =
            Arc::new(if is_through { self.essential(true) } else { Essential::default() });
        let of = |operation: &Operation| SeenBy {
            issued: operation.issued,
            essential: essential.clone(),
            essential_through: essential_through.clone(),
            ..SeenBy::default()
        };
        let mut seen: Vec<SeenBy> = self.operations.iter().map(of).collect();
        for (point, known) in self.points.iter().zip(&self.after) {
            if let What::Operation(index) = point.what {
                seen[index].known.clone_from(&known.ordered);
                if is_through {
                    seen[index].through.clone_from(&known.let_through);
                    merge(&mut seen[index].through, &known.ordered);
                }
            }
        }
        seen
    }

    /// The places that others have come to since they met a thread at a barrier before one of its points; each barrier once.
    fn met_before(
        &self,
        point: usize,
        met: &mut FxHashSet<*const Vec<Arrival>>,
        gets_to: &mut impl FnMut(AgentId, u32),
    ) {
        for &earlier in &self.points[point].before.surely {
            let What::Barrier(passed) = self.points[earlier].what else { continue };
            if !met.insert(passed.arrivals.as_ptr()) {
                continue;
            }
            for places in passed.arrivals.iter().filter(|places| places.iter().all(|place| place.releases)) {
                // It has arrived at one of them.
                if let Some(first) = places.iter().min_by_key(|place| place.position) {
                    gets_to(first.agent, first.position);
                }
            }
        }
    }

    /// By what is ordered before; or by whatever phases are complete, with what threads have started, too.
    fn essential(&self, is_through: bool) -> Essential {
        // Without these arrivals the phase, or one before it, is not complete.
        let mut essential = Essential::new();
        let mut point_of: FxHashMap<usize, usize> = FxHashMap::default();
        for (at, point) in self.points.iter().enumerate() {
            if let What::Operation(index) = point.what {
                point_of.insert(index, at);
            }
        }
        for object in self.expected.ids() {
            let known = self.after.iter().map(|known| match is_through {
                true => known.phases_of(object),
                false => known.ordered.get(&object).copied().unwrap_or(0),
            });
            let most = known.max().unwrap_or(0);
            let mut so_far: SortedMap<AgentId, u32> = SortedMap::new();
            let mut of_phases = vec![so_far.clone()];
            let mut met: FxHashSet<*const Vec<Arrival>> = FxHashSet::default();
            for phase in 0..most {
                let (is_taken, needed) = self.takes(object, phase);
                let candidates: Vec<(usize, &Operation)> = self
                    .operations
                    .iter()
                    .zip(&self.intervals)
                    .enumerate()
                    .filter(|&(index, (operation, interval))| {
                        operation.object == object && self.arrivals(index) > 0 && is_taken(*interval)
                    })
                    .map(|(index, (operation, _))| (index, operation))
                    .collect();
                let total: u64 = candidates.iter().map(|&(index, _)| self.arrivals(index)).sum();
                for (index, arrival) in candidates {
                    if total - self.arrivals(index) < needed {
                        let mut gets_to = |agent: AgentId, position: u32| {
                            let last = so_far.entry(agent).or_default();
                            *last = (*last).max(position);
                        };
                        let (agent, at) = arrival
                            .issued
                            .filter(|_| is_through)
                            .unwrap_or((arrival.agent, arrival.position));
                        gets_to(agent, at);
                        // The completion of an asynchronous operation carries nothing of what came before its start (MM-30).
                        if arrival.issued.is_none() {
                            self.met_before(point_of[&index], &mut met, &mut gets_to);
                        }
                    }
                }
                of_phases.push(so_far.clone());
            }
            essential.insert(object, (self.expected[object].publishes, of_phases));
        }
        essential
    }

    /// Lowers the upper ends.
    fn lower(&mut self) {
        let seen = self.seen_by_operations();
        let arrivals = self.arrivals_in_phases();
        let bytes =
            Bytes::new(self.operations, &self.intervals, &|index| self.is_essential(index, &arrivals));
        let mut crowds: SortedMap<MbarrierId, Crowd<'_>> = SortedMap::new();
        for (index, operation) in self.operations.iter().enumerate() {
            if self.arrivals(index) > 0 {
                let crowd = crowds.entry(operation.object).or_default();
                crowd.add(index, operation, self.intervals[index], &seen[index]);
            }
        }
        for (index, operation) in self.operations.iter().enumerate() {
            let object = operation.object;
            let crowd = crowds.get(&operation.object);
            let earlier = crowd
                .map_or_else(Vec::new, |crowd| crowd.before(index, self.operations, &self.intervals, &seen));
            let number = |counts: &dyn Fn(Interval) -> bool| -> u64 {
                let counted = earlier.iter().filter(|(interval, _)| counts(*interval));
                u64::try_from(counted.map(|&(_, count)| count).sum::<i64>()).unwrap_or(0)
            };
            let Interval { first, last: old } = self.intervals[index];
            // All of them together complete no more than so many phases.
            let most = self.completed_by(object, number(&|_| true));
            let mut last = old.min(most);
            let raise = self.raised.raise_of(index).map(|raise| self.intervals[raise]);
            let is_too_early = |&phase: &u32| {
                let (is_taken, needed) = self.takes(object, phase);
                let is_missing = raise.is_some_and(|of| !of.is_empty() && of.last <= phase);
                number(&is_taken) < needed + u64::from(is_missing)
            };
            if let Some(phase) = (first..last).find(is_too_early) {
                last = phase;
            }
            if operation.kind.bytes() < 0
                && let Some(phase) = (first..last).find(|&phase| bytes.needs(self.terms, operation, phase))
            {
                last = phase;
            }
            if last > first && self.finds_same_parity(operation, last) {
                last -= 1;
            }
            if last == old {
                continue;
            }
            self.intervals[index].last = last;
            self.n_changes += 1;
            if self.arrivals(index) > 0
                && let Some(crowd) = crowds.get_mut(&operation.object)
            {
                crowd.move_to(
                    index,
                    operation,
                    Interval { first, last: old },
                    self.intervals[index],
                    &seen[index],
                );
            }
        }
    }
}
