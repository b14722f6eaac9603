//! mbarriers: the state machine of §4.2, and every order in which the operations of an execution may be applied to it.
//!
//! The operations on one object are one after the other (MB-20). All orders that fit program order are tried; what counts
//! of an order is in which phase each operation found the object. Later, when it is known what synchronizes, some order
//! with these phases has to fit that, too.
//!
//! Not decided: states of another object (UB-M11), counts out of range (UB-M5, UB-M7, UB-M8).

use super::TooLarge;
use super::event::{Event, Kind, Misuse};
use super::meter::Meter;
use super::relation::Relation;
use std::collections::{BTreeMap, BTreeSet};

/// Storage, CTA and first byte.
pub type Object = (u32, u32, u32);

/// What one event does to an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// To which.
    pub object: Object,
    /// What.
    pub action: Action,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Init {
        count: i64,
    },
    Inval,
    /// `expect_tx` adds, `complete_tx` takes away.
    Transact {
        change: i64,
    },
    /// `state` is what it is taken to return, with the pending count that it finds if it must not complete the phase.
    Arrive {
        count: i64,
        expects: i64,
        drops: bool,
        no_complete: bool,
        state: Option<u64>,
        pending: Option<i64>,
    },
    /// One more arrival is pending, of a `cp.async.mbarrier.arrive`.
    Raise,
    /// An arrival for which too few are pending (UB-M6).
    Exceed {
        count: i64,
    },
    /// A wait that says yes.
    PassParity {
        parity: u64,
    },
    PassState {
        state: u64,
    },
    /// A wait that says no; no place in the order, since it may (MB-6, A-47).
    FailParity {
        parity: u64,
    },
    FailState {
        state: u64,
    },
}

impl Action {
    /// What a tracking arrival does: one, of which nothing is returned.
    pub const ONE_ARRIVAL: Self =
        Self::Arrive { count: 1, expects: 0, drops: false, no_complete: false, state: None, pending: None };
}

impl Action {
    /// A wait that says no.
    pub fn fails(self) -> bool {
        matches!(self, Self::FailParity { .. } | Self::FailState { .. })
    }
    /// A wait that says yes.
    pub fn passes(self) -> bool {
        matches!(self, Self::PassParity { .. } | Self::PassState { .. })
    }
}

/// Phases of an object's second life are counted from here, those of its third from twice as many, and so on.
const LIFE: u64 = 1 << 16;

/// A live object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    phase: u64,
    pending: i64,
    expected: i64,
    tx: i64,
    /// Nobody was expected when the phase began (UB-M8): nothing completes it.
    expects_nobody: bool,
}

impl State {
    /// MB-4. Also after `expect_tx`.
    fn completed_if_possible(mut self) -> Self {
        if self.pending == 0 && self.tx == 0 && !self.expects_nobody {
            self.phase += 1;
            self.pending = self.expected;
            self.expects_nobody = self.expected == 0;
        }
        self
    }
    fn says_yes(self, action: Action) -> bool {
        match action {
            Action::PassParity { parity } | Action::FailParity { parity } => self.phase % 2 != parity,
            Action::PassState { state } | Action::FailState { state } => state < self.phase % LIFE,
            _ => false,
        }
    }
}

/// The object after an operation; `None` where the operation cannot be as it is recorded. An object without
/// initialisation is `Some(None)` and takes everything but a wait that says yes.
fn apply(state: Option<State>, action: Action, n_lives: u64) -> Option<Option<State>> {
    let newborn = |count| State {
        phase: n_lives * LIFE,
        pending: count,
        expected: count,
        tx: 0,
        expects_nobody: false,
    };
    let Some(mut state) = state else {
        return match action {
            Action::Init { count } => Some(Some(newborn(count))),
            Action::Arrive { state, pending, .. } => {
                (state.unwrap_or(0) == 0 && pending.unwrap_or(1) == 1).then_some(None)
            }
            Action::PassParity { .. } | Action::PassState { .. } | Action::Exceed { .. } => None,
            _ => Some(None),
        };
    };
    match action {
        // UB-M2: it is said where this is asked.
        Action::Init { count } => state = newborn(count),
        Action::Inval => return Some(None),
        Action::Transact { change } => {
            state.tx += change;
            state = state.completed_if_possible();
        }
        Action::Raise => state.pending += 1,
        Action::Arrive { count, expects, drops, state: told, pending, .. } => {
            let as_told = told.is_none_or(|told| told == state.phase % LIFE)
                && pending.is_none_or(|pending| pending == state.pending);
            if state.pending < count || !as_told {
                return None;
            }
            state.tx += expects;
            state.expected -= if drops { count } else { 0 };
            state.pending -= count;
            state = state.completed_if_possible();
        }
        Action::Exceed { count } => {
            if state.pending >= count {
                return None;
            }
        }
        Action::PassParity { .. } | Action::PassState { .. } => {
            if !state.says_yes(action) {
                return None;
            }
        }
        Action::FailParity { .. } | Action::FailState { .. } => {}
    }
    Some(Some(state))
}

