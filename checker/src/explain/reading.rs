//! Which other reading of PTX would order a racing pair, and which reading a proof rests on: variants of the model.
//!
//! Asked of the execution that was found only: that a variant orders the pair there says that its question matters, not that
//! the kernel is without races under it.

use super::reason::Reason;
use super::subject::Subject;
use crate::bits::BitMatrix;
use crate::encode::goal::GoalKind;
use crate::event::{Access, AtomicClass, EventGraph, EventId, EventKind, LocationId};
use crate::findings::Story;
use crate::findings::race::RACE;
use crate::relation::algebra::{Value, evaluate};
use crate::relation::dependency::dependencies;
use crate::witness::Witness;
use crate::witness::recheck::is_execution;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel, Variant};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::Sem;

/// Whether a launch may have what a variant is about that orders less. Of one that is not known here nothing is known.
///
/// Sound: where there is nothing that a variant is about, its executions are those of the model without it.
///
/// Needs: [`Need::ShippedModel`](crate::facts::needs::Need::ShippedModel). Which names are about what is known of the models
/// that come along only; [`crate::examine`] asks of no other.
pub fn may_rest_on(graph: &EventGraph, variant: &str) -> bool {
    let mut events = graph.events.iter();
    match variant {
        "no-ctrl-dependencies" => may_close_circle(graph),
        "atomics-leave-l1" => {
            events.any(|event| event.kind.access().is_some_and(|access| access.atomic != AtomicClass::None))
        }
        "sm-shares-nothing" => {
            let launch = graph.hierarchy.launch();
            launch.spa.is_some_and(|spa| spa.sms < launch.ctas)
        }
        "bar-orders-nothing" => events.any(|event| matches!(event.kind, EventKind::BarrierWait)),
        // What drops its result and acquires by a sem of its own.
        "sink-never-acquires" => events.any(|event| {
            let is_acquire =
                |access: &Access| access.atomic == AtomicClass::Sink && access.sem == Sem::Acquire;
            matches!(&event.kind, EventKind::Read(access) if is_acquire(access))
        }),
        "lanes-race" => graph.edges.of(BaseRelation::SameStore).next().is_some(),
        "unread-loads-race" => events.any(|event| event.site.is_some_and(|site| graph.sites[site].is_unread)),
        _ => true,
    }
}

/// Whether some store that a branch decides may be on a circle of dependencies and values read: only then can it matter
/// that control is a dependency.
fn may_close_circle(graph: &EventGraph) -> bool {
    let mut flow = BitMatrix::empty(graph.events.len());
    let mut decided = flow.clone();
    for (base, pairs) in dependencies(graph) {
        match base {
            BaseRelation::StoreControlDependency => decided = pairs,
            BaseRelation::AddressDependency | BaseRelation::DataDependency => flow = flow.union(&pairs),
            _ => {}
        }
    }
    if decided.is_empty() {
        return false;
    }
    let location = |event: EventId| graph.events[event].kind.access().map(|access| access.location);
    let mut by_location: SortedMap<LocationId, (Vec<EventId>, Vec<EventId>)> = SortedMap::new();
    for (id, event) in graph.events.iter_enumerated() {
        let Some(location) = location(id) else { continue };
        let (writes, reads) = by_location.entry(location).or_default();
        match event.kind {
            EventKind::Write(_) => writes.push(id),
            EventKind::Read(_) => reads.push(id),
            _ => {}
        }
    }
    let mut reads_from = Vec::new();
    for (writes, reads) in by_location.values() {
        for &write in writes {
            // What comes later in the own thread is not read.
            let is_own_past = |read: EventId| {
                let (a, b) = (&graph.events[read], &graph.events[write]);
                a.agent == b.agent && a.position <= b.position
            };
            reads_from.extend(reads.iter().filter(|&&read| !is_own_past(read)).map(|&read| (write, read)));
        }
    }
    let all = flow.union(&decided).union(&BitMatrix::from_pairs(graph.events.len(), reads_from));
    decided.pairs().any(|(read, write)| reaches(&all, write, read))
}

/// Whether a path leads from one event to another.
fn reaches(relation: &BitMatrix, from: EventId, to: EventId) -> bool {
    let (mut pending, mut seen) = (vec![from], SortedSet::new());
    while let Some(event) = pending.pop() {
        for next in relation.successors(event) {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                pending.push(next);
            }
        }
    }
    false
}

/// The variant under which a location has the same address for `multimem` and for all other instructions.
pub const MULTIMEM_IS_NO_ALIAS: &str = "multimem-is-no-alias";

/// The variant under which a barrier that is passed because of an exit orders what came before that.
const EXITS_ORDER: &str = "exits-order";

/// Another answer to a question that PTX leaves open, under which what was found is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The variant of the model with that answer.
    pub variant: Variant,
    /// What it says of the execution.
    pub says: Says,
}

/// What another answer says of an execution in which something was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    /// What was in no order is in order.
    Ordered,
    /// It is no execution.
    Excluded,
}

/// What another model says of what was found in this execution, if it is not there under it.
pub fn judge(model: &MemoryModel, witness: &Witness, subject: &Subject) -> Option<Says> {
    let (flag, (a, b)) = match (subject, &witness.claim) {
        (Subject::Race { earlier, later }, _) => {
            (model.flags.iter().find(|flag| flag.name == RACE.name)?, (*earlier, *later))
        }
        (Subject::Flag { kind, .. }, _) if kind.story == Story::OutOfOrder => {
            return (!is_execution(model, &witness.basis)).then_some(Says::Ordered);
        }
        (_, GoalKind::Flag { flag, pair }) => (model.flags.get(*flag)?, *pair),
        _ => return (!is_execution(model, &witness.basis)).then_some(Says::Excluded),
    };
    let is_flagged = match evaluate(model, &witness.basis, &[flag.term]).get(flag.term) {
        Some(Value::Relation(pairs)) => pairs.contains(a, b) || pairs.contains(b, a),
        Some(Value::Set(set)) => set.contains(a),
        None => true,
    };
    if is_flagged {
        (!is_execution(model, &witness.basis)).then_some(Says::Excluded)
    } else {
        Some(Says::Ordered)
    }
}

/// Whether a variant that orders more can matter to a finding.
///
/// That exits order does where some barrier may be passed because of one; the others only for what asynchronous operations
/// do, where there are multimem addresses, and on SPA machines.
pub fn may_matter(graph: &EventGraph, subject: &Subject, reasons: &[Reason], variant: &str) -> bool {
    if variant == EXITS_ORDER {
        return graph.edges.of(BaseRelation::ExitOrder).next().is_some();
    }
    if graph.hierarchy.launch().spa.is_some() {
        return matches!(subject, Subject::Flag { kind, .. } if kind.story == Story::OutOfOrder);
    }
    let Subject::Race { earlier, later } = *subject else { return false };
    if graph.locations.iter().any(|location| !location.multimem.is_empty()) {
        return true;
    }
    // Where a fence of the right proxy is in another CTA, it may count all the same.
    let is_elsewhere =
        |reason: &Reason| matches!(reason, Reason::MissingProxyFence { elsewhere: Some(_), .. });
    graph.is_of_operation(earlier) || graph.is_of_operation(later) || reasons.iter().any(is_elsewhere)
}
