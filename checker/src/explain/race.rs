//! A race: its family, which access the story starts with, and why nothing orders the two.

use super::explanation::{Explanation, bare};
use super::near;
use super::near::HAND_OVERS;
use super::reading::MULTIMEM_IS_NO_ALIAS;
use super::reads::reads_in;
use super::reason::Reason;
use super::search::{Chain, Found, Kind, Links, Search, StepKind, scope_gap};
use super::subject::Subject;
use crate::event::{EventGraph, EventId, EventKind, LocationId, Role, TermRef};
use crate::findings::{FindingKind, FlagKind, Story, race as kinds};
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::{Proxy, Sem};
use std::cell::OnceCell;

/// The facts of a race.
pub fn explain(search: &mut Search<'_>, pair: (EventId, EventId)) -> Explanation {
    let graph = search.graph;
    let guiding = OnceCell::new();
    search.forget(|search, link| is_data(search, link, pair) || is_more_data(graph, link, pair, &guiding));
    let search = &*search;
    let is_so = |flag: &FlagKind| search.witness.refinements.contains(&flag);
    let is_mixed_size = is_so(&kinds::OF_MIXED_SIZE);
    // Where a trigger hands over what a copy reads, the copy lacks a fence, and no wait for the grid.
    let is_handed_over = is_so(&kinds::OF_TWO_PROXIES) && !is_so(&kinds::OF_NON_COHERENT);
    let is_of_grids = |flag: &FlagKind| flag.story == Story::Grids;
    let names = |flag: &FlagKind| is_so(flag) && !(is_of_grids(flag) && (is_mixed_size || is_handed_over));
    let flag = kinds::REFINEMENTS.iter().copied().find(|flag| names(flag)).unwrap_or(&kinds::RACE);
    let told = |kinds: &[Kind], kind| of_one_kind(search, pair, kinds, kind);
    let found = match flag.story {
        Story::TensorMemory => told(&[near::tensor_memory::near], &kinds::TENSOR_MEMORY),
        Story::Tensormap => told(&[near::tensormaps::near], &kinds::TENSORMAP),
        Story::Grids => told(&[near::grids::near], &kinds::GRID_DEPENDENCY),
        Story::Proxies => across_proxies(search, pair),
        Story::Chain | Story::Pair | Story::Lifetime | Story::OutOfOrder if is_so(&kinds::OF_REGISTERS) => {
            told(&[near::operations::registers], &kinds::MATRIX_REGISTER).map(|mut explanation| {
                explanation.rules = vec!["AS-25", "AS-26", "MM-19"];
                explanation
            })
        }
        Story::Chain | Story::Pair | Story::Lifetime | Story::OutOfOrder => None,
    };
    found.unwrap_or_else(|| of_hand_over(search, flag, pair))
}

/// The facts where one kind of near-step says it all.
fn of_one_kind(
    search: &Search<'_>,
    pair: (EventId, EventId),
    kinds: &[Kind],
    kind: &'static FindingKind,
) -> Option<Explanation> {
    let reads = |event: EventId| matches!(search.graph.events[event].kind, EventKind::Read(_));
    let pair = if reads(pair.0) && !reads(pair.1) { (pair.1, pair.0) } else { pair };
    let Found { pair: (earlier, later), reasons, .. } = search.nearest(pair, kinds)?;
    Some(Explanation { reasons, ..bare(kind, Subject::Race { earlier, later }) })
}

