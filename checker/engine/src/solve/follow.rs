//! The solver's *unsatisfiable*, followed by something that is not the solver.
//!
//! While it searches, the solver says which clauses it derives, and names for each those from which it follows. Once it says
//! that there is no assignment, its derivation is gone through from the end: a clause that the end needs must follow from those
//! that are named for it, by propagation of units alone, and then these are needed. What nothing needs is never looked at, so
//! this takes a fraction of the search.
//!
//! Sound: each clause that is followed holds in all assignments of the given clauses, by induction over their order: if it were
//! false somewhere, the clauses that were used, all of them given or of lower number, would make literals true in turn until one
//! of them is false itself. That its last clause says that not all assumptions hold, or nothing at all, is the claim.
//! Deletions are not heeded, since what followed once still does.
//!
//! Needs: nothing. What is handed over as given is the formula that was asked about; it comes from whoever asked, never from the
//! solver. Names are no part of the argument: they only say where to look, and what is found there is checked.

use crate::cnf::Literal;
use crate::evidence::{Reason, Step};
use crate::outside::Fault;
use crate::work::{self, Allowance, Work};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a clause is called where it is a reason. Clauses that differ may share a name.
pub(super) type Name = u64;

/// A derivation that does not lead to what the solver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unfollowed {
    /// A clause of it does not follow from those that are named for it.
    #[error(
        "the solver says that there is no solution, and clause {step} of the {of} that it derived does not follow"
    )]
    Step {
        /// Its number.
        step: usize,
        /// Of how many.
        of: usize,
    },
    /// It does not end in a contradiction.
    #[error(
        "the solver says that there is no solution, and the {of} clauses that it derived contradict nothing"
    )]
    NoEnd {
        /// How many there are.
        of: usize,
    },
    /// Somebody else was asked, and has no answer that counts.
    #[error("{0}")]
    Outside(Fault),
}

/// So many reasons are kept at a time (8 bytes each); past that all that was derived is followed, needed or not.
const REASONS_MAX: usize = 1 << 24;

/// No clause.
const NONE: u32 = u32::MAX;
/// A clause that was given, where its number is no matter.
const GIVEN: u32 = u32::MAX - 1;

/// What is known of a clause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Given,
    /// Derived, and so far nothing needs it.
    Open,
    Needed,
    Followed,
}

struct Clause {
    /// Where its literals end, and those of the next begin.
    end: usize,
    /// Where its reasons end.
    reasons_end: usize,
    state: State,
    /// Another one of the same name.
    same: u32,
}

/// A derivation as it is told, and how far it has been followed.
pub(super) struct Derivation {
    name_of: fn(&[Literal]) -> Name,
    reasons_max: usize,
    /// Those derived, in their order, and among them those given that are reasons.
    clauses: Vec<Clause>,
    literals: Vec<Literal>,
    reasons: Vec<Name>,
    n_derived: usize,
    /// The last one derived.
    last: Option<usize>,
    /// One without literals.
    empty: Option<usize>,
    /// Clauses below have their names, and those of their reasons, in the table.
    n_named: usize,
    named: FxHashMap<Name, u32>,
    /// The names of given clauses in the table.
    of_given: FxHashSet<Name>,
    /// By literal, the first clause that says it alone.
    units: Vec<u32>,
    /// By literal, whether it is true as long as a clause is taken to be false; and those that are.
    is_true: Vec<bool>,
    trail: Vec<Literal>,
    n_needed: usize,
    /// What was followed, for whoever wants to follow it again.
    kept: Option<Kept>,
}

/// The steps that were followed, and what they cite.
#[derive(Default)]
struct Kept {
    steps: Vec<Step>,
    /// What the step that is being followed cites.
    reasons: Vec<Reason>,
    /// By its number here, the place of a given clause among all that were given.
    places: FxHashMap<usize, usize>,
    /// By literal, the place of the given clause that says it alone.
    units: FxHashMap<Literal, usize>,
}

/// What a clause says once some literals are known.
enum Says {
    Nothing,
    Literal(Literal),
    Contradiction,
}

impl Derivation {
    /// An empty one of clauses that are named like this, whatever the order of their literals.
    pub(super) fn new(name_of: fn(&[Literal]) -> Name) -> Self {
        Self {
            name_of,
            reasons_max: REASONS_MAX,
            clauses: Vec::new(),
            literals: Vec::new(),
            reasons: Vec::new(),
            n_derived: 0,
            last: None,
            empty: None,
            n_named: 0,
            named: FxHashMap::default(),
            of_given: FxHashSet::default(),
            units: Vec::new(),
            is_true: Vec::new(),
            trail: Vec::new(),
            n_needed: 0,
            kept: None,
        }
    }

    /// From now on, steps that are followed are kept.
    pub(super) fn keep(&mut self) {
        self.kept = Some(Kept::default());
    }

    /// The steps that were followed since they were last taken, each behind what it cites.
    pub(super) fn take_steps(&mut self) -> Vec<Step> {
        let mut steps = self.kept.as_mut().map(|kept| std::mem::take(&mut kept.steps)).unwrap_or_default();
        steps.sort_unstable_by_key(|step| step.number);
        steps
    }

