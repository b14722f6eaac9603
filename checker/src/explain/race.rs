//! A race: its family, which access the story starts with, and why nothing orders the two.

use super::chain::{Chain, Links, StepKind, scope_gap};
use super::reading::MULTIMEM_IS_NO_ALIAS;
use super::reason::Reason;
use super::{Explanation, Subject, bare, proxy};
use crate::event::{EventGraph, EventId, EventKind, GridEvent, GridId, RestrictedFence, Role};
use crate::findings::{FlagKind, Story, race as kinds};
use crate::witness::Witness;
use fencepost_dsl::cat::memory_model::{BaseRelation, MemoryModel};
use fencepost_dsl::vocabulary::{Proxy, Sem};

/// The facts of a race.
pub fn explain(
    graph: &EventGraph,
    model: &MemoryModel,
    witness: &Witness,
    pair: (EventId, EventId),
) -> Explanation {
    let is_so = |flag: &FlagKind| witness.refinements.contains(&flag);
    let is_mixed_size = is_so(&kinds::OF_MIXED_SIZE);
    let names = |flag: &FlagKind| is_so(flag) && !(flag.story == Story::Grids && is_mixed_size);
    let flag = kinds::REFINEMENTS.iter().copied().find(|flag| names(flag)).unwrap_or(&kinds::RACE);
    match flag.story {
        Story::TensorMemory => return super::tensor_memory::explain(graph, model, witness, pair),
        Story::Tensormap => return of_tensormap(graph, witness, pair),
        Story::Grids => return of_grids(graph, witness, pair),
        Story::Proxies => return across_proxies(graph, model, witness, pair),
        Story::Chain | Story::Pair | Story::Lifetime | Story::OutOfOrder => {}
    }
    if is_so(&kinds::OF_REGISTERS)
        && let Some(explanation) = before_matrix_fence(graph, witness, pair)
    {
        return explanation;
    }
    if is_so(&kinds::OF_NON_COHERENT) && is_so(&kinds::OF_TWO_PROXIES) {
        let (earlier, later, _) = proxy::explain(graph, model, witness, pair);
        let mut explanation = bare(flag.kind, Subject::Race { earlier, later });
        explanation.add_rules(&["MM-19"]);
        explanation.reasons = vec![non_coherent(graph, pair)];
        return explanation;
    }
    let mut links = Links::new(graph, model, witness);
    if let Some(links) = &mut links {
        links.forget(|from, to| is_data(graph, (from, to), pair));
    }
    let (earlier, later, chain) = orient(graph, links.as_ref(), pair);
    let mut chain = chain;
    let broken = match (&links, &mut chain) {
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
        let of_operations = links.as_ref().and_then(|links| operation_reason(graph, links, (earlier, later)));
        // It has not started when the other access is meant to be over.
        let is_later =
            starts_first(graph, links.as_ref(), pair) == Some(earlier) && !graph.is_of_operation(earlier);
        let is_of_end = |reason: &Reason| matches!(reason, Reason::NotCompleted { .. });
        let of_operations = of_operations.filter(|reason| !(is_later && is_of_end(reason)));
        if let Some(reason) = of_operations {
            reasons.retain(|reason| {
                is_told(reason) && !matches!(reason, Reason::NothingObserved { .. } | Reason::WeakEnd { .. })
            });
            reasons.push(reason);
        }
    }
    if is_so(&kinds::OF_NON_COHERENT) {
        reasons.insert(0, non_coherent(graph, pair));
    }
    let (mut earlier, mut later) = (earlier, later);
    for reason in &mut reasons {
        let (Reason::NothingObserved { met, .. }, Some(links)) = (&mut *reason, &links) else { continue };
        *met = super::relay::met(graph, witness, (earlier, later));
        let relay = |pair| super::relay::explain(graph, witness, links, pair);
        let too_soon = |pair| super::handover::too_soon(graph, witness, pair);
        let learnt = |pair| super::handover::learnt_too_soon(graph, witness, links, pair);
        let arrived = |pair| super::handover::arrived_too_soon(graph, witness, pair);
        if let Some(early) = arrived((earlier, later)).or_else(|| arrived((later, earlier))) {
            if matches!(early, Reason::TooSoon { access, .. } if access != earlier) {
                (earlier, later) = (later, earlier);
            }
            *reason = early;
        } else if let Some(better) = super::update::both_took(graph, witness, (earlier, later))
            .or_else(|| super::crossing::of_race(graph, witness, (earlier, later)))
            .or_else(|| super::handover::explain(graph, witness, links, (earlier, later)))
            .or_else(|| super::meeting::explain(graph, witness, (earlier, later)))
            .or_else(|| relay((earlier, later)))
        {
            *reason = better;
        } else if let Some(better) = relay((later, earlier)) {
            // It is the other one that comes first, as far as anything is ordered.
            *reason = better;
            (earlier, later) = (later, earlier);
        } else if let Some(better) = super::relay::waits_alone(graph, links, (earlier, later))
            .or_else(|| super::handover::unseen(graph, witness, (earlier, later)))
            .or_else(|| too_soon((earlier, later)))
            .or_else(|| learnt((earlier, later)))
        {
            *reason = better;
        } else if let Some(better) = too_soon((later, earlier)).or_else(|| learnt((later, earlier))) {
            *reason = better;
            (earlier, later) = (later, earlier);
        }
    }
    if reasons.iter().any(|reason| matches!(reason, Reason::NotCompleted { .. })) {
        let pairs = [(earlier, later), (later, earlier)].into_iter();
        let mut of_operations = pairs.filter(|&(a, b)| graph.is_of_operation(a) && !graph.is_of_operation(b));
        reasons.extend(of_operations.find_map(|pair| super::handover::early_wait(graph, witness, pair)));
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
/// waits: that was not meant to order anything.
fn is_data(graph: &EventGraph, link: (EventId, EventId), (a, b): (EventId, EventId)) -> bool {
    let location = |event: EventId| graph.events[event].kind.access().map(|access| access.location);
    let sites = [a, b].map(|event| graph.events[event].site);
    [link.0, link.1].into_iter().all(|event| {
        let of = &graph.events[event];
        let is_weak = of.kind.access().is_some_and(|access| access.sem == Sem::Weak);
        let is_it = location(event) == location(a) || sites.contains(&of.site);
        is_weak && is_it && !matches!(of.role, Role::Spin(_) | Role::Await)
    })
}

/// A read through `.nc` of what is written.
fn non_coherent(graph: &EventGraph, (a, b): (EventId, EventId)) -> Reason {
    let is_read = matches!(graph.events[a].kind, EventKind::Read(_));
    let (read, write) = if is_read { (a, b) } else { (b, a) };
    Reason::NonCoherent { read, write }
}

/// Registers that a thread accesses between its last `wgmma.fence` and the start of an operation that uses them.
fn before_matrix_fence(
    graph: &EventGraph,
    witness: &Witness,
    (a, b): (EventId, EventId),
) -> Option<Explanation> {
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let executed = &witness.execution.executed;
    let found = [(a, b), (b, a)].into_iter().find_map(|(access, operation)| {
        let issue = graph.edges.of(BaseRelation::Issue).find(|edge| edge.to == operation)?.from;
        let is_fence = |event: EventId| matches!(graph.events[event].kind, EventKind::MatrixFence);
        let fences = executed.iter().filter(|&event| is_fence(event) && order.contains(event, issue));
        let last = fences.max_by_key(|&event| graph.events[event].position)?;
        let is_behind = order.contains(last, access) && order.contains(access, issue);
        is_behind.then_some((access, operation, issue, last))
    });
    let (access, operation, issue, fence) = found?;
    let subject = Subject::Race { earlier: access, later: operation };
    let mut explanation = bare(&kinds::MATRIX_REGISTER, subject);
    explanation.rules = vec!["AS-25", "AS-26", "MM-19"];
    explanation.reasons = vec![Reason::MatrixFenceTooEarly { access, operation, issue, fence }];
    Some(explanation)
}

/// A tensor map that is written and read without the fences of its proxy, or while a copy may use it.
fn of_tensormap(graph: &EventGraph, witness: &Witness, (a, b): (EventId, EventId)) -> Explanation {
    let is_map = |event: EventId| {
        graph.events[event].kind.access().is_some_and(|access| access.proxy == Proxy::Tensormap)
    };
    let (write, read) = if is_map(a) { (b, a) } else { (a, b) };
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let starts = &witness.basis.relations[&BaseRelation::Start];
    let window = &witness.basis.relations[&BaseRelation::Window];
    let fences = |wanted: fn(RestrictedFence) -> bool| {
        let executed = witness.execution.executed.iter();
        executed.filter(move |&event| {
            matches!(graph.events[event].kind, EventKind::RestrictedFence(fence) if wanted(fence))
        })
    };
    let is_released = fences(|fence| matches!(fence, RestrictedFence::ReleaseTensormap(_)))
        .any(|fence| order.contains(write, fence));
    let is_acquired =
        fences(|fence| matches!(fence, RestrictedFence::AcquireTensormap { .. })).any(|fence| {
            let started = order.successors(fence).any(|issue| starts.contains(issue, read));
            started && window.contains(read, fence)
        });
    let subject = Subject::Race { earlier: write, later: read };
    let mut explanation = bare(&kinds::TENSORMAP, subject);
    explanation.reasons = vec![Reason::TensormapNotPublished { write, read, is_released, is_acquired }];
    explanation
}

/// A race between a grid and one that was launched to overlap with it.
fn of_grids(graph: &EventGraph, witness: &Witness, (a, b): (EventId, EventId)) -> Explanation {
    let grid = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.grid_of(agent));
    // Grids are counted in the order of their launches.
    let (first, second) = if grid(a) <= grid(b) { (a, b) } else { (b, a) };
    let order = &witness.basis.relations[&BaseRelation::ProgramOrder];
    let executed = |wanted: GridEvent| {
        let events = witness.execution.executed.iter();
        events
            .filter(move |&event| matches!(graph.events[event].kind, EventKind::Grid(kind) if kind == wanted))
    };
    let wait = executed(GridEvent::Wait).find(|&wait| grid(wait) == grid(second));
    let issuer = |event: EventId| graph.events[event].agent.map(|agent| graph.hierarchy.issuer(agent));
    let trigger = executed(GridEvent::LaunchDependents)
        .find(|&trigger| issuer(trigger) == issuer(first) && order.contains(first, trigger));
    let through = overlapping(graph, grid(first)).filter(|&next| Some(next) != grid(second));
    let subject = Subject::Race { earlier: first, later: second };
    let mut explanation = bare(&kinds::GRID_DEPENDENCY, subject);
    explanation.reasons = vec![Reason::Overlapping { first, second, wait, trigger, through }];
    explanation
}

/// The grid that was launched to overlap with another one.
fn overlapping(graph: &EventGraph, first: Option<GridId>) -> Option<GridId> {
    let of = |event: EventId| match graph.events[event].kind {
        EventKind::Grid(GridEvent::Start(grid) | GridEvent::End(grid)) => Some(grid),
        _ => None,
    };
    let edge = graph.edges.of(BaseRelation::Overlapping).find(|edge| of(edge.from) == first)?;
    of(edge.to)
}

/// Why an asynchronous operation is not ordered with the other access, or does not order the two.
fn operation_reason(
    graph: &EventGraph,
    links: &Links<'_>,
    (earlier, later): (EventId, EventId),
) -> Option<Reason> {
    for (access, other) in [(earlier, later), (later, earlier)] {
        if let Some(operation) = links.operation_between(access, other) {
            return Some(Reason::NotCarried { operation, access });
        }
    }
    let (event, other) = if graph.is_of_operation(earlier) { (earlier, later) } else { (later, earlier) };
    graph.is_of_operation(event).then(|| Reason::NotCompleted { event, other, known: links.known_by(event) })
}

/// A race that only different proxies make.
fn across_proxies(
    graph: &EventGraph,
    model: &MemoryModel,
    witness: &Witness,
    pair: (EventId, EventId),
) -> Explanation {
    let (earlier, later, reasons) = proxy::explain(graph, model, witness, pair);
    let is_formal = [pair.0, pair.1].iter().any(|&event| {
        graph.events[event]
            .kind
            .access()
            .is_some_and(|access| !matches!(access.proxy, Proxy::Generic | Proxy::Async | Proxy::Tensormap))
    });
    // The formal model's proxies are not the ISA's; those of asynchronous operations are, with fences of their own.
    let basis: &[&'static str] = if is_formal { &["MM-19", "MM-2"] } else { &["MM-19", "FN-12"] };
    let mut explanation = bare(&kinds::CROSS_PROXY, Subject::Race { earlier, later });
    explanation.add_rules(reasons.iter().flat_map(Reason::rules).chain(basis));
    explanation.reasons = reasons;
    explanation
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
