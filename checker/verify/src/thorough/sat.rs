//! A small search for assignments, for what is too small to need a fast one.
//!
//! It learns a clause from each contradiction and goes back to where that says something new; what was learnt long ago and is
//! of many levels it forgets, and every so often it begins anew. Clauses may be added between searches, and some literals be
//! assumed in one. It is a search only: whoever wants to know that there is nothing to be found has what was learnt followed.

use crate::Refused;
use crate::proof::Checker;

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

/// A clause.
#[derive(Debug)]
struct Clause {
    literals: Vec<i32>,
    /// How many levels it was about when it was learnt; 0 of one that was given.
    n_levels: usize,
    /// Its number in the log.
    id: u64,
}

/// What was given or follows, in order, each with the next number from 1.
#[derive(Clone, Debug)]
pub enum Logged {
    /// It was given.
    Given(Vec<i32>),
    /// It follows from clauses of these numbers, one after the other.
    Follows(Vec<i32>, Vec<u64>),
}

/// Who watches a literal, and another one of its clause: if that is true, there is nothing to do.
#[derive(Clone, Copy, Debug)]
struct Watch {
    clause: usize,
    other: i32,
}

/// Variables that are open, that with the highest score first.
#[derive(Debug, Default)]
struct Heap {
    order: Vec<usize>,
    /// By variable, where in the order it is.
    places: Vec<Option<usize>>,
}

impl Heap {
    fn is_above(scores: &[f64], a: usize, b: usize) -> bool {
        scores[a].total_cmp(&scores[b]).then(b.cmp(&a)).is_gt()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.order.swap(a, b);
        self.places[self.order[a]] = Some(a);
        self.places[self.order[b]] = Some(b);
    }

    fn up(&mut self, scores: &[f64], mut at: usize) {
        while at > 0 && Self::is_above(scores, self.order[at], self.order[(at - 1) / 2]) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, scores: &[f64], mut at: usize) {
        loop {
            let below = [2 * at + 1, 2 * at + 2].into_iter().filter(|&child| child < self.order.len());
            let best = below.fold(at, |best, child| {
                if Self::is_above(scores, self.order[child], self.order[best]) { child } else { best }
            });
            if best == at {
                return;
            }
            self.swap(at, best);
            at = best;
        }
    }

    fn put(&mut self, scores: &[f64], variable: usize) {
        if self.places[variable].is_none() {
            self.places[variable] = Some(self.order.len());
            self.order.push(variable);
            self.up(scores, self.order.len() - 1);
        }
    }

    fn rose(&mut self, scores: &[f64], variable: usize) {
        if let Some(at) = self.places[variable] {
            self.up(scores, at);
        }
    }

    fn take(&mut self, scores: &[f64]) -> Option<usize> {
        let last = self.order.len().checked_sub(1)?;
        self.swap(0, last);
        let first = self.order.pop()?;
        self.places[first] = None;
        if !self.order.is_empty() {
            self.down(scores, 0);
        }
        Some(first)
    }
}

/// Clauses, and what is known of them.
#[derive(Debug, Default)]
pub struct Sat {
    clauses: Vec<Clause>,
    /// By literal, the clauses that watch it.
    watches: Vec<Vec<Watch>>,
    /// By variable: 1 true, -1 false, 0 open.
    values: Vec<i8>,
    levels: Vec<usize>,
    reasons: Vec<Option<usize>>,
    scores: Vec<f64>,
    phases: Vec<bool>,
    seen: Vec<bool>,
    /// By variable that is assigned, its place in the trail.
    positions: Vec<usize>,
    /// By variable that holds for good, the number of the clause that says so.
    units: Vec<u64>,
    open: Heap,
    step: f64,
    trail: Vec<i32>,
    /// Where in the trail each level begins.
    starts: Vec<usize>,
    head: usize,
    is_contradictory: bool,
    /// How many learnt clauses are kept, and how many there may be.
    n_kept: usize,
    n_kept_max: usize,
    /// How many clauses were given.
    pub n_given: usize,
    /// What was given and what follows, if it is to be followed afterwards.
    pub log: Option<Vec<Logged>>,
    /// What was learnt, in order.
    pub learnt: Vec<Vec<i32>>,
}

/// Contradictions before it begins anew for the first time.
const RESTART: usize = 100;

/// Learnt clauses of so few levels are kept.
const FEW_LEVELS: usize = 3;

fn place(literal: i32) -> usize {
    2 * literal.unsigned_abs() as usize + usize::from(literal < 0)
}

/// 1, 1, 2, 1, 1, 2, 4, …
fn luby(mut at: usize) -> usize {
    loop {
        let mut power = 1;
        while 2 * power - 1 < at {
            power *= 2;
        }
        if 2 * power - 1 == at {
            return power;
        }
        at -= power - 1;
    }
}

