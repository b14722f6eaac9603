//! Near-steps from a signal to a look for it that did not see it: it came too early, or looked at another element.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use crate::event::{Access, EventGraph, EventId, EventKind, LocationId};
use fencepost_dsl::cat::memory_model::BaseRelation;

/// After the start of the way its thread signals, and before the end the other one has looked there, or somebody who leads
/// there, too early; or it has looked at another element only.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let (access, other) = (way.earlier, way.later);
    let found = signal_after(search, way).map(|Unseen { signal, look, is_there }| {
        // A read that did not see a write should mostly have come before it.
        let missed = search.relation(BaseRelation::FromReads);
        let gap = u32::from(missed.contains(other, access));
        let earlier = is_there.then(|| alike_before(search, (access, signal, look))).flatten();
        let reasons = vec![Reason::NotSeen { access, other, signal, look, is_there, earlier }];
        Near { gap, ..Near::new((signal, look), Relaxed::Look, reasons) }
    });
    found.into_iter().collect()
}

/// What a look sees in place of a signal, where the same thread has stored the same there before the access.
fn alike_before(search: &Search<'_>, (access, signal, look): (EventId, EventId, EventId)) -> Option<EventId> {
    let value = |event: EventId| {
        let access = search.graph.events[event].kind.access()?;
        Some(search.witness.values[access.value])
    };
    let seen = search.witness.execution.sources.get(&look)?.iter().map(|&(write, _)| write);
    let mut before = seen.filter(|&write| search.program_order().contains(write, access));
    before.find(|&write| value(write) == value(signal))
}

/// A signal, and where the thread that should have seen it looks instead.
pub struct Unseen {
    /// The signal.
    pub signal: EventId,
    /// The look.
    pub look: EventId,
    /// Whether it looks there, only too early; else at another element.
    pub is_there: bool,
}

/// What the thread of the start of a way signals afterwards, at an object at which that of the end looks before that, or
/// another one that leads there, and does not see it.
pub fn signal_after(search: &Search<'_>, way: &Way<'_, '_>) -> Option<Unseen> {
    let graph = search.graph;
    let (access, other) = (way.earlier, way.later);
    let (order, missed) = (search.program_order(), search.relation(BaseRelation::FromReads));
    let place = |event: EventId| search.place(event);
    let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
    let is_own = |event: EventId| order.contains(event, other);
    let of_start = graph.events[access].agent;
    let leads = |event: EventId| graph.events[event].agent != of_start && way.before(event).is_some();
    let looks = search.executed().filter(|&event| search.is_look(event));
    let looks: Vec<EventId> = looks.filter(|&event| is_own(event) || leads(event)).collect();
    let signals = search.executed().filter(|&event| order.contains(access, event));
    // What the two are about is data, and no signal.
    let location = |event: EventId| place(event).map(|(location, _)| location);
    let is_data = |event: EventId| [access, other].into_iter().any(|end| location(end) == location(event));
    let signals = signals.filter(|&event| !is_read(event) && is_strong(graph, event) && !is_data(event));
    let last = |is_it: &dyn Fn(&(LocationId, u128)) -> bool| {
        let there = looks.iter().copied().filter(|&look| place(look).as_ref().is_some_and(is_it));
        there.max_by_key(|&look| (is_own(look), graph.events[look].position))
    };
    let found = signals.filter_map(|signal| {
        let of = place(signal)?;
        match last(&|own| *own == of) {
            Some(look) => missed.contains(look, signal).then_some(Unseen { signal, look, is_there: true }),
            None => {
                let look = last(&|own| own.0 == of.0).filter(|&look| is_own(look));
                look.map(|look| Unseen { signal, look, is_there: false })
            }
        }
    });
    found.min_by_key(|found| (!found.is_there, graph.events[found.signal].position))
}

/// Whether an event is a strong access.
pub fn is_strong(graph: &EventGraph, event: EventId) -> bool {
    graph.events[event].kind.access().is_some_and(Access::is_strong)
}
