//! Values that a read cannot return, and what becomes impossible by that.
//!
//! A lock that is taken by exchange holds 0 or 1, so a try that has not found 0 has found 1 and left it as it was: a round
//! without effect. The unroller does not know what memory holds. So it makes another round after it, for tries that change
//! something, and takes the exchange that is no try for one that may find anything. Here it is known that there is no such
//! round, and that this exchange has found 0.
//!
//! Sound: that a read returns one of some values is what its candidate sources can hold, by the same argument as for bits that
//! are known (`encode::memory::known_values`); a value is excluded where it contradicts the constraints together with the guard
//! of its read. So each execution that satisfies axioms and constraints satisfies what is added, and none is lost.
//!
//! Needs: [`Need::NoThinAir`](crate::facts::needs::Need::NoThinAir). Asked by `known_values`, which knows nothing of any read
//! without it.

use super::prepare::{Known, Learnt, Unprepared};
use crate::encode::value::Known as Values;
use crate::encode::{Problem, memory};
use crate::event::{Constraint, EventGraph, TermKind, TermRef, UnknownId, UnknownKind};
use crate::relation::together;
use fencepost_dsl::sorted::SortedMap;

/// Reads that return one of more values than this are left alone.
const VALUES_MAX: usize = 4;

/// Says of reads which values they return, where they are compared with each of these and some value is excluded by it.
pub(super) fn exclude(known: &mut Known<'_>) -> Result<Learnt, Unprepared> {
    let Known { graph, cells, table, model, config, .. } = known;
    let compared = comparisons(graph);
    if compared.is_empty() {
        return Ok(Learnt::Nothing);
    }
    let values_of = memory::known_values(Problem { graph, cells, model, table }, config.treatment);
    let before = graph.constraints.len();
    let mut cases = Vec::new();
    for (unknown, comparisons) in compared {
        let Values::Set(values) = &values_of.unknowns[unknown] else { continue };
        let UnknownKind::Read(read) = graph.terms.unknown(unknown).kind else { continue };
        let found: Vec<TermRef> = values.iter().filter_map(|value| comparisons.get(value).copied()).collect();
        if !(2..=VALUES_MAX).contains(&values.len()) || found.len() < values.len() {
            continue;
        }
        let guard = graph.events[read].guard;
        only_if(graph, guard, &found);
        for (at, &one) in found.iter().enumerate() {
            cases.push((guard, one, graph.terms.and(guard, one)));
            for &other in &found[at + 1..] {
                let neither = [one, other].map(|value| graph.terms.not(value));
                only_if(graph, guard, &neither);
            }
        }
    }
    let paths: Vec<TermRef> = cases.iter().map(|&(.., path)| path).collect();
    let mut is_news = false;
    for ((guard, value, _), contradicts) in cases.into_iter().zip(together::contradict(graph, &paths)) {
        if contradicts {
            let not = graph.terms.not(value);
            only_if(graph, guard, &[not]);
            is_news = true;
        }
    }
    if !is_news {
        graph.constraints.truncate(before);
        return Ok(Learnt::Nothing);
    }
    Ok(Learnt::Graph)
}

/// Where a guard holds, one of some terms does. Each conjunct is a member of its own, so that propagation notes each.
fn only_if(graph: &mut EventGraph, guard: TermRef, members: &[TermRef]) {
    let terms = &mut graph.terms;
    let conjuncts = terms.conjuncts(guard).to_vec();
    let denied: Vec<TermRef> = conjuncts.into_iter().map(|conjunct| terms.not(conjunct)).collect();
    let term = terms.or_all(denied.into_iter().chain(members.iter().copied()));
    graph.constraints.push(Constraint { term });
}

/// The constants that a read's value is compared with, and the comparisons, where there are several.
fn comparisons(graph: &EventGraph) -> SortedMap<UnknownId, SortedMap<u128, TermRef>> {
    let terms = &graph.terms;
    let mut compared: SortedMap<UnknownId, SortedMap<u128, TermRef>> = SortedMap::new();
    for term in terms.all() {
        if let TermKind::Equal(a, b) = *terms.kind(term)
            && let (&TermKind::Unknown(unknown), Some(value)) = (terms.kind(a), terms.constant_value(b))
        {
            compared.entry(unknown).or_default().insert(value, term);
        }
    }
    compared.retain(|_, comparisons| comparisons.len() > 1);
    compared
}
