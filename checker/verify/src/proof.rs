//! Follows derivations: each clause must follow from those before it, and the last one must be empty.
//!
//! Sound: a clause follows if, with all its literals false, unit propagation over clauses that hold comes to a contradiction.
//! Where a derivation cites clauses, only these are looked at, in their order; where it cites none, all are. A clause that does
//! not follow so may still be added if it is redundant on its first literal (RAT): whatever satisfied the clauses before can be
//! changed to satisfy it, too. So if the clauses at the start had a solution, those at the end would; and the empty clause has
//! none.
//!
//! Needs: nothing. It is about formulas.

use crate::Refused;
use std::collections::HashMap;

/// The clauses that hold so far, one after another, so that there is room for many.
#[derive(Debug, Default)]
pub struct Checker {
    literals: Vec<i32>,
    /// By number, from 1: where a clause begins, and how long it is; what was deleted is [`GONE`] long.
    spans: Vec<(usize, u32)>,
    /// By variable: 1 true, -1 false, 0 open.
    values: Vec<i8>,
    trail: Vec<i32>,
    /// Steps that were followed.
    pub n_steps: usize,
    /// The number of a clause without literals.
    empty: Option<u64>,
    search: Option<Search>,
}

/// The length of a clause that was deleted.
const GONE: u32 = u32::MAX;

/// What it takes to propagate without being told where.
#[derive(Debug, Default)]
struct Search {
    /// By literal, the clauses that watch it.
    watches: HashMap<i32, Vec<u64>>,
    units: Vec<(u64, i32)>,
    /// By its sorted literals, the clauses that are one.
    named: HashMap<Vec<i32>, Vec<u64>>,
}

/// What came of following a clause.
enum Follows {
    Yes,
    No,
}

impl Checker {
    /// No clause.
    pub fn new() -> Self {
        Self::default()
    }

    /// A clause that is given; its number.
    pub fn give(&mut self, clause: &[i32]) -> u64 {
        let id = self.next();
        self.insert(clause);
        id
    }

