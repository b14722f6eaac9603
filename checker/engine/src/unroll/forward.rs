//! Store-to-load forwarding in shared memory: a load that can only return what one store has written is that value.
//!
//! One thread takes a tile from a queue, or finds that its CTA is the last one, and tells the others through a word of shared
//! memory, with a barrier before they read it and one before it is written again. With an unknown for each read, each thread
//! goes its own way behind it; with the store's value all of them go the same way, and barriers are counted by numbers again.
//!
//! Sound: a read is forwarded where, in the finished graph, it comes after its store through a barrier of all threads of the
//! CTA or of the lanes of a mask, at which the one arrives (who exits instead orders nothing) and which the other is past, or
//! through program order. That is one generation of the barrier for both: the same number, or the same term for how often they have
//! come before. The store is there wherever the read is; and each other write of those bytes names them as these two
//! do and comes before the store by the same means, or after the read, or it is on a path that excludes the read. Take an
//! execution in which some of these reads return something else, and of them one before which, in program order, barriers and
//! `rf`, there is no other. What is on its way then is as in the graph: its store has happened and is overwritten by nothing
//! that comes before the read, so the axioms leave it no other source than a write that is on no path of the graph, thus one that
//! another of these reads has decided; and that read comes before this one. There is a first one, since in a circle through `rf`
//! each store would be there because of itself.
//!
//! Who depends on the read depends on what the store's value is made of instead. The store does too, and so does the read
//! through it, so no dependency is told that is none; of those that go, what comes in comes from the store, of which all that
//! follows the read comes after in any case.
//!
//! Needs: [`Need::ReadsInBarrierOrder`](crate::facts::needs::Need::ReadsInBarrierOrder);
//! [`Need::NoTensorMemory`](crate::facts::needs::Need::NoTensorMemory), since there whatever depends on a value comes after its
//! write (AS-31), and what now depends on it across a barrier would, too. And of the graph what is said above, which is
//! evaluated once all threads have been run ([`Unroller::misforwarded`]): reads of which it does not hold are unknowns of their
//! own, in another run.
//!
//! Cannot: numbers (what a read of one can return is known by its bounds), values made of several unknowns (they would only
//! grow from read to read), strong reads (what they have seen may be ordered by them), stores that are run after the read,
//! barriers of some threads of a CTA.

use super::Unroller;
use super::barrier::Passage;
use crate::event::{
    Access, AgentId, AtomicClass, EventId, EventKind, LocationId, Role, TermKind, TermPool, TermRef,
    UnknownId,
};
use crate::synchronization::log::{Generation, Group};
use crate::work::{self, Work};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{Proxy, Sem};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Most nodes of a value that is forwarded.
const NODES_MAX: usize = 32;
/// Most ways in which a thread may end.
const WAYS_MAX: usize = 64;
/// Bytes of a line, by which writes are looked up; no access is wider.
const LINE_BYTES: u128 = 16;

/// A read: whose, and which of its.
pub type Reader = (AgentId, u32);

/// What is known of stores to shared memory, and which reads were forwarded.
#[derive(Default)]
pub struct Forwarding {
    /// Reads that are unknowns of their own, as an earlier run has shown.
    never: SortedSet<Reader>,
    /// Plain stores that were run, by line.
    stores: BTreeMap<(LocationId, u128), Vec<EventId>>,
    /// The lines of all stores, in their order.
    noted: Vec<(LocationId, u128)>,
    /// Where each store stands, and each read of a line with stores.
    standings: SortedMap<EventId, Rc<Standing>>,
    /// The last one that was found out, and for whom, on which path, and after how many executions of barriers.
    last_standing: Option<((AgentId, TermRef, usize), Rc<Standing>)>,
    /// Each read that was forwarded, and its store.
    forwarded: Vec<(EventId, EventId)>,
    /// When each thread arrives at each generation of each barrier, as far as looked at; and its first execution of that number.
    arrivals: BTreeMap<(Group, AgentId, Generation), (TermRef, usize)>,
    /// How many executions of barriers were looked at for that.
    n_collected: usize,
    /// Whether all threads have been run.
    is_over: bool,
}

