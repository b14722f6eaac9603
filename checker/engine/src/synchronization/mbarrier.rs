//! When the phases of mbarriers complete, once all threads' operations are known.
//!
//! An mbarrier only counts, so operations are not ordered among each other but assigned to phases (MB-4): each operation
//! has the number of the phase in which it happens, and a phase is complete when the arrivals in it are as many as it
//! expects and its bytes balance. `phase` narrows the phase of each operation as far as counting does; `completion`
//! states the rest as constraints, and which arrivals each wait has seen; `moment`, what comes when within a phase.
//!
//! Where that does not say enough, an order of the object's operations does (`order`, and `exact` says where). An object
//! that is initialised again after `inval` is taken for as many objects as it has lives (`lives`).

mod bytes;
mod completion;
mod count;
mod crowd;
mod drops;
mod exact;
mod full;
mod history;
mod lives;
mod moment;
mod order;
mod past;
mod phase;
mod raised;
mod rules;
mod seen;
mod turns;

use super::Options;
use super::barrier::PassedBarrier;
use super::log::{FinalPhase, MbarrierLog, Operation, OperationKind, PHASE_WIDTH};
use crate::event::{
    AgentId, BaseRelation, CtaId, Edge, EventId, EventKind, GraphBuilder, GraphError, LocationId,
    MbarrierEvent, MbarrierId, PhaseTerms, PhasedOperation, TermPool, TermRef,
};
use completion::{Phases, TX_WIDTH, add, is_of_earlier, phase_constant, phase_term, phases, state_operation};
pub use count::Count;
use drops::Drops;
use exact::{Exactness, exactness, forget_counting};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::{Scope, Sem};
use fencepost_dsl::{Diagnostic, IndexVec};
use full::may_be_full;
use history::Meetings;
use moment::{Moments, are_plain, state_excess, state_moment};
use order::order_object;
use phase::{Expected, Interval, Object, PHASES_MAX, narrow};
use raised::Raised;
use std::sync::Arc;

/// Most pairs of operations of one object.
const MAX_PAIRS: usize = 4_000_000;
/// Most choices of which comes first, an arrival that may be one too many or another operation, in each phase that it may be of.
const MAX_CHOICES: usize = 1_000_000;

/// What is limited by [`finish`]'s caller.
pub const CHOICES: &str = "choices of phases of mbarrier operations";
const PHASES: &str = "mbarrier phases";
const PAIRS: &str = "pairs of mbarrier operations";
const FIRST: &str = "choices of which mbarrier operation comes first";
/// What there may be too much of, for the phases of operations to be stated.
pub const LIMITS: [&str; 5] = [CHOICES, PHASES, PAIRS, FIRST, order::ORDERED];

/// How the phases of mbarriers are found; both ways agree where both work.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum MbarrierEncoding {
    /// By counting where that is exact, else from an order.
    #[default]
    Auto,
    /// By counting, also where that admits executions that there are not.
    Count,
    /// From an order of each object's operations, without what counting finds out.
    Order,
    /// As they are where all threads run in turns: of one execution, for launches with too many others.
    InTurns,
}

