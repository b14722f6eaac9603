//! Loops: unwinding, cuts, and recognising spin loops.
//!
//! A spin loop is one whose failing iterations leave no trace: no write, no changed register. However often it goes
//! round, one failing try stands for all, followed by the try that leaves; so a spin needs no bound. Every loop is
//! tried as a spin first, by executing those two tries; if it turns out not to be one, everything is taken back.

use super::expression::Frame;
use super::mbarrier::MbarrierMark;
use super::{State, UnrollError, Unroller};
use crate::event::{Constraint, EventKind, LoopCut, Role, TermMark, TermPool, TermRef, UnknownKind};
use fencepost_dsl::kernel::program::{
    BinaryOp, Expression, ExpressionKind, InstructionKind, LoopId, MbarrierOp, Program, RegisterId,
    Statement, StatementKind,
};

/// Loops whose bounds are symbolic are unrolled to their end if the ranges of the bounds leave at most so many
/// iterations; beyond, the loop bound counts.
const MAX_SYMBOLIC_TRIPS: u128 = 64;

/// A `while`, `loop` or `await`.
pub struct Shape<'p> {
    /// The static loop.
    pub id: LoopId,
    /// What computes the condition.
    pub prelude: &'p [Statement],
    /// Tested after the prelude.
    pub condition: &'p Expression,
    /// The value of the condition on which the loop goes on.
    pub stays_if: bool,
    /// Run when it goes on.
    pub body: &'p [Statement],
}

impl Shape<'_> {
    /// Whether only a `break` (or `exit`) leaves the loop.
    fn is_unconditional(&self) -> bool {
        self.stays_if && matches!(self.condition.kind, ExpressionKind::Constant(1))
    }
}

/// What one iteration comes to.
pub struct Round {
    /// The paths that go round again.
    pub again: State,
    /// The paths that leave the loop (and go on after it).
    pub leaves: Vec<State>,
    /// Whether the loop's own condition was undecided.
    uncertain: bool,
}

/// Everything a failed attempt at a spin has to take back.
struct Checkpoint {
    terms: TermMark,
    n_events: usize,
    n_rmw: usize,
    n_constraints: usize,
    n_obligations: usize,
    n_cuts: usize,
    n_blocked: usize,
    mbarriers: MbarrierMark,
    n_exits: usize,
    position: u32,
    n_blocking: u32,
    missing_register: bool,
}

