//! The calls by which threads come to the places of a report.

use super::wording::Words;
use crate::event::{AgentId, Blocked, EventId, Obligation};
use crate::explain::roles::Role;
use fencepost_dsl::Span;

impl Words<'_> {
    /// Those of an event, outermost first.
    pub(super) fn calls_to(&self, event: EventId) -> &[Span] {
        &self.graph().events[event].calls
    }

    /// Those by which a thread comes to a statement that must hold.
    pub(super) fn calls_to_statement(&self, agent: AgentId, span: Span, iterations: &[u32]) -> &[Span] {
        let is_it =
            |own: &&Obligation| own.agent == agent && own.span == span && own.iterations == iterations;
        self.graph().obligations.iter().find(is_it).map_or(&[], |own| &own.calls)
    }

    /// Those by which the first thread of a role comes to where it waits.
    pub(super) fn calls_to_wait(&self, role: &Role) -> &[Span] {
        let is_it = |own: &&Blocked| {
            role.agents.first() == Some(&own.agent)
                && own.span == role.span
                && own.iterations == role.iterations
        };
        self.graph().blocked.iter().find(is_it).map_or(&[], |own| &own.calls)
    }
}
