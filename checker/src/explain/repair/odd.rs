//! Proposals for what one place does otherwise than those beside it: an index, the object of a signal, the number of a slot, a
//! register that is turned over in one role and not in the other, a wait for one fewer.
//!
//! Cannot: see what is wrong alike in all places.

use super::barrier::{insert, last_of, names};
use super::numbers::OWN;
use super::propose::{Ground, Proposal};
use super::syntax::{Instruction, Memory, NodeKind};
use super::text::Edit;
use crate::explain::Subject;
use crate::explain::deadlock::{Standing, WaitFact};
use fencepost_dsl::Span;
use fencepost_dsl::sorted::SortedMap;

/// Places of one kind that are tried.
const TRIED_MAX: usize = 6;

/// What the places beside would do, in place of what one does.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let loops = loops(ground);
    indices(ground, &loops, found);
    of_the_other(ground, found);
    slots(ground, found);
    objects(ground, found);
    turns(ground, found);
    thresholds(ground, found);
    left_without(ground, found);
    ranks(ground, found);
}

/// The innermost loops around what a finding is about; all loops that wait, unless it is a race.
fn loops(ground: &Ground<'_>) -> Vec<usize> {
    let syntax = ground.syntax;
    let innermost = |node: usize| {
        syntax.ancestors(node).into_iter().find(|&around| syntax.nodes[around].kind == NodeKind::Loop)
    };
    let mut loops: Vec<usize> = ground.nodes().into_iter().filter_map(innermost).collect();
    if !matches!(ground.explanation.subject, Subject::Race { .. }) {
        let waits = syntax.instructions.iter().filter(|own| own.opcode.contains("_wait"));
        loops.extend(waits.filter_map(|wait| innermost(wait.node)));
    }
    loops.sort_unstable();
    loops.dedup();
    loops.retain(|&around| ground.can_change(around));
    loops
}

/// The index that most operands of a loop have, of objects of one size.
fn indices(ground: &Ground<'_>, loops: &[usize], found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let mut n = 0;
    for &around in loops {
        let mut by_size: SortedMap<&str, Vec<&Memory>> = SortedMap::new();
        for memory in syntax.inside(around).flat_map(|own| &own.memory) {
            if memory.indices.len() == 1
                && let Some(size) = size_of(ground, &memory.name)
            {
                by_size.entry(size).or_default().push(memory);
            }
        }
        for of_size in by_size.values() {
            let text = |memory: &Memory| sources.text(memory.indices[0]).trim();
            let count = |text: &str| {
                of_size.iter().filter(|memory| sources.text(memory.indices[0]).trim() == text).count()
            };
            let Some(usual) = of_size.iter().map(|memory| text(memory)).max_by_key(|text| count(text)) else {
                continue;
            };
            if count(usual) < 2 {
                continue;
            }
            // Threads that name elements of each other mean to.
            let is_odd = |memory: &&&Memory| text(memory) != usual && !is_of_thread(ground, text(memory));
            if is_of_thread(ground, usual) {
                continue;
            }
            for odd in of_size.iter().filter(is_odd) {
                n += 1;
                if n > TRIED_MAX {
                    return;
                }
                // The whole operand, since reports show the beginning of a long statement only.
                let whole = sources.text(odd.span);
                let at = (odd.indices[0].start - odd.span.start) as usize;
                let old = sources.text(odd.indices[0]).len();
                let changed = format!("{}{usual}{}", &whole[..at], &whole[at + old..]);
                found.push(Proposal { rank: 11, edits: vec![Edit::replace(sources, odd.span, &changed)] });
            }
        }
    }
}

