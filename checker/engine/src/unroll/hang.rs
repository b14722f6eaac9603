//! What a hang is, and where a thread can stay for ever.
//!
//! A hang is a maximal execution, under fair schedules, in which some thread has not ended (design: deadlock). Each such
//! thread either stands at an instruction that blocks, whose condition is false in the end, or *goes round a loop for ever,
//! changing nothing*: from some round on, every round begins and ends at the head of the loop with the same registers,
//! writes only what is already there, and each of its strong reads returns the last write that it is promised to see, or a
//! later one (LT-8): a strong write with each of the two in the other's scope. Nothing is promised of other writes, nor for
//! weak reads (LT-7): they return whatever the model lets them, after what the round itself has acquired. One such round
//! stands for all. It does not matter what the loop is part of: the thread has got there on what it read then, and only
//! the innermost loop that it never leaves is run on memory as it is in the end.
//!
//! So at the head of each loop the round is run once more, on final memory. Where it reads by strong reads only, of words
//! whose writes are all promised, it leaves no events: a read by a thread that does nothing afterwards may always return the
//! coherence-last write, since no axiom orders anything after it. Else all its reads and fences are events (writes are
//! not: they write what is there). Its strong reads are of last writes, but for words that it does not write itself and
//! somebody writes without a promise ([`unpromised`]): there they are of writes that no promised one is after, and the model
//! says which older ones causality still leaves. Where such a round reads weakly what it writes itself, its own writes
//! would have to be events. There only the case is tried in which it reads what is there, and the bound counts as well.
//!
//! A loop inside such a round is run on final memory, too. Where it goes round for ever itself, that is said where the
//! thread stands in that loop. Where it is cut, nothing is known of the round, which may come back to its head: the cut
//! stays, and the bound counts.
//!
//! Sound: a thread that stays in a loop for ever either changes memory again and again, which runs past every bound and is
//! never proved; or from some round on changes nothing, and since only finitely many writes are by others that do not
//! stand, some round reads only last writes. What a round leaves in registers is a change only if some round decides something
//! by it ([`live`](super::live)): how often it has gone round, say, may be read when it is over. Where registers run in a circle,
//! the rounds on final memory go on until they are back; circles longer than that, and those of rounds with weak reads, count as
//! runs past the bound.
//!
//! Needs: [`Need::Monotone`](crate::facts::needs::Need::Monotone), since the rounds of one who stands are left out. Where they are
//! not, nobody stands in a loop (`UnrollOptions::hangs_in_loops`); then a loop that may go on is open at each bound. What LT-8
//! promises it promises whatever the model. Which words have writes without a promise is seen in the graph, and it is unrolled
//! again where there are any (`Facts::look_at`).

use super::access::{Part, Strength};
use super::cta_wait::{Meeting, RoundKey};
use super::expression::{Frame, Place};
use super::loops::{Keeps, Shape};
use super::spa::{CachedLoad, Freshness, Invalidated};
use super::told::Telling;
use super::{Env, State, UnrollError, Unroller};
use crate::event::{
    Access, AgentId, Because, Blocked, EventGraph, EventId, EventKind, FinalLook, LocationId, Role, SiteId,
    TermPool, TermRef, UnknownKind, Wait,
};
use fencepost_dsl::kernel::program::{RegisterId, StorageId};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::{Replication, Scope, Sem};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rounds of a loop inside a round on final memory that never leave and never have a choice: so many, and it is taken to run
/// past every bound.
const ROUNDS_MAX: u32 = 256;

/// Rounds on final memory after which registers that run in a circle are what they were: stages of a ring, say.
const CIRCLE_MAX: u32 = 8;

/// How far a round on final memory has come.
struct SoFar {
    met_weak: bool,
    met_unpromised: bool,
    n_looks: usize,
    phase: Option<Wait>,
    n_invalidated: [usize; 3],
    n_cached: usize,
    n_repeats: usize,
    n_touched: usize,
    n_meetings: usize,
    n_tellings: usize,
}

