//! Words that count: additions of constants by atomics, and nothing else, write them.
//!
//! What such a word shows is how many of its updates came before, so whoever waits for a number that needs all updates of
//! a round knows of each of them, in whatever order they came. Arrival counters of grid barriers, tickets and semaphores
//! are of this kind. Their updates have factorially many orders, of which nothing has to be tried here.
//!
//! What is needed of the model is read off its axioms, pair by pair, and where one of it is missing nothing follows:
//!
//! * *total*: an axiom `empty x \ (co | co^-1)` whose `x` certainly has each pair of updates;
//! * *atomic*: an axiom `empty rmw & (f ; c)` in which `f` has whatever `fr` has from the read of an update to another
//!   update, and `c` what `co` has from there to its write;
//! * *coherent*: an axiom `acyclic t` whose `t` certainly leads from the read of an update to its write, and has what `co`
//!   has between updates and what `rf` has from updates to their reads.
//!
//! Sound: let the executed updates be in their coherence order, which is total. An update reads from none that is
//! coherence-after it, nor from itself (*coherent*: a cycle of three, or of two), and none is between its source and itself
//! (*atomic*); so it reads from its predecessor, or from the initial write if it is the first, and what it writes is the
//! initial value and the sum of all additions up to its own. (That sum fits the word.)
//!
//! *Gates.* An update is gated by T if its thread has read at least T from the word before (or itself does). Such a read
//! takes its value from an update that is coherence-before (*coherent* again, with the read in place of the update's own).
//! The first of the updates that are gated by T has none of these before it, so the additions before it are of the others,
//! the free ones: those without which they do not add up to T are all before it, and so before every gated update.
//! Whoever reads at least T has them before its source, too: if a gated update is, then with all that is before that one;
//! otherwise its source's sum is of free ones only.
//!
//! *Chains.* From an update to whoever reads a sum with it in it leads a chain of read-modify-writes, one after the other.
//! Terms of the form `x ; (y ; z)*` with `rf` in `x` and `z` and read-modify-writes in `y` (observation, MM-31) have
//! that pair whatever the chain is; and no other, if `x` and `z` have nothing but `rf` and `y` nothing but the updates.
//!
//! *In the end* the word has what all executed updates add up to.
//!
//! What follows is stated in the formula, too, so that what the axioms exclude stays excluded where bounds have taken their
//! place.
//!
//! Needs: [`Need::TotalCoherence`](crate::facts::needs::Need::TotalCoherence),
//! [`Need::OneCell`](crate::facts::needs::Need::OneCell). The one is read off the axioms by `grounds`, word by word, the other
//! asked of each access by `counter`.

mod grounds;
pub mod resets;

use super::algebra::Values;
use super::base::Basis;
use super::{MayMust, MayMustSet};
use crate::bits::{BitMatrix, EventSet};
use crate::event::cell::Cells;
use crate::event::term::mask;
use crate::event::{AtomicClass, EventGraph, EventId, EventKind, TermKind, TermRef};
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel, TermId};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use grounds::{Chain, Coherent, Grounds};
use rustc_hash::FxHashMap;

/// Words with more updates than this are not looked at: what follows takes the square of their number.
const UPDATES_MAX: usize = 2048;
/// Sums that are tried one by one against what is known of a value read.
const SUMS_MAX: u128 = 4096;

/// A word that only additions write.
#[derive(Clone, Debug)]
pub struct Counter {
    init: EventId,
    start: u128,
    updates: Vec<Update>,
    readers: Vec<Reader>,
}

/// An atomic addition.
#[derive(Clone, Copy, Debug)]
struct Update {
    read: EventId,
    write: EventId,
    amount: u128,
}

/// A read of the word, also by one of its updates.
#[derive(Clone, Debug)]
struct Reader {
    event: EventId,
    /// The sums that it may return; `None` if nothing is known.
    sums: Option<SortedSet<u128>>,
}

impl Reader {
    fn least(&self) -> u128 {
        self.sums.as_ref().and_then(SortedSet::first).copied().unwrap_or(0)
    }
}

impl Counted {
    /// Whether this is a word that counts under the model.
    pub fn has(&self, counter: &Counter) -> bool {
        self.words.contains(&counter.init)
    }
}

impl Counter {
    /// Its initial write.
    pub fn init(&self) -> EventId {
        self.init
    }
    /// Its initial value.
    pub fn start(&self) -> u128 {
        self.start
    }
    /// Who reads it, its updates included.
    pub fn readers(&self) -> impl Iterator<Item = EventId> + '_ {
        self.readers.iter().map(|reader| reader.event)
    }
    /// The writes of its updates, with what they add.
    pub fn updates(&self) -> impl Iterator<Item = (EventId, u128)> + '_ {
        self.updates.iter().map(|update| (update.write, update.amount))
    }
}

