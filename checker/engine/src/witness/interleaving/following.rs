//! An execution that is known in part: what some events do is given, and all others run along.
//!
//! What is given is taken as it is, whether it could be or not. Reads that are not given return what memory holds, in an order
//! in which nothing comes before what it is given to come after, as long as there is one. Whether a thread gets past where
//! it may block, nothing having been given, is found by looking whether the constraints about that hold by then. Where nobody
//! gets any further, all who could go on only with others stand for good, as a thread may.

use super::{Execution, Machine};
use crate::bits::{BitMatrix, EventSet};
use crate::event::cell::Cells;
use crate::event::{
    AgentId, CtaId, EventGraph, EventId, EventKind, Role, TermKind, TermRef, UnknownId, UnknownKind,
};
use fencepost_dsl::sorted::{SortedMap, SortedSet};
use fencepost_dsl::vocabulary::FenceSem;
use rustc_hash::FxHashMap;

/// What some events do.
pub struct Given {
    /// Values of what they depend on.
    pub unknowns: SortedMap<UnknownId, u128>,
    /// The events.
    pub kept: EventSet,
    /// Per read of theirs and piece: the write, and which piece of it.
    pub sources: SortedMap<EventId, Vec<(EventId, u32)>>,
    /// Coherence order between them.
    pub coherence: BitMatrix,
    /// Fence-SC order between them.
    pub fence_order: BitMatrix,
}

/// Lets all others run along with what some do; `None` if that leads nowhere.
///
/// What comes out may be no execution, since nobody asks whether what is given could be: that is for the re-check to say.
pub fn complete(graph: &EventGraph, cells: &Cells, given: &Given) -> Option<Execution> {
    let mut machine = Machine::new(graph, cells);
    machine.follow(given);
    machine.initialise()?;
    machine.run()?;
    Some(machine.finish()?.without_what_is_cut(graph))
}

/// Who may run.
///
/// Others run behind those of whom something is given, and their `fence.sc` come last: an order that those make is one that
/// what is given may do without.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// All, where nothing is given.
    All,
    /// Those of a CTA.
    Cta(CtaId),
    /// Those of whom something is given.
    Given,
    /// All, but for others' `fence.sc`.
    Others,
    OthersFences,
}

/// How what is given is followed.
pub(super) struct Following<'a> {
    given: &'a Given,
    /// Whose that is.
    agents: SortedSet<AgentId>,
    /// What comes before an event that is given.
    before: FxHashMap<EventId, Vec<EventId>>,
    /// Whether that is waited for.
    is_in_order: bool,
    /// Of unknowns for what is passed that are open, the constraints about them.
    open: SortedMap<UnknownId, Vec<TermRef>>,
    /// Those of waits for memory.
    waits: SortedSet<UnknownId>,
}

impl Following<'_> {
    /// What a read returns, if that is given.
    pub(super) fn sources(&self, read: EventId) -> Option<&Vec<(EventId, u32)>> {
        self.given.sources.get(&read)
    }

    /// The order in which events ran, but for those of which it is given.
    fn order(&self, ran: &BitMatrix, given: &BitMatrix) -> BitMatrix {
        let kept = &self.given.kept;
        ran.difference(&BitMatrix::product(kept, kept)).union(given)
    }

    pub(super) fn coherence(&self, ran: &BitMatrix) -> BitMatrix {
        self.order(ran, &self.given.coherence)
    }

    pub(super) fn fence_order(&self, ran: &BitMatrix) -> BitMatrix {
        self.order(ran, &self.given.fence_order)
    }
}

impl<'a> Machine<'a> {
    /// Takes what is given for settled, and what nothing says of passing for open.
    fn follow(&mut self, given: &'a Given) {
        let of_awaits: SortedSet<TermRef> = self.conditions.values().flatten().copied().collect();
        let mut open: SortedMap<UnknownId, Vec<TermRef>> = SortedMap::new();
        let mut waits: SortedSet<UnknownId> = SortedSet::new();
        for constraint in &self.graph.constraints {
            for unknown in passed(self.graph, constraint.term) {
                if given.unknowns.contains_key(&unknown) {
                    continue;
                }
                if of_awaits.contains(&constraint.term) {
                    waits.insert(unknown);
                }
                open.entry(unknown).or_default().push(constraint.term);
            }
        }
        open.retain(|unknown, _| !waits.contains(unknown));
        for (&unknown, &value) in &given.unknowns {
            self.unknowns[unknown] = Some(value);
        }
        for &unknown in open.keys() {
            self.unknowns[unknown] = None;
        }
        let mut before: FxHashMap<EventId, Vec<EventId>> = FxHashMap::default();
        for (&read, sources) in &given.sources {
            before.entry(read).or_default().extend(sources.iter().map(|&(write, _)| write));
        }
        for (a, b) in given.coherence.pairs().chain(given.fence_order.pairs()) {
            before.entry(b).or_default().push(a);
        }
        let agents = given.kept.iter().filter_map(|event| self.graph.events[event].agent).collect();
        self.following = Some(Following { given, agents, before, is_in_order: true, open, waits });
    }

