//! `.sync` of what a whole warp does: its lanes wait for one another.
//!
//! No memory is ordered, as by `elect.sync`: what a lane knows afterwards is that the others have got there, so the edges are
//! those of exits.
//!
//! Only where it tells lanes something: they wait before columns of tensor memory are had or given back, and behind what waits
//! for operations of theirs. Who is held back at one of several such instructions in a row is held back at the last one.

use super::super::{Step, UnrollError, Unroller};
use crate::event::{EventId, EventKind, TermPool};
use crate::synchronization::log::{Form, Group};

impl Unroller<'_> {
    /// Waits for the other lanes of the warp, if there are others, at the instruction at hand; what says that the thread came.
    pub(in super::super) fn await_lanes(
        &mut self,
        step: &mut Step<'_>,
    ) -> Result<Option<EventId>, UnrollError> {
        if self.graph.hierarchy.launch_of(self.agent).lanes < 2 || step.state.live == TermPool::FALSE {
            return Ok(None);
        }
        let group = Group::Collective(self.graph.hierarchy.warp_of(self.agent), step.site);
        let generation = self.generation(group, step.state.live);
        let operands = (TermPool::FALSE, None);
        self.run_barrier(step, (group, generation), Form::Sync, operands, EventKind::BarrierArrive)?;
        Ok(self.barriers.log.executions.last().map(|execution| execution.arrive))
    }

    /// The same of an aligned instruction, of which nothing else is to be said by all lanes; whether the current one stands for
    /// the warp.
    pub(in super::super) fn comes_with_its_warp(&mut self, step: &mut Step<'_>) -> Result<bool, UnrollError> {
        let guard = step.state.live;
        if let Some(arrive) = self.await_lanes(step)? {
            self.log_aligned(guard, arrive);
        }
        Ok(self.is_first_lane())
    }

    /// Whether the current lane stands for its warp.
    pub(in super::super) fn is_first_lane(&self) -> bool {
        self.graph.hierarchy.threads[self.agent].lane == 0
    }
}
