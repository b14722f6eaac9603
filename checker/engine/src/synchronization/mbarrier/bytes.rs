//! The bytes of an mbarrier's phases, counted.

use super::phase::Interval;
use super::seen::Knowledge;
use crate::event::{AgentId, MbarrierId, TermPool};
use crate::synchronization::log::Operation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::ops::RangeInclusive;

/// Announcements, by index, with the thread that makes them, unless they always happen.
type Announced = Vec<(Option<AgentId>, usize)>;

/// The bytes that are announced and delivered in phases.
///
/// A phase is complete only when the bytes of what happened in it are balanced (MB-4). So if the others that may deliver in
/// a phase bring less than is surely announced in it, it is not complete without the one that is left. An arrival that the phase
/// is not complete without has announced its bytes once it is, whatever thread makes it.
pub struct Bytes<'a> {
    operations: &'a [Operation],
    /// By object and phase, what all that may be in it deliver together.
    delivered: SortedMap<(MbarrierId, u32), i64>,
    /// By object and phase, what is announced there if it is at all.
    announced: SortedMap<(MbarrierId, u32), Announced>,
}

impl<'a> Bytes<'a> {
    /// Of operations, with the phases that they can happen in, and whether their one phase is not complete without them.
    pub fn new(
        operations: &'a [Operation],
        intervals: &[Interval],
        is_essential: &dyn Fn(usize) -> bool,
    ) -> Self {
        let mut this = Self { operations, delivered: SortedMap::new(), announced: SortedMap::new() };
        for (index, (operation, interval)) in operations.iter().zip(intervals).enumerate() {
            let bytes = operation.kind.bytes();
            if bytes < 0 {
                for phase in interval.first..=interval.last {
                    *this.delivered.entry((operation.object, phase)).or_default() -= bytes;
                }
            } else if let (true, Some(phase)) = (bytes > 0, interval.only()) {
                let is_sure = operation.guard == TermPool::TRUE || is_essential(index);
                let by = (!is_sure).then_some(operation.agent);
                this.announced.entry((operation.object, phase)).or_default().push((by, index));
            }
        }
        this.announced.values_mut().for_each(|of_phase| of_phase.sort_unstable());
        this
    }

    /// How many bytes are surely announced in some phases, once these are complete.
    fn announced_in(&self, object: MbarrierId, phases: RangeInclusive<u32>) -> i64 {
        let of_phases = self.announced.range((object, *phases.start())..=(object, *phases.end()));
        let sure = of_phases.flat_map(|(_, of_phase)| of_phase.iter().filter(|(by, _)| by.is_none()));
        sure.map(|&(_, index)| self.operations[index].kind.bytes()).sum()
    }

    /// What whoever sees a phase complete was let through by, since its bytes are there, and those of the phases before it: of
    /// each object, the least that the starts of any deliveries know that are enough for what is announced.
    pub fn learn<'k>(
        &self,
        (object, phase): (MbarrierId, u32),
        delivered: impl Iterator<Item = (usize, &'k Knowledge)> + Clone,
        intervals: &[Interval],
        learnt: &mut Knowledge,
    ) {
        for from in [0, phase] {
            let needed = self.announced_in(object, from..=phase);
            if needed <= 0 {
                continue;
            }
            let is_taken = |of: Interval| !of.is_empty() && of.first <= phase && of.last >= from;
            let taken = delivered.clone().filter(|&(index, _)| is_taken(intervals[index]));
            let known: SortedSet<MbarrierId> =
                taken.clone().flat_map(|(_, brings)| brings.keys().copied()).collect();
            for about in known {
                let brings = |(index, brings): (usize, &Knowledge)| {
                    let bytes = -self.operations[index].kind.bytes();
                    (brings.get(&about).copied().unwrap_or(0), bytes)
                };
                let mut brought: Vec<(u32, i64)> = taken.clone().map(brings).collect();
                brought.sort_unstable();
                let mut total = 0;
                let enough = brought.into_iter().find(|&(_, bytes)| {
                    total += bytes;
                    total >= needed
                });
                if let Some((phases, _)) = enough {
                    let known = learnt.entry(about).or_default();
                    *known = phases.max(*known);
                }
            }
        }
    }

    /// Whether a phase is not complete before a delivery, if that happens.
    pub fn needs(&self, terms: &TermPool, delivery: &Operation, phase: u32) -> bool {
        let key = (delivery.object, phase);
        let Some(announced) = self.announced.get(&key) else { return false };
        let by = |who: Option<AgentId>| {
            let start = announced.partition_point(|(by, _)| *by < who);
            announced[start..].iter().take_while(move |(by, _)| *by == who).map(|&(_, index)| index)
        };
        let thread = delivery.issued.map_or(delivery.agent, |(agent, _)| agent);
        let implied =
            |index: &usize| terms.implies_syntactically(delivery.guard, self.operations[*index].guard);
        let all = by(None).chain(by(Some(thread)).filter(implied));
        let announced: i64 = all.map(|index| self.operations[index].kind.bytes()).sum();
        let others = self.delivered.get(&key).copied().unwrap_or(0) + delivery.kind.bytes();
        announced > others
    }
}
