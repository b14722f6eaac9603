//! Words for what asynchronous operations have to do with a race, and for fences that are about other memory.

use super::wording::Words;
use crate::event::{BaseRelation, EventId, EventKind, OperationSort, RestrictedFence};
use crate::explain::Explanation;

impl Words<'_> {
    /// That nothing says that an operation is done, and what would.
    pub(super) fn not_completed(
        &self,
        event: EventId,
        other: EventId,
        known: Option<EventId>,
        explanation: &Explanation,
    ) -> String {
        let graph = self.graph();
        let agent = graph.events[event].agent;
        let own = match graph.events[event].kind {
            EventKind::Mbarrier(operation) => Some(graph.mbarriers[operation.object].name.to_string()),
            _ => None,
        };
        let signal = own.or_else(|| {
            graph.mbarriers.iter().find_map(|mbarrier| {
                let own = mbarrier.operations.iter().any(|operation| {
                    graph.events[operation.event].agent == agent
                        && agent.is_some()
                        && operation.event != event
                });
                own.then(|| mbarrier.name.to_string())
            })
        });
        let what = format!("{} is part of {}", self.end(event, explanation), self.thread(event));
        let operation = agent.and_then(|agent| graph.hierarchy.operation(agent));
        let over = match (signal, operation.map(|operation| operation.sort)) {
            (_, Some(OperationSort::TensorMemoryLoad)) => {
                "it is over once the thread that started it has passed `tcgen05.wait::ld`".to_owned()
            }
            (_, Some(OperationSort::TensorProduct | OperationSort::TensorMemoryCopy)) => {
                "it is over once a wait has seen the arrival of a `tcgen05.commit` behind it".to_owned()
            }
            (Some(name), _) => format!("it is over once a wait for {name} has seen its complete-tx"),
            (None, _) => "it is over once the thread that started it has waited for its group".to_owned(),
        };
        let end = self.end(other, explanation);
        let gap = match known {
            Some(wait) => format!(
                "{} of {} knows it, but {}",
                self.wait_as_written(wait),
                self.thread(wait),
                if self.is_before(other, wait) {
                    format!("that comes after {end} in that thread")
                } else {
                    format!("nothing leads from there to {end}")
                }
            ),
            None => match self.wait_that_leaves(event) {
                Some(wait) => {
                    let text = self.wait_as_written(wait);
                    // That it has read its source such a wait says; it is what it has written that is not known.
                    let is_of_writes = matches!(graph.events[event].kind, EventKind::Write(_));
                    let is_read = is_of_writes && text.contains("wait_group.read");
                    let who = self.thread(wait);
                    if is_read {
                        format!(
                            "{text} of {who} comes after its start, and waits only until copies have read their sources: that \
                             they have written is what a wait without `.read` says"
                        )
                    } else {
                        format!(
                            "{text} of {who} comes after its start and leaves it pending: such a wait is for groups that were \
                             committed before, but for as many of the last ones as it names"
                        )
                    }
                }
                None => "no wait of this execution says so".to_owned(),
            },
        };
        format!("{what}: {over}; {gap}; nor is {end} ordered before its start")
    }

    /// A wait with its operands, its line and its iteration.
    fn wait_as_written(&self, wait: EventId) -> String {
        let text = self.span(wait).map_or("", |span| self.case.sources.text(span)).trim_end_matches(';');
        let line = self.span(wait).map_or_else(String::new, |span| format!(" ({})", self.line(span)));
        format!("`{text}`{line}{}", Self::iterations(&self.graph().events[wait].iterations))
    }

    /// Whether what a thread does, or starts, comes before something else that it does.
    fn is_before(&self, event: EventId, after: EventId) -> bool {
        let graph = self.graph();
        let start = graph.edges.of(BaseRelation::Issue).find(|edge| edge.to == event).map(|edge| edge.from);
        let order = &self.witness.basis.relations[&BaseRelation::ProgramOrder];
        order.contains(start.unwrap_or(event), after)
    }

    /// A wait for groups behind the start of an operation, in the thread that started it.
    fn wait_that_leaves(&self, event: EventId) -> Option<EventId> {
        let graph = self.graph();
        let start = graph.edges.of(BaseRelation::Issue).find(|edge| edge.to == event)?.from;
        let order = &self.witness.basis.relations[&BaseRelation::ProgramOrder];
        let is_wait = |&after: &EventId| {
            let text = self.span(after).map_or("", |span| self.case.sources.text(span));
            matches!(graph.events[after].kind, EventKind::AsyncWait)
                && text.contains("wait_group")
                && order.contains(start, after)
        };
        self.witness.execution.executed.iter().find(is_wait)
    }

    /// Which `wgmma.fence` comes too early, and where it has to go.
    pub(super) fn fence_too_early(&self, access: EventId, issue: EventId, fence: EventId) -> String {
        let line = |event: EventId| self.span(event).map_or_else(String::new, |span| self.line(span));
        format!(
            "{} comes too early: a matrix operation comes after what is before the last `wgmma.fence` of its thread and no \
             more, and the registers are accessed on {}, behind that; a fence has to go between {} and {}, where the \
             operation is started",
            self.quoted(fence),
            line(access),
            line(access),
            line(issue)
        )
    }

    /// What a restricted fence is about, and where an access is instead.
    pub(super) fn not_covered(&self, fence: EventId, access: EventId, explanation: &Explanation) -> String {
        let kind = match self.graph().events[fence].kind {
            EventKind::RestrictedFence(kind) => kind,
            EventKind::AsyncFence(space) => {
                return format!(
                    "{} of {} is about `{}` memory only: it orders nothing for {}",
                    self.quoted(fence),
                    self.thread(fence),
                    space.suffix(),
                    self.end(access, explanation)
                );
            }
            _ => return String::new(),
        };
        let about = match kind {
            RestrictedFence::ReleaseShared => "releases only accesses of its own CTA's shared memory",
            RestrictedFence::AcquireShared => "acquires only for accesses of its cluster's shared memory",
            RestrictedFence::ReleaseInits => "releases only its own thread's `mbarrier.init`s, no data",
            RestrictedFence::ReleaseAlias => "releases only for accesses through another virtual address",
            RestrictedFence::AcquireAlias => "acquires only for accesses through another virtual address",
            RestrictedFence::ReleaseAsync => {
                "releases only accesses of its own CTA's shared memory, to asynchronous operations"
            }
            RestrictedFence::ReleaseAsyncReads => {
                "releases only its own thread's reads of shared memory, to asynchronous operations"
            }
            RestrictedFence::AcquireAsync => {
                "acquires only for asynchronous operations on its cluster's shared memory"
            }
            RestrictedFence::ReleaseTensormap(_) => "releases only to reads of a tensor map by tensor copies",
            RestrictedFence::AcquireTensormap { .. } => {
                "acquires only for reads of its tensor map by tensor copies"
            }
        };
        let place = self.graph().events[access].kind.access().map_or_else(String::new, |access| {
            let location = &self.graph().locations[access.location];
            let space = if location.cta.is_some() { "shared" } else { "global" };
            format!("; `{}` is {space} memory", location.name)
        });
        format!(
            "{} of {} {about}{place}: it orders nothing for {}",
            self.quoted(fence),
            self.thread(fence),
            self.end(access, explanation)
        )
    }
}
