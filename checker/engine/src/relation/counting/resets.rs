//! Words that count and are set back: atomics add constants to them, and other writes put constants there.
//!
//! The counter of a sense-reversing barrier is one. The last to arrive sets it back, and whoever arrives for the next round
//! does so behind that, so arrivals of a round come after all those of the rounds before. That is found out round by round,
//! since it takes one round's order to know the next one's.
//!
//! Of the model the same is needed as for words that only additions write ([`super`]), of updates and all other writes: the
//! writes are in one order, and an update takes its value from the one right before. So what an update has read is what the
//! last reset before it has put there (or the initial value), and the additions of the updates in between.
//!
//! A *key* of a reset is an update that happens whenever the reset does, certainly coherence-before it, and that has then
//! read something that is at least *n*, which the reset's guard says: with its own addition the sum up to it is at least T.
//!
//! Sound: let `b` be the largest value that the initial write or a reset has. A step begins with updates `left` (at first
//! all) and parts them into the *early* and the *late*, so that
//!
//! 1. each late update that happens has a reset of a set Z coherence-before it, in every execution: that is asked of the
//!    solver, whose *unsatisfiable* makes it so whatever it is due to;
//! 2. each reset in Z has a key in `left`;
//! 3. the amounts of the early updates without any one of them do not add up to T − `b`, for the smallest T of Z's keys.
//!
//! It ends with: in every execution in which some late update happens, all early ones happen, and there is a reset z that
//! is coherence-after every update that is not late and happens, and coherence-before every late one. By induction, let z'
//! be the reset of the step before, if there was one: after all updates that were not in `left`, and before those that were,
//! of which one happens.
//! Let z be the first in coherence of the resets of Z that happen; by (1) all late updates come after it. Its key x is
//! before z, so x is not late, and x is in `left` (2), so it is early, and after z'. Since the last reset before x, which is
//! z' or after it, come no updates but those in `left`, and of these no late one is before x, since x is before z and z is
//! before them. So what x has added to is `b` at most and early updates, and without any one of them the sum is not T (3):
//! all of them happen, are x or before it, and so before z. Those that were not in `left` are before z', which is before x.
//!
//! The same says of any reset in Z with an early key x that early updates are x or before it: if a late one is before x,
//! then all early ones are before that; otherwise the sum up to x is of early ones only, as above. For this nothing need be
//! late.
//!
//! An update that is late does not read from one that is not, nor the initial value: z is in between.
//!
//! Of the late updates only those are asked about before which none of the others certainly comes: what comes before those
//! comes before the others, too.
//!
//! All this is of every execution of the formula, so it is stated in the formula, too.
//!
//! Needs: [`Need::TotalCoherence`](crate::facts::needs::Need::TotalCoherence),
//! [`Need::OneCell`](crate::facts::needs::Need::OneCell). The one is asked of each word by `Rounds::new`, the other of each access
//! by `word`.

use super::grounds::Grounds;
use super::{SUMS_MAX, UPDATES_MAX, Update, amount};
use crate::event::cell::Cells;
use crate::event::term::mask;
use crate::event::{AgentId, EventGraph, EventId, EventKind, TermKind, TermRef};
use crate::relation::base::{Basis, holds_of};
use crate::relation::{MayMust, RelationTable};
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::FxHashMap;

/// A word that additions and writes of constants write.
#[derive(Clone, Debug)]
pub struct Word {
    init: EventId,
    /// The largest value that anything but an update writes.
    base: u128,
    updates: Vec<Update>,
    /// The threads of the updates.
    threads: Vec<Option<AgentId>>,
    resets: Vec<Reset>,
}

/// A write of a constant.
#[derive(Clone, Debug)]
struct Reset {
    write: EventId,
    /// Updates of whose value something is known where the reset happens, and the least sum up to them.
    keys: Vec<(usize, u128)>,
}

/// The words of a graph that are written by additions of constants and by writes of constants, some by each. `facts` has
/// what follows from an event's happening.
pub fn words<'a>(
    graph: &EventGraph,
    cells: &Cells,
    location: &MayMust,
    facts: &dyn Fn(EventId) -> Option<&'a SortedSet<TermRef>>,
) -> Vec<Word> {
    let reads: FxHashMap<EventId, EventId> = graph.rmw.iter().map(|&(read, write)| (write, read)).collect();
    let inits = graph.events.iter_enumerated().filter(|(_, event)| matches!(event.kind, EventKind::Init(_)));
    inits.filter_map(|(init, _)| word(graph, cells, location, facts, &reads, init)).collect()
}