/// The facts of a race that a missing, or a broken, hand-over makes.
fn of_hand_over(search: &Search<'_>, flag: &FlagKind, pair: (EventId, EventId)) -> Explanation {
    let Search { graph, model, .. } = *search;
    let is_so = |flag: &FlagKind| search.witness.refinements.contains(&flag);
    let is_mixed_size = is_so(&kinds::OF_MIXED_SIZE);
    if is_so(&kinds::OF_NON_COHERENT) && is_so(&kinds::OF_TWO_PROXIES) {
        let found = search.nearest(pair, &[near::proxies::near]);
        let (earlier, later) = found.map_or(pair, |found| found.pair);
        let mut explanation = bare(flag.kind, Subject::Race { earlier, later });
        explanation.add_rules(&["MM-19"]);
        explanation.reasons = vec![non_coherent(graph, pair)];
        return explanation;
    }
    let links = search.links();
    let (earlier, later, chain) = orient(graph, links, pair);
    let mut chain = chain;
    let broken = match (links, &mut chain) {
        (Some(links), Some(chain)) => links.broken_link(chain),
        _ => None,
    };
    let are_aliases = are_aliases(graph, model, (earlier, later));
    let mut reasons =
        reasons(graph, (earlier, later), (chain.as_ref(), broken), are_aliases, links.is_some());
    // That data is passed on by weak accesses is no attempt worth telling where an operation is not waited for.
    let is_told = |reason: &Reason| !matches!(reason, Reason::WeakLink { .. });
    let has_broken_chain =
        chain.as_ref().is_some_and(|chain| chain.n_attempts() > 0) && reasons.iter().any(is_told);
    if !is_mixed_size && (is_so(&kinds::OF_NOT_CARRIED) || !has_broken_chain) {
        let of_operations = search.nearest((earlier, later), &[near::operations::near]);
        // It has not started when the other access is meant to be over.
        let is_later = starts_first(graph, links, pair) == Some(earlier) && !graph.is_of_operation(earlier);
        let is_of_end = |reason: &Reason| matches!(reason, Reason::NotCompleted { .. });
        let of_operations = of_operations.filter(|found| !(is_later && found.reasons.iter().any(is_of_end)));
        if let Some(found) = of_operations {
            reasons.retain(|reason| {
                is_told(reason) && !matches!(reason, Reason::NothingObserved { .. } | Reason::WeakEnd { .. })
            });
            reasons.extend(found.reasons);
        }
    }
    if is_so(&kinds::OF_NON_COHERENT) {
        reasons.insert(0, non_coherent(graph, pair));
    }
    let (mut earlier, mut later) = (earlier, later);
    let is_nothing = |reason: &Reason| matches!(reason, Reason::NothingObserved { .. });
    if let Some(at) = reasons.iter().position(is_nothing).filter(|_| links.is_some()) {
        let found = search.nearest((earlier, later), HAND_OVERS);
        let found = found.unwrap_or_else(|| {
            let met = near::neighbours::met(search, (earlier, later));
            let reasons = vec![Reason::NothingObserved { earlier, later, met }];
            Found { pair: (earlier, later), reasons, chain: None }
        });
        (earlier, later) = found.pair;
        reasons.splice(at..=at, found.reasons);
    }
    let is_written =
        matches!(graph.events[earlier].kind, EventKind::Write(_)) && graph.is_of_operation(earlier);
    let is_source = std::ptr::eq(flag.kind, &kinds::ASYNC_SOURCE);
    let kind = if is_source && is_written { &kinds::ASYNC_DESTINATION } else { flag.kind };
    let mut explanation = bare(kind, Subject::Race { earlier, later });
    explanation.add_rules(reasons.iter().flat_map(Reason::rules).chain(&["MM-19"]));
    explanation.reasons = reasons;
    explanation.chain = chain;
    explanation
}

/// Whether a value is passed on by weak accesses to what the race is on, or by the same instructions, for which nobody
/// waits, or is added to there: that was not meant to order anything.
fn is_data(search: &Search<'_>, link: (EventId, EventId), (a, b): (EventId, EventId)) -> bool {
    let graph = search.graph;
    let location = |event: EventId| graph.events[event].kind.access().map(|access| access.location);
    // Who only adds to it learns nothing.
    if location(link.1) == location(a) && search.only_updates(link.1) {
        return true;
    }
    let sites = [a, b].map(|event| graph.events[event].site);
    [link.0, link.1].into_iter().all(|event| {
        let of = &graph.events[event];
        let is_weak = of.kind.access().is_some_and(|access| access.sem == Sem::Weak);
        let is_it = location(event) == location(a) || sites.contains(&of.site);
        is_weak && is_it && !matches!(of.role, Role::Spin(_) | Role::Await)
    })
}

