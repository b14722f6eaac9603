//! Asynchronous operations: copies, stores, groups, and the instructions that wait for them (§5).
//!
//! Each dynamic instance is an agent of its own (MM-27, AS-5): an `Issue` event in its thread, and events of the
//! operation that come after it (`issue` edges) and after nothing later. Of one operation all reads come first, then all
//! writes, then the signal that it is done; nothing depends on the order among the reads or among the writes, since none
//! of them can synchronize by itself before the last.
//!
//! Whoever waits knows by a `completion` edge (groups) or by the phase of an mbarrier that its complete-tx is part of.
//! A multicast copy is one operation per destination, since each signal covers its own writes only (AS-14, MM-30).
//!
//! Groups are counted: an operation is in the first group committed after it, and a wait that leaves `n` groups pending
//! has seen it done iff at least `n + 1` groups were committed in between (AS-7, AS-20).
//!
//! Cannot: sizes, masks and multicast ranks that are not known before the kernel runs.

mod bulk;
mod cancel;
mod matrix;
mod product;
mod store;
mod tensor_memory;
mod together;
mod transfer;

pub use cancel::may_cancel;

use super::access::Strength;
use super::expression::Place;
use super::{State, Step, UnrollError, Unroller};
use crate::event::{
    AgentId, AtomicClass, BaseRelation, Edge, EventId, EventKind, MbarrierEvent, MbarrierId, MbarrierRole,
    Misuse, ObligationKind, OperationSort, SiteId, TermPool, TermRef,
};
use crate::findings;
use crate::synchronization::log::Allocation;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    Address, AddressBase, AsyncCopy, AsyncGroup, AsyncOp, BinaryOp, Expression,
};
use fencepost_dsl::vocabulary::{Proxy, Scope, Sem};

/// Bits of a number of groups.
const COUNT_WIDTH: u8 = 16;

/// Position of the reads of an operation among its events.
const READS: u32 = 0;
/// … of its writes (of the reads of its updates, with the writes right after).
const WRITES: u32 = 1;
/// … of the signal that it is done.
const DONE: u32 = 3;

/// What the current thread has started that completes by groups.
#[derive(Default)]
pub struct AsyncLog {
    started: Vec<Started>,
    commits: Vec<Commit>,
    /// `wgmma.fence`s of the thread, with their guards.
    fences: Vec<(EventId, TermRef)>,
    /// Matrix operations of the thread, by accumulator.
    matrices: Vec<matrix::Started>,
    /// Matrix operations of compiled code.
    products: product::ProductLog,
    together: together::Together,
    tensor: tensor_memory::TensorLog,
    /// Responses of `try_cancel` in the whole launch.
    responses: Vec<cancel::Response>,
}

/// An operation that completes by groups.
struct Started {
    group: AsyncGroup,
    /// Groups committed before it, of all kinds.
    n_commits: usize,
    /// What it does; whether each is a read.
    events: Vec<(EventId, bool)>,
    /// Whether a wait of the thread has seen all of it done: what a later wait knows it knows from that one.
    is_done: TermRef,
}

struct Commit {
    group: AsyncGroup,
    guard: TermRef,
}

impl AsyncLog {
    /// Forgets the thread before; groups are each thread's own (AS-21).
    pub fn start_thread(&mut self) {
        self.started.clear();
        self.commits.clear();
        self.fences.clear();
        self.matrices.clear();
        self.products.start_thread();
        self.tensor.start_thread();
    }

    /// Fences that what the thread starts if `guard` comes after: the last that is certain to be there, and those behind it.
    fn last_fences(&self, terms: &TermPool, guard: TermRef) -> Vec<EventId> {
        let mut fences = Vec::new();
        for &(fence, reached) in self.fences.iter().rev() {
            fences.push(fence);
            if terms.implies_syntactically(guard, reached) {
                break;
            }
        }
        fences
    }

    /// Columns of tensor memory that the whole launch takes and gives back.
    pub fn allocations(&self) -> &[Allocation] {
        &self.tensor.allocations
    }
}

