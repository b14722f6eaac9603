//! Composition and transitive closure, plain and for pairs that are certain only while both their ends happen.
//!
//! A closure takes events from last to first, so that the rows of what comes after an event are known when it is its
//! turn. Its own row is then the union of the rows of its direct successors, of which all but the nearest add nothing
//! and are skipped: over program order and barriers an event takes in a handful of rows, not thousands.

use super::row::{Combine, Row, RowKey};
use super::{BitMatrix, EventSet, ones_of_word};
use crate::work;
use rustc_hash::FxHashMap;

/// Which events happen together: what lets certain pairs meet.
#[derive(Clone, Copy)]
pub struct Togetherness<'a> {
    /// `(a, b)`: `b` happens in every execution in which `a` does.
    pub implies: &'a BitMatrix,
    /// The converse.
    pub implied_by: &'a BitMatrix,
}

/// The strongly connected components of a relation, each before those that lead to it.
struct Components {
    /// Per event.
    component: Vec<usize>,
    /// Per component.
    members: Vec<Vec<usize>>,
}

/// What comes after an event, as far as it has not been gone through.
struct Ahead<I> {
    words: I,
    /// The word at hand, and what is left of it.
    at: usize,
    rest: u64,
}

impl<I: Iterator<Item = (usize, u64)>> Ahead<I> {
    /// The next one that is not passed over.
    fn next(&mut self, passed_over: &[u64]) -> Option<usize> {
        loop {
            self.rest &= !passed_over.get(self.at).copied().unwrap_or(0);
            if self.rest != 0 {
                let bit = self.rest.trailing_zeros() as usize;
                self.rest &= self.rest - 1;
                return Some(self.at * 64 + bit);
            }
            (self.at, self.rest) = self.words.next()?;
        }
    }
}

impl BitMatrix {
    /// `self ; other`.
    #[must_use]
    pub fn sequence(&self, other: &Self) -> Self {
        self.sequence_if(other, None)
    }

    /// Composition of certain pairs: the event in the middle must happen whenever an end does.
    #[must_use]
    pub fn certain_sequence(&self, other: &Self, together: Togetherness<'_>) -> Self {
        self.sequence_if(other, Some(together))
    }

    fn sequence_if(&self, other: &Self, together: Option<Togetherness<'_>>) -> Self {
        // Between an event and itself nothing can be missing, so `[S] ; r` and `r ; [S]` only take rows or columns out.
        if self.is_within_identity() {
            let take = |(own, row): (&Row, &Row)| if own.is_empty() { Row::Empty } else { row.clone() };
            return Self::of_rows(self.n, self.rows.iter().zip(other.rows.iter()).map(take).collect());
        }
        if other.is_within_identity() {
            return self.intersection(&Self::product(&EventSet::full(self.n), &other.domain()));
        }
        let useful = other.domain();
        let distinct = other.distinct_rows();
        let mut seen_by = vec![usize::MAX; self.n];
        let mut known: FxHashMap<(RowKey, RowKey), Row> = FxHashMap::default();
        let (mut words, mut scratch) = (vec![0; self.n_words()], Vec::new());
        let n_blocks = self.n_blocks();
        // What is certain behind a middle that its outer end need not have with it.
        let mut of_ends: Vec<Option<Row>> = vec![None; self.n];
        let mut rows = Vec::with_capacity(self.n);
        for (from, own) in self.rows.iter().enumerate() {
            if own.is_empty() {
                rows.push(Row::Empty);
                continue;
            }
            let implied = together.map_or(&Row::Empty, |together| &together.implies.rows[from]);
            if let Some(row) = known.get(&(own.key(), implied.key())) {
                rows.push(row.clone());
                continue;
            }
            words.fill(0);
            for (at, word) in own.words(n_blocks) {
                for middle in ones_of_word(at, word & useful.words[at]) {
                    match together {
                        Some(together) if !implied.contains(n_blocks, middle) => {
                            let of_end = of_ends[middle].get_or_insert_with(|| {
                                let only = &together.implied_by.rows[middle];
                                other.rows[middle].combine(
                                    only,
                                    n_blocks,
                                    Combine::Intersection,
                                    &mut scratch,
                                )
                            });
                            of_end.or_into(n_blocks, &mut words);
                        }
                        _ if seen_by[distinct[middle]] != from => {
                            seen_by[distinct[middle]] = from;
                            other.rows[middle].or_into(n_blocks, &mut words);
                        }
                        _ => {}
                    }
                }
            }
            let row = Row::of_words(&words);
            known.insert((own.key(), implied.key()), row.clone());
            rows.push(row);
        }
        Self::of_rows(self.n, rows)
    }

