//! The SAT solver behind a small interface. The only module that names `varisat`.
//!
//! The copy of varisat used here counts the clauses it visits, and asks before every conflict whether to go on; so a run
//! ends within its allowance, at the same place each time. What it derives it tells whoever listens: a counter, and where
//! answers are to be followed ([`Effort::following`]) what keeps the derivation. A fresh solver serves each call, so that an
//! answer depends on its formula alone; only [`Questions`] that build on each other share one.

mod branches;
mod effort;
mod follow;

pub(crate) use branches::Branches;
pub use effort::Effort;
pub use follow::Unfollowed;

use crate::cnf::{Formula, Literal, Variable};
use crate::evidence::{Answered, Record, Series};
use crate::outside::{self, Said};
use crate::work::{self, Allowance, Work};
use follow::Derivation;
use std::cell::{Cell, RefCell};
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

/// Solves `formula` together with `extra` clauses.
///
/// # Errors
/// If the answer is to be followed and cannot be. What following it takes is part of the allowance.
pub fn solve(
    formula: &Formula,
    extra: &[Vec<Literal>],
    allowance: &Allowance,
    effort: &mut Effort,
) -> Result<Answer, Unfollowed> {
    if let Some(outside) = effort.outside.clone() {
        effort.calls += 1;
        work::count(Work::Loaded, formula.n_literals());
        let said = outside.solve(&outside::dimacs(formula, extra)).map_err(Unfollowed::Outside)?;
        return Ok(match said {
            Said::Satisfiable(literals) => {
                let values = outside::values(formula, extra, &literals).map_err(Unfollowed::Outside)?;
                Answer::Satisfiable(Assignment { values })
            }
            Said::Unsatisfiable => Answer::Unsatisfiable,
        });
    }
    let following = effort.following_of(formula, extra, allowance);
    let answer = answer(formula, extra, allowance, effort, following.clone())?;
    if let Some(record) = effort.record() {
        let (any, known) =
            extra.split_last().map_or((None, extra), |(any, known)| (Some(any.clone()), known));
        let known = known.iter().flatten().map(|&literal| !literal).collect();
        record.ask(known, any, None, answered(&answer, following.as_deref()));
    }
    Ok(answer)
}

/// What is kept of an answer.
fn answered(answer: &Answer, following: Option<&RefCell<Following<'_>>>) -> Answered {
    match (answer, following) {
        (Answer::Unsatisfiable, Some(following)) => {
            Answered::Refuted(following.borrow_mut().derivation.take_steps())
        }
        (Answer::Satisfiable(_), _) => Answered::Found,
        (Answer::Unsatisfiable | Answer::Stopped, _) => Answered::Stopped,
    }
}

fn answer(
    formula: &Formula,
    extra: &[Vec<Literal>],
    allowance: &Allowance,
    effort: &mut Effort,
    following: Option<Rc<RefCell<Following<'_>>>>,
) -> Result<Answer, Unfollowed> {
    if let Some(clause) = extra.iter().find(|clause| clause.iter().all(|&literal| literal == Literal::FALSE))
    {
        if let Some(following) = &following {
            following
                .borrow_mut()
                .derivation
                .derive([].into_iter(), &[name_of(&clause[..clause.len().min(1)])]);
        }
        // Nobody was asked, so this is no answer of the solver.
        return conclude(following.as_deref(), &[], &mut 0);
    }
    effort.calls += 1;
    // To load a formula is to read all of it.
    work::count(Work::Loaded, formula.n_literals());
    if allowance.used_up().is_some() {
        return Ok(Answer::Stopped);
    }
    let learnt = Rc::new(Cell::new(0));
    let answer = run(formula, extra, allowance, &learnt, following.clone());
    effort.learnt += learnt.get();
    match answer {
        Answer::Unsatisfiable => conclude(following.as_deref(), &[], &mut effort.followed),
        answer => Ok(answer),
    }
}

fn run(
    formula: &Formula,
    extra: &[Vec<Literal>],
    allowance: &Allowance,
    learnt: &Rc<Cell<u64>>,
    following: Option<Rc<RefCell<Following<'_>>>>,
) -> Answer {
    let mut solver = varisat::Solver::new();
    solver.listen(Counter { learnt: Rc::clone(learnt) });
    if let Some(following) = following {
        solver.listen(Listener { following });
    }
    load(&mut solver, formula, extra);
    let mut visits_before = 0;
    solver.set_monitor(move |visits| {
        work::count(Work::Visit, usize::try_from(visits - visits_before).unwrap_or(usize::MAX));
        visits_before = visits;
        allowance.used_up().is_some()
    });
    match solver.solve() {
        Ok(true) => Answer::Satisfiable(assignment(&solver, formula.n_variables())),
        Ok(false) => Answer::Unsatisfiable,
        Err(varisat::solver::SolverError::Interrupted) => Answer::Stopped,
    }
}

