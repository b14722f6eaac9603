//! Loops: unwinding, and cuts at the bound.
//!
//! A loop whose rounds may be without effect is run as a wait ([`wait`](super::wait)), which needs no bound for them; every
//! other loop is unwound round by round, and a path that wants more rounds than the bound is cut.

use super::expression::Frame;
use super::live::registers_of;
use super::wait::Waited;
use super::{State, UnrollError, Unroller};
use crate::event::{Because, LoopCut, TermPool, TermRef, UnknownKind};
use fencepost_dsl::kernel::program::{
    BinaryOp, Expression, ExpressionKind, LoopId, RegisterId, Statement, StatementKind,
};

/// Loops whose bounds are symbolic are unrolled to their end if the ranges of the bounds leave at most so many
/// iterations; beyond, the loop bound counts.
const MAX_SYMBOLIC_TRIPS: u128 = 64;

/// A `while`, `loop` or `await`.
#[derive(Clone, Copy)]
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
    /// Whether a round is the body and then the test, the first test having been made before.
    pub tests_last: bool,
    /// How many statements of the body were run before the first such round, of a loop without a test.
    pub turn: usize,
    /// Whether what comes behind where rounds begin counts as one round, and what comes before it as the next.
    pub counts: bool,
}

impl<'p> Shape<'p> {
    /// A `while` or `loop`.
    pub fn of_while(
        id: LoopId,
        prelude: &'p [Statement],
        condition: &'p Expression,
        body: &'p [Statement],
    ) -> Self {
        Self { id, prelude, condition, stays_if: true, body, tests_last: false, turn: 0, counts: false }
    }

    /// An `await`.
    pub fn of_await(id: LoopId, prelude: &'p [Statement], condition: &'p Expression) -> Self {
        Self { id, prelude, condition, stays_if: false, body: &[], tests_last: false, turn: 0, counts: false }
    }

    /// The same loop, whose rounds begin where another would be seen to go on: behind its test, or behind a statement that may
    /// leave it.
    pub fn turned(self) -> Option<Self> {
        if self.is_unconditional() {
            return turn_of(self.body).map(|turn| Self { tests_last: true, turn, counts: true, ..self });
        }
        (!self.body.is_empty()).then_some(Self { tests_last: true, counts: true, ..self })
    }

    /// Whether only a `break` (or `exit`) leaves the loop.
    pub fn is_unconditional(&self) -> bool {
        self.stays_if && matches!(self.condition.kind, ExpressionKind::Constant(1))
    }

    /// Whether nothing leaves the loop.
    pub fn is_endless(&self) -> bool {
        self.is_unconditional() && !can_leave(self.body, true)
    }
}

/// The end of the rounds that a loop is run for.
#[derive(Clone, Copy)]
pub struct Cut<'b> {
    because: &'b Because,
    /// Whether a path is cut where the loop's own condition sends it round again without a choice, too. Where that
    /// condition changes from round to round, it ends the loop by itself.
    may_go_on_for_ever: bool,
    /// Whether its registers never end the loop, and each round reads strongly.
    spins: bool,
}

