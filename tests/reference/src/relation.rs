//! Relations over at most 64 events: a square of bits, and loops over it.

/// A set of pairs of event numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    rows: Vec<u64>,
}

impl Relation {
    /// No pair of `n` events.
    pub fn new(n: usize) -> Self {
        assert!(n <= 64, "more than 64 events are unsupported by the twin");
        Self { rows: vec![0; n] }
    }
    /// Adds a pair.
    pub fn insert(&mut self, from: usize, to: usize) {
        self.rows[from] |= 1 << to;
    }
    /// Whether the pair is in.
    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.rows[from] >> to & 1 == 1
    }
    /// Adds all pairs of another.
    pub fn add(&mut self, other: &Self) {
        for (row, other) in self.rows.iter_mut().zip(&other.rows) {
            *row |= other;
        }
    }
    /// Pairs `(a, c)` with `(a, b)` here and `(b, c)` there.
    pub fn then(&self, next: &Self) -> Self {
        let mut result = Self::new(self.rows.len());
        for (from, row) in self.rows.iter().enumerate() {
            for middle in 0..self.rows.len() {
                if row >> middle & 1 == 1 {
                    result.rows[from] |= next.rows[middle];
                }
            }
        }
        result
    }
    /// The smallest transitive relation around it.
    pub fn closure(&self) -> Self {
        let mut result = self.clone();
        for middle in 0..result.rows.len() {
            let reached = result.rows[middle];
            for row in &mut result.rows {
                if *row >> middle & 1 == 1 {
                    *row |= reached;
                }
            }
        }
        result
    }
    /// Whether no event is related to itself.
    pub fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|event| !self.contains(event, event))
    }
    /// Whether no event reaches itself.
    pub fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }
}
