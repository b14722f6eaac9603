//! Who waits for ever, for what, and where those are who could help: what is told of a hang.

use crate::event::{Access, AgentId, EventId};
use fencepost_dsl::Span;

/// Threads that wait for ever at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// Who.
    pub agents: Vec<AgentId>,
    /// Where.
    pub span: Span,
    /// Iterations of the enclosing loops.
    pub iterations: Vec<u32>,
    /// For what.
    pub wait: WaitFact,
}

impl Role {
    /// Whether it waits for a phase for which nobody is left to arrive: no other wait is why.
    pub fn is_left_alone(&self) -> bool {
        let WaitFact::Phase { contributors, .. } = &self.wait else { return false };
        contributors.iter().all(|one| one.is_in_phase || one.standing == Standing::Finished)
    }
}

/// What a role waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitFact {
    /// For memory to change: instructions of the last try, what they read, and writes there that never happen.
    Memory(Vec<LookFact>, Vec<MissingWrite>),
    /// For a phase of an mbarrier.
    Phase {
        /// Its name.
        object: String,
        /// Opcode and operand.
        text: String,
        /// The parity it asks for, if it asks by parity.
        parity: Option<u128>,
        /// Phases completed in the end; the number of the one it waits for.
        completed: u128,
        /// Arrivals in that phase, and how many it expects.
        arrivals: (u128, Option<u128>),
        /// Its tx-count: bytes announced and not delivered.
        bytes: i64,
        /// Threads that arrive at the object somewhere.
        contributors: Vec<Contributor>,
        /// Of a wait by parity that came too late, what it came too late for.
        overtaken: Option<Overtaken>,
    },
    /// For grids to end.
    Grids {
        /// As a reader knows them.
        names: Vec<String>,
        /// Who has not ended, and where they are instead.
        missing: Vec<(AgentId, Standing)>,
        /// Whether the role has not started for it.
        is_start: bool,
    },
    /// For threads to arrive at a barrier.
    Barrier {
        /// As a reader knows it.
        name: String,
        /// How many threads have done what it waits for, and how many it waits for.
        arrived: (usize, usize),
        /// Who has not arrived, and where they are instead.
        missing: Vec<(AgentId, Standing)>,
        /// How many warps are needed, if any of those that use it will do.
        any_of: Option<u32>,
    },
    /// For registers of its CTA's pool.
    Registers {
        /// What it asks for, per thread.
        asked: u32,
        /// How many more than it has that is, and how many the pool has.
        needed: u128,
        /// See `needed`.
        free: u128,
        /// A thread of each warp of the CTA, the registers that the warp holds, and where it is.
        held: Vec<(AgentId, u128, Standing)>,
    },
}

/// A phase that a wait by parity would have passed behind, had the next one not been completed before it looked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overtaken {
    /// That phase; `None` for the one before the first (MB-8).
    pub meant: Option<u32>,
    /// The arrivals of the phase behind it.
    pub by: Vec<EventId>,
}

/// A thread that arrives at an mbarrier somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contributor {
    /// Who.
    pub agent: AgentId,
    /// Where it is.
    pub standing: Standing,
    /// Arrivals it has made.
    pub n_made: usize,
    /// Arrivals that are in its code, on whatever path.
    pub n_possible: usize,
    /// Whether one of them was in the phase that is not complete.
    pub is_in_phase: bool,
}

/// A write that would change what a thread waits for, and does not happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingWrite {
    /// One of those that do not happen.
    pub event: EventId,
    /// Whose.
    pub agent: AgentId,
    /// The instruction.
    pub span: Span,
    /// Where the thread is instead.
    pub standing: Standing,
    /// Whether it has happened before, in another round or call.
    pub is_again: bool,
}

/// A read of a try that fails for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LookFact {
    /// Where it is.
    pub span: Span,
    /// Opcode.
    pub opcode: String,
    /// Operand, with the instance of its object.
    pub operand: String,
    /// Where it reads, and from which byte on, if the operand does not say.
    pub access: Option<(Access, u128)>,
    /// What it reads.
    pub value: u128,
    /// Whether the read is weak.
    pub is_weak: bool,
    /// The read, and a write that has happened and that it need never see.
    pub unpromised: Option<(EventId, EventId)>,
}

/// Where a thread is when nothing happens any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It ran to its end.
    Finished,
    /// It waits there.
    Waits(Span),
    /// It goes round there, in a loop on memory.
    Loops(Span),
    /// Its cluster or its grid has not started.
    NotStarted,
}
