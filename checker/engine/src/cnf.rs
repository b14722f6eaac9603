//! Propositional logic: literals, clauses, and gates with structural hashing and constant folding.
//!
//! Gates come in two directions (Plaisted and Greenbaum): [`Direction::Up`] only forces a gate true when its inputs are,
//! [`Direction::Down`] only forces its inputs when it is true. [`Direction::Both`] is Tseitin's equivalence.

use crate::work::{self, Work};
use fencepost_dsl::define_id;
use rustc_hash::FxHashMap;
use std::ops::Not;

define_id! {
    /// A propositional variable.
    pub struct Variable;
}

/// A variable or its negation: `2 * variable + negated`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Literal(u32);

impl Literal {
    /// True in every assignment (variable 0 is fixed by a unit clause).
    pub const TRUE: Self = Self(0);
    /// False in every assignment.
    pub const FALSE: Self = Self(1);

    /// The positive literal.
    pub fn positive(variable: Variable) -> Self {
        Self(variable.0 * 2)
    }
    /// A truth value.
    pub fn constant(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }
    /// Its variable.
    pub fn variable(self) -> Variable {
        Variable(self.0 / 2)
    }
    /// A number of its own: twice that of its variable, and one more for a negation.
    pub fn code(self) -> usize {
        self.0 as usize
    }
    /// Whether it is the negation of its variable.
    pub fn is_negative(self) -> bool {
        self.0 % 2 == 1
    }
    /// The truth value, if it is a constant.
    pub fn as_constant(self) -> Option<bool> {
        match self {
            Self::TRUE => Some(true),
            Self::FALSE => Some(false),
            _ => None,
        }
    }
    /// DIMACS form: one-based, negative for negations.
    pub fn to_dimacs(self) -> i64 {
        let number = i64::from(self.0 / 2) + 1;
        if self.is_negative() { -number } else { number }
    }
}

impl Not for Literal {
    type Output = Self;
    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// Which implications between a gate and its inputs are stated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Inputs force the gate: for gates the solver wants false.
    Up,
    /// The gate forces its inputs: for gates the solver wants true.
    Down,
    /// Equivalence.
    Both,
}

impl Direction {
    /// The direction of a negated operand.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
            Self::Both => Self::Both,
        }
    }
    /// Whether inputs force the gate.
    pub fn is_up(self) -> bool {
        self != Self::Down
    }
    /// Whether the gate forces its inputs.
    pub fn is_down(self) -> bool {
        self != Self::Up
    }
}

/// A formula in conjunctive normal form, under construction.
#[derive(Clone, Debug)]
pub struct Formula {
    n_variables: u32,
    /// Clauses one after another; each ends where the next begins.
    literals: Vec<Literal>,
    ends: Vec<u32>,
    /// Remarks, each with the number of clauses before it.
    comments: Vec<(usize, String)>,
    gates: FxHashMap<(Direction, Vec<Literal>), Literal>,
}

impl Default for Formula {
    fn default() -> Self {
        Self::new()
    }
}