/// An asynchronous operation under construction.
#[derive(Clone, Copy)]
struct Operation {
    agent: AgentId,
    issue: EventId,
    site: SiteId,
    guard: TermRef,
    /// Where in its thread it was started.
    position: u32,
    /// Whether it comes after what is before the thread's last `wgmma.fence` only.
    starts_at_fence: bool,
}

impl Unroller<'_> {
    /// Runs an instruction that starts an asynchronous operation or waits for some.
    pub(super) fn asynchronous(
        &mut self,
        step: &mut Step<'_>,
        operation: &AsyncOp,
    ) -> Result<(), UnrollError> {
        match operation {
            AsyncOp::Copy(copy) => self.async_copy(step, copy),
            AsyncOp::CopyArrive { mbarrier, increments } => self.copy_arrive(step, mbarrier, *increments),
            AsyncOp::Bulk(copy) => self.bulk_copy(step, copy),
            AsyncOp::Prefetch { source } => self.prefetch(step, source),
            AsyncOp::Commit(group) => {
                self.asynchronous.commits.push(Commit { group: *group, guard: step.state.live });
                Ok(())
            }
            AsyncOp::Wait { group, pending, reads_only } => {
                self.wait_for_groups(step, *group, *pending, *reads_only)
            }
            AsyncOp::Store(store) => self.async_store(step, store),
            AsyncOp::TryCancel { response, mbarrier, multicast } => {
                self.try_cancel(step, (response, mbarrier), *multicast)
            }
            AsyncOp::QueryCancel { destination, query, response } => {
                self.query_cancel(step, *destination, *query, response)
            }
            AsyncOp::Matrix(matrix) => self.matrix(step, matrix),
            AsyncOp::Product(product) => self.described_product(step, product),
            AsyncOp::Touch(tuples) => self.touch(step, tuples),
            AsyncOp::MatrixFence => self.matrix_fence(step),
            AsyncOp::Tensor(operation) => self.tensor_memory(step, operation),
            AsyncOp::TensormapReplace { map } => self.replace_tensormap(step, map),
        }
    }

    /// `cp.async`: generic and weak (AS-10).
    fn async_copy(&mut self, step: &mut Step<'_>, copy: &AsyncCopy) -> Result<(), UnrollError> {
        let Some(to) = self.run_of_bytes(step, &copy.destination, copy.bytes)? else { return Ok(()) };
        let copied = match &copy.source_bytes {
            Some(bytes) => self.known_number(step, bytes, "number of source bytes")?,
            None => copy.bytes,
        };
        if copied > copy.bytes {
            let misuse = Misuse::new(&findings::asynchronous::SOURCE_TOO_LARGE)
                .with("copied", copied)
                .with("bytes", copy.bytes);
            self.never(step.state, misuse, copy.source.span);
            return Ok(());
        }
        let ignored = match &copy.ignore_source {
            Some(ignore) => self.evaluate(step.state, step.frame, ignore)?,
            None => TermPool::FALSE,
        };
        self.require_alignment(step.state, to, copy.bytes, copy.destination.span);
        // What is not read need not be there (AS-9).
        let not_ignored = self.graph.terms.not(ignored);
        let live = self.graph.terms.and(step.state.live, not_ignored);
        let mut reading = State { live, env: step.state.env.clone() };
        let from = if copied == 0 {
            self.unread(step, &copy.source, to)?
        } else {
            let place = self.run_of_elements(&mut step.on(&mut reading), &copy.source, copied)?;
            match place {
                Some(place) => place,
                None if ignored == TermPool::FALSE => {
                    step.state.live = TermPool::FALSE;
                    return Ok(());
                }
                None => self.unread(step, &copy.source, to)?,
            }
        };
        if copied > 0 {
            self.require_alignment(&mut reading, from, copy.bytes, copy.source.span);
            let skipped = self.graph.terms.and(step.state.live, ignored);
            step.state.live = self.graph.terms.or(skipped, reading.live);
        }
        let operation = self.start(step, OperationSort::Copy)?;
        let strength = weak();
        let transfer = transfer::Transfer { from, to, bytes: copy.bytes, proxy: Proxy::Generic, strength };
        let events = self.transfer(operation, &transfer, copied, ignored)?;
        self.note_started(AsyncGroup::Copy, events);
        Ok(())
    }

    /// The source of a copy that reads nothing of it: where it is does not matter, and a number need not be an address.
    fn unread(&mut self, step: &Step<'_>, source: &Address, to: Place) -> Result<Place, UnrollError> {
        match source.base {
            AddressBase::Flat { .. } => Ok(to),
            AddressBase::Object(_) | AddressBase::Reference(_) => self.place(step.state, step.frame, source),
        }
    }

    fn note_started(&mut self, group: AsyncGroup, events: Vec<(EventId, bool)>) {
        let n_commits = self.asynchronous.commits.len();
        self.asynchronous.started.push(Started { group, n_commits, events, is_done: TermPool::FALSE });
    }

    /// A new agent, and the event by which its thread starts it without releasing anything.
    fn start(&mut self, step: &Step<'_>, sort: OperationSort) -> Result<Operation, UnrollError> {
        let issue = self.issue(step, Sem::Weak, Scope::Cta)?;
        Ok(self.operation_of(issue, step.state.live, sort))
    }

    /// The event by which the current thread starts one operation or several.
    fn issue(&mut self, step: &Step<'_>, sem: Sem, scope: Scope) -> Result<EventId, UnrollError> {
        self.emit_next(step.state.live, EventKind::Issue { sem, scope }, step.site)
    }

    /// A new agent for what an issued instruction does if `guard`.
    fn operation_of(&mut self, issue: EventId, guard: TermRef, sort: OperationSort) -> Operation {
        let agent = self.graph.hierarchy.add_operation(self.agent, sort);
        let event = &self.graph.events[issue];
        let (position, site) = (event.position, event.site);
        let site = site.expect("an issue belongs to an instruction");
        Operation { agent, issue, site, guard, position, starts_at_fence: false }
    }

    /// An event of an operation.
    fn emit_in(
        &mut self,
        operation: Operation,
        guard: TermRef,
        position: u32,
        kind: EventKind,
    ) -> Result<EventId, UnrollError> {
        let event = self.emit_for(operation.agent, guard, position, kind, operation.site)?;
        let edge = |from| Edge { from, to: event, condition: TermPool::TRUE };
        self.graph.edges.add(BaseRelation::Issue, edge(operation.issue));
        if operation.starts_at_fence {
            // all that comes before a `wgmma.fence` of the thread, and no more.
            let fences = self.asynchronous.last_fences(&self.graph.terms, operation.guard);
            let fences: Vec<Edge> = fences.into_iter().map(edge).collect();
            self.graph.edges.add_all(BaseRelation::Start, fences);
        } else {
            self.graph.edges.add(BaseRelation::Start, edge(operation.issue));
        }
        Ok(event)
    }

    /// What an operation does to an mbarrier at its end: releases what the operation itself did (MB-24).
    fn signal_in(
        &mut self,
        operation: Operation,
        object: MbarrierId,
        role: MbarrierRole,
        scope: Scope,
    ) -> Result<EventId, UnrollError> {
        let signal = MbarrierEvent { object, role, sem: Sem::Release, scope };
        self.emit_in(operation, operation.guard, DONE, EventKind::Mbarrier(signal))
    }

    /// The arrival that an operation consists of, once other operations of its thread are done.
    fn arrive_after(
        &mut self,
        operation: Operation,
        object: MbarrierId,
        scope: Scope,
        done: &[EventId],
    ) -> Result<(), UnrollError> {
        let arrival = self.signal_in(operation, object, MbarrierRole::Arrive, scope)?;
        self.complete_at(done, &[arrival]);
        self.log_async_arrival(object, arrival, (self.agent, operation.position));
        Ok(())
    }

    /// Whatever gets to one of `waits` knows that all of `done` are done.
    fn complete_at(&mut self, done: &[EventId], waits: &[EventId]) {
        for &from in done {
            let edges = waits.iter().map(|&wait| Edge { from, to: wait, condition: TermPool::TRUE });
            self.graph.edges.add_all(BaseRelation::Completion, edges);
        }
    }

    fn wait_for_groups(
        &mut self,
        step: &mut Step<'_>,
        group: AsyncGroup,
        pending: u32,
        reads_only: bool,
    ) -> Result<(), UnrollError> {
        let wait = self.emit_next(step.state.live, EventKind::AsyncWait, step.site)?;
        if group == AsyncGroup::Matrix {
            self.log_aligned(step.state.live, wait);
        }
        let mut edges = Vec::new();
        let mut started = std::mem::take(&mut self.asynchronous.started);
        for operation in started.iter_mut().filter(|operation| operation.group == group) {
            if self.graph.terms.implies_syntactically(step.state.live, operation.is_done) {
                continue;
            }
            let condition = self.is_out_of_pending(step.state.live, group, operation.n_commits, pending);
            if condition == TermPool::FALSE {
                continue;
            }
            if !reads_only {
                let seen = self.graph.terms.and(step.state.live, condition);
                operation.is_done = self.graph.terms.or(operation.is_done, seen);
            }
            let events = operation.events.iter().filter(|(_, is_read)| *is_read || !reads_only);
            edges.extend(events.map(|&(from, _)| Edge { from, to: wait, condition }));
        }
        self.asynchronous.started = started;
        self.graph.edges.add_all(BaseRelation::Completion, edges);
        if group == AsyncGroup::Matrix {
            self.await_lanes(step)?;
        }
        Ok(())
    }

    /// Whether more than `pending` groups were committed after the first `n_before`.
    fn is_out_of_pending(
        &mut self,
        live: TermRef,
        group: AsyncGroup,
        n_before: usize,
        pending: u32,
    ) -> TermRef {
        let terms = &mut self.graph.terms;
        let (mut n_certain, mut open) = (0, Vec::new());
        for commit in self.asynchronous.commits[n_before..].iter().filter(|commit| commit.group == group) {
            if terms.implies_syntactically(live, commit.guard) {
                n_certain += 1;
            } else if !terms.excludes_syntactically(live, commit.guard) {
                open.push(commit.guard);
            }
        }
        let missing = pending.saturating_add(1).saturating_sub(n_certain);
        if missing == 0 {
            return TermPool::TRUE;
        }
        if (missing as usize) > open.len() {
            return TermPool::FALSE;
        }
        let mut sum = terms.constant(0, COUNT_WIDTH);
        for guard in open {
            let one = terms.resize(guard, COUNT_WIDTH);
            sum = terms.binary(BinaryOp::Add, sum, one);
        }
        let missing = terms.constant(u128::from(missing), COUNT_WIDTH);
        let too_few = terms.less(sum, missing);
        terms.not(too_few)
    }

    /// A number that an instruction needs to be known.
    fn known_number(
        &mut self,
        step: &Step<'_>,
        operand: &Expression,
        what: &str,
    ) -> Result<u32, UnrollError> {
        let value = self.evaluate(step.state, step.frame, operand)?;
        match self.graph.terms.constant_value(value) {
            Some(value) => Ok(u32::try_from(value).unwrap_or(u32::MAX)),
            None => Err(UnrollError::unsupported(
                "unsupported::async-operand",
                format!("the {what} of an asynchronous operation must be known before the kernel runs"),
                operand.span,
                "not a constant here",
            )),
        }
    }

    /// A rule is broken where the condition does not hold; the path goes on where it does.
    pub(super) fn require(&mut self, state: &mut State, condition: TermRef, misuse: Misuse, span: Span) {
        if condition == TermPool::TRUE {
            return;
        }
        self.oblige(ObligationKind::Discipline(misuse), state.live, condition, span);
        state.live = self.graph.terms.and(state.live, condition);
    }
}

/// How a weak access that is no part of an atomic synchronizes: not at all.
fn weak() -> Strength {
    Strength::new(Sem::Weak, Scope::Cta, AtomicClass::None)
}
