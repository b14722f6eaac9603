//! Proposals for what one place does otherwise than those beside it: the object of a signal, a register that is turned over in
//! one role and not in the other, a thread that leaves without its signal.
//!
//! Cannot: see what is wrong alike in all places.

use super::super::roles::{Standing, WaitFact};
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::{insert, last_of, names};
use super::syntax::{Instruction, NodeKind};
/// Places of one kind that are tried.
const TRIED_MAX: usize = 6;

/// What the places beside would do, in place of what one does.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    objects(ground, found);
    turns(ground, found);
    left_without(ground, found);
}

/// What the text has for the number of elements of an object of one dimension.
fn size_of<'a>(ground: &Ground<'a>, name: &str) -> Option<&'a str> {
    let declared = ground.syntax.objects.iter().find(|object| object.name == name)?;
    let [size] = declared.dimensions.as_slice() else { return None };
    Some(ground.texts.sources().text(*size).trim())
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