impl Unroller<'_> {
    /// Runs a `for` loop.
    pub(super) fn for_loop(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        id: LoopId,
        register: RegisterId,
        (start, end): (TermRef, TermRef),
        body: &[Statement],
    ) -> Result<(), UnrollError> {
        let ends_soon = self.graph.terms.range(end).1.saturating_sub(self.graph.terms.range(start).0);
        let needs_bound = ends_soon > MAX_SYMBOLIC_TRIPS;
        let entry = state.env.clone();
        let span = self.program.loops[id].span;
        let width = frame.width(register);
        let mut left = Vec::new();
        let mut n_uncertain = 0;
        self.iterations.push(0);
        for iteration in 0u32.. {
            if state.live == TermPool::FALSE {
                break;
            }
            self.step(span)?;
            let offset = self.graph.terms.constant(u128::from(iteration), width);
            let value = self.graph.terms.binary(BinaryOp::Add, start, offset);
            let goes_on = self.graph.terms.less(value, end);
            let (stay, leave) = self.split(state.live, goes_on);
            if leave != TermPool::FALSE {
                left.push(State { live: leave, env: state.env.clone() });
            }
            if stay == TermPool::FALSE {
                break;
            }
            if stay != state.live && needs_bound {
                if n_uncertain == self.options.bound {
                    self.cut(id, stay);
                    break;
                }
                n_uncertain += 1;
            }
            state.live = stay;
            state.env.set(register, value);
            self.set_iteration(iteration);
            self.breaks.push(Vec::new());
            self.run(state, frame, body)?;
            left.extend(self.breaks.pop().unwrap_or_default());
            state.env.restrict_to(&entry);
        }
        self.iterations.pop();
        *state = self.join_all(left);
        Ok(())
    }

    /// Runs a `while`, `loop` or `await`.
    pub(super) fn while_loop(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<(), UnrollError> {
        if self.last_try.is_some() {
            return self.last_loop(state, frame, shape);
        }
        if may_spin(self.program, shape.prelude) && may_spin(self.program, shape.body) {
            let checkpoint = self.checkpoint();
            match self.spin(state, frame, shape)? {
                Some(after) => {
                    *state = after;
                    return Ok(());
                }
                None => self.take_back(&checkpoint),
            }
        }
        let entry = state.env.clone();
        let endless = shape.is_unconditional() && !can_leave(shape.body, true);
        let mut left = Vec::new();
        let mut n_uncertain = 0;
        self.iterations.push(0);
        for iteration in 0u32.. {
            if state.live == TermPool::FALSE {
                break;
            }
            self.set_iteration(iteration);
            let n_exits = self.exits.len();
            let cut = n_uncertain == self.options.bound;
            let mut round = self.round(state.clone(), frame, shape, cut)?;
            let may_have_left = !round.leaves.is_empty() || self.exits.len() > n_exits;
            if round.uncertain || (shape.is_unconditional() && (endless || may_have_left)) {
                n_uncertain += 1;
            }
            left.append(&mut round.leaves);
            *state = round.again;
            state.env.restrict_to(&entry);
        }
        self.iterations.pop();
        *state = self.join_all(left);
        Ok(())
    }

    /// Runs one iteration; with `cut`, a path that wants another one beyond an undecided condition is cut instead.
    pub(super) fn round(
        &mut self,
        mut state: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        cut: bool,
    ) -> Result<Round, UnrollError> {
        self.step(self.program.loops[shape.id].span)?;
        self.breaks.push(Vec::new());
        self.run(&mut state, frame, shape.prelude)?;
        let mut leaves = Vec::new();
        let mut uncertain = false;
        if state.live != TermPool::FALSE {
            let mut goes_on = self.evaluate(&state.env, frame, shape.condition)?;
            if !shape.stays_if {
                goes_on = self.graph.terms.not(goes_on);
            }
            let (stay, leave) = self.split(state.live, goes_on);
            uncertain = stay != TermPool::FALSE && leave != TermPool::FALSE;
            if leave != TermPool::FALSE {
                leaves.push(State { live: leave, env: state.env.clone() });
            }
            state.live = stay;
            if cut && stay != TermPool::FALSE && (uncertain || shape.is_unconditional()) {
                self.cut(shape.id, stay);
                state.live = TermPool::FALSE;
            }
            self.run(&mut state, frame, shape.body)?;
        }
        leaves.extend(self.breaks.pop().unwrap_or_default());
        Ok(Round { again: state, leaves, uncertain })
    }

    fn cut(&mut self, id: LoopId, guard: TermRef) {
        if self.last_try.is_some() {
            return;
        }
        let span = self.program.loops[id].span;
        self.graph.cuts.push(LoopCut { id, span, agent: self.agent, guard });
    }

    fn set_iteration(&mut self, iteration: u32) {
        if let Some(last) = self.iterations.last_mut() {
            *last = iteration;
        }
    }

    /// Runs the loop as a spin: a failing try that may be in the execution, then the try that leaves.
    ///
    /// `None` if it is no spin; the caller then takes everything back.
    fn spin(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<Option<State>, UnrollError> {
        let outer_role = self.role;
        let start = self.checkpoint();
        let (choice, spins) = self.graph.terms.fresh(1, UnknownKind::Spins(self.agent));
        let tried = self.graph.terms.and(state.live, spins);
        self.role = Role::Spin(choice);
        self.is_pure_wait = is_pure_wait(shape);
        let failing = self.round(State { live: tried, env: state.env.clone() }, frame, shape, false)?;
        self.role = outer_role;
        self.is_pure_wait = false;
        let mut leaving = self.exits.split_off(start.n_exits);
        leaving.extend(failing.leaves.iter().map(|state| state.live));
        let again = failing.again.live;
        if again == TermPool::FALSE || self.graph.cuts.len() > start.n_cuts {
            return Ok(None);
        }
        // A failing try can also end in the middle: blocked for good, or by an index outside its object.
        let can_stop =
            self.n_blocking > start.n_blocking || self.graph.obligations.len() > start.n_obligations;
        if !self.writes_only_when_leaving(start.n_events, &leaving, (!can_stop).then_some(again)) {
            return Ok(None);
        }
        let stays = if can_stop {
            let leaves = self.graph.terms.or_all(leaving);
            self.graph.terms.not(leaves)
        } else {
            again
        };
        self.constrain(tried, stays);

        // Registers that differ after a failing try must not matter: the last try starts without them.
        let changed = state.env.changed(&failing.again.env);
        let mut env = state.env.clone();
        for &register in &changed {
            env.remove(register);
        }
        let (_, passes) = self.graph.terms.fresh(1, UnknownKind::Passes);
        let passing = self.graph.terms.and(state.live, passes);
        if !matches!(outer_role, Role::Spin(_)) {
            self.role = Role::Await;
        }
        let missing_before = std::mem::replace(&mut self.missing_register, false);
        let last = self.round(State { live: passing, env }, frame, shape, false)?;
        self.role = outer_role;
        let lost = |left: &State| changed.iter().any(|&register| left.env.get(register).is_none());
        if self.missing_register || self.graph.cuts.len() > start.n_cuts || last.leaves.iter().any(lost) {
            return Ok(None);
        }
        self.missing_register = missing_before;
        let mut leaving = self.exits[start.n_exits..].to_vec();
        leaving.extend(last.leaves.iter().map(|state| state.live));
        let leaves = self.graph.terms.or_all(leaving);
        self.constrain(passing, leaves);
        if can_stop {
            let both = self.graph.terms.and(tried, passes);
            self.constrain(both, again);
        }
        self.n_blocking += 1;
        if self.options.hangs && outer_role == Role::Plain {
            let waits = self.graph.terms.not(passes);
            let standing = self.graph.terms.and(state.live, waits);
            self.stand(State { live: standing, env: state.env.clone() }, frame, shape)?;
        }
        Ok(Some(self.join_all(last.leaves)))
    }

    /// Whether no write since event `first` can be part of a try that does not leave.
    fn writes_only_when_leaving(
        &mut self,
        first: usize,
        leaving: &[TermRef],
        again: Option<TermRef>,
    ) -> bool {
        let guards: Vec<TermRef> = self
            .graph
            .events
            .iter()
            .skip(first)
            .filter(|event| matches!(event.kind, EventKind::Write(_)))
            .map(|event| event.guard)
            .collect();
        let terms = &mut self.graph.terms;
        guards.into_iter().all(|guard| {
            leaving.iter().any(|&leaves| terms.implies_syntactically(guard, leaves))
                || again.is_some_and(|again| terms.excludes_syntactically(guard, again))
        })
    }

    fn constrain(&mut self, guard: TermRef, term: TermRef) {
        let term = self.graph.terms.implies(guard, term);
        self.graph.constraints.push(Constraint { term });
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            terms: self.graph.terms.mark(),
            n_events: self.graph.events.len(),
            n_rmw: self.graph.rmw.len(),
            n_constraints: self.graph.constraints.len(),
            n_obligations: self.graph.obligations.len(),
            n_cuts: self.graph.cuts.len(),
            n_blocked: self.graph.blocked.len(),
            mbarriers: self.mbarriers.mark(),
            n_exits: self.exits.len(),
            position: self.position,
            n_blocking: self.n_blocking,
            missing_register: self.missing_register,
        }
    }

    fn take_back(&mut self, checkpoint: &Checkpoint) {
        self.graph.terms.rewind(checkpoint.terms);
        self.graph.events.truncate(checkpoint.n_events);
        self.graph.rmw.truncate(checkpoint.n_rmw);
        self.graph.constraints.truncate(checkpoint.n_constraints);
        self.graph.obligations.truncate(checkpoint.n_obligations);
        self.graph.cuts.truncate(checkpoint.n_cuts);
        self.graph.blocked.truncate(checkpoint.n_blocked);
        self.mbarriers.take_back(checkpoint.mbarriers, &self.graph.terms);
        self.forget_final_values();
        self.exits.truncate(checkpoint.n_exits);
        self.position = checkpoint.position;
        self.n_blocking = checkpoint.n_blocking;
        self.missing_register = checkpoint.missing_register;
    }
}