/// The phase in which each operation, by event, found its object; `None` if that had no initialisation.
type PhaseOf = BTreeMap<usize, Option<u64>>;

/// Arrivals with `.noComplete` that completed a phase (UB-M9), drops after which nobody is left (UB-M8), and initialisations
/// of live objects (UB-M2).
type Broken = BTreeSet<(usize, Misuse)>;

/// In which phase each operation found its object, and how it ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Phases {
    /// Absent for waits that say no.
    of_event: PhaseOf,
    broken: Broken,
    /// By object; `None` if it is not live.
    at_end: BTreeMap<Object, Option<State>>,
}

impl Phases {
    /// Whether some operation found its object without initialisation.
    pub fn has_undefined(&self) -> bool {
        self.of_event.values().any(Option::is_none)
    }
    /// Whether both are operations on one object, and the second found it in a later phase.
    pub fn is_earlier(&self, events: &[Event], first: usize, second: usize) -> bool {
        let (Kind::Mbarrier(a), Kind::Mbarrier(b)) = (events[first].kind, events[second].kind) else {
            return false;
        };
        let found = |event: usize| self.of_event.get(&event).copied().flatten();
        a.object == b.object && found(first).zip(found(second)).is_some_and(|(a, b)| a < b)
    }
    /// Rules that the order breaks.
    pub fn broken(&self) -> impl Iterator<Item = Misuse> {
        self.broken.iter().map(|&(_, misuse)| misuse)
    }
    /// UB-M11: whether a wait was let through by a state of neither the present phase nor the last.
    pub fn has_stale_state(&self, events: &[Event]) -> bool {
        self.of_event.iter().any(|(&wait, &found)| match (events[wait].kind, found) {
            (Kind::Mbarrier(Operation { action: Action::PassState { state }, .. }), Some(found)) => {
                state + 1 < found % LIFE
            }
            _ => false,
        })
    }
    /// Whether a wait would go on to give the answer that it gave; of what is no wait, no.
    pub fn answers_for_ever(&self, operation: Operation) -> bool {
        let state = self.at_end.get(&operation.object).copied().flatten();
        let says_yes = state.is_some_and(|state| state.says_yes(operation.action));
        operation.action.passes() && says_yes || operation.action.fails() && !says_yes
    }
    /// UB-M12: whether before each arrival of a later phase somebody has seen the phase before it complete.
    pub fn are_waited_for(&self, events: &[Event], base_causality: &Relation) -> bool {
        self.of_event.iter().all(|(&arrival, &phase)| {
            let Kind::Mbarrier(operation) = events[arrival].kind else { return true };
            let arrives = matches!(operation.action, Action::Arrive { .. } | Action::Exceed { .. });
            if !arrives || phase.is_none_or(|phase| phase % LIFE == 0) {
                return true;
            }
            self.of_event.iter().any(|(&wait, &found)| {
                let Kind::Mbarrier(other) = events[wait].kind else { return false };
                other.object == operation.object
                    && other.action.passes()
                    && found == phase
                    && base_causality.contains(wait, arrival)
            })
        })
    }
    /// From the arrivals of each phase to the waits that this phase or a later one let through (MB-22).
    pub fn signals(&self, events: &[Event]) -> Relation {
        self.edges(events, |action| matches!(action, Action::Arrive { .. }))
    }
    /// From everything that made a phase complete to the waits that it let through.
    pub fn completions(&self, events: &[Event]) -> Relation {
        self.edges(events, |action| matches!(action, Action::Arrive { .. } | Action::Transact { .. }))
    }
    /// Of both, what asynchronous operations signal.
    pub fn async_signals(&self, events: &[Event]) -> Relation {
        let completions = self.completions(events);
        let mut signals = Relation::new(events.len());
        for from in (0..events.len()).filter(|&from| events[from].operation.is_some()) {
            for to in (0..events.len()).filter(|&to| completions.contains(from, to)) {
                signals.insert(from, to);
            }
        }
        signals
    }
    fn edges(&self, events: &[Event], is_source: impl Fn(Action) -> bool) -> Relation {
        let mut edges = Relation::new(events.len());
        for (&from, phase) in &self.of_event {
            for (&to, found) in &self.of_event {
                let (Kind::Mbarrier(source), Kind::Mbarrier(wait)) = (events[from].kind, events[to].kind)
                else {
                    continue;
                };
                let (Some(phase), Some(found)) = (phase, found) else { continue };
                if source.object == wait.object
                    && is_source(source.action)
                    && wait.action.passes()
                    && phase < found
                    && phase / LIFE == found / LIFE
                {
                    edges.insert(from, to);
                }
            }
        }
        edges
    }
    /// Whether some order of the operations with these phases fits `before`, which is transitive.
    pub fn have_order(&self, events: &[Event], before: &Relation) -> bool {
        self.at_end.keys().all(|&object| {
            let mut orders = Orders::new(events, object, before);
            orders.wanted = Some((&self.of_event, &self.broken));
            orders.walk(0, None, &mut (BTreeMap::new(), BTreeSet::new()));
            !orders.found.is_empty()
        })
    }
}