/// What is known of a round on final memory.
#[derive(Clone, Default)]
pub struct LastTry {
    /// Whether its reads and fences are events.
    is_real: bool,
    /// Whether its weak reads are of last writes, too.
    reads_last: bool,
    /// Whether it has come to a weak read without being real.
    met_weak: bool,
    /// Whether it has come to a strong read of a word with writes that it is not promised to see.
    met_unpromised: bool,
    /// Where the round was seen to write, if it was run before.
    own_writes: Vec<Bytes>,
    looks: Vec<FinalLook>,
    /// The last mbarrier wait of the round.
    phase: Option<Wait>,
    /// What the round has invalidated in L1 caches so far.
    invalidated: Invalidated,
    /// Its loads that may hit stale lines.
    cached: Vec<(EventId, CachedLoad)>,
    /// What holds if it changes nothing and its strong reads are of last writes.
    repeats: Vec<TermRef>,
    /// Where it writes, though nothing new, and where it reads weakly.
    touched: Vec<Touched>,
    /// That a loop inside it was cut, on a path that had changed nothing so far.
    is_cut: Option<TermRef>,
    /// Which round it is, if all threads of the CTA make it.
    together: Option<RoundKey>,
    /// The barriers that it comes to then.
    meetings: Vec<Meeting>,
    /// The words by which it tells the others something then, and is told.
    tellings: Vec<Telling>,
    /// Whether a path of it ends where it goes on with what is not run there: an effect, more rounds of a loop.
    is_stopped: bool,
}

/// Bytes of a location; from an unknown one on, if there is no first.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    location: LocationId,
    first: Option<u128>,
    width_bytes: u32,
}

impl Bytes {
    fn meet(self, other: Self) -> bool {
        let is_apart = match (self.first, other.first) {
            (Some(x), Some(y)) => {
                x + u128::from(self.width_bytes) <= y || y + u128::from(other.width_bytes) <= x
            }
            _ => false,
        };
        self.location == other.location && !is_apart
    }
}

/// Where a round on final memory writes, or reads weakly.
#[derive(Clone, Copy, Debug)]
struct Touched {
    guard: TermRef,
    bytes: Bytes,
    is_write: bool,
}

/// The storages that a thread may stand reading strongly and that somebody else writes so that it is not promised to see it.
pub fn unpromised(graph: &EventGraph) -> SortedSet<StorageId> {
    // LT-8 is about PTX: what an SPA machine stores arrives everywhere in the end.
    if graph.hierarchy.launch().spa.is_some() {
        return SortedSet::new();
    }
    let mut readers: FxHashMap<LocationId, FxHashSet<(AgentId, Scope)>> = FxHashMap::default();
    for blocked in &graph.blocked {
        let Wait::Memory(looks) = &blocked.wait else { continue };
        for look in looks {
            if let Some(scope) = look.access.strong_scope() {
                readers.entry(look.access.location).or_default().insert((blocked.agent, scope));
            }
        }
    }
    let mut found = SortedSet::new();
    for event in graph.events.iter() {
        let (EventKind::Write(access), Some(writer)) = (&event.kind, event.agent) else { continue };
        let Some(readers) = readers.get(&access.location) else { continue };
        let is_seen = |&(reader, scope): &(AgentId, Scope)| {
            reader == writer
                || graph.hierarchy.promises((writer, access.strong_scope()), (reader, Some(scope)))
        };
        if !readers.iter().all(is_seen) {
            found.insert(graph.locations[access.location].storage);
        }
    }
    found
}

