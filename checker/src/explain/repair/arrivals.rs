//! Proposals for what arrives at mbarriers: bytes that are announced with an arrival, asynchronous arrivals that count or do
//! not, copies for more CTAs, and other elements of an array of objects.

use super::super::subject::Subject;
use super::edit::Edit;
use super::ground::{Ground, Proposal};
use super::syntax::Instruction;
use crate::event::{EventKind, MbarrierRole};
use fencepost_dsl::sorted::SortedMap;

/// Other elements tried.
const ELEMENTS_MAX: usize = 6;

/// Announced bytes, counted arrivals, wider masks and other elements.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    announced(ground, found);
    counted(ground, found);
    masks(ground, found);
    elements(ground, found);
}

/// Bytes announced with an arrival at an object to which copies deliver, and nobody announces them: else the phase may be
/// over before they have come (MB-23).
fn announced(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let instructions = &ground.syntax.instructions;
    let sources = ground.texts.sources();
    let delivered = delivered(ground);
    for arrival in instructions.iter().filter(|own| own.opcode.starts_with("mbarrier.arrive")) {
        let (Some(object), [_, _]) = (arrival.objects.last(), arrival.operands.as_slice()) else { continue };
        let is_told =
            ["expect_tx", "noComplete", "arrive_drop"].iter().any(|word| arrival.opcode.contains(word));
        let is_expected = instructions
            .iter()
            .any(|own| own.opcode.contains("expect_tx") && own.objects.last() == Some(object));
        let Some(bytes) = delivered.get(object.as_str()) else { continue };
        if is_told || is_expected || !ground.can_change(arrival.node) {
            continue;
        }
        let opcode = arrival.opcode.replacen("mbarrier.arrive", "mbarrier.arrive.expect_tx", 1);
        let rest = sources.text(arrival.span).strip_prefix(arrival.opcode.as_str()).unwrap_or("");
        let text = format!("{opcode}{rest}, {bytes}");
        found.push(Proposal { rank: 8, edits: vec![Edit::replace(sources, arrival.span, text)] });
    }
}

/// By object, the most bytes that copies deliver to one element in one phase.
pub fn delivered<'a>(ground: &Ground<'a>) -> SortedMap<&'a str, i64> {
    let graph = ground.outcome.graph.mbarriers.iter();
    let mut most: SortedMap<&str, i64> = SortedMap::new();
    for mbarrier in graph {
        let stem = mbarrier.name.stem();
        let mut sums: SortedMap<Vec<u32>, i64> = SortedMap::new();
        for operation in &mbarrier.operations {
            let event = &ground.outcome.graph.events[operation.event];
            let EventKind::Mbarrier(kind) = &event.kind else { continue };
            if kind.role == MbarrierRole::Complete {
                *sums.entry(event.iterations.clone()).or_default() -= operation.bytes;
            }
        }
        if let Some(&bytes) = sums.values().max() {
            let known = most.entry(stem.split('[').next().unwrap_or(stem)).or_default();
            *known = bytes.max(*known);
        }
    }
    most.retain(|_, bytes| *bytes > 0);
    most
}

/// Asynchronous arrivals that count as one of those expected, or raise that number by what they bring (AS-11).
fn counted(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    const PLAIN: &str = "cp.async.mbarrier.arrive.";
    for arrival in ground.syntax.instructions.iter().filter(|own| own.opcode.starts_with(PLAIN)) {
        let opcode = arrival.opcode.as_str();
        let after = if opcode.contains(".noinc") {
            opcode.replace(".noinc", "")
        } else {
            opcode.replacen(PLAIN, "cp.async.mbarrier.arrive.noinc.", 1)
        };
        let edits = vec![Edit::replace(ground.texts.sources(), arrival.opcode_span, after)];
        found.push(Proposal { rank: 11, edits });
    }
}

/// Copies for all CTAs of the cluster.
fn masks(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    let cluster = ground.graph().hierarchy.launch().cluster;
    let Some(all) = 1u32.checked_shl(cluster).map(|bit| bit - 1).filter(|_| (2..=16).contains(&cluster))
    else {
        return;
    };
    let sources = ground.texts.sources();
    let sends = ground.syntax.instructions.iter().filter(|own| own.opcode.contains(".multicast::cluster"));
    for mask in sends.filter_map(|own| own.operands.last()) {
        let text = format!("{all:#x}");
        if sources.text(*mask) != text {
            found.push(Proposal { rank: 11, edits: vec![Edit::replace(sources, *mask, text)] });
        }
    }
}

/// The other elements that are named by their numbers, where threads wait for one at which nobody arrives.
fn elements(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if !matches!(ground.explanation.subject, Subject::Deadlock { .. }) {
        return;
    }
    let sources = ground.texts.sources();
    let numbered = |own: &Instruction| {
        let [.., memory] = own.memory.as_slice() else { return None };
        let &index = memory.indices.last()?;
        sources.text(index).parse::<u32>().ok().map(|number| (memory.name.clone(), index, number))
    };
    let is_use = |own: &&Instruction| {
        let is_arrival = own.opcode.starts_with("mbarrier.arrive");
        (is_arrival || own.opcode.contains("mbarrier.") && own.opcode.contains("_wait"))
            && ground.can_change(own.node)
    };
    let uses: Vec<_> = ground.syntax.instructions.iter().filter(is_use).filter_map(numbered).collect();
    let mut tried = 0;
    for (object, index, number) in &uses {
        let others = uses.iter().filter(|(other, ..)| other == object).map(|&(.., other)| other);
        let others: fencepost_dsl::sorted::SortedSet<u32> = others.filter(|other| other != number).collect();
        for other in others {
            tried += 1;
            if tried <= ELEMENTS_MAX {
                let edits = vec![Edit::replace(sources, *index, other.to_string())];
                found.push(Proposal { rank: 11, edits });
            }
        }
    }
}
