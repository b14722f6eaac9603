//! `elect.sync`: the lanes of a mask meet, and one of them is the leader.
//!
//! The lanes wait for one another as at `bar.warp.sync`, but no memory is ordered (AS-42): what a lane knows afterwards is
//! that the others have got there, so the edges are those of exits, which order nothing either.
//!
//! Which lane leads is not specified, only that it is the same for the same mask every time. So it is a choice per warp
//! and mask: lane after lane of the mask is the leader if none before it is and its own unknown says so; the last one is
//! if no other is. Guards of two leaders then exclude each other visibly, and one of them holds.
//!
//! With the variant `elects-first` it is the first lane of the mask that leads, so that what leaders do, such as
//! copies of whole tiles, is there once instead of once for each lane. What is found then says so. Without it a launch is
//! checked for one leader after the other where few stand for all ([`super::leaders`]).

use super::super::{Step, UnrollError, Unroller};
use crate::event::{EventKind, TermPool, TermRef, UnknownKind};
use crate::findings;
use crate::synchronization::log::{Form, Group};
use fencepost_dsl::kernel::program::{Expression, RegisterId};

/// Where the result of an election goes.
#[derive(Clone, Copy)]
pub struct ElectionResult {
    /// The leader's lane.
    pub leader: Option<RegisterId>,
    /// Whether the executing lane leads.
    pub predicate: Option<RegisterId>,
}

impl Unroller<'_> {
    /// Runs `elect.sync`.
    pub(in super::super) fn elect(
        &mut self,
        step: &mut Step<'_>,
        mask: &Expression,
        result: ElectionResult,
    ) -> Result<(), UnrollError> {
        let Some(value) = self.own_mask(step, mask, &findings::barrier::ELECTION_WITHOUT_OWN_LANE)? else {
            return Ok(());
        };
        let lane = self.graph.hierarchy.threads[self.agent].lane;
        let warp = self.graph.hierarchy.warp_of(self.agent);
        let group = Group::Election(warp, value);
        let generation = self.generation(group, step.state.live);
        let operands = (TermPool::FALSE, None);
        self.run_barrier(step, (group, generation), Form::Sync, operands, EventKind::BarrierArrive)?;
        let leaders = self.leaders(warp, value);
        if let Some(register) = result.predicate {
            let leads =
                leaders.iter().find(|&&(of, _)| of == lane).map_or(TermPool::FALSE, |&(_, leads)| leads);
            let leads = self.graph.terms.resize(leads, step.frame.width(register));
            step.state.env.set(register, leads);
        }
        if let Some(register) = result.leader {
            let width = step.frame.width(register);
            let mut chosen = self.graph.terms.constant(0, width);
            for &(lane, leads) in leaders.iter().rev() {
                let lane = self.graph.terms.constant(u128::from(lane), width);
                chosen = self.graph.terms.if_then_else(leads, lane, chosen);
            }
            step.state.env.set(register, chosen);
        }
        Ok(())
    }

    /// The lanes of a mask that the warp has, and when each is the leader.
    fn leaders(&mut self, warp: u32, mask: u32) -> Vec<(u32, TermRef)> {
        if let Some(known) = self.barriers.leaders.get(&(warp, mask)) {
            return known.clone();
        }
        // In a litmus test each thread is a warp, and has lane 0.
        let n_lanes = self.graph.hierarchy.launch_of(self.agent).lanes;
        let mut lanes: Vec<u32> = (0..n_lanes.min(u32::BITS)).filter(|lane| mask >> lane & 1 == 1).collect();
        if self.options.elects_first {
            lanes.truncate(1);
        } else if let Some(&leader) = self.options.leaders.get(&(warp, mask)) {
            self.graph.n_unelected += lanes.len() - 1;
            lanes.retain(|&lane| lane == leader);
        }
        let mut none_before = TermPool::TRUE;
        let mut leaders = Vec::with_capacity(lanes.len());
        for (index, &lane) in lanes.iter().enumerate() {
            if self.options.notes_doings {
                leaders.push((lane, self.graph.terms.fresh(1, UnknownKind::Elected).1));
                continue;
            }
            if index + 1 == lanes.len() {
                leaders.push((lane, none_before));
                break;
            }
            let (_, chosen) = self.graph.terms.fresh(1, UnknownKind::Elected);
            leaders.push((lane, self.graph.terms.and(none_before, chosen)));
            let not = self.graph.terms.not(chosen);
            none_before = self.graph.terms.and(none_before, not);
        }
        self.barriers.leaders.insert((warp, mask), leaders.clone());
        leaders
    }
}
