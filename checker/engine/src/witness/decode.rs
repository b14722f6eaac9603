//! An assignment, read as an execution.

use super::Execution;
use crate::bits::{BitMatrix, EventSet};
use crate::cnf::Literal;
use crate::encode::{Encoding, Problem};
use crate::event::EventId;
use crate::solve::Assignment;
use fencepost_dsl::IndexVec;
use fencepost_dsl::cat::memory_model::BaseRelation;
use rustc_hash::FxHashMap;

/// The execution an assignment of the encoding's formula stands for.
pub fn decode(problem: Problem<'_>, encoding: &Encoding, assignment: &Assignment) -> Execution {
    let n = problem.graph.events.len();
    let executed = EventSet::from_fn(n, |event| assignment.is_true(encoding.executed[event]));
    let unknowns: IndexVec<_, u128> = problem
        .graph
        .terms
        .unknowns()
        .iter_enumerated()
        .map(|(id, unknown)| match encoding.blaster.unknown_bits.get(&id) {
            Some(bits) => {
                (0u32..).zip(bits).map(|(at, &bit)| u128::from(assignment.is_true(bit)) << at).sum()
            }
            None => unknown.min,
        })
        .collect();
    let mut sources = fencepost_dsl::sorted::SortedMap::new();
    for read in executed.iter() {
        let Some(pieces) = encoding.sources.get(&read) else { continue };
        let chosen = pieces
            .iter()
            .filter_map(|candidates| candidates.iter().find(|source| assignment.is_true(source.literal)))
            .map(|source| (source.write, source.piece))
            .collect();
        sources.insert(read, chosen);
    }
    let order = |open: &FxHashMap<(EventId, EventId), Literal>, base: BaseRelation| {
        let certain = &problem.table.basis.bounds(base).must;
        let mut order = BitMatrix::empty(n);
        for (a, b) in problem.table.basis.bounds(base).may.pairs() {
            let chosen = if certain.contains(a, b) {
                executed.contains(a) && executed.contains(b)
            } else {
                open.get(&(a, b)).is_some_and(|&literal| assignment.is_true(literal))
            };
            if chosen {
                order.insert(a, b);
            }
        }
        order
    };
    Execution {
        turns: None,
        coherence: order(&encoding.coherence, BaseRelation::Coherence),
        fence_order: order(&encoding.fence_order, BaseRelation::FenceSc),
        executed,
        unknowns,
        sources,
    }
}