/// How far a thread has got with barriers where it does something.
#[derive(Clone, Default, Debug)]
struct Standing {
    /// Of each barrier that it has arrived at, the first generation at which it has not; `None` if that is no number.
    arrived: SortedMap<Group, Option<u32>>,
    /// Of each barrier, the last generation that it is past on each way here, if that is a number.
    passed: SortedMap<Group, u32>,
    /// Generations that are no numbers which it is past on each way here: how often threads have gone round a loop before
    /// decides about them, alike.
    passed_by_term: Vec<(Group, TermRef)>,
    /// How many executions of barriers there were.
    n_executions: usize,
}

/// What stands at the end of what was run, so that an attempt can be taken back.
#[derive(Clone, Copy)]
pub struct ForwardingMark {
    n_noted: usize,
    n_standings: usize,
    n_forwarded: usize,
}

impl Forwarding {
    /// Nothing is known but which reads are unknowns of their own.
    pub fn new(never: SortedSet<Reader>) -> Self {
        Self { never, ..Self::default() }
    }

    pub fn mark(&self) -> ForwardingMark {
        ForwardingMark {
            n_noted: self.noted.len(),
            n_standings: self.standings.len(),
            n_forwarded: self.forwarded.len(),
        }
    }

    /// Forgets the events of an attempt.
    pub fn take_back(&mut self, mark: ForwardingMark) {
        self.forwarded.truncate(mark.n_forwarded);
        for line in self.noted.drain(mark.n_noted..).rev() {
            if let Some(stores) = self.stores.get_mut(&line) {
                stores.pop();
            }
        }
        // Events are noted in their order.
        self.standings.truncate(mark.n_standings);
        // What is taken back may come again under the same numbers.
        self.last_standing = None;
    }

    /// How many reads were forwarded.
    pub fn n_forwarded(&self) -> usize {
        self.forwarded.len()
    }
}

