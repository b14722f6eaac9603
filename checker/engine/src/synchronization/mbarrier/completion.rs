//! When the phases of an mbarrier complete, once all operations are known.

use super::phase::{Expected, Interval};
use crate::event::{GraphBuilder, TermPool, TermRef};
use crate::synchronization::log::{Operation, OperationKind, PHASE_WIDTH};
use fencepost_dsl::kernel::program::BinaryOp;

/// Bits in which counts and bytes are summed up.
pub const TX_WIDTH: u8 = 32;

/// The phases of one object.
pub struct Phases {
    /// Per phase: 1 iff it and all before it are complete.
    pub complete: Vec<TermRef>,
    /// Per phase.
    pub counts: Vec<Counts>,
}

/// The arrivals of a phase.
#[derive(Clone, Copy)]
pub struct Counts {
    /// How many there are.
    pub arrived: TermRef,
    /// How many it expects.
    pub needs: TermRef,
    /// 1 iff there are no more than it expects.
    pub within: TermRef,
    /// Bytes announced less bytes delivered.
    pub bytes: TermRef,
}

impl Counts {
    /// Those of a phase whose completion does not follow from them.
    pub fn of_needs(needs: TermRef) -> Self {
        Self { arrived: needs, needs, within: TermPool::TRUE, bytes: needs }
    }
}

/// What counting says of the phases of an object.
pub fn phases(
    terms: &mut TermPool,
    operations: &[(Operation, Interval)],
    n_phases: u32,
    expected: Expected,
) -> Phases {
    let mut phases = Phases { complete: Vec::new(), counts: Vec::new() };
    let mut so_far = TermPool::TRUE;
    // Phases that are complete only with all that can be in them: who drops out there has, once they are.
    let mut whole = Vec::new();
    for phase in 0..n_phases {
        if !expected.is_initialised {
            let zero = terms.constant(0, TX_WIDTH);
            phases.complete.push(TermPool::FALSE);
            phases.counts.push(Counts { arrived: zero, needs: zero, within: TermPool::TRUE, bytes: zero });
            continue;
        }
        let needs = expected_after(terms, operations, phase, &whole);
        let (complete, is_whole, counts) = balance(terms, operations, phase, needs, expected.has_bytes);
        // Where everybody has dropped out, nothing ever completes a phase (UB-M8).
        let zero = terms.constant(0, TX_WIDTH);
        let nobody = terms.equal(needs, zero);
        let somebody = terms.not(nobody);
        so_far = terms.and_all([so_far, complete, somebody]);
        if is_whole {
            whole.push(phase);
        }
        phases.complete.push(so_far);
        phases.counts.push(counts);
    }
    phases
}

/// The count of the initialisation; of several, which exclude one another, of the one that happens.
pub fn initial_count(terms: &mut TermPool, operations: &[(Operation, Interval)]) -> TermRef {
    let mut initial = None;
    for (operation, _) in operations {
        let OperationKind::Init { count } = operation.kind else { continue };
        let count = terms.constant(u128::from(count), TX_WIDTH);
        initial = Some(match initial {
            None => count,
            Some(other) => terms.if_then_else(operation.guard, count, other),
        });
    }
    initial.unwrap_or_else(|| terms.constant(0, TX_WIDTH))
}

/// How many arrivals a phase expects: the initial count less what was dropped before, and what was added in it.
pub fn expected_in(terms: &mut TermPool, operations: &[(Operation, Interval)], phase: u32) -> TermRef {
    expected_after(terms, operations, phase, &[])
}

/// The same if all phases before it are complete, and some of them only with all that can be in them.
fn expected_after(
    terms: &mut TermPool,
    operations: &[(Operation, Interval)],
    phase: u32,
    whole: &[u32],
) -> TermRef {
    let initial = initial_count(terms, operations);
    let (mut raised, mut dropped) = (Vec::new(), Vec::new());
    for (operation, interval) in operations {
        if matches!(operation.kind, OperationKind::Raise) && interval.contains(phase) {
            raised.push((happens_in(terms, operation, *interval, phase), 1));
        }
        let OperationKind::Arrive { count, drops: true, .. } = operation.kind else { continue };
        if interval.is_empty() || interval.first >= phase {
            continue;
        }
        if whole.iter().any(|&earlier| interval.contains(earlier)) {
            dropped.push((TermPool::TRUE, count));
            continue;
        }
        let happens = counted(terms, operation);
        let number = phase_term(terms, operation, *interval);
        let bound = phase_constant(terms, phase);
        let earlier = terms.less(number, bound);
        dropped.push((terms.and(happens, earlier), count));
    }
    let raised = sum(terms, &raised);
    let needs = add(terms, initial, raised);
    if dropped.is_empty() {
        return needs;
    }
    // So many bits that less than nothing is more than can ever arrive.
    let most: u64 = operations
        .iter()
        .map(|(operation, _)| match operation.kind {
            OperationKind::Init { count } | OperationKind::Arrive { count, .. } => u64::from(count),
            _ => 1,
        })
        .sum();
    let width = bits(most * 2).min(TX_WIDTH);
    let dropped = sum(terms, &dropped);
    let (needs, dropped) = (terms.resize(needs, width), terms.resize(dropped, width));
    let left = terms.binary(BinaryOp::Subtract, needs, dropped);
    terms.resize(left, TX_WIDTH)
}