/// States what completing means for every mbarrier, and which arrivals each wait has seen; for objects with no more than so many
/// choices of phases. Where it is not shown of objects that no arrival is one too many, as the threads were run, nothing is stated:
/// it is told where they are, and the threads have to be run again.
pub fn finish(
    graph: &mut GraphBuilder,
    log: &mut MbarrierLog,
    passed: &[PassedBarrier],
    Options { mbarrier_encoding: encoding, phase_choices_max: choices_max, never_full, .. }: Options,
) -> Result<SortedSet<(LocationId, u32)>, GraphError> {
    lives::separate_lives(graph, log, passed)?;
    let mut expected = expected_counts(graph.mbarriers.len(), &log.operations);
    note_publishing(graph, &log.operations, &mut expected);
    let drops = Drops::new(&mut graph.terms, &log.operations);
    let narrowed = narrow(&graph.terms, log, passed, &expected, &drops);
    // What counting finds out is not used where an order is asked for, to compare the two.
    let learns = never_full && encoding != MbarrierEncoding::Order;
    let may_be_full = may_be_full(graph, &log.operations, &narrowed, &drops, learns);
    if !may_be_full.is_empty() {
        return Ok(may_be_full);
    }
    rules::note_passes(graph, &log.final_phases, &narrowed.passes);
    let told = match encoding {
        MbarrierEncoding::InTurns => {
            let told = turns::in_turns(&graph.terms, &log.operations, passed);
            Some(told.ok_or_else(|| too_large(graph, log.operations.first(), CHOICES, choices_max))?)
        }
        _ => None,
    };
    let mut objects: IndexVec<MbarrierId, Object> = IndexVec::new();
    for (id, &expected) in expected.iter_enumerated() {
        objects.push(Object { id, operations: Vec::new(), seen: Vec::new(), told: Vec::new(), expected });
    }
    let found = narrowed.intervals.into_iter().zip(narrowed.seen);
    for (at, (operation, (interval, seen))) in log.operations.iter().zip(found).enumerate() {
        let object = &mut objects[operation.object];
        object.operations.push((operation.clone(), interval));
        object.seen.push(seen);
        object.told.extend(told.as_ref().map(|told| told[at]));
    }
    for id in objects.ids() {
        if drops.most(id, &|_| true) >= objects[id].expected.least {
            rules::limit_drops(graph, id, &objects[id].operations, objects[id].expected);
        }
    }
    let exactness = match told {
        Some(_) => IndexVec::repeat(Exactness::Yes, objects.len()),
        None => exactness_of(&graph.terms, &objects, passed),
    };
    for id in objects.ids() {
        finish_object(graph, &mut objects[id], &log.final_phases, (encoding, exactness[id]), choices_max)?;
    }
    Ok(SortedSet::new())
}

/// How many choices of phases of two of an object's operations there are, as far as these leave open which comes first.
fn n_choices(operations: &[(Operation, Interval)]) -> usize {
    let widths = operations.iter().map(|(_, of)| of.last.saturating_sub(of.first) as usize);
    widths.sum::<usize>().saturating_mul(operations.len())
}

/// Why an object is not stated: there is too much of something, from its first operation on.
fn too_large(
    graph: &GraphBuilder,
    first: Option<&Operation>,
    limit: &'static str,
    most: usize,
) -> GraphError {
    let span = first.map_or(graph.span(), |operation| operation.span);
    GraphError::TooLarge { limit, value: most as u64, span }
}

/// Of which objects counting decides the phases; what barriers say is looked at where nothing else does.
fn exactness_of(
    terms: &TermPool,
    objects: &IndexVec<MbarrierId, Object>,
    passed: &[PassedBarrier],
) -> IndexVec<MbarrierId, Exactness> {
    let mut meetings = None;
    let mut all = IndexVec::new();
    for Object { operations, seen, .. } in objects.iter() {
        let mut found = exactness(terms, operations, seen, &|_, _| false);
        if found != Exactness::Yes {
            let meetings = meetings.get_or_insert_with(|| Meetings::new(terms, passed));
            found = exactness(terms, operations, seen, &|earlier, later| meetings.have_met(earlier, later));
        }
        all.push(found);
    }
    all
}

