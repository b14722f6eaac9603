//! The search behind every explanation: what comes nearest to ordering two events that are in no order.
//!
//! A way from one event to the other is made of steps that order (program order, barriers, synchronization through memory,
//! completion of operations) and of one *near-step*: two events between which there would be such a step if one condition
//! more held. Which conditions those are, and how far each is from an order, is [`Relaxed`]; where an execution has
//! near-steps is the business of [`near`](super::near), a module for each kind. Of all ways, in both directions, the
//! nearest is told: its near-step is the broken link.
//!
//! Values that are passed on without order are near-steps of [`Links`], of which a way may have several. Cannot: relax two
//! different conditions on one way.

mod links;

use self::links::Length;
use super::reads::{idle_updates, place};
use super::reason::Reason;
use crate::event::{AgentId, AtomicClass, EventGraph, EventId, EventKind, LocationId};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use std::cmp::Reverse;

pub use links::{Chain, Links, Step, StepKind, scope_gap};

use crate::bits::{BitMatrix, EventSet};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::index::Id;
use std::cell::{OnceCell, RefCell};

/// The condition that a near-step lacks; the later, the further from an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Relaxed {
    /// Sem and scope of what passes a value on.
    Strength,
    /// That an operation is waited for, or carries what came before it.
    Completion,
    /// The proxy: a fence of it is missing.
    Proxy,
    /// The fences of tensor memory, and what carries from one to the other.
    TensorFences,
    /// A `MEMBAR`, or its level, or an invalidation.
    Membar,
    /// The wait for a grid that may still run.
    Grid,
    /// The side of an arrival: it comes before what it should release.
    Side,
    /// That a load and a store are one atomic.
    Atomicity,
    /// A total order of what two threads each store and then load: `fence.sc` on both sides.
    Total,
    /// The phase of an mbarrier: others completed the one that was waited for.
    Phase,
    /// That who has read says so before the next write.
    WayBack,
    /// The phase of an mbarrier that the arriving thread itself completed.
    OwnPhase,
    /// The generation of a barrier: others made it up, or it is another barrier's.
    Generation,
    /// The thread: a neighbour signals, or has learnt what its neighbour has not.
    Thread,
    /// The wait: only a neighbour has it.
    Wait,
    /// The side of a store: it comes before what it should release.
    SideOfStore,
    /// The order of a signal and the look for it, or the element that is looked at.
    Look,
    /// The side of a store that was seen, though without order.
    SideOfSeen,
    /// Strength, where what passes a value on is hardly meant as a signal.
    Data,
}

/// Two events between which one condition is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Near {
    /// From where to where it would lead.
    pub ends: (EventId, EventId),
    /// What is missing.
    pub relaxed: Relaxed,
    /// How much of it is missing, compared with other near-steps of the kind.
    pub gap: u32,
    /// What is told; most important first.
    pub reasons: Vec<Reason>,
    /// The way, if it has values that are passed on.
    pub chain: Option<Chain>,
}

impl Near {
    /// One that lacks a condition altogether.
    pub fn new(ends: (EventId, EventId), relaxed: Relaxed, reasons: Vec<Reason>) -> Self {
        Self { ends, relaxed, gap: 0, reasons, chain: None }
    }
}

/// The near-steps of one kind that may be on a way, the likeliest first.
pub type Kind = fn(&Search<'_>, &Way<'_, '_>) -> Vec<Near>;

/// The broken link between two events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The events, in the direction in which they are nearest to an order.
    pub pair: (EventId, EventId),
    /// What is missing; most important first.
    pub reasons: Vec<Reason>,
    /// The way, if it has values that are passed on.
    pub chain: Option<Chain>,
}

/// One execution, and questions about it.
pub struct Search<'a> {
    /// What it is an execution of.
    pub graph: &'a EventGraph,
    /// The model.
    pub model: &'a MemoryModel,
    /// The execution.
    pub witness: &'a Witness,
    links: OnceCell<Option<Links<'a>>>,
    /// What was evaluated by name.
    defined: RefCell<SortedMap<&'static str, Option<BitMatrix>>>,
    idle_updates: OnceCell<SortedSet<EventId>>,
}

impl<'a> Search<'a> {
    /// A search in one execution.
    pub fn new(graph: &'a EventGraph, model: &'a MemoryModel, witness: &'a Witness) -> Self {
        let (links, defined, idle_updates) = (OnceCell::new(), RefCell::default(), OnceCell::new());
        Self { graph, model, witness, links, defined, idle_updates }
    }

