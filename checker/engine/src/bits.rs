//! Sets of events and binary relations over them, 64 bits at a time.
//!
//! A relation is a row per event, and a row keeps only what is not empty and shares what another row has already
//! (`row`). So a relation costs about as many words as it has neighbourhoods that differ: over 10 000 events of
//! barrier code that is kilobytes for most relations and some megabytes for causality. Closures go from last to first
//! event, each row the union of few (`closure`). What this cannot do well are relations whose rows are all long and
//! all different; those cost `n²/8` bytes as in a plain bit matrix.

pub(crate) mod closure;
mod row;

use crate::event::EventId;
use crate::work::{self, Work};
use fencepost_dsl::index::Id;
use row::{Combine, Row, RowKey};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// A set of events of one graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventSet {
    n: usize,
    words: Vec<u64>,
}

fn n_words(n: usize) -> usize {
    n.div_ceil(64)
}

fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| ones_of_word(at, word))
}

/// The members that the word at index `at` stands for.
fn ones_of_word(at: usize, word: u64) -> impl Iterator<Item = usize> {
    let mut rest = word;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            at * 64 + bit
        })
    })
}

/// Makes bit `b` of word `a` bit `a` of word `b`: halves change places, then halves of halves.
fn transpose(square: &mut [u64; 64]) {
    let (mut half, mut mask) = (32, u64::from(u32::MAX));
    while half > 0 {
        for a in (0..64).filter(|a| a & half == 0) {
            let other = (square[a] >> half ^ square[a | half]) & mask;
            square[a] ^= other << half;
            square[a | half] ^= other;
        }
        half /= 2;
        mask ^= mask << half;
    }
}

impl EventSet {
    /// The empty set over `n` events.
    pub fn empty(n: usize) -> Self {
        Self { n, words: vec![0; n_words(n)] }
    }
    /// All `n` events.
    pub fn full(n: usize) -> Self {
        let mut set = Self { n, words: vec![u64::MAX; n_words(n)] };
        if !n.is_multiple_of(64)
            && let Some(last) = set.words.last_mut()
        {
            *last = (1 << (n % 64)) - 1;
        }
        set
    }
    /// The given events.
    pub fn from_iter(n: usize, members: impl IntoIterator<Item = EventId>) -> Self {
        let mut set = Self::empty(n);
        for event in members {
            set.insert(event);
        }
        set
    }
    /// The events for which `member` holds.
    pub fn from_fn(n: usize, mut member: impl FnMut(EventId) -> bool) -> Self {
        let mut set = Self::empty(n);
        for event in (0..n).map(EventId::from_index) {
            if member(event) {
                set.insert(event);
            }
        }
        set
    }
    /// Number of events of the graph.
    pub fn universe(&self) -> usize {
        self.n
    }
    /// Adds all of another set.
    pub fn extend(&mut self, other: &Self) {
        for (into, &word) in self.words.iter_mut().zip(&other.words) {
            *into |= word;
        }
    }
    /// Adds an event.
    pub fn insert(&mut self, event: EventId) {
        self.words[event.index() / 64] |= 1 << (event.index() % 64);
    }
    /// Whether it is a member.
    pub fn contains(&self, event: EventId) -> bool {
        self.words[event.index() / 64] >> (event.index() % 64) & 1 == 1
    }
    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = EventId> + '_ {
        ones(&self.words).map(EventId::from_index)
    }
    /// Whether it has no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
    /// Combines two sets word by word.
    #[must_use]
    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        assert_eq!(self.n, other.n, "sets of one graph");
        Self { n: self.n, words: self.words.iter().zip(&other.words).map(|(&a, &b)| combine(a, b)).collect() }
    }
    /// Union.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }
    /// Intersection.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }
    /// Members of `self` only.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
}

/// A binary relation over the events of one graph. Cloning shares everything.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitMatrix {
    n: usize,
    rows: Arc<Vec<Row>>,
}

