//! Dense sets of events and dense binary relations over them, 64 bits at a time.
//!
//! A relation over `n` events takes `n²/8` bytes; composition and closure take `n³/64` word operations.
//! Meant for graphs of up to a few thousand events.

use fencepost_dsl::index::Id;

use crate::event::EventId;

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
    ones_of(words.iter().copied())
}

fn ones_of(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(at, word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                at * 64 + bit
            })
        })
    })
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
    /// The words, for row operations.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// A binary relation over the events of one graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BitMatrix {
    n: usize,
    stride: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// The empty relation over `n` events.
    pub fn empty(n: usize) -> Self {
        let stride = n_words(n);
        Self { n, stride, words: vec![0; stride * n] }
    }
    /// All pairs.
    pub fn full(n: usize) -> Self {
        Self::product(&EventSet::full(n), &EventSet::full(n))
    }
    /// All `(a, b)` with `a` in `from` and `b` in `to`.
    pub fn product(from: &EventSet, to: &EventSet) -> Self {
        let mut matrix = Self::empty(from.n);
        for a in from.iter() {
            matrix.row_mut(a).copy_from_slice(&to.words);
        }
        matrix
    }
    /// `(a, a)` for the members of `set`.
    pub fn identity(set: &EventSet) -> Self {
        let mut matrix = Self::empty(set.n);
        for a in set.iter() {
            matrix.insert(a, a);
        }
        matrix
    }
    /// Number of events of the graph.
    pub fn universe(&self) -> usize {
        self.n
    }
    /// Adds a pair.
    pub fn insert(&mut self, a: EventId, b: EventId) {
        self.words[a.index() * self.stride + b.index() / 64] |= 1 << (b.index() % 64);
    }
    /// Removes a pair.
    pub fn remove(&mut self, a: EventId, b: EventId) {
        self.words[a.index() * self.stride + b.index() / 64] &= !(1 << (b.index() % 64));
    }
    /// Whether the pair is in it.
    pub fn contains(&self, a: EventId, b: EventId) -> bool {
        self.words[a.index() * self.stride + b.index() / 64] >> (b.index() % 64) & 1 == 1
    }
    /// The successors of `a`, as words.
    pub fn row(&self, a: EventId) -> &[u64] {
        &self.words[a.index() * self.stride..(a.index() + 1) * self.stride]
    }
    /// The successors of `a`, as words.
    pub fn row_mut(&mut self, a: EventId) -> &mut [u64] {
        &mut self.words[a.index() * self.stride..(a.index() + 1) * self.stride]
    }
    /// The successors of `a`, ascending.
    pub fn successors(&self, a: EventId) -> impl Iterator<Item = EventId> + '_ {
        ones(self.row(a)).map(EventId::from_index)
    }
    /// The successors of `a` that are in `set`, ascending.
    pub fn successors_in<'a>(&'a self, a: EventId, set: &'a EventSet) -> impl Iterator<Item = EventId> + 'a {
        let words = self.row(a).iter().zip(&set.words).map(|(&row, &only)| row & only);
        ones_of(words).map(EventId::from_index)
    }
    /// All pairs, ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (EventId, EventId)> + '_ {
        (0..self.n).map(EventId::from_index).flat_map(move |a| self.successors(a).map(move |b| (a, b)))
    }
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        assert_eq!(self.n, other.n, "relations of one graph");
        let words = self.words.iter().zip(&other.words).map(|(&a, &b)| combine(a, b)).collect();
        Self { n: self.n, stride: self.stride, words }
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
    /// Pairs of `self` only.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }
    /// The converse.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut inverse = Self::empty(self.n);
        for (a, b) in self.pairs() {
            inverse.insert(b, a);
        }
        inverse
    }
    /// `self ; other`.
    #[must_use]
    pub fn sequence(&self, other: &Self) -> Self {
        let mut result = Self::empty(self.n);
        let useful = other.domain();
        for a in (0..self.n).map(EventId::from_index) {
            for middle in self.successors_in(a, &useful) {
                or_into(result.row_mut(a), other.row(middle));
            }
        }
        result
    }
    /// The transitive closure, by Warshall's algorithm.
    #[must_use]
    pub fn transitive_closure(&self) -> Self {
        let mut result = self.clone();
        for middle in (0..self.n).map(EventId::from_index) {
            let through = result.row(middle).to_vec();
            if through.iter().all(|&word| word == 0) {
                continue;
            }
            for a in (0..self.n).map(EventId::from_index) {
                if result.contains(a, middle) {
                    or_into(result.row_mut(a), &through);
                }
            }
        }
        result
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
        EventSet::from_fn(self.n, |a| self.row(a).iter().any(|&word| word != 0))
    }
    /// The events with a predecessor.
    pub fn range(&self) -> EventSet {
        let mut range = EventSet::empty(self.n);
        for a in (0..self.n).map(EventId::from_index) {
            or_into(&mut range.words, self.row(a));
        }
        range
    }
    /// An event related to itself, if there is one.
    pub fn reflexive_event(&self) -> Option<EventId> {
        (0..self.n).map(EventId::from_index).find(|&a| self.contains(a, a))
    }
}

/// `into |= from`, word by word.
pub fn or_into(into: &mut [u64], from: &[u64]) {
    for (a, &b) in into.iter_mut().zip(from) {
        *a |= b;
    }
}

/// `into |= from & only`, word by word.
pub fn or_masked_into(into: &mut [u64], from: &[u64], only: &[u64]) {
    for ((a, &b), &m) in into.iter_mut().zip(from).zip(only) {
        *a |= b & m;
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
}
