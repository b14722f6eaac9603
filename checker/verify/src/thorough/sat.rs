//! A small search for assignments, for what is too small to need a fast one.
//!
//! It learns a clause from each contradiction and goes back to where that says something new. Clauses may be added between
//! searches, and some literals be assumed in one. It is a search only: whoever wants to know that there is nothing to be found
//! keeps what was given and learnt, and has it followed.

/// What a search came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// By variable, whether it is true.
    Assignment(Vec<bool>),
    /// There is none, under what was assumed.
    None,
    /// It took too long.
    TooLong,
}

/// Clauses, and what is known of them.
#[derive(Debug, Default)]
pub struct Sat {
    clauses: Vec<Vec<i32>>,
    /// By literal, the clauses that watch it.
    watches: Vec<Vec<usize>>,
    /// By variable: 1 true, -1 false, 0 open.
    values: Vec<i8>,
    levels: Vec<usize>,
    reasons: Vec<Option<usize>>,
    scores: Vec<f64>,
    phases: Vec<bool>,
    step: f64,
    trail: Vec<i32>,
    /// Where in the trail each level begins.
    starts: Vec<usize>,
    head: usize,
    is_contradictory: bool,
    /// What was learnt, in order, if it is kept.
    pub learnt: Vec<Vec<i32>>,
}

fn place(literal: i32) -> usize {
    2 * literal.unsigned_abs() as usize + usize::from(literal < 0)
}

impl Sat {
    /// Nothing is known.
    pub fn new() -> Self {
        Self { step: 1.0, ..Self::default() }
    }

    fn make_room(&mut self, variable: usize) {
        if variable >= self.values.len() {
            self.values.resize(variable + 1, 0);
            self.levels.resize(variable + 1, 0);
            self.reasons.resize(variable + 1, None);
            self.scores.resize(variable + 1, 0.0);
            self.phases.resize(variable + 1, false);
            self.watches.resize(2 * variable + 2, Vec::new());
        }
    }

    /// How many variables there are, one more than the last.
    pub fn n_variables(&self) -> usize {
        self.values.len().max(1)
    }

    /// A variable of its own.
    pub fn fresh(&mut self) -> i32 {
        let variable = self.n_variables();
        self.make_room(variable);
        i32::try_from(variable).unwrap_or(i32::MAX)
    }

    fn value(&self, literal: i32) -> i8 {
        let value = self.values[literal.unsigned_abs() as usize];
        if literal < 0 { -value } else { value }
    }

    /// One of these is true.
    pub fn add(&mut self, clause: &[i32]) {
        self.back_to(0);
        let mut clause = clause.to_vec();
        clause.sort_unstable();
        clause.dedup();
        clause.iter().for_each(|literal| self.make_room(literal.unsigned_abs() as usize));
        if clause.iter().any(|literal| clause.contains(&-literal) || self.value(*literal) == 1) {
            return;
        }
        clause.retain(|&literal| self.value(literal) == 0);
        match clause[..] {
            [] => self.is_contradictory = true,
            [unit] => self.set(unit, None),
            _ => _ = self.attach(clause),
        }
    }

    fn attach(&mut self, clause: Vec<i32>) -> usize {
        let number = self.clauses.len();
        self.watches[place(clause[0])].push(number);
        self.watches[place(clause[1])].push(number);
        self.clauses.push(clause);
        number
    }

    fn set(&mut self, literal: i32, reason: Option<usize>) {
        let variable = literal.unsigned_abs() as usize;
        self.values[variable] = if literal < 0 { -1 } else { 1 };
        self.levels[variable] = self.starts.len();
        self.reasons[variable] = reason;
        self.phases[variable] = literal > 0;
        self.trail.push(literal);
    }

    fn back_to(&mut self, level: usize) {
        if self.starts.len() > level {
            let end = self.starts[level];
            for literal in self.trail.drain(end..) {
                self.values[literal.unsigned_abs() as usize] = 0;
            }
            self.starts.truncate(level);
            self.head = self.head.min(end);
        }
    }

    /// A clause that is false.
    fn propagate(&mut self) -> Option<usize> {
        while self.head < self.trail.len() {
            let falsified = -self.trail[self.head];
            self.head += 1;
            let watching = std::mem::take(&mut self.watches[place(falsified)]);
            for (at, &number) in watching.iter().enumerate() {
                let clause = &mut self.clauses[number];
                if clause[0] == falsified {
                    clause.swap(0, 1);
                }
                let first = clause[0];
                let values = &self.values;
                let value = |literal: i32| {
                    let value = values[literal.unsigned_abs() as usize];
                    if literal < 0 { -value } else { value }
                };
                if value(first) == 1 {
                    self.watches[place(falsified)].push(number);
                    continue;
                }
                if let Some(other) = (2..clause.len()).find(|&other| value(clause[other]) != -1) {
                    clause.swap(1, other);
                    let watched = clause[1];
                    self.watches[place(watched)].push(number);
                    continue;
                }
                self.watches[place(falsified)].push(number);
                if value(first) == -1 {
                    self.watches[place(falsified)].extend_from_slice(&watching[at + 1..]);
                    return Some(number);
                }
                self.set(first, Some(number));
            }
        }
        None
    }

