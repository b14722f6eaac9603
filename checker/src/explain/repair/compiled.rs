//! What of all proposals is one for a kernel that a compiler has written, and where it is made.
//!
//! An instruction is a statement; those of one line of the source belong together, so that nothing is put in where the source has
//! no place for it. What is changed is the PTX: opcodes, what a wait leaves pending, and statements that order or complete.
//! Cannot: change who does what, or in which order; that is for the source.

use super::edit::{Edit, EditKind, Piece, do_the_same};
use super::ground::{Ground, Proposal};
use super::parts::Gap;
use super::places::runners;
use super::syntax::Instruction;
use crate::event::AgentId;
use fencepost_dsl::kernel::isa::form_of;
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::{FileId, Span};

/// The barrier of a warp, and that of a CTA.
const WARP: &str = "bar.warp.sync 0xffffffff;";
const CTA: &str = "bar.sync 0;";

/// Only changes of compiled kernels that are ones of those, put in where a line of the source begins or ends.
pub fn restrict(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if ground.syntax.compiled.is_empty() {
        return;
    }
    let compiled = |file: FileId| ground.syntax.compiled.iter().find(|compiled| compiled.file == file);
    let sources = ground.texts.sources();
    let are_there = runners(ground.graph(), |_| true);
    let is_one_warp = ground.graph().hierarchy.launch().warps == 1;
    found.retain_mut(|proposal| {
        proposal.edits.iter_mut().all(|edit| {
            let Some(compiled) = compiled(edit.span().file) else { return false };
            if let EditKind::Insert { text, is_after, anchor } = &edit.kind {
                let (anchor, is_after) = compiled.at_edge((*anchor, *is_after));
                // Who starts the kernel with more warps means all of them.
                let text = if is_one_warp && text == WARP { CTA } else { text };
                let spans: Vec<Span> = compiled.run_with((anchor, is_after)).collect();
                if divides(ground, &are_there, text, &spans) {
                    return false;
                }
                *edit = Edit::insert(sources, anchor, is_after, text);
            }
            is_one(ground, edit)
        })
    });
}

/// Changes a line of the source wherever the compiler has made something of it.
pub fn widen(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
    if ground.syntax.compiled.is_empty() {
        return;
    }
    let are_there = runners(ground.graph(), |_| true);
    for proposal in found.iter_mut() {
        for edit in &mut proposal.edits {
            let copies = copies(ground, &are_there, edit);
            edit.pieces.extend(copies);
            edit.pieces.sort_by_key(|piece| (piece.span.file, piece.span.start));
            edit.pieces.dedup();
        }
        // Two copies that were to be changed together are one change.
        let mut own: Vec<Edit> = Vec::new();
        for edit in std::mem::take(&mut proposal.edits) {
            if own.iter().all(|known| known.pieces != edit.pieces) {
                own.push(edit);
            }
        }
        proposal.edits = own;
    }
    // What was put in within a line, or beside copies of one, may be the same now.
    let mut known: Vec<Proposal> = Vec::new();
    for proposal in found.drain(..) {
        match known.iter_mut().find(|known| do_the_same(&known.edits, &proposal.edits)) {
            Some(known) => known.rank = known.rank.min(proposal.rank),
            None => known.push(proposal),
        }
    }
    *found = known;
}

/// What a change does to the other copies of the line of the source that it changes: who follows it changes the line.
fn copies(ground: &Ground<'_>, are_there: &SortedSet<AgentId>, edit: &Edit) -> Vec<Piece> {
    let sources = ground.texts.sources();
    let compiled = ground.syntax.compiled.iter().find(|compiled| compiled.file == edit.span().file);
    let Some(compiled) = compiled else { return Vec::new() };
    match &edit.kind {
        EditKind::Insert { text, is_after, anchor } => {
            let all = compiled.copies_of_gap((*anchor, *is_after));
            let divides = |&gap: &Gap| {
                let spans: Vec<Span> = compiled.run_with(gap).collect();
                divides(ground, are_there, text, &spans)
            };
            let pieces = |(anchor, is_after): Gap| Edit::insert(sources, anchor, is_after, text).pieces;
            if all.iter().any(divides) { Vec::new() } else { all.into_iter().flat_map(pieces).collect() }
        }
        EditKind::Replace { span, before, after } => {
            let is_it = |own: &&Instruction| own.opcode_span == *span || own.operands.contains(span);
            let Some(own) = ground.syntax.instructions.iter().find(is_it) else { return Vec::new() };
            let place = own.operands.iter().position(|operand| operand == span);
            let there = |copy: Span| {
                // Without the semicolon.
                let copy = ground.syntax.instructions.iter().find(|own| copy.holds(own.span))?;
                let span = place.map_or(Some(copy.opcode_span), |at| copy.operands.get(at).copied())?;
                (sources.text(span) == before).then(|| Piece { span, text: after.clone() })
            };
            compiled.copies_of(own.span).into_iter().filter_map(there).collect()
        }
        EditKind::Move { .. } => Vec::new(),
    }
}

/// Whether a barrier is one that some of those who have to meet there do not come to, as far as is known of who runs the
/// instructions beside it.
fn divides(ground: &Ground<'_>, are_there: &SortedSet<AgentId>, barrier: &str, beside: &[Span]) -> bool {
    let (graph, hierarchy) = (ground.graph(), &ground.graph().hierarchy);
    if barrier != WARP && barrier != CTA {
        return false;
    }
    let come = runners(graph, |span| beside.iter().any(|own| own.holds(span)));
    come.iter().any(|&agent| {
        let mut others: Vec<AgentId> = match barrier {
            WARP => hierarchy.lanes_of(hierarchy.warp_of(agent)).collect(),
            _ => hierarchy.threads_of_cta(hierarchy.cta_of(agent)).collect(),
        };
        // What the threads do that are not shown is not known.
        others.retain(|other| are_there.contains(other));
        others.iter().any(|other| !come.contains(other))
    })
}

/// Whether a change is one that is made of compiled kernels.
fn is_one(ground: &Ground<'_>, edit: &Edit) -> bool {
    let orders =
        |opcode: &str| form_of(opcode).is_some_and(|form| !form.inserted.is_empty() || form.leaves_pending);
    match &edit.kind {
        EditKind::Insert { text, .. } => {
            text.split(';').map(str::trim).filter(|one| !one.is_empty()).all(|one| {
                let opcode = one.split_whitespace().next().unwrap_or_default();
                orders(opcode) || opcode.starts_with("barrier.cluster.")
            })
        }
        EditKind::Replace { span, after, .. } => ground.syntax.instructions.iter().any(|own| {
            own.opcode_span == *span && form_of(after).is_some()
                || own.operands.contains(span) && !after.is_empty() && own.synchronizes()
        }),
        EditKind::Move { .. } => false,
    }
}
