//! Guards that many threads are in: that a CTA exits says of each of its threads that it has ended, and that a product of a
//! warpgroup begins says of each of its lanes that it has come there.
//!
//! Each slice has the exit, and would have with it all that can be said of the paths of threads that it does not have. So of such
//! a guard only the conjuncts are there that are about what is left. Of what threads start together that is so in slices that
//! have nobody but those they are about.
//!
//! Sound: the rest of a guard is an unknown that nothing is said of. So an execution of the whole, less what is not in the slice,
//! is one of the slice still: the unknown is what the rest of the guard is there.
//!
//! Needs: nothing. What is asked of slices is monotone ([`super::monotone`]), and this is not asked of waits, of which all is
//! there.

use super::constraints::{Here, Unknowns, unknowns_of};
use crate::event::{EventGraph, EventId, TermRef};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashMap;

/// So many conjuncts of a guard that the thread which started an operation does not know of are others' paths.
const MANY: usize = 16;

/// Guards that have several conjuncts, of events that no thread does or several together; and what each conjunct is about.
pub struct WideGuards {
    conjuncts: FxHashMap<TermRef, Vec<(TermRef, Unknowns)>>,
    of_nobody: SortedSet<EventId>,
    of_many: SortedSet<EventId>,
}

impl WideGuards {
    /// Those of a graph, some of whose events no thread does.
    pub fn new(graph: &EventGraph, of_nobody: &[EventId]) -> Self {
        let guard = |event: EventId| graph.events[event].guard;
        let is_wide = |&event: &EventId| graph.terms.conjuncts(guard(event)).len() > 1;
        let of_nobody: SortedSet<EventId> = of_nobody.iter().copied().filter(is_wide).collect();
        let mut known: FxHashMap<(TermRef, TermRef), bool> = FxHashMap::default();
        let mut is_of_many = |issue: EventId, event: EventId| {
            *known.entry((guard(issue), guard(event))).or_insert_with(|| {
                let own: SortedSet<TermRef> = graph.terms.conjuncts(guard(issue)).iter().copied().collect();
                let all = graph.terms.conjuncts(guard(event));
                all.iter().filter(|conjunct| !own.contains(conjunct)).count() > MANY
            })
        };
        let started = graph.edges.single(BaseRelation::Issue).iter();
        let of_many: SortedSet<EventId> =
            started.filter(|edge| is_of_many(edge.from, edge.to)).map(|edge| edge.to).collect();
        let about = |&term: &TermRef| (term, unknowns_of(graph, vec![term]).into_iter().collect());
        let mut conjuncts: FxHashMap<TermRef, Vec<(TermRef, Unknowns)>> = FxHashMap::default();
        for &event in of_nobody.iter().chain(&of_many) {
            let of_guard = || graph.terms.conjuncts(guard(event)).iter().map(about).collect();
            conjuncts.entry(guard(event)).or_insert_with(of_guard);
        }
        Self { conjuncts, of_nobody, of_many }
    }

    /// Whether the guard of an event is one, in slices that have nobody but those they are about or in any.
    pub fn has(&self, event: EventId, is_bare: bool) -> bool {
        self.of_nobody.contains(&event) || is_bare && self.of_many.contains(&event)
    }

    /// What is left of the guards of some events, where some unknowns are at hand.
    pub fn left(
        &self,
        graph: &EventGraph,
        kept: impl Iterator<Item = EventId>,
        here: &Here,
    ) -> SortedMap<EventId, Vec<TermRef>> {
        let of_event = |event: EventId| {
            let all = &self.conjuncts[&graph.events[event].guard];
            let about = all.iter().filter(|(_, unknowns)| here.is_about(unknowns));
            (event, about.map(|&(term, _)| term).collect())
        };
        kept.map(of_event).collect()
    }
}