/// A walk over the orders of one object's operations.
struct Orders<'a> {
    events: &'a [Event],
    object: Object,
    operations: Vec<(usize, Action)>,
    before: &'a Relation,
    wanted: Option<(&'a PhaseOf, &'a Broken)>,
    /// Operations placed, the state after them, and their phases.
    seen: BTreeSet<(u64, Option<State>, (PhaseOf, Broken))>,
    found: BTreeSet<Phases>,
}

impl<'a> Orders<'a> {
    fn new(events: &'a [Event], object: Object, before: &'a Relation) -> Self {
        let operations = events
            .iter()
            .enumerate()
            .filter_map(|(position, event)| match event.kind {
                Kind::Mbarrier(operation) if operation.object == object && !operation.action.fails() => {
                    Some((position, operation.action))
                }
                _ => None,
            })
            .collect();
        Self {
            events,
            object,
            operations,
            before,
            wanted: None,
            seen: BTreeSet::new(),
            found: BTreeSet::new(),
        }
    }

    fn walk(&mut self, placed: u64, state: Option<State>, phases: &mut (PhaseOf, Broken)) {
        let key = if self.wanted.is_some() { Default::default() } else { phases.clone() };
        if !self.seen.insert((placed, state, key)) || (self.wanted.is_some() && !self.found.is_empty()) {
            return;
        }
        if placed.count_ones() as usize == self.operations.len() {
            let at_end = BTreeMap::from([(self.object, state)]);
            let (of_event, broken) = phases.clone();
            self.found.insert(Phases { of_event, broken, at_end });
            return;
        }
        for at in 0..self.operations.len() {
            let (event, action) = self.operations[at];
            let is_ready = (0..self.operations.len()).all(|other| {
                placed >> other & 1 == 1 || !self.before.contains(self.operations[other].0, event)
            });
            if placed >> at & 1 == 1 || !is_ready {
                continue;
            }
            let is_init = |at: usize| matches!(self.operations[at].1, Action::Init { .. });
            let n_lives =
                (0..self.operations.len()).filter(|&at| placed >> at & 1 == 1 && is_init(at)).count();
            let phase = match action {
                Action::Init { .. } => Some(n_lives as u64 * LIFE),
                Action::Inval => Some(state.map_or(0, |state| state.phase / LIFE * LIFE)),
                _ => state.map(|state| state.phase),
            };
            if self.wanted.is_some_and(|(wanted, _)| wanted[&event] != phase) {
                continue;
            }
            let Some(next) = apply(state, action, n_lives as u64) else { continue };
            let completes = next.zip(state).is_some_and(|(next, state)| next.phase > state.phase);
            let broken = match action {
                Action::Arrive { no_complete: true, .. } if completes => {
                    Some((event, Misuse::NoCompleteCompletes))
                }
                Action::Arrive { drops: true, .. } if next.is_some_and(|next| next.expected <= 0) => {
                    Some((event, Misuse::NobodyExpected))
                }
                Action::Init { .. } if state.is_some() => Some((event, Misuse::InitOfLiveObject)),
                _ => None,
            };
            let was_broken = |wanted: &Broken| wanted.iter().find(|&&(other, _)| other == event).copied();
            if self.wanted.is_some_and(|(_, wanted)| was_broken(wanted) != broken) {
                continue;
            }
            phases.0.insert(event, phase);
            phases.1.extend(broken);
            self.walk(placed | 1 << at, next, phases);
            phases.0.remove(&event);
            phases.1.retain(|&(other, _)| other != event);
        }
        assert!(self.events.len() <= 64);
    }
}

