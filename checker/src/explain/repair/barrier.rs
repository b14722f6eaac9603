//! Proposals that let threads meet: a barrier between two statements, the narrowest that holds both threads.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::{barriers, diverges, gaps, insert, names, runners};
use super::syntax::{Instruction, NodeKind};
use crate::event::{AgentId, Event, EventId, EventKind};
use crate::findings::lifetime;
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedSet;

/// Threads of a warp, as barriers count them (BR-2).
const LANES: u32 = 32;
/// Most warps that a barrier's count is tried for.
const WARPS_MAX: u32 = 8;
/// Places tried for barriers of fewer threads than the two that are in no order.
const GAPS_MAX: usize = 4;
/// Other numbers tried for barriers.
const NUMBERS_MAX: usize = 16;

/// Barriers where nothing leads from one thread to the other.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    lifetimes(ground, found);
    elections(ground, found);
    joins(ground, found);
    counts(ground, found);
    numbers(ground, found);
    let graph = ground.graph();
    for (a, b) in ground.pairs() {
        let (Some(first), Some(second)) = (ground.thread(a), ground.thread(b)) else { continue };
        if first == second || graph.is_of_operation(a) && graph.is_of_operation(b) {
            continue;
        }
        let is_bare = |reason: &Reason| {
            matches!(
                reason,
                Reason::NothingObserved { .. }
                    | Reason::NotPassedOn { .. }
                    | Reason::WaitsAlone { .. }
                    | Reason::NotSeen { .. }
                    | Reason::NoWayBack { .. }
                    | Reason::CompletedByOthers { .. }
                    | Reason::OtherGeneration { .. }
                    | Reason::TooSoon { .. }
                    | Reason::NotCompleted { known: Some(_), .. }
            )
        };
        let is_assertion = !matches!(ground.explanation.subject, Subject::Race { .. } | Subject::Flag { .. });
        let base = if ground.has(is_bare) || is_assertion && ground.explanation.reasons.is_empty() {
            20
        } else {
            45
        };
        let gaps = gaps(ground, a, b);
        for (extra, (text, comers)) in meetings(ground, (a, b), (first, second)) {
            let open = gaps.iter().filter(|(_, gap)| comers.come(ground, gap.0));
            for &(rank, gap) in open.take(if extra == 0 { usize::MAX } else { GAPS_MAX }) {
                found.push(Proposal { rank: base + rank + extra, edits: vec![insert(ground, gap, &text)] });
            }
            on_both_sides(ground, (a, b), (&text, comers), base + extra + 3, found);
        }
    }
}

/// Who comes to a barrier.
#[derive(Clone, Copy)]
enum Comers {
    /// All that could, where it does not depend on these names.
    All(&'static [&'static str]),
    /// The threads that come to this statement.
    As(usize),
}

impl Comers {
    /// Whether they all come to a statement, and nobody else.
    fn come(self, ground: &Ground<'_>, node: usize) -> bool {
        match self {
            Self::All(words) => !diverges(ground, node, words),
            Self::As(other) => runs_as(ground, node, other),
        }
    }
}

/// Barriers at which two threads can meet, with how unlikely each is.
fn meetings(
    ground: &Ground<'_>,
    (a, b): (EventId, EventId),
    (first, second): (AgentId, AgentId),
) -> Vec<(u32, (String, Comers))> {
    let usual = barriers(ground, first, second).into_iter().map(|(text, words)| (text, Comers::All(words)));
    let own = own_barriers(ground).into_iter().map(|(text, node)| (text, Comers::As(node)));
    let new = role_barrier(ground, (a, b), (first, second));
    let own = own.chain(new.map(|(text, node)| (text, Comers::As(node))));
    (0..).zip(usual).chain(own.map(|own| (1, own))).collect()
}

/// A barrier for the warps that come to the first access, if both threads do and not all of their CTA.
fn role_barrier(
    ground: &Ground<'_>,
    (a, b): (EventId, EventId),
    threads: (AgentId, AgentId),
) -> Option<(String, usize)> {
    let (graph, sources) = (ground.graph(), ground.texts.sources());
    let hierarchy = &graph.hierarchy;
    let cta = hierarchy.cta_of(threads.0);
    let places = [ground.place(a)?, ground.place(b)?];
    let site = graph.events[a].site?;
    let comes = |event: &&Event| event.site == Some(site);
    let comers = graph.events.iter().filter(comes).filter_map(|event| event.agent);
    let comers: SortedSet<AgentId> = comers.filter(|&agent| hierarchy.cta_of(agent) == cta).collect();
    let warps: SortedSet<u32> = comers.iter().map(|&agent| hierarchy.warp_of(agent)).collect();
    let are_whole = warps.iter().all(|&warp| hierarchy.lanes_of(warp).all(|lane| comers.contains(&lane)));
    let are_some = warps.len() > 1 && comers.len() < hierarchy.threads_of_cta(cta).count();
    let both = [threads.0, threads.1].iter().all(|thread| comers.contains(thread));
    if !are_whole || !are_some || !both || !runs_as(ground, places[0], places[1]) {
        return None;
    }
    // A number that is computed may be any.
    let numbers = ground.syntax.instructions.iter().filter_map(number_of);
    let taken: Option<Vec<usize>> = numbers.map(|span| sources.text(span).trim().parse().ok()).collect();
    let taken = taken?;
    let number = (1..NUMBERS_MAX).find(|number| !taken.contains(number))?;
    Some((format!("bar.sync {number}, {};", warps.len() * LANES as usize), places[0]))
}

