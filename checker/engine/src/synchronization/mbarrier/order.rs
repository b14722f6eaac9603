//! The phases of an mbarrier from an order of its operations: §4.2 as a state machine, exact for every shape.
//!
//! One unknown per pair of operations says which comes first; together they are a total order that fits program order.
//! What an operation finds, and so whether it completes a phase (MB-4, MB-5, A-24), follows from what comes before it:
//! the tx-count is the sum of all changes, since it is 0 whenever a phase ends, and each end of a phase adds to the
//! pending count what the next one expects.
//!
//! Costs the square of the number of operations in sums and the cube in constraints, so it is for objects whose
//! completion counting does not decide (see `exact`), or for all of them if `MbarrierEncoding::Order` asks for it. Then
//! nothing that counting has found out is used, so that the two can be compared.
//!
//! Cannot: more than [`OPERATIONS_MAX`] operations of one object.

use super::completion::{
    Counts, Phases, bits, counted, expected_in, initial_count, phase_constant, phase_term, state_interval,
};
use super::moment::Moments;
use super::phase::{Expected, Interval, Object};
use super::seen::SeenBy;
use crate::event::{GraphBuilder, GraphError, MbarrierId, Misuse, TermPool, TermRef, UnknownKind};
use crate::findings;
use crate::synchronization::log::{Operation, OperationKind, PHASE_WIDTH, TX_MAX};
use fencepost_dsl::kernel::program::BinaryOp;

/// Most operations that are ordered.
pub const OPERATIONS_MAX: usize = 64;
/// What there are too many of then.
pub const ORDERED: &str = "ordered mbarrier operations";

/// An operation that takes part in the order.
struct Member {
    operation: Operation,
    interval: Interval,
    seen: SeenBy,
    /// 1 iff it happens and counts.
    counted: TermRef,
    /// 1 iff a phase ends with it; `FALSE` for waits.
    completes: TermRef,
}

/// Widths of the sums, and by what bytes are divided.
#[derive(Clone, Copy)]
struct Measures {
    phase_width: u8,
    pending_width: u8,
    tx_width: u8,
    /// Divides every number of bytes.
    unit: i64,
    /// Whether the sums of bytes can leave the range of the tx-count.
    can_overflow: bool,
}

impl Measures {
    fn of(members: &[Member], n_phases: u32, expected: Expected) -> Self {
        let changes = || members.iter().map(|member| member.operation.kind.bytes());
        let unit = changes().fold(0, |unit, bytes| greatest_divisor(unit, bytes.abs())).max(1);
        let total: i64 = changes().map(i64::abs).sum();
        let counts = members.iter().map(|member| member.operation.kind.arrivals());
        let most = counts.chain([expected.most]).max().unwrap_or(1);
        let raises =
            members.iter().filter(|member| matches!(member.operation.kind, OperationKind::Raise)).count();
        Self {
            phase_width: bits(u64::from(n_phases)).min(PHASE_WIDTH),
            pending_width: bits(u64::from(most) + raises as u64),
            // One for the sign.
            tx_width: bits((total / unit).unsigned_abs()) + 1,
            unit,
            can_overflow: total > TX_MAX,
        }
    }
}

fn greatest_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// What an operation finds.
struct Found {
    phase: TermRef,
    pending: TermRef,
    /// In units.
    tx: TermRef,
}

/// States in which order the operations on an object come, and what follows for its phases.
pub(super) fn order_object(
    graph: &mut GraphBuilder,
    object: &Object,
    n_phases: u32,
) -> Result<(Phases, Moments), GraphError> {
    let Object { id, operations, seen, expected, .. } = object;
    let (id, expected) = (*id, *expected);
    let mut members = members(graph, operations, seen);
    if members.len() > OPERATIONS_MAX {
        let span = members.first().map_or(graph.span(), |member| member.operation.span);
        let value = OPERATIONS_MAX as u64;
        return Err(GraphError::TooLarge { limit: ORDERED, value, span });
    }
    let before = total_order(graph, &members)?;
    let measures = Measures::of(&members, n_phases, expected);
    for member in &mut members {
        if member.operation.kind.changes() {
            member.completes = graph.terms.fresh(1, UnknownKind::Completes).1;
        }
    }
    let initial = initial_count(&mut graph.terms, operations);
    let initial = graph.terms.resize(initial, measures.pending_width);
    let mut after = Vec::new();
    for at in 0..members.len() {
        graph.goes_on()?;
        after.push(expected_after(&mut graph.terms, &members, &before, at, initial, expected));
    }
    for at in 0..members.len() {
        graph.goes_on()?;
        let found = found(&mut graph.terms, &members, &before, at, initial, &after, measures);
        state_member(graph, id, &members[at], &found, measures);
    }
    let mut moments = Moments::new();
    for (a, earlier) in members.iter().enumerate() {
        for (b, later) in members.iter().enumerate() {
            if a != b && !earlier.operation.precedes(&later.operation) {
                moments.push((earlier.operation.event, later.operation.event, before[a][b]));
            }
        }
    }
    Ok((ordered_phases(&mut graph.terms, &members, operations, n_phases), moments))
}