/// All ways in which the operations of a combination find their objects.
///
/// # Errors
/// If they are too many.
pub fn choices(events: &[Event], po: &Relation, meter: &Meter) -> Result<Vec<Phases>, TooLarge> {
    let mut objects = BTreeSet::new();
    for event in events {
        if let Kind::Mbarrier(operation) = event.kind {
            objects.insert(operation.object);
        }
    }
    let mut result = vec![Phases::default()];
    for object in objects {
        let mut orders = Orders::new(events, object, po);
        orders.walk(0, None, &mut (BTreeMap::new(), BTreeSet::new()));
        meter.spend(orders.seen.len())?;
        let mut longer = Vec::new();
        for phases in &result {
            for more in &orders.found {
                let mut phases = phases.clone();
                phases.of_event.extend(more.of_event.clone());
                phases.broken.extend(&more.broken);
                phases.at_end.extend(more.at_end.clone());
                longer.push(phases);
            }
        }
        result = longer;
    }
    Ok(result)
}

/// Operations that the initialisation of their life is not ordered before, or that are not ordered before its end.
pub fn misuses(events: &[Event], base_causality: &Relation, phases: &Phases) -> BTreeSet<Misuse> {
    let mut misuses = BTreeSet::new();
    let operations = || {
        events.iter().enumerate().filter_map(|(position, event)| match event.kind {
            Kind::Mbarrier(operation) => Some((position, operation)),
            _ => None,
        })
    };
    let life_of =
        |position: usize| phases.of_event.get(&position).copied().flatten().map(|phase| phase / LIFE);
    for (position, operation) in operations() {
        if matches!(operation.action, Action::Init { .. } | Action::Inval) {
            continue;
        }
        let others = || operations().filter(|(_, other)| other.object == operation.object);
        let births: Vec<usize> = others()
            .filter(|&(other, o)| {
                matches!(o.action, Action::Init { .. }) && base_causality.contains(other, position)
            })
            .map(|(other, _)| other)
            .collect();
        // A wait that says no has no place in the order; it is of the last life it can know of.
        let life = match operation.action.fails() {
            true => births.iter().filter_map(|&birth| life_of(birth)).max(),
            false => life_of(position),
        };
        // What finds no life is judged by those that there are.
        let is_own = |other: usize| life.is_none() || life_of(other) == life;
        if !births.iter().any(|&birth| is_own(birth)) {
            misuses.insert(match operation.action.fails() {
                true => Misuse::NotInitialisedWhenWaiting,
                false => Misuse::NotInitialised,
            });
        }
        let outlives = others().any(|(other, o)| {
            o.action == Action::Inval && is_own(other) && !base_causality.contains(position, other)
        });
        if outlives {
            misuses.insert(match phases.has_undefined() {
                true => Misuse::UsedAfterInvalWithoutMeaning,
                false => Misuse::UsedAfterInval,
            });
        }
    }
    misuses
}