impl Sat {
    /// Nothing is known.
    pub fn new() -> Self {
        Self { step: 1.0, n_kept_max: 4_000, ..Self::default() }
    }

    /// Nothing is known, and what is given is kept, to be followed afterwards.
    pub fn keeping() -> Self {
        Self { log: Some(Vec::new()), ..Self::new() }
    }

    fn make_room(&mut self, variable: usize) {
        let first = self.values.len().max(1);
        if variable >= self.values.len() {
            self.values.resize(variable + 1, 0);
            self.levels.resize(variable + 1, 0);
            self.reasons.resize(variable + 1, None);
            self.scores.resize(variable + 1, 0.0);
            self.phases.resize(variable + 1, false);
            self.seen.resize(variable + 1, false);
            self.positions.resize(variable + 1, 0);
            self.units.resize(variable + 1, 0);
            self.open.places.resize(variable + 1, None);
            self.watches.resize(2 * variable + 2, Vec::new());
            (first..=variable).for_each(|new| self.open.put(&self.scores, new));
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
        clause.sort_unstable_by_key(|literal| (literal.unsigned_abs(), *literal));
        clause.dedup();
        self.n_given += 1;
        let mut id = self.log(|| Logged::Given(clause.clone()));
        clause.iter().for_each(|literal| self.make_room(literal.unsigned_abs() as usize));
        if clause.windows(2).any(|pair| pair[0] == -pair[1])
            || clause.iter().any(|literal| self.value(*literal) == 1)
        {
            return;
        }
        let (left, gone): (Vec<i32>, Vec<i32>) =
            clause.into_iter().partition(|&literal| self.value(literal) == 0);
        if !gone.is_empty() {
            id = self.follows(&left, gone.iter(), &[id]);
        }
        match left[..] {
            [] => self.is_contradictory = true,
            [unit] => self.set_for_good(unit, id),
            _ => _ = self.attach(left, 0, id),
        }
    }

    fn log(&mut self, what: impl FnOnce() -> Logged) -> u64 {
        let Some(log) = &mut self.log else { return 0 };
        log.push(what());
        log.len() as u64
    }

    /// What was given and each step from what it cites, followed.
    ///
    /// # Errors
    /// If a step does not follow.
    pub fn followed(&self) -> Result<Checker, Refused> {
        let mut checker = Checker::new();
        for (id, step) in (1..).zip(self.log.iter().flatten()) {
            match step {
                Logged::Given(clause) => _ = checker.give(clause),
                Logged::Follows(clause, cited) => checker.derive(id, clause, cited)?,
            }
        }
        Ok(checker)
    }

    /// Notes that a clause follows from others, where some literals are false for good.
    fn follows<'a>(
        &mut self,
        clause: &[i32],
        false_for_good: impl Iterator<Item = &'a i32>,
        others: &[u64],
    ) -> u64 {
        if self.log.is_none() {
            return 0;
        }
        let mut cited: Vec<u64> =
            false_for_good.map(|literal| self.units[literal.unsigned_abs() as usize]).collect();
        cited.sort_unstable();
        cited.dedup();
        cited.extend(others);
        self.log(|| Logged::Follows(clause.to_vec(), cited))
    }

    fn set_for_good(&mut self, literal: i32, id: u64) {
        self.units[literal.unsigned_abs() as usize] = id;
        self.assign(literal, None);
    }

    fn attach(&mut self, literals: Vec<i32>, n_levels: usize, id: u64) -> usize {
        let clause = self.clauses.len();
        self.watches[place(literals[0])].push(Watch { clause, other: literals[1] });
        self.watches[place(literals[1])].push(Watch { clause, other: literals[0] });
        self.clauses.push(Clause { literals, n_levels, id });
        clause
    }

    fn set(&mut self, literal: i32, reason: Option<usize>) {
        match reason {
            // Nobody asks for the reason of what holds for good.
            Some(reason) if self.starts.is_empty() => {
                let id = match &self.log {
                    None => 0,
                    Some(_) => {
                        let Clause { literals, id, .. } = &self.clauses[reason];
                        let (others, id) = (literals.clone(), *id);
                        self.follows(&[literal], others.iter().filter(|&&other| other != literal), &[id])
                    }
                };
                self.set_for_good(literal, id);
            }
            _ => self.assign(literal, reason),
        }
    }