fn word<'a>(
    graph: &EventGraph,
    cells: &Cells,
    location: &MayMust,
    facts: &dyn Fn(EventId) -> Option<&'a SortedSet<TermRef>>,
    reads: &FxHashMap<EventId, EventId>,
    init: EventId,
) -> Option<Word> {
    let initial = graph.events[init].kind.access()?;
    let mut base = graph.terms.constant_value(initial.value)?;
    let is_whole = |event: EventId| {
        let access = graph.events[event].kind.access();
        location.must.contains(init, event) && access.is_some_and(|access| cells.n_pieces(access) == 1)
    };
    let (mut updates, mut others) = (Vec::new(), Vec::new());
    for event in location.may.successors(init).filter(|&event| event != init) {
        match &graph.events[event].kind {
            EventKind::Read(_) => {}
            EventKind::Write(access) if is_whole(event) && updates.len() + others.len() < UPDATES_MAX => {
                let added = reads.get(&event).and_then(|&read| Some((read, amount(graph, read, event)?)));
                if let Some((read, amount)) = added {
                    updates.push(Update { read, write: event, amount });
                } else {
                    base = base.max(graph.terms.constant_value(access.value)?);
                    others.push(event);
                }
            }
            _ => return None,
        }
    }
    let width = u8::try_from(initial.width_bytes * 8).ok()?;
    let most = updates.iter().try_fold(base, |sum, update| sum.checked_add(update.amount))?;
    if updates.len() < 2 || others.is_empty() || most > mask(width).min(SUMS_MAX) || !is_whole(init) {
        return None;
    }
    let values = updates.iter().enumerate().filter_map(|(index, update)| {
        let access = graph.events[update.read].kind.access()?;
        Some((access.value, index))
    });
    let of_value: FxHashMap<TermRef, usize> = values.collect();
    let keys = |reset: EventId| {
        let mut known: Vec<Vec<TermRef>> = vec![Vec::new(); updates.len()];
        for &fact in facts(reset).into_iter().flatten() {
            if let Some(index) = compared(graph, fact).and_then(|value| of_value.get(&value)) {
                known[*index].push(fact);
            }
        }
        let least = |facts: &[TermRef]| (0..=most).find(|&sum| holds_of(&graph.terms, facts, sum));
        let key = |(index, facts): (usize, &Vec<TermRef>)| {
            // Where no sum will do, the reset does not happen.
            let least = least(facts).filter(|_| !facts.is_empty())?;
            Some((index, least + updates[index].amount))
        };
        known.iter().enumerate().filter_map(key).collect()
    };
    let resets = others.into_iter().map(|write| Reset { write, keys: keys(write) }).collect();
    let threads = updates.iter().map(|update| graph.events[update.write].agent).collect();
    Some(Word { init, base, updates, threads, resets })
}

/// What a fact compares with a constant.
fn compared(graph: &EventGraph, fact: TermRef) -> Option<TermRef> {
    let inner = match *graph.terms.kind(fact) {
        TermKind::Not(inner) => inner,
        _ => fact,
    };
    let (TermKind::Equal(a, b) | TermKind::Less(a, b)) = *graph.terms.kind(inner) else { return None };
    match (graph.terms.constant_value(a), graph.terms.constant_value(b)) {
        (None, Some(_)) => Some(a),
        (Some(_), None) => Some(b),
        _ => None,
    }
}

/// The order of one word's updates, as far as it is known.
#[derive(Debug)]
pub struct Rounds<'a> {
    word: &'a Word,
    /// Updates whose order is still to be found.
    left: SortedSet<usize>,
}

/// A step: some of the updates that are left come before the others.
#[derive(Debug)]
pub struct Step<'a> {
    word: &'a Word,
    early: SortedSet<usize>,
    late: SortedSet<usize>,
    /// Resets with a key among those left: which one, and its key.
    resets: Vec<(EventId, usize)>,
    /// The smallest sum up to a key.
    sum: u128,
}

impl<'a> Rounds<'a> {
    /// At the start; `None` if the model does not say of the word what is needed.
    pub fn new(word: &'a Word, model: &MemoryModel, table: &RelationTable) -> Option<Self> {
        let resets: Vec<EventId> = word.resets.iter().map(|reset| reset.write).collect();
        Grounds::new(&table.basis, model, &table.values).of(&table.basis, &word.updates, &resets)?;
        Some(Self { word, left: (0..word.updates.len()).collect() })
    }