impl BitMatrix {
    /// The empty relation over `n` events.
    pub fn empty(n: usize) -> Self {
        Self { n, rows: Arc::new(vec![Row::Empty; n]) }
    }
    fn of_rows(n: usize, rows: Vec<Row>) -> Self {
        Self { n, rows: Arc::new(rows) }
    }
    fn n_words(&self) -> usize {
        n_words(self.n)
    }
    fn n_blocks(&self) -> usize {
        n_words(self.n).div_ceil(row::BLOCK)
    }
    /// All pairs.
    pub fn full(n: usize) -> Self {
        Self::product(&EventSet::full(n), &EventSet::full(n))
    }
    /// All `(a, b)` with `a` in `from` and `b` in `to`.
    pub fn product(from: &EventSet, to: &EventSet) -> Self {
        let row = Row::of_words(&to.words);
        let mut rows = vec![Row::Empty; from.n];
        for a in from.iter() {
            rows[a.index()] = row.clone();
        }
        Self::of_rows(from.n, rows)
    }
    /// `(a, a)` for the members of `set`.
    pub fn identity(set: &EventSet) -> Self {
        let mut matrix = Self::empty(set.n);
        for a in set.iter() {
            matrix.insert(a, a);
        }
        matrix
    }
    /// The given pairs. Rows with the same successors share memory.
    pub fn from_pairs(n: usize, mut pairs: Vec<(EventId, EventId)>) -> Self {
        pairs.sort_unstable();
        let mut rows = RowWriter::new(n);
        for of_one in pairs.chunk_by(|(a, _), (b, _)| a == b) {
            for &(_, b) in of_one {
                rows.insert(b);
            }
            rows.end(of_one[0].0);
        }
        rows.finish()
    }
    /// Number of events of the graph.
    pub fn universe(&self) -> usize {
        self.n
    }
    /// Adds a pair.
    pub fn insert(&mut self, a: EventId, b: EventId) {
        self.replace(a, b, |word, bit| word | bit);
    }
    /// Removes a pair.
    pub fn remove(&mut self, a: EventId, b: EventId) {
        self.replace(a, b, |word, bit| word & !bit);
    }
    fn replace(&mut self, a: EventId, b: EventId, change: impl Fn(u64, u64) -> u64) {
        let n_blocks = self.n_blocks();
        let row = &mut Arc::make_mut(&mut self.rows)[a.index()];
        let word = row.word(n_blocks, b.index() / 64);
        row.with_word(n_blocks, b.index() / 64, change(word, 1 << (b.index() % 64)));
    }
    /// Adds all `(a, b)` with `a` in `from` and `b` in `to`.
    pub fn fill(&mut self, from: &EventSet, to: &EventSet) {
        let (n_blocks, added, mut scratch) = (self.n_blocks(), Row::of_words(&to.words), Vec::new());
        let rows = Arc::make_mut(&mut self.rows);
        // The old rows are kept beside the new ones so that no key outlives what it stands for.
        let mut known: FxHashMap<RowKey, (Row, Row)> = FxHashMap::default();
        for a in from.iter() {
            let old = rows[a.index()].clone();
            let entry = known.entry(old.key()).or_insert_with(|| {
                let new = old.combine(&added, n_blocks, Combine::Union, &mut scratch);
                (old, new)
            });
            rows[a.index()] = entry.1.clone();
        }
    }
    /// Whether the pair is in it.
    pub fn contains(&self, a: EventId, b: EventId) -> bool {
        self.rows[a.index()].contains(self.n_blocks(), b.index())
    }
    /// Whether all successors of `a` are successors of `b` in `other`.
    pub fn is_row_within(&self, a: EventId, other: &Self, b: EventId) -> bool {
        self.rows[a.index()].is_subset(&other.rows[b.index()], self.n_blocks())
    }
    /// The successors of `a`, ascending.
    pub fn successors(&self, a: EventId) -> impl Iterator<Item = EventId> + '_ {
        self.rows[a.index()]
            .words(self.n_blocks())
            .flat_map(|(at, word)| ones_of_word(at, word))
            .map(EventId::from_index)
    }
    /// The successors of `a` that are in `set`, ascending.
    pub fn successors_in<'a>(&'a self, a: EventId, set: &'a EventSet) -> impl Iterator<Item = EventId> + 'a {
        self.rows[a.index()]
            .words(self.n_blocks())
            .flat_map(|(at, word)| ones_of_word(at, word & set.words[at]))
            .map(EventId::from_index)
    }
    /// The events that a pair from `a` leads to and from which one leads to `b` in the inverse of `back`, ascending.
    pub fn between<'a>(
        &'a self,
        a: EventId,
        back: &'a Self,
        b: EventId,
    ) -> impl Iterator<Item = EventId> + 'a {
        let (one, other) = (&self.rows[a.index()], &back.rows[b.index()]);
        let (few, many) = if one.n_words() <= other.n_words() { (one, other) } else { (other, one) };
        let n_blocks = self.n_blocks();
        few.words(n_blocks)
            .flat_map(move |(at, word)| ones_of_word(at, word & many.word(n_blocks, at)))
            .map(EventId::from_index)
    }
    /// All pairs, ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        (0..self.n).map(EventId::from_index).flat_map(move |a| self.successors(a).map(move |b| (a, b)))
    }
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.rows.iter().map(|row| row.len(self.n_blocks())).sum()
    }
    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(Row::is_empty)
    }
    /// Whether both are one relation in memory, which is enough for being equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
    }
    fn combine(&self, other: &Self, how: Combine) -> Self {
        assert_eq!(self.n, other.n, "relations of one graph");
        if self.is_same(other) {
            return if how == Combine::Difference { Self::empty(self.n) } else { self.clone() };
        }
        let n_blocks = self.n_blocks();
        let mut scratch = Vec::new();
        // Rows met before, for those that many events share.
        let mut known: FxHashMap<(RowKey, RowKey), Row> = FxHashMap::default();
        let rows = self
            .rows
            .iter()
            .zip(other.rows.iter())
            .map(|(a, b)| match (a, b) {
                (Row::Many(_), Row::Many(_) | Row::One { .. }) | (Row::One { .. }, Row::Many(_)) => known
                    .entry((a.key(), b.key()))
                    .or_insert_with(|| a.combine(b, n_blocks, how, &mut scratch))
                    .clone(),
                _ => a.combine(b, n_blocks, how, &mut scratch),
            })
            .collect();
        Self::of_rows(self.n, rows)
    }
    /// Union.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, Combine::Union)
    }
    /// Intersection.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, Combine::Intersection)
    }
    /// Pairs of `self` only.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, Combine::Difference)
    }
    /// The converse.
    #[must_use]
    pub fn inverse(&self) -> Self {
        // By distinct row: who has it.
        let mut number: FxHashMap<RowKey, usize> = FxHashMap::default();
        let mut owners: Vec<Vec<usize>> = Vec::new();
        let mut n_of_row: Vec<usize> = Vec::new();
        let mut n_pairs = 0;
        for (a, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            let next = owners.len();
            let id = *number.entry(row.key()).or_insert(next);
            if id == next {
                owners.push(Vec::new());
                n_of_row.push(row.len(self.n_blocks()));
            }
            n_pairs += n_of_row[id];
            owners[id].push(a);
        }
        // Where there are more of them than words, it is done word by word.
        if n_pairs > self.n * self.n_words() {
            return self.inverse_by_words();
        }
        // Per event, which distinct rows it is in.
        let mut within: Vec<Vec<usize>> = vec![Vec::new(); self.n];
        for (id, owners) in owners.iter().enumerate() {
            for (at, word) in self.rows[owners[0]].words(self.n_blocks()) {
                for b in ones_of_word(at, word) {
                    within[b].push(id);
                }
            }
        }
        let mut rows = RowWriter::new(self.n);
        for (b, ids) in within.iter().enumerate().filter(|(_, ids)| !ids.is_empty()) {
            for &a in ids.iter().flat_map(|&id| &owners[id]) {
                rows.insert(EventId::from_index(a));
            }
            rows.end(EventId::from_index(b));
        }
        rows.finish()
    }
    /// The same, 64 by 64 events at a time.
    fn inverse_by_words(&self) -> Self {
        let (stride, n_blocks) = (self.n_words(), self.n_blocks());
        work::count(Work::Word, 8 * self.n * stride);
        let mut rows = RowWriter::new(self.n);
        let mut found = vec![0u64; 64 * stride];
        for at in 0..stride {
            for (place, of_rows) in self.rows.chunks(64).enumerate() {
                let mut square = [0u64; 64];
                for (word, row) in square.iter_mut().zip(of_rows) {
                    *word = row.word(n_blocks, at);
                }
                if square.iter().any(|&word| word != 0) {
                    transpose(&mut square);
                }
                square.iter().enumerate().for_each(|(b, &word)| found[b * stride + place] = word);
            }
            for (b, row) in (at * 64..self.n).zip(found.chunks(stride)) {
                rows.words.copy_from_slice(row);
                rows.used = 0..stride;
                rows.end(EventId::from_index(b));
            }
        }
        rows.finish()
    }
    /// Whether it has no cycle: events without open predecessors are taken out until none is left.
    pub fn is_acyclic(&self) -> bool {
        let mut n_predecessors = vec![0u32; self.n];
        for (_, b) in self.pairs() {
            n_predecessors[b.index()] += 1;
        }
        let mut free: Vec<EventId> =
            (0..self.n).map(EventId::from_index).filter(|event| n_predecessors[event.index()] == 0).collect();
        let mut n_left = self.n;
        while let Some(event) = free.pop() {
            n_left -= 1;
            for after in self.successors(event) {
                n_predecessors[after.index()] -= 1;
                if n_predecessors[after.index()] == 0 {
                    free.push(after);
                }
            }
        }
        n_left == 0
    }
    /// The events with a successor.
    pub fn domain(&self) -> EventSet {
        EventSet::from_fn(self.n, |a| !self.rows[a.index()].is_empty())
    }
    /// Per event the least and the greatest number that its successors have; events with the same successors share the work.
    pub fn extremes(&self, number: impl Fn(EventId) -> u32) -> impl Iterator<Item = Option<(u32, u32)>> {
        let mut known: FxHashMap<RowKey, Option<(u32, u32)>> = FxHashMap::default();
        let of_row = move |a: EventId| {
            self.successors(a).map(&number).fold(None, |extremes, b| {
                let (first, last) = extremes.unwrap_or((b, b));
                Some((b.min(first), b.max(last)))
            })
        };
        let ids = (0..self.n).map(EventId::from_index);
        ids.zip(self.rows.iter()).map(move |(a, row)| *known.entry(row.key()).or_insert_with(|| of_row(a)))
    }
    /// The events with a predecessor.
    pub fn range(&self) -> EventSet {
        let mut range = EventSet::empty(self.n);
        let mut last = RowKey::Empty;
        for row in self.rows.iter() {
            if row.key() != last {
                row.or_into(self.n_blocks(), &mut range.words);
                last = row.key();
            }
        }
        range
    }
    /// An event related to itself, if there is one.
    pub fn reflexive_event(&self) -> Option<EventId> {
        (0..self.n).map(EventId::from_index).find(|&a| self.contains(a, a))
    }
}

