//! Whether a graph and all that is asked of it stay the same under a renaming.
//!
//! Compared are events with their guards, addresses and values, base sets and relations as the model sees them, and every
//! other part of the graph that says what an execution is or that a goal is made of. What only words a report may differ.

use super::renaming::Renaming;
use crate::bits::BitMatrix;
use crate::event::cell::Cells;
use crate::event::{
    Access, Edges, EventGraph, EventId, EventKind, LocationId, MbarrierEvent, ObligationKind, Role, SpaEvent,
    TermRef, UnknownKind,
};
use crate::relation::base::Basis;
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet};
use rustc_hash::FxHashSet;
use std::hash::Hash;

/// The base relations, each with its inverse, which all renamings are compared with.
pub struct Views {
    pairs: Vec<(BitMatrix, BitMatrix)>,
}

impl Views {
    /// Those of a graph.
    pub fn new(basis: &Basis) -> Self {
        let mut pairs = Vec::new();
        for &(base, _) in BaseRelation::ALL {
            let bounds = basis.bounds(base);
            pairs.push((bounds.may.clone(), bounds.may.inverse()));
            if !bounds.may.is_same(&bounds.must) {
                pairs.push((bounds.must.clone(), bounds.must.inverse()));
            }
        }
        pairs.retain(|(pairs, _)| !pairs.is_empty());
        Self { pairs }
    }
}

/// Whether it does.
pub fn holds(graph: &EventGraph, cells: &Cells, basis: &Basis, views: &Views, renaming: &Renaming) -> bool {
    cells_are_whole(graph, cells, renaming)
        && locations(graph, renaming)
        && events(graph, renaming)
        && parts(graph, renaming)
        && goals(graph, renaming)
        && sets_and_relations(basis, views, renaming)
}

/// Memory within which cells move is accessed at known places only, and nothing that is read of it is more or less than a
/// cell: what a wider view shows has parts that stay, and a narrower one would be told nothing of where its cell went.
fn cells_are_whole(graph: &EventGraph, cells: &Cells, renaming: &Renaming) -> bool {
    let is_whole = |location: LocationId, width_bytes: u32| {
        !renaming.moves_cells_of(location) || width_bytes == cells.grain_bytes[location]
    };
    let mut accesses = graph.events.iter().filter_map(|event| event.kind.access());
    accesses.all(|access| {
        let is_known = graph.terms.constant_value(access.offset).is_some();
        is_whole(access.location, access.width_bytes)
            && (is_known || !renaming.moves_cells_of(access.location))
    }) && graph.terms.unknowns().iter().all(|unknown| match unknown.kind {
        UnknownKind::FinalValue { location, width_bytes, .. } => is_whole(location, width_bytes),
        _ => true,
    })
}

/// A location's image is one of the same storage.
fn locations(graph: &EventGraph, renaming: &Renaming) -> bool {
    graph.locations.iter_enumerated().all(|(id, location)| {
        let image = &graph.locations[renaming.location(id)];
        location.storage == image.storage
            && location.size_bytes == image.size_bytes
            && location.is_register == image.is_register
            && location.is_tensor == image.is_tensor
            && location.multimem == image.multimem
            && location.initial == image.initial
            && location.cta.map(|cta| renaming.cta(cta)) == image.cta
    })
}

fn events(graph: &EventGraph, renaming: &Renaming) -> bool {
    graph.events.iter_enumerated().all(|(id, event)| {
        let image = &graph.events[renaming.event(id)];
        let role = match event.role {
            Role::Spin(unknown) => Role::Spin(renaming.unknown(unknown)),
            role => role,
        };
        event.agent.map(|agent| renaming.agent(agent)) == image.agent
            && renaming.term(event.guard) == Some(image.guard)
            && event.site == image.site
            && event.iterations == image.iterations
            && role == image.role
            && event.decides == image.decides
            && kind(graph, renaming, &event.kind).as_ref() == Some(&image.kind)
    })
}

