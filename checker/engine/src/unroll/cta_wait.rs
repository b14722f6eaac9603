//! Waits of whole CTAs: how often all threads of a CTA go round a loop together, without effect, does not matter.
//!
//! CUTLASS's semaphore is such a loop: one thread reads a word, and `bar.red` tells all of them whether to go on. A round has
//! an effect, the barrier, so no thread waits by itself ([`wait`](super::wait)). But the threads of the CTA come out of a round
//! as they went into it if *all* of them make it, go round again, write nothing but words that say something to those of the
//! same round ([`told`](super::told)), and leave in registers that a later round reads what was there before.
//! The loop is unwound as others are, and of its rounds without effect at most one is in an execution. Rounds
//! begin where a round is seen to go on, behind the test, so that what was read is forgotten there.
//!
//! Sound: take an execution with more of them, and leave out all but one, of all threads of the CTA. Each barrier that such
//! a round comes to is one of the whole CTA, or of lanes that all are in the loop, and each thread has come through it
//! equally often, so those that are left meet as before, and `bar.red` tells them the same. Nobody read from what was left
//! out. What order goes with it only shrinks relations. Who makes such rounds for ever is shown where it stands at the head
//! of one: as for a thread alone ([`hang`](super::hang)), but with all threads of the CTA in one round on final memory, in
//! which barriers are passed and reductions are of what that round computes.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone), and [`Need::OneRound`](crate::facts::needs::Need::OneRound)
//! of all events of such rounds, with two ends of a flagged pair in them counted as two rounds even if they are of two
//! threads: those may be of one CTA. Of words that are told, what [`told`](super::told) needs.
//!
//! Cannot: rounds that write something else, barriers of some threads, lanes that tell one another values, CTAs of which a
//! thread has exited before, reads on final memory that would have to be events.

use super::expression::Frame;
use super::hang::LastTry;
use super::loops::{Keeps, Round, Shape};
use super::told::{Bytes, Telling, Told};
use super::{Env, State, UnrollError, Unroller};
use crate::event::{AgentId, Because, Blocked, CtaId, EventId, EventKind, TermPool, TermRef, UnknownKind};
use crate::synchronization::barrier::reduce;
use crate::synchronization::log::{Form, Generation, Group};
use fencepost_dsl::Span;
use fencepost_dsl::index::Id as _;
use fencepost_dsl::kernel::program::{
    BarrierKind, BarrierReduction, Expression, InstructionKind, LoopId, RegisterId,
};
use std::collections::{BTreeMap, BTreeSet};

/// A loop as the threads of a CTA come to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    cta: CtaId,
    id: LoopId,
    /// Of the loops around it.
    iterations: Vec<u32>,
    calls: Vec<Span>,
}

/// One of its rounds.
pub type RoundKey = (Place, u32);

impl Place {
    /// One of its rounds.
    pub fn round(&self, iteration: u32) -> RoundKey {
        (self.clone(), iteration)
    }
}

/// What was seen of such loops while threads were run.
#[derive(Default)]
pub struct CtaWaits {
    /// What each thread did in each round.
    rounds: BTreeMap<RoundKey, Vec<RoundOf>>,
    /// Where each thread would make a round on final memory.
    standings: BTreeMap<RoundKey, Vec<StandingOf>>,
    /// Loops of which a thread never makes such a round.
    never: BTreeSet<Place>,
    /// Whether the CTA goes on at the head of a round.
    goes: BTreeMap<RoundKey, TermRef>,
    /// What a barrier tells the threads in a round on final memory, by the number of the barrier in it.
    results: BTreeMap<(RoundKey, usize, u8), TermRef>,
    /// What a word of shared memory tells them there.
    pub told: BTreeMap<(RoundKey, Bytes), TermRef>,
}

/// What one thread did in a round.
struct RoundOf {
    agent: AgentId,
    /// On a path that goes round again, and changes nothing.
    silent: TermRef,
    /// The executions of barriers in it.
    executions: std::ops::Range<usize>,
    events: (EventId, EventId),
    /// The stores by which it tells the others something.
    stores: Vec<EventId>,
}