/// Whether a phase has all its arrivals and its bytes balance, whether those are all that there can be, and its arrivals.
fn balance(
    terms: &mut TermPool,
    operations: &[(Operation, Interval)],
    phase: u32,
    needs: TermRef,
    has_bytes: bool,
) -> (TermRef, bool, Counts) {
    let mut arrivals: Vec<(TermRef, u32)> = Vec::new();
    let mut bytes = terms.constant(0, TX_WIDTH);
    // What arrivals announce, less all that can be delivered, and the deliveries; unknown where others announce, too.
    let mut left = Some(0_i64);
    let mut delivered: Vec<TermRef> = Vec::new();
    for (operation, interval) in operations {
        if !interval.contains(phase) {
            continue;
        }
        let here = happens_in(terms, operation, *interval, phase);
        let (adds, takes) = match operation.kind {
            OperationKind::Arrive { count, expects, .. } => {
                arrivals.push((here, count));
                (expects, 0)
            }
            OperationKind::Expect { bytes } => {
                left = None;
                (bytes, 0)
            }
            OperationKind::Complete { bytes } => (0, bytes),
            _ => continue,
        };
        left = left.map(|left| left + i64::from(adds) - i64::from(takes));
        if takes > 0 {
            delivered.push(here);
        }
        let zero = terms.constant(0, TX_WIDTH);
        let change = terms.constant(u128::from(adds.wrapping_sub(takes)), TX_WIDTH);
        let change = terms.if_then_else(here, change, zero);
        bytes = terms.binary(BinaryOp::Add, bytes, change);
    }
    let possible: u128 = arrivals.iter().map(|&(_, count)| u128::from(count)).sum();
    let known = terms.constant_value(needs);
    let arrived = sum(terms, &arrivals);
    let is_whole = known == Some(possible);
    let (all_there, within) = if is_whole {
        let all: Vec<TermRef> = arrivals.iter().map(|&(here, _)| here).collect();
        (terms.and_all(all), TermPool::TRUE)
    } else if known.is_some_and(|needs| possible < needs) {
        (TermPool::FALSE, TermPool::TRUE)
    } else {
        let exceeds = terms.less(needs, arrived);
        (terms.equal(arrived, needs), terms.not(exceeds))
    };
    let counts = Counts { arrived, needs, within, bytes };
    if !has_bytes {
        return (all_there, is_whole, counts);
    }
    // Where the arrivals there can be announce just what can be delivered, that is all of it.
    if is_whole && left == Some(0) {
        delivered.push(all_there);
        return (terms.and_all(delivered), is_whole, counts);
    }
    let zero = terms.constant(0, TX_WIDTH);
    let balanced = terms.equal(bytes, zero);
    (terms.and(all_there, balanced), is_whole, counts)
}

/// 1 iff the operation happens and counts.
pub fn counted(terms: &mut TermPool, operation: &Operation) -> TermRef {
    match operation.kind {
        OperationKind::Arrive { excess: Some(excess), .. } => {
            let fine = terms.not(excess);
            terms.and(operation.guard, fine)
        }
        _ => operation.guard,
    }
}

/// 1 iff it happens and counts in a phase.
pub fn happens_in(terms: &mut TermPool, operation: &Operation, interval: Interval, phase: u32) -> TermRef {
    let happens = counted(terms, operation);
    let here = is_phase(terms, operation, interval, phase);
    terms.and(happens, here)
}

/// 1 iff its phase is that one.
pub fn is_phase(terms: &mut TermPool, operation: &Operation, interval: Interval, phase: u32) -> TermRef {
    let number = phase_term(terms, operation, interval);
    let phase = phase_constant(terms, phase);
    terms.equal(number, phase)
}

/// The phase in which it happens.
pub fn phase_term(terms: &mut TermPool, operation: &Operation, interval: Interval) -> TermRef {
    match interval.only() {
        Some(phase) => phase_constant(terms, phase),
        None => operation.phase,
    }
}