impl Unroller<'_> {
    /// Notes a store to shared memory that a thread makes itself.
    pub(super) fn note_store(&mut self, store: EventId) {
        let Some((line, _)) = self.line_of(store) else { return };
        let standing = self.standing(self.graph.events[store].guard);
        self.forwarding.standings.insert(store, standing);
        self.forwarding.noted.push(line);
        self.forwarding.stores.entry(line).or_default().push(store);
    }

    /// The value that a read returns, if it is known to be that of a store.
    pub(super) fn forwarded(&mut self, read: EventId) -> Option<TermRef> {
        let (line, access) = self.line_of(read)?;
        let is_weak = access.sem == Sem::Weak;
        let event = &self.graph.events[read];
        let (guard, is_plain) = (event.guard, event.role == Role::Plain);
        let is_never = self.forwarding.never.contains(&(self.agent, event.position));
        let stores = self.forwarding.stores.get(&line)?.clone();
        let standing = self.standing(guard);
        self.forwarding.standings.insert(read, standing);
        if !is_weak || !is_plain || is_never {
            return None;
        }
        let (store, value) = self.source(read, &stores)?;
        self.forwarding.forwarded.push((read, store));
        Some(value)
    }

    /// The store that a read returns the value of, as far as is known before all threads have been run; and that value.
    fn source(&mut self, read: EventId, stores: &[EventId]) -> Option<(EventId, TermRef)> {
        let guard = self.graph.events[read].guard;
        let before: Vec<EventId> = stores
            .iter()
            .copied()
            .filter(|&store| self.overlap(store, read) && self.order((store, read), guard).is_some())
            .collect();
        // Of those that come before, the one that no other of them comes after.
        let store = before.into_iter().reduce(|last, store| {
            let both = self.graph.events[last].guard;
            let both = self.graph.terms.and(both, guard);
            if self.order((last, store), both).is_some() { store } else { last }
        })?;
        let (source, own) = (self.graph.events[store].kind.access()?, self.graph.events[read].kind.access()?);
        let is_word = source.offset == own.offset
            && source.width_bytes == own.width_bytes
            && source.mapping == own.mapping;
        let (value, is_plain) = (source.value, source.atomic == AtomicClass::None);
        (is_word && is_plain && self.is_small(value) && self.is_only_source((store, read), stores))
            .then_some((store, value))
    }

    /// The line of an access of shared memory by a thread that names it by a number.
    fn line_of(&self, event: EventId) -> Option<((LocationId, u128), &Access)> {
        if !self.options.forwarding || self.last_try.is_some() {
            return None;
        }
        let access = self.graph.events[event].kind.access()?;
        let location = access.location;
        if self.graph.locations[location].cta.is_none() || access.proxy != Proxy::Generic {
            return None;
        }
        let line = self.graph.terms.constant_value(access.offset)? / LINE_BYTES;
        Some(((location, line), access))
    }

    /// How far the current thread has got, on a path.
    fn standing(&mut self, guard: TermRef) -> Rc<Standing> {
        let when = (self.agent, guard, self.barriers.log.executions.len());
        if let Some((last, standing)) = &self.forwarding.last_standing
            && *last == when
        {
            return Rc::clone(standing);
        }
        let mut standing = Standing { n_executions: when.2, ..Standing::default() };
        for (group, passages) in self.barriers.own_passages() {
            standing.arrived.insert(group, self.barriers.first_missing(group));
            let is_past = |passage: &&Passage| {
                self.is_of_all(group, passage.count)
                    && self.graph.terms.implies_syntactically(guard, passage.past)
            };
            for passage in passages.iter().rev().filter(is_past) {
                match passage.generation {
                    Generation::Static(k) => {
                        standing.passed.insert(group, k);
                        break;
                    }
                    Generation::Dynamic(k) => standing.passed_by_term.push((group, k)),
                }
            }
        }
        let standing = Rc::new(standing);
        self.forwarding.last_standing = Some((when, Rc::clone(&standing)));
        standing
    }

    /// Whether whoever is past a barrier knows that all of its CTA, or of its mask, have come.
    fn is_of_all(&self, group: Group, count: Option<u32>) -> bool {
        let launch = self.graph.hierarchy.launch_of(self.agent);
        match group {
            Group::Cta(..) => {
                count.is_none_or(|count| launch.lanes == 32 && count == launch.warps.saturating_mul(32))
            }
            Group::Warp(..) => true,
            _ => false,
        }
    }

    /// Whether a thread is one of those whom a barrier waits for.
    fn waits_for(&self, group: Group, agent: AgentId) -> bool {
        let hierarchy = &self.graph.hierarchy;
        match group {
            Group::Cta(cta, _) => hierarchy.cta_of(agent) == cta,
            Group::Warp(warp, mask) => {
                hierarchy.warp_of(agent) == warp && mask >> hierarchy.threads[agent].lane & 1 == 1
            }
            _ => false,
        }
    }

    /// Whether a store is one of a word that it names by a number.
    pub(super) fn is_noted(&self, store: EventId) -> bool {
        self.line_of(store).is_some() && self.forwarding.standings.contains_key(&store)
    }

    /// The store that a read was forwarded from.
    pub(super) fn source_of(&self, read: EventId) -> Option<EventId> {
        let at = self.forwarding.forwarded.binary_search_by_key(&read, |&(own, _)| own).ok()?;
        Some(self.forwarding.forwarded[at].1)
    }

    /// Whether a value is made of one unknown, and no great thing.
    fn is_small(&self, value: TermRef) -> bool {
        let terms = &self.graph.terms;
        let (mut pending, mut seen) = (vec![value], SortedSet::new());
        let mut unknown: Option<UnknownId> = None;
        while let Some(term) = pending.pop() {
            if !seen.insert(term) {
                continue;
            }
            if let TermKind::Unknown(own) = *terms.kind(term)
                && *unknown.get_or_insert(own) != own
            {
                return false;
            }
            pending.extend(terms.operands(term));
            if seen.len() > NODES_MAX {
                return false;
            }
        }
        unknown.is_some()
    }

    /// The reads that were forwarded although they may see another write, now that all threads have been run.
    pub(super) fn misforwarded(&mut self) -> SortedSet<Reader> {
        let forwarded = std::mem::take(&mut self.forwarding.forwarded);
        let lines = forwarded.iter().filter_map(|&(read, _)| self.line_of(read));
        let locations: SortedSet<LocationId> = lines.map(|((location, _), _)| location).collect();
        // Writes of a line, and of who knows where in an object.
        let mut writes: BTreeMap<(LocationId, Option<u128>), Vec<EventId>> = BTreeMap::new();
        for (id, event) in self.graph.events.iter_enumerated().filter(|_| !locations.is_empty()) {
            let EventKind::Write(access) = &event.kind else { continue };
            if event.guard == TermPool::FALSE || !locations.contains(&access.location) {
                continue;
            }
            let Some(first) = self.graph.terms.constant_value(access.offset) else {
                writes.entry((access.location, None)).or_default().push(id);
                continue;
            };
            let last = first + u128::from(access.width_bytes.max(1)) - 1;
            for line in first / LINE_BYTES..=last / LINE_BYTES {
                writes.entry((access.location, Some(line))).or_default().push(id);
            }
        }
        self.collect_arrivals();
        self.forwarding.is_over = true;
        let mut wrong = SortedSet::new();
        for &(read, store) in &forwarded {
            let Some(((location, line), _)) = self.line_of(read) else { continue };
            let of_line = |line| writes.get(&(location, line)).into_iter().flatten().copied();
            let others: Vec<EventId> = of_line(None).chain(of_line(Some(line))).collect();
            if !self.is_only_source((store, read), &others)
                && let Some(agent) = self.graph.events[read].agent
            {
                wrong.insert((agent, self.graph.events[read].position));
            }
        }
        self.forwarding.forwarded = forwarded;
        wrong
    }

    /// Takes note of the arrivals of threads that have been run since it was last asked for.
    pub(super) fn collect_arrivals(&mut self) {
        if self.forwarding.stores.is_empty() {
            return;
        }
        let executions = &self.barriers.log.executions;
        for (index, execution) in executions.iter().enumerate().skip(self.forwarding.n_collected) {
            let key = (execution.group, execution.agent, execution.generation);
            let (arrives, first) = self.forwarding.arrivals.entry(key).or_insert((TermPool::FALSE, index));
            *arrives = self.graph.terms.or(*arrives, execution.guard);
            *first = index.min(*first);
        }
        self.forwarding.n_collected = executions.len();
    }

    /// When a thread arrives at a generation of a barrier, if it does wherever somebody on a path is past that: it does not
    /// end instead. Of the one that is being run nothing is known yet, so it is taken to arrive.
    fn arrives(
        &mut self,
        agent: AgentId,
        (group, generation): (Group, Generation),
        given: TermRef,
    ) -> Option<TermRef> {
        if agent == self.agent && !self.forwarding.is_over {
            return Some(TermPool::TRUE);
        }
        let (arrives, _) = *self.forwarding.arrivals.get(&(group, agent, generation))?;
        if self.graph.terms.entails(given, arrives) {
            return Some(arrives);
        }
        let completed = self.graph.completed[agent];
        let ends = ways(&mut self.graph.terms, completed)?;
        let terms = &mut self.graph.terms;
        let is_there = ends
            .into_iter()
            .all(|end| terms.entails(end, arrives) || terms.excludes_syntactically(end, given));
        is_there.then_some(arrives)
    }

    /// Whether an event comes before another wherever both are on a path: whoever does the second is past a barrier at which
    /// whoever does the first has arrived after it; when that one arrives.
    pub(super) fn order(&mut self, (first, second): (EventId, EventId), given: TermRef) -> Option<TermRef> {
        work::count(Work::Term, 1);
        let (agent, other) = (self.graph.events[first].agent?, self.graph.events[second].agent?);
        if agent == other {
            let is_before = self.graph.events[first].position < self.graph.events[second].position;
            return is_before.then_some(TermPool::TRUE);
        }
        let standings = &self.forwarding.standings;
        let (own, standing) = (standings.get(&first)?, standings.get(&second)?);
        let passed = standing.passed.iter().map(|(&group, &k)| (group, Generation::Static(k)));
        let by_term = standing.passed_by_term.iter().map(|&(group, k)| (group, Generation::Dynamic(k)));
        let is_met = |&meeting: &(Group, Generation)| self.is_met(own, agent, meeting);
        let met: Vec<(Group, Generation)> = passed.chain(by_term).filter(is_met).collect();
        met.into_iter().find_map(|meeting| self.arrives(agent, meeting, given))
    }

    /// Whether a thread that stands somewhere has not arrived at a generation of a barrier yet, and will be waited for there.
    fn is_met(&self, standing: &Standing, agent: AgentId, (group, generation): (Group, Generation)) -> bool {
        let comes_later = match generation {
            Generation::Static(k) => {
                standing.arrived.get(&group).is_none_or(|first| first.is_some_and(|first| first <= k))
            }
            // All executions of that number are behind it; of one that is run still none is seen yet.
            Generation::Dynamic(_) => {
                let arrivals = self.forwarding.arrivals.get(&(group, agent, generation));
                arrivals.is_none_or(|&(_, first)| first >= standing.n_executions)
            }
        };
        self.waits_for(group, agent) && !self.barriers.log.loose.contains(&group) && comes_later
    }

    /// Whether a store comes before a read, is there wherever that is, and is the only one of some writes that it can see.
    fn is_only_source(&mut self, (store, read): (EventId, EventId), writes: &[EventId]) -> bool {
        let guard = self.graph.events[read].guard;
        let Some(arrives) = self.order((store, read), guard) else { return false };
        let known = self.graph.terms.and(guard, arrives);
        self.graph.terms.entails(known, self.graph.events[store].guard)
            && writes.iter().all(|&other| {
                other == store || !self.overlap(other, read) || self.is_apart(other, (store, read))
            })
    }

    /// Whether a write is none that a read could see instead of a store.
    fn is_apart(&mut self, other: EventId, (store, read): (EventId, EventId)) -> bool {
        let [other_guard, store_guard, read_guard] =
            [other, store, read].map(|event| self.graph.events[event].guard);
        let both = self.graph.terms.and(other_guard, read_guard);
        if both == TermPool::FALSE {
            return true;
        }
        let mapping = |event: EventId| self.graph.events[event].kind.access().map(|access| access.mapping);
        // Through another virtual address barriers order nothing (MM-41).
        if mapping(other) != mapping(read) {
            return false;
        }
        let all = self.graph.terms.and(both, store_guard);
        self.order((other, store), all).is_some() || self.order((read, other), both).is_some()
    }

    /// The bytes of its location that an access is of, if they are known: the first, and the first behind them.
    pub(super) fn bytes(&self, event: EventId) -> Option<(u128, u128)> {
        let access = self.graph.events[event].kind.access()?;
        let first = self.graph.terms.constant_value(access.offset)?;
        Some((first, first + u128::from(access.width_bytes)))
    }

    /// Whether two accesses of one location touch the same bytes.
    pub(super) fn overlap(&self, a: EventId, b: EventId) -> bool {
        match (self.bytes(a), self.bytes(b)) {
            (Some(a), Some(b)) => a.0 < b.1 && b.0 < a.1,
            _ => true,
        }
    }
}

/// The ways in which something may hold, unless they are too many: conjunctions without disjunctions in them.
fn ways(terms: &mut TermPool, whole: TermRef) -> Option<Vec<TermRef>> {
    let (mut pending, mut found) = (vec![whole], Vec::new());
    while let Some(term) = pending.pop() {
        let conjuncts = terms.conjuncts(term).to_vec();
        let is_either = |&conjunct: &TermRef| matches!(terms.kind(conjunct), TermKind::Or(_));
        match conjuncts.iter().position(is_either) {
            Some(place) => {
                let TermKind::Or(members) = terms.kind(conjuncts[place]) else { return None };
                for &member in &members.clone() {
                    let others = conjuncts.iter().enumerate().filter(|&(other, _)| other != place);
                    let way = terms.and_all(others.map(|(_, &term)| term).chain([member]));
                    if way != TermPool::FALSE {
                        pending.push(way);
                    }
                }
            }
            None => found.push(term),
        }
        if found.len() + pending.len() > WAYS_MAX {
            return None;
        }
    }
    Some(found)
}
