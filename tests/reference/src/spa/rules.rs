//! What must have happened before what: the waiting rules of a thread's queue, written out for all steps of a program.

use super::{BTreeMap, Op, Path, Reading, Sketch, Value};

/// An executed instruction that accesses memory or invalidates.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Thread.
    pub thread: usize,
    /// Place in the thread.
    pub at: usize,
    /// The instruction.
    pub op: Op,
}

impl Event {
    /// The location a store, load or atomic accesses.
    pub fn location(&self) -> Option<usize> {
        match self.op {
            Op::Load(_, _, location)
            | Op::Store(location, _)
            | Op::StoreIf(_, location, _)
            | Op::Exchange(_, location, _)
            | Op::InvalidateLine(location) => Some(location),
            Op::Membar(..) | Op::InvalidateAll(..) | Op::Barrier => None,
        }
    }
    /// Whether it stores.
    pub fn stores(&self) -> bool {
        matches!(self.op, Op::Store(..) | Op::StoreIf(..) | Op::Exchange(..))
    }
    /// Whether it loads, and through what.
    pub fn loads(&self) -> Option<Path> {
        match self.op {
            Op::Load(path, ..) => Some(path),
            Op::Exchange(..) => Some(Path::Past),
            _ => None,
        }
    }
    /// The register it loads into.
    pub fn register(&self) -> Option<usize> {
        match self.op {
            Op::Load(_, register, _) | Op::Exchange(register, ..) => Some(register),
            _ => None,
        }
    }
    /// The registers that it uses.
    pub fn used(&self) -> Vec<usize> {
        match self.op {
            Op::Store(_, Value::Sum(register, _)) => vec![register],
            Op::StoreIf(condition, _, Value::Sum(register, _)) => vec![condition, register],
            Op::StoreIf(condition, ..) => vec![condition],
            _ => Vec::new(),
        }
    }
}

/// A step of an event, the event first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A store becomes visible to a place.
    Show(usize, usize),
    /// A store arrives in the memory of a level.
    Arrive(usize, u8),
    /// A load looks at the stores of a distance.
    Look(usize, u8),
    /// Lines are dropped.
    Drop(usize),
}

impl Step {
    /// The event.
    pub fn event(self) -> usize {
        match self {
            Self::Show(event, _) | Self::Arrive(event, _) | Self::Look(event, _) | Self::Drop(event) => event,
        }
    }
    /// Whether it is one of a store.
    pub fn is_of_store(self) -> bool {
        matches!(self, Self::Show(..) | Self::Arrive(..))
    }
}

/// Steps, and for each those that must come before it.
pub struct Rules {
    /// The steps.
    pub steps: Vec<Step>,
    /// Bit sets of steps.
    pub before: Vec<u64>,
}

/// The queues of all threads.
pub struct Queue<'a> {
    /// The program.
    pub sketch: &'a Sketch,
    /// How it is read.
    pub reading: Reading,
    /// What is executed.
    pub events: &'a [Event],
}

