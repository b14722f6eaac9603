//! The passes between unrolling and solving: initial writes, bounds, and spin tries that cannot matter.

use super::{Config, impossible, recursion_limit, rounds};
use crate::encode::goal::is_asked;
use crate::encode::{EncodeError, Problem, Treatment, encode};
use crate::event::cell::{Cells, add_initial_writes};
use crate::event::{EventGraph, EventId, Role, TermPool, UnknownId};
use crate::facts::needs;
use crate::relation::base::Basis;
use crate::relation::{RelationTable, bound, symmetry};
use crate::solve::{Effort, Unfollowed};
use crate::verdict::Limit;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel, TermId};
use fencepost_dsl::sorted::SortedSet;

/// Terms whose bounds are needed: axioms, and flags that are no refinements.
pub(super) fn roots(model: &MemoryModel, graph: &EventGraph) -> Vec<TermId> {
    model.axioms.iter().map(|axiom| axiom.term).chain(flag_terms(model, graph)).collect()
}

fn flag_terms(model: &MemoryModel, graph: &EventGraph) -> Vec<TermId> {
    model.flags.iter().filter(|flag| is_asked(flag, graph)).map(|flag| flag.term).collect()
}

/// Why a graph has no bounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unprepared {
    /// A limit stopped it.
    Limit(Limit),
    /// An answer on the way was to be followed and could not be.
    Unfollowed(Unfollowed),
}

impl From<Limit> for Unprepared {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<Unfollowed> for Unprepared {
    fn from(unfollowed: Unfollowed) -> Self {
        Self::Unfollowed(unfollowed)
    }
}

/// Initial writes and bounds. After this pass every pair of every relation is impossible, certain or open.
pub(super) fn prepare(
    mut graph: EventGraph,
    model: &MemoryModel,
    roots: &[TermId],
    config: &Config,
    allowance: &Allowance,
) -> (EventGraph, Result<(Cells, RelationTable, Effort), Unprepared>) {
    let cells = match add_initial_writes(&mut graph) {
        Ok(cells) => cells,
        Err(too_many) => {
            let limit = crate::event::cell::CELLS_MAX as u64;
            return (graph, Err(Limit::Cells { location: too_many.location, limit }.into()));
        }
    };
    let Treatment { known_values, counting, .. } = config.treatment;
    let basis_of = |graph: &EventGraph, cells: &Cells| Basis::new(graph, cells, known_values, counting);
    let mut basis = basis_of(&graph, &cells);
    let mut classes = Vec::new();
    if config.treatment.symmetry {
        classes = symmetry::classes(&graph, &cells, &basis);
        if symmetry::represent(&mut graph, &classes) {
            basis = basis_of(&graph, &cells);
        }
    }
    let bounds = |basis: Basis| {
        let stop = || allowance.used_up().is_some();
        let bounds = bound(basis, model, roots, config.treatment.tighten, &classes, &stop);
        bounds.map_err(|_| config.used_up(allowance))
    };
    let flags = flag_terms(model, &graph);
    let mut table = bounds(basis);
    if let Ok(first) = &table {
        let basis_of = |graph: &EventGraph| basis_of(graph, &cells);
        if let Some(basis) = impossible::exclude(&mut graph, &cells, model, first, config.treatment, basis_of)
        {
            table = bounds(basis);
        }
    }
    if let Ok(first) = &table
        && config.treatment.prune_spins
        && prune_spins(&mut graph, model, first, &flags)
    {
        table = bounds(basis_of(&graph, &cells));
    }
    let mut effort = Effort::following(config.follow);
    let learn = |table| {
        let problem = rounds::Unsettled { graph: &graph, cells: &cells, model };
        rounds::order(
            problem,
            table,
            config.treatment,
            config.limits.clauses_max,
            allowance,
            &mut effort,
            &bounds,
        )
    };
    let table = table.map_err(Unprepared::from);
    let table = if config.treatment.counts_resets() { table.and_then(learn) } else { table };
    (graph, table.map(|table| (cells, table, effort)))
}

/// What `fencepost emit` shows of the passes after unrolling.
#[derive(Clone, Debug)]
pub struct Artefacts {
    /// Per named relation of the model, its certain and its open pairs.
    pub bounds: String,
    /// The formula in DIMACS: executions of the launch, without a goal.
    pub cnf: String,
}

/// Bounds and formula of a graph, without solving.
///
/// # Errors
/// What stopped it.
pub fn artefacts(graph: EventGraph, model: &MemoryModel, config: &Config) -> Result<Artefacts, Unprepared> {
    let allowance = config.allowance();
    let stop = || allowance.used_up().is_some();
    let roots = roots(model, &graph);
    let (graph, prepared) = prepare(graph, model, &roots, config, &allowance);
    let (cells, table, _) = prepared?;
    let problem = Problem { graph: &graph, cells: &cells, model, table: &table };
    let bounds = crate::relation::dump(model, &table);
    let clauses_max = config.limits.clauses_max;
    match encode(problem, config.treatment, clauses_max, &stop) {
        Ok(encoding) => Ok(Artefacts { bounds, cnf: encoding.formula.to_dimacs() }),
        Err(EncodeError::Stopped) => Err(config.used_up(&allowance).into()),
        Err(EncodeError::TooManyClauses { .. }) => Err(Limit::Clauses { limit: clauses_max as u64 }.into()),
        Err(EncodeError::RecursionTooLarge { term }) => Err(recursion_limit(model, term).into()),
    }
}

/// Takes failing tries of spin loops that cannot take part in a flagged pair out of the graph.
///
/// Sound: see [`Role::Spin`]. A try that writes nothing decides nothing, so deleting it from an execution leaves an
/// execution; it can only matter as an end of a flagged pair, or by an obligation of its own. So does one that writes what is
/// there, and from which nobody reads but tries that are deleted as well. Where somebody else may, it stays: reading from where
/// the try did need not be possible, if that write was let through by the reader.
///
/// Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone), [`Need::NoTryBetween`](crate::facts::needs::Need::NoTryBetween);
/// of tries that write [`Need::NoRace`](crate::facts::needs::Need::NoRace), which is asked here, since nobody could tell any more
/// once they are gone: what a word that is raced for holds in the end may be what a try has put back.
///
/// It makes formulas of locks several times smaller, and of those taken by exchange much easier.
fn prune_spins(graph: &mut EventGraph, model: &MemoryModel, table: &RelationTable, flags: &[TermId]) -> bool {
    let mut needed: SortedSet<UnknownId> = SortedSet::new();
    let spin_of = |event: EventId| match graph.events[event].role {
        Role::Spin(spin) => Some(spin),
        Role::Plain | Role::Await => None,
    };
    for &flag in flags {
        match table.values.get(flag) {
            Some(crate::relation::algebra::Value::Relation(relation)) => {
                needed.extend(relation.may.domain().union(&relation.may.range()).iter().filter_map(spin_of));
            }
            Some(crate::relation::algebra::Value::Set(set)) => {
                needed.extend(set.may.iter().filter_map(spin_of))
            }
            None => {}
        }
    }
    let unknown_of = |graph: &EventGraph, term| match graph.terms.kind(term) {
        crate::event::TermKind::Unknown(unknown) => Some(*unknown),
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
        graph.constraints.push(crate::event::Constraint { term: never });
    }
    !pruned.is_empty()
}
