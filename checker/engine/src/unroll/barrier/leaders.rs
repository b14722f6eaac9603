//! Which lanes it is enough to elect: of those that do the same, one.
//!
//! Which lane `elect.sync` elects is not specified, so a launch is checked for each that it may be. In most code it makes no
//! difference, since what a leader does has its number nowhere in it. So the threads are run once with each lane's election
//! an unknown of its own, and what they do is written down: what their expressions are worth where something is done with
//! them, and the events that come of it. Lanes of which all that is the same, but for whose it is, are one.
//!
//! Sound: let what two lanes of a warp do be the same under a swap `σ` of the two, with the unknowns that nobody else has
//! in what it does, and their elections; let what all other threads do stay as it is; and let masks by which lanes of the warp
//! meet have both or neither, and lanes be told nothing by one another that is not known before. Then `σ` maps what threads do
//! where one is elected to what they do where the other is, whoever leads elsewhere; and what threads do together, and what
//! a model's relations ask of threads, does not depend on the numbers of lanes. So executions of one are those of
//! the other but for names, and what goes wrong in none of one goes wrong in none of the other. Swaps generate all
//! permutations of lanes that are alike.
//!
//! What makes no event of its own, such as at which barrier it is waited, follows from values that are compared: the
//! interpreter has nothing else to go by but a lane's number, and that only in masks and exchanges.
//!
//! Needs: nothing. What a relation of a model can ask of threads is a closed list, `BaseRelation`.

use super::super::{Known, UnrollError, UnrollOptions, Unroller, run};
use crate::event::term::Renamed;
use crate::event::{
    AgentId, Event, EventId, EventKind, LocationId, ObligationKind, Role, TermKind, TermRef, UnknownId,
    UnknownKind,
};
use crate::synchronization::log::Group;
use crate::work::{self, Work};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{Instruction, InstructionKind, Kernel, Launch, Program};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use rustc_hash::{FxHashMap, FxHashSet};
use std::mem::{Discriminant, discriminant};

/// A warp of the launch, and a mask that one of its lanes is elected from.
pub type Election = (u32, u32);
/// Who leads where somebody is elected.
pub type Leaders = SortedMap<Election, u32>;

/// What a thread does, in order.
#[derive(Clone, Copy)]
pub enum Doing {
    /// Something depends on a value.
    Value(TermRef),
    /// Something happens.
    Event(EventId),
}

/// What all threads do, where that is written down.
#[derive(Default)]
pub struct Doings {
    pub is_on: bool,
    pub of: SortedMap<AgentId, Vec<Doing>>,
}

impl Doings {
    /// Notes one more.
    pub fn note(&mut self, agent: AgentId, doing: Doing) {
        if self.is_on {
            self.of.entry(agent).or_default().push(doing);
        }
    }

    /// How many a thread has.
    pub fn n_of(&self, agent: AgentId) -> usize {
        self.of.get(&agent).map_or(0, Vec::len)
    }

    /// Forgets all of a thread but so many.
    pub fn truncate(&mut self, agent: AgentId, n: usize) {
        if let Some(own) = self.of.get_mut(&agent) {
            own.truncate(n);
        }
    }
}

/// Whether a kernel, or one that it launches, elects anybody.
pub fn elects(program: &Program, kernel: &Kernel) -> bool {
    let elects = |own: &Instruction| matches!(own.kind, InstructionKind::ElectSync { .. });
    std::iter::once(kernel).chain(program.parts.iter()).any(|part| program.any_instruction(part, elects))
}

/// The lanes that stand for all of a mask that are elected from it, of each warp that elects from one mask only.
///
/// # Errors
/// As [`unroll`](super::super::unroll).
pub fn representatives(
    program: &Program,
    kernel: &Kernel,
    launch: &Launch,
    options: &UnrollOptions,
) -> Result<Vec<(Election, Vec<u32>)>, UnrollError> {
    let options = UnrollOptions { notes_doings: true, forwarding: false, ..options.clone() };
    let mut known = Known::default();
    let mut n_runs = 0;
    loop {
        let (mut unroller, _) = run(program, kernel, launch, &options, known)?;
        let (exchanged, masks) = (unroller.exchanged_numbers(), &unroller.open_masks);
        let is_new =
            exchanged.len() != unroller.barriers.log.exchanges.known.len() || masks.found != masks.known;
        n_runs += 1;
        if !is_new || n_runs > super::super::RUNS_MAX {
            return Ok(unroller.representatives());
        }
        known = Known { exchanged, open: unroller.open_masks.found.clone(), ..Known::default() };
    }
}

