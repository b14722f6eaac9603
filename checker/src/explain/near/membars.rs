//! Why a thread of an SPA machine sees things out of order: which `MEMBAR` is missing or too low, or which load is stale.
//!
//! The story of a finding is the way on which one thread was handed something by another: program order, stores that were
//! seen, barriers that were passed. Each stretch of program order on it needs a `MEMBAR` that reaches those it is linked
//! with; then the load at its end must not come from an L1 filled before. Cannot: tell stories of three threads that each
//! see the stores of the others at different times; then no link is named.

use super::super::reason::Reason;
use super::super::search::{Near, Relaxed, Search, Way};
use super::super::spa::{SpaReason, Useless};
use crate::event::{EventGraph, EventId, EventKind, Role, SpaEvent};
use crate::findings::{FindingKind, race as kinds};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::BaseRelation;
use fencepost_dsl::sorted::SortedMap;
use fencepost_dsl::vocabulary::{MembarLevel, Proxy, Sem};
use std::collections::VecDeque;

/// The kind of finding that these reasons make.
pub fn kind_of(reasons: &[Reason]) -> &'static FindingKind {
    let is_some =
        |wanted: fn(&SpaReason) -> bool| reasons.iter().any(|r| matches!(r, Reason::Spa(spa) if wanted(spa)));
    if reasons.is_empty() || is_some(|reason| matches!(reason, SpaReason::NoMembar { .. })) {
        &kinds::MISSING_MEMBAR
    } else if is_some(|reason| matches!(reason, SpaReason::LevelTooLow { .. })) {
        &kinds::MEMBAR_LEVEL_TOO_SMALL
    } else {
        &kinds::STALE_L1_READ
    }
}

/// What the thread of the end of the way was handed without order.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let (graph, witness) = (search.graph, search.witness);
    let reasons = Story { graph, witness }.reasons(way.earlier, way.later);
    let reasons: Vec<Reason> = reasons.into_iter().map(Reason::Spa).collect();
    if reasons.is_empty() {
        return Vec::new();
    }
    vec![Near::new((way.earlier, way.later), Relaxed::Membar, reasons)]
}

/// Whether a load goes through an L1, and whether that is the texture L1.
pub fn through_l1(graph: &EventGraph, event: EventId) -> Option<Proxy> {
    match &graph.events[event].kind {
        EventKind::Read(access) if access.sem == Sem::Weak => Some(access.proxy),
        _ => None,
    }
}

/// A stretch of program order on the way, with what comes before and after it.
#[derive(Clone, Copy)]
struct Leg {
    start: EventId,
    end: EventId,
    /// Who it got its signal from, if it got one by reading.
    from: Option<EventId>,
    /// Who sees its signal, if it gives one by writing.
    to: Option<EventId>,
}

/// One execution, and questions about it.
struct Story<'a> {
    graph: &'a EventGraph,
    witness: &'a Witness,
}