/// Makes a relation row by row. Rows that come out equal share memory.
pub struct RowWriter {
    rows: Vec<Row>,
    words: Vec<u64>,
    /// The words of the row at hand in which there may be something.
    used: Range<usize>,
    known: FxHashMap<Row, Row>,
}

impl RowWriter {
    /// No row yet.
    pub fn new(n: usize) -> Self {
        Self {
            rows: vec![Row::Empty; n],
            words: vec![0; n_words(n)],
            used: 0..0,
            known: FxHashMap::default(),
        }
    }
    /// Adds a successor to the row at hand.
    pub fn insert(&mut self, b: EventId) {
        let at = b.index() / 64;
        self.words[at] |= 1 << (b.index() % 64);
        self.used = if self.used.is_empty() {
            at..at + 1
        } else {
            at.min(self.used.start)..self.used.end.max(at + 1)
        };
    }
    /// Makes the row at hand that of `a`, and starts the next.
    pub fn end(&mut self, a: EventId) {
        let used = std::mem::take(&mut self.used);
        let row = Row::of_words_within(&self.words, used.clone());
        self.words[used].fill(0);
        self.rows[a.index()] = match row {
            Row::Many(_) => self.known.entry(row.clone()).or_insert(row).clone(),
            Row::Empty | Row::One { .. } => row,
        };
    }
    /// The relation; events without a row have no successor.
    pub fn finish(self) -> BitMatrix {
        BitMatrix::of_rows(self.rows.len(), self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(n: usize, pairs: &[(u32, u32)]) -> BitMatrix {
        let mut matrix = BitMatrix::empty(n);
        for &(a, b) in pairs {
            matrix.insert(EventId(a), EventId(b));
        }
        matrix
    }

    #[test]
    fn closure_crosses_word_boundaries() {
        let chain: Vec<(u32, u32)> = (0..99).map(|i| (i, i + 1)).collect();
        let closure = matrix(100, &chain).transitive_closure();
        assert_eq!(closure.len(), 100 * 99 / 2);
        assert!(closure.contains(EventId(0), EventId(99)) && !closure.contains(EventId(99), EventId(0)));
        assert_eq!(closure.reflexive_event(), None);
        assert!(closure.is_acyclic());
        assert!(!matrix(100, &[(0, 99), (99, 64), (64, 0)]).is_acyclic());
    }

    #[test]
    fn operators_agree_with_their_definitions() {
        let r = matrix(70, &[(0, 1), (1, 69), (69, 3)]);
        let s = matrix(70, &[(1, 2), (69, 0)]);
        assert_eq!(r.sequence(&s), matrix(70, &[(0, 2), (1, 0)]));
        assert_eq!(r.inverse().inverse(), r);
        assert_eq!(r.union(&s).difference(&s), r);
        assert_eq!(r.domain().iter().collect::<Vec<_>>(), vec![EventId(0), EventId(1), EventId(69)]);
        assert_eq!(r.range().iter().collect::<Vec<_>>(), vec![EventId(1), EventId(3), EventId(69)]);
        assert_eq!(EventSet::full(70).iter().count(), 70);
    }

    /// A few hundred small relations, some with cycles, over more than one word.
    fn samples() -> impl Iterator<Item = (BitMatrix, BitMatrix)> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |below: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u32::try_from(state % u64::from(below)).expect("less than a u32")
        };
        std::iter::repeat_with(move || {
            let (n, upward) = (65 + next(70), next(3) > 0);
            let mut one = |n_pairs: u32| {
                let pairs = (0..n_pairs).map(|_| {
                    let (a, b) = (next(n), next(n));
                    if upward { (a.min(b), a.max(b) + u32::from(a == b)) } else { (a, b) }
                });
                matrix(n as usize, &pairs.filter(|&(a, b)| a < n && b < n).collect::<Vec<_>>())
            };
            (one(n), one(n * 3))
        })
        .take(200)
    }

