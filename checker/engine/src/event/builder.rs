//! A graph that is being built: what may be added to it, and how much.
//!
//! Whoever is handed one can read the graph and add to it; what a kernel does is not known here.

use super::{
    AgentId, Constraint, Event, EventGraph, EventId, EventKind, Misuse, Obligation, ObligationKind, Role,
};
use super::{TermPool, TermRef, UnknownId, UnknownKind};
use crate::work::{Allowance, UsedUp};
use fencepost_dsl::kernel::program::Width;
use fencepost_dsl::{Diagnostic, Span};
use std::ops::{Deref, DerefMut};

/// Why there is no event graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GraphError {
    /// The kernel does something that cannot be modelled.
    Unsupported(Diagnostic),
    /// The allowance is used up.
    Stopped(UsedUp),
    /// A limit was reached.
    TooLarge {
        /// Which: `threads`, `events`, `steps`, `barrier edges`, or how much there may be of one object.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// What was being executed.
        span: Span,
    },
}

impl GraphError {
    /// What cannot be modelled, and where it is.
    pub fn unsupported(
        code: &'static str,
        message: impl Into<String>,
        span: Span,
        label: impl Into<String>,
    ) -> Self {
        Self::Unsupported(Diagnostic::new(code, message, span, label))
    }
}

/// A graph that is being built.
pub struct GraphBuilder {
    graph: EventGraph,
    /// Threads whose exit lets a barrier be passed, by which event, and when that is so.
    pub exit_releases: Vec<(AgentId, EventId, TermRef)>,
    max_events: usize,
    allowance: Allowance,
    span: Span,
}

impl GraphBuilder {
    /// Builds on a graph, up to so many events and as far as an allowance goes; `span` is the kernel or program, for what has no
    /// place of its own.
    pub fn new(graph: EventGraph, max_events: usize, allowance: Allowance, span: Span) -> Self {
        Self { graph, exit_releases: Vec::new(), max_events, allowance, span }
    }

    /// Asked now and then by what may take long.
    pub fn goes_on(&self) -> Result<(), GraphError> {
        self.allowance.used_up().map_or(Ok(()), |what| Err(GraphError::Stopped(what)))
    }

    /// The graph as it has become.
    pub fn finish(self) -> EventGraph {
        self.graph
    }

    /// The kernel or program whose graph it is.
    pub fn span(&self) -> Span {
        self.span
    }

    /// States that a term is 1 in every execution.
    pub fn constrain(&mut self, term: TermRef) {
        self.graph.constraints.push(Constraint { term });
    }

    /// A fresh unknown that lies in `min..=max`.
    pub fn fresh_in_range(
        &mut self,
        width: Width,
        (min, max): (u128, u128),
        kind: UnknownKind,
    ) -> (UnknownId, TermRef) {
        let (unknown, term) = self.graph.terms.fresh_in_range(width, min, max, kind);
        let is_in_range = self.graph.terms.is_in_range(term);
        self.constrain(is_in_range);
        (unknown, term)
    }

    /// States that a term is 1 in every execution in which the guard is.
    pub fn imply(&mut self, guard: TermRef, term: TermRef) {
        let term = self.graph.terms.implies(guard, term);
        if term != TermPool::TRUE {
            self.constrain(term);
        }
    }

    /// Records a rule that the instance of an instruction must keep, when all threads are known.
    pub fn oblige_at(&mut self, event: EventId, misuse: Misuse, guard: TermRef, condition: TermRef) {
        let Event { agent: Some(agent), site: Some(site), iterations, calls, position, .. } =
            &self.graph.events[event]
        else {
            return;
        };
        self.graph.obligations.push(Obligation {
            kind: ObligationKind::Discipline(misuse),
            agent: *agent,
            guard,
            condition,
            span: self.graph.sites[*site].span,
            iterations: iterations.clone(),
            calls: calls.clone(),
            position: *position,
        });
    }

    /// Adds an event, if there may be one more.
    pub fn emit(&mut self, event: Event) -> Result<EventId, GraphError> {
        if self.graph.events.len() < self.max_events {
            return Ok(self.graph.events.push(event));
        }
        let span = event.site.map_or(self.span, |site| self.graph.sites[site].span);
        Err(GraphError::TooLarge { limit: "events", value: self.max_events as u64, span })
    }

    /// An event of no thread: where CTAs and grids start and end.
    pub fn emit_unowned(&mut self, guard: TermRef, kind: EventKind) -> Result<EventId, GraphError> {
        self.emit(Event {
            agent: None,
            guard,
            position: 0,
            kind,
            site: None,
            iterations: Vec::new(),
            calls: Vec::new(),
            role: Role::Plain,
            decides: false,
        })
    }
}

impl Deref for GraphBuilder {
    type Target = EventGraph;

    fn deref(&self) -> &EventGraph {
        &self.graph
    }
}

impl DerefMut for GraphBuilder {
    fn deref_mut(&mut self) -> &mut EventGraph {
        &mut self.graph
    }
}