/// Whose an unknown is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    One(AgentId),
    Several,
}

impl Unroller<'_> {
    fn representatives(&self) -> Vec<(Election, Vec<u32>)> {
        if self.graph.hierarchy.launch().spa.is_some() {
            return Vec::new();
        }
        let owners = self.owners();
        let mut found = Vec::new();
        for (&(warp, mask), leaders) in &self.barriers.leaders {
            let n_masks = self.barriers.leaders.keys().filter(|&&(other, _)| other == warp).count();
            if n_masks > 1 || leaders.len() < 2 || self.tells_lanes_apart(warp) {
                continue;
            }
            let mut lanes: Vec<u32> = Vec::new();
            let warp = Warp::new(self, warp, leaders, &owners);
            for &(lane, _) in leaders {
                if !lanes.iter().any(|&other| warp.are_alike(other, lane)) {
                    lanes.push(lane);
                }
            }
            found.push(((warp.number, mask), lanes));
        }
        found
    }

    /// Whether lanes of a warp tell one another what is not a number, or meet under masks that are none.
    fn tells_lanes_apart(&self, warp: u32) -> bool {
        let of_warp = |execution: usize| {
            self.graph.hierarchy.warp_of(self.barriers.log.executions[execution].agent) == warp
        };
        let mut asked = self.barriers.log.exchanges.asked.iter();
        asked.any(|(exchanged, _)| of_warp(exchanged.execution))
            || self.active.has(warp)
            || self.open_masks.found.iter().any(|&(own, _)| own == warp)
    }

    /// Of each unknown, the threads in whose doings it is.
    fn owners(&self) -> FxHashMap<UnknownId, Owner> {
        let mut owners: FxHashMap<UnknownId, Owner> = FxHashMap::default();
        for (&agent, doings) in &self.doings.of {
            for unknown in self.unknowns_in(doings.iter().flat_map(|&doing| self.terms_of(doing))) {
                let owner = owners.entry(unknown).or_insert(Owner::One(agent));
                if *owner != Owner::One(agent) {
                    *owner = Owner::Several;
                }
            }
        }
        owners
    }

    fn terms_of(&self, doing: Doing) -> Vec<TermRef> {
        match doing {
            Doing::Value(term) => vec![term],
            Doing::Event(event) => {
                let event = &self.graph.events[event];
                let mut terms = vec![event.guard];
                terms
                    .extend(event.kind.access().into_iter().flat_map(|access| [access.offset, access.value]));
                terms
            }
        }
    }

    /// The unknowns in some terms, each once, in order.
    fn unknowns_in(&self, terms: impl Iterator<Item = TermRef>) -> Vec<UnknownId> {
        let pool = &self.graph.terms;
        let mut seen: FxHashSet<TermRef> = FxHashSet::default();
        let mut open: Vec<TermRef> = terms.collect();
        let mut found = Vec::new();
        while let Some(term) = open.pop() {
            if seen.insert(term) {
                match *pool.kind(term) {
                    TermKind::Unknown(unknown) => found.push(unknown),
                    _ => open.extend(pool.operands(term)),
                }
            }
        }
        work::count(Work::Term, seen.len());
        found.sort_unstable();
        found
    }
}

/// A warp that elects one of its lanes.
struct Warp<'u> {
    unroller: &'u Unroller<'u>,
    number: u32,
    /// Of each lane that may lead, its thread and what says that it does.
    leaders: FxHashMap<u32, (AgentId, UnknownId)>,
    /// Of each thread, the unknowns that nobody else has, in order.
    own: FxHashMap<AgentId, Vec<UnknownId>>,
    /// Lanes whose election others go by, and those whose election nobody goes by.
    is_known_to_others: FxHashSet<u32>,
    is_of_no_use: FxHashSet<u32>,
    /// What holds of the warp's threads in every execution.
    constraints: FxHashSet<TermRef>,
}

