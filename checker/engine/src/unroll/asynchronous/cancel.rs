//! `clusterlaunchcontrol`: asking for the work of a cluster that has not started (AS-39).
//!
//! Which request succeeds is left open, so every outcome is checked; successful responses name different clusters, none of
//! which has started or ever starts.
//!
//! Requests and failures that a thread has seen are events of their own: after a failure that its CTA has seen, a request
//! is undefined (UB-A10), which is for the model file to say. Seen is what `query_cancel.is_canceled` says no of.

use super::super::expression::{Extent, Place};
use super::super::{Step, UnrollError, Unroller};
use super::WRITES;
use crate::event::{CancelEvent, EventKind, Misuse, OperationSort, TermPool, TermRef, UnknownKind};
use crate::findings;
use fencepost_dsl::kernel::program::{
    Address, AsyncOp, BinaryOp, CancelQuery, Expression, InstructionKind, Kernel, Program, RegisterId,
};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};

/// Bits of a response.
const RESPONSE_WIDTH: u8 = 128;
/// Where in a response the index of the first CTA stands; whether it succeeded is bit 0.
const CTAID_AT: u8 = 32;
/// Bytes of a response.
const RESPONSE_BYTES: u32 = 16;

/// A response, and when there is one.
#[derive(Clone, Copy)]
pub(super) struct Response {
    gpu: u32,
    guard: TermRef,
    value: TermRef,
}