    fn is_within_identity(&self) -> bool {
        self.rows.iter().enumerate().all(|(a, row)| match *row {
            Row::Empty => true,
            Row::One { at, word } => at as usize == a / 64 && word == 1 << (a % 64),
            Row::Many(_) => false,
        })
    }

    /// A number per event, the same for events that share their row.
    fn distinct_rows(&self) -> Vec<usize> {
        let mut number: FxHashMap<RowKey, usize> = FxHashMap::default();
        self.rows
            .iter()
            .map(|row| {
                let next = number.len();
                *number.entry(row.key()).or_insert(next)
            })
            .collect()
    }

    /// The transitive closure.
    #[must_use]
    pub fn transitive_closure(&self) -> Self {
        let components = self.components();
        let n_blocks = self.n_blocks();
        let mut rows = vec![Row::Empty; self.n];
        let mut known: FxHashMap<RowKey, Row> = FxHashMap::default();
        let (mut direct, mut covered) = (vec![0; self.n_words()], vec![0; self.n_words()]);
        for (id, members) in components.members.iter().enumerate() {
            let single = (members.len() == 1).then(|| self.rows[members[0]].key());
            if let Some(row) = single.and_then(|key| known.get(&key)) {
                rows[members[0]] = row.clone();
                continue;
            }
            direct.fill(0);
            for &member in members {
                self.rows[member].or_into(n_blocks, &mut direct);
            }
            covered.fill(0);
            for at in 0..direct.len() {
                for after in ones_of_word(at, direct[at]) {
                    let is_new = covered[at] >> (after % 64) & 1 == 0;
                    if is_new && components.component[after] != id {
                        rows[after].or_into(n_blocks, &mut covered);
                    }
                }
            }
            for (into, &word) in covered.iter_mut().zip(&direct) {
                *into |= word;
            }
            let row = Row::of_words(&covered);
            for &member in members {
                rows[member] = row.clone();
            }
            if let Some(key) = single {
                known.insert(key, row);
            }
        }
        Self::of_rows(self.n, rows)
    }

