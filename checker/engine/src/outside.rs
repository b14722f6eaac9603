//! A solver that is somebody else's: whoever calls the engine may hand one in ([`crate::check::Config::outside`]), and is asked
//! in place of the one that comes along.
//!
//! Sound: *satisfiable* counts only with an assignment that makes each clause true, which is looked at here, and *unsatisfiable*
//! only from who has followed a proof of it to the empty clause, which is what [`Said::Unsatisfiable`] says.
//!
//! Needs: nothing. It is about formulas.

use crate::cnf::{Formula, Literal, Variable};

/// What another solver said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// These literals, in DIMACS, are true in an assignment.
    Satisfiable(Vec<i64>),
    /// There is none, and whoever says so has followed a proof of it.
    Unsatisfiable,
}

/// Why another solver's word does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// It could not be run, or ended with an error.
    #[error("the solver command could not be run, or it failed")]
    Failed,
    /// It has given no answer.
    #[error("the solver command has said neither `s SATISFIABLE` nor `s UNSATISFIABLE`")]
    Silent,
    /// It has not ended in its time.
    #[error("the solver command has not ended in its time")]
    Slow,
    /// What it calls an assignment is none.
    #[error("the solver command says that there is a solution, and what it gives is none")]
    NoAssignment,
    /// What it calls a proof is none.
    #[error("the solver command says that there is no solution, and its proof does not show that")]
    Unproved,
}

impl Fault {
    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Failed => "solver::failed",
            Self::Silent => "solver::no-answer",
            Self::Slow => "solver::too-slow",
            Self::NoAssignment => "solver::no-assignment",
            Self::Unproved => "solver::no-proof",
        }
    }
}

/// Another solver.
pub trait Outside: Send + Sync + std::fmt::Debug {
    /// Is asked for an assignment of a formula in DIMACS.
    ///
    /// # Errors
    /// If it has no answer that counts.
    fn solve(&self, formula: &str) -> Result<Said, Fault>;
}

/// The formula with some clauses more, in DIMACS.
pub(crate) fn dimacs(formula: &Formula, extra: &[Vec<Literal>]) -> String {
    let mut whole = formula.without_gates();
    for clause in extra {
        whole.clause_as_it_is(clause);
    }
    whole.to_dimacs()
}

/// By variable, the values that some literals say, if they are an assignment of the formula.
pub(crate) fn values(
    formula: &Formula,
    extra: &[Vec<Literal>],
    literals: &[i64],
) -> Result<Vec<bool>, Fault> {
    let mut values = vec![false; formula.n_variables()];
    for &literal in literals {
        let place = usize::try_from(literal.unsigned_abs()).map_err(|_| Fault::NoAssignment)?;
        if let Some(value) = values.get_mut(place.wrapping_sub(1)) {
            *value = literal > 0;
        }
    }
    let is_true = |literal: &Literal| {
        let Variable(variable) = literal.variable();
        values.get(variable as usize).copied().unwrap_or(false) != literal.is_negative()
    };
    let mut clauses = formula.clauses().chain(extra.iter().map(Vec::as_slice));
    if clauses.all(|clause| clause.iter().any(is_true)) { Ok(values) } else { Err(Fault::NoAssignment) }
}