/// The barriers of some warps that the text has, each with a statement that is one.
fn own_barriers(ground: &Ground<'_>) -> Vec<(String, usize)> {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_one = |own: &&Instruction| {
        count_of(own).is_some()
            && own.opcode.contains("sync")
            && !own.opcode.contains("warp")
            && own.operands.len() == 2
            && syntax.nodes[own.node].kind == NodeKind::Plain
    };
    let mut found: Vec<(String, usize)> = Vec::new();
    for own in syntax.instructions.iter().filter(is_one) {
        let text = sources.text(syntax.nodes[own.node].span).to_owned();
        let is_known = |(known, node): &(String, usize)| *known == text && runs_as(ground, *node, own.node);
        if !found.iter().any(is_known) {
            found.push((text, own.node));
        }
    }
    found
}

/// Whether the same threads run two statements, as far as branches say that depend on who a thread is.
fn runs_as(ground: &Ground<'_>, node: usize, other: usize) -> bool {
    let parts = |node: usize| {
        let around = ground.syntax.ancestors(node);
        let pairs = around.windows(2).filter_map(|pair| {
            let [inner, outer] = *pair else { return None };
            let NodeKind::Branch { condition } = ground.syntax.nodes[outer].kind else { return None };
            let condition = ground.texts.sources().text(condition);
            let is_told = names(condition, &["tid", "laneid", "warpid", "ctaid", "cluster_ctarank"]);
            is_told.then(|| ground.syntax.siblings(inner).0)
        });
        pairs.collect::<Vec<_>>()
    };
    parts(node) == parts(other)
}

/// An election among the lanes that come to it, where others of the mask never do.
fn elections(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return };
    let hierarchy = &ground.graph().hierarchy;
    for role in roles {
        let node = ground.syntax.node_around(role.span).filter(|&node| ground.can_change(node));
        let elects = |own: &&Instruction| own.opcode.starts_with("elect.sync") && role.span.holds(own.span);
        let election = node.and_then(|node| ground.syntax.inside(node).find(elects));
        let Some(mask) = election.and_then(|own| own.operands.last()) else { continue };
        let warps: SortedSet<u32> = role.agents.iter().map(|&agent| hierarchy.warp_of(agent)).collect();
        if warps.len() == 1 {
            let lanes = role.agents.iter().map(|&agent| 1u32 << hierarchy.threads[agent].lane);
            let text = format!("0x{:x}", lanes.fold(0, |all, lane| all | lane));
            let edits = vec![Edit::replace(ground.texts.sources(), *mask, text)];
            found.push(Proposal { rank: 9, edits });
        }
    }
}

/// The lanes of a warp meet before one of them signals for all, where it is about one of the others.
fn joins(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, graph) = (ground.syntax, ground.graph());
    let hierarchy = &graph.hierarchy;
    let mut threads: SortedSet<AgentId> = ground
        .pairs()
        .into_iter()
        .flat_map(|(a, b)| [a, b])
        .filter_map(|event| ground.thread(event))
        .collect();
    if let Subject::Deadlock { roles, .. } = &ground.explanation.subject {
        threads.extend(roles.iter().flat_map(|role| role.agents.iter().copied()));
    }
    for (node, of) in syntax.nodes.iter().enumerate() {
        let acts = syntax.acts(node);
        let is_branch = matches!(of.kind, NodeKind::Branch { .. });
        if !is_branch || acts.is_empty() || !acts.iter().all(|act| act.gives_signal()) {
            continue;
        }
        let signallers = runners(graph, |span| acts.iter().any(|act| act.span == span));
        let warp = |agent: &AgentId| hierarchy.warp_of(*agent);
        let is_beside = |thread: &AgentId| {
            !signallers.contains(thread) && signallers.iter().any(|other| warp(other) == warp(thread))
        };
        let (siblings, at) = syntax.siblings(node);
        let meets = |before: usize| syntax.inside(siblings[before]).any(|own| own.opcode.starts_with("bar"));
        if threads.iter().any(is_beside) && !at.checked_sub(1).is_some_and(meets) && ground.can_change(node) {
            let edits = vec![insert(ground, (node, false), "bar.warp.sync 0xffffffff;")];
            found.push(Proposal { rank: 8, edits });
        }
    }
}

