//! The machine: all interleavings of the steps that the rules allow, with what loads find and L1s hold.

use super::rules::{Event, Queue, Rules, Step};
use super::{BTreeMap, BTreeSet, HashSet, Op, Outcome, Path, Reading, Sketch, Value};

/// Most states of a program that are looked at.
const STATES_MAX: usize = 400_000;

/// All outcomes of a program; `None` if there are too many states.
pub fn outcomes(sketch: &Sketch, reading: Reading) -> Option<BTreeSet<Outcome>> {
    let mut found = BTreeSet::new();
    let conditional: Vec<(usize, usize)> = all_ops(sketch)
        .filter(|(_, _, op)| matches!(op, Op::StoreIf(..)))
        .map(|(thread, at, _)| (thread, at))
        .collect();
    let mut n_states = 0;
    for chosen in 0..1_u32 << conditional.len() {
        let is_executed = |thread: usize, at: usize| {
            conditional.iter().position(|&own| own == (thread, at)).is_none_or(|bit| chosen >> bit & 1 == 1)
        };
        let is_event = |op: Op| match op {
            Op::Barrier => false,
            Op::Membar(_, data, texture) => data || texture,
            _ => true,
        };
        let events: Vec<Event> = all_ops(sketch)
            .filter(|&(thread, at, op)| is_event(op) && is_executed(thread, at))
            .map(|(thread, at, op)| Event { thread, at, op })
            .collect();
        let queue = Queue { sketch, reading, events: &events };
        for order in orders(sketch, &events) {
            let rules = queue.rules(&order);
            let skipped: Vec<(usize, usize)> =
                conditional.iter().copied().filter(|&(thread, at)| !is_executed(thread, at)).collect();
            let run = Run { queue: &queue, rules: &rules, order: &order, skipped };
            run.explore(&mut found, &mut n_states)?;
        }
    }
    Some(found)
}

fn all_ops(sketch: &Sketch) -> impl Iterator<Item = (usize, usize, Op)> + '_ {
    let threads = sketch.threads.iter().enumerate();
    threads.flat_map(|(thread, ops)| ops.iter().enumerate().map(move |(at, &op)| (thread, at, op)))
}

/// Every order of the stores of each location that keeps to each thread's own: numbers from 1 per location.
fn orders(sketch: &Sketch, events: &[Event]) -> Vec<BTreeMap<usize, usize>> {
    let mut all = vec![BTreeMap::new()];
    for location in 0..sketch.n_locations {
        let stores: Vec<usize> = (0..events.len())
            .filter(|&id| events[id].stores() && events[id].location() == Some(location))
            .collect();
        let keeps = |permutation: &Vec<usize>| {
            permutation.iter().enumerate().all(|(at, &a)| {
                permutation[at..]
                    .iter()
                    .all(|&b| events[a].thread != events[b].thread || events[a].at <= events[b].at)
            })
        };
        let permutations: Vec<Vec<usize>> = permutations(&stores).into_iter().filter(keeps).collect();
        let mut longer = Vec::new();
        for order in &all {
            for permutation in &permutations {
                let mut order: BTreeMap<usize, usize> = order.clone();
                order.extend(permutation.iter().enumerate().map(|(at, &id)| (id, at + 1)));
                longer.push(order);
            }
        }
        all = longer;
    }
    all
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(at);
        for mut tail in permutations(&rest) {
            tail.insert(0, first);
            all.push(tail);
        }
    }
    all
}

/// A line as an L1 holds it for a thread: through which path, of which location, the stores of which distance.
type Line = (usize, Path, usize, u8);

/// Where a run has got to.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    done: u64,
    /// Per event that loads: the number of the store it has found so far, 0 for the initial value.
    found: Vec<usize>,
    lines: BTreeMap<Line, usize>,
}

struct Run<'a> {
    queue: &'a Queue<'a>,
    rules: &'a Rules,
    order: &'a BTreeMap<usize, usize>,
    /// Conditional stores that are not executed.
    skipped: Vec<(usize, usize)>,
}