/// What a kind becomes; `None` if that cannot be told.
fn kind(graph: &EventGraph, renaming: &Renaming, kind: &EventKind) -> Option<EventKind> {
    Some(match kind {
        EventKind::Init(own) => EventKind::Init(access(graph, renaming, own)?),
        EventKind::Read(own) => EventKind::Read(access(graph, renaming, own)?),
        EventKind::Write(own) => EventKind::Write(access(graph, renaming, own)?),
        EventKind::Spa(SpaEvent::InvalidateLine(own)) => {
            EventKind::Spa(SpaEvent::InvalidateLine(access(graph, renaming, own)?))
        }
        EventKind::Mbarrier(own) => {
            EventKind::Mbarrier(MbarrierEvent { object: renaming.mbarrier(own.object), ..*own })
        }
        EventKind::CtaStart(cta) => EventKind::CtaStart(renaming.cta(*cta)),
        EventKind::CtaExit(cta) => EventKind::CtaExit(renaming.cta(*cta)),
        other => other.clone(),
    })
}

fn access(graph: &EventGraph, renaming: &Renaming, own: &Access) -> Option<Access> {
    let offset = match graph.terms.constant_value(own.offset).map(u32::try_from) {
        Some(Ok(at)) if renaming.cell(own.location, at) != at => {
            graph.terms.known_constant(renaming.cell(own.location, at).into(), 32)?
        }
        _ => renaming.term(own.offset)?,
    };
    let (location, value) = (renaming.location(own.location), renaming.term(own.value)?);
    Some(Access { location, offset, value, ..own.clone() })
}

/// Whether a set of descriptions is the set of their images.
fn same<T: Hash + Eq>(these: impl Iterator<Item = T>, images: impl Iterator<Item = Option<T>>) -> bool {
    let these: FxHashSet<T> = these.collect();
    let mut images = images;
    images.all(|image| image.is_some_and(|image| these.contains(&image)))
}

/// What else says what an execution is.
fn parts(graph: &EventGraph, renaming: &Renaming) -> bool {
    let term = |term: TermRef| renaming.term(term);
    let completed = graph
        .hierarchy
        .agents()
        .all(|agent| term(graph.completed[agent]) == Some(graph.completed[renaming.agent(agent)]));
    let constraints = || graph.constraints.iter().map(|constraint| constraint.term);
    let starts = (0..)
        .zip(&graph.starts)
        .all(|(number, &start)| term(start) == graph.starts.get(renaming.cluster(number) as usize).copied());
    let edges = Edges::relations().all(|base| {
        same(
            graph.edges.of(base).map(|edge| (edge.from, edge.to, edge.condition)),
            graph.edges.of(base).map(|edge| {
                Some((renaming.event(edge.from), renaming.event(edge.to), term(edge.condition)?))
            }),
        )
    });
    let peers = same(
        graph.peer_accesses.iter().map(|peer| (peer.access, peer.owner, peer.start, peer.exit)),
        graph.peer_accesses.iter().map(|peer| {
            let (start, exit) = (renaming.event(peer.start), renaming.event(peer.exit));
            Some((renaming.event(peer.access), renaming.cta(peer.owner), start, exit))
        }),
    );
    let rmw = same(
        graph.rmw.iter().copied(),
        graph.rmw.iter().map(|&(read, write)| Some((renaming.event(read), renaming.event(write)))),
    );
    completed
        && same(constraints(), constraints().map(term))
        && starts
        && edges
        && peers
        && rmw
        && mbarriers(graph, renaming)
        && graph.parameters.iter().all(|&(_, unknown)| renaming.unknown(unknown) == unknown)
}