impl Queue<'_> {
    /// How far a step reaches; dropping lines is the own SM's business.
    pub fn reach(&self, step: Step) -> u8 {
        match step {
            Step::Show(event, place) => {
                let other = self.sketch.seats.iter().position(|seat| seat.place == place);
                other.map_or(1, |other| self.sketch.distance(self.events[event].thread, other))
            }
            Step::Arrive(_, level) | Step::Look(_, level) => level,
            Step::Drop(_) => 0,
        }
    }

    /// The steps of all events: only those that another event can notice.
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (id, event) in self.events.iter().enumerate() {
            let same = || self.events.iter().filter(|other| other.location() == event.location());
            let writers = same().filter(|other| other.stores() && other.thread != event.thread);
            let levels = sorted(writers.map(|other| self.sketch.distance(event.thread, other.thread)));
            if event.stores() {
                let readers = same().filter(|other| other.loads().is_some());
                let places = sorted(readers.map(|other| self.sketch.seats[other.thread].place));
                steps.extend(places.into_iter().map(|place| Step::Show(id, place)));
                steps.extend(levels.iter().map(|&level| Step::Arrive(id, level)));
            }
            if event.loads().is_some() {
                steps.extend(levels.iter().map(|&level| Step::Look(id, level)));
            }
            let is_line = matches!(event.op, Op::InvalidateLine(_) | Op::Exchange(..));
            if is_line || self.drops_all(event) != (false, false) {
                steps.push(Step::Drop(id));
            }
        }
        steps
    }

    /// Whether an event drops the whole data and texture L1.
    pub fn drops_all(&self, event: &Event) -> (bool, bool) {
        match event.op {
            Op::Membar(_, data, texture) | Op::InvalidateAll(data, texture) => (data, texture),
            _ => (false, false),
        }
    }

    /// Whether dropping makes a load fetch anew.
    fn refreshes(&self, dropping: &Event, load: &Event) -> bool {
        let (data, texture) = self.drops_all(dropping);
        match (load.loads(), dropping.op) {
            (Some(Path::Data), Op::InvalidateLine(_) | Op::Exchange(..)) => {
                load.location() == dropping.location()
            }
            (Some(Path::Data), _) => data,
            (Some(Path::Texture), _) => texture,
            _ => false,
        }
    }

    /// All rules.
    pub fn rules(&self, order: &BTreeMap<usize, usize>) -> Rules {
        let steps = self.steps();
        assert!(steps.len() <= 64, "a small program");
        let mut before = vec![0_u64; steps.len()];
        for (i, &first) in steps.iter().enumerate() {
            for (j, &second) in steps.iter().enumerate() {
                if i != j && self.waits(first, second, order) {
                    before[j] |= 1 << i;
                }
            }
        }
        Rules { steps, before }
    }

    fn waits(&self, first: Step, second: Step, order: &BTreeMap<usize, usize>) -> bool {
        let (a, b) = (&self.events[first.event()], &self.events[second.event()]);
        if first.event() == second.event() {
            return self.waits_within(first, second);
        }
        // Stores arrive in the order that they end up in, where those of their threads meet.
        if let (Step::Arrive(_, level), Step::Arrive(_, other)) = (first, second)
            && level == other
            && a.location() == b.location()
            && self.sketch.distance(a.thread, b.thread) == level
            && order.get(&first.event()) < order.get(&second.event())
        {
            return true;
        }
        if a.thread == b.thread {
            return a.at < b.at && self.waits_in_thread(first, second);
        }
        self.sketch.seats[a.thread].place == self.sketch.seats[b.thread].place
            && self.waits_at_barrier(first, second)
    }

    /// Steps of one event.
    fn waits_within(&self, first: Step, second: Step) -> bool {
        match (first, second) {
            // An atomic stores after it has loaded, and then drops its line.
            (Step::Look(..), Step::Show(..) | Step::Arrive(..) | Step::Drop(_)) => true,
            // Whoever is as far off as a memory, or further, sees what has arrived there.
            (Step::Arrive(_, level), Step::Show(..)) => self.reach(second) >= level,
            _ => false,
        }
    }

    /// Whether a `MEMBAR` or barrier of a level holds a step back for another.
    fn holds(&self, level: u8, first: Step, second: Step) -> bool {
        // loads may overtake stores all the same.
        let is_delayed = !self.reading.store_load && first.is_of_store() && !second.is_of_store();
        level > 0 && self.reach(first) <= level && self.reach(second) <= level && !is_delayed
    }

    /// The highest `MEMBAR` of a thread after one place and before another; a fused one at an end counts for its own drop.
    fn membar(&self, thread: usize, after: usize, before: usize) -> u8 {
        let ops = self.sketch.threads[thread].iter().enumerate();
        let levels = ops.filter(|(at, _)| after < *at && *at < before).filter_map(|(_, op)| match op {
            Op::Membar(level, ..) => Some(*level),
            _ => None,
        });
        levels.max().unwrap_or(0)
    }

    fn own_level(event: &Event) -> u8 {
        match event.op {
            Op::Membar(level, ..) => level,
            _ => 0,
        }
    }

    fn waits_in_thread(&self, first: Step, second: Step) -> bool {
        let (a, b) = (&self.events[first.event()], &self.events[second.event()]);
        let level = self.membar(a.thread, a.at, b.at).max(Self::own_level(a)).max(Self::own_level(b));
        let is_dropped =
            matches!(first, Step::Drop(_)) && matches!(second, Step::Look(..)) && self.refreshes(a, b);
        let is_computed = second.is_of_store()
            && matches!(first, Step::Look(..))
            && a.register().is_some_and(|register| b.used().contains(&register));
        self.holds(level, first, second)
            || is_dropped
            || is_computed
            || (a.location().is_some()
                && a.location() == b.location()
                && Self::waits_for_same_bytes(first, second, a, b))
    }

    /// Accesses of the same bytes by one thread.
    fn waits_for_same_bytes(first: Step, second: Step, a: &Event, b: &Event) -> bool {
        match (first, second) {
            (Step::Show(_, place), Step::Show(_, other)) => place == other,
            (Step::Arrive(_, level), Step::Arrive(_, other)) => level == other,
            (Step::Look(..), Step::Show(..) | Step::Arrive(..)) => true,
            (Step::Look(_, level), Step::Look(_, other)) => {
                level == other && (b.loads() == Some(Path::Past) || a.loads() == b.loads())
            }
            (Step::Look(..), Step::Drop(_)) => matches!(b.op, Op::InvalidateLine(_)),
            _ => false,
        }
    }

    /// How many barriers its thread has passed before an event.
    fn barriers_before(&self, event: &Event) -> usize {
        let ops = &self.sketch.threads[event.thread][..event.at];
        ops.iter().filter(|op| matches!(op, Op::Barrier)).count()
    }

    /// Where a thread's barrier of that number (from 1) is.
    fn nth_barrier(&self, thread: usize, number: usize) -> Option<usize> {
        let ops = self.sketch.threads[thread].iter().enumerate();
        ops.filter(|(_, op)| matches!(op, Op::Barrier)).map(|(at, _)| at).nth(number.checked_sub(1)?)
    }

    /// Threads of one CTA, one step before a barrier and one behind it.
    fn waits_at_barrier(&self, first: Step, second: Step) -> bool {
        let (a, b) = (&self.events[first.event()], &self.events[second.event()]);
        let (passed, needed) = (self.barriers_before(a), self.barriers_before(b));
        if needed <= passed {
            return false;
        }
        // A `MEMBAR` before a barrier that the other thread has passed, too, holds back what is behind it.
        let last = self.nth_barrier(a.thread, needed).unwrap_or(usize::MAX);
        let level = self.membar(a.thread, a.at, last).max(Self::own_level(a));
        let is_near = self.reach(first) <= 1 && self.reach(second) <= 1;
        let is_dropped =
            matches!(first, Step::Drop(_)) && matches!(second, Step::Look(..)) && self.refreshes(a, b);
        if (!self.reading.bar_orders_nothing && (is_near || is_dropped)) || (is_dropped && level > 0) {
            return true;
        }
        self.holds(level, first, second) || self.holds(self.covered(first, passed, b), first, second)
    }

    /// the level of a `MEMBAR` behind a barrier that also waits for the stores before that.
    fn covered(&self, first: Step, passed: usize, b: &Event) -> u8 {
        if !self.reading.cumulative || !first.is_of_store() {
            return 0;
        }
        let Some(from) = self.nth_barrier(b.thread, passed + 1) else { return 0 };
        // A fused invalidation is behind its `MEMBAR`, where only what other threads did is concerned.
        self.membar(b.thread, from, b.at)
    }

    /// how far what a load has seen of another thread must have come before a step of its thread may go.
    pub fn covers(&self, load: &Event, step: Step) -> u8 {
        let b = &self.events[step.event()];
        let is_later = load.thread == b.thread && load.at < b.at;
        if !self.reading.cumulative || !is_later || !(self.reading.store_load || step.is_of_store()) {
            return 0;
        }
        self.membar(load.thread, load.at, b.at)
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}
