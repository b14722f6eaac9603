//! Proposals where no pair of accesses is to blame, as of conditions on final memory: each operation that could order more
//! than it does, then several of them. The likeliest have a partner: a relaxed read of what somebody releases, say.

use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::opcode::{Goal, SemEdit, sem_edits, usual};
use crate::event::{EventGraph, EventId, EventKind, LocationId};
use fencepost_dsl::vocabulary::{Scope, Sem};

/// Changes of one kind that are tried one by one.
const EACH_MAX: usize = 12;

/// Stronger sems and fences, and wider scopes, one by one and together.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if !matches!(ground.explanation.subject, Subject::Final { .. }) {
        return;
    }
    let scope = widest(ground);
    let fences = fences(ground, scope);
    let edits = |sems: &[SemEdit]| sem_edits(ground, sems);
    let (partnered, others): (Vec<SemEdit>, Vec<SemEdit>) =
        orders(ground, scope).into_iter().partition(|edit| has_partner(ground.graph(), edit));
    let mut push = |rank: u32, edits: Vec<Edit>| found.push(Proposal { rank, edits });
    for each in &fences {
        push(40, each.clone());
    }
    for each in partnered.iter().take(EACH_MAX) {
        push(40, edits(&[*each]));
    }
    push(41, fences.concat());
    push(41, edits(&partnered));
    for each in others.iter().take(EACH_MAX) {
        push(42, edits(&[*each]));
    }
    push(43, edits(&[partnered, others].concat()));
}

/// Each fence, as one of a wider scope or as `fence.sc`.
fn fences(ground: &Ground<'_>, scope: Scope) -> Vec<Vec<Edit>> {
    let mut found: Vec<Vec<Edit>> = Vec::new();
    for (event, of) in ground.graph().events.iter_enumerated() {
        if !ground.instruction(event).is_some_and(|own| ground.can_change(own.node)) {
            continue;
        }
        if !matches!(of.kind, EventKind::Fence { .. }) {
            continue;
        }
        let wider = sem_edits(ground, &[SemEdit { event, goal: Goal::Widen, scope }]);
        let total = sem_edits(ground, &[SemEdit { event, goal: Goal::Total, scope: Scope::Cta }]);
        for edits in [wider, total] {
            if !edits.is_empty() && !found.contains(&edits) && found.len() < EACH_MAX {
                found.push(edits);
            }
        }
    }
    found
}

/// Strong reads that could acquire and strong writes that could release, one event of each instruction.
fn orders(ground: &Ground<'_>, scope: Scope) -> Vec<SemEdit> {
    let mut found: Vec<SemEdit> = Vec::new();
    let mut known = Vec::new();
    for (event, of) in ground.graph().events.iter_enumerated() {
        let (goal, sem) = match &of.kind {
            EventKind::Read(access) => (Goal::Acquire, access.sem),
            EventKind::Write(access) => (Goal::Release, access.sem),
            _ => continue,
        };
        let Some(instruction) = ground.instruction(event).filter(|own| ground.can_change(own.node)) else {
            continue;
        };
        let key = (instruction.opcode_span, goal);
        let edit = SemEdit { event, goal, scope };
        if sem != Sem::Weak && !known.contains(&key) && !sem_edits(ground, &[edit]).is_empty() {
            known.push(key);
            found.push(edit);
        }
    }
    found
}

/// Whether somebody else does the other half at the same object: releases what is read, or acquires what is written.
fn has_partner(graph: &EventGraph, edit: &SemEdit) -> bool {
    let own = &graph.events[edit.event];
    let object = |kind: &EventKind| -> Option<LocationId> { kind.access().map(|access| access.location) };
    graph.events.iter().any(|other| {
        let is_half = match &other.kind {
            EventKind::Read(access) => edit.goal == Goal::Release && access.sem == Sem::Acquire,
            EventKind::Write(access) => edit.goal == Goal::Acquire && access.sem == Sem::Release,
            _ => false,
        };
        is_half && other.agent != own.agent && object(&other.kind) == object(&own.kind)
    })
}

/// The scope that holds all threads with an event.
fn widest(ground: &Ground<'_>) -> Scope {
    let graph = ground.graph();
    let agent = |event: EventId| graph.events[event].agent;
    let mut agents = graph.events.ids().filter_map(agent);
    let Some(first) = agents.next() else { return Scope::Cta };
    let common = agents.map(|other| graph.hierarchy.common_scope(first, other)).max();
    usual(graph, common.unwrap_or(Scope::Cta))
}
