//! Loops that wait: how often they go round without effect does not matter.
//!
//! A round is *without effect* if it goes round again, writes nothing but what is already there, and leaves nothing in
//! registers that a later round reads, or just what was in them before. However often a thread makes such rounds, one of
//! them, the *try*, stands for all, and it is there only for what it may itself do wrong. The rounds that leave the loop,
//! change memory or end in the middle are the others. So a loop that only reads has one round besides its try, and needs no
//! bound.
//!
//! Every loop is run as a wait first. If a round reads a register that another has set, it is tried again with the test at
//! the end of a round, then with a try whose registers the next round starts with, and then with a try that leaves them as they
//! were: a loop that walks back over tiles, and stays at one until it is there, has such rounds. If that fails, too, everything is
//! taken back and the loop is unwound.
//!
//! Sound: take an execution with any number of rounds without effect, and leave out all but one, or all. Where they wrote
//! nothing, no one else read from them. So no value changes, relations only shrink, and axioms that are monotone allow what
//! is left. An assertion or hang elsewhere is still there, and one of a round left out is there in the execution that keeps
//! that round; so is what a flag marks, if that takes one such round at most. As no round reads what another left, or finds
//! what was there before, the one that is kept and the one after it are what they were.
//!
//! Where an atomic of a round wrote back what it had read, who read it from there now reads from where the atomic did, and
//! `rf` gains that pair. One kept round would hide this from one such reader, but not from two that have read from two. If
//! nobody races for the word, though, its writes are in one order in which the atomic comes right behind its source; then
//! what comes after the one comes after the other, whoever reads from the source has read of it before through the
//! read-modify-write, and nothing is observed that was not.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone), [`Need::OneRound`](crate::facts::needs::Need::OneRound); of
//! rounds that write back [`Need::NoRace`](crate::facts::needs::Need::NoRace),
//! [`Need::ReadsThroughUpdates`](crate::facts::needs::Need::ReadsThroughUpdates). What was just said of the model then is argued
//! axiom by axiom, so it takes those of a model that comes along, and no others about who reads from whom. Both are evaluated after
//! unrolling ([`crate::check`]), the race by bounds. Where one does not hold, such rounds are taken for rounds with an effect
//! (`UnrollOptions::writing_waits`).

use super::expression::Frame;
use super::hang::LastTry;
use super::loops::{Keeps, Round, Shape};
use super::{Env, State, UnrollError, Unroller};
use crate::event::{Because, EventId, EventKind, ObligationKind, Role, TermPool, TermRef, UnknownKind};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{
    InstructionKind, MbarrierOp, Program, RegisterId, Statement, StatementKind,
};

/// How a loop is taken for a wait.
#[derive(Clone, Copy)]
struct Way {
    /// The first test is made before, so that a round can set what the next test looks at.
    tests_last: bool,
    /// A round starts with what the try before it left in registers.
    keeps_try: bool,
    /// A try is a round that leaves registers as they were; one that changes them is none.
    leaves_registers: bool,
    /// A statement with an effect besides memory and registers. Such effects cannot be taken back, so the loop must be
    /// known to be a wait before the first round that may have one.
    effect: Option<Span>,
}

/// Where a thread does something that has an effect besides memory and registers.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    pub guard: TermRef,
    pub span: Span,
    /// Whether all it does is wait for others who do the same.
    pub is_meeting: bool,
}

/// What came of running a loop as a wait.
pub enum Waited {
    /// The paths that left it.
    Yes(State),
    /// It is none.
    No(Because),
}

/// A round without effect.
struct Try {
    /// Registers at the start of the round after it.
    env: Env,
    /// Registers that it changes.
    changed: Vec<RegisterId>,
    /// Whether it reads strongly or stands at something that blocks.
    spins: bool,
}

