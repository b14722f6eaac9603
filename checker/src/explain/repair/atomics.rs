//! Proposals for another atomic in place of one: a read of all copies through the multimem address that they were written
//! through, and a counter that goes back to zero by itself; and for one atomic in place of a load and a store.

use super::super::reason::Reason;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::signal::{is_in, own_reads};
use super::syntax::{Instruction, NodeKind};
use crate::event::{Access, EventGraph, EventId, EventKind};
use fencepost_dsl::Span;
use fencepost_dsl::vocabulary::Sem;

/// Reads through the multimem address, counters that wrap, and updates in one step.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    in_one_step(ground, found);
    through_multimem(ground, found);
    wrapping(ground, found);
}

/// What waits for its own copy waits for the smallest of all, through the address that the others use (MM-41).
fn through_multimem(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let is_alias =
        |reason: &Reason| matches!(reason, Reason::StrongAliases { .. } | Reason::AliasWithoutFence { .. });
    if !ground.has(is_alias) {
        return;
    }
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let reads = syntax.instructions.iter().filter(|read| {
        (read.opcode.starts_with("ld.acquire") || read.opcode.starts_with("ld.relaxed"))
            && ground.can_change(read.node)
            && is_for_growth(sources.text(syntax.nodes[read.node].span), sources.text(read.span))
    });
    for read in reads {
        let [memory] = read.memory.as_slice() else { continue };
        let all = syntax.objects.iter().find(|object| object.copies_of.as_deref() == Some(&memory.name));
        let Some(all) = all.filter(|_| memory.rank.is_none()) else { continue };
        let mut tokens = read.opcode.split('.').skip(1);
        let (Some(sem), Some(scope)) = (tokens.next(), tokens.next()) else { continue };
        let (ty, element) = (&all.ty, memory.element_of(&all.name, sources));
        let text = format!("multimem.ld_reduce.{sem}.{scope}.min.{ty} [{element}]");
        found.push(Proposal { rank: 12, edits: vec![Edit::replace(sources, read.span, text)] });
    }
}

/// Whether what is read has to be so much at least: then the smallest of all copies asks for no less than one of them.
fn is_for_growth(statement: &str, read: &str) -> bool {
    let Some((_, behind)) = statement.split_once(read) else { return false };
    let behind = behind.trim_start_matches([')', ' ']);
    let number = behind.trim_start_matches(['=', '!', '>', ' ']);
    // So much at least, of a counter that may wrap.
    if behind.starts_with("- ") && behind.ends_with("<= 0x7fff_ffff;") {
        return true;
    }
    let is_zero = number.starts_with('0') && !number.starts_with("0x");
    match &behind.as_bytes()[..behind.len().min(2)] {
        b">=" | b"> " => true,
        b"!=" => is_zero,
        b"==" => !is_zero,
        _ => false,
    }
}

/// `atom.inc` in place of `atom.add`, for a counter whose last user is the one that sees a certain number: the next user
/// finds zero again.
fn wrapping(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let subject = &ground.explanation.subject;
    if !matches!(subject, Subject::Assertion { .. } | Subject::Final { .. } | Subject::Deadlock { .. }) {
        return;
    }
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    for binding in syntax.bindings.iter().filter(|binding| ground.can_change(binding.node)) {
        let is_add = |add: &&Instruction| add.span == binding.value && add.opcode.starts_with("atom.");
        let Some(add) = syntax.instructions.iter().find(is_add) else { continue };
        let Some(&step) = add.operands.last().filter(|&&step| sources.text(step) == "1") else { continue };
        let prefix = format!("{} == ", binding.name);
        let last = |span: Span| sources.text(span).strip_prefix(prefix.as_str()).map(str::trim);
        let mut lasts = syntax.nodes.iter().filter_map(|node| match node.kind {
            NodeKind::Branch { condition } => last(condition),
            _ => None,
        });
        let Some(last) = lasts.find(|text| !text.contains(['=', '&', '|', '<', '>'])) else { continue };
        let has = |wanted: &str| add.opcode.split('.').any(|token| token == wanted);
        if !has("add") || !has("u32") {
            continue;
        }
        let mut edits = vec![Edit::replace(sources, add.opcode_span, add.opcode.replace(".add.", ".inc."))];
        if last != sources.text(step) {
            edits.push(Edit::replace(sources, step, last));
        }
        found.push(Proposal { rank: 36, edits });
    }
}

/// Updates in two steps that are looked at.
const UPDATES_MAX: usize = 8;

