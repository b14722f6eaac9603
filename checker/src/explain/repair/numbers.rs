//! Proposals for numbers that are the same where they should differ, in several places or in a way of their own: a first turn
//! for one thread, a target that grows from round to round; and for registers that a pool does not have.

use super::super::roles::WaitFact;
use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::places::names;
use super::syntax::{Binding, Instruction, Memory};
use fencepost_dsl::Span;

/// What tells a thread from others, wider groups first.
pub const OWN: &[&str] = &["gpuid", "ctaid", "cluster_ctarank", "warpid", "tid", "laneid"];
/// The least number of registers that a thread can have (AS-41), and what they come in.
const REGISTERS: (u32, u32) = (24, 8);
/// Steps of registers that are tried.
const REGISTER_STEPS: u32 = 2;

/// Numbers that change with the round or the thread, and smaller ones of registers.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    registers(ground, found);
    let is_hang = matches!(ground.explanation.subject, Subject::Deadlock { .. });
    let base = if is_hang { 18 } else { 19 };
    first_turn(ground, base, found);
    target_per_round(ground, found);
}

/// The names that differ among the threads of the launch.
pub fn own(ground: &Ground<'_>) -> impl Iterator<Item = &'static str> + use<> {
    let launch = ground.graph().hierarchy.launch();
    let sizes =
        [launch.gpus, launch.ctas, launch.cluster, launch.warps, launch.warps * launch.lanes, launch.lanes];
    OWN.iter().zip(sizes).filter(|(_, size)| *size > 1).map(|(name, _)| *name)
}

/// Whether a name is for what threads signal and wait with, and for nothing that is written as data or asserted.
fn is_about_signals(ground: &Ground<'_>, binding: &Binding) -> bool {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let (siblings, at) = syntax.siblings(binding.node);
    let behind = &siblings[at + 1..];
    let is_in_scope = |span: Span| behind.iter().any(|&node| syntax.nodes[node].span.holds(span));
    let is_named = |span: Span| is_in_scope(span) && names(sources.text(span), &[binding.name.as_str()]);
    let is_claimed = syntax.nodes.iter().any(|node| {
        let text = sources.text(node.span);
        let is_claim = ["assert ", "assume "].iter().any(|word| text.starts_with(word));
        is_claim && is_named(node.span)
    });
    let is_passed_on = syntax.bindings.iter().any(|other| is_named(other.value));
    let is_data = syntax.instructions.iter().any(|instruction| {
        let is_write = instruction.is("st") && !instruction.is_strong();
        is_write && instruction.operands.last().is_some_and(|&value| is_named(value))
    });
    let synchronizes = |instruction: &Instruction| {
        instruction.is_strong() || instruction.synchronizes() || instruction.opcode.contains("mbarrier")
    };
    let is_used = syntax.instructions.iter().any(|instruction| {
        synchronizes(instruction) && instruction.operands.iter().any(|&operand| is_named(operand))
    });
    let is_argument = syntax.nodes.iter().any(|node| syntax.is_call(node.span) && is_named(node.span));
    (is_used || is_argument) && !is_claimed && !is_passed_on && !is_data
}

/// The index of an object by which threads differ.
pub fn own_index<'a>(ground: &Ground<'a>, memory: &Memory) -> Option<(&'a str, Span)> {
    let sources = ground.texts.sources();
    let &index = memory.indices.last()?;
    let text = sources.text(index);
    OWN.contains(&text).then_some((text, index))
}

