//! Tries of spin loops that cannot take part in a flagged pair, which are taken out of the graph.
//!
//! Sound: see [`Role::Spin`]. A try that writes nothing decides nothing, so deleting it from an execution leaves an
//! execution; it can only matter as an end of a flagged pair, or by an obligation of its own. So does one that writes what is
//! there, and from which nobody reads but tries that are deleted as well. Where somebody else may, it stays: reading from where
//! the try did need not be possible, if that write was let through by the reader.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone), [`Need::NoTryBetween`](crate::facts::needs::Need::NoTryBetween);
//! of tries that write [`Need::NoRace`](crate::facts::needs::Need::NoRace), which is asked here, since nobody could tell any more
//! once they are gone: what a word that is raced for holds in the end may be what a try has put back.
//!
//! It makes formulas of locks several times smaller, and of those taken by exchange much easier.

use super::prepare::{Known, Learnt, Unprepared, flag_terms};
use crate::event::{Constraint, EventGraph, EventId, Role, TermKind, TermPool, UnknownId};
use crate::facts::needs;
use crate::relation::algebra::Value;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedSet;

/// Takes them out.
pub(super) fn prune(known: &mut Known<'_>) -> Result<Learnt, Unprepared> {
    let Known { graph, table, model, .. } = known;
    let mut needed: SortedSet<UnknownId> = SortedSet::new();
    let spin_of = |event: EventId| match graph.events[event].role {
        Role::Spin(spin) => Some(spin),
        Role::Plain | Role::Await => None,
    };
    for flag in flag_terms(model, graph) {
        match table.values.get(flag) {
            Some(Value::Relation(relation)) => {
                needed.extend(relation.may.domain().union(&relation.may.range()).iter().filter_map(spin_of));
            }
            Some(Value::Set(set)) => needed.extend(set.may.iter().filter_map(spin_of)),
            None => {}
        }
    }
    let unknown_of = |graph: &EventGraph, term| match graph.terms.kind(term) {
        TermKind::Unknown(unknown) => Some(*unknown),
        _ => None,
    };
    let guards = graph.obligations.iter().map(|obligation| obligation.guard);
    let guards = guards.chain(graph.reachables.iter().map(|reachable| reachable.condition));
    for guard in guards.chain(graph.blocked.iter().map(|blocked| blocked.stuck)) {
        needed.extend(graph.terms.conjuncts(guard).iter().filter_map(|&term| unknown_of(graph, term)));
    }
    let may_write: SortedSet<UnknownId> = graph.writing_tries.iter().copied().collect();
    // Once they are gone, nobody would see that they race.
    if needs::raced_word(graph, model, table).is_some() {
        needed.extend(may_write.iter().copied());
    }
    loop {
        let n_needed = needed.len();
        for (write, read) in table.basis.bounds(BaseRelation::ReadsFrom).may.pairs() {
            if let Some(spin) = spin_of(write)
                && may_write.contains(&spin)
                && spin_of(read).is_none_or(|reader| needed.contains(&reader))
            {
                needed.insert(spin);
            }
        }
        if needed.len() == n_needed {
            break;
        }
    }
    let mut pruned: SortedSet<UnknownId> = SortedSet::new();
    for event in graph.events.ids() {
        if let Role::Spin(spin) = graph.events[event].role
            && !needed.contains(&spin)
        {
            graph.events[event].guard = TermPool::FALSE;
            pruned.insert(spin);
        }
    }
    for &spin in &pruned {
        let term = graph.terms.unknown_term(spin);
        let never = graph.terms.not(term);
        graph.constraints.push(Constraint { term: never });
    }
    Ok(if pruned.is_empty() { Learnt::Nothing } else { Learnt::Graph })
}
