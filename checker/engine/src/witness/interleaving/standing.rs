//! Threads that wait for ever while others run in turns, and what came first of what an execution puts in order.

use super::Machine;
use crate::event::{EventGraph, EventId, TermKind, TermRef, UnknownId, UnknownKind};
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::FxHashSet;

impl Machine<'_> {
    /// The waits that a thread has got past if an event happens.
    fn passed_before(&self, event: EventId) -> impl Iterator<Item = UnknownId> + '_ {
        let terms = &self.graph.terms;
        let conjuncts = terms.conjuncts(self.graph.events[event].guard).iter();
        let is_wait = |unknown: &UnknownId| matches!(terms.unknown(*unknown).kind, UnknownKind::Passes);
        conjuncts.filter_map(|&term| self.unknown_of(term)).filter(is_wait)
    }

    /// Whether an event does not happen since its thread stands before it.
    pub(super) fn stands_before(&self, event: EventId) -> bool {
        self.any_stands && self.passed_before(event).any(|unknown| self.unknowns[unknown] == Some(0))
    }

    /// Where nobody gets any further: lets those stand for good that wait, as a thread may. Whether there are any.
    pub(super) fn stand(&mut self, next: &[EventId]) -> bool {
        // What its thread has got past it has before what it did last.
        let waits = |&event: &EventId| {
            let last = self.graph.events[event].agent.and_then(|agent| self.last.get(&agent));
            let passed: Vec<UnknownId> =
                last.into_iter().flat_map(|&last| self.passed_before(last)).collect();
            let own = self.passed_before(event).filter(move |unknown| !passed.contains(unknown));
            own.filter(|&unknown| self.unknowns[unknown] == Some(1)).max()
        };
        let waits: SortedSet<UnknownId> = next.iter().filter_map(waits).collect();
        if waits.is_empty() {
            return false;
        }
        for wait in waits {
            self.unknowns[wait] = Some(0);
        }
        self.any_stands = true;
        // That they were passed was taken for granted.
        self.forget_since(0);
        true
    }

    /// What nobody has got past since somebody stands before it.
    pub(super) fn settle_waits(&mut self) {
        if !self.any_stands {
            return;
        }
        let passed: FxHashSet<UnknownId> =
            self.happened.iter().flat_map(|&event| self.passed_before(event)).collect();
        for (id, unknown) in self.graph.terms.unknowns().iter_enumerated() {
            if unknown.kind == UnknownKind::Passes && !passed.contains(&id) {
                self.unknowns[id] = Some(0);
            }
            // Said of an object all of whose arrivals happen.
            if unknown.kind == UnknownKind::FinalPhase {
                self.unknowns[id] = None;
            }
        }
        self.forget_since(0);
    }

    /// What comes first of two things, where an execution decides that: as they happened.
    pub(super) fn settle_order(&mut self) {
        let graph = self.graph;
        let bases = [BaseRelation::InPhaseOrder, BaseRelation::BarrierOrder];
        let edges = bases.iter().flat_map(|&base| graph.edges.single(base));
        let chosen: Vec<_> = edges.map(|edge| (edge, first_of(graph, edge.condition))).collect();
        let mut first: SortedMap<UnknownId, Option<bool>> = SortedMap::new();
        for &unknown in chosen.iter().flat_map(|(_, unknowns)| unknowns) {
            first.insert(unknown, None);
        }
        if first.is_empty() {
            return;
        }
        // Which of them matter is seen where all are chosen.
        for &unknown in first.keys() {
            self.unknowns[unknown] = Some(1);
        }
        let turns = self.turns();
        for (edge, unknowns) in chosen {
            if unknowns.is_empty() || self.value(edge.condition) != Some(1) {
                continue;
            }
            let (from, to) = (turns[edge.from], turns[edge.to]);
            let comes_first = from > 0 && (to == 0 || from < to);
            for unknown in unknowns {
                let all = first.entry(unknown).or_insert(None);
                *all = Some(all.unwrap_or(true) && comes_first);
            }
        }
        for (unknown, comes_first) in first {
            self.unknowns[unknown] = Some(comes_first.unwrap_or(false).into());
        }
        self.forget_since(0);
    }
}

/// The unknowns for being first on which a condition rests.
fn first_of(graph: &EventGraph, condition: TermRef) -> Vec<UnknownId> {
    let terms = &graph.terms;
    let (mut stack, mut found) = (vec![condition], Vec::new());
    while let Some(term) = stack.pop() {
        match terms.kind(term) {
            TermKind::And(_) | TermKind::Or(_) => stack.extend(terms.operands(term)),
            TermKind::Unknown(unknown) if matches!(terms.unknown(*unknown).kind, UnknownKind::ComesFirst) => {
                found.push(*unknown);
            }
            _ => {}
        }
    }
    found
}