/// 1 iff the phase of the one is before that of the other, each in its interval, where these leave it open: somewhere between
/// them a phase begins. Of each operation few such terms are needed, whereas two numbers have to be compared for each pair.
pub fn is_of_earlier(
    terms: &mut TermPool,
    (a, of_a): (&Operation, Interval),
    (b, of_b): (&Operation, Interval),
) -> TermRef {
    let mut any = Vec::new();
    for phase in of_a.first.max(of_b.first.saturating_sub(1))..=of_a.last.min(of_b.last.saturating_sub(1)) {
        let until = is_until(terms, a, of_a, phase);
        let until_b = is_until(terms, b, of_b, phase);
        let after = terms.not(until_b);
        any.push(terms.and(until, after));
    }
    terms.or_all(any)
}

/// 1 iff it happens in a phase or before it.
fn is_until(terms: &mut TermPool, operation: &Operation, interval: Interval, phase: u32) -> TermRef {
    if interval.last <= phase {
        return TermPool::TRUE;
    }
    if interval.first > phase {
        return TermPool::FALSE;
    }
    let number = phase_term(terms, operation, interval);
    let next = phase_constant(terms, phase + 1);
    terms.less(number, next)
}

/// What it means that an operation happens in its phase.
pub fn state_operation(graph: &mut GraphBuilder, operation: &Operation, interval: Interval, phases: &Phases) {
    if interval.is_empty() {
        graph.imply(operation.guard, TermPool::FALSE);
        return;
    }
    let number = phase_term(&mut graph.terms, operation, interval);
    if number == operation.phase {
        state_interval(graph, operation, interval);
    } else if matches!(operation.kind, OperationKind::Arrive { .. }) {
        // The state it returns.
        let same = graph.terms.equal(operation.phase, number);
        graph.constrain(same);
    }
    for phase in interval.first.max(1)..=interval.last {
        let here = is_phase(&mut graph.terms, operation, interval, phase);
        let complete = phases.complete.get(phase as usize - 1).copied().unwrap_or(TermPool::FALSE);
        let here = graph.terms.and(operation.guard, here);
        graph.imply(here, complete);
    }
    if operation.kind.is_wait() {
        let passes = operation.kind.passes_in(&mut graph.terms, number);
        graph.imply(operation.guard, passes);
    }
}

/// It happens in a phase that narrowing has left: edges between operations rely on it.
pub fn state_interval(graph: &mut GraphBuilder, operation: &Operation, interval: Interval) {
    if interval.only().is_some() {
        return;
    }
    let [first, last] = [interval.first, interval.last].map(|phase| phase_constant(&mut graph.terms, phase));
    let terms = &mut graph.terms;
    let below = terms.less(operation.phase, first);
    let above = terms.less(last, operation.phase);
    let outside = terms.or(below, above);
    let inside = terms.not(outside);
    graph.constrain(inside);
}

/// The number of a phase.
pub fn phase_constant(terms: &mut TermPool, phase: u32) -> TermRef {
    terms.constant(u128::from(phase), PHASE_WIDTH)
}

/// The sum of those numbers whose conditions hold, in no more bits than it can have: pair by pair, so that most of them are
/// added in few.
pub fn sum(terms: &mut TermPool, addends: &[(TermRef, u32)]) -> TermRef {
    let mut sums: Vec<(TermRef, u64)> = Vec::new();
    for &(condition, count) in addends {
        let width = bits(count.into());
        let (zero, number) = (terms.constant(0, width), terms.constant(u128::from(count), width));
        sums.push((terms.if_then_else(condition, number, zero), count.into()));
    }
    while sums.len() > 1 {
        let pairs = sums.chunks(2).map(|pair| match *pair {
            [(a, most_of_a), (b, most_of_b)] => {
                let most = most_of_a + most_of_b;
                let width = bits(most).min(TX_WIDTH);
                let (a, b) = (terms.resize(a, width), terms.resize(b, width));
                (add(terms, a, b), most)
            }
            _ => pair[0],
        });
        sums = pairs.collect();
    }
    match sums.first() {
        Some(&(all, _)) => terms.resize(all, TX_WIDTH),
        None => terms.constant(0, TX_WIDTH),
    }
}

/// Bits of a number.
pub fn bits(value: u64) -> u8 {
    u8::try_from(64 - value.leading_zeros()).unwrap_or(64).max(1)
}

/// A sum.
pub fn add(terms: &mut TermPool, a: TermRef, b: TermRef) -> TermRef {
    terms.binary(BinaryOp::Add, a, b)
}