/// Whether nothing in the statements forbids a spin at first sight: barriers and properties are to be met every time.
fn may_spin(program: &Program, statements: &[Statement]) -> bool {
    statements.iter().all(|statement| match &statement.kind {
        StatementKind::Assert(_)
        | StatementKind::Assume(_)
        | StatementKind::Reachable(_)
        | StatementKind::Host(_) => false,
        StatementKind::Instruction(instruction) => match &instruction.kind {
            InstructionKind::Mbarrier(operation) => matches!(operation, MbarrierOp::Wait(_)),
            InstructionKind::Barrier { .. }
            | InstructionKind::WarpSync { .. }
            | InstructionKind::ClusterArrive { .. }
            | InstructionKind::ClusterWait { .. }
            | InstructionKind::Async(_)
            | InstructionKind::GridDependency(_)
            | InstructionKind::SetMaxRegisters { .. }
            | InstructionKind::ElectSync { .. } => false,
            _ => true,
        },
        StatementKind::If { then, otherwise, .. } => may_spin(program, then) && may_spin(program, otherwise),
        StatementKind::For { body, .. } => may_spin(program, body),
        StatementKind::While { prelude, body, .. } => may_spin(program, prelude) && may_spin(program, body),
        StatementKind::Await { prelude, .. } => may_spin(program, prelude),
        StatementKind::Call { function, .. } => may_spin(program, &program.functions[*function].body),
        StatementKind::Assign { .. } | StatementKind::Break | StatementKind::Exit => true,
    })
}

