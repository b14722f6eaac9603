//! What a thread does only because of what it has read: control dependence past the places where ways meet again.
//!
//! What stands behind a join does not depend on which way led there, unless a way need not lead there at all: a loop on it
//! may go round for ever, or it stands at a barrier. Then all behind the join depends on the reads by which the way was
//! decided (*termination-sensitive* control dependence). Of such a loop these are the reads that its leaving depends on, in
//! the round that left it; of a branch round such a way, those of its condition.
//!
//! Whether a loop can go round for ever is asked of its text, not of how it is run: recognising a wait is an optimisation. A
//! loop whose registers end it, whatever its reads return, decides nothing behind it ([`ends`]); nor does one that has a
//! round without a strong read or something that blocks, since its end may be assumed (LT-7).
//!
//! Needs: nothing. A dependency that is left out only allows more executions.

mod ends;

pub use ends::Memo;

use super::expression::Frame;
use super::loops::Shape;
use super::{State, Unroller};
use crate::event::support::Supports;
use crate::event::{Edge, EventId, EventKind, MbarrierRole, TermPool, TermRef};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::kernel::program::{BarrierKind, InstructionKind};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// That all that a thread does from a place on depends on what it has read.
pub struct Decision {
    read: EventId,
    /// Positions of the thread's events from here on.
    from: u32,
    /// When, given that it has read and that it gets there.
    condition: TermRef,
}

/// The ways out of a loop.
pub struct WaysOut {
    /// The loop's first event.
    first: EventId,
    /// How often the thread had come past what may have kept it for ever.
    n_blocking: usize,
    /// Reads that one depends on, and when it does.
    decided: Vec<(EventId, TermRef)>,
}

