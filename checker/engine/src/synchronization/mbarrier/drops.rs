//! Arrivals that drop out: how many may have, and whether anybody is left whom a phase expects.

use super::phase::Interval;
use crate::event::{AgentId, MbarrierId, TermPool};
use crate::synchronization::log::{Operation, OperationKind};
use fencepost_dsl::sorted::SortedMap;

/// The drops of a thread at an object, by index, with how many arrivals each takes off.
#[derive(Default)]
struct OfThread {
    drops: Vec<(usize, u32)>,
    /// Whether no two of them happen together.
    are_exclusive: bool,
}

/// Who may drop out of which objects.
#[derive(Default)]
pub struct Drops(SortedMap<MbarrierId, SortedMap<AgentId, OfThread>>);

impl Drops {
    /// Of all operations.
    pub fn new(terms: &mut TermPool, operations: &[Operation]) -> Self {
        let mut this = Self::default();
        for (index, operation) in operations.iter().enumerate() {
            let OperationKind::Arrive { count, drops: true, .. } = operation.kind else { continue };
            let of_object = this.0.entry(operation.object).or_default();
            of_object.entry(operation.agent).or_default().drops.push((index, count));
        }
        for of_thread in this.0.values_mut().flat_map(SortedMap::values_mut) {
            let guards: Vec<_> = of_thread.drops.iter().map(|&(index, _)| operations[index].guard).collect();
            let mut pairs =
                guards.iter().enumerate().flat_map(|(at, &a)| guards[..at].iter().map(move |&b| (a, b)));
            of_thread.are_exclusive = pairs.all(|(a, b)| terms.excludes_syntactically(a, b));
        }
        this
    }

    /// The most that those drops take off an object which may count.
    pub fn most(&self, object: MbarrierId, may: &dyn Fn(usize) -> bool) -> u32 {
        let of_thread = |of: &OfThread| {
            let counts = of.drops.iter().filter(|(index, _)| may(*index)).map(|&(_, count)| count);
            if of.are_exclusive { counts.max().unwrap_or(0) } else { counts.fold(0, u32::saturating_add) }
        };
        let threads = self.0.get(&object).into_iter().flat_map(SortedMap::values);
        threads.map(of_thread).fold(0, u32::saturating_add)
    }

    /// Of each phase, how many arrivals it expects at least, if an object's phases expect `initial` at first; later ones as
    /// many as the last one that is told.
    pub fn least_of_phases(&self, object: MbarrierId, initial: u32, intervals: &[Interval]) -> Vec<u32> {
        let drops = self.0.get(&object).into_iter().flat_map(SortedMap::values).flat_map(|of| &of.drops);
        let may_be = drops.map(|&(index, _)| intervals[index]).filter(|interval| !interval.is_empty());
        let last = may_be.map(|interval| interval.first + 1).max().unwrap_or(0);
        let least = |phase: u32| {
            let is_earlier = |index: usize| !intervals[index].is_empty() && intervals[index].first < phase;
            initial.saturating_sub(self.most(object, &is_earlier)).max(1)
        };
        (0..=last).map(least).collect()
    }
}
