//! How much a run does and may do, in steps that are the same on every machine.
//!
//! Time is no measure for that: on a busy machine it would turn a proof into *inconclusive*, and another machine would
//! give other reports. So what takes the time is counted where it happens: statements executed, terms and clauses built,
//! words of relations combined, clauses the solver visits. A step takes some nanoseconds.
//!
//! The count belongs to the thread. A check runs on one thread from its start to its end, so it counts nothing else,
//! and the operators of relations need not be handed a counter.

use crate::listener::{Listener, Silent};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// Counts steps of this thread.
pub fn count(steps: usize) {
    DONE.set(DONE.get().wrapping_add(steps as u64));
}

/// Steps of this thread so far.
pub fn done() -> u64 {
    DONE.get()
}

/// Up to where a run may go.
#[derive(Clone)]
pub struct Allowance {
    start: u64,
    steps: u64,
    listener: Arc<dyn Listener>,
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allowance")
            .field("start", &self.start)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

/// What has been used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsedUp {
    /// The steps.
    Steps,
    /// The time.
    Time,
}

impl Allowance {
    /// `steps` from now on, until the listener gives up.
    pub fn new(steps: u64, listener: Arc<dyn Listener>) -> Self {
        Self { start: done(), steps, listener }
    }
    /// At most so many of the steps that are left.
    #[must_use]
    pub fn part(&self, steps: u64) -> Self {
        Self::new(steps.min(self.left()), Arc::clone(&self.listener))
    }
    /// `steps` from now on, however long they take.
    pub fn of_steps(steps: u64) -> Self {
        Self::new(steps, Arc::new(Silent))
    }
    /// No end.
    pub fn unlimited() -> Self {
        Self::of_steps(u64::MAX)
    }
    /// Steps done since it was given.
    pub fn used(&self) -> u64 {
        done().wrapping_sub(self.start)
    }
    /// Steps left.
    pub fn left(&self) -> u64 {
        self.steps.saturating_sub(self.used())
    }
    /// What is used up, if something is. The steps are asked about first: they are the same in every run.
    pub fn used_up(&self) -> Option<UsedUp> {
        if self.used() >= self.steps {
            return Some(UsedUp::Steps);
        }
        self.listener.gives_up().then_some(UsedUp::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, UsedUp, count};
    use crate::listener::tests::Impatient;
    use std::sync::Arc;

    #[test]
    fn steps_and_time_end_separately() {
        let allowance = Allowance::of_steps(10);
        assert_eq!((allowance.left(), allowance.used_up()), (10, None));
        assert_eq!(Allowance::new(10, Arc::new(Impatient)).used_up(), Some(UsedUp::Time));
        count(10);
        assert_eq!((allowance.left(), allowance.used_up()), (0, Some(UsedUp::Steps)));
        assert_eq!(Allowance::unlimited().used_up(), None);
        let allowance = Allowance::of_steps(10);
        assert_eq!((allowance.part(3).left(), allowance.part(30).left()), (3, 10));
    }
}
