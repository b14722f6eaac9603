//! Published editions of the memory model under which the execution of a finding is none, or its race is no race.
//!
//! An edition that forbids the execution that was found may allow another one that is as bad. So it is asked for one that
//! breaks the same property, for a few times the steps of the check.

use super::subject::Subject;
use crate::event::EventGraph;
use crate::findings::race::RACE;
use crate::relation::algebra::{Value, evaluate};
use crate::verdict::Verdict;
use crate::witness::Witness;
use crate::witness::recheck::is_execution;
use fencepost_dsl::cat::memory_model::MemoryModel;

/// What another model says of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It forbids it.
    Forbidden,
    /// It allows it, and the two accesses are no race in it.
    NoRace,
}

/// What another model says of the launch, where it forbids the execution that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whole {
    /// Another execution breaks the same property.
    Violated,
    /// Within the same bounds none does.
    Holds,
    /// It would have taken too long to find out.
    NotAsked,
}

/// A model and what it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// Its name on the command line.
    pub model: String,
    /// What it says.
    pub judgement: Judgement,
    /// What it says of the launch, if it forbids the execution.
    pub whole: Option<Whole>,
}

impl From<Verdict> for Whole {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Violated => Self::Violated,
            Verdict::Proved | Verdict::ProvedUpToBound | Verdict::Vacuous => Self::Holds,
            Verdict::Inconclusive => Self::NotAsked,
        }
    }
}

/// What another model says of a finding's execution, unless it agrees. The model must know all that is in the graph.
pub fn judge(
    graph: &EventGraph,
    model: &MemoryModel,
    witness: &Witness,
    subject: &Subject,
) -> Option<Judgement> {
    assert!(witness.basis.executed.universe() == graph.events.len());
    if !is_execution(model, &witness.basis) {
        return Some(Judgement::Forbidden);
    }
    let Subject::Race { earlier, later } = *subject else { return None };
    let flag = model.flags.iter().find(|flag| flag.name == RACE.name)?;
    match evaluate(model, &witness.basis, &[flag.term]).get(flag.term) {
        Some(Value::Relation(race)) if !race.contains(earlier, later) && !race.contains(later, earlier) => {
            Some(Judgement::NoRace)
        }
        _ => None,
    }
}
