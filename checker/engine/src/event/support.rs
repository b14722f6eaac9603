//! Which reads a term's value depends on, and which events are part of tries.

use super::{EventGraph, EventId, Role, TermKind, TermPool, TermRef, UnknownKind};
use fencepost_dsl::sorted::SortedSet;
use rustc_hash::{FxHashMap, FxHashSet};

/// The reads whose unknowns occur in terms, memoised over one pool.
#[derive(Default)]
pub struct Supports {
    memo: FxHashMap<TermRef, SortedSet<EventId>>,
}

impl Supports {
    /// The reads that `term` depends on.
    pub fn reads(&mut self, terms: &TermPool, term: TermRef) -> &SortedSet<EventId> {
        let mut stack = vec![term];
        let mut open = FxHashSet::default();
        while let Some(&top) = stack.last() {
            if self.memo.contains_key(&top) {
                stack.pop();
                continue;
            }
            let mut operands = terms.operands(top);
            // What lanes tell one another flows from lane to lane.
            if let TermKind::Unknown(unknown) = terms.kind(top) {
                operands.extend(terms.definition(*unknown));
            }
            // What is made of itself, since lanes wait for one another, is never got: nothing flows there.
            let missing: Vec<TermRef> = operands
                .iter()
                .copied()
                .filter(|o| !self.memo.contains_key(o) && !open.contains(o))
                .collect();
            if !missing.is_empty() {
                open.insert(top);
                stack.extend(missing);
                continue;
            }
            let mut reads: SortedSet<EventId> =
                operands.iter().filter_map(|o| self.memo.get(o)).flatten().copied().collect();
            if let TermKind::Unknown(unknown) = terms.kind(top)
                && let UnknownKind::Read(event) = terms.unknown(*unknown).kind
            {
                reads.insert(event);
            }
            self.memo.insert(top, reads);
            stack.pop();
        }
        &self.memo[&term]
    }
}

/// Which events are of tries of waits, memoised over one pool.
#[derive(Default)]
pub struct SpinSupport {
    memo: FxHashMap<TermRef, bool>,
}

impl SpinSupport {
    /// Whether an event is part of a try: by its role, or since it is a matter of choice whether the try is there.
    pub fn is_of_try(&mut self, graph: &EventGraph, event: EventId) -> bool {
        let event = &graph.events[event];
        matches!(event.role, Role::Spin(_)) || self.is_chosen(&graph.terms, event.guard)
    }

    fn is_chosen(&mut self, terms: &TermPool, term: TermRef) -> bool {
        let mut stack = vec![term];
        while let Some(&top) = stack.last() {
            let operands = terms.operands(top);
            let missing: Vec<TermRef> =
                operands.iter().copied().filter(|o| !self.memo.contains_key(o)).collect();
            if !self.memo.contains_key(&top) && !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let is_choice = match terms.kind(top) {
                TermKind::Unknown(unknown) => matches!(terms.unknown(*unknown).kind, UnknownKind::Spins(_)),
                _ => operands.iter().any(|o| self.memo[o]),
            };
            self.memo.insert(top, is_choice);
            stack.pop();
        }
        self.memo[&term]
    }
}
