//! Arrivals that make up for one more that is pending: a `cp.async.mbarrier.arrive` without `.noinc` adds one to the pending
//! count when it is issued, and its own arrival takes it off again.
//!
//! Sound: an operation comes after it was started, and a thread starts one only after what comes before it in program order; the
//! operations on an object are in one order that contains that. So at any time no more of these arrivals have been made than were
//! made pending by their own threads. Phases are complete when all that was expected and all that was added has arrived, so by
//! then at least as many *other* arrivals have been made as those phases expect without what was added. Which of the phases
//! they were in does not follow, so arrivals are counted through all phases up to one. And while one that was made pending in
//! these phases is still to come, there must be one more of the others.
//!
//! Where both are known to be in one phase, and happen together, they change neither how many are missing there nor whether there
//! are too many, and are left out of its count.
//!
//! Needs: [`Need::PhasesInOrder`](crate::facts::needs::Need::PhasesInOrder), as all of [`phase`](super::phase).

use super::phase::Interval;
use crate::event::{AgentId, MbarrierId, TermPool};
use crate::synchronization::log::{Operation, OperationKind};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Which arrivals make up for what.
#[derive(Default)]
pub struct Raised {
    /// Per operation: by index, what made it pending.
    raise_of: Vec<Option<usize>>,
    objects: SortedSet<MbarrierId>,
}

impl Raised {
    /// Of operations in order of threads.
    pub fn new<'a>(terms: &TermPool, operations: impl Iterator<Item = &'a Operation>) -> Self {
        let operations: Vec<&Operation> = operations.collect();
        let mut raises: SortedMap<(MbarrierId, AgentId), Vec<usize>> = SortedMap::new();
        for (index, operation) in operations.iter().enumerate() {
            if matches!(operation.kind, OperationKind::Raise) {
                raises.entry((operation.object, operation.agent)).or_default().push(index);
            }
        }
        let mut this = Self { raise_of: vec![None; operations.len()], objects: SortedSet::new() };
        if raises.is_empty() {
            return this;
        }
        for (index, operation) in operations.iter().enumerate() {
            let OperationKind::Arrive { count: 1, drops: false, .. } = operation.kind else { continue };
            let Some((agent, at)) = operation.issued else { continue };
            let Some(of_thread) = raises.get_mut(&(operation.object, agent)) else { continue };
            // Each makes up for one; the last one before it is its own.
            let own = of_thread.iter().copied().enumerate().filter(|&(_, raise)| {
                operations[raise].position < at
                    && terms.implies_syntactically(operation.guard, operations[raise].guard)
            });
            let Some((place, raise)) = own.max_by_key(|&(_, raise)| operations[raise].position) else {
                continue;
            };
            of_thread.remove(place);
            this.raise_of[index] = Some(raise);
            this.objects.insert(operation.object);
        }
        this
    }

    /// Whether an object has such arrivals.
    pub fn has(&self, object: MbarrierId) -> bool {
        self.objects.contains(&object)
    }

    /// By index, what made an arrival pending that makes up for it.
    pub fn raise_of(&self, index: usize) -> Option<usize> {
        self.raise_of[index]
    }

    /// Per operation, whether it and another one of the same phase leave its count as it is.
    pub fn cancelled(&self, operations: &[(Operation, Interval)]) -> Vec<bool> {
        let mut cancelled = vec![false; operations.len()];
        for (index, raise) in self.raise_of.iter().enumerate() {
            let Some(raise) = *raise else { continue };
            let ((arrival, of_arrival), (raised, of_raise)) = (&operations[index], &operations[raise]);
            let counts = matches!(arrival.kind, OperationKind::Arrive { excess: None, expects: 0, .. });
            if counts
                && of_arrival.only().is_some()
                && of_arrival == of_raise
                && arrival.guard == raised.guard
            {
                cancelled[index] = true;
                cancelled[raise] = true;
            }
        }
        cancelled
    }
}
