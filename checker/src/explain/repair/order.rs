//! Proposals that leave every statement as it is and change the order of two, or add a fence between two.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::insert;
use super::syntax::{Instruction, NodeKind};
use crate::event::{Access, EventGraph, EventId, EventKind, GridId};
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::AsyncSpace;
use fencepost_dsl::vocabulary::{Proxy, Scope};

/// How far a statement may be moved.
const DISTANCE_MAX: usize = 3;

/// Moves of what synchronizes past what the finding is about, and fences beside that.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    moves(ground, found);
    proxy_fences(ground, found);
    alias_fences(ground, found);
    grid_waits(ground, found);
    released_too_early(ground, found);
    total_order(ground, found);
    link_fences(ground, found);
    one_order(ground, found);
}

/// Two locks that are taken one right after the other, the other way round, where threads wait in a circle.
fn one_order(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if !ground.has(|reason| matches!(reason, Reason::Circle { .. })) {
        return;
    }
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let opcodes =
        |node: usize| -> Vec<&str> { syntax.acts(node).into_iter().map(|act| act.opcode.as_str()).collect() };
    let takes = |opcodes: &[&str]| {
        opcodes.iter().any(|opcode| opcode.starts_with("atom") && !opcode.contains("release"))
    };
    for node in 0..syntax.nodes.len() {
        let (siblings, at) = syntax.siblings(node);
        let Some(&next) = siblings.get(at + 1).filter(|_| ground.can_change(node)) else { continue };
        let (first, second) = (syntax.nodes[node].span, syntax.nodes[next].span);
        let own = opcodes(node);
        if takes(&own) && own == opcodes(next) && sources.text(first) != sources.text(second) {
            let edits = vec![Edit::moved(sources, second, first, false)];
            found.push(Proposal { rank: 8, edits });
            // Of two elements the smaller one first.
            if let Some((a, b)) = elements(sources.text(first), sources.text(second)) {
                let (one, two) = (&sources.text(first)[a.clone()], &sources.text(second)[b.clone()]);
                let at = |span: Span, range: std::ops::Range<usize>| {
                    let start = span.start as usize;
                    Span::new(span.file, start + range.start, start + range.end)
                };
                let edits = vec![
                    Edit::replace(sources, at(first, a), format!("{one} < {two} ? {one} : {two}")),
                    Edit::replace(sources, at(second, b), format!("{one} < {two} ? {two} : {one}")),
                ];
                found.push(Proposal { rank: 9, edits });
            }
        }
    }
}

/// Where the index is in which two statements differ, if they differ in nothing else.
fn elements(first: &str, second: &str) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let same = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let start = first.get(..same)?.rfind('[')? + 1;
    let end = |text: &str| Some(start + text.get(start..)?.find(']')?);
    let (a, b) = (start..end(first)?, start..end(second)?);
    (first[a.end..] == second[b.end..]).then_some((a, b))
}

/// A fence that releases before a signal, or acquires behind it.
fn link_fences(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    let Some((write, read)) = ground.explanation.chain.as_ref().and_then(|chain| chain.broken) else {
        return;
    };
    let (Some(a), Some(b)) = (graph.events[write].agent, graph.events[read].agent) else { return };
    let scope = super::opcode::usual(graph, graph.hierarchy.common_scope(a, b));
    let text = format!("fence.acq_rel.{scope};");
    let fence = |event: EventId, is_after: bool| {
        let node = ground.place(event)?;
        Some(Edit::insert(ground.texts.sources(), ground.syntax.nodes[node].span, is_after, &text))
    };
    let (release, acquire) = (fence(write, false), fence(read, true));
    for reason in &ground.explanation.reasons {
        let edit = match reason {
            Reason::NoRelease { .. } => &release,
            Reason::NoAcquire { .. } => &acquire,
            _ => continue,
        };
        found.push(Proposal { rank: 18, edits: edit.iter().cloned().collect() });
    }
    if release != acquire {
        found.push(Proposal { rank: 19, edits: release.into_iter().chain(acquire).collect() });
    }
}

/// Whether threads do signal, but too early or where nobody looks then.
pub fn is_early(ground: &Ground<'_>) -> bool {
    ground.has(|reason| {
        matches!(reason, Reason::TooSoon { .. } | Reason::NotSeen { .. } | Reason::NoWayBack { .. })
    })
}

/// The objects that threads wait for in any way: a write of one is a signal.
pub fn awaited<'a>(ground: &Ground<'a>) -> Vec<&'a str> {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let waits = syntax.instructions.iter().filter(|instruction| {
        let text = sources.text(syntax.nodes[instruction.node].span);
        text.starts_with("await ") || text.starts_with("while ")
    });
    waits.flat_map(|instruction| &instruction.objects).map(String::as_str).collect()
}

