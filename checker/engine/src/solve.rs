//! The SAT solver behind a small interface. The only module that names `varisat`.
//!
//! The copy of varisat used here counts the clauses it visits, and asks before every conflict whether to go on; so a run
//! ends within its allowance, at the same place each time. What a proof would add is counted, not kept. A fresh solver
//! serves each call, so that an answer depends on its formula alone; only [`Questions`] that build on each other share one.

use crate::cnf::{Formula, Literal};
use crate::work::{self, Allowance};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

/// What the solver said. Not a verdict.
#[derive(Clone, Debug)]
pub enum Answer {
    /// An assignment that satisfies all clauses.
    Satisfiable(Assignment),
    /// There is none.
    Unsatisfiable,
    /// The allowance is used up.
    Stopped,
}

/// A truth value per variable.
#[derive(Clone, Debug)]
pub struct Assignment {
    values: Vec<bool>,
}

impl Assignment {
    /// The value of a literal.
    pub fn is_true(&self, literal: Literal) -> bool {
        let value = self.values.get(literal.variable().0 as usize).copied().unwrap_or(false);
        value != literal.is_negative()
    }
}

/// The solver failed for a reason of its own.
#[derive(Debug, thiserror::Error)]
#[error("the SAT solver failed: {0}")]
pub struct SolveError(String);

/// Counts over the calls of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Calls.
    pub calls: u64,
    /// Clauses added to proofs: those learnt, and given ones that were simplified.
    pub learnt: u64,
}

/// Solves `formula` together with `extra` clauses.
///
/// # Errors
/// If the solver fails for another reason than the allowance.
pub fn solve(
    formula: &Formula,
    extra: &[Vec<Literal>],
    allowance: &Allowance,
    effort: &mut Effort,
) -> Result<Answer, SolveError> {
    if extra.iter().any(|clause| clause.iter().all(|&literal| literal == Literal::FALSE)) {
        return Ok(Answer::Unsatisfiable);
    }
    effort.calls += 1;
    // To load a formula is to read all of it.
    work::count(formula.n_literals());
    if allowance.used_up().is_some() {
        return Ok(Answer::Stopped);
    }
    let learnt = Rc::new(Cell::new(0));
    let outcome = run(formula, extra, allowance, &learnt);
    effort.learnt += learnt.get();
    outcome
}

fn run(
    formula: &Formula,
    extra: &[Vec<Literal>],
    allowance: &Allowance,
    learnt: &Rc<Cell<u64>>,
) -> Result<Answer, SolveError> {
    let mut solver = varisat::Solver::new();
    solver.write_proof(Additions { learnt: Rc::clone(learnt) }, varisat::ProofFormat::Additions);
    load(&mut solver, formula, extra);
    let mut visits_before = 0;
    solver.set_monitor(move |visits| {
        work::count(usize::try_from(visits - visits_before).unwrap_or(usize::MAX));
        visits_before = visits;
        allowance.used_up().is_some()
    });
    match solver.solve() {
        Ok(true) => Ok(Answer::Satisfiable(assignment(&solver, formula.n_variables()))),
        Ok(false) => Ok(Answer::Unsatisfiable),
        Err(varisat::solver::SolverError::Interrupted) => Ok(Answer::Stopped),
        Err(error) => Err(SolveError(error.to_string())),
    }
}

/// Hands a formula to the solver, and some clauses more.
fn load(solver: &mut varisat::Solver<'_>, formula: &Formula, extra: &[Vec<Literal>]) {
    use varisat::ExtendFormula;
    let mut clause = Vec::new();
    for literals in formula.clauses().chain(extra.iter().map(Vec::as_slice)) {
        clause.clear();
        clause.extend(literals.iter().map(of_solver));
        solver.add_clause(&clause);
    }
}

fn of_solver(literal: &Literal) -> varisat::Lit {
    varisat::Lit::from_index(literal.variable().0 as usize, !literal.is_negative())
}

fn assignment(solver: &varisat::Solver<'_>, n_variables: usize) -> Assignment {
    let mut values = vec![false; n_variables];
    for literal in solver.model().unwrap_or_default() {
        if let Some(value) = values.get_mut(literal.index()) {
            *value = literal.is_positive();
        }
    }
    Assignment { values }
}

/// A formula of which one thing after the other is asked; what is learnt on the way is kept.
pub struct Questions {
    solver: varisat::Solver<'static>,
    n_variables: usize,
    /// Variables in use, those that stand for questions included.
    n_used: usize,
    allowance: Rc<RefCell<Allowance>>,
    conflicts: Rc<Cell<u64>>,
}

impl Questions {
    /// Loads a formula, and some clauses more.
    pub fn new(formula: &Formula, extra: &[Vec<Literal>], allowance: &Allowance) -> Self {
        work::count(formula.n_literals());
        let mut solver = varisat::Solver::new();
        load(&mut solver, formula, extra);
        let allowance = Rc::new(RefCell::new(allowance.clone()));
        let conflicts = Rc::new(Cell::new(0));
        let (until, met) = (Rc::clone(&allowance), Rc::clone(&conflicts));
        let mut visits_before = 0;
        solver.set_monitor(move |visits| {
            work::count(usize::try_from(visits - visits_before).unwrap_or(usize::MAX));
            visits_before = visits;
            met.set(met.get() + 1);
            until.borrow().used_up().is_some()
        });
        let n_variables = formula.n_variables();
        Self { solver, n_variables, n_used: n_variables, allowance, conflicts }
    }