impl<'u> Warp<'u> {
    fn new(
        unroller: &'u Unroller<'u>,
        number: u32,
        leaders: &[(u32, TermRef)],
        owners: &FxHashMap<UnknownId, Owner>,
    ) -> Self {
        let hierarchy = &unroller.graph.hierarchy;
        let pool = &unroller.graph.terms;
        let agents: SortedMap<u32, AgentId> = hierarchy
            .agents()
            .filter(|&agent| hierarchy.warp_of(agent) == number && !hierarchy.is_operation(agent))
            .map(|agent| (hierarchy.threads[agent].lane, agent))
            .collect();
        let of_warp: FxHashSet<AgentId> = agents.values().copied().collect();
        let mut own: FxHashMap<AgentId, Vec<UnknownId>> = FxHashMap::default();
        let ids: SortedSet<UnknownId> = owners.keys().copied().collect();
        for unknown in ids {
            if let Owner::One(agent) = owners[&unknown]
                && of_warp.contains(&agent)
                && is_anonymous(&pool.unknown(unknown).kind)
            {
                own.entry(agent).or_default().push(unknown);
            }
        }
        let mut of_lanes = FxHashMap::default();
        let (mut is_known_to_others, mut is_of_no_use) = (FxHashSet::default(), FxHashSet::default());
        for &(lane, leads) in leaders {
            if let (TermKind::Unknown(unknown), Some(&agent)) = (pool.kind(leads), agents.get(&lane)) {
                match owners.get(unknown) {
                    None => is_of_no_use.insert(lane),
                    Some(&owner) => owner != Owner::One(agent) && is_known_to_others.insert(lane),
                };
                of_lanes.insert(lane, (agent, *unknown));
            }
        }
        let moving: FxHashSet<UnknownId> =
            own.values().flatten().copied().chain(of_lanes.values().map(|&(_, leads)| leads)).collect();
        let is_about = |term: TermRef| {
            unroller.unknowns_in(std::iter::once(term)).iter().any(|unknown| moving.contains(unknown))
        };
        let constraints = unroller.graph.constraints.iter().map(|constraint| constraint.term);
        let constraints = constraints.filter(|&term| is_about(term)).collect();
        Self { unroller, number, leaders: of_lanes, own, is_known_to_others, is_of_no_use, constraints }
    }

    /// Whether two lanes can change places, or it is the same which of them is elected.
    fn are_alike(&self, one: u32, other: u32) -> bool {
        if self.is_of_no_use.contains(&one) && self.is_of_no_use.contains(&other) {
            return true;
        }
        let (Some(&(a, of_a)), Some(&(b, of_b))) = (self.leaders.get(&one), self.leaders.get(&other)) else {
            return false;
        };
        let none = Vec::new();
        let (own_a, own_b) = (self.own.get(&a).unwrap_or(&none), self.own.get(&b).unwrap_or(&none));
        let pool = &self.unroller.graph.terms;
        let is_like = |(&x, &y): (&UnknownId, &UnknownId)| {
            let (x, y) = (pool.unknown(x), pool.unknown(y));
            (x.width, x.min, x.max) == (y.width, y.min, y.max)
                && discriminant(&x.kind) == discriminant(&y.kind)
        };
        let is_known = |lane| self.is_known_to_others.contains(&lane);
        if is_known(one)
            || is_known(other)
            || own_a.len() != own_b.len()
            || !own_a.iter().zip(own_b).all(is_like)
            || !self.masks_have_both_or_neither(one, other)
        {
            return false;
        }
        let pairs = own_a.iter().zip(own_b).map(|(&x, &y)| (x, y)).chain([(of_a, of_b)]);
        let swap = pairs.flat_map(|(x, y)| [(x, y), (y, x)]);
        let mut swap = Swap { unroller: self.unroller, renamed: Renamed::new(pool, swap), from: a, to: b };
        swap.same_doings()
            && swap.same_ends()
            && self
                .constraints
                .iter()
                .all(|&term| swap.renamed.term(term).is_some_and(|image| self.constraints.contains(&image)))
    }

    fn masks_have_both_or_neither(&self, one: u32, other: u32) -> bool {
        self.unroller.barriers.log.executions.iter().all(|execution| match execution.group {
            Group::Warp(warp, mask) | Group::Election(warp, mask) | Group::Exchange(warp, mask, _) => {
                warp != self.number || mask >> one & 1 == mask >> other & 1
            }
            _ => true,
        })
    }
}

/// Whether an unknown stands for something that its thread does, and so has no name of its own.
fn is_anonymous(kind: &UnknownKind) -> bool {
    matches!(
        kind,
        UnknownKind::Read(_)
            | UnknownKind::ReadsLast(_)
            | UnknownKind::ReadsPromised(_)
            | UnknownKind::Spins(_)
            | UnknownKind::Passes
            | UnknownKind::Phase
            | UnknownKind::FinalPhase
            | UnknownKind::WaitResult
            | UnknownKind::Excess
            | UnknownKind::PendingCount
            | UnknownKind::Response
            | UnknownKind::Uncomputed(_)
    )
}

/// Two threads that change places, and what is theirs.
struct Swap<'u> {
    unroller: &'u Unroller<'u>,
    renamed: Renamed<'u>,
    from: AgentId,
    to: AgentId,
}