/// The same, and those that they look at with strong reads.
pub fn looked_at<'a>(ground: &Ground<'a>) -> Vec<&'a str> {
    let looks = ground.syntax.instructions.iter();
    let looks = looks.filter(|look| look.opcode.starts_with("ld.") && look.is_strong());
    let mut found = awaited(ground);
    found.extend(looks.flat_map(|instruction| &instruction.objects).map(String::as_str));
    found
}

fn moves(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let mut together = Vec::new();
    let is_early = is_early(ground);
    let signals = if is_early { looked_at(ground) } else { awaited(ground) };
    let mut push = |rank: u32, what: usize, anchor: usize, is_after: bool| {
        let (span, anchor) = (syntax.nodes[what].span, syntax.nodes[anchor].span);
        found.push(Proposal { rank, edits: vec![Edit::moved(sources, span, anchor, is_after)] });
    };
    for node in ground.nodes() {
        for (level, around) in (0..).zip(syntax.outwards(node)) {
            let (siblings, at) = syntax.siblings(around);
            let window = at.saturating_sub(DISTANCE_MAX)..(at + DISTANCE_MAX + 1).min(siblings.len());
            for other in window.filter(|&other| other != at) {
                let sibling = siblings[other];
                let is_signal = || {
                    let mut inside = syntax.inside(sibling);
                    let first = inside.next().is_some_and(|i| {
                        let tells =
                            i.signals() || i.opcode.starts_with("cp.") && i.opcode.contains(".mbarrier");
                        tells && i.objects.iter().any(|o| signals.contains(&o.as_str()))
                    });
                    first && inside.next().is_none() && syntax.nodes[sibling].kind == NodeKind::Plain
                };
                if frees_a_lock(ground, sibling) && other > at {
                    continue;
                }
                let is_wait = || other > at && waits(ground, sibling);
                let is_handover = syntax.is_handover(sibling);
                let gives = || syntax.acts(sibling).iter().any(|act| act.gives_signal());
                let distance = u32::try_from(other.abs_diff(at)).unwrap_or(9);
                if is_early && (is_signal() || is_handover && gives()) {
                    push(10 + level + distance, sibling, around, other < at);
                } else if syntax.is_synchronization(sibling) || is_signal() || is_wait() || is_handover {
                    push(20 + 2 * level + 3 * distance, sibling, around, other < at);
                }
            }
            // All that synchronizes right before or behind it, together.
            let is_moved = |&&sibling: &&usize| syntax.is_synchronization(sibling);
            let before = siblings[..at].iter().rev().take_while(is_moved).count();
            let behind = siblings[at + 1..].iter().take_while(is_moved).count();
            let runs = [(&siblings[at - before..at], true), (&siblings[at + 1..at + 1 + behind], false)];
            for (run, is_after) in runs.into_iter().filter(|(run, _)| run.len() == 2) {
                let anchor = syntax.nodes[around].span;
                let edits =
                    run.iter().map(|&node| Edit::moved(sources, syntax.nodes[node].span, anchor, is_after));
                together.push(Proposal { rank: 24 + level, edits: edits.collect() });
            }
            // Out of the branch that it is executed in, or out of the loop.
            if level > 0 && syntax.is_synchronization(node) {
                push(24 + level, node, around, true);
                push(25 + level, node, around, false);
            }
        }
        // What synchronizes at the edge of a branch beside the statement, out of it.
        for around in syntax.ancestors(node) {
            let (siblings, at) = syntax.siblings(around);
            let beside = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
            for branch in beside.filter_map(|at| siblings.get(at).copied()) {
                if !matches!(syntax.nodes[branch].kind, NodeKind::Branch { .. }) {
                    continue;
                }
                let inner = (0..syntax.nodes.len()).filter(|&inner| {
                    syntax.nodes[inner].parent == Some(branch) && syntax.is_synchronization(inner)
                });
                for inner in inner {
                    push(28, inner, branch, true);
                    push(28, inner, branch, false);
                }
            }
        }
    }
    found.extend(together);
}

/// Whether a statement does nothing but wait until a strong read finds something.
fn waits(ground: &Ground<'_>, node: usize) -> bool {
    let is_await = ground.texts.sources().text(ground.syntax.nodes[node].span).starts_with("await ");
    let mut inside = ground.syntax.inside(node).peekable();
    is_await && inside.peek().is_some() && inside.all(|own| own.only_looks() && own.is_strong())
}