/// The words of a graph that only additions of constants write.
pub fn counters(
    graph: &EventGraph,
    cells: &Cells,
    location: &MayMust,
    about_values: &FxHashMap<EventId, Vec<TermRef>>,
) -> Vec<Counter> {
    let reads: FxHashMap<EventId, EventId> = graph.rmw.iter().map(|&(read, write)| (write, read)).collect();
    let inits = graph.events.iter_enumerated().filter(|(_, event)| matches!(event.kind, EventKind::Init(_)));
    let of = |(init, _)| counter(graph, cells, location, about_values, &reads, init);
    inits.filter_map(of).collect()
}

fn counter(
    graph: &EventGraph,
    cells: &Cells,
    location: &MayMust,
    about_values: &FxHashMap<EventId, Vec<TermRef>>,
    reads: &FxHashMap<EventId, EventId>,
    init: EventId,
) -> Option<Counter> {
    let initial = graph.events[init].kind.access()?;
    let start = graph.terms.constant_value(initial.value)?;
    let is_whole = |event: EventId| {
        let access = graph.events[event].kind.access();
        location.must.contains(init, event) && access.is_some_and(|access| cells.n_pieces(access) == 1)
    };
    let (mut updates, mut readers) = (Vec::new(), Vec::new());
    for event in location.may.successors(init).filter(|&event| event != init) {
        match &graph.events[event].kind {
            EventKind::Read(_) if is_whole(event) => readers.push(event),
            EventKind::Read(_) => {}
            EventKind::Write(_) if is_whole(event) && updates.len() < UPDATES_MAX => {
                let read = *reads.get(&event)?;
                updates.push(Update { read, write: event, amount: amount(graph, read, event)? });
            }
            _ => return None,
        }
    }
    let width = u8::try_from(initial.width_bytes * 8).ok()?;
    let most = updates.iter().try_fold(start, |sum, update| sum.checked_add(update.amount))?;
    if updates.len() < 2 || most > mask(width) || !is_whole(init) {
        return None;
    }
    let step = updates.iter().fold(0, |step, update| gcd(step, update.amount));
    let sums = |event: EventId| {
        let facts = about_values.get(&event).filter(|_| step > 0 && (most - start) / step <= SUMS_MAX)?;
        let sums = (0..=(most - start) / step).map(|n| start + n * step);
        Some(sums.filter(|&sum| super::base::holds_of(&graph.terms, facts, sum)).collect())
    };
    let readers = readers.into_iter().map(|event| Reader { event, sums: sums(event) }).collect();
    Some(Counter { init, start, updates, readers })
}