    /// What is worth asking next: whether of the updates that are left the first of each thread are early. `None` if
    /// nothing is.
    pub fn next(&self, basis: &Basis) -> Option<Step<'a>> {
        let word = self.word;
        let co = &basis.bounds(BaseRelation::Coherence).must;
        let key_of = |reset: &Reset| {
            let is_key = |&&(index, _): &&(usize, u128)| {
                let key = word.updates[index].write;
                self.left.contains(&index)
                    && basis.implies.contains(reset.write, key)
                    && co.contains(key, reset.write)
            };
            let &(index, sum) = reset.keys.iter().filter(is_key).max_by_key(|&&(_, sum)| sum)?;
            Some((reset.write, index, sum))
        };
        let keys: Vec<(EventId, usize, u128)> = word.resets.iter().filter_map(key_of).collect();
        let sum = keys.iter().map(|&(_, _, sum)| sum).min()?;
        let resets = keys.into_iter().map(|(reset, index, _)| (reset, index)).collect();
        let is_of_one = |a: usize, b: usize| word.threads[a] == word.threads[b];
        let early: SortedSet<usize> = first(word, basis, &self.left, &is_of_one);
        let late = self.left.difference(&early).copied().collect();
        Some(Step { word, early, late, resets, sum })
    }

    /// What is left after a step.
    pub fn go_on(&mut self, step: &Step<'_>) {
        self.left.clone_from(&step.late);
    }
}

/// Of some updates, those that none of the others, as far as they are compared, always precedes.
fn first(
    word: &Word,
    basis: &Basis,
    among: &SortedSet<usize>,
    are_compared: &dyn Fn(usize, usize) -> bool,
) -> SortedSet<usize> {
    let co = &basis.bounds(BaseRelation::Coherence).must;
    let write = |index: usize| word.updates[index].write;
    crate::work::count(crate::work::Work::Pair, among.len() * among.len());
    let is_after =
        |a: usize, b: usize| co.contains(write(b), write(a)) && basis.implies.contains(write(a), write(b));
    among
        .iter()
        .copied()
        .filter(|&a| !among.iter().any(|&b| a != b && are_compared(a, b) && is_after(a, b)))
        .collect()
}

impl Step<'_> {
    /// Whether the early ones are all needed for the sum (3).
    pub fn is_exact(&self) -> bool {
        let amounts = || self.early.iter().map(|&index| self.word.updates[index].amount);
        let all = amounts().fold(self.word.base, u128::saturating_add);
        amounts().all(|amount| all - amount < self.sum)
    }

    /// Late updates such that, if each of them comes after a reset, all late ones do.
    pub fn asked(&self, basis: &Basis) -> Vec<EventId> {
        first(self.word, basis, &self.late, &|_, _| true)
            .into_iter()
            .map(|index| self.word.updates[index].write)
            .collect()
    }

    /// The resets of which one is to come before (Z).
    pub fn resets(&self) -> impl Iterator<Item = EventId> + '_ {
        self.resets.iter().map(|&(reset, _)| reset)
    }

    /// Takes back that an update is late.
    pub fn is_not_late(&mut self, update: EventId) {
        let (late, early) = self.late.iter().partition(|&&index| self.word.updates[index].write != update);
        self.late = late;
        self.early.extend::<SortedSet<usize>>(early);
    }

    /// What follows, if each late update comes after a reset and the step [is exact](Self::is_exact).
    pub fn conclude(&self, basis: &mut Basis) {
        let write = |&index: &usize| self.word.updates[index].write;
        let asked = self.asked(basis);
        let resets: Vec<EventId> = self.resets().collect();
        basis.counted.after_one.extend(asked.into_iter().map(|update| (update, resets.clone())));
        for (early, late) in
            self.early.iter().flat_map(|early| self.late.iter().map(move |late| (early, late)))
        {
            certainly_before(basis, write(early), write(late));
            imply(basis, write(late), write(early));
        }
        let rf = basis.bounds_mut(BaseRelation::ReadsFrom);
        for late in &self.late {
            let read = self.word.updates[*late].read;
            self.early
                .iter()
                .map(write)
                .chain([self.word.init])
                .for_each(|source| rf.may.remove(source, read));
        }
        for &(reset, key) in self.resets.iter().filter(|(_, key)| self.early.contains(key)) {
            for early in &self.early {
                certainly_before(basis, write(early), reset);
                imply(basis, reset, write(early));
                if *early != key {
                    basis.counted.before.push([reset, write(early), write(&key)]);
                }
            }
        }
    }
}

fn certainly_before(basis: &mut Basis, a: EventId, b: EventId) {
    let co = basis.bounds_mut(BaseRelation::Coherence);
    if co.may.contains(a, b) {
        co.must.insert(a, b);
    }
}

fn imply(basis: &mut Basis, a: EventId, b: EventId) {
    if !basis.implies.contains(a, b) {
        basis.imply(a, b);
    }
}
