//! Formulas in DIMACS, with what the comments say that literals mean.

use crate::Refused;
use std::collections::HashMap;

/// What goes wrong in a graph.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Goal {
    /// A pair is flagged; of a set, an event twice.
    Flag(String, usize, usize),
    /// An obligation is not met.
    Obligation(usize),
    /// A claim about final memory does not hold.
    Final(usize),
    /// Threads wait for ever.
    Deadlock,
    /// Threads wait for ever for a cluster that has not started.
    NotResident,
}

/// What a literal means that is about an execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meaning {
    /// The event happens.
    Happens(usize),
    /// This piece of the read is of that piece of the write: read, piece, write, piece.
    Reads(usize, u32, usize, u32),
    /// One write is coherence-before another.
    Coherence(usize, usize),
    /// One fence is before another.
    FenceOrder(usize, usize),
    /// A bit of an unknown.
    Bit(usize, u32),
}

/// Clauses, one after another.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    literals: Vec<i32>,
    ends: Vec<usize>,
}

impl Clauses {
    /// One more.
    pub fn push(&mut self, clause: &[i32]) {
        self.literals.extend_from_slice(clause);
        self.ends.push(self.literals.len());
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[i32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.literals[start..end])
    }
}

/// A formula.
#[derive(Clone, Debug, Default)]
pub struct Formula {
    /// How many variables it has.
    pub n_variables: i32,
    /// Its clauses.
    pub clauses: Clauses,
    /// What literals mean.
    pub meanings: Vec<(i32, Meaning)>,
    /// Pairs that have no literal since they are there whenever both events happen.
    pub certain: Vec<Meaning>,
    /// Goals by what they are.
    pub goals: HashMap<Goal, i32>,
    /// By number, what is true if a loop runs on.
    pub cuts: Vec<i32>,
    /// Their disjunction.
    pub cut: Option<i32>,
    /// True if every thread ends.
    pub complete: Option<i32>,
    /// By place, what is true if a `reachable` is reached.
    pub reachable: Vec<([usize; 3], i32)>,
    /// What a litmus condition wants, and which final states count.
    pub condition: Option<i32>,
    /// See there.
    pub counts: Option<i32>,
}

impl Formula {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, Refused> {
        let mut formula = Self::default();
        let mut n_clauses = None;
        for (number, line) in text.lines().enumerate() {
            let wrong =
                || Refused::new("formula::form", format!("line {} is no line of a formula", number + 1));
            if let Some(comment) = line.strip_prefix("c ") {
                formula.comment(comment).ok_or_else(wrong)?;
            } else if let Some(header) = line.strip_prefix("p cnf ") {
                let (variables, clauses) = header.split_once(' ').ok_or_else(wrong)?;
                formula.n_variables = variables.parse().map_err(|_| wrong())?;
                n_clauses = Some(clauses.parse::<usize>().map_err(|_| wrong())?);
            } else if !line.is_empty() {
                let numbers: Result<Vec<i32>, _> = line.split_whitespace().map(str::parse).collect();
                let mut clause = numbers.map_err(|_| wrong())?;
                let is_ended = clause.pop() == Some(0);
                let is_known = |&literal: &i32| {
                    literal != 0 && literal.unsigned_abs() <= formula.n_variables.unsigned_abs()
                };
                if !is_ended || !clause.iter().all(is_known) {
                    return Err(wrong());
                }
                formula.clauses.push(&clause);
            }
        }
        if n_clauses != Some(formula.clauses.len()) {
            let why = format!(
                "its head names {} clauses, and there are {}",
                n_clauses.map_or("no".to_owned(), |n| n.to_string()),
                formula.clauses.len()
            );
            return Err(Refused::new("formula::clauses", why));
        }
        Ok(formula)
    }

    /// A comment that says what a literal means; others are for people.
    fn comment(&mut self, comment: &str) -> Option<()> {
        let words: Vec<&str> = comment.split(' ').collect();
        if words[0] == "certain" {
            let pair = (event(words.get(2)?)?, event(words.get(3)?)?);
            self.certain.push(match *words.get(1)? {
                "coherence" => Meaning::Coherence(pair.0, pair.1),
                _ => Meaning::FenceOrder(pair.0, pair.1),
            });
            return Some(());
        }
        let Ok(literal) = words[0].parse::<i32>() else { return Some(()) };
        match words[1..] {
            ["happens", one] => self.meanings.push((literal, Meaning::Happens(event(one)?))),
            ["reads", read, write] => {
                let ((read, piece), (write, from)) = (part(read, 'e')?, part(write, 'e')?);
                self.meanings.push((literal, Meaning::Reads(read, piece, write, from)));
            }
            ["coherence", a, b] => self.meanings.push((literal, Meaning::Coherence(event(a)?, event(b)?))),
            ["fence-order", a, b] => self.meanings.push((literal, Meaning::FenceOrder(event(a)?, event(b)?))),
            ["bit", bit] => {
                let (unknown, at) = part(bit, 'u')?;
                self.meanings.push((literal, Meaning::Bit(unknown, at)));
            }
            ["goal", "flag", name, a, b] => {
                self.goals.insert(Goal::Flag(name.to_owned(), event(a)?, event(b)?), literal);
            }
            ["goal", "obligation", index] => {
                self.goals.insert(Goal::Obligation(index.parse().ok()?), literal);
            }
            ["goal", "final", index] => {
                self.goals.insert(Goal::Final(index.parse().ok()?), literal);
            }
            ["goal", "deadlock"] => {
                self.goals.insert(Goal::Deadlock, literal);
            }
            ["goal", "not-resident"] => {
                self.goals.insert(Goal::NotResident, literal);
            }
            ["cut", _] => self.cuts.push(literal),
            ["cuts"] => self.cut = Some(literal),
            ["complete"] => self.complete = Some(literal),
            ["reachable", file, start, end] => {
                let place = [file.parse().ok()?, start.parse().ok()?, end.parse().ok()?];
                self.reachable.push((place, literal));
            }
            ["condition"] => self.condition = Some(literal),
            ["counts"] => self.counts = Some(literal),
            _ => {}
        }
        Some(())
    }
}

fn event(word: &str) -> Option<usize> {
    word.strip_prefix('e')?.parse().ok()
}

fn part(word: &str, letter: char) -> Option<(usize, u32)> {
    let (whole, part) = word.strip_prefix(letter)?.split_once('.')?;
    Some((whole.parse().ok()?, part.parse().ok()?))
}
