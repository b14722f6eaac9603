//! When the phases of an mbarrier complete, once all operations are known.

use super::super::{MbarrierEncoding, UnrollError, Unroller};
use super::exact::{forget_counting, is_countable};
use super::moment::Moments;
use super::phase::{Expected, Interval, Narrowed, SeenBy, narrow};
use super::{Operation, OperationKind, PHASE_WIDTH, PHASES_MAX, TX_WIDTH};
use crate::event::{BarrierEdge, EventId, MbarrierId, PhaseTerms, PhasedOperation, TermPool, TermRef};
use fencepost_dsl::kernel::program::{
    BinaryOp, ExpressionKind, InstructionKind, Kernel, MbarrierOp, Program,
};
use fencepost_dsl::{Diagnostic, IndexVec};
use std::collections::BTreeMap;

/// Most pairs of operations of one object.
const MAX_PAIRS: usize = 4_000_000;

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

impl Unroller<'_> {
    /// States what completing means for every mbarrier, and which arrivals each wait has seen.
    pub(in super::super) fn finish_mbarriers(&mut self) -> Result<(), UnrollError> {
        if self.graph.mbarriers.is_empty() {
            return Ok(());
        }
        self.separate_lives()?;
        let expected = self.expected_counts();
        let Narrowed { intervals, seen, meant } = narrow(self, &expected);
        self.note_meant(&meant);
        let mut of_object: IndexVec<MbarrierId, Vec<usize>> =
            IndexVec::repeat(Vec::new(), self.graph.mbarriers.len());
        for (index, operation) in self.mbarriers.operations.iter().enumerate() {
            of_object[operation.object].push(index);
        }
        for (object, indices) in of_object.iter_enumerated() {
            self.finish_object(object, indices, (&intervals, &seen), expected[object])?;
        }
        Ok(())
    }

    fn expected_counts(&self) -> IndexVec<MbarrierId, Expected> {
        let mut expected: IndexVec<MbarrierId, Expected> =
            IndexVec::repeat(Expected::default(), self.graph.mbarriers.len());
        let mut dropped: IndexVec<MbarrierId, u32> = IndexVec::repeat(0, self.graph.mbarriers.len());
        for operation in &self.mbarriers.operations {
            let of_object = &mut expected[operation.object];
            match operation.kind {
                OperationKind::Init { count } => {
                    of_object.least =
                        if of_object.is_initialised { of_object.least.min(count) } else { count };
                    of_object.most = of_object.most.max(count);
                    of_object.is_initialised = true;
                }
                OperationKind::Expect { .. } | OperationKind::Complete { .. } => of_object.has_bytes = true,
                OperationKind::Raise => of_object.has_raises = true,
                OperationKind::Arrive { count, expects, drops, .. } => {
                    of_object.has_bytes |= expects > 0;
                    of_object.has_drops |= drops;
                    if drops {
                        dropped[operation.object] = dropped[operation.object].saturating_add(count);
                    }
                }
                OperationKind::Inval | OperationKind::WaitParity { .. } | OperationKind::WaitState { .. } => {
                }
            }
        }
        let objects: Vec<MbarrierId> = expected.ids().collect();
        for object in objects {
            let of_object = &mut expected[object];
            of_object.least = of_object.least.saturating_sub(dropped[object]).max(1);
        }
        expected
    }

    /// What counting cannot express at all.
    fn check_countable(&self, object: MbarrierId) -> Result<(), UnrollError> {
        for operation in self.mbarriers.operations.iter().filter(|operation| operation.object == object) {
            if let OperationKind::Arrive { no_complete: true, .. } = operation.kind {
                return Err(UnrollError::unsupported(
                    "unsupported::no-complete",
                    "`.noComplete` arrivals cannot be checked by counting",
                    operation.span,
                    "arrives here",
                ));
            }
            let OperationKind::Expect { .. } = operation.kind else { continue };
            let announces_first = self.mbarriers.operations.iter().any(|other| {
                other.agent == operation.agent
                    && other.object == operation.object
                    && other.position > operation.position
                    && other.kind.arrivals() > 0
                    && self.graph.terms.implies_syntactically(other.guard, operation.guard)
            });
            if announces_first {
                continue;
            }
            let diagnostic = Diagnostic::new(
                "unsupported::expect-tx",
                "`mbarrier.expect_tx` without a later arrival of the same thread is not checked by this version",
                operation.span,
                "announces bytes here",
            );
            let help =
                "use `mbarrier.arrive.expect_tx`, or let the thread that announces bytes arrive after it";
            return Err(UnrollError::Unsupported(diagnostic.with_help(help).with_rule("MB-4")));
        }
        Ok(())
    }

    fn finish_object(
        &mut self,
        object: MbarrierId,
        indices: &[usize],
        (intervals, seen): (&[Interval], &[SeenBy]),
        expected: Expected,
    ) -> Result<(), UnrollError> {
        let mut seen: Vec<SeenBy> = indices.iter().map(|&index| seen[index].clone()).collect();
        let mut operations: Vec<(Operation, Interval)> = indices
            .iter()
            .map(|&index| (self.mbarriers.operations[index].clone(), intervals[index]))
            .collect();
        self.require_init(object, &operations);
        self.limit_drops(object, &operations, expected);
        self.limit_raises(&operations, expected)?;
        self.limit_age(object, &operations);
        self.limit_overtaking(object, &operations);
        let is_ordered = expected.is_initialised && self.needs_order(object, &operations, &seen)?;
        if is_ordered && self.options.mbarrier_encoding == MbarrierEncoding::Order {
            forget_counting(&mut operations, &mut seen, expected);
        }
        let n_phases = operations
            .iter()
            .filter(|(operation, interval)| operation.kind.arrivals() > 0 && !interval.is_empty())
            .map(|(_, interval)| interval.last + 1)
            .max()
            .unwrap_or(1);
        if n_phases >= PHASES_MAX {
            let span = operations.first().map_or(self.kernel.span, |(operation, _)| operation.span);
            let value = u64::from(PHASES_MAX);
            return Err(UnrollError::TooLarge { limit: "mbarrier phases", value, span });
        }
        let (phases, moments) = if is_ordered {
            self.order_object(object, &operations, &seen, expected, n_phases)?
        } else {
            self.count_object(&operations, &seen, expected, n_phases)
        };
        self.state_final_phase(object, &phases);
        self.describe(object, &operations, &phases);
        self.link_phases(&operations, moments)
    }

    /// States what counting says of the object's phases.
    fn count_object(
        &mut self,
        operations: &[(Operation, Interval)],
        seen: &[SeenBy],
        expected: Expected,
        n_phases: u32,
    ) -> (Phases, Moments) {
        let phases = self.phases(operations, n_phases, expected);
        let mut moments = Moments::new();
        for (operation, interval) in operations {
            self.state_operation(operation, *interval, &phases);
            self.state_excess(operation, *interval, &phases, operations, &mut moments);
            self.state_moment((operation, *interval), &phases, operations, seen, &mut moments);
        }
        (phases, moments)
    }

    /// Whether the operations of an object have to be ordered.
    fn needs_order(
        &self,
        object: MbarrierId,
        operations: &[(Operation, Interval)],
        seen: &[SeenBy],
    ) -> Result<bool, UnrollError> {
        match self.options.mbarrier_encoding {
            MbarrierEncoding::Order => Ok(true),
            MbarrierEncoding::Count => self.check_countable(object).map(|()| false),
            MbarrierEncoding::Auto => Ok(!is_countable(&self.graph.terms, operations, seen)),
        }
    }

    /// What reports show of the object.
    fn describe(&mut self, object: MbarrierId, operations: &[(Operation, Interval)], phases: &Phases) {
        let mut described = Vec::new();
        for (operation, interval) in operations.iter().filter(|(_, interval)| !interval.is_empty()) {
            let (arrivals, bytes) = match operation.kind {
                OperationKind::Arrive { count, expects, .. } => (count, i64::from(expects)),
                OperationKind::Expect { bytes } => (0, i64::from(bytes)),
                OperationKind::Complete { bytes } => (0, -i64::from(bytes)),
                OperationKind::Raise | OperationKind::WaitParity { .. } | OperationKind::WaitState { .. } => {
                    (0, 0)
                }
                OperationKind::Init { .. } | OperationKind::Inval => continue,
            };
            let phase = self.phase_term(operation, *interval);
            described.push(PhasedOperation { event: operation.event, phase, arrivals, bytes });
        }
        let of_phases = phases.counts.iter().zip(&phases.complete);
        let terms =
            of_phases.map(|(counts, &complete)| PhaseTerms { expected: counts.needs, complete }).collect();
        let mbarrier = &mut self.graph.mbarriers[object];
        mbarrier.operations = described;
        mbarrier.phases = terms;
    }

    fn phases(&mut self, operations: &[(Operation, Interval)], n_phases: u32, expected: Expected) -> Phases {
        let mut phases = Phases { complete: Vec::new(), counts: Vec::new() };
        let mut so_far = TermPool::TRUE;
        for phase in 0..n_phases {
            if !expected.is_initialised {
                let zero = self.graph.terms.constant(0, TX_WIDTH);
                phases.complete.push(TermPool::FALSE);
                phases.counts.push(Counts {
                    arrived: zero,
                    needs: zero,
                    within: TermPool::TRUE,
                    bytes: zero,
                });
                continue;
            }
            let needs = self.expected_in(operations, phase);
            let (complete, counts) = self.balance(operations, phase, needs, expected.has_bytes);
            so_far = self.graph.terms.and(so_far, complete);
            phases.complete.push(so_far);
            phases.counts.push(counts);
        }
        phases
    }

    /// The count of the initialisation; of several, which exclude one another, of the one that happens.
    pub(super) fn initial_count(&mut self, operations: &[(Operation, Interval)]) -> TermRef {
        let mut initial = None;
        for (operation, _) in operations {
            let OperationKind::Init { count } = operation.kind else { continue };
            let terms = &mut self.graph.terms;
            let count = terms.constant(u128::from(count), TX_WIDTH);
            initial = Some(match initial {
                None => count,
                Some(other) => terms.if_then_else(operation.guard, count, other),
            });
        }
        initial.unwrap_or_else(|| self.graph.terms.constant(0, TX_WIDTH))
    }

    /// How many arrivals a phase expects: the initial count less what was dropped before, and what was added in it.
    pub(super) fn expected_in(&mut self, operations: &[(Operation, Interval)], phase: u32) -> TermRef {
        let mut needs = self.initial_count(operations);
        for (operation, interval) in operations {
            if matches!(operation.kind, OperationKind::Raise) && interval.contains(phase) {
                let here = self.happens_in(operation, *interval, phase);
                let one = self.graph.terms.resize(here, TX_WIDTH);
                needs = self.add(needs, one);
            }
            let OperationKind::Arrive { count, drops: true, .. } = operation.kind else { continue };
            if interval.is_empty() || interval.first >= phase {
                continue;
            }
            let happens = self.counted(operation);
            let number = self.phase_term(operation, *interval);
            let bound = self.phase_constant(phase);
            let terms = &mut self.graph.terms;
            let earlier = terms.less(number, bound);
            let dropped = terms.and(happens, earlier);
            let (zero, count) = (terms.constant(0, TX_WIDTH), terms.constant(u128::from(count), TX_WIDTH));
            let amount = terms.if_then_else(dropped, count, zero);
            needs = terms.binary(BinaryOp::Subtract, needs, amount);
        }
        needs
    }

    /// Whether a phase has all its arrivals and its bytes balance; and its arrivals.
    fn balance(
        &mut self,
        operations: &[(Operation, Interval)],
        phase: u32,
        needs: TermRef,
        has_bytes: bool,
    ) -> (TermRef, Counts) {
        let mut arrivals: Vec<(TermRef, u32)> = Vec::new();
        let mut bytes = self.graph.terms.constant(0, TX_WIDTH);
        for (operation, interval) in operations {
            if !interval.contains(phase) {
                continue;
            }
            let here = self.happens_in(operation, *interval, phase);
            let (adds, takes) = match operation.kind {
                OperationKind::Arrive { count, expects, .. } => {
                    arrivals.push((here, count));
                    (expects, 0)
                }
                OperationKind::Expect { bytes } => (bytes, 0),
                OperationKind::Complete { bytes } => (0, bytes),
                _ => continue,
            };
            let terms = &mut self.graph.terms;
            let zero = terms.constant(0, TX_WIDTH);
            let change = terms.constant(u128::from(adds.wrapping_sub(takes)), TX_WIDTH);
            let change = terms.if_then_else(here, change, zero);
            bytes = terms.binary(BinaryOp::Add, bytes, change);
        }
        let possible: u128 = arrivals.iter().map(|&(_, count)| u128::from(count)).sum();
        let terms = &mut self.graph.terms;
        let known = terms.constant_value(needs);
        let mut arrived = terms.constant(0, TX_WIDTH);
        for &(here, count) in &arrivals {
            let (zero, count) = (terms.constant(0, TX_WIDTH), terms.constant(u128::from(count), TX_WIDTH));
            let adds = terms.if_then_else(here, count, zero);
            arrived = terms.binary(BinaryOp::Add, arrived, adds);
        }
        let (all_there, within) = if known == Some(possible) {
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
            return (all_there, counts);
        }
        let zero = terms.constant(0, TX_WIDTH);
        let balanced = terms.equal(bytes, zero);
        (terms.and(all_there, balanced), counts)
    }

    /// 1 iff the operation happens and counts.
    pub(super) fn counted(&mut self, operation: &Operation) -> TermRef {
        match operation.kind {
            OperationKind::Arrive { excess: Some(excess), .. } => {
                let fine = self.graph.terms.not(excess);
                self.graph.terms.and(operation.guard, fine)
            }
            _ => operation.guard,
        }
    }

    pub(super) fn happens_in(&mut self, operation: &Operation, interval: Interval, phase: u32) -> TermRef {
        let happens = self.counted(operation);
        let here = self.is_phase(operation, interval, phase);
        self.graph.terms.and(happens, here)
    }

    pub(super) fn is_phase(&mut self, operation: &Operation, interval: Interval, phase: u32) -> TermRef {
        let number = self.phase_term(operation, interval);
        let phase = self.phase_constant(phase);
        self.graph.terms.equal(number, phase)
    }

    pub(super) fn phase_term(&mut self, operation: &Operation, interval: Interval) -> TermRef {
        match interval.only() {
            Some(phase) => self.phase_constant(phase),
            None => operation.phase,
        }
    }

    /// What it means that an operation happens in its phase.
    fn state_operation(&mut self, operation: &Operation, interval: Interval, phases: &Phases) {
        if interval.is_empty() {
            self.graph.imply(operation.guard, TermPool::FALSE);
            return;
        }
        let number = self.phase_term(operation, interval);
        if number == operation.phase {
            let (first, last) = (self.phase_constant(interval.first), self.phase_constant(interval.last));
            let terms = &mut self.graph.terms;
            let below = terms.less(number, first);
            let above = terms.less(last, number);
            let outside = terms.or(below, above);
            let inside = terms.not(outside);
            self.graph.constrain(inside);
        } else if matches!(operation.kind, OperationKind::Arrive { .. }) {
            // The state it returns.
            let same = self.graph.terms.equal(operation.phase, number);
            self.graph.constrain(same);
        }
        for phase in interval.first.max(1)..=interval.last {
            let here = self.is_phase(operation, interval, phase);
            let complete = phases.complete.get(phase as usize - 1).copied().unwrap_or(TermPool::FALSE);
            let here = self.graph.terms.and(operation.guard, here);
            self.graph.imply(here, complete);
        }
        if operation.kind.is_wait() {
            let passes = self.passes_in(operation.kind, number);
            self.graph.imply(operation.guard, passes);
        }
    }

    fn state_final_phase(&mut self, object: MbarrierId, phases: &Phases) {
        let of_object = self.mbarriers.final_phases.iter().filter(|last| last.object == object);
        let asked: Vec<TermRef> = of_object.map(|last| last.completed).collect();
        if asked.is_empty() {
            return;
        }
        let mut sum = self.phase_constant(0);
        for &complete in &phases.complete {
            let one = self.graph.terms.resize(complete, PHASE_WIDTH);
            sum = self.add(sum, one);
        }
        for completed in asked {
            let term = self.graph.terms.equal(completed, sum);
            self.graph.constrain(term);
        }
    }

    /// Relates the operations of one object by their phases.
    fn link_phases(
        &mut self,
        operations: &[(Operation, Interval)],
        moments: Moments,
    ) -> Result<(), UnrollError> {
        let mut order: BTreeMap<(EventId, EventId), TermRef> = BTreeMap::new();
        for (from, to, condition) in moments {
            let known = order.get(&(from, to)).copied().unwrap_or(TermPool::FALSE);
            let either = self.graph.terms.or(known, condition);
            order.insert((from, to), either);
        }
        for ((from, wait), condition) in order {
            if condition != TermPool::FALSE {
                self.graph.moment_edges.push(BarrierEdge { from, wait, condition });
            }
        }
        if operations.len() * operations.len() > MAX_PAIRS {
            let span = operations.first().map_or(self.kernel.span, |(operation, _)| operation.span);
            return Err(UnrollError::TooLarge { limit: "mbarrier operations", value: 2_000, span });
        }
        for (a, of_a) in operations {
            for (b, of_b) in operations {
                if a.event == b.event || of_a.is_empty() || of_b.is_empty() || of_a.first >= of_b.last {
                    continue;
                }
                if a.kind.is_life() || b.kind.is_life() {
                    continue;
                }
                let condition = if of_a.last < of_b.first {
                    TermPool::TRUE
                } else {
                    let (first, second) = (self.phase_term(a, *of_a), self.phase_term(b, *of_b));
                    self.graph.terms.less(first, second)
                };
                self.graph.phase_edges.push(BarrierEdge { from: a.event, wait: b.event, condition });
                let signals = a.kind.arrivals() > 0
                    || (a.issued.is_some() && matches!(a.kind, OperationKind::Complete { .. }));
                if signals && b.kind.is_wait() {
                    let condition = match a.kind {
                        OperationKind::Arrive { excess: Some(excess), .. } => {
                            let fine = self.graph.terms.not(excess);
                            self.graph.terms.and(condition, fine)
                        }
                        _ => condition,
                    };
                    self.graph.signal_edges.push(BarrierEdge { from: a.event, wait: b.event, condition });
                }
            }
        }
        Ok(())
    }
}

/// Whether an arrival may be one too many: some count is above 1, or bytes can keep a phase open.
pub fn counts_bytes(program: &Program, kernel: &Kernel) -> bool {
    program.any_instruction(kernel, |instruction| match instruction {
        InstructionKind::Mbarrier(MbarrierOp::Arrive(arrive)) => {
            arrive.expect_tx.is_some() || !matches!(arrive.count.kind, ExpressionKind::Constant(1))
        }
        InstructionKind::Mbarrier(MbarrierOp::ExpectTx { .. } | MbarrierOp::CompleteTx { .. })
        | InstructionKind::Async(_) => true,
        _ => false,
    })
}
