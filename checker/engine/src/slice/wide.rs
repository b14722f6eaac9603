//! Guards that many threads are in: that a CTA exits says of each of its threads that it has ended.
//!
//! Each slice has the exit, and would have with it all that can be said of the paths of threads that it does not have. So of such
//! a guard only the conjuncts are there that are about what is left.
//!
//! Sound: the rest of a guard is an unknown that nothing is said of. So an execution of the whole, less what is not in the slice,
//! is one of the slice still: the unknown is what the rest of the guard is there.
//!
//! Needs: nothing. What is asked of slices is monotone ([`super::monotone`]), and this is not asked of waits, of which all is
//! there.

use super::constraints::{Here, Unknowns, unknowns_of};
use crate::event::{EventGraph, EventId, TermRef};
use fencepost_dsl::sorted::SortedMap;

/// Guards that have several conjuncts, of events that no thread does; and what each conjunct is about.
pub struct WideGuards(SortedMap<EventId, Vec<(TermRef, Unknowns)>>);

impl WideGuards {
    /// Those of some events that no thread does.
    pub fn new(graph: &EventGraph, of_nobody: &[EventId]) -> Self {
        let about = |&term: &TermRef| (term, unknowns_of(graph, vec![term]).into_iter().collect());
        let of_event = |&event: &EventId| {
            let conjuncts = graph.terms.conjuncts(graph.events[event].guard);
            (conjuncts.len() > 1).then(|| (event, conjuncts.iter().map(about).collect()))
        };
        Self(of_nobody.iter().filter_map(of_event).collect())
    }

    /// Whether the guard of an event is one.
    pub fn has(&self, event: EventId) -> bool {
        self.0.contains_key(&event)
    }

    /// What is left of the guards of some events, where some unknowns are at hand.
    pub fn left(&self, kept: &[EventId], here: &Here) -> SortedMap<EventId, Vec<TermRef>> {
        let of_event = |&event: &EventId| {
            let about = self.0.get(&event)?.iter().filter(|(_, unknowns)| here.is_about(unknowns));
            Some((event, about.map(|&(term, _)| term).collect()))
        };
        kept.iter().filter_map(of_event).collect()
    }
}