/// Whether a value leads from who reads to who writes over it, by weak accesses, though nothing that anybody does depends on it:
/// more data, of which the same is wrong. That it has been read is told by none of it.
fn is_more_data(
    graph: &EventGraph,
    (from, to): (EventId, EventId),
    (a, b): (EventId, EventId),
    guiding: &OnceCell<SortedSet<LocationId>>,
) -> bool {
    let is_read = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
    let (read, write) = match (is_read(a), is_read(b)) {
        (true, false) => (a, b),
        (false, true) => (b, a),
        _ => return false,
    };
    let thread = |event: EventId| graph.events[event].agent;
    let weak = |event: EventId| graph.events[event].kind.access().filter(|access| access.sem == Sem::Weak);
    let (Some(stored), Some(_)) = (weak(from), weak(to)) else { return false };
    let is_back = thread(from) == thread(read) && thread(to) == thread(write);
    is_back && !guiding.get_or_init(|| guiding_locations(graph)).contains(&stored.location)
}

/// Where what is read decides whether something is done, or where, or is waited for.
fn guiding_locations(graph: &EventGraph) -> SortedSet<LocationId> {
    let of_events = graph.events.iter().flat_map(|event| {
        std::iter::once(event.guard).chain(event.kind.access().map(|access| access.offset))
    });
    let of_waits = graph.blocked.iter().map(|blocked| blocked.stuck);
    let terms: Vec<TermRef> = of_events.chain(of_waits).collect();
    let location = |read: EventId| Some(graph.events[read].kind.access()?.location);
    let waits = graph.events.iter().filter(|event| matches!(event.role, Role::Spin(_) | Role::Await));
    let waited = waits.filter_map(|event| Some(event.kind.access()?.location));
    reads_in(graph, terms).filter_map(location).chain(waited).collect()
}

/// A read through `.nc` of what is written.
fn non_coherent(graph: &EventGraph, (a, b): (EventId, EventId)) -> Reason {
    let is_read = matches!(graph.events[a].kind, EventKind::Read(_));
    let (read, write) = if is_read { (a, b) } else { (b, a) };
    Reason::NonCoherent { read, write }
}

