//! Proposals for another atomic in place of one: a read of all copies through the multimem address that they were written
//! through, and a counter that goes back to zero by itself.

use super::super::{Reason, Subject};
use super::propose::{Ground, Proposal};
use super::syntax::{Instruction, NodeKind};
use super::text::Edit;
use fencepost_dsl::Span;

/// Reads through the multimem address, and counters that wrap.
pub fn propose(ground: &Ground<'_>, found: &mut Vec<Proposal>) {
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
        if !add.opcode.contains(".add.u32") {
            continue;
        }
        let opcode = Edit::replace(sources, add.opcode_span, add.opcode.replace(".add.", ".inc."));
        found.push(Proposal { rank: 36, edits: vec![opcode, Edit::replace(sources, step, last)] });
    }
}
