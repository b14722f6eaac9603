//! Proposals for accesses that always name one element where others beside them name one for each round, or where the
//! other operands of the statement all name another one: the index that they have.

use super::super::{Reason, Subject};
use super::barrier::names;
use super::numbers::OWN;
use super::propose::{Ground, Proposal};
use super::syntax::{Instruction, Memory};
use super::text::Edit;
use fencepost_dsl::Span;

/// Indices tried.
const TRIED_MAX: usize = 8;

/// The index of an operand beside, in place of a number.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let is_hang = matches!(ground.explanation.subject, Subject::Deadlock { .. } | Subject::Flag { .. });
    let (mut nodes, mut unseen) = (ground.nodes(), Vec::new());
    // Where a signal is given, and where it is looked for in another element.
    for reason in &ground.explanation.reasons {
        if let Reason::NotSeen { signal, look, .. } = *reason {
            unseen.extend([look, signal].iter().filter_map(|&event| Some(ground.instruction(event)?.node)));
        }
    }
    nodes.extend(&unseen);
    let is_about = |own: &&Instruction| {
        let signals = hands_over(own) || signalled(own).is_some();
        ground.can_change(own.node) && (nodes.contains(&own.node) || is_hang && signals)
    };
    let is_claimed = matches!(ground.explanation.subject, Subject::Assertion { .. });
    let (mut tried, mut n_elsewhere) = (Vec::<(Span, &str)>::new(), 0);
    for own in syntax.instructions.iter().filter(is_about) {
        let around = syntax.ancestors(own.node);
        let counted = syntax.counted.iter().filter(|counted| around.contains(&counted.node));
        let rounds: Vec<&str> = counted.map(|counted| counted.variable.as_str()).collect();
        for (memory, dimension) in
            own.memory.iter().flat_map(|memory| (0..memory.indices.len()).map(move |d| (memory, d)))
        {
            let index = memory.indices[dimension];
            let text = sources.text(index).trim();
            if !is_number(text) {
                // What is claimed of data says which slot is meant, but data of a thread is its own.
                let is_slot = (is_claimed || hands_over(own)) && names(text, &rounds) && !names(text, OWN);
                let is_unseen = unseen.contains(&own.node) && hands_over(own);
                if is_unseen || is_slot {
                    for other in elsewhere(ground, own, (memory, dimension), is_unseen) {
                        if n_elsewhere < TRIED_MAX {
                            n_elsewhere += 1;
                            let edits = vec![Edit::replace(sources, index, other)];
                            found.push(Proposal { rank: 12, edits });
                        }
                    }
                }
                continue;
            }
            if signalled(own).is_some_and(|signalled| signalled.span == memory.span)
                && let Some(text) = of_the_others(ground, own, dimension)
                && text != sources.text(index).trim()
            {
                tried.push((index, text));
                // The whole operand, since reports show the beginning of a long statement only.
                let whole = sources.text(memory.span);
                let at = (index.start - memory.span.start) as usize;
                let old = sources.text(index).len();
                let changed = format!("{}{text}{}", &whole[..at], &whole[at + old..]);
                found.push(Proposal { rank: 9, edits: vec![Edit::replace(sources, memory.span, &changed)] });
            }
            for other in beside(ground, own).filter(|other| has_same_size(ground, (memory, other), dimension))
            {
                let Some(text) = other.indices.get(dimension).map(|&other| sources.text(other).trim()) else {
                    continue;
                };
                // Data that each thread takes elsewhere is handed over no more; data of a round stays what it is.
                let is_of_round = other.name == memory.name && names(text, &rounds);
                let is_new = !is_number(text) && !tried.contains(&(index, text)) && tried.len() < TRIED_MAX;
                if is_new && (hands_over(own) || is_of_round) {
                    tried.push((index, text));
                    let rank = if hands_over(own) { 9 } else { 12 };
                    found.push(Proposal { rank, edits: vec![Edit::replace(sources, index, text)] });
                }
            }
        }
    }
}

