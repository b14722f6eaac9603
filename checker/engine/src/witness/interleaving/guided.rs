//! An execution like one that is known of another graph: threads take turns as its events happened, and a read returns what it
//! returned there.
//!
//! That is a wish. Whoever cannot go on lets the others go first, and a read whose bytes nobody has written there returns what
//! memory holds.

use super::{Cell, Held, Machine, Step, piece_of};
use crate::bits::EventSet;
use crate::event::cell::Cells;
use crate::event::{Access, AgentId, EventGraph, EventId, UnknownId, UnknownKind};
use crate::witness::Execution;
use fencepost_dsl::IndexVec;
use fencepost_dsl::sorted::SortedMap;
use std::collections::VecDeque;

/// What is wished for.
pub struct Guide {
    /// When each event should happen.
    pub turns: IndexVec<EventId, (u32, u32)>,
    /// What is chosen, as far as no order decides it.
    pub unknowns: Vec<(UnknownId, u128)>,
    /// Per read and piece: the write.
    pub sources: SortedMap<EventId, Vec<EventId>>,
}

/// What guides a machine.
pub(super) struct Guided<'a> {
    guide: &'a Guide,
    /// The reads of atomics, which return what was written last.
    updates: EventSet,
}

/// Runs the threads so; `None` if they get stuck in a way that no execution has.
pub fn guided(graph: &EventGraph, cells: &Cells, guide: &Guide) -> Option<Execution> {
    let mut machine = Machine::new(graph, cells);
    machine.may_stand = true;
    for &(unknown, value) in &guide.unknowns {
        if is_chosen(&graph.terms.unknown(unknown).kind) {
            machine.unknowns[unknown] = Some(value);
        }
    }
    let updates = EventSet::from_iter(graph.events.len(), graph.rmw.iter().map(|&(read, _)| read));
    machine.guided = Some(Guided { guide, updates });
    machine.initialise()?;
    machine.run()?;
    Some(machine.finish()?.without_what_is_cut(graph))
}

/// Whether an unknown is a choice that running decides nothing about.
fn is_chosen(kind: &UnknownKind) -> bool {
    matches!(
        kind,
        UnknownKind::Parameter
            | UnknownKind::Initial { .. }
            | UnknownKind::Elected
            | UnknownKind::TakesPart
            | UnknownKind::Excess
            | UnknownKind::Response
            | UnknownKind::Uncomputed(_)
            | UnknownKind::Elsewhere
    )
}

impl Machine<'_> {
    /// Lets whose turn is next do a step, where turns are wished for; whether anybody can.
    pub(super) fn next_step(&mut self, threads: &mut SortedMap<AgentId, VecDeque<EventId>>) -> Option<bool> {
        let Some(guided) = &self.guided else { return Some(false) };
        let fronts = threads.iter().filter_map(|(&agent, events)| Some((*events.front()?, agent)));
        let mut fronts: Vec<((u32, u32), AgentId)> =
            fronts.map(|(event, agent)| (guided.guide.turns[event], agent)).collect();
        fronts.sort_unstable();
        for (number, &(_, agent)) in fronts.iter().enumerate() {
            // Nobody else has a turn until then.
            let until = if number == 0 { fronts.get(1).map(|&(turn, _)| turn) } else { None };
            let Some(events) = threads.get_mut(&agent) else { continue };
            let mut progress = false;
            while let Some(&event) = events.front() {
                let is_next = |turn| until.is_some_and(|until| turn < until);
                let turn = self.guided.as_ref().map(|guided| guided.guide.turns[event]);
                if progress && !turn.is_some_and(is_next) || !matches!(self.advance(event)?, Step::Done) {
                    break;
                }
                events.pop_front();
                progress = true;
            }
            if progress {
                return Some(true);
            }
        }
        Some(false)
    }

    /// … or does, where nobody has written that.
    pub(super) fn wished_or_held(&mut self, read: EventId, piece: usize, cell: Cell) -> Option<Held> {
        self.wished(read, piece, cell).or_else(|| self.memory.get(&cell).copied())
    }

    /// What a piece of a read should return.
    fn wished(&mut self, read: EventId, piece: usize, cell: Cell) -> Option<Held> {
        let guided = self.guided.as_ref().filter(|guided| !guided.updates.contains(read))?;
        let write = *guided.guide.sources.get(&read)?.get(piece)?;
        if !self.executed.contains(write) {
            return None;
        }
        let access: &Access = self.graph.events[write].kind.access()?;
        let at = self.cells(access)?.iter().position(|&own| own == cell)?;
        let bits = self.grain_bits(access);
        let value = self.value(access.value)?;
        let at = u32::try_from(at).ok()?;
        Some(Held { write, piece: at, value: piece_of(value, at, bits)? })
    }
}
