//! Sets and relations of events as bits, plainly.

/// A set of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    words: Vec<u64>,
    n: usize,
}

impl Set {
    /// No event of `n`.
    pub fn empty(n: usize) -> Self {
        Self { words: vec![0; n.div_ceil(64)], n }
    }
    /// Those of which a question is answered with yes.
    pub fn of(n: usize, is_in: impl Fn(usize) -> bool) -> Self {
        let mut set = Self::empty(n);
        (0..n).filter(|&event| is_in(event)).for_each(|event| set.insert(event));
        set
    }
    /// Puts one in.
    pub fn insert(&mut self, event: usize) {
        self.words[event / 64] |= 1 << (event % 64);
    }
    /// Puts all of another one in.
    pub fn add(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, &b)| *a |= b);
    }
    /// Whether it is in.
    pub fn has(&self, event: usize) -> bool {
        self.words[event / 64] >> (event % 64) & 1 == 1
    }
    /// Those that are in.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(at * 64 + bit)
            })
        })
    }
    /// Whether none is in.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }
    /// Word by word.
    #[must_use]
    pub fn with(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(&a, &b)| join(a, b)).collect();
        Self { words, n: self.n }
    }
}

/// A relation between events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    rows: Vec<Set>,
}

impl Relation {
    /// No pair.
    pub fn empty(n: usize) -> Self {
        Self { rows: vec![Set::empty(n); n] }
    }
    /// How many events there are.
    pub fn n(&self) -> usize {
        self.rows.len()
    }
    /// These pairs.
    pub fn of_pairs(n: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut relation = Self::empty(n);
        pairs.into_iter().for_each(|(a, b)| relation.insert(a, b));
        relation
    }
    /// Puts a pair in.
    pub fn insert(&mut self, a: usize, b: usize) {
        self.rows[a].insert(b);
    }
    /// Relates an event to all of a set.
    pub fn add_row(&mut self, a: usize, row: &Set) {
        self.rows[a].add(row);
    }
    /// Whether a pair is in.
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a].has(b)
    }
    /// What an event is related to.
    pub fn row(&self, a: usize) -> &Set {
        &self.rows[a]
    }
    /// The pairs.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.rows.iter().enumerate().flat_map(|(a, row)| row.members().map(move |b| (a, b)))
    }
    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(Set::is_empty)
    }
    /// Row by row, word by word.
    #[must_use]
    pub fn with(&self, other: &Self, join: impl Fn(u64, u64) -> u64 + Copy) -> Self {
        Self { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a.with(b, join)).collect() }
    }
    /// All pairs of two sets.
    pub fn product(a: &Set, b: &Set) -> Self {
        let none = Set::empty(a.n);
        Self { rows: (0..a.n).map(|event| if a.has(event) { b.clone() } else { none.clone() }).collect() }
    }
    /// Each event of a set with itself.
    pub fn identity(a: &Set) -> Self {
        Self::of_pairs(a.n, a.members().map(|event| (event, event)))
    }
    /// The other way round.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self::of_pairs(self.n(), self.pairs().map(|(a, b)| (b, a)))
    }
    /// First this one, then another.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        let mut rows = vec![Set::empty(self.n()); self.n()];
        for (row, joined) in self.rows.iter().zip(&mut rows) {
            row.members().for_each(|via| joined.add(&other.rows[via]));
        }
        Self { rows }
    }
    /// One step or more.
    #[must_use]
    pub fn closure(&self) -> Self {
        let mut closed = self.clone();
        for via in 0..self.n() {
            let through = closed.rows[via].clone();
            for row in closed.rows.iter_mut().filter(|row| row.has(via)) {
                row.add(&through);
            }
        }
        closed
    }
    /// An event that is related to itself.
    pub fn circle(&self) -> Option<usize> {
        (0..self.n()).find(|&event| self.has(event, event))
    }
    /// Events that something is related to.
    pub fn range(&self) -> Set {
        self.rows.iter().fold(Set::empty(self.n()), |joined, row| joined.with(row, |a, b| a | b))
    }
    /// Events that are related to something.
    pub fn domain(&self) -> Set {
        Set::of(self.n(), |event| !self.rows[event].is_empty())
    }
}
