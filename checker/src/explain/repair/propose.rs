//! What to try: for a finding, changes in the order in which they are likely to be meant.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::{Edit, EditKind};
use super::ground::{Ground, Proposal, STRONG_ODD_ONE, rank_of_strong_ends};
use super::opcode::{Goal, SemEdit, sem_edits, usual};
use super::signal::{is_link, is_signal, is_waited_for};
use super::{
    anywhere, arrivals, atomics, awaits, barrier, branch, cluster, compiled, crossing, grammar, group,
    halves, handshake, mbarrier, missing, misuse, numbers, odd, order, relay, resets, rows, scope, spa,
    streams, turns,
};
use crate::event::{Access, Event, EventGraph, EventId, EventKind, SiteId};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::Sem;

/// How far a statement may be from the place at which one like it is proposed, to be moved there instead.
const MOVED_MAX: usize = 3;

/// All proposals for a finding, in order.
pub fn proposals(ground: &Ground<'_>) -> Vec<Proposal> {
    let mut found = Vec::new();
    if ground.graph().hierarchy.launch().spa.is_some() {
        spa::propose(ground, &mut found);
    } else {
        sems(ground, &mut found);
        scope::propose(ground, &mut found);
        relay::propose(ground, &mut found);
        resets::propose(ground, &mut found);
        halves::propose(ground, &mut found);
        crossing::propose(ground, &mut found);
        order::propose(ground, &mut found);
        barrier::propose(ground, &mut found);
        group::propose(ground, &mut found);
        mbarrier::propose(ground, &mut found);
        arrivals::propose(ground, &mut found);
        missing::propose(ground, &mut found);
        misuse::propose(ground, &mut found);
        numbers::propose(ground, &mut found);
        odd::propose(ground, &mut found);
        branch::propose(ground, &mut found);
        turns::propose(ground, &mut found);
        handshake::propose(ground, &mut found);
        cluster::propose(ground, &mut found);
        atomics::propose(ground, &mut found);
        streams::propose(ground, &mut found);
        anywhere::propose(ground, &mut found);
    }
    awaits::propose(ground, &mut found);
    grammar::propose(ground, &mut found);
    moved_instead(ground, &mut found);
    compiled::restrict(ground, &mut found);
    rows::propose(ground, &mut found);
    compiled::widen(ground, &mut found);
    let is_open = |proposal: &Proposal| {
        let mut pieces = proposal.edits.iter().flat_map(|edit| &edit.pieces);
        !proposal.edits.is_empty() && pieces.all(|piece| !ground.texts.is_library(piece.span.file))
    };
    found.retain(|proposal| is_open(proposal) && !is_empty_group(ground, proposal));
    found.sort_by_key(|proposal| proposal.rank);
    found
}

/// Where the same statement stands beside a place at which one is proposed, moving it there is tried first: it is likely to
/// be the one that was meant.
fn moved_instead(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let mut moves: Vec<Proposal> = Vec::new();
    for proposal in &*found {
        let [Edit { kind: EditKind::Insert { text, is_after, anchor }, .. }] = proposal.edits.as_slice()
        else {
            continue;
        };
        let Some(node) = syntax.node_at(*anchor) else { continue };
        let (siblings, at) = syntax.siblings(node);
        let gap = at + usize::from(*is_after);
        let is_same = |other: usize| sources.text(syntax.nodes[siblings[other]].span) == text;
        // A statement at the place itself would stay where it is.
        let near = gap.saturating_sub(MOVED_MAX)..(gap + MOVED_MAX).min(siblings.len());
        let is_elsewhere = |other: &usize| *other != gap && *other + 1 != gap;
        for other in near.filter(is_elsewhere).filter(|&other| is_same(other)) {
            let span = syntax.nodes[siblings[other]].span;
            let edits = vec![Edit::moved(sources, span, *anchor, *is_after)];
            let rank = found.iter().filter(|own| inserts(own, text)).map(|own| own.rank).min();
            moves.push(Proposal { rank: rank.unwrap_or(proposal.rank).saturating_sub(1), edits });
        }
    }
    moves.retain(|own| found.iter().all(|known| known.edits != own.edits));
    found.extend(moves);
}

fn inserts(proposal: &Proposal, statement: &str) -> bool {
    let of = |edit: &Edit| matches!(&edit.kind, EditKind::Insert { text, .. } if text == statement);
    matches!(proposal.edits.as_slice(), [only] if of(only))
}

/// Whether a group would be committed right before another one, or behind it: an empty one, with which a wait for groups only
/// leaves fewer pending.
fn is_empty_group(ground: &Ground<'_>, proposal: &Proposal) -> bool {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let commits = |text: &str| text.contains("commit");
    proposal.edits.iter().any(|edit| {
        let EditKind::Insert { text, is_after, anchor } = &edit.kind else { return false };
        let Some(node) = syntax.node_at(*anchor) else { return false };
        let (siblings, at) = syntax.siblings(node);
        let next = if *is_after { Some(at + 1) } else { at.checked_sub(1) };
        let beside =
            next.and_then(|next| siblings.get(next)).map(|&next| sources.text(syntax.nodes[next].span));
        text.contains("commit_group") && (commits(sources.text(*anchor)) || beside.is_some_and(commits))
    })
}