/// Whether a statement releases what the same text takes with a compare-and-swap or an exchange: given back before a wait
/// that stood under that lock, it would no longer be one.
fn frees_a_lock(ground: &Ground<'_>, node: usize) -> bool {
    let syntax = ground.syntax;
    let takes = |own: &Instruction| {
        own.opcode.starts_with("atom") && (own.opcode.contains(".cas") || own.opcode.contains(".exch"))
    };
    let acts = syntax.acts(node);
    let objects = acts.into_iter().filter(|own| own.signals()).flat_map(|own| &own.objects);
    let objects: Vec<&String> = objects.collect();
    let mut taking = syntax.instructions.iter().filter(|own| takes(own));
    taking.any(|own| own.objects.iter().any(|object| objects.contains(&object)))
}

/// A fence between two proxies, after the first access or before the second.
fn proxy_fences(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    let sources = ground.texts.sources();
    let is_missing = |reason: &Reason| {
        matches!(
            reason,
            Reason::MissingProxyFence { proxy: Proxy::Async, .. } | Reason::ProxyFencesOutOfOrder { .. }
        )
    };
    let Subject::Race { earlier, later } = ground.explanation.subject else { return };
    let proxy = |event: EventId| graph.events[event].kind.access().map(|access| access.proxy);
    let is_async = [earlier, later].iter().any(|&event| proxy(event) == Some(Proxy::Async));
    let is_generic = [earlier, later].iter().any(|&event| proxy(event) == Some(Proxy::Generic));
    // Between two operations too, where only the fence is missing: whoever waits for the first passes it on by the generic
    // proxy.
    let is_known = ground.has(is_missing);
    if !is_async || !is_generic && !is_known {
        return;
    }
    let first = if is_known { 5 } else { 35 };
    for (event, is_after) in [(earlier, true), (later, false)] {
        let Some(agent) = graph.events[event].agent else { continue };
        let is_operation = graph.hierarchy.is_operation(agent);
        let Some(instruction) = ground.instruction(ground.started_by(event)) else { continue };
        let space = space_of(graph, event, ground.thread(event).unwrap_or(agent));
        for (level, around) in (0..).zip(ground.syntax.ancestors(instruction.node)) {
            if is_operation && is_after {
                break;
            }
            let text = format!("fence.proxy.async{};", space.suffix());
            let anchor = ground.syntax.nodes[around].span;
            let edit = Edit::insert(sources, anchor, is_after, &text);
            let far = if level > 0 { 2 } else { 0 };
            found.push(Proposal { rank: first + far + u32::from(!is_after), edits: vec![edit] });
        }
    }
}

/// A fence between two names of the same bytes, after the first access or before the second (MM-41).
fn alias_fences(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let mut pairs: Vec<(EventId, EventId)> = Vec::new();
    for reason in &ground.explanation.reasons {
        if let Reason::AliasWithoutFence { earlier, later } = *reason {
            pairs.push((earlier, later));
        }
    }
    if !matches!(ground.explanation.subject, Subject::Race { .. } | Subject::Flag { .. }) {
        // The value of a read that its own thread wrote under another name.
        pairs.extend(ground.pairs().into_iter().filter(|&(a, b)| mapping(ground, a) != mapping(ground, b)));
    }
    for (earlier, later) in pairs {
        for (event, is_after) in [(earlier, true), (later, false)] {
            let Some(node) = ground.place(event) else { continue };
            let edit = insert(ground, (node, is_after), "fence.proxy.alias;");
            found.push(Proposal { rank: 6 + u32::from(!is_after), edits: vec![edit] });
        }
    }
}

fn mapping(ground: &Ground<'_>, event: EventId) -> Option<u32> {
    ground.graph().events[event].kind.access().map(|access| access.mapping)
}

/// The narrowest state space that holds what an access is about.
fn space_of(graph: &EventGraph, event: EventId, executor: crate::event::AgentId) -> AsyncSpace {
    let owner =
        graph.location_of(&graph.events[event].kind).and_then(|location| graph.locations[location].cta);
    match owner {
        None => AsyncSpace::Global,
        Some(cta) if cta == graph.hierarchy.cta_of(executor) => AsyncSpace::SharedCta,
        Some(_) => AsyncSpace::SharedCluster,
    }
}

/// A signal that gives a slot back before it is read, with the fence before it, to behind the read.
fn released_too_early(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_read = |event: EventId| matches!(ground.graph().events[event].kind, EventKind::Read(_));
    let ends = ground.pairs().into_iter().flat_map(|(a, b)| [a, b]);
    for read in ends.filter(|&event| is_read(event) && !ground.graph().is_of_operation(event)) {
        let Some(node) = ground.place(read) else { continue };
        for around in syntax.ancestors(node).into_iter().take(2).chain(syntax.calls_of(node)) {
            let (siblings, at) = syntax.siblings(around);
            let only_orders = |node: usize| syntax.is_synchronization(node) || syntax.is_handover(node);
            let run = siblings[..at].iter().rev().take_while(|&&sibling| only_orders(sibling));
            let mut run: Vec<usize> = run.copied().collect();
            run.reverse();
            let signals = |&&node: &&usize| syntax.acts(node).iter().any(|i| i.opcode.contains("arrive"));
            let waits = |node: &usize| syntax.acts(*node).iter().any(|i| i.opcode.contains("wait"));
            let from = run.iter().rposition(waits).map_or(0, |wait| wait + 1);
            let run = &run[from..];
            if run.iter().find(signals).is_none() {
                continue;
            }
            let anchor = syntax.nodes[around].span;
            let edits = run.iter().map(|&node| Edit::moved(sources, syntax.nodes[node].span, anchor, true));
            found.push(Proposal { rank: 11, edits: edits.collect() });
        }
    }
}

