//! Fencepost: what the solver derives, told to listeners.
//!
//! The original writes proofs in formats of its own and in DRAT, and links a checker. Here there is one interface in their
//! place: whoever counts, writes or follows a derivation implements [`Listener`].

use partial_ref::{partial, PartialRef};

use varisat_formula::{Lit, Var};
use varisat_internal_proof::ProofStep;

use crate::{
    context::{parts::*, Context},
    variables::{var_map::VarMap, Variables},
};

/// What a clause is called where it is a reason: a hash of its literals in any order, each of them once. Clauses that differ
/// may share a name.
pub type ClauseName = u64;

/// The name of a clause.
pub fn clause_name(literals: impl IntoIterator<Item = Lit>) -> ClauseName {
    literals.into_iter().fold(0, |name, lit| name ^ varisat_internal_proof::lit_hash(lit))
}

/// The name of a clause of the solver, which has other variables than its user.
pub(crate) fn name_of(variables: &Variables, clause: &[Lit]) -> ClauseName {
    clause_name(Literals { literals: clause, variables: variables.global_from_solver() }.iter())
}

/// Some literals, by the names that their variables have for the user (as long as none is hidden).
#[derive(Copy, Clone)]
pub struct Literals<'a> {
    literals: &'a [Lit],
    variables: &'a VarMap,
}

impl<'a> Literals<'a> {
    /// One after the other; each call looks the names up again, and who does not call pays nothing.
    pub fn iter(self) -> impl Iterator<Item = Lit> + 'a {
        let Literals { literals, variables } = self;
        let named = move |var: Var| variables.get(var).expect("no existing global var for solver var");
        literals.iter().map(move |lit| lit.map_var(named))
    }
}

/// Whoever is told what the solver derives, while it does.
///
/// A derived clause comes with its *reasons*: the names of clauses, given or derived before, in an order in which each has at
/// most one literal that is not false yet, once all literals of the new clause are taken to be false; the last one has none. A
/// unit clause that was given or derived is no reason: it is true from then on.
pub trait Listener {
    /// Whether it goes by reasons. If nobody does they are not worked out, and are empty.
    fn wants_reasons(&self) -> bool {
        false
    }
    /// The user gives a clause.
    fn given(&mut self, clause: Literals<'_>) {
        let _ = clause;
    }
    /// The user assumes some literals, and none of those before.
    fn assumed(&mut self, assumptions: Literals<'_>) {
        let _ = assumptions;
    }
    /// A clause has been learnt, or a given one has lost literals that are false.
    fn derived(&mut self, clause: Literals<'_>, reasons: &[ClauseName]) {
        let _ = (clause, reasons);
    }
    /// A clause is forgotten. What it says still holds, and if it was a unit clause, or the reason of one, is still used.
    fn deleted(&mut self, clause: Literals<'_>) {
        let _ = clause;
    }
    /// Some assumptions cannot all hold, for reasons as those of the clause that says so. With none of them nothing can: a
    /// clause was given that is false.
    fn failed(&mut self, core: Literals<'_>, reasons: &[ClauseName]) {
        let _ = (core, reasons);
    }
}

/// Those who listen.
#[derive(Default)]
pub struct Proof<'a> {
    listeners: Vec<Box<dyn Listener + 'a>>,
    wants_reasons: bool,
}

impl<'a> Proof<'a> {
    /// Somebody more.
    pub fn add_listener(&mut self, listener: Box<dyn Listener + 'a>) {
        self.wants_reasons |= listener.wants_reasons();
        self.listeners.push(listener);
    }

    /// Whether anybody listens.
    pub fn is_active(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// Whether reasons are to be told.
    pub fn clause_hashes_required(&self) -> bool {
        self.wants_reasons
    }
}

/// Call when adding an external clause, with solver var names.
pub fn add_clause<'a>(
    ctx: partial!(Context<'a>, mut ProofP<'a>, mut SolverStateP, VariablesP),
    clause: &[Lit],
) {
    add_step(ctx, true, &ProofStep::AddClause { clause })
}

/// Tells a step. Clauses in it are of solver variables; steps about the variables themselves are nobody's matter here.
pub fn add_step<'a, 's>(
    mut ctx: partial!(Context<'a>, mut ProofP<'a>, mut SolverStateP, VariablesP),
    _solver_vars: bool,
    step: &'s ProofStep<'s>,
) {
    let (variables, mut ctx) = ctx.split_part(VariablesP);
    let variables = variables.global_from_solver();
    for listener in &mut ctx.part_mut(ProofP).listeners {
        match *step {
            ProofStep::AddClause { clause } => listener.given(Literals { literals: clause, variables }),
            ProofStep::Assumptions { assumptions } => listener.assumed(Literals { literals: assumptions, variables }),
            ProofStep::AtClause { clause, propagation_hashes, .. } => {
                listener.derived(Literals { literals: clause, variables }, propagation_hashes)
            }
            ProofStep::UnitClauses { units } => {
                for &(unit, reason) in units {
                    let clause = [unit];
                    listener.derived(Literals { literals: &clause, variables }, &[reason]);
                }
            }
            ProofStep::DeleteClause { clause, .. } => listener.deleted(Literals { literals: clause, variables }),
            ProofStep::FailedAssumptions { failed_core, propagation_hashes } => {
                listener.failed(Literals { literals: failed_core, variables }, propagation_hashes)
            }
            ProofStep::SolverVarName { .. }
            | ProofStep::UserVarName { .. }
            | ProofStep::DeleteVar { .. }
            | ProofStep::ChangeSamplingMode { .. }
            | ProofStep::ChangeHashBits { .. }
            | ProofStep::Model { .. }
            | ProofStep::End => {}
        }
    }
}