/// Stronger sems and wider scopes, along the broken link and at both ends.
fn sems(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    let mut push = |rank: u32, edits: &[SemEdit]| {
        let edits = sem_edits(ground, edits);
        found.push(Proposal { rank, edits });
    };
    let scope_of = |a: EventId, b: EventId| {
        let (a, b) = (graph.events[a].agent?, graph.events[b].agent?);
        Some(usual(graph, graph.hierarchy.common_scope(a, b)))
    };
    if let Some(chain) = &ground.explanation.chain
        && let Some((write, read)) = chain.broken
        && is_link(ground, write, read)
        && let Some(scope) = scope_of(write, read)
    {
        let edit = |event: EventId, goal: Goal| SemEdit { event, goal, scope };
        let ends = [write, read];
        let patterns = ends.iter().chain(&chain.release_heads).chain(&chain.acquire_tails);
        let widen: Vec<SemEdit> = patterns.map(|&event| edit(event, Goal::Widen)).collect();
        let with = |first: SemEdit| std::iter::once(first).chain(widen.iter().copied()).collect::<Vec<_>>();
        let (release, acquire) = (edit(write, Goal::Release), edit(read, Goal::Acquire));
        // Where the explanation says that this is what is missing, before what is about other words.
        let is_told =
            ground.has(|reason| matches!(reason, Reason::NoAcquire { .. } | Reason::NoRelease { .. }));
        let base = if is_told { 4 } else { 10 };
        push(base, &widen);
        push(base + 1, &with(release));
        push(base + 2, &with(acquire));
        push(base + 3, &[release, acquire]);
        // The strong forms without order of their own: enough where fences do the rest.
        if is_signal(ground, write, read) {
            push(14, &[edit(write, Goal::Strong), edit(read, Goal::Strong)]);
        }
        // Another read of the signal, as that of the loop that tests before it locks.
        for (id, event) in graph.events.iter_enumerated() {
            let location = |event: EventId| graph.events[event].kind.access().map(|access| access.location);
            let is_alike =
                event.agent == graph.events[read].agent && location(id) == location(read) && id != read;
            if is_alike && matches!(event.kind, EventKind::Read(_)) {
                push(15, &[edit(id, Goal::Acquire)]);
            }
        }
    }
    for reason in &ground.explanation.reasons {
        if let Reason::OutOfScope { event, other, needed, .. } = *reason {
            let scope = usual(graph, needed);
            push(15, &[event, other].map(|event| SemEdit { event, goal: Goal::Widen, scope }));
        }
    }
    if let Subject::Race { earlier, later } = ground.explanation.subject
        && let Some(scope) = scope_of(earlier, later)
    {
        let both = |first: Goal, second: Goal| {
            [SemEdit { event: earlier, goal: first, scope }, SemEdit { event: later, goal: second, scope }]
        };
        if is_signal(ground, earlier, later) && !order::is_early(ground) {
            // Of data, whatever is claimed of it, this never mends a part: what should come first would still not.
            let is_waited = graph.events[earlier]
                .kind
                .access()
                .is_some_and(|access| is_waited_for(graph, access.location));
            let rank = rank_of_strong_ends(ground);
            push(rank, &both(Goal::Strong, Goal::Strong));
            push(if is_waited { 17 } else { rank }, &both(Goal::Release, Goal::Acquire));
        } else if is_the_only_weak_one(graph, (earlier, later)) {
            push(STRONG_ODD_ONE, &both(Goal::Strong, Goal::Strong));
        }
    }
    if let Subject::Deadlock { .. } = ground.explanation.subject {
        awaited(ground, found);
    }
}

/// Whether of two accesses one is weak, and all that the text has there besides is strong.
fn is_the_only_weak_one(graph: &EventGraph, (a, b): (EventId, EventId)) -> bool {
    let access = |event: EventId| graph.events[event].kind.access();
    let of_site = |event: &Event| Some((event.site?, event.kind.access()?.is_strong()));
    let location = access(a).map(|access| access.location);
    let there = graph.events.iter().filter(|event| event.kind.access().map(|own| own.location) == location);
    let weak: SortedSet<SiteId> =
        there.filter_map(of_site).filter(|(_, is_strong)| !is_strong).map(|(site, _)| site).collect();
    let is_strong = |event: EventId| access(event).is_some_and(Access::is_strong);
    is_strong(a) != is_strong(b) && weak.len() == 1
}

/// Weak reads of a loop that waits, and the weak write that it need not see, made strong.
fn awaited(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return };
    for reason in &ground.explanation.reasons {
        let Reason::WeakEnd { event, other } = *reason else { continue };
        let Some(scope) = graph.events[other].kind.scope() else { continue };
        for (rank, goal) in [(10, Goal::Strong), (11, Goal::Release)] {
            let edits = sem_edits(ground, &[SemEdit { event, goal, scope }]);
            found.push(Proposal { rank, edits });
        }
    }
    for (id, event) in graph.events.iter_enumerated() {
        let EventKind::Read(access) = &event.kind else { continue };
        let Some(span) = event.site.map(|site| graph.sites[site].span) else { continue };
        if access.sem == Sem::Weak && roles.iter().any(|role| role.span.holds(span)) {
            let scope = fencepost_dsl::vocabulary::Scope::Gpu;
            for (rank, goal) in [(10, Goal::Strong), (11, Goal::Acquire)] {
                let edits = sem_edits(ground, &[SemEdit { event: id, goal, scope }]);
                found.push(Proposal { rank, edits });
            }
        }
    }
}