/// One thread at the head of a round that it would make on final memory.
struct StandingOf {
    /// Where it stands, without saying that the others do.
    blocked: Blocked,
    meetings: Vec<Meeting>,
    tellings: Vec<Telling>,
    /// Whether what it does there is known.
    is_known: bool,
}

/// What there is at the start of a round.
#[derive(Clone, Copy)]
pub struct StartOfRound {
    first: EventId,
    n_effects: usize,
    n_executions: usize,
}

/// A barrier in a round on final memory.
#[derive(Clone, Debug)]
pub struct Meeting {
    guard: TermRef,
    /// The barrier of the CTA, or the mask of the warp.
    number: TermRef,
    is_of_warp: bool,
    /// What `bar.red` combines, and what comes out of it.
    reduces: Option<(BarrierReduction, TermRef, TermRef)>,
}

impl Meeting {
    /// Whether all threads of the CTA meet there.
    pub fn is_of_all(&self) -> bool {
        !self.is_of_warp
    }
}

/// The barrier that an instruction is, if all it does is wait there for all threads of the CTA, or for lanes of a warp; no kind, if
/// it is a warp's.
pub fn meeting_of(kind: &InstructionKind) -> Option<(Option<&BarrierKind>, &Expression)> {
    match kind {
        InstructionKind::Barrier { kind: BarrierKind::Arrive, .. } => None,
        InstructionKind::Barrier { kind, id, count: None, instance: None, .. } => Some((Some(kind), id)),
        InstructionKind::WarpSync { mask } => Some((None, mask)),
        _ => None,
    }
}

impl CtaWaits {
    /// Drops what was said by terms that have been taken back.
    pub fn forget_taken_back(&mut self, terms: &TermPool) {
        self.results.retain(|_, result| terms.contains(*result));
        self.told.retain(|_, told| terms.contains(*told));
    }
}