fn members(graph: &mut GraphBuilder, operations: &[(Operation, Interval)], seen: &[SeenBy]) -> Vec<Member> {
    let mut members = Vec::new();
    for ((operation, interval), seen) in operations.iter().zip(seen) {
        if operation.kind.is_life() {
            continue;
        }
        if interval.is_empty() {
            graph.imply(operation.guard, TermPool::FALSE);
            continue;
        }
        let counted = counted(&mut graph.terms, operation);
        members.push(Member {
            operation: operation.clone(),
            interval: *interval,
            seen: seen.clone(),
            counted,
            completes: TermPool::FALSE,
        });
    }
    members
}

/// Per pair, whether the first comes before the second; transitive for those that happen.
fn total_order(graph: &mut GraphBuilder, members: &[Member]) -> Result<Vec<Vec<TermRef>>, GraphError> {
    let n = members.len();
    let mut before = vec![vec![TermPool::FALSE; n]; n];
    for a in 0..n {
        for b in a + 1..n {
            let first = if is_surely_before(&members[a], &members[b]) {
                TermPool::TRUE
            } else if is_surely_before(&members[b], &members[a]) {
                TermPool::FALSE
            } else {
                graph.terms.fresh(1, UnknownKind::ComesFirst).1
            };
            before[a][b] = first;
            before[b][a] = graph.terms.not(first);
        }
    }
    for a in 0..n {
        for b in a + 1..n {
            graph.goes_on()?;
            for c in b + 1..n {
                let happen = [a, b, c].map(|at| members[at].operation.guard);
                for circle in
                    [[before[a][b], before[b][c], before[c][a]], [before[a][c], before[c][b], before[b][a]]]
                {
                    let all = graph.terms.and_all(happen.into_iter().chain(circle));
                    graph.imply(all, TermPool::FALSE);
                }
            }
        }
    }
    Ok(before)
}

/// What the phases after an operation expect, if anybody drops out.
fn expected_after(
    terms: &mut TermPool,
    members: &[Member],
    before: &[Vec<TermRef>],
    at: usize,
    initial: TermRef,
    expected: Expected,
) -> Option<TermRef> {
    if !expected.has_drops {
        return None;
    }
    let mut left = initial;
    for (other, member) in members.iter().enumerate() {
        let OperationKind::Arrive { count, drops: true, .. } = member.operation.kind else { continue };
        let is_before = if other == at { TermPool::TRUE } else { before[other][at] };
        let dropped = terms.and(is_before, member.counted);
        left = change(terms, left, dropped, -i64::from(count));
    }
    Some(left)
}

fn found(
    terms: &mut TermPool,
    members: &[Member],
    before: &[Vec<TermRef>],
    at: usize,
    initial: TermRef,
    after: &[Option<TermRef>],
    measures: Measures,
) -> Found {
    let mut phase = terms.constant(0, measures.phase_width);
    let mut tx = terms.constant(0, measures.tx_width);
    let mut pending = initial;
    for (other, member) in members.iter().enumerate() {
        if other == at || !member.operation.kind.changes() || before[other][at] == TermPool::FALSE {
            continue;
        }
        let is_before = before[other][at];
        let counts = terms.and(is_before, member.counted);
        let completes = terms.and(is_before, member.completes);
        phase = change(terms, phase, completes, 1);
        tx = change(terms, tx, counts, member.operation.kind.bytes() / measures.unit);
        pending = change(terms, pending, counts, member.operation.kind.pending());
        let nothing = terms.constant(0, measures.pending_width);
        let refill = terms.if_then_else(completes, after[other].unwrap_or(initial), nothing);
        pending = terms.binary(BinaryOp::Add, pending, refill);
    }
    Found { phase, pending, tx }
}

/// `sum`, changed by so much if the condition holds.
fn change(terms: &mut TermPool, sum: TermRef, condition: TermRef, by: i64) -> TermRef {
    if by == 0 || condition == TermPool::FALSE {
        return sum;
    }
    let width = terms.width(sum);
    // Two's complement.
    let (by, zero) = (terms.constant(i128::from(by).cast_unsigned(), width), terms.constant(0, width));
    let change = terms.if_then_else(condition, by, zero);
    terms.binary(BinaryOp::Add, sum, change)
}

