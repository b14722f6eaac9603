//! The order of the rounds of words that count and are set back, which is asked of the solver step by step.

use super::prepare::Unprepared;
use crate::cnf::{Direction, Literal};
use crate::encode::{Encoding, Problem, Treatment, encode};
use crate::event::cell::Cells;
use crate::event::{EventGraph, EventId};
use crate::relation::RelationTable;
use crate::relation::base::Basis;
use crate::relation::counting::resets::{Rounds, Step};
use crate::solve::{Answer, Effort, Unfollowed, solve};
use crate::verdict::Limit;
use crate::work::Allowance;
use fencepost_dsl::cat::memory_model::{AxiomKind, BaseRelation, MemoryModel, RelationKind, TermKind};

/// A question may take one in so many of the steps that are left.
const ONE_IN: u64 = 8;

/// A graph whose bounds are not the last word.
#[derive(Clone, Copy)]
pub(super) struct Unsettled<'a> {
    pub(super) graph: &'a EventGraph,
    pub(super) cells: &'a Cells,
    pub(super) model: &'a MemoryModel,
}

/// Bounds with what the order of rounds adds to them.
///
/// Sound: see [`crate::relation::counting::resets`]; what is asked there of all executions is asked here of the formula
/// that states them, or of a part of its clauses.
///
/// Needs: [`Need::TotalCoherence`](crate::facts::needs::Need::TotalCoherence),
/// [`Need::OneCell`](crate::facts::needs::Need::OneCell). Asked by `Rounds::new`.
///
/// # Errors
/// If bounds could not be computed again, or an answer could not be followed.
pub(super) fn order(
    unsettled: Unsettled<'_>,
    table: RelationTable,
    treatment: Treatment,
    clauses_max: usize,
    allowance: &Allowance,
    effort: &mut Effort,
    bounds: &dyn Fn(Basis) -> Result<RelationTable, Limit>,
) -> Result<RelationTable, Unprepared> {
    let mut table = table;
    let words = table.basis.resettable.clone();
    let mut n_unsettled = 0;
    for word in words.iter() {
        let Some(mut rounds) = Rounds::new(word, unsettled.model, &table) else {
            n_unsettled += 1;
            continue;
        };
        while let Some(mut step) = rounds.next(&table.basis) {
            let Unsettled { graph, cells, model } = unsettled;
            let problem = Problem { graph, cells, model, table: &table };
            if !is_certain(problem, &mut step, treatment, clauses_max, allowance, effort)? {
                break;
            }
            let mut basis = table.basis.clone();
            step.conclude(&mut basis);
            rounds.go_on(&step);
            table = bounds(basis)?;
        }
    }
    table.basis.n_unsettled = n_unsettled;
    Ok(table)
}

/// Whether every late update of a step comes after a reset. What does not is late no more.
fn is_certain(
    problem: Problem<'_>,
    step: &mut Step<'_>,
    treatment: Treatment,
    clauses_max: usize,
    allowance: &Allowance,
    effort: &mut Effort,
) -> Result<bool, Unfollowed> {
    if !step.is_exact() || step.asked(&problem.table.basis).is_empty() {
        return Ok(step.is_exact());
    }
    let part = allowance.part(allowance.left() / ONE_IN);
    let stop = || part.used_up().is_some();
    // First of a part of the axioms: what no assignment of that satisfies, none of all does.
    let weaker = without_cycles(problem.model);
    for (model, is_weaker) in [(&weaker, true), (problem.model, false)] {
        let problem = Problem { model, ..problem };
        let Ok(mut encoding) = encode(problem, treatment, clauses_max, &stop) else { return Ok(false) };
        while step.is_exact() {
            let asked = step.asked(&problem.table.basis);
            let without: Vec<Literal> =
                asked.iter().map(|&update| without_reset(problem, &mut encoding, step, update)).collect();
            match solve(&encoding.formula, std::slice::from_ref(&without), &part, effort)? {
                Answer::Unsatisfiable => return Ok(true),
                Answer::Satisfiable(_) if is_weaker => break,
                Answer::Satisfiable(assignment) => {
                    let found =
                        asked.iter().zip(&without).filter(|&(_, &literal)| assignment.is_true(literal));
                    found.for_each(|(&update, _)| step.is_not_late(update));
                }
                Answer::Stopped => return Ok(false),
            }
        }
    }
    Ok(false)
}

/// A model without the axioms that take the most clauses and say the least of who comes before whom, and without flags.
fn without_cycles(model: &MemoryModel) -> MemoryModel {
    let mut weaker = model.clone();
    weaker.flags.clear();
    weaker.axioms.retain(|axiom| match &model.terms[axiom.term].kind {
        TermKind::Relation(RelationKind::Difference(..)) => axiom.kind == AxiomKind::Empty,
        _ => axiom.kind == AxiomKind::Irreflexive,
    });
    weaker
}

/// An update happens, and none of a step's resets is coherence-before it.
fn without_reset(problem: Problem<'_>, encoding: &mut Encoding, step: &Step<'_>, update: EventId) -> Literal {
    let bounds = problem.table.basis.bounds(BaseRelation::Coherence);
    let mut all = vec![encoding.executed[update]];
    for reset in step.resets().filter(|&reset| bounds.may.contains(reset, update)) {
        let both = [encoding.executed[reset], encoding.executed[update]];
        let before = match encoding.coherence.get(&(reset, update)) {
            Some(&before) if !bounds.must.contains(reset, update) => before,
            _ => encoding.formula.and(Direction::Both, &both),
        };
        all.push(!before);
    }
    encoding.formula.and(Direction::Both, &all)
}