impl Unroller<'_> {
    /// Whether a thread that goes round may do so for ever, and notes something that others do in each round: it reads
    /// strongly, or stands at something that blocks. `first` is the first event of the round.
    pub(super) fn spins(&mut self, first: EventId, again: TermRef) -> bool {
        if again == TermPool::FALSE {
            return false;
        }
        let has_caches = self.graph.hierarchy.launch().spa.is_some();
        let notes = |kind: &EventKind| match kind {
            EventKind::Read(access) => access.is_strong() || has_caches,
            EventKind::Mbarrier(operation) => {
                matches!(operation.role, MbarrierRole::Test | MbarrierRole::Wait)
            }
            EventKind::BarrierWait | EventKind::ClusterWait => true,
            _ => false,
        };
        let guards: Vec<TermRef> = self
            .graph
            .events
            .iter()
            .skip(first.0 as usize)
            .filter(|event| event.agent == Some(self.agent) && notes(&event.kind))
            .map(|event| event.guard)
            .collect();
        let noted = self.graph.terms.or_all(guards);
        self.graph.terms.entails(again, noted)
    }

    /// Adds the ways by which a round leaves its loop. `head` is the path at its start and `first` its first event.
    pub(super) fn ways_out(
        &mut self,
        ways: &mut WaysOut,
        (head, first): (TermRef, EventId),
        leaves: &[State],
        goes_on: bool,
    ) {
        let mut left: SortedMap<EventId, Vec<TermRef>> = SortedMap::new();
        let n_ways = leaves.iter().filter(|way| way.live != TermPool::FALSE).count();
        for way in leaves {
            for read in self.deciding_between(head, way.live) {
                left.entry(read).or_default().push(way.live);
            }
        }
        for (read, paths) in left {
            // Who has made a round that never goes round again, and got somewhere, has left by it.
            let is_certain = !goes_on && read >= first && paths.len() == n_ways;
            let condition =
                if is_certain { TermPool::TRUE } else { self.graph.terms.or_all(paths.iter().copied()) };
            ways.decided.push((read, condition));
        }
    }

    /// Notes that a loop has been left, by the reads of its last rounds: one that may go round for ever itself (`spins`), or
    /// has something that blocks in a round.
    pub(super) fn decide_by(&mut self, WaysOut { first, n_blocking, decided }: WaysOut, spins: bool) {
        if self.last_try.is_some() || (!spins && self.n_blocking == n_blocking) {
            return;
        }
        self.n_blocking += usize::from(spins);
        for (read, condition) in decided {
            if spins && read >= first {
                self.graph.events[read].decides = true;
            }
            self.decisions.push(Decision { read, from: self.position, condition });
        }
    }

    /// The ways out of a loop that is about to be run.
    pub(super) fn no_way_out(&self) -> WaysOut {
        WaysOut { first: self.graph.events.next_id(), n_blocking: self.n_blocking, decided: Vec::new() }
    }

    /// Notes that the thread has come past a branch of which one way may never have led here.
    pub(super) fn decide_by_branch(&mut self, before: TermRef, condition: TermRef) {
        if self.last_try.is_some() {
            return;
        }
        let reads = Supports::default().reads(&self.graph.terms, condition).clone();
        for read in reads {
            let certain = self.graph.terms.entails(self.graph.events[read].guard, before);
            let condition = if certain { TermPool::TRUE } else { before };
            self.decisions.push(Decision { read, from: self.position, condition });
        }
    }

    /// The reads that decide that a thread on one path is on a longer one.
    fn deciding_between(&self, before: TermRef, after: TermRef) -> SortedSet<EventId> {
        let terms = &self.graph.terms;
        let mut supports = Supports::default();
        let mut reads = SortedSet::new();
        for &term in terms.conjuncts(after) {
            if terms.conjuncts(before).binary_search(&term).is_err() {
                reads.extend(supports.reads(terms, term).iter().copied());
            }
        }
        reads
    }

    /// Makes pairs of what was decided, now that all events of the thread are known; `first` is its first one.
    pub(super) fn finish_decisions(&mut self, first: EventId) {
        let mut by_read: SortedMap<EventId, Vec<(u32, TermRef)>> = SortedMap::new();
        for Decision { read, from, condition } in std::mem::take(&mut self.decisions) {
            by_read.entry(read).or_default().push((from, condition));
        }
        if by_read.is_empty() {
            return;
        }
        let own: Vec<(u32, EventId)> = self
            .graph
            .events
            .iter_enumerated()
            .skip(first.0 as usize)
            .filter(|(_, event)| event.agent == Some(self.agent))
            .map(|(id, event)| (event.position, id))
            .collect();
        let behind = |position: u32| own.partition_point(|&(at, _)| at < position);
        // The reads on which all behind a place depends, by that place.
        let mut surely: SortedMap<usize, Vec<EventId>> = SortedMap::new();
        for (read, mut places) in by_read {
            places.sort_unstable();
            let mut condition = TermPool::FALSE;
            for (index, &(from, own_condition)) in places.iter().enumerate() {
                condition = self.graph.terms.or(condition, own_condition);
                let start = behind(from);
                if condition == TermPool::TRUE {
                    surely.entry(start).or_default().push(read);
                    break;
                }
                let end = places.get(index + 1).map_or(own.len(), |&(next, _)| behind(next));
                for &(_, to) in &own[start..end] {
                    let (own, later) = (self.graph.events[read].guard, self.graph.events[to].guard);
                    let both = self.graph.terms.and(own, later);
                    if both != TermPool::FALSE {
                        let edge = Edge { from: read, to, condition };
                        self.graph.edges.add(BaseRelation::PastControl, edge);
                    }
                }
            }
        }
        for (start, reads) in surely {
            let to: Vec<EventId> = own[start..].iter().map(|&(_, id)| id).collect();
            self.graph.edges.add_bundle(BaseRelation::PastControl, reads.into(), to.into());
        }
    }

    /// Whether a thread may stand at an instruction for ever.
    pub(super) fn may_block(kind: &InstructionKind) -> bool {
        match kind {
            InstructionKind::Barrier { kind, .. } => !matches!(kind, BarrierKind::Arrive),
            InstructionKind::WarpSync { .. }
            | InstructionKind::Exchange(_)
            | InstructionKind::ClusterWait { .. } => true,
            InstructionKind::SetMaxRegisters { increase, .. } => *increase,
            _ => false,
        }
    }

    /// Whether a loop may go round for ever, as far as its registers are concerned.
    pub(super) fn may_go_on_for_ever(&mut self, state: &State, frame: &Frame<'_>, shape: &Shape<'_>) -> bool {
        !ends::ends(self, state, frame, shape)
    }
}
