//! How much a run does and may do, in steps that are the same on every machine.
//!
//! Time is no measure for that: on a busy machine it would turn a proof into *inconclusive*, and another machine would
//! give other reports. So what takes the time is counted where it happens: statements executed, terms and clauses built,
//! words of relations combined, clauses the solver visits. Each kind has its price, so that a step is about as long in every
//! pass: ten nanoseconds on an ordinary machine. `benches/prices.rs` of the command measures kinds and time, and fits prices.
//!
//! The count belongs to the thread. A check runs on one thread from its start to its end, so it counts nothing else,
//! and the operators of relations need not be handed a counter.

use crate::listener::{Halt, Listener, Silent};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// What takes time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A statement executed.
    Statement,
    /// A term built, or looked up.
    Term,
    /// A member of a conjunction or disjunction.
    Member,
    /// 64 events of a row of a relation; to look at a row at all is worth eight of them.
    Word,
    /// A pair followed in a relation.
    Vertex,
    /// A pair of events compared.
    Pair,
    /// An event of a slice that is found and drawn.
    Sliced,
    /// A literal of a clause that is stated.
    Literal,
    /// A literal that the solver is handed.
    Loaded,
    /// A clause that the solver looks at.
    Visit,
    /// A clause that is looked at where the solver's answer is followed.
    Followed,
}

/// How many kinds there are.
pub const N_KINDS: usize = Work::Followed as usize + 1;

/// Parts of a step, in which prices are given.
const PARTS: u64 = 16;

impl Work {
    /// All kinds.
    pub const ALL: [Self; N_KINDS] = [
        Self::Statement,
        Self::Term,
        Self::Member,
        Self::Word,
        Self::Vertex,
        Self::Pair,
        Self::Sliced,
        Self::Literal,
        Self::Loaded,
        Self::Visit,
        Self::Followed,
    ];

    /// Sixteenths of a step.
    pub const fn price(self) -> u64 {
        match self {
            Self::Statement => 800,
            Self::Term => 48,
            Self::Member => 20,
            Self::Word => 1,
            Self::Vertex => 12,
            Self::Pair => 160,
            Self::Sliced => 3200,
            Self::Literal => 72,
            Self::Loaded => 72,
            Self::Visit => 24,
            Self::Followed => 32,
        }
    }
}

thread_local! {
    static OF_KIND: [Cell<u64>; N_KINDS] = const { [const { Cell::new(0) }; N_KINDS] };
}

/// Counts work of this thread.
pub fn count(work: Work, times: usize) {
    OF_KIND.with(|kinds| {
        let kind = &kinds[work as usize];
        kind.set(kind.get().wrapping_add(times as u64));
    });
}

/// Steps that it takes to evaluate so many relations of so many events, about.
pub fn of_relations(n_events: usize, n_relations: usize) -> u64 {
    let words = (n_events as u64).saturating_mul(n_events as u64) / 64 + 8 * n_events as u64;
    words.saturating_mul(n_relations as u64).saturating_mul(Work::Word.price()) / PARTS
}

/// Steps of this thread so far.
pub fn done() -> u64 {
    parts() / PARTS
}

/// The same in parts of a step.
fn parts() -> u64 {
    let price = |(work, times): (&Work, u64)| times.wrapping_mul(work.price());
    Work::ALL.iter().zip(of_kinds()).map(price).fold(0, u64::wrapping_add)
}

/// How often this thread has done each kind so far.
pub fn of_kinds() -> [u64; N_KINDS] {
    OF_KIND.with(|kinds| kinds.each_ref().map(Cell::get))
}

/// Up to where a run may go.
#[derive(Clone)]
pub struct Allowance {
    /// In parts of a step.
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
    /// The patience of whoever listens.
    Patience(Halt),
}

impl Allowance {
    /// `steps` from now on, until the listener gives up.
    pub fn new(steps: u64, listener: Arc<dyn Listener>) -> Self {
        Self { start: parts(), steps, listener }
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
    /// The same with so many steps more, as far as another one goes.
    #[must_use]
    pub fn extended(&self, steps: u64, within: &Self) -> Self {
        let most = self.used().saturating_add(within.left());
        Self { steps: self.steps.saturating_add(steps).min(most), ..self.clone() }
    }
    /// Steps done since it was given.
    pub fn used(&self) -> u64 {
        parts().wrapping_sub(self.start) / PARTS
    }
    /// Steps left.
    pub fn left(&self) -> u64 {
        self.steps.saturating_sub(self.used())
    }
    /// Whether whoever listens has no patience left.
    pub fn is_given_up(&self) -> bool {
        self.listener.gives_up().is_some()
    }
    /// What is used up, if something is. The steps are asked about first: they are the same in every run.
    pub fn used_up(&self) -> Option<UsedUp> {
        if self.used() >= self.steps {
            return Some(UsedUp::Steps);
        }
        self.listener.gives_up().map(UsedUp::Patience)
    }
}

#[cfg(test)]
mod tests {
    use super::{Allowance, UsedUp, Work, count};
    use crate::listener::Halt;
    use crate::listener::tests::Impatient;
    use std::sync::Arc;

    #[test]
    fn steps_and_time_end_separately() {
        let allowance = Allowance::of_steps(10);
        assert_eq!((allowance.left(), allowance.used_up()), (10, None));
        assert_eq!(Allowance::new(10, Arc::new(Impatient)).used_up(), Some(UsedUp::Patience(Halt::Deadline)));
        // Five times three halves, and what is left of a step.
        count(Work::Loaded, 2);
        count(Work::Word, 16);
        assert_eq!((allowance.left(), allowance.used_up()), (0, Some(UsedUp::Steps)));
        assert_eq!(Allowance::unlimited().used_up(), None);
        let allowance = Allowance::of_steps(10);
        assert_eq!((allowance.part(3).left(), allowance.part(30).left()), (3, 10));
        let part = allowance.part(3);
        assert_eq!((part.extended(4, &allowance).left(), part.extended(40, &allowance).left()), (7, 10));
    }
}
