//! Tensor memory (§5.8): what orders the accesses of `tcgen05` operations, and when it may be deallocated.
//!
//! Two things are told apart. *In time* an event comes after another if it cannot have happened before: threads start what
//! they do in program order, whoever is let through has been let through by something, and a value that was seen had been
//! written, for everything that had to wait for the value. *In order* an access of tensor memory comes after another only
//! by what AS-29 to AS-32 name: pipelines, waits in one thread, and the two fences around something that orders in time.

use super::Model;
use crate::event::{Class, Event, Kind, Misuse, Tensor};
use crate::execution::ReadsFrom;
use crate::relation::Relation;
use std::collections::{BTreeMap, BTreeSet};

/// What is known about tensor memory in an execution.
pub struct TensorOrder {
    /// From an event to those that surely happen later.
    time: Relation,
    /// From an access of tensor memory to those that come after it.
    pub accesses: Relation,
}

impl Model<'_> {
    /// `None` if nobody uses tensor memory.
    pub(super) fn tensor_order(&self, rf: &ReadsFrom, sc: &Relation) -> Option<TensorOrder> {
        self.all().find(|&event| self.is_of_tensor_memory(event))?;
        let time = self.time_order(rf, sc);
        let mut accesses = Relation::new(self.combination.events.len());
        let of_operations: Vec<(usize, usize)> = self
            .all()
            .filter(|&access| self.event(access).is_tensor)
            .filter_map(|access| Some((access, self.event(access).operation?)))
            .collect();
        for &(a, a_started) in &of_operations {
            let released = self.released_at(a);
            for &(b, b_started) in &of_operations {
                let is_inside = self.event(b).follows.contains(&a);
                let is_pipelined = self.is_pipelined(a_started, b_started);
                let in_thread = self.po(a_started, b_started) && is_pipelined;
                let waits = self.waits_for(a).filter(|&wait| self.po(wait, b_started)).count() > 0;
                // AS-32: what is pipelined need not be over.
                let begun =
                    self.all().filter(|&fence| is_pipelined && self.is_fence_before(a_started, fence));
                let across = released
                    .iter()
                    .copied()
                    .chain(begun)
                    .any(|from| self.gets_to_fence(&time, rf, from, b_started));
                if is_inside || in_thread || waits || across {
                    accesses.insert(a, b);
                }
            }
        }
        Some(TensorOrder { time, accesses: accesses.closure() })
    }

    /// Whether no operation comes before itself.
    pub(super) fn add_tensor_order(&self, order: Option<&TensorOrder>, cause: &mut Relation) -> bool {
        let Some(order) = order else { return true };
        cause.add(&self.overlapping(&order.accesses));
        if self.edition.operands_carry {
            cause.add(&self.carried_by_operands(cause));
        }
        order.accesses.is_irreflexive()
    }

    /// The pairs of one location.
    pub(super) fn overlapping(&self, order: &Relation) -> Relation {
        let mut relation = Relation::new(self.combination.events.len());
        for a in self.all() {
            for b in self.all() {
                if order.contains(a, b) && self.event(a).overlaps(self.event(b)) {
                    relation.insert(a, b);
                }
            }
        }
        relation
    }

    fn is_of_tensor_memory(&self, event: usize) -> bool {
        let event = self.event(event);
        matches!(event.kind, Kind::Tensor(_)) || event.class.is_some()
    }

    /// AS-31: whether a `fence::before_thread_sync` stands behind an instruction of its thread.
    fn is_fence_before(&self, instruction: usize, fence: usize) -> bool {
        self.event(fence).kind == Kind::Tensor(Tensor::FenceBefore) && self.po(instruction, fence)
    }

    /// Instructions of its thread that wait for an access.
    fn waits_for(&self, access: usize) -> impl Iterator<Item = usize> + '_ {
        self.all().filter(move |&wait| {
            let event = self.event(wait);
            event.kind == Kind::AsyncWait && event.follows.contains(&access)
        })
    }

    /// Arrivals at mbarriers that say that an access is over.
    fn signals_of(&self, access: usize) -> impl Iterator<Item = usize> + '_ {
        self.all().filter(move |&signal| {
            let event = self.event(signal);
            matches!(event.kind, Kind::Mbarrier(_)) && event.follows.contains(&access)
        })
    }

    /// AS-30, AS-32: from where on others may rely on the end of an access: a commit, or a fence after a wait.
    fn released_at(&self, access: usize) -> Vec<usize> {
        let fences = self.waits_for(access).flat_map(|wait| {
            self.all().filter(move |&fence| self.is_fence_before(wait, fence)).collect::<Vec<usize>>()
        });
        fences.chain(self.signals_of(access)).collect()
    }

    /// AS-31: whether `from` is over at a `fence::after_thread_sync` that stands before an operation's start. The fence is
    /// also behind what the reads before it have seen.
    fn gets_to_fence(&self, time: &Relation, rf: &ReadsFrom, from: usize, started: usize) -> bool {
        let is_after = |fence: &usize| {
            self.event(*fence).kind == Kind::Tensor(Tensor::FenceAfter) && self.po(*fence, started)
        };
        self.all().filter(is_after).any(|fence| {
            let has_seen = |read: usize| {
                self.po(read, fence)
                    && self.seen_by(rf, read).any(|write| write == from || time.contains(from, write))
            };
            time.contains(from, fence) || self.all().any(has_seen)
        })
    }

    /// Writes that a read observes, morally strongly.
    fn seen_by<'m>(&'m self, rf: &'m ReadsFrom, read: usize) -> impl Iterator<Item = usize> + 'm {
        rf.get(&read).into_iter().flatten().copied().filter(move |&write| self.ms.contains(write, read))
    }

    /// When events start. A read that nobody waits for may return late: then only what needs its value comes after what it
    /// has seen. Reads that a value decides about may be made ahead of it. Exits are none of the operations of AS-31, so
    /// that one has completed a barrier says nothing.
    fn time_order(&self, rf: &ReadsFrom, sc: &Relation) -> Relation {
        let mut order = self.combination.happening();
        order.add(sc);
        for from in self.all().filter(|&from| self.event(from).kind != Kind::Exit) {
            for to in self.all().filter(|&to| self.combination.releases_wait.contains(from, to)) {
                order.insert(from, to);
            }
        }
        for read in self.all() {
            if self.event(read).unblocks {
                for &write in rf.get(&read).into_iter().flatten() {
                    order.insert(write, read);
                }
            }
            let needs = |event: &usize| {
                let e = self.event(*event);
                !e.is_read() && (e.control.contains(&read) || e.dependencies.contains(&read))
            };
            let ends =
                self.acquire_patterns.iter().filter(|(first, _)| *first == read).map(|&(_, last)| last);
            let after: Vec<usize> = self.all().filter(needs).chain(ends).collect();
            for write in self.seen_by(rf, read) {
                for &event in &after {
                    order.insert(write, event);
                }
            }
        }
        order.closure()
    }

    /// AS-29: what the hardware keeps in the order of its start.
    fn is_pipelined(&self, first: usize, second: usize) -> bool {
        let (a, b) = (self.event(first), self.event(second));
        let is_one_cta = self.cta(first) == self.cta(second);
        is_one_cta
            && match (&a.class, &b.class) {
                (Some(Class::Copy), Some(Class::Multiply { .. })) => true,
                (Some(first @ Class::Multiply { .. }), Some(second @ Class::Multiply { .. })) => {
                    first == second
                }
                _ => false,
            }
    }

    /// AS-34, UB-A8.
    pub fn tensor_misuses(&self, order: &TensorOrder) -> BTreeSet<Misuse> {
        let mut misuses = BTreeSet::new();
        let of = |wanted: fn(Tensor) -> bool| {
            self.all().filter(move |&event| matches!(self.event(event).kind, Kind::Tensor(t) if wanted(t)))
        };
        for free in of(|tensor| matches!(tensor, Tensor::Free { .. })) {
            let is_of_object = |event: &usize| *event != free && self.frees(free, self.event(*event));
            if !self.all().filter(is_of_object).all(|access| self.is_over(order, access, free)) {
                misuses.insert(Misuse::TensorMemoryFreed);
            }
        }
        for allocation in of(|tensor| matches!(tensor, Tensor::Allocate { .. })) {
            let own = |event: &usize| self.cta(*event) == self.cta(allocation);
            let mut relinquished = of(|tensor| tensor == Tensor::Relinquish).filter(own);
            if relinquished.any(|event| !order.time.contains(allocation, event)) {
                misuses.insert(Misuse::AllocationAfterRelinquish);
            }
        }
        if self.keeps_columns() {
            misuses.insert(Misuse::TensorMemoryKept);
        }
        misuses
    }

    /// Whether an event is about the object that is deallocated.
    fn frees(&self, free: usize, other: &Event) -> bool {
        let Kind::Tensor(Tensor::Free { storage, instance, .. }) = self.event(free).kind else {
            return false;
        };
        match other.kind {
            Kind::Tensor(Tensor::Free { storage: s, instance: i, .. }) => (s, i) == (storage, instance),
            _ => other.is_tensor && (other.location.0, other.location.1) == (storage, instance),
        }
    }

    /// Whether an access, or one that comes after it, is known to be over; the thread that deallocates needs no fence.
    fn is_over(&self, order: &TensorOrder, access: usize, free: usize) -> bool {
        self.all().filter(|&later| later == access || order.accesses.contains(access, later)).any(|later| {
            let mut known = self.waits_for(later).chain(self.signals_of(later));
            known.any(|known| order.time.contains(known, free))
        })
    }

    /// Whether all threads of some CTA have finished, and other columns were allocated than deallocated.
    fn keeps_columns(&self) -> bool {
        let mut balance: BTreeMap<Option<u32>, (i64, bool)> = BTreeMap::new();
        for event in self.all() {
            let (columns, allocates) = match self.event(event).kind {
                Kind::Tensor(Tensor::Allocate { columns }) => (i64::from(columns), true),
                Kind::Tensor(Tensor::Free { columns, .. }) => (-i64::from(columns), false),
                _ => continue,
            };
            let (sum, has_allocated) = balance.entry(self.cta(event)).or_default();
            *sum += columns;
            *has_allocated |= allocates;
        }
        let finished = |thread: usize| {
            self.all().any(|e| self.event(e).thread == Some(thread) && self.event(e).kind == Kind::Exit)
        };
        balance.into_iter().any(|(cta, (sum, has_allocated))| {
            let mut threads = (0..self.ctas.len()).filter(|&thread| Some(self.ctas[thread]) == cta);
            sum != 0 && has_allocated && threads.all(finished)
        })
    }

    /// of what tracked operations have read in shared memory, a commit also says what came before, on that location.
    fn carried_by_operands(&self, cause: &Relation) -> Relation {
        let order = self.overlapping(cause);
        let operands = self.all().filter(|&read| {
            let event = self.event(read);
            event.is_shared && event.operation.is_some_and(|issue| self.event(issue).class.is_some())
        });
        // One step for each operand that is passed, in whatever order they come.
        let operands: Vec<usize> = operands.collect();
        let mut carried = order.clone();
        loop {
            let mut grown = carried.clone();
            for &operand in &operands {
                for a in self.all().filter(|&a| carried.contains(a, operand)) {
                    for b in self.all().filter(|&b| order.contains(operand, b)) {
                        grown.insert(a, b);
                    }
                }
            }
            if grown == carried {
                return carried;
            }
            carried = grown;
        }
    }
}