impl Formula {
    /// No clause but the one that fixes [`Literal::TRUE`].
    pub fn new() -> Self {
        Self {
            n_variables: 1,
            literals: vec![Literal::TRUE],
            ends: vec![1],
            comments: Vec::new(),
            gates: FxHashMap::default(),
        }
    }
    /// The clauses alone: nothing can be built on it.
    #[must_use]
    pub fn without_gates(&self) -> Self {
        let Self { n_variables, literals, ends, comments, .. } = self;
        let (literals, ends, comments) = (literals.clone(), ends.clone(), comments.clone());
        Self { n_variables: *n_variables, literals, ends, comments, gates: FxHashMap::default() }
    }
    /// A fresh variable.
    pub fn fresh(&mut self) -> Literal {
        let variable = Variable(self.n_variables);
        self.n_variables += 1;
        Literal::positive(variable)
    }
    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.n_variables as usize
    }
    /// Number of clauses.
    pub fn n_clauses(&self) -> usize {
        self.ends.len()
    }
    /// Length of all clauses together.
    pub fn n_literals(&self) -> usize {
        self.literals.len()
    }
    /// The clauses.
    pub fn clauses(&self) -> impl Iterator<Item = &[Literal]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.literals[start as usize..end as usize])
    }
    /// States a disjunction; constants are folded away.
    pub fn clause(&mut self, literals: &[Literal]) {
        if literals.contains(&Literal::TRUE) {
            return;
        }
        work::count(Work::Literal, literals.len());
        self.literals.extend(literals.iter().filter(|&&literal| literal != Literal::FALSE));
        self.ends.push(
            u32::try_from(self.literals.len()).expect("the size limit keeps formulas below 2^32 literals"),
        );
    }
    /// The same, constants and all.
    pub(crate) fn clause_as_it_is(&mut self, literals: &[Literal]) {
        self.literals.extend_from_slice(literals);
        self.ends.push(
            u32::try_from(self.literals.len()).expect("the size limit keeps formulas below 2^32 literals"),
        );
    }
    /// Says of the clauses that follow, in DIMACS, what they are.
    pub fn comment(&mut self, text: String) {
        self.comments.push((self.ends.len(), text));
    }
    /// States that `a` implies `b`.
    pub fn imply(&mut self, a: Literal, b: Literal) {
        self.clause(&[!a, b]);
    }
    /// States that `a` and `b` are equal whenever `condition` is true.
    pub fn equal_if(&mut self, condition: Literal, a: Literal, b: Literal) {
        if a != b {
            self.clause(&[!condition, !a, b]);
            self.clause(&[!condition, a, !b]);
        }
    }

    /// Conjunction.
    pub fn and(&mut self, direction: Direction, inputs: &[Literal]) -> Literal {
        work::count(Work::Literal, inputs.len());
        let mut inputs: Vec<Literal> =
            inputs.iter().copied().filter(|&input| input != Literal::TRUE).collect();
        inputs.sort_unstable();
        inputs.dedup();
        // A literal and its negation are neighbours once sorted.
        if inputs.contains(&Literal::FALSE) || inputs.windows(2).any(|pair| pair[0] == !pair[1]) {
            return Literal::FALSE;
        }
        match inputs.as_slice() {
            [] => return Literal::TRUE,
            [only] => return *only,
            _ => {}
        }
        if let Some(&gate) = self.gates.get(&(direction, inputs.clone())) {
            return gate;
        }
        let gate = self.fresh();
        if direction.is_down() {
            for &input in &inputs {
                self.imply(gate, input);
            }
        }
        if direction.is_up() {
            let mut clause: Vec<Literal> = inputs.iter().map(|&input| !input).collect();
            clause.push(gate);
            self.clause(&clause);
        }
        self.gates.insert((direction, inputs), gate);
        gate
    }
    /// Disjunction.
    pub fn or(&mut self, direction: Direction, inputs: &[Literal]) -> Literal {
        let negated: Vec<Literal> = inputs.iter().map(|&input| !input).collect();
        !self.and(direction.flipped(), &negated)
    }
    /// Exclusive or, as an equivalence.
    pub fn xor(&mut self, a: Literal, b: Literal) -> Literal {
        match (a.as_constant(), b.as_constant()) {
            (Some(a), _) => return if a { !b } else { b },
            (_, Some(b)) => return if b { !a } else { a },
            _ if a == b => return Literal::FALSE,
            _ if a == !b => return Literal::TRUE,
            _ => {}
        }
        let left = self.and(Direction::Both, &[a, !b]);
        let right = self.and(Direction::Both, &[!a, b]);
        self.or(Direction::Both, &[left, right])
    }
    /// `condition ? then : otherwise`, as an equivalence.
    pub fn select(&mut self, condition: Literal, then: Literal, otherwise: Literal) -> Literal {
        match condition.as_constant() {
            Some(true) => return then,
            Some(false) => return otherwise,
            None if then == otherwise => return then,
            None => {}
        }
        let taken = self.and(Direction::Both, &[condition, then]);
        let skipped = self.and(Direction::Both, &[!condition, otherwise]);
        self.or(Direction::Both, &[taken, skipped])
    }
    /// Majority of three (the carry of a full adder), as an equivalence.
    pub fn majority(&mut self, a: Literal, b: Literal, c: Literal) -> Literal {
        let ab = self.and(Direction::Both, &[a, b]);
        let either = self.or(Direction::Both, &[a, b]);
        let with_c = self.and(Direction::Both, &[c, either]);
        self.or(Direction::Both, &[ab, with_c])
    }
    /// States that at most one is true, pairwise up to six and through a chain of counters beyond.
    pub fn at_most_one(&mut self, literals: &[Literal]) {
        if literals.len() <= 6 {
            for (at, &a) in literals.iter().enumerate() {
                for &b in &literals[at + 1..] {
                    self.clause(&[!a, !b]);
                }
            }
            return;
        }
        let mut seen = literals[0];
        for &literal in &literals[1..] {
            self.clause(&[!seen, !literal]);
            let next = self.fresh();
            self.imply(seen, next);
            self.imply(literal, next);
            seen = next;
        }
    }
    /// The formula in DIMACS.
    pub fn to_dimacs(&self) -> String {
        self.to_dimacs_with(None)
    }

    /// The formula in DIMACS, with one more clause and what is said before it, if there is one.
    pub fn to_dimacs_with(&self, last: Option<(&[String], &[Literal])>) -> String {
        use std::fmt::Write;
        let n_clauses = self.ends.len() + usize::from(last.is_some());
        let mut text = format!("p cnf {} {n_clauses}\n", self.n_variables);
        let mut comments = self.comments.iter().peekable();
        for (number, clause) in self.clauses().enumerate() {
            while let Some((_, comment)) = comments.next_if(|&&(before, _)| before <= number) {
                writeln!(text, "c {comment}").expect("writing to a string cannot fail");
            }
            for literal in clause {
                write!(text, "{} ", literal.to_dimacs()).expect("writing to a string cannot fail");
            }
            text.push_str("0\n");
        }
        let Some((said, clause)) = last else { return text };
        for line in said {
            writeln!(text, "c {line}").expect("writing to a string cannot fail");
        }
        for literal in clause {
            write!(text, "{} ", literal.to_dimacs()).expect("writing to a string cannot fail");
        }
        text.push_str("0\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_fold() {
        let mut formula = Formula::new();
        let a = formula.fresh();
        assert_eq!(formula.and(Direction::Both, &[a, Literal::TRUE]), a);
        assert_eq!(formula.and(Direction::Up, &[a, !a]), Literal::FALSE);
        assert_eq!(formula.or(Direction::Down, &[a, !a]), Literal::TRUE);
        assert_eq!(formula.xor(a, Literal::TRUE), !a);
        assert_eq!(formula.select(a, Literal::TRUE, Literal::TRUE), Literal::TRUE);
        assert_eq!(formula.n_clauses(), 1);
    }

    #[test]
    fn equal_gates_are_shared() {
        let mut formula = Formula::new();
        let (a, b) = (formula.fresh(), formula.fresh());
        assert_eq!(formula.and(Direction::Both, &[a, b]), formula.and(Direction::Both, &[b, a, a]));
        assert_eq!(formula.or(Direction::Both, &[a, b]), !formula.and(Direction::Both, &[!a, !b]));
    }
}