    fn assign(&mut self, literal: i32, reason: Option<usize>) {
        let variable = literal.unsigned_abs() as usize;
        self.positions[variable] = self.trail.len();
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
                let variable = literal.unsigned_abs() as usize;
                self.values[variable] = 0;
                self.open.put(&self.scores, variable);
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
            let mut watching = std::mem::take(&mut self.watches[place(falsified)]);
            let (mut kept, mut conflict) = (0, None);
            for at in 0..watching.len() {
                let watch = watching[at];
                if conflict.is_some() || self.value(watch.other) == 1 {
                    watching[kept] = watch;
                    kept += 1;
                    continue;
                }
                let values = &self.values;
                let value = |literal: i32| {
                    let value = values[literal.unsigned_abs() as usize];
                    if literal < 0 { -value } else { value }
                };
                let literals = &mut self.clauses[watch.clause].literals;
                if literals[0] == falsified {
                    literals.swap(0, 1);
                }
                let first = literals[0];
                if value(first) != 1
                    && let Some(other) = (2..literals.len()).find(|&other| value(literals[other]) != -1)
                {
                    literals.swap(1, other);
                    let watched = literals[1];
                    self.watches[place(watched)].push(Watch { other: first, ..watch });
                    continue;
                }
                let of_first = value(first);
                watching[kept] = Watch { other: first, ..watch };
                kept += 1;
                match of_first {
                    1 => {}
                    -1 => conflict = Some(watch.clause),
                    _ => self.set(first, Some(watch.clause)),
                }
            }
            watching.truncate(kept);
            self.watches[place(falsified)] = watching;
            if conflict.is_some() {
                return conflict;
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
        self.open.rose(&self.scores, variable);
    }

    /// What a contradiction teaches: a clause, the literal that it says in front, the level to go back to, and its number.
    fn learn(&mut self, mut conflict: usize) -> (Vec<i32>, usize, u64) {
        let level = self.starts.len();
        let (mut clause, mut n_open, mut at, mut last) = (vec![0], 0, self.trail.len(), 0);
        let mut used = Vec::new();
        loop {
            used.push(conflict);
            for index in 0..self.clauses[conflict].literals.len() {
                let literal = self.clauses[conflict].literals[index];
                let variable = literal.unsigned_abs() as usize;
                if literal == last || self.seen[variable] || self.levels[variable] == 0 {
                    continue;
                }
                self.seen[variable] = true;
                self.bump(variable);
                if self.levels[variable] == level {
                    n_open += 1;
                } else {
                    clause.push(literal);
                }
            }
            loop {
                at -= 1;
                if self.seen[self.trail[at].unsigned_abs() as usize] {
                    break;
                }
            }
            last = self.trail[at];
            self.seen[last.unsigned_abs() as usize] = false;
            n_open -= 1;
            if n_open == 0 {
                break;
            }
            let Some(reason) = self.reasons[last.unsigned_abs() as usize] else { break };
            conflict = reason;
        }
        clause[0] = -last;
        let found = clause.clone();
        // What the rest of the clause brings about need not be said.
        let is_implied = |literal: &i32| {
            self.reasons[literal.unsigned_abs() as usize].is_some_and(|reason| {
                self.clauses[reason].literals.iter().all(|other| {
                    let variable = other.unsigned_abs() as usize;
                    *other == -*literal || self.seen[variable] || self.levels[variable] == 0
                })
            })
        };
        let (implied, kept): (Vec<i32>, Vec<i32>) =
            clause[1..].iter().partition(|literal| is_implied(literal));
        clause.truncate(1);
        clause.extend(kept);
        let id = self.cite(&clause, &implied, used);
        found[1..].iter().for_each(|literal| self.seen[literal.unsigned_abs() as usize] = false);
        let level_of = |literal: &i32| self.levels[literal.unsigned_abs() as usize];
        let back = clause[1..].iter().map(level_of).max().unwrap_or(0);
        if let Some(second) = (1..clause.len()).find(|&index| level_of(&clause[index]) == back) {
            clause.swap(1, second);
        }
        self.step *= 1.05;
        (clause, back, id)
    }

    /// Notes what a learnt clause follows from: what brought about the literals that are not said, and then, from the first to
    /// the last that was assigned, what led to the contradiction.
    fn cite(&mut self, clause: &[i32], implied: &[i32], used: Vec<usize>) -> u64 {
        if self.log.is_none() {
            return 0;
        }
        let mut of_implied: Vec<(usize, usize)> = Vec::new();
        for literal in implied {
            let variable = literal.unsigned_abs() as usize;
            of_implied.extend(self.reasons[variable].map(|reason| (self.positions[variable], reason)));
        }
        of_implied.sort_unstable();
        let all: Vec<usize> = of_implied.into_iter().map(|own| own.1).chain(used.into_iter().rev()).collect();
        let literals = all.iter().flat_map(|&clause| &self.clauses[clause].literals);
        let for_good: Vec<i32> =
            literals.copied().filter(|it| self.levels[it.unsigned_abs() as usize] == 0).collect();
        let others: Vec<u64> = all.iter().map(|&clause| self.clauses[clause].id).collect();
        self.follows(clause, for_good.iter(), &others)
    }

    /// Forgets half of what was learnt, that of the most levels first. Nothing is assigned meanwhile but what holds for good.
    fn forget(&mut self) {
        self.back_to(0);
        let is_free = |clause: &Clause| clause.n_levels > FEW_LEVELS;
        let mut of_levels: Vec<(usize, usize)> = self
            .clauses
            .iter()
            .enumerate()
            .filter(|(_, own)| is_free(own))
            .map(|(at, own)| (own.n_levels, at))
            .collect();
        of_levels.sort_unstable_by_key(|&(n_levels, at)| (std::cmp::Reverse(n_levels), at));
        let mut gone = vec![false; self.clauses.len()];
        of_levels[..of_levels.len() / 2].iter().for_each(|&(_, at)| gone[at] = true);
        let mut at = 0;
        self.clauses.retain(|_| {
            at += 1;
            !gone[at - 1]
        });
        self.n_kept -= of_levels.len() / 2;
        self.n_kept_max += 1_000;
        self.watches.iter_mut().for_each(Vec::clear);
        for (clause, own) in self.clauses.iter().enumerate() {
            self.watches[place(own.literals[0])].push(Watch { clause, other: own.literals[1] });
            self.watches[place(own.literals[1])].push(Watch { clause, other: own.literals[0] });
        }
        self.head = 0;
    }

    /// Searches for an assignment in which all of these are true.
    pub fn search(&mut self, assumed: &[i32], n_conflicts_max: usize) -> Found {
        self.back_to(0);
        assumed.iter().for_each(|literal| self.make_room(literal.unsigned_abs() as usize));
        if self.is_contradictory {
            return Found::None;
        }
        let (mut n_conflicts, mut n_restarts, mut until) = (0, 1, RESTART);
        loop {
            if let Some(conflict) = self.propagate() {
                if self.starts.is_empty() {
                    self.is_contradictory = true;
                    self.learnt.push(Vec::new());
                    let Clause { literals, id, .. } = &self.clauses[conflict];
                    let (literals, id) = (literals.clone(), *id);
                    self.follows(&[], literals.iter(), &[id]);
                    return Found::None;
                }
                n_conflicts += 1;
                let (clause, back, id) = self.learn(conflict);
                self.learnt.push(clause.clone());
                self.back_to(back);
                match clause[..] {
                    [unit] => self.set_for_good(unit, id),
                    _ => {
                        let levels: std::collections::BTreeSet<usize> = clause
                            .iter()
                            .map(|literal| self.levels[literal.unsigned_abs() as usize])
                            .collect();
                        // The literal in front is of a level of its own.
                        let n_levels = levels.len() + 1;
                        self.n_kept += usize::from(n_levels > FEW_LEVELS);
                        let unit = clause[0];
                        let number = self.attach(clause, n_levels, id);
                        self.set(unit, Some(number));
                    }
                }
                if n_conflicts > n_conflicts_max {
                    return Found::TooLong;
                }
                continue;
            }
            if n_conflicts >= until {
                n_restarts += 1;
                until = n_conflicts + RESTART * luby(n_restarts);
                self.back_to(0);
                if self.n_kept > self.n_kept_max {
                    self.forget();
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
            let mut next = self.open.take(&self.scores);
            while next.is_some_and(|variable| self.values[variable] != 0) {
                next = self.open.take(&self.scores);
            }
            let Some(variable) = next else {
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
        let (mut n_found, mut n_none, mut n_followed) = (0, 0, 0);
        for _ in 0..400 {
            let mut sat = Sat::keeping();
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
                    n_followed += usize::from(follow(&sat) && assumed.is_empty());
                }
                Found::TooLong => panic!("it is small"),
            }
        }
        assert!(n_found > 50 && n_none > 50 && n_followed > 30, "{n_found} {n_none} {n_followed}");
    }

    /// Whether what is logged is followed to the empty clause.
    fn follow(sat: &Sat) -> bool {
        sat.followed().expect("each step follows").ends_in(&[])
    }

    /// Pigeons and holes: long enough that clauses are forgotten on the way.
    #[test]
    fn what_is_found_after_much_was_forgotten_is_followed() {
        let mut sat = Sat::keeping();
        let (n_holes, n_pigeons) = (7, 8);
        let is_in = |pigeon: i32, hole: i32| pigeon * n_holes + hole + 1;
        for pigeon in 0..n_pigeons {
            let somewhere: Vec<i32> = (0..n_holes).map(|hole| is_in(pigeon, hole)).collect();
            sat.add(&somewhere);
        }
        for hole in 0..n_holes {
            for a in 0..n_pigeons {
                (0..a).for_each(|b| sat.add(&[-is_in(a, hole), -is_in(b, hole)]));
            }
        }
        assert_eq!(sat.search(&[], 1_000_000), Found::None);
        assert!(sat.learnt.len() > 4_000 && follow(&sat), "{}", sat.learnt.len());
    }
}