impl Unroller<'_> {
    pub(super) fn try_cancel(
        &mut self,
        step: &mut Step<'_>,
        (response, mbarrier): (&Address, &Address),
        multicast: bool,
    ) -> Result<(), UnrollError> {
        if self.entry.is_program {
            // A cluster that is cancelled never starts, and one that has not started yet looks alike.
            return Err(UnrollError::unsupported(
                "unsupported::program-cancel",
                "`clusterlaunchcontrol.try_cancel` is not checked in kernels that a program launches",
                self.graph.sites[step.site].span,
                "when the grid has ended is not known here",
            ));
        }
        let Some(to) = self.run_of_bytes(step, response, RESPONSE_BYTES)? else { return Ok(()) };
        let Some(signal) = self.resolve(step, mbarrier, 1)? else { return Ok(()) };
        let value = self.response(step.state.live);
        let own = self.graph.hierarchy.threads[self.agent].rank;
        let ranks =
            if multicast { 0..self.graph.hierarchy.launch_of(self.agent).cluster } else { own..own + 1 };
        self.emit_next(step.state.live, EventKind::Cancel(CancelEvent::Try), step.site)?;
        let issue = self.issue(step, Sem::Weak, Scope::Cta)?;
        let n_elements = RESPONSE_BYTES / self.element_bytes(to.object);
        for rank in ranks {
            let operation = self.operation_of(issue, step.state.live, OperationSort::Cancel);
            let how = (Proxy::Async, super::weak());
            let first = Place { rank: Some(rank), ..to };
            for piece in self.pieces(Extent { first, count: n_elements }) {
                let value = self.extract_bytes(value, piece.offset_bytes, piece.width_bytes);
                self.write_in(operation, operation.guard, WRITES, piece, value, how)?;
            }
            let object = self.mbarrier_at(Place { rank: Some(rank), ..signal }, mbarrier.span)?;
            self.complete_tx(operation, object, RESPONSE_BYTES)?;
        }
        Ok(())
    }

    /// A response that may be any, but names no cluster that another one names.
    fn response(&mut self, guard: TermRef) -> TermRef {
        let n_ctas = self.graph.hierarchy.launch_of(self.agent).cluster;
        let terms = &mut self.graph.terms;
        let (_, succeeds) = terms.fresh(1, UnknownKind::Response);
        let (_, cluster) = terms.fresh(32, UnknownKind::Response);
        let n_ctas = terms.constant(u128::from(n_ctas), 32);
        let ctaid = terms.binary(BinaryOp::Multiply, cluster, n_ctas);
        let wide = terms.resize(ctaid, RESPONSE_WIDTH);
        let amount = terms.constant(u128::from(CTAID_AT), RESPONSE_WIDTH);
        let high = terms.binary(BinaryOp::ShiftLeft, wide, amount);
        let low = terms.resize(succeeds, RESPONSE_WIDTH);
        let value = terms.binary(BinaryOp::Or, high, low);
        self.name_a_waiting_cluster(guard, succeeds, cluster);
        let gpu = self.graph.hierarchy.threads[self.agent].gpu;
        for other in self.asynchronous.responses.iter().filter(|other| other.gpu == gpu) {
            let terms = &mut self.graph.terms;
            let theirs = terms.extract(other.value, 0, 1);
            let their_ctaid = terms.extract(other.value, CTAID_AT, 32);
            let same = terms.equal(ctaid, their_ctaid);
            let clash = terms.and_all(vec![guard, other.guard, succeeds, theirs, same]);
            let term = terms.not(clash);
            self.graph.constrain(term);
        }
        self.asynchronous.responses.push(Response { gpu, guard, value });
        value
    }

    /// Only a cluster of the own device that has not started can be cancelled, and it never starts then.
    fn name_a_waiting_cluster(&mut self, guard: TermRef, succeeds: TermRef, cluster: TermRef) {
        let hierarchy = &self.graph.hierarchy;
        let n_clusters = hierarchy.launch_of(self.agent).n_clusters();
        let first = hierarchy.cluster_of(self.agent) - hierarchy.threads[self.agent].cluster;
        let mut names_one = TermPool::FALSE;
        for number in 0..n_clusters {
            let started = self.graph.starts.get((first + number) as usize).copied().unwrap_or(TermPool::TRUE);
            let terms = &mut self.graph.terms;
            let this = terms.constant(u128::from(number), 32);
            let is_this = terms.equal(cluster, this);
            let waits = terms.not(started);
            let named = terms.and(is_this, waits);
            names_one = terms.or(names_one, named);
        }
        let asked = self.graph.terms.and(guard, succeeds);
        let term = self.graph.terms.implies(asked, names_one);
        self.graph.constrain(term);
    }

    pub(super) fn query_cancel(
        &mut self,
        step: &mut Step<'_>,
        destination: Option<RegisterId>,
        query: CancelQuery,
        response: &Expression,
    ) -> Result<(), UnrollError> {
        let value = self.evaluate(step.state, step.frame, response)?;
        let succeeded = self.graph.terms.extract(value, 0, 1);
        let answer = match query {
            CancelQuery::IsCanceled => {
                // UB-A10: from here on the CTA has observed a failure.
                let not = self.graph.terms.not(succeeded);
                let fails = self.graph.terms.and(step.state.live, not);
                if fails != TermPool::FALSE {
                    self.emit_next(fails, EventKind::Cancel(CancelEvent::Failed), step.site)?;
                }
                succeeded
            }
            CancelQuery::FirstCtaid => {
                let misuse = Misuse::new(&findings::asynchronous::CTA_OF_FAILED_CANCEL);
                self.require(step.state, succeeded, misuse, response.span);
                if step.state.live == TermPool::FALSE {
                    return Ok(());
                }
                let launch = self.graph.hierarchy.launch_of(self.agent);
                let ([row, ..], [along, ..], [of_cluster, ..]) =
                    (launch.clusters(), launch.grid(), launch.cluster());
                let (is_flat, n_ctas) = (launch.grid.is_none(), launch.cluster);
                let terms = &mut self.graph.terms;
                let ctaid = terms.extract(value, CTAID_AT, 32);
                // A response counts CTAs by clusters and the clusters through the axes of the grid, and this is the first one.
                if is_flat || along == 1 {
                    if is_flat { ctaid } else { terms.constant(0, 32) }
                } else {
                    let [n_ctas, row, of_cluster] =
                        [n_ctas, row, of_cluster].map(|number| terms.constant(u128::from(number), 32));
                    let cluster = terms.binary(BinaryOp::Divide, ctaid, n_ctas);
                    let column = terms.binary(BinaryOp::Remainder, cluster, row);
                    terms.binary(BinaryOp::Multiply, column, of_cluster)
                }
            }
        };
        if let Some(register) = destination {
            let answer = self.graph.terms.resize(answer, step.frame.width(register));
            step.state.env.set(register, answer);
        }
        Ok(())
    }
}

/// Whether a kernel, or a function it may call, cancels clusters.
pub fn may_cancel(program: &Program, kernel: &Kernel) -> bool {
    program.any_instruction(kernel, |instruction| {
        matches!(&instruction.kind, InstructionKind::Async(operation)
            if matches!(**operation, AsyncOp::TryCancel { .. }))
    })
}