/// Another number of threads for barriers that have one, wherever it stands: that of some of the warps, or of all.
fn counts(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let code = ground.explanation.code;
    if !code.starts_with("barrier::") && !code.starts_with("deadlock::barrier") {
        return;
    }
    let sources = ground.texts.sources();
    let places: Vec<Span> = ground.syntax.instructions.iter().filter_map(count_of).collect();
    let mut known: Vec<&str> = Vec::new();
    for text in places.iter().map(|&place| sources.text(place)) {
        if known.contains(&text) {
            continue;
        }
        known.push(text);
        // With the threads of one warp it would be a wait for nobody else, in place of the wait that never ends.
        for warps in (2..=ground.graph().hierarchy.launch().warps.min(WARPS_MAX)).rev() {
            let same = places.iter().filter(|&&place| sources.text(place) == text);
            let after = (warps * LANES).to_string();
            if after != text {
                let edits = same.map(|&place| Edit::replace(sources, place, after.as_str()));
                found.push(Proposal { rank: 19, edits: edits.collect() });
            }
            // The constant that the count is a multiple of, rather than the places where it stands.
            let mut constants = ground.syntax.constants.iter();
            let factor = text.split_once('*').filter(|(_, times)| times.trim() == "32");
            let constant =
                factor.and_then(|(factor, _)| constants.find(|(name, _)| name.as_str() == factor.trim()));
            if let Some(&(_, value)) = constant {
                let edit = Edit::replace(sources, value, warps.to_string());
                found.push(Proposal { rank: 18, edits: vec![edit] });
            }
        }
    }
}

/// Another number in a barrier, for one that too few or others come to: one that the text has for as many threads.
fn numbers(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let is_hang = ground.explanation.code.starts_with("deadlock::barrier");
    let is_by_others = ground.has(|reason| matches!(reason, Reason::OtherGeneration { .. }));
    let is_early = ground.explanation.code == "barrier::reuse-before-reset";
    if !is_hang && !is_by_others && !is_early {
        return;
    }
    next_numbers(ground, found);
    number_each(ground, found);
    let sources = ground.texts.sources();
    if is_early {
        waits(ground, found);
    }
    computed_numbers(ground, found);
    let number = |own: &Instruction| {
        let span = number_of(own)?;
        sources.text(span).trim().parse::<u32>().ok()
    };
    let barriers = || ground.syntax.instructions.iter().filter(|own| number(own).is_some());
    let threads = |own: &Instruction| count_of(own).map(|span| sources.text(span));
    let waits = ground.nodes();
    let of_waits = |other: u32| barriers().any(|own| number(own) == Some(other) && waits.contains(&own.node));
    let mut proposals: Vec<Proposal> = Vec::new();
    for own in barriers().filter(|own| ground.can_change(own.node)) {
        let alike = barriers().filter(|other| threads(other) == threads(own));
        let others: SortedSet<u32> =
            alike.filter_map(number).filter(|&other| Some(other) != number(own)).collect();
        for other in others {
            // Whoever is missed may have gone to another barrier; or who waits has.
            let rank = match (of_waits(other), waits.contains(&own.node)) {
                (true, false) => 10,
                (true, true) => 11,
                (false, true) => 12,
                (false, false) => continue,
            };
            let Some(span) = number_of(own) else { continue };
            proposals.push(Proposal { rank, edits: vec![Edit::replace(sources, span, other.to_string())] });
        }
    }
    proposals.sort_by_key(|proposal| proposal.rank);
    proposals.truncate(NUMBERS_MAX);
    found.append(&mut proposals);
}

/// A wait in place of an arrival that does not wait, where a thread comes back too early.
fn waits(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let arrivals = ground.syntax.instructions.iter().filter(|own| number_of(own).is_some());
    for own in arrivals.filter(|own| own.opcode.contains("arrive") && ground.can_change(own.node)) {
        let waits = own.opcode.replace("arrive", "sync");
        let edits = vec![Edit::replace(ground.texts.sources(), own.opcode_span, waits)];
        found.push(Proposal { rank: 13, edits });
    }
}