    fn bump(&mut self, variable: usize) {
        self.scores[variable] += self.step;
        if self.scores[variable] > 1e100 {
            self.scores.iter_mut().for_each(|score| *score *= 1e-100);
            self.step *= 1e-100;
        }
    }

    /// What a contradiction teaches: a clause, the literal that it says in front, and the level to go back to.
    fn learn(&mut self, mut conflict: usize) -> (Vec<i32>, usize) {
        let level = self.starts.len();
        let mut seen = vec![false; self.values.len()];
        let (mut clause, mut n_open, mut at, mut last) = (vec![0], 0, self.trail.len(), 0);
        loop {
            for index in 0..self.clauses[conflict].len() {
                let literal = self.clauses[conflict][index];
                let variable = literal.unsigned_abs() as usize;
                if literal == last || seen[variable] || self.levels[variable] == 0 {
                    continue;
                }
                seen[variable] = true;
                self.bump(variable);
                if self.levels[variable] == level {
                    n_open += 1;
                } else {
                    clause.push(literal);
                }
            }
            loop {
                at -= 1;
                if seen[self.trail[at].unsigned_abs() as usize] {
                    break;
                }
            }
            last = self.trail[at];
            n_open -= 1;
            if n_open == 0 {
                break;
            }
            let Some(reason) = self.reasons[last.unsigned_abs() as usize] else { break };
            conflict = reason;
        }
        clause[0] = -last;
        let level_of = |literal: &i32| self.levels[literal.unsigned_abs() as usize];
        let back = clause[1..].iter().map(level_of).max().unwrap_or(0);
        if let Some(second) = (1..clause.len()).find(|&index| level_of(&clause[index]) == back) {
            clause.swap(1, second);
        }
        self.step *= 1.05;
        (clause, back)
    }

    /// Searches for an assignment in which all of these are true.
    pub fn search(&mut self, assumed: &[i32], n_conflicts_max: usize) -> Found {
        self.back_to(0);
        assumed.iter().for_each(|literal| self.make_room(literal.unsigned_abs() as usize));
        if self.is_contradictory {
            return Found::None;
        }
        let mut n_conflicts = 0;
        loop {
            if let Some(conflict) = self.propagate() {
                if self.starts.is_empty() {
                    self.is_contradictory = true;
                    self.learnt.push(Vec::new());
                    return Found::None;
                }
                n_conflicts += 1;
                let (clause, back) = self.learn(conflict);
                self.learnt.push(clause.clone());
                self.back_to(back);
                match clause[..] {
                    [unit] => self.set(unit, None),
                    _ => {
                        let unit = clause[0];
                        let number = self.attach(clause);
                        self.set(unit, Some(number));
                    }
                }
                if n_conflicts > n_conflicts_max {
                    return Found::TooLong;
                }
                continue;
            }
            // What is assumed comes first, a level for each.
            if let Some(&next) = assumed.get(self.starts.len()) {
                match self.value(next) {
                    -1 => return Found::None,
                    value => {
                        self.starts.push(self.trail.len());
                        if value == 0 {
                            self.set(next, None);
                        }
                    }
                }
                continue;
            }
            let open = (1..self.values.len()).filter(|&variable| self.values[variable] == 0);
            let best = open.max_by(|&a, &b| self.scores[a].total_cmp(&self.scores[b]).then(b.cmp(&a)));
            let Some(variable) = best else {
                return Found::Assignment(self.values.iter().map(|&value| value == 1).collect());
            };
            self.starts.push(self.trail.len());
            let literal = i32::try_from(variable).unwrap_or(i32::MAX);
            self.set(if self.phases[variable] { literal } else { -literal }, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Sat};

    /// Numbers that look random and are the same in each run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    #[test]
    fn finds_what_there_is_and_nothing_else() {
        let mut dice = Dice(7);
        let (mut n_found, mut n_none) = (0, 0);
        for _ in 0..400 {
            let mut sat = Sat::new();
            let mut clauses: Vec<Vec<i32>> = Vec::new();
            for _ in 0..30 + dice.below(16) {
                let clause: Vec<i32> = (0..3)
                    .map(|_| {
                        let variable = 1 + dice.below(9) as i32;
                        if dice.below(2) == 0 { variable } else { -variable }
                    })
                    .collect();
                sat.add(&clause);
                clauses.push(clause);
            }
            let assumed: Vec<i32> = if dice.below(2) == 0 { vec![] } else { vec![1, -2] };
            let is_true = |values: u32, literal: i32| (values >> literal.abs() & 1 == 1) == (literal > 0);
            let has_one = (0..1_u32 << 10).any(|values| {
                assumed.iter().all(|&literal| is_true(values, literal))
                    && clauses.iter().all(|clause| clause.iter().any(|&literal| is_true(values, literal)))
            });
            match sat.search(&assumed, 10_000) {
                Found::Assignment(values) => {
                    let holds = |&literal: &i32| values[literal.unsigned_abs() as usize] == (literal > 0);
                    assert!(
                        assumed.iter().all(holds) && clauses.iter().all(|clause| clause.iter().any(holds))
                    );
                    n_found += 1;
                }
                Found::None => {
                    assert!(!has_one);
                    n_none += 1;
                }
                Found::TooLong => panic!("it is small"),
            }
        }
        assert!(n_found > 50 && n_none > 50, "{n_found} {n_none}");
    }
}
