//! Proposals that let threads meet: a barrier between two statements, the narrowest that holds both threads.

use super::super::{Reason, Subject};
use super::propose::{Ground, Proposal};
use super::syntax::{NodeKind, Syntax};
use super::text::Edit;
use crate::event::{AgentId, EventId};
use crate::findings::lifetime;
use fencepost_dsl::vocabulary::Scope;

/// Places tried for barriers of fewer threads than the two that are in no order.
const GAPS_MAX: usize = 4;

/// A place between two statements: the one before it, or the one after it where there is none.
pub type Gap = (usize, bool);

/// Barriers where nothing leads from one thread to the other.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    lifetimes(ground, found);
    let graph = ground.graph();
    for (a, b) in ground.pairs() {
        let (Some(first), Some(second)) = (ground.thread(a), ground.thread(b)) else { continue };
        if first == second || graph.is_of_operation(a) && graph.is_of_operation(b) {
            continue;
        }
        let is_bare = |reason: &Reason| {
            matches!(
                reason,
                Reason::NothingObserved { .. } | Reason::NoWayBack { .. } | Reason::CompletedByOthers { .. }
            )
        };
        let is_assertion = !matches!(ground.explanation.subject, Subject::Race { .. } | Subject::Flag { .. });
        let base = if ground.has(is_bare) || is_assertion && ground.explanation.reasons.is_empty() {
            20
        } else {
            45
        };
        let gaps = gaps(ground, a, b);
        for (extra, (text, words)) in (0..).zip(barriers(ground, first, second)) {
            let diverges = |node: usize| {
                ground.syntax.ancestors(node).into_iter().skip(1).any(|around| {
                    let NodeKind::Branch { condition } = ground.syntax.nodes[around].kind else {
                        return false;
                    };
                    names(ground.texts.sources().text(condition), words)
                })
            };
            let open = gaps.iter().filter(|(_, gap)| !diverges(gap.0));
            for &(rank, gap) in open.take(if extra == 0 { usize::MAX } else { GAPS_MAX }) {
                found.push(Proposal { rank: base + rank + extra, edits: vec![insert(ground, gap, &text)] });
            }
        }
    }
}

/// A cluster barrier where everybody starts or ends.
fn lifetimes(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let at_start = match &ground.explanation.subject {
        Subject::Lifetime { ended, .. } => !ended,
        _ => return,
    };
    let kind = ground.explanation.kind;
    if kind == &lifetime::OPERATION_PENDING {
        return;
    }
    let syntax = ground.syntax;
    let top = syntax.nodes.iter().enumerate().filter(|(_, node)| node.parent.is_none());
    let mut statements = top.filter(|(_, node)| node.kind != NodeKind::Declaration).map(|(id, _)| id);
    let outermost = |node: usize| *syntax.ancestors(node).last().unwrap_or(&node);
    let access = ground.nodes().first().copied().map(outermost);
    let text = "barrier.cluster.arrive; barrier.cluster.wait;";
    let gap = if at_start {
        statements.next().map(|node| (node, false))
    } else {
        statements.next_back().map(|node| (node, true))
    };
    let near = access.map(|node| (node, !at_start));
    for (rank, gap) in [(20, near), (21, gap)] {
        let Some(gap) = gap else { continue };
        found.push(Proposal { rank, edits: vec![insert(ground, gap, text)] });
    }
}

/// The barrier that both threads can meet at, and the names on which it depends who comes there; then those of a CTA and
/// of a warp, for a thread that signals or waits for others.
fn barriers(ground: &Ground<'_>, a: AgentId, b: AgentId) -> Vec<(String, &'static [&'static str])> {
    let hierarchy = &ground.graph().hierarchy;
    let launch = hierarchy.launch();
    let (threads, scope) = ([hierarchy.threads[a], hierarchy.threads[b]], hierarchy.common_scope(a, b));
    let is_warp = scope == Scope::Cta && threads[0].warp == threads[1].warp;
    let lanes: &[&str] = &["tid", "laneid"];
    let warp = ("bar.warp.sync 0xffffffff;".to_owned(), lanes);
    let cta: (String, &[&str]) = ("bar.sync 0;".to_owned(), &["tid", "laneid", "warpid"]);
    let mut found = Vec::new();
    if scope == Scope::Cluster && launch.cluster > 1 {
        let words: &[&str] = &["tid", "laneid", "warpid", "ctaid", "cluster_ctarank"];
        found.push(("barrier.cluster.arrive; barrier.cluster.wait;".to_owned(), words));
    }
    if is_warp {
        found.push(warp.clone());
    }
    if launch.warps > 1 {
        found.push(cta);
    }
    if launch.lanes > 1 && !is_warp {
        found.push(warp);
    }
    found
}

/// Whether a text has one of the words.
fn names(text: &str, words: &[&str]) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c: char| !is_inside(c)).any(|word| words.contains(&word))
}

/// Places for something that should come between two accesses, with how unlikely each is.
pub fn gaps(ground: &Ground<'_>, a: EventId, b: EventId) -> Vec<(u32, Gap)> {
    let (syntax, graph) = (ground.syntax, ground.graph());
    let node = |event: EventId| Some(ground.instruction(ground.started_by(event))?.node);
    let (Some(first), Some(second)) = (node(a), node(b)) else { return Vec::new() };
    let is_carried = graph.events[a].iterations != graph.events[b].iterations;
    let mut found: Vec<(u32, Gap)> = Vec::new();
    let mut push = |rank: u32, gap: Option<Gap>| {
        if let Some(gap) = gap.map(|gap| normal(syntax, gap))
            && found.iter().all(|(_, known)| *known != gap)
        {
            found.push((rank, gap));
        }
    };
    let levels = |node: usize| (0..).zip(syntax.ancestors(node));
    if is_carried {
        for around in syntax.ancestors(first) {
            if syntax.nodes[around].kind == NodeKind::Loop && syntax.ancestors(second).contains(&around) {
                push(0, last_of(syntax, around).map(|node| (node, true)));
            }
        }
    }
    let (near, far) = if is_carried { (4, 1) } else { (0, 4) };
    for (level, around) in levels(first) {
        push(near + level, Some((around, true)));
    }
    for (level, around) in levels(second) {
        push(near + level, Some((around, false)));
    }
    for (level, around) in levels(second) {
        push(far + level, Some((around, true)));
    }
    for (level, around) in levels(first) {
        push(far + level, Some((around, false)));
    }
    found.sort_by_key(|(rank, _)| *rank);
    found
}

/// The last statement of a loop's body.
fn last_of(syntax: &Syntax, around: usize) -> Option<usize> {
    (0..syntax.nodes.len()).rfind(|&node| syntax.nodes[node].parent == Some(around))
}

/// Of the two names of a place, the one by the statement before it.
fn normal(syntax: &Syntax, (node, is_after): Gap) -> Gap {
    let (siblings, at) = syntax.siblings(node);
    match at.checked_sub(1) {
        Some(before) if !is_after => (siblings[before], true),
        _ => (node, is_after),
    }
}

/// Statements at a place.
pub fn insert(ground: &Ground<'_>, (node, is_after): Gap, text: &str) -> Edit {
    Edit::insert(ground.texts.sources(), ground.syntax.nodes[node].span, is_after, text)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_whole_words() {
        assert!(names("tid == 0", &["tid"]) && !names("ntid == 2", &["tid"]));
    }
}
