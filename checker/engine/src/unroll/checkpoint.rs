//! Attempts that can be taken back: how a loop is run as a wait before it is known to be one.

use super::Unroller;
use super::forward::ForwardingMark;
use crate::event::TermMark;
use crate::synchronization::log::MbarrierMark;
use fencepost_dsl::kernel::program::RegisterId;

/// The extent of everything that running statements adds to.
pub struct Checkpoint {
    terms: TermMark,
    n_events: usize,
    n_rmw: usize,
    n_constraints: usize,
    pub(super) n_obligations: usize,
    pub(super) n_cuts: usize,
    n_blocked: usize,
    n_writing_tries: usize,
    n_reachables: usize,
    mbarriers: MbarrierMark,
    pub(super) n_exits: usize,
    n_decisions: usize,
    n_past_waits: usize,
    n_doings: usize,
    forwarding: ForwardingMark,
    position: u32,
    missing_register: Option<RegisterId>,
}

impl Unroller<'_> {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            terms: self.graph.terms.mark(),
            n_events: self.graph.events.len(),
            n_rmw: self.graph.rmw.len(),
            n_constraints: self.graph.constraints.len(),
            n_obligations: self.graph.obligations.len(),
            n_cuts: self.graph.cuts.len(),
            n_blocked: self.graph.blocked.len(),
            n_writing_tries: self.graph.writing_tries.len(),
            n_reachables: self.graph.reachables.len(),
            mbarriers: self.mbarriers.mark(),
            n_exits: self.exits.len(),
            n_decisions: self.decisions.len(),
            n_past_waits: self.past_waits.len(),
            n_doings: self.doings.n_of(self.agent),
            forwarding: self.forwarding.mark(),
            position: self.position,
            missing_register: self.missing_register,
        }
    }

    pub(super) fn take_back(&mut self, checkpoint: &Checkpoint) {
        self.graph.terms.rewind(checkpoint.terms);
        self.graph.events.truncate(checkpoint.n_events);
        self.graph.rmw.truncate(checkpoint.n_rmw);
        self.graph.constraints.truncate(checkpoint.n_constraints);
        self.graph.obligations.truncate(checkpoint.n_obligations);
        self.graph.cuts.truncate(checkpoint.n_cuts);
        self.graph.blocked.truncate(checkpoint.n_blocked);
        self.graph.writing_tries.truncate(checkpoint.n_writing_tries);
        self.graph.reachables.truncate(checkpoint.n_reachables);
        self.mbarriers.take_back(checkpoint.mbarriers, &self.graph.terms);
        self.forget_final_values();
        self.cta_waits.forget_taken_back(&self.graph.terms);
        self.exits.truncate(checkpoint.n_exits);
        self.decisions.truncate(checkpoint.n_decisions);
        self.past_waits.truncate(checkpoint.n_past_waits);
        self.doings.truncate(self.agent, checkpoint.n_doings);
        self.forwarding.take_back(checkpoint.forwarding);
        self.position = checkpoint.position;
        self.missing_register = checkpoint.missing_register;
    }
}