    /// What orders in it; `None` if the model does not name that.
    pub fn links(&self) -> Option<&Links<'a>> {
        self.links.get_or_init(|| Links::new(self.graph, self.model, self.witness)).as_ref()
    }

    /// Takes values that were passed on for no attempts to order anything.
    pub fn forget(&mut self, is_none: impl Fn(&Self, (EventId, EventId)) -> bool) {
        self.links();
        let mut links = self.links.take().flatten();
        if let Some(links) = &mut links {
            links.forget(|from, to| is_none(self, (from, to)));
        }
        self.links = OnceCell::from(links);
    }

    /// Whether a thread can get to know of another by an event, and means to: not by a `red`, which returns nothing, and not by
    /// an `atom` of which nobody uses what it returns.
    pub fn is_look(&self, event: EventId) -> bool {
        let EventKind::Read(access) = &self.graph.events[event].kind else { return false };
        access.is_strong() && !self.only_updates(event)
    }

    /// Whether an event is the read of an atomic that returns nothing, or nothing that is used.
    // Source: MM-24 — PTX ISA 9.4 §8.7
    pub fn only_updates(&self, event: EventId) -> bool {
        match self.graph.events[event].kind.access().map(|access| access.atomic) {
            Some(AtomicClass::Reduction) => true,
            Some(AtomicClass::Atom | AtomicClass::Sink) => {
                self.idle_updates.get_or_init(|| idle_updates(self.graph)).contains(&event)
            }
            _ => false,
        }
    }

    /// Whether an event happens.
    pub fn is_executed(&self, event: EventId) -> bool {
        self.witness.execution.executed.contains(event)
    }

    /// A relation of the execution.
    pub fn relation(&self, base: BaseRelation) -> &'a BitMatrix {
        &self.witness.basis.relations[&base]
    }

    /// Program order.
    pub fn program_order(&self) -> &'a BitMatrix {
        self.relation(BaseRelation::ProgramOrder)
    }

    /// What happens in the execution.
    pub fn executed(&self) -> impl Iterator<Item = EventId> + 'a {
        self.witness.execution.executed.iter()
    }

    /// A relation that the model defines.
    pub fn defined(&self, name: &'static str) -> Option<BitMatrix> {
        let mut known = self.defined.borrow_mut();
        known.entry(name).or_insert_with(|| links::defined(self.model, self.witness, name)).clone()
    }

    /// What an event accesses: the object, and from which byte on.
    pub fn place(&self, event: EventId) -> Option<(LocationId, u128)> {
        place(self.graph, self.witness, event)
    }

    /// What comes after an event by steps that order.
    pub fn ordered_after(&self, event: EventId) -> EventSet {
        let none = || EventSet::empty(self.graph.events.len());
        self.links().map_or_else(none, |links| links.ordered_after(event))
    }

    /// The nearest way between two events over a near-step of these kinds: the pair's own direction rather than the other,
    /// the first of what is equally near.
    pub fn nearest(&self, pair: (EventId, EventId), kinds: &[Kind]) -> Option<Found> {
        self.over([Way::new(self, pair), Way::new(self, (pair.1, pair.0))], kinds)
    }

    /// The nearest way from the first event to the second.
    pub fn forth(&self, pair: (EventId, EventId), kinds: &[Kind]) -> Option<Found> {
        self.over([Way::new(self, pair)], kinds)
    }

    fn over<const N: usize>(&self, ways: [Way<'_, 'a>; N], kinds: &[Kind]) -> Option<Found> {
        let mut best: Option<(Distance, Found)> = None;
        for (way, is_turned) in ways.iter().zip([false, true]) {
            for near in kinds.iter().flat_map(|kind| kind(self, way)) {
                let Some(length) = way.length(near.ends) else { continue };
                let distance = near.relaxed.distance() + HAND_OVER * length.hand_overs;
                let distance = (distance, near.gap, is_turned, length.steps);
                if best.as_ref().is_none_or(|(known, _)| distance < *known) {
                    let Near { reasons, chain, .. } = near;
                    best = Some((distance, Found { pair: (way.earlier, way.later), reasons, chain }));
                }
            }
        }
        best.map(|(_, found)| found)
    }
}

/// How far a way is from an order: its near-step and its hand-overs, then how much of that is missing, then whether it is the
/// other direction, then its steps.
type Distance = (u32, u32, bool, u32);

/// What a hand-over to another thread adds to the distance of a way: a link that is broken between others is believed less.
const HAND_OVER: u32 = 1;

impl Relaxed {
    /// How far it is from an order, in hand-overs.
    fn distance(self) -> u32 {
        4 * HAND_OVER * self as u32
    }
}

/// A direction of a pair, and what is in order with its ends.
pub struct Way<'s, 'a> {
    /// Where it starts.
    pub earlier: EventId,
    /// Where it ends.
    pub later: EventId,
    search: &'s Search<'a>,
    after: OnceCell<Vec<Option<Length>>>,
    before: OnceCell<Vec<Option<Length>>>,
}

impl<'s, 'a> Way<'s, 'a> {
    fn new(search: &'s Search<'a>, (earlier, later): (EventId, EventId)) -> Self {
        Self { earlier, later, search, after: OnceCell::new(), before: OnceCell::new() }
    }

    /// How far an event is behind the start, if it is in order with it.
    pub fn after(&self, event: EventId) -> Option<Length> {
        let of = |links: &Links<'_>| links.lengths(self.earlier, self.earlier, false);
        let lengths = self.after.get_or_init(|| self.search.links().map_or_else(Vec::new, of));
        lengths.get(event.index()).copied().flatten()
    }

    /// How far an event is before the end.
    pub fn before(&self, event: EventId) -> Option<Length> {
        let of = |links: &Links<'_>| links.lengths(self.later, self.earlier, true);
        let lengths = self.before.get_or_init(|| self.search.links().map_or_else(Vec::new, of));
        lengths.get(event.index()).copied().flatten()
    }

    /// How long the way is that has a near-step with these ends.
    fn length(&self, (from, to): (EventId, EventId)) -> Option<Length> {
        let none = Length { hand_overs: 0, steps: 0 };
        let start = if from == self.earlier { Some(none) } else { self.after(from) }?;
        let end = if to == self.later { Some(none) } else { self.before(to) }?;
        Some(Length { hand_overs: start.hand_overs + end.hand_overs, steps: start.steps + end.steps })
    }
}

/// Of waits before the end of a way the last one of each thread, the nearest first: those before it are for what comes
/// earlier.
pub fn last_of_each(search: &Search<'_>, way: &Way<'_, '_>, mut waits: Vec<EventId>) -> Vec<EventId> {
    let events = &search.graph.events;
    waits.sort_by_key(|&event| (way.before(event), Reverse(events[event].position), event));
    let mut threads: SortedSet<Option<AgentId>> = SortedSet::new();
    waits.retain(|&wait| threads.insert(events[wait].agent));
    waits
}