    /// Clauses that are given.
    pub fn give_all<'a>(&mut self, clauses: impl Iterator<Item = &'a [i32]>) {
        clauses.for_each(|clause| _ = self.give(clause));
    }

    /// The number that the next clause has.
    pub fn next(&self) -> u64 {
        self.spans.len() as u64 + 1
    }

    fn clause(&self, id: u64) -> Option<&[i32]> {
        let at = usize::try_from(id).ok()?.checked_sub(1)?;
        let &(start, length) = self.spans.get(at)?;
        (length != GONE).then(|| &self.literals[start..start + length as usize])
    }

    fn insert(&mut self, clause: &[i32]) {
        let (start, id) = (self.literals.len(), self.next());
        for &literal in clause {
            let variable = literal.unsigned_abs() as usize;
            if variable >= self.values.len() {
                self.values.resize(variable + 1, 0);
            }
            if !self.literals[start..].contains(&literal) {
                self.literals.push(literal);
            }
        }
        let length = u32::try_from(self.literals.len() - start).unwrap_or(GONE - 1);
        self.spans.push((start, length));
        if length == 0 {
            self.empty.get_or_insert(id);
        }
        if let Some(search) = &mut self.search {
            search.watch(id, &self.literals[start..]);
        }
    }

    fn value(&self, literal: i32) -> i8 {
        let value = self.values[literal.unsigned_abs() as usize];
        if literal < 0 { -value } else { value }
    }

    fn set(&mut self, literal: i32) {
        self.values[literal.unsigned_abs() as usize] = if literal < 0 { -1 } else { 1 };
        self.trail.push(literal);
    }

    fn undo(&mut self) {
        for literal in self.trail.drain(..) {
            self.values[literal.unsigned_abs() as usize] = 0;
        }
    }

    /// Takes a clause to be false; whether that contradicts itself.
    fn deny(&mut self, clause: &[i32]) -> bool {
        for &literal in clause {
            let variable = literal.unsigned_abs() as usize;
            if variable >= self.values.len() {
                self.values.resize(variable + 1, 0);
            }
            match self.value(literal) {
                1 => return true,
                0 => self.set(-literal),
                _ => {}
            }
        }
        false
    }

    /// Adds a clause that follows from those that it cites.
    ///
    /// # Errors
    /// If it does not.
    pub fn derive(&mut self, id: u64, clause: &[i32], cited: &[u64]) -> Result<(), Refused> {
        let number = self.n_steps + 1;
        let wrong =
            |why: String| Refused::new("proof::step", format!("step {number} does not follow: {why}"));
        if id != self.next() {
            return Err(wrong(format!("its number is {id}, and {} is next", self.next())));
        }
        let follows = self.follows_from(clause, cited);
        self.undo();
        follows.map_err(wrong)?;
        self.insert(clause);
        self.n_steps += 1;
        Ok(())
    }

    fn follows_from(&mut self, clause: &[i32], cited: &[u64]) -> Result<(), String> {
        if self.deny(clause) {
            return Ok(());
        }
        for &cited in cited {
            let Some(of) = self.clause(cited) else {
                return Err(format!("it cites clause {cited}, which is not there"));
            };
            let mut open = of.iter().copied().filter(|&literal| self.value(literal) != -1);
            match (open.next(), open.next()) {
                (None, _) => return Ok(()),
                // What is true already says nothing new, and does no harm.
                (Some(unit), None) if self.value(unit) == 1 => {}
                (Some(unit), None) => self.set(unit),
                _ => return Err(format!("clause {cited} leaves more than one literal open")),
            }
        }
        Err("what it cites contradicts nothing".to_owned())
    }

    /// Adds a clause for which nothing is cited.
    ///
    /// # Errors
    /// If it follows from nothing, and is not redundant either.
    pub fn derive_by_search(&mut self, clause: &[i32]) -> Result<(), Refused> {
        self.prepare();
        let number = self.n_steps + 1;
        if matches!(self.follows(clause), Follows::No) && !self.is_redundant(clause) {
            let why = format!(
                "step {number} does not follow: neither does propagation contradict it, nor is it redundant"
            );
            return Err(Refused::new("proof::step", why));
        }
        self.insert(clause);
        self.n_steps += 1;
        Ok(())
    }

    /// Forgets a clause of a derivation that cites nothing. One that says something by itself stays: solvers delete such clauses
    /// and go on using what they say.
    pub fn delete(&mut self, clause: &[i32]) {
        self.prepare();
        let name = name(clause);
        if name.len() < 2 {
            return;
        }
        let Some(search) = &mut self.search else { return };
        if let Some(id) = search.named.get_mut(&name).and_then(Vec::pop)
            && let Ok(id) = usize::try_from(id)
        {
            self.spans[id - 1].1 = GONE;
        }
    }

    fn prepare(&mut self) {
        if self.search.is_none() {
            let mut search = Search::default();
            for id in 1..self.next() {
                if let Some(clause) = self.clause(id) {
                    search.watch(id, clause);
                }
            }
            self.search = Some(search);
        }
    }

    fn follows(&mut self, clause: &[i32]) -> Follows {
        let contradicts = self.empty.is_some() || self.deny(clause) || self.propagate();
        self.undo();
        if contradicts { Follows::Yes } else { Follows::No }
    }

    /// Propagates all units; whether that comes to a contradiction. Watches stay where they are found to be, which is right for
    /// any assignment.
    fn propagate(&mut self) -> bool {
        let Some(mut search) = self.search.take() else { return false };
        let contradicts = self.propagate_with(&mut search);
        self.search = Some(search);
        contradicts
    }

    fn propagate_with(&mut self, search: &mut Search) -> bool {
        for at in 0..search.units.len() {
            let (id, unit) = search.units[at];
            if self.clause(id).is_none() {
                continue;
            }
            match self.value(unit) {
                -1 => return true,
                0 => self.set(unit),
                _ => {}
            }
        }
        let mut at = 0;
        while at < self.trail.len() {
            let falsified = -self.trail[at];
            at += 1;
            let watching = search.watches.remove(&falsified).unwrap_or_default();
            let mut kept = Vec::with_capacity(watching.len());
            let mut contradicts = false;
            for (place, &id) in watching.iter().enumerate() {
                let (start, length) = self.spans[usize::try_from(id).unwrap_or(usize::MAX) - 1];
                if length == GONE {
                    continue;
                }
                let clause = &mut self.literals[start..start + length as usize];
                // Its first two literals are those that it watches.
                if clause[0] == falsified {
                    clause.swap(0, 1);
                }
                let first = clause[0];
                let value = |literal: i32| {
                    let value = self.values[literal.unsigned_abs() as usize];
                    if literal < 0 { -value } else { value }
                };
                if value(first) == 1 {
                    kept.push(id);
                    continue;
                }
                if let Some(other) = (2..clause.len()).find(|&other| value(clause[other]) != -1) {
                    clause.swap(1, other);
                    search.watches.entry(clause[1]).or_default().push(id);
                    continue;
                }
                kept.push(id);
                if value(first) == -1 {
                    kept.extend_from_slice(&watching[place + 1..]);
                    contradicts = true;
                    break;
                }
                self.set(first);
            }
            search.watches.entry(falsified).or_default().extend(kept);
            if contradicts {
                return true;
            }
        }
        false
    }

    /// Whether a clause is redundant on its first literal: with each clause that has the negation of that, it leads to one that
    /// follows.
    fn is_redundant(&mut self, clause: &[i32]) -> bool {
        let Some(&pivot) = clause.first() else { return false };
        let has = |id: &u64| self.clause(*id).is_some_and(|other| other.contains(&-pivot));
        let others: Vec<u64> = (1..self.next()).filter(has).collect();
        others.into_iter().all(|id| {
            let other = self.clause(id).unwrap_or_default();
            let rest = other.iter().copied().filter(|&literal| literal != -pivot);
            let resolvent: Vec<i32> = clause.iter().copied().chain(rest).collect();
            matches!(self.follows(&resolvent), Follows::Yes)
        })
    }

    /// Whether a clause without literals is there, or the last one is of these.
    pub fn ends_in(&self, among: &[i32]) -> bool {
        let last = self.clause(self.next() - 1);
        self.empty.is_some()
            || last.is_some_and(|clause| clause.iter().all(|literal| among.contains(literal)))
    }

    /// Follows a derivation in binary LRAT.
    ///
    /// # Errors
    /// At its first fault.
    pub fn follow_lrat(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let mut reader = Reader { bytes, at: 0 };
        while let Some(kind) = reader.byte() {
            match kind {
                b'a' => {
                    let id = reader.number()? / 2;
                    let clause = reader.literals()?;
                    let cited = reader.numbers()?;
                    self.derive(id, &clause, &cited)?;
                }
                b'd' => {
                    // What is cited later is looked up then.
                    reader.numbers()?;
                }
                _ => {
                    return Err(Refused::new(
                        "proof::form",
                        format!("byte {} begins no step", reader.at - 1),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Follows a derivation in text DRAT or text LRAT, whichever it is.
    ///
    /// # Errors
    /// At its first fault.
    pub fn follow_text(&mut self, text: &str) -> Result<(), Refused> {
        let is_lrat = text.lines().find(|line| !line.starts_with('c')).is_some_and(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(1) == Some(&"d") || words.iter().filter(|&&word| word == "0").count() == 2
        });
        // Solvers number what they derive after all clauses of the file.
        let mut ids: HashMap<u64, u64> = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() || words[0] == "c" {
                continue;
            }
            let wrong =
                || Refused::new("proof::form", format!("line {} of the proof is no step", number + 1));
            let parse = |words: &[&str]| -> Result<Vec<i64>, Refused> {
                words.iter().map(|word| word.parse().map_err(|_| wrong())).collect()
            };
            if is_lrat {
                if words.get(1) == Some(&"d") {
                    continue;
                }
                let numbers = parse(&words)?;
                let id = u64::try_from(numbers[0]).map_err(|_| wrong())?;
                let end = numbers.iter().skip(1).position(|&number| number == 0).ok_or_else(wrong)? + 1;
                let clause = literals(&numbers[1..end]).ok_or_else(wrong)?;
                let cited = numbers[end + 1..].iter().take_while(|&&number| number != 0);
                if numbers[end + 1..].iter().any(|&number| number < 0) {
                    // It is redundant, and not by propagation: that is searched for.
                    let own = self.next();
                    self.derive_by_search(&clause)?;
                    ids.insert(id, own);
                    continue;
                }
                let cited: Vec<u64> = cited
                    .map(|&number| u64::try_from(number).unwrap_or(0))
                    .map(|number| ids.get(&number).copied().unwrap_or(number))
                    .collect();
                let own = self.next();
                self.derive(own, &clause, &cited)?;
                ids.insert(id, own);
                continue;
            }
            let is_deletion = words[0] == "d";
            let numbers = parse(&words[usize::from(is_deletion)..])?;
            let Some((0, clause)) = numbers.split_last().map(|(last, clause)| (*last, clause)) else {
                return Err(wrong());
            };
            let clause = literals(clause).ok_or_else(wrong)?;
            if is_deletion {
                self.delete(&clause);
            } else {
                self.derive_by_search(&clause)?;
                if clause.is_empty() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Follows a derivation in binary DRAT.
    ///
    /// # Errors
    /// At its first fault.
    pub fn follow_binary_drat(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let mut reader = Reader { bytes, at: 0 };
        while let Some(kind) = reader.byte() {
            let clause = reader.literals()?;
            match kind {
                b'a' => self.derive_by_search(&clause)?,
                b'd' => self.delete(&clause),
                _ => return Err(Refused::new("proof::form", format!("byte {} begins no step", reader.at))),
            }
        }
        Ok(())
    }
}

fn literals(numbers: &[i64]) -> Option<Vec<i32>> {
    numbers.iter().map(|&number| i32::try_from(number).ok().filter(|&literal| literal != 0)).collect()
}

/// A clause, whatever the order of its literals.
fn name(clause: &[i32]) -> Vec<i32> {
    let mut name = clause.to_vec();
    name.sort_unstable();
    name.dedup();
    name
}

impl Search {
    fn watch(&mut self, id: u64, clause: &[i32]) {
        self.named.entry(name(clause)).or_default().push(id);
        match clause {
            [] => {}
            [unit] => self.units.push((id, *unit)),
            [first, second, ..] => {
                self.watches.entry(*first).or_default().push(id);
                self.watches.entry(*second).or_default().push(id);
            }
        }
    }
}

/// Steps of a binary derivation.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl Reader<'_> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    pub(crate) fn number(&mut self) -> Result<u64, Refused> {
        let mut value = 0_u64;
        for shift in (0..63).step_by(7) {
            let Some(byte) = self.byte() else {
                return Err(Refused::new(
                    "proof::truncated",
                    "the proof ends in the middle of a step".to_owned(),
                ));
            };
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Refused::new("proof::form", format!("there is no number at byte {}", self.at)))
    }

    pub(crate) fn numbers(&mut self) -> Result<Vec<u64>, Refused> {
        let mut numbers = Vec::new();
        loop {
            match self.number()? {
                0 => return Ok(numbers),
                number => numbers.push(number / 2),
            }
        }
    }

    pub(crate) fn literals(&mut self) -> Result<Vec<i32>, Refused> {
        let mut literals = Vec::new();
        loop {
            match self.number()? {
                0 => return Ok(literals),
                number => {
                    let variable = i32::try_from(number / 2).unwrap_or(0);
                    if variable == 0 {
                        return Err(Refused::new(
                            "proof::form",
                            format!("there is no literal at byte {}", self.at),
                        ));
                    }
                    literals.push(if number % 2 == 1 { -variable } else { variable });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Checker;

    /// Two pigeons and one hole, in three clauses.
    fn given() -> Checker {
        let mut checker = Checker::new();
        for clause in [vec![1], vec![2], vec![-1, -2]] {
            checker.give(&clause);
        }
        checker
    }

    #[test]
    fn what_follows_is_followed_and_what_does_not_is_refused() {
        let mut checker = given();
        assert!(!checker.ends_in(&[]));
        checker.derive(4, &[-2], &[1, 3]).expect("it follows");
        checker.derive(5, &[], &[2, 4]).expect("it follows");
        assert!(checker.ends_in(&[]));
        let code = |result: Result<(), crate::Refused>| result.expect_err("it is refused").code;
        assert_eq!(code(given().derive(4, &[3], &[1, 3])), "proof::step");
        assert_eq!(code(given().derive(4, &[-2], &[7])), "proof::step");
        assert_eq!(code(given().derive(4, &[], &[3])), "proof::step");
        assert_eq!(code(given().derive(3, &[-2], &[1, 3])), "proof::step");
        assert_eq!(code(given().derive(9, &[-2], &[1, 3])), "proof::step");
    }

    #[test]
    fn other_solvers_proofs_are_read_in_their_forms() {
        given().follow_text("-2 0\nd -1 -2 0\n0\n").expect("text DRAT");
        given().follow_text("c hello\n4 -2 0 1 3 0\n4 d 3 0\n5 0 2 4 0\n").expect("text LRAT");
        given().follow_binary_drat(&[b'a', 5, 0, b'a', 0]).expect("binary DRAT");
        given().follow_lrat(&[b'a', 8, 5, 0, 2, 6, 0, b'a', 10, 0, 4, 8, 0]).expect("binary LRAT");
        let refused = |text: &str| {
            let mut open = Checker::new();
            open.give_all([&[1, 2][..], &[-1, 2]].into_iter());
            open.follow_text(text).expect_err("it is refused").code
        };
        assert_eq!(refused("-2 0\n"), "proof::step");
        assert_eq!(refused("3 -2 0 1 2 0\n"), "proof::step");
        assert_eq!(refused("x 0\n"), "proof::form");
        assert_eq!(given().follow_lrat(&[b'a', 8, 5]).expect_err("it ends").code, "proof::truncated");
    }

    #[test]
    fn a_clause_may_be_redundant() {
        let mut checker = Checker::new();
        checker.give(&[1, 2]);
        // A variable of its own for a conjunction.
        checker.follow_text("3 -1 -2 0\n-3 1 0\n-3 2 0\n").expect("definitions are redundant");
        assert!(checker.follow_text("-1 0\n").is_err(), "this one is not");
    }
}