/// The mbarrier that the end of a copy is counted at: its last operand.
fn signalled(own: &Instruction) -> Option<&Memory> {
    own.memory.last().filter(|_| own.opcode.starts_with("cp.") && own.opcode.contains("complete_tx"))
}

/// The number by which all operands of a copy but the mbarrier name their element.
fn of_the_others<'a>(ground: &Ground<'a>, own: &Instruction, dimension: usize) -> Option<&'a str> {
    let (memory, others) = own.memory.split_last()?;
    let of_same_size = others.iter().filter(|other| has_same_size(ground, (memory, other), dimension));
    let mut texts = of_same_size.filter_map(|other| {
        let index = *other.indices.get(dimension)?;
        Some(ground.texts.sources().text(index).trim())
    });
    let first = texts.next().filter(|text| is_number(text))?;
    texts.all(|text| text == first).then_some(first)
}

fn hands_over(own: &Instruction) -> bool {
    own.gives_signal() || own.synchronizes() || own.is_strong() || own.opcode.contains("_wait")
}

/// Other indices in terms of the same thread or round, of operands beside.
fn elsewhere(
    ground: &Ground<'_>,
    own: &Instruction,
    (memory, dimension): (&Memory, usize),
    is_unseen: bool,
) -> Vec<String> {
    let (syntax, sources) = (ground.syntax, ground.texts.sources());
    let text = sources.text(memory.indices[dimension]).trim();
    let around = syntax.ancestors(own.node);
    let counted = syntax.counted.iter().filter(|counted| around.contains(&counted.node));
    let rounds = counted.map(|counted| counted.variable.as_str());
    let own_names: Vec<&str> =
        OWN.iter().copied().chain(rounds).filter(|name| names(text, &[name])).collect();
    let mut found: Vec<String> = neighbour(text).into_iter().collect();
    for other in beside(ground, own).filter(|other| has_same_size(ground, (memory, other), dimension)) {
        let Some(other) = other.indices.get(dimension).map(|&other| sources.text(other).trim()) else {
            continue;
        };
        // Behind a name of its own it may be anything.
        let is_alike = names(other, &own_names) || is_name(text) && names(other, OWN);
        let is_alike = is_alike && (is_unseen || !names(other, OWN));
        if other != text && !found.iter().any(|known| known == other) && is_alike {
            found.push(other.to_owned());
        }
    }
    found
}

/// The slot after that of a round in turn, or the one before.
fn neighbour(text: &str) -> Option<String> {
    let (round, size) = text.rsplit_once(" % ").filter(|(_, size)| !size.contains([' ', ')']))?;
    let inner = round.strip_prefix('(').and_then(|inner| inner.strip_suffix(" + 1)"));
    let is_plain = |text: &str| !text.contains(['(', ')', ' ']);
    match inner.filter(|inner| is_plain(inner)) {
        Some(inner) => Some(format!("{inner} % {size}")),
        None => is_plain(round).then(|| format!("({round} + 1) % {size}")),
    }
}

fn is_name(text: &str) -> bool {
    !OWN.contains(&text) && !is_number(text) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<u32>().is_ok()
}

/// The memory operands of the text, the nearest to an instruction first.
fn beside<'a>(ground: &Ground<'a>, own: &Instruction) -> impl Iterator<Item = &'a Memory> {
    let instructions = ground.syntax.instructions.iter();
    let mut near: Vec<&Instruction> = instructions.filter(|other| other.span.file == own.span.file).collect();
    near.sort_by_key(|other| other.span.start.abs_diff(own.span.start));
    near.into_iter().flat_map(|other| &other.memory)
}

/// Whether two objects have as many elements in a dimension, as far as their declarations say.
fn has_same_size(ground: &Ground<'_>, (memory, other): (&Memory, &Memory), dimension: usize) -> bool {
    let size = |memory: &Memory| {
        let declared = ground.syntax.objects.iter().find(|object| object.name == memory.name)?;
        Some(ground.texts.sources().text(*declared.dimensions.get(dimension)?))
    };
    match (size(memory), size(other)) {
        (Some(a), Some(b)) => a == b,
        _ => memory.name == other.name,
    }
}