impl Run<'_> {
    fn explore(&self, found: &mut BTreeSet<Outcome>, n_states: &mut usize) -> Option<()> {
        let start = State { done: 0, found: vec![0; self.queue.events.len()], lines: BTreeMap::new() };
        let n_steps = self.rules.steps.len();
        let all = if n_steps == 0 { 0 } else { u64::MAX >> (64 - n_steps) };
        let mut seen: HashSet<State> = HashSet::from([start.clone()]);
        let mut stack = vec![start];
        while let Some(state) = stack.pop() {
            *n_states += 1;
            if *n_states > STATES_MAX {
                return None;
            }
            if state.done == all {
                found.extend(self.outcome(&state));
                continue;
            }
            for next in self.successors(&state) {
                if seen.insert(next.clone()) {
                    stack.push(next);
                }
            }
        }
        Some(())
    }

    fn is_done(&self, state: &State, wanted: impl Fn(Step) -> bool) -> bool {
        let mut steps = self.rules.steps.iter().enumerate();
        steps.all(|(bit, &step)| !wanted(step) || state.done >> bit & 1 == 1)
    }

    fn successors(&self, state: &State) -> Vec<State> {
        let mut next = self.fills(state);
        for (bit, &step) in self.rules.steps.iter().enumerate() {
            let is_ready = state.done >> bit & 1 == 0 && self.rules.before[bit] & !state.done == 0;
            if !is_ready || !self.has_seen_enough(state, step) {
                continue;
            }
            let mut after = state.clone();
            after.done |= 1 << bit;
            match step {
                Step::Look(event, level) => next.extend(self.look(&after, event, level)),
                Step::Drop(event) => {
                    self.drop_lines(&mut after, event);
                    next.push(after);
                }
                Step::Show(event, _) | Step::Arrive(event, _) => {
                    if !self.is_torn(&after, event) && self.is_known(&after, event, 0) {
                        next.push(after);
                    }
                }
            }
        }
        next
    }

    /// Whether an atomic does not put its value right behind the one it has loaded.
    fn is_torn(&self, state: &State, event: usize) -> bool {
        matches!(self.queue.events[event].op, Op::Exchange(..))
            && self.number(state, event) + 1 != self.order[&event]
    }

    /// Whether the stores that a `MEMBAR` before a step covers have come far enough.
    fn has_seen_enough(&self, state: &State, step: Step) -> bool {
        self.queue.events.iter().enumerate().filter(|(_, load)| load.loads().is_some()).all(|(id, load)| {
            let level = self.queue.covers(load, step);
            if level == 0 || self.queue.reach(step) > level {
                return true;
            }
            let Some(source) = self.source(load, self.number(state, id)) else { return true };
            let writer = self.queue.events[source].thread;
            let is_other = writer != load.thread && self.queue.sketch.distance(writer, load.thread) <= level;
            let is_meant =
                |own: Step| own.event() == source && own.is_of_store() && self.queue.reach(own) <= level;
            !is_other || self.is_done(state, is_meant)
        })
    }

    /// The store of a number at the location of a load.
    fn source(&self, load: &Event, number: usize) -> Option<usize> {
        let mut stores = self.order.iter();
        let is_it = |&(&id, &own): &(&usize, &usize)| {
            own == number && self.queue.events[id].location() == load.location()
        };
        stores.find(is_it).map(|(&id, _)| id)
    }

    /// Whether the L1 that a load goes through is not told of a thread's stores.
    fn is_far(&self, load: &Event, path: Path, writer: usize) -> bool {
        let seats = &self.queue.sketch.seats;
        let (own, other) = (seats[load.thread], seats[writer]);
        match path {
            Path::Past => false,
            Path::Data if self.queue.reading.sm_shares_nothing => own.place != other.place,
            Path::Data => own.sm != other.sm,
            Path::Texture => true,
        }
    }

    /// The last store of a distance that the thread of a load can see, of those told to its L1 or of the others.
    fn visible(&self, state: &State, load: &Event, level: u8, wanted: impl Fn(usize) -> bool) -> usize {
        let sketch = self.queue.sketch;
        let place = sketch.seats[load.thread].place;
        let shown = self.rules.steps.iter().enumerate().filter_map(|(bit, &step)| match step {
            Step::Show(event, own) if own == place && state.done >> bit & 1 == 1 => Some(event),
            _ => None,
        });
        let is_meant = |&event: &usize| {
            let store = &self.queue.events[event];
            store.location() == load.location()
                && store.thread != load.thread
                && sketch.distance(store.thread, load.thread) == level
                && wanted(store.thread)
        };
        shown.filter(is_meant).map(|event| self.order[&event]).max().unwrap_or(0)
    }

    /// Fills of lines that loads may still hit.
    fn fills(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for (bit, &step) in self.rules.steps.iter().enumerate() {
            let Step::Look(event, level) = step else { continue };
            let load = &self.queue.events[event];
            let (Some(path), Some(location)) = (load.loads(), load.location()) else { continue };
            if path == Path::Past || state.done >> bit & 1 == 1 {
                continue;
            }
            let value = self.visible(state, load, level, |writer| self.is_far(load, path, writer));
            let line = (load.thread, path, location, level);
            if state.lines.get(&line) != Some(&value) {
                let mut filled = state.clone();
                filled.lines.insert(line, value);
                next.push(filled);
            }
        }
        next
    }

    /// What a load may find at a distance: in its L1, or past it.
    fn look(&self, state: &State, event: usize, level: u8) -> Vec<State> {
        let load = &self.queue.events[event];
        let (Some(path), Some(location)) = (load.loads(), load.location()) else { return Vec::new() };
        let near = self.visible(state, load, level, |writer| !self.is_far(load, path, writer));
        let far = self.visible(state, load, level, |writer| self.is_far(load, path, writer));
        let line = (load.thread, path, location, level);
        // A miss: the line was not there, or is not any more.
        let mut missed = state.clone();
        missed.lines.remove(&line);
        missed.found[event] = missed.found[event].max(near).max(far);
        let mut next = vec![missed];
        if let Some(&held) = state.lines.get(&line) {
            let mut hit = state.clone();
            hit.found[event] = hit.found[event].max(near).max(held);
            next.push(hit);
        }
        next
    }

    fn drop_lines(&self, state: &mut State, event: usize) {
        let dropping = &self.queue.events[event];
        let seats = &self.queue.sketch.seats;
        let sm = seats[dropping.thread].sm;
        let (data, texture) = self.queue.drops_all(dropping);
        state.lines.retain(|&(thread, path, location, _), _| {
            let is_line = path == Path::Data && dropping.location() == Some(location);
            let is_all = (path == Path::Data && data) || (path == Path::Texture && texture);
            !(sm.is_some() && seats[thread].sm == sm && (is_line || is_all))
        });
    }

    /// What a load has in the end: what it found, or a later store of its own thread before it.
    fn number(&self, state: &State, event: usize) -> usize {
        let load = &self.queue.events[event];
        let is_own = |store: &Event| {
            store.stores()
                && store.thread == load.thread
                && store.at < load.at
                && store.location() == load.location()
        };
        let own = self.queue.events.iter().enumerate().filter(|(_, store)| is_own(store));
        own.map(|(id, _)| self.order[&id]).max().unwrap_or(0).max(state.found[event])
    }

    /// Whether the value that a store writes is known: what it is computed from has been loaded.
    fn is_known(&self, state: &State, event: usize, depth: usize) -> bool {
        let store = &self.queue.events[event];
        let of_register = |register: usize| {
            let Some(load) = self.load_of(store.thread, register) else { return false };
            let is_loaded =
                self.is_done(state, |step| step.event() == load && matches!(step, Step::Look(..)));
            let source = self.source(&self.queue.events[load], self.number(state, load));
            let own = source.filter(|&source| self.queue.events[source].thread == store.thread);
            is_loaded && own.is_none_or(|source| self.is_known(state, source, depth + 1))
        };
        depth < 16 && store.used().into_iter().all(of_register)
    }

    fn load_of(&self, thread: usize, register: usize) -> Option<usize> {
        let is_it = |event: &Event| event.thread == thread && event.register() == Some(register);
        self.queue.events.iter().position(is_it)
    }

    fn value_of(&self, state: &State, event: usize) -> u64 {
        let store = &self.queue.events[event];
        match store.op {
            Op::Store(_, value) | Op::StoreIf(_, _, value) => match value {
                Value::Constant(value) => value,
                Value::Sum(register, more) => self.register(state, store.thread, register) + more,
            },
            Op::Exchange(_, _, value) => value,
            _ => 0,
        }
    }

    fn register(&self, state: &State, thread: usize, register: usize) -> u64 {
        let Some(load) = self.load_of(thread, register) else { return 0 };
        let source = self.source(&self.queue.events[load], self.number(state, load));
        source.map_or(0, |source| self.value_of(state, source))
    }

    /// Whether a load has found a store of its own thread that comes after it, or one that replaced that.
    fn is_ahead(&self, state: &State, id: usize) -> bool {
        let load = &self.queue.events[id];
        let is_own_later = |store: &Event| {
            store.stores()
                && store.thread == load.thread
                && store.at > load.at
                && store.location() == load.location()
        };
        let mut stores = self.queue.events.iter().enumerate();
        stores.any(|(own, store)| is_own_later(store) && self.order[&own] <= self.number(state, id))
    }

    /// The outcome of a finished run, if it is one after all: guesses were right, loads are not ahead of their threads.
    fn outcome(&self, state: &State) -> Option<Outcome> {
        let events = self.queue.events;
        for (id, event) in events.iter().enumerate() {
            if event.loads().is_some() && (self.is_torn(state, id) || self.is_ahead(state, id)) {
                return None;
            }
            if let Op::StoreIf(condition, ..) = event.op
                && self.register(state, event.thread, condition) == 0
            {
                return None;
            }
        }
        for &(thread, at) in &self.skipped {
            if let Op::StoreIf(condition, ..) = self.queue.sketch.threads[thread][at]
                && self.register(state, thread, condition) != 0
            {
                return None;
            }
        }
        let mut outcome = Outcome::new();
        for event in events {
            if let Some(register) = event.register() {
                let name = format!("t{}r{register}", event.thread);
                outcome.insert(name, self.register(state, event.thread, register));
            }
        }
        for location in 0..self.queue.sketch.n_locations {
            let stores = self.order.iter().filter(|(id, _)| events[**id].location() == Some(location));
            let last = stores.max_by_key(|(_, number)| **number).map(|(&id, _)| id);
            outcome.insert(format!("x{location}"), last.map_or(0, |id| self.value_of(state, id)));
        }
        Some(outcome)
    }
}