    #[test]
    fn closures_are_the_least_fixed_points() {
        for (relation, together) in samples() {
            let n = relation.universe();
            let closure = relation.transitive_closure();
            let mut expected = relation.clone();
            while !expected.sequence(&expected).difference(&expected).is_empty() {
                expected = expected.union(&expected.sequence(&expected));
            }
            assert_eq!(closure, expected);
            let implies = together.transitive_closure().union(&BitMatrix::identity(&EventSet::full(n)));
            let implied_by = implies.inverse();
            let together = closure::Togetherness { implies: &implies, implied_by: &implied_by };
            let found = relation.certain_closure(together, &|| false).expect("nothing stops it");
            let mut expected = relation.clone();
            loop {
                let mut grown = expected.clone();
                for (a, middle) in expected.pairs() {
                    for b in expected.successors(middle) {
                        if implies.contains(a, middle) || implies.contains(b, middle) {
                            grown.insert(a, b);
                        }
                    }
                }
                assert_eq!(expected.union(&expected.certain_sequence(&expected, together)), grown);
                if grown == expected {
                    break;
                }
                expected = grown;
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn rows_stay_canonical_under_every_change() {
        for (a, b) in samples() {
            let mut changed = a.clone();
            for (x, y) in b.pairs() {
                changed.insert(x, y);
            }
            assert_eq!(changed, a.union(&b));
            for (x, y) in b.pairs() {
                changed.remove(x, y);
            }
            assert_eq!(changed, a.difference(&b));
            assert_eq!(a.intersection(&b), a.difference(&a.difference(&b)));
            let back = BitMatrix::from_pairs(a.universe(), a.pairs().map(|(x, y)| (y, x)).collect());
            assert_eq!(a.inverse(), back);
            assert_eq!(a.inverse_by_words(), back);
            assert_eq!(a.len(), a.pairs().count());
            for x in a.domain().iter() {
                for y in b.domain().iter() {
                    let within = a.successors(x).all(|z| b.contains(y, z));
                    assert_eq!(a.is_row_within(x, &b, y), within);
                }
            }
        }
    }
}