/// A wait for the grid that a grid was launched to overlap with.
fn grid_waits(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    for reason in &ground.explanation.reasons {
        let Reason::Overlapping { second, through, .. } = reason else { continue };
        let waits = through.map_or(Some(*second), |(through, _)| first_of(ground, through));
        let Some(waits) = waits else { continue };
        let Some(instruction) = ground.instruction(ground.started_by(waits)) else { continue };
        let ancestors = ground.syntax.ancestors(instruction.node);
        for (rank, node) in [(8, ancestors.first()), (9, ancestors.last())] {
            let Some(&node) = node else { continue };
            let anchor = ground.syntax.nodes[node].span;
            let edit = Edit::insert(ground.texts.sources(), anchor, false, "griddepcontrol.wait;");
            found.push(Proposal { rank, edits: vec![edit] });
        }
    }
}

/// A fence before a strong write that came too early, so that what its thread wrote before comes before it.
fn before_sources(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let graph = ground.graph();
    for fact in &ground.explanation.reads {
        let Some(source) = fact.source.filter(|&source| source != fact.read) else { continue };
        let (Some(a), Some(b)) = (graph.events[source].agent, graph.events[fact.read].agent) else {
            continue;
        };
        let is_strong = graph.events[source].kind.access().is_some_and(Access::is_strong);
        let Some(node) = ground.place(source).filter(|_| a != b && is_strong) else { continue };
        let scope = super::opcode::usual(graph, graph.hierarchy.common_scope(a, b)).max(Scope::Cta);
        let text = format!("fence.acq_rel.{scope};");
        let edit = Edit::insert(ground.texts.sources(), ground.syntax.nodes[node].span, false, &text);
        found.push(Proposal { rank: 28, edits: vec![edit] });
    }
}

/// What a grid does first, of what can be seen in its kernel's text.
fn first_of(ground: &Ground<'_>, grid: GridId) -> Option<EventId> {
    let graph = ground.graph();
    let is_own = |id: EventId| {
        let of = &graph.events[id];
        let agent = of.agent.map(|agent| graph.hierarchy.issuer(agent));
        agent.is_some_and(|agent| graph.hierarchy.grid_of(agent) == grid)
            && ground.instruction(ground.started_by(id)).is_some()
    };
    let own = graph.events.iter_enumerated().map(|(id, _)| id).filter(|&id| is_own(id));
    own.min_by_key(|&id| graph.events[id].position)
}

/// `fence.sc` on both sides: after a write that is missed, and before the read that misses it; and weaker ones there.
fn total_order(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if matches!(ground.explanation.subject, Subject::Race { .. } | Subject::Flag { .. }) {
        return;
    }
    let graph = ground.graph();
    let sources = ground.texts.sources();
    let missed: Vec<_> =
        ground.explanation.reads.iter().filter_map(|fact| Some((fact.missed?, fact.read))).collect();
    let mut edits: Vec<Edit> = Vec::new();
    for (write, read) in missed {
        let (Some(a), Some(b)) = (graph.events[write].agent, graph.events[read].agent) else { continue };
        let scope = super::opcode::usual(graph, graph.hierarchy.common_scope(a, b)).max(Scope::Cta);
        let text = format!("fence.sc.{scope};");
        let of = |event: EventId| {
            Some(ground.syntax.nodes[ground.instruction(ground.started_by(event))?.node].span)
        };
        let (Some(first), Some(second)) = (of(write), of(read)) else { continue };
        let (after, before) =
            (Edit::insert(sources, first, true, &text), Edit::insert(sources, second, false, &text));
        let weaker = format!("fence.acq_rel.{scope};");
        for (anchor, is_after) in [(second, false), (second, true), (first, false)] {
            let edit = Edit::insert(sources, anchor, is_after, &weaker);
            found.push(Proposal { rank: 28, edits: vec![edit] });
        }
        for edit in [&after, &before] {
            found.push(Proposal { rank: 29, edits: vec![edit.clone()] });
        }
        for edit in [after, before] {
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    before_sources(ground, found);
    if edits.len() > 1 {
        found.push(Proposal { rank: 30, edits });
    }
}