/// *Unsatisfiable*, under some assumptions, once that has been followed where it is to be; then it is counted.
fn conclude(
    following: Option<&RefCell<Following<'_>>>,
    assumed: &[Literal],
    followed: &mut u64,
) -> Result<Answer, Unfollowed> {
    let Some(following) = following else { return Ok(Answer::Unsatisfiable) };
    if !following.borrow_mut().follow(assumed)? {
        return Ok(Answer::Stopped);
    }
    *followed += 1;
    Ok(Answer::Unsatisfiable)
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

fn from_solver(literal: varisat::Lit) -> Literal {
    let variable = u32::try_from(literal.index()).expect("formulas have fewer than 2^32 variables");
    let positive = Literal::positive(Variable(variable));
    if literal.is_positive() { positive } else { !positive }
}

/// What the solver calls a clause where it is a reason.
fn name_of(clause: &[Literal]) -> follow::Name {
    varisat::solver::clause_name(clause.iter().map(of_solver))
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
pub struct Questions<'a> {
    solver: varisat::Solver<'a>,
    n_variables: usize,
    /// Variables in use, those that stand for questions included.
    n_used: usize,
    allowance: Rc<RefCell<Allowance>>,
    conflicts: Rc<Cell<u64>>,
    following: Option<Rc<RefCell<Following<'a>>>>,
    /// If they are kept, which series of questions that build on each other they are; and what was known before.
    series: Option<usize>,
    known: Vec<Literal>,
    among: Vec<Literal>,
}

impl<'a> Questions<'a> {
    /// Loads a formula, and says of some literals that they are false, and that one of some others is true: those of which the
    /// questions are, so that each question says so, too.
    pub fn new(
        formula: &'a Formula,
        (known, among): (&[Literal], &[Literal]),
        allowance: &Allowance,
        effort: &mut Effort,
    ) -> Self {
        let extra: Vec<Vec<Literal>> =
            known.iter().map(|&literal| vec![!literal]).chain([among.to_vec()]).collect();
        work::count(Work::Loaded, formula.n_literals());
        let mut solver = varisat::Solver::new();
        let following = effort.following_of(formula, &extra, allowance);
        if let Some(following) = &following {
            solver.listen(Listener { following: Rc::clone(following) });
        }
        load(&mut solver, formula, &extra);
        let allowance = Rc::new(RefCell::new(allowance.clone()));
        let conflicts = Rc::new(Cell::new(0));
        let (until, met) = (Rc::clone(&allowance), Rc::clone(&conflicts));
        let mut visits_before = 0;
        solver.set_monitor(move |visits| {
            work::count(Work::Visit, usize::try_from(visits - visits_before).unwrap_or(usize::MAX));
            visits_before = visits;
            met.set(met.get() + 1);
            until.borrow().used_up().is_some()
        });
        let n_variables = formula.n_variables();
        let series = effort.record().map(Record::new_series);
        let (known, among, n_used) = (known.to_vec(), among.to_vec(), n_variables);
        Self { solver, n_variables, n_used, allowance, conflicts, following, series, known, among }
    }

    /// An assignment in which one of some literals is true; if there is none, they are false from then on.
    ///
    /// Sound: a question is a clause of these literals and the negation of a variable that occurs nowhere else. An assignment
    /// of the formula in which one of the literals is true is, with that variable true, one of the formula with the question.
    /// So where the question implies that its variable is false, the formula implies the same of the literals.
    ///
    /// Needs: nothing. It takes a variable for each question that neither the formula nor an earlier question has; they are
    /// counted here.
    ///
    /// # Errors
    /// If the answer is to be followed and cannot be. After that, and once it has stopped, nothing more may be asked.
    pub fn ask(
        &mut self,
        any: &[Literal],
        allowance: &Allowance,
        effort: &mut Effort,
    ) -> Result<Answer, Unfollowed> {
        self.allowance.replace(allowance.clone());
        self.conflicts.set(0);
        effort.calls += 1;
        let variable = u32::try_from(self.n_used).expect("formulas have fewer than 2^32 variables");
        let asked = Literal::positive(Variable(variable));
        self.n_used += 1;
        if let Some(following) = &self.following {
            following.borrow_mut().allowance = allowance.clone();
        }
        self.give(any.iter().copied().chain([!asked]).collect());
        self.solver.assume(&[of_solver(&asked)]);
        let answer = self.solver.solve();
        effort.learnt += self.conflicts.get();
        let answer = match answer {
            Ok(true) => Answer::Satisfiable(assignment(&self.solver, self.n_variables)),
            Ok(false) => {
                let answer = conclude(self.following.as_deref(), &[asked], &mut effort.followed)?;
                if matches!(answer, Answer::Unsatisfiable) {
                    any.iter().for_each(|&literal| self.give(vec![!literal]));
                }
                answer
            }
            Err(varisat::solver::SolverError::Interrupted) => Answer::Stopped,
        };
        if let (Some(record), Some(series)) = (effort.record(), self.series) {
            let answered = answered(&answer, self.following.as_deref());
            let series = Series { number: series, variable: asked, among: self.among.clone() };
            record.ask(self.known.clone(), Some(any.to_vec()), Some(series), answered);
        }
        Ok(answer)
    }

    fn give(&mut self, clause: Vec<Literal>) {
        use varisat::ExtendFormula;
        let literals: Vec<_> = clause.iter().map(of_solver).collect();
        if let Some(following) = &self.following {
            following.borrow_mut().extra.push(clause);
        }
        self.solver.add_clause(&literals);
    }
}

/// Counts what a proof would add.
struct Counter {
    learnt: Rc<Cell<u64>>,
}

impl varisat::solver::Listener for Counter {
    fn derived(&mut self, _: varisat::solver::Literals<'_>, _: &[follow::Name]) {
        self.learnt.set(self.learnt.get() + 1);
    }
}

/// What is asked of a solver, and what it has derived.
struct Following<'a> {
    formula: &'a Formula,
    /// What was given besides the formula.
    extra: Vec<Vec<Literal>>,
    derivation: Derivation,
    allowance: Allowance,
    /// How it ended where it was too long to be kept until it was needed.
    early: Result<bool, Unfollowed>,
}