impl Unroller<'_> {
    /// The loop, if threads of a CTA may go round it together without effect.
    pub(super) fn cta_wait(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        because: &Because,
    ) -> Result<Option<Place>, UnrollError> {
        let meets = matches!(because, Because::Meets(_));
        let is_off = !self.options.cta_waits || self.options.bound == 0;
        if !meets || is_off || self.completes || self.last_try.is_some() {
            return Ok(None);
        }
        if self.graph.hierarchy.is_host(self.agent) || !self.may_go_on_for_ever(state, frame, shape) {
            return Ok(None);
        }
        let cta = self.graph.hierarchy.cta_of(self.agent);
        let place =
            Place { cta, id: shape.id, iterations: self.iterations.clone(), calls: self.calls.clone() };
        if !self.cta_waits.never.contains(&place) && self.may_have_no_effect(&place, state, frame, shape)? {
            return Ok(Some(place));
        }
        self.cta_waits.never.insert(place);
        Ok(None)
    }

    /// Whether a round may go round again without effect: not where it writes in any case, or does something else.
    fn may_have_no_effect(
        &mut self,
        place: &Place,
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<bool, UnrollError> {
        let checkpoint = self.checkpoint();
        self.last_try = Some(LastTry::together(place.round(0)));
        let shape = Shape { tests_last: false, turn: 0, counts: false, ..*shape };
        let round = self.round(state.clone(), frame, &shape, None);
        let last = self.last_try.take().unwrap_or_default();
        let live = round.map(|round| round.again.live);
        let terms = &self.graph.terms;
        let may = |live: TermRef| {
            live != TermPool::FALSE
                && last.hears_what_it_tells()
                && !last.writes().any(|at| terms.entails(live, at))
        };
        let may = live.map(may);
        self.take_back(&checkpoint);
        may
    }

    /// Lets the CTA stand at the head of a round for ever; the thread goes on where it does not.
    pub(super) fn stand_together(
        &mut self,
        key: RoundKey,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<(), UnrollError> {
        let terms = &mut self.graph.terms;
        let goes =
            *self.cta_waits.goes.entry(key.clone()).or_insert_with(|| terms.fresh(1, UnknownKind::Passes).1);
        if self.looks_for_hangs() {
            let waits = self.graph.terms.not(goes);
            let live = self.graph.terms.and(state.live, waits);
            let checkpoint = self.checkpoint();
            let way = LastTry::together(key.clone());
            let standing = State { live, env: state.env.clone() };
            let (stuck, last) = self.last_round(standing, frame, shape, Keeps::Everything, (way, 1))?;
            let is_known = last.is_imaginable();
            let (wait, meetings, tellings) = last.into_wait();
            if !is_known || stuck == TermPool::FALSE {
                self.take_back(&checkpoint);
            }
            let blocked = Blocked {
                agent: self.agent,
                span: self.program.loops[shape.id].span,
                iterations: self.iterations.clone(),
                calls: self.calls.clone(),
                stuck: if is_known { stuck } else { TermPool::FALSE },
                wait,
            };
            let standing = StandingOf { blocked, meetings, tellings, is_known };
            self.cta_waits.standings.entry(key).or_default().push(standing);
        }
        state.live = self.graph.terms.and(state.live, goes);
        self.past_waits.push(goes);
        Ok(())
    }

    pub(super) fn start_of_round(&self) -> StartOfRound {
        StartOfRound {
            first: self.graph.events.next_id(),
            n_effects: self.effects.len(),
            n_executions: self.barriers.log.executions.len(),
        }
    }

    /// Whether a round writes nothing on a path but what it may tell others, and does nothing else with an effect but meet them.
    fn no_effect(&mut self, start: StartOfRound, stores: &[EventId], path: TermRef) -> TermRef {
        let effects = self.effects[start.n_effects..].iter().filter(|effect| !effect.is_meeting);
        let mut guards: Vec<TermRef> = effects.map(|effect| effect.guard).collect();
        let own = self.graph.events.iter_enumerated().skip(start.first.index());
        let writes = own.filter(|(id, event)| {
            matches!(event.kind, EventKind::Write(_)) && stores.binary_search(id).is_err()
        });
        guards.extend(writes.map(|(_, event)| event.guard));
        let mut none = TermPool::TRUE;
        for guard in guards {
            let both = self.graph.terms.and(guard, path);
            let not = self.graph.terms.not(both);
            none = self.graph.terms.and(none, not);
        }
        none
    }

    /// Notes what a thread has done in a round.
    pub(super) fn note_round(
        &mut self,
        key: RoundKey,
        start: StartOfRound,
        (before, round): (&Env, &Round),
        (frame, shape): (&Frame<'_>, &Shape<'_>),
    ) -> Result<(), UnrollError> {
        let mut again = round.cut.as_ref().unwrap_or(&round.again).clone();
        again.env.restrict_to(before);
        let mut changed = self.changed(shape, before, &again);
        if self.forgets(&key, &again, &changed, (frame, shape))? {
            changed.retain(|&register| self.is_read_after(shape, register));
        }
        let stores = self.stores_since(start.first);
        let (no_effect, same) =
            (self.no_effect(start, &stores, again.live), self.same(changed, before, &again));
        let silent = self.graph.terms.and_all([again.live, no_effect, same]);
        let executions = start.n_executions..self.barriers.log.executions.len();
        let events = (start.first, self.graph.events.next_id());
        let round = RoundOf { agent: self.agent, silent, executions, events, stores };
        self.cta_waits.rounds.entry(key).or_default().push(round);
        Ok(())
    }

    /// Whether the thread's next round reads nothing that registers were at its head, whatever it does.
    fn forgets(
        &mut self,
        key: &RoundKey,
        head: &State,
        registers: &[RegisterId],
        (frame, shape): (&Frame<'_>, &Shape<'_>),
    ) -> Result<bool, UnrollError> {
        if registers.is_empty() || head.live == TermPool::FALSE {
            return Ok(false);
        }
        self.last_try = Some(LastTry::together(key.clone()));
        let reads = self.reads_any_of(registers, head, frame, shape);
        // What comes behind a place where it was not run on may read anything.
        let is_whole = self.last_try.take().is_some_and(|last| !last.is_stopped());
        Ok(!reads? && is_whole)
    }

    /// Comes to a barrier in a round on final memory that threads make together; whether it is in one.
    pub(super) fn meets_on_final_memory(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        (kind, id): (Option<&BarrierKind>, &Expression),
    ) -> Result<bool, UnrollError> {
        let Some((key, n)) = self.last_try.as_ref().and_then(LastTry::meeting) else { return Ok(false) };
        let number = self.evaluate(state, frame, id)?;
        let reduces = match kind {
            Some(BarrierKind::Arrive) => return Ok(false),
            None | Some(BarrierKind::Sync) => None,
            Some(BarrierKind::Reduce { destination, op, predicate }) => {
                let predicate = self.evaluate(state, frame, predicate)?;
                let width = if *op == BarrierReduction::Popc { 32 } else { 1 };
                let terms = &mut self.graph.terms;
                let result = *self
                    .cta_waits
                    .results
                    .entry((key, n, *op as u8))
                    .or_insert_with(|| terms.fresh(width, UnknownKind::BarrierResult).1);
                let value = self.graph.terms.resize(result, frame.width(*destination));
                state.env.set(*destination, value);
                Some((*op, predicate, result))
            }
        };
        let meeting = Meeting { guard: state.live, number, is_of_warp: kind.is_none(), reduces };
        if let Some(last) = &mut self.last_try {
            last.meet(meeting);
        }
        Ok(true)
    }

    /// Says which rounds are made by all threads of a CTA without effect, once all have been run: that there is at most one, and
    /// where they make such rounds for ever.
    pub(super) fn settle_cta_waits(&mut self) {
        let CtaWaits { rounds, mut standings, .. } = std::mem::take(&mut self.cta_waits);
        let mut silent: BTreeMap<Place, Vec<TermRef>> = BTreeMap::new();
        let mut events: BTreeMap<Place, Vec<EventId>> = BTreeMap::new();
        for ((place, _), of_round) in rounds {
            let threads = self.graph.hierarchy.threads_of_cta(place.cta).count();
            if of_round.len() < threads || !self.meet_alike(&of_round) {
                continue;
            }
            let together = self.graph.terms.and_all(of_round.iter().map(|round| round.silent));
            if together == TermPool::FALSE {
                continue;
            }
            let is_of_round = |event: EventId| {
                of_round.iter().any(|round| round.events.0 <= event && event < round.events.1)
            };
            let stores: Vec<EventId> = of_round.iter().flat_map(|round| &round.stores).copied().collect();
            if !self.stay_inside(&stores, &is_of_round, together) {
                continue;
            }
            let own = of_round.iter().flat_map(|round| round.events.0.0..round.events.1.0).map(EventId);
            // Those without effect write nothing but what is told, of which no race is an end.
            let is_told = |event: EventId| self.source_of(event).is_some_and(|store| stores.contains(&store));
            let own = own.filter(|&event| {
                !matches!(self.graph.events[event].kind, EventKind::Write(_)) && !is_told(event)
            });
            events.entry(place.clone()).or_default().extend(own);
            silent.entry(place).or_default().push(together);
        }
        for (place, silent) in silent {
            // A loop in which it is not known who would stand counts its rounds.
            if silent.len() < 2 || !self.say_who_stands(&place, &mut standings) {
                continue;
            }
            for (index, &later) in silent.iter().enumerate() {
                for &earlier in &silent[..index] {
                    let both = self.graph.terms.and(earlier, later);
                    let not = self.graph.terms.not(both);
                    self.graph.constrain(not);
                }
            }
            self.graph.cta_rounds.extend(events.remove(&place).unwrap_or_default());
        }
    }

    /// Whether threads come to the same barriers in a round, each of which is one of all its threads, equally often.
    fn meet_alike(&mut self, of_round: &[RoundOf]) -> bool {
        let mut met: BTreeMap<Group, BTreeMap<AgentId, Vec<Generation>>> = BTreeMap::new();
        for round in of_round {
            for execution in &self.barriers.log.executions[round.executions.clone()] {
                let is_plain = !matches!(execution.form, Form::Arrive)
                    && execution.count.is_none()
                    && !self.barriers.log.loose.contains(&execution.group);
                let is_whole = matches!(execution.group, Group::Cta(..) | Group::Warp(..));
                let is_made = self.graph.terms.entails(round.silent, execution.guard);
                let is_never = self.graph.terms.excludes_syntactically(round.silent, execution.guard);
                if is_never {
                    continue;
                }
                if !is_plain || !is_whole || !is_made {
                    return false;
                }
                met.entry(execution.group)
                    .or_default()
                    .entry(round.agent)
                    .or_default()
                    .push(execution.generation);
            }
        }
        let hierarchy = &self.graph.hierarchy;
        met.iter().all(|(group, by_thread)| {
            let takes_part = |agent: AgentId| match *group {
                Group::Warp(warp, mask) => {
                    hierarchy.warp_of(agent) == warp && mask >> hierarchy.threads[agent].lane & 1 == 1
                }
                _ => true,
            };
            let generations = by_thread.values().next();
            of_round
                .iter()
                .map(|round| round.agent)
                .filter(|&agent| takes_part(agent))
                .all(|agent| by_thread.get(&agent) == generations)
        })
    }

    /// Notes where the threads of a CTA go round a loop for ever; `false` if that is not known.
    fn say_who_stands(&mut self, place: &Place, standings: &mut BTreeMap<RoundKey, Vec<StandingOf>>) -> bool {
        if !(self.options.hangs && self.options.hangs_in_loops) {
            return true;
        }
        let n_threads = self.graph.hierarchy.threads_of_cta(place.cta).count();
        let all_rounds = place.round(0)..=place.round(u32::MAX);
        let keys: Vec<RoundKey> = standings.range(all_rounds).map(|(key, _)| key.clone()).collect();
        let known = |key: &RoundKey| standings[key].iter().all(|standing| standing.is_known);
        if !keys.iter().all(known) {
            return false;
        }
        let mut all = Vec::new();
        for key in keys {
            let standing = standings.remove(&key).unwrap_or_default();
            if standing.len() < n_threads {
                // Some of them never come to this round.
                continue;
            }
            let Some(stuck) = self.all_stand(&standing) else { return false };
            all.push((stuck, standing));
        }
        for (stuck, standing) in all {
            if stuck != TermPool::FALSE {
                let blocked = standing.into_iter().map(|one| Blocked { stuck, ..one.blocked });
                self.graph.blocked.extend(blocked);
            }
        }
        true
    }

    /// 1 iff all threads stand, and go round again by what barriers tell them; `None` if they do not come to the same ones.
    fn all_stand(&mut self, standing: &[StandingOf]) -> Option<TermRef> {
        let stuck = self.graph.terms.and_all(standing.iter().map(|one| one.blocked.stuck));
        if stuck == TermPool::FALSE {
            return Some(stuck);
        }
        let n_meetings = standing.first().map_or(0, |one| one.meetings.len());
        let mut parts = vec![stuck];
        for n in 0..n_meetings {
            let met: Option<Vec<&Meeting>> = standing.iter().map(|one| one.meetings.get(n)).collect();
            let met = met?;
            let first = met[0];
            let is_alike = |one: &&Meeting| {
                let ops = |of: &Meeting| of.reduces.map(|(op, _, result)| (op as u8, result));
                (one.number, one.is_of_warp) == (first.number, first.is_of_warp) && ops(one) == ops(first)
            };
            let is_made =
                |(one, own): (&&Meeting, &StandingOf)| self.graph.terms.entails(own.blocked.stuck, one.guard);
            if !met.iter().all(is_alike) || !met.iter().zip(standing).all(is_made) {
                return None;
            }
            if let Some((op, _, result)) = first.reduces {
                let predicates: Vec<TermRef> =
                    met.iter().filter_map(|one| one.reduces.map(|(_, predicate, _)| predicate)).collect();
                let combined = reduce(&mut self.graph.terms, op, predicates);
                parts.push(self.graph.terms.equal(result, combined));
            }
        }
        let told: Vec<Told<'_>> = standing
            .iter()
            .map(|one| Told { stuck: one.blocked.stuck, tellings: &one.tellings, meetings: &one.meetings })
            .collect();
        parts.extend(self.told_to_all(&told)?);
        let is_longer = standing.iter().any(|one| one.meetings.len() != n_meetings);
        (!is_longer).then(|| self.graph.terms.and_all(parts))
    }
}