/// The number of a barrier as another one has it, where numbers are computed.
fn computed_numbers(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let is_computed = |span: &Span| sources.text(*span).trim().parse::<u32>().is_err();
    let spans = ground.syntax.instructions.iter().filter(|own| ground.can_change(own.node));
    let spans: Vec<Span> = spans.filter_map(number_of).filter(is_computed).collect();
    let texts: SortedSet<&str> = spans.iter().map(|&span| sources.text(span).trim()).collect();
    let pairs = spans.iter().flat_map(|&span| texts.iter().map(move |&text| (span, text)));
    for (span, text) in pairs.filter(|&(span, text)| sources.text(span).trim() != text).take(NUMBERS_MAX) {
        // Rather one that begins in the same way: another slot of the same kind.
        let alike = sources.text(span).trim().chars().zip(text.chars()).take_while(|(a, b)| a == b).count();
        let rank = if alike > 0 { 10 } else { 14 };
        found.push(Proposal { rank, edits: vec![Edit::replace(sources, span, text)] });
    }
}

/// A number for each group of threads, where several use one barrier at a time: what both accesses name their element by.
fn number_each(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let index = |event: EventId| {
        let own = ground.instruction(event)?;
        own.memory.iter().flat_map(|memory| &memory.indices).map(|&index| sources.text(index).trim()).next()
    };
    for reason in &ground.explanation.reasons {
        let Reason::OtherGeneration { access, other, wait, is_there: true, .. } = *reason else { continue };
        let (Some(group), Some(at)) = (index(access), ground.instruction(wait)) else { continue };
        let Some(number) = number_of(at).map(|span| sources.text(span).trim()) else { continue };
        let is_name = group.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name
            || group.parse::<u32>().is_ok()
            || index(other) != Some(group)
            || number.parse::<u32>().is_err()
        {
            continue;
        }
        let spans = ground.syntax.instructions.iter().filter_map(number_of);
        let same = spans.filter(|&span| sources.text(span).trim() == number);
        let edits = same.map(|span| Edit::replace(sources, span, format!("{number} + {group}")));
        found.push(Proposal { rank: 9, edits: edits.collect() });
    }
}

/// The barrier of the next warp, or thread, in place of the own one.
fn next_numbers(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    let launch = ground.graph().hierarchy.launch();
    for own in ground.syntax.instructions.iter().filter(|own| ground.can_change(own.node)) {
        let Some(span) = number_of(own) else { continue };
        let text = sources.text(span);
        let rank = if own.opcode.contains("arrive") { 12 } else { 13 };
        if names(text, &["warpid"]) && !text.contains('%') && launch.warps > 1 {
            let next = format!("(warpid + 1) % {}", launch.warps);
            let after = text.replacen("warpid", &next, 1);
            found.push(Proposal { rank, edits: vec![Edit::replace(sources, span, after)] });
        }
    }
}

/// The number of a barrier of a CTA that has one.
fn number_of(instruction: &Instruction) -> Option<Span> {
    let is_barrier = ["bar.", "barrier."].iter().any(|word| instruction.opcode.starts_with(word));
    let is_of_cta = ["cluster", "warp", "red"].iter().all(|word| !instruction.opcode.contains(word));
    instruction.operands.first().copied().filter(|_| is_barrier && is_of_cta)
}

/// The number of threads of a barrier that has one.
pub fn count_of(instruction: &Instruction) -> Option<Span> {
    let is_barrier = ["bar.", "barrier."].iter().any(|word| instruction.opcode.starts_with(word));
    let is_named = is_barrier && !instruction.opcode.contains("cluster");
    instruction.operands.get(1).copied().filter(|_| is_named)
}

/// A barrier before a write and one behind it, for a slot that is read by others and written again in a loop.
fn on_both_sides(
    ground: &Ground<'_>,
    (a, b): (EventId, EventId),
    (text, comers): (&str, Comers),
    rank: u32,
    found: &mut Vec<Proposal>,
) {
    let is_write = |event: &EventId| matches!(ground.graph().events[*event].kind, EventKind::Write(_));
    let Some(write) = [a, b].into_iter().find(is_write) else { return };
    let Some(instruction) = ground.instruction(ground.started_by(write)) else { return };
    let ancestors = ground.syntax.ancestors(instruction.node);
    // The branch in which one thread writes for all stands between the two.
    let Some(level) = ancestors.iter().position(|&around| comers.come(ground, around)) else { return };
    let is_repeated =
        |&around: &usize| ground.syntax.nodes[around].kind == NodeKind::Loop && comers.come(ground, around);
    if !ancestors[level..].iter().any(is_repeated) {
        return;
    }
    let edits = [false, true].map(|is_after| insert(ground, (ancestors[level], is_after), text));
    found.push(Proposal { rank, edits: edits.to_vec() });
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
