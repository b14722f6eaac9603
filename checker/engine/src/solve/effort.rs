//! What the calls of a solver take, and how they are made.

use super::Following;
use crate::cnf::{Formula, Literal};
use crate::evidence::Record;
use crate::outside::Outside;
use crate::work::Allowance;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Counts over the calls of a run, whether its answers are followed, and what is kept of them.
#[derive(Clone, Default, Debug)]
pub struct Effort {
    /// Whether *unsatisfiable* is only said where its derivation has been followed ([`follow`]).
    follow: bool,
    /// What is kept, if anything is; then answers are followed, too.
    record: Option<Box<Record>>,
    /// Who is asked in place of the solver that comes along.
    pub(super) outside: Option<Arc<dyn Outside>>,
    /// Calls.
    pub calls: u64,
    /// Clauses added to proofs: those learnt, and given ones that were simplified.
    pub learnt: u64,
    /// Derivations that were followed.
    pub followed: u64,
}

impl Effort {
    /// None so far; if told so, of answers that are followed.
    pub fn following(follow: bool) -> Self {
        Self { follow, ..Self::default() }
    }
    /// The same with a record of all that is asked.
    pub fn recording(record: bool, follow: bool) -> Self {
        let kept = record.then(Box::default);
        Self { record: kept, ..Self::following(follow || record) }
    }
    /// The same, with somebody else asked.
    pub fn asking(self, outside: Option<Arc<dyn Outside>>) -> Self {
        Self { outside, ..self }
    }
    pub(super) fn following_of<'f>(
        &self,
        formula: &'f Formula,
        extra: &[Vec<Literal>],
        allowance: &Allowance,
    ) -> Option<Rc<RefCell<Following<'f>>>> {
        let following = self.follow.then(|| Following::new(formula, extra, allowance.clone()))?;
        if self.record.is_some() {
            following.borrow_mut().derivation.keep();
        }
        Some(following)
    }
    /// What is kept, if anything is.
    pub fn record(&mut self) -> Option<&mut Record> {
        self.record.as_deref_mut()
    }
    /// Hands over what was kept.
    pub fn take_record(&mut self) -> Option<Record> {
        self.record.take().map(|record| *record)
    }
    /// Adds that of another part of the run.
    pub fn add(&mut self, other: Self) {
        if let (Some(own), Some(other)) = (&mut self.record, other.record) {
            own.add(*other);
        }
        self.calls += other.calls;
        self.learnt += other.learnt;
        self.followed += other.followed;
    }
}