    /// Tarjan's algorithm, without recursion. Events whose component is known are passed over a word at a time.
    fn components(&self) -> Components {
        const UNSEEN: usize = usize::MAX;
        let mut found = Components { component: vec![UNSEEN; self.n], members: Vec::new() };
        let (mut index, mut low) = (vec![UNSEEN; self.n], vec![0; self.n]);
        let mut open: Vec<usize> = Vec::new();
        let mut n_seen = 0;
        let mut is_known = vec![0u64; self.n_words()];
        let successors =
            |event: usize| Ahead { words: self.rows[event].words(self.n_blocks()), at: 0, rest: 0 };
        for root in 0..self.n {
            if index[root] != UNSEEN {
                continue;
            }
            let mut path = vec![(root, successors(root))];
            (index[root], low[root]) = (n_seen, n_seen);
            n_seen += 1;
            open.push(root);
            while let Some((event, ahead)) = path.last_mut() {
                let event = *event;
                work::count(work::Work::Vertex, 1);
                if let Some(after) = ahead.next(&is_known) {
                    if index[after] == UNSEEN {
                        (index[after], low[after]) = (n_seen, n_seen);
                        n_seen += 1;
                        open.push(after);
                        path.push((after, successors(after)));
                    } else {
                        low[event] = low[event].min(index[after]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    low[before] = low[before].min(low[event]);
                }
                if low[event] == index[event] {
                    let start = open.iter().rposition(|&other| other == event).unwrap_or(0);
                    let members = open.split_off(start);
                    for &member in &members {
                        found.component[member] = found.members.len();
                        is_known[member / 64] |= 1 << (member % 64);
                    }
                    found.members.push(members);
                }
            }
        }
        found
    }

    /// Closure of certain pairs: the least relation that contains them and, of any two of its pairs that meet in an event
    /// which happens whenever an outer end does, their composition. `None` if `stop` says so.
    ///
    /// Sound: an event's row only takes in rows that are final. What lies behind a successor and implies it lies in each
    /// row that contains the successor, whole or without what does not imply the event it is the row of (implication is
    /// transitive). So a successor in a row that was taken in adds nothing but where the event itself implies it, and
    /// not even there if all that lies behind it implies it.
    ///
    /// Needs: nothing. It is about any relation.
    pub fn certain_closure(&self, together: Togetherness<'_>, stop: &dyn Fn() -> bool) -> Option<Self> {
        let components = self.components();
        let is_acyclic = components.members.len() == self.n && self.reflexive_event().is_none();
        if !is_acyclic {
            return self.certain_closure_by_middles(together, stop);
        }
        let n_blocks = self.n_blocks();
        let mut rows = vec![Row::Empty; self.n];
        let mut known: FxHashMap<(RowKey, RowKey), Row> = FxHashMap::default();
        let mut work = Work::new(self.n, self.n_words());
        for (done, &from) in components.members.iter().flatten().enumerate() {
            if done % 256 == 0 && stop() {
                return None;
            }
            let key = (self.rows[from].key(), together.implies.rows[from].key());
            let row = match known.get(&key) {
                Some(row) => row.clone(),
                None if self.rows[from].is_empty() => Row::Empty,
                None => {
                    work.close(&self.rows[from], &rows, &together.implies.rows[from], n_blocks);
                    Row::of_words(&work.row)
                }
            };
            known.insert(key, row.clone());
            let own = work.of_end(&row, &together.implied_by.rows[from], n_blocks);
            if own == row {
                work.lossless[from / 64] |= 1 << (from % 64);
            }
            work.of_ends[from] = own;
            rows[from] = row;
        }
        Some(Self::of_rows(self.n, rows))
    }

    /// The same for relations with cycles, middle by middle until nothing changes: what may be used as a middle depends on
    /// the ends, so that one pass need not be enough.
    fn certain_closure_by_middles(
        &self,
        together: Togetherness<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let n_blocks = self.n_blocks();
        let mut closure: Vec<Vec<u64>> = self
            .rows
            .iter()
            .map(|row| {
                let mut words = vec![0; self.n_words()];
                row.or_into(n_blocks, &mut words);
                words
            })
            .collect();
        loop {
            let (mut is_lossy, mut changed) = (false, false);
            for middle in 0..self.n {
                let through = closure[middle].clone();
                if through.iter().all(|&word| word == 0) {
                    continue;
                }
                if stop() {
                    return None;
                }
                let mut only = vec![0; through.len()];
                together.implied_by.rows[middle].or_into(n_blocks, &mut only);
                let masked: Vec<u64> = through.iter().zip(&only).map(|(&row, &only)| row & only).collect();
                for (from, row) in closure.iter_mut().enumerate() {
                    if row[middle / 64] >> (middle % 64) & 1 == 0 {
                        continue;
                    }
                    let is_implied = together.implies.rows[from].contains(n_blocks, middle);
                    is_lossy |= !is_implied && masked != through;
                    work::count(work::Work::Word, row.len());
                    for (into, &word) in row.iter_mut().zip(if is_implied { &through } else { &masked }) {
                        changed |= word & !*into != 0;
                        *into |= word;
                    }
                }
            }
            // Without losses this was Warshall's algorithm, which needs one pass.
            if !is_lossy || !changed {
                let rows = closure.iter().map(|words| Row::of_words(words)).collect();
                return Some(Self::of_rows(self.n, rows));
            }
        }
    }
}

/// Space for one row of a certain closure, and what is known of the events behind it.
struct Work {
    row: Vec<u64>,
    /// What was taken in with other rows.
    covered: Vec<u64>,
    /// Successors looked at.
    done: Vec<u64>,
    /// What the event at hand implies.
    implied: Vec<u64>,
    /// Events whose successors all imply them.
    lossless: Vec<u64>,
    /// Per event, those of its successors that imply it.
    of_ends: Vec<Row>,
    scratch: Vec<u64>,
}

impl Work {
    fn new(n: usize, n_words: usize) -> Self {
        let empty = vec![0; n_words];
        Self {
            row: empty.clone(),
            covered: empty.clone(),
            done: empty.clone(),
            implied: empty.clone(),
            lossless: empty,
            of_ends: vec![Row::Empty; n],
            scratch: Vec::new(),
        }
    }

    fn of_end(&mut self, row: &Row, only: &Row, n_blocks: usize) -> Row {
        row.combine(only, n_blocks, Combine::Intersection, &mut self.scratch)
    }

    fn close(&mut self, direct: &Row, rows: &[Row], implied: &Row, n_blocks: usize) {
        for words in [&mut self.row, &mut self.covered, &mut self.done, &mut self.implied] {
            words.fill(0);
        }
        direct.or_into(n_blocks, &mut self.row);
        implied.or_into(n_blocks, &mut self.implied);
        let mut progress = true;
        while progress {
            progress = false;
            for at in 0..self.row.len() {
                loop {
                    let skipped = self.done[at] | self.covered[at] & (self.lossless[at] | !self.implied[at]);
                    let open = self.row[at] & !skipped;
                    if open == 0 {
                        break;
                    }
                    progress = true;
                    let middle = at * 64 + open.trailing_zeros() as usize;
                    self.done[at] |= 1 << (middle % 64);
                    let is_implied = self.implied[at] >> (middle % 64) & 1 == 1;
                    let row = if is_implied { &rows[middle] } else { &self.of_ends[middle] };
                    row.or_into(n_blocks, &mut self.covered);
                    row.or_into(n_blocks, &mut self.row);
                }
            }
        }
    }
}
