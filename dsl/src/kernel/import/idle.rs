//! Parts of loops in which a thread only lets time pass: it counts its tries, looks at a clock, sleeps, and goes back.
//!
//! ```text
//!  poll:  ld, leave if it is there        poll:  ld, leave if it is there
//!         tries < 16 ──> tries + 1 ─┐            │
//!         clock, sleep ─────────────┤    ──>     │
//!         └─────────────> poll <────┘            └──> poll
//! ```
//! Libraries write such loops around each wait. What is computed there is read nowhere else, so leaving it out leaves every
//! execution as it is, and a loop in which nothing goes from one round into the next is a wait.

use super::compute::computes;
use crate::ptx::module::{Instruction, Item, Name, Operand, OperandKind};
use crate::span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Most blocks of such a part.
const BLOCKS_MAX: usize = 16;

/// Items that are entered at the first and left at the last.
struct Block {
    /// Labels, and what comes behind them.
    labels: Vec<Name>,
    instructions: Vec<Instruction>,
    /// Where it goes on; nothing, where what it does is not known here.
    next: Option<Vec<usize>>,
}

/// A body without them.
pub(super) fn without(body: &[Item], end: Span) -> Vec<Item> {
    let Some(mut blocks) = blocks(body) else { return body.to_vec() };
    let mut has_changed = false;
    for first in 0..blocks.len() {
        let Some(target) = target(&blocks, first) else { continue };
        let span = blocks[first].instructions.first().map_or(end, |instruction| instruction.span);
        let label = label_of(&mut blocks[target], target, span);
        let operand = Operand { span, kind: OperandKind::Name(label) };
        let opcode = Name { text: "bra".to_owned(), span };
        blocks[first].instructions =
            vec![Instruction { span, guard: None, opcode, operands: vec![operand], calls: Vec::new() }];
        blocks[first].next = Some(vec![target]);
        has_changed = true;
    }
    if !has_changed {
        return body.to_vec();
    }
    let targets = body.iter().filter(|item| matches!(item, Item::Targets { .. })).cloned();
    let of_block = |block: Block| {
        let labels = block.labels.into_iter().map(Item::Label);
        labels.chain(block.instructions.into_iter().map(Item::Instruction)).collect::<Vec<Item>>()
    };
    blocks.into_iter().flat_map(of_block).chain(targets).collect()
}

/// The label of a block, a new one if it has none.
fn label_of(block: &mut Block, number: usize, span: Span) -> String {
    if let Some(label) = block.labels.first() {
        return label.text.clone();
    }
    let text = format!("%back{number}");
    block.labels.push(Name { text: text.clone(), span });
    text
}

/// The blocks of a body; `None` if a label is not there, of which somebody else says so.
fn blocks(body: &[Item]) -> Option<Vec<Block>> {
    let new = || Block { labels: Vec::new(), instructions: Vec::new(), next: Some(Vec::new()) };
    let mut blocks = vec![new()];
    let mut ends = false;
    for item in body {
        let last = blocks.last_mut()?;
        match item {
            Item::Label(name) => {
                if ends || !last.instructions.is_empty() {
                    blocks.push(new());
                }
                blocks.last_mut()?.labels.push(name.clone());
                ends = false;
            }
            Item::Targets { .. } => {}
            Item::Instruction(instruction) => {
                if ends {
                    blocks.push(new());
                }
                blocks.last_mut()?.instructions.push(instruction.clone());
                ends = ["bra", "brx", "ret", "exit", "trap", "call"].contains(&instruction.mnemonic());
            }
        }
    }
    let numbered = blocks.iter().enumerate();
    let labels: FxHashMap<String, usize> = numbered
        .flat_map(|(at, block)| block.labels.iter().map(move |label| (label.text.clone(), at)))
        .collect();
    let n = blocks.len();
    for (at, block) in blocks.iter_mut().enumerate() {
        let behind = (at + 1 < n).then_some(at + 1);
        block.next = match block.instructions.last() {
            Some(last) if last.mnemonic() == "bra" => {
                let [Operand { kind: OperandKind::Name(label), .. }] = last.operands.as_slice() else {
                    return None;
                };
                let taken = *labels.get(label)?;
                match (&last.guard, behind) {
                    (None, _) => Some(vec![taken]),
                    (Some(_), Some(behind)) => Some(vec![taken, behind]),
                    (Some(_), None) => None,
                }
            }
            Some(last) if ["brx", "ret", "exit", "trap", "call"].contains(&last.mnemonic()) => None,
            _ => behind.map(|behind| vec![behind]),
        };
    }
    Some(blocks)
}