/// The index with which the other one of two accesses names its element of the same object.
fn of_the_other(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    for (a, b) in ground.pairs() {
        let of = |event| ground.instruction(ground.started_by(event));
        let (Some(first), Some(second)) = (of(a), of(b)) else { continue };
        for (own, other) in
            [(first, second), (second, first)].into_iter().filter(|(own, _)| ground.can_change(own.node))
        {
            let pairs =
                own.memory.iter().flat_map(|memory| other.memory.iter().map(move |other| (memory, other)));
            for (memory, beside) in pairs.filter(|(memory, beside)| memory.name == beside.name) {
                let spans = memory.indices.iter().zip(&beside.indices);
                let texts =
                    spans.map(|(&own, &other)| (own, sources.text(own).trim(), sources.text(other).trim()));
                let mut differ = texts.filter(|(_, now, other)| now != other);
                let (Some((span, now, after)), None) = (differ.next(), differ.next()) else { continue };
                // Another slot, computed in another way: not another thread's, and not the first.
                let is_slot = |text: &str| text.contains('%') && !is_of_thread(ground, text);
                if is_slot(now) && is_slot(after) {
                    // Rather the plainer one for both.
                    let rank = if after.len() < now.len() { 15 } else { 17 };
                    found.push(Proposal { rank, edits: vec![Edit::replace(sources, span, after)] });
                }
            }
        }
    }
}

/// What the text has for the number of elements of an object of one dimension.
fn size_of<'a>(ground: &Ground<'a>, name: &str) -> Option<&'a str> {
    let declared = ground.syntax.objects.iter().find(|object| object.name == name)?;
    let [size] = declared.dimensions.as_slice() else { return None };
    Some(ground.texts.sources().text(*size).trim())
}

/// Whether an index differs from thread to thread, by itself or by a name in it.
fn is_of_thread(ground: &Ground<'_>, index: &str) -> bool {
    let sources = ground.texts.sources();
    let mut named = ground.syntax.bindings.iter().filter(|own| names(index, &[own.name.as_str()]));
    names(index, OWN) || named.any(|own| names(sources.text(own.value), OWN))
}

/// What another role of the kernel calls by the same name.
fn slots(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_index = |name: &str| {
        let mut indices =
            syntax.instructions.iter().flat_map(|own| &own.memory).flat_map(|memory| &memory.indices);
        indices.any(|&index| names(sources.text(index), &[name]))
    };
    let mut n = 0;
    for own in syntax.bindings.iter().filter(|own| ground.can_change(own.node) && is_index(&own.name)) {
        let now = sources.text(own.value).trim();
        for other in syntax.bindings.iter().filter(|other| other.name == own.name) {
            let text = sources.text(other.value).trim();
            if text != now && n < TRIED_MAX {
                n += 1;
                found.push(Proposal { rank: 13, edits: vec![Edit::replace(sources, own.value, text)] });
            }
        }
    }
}

/// An mbarrier that nobody waits for, or arrives at, in place of another one.
fn objects(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let of = |word: &'static str| syntax.instructions.iter().filter(move |own| own.opcode.starts_with(word));
    let known: Vec<&String> = of("mbarrier.init").flat_map(|init| &init.objects).collect();
    let waits = |own: &Instruction| own.opcode.contains("_wait");
    let arrives = |own: &Instruction| own.opcode.contains("arrive") || own.opcode.contains("complete_tx");
    for does in [&waits as &dyn Fn(&Instruction) -> bool, &arrives] {
        let those: Vec<&Instruction> = syntax.instructions.iter().filter(|own| does(own)).collect();
        let unused = known.iter().filter(|name| !those.iter().any(|own| own.objects.contains(name)));
        for unused in unused {
            for own in those.iter().filter(|own| ground.can_change(own.node)) {
                let named = own.memory.iter().filter(|memory| known.contains(&&memory.name));
                for memory in named.filter(|memory| size_of(ground, &memory.name) == size_of(ground, unused))
                {
                    let text = sources.text(memory.span).replacen(memory.name.as_str(), unused, 1);
                    found.push(Proposal { rank: 10, edits: vec![Edit::replace(sources, memory.span, text)] });
                }
            }
        }
    }
}