/// What an atomic adds to what it has read.
fn amount(graph: &EventGraph, read: EventId, write: EventId) -> Option<u128> {
    let (read, write) = (graph.events[read].kind.access()?, graph.events[write].kind.access()?);
    if write.atomic == AtomicClass::None || read.width_bytes != write.width_bytes {
        return None;
    }
    match *graph.terms.kind(write.value) {
        _ if write.value == read.value => Some(0),
        TermKind::Add(a, b) if a == read.value => graph.terms.constant_value(b),
        TermKind::Add(a, b) if b == read.value => graph.terms.constant_value(a),
        _ => None,
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What is known of the words that count, beyond the bounds of relations.
#[derive(Clone, Default, Debug)]
pub struct Counted {
    /// Pairs that terms certainly have whatever the chain is.
    pub certain: SortedMap<TermId, BitMatrix>,
    /// Pairs that terms have if and only if the second event reads a sum with the first in it.
    pub chains: SortedMap<TermId, BitMatrix>,
    /// `(a, b)`: `b` happens whenever `a` does, since what `a` reads has it in it.
    pub follows: Vec<(EventId, EventId)>,
    /// The words of which that is so, by their initial writes.
    words: SortedSet<EventId>,
    /// Of their updates, the write of each read.
    pub writes: SortedMap<EventId, EventId>,
    /// The smallest and the largest value that the read of an update returns.
    pub sums: SortedMap<EventId, (u128, u128)>,
    /// Of words that are set back ([`resets`]), `[a, b, c]`: where `a` happens, `b` is coherence-before `c`.
    pub before: Vec<[EventId; 3]>,
    /// Of the same, updates and writes of which one comes before: it happens, and is coherence-before.
    pub after_one: Vec<(EventId, Vec<EventId>)>,
}

/// What a round of tightening learns of the words that count. Returns whether anything is new.
pub fn tighten(basis: &mut Basis, model: &MemoryModel, values: &Values<MayMustSet, MayMust>) -> bool {
    let counters = basis.counters.clone();
    if counters.is_empty() {
        return false;
    }
    let grounds = Grounds::new(basis, model, values);
    let mut changed = false;
    for counter in counters.iter() {
        if let Some(coherent) = grounds.of(basis, &counter.updates, &[]) {
            changed |= Count::new(counter, &grounds, coherent, basis).tighten(basis);
        }
    }
    changed
}

/// One word, and why it counts.
struct Count<'a> {
    counter: &'a Counter,
    coherent: &'a Coherent,
    /// Terms that have the ends of all chains of its updates.
    chains: Vec<&'a Chain>,
    /// By update, the largest sum that its thread, or itself, has certainly read before.
    gates: Vec<u128>,
    /// The writes of its updates.
    writes: EventSet,
}

/// What is known of the order of a word's writes.
struct Order {
    /// By update, what comes certainly before it.
    before: FxHashMap<EventId, EventSet>,
    /// By update, the smallest and the largest sum up to it.
    sums: FxHashMap<EventId, (u128, u128)>,
}

/// Of a read: the updates that are in what it reads.
struct Seen {
    /// They happen whenever the read does.
    always: EventSet,
    /// If they happen.
    others: EventSet,
}

impl<'a> Count<'a> {
    fn new(counter: &'a Counter, grounds: &'a Grounds, coherent: &'a Coherent, basis: &Basis) -> Self {
        let is_coherent = |reader: &&Reader| {
            reader.sums.is_some()
                && counter.updates.iter().all(|update| coherent.rf.contains(update.write, reader.event))
        };
        let gating: Vec<&Reader> = counter.readers.iter().filter(is_coherent).collect();
        crate::work::count(crate::work::Work::Pair, counter.updates.len() * (1 + gating.len()));
        let gate = |update: &Update| {
            let own = gating.iter().filter(|reader| {
                basis.implies.contains(update.write, reader.event)
                    && coherent.must.contains(reader.event, update.write)
            });
            own.map(|reader| reader.least()).max().unwrap_or(0)
        };
        let gates = counter.updates.iter().map(gate).collect();
        let chains = grounds.chains.iter().filter(|chain| chain.is_of(counter)).collect();
        let writes = counter.updates.iter().map(|update| update.write);
        let writes = EventSet::from_iter(basis.coexist.universe(), writes);
        Self { counter, coherent, chains, gates, writes }
    }

    fn tighten(&self, basis: &mut Basis) -> bool {
        let mut changed = self.order(basis);
        let order = self.order_of(basis);
        for reader in &self.counter.readers {
            let seen = self.seen(basis, &order, reader);
            changed |= imply(basis, reader, &seen);
            changed |= self.forbid_sources(basis, &order, reader, &seen);
            changed |= self.chain(basis, reader, &seen);
        }
        basis.counted.words.insert(self.counter.init);
        let order = self.order_of(basis);
        for update in &self.counter.updates {
            basis.counted.writes.insert(update.read, update.write);
            let (least, most) = order.sums[&update.write];
            // Otherwise it does not happen.
            if least <= most {
                basis.counted.sums.insert(update.read, (least - update.amount, most - update.amount));
            }
        }
        changed
    }

    /// Updates without which those that are not gated by a sum do not make it; and the gated ones.
    fn needed(&self, sum: u128) -> (Vec<EventId>, Vec<EventId>) {
        let updates = || self.counter.updates.iter().zip(&self.gates);
        let free = || updates().filter(|&(_, &gate)| gate < sum).map(|(update, _)| update);
        let all: u128 = self.counter.start + free().map(|update| update.amount).sum::<u128>();
        let needed = free().filter(|update| all - update.amount < sum).map(|update| update.write).collect();
        let gated = updates().filter(|&(_, &gate)| gate >= sum).map(|(update, _)| update.write).collect();
        (needed, gated)
    }

    /// Coherence between free and gated updates.
    fn order(&self, basis: &mut Basis) -> bool {
        let sums: SortedSet<u128> =
            self.gates.iter().copied().filter(|&gate| gate > self.counter.start).collect();
        let mut changed = false;
        for sum in sums {
            let (needed, gated) = self.needed(sum);
            let co = basis.bounds_mut(BaseRelation::Coherence);
            crate::work::count(crate::work::Work::Pair, needed.len() * gated.len());
            for (&a, b) in needed.iter().flat_map(|a| gated.iter().map(move |&b| (a, b))) {
                if co.may.contains(a, b) && !co.must.contains(a, b) {
                    co.must.insert(a, b);
                    changed = true;
                }
            }
        }
        changed
    }

    fn order_of(&self, basis: &Basis) -> Order {
        let co = &basis.bounds(BaseRelation::Coherence).must;
        let (n, back) = (basis.coexist.universe(), co.inverse());
        let mut order = Order { before: FxHashMap::default(), sums: FxHashMap::default() };
        crate::work::count(
            crate::work::Work::Pair,
            self.counter.updates.len() * (n / 64 + self.counter.updates.len()),
        );
        for &Update { write, .. } in &self.counter.updates {
            order.before.insert(write, EventSet::from_iter(n, back.successors(write)));
            order.sums.insert(write, self.range(basis, co, write));
        }
        order
    }

    fn seen(&self, basis: &Basis, order: &Order, reader: &Reader) -> Seen {
        let n = basis.coexist.universe();
        let updates = || self.counter.updates.iter().map(|update| update.write);
        let mut always = EventSet::empty(n);
        if reader.least() > self.counter.start {
            always = EventSet::from_iter(n, self.needed(reader.least()).0);
        }
        let mut seen = always.clone();
        if let Some(own) = self.counter.updates.iter().find(|update| update.read == reader.event) {
            seen.extend(&order.before[&own.write]);
        }
        // What the thread itself, or whoever the axiom says, has added before.
        let coherent = |y: EventId| {
            self.coherent.must.contains(y, reader.event) && self.coherent.fr.contains(reader.event, y)
        };
        seen.extend(&EventSet::from_iter(n, updates().filter(|&y| coherent(y))));
        let mut before = EventSet::empty(n);
        for z in seen.intersection(&self.writes).iter() {
            crate::work::count(crate::work::Work::Word, n / 64);
            if always.contains(z) || basis.implies.contains(reader.event, z) {
                before.extend(&order.before[&z]);
            } else {
                let with = order.before[&z].iter().filter(|&y| basis.implies.contains(y, z));
                before.extend(&EventSet::from_iter(n, with));
            }
        }
        let seen = seen.union(&before).intersection(&self.writes);
        let implied = EventSet::from_iter(n, basis.implies.successors_in(reader.event, &seen));
        let always = always.union(&implied);
        Seen { others: seen.difference(&always), always }
    }

    /// Sources before what is seen, and sources whose sum is none that the read may return.
    fn forbid_sources(&self, basis: &mut Basis, order: &Order, reader: &Reader, seen: &Seen) -> bool {
        let n = basis.coexist.universe();
        let mut too_early = EventSet::empty(n);
        for y in seen.always.iter() {
            crate::work::count(crate::work::Work::Word, n / 64);
            too_early.extend(&order.before[&y]);
        }
        let start = (self.counter.start, self.counter.start);
        let may_be = |s: EventId| {
            let Some(sums) = &reader.sums else { return true };
            let (least, most) = order.sums.get(&s).copied().unwrap_or(start);
            least <= most && sums.range(least..=most).next().is_some()
        };
        let all = self.counter.updates.iter().map(|update| update.write).chain([self.counter.init]);
        let possible = |&s: &EventId| basis.bounds(BaseRelation::ReadsFrom).may.contains(s, reader.event);
        let out: Vec<EventId> =
            all.filter(possible).filter(|&s| too_early.contains(s) || !may_be(s)).collect();
        for &source in &out {
            basis.bounds_mut(BaseRelation::ReadsFrom).may.remove(source, reader.event);
        }
        !out.is_empty()
    }

    /// The smallest and the largest sum up to an update.
    fn range(&self, basis: &Basis, co: &BitMatrix, up_to: EventId) -> (u128, u128) {
        let (mut least, mut most) = (self.counter.start, self.counter.start);
        for update in &self.counter.updates {
            let is_own = update.write == up_to;
            if is_own || (co.contains(update.write, up_to) && basis.implies.contains(up_to, update.write)) {
                least += update.amount;
            }
            if is_own || (!co.contains(up_to, update.write) && basis.coexist.contains(up_to, update.write)) {
                most += update.amount;
            }
        }
        (least, most)
    }

    /// Pairs of the terms that are made of chains.
    fn chain(&self, basis: &mut Basis, reader: &Reader, seen: &Seen) -> bool {
        let n = basis.coexist.universe();
        let mut changed = false;
        for chain in self.chains.iter().filter(|chain| chain.leads(self.counter, reader.event)) {
            let chains = basis.counted.chains.entry(chain.term).or_insert_with(|| BitMatrix::empty(n));
            chains.fill(&self.writes, &EventSet::from_iter(n, [reader.event]));
            let certain = basis.counted.certain.entry(chain.term).or_insert_with(|| BitMatrix::empty(n));
            for update in seen.always.iter().chain(seen.others.iter()) {
                if !certain.contains(update, reader.event) {
                    certain.insert(update, reader.event);
                    changed = true;
                }
            }
        }
        changed
    }
}

/// What a read has in it has happened.
fn imply(basis: &mut Basis, reader: &Reader, seen: &Seen) -> bool {
    let new: Vec<EventId> =
        seen.always.iter().filter(|&update| !basis.implies.contains(reader.event, update)).collect();
    new.iter().for_each(|&update| basis.imply(reader.event, update));
    !new.is_empty()
}