impl LastTry {
    /// Of a round that all threads of a CTA make.
    pub fn together(key: RoundKey) -> Self {
        Self { together: Some(key), ..Self::default() }
    }
    /// Which round it is, if all threads of the CTA make it, and how many barriers it has come to.
    pub fn meeting(&self) -> Option<(RoundKey, usize)> {
        self.together.clone().map(|key| (key, self.meetings.len()))
    }
    /// Remembers a barrier that it comes to.
    pub fn meet(&mut self, meeting: Meeting) {
        self.meetings.push(meeting);
    }
    /// Remembers a word by which it tells the others something, or is told.
    pub fn tell(&mut self, telling: Telling) {
        self.tellings.push(telling);
    }
    /// Whether whatever it tells the others it reads, too. What it computes for them it need not.
    pub fn hears_what_it_tells(&self) -> bool {
        Telling::are_all_heard(&self.tellings)
    }
    /// Remembers that a path ends where it goes on with what is not run here.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }
    /// Whether a path of it ended so.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }
    /// When it writes.
    pub fn writes(&self) -> impl Iterator<Item = TermRef> + '_ {
        self.touched.iter().filter(|touched| touched.is_write).map(|touched| touched.guard)
    }
    /// Whether all is known of what it does without events.
    pub fn is_imaginable(&self) -> bool {
        !self.met_weak && !self.met_unpromised && self.is_cut.is_none()
    }
    /// What it waits for, the barriers that it has come to, and the words by which it has told something or was told.
    pub fn into_wait(self) -> (Wait, Vec<Meeting>, Vec<Telling>) {
        let wait = match self.phase {
            Some(phase) if self.looks.is_empty() => phase,
            _ => Wait::Memory(self.looks),
        };
        (wait, self.meetings, self.tellings)
    }
    /// What the round has invalidated in L1 caches so far.
    pub fn invalidated(&mut self) -> &mut Invalidated {
        &mut self.invalidated
    }
    /// Remembers an mbarrier wait of the round.
    pub fn note_phase(&mut self, wait: Wait) {
        self.phase = Some(wait);
    }
    /// What it takes to forget what comes after. Lists only grow, so their lengths will do: a loop in the round asks for
    /// this in each of its own rounds.
    fn so_far(&self) -> SoFar {
        SoFar {
            met_weak: self.met_weak,
            met_unpromised: self.met_unpromised,
            n_looks: self.looks.len(),
            phase: self.phase.clone(),
            n_invalidated: self.invalidated.lengths(),
            n_cached: self.cached.len(),
            n_repeats: self.repeats.len(),
            n_touched: self.touched.len(),
            n_meetings: self.meetings.len(),
            n_tellings: self.tellings.len(),
        }
    }
    fn go_back(&mut self, to: SoFar) {
        self.met_weak = to.met_weak;
        self.met_unpromised = to.met_unpromised;
        self.looks.truncate(to.n_looks);
        self.phase = to.phase;
        self.invalidated.truncate(to.n_invalidated);
        self.cached.truncate(to.n_cached);
        self.repeats.truncate(to.n_repeats);
        self.touched.truncate(to.n_touched);
        self.meetings.truncate(to.n_meetings);
        self.tellings.truncate(to.n_tellings);
    }
}

