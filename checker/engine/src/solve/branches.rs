//! A formula to which more and more is added, and of which it is asked on the way what else is possible.

use super::{Answer, Counter, assignment, load, of_solver};
use crate::cnf::{Formula, Literal};
use crate::work::{self, Allowance, Work};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The executions that are left once some things have been chosen.
///
/// One solver serves all questions, so an answer depends on those before it; the same ones in the same order have the same
/// answers.
pub struct Branches<'a> {
    solver: varisat::Solver<'a>,
    n_variables: usize,
    /// Variables in use, those that stand for questions included.
    n_used: usize,
    allowance: Rc<RefCell<Allowance>>,
}

impl<'a> Branches<'a> {
    /// Loads a formula.
    pub fn new(formula: &Formula, allowance: &Allowance) -> Self {
        work::count(Work::Loaded, formula.n_literals());
        let mut solver = varisat::Solver::new();
        solver.listen(Counter { learnt: Rc::new(Cell::new(0)) });
        load(&mut solver, formula, &[]);
        let allowance = Rc::new(RefCell::new(allowance.clone()));
        let until = Rc::clone(&allowance);
        let mut visits_before = 0;
        solver.set_monitor(move |visits| {
            work::count(Work::Visit, usize::try_from(visits - visits_before).unwrap_or(usize::MAX));
            visits_before = visits;
            until.borrow().used_up().is_some()
        });
        let n_variables = formula.n_variables();
        Self { solver, n_variables, n_used: n_variables, allowance }
    }

    /// From now on one of these is true.
    pub fn require(&mut self, any: &[Literal]) {
        use varisat::ExtendFormula;
        let literals: Vec<_> = any.iter().map(of_solver).collect();
        self.solver.add_clause(&literals);
    }

    /// An assignment that satisfies some clauses, too. They are of this question alone.
    ///
    /// Once it has stopped nothing more may be asked.
    pub fn ask(&mut self, clauses: &[Vec<Literal>], allowance: &Allowance) -> Answer {
        if clauses.iter().any(|clause| clause.iter().all(|&literal| literal == Literal::FALSE)) {
            return Answer::Unsatisfiable;
        }
        if allowance.used_up().is_some() {
            return Answer::Stopped;
        }
        self.allowance.replace(allowance.clone());
        let variable = u32::try_from(self.n_used).expect("formulas have fewer than 2^32 variables");
        let asked = Literal::positive(crate::cnf::Variable(variable));
        self.n_used += 1;
        for clause in clauses {
            let with: Vec<Literal> = clause.iter().copied().chain([!asked]).collect();
            self.require(&with);
        }
        self.solver.assume(&[of_solver(&asked)]);
        let answer = match self.solver.solve() {
            Ok(true) => Answer::Satisfiable(assignment(&self.solver, self.n_variables)),
            Ok(false) => Answer::Unsatisfiable,
            Err(varisat::solver::SolverError::Interrupted) => Answer::Stopped,
        };
        self.require(&[!asked]);
        answer
    }
}