/// What one iteration comes to.
pub struct Round {
    /// The paths that go round again.
    pub again: State,
    /// The paths that leave the loop (and go on after it).
    pub leaves: Vec<State>,
    /// The path that was cut, with its registers.
    pub cut: Option<State>,
    /// Whether the loop's own condition was undecided.
    pub uncertain: bool,
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
        let (mut left, mut ways_out) = (Vec::new(), self.no_way_out());
        let mut n_uncertain = 0;
        self.iterations.push(0);
        for iteration in 0u32.. {
            if state.live == TermPool::FALSE {
                break;
            }
            self.step(span)?;
            let (head, first) = (state.live, self.graph.events.next_id());
            let offset = self.graph.terms.constant(u128::from(iteration), width);
            let value = self.graph.terms.binary(BinaryOp::Add, start, offset);
            // Sound: in each round before, the register was below the end, so it has not wrapped, and after as many rounds as
            // the ends are ever apart it is there. Of a start that is read that is more than terms know.
            //
            // Needs: nothing. It is about numbers.
            let is_over = !needs_bound && u128::from(iteration) >= ends_soon;
            let goes_on = if is_over { TermPool::FALSE } else { self.graph.terms.less(value, end) };
            let (stay, leave) = self.split(state.live, goes_on);
            let mut leaves = Vec::new();
            if leave != TermPool::FALSE {
                leaves.push(State { live: leave, env: state.env.clone() });
            }
            if stay == TermPool::FALSE {
                self.ways_out(&mut ways_out, (head, first), &leaves, false);
                left.append(&mut leaves);
                break;
            }
            if stay != state.live && needs_bound {
                if n_uncertain == self.options.bound {
                    self.cut(id, stay, &Because::TripCount, false);
                    self.ways_out(&mut ways_out, (head, first), &leaves, false);
                    left.append(&mut leaves);
                    break;
                }
                n_uncertain += 1;
            }
            state.live = stay;
            state.env.set(register, value);
            self.set_iteration(iteration);
            self.breaks.push(Vec::new());
            self.run(state, frame, body)?;
            leaves.extend(self.breaks.pop().unwrap_or_default());
            self.ways_out(&mut ways_out, (head, first), &leaves, state.live != TermPool::FALSE);
            left.append(&mut leaves);
            state.env.restrict_to(&entry);
        }
        self.iterations.pop();
        self.decide_by(ways_out, false);
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
        if !self.options.waits {
            return self.unwind(state, frame, shape, &Because::Unwound);
        }
        match self.wait(state, frame, shape)? {
            Waited::Yes(after) => *state = after,
            Waited::No(because) => self.unwind(state, frame, shape, &because)?,
        }
        Ok(())
    }

    /// Runs a loop round by round, up to the bound.
    fn unwind(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        because: &Because,
    ) -> Result<(), UnrollError> {
        let entry = state.env.clone();
        let endless = shape.is_endless();
        let turned = shape.turned().unwrap_or(*shape);
        let together = self.cta_wait(state, frame, &turned, because)?;
        let shape = if together.is_some() { &turned } else { shape };
        let (mut left, mut ways_out, mut spins) = (Vec::new(), self.no_way_out(), false);
        let mut n_uncertain = 0;
        // The registers before some round. Where those that decide about the next one are the same again, nothing but a
        // `break` may ever leave the loop; where all of them are, not even that.
        let mut before = state.env.clone();
        let deciding = registers_of(shape.condition);
        let mut decides_alike = false;
        self.iterations.push(0);
        if shape.tests_last {
            self.breaks.push(Vec::new());
            self.run(state, frame, shape.prelude)?;
            if state.live != TermPool::FALSE {
                self.test(state, frame, shape, &mut left)?;
            }
            self.run(state, frame, &shape.body[..shape.turn])?;
            left.extend(self.breaks.pop().unwrap_or_default());
            state.env.restrict_to(&entry);
        }
        // Sound: of a loop that its registers end no round comes back to them. Where that is said of a bound that was taken
        // for a small one, the rounds are run up to the bound all the same, and count.
        //
        // Needs: nothing. It is about registers.
        let may_stand = self.looks_for_hangs() && self.may_go_on_for_ever(state, frame, shape);
        for iteration in 0u32.. {
            if state.live == TermPool::FALSE {
                break;
            }
            self.set_iteration(iteration);
            if may_stand {
                self.may_stand_here(state, frame, shape)?;
            }
            if let Some(place) = &together {
                self.stand_together(place.round(iteration), state, frame, shape)?;
            }
            let n_exits = self.exits.len();
            let may_go_on_for_ever = shape.is_unconditional() || decides_alike;
            let is_last = n_uncertain + u32::from(shape.tests_last) == self.options.bound;
            let cut = is_last.then_some(Cut { because, may_go_on_for_ever, spins });
            let (head, first) = (state.clone(), self.graph.events.next_id());
            let start = self.start_of_round();
            let mut round = self.round(state.clone(), frame, shape, cut)?;
            if let Some(place) = &together {
                self.note_round(place.round(iteration), start, (&head.env, &round), (frame, shape))?;
            }
            if iteration == 0 && self.last_try.is_none() {
                let notes = self.spins(first, round.again.live);
                spins = notes && self.may_go_on_for_ever(&head, frame, shape);
            }
            let goes_on = round.again.live != TermPool::FALSE;
            self.ways_out(&mut ways_out, (head.live, first), &round.leaves, goes_on);
            let may_have_left = !round.leaves.is_empty() || self.exits.len() > n_exits;
            left.append(&mut round.leaves);
            *state = round.again;
            state.env.restrict_to(&entry);
            let changed = before.changed(&state.env);
            decides_alike = changed.iter().all(|register| !deciding.contains(register));
            let has_choice =
                round.uncertain || endless || (may_have_left && (shape.is_unconditional() || decides_alike));
            if has_choice || changed.is_empty() {
                n_uncertain += 1;
            }
            if (iteration + 1).is_power_of_two() {
                before = state.env.clone();
            }
        }
        self.iterations.pop();
        self.decide_by(ways_out, spins);
        *state = self.join_all(left);
        Ok(())
    }

    /// Lets a thread stand at the head of a loop for ever, where a round on final memory would change nothing; it goes on
    /// where it does not stand.
    fn may_stand_here(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<(), UnrollError> {
        let checkpoint = self.checkpoint();
        let (_, goes) = self.graph.terms.fresh(1, UnknownKind::Passes);
        let waits = self.graph.terms.not(goes);
        let standing = State { live: self.graph.terms.and(state.live, waits), env: state.env.clone() };
        if self.stand(&standing, frame, shape, Keeps::Everything)? {
            state.live = self.graph.terms.and(state.live, goes);
            self.past_waits.push(goes);
        } else {
            self.take_back(&checkpoint);
        }
        Ok(())
    }

    /// Runs one iteration; with `cut`, a path that wants another one is cut instead.
    pub(super) fn round(
        &mut self,
        mut state: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        cut: Option<Cut<'_>>,
    ) -> Result<Round, UnrollError> {
        self.step(self.program.loops[shape.id].span)?;
        self.breaks.push(Vec::new());
        let mut leaves = Vec::new();
        let iteration = self.iterations.last().copied().unwrap_or(0);
        if shape.tests_last {
            self.run(&mut state, frame, &shape.body[shape.turn..])?;
            if shape.counts {
                self.set_iteration(iteration + 1);
            }
            self.run(&mut state, frame, &shape.body[..shape.turn])?;
        }
        self.run(&mut state, frame, shape.prelude)?;
        let (mut uncertain, mut was_cut) = (false, None);
        if state.live != TermPool::FALSE {
            uncertain = self.test(&mut state, frame, shape, &mut leaves)?;
            if let Some(Cut { because, may_go_on_for_ever, spins }) = cut
                && state.live != TermPool::FALSE
                && (uncertain || may_go_on_for_ever)
            {
                self.cut(shape.id, state.live, because, spins);
                was_cut = Some(state.clone());
                state.live = TermPool::FALSE;
            }
            if !shape.tests_last {
                self.run(&mut state, frame, shape.body)?;
            }
        }
        leaves.extend(self.breaks.pop().unwrap_or_default());
        self.set_iteration(iteration);
        Ok(Round { again: state, leaves, cut: was_cut, uncertain })
    }

    /// Narrows a path to where the loop goes on, and adds where it leaves; whether both are possible.
    pub(super) fn test(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        leaves: &mut Vec<State>,
    ) -> Result<bool, UnrollError> {
        let mut goes_on = self.evaluate(state, frame, shape.condition)?;
        if !shape.stays_if {
            goes_on = self.graph.terms.not(goes_on);
        }
        let (stay, leave) = self.split(state.live, goes_on);
        if leave != TermPool::FALSE {
            leaves.push(State { live: leave, env: state.env.clone() });
        }
        state.live = stay;
        Ok(stay != TermPool::FALSE && leave != TermPool::FALSE)
    }

    pub(super) fn cut(&mut self, id: LoopId, guard: TermRef, because: &Because, spins: bool) {
        let span = self.program.loops[id].span;
        self.graph.cuts.push(LoopCut { id, span, agent: self.agent, guard, because: because.clone(), spins });
    }

    pub(super) fn set_iteration(&mut self, iteration: u32) {
        if let Some(last) = self.iterations.last_mut() {
            *last = iteration;
        }
    }
}

/// How many statements of a loop without a test come before what runs only where it is not left by the first of its `break`s.
pub fn turn_of(body: &[Statement]) -> Option<usize> {
    let leaves =
        |branch: &[Statement]| matches!(branch.last().map(|last| &last.kind), Some(StatementKind::Break));
    let may_leave = |statement: &Statement| match &statement.kind {
        StatementKind::If { then, otherwise, .. } => leaves(then) || leaves(otherwise),
        _ => false,
    };
    body.iter().position(may_leave).map(|at| at + 1)
}

/// What a round that stands for endless repetition must leave as it was, besides memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Nothing: no round reads what another left in registers.
    Nothing,
    /// The registers that there are at the head of the loop.
    Everything,
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
        | StatementKind::Unsupported(_)
        | StatementKind::Host(_) => false,
    })
}
