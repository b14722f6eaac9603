//! An access of a peer's shared memory before that CTA is known to have started, or after it may have ended.

use super::explanation::{Explanation, bare};
use super::subject::Subject;
use crate::event::{CtaId, EventGraph, EventId, EventKind};
use crate::findings::lifetime as kinds;
use crate::witness::Witness;

/// The facts of a flagged pair, if it is one of an access and the start or end of a CTA.
pub fn explain(
    graph: &EventGraph,
    witness: &Witness,
    (first, second): (EventId, EventId),
) -> Option<Explanation> {
    let (kind, subject) = match (&graph.events[first].kind, &graph.events[second].kind) {
        (&EventKind::CtaStart(owner), _) => {
            let subject = Subject::Lifetime { access: second, owner, ended: false, last: None };
            (&kinds::PEER_NOT_STARTED, subject)
        }
        (_, &EventKind::CtaExit(owner)) => {
            let last = last_event(graph, witness, owner);
            let subject = Subject::Lifetime { access: first, owner, ended: true, last };
            let is_operation =
                |agent| graph.hierarchy.is_operation(agent) && graph.hierarchy.cta_of(agent) == owner;
            if graph.events[first].agent.is_some_and(is_operation) {
                return Some(bare(&kinds::OPERATION_PENDING, subject));
            }
            (&kinds::PEER_MAY_HAVE_EXITED, subject)
        }
        _ => return None,
    };
    Some(bare(kind, subject))
}

/// The last thing that some thread of a CTA does.
fn last_event(graph: &EventGraph, witness: &Witness, cta: CtaId) -> Option<EventId> {
    let is_own = |event: &EventId| {
        graph.events[*event]
            .agent
            .is_some_and(|agent| graph.hierarchy.cta_of(agent) == cta && !graph.hierarchy.is_operation(agent))
    };
    let executed = witness.execution.executed.iter().filter(is_own);
    executed.max_by_key(|&event| graph.events[event].position)
}
