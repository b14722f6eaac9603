//! The arrivals at one mbarrier, counted.

use super::phase::Interval;
use super::seen::{Knowledge, SeenBy};
use crate::event::AgentId;
use crate::synchronization::log::Operation;
use fencepost_dsl::sorted::SortedMap;

/// The arrivals at an object, those counted together that differ in nothing that matters to others.
#[derive(Default)]
pub struct Crowd<'a> {
    /// By the phases that they can happen in and what their threads know: how many, and one of them.
    groups: SortedMap<(u32, u32, [&'a Knowledge; 2]), (u64, usize)>,
    /// Those that threads make themselves, by thread; and those of operations.
    own: SortedMap<AgentId, Vec<usize>>,
    issued: Vec<usize>,
}

impl<'a> Crowd<'a> {
    /// Counts one more.
    pub fn add(&mut self, index: usize, operation: &Operation, interval: Interval, seen: &'a SeenBy) {
        if operation.issued.is_some() {
            self.issued.push(index);
            return;
        }
        self.own.entry(operation.agent).or_default().push(index);
        self.count(index, operation, interval, seen);
    }

    fn count(&mut self, index: usize, operation: &Operation, interval: Interval, seen: &'a SeenBy) {
        let key = (interval.first, interval.last, [&seen.known, &seen.through]);
        self.groups.entry(key).or_insert((0, index)).0 += u64::from(operation.kind.arrivals());
    }

    /// An arrival is known to be in other phases.
    pub fn move_to(
        &mut self,
        index: usize,
        operation: &Operation,
        from: Interval,
        to: Interval,
        seen: &'a SeenBy,
    ) {
        if operation.issued.is_some() {
            return;
        }
        if let Some((count, _)) = self.groups.get_mut(&(from.first, from.last, [&seen.known, &seen.through]))
        {
            *count -= u64::from(operation.kind.arrivals());
        }
        self.count(index, operation, to, seen);
    }

    /// The arrivals that may come before an operation: in which phases, and how many; less those that are counted with
    /// others and come later.
    pub fn before(
        &self,
        index: usize,
        operations: &[Operation],
        intervals: &[Interval],
        seen: &[SeenBy],
    ) -> Vec<(Interval, i64)> {
        let operation = &operations[index];
        let count = |other: usize| i64::from(operations[other].kind.arrivals());
        // It knows of a phase that needs what the operation's thread does only later.
        let sees_later = |other: usize| {
            let seen = &seen[other];
            seen.has_seen(operation) || operation.kind.is_wait() && seen.was_let_through_by(operation)
        };
        let groups = self.groups.iter().filter(|(_, (count, one))| *count > 0 && !sees_later(*one));
        let mut before: Vec<(Interval, i64)> = groups
            .map(|(&(first, last, _), &(count, _))| {
                (Interval { first, last }, i64::try_from(count).unwrap_or(i64::MAX))
            })
            .collect();
        let own = self.own.get(&operation.agent).into_iter().flatten().copied();
        let not_before = own.filter(|&other| other == index || operation.precedes(&operations[other]));
        let counted = not_before.filter(|&other| !sees_later(other));
        before.extend(counted.map(|other| (intervals[other], -count(other))));
        let issued = self.issued.iter().copied().filter(|&other| other != index);
        let may_precede =
            issued.filter(|&other| !operation.precedes(&operations[other]) && !sees_later(other));
        before.extend(may_precede.map(|other| (intervals[other], count(other))));
        before
    }
}