fn expected_counts(n_objects: usize, operations: &[Operation]) -> IndexVec<MbarrierId, Expected> {
    let mut expected: IndexVec<MbarrierId, Expected> = IndexVec::repeat(Expected::default(), n_objects);
    for operation in operations {
        let of_object = &mut expected[operation.object];
        match operation.kind {
            OperationKind::Init { count } => {
                of_object.least = if of_object.is_initialised { of_object.least.min(count) } else { count };
                of_object.most = of_object.most.max(count);
                of_object.is_initialised = true;
            }
            OperationKind::Expect { .. } | OperationKind::Complete { .. } => of_object.has_bytes = true,
            OperationKind::Raise => of_object.has_raises = true,
            OperationKind::Arrive { expects, drops, .. } => {
                of_object.has_bytes |= expects > 0;
                of_object.has_drops |= drops;
            }
            OperationKind::Inval | OperationKind::WaitParity { .. } | OperationKind::WaitState { .. } => {}
        }
    }
    expected
}

/// Notes which objects order what comes before any of their arrivals before what comes after the waits that it lets
/// through: all arrivals release, all waits acquire, and each end of a pair is in the other's scope (MB-22, MB-23).
fn note_publishing(
    graph: &GraphBuilder,
    operations: &[Operation],
    expected: &mut IndexVec<MbarrierId, Expected>,
) {
    /// One agent for all of a CTA that name the same scope.
    type Ends = SortedMap<(CtaId, Scope), AgentId>;
    let mut ends: IndexVec<MbarrierId, (bool, Ends, Ends)> =
        IndexVec::repeat((true, Ends::new(), Ends::new()), expected.len());
    for operation in operations {
        let EventKind::Mbarrier(MbarrierEvent { sem, scope, .. }) = graph.events[operation.event].kind else {
            continue;
        };
        let (publishes, arrivals, waits) = &mut ends[operation.object];
        let (of_kind, wanted) = match operation {
            _ if operation.kind.is_wait() => (waits, Sem::Acquire),
            _ if operation.is_signal() => (arrivals, Sem::Release),
            _ => continue,
        };
        *publishes &= sem == wanted;
        let cta = graph.hierarchy.cta_of(operation.agent);
        of_kind.entry((cta, scope)).or_insert(operation.agent);
    }
    for (object, (publishes, arrivals, waits)) in ends.iter_enumerated() {
        let is_mutual = |((_, of_a), a): (&(CtaId, Scope), &AgentId)| {
            waits.iter().all(|((_, of_b), b)| {
                graph.hierarchy.in_scope(*a, *b, *of_a) && graph.hierarchy.in_scope(*b, *a, *of_b)
            })
        };
        expected[object].publishes = *publishes && arrivals.iter().all(is_mutual);
    }
}