    /// An assignment in which one of some literals is true; if there is none, they are false from then on.
    ///
    /// # Errors
    /// If the solver fails for another reason than the allowance. After that, and once it has stopped, nothing more may be
    /// asked.
    pub fn ask(
        &mut self,
        any: &[Literal],
        allowance: &Allowance,
        effort: &mut Effort,
    ) -> Result<Answer, SolveError> {
        use varisat::ExtendFormula;
        self.allowance.replace(allowance.clone());
        self.conflicts.set(0);
        effort.calls += 1;
        let asked = varisat::Lit::from_index(self.n_used, true);
        self.n_used += 1;
        let mut one_of: Vec<_> = any.iter().map(of_solver).collect();
        one_of.push(!asked);
        self.solver.add_clause(&one_of);
        self.solver.assume(&[asked]);
        let answer = self.solver.solve();
        effort.learnt += self.conflicts.get();
        match answer {
            Ok(true) => Ok(Answer::Satisfiable(assignment(&self.solver, self.n_variables))),
            Ok(false) => {
                any.iter().for_each(|literal| self.solver.add_clause(&[!of_solver(literal)]));
                Ok(Answer::Unsatisfiable)
            }
            Err(varisat::solver::SolverError::Interrupted) => Ok(Answer::Stopped),
            Err(error) => Err(SolveError(error.to_string())),
        }
    }
}

/// Counts what a proof would add: a byte each.
struct Additions {
    learnt: Rc<Cell<u64>>,
}

impl io::Write for Additions {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.learnt.set(self.learnt.get() + bytes.len() as u64);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::tests::Impatient;
    use std::sync::Arc;

    /// `n + 1` pigeons in `n` holes.
    fn pigeons(n: usize) -> Formula {
        let mut formula = Formula::new();
        let inside: Vec<Vec<Literal>> = (0..=n).map(|_| (0..n).map(|_| formula.fresh()).collect()).collect();
        for holes in &inside {
            formula.clause(holes);
        }
        for hole in 0..n {
            for (at, first) in inside.iter().enumerate() {
                for second in &inside[at + 1..] {
                    formula.clause(&[!first[hole], !second[hole]]);
                }
            }
        }
        formula
    }

    #[test]
    fn answers() {
        let mut effort = Effort::default();
        assert!(matches!(
            solve(&pigeons(5), &[], &Allowance::unlimited(), &mut effort),
            Ok(Answer::Unsatisfiable)
        ));
        assert!(effort.learnt > 0, "a hard formula needs learning");
        let mut formula = Formula::new();
        let (a, b) = (formula.fresh(), formula.fresh());
        formula.clause(&[a, b]);
        match solve(&formula, &[vec![!a]], &Allowance::unlimited(), &mut effort) {
            Ok(Answer::Satisfiable(assignment)) => assert!(assignment.is_true(b) && assignment.is_true(!a)),
            other => panic!("expected an assignment, got {other:?}"),
        }
    }

    #[test]
    fn questions_build_on_each_other() {
        let mut formula = pigeons(4);
        let (a, b, c) = (formula.fresh(), formula.fresh(), formula.fresh());
        // Without its first pigeon the rest of a problem that has no solution.
        let mut open = Formula::new();
        let (x, y, z) = (open.fresh(), open.fresh(), open.fresh());
        open.clause(&[!x, y]);
        open.clause(&[!y, z]);
        open.clause(&[!x, !z]);
        let (mut effort, unlimited) = (Effort::default(), Allowance::unlimited());
        let mut questions = Questions::new(&open, &[], &unlimited);
        let mut ask =
            |any: &[Literal]| questions.ask(any, &unlimited, &mut effort).expect("the solver works");
        assert!(matches!(ask(&[x]), Answer::Unsatisfiable));
        match ask(&[x, y]) {
            Answer::Satisfiable(found) => assert!(found.is_true(y) && found.is_true(z) && found.is_true(!x)),
            other => panic!("expected an assignment, got {other:?}"),
        }
        assert!(matches!(ask(&[x]), Answer::Unsatisfiable));
        assert_eq!(effort.calls, 3);
        let mut none = Questions::new(&formula, &[vec![a, b]], &unlimited);
        let answer = none.ask(&[c], &unlimited, &mut effort).expect("the solver works");
        assert!(matches!(answer, Answer::Unsatisfiable));
        let short = Allowance::of_steps(100);
        let mut hard = Questions::new(&pigeons(9), &[], &short);
        let all: Vec<Literal> =
            (1..10).map(|variable| Literal::positive(crate::cnf::Variable(variable))).collect();
        assert!(matches!(hard.ask(&all, &short, &mut effort), Ok(Answer::Stopped)));
    }

    #[test]
    fn stops_where_the_allowance_ends() {
        let until = |steps: u64| {
            let mut effort = Effort::default();
            let allowance = Allowance::of_steps(steps);
            let answer = solve(&pigeons(8), &[], &allowance, &mut effort).expect("the solver works");
            (matches!(answer, Answer::Stopped), allowance.used(), effort)
        };
        let (stopped, used, effort) = until(100_000);
        // What is overdrawn is what one conflict takes, and the same each time.
        assert!(stopped && (100_000..110_000).contains(&used), "{used}");
        assert_eq!((stopped, used, effort), until(100_000));
        let mut effort = Effort::default();
        let late = Allowance::new(u64::MAX, Arc::new(Impatient));
        assert!(matches!(solve(&pigeons(10), &[], &late, &mut effort), Ok(Answer::Stopped)));
    }
}