/// What is loaded and then stored by another statement, by one atomic: a sum, or what a wait for a number takes.
fn in_one_step(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let mut pairs: Vec<(EventId, EventId)> = ground
        .explanation
        .reasons
        .iter()
        .flat_map(|reason| match *reason {
            Reason::BothTook { loads: [a, b], stores: [c, d] } => vec![(a, c), (b, d)],
            Reason::LostUpdate { write, read, .. } => vec![(read, write)],
            _ => Vec::new(),
        })
        .collect();
    if let (true, Subject::Race { earlier, later }) = (pairs.is_empty(), &ground.explanation.subject) {
        pairs.extend([*earlier, *later].into_iter().filter_map(|event| update_of(ground.graph(), event)));
    }
    let is_own = !pairs.is_empty();
    if !is_own {
        pairs = strong_updates(ground.graph());
    }
    if pairs.is_empty() {
        return;
    }
    let mut edits: Vec<Edit> = Vec::new();
    for (load, store) in pairs {
        let Some(both) = one_atomic(ground, load, store) else { return };
        for edit in both {
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    // Data that a lock or a barrier should keep apart is updated in two steps as well, and rightly.
    let is_taken = |reason: &Reason| matches!(reason, Reason::BothTook { .. });
    let rank = if ground.has(is_taken) { 8 } else { 22 };
    found.push(Proposal { rank: if is_own { rank } else { 23 }, edits });
}

/// Where threads load and store in two steps what no weak access is about, as two that draw a ticket: both may draw the same.
fn strong_updates(graph: &EventGraph) -> Vec<(EventId, EventId)> {
    let strong = graph.events.iter_enumerated().filter(|(_, event)| {
        let is_strong = event.kind.access().is_some_and(Access::is_strong);
        is_strong && event.agent.is_some() && matches!(event.kind, EventKind::Write(_))
    });
    let pairs = strong.filter_map(|(store, _)| {
        let load = own_reads(graph, store).rfind(|&load| is_in(graph, load, store))?;
        graph.events[load].kind.access().is_some_and(Access::is_strong).then_some((load, store))
    });
    pairs.take(UPDATES_MAX).collect()
}

/// The load and the store with which a thread updates what an event accesses, in two steps.
fn update_of(graph: &EventGraph, event: EventId) -> Option<(EventId, EventId)> {
    let of = &graph.events[event];
    let location = of.kind.access()?.location;
    let stores = graph.events.iter_enumerated().filter(|(id, other)| {
        let is_there = other.kind.access().is_some_and(|access| access.location == location);
        let is_it = *id == event || matches!(of.kind, EventKind::Read(_)) && other.position > of.position;
        is_there && is_it && other.agent == of.agent && matches!(other.kind, EventKind::Write(_))
    });
    let mut stores = stores.map(|(id, _)| id);
    stores.find_map(|store| {
        let mut loads = own_reads(graph, store).filter(|&load| is_in(graph, load, store));
        loads.next_back().filter(|&load| event == load || event == store).map(|load| (load, store))
    })
}

/// An atomic in place of a load, and its store left out.
fn one_atomic(ground: &Ground<'_>, load: EventId, store: EventId) -> Option<[Edit; 2]> {
    let (graph, syntax, sources) = (ground.graph(), ground.syntax, ground.texts.sources());
    let (ld, st) = (ground.instruction(load)?, ground.instruction(store)?);
    let ([from], [to], &[.., value]) = (ld.memory.as_slice(), st.memory.as_slice(), st.operands.as_slice())
    else {
        return None;
    };
    let node = &syntax.nodes[st.node];
    let is_alone = node.kind == NodeKind::Plain && syntax.inside(st.node).nth(1).is_none();
    let is_simple = ld.opcode.starts_with("ld.") && st.opcode.starts_with("st.") && is_alone;
    if !is_simple || sources.text(from.span) != sources.text(to.span) {
        return None;
    }
    // What is done between the two would come behind the atomic, and what that releases would not be done yet.
    let is_between = |own: &&Instruction| {
        own.span.file == ld.span.file && ld.span.end <= own.span.start && own.span.end <= st.span.start
    };
    let only_looks = syntax.instructions.iter().filter(is_between).all(Instruction::only_looks);
    if !only_looks || ![ld.node, st.node].into_iter().all(|node| ground.can_change(node)) {
        return None;
    }
    let (place, value) = (sources.text(from.span), sources.text(value).trim());
    let (first, second) = (graph.events[load].kind.access()?, graph.events[store].kind.access()?);
    let sem = match (first.sem, second.sem) {
        (Sem::Acquire, Sem::Release) => "acq_rel",
        (Sem::Acquire, _) => "acquire",
        (_, Sem::Release) => "release",
        _ => "relaxed",
    };
    let others = ground.pairs().into_iter().flat_map(|(a, b)| [a, b]);
    let agents: Vec<_> = others.chain([load, store]).filter_map(|event| graph.events[event].agent).collect();
    let needed = agents.iter().flat_map(|&a| agents.iter().map(move |&b| (a, b)));
    let needed = needed.map(|(a, b)| graph.hierarchy.common_scope(a, b)).max()?;
    let own = [first, second].into_iter().filter(|access| access.is_strong()).map(|access| access.scope);
    let scope = own.max().unwrap_or(needed).max(super::opcode::usual(graph, needed));
    let statement = sources.text(syntax.nodes[ld.node].span);
    let (_, behind) = statement.split_once(sources.text(ld.span))?;
    let behind = behind.trim_end_matches(';').trim();
    let bits = 8 * first.width_bytes;
    let binding = syntax.bindings.iter().find(|binding| binding.value == ld.span);
    let atomic = if let Some(binding) = binding {
        // A ticket, or a count: `let n = ld …; st …, n + 1;`.
        let (name, summand) = value.split_once('+')?;
        (name.trim() == binding.name)
            .then(|| format!("atom.add.{sem}.{scope}.u{bits} {place}, {}", summand.trim()))?
    } else {
        // A lock, or a slot: it is as it should be, and then taken.
        let word = ["await ", "while ", "if "].into_iter().find(|word| statement.starts_with(word))?;
        let behind = behind.trim_start_matches([')', ' ']);
        let expected = behind.strip_prefix(if word == "while " { "!=" } else { "==" })?;
        let expected = expected.split(['{', '&', '|', '?']).next()?.trim();
        if expected.is_empty() {
            return None;
        }
        format!("(atom.cas.{sem}.{scope}.b{bits} {place}, {expected}, {value})")
    };
    Some([Edit::replace(sources, ld.span, atomic), Edit::removed(sources, node.span)])
}