impl Unroller<'_> {
    /// Runs a loop as a wait, in the first way in which it is one; if it is none, it has not been run.
    pub(super) fn wait(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<Waited, UnrollError> {
        let effect_of_test = effect_in(self.program, shape.prelude);
        let effect = effect_of_test.or_else(|| effect_in(self.program, shape.body));
        let mut why = Because::TripCount;
        let ways = [(false, false), (false, true), (true, false), (true, true)];
        let ways = ways.map(|(keeps_try, tests_last)| (keeps_try, tests_last, false));
        // Effects besides memory and registers are not taken back.
        let more = [false, true].map(|tests_last| (false, tests_last, true));
        let more = more.into_iter().filter(|_| effect.is_none());
        for (keeps_try, tests_last, leaves_registers) in ways.into_iter().chain(more) {
            // A loop without a test of its own has none to make before, and effects of a test made before cannot be taken back.
            let has_test = !shape.is_unconditional() && !shape.body.is_empty() && effect_of_test.is_none();
            if tests_last && !has_test {
                continue;
            }
            let checkpoint = self.checkpoint();
            let way = Way { tests_last, keeps_try, leaves_registers, effect };
            if effect.is_some() {
                self.iterations.push(0);
            }
            let waited = self.wait_in(way, state.clone(), frame, shape)?;
            if effect.is_some() {
                self.iterations.pop();
            }
            match waited {
                Waited::Yes(after) => {
                    self.note_past_wait(state.live, after.live);
                    return Ok(Waited::Yes(after));
                }
                Waited::No(because) => {
                    self.take_back(&checkpoint);
                    why = because;
                }
            }
            if !matches!(why, Because::Carries { .. }) {
                break;
            }
        }
        // What a round does whatever it reads says more than what it keeps.
        Ok(Waited::No(match effect {
            Some(span) if !matches!(why, Because::Writes(_) | Because::WritesBack(_)) => Because::Meets(span),
            _ => why,
        }))
    }

    /// Notes what the guard of a path has more behind a wait than before.
    fn note_past_wait(&mut self, before: TermRef, after: TermRef) {
        let terms = &self.graph.terms;
        let before = terms.conjuncts(before);
        let new =
            terms.conjuncts(after).iter().copied().filter(|conjunct| before.binary_search(conjunct).is_err());
        self.past_waits.extend(new);
    }

    fn wait_in(
        &mut self,
        way: Way,
        mut head: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<Waited, UnrollError> {
        let (mut left, mut ways_out, mut spins) = (Vec::new(), self.no_way_out(), false);
        let shape = &Shape { tests_last: way.tests_last, ..*shape };
        let entry = head.env.clone();
        if way.tests_last {
            self.run(&mut head, frame, shape.prelude)?;
            if head.live != TermPool::FALSE {
                self.test(&mut head, frame, shape, &mut left)?;
            }
            head.env.restrict_to(&entry);
        }
        // Who walks tests once more than it goes on; where a loop is unwound, tests that are decided count as no rounds, either.
        let bound = self.options.bound + u32::from(way.leaves_registers);
        for iteration in 0..bound.max(1) {
            if way.effect.is_some() {
                self.set_iteration(iteration);
            }
            let first = self.graph.events.next_id();
            let before_try = self.checkpoint();
            let tried = match self.try_round(way, &head, frame, shape)? {
                Ok(tried) => Some(tried),
                Err(because) if iteration == 0 => return Ok(Waited::No(because)),
                // What held of the first round need not hold of later ones; then each counts.
                Err(_) => {
                    self.take_back(&before_try);
                    None
                }
            };
            let (_, goes) = self.graph.terms.fresh(1, UnknownKind::Passes);
            if self.looks_for_hangs() {
                let waits = self.graph.terms.not(goes);
                let standing = State { live: self.graph.terms.and(head.live, waits), env: head.env.clone() };
                let is_forgetful = tried.is_some() && !way.leaves_registers;
                let keeps = if is_forgetful { Keeps::Nothing } else { Keeps::Everything };
                self.stand(&standing, frame, shape, keeps)?;
            }
            let is_wait = tried.is_some();
            spins |= tried.as_ref().is_some_and(|tried| tried.spins);
            let (env, changed) = tried.map_or((head.env, Vec::new()), |tried| (tried.env, tried.changed));
            let going = State { live: self.graph.terms.and(head.live, goes), env };
            let env_at_head = going.env.clone();
            let (first_of_round, n_effects) = (self.graph.events.next_id(), self.effects.len());
            let head_of_round = going.live;
            let (mut round, missing) = self.deciding_round(way, going, frame, shape, &changed)?;
            if let Some(register) = missing {
                return Ok(Waited::No(carries(frame, register)));
            }
            round.again.env.restrict_to(&entry);
            let again = round.again.live;
            let (mut silent, culprit) = self.silence(first_of_round, n_effects, again);
            if way.leaves_registers {
                let same = self.same_registers(shape, &env_at_head, &round.again);
                silent = self.graph.terms.and(silent, same);
            }
            if is_wait {
                // A round without effect is a try, and is not made as another.
                let both = self.graph.terms.and(again, silent);
                let not = self.graph.terms.not(both);
                self.graph.constrain(not);
            } else {
                silent = TermPool::FALSE;
            }
            let loud = self.graph.terms.not(silent);
            let goes_on = self.graph.terms.and(again, loud) != TermPool::FALSE;
            self.ways_out(&mut ways_out, (head_of_round, first), &round.leaves, goes_on);
            left.append(&mut round.leaves);
            if !goes_on {
                break;
            }
            if iteration + 1 >= bound {
                self.cut(shape.id, again, &culprit.unwrap_or(Because::TripCount), spins);
            }
            head = round.again;
        }
        self.decide_by(ways_out, spins);
        Ok(Waited::Yes(self.join_all(left)))
    }

    /// Runs a round without effect, which may be in the execution before the next; or says why there is none.
    ///
    /// It goes round again, so it does not stop in the middle. What could go wrong in one that does is found in the next
    /// round.
    fn try_round(
        &mut self,
        way: Way,
        head: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<Result<Try, Because>, UnrollError> {
        let mut env = head.env.clone();
        if way.keeps_try {
            let checkpoint = self.checkpoint();
            let (_, again) = self.complete_round(head.clone(), frame, shape, Role::Await)?;
            let changed = self.changed(shape, &head.env, &again);
            self.take_back(&checkpoint);
            for register in changed {
                env.remove(register);
            }
        }
        let missing_before = self.missing_register.take();
        let (choice, happens) = self.graph.terms.fresh(1, UnknownKind::Spins(self.agent));
        let live = self.graph.terms.and(head.live, happens);
        let role = if way.keeps_try { Role::Await } else { Role::Spin(choice) };
        let (first, mut again) = self.complete_round(State { live, env }, frame, shape, role)?;
        let missing = std::mem::replace(&mut self.missing_register, missing_before);
        if let (true, Some(register)) = (way.keeps_try, missing) {
            return Ok(Err(carries(frame, register)));
        }
        self.missing_register = self.missing_register.or(missing);
        if again.live == TermPool::FALSE {
            return Ok(Err(Because::TripCount));
        }
        let (mut silent, culprit) = self.silence(first, self.effects.len(), again.live);
        if way.leaves_registers {
            again.env.restrict_to(&head.env);
            let same = self.same_registers(shape, &head.env, &again);
            silent = self.graph.terms.and(silent, same);
        }
        let silent = self.graph.terms.and(again.live, silent);
        if silent == TermPool::FALSE {
            let carried = self.changed(shape, &head.env, &again).first().map(|&it| carries(frame, it));
            return Ok(Err(culprit.or(carried).unwrap_or(Because::TripCount)));
        }
        let spins = is_pure_wait(shape) || self.spins(first, again.live);
        if way.leaves_registers && !spins {
            // Whoever waits for others reads what they write; a loop that does not counts its rounds.
            let carried = self.changed(shape, &head.env, &again).first().map(|&it| carries(frame, it));
            return Ok(Err(carried.unwrap_or(Because::TripCount)));
        }
        for id in (first.0..self.graph.events.next_id().0).map(EventId) {
            let event = &self.graph.events[id];
            let (is_write, guard) = (matches!(event.kind, EventKind::Write(_)), event.guard);
            if is_write && self.graph.terms.and(guard, again.live) != TermPool::FALSE {
                self.graph.writing_tries.push(choice);
                break;
            }
        }
        let tries = self.graph.terms.implies(live, silent);
        self.graph.constrain(tries);
        again.env.restrict_to(&head.env);
        if way.leaves_registers {
            return Ok(Ok(Try { env: head.env.clone(), changed: Vec::new(), spins }));
        }
        let changed = self.changed(shape, &head.env, &again);
        let mut env = head.env.clone();
        for &register in &changed {
            let kept = if way.keeps_try { again.env.get(register) } else { None };
            match (kept, head.env.get(register)) {
                (Some(after), Some(before)) => {
                    let value = self.graph.terms.if_then_else(happens, after, before);
                    env.set(register, value);
                }
                _ if way.effect.is_some() => return Ok(Err(carries(frame, register))),
                _ => env.remove(register),
            }
        }
        Ok(Ok(Try { env, changed, spins }))
    }

    /// The registers that something still reads and that a round which goes round again may have changed. One that is, on
    /// each path that goes round, what it was before has not: a search that keeps a mark until it has found something.
    pub(super) fn changed(&mut self, shape: &Shape<'_>, before: &Env, again: &State) -> Vec<RegisterId> {
        let changed = before.changed(&again.env).into_iter();
        let changed: Vec<RegisterId> = changed.filter(|&register| self.matters(shape, register)).collect();
        let mut differ = Vec::new();
        for register in changed {
            let same = self.same_register(register, before, again);
            if same != TermPool::TRUE {
                differ.push(register);
            }
        }
        differ
    }

    /// 1 iff the registers that something still reads are, on a path that goes round again, what they were before.
    pub(super) fn same_registers(&mut self, shape: &Shape<'_>, before: &Env, again: &State) -> TermRef {
        let changed = self.changed(shape, before, again);
        self.same(changed, before, again)
    }

    /// 1 iff these registers are, on a path that goes round again, what they were before.
    pub(super) fn same(&mut self, registers: Vec<RegisterId>, before: &Env, again: &State) -> TermRef {
        let mut same = TermPool::TRUE;
        for register in registers {
            let is_same = self.same_register(register, before, again);
            same = self.graph.terms.and(same, is_same);
        }
        same
    }

    fn same_register(&mut self, register: RegisterId, before: &Env, again: &State) -> TermRef {
        match (before.get(register), again.env.get(register)) {
            (Some(before), Some(after)) => {
                let is_same = self.graph.terms.equal(before, after);
                self.graph.terms.known_where(again.live, is_same)
            }
            _ => TermPool::FALSE,
        }
    }

    /// Whether something reads what a register is at the head of a loop: a round, or what comes after the loop, be it by another
    /// register that a round makes of it.
    fn matters(&self, shape: &Shape<'_>, register: RegisterId) -> bool {
        let is_kept = self.live.of_loop(shape.id).is_none_or(|registers| {
            let kept = if shape.tests_last { &registers.kept_past_test } else { &registers.kept };
            kept.contains(&register)
        });
        is_kept || self.is_carried(shape, register) || self.is_read_after(shape, register)
    }

    /// Whether something reads what a register is once a loop is left.
    pub(super) fn is_read_after(&self, shape: &Shape<'_>, register: RegisterId) -> bool {
        self.live.of_loop(shape.id).is_none_or(|registers| registers.after.contains(&register))
    }

    /// Whether a round decides something by what a register is at its head.
    pub(super) fn is_carried(&self, shape: &Shape<'_>, register: RegisterId) -> bool {
        self.live.of_loop(shape.id).is_none_or(|registers| {
            let carried = if shape.tests_last { &registers.carried_past_test } else { &registers.carried };
            carried.contains(&register)
        })
    }

    /// Runs a round of which only the paths that go round again are looked at; its first event, and those paths.
    fn complete_round(
        &mut self,
        state: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        role: Role,
    ) -> Result<(EventId, State), UnrollError> {
        let start = self.checkpoint();
        let first = self.graph.events.next_id();
        let outer = (self.role, self.completes, self.is_pure_wait);
        // What is part of a try that may be left out is so whatever it is besides.
        if !matches!((outer.0, role), (Role::Spin(_), Role::Await)) {
            self.role = role;
        }
        self.completes = true;
        self.is_pure_wait = is_pure_wait(shape);
        let round = self.round(state, frame, shape, None);
        (self.role, self.completes, self.is_pure_wait) = outer;
        self.exits.truncate(start.n_exits);
        self.graph.cuts.truncate(start.n_cuts);
        // A rule that ends the path where it is broken is not broken on a path that goes round again.
        let added = self.graph.obligations.split_off(start.n_obligations);
        let kept = added.into_iter().filter(|obligation| obligation.kind == ObligationKind::Assertion);
        self.graph.obligations.extend(kept);
        Ok((first, round?.again))
    }

    /// Runs a round that may leave; also a register that it reads, or leaves with, although some other round has set it.
    fn deciding_round(
        &mut self,
        way: Way,
        state: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        changed: &[RegisterId],
    ) -> Result<(Round, Option<RegisterId>), UnrollError> {
        let missing_before = self.missing_register.take();
        let outer_role = self.role;
        if outer_role == Role::Plain && way.effect.is_none() {
            self.role = Role::Await;
        }
        let round = self.round(state, frame, shape, None);
        self.role = outer_role;
        let round = round?;
        let lost = |left: &State| changed.iter().copied().find(|&it| left.env.get(it).is_none());
        let missing = self.missing_register.or_else(|| round.leaves.iter().find_map(lost));
        self.missing_register = missing_before;
        Ok((round, missing))
    }

    /// Whether a round that began with event `first`, and with as many other effects noted, changes nothing on a path; and
    /// what it may change.
    fn silence(&mut self, first: EventId, n_effects: usize, path: TermRef) -> (TermRef, Option<Because>) {
        let mut silent = TermPool::TRUE;
        let mut culprit = None;
        for &Effect { guard, span, .. } in &self.effects[n_effects..] {
            let both = self.graph.terms.and(guard, path);
            let not = self.graph.terms.not(both);
            if not != TermPool::TRUE {
                culprit.get_or_insert(Because::Meets(span));
            }
            silent = self.graph.terms.and(silent, not);
        }
        for id in (first.0..self.graph.events.next_id().0).map(EventId) {
            let event = &self.graph.events[id];
            let EventKind::Write(access) = &event.kind else { continue };
            let (guard, written, site) = (event.guard, access.value, event.site);
            let both = self.graph.terms.and(guard, path);
            if both == TermPool::FALSE {
                continue;
            }
            let read = self.graph.rmw.iter().rev().find(|&&(_, write)| write == id).map(|&(read, _)| read);
            let before = read.and_then(|read| self.graph.events[read].kind.access()).map(|read| read.value);
            let terms = &mut self.graph.terms;
            let same = before.map_or(TermPool::FALSE, |before| terms.equal(before, written));
            let writes_back = same != TermPool::FALSE && !self.options.writing_waits;
            let same = if writes_back { TermPool::FALSE } else { same };
            let same = terms.implies(both, same);
            // It is asked of the path only.
            let same = terms.known_where(path, same);
            if same != TermPool::TRUE && culprit.is_none() {
                let because = if writes_back { Because::WritesBack } else { Because::Writes };
                culprit = site.map(|site| because(self.graph.sites[site].span));
            }
            silent = self.graph.terms.and(silent, same);
        }
        (silent, culprit)
    }

    /// Notes an effect besides memory and registers; whether it happens. Where only rounds without effect are looked at, it
    /// ends the path.
    pub(super) fn take_effect(&mut self, state: &mut State, span: Span, is_meeting: bool) -> bool {
        if self.completes || self.last_try.is_some() {
            self.last_try.iter_mut().for_each(LastTry::stop);
            state.live = TermPool::FALSE;
            return false;
        }
        self.effects.push(Effect { guard: state.live, span, is_meeting });
        true
    }

    /// Whether a place at which the current thread may stand for ever is worth a note.
    pub(super) fn looks_for_hangs(&self) -> bool {
        self.options.hangs && self.options.hangs_in_loops && !self.completes
    }
}

fn carries(frame: &Frame<'_>, register: RegisterId) -> Because {
    let name = &frame.registers[register].name;
    Because::Carries { register: (!name.starts_with('%')).then(|| name.clone()) }
}

/// A statement with an effect besides memory and registers.
fn effect_in(program: &Program, statements: &[Statement]) -> Option<Span> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Host(_) => Some(statement.span),
        StatementKind::Instruction(instruction) => instruction.form.traits.acts.then_some(statement.span),
        StatementKind::If { then, otherwise, .. } => {
            effect_in(program, then).or_else(|| effect_in(program, otherwise))
        }
        StatementKind::For { body, .. } => effect_in(program, body),
        StatementKind::While { prelude, body, .. } => {
            effect_in(program, prelude).or_else(|| effect_in(program, body))
        }
        StatementKind::Await { prelude, .. } => effect_in(program, prelude),
        StatementKind::Call { function, .. } => {
            effect_in(program, &program.functions[*function].body).map(|_| statement.span)
        }
        StatementKind::Assert(_)
        | StatementKind::Assume(_)
        | StatementKind::Reachable(_)
        | StatementKind::Assign { .. }
        | StatementKind::Unsupported(_)
        | StatementKind::Break
        | StatementKind::Exit => None,
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
