//! What a finding is about.

use super::roles::Role;
use crate::event::{AgentId, CtaId, EventId, Misuse};
use crate::findings::FlagKind;
use fencepost_dsl::Span;

/// What a finding is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Two unordered accesses, the one that comes first in the story first.
    Race {
        /// (1)
        earlier: EventId,
        /// (2)
        later: EventId,
    },
    /// Another flag of the model.
    Flag {
        /// What it means.
        kind: &'static FlagKind,
        /// Its name.
        name: String,
        /// Its members; the same event twice for a set.
        pair: (EventId, EventId),
    },
    /// An `assert` that fails.
    Assertion {
        /// Whose.
        agent: AgentId,
        /// The statement.
        span: Span,
        /// Of the enclosing loops.
        iterations: Vec<u32>,
    },
    /// Threads that wait for ever.
    Deadlock {
        /// Who, and for what.
        roles: Vec<Role>,
        /// Clusters that have not started.
        absent: Vec<u32>,
    },
    /// An access of a peer's shared memory while that CTA may not be there.
    Lifetime {
        /// The access.
        access: EventId,
        /// Whose memory it is.
        owner: CtaId,
        /// Whether the owner may have ended; else it may not have started.
        ended: bool,
        /// The last instruction of the owner, if it has ended and has one.
        last: Option<EventId>,
    },
    /// A broken rule about barriers or mbarriers.
    Misuse {
        /// Whose.
        agent: AgentId,
        /// Where.
        span: Span,
        /// Of the enclosing loops.
        iterations: Vec<u32>,
        /// What the thread does.
        misuse: Misuse,
    },
    /// A condition on final memory that fails.
    Final {
        /// The condition.
        span: Span,
    },
    /// Nothing wrong: an execution in which every thread finished.
    Completion,
    /// An index outside its object.
    Bounds {
        /// Whose.
        agent: AgentId,
        /// The memory operand.
        span: Span,
        /// Of the enclosing loops.
        iterations: Vec<u32>,
        /// The object.
        object: String,
        /// Its size.
        n_elements: u64,
        /// The index.
        index: u128,
    },
}
