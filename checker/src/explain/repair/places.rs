//! Places in a text: where something can be put in, and who comes there.

use super::edit::Edit;
use super::ground::Ground;
use super::syntax::{Instruction, NodeKind, Syntax};
use crate::event::{AgentId, Event, EventGraph, EventId};
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::Scope;

/// How much less likely a place is in a loop that only one of two accesses is in.
const ROUNDS: u32 = 3;

/// A place between two statements: the one before it, or the one after it where there is none.
pub type Gap = (usize, bool);

/// Who runs statements at some places of the text.
pub fn runners(graph: &EventGraph, is_meant: impl Fn(Span) -> bool) -> SortedSet<AgentId> {
    let of = |event: &&Event| event.site.is_some_and(|site| is_meant(graph.sites[site].span));
    graph.events.iter().filter(of).filter_map(|event| event.agent).collect()
}

/// Whether a text has one of the words, as names.
pub fn names(text: &str, words: &[&str]) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c: char| !is_inside(c)).any(|word| words.contains(&word))
}

/// Statements at a place.
pub fn insert(ground: &Ground<'_>, (node, is_after): Gap, text: &str) -> Edit {
    Edit::insert(ground.texts.sources(), ground.syntax.nodes[node].span, is_after, text)
}

/// Places for something that should come between two accesses, with how unlikely each is.
pub fn gaps(ground: &Ground<'_>, a: EventId, b: EventId) -> Vec<(u32, Gap)> {
    let (syntax, graph) = (ground.syntax, ground.graph());
    let (Some(first), Some(second)) = (ground.place(a), ground.place(b)) else { return Vec::new() };
    let rounds = (&graph.events[a].iterations, &graph.events[b].iterations);
    let is_carried = rounds.0.iter().zip(rounds.1).any(|(a, b)| a != b);
    let mut found: Vec<(u32, Gap)> = Vec::new();
    let mut push = |rank: u32, gap: Option<Gap>| {
        if let Some(gap) = gap.map(|gap| normal(syntax, gap))
            && found.iter().all(|(_, known)| *known != gap)
        {
            found.push((rank, gap));
        }
    };
    let levels = |node: usize| (0..).zip(syntax.outwards(node));
    if is_carried {
        for around in syntax.outwards(first) {
            if syntax.nodes[around].kind == NodeKind::Loop && syntax.outwards(second).contains(&around) {
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
    for (rank, (node, _)) in &mut found {
        *rank += if is_in_other_rounds(syntax, *node, [first, second]) { ROUNDS } else { 0 };
    }
    found.sort_by_key(|(rank, _)| *rank);
    found
}

/// Whether a statement is in a loop that two others are not both in: what stands beside it is run again and again.
pub fn is_in_other_rounds(syntax: &Syntax, node: usize, ends: [usize; 2]) -> bool {
    let ends = ends.map(|end| syntax.outwards(end));
    let is_of_both = |around: &usize| ends.iter().all(|of_end| of_end.contains(around));
    let mut around = syntax.outwards(node).into_iter().skip(1);
    around.any(|around| syntax.nodes[around].kind == NodeKind::Loop && !is_of_both(&around))
}

/// The last statement of a loop's body.
pub fn last_of(syntax: &Syntax, around: usize) -> Option<usize> {
    (0..syntax.nodes.len()).rfind(|&node| syntax.nodes[node].parent == Some(around))
}

/// Of the two names of a place, the one by the statement before it.
pub fn normal(syntax: &Syntax, (node, is_after): Gap) -> Gap {
    let (siblings, at) = syntax.siblings(node);
    match at.checked_sub(1) {
        Some(before) if !is_after => (siblings[before], true),
        _ => (node, is_after),
    }
}

/// Before what orders right before a statement, if something does, and before the statement itself.
pub fn before(syntax: &Syntax, node: usize) -> impl Iterator<Item = usize> {
    let (siblings, at) = syntax.siblings(node);
    let orders = siblings[..at].iter().rev().take_while(|&&other| syntax.is_synchronization(other));
    orders.last().copied().into_iter().chain([node])
}

/// The first access of those that stand between a statement and what synchronizes before it: what a signal is given for.
pub fn behind_meeting(syntax: &Syntax, node: usize) -> Option<usize> {
    let (siblings, at) = syntax.siblings(node);
    let own = siblings[..at].iter().rev().take_while(|&&other| !syntax.is_synchronization(other));
    own.filter(|&&other| !syntax.acts(other).is_empty()).last().copied()
}

/// Whether a statement stands in a branch about which the names decide that those differ who would have to meet.
pub fn diverges(ground: &Ground<'_>, node: usize, words: &[&str]) -> bool {
    ground.syntax.ancestors(node).into_iter().skip(1).any(|around| {
        let NodeKind::Branch { condition } = ground.syntax.nodes[around].kind else { return false };
        names(ground.texts.sources().text(condition), words)
    })
}

/// The barrier that both threads can meet at, and the names on which it depends who comes there; then those of a CTA and
/// of a warp, for a thread that signals or waits for others.
pub fn barriers(ground: &Ground<'_>, a: AgentId, b: AgentId) -> Vec<(String, &'static [&'static str])> {
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
    // What a program launches has its own sizes.
    if launch.warps > 1 || scope == Scope::Cta && !is_warp {
        found.push(cta);
    }
    if launch.lanes > 1 && !is_warp {
        found.push(warp);
    }
    found
}

/// The named barriers at which both threads meet somewhere in the text, as they are written there: those of a role.
pub fn within_roles(ground: &Ground<'_>, a: AgentId, b: AgentId) -> Vec<(String, &'static [&'static str])> {
    let (syntax, graph) = (ground.syntax, ground.graph());
    let comes = |own: &Instruction, agent: AgentId| {
        let is_it = |event: &Event| {
            event.agent == Some(agent) && event.site.is_some_and(|site| graph.sites[site].span == own.span)
        };
        graph.events.iter().any(is_it)
    };
    let is_named = |own: &&Instruction| {
        ["bar.sync", "barrier.sync"].iter().any(|word| own.opcode.starts_with(word))
            && own.operands.len() == 2
    };
    let both = syntax.instructions.iter().filter(is_named).filter(|own| comes(own, a) && comes(own, b));
    let texts: SortedSet<&str> =
        both.map(|own| ground.texts.sources().text(syntax.nodes[own.node].span)).collect();
    texts.into_iter().map(|text| (text.to_owned(), &["tid", "laneid"][..])).collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn names_are_whole_words() {
        assert!(names("tid == 0", &["tid"]) && !names("ntid == 2", &["tid"]));
    }
}
