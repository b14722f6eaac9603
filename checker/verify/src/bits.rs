//! Sets and relations of events as bits, plainly.

/// A set of events. Most sets of a row of a relation are small or close together, so words are kept from the first to the last
/// that is not 0: equal sets look alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// Which word the first one is; 0 if there is none.
    first: usize,
    words: Vec<u64>,
    n: usize,
}

impl Set {
    /// No event of `n`.
    pub fn empty(n: usize) -> Self {
        Self { first: 0, words: Vec::new(), n }
    }
    /// Those of which a question is answered with yes.
    pub fn of(n: usize, is_in: impl Fn(usize) -> bool) -> Self {
        let mut set = Self::empty(n);
        (0..n).filter(|&event| is_in(event)).for_each(|event| set.insert(event));
        set
    }
    fn end(&self) -> usize {
        self.first + self.words.len()
    }
    fn word(&self, at: usize) -> u64 {
        at.checked_sub(self.first).and_then(|at| self.words.get(at)).copied().unwrap_or(0)
    }
    /// Makes room for some words.
    fn widen(&mut self, first: usize, end: usize) {
        if self.words.is_empty() {
            self.first = first;
        }
        if first < self.first {
            self.words.splice(0..0, std::iter::repeat_n(0, self.first - first));
            self.first = first;
        }
        if end > self.end() {
            self.words.resize(end - self.first, 0);
        }
    }
    /// Puts one in.
    pub fn insert(&mut self, event: usize) {
        let at = event / 64;
        self.widen(at, at + 1);
        self.words[at - self.first] |= 1 << (event % 64);
    }
    /// Puts all of another one in.
    pub fn add(&mut self, other: &Self) {
        if other.words.is_empty() {
            return;
        }
        self.widen(other.first, other.end());
        let start = other.first - self.first;
        self.words[start..].iter_mut().zip(&other.words).for_each(|(a, &b)| *a |= b);
    }
    /// Whether it is in.
    pub fn has(&self, event: usize) -> bool {
        self.word(event / 64) >> (event % 64) & 1 == 1
    }
    /// Those that are in.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(move |(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some((self.first + at) * 64 + bit)
            })
        })
    }
    /// Whether none is in.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// Word by word; of two words that are 0 it has to make one.
    #[must_use]
    pub fn with(&self, other: &Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let first = match (self.words.is_empty(), other.words.is_empty()) {
            (true, true) => return Self::empty(self.n),
            (true, false) => other.first,
            (false, true) => self.first,
            (false, false) => self.first.min(other.first),
        };
        let end = self.end().max(other.end());
        let at = |at: usize| join(self.word(at), other.word(at));
        let Some(first) = (first..end).find(|&word| at(word) != 0) else { return Self::empty(self.n) };
        let end = (first..end).rfind(|&word| at(word) != 0).map_or(first, |last| last + 1);
        Self { first, words: (first..end).map(at).collect(), n: self.n }
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