/// What counting cannot express at all.
fn check_countable(terms: &TermPool, operations: &[(Operation, Interval)]) -> Result<(), GraphError> {
    for (operation, _) in operations {
        if let OperationKind::Arrive { no_complete: true, .. } = operation.kind {
            return Err(GraphError::unsupported(
                "unsupported::no-complete",
                "`.noComplete` arrivals cannot be checked by counting",
                operation.span,
                "arrives here",
            ));
        }
        let OperationKind::Expect { .. } = operation.kind else { continue };
        let announces_first = operations.iter().any(|(other, _)| {
            other.agent == operation.agent
                && other.position > operation.position
                && other.kind.arrivals() > 0
                && terms.implies_syntactically(other.guard, operation.guard)
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
        let help = "use `mbarrier.arrive.expect_tx`, or let the thread that announces bytes arrive after it";
        return Err(GraphError::Unsupported(diagnostic.with_help(help).with_rule("MB-4")));
    }
    Ok(())
}

fn finish_object(
    graph: &mut GraphBuilder,
    object: &mut Object,
    final_phases: &[FinalPhase],
    (encoding, exactness): (MbarrierEncoding, Exactness),
    choices_max: usize,
) -> Result<(), GraphError> {
    let (id, expected) = (object.id, object.expected);
    let Object { operations, seen, told, .. } = object;
    rules::require_init(graph, id, operations);
    rules::limit_raises(operations, expected)?;
    rules::limit_age(graph, id, operations);
    rules::limit_overtaking(graph, id, operations);
    graph.mbarriers[id].is_in_turns = !told.is_empty();
    // What breaks a rule does so in a phase that is known from here on.
    for ((operation, interval), &told) in operations.iter_mut().zip(&*told) {
        if let Some(phase) = told.only()
            && interval.only().is_none()
        {
            let phase = phase_constant(&mut graph.terms, phase);
            let same = graph.terms.equal(operation.phase, phase);
            graph.constrain(same);
        }
        *interval = told;
    }
    let first = operations.first().map(|(operation, _)| operation);
    if n_choices(operations) > choices_max {
        return Err(too_large(graph, first, CHOICES, choices_max));
    }
    let is_ordered = expected.is_initialised && needs_order(&graph.terms, (encoding, exactness), operations)?;
    if is_ordered && encoding == MbarrierEncoding::Order {
        forget_counting(operations, seen, expected);
    }
    let n_phases = operations
        .iter()
        .filter(|(operation, interval)| operation.kind.arrivals() > 0 && !interval.is_empty())
        .map(|(_, interval)| interval.last + 1)
        .max()
        .unwrap_or(1);
    if n_phases >= PHASES_MAX {
        let first = operations.first().map(|(operation, _)| operation);
        return Err(too_large(graph, first, PHASES, PHASES_MAX as usize));
    }
    limit_choices(operations)?;
    let (phases, moments) = if is_ordered {
        order_object(graph, object, n_phases)?
    } else {
        let (phases, moments) = count_object(graph, object, n_phases, exactness)?;
        if exactness == Exactness::IfNeverNegative {
            never_negative(graph, &phases);
        }
        (phases, moments)
    };
    state_final_phase(graph, final_phases, id, &phases);
    describe(graph, id, &object.operations, &phases);
    link_phases(graph, &object.operations, moments)
}

/// Where each arrival may be one too many in many phases, whether it comes before each of the others is a choice in each.
fn limit_choices(operations: &[(Operation, Interval)]) -> Result<(), GraphError> {
    if are_plain(operations) {
        return Ok(());
    }
    let is_asked = |operation: &&(Operation, Interval)| {
        matches!(operation.0.kind, OperationKind::Arrive { excess: Some(_), .. }) && !operation.1.is_empty()
    };
    let n_phases = |of: &Interval| (of.last - of.first) as usize + 1;
    let n: usize = operations.iter().filter(is_asked).map(|(_, of)| n_phases(of) * operations.len()).sum();
    match operations.first() {
        Some((first, _)) if n > MAX_CHOICES => {
            Err(GraphError::TooLarge { limit: FIRST, value: MAX_CHOICES as u64, span: first.span })
        }
        _ => Ok(()),
    }
}

/// States what counting says of the object's phases.
fn count_object(
    graph: &mut GraphBuilder,
    object: &Object,
    n_phases: u32,
    exactness: Exactness,
) -> Result<(Phases, Moments), GraphError> {
    let Object { operations, seen, expected, .. } = object;
    let raised = Raised::new(&graph.terms, operations.iter().map(|(operation, _)| operation));
    let cancelled = raised.cancelled(operations);
    let counted: Vec<(Operation, Interval)> = operations
        .iter()
        .zip(cancelled)
        .filter(|(_, cancelled)| !cancelled)
        .map(|(of, _)| of.clone())
        .collect();
    let phases = phases(&mut graph.terms, &counted, n_phases, *expected);
    let mut moments = Moments::new();
    let are_plain = are_plain(operations);
    for (operation, interval) in operations {
        graph.goes_on()?;
        state_operation(graph, operation, *interval, &phases);
        state_excess(graph, operation, *interval, &phases, (operations, are_plain), &mut moments);
        // Of a phase that is never over, nothing comes before its end.
        let is_delivery = matches!(operation.kind, OperationKind::Complete { .. });
        if !is_delivery || exactness != Exactness::NeverBalanced {
            state_moment(graph, (operation, *interval), &phases, operations, seen, &mut moments);
        }
    }
    Ok((phases, moments))
}

/// States that no phase has all its arrivals and more bytes delivered than announced ([`Exactness::IfNeverNegative`]).
fn never_negative(graph: &mut GraphBuilder, phases: &Phases) {
    for counts in &phases.counts {
        let all_there = graph.terms.equal(counts.arrived, counts.needs);
        let sign = graph.terms.extract(counts.bytes, TX_WIDTH - 1, 1);
        let is_fine = graph.terms.not(sign);
        graph.imply(all_there, is_fine);
    }
}

/// Whether the operations of an object have to be ordered.
fn needs_order(
    terms: &TermPool,
    (encoding, exactness): (MbarrierEncoding, Exactness),
    operations: &[(Operation, Interval)],
) -> Result<bool, GraphError> {
    match encoding {
        MbarrierEncoding::Order => Ok(true),
        MbarrierEncoding::Count | MbarrierEncoding::InTurns => {
            check_countable(terms, operations).map(|()| false)
        }
        MbarrierEncoding::Auto => Ok(exactness == Exactness::No),
    }
}

/// What reports show of the object.
fn describe(
    graph: &mut GraphBuilder,
    object: MbarrierId,
    operations: &[(Operation, Interval)],
    phases: &Phases,
) {
    let (mut described, mut invalidations) = (Vec::new(), Vec::new());
    for (operation, interval) in operations.iter().filter(|(_, interval)| !interval.is_empty()) {
        let (arrivals, bytes) = match operation.kind {
            OperationKind::Arrive { count, expects, .. } => (count, i64::from(expects)),
            OperationKind::Expect { bytes } => (0, i64::from(bytes)),
            OperationKind::Complete { bytes } => (0, -i64::from(bytes)),
            OperationKind::Raise | OperationKind::WaitParity { .. } | OperationKind::WaitState { .. } => {
                (0, 0)
            }
            OperationKind::Inval => {
                invalidations.push((phase_term(&mut graph.terms, operation, *interval), interval.first));
                continue;
            }
            OperationKind::Init { .. } => continue,
        };
        let phase = phase_term(&mut graph.terms, operation, *interval);
        described.push(PhasedOperation {
            event: operation.event,
            phase,
            arrivals,
            bytes,
            first: interval.first,
            passes: operation.kind.passes_in(&mut graph.terms, phase),
            drops: matches!(operation.kind, OperationKind::Arrive { drops: true, .. }),
            excess: match operation.kind {
                OperationKind::Arrive { excess, .. } => excess,
                _ => None,
            },
        });
    }
    let of_phases = phases.counts.iter().zip(&phases.complete);
    let terms =
        of_phases.map(|(counts, &complete)| PhaseTerms { expected: counts.needs, complete }).collect();
    let mbarrier = &mut graph.mbarriers[object];
    (mbarrier.operations, mbarrier.invalidations) = (described, invalidations);
    mbarrier.phases = terms;
}

fn state_final_phase(
    graph: &mut GraphBuilder,
    final_phases: &[FinalPhase],
    object: MbarrierId,
    phases: &Phases,
) {
    let of_object = final_phases.iter().filter(|last| last.object == object);
    let asked: Vec<TermRef> = of_object.map(|last| last.completed).collect();
    if asked.is_empty() {
        return;
    }
    let mut sum = phase_constant(&mut graph.terms, 0);
    for &complete in &phases.complete {
        let one = graph.terms.resize(complete, PHASE_WIDTH);
        sum = add(&mut graph.terms, sum, one);
    }
    for completed in asked {
        let term = graph.terms.equal(completed, sum);
        graph.constrain(term);
    }
}

/// Relates the operations of one object by their phases.
fn link_phases(
    graph: &mut GraphBuilder,
    operations: &[(Operation, Interval)],
    moments: Moments,
) -> Result<(), GraphError> {
    let mut order: SortedMap<(EventId, EventId), TermRef> = SortedMap::new();
    for (from, to, condition) in moments {
        let known = order.get(&(from, to)).copied().unwrap_or(TermPool::FALSE);
        let either = graph.terms.or(known, condition);
        order.insert((from, to), either);
    }
    for ((from, wait), condition) in order {
        if condition != TermPool::FALSE {
            graph.edges.add(BaseRelation::InPhaseOrder, Edge { from, to: wait, condition });
        }
    }
    let mut classes: SortedMap<(u32, u32), Vec<&(Operation, Interval)>> = SortedMap::new();
    for of_class in operations.iter().filter(|(operation, of)| !operation.kind.is_life() && !of.is_empty()) {
        classes.entry((of_class.1.first, of_class.1.last)).or_default().push(of_class);
    }
    let mut n_pairs = 0;
    for (&(first, last), before) in &classes {
        for (_, after) in classes.iter().filter(|((_, last_after), _)| first < *last_after) {
            if last < after[0].1.first {
                link_all(graph, before, after);
                continue;
            }
            n_pairs += before.len() * after.len();
            if n_pairs > MAX_PAIRS {
                let value = MAX_PAIRS as u64;
                let span = before[0].0.span;
                return Err(GraphError::TooLarge { limit: PAIRS, value, span });
            }
            for &a in before {
                graph.goes_on()?;
                for &b in after.iter().filter(|b| b.0.event != a.0.event) {
                    link_pair(graph, a, b);
                }
            }
        }
    }
    Ok(())
}

/// Relates operations that surely are of earlier phases to others.
fn link_all<'a>(
    graph: &mut GraphBuilder,
    before: &[&'a (Operation, Interval)],
    after: &[&'a (Operation, Interval)],
) {
    let events = |operations: &mut dyn Iterator<Item = &&Operation>| -> Arc<[EventId]> {
        operations.map(|operation| operation.event).collect()
    };
    let operations = |of: &[&'a (Operation, Interval)]| -> Vec<&'a Operation> {
        of.iter().map(|(operation, _)| operation).collect()
    };
    let (before, after) = (operations(before), operations(after));
    graph.edges.add_bundle(BaseRelation::PhaseOrder, events(&mut before.iter()), events(&mut after.iter()));
    let waits = || after.iter().filter(|operation| operation.kind.is_wait());
    let excess = |operation: &Operation| match operation.kind {
        OperationKind::Arrive { excess, .. } => excess,
        _ => None,
    };
    let plain = || before.iter().filter(|operation| operation.is_signal() && excess(operation).is_none());
    graph.edges.add_bundle(BaseRelation::Signals, events(&mut plain()), events(&mut waits()));
    for signal in before.iter().filter(|operation| operation.is_signal()) {
        let Some(excess) = excess(signal) else { continue };
        let condition = graph.terms.not(excess);
        let edges = waits().map(|wait| Edge { from: signal.event, to: wait.event, condition });
        graph.edges.add_all(BaseRelation::Signals, edges);
    }
}

/// Relates two operations if the first one is of an earlier phase, which an execution decides.
fn link_pair(graph: &mut GraphBuilder, (a, of_a): &(Operation, Interval), (b, of_b): &(Operation, Interval)) {
    let condition = is_of_earlier(&mut graph.terms, (a, *of_a), (b, *of_b));
    graph.edges.add(BaseRelation::PhaseOrder, Edge { from: a.event, to: b.event, condition });
    if a.is_signal() && b.kind.is_wait() {
        let condition = match a.kind {
            OperationKind::Arrive { excess: Some(excess), .. } => {
                let fine = graph.terms.not(excess);
                graph.terms.and(condition, fine)
            }
            _ => condition,
        };
        graph.edges.add(BaseRelation::Signals, Edge { from: a.event, to: b.event, condition });
    }
}
