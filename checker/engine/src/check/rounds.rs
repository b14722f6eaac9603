//! The order of the rounds of words that count and are set back, which is asked of the solver step by step.

use super::certain::{Certainty, Never, Of, certain};
use super::prepare::{Known, Learnt, Unprepared};
use crate::cnf::{Direction, Literal};
use crate::encode::{Encoding, Problem, encode};
use crate::event::EventId;
use crate::evidence::Role;
use crate::relation::counting::resets::{Rounds, Step};
use crate::solve::Unfollowed;
use fencepost_dsl::cat::memory_model::{AxiomKind, BaseRelation, MemoryModel, RelationKind, TermKind};

/// A question may take one in so many of the steps that are left.
const ONE_IN: u64 = 8;

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
pub(super) fn order(known: &mut Known<'_>) -> Result<Learnt, Unprepared> {
    if !known.config.treatment.counts_resets() {
        return Ok(Learnt::Nothing);
    }
    let words = known.table.basis.resettable.clone();
    let mut n_unsettled = 0;
    for word in words.iter() {
        let Some(mut rounds) = Rounds::new(word, known.model, &known.table) else {
            n_unsettled += 1;
            continue;
        };
        while let Some(mut step) = rounds.next(&known.table.basis) {
            if !is_certain(known, &mut step)? {
                break;
            }
            let mut basis = known.table.basis.clone();
            step.conclude(&mut basis);
            rounds.go_on(&step);
            known.table = known.bounds(basis)?;
        }
    }
    known.table.basis.n_unsettled = n_unsettled;
    known.table.basis.n_settled = words.len() - n_unsettled;
    // Bounds are those of each step already.
    Ok(Learnt::Nothing)
}

/// Whether every late update of a step comes after a reset. What does not is late no more.
fn is_certain(known: &mut Known<'_>, step: &mut Step<'_>) -> Result<bool, Unfollowed> {
    let Known { graph, cells, table, model, config, allowance, effort, .. } = known;
    let problem = Problem { graph, cells, model, table };
    if !step.is_exact() || step.asked(&problem.table.basis).is_empty() {
        return Ok(step.is_exact());
    }
    let part = allowance.part(allowance.left() / ONE_IN);
    let stop = || part.used_up().is_some();
    // First of a part of the axioms: what no assignment of that satisfies, none of all does.
    let weaker = without_cycles(problem.model);
    for (model, is_weaker) in [(&weaker, true), (problem.model, false)] {
        let problem = Problem { model, ..problem };
        let Ok(mut encoding) = encode(problem, config.treatment, config.limits.clauses_max, &stop) else {
            return Ok(false);
        };
        while step.is_exact() {
            let asked = step.asked(&problem.table.basis);
            let without: Vec<Literal> =
                asked.iter().map(|&update| without_reset(problem, &mut encoding, step, update)).collect();
            if let Some(record) = effort.record() {
                record.begin(Role::Round);
                record.state(problem, &encoding);
            }
            let fact = Never { of: Of::Formula(&encoding.formula), any: &without };
            match certain(fact, &part, effort)? {
                Certainty::Certain => return Ok(true),
                Certainty::Refuted(_) if is_weaker => break,
                Certainty::Refuted(assignment) => {
                    let found =
                        asked.iter().zip(&without).filter(|&(_, &literal)| assignment.is_true(literal));
                    found.for_each(|(&update, _)| step.is_not_late(update));
                }
                Certainty::Open => return Ok(false),
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