impl<'a> Following<'a> {
    fn new(formula: &'a Formula, extra: &[Vec<Literal>], allowance: Allowance) -> Rc<RefCell<Self>> {
        let (extra, derivation) = (extra.to_vec(), Derivation::new(name_of));
        Rc::new(RefCell::new(Self { formula, extra, derivation, allowance, early: Ok(true) }))
    }

    fn derive(&mut self, clause: impl Iterator<Item = Literal>, reasons: &[follow::Name]) {
        self.derivation.derive(clause, reasons);
        if self.derivation.is_long() && self.early == Ok(true) {
            let given = self.formula.clauses().chain(self.extra.iter().map(Vec::as_slice));
            self.early = self.derivation.follow_all(given, &self.allowance);
        }
    }

    /// Whether the allowance was enough to follow that these assumptions cannot hold.
    fn follow(&mut self, assumed: &[Literal]) -> Result<bool, Unfollowed> {
        if self.early != Ok(true) {
            return self.early;
        }
        let given = self.formula.clauses().chain(self.extra.iter().map(Vec::as_slice));
        self.derivation.follow(given, assumed, &self.allowance)
    }
}

#[cfg(test)]
thread_local! {
    /// Whether listeners of this thread lose what is derived, so that no answer of a search can be followed.
    pub(crate) static LOSES: Cell<bool> = const { Cell::new(false) };
}

/// Notes what the solver derives.
struct Listener<'a> {
    following: Rc<RefCell<Following<'a>>>,
}

