//! Near-steps from a read of what was handed over to the writer's next write, which nothing makes wait for the read.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, StepKind, Way};
use super::signals::signal_after;
use crate::event::{EventId, EventKind};

/// The way is from the read to the next write.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    of_way(search, way).into_iter().collect()
}

fn of_way(search: &Search<'_>, way: &Way<'_, '_>) -> Option<Near> {
    let (read, write) = (way.earlier, way.later);
    let graph = search.graph;
    let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
    if !is_read(read) || is_read(write) {
        return None;
    }
    let order = search.program_order();
    let place = search.place(write)?;
    let is_earlier_one = |event: &EventId| {
        matches!(graph.events[*event].kind, EventKind::Write(_))
            && search.place(*event) == Some(place)
            && order.contains(*event, write)
    };
    let writes = search.executed().filter(is_earlier_one);
    let first = writes.max_by_key(|&event| graph.events[event].position)?;
    let chain = search.links()?.chain(first, read)?;
    let is_ordered = chain.steps.iter().all(|step| step.kind != StepKind::Attempt);
    let late = signal_after(search, way).filter(|found| found.is_there);
    let late = late.map(|found| (found.signal, found.look));
    let reasons = vec![Reason::NoWayBack { read, write, first, late }];
    is_ordered.then_some(Near::new((read, write), Relaxed::WayBack, reasons))
}