impl Swap<'_> {
    fn becomes(&mut self, term: TermRef, image: TermRef) -> bool {
        self.renamed.term(term) == Some(image)
    }

    /// Whether the one does what the other does.
    fn same_doings(&mut self) -> bool {
        let of = &self.unroller.doings.of;
        let doings = |agent| of.get(&agent).map_or(&[][..], Vec::as_slice);
        let (own, others) = (doings(self.from), doings(self.to));
        own.len() == others.len()
            && own.iter().zip(others).all(|(&own, &other)| match (own, other) {
                (Doing::Value(own), Doing::Value(other)) => self.becomes(own, other),
                (Doing::Event(own), Doing::Event(other)) => self.same_event(own, other),
                _ => false,
            })
    }

    fn same_event(&mut self, own: EventId, other: EventId) -> bool {
        let graph = &self.unroller.graph;
        let (own, other) = (&graph.events[own], &graph.events[other]);
        let is_of =
            |event: &Event, agent: AgentId| event.agent.is_some_and(|of| graph.hierarchy.issuer(of) == agent);
        let is_of_operation =
            |event: &Event| event.agent.is_some_and(|agent| graph.hierarchy.is_operation(agent));
        let role = match own.role {
            Role::Spin(unknown) => Role::Spin(self.renamed.unknown(unknown)),
            role => role,
        };
        is_of(own, self.from)
            && is_of(other, self.to)
            && is_of_operation(own) == is_of_operation(other)
            && role == other.role
            && (own.site, own.position, own.decides) == (other.site, other.position, other.decides)
            && own.iterations == other.iterations
            && own.calls == other.calls
            && self.becomes(own.guard, other.guard)
            && self.same_kind(&own.kind, &other.kind)
    }

    fn same_kind(&mut self, own: &EventKind, other: &EventKind) -> bool {
        let (Some(one), Some(image)) = (own.access(), other.access()) else { return own == other };
        discriminant(own) == discriminant(other)
            && self.same_location(one.location, image.location)
            && self.becomes(one.offset, image.offset)
            && self.becomes(one.value, image.value)
            && (one.mapping, one.proxy, one.width_bytes) == (image.mapping, image.proxy, image.width_bytes)
            && (one.sem, one.scope, one.atomic) == (image.sem, image.scope, image.atomic)
    }

    /// Memory is the same; of registers each has its own.
    fn same_location(&self, own: LocationId, other: LocationId) -> bool {
        let locations = &self.unroller.graph.locations;
        let (one, image) = (&locations[own], &locations[other]);
        own == other || (one.is_register && image.is_register && one.storage == image.storage)
    }

    /// Whether it is asked of the one what is asked of the other, and where they stop.
    fn same_ends(&mut self) -> bool {
        let graph = &self.unroller.graph;
        let (own, others) = (self.unroller.asked_of(self.from), self.unroller.asked_of(self.to));
        let reached: FxHashSet<(Span, TermRef)> =
            graph.reachables.iter().map(|goal| (goal.span, goal.condition)).collect();
        let mut reachables = graph.reachables.iter();
        own.len() == others.len()
            && own.iter().zip(&others).all(|((what, own), (other, others))| {
                what == other && own.iter().zip(others).all(|(&own, &other)| self.becomes(own, other))
            })
            && reachables.all(|goal| {
                let image = self.renamed.term(goal.condition);
                image.is_some_and(|image| reached.contains(&(goal.span, image)))
            })
    }
}

/// What is asked of a thread at some place, or that it stops there.
#[derive(PartialEq, Eq)]
enum End {
    Obliged(Discriminant<ObligationKind>, Span, u32),
    Cut(Span),
    Blocked(Span),
    Completed,
}

impl Unroller<'_> {
    /// All of it, with the terms that say when.
    fn asked_of(&self, agent: AgentId) -> Vec<(End, [TermRef; 2])> {
        let graph = &self.graph;
        let obligations = graph.obligations.iter().filter(|own| own.agent == agent).map(|own| {
            (End::Obliged(discriminant(&own.kind), own.span, own.position), [own.guard, own.condition])
        });
        let cuts = graph.cuts.iter().filter(|own| own.agent == agent);
        let cuts = cuts.map(|own| (End::Cut(own.span), [own.guard; 2]));
        let blocked = graph.blocked.iter().filter(|own| own.agent == agent);
        let blocked = blocked.map(|own| (End::Blocked(own.span), [own.stuck; 2]));
        let completed = (End::Completed, [graph.completed[agent]; 2]);
        obligations.chain(cuts).chain(blocked).chain([completed]).collect()
    }
}