/// A register that a wait in a loop compares with and that no round changes: turned over where a slot starts anew, or at the
/// end of each round.
fn turns(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let text = |node: usize| sources.text(syntax.nodes[node].span);
    let declared = (0..syntax.nodes.len()).filter_map(|node| {
        let name = text(node).strip_prefix("var ")?.split([':', '=', ' ']).next()?;
        Some(name.trim())
    });
    let mut registers: Vec<&str> = declared.collect();
    registers.sort_unstable();
    registers.dedup();
    let loops = (0..syntax.nodes.len()).filter(|&node| syntax.nodes[node].kind == NodeKind::Loop);
    for around in loops.filter(|&around| ground.can_change(around) && text(around).starts_with("for ")) {
        let inside: Vec<usize> =
            (0..syntax.nodes.len()).filter(|&node| syntax.ancestors(node)[1..].contains(&around)).collect();
        let waits = |node: usize, register: &str| {
            let is_parity = |own: &Instruction| {
                let last = own.operands.last();
                own.opcode.contains(".parity")
                    && last.is_some_and(|&last| names(sources.text(last), &[register]))
            };
            let is_await = text(node).starts_with("await ") && names(text(node), &[register]);
            is_await || syntax.inside(node).any(is_parity)
        };
        for &register in &registers {
            let changes = |node: &usize| {
                let rest = text(*node).strip_prefix(register).map(str::trim_start);
                rest.is_some_and(|rest| rest.contains('=') && !rest.starts_with("=="))
            };
            if inside.iter().any(changes) || !inside.iter().any(|&node| waits(node, register)) {
                continue;
            }
            let turned = format!("{register} ^= 1;");
            let restarts = inside.iter().filter(|&&node| {
                syntax.nodes[node].kind == NodeKind::Plain
                    && text(node).trim_end_matches(';').ends_with(" = 0")
            });
            for &node in restarts {
                found.push(Proposal { rank: 9, edits: vec![insert(ground, (node, true), &turned)] });
            }
            if let Some(last) = last_of(syntax, around) {
                found.push(Proposal { rank: 10, edits: vec![insert(ground, (last, true), &turned)] });
            }
        }
    }
}

/// A wait until a number is reached that is one more.
fn thresholds(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    for node in (0..syntax.nodes.len()).filter(|&node| ground.can_change(node)) {
        let span = syntax.nodes[node].span;
        let text = sources.text(span);
        let Some((head, rest)) = text.rsplit_once(">= ").filter(|_| text.starts_with("await ")) else {
            continue;
        };
        let end = rest.trim_end().trim_end_matches(';').trim_end();
        if end.is_empty() || end.contains(['{', ';', '&', '|']) {
            continue;
        }
        let start = span.start as usize + head.len() + ">= ".len();
        let operand = Span::new(span.file, start, start + end.len());
        if !end.ends_with("- 1") {
            let edits = vec![Edit::replace(sources, operand, format!("{end} + 1"))];
            found.push(Proposal { rank: 17, edits });
        }
    }
}

/// What a thread would have signalled further down, before it ends early.
fn left_without(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return };
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let missing = roles.iter().flat_map(|role| match &role.wait {
        WaitFact::Memory(_, missing) => missing.as_slice(),
        _ => &[],
    });
    let mut signals: Vec<&str> = missing
        .filter(|one| one.standing == Standing::Finished)
        .filter_map(|one| syntax.instruction(one.span))
        .filter(|own| own.signals() && syntax.nodes[own.node].kind == NodeKind::Plain)
        .map(|own| sources.text(syntax.nodes[own.node].span))
        .collect();
    signals.sort_unstable();
    signals.dedup();
    let ends = (0..syntax.nodes.len()).filter(|&node| {
        let text = sources.text(syntax.nodes[node].span).trim_end_matches(';').trim_end();
        text == "exit" && ground.can_change(node)
    });
    for node in ends {
        for signal in signals.iter().take(TRIED_MAX) {
            found.push(Proposal { rank: 8, edits: vec![insert(ground, (node, false), signal)] });
        }
    }
}

/// The first CTA of the cluster, where threads wait for arrivals and each arrives at a CTA that it computes.
fn ranks(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if !matches!(ground.explanation.subject, Subject::Deadlock { .. }) {
        return;
    }
    let sources = ground.texts.sources();
    let arrivals = ground.syntax.instructions.iter().filter(|own| own.opcode.contains("arrive"));
    for own in arrivals.filter(|own| ground.can_change(own.node)) {
        for rank in own.memory.iter().filter_map(|memory| memory.rank) {
            if sources.text(rank).trim().parse::<u32>().is_err() {
                found.push(Proposal { rank: 9, edits: vec![Edit::replace(sources, rank, "0")] });
            }
        }
    }
}
