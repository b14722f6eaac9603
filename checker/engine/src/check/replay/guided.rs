//! A changed program run as one was found to run: its threads take turns in the order of that execution, and what has changed
//! has what comes of it.
//!
//! Of a change that lets something else be read or written, most executions of the program as it was are none any more, and yet
//! most of these changes mend nothing. So it is asked what happens instead.

use super::{Changed, Side};
use crate::bits::BitMatrix;
use crate::check::property_in;
use crate::encode::goal::GoalKind;
use crate::event::{AgentId, EventGraph, EventId};
use crate::witness::Witness;
use crate::witness::interleaving::{Guide, guided};
use crate::witness::recheck::{Allowed, Asked};
use crate::work::{self, Work};
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Events of a graph whose threads are run so.
const EVENTS_MAX: usize = 4_000;

impl Changed<'_> {
    /// What goes wrong then: what did before, or else anything. With whether it is the former.
    pub(super) fn guided(
        &self,
        side: &Side,
        before: &EventGraph,
        witness: &Witness,
        claim: Option<&GoalKind>,
    ) -> Option<(Witness, bool)> {
        if before.events.len().max(self.graph.events.len()) > EVENTS_MAX {
            return None;
        }
        let guide = side.guide(before, &self.graph, witness);
        work::count(Work::Pair, self.graph.events.len());
        let execution = guided(&self.graph, &self.cells, &guide)?;
        let asked = Asked::of(self.model, &self.graph);
        let run = Allowed::new(&self.graph, &self.cells, self.model, execution, asked).ok()?;
        let shown = |claim: &GoalKind| run.shows(&self.graph, self.model, claim).ok();
        if let Some(same) = claim.and_then(shown) {
            return Some((same, true));
        }
        let is_asked =
            |claim: &GoalKind| self.properties.contains(&property_in(&self.graph, self.model, claim));
        let mut others = run.may_do(&self.graph, self.model).into_iter().filter(is_asked);
        Some((others.find_map(|claim| shown(&claim))?, false))
    }
}

impl Side {
    /// What a run of the changed program should be like.
    fn guide(&self, before: &EventGraph, after: &EventGraph, witness: &Witness) -> Guide {
        let of = &witness.execution;
        let old_turns = turns(before, witness);
        let mut old_turn: IndexVec<EventId, Option<u32>> = IndexVec::repeat(None, after.events.len());
        for (old, new) in self.events.iter_enumerated() {
            if let Some(new) = *new
                && of.executed.contains(old)
                && !self.moved.contains(new)
            {
                old_turn[new] = Some(old_turns[old]);
            }
        }
        // What is new comes right behind what is before it.
        let mut last: SortedMap<AgentId, (u32, u32)> = SortedMap::new();
        let turns = after.events.iter_enumerated().map(|(id, event)| {
            let Some(agent) = event.agent else { return (0, 0) };
            let last = last.entry(agent).or_default();
            *last = match old_turn[id] {
                Some(turn) if turn > last.0 => (turn, 0),
                _ => (last.0, last.1 + 1),
            };
            *last
        });
        let turns = turns.collect();
        let unknowns = self.unknowns.iter_enumerated();
        let unknowns = unknowns.filter_map(|(new, old)| Some((new, of.unknowns[(*old)?]))).collect();
        let carried = |(read, pieces): (&EventId, &Vec<(EventId, u32)>)| {
            let writes: Option<Vec<EventId>> = pieces.iter().map(|&(write, _)| self.events[write]).collect();
            Some((self.events[*read]?, writes?))
        };
        Guide { turns, unknowns, sources: of.sources.iter().filter_map(carried).collect() }
    }
}

/// When each event of an execution happened; where it is none of threads in turns, an order against which as little of it goes as
/// may be.
fn turns(graph: &EventGraph, witness: &Witness) -> IndexVec<EventId, u32> {
    if let Some(turns) = &witness.execution.turns {
        return turns.clone();
    }
    let relations = &witness.basis.relations;
    let of = |bases: &[BaseRelation]| {
        let none = BitMatrix::empty(graph.events.len());
        bases.iter().fold(none, |all, base| all.union(&relations[base]))
    };
    let hard = of(&[
        BaseRelation::ProgramOrder,
        BaseRelation::BarrierSynchronization,
        BaseRelation::Signals,
        BaseRelation::Issue,
        BaseRelation::Completion,
        BaseRelation::BarrierOrder,
        BaseRelation::ApiSynchronization,
        BaseRelation::Triggers,
    ]);
    let soft = of(&[BaseRelation::ReadsFrom, BaseRelation::Coherence, BaseRelation::FromReads]);
    let orders = [hard, soft];
    let executed = &witness.execution.executed;
    let mut n_before = orders.clone().map(|_| IndexVec::<EventId, u32>::repeat(0, graph.events.len()));
    for (order, n_before) in orders.iter().zip(&mut n_before) {
        for (a, b) in order.pairs() {
            n_before[b] += u32::from(a != b);
        }
    }
    let mut waiting: SortedSet<EventId> = executed.iter().collect();
    let mut ready: SortedSet<(u32, u32, EventId)> =
        waiting.iter().map(|&event| (n_before[0][event], n_before[1][event], event)).collect();
    let mut turns: IndexVec<EventId, u32> = IndexVec::repeat(0, graph.events.len());
    let mut turn = 0;
    while let Some(&first) = ready.first() {
        let (_, _, next) = first;
        ready.remove(&first);
        waiting.remove(&next);
        turn += 1;
        turns[next] = turn;
        for (at, order) in orders.iter().enumerate() {
            for later in order.successors_in(next, executed).filter(|later| waiting.contains(later)) {
                ready.remove(&(n_before[0][later], n_before[1][later], later));
                n_before[at][later] -= 1;
                ready.insert((n_before[0][later], n_before[1][later], later));
            }
        }
    }
    turns
}