impl Story<'_> {
    fn reasons(&self, a: EventId, b: EventId) -> Vec<SpaReason> {
        let legs = self.legs(a, b);
        let mut reasons: Vec<SpaReason> =
            legs.iter().enumerate().filter_map(|(at, _)| self.broken_leg(&legs, at, a, b)).collect();
        // Where nothing is ordered, that an L1 is stale besides would be said too early.
        if reasons.iter().all(|reason| !matches!(reason, SpaReason::NoMembar { .. })) {
            reasons.extend(self.stale(&legs, a, b));
        }
        reasons
    }

    fn order(&self, base: BaseRelation) -> &crate::bits::BitMatrix {
        &self.witness.basis.relations[&base]
    }

    fn distance(&self, a: EventId, b: EventId) -> MembarLevel {
        match (self.graph.events[a].agent, self.graph.events[b].agent) {
            (Some(a), Some(b)) => self.graph.hierarchy.membar_distance(a, b),
            _ => MembarLevel::Cta,
        }
    }

    /// The shortest way on which the thread of `b` was handed something after `a`.
    fn legs(&self, a: EventId, b: EventId) -> Vec<Leg> {
        let (po, rf, bar) = (
            self.order(BaseRelation::ProgramOrder),
            self.order(BaseRelation::ReadsFrom),
            self.order(BaseRelation::BarrierSynchronization),
        );
        let external = self.order(BaseRelation::External);
        let mut known: SortedMap<EventId, (EventId, EventId)> = SortedMap::new();
        let mut queue = VecDeque::from([a]);
        // Each entry is where a leg starts; from there along program order to what gives a signal.
        while let Some(start) = queue.pop_front() {
            if start != a && po.contains(start, b) {
                return self.way(&known, a, start, b);
            }
            for end in po.successors(start) {
                let hops =
                    rf.successors(end).filter(|&read| external.contains(end, read) && !self.is_retry(read));
                for next in hops.chain(bar.successors(end)) {
                    if next != a && !known.contains_key(&next) {
                        known.insert(next, (start, end));
                        queue.push_back(next);
                    }
                }
            }
        }
        Vec::new()
    }

    fn way(
        &self,
        known: &SortedMap<EventId, (EventId, EventId)>,
        a: EventId,
        last: EventId,
        b: EventId,
    ) -> Vec<Leg> {
        let is_read = |event: EventId| matches!(self.graph.events[event].kind, EventKind::Read(_));
        let mut legs = vec![Leg { start: last, end: b, from: None, to: None }];
        let mut at = last;
        while at != a {
            let Some(&(start, end)) = known.get(&at) else { break };
            if is_read(at)
                && let Some(leg) = legs.last_mut()
            {
                leg.from = Some(end);
            }
            legs.push(Leg { start, end, from: None, to: is_read(at).then_some(at) });
            at = start;
        }
        legs.reverse();
        legs
    }

    fn is_retry(&self, event: EventId) -> bool {
        matches!(self.graph.events[event].role, Role::Spin(_))
    }

    /// The `MEMBAR`s of a thread between two of its events.
    fn membars(&self, after: EventId, before: EventId) -> Vec<(EventId, MembarLevel)> {
        let po = self.order(BaseRelation::ProgramOrder);
        let level = |event: EventId| match &self.graph.events[event].kind {
            EventKind::Spa(event) => event.level(),
            _ => None,
        };
        let executed = self.witness.execution.executed.iter();
        executed
            .filter(|&event| po.contains(after, event) && po.contains(event, before))
            .filter_map(|event| Some((event, level(event)?)))
            .collect()
    }

    /// What a leg lacks.
    fn broken_leg(&self, legs: &[Leg], at: usize, a: EventId, b: EventId) -> Option<SpaReason> {
        let leg = legs[at];
        let (is_first, is_last) = (at == 0, at + 1 == legs.len());
        // Past a barrier all of a thread's accesses come later.
        if !is_first && leg.from.is_none() {
            return None;
        }
        let mut links: Vec<EventId> = leg.from.into_iter().chain(leg.to).collect();
        if is_first {
            links.push(b);
        }
        if is_last || (leg.to.is_none() && !is_first) {
            links.push(a);
        }
        let (needed, other) =
            links.into_iter().map(|event| (self.distance(leg.start, event), event)).max()?;
        // A barrier orders what comes before it with respect to the CTA.
        if needed == MembarLevel::Cta && leg.to.is_none() && !is_last {
            return None;
        }
        let membars = self.membars(leg.start, leg.end);
        match membars.iter().max_by_key(|&&(_, level)| level) {
            Some(&(_, level)) if level >= needed => None,
            Some(&(membar, _)) => Some(SpaReason::LevelTooLow { membar, other, needed }),
            None => {
                let later = legs[at + 1..].iter().filter(|later| later.to.is_some());
                let elsewhere = later.flat_map(|later| self.membars(later.start, later.end)).next();
                let elsewhere = elsewhere.filter(|_| leg.to.is_none() && is_first).map(|(event, _)| event);
                Some(SpaReason::NoMembar { after: leg.start, before: leg.end, needed, elsewhere })
            }
        }
    }

    /// Which caches an event invalidates, as far as that is about what a load accesses.
    fn invalidates(&self, event: EventId, load: EventId) -> (bool, bool) {
        match &self.graph.events[event].kind {
            EventKind::Spa(SpaEvent::InvalidateLine(_)) => {
                (self.order(BaseRelation::SameLocation).contains(event, load), false)
            }
            EventKind::Spa(spa) => (spa.invalidation().data, spa.invalidation().texture),
            _ => (false, false),
        }
    }

    /// Whether a leg has an invalidation for a load that comes after a `MEMBAR` after the signal, or is part of one.
    fn refreshes_in(&self, leg: Leg, load: EventId) -> bool {
        let po = self.order(BaseRelation::ProgramOrder);
        let is_texture = through_l1(self.graph, load) == Some(Proxy::Texture);
        let membars = self.membars(leg.start, leg.end);
        let executed = self.witness.execution.executed.iter();
        let mut within =
            executed.filter(|&event| po.contains(leg.start, event) && po.contains(event, leg.end));
        within.any(|event| {
            let (data, texture) = self.invalidates(event, load);
            let is_meant = if is_texture { texture } else { data };
            is_meant && membars.iter().any(|&(membar, _)| membar == event || po.contains(membar, event))
        })
    }

    /// Whether the load at the end may come from an L1 that was filled before.
    fn stale(&self, legs: &[Leg], a: EventId, b: EventId) -> Option<SpaReason> {
        let path = through_l1(self.graph, b)?;
        let is_texture = path == Proxy::Texture;
        let (Some(writer), Some(reader)) = (self.graph.events[a].agent, self.graph.events[b].agent) else {
            return None;
        };
        if !is_texture && self.graph.hierarchy.is_same_sm(writer, reader) {
            return None;
        }
        let own_legs = legs.iter().rev().take_while(|leg| {
            self.graph.events[leg.start].agent.is_some_and(|own| self.graph.hierarchy.is_same_sm(own, reader))
        });
        if own_legs.into_iter().any(|leg| self.refreshes_in(*leg, b)) {
            return None;
        }
        let po = self.order(BaseRelation::ProgramOrder);
        let signal = legs.last().map_or(a, |leg| leg.start);
        let membars = self.membars(signal, b);
        let mut nearby: Option<(EventId, Useless)> = None;
        for event in self.witness.execution.executed.iter() {
            let (data, texture) = self.invalidates(event, b);
            if !data && !texture {
                continue;
            }
            let is_own = self.graph.events[event].agent == Some(reader);
            let useless = if !self.graph.events[event]
                .agent
                .is_some_and(|own| self.graph.hierarchy.is_same_sm(own, reader))
            {
                Useless::OtherSm
            } else if is_texture != texture && is_texture == data {
                Useless::OtherCache
            } else if is_own && po.contains(b, event) {
                Useless::TooLate
            } else {
                Useless::TooEarly
            };
            if nearby.is_none_or(|(_, known)| known == Useless::OtherSm) {
                nearby = Some((event, useless));
            }
        }
        Some(SpaReason::Stale { read: b, membar: membars.last().map(|&(event, _)| event), nearby })
    }
}
