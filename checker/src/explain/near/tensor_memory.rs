//! Near-steps between accesses of tensor memory: which link between them is missing (AS-29 … AS-32).
//!
//! An operation ends, its thread fences, something leads to the other thread, that one fences, and starts the other
//! operation. What comes first in that row and is not there is told. The name `fence-order` is looked up in the
//! model file.

use super::super::reason::{Reason, TensorLink};
use super::super::search::{Near, Relaxed, Search, Way};
use crate::bits::BitMatrix;
use crate::event::{EventGraph, EventId, EventKind, TensorEvent};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;

/// The direction in which one start comes after the other is the nearer one, then the one with more links.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let (graph, witness) = (search.graph, search.witness);
    let (earlier, later) = (way.earlier, way.later);
    let order = search.defined("fence-order").unwrap_or_else(|| search.program_order().clone());
    let rows = Rows { graph, witness, order };
    let missing = rows.missing(earlier, later);
    let known = rows.ends(earlier).first().copied();
    let n_links = TensorLink::FenceAfter as u32;
    let gap = u32::from(!rows.hands_over(earlier, later)) * (n_links + 1) + n_links - missing as u32;
    let reasons = vec![Reason::TensorOrder { earlier, later, missing, known }];
    vec![Near { gap, ..Near::new((earlier, later), Relaxed::TensorFences, reasons) }]
}

/// The links of an execution.
struct Rows<'a> {
    graph: &'a EventGraph,
    witness: &'a Witness,
    order: BitMatrix,
}

impl Rows<'_> {
    /// Whether something leads from the start of one operation to that of the other.
    fn hands_over(&self, from: EventId, to: EventId) -> bool {
        let starts = self.starts(to);
        self.starts(from).iter().any(|&first| starts.iter().any(|&second| self.order.contains(first, second)))
    }

    /// The first link from one access to the other that is not there.
    fn missing(&self, from: EventId, to: EventId) -> TensorLink {
        let relations = &self.witness.basis.relations;
        let order = &relations[&BaseRelation::ProgramOrder];
        let starts = self.starts(to);
        let is_pipelined = relations[&BaseRelation::Pipelined].contains(from, to);
        let ends = if is_pipelined { self.starts(from) } else { self.ends(from) };
        if ends.is_empty() {
            return TensorLink::End;
        }
        // A commit stands for the fence (AS-30).
        let is_commit = |event: EventId| matches!(self.graph.events[event].kind, EventKind::Mbarrier(_));
        let mut anchors: Vec<EventId> = Vec::new();
        for &end in &ends {
            if is_commit(end) {
                anchors.push(end);
            } else {
                let fences = self.fences(TensorEvent::FenceBefore).into_iter();
                anchors.extend(fences.filter(|&fence| order.contains(end, fence)));
            }
        }
        let leads = |anchors: &[EventId], targets: &[EventId]| {
            anchors.iter().any(|&anchor| targets.iter().any(|&target| self.order.contains(anchor, target)))
        };
        if anchors.is_empty() {
            let exists = leads(&ends, &starts);
            return if exists { TensorLink::FenceBefore } else { TensorLink::EndUnused };
        }
        if !leads(&anchors, &starts) {
            // Something leads on from before the fence.
            if leads(&ends, &starts) {
                return TensorLink::FenceBefore;
            }
            let commits = anchors.iter().flat_map(|&anchor| self.starts(anchor));
            let is_late = |commit: EventId| starts.iter().any(|&start| order.contains(start, commit));
            let is_all_late =
                anchors.iter().all(|&anchor| is_commit(anchor)) && commits.into_iter().all(is_late);
            return if is_all_late { TensorLink::EndLate } else { TensorLink::Execution };
        }
        TensorLink::FenceAfter
    }

    /// Where the end of the operation of an access is known: a wait of its thread, or the arrival of a commit.
    fn ends(&self, access: EventId) -> Vec<EventId> {
        self.witness.basis.relations[&BaseRelation::Completion].successors(access).collect()
    }

    /// The instruction that starts the operation of an access.
    fn starts(&self, access: EventId) -> Vec<EventId> {
        self.witness.basis.relations[&BaseRelation::Issue].inverse().successors(access).collect()
    }

    fn fences(&self, wanted: TensorEvent) -> Vec<EventId> {
        let executed = self.witness.execution.executed.iter();
        executed.filter(|&event| self.graph.events[event].kind.tensor() == Some(wanted)).collect()
    }
}