/// Whether the loop is one mbarrier wait, repeated until it returns true.
fn is_pure_wait(shape: &Shape<'_>) -> bool {
    let is_wait = |statement: &Statement| match &statement.kind {
        StatementKind::Instruction(instruction) => {
            matches!(instruction.kind, InstructionKind::Mbarrier(MbarrierOp::Wait(_)))
        }
        _ => false,
    };
    let waits = shape.prelude.iter().filter(|statement| is_wait(statement)).count();
    let others = shape
        .prelude
        .iter()
        .any(|statement| !is_wait(statement) && !matches!(statement.kind, StatementKind::Assign { .. }));
    waits == 1 && !others && shape.body.is_empty() && !shape.stays_if
}

/// Whether the statements contain an `exit` or call, or (outside nested loops) a `break`.
fn can_leave(statements: &[Statement], breaks_count: bool) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        StatementKind::Exit | StatementKind::Call { .. } => true,
        StatementKind::Break => breaks_count,
        StatementKind::If { then, otherwise, .. } => {
            can_leave(then, breaks_count) || can_leave(otherwise, breaks_count)
        }
        StatementKind::For { body, .. } => can_leave(body, false),
        StatementKind::While { prelude, body, .. } => can_leave(prelude, false) || can_leave(body, false),
        StatementKind::Await { prelude, .. } => can_leave(prelude, false),
        StatementKind::Assign { .. }
        | StatementKind::Instruction(_)
        | StatementKind::Assert(_)
        | StatementKind::Assume(_)
        | StatementKind::Reachable(_)
        | StatementKind::Host(_) => false,
    })
}