/// A race that only different proxies make.
fn across_proxies(search: &Search<'_>, pair: (EventId, EventId)) -> Option<Explanation> {
    let Found { pair: (earlier, later), reasons, .. } = search.nearest(pair, &[near::proxies::near])?;
    let is_formal = [earlier, later].iter().any(|&event| {
        search.graph.events[event]
            .kind
            .access()
            .is_some_and(|access| !matches!(access.proxy, Proxy::Generic | Proxy::Async | Proxy::Tensormap))
    });
    // The formal model's proxies are not the ISA's; those of asynchronous operations are, with fences of their own.
    let basis: &[&'static str] = if is_formal { &["MM-19", "MM-2"] } else { &["MM-19", "FN-12"] };
    let mut explanation = bare(&kinds::CROSS_PROXY, Subject::Race { earlier, later });
    explanation.add_rules(reasons.iter().flat_map(Reason::rules).chain(basis));
    explanation.reasons = reasons;
    Some(explanation)
}

/// The direction with the better chain; without any, the write first.
fn orient(
    graph: &EventGraph,
    links: Option<&Links<'_>>,
    (a, b): (EventId, EventId),
) -> (EventId, EventId, Option<Chain>) {
    let chains = links.map_or((None, None), |links| (links.chain(a, b), links.chain(b, a)));
    let weight = |chain: &Chain| (chain.n_attempts(), chain.steps.len());
    match chains {
        (Some(forth), Some(back)) if weight(&back) < weight(&forth) => (b, a, Some(back)),
        (Some(forth), _) => (a, b, Some(forth)),
        (None, Some(back)) => (b, a, Some(back)),
        (None, None) => {
            let reads = |event: EventId| matches!(graph.events[event].kind, EventKind::Read(_));
            let swap = match starts_first(graph, links, (a, b)) {
                Some(first) => first == b,
                None => reads(a) && !reads(b),
            };
            if swap { (b, a, None) } else { (a, b, None) }
        }
    }
}

/// Of an operation that reads memory and what writes it: which of them the program means to come first.
///
/// That is the one behind whose start the other one's lies, if anything leads from one to the other; else the one that the
/// text has first, in the same round of a loop.
fn starts_first(
    graph: &EventGraph,
    links: Option<&Links<'_>>,
    (a, b): (EventId, EventId),
) -> Option<EventId> {
    let is_source = |event: EventId| {
        matches!(graph.events[event].kind, EventKind::Read(_)) && graph.is_of_operation(event)
    };
    if !is_source(a) && !is_source(b) {
        return None;
    }
    let start = |event: EventId| {
        let mut issues = graph.edges.of(BaseRelation::Issue).filter(|edge| edge.to == event);
        issues.next().map_or(event, |edge| edge.from)
    };
    let starts = (start(a), start(b));
    let leads = |from, to| links.is_some_and(|links| links.chain(from, to).is_some());
    match (leads(starts.0, starts.1), leads(starts.1, starts.0)) {
        (true, false) => return Some(a),
        (false, true) => return Some(b),
        _ => {}
    }
    // Rounds of the loops that are around both, which are the outer ones.
    let n_common = graph.events[a].iterations.len().min(graph.events[b].iterations.len());
    let place = |event: EventId| {
        let event = &graph.events[event];
        (&event.iterations[..n_common], event.site.map(|site| graph.sites[site].span))
    };
    Some(if place(starts.1) < place(starts.0) { b } else { a })
}

/// Whether the accesses go through different virtual addresses, as the model reads it.
fn are_aliases(graph: &EventGraph, model: &MemoryModel, (a, b): (EventId, EventId)) -> bool {
    let mapping = |event: EventId| graph.events[event].kind.access().map(|access| access.mapping);
    let is_one_address = graph.is_through_multimem(a) != graph.is_through_multimem(b)
        && model.variants.iter().any(|variant| variant == MULTIMEM_IS_NO_ALIAS);
    mapping(a) != mapping(b) && !is_one_address
}

/// What is wrong with the pair itself, then with what was meant to order it.
fn reasons(
    graph: &EventGraph,
    (earlier, later): (EventId, EventId),
    (chain, broken): (Option<&Chain>, Option<Reason>),
    are_aliases: bool,
    knows_chains: bool,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let (Some(first), Some(second)) =
        (graph.events[earlier].kind.access(), graph.events[later].kind.access())
    else {
        return reasons;
    };
    if first.width_bytes != second.width_bytes {
        reasons.push(Reason::MixedSize { earlier, later });
    }
    let is_ordered = chain.is_some_and(|chain| chain.steps.iter().all(|step| step.kind != StepKind::Attempt));
    if is_ordered && are_aliases {
        reasons.push(Reason::AliasWithoutFence { earlier, later });
        return reasons;
    }
    if first.is_strong() && second.is_strong() {
        reasons.extend(scope_gap(graph, earlier, later));
        if are_aliases && broken.is_none() {
            reasons.push(Reason::StrongAliases { earlier, later });
            return reasons;
        }
    }
    let one_weak = match (first.is_strong(), second.is_strong()) {
        (false, true) => Some(Reason::WeakEnd { event: earlier, other: later }),
        (true, false) => Some(Reason::WeakEnd { event: later, other: earlier }),
        _ => None,
    };
    match (broken, one_weak) {
        (Some(broken), _) => {
            if !reasons.contains(&broken) {
                reasons.push(broken);
            }
        }
        (None, weak) => {
            let is_polled = [earlier, later].iter().any(|&e| matches!(graph.events[e].role, Role::Spin(_)));
            let is_settled =
                is_polled || reasons.iter().any(|reason| matches!(reason, Reason::OutOfScope { .. }));
            if knows_chains && chain.is_none() && !is_settled {
                reasons.push(Reason::NothingObserved { earlier, later, met: (None, None) });
            }
            // What is missing is an order, mostly, and not strength.
            reasons.extend(weak);
        }
    }
    reasons
}