fn mbarriers(graph: &EventGraph, renaming: &Renaming) -> bool {
    graph.mbarriers.iter_enumerated().all(|(id, object)| {
        let image = &graph.mbarriers[renaming.mbarrier(id)];
        let operations = |of: &crate::event::Mbarrier| {
            let of = of.operations.iter();
            of.map(|of| (of.event, of.phase, of.arrivals, of.bytes)).collect::<Vec<_>>()
        };
        let phases = object.phases.iter().zip(&image.phases).all(|(own, image)| {
            renaming.term(own.expected) == Some(image.expected)
                && renaming.term(own.complete) == Some(image.complete)
        });
        let images = operations(object).into_iter().map(|(event, phase, arrivals, bytes)| {
            Some((renaming.event(event), renaming.term(phase)?, arrivals, bytes))
        });
        renaming.location(object.location) == image.location
            && object.offset_bytes == image.offset_bytes
            && object.phases.len() == image.phases.len()
            && object.operations.len() == image.operations.len()
            && phases
            && same(operations(image).into_iter(), images)
    })
}

/// What is asked: a goal's image is a goal with the same finding.
fn goals(graph: &EventGraph, renaming: &Renaming) -> bool {
    let term = |term: TermRef| renaming.term(term);
    let what = |kind: &ObligationKind| match kind {
        ObligationKind::Assertion => "assertion",
        ObligationKind::Bounds { .. } => "bounds",
        ObligationKind::Discipline(misuse) => misuse.code(),
    };
    let obligations = same(
        graph.obligations.iter().map(|o| (what(&o.kind), o.span, o.guard, o.condition)),
        graph.obligations.iter().map(|o| Some((what(&o.kind), o.span, term(o.guard)?, term(o.condition)?))),
    );
    let cuts = same(
        graph.cuts.iter().map(|cut| (cut.span, cut.guard)),
        graph.cuts.iter().map(|cut| Some((cut.span, term(cut.guard)?))),
    );
    let is_resident = |blocked: &crate::event::Blocked| blocked.is_resident(&graph.hierarchy);
    let blocked = same(
        graph.blocked.iter().map(|b| (b.agent, b.stuck, is_resident(b))),
        graph.blocked.iter().map(|b| Some((renaming.agent(b.agent), term(b.stuck)?, is_resident(b)))),
    );
    let reachables = same(
        graph.reachables.iter().map(|goal| (goal.span, goal.condition)),
        graph.reachables.iter().map(|goal| Some((goal.span, term(goal.condition)?))),
    );
    let finals = graph.finals.iter().all(|goal| term(goal.condition) == Some(goal.condition));
    let condition = graph.condition.as_ref().is_none_or(|goal| {
        term(goal.condition) == Some(goal.condition) && term(goal.filter) == Some(goal.filter)
    });
    obligations && cuts && blocked && reachables && finals && condition
}

/// The sets and relations that a model is made of.
fn sets_and_relations(basis: &Basis, views: &Views, renaming: &Renaming) -> bool {
    let moved: Vec<(EventId, EventId)> = renaming.moved().collect();
    crate::work::count(
        crate::work::Work::Pair,
        views.pairs.len() * basis.coexist.universe() * moved.len() / 8,
    );
    let sets = BaseSet::ALL.iter().all(|&(base, _)| {
        let set = basis.set(base);
        moved.iter().all(|&(a, b)| set.contains(a) == set.contains(b))
    });
    let stays = |pairs: &BitMatrix| moved.iter().all(|&(a, b)| row_is_image(pairs, renaming, a, b));
    sets && views.pairs.iter().all(|(pairs, back)| stays(pairs) && stays(back))
}

/// Whether the successors of `b` are the images of those of `a`.
fn row_is_image(pairs: &BitMatrix, renaming: &Renaming, a: EventId, b: EventId) -> bool {
    let mut count = 0_usize;
    for successor in pairs.successors(a) {
        if !pairs.contains(b, renaming.event(successor)) {
            return false;
        }
        count += 1;
    }
    pairs.successors(b).count() == count
}