impl Unroller<'_> {
    /// Whether what is run is a round on final memory that leaves no events.
    pub(super) fn is_imagined(&self) -> bool {
        self.last_try.as_ref().is_some_and(|last| !last.is_real)
    }

    /// Demands of a round on final memory that it changes nothing.
    pub(super) fn repeats_only_if(&mut self, guard: TermRef, term: TermRef) {
        let term = self.graph.terms.implies(guard, term);
        if let Some(last) = &mut self.last_try
            && term != TermPool::TRUE
        {
            last.repeats.push(term);
        }
    }

    /// Remembers where a round on final memory writes, or reads weakly.
    pub(super) fn note_touched(
        &mut self,
        guard: TermRef,
        element: (Place, usize),
        part: Part,
        strength: Strength,
        is_write: bool,
    ) {
        let nothing = self.graph.terms.constant(0, part.width);
        let Access { location, offset, width_bytes, .. } =
            self.scalar_access(element, part, nothing, strength);
        let bytes = Bytes { location, first: self.graph.terms.constant_value(offset), width_bytes };
        if let Some(last) = &mut self.last_try {
            last.touched.push(Touched { guard, bytes, is_write });
        }
    }

    /// Whether a weak read of a round may be of what the round itself writes. Its writes are no events, but a thread's reads
    /// come after its own writes of the same bytes, in this round or the one before: what they return is not known here.
    fn reads_own_writes(last: &LastTry) -> bool {
        let of = |is_write: bool| last.touched.iter().filter(move |touched| touched.is_write == is_write);
        of(true).any(|write| of(false).any(|read| write.bytes.meet(read.bytes)))
    }

    /// A write by a round on final memory: it must write what is there.
    pub(super) fn last_write(
        &mut self,
        guard: TermRef,
        element: (Place, usize),
        part: Part,
        value: TermRef,
        strength: Strength,
    ) {
        if self.tells(guard, element, part, value, strength) {
            return;
        }
        let held = self.final_element(element, part, strength);
        let same = self.graph.terms.equal(held, value);
        self.repeats_only_if(guard, same);
        self.note_touched(guard, element, part, strength, true);
    }

    /// Notes that the thread may go round a loop for ever, on a path at its head; whether it can.
    pub(super) fn stand(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        keeps: Keeps,
    ) -> Result<bool, UnrollError> {
        if state.live == TermPool::FALSE {
            return Ok(false);
        }
        let checkpoint = self.checkpoint();
        let (mut stuck, mut last) =
            self.last_round(state.clone(), frame, shape, keeps, (LastTry::default(), CIRCLE_MAX))?;
        if last.met_weak || last.met_unpromised {
            let written = last.touched.iter().filter(|touched| touched.is_write).map(|touched| touched.bytes);
            // Of what a circle does with weak reads nothing is known.
            let n_rounds = if last.met_weak { 1 } else { CIRCLE_MAX };
            let way = LastTry { own_writes: written.collect(), ..LastTry::default() };
            self.take_back(&checkpoint);
            (stuck, last) = self.last_round_as_events(state, frame, shape, keeps, (way.clone(), n_rounds))?;
            if Self::reads_own_writes(&last) {
                let weak =
                    last.looks.iter().find(|look| look.is_weak).map(|look| self.graph.sites[look.site].span);
                let because = Because::ReadsOwnWrites(weak.unwrap_or(self.program.loops[shape.id].span));
                self.take_back(&checkpoint);
                let way = LastTry { reads_last: true, ..way };
                (stuck, last) = self.last_round_as_events(state, frame, shape, keeps, (way, n_rounds))?;
                self.cut(shape.id, state.live, &because, false);
            }
        }
        if stuck == TermPool::FALSE {
            let is_open = last.reads_last || last.is_cut.is_some();
            if !is_open {
                self.take_back(&checkpoint);
            }
            return Ok(is_open);
        }
        self.graph.blocked.push(Blocked {
            agent: self.agent,
            span: self.program.loops[shape.id].span,
            iterations: self.iterations.clone(),
            calls: self.calls.clone(),
            stuck,
            wait: last.into_wait().0,
        });
        Ok(true)
    }

    /// The same with events, in executions in which the thread makes such a round. Where a round reads what it writes
    /// itself, the one case that is tried is that its weak reads are of what is there, too.
    fn last_round_as_events(
        &mut self,
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        keeps: Keeps,
        (way, n_rounds): (LastTry, u32),
    ) -> Result<(TermRef, LastTry), UnrollError> {
        let (choice, happens) = self.graph.terms.fresh(1, UnknownKind::Spins(self.agent));
        let role = std::mem::replace(&mut self.role, Role::Spin(choice));
        let live = self.graph.terms.and(state.live, happens);
        let real = State { live, env: state.env.clone() };
        let way = LastTry { is_real: true, ..way };
        let round = self.last_round(real, frame, shape, keeps, (way, n_rounds));
        self.role = role;
        let (stuck, last) = round?;
        let known = last.is_cut.map_or(stuck, |cut| self.graph.terms.or(stuck, cut));
        let whole = self.graph.terms.implies(live, known);
        self.graph.constrain(whole);
        Ok((stuck, last))
    }

    /// Runs rounds on final memory: the path on which they change nothing, and come back to the registers that they started
    /// with.
    pub(super) fn last_round(
        &mut self,
        state: State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
        keeps: Keeps,
        (way, n_rounds): (LastTry, u32),
    ) -> Result<(TermRef, LastTry), UnrollError> {
        let head = state.env.clone();
        let (n_exits, n_cuts) = (self.exits.len(), self.graph.cuts.len());
        self.last_try = Some(way);
        let mut again = state;
        // On which paths the registers are back, after some round.
        let mut back = TermPool::FALSE;
        for _ in 0..n_rounds {
            let round = self.round(again.clone(), frame, shape, None);
            let Ok(round) = round else {
                self.last_try = None;
                self.exits.truncate(n_exits);
                return round.map(|_| (TermPool::FALSE, LastTry::default()));
            };
            again = round.again;
            again.env.restrict_to(&head);
            let same = match keeps {
                Keeps::Nothing => TermPool::TRUE,
                Keeps::Everything => self.same_carried(shape, &head, &again),
            };
            let comes_back = self.graph.terms.and(again.live, same);
            back = self.graph.terms.or(back, comes_back);
            // In a circle registers differ for certain until they are back; what may differ or not has no length.
            if same != TermPool::FALSE || again.live == TermPool::FALSE {
                break;
            }
        }
        let mut last = self.last_try.take().unwrap_or_default();
        self.exits.truncate(n_exits);
        // What it does where it leaves is not done again.
        last.touched.retain(|touched| self.graph.terms.and(again.live, touched.guard) != TermPool::FALSE);
        let mut parts = vec![back];
        parts.extend(&last.repeats);
        // What a round invalidates behind a load, the round after it finds invalidated.
        for (event, load) in &last.cached {
            let path = self.graph.terms.or_all(last.invalidated.paths(load));
            if path != TermPool::FALSE {
                let (_, reads_last) = self.graph.terms.fresh(1, UnknownKind::ReadsLast(*event));
                let happens = self.graph.terms.and(load.guard, path);
                parts.push(self.graph.terms.implies(happens, reads_last));
            }
        }
        let repeats = self.graph.terms.and_all(last.repeats.iter().copied());
        let mut is_cut = TermPool::FALSE;
        for index in n_cuts..self.graph.cuts.len() {
            let guard = self.graph.cuts[index].guard;
            let guard = self.graph.terms.and(guard, repeats);
            self.graph.cuts[index].guard = guard;
            is_cut = self.graph.terms.or(is_cut, guard);
        }
        last.is_cut = (is_cut != TermPool::FALSE).then_some(is_cut);
        Ok((self.graph.terms.and_all(parts), last))
    }

    /// Whether the registers by which a round decides something are what they were at the head of a loop.
    fn same_carried(&mut self, shape: &Shape<'_>, head: &Env, again: &State) -> TermRef {
        let carried: Vec<RegisterId> = head
            .changed(&again.env)
            .into_iter()
            .filter(|&register| self.is_carried(shape, register))
            .collect();
        self.same(carried, head, again)
    }

    /// Runs a loop inside a round on final memory. Paths on which it goes round for ever end.
    pub(super) fn last_loop(
        &mut self,
        state: &mut State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<(), UnrollError> {
        let entry = state.env.clone();
        let endless = shape.is_endless();
        let mut left = Vec::new();
        let mut n_uncertain = 0;
        // A loop may go round without having a choice any more, and change registers for ever: in a circle, which shows when
        // they are again what they were after so many rounds, or on and on.
        let (mut n_forced, mut earlier) = (0_u32, state.env.clone());
        while state.live != TermPool::FALSE {
            let n_exits = self.exits.len();
            let mut round = self.round(state.clone(), frame, shape, None)?;
            let may_have_left = !round.leaves.is_empty() || self.exits.len() > n_exits;
            left.append(&mut round.leaves);
            let mut again = round.again;
            again.env.restrict_to(&entry);
            if again.live == TermPool::FALSE {
                break;
            }
            let changed = state.env.changed(&again.env);
            if changed.is_empty() || self.is_forgetful(state, &changed, frame, shape)? {
                break;
            }
            let is_forced = !round.uncertain && !may_have_left;
            n_forced = if is_forced { n_forced + 1 } else { 0 };
            let comes_back = is_forced && earlier.changed(&again.env).is_empty();
            let never_leaves = comes_back || (shape.is_unconditional() && n_forced == ROUNDS_MAX);
            if !is_forced || n_forced.is_power_of_two() {
                earlier = again.env.clone();
            }
            if n_uncertain == self.options.bound || never_leaves {
                self.cut(shape.id, again.live, &Because::TripCount, false);
                break;
            }
            if round.uncertain || endless || (shape.is_unconditional() && may_have_left) {
                n_uncertain += 1;
            }
            *state = again;
        }
        *state = self.join_all(left);
        Ok(())
    }

    /// Whether a round does not read what an earlier one has left in registers, so that on final memory it does the same.
    fn is_forgetful(
        &mut self,
        state: &State,
        changed: &[RegisterId],
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<bool, UnrollError> {
        let last = self.last_try.as_ref().map(LastTry::so_far);
        let read = self.reads_any_of(changed, state, frame, shape);
        if let (Some(now), Some(before)) = (&mut self.last_try, last) {
            now.go_back(before);
        }
        Ok(!read?)
    }

    /// Whether a round, of which nothing is kept, reads one of some registers before it sets it.
    pub(super) fn reads_any_of(
        &mut self,
        registers: &[RegisterId],
        state: &State,
        frame: &Frame<'_>,
        shape: &Shape<'_>,
    ) -> Result<bool, UnrollError> {
        let (checkpoint, missing_before) = (self.checkpoint(), self.missing_register.take());
        let mut env = state.env.clone();
        registers.iter().for_each(|&register| env.remove(register));
        let round = self.round(State { live: state.live, env }, frame, shape, None);
        let missing = std::mem::replace(&mut self.missing_register, missing_before);
        if let Some(last) = &mut self.last_try
            && self.graph.cuts.len() > checkpoint.n_cuts
        {
            last.stop();
        }
        self.take_back(&checkpoint);
        round?;
        Ok(missing.is_some())
    }

    /// What a read of a round on final memory returns.
    pub(super) fn last_look(
        &mut self,
        guard: TermRef,
        site: SiteId,
        position: u32,
        element: (Place, usize),
        part: Part,
        strength: Strength,
    ) -> Result<(Option<EventId>, TermRef), UnrollError> {
        if let Some(told) = self.is_told(guard, element, part, strength) {
            return Ok((None, told));
        }
        let freshness = match strength.sem {
            Sem::Weak => self.freshness(guard, element, part, strength),
            _ => Freshness::Fresh,
        };
        let is_weak = !matches!(freshness, Freshness::Fresh);
        let is_multimem = self.kernel.objects[element.0.object].replication == Replication::Multimem;
        let instance = is_multimem.then(|| self.location(element.0));
        let (event, value) = if self.is_imagined() {
            (None, self.final_element(element, part, strength))
        } else {
            self.read_event(guard, site, position, element, part, strength)?
        };
        let nothing = self.graph.terms.constant(0, part.width);
        let access = self.scalar_access(element, part, nothing, strength);
        let storage = self.graph.locations[access.location].storage;
        let bytes = Bytes {
            location: access.location,
            first: self.graph.terms.constant_value(access.offset),
            width_bytes: access.width_bytes,
        };
        let last = self.last_try.as_ref();
        let is_own = last.is_some_and(|last| last.own_writes.iter().any(|own| own.meet(bytes)));
        let is_unpromised = !is_weak && self.options.unpromised.contains(&storage) && !is_own;
        let reads_last = !is_weak || last.is_some_and(|last| last.reads_last);
        if let (Some(event), true) = (event, reads_last) {
            let kind =
                if is_unpromised { UnknownKind::ReadsPromised(event) } else { UnknownKind::ReadsLast(event) };
            let (_, last) = self.graph.terms.fresh(1, kind);
            self.repeats_only_if(guard, last);
        }
        if is_weak {
            self.note_touched(guard, element, part, strength, false);
        }
        if let Some(last) = &mut self.last_try {
            last.met_unpromised |= is_unpromised;
            if let (Some(event), Freshness::Cached(load)) = (event, freshness) {
                last.cached.push((event, load));
            }
            last.met_weak |= is_weak;
            last.looks.push(FinalLook { site, access, instance, guard, value, is_weak, event });
        }
        Ok((event, value))
    }

    /// Final memory where an access goes, whatever its index.
    fn final_element(&mut self, element: (Place, usize), part: Part, strength: Strength) -> TermRef {
        let object = &self.kernel.objects[element.0.object];
        let nothing = self.graph.terms.constant(0, part.width);
        let access = self.scalar_access(element, part, nothing, strength);
        if let Some(offset) = self.graph.terms.constant_value(access.offset) {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            return self.final_bytes(access.location, offset, part.width);
        }
        let first = u64::from(object.offset_bytes) + u64::from(part.low_bit / 8);
        let step = u64::from(object.width / 8);
        let (least, most) = self.graph.terms.range(access.offset);
        let mut value = nothing;
        for offset in (0..object.n_elements()).map(|index| first + index * step) {
            if !(least..=most).contains(&u128::from(offset)) {
                continue;
            }
            let bytes =
                self.final_bytes(access.location, u32::try_from(offset).unwrap_or(u32::MAX), part.width);
            let terms = &mut self.graph.terms;
            let here = terms.constant(u128::from(offset), 32);
            let here = terms.equal(access.offset, here);
            value = terms.if_then_else(here, bytes, value);
        }
        value
    }

    /// Drops what was said of final memory by terms that have been taken back.
    pub(super) fn forget_final_values(&mut self) {
        let terms = &self.graph.terms;
        self.final_values.retain(|_, value| terms.contains(*value));
    }
}
