//! Proposals where a thread of the same CTA hands over for another one, which it does not meet: a barrier between the two,
//! as narrow as holds both.

use super::super::reason::Reason;
use super::super::roles::{Role, WaitFact};
use super::super::subject::Subject;
use super::ground::{Ground, Proposal};
use super::places::{Gap, barriers, diverges, insert, normal, within_roles};
use crate::event::{AgentId, EventId};
use fencepost_dsl::sorted::SortedSet;

/// Statements around each of the two places that are tried.
const LEVELS_MAX: usize = 4;

/// A barrier behind what one thread has seen, or before what it signals.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    for reason in &ground.explanation.reasons {
        let (access, relay, is_signal) = match *reason {
            Reason::NotPassedOn { access, relay, is_signal } => (access, relay, is_signal),
            Reason::WaitsAlone { access, wait } => (access, wait, false),
            _ => continue,
        };
        between(ground, (access, relay), is_signal, found);
    }
    if let Subject::Deadlock { roles, .. } = &ground.explanation.subject {
        for (wait, signal) in roles.iter().filter_map(|role| overtaken(ground, role)) {
            between(ground, (wait, signal), true, found);
        }
    }
}

fn between(
    ground: &Ground<'_>,
    (access, relay): (EventId, EventId),
    is_signal: bool,
    found: &mut Vec<Proposal>,
) {
    let (Some(first), Some(second)) = (ground.thread(access), ground.thread(relay)) else { return };
    let mut options = barriers(ground, first, second);
    // The narrowest is the last to be thought of, and the first to be tried.
    options.sort_by_key(|(text, _)| !text.starts_with("bar.warp"));
    options.extend(within_roles(ground, first, second));
    for (rank, (text, words)) in (8..).zip(options) {
        for (rank, gap) in (rank..).zip(gaps(ground, (access, relay), is_signal, words)) {
            found.push(Proposal { rank, edits: vec![insert(ground, gap, &text)] });
        }
    }
}

/// Where a phase was over before a thread had looked: its wait, and the signal of another thread of its CTA that has made the
/// same wait and let the next phase come without it.
fn overtaken(ground: &Ground<'_>, role: &Role) -> Option<(EventId, EventId)> {
    let WaitFact::Phase { overtaken: Some(_), .. } = &role.wait else { return None };
    let graph = ground.graph();
    let of_thread = |id: EventId| graph.events[id].agent.filter(|_| !graph.is_of_operation(id));
    let span_of = |id: EventId| graph.events[id].site.map(|site| graph.sites[site].span);
    let is_wait = |id: &EventId| {
        graph.events[*id].iterations == role.iterations
            && span_of(*id).is_some_and(|span| role.span.holds(span))
    };
    let waits: Vec<(AgentId, EventId)> =
        graph.events.ids().filter(is_wait).filter_map(|id| Some((of_thread(id)?, id))).collect();
    let late: SortedSet<AgentId> = role.agents.iter().copied().collect();
    let place = |agent: AgentId| graph.hierarchy.threads[agent];
    let signal_of = |(agent, wait): (AgentId, EventId)| {
        let is_behind = |id: &EventId| {
            let (own, wait) = (&graph.events[*id], &graph.events[wait]);
            own.agent == Some(agent) && own.position > wait.position && own.iterations == wait.iterations
        };
        let signals = |id: &EventId| ground.instruction(*id).is_some_and(|own| own.gives_signal());
        graph.events.ids().filter(is_behind).find(signals)
    };
    let early = waits.iter().filter(|(agent, _)| !late.contains(agent));
    let (peer, signal) = early.filter_map(|&own| Some((own.0, signal_of(own)?))).next()?;
    let of_cta = |agent: AgentId| graph.hierarchy.cta_of(agent) == graph.hierarchy.cta_of(peer);
    let mut of_late = waits.iter().filter(|(agent, _)| late.contains(agent) && of_cta(*agent));
    // One of another warp tells that a warp is too narrow.
    let wait = of_late.clone().find(|(agent, _)| place(*agent).warp != place(peer).warp).or(of_late.next());
    wait.map(|&(_, wait)| (wait, signal))
}

/// Places between an access and what another thread does for it, nearest to that first.
fn gaps(
    ground: &Ground<'_>,
    (access, relay): (EventId, EventId),
    is_signal: bool,
    words: &[&str],
) -> Vec<Gap> {
    let around = |event: EventId, is_after: bool| {
        let ancestors = ground.place(event).map_or_else(Vec::new, |node| ground.syntax.ancestors(node));
        let open = ancestors.into_iter().filter(|&node| !diverges(ground, node, words));
        open.map(|node| (node, is_after)).take(LEVELS_MAX).collect::<Vec<_>>()
    };
    let (near, far) = (around(relay, !is_signal), around(access, is_signal));
    let mut found: Vec<Gap> = Vec::new();
    for at in 0..near.len().max(far.len()) {
        for gap in [near.get(at), far.get(at)].into_iter().flatten() {
            let is_same = |known: &Gap| normal(ground.syntax, *known) == normal(ground.syntax, *gap);
            if !found.iter().any(is_same) {
                found.push(*gap);
            }
        }
    }
    found
}