    /// Notes a clause that the solver has derived.
    pub(super) fn derive(&mut self, clause: impl Iterator<Item = Literal>, reasons: &[Name]) {
        self.reasons.extend_from_slice(reasons);
        let number = self.push(clause, State::Open);
        self.n_derived += 1;
        self.last = Some(number);
        match self.literals[self.literals_of(number)] {
            [] => _ = self.empty.get_or_insert(number),
            [unit] if self.units[unit.code()] == NONE => self.units[unit.code()] = number as u32,
            _ => {}
        }
    }

    /// Keeps fewer reasons than is usual.
    #[cfg(test)]
    pub(super) fn keep_at_most(&mut self, n_reasons: usize) {
        self.reasons_max = n_reasons;
    }

    /// Whether there are so many reasons that what there is should be followed now ([`Self::follow_all`]).
    pub(super) fn is_long(&self) -> bool {
        self.reasons.len() > self.reasons_max
    }

    /// Follows the derivation to its end, that given clauses and assumptions contradict each other; whether the allowance was
    /// enough for that. After that more may be given and derived.
    ///
    /// # Errors
    /// If something does not follow.
    pub(super) fn follow<'a>(
        &mut self,
        given: impl Iterator<Item = &'a [Literal]>,
        assumed: &[Literal],
        allowance: &Allowance,
    ) -> Result<bool, Unfollowed> {
        let is_denied = |&literal: &Literal| assumed.contains(&!literal);
        let says_so = |&last: &usize| self.literals[self.literals_of(last)].iter().all(is_denied);
        let Some(end) = self.empty.or_else(|| self.last.filter(says_so)) else {
            return Err(Unfollowed::NoEnd { of: self.n_derived });
        };
        self.look_up(given);
        self.need(end);
        self.follow_needed(allowance)
    }

    /// Follows all there is, and forgets the reasons; whether the allowance was enough for that.
    ///
    /// # Errors
    /// If something does not follow.
    pub(super) fn follow_all<'a>(
        &mut self,
        given: impl Iterator<Item = &'a [Literal]>,
        allowance: &Allowance,
    ) -> Result<bool, Unfollowed> {
        self.look_up(given);
        (0..self.clauses.len()).for_each(|clause| self.need(clause));
        let is_done = self.follow_needed(allowance)?;
        if is_done {
            self.reasons.clear();
            self.clauses.iter_mut().for_each(|clause| clause.reasons_end = 0);
        }
        Ok(is_done)
    }

    fn push(&mut self, clause: impl Iterator<Item = Literal>, state: State) -> usize {
        for literal in clause {
            self.make_room(literal);
            self.literals.push(literal);
        }
        let (end, reasons_end) = (self.literals.len(), self.reasons.len());
        self.clauses.push(Clause { end, reasons_end, state, same: NONE });
        self.clauses.len() - 1
    }

    fn make_room(&mut self, literal: Literal) {
        let n_literals = (literal.code() | 1) + 1;
        if n_literals > self.units.len() {
            self.units.resize(n_literals, NONE);
            self.is_true.resize(n_literals, false);
        }
    }

    fn literals_of(&self, clause: usize) -> std::ops::Range<usize> {
        let start = if clause == 0 { 0 } else { self.clauses[clause - 1].end };
        start..self.clauses[clause].end
    }

    fn reasons_of(&self, clause: usize) -> std::ops::Range<usize> {
        let start = if clause == 0 { 0 } else { self.clauses[clause - 1].reasons_end };
        start..self.clauses[clause].reasons_end
    }

    /// Brings into the table what has been derived, and those of the given clauses that are its reasons.
    fn look_up<'a>(&mut self, given: impl Iterator<Item = &'a [Literal]>) {
        let mut wanted = FxHashSet::default();
        for clause in self.n_named..self.clauses.len() {
            for at in self.reasons_of(clause) {
                // A derived clause may have the name of a given one, too, without being the same.
                if !self.of_given.contains(&self.reasons[at]) {
                    wanted.insert(self.reasons[at]);
                }
            }
            self.name(clause);
        }
        let mut sorted = Vec::new();
        let mut n_looked_at = 0;
        for clause in given {
            n_looked_at += 1;
            sorted.clear();
            sorted.extend_from_slice(clause);
            sorted.sort_unstable();
            sorted.dedup();
            if let [unit] = sorted[..] {
                self.make_room(unit);
                self.units[unit.code()] = GIVEN;
                if let Some(kept) = &mut self.kept {
                    kept.units.entry(unit).or_insert(n_looked_at - 1);
                }
            }
            let name = (self.name_of)(&sorted);
            if wanted.contains(&name) {
                self.of_given.insert(name);
                let clause = self.push(sorted.iter().copied(), State::Given);
                if let Some(kept) = &mut self.kept {
                    kept.places.insert(clause, n_looked_at - 1);
                }
                self.name(clause);
            }
        }
        self.n_named = self.clauses.len();
        work::count(Work::Followed, n_looked_at);
    }

    fn name(&mut self, clause: usize) {
        let name = (self.name_of)(&self.literals[self.literals_of(clause)]);
        let first = self.named.insert(name, clause as u32);
        self.clauses[clause].same = first.unwrap_or(NONE);
    }

    fn need(&mut self, clause: usize) {
        let state = &mut self.clauses[clause].state;
        if *state == State::Open {
            *state = State::Needed;
            self.n_needed += 1;
        }
    }

    fn follow_needed(&mut self, allowance: &Allowance) -> Result<bool, Unfollowed> {
        // What a clause needs comes before it.
        for clause in (0..self.clauses.len()).rev() {
            if self.n_needed == 0 {
                break;
            }
            if self.clauses[clause].state != State::Needed {
                continue;
            }
            if allowance.used_up().is_some() {
                return Ok(false);
            }
            let follows = self.follows(clause);
            for literal in self.trail.drain(..) {
                self.is_true[literal.code()] = false;
            }
            if follows {
                self.keep_step(clause);
            } else {
                let derived = self.clauses[..clause].iter().filter(|clause| clause.state != State::Given);
                return Err(Unfollowed::Step { step: derived.count() + 1, of: self.n_derived });
            }
            self.clauses[clause].state = State::Followed;
            self.n_needed -= 1;
        }
        Ok(true)
    }

    /// Notes a clause that was followed, with what it cites.
    fn keep_step(&mut self, clause: usize) {
        let literals = self.literals_of(clause);
        let Some(kept) = &mut self.kept else { return };
        let reasons = std::mem::take(&mut kept.reasons);
        kept.steps.push(Step { number: clause, clause: self.literals[literals].to_vec(), reasons });
    }

    /// Whether a clause follows from its reasons; if so, those that were used are needed.
    fn follows(&mut self, clause: usize) -> bool {
        if let Some(kept) = &mut self.kept {
            kept.reasons.clear();
        }
        for at in self.literals_of(clause) {
            let literal = self.literals[at];
            if self.is_known(literal, clause) {
                self.need_unit(literal);
                return true;
            }
            // It has a literal and its negation.
            if self.is_true[literal.code()] {
                return true;
            }
            self.set(!literal);
        }
        for at in self.reasons_of(clause) {
            let mut next = self.named.get(&self.reasons[at]).copied().unwrap_or(NONE);
            while next != NONE {
                let reason = next as usize;
                next = self.clauses[reason].same;
                if self.clauses[reason].state != State::Given && reason >= clause {
                    continue;
                }
                work::count(Work::Followed, 1);
                match self.says(reason, clause) {
                    Says::Nothing => continue,
                    Says::Literal(literal) => {
                        self.use_reason(reason, Some(literal));
                        self.set(literal);
                    }
                    Says::Contradiction => {
                        self.use_reason(reason, None);
                        return true;
                    }
                }
                break;
            }
        }
        false
    }

    /// Whether a clause of one literal, before a clause, says that it is true.
    fn is_known(&self, literal: Literal, before: usize) -> bool {
        let unit = self.units[literal.code()];
        unit == GIVEN || (unit as usize) < before
    }

    fn set(&mut self, literal: Literal) {
        if !self.is_true[literal.code()] {
            self.is_true[literal.code()] = true;
            self.trail.push(literal);
        }
    }

    /// What a reason says of literals that are not known yet, with all that is known before a clause.
    fn says(&self, reason: usize, before: usize) -> Says {
        let mut left = None;
        for &literal in &self.literals[self.literals_of(reason)] {
            if self.is_true[(!literal).code()] || self.is_known(!literal, before) {
                continue;
            }
            if self.is_true[literal.code()] || self.is_known(literal, before) || left.is_some() {
                return Says::Nothing;
            }
            left = Some(literal);
        }
        left.map_or(Says::Contradiction, Says::Literal)
    }

    /// Needs a reason, and the units by which its literals are false, but for the one that is left.
    fn use_reason(&mut self, reason: usize, left: Option<Literal>) {
        self.need(reason);
        for at in self.literals_of(reason) {
            let literal = self.literals[at];
            if Some(literal) != left && !self.is_true[(!literal).code()] {
                self.need_unit(!literal);
                // It is cited once; that it is true is known anyway.
                self.set(!literal);
            }
        }
        let is_given = self.clauses[reason].state == State::Given;
        if let Some(kept) = &mut self.kept {
            kept.reasons.push(match kept.places.get(&reason) {
                Some(&place) if is_given => Reason::Given(place),
                _ => Reason::Derived(reason),
            });
        }
    }

    fn need_unit(&mut self, literal: Literal) {
        let unit = self.units[literal.code()];
        if let Some(kept) = &mut self.kept {
            kept.reasons.push(match kept.units.get(&literal) {
                Some(&place) if unit == GIVEN => Reason::Given(place),
                _ => Reason::Derived(unit as usize),
            });
        }
        if unit != GIVEN {
            self.need(unit as usize);
        }
    }
}