    /// Who runs, one after the other, as long as those before get no further.
    pub(super) fn order_of_turns(&self) -> Vec<Turn> {
        if self.following.is_some() {
            vec![Turn::Given, Turn::Others, Turn::OthersFences]
        } else if self.runs_by_cta {
            let hierarchy = &self.graph.hierarchy;
            let ctas: SortedSet<CtaId> = hierarchy.agents().map(|agent| hierarchy.cta_of(agent)).collect();
            ctas.into_iter().map(Turn::Cta).collect()
        } else if self.guided.is_some() {
            Vec::new()
        } else {
            vec![Turn::All]
        }
    }

    /// Whether a thread may have its next event in a turn.
    pub(super) fn has_turn(&self, event: EventId, turn: Turn) -> bool {
        let agent = self.graph.events[event].agent;
        let is_given =
            || self.following.iter().zip(agent).any(|(following, agent)| following.agents.contains(&agent));
        match turn {
            Turn::All | Turn::OthersFences => true,
            Turn::Cta(cta) => agent.is_none_or(|agent| {
                let hierarchy = &self.graph.hierarchy;
                hierarchy.cta_of(hierarchy.issuer(agent)) == cta
            }),
            Turn::Given => is_given(),
            Turn::Others => is_given() || !self.is_sequentially_consistent(event),
        }
    }

    fn is_sequentially_consistent(&self, event: EventId) -> bool {
        matches!(self.graph.events[event].kind, EventKind::Fence { sem: FenceSem::Sc, .. })
    }

    /// Whether something that is given to come before an event has still to come.
    pub(super) fn is_early(&self, event: EventId) -> bool {
        self.following.as_ref().is_some_and(|following| {
            let mut before = following.before.get(&event).into_iter().flatten();
            following.is_in_order && before.any(|&other| !self.executed.contains(other))
        })
    }

    /// Unknowns for what is passed on the way to an event.
    fn on_the_way(&self, event: EventId) -> Vec<UnknownId> {
        let conjuncts = self.graph.terms.conjuncts(self.graph.events[event].guard);
        conjuncts.iter().filter_map(|&term| self.unknown_of(term)).collect()
    }

    /// Settles what is open on the way to an event, as far as others have come.
    pub(super) fn get_past(&mut self, event: EventId) {
        if self.following.is_none() || self.value(self.graph.events[event].guard).is_some() {
            return;
        }
        for unknown in self.on_the_way(event) {
            if self.unknowns[unknown].is_some() {
                continue;
            }
            let Some(constraints) = self.following.as_ref().and_then(|own| own.open.get(&unknown)).cloned()
            else {
                continue;
            };
            let mark = self.trail.len();
            self.unknowns[unknown] = Some(1);
            let found: Vec<Option<u128>> = constraints.iter().map(|&term| self.value(term)).collect();
            if found.iter().all(|value| *value == Some(1)) {
                continue;
            }
            self.forget_since(mark);
            self.unknowns[unknown] = found.contains(&Some(0)).then_some(0);
        }
    }

    /// Where nobody gets any further: lets things happen in another order than is given, or those that are next stand for good.
    /// Whether that changes anything.
    pub(super) fn give_way(&mut self, next: &[EventId]) -> bool {
        let Some(following) = &mut self.following else { return false };
        if std::mem::take(&mut following.is_in_order) {
            return true;
        }
        let mut gives_way = false;
        for &event in next {
            for unknown in self.on_the_way(event) {
                let is_open = self.following.as_ref().is_some_and(|own| own.open.contains_key(&unknown));
                if is_open && self.unknowns[unknown].is_none() {
                    self.unknowns[unknown] = Some(0);
                    gives_way = true;
                }
            }
        }
        if gives_way {
            return true;
        }
        for &event in next.iter().filter(|&&event| self.graph.events[event].role == Role::Await) {
            let on_the_way = self.on_the_way(event);
            let Some(following) = &mut self.following else { return false };
            // Of waits one after the other the last one has been come to.
            if let Some(unknown) = on_the_way.into_iter().filter(|own| following.waits.contains(own)).max() {
                following.waits.remove(&unknown);
                self.unknowns[unknown] = Some(0);
                gives_way = true;
            }
        }
        if gives_way {
            // That it was passed was taken for granted.
            self.forget_since(0);
        }
        gives_way
    }

    /// What is still open at the end was passed by nobody.
    pub(super) fn close(&mut self) {
        let open: Vec<UnknownId> =
            self.following.iter().flat_map(|following| following.open.keys().copied()).collect();
        for unknown in open {
            self.unknowns[unknown].get_or_insert(0);
        }
    }
}

/// The unknowns for what is passed that a constraint is about.
fn passed(graph: &EventGraph, constraint: TermRef) -> Vec<UnknownId> {
    let terms = &graph.terms;
    let inner = |term: TermRef| match *terms.kind(term) {
        TermKind::Not(inner) => inner,
        _ => term,
    };
    let whole = inner(constraint);
    let parts = match terms.kind(whole) {
        TermKind::And(_) | TermKind::Or(_) => terms.operands(whole),
        _ => vec![whole],
    };
    let unknowns = parts.into_iter().filter_map(|part| match *terms.kind(inner(part)) {
        TermKind::Unknown(unknown) => Some(unknown),
        _ => None,
    });
    unknowns.filter(|&unknown| matches!(terms.unknown(unknown).kind, UnknownKind::Passes)).collect()
}
