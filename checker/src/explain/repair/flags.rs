//! Proposals for a flag that a thread sets behind what it writes, and that nobody waits for: a wait for it, before the access
//! that comes too early.

use super::ground::{Ground, Proposal};
use super::places::insert;
use super::signal::is_waited_for;
use super::syntax::{Instruction, Memory};
use crate::event::{EventGraph, EventId, EventKind};
use fencepost_dsl::sorted::SortedSet;

/// Statements around an access before which the wait is tried.
const LEVELS_MAX: usize = 3;
/// Flags that are tried for a pair of accesses.
const FLAGS_MAX: usize = 4;

/// A wait for each flag that is set behind one of two accesses, before the other one.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    for (a, b) in ground.pairs() {
        for (first, second) in [(a, b), (b, a)] {
            let Some(node) = ground.place(second) else { continue };
            for text in waits(ground, first).into_iter().take(FLAGS_MAX) {
                for (level, around) in (0..).zip(ground.syntax.ancestors(node)).take(LEVELS_MAX) {
                    found.push(Proposal {
                        rank: 7 + level,
                        edits: vec![insert(ground, (around, false), &text)],
                    });
                }
            }
        }
    }
}

/// Waits for what the thread of an access sets behind it, and nothing waits for.
fn waits(ground: &Ground<'_>, access: EventId) -> SortedSet<String> {
    let graph = ground.graph();
    let own = &graph.events[access];
    let behind = graph.events.iter_enumerated().filter(|(_, event)| {
        event.agent == own.agent && event.position > own.position && matches!(event.kind, EventKind::Write(_))
    });
    let mut found = SortedSet::new();
    for (id, event) in behind {
        let (Some(of), Some(instruction)) = (event.kind.access(), ground.instruction(id)) else { continue };
        if !instruction.is("st")
            || !instruction.signals()
            || is_waited_for(graph, of.location)
            || is_read(graph, id)
        {
            continue;
        }
        let ([memory], Some(&value)) = (instruction.memory.as_slice(), instruction.operands.last()) else {
            continue;
        };
        let value = graph
            .terms
            .constant_value(of.value)
            .map_or_else(|| ground.texts.sources().text(value).to_owned(), |number| number.to_string());
        let opcode = look(instruction);
        for element in elements(ground, memory, id) {
            found.insert(format!("await {opcode} [{element}] == {value};"));
        }
    }
    found
}

/// Whether another thread looks at what a write may give it.
fn is_read(graph: &EventGraph, write: EventId) -> bool {
    let place = |event: EventId| {
        let access = graph.events[event].kind.access()?;
        Some((access.location, graph.terms.constant_value(access.offset)))
    };
    let Some((location, own)) = place(write) else { return false };
    let may_be_same = |event: EventId| {
        place(event)
            .is_some_and(|(other, at)| other == location && (own == at || own.is_none() || at.is_none()))
    };
    graph.events.iter_enumerated().any(|(id, event)| {
        let is_other = event.agent != graph.events[write].agent;
        is_other && matches!(event.kind, EventKind::Read(_)) && may_be_same(id)
    })
}

/// The load that sees what a store signals.
fn look(store: &Instruction) -> String {
    let opcode = store.opcode.replacen("st", "ld", 1);
    opcode.replace(".release", ".acquire")
}

/// The element as the store names it, and by its number.
fn elements(ground: &Ground<'_>, memory: &Memory, write: EventId) -> Vec<String> {
    let graph = ground.graph();
    let as_written = memory.element_of(&memory.name, ground.texts.sources());
    let access = graph.events[write].kind.access();
    let number = access.and_then(|access| {
        let offset = graph.terms.constant_value(access.offset)?;
        Some(offset / u128::from(access.width_bytes.max(1)))
    });
    match (number, memory.indices.as_slice()) {
        (Some(number), [_]) => vec![format!("{}[{number}]", memory.name), as_written],
        _ => vec![as_written],
    }
}
