//! `activemask`: which lanes of a warp execute it together.
//!
//! That is the hardware's choice, at every instruction anew; but lanes that execute one together are told the same, and a lane
//! that is named has come there. So the executions of an instruction by a warp are parted: each joins that of a lane before it
//! which heads a part, or heads one itself, and every way to part them is an execution. Nobody waits, and no memory is ordered
//! (MM-37, A-58); that whoever is named has got there is said by the edges that exits have.

use super::super::{Step, UnrollError, Unroller};
use crate::event::{AgentId, BaseRelation, Edge, EventId, EventKind, SiteId, TermPool, TermRef, UnknownKind};
use fencepost_dsl::kernel::program::{BinaryOp, RegisterId};
use fencepost_dsl::sorted::SortedMap;

/// Bits of the number of a part.
const PART_WIDTH: u8 = 16;
/// Most executions of one instruction by one warp.
const EXECUTIONS_MAX: usize = 512;

/// An execution by a lane.
struct Together {
    agent: AgentId,
    guard: TermRef,
    /// The number of its part: that of the execution that heads it.
    part: TermRef,
    /// 1 iff it heads one.
    heads: TermRef,
    /// The executions that it may join, and when it does.
    joins: Vec<(usize, TermRef)>,
    mask: TermRef,
    arrive: EventId,
    wait: EventId,
}

/// All executions of `activemask`.
#[derive(Default)]
pub struct ActiveLog {
    all: Vec<Together>,
    of_site: SortedMap<(u32, SiteId), Vec<usize>>,
    /// The part of each mask, by the mask.
    parts: SortedMap<TermRef, (u32, SiteId, TermRef)>,
}

impl ActiveLog {
    /// Whether a lane of a warp has executed one.
    pub fn has(&self, warp: u32) -> bool {
        self.of_site.keys().any(|&(own, _)| own == warp)
    }

    /// Where a mask comes from, if it was told by `activemask`: two of one warp and place are equal iff their parts are.
    pub fn part(&self, mask: TermRef) -> Option<(u32, SiteId, TermRef)> {
        self.parts.get(&mask).copied()
    }
}

impl Unroller<'_> {
    /// Runs `activemask`.
    pub(in super::super) fn active_mask(
        &mut self,
        step: &mut Step<'_>,
        destination: Option<RegisterId>,
    ) -> Result<(), UnrollError> {
        let Some(register) = destination else { return Ok(()) };
        let guard = step.state.live;
        let place = (self.graph.hierarchy.warp_of(self.agent), step.site);
        let number = self.active.all.len();
        let earlier = self.active.of_site.get(&place).cloned().unwrap_or_default();
        if earlier.len() >= EXECUTIONS_MAX || number >> PART_WIDTH != 0 {
            let span = self.graph.sites[step.site].span;
            let value = EXECUTIONS_MAX as u64;
            return Err(UnrollError::TooLarge {
                limit: "executions of an activemask by a warp",
                value,
                span,
            });
        }
        let (others, own): (Vec<usize>, Vec<usize>) =
            earlier.into_iter().partition(|&index| self.active.all[index].agent != self.agent);
        let mut none_before = TermPool::TRUE;
        let mut part = self.graph.terms.constant(number as u128, PART_WIDTH);
        let mut joins = Vec::new();
        for head in others {
            let terms = &mut self.graph.terms;
            let (_, chosen) = terms.fresh(1, UnknownKind::TakesPart);
            let other = &self.active.all[head];
            // A lane is in a part once.
            let again = own.iter().flat_map(|&index| {
                let before = &self.active.all[index];
                before.joins.iter().filter(|join| join.0 == head).map(|join| (before.guard, join.1))
            });
            let again: Vec<TermRef> = again.map(|(guard, join)| terms.and(guard, join)).collect();
            let again = terms.or_all(again);
            let first = terms.not(again);
            let join = terms.and_all([chosen, other.heads, other.guard, first, none_before]);
            if terms.and(guard, join) == TermPool::FALSE {
                continue;
            }
            let name = terms.constant(head as u128, PART_WIDTH);
            part = terms.if_then_else(join, name, part);
            let not = terms.not(join);
            none_before = terms.and(none_before, not);
            joins.push((head, join));
        }
        let (_, mask) = self.graph.terms.fresh(32, UnknownKind::Exchanged);
        let arrive = self.emit_next(guard, EventKind::BarrierArrive, step.site)?;
        let wait = self.emit_next(guard, EventKind::BarrierWait, step.site)?;
        let (agent, heads) = (self.agent, none_before);
        self.active.all.push(Together { agent, guard, part, heads, joins, mask, arrive, wait });
        self.active.of_site.entry(place).or_default().push(number);
        self.active.parts.insert(mask, (place.0, place.1, part));
        step.state.env.set(register, mask);
        Ok(())
    }

    /// States which lanes each mask names, once all threads are there.
    pub(in super::super) fn state_active_masks(&mut self) {
        let log = std::mem::take(&mut self.active);
        for executions in log.of_site.values() {
            for &own in executions {
                let own = &log.all[own];
                let lane = self.graph.hierarchy.threads[own.agent].lane;
                let mut value = self.graph.terms.constant(1 << lane.min(31), 32);
                for other in executions.iter().map(|&index| &log.all[index]) {
                    if other.agent == own.agent {
                        continue;
                    }
                    let lane = self.graph.hierarchy.threads[other.agent].lane;
                    let terms = &mut self.graph.terms;
                    let is_same = terms.equal(own.part, other.part);
                    let is_named = terms.and(other.guard, is_same);
                    let (bit, lane) = (terms.resize(is_named, 32), terms.constant(lane.into(), 32));
                    let bit = terms.binary(BinaryOp::ShiftLeft, bit, lane);
                    value = terms.binary(BinaryOp::Or, value, bit);
                    if is_same != TermPool::FALSE {
                        let edge = Edge { from: other.arrive, to: own.wait, condition: is_same };
                        self.graph.edges.add(BaseRelation::ExitRelease, edge);
                    }
                }
                let is = self.graph.terms.equal(own.mask, value);
                let constraint = self.graph.terms.implies(own.guard, is);
                self.graph.terms.define(own.mask, value, constraint);
                self.graph.constrain(constraint);
                for event in [own.arrive, own.wait] {
                    self.name_meeting(event, "`activemask`", None);
                }
            }
        }
        self.active = log;
    }
}