/// The block that is all there is behind a block, once time has passed; `None` if more may happen.
fn target(blocks: &[Block], first: usize) -> Option<usize> {
    is_idle(&blocks[first]).then_some(())?;
    // One that does nothing but go on needs no other.
    if blocks[first].instructions.iter().all(|own| own.mnemonic() == "bra" && own.guard.is_none()) {
        return None;
    }
    let candidates = reached(blocks, first, None);
    candidates.into_iter().filter(|&target| target != first).find(|&target| {
        let inside = reached(blocks, first, Some(target));
        inside.len() <= BLOCKS_MAX
            && inside.iter().all(|&block| is_idle(&blocks[block]))
            && is_passed(blocks, &inside, target)
            && goes_round(blocks, target, first)
            && is_forgotten(blocks, &inside)
    })
}

/// The blocks to which a block leads, itself included, without those behind `until`; so many that there are surely too many.
fn reached(blocks: &[Block], first: usize, until: Option<usize>) -> Vec<usize> {
    let mut found = vec![first];
    let mut at = 0;
    while at < found.len() && found.len() <= BLOCKS_MAX {
        for &next in blocks[found[at]].next.iter().flatten() {
            if Some(next) != until && !found.contains(&next) {
                found.push(next);
            }
        }
        at += 1;
    }
    found
}

/// Whether a block only computes and sleeps.
fn is_idle(block: &Block) -> bool {
    let idles =
        |own: &Instruction| computes(own.mnemonic()) || ["bra", "nanosleep"].contains(&own.mnemonic());
    block.next.is_some() && !block.instructions.is_empty() && block.instructions.iter().all(idles)
}

/// Whether whoever is in these blocks comes to the target, without going round among them.
fn is_passed(blocks: &[Block], inside: &[usize], target: usize) -> bool {
    // Those from which every way leads on, found from the target backwards.
    let mut passed: FxHashSet<usize> = FxHashSet::from_iter([target]);
    for _ in inside {
        for &block in inside {
            let next = blocks[block].next.as_deref().unwrap_or_default();
            if !next.is_empty() && next.iter().all(|next| passed.contains(next)) {
                passed.insert(block);
            }
        }
    }
    inside.iter().all(|block| passed.contains(block))
}

/// Whether one block leads back to another.
fn goes_round(blocks: &[Block], from: usize, to: usize) -> bool {
    let mut found: FxHashSet<usize> = FxHashSet::from_iter([from]);
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        for &next in blocks[block].next.iter().flatten() {
            if next == to {
                return true;
            }
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// Whether what these blocks compute is read by none of the others.
fn is_forgotten(blocks: &[Block], inside: &[usize]) -> bool {
    let mut written: FxHashSet<&str> = FxHashSet::default();
    for instruction in inside.iter().flat_map(|&block| &blocks[block].instructions) {
        if computes(instruction.mnemonic())
            && let Some(result) = instruction.operands.first()
        {
            result.each_name(&mut |name| _ = written.insert(name));
        }
    }
    let mut read: FxHashSet<&str> = FxHashSet::default();
    for (number, block) in blocks.iter().enumerate() {
        for instruction in block.instructions.iter().filter(|_| !inside.contains(&number)) {
            if let Some((guard, _)) = &instruction.guard {
                read.insert(&guard.text);
            }
            // Under a guard, or where it is one of a pair, what was there before may stay.
            let writes_first = computes(instruction.mnemonic()) && instruction.guard.is_none();
            let operands = instruction.operands.iter().skip(usize::from(writes_first));
            operands.for_each(|operand| operand.each_name(&mut |name| _ = read.insert(name)));
        }
    }
    written.is_disjoint(&read)
}