impl varisat::solver::Listener for Listener<'_> {
    fn wants_reasons(&self) -> bool {
        true
    }
    fn derived(&mut self, clause: varisat::solver::Literals<'_>, reasons: &[follow::Name]) {
        #[cfg(test)]
        if LOSES.get() {
            return;
        }
        self.following.borrow_mut().derive(clause.iter().map(from_solver), reasons);
    }
    fn failed(&mut self, core: varisat::solver::Literals<'_>, reasons: &[follow::Name]) {
        self.following.borrow_mut().derive(core.iter().map(|literal| !from_solver(literal)), reasons);
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
        let mut questions = Questions::new(&open, (&[], &[x, y]), &unlimited, &mut effort);
        let mut ask =
            |any: &[Literal]| questions.ask(any, &unlimited, &mut effort).expect("the solver works");
        assert!(matches!(ask(&[x]), Answer::Unsatisfiable));
        match ask(&[x, y]) {
            Answer::Satisfiable(found) => assert!(found.is_true(y) && found.is_true(z) && found.is_true(!x)),
            other => panic!("expected an assignment, got {other:?}"),
        }
        assert!(matches!(ask(&[x]), Answer::Unsatisfiable));
        assert_eq!(effort.calls, 3);
        let mut none = Questions::new(&formula, (&[], &[a, b, c]), &unlimited, &mut effort);
        let answer = none.ask(&[c], &unlimited, &mut effort).expect("the solver works");
        assert!(matches!(answer, Answer::Unsatisfiable));
        let short = Allowance::of_steps(100);
        let pigeons = pigeons(9);
        let all: Vec<Literal> = (1..10).map(|variable| Literal::positive(Variable(variable))).collect();
        let mut hard = Questions::new(&pigeons, (&[], &all), &short, &mut effort);
        assert!(matches!(hard.ask(&all, &short, &mut effort), Ok(Answer::Stopped)));
    }

    #[test]
    fn stops_where_the_allowance_ends() {
        let until = |steps: u64| {
            let mut effort = Effort::default();
            let allowance = Allowance::of_steps(steps);
            let answer = solve(&pigeons(8), &[], &allowance, &mut effort).expect("the solver works");
            (matches!(answer, Answer::Stopped), allowance.used(), (effort.calls, effort.learnt))
        };
        let (stopped, used, effort) = until(100_000);
        // What is overdrawn is what one conflict takes, and the same each time.
        assert!(stopped && (100_000..110_000).contains(&used), "{used}");
        assert_eq!((stopped, used, effort), until(100_000));
        let mut effort = Effort::default();
        let late = Allowance::new(u64::MAX, Arc::new(Impatient));
        assert!(matches!(solve(&pigeons(10), &[], &late, &mut effort), Ok(Answer::Stopped)));
    }

    /// Numbers that look random and are the same in each run.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % n
        }
        fn literal(&mut self, n_variables: usize) -> Literal {
            let positive = Literal::positive(Variable(1 + self.below(n_variables) as u32));
            if self.below(2) == 0 { positive } else { !positive }
        }
        fn clause(&mut self, n_variables: usize) -> Vec<Literal> {
            let n = [1, 2, 2, 2, 3, 3, 3, 3, 4][self.below(9)];
            (0..n).map(|_| self.literal(n_variables)).collect()
        }
    }

    /// By trying all assignments.
    fn has_solution(clauses: &[Vec<Literal>], assumed: &[Literal], n_variables: usize) -> bool {
        (0_u32..1 << n_variables).any(|values| {
            let is_true = |literal: &Literal| {
                (values >> (literal.variable().0 - 1)) & 1 == u32::from(!literal.is_negative())
            };
            assumed.iter().all(is_true) && clauses.iter().all(|clause| clause.iter().any(is_true))
        })
    }

    /// A clause with its reasons.
    type Step = (Vec<Literal>, Vec<follow::Name>);

    /// A derivation as it is told.
    #[derive(Clone, Default)]
    struct Tape(Rc<RefCell<Vec<Step>>>);

    impl varisat::solver::Listener for Tape {
        fn wants_reasons(&self) -> bool {
            true
        }
        fn derived(&mut self, clause: varisat::solver::Literals<'_>, reasons: &[follow::Name]) {
            self.0.borrow_mut().push((clause.iter().map(from_solver).collect(), reasons.to_vec()));
        }
        fn failed(&mut self, core: varisat::solver::Literals<'_>, reasons: &[follow::Name]) {
            let clause = core.iter().map(|literal| !from_solver(literal)).collect();
            self.0.borrow_mut().push((clause, reasons.to_vec()));
        }
    }

    fn taped(formula: &Formula) -> Vec<Step> {
        let (tape, mut solver) = (Tape::default(), varisat::Solver::new());
        solver.listen(tape.clone());
        load(&mut solver, formula, &[]);
        assert!(matches!(solver.solve(), Ok(false)));
        tape.0.take()
    }

    fn follows(given: &[Vec<Literal>], steps: &[Step]) -> bool {
        let mut derivation = Derivation::new(name_of);
        for (clause, reasons) in steps {
            derivation.derive(clause.iter().copied(), reasons);
        }
        let given = given.iter().map(Vec::as_slice);
        derivation.follow(given, &[], &Allowance::unlimited()) == Ok(true)
    }

    #[test]
    fn failed_assumptions_are_a_core_in_all_runs() {
        use varisat::ExtendFormula;
        let (mut dice, mut n_cores, mut n_proper) = (Dice(1), 0, 0);
        let nothing = Formula::new();
        for _ in 0..3_000 {
            let mut n_variables = 2 + dice.below(3);
            let following = Following::new(&nothing, &[], Allowance::unlimited());
            let mut solver = varisat::Solver::new();
            solver.listen(Listener { following: Rc::clone(&following) });
            let mut given: Vec<Vec<Literal>> = Vec::new();
            for _ in 0..6 {
                // New variables take the places of those whose values are known by now.
                n_variables = (n_variables + dice.below(3)).min(10);
                for _ in 0..1 + dice.below(n_variables) {
                    let clause = dice.clause(n_variables);
                    solver.add_clause(&clause.iter().map(of_solver).collect::<Vec<_>>());
                    following.borrow_mut().extra.push(clause.clone());
                    given.push(clause);
                }
                let assumed: Vec<Literal> =
                    (0..dice.below(n_variables)).map(|_| dice.literal(n_variables)).collect();
                solver.assume(&assumed.iter().map(of_solver).collect::<Vec<_>>());
                let answer = solver.solve().expect("nothing stops it");
                assert_eq!(answer, has_solution(&given, &assumed, n_variables));
                if answer {
                    continue;
                }
                let core: Vec<Literal> =
                    solver.failed_core().expect("there is one").iter().copied().map(from_solver).collect();
                n_cores += 1;
                n_proper += usize::from(core.len() < assumed.len());
                assert!(core.iter().all(|literal| assumed.contains(literal)));
                assert!(!has_solution(&given, &core, n_variables), "{given:?} {assumed:?} {core:?}");
                assert_eq!(following.borrow_mut().follow(&core), Ok(true), "{given:?} {assumed:?}");
            }
        }
        assert!(n_cores > 4_000 && n_proper > 1_000, "{n_cores} {n_proper}");
    }

    #[test]
    fn each_refutation_is_followed() {
        let mut effort = Effort::following(true);
        let unlimited = Allowance::unlimited();
        assert!(matches!(solve(&pigeons(6), &[], &unlimited, &mut effort), Ok(Answer::Unsatisfiable)));
        assert_eq!(effort.followed, 1);
        // Refuted without the solver.
        let none = [vec![Literal::FALSE, Literal::FALSE]];
        assert!(matches!(solve(&pigeons(2), &none, &unlimited, &mut effort), Ok(Answer::Unsatisfiable)));
        // Refuted while it is loaded.
        let mut formula = Formula::new();
        let a = formula.fresh();
        formula.clause(&[a]);
        for clause in [vec![!a], vec![!a, !a], vec![]] {
            let answer = solve(&formula, &[clause], &unlimited, &mut effort);
            assert!(matches!(answer, Ok(Answer::Unsatisfiable)));
        }
        // The empty clause needed no solver either.
        assert_eq!(effort.followed, 3);
        let mut dice = Dice(2);
        let mut n_refuted = [0, 0];
        for _ in 0..200 {
            let mut formula = Formula::new();
            let literals: Vec<Literal> = (0..60).map(|_| formula.fresh()).collect();
            for _ in 0..110 + dice.below(120) {
                let clause: Vec<Literal> =
                    dice.clause(60).iter().map(|literal| literals[literal.code() / 2 - 1]).collect();
                let signs: Vec<Literal> = clause
                    .into_iter()
                    .map(|literal| if dice.below(2) == 0 { literal } else { !literal })
                    .collect();
                formula.clause(if signs.len() == 1 { &literals[..4] } else { &signs });
            }
            let mut plain = Effort::default();
            let before = effort.clone();
            let answer = solve(&formula, &[], &unlimited, &mut plain).expect("nothing is followed");
            let followed = solve(&formula, &[], &unlimited, &mut effort).expect("it can be followed");
            // The search is the same.
            assert_eq!(plain.learnt, effort.learnt - before.learnt);
            assert_eq!(matches!(answer, Answer::Unsatisfiable), matches!(followed, Answer::Unsatisfiable));
            assert_eq!(effort.followed - before.followed, u64::from(matches!(answer, Answer::Unsatisfiable)));
            n_refuted[usize::from(matches!(answer, Answer::Unsatisfiable))] += 1;
            let mut questions = Questions::new(&formula, (&[], &literals), &unlimited, &mut effort);
            for chunk in literals.chunks(3).take(8) {
                let before = effort.followed;
                let answer = questions.ask(chunk, &unlimited, &mut effort).expect("it can be followed");
                assert_eq!(effort.followed - before, u64::from(matches!(answer, Answer::Unsatisfiable)));
                let alone = solve(&formula, &[chunk.to_vec()], &unlimited, &mut plain).expect("as before");
                assert_eq!(matches!(answer, Answer::Unsatisfiable), matches!(alone, Answer::Unsatisfiable));
            }
        }
        assert!(n_refuted.iter().all(|&n| n > 20), "{n_refuted:?}");
    }

    #[test]
    fn a_derivation_with_a_fault_is_not_followed() {
        let formula = pigeons(5);
        let given: Vec<Vec<Literal>> = formula.clauses().map(<[Literal]>::to_vec).collect();
        let steps = taped(&formula);
        assert!(follows(&given, &steps));
        assert!(!follows(&given, &[]), "no derivation");
        assert!(!follows(&given, &steps[..steps.len() - 1]), "no end");
        // Without any of its clauses but the first, which says that true is true, the formula has a solution.
        for clause in 1..given.len() {
            let mut fewer = given.clone();
            fewer.remove(clause);
            assert!(!follows(&fewer, &steps), "without {:?}", given[clause]);
        }
        let (mut n_dropped, mut n_altered) = (0, 0);
        for step in 0..steps.len() {
            let mut dropped = steps.clone();
            let (clause, _) = dropped.remove(step);
            let is_needed = !follows(&given, &dropped);
            n_dropped += usize::from(is_needed);
            let mut altered = steps.clone();
            match altered[step].0.pop() {
                Some(_) => {}
                None => altered[step].0.push(given[1][0]),
            }
            n_altered += usize::from(!follows(&given, &altered));
            // What is needed is named by its literals: with others it is another clause.
            assert!(!is_needed || !follows(&given, &altered), "{clause:?} in place of {:?}", altered[step]);
            let mut unfounded = steps.clone();
            unfounded[step].1.clear();
            assert!(!is_needed || !follows(&given, &unfounded), "{clause:?} for no reason");
        }
        assert!(n_dropped > 20 && n_altered >= n_dropped, "{n_dropped} {n_altered} of {}", steps.len());
    }

    #[test]
    fn long_derivations_are_followed_on_the_way() {
        let formula = pigeons(6);
        let steps = taped(&formula);
        let mut derivation = Derivation::new(name_of);
        derivation.keep_at_most(500);
        let (unlimited, mut n_early) = (Allowance::unlimited(), 0);
        for (clause, reasons) in &steps {
            derivation.derive(clause.iter().copied(), reasons);
            if derivation.is_long() {
                assert_eq!(derivation.follow_all(formula.clauses(), &unlimited), Ok(true));
                n_early += 1;
            }
        }
        assert!(n_early > 3, "{n_early}");
        assert_eq!(derivation.follow(formula.clauses(), &[], &unlimited), Ok(true));
        // On the way everything is looked at, needed or not.
        let mut derivation = Derivation::new(name_of);
        derivation.derive([Literal::positive(Variable(1))].into_iter(), &[]);
        let error =
            derivation.follow_all(formula.clauses(), &unlimited).expect_err("it follows from nothing");
        assert_eq!(error, Unfollowed::Step { step: 1, of: 1 });
    }

    #[test]
    fn following_takes_steps() {
        let formula = pigeons(6);
        let until = |steps: u64| {
            let allowance = Allowance::of_steps(steps);
            let mut effort = Effort::following(true);
            let answer = solve(&formula, &[], &allowance, &mut effort).expect("it can be followed");
            (matches!(answer, Answer::Stopped), allowance.used(), (effort.followed, effort.learnt))
        };
        let mut plain = Effort::default();
        let search = Allowance::unlimited();
        assert!(matches!(solve(&formula, &[], &search, &mut plain), Ok(Answer::Unsatisfiable)));
        let searched = search.used();
        let (stopped, all, effort) = until(u64::MAX);
        assert!(!stopped && all > searched + 100 && effort.1 == plain.learnt, "{all} {searched}");
        // The search ends as ever, and following it does not.
        let (stopped, used, effort) = until(searched + 50);
        assert!(stopped && used < all && effort.0 == 0, "{used} {all}");
        assert_eq!((stopped, used, effort), until(searched + 50));
    }
}