/// Waits by parity for objects of their own, at which one thread begins.
fn first_turn(ground: &Ground<'_>, base: u32, found: &mut Vec<Proposal>) {
    let sources = ground.texts.sources();
    for wait in ground.syntax.instructions.iter().filter(|wait| wait.opcode.contains(".parity")) {
        let (Some(memory), Some(&parity)) = (wait.memory.first(), wait.operands.last()) else { continue };
        let Some((own, _)) = own_index(ground, memory).filter(|_| ground.can_change(wait.node)) else {
            continue;
        };
        let text = sources.text(parity);
        let is_named = |binding: &&Binding| names(text, &[binding.name.as_str()]);
        let is_number = |binding: &&Binding| {
            let value = sources.text(binding.value).trim().trim_end_matches("u32");
            matches!(value, "0" | "1")
        };
        let mut named = ground.syntax.bindings.iter().filter(is_named).filter(is_number).peekable();
        if named.peek().is_none() && !names(text, OWN) {
            let after = format!("({text}) ^ ({own} == 0 ? 1 : 0)");
            found.push(Proposal { rank: base, edits: vec![Edit::replace(sources, parity, after)] });
        }
        for binding in named.filter(|binding| is_about_signals(ground, binding)) {
            let after = format!("{own} == 0 ? 1 : 0");
            found.push(Proposal { rank: 14, edits: vec![Edit::replace(sources, binding.value, after)] });
        }
    }
}

/// A counter that grows from round to round and is compared with the same numbers in each: with numbers that grow as well.
fn target_per_round(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    for object in &syntax.objects {
        let accesses = || syntax.instructions.iter().filter(|own| own.objects.contains(&object.name));
        let is_reset = accesses().any(|own| own.is("st") || own.opcode.contains(".exch"));
        let mut targets: Vec<(usize, Span, u32)> = Vec::new();
        for own in accesses().filter(|own| own.is("ld") && ground.can_change(own.node)) {
            let Some(counted) = syntax.counted_around(own.node) else { continue };
            let statement = syntax.nodes[own.node].span;
            let behind = Span::new(statement.file, own.span.end as usize, statement.end as usize);
            let text = sources.text(behind);
            let compares = ["== ", ">= ", "< ", "!= "].iter().any(|sign| text.trim_start().starts_with(sign));
            let number = literals(text, behind).into_iter().next().filter(|_| compares);
            targets.extend(number.map(|(span, number)| (counted.node, span, number)));
        }
        let Some(&(round, ..)) = targets.first() else { continue };
        if is_reset || targets.iter().any(|&(other, ..)| other != round) {
            continue;
        }
        let Some(counted) = syntax.counted.iter().find(|counted| counted.node == round) else { continue };
        let each = targets.iter().map(|&(_, _, number)| number).max().unwrap_or(0);
        let edits = targets.iter().map(|&(_, span, number)| {
            Edit::replace(sources, span, format!("{} * {each} + {number}", counted.variable))
        });
        found.push(Proposal { rank: 13, edits: edits.collect() });
    }
}

/// The whole decimal numbers of an expression, and where they are, but for those in indices.
pub fn literals(text: &str, at: Span) -> Vec<(Span, u32)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let (bytes, mut found, mut start, mut depth) = (text.as_bytes(), Vec::new(), 0, 0_u32);
    while start < bytes.len() {
        let length = bytes[start..].iter().take_while(|&&byte| is_word(byte)).count();
        match bytes[start] {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Ok(number) = text[start..start + length].parse::<u32>()
            && depth == 0
        {
            let first = at.start as usize + start;
            found.push((Span::new(at.file, first, first + length), number));
        }
        start += length.max(1);
    }
    found
}

/// Fewer registers, asked for or kept, where a warp waits for more than there are.
fn registers(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let Subject::Deadlock { roles, .. } = &ground.explanation.subject else { return };
    if !roles.iter().any(|role| matches!(role.wait, WaitFact::Registers { .. })) {
        return;
    }
    let sources = ground.texts.sources();
    let (least, step) = REGISTERS;
    for instruction in ground.syntax.instructions.iter().filter(|i| i.opcode.starts_with("setmaxnreg")) {
        let Some(&operand) = instruction.operands.first() else { continue };
        let Ok(now) = sources.text(operand).trim().parse::<u32>() else { continue };
        for fewer in 1..=REGISTER_STEPS {
            let Some(after) = now.checked_sub(fewer * step).filter(|&after| after >= least) else { continue };
            let edits = vec![Edit::replace(sources, operand, after.to_string())];
            found.push(Proposal { rank: 9 + fewer, edits });
        }
    }
}