/// What an operation finds decides its phase, whether it completes it, and what a wait says.
fn state_member(
    graph: &mut GraphBuilder,
    object: MbarrierId,
    member: &Member,
    found: &Found,
    measures: Measures,
) {
    let operation = &member.operation;
    let phase = graph.terms.resize(found.phase, PHASE_WIDTH);
    let number = phase_term(&mut graph.terms, operation, member.interval);
    let same = graph.terms.equal(number, phase);
    graph.imply(operation.guard, same);
    state_interval(graph, operation, member.interval);
    if number != operation.phase && matches!(operation.kind, OperationKind::Arrive { .. }) {
        // The state it returns.
        let same = graph.terms.equal(operation.phase, number);
        graph.constrain(same);
    }
    if operation.kind.is_wait() {
        let passes = operation.kind.passes_in(&mut graph.terms, number);
        graph.imply(operation.guard, passes);
        return;
    }
    let pending = change(&mut graph.terms, found.pending, TermPool::TRUE, operation.kind.pending());
    let tx = change(&mut graph.terms, found.tx, TermPool::TRUE, operation.kind.bytes() / measures.unit);
    let terms = &mut graph.terms;
    let nobody = terms.constant(0, measures.pending_width);
    let nothing = terms.constant(0, measures.tx_width);
    let all_there = terms.equal(pending, nobody);
    let balanced = terms.equal(tx, nothing);
    let ends = terms.and_all([member.counted, all_there, balanced]);
    let is_stated = terms.equal(member.completes, ends);
    graph.constrain(is_stated);
    state_arrival(graph, object, member, found);
    if measures.can_overflow {
        limit_bytes(graph, object, member, tx, measures);
    }
}

fn state_arrival(graph: &mut GraphBuilder, object: MbarrierId, member: &Member, found: &Found) {
    let operation = &member.operation;
    let OperationKind::Arrive { count, excess, no_complete, pending, .. } = operation.kind else {
        return;
    };
    if let Some(excess) = excess {
        let terms = &mut graph.terms;
        let wanted = terms.constant(u128::from(count), terms.width(found.pending));
        let too_few = terms.less(found.pending, wanted);
        let is_stated = terms.equal(excess, too_few);
        graph.imply(operation.guard, is_stated);
    }
    if let Some(pending) = pending {
        let width = graph.terms.width(pending);
        let here = graph.terms.resize(found.pending, width);
        let same = graph.terms.equal(pending, here);
        graph.imply(member.counted, same);
    }
    if no_complete {
        let misuse = Misuse::new(&findings::mbarrier::COMPLETING_NO_COMPLETE).with("object", object);
        let fine = graph.terms.not(member.completes);
        graph.oblige_at(operation.event, misuse, member.counted, fine);
    }
}

/// The tx-count has a range (UB-M7).
fn limit_bytes(
    graph: &mut GraphBuilder,
    object: MbarrierId,
    member: &Member,
    tx: TermRef,
    measures: Measures,
) {
    if member.operation.kind.bytes() == 0 {
        return;
    }
    let terms = &mut graph.terms;
    let most = TX_MAX / measures.unit;
    let above = terms.constant(u128::from(most.unsigned_abs()), measures.tx_width);
    let below = terms.constant(i128::from(-most).cast_unsigned(), measures.tx_width);
    let too_high = terms.signed_less(above, tx);
    let too_low = terms.signed_less(tx, below);
    let outside = terms.or(too_high, too_low);
    let fine = terms.not(outside);
    let misuse = Misuse::new(&findings::mbarrier::BYTES_OF_PHASE).with("object", object);
    graph.oblige_at(member.operation.event, misuse, member.counted, fine);
}

/// How many phases are complete in the end, and what each expects.
fn ordered_phases(
    terms: &mut TermPool,
    members: &[Member],
    operations: &[(Operation, Interval)],
    n_phases: u32,
) -> Phases {
    let mut total = phase_constant(terms, 0);
    for member in members {
        total = change(terms, total, member.completes, 1);
    }
    let mut phases = Phases { complete: Vec::new(), counts: Vec::new() };
    for phase in 0..n_phases {
        let number = phase_constant(terms, phase);
        phases.complete.push(terms.less(number, total));
        let needs = expected_in(terms, operations, phase);
        phases.counts.push(Counts::of_needs(needs));
    }
    phases
}

/// Whether the one comes before the other in every execution in which both happen.
fn is_surely_before(a: &Member, b: &Member) -> bool {
    a.operation.precedes(&b.operation) || a.interval.last < b.interval.first || b.seen.has_seen(&a.operation)
}
